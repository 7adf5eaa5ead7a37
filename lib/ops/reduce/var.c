/* var, std: the mean of squared deviations, from means and sums of squares of blocks,
 * combined in float64. A complex variance is that of the real parts plus that of the
 * imaginary parts. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

static bool var_op_type(Infer *in) {
    return reduce_out(in, dtype_real(dtype_inexact(in->type[0]->dtype, in->floatX)));
}

static double ddof_of(Session *s, const Op *op, const Props *p) {
    return op_prop(s, op, p, "ddof")->f;
}

static bool reduce_variance(Call *c, bool root) {
    bool flag[MAX_NDIM], keepdims;
    Tensor x = *call_in(c, 0);
    reduce_prop_flags(c, flag, &keepdims);
    ReduceSpec f = {.finish = reduce_var,
                    .ddof = ddof_of(c->s, c->op, c->props),
                    .root = root,
                    .empty = (double)__builtin_nanf("")};
    if (!dtype_is_complex(x.dtype))
        return reduce_call(c, FOLD_VAR, &x, flag, keepdims, f);
    x.dtype = dtype_real(x.dtype);
    f.root = false;
    if (!reduce_call(c, FOLD_VAR, &x, flag, keepdims, f)) return false;
    x.data = (char *)x.data + dtype_size(x.dtype);
    f.root = root;
    f.add = true;
    return reduce_call(c, FOLD_VAR, &x, flag, keepdims, f);
}

/* Complex elements need two passes. */
static bool var_streams(const Graph *g, ApplyId id, int ndim, const int64_t *dim) {
    return !dtype_is_complex(var_type(g, apply_in(g, id)[0])->dtype) &&
           reduce_streams(g, id, ndim, dim);
}

static bool var_perform(Call *c) {
    return reduce_variance(c, false);
}

static bool std_perform(Call *c) {
    return reduce_variance(c, true);
}

static bool var_debug(Call *c) {
    return reduce_reference(c, FOLD_VAR, ddof_of(c->s, c->op, c->props), false);
}
static bool std_debug(Call *c) {
    return reduce_reference(c, FOLD_VAR, ddof_of(c->s, c->op, c->props), true);
}

/* The divisor of the sum of squares, in the real dtype of x. */
static Var variance_divisor(Builder *b, const Op *op, const Props *props, Var x,
                            DType d) {
    bool flag[MAX_NDIM];
    shape_axes_flags(op_prop(b->s, op, props, "axis"), var_type(b->g, x)->ndim, flag);
    Var n = shape_axes_count(b, x, flag), w = op_cast_to(b, n, d);
    double ddof = ddof_of(b->s, op, props);
    if (w == VAR_NONE || ddof == 0) return w;
    return op_call2(b, "subtract", w, const_number(b, d, ddof));
}

/* g / r, and 0 where r is: all elements are the same there, and std has no derivative.
 */
static Var divide_by_root(Builder *b, Var g, Var r) {
    bool ok = true;
    Env env = {.n = 2, .bind = (Bind[]){{sym(b->s, "g"), g}, {sym(b->s, "r"), r}}};
    Var v = template_build(b, "g / where(r == 0, inf, r)", &env, &ok);
    return ok ? v : VAR_NONE;
}

/* (x - mean) scale wide(g), where for std wide is also divided by the result; the
 * factor is 2 for var and 1 for std. */
static Var variance_gradient(Pull *p, Var g, bool root) {
    Builder *b = p->b;
    Var x = p->in[0];
    DType d = dtype_inexact(var_type(b->g, x)->dtype, b->floatX);
    PropArg arg[2] = {{"axis", *op_prop(b->s, p->op, p->props, "axis")},
                      {"keepdims", PROP_BOOL(true)}};
    Var mean = apply_named(b, "mean", 1, &x, 2, arg),
        n = variance_divisor(b, p->op, p->props, x, dtype_real(d));
    if (mean == VAR_NONE || n == VAR_NONE) return VAR_NONE;
    Var away = op_call2(b, "subtract", x, mean);
    if (root && g != VAR_NONE) g = divide_by_root(b, g, p->out[0]);
    if (!root && g != VAR_NONE)
        g = op_call2(b, "multiply", g, const_number(b, dtype_real(d), 2));
    Var each = op_call2(b, "true_divide", g, n);
    Var wide = each == VAR_NONE ? VAR_NONE : reduce_spread(b, each, p->op, p->props, x);
    return op_call2(b, "multiply", away, wide);
}

static bool var_pull(Pull *p) {
    return pull_discrete(p) ||
           (p->grad[0] = variance_gradient(p, p->cotangent[0], false)) != VAR_NONE;
}

static bool std_pull(Pull *p) {
    return pull_discrete(p) ||
           (p->grad[0] = variance_gradient(p, p->cotangent[0], true)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("var"),
     .doc = "Variance over the given axes (None: all): the mean of squared deviations, "
            "divided by the count minus ddof. "
            "Accumulated in float64; floatX for integers. where= is as in var_where.",
     RARE(.keywords = "var_where", .streams = var_streams),
     .in = "x",
     .props = VAR_PROPS,
     .type = var_op_type,
     .perform = var_perform,
     .reentrant = true,
     .debug = var_debug,
     .flops = "4 * x.size",
     .pull = var_pull,
     .vmap = vmap_axes,
     .example = "var([1.0, 2.0, 3.0, 4.0]) -> 1.25\nvar([1.0, 3.0], ddof=1) -> 2.0"},
    {.name = OP_ROW("std"),
     .doc = "Standard deviation: the square root of var. Where it is 0, so is the "
            "derivative. where= is as in std_where.",
     RARE(.keywords = "std_where", .streams = var_streams),
     .in = "x",
     .props = VAR_PROPS,
     .type = var_op_type,
     .perform = std_perform,
     .reentrant = true,
     .debug = std_debug,
     .flops = "4 * x.size + r.size",
     .pull = std_pull,
     .vmap = vmap_axes,
     .example = "std([1.0, 3.0]) -> 1.0"},
};
const OpList ops_reduce_var = LIST_OF(table);
