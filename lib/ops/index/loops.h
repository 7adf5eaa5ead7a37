/* Inner loops of gathering and scattering. */
#ifndef OPS_INDEX_LOOPS_H
#define OPS_INDEX_LOOPS_H

#include "type/type.h"

/* out[i] = the element at base + offset[i] */
typedef void GatherFn(int64_t n, char *out, const char *base, const int64_t *offset);
GatherFn *index_gather_fn(size_t item);
/* How an element is combined with what is written there; min and max take nan, and have
 * no complex numbers. */
typedef enum IndexFold {
    INDEX_ADD,
    INDEX_MUL,
    INDEX_MAX,
    INDEX_MIN,
    INDEX_FOLDS
} IndexFold;
/* the element at base + offset[i] = y[i], or is combined with it, in order */
typedef void ScatterFn(int64_t n, char *base, const int64_t *offset, const char *y,
                       int64_t step);
ScatterFn *index_scatter_set(size_t item);
ScatterFn *index_scatter_fold(IndexFold how, DType d);
/* dst[i] = y[i], or is combined with it */
typedef void RowFn(int64_t n, char *dst, int64_t dst_step, const char *y, int64_t step);
RowFn *index_row_set(size_t item);
RowFn *index_row_fold(IndexFold how, DType d);

#endif
