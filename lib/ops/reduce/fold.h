/* A reduction as it was planned, for the files of the driver: fold.c plans it,
 * fold_groups.c shares the outputs among threads, fold_range.c reduces the elements. */
#ifndef OPS_REDUCE_FOLD_H
#define OPS_REDUCE_FOLD_H

#include "ops/reduce/reduce.h"

typedef struct ReduceDims {
    int n;
    int64_t shape[MAX_NDIM], in[MAX_NDIM], out[MAX_NDIM]; /* strides in bytes */
} ReduceDims;

typedef struct Reduction {
    const ReduceTable *table;
    ReduceSpec f;
    DType dtype;
    size_t item, loaded; /* bytes of an element in memory, and as the loops load it */
    const char *x;
    const Pieces *pieces; /* replaces x; NULL: none */
    void (*rest)(const double *sum, const void *x, size_t n,
                 double *acc); /* the pieces' sums can be had; NULL: no */
    bool sums;                 /* of columns and short runs, too */
    char *out;
    int64_t wide, wide_in, wide_out; /* the innermost dim of `kept` */
    bool by_rows;
    bool narrow;     /* rows of few elements follow each other without a gap: as many as
                      * NARROW_ROWS are read as one */
    bool touches;    /* rows are read once more before they are combined */
    bool ends_early; /* an accumulator that is `decided` stays so */
    uint8_t decided;
    bool selects;  /* max or min */
    int64_t parts; /* accumulators per output, adjacent in `wide` */
    int64_t width, strips,
        groups; /* outputs are processed in groups of at most `width` along `wide` */
    int64_t inner, inner_in; /* the innermost dim of `red`, which also still has it */
    int64_t count, segment, nsegment, block;
    int64_t window; /* for pieces: rows, or elements of a run, computed per request */
    size_t made_at; /* offset of the window in a worker's memory */
    char *partial;  /* [segment][output], if there are several segments */
    char *work;     /* per worker */
    size_t work_size, acc_bytes;
    int64_t tasks, per_chunk;
    ReduceDims kept, red; /* without the innermost dim of `kept` */
} Reduction;

/* The most elements of a narrow row; how many of them make one; fewest that are worth
 * it.
 */
enum { NARROW_MOST = 15, NARROW_ROWS = 16, NARROW_FEWEST = 8 * NARROW_ROWS };

/* Do loops read elements that are `step` bytes apart where they are? */
static inline bool reads_without_load(const Reduction *j, int64_t step) {
    return j->f.loops->load == DT_NONE && step == (int64_t)j->item;
}

typedef struct ReduceWorker {
    char *work;
    unsigned number;
} ReduceWorker;

enum {
    RUN = 4096
}; /* most elements of a run, and those that a worker's buffer holds */

/* ---- fold_groups.c ---- */
/* Is each output made of few elements that lie apart? They are copied together. */
bool reduce_is_scattered(const Reduction *j);
/* Is each output made of one short run? Then a group's are reduced at once. */
bool reduce_is_short(const Reduction *j);
/* Tasks of one chunk, for pool_run. */
void reduce_chunk(void *ctx, size_t chunk, unsigned worker);
/* Combines the segments' partials in order. */
void reduce_join_segments(const Reduction *j);

/* ---- fold_range.c ---- */
/* n elements, `step` bytes apart, as the loops load them. */
void reduce_load_row(const Reduction *j, char *to, const char *x, int64_t n,
                     int64_t step);
/* Are so many elements worth adding as they are computed? Fewer are computed for
 * several outputs at once. */
static inline bool adds_made(const Reduction *j, int64_t n) {
    enum { FLOAT_MIN = 512, DOUBLE_MIN = 128 };
    return n >= (j->dtype == DT_FLOAT32 ? FLOAT_MIN : DOUBLE_MIN);
}
/* The sum of n elements that are computed, at most a block, from flat index `at` on. */
void reduce_sum_made(const Reduction *j, const ReduceWorker *w, int64_t at, int64_t n,
                     void *acc);
/* The reduced elements [begin, end) of `width` outputs, the first of which is at x. */
typedef struct ReduceRange {
    int64_t x, width, begin, end;
} ReduceRange;
void reduce_range(const Reduction *j, const ReduceWorker *w, ReduceRange r, void *acc);

#endif
