/* norm: vector and matrix norms from sums and extremes of absolute values, or from
 * singular values; and cond, based on them. */
#include "ops/linalg/product/contract.h"
#include "ops/shape/linear.h"

#include <math.h>
#include <string.h>

typedef struct Norm {
    Builder *b;
    bool has_ord, keepdims, nuclear;
    double ord;
} Norm;

static Var reduce_keepdims(const Norm *m, const char *op, Var v, size_t n,
                           const int64_t *axis) {
    PropArg arg[2] = {{"axis", PROP_INTS(axis, n)}, {"keepdims", PROP_BOOL(true)}};
    return apply_named(m->b, op, 1, &v, 2, arg);
}

static Var power_of(const Norm *m, Var v, double p) {
    if (v == VAR_NONE) return VAR_NONE;
    Var in[2] = {v, const_number(m->b, var_type(m->b->g, v)->dtype, p)};
    return apply_named(m->b, "power", 2, in, 0, NULL);
}

static Var call_unary(const Norm *m, const char *op, Var v) {
    return op_call1(m->b, op, v);
}

/* The root of the sum of squares of a: absolute values, or what is real. */
static Var euclidean_norm(const Norm *m, Var a, size_t n, const int64_t *axis) {
    return call_unary(m, "root_of_squares",
                      reduce_keepdims(m, "sum", call_unary(m, "square", a), n, axis));
}

/* The root of a sum s of powers. Where it is 0, so is the derivative of powers above 1,
 * which that of the root would make nan. */
static Var root_of_powers(const Norm *m, Var s) {
    if (m->ord <= 1 || s == VAR_NONE) return power_of(m, s, 1 / m->ord);
    Var p = const_number(m->b, var_type(m->b->g, s)->dtype, 1 / m->ord);
    bool ok = true;
    Env env = {.n = 2,
               .bind = (Bind[]){{sym(m->b->s, "s"), s}, {sym(m->b->s, "p"), p}}};
    Var v =
        template_build(m->b, "where(s == 0, s, where(s == 0, 1, s) ** p)", &env, &ok);
    return ok ? v : VAR_NONE;
}

static Var vector_norm(const Norm *m, Var a, size_t n, const int64_t *axis) {
    if (!m->has_ord || m->ord == 2) return euclidean_norm(m, a, n, axis);
    if (isinf(m->ord))
        return reduce_keepdims(m, m->ord > 0 ? "max" : "min", a, n, axis);
    if (m->ord == 1) return reduce_keepdims(m, "sum", a, n, axis);
    if (m->ord == 0) {
        if (a == VAR_NONE) return VAR_NONE;
        Var nz = reduce_keepdims(m, "count_nonzero", a, n, axis);
        return op_cast_to(m->b, nz, var_type(m->b->g, a)->dtype);
    }
    return root_of_powers(m,
                          reduce_keepdims(m, "sum", power_of(m, a, m->ord), n, axis));
}

/* The sum, maximum or minimum of the singular values, with both axes kept as ones. */
static Var spectral_norm(const Norm *m, Var x, const int64_t axis[2]) {
    static const int64_t last[2] = {-2, -1};
    PropArg to[2] = {{"source", PROP_INTS(axis, 2)},
                     {"destination", PROP_INTS(last, 2)}};
    Var moved = apply_named(m->b, "moveaxis", 1, &x, 2, to),
        s = call_unary(m, "svdvals", moved),
        r = s == VAR_NONE ? s
                          : reduce_keepdims(m,
                                            m->nuclear   ? "sum"
                                            : m->ord > 0 ? "max"
                                                         : "min",
                                            s, 1, last + 1);
    PropArg back[2] = {{"source", PROP_INTS(last, 2)},
                       {"destination", PROP_INTS(axis, 2)}};
    r = op_insert_axes(m->b, r, (int)last[1], 1);
    return apply_named(m->b, "moveaxis", 1, &r, 2, back);
}

/* a: the absolute values of x. */
static Var matrix_norm(const Norm *m, Var x, Var a, const int64_t axis[2]) {
    if (!m->has_ord) return euclidean_norm(m, a, 2, axis);
    if (m->nuclear || fabs(m->ord) == 2) return spectral_norm(m, x, axis);
    bool rows = isinf(m->ord);
    if (!rows && fabs(m->ord) != 1) {
        fail(m->b->s, m->b->from.at, E_ARG,
             "norm: a matrix has no norm with ord=%g; ord can be None or 'fro' "
             "(Frobenius), 'nuc', 1, -1, 2, -2, inf or -inf",
             m->ord);
        return VAR_NONE;
    }
    /* largest or smallest sum over rows (inf) or columns (1) */
    Var sums = reduce_keepdims(m, "sum", a, 1, &axis[rows ? 1 : 0]);
    return reduce_keepdims(m, m->ord > 0 ? "max" : "min", sums, 1, &axis[rows ? 0 : 1]);
}

/* The non-negative axes of the norm. Returns their number; -1: diagnosed. */
static int norm_axes(const Norm *m, const Prop *prop, const Type *x,
                     int64_t axis[MAX_NDIM]) {
    size_t n = prop->kind == P_NONE ? (size_t)x->ndim : prop->ints.n;
    bool asked = prop->kind != P_NONE || m->has_ord;
    if ((asked && (n < 1 || n > 2)) || n > MAX_NDIM) {
        fail(m->b->s, m->b->from.at, E_ARG,
             "norm: with ord or axis it takes one axis (vectors) or two (matrices), "
             "not %zu of %s",
             n, type_str(m->b->s, x));
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t k = prop->kind == P_NONE ? (int64_t)i : prop->ints.p[i];
        axis[i] = k < 0 ? k + x->ndim : k;
        if (axis[i] < 0 || axis[i] >= x->ndim || (i == 1 && axis[0] == axis[1])) {
            fail(m->b->s, m->b->from.at, E_ARG,
                 "norm: axis %lld is out of range or given twice; x is %s",
                 (long long)k, type_str(m->b->s, x));
            return -1;
        }
    }
    return (int)n;
}

