/* Shared by the files of lib/vm. A plan works with cells: the leaves and results of the
 * live part, numbered densely, leaves first. A cell's storage is a place of the
 * machine; alias.c decides which cells share a place. */
#ifndef VM_VM_IMPL_H
#define VM_VM_IMPL_H

#include "value/pattern.h"
#include "vm/pack.h"
#include "vm/vm.h"

#define NONE UINT32_MAX
enum { ALIGNMENT = 64 };
/* Outputs of this size are written past the caches, if they and the inputs have twice
 * that. */
enum { STREAM_BYTES = 16 << 20 };

/* ---- layouts: dtype, shape and strides as one pointer, so that "as in the last run"
 * is one comparison ---- */
typedef struct Layout {
    DType dtype;
    int ndim;
    bool contiguous;
    int64_t size; /* elements */
    size_t bytes; /* of the elements; SIZE_MAX: more than can be addressed */
    uint64_t hash;
    const int64_t *shape, *stride;
} Layout;
typedef struct Layouts {
    Session *s;
    Arena *arena;
    Index index;
    Vec(Layout *) all;
} Layouts;
void layouts_init(Layouts *l, Session *s);
void layouts_free(Layouts *l);
/* stride NULL: contiguous */
const Layout *layout_get(Layouts *l, DType d, int ndim, const int64_t *shape,
                         const int64_t *stride);
bool layout_is(const Layout *l, const Tensor *t);
void layout_shape_text(const Layout *l, Str *out);

/* ---- block programs: elementwise ops over registers of one block each ---- */
typedef struct BlockOp {
    Loop *loop; /* NULL: copies its input */
    const Op *op;
    ApplyId apply;
    uint32_t arg; /* nin slots, then nout */
    uint16_t nin, nout;
} BlockOp;
/* A loop that sums columns of a program's result in float64, over rows whose columns
 * are adjacent or a single element: in the order of the loops of reductions, or row
 * after row. Its output is followed by the steps of its inputs from row to row, those
 * back to the first one, how many times COLUMN_TREE rows, and other rows, there are,
 * and whether they are added to what is there. */
typedef enum ColumnWord {
    COLUMN_STEPS,
    COLUMN_BACK,
    COLUMN_TREES,
    COLUMN_ROWS,
    COLUMN_MORE
} ColumnWord;
enum { COLUMN_TREE = 8 };
typedef struct ColumnLoop {
    BlockOp *op;     /* NULL: none */
    bool *is_single; /* by input of op */
} ColumnLoop;
/* Slots are numbered inputs, outputs, registers. Values are numbered inputs, then
 * results in order. */
typedef struct BlockProgram {
    const Graph *g; /* the graph of the ops: the plan's graph, or the fused function */
    uint32_t nop, nin, nout, nreg, nslot, nvalue, max_arg,
        width;       /* width: bytes of the widest register element */
    uint32_t work;   /* of an element, about, where that of an addition is 1 */
    uint32_t nplain; /* the first inputs are the step's; the rest are constants and dims
                        of the function */
    uint32_t nplaced; /* so are the first outputs; the last one may exist only for the
                       * reduction */
    const Op *fold;   /* the op that takes an output in pieces, as a reduction does, and
                       * makes the step's last result of it; NULL: none */
    ApplyId folded_by;
    uint32_t folded;                 /* that output */
    uint32_t fold_in[STREAM_INPUTS]; /* values: its inputs */
    BlockOp *op;                     /* in the graph's form */
    BlockOp *run; /* in executable form, partly machine code; op itself without any */
    uint32_t nrun;
    Loop *past;      /* run[0], if it is the only one, with outputs written past
                      * the caches; NULL: no such loop */
    BlockOp *nest;   /* the whole program as a loop over rows, whose arguments are
                      * followed by their steps from row to row and the number of
                      * rows; NULL: no such loop */
    bool *is_single; /* by input: to `nest`, one element for each row */
    BlockOp *steps;  /* the whole program as a loop over steps on single elements, whose
                      * arguments are followed by their distances from step to step and
                      * the number of steps, which becomes that of those left: more
                      * than 0 where the loop was to end; NULL: no such loop */
    BlockOp *adds;   /* run[nrun - 1] as a loop that adds the reduced output to the
                      * sums of Pieces; NULL: no such loop */
    ColumnLoop columns[2];  /* [0]: columns along the last dim; [1]: along the one
                             * before it, row after row, for sums of short rows */
    uint32_t *slot, *value; /* by BlockOp.arg */
    Var *var;               /* by value */
    uint32_t *out_value;
    uint32_t *last_read; /* by input: op, NONE: never */
    uint32_t *written;   /* by output: op */
    uint32_t *size;      /* by input, then output: bytes of an element */
} BlockProgram;
/* Of one elementwise Apply. NULL: diagnosed. */
BlockProgram *program_of_apply(Arena *a, const Graph *g, ApplyId id);
/* For a fused function, with ops defined by formulas replaced by their bodies. NULL,
 * without a diagnostic: it must run as an ordinary function. */
