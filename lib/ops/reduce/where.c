/* Reductions of the elements that a mask selects, from an initial value on. What a call
 * sum(x, where=m, initial=v) means: rows name these ops as their `keywords`. They
 * expand to the plain reductions, with what the mask leaves out replaced by an element
 * that changes nothing. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"

#include <math.h>
#include <string.h>

/* A call: x, the mask, and the initial value or VAR_NONE. */
typedef struct Masked {
    Builder *b;
    const Op *op;
    const Props *props;
    Var x, where, initial;
    Var fill; /* of max and min: what changes nothing */
} Masked;

/* "sum" of sum_where, which the user may have called so; of ops whose texts call these,
 * their names. */
static const char *called(const Masked *m) {
    static const char end[] = "_where";
    const char *name = m->b->asked ? m->b->asked : m->op->name;
    size_t n = strlen(name), k = sizeof end - 1;
    bool ends = n > k && strcmp(name + n - k, end) == 0;
    return arena_str(session_arena(m->b->s), name, ends ? n - k : n);
}

static Var masked_build(Masked *m, const char *text, Var r) {
    static const char *const name[] = {"x", "m", "r", "v", "fill"};
    Var var[] = {m->x, m->where, r, m->initial, m->fill};
    Bind bind[sizeof var / sizeof *var];
    size_t n = 0;
    for (size_t i = 0; i < sizeof var / sizeof *var; i++)
        if (var[i] != VAR_NONE) bind[n++] = (Bind){sym(m->b->s, name[i]), var[i]};
    bool ok = true;
    Env env = {.n = n, .bind = bind, .op = m->op, .props = m->props};
    Var out = template_build(m->b, text, &env, &ok);
    return ok ? out : VAR_NONE;
}

/* True as it comes here, of x's dtype as literals are. */
static bool is_truth(const Tensor *t) {
    return !dtype_is_complex(t->dtype) &&
           (tensor_f64(t, 0) == 0 || tensor_f64(t, 0) == 1);
}

static bool masked_open(Masked *m, Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in) {
    *m = (Masked){b, op, p, in[0], in[1], nin > 2 ? in[2] : VAR_NONE, VAR_NONE};
    const Tensor *given = var_const(b->g, m->where);
    if (given && given->ndim == 0 && is_truth(given))
        m->where = op_cast_to(b, m->where, DT_BOOL);
    if (m->where == VAR_NONE) return false;
    const Type *x = var_type(b->g, m->x), *w = var_type(b->g, m->where);
    if (m->initial != VAR_NONE && var_type(b->g, m->initial)->ndim != 0)
        return fail(b->s, b->from.at, E_SHAPE, "%s: `initial` must be a scalar, not %s",
                    called(m), type_str(b->s, var_type(b->g, m->initial)));
    if (w->ndim > x->ndim)
        return fail(b->s, b->from.at, E_SHAPE,
                    "%s: the mask has %d dims, but x only %d: it must broadcast to x",
                    called(m), w->ndim, x->ndim);
    return w->dtype == DT_BOOL ||
           fail(b->s, b->from.at, E_DTYPE,
                "%s: `where` must be a bool mask for %s, not %s: compare it, as in "
                "where=(m != 0)",
                called(m), type_str(b->s, x), type_str(b->s, w));
}

/* Is the mask the constant True? */
static bool selects_all(const Masked *m) {
    const Tensor *t = var_const(m->b->g, m->where);
    return t && t->ndim == 0 && *(const bool *)t->data;
}

/* x with what the mask leaves out replaced; the mask doesn't make x larger. */
static bool mask_x(Masked *m, const char *text) {
    return selects_all(m) || (m->x = masked_build(m, text, VAR_NONE)) != VAR_NONE;
}

#define MASKED(fill) "where(broadcast_to(m, x.shape), x, " fill ")"

static bool sum_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    Masked m;
    if (!masked_open(&m, b, op, p, nin, in) || !mask_x(&m, MASKED("0"))) return false;
    *out =
        masked_build(&m, "sum(x, axis=axis, dtype=dtype, keepdims=keepdims)", VAR_NONE);
    if (*out != VAR_NONE && m.initial != VAR_NONE)
        *out = masked_build(&m, "r + cast(v, r.dtype)", *out);
    return *out != VAR_NONE;
}

static bool prod_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    Masked m;
    if (!masked_open(&m, b, op, p, nin, in) || !mask_x(&m, MASKED("1"))) return false;
    *out = masked_build(&m, "prod(x, axis=axis, dtype=dtype, keepdims=keepdims)",
                        VAR_NONE);
    if (*out != VAR_NONE && m.initial != VAR_NONE)
        *out = masked_build(&m, "r * cast(v, r.dtype)", *out);
    return *out != VAR_NONE;
}

