/* fft and its relatives, with NumPy's names and arguments, and fftshift: they expand to
 * transforms along one axis after the other. */
#include "ops/shape/linear.h"

#include <string.h>

typedef enum RealPart { NONE, FROM_REAL, TO_REAL } RealPart;
typedef struct FftName {
    const char *name;
    RealPart real; /* of the last axis */
    bool inverse;
    int axes;       /* 0: any number */
    bool hermitian; /* hfft, ihfft: what is real and what is conjugate change places */
} FftName;
static const FftName names[] = {
    {"fft", NONE, false, 1, false},        {"ifft", NONE, true, 1, false},
    {"rfft", FROM_REAL, false, 1, false},  {"irfft", TO_REAL, true, 1, false},
    {"hfft", TO_REAL, false, 1, true},     {"ihfft", FROM_REAL, true, 1, true},
    {"fft2", NONE, false, 2, false},       {"ifft2", NONE, true, 2, false},
    {"rfft2", FROM_REAL, false, 2, false}, {"irfft2", TO_REAL, true, 2, false},
    {"fftn", NONE, false, 0, false},       {"ifftn", NONE, true, 0, false},
    {"rfftn", FROM_REAL, false, 0, false}, {"irfftn", TO_REAL, true, 0, false},
};

typedef struct FftCall {
    Builder *b;
    const Op *op;
    const FftName *name;
    const char *scale;
    int n, ndim, axis[MAX_NDIM];
    Var size[MAX_NDIM]; /* VAR_NONE: as x has it */
} FftCall;

static const FftName *name_of(const Op *op) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, op->name) == 0) return &names[i];
    bug("%s is no Fourier transform", op->name);
}

static bool read_norm(FftCall *q, const Props *p) {
    const char *text = sym_text(q->b->s, op_prop(q->b->s, q->op, p, "norm")->sym);
    bool backward = strcmp(text, "backward") == 0,
         forward = strcmp(text, "forward") == 0;
    q->scale = strcmp(text, "ortho") == 0                ? "1/sqrt(n)"
               : (q->name->inverse ? backward : forward) ? "1/n"
                                                         : "1";
    return backward || forward || strcmp(text, "ortho") == 0 ||
           fail(q->b->s, q->b->from.at, E_ARG,
                "%s: norm must be 'backward', 'ortho' or 'forward', not '%s'",
                q->op->name, text);
}

static bool put_axis(FftCall *q, int i, int64_t axis) {
    if (axis < -q->ndim || axis >= q->ndim)
        return fail(q->b->s, q->b->from.at, E_ARG,
                    "%s: axis %lld is out of range for a tensor of %s", q->op->name,
                    (long long)axis, str_counted(q->b->s, (size_t)q->ndim, "dim"));
    q->axis[i] = shape_axis_index(axis, q->ndim);
    q->size[i] = VAR_NONE;
    return true;
}

/* The lengths in a vector, one for each axis; without axes, for the last ones. */
static bool read_sizes(FftCall *q, Var s, bool given) {
    const Type *t = var_type(q->b->g, s);
    Dim n = t->ndim == 1 ? t->dim[0] : 1;
    if (!dim_is_known(n) || n > q->ndim || (given && (int)n != q->n))
        return fail(q->b->s, q->b->from.at, E_ARG,
                    "%s: s must have a length for each of the %d axes", q->op->name,
                    given ? q->n : q->ndim);
    for (int i = 0; !given && i < (int)n; i++)
        put_axis(q, i, i - (int)n);
    q->n = (int)n;
    for (int i = 0; i < q->n; i++) {
        Bind bind[] = {{sym(q->b->s, "s"), s}, {sym(q->b->s, "i"), const_int(q->b, i)}};
        bool ok = true;
        q->size[i] = template_build(q->b, "s[i]", &(Env){.n = 2, .bind = bind}, &ok);
        if (q->size[i] == VAR_NONE) return false;
    }
    return true;
}

static bool read_axes(FftCall *q, const Props *p, size_t nin, const Var *in) {
    Session *s = q->b->s;
    if (q->name->axes == 1) {
        q->n = 1;
        if (!put_axis(q, 0, prop_int(s, q->op, p, "axis"))) return false;
        q->size[0] = nin > 1 ? in[1] : VAR_NONE;
        return true;
    }
    const Prop *axes = op_prop(s, q->op, p, "axes");
    bool given = axes->kind != P_NONE || q->name->axes == 2;
    q->n = axes->kind != P_NONE ? (int)axes->ints.n : q->name->axes == 2 ? 2 : q->ndim;
    if (q->n > MAX_NDIM || q->n == 0)
        return fail(s, q->b->from.at, E_ARG, "%s needs at least one axis", q->op->name);
    for (int i = 0; i < q->n; i++)
        if (!put_axis(q, i, axes->kind == P_NONE ? i - q->n : axes->ints.p[i]))
            return false;
    return nin < 2 || read_sizes(q, in[1], given);
}