BlockProgram *program_of_function(struct Plan *p, const Graph *fn);
/* Orders n Applies of fn, which are in the graph's order, so that fewer of their
 * results are alive at once: program_order.c. */
void program_order(const Graph *fn, uint32_t n, ApplyId *order);
static inline uint32_t program_bytes(const BlockProgram *b, uint32_t value) {
    return (uint32_t)dtype_size(var_type(b->g, b->var[value])->dtype);
}
/* Adds machine code to the programs of an otherwise finished plan. */
void plan_build_code(struct Plan *p);
/* May output `out` overwrite the storage of input `in` while the program runs? */
bool program_may_overwrite(const BlockProgram *b, uint32_t out, uint32_t in);

/* ---- plans ---- */
/* A later instruction that only changes the elements of this one's output, in place
 * (after.c). */
typedef struct PlanAfter {
    uint32_t step; /* that instruction */
    uint32_t n;
    AfterOp op[AFTER_MOST];
    uint32_t input[AFTER_MOST]; /* of its program: the operands */
} PlanAfter;
typedef struct Ins {
    PlanKind kind;
    ApplyId apply;
    uint32_t arg; /* nin cells, then nout */
    uint16_t nin, nout;
    uint32_t kill, nkill; /* cells whose last use this is */
    const Graph *fn;
    bool shards; /* PLAN_SCAN: over shards */
    bool begins; /* PLAN_PERFORM: may be begun, and finished later (overlap.c) */
    bool lands;  /* reads what such an instruction makes */
    const CallRows *rows; /* PLAN_CALL; NULL: all rows at once */
    BlockProgram *prog;
    const Thunk *thunk; /* PLAN_PERFORM: replaces the kernel */
    const PlanAfter
        *after; /* PLAN_PERFORM: what its kernel may do, too; NULL: nothing */
} Ins;
enum {
    CELL_BOXED = 1,     /* not a tensor */
    CELL_LIVE = 2,      /* a leaf that something reads */
    CELL_COPIED = 4,    /* a result that is copied at the end */
    CELL_DESTROYED = 8, /* it or a view of it is overwritten by a destroyer */
    CELL_FROM_COPY =
        16, /* made by a destroyer from a copy of what it would overwrite */
    CELL_COPY_ROOM = 32, /* a result that is a view, copied at the end, or else written
                          * where the copy would be */
    CELL_EXTENDS = 64,   /* begins or ends with the cell that it overwrites, which
                          * stays */
    CELL_AFTER = 128     /* rows of a loop with room for the initial ones before them */
};
typedef struct CellInfo {
    Var var;
    const Type *type;
    uint32_t born, dies; /* dies == nins: kept */
    uint32_t store;      /* NONE for leaves */
    uint32_t of;         /* the cell it overwrites or views, NONE */
    uint32_t root;       /* through views; itself if it isn't one */
    uint8_t how;         /* PlanHow */
    uint8_t flags;
} CellInfo;
typedef enum StoreClass {
    STORE_POOL,  /* shares the arena, or a growing slot if the size is unknown */
    STORE_LAZY,  /* for a result that may be a view: allocated only if the kernel
                  * copies */
    STORE_OUT,   /* an output that lies in the arena, if its size is known */
    STORE_OWN,   /* a buffer of its own, which a caller may keep: outputs of a plan with
                  * own_results, new values of shared variables */
    STORE_GIVEN, /* the storage of a loop's state, overwritten by its next value: the
                  * loop gives it */
    STORE_SHARED, /* the storage of shared variable `shared`, overwritten by its update
                   */
    STORE_KEPT    /* a buffer of its own, kept from run to run */
} StoreClass;
static inline bool store_is_leafs(StoreClass cls) {
    return cls == STORE_GIVEN || cls == STORE_SHARED;
}
typedef struct Store {
    StoreClass cls;
    uint32_t born, dies, shared,
        cell; /* cell: one of its cells; all have the same size */
} Store;
/* An output or an update: the cell with the value, and the store of its copy or
 * NONE. */
