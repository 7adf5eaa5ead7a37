/* Moving elements between layouts, whatever their dtype: the inner loops of every op
 * that only rearranges. */
#ifndef OPS_SHAPE_MOVE_H
#define OPS_SHAPE_MOVE_H

#include "op/op.h"

/* dst[...] = src[...] for elements of `item` bytes (1, 2, 4, 8 or 16); strides in
 * bytes. dst's elements are distinct and none is one of src's. Large jobs are split
 * over the pool (may be NULL). */
void move_strided(Pool *pool, size_t item, int ndim, const int64_t *shape, char *dst,
                  const int64_t *dst_stride, const char *src,
                  const int64_t *src_stride);
/* The same for tensors of equal shape and dtype. */
void move_tensor(Pool *pool, const Tensor *dst, const Tensor *src);
/* n contiguous copies of one element. */
void move_fill(Pool *pool, size_t item, int64_t n, void *dst, const void *value);
/* Row-major strides of a shape. */
void move_strides(size_t item, int ndim, const int64_t *shape, int64_t *stride);
/* x itself when it is contiguous, else a contiguous copy in storage at `mem`
 * (tensor_bytes(x) bytes). */
Tensor move_contiguous(Pool *pool, const Tensor *x, void *mem);
static inline Pool *move_pool(const Call *c) {
    return c->host ? c->host->pool : NULL;
}
/* Product of dims; the number of elements of an existing shape. */
int64_t move_count(int ndim, const int64_t *shape);
/* Gives the view's data the right offset: p + bytes, without losing that it may be
 * written by nobody. */
static inline void *move_at(const Tensor *t, int64_t bytes) {
    return (char *)t->data + bytes;
}

#endif
