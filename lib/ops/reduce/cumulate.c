/* Running sums, products and extremes, and recurrence, s[i] = a[i] s[i - 1] + b[i].
 * With it the derivatives of cumprod (and so of prod) need no division: they are
 * correct where elements are zero, and can be differentiated again. */
#include "ops/reduce/cumulate.h"

#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

static DType state_dtype(DType d) {
    return dtype_is_complex(d) ? DT_COMPLEX128
           : dtype_is_float(d) ? DT_FLOAT64
                               : DT_UINT64;
}

/* ---- cumsum, cumprod: without an axis, over all elements in row-major order ---- */
static bool cum_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    (void)nin;
    bool product = op_is(b->s, op, OP_CUMPROD);
    const Prop *dtype = op_prop(b->s, op, p, "dtype");
    Var x = in[0];
    PropArg axis = shape_ravel_without_axis(b, op, p, &x);
    if (dtype->kind != P_NONE && x != VAR_NONE) x = op_cast_to(b, x, (DType)dtype->i);
    PropArg arg[3] = {axis,
                      {"exclusive", *op_prop(b->s, op, p, "exclusive")},
                      {"reverse", *op_prop(b->s, op, p, "reverse")}};
    *out = apply_named(b, product ? "running_prod" : "running_sum", 1, &x, 3, arg);
    if (dtype->kind != P_NONE && *out != VAR_NONE)
        *out = op_cast_to(b, *out, (DType)dtype->i);
    return *out != VAR_NONE;
}

static bool running_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    if (!infer_want_rank(in, 0, 1, -1) ||
        !infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis))
        return false;
    return infer_out_tensor(in, 0, reduce_dtype(x->dtype), x->ndim, x->dim);
}

/* A running sum, product or extreme of the input; acc is the dtype of its state. */
static bool run_running_op(Call *c, CumKind what, DType acc, bool exclusive) {
    Tensor x = *call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    bool reverse = prop_bool(c->s, c->op, c->props, "reverse");
    cumulate(c, &(CumSpec){what, acc, exclusive, reverse}, &x, &x, out, axis);
    return true;
}

static bool run_running_total(Call *c, CumKind what) {
    return run_running_op(c, what, state_dtype(call_in(c, 0)->dtype),
                          prop_bool(c->s, c->op, c->props, "exclusive"));
}
static bool running_sum_perform(Call *c) {
    return run_running_total(c, RUN_SUM);
}
static bool running_prod_perform(Call *c) {
    return run_running_total(c, RUN_PROD);
}

/* The other way of the loop; what the loop meets next in x, at each place. */
#define OTHER_WAY                                                                      \
    "back = False when reverse\n"                                                      \
    "back = True\n"
#define NEIGHBOURS                                                                     \
    "ahead = lambda x: shift(x, 1, axis=axis) when reverse\n"                          \
    "ahead = lambda x: shift(x, -1, axis=axis)\n"
static const char *const running_sum_pullback =
    OTHER_WAY "g_x = running_sum(g, axis=axis, exclusive=exclusive, reverse=back)";

/* d r[i] / d x[j] is the product before j times the product between j and i. Summed
 * over i with the gradient, the second factor is a recurrence from the other end. An
 * exclusive product is an inclusive one shifted by one. */
static const char *const running_prod_pullback = OTHER_WAY NEIGHBOURS
    "g_x = cj(others) * recurrence(cj(ahead(x)), v, axis=axis, reverse=back)\n"
    "others = running_prod(x, axis=axis, exclusive=True, reverse=reverse)\n"
    "v = ahead(g) when exclusive\n"
    "v = g";

/* The result one step before. */
#define PREVIOUS                                                                       \
    "previous = shift(r, -1, axis=axis) when reverse\n"                                \
    "previous = shift(r, 1, axis=axis)\n"

/* ---- cummax, cummin ---- */
static bool cum_extreme_expand(Builder *b, const char *name, const Op *op,
                               const Props *p, const Var *in, Var *out) {
    Var x = in[0];
    PropArg axis = shape_ravel_without_axis(b, op, p, &x);
    PropArg arg[2] = {axis, {"reverse", *op_prop(b->s, op, p, "reverse")}};
    if (x != VAR_NONE) x = apply_named(b, name, 1, &x, 2, arg);
    return (*out = x) != VAR_NONE;
}
static bool cummax_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)nin;
    return cum_extreme_expand(b, "running_max", op, p, in, out);
}
static bool cummin_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    (void)nin;
    return cum_extreme_expand(b, "running_min", op, p, in, out);
}

static bool logcumsumexp_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                const Var *in, Var *out) {
    (void)nin;
    return cum_extreme_expand(b, "running_logsumexp", op, p, in, out);
}

static bool running_extreme_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    return infer_want_rank(in, 0, 1, -1) &&
           infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis) &&
           infer_out_tensor(in, 0, x->dtype, x->ndim, x->dim);
}

