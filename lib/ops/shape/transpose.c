/* transpose is the only op that permutes dims; it is a view. swapaxes, moveaxis and
 * merge_axes expand to it when a graph is built. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

/* The permutation: axis[i] is the input's dim that becomes dim i. None: reversed. */
static void read_permutation(const Prop *axes, int ndim, int axis[MAX_NDIM]) {
    for (int i = 0; i < ndim; i++)
        axis[i] = axes->kind == P_NONE ? ndim - 1 - i
                                       : shape_axis_index(axes->ints.p[i], ndim);
}

static bool transpose_type(Infer *in) {
    const Type *x = in->type[0];
    const Prop *axes = infer_prop(in, "axes");
    bool seen[MAX_NDIM] = {false};
    if (axes->kind != P_NONE && axes->ints.n != (size_t)x->ndim)
        return infer_fail(in, E_ARG, in->nin, "axes names %s, but x has %d",
                          str_counted(in->s, axes->ints.n, "dim"), x->ndim);
    Dim dim[MAX_NDIM];
    for (int i = 0; i < x->ndim; i++) {
        int k = x->ndim - 1 - i;
        if (axes->kind != P_NONE && !infer_axis(in, axes->ints.p[i], x->ndim, &k))
            return false;
        if (seen[k])
            return infer_fail(in, E_ARG, in->nin, "axes names dim %d twice", k);
        seen[k] = true;
        dim[i] = x->dim[k];
    }
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool transpose_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int axis[MAX_NDIM];
    read_permutation(op_prop(c->s, c->op, c->props, "axes"), x->ndim, axis);
    Tensor base = *x, *v = call_view(c, 0, x);
    if (!v) return false;
    v->dtype = base.dtype;
    v->ndim = base.ndim;
    v->data = base.data;
    for (int i = 0; i < base.ndim; i++) {
        v->shape[i] = base.shape[axis[i]];
        v->stride[i] = base.stride[axis[i]];
    }
    return true;
}

static bool transpose_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    int ndim = var_type(p->g, p->in[0])->ndim, axis[MAX_NDIM];
    const Prop *axes = op_prop(p->b->s, p->op, p->props, "axes");
    read_permutation(axes, ndim, axis);
    int64_t inverse[MAX_NDIM];
    for (int i = 0; i < ndim; i++)
        inverse[axis[i]] = i;
    PropArg arg = {"axes", PROP_INTS(inverse, (size_t)ndim)};
    p->grad[0] =
        apply_named(p->b, "transpose", 1, p->cotangent, axes->kind != P_NONE, &arg);
    return p->grad[0] != VAR_NONE;
}

static bool transpose_vmap(Vmap *q) {
    int ndim = vmap_ndim(q, 0), axis[MAX_NDIM];
    int64_t axes[MAX_NDIM + 1] = {0};
    read_permutation(op_prop(q->b->s, q->op, q->props, "axes"), ndim, axis);
    for (int i = 0; i < ndim; i++)
        axes[i + 1] = axis[i] + 1;
    Prop moved = PROP_INTS(axes, (size_t)ndim + 1);
    return vmap_apply(q, vmap_replace_prop(q, "axes", moved), q->in);
}

static bool apply_permutation(Builder *b, Var x, int ndim, const int64_t *axes,
                              Var *out) {
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)ndim)};
    return (*out = apply_named(b, "transpose", 1, &x, 1, &arg)) != VAR_NONE;
}

static bool axis_fits(Builder *b, const Op *op, int64_t axis, int ndim, int *k) {
    if (axis < -ndim || axis >= ndim)
        return fail(b->s, b->from.at, E_ARG,
                    "%s: axis %lld is out of range for a tensor of %s", op->name,
                    (long long)axis, str_counted(b->s, (size_t)ndim, "dim"));
    *k = shape_axis_index(axis, ndim);
    return true;
}

static bool swapaxes_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                            const Var *in, Var *out) {
    (void)nin;
    int ndim = var_type(b->g, in[0])->ndim, i = 0, k = 0;
    int64_t axes[MAX_NDIM];
    if (!axis_fits(b, op, prop_int(b->s, op, p, "axis1"), ndim, &i) ||
        !axis_fits(b, op, prop_int(b->s, op, p, "axis2"), ndim, &k))
        return false;
    for (int d = 0; d < ndim; d++)
        axes[d] = d == i ? k : d == k ? i : d;
    return apply_permutation(b, in[0], ndim, axes, out);
}

/* Reads an int or a list as axes, in range and distinct. */
static bool axis_list(Builder *b, const Op *op, const Prop *p, int ndim, int *n,
                      int axis[MAX_NDIM]) {
    bool seen[MAX_NDIM] = {false};
    *n = p->kind == P_INT ? 1 : (int)p->ints.n;
    if (*n > ndim)
        return fail(b->s, b->from.at, E_ARG, "%s: more axes than dims", op->name);
    for (int i = 0; i < *n; i++) {
        if (!axis_fits(b, op, p->kind == P_INT ? p->i : p->ints.p[i], ndim, &axis[i]))
            return false;
        if (seen[axis[i]])
            return fail(b->s, b->from.at, E_ARG, "%s: axis %d is named twice", op->name,
                        axis[i]);
        seen[axis[i]] = true;
    }
    return true;
}

