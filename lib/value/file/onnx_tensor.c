#include "value/file/onnx_tensor.h"

#include "value/file/file_impl.h"

#include <math.h>
#include <stdio.h>

/* ---- the message ---- */

static const ProtoField entry_fields[] = {PROTO_ONE(1, PROTO_TEXT, OnnxEntry, key),
                                          PROTO_ONE(2, PROTO_TEXT, OnnxEntry, value)};
static const ProtoMessage entry_message =
    PROTO_TABLE(OnnxEntry, "an entry", entry_fields);

static const ProtoField tensor_fields[] = {
    PROTO_MANY(1, PROTO_INT, OnnxTensor, dims),
    PROTO_ONE(2, PROTO_INT, OnnxTensor, dtype),
    PROTO_MANY(4, PROTO_FLOAT, OnnxTensor, floats),
    PROTO_MANY(5, PROTO_INT, OnnxTensor, int32s),
    PROTO_MANY(6, PROTO_TEXT, OnnxTensor, strings),
    PROTO_MANY(7, PROTO_INT, OnnxTensor, int64s),
    PROTO_ONE(8, PROTO_TEXT, OnnxTensor, name),
    PROTO_FLAGGED(9, PROTO_TEXT, OnnxTensor, raw, has_raw),
    PROTO_MANY(10, PROTO_DOUBLE, OnnxTensor, doubles),
    PROTO_MANY(11, PROTO_INT, OnnxTensor, uint64s),
    PROTO_MANY_OF(13, OnnxTensor, external, entry_message),
    PROTO_ONE(14, PROTO_INT, OnnxTensor, location)};
const ProtoMessage onnx_tensor_message =
    PROTO_TABLE(OnnxTensor, "a tensor", tensor_fields);

/* ---- dtypes ---- */

