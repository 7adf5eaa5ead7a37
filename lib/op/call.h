/* The running half of the Op contract (op/op.h): what a kernel receives and may ask
 * for, and the loops of elementwise ops. */
#ifndef OP_CALL_H
#define OP_CALL_H

#include "graph/graph.h"

/* Elements of a tensor in C order: `rows` rows of n elements. The first row starts at
 * element `at`; each of the others starts `stride` elements after the previous one. */
typedef struct Piece {
    int64_t at, rows, stride, n;
} Piece;
/* An input that is computed in pieces, each element once, and never exists in memory as
 * a whole. */
typedef struct Pieces {
    /* Returns the first row; sets *step to the distance of rows in bytes. `to` has room
     * for all rows, and may be used to store them. */
    const char *(*make)(void *ctx, unsigned worker, const Piece *p, char *to,
                        ptrdiff_t *step);
    /* Adds the first of n elements from flat index `at` on, which are float32 or
     * float64, to PIECE_SUMS sums, element i to number i % PIECE_SUMS. Returns how many
     * it took, all or a multiple of that number; the others may be asked for. NULL:
     * can't. */
    int64_t (*add)(void *ctx, unsigned worker, int64_t at, int64_t n, double *sum);
    /* acc[j] = the sum of elements j of all rows, in the order of the loops of sums in
     * float64; false: it must be made. NULL: can't. */
    bool (*sum_rows)(void *ctx, unsigned worker, const Piece *p, double *acc);
    /* acc[i] = the sum of `count` elements from flat index at + i count on, one after
     * the other, for i < n; the same. */
    bool (*sum_runs)(void *ctx, unsigned worker, int64_t at, int64_t n, int64_t count,
                     double *acc);
    /* Writes the rows, `apart` bytes from each other, the first one to `to`. NULL: they
     * are stored elsewhere, and `make` tells where. */
    void (*put)(void *ctx, unsigned worker, const Piece *p, char *to, ptrdiff_t apart);
    void *ctx;
    uint32_t work; /* of an element, about, where that of an addition is 1 */
} Pieces;
enum { PIECE_SUMS = 32 };

/* Is it worth giving this Apply, of one output, an input in pieces (OpRare.streamed)?
 * dim: that input's shape (< 0: unknown). */
typedef bool Streams(const Graph *g, ApplyId id, int ndim, const int64_t *dim);
enum { STREAM_INPUTS = 8 }; /* the most that such an Apply may have */

/* What will happen to the elements of output 0 next: element by element, y = op(y,
 * operand), one after the other. An op with takes_after may do it as it writes them;
 * the operands are of y's dtype, and broadcast as those of any elementwise op. */
typedef enum AfterOp { AFTER_ADD, AFTER_MAXIMUM, AFTER_MINIMUM } AfterOp;
typedef struct After {
    AfterOp op;
    Tensor operand;
} After;
enum { AFTER_MOST = 4 };

/* One run of one Apply. Inputs are borrowed and must not be written. An output cell may
 * hold an old value of the right dtype with any shape and strides: call_out provides
 * storage. */
/* What a kernel found out about its operands, to do the same work on others laid out as
 * they are for less than a call costs: in[k] and out[k] are their data. It can't fail,
 * gives the same bits, and needs neither threads nor the session. */
typedef struct Redo {
    void (*run)(void *how, const void *const *in, void *const *out);
    void *how; /* by mem_alloc; who asked frees it */
} Redo;

