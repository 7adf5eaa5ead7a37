/* The loops of convolve, for each CPU level. */
#ifndef OPS_LINALG_PRODUCT_CONVOLVE_H
#define OPS_LINALG_PRODUCT_CONVOLVE_H

#include "base/pool.h"

#include <stdint.h>

/* Results computed at a time, so that they stay in the cache. */
enum { CONVOLVE_BLOCK = 2048 };

/* Pairs of vectors, one after the other. A task is some pairs, or a block of results of
 * one. */
typedef struct ConvolveJob {
    const void *x, *y; /* y has the shorter ones */
    void *out;
    int64_t n, m, first, count; /* the last two: see kept_results */
    int64_t pairs, together;    /* in all, in a task */
    int64_t blocks;             /* of a pair */
} ConvolveJob;

/* By dtype of x, y and the sums; ctx is a ConvolveJob. Integers wrap. */
typedef struct ConvolveLoops {
    ChunkFn *f32, *f64, *c128, *u64;
} ConvolveLoops;
extern const ConvolveLoops convolve_loops0, convolve_loops1, convolve_loops2;

#endif
