/* pad: a constant border, built by setting x into a broadcast number; or a border from
 * x itself, built by indexing x along each dim, after concatenating a statistic if the
 * mode needs one. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <string.h>

/* How many elements to add on one side of a dim. */
typedef struct PadWidth {
    bool known;
    int64_t n; /* if known */
    Var var;   /* if not: 0-d int64 */
} PadWidth;
typedef PadWidth PadWidths[MAX_NDIM][2];

static bool is_no_width(PadWidth w) {
    return w.known && w.n == 0;
}

static Var width_var(Builder *b, PadWidth w) {
    return w.known ? const_int(b, w.n) : w.var;
}

static bool check_widths_type(Builder *b, Var v, int ndim) {
    const Type *t = var_type(b->g, v);
    Span at = b->from.at;
    if (!dtype_is_integer(t->dtype))
        return fail(b->s, at, E_VALUE, "pad: the widths must be integers, not %s",
                    dtype_name(t->dtype));
    bool one = type_size(t) == 1, pair = t->ndim == 1 && t->dim[0] == 2;
    bool each = t->ndim == 2 && t->dim[0] == ndim && t->dim[1] == 2;
    return one || pair || each ||
           fail(b->s, at, E_SHAPE,
                "pad: the widths must be one number, a pair, or a pair for each of %d "
                "dims, not %s",
                ndim, type_str(b->s, t));
}

/* Widths that only a run knows: it also checks that none is negative. The maximum keeps
 * shapes free of contradictions where rewriting finds a negative one before the run. */
static bool take_pad_widths(Builder *b, Var v, int ndim, PadWidths width) {
    bool ok = true;
    PropArg index = {"index", PROP_STR(sym(b->s, "$"))};
    Var w = op_cast_to_index(b, v);
    if (w != VAR_NONE) w = op_call1(b, "ravel", w);
    Bind bind[] = {{sym(b->s, "w"), w}};
    if (w != VAR_NONE)
        w = template_build(
            b, "maximum(require(w, w >= 0, msg='pad: a width is negative'), 0)",
            &(Env){.n = 1, .bind = bind}, &ok);
    for (int i = 0; ok && w != VAR_NONE && i < 2 * ndim; i++) {
        int64_t n = type_size(var_type(b->g, v)), at = n == 1 ? 0 : n == 2 ? i % 2 : i;
        Var in[2] = {w, const_int(b, at)},
            one = apply_named(b, "subtensor", 2, in, 1, &index);
        width[i / 2][i % 2] = (PadWidth){.var = one};
        ok = one != VAR_NONE;
    }
    return ok && w != VAR_NONE;
}

/* Reads the widths before and after each dim: one number, one pair, or a pair per
 * dim. */
static bool read_pad_widths(Builder *b, Var v, int ndim, PadWidths width) {
    const Tensor *t = var_const(b->g, v);
    if (!check_widths_type(b, v, ndim)) return false;
    if (!t) return take_pad_widths(b, v, ndim, width);
    int64_t count = tensor_size(t);
    for (int i = 0; i < 2 * ndim; i++) {
        int64_t n = tensor_i64(t, count == 1 ? 0 : count == 2 ? i % 2 : i);
        if (n < 0 || n > INT64_MAX / 4)
            return fail(b->s, b->from.at, E_VALUE,
                        "pad: a width can't be negative or too large");
        width[i / 2][i % 2] = (PadWidth){.known = true, .n = n};
    }
    return true;
}

/* VAR_NONE: diagnosed. */
static Var add_width(Builder *b, Var n, PadWidth w) {
    const Tensor *t = n == VAR_NONE ? NULL : var_const(b->g, n);
    Dim sum;
    if (n == VAR_NONE || is_no_width(w)) return n;
    if (!t || !w.known) return op_call2(b, "add", n, width_var(b, w));
    if (dim_add(tensor_i64(t, 0), w.n, &sum)) return const_int(b, sum);
    fail(b->s, b->from.at, E_VALUE, "pad: the result is too large");
    return VAR_NONE;
}

