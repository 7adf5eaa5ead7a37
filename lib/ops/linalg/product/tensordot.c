/* Inner products over chosen axes: tensordot, inner, vecdot, vdot. All expand to matrix
 * products when the graph is built. */
#include "ops/linalg/product/contract.h"
#include "ops/shape/linear.h"

#include <string.h>

/* ---- tensordot ---- */
/* The paired axes of a and b to sum over. */
typedef struct DotAxes {
    size_t n;
    int64_t a[MAX_NDIM], b[MAX_NDIM];
} DotAxes;

static bool too_many(Builder *b, size_t n) {
    return fail(b->s, b->from.at, E_ARG,
                "tensordot: %zu axes are more than a tensor has", n);
}

/* A number: that many last axes of a with the first ones of b. */
static bool counted_axes(Builder *b, int64_t count, int na, int nb, DotAxes *x) {
    if (count < 0 || count > na || count > nb)
        return fail(b->s, b->from.at, E_ARG,
                    "tensordot: axes=%lld, but the operands have %d and %d dims",
                    (long long)count, na, nb);
    x->n = (size_t)count;
    for (int64_t i = 0; i < count; i++) {
        x->a[i] = na - count + i;
        x->b[i] = i;
    }
    return true;
}

/* Two concatenated lists of equal length: axes of a, axes of b. */
static bool paired_axes(Builder *b, size_t n, const int64_t *p, DotAxes *x) {
    if (n % 2)
        return fail(b->s, b->from.at, E_ARG,
                    "tensordot: axes must be a number, or the same number of axes of a "
                    "and of b: ([1, 2], [0, 1])");
    x->n = n / 2;
    if (x->n > MAX_NDIM) return too_many(b, x->n);
    for (size_t i = 0; i < x->n; i++) {
        x->a[i] = p[i];
        x->b[i] = p[x->n + i];
    }
    return true;
}

static bool separate_axes(Builder *b, const Prop *pa, const Prop *pb, DotAxes *x) {
    if (pa->kind != P_INTS || pb->kind != P_INTS || pa->ints.n != pb->ints.n)
        return fail(b->s, b->from.at, E_ARG,
                    "tensordot: axes_a and axes_b must have the same number of axes");
    x->n = pa->ints.n;
    if (x->n > MAX_NDIM) return too_many(b, x->n);
    for (size_t i = 0; i < x->n; i++) {
        x->a[i] = pa->ints.p[i];
        x->b[i] = pb->ints.p[i];
    }
    return true;
}

static bool read_dot_axes(Builder *b, const Op *op, const Props *props, int na, int nb,
                          DotAxes *x) {
    const Prop *axes = op_prop(b->s, op, props, "axes"),
               *pa = op_prop(b->s, op, props, "axes_a"),
               *pb = op_prop(b->s, op, props, "axes_b");
    if (pa->kind != P_NONE || pb->kind != P_NONE) {
        if (axes->kind != P_NONE)
            return fail(b->s, b->from.at, E_ARG,
                        "tensordot: give axes, or axes_a and axes_b");
        return separate_axes(b, pa, pb, x);
    }
    if (axes->kind == P_NONE) return counted_axes(b, 2, na, nb, x);
    if (axes->ints.n == 1) return counted_axes(b, axes->ints.p[0], na, nb, x);
    return paired_axes(b, axes->ints.n, axes->ints.p, x);
}

/* Normalises the axes in place and checks that each occurs once. */
static bool check_axes(Builder *b, char which, size_t n, int64_t *axis, int ndim) {
    bool seen[MAX_NDIM] = {false};
    for (size_t i = 0; i < n; i++) {
        int64_t k = axis[i] < 0 ? axis[i] + ndim : axis[i];
        if (k < 0 || k >= ndim)
            return fail(b->s, b->from.at, E_ARG,
                        "tensordot: axis %lld of %c is out of range; it has %s",
                        (long long)axis[i], which,
                        str_counted(b->s, (size_t)ndim, "dim"));
        if (seen[k])
            return fail(b->s, b->from.at, E_ARG,
                        "tensordot: axis %lld of %c occurs twice", (long long)axis[i],
                        which);
        seen[k] = true;
        axis[i] = k;
    }
    return true;
}

static bool check_sizes(Builder *b, const Type *x, const Type *y, const DotAxes *axes) {
    for (size_t i = 0; i < axes->n; i++) {
        Dim dx = x->dim[axes->a[i]], dy = y->dim[axes->b[i]];
        if (!dim_may_equal(dx, dy))
            return fail(b->s, b->from.at, E_SHAPE,
                        "%s: axis %lld of a %s and axis %lld of a %s differ", b->asked,
                        (long long)axes->a[i], type_str(b->s, x), (long long)axes->b[i],
                        type_str(b->s, y));
    }
    return true;
}

static bool tensordot_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                             const Var *in, Var *out) {
    (void)nin;
    const Type *x = var_type(b->g, in[0]), *y = var_type(b->g, in[1]);
    bool keep[LABEL_N] = {false};
    DotAxes axes;
    if (!read_dot_axes(b, op, props, x->ndim, y->ndim, &axes) ||
        !check_axes(b, 'a', axes.n, axes.a, x->ndim) ||
        !check_axes(b, 'b', axes.n, axes.b, y->ndim) || !check_sizes(b, x, y, &axes))
        return false;
    Term tx = {.v = in[0], .n = x->ndim}, ty = {.v = in[1], .n = y->ndim}, r;
    for (int k = 0; k < x->ndim + y->ndim; k++)
        keep[k] = true;
    for (int k = 0; k < x->ndim; k++)
        tx.label[k] = k;
    for (int k = 0; k < y->ndim; k++)
        ty.label[k] = x->ndim + k;
    for (size_t i = 0; i < axes.n; i++) {
        ty.label[axes.b[i]] = (int)axes.a[i];
        keep[axes.a[i]] = false;
    }
    if (!term_product(b, &tx, &ty, keep, &r)) return false;
    *out = r.v;
    return true;
}

