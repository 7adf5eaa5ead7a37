/* Whole values that are computed anew, outside of the functions: from the number of
 * rows of all ranks, or from what crossed rows. */
#include "rewrite/parallel/build.h"

#include <string.h>

/* Its inputs are a copy: the graph's move when it grows. */
SplitApply split_apply_at(SplitBuild *q, ApplyId id) {
    const Apply *r = &q->w->g->apply[id];
    Var *in = NEW_N(q->w->a, r->nin + 1, Var);
    memcpy(in, apply_in(q->w->g, id), r->nin * sizeof *in);
    return (SplitApply){q->w, id, r->op, r->props, r->nin, r->nout, in, r->out};
}

Var split_transposed(Builder *b, Var x, int ndim, int from, int to) {
    int64_t axes[MAX_NDIM];
    int n = 0;
    if (from == to) return x;
    for (int k = 0; k < ndim; k++)
        if (k != from) axes[n++] = k;
    memmove(axes + to + 1, axes + to, (size_t)(n - to) * sizeof *axes);
    axes[to] = from;
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)ndim)};
    return apply_named(b, "transpose", 1, &x, 1, &arg);
}

/* What an Apply of shape or shape_i gives of something with rows, where there are
 * `rows` of them: of all ranks, or of a shard. */
Var split_shape_with(const SplitApply *p, Builder *b, Var rows) {
    const Type *t = split_type(p, 0);
    Var item[MAX_NDIM];
    int only = -1;
    if (rows == VAR_NONE) return VAR_NONE;
    if (op_is(b->s, p->op, OP_SHAPE_I))
        only = (int)op_prop(b->s, p->op, p->props, "axis")->i;
    for (int k = 0; k < t->ndim; k++) {
        if (only >= 0 && k != only) continue;
        item[k] = crossing_size(p, b, rows, k);
        if (item[k] == VAR_NONE) return VAR_NONE;
    }
    return only >= 0 ? item[only] : ints_stack(b, (size_t)t->ndim, item);
}

bool split_is_shape_of_rows(const SplitApply *p) {
    Session *s = p->w->s;
    return (op_is(s, p->op, OP_SHAPE) || op_is(s, p->op, OP_SHAPE_I)) &&
           split_of(p, 0)->rows;
}

static bool is_made_anew(const SplitBuild *q, Var v) {
    const Spread *x = &q->w->spread[v];
    return !x->rows && (x->counts || x->level > 0);
}

Var split_whole(SplitBuild *q, Var v) {
    if (q->main[v] == VAR_NONE) {
        if (is_made_anew(q, v)) bug("variable %u is needed before it is made", v);
        q->main[v] = v;
    }
    return q->main[v];
}

/* The state after a draw, which doesn't depend on what is drawn. */
static Var next_state(SplitBuild *q, Var state) {
    Session *s = q->w->s;
    const Op *draw = op_known(s, OP_DRAW);
    PropArg arg[] = {{"dist", PROP_STR(sym(s, "uniform"))},
                     {"dtype", PROP_DTYPE(DT_FLOAT64)}};
    int64_t none = 0;
    Var in[4] = {split_whole(q, state), const_number(&q->b, DT_FLOAT64, 0),
                 const_number(&q->b, DT_FLOAT64, 1), const_ints(&q->b, 1, &none)},
        out[2];
    bool ok = op_apply(&q->b, draw, props_make(s, draw, 2, arg), 4, in, out);
    return ok ? out[0] : VAR_NONE;
}

static bool whole_apply(SplitBuild *q, const SplitApply *p) {
    Graph *g = q->w->g;
    Session *s = q->w->s;
    if (split_is_shape_of_rows(p))
        return (q->main[p->out] = split_shape_with(p, &q->b, q->rows)) != VAR_NONE;
    if (op_is(s, p->op, OP_DRAW) && q->w->spread[p->out + 1].rows)
        return (q->main[p->out] = next_state(q, p->in[0])) != VAR_NONE;
    Var *in = NEW_N(q->w->a, p->nin + 1, Var);
    for (size_t i = 0; i < p->nin; i++)
        in[i] = split_whole(q, p->in[i]);
    Var out = graph_copy_apply(g, g, p->id, in, true);
    q->dropped[p->id] = p->op->effect;
    for (Var k = 0; k < p->nout; k++)
        q->main[p->out + k] = out + k;
    return true;
}

bool split_is_live(const SplitBuild *q, const SplitApply *p) {
    for (Var k = 0; k < p->nout; k++)
        if (q->w->live[p->out + k]) return true;
    return false;
}

/* Whole values of a level, in their order. */
bool split_whole_applies(SplitBuild *q, uint32_t level) {
    for (size_t i = q->first[level]; i < q->first[level + 1]; i++) {
        ApplyId id = q->of_level[i];
        SplitApply p = split_apply_at(q, id);
        if (!split_is_live(q, &p) || q->w->crossing[id] != CROSS_NONE) continue;
        const Spread *x = split_of_apply(q->w, id);
        if (x->part || (x->rows && op_is(q->w->s, p.op, OP_SCAN))) continue;
        if (!is_made_anew(q, p.out) || q->w->spread[p.out].level != level) continue;
        q->b.from = q->w->g->origin[id];
        if (!whole_apply(q, &p)) return false;
    }
    return true;
}