typedef struct Result {
    uint32_t cell, copy;
    uint32_t shared; /* updates: position in g->shared */
    bool over;       /* outputs: in the storage of the state that it replaces */
} Result;
/* A way to share storage: the plan's own, and others for comparison in reports. */
typedef struct Sharing {
    CellInfo *cell;
    Vec(Store) store;
    Result *output, *update;
    Result until;
} Sharing;
/* Data for running some instructions only on request (lazy_order.c). A lazy Apply is
 * asked what it needs as soon as its first inputs are computed; the instructions it
 * names then run in their turn. If the turn is over, or the Apply asks again, they run
 * at once: storage of such instructions and of their inputs lives that long. */
typedef struct LazyPlan {
    uint8_t *always;   /* by instruction */
    uint32_t *late;    /* by instruction: the last step before which it may run */
    uint32_t *maker;   /* by cell: instruction, NONE for leaves */
    uint32_t *reader;  /* by cell: the only instruction that reads it; NONE: none or
                        * several */
    uint32_t *watched; /* by instruction: the lazy ones waiting for it are watcher[
                        * watched[i] .. watched[i + 1]) */
    uint32_t *watcher;
    uint32_t nready, *ready; /* lazy ones that wait for nothing */
} LazyPlan;
struct Plan {
    Session *s;
    Graph *g;
    PlanOptions o;
    Arena *arena;
    uint32_t nins, ncell, nleaf, noutput, nupdate, max_in, max_out;
    Ins *ins;
    uint32_t *arg; /* cells */
    Var *arg_var;
    uint32_t *kill;
    const uint32_t *input, *shared; /* cells by position */
    Var *want;                      /* noutput */
    Update *updates;
    Var until;
    bool has_boxes, has_thunks, has_destroyers, has_after, has_overlap;
    bool *conditional; /* by effect of g: needed only conditionally; NULL: none */
    LazyPlan *lazy;    /* NULL: everything runs */
    uint32_t *early; /* by instruction: the one before it in whose course it may begin,
                      * since it needs nothing but results of that; NONE; NULL: none */
    Map cell_of; /* variable to cell; `flat` instead where the whole graph is planned */
    uint32_t *flat;
    Sharing sharing;
    Vec(Graph *) flat_fn; /* functions in the form used by block programs */
    void *code;           /* machine code of block programs; NULL: none */
    size_t code_bytes;
};
uint32_t plan_cell(const Plan *p, Var v); /* NONE: not planned */
static inline bool plan_runs_debug(const Plan *p, const Op *op) {
    if (!op->debug) return false;
    return p->o.impl == IMPL_DEBUG || (p->o.debugging && op->debug_instead);
}
static inline bool ins_is_lazy(const Ins *in) {
    return in->thunk && in->thunk->lazy;
}
static inline bool ins_asks(const Ins *in, uint32_t k) {
    return ins_is_lazy(in) && !(k < 32 && in->thunk->first >> k & 1U);
}
/* The last step before which instruction i may run. */
static inline uint32_t ins_late(const Plan *p, uint32_t i) {
    return p->lazy ? p->lazy->late[i] : i;
}
/* destroy.c: the input that output `out` may view or always overwrites, -1; only the
 * overwritten one; the one of which it gets a copy to overwrite. */
int ins_views(const Plan *p, const Ins *in, uint32_t out);
int ins_destroys(const Plan *p, const Ins *in, uint32_t out);
int ins_copies(const Plan *p, const Ins *in, uint32_t out);
bool destroy_order(Plan *p); /* false: refused, diagnosed */
/* Once the order is final: keeps what a branch may read after it would be destroyed. */
void destroy_keep_late(Plan *p);
/* after.c: finds instructions whose work kernels may do, once the order and the sharing
 * are final. */
