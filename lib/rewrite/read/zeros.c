/* Writes into zeros, as gradients of reads are: what is written at each place of an
 * axis is a read of it in another order, and a sum of such arrays whose written parts
 * lie side by side is these parts joined. Adding to zero makes 0 of -0, so that parts
 * get 0 added where the arrays did. */
#include "rewrite/read/read.h"

#include <stdlib.h>

/* y, which is written to this part, in its full shape. */
static Var value_in_full(const Read *w, const ReadItem *item) {
    Rewriter *r = w->r;
    Var y = rewriter_input(r, w->id, 1), part = read_of(r, w->x, w->t->ndim, item);
    const Type *t = part == VAR_NONE ? NULL : var_type(r->g, part);
    if (!t || var_type(r->g, y)->dtype != t->dtype ||
        !rewrite_dims_fit(var_type(r->g, y), t))
        return VAR_NONE;
    return rewriter_fit(r, y, t);
}

/* y + 0 in y's dtype. */
static Var add_zero(Rewriter *r, Var y) {
    if (y == VAR_NONE || dtype_is_discrete(var_type(r->g, y)->dtype)) return y;
    Var pair[2] = {y, const_number(&r->b, var_type(r->g, y)->dtype, 0)};
    rewriter_grow(r);
    return rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, pair);
}

/* ---- all places of an axis, in another order ---- */

enum { PLACES = 4096 };

/* The constant that undoes an index array with each number below `size` once. */
static Var inverse_order(Rewriter *r, Var index, int64_t size) {
    const Tensor *t = var_const(r->g, index);
    Tensor back;
    if (!t || t->dtype == DT_BOOL || tensor_size(t) != size || size > PLACES ||
        !tensor_new(r->s, DT_INT64, 1, &size, &back))
        return VAR_NONE;
    int64_t *at = back.data;
    bool each = true;
    for (int64_t k = 0; k < size; k++)
        at[k] = -1;
    for (int64_t k = 0; k < size && each; k++) {
        int64_t i = tensor_i64(t, k);
        if (i < 0) i += size;
        each = i >= 0 && i < size && at[i] < 0;
        if (each) at[i] = k;
    }
    Var v = each ? graph_const(r->g, &back, true) : VAR_NONE;
    rewriter_grow(r);
    tensor_unref(&back);
    return v;
}

bool read_reorder_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *t = var_type(r->g, a.out);
    Read w;
    if (!read_parse(r, id, 2, &w) || w.nadd) return false;
    int axis = read_array_axis(&w);
    bool set = rw_is(r, &a, OP_SET_SUBTENSOR);
    if (axis < 0 || !dim_is_known(w.t->dim[axis]) ||
        (!set && !rewriter_is_zeros(r, w.x)))
        return false;
    for (int k = 0; k < w.t->ndim; k++)
        if (k != axis && !read_takes_all(&w.item[k])) return false;
    Var back = inverse_order(r, w.item[axis].array, w.t->dim[axis]);
    Var y = back == VAR_NONE ? VAR_NONE : value_in_full(&w, w.item);
    if (y == VAR_NONE || var_type(r->g, y)->dtype != t->dtype) return false;
    w.item[axis].array = back;
    out[0] = read_of(r, y, w.t->ndim, w.item);
    if (!set) out[0] = add_zero(r, out[0]);
    return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
}

/* ---- sums of arrays with one written part each ---- */

typedef struct Written {
    Var v;            /* the array */
    int64_t from, to; /* places of the axis */
    Read w;
} Written;
typedef struct JoinPass {
    Rewriter *r;
    Arena *a;
    uint32_t *uses;  /* by variable: clients, and one more for a root */
    uint8_t *inside; /* by Apply: a sum that belongs to a larger one */
    uint8_t *joined; /* by variable: one of `part` */
    Vec(Var) term;
    Vec(Written) part;
} JoinPass;

