/* pad: a constant around x, as x set into a full tensor when the graph is built; or
 * more of x itself, as x indexed along each dim, where a statistic is put beside it. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <string.h>

/* Widths before and after each dim from a constant: one number, one pair, or a pair a
 * dim. */
static bool widths(Builder *b, Var v, int ndim, int64_t before[MAX_NDIM],
                   int64_t after[MAX_NDIM]) {
    const Tensor *t = var_const(b->g, v);
    Span at = b->from.at;
    if (!t || !dtype_is_integer(t->dtype))
        return fail(b->s, at, E_VALUE, "pad: the widths must be constant integers");
    bool one = tensor_size(t) == 1, pair = t->ndim == 1 && t->shape[0] == 2;
    bool each = t->ndim == 2 && t->shape[0] == ndim && t->shape[1] == 2;
    if (!one && !pair && !each)
        return fail(
            b->s, at, E_SHAPE,
            "pad: the widths are one number, a pair, or a pair for each of %d dims",
            ndim);
    for (int k = 0; k < ndim; k++) {
        before[k] = tensor_i64(t, one || pair ? 0 : 2 * k);
        after[k] = tensor_i64(t, one ? 0 : pair ? 1 : 2 * k + 1);
        if (before[k] < 0 || after[k] < 0 || before[k] > INT64_MAX / 4 ||
            after[k] > INT64_MAX / 4)
            return fail(b->s, at, E_VALUE,
                        "pad: a width can't be negative or too large");
    }
    return true;
}

/* VAR_NONE: diagnosed. */
static Var plus(Builder *b, Var n, int64_t v) {
    const Tensor *t = n == VAR_NONE ? NULL : var_const(b->g, n);
    Dim sum;
    if (n == VAR_NONE || v == 0) return n;
    if (!t) return call2(b, "add", n, const_int(b, v));
    if (dim_add(tensor_i64(t, 0), v, &sum)) return const_int(b, sum);
    fail(b->s, b->from.at, E_VALUE, "pad: the result is too large");
    return VAR_NONE;
}

static bool pad_constant(Builder *b, const Var *in, const int64_t *before,
                         const int64_t *after, Var *out) {
    const Type *x = var_type(b->g, in[0]);
    Var size[MAX_NDIM], args[2 + 2 * MAX_NDIM] = {VAR_NONE, in[0]};
    Str text = STR(b->s);
    bool ok = true;
    for (int k = 0; ok && k < x->ndim; k++) {
        Var n = shape_of(b, in[0], k);
        args[2 + 2 * k] = const_int(b, before[k]);
        args[3 + 2 * k] = plus(b, n, before[k]);
        size[k] =
            args[3 + 2 * k] == VAR_NONE ? VAR_NONE : plus(b, n, before[k] + after[k]);
        ok = size[k] != VAR_NONE;
        str_printf(&text, "%s$:$", k ? ", " : "");
    }
    PropArg index = {"index", PROP_STR(sym(b->s, str_text(&text)))},
            dtype = {"dtype", PROP_DTYPE(x->dtype)};
    str_free(&text);
    if (!ok) return false;
    Var fill[2] = {ints_stack(b, (size_t)x->ndim, size), in[2]};
    args[0] = apply_named(b, "full", 2, fill, 1, &dtype);
    return (*out = apply_named(b, "set_subtensor", 2 + 2 * (size_t)x->ndim, args, 1,
                               &index)) != VAR_NONE;
}

/* Where an element at place p of a dim of n, below 0 or beyond the end, is taken from.
 * A dim without elements gives places that it does not have, and so an error. */
typedef struct Mode {
    const char *name;
    const char *period; /* p is taken modulo this; NULL: as it is */
    const char *place;
    const char *stat; /* op whose result along the dim is the edge; NULL: x's own */
} Mode;
#define AT_EDGE NULL, "clip(p, 0, n - 1)"
static const Mode modes[] = {
    {"edge", AT_EDGE, NULL},
    {"wrap", "maximum(n, 1)", "p", NULL},
    {"reflect", "maximum(2 * n - 2, 1)", "n - 1 - abs(p - (n - 1))", NULL},
    {"symmetric", "maximum(2 * n, 1)", "minimum(p, 2 * n - 1 - p)", NULL},
    {"maximum", AT_EDGE, "max"},
    {"minimum", AT_EDGE, "min"},
    {"mean", AT_EDGE, "mean"},
};

