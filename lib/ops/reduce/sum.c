/* sum, mean, prod. Small integers widen to 64 bits; floats are accumulated in
 * float64. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

static bool sum_type(Infer *in) {
    return reduce_is_expanded(in) && reduce_out(in, reduce_dtype(in->type[0]->dtype));
}

static bool reduce_with(Call *c, ReduceKind kind, ReduceFinish *finish, double empty) {
    bool flag[MAX_NDIM], keepdims;
    reduce_prop_flags(c, flag, &keepdims);
    return reduce_call(c, kind, call_in(c, 0), flag, keepdims,
                       (ReduceSpec){.finish = finish, .empty = empty});
}

static bool sum_perform(Call *c) {
    return reduce_with(c, FOLD_SUM, reduce_cast, 0);
}

static bool prod_perform(Call *c) {
    return reduce_with(c, FOLD_PROD, reduce_cast, 1);
}

static bool mean_perform(Call *c) {
    return reduce_with(c, FOLD_MEAN, reduce_mean, (double)__builtin_nanf(""));
}

static bool sum_debug(Call *c) {
    return reduce_reference(c, FOLD_SUM, 0, false);
}
static bool prod_debug(Call *c) {
    return reduce_reference(c, FOLD_PROD, 0, false);
}
static bool mean_debug(Call *c) {
    return reduce_reference(c, FOLD_MEAN, 0, false);
}

/* g broadcast back to the shape of x. */
static Var spread_over(Pull *p, Var g) {
    Var wide = reduce_spread(p->b, g, p->op, p->props, p->in[0]);
    if (wide == VAR_NONE) return VAR_NONE;
    Var shape = shape_vector(p->b, p->in[0]);
    return op_call2(p->b, "broadcast_to", wide, shape);
}

static bool sum_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    return (p->grad[0] = spread_over(p, p->cotangent[0])) != VAR_NONE;
}

/* NumPy's mean with an integer dtype: the wrapped sum over the count, truncated to an
 * integer. */
static bool mean_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    const Prop *dtype = op_prop(b->s, op, p, "dtype"),
               *axis = op_prop(b->s, op, p, "axis");
    if (dtype->kind == P_NONE || !dtype_is_discrete((DType)dtype->i))
        return reduce_expand(b, op, p, nin, in, out);
    PropArg arg[3] = {{"axis", *axis},
                      {"keepdims", *op_prop(b->s, op, p, "keepdims")},
                      {"dtype", *dtype}};
    bool flag[MAX_NDIM];
    Var sum = apply_named(b, "sum", 1, in, 3, arg);
    if (sum == VAR_NONE) return false;
    shape_axes_flags(axis, var_type(b->g, in[0])->ndim, flag);
    Var n = shape_axes_count(b, in[0], flag);
    if (n == VAR_NONE) return false;
    sum = op_cast_to(b, sum, DT_FLOAT64);
    n = op_cast_to(b, n, DT_FLOAT64);
    Var r = op_call2(b, "true_divide", sum, n);
    return r != VAR_NONE && (*out = op_cast_to(b, r, (DType)dtype->i)) != VAR_NONE;
}

static bool mean_type(Infer *in) {
    return reduce_is_expanded(in) &&
           reduce_out(in, dtype_inexact(in->type[0]->dtype, in->floatX));
}

static bool mean_pull(Pull *p) {
    bool flag[MAX_NDIM];
    Builder *b = p->b;
    shape_axes_flags(op_prop(b->s, p->op, p->props, "axis"),
                     var_type(p->g, p->in[0])->ndim, flag);
    Var g = p->cotangent[0], n = shape_axes_count(b, p->in[0], flag);
    if (n == VAR_NONE) return false;
    Var w = op_cast_to(b, n, dtype_real(var_type(b->g, g)->dtype));
    Var each = op_call2(b, "true_divide", g, w);
    return each != VAR_NONE && (p->grad[0] = spread_over(p, each)) != VAR_NONE;
}

/* mean is linear, but a mean of integers has no integer tangent; applying the op to the
 * tangent is right for all dtypes. */
static bool mean_push(Push *p) {
    return push_linear(p, 1);
}

/* ---- prod ---- */
/* x with its reduced dims merged into the last one. */
typedef struct Together {
    int ndim, nkept;
    int64_t axes[MAX_NDIM], inverse[MAX_NDIM];
} Together;

static Var permute_axes(Builder *b, Var x, const int64_t *axes, int n) {
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)n)};
    return apply_named(b, "transpose", 1, &x, 1, &arg);
}