static void count_uses(JoinPass *q) {
    const Graph *g = q->r->g;
    const uint8_t *live = graph_live(g, q->a, ROOTS_RUN | ROOTS_INIT),
                  *root = graph_root_marks(g, q->a, ROOTS_RUN | ROOTS_INIT);
    for (Var v = 0; v < g->nvar; v++)
        q->uses[v] = root[v];
    for (ApplyId id = 0; id < g->napply; id++)
        for (size_t i = 0; i < g->apply[id].nin && live[g->apply[id].out]; i++)
            q->uses[apply_in(g, id)[i]]++;
}

/* The Apply with which v, whose only client is a sum, joins it: one of that op whose
 * type is the sum's. */
static ApplyId inner_apply(const JoinPass *q, Var v, KnownOp op, const Type *t) {
    const Graph *g = q->r->g;
    ApplyId id = var_owner(g, v);
    return id != APPLY_NONE && q->uses[v] == 1 && var_type(g, v) == t &&
                   op_is(q->r->s, g->apply[id].op, op)
               ? id
               : APPLY_NONE;
}

/* Lists the terms of the sum, which lie within it first to last. */
static void list_terms(JoinPass *q, ApplyId sum) {
    const Graph *g = q->r->g;
    const Type *t = var_type(g, g->apply[sum].out);
    Vec(Var) open = {0};
    q->term.n = 0;
    vec_push(q->r->s, &open, g->apply[sum].out);
    while (open.n) {
        Var v = open.p[--open.n];
        ApplyId id = v == g->apply[sum].out ? sum : inner_apply(q, v, OP_ADD, t);
        if (id == APPLY_NONE) {
            vec_push(q->r->s, &q->term, v);
            continue;
        }
        q->inside[id] = id != sum;
        vec_push(q->r->s, &open, apply_in(g, id)[1]);
        vec_push(q->r->s, &open, apply_in(g, id)[0]);
    }
    vec_free(&open);
}

/* The only axis that the index narrows; -1: none, or several. */
static int narrowed_axis(const Read *w) {
    int axis = -1;
    for (int k = 0; k < w->t->ndim; k++) {
        if (read_takes_all(&w->item[k])) continue;
        if (axis >= 0) return -1;
        axis = k;
    }
    return axis;
}

/* Is v zeros with a part of a known size along the axis (-1: any) written? Returns the
 * axis, or -1. */
static int find_part(const JoinPass *q, Var v, const Type *t, int axis, Written *p) {
    Rewriter *r = q->r;
    ApplyId id = inner_apply(q, v, OP_INC_SUBTENSOR, t);
    *p = (Written){.v = v};
    if (id == APPLY_NONE || !read_parse(r, id, 2, &p->w) || p->w.nadd ||
        var_type(r->g, p->w.x) != t || !rewriter_is_zeros(r, p->w.x))
        return -1;
    int at = narrowed_axis(&p->w);
    if (at < 0 || (axis >= 0 && at != axis) || t->dim[at] > PLACES ||
        !read_constant_rows(&p->w, at, &p->from, &p->to))
        return -1;
    return at;
}

static int compare_parts(const void *a, const void *b) {
    const Written *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->v < y->v ? -1 : 1;
}

/* Lists the parts along the axis of the first one, in order, without those that begin
 * before another one ends. Returns the axis; -1: fewer than two. */
static int list_parts(JoinPass *q, const Type *t) {
    int axis = -1;
    Written p;
    q->part.n = 0;
    for (size_t i = 0; i < q->term.n; i++) {
        int at = find_part(q, q->term.p[i], t, axis, &p);
        if (at < 0) continue;
        axis = at;
        vec_push(q->r->s, &q->part, p);
    }
    size_t n = 0;
    if (q->part.n) qsort(q->part.p, q->part.n, sizeof *q->part.p, compare_parts);
    for (size_t i = 0; i < q->part.n; i++)
        if (n == 0 || q->part.p[i].from >= q->part.p[n - 1].to)
            q->part.p[n++] = q->part.p[i];
    q->part.n = n;
    for (size_t i = 0; i < n; i++)
        q->joined[q->part.p[i].v] = n > 1;
    return n < 2 ? -1 : axis;
}

