/* What the files of DebugMode share. A graph is rewritten once while everything that
 * ever stands in it is copied into a graph of our own, the book; for each call every
 * variable of the book is computed by the kernels alone, in storage of ours, and each
 * replacement is compared with what it replaced. */
#ifndef CHECK_CHECK_IMPL_H
#define CHECK_CHECK_IMPL_H

#include "check/check.h"
#include "value/class.h"

/* ---- the book ---- */
/* One replacement, by variables of the book. rule is interned. */
typedef struct Pair {
    Var before, after;
    const char *rule;
    Approx how;
} Pair;
/* One graph of the book: the main graph or a function, as it was before rewriting, with
 * all that came up for it since. */
typedef struct Book {
    Graph *g;
    Vec(Pair) pair, whole; /* whole: roots before and after everything */
    /* the graph that is being copied, and where its variables went */
    const Graph *of;
    uint32_t epoch;
    Vec(Var) map;
    Vec(uint8_t) runs; /* by variable: it stands in the rewritten graph (1), as one of
                          its results (2) */
    uint64_t checked;  /* runs that were looked at */
} Book;

/* What rewriting did, for doing it again. */
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

/* ---- values that are known ---- */
typedef struct Kept {
    void *data; /* tensors: contiguous */
    Buffer *buf;
    const int64_t *shape;
    Value *box; /* other types */
    bool has;
} Kept;
/* One run of one graph of the book. */
typedef struct CompileFrame {
    struct Check *c;
    Book *b;
    const Graph *g;
    Arena *a;
    Kept *kept;       /* by variable */
    const char **why; /* by Apply: what its kernel said when it failed */
    uint8_t *unread;  /* by input of each Apply: a lazy one did without it */
    Map dim;          /* sym to value */
    struct CompileFrame *outer;
} CompileFrame;

/* ---- storage that runs get ---- */
typedef struct Room {
    Buffer *buf;
    size_t bytes; /* between the guards */
} Room;
typedef Vec(Room) Rooms;
/* Rooms of runs that are over: who writes to one has kept a pointer to it. A ring, for
 * ops of plugins only: others keep nothing between runs. */
enum { PAST_ROOMS = 32, PAST_BYTES = 1 << 16 };
typedef struct PastRoom {
    Room room; /* buf NULL: none */
    const Op *op;
    bool input;
    uint64_t hash;
} PastRoom;
typedef struct Past {
    PastRoom room[PAST_ROOMS];
    unsigned next;
} Past;
/* Takes the rooms over, of which the first nin were inputs. */
void past_keep(Past *p, const Op *op, size_t nin, Rooms *r);
/* The next one that was written to since it was looked at; NULL: none. */
const PastRoom *past_changed(Past *p);
void past_free(Past *p);

struct Check {
    Session *s;
    Arena *a;
    CheckOptions o;
    Graph *book; /* main graph of the book */
    Vec(Book *) books;
    Map book_of;  /* name of a function, 0: main */
    Map body_of;  /* definition of an op that is a text */
    Approx loose; /* for what went through all rewrites: the widest of them */
    Graph *ready;
    Var *ready_map; /* its variables in the book */
    Vec(Event) log;
    Vec(DimValue) dim;
    Finding *first, **last, *newest;
    size_t found, hidden, warned;
    Services real; /* as they are without us */
    Map told;      /* what was told already */
    Map often;     /* by signature: how often it was checked */
    Past past;
    CompileFrame main;
    const char *limit; /* what was said when memory, time or the depth of calls ran out;
                          NULL: none did */
    DiagCode limit_code;
    bool nonfinite; /* one was told */
    bool unsure;    /* what is being run may not be needed: nothing has to be finite */
    bool open;      /* main has values of the call that runs */
};

bool is_array(const Value *v); /* inspect.c */
/* ---- report.c ---- */
/* Adds a finding unless the same was told before; then notes may be added. `key` says
 * what counts as the same. */
