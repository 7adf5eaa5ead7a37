/* Running graphs. A Plan decides once, from types alone, in which order the live
 * Applies run, which of them work in place and which values share storage. A Machine
 * holds the memory and the state of one plan and runs it any number of times:
 *
 *     Plan *p = plan_new(g, &(PlanOptions){0});
 *     Machine *m = vm_new(p);
 *     vm_set_input(m, 0, &x) && vm_run(m) && use(vm_output(m, 0));
 *     vm_free(m), plan_free(p);
 *
 * From the second run with the same shapes on nothing is allocated. Results are the
 * same bits for any number of threads.
 *
 * Where all Applys need their inputs, a run is a loop over instructions. Where some are
 * lazy (ifelse), what only they may need is run when they ask for it: assertions and
 * prints of a branch that is not taken stay silent, and the order is the graph's, with
 * such instructions right before those that may ask for them. */
#ifndef VM_VM_H
#define VM_VM_H

#include "op/services.h"
#include "scan/scan.h"

/* Fills in the services that this row offers (eval, inner_new, inner_run, inner_free).
 */
void vm_open(Session *s);

/* ---- planning ---- */
typedef struct Plan Plan;
/* All zero: the graph's outputs, updates and effects, with all optimisations on. */
typedef struct PlanOptions {
    size_t nwant;
    const Var *want;  /* replaces the graph's outputs unless NULL; updates and effects
                       * stay */
    bool only_want;   /* no updates, no effects */
    bool no_updates;  /* shared variables keep their values */
    bool keep_shared; /* a run that fails leaves shared variables as they were, unless
                       * plan_overwrites_shared: new values get storage of their own */
    bool no_fuse;     /* functions marked fused run op by op */
    bool no_code;     /* no machine code for elementwise arithmetic */
    bool no_inplace;  /* no result overwrites an input */
    bool no_reuse;    /* --no-gc: every value keeps its storage to the end of the run */
    bool own_results; /* each output has a buffer of its own; else they lie in one with
                       * the intermediate values, and a caller that keeps a reference
                       * keeps all of it */
    bool results_apart; /* own_results, and a caller gives most of that storage: it
                         * isn't counted */
    int64_t block_rows; /* of a call by rows; 0: as suits the caches and what all blocks
                         * need */
    bool keep_all;      /* no_reuse and no_inplace, and vm_value works for every planned
                         * variable */
    Impl impl;          /* IMPL_DEBUG: ops with a debug kernel use it; thunks get it
                         * too */
    bool debugging;     /* DebugMode: ops that request it run their debug kernel */
    unsigned threads;   /* 0: the session's pool; 1: the caller's thread only */
    size_t nstate;      /* of a loop's body: results that may be computed in the storage
                         * of these inputs, whose next value they are */
    const ScanState *state;
    const ScanForm *loop; /* whose body it is: all steps may be one machine code */
} PlanOptions;
/* The graph must not change while the plan lives. NULL: diagnosed (an op that can't run
 * on these types). */
Plan *plan_new(Graph *g, const PlanOptions *o);
void plan_free(Plan *p); /* NULL is allowed */
const Graph *plan_graph(const Plan *p);

/* The plan's decisions, for reports. Instructions are numbered in execution order. */
typedef enum PlanKind {
    PLAN_LOOP,    /* one elementwise op over blocks */
    PLAN_FUSED,   /* a group of them, optionally with a reduction of one result, or with
                   * what writes one into an array: a call of a function marked fused */
    PLAN_PERFORM, /* an op's own kernel, or its thunk */
    PLAN_CALL,    /* a call of any other function, run by a plan of its own */
    PLAN_SCAN     /* a loop over a function, run by a plan of its own */
} PlanKind;
typedef struct PlanStep {
    PlanKind kind;
    ApplyId apply;
    const Op *op;
    size_t nin, nout;
    const Var *in, *out;
    const Graph *fn; /* PLAN_FUSED, PLAN_CALL, PLAN_SCAN: the function */
    size_t after;    /* a later instruction whose work this one's kernel may do, too: a
                      * sum with what a convolution gives; SIZE_MAX: none */
} PlanStep;
/* Is output i computed in the storage of the state that it replaces? */
bool plan_overwrites_state(const Plan *p, size_t i);
/* May a run that fails have overwritten shared variables? */
bool plan_overwrites_shared(const Plan *p);
size_t plan_steps(const Plan *p);
PlanStep plan_step(const Plan *p, size_t i);

typedef enum PlanHow {
    PLAN_LEAF,    /* an input, a shared variable, a constant, a dim */
    PLAN_OWN,     /* storage of its own for its lifetime */
    PLAN_INPLACE, /* overwrites `of` */
    PLAN_VIEW     /* may view `of`, whose storage lives at least as long */
} PlanHow;
typedef struct PlanVar {
    Var var;
    PlanHow how;
    Var of;
    uint32_t store; /* values with equal numbers share storage; UINT32_MAX for leaves */
    uint32_t born, dies; /* instructions; dies == plan_steps(): kept to the end; leaves
                          * are born at 0 */
    bool copied; /* an output or update that needs a copy at the end of the run */
    bool apart;  /* its storage is a caller's: see results_apart */
} PlanVar;
size_t plan_vars(const Plan *p);
PlanVar plan_var(const Plan *p, size_t i); /* in the graph's order, leaves first */

/* Values for dims that no input determines (or that replace a run, in static
 * reports). */