/* Sets up the order given by ord over n axes. */
static bool norm_order(Norm *m, const Prop *ord, int n) {
    *m = (Norm){.b = m->b,
                .has_ord = ord->kind != P_NONE,
                .keepdims = m->keepdims,
                .ord = ord->kind == P_FLOAT ? ord->f : 2};
    if (ord->kind != P_STR) return true;
    const char *name = sym_text(m->b->s, ord->sym);
    m->nuclear = strcmp(name, "nuc") == 0;
    m->has_ord = m->nuclear;
    if (n == 2 && (m->nuclear || strcmp(name, "fro") == 0)) return true;
    return fail(m->b->s, m->b->from.at, E_ARG,
                "norm: ord='%s' is not a norm over %d ax%ss; the names are 'fro' and "
                "'nuc', for matrices",
                name, n, n == 1 ? "i" : "e");
}

static bool norm_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    const Prop *ord = op_prop(b->s, op, props, "ord");
    Norm m = {.b = b,
              .has_ord = ord->kind != P_NONE,
              .keepdims = prop_bool(b->s, op, props, "keepdims")};
    int64_t axis[MAX_NDIM];
    int n =
        norm_axes(&m, op_prop(b->s, op, props, "axis"), var_type(b->g, in[0]), axis);
    if (n < 0 || !norm_order(&m, ord, n)) return false;
    bool euclidean = !m.has_ord || (n != 2 && m.ord == 2);
    Var a = euclidean && !dtype_is_complex(var_type(b->g, in[0])->dtype)
                ? in[0]
                : op_call1(b, "abs", in[0]);
    if (a == VAR_NONE) return false;
    Var r =
        n == 2 ? matrix_norm(&m, in[0], a, axis) : vector_norm(&m, a, (size_t)n, axis);
    if (r == VAR_NONE) return false;
    PropArg arg = {"axis", PROP_INTS(axis, (size_t)n)};
    *out = m.keepdims || n == 0 ? r : apply_named(b, "squeeze", 1, &r, 1, &arg);
    return *out != VAR_NONE;
}

/* ---- cond ---- */
static Var norm_of(Builder *b, Var x, Prop ord) {
    static const int64_t last[2] = {-2, -1};
    PropArg arg[2] = {{"ord", ord}, {"axis", PROP_INTS(last, 2)}};
    return apply_named(b, "norm", 1, &x, 2, arg);
}

/* The ratio of the extreme singular values, or the norm times that of the inverse. */
static bool cond_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    const Prop *p = op_prop(b->s, op, props, "p");
    bool spectral = p->kind == P_NONE || (p->kind == P_FLOAT && fabs(p->f) == 2);
    if (!spectral) {
        Var inverse = op_call1(b, "inv", in[0]);
        Var r = inverse == VAR_NONE ? inverse : norm_of(b, in[0], *p),
            s = r == VAR_NONE ? r : norm_of(b, inverse, *p);
        return s != VAR_NONE && (*out = op_call2(b, "multiply", r, s)) != VAR_NONE;
    }
    bool ok = true, turned = p->kind == P_FLOAT && p->f < 0;
    Env env = {.n = 1, .bind = (Bind[]){{sym(b->s, "x"), in[0]}}};
    *out = template_build(b,
                          turned ? "svdvals(x)[..., -1] / svdvals(x)[..., 0]"
                                 : "svdvals(x)[..., 0] / svdvals(x)[..., -1]",
                          &env, &ok);
    return ok && *out != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("norm"),
     .doc = "A norm. Without ord it is the root of the sum of squares, over the given "
            "axes or all. Over one axis it is the vector norm of any order; inf and "
            "-inf are the largest and smallest absolute value, 0 counts the nonzero "
            "elements. Over two axes it is a matrix norm: 1, -1 (sums of columns), inf "
            "and -inf (of rows), 2, -2 and 'nuc' (largest, smallest and sum of "
            "singular values) or 'fro'. Of a root of a sum of squares or powers above "
            "1, the derivative at 0 is 0.",
     .in = "x",
     .props = "ord: key? = None, axis: axes = None, keepdims: bool = False",
     .promote = PROMOTE_INEXACT,
     .expand = norm_expand,
     .example = "norm([3.0, 4.0]) -> 5.0\nnorm([3.0, -4.0], ord=1) -> 7.0\n"
                "norm([[1.0, -2.0], [3.0, 4.0]], ord=inf) -> 7.0"},
    {.name = OP_ROW("cond"),
     .doc = "The condition number. With p=None or 2 it is the largest singular value "
            "divided by the smallest, with -2 the reciprocal; with another order of "
            "norm, that norm of x times that of its inverse.",
     .in = "x",
     .props = "p: key? = None",
     .promote = PROMOTE_INEXACT,
     .expand = cond_expand,
     .example = "cond([[4.0, 0.0], [0.0, 2.0]]) -> 2.0\n"
                "cond([[1.0, 2.0], [0.0, 1.0]], p=1) -> 9.0"},
};
const OpList ops_linalg_norm = LIST_OF(table);
