/* Sums and extremes of tensors that are put together: of joined parts, part by part; of
 * a repeated value, without repeating it; of nothing. */
#include "rewrite/rewrite_impl.h"

void reduce_axes(Rewriter *r, const Apply *a, int ndim, bool *flag) {
    const Prop *p = rewriter_prop(r, a, "axis");
    for (int k = 0; k < ndim; k++)
        flag[k] = p->kind == P_NONE;
    for (size_t i = 0; p->kind == P_INTS && i < p->ints.n; i++)
        flag[p->ints.p[i] < 0 ? p->ints.p[i] + ndim : p->ints.p[i]] = true;
}

Var reduce_over(Rewriter *r, const Apply *a, Var v, int ndim, const bool *flag) {
    int64_t axis[MAX_NDIM];
    size_t n = 0;
    for (int k = 0; k < ndim; k++)
        if (flag[k]) axis[n++] = k;
    return rewriter_with_prop(r, a, "axis", PROP_INTS(axis, n), 1, &v);
}

/* ---- all axes, named one by one ---- */

bool reduce_all_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Prop *p = rewriter_prop(r, &a, "axis");
    Var x = rewriter_input(r, id, 0);
    if (p->kind != P_INTS || p->ints.n == 0 ||
        p->ints.n != (size_t)var_type(r->g, x)->ndim || var_type(r->g, a.out)->ndim > 0)
        return false;
    out[0] = rewriter_with_prop(r, &a, "axis", (Prop){.kind = P_NONE}, 1, &x);
    return out[0] != VAR_NONE;
}

/* ---- of no elements ---- */

static bool sums_nothing(Rewriter *r, const Apply *a, const Type *t) {
    bool flag[MAX_NDIM], empty = false;
    if (rw_is(r, a, OP_MATMUL)) { /* and the right operand agrees */
        const Type *b = var_type(r->g, rewriter_resolve(r, r->g->in[a->in + 1]));
        return t->dim[t->ndim - 1] == 0 && b->dim[b->ndim > 1 ? b->ndim - 2 : 0] == 0;
    }
    reduce_axes(r, a, t->ndim, flag);
    for (int k = 0; k < t->ndim; k++)
        empty |= flag[k] && t->dim[k] == 0;
    return empty;
}

/* Rules may then take factors out of sums: nan * 0 isn't the sum of nothing. */
bool reduce_empty_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *to = var_type(r->g, a.out);
    if (!sums_nothing(r, &a, var_type(r->g, rewriter_input(r, id, 0)))) return false;
    Var v = const_number(&r->b, to->dtype, rw_is(r, &a, OP_PROD) ? 1 : 0);
    rewriter_grow(r);
    out[0] = rewriter_fit(r, v, to);
    rewriter_grow(r);
    return out[0] != VAR_NONE;
}

/* ---- of joined parts ---- */

enum { PARTS = 8, SMALL = 64 };

static bool is_positive_dim(Dim d) {
    return dim_is_known(d) && d > 0;
}

/* Do the types prove that the parts can be joined, and that none is empty where that
 * would be an error? */
static bool parts_fit(Rewriter *r, const Apply *a, int axis, bool nonempty) {
    const Type *first = var_type(r->g, rewriter_resolve(r, r->g->in[a->in]));
    for (size_t i = 0; i < a->nin; i++) {
        const Type *t = var_type(r->g, rewriter_resolve(r, r->g->in[a->in + i]));
        for (int k = 0; k < t->ndim; k++) {
            if (nonempty && !is_positive_dim(t->dim[k])) return false;
            if (k != axis && (t->dim[k] != first->dim[k] || t->dim[k] == DIM_UNKNOWN))
                return false;
        }
    }
    return true;
}

static const Op *combining_op(Rewriter *r, const Apply *a) {
    return rw_is(r, a, OP_SUM)    ? op_known(r->s, OP_ADD)
           : rw_is(r, a, OP_PROD) ? op_known(r->s, OP_MULTIPLY)
           : rw_is(r, a, OP_MAX)  ? op_known(r->s, OP_MAXIMUM)
                                  : op_known(r->s, OP_MINIMUM);
}