typedef enum Packing { PLAIN, BFLOAT16, FLOAT8 } Packing;
typedef struct OnnxDType {
    const char *name;
    DType dtype;
    Packing packing;
    int exponent, bias; /* float8: bits of the exponent, and what it is too large by */
    bool finite;        /* float8: without infinities */
} OnnxDType;
static const OnnxDType dtypes[] = {
    [1] = {.name = "float32", .dtype = DT_FLOAT32},
    [2] = {.name = "uint8", .dtype = DT_UINT8},
    [3] = {.name = "int8", .dtype = DT_INT8},
    [4] = {.name = "uint16", .dtype = DT_UINT16},
    [5] = {.name = "int16", .dtype = DT_INT16},
    [6] = {.name = "int32", .dtype = DT_INT32},
    [7] = {.name = "int64", .dtype = DT_INT64},
    [8] = {.name = "string", .dtype = DT_NONE},
    [9] = {.name = "bool", .dtype = DT_BOOL},
    [10] = {.name = "float16", .dtype = DT_FLOAT16},
    [11] = {.name = "float64", .dtype = DT_FLOAT64},
    [12] = {.name = "uint32", .dtype = DT_UINT32},
    [13] = {.name = "uint64", .dtype = DT_UINT64},
    [14] = {.name = "complex64", .dtype = DT_COMPLEX64},
    [15] = {.name = "complex128", .dtype = DT_COMPLEX128},
    [16] = {.name = "bfloat16", .dtype = DT_FLOAT32, .packing = BFLOAT16},
    [17] = {"float8e4m3fn", DT_FLOAT32, FLOAT8, 4, 7, true},
    [18] = {.name = "float8e4m3fnuz", .dtype = DT_NONE},
    [19] = {"float8e5m2", DT_FLOAT32, FLOAT8, 5, 15, false},
    [20] = {.name = "float8e5m2fnuz", .dtype = DT_NONE},
    [21] = {.name = "uint4", .dtype = DT_NONE},
    [22] = {.name = "int4", .dtype = DT_NONE}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

DType onnx_dtype(int64_t code, const char **name) {
    bool known = code > 0 && code < DTYPES;
    *name = known ? dtypes[code].name : NULL;
    return known ? dtypes[code].dtype : DT_NONE;
}

int64_t onnx_dtype_code(DType d) {
    for (int64_t i = 1; i < DTYPES; i++)
        if (dtypes[i].dtype == d) return i;
    return 0;
}

/* ---- numbers ---- */

static bool fail_tensor(const OnnxBytes *from, const OnnxTensor *t, Session *s,
                        DiagCode code, const char *why) {
    Str name = STR(s);
    str_visible(&name, t->name.n ? t->name.p : "", t->name.n);
    fail(s, NOWHERE, code, "%s: the tensor%s%s %s", from->file, name.n ? " " : "",
         str_text(&name), why);
    str_free(&name);
    return false;
}

/* A float8 of 1 sign, `exponent` and 7 - exponent bits (arXiv:2209.05433). */
static float read_float8(const OnnxDType *d, unsigned char c) {
    int bits = 7 - d->exponent, e = (c & 0x7F) >> bits, top = (1 << d->exponent) - 1;
    unsigned m = c & ((1u << bits) - 1), all = (1u << bits) - 1;
    bool nan = d->finite ? e == top && m == all : e == top && m;
    float v = nan                      ? (float)NAN
              : !d->finite && e == top ? (float)INFINITY
              : e ? ldexpf(1 + (float)m / (float)(1 << bits), e - d->bias)
                  : ldexpf((float)m / (float)(1 << bits), 1 - d->bias);
    return c & 0x80 ? -v : v;
}

static bool from_float8(const ArrayFile *f, const OnnxDType *d, const ArrayLayout *lay,
                        Tensor *out) {
    if (!tensor_new(f->s, DT_FLOAT32, lay->ndim, lay->shape, out)) return false;
    int64_t n = tensor_size(out);
    if ((uint64_t)n != f->n) {
        tensor_unref(out);
        return array_fail(f, E_FORMAT, "a tensor of %lld elements has %zu bytes",
                          (long long)n, f->n);
    }
    for (int64_t i = 0; i < n; i++)
        ((float *)out->data)[i] = read_float8(d, f->p[i]);
    return true;
}

static bool from_raw(Session *s, const OnnxDType *d, const OnnxBytes *raw,
                     const ArrayLayout *lay, Tensor *out) {
    ArrayFile f = {.s = s,
                   .name = raw->file,
                   .at = NOWHERE,
                   .p = raw->p,
                   .n = raw->n,
                   .buf = raw->buf,
                   .use = raw->use};
    if (d->packing == FLOAT8) return from_float8(&f, d, lay, out);
    return (d->packing == BFLOAT16 ? array_from_bfloat16 : array_from_bytes)(&f, 0, lay,
                                                                             out);
}

/* Numbers of the typed fields: of floats, doubles (complex ones are two each), or
 * integers, among which are the bits of float16. */
static size_t count_numbers(const OnnxTensor *t) {
    return t->floats.n + t->doubles.n + t->int32s.n + t->int64s.n + t->uint64s.n;
}

static bool small_float_from_bits(const OnnxDType *d, int64_t bits, double *v) {
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    if (d->packing == BFLOAT16) *v = (double)f;
    if (d->packing == FLOAT8) *v = (double)read_float8(d, (unsigned char)bits);
    if (d->dtype == DT_FLOAT16) *v = half_to_double((uint16_t)bits);
    return d->packing != PLAIN || d->dtype == DT_FLOAT16;
}

static void store_numbers(const OnnxDType *d, const OnnxTensor *t, Tensor *out) {
    size_t n = count_numbers(t);
    DType part = dtype_real(d->dtype);
    char *to = out->data;
    for (size_t i = 0; i < n; i++, to += dtype_size(part)) {
        double v;
        const int64_t *k = t->int32s.n    ? &t->int32s.p[i]
                           : t->int64s.n  ? &t->int64s.p[i]
                           : t->uint64s.n ? &t->uint64s.p[i]
                                          : NULL;
        if (k && small_float_from_bits(d, *k, &v))
            tensor_cast_elements(part, to, DT_FLOAT64, &v, 1, 0, 0);
        else if (k)
            tensor_cast_elements(part, to, t->uint64s.n ? DT_UINT64 : DT_INT64, k, 1, 0,
                                 0);
        else if (t->floats.n)
            tensor_cast_elements(part, to, DT_FLOAT32, &t->floats.p[i], 1, 0, 0);
        else
            tensor_cast_elements(part, to, DT_FLOAT64, &t->doubles.p[i], 1, 0, 0);
    }
}

static bool from_fields(Session *s, const OnnxDType *d, const OnnxTensor *t,
                        const OnnxBytes *from, const ArrayLayout *lay, Tensor *out) {
    size_t n = count_numbers(t), parts = dtype_is_complex(d->dtype) ? 2 : 1;
    bool one_field = n == t->floats.n || n == t->doubles.n || n == t->int32s.n ||
                     n == t->int64s.n || n == t->uint64s.n;
    int64_t size = 1;
    bool zero = false, fits = true;
    for (int i = 0; i < lay->ndim; i++)
        zero |= lay->shape[i] == 0;
    for (int i = 0; !zero && i < lay->ndim; i++)
        fits &= i64_mul(size, lay->shape[i], &size);
    if (zero) size = 0;
    if (!fits || !one_field || n / parts != (uint64_t)size || n % parts)
        return fail_tensor(from, t, s, E_FORMAT,
                           "has another number of elements than its shape");
    if (!tensor_new(s, d->dtype, lay->ndim, lay->shape, out)) return false;
    store_numbers(d, t, out);
    return true;
}

bool onnx_tensor_value(Session *s, const OnnxTensor *t, const OnnxBytes *raw,
                       Tensor *out) {
    ArrayLayout lay = {.ndim = (int)t->dims.n};
    const char *name;
    DType d = onnx_dtype(t->dtype, &name);
    *out = (Tensor){0};
    if (d == DT_NONE) {
        char why[80];
        snprintf(why, sizeof why,
                 "holds elements of type %s, which thunkline does not have",
                 name ? name : "0");
        return fail_tensor(raw, t, s, E_DTYPE, why);
    }
    if (t->dims.n > MAX_NDIM)
        return fail_tensor(raw, t, s, E_LIMIT, "has more than 32 dims");
    lay.dtype = d;
    for (size_t i = 0; i < t->dims.n; i++) {
        lay.shape[i] = t->dims.p[i];
        if (lay.shape[i] < 0)
            return fail_tensor(raw, t, s, E_FORMAT, "has a negative dim");
    }
    if (raw->p) return from_raw(s, &dtypes[t->dtype], raw, &lay, out);
    return from_fields(s, &dtypes[t->dtype], t, raw, &lay, out);
}

/* ---- a file of one ---- */

bool onnx_tensor_is(const ArrayFile *f) {
    uint64_t seen;
    return f->n > 2 && proto_looks_like(&onnx_tensor_message, f->p, f->n, &seen) &&
           (seen >> 2 & 1);
}

static bool open_tensor_file(const ArrayFile *f, Arena *a, OnnxTensor *t) {
    *t = (OnnxTensor){0};
    if (!proto_read(f->s, a, f->name, &onnx_tensor_message, f->p, f->n, t))
        return false;
    return t->location == 0 ||
           array_fail(
               f, E_ARG,
               "the tensor's data is in another file, which only a model can name");
}

bool onnx_tensor_file_read(const ArrayFile *f, const char *key, Tensor *out) {
    Arena *a = arena_new(f->s);
    OnnxTensor t;
    bool ok = open_tensor_file(f, a, &t);
    OnnxBytes raw = {.file = f->name, .buf = f->buf};
    if (ok && t.has_raw) raw.p = (const unsigned char *)t.raw.p, raw.n = t.raw.n;
    if (ok && key && !proto_text_is(t.name, key)) {
        const char *name = arena_str(a, t.name.p ? t.name.p : "", t.name.n);
        ok = array_fail_no_name(f, "array", key, &(Names){&name, 1});
    }
    ok = ok && onnx_tensor_value(f->s, &t, &raw, out);
    arena_free(a);
    return ok;
}

bool onnx_tensor_file_list(const ArrayFile *f, ValueList *l) {
    OnnxTensor t;
    const char *name;
    if (!open_tensor_file(f, l->a, &t)) return false;
    DType d = onnx_dtype(t.dtype, &name);
    if (t.dims.n > MAX_NDIM)
        return array_fail(f, E_LIMIT, "a tensor has more than 32 dims");
    int64_t shape[MAX_NDIM] = {0};
    for (size_t i = 0; i < t.dims.n; i++)
        shape[i] = t.dims.p[i];
    ValueInfo *v =
        value_list_add(f->s, l, t.name.n ? arena_str(l->a, t.name.p, t.name.n) : NULL,
                       d, (int)t.dims.n, shape);
    if (d == DT_NONE && name) v->dtype = name;
    return true;
}