/* Along dim k, in x's dtype: the mean of integers is rounded. */
static Var statistic(Builder *b, const char *op, Var x, int k) {
    PropArg arg[2] = {{"axis", PROP_INTS((const int64_t[]){k}, 1)},
                      {"keepdims", PROP_BOOL(true)}};
    DType d = var_type(b->g, x)->dtype;
    bool wide = dtype_is_discrete(d) && strcmp(op, "mean") == 0;
    Var v = wide ? cast_to(b, x, DT_FLOAT64) : x;
    if (v != VAR_NONE) v = apply_named(b, op, 1, &v, 2, arg);
    if (v != VAR_NONE && wide && d != DT_BOOL) v = call1(b, "rint", v);
    return v == VAR_NONE ? VAR_NONE : cast_to(b, v, d);
}

/* x with the statistic once where there is padding, which is then that edge's. */
static Var beside(Builder *b, Var x, Var v, int k, int64_t *before, int64_t *after) {
    Var in[3];
    size_t n = 0;
    PropArg axis = {"axis", PROP_INT(k)};
    if (*before) in[n++] = v;
    in[n++] = x;
    if (*after) in[n++] = v;
    *before -= *before > 0;
    *after -= *after > 0;
    return v == VAR_NONE ? VAR_NONE : apply_named(b, "concatenate", n, in, 1, &axis);
}

static Var pad_dim(Builder *b, const Mode *mode, Var x, int k, int64_t before,
                   int64_t after) {
    const Type *t = var_type(b->g, x);
    if (t->dim[k] == 0) {
        fail(b->s, b->from.at, E_VALUE,
             "pad: dim %d has no elements that mode '%s' could repeat", k, mode->name);
        return VAR_NONE;
    }
    if (mode->stat)
        x = beside(b, x, statistic(b, mode->stat, x, k), k, &before, &after);
    if (x == VAR_NONE || (before == 0 && after == 0)) return x;
    Var n = shape_of(b, x, k), end = plus(b, n, after);
    if (end == VAR_NONE) return VAR_NONE;
    bool ok = true;
    Bind bind[] = {{sym(b->s, "n"), n}, {sym(b->s, "p"), VAR_NONE}};
    Env env = {.n = 2, .bind = bind};
    bind[1].var = call2(b, "arange", const_int(b, -before), end);
    if (bind[1].var != VAR_NONE && mode->period) {
        Var period = build_text(b, mode->period, &env, &ok);
        bind[1].var = ok ? call2(b, "remainder", bind[1].var, period) : VAR_NONE;
    }
    if (bind[1].var == VAR_NONE) return VAR_NONE;
    Var in[2] = {x, build_text(b, mode->place, &env, &ok)};
    PropArg index = index_at_axis(b->s, k);
    return ok ? apply_named(b, "subtensor", 2, in, 1, &index) : VAR_NONE;
}

static bool find_mode(Builder *b, const char *name, const Mode **mode) {
    *mode = NULL;
    if (strcmp(name, "constant") == 0 || strcmp(name, "empty") == 0) return true;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(name, modes[i].name) == 0) *mode = &modes[i];
    return *mode ||
           fail(b->s, b->from.at, E_ARG,
                "pad: the mode is 'constant', 'edge', 'empty', 'maximum', "
                "'mean', 'minimum', 'reflect', 'symmetric' or 'wrap', not '%s'",
                name);
}

static bool pad_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    (void)nin;
    const Type *x = var_type(b->g, in[0]);
    int64_t before[MAX_NDIM], after[MAX_NDIM];
    const Mode *mode;
    if (!find_mode(b, sym_text(b->s, op_prop(b->s, op, p, "mode")->sym), &mode) ||
        !widths(b, in[1], x->ndim, before, after))
        return false;
    *out = in[0];
    if (x->ndim == 0) return true;
    if (!mode) return pad_constant(b, in, before, after, out);
    for (int k = 0; k < x->ndim && *out != VAR_NONE; k++)
        if (before[k] || after[k])
            *out = pad_dim(b, mode, *out, k, before[k], after[k]);
    return *out != VAR_NONE;
}

static const Op table[] = {
    {.name = "pad",
     .doc = "x with more around it: a constant, or (mode) its 'edge', its elements "
            "mirrored about the edge ('reflect') or with the edge ('symmetric'), or "
            "from the other end ('wrap'), or its 'maximum', 'minimum' or 'mean' along "
            "each dim; 'empty' is the constant. The widths are one number, a pair "
            "(before, "
            "after), or a pair for each dim.",
     .in = "x, pad_width, constant_values = 0",
     .props = "mode: str = 'constant'",
     .expand = pad_expand,
     .disconnected = "pad_width",
     .example = "pad([1, 2], (1, 2)) -> [0, 1, 2, 0, 0]\npad([[1]], 1) -> [[0, 0, 0], "
                "[0, 1, 0], [0, 0, 0]]\npad([1, 2, 3], 2, 'reflect') -> [3, 2, 1, "
                "2, 3, 2, 1]",
     .file = __FILE__,
     .line = __LINE__},
};
const OpList ops_shape_pad = {table, sizeof table / sizeof *table};