static bool pad_constant(Builder *b, const Var *in, PadWidths width, Var *out) {
    const Type *x = var_type(b->g, in[0]);
    Var size[MAX_NDIM], args[2 + 2 * MAX_NDIM] = {VAR_NONE, in[0]};
    Str text = STR(b->s);
    bool ok = true;
    for (int k = 0; ok && k < x->ndim; k++) {
        args[2 + 2 * k] = width_var(b, width[k][0]);
        args[3 + 2 * k] = add_width(b, shape_of(b, in[0], k), width[k][0]);
        size[k] = add_width(b, args[3 + 2 * k], width[k][1]);
        ok = size[k] != VAR_NONE;
        str_printf(&text, "%s$:$", k ? ", " : "");
    }
    PropArg index = {"index", PROP_STR(sym(b->s, str_text(&text)))};
    str_free(&text);
    if (!ok) return false;
    Var fill[2] = {op_cast_to(b, in[2], x->dtype),
                   ints_stack(b, (size_t)x->ndim, size)};
    args[0] = apply_named(b, "broadcast_to", 2, fill, 0, NULL);
    return args[0] != VAR_NONE &&
           (*out = apply_named(b, "set_subtensor", 2 + 2 * (size_t)x->ndim, args, 1,
                               &index)) != VAR_NONE;
}

/* The source position for position p of a dim of size n, with p below 0 or beyond the
 * end. A dim without elements yields invalid positions, hence an error. */
typedef struct PadMode {
    const char *name;
    const char *period; /* p is reduced modulo this; NULL: p itself */
    const char *place;
    const char *stat; /* op whose result along the dim forms the edge; NULL: x's own
                       * edge */
    const char *side; /* instead: the border as a formula in x's edge there, the value
                       * e, the width w, and j = 0 .. w - 1 counted from outside */
} PadMode;
#define AT_EDGE NULL, "clip(p, 0, n - 1)"
static const PadMode modes[] = {
    {"edge", AT_EDGE, NULL, NULL},
    {"wrap", "maximum(n, 1)", "p", NULL, NULL},
    {"reflect", "maximum(2 * n - 2, 1)", "n - 1 - abs(p - (n - 1))", NULL, NULL},
    {"symmetric", "maximum(2 * n, 1)", "minimum(p, 2 * n - 1 - p)", NULL, NULL},
    {"maximum", AT_EDGE, "max", NULL},
    {"minimum", AT_EDGE, "min", NULL},
    {"mean", AT_EDGE, "mean", NULL},
    {"median", AT_EDGE, "median", NULL},
    {"linear_ramp", NULL, NULL, NULL, "e + j * ((edge - e) / w)"},
};

/* Elements of x along dim k, which is kept. `at`: a formula in n, the size of the
 * dim. */
static Var elements_along(Builder *b, Var x, int k, const char *at) {
    Bind n[] = {{sym(b->s, "n"), shape_of(b, x, k)}};
    bool ok = n[0].var != VAR_NONE;
    Var in[2] = {x,
                 ok ? template_build(b, at, &(Env){.n = 1, .bind = n}, &ok) : VAR_NONE};
    PropArg index = index_at_axis(b->s, k);
    return ok ? apply_named(b, "subtensor", 2, in, 1, &index) : VAR_NONE;
}

static Var median_along(Builder *b, Var x, int k) {
    PropArg axis = {"axis", PROP_INT(k)};
    Var s = apply_named(b, "sort", 1, &x, 1, &axis);
    if (s == VAR_NONE) return s;
    Bind bind[] = {{sym(b->s, "lo"), elements_along(b, s, k, "[(n - 1) // 2]")},
                   {sym(b->s, "hi"), elements_along(b, s, k, "[n // 2]")},
                   {sym(b->s, "last"), elements_along(b, s, k, "[n - 1]")}};
    bool ok = true;
    for (int i = 0; i < 3; i++)
        if (bind[i].var == VAR_NONE) return VAR_NONE;
    /* nan sorts last */
    Var v = template_build(b, "where(last == last, (lo + hi) / 2, last)",
                           &(Env){.n = 3, .bind = bind}, &ok);
    return ok ? v : VAR_NONE;
}

