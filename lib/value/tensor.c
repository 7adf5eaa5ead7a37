/* Strided views of buffers: creation, copies, queries. */
#include "value/value_impl.h"

#include <string.h>

bool tensor_row_major(DType d, int ndim, const int64_t *shape, int64_t *stride,
                      size_t *bytes) {
    int64_t step = (int64_t)dtype_size(d);
    bool empty = false, fits = true;
    for (int i = ndim; i-- > 0;) {
        stride[i] = fits ? step : 0;
        empty |= shape[i] == 0;
        if (shape[i] > 1) fits = fits && i64_mul(step, shape[i], &step);
    }
    *bytes = empty ? 0 : (size_t)step;
    return fits || empty;
}

static bool check_new_shape(Session *s, int ndim, const int64_t *shape) {
    if (ndim < 0) return fail(s, NOWHERE, E_SHAPE, "an array can't have %d dims", ndim);
    if (!type_ndim_fits(s, NOWHERE, NULL, ndim)) return false;
    for (int i = 0; i < ndim; i++)
        if (shape[i] < 0)
            return fail(s, NOWHERE, E_RUN_SHAPE,
                        "dim %d of a new array would be negative: %lld", i,
                        (long long)shape[i]);
    return true;
}

/* Notes the shape for which there is no memory. */
static bool note_shape(Session *s, DType d, int ndim, const int64_t *shape) {
    Str b = STR(s);
    shape_text(s, ndim, shape, &b);
    note(s, NOWHERE, "for a %s array of shape %s", dtype_name(d), str_text(&b));
    str_free(&b);
    return false;
}

bool tensor_new(Session *s, DType d, int ndim, const int64_t *shape, Tensor *out) {
    size_t bytes;
    if (!check_new_shape(s, ndim, shape)) return false;
    out->dtype = d;
    out->ndim = ndim;
    out->buf = NULL;
    if (!tensor_row_major(d, ndim, shape, out->stride, &bytes)) {
        fail(s, NOWHERE, E_MEM, "the size of an array is beyond what can be addressed");
        return note_shape(s, d, ndim, shape);
    }
    Buffer *b = buffer_new(s, bytes);
    if (!b) return note_shape(s, d, ndim, shape);
    if (ndim) memmove(out->shape, shape, (size_t)ndim * sizeof *shape);
    out->buf = b;
    out->data = b->data;
    return true;
}

bool tensor_zeros(Session *s, DType d, int ndim, const int64_t *shape, Tensor *out) {
    if (!tensor_new(s, d, ndim, shape, out)) return false;
    memset(out->data, 0, tensor_bytes(out));
    return true;
}

static void copy_tensor_fields(Tensor *dst, const Tensor *src) {
    size_t dims = (size_t)src->ndim * sizeof *src->shape;
    dst->dtype = src->dtype;
    dst->ndim = src->ndim;
    dst->data = src->data;
    dst->buf = src->buf;
    if (dims) memcpy(dst->shape, src->shape, dims);
    if (dims) memcpy(dst->stride, src->stride, dims);
}

void tensor_copy_view(Tensor *dst, const Tensor *src) {
    copy_tensor_fields(dst, src);
    buffer_ref(dst->buf);
}

void tensor_unref(Tensor *t) {
    buffer_unref(t->buf);
    t->buf = NULL;
    t->data = NULL;
    t->dtype = DT_BOOL;
    t->ndim = 0;
}

int64_t tensor_size(const Tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return 0;
    for (int i = 0; i < t->ndim; i++)
        n *= t->shape[i];
    return n;
}

size_t tensor_bytes(const Tensor *t) {
    return (size_t)tensor_size(t) * dtype_size(t->dtype);
}

bool tensor_is_contiguous(const Tensor *t) {
    int64_t step = (int64_t)dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return true;
    for (int i = t->ndim; i-- > 0;) {
        if (t->shape[i] == 1) continue;
        if (t->stride[i] != step) return false;
        /* a view of more bytes than there are addresses */
        if (!i64_mul(step, t->shape[i], &step)) return false;
    }
    return true;
}

