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
 * prints of a branch that is not taken stay silent. The order of instructions and the
 * storage are the same in both cases. */
#ifndef VM_VM_H
#define VM_VM_H

#include "op/services.h"

/* Fills in the services that this row offers (eval, inner_new, inner_run, inner_free).
 */
void vm_open(Session *s);

/* ---- planning ---- */
typedef struct Plan Plan;
/* All zero: the graph's outputs, updates and effects, with everything switched on. */
typedef struct PlanOptions {
    size_t nwant;
    const Var *want;  /* instead of the graph's outputs when not NULL; updates and
                         effects stay */
    bool only_want;   /* no updates, no effects */
    bool no_updates;  /* shared variables keep their values */
    bool no_fuse;     /* functions marked fused run op by op */
    bool no_code;     /* no machine code is made for elementwise arithmetic */
    bool no_inplace;  /* nothing is overwritten by its own result */
    bool no_reuse;    /* --no-gc: every value keeps its storage to the end of the run */
    bool keep_all;    /* no_reuse and no_inplace, and vm_value answers for every planned
                         variable */
    Impl impl;        /* IMPL_DEBUG: ops that have a debug kernel run by it; thunks are
                         told */
    bool debugging;   /* DebugMode: ops that say so are run by their debug kernel */
    unsigned threads; /* 0: the session's pool; 1: the caller's thread only */
} PlanOptions;
/* The graph must stay as it is while the plan lives. NULL: diagnosed (an op that can't
 * run on these types). */
Plan *plan_new(Graph *g, const PlanOptions *o);
void plan_free(Plan *p); /* NULL is fine */
const Graph *plan_graph(const Plan *p);

/* What was planned, for reports. Instructions are numbered in the order they run. */
typedef enum PlanKind {
    PLAN_LOOP,    /* one elementwise op over blocks */
    PLAN_FUSED,   /* a group of them, and a reduction of what one of them makes: a call
                     of a function marked fused */
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
} PlanStep;
size_t plan_steps(const Plan *p);
PlanStep plan_step(const Plan *p, size_t i);

typedef enum PlanHow {
    PLAN_LEAF,    /* an input, a shared variable, a constant, a dim */
    PLAN_OWN,     /* storage of its own for its life */
    PLAN_INPLACE, /* written over `of` */
    PLAN_VIEW     /* may view `of`, whose storage lives as long */
} PlanHow;
typedef struct PlanVar {
    Var var;
    PlanHow how;
    Var of;
    uint32_t store; /* values with one number share storage; UINT32_MAX for leaves */
    uint32_t born, dies; /* instructions; dies == plan_steps(): kept to the end; leaves
                            are born at 0 */
    bool copied; /* an output or update that needs a copy at the end of the run */
} PlanVar;
size_t plan_vars(const Plan *p);
PlanVar plan_var(const Plan *p, size_t i); /* in the order of birth, leaves first */

/* Values for dims that no input tells (or instead of a run at all, for static reports).
 */
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
    uint64_t least; /* bytes alive at the worst instruction: no packing can need less */
    uint32_t least_at; /* that instruction */
    uint64_t leaves;   /* inputs, shared variables, constants */
    uint32_t unknown; /* values whose size can't be told: not in any of these figures */
} PlanMemory;
/* bytes: by variable, those of arrays that dims don't tell, as a run found them; -1:
 * not known. NULL: none are. */
PlanMemory plan_memory(const Plan *p, size_t ndim, const DimValue *dim,
                       const int64_t *bytes);

/* ---- running ---- */
typedef struct Machine Machine;
/* The plan must outlive the machine. Never fails; memory is taken by the first run. */
Machine *vm_new(const Plan *p);
void vm_free(Machine *m); /* NULL is fine */

/* Inputs by position. Takes a reference to the value's buffer; memory without a buffer
 * must stay valid until the input is set anew. The value has been through its type's
 * filter; kind, dtype, rank and known dims are checked again. False: diagnosed. */
bool vm_set_input(Machine *m, size_t i, const Value *v);
/* The value that was set; NULL: none. */
const Value *vm_input(const Machine *m, size_t i);
/* Shared variables by position. Without this the first run takes the graph's value, or
 * computes the initial expression. The caller's buffer is never written: a value that
 * is to be updated in place is copied first. After a run that updated the variable the
 * new value goes into the old one's storage (filter_inplace), unless somebody else
 * holds that or the shape is another. */
bool vm_set_shared(Machine *m, size_t i, const Value *v);
/* Fixes a dim; E_SHAPE at the run if an input disagrees. */
void vm_set_dim(Machine *m, Sym name, int64_t value);

/* One call: checks dims, runs, then stores all updates at once. False: diagnosed;
 * outputs are undefined, and shared variables that are updated in place may have their
 * new values already. */
bool vm_run(Machine *m);

/* After a run that failed: the rewrite that made the Apply at which it stopped; NULL:
 * none did, or something else stopped it. */
const char *vm_blamed(const Machine *m);

/* Borrowed; contents stay until the next run. Who keeps one longer takes a reference
 * (value_copy_view): the next run then leaves that buffer alone and writes to a fresh
 * one. Outputs never share memory with each other or with inputs, shared variables and
 * constants. */
const Value *vm_output(const Machine *m, size_t i); /* graph's outputs, or `want` */
const Value *vm_shared(Machine *m,
                       size_t i); /* the current value, also before the first run; NULL:
                                     diagnosed (init failed) */
const Value *
vm_until(const Machine *m); /* the loop condition of a function; NULL if it has none */
/* Any planned variable after a run of a plan with keep_all; NULL if it is not planned,
 * or was not needed in that run. Borrowed until the next call. */
const Value *vm_value(Machine *m, Var v);

/* Called around each instruction that is run. `c` shows the Apply with its inputs and
 * (after) outputs; in functions c->g is the function. Inputs that a lazy Apply does not
 * need are of kind TYPE_NONE; `after` with nout 0 tells that it asks for more and will
 * be run again. A callback that returns false has diagnosed and stops the run. NULL
 * members are skipped. */
typedef struct VmHooks {
    void *ctx;
    bool (*before)(void *ctx, size_t step, const Call *c);
    bool (*after)(void *ctx, size_t step, const Call *c, double seconds);
} VmHooks;
void vm_set_hooks(Machine *m, const VmHooks *h); /* NULL: none; the struct is copied */

/* Memory that the machine holds now, by what it is for. */
typedef struct VmMemory {
    uint64_t arena; /* planned storage */
    uint64_t grown; /* storage that grew on demand, where shapes were not known; outputs
                       and new values of shared variables */
    uint64_t scratch; /* kernels' and block registers */
} VmMemory;
VmMemory vm_memory(const Machine *m);

/* inner_run's outputs are the function's, then its `until` if it has one. */

#endif