/* As mean's: an integer dtype wraps the sum, any other is that of the result. */
static bool mean_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                              const Var *in, Var *out) {
    Masked m;
    const Prop *prop = op_prop(b->s, op, p, "dtype");
    if (!masked_open(&m, b, op, p, nin, in)) return false;
    DType x = var_type(b->g, m.x)->dtype,
          d = prop->kind == P_DTYPE ? (DType)prop->i : dtype_inexact(x, b->floatX);
    bool wraps = dtype_is_discrete(d),
         complex = dtype_is_complex(x) || dtype_is_complex(d);
    Var count = masked_build(
        &m, "sum(broadcast_to(m, x.shape), axis=axis, keepdims=keepdims)", VAR_NONE);
    if (count == VAR_NONE || !mask_x(&m, MASKED("0"))) return false;
    m.x = op_cast_to(b, m.x, wraps ? d : complex ? DT_COMPLEX128 : DT_FLOAT64);
    m.where = count;
    Var sum =
        m.x == VAR_NONE
            ? VAR_NONE
            : masked_build(&m,
                           wraps ? "sum(x, axis=axis, dtype=dtype, keepdims=keepdims)"
                                 : "sum(x, axis=axis, keepdims=keepdims)",
                           VAR_NONE);
    Var mean = sum == VAR_NONE ? VAR_NONE : masked_build(&m, "r / float64(m)", sum);
    return mean != VAR_NONE && (*out = op_cast_to(b, mean, d)) != VAR_NONE;
}

static bool any_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    Masked m;
    if (!masked_open(&m, b, op, p, nin, in) || !mask_x(&m, MASKED("False")))
        return false;
    return (*out = masked_build(&m, "any(x, axis=axis, keepdims=keepdims)",
                                VAR_NONE)) != VAR_NONE;
}

static bool all_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    Masked m;
    if (!masked_open(&m, b, op, p, nin, in) || !mask_x(&m, MASKED("True")))
        return false;
    return (*out = masked_build(&m, "all(x, axis=axis, keepdims=keepdims)",
                                VAR_NONE)) != VAR_NONE;
}

/* ---- max, min ---- */

/* Is k among the axes that are reduced? One out of range is left to the reduction. */
static bool axis_is_reduced(const Prop *axes, int k, int ndim) {
    if (axes->kind == P_INT) return axes->i == k || axes->i == k - ndim;
    bool is = axes->kind == P_NONE;
    for (size_t i = 0; axes->kind == P_INTS && i < axes->ints.n; i++)
        is |= axes->ints.p[i] == k || axes->ints.p[i] == k - ndim;
    return is;
}

/* An extreme needs an element. Where the type promises none, x gets one more along each
 * reduced dim, which the initial value then beats. */
static bool put_one_more(Masked *m) {
    Builder *b = m->b;
    const Type *t = var_type(b->g, m->x);
    const Prop *axes = op_prop(b->s, m->op, m->props, "axis");
    int64_t shape[2] = {t->ndim, 2};
    bool any = false, ok = true;
    Tensor w;
    if (!tensor_new(b->s, DT_INT64, 2, shape, &w)) return false;
    int64_t *width = w.data;
    for (int k = 0; k < t->ndim; k++) {
        bool more = axis_is_reduced(axes, k, t->ndim) &&
                    (!dim_is_known(t->dim[k]) || t->dim[k] == 0);
        width[2 * k] = 0;
        width[2 * k + 1] = more;
        any |= more;
    }
    if (any) {
        Bind bind[] = {{sym(b->s, "x"), m->x},
                       {sym(b->s, "w"), graph_const(b->g, &w, b->intern)},
                       {sym(b->s, "fill"), m->fill}};
        m->x = template_build(b, "pad(x, w, constant_values=fill)",
                              &(Env){.n = 3, .bind = bind}, &ok);
    }
    tensor_unref(&w);
    return ok && m->x != VAR_NONE;
}

/* Floats that are left out count as the infinity that any other beats: not as the
 * initial value, which would then have a gradient once for each of them. */
static Var extreme_fill(Masked *m, double worst) {
    DType d = var_type(m->b->g, m->x)->dtype;
    if (dtype_is_inexact(d)) return const_number(m->b, d, worst);
    if (d == DT_BOOL) return const_number(m->b, d, worst > 0);
    return m->initial;
}

static bool extreme_where_expand(Masked *m, double worst, const char *reduce,
                                 const char *join, Var *out) {
    Builder *b = m->b;
    DType d = var_type(b->g, m->x)->dtype;
    if (m->initial == VAR_NONE && !selects_all(m))
        return fail(b->s, b->from.at, E_ARITY,
                    "%s: the mask may select no element, so that where= needs initial=",
                    called(m));
    if (m->initial != VAR_NONE) {
        m->initial = op_cast_to(b, m->initial, d);
        m->fill = m->initial == VAR_NONE ? VAR_NONE : extreme_fill(m, worst);
        if (m->fill == VAR_NONE || !mask_x(m, MASKED("fill")) || !put_one_more(m))
            return false;
    }
    *out = masked_build(m, reduce, VAR_NONE);
    if (*out != VAR_NONE && m->initial != VAR_NONE) *out = masked_build(m, join, *out);
    return *out != VAR_NONE;
}

