/* Equality of tensors, by value and bit for bit, and the hash for the latter. All work
 * on packed blocks of elements; blocks of a contiguous tensor are used in place. */
#include "value/value_impl.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, BLOCK_BYTES = BLOCK * 16, HASHED_BLOCKS = 64 };

/* Elements first .. first + n - 1, packed: in place, or gathered into `room`. */
static const void *packed_block(const Tensor *t, bool contiguous, int64_t first,
                                size_t n, void *room) {
    if (contiguous) return (const char *)t->data + (size_t)first * dtype_size(t->dtype);
    tensor_gather(t, first, n, room);
    return room;
}

typedef bool SameBlockFn(DType d, const void *a, const void *b, size_t n);

static bool all_blocks_match(const Tensor *a, const Tensor *b, SameBlockFn *same) {
    _Alignas(16) char ra[BLOCK_BYTES], rb[BLOCK_BYTES];
    bool ca = tensor_is_contiguous(a), cb = tensor_is_contiguous(b);
    int64_t size = tensor_size(a);
    for (int64_t i = 0; i < size; i += BLOCK) {
        size_t n = size - i < BLOCK ? (size_t)(size - i) : BLOCK;
        if (!same(a->dtype, packed_block(a, ca, i, n, ra),
                  packed_block(b, cb, i, n, rb), n))
            return false;
    }
    return true;
}

/* Compares floats one by one; a complex number is two floats. */
static bool equal_numbers(DType d, const void *a, const void *b, size_t n) {
    DType real = dtype_real(d);
    size_t step = dtype_size(real), m = n * (dtype_size(d) / step);
    double x[BLOCK], y[BLOCK];
    for (size_t i = 0, k; i < m; i += k) {
        k = m - i < BLOCK ? m - i : BLOCK;
        tensor_cast_elements(DT_FLOAT64, x, real, (const char *)a + i * step, k, 8,
                             (ptrdiff_t)step);
        tensor_cast_elements(DT_FLOAT64, y, real, (const char *)b + i * step, k, 8,
                             (ptrdiff_t)step);
        for (size_t j = 0; j < k; j++)
            if (!(x[j] == y[j] || (isnan(x[j]) && isnan(y[j])))) return false;
    }
    return true;
}

static bool equal_block(DType d, const void *a, const void *b, size_t n) {
    if (memcmp(a, b, n * dtype_size(d)) == 0) return true;
    return dtype_is_inexact(d) && equal_numbers(d, a, b, n);
}

bool tensor_equal(const Tensor *a, const Tensor *b) {
    return a->dtype == b->dtype && tensor_same_shape(a, b) &&
           all_blocks_match(a, b, equal_block);
}

/* Replaces every nan by the canonical nan of its width. */
static void canonicalise_nans(DType d, void *p, size_t n) {
    size_t width = dtype_size(dtype_real(d));
    n *= dtype_size(d) / width;
    if (width == 2) {
        for (uint16_t *q = p; n-- > 0; q++)
            if ((*q & 0x7FFFU) > 0x7C00U) *q = 0x7E00U;
    } else if (width == 4) {
        for (uint32_t *q = p; n-- > 0; q++)
            if ((*q & 0x7FFFFFFFU) > 0x7F800000U) *q = 0x7FC00000U;
    } else {
        for (uint64_t *q = p; n-- > 0; q++)
            if ((*q & INT64_MAX) > UINT64_C(0x7FF) << 52) *q = UINT64_C(0x7FF8) << 48;
    }
}

static bool identical_block(DType d, const void *a, const void *b, size_t n) {
    _Alignas(16) char x[BLOCK_BYTES], y[BLOCK_BYTES];
    size_t bytes = n * dtype_size(d);
    if (memcmp(a, b, bytes) == 0) return true;
    if (!dtype_is_inexact(d)) return false;
    memcpy(x, a, bytes);
    memcpy(y, b, bytes);
    canonicalise_nans(d, x, n);
    canonicalise_nans(d, y, n);
    return memcmp(x, y, bytes) == 0;
}

bool tensor_identical(const Tensor *a, const Tensor *b) {
    return a->dtype == b->dtype && tensor_same_shape(a, b) &&
           all_blocks_match(a, b, identical_block);
}

/* Hashes only some blocks of a large tensor, spread over it: lookups by hash compare
 * anyway. */
uint64_t tensor_hash(const Tensor *t) {
    _Alignas(16) char room[BLOCK_BYTES];
    int64_t size = tensor_size(t), blocks = (size + BLOCK - 1) / BLOCK;
    int64_t looked = blocks < HASHED_BLOCKS ? blocks : HASHED_BLOCKS;
    uint64_t h = hash_mix((uint64_t)t->dtype, (uint64_t)t->ndim);
    for (int i = 0; i < t->ndim; i++)
        h = hash_mix(h, (uint64_t)t->shape[i]);
    for (int64_t k = 0; k < looked; k++) {
        int64_t first =
            (blocks <= HASHED_BLOCKS ? k : (blocks - 1) / (looked - 1) * k) * BLOCK;
        size_t n = size - first < BLOCK ? (size_t)(size - first) : BLOCK;
        tensor_gather(t, first, n, room);
        if (dtype_is_inexact(t->dtype)) canonicalise_nans(t->dtype, room, n);
        h = hash_bytes(room, n * dtype_size(t->dtype), h);
    }
    return h;
}
