/* Pooling: the plan of a call, and the loops over rows that pool.simd.c has for each
 * CPU level. */
#ifndef OPS_NN_POOL_H
#define OPS_NN_POOL_H

#include "ops/nn/window.h"

/* x as planes of three spatial axes, the first of which have one element if x has
 * fewer. */
typedef struct PoolPlan {
    Window w;
    int64_t planes, in[WINDOW_AXES], out[WINDOW_AXES];
} PoolPlan;
/* to[i] = to[i] combined with x[i] for i < n. */
typedef void PoolFold(void *to, const void *x, size_t n);
/* Maxima and where they are: the largest element so far, the number of its row among
 * those that are searched, and its tap; -1: none yet. */
typedef struct PoolBest {
    void *value;
    int32_t *row, *tap;
} PoolBest;
/* Takes x[i] of a row for value[i] if it beats that. */
typedef void PoolBestRow(const PoolBest *best, const void *x, size_t n, int32_t row);
/* Takes element i of `from`, which is this tap of window i, for element i if it beats
 * that, or equals it and is in an earlier row. */
typedef void PoolBestTap(const PoolBest *best, const PoolBest *from, size_t n,
                         int32_t tap);
typedef struct PoolLoops {
    PoolFold *max[DT_N];
    PoolBestRow *best_row[DT_N];
    PoolBestTap *best_tap[DT_N];
    PoolFold *sum[DT_N]; /* into doubles */
    /* By size of an element: puts elements that are `step` apart next to each other, in
     * rows of ceil(n / step). Windows that are `step` apart then read neighbours. */
    void (*split[9])(void *to, const void *x, size_t n, size_t step);
    void (*join)(double *to, const double *x, size_t n, size_t step); /* the way back */
    void (*divide)(double *x, const double *by, double also, size_t n);
    void (*share)(double *x, const double *by, double also, size_t n); /* of 0: 0 */
} PoolLoops;
extern const PoolLoops pool_loops0, pool_loops1, pool_loops2;

/* The taps of one axis of window i: from the first to one before *end. */
void pool_axis_taps(const PoolPlan *p, int k, int64_t i, int64_t *first, int64_t *end);
/* By how much the sum along axis k of window i is divided: its elements in x, or also
 * those in the padding. */
int64_t pool_divisor(const PoolPlan *p, int k, int64_t i, bool padding);

bool pool_max(Call *c);
bool pool_positions(Call *c);
bool pool_gather(Call *c);
bool pool_scatter(Call *c);
bool pool_average(Call *c);
bool pool_average_spread(Call *c);
bool pool_sum(Call *c);
bool pool_sum_spread(Call *c);
/* Straight from the definitions. */
bool pool_max_reference(Call *c);
bool pool_positions_reference(Call *c);
bool pool_gather_reference(Call *c);
bool pool_scatter_reference(Call *c);
bool pool_average_reference(Call *c);
bool pool_average_spread_reference(Call *c);
bool pool_sum_reference(Call *c);
bool pool_sum_spread_reference(Call *c);

/* Fills the plan from the props for an x of that shape, and shape[] of the result.
 * False: diagnosed. */
bool pool_plan(Call *c, int ndim, const int64_t *x, PoolPlan *p, int64_t *shape);
/* The shape of spread(v, sizes): rows and channels are those of v. */
bool pool_spread_shape(Call *c, int64_t shape[MAX_NDIM]);

#endif