static bool max_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    Masked m;
    return masked_open(&m, b, op, p, nin, in) &&
           extreme_where_expand(&m, -(double)INFINITY,
                                "max(x, axis=axis, keepdims=keepdims)", "maximum(r, v)",
                                out);
}

static bool min_where_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    Masked m;
    return masked_open(&m, b, op, p, nin, in) &&
           extreme_where_expand(&m, (double)INFINITY,
                                "min(x, axis=axis, keepdims=keepdims)", "minimum(r, v)",
                                out);
}

static const Op table[] = {
    {.name = OP_ROW("sum_where"),
     .doc =
         "initial (0) plus the sum of the elements that the mask `where` selects, "
         "which broadcasts to x; otherwise as sum. sum(x, where=m, initial=v) is the "
         "same.",
     .in = "x, where = True, initial?",
     .props = SUM_PROPS,
     .expand = sum_where_expand,
     .example = "sum_where([1, 2, 4], [True, False, True]) -> 5\n"
                "sum([[1., 2.], [3., 4.]], axis=0, where=[True, False], initial=1) -> "
                "[5.0, 1.0]"},
    {.name = OP_ROW("prod_where"),
     .doc = "initial (1) times the product of the elements that the mask `where` "
            "selects, which broadcasts to x; otherwise as prod. prod(x, where=m, "
            "initial=v) is the same.",
     .in = "x, where = True, initial?",
     .props = SUM_PROPS,
     .expand = prod_where_expand,
     .example = "prod([2, 3, 4], where=[True, False, True]) -> 8"},
    {.name = OP_ROW("mean_where"),
     .doc =
         "Mean of the elements that the mask `where` selects, which broadcasts to x; "
         "nan of none. Otherwise as mean. mean(x, where=m) is the same.",
     .in = "x, where",
     .props = SUM_PROPS,
     .expand = mean_where_expand,
     .example = "mean([1., 2., 6.], where=[False, True, True]) -> 4.0"},
    {.name = OP_ROW("var_where"),
     .doc = "Variance of the elements that the mask `where` selects, which broadcasts "
            "to x; nan of none. Otherwise as var. var(x, where=m) is the same.",
     .in = "x, where",
     .props = VAR_PROPS,
     .def = "off = x / 1 - mean(x / 1, axis=axis, keepdims=True, where=where)\n"
            "square = real(off * conj(off))\n"
            "n = sum(broadcast_to(where, x.shape), axis=axis, keepdims=keepdims) - "
            "ddof\n"
            "r = sum(square, axis=axis, keepdims=keepdims, where=where) / "
            "cast(maximum(n, 0), square.dtype)",
     .example = "var([1., 9., 3.], where=[True, False, True]) -> 1.0"},
    {.name = OP_ROW("std_where"),
     .doc = "Standard deviation of the elements that the mask `where` selects, the "
            "square root of var_where. std(x, where=m) is the same.",
     .in = "x, where",
     .props = VAR_PROPS,
     .def = "root_of_squares(var(x, axis=axis, ddof=ddof, keepdims=keepdims, "
            "where=where))",
     .example = "std([1., 9., 5.], where=[True, False, True]) -> 2.0"},
    {.name = OP_ROW("max_where"),
     .doc =
         "Largest of initial and the elements that the mask `where` selects, which "
         "broadcasts to x, over axes that may be empty; otherwise as max. With a mask "
         "initial must be given. max(x, where=m, initial=v) is the same.",
     .in = "x, where = True, initial?",
     .props = FOLD_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = max_where_expand,
     .example = "max([1, 5, 3], where=[True, False, True], initial=0) -> 3\n"
                "max([1, 2], initial=7) -> 7"},
    {.name = OP_ROW("min_where"),
     .doc = "Smallest of initial and the elements that the mask `where` selects; "
            "otherwise as max_where. min(x, where=m, initial=v) is the same.",
     .in = "x, where = True, initial?",
     .props = FOLD_PROPS,
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = min_where_expand,
     .example = "min([1, 5, 3], where=[False, True, True], initial=9) -> 3"},
    {.name = OP_ROW("any_where"),
     .doc = "True if any of the elements that the mask `where` selects, which "
            "broadcasts to x, is not zero. any(x, where=m) is the same.",
     .in = "x, where",
     .props = FOLD_PROPS,
     .expand = any_where_expand,
     .example = "any([0, 5], where=[True, False]) -> False"},
    {.name = OP_ROW("all_where"),
     .doc = "True if all of the elements that the mask `where` selects, which "
            "broadcasts to x, are not zero. all(x, where=m) is the same.",
     .in = "x, where",
     .props = FOLD_PROPS,
     .expand = all_where_expand,
     .example = "all([0, 5], where=[False, True]) -> True"},
};
const OpList ops_reduce_where = LIST_OF(table);
