/* What a kernel gets and may ask for, and the loops of elementwise ops: the running
 * half of the Op contract (op/op.h). */
#ifndef OP_CALL_H
#define OP_CALL_H

#include "graph/graph.h"

/* Elements of a tensor in C order: `rows` rows of n, the first from element `at` on,
 * each `stride` elements after the last. */
typedef struct Piece {
    int64_t at, rows, stride, n;
} Piece;
/* An input that is made piece by piece, each element once, and never stands in memory
 * as a whole. */
typedef struct Pieces {
    /* Returns the first row; *step: bytes from one to the next. `to` has room for all
     * of them, and may be where they are put. */
    const char *(*make)(void *ctx, unsigned worker, const Piece *p, char *to,
                        ptrdiff_t *step);
    void *ctx;
} Pieces;

/* Does it pay to give an op of one input and one output that input in pieces, where it
 * has this shape (a dim < 0: not known)? */
typedef bool Streams(Session *s, const Op *op, const Props *p, DType d, int ndim,
                     const int64_t *dim);

/* One run of one Apply. Inputs are borrowed and must not be written. An output cell may
 * hold an old value of the right dtype with any shape and strides: ask call_out for
 * storage. */
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
        *reuse; /* reuse[i]: input that output i may overwrite, or -1; NULL: none */
    const Pieces *pieces; /* for ops that stream: input 0, which has no data then; NULL:
                             it has */
    Span at;
    struct CallHost *host; /* the VM's: storage, scratch, threads */
    /* thunks only; else NULL */
    const uint8_t *computed;  /* compute_map by input: Computed */
    bool *need;               /* by input: what a lazy thunk still needs */
    const bool *no_recycling; /* by output: it must be new storage, never what an
                                 earlier run left */
};
typedef struct CallHost {
    bool (*alloc)(Call *c, size_t i, DType d, int ndim, const int64_t *shape);
    void *(*scratch)(
        Call *c,
        size_t bytes); /* kept between calls; 64-byte aligned; NULL: E_MEM diagnosed */
    Pool *pool;
} CallHost;
/* Contiguous storage for output i, of its type's dtype, uninitialised; the old storage
 * or the input that may be reused when it fits. NULL: diagnosed. */
Tensor *call_out(Call *c, size_t i, int ndim, const int64_t *shape);
/* Makes output i a view: a new reference to base's buffer with its own data, shape and
 * strides, to be filled in. */
Tensor *call_view(Call *c, size_t i, const Tensor *base);
/* destroy_map: makes output i the memory of input k, as it lies there, to be written.
 */
Tensor *call_over(Call *c, size_t i, size_t k);
static inline const Tensor *call_in(const Call *c, size_t i) {
    return &c->in[i]->t;
}
void *call_scratch(Call *c, size_t bytes); /* of 0 bytes, too; NULL: diagnosed */
/* An error of this Apply: adds op, position, input types, shapes, strides and small
 * values as notes. */
bool call_fail(Call *c, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool call_ndim(Call *c, int64_t n); /* may a result have n dims? */

/* make_thunk: an op's own way to run one Apply, with a state that lives as long as the
 * Apply's plan runs. storage_map is c->in and c->out, compute_map is c->computed. */
typedef enum Computed {
    NOT_COMPUTED, /* the value is not valid */
    COMPUTED,
    COLLECTED /* it was computed and freed again; nothing in this run needs it */
} Computed;
typedef enum Impl { IMPL_ANY, IMPL_FAST, IMPL_DEBUG } Impl;
typedef enum ThunkResult {
    THUNK_FAILED, /* diagnosed */
    THUNK_DONE,   /* all outputs are computed */
    THUNK_NEEDS   /* lazy: the inputs in c->need must be computed first */
} ThunkResult;
typedef struct Thunk {
    bool lazy; /* runs as soon as something wants an output, whatever inputs are there;
                  else all inputs are computed */
    bool once; /* lazy: its first run does all or names all that it will need. Then what
                  only it needs takes no more memory than if everything ran */
    bool either;    /* lazy, once: it needs the values of one of its lists (rest
                       parameters); result i is value i of it */
    uint32_t first; /* lazy: bit i: input i is needed always, and is computed first */
    /* NULL: no state. c has no values yet. */
    bool (*make)(const Call *c, Impl impl, void **state);
    ThunkResult (*run)(void *state, Call *c);
    void (*free)(void *state);
} Thunk;

/* An elementwise loop over contiguous blocks: in[k], out[k] point to n elements of the
 * loop's dtypes; an output may be the same block as an input of its size, never a
 * shifted one. Returns fault bits. */
typedef unsigned Loop(size_t n, const void *const *in, void *const *out);
enum {
    FAULT_DIVIDE = 1,
    FAULT_DOMAIN = 2
};                    /* integer division by zero; negative integer power or shift */
enum { LEVEL_N = 3 }; /* baseline, AVX2, AVX-512 */
typedef struct Loops {
    Loop *at[LEVEL_N][DT_N]; /* by CPU, by dtype of the last input; a missing level
                                falls back to a lower one */
} Loops;

#endif