static bool run_extreme(Call *c, CumKind what) {
    DType d = call_in(c, 0)->dtype;
    return run_running_op(c, what,
                          dtype_is_float(d)        ? DT_FLOAT64
                          : dtype_kind(d) == K_INT ? DT_INT64
                                                   : DT_UINT64,
                          false);
}
static bool running_max_perform(Call *c) {
    return run_extreme(c, RUN_MAX);
}
static bool running_min_perform(Call *c) {
    return run_extreme(c, RUN_MIN);
}

static bool running_logsumexp_perform(Call *c) {
    return run_extreme(c, RUN_LOGSUMEXP);
}

/* Sums of exp(x[j] - r[i]) times a gradient or a tangent, as recurrences whose factors
 * are at most 1: no exponential overflows, and where it underflows nothing is lost. At
 * the ends of a line, where there is no neighbour, the factor does not count. */
static const char *const running_logsumexp_pullback = OTHER_WAY NEIGHBOURS
    "g_x = exp(x - r) * recurrence(exp(where(d > 0, 0, d)), g, axis=axis, "
    "reverse=back)\n"
    "d = r - ahead(r)";
static const char *const running_logsumexp_pushforward =
    PREVIOUS "t_r = recurrence(exp(where(d > 0, 0, d)), exp(x - r) * t_x, axis=axis, "
             "reverse=reverse)\n"
             "d = previous - r";

/* The gradient goes to where each extreme was met first: `steps` counts along the way
 * of the loop. */
#define FIRST_MET                                                                      \
    "index = shape_i(r, axis=axis) - 1 - start when reverse\n"                         \
    "index = start\n"                                                                  \
    "start = running_max(where((steps == 0) | (r != previous), steps, 0), axis=axis, " \
    "reverse=reverse)\n"                                                               \
    "steps = running_sum(ones_like(cast(r, 'int64')), axis=axis, exclusive=True, "     \
    "reverse=reverse)\n"
static const char *const running_extreme_pullback =
    "g_x = scatter_elements(zeros_like(g), index, g, axis=axis, "
    "reduction='add')\n" FIRST_MET PREVIOUS;
static const char *const running_extreme_pushforward =
    "t_r = take_along_axis(t_x, index, axis=axis)\n" FIRST_MET PREVIOUS;

/* ---- recurrence ---- */
static bool recurrence_type(Infer *in) {
    const Type *a = in->type[0], *x = in->type[1];
    int axis;
    Dim dim[MAX_NDIM];
    if (!infer_want_rank(in, 0, 1, -1) || !infer_want_rank(in, 1, a->ndim, a->ndim))
        return false;
    if (!infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis)) return false;
    for (int k = 0; k < x->ndim; k++)
        if (!infer_want_dims_equal(in, 0, k, 1, k, &dim[k])) return false;
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool recurrence_perform(Call *c) {
    Tensor a = *call_in(c, 0), x = *call_in(c, 1);
    if (!tensor_same_shape(&a, &x))
        return call_fail(c, E_RUN_SHAPE, "a and b have different shapes");
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out) return false;
    CumSpec f = {.what = RUN_RECURRENCE, .acc = state_dtype(x.dtype)};
    f.reverse = prop_bool(c->s, c->op, c->props, "reverse");
    cumulate(c, &f, &a, &x, out, axis);
    return true;
}

/* b's gradient is the recurrence from the other end with a shifted by one; a's is that
 * times the previous state. */
static const char *const recurrence_pullback = OTHER_WAY NEIGHBOURS PREVIOUS
    "g_a = g_b * cj(previous)\n"
    "g_b = recurrence(cj(ahead(a)), g, axis=axis, reverse=back)";
/* The tangent follows a recurrence with the same a, fed by b's tangent plus a's tangent
 * times the previous state. */
static const char *const recurrence_pushforward =
    PREVIOUS "t_r = recurrence(a, t_b + t_a * previous, axis=axis, reverse=reverse)";

#define EXTREMES                                                                       \
    .in = "x", .kinds = KIND_BOOL | KIND_REAL,                                         \
    .props = "axis: axis? = None, reverse: bool = False"
#define RUNNING_EXTREMES                                                               \
    .internal = true, .in = "x", .kinds = KIND_BOOL | KIND_REAL,                       \
    .props = "axis: axis = 0, reverse: bool = False", .type = running_extreme_type,    \
    .fails = op_never_fails, .flops = "x.size", .pullback = running_extreme_pullback,  \
    .pushforward = running_extreme_pushforward, .vmap = vmap_axes
#define CUM_PROPS                                                                      \
    "axis: axis? = None, dtype: dtype? = None, exclusive: bool = False, "              \
    "reverse: bool = False"
#define RUNNING_PROPS "axis: axis = 0, exclusive: bool = False, reverse: bool = False"

