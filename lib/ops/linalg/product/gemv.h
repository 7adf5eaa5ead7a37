/* Products of a matrix and a vector, of float32 or float64, which read the matrix once
 * at the speed of memory. */
#ifndef OPS_LINALG_PRODUCT_GEMV_H
#define OPS_LINALG_PRODUCT_GEMV_H

#include "op/op.h"

/* c[m] = alpha a[m, k] b[k] + beta c; for beta 0 c isn't read. Strides are in elements;
 * along one of a's dims it is 1. */
typedef struct Gemv {
    int64_t m, k;
    const void *a, *b;
    void *c;
    int64_t lda; /* of the other dim */
    int64_t b_step, c_step;
    double alpha, beta;
    bool side_by_side; /* the CPU prefetches several runs of memory as well as one */
} Gemv;
typedef void GemvFn(const Gemv *g);
/* By dtype, float32 and float64: a's rows are runs of memory, or its columns are. */
typedef struct GemvLoops {
    GemvFn *rows[2], *cols[2];
} GemvLoops;
extern const GemvLoops gemv_loops0, gemv_loops1, gemv_loops2;

#endif
