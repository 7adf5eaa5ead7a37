/* What a tensor type accepts: the checks of the contract's filter, in its order. */
#include "value/value_impl.h"

#include <math.h>

typedef struct TensorCheck {
    Session *s;
    const Type *t;
    const Tensor *v;
    const Receiver *to;
} TensorCheck;

/* Reports "expected float32[n, 3], got a float64 array of shape (2, 3)", then how to go
 * on. */
static bool refuse_tensor(const TensorCheck *f, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse_tensor(const TensorCheck *f, DiagCode code, const char *fmt, ...) {
    Str got = STR(f->s), why = STR(f->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&why, fmt, ap);
    va_end(ap);
    tensor_describe(f->s, f->v, &got);
    fail(f->s, f->to->at, code, "%s: expected %s, got %s: %s", f->to->what,
         type_str(f->s, f->t), str_text(&got), str_text(&why));
    str_free(&got);
    str_free(&why);
    return false;
}

static bool check_tensor_dtype(const TensorCheck *f) {
    DType want = f->t->dtype, got = f->v->dtype;
    if (want == got) return true;
    if (f->to->how.strict)
        return refuse_tensor(f, E_DTYPE,
                             "a strict check converts nothing; convert it first");
    if (f->to->how.allow_downcast == 1) return true;
    if (dtype_promote(want, got) == want) return true;
    refuse_tensor(f, E_DTYPE,
                  "%s can't be converted to %s without risking loss of precision; "
                  "convert it with %s(...)",
                  dtype_name(got), dtype_name(want), dtype_name(want));
    return hint(f->s, HINT_ALLOW_DOWNCAST);
}

static bool check_tensor_ndim(const TensorCheck *f) {
    return f->t->ndim == f->v->ndim ||
           refuse_tensor(f, E_SHAPE, "wrong number of dims, %d instead of %d",
                         f->v->ndim, f->t->ndim);
}

static bool check_tensor_aligned(const TensorCheck *f) {
    const Tensor *v = f->v;
    size_t align = dtype_size(dtype_real(v->dtype));
    bool ok = (uintptr_t)v->data % align == 0;
    for (int i = 0; i < v->ndim; i++)
        ok = ok && v->stride[i] % (int64_t)align == 0;
    if (ok || v->dtype != f->t->dtype) return true; /* a conversion aligns it */
    return refuse_tensor(f, E_VALUE, "its elements are not aligned; copy it");
}

static bool check_tensor_dims(const TensorCheck *f) {
    const Dim *dim = f->t->dim;
    for (int i = 0; i < f->t->ndim; i++)
        if (dim_is_known(dim[i]) && dim[i] != f->v->shape[i])
            return refuse_tensor(f, E_SHAPE, "dim %d must be %lld, not %lld", i,
                                 (long long)dim[i], (long long)f->v->shape[i]);
    return true;
}

/* A bool is a byte 0 or 1: other bytes are invalid. */
static bool check_tensor_bools(const TensorCheck *f) {
    enum { BLOCK = 4096 };
    uint8_t block[BLOCK], all = 0;
    const Tensor *v = f->v;
    int64_t size = v->dtype == DT_BOOL ? tensor_size(v) : 0;
    for (int64_t i = 0; i < size; i += BLOCK) {
        size_t n = size - i < BLOCK ? (size_t)(size - i) : BLOCK;
        tensor_gather(v, i, n, block);
        for (size_t k = 0; k < n; k++)
            all |= block[k];
        for (size_t k = 0; all > 1 && k < n; k++)
            if (block[k] > 1)
                return refuse_tensor(f, E_VALUE,
                                     "element %lld is %d, and a bool is 0 or 1",
                                     (long long)i + (long long)k, (int)block[k]);
    }
    return true;
}

static bool check_tensor_finite(const TensorCheck *f) {
    enum { BLOCK = 256 };
    char block[BLOCK * 16];
    double z[2 * BLOCK];
    const Tensor *v = f->v;
    int64_t size = f->to->how.finite && dtype_is_inexact(v->dtype) ? tensor_size(v) : 0;
    for (int64_t i = 0; i < size; i += BLOCK) {
        size_t n = size - i < BLOCK ? (size_t)(size - i) : BLOCK;
        tensor_gather(v, i, n, block);
        tensor_cast_elements(DT_COMPLEX128, z, v->dtype, block, n, 16,
                             (ptrdiff_t)dtype_size(v->dtype));
        for (size_t k = 0; k < 2 * n; k++)
            if (!isfinite(z[k]))
                return refuse_tensor(f, E_NAN, "element %lld is not finite",
                                     (long long)i + (long long)k / 2);
    }
    return true;
}

bool tensor_filter_check(Session *s, const Type *t, const Tensor *v,
                         const Receiver *to) {
    TensorCheck f = {s, t, v, to};
    if (t->kind == TYPE_NULL)
        return fail(s, to->at, E_NULL, "%s is undefined and can't hold a value: %s",
                    to->what, t->why);
    if (t->kind != TYPE_TENSOR)
        return refuse_tensor(&f, E_TYPE, "an array is not a value of this type");
    return check_tensor_dtype(&f) && check_tensor_ndim(&f) &&
           check_tensor_aligned(&f) && check_tensor_dims(&f) &&
           check_tensor_bools(&f) && check_tensor_finite(&f);
}

bool tensor_filter(Session *s, const Type *t, const Tensor *v, const Receiver *to,
                   Tensor *out) {
    if (!tensor_filter_check(s, t, v, to)) return false;
    if (v->dtype != t->dtype) return tensor_cast(s, v, t->dtype, out);
    tensor_copy_view(out, v);
    return true;
}
