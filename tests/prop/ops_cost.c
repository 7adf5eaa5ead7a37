/* What every op says of its cost: with all sizes known, the number of its flops, of
 * transcendental functions and of bytes is told, and none is negative. */
#include "gen.h"
#include "prof/prof_impl.h"

static bool all_known(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    bool known = true;
    for (size_t i = 0; i < ap->nin; i++)
        known &= type_size(var_type(g, apply_in(g, id)[i])) >= 0;
    for (Var k = 0; k < ap->nout; k++)
        known &= type_size(var_type(g, ap->out + k)) >= 0;
    return known;
}

static void check_number(const Case *c, const Op *op, const char *what, const Poly *p) {
    double v = -1;
    CHECK(p && poly_is_number(p, &v) && v >= 0, "%s of %s: %s of %s is %s%g",
          c->row->text, c->row->in, what, op->name, p ? "" : "not known: ", v);
}

static void test_row(Session *s, Costing *k, const Sample *row) {
    Case c = case_of(s, row, DT_FLOAT64);
    Arena *a = arena_new(s);
    Map dims = MAP(s);
    bool view[OUT_MAX] = {false};
    if (case_build(&c, true)) {
        const Graph *g = c.g;
        Shape *h = cost_shapes(a, g, &dims, false, 0, NULL), in[16];
        for (ApplyId id = 0; id < g->napply; id++) {
            const Apply *ap = &g->apply[id];
            if (ap->nin > 16 || !all_known(g, id)) continue;
            for (size_t i = 0; i < ap->nin; i++)
                in[i] = h[apply_in(g, id)[i]];
            Costed what = {g, id, ap->nin, ap->nout, in, &h[ap->out], view, false};
            Cost cost = cost_apply(k, a, &what);
            check_number(&c, ap->op, "flops", cost.flops);
            check_number(&c, ap->op, "math calls", cost.math);
            check_number(&c, ap->op, "bytes read", cost.read);
            check_number(&c, ap->op, "bytes written", cost.written);
        }
    }
    map_free(&dims);
    arena_free(a);
    case_close(&c);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    Costing k = {.s = s, .keep = arena_new(s), .parsed = MAP(s)};
    Samples *rows = all_rows(s);
    for (size_t i = 0; i < rows->n; i++)
        test_row(s, &k, &rows->row[i]);
    map_free(&k.parsed);
    arena_free(k.keep);
    free(rows);
    session_free(s);
    return TEST_END("prop ops_cost");
}
