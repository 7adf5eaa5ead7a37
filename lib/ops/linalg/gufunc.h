/* Ops on the matrices that the last dims of their inputs are, one for each index of the
 * leading dims: what NumPy calls a generalised ufunc. A signature tells the core dims,
 * "(m,n),(n,k)->(m,k)": a letter is one size wherever it stands, in outputs a letter
 * that no input has is the smaller of m and n. Leading dims broadcast. */
#ifndef OPS_LINALG_GUFUNC_H
#define OPS_LINALG_GUFUNC_H

#include "op/build.h"
#include "op/infer.h"
#include "ops/linalg/blas.h"

/* ---- typing ---- */
/* The types of all outputs; dtype[i] is that of output i, NULL: all as input 0. The
 * inputs need at least their core dims. */
bool core_type(Infer *in, const char *sig, const DType *dtype);

/* ---- running ---- */
enum { CORE_ARGS = 8, CORE_ROUTINES = 4, CORE_OPTIONS = 4 };

/* One matrix of each input and output, packed: what the signature says, without gaps,
 * in the dtype that is computed in (float32 for float16). */
typedef struct Item {
    const struct Gufunc *q;
    void *in[CORE_ARGS], *out[CORE_ARGS];
    char *room; /* of this worker alone, of the size that was asked for */
} Item;
/* 0, or a number that tells what went wrong with this item. */
typedef int64_t ItemFn(const Item *it);

typedef struct Gufunc {
    Call *c;
    DType dtype;      /* of input 0, as computed in */
    int64_t dim[128]; /* by letter; core dims */
    int nbatch;
    int64_t shape[MAX_NDIM], count;
    struct CoreArg {
        DType dtype;                  /* as packed */
        bool direct;                  /* an output that is packed where it belongs */
        bool columns;                 /* column-major */
        int start;                    /* an output that starts as this input; -1 */
        bool moved;                   /* an input that an output starts as */
        int64_t rows, cols, row, col; /* sizes, and the tensor's steps in bytes */
        size_t bytes;                 /* packed */
        Tensor t;
        int64_t step[MAX_NDIM]; /* bytes by batch dim, 0 where it is stretched */
    } arg[CORE_ARGS];           /* inputs, then outputs */
    int nin, nout;
    /* the op's own */
    BlasFn *fn[CORE_ROUTINES];
    int64_t option[CORE_OPTIONS];
    const void *own;
    /* after gufunc_run: the first item that failed, and how; 0: none */
    int64_t bad, bad_at;
} Gufunc;

/* Checks the inputs' shapes and takes storage for all outputs. `pack` has one letter
 * for each input, `>`, one for each output: r row-major, c column-major, - whatever an
 * output makes of it; 0, 1, 2: row-major and at first that input (which is packed
 * nowhere else); A, B, C: the same column-major. */
bool gufunc_open(Gufunc *q, Call *c, const char *sig, const char *pack);
/* Runs `one` on every item, over the pool. `room` are the bytes that one worker needs.
 * False: diagnosed, which an item that failed is not. */
bool gufunc_run(Gufunc *q, ItemFn *one, size_t room);
/* " in matrix 3 of the batch", or "" where there is one item. */
const char *gufunc_where(const Gufunc *q);
static inline int gufunc_dim(const Gufunc *q, char letter) {
    return (int)q->dim[(int)letter];
}
/* The size for a letter that a vector's signature lacks. */
static inline int gufunc_columns(const Gufunc *q, char letter) {
    return q->dim[(int)letter] < 0 ? 1 : (int)q->dim[(int)letter];
}
/* A leading dim: at least 1. */
static inline int gufunc_lead(const Gufunc *q, char letter) {
    return q->dim[(int)letter] ? (int)q->dim[(int)letter] : 1;
}

#endif
