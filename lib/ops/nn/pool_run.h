/* A call of a pooling op, for its kernels: pool_fold.c has maxima, sums and the
 * transpose of sums, pool_best.c has the places of maxima. */
#ifndef OPS_NN_POOL_RUN_H
#define OPS_NN_POOL_RUN_H

#include "ops/nn/pool.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

/* The windows of a row that have tap k of the last axis in x: from `first` to one
 * before `end`. Theirs are neighbours, from `at` on, in a row of x that pool_split has
 * split. */
typedef struct PoolTap {
    int64_t first, end, at;
} PoolTap;
enum { POOL_TAPS = 16 }; /* of a usual window */

typedef struct PoolJob {
    PoolPlan p;
    const PoolLoops *loops;
    DType dtype, work; /* of x; of the folded row */
    const char *x;
    char *out; /* NULL: there are no elements to compute */
    DType out_dtype;
    const char *values; /* scatter, spread, gather: what goes to or comes from x */
    void *of_windows;   /* 8 bytes for each window along the last axis */
    char *room;         /* of the first worker */
    size_t room_size;
    int64_t rows, chunk;
    int64_t first_tap, end_tap; /* of the last axis: those that any window has in x */
    PoolTap tap[POOL_TAPS];     /* from first_tap on */
} PoolJob;

/* Opens a call of an x that has the windows' values as its result. False: diagnosed. */
bool pool_job_open(Call *c, PoolJob *j);
/* Opens a call whose result has the shape x_shape: input `value` has an element for
 * each window. */
bool pool_job_open_back(Call *c, PoolJob *j, const int64_t *x_shape, size_t value);
/* Storage of x and v (NULL: none), contiguous, and of each worker's room. False:
 * diagnosed. */
bool pool_job_room(Call *c, PoolJob *j, const Tensor *x, const Tensor *v,
                   size_t per_worker);
/* Calls fn, which is given j, for chunks of `rows` rows of about `each` elements. */
void pool_job_run(Call *c, PoolJob *j, int64_t rows, int64_t each, ChunkFn *fn);
/* The rows of a chunk: from the first one to one before *end. */
static inline int64_t pool_chunk_rows(const PoolJob *j, size_t chunk, int64_t *end) {
    int64_t first = (int64_t)chunk * j->chunk;
    *end = first + j->chunk < j->rows ? first + j->chunk : j->rows;
    return first;
}
/* Stores a plane of the result. */
void pool_store_plane(const PoolJob *j, int64_t plane, const double *from);
static inline char *pool_worker_room(const PoolJob *j, unsigned worker) {
    return j->room + worker * j->room_size;
}

PoolTap pool_find_tap(const PoolPlan *p, int64_t k);
static inline PoolTap pool_tap(const PoolJob *j, int64_t k) {
    int64_t i = k - j->first_tap;
    return i < POOL_TAPS ? j->tap[i] : pool_find_tap(&j->p, k);
}

/* The room of a split row: less than twice the row's. */
static inline size_t pool_split_size(const PoolPlan *p) {
    return 2 * (size_t)p->in[2];
}
/* Splits a row of x with elements of that size by the stride of windows; returns `to`,
 * or `row` itself if there is nothing to split. */
static inline void *pool_split(const PoolJob *j, size_t item, void *row, void *to) {
    size_t step = (size_t)j->p.w.stride[2];
    if (step == 1) return row;
    j->loops->split[item](to, row, (size_t)j->p.in[2], step);
    return to;
}

static inline int64_t pool_plane_size(const PoolPlan *p) {
    return p->in[0] * p->in[1] * p->in[2];
}

/* The rows of a plane that windows of (d, h) cover, one after the other. */
typedef struct PoolRows {
    const PoolPlan *p;
    int64_t a, b, de, hf, he, z, y;
} PoolRows;
PoolRows pool_rows_of(const PoolPlan *p, int64_t d, int64_t h);
/* The next one's number in the plane; -1: that was all. */
int64_t pool_next_row(PoolRows *r);

#endif