typedef struct Call Call;
struct Call {
    Session *s;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Value *const *in;
    Value *out;
    const Type *const *out_type;
    const int16_t
        *reuse; /* by output: input that it may overwrite, or -1; NULL: none */
    const Pieces *pieces; /* streaming ops: input 0, without data; else NULL */
    const After *after;   /* ops with takes_after */
    size_t nafter;
    bool after_done;  /* set by the op: it did all of that */
    Redo *redo;       /* NULL: nobody asks. Ops with `redo` fill it in, if they can */
    bool overwritten; /* set by an op that fails: an input that it may overwrite no
                       * longer has its values, which no message may show */
    Span at;
    struct CallHost *host; /* the VM's: storage, scratch, threads */
    /* thunks only; else NULL */
    const uint8_t *computed;  /* compute_map by input: Computed */
    bool *need;               /* by input: set by a lazy thunk to what it still needs */
    const bool *no_recycling; /* by output: no storage of an earlier run */
};
typedef struct CallHost {
    bool (*alloc)(Call *c, size_t i, DType d, int ndim, const int64_t *shape);
    void *(*scratch)(
        Call *c,
        size_t bytes); /* kept between calls; 64-byte aligned; NULL: E_MEM, diagnosed */
    Pool *pool;
    void *(*keep)(Call *c, size_t bytes, bool *filled); /* NULL: it keeps nothing */
    /* The Apply of *g that calls c->g, a fused function, whose own names say nothing.
     * APPLY_NONE: c->g isn't one. NULL: it never is. */
    ApplyId (*caller)(const Call *c, const Graph **g);
} CallHost;
/* Contiguous, uninitialised storage of the type's dtype for output i: the old storage,
 * or that of an input that may be overwritten, if it fits. NULL: diagnosed. */
Tensor *call_out(Call *c, size_t i, int ndim, const int64_t *shape);
/* Makes output i a view: a new reference to base's buffer, whose data, shape and
 * strides the caller sets. */
Tensor *call_view(Call *c, size_t i, const Tensor *base);
/* destroy_map: gives output i the memory of input k with its layout, to be
 * overwritten. */
Tensor *call_over(Call *c, size_t i, size_t k);
/* Output 0 is input 0, whatever it is, without a copy. */
bool call_pass_on(Call *c);
static inline const Tensor *call_in(const Call *c, size_t i) {
    return &c->in[i]->t;
}
void *call_scratch(Call *c, size_t bytes); /* bytes may be 0; NULL: diagnosed */
/* Memory for what a kernel makes of input i, if that is constant: it belongs to this
 * Apply alone and keeps its content from run to run. Asked for once a run, always for
 * as much. *filled: an earlier run did, and succeeded; else this one has to.
 * 64-byte aligned. NULL: nothing can be kept, scratch will do. */
void *call_keep(Call *c, size_t i, size_t bytes, bool *filled);
/* The same for what belongs to one run of it: nothing is filled in, and the size may
 * change. */
void *call_own(Call *c, size_t bytes);
/* Reports an error of this Apply, with its op, position, input types, shapes, strides
 * and small values as notes. */
bool call_fail(Call *c, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool call_ndim(Call *c, int64_t n); /* may a result have n dims? */

/* make_thunk: an op's own way to run an Apply, with a state that lives as long as the
 * plan. storage_map is c->in and c->out, compute_map is c->computed. */
typedef enum Computed {
    NOT_COMPUTED, /* the value is not valid */
    COMPUTED,
    COLLECTED /* computed and freed; nothing in this run needs it any more */
} Computed;
typedef enum Impl { IMPL_ANY, IMPL_FAST, IMPL_DEBUG } Impl;
typedef enum ThunkResult {
    THUNK_FAILED, /* diagnosed */
    THUNK_DONE,   /* all outputs are computed */
    THUNK_NEEDS   /* lazy: the inputs in c->need must be computed first */
} ThunkResult;
typedef struct Thunk {
    bool lazy;   /* runs once any output is needed, whichever inputs are computed; else
                    only when all inputs are computed */
    bool once;   /* lazy: its first run does everything or names everything that it will
                    need. Then what it alone needs takes no more memory than if everything
                    ran */
    bool either; /* lazy, once: it needs input 0 and, if that is true, the first half of
                    the others, else the second one; result i is item i of that half */
    uint32_t first; /* lazy: bit i: input i is always needed, and computed first */
    /* NULL: no state. c has no values yet. */
    bool (*make)(const Call *c, Impl impl, void **state);
    ThunkResult (*run)(void *state, Call *c);
    void (*free)(void *state);
} Thunk;

/* An elementwise loop over contiguous blocks: in[k] and out[k] point to n elements of
 * the loop's dtypes. An output may be the same block as an input of the same element
 * size, never a shifted one. Returns fault bits. */
typedef unsigned Loop(size_t n, const void *const *in, void *const *out);
enum {
    FAULT_DIVIDE = 1,
    FAULT_DOMAIN = 2
}; /* integer division by zero; negative integer power or shift */

#endif