static bool moveaxis_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                            const Var *in, Var *out) {
    (void)nin;
    int ndim = var_type(b->g, in[0])->ndim, n, m, from[MAX_NDIM], to[MAX_NDIM];
    if (!axis_list(b, op, op_prop(b->s, op, p, "source"), ndim, &n, from) ||
        !axis_list(b, op, op_prop(b->s, op, p, "destination"), ndim, &m, to))
        return false;
    if (n != m)
        return fail(b->s, b->from.at, E_ARG,
                    "moveaxis: %d sources, but %d destinations", n, m);
    int64_t axes[MAX_NDIM];
    bool moved[MAX_NDIM] = {false};
    for (int d = 0; d < ndim; d++)
        axes[d] = -1;
    for (int i = 0; i < n; i++) {
        axes[to[i]] = from[i];
        moved[from[i]] = true;
    }
    for (int d = 0, next = 0; d < ndim; d++) {
        if (axes[d] >= 0) continue;
        while (moved[next])
            next++;
        axes[d] = next++;
    }
    return apply_permutation(b, in[0], ndim, axes, out);
}

/* The size of the dims in axis[], which are n of x's. */
static Var merged_size(Builder *b, Var x, int n, const int *axis) {
    int64_t all = 1;
    Var rest = VAR_NONE;
    for (int i = 0; i < n; i++) {
        Var d = shape_of(b, x, axis[i]);
        if (d == VAR_NONE) return VAR_NONE;
        const Tensor *known = var_const(b->g, d);
        if (known && i64_mul(all, tensor_i64(known, 0), &all)) continue;
        rest = rest == VAR_NONE ? d : op_call2(b, "multiply", rest, d);
        if (rest == VAR_NONE) return VAR_NONE;
    }
    if (rest == VAR_NONE) return const_int(b, all);
    return all == 1 ? rest : op_call2(b, "multiply", rest, const_int(b, all));
}

static bool merge_axes_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    (void)nin;
    const Prop *prop = op_prop(b->s, op, p, "axis");
    int ndim = var_type(b->g, in[0])->ndim, n = ndim, axis[MAX_NDIM];
    bool keep = prop_bool(b->s, op, p, "keepdims"), merged[MAX_NDIM] = {false};
    for (int i = 0; i < ndim; i++)
        axis[i] = i;
    if (prop->kind != P_NONE && !axis_list(b, op, prop, ndim, &n, axis)) return false;
    for (int i = 0; i < n; i++)
        merged[axis[i]] = true;
    if (!keep && !type_ndim_fits(b->s, b->from.at, op->name, ndim - n + 1))
        return false;
    if (keep && !type_ndim_fits(b->s, b->from.at, op->name, ndim + 1)) return false;
    int64_t order[MAX_NDIM];
    Var size[MAX_NDIM + 1], v;
    int k = 0, ndims = 0;
    for (int d = 0; d < ndim; d++) {
        if (!merged[d]) order[k++] = d;
        if (!merged[d])
            size[ndims++] = shape_of(b, in[0], d);
        else if (keep)
            size[ndims++] = const_int(b, 1);
        if (ndims && size[ndims - 1] == VAR_NONE) return false;
    }
    for (int d = 0; d < ndim; d++)
        if (merged[d]) order[k++] = d;
    size[ndims] = merged_size(b, in[0], n, axis);
    if (size[ndims++] == VAR_NONE) return false;
    if (!apply_permutation(b, in[0], ndim, order, &v)) return false;
    if (n == 1 && !keep) return *out = v, true;
    Var to[2] = {v, ints_stack(b, (size_t)ndims, size)};
    return (*out = apply_named(b, "reshape", 2, to, 0, NULL)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("transpose"),
     .doc = "The dims in another order: dim i of the result is dim axes[i] of x; "
            "without axes, reversed. x.T is the same.",
     RARE(.sparse = "sparse_transpose"),
     .in = "x",
     .props = "axes: ints? = None",
     .type = transpose_type,
     .perform = transpose_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = transpose_pull,
     .push = push_linear_first,
     .view = 1,
     .vmap = transpose_vmap,
     .example = "transpose([[1, 2, 3], [4, 5, 6]]) -> [[1, 4], [2, 5], [3, 6]]"},
    {.name = OP_ROW("swapaxes"),
     .doc = "x with two dims exchanged.",
     .in = "x",
     .props = "axis1: int, axis2: int",
     .expand = swapaxes_expand,
     .example = "swapaxes([[1, 2], [3, 4]], 0, 1) -> [[1, 3], [2, 4]]"},
    {.name = OP_ROW("moveaxis"),
     .doc = "x with dims moved from the source to the destination positions; the "
            "others keep their order.",
     .in = "x",
     .props = "source: ints, destination: ints",
     .expand = moveaxis_expand,
     .example = "moveaxis([[1, 2], [3, 4]], 0, 1) -> [[1, 3], [2, 4]]"},
    {.name = OP_ROW("merge_axes"),
     .internal = true,
     .doc = "x with the given axes (None: all) as one, the last dim; with keepdims "
            "dims of 1 stay in their places.",
     .in = "x",
     .props = "axis: axes = None, keepdims: bool = False",
     .expand = merge_axes_expand,
     .example = "merge_axes([[1, 2], [3, 4]], axis=0) -> [[1, 3], [2, 4]]\n"
                "merge_axes([[1, 2], [3, 4]], keepdims=True) -> [[[1, 2, 3, 4]]]"},
};
const OpList ops_shape_transpose = LIST_OF(table);
