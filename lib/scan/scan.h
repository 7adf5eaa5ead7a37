/* The form of a scan: how its props share out its inputs and those of its body. Typing,
 * printing, derivatives, rewrites and the VM all look at a scan through this.
 *
 *   scan(steps, sequences..., initials..., others..., fn=body, ...)
 *
 * runs body once per step. The inputs of body are, in this order: for each sequence one
 * row per tap; for each state (an output that is fed back) one row per tap; the others,
 * the same in every step. Its outputs are those of the scan, row by row. With `until`
 * the loop ends after the first step in which that is true; this step counts.
 *   - A sequence with taps t reads row i + t - low in step i, where low is the least
 *     tap, at most 0: the first step reads the first row.
 *   - A state with taps -1 alone begins as its initial value; with other taps the
 *     initial value has as many rows as the deepest tap reaches back, oldest first.
 *   - An output is kept as rows of all steps (SCAN_ALL), of the last m steps at most
 *     (m > 0), or as the last value itself, without an axis for steps (SCAN_LAST; for
 *     a state, the initial value if no step runs).
 *   - Lists, sparse matrices, slices and plugins' values have no rows: as a state they
 *     have only the tap -1, and the values kept of several steps form a list. */
#ifndef SCAN_SCAN_H
#define SCAN_SCAN_H

#include "op/op.h"

enum { SCAN_ALL = 0, SCAN_LAST = -1 };

typedef struct ScanSeq {
    size_t arg; /* input of the Apply */
    size_t in;  /* first input of the body; ntap of them */
    size_t ntap;
    const int64_t *tap;
    int64_t low, high; /* the least and the greatest of its taps and 0; n steps need n +
                          high - low rows */
} ScanSeq;
typedef struct ScanOut {
    size_t arg; /* of the initial value, if ntap */
    size_t in;
    size_t ntap; /* 0: not a state */
    const int64_t *tap;
    int64_t depth; /* of the deepest tap */
    int64_t keep;
} ScanOut;
typedef struct ScanForm {
    Graph *fn; /* NULL: the function is missing */
    size_t nseq, nout, nother;
    const ScanSeq *seq;
    const ScanOut *out;
    size_t other_arg, other_in; /* the first of each */
    size_t nin;                 /* inputs that the body must have */
    int64_t truncate;           /* steps that a gradient goes back; -1: all */
    bool checkpoint; /* each step is a segment of steps: moving work out of the loop
                        would create rows that the gradient is not supposed to keep */
    bool rows;       /* the steps are rows of a vectorize, and sow as it does */
} ScanForm;

/* Op.print: scan(step, sequences=..., ...). */
bool scan_print(Printer *p, ApplyId a, Str *out);
/* Reads the props of a scan with nin inputs; allocates what *f points to from a.
 * Returns NULL, or half a sentence in a's memory that says what is wrong. Doesn't check
 * the body's own interface. */
const char *scan_form(const Graph *g, const Op *op, const Props *props, size_t nin,
                      Arena *a, ScanForm *f);
/* The form of an Apply that has passed typing. */
ScanForm scan_form_of(const Graph *g, ApplyId id, Arena *a);
/* A state of which only the last value is kept, an array: input `in` of the body takes
 * the last value of result `out`. */
typedef struct ScanState {
    size_t in, out;
} ScanState;
/* How many there are; `to` has room for f->nout. */
size_t scan_last_states(const ScanForm *f, ScanState *to);
/* The argument that supplies input k of the body. */
size_t scan_arg(const ScanForm *f, size_t k);
/* Does any of n inputs of the body, from `first` on, influence its output `out`? */
bool scan_reads(Graph *fn, size_t first, size_t n, size_t out);
/* Are two numbers of steps known to be equal? */
bool scan_has_same_steps(const Graph *g, Var x, Var y);
/* Have the sequences and initial values the rows that this many steps need? False:
 * diagnosed. */
bool scan_check_rows(Call *c, const ScanForm *f, int64_t steps);
/* Neither a tensor nor a random state: a reference-counted value, kept in lists. */
static inline bool scan_is_object(const Type *t) {
    return t->kind == TYPE_LIST || t->kind == TYPE_SPARSE || t->kind == TYPE_SLICE ||
           t->kind == TYPE_PLUGIN;
}
/* Is output o of the body an object? A float or complex tensor? */
bool scan_out_is_object(const ScanForm *f, size_t o);
bool scan_out_is_float(const ScanForm *f, size_t o);
/* Do the types guarantee that output o is valid as the next state? True if it isn't a
 * state. */
bool scan_is_sure(const ScanForm *f, size_t o);
/* Is v, made by step `step`, valid as the next state o? False: diagnosed. */
bool scan_check_object(Call *c, const ScanForm *f, size_t o, int64_t step,
                       const Value *v);
/* Could a step give output o this shape? */
bool scan_row_fits(const ScanForm *f, size_t o, const int64_t *shape);
/* Reports that step `step` gave output o another shape than it had. Returns false. */
bool scan_other_shape(Call *c, const ScanForm *f, size_t o, const char *had,
                      const char *has, int64_t step);
/* Reports an initial value of another shape than this one, which the result must have
 * if no step runs. Returns false. */
bool scan_fail_initial(Call *c, const ScanForm *f, size_t o, const int64_t *shape);
/* Is a state's initial value a single row, without an axis for steps? */
static inline bool scan_one_row(const ScanOut *o) {
    return o->ntap == 1 && o->tap[0] == -1;
}

#endif
