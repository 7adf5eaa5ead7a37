/* Running sums, products, extremes and recurrences (cumulate.c) of lines along an axis,
 * and their inner loops, for each level of CPU. Lines don't depend on each other: a
 * line has the same bits beside any others. */
#ifndef OPS_REDUCE_CUMULATE_H
#define OPS_REDUCE_CUMULATE_H

#include "ops/reduce/reduce.h"

typedef enum CumKind {
    RUN_SUM,
    RUN_PROD,
    RUN_RECURRENCE,
    RUN_LOGSUMEXP, /* of floats only */
    RUN_MAX,
    RUN_MIN
} CumKind;

typedef struct CumSpec {
    CumKind what;
    DType acc; /* of the state */
    bool exclusive, reverse;
} CumSpec;
/* out = what becomes of x (and y, that of a recurrence) along axis; of equal shapes. */
void cumulate(Call *c, const CumSpec *f, const Tensor *x, const Tensor *y,
              const Tensor *out, int axis);

enum { CUM_LINES = 256, CUM_BLOCK = 256 };

/* Adjacent lines: where the first one begins, how many bytes the next one and the next
 * element are away (negative if reversed). */
typedef struct CumGroup {
    CumKind what;
    bool exclusive;
    const char *x, *y; /* y: of a recurrence */
    char *out;
    int64_t lines, n; /* at most CUM_LINES; elements of a line */
    ptrdiff_t x_next, y_next, out_next, x_step, y_step, out_step;
} CumGroup;

/* All lines at once, whose elements i are packed; line by line, some at a time. */
typedef struct CumLoops {
    DType store; /* of the output */
    void (*across)(const CumGroup *g);
    void (*along)(const CumGroup *g);
} CumLoops;

/* log(sum(exp(x))) is most + log1p(rest): the largest x, and the sum of exp(x - most)
 * but for its own. A sum of nothing has most = -inf and rest = -1. */
typedef struct CumTable {
    CumLoops fold[DT_N], extreme[DT_N]; /* by the input's dtype; NULL: none */
    /* the next element of n lines, and of a line the next n, at most CUM_BLOCK */
    void (*exponents_across)(double *most, double *rest, const double *x, double *out,
                             size_t n);
    void (*exponents_along)(double *most, double *rest, const double *x, double *out,
                            size_t n);
} CumTable;
extern const CumTable cum_table0, cum_table1, cum_table2;

#endif
