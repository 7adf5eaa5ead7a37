/* What ops and derivatives are built from: constants, casts, shapes, sums over
 * broadcast dims. */
#include "op/build.h"
#include "value/class.h"

#include <string.h>

static Var const_from_tensor(Builder *b, bool ok, Tensor *t) {
    if (!ok) return VAR_NONE;
    Var v = graph_const(b->g, t, b->intern);
    tensor_unref(t);
    return v;
}

Var const_int(Builder *b, int64_t v) {
    return graph_const_number(b->g, DT_INT64, &v, b->intern);
}

Var const_number(Builder *b, DType d, double v) {
    Tensor t;
    return const_from_tensor(b, tensor_scalar(b->s, d, v, 0, &t), &t);
}

Var const_ints(Builder *b, size_t n, const int64_t *v) {
    Tensor t;
    int64_t shape = (int64_t)n;
    if (!tensor_new(b->s, DT_INT64, 1, &shape, &t)) return VAR_NONE;
    if (n) memcpy(t.data, v, n * sizeof *v);
    return const_from_tensor(b, true, &t);
}

static Var apply_prop(Builder *b, const char *name, Var x, const char *prop,
                      Prop value) {
    const Op *op = op_named(b->s, name);
    PropArg arg = {prop, value};
    return op_apply1(b, op, props_make(b->s, op, 1, &arg), 1, &x);
}

/* Constants up to this size are cast at build time, so that no run has to. */
enum { CAST_BY_VALUE = 1 << 20 };

Var op_cast_to(Builder *b, Var x, DType d) {
    if (x == VAR_NONE) return VAR_NONE;
    if (var_type(b->g, x)->dtype == d) return x;
    const Tensor *c = var_const(b->g, x);
    bool drops = c && dtype_is_complex(c->dtype) && !dtype_is_complex(d);
    /* leave it to the op to reject an imaginary part */
    if (c && !drops && tensor_bytes(c) <= CAST_BY_VALUE) {
        Tensor t;
        return const_from_tensor(b, tensor_cast(b->s, c, d, &t), &t);
    }
    return apply_prop(b, "cast", x, "dtype", PROP_DTYPE(d));
}

static Var const_as_index(Builder *b, const Tensor *c) {
    Tensor t;
    if (!tensor_new(b->s, DT_INT64, c->ndim, c->shape, &t)) return VAR_NONE;
    for (int64_t i = 0, n = tensor_size(c); i < n; i++)
        ((int64_t *)t.data)[i] = tensor_index(c, i);
    return const_from_tensor(b, true, &t);
}

Var op_cast_to_index(Builder *b, Var x) {
    if (x == VAR_NONE) return VAR_NONE;
    const Tensor *c = var_const(b->g, x);
    if (var_type(b->g, x)->dtype != DT_UINT64) return op_cast_to(b, x, DT_INT64);
    if (c) return const_as_index(b, c);
    Tensor most;
    if (!tensor_scalar_int(b->s, DT_UINT64, INT64_MAX, &most)) return VAR_NONE;
    Var in[2] = {x, const_from_tensor(b, true, &most)};
    return op_cast_to(b, apply_named(b, "minimum", 2, in, 0, NULL), DT_INT64);
}

/* ---- shapes ---- */

Var shape_of(Builder *b, Var x, int axis) {
    if (x == VAR_NONE) return VAR_NONE;
    const Type *t = var_type(b->g, x);
    if (axis < 0) axis += t->ndim;
    if (axis < 0 || axis >= t->ndim) bug("axis %d of %s", axis, type_str(b->s, t));
    Dim d = t->dim[axis];
    if (dim_is_known(d)) return const_int(b, d);
    if (dim_is_named(d)) return graph_dim(b->g, dim_sym(d));
    return apply_prop(b, "shape_i", x, "axis", PROP_INT(axis));
}

Var shape_of_dim(Builder *b, const Type *t, Var x, Sym name) {
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++)
        if (t->dim[i] == DIM_NAMED(name))
            return shape_of(b, x, i + var_type(b->g, x)->ndim - t->ndim);
    return VAR_NONE;
}

Var shape_of_call_dim(Builder *b, const Graph *fn, const Var *arg, Sym name) {
    size_t mark = diag_count(b->s);
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var v = shape_of_dim(b, var_type(fn, fn->inputs.p[i]), arg[i], name);
        if (v != VAR_NONE || diag_failed(b->s, mark)) return v;
    }
    fail(b->s, b->from.at, E_NAME, "no argument of %s determines its dim %s",
         sym_text(b->s, fn->name), sym_text(b->s, name));
    return VAR_NONE;
}

Var shape_vector(Builder *b, Var x) {
    if (x == VAR_NONE) return VAR_NONE;
    const Type *t = var_type(b->g, x);
    for (int i = 0; i < t->ndim; i++)
        if (!dim_is_known(t->dim[i])) return op_call1(b, "shape", x);
    return const_ints(b, (size_t)t->ndim, t->dim);
}

Var apply_named(Builder *b, const char *op, size_t nin, const Var *in, size_t nprop,
                const PropArg *prop) {
    const Op *found = op_named(b->s, op);
    return op_apply1(b, found, props_make(b->s, found, nprop, prop), nin, in);
}

Var ints_stack(Builder *b, size_t n, const Var *v) {
    int64_t known[MAX_NDIM];
    bool all = n <= MAX_NDIM;
    for (size_t i = 0; i < n && all; i++) {
        const Tensor *t = v[i] == VAR_NONE ? NULL : var_const(b->g, v[i]);
        all = t && t->dtype == DT_INT64;
        if (all) known[i] = tensor_i64(t, 0);
    }
    return all ? const_ints(b, n, known) : apply_named(b, "stack", n, v, 0, NULL);
}

