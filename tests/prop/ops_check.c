/* ggrad --check on every op: verify_grad's procedure finds gradients, pushforwards by
 * both ways, Jacobians and Hessians of each call right, in every float dtype that is
 * precise enough for its one-sided differences, at the row's own values. (ops_grad and
 * ops_jacobian look closer, with differences of higher order.) */
#include "gen.h"
#include "tools/tools.h"

typedef struct Way {
    const char *name;
    Derive how;
    int order;
} Way;

#define COMMON .how = {.disconnected = GRAD_IGNORE, .null = NULL_RETURN}
static const Way ways[] = {
    {"--cost", {.cost = "cost", COMMON}, 1},
    {"--vjp", {.vjp = "y", COMMON}, 1},
    {"--jvp", {.jvp = "y", COMMON}, 1},
    {"--jvp --by-pullback", {.jvp = "y", .by_pullback = true, COMMON}, 1},
    {"--jacobian", {.jacobian = "y", COMMON}, 1},
    {"--hvp", {.hvp = "cost", COMMON}, 2},
    {"--hessian", {.hessian = "cost", .mixed = true, COMMON}, 2},
};

/* One-sided differences in float32 are too coarse for them. */
static const char *const coarse[] = {
    "adjugate(concatenate([a, a[:1] + a[1:2]]))",
    "svd(a)[0] * expand_dims(svd(a)[1] ** 2, -2) @ svd(a)[2]"};

static bool is_coarse(const Sample *row) {
    for (size_t i = 0; i < sizeof coarse / sizeof *coarse; i++)
        if (strcmp(coarse[i], row->text) == 0) return true;
    return false;
}

#define WEIGHT "cos(reshape(arange(f.size), shape(f)) * 1.0 + 0.5)"
/* The call as output y and a weighted sum of its elements as output cost; false: there
 * is nothing to differentiate. */
static bool build(Case *c) {
    bool ok = true;
    if (!case_build(c, true) || type_size(var_type(c->g, c->out)) < 0) return false;
    DType d = var_type(c->g, c->out)->dtype;
    if (dtype_is_complex(d) || var_type(c->g, c->out)->kind != TYPE_TENSOR)
        return false;
    Bind bind = {sym(c->s, "f"), c->out};
    Var cost = template_build(&c->b, "sum(f * " WEIGHT ")",
                              &(Env){.n = 1, .bind = &bind}, &ok);
    CHECK(ok, "%s: %s", c->row->text, why(c->s));
    if (!ok) return false;
    vec_push(c->s, &c->g->outputs, ((Output){sym(c->s, "y"), c->out}));
    vec_push(c->s, &c->g->outputs, ((Output){sym(c->s, "cost"), cost}));
    return true;
}

/* "a=[[...]]" for every input. */
static Values values_of(Case *c, Span text[INPUTS]) {
    for (size_t i = 0; i < c->nin; i++) {
        Str b = STR(c->s);
        str_printf(&b, "%s=", (const char *[]){"a", "b", "c"}[i]);
        tensor_text(c->s, &c->t[i], -1, &b);
        char *copy = arena_str(session_arena(c->s), str_text(&b), b.n);
        uint32_t source = source_add(c->s, "values", copy, b.n);
        text[i] = (Span){source, 0, (uint32_t)b.n};
        str_free(&b);
    }
    return (Values){c->nin, text};
}

static void test(Session *s, const Sample *row, DType d, const Way *w) {
    Case c = case_of(s, row, d);
    char wrt[8] = "";
    for (size_t i = 0; i < c.nin; i++)
        if (spec_varies(&c.spec[i]))
            snprintf(wrt + strlen(wrt), sizeof wrt - strlen(wrt), "%s%c",
                     *wrt ? "," : "", (int)"abc"[i]);
    if (*wrt && build(&c)) {
        Span text[INPUTS];
        case_tensors(&c, 0);
        Values given = values_of(&c, text);
        Derive how = w->how;
        how.wrt = wrt;
        bool ok = graph_check_grad(c.g, &how, &given, 1);
        const Diag *e = diag_first_error(s);
        CHECK(ok, "%s of %s (%s): %s: %s: %s", row->text, row->in, dtype_name(d),
              w->name, why(s), e && e->notes ? e->notes->text : "");
    }
    case_close(&c);
}

int main(int argc, char **argv) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = 1;
    Samples *rows = all_rows(s);
    for (size_t i = 0; i < rows->n; i++) {
        const Sample *row = &rows->row[i];
        if (argc > 1 && strcmp(argv[1], row->op) != 0) continue;
        if (row->flags & NO_GRAD || !is_small(row)) continue;
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            test(s, row, DT_FLOAT64, &ways[k]);
            if (!(row->flags & NO_LOW) && ways[k].order == 1 && !is_coarse(row))
                test(s, row, DT_FLOAT32, &ways[k]);
        }
    }
    free(rows);
    session_free(s);
    return TEST_END("prop ops_check");
}
