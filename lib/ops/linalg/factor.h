/* Factorisations that several ops start from, on one packed matrix. */
#ifndef OPS_LINALG_FACTOR_H
#define OPS_LINALG_FACTOR_H

#include "ops/linalg/lapack.h"

/* Cholesky in place of the upper or lower triangle, in LAPACK's (column-major) sense.
 * Returns the order of the leading minor that is not positive; 0: success. */
int64_t factor_cholesky(const Gufunc *q, BlasFn *potrf, bool upper, int n, void *a);
/* Of a matrix that is read, or made, in one triangle: NumPy's upper=True is SciPy's
 * lower=False; the Apply stores the latter. */
bool factor_triangle_type(Infer *in);
/* Flops of Cholesky's factorisation of n x n (LAPACK Working Note 41, appendix C). */
#define FACTOR_CHOLESKY_FLOPS(n) "(" n " ** 3 / 3 + " n " ** 2 / 2 + " n " / 6)"
/* The diagonal of a complex matrix becomes real, as LAPACK's routines for Hermitian
 * ones take it. */
void factor_make_real(DType d, void *a, int n);
/* LU in place. 0, or the (1-based) pivot that is exactly 0; L and U are valid either
 * way. */
int64_t factor_lu(BlasFn *getrf, int n, void *a, int *pivot);
/* Of a x = b, by whether b is a vector or a matrix of columns. */
const char *factor_solve_signature(int b_ndim);
/* Is the prop `trans` 0, 1 or 2? */
bool factor_want_trans(Infer *in);

/* A number as m 2^e, so that long products neither overflow nor underflow on the
 * way. */
typedef struct Scaled {
    double re, im;
    int64_t e;
} Scaled;
Scaled scaled_one(void);
void scaled_times(Scaled *d, double re, double im);
double scaled_value(double m, int64_t e);
/* The determinant from the result of factor_lu; 0 for a singular matrix. */
Scaled factor_det(DType d, int n, const void *lu, const int *pivot);

/* Singular values of a column-major m x n matrix, with the first min(m, n) vectors on
 * either side (job 'S'), all ('A') or none ('N'). */
typedef struct Svd {
    BlasFn *fn;
    DType dtype;
    char job;
    int m, n, lwork;
    size_t room; /* bytes of workspace for factor_svd */
} Svd;
bool factor_svd_open(Gufunc *q, int slot, char job, int m, int n, Svd *v);
/* Destroys a. u has m rows, vt as many rows as there are vectors. Nonzero: no
 * convergence. */
int64_t factor_svd(const Svd *v, void *a, void *s, void *u, void *vt, void *room);

/* Are all elements of a packed matrix finite? */
bool factor_finite(DType d, const void *a, int64_t n);
/* The same of one triangle of a packed row-major matrix [n, n]. */
bool factor_triangle_finite(DType d, const void *a, int64_t n, bool lower);
/* Fills the columns of the right-hand side, k of n elements in out[0], with nan that
 * have an element that isn't finite; all of them if the matrix isn't. */
void factor_fill_nan(const Item *it, int n, int k, bool finite);
enum { BAD_VALUE = -1, BAD_END = -2 }; /* results of an item in these cases */
/* q->bad is one of these: reports E_NAN or E_CONVERGENCE. */
bool factor_fail_iteration(const Gufunc *q);

bool factor_fail_singular(const Gufunc *q); /* q->bad is the pivot: reports
                                             * E_SINGULAR */
/* q->bad is the order of the minor; semi: the column */
bool factor_fail_not_positive(const Gufunc *q, bool semi);

/* ---- references without LAPACK: slow, in the widest dtype ---- */
typedef double _Complex Wide;
/* A packed matrix or vector of the item to rows of Wide, and back. */
void wide_read(const Gufunc *q, int arg, const void *from, Wide *to);
void wide_write(const Gufunc *q, int arg, const Wide *from, void *to);
/* Gauss-Jordan elimination with partial pivoting: a [n, n] becomes the identity, b [n,
 * k] the solution of a x = b. Returns a's determinant; 0: singular, and b is
 * undefined. */
Scaled wide_solve(int n, Wide *a, int k, Wide *b);

#endif
