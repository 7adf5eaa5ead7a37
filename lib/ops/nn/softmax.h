/* The row loops of softmax and log_softmax, per dtype and CPU level. */
#ifndef OPS_NN_SOFTMAX_H
#define OPS_NN_SOFTMAX_H

#include "op/op.h"

/* out[0..n) = softmax (or its logarithm) of the contiguous x[0..n); x and out may be
 * the same memory. */
typedef void RowFn(const void *x, void *out, size_t n);
/* The same for SOFTMAX_LANES neighbouring columns at once: element j of column l is
 * x[j * step + l]. */
enum { SOFTMAX_LANES = 32 };
typedef void ColumnsFn(const void *x, void *out, size_t n, size_t step);
typedef struct SoftmaxRows {
    RowFn *row[2][2]; /* softmax, log_softmax; float32, float64 */
    ColumnsFn *columns[2][2];
    RowFn *few[2][2]; /* one row, with the bits that `columns` gives it */
} SoftmaxRows;
extern const SoftmaxRows softmax_rows0, softmax_rows1, softmax_rows2;

#endif
