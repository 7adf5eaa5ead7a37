/* Pooling: maxima, sums and averages of windows that slide along the spatial axes of
 * x, which is [rows, channels, *spatial]. */
#include "ops/nn/pool.h"

#include "ops/shape/linear.h"
#include "vmap/kit.h"

#include <string.h>

enum { NO_DIMS = 2 }; /* rows and channels */

/* ---- typing ---- */

/* The window of the props along the spatial axes of input arg. */
static bool infer_window(Infer *in, size_t arg, Window *w) {
    *w = (Window){.axes = window_infer_axes(in, arg),
                  .ceil = infer_prop(in, "ceil")->i != 0};
    if (w->axes == 0 || !window_infer_ints(in, "size", w->axes, w->size)) return false;
    infer_settle_prop(in, "size", PROP_INTS(w->size, (size_t)w->axes));
    return window_infer_props(in, w);
}

/* The result's dims for an x of those dims. */
static bool infer_counts(Infer *in, const Window *w, const Dim *x, Dim *dim) {
    memcpy(dim, x, NO_DIMS * sizeof *x);
    for (int k = 0; k < w->axes; k++)
        if (!window_infer_count(in, 0, w, k, x[NO_DIMS + k], &dim[NO_DIMS + k]))
            return false;
    return true;
}

static bool infer_pool(Infer *in, DType d) {
    Window w;
    Dim dim[MAX_NDIM];
    return infer_window(in, 0, &w) && infer_counts(in, &w, in->type[0]->dim, dim) &&
           infer_out_tensor(in, 0, d, in->type[0]->ndim, dim);
}

static bool pool_type(Infer *in) {
    return infer_pool(in, in->type[0]->dtype);
}

static bool positions_type(Infer *in) {
    return infer_pool(in, DT_INT64);
}

/* max_pool_gather(x, v): v has x's dims. */
static bool gather_type(Infer *in) {
    if (!infer_want_kinds(in, 1, KIND_FLOAT) || window_infer_axes(in, 0) == 0 ||
        !infer_want_rank(in, 1, in->type[0]->ndim, in->type[0]->ndim))
        return false;
    for (int k = 0; k < in->type[0]->ndim; k++)
        if (!infer_want_dims_equal(in, 0, k, 1, k, NULL)) return false;
    return infer_pool(in, in->type[1]->dtype);
}

/* Are those the dims that the result of pooling has? */
static bool want_counts(Infer *in, size_t arg, int ndim, const Dim *dim) {
    for (int k = 0; k < ndim; k++)
        if (!dim_may_equal(dim[k], infer_in_dim(in, arg, k)))
            return infer_fail(in, E_SHAPE, arg,
                              "axis %d has %lld elements, but there are %lld windows",
                              k, (long long)infer_in_dim(in, arg, k),
                              (long long)dim[k]);
    return true;
}

/* max_pool_scatter(x, v): v has an element for each window of x. */
static bool scatter_type(Infer *in) {
    Window w;
    Dim dim[MAX_NDIM];
    if (!infer_want_kinds(in, 1, KIND_FLOAT) || !infer_window(in, 0, &w) ||
        !infer_want_rank(in, 1, in->type[0]->ndim, in->type[0]->ndim) ||
        !infer_counts(in, &w, in->type[0]->dim, dim) ||
        !want_counts(in, 1, in->type[0]->ndim, dim))
        return false;
    return infer_out_tensor(in, 0, in->type[1]->dtype, in->type[0]->ndim,
                            in->type[0]->dim);
}

/* spread(v, sizes): v has an element for each window of a tensor of this shape, of
 * which only the spatial axes count. */
static bool spread_type(Infer *in) {
    const Type *v = in->type[0];
    Window w;
    Dim x[MAX_NDIM], dim[MAX_NDIM];
    int n;
    if (!infer_want_kinds(in, 0, KIND_FLOAT) || !infer_window(in, 0, &w) ||
        !infer_want_shape(in, 1, &n, x, NULL))
        return false;
    if (n != v->ndim)
        return infer_fail(in, E_SHAPE, 1, "expected %d sizes, got %d", v->ndim, n);
    memcpy(x, v->dim, NO_DIMS * sizeof *x);
    return infer_counts(in, &w, x, dim) && want_counts(in, 0, v->ndim, dim) &&
           infer_out_tensor(in, 0, v->dtype, v->ndim, x);
}