bool found(Check *c, DiagCode code, uint64_t key, Span at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool found_warning(Check *c, DiagCode code, uint64_t key, Span at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void found_note(Check *c, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* dtype, shape, strides, range, and the elements of a small one. */
void note_value(Check *c, const char *label, const Value *v);
/* Where and by how much two values differ. */
void check_note_difference(Check *c, const Value *want, const Value *got, Approx how);
void note_apply(Check *c, const Graph *g, ApplyId a);
void note_tree(Check *c, const char *label, const Graph *g, Var v);
bool check_full(const Check *c); /* no more findings are wanted */
bool check_tell(Check *c); /* puts findings into the session; false if there are any */
/* Takes the diagnostics since `mark` away and returns what the first error said. */
const char *check_forget(Check *c, size_t mark);

/* ---- rewrite_log.c ---- */
bool book_open(Check *c, Graph *g);       /* copies g, rewrites it, makes c->ready */
Book *book_get(Check *c, const Graph *g); /* of the book's graph of that name */
void book_free(Check *c);
/* The definition of an op that is a text, as a graph of the book by itself. */
Book *book_of_body(Check *c, Graph *body);
/* `how`, with what the user said of comparing variable v of g. */
Approx check_how(const Graph *g, Var v, Approx how);
/* ---- order.c ---- */
void order_log(Check *c, const RewriteEvent *e);
bool order_check(Check *c, Graph *g); /* rewrites g again; false: diagnosed */
void book_maps(Check *c);             /* equal ops have equal maps */

/* ---- storage.c: arrays between guards, of any layout ---- */
typedef struct Form {
    const char *name;
    int step; /* of the innermost four dims; 0: C order; F_ORDER */
    int grow; /* elements more (or less) in `dim`, -1: every one */
    int dim;
    bool bytes; /* filled with 0xAA, else with 666 */
} Form;
extern const Form form_plain; /* C order, 0xAA */
enum { F_ORDER = 99, GUARD_BYTES = 64 };
/* An array of that form and shape (before `grow`); its room is added to `rooms`. False:
 * diagnosed. */
bool form_new(Check *c, const Form *f, DType d, int ndim, const int64_t *shape,
              Rooms *rooms, Tensor *out);
bool room_is_intact(const Room *r);
/* Is every byte of the room as if `like` had just been put into it? */
bool room_holds(Check *c, const Room *r, const Form *f, const Tensor *like);
void *room_raw(Check *c, size_t bytes, Rooms *rooms); /* NULL: diagnosed */
void rooms_free(Rooms *r);
void fill_666(DType d, void *p, size_t n);

/* ---- reference_eval.c ---- */
void frame_open(CompileFrame *f, Check *c, Book *b);
void frame_close(CompileFrame *f);
/* False: not enough memory, diagnosed. */
bool frame_set(CompileFrame *f, Var v, const Value *x);
bool frame_get(const CompileFrame *f, Var v,
               Value *x); /* borrowed; false: it has no value */
/* The same as a value of the caller's own: arrays are copied. */
bool frame_copy(const CompileFrame *f, Var v, Value *x);
void frame_bind(CompileFrame *f, const Type *t,
                const Value *x); /* dims by a leaf's shape */
/* Why a variable has no value. */
const char *frame_reason(const CompileFrame *f, Var v);
/* Computes everything, checking on the way. */
void frame_run(CompileFrame *f, bool checked);

/* ---- kernel_trial.c: one Apply, run in many ways ---- */
typedef struct Subject {
    CompileFrame *f;
    Check *c;
    Session *s;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    Value *in; /* as kept; kind TYPE_DISCONNECTED: not there */
    bool *there;
    const Type **type; /* of outputs */
    Arena *a;
    bool loops, lazy, inner, own; /* own: its definition is a text */
    void *state[2];               /* of its thunk: usual, debug */
    bool made[2];
    Value *base;  /* what came out first, in copies that no run can reach */
    Value *first; /* the values themselves, for who else has their memory */
} Subject;
typedef enum RunHow { RUN_KERNEL, RUN_REFERENCE, RUN_BASELINE, RUN_SINGLE } RunHow;
/* What a run finds out; of each op and kind one is told. */
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
    const Form *in, *out;   /* NULL: contiguous copies; nothing */
    struct OpRun *previous; /* its outputs are given */
    int reuse;              /* 1 + the input that an output may be written over */
    size_t reuse_out;       /* that output */
    bool swapped, blank, renewed, watched;
    bool others; /* floats are 666 */
    bool eager;  /* a lazy thunk has all its inputs from the start */
    bool poison; /* storage that is asked for holds 666 instead of 0xAA */
    /* results */
    Value *given, *out_value;
    const Value **given_p;
    Rooms rooms;
    size_t nroom_in; /* the first rooms are those of inputs */
    size_t *room_of; /* by input; SIZE_MAX: it has none */
    bool *copied;    /* by input: a copy of a value that is no array */
    bool ok;
    bool broken;     /* its thunk broke the protocol */
    const char *why; /* what the kernel said */
} OpRun;
/* Runs it once. False: the kernel failed (why). */
bool subject_run(Subject *x, OpRun *r);
void subject_end(Subject *x, OpRun *r);
/* A value in memory of its own, if it is an array or the op's plugin can copy it. */
bool subject_clone(Subject *x, const Value *from, Value *to, bool *own);

/* ---- inspect.c ---- */
uint64_t subject_key(const Subject *x, DiagCode code, RunKind kind);
Span subject_place(const Subject *x);
void subject_note(Subject *x); /* the Apply and its inputs */
void subject_note_type(Subject *x, size_t i, const Value *v);
/* Everything that holds after any run. False: the outputs are of no use. */
bool subject_inspect(Subject *x, OpRun *r);
/* The results are those of the first run. */
bool subject_same(Subject *x, const OpRun *r, bool bits);

/* ---- op.c ---- */
/* Tells results that are not finite. */
void op_finite(CompileFrame *f, ApplyId a,
               bool again); /* again: functions are run once more */
/* Runs the Apply and puts its results into the frame, checked or not. */
void op_check(CompileFrame *f, ApplyId a, bool checked);
/* ---- own.c: ops that are texts ---- */
/* Runs the definition op by op, checked in its first runs. */
bool own_run(Subject *x, OpRun *r);
/* ---- shape.c ---- */
void shape_check(Subject *x);
/* An Apply of its own run by the machine on inputs of that form. */
void vm_check(Subject *x, const Form *form);
/* ---- inner.c: functions that kernels run ---- */
void inner_swap(Check *c, Services *kept, bool watched);
void inner_restore(Check *c, const Services *kept);

uint64_t check_key(DiagCode code, const void *what, uint64_t more);

#endif