void after_find(Plan *p);
/* lazy_order.c: instructions, smallest first */
typedef Vec(uint32_t) Heap;
void heap_push(Session *s, Heap *h, uint32_t step);
uint32_t heap_pop(Heap *h);
/* Places what only lazy Applys need right before them. */
void order_lazy(Plan *p);
void order_late(Plan *p); /* call once the order is final */
/* overlap.c: places exchanges between ranks as early as they can begin, and what reads
 * their results late; call before anything depends on the order. */
void overlap_order(Plan *p);
bool overlap_can_begin(const Plan *p, const Ins *in);
void overlap_early(Plan *p);                         /* once the order is final */
uint32_t overlap_born(const Plan *p, uint32_t step); /* when its results may begin */
void overlap_find(Plan *p); /* once the order and after_find are final */
void overlap_keep(const Plan *p, Sharing *h); /* lives of their results */
/* order.c: an order that needs less memory, unless some may not run (lazy_order.c) or
 * overlap (overlap.c). */
void order_memory(Plan *p);
/* alias.c: orders updates so that they can work in place, and decides what shares
 * storage. */
void alias_order(Plan *p);
/* May output `out` of instruction i overwrite input k, if that dies there? */
bool alias_fits(const Plan *p, const Sharing *h, uint32_t i, uint32_t out, uint32_t k);
void alias_share(const Plan *p, Arena *a, bool inplace, Sharing *out);
void alias_kills(Plan *p);