static Var bring_together(Builder *b, Var x, const bool *flag, Together *t) {
    t->ndim = var_type(b->g, x)->ndim;
    int n = 0;
    for (int want = 0; want < 2; want++) {
        for (int k = 0; k < t->ndim; k++)
            if (flag[k] == want) t->axes[n++] = k;
        if (!want) t->nkept = n;
    }
    for (int k = 0; k < t->ndim; k++)
        t->inverse[t->axes[k]] = k;
    Var size[MAX_NDIM + 1], y = permute_axes(b, x, t->axes, t->ndim);
    if (y == VAR_NONE || t->nkept == t->ndim - 1) return y;
    for (int k = 0; k < t->nkept; k++)
        size[k] = shape_of(b, y, k);
    size[t->nkept] = const_int(b, -1);
    Var shape = ints_stack(b, (size_t)t->nkept + 1, size);
    return op_call2(b, "reshape", y, shape);
}

static Var cumprod_others(Builder *b, Var x, int axis, bool reverse) {
    PropArg arg[3] = {{"axis", PROP_INT(axis)},
                      {"exclusive", PROP_BOOL(true)},
                      {"reverse", PROP_BOOL(reverse)}};
    return apply_named(b, "cumprod", 1, &x, 3, arg);
}

/* Each element's gradient is g times the product of the others, accumulated from both
 * sides: no division, so zeros are handled, and the result can be differentiated
 * again. */
static bool prod_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Builder *b = p->b;
    Var x = p->in[0];
    bool flag[MAX_NDIM], any = false;
    int ndim = var_type(p->g, x)->ndim;
    shape_axes_flags(op_prop(b->s, p->op, p->props, "axis"), ndim, flag);
    for (int k = 0; k < ndim; k++)
        any |= flag[k];
    if (!any) return p->grad[0] = p->cotangent[0], true;
    Together t;
    Var y = bring_together(b, x, flag, &t);
    if (y == VAR_NONE) return false;
    Var before = cumprod_others(b, y, t.nkept, false),
        after = cumprod_others(b, y, t.nkept, true);
    if (before == VAR_NONE || after == VAR_NONE) return false;
    Var others = op_call2(b, "multiply", before, after),
        g = reduce_spread(b, p->cotangent[0], p->op, p->props, x);
    if (others == VAR_NONE || g == VAR_NONE) return false;
    if (t.nkept != t.ndim - 1) {
        Var like = permute_axes(b, x, t.axes, t.ndim);
        Var shape = shape_vector(b, like);
        others = op_call2(b, "reshape", others, shape);
    }
    others = others == VAR_NONE ? VAR_NONE : permute_axes(b, others, t.inverse, t.ndim);
    others = op_conj_of_complex(b, others);
    return others != VAR_NONE &&
           (p->grad[0] = op_call2(b, "multiply", g, others)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("sum"),
     .doc = "Sum over the given axes (None: all). bool and int8 to int32 give int64, "
            "unsigned integers uint64; float16 and float32 are accumulated in float64. "
            "dtype is the dtype of the result, to which x is converted first, so that "
            "integers wrap. where= and initial= are as in sum_where.",
     RARE(.sparse = "sparse_sum", .keywords = "sum_where", .streams = reduce_streams,
          .redo = true),
     .in = "x",
     .props = SUM_PROPS,
     .expand = reduce_expand,
     .type = sum_type,
     .perform = sum_perform,
     .reentrant = true,
     .debug = sum_debug,
     .fails = op_never_fails,
     .flops = "x.size",
     .pull = sum_pull,
     .push = push_linear_first,
     .vmap = vmap_axes,
     .example = "sum([[1, 2], [3, 4]], axis=0) -> [4, 6]\nsum([0.5, 1.5]) -> 2.0\n"
                "sum([100, 100], dtype='int8') -> -56"},
    {.name = OP_ROW("mean"),
     .doc = "Mean over the given axes (None: all); floatX for integers. Accumulated in "
            "float64; dtype is as for sum, where= as in mean_where.",
     RARE(.keywords = "mean_where", .streams = reduce_streams, .redo = true),
     .in = "x",
     .props = SUM_PROPS,
     .expand = mean_expand,
     .type = mean_type,
     .perform = mean_perform,
     .reentrant = true,
     .debug = mean_debug,
     .fails = op_never_fails,
     .flops = "x.size",
     .pull = mean_pull,
     .push = mean_push,
     .vmap = vmap_axes,
     .example =
         "mean([[1.0, 2.0], [3.0, 4.0]], axis=1) -> [1.5, 3.5]\nmean([1, 2]) -> 1.5"},
    {.name = OP_ROW("prod"),
     .doc =
         "Product over the given axes (None: all); dtypes and dtype as in sum, where= "
         "and initial= as in prod_where.",
     RARE(.keywords = "prod_where", .streams = reduce_streams, .redo = true),
     .in = "x",
     .props = SUM_PROPS,
     .expand = reduce_expand,
     .type = sum_type,
     .perform = prod_perform,
     .reentrant = true,
     .debug = prod_debug,
     .fails = op_never_fails,
     .flops = "x.size",
     .pull = prod_pull,
     .vmap = vmap_axes,
     .example =
         "prod([2, 3, 4]) -> 24\nprod([[1.0, 2.0], [3.0, 0.0]], axis=1) -> [2.0, 0.0]"},
};
const OpList ops_reduce_sum = LIST_OF(table);