/* The statistic along dim k in x's dtype: an integer mean is rounded. */
static Var pad_statistic(Builder *b, const char *op, Var x, int k) {
    PropArg arg[2] = {{"axis", PROP_INTS((const int64_t[]){k}, 1)},
                      {"keepdims", PROP_BOOL(true)}};
    DType d = var_type(b->g, x)->dtype;
    bool middle = strcmp(op, "median") == 0;
    bool wide = dtype_is_discrete(d) && (middle || strcmp(op, "mean") == 0);
    Var v = wide ? op_cast_to(b, x, DT_FLOAT64) : x;
    if (v != VAR_NONE)
        v = middle ? median_along(b, v, k) : apply_named(b, op, 1, &v, 2, arg);
    if (v != VAR_NONE && wide && d != DT_BOOL) v = op_call1(b, "rint", v);
    return op_cast_to(b, v, d);
}

/* What to add along dim k: how much before and after, and linear_ramp's end values. */
typedef struct PadDim {
    int k;
    PadWidth width[2];
    Var end_values;
} PadDim;

/* x with the statistic concatenated once on each padded side, as its new edge. */
static Var pad_beside(Builder *b, Var x, Var v, PadDim *d) {
    Var in[3];
    size_t n = 0;
    PropArg axis = {"axis", PROP_INT(d->k)};
    if (d->width[0].n) in[n++] = v;
    in[n++] = x;
    if (d->width[1].n) in[n++] = v;
    d->width[0].n -= d->width[0].n > 0;
    d->width[1].n -= d->width[1].n > 0;
    return v == VAR_NONE ? VAR_NONE : apply_named(b, "concatenate", n, in, 1, &axis);
}

/* One value, a pair, or a pair for each dim. */
static bool end_values_fit(Builder *b, Var v, int ndim) {
    const Type *t = var_type(b->g, v);
    bool fits = t->ndim == 0 || (t->ndim == 1 && t->dim[0] == 2) ||
                (t->ndim == 2 && t->dim[0] == ndim && t->dim[1] == 2);
    return fits || fail(b->s, b->from.at, E_SHAPE,
                        "pad: end_values must be one number, a pair, or a pair for "
                        "each of %d dims, not %s",
                        ndim, type_str(b->s, t));
}

static Var end_value(Builder *b, Var v, int k, int side) {
    int ndim = var_type(b->g, v)->ndim;
    return ndim == 0 ? v
                     : op_call2(b, "take", v, const_int(b, (ndim - 1) * 2 * k + side));
}

/* The border before (side 0) or after x. As in NumPy, computed in float64 and rounded
 * down for integers. */
static Var build_ramp(Builder *b, const PadMode *mode, Var x, const PadDim *dim,
                      int side) {
    int k = dim->k;
    int64_t w = dim->width[side].n;
    const Type *t = var_type(b->g, x);
    DType d = t->dtype, wide = dtype_is_complex(d) ? DT_COMPLEX128 : DT_FLOAT64;
    Var j = side == 0 ? op_call2(b, "arange", const_int(b, 0), const_int(b, w))
                      : op_call3(b, "arange", const_int(b, w - 1), const_int(b, -1),
                                 const_int(b, -1));
    int64_t shape[MAX_NDIM];
    for (int i = 0; i < t->ndim; i++)
        shape[i] = i == k ? w : 1;
    if (j != VAR_NONE)
        j = op_call2(b, "reshape", j, const_ints(b, (size_t)t->ndim, shape));
    Var edge = elements_along(b, x, k, side == 0 ? "[0]" : "[n - 1]");
    if (j == VAR_NONE || edge == VAR_NONE) return VAR_NONE;
    Bind bind[] = {{sym(b->s, "j"), op_cast_to(b, j, DT_FLOAT64)},
                   {sym(b->s, "w"), const_number(b, DT_FLOAT64, (double)w)},
                   {sym(b->s, "e"), end_value(b, dim->end_values, k, side)},
                   {sym(b->s, "edge"), op_cast_to(b, edge, wide)}};
    bool ok = bind[2].var != VAR_NONE;
    Var v = ok ? template_build(b, mode->side, &(Env){.n = 4, .bind = bind}, &ok)
               : VAR_NONE;
    if (ok && dtype_is_integer(d)) v = op_call1(b, "floor", v);
    return ok && v != VAR_NONE ? op_cast_to(b, v, d) : VAR_NONE;
}

