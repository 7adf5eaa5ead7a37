/* resize and rescale: values between the elements along axes. Both expand to one op,
 * which knows only the place of each result. */
#include "ops/nn/resample.h"

#include "ops/shape/linear.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- the places of coordinate modes ---- */

/* One text, [p, a, b, q], in n and m, the sizes before and after, s, the scale as num /
 * den, and start and end of the region. `one`: the place if m is 1. */
typedef struct Coordinates {
    const char *name, *place, *one;
} Coordinates;
static const Coordinates coordinates[] = {
    {"half_pixel", "stack([0.5, num, den, -0.5])", NULL},
    {"pytorch_half_pixel", "stack([0.5, num, den, -0.5])", "stack([0., 0., 1., 0.])"},
    {"align_corners", "stack([0., n - 1, m - 1, 0.])", "stack([0., 0., 1., 0.])"},
    {"asymmetric", "stack([0., num, den, 0.])", NULL},
    {"half_pixel_symmetric",
     "stack([0.5, num, den, n / 2 * (1 - m * num / (den * n)) - 0.5])", NULL},
    {"tf_half_pixel_for_nn", "stack([0.5, num, den, 0.])", NULL},
    {"tf_crop_and_resize",
     "stack([0., (end - start) * (n - 1), m - 1, start * (n - 1)])",
     "stack([0., 0., 1., (start + end) * (n - 1) / 2])"},
};
enum { COORDINATES = sizeof coordinates / sizeof *coordinates };

static const char *text_prop(Session *s, const Op *op, const Props *p,
                             const char *name) {
    return sym_text(s, op_prop(s, op, p, name)->sym);
}

/* The choice that a text prop names, among n; n: none, diagnosed. */
static size_t choice_of_prop(Builder *b, const Op *op, const Props *p, const char *prop,
                             size_t n, const char *const *choice) {
    size_t i = 0;
    const char *text = text_prop(b->s, op, p, prop);
    while (i < n && strcmp(choice[i], text) != 0)
        i++;
    if (i < n) return i;
    Str all = STR(b->s);
    for (size_t k = 0; k < n; k++)
        str_printf(&all, "%s'%s'", k == 0 ? "" : k + 1 < n ? ", " : " or ", choice[k]);
    fail(b->s, b->from.at, E_ARG, "%s: %s must be %s, not '%s'", op->name, prop,
         str_text(&all), text);
    str_free(&all);
    return n;
}

static const char *const modes[] = {"nearest", "linear", "cubic"};
static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                     "ceil"};

/* What a call of resize or rescale says. */
typedef struct Resize {
    Builder *b;
    const Op *op;
    const Props *props;
    Var x;
    int ndim, count;    /* of x; of the axes that are resampled */
    int axis[MAX_NDIM]; /* ascending */
    int item[MAX_NDIM]; /* where the axis stands in sizes or scales */
    Var sizes, scales;  /* one of them is VAR_NONE */
    Var region;         /* or VAR_NONE */
    const Coordinates *coordinates;
} Resize;

/* How many sizes or scales there are; -1: diagnosed. */
static int count_items(Builder *b, const Op *op, const char *what, Var v) {
    const Type *t = var_type(b->g, v);
    if (t->ndim == 1 && dim_is_known(t->dim[0]) && t->dim[0] <= MAX_NDIM)
        return (int)t->dim[0];
    fail(b->s, b->from.at, E_SHAPE, "%s: %s must be a vector of known length, not %s",
         op->name, what, type_str(b->s, t));
    return -1;
}

/* The axes: those of the prop, or the last ones. */
static bool read_axes(Resize *r) {
    Builder *b = r->b;
    const Prop *axes = op_prop(b->s, r->op, r->props, "axes");
    bool given = axes->kind == P_INTS;
    if (given ? axes->ints.n != (size_t)r->count : r->count > r->ndim)
        return fail(b->s, b->from.at, E_ARG, "%s: there are %d %s for %d axes",
                    r->op->name, r->count, r->sizes != VAR_NONE ? "sizes" : "scales",
                    given ? (int)axes->ints.n : r->ndim);
    int at[MAX_NDIM];
    for (int k = 0; k < r->ndim; k++)
        at[k] = given ? -1 : k - (r->ndim - r->count);
    for (int i = 0; given && i < r->count; i++) {
        int64_t k = axes->ints.p[i] < 0 ? axes->ints.p[i] + r->ndim : axes->ints.p[i];
        if (k < 0 || k >= r->ndim || at[k] >= 0)
            return fail(b->s, b->from.at, E_VALUE,
                        "%s: axis %lld is out of range for %d dims, or there twice",
                        r->op->name, (long long)axes->ints.p[i], r->ndim);
        at[k] = i;
    }
    r->count = 0;
    for (int k = 0; k < r->ndim; k++)
        if (at[k] >= 0) {
            r->axis[r->count] = k;
            r->item[r->count++] = at[k];
        }
    return true;
}