static Var fit_length(FftCall *q, Var x, int i, Var size) {
    if (x == VAR_NONE || size == VAR_NONE) return x;
    Dim have = var_type(q->b->g, x)->dim[q->axis[i]];
    const Tensor *want = var_const(q->b->g, size);
    if (want && dim_is_known(have) && (int64_t)have == tensor_i64(want, 0)) return x;
    Var in[2] = {x, size};
    PropArg arg = {"axis", PROP_INT(q->axis[i])};
    return apply_named(q->b, "fit_axis", 2, in, 1, &arg);
}

static Var transform_axis(FftCall *q, Var x, int i, bool inverse) {
    if (x == VAR_NONE) return x;
    PropArg arg[] = {{"axis", PROP_INT(q->axis[i])},
                     {"scale", PROP_STR(sym(q->b->s, q->scale))},
                     {"inverse", PROP_BOOL(inverse)}};
    return apply_named(q->b, "dft", 1, &x, 3, arg);
}

static DType with_imaginary(DType d) {
    return d == DT_FLOAT64 || d == DT_COMPLEX128 ? DT_COMPLEX128 : DT_COMPLEX64;
}

static Var from_real(FftCall *q, Var x, int i) {
    if (dtype_is_complex(var_type(q->b->g, x)->dtype)) {
        fail(q->b->s, q->b->from.at, E_DTYPE,
             "%s takes real numbers: for complex ones use fft, or real(x)",
             q->op->name);
        return VAR_NONE;
    }
    x = fit_length(q, x, i, q->size[i]);
    PropArg arg[] = {{"axis", PROP_INT(q->axis[i])},
                     {"scale", PROP_STR(sym(q->b->s, q->scale))}};
    return x == VAR_NONE ? x : apply_named(q->b, "real_dft", 1, &x, 2, arg);
}

/* Half a spectrum of n // 2 + 1 numbers to n real ones; by default n is even. */
static Var to_real(FftCall *q, Var x, int i) {
    if (x == VAR_NONE) return x;
    bool ok = true;
    Var n = q->size[i];
    Bind bind = {sym(q->b->s, "m"), shape_of(q->b, x, q->axis[i])};
    if (n == VAR_NONE)
        n = template_build(q->b, "2 * (m - 1)", &(Env){.n = 1, .bind = &bind}, &ok);
    if (n == VAR_NONE) return n;
    bind = (Bind){sym(q->b->s, "n"), n};
    Var half = template_build(q->b, "n // 2 + 1", &(Env){.n = 1, .bind = &bind}, &ok);
    if (half == VAR_NONE) return half;
    Var in[2] = {fit_length(q, x, i, half), n};
    PropArg arg[] = {{"axis", PROP_INT(q->axis[i])},
                     {"scale", PROP_STR(sym(q->b->s, q->scale))}};
    return apply_named(q->b, "real_from_dft", 2, in, 2, arg);
}

static Var other_axes(FftCall *q, Var x, bool inverse) {
    int last = q->n - 1;
    for (int i = q->name->real == NONE ? last : last - 1; i >= 0; i--)
        x = transform_axis(q, fit_length(q, x, i, q->size[i]), i, inverse);
    return x;
}

static bool fft_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                       const Var *in, Var *out) {
    Var x = in[0];
    FftCall q = {
        .b = b, .op = op, .name = name_of(op), .ndim = var_type(b->g, x)->ndim};
    if (!read_norm(&q, p) || !read_axes(&q, p, nin, in)) return false;
    const FftName *name = q.name;
    if (name->real != FROM_REAL)
        x = op_cast_to(b, x, with_imaginary(var_type(b->g, x)->dtype));
    if (name->hermitian && name->real == TO_REAL) x = op_conj_of_complex(b, x);
    if (name->real == FROM_REAL) x = from_real(&q, x, q.n - 1);
    x = x == VAR_NONE ? x : other_axes(&q, x, name->inverse && !name->hermitian);
    if (name->real == TO_REAL) x = to_real(&q, x, q.n - 1);
    if (name->hermitian && name->real == FROM_REAL) x = op_conj_of_complex(b, x);
    return (*out = x) != VAR_NONE;
}

/* ---- fftshift, ifftshift ---- */
static bool shift_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                         const Var *in, Var *out) {
    (void)nin;
    const Prop *axes = op_prop(b->s, op, p, "axes");
    int ndim = var_type(b->g, in[0])->ndim, n = axes->kind == P_NONE ? ndim
                                                : axes->kind == P_INT
                                                    ? 1
                                                    : (int)axes->ints.n;
    const char *by = op->name[0] == 'i' ? "-(n // 2)" : "n // 2";
    *out = in[0];
    for (int i = 0; i < n && *out != VAR_NONE; i++) {
        int64_t axis = axes->kind == P_NONE  ? i
                       : axes->kind == P_INT ? axes->i
                                             : axes->ints.p[i];
        if (axis < -ndim || axis >= ndim)
            return fail(b->s, b->from.at, E_ARG,
                        "%s: axis %lld is out of range for a tensor of %s", op->name,
                        (long long)axis, str_counted(b->s, (size_t)ndim, "dim"));
        bool ok = true;
        int k = shape_axis_index(axis, ndim);
        Bind bind = {sym(b->s, "n"), shape_of(b, *out, k)};
        Var to[2] = {*out, template_build(b, by, &(Env){.n = 1, .bind = &bind}, &ok)};
        PropArg arg = {"axis", PROP_INT(k)};
        *out = apply_named(b, "roll", 2, to, 1, &arg);
    }
    return *out != VAR_NONE;
}