static Var pad_sides(Builder *b, const PadMode *mode, Var x, const PadDim *d) {
    Var in[3];
    size_t n = 0;
    PropArg axis = {"axis", PROP_INT(d->k)};
    if (d->width[0].n) in[n++] = build_ramp(b, mode, x, d, 0);
    in[n++] = x;
    if (d->width[1].n) in[n++] = build_ramp(b, mode, x, d, 1);
    return apply_named(b, "concatenate", n, in, 1, &axis);
}

/* What the mode needs to pad a dim: elements to repeat, or constant widths. */
static bool check_dim(Builder *b, const PadMode *mode, Var x, const PadDim *d) {
    if (var_type(b->g, x)->dim[d->k] == 0)
        return fail(b->s, b->from.at, E_VALUE,
                    "pad: dim %d has no elements that mode '%s' could repeat", d->k,
                    mode->name);
    bool fixed = d->width[0].known && d->width[1].known;
    return fixed || !(mode->side || mode->stat) ||
           fail(b->s, b->from.at, E_VALUE,
                "pad: mode '%s' needs constant widths; 'constant', 'edge', 'reflect', "
                "'symmetric' and 'wrap' take computed ones",
                mode->name);
}

/* Where the elements of the padded dim are in x; VAR_NONE: diagnosed. */
static Var padded_positions(Builder *b, const PadMode *mode, Var x, const PadDim *d) {
    Var n = shape_of(b, x, d->k), end = add_width(b, n, d->width[1]);
    Var start = d->width[0].known ? const_int(b, -d->width[0].n)
                                  : op_call1(b, "negative", d->width[0].var);
    if (end == VAR_NONE || start == VAR_NONE) return VAR_NONE;
    bool ok = true;
    Bind bind[] = {{sym(b->s, "n"), n}, {sym(b->s, "p"), VAR_NONE}};
    Env env = {.n = 2, .bind = bind};
    bind[1].var = op_call2(b, "arange", start, end);
    if (bind[1].var != VAR_NONE && mode->period) {
        Var period = template_build(b, mode->period, &env, &ok);
        bind[1].var = ok ? op_call2(b, "remainder", bind[1].var, period) : VAR_NONE;
    }
    if (bind[1].var == VAR_NONE) return VAR_NONE;
    Var at = template_build(b, mode->place, &env, &ok);
    return ok ? at : VAR_NONE;
}

/* x at these positions of n dims from k on, all in one reading of it: each array lies
 * along a dim of its own. */
static Var index_dims(Builder *b, Var x, int k, int n, const Var *at) {
    Var in[1 + MAX_NDIM] = {x};
    PropArg axis = {"axis", PROP_INT(1)};
    Str text = STR(b->s);
    for (int i = 0; i < k + n; i++)
        str_printf(&text, "%s%s", i ? ", " : "", i < k ? ":" : "$");
    PropArg index = {"index", PROP_STR(sym(b->s, str_text(&text)))};
    str_free(&text);
    for (int i = 0; i < n; i++) {
        in[1 + i] = at[i];
        for (int more = i + 1; more < n && in[1 + i] != VAR_NONE; more++)
            in[1 + i] = apply_named(b, "expand_dims", 1, &in[1 + i], 1, &axis);
        if (in[1 + i] == VAR_NONE) return VAR_NONE;
    }
    return apply_named(b, "subtensor", 1 + (size_t)n, in, 1, &index);
}

static bool is_padded(const PadDim *d) {
    return !is_no_width(d->width[0]) || !is_no_width(d->width[1]);
}

