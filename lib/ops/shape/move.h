/* Moves elements between layouts for any dtype: the inner loops of every op that only
 * rearranges. */
#ifndef OPS_SHAPE_MOVE_H
#define OPS_SHAPE_MOVE_H

#include "op/op.h"

/* dst[...] = src[...] for elements of `item` bytes (1, 2, 4, 8 or 16); strides in
 * bytes. dst's elements are distinct and don't overlap src's. Large jobs are split over
 * the pool (may be NULL). */
void move_strided(Pool *pool, size_t item, int ndim, const int64_t *shape, char *dst,
                  const int64_t *dst_stride, const char *src,
                  const int64_t *src_stride);
/* The same for tensors of equal shape and dtype. */
void move_tensor(Pool *pool, const Tensor *dst, const Tensor *src);
/* Writes n contiguous copies of one element. */
void move_fill(Pool *pool, size_t item, int64_t n, void *dst, const void *value);
/* Writes the parts, which have the dims of `out` but along axis, one after the other
 * along it, where rows of a few bytes make that worth blocks of rows (join_rows.c).
 * False: they don't, and nothing is done. */
bool join_by_rows(Pool *pool, Session *s, const Tensor *out, int axis, size_t n,
                  const Tensor *part);
/* Row-major strides of a shape. */
void move_strides(size_t item, int ndim, const int64_t *shape, int64_t *stride);
/* x itself if contiguous, else a contiguous copy in the memory at `mem`
 * (tensor_bytes(x) bytes). */
Tensor move_contiguous(Pool *pool, const Tensor *x, void *mem);
static inline Pool *move_pool(const Call *c) {
    return c->host ? c->host->pool : NULL;
}
/* Product of the dims: the number of elements of an existing shape. */
int64_t move_count(int ndim, const int64_t *shape);
/* A pointer `bytes` after the start of the tensor's data. */
/* Bytes from element 0 to the one at position `at` in row-major order. */
int64_t move_offset(int ndim, const int64_t *shape, const int64_t *stride, int64_t at);
static inline void *move_at(const Tensor *t, int64_t bytes) {
    return (char *)t->data + bytes;
}

#endif