static Var float_item(Builder *b, Var v, int64_t i) {
    const Tensor *t = var_const(b->g, v);
    if (t) return const_number(b, DT_FLOAT64, tensor_f64(t, i));
    Var in[2] = {v, const_int(b, i)};
    PropArg index = {"index", PROP_STR(sym(b->s, "$"))};
    Var one = apply_named(b, "subtensor", 2, in, 1, &index);
    return one == VAR_NONE ? one : op_cast_to(b, one, DT_FLOAT64);
}

/* The size after scaling n elements, known if both are. */
static Var scaled_size(Builder *b, Var n, Var scale) {
    const Tensor *tn = var_const(b->g, n), *ts = var_const(b->g, scale);
    if (tn && ts) {
        double v = (double)tensor_i64(tn, 0) * tensor_f64(ts, 0);
        if (v >= 0 && v < 0x1p62) return const_int(b, (int64_t)v);
    }
    Bind bind[] = {{sym(b->s, "n"), n}, {sym(b->s, "scale"), scale}};
    bool ok = true;
    Var v = template_build(b, "cast(floor(n * scale), 'int64')",
                           &(Env){.n = 2, .bind = bind}, &ok);
    return ok ? v : VAR_NONE;
}

/* The size of axis i after resampling, and [p, a, b, q]. */
static bool resize_axis(const Resize *r, int i, Var *size, Var *place) {
    Builder *b = r->b;
    Var n = shape_of(b, r->x, r->axis[i]), scale = VAR_NONE;
    if (n == VAR_NONE) return false;
    if (r->scales != VAR_NONE) {
        scale = float_item(b, r->scales, r->item[i]);
        if (scale == VAR_NONE) return false;
    }
    *size = r->sizes != VAR_NONE ? vmap_ints_item(b, r->sizes, r->item[i])
                                 : scaled_size(b, n, scale);
    if (*size == VAR_NONE) return false;
    Var wide = op_cast_to(b, n, DT_FLOAT64), after = op_cast_to(b, *size, DT_FLOAT64);
    Var start = VAR_NONE, end = VAR_NONE;
    if (r->region != VAR_NONE) {
        start = float_item(b, r->region, r->item[i]);
        if (start == VAR_NONE) return false;
        end = float_item(b, r->region, r->item[i] + r->count);
    }
    Var num = scale == VAR_NONE ? wide : const_number(b, DT_FLOAT64, 1);
    Bind bind[] = {{sym(b->s, "n"), wide},
                   {sym(b->s, "m"), after},
                   {sym(b->s, "num"), num},
                   {sym(b->s, "den"), scale == VAR_NONE ? after : scale},
                   {sym(b->s, "start"), start},
                   {sym(b->s, "end"), end}};
    Env env = {.n = r->region == VAR_NONE ? 4 : 6, .bind = bind};
    bool ok = true;
    const Tensor *known = var_const(b->g, *size);
    const Coordinates *c = r->coordinates;
    const char *text = c->place;
    if (c->one && known) text = tensor_i64(known, 0) == 1 ? c->one : c->place;
    *place = template_build(b, text, &env, &ok);
    if (!ok || *place == VAR_NONE || !c->one || known) return ok && *place != VAR_NONE;
    Var single = template_build(b, c->one, &env, &ok);
    Bind either[] = {
        {sym(b->s, "m"), after}, {sym(b->s, "a"), single}, {sym(b->s, "b"), *place}};
    *place = ok ? template_build(b, "where(m == 1, a, b)",
                                 &(Env){.n = 3, .bind = either}, &ok)
                : VAR_NONE;
    return ok && *place != VAR_NONE;
}