/* ---- inner, vecdot, vdot ---- */
static bool inner_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                         const Var *in, Var *out) {
    int na = var_type(b->g, in[0])->ndim, nb = var_type(b->g, in[1])->ndim;
    int64_t last = -1;
    PropArg axes[2] = {{"axes_a", PROP_INTS(&last, 1)},
                       {"axes_b", PROP_INTS(&last, 1)}};
    (void)op, (void)props;
    *out = na == 0 || nb == 0 ? apply_named(b, "multiply", nin, in, 0, NULL)
                              : apply_named(b, "tensordot", nin, in, 2, axes);
    return *out != VAR_NONE;
}

static Var with_axis_last(Builder *b, Var v, int64_t axis) {
    int64_t last = -1;
    PropArg arg[2] = {{"source", PROP_INTS(&axis, 1)},
                      {"destination", PROP_INTS(&last, 1)}};
    return apply_named(b, "moveaxis", 1, &v, 2, arg);
}

static Var with_one(Builder *b, Var v, const char *op, int64_t axis) {
    PropArg arg = {"axis", PROP_INTS(&axis, 1)};
    return apply_named(b, op, 1, &v, 1, &arg);
}

static bool vecdot_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                          const Var *in, Var *out) {
    int64_t axis = prop_int(b->s, op, props, "axis");
    Var m[2];
    for (size_t i = 0; i < nin; i++) {
        int ndim = var_type(b->g, in[i])->ndim;
        if (axis < -ndim || axis >= ndim)
            return fail(b->s, b->from.at, E_ARG,
                        "vecdot: axis %lld is out of range for %s", (long long)axis,
                        type_str(b->s, var_type(b->g, in[i])));
        m[i] = with_axis_last(b, i == 0 ? op_conj_of_complex(b, in[i]) : in[i], axis);
        if (m[i] == VAR_NONE) return false;
    }
    const Type *x = var_type(b->g, m[0]), *y = var_type(b->g, m[1]);
    Dim k[2] = {x->dim[x->ndim - 1], y->dim[y->ndim - 1]};
    if (!dim_may_equal(k[0], k[1]))
        return fail(b->s, b->from.at, E_SHAPE,
                    "vecdot: axis %lld has %lld and %lld, and they must be equal",
                    (long long)axis, (long long)k[0], (long long)k[1]);
    if (x->ndim == 1 && y->ndim == 1)
        return (*out = apply_named(b, "matmul", 2, m, 0, NULL)) != VAR_NONE;
    DType d = x->dtype;
    if (d == DT_FLOAT16) { /* whose products may be beyond its range */
        Var r = VAR_NONE;
        m[0] = with_one(b, m[0], "expand_dims", -2);
        m[1] = with_one(b, m[1], "expand_dims", -1);
        if (m[0] != VAR_NONE && m[1] != VAR_NONE)
            r = apply_named(b, "matmul", 2, m, 0, NULL);
        return (*out = with_one(b, with_one(b, r, "squeeze", -1), "squeeze", -1)) !=
               VAR_NONE;
    }
    Var r = with_one(b, apply_named(b, "multiply", 2, m, 0, NULL), "sum", -1);
    return r != VAR_NONE && (*out = op_cast_to(b, r, d)) != VAR_NONE;
}

static bool vdot_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                        const Var *in, Var *out) {
    (void)op, (void)props, (void)nin;
    Var flat[2] = {op_conj_of_complex(b, op_call1(b, "ravel", in[0])),
                   op_call1(b, "ravel", in[1])};
    return (*out = apply_named(b, "matmul", 2, flat, 0, NULL)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("tensordot"),
     .doc = "Sums products over pairs of axes: axes=n pairs the last n of a with the "
            "first n of b, axes=([..], [..]) the axes of a with those of b, which can "
            "also be given as axes_a and axes_b; the default is axes=2.",
     .in = "a, b",
     .props = "axes: ints? = None, axes_a: ints? = None, axes_b: ints? = None",
     .promote = PROMOTE_SAME,
     .expand = tensordot_expand,
     .example = "tensordot([[1, 2], [3, 4]], [[5, 6], [7, 8]]) -> 70\n"
                "tensordot([[1, 2], [3, 4]], [5, 6], axes=1) -> [17, 39]\n"
                "tensordot([[1, 2], [3, 4]], [5, 6], axes=([0], [0])) -> [23, 34]"},
    {.name = OP_ROW("inner"),
     .doc = "Products summed over the last axes of both.",
     .in = "a, b",
     .promote = PROMOTE_SAME,
     .expand = inner_expand,
     .example = "inner([[1, 2], [3, 4]], [5, 6]) -> [17, 39]"},
    {.name = OP_ROW("vecdot"),
     .doc = "Inner products of vectors along an axis, the first conjugated; the other "
            "axes broadcast.",
     .in = "a, b",
     .props = "axis: int = -1",
     .promote = PROMOTE_SAME,
     .expand = vecdot_expand,
     .example = "vecdot([[1, 2], [3, 4]], [5, 6]) -> [17, 39]"},
    {.name = OP_ROW("vdot"),
     .doc = "The inner product of two tensors, flattened, the first conjugated.",
     .in = "a, b",
     .promote = PROMOTE_SAME,
     .expand = vdot_expand,
     .example = "vdot([1, 2], [3, 4]) -> 11"},
};
const OpList ops_linalg_tensordot = LIST_OF(table);
