/* Adds and removes dims of size 1 (expand_dims, squeeze, atleast_1d, atleast_2d) and
 * broadcasts without copying (broadcast_to). All are views. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- expand_dims ---- */
/* Flags the new dims by position in the result. */
static int new_dims(const Prop *axis, int ndim, bool flag[MAX_NDIM]) {
    int n = ndim + (axis->kind == P_INT ? 1 : (int)axis->ints.n);
    if (n <= MAX_NDIM) shape_axes_flags(axis, n, flag);
    return n;
}

static bool expand_dims_type(Infer *in) {
    const Type *x = in->type[0];
    const Prop *axis = infer_prop(in, "axis");
    if (axis->kind == P_NONE)
        return infer_fail(in, E_ARG, in->nin, "axis must say where the dims are added");
    int n = x->ndim + (axis->kind == P_INT ? 1 : (int)axis->ints.n);
    if (!infer_ndim(in, n)) return false;
    bool flag[MAX_NDIM];
    if (!infer_axes(in, axis, n, flag)) return false;
    Dim dim[MAX_NDIM];
    for (int k = 0, from = 0; k < n; k++)
        dim[k] = flag[k] ? 1 : x->dim[from++];
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

static bool expand_dims_perform(Call *c) {
    Tensor base = *call_in(c, 0);
    bool flag[MAX_NDIM];
    int n = new_dims(op_prop(c->s, c->op, c->props, "axis"), base.ndim, flag);
    Tensor *v = call_view(c, 0, call_in(c, 0));
    if (!v) return false;
    v->dtype = base.dtype;
    v->ndim = n;
    v->data = base.data;
    for (int k = 0, from = 0; k < n; k++) {
        v->shape[k] = flag[k] ? 1 : base.shape[from];
        v->stride[k] = flag[k] ? 0 : base.stride[from];
        from += !flag[k];
    }
    return true;
}

/* ---- squeeze ---- */
static bool squeeze_type(Infer *in) {
    const Type *x = in->type[0];
    const Prop *axis = infer_prop(in, "axis");
    bool flag[MAX_NDIM];
    if (!infer_axes(in, axis, x->ndim, flag)) return false;
    Dim dim[MAX_NDIM];
    int n = 0;
    for (int k = 0; k < x->ndim; k++) {
        if (axis->kind == P_NONE) flag[k] = x->dim[k] == 1;
        if (flag[k] && dim_is_known(x->dim[k]) && x->dim[k] != 1)
            return infer_fail(
                in, E_SHAPE, 0,
                "dim %d has size %lld; only dims of size 1 can be dropped", k,
                (long long)x->dim[k]);
        if (!flag[k]) dim[n++] = x->dim[k];
    }
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

static bool squeeze_perform(Call *c) {
    Tensor base = *call_in(c, 0);
    const Prop *axis = op_prop(c->s, c->op, c->props, "axis");
    bool flag[MAX_NDIM];
    shape_axes_flags(axis, base.ndim, flag);
    for (int k = 0; k < base.ndim; k++) {
        if (axis->kind == P_NONE) flag[k] = call_is_one(c, 0, k);
        if (flag[k] && base.shape[k] != 1)
            return call_fail(c, E_RUN_SHAPE,
                             "dim %d has size %lld; only dims of size 1 can be dropped",
                             k, (long long)base.shape[k]);
    }
    Tensor *v = call_view(c, 0, call_in(c, 0));
    if (!v) return false;
    v->dtype = base.dtype;
    v->data = base.data;
    v->ndim = 0;
    for (int k = 0; k < base.ndim; k++) {
        if (flag[k]) continue;
        v->shape[v->ndim] = base.shape[k];
        v->stride[v->ndim++] = base.stride[k];
    }
    return true;
}

/* Removes only dims that the row's type knows to be 1. */
static bool squeeze_vmap(Vmap *q) {
    const Type *x = var_type(q->g, q->was[0]);
    int64_t ones[MAX_NDIM];
    size_t n = 0;
    if (op_prop(q->b->s, q->op, q->props, "axis")->kind != P_NONE) return vmap_axes(q);
    for (int k = 0; k < x->ndim; k++)
        if (x->dim[k] == 1) ones[n++] = k + 1;
    return vmap_apply(q, vmap_replace_prop(q, "axis", PROP_INTS(ones, n)), q->in);
}

/* ---- broadcast_to ---- */
static bool broadcast_to_type(Infer *in) {
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM];
    int n;
    if (!infer_want_shape(in, 1, &n, dim, NULL)) return false;
    if (n < x->ndim)
        return infer_fail(in, E_SHAPE, 1, "x has %s, but the new shape only %d",
                          str_counted(in->s, (size_t)x->ndim, "dim"), n);
    for (int k = 0; k < x->ndim; k++) {
        Dim *to = &dim[n - x->ndim + k];
        if (x->dim[k] == 1) continue;
        if (!dim_may_equal(x->dim[k], *to))
            return infer_fail(in, E_SHAPE, 1,
                              "dim %d of x has size %lld, which can't become %lld", k,
                              (long long)x->dim[k], (long long)*to);
        *to = dim_meet(x->dim[k], *to);
    }
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

/* A single element broadcasts to any shape whose sizes are numbers or dims. */
static bool broadcast_to_fails(const Graph *g, ApplyId a) {
    const Type *x = var_type(g, apply_in(g, a)[0]), *t = var_type(g, g->apply[a].out);
    bool known = true;
    for (int k = 0; k < x->ndim; k++)
        known &= x->dim[k] == 1;
    for (int k = 0; k < t->ndim; k++)
        known &= t->dim[k] != DIM_UNKNOWN;
    return !known;
}

static bool broadcast_to_perform(Call *c) {
    Tensor base = *call_in(c, 0);
    int64_t shape[MAX_NDIM];
    int n;
    if (!call_shape(c, 1, &n, shape) || !call_size_fits(c, base.dtype, n, shape))
        return false;
    int lead = n - base.ndim;
    for (int k = 0; k < base.ndim; k++)
        if (base.shape[k] != shape[lead + k] && !call_is_one(c, 0, k))
            return call_fail(c, E_RUN_SHAPE,
                             "dim %d of x has size %lld, which can't become %lld (a "
                             "size of 1 broadcasts only if the type declares it)",
                             k, (long long)base.shape[k], (long long)shape[lead + k]);
    Tensor *v = call_view(c, 0, call_in(c, 0));
    if (!v) return false;
    v->dtype = base.dtype;
    v->ndim = n;
    v->data = base.data;
    for (int k = 0; k < n; k++) {
        v->shape[k] = shape[k];
        bool own = k >= lead && (base.shape[k - lead] == shape[k]);
        v->stride[k] = own ? base.stride[k - lead] : 0;
    }
    return true;
}

static bool broadcast_to_vmap(Vmap *q) {
    Dim n = var_type(q->g, q->was[1])->dim[0];
    if (q->rows[1] || !dim_is_known(n)) return vmap_by_scan(q);
    Var in[2] = {vmap_pad_rank(q, 0, (int)n), vmap_prepend_size(q, q->in[1])};
    return vmap_apply(q, q->props, in);
}

/* ---- atleast_1d, atleast_2d ---- */
static bool prepend_dims(Builder *b, Var x, int least, Var *out) {
    *out = op_insert_axes(b, x, 0, least - var_type(b->g, x)->ndim);
    return *out != VAR_NONE;
}

static bool atleast_1d_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    return prepend_dims(b, in[0], 1, out);
}

static bool atleast_2d_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    return prepend_dims(b, in[0], 2, out);
}