static bool counts_shape(ShapeOf *q) {
    int ndim = var_type(q->g, q->in[0])->ndim;
    Session *s = q->b->s;
    Window w = {.axes = ndim - NO_DIMS, .ceil = prop_bool(s, q->op, q->props, "ceil")};
    window_read_ints(op_prop(s, q->op, q->props, "size"), w.axes, w.size);
    window_read_props(s, q->op, q->props, &w);
    for (int k = 0; k < ndim; k++) {
        Var n = q->in_shape[0][k];
        q->out_shape[0][k] =
            k < NO_DIMS ? n : window_count_var(q->b, &w, k - NO_DIMS, n, VAR_NONE);
        if (q->out_shape[0][k] == VAR_NONE) return false;
    }
    return true;
}

/* ---- the table ---- */

#define WINDOW_PROPS                                                                   \
    "size: ints, strides: ints? = None, padding: sides = 0, dilations: ints = 1, "     \
    "ceil: bool = False"
#define AVERAGE_PROPS WINDOW_PROPS ", include_pad: bool = False"
#define SAME_WINDOW                                                                    \
    "size=size, strides=strides, padding=padding, dilations=dilations, ceil=ceil)"
#define SAME_AVERAGE                                                                   \
    "size=size, strides=strides, padding=padding, dilations=dilations, ceil=ceil, "    \
    "include_pad=include_pad)"
#define ABOUT_WINDOWS                                                                  \
    "x is [rows, channels, *spatial] with 1 to 3 spatial axes; size, strides (None: "  \
    "the size) and dilations are one integer or one for each of them, padding is one " \
    "integer, one or a pair for each, or 'valid', 'same_upper' or 'same_lower'. "      \
    "ceil=True adds windows that begin in x or the padding before it and end beyond "  \
    "the padding. "

static const char *const average_adjoint[] = {
    "avg_pool_spread(g, shape(x), " SAME_AVERAGE};
static const char *const average_spread_adjoint[] = {"avg_pool(g, " SAME_AVERAGE,
                                                     "disconnected"};
