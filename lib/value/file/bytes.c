/* Elements as bytes: bytes of a file into a tensor, in place if they lie as a tensor's
 * do, and a tensor's elements out again. */
#include "value/file/file_impl.h"

#include <string.h>

void array_swap_bytes(void *p, size_t n, size_t size) {
    unsigned char *q = p;
    for (; n-- > 0; q += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char c = q[i];
            q[i] = q[size - 1 - i];
            q[size - 1 - i] = c;
        }
}

static void fortran_strides(Tensor *t) {
    int64_t step = (int64_t)dtype_size(t->dtype);
    for (int i = 0; i < t->ndim; i++) {
        t->stride[i] = step;
        if (t->shape[i] > 1 && !i64_mul(step, t->shape[i], &step)) step = 0;
    }
}

static bool is_clean_bool(const unsigned char *p, size_t n) {
    unsigned char any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any <= 1;
}

static bool is_usable_in_place(const ArrayFile *f, size_t offset,
                               const ArrayLayout *lay, size_t bytes) {
    size_t width = dtype_size(dtype_real(lay->dtype));
    const unsigned char *p = f->p + offset;
    if (f->use == ELEMENTS_IGNORED) return f->buf && bytes > 0;
    bool aligned = (uintptr_t)p % width == 0 || f->use == ELEMENTS_COPIED;
    return f->buf && bytes > 0 && aligned &&
           (width == 1 || lay->big_endian == HOST_IS_BIG) &&
           (lay->dtype != DT_BOOL || is_clean_bool(p, bytes));
}

static bool copy_array_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                             Tensor *out) {
    if (!tensor_new(f->s, lay->dtype, lay->ndim, lay->shape, out)) return false;
    size_t bytes = tensor_bytes(out), width = dtype_size(dtype_real(lay->dtype));
    if (bytes) memcpy(out->data, f->p + offset, bytes);
    if (width > 1 && lay->big_endian != HOST_IS_BIG)
        array_swap_bytes(out->data, bytes / width, width);
    for (size_t i = 0; lay->dtype == DT_BOOL && i < bytes; i++)
        ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
    return true;
}

static bool check_array_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                              int64_t *stride, size_t *bytes) {
    bool fits = tensor_row_major(lay->dtype, lay->ndim, lay->shape, stride, bytes);
    if (fits && offset <= f->n && *bytes <= f->n - offset) return true;
    Str shape = STR(f->s);
    shape_text(f->s, lay->ndim, lay->shape, &shape);
    array_fail(f, fits ? E_TRUNCATED : E_FORMAT,
               "a %s array of shape %s needs more than the %zu bytes that are there",
               dtype_name(lay->dtype), str_text(&shape),
               offset <= f->n ? f->n - offset : 0);
    str_free(&shape);
    return false;
}

bool array_from_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                      Tensor *out) {
    size_t bytes;
    int64_t stride[MAX_NDIM];
    if (!check_array_bytes(f, offset, lay, stride, &bytes)) return false;
    if (is_usable_in_place(f, offset, lay, bytes)) {
        size_t dims = (size_t)lay->ndim * sizeof *stride;
        out->dtype = lay->dtype;
        out->ndim = lay->ndim;
        if (dims) memcpy(out->shape, lay->shape, dims);
        if (dims) memcpy(out->stride, stride, dims);
        out->data =
            (char *)f->buf->data + (f->p + offset - (unsigned char *)f->buf->data);
        out->buf = buffer_ref(f->buf);
    } else if (!copy_array_bytes(f, offset, lay, out)) {
        return false;
    }
    if (lay->fortran) fortran_strides(out);
    return true;
}

bool array_from_bfloat16(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                         Tensor *out) {
    ArrayLayout half = *lay;
    half.dtype = DT_UINT16;
    size_t bytes;
    int64_t stride[MAX_NDIM];
    if (!check_array_bytes(f, offset, &half, stride, &bytes) ||
        !tensor_new(f->s, DT_FLOAT32, lay->ndim, lay->shape, out))
        return false;
    const unsigned char *p = f->p + offset;
    float *v = out->data;
    for (size_t i = 0; i < bytes / 2; i++) {
        unsigned lo = p[2 * i + lay->big_endian], hi = p[2 * i + !lay->big_endian];
        uint32_t bits = (uint32_t)hi << 24 | (uint32_t)lo << 16;
        memcpy(&v[i], &bits, sizeof bits);
    }
    return true;
}

bool writer_sink(void *w, const void *p, size_t n) {
    return writer_add(w, p, n);
}

bool array_sink_elements(const Tensor *t, SinkFn *sink, void *ctx) {
    enum { BLOCK = 1024 };
    _Alignas(16) char block[BLOCK * 16];
    size_t size = dtype_size(t->dtype), width = dtype_size(dtype_real(t->dtype));
    int64_t count = tensor_size(t);
    if (!HOST_IS_BIG && tensor_is_contiguous(t))
        return count == 0 || sink(ctx, t->data, (size_t)count * size);
    for (int64_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? (size_t)(count - i) : BLOCK;
        tensor_gather(t, i, n, block);
        if (HOST_IS_BIG) array_swap_bytes(block, n * (size / width), width);
        if (!sink(ctx, block, n * size)) return false;
    }
    return true;
}