typedef struct DimValue {
    Sym name;
    int64_t value;
} DimValue;
/* Bytes of a variable when its shape follows from its type and dims; else -1. */
int64_t plan_bytes(const Plan *p, Var v, size_t ndim, const DimValue *dim);
typedef struct PlanMemory {
    uint64_t peak; /* storage for intermediates, outputs and new values of shared
                      variables, as the plan stands */
    uint64_t peak_no_inplace; /* the same without overwriting */
    uint64_t peak_no_reuse;   /* every value in storage of its own */
    uint64_t least;    /* bytes alive at the worst instruction: a lower bound for any
                        * packing */
    uint32_t least_at; /* that instruction */
    uint64_t leaves;   /* inputs, shared variables, constants */
    uint32_t unknown;  /* values of unknown size: not included in these figures */
} PlanMemory;
/* bytes: by variable, the observed bytes of arrays whose dims are unknown; -1: not
 * observed. NULL: none. */
PlanMemory plan_memory(const Plan *p, size_t ndim, const DimValue *dim,
                       const int64_t *bytes);

/* A call for a block of rows after the other (the prop `rows`). */
typedef struct CallRows {
    const int64_t *in; /* by input: the axis of the rows; -1: it has none */
    int *out;          /* by output: the same; -1: a sum over the rows */
} CallRows;
/* NULL: all rows at once. */
const CallRows *call_rows(const Graph *g, ApplyId id, Arena *a);
/* How many rows a block has (all, if that is small) where the dims of the function, of
 * which p is the plan, have these sizes. */
int64_t plan_block_rows(const Plan *p, const CallRows *r, size_t ndim,
                        const DimValue *dim);

/* ---- running ---- */
typedef struct Machine Machine;
/* The plan must outlive the machine. Never fails; the first run allocates memory. */
Machine *vm_new(const Plan *p);
void vm_free(Machine *m); /* NULL is allowed */

/* Sets an input by position. Takes a reference to the value's buffer; memory without a
 * buffer must stay valid until the input is set again. The value must have passed its
 * type's filter; kind, dtype, rank and known dims are checked again. False:
 * diagnosed. */
bool vm_set_input(Machine *m, size_t i, const Value *v);
/* The value that was set; NULL: none. */
const Value *vm_input(const Machine *m, size_t i);
/* Sets a shared variable by position. Without this the first run uses the graph's value
 * or computes the initial expression. The caller's buffer is never written: a value to
 * be updated in place is copied first. After a run that updated the variable, the new
 * value goes into the old one's storage (filter_inplace), unless somebody else holds
 * that or the shape differs. */
bool vm_set_shared(Machine *m, size_t i, const Value *v);
/* Fixes a dim; E_SHAPE at the run if an input disagrees. */
void vm_set_dim(Machine *m, Sym name, int64_t value);

/* One call: checks dims, runs, then stores all updates at once. False: diagnosed;
 * outputs are undefined, and shared variables updated in place may already have their
 * new values. */
bool vm_run(Machine *m);

/* After a failed run: the rewrite that made the Apply at which it stopped; NULL: none,
 * or something else stopped it. */
const char *vm_blamed(const Machine *m);

/* Borrowed; valid until the next run. To keep it longer, take a reference
 * (value_copy_view): the next run then leaves that buffer alone and writes to a fresh
 * one (own_results says how much the buffer holds). Outputs never share memory with
 * each other or with inputs, shared variables and constants. */
const Value *vm_output(const Machine *m, size_t i); /* graph's outputs, or `want` */
const Value *vm_shared(Machine *m,
                       size_t i); /* the current value, also before the first run; NULL:
                                     diagnosed (init failed) */
const Value *
vm_until(const Machine *m); /* the loop condition of a function; NULL if it has none */
/* Any planned variable after a run of a plan with keep_all; NULL if it isn't planned or
 * wasn't needed in that run. Borrowed until the next call. */
const Value *vm_value(Machine *m, Var v);

/* Called around each executed instruction, none of which does another one's work then.
 * `c` shows the Apply with its inputs and
 * (after) outputs; in functions c->g is the function. Inputs that a lazy Apply doesn't
 * need have kind TYPE_NONE; `after` with nout 0 means that it requests more and will
 * run again. A callback that returns false has diagnosed an error and stops the run.
 * NULL members are skipped.
 * `enter` is called before the Apply `id` of g runs its function, and before each step
 * if that is a loop: steps count from 0, a call is step -1. False: the instructions
 * inside run without callbacks; otherwise `leave` follows them. */
typedef struct VmHooks {
    void *ctx;
    bool (*before)(void *ctx, size_t step, const Call *c);
    bool (*after)(void *ctx, size_t step, const Call *c, double seconds);
    bool (*enter)(void *ctx, const Graph *g, ApplyId id, const Graph *fn, int64_t step);
    void (*leave)(void *ctx);
    bool untimed; /* `after` doesn't ask how long it took */
} VmHooks;
void vm_set_hooks(Machine *m, const VmHooks *h); /* NULL: none; the struct is copied */

/* Memory that the machine currently holds, by purpose. */
typedef struct VmMemory {
    uint64_t arena;   /* planned storage, outputs included unless own_results */
    uint64_t grown;   /* storage that grew on demand, where shapes were not known; new
                         values of shared variables, and outputs with own_results */
    uint64_t scratch; /* kernels' and block registers */
} VmMemory;
VmMemory vm_memory(const Machine *m);

/* inner_run's outputs are the function's, then its `until` if it has one. */

#endif
