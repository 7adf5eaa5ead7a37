/* Products by OpenBLAS, opened on first use (linking it would cost every process 1.3
 * ms) and always single-threaded: callers split work over the pool themselves
 * (split.c), so that results are bit-identical for any number of threads. Products by a
 * vector have loops of their own (gemv.h), and need no library. */
#ifndef OPS_LINALG_PRODUCT_BLAS_H
#define OPS_LINALG_PRODUCT_BLAS_H

#include "op/op.h"

typedef void BlasFn(void);
struct GemvLoops;
typedef enum BlasName { BLAS_GEMM, BLAS_GEMV, BLAS_N } BlasName;
typedef struct Blas {
    const struct GemvLoops *gemv;
    bool opened;           /* whether with or without success */
    void *library;         /* NULL: not available; the built-in kernels are used */
    BlasFn *fn[BLAS_N][4]; /* by dtype: float32, float64, complex64, complex128 */
    bool no_room;          /* it can't be opened for lack of address space */
    bool no_memory;        /* the loader had no memory to open it */
    const char *core;      /* the kernels it selected, "SkylakeX"; NULL: unknown */
    /* Rows from tile * i on, multiplied separately, have the same bits as in the full
     * product if both have at least BLAS_LEAST multiply-adds. 0: it isn't known. */
    int64_t tile;
    void *(*take)(int); /* a buffer as OpenBLAS's own calls take it; NULL: unknown */
    void (*give)(void *);
    unsigned buffers; /* number of concurrent calls whose buffers are mapped */
} Blas;
/* OpenBLAS's drivers process the rows of a row-major result in groups of at most six
 * tiles of 4 or three of 8, and use other kernels below a million multiply-adds. Those
 * of Haswell and Zen have groups of 12. */
enum { BLAS_TILE = 24, BLAS_LEAST = 1 << 20 };
const Blas *blas_get(Session *s); /* never NULL */
/* Every concurrent call takes a buffer of 128 MB of address space, and the library
 * waits forever for one that can't be mapped. Returns the pool if there is room for as
 * many of `chunks` as it runs at once; else NULL: run them one after another. */
Pool *blas_pool(Session *s, Pool *pool, size_t chunks);
/* Opens the library, so that n threads may call it at once: an op's `share`. */
bool blas_share(Session *s, unsigned n);
/* A function of the library by its symbol; NULL: none. */
BlasFn *blas_find(const Blas *lib, const char *symbol);

/* Factors of a product that is added: real and imaginary parts. */
typedef struct GemmScale {
    double alpha[2], beta[2];
} GemmScale;
/* c[m, n] = a[m, k] b[k, n], all of one inexact dtype other than float16. Strides are
 * in elements; one of a matrix's two is 1, the other at least that dim's length; c is
 * row-major with row stride ldc. */
typedef struct Gemm {
    DType dtype;
    int64_t m, n, k;
    const void *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    void *c;
    int64_t ldc;
    const GemmScale *scale; /* c = alpha a b + beta c; NULL: c = a b */
} Gemm;
/* What computes the product: opened if it needs the library. NULL: nothing can. */
const Blas *blas_for(Session *s, const Gemm *g);
/* As one call. */
void blas_gemm(const Blas *lib, const Gemm *g);
/* In pieces over the pool; `room` has blas_room() bytes, aligned like tensors. Products
 * with fewer multiply-adds are one piece. */
enum { BLAS_SPLIT_LEAST = 1 << 17 };
size_t blas_room(const Gemm *g);
void blas_gemm_split(Session *s, const Gemm *g, Pool *pool, void *room);
/* Half of a product, in blocks over the pool: of a matrix and its transpose, the lower
 * half, which is mirrored; by a square triangular matrix on either side, what isn't
 * 0. */
typedef enum BlasTriangle {
    TRIANGLE_GRAM,
    TRIANGLE_LEFT_LOWER,
    TRIANGLE_LEFT_UPPER,
    TRIANGLE_RIGHT_LOWER,
    TRIANGLE_RIGHT_UPPER
} BlasTriangle;
/* Can it be computed so, and is it large enough to gain by that? */
bool blas_pays_triangle(const Gemm *g, BlasTriangle kind);
void blas_triangle(Session *s, const Gemm *g, BlasTriangle kind, Pool *pool);
/* Turns a row times a matrix into the matrix's transpose times a column. */
Gemm blas_turned(const Gemm *g);
/* Is it computed without the library? */
bool blas_has_own(const Gemm *g);
/* blas_pool for pieces of such a product. */
Pool *blas_pool_for(Session *s, const Gemm *g, Pool *pool, size_t chunks);

#endif
