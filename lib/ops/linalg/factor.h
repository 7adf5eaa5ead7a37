/* Factorisations that several ops begin with, on one packed matrix. */
#ifndef OPS_LINALG_FACTOR_H
#define OPS_LINALG_FACTOR_H

#include "ops/linalg/lapack.h"

/* Cholesky in place, of the triangle that is upper or lower as LAPACK (column-major)
 * sees it. The order of the leading minor that is not positive; 0: done. */
int64_t factor_cholesky(const Gufunc *q, BlasFn *potrf, bool upper, int n, void *a);
/* LU in place. 0, or the (1-based) pivot that is exactly 0; L and U are there all the
 * same. */
int64_t factor_lu(BlasFn *getrf, int n, void *a, int *pivot);

/* A number as m * 2^e, so that products of many neither overflow nor vanish on the way.
 */
typedef struct Scaled {
    double re, im;
    int64_t e;
} Scaled;
Scaled scaled_one(void);
void scaled_times(Scaled *d, double re, double im);
double scaled_value(double m, int64_t e);
/* The determinant from what factor_lu left; 0 of a singular matrix. */
Scaled factor_det(DType d, int n, const void *lu, const int *pivot);

/* Singular values of a column-major m x n matrix, with the first min(m, n) vectors of
 * either side (job 'S'), all ('A') or none ('N'). */
typedef struct Svd {
    BlasFn *fn;
    DType dtype;
    char job;
    int m, n, lwork;
    size_t room; /* bytes that factor_svd needs */
} Svd;
bool factor_svd_open(Gufunc *q, int slot, char job, int m, int n, Svd *v);
/* a is lost. u has m rows, vt has as many rows as there are vectors. Not 0: an
 * iteration did not end. */
int64_t factor_svd(const Svd *v, void *a, void *s, void *u, void *vt, void *room);

/* Is no element of a packed matrix inf or nan? */
bool factor_finite(DType d, const void *a, int64_t n);
enum { BAD_VALUE = -1, BAD_END = -2 }; /* what an item says then */
/* q->bad is one of these: E_NAN or E_CONVERGENCE. */
bool factor_fail_iteration(const Gufunc *q);

bool factor_fail_singular(const Gufunc *q); /* q->bad: the pivot; E_SINGULAR */
/* q->bad: the order of the minor; semi: the column */
bool factor_fail_not_positive(const Gufunc *q, bool semi);

/* ---- the same without LAPACK, slowly, in the widest dtype: references ---- */
typedef double _Complex Wide;
/* A packed matrix or vector of the item as rows of Wide, and back. */
void wide_read(const Gufunc *q, int arg, const void *from, Wide *to);
void wide_write(const Gufunc *q, int arg, const Wide *from, void *to);
/* a [n, n] becomes the identity, b [n, k] the solution of a x = b, by Gauss and Jordan
 * with partial pivots. The determinant of a; 0: singular, b is nothing then. */
Scaled wide_solve(int n, Wide *a, int k, Wide *b);

#endif