/* ---- memory.c: offsets in one arena by lifetimes ---- */
/* Spans in any order. Returns the bytes needed; UINT64_MAX: too many. */
uint64_t arena_layout(Session *s, size_t n, Span64 *span);
int64_t type_bytes(const Type *t, const Map *dims); /* -1: unknown dim */
Map dim_value_map(Session *s, size_t n, const DimValue *dim);
static inline size_t round_up(size_t n) {
    return n > SIZE_MAX - ALIGNMENT ? n
                                    : (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* ---- machines ---- */
typedef struct Cell {
    void *data;
    const Layout *layout;
    Buffer *buf;
    bool owned; /* buf is this cell's reference: a kernel supplied its own memory */
} Cell;
typedef struct Place {
    char *ptr;
    size_t cap, want; /* want: what prepared steps rely on */
    Buffer *buf;
    bool own;    /* buf belongs to this place alone, not to the arena */
    bool result; /* callers may keep its buffer: checked before each run */
    bool kept;   /* STORE_KEPT */
    bool pooled; /* unless `own`, it lies in the machine's arena */
} Place;
/* How an input of a block program is read. */
typedef enum Access {
    ACC_DIRECT,  /* in place */
    ACC_SCALAR,  /* one element for all rows: a register filled once */
    ACC_ROW,     /* one element per row: a register filled for each */
    ACC_STRIDED, /* gathered with a fixed step */
    ACC_FLAT,    /* read by index, in place where a block is adjacent */
    ACC_PATTERN, /* the same, where that repeats from row to row */
    ACC_CYCLE,   /* a short repeated row: a register longer than a block, read from the
                  * block's phase */
    ACC_ROUND,   /* one of several such rows, each repeated for long: such a register,
                  * refilled */
    ACC_TILED,   /* adjacent elements belong to different rows: transposed by tiles */
    ACC_UNUSED
} Access;
enum { TILE_ROWS = 64 };
enum { NEST_MIN = 8 }; /* elements of a row that a loop over rows is worth */
/* A block program prepared for certain layouts. */
typedef struct Prep {
    const Layout **layout; /* of inputs, then the common one of outputs by dtype */
    uint8_t *access;       /* by input */
    int64_t *step;         /* by input: bytes between elements of a row; ACC_CYCLE: its
                              elements */
    int64_t *stride;       /* by input and `dims` */
    int64_t *own;          /* extents of an input that is read by flat index, whose
                              strides are of these dims (gather.c) */
    uint8_t *nown;         /* by input: how many */
    int64_t period;        /* elements of the longest row that a register repeats */
    Pattern *pattern;      /* by input; NULL: none is read so */
    int64_t *ext;
    const void **data; /* of inputs that belong to the function */
    uint32_t *fill;    /* by input: its register, or its tile */
    int ndim;          /* of ext; the last is the row itself */
    int64_t rows, row; /* the walk: rows of `row` elements */
    bool split;        /* the outputs' shapes differ: the function can't run as one
                        * program */
    bool past;         /* uses the program's loop that writes past the caches */
    bool nest;         /* uses its loop over rows, for any range of elements */
    int64_t *walk;     /* nest, turns: by input and `dims`, the strides of ext */
    bool turns;        /* sums short rows by columns along the dim before the last */
    uint32_t *turned;  /* turns: by input of that loop (block_nest.c) */
    size_t turned_bytes;
    bool quick;           /* one block of one row, nothing to gather: block_quick */
    bool direct;          /* quick, and a single loop directly over the operands */
    bool broadcasts;      /* quick, and single elements are broadcast */
    void **slot;          /* quick: the pointers of the last run */
    const char *slots_of; /* address of m->block then; NULL: never */
    uint32_t block, nfill, ntile; /* ntile: inputs with a tile */
    uint32_t npattern;            /* of `pattern` */
    uint32_t hidden;              /* register of the output without a place */
    uint32_t stream; /* outputs from this register on are written past the caches; NONE:
                      * none */
    size_t reg_bytes, worker_bytes;
    int64_t rows_chunk,
        row_chunk;         /* a chunk: whole rows, or row_chunk elements of one */
    size_t pieces, chunks; /* pieces: chunks in a row */
    bool shared;           /* by threads: it is worth waking them */
    int64_t *dim;          /* values of dims that the function uses */
    uint32_t dims;         /* dims allocated in stride and ext */
} Prep;
/* The fast path of a step: one loop over contiguous operands, or broadcast single
 * elements, of the same sizes as last time. */
typedef struct Fast {
    Loop *loop; /* NULL: none */
    size_t n;
    const Layout *in_layout[3], *out_layout;
    uint32_t in[3], out;
    uint32_t place, nin;
    uint32_t broadcast[3]; /* by input: bytes of an element to broadcast; 0: none */
    size_t reg[3];         /* its position in m->block */
} Fast;
typedef struct Shared {
    Value value; /* as set, computed or updated; its buffer is held here */
    bool set;
    bool owned; /* the buffer was allocated here: may be written and recycled if nobody
                 * else holds it */
} Shared;
typedef struct VmHost {
    CallHost host;
    struct Machine *m;
    uint32_t step;
    uint32_t first; /* the step's result that is output 0 of the current Call */
} VmHost;
typedef struct Kept {
    Buffer *buf;
    bool filled;
} Kept;
/* An instruction that has begun. */
typedef struct Flight {
    uint32_t step;
    void *of; /* the op's */
} Flight;
/* Is told of each step of a machine. */
typedef struct Told {
    bool (*made)(void *ctx, uint32_t step); /* false: diagnosed */
    void *ctx;
} Told;
/* Is told when the storage of a run has been laid out, before its first instruction. */
typedef struct LaidOut {
    void (*then)(void *ctx);
    void *ctx;
} LaidOut;
/* One run of a plan with lazy Applys. */
enum { RUN_WANTED = 1, RUN_DONE = 2, RUN_ASKED = 4 };
typedef struct Lazy {
    uint8_t *flag;  /* by instruction */
    uint8_t *moved; /* by cell: its place was changed because it was computed before its
                     * turn */
    Heap late;      /* requested in or after their turn */
    Vec(uint32_t) ask, todo;
    uint32_t now; /* the step whose turn it is */
    bool early;   /* the current Apply is not in its turn: it has no storage yet */
} Lazy;
struct Machine {
    Session *s;
    const Plan *p;
    Pool *pool, *own_pool;
    unsigned workers, depth;
    bool running;
    const atomic_bool *late; /* the session's time has run out */
    Layouts layouts;
    Arena *tmp; /* for one preparation */
    Cell *cell;
    Value **box; /* by cell, if it is a non-tensor */
    uint32_t nowned;
    Place *place;
    size_t nplace, place_cap;
    size_t moved;          /* counts places that got other memory */
    uint32_t *place_of;    /* by cell */
    Vec(uint32_t) results; /* places with `result` */
    Buffer *arena;
    bool borrows;   /* a function's: the arena belongs to the outermost machine, for all
                     * functions that run at this depth of calls */
    unsigned level; /* that depth */
    size_t arena_need;    /* bytes of the arena that it uses */
    const char *arena_at; /* where its places believe the arena to be */
    Vec(Buffer *) levels; /* outermost machine: arenas of functions by depth */
    bool laid_out;
    Vec(Buffer *) retired; /* replaced while something may still read them: freed after
                            * the step */
    Fast *fast;
    Prep **prep;
    Value *input, *output, *until, *probe;
    bool *input_set;
    Shared *shared;
    uint32_t *update_place;
    Value *update_box; /* by update, if it is a non-tensor: the value to store */
    Vec(DimValue) dim, fixed_dim; /* bound by the last run; given */
    int64_t *dim_cell;            /* by cell, if it is a dim */
    bool leaves_changed;
    Lazy lazy;
    void **state;       /* by instruction: of its thunk */
    uint8_t *made;      /* by instruction: has a state */
    uint8_t *computed;  /* for the current Call: max_in */
    bool *need;         /* max_in */
    bool *no_recycling; /* max_out */
    Value nothing;      /* placeholder for inputs that are not computed */
    Value *frame;       /* max_in + max_out */
    const Value **frame_in;
    const Type **frame_type;
    int16_t *frame_reuse;
    Buffer *scratch, *block;
    size_t scratch_used;
    Kept *kept; /* by instruction; NULL until a kernel keeps something */
    bool *done; /* by instruction: an earlier one did its work; NULL: none can */
    Vec(Flight) flight;
    const Told *told;    /* NULL: nobody */
    const LaidOut *laid; /* NULL: nobody waits for that */
    bool overlaps; /* this run begins some instructions, and finishes them later */
    VmHost host;
    VmHooks hooks;
    bool hooked;    /* they are called; inside an Apply that `enter` leaves out they are
                     * not */
    Machine *outer; /* the machine that calls this one's function */
    const Graph *caller; /* of the current run: the graph that calls it, and where */
    ApplyId call;
    Map inner; /* outermost machine: function to its machine */
    Vec(Machine *) inners;
    struct ScanRun **scan;     /* by instruction; NULL until a loop runs */
    struct RowsBlock **blocks; /* by instruction; NULL until a call by rows runs */
    Sym blame; /* outermost machine: the rewrite behind the Apply that stopped the last
                * run */
};
static inline Machine *outermost_machine(Machine *m) {
    while (m->outer)
        m = m->outer;
    return m;
}
/* inner.c: a function's machine, or a step of a loop, runs with the hooks of the
 * machine around it if these want that. */
bool run_inside(Machine *m, uint32_t ins, Machine *sub, int64_t step,
                bool (*run)(Machine *sub));
/* bind.c: leaves */
bool bind_leaves(Machine *m);
bool bind_shared(Machine *m, uint32_t i);
void cell_set(Machine *m, uint32_t cell, const Tensor *t);
/* Binds input i; the caller guarantees that v has its type. */
void bind_input(Machine *m, size_t i, const Value *v);
void cell_value(const Machine *m, uint32_t cell, Value *out); /* borrowed */
/* storage.c: storage */
bool place_lay_out(Machine *m);
bool place_refresh_all(Machine *m);
void place_free_all(Machine *m);
void *place_get(Machine *m, uint32_t place, size_t bytes); /* NULL: diagnosed */
/* Gives a result its own storage if it was planned to overwrite a cell of another
 * shape. */
void place_fit(Machine *m, uint32_t cell, const Layout *want);
void place_free_retired(Machine *m);
uint32_t place_of(Machine *m, uint32_t cell);
/* prepare.c, block.c */
Prep *prep_new(Machine *m, uint32_t step); /* NULL: diagnosed */
void prep_free(Prep *p);
bool prep_holds(const Machine *m, uint32_t step, const Prep *p);
/* Writes n copies of one element, padded to a multiple of ALIGNMENT bytes. */
void block_fill(char *dst, const char *src, uint32_t size, size_t n);
/* Bytes before a worker's registers: slots, row bases, index, held rows, arguments. */
static inline size_t block_pointers(const BlockProgram *b) {
    return round_up(((size_t)b->nslot + 2 * (size_t)b->nin + MAX_NDIM + b->max_arg) *
                    sizeof(void *));
}
/* gather.c. size: bytes of an element. */
void gather_strided(char *dst, const char *src, int64_t step, uint32_t size, size_t n);
/* Repeats a row of `period` elements for n elements plus one row. */
void gather_cycle(char *dst, const char *src, uint32_t size, size_t period, size_t n);
/* Where the element of flat index `at` is. */
const char *gather_place(const Prep *p, uint32_t input, const char *base, int64_t at);
/* n elements from flat index `at` on: in place, or copied to `room`. */
const char *gather_flat(const Prep *p, uint32_t input, uint32_t size, const char *base,
                        char *room, int64_t at, size_t n);
/* The same of ACC_ROUND, n at most a block; *held: the number of the row repeated in
 * `room`, -1: none. */
const char *gather_round(const Prep *p, uint32_t input, uint32_t size, const char *base,
                         char *room, int64_t at, size_t n, int64_t *held);
/* Merges the dims of an input for itself; no extent is 0. */
void gather_join(Prep *p, uint32_t input);
/* How it is read by flat index. ACC_PATTERN: if it has one. */
Access gather_access(const Prep *p, uint32_t input, uint32_t size);
bool block_run(Machine *m, uint32_t step, const Prep *p);
/* Points the outputs to their places. */
static inline void block_outputs(Machine *m, const Ins *in, const Prep *p) {
    const BlockProgram *b = in->prog;
    for (uint32_t j = 0; j < b->nplaced; j++) {
        uint32_t c = m->p->arg[in->arg + in->nin + j];
        const Place *at = &m->place[m->place_of[c]];
        m->cell[c] = (Cell){at->ptr, p->layout[b->nin + j], at->buf, false};
    }
}
/* The same for a program with a reduction, whose kernel gets the Call and requests the
 * elements piece by piece. */
bool block_run_fold(Machine *m, uint32_t step, const Prep *p, Call *c);
enum { WORKER_BYTES = 128, QUICK_SLOTS = 128 };
/* block_nest.c: loops over rows, by one worker */
enum { NEST_INPUTS = 16 }; /* a loop has fewer */
typedef struct NestRun {
    const BlockProgram *b;
    const Prep *p;
    char *const *base; /* operands: inputs, then outputs */
    void **arg;        /* room for b->max_arg words */
    char *turned;      /* what nest_turn wrote, for all workers */
    ptrdiff_t apart; /* of nest_run: from row to row at `to`; 0: they follow each other,
                      * else n elements are whole rows */
} NestRun;
/* Both ask p->walk. nest_turns fills in `turned` and its bytes. */
bool nest_fits(const BlockProgram *b, const Prep *p);
bool nest_turns(const BlockProgram *b, Prep *p);
void nest_turn(const BlockProgram *b, const Prep *p, char *const *base, char *room);
/* n elements from flat index `at` on; to: what an output without a place is written
 * to, or NULL. */
void nest_run(const NestRun *x, int64_t at, int64_t n, char *to);
/* As Pieces have them. nest_sum_rows: if nest_sums_rows, in a nest or not; flat: inputs
 * are contiguous. */
bool nest_is_flat(const BlockProgram *b, const Prep *p);
bool nest_sums_rows(const BlockProgram *b, const Prep *p);
bool nest_sum_rows(const NestRun *x, const Piece *q, double *acc);
bool nest_sum_runs(const NestRun *x, int64_t at, int64_t n, int64_t count, double *acc);
/* Decides whether block_quick can run it, and prepares p for that. */
void block_settle_quick(const BlockProgram *b, Prep *p);
/* Runs a quick step. False: its operands are not those it was prepared for. */
bool block_quick(Machine *m, const Ins *in, Prep *p, unsigned *fault);
/* The Call of a program's fold. What it takes in pieces has no data yet. */
typedef struct FoldCall {
    Call c;
    const Value *in[STREAM_INPUTS];
    Value made, own[STREAM_INPUTS]; /* in[] point to these, or into the frame */
} FoldCall;
/* Sets host.first, which the caller sets back to 0. */
void block_fold_call(Machine *m, uint32_t step, const Prep *p, FoldCall *f);
/* Is it one block of one row, with nothing to gather? */
bool block_is_single(const BlockProgram *b, const Prep *p);
/* Runs a program that fits one chunk, with these operands, inputs and then outputs, on
 * n elements from `at` on; what is reduced goes to `folded` or, if that is NULL, to its
 * place. Returns faults. */
typedef struct BlockRun {
    const BlockProgram *b;
    const Prep *p;
    char *work; /* p->worker_bytes */
    int64_t at, n;
} BlockRun;
unsigned block_run_at(const BlockRun *r, char **base, char *folded);
/* The memory of register k of a quick step. */
void *block_quick_register(const Machine *m, const BlockProgram *b, const Prep *p,
                           uint32_t k);
bool block_fault(Machine *m, uint32_t step, const Prep *p, unsigned fault);
/* after.c: gives the kernel of a step what comes after it */
void after_offer(Machine *m, uint32_t step, After room[AFTER_MOST], Call *c);
/* and its result to the instruction whose work it was. */
void after_pass_on(Machine *m, uint32_t step);
/* overlap.c: in a run that may begin instructions, and one of them; false: diagnosed */
bool overlap_steps(Machine *m);
bool overlap_begin(Machine *m, uint32_t step, Call *c);
bool overlap_told_steps(Machine *m); /* telling m->told */
/* Begins what may begin early and has all its inputs: cells for which `there` says so,
 * by output of `step`. */
bool overlap_begin_early(Machine *m, uint32_t step, const bool *there);
/* lazy.c */
bool lazy_run_steps(Machine *m);
/* Was the cell computed in this run? */
static inline Computed cell_computed(const Machine *m, uint32_t cell) {
    const LazyPlan *l = m->p->lazy;
    if (!l || l->maker[cell] == NONE) return COMPUTED;
    if (!(m->lazy.flag[l->maker[cell]] & RUN_DONE)) return NOT_COMPUTED;
    return m->p->sharing.cell[cell].dies < m->lazy.now ? COLLECTED : COMPUTED;
}
/* step.c */
bool steps_run(Machine *m);
/* Runs a kernel or a thunk and stores its results; the caller runs the hooks. */
ThunkResult step_perform(Machine *m, uint32_t step);
bool step_run(Machine *m, uint32_t step); /* any instruction that isn't lazy */
void step_end(Machine *m, uint32_t step); /* ends lives */
bool vm_kernel_out(Call *c, size_t i, DType d, int ndim, const int64_t *shape);
void *vm_kernel_scratch(Call *c, size_t bytes);
void *vm_kernel_keep(Call *c, size_t bytes, bool *filled);
ApplyId vm_kernel_caller(const Call *c, const Graph **g);
void step_call(Machine *m, uint32_t step, Call *c); /* with its inputs */
/* The same for an error in one op of a block program (NULL: in all of it). */
void step_call_op(Machine *m, uint32_t step, const BlockOp *op, Call *c);
/* Explains what the storage was for, after E_MEM. */
void step_no_memory(Machine *m, uint32_t cell);
void step_outputs(Machine *m, uint32_t step, Call *c);
/* Stores a non-tensor result in a cell. Takes ownership of the reference. */
void step_set_box(Machine *m, uint32_t cell, Value v);
/* failure.c: adds to the diagnostic of a step that failed. Returns false. */
bool step_failed(Machine *m, uint32_t step);
/* run.c, inner.c */
Machine *machine_new(const Plan *p, unsigned depth, Machine *outer);
bool run_function(Machine *m, uint32_t step);
Machine *function_machine(Machine *m, const Ins *in);            /* NULL: diagnosed */
bool function_result(Machine *m, uint32_t cell, const Value *v); /* copies v */
bool run_shards(Machine *m, uint32_t step);                      /* shards.c */
typedef struct RowsBlock RowsBlock;
bool run_by_rows(Machine *m, uint32_t step); /* by_rows.c */
void rows_block_free(RowsBlock *b);          /* NULL is allowed, here too: */
size_t rows_block_bytes(const RowsBlock *b); /* of threads */
/* report.c: bytes of results alive at the worst instruction; unknown ones don't
 * count. */
uint64_t plan_alive_bytes(const Plan *p, const Map *dims);
/* NULL: diagnosed */
/* results: own_results, results_apart, state; the rest is as m's own plan has it. */
Plan *plan_function(const Machine *m, const Graph *fn, const PlanOptions *results);
/* scan_threads.c: may so many of its function run at once? After a run: loops inside
 * have machines then. */
bool machine_is_reentrant(const Machine *m, unsigned threads);
/* scan.c */
typedef struct ScanRun ScanRun;
bool run_scan(Machine *m, uint32_t step);
void scan_run_free(ScanRun *l); /* NULL is allowed */
void scan_run_hooks(ScanRun *l, const VmHooks *h);
VmMemory scan_run_memory(const ScanRun *l);

#endif