/* A dim that is padded by what x has along it: by numbers that are computed, or with a
 * statistic as its edge. */
static Var pad_along(Builder *b, const PadMode *mode, Var x, PadDim d) {
    if (!check_dim(b, mode, x, &d)) return VAR_NONE;
    if (mode->side) return pad_sides(b, mode, x, &d);
    x = pad_beside(b, x, pad_statistic(b, mode->stat, x, d.k), &d);
    if (x == VAR_NONE || !is_padded(&d)) return x;
    Var at = padded_positions(b, mode, x, &d);
    return at == VAR_NONE ? VAR_NONE : index_dims(b, x, d.k, 1, &at);
}

/* Padded dims that are neighbours are read together. */
static Var pad_by_index(Builder *b, const PadMode *mode, Var x, PadWidths width) {
    int ndim = var_type(b->g, x)->ndim, n = 0;
    Var at[MAX_NDIM];
    for (int k = 0; k <= ndim && x != VAR_NONE; k++) {
        PadDim d = {.k = k};
        if (k < ndim) memcpy(d.width, width[k], sizeof d.width);
        bool more = k < ndim && is_padded(&d);
        if (more) {
            if (!check_dim(b, mode, x, &d) ||
                (at[n++] = padded_positions(b, mode, x, &d)) == VAR_NONE)
                return VAR_NONE;
        } else if (n) {
            x = index_dims(b, x, k - n, n, at);
            n = 0;
        }
    }
    return x;
}

static bool find_mode(Builder *b, const char *name, const PadMode **mode) {
    *mode = NULL;
    if (strcmp(name, "constant") == 0 || strcmp(name, "empty") == 0) return true;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(name, modes[i].name) == 0) *mode = &modes[i];
    return *mode || fail(b->s, b->from.at, E_ARG,
                         "pad: the mode must be 'constant', 'edge', 'empty', "
                         "'linear_ramp', 'maximum', 'mean', 'median', 'minimum', "
                         "'reflect', 'symmetric' or 'wrap', not '%s'",
                         name);
}

static bool pad_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    (void)nin;
    const Type *x = var_type(b->g, in[0]);
    PadWidths width;
    const PadMode *mode;
    if (!find_mode(b, sym_text(b->s, op_prop(b->s, op, p, "mode")->sym), &mode) ||
        !read_pad_widths(b, in[1], x->ndim, width) ||
        !end_values_fit(b, in[3], x->ndim))
        return false;
    *out = in[0];
    if (x->ndim == 0) return true;
    if (!mode) return pad_constant(b, in, width, out);
    if (!mode->side && !mode->stat)
        return (*out = pad_by_index(b, mode, in[0], width)) != VAR_NONE;
    for (int k = 0; k < x->ndim && *out != VAR_NONE; k++) {
        PadDim d = {k, {width[k][0], width[k][1]}, in[3]};
        if (is_padded(&d)) *out = pad_along(b, mode, *out, d);
    }
    return *out != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("pad"),
     .doc =
         "x with elements added around it. mode chooses them: 'constant', its 'edge', "
         "its elements mirrored without the edge ('reflect') or with it ('symmetric'), "
         "those from the other end ('wrap'), its 'maximum', 'minimum', 'mean' or "
         "'median' along each dim, or numbers from end_values to the edge "
         "('linear_ramp'); 'empty' is the constant. The widths and end_values are one "
         "number, a pair (before, after), or a pair for each dim. They may be computed "
         "if "
         "the mode is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'.",
     .in = "x, pad_width, constant_values = 0, end_values = 0",
     .props = "mode: str = 'constant'",
     .expand = pad_expand,
     .disconnected = "pad_width",
     .example = "pad([1, 2], (1, 2)) -> [0, 1, 2, 0, 0]\npad([[1]], 1) -> [[0, 0, 0], "
                "[0, 1, 0], [0, 0, 0]]\npad([1, 2, 3], 2, 'reflect') -> [3, 2, 1, "
                "2, 3, 2, 1]"},
};
const OpList ops_shape_pad = LIST_OF(table);
