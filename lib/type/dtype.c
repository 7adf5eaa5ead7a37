/* Element types: their properties from dtype.def, and promotion. */
#include "type/type.h"

#include <string.h>

typedef struct DTypeRow {
    const char *name;
    DKind kind;
    uint8_t size;
} DTypeRow;
static const DTypeRow rows[DT_N] = {
#define DTYPE(NAME, name, ctype, kind, size, npy) {#name, kind, size},
#include "type/dtype.def"
#undef DTYPE
};

const char *dtype_name(DType d) {
    return d == DT_NONE ? "none" : rows[d].name;
}
size_t dtype_size(DType d) {
    return rows[d].size;
}
DKind dtype_kind(DType d) {
    return rows[d].kind;
}

DType dtype_find(const char *p, size_t n) {
    for (int d = 0; d < DT_N; d++)
        if (n > 0 && rows[d].name[0] == *p && strlen(rows[d].name) == n &&
            memcmp(rows[d].name, p, n) == 0)
            return (DType)d;
    return DT_NONE;
}

DType dtype_real(DType d) {
    return d == DT_COMPLEX64 ? DT_FLOAT32 : d == DT_COMPLEX128 ? DT_FLOAT64 : d;
}

/* The float that represents every value of a small integer dtype; float64 for larger
 * ones. */
static DType float_holding_int(DType d) {
    return rows[d].size == 1 ? DT_FLOAT16 : rows[d].size == 2 ? DT_FLOAT32 : DT_FLOAT64;
}
static DType complex_with_real(DType real) {
    return real == DT_FLOAT64 ? DT_COMPLEX128 : DT_COMPLEX64;
}
static DType wider_dtype(DType a, DType b) {
    return a > b ? a : b; /* within a kind, enum values grow with the size */
}
static DType promote_uint_int(DType u, DType i) {
    if (rows[u].size < rows[i].size) return i;
    switch (rows[u].size) {
    case 1:
        return DT_INT16;
    case 2:
        return DT_INT32;
    case 4:
        return DT_INT64;
    default:
        return DT_FLOAT64; /* no integer dtype holds both */
    }
}

DType dtype_promote(DType a, DType b) {
    DKind ka = rows[a].kind, kb = rows[b].kind;
    if (ka > kb) return dtype_promote(b, a);
    if (ka == kb) return wider_dtype(a, b);
    if (ka == K_BOOL) return b;
    if (kb == K_INT) return promote_uint_int(a, b);
    if (kb == K_COMPLEX) return complex_with_real(dtype_promote(a, dtype_real(b)));
    return wider_dtype(float_holding_int(a), b);
}

static DType floatX_or_default(DType floatX) {
    return floatX == DT_NONE ? DT_FLOAT64 : floatX;
}

DType dtype_inexact(DType d, DType floatX) {
    return d != DT_NONE && dtype_is_inexact(d) ? d : floatX_or_default(floatX);
}

FloatWidth dtype_float_width(DType d) {
    DType real = dtype_real(d);
    return real == DT_FLOAT16 ? FLOAT16 : real == DT_FLOAT32 ? FLOAT32 : FLOAT64;
}

DType dtype_weak(DType d, DKind k, DType floatX) {
    DKind of = dkind_weak(rows[d].kind);
    k = dkind_weak(k);
    if (of >= k) return d;
    if (k == K_INT) return DT_INT64;
    if (k == K_FLOAT) return floatX_or_default(floatX);
    return complex_with_real(dtype_inexact(d, floatX));
}

void dtype_int_range(DType d, int64_t *lo, uint64_t *hi) {
    unsigned bits = rows[d].size * 8U;
    if (rows[d].kind == K_BOOL) bits = 1;
    bool is_signed = rows[d].kind == K_INT;
    *hi = UINT64_MAX >> (64 - bits + is_signed);
    *lo = is_signed ? -(int64_t)*hi - 1 : 0;
}