static const Type *with_size(Session *s, const Type *t, int axis, int64_t size) {
    Dim dim[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++)
        dim[k] = k == axis ? size : t->dim[k];
    return type_tensor(s, t->dtype, t->ndim, dim);
}

static Var zeros_between(Rewriter *r, const Type *t, int axis, int64_t size) {
    Var zero = const_number(&r->b, t->dtype, 0);
    rewriter_grow(r);
    return rewriter_fit(r, zero, with_size(r->s, t, axis, size));
}

/* What is written, with its axis of whatever size. */
static Var part_value(Rewriter *r, const Written *p, int axis) {
    ReadItem item[MAX_NDIM];
    for (int k = 0; k < p->w.t->ndim; k++)
        item[k] = p->w.item[k];
    Var y = add_zero(r, value_in_full(&p->w, item));
    if (y == VAR_NONE || !item[axis].is_at) return y;
    int64_t at = axis;
    const Op *expand = op_known(r->s, OP_EXPAND_DIMS);
    PropArg arg = {"axis", PROP_INTS(&at, 1)};
    return rewriter_apply(r, expand, props_make(r->s, expand, 1, &arg), 1, &y);
}

static Var join_parts(JoinPass *q, const Type *t, int axis) {
    Rewriter *r = q->r;
    size_t n = 0;
    int64_t from = 0;
    Var *in = NEW_N(q->a, 2 * q->part.n + 1, Var);
    for (size_t i = 0; i <= q->part.n; i++) {
        const Written *p = i < q->part.n ? &q->part.p[i] : NULL;
        int64_t to = p ? p->from : t->dim[axis];
        if (to > from) in[n++] = zeros_between(r, t, axis, to - from);
        if (to > from && in[n - 1] == VAR_NONE) return VAR_NONE;
        if (!p) break;
        in[n++] = part_value(r, p, axis);
        if (in[n - 1] == VAR_NONE) return VAR_NONE;
        from = p->to;
    }
    const Op *join = op_known(r->s, OP_CONCATENATE);
    PropArg arg = {"axis", PROP_INT(axis)};
    return rewriter_apply(r, join, props_make(r->s, join, 1, &arg), n, in);
}

/* False: diagnosed. */
static bool join_sum(JoinPass *q, ApplyId sum) {
    Rewriter *r = q->r;
    Var was = r->g->apply[sum].out;
    const Type *t = var_type(r->g, was);
    list_terms(q, sum);
    int axis = list_parts(q, t);
    if (axis < 0) return true;
    size_t mark = diag_count(r->s);
    r->b.from = (Origin){r->g->origin[sum].at, r->db->entry.p[r->current].name};
    Var v = join_parts(q, t, axis);
    for (size_t i = 0; v != VAR_NONE && i < q->term.n; i++) {
        Var pair[2] = {q->term.p[i], v};
        if (!q->joined[pair[0]])
            v = rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, pair);
    }
    rewriter_forget(r, mark);
    rewriter_grow(r);
    if (v == VAR_NONE || !type_keeps(t, var_type(r->g, v))) return true;
    r->forward[was] = v;
    return rewriter_fired(r, r->current, 1, &was, &v);
}

bool read_join_pass(Rewriter *r) {
    Arena *a = arena_new(r->s);
    JoinPass q = {.r = r, .a = a, .uses = NEW_N(a, r->g->nvar + 1, uint32_t)};
    bool ok = true;
    q.inside = NEW_N(a, r->g->napply + 1, uint8_t);
    q.joined = NEW_N(a, r->g->nvar + 1, uint8_t);
    count_uses(&q);
    for (ApplyId id = r->g->napply; ok && id-- > 0 && !rewriter_limit_reached(r);) {
        const Apply *x = &r->g->apply[id];
        if (rw_is(r, x, OP_ADD) && q.uses[x->out] && !q.inside[id])
            ok = join_sum(&q, id);
    }
    vec_free(&q.term);
    vec_free(&q.part);
    arena_free(a);
    return ok;
}
