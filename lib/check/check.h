/* Looking at runs while they happen: NAN_GUARD and MONITOR are hooks around each
 * instruction of a machine. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "vm/vm.h"

/* What the numbers of a tensor are like; of complex numbers both parts are looked at.
 */
typedef struct Stats {
    int64_t size, nans, infs, big; /* big: finite, beyond 1e10 */
    int64_t first, first_big; /* flat index of the first nan or inf, and of the first
                                 big; -1: none */
    double min, max;          /* without nans; nan when nothing is left */
    double mean;              /* of the finite ones; nan when there are none */
} Stats;
Stats tensor_stats(const Tensor *t);

/* ---- NAN_GUARD ---- */
enum { GUARD_NAN = 1, GUARD_INF = 2, GUARD_BIG = 4, GUARD_ALL = 7 };
/* Inputs and shared variables, and every result of every Apply: a nan, an inf or a
 * number beyond 1e10 stops the run with E_NAN. Discrete dtypes, empty arrays and other
 * types than tensors are left alone, and so are variables that have one of the names.
 */
typedef struct Guard {
    unsigned what;
    size_t nexempt;
    const Sym *exempt;
} Guard;
VmHooks guard_hooks(const Guard *g); /* g must outlive them */
/* The outputs of a run that no Apply made: an input handed on. */
bool guard_outputs(const Guard *g, const Graph *ran, const Machine *m);

/* ---- MONITOR ---- */
/* One line for each instruction that ran, through services' print: number (behind the
 * function's name), op, place, seconds, and of each output its dtype, shape, min, max
 * and mean; parted by tabs, below a line of headings. */
typedef struct Monitor {
    bool begun;
} Monitor;
VmHooks monitor_hooks(Monitor *m);

#endif