/* The shape of the result, and the places. */
static bool resize_axes(const Resize *r, Var *sizes, Var *places) {
    Builder *b = r->b;
    Var size[MAX_NDIM], place[MAX_NDIM];
    int first = r->count ? r->axis[0] : r->ndim, at = 0;
    for (int k = first; k < r->ndim; k++) {
        static const double stay[RESAMPLE_PLACE] = {0, 1, 1, 0};
        if (at < r->count && r->axis[at] == k) {
            if (!resize_axis(r, at++, &size[k - first], &place[k - first]))
                return false;
            continue;
        }
        Var number[RESAMPLE_PLACE];
        for (int j = 0; j < RESAMPLE_PLACE; j++)
            number[j] = const_number(b, DT_FLOAT64, stay[j]);
        size[k - first] = shape_of(b, r->x, k);
        if (size[k - first] == VAR_NONE) return false;
        place[k - first] = apply_named(b, "stack", RESAMPLE_PLACE, number, 0, NULL);
    }
    size_t n = (size_t)(r->ndim - first);
    *sizes = ints_stack(b, n, size);
    *places = n ? apply_named(b, "stack", n, place, 0, NULL) : VAR_NONE;
    return *sizes != VAR_NONE && (n == 0 || *places != VAR_NONE);
}

static bool expand_resize(Resize *r, Var *out) {
    Builder *b = r->b;
    const char *names[COORDINATES];
    for (size_t i = 0; i < COORDINATES; i++)
        names[i] = coordinates[i].name;
    size_t mode = choice_of_prop(b, r->op, r->props, "mode", 3, modes);
    size_t c =
        mode < 3 ? choice_of_prop(b, r->op, r->props, "coordinates", COORDINATES, names)
                 : COORDINATES;
    if (c == COORDINATES ||
        choice_of_prop(b, r->op, r->props, "nearest", 4, rounds) == 4)
        return false;
    r->coordinates = &coordinates[c];
    bool cut = c == COORDINATES - 1;
    if (cut != (r->region != VAR_NONE))
        return fail(
            b->s, b->from.at, E_ARG,
            cut ? "%s: coordinates='tf_crop_and_resize' needs region=, the starts of "
                  "all axes, then their ends"
                : "%s: region= needs coordinates='tf_crop_and_resize'",
            r->op->name);
    r->ndim = var_type(b->g, r->x)->ndim;
    Var in[3] = {r->x};
    DType d = var_type(b->g, r->x)->dtype;
    if (mode != 0) in[0] = op_cast_to(b, r->x, dtype_inexact(d, b->floatX));
    if (in[0] == VAR_NONE || !read_axes(r)) return false;
    int region = r->region == VAR_NONE ? 0 : count_items(b, r->op, "region", r->region);
    if (region < 0) return false;
    if (r->region != VAR_NONE && region != 2 * r->count)
        return fail(b->s, b->from.at, E_SHAPE,
                    "%s: region must have %d numbers, not %d", r->op->name,
                    2 * r->count, region);
    if (!resize_axes(r, &in[1], &in[2])) return false;
    if (in[2] == VAR_NONE) return *out = in[0], true;
    PropArg arg[] = {
        {"mode", *op_prop(b->s, r->op, r->props, "mode")},
        {"nearest", *op_prop(b->s, r->op, r->props, "nearest")},
        {"cubic_coeff", *op_prop(b->s, r->op, r->props, "cubic_coeff")},
        {"exclude_outside", *op_prop(b->s, r->op, r->props, "exclude_outside")},
        {"antialias", *op_prop(b->s, r->op, r->props, "antialias")},
        {"cut", PROP_BOOL(cut)}};
    *out = apply_named(b, "resample", 3, in, sizeof arg / sizeof *arg, arg);
    double beyond = op_prop(b->s, r->op, r->props, "extrapolation")->f;
    if (!cut || beyond == 0 || *out == VAR_NONE) return *out != VAR_NONE;
    /* what is outside is 0: of ones it shows */
    in[0] = apply_named(b, "ones_like", 1, in, 0, NULL);
    Var inside = apply_named(b, "resample", 3, in, sizeof arg / sizeof *arg, arg);
    bool ok = inside != VAR_NONE;
    Bind bind[] = {
        {sym(b->s, "r"), *out},
        {sym(b->s, "inside"), inside},
        {sym(b->s, "beyond"), const_number(b, var_type(b->g, *out)->dtype, beyond)}};
    *out = ok ? template_build(b, "where(inside > 0.5, r, beyond)",
                               &(Env){.n = 3, .bind = bind}, &ok)
              : VAR_NONE;
    return ok && *out != VAR_NONE;
}