static const char *const expand_adjoint[] = {"squeeze(g, axis=axis)"};
static const char *const squeeze_adjoint[] = {"reshape(g, shape(x))"};

static const Op table[] = {
    {.name = OP_ROW("expand_dims"),
     .doc = "x with dims of size 1 inserted at the given positions of the result.",
     .in = "x",
     .props = "axis: axes",
     .type = expand_dims_type,
     .perform = expand_dims_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .adjoint = expand_adjoint,
     .view = 1,
     .vmap = vmap_axes,
     .example = "expand_dims([1, 2], axis=1) -> [[1], [2]]"},
    {.name = OP_ROW("squeeze"),
     .doc = "x without the given dims, which must have size 1; without axis, drops all "
            "dims that the type declares as 1.",
     .in = "x",
     .props = "axis: axes = None",
     .type = squeeze_type,
     .perform = squeeze_perform,
     .reentrant = true,
     .flops = "0",
     .adjoint = squeeze_adjoint,
     .view = 1,
     .vmap = squeeze_vmap,
     .example = "squeeze([[1], [2]], axis=1) -> [1, 2]"},
    {.name = OP_ROW("broadcast_to"),
     .doc = "x broadcast to a shape, without copying: adds leading dims and repeats "
            "dims that the type declares as 1.",
     .in = "x, shape: ints",
     .type = broadcast_to_type,
     .perform = broadcast_to_perform,
     .reentrant = true,
     .fails = broadcast_to_fails,
     .flops = "0",
     .pullback = "g_x = g", /* summed as any gradient of what was broadcast */
     .push = push_linear_first,
     .disconnected = "shape",
     .view = 1,
     .vmap = broadcast_to_vmap,
     .example = "broadcast_to([1, 2], (2, 2)) -> [[1, 2], [1, 2]]"},
    {.name = OP_ROW("atleast_1d"),
     .doc = "x with at least one dim.",
     .in = "x",
     .expand = atleast_1d_expand,
     .example = "atleast_1d(5) -> [5]"},
    {.name = OP_ROW("atleast_2d"),
     .doc = "x with at least two dims; new ones come first.",
     .in = "x",
     .expand = atleast_2d_expand,
     .example = "atleast_2d([1, 2]) -> [[1, 2]]"},
};
const OpList ops_shape_expand = LIST_OF(table);
