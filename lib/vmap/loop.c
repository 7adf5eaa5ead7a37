/* vmap by a loop, for ops without a rule: a scan whose body is the Apply. */
#include "vmap/kit.h"

#include <stdio.h>

typedef struct VmapByScan {
    Vmap *q;
    Graph *body;
    Builder b;
    Arena *tmp;
    Var *inner;       /* by input: its variable in the body */
    Var *seq, *other; /* arguments of the scan */
    size_t nseq, nother;
} VmapByScan;

Sym vmap_body_name(const Graph *g, const char *name) {
    Str text = STR(g->s);
    str_printf(&text, "%s_row", name);
    Sym y = sym(g->s, str_text(&text));
    for (unsigned i = 1; graph_function(g, y); i++) {
        str_clear(&text);
        str_printf(&text, "%s_row_%u", name, i);
        y = sym(g->s, str_text(&text));
    }
    str_free(&text);
    return y;
}

bool vmap_scan(Builder *b, const Graph *body, Var size, VarList seq, VarList other,
               Var *out) {
    Arena *tmp = arena_new(b->s);
    const Op *scan = op_known(b->s, OP_SCAN);
    size_t n = 1 + seq.n + other.n, nout = body->outputs.n;
    Var *in = NEW_N(tmp, n, Var);
    int64_t *taps = NEW_N(tmp, 2 * seq.n, int64_t);
    int64_t *states = NEW_N(tmp, nout, int64_t);
    in[0] = size;
    for (size_t i = 0; i < seq.n; i++) {
        in[1 + i] = seq.p[i];
        taps[2 * i] = 1; /* a single tap at offset 0: the row itself */
    }
    for (size_t i = 0; i < other.n; i++)
        in[1 + seq.n + i] = other.p[i];
    PropArg arg[] = {{"fn", {.kind = P_GRAPH, .sym = body->name}},
                     {"sequences", PROP_INTS(taps, 2 * seq.n)},
                     {"states", PROP_INTS(states, nout)},
                     {"rows", PROP_BOOL(body->effects.n > 0)}};
    bool ok = op_apply(b, scan, props_make(b->s, scan, 4, arg), n, in, out);
    arena_free(tmp);
    return ok;
}

/* Inputs with rows become sequences, the others non-sequences; constants are copied
 * into the body, where typing can see them. A first call adds the sequences, a second
 * the rest: the order of the body's inputs. */
static void add_step_inputs(VmapByScan *l, bool rows) {
    Vmap *q = l->q;
    for (size_t i = 0; i < q->nin; i++) {
        const Type *t = var_type(q->b->g, q->in[i]);
        char name[32];
        if (q->rows[i] != rows) continue;
        if (!rows && var_is_const(q->b->g, q->in[i])) {
            l->inner[i] = graph_share_const(l->body, q->b->g, q->in[i], true);
            continue;
        }
        snprintf(name, sizeof name, "x%zu", i);
        l->inner[i] = graph_input(l->body, sym(q->b->s, name),
                                  rows ? type_of_row(q->b->s, t) : t);
        if (rows)
            l->seq[l->nseq++] = q->in[i];
        else
            l->other[l->nother++] = q->in[i];
    }
}

static bool is_shape_known(const Type *t) {
    for (int k = 0; k < t->ndim; k++)
        if (t->dim[k] == DIM_UNKNOWN) return false;
    return true;
}

/* Do the types show that a result's shape depends on values? */
static bool is_ragged(const VmapByScan *l, const Var *out) {
    const Vmap *q = l->q;
    for (size_t i = 0; i < q->nin; i++)
        if (!is_shape_known(var_type(l->body, l->inner[i]))) return false;
    for (size_t k = 0; k < q->nout; k++)
        if (q->out_rows[k] && !is_shape_known(var_type(l->body, out[k]))) return true;
    return false;
}

static bool make_step_body(VmapByScan *l) {
    Vmap *q = l->q;
    Var *out = NEW_N(l->tmp, q->nout, Var);
    add_step_inputs(l, true);
    add_step_inputs(l, false);
    if (!op_copy_destroyed(&l->b, q->g, q->id, l->inner) ||
        !op_apply(&l->b, q->op, q->props, q->nin, l->inner, out))
        return false;
    for (size_t k = 0; k < q->nout; k++)
        if (q->out_rows[k] && var_type(l->body, out[k])->kind != TYPE_TENSOR)
            return vmap_refuse(q, "a result is not a tensor, so it has no rows");
    if (is_ragged(l, out))
        return vmap_refuse(q, "the shape of its result may differ from row to row");
    for (size_t k = 0; k < q->nout; k++) {
        char name[32];
        if (!q->out_rows[k]) continue;
        snprintf(name, sizeof name, "r%zu", k);
        vec_push(q->b->s, &l->body->outputs, ((Output){sym(q->b->s, name), out[k]}));
    }
    return true;
}

static bool apply_row_scan(VmapByScan *l) {
    Vmap *q = l->q;
    Var *kept = NEW_N(l->tmp, q->nout, Var);
    VarList seq = {l->nseq, l->seq}, other = {l->nother, l->other};
    if (!vmap_scan(q->b, l->body, q->size, seq, other, kept)) return false;
    for (size_t k = 0, at = 0; k < q->nout; k++)
        if (q->out_rows[k]) q->out[k] = kept[at++];
    return true;
}

bool vmap_by_scan(Vmap *q) {
    VmapByScan l = {.q = q, .tmp = arena_new(q->b->s)};
    l.inner = NEW_N(l.tmp, q->nin, Var);
    l.seq = NEW_N(l.tmp, q->nin, Var);
    l.other = NEW_N(l.tmp, q->nin, Var);
    l.body =
        graph_function_new(q->b->g->main, vmap_body_name(q->b->g->main, q->op->name));
    l.body->derived = true;
    l.b = builder(l.body, true);
    l.b.from = q->b->from;
    bool ok = make_step_body(&l) && apply_row_scan(&l);
    arena_free(l.tmp);
    return ok;
}