static bool resize_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    Resize r = {.b = b,
                .op = op,
                .props = p,
                .x = in[0],
                .sizes = in[1],
                .scales = VAR_NONE,
                .region = nin > 2 ? in[2] : VAR_NONE};
    r.count = count_items(b, op, "sizes", in[1]);
    return r.count >= 0 && expand_resize(&r, out);
}

static bool rescale_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                           const Var *in, Var *out) {
    Resize r = {.b = b,
                .op = op,
                .props = p,
                .x = in[0],
                .sizes = VAR_NONE,
                .scales = in[1],
                .region = nin > 2 ? in[2] : VAR_NONE};
    r.count = count_items(b, op, "scales", in[1]);
    return r.count >= 0 && expand_resize(&r, out);
}

/* ---- resample ---- */

static bool known_text(Infer *in, const char *prop, size_t n,
                       const char *const *choice) {
    const char *text = sym_text(in->s, infer_prop(in, prop)->sym);
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, choice[i]) == 0) return true;
    return infer_fail(in, E_ARG, in->nin, "%s can't be '%s'", prop, text);
}

static bool infer_resample(Infer *in, unsigned kinds) {
    const Type *x = in->type[0], *places = in->type[2];
    Dim dim[MAX_NDIM], size[MAX_NDIM];
    int n;
    if (!known_text(in, "mode", 3, modes) || !known_text(in, "nearest", 4, rounds) ||
        !infer_want_rank(in, 0, 0, -1) || !infer_want_kinds(in, 0, kinds) ||
        !infer_want_rank(in, 2, 2, 2) || !infer_want_kinds(in, 2, KIND_FLOAT) ||
        !infer_want_shape(in, 1, &n, size, NULL))
        return false;
    Dim last = places->dim[0];
    if (!dim_is_known(last) || last > x->ndim || last > n ||
        places->dim[1] != RESAMPLE_PLACE)
        return infer_fail(
            in, E_SHAPE, 2,
            "places must be a row of %d numbers for each of at most %d axes",
            RESAMPLE_PLACE, x->ndim < n ? x->ndim : n);
    memcpy(dim, x->dim, sizeof *dim * (size_t)x->ndim);
    for (int k = 0; k < (int)last; k++) {
        Dim *d = &dim[x->ndim - (int)last + k], from = *d;
        *d = size[n - (int)last + k];
        if (from == 0 && *d > 0)
            return infer_fail(in, E_SHAPE, 0, "an axis has no elements to make %lld of",
                              (long long)*d);
    }
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool resample_type(Infer *in) {
    bool nearest = *sym_text(in->s, infer_prop(in, "mode")->sym) == 'n';
    return infer_resample(in, nearest ? KIND_BOOL | KIND_REAL : KIND_FLOAT);
}

static bool resample_back_type(Infer *in) {
    return infer_resample(in, KIND_FLOAT);
}

static bool resample_result_shape(ShapeOf *q) {
    int ndim = var_type(q->g, q->in[0])->ndim;
    int last = (int)var_type(q->g, q->in[2])->dim[0];
    Dim n = var_type(q->g, q->in[1])->dim[0];
    for (int k = 0; k < ndim; k++) {
        int64_t at = n - ndim + k;
        q->out_shape[0][k] =
            k < ndim - last ? q->in_shape[0][k] : vmap_ints_item(q->b, q->in[1], at);
        if (q->out_shape[0][k] == VAR_NONE) return false;
    }
    return true;
}

/* Axes before the last ones stay as they are: rows are another. */
static bool resample_vmap(Vmap *q) {
    if (q->rows[1] || q->rows[2]) return vmap_by_scan(q);
    return vmap_apply(q, q->props, q->in);
}

#define FILTER                                                                         \
    "nearest: str = 'round_prefer_floor', cubic_coeff: float = -0.75, "                \
    "exclude_outside: bool = False, antialias: bool = False"
#define RESIZE_PROPS                                                                   \
    "mode: str = 'nearest', axes: ints? = None, coordinates: str = "                   \
    "'half_pixel', " FILTER ", extrapolation: float = 0.0"
#define RESAMPLE_PROPS "mode: str = 'nearest', " FILTER ", cut: bool = False"
#define SAME_FILTER                                                                    \
    "mode=mode, nearest=nearest, cubic_coeff=cubic_coeff, "                            \
    "exclude_outside=exclude_outside, "                                                \
    "antialias=antialias, cut=cut)"
#define NO_PLACES "undefined('resampling has no derivative by its places')"
#define ABOUT_RESIZING                                                                 \
    "mode is 'nearest', 'linear' or 'cubic' (convolution with cubic_coeff). "          \
    "coordinates say "                                                                 \
    "where element i of m results is among n elements, with s = m / n or the scale: "  \
    "'half_pixel' (i + 0.5) / s - 0.5; 'pytorch_half_pixel' the same, but 0 if m is "  \
    "1; "                                                                              \
    "'align_corners' i (n - 1) / (m - 1); 'asymmetric' i / s; 'tf_half_pixel_for_nn' " \
    "(i + "                                                                            \
    "0.5) / s; 'half_pixel_symmetric' half_pixel around the middle; "                  \
    "'tf_crop_and_resize' from "                                                       \
    "start to end of region, in parts of n - 1, with the number extrapolation "        \
    "outside x. "                                                                      \
    "nearest rounds: 'round_prefer_floor', 'round_prefer_ceil', 'floor' or 'ceil'. "   \
    "Beyond the "                                                                      \
    "edges are the edge's elements, or, with exclude_outside, nothing; antialias "     \
    "widens the "                                                                      \
    "kernel where the result is smaller."

static const char *const resample_adjoint[] = {
    "resample_back(g, shape(x), places, " SAME_FILTER, "disconnected", NO_PLACES};
static const char *const resample_back_adjoint[] = {
    "resample(g, shape(v), places, " SAME_FILTER, "disconnected", NO_PLACES};

static const Op table[] = {
    {.name = OP_ROW("resize"),
     .doc = "x with other sizes of its last axes, or of `axes`, by values between its "
            "elements. " ABOUT_RESIZING,
     .in = "x, sizes: ints, region?",
     .props = RESIZE_PROPS,
     .expand = resize_expand,
     .disconnected = "sizes",
     .example =
         "resize([1., 2., 4.], [6], 'linear') -> [1.0, 1.25, 1.75, 2.5, 3.5, 4.0]\n"
         "resize([[1, 2], [3, 4]], [2, 4]) -> [[1, 1, 2, 2], [3, 3, 4, 4]]"},
    {.name = OP_ROW("rescale"),
     .doc = "x with its last axes, or `axes`, floor(n * scale) long, by values between "
            "its "
            "elements: resize for scales, which also give the places.",
     .in = "x, scales, region?",
     .props = RESIZE_PROPS,
     .expand = rescale_expand,
     .example =
         "rescale([1., 2., 4.], [2.], 'linear') -> [1.0, 1.25, 1.75, 2.5, 3.5, 4.0]"},
    {.name = OP_ROW("resample"),
     .internal = true,
     .doc =
         "The last axes of x with other sizes, the last ones of `sizes`; element i of "
         "a "
         "result is at (i + p) * a / b + q, of which places has a row [p, a, b, q] for "
         "each "
         "axis. cut: places outside x have zeros. resize and rescale expand to this.",
     .in = "x, sizes: ints, places",
     .props = RESAMPLE_PROPS,
     .type = resample_type,
     RARE(.infer_shape = resample_result_shape),
     .perform = resample_perform,
     .debug = resample_reference,
     .flops = "4 * r.size",
     .adjoint = resample_adjoint,
     .disconnected = "sizes",
     .vmap = resample_vmap,
     .example =
         "resample([1., 2., 4.], [6], [[0.5, 3., 6., -0.5]], mode='linear') -> [1.0, "
         "1.25, 1.75, 2.5, 3.5, 4.0]"},
    {.name = OP_ROW("resample_back"),
     .internal = true,
     .doc = "resample's transpose: adds each element of v, weighted, to those of a "
            "tensor of "
            "these sizes which it was made of.",
     .in = "v, sizes: ints, places",
     .props = RESAMPLE_PROPS,
     .type = resample_back_type,
     RARE(.infer_shape = resample_result_shape),
     .perform = resample_back_perform,
     .debug = resample_back_reference,
     .flops = "4 * v.size",
     .adjoint = resample_back_adjoint,
     .disconnected = "sizes",
     .vmap = resample_vmap,
     .example = "resample_back([1., 1., 1., 1.], [2], [[0.5, 2., 4., -0.5]], "
                "mode='linear') -> "
                "[2.0, 2.0]"},
};
const OpList ops_nn_resample = LIST_OF(table);
