/* Reductions over any axes: one driver (fold.c) and inner loops per dtype and CPU level
 * (reduce.simd.c). */
#ifndef OPS_REDUCE_REDUCE_H
#define OPS_REDUCE_REDUCE_H

#include "op/build.h"
#include "op/infer.h"

typedef enum ReduceKind {
    FOLD_SUM,  /* integers in 64 bits, floats in float64 */
    FOLD_MEAN, /* sum with a float64 or complex128 accumulator */
    FOLD_PROD,
    FOLD_MAX, /* nan wins */
    FOLD_MIN,
    FOLD_ANY,
    FOLD_ALL,
    FOLD_VAR, /* accumulator: mean and sum of squared deviations */
    FOLD_KINDS
} ReduceKind;

/* The loops of one kind of reduction for one dtype. */
typedef struct ReduceLoops {
    DType load; /* elements are converted to it first; DT_NONE: taken as they are */
    DType acc;  /* dtype of an accumulator element, FOLD_VAR: float64 twice */
    size_t acc_size; /* bytes; 0: this dtype is not reduced so */
    /* acc[i] = the n >= 1 contiguous elements from x + i * step, for i < m */
    void (*runs)(const char *x, ptrdiff_t step, size_t m, size_t n, void *acc);
    /* acc[j] = the elements j of `rows` >= 1 rows that are `stride` bytes apart, for j
     * < n */
    void (*rows)(const char *x, ptrdiff_t stride, size_t rows, size_t n, void *acc);
    /* a[j] = a[j] and b[j] together, which stand for na and nb elements */
    void (*join)(void *a, const void *b, size_t n, double na, double nb);
} ReduceLoops;

/* A step of argmax or argmin for n columns: where an element of one of the `rows` from
 * x on, which are `stride` bytes apart, beats best (or is the first nan), best and at
 * are replaced; the first of them is number `row`. */
typedef void ArgRows(const char *x, ptrdiff_t stride, size_t rows, size_t n, void *best,
                     int64_t *at, int64_t row);
/* The first of n elements that equals *v, or is nan when *v is. */
typedef size_t FindFirst(const void *x, const void *v, size_t n);

typedef struct ReduceTable {
    ReduceLoops loops[FOLD_KINDS][DT_N];
    ArgRows *arg[2][DT_N]; /* max, min */
    FindFirst *find[DT_N];
    void (*half)(const char *x, ptrdiff_t step, size_t n, float *out);
    void (*divide)(double *a, size_t n, double by);
    void (*variances)(double *a, size_t n, double by); /* a[i] = a[2 * i + 1] / by */
} ReduceTable;
const ReduceTable *reduce_table(Session *s); /* for the session's CPU level */

typedef struct ReduceSpec ReduceSpec;
/* Turns n accumulators that stand for `count` elements each into elements of the
 * output, `step` bytes apart. */
typedef void ReduceFinish(const ReduceSpec *f, void *acc, size_t n, char *out,
                          int64_t step);
struct ReduceSpec {
    const ReduceTable *table;
    const ReduceLoops *loops;
    double count; /* elements per output */
    DType out;
    ReduceFinish *finish;
    double ddof; /* for FOLD_VAR */
    bool root, add;
};
ReduceFinish reduce_cast, reduce_mean, reduce_var;

/* Output 0 of an Apply = input x reduced over the flagged axes. table, loops, count
 * and out are filled in. `empty` is the result of reducing nothing. */
bool reduce_call(Call *c, ReduceKind kind, const Tensor *x, const bool flag[MAX_NDIM],
                 bool keepdims, ReduceSpec f, double empty);

/* Ops that end in reduce_call take pieces. */
Streams reduce_streams;

/* A debug kernel: the same by the definition, one element after the other. FOLD_KINDS:
 * logsumexp. */
bool reduce_reference(Call *c, ReduceKind kind, double ddof, bool root);

/* sum(x, dtype=d) and its like are (the sum of x as d) as d, written out when a graph
 * is built: with all that casts have, and in d's own arithmetic, as integers wrap. */
bool reduce_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out);
/* Typing of what is left: an op that stands in a graph has no dtype of its own. */
bool reduce_is_expanded(Infer *in);

/* The common props axis, keepdims; typing: the shape that is left. */
bool reduce_out(Infer *in, DType d);
bool reduce_prop_flags(Call *c, bool flag[MAX_NDIM], bool *keepdims);
/* sum and prod: small integers grow to 64 bits. */
DType reduce_dtype(DType d);
/* A variable of the reduced shape (or kept dims) in the rank of x: for multiplying with
 * x. */
Var reduce_spread(Builder *b, Var g, const Op *op, const Props *props, Var x);

#endif
