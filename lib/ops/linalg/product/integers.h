/* Products of matrices of integers, modulo 2^16, 2^32 or 2^64; with vectors, modulo
 * 2^8, too. */
#ifndef OPS_LINALG_PRODUCT_INTEGERS_H
#define OPS_LINALG_PRODUCT_INTEGERS_H

#include "op/op.h"

/* One panel of columns: c[0..m)[0..width) of rows that are ldc elements apart, from a,
 * [m, k], and b, [k, width]; the elements of a row lie side by side; k > 0. */
typedef struct IntegerPanel {
    const void *a, *b;
    void *c;
    int64_t m, k, width, lda, ldb, ldc;
} IntegerPanel;
typedef void IntegerPanelFn(const IntegerPanel *p);

/* c[0..n) from a vector a of k elements that are `step` apart and a matrix b, whose
 * rows, ldb elements apart, are k of n elements for sums of rows, or n of k for dots,
 * where step is 1. */
typedef struct IntegerVector {
    const void *a, *b;
    void *c;
    int64_t k, n, step, ldb;
} IntegerVector;
typedef void IntegerVectorFn(const IntegerVector *p);

typedef struct IntegerLoops {
    int64_t bytes; /* of a row of the widest panel */
    IntegerPanelFn *u16, *u32, *u64;
    IntegerVectorFn *rows[4], *dots[4]; /* of 1, 2, 4 and 8 bytes */
} IntegerLoops;
extern const IntegerLoops integer_loops0, integer_loops1, integer_loops2;

#endif
