/* Observing runs: NAN_GUARD and MONITOR are hooks around each instruction of a machine;
 * DebugMode also runs every op separately, in storage of every layout, and compares
 * each rewrite with what it replaced. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "rewrite/rewrite.h"
#include "vm/vm.h"

/* Statistics of a tensor's numbers; complex numbers count with both parts. */
typedef struct Stats {
    int64_t size, nans, infs, big; /* big: finite, beyond 1e10 */
    int64_t first, first_big; /* flat index of the first nan or inf, and of the first
                                 big; -1: none */
    double min, max;          /* without nans; nan if nothing is left */
    double mean;              /* of the finite ones; nan if there are none */
} Stats;
Stats tensor_stats(const Tensor *t);

/* ---- NAN_GUARD ---- */
enum { GUARD_NAN = 1, GUARD_INF = 2, GUARD_BIG = 4, GUARD_ALL = 7 };
/* Checks inputs, shared variables, and every result of every Apply: a nan, an inf or a
 * number beyond 1e10 stops the run with E_NAN. Discrete dtypes, empty arrays,
 * non-tensors and variables with an exempt name are skipped. */
typedef struct Guard {
    unsigned what;
    size_t nexempt;
    const Sym *exempt;
} Guard;
VmHooks guard_hooks(const Guard *g); /* g must outlive them */
/* Checks outputs of a run that no Apply made: inputs passed on. */
bool guard_outputs(const Guard *g, const Graph *ran, const Machine *m);

/* ---- MONITOR ---- */
/* Prints one line per executed instruction through services' print, separated by tabs,
 * below a header line: number (after the function's name), op, origin, seconds, and for
 * each output its dtype, shape, min, max and mean. Only the first runs of an
 * instruction get a line; at the end, one more line says how many further runs there
 * were. */
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
void monitor_end(Monitor *m); /* prints the last lines; m may be zeroed */

/* ---- DebugMode ---- */
/* Findings are errors of the session, with names known from DebugMode elsewhere:
 * - BadThunkOutput: a kernel is not a function of its inputs: its value differs in a
 *   second run, from the debug kernel's, with inputs or storage of another layout, or
 *   from the value in the plan; or it reads or writes storage that it must not touch
 * - BadViewMap: a result shares memory that the op doesn't declare as viewed (a
 *   warning: a declared view is none)
 * - BadDestroyMap: an input was overwritten (a warning: a declared one was not)
 * - BadOptimization: a rewrite changed a value
 * - InvalidValueError: a value doesn't have its type, is not finite, or has another
 *   shape than the op infers
 * - BadDerivative: an op's gradient or tangent has the wrong shape, or is nonzero where
 *   it must be zero
 * - StochasticOrder: rewriting a graph again gives another result; equal ops have
 *   different maps */
typedef struct CheckOptions {
    RewriteQuery query;   /* how to rewrite the graph */
    int sloppy;           /* 0 to 2: as Approx.sloppy */
    bool allow_nonfinite; /* nan and inf are ordinary values */
    size_t most;          /* findings to report; 0: 20 */
    unsigned patience;    /* rewritings that must agree; 0: 10, fewer for large
                           * graphs */
} CheckOptions;
typedef struct Check Check;
/* Rewrites g and checks the rewriting. NULL: diagnosed, rewriting failed. One per
 * session at a time. */
Check *check_new(Graph *g, const CheckOptions *o);
void check_free(Check *c); /* NULL is allowed */
/* The rewritten graph, to be run; it lives as long as c. */
Graph *check_ready(const Check *c);
void check_set_dim(Check *c, Sym name, int64_t value); /* as vm_set_dim */
/* To be called around a call of a machine that runs check_ready, with its inputs set
 * and these hooks. False: there are findings, as diagnostics; the machine should not
 * run (any more). */
bool check_begin(Check *c, Machine *m);
VmHooks check_hooks(Check *c);
bool check_end(Check *c, Machine *m);

#endif
