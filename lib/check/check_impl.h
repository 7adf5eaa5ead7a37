/* Shared by the files of DebugMode. A graph is rewritten once while every node that
 * ever exists in it is copied into a graph of DebugMode's own, the log. In each call,
 * kernels alone compute every variable of the log, in DebugMode's storage, and each
 * replacement is compared with what it replaced. */
#ifndef CHECK_CHECK_IMPL_H
#define CHECK_CHECK_IMPL_H

#include "check/check.h"
#include "value/class.h"

/* ---- the log ---- */
/* One replacement, as variables of the log. rule is interned. */
typedef struct Pair {
    Var before, after;
    const char *rule;
    Approx how;
} Pair;
/* One graph of the log: the main graph or a function, as it was before rewriting, plus
 * everything added to it since. */
typedef struct RewriteLog {
    Graph *g;
    Vec(Pair) pair, whole; /* whole: roots before and after all rewriting */
    /* the graph being copied, and the copies of its variables */
    const Graph *of;
    uint32_t epoch;
    Vec(Var) map;
    Vec(uint8_t) runs; /* by variable: in the rewritten graph (1), one of its results
                        * (2) */
    uint64_t checked;  /* number of checked runs */
} RewriteLog;

/* A step of the rewriting, for comparison when it is repeated. */
typedef struct Event {
    Sym rule, graph;
    Var before, after;
    uint32_t epoch;
    Span at;
} Event;

/* ---- findings ---- */
typedef struct Finding {
    Diag d;
    struct Finding *next;
} Finding;

/* ---- values ---- */
typedef struct Kept {
    void *data; /* tensors: contiguous */
    Buffer *buf;
    const int64_t *shape;
    Value *box; /* other types */
    bool has;
} Kept;
/* One run of one graph of the log. */
typedef struct ReferenceRun {
    struct Check *c;
    RewriteLog *b;
    const Graph *g;
    Arena *a;
    Kept *kept;       /* by variable */
    const char **why; /* by Apply: its kernel's error, if it failed */
    uint8_t *unread;  /* by input of each Apply: a lazy one didn't need it */
    Map dim;          /* sym to value */
    struct ReferenceRun *outer;
} ReferenceRun;

/* ---- storage for runs ---- */
typedef struct Room {
    Buffer *buf;
    size_t bytes; /* between the guards */
} Room;
typedef Vec(Room) Rooms;
/* Rooms of finished runs: an op that writes to one has kept a pointer to it. A ring,
 * only for ops of plugins: others keep nothing between runs. */
enum { PAST_ROOMS = 32, PAST_BYTES = 1 << 16 };
typedef struct PastRoom {
    Room room; /* buf NULL: unused */
    const Op *op;
    bool input;
    uint64_t hash;
} PastRoom;
typedef struct Past {
    PastRoom room[PAST_ROOMS];
    unsigned next;
} Past;
/* Takes ownership of the rooms; the first nin belonged to inputs. */
void past_keep(Past *p, const Op *op, size_t nin, Rooms *r);
/* The next room that changed since it was last checked; NULL: none. */
const PastRoom *past_changed(Past *p);
void past_free(Past *p);

struct Check {
    Session *s;
    Arena *a;
    CheckOptions o;
    Graph *log_graph; /* main graph of the log */
    Vec(RewriteLog *) logs;
    Map log_of;   /* name of a function, 0: main */
    Map body_of;  /* definitions of ops given as formulas */
    Approx loose; /* for pairs that span all rewrites: the loosest tolerance among
                   * them */
    Graph *ready;
    Var *ready_map; /* its variables in the log */
    Vec(Event) log;
    Vec(DimValue) dim;
    Finding *first, **last, *newest;
    size_t found, hidden, warned;
    Services real; /* the services without DebugMode */
    Map reported;  /* findings already reported */
    Map often;     /* by signature: number of checks */
    Map strayed;   /* variables of `ready` whose value in the current call isn't the
                    * kernels'; what follows from that is no error of its own */
    Past past;
    ReferenceRun main;
    const char *limit; /* the error when memory, time or call depth ran out; NULL:
                        * none */
    DiagCode limit_code;
    Span limit_at;
    bool nonfinite; /* one was reported */
    bool unsure;    /* the current run may not be needed: values need not be finite */
    bool open;      /* main has the values of the current call */
};

bool check_is_array(const Value *v); /* inspect.c */
/* ---- report.c ---- */
/* Adds a finding unless it was reported before; notes may follow. `key` decides which
 * findings are the same. */
