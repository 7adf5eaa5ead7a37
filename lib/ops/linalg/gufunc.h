/* Ops on matrices in the last dims of their inputs, one for each index of the leading
 * dims: NumPy's generalised ufuncs. A signature lists the core dims,
 * "(m,n),(n,k)->(m,k)": a letter is one size everywhere, and a letter that occurs only
 * in outputs is the smaller of m and n. Leading dims broadcast. */
#ifndef OPS_LINALG_GUFUNC_H
#define OPS_LINALG_GUFUNC_H

#include "op/build.h"
#include "op/infer.h"
#include "ops/linalg/product/blas.h"
#include "vmap/kit.h"

/* ---- typing ---- */
/* Types all outputs; dtype[i] is output i's dtype, NULL: all have that of input 0.
 * Checks that the inputs have at least their core dims. */
bool core_type(Infer *in, const char *sig, const DType *dtype);

/* ---- vmap ---- */
/* Rows are one more leading dim. Of an op whose inputs all have two core dims. */
bool core_vmap(Vmap *q);
/* Of one that solves a system: its last input is a vector or a matrix, whose columns
 * are one right-hand side each, the inputs before it have core[i] core dims. Rows of
 * vectors for one system are columns of one matrix. */
bool core_vmap_system(Vmap *q, const int *core);
bool core_vmap_solve(Vmap *q); /* of one matrix before it */

/* ---- running ---- */
enum { CORE_ARGS = 8, CORE_ROUTINES = 4, CORE_OPTIONS = 4 };

/* One matrix of each input and output, packed: the core dims, contiguous, in the dtype
 * of the computation (float32 for float16). */
typedef struct Item {
    const struct Gufunc *q;
    void *in[CORE_ARGS], *out[CORE_ARGS];
    char *room; /* private to this worker, of the requested size */
} Item;
/* 0, or a number that says how this item failed. */
typedef int64_t ItemFn(const Item *it);

typedef struct Gufunc {
    Call *c;
    DType dtype;      /* of input 0, as used in the computation */
    int64_t dim[128]; /* by letter; core dims */
    int nbatch;
    int64_t shape[MAX_NDIM], count;
    struct CoreArg {
        DType dtype;                  /* dtype when packed */
        bool direct;                  /* an output packed directly in its tensor */
        bool columns;                 /* column-major */
        int start;                    /* the input that initialises it; -1: none */
        bool moved;                   /* an input that initialises an output */
        int64_t rows, cols, row, col; /* sizes, and the tensor's strides in bytes */
        size_t bytes;                 /* of the packed matrix */
        Tensor t;
        int64_t step[MAX_NDIM]; /* byte strides of the batch dims, 0 where broadcast */
    } arg[CORE_ARGS];           /* inputs, then outputs */
    int nin, nout;
    bool joined; /* columns of the last input and the output are along batch dims */
    /* for the op's own use */
    BlasFn *fn[CORE_ROUTINES];
    int64_t option[CORE_OPTIONS];
    const void *own;
    /* after gufunc_run: the first item that failed, and how; 0: none */
    int64_t bad, bad_at;
} Gufunc;

/* Checks the inputs' shapes and allocates all outputs. `pack` has one letter for each
 * input, `>`, then one for each output: r row-major, c column-major, - any order, for
 * an input that initialises an output; 0, 1, 2: row-major and initialised with that
 * input (which is not packed separately); A, B, C: the same, column-major. */
bool gufunc_open(Gufunc *q, Call *c, const char *sig, const char *pack);
/* The same for an op that solves systems, as core_vmap_system: single right-hand sides
 * along the last batch dims are columns of one matrix where the system is the same, so
 * that it is factored once. */
bool gufunc_open_systems(Gufunc *q, Call *c, const char *sig, const char *pack);
/* Runs `one` on every item over the pool. `room`: bytes of workspace per worker. False:
 * diagnosed; a failed item is not diagnosed. */
bool gufunc_run(Gufunc *q, ItemFn *one, size_t room);
/* " in matrix 3 of the batch", or "" for a single item. */
const char *gufunc_where(const Gufunc *q);
static inline int gufunc_dim(const Gufunc *q, char letter) {
    return (int)q->dim[(int)letter];
}
/* The size for a letter, 1 if a vector's signature lacks it. */
static inline int gufunc_columns(const Gufunc *q, char letter) {
    return q->dim[(int)letter] < 0 ? 1 : (int)q->dim[(int)letter];
}
/* Leading dim for LAPACK: at least 1. */
static inline int gufunc_lead(const Gufunc *q, char letter) {
    return q->dim[(int)letter] ? (int)q->dim[(int)letter] : 1;
}

#endif
