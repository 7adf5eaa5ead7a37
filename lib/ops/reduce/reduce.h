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
    DType load;      /* elements are converted to it first; DT_NONE: used as they are */
    DType acc;       /* dtype of an accumulator element; FOLD_VAR: two float64 */
    size_t acc_size; /* bytes; 0: not available for this dtype */
    /* acc[i] = the reduction of the n >= 1 contiguous elements from x + i step, for i <
     * m */
    void (*runs)(const char *x, ptrdiff_t step, size_t m, size_t n, void *acc);
    /* acc[j] = the reduction of elements j of `rows` >= 1 rows that are `stride` bytes
     * apart, for j < n */
    void (*rows)(const char *x, ptrdiff_t stride, size_t rows, size_t n, void *acc);
    /* combines b[j] into a[j], which represent nb and na elements */
    void (*join)(void *a, const void *b, size_t n, double na, double nb);
} ReduceLoops;

/* A step of argmax or argmin for n columns over `rows` rows from x on, `stride` bytes
 * apart, the first numbered `row`: where an element beats best (or is the first nan),
 * replaces best and at. */
typedef void ArgRows(const char *x, ptrdiff_t stride, size_t rows, size_t n, void *best,
                     int64_t *at, int64_t row);
/* The first of n elements that equals *v, or is nan when *v is. */
typedef size_t FindFirst(const void *x, const void *v, size_t n);

typedef struct ReduceTable {
    ReduceLoops loops[FOLD_KINDS][DT_N];
    ArgRows *arg[2][DT_N]; /* max, min */
    FindFirst *find[DT_N];
    void (*half)(const char *x, ptrdiff_t step, size_t n, float *out);
    /* PIECE_SUMS sums of nothing: -0, which changes no element, not even -0 */
    void (*begin_sums)(double *sum);
    /* *acc = what the loops of sum make of elements of which some are in `sum`, as by
     * Pieces, and n are left at x; [1]: float64 */
    void (*rest[2])(const double *sum, const void *x, size_t n, double *acc);
    void (*divide)(double *a, size_t n, double by);
    void (*subtract)(double *a, size_t n, double by);
    void (*subtract_each)(double *restrict a, size_t n, const double *restrict by);
    void (*variances)(double *a, size_t n, double by); /* a[i] = a[2 * i + 1] / by */
    /* out = e^(x - most) for x of at most that, to be added up: those below 2^-1021 may
     * be that. NULL where others are faster */
    void (*exps)(const float *x, size_t n, double most, double *restrict out);
} ReduceTable;
const ReduceTable *reduce_table(Session *s); /* for the session's CPU level */

typedef struct ReduceSpec ReduceSpec;
/* Turns n accumulators of `count` elements each into elements of the output, `step`
 * bytes apart. */
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
    double empty; /* the result for no elements */
};
ReduceFinish reduce_cast, reduce_mean, reduce_var;

/* Output 0 of an Apply = input x reduced over the flagged axes.  Fills in table, loops,
 * count and out. */
bool reduce_call(Call *c, ReduceKind kind, const Tensor *x, const bool flag[MAX_NDIM],
                 bool keepdims, ReduceSpec f);

/* Ops that end in reduce_call accept pieces. */
Streams reduce_streams;

/* A debug kernel: the same from the definition, one element at a time. FOLD_KINDS:
 * logsumexp. */
bool reduce_reference(Call *c, ReduceKind kind, double ddof, bool root);

/* sum(x, dtype=d) and the like expand, when a graph is built, to a cast of (the sum of
 * x cast to d): casts bring their own derivatives and checks, and the arithmetic is
 * d's, since integers wrap. */
bool reduce_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out);
/* Typing after expansion: an op in a graph has no dtype prop of its own. */
bool reduce_is_expanded(Infer *in);

/* The common props axis and keepdims; typing: the remaining shape. */
bool reduce_out(Infer *in, DType d);
bool reduce_prop_flags(Call *c, bool flag[MAX_NDIM], bool *keepdims);
/* sum and prod: small integers widen to 64 bits. */
DType reduce_dtype(DType d);
/* A variable of the reduced shape (or with kept dims) at the rank of x, ready to
 * multiply with x. */
Var reduce_spread(Builder *b, Var g, const Op *op, const Props *props, Var x);

typedef double _Complex c128;
static inline c128 c128_mul(c128 a, c128 b) {
    double ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return __builtin_complex(ar * br - ai * bi, ar * bi + ai * br);
}

/* The props of reductions. */
#define FOLD_PROPS "axis: axes = None, keepdims: bool = False"
#define SUM_PROPS  "axis: axes = None, dtype: dtype? = None, keepdims: bool = False"
#define VAR_PROPS  "axis: axes = None, ddof: float = 0.0, keepdims: bool = False"

#endif
