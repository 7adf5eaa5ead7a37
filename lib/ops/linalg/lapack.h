/* LAPACK, which OpenBLAS exports as Fortran symbols such as dpotrf_. Matrices are
 * column-major; every argument is a pointer; the lengths of character arguments follow
 * all others by value, as in gfortran (routines written in C ignore them). */
#ifndef OPS_LINALG_LAPACK_H
#define OPS_LINALG_LAPACK_H

#include "ops/linalg/gufunc.h"

/* Sets q->fn[slot] to the routine "potrf" for q->dtype. False: E_IO diagnosed. */
bool lapack_get(Gufunc *q, int slot, const char *name);
/* The same with a different name for complex dtypes: orgqr, ungqr. */
bool lapack_get2(Gufunc *q, int slot, const char *real, const char *other);

/* The routines' types; s, d, c and z share one where they agree. */
typedef void Potrf(const char *uplo, const int *n, void *a, const int *lda, int *info,
                   size_t);
typedef void Potri(const char *uplo, const int *n, void *a, const int *lda, int *info,
                   size_t);
typedef void Potrs(const char *uplo, const int *n, const int *nrhs, const void *a,
                   const int *lda, void *b, const int *ldb, int *info, size_t);
typedef void Trtrs(const char *uplo, const char *trans, const char *diag, const int *n,
                   const int *nrhs, const void *a, const int *lda, void *b,
                   const int *ldb, int *info, size_t, size_t, size_t);
typedef void Getrf(const int *m, const int *n, void *a, const int *lda, int *ipiv,
                   int *info);
typedef void Getrs(const char *trans, const int *n, const int *nrhs, const void *a,
                   const int *lda, const int *ipiv, void *b, const int *ldb, int *info,
                   size_t);
typedef void Getri(const int *n, void *a, const int *lda, const int *ipiv, void *work,
                   const int *lwork, int *info);
typedef void Sysv(const char *uplo, const int *n, const int *nrhs, void *a,
                  const int *lda, int *ipiv, void *b, const int *ldb, void *work,
                  const int *lwork, int *info, size_t);
typedef void Gesdd(const char *job, const int *m, const int *n, void *a, const int *lda,
                   void *s, void *u, const int *ldu, void *vt, const int *ldvt,
                   void *work, const int *lwork, int *iwork, int *info, size_t);
typedef void GesddC(const char *job, const int *m, const int *n, void *a,
                    const int *lda, void *s, void *u, const int *ldu, void *vt,
                    const int *ldvt, void *work, const int *lwork, void *rwork,
                    int *iwork, int *info, size_t);
typedef void Gemm_(const char *ta, const char *tb, const int *m, const int *n,
                   const int *k, const void *alpha, const void *a, const int *lda,
                   const void *b, const int *ldb, const void *beta, void *c,
                   const int *ldc, size_t, size_t);

/* The size that a workspace query left in the first element of `work`. */
int lapack_worksize(DType d, const void *work);
/* Rounds up so that what follows is aligned. */
static inline size_t lapack_round(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}
static inline size_t lapack_pivot_bytes(int64_t n) {
    return lapack_round((size_t)(n + 1) * sizeof(int)); /* some for n = 0, too */
}
/* c[m, n] = op(a) op(b), column-major, with inner size k; `ops` has LAPACK's letters;
 * fn is gemm. */
void lapack_gemm(DType d, BlasFn *fn, const char *ops, int m, int n, int k,
                 const void *a, int lda, const void *b, int ldb, void *c);

#endif
