/* What the rules say of products and transposes of matrices, for batches of them: the
 * matrices are the last two dims. vectorize and jacobian make such products of those in
 * a function. */
#include "rewrite/rewrite_impl.h"

/* ---- reductions of transposes ---- */

/* sum(transpose(x, (0, 2, 1)), axis=1) is sum(x, axis=2): at most a smaller tensor is
 * transposed. */
bool batch_reduce_transposed_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x), *to = var_type(r->g, a.out);
    const Apply *turned = rewriter_known_owner(r, x, OP_TRANSPOSE);
    bool flag[MAX_NDIM], inner[MAX_NDIM], kept = to->ndim == t->ndim;
    int64_t axes[MAX_NDIM], order[MAX_NDIM];
    if (!turned || to->ndim == 0) return false; /* rules for all axes are simpler */
    Var y = rewriter_resolve(r, r->g->in[turned->in]);
    rewriter_transpose_axes(r, turned, t->ndim, axes);
    reduce_axes(r, &a, t->ndim, flag);
    for (int k = 0; k < t->ndim; k++)
        inner[axes[k]] = flag[k];
    int n = 0, before[MAX_NDIM + 1] = {0}; /* reduced axes before each */
    for (int k = 0; k < t->ndim; k++)
        before[k + 1] = before[k] + inner[k];
    bool in_order = true, reversed = true; /* None means reversed */
    for (int k = 0; k < t->ndim; k++) {
        if (flag[k] && !kept) continue;
        order[n] = kept ? axes[k] : axes[k] - before[axes[k]];
        n++;
    }
    for (int k = 0; k < n; k++) {
        in_order &= order[k] == k;
        reversed &= order[k] == n - 1 - k;
    }
    if (before[t->ndim] == 0) return false;
    out[0] = reduce_over(r, &a, y, t->ndim, inner);
    if (out[0] != VAR_NONE && !in_order) {
        const Op *op = op_known(r->s, OP_TRANSPOSE);
        PropArg arg = {"axes", PROP_INTS(order, (size_t)n)};
        out[0] = rewriter_apply(r, op, props_make(r->s, op, !reversed, &arg), 1, out);
    }
    return out[0] != VAR_NONE && type_keeps(to, var_type(r->g, out[0]));
}

/* ---- sums of products ---- */

static Var reduce_keeping(Rewriter *r, const Op *op, Var v, int64_t axis) {
    PropArg arg[2] = {{"axis", PROP_INTS(&axis, 1)}, {"keepdims", PROP_BOOL(true)}};
    return rewriter_apply(r, op, props_make(r->s, op, 2, arg), 1, &v);
}

static Var without_axes(Rewriter *r, Var v, const bool *flag) {
    const Op *op = op_known(r->s, OP_SQUEEZE);
    int64_t axis[MAX_NDIM];
    size_t n = 0;
    for (int k = 0; k < var_type(r->g, v)->ndim; k++)
        if (flag[k]) axis[n++] = k;
    PropArg arg = {"axis", PROP_INTS(axis, n)};
    return rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 1, &v);
}

/* Are sums (means, if `sum` is one) made in the dtype of the elements? */
static bool sums_alike(Rewriter *r, const Apply *sum, DType d) {
    return dtype_is_inexact(d) ||
           ((!sum || rw_is(r, sum, OP_SUM)) && (d == DT_INT64 || d == DT_UINT64));
}

/* The sum over columns of a @ b is a by the sum over columns of b, and so with rows: a
 * product of that many times less. Of single matrices, rules say so. */
bool batch_reduce_product_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x), *to = var_type(r->g, a.out);
    const Apply *product = rewriter_known_owner(r, x, OP_MATMUL);
    if (!product || t->ndim < 3 || !rewriter_one_client(r, x) || product->serial ||
        !sums_alike(r, &a, t->dtype))
        return false;
    ApplyId of = var_owner(r->g, x);
    Var in[2] = {rewriter_input(r, of, 0), rewriter_input(r, of, 1)};
    bool flag[MAX_NDIM], kept = to->ndim == t->ndim, rest = false, any = false;
    if (to->ndim == 0 && t->ndim == 3) return false; /* so does a rule */
    reduce_axes(r, &a, t->ndim, flag);
    for (int k = 0; k + 2 < t->ndim; k++)
        rest |= flag[k];
    for (int side = 0; side < 2; side++) {
        const Type *m = var_type(r->g, in[side]);
        int axis = t->ndim - 2 + side;
        if (m->ndim < 2 || m->dtype != t->dtype) return false;
        if (!flag[axis] || t->dim[axis] == 1) continue;
        in[side] = reduce_keeping(r, a.op, in[side], m->ndim - 2 + side);
        if (in[side] == VAR_NONE) return false;
        any = true;
    }
    if (!any) return false;
    Var v = rewriter_apply(r, op_known(r->s, OP_MATMUL), NULL, 2, in);
    if (v != VAR_NONE && kept) flag[t->ndim - 2] = flag[t->ndim - 1] = false;
    if (v != VAR_NONE && rest)
        v = reduce_over(r, &a, v, t->ndim, flag);
    else if (v != VAR_NONE && !kept)
        v = without_axes(r, v, flag);
    if (v == VAR_NONE || !type_keeps(to, var_type(r->g, v))) return false;
    rewriter_release(r, of);
    out[0] = v;
    return true;
}

