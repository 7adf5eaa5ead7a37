/* Batches of products of small matrices: of the smallest, each of which takes less time
 * than a call of OpenBLAS, and by tiles, of those that the nearest cache holds. */
#ifndef OPS_LINALG_PRODUCT_SMALL_H
#define OPS_LINALG_PRODUCT_SMALL_H

#include "op/op.h"

enum { SMALL_SIDE = 4, SMALL_ROWS = 16 }; /* the largest k and n; the largest m */
enum { TILES_SIDE = 64 };                 /* by tiles: the largest m, k and n */
/* c[i] = a[i] b[i] for i < count, matrices [m, k] and [k, n] of float32 or float64.
 * Strides are in bytes; those of c are packed. */
typedef struct SmallProducts {
    const char *a, *b;
    char *c;
    int64_t count, m, k, n;
    int64_t a_next, a_row, a_col, b_next, b_row, b_col;
} SmallProducts;
typedef void SmallProductsFn(const SmallProducts *p);
typedef struct SmallLoops {
    SmallProductsFn *run[2]; /* float32, float64 */
} SmallLoops;
extern const SmallLoops small_loops0, small_loops1, small_loops2;
/* By tiles: b's rows or columns are packed. */
extern const SmallLoops tile_loops0, tile_loops1, tile_loops2;

#endif