bool tensor_clone(Session *s, const Tensor *src, Tensor *out) {
    return tensor_cast(s, src, src->dtype, out);
}

bool tensor_same_shape(const Tensor *a, const Tensor *b) {
    return a->ndim == b->ndim &&
           (a->ndim == 0 ||
            memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

/* The byte range [*lo, *hi) of the elements. */
static void byte_range(const Tensor *t, uintptr_t *lo, uintptr_t *hi) {
    *lo = (uintptr_t)t->data;
    *hi = *lo + dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        int64_t reach = (t->shape[i] - 1) * t->stride[i];
        *(reach < 0 ? lo : hi) += (uintptr_t)reach;
    }
}

bool tensor_may_share_memory(const Tensor *a, const Tensor *b) {
    uintptr_t alo, ahi, blo, bhi;
    if (!a->data || !b->data || tensor_size(a) == 0 || tensor_size(b) == 0)
        return false;
    byte_range(a, &alo, &ahi);
    byte_range(b, &blo, &bhi);
    return alo < bhi && blo < ahi;
}

static CopyFn *backwards_fn(size_t size) {
#if defined(__x86_64__)
    int level = value_simd_level();
    if (level == 2) return copy_backwards_2(size);
    if (level == 1) return copy_backwards_1(size);
#endif
    return copy_backwards_0(size);
}

/* Elements that are packed on both sides, in opposite orders; false: they aren't, or
 * are too few. */
static bool copy_backwards(char *d, ptrdiff_t dst_step, const char *p,
                           ptrdiff_t src_step, size_t n, size_t size) {
    enum { FEW = 8 };
    ptrdiff_t step = (ptrdiff_t)size, back = (ptrdiff_t)(n - 1) * step;
    bool opposite = dst_step == -src_step && (dst_step == step || src_step == step);
    CopyFn *copy = opposite && n >= FEW ? backwards_fn(size) : NULL;
    if (!copy) return false;
    if (dst_step == step)
        copy(d, p - back, n);
    else
        copy(d - back, p, n);
    return true;
}

/* One element, n times: what is there is copied behind itself, twice as much each time,
 * up to a block that stays in the nearest cache. */
static void repeat_element(char *d, const char *p, size_t n, size_t size) {
    enum { BLOCK = 4096 };
    size_t all = n * size, have = size;
    if (memcmp(p, p + 1, size - 1) == 0) { /* all its bytes are the same */
        memset(d, *p, all);
        return;
    }
    memcpy(d, p, size);
    for (size_t more; have < all; have += more) {
        more = have < BLOCK ? have : BLOCK;
        if (more > all - have) more = all - have;
        memcpy(d + have, d, more);
    }
}

static EveryOtherFn *every_other_fn(size_t n, size_t size) {
#if defined(__x86_64__)
    enum { FEW = 32 }; /* for which asking for the level doesn't pay */
    int level = n < FEW ? 0 : value_simd_level();
    if (level == 2) return copy_every_other_2(size);
    if (level == 1) return copy_every_other_1(size);
#else
    (void)n; /* there is one level */
#endif
    return copy_every_other_0(size);
}

void tensor_copy_elements(void *dst, ptrdiff_t dst_step, const void *src,
                          ptrdiff_t src_step, size_t n, size_t size) {
    char *d = dst;
    const char *p = src;
    if (dst_step == (ptrdiff_t)size && src_step == (ptrdiff_t)size) {
        if (n) value_copy_bytes(d, p, n * size);
        return;
    }
    if (dst_step == (ptrdiff_t)size && src_step == 0 && n > 0) {
        repeat_element(d, p, n, size);
        return;
    }
    if (copy_backwards(d, dst_step, p, src_step, n, size)) return;
    if (dst_step == (ptrdiff_t)size && src_step == 2 * dst_step) {
        EveryOtherFn *copy = every_other_fn(n, size);
        size_t done = copy ? copy(d, p, n) : 0;
        d += done * size, p += 2 * done * size, n -= done;
    }
#define COPY_LOOP(SIZE)                                                                \
    case SIZE:                                                                         \
        for (size_t i = 0; i < n; i++, d += dst_step, p += src_step)                   \
            memcpy(d, p, SIZE);                                                        \
        break;
    switch (size) {
        COPY_LOOP(1)
        COPY_LOOP(2)
        COPY_LOOP(4)
        COPY_LOOP(8)
        COPY_LOOP(16)
    default:
        bug("elements of %zu bytes", size);
    }
#undef COPY_LOOP
}

/* Splits a flat position into an index; returns the element's address. */
static const char *seek_element(const Tensor *t, int64_t flat, int64_t *index) {
    const char *p = t->data;
    for (int i = t->ndim; i-- > 0;) {
        index[i] = flat % t->shape[i];
        flat /= t->shape[i];
        p += index[i] * t->stride[i];
    }
    return p;
}

void tensor_gather(const Tensor *t, int64_t first, size_t n, void *dst) {
    size_t size = dtype_size(t->dtype);
    char *d = dst;
    int64_t index[MAX_NDIM];
    if (n == 0) return;
    if (tensor_is_contiguous(t)) {
        memcpy(d, (const char *)t->data + (size_t)first * size, n * size);
        return;
    }
    int last = t->ndim - 1; /* not contiguous: at least one dim */
    while (n > 0) {
        const char *p = seek_element(t, first, index);
        size_t run = (size_t)(t->shape[last] - index[last]);
        if (run > n) run = n;
        tensor_copy_elements(d, (ptrdiff_t)size, p, t->stride[last], run, size);
        d += run * size;
        first += (int64_t)run;
        n -= run;
    }
}

static const char *locate_element(const Tensor *t, int64_t i) {
    int64_t index[MAX_NDIM];
    return seek_element(t, i, index);
}

double tensor_f64(const Tensor *t, int64_t i) {
    double v = 0;
    tensor_cast_elements(DT_FLOAT64, &v, t->dtype, locate_element(t, i), 1, 8, 8);
    return v;
}

int64_t tensor_i64(const Tensor *t, int64_t i) {
    int64_t v = 0;
    tensor_cast_elements(DT_INT64, &v, t->dtype, locate_element(t, i), 1, 8, 8);
    return v;
}

int64_t tensor_index(const Tensor *t, int64_t i) {
    int64_t v = tensor_i64(t, i);
    return t->dtype == DT_UINT64 && v < 0 ? INT64_MAX : v;
}

void tensor_c128(const Tensor *t, int64_t i, double part[2]) {
    tensor_cast_elements(DT_COMPLEX128, part, t->dtype, locate_element(t, i), 1, 16,
                         16);
}

bool tensor_is_true(const Tensor *t) {
    double z[2];
    if (!dtype_is_inexact(t->dtype))
        return memcmp(t->data, &(uint64_t){0}, dtype_size(t->dtype)) != 0;
    if (!dtype_is_complex(t->dtype)) return tensor_f64(t, 0) != 0;
    tensor_c128(t, 0, z);
    return z[0] != 0 || z[1] != 0;
}

bool tensor_scalar(Session *s, DType d, double re, double im, Tensor *out) {
    double z[2] = {re, im};
    if (!tensor_new(s, d, 0, NULL, out)) return false;
    tensor_cast_elements(d, out->data, DT_COMPLEX128, z, 1, 16, 16);
    return true;
}

bool tensor_scalar_int(Session *s, DType d, int64_t v, Tensor *out) {
    if (!tensor_new(s, d, 0, NULL, out)) return false;
    tensor_cast_elements(d, out->data, DT_INT64, &v, 1, 16, 8);
    return true;
}

void tensor_describe(Session *s, const Tensor *t, Str *out) {
    const char *name = dtype_name(t->dtype);
    str_printf(out, "%s %s %s", name[0] == 'i' ? "an" : "a", name,
               t->ndim ? "array of shape " : "scalar");
    if (t->ndim) shape_text(s, t->ndim, t->shape, out);
}
