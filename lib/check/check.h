/* Looking at runs while they happen: NAN_GUARD and MONITOR are hooks around each
 * instruction of a machine; DebugMode runs every op on its own as well, in storage of
 * every kind, and compares each rewrite with what it replaced. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "rewrite/rewrite.h"
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
 * and mean; parted by tabs, below a line of headings. Of one instruction only the first
 * runs have a line; at the end another says how many more there were. */
enum { MONITOR_RUNS = 100 };
typedef struct Monitored {
    char *head; /* number, op, place */
    uint64_t runs;
    double left; /* seconds of the runs without a line */
} Monitored;
typedef struct Monitor {
    Session *s;
    Map at; /* function and instruction -> index into seen */
    Vec(Monitored) seen;
} Monitor;
VmHooks monitor_hooks(Session *s, Monitor *m);
void monitor_end(Monitor *m); /* the last lines; m may be zeroed */

/* ---- DebugMode ---- */
/* What is found is an error of the session, named as in the systems that this comes
 * from:
 *   BadThunkOutput     a kernel that is not a function of its inputs: another value in
 * a second run, by the debug kernel, with inputs or storage of another layout; storage
 * that was read or written where it shouldn't; a value that differs when the plan runs
 * it BadViewMap         a result in memory that the op doesn't say it views (a warning:
 * a view that is said to be one and is none) BadDestroyMap      an input that was
 * written over (a warning: one that wasn't) BadOptimization    a rewrite after which a
 * value is another InvalidValueError  a value that is not of its type, not finite, or
 * of another shape than the op infers BadDerivative      a gradient or tangent of an
 * op that is of another shape than it must be, or not zero where it must be
 * StochasticOrder    a graph that isn't rewritten the same way again; equal ops with
 * different maps */
typedef struct CheckOptions {
    RewriteQuery query;   /* how the graph is rewritten */
    int sloppy;           /* 0 to 2: as Approx.sloppy */
    bool allow_nonfinite; /* nan and inf are values like others */
    size_t most;          /* findings that are told; 0: 20 */
    unsigned patience;    /* rewritings that must be equal; 0: 10, large graphs fewer */
} CheckOptions;
typedef struct Check Check;
/* Rewrites g, and checks that. NULL: diagnosed, rewriting failed. One at a time in a
 * session. */
Check *check_new(Graph *g, const CheckOptions *o);
void check_free(Check *c); /* NULL is fine */
/* g rewritten: what is to be run; it lives as long as c. */
Graph *check_ready(const Check *c);
void check_set_dim(Check *c, Sym name, int64_t value); /* as vm_set_dim */
/* Around a call of a machine that runs check_ready, has its inputs and these hooks.
 * False: there are findings, as diagnostics; the machine should not run (any more). */
bool check_begin(Check *c, Machine *m);
VmHooks check_hooks(Check *c);
bool check_end(Check *c, Machine *m);

#endif