static const Op table[] = {
    {.name = OP_ROW("cumsum"),
     .doc = "Sums of the elements up to each one along axis (None: of x flattened). "
            "exclusive leaves the element itself out, reverse starts at the end. The "
            "result dtype and dtype= are as for sum; accumulated in float64.",
     .in = "x",
     .props = CUM_PROPS,
     .expand = cum_expand,
     .example = "cumsum([1, 2, 3]) -> [1, 3, 6]\ncumsum([1, 2, 3], exclusive=True) -> "
                "[0, 1, 3]"},
    {.name = OP_ROW("cumprod"),
     .doc = "Products of the elements up to each one along axis (None: of x "
            "flattened); dtype, exclusive and reverse are as for cumsum.",
     .in = "x",
     .props = CUM_PROPS,
     .expand = cum_expand,
     .example = "cumprod([1, 2, 3, 4]) -> [1, 2, 6, 24]"},
    {.name = OP_ROW("cummax"),
     EXTREMES,
     .doc =
         "The largest of the elements up to each one along axis (None: of x "
         "flattened), NumPy's maximum.accumulate; nan from the first nan on. reverse "
         "starts at the end. The derivative is that of the first of equal ones.",
     .expand = cummax_expand,
     .example = "cummax([1, 3, 2]) -> [1, 3, 3]\ncummax([1, 3, 2], reverse=True) -> "
                "[3, 3, 2]"},
    {.name = OP_ROW("cummin"),
     EXTREMES,
     .doc = "The smallest of the elements up to each one along axis, otherwise as "
            "cummax.",
     .expand = cummin_expand,
     .example = "cummin([2, 1, 3]) -> [2, 1, 1]"},
    {.name = OP_ROW("logcumsumexp"),
     .in = "x",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_BOOL | KIND_REAL,
     .props = "axis: axis? = None, reverse: bool = False",
     .doc = "log(cumsum(exp(x))) along axis (None: of x flattened), without overflow. "
            "reverse starts at the end.",
     .expand = logcumsumexp_expand,
     .example = "logcumsumexp([-1000., -1000.]) -> [-1000.0, -999.3068528194401]"},
    {.name = OP_ROW("running_logsumexp"),
     .internal = true,
     .in = "x",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_BOOL | KIND_REAL,
     .props = "axis: axis = 0, reverse: bool = False",
     .type = running_extreme_type,
     .fails = op_never_fails,
     .flops = "4 * x.size",
     .pullback = running_logsumexp_pullback,
     .pushforward = running_logsumexp_pushforward,
     .vmap = vmap_axes,
     .doc = "logcumsumexp along an axis; logcumsumexp expands to this.",
     .perform = running_logsumexp_perform,
     .example = "running_logsumexp([0., 0.]) -> [0.0, 0.6931471805599453]"},
    {.name = OP_ROW("running_max"),
     RUNNING_EXTREMES,
     .doc = "cummax along an axis; cummax expands to this.",
     .perform = running_max_perform,
     .example = "running_max([1, 3, 2]) -> [1, 3, 3]"},
    {.name = OP_ROW("running_min"),
     RUNNING_EXTREMES,
     .doc = "cummin along an axis; cummin expands to this.",
     .perform = running_min_perform,
     .example = "running_min([2, 1, 3]) -> [2, 1, 1]"},
    {.name = OP_ROW("running_sum"),
     .internal = true,
     .doc = "cumsum along an axis; cumsum expands to this.",
     .in = "x",
     .props = RUNNING_PROPS,
     .type = running_type,
     .perform = running_sum_perform,
     .fails = op_never_fails,
     .flops = "x.size",
     .pullback = running_sum_pullback,
     .push = push_linear_first,
     .vmap = vmap_axes,
     .example = "running_sum([1, 2, 3], reverse=True) -> [6, 5, 3]"},
    {.name = OP_ROW("running_prod"),
     .internal = true,
     .doc = "cumprod along an axis; cumprod expands to this.",
     .in = "x",
     .props = RUNNING_PROPS,
     .type = running_type,
     .perform = running_prod_perform,
     .fails = op_never_fails,
     .flops = "x.size",
     .pullback = running_prod_pullback,
     .vmap = vmap_axes,
     .example = "running_prod([2, 3, 4], exclusive=True) -> [1, 2, 6]"},
    {.name = OP_ROW("recurrence"),
     .doc = "s[i] = a[i] * s[i - 1] + b[i] along an axis, from s[-1] = 0; reverse "
            "starts at the end.",
     .in = "a, b",
     .props = "axis: axis = 0, reverse: bool = False",
     .promote = PROMOTE_SAME,
     .type = recurrence_type,
     .perform = recurrence_perform,
     .flops = "2 * b.size",
     .pullback = recurrence_pullback,
     .pushforward = recurrence_pushforward,
     .vmap = vmap_axes,
     .example = "recurrence([0, 2, 2], [1, 1, 1]) -> [1, 3, 7]"},
};
const OpList ops_reduce_cumulate = LIST_OF(table);