Var op_insert_axes(Builder *b, Var x, int first, int n) {
    int64_t axes[MAX_NDIM];
    if (n <= 0) return x;
    for (int k = 0; k < n; k++)
        axes[k] = first + k;
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)n)};
    return apply_named(b, "expand_dims", 1, &x, 1, &arg);
}

static Var sum_over(Builder *b, Var g, size_t n, const int64_t *axis, bool keepdims) {
    const Op *op = op_known(b->s, OP_SUM);
    PropArg arg[] = {{"axis", PROP_INTS(axis, n)}, {"keepdims", PROP_BOOL(keepdims)}};
    return n ? op_apply1(b, op, props_make(b->s, op, 2, arg), 1, &g) : g;
}

Var sum_to_shape(Builder *b, Var g, Var like) {
    if (g == VAR_NONE) return VAR_NONE;
    const Type *from = var_type(b->g, g), *to = var_type(b->g, like);
    int64_t lead[MAX_NDIM], ones[MAX_NDIM];
    size_t nlead = 0, nones = 0;
    int extra = from->ndim - to->ndim;
    if (extra < 0)
        bug("%s can't be summed to %s", type_str(b->s, from), type_str(b->s, to));
    for (int i = 0; i < from->ndim; i++) {
        if (i < extra)
            lead[nlead++] = i;
        else if (to->dim[i - extra] == 1 && from->dim[i] != 1)
            ones[nones++] = i - extra;
    }
    return sum_over(b, sum_over(b, g, nlead, lead, false), nones, ones, true);
}

bool op_fail_no_derivatives(Builder *b, const Type *t) {
    return fail(
        b->s, b->from.at, E_GRADIENT,
        "values of type %s have no derivatives: the plugin names no op that adds "
        "them",
        type_str(b->s, t));
}

Var op_plugin_number(Builder *b, const Type *t, double v) {
    Value number = {.kind = TYPE_TENSOR}, own;
    if (!type_class(t)->add) return op_fail_no_derivatives(b, t), VAR_NONE;
    if (!tensor_scalar(b->s, DT_FLOAT64, v, 0, &number.t)) return VAR_NONE;
    Receiver to = {FILTER_DEFAULT, "a derivative", b->from.at};
    bool ok = value_filter(b->s, t, &number, &to, &own);
    value_unref(&number);
    if (!ok) return VAR_NONE;
    Var c = graph_const_value(b->g, t, &own);
    value_unref(&own);
    return c;
}

Var op_zeros_like(Builder *b, Var x, DType d) {
    if (x == VAR_NONE) return VAR_NONE;
    const Type *t = var_type(b->g, x);
    if (t->kind == TYPE_PLUGIN) return op_plugin_number(b, t, 0);
    if (t->ndim == 0) return const_number(b, d, 0);
    return apply_prop(b, "zeros_like", x, "dtype", PROP_DTYPE(d));
}

Var op_float_zeros(Builder *b, Var x) {
    if (x == VAR_NONE) return VAR_NONE;
    return op_zeros_like(b, x, dtype_inexact(var_type(b->g, x)->dtype, b->floatX));
}

/* x times one, as an Apply that is not merged with an equal one. */
static Var copy_tensor(Builder *b, Var x) {
    const Type *t = var_type(b->g, x);
    const Op *multiply = op_known(b->s, OP_MULTIPLY);
    Var two[] = {x, const_number(b, t->dtype, 1)};
    return graph_apply(b->g, multiply, props_make(b->s, multiply, 0, NULL), 2, two, 1,
                       &t, false, true, b->from);
}

bool op_copy_destroyed(Builder *b, const Graph *g, ApplyId a, Var *in) {
    const Apply ap = g->apply[a];
    for (size_t k = 0; op_rare(ap.op)->destroys && k < ap.nout; k++) {
        int i = op_rare(ap.op)->destroys(g, a, k);
        if (i < 0 || i >= ap.nin || var_type(b->g, in[i])->kind != TYPE_TENSOR)
            continue;
        if ((in[i] = copy_tensor(b, in[i])) == VAR_NONE) return false;
    }
    return true;
}

Var shape_as(Builder *b, Var g, const Type *t, Var like) {
    if (g == VAR_NONE) return VAR_NONE;
    if (type_is_super(t, var_type(b->g, g))) return g;
    return op_call2(b, "specify_shape", g, shape_vector(b, like));
}

Var grad_undefined(Builder *b, const char *why) {
    Value none = {.kind = TYPE_NULL};
    return graph_const_value(b->g, type_null(b->s, why), &none);
}

size_t shape_items(Builder *b, Var x, int first, size_t n, Var *item) {
    for (int k = first; k < var_type(b->g, x)->ndim; k++)
        item[n++] = shape_of(b, x, k);
    return n;
}

Var shape_leading_size(Builder *b, int ndim, Var x) {
    int64_t known = 1;
    Var n = VAR_NONE;
    for (int k = 0; k < ndim; k++) {
        Dim d = var_type(b->g, x)->dim[k];
        if (dim_is_known(d) && i64_mul(known, d, &known)) continue;
        Var size = shape_of(b, x, k);
        n = n == VAR_NONE ? size : op_call2(b, "multiply", n, size);
        if (n == VAR_NONE) return n;
    }
    if (n == VAR_NONE) return const_int(b, known);
    return known == 1 ? n : op_call2(b, "multiply", n, const_int(b, known));
}

Var op_first_row(Builder *b, Var x) {
    Var in[2] = {x, const_int(b, 0)};
    PropArg index = {"index", PROP_STR(sym(b->s, "$"))};
    return apply_named(b, "subtensor", 2, in, 1, &index);
}
