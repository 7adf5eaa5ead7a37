/* Products of matrices of integers, modulo 2^32 or 2^64. */
#ifndef OPS_LINALG_PRODUCT_INTEGERS_H
#define OPS_LINALG_PRODUCT_INTEGERS_H

#include "op/op.h"

enum { INTEGER_PANEL = 64 }; /* bytes of a row of a panel */
/* One panel of columns: c[0..m)[0..width) of rows that are ldc elements apart, from a,
 * [m, k], and b, [k, width]; the elements of a row lie side by side. */
typedef struct IntegerPanel {
    const void *a, *b;
    void *c;
    int64_t m, k, width, lda, ldb, ldc;
} IntegerPanel;
typedef void IntegerPanelFn(const IntegerPanel *p);
typedef struct IntegerLoops {
    IntegerPanelFn *u32, *u64;
} IntegerLoops;
extern const IntegerLoops integer_loops0, integer_loops1, integer_loops2;

#endif