/* ---- transposes of products ---- */

/* What v is with the last two dims swapped, where that costs nothing; VAR_NONE. */
static Var swapped_back(Rewriter *r, Var v) {
    const Apply *a = rewriter_known_owner(r, v, OP_TRANSPOSE);
    if (!a || structure_transposes(r, a) != 1) return VAR_NONE;
    return rewriter_resolve(r, r->g->in[a->in]);
}

/* (a.T @ b.T).T is b @ a. */
bool batch_transposed_product_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Apply *product = rewriter_known_owner(r, x, OP_MATMUL);
    if (!product || var_type(r->g, x)->ndim < 3 || structure_transposes(r, &a) != 1)
        return false;
    ApplyId of = var_owner(r->g, x);
    Var in[2] = {swapped_back(r, rewriter_input(r, of, 1)),
                 swapped_back(r, rewriter_input(r, of, 0))};
    if (in[0] == VAR_NONE || in[1] == VAR_NONE) return false;
    out[0] = rewriter_apply(r, op_known(r->s, OP_MATMUL), NULL, 2, in);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
}

/* The diagonals of a batch of products are sums of products of elements. */
bool batch_diagonal_product_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x);
    const Apply *product = rewriter_known_owner(r, x, OP_MATMUL);
    int64_t axes[2], last = t->ndim - 1;
    if (!product || t->ndim < 3 || !rewriter_one_client(r, x) || product->serial ||
        rewriter_prop(r, &a, "offset")->i || t->dim[last] != t->dim[last - 1] ||
        t->dim[last] == DIM_UNKNOWN || !sums_alike(r, NULL, t->dtype))
        return false;
    axes[0] = rewriter_prop(r, &a, "axis1")->i;
    axes[1] = rewriter_prop(r, &a, "axis2")->i;
    for (int k = 0; k < 2; k++)
        axes[k] += axes[k] < 0 ? t->ndim : 0;
    if (axes[0] + axes[1] != 2 * last - 1) return false; /* not the last two */
    ApplyId of = var_owner(r->g, x);
    Var in[2] = {rewriter_input(r, of, 0), rewriter_input(r, of, 1)};
    const Op *op = op_known(r->s, OP_TRANSPOSE), *sum = op_known(r->s, OP_SUM);
    int64_t order[MAX_NDIM];
    int n = var_type(r->g, in[1])->ndim;
    if (n < 2 || var_type(r->g, in[0])->ndim < 2) return false;
    for (int k = 0; k < n; k++)
        order[k] = k < n - 2 ? k : 2 * n - 3 - k;
    PropArg arg = {"axes", PROP_INTS(order, (size_t)n)};
    in[1] = rewriter_apply(r, op, props_make(r->s, op, n > 2, &arg), 1, &in[1]);
    if (in[1] == VAR_NONE) return false;
    Var v = rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, in);
    arg = (PropArg){"axis", PROP_INTS(&last, 1)};
    if (v != VAR_NONE)
        v = rewriter_apply(r, sum, props_make(r->s, sum, 1, &arg), 1, &v);
    if (v == VAR_NONE || !type_keeps(var_type(r->g, a.out), var_type(r->g, v)))
        return false;
    rewriter_release(r, of);
    out[0] = v;
    return true;
}

/* ---- outer products ---- */

/* Along which axes of a result of this type does a factor surely not vary, while the
 * result may? */
static void find_constant_axes(const Type *factor, const Type *t, bool *flag) {
    int lead = t->ndim - factor->ndim;
    for (int k = 0; k < t->ndim; k++)
        flag[k] = t->dim[k] != 1 && (k < lead || factor->dim[k - lead] == 1);
}

/* v, which has the last axes of a result of ndim, summed over those that are flagged.
 */
static Var sum_of_factor(Rewriter *r, const Apply *sum, Var v, int ndim,
                         const bool *flag) {
    int lead = ndim - var_type(r->g, v)->ndim;
    for (int k = 0; k < ndim; k++) {
        if (!flag[k]) continue;
        if (k < lead) return VAR_NONE; /* neither factor has the axis */
        v = reduce_keeping(r, sum->op, v, k - lead);
        if (v == VAR_NONE) return v;
    }
    return v;
}

