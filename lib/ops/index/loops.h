/* Inner loops of gathering and scattering. */
#ifndef OPS_INDEX_LOOPS_H
#define OPS_INDEX_LOOPS_H

#include "type/type.h"

/* out[i] = the element at base + offset[i] */
typedef void GatherFn(int64_t n, char *out, const char *base, const int64_t *offset);
GatherFn *index_gather_fn(size_t item);
/* the element at base + offset[i] = or += y[i], in order */
typedef void ScatterFn(int64_t n, char *base, const int64_t *offset, const char *y,
                       int64_t step);
ScatterFn *index_scatter_set(size_t item);
ScatterFn *scatter_add(DType d);
/* dst[i] = or += y[i] */
typedef void RowFn(int64_t n, char *dst, int64_t dst_step, const char *y, int64_t step);
RowFn *index_row_set(size_t item);
RowFn *index_row_add(DType d);

#endif
