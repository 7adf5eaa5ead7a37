/* OpenBLAS, opened on first use (linking it costs every process 1.3 ms) and always
 * single-threaded: the callers split work over the pool themselves (split.c), so that
 * results are the same bits for any number of threads. */
#ifndef OPS_LINALG_BLAS_H
#define OPS_LINALG_BLAS_H

#include "op/op.h"

typedef void BlasFn(void);
typedef enum BlasName { BLAS_GEMM, BLAS_GEMV, BLAS_N } BlasName;
typedef struct Blas {
    void *library;         /* NULL: there is none; own kernels are used */
    BlasFn *fn[BLAS_N][4]; /* by dtype: float32, float64, complex64, complex128 */
    bool no_room;          /* there is none for want of address space */
    const char *core;      /* the kernels it chose, "SkylakeX"; NULL: not known */
    /* Rows from BLAS_TILE * i on, as a product of their own, have the same bits as in
     * the whole product, where both have at least BLAS_LEAST multiply-adds. */
    bool tiles;
    void *(*take)(int); /* a buffer as its own calls take them; NULL: not known */
    void (*give)(void *);
    unsigned buffers; /* so many calls at once find theirs mapped */
} Blas;
/* OpenBLAS's drivers take the rows of a row-major result in groups of at most six tiles
 * of 4 or three of 8, and other kernels for less than a million multiply-adds. */
enum { BLAS_TILE = 24, BLAS_LEAST = 1 << 20 };
const Blas *blas_get(Session *s); /* never NULL */
/* Each call that runs beside others takes a buffer of 128 MB of addresses, and the
 * library waits for ever for one that can't be mapped. The pool where there is room for
 * as many of `chunks` as it runs at once; else NULL: one after the other. */
Pool *blas_pool(Session *s, Pool *pool, size_t chunks);
/* Any function of the library by its symbol; NULL: there is none. */
BlasFn *blas_find(const Blas *lib, const char *symbol);

/* c[m, n] = a[m, k] b[k, n], all of one inexact dtype other than float16; strides in
 * elements, of which one of a matrix's two is 1 (the other at least the length) ; c is
 * row-major with row stride ldc. */
typedef struct Gemm {
    DType dtype;
    int64_t m, n, k;
    const void *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    void *c;
    int64_t ldc;
} Gemm;
/* In one call. */
void blas_gemm(const Blas *lib, const Gemm *g);
/* In pieces over the pool; `room` is for blas_room() bytes, aligned as tensors are.
 * Products of fewer multiply-adds are one piece. */
enum { BLAS_SPLIT_LEAST = 1 << 17 };
size_t blas_room(const Gemm *g);
void blas_gemm_split(Session *s, const Gemm *g, Pool *pool, void *room);
/* A row times a matrix is the matrix's transpose times a column. */
Gemm blas_turned(const Gemm *g);

#endif