/* Is it x[:, None] * y of vectors, of which rules know? */
static bool is_outer_of_vectors(const Type *t, const bool (*constant)[MAX_NDIM]) {
    return t->ndim == 2 && (constant[0][0] || constant[0][1]) &&
           (constant[1][0] || constant[1][1]);
}

/* A factor that is the same along an axis leaves the sum over it: sum(x[..., None] * y,
 * axis=-1) is x * sum(y, axis=-1). */
bool batch_sum_factor_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x), *to = var_type(r->g, a.out);
    const Apply *product = rewriter_known_owner(r, x, OP_MULTIPLY);
    bool flag[MAX_NDIM], constant[2][MAX_NDIM], any = false;
    if (!product || t->ndim < 2 || !rewriter_one_client(r, x) || product->serial ||
        !sums_alike(r, &a, t->dtype))
        return false;
    ApplyId of = var_owner(r->g, x);
    Var in[2] = {rewriter_input(r, of, 0), rewriter_input(r, of, 1)};
    reduce_axes(r, &a, t->ndim, flag);
    for (int i = 0; i < 2; i++) {
        const Type *f = var_type(r->g, in[i]);
        if (f->ndim == 0 || f->dtype != t->dtype) return false;
        find_constant_axes(f, t, constant[i]);
    }
    if (is_outer_of_vectors(t, (const bool(*)[MAX_NDIM])constant)) return false;
    /* Where both have one element, so has the product, whatever its type says. */
    for (int k = 0; k < t->ndim; k++) {
        bool one = constant[0][k] && constant[1][k];
        for (int i = 0; i < 2; i++) {
            constant[i][k] &= flag[k] && !one;
            any |= constant[i][k];
        }
    }
    if (!any) return false;
    for (int i = 0; i < 2; i++)
        if ((in[i] = sum_of_factor(r, &a, in[i], t->ndim, constant[!i])) == VAR_NONE)
            return false;
    Var v = rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, in);
    if (v == VAR_NONE || var_type(r->g, v)->ndim != t->ndim) return false;
    bool kept = to->ndim == t->ndim, rest = false;
    for (int k = 0; k < t->ndim; k++) {
        bool done = constant[0][k] || constant[1][k];
        rest |= flag[k] && !done;
        if (done && kept) flag[k] = false;
    }
    v = rest   ? reduce_over(r, &a, v, t->ndim, flag)
        : kept ? v
               : without_axes(r, v, flag);
    if (v == VAR_NONE || !type_keeps(to, var_type(r->g, v))) return false;
    rewriter_release(r, of);
    out[0] = v;
    return true;
}

/* The factor of the two of an outer product of batches that varies along the last axis
 * (side 1) or the one before it; -1: it is no such product. */
static int outer_factor(Rewriter *r, ApplyId of, int side) {
    const Type *t = var_type(r->g, r->g->apply[of].out);
    for (int i = 0; i < 2; i++) {
        const Type *f = var_type(r->g, rewriter_input(r, of, (size_t)i)),
                   *other = var_type(r->g, rewriter_input(r, of, (size_t)!i));
        if (f->ndim < 2 || other->ndim < 2 || f->dtype != t->dtype ||
            other->dtype != t->dtype)
            continue;
        if (f->dim[f->ndim - 2 + !side] == 1 && other->dim[other->ndim - 2 + side] == 1)
            return i;
    }
    return -1;
}

/* (x[..., None] * y[..., None, :]) @ b is x[..., None] * (y[..., None, :] @ b), and so
 * from the left. */
bool batch_outer_product_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *to = var_type(r->g, a.out);
    for (int side = 0; side < 2; side++) {
        Var x = rewriter_input(r, id, (size_t)side),
            b = rewriter_input(r, id, (size_t)!side);
        const Apply *outer = rewriter_known_owner(r, x, OP_MULTIPLY);
        if (!outer || var_type(r->g, x)->ndim < 3 || !rewriter_one_client(r, x) ||
            outer->serial || var_type(r->g, b)->ndim < 2 ||
            !dtype_is_inexact(to->dtype))
            continue;
        ApplyId of = var_owner(r->g, x);
        int summed = outer_factor(r, of, !side); /* the factor with the summed axis */
        if (summed < 0) continue;
        Var in[2] = {rewriter_input(r, of, (size_t)summed), b};
        if (side == 1) in[0] = b, in[1] = rewriter_input(r, of, (size_t)summed);
        Var pair[2] = {rewriter_input(r, of, (size_t)!summed),
                       rewriter_apply(r, a.op, NULL, 2, in)};
        if (pair[1] == VAR_NONE) return false;
        out[0] = rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair);
        if (out[0] == VAR_NONE || !type_keeps(to, var_type(r->g, out[0]))) return false;
        rewriter_release(r, of);
        return true;
    }
    return false;
}