bool found(Check *c, DiagCode code, uint64_t key, Span at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool found_warning(Check *c, DiagCode code, uint64_t key, Span at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void found_hint(Check *c, Hint h);
void found_note(Check *c, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* dtype, shape, strides, range, and the elements of a small one. */
void check_note_value(Check *c, const char *label, const Value *v);
/* The i-th element in C order, 0-d, and its index. */
Tensor check_element(const Tensor *t, int64_t i, int64_t index[MAX_NDIM]);
double check_distance(const Tensor *a, const Tensor *b); /* of two elements */
/* Notes where and by how much two values differ. */
void check_note_difference(Check *c, const Value *want, const Value *got, Approx how);
void check_note_apply(Check *c, const Graph *g, ApplyId a);
void check_note_tree(Check *c, const char *label, const Graph *g, Var v);
bool check_full(const Check *c); /* enough findings */
bool check_tell(Check *c); /* reports the findings to the session; false if there are
                            * any */
/* Drops the diagnostics since `mark` and returns the first error's text. */
const char *check_forget(Check *c, size_t mark);

/* ---- rewrite_log.c ---- */
bool rewrite_log_open(Check *c, Graph *g); /* copies g, rewrites it, makes c->ready */
RewriteLog *rewrite_log_get(Check *c,
                            const Graph *g); /* the log of the graph of that name */
void rewrite_log_free(Check *c);
/* The definition of an op given as a formula, as a log of its own. */
RewriteLog *rewrite_log_of_body(Check *c, Graph *body);
/* `how`, overridden by the user's comparison for variable v of g. */
Approx check_how(const Graph *g, Var v, Approx how);
/* ---- order.c ---- */
void order_log(Check *c, const RewriteEvent *e);
bool order_check(Check *c, Graph *g); /* rewrites g again; false: diagnosed */
void rewrite_log_maps(Check *c);      /* equal ops have equal maps */

/* ---- storage.c: arrays in any layout, between guard bytes ---- */
typedef struct Form {
    const char *name;
    int step; /* strides of the innermost four dims; 0: C order; F_ORDER */
    int grow; /* additional (or missing) elements in `dim`, -1: in every dim */
    int dim;
    bool bytes; /* filled with 0xAA, else with 666 */
} Form;
extern const Form form_plain; /* C order, 0xAA */
enum { F_ORDER = 99, GUARD_BYTES = 64 };
/* An array of that form and shape (before `grow`); adds its room to `rooms`. False:
 * diagnosed. */
bool form_new(Check *c, const Form *f, DType d, int ndim, const int64_t *shape,
              Rooms *rooms, Tensor *out);
bool room_is_intact(const Room *r);
/* Does the room hold exactly `like`, with every other byte untouched? */
bool room_holds(Check *c, const Room *r, const Form *f, const Tensor *like);
void *room_raw(Check *c, size_t bytes, Rooms *rooms); /* NULL: diagnosed */
void rooms_free(Rooms *r);
void room_fill_666(DType d, void *p, size_t n);

/* ---- reference_eval.c ---- */
void reference_open(ReferenceRun *f, Check *c, RewriteLog *b);
void reference_close(ReferenceRun *f);
/* False: not enough memory, diagnosed. */
bool reference_set(ReferenceRun *f, Var v, const Value *x);
bool reference_get(const ReferenceRun *f, Var v,
                   Value *x); /* borrowed; false: no value */
/* The same as a value that the caller owns: arrays are copied. */
bool reference_copy(const ReferenceRun *f, Var v, Value *x);
void reference_bind(ReferenceRun *f, const Type *t,
                    const Value *x); /* binds dims from a leaf's shape */
/* The reason why a variable has no value. */
const char *reference_reason(const ReferenceRun *f, Var v);
/* Computes all variables, with checks if `checked`. */
void reference_run(ReferenceRun *f, bool checked);

/* ---- kernel_trial.c: one Apply, run in many variations ---- */
typedef struct KernelTrial {
    ReferenceRun *f;
    Check *c;
    Session *s;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    Value *in; /* as kept; kind TYPE_DISCONNECTED: missing */
    bool *there;
    const Type **type; /* of outputs */
    Arena *a;
    bool loops, lazy, inner, by_formula;
    void *state[2]; /* of its thunk: normal, debug */
    bool made[2];
    Value *base;  /* the first results, as copies that no run can reach */
    Value *first; /* the original results, to detect shared memory */
} KernelTrial;
typedef enum RunHow { RUN_KERNEL, RUN_REFERENCE, RUN_BASELINE, RUN_SINGLE } RunHow;
/* What a run tests; one finding is reported per op and kind. */
typedef enum RunKind {
    KIND_FIRST,
    KIND_REPEAT,
    KIND_REFERENCE,
    KIND_BASELINE,
    KIND_SINGLE,
    KIND_STORAGE,
    KIND_INPUTS,
    KIND_REUSE,
    KIND_IDENTITY,
    KIND_BLANK,
    KIND_SWAP,
    KIND_VM,
    KIND_STEP,
    KIND_KEPT
} RunKind;
typedef struct OpRun {
    RunKind kind;
    const char *how; /* "when its inputs are in Fortran order" */
    RunHow impl;
    const Form *in, *out;   /* NULL: contiguous copies; none given */
    struct OpRun *previous; /* reuses this run's outputs as storage */
    int reuse;              /* 1 + the input that an output may overwrite */
    size_t reuse_out;       /* that output */
    bool swapped, blank, renewed, watched;
    bool others; /* floats are replaced by 666 */
    bool eager;  /* a lazy thunk gets all its inputs at once */
    int moved;   /* floats are off by a last digit, in directions of this number */
    bool poison; /* storage requested by the kernel holds 666 instead of 0xAA */
    /* results */
    Value *given, *out_value;
    const Value **given_p;
    Rooms rooms;
    size_t nroom_in; /* the first rooms belong to inputs */
    size_t *room_of; /* by input; SIZE_MAX: none */
    bool *copied;    /* by input: a copy of a non-array */
    bool ok;
    bool broken;     /* its thunk violated the protocol */
    const char *why; /* the kernel's error */
} OpRun;
/* Runs it once. False: the kernel failed (why). */
bool trial_run(KernelTrial *x, OpRun *r);
void trial_end(KernelTrial *x, OpRun *r);
/* Copies a value to memory of its own, if it is an array or the op's plugin can copy
 * it. */
bool trial_clone(KernelTrial *x, const Value *from, Value *to, bool *own);

/* ---- rounding.c ---- */
/* May rounding explain that two computations of variable v gave these? stop: where they
 * start, as in DriftOf; NULL: at the leaves. */
bool rounding_explains_var(const ReferenceRun *f, Var v, const uint8_t *stop,
                           const Value *want, const Value *got, Approx how);
/* The same where `after` replaced `before`, from what both are made of. */
bool rounding_explains_pair(const ReferenceRun *f, const Pair *p, const Value *want,
                            const Value *got);
/* Moves the elements by a last digit, in directions that depend on `run` (which says
 * the input, too). */
void rounding_move(Tensor *t, int run);
/* Where output i isn't about its first value: may rounding make it so, as the op's
 * reference kernel tells? */
bool rounding_explains(KernelTrial *x, size_t i, const Value *got, Approx how);

/* ---- inspect.c ---- */
uint64_t trial_key(const KernelTrial *x, DiagCode code, RunKind kind);
Span trial_place(const KernelTrial *x);
void trial_note(KernelTrial *x); /* the Apply and its inputs */
void trial_note_type(KernelTrial *x, size_t i, const Value *v);
/* Checks everything that must hold after any run. False: the outputs are unusable. */
bool trial_inspect(KernelTrial *x, OpRun *r);
/* Checks that the results equal those of the first run. */
bool trial_same(KernelTrial *x, const OpRun *r, bool bits);

/* ---- op.c ---- */
/* Reports non-finite results. */
void op_finite(ReferenceRun *f, ApplyId a,
               bool again); /* again: run functions once more */
/* Runs the Apply, checked or not, and stores its results in the frame. */
void op_check(ReferenceRun *f, ApplyId a, bool checked);
/* ---- history.c: what an op of a plugin remembers ---- */
/* The results that it has in another process after runs on other values; NULL: there
 * are none to compare. Call it before the op's first run in this one. */
Value *history_run(KernelTrial *x);
void history_check(KernelTrial *x, Value *result); /* with those of the first run */
void history_free(const KernelTrial *x, Value *result);
/* Services.eval while the graph is rewritten: runs ops of plugins in a copy of the
 * process. */
bool history_fold(Graph *g, size_t n, const Var *want, Value *out);
/* ---- userop_trial.c: ops defined by formulas ---- */
/* Runs the definition op by op, with checks in its first runs. */
bool userop_trial(KernelTrial *x, OpRun *r);
/* ---- shape.c ---- */
void shape_check(KernelTrial *x);
/* Runs an Apply on its own in the machine, on inputs of that form. */
void vm_check(KernelTrial *x, const Form *form);
/* ---- inner.c: functions that kernels run ---- */
void inner_swap(Check *c, Services *kept, bool watched);
void inner_restore(Check *c, const Services *kept);

uint64_t check_key(DiagCode code, const void *what, uint64_t more);

#endif