bool reduce_parts_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0), total = VAR_NONE;
    const Type *t = var_type(r->g, x), *to = var_type(r->g, a.out);
    ApplyId of = var_owner(r->g, x);
    bool flag[MAX_NDIM], stacked, one = true;
    if (of == APPLY_NONE || !rewriter_one_client(r, x)) return false;
    const Apply joined = r->g->apply[of];
    stacked = rw_is(r, &joined, OP_STACK);
    if ((!stacked && !rw_is(r, &joined, OP_CONCATENATE)) || joined.nin > PARTS)
        return false;
    int axis = (int)rewriter_prop(r, &joined, "axis")->i, ndim = t->ndim;
    int64_t size = type_size(t);
    if (axis < 0) axis += ndim;
    reduce_axes(r, &a, ndim, flag);
    if (!flag[axis] || (stacked && ndim == to->ndim)) return false;
    for (int k = axis; stacked && k + 1 < ndim; k++)
        flag[k] = flag[k + 1];
    ndim -= stacked;
    for (int k = 0; k < ndim; k++)
        one &= !flag[k];
    bool sum = rw_is(r, &a, OP_SUM), prod = rw_is(r, &a, OP_PROD);
    /* products of parts may overflow where the whole doesn't */
    if ((!one && (prod || (size >= 0 && size < SMALL))) ||
        !parts_fit(r, &joined, stacked ? -1 : axis, !sum && !prod))
        return false;
    const Op *op = combining_op(r, &a);
    for (size_t i = 0; i < joined.nin; i++) {
        Var pair[2] = {total, rewriter_input(r, of, i)};
        if (!one) pair[1] = reduce_over(r, &a, pair[1], ndim, flag);
        if (pair[1] == VAR_NONE) return false;
        total = i ? rewriter_apply(r, op, NULL, 2, pair) : pair[1];
        if (total == VAR_NONE) return false;
    }
    rewriter_release(r, of);
    out[0] = total;
    return type_keeps(to, var_type(r->g, total));
}

/* ---- of a repeated value ---- */

static bool is_finite_number(Rewriter *r, Var v) {
    const Tensor *t = rewriter_uniform(r, v) ? var_const(r->g, v) : NULL;
    if (!t || dtype_is_complex(t->dtype)) return false;
    double x = tensor_f64(t, 0);
    return x - x == 0;
}

/* How often each element is summed: a number, or a product of named dims. */
static Var count_repeats(Rewriter *r, const Type *t, const bool *again, DType d) {
    int64_t known = 1;
    Var n = VAR_NONE;
    for (int k = 0; k < t->ndim; k++) {
        if (!again[k]) continue;
        if (dim_is_known(t->dim[k])) {
            if (!i64_mul(known, t->dim[k], &known)) return VAR_NONE;
            continue;
        }
        Var pair[2] = {n, graph_dim(r->g, dim_sym(t->dim[k]))};
        rewriter_grow(r);
        n = n == VAR_NONE
                ? pair[1]
                : rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair);
    }
    if (n != VAR_NONE) n = op_cast_to(&r->b, n, d);
    Var pair[2] = {n, const_number(&r->b, d, (double)known)};
    rewriter_grow(r);
    return n == VAR_NONE ? pair[1]
           : known == 1  ? n
                        : rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair);
}

bool reduce_repeated_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x), *to = var_type(r->g, a.out);
    bool flag[MAX_NDIM], again[MAX_NDIM], inner[MAX_NDIM] = {false}, any = false,
                                          open = false, nothing = false, none = false;
    if (var_is_const(r->g, x)) return false;
    Var y = rewriter_repeated_value(r, x);
    rewriter_grow(r);
    if (y == VAR_NONE || y == x || !rewrite_dims_fit(var_type(r->g, y), t))
        return false;
    const Type *ty = var_type(r->g, y);
    int lead = t->ndim - ty->ndim;
    reduce_axes(r, &a, t->ndim, flag);
    for (int k = 0; k < t->ndim; k++) {
        bool stretched = k < lead || (ty->dim[k - lead] == 1 && t->dim[k] != 1);
        again[k] = flag[k] && stretched;
        if (k >= lead) inner[k - lead] = flag[k];
        if (again[k] && t->dim[k] == DIM_UNKNOWN) return false;
        any |= again[k];
        open |= again[k] && !is_positive_dim(t->dim[k]);
        nothing |= flag[k] && !is_positive_dim(t->dim[k]);
        none |= stretched && !flag[k] && !is_positive_dim(t->dim[k]);
    }
    bool sum = rw_is(r, &a, OP_SUM);
    /* of nothing there is no extreme, unless there are no results */
    if ((rw_is(r, &a, OP_MAX) || rw_is(r, &a, OP_MIN)) && nothing && none) return false;
    if (open && (!sum || !is_finite_number(r, y))) return false;
    Var pair[2] = {reduce_over(r, &a, y, ty->ndim, inner), VAR_NONE};
    bool multiple = sum && any;
    if (multiple) pair[1] = count_repeats(r, t, again, to->dtype);
    if (pair[0] == VAR_NONE || (multiple && pair[1] == VAR_NONE)) return false;
    Var v = multiple ? rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair)
                     : pair[0];
    if (v == VAR_NONE || var_type(r->g, v)->dtype != to->dtype) return false;
    out[0] = rewriter_fit(r, v, to);
    rewriter_grow(r);
    return out[0] != VAR_NONE;
}