static const char *const sum_adjoint[] = {"sum_pool_spread(g, shape(x), " SAME_WINDOW};
static const char *const sum_spread_adjoint[] = {"sum_pool(g, " SAME_WINDOW,
                                                 "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("max_pool"),
     .doc =
         "The largest element of each window; nan wins, and a window without elements "
         "has the lowest number. " ABOUT_WINDOWS
         "The gradient goes to the first largest element. Over whole planes, "
         "max(x, axis=(2, 3)) does the same.",
     .in = "x",
     .props = WINDOW_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = pool_type,
     RARE(.infer_shape = counts_shape),
     .perform = pool_max,
     .debug = pool_max_reference,
     .flops = "r.size * prod(size)",
     .pullback = "g_x = max_pool_scatter(x, g, " SAME_WINDOW,
     .pushforward = "t_r = max_pool_gather(x, t_x, " SAME_WINDOW,
     .vmap = vmap_first_axis,
     .example = "max_pool([[[1, 3, 2, 5]]], 2) -> [[[3, 5]]]\n"
                "max_pool([[[1, 3, 2, 5]]], 2, strides=1, padding=[0, 1]) -> [[[3, 3, "
                "5, 5]]]"},
    {.name = OP_ROW("max_pool_positions"),
     .doc =
         "Where max_pool finds the elements: the position, row-major, in the plane of "
         "spatial axes of each row and channel, as int64; -1 for a window without "
         "elements. max_pool explains the other arguments. Positions p in all of x, "
         "as ONNX has them, are p + arange(m).reshape((x.shape[0], x.shape[1], 1, 1)) "
         "* n for m = x.shape[0] * x.shape[1] planes of n elements each; in a plane "
         "of [h, w] in column-major order p is p % w * h + p // w.",
     .in = "x",
     .props = WINDOW_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = positions_type,
     RARE(.infer_shape = counts_shape),
     .perform = pool_positions,
     .debug = pool_positions_reference,
     .flops = "r.size * prod(size)",
     .pull = pull_discrete,
     .push = push_none,
     .vmap = vmap_first_axis,
     .example = "max_pool_positions([[[1, 3, 2, 5]]], 2) -> [[[1, 3]]]"},
    {.name = OP_ROW("max_pool_gather"),
     .internal = true,
     .doc = "The elements of v at the places where max_pool finds the largest of x; 0 "
            "for a window without elements: max_pool's pushforward.",
     .in = "x, v",
     .props = WINDOW_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = gather_type,
     RARE(.infer_shape = counts_shape),
     .perform = pool_gather,
     .debug = pool_gather_reference,
     .flops = "r.size * prod(size)",
     .pullback = "g_x = zeros_like(x)\ng_v = max_pool_scatter(x, g, " SAME_WINDOW,
     .pushforward = "t_r = max_pool_gather(x, t_v, " SAME_WINDOW,
     .vmap = vmap_first_axis,
     .example = "max_pool_gather([[[1, 3, 2, 5]]], [[[0.5, 1.5, 2.5, 3.5]]], 2) -> "
                "[[[1.5, 3.5]]]"},
    {.name = OP_ROW("max_pool_scatter"),
     .internal = true,
     .doc = "Zeros of x's shape, with each window's element of v added where max_pool "
            "finds the largest element of x: max_pool's pullback.",
     .in = "x, v",
     .props = WINDOW_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = scatter_type,
     RARE(.shape = "shape(x)"),
     .perform = pool_scatter,
     .debug = pool_scatter_reference,
     .flops = "v.size * (prod(size) + 1)",
     .pullback = "g_x = zeros_like(x)\ng_v = max_pool_gather(x, g, " SAME_WINDOW,
     .pushforward = "t_r = max_pool_scatter(x, t_v, " SAME_WINDOW,
     .vmap = vmap_first_axis,
     .example = "max_pool_scatter([[[1, 3, 2, 5]]], [[[0.5, 1.5]]], 2) -> [[[0.0, 0.5, "
                "0.0, 1.5]]]"},
    {.name = OP_ROW("avg_pool"),
     .doc =
         "The mean of the elements of each window; with include_pad=True the padding "
         "counts as zeros. " ABOUT_WINDOWS
         "Over whole planes, mean(x, axis=(2, 3)) does the same.",
     .in = "x",
     .props = AVERAGE_PROPS,
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT,
     .type = pool_type,
     RARE(.infer_shape = counts_shape),
     .perform = pool_average,
     .debug = pool_average_reference,
     .flops = "r.size * (prod(size) + 1)",
     .adjoint = average_adjoint,
     .vmap = vmap_first_axis,
     .example = "avg_pool([[[1., 3., 2., 6.]]], 2) -> [[[2.0, 4.0]]]\n"
                "avg_pool([[[1., 3.]]], 2, strides=1, padding=1, include_pad=True) -> "
                "[[[0.5, 2.0, 1.5]]]"},
    {.name = OP_ROW("avg_pool_spread"),
     .internal = true,
     .doc = "Zeros of these sizes (rows and channels are those of v), to which each "
            "element of "
            "v is added in equal shares where its window is: avg_pool's transpose.",
     .in = "v, sizes: ints",
     .props = AVERAGE_PROPS,
     .type = spread_type,
     RARE(.shape = "concatenate([shape(v)[:2], sizes[2:]])"),
     .perform = pool_average_spread,
     .debug = pool_average_spread_reference,
     .flops = "v.size * (prod(size) + 1)",
     .adjoint = average_spread_adjoint,
     .disconnected = "sizes",
     .vmap = vmap_first_axis,
     .example = "avg_pool_spread([[[2., 4.]]], [1, 1, 4], size=2) -> [[[1.0, 1.0, 2.0, "
                "2.0]]]"},
    {.name = OP_ROW("sum_pool"),
     .doc = "The sum of the elements of each window. " ABOUT_WINDOWS
            "The mean is avg_pool.",
     .in = "x",
     .props = WINDOW_PROPS,
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT,
     .type = pool_type,
     RARE(.infer_shape = counts_shape),
     .perform = pool_sum,
     .debug = pool_sum_reference,
     .flops = "r.size * prod(size)",
     .adjoint = sum_adjoint,
     .vmap = vmap_first_axis,
     .example = "sum_pool([[[1., 3., 2., 6.]]], 2) -> [[[4.0, 8.0]]]"},
    {.name = OP_ROW("sum_pool_spread"),
     .internal = true,
     .doc = "Zeros of these sizes (rows and channels are those of v), to which each "
            "element of "
            "v is added where its window is: sum_pool's transpose.",
     .in = "v, sizes: ints",
     .props = WINDOW_PROPS,
     .type = spread_type,
     RARE(.shape = "concatenate([shape(v)[:2], sizes[2:]])"),
     .perform = pool_sum_spread,
     .debug = pool_sum_spread_reference,
     .flops = "v.size * prod(size)",
     .adjoint = sum_spread_adjoint,
     .disconnected = "sizes",
     .vmap = vmap_first_axis,
     .example = "sum_pool_spread([[[2., 4.]]], [1, 1, 4], size=2) -> [[[2.0, 2.0, 4.0, "
                "4.0]]]"},
};
const OpList ops_nn_pool = LIST_OF(table);