#define FFT(text, IN, PROPS, DOC, EXAMPLE)                                             \
    {                                                                                  \
        .name = OP_ROW(text), .doc = DOC, .in = IN, .props = PROPS,                    \
        .promote = PROMOTE_INEXACT, .expand = fft_expand, .example = EXAMPLE           \
    }
#define ONE     "axis: axis = -1, norm: str = 'backward'"
#define SEVERAL "axes: ints? = None, norm: str = 'backward'"
static const Op table[] = {
    FFT("fft", "x, n?: int", ONE,
        "Discrete Fourier transform along an axis, of n numbers: the first n of x, or "
        "x "
        "and zeros. norm='forward' divides it by n, 'ortho' by sqrt(n), 'backward' the "
        "inverse by n.",
        "fft([1., 2., 3., 4.]) -> [10 + 0j, -2 + 2j, -2 + 0j, -2 - 2j]"),
    FFT("ifft", "x, n?: int", ONE, "Inverse of fft.",
        "ifft([2., 0.]) -> [1 + 0j, 1 + 0j]"),
    FFT("rfft", "x, n?: int", ONE,
        "The first n // 2 + 1 numbers of the fft of real numbers; the others are their "
        "conjugates.",
        "rfft([1., 2., 3., 4.]) -> [10 + 0j, -2 + 2j, -2 + 0j]"),
    FFT("irfft", "x, n?: int", ONE,
        "Inverse of rfft: n real numbers (2 * (m - 1) for m numbers).",
        "irfft([2., 0.]) -> [1.0, 1.0]"),
    FFT("hfft", "x, n?: int", ONE,
        "The fft, which is real, of n numbers whose second half is the conjugate of "
        "the first, x.",
        "hfft([1., 2.]) -> [3.0, -1.0]"),
    FFT("ihfft", "x, n?: int", ONE, "Inverse of hfft, of real numbers.",
        "ihfft([3., -1.]) -> [1 + 0j, 2 + 0j]"),
    FFT("fft2", "x, s?: ints", SEVERAL,
        "fft along two axes, the last ones, of lengths s.",
        "fft2([[1., 2.], [3., 4.]]) -> [[10 + 0j, -2 + 0j], [-4 + 0j, 0j]]"),
    FFT("ifft2", "x, s?: ints", SEVERAL, "Inverse of fft2.",
        "ifft2([[4., 0.], [0., 0.]]) -> [[1 + 0j, 1 + 0j], [1 + 0j, 1 + 0j]]"),
    FFT("rfft2", "x, s?: ints", SEVERAL,
        "fft2 of real numbers: the first half along the last of the axes.",
        "rfft2([[1., 2.], [3., 4.]]) -> [[10 + 0j, -2 + 0j], [-4 + 0j, 0j]]"),
    FFT("irfft2", "x, s?: ints", SEVERAL, "Inverse of rfft2, real numbers.",
        "irfft2([[4., 0.], [0., 0.]]) -> [[1.0, 1.0], [1.0, 1.0]]"),
    FFT("fftn", "x, s?: ints", SEVERAL,
        "fft along several axes, by default all, of lengths s.",
        "fftn([[1., 2.], [3., 4.]]) -> [[10 + 0j, -2 + 0j], [-4 + 0j, 0j]]"),
    FFT("ifftn", "x, s?: ints", SEVERAL, "Inverse of fftn.",
        "ifftn([4., 0., 0., 0.]) -> [1 + 0j, 1 + 0j, 1 + 0j, 1 + 0j]"),
    FFT("rfftn", "x, s?: ints", SEVERAL,
        "fftn of real numbers: the first half along the last of the axes.",
        "rfftn([[1., 2.], [3., 4.]]) -> [[10 + 0j, -2 + 0j], [-4 + 0j, 0j]]"),
    FFT("irfftn", "x, s?: ints", SEVERAL, "Inverse of rfftn, real numbers.",
        "irfftn([[4., 0.], [0., 0.]]) -> [[1.0, 1.0], [1.0, 1.0]]"),
    {.name = OP_ROW("fftshift"),
     .doc = "x with the zero frequency of fft in the middle of the given axes (None, "
            "all).",
     .in = "x",
     .props = "axes: axes = None",
     .expand = shift_expand,
     .example = "fftshift([0, 1, 2, -2, -1]) -> [-2, -1, 0, 1, 2]"},
    {.name = OP_ROW("ifftshift"),
     .doc = "Inverse of fftshift.",
     .in = "x",
     .props = "axes: axes = None",
     .expand = shift_expand,
     .example = "ifftshift([-2, -1, 0, 1, 2]) -> [0, 1, 2, -2, -1]"},
};
const OpList ops_fft_names = LIST_OF(table);
