/* eig and eigvals: spectra of any square matrix. Results are always complex, because a
 * type can't depend on values. */
#include "ops/linalg/factor.h"

#include <string.h>

static DType eig_complex_dtype(DType d) {
    return d == DT_FLOAT64 || d == DT_COMPLEX128 ? DT_COMPLEX128 : DT_COMPLEX64;
}

static bool spectrum_type(Infer *in, const char *sig) {
    DType d = in->type[0]->dtype, c = eig_complex_dtype(d);
    return core_type(in, sig, (DType[]){c, c});
}

static bool eig_type(Infer *in) {
    return spectrum_type(in, "(n,n)->(n),(n,n)");
}

static bool eigvals_type(Infer *in) {
    return spectrum_type(in, "(n,n)->(n)");
}

typedef void Geev(const char *left, const char *right, const int *n, void *a,
                  const int *lda, void *wr, void *wi, void *vl, const int *ldvl,
                  void *vr, const int *ldvr, void *work, const int *lwork, int *info,
                  size_t, size_t);
typedef void GeevC(const char *left, const char *right, const int *n, void *a,
                   const int *lda, void *w, void *vl, const int *ldvl, void *vr,
                   const int *ldvr, void *work, const int *lwork, void *rwork,
                   int *info, size_t, size_t);
enum { WORK }; /* options */

static int call_real_geev(const Gufunc *q, bool vectors, void *a, void *wr, void *wi,
                          void *vr, void *work, int lwork) {
    int n = gufunc_dim(q, 'n'), one = 1, info = 0;
    ((Geev *)q->fn[0])("N", vectors ? "V" : "N", &n, a, &n, wr, wi, wr, &one, vr, &n,
                       work, &lwork, &info, 1, 1);
    return info;
}

static int call_complex_geev(const Gufunc *q, bool vectors, void *a, void *w, void *vr,
                             void *rwork, void *work, int lwork) {
    int n = gufunc_dim(q, 'n'), one = 1, info = 0;
    ((GeevC *)q->fn[0])("N", vectors ? "V" : "N", &n, a, &n, w, w, &one, vr, &n, work,
                        &lwork, rwork, &info, 1, 1);
    return info;
}

static double real_part_at(DType d, const void *p, size_t i) {
    return d == DT_FLOAT32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void put_complex(DType d, void *p, size_t i, double re, double im) {
    double z[2] = {re, im};
    DType c = eig_complex_dtype(d);
    tensor_cast_elements(c, (char *)p + i * dtype_size(c), DT_COMPLEX128, z, 1, 0, 0);
}

/* LAPACK returns a conjugate pair's vectors as two real columns, their real and
 * imaginary parts. */
static void widen_eigenpairs(DType d, size_t n, const void *wr, const void *wi,
                             const void *vr, void *w, void *v) {
    for (size_t j = 0; j < n; j++)
        put_complex(d, w, j, real_part_at(d, wr, j), real_part_at(d, wi, j));
    for (size_t j = 0; v && j < n; j++) {
        double im = real_part_at(d, wi, j);
        size_t re = im < 0 ? (j - 1) * n : j * n, other = re + n;
        for (size_t i = 0; i < n; i++)
            put_complex(d, v, j * n + i, real_part_at(d, vr, re + i),
                        im == 0  ? 0
                        : im > 0 ? real_part_at(d, vr, other + i)
                                 : -real_part_at(d, vr, other + i));
    }
}

static int64_t eig_one(const Item *it) {
    const Gufunc *q = it->q;
    size_t n = (size_t)q->dim['n'], size = dtype_size(q->dtype);
    bool vectors = q->nout == 2;
    char *wr = it->room, *wi = wr + lapack_round(2 * n * size),
         *vr = wi + lapack_round(n * size), *work = vr + lapack_round(n * n * size);
    int lwork = (int)q->option[WORK];
    if (!factor_finite(q->dtype, it->in[0], q->dim['n'] * q->dim['n']))
        return BAD_VALUE;
    if (n == 0) return 0;
    if (dtype_is_complex(q->dtype))
        return call_complex_geev(q, vectors, it->in[0], it->out[0],
                                 vectors ? it->out[1] : vr, wr, work, lwork)
                   ? BAD_END
                   : 0;
    if (call_real_geev(q, vectors, it->in[0], wr, wi, vr, work, lwork)) return BAD_END;
    widen_eigenpairs(q->dtype, n, wr, wi, vr, it->out[0], vectors ? it->out[1] : NULL);
    return 0;
}

static bool run_geev(Call *c, const char *sig, const char *pack) {
    Gufunc q;
    double work[2] = {1, 0}, none[2];
    if (!gufunc_open(&q, c, sig, pack) || !lapack_get(&q, 0, "geev")) return false;
    size_t n = (size_t)q.dim['n'], size = dtype_size(q.dtype);
    bool vectors = q.nout == 2;
    if (n > 0 && dtype_is_complex(q.dtype))
        call_complex_geev(&q, vectors, none, none, none, none, work, -1);
    else if (n > 0)
        call_real_geev(&q, vectors, none, none, none, none, work, -1);
    q.option[WORK] = lapack_worksize(q.dtype, work);
    size_t room = lapack_round(2 * n * size) + lapack_round(n * size) +
                  lapack_round(n * n * size) + (size_t)q.option[WORK] * size;
    return gufunc_run(&q, eig_one, room) && (!q.bad || factor_fail_iteration(&q));
}

static bool eig_perform(Call *c) {
    return run_geev(c, "(n,n)->(n),(n,n)", "c>rc");
}

static bool eigvals_perform(Call *c) {
    return run_geev(c, "(n,n)->(n)", "c>r");
}

/* ---- derivatives (Boeddeker et al., On the computation of complex-valued gradients
 * with application to statistically optimum beamforming, 2017) ---- With P = V^-1 dA V:
 * dw = diag P, and dV = V K without its part along each vector, so that they keep their
 * length, with K_ij = P_ij / (w_j - w_i). */
static const char *const eig_pullback =
    "g_a = solve(mH(v), m @ mH(v)) when is_connected(g_v)\n"
    "g_a = solve(mH(v), expand_dims(g_w, -1) * mH(v))\n"
    "m = where(own, expand_dims(g_w, -1), k) when is_connected(g_w)\n"
    "m = k\n"
    "k = quotient(where(own, 0, x - mH(v) @ (v * expand_dims(along, -2))), "
    "cj(gaps(w)))\n"
    "x = mH(v) @ g_v\n"
    "along = real(diagonal(x, axis1=-2, axis2=-1))\n"
    "own = on_diagonal(w)";
static const char *const eig_pushforward =
    "p = solve(v, t_a @ v)\n"
    "t_w = diagonal(p, axis1=-2, axis2=-1)\n"
    "t_v = y - v * sum(real(conj(v) * y), axis=-2, keepdims=True)\n"
    "y = v @ quotient(where(on_diagonal(w), 0, p), gaps(w))";
static const char *const eigvals_pullback =
    "w, v = eig(a)\n"
    "g_a = solve(mH(v), expand_dims(g, -1) * mH(v))";
static const char *const eigvals_pushforward =
    "w, v = eig(a)\n"
    "t_r = diagonal(solve(v, t_a @ v), axis1=-2, axis2=-1)";

/* No exact counts: Golub and Van Loan, Matrix Computations, section 7.5. */
static const Op table[] = {
    {.name = OP_ROW("eig"),
     .doc = "Eigenvalues w and eigenvectors, the columns of v, of length 1: a @ v = v "
            "* w. Both are complex, also for a real matrix; the order is LAPACK's. "
            "Gradients need distinct eigenvalues, or a cotangent whose part for equal "
            "ones is zero. Eigenvectors are unique only up to their phases, on which a "
            "cost must not depend.",
     .in = "a",
     .out = "w, v",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = eig_type,
     .perform = eig_perform,
     .flops = "prod(a.shape[:-2]) * 25 * a.shape[-1] ** 3",
     .pullback = eig_pullback,
     .pushforward = eig_pushforward,
     .vmap = core_vmap,
     .example = "eig([[0.0, 1.0], [-1.0, 0.0]])[0] -> [1.0j, -1.0j]"},
    {.name = OP_ROW("eigvals"),
     .doc = "Eigenvalues of a square matrix, complex, in LAPACK's order.",
     .in = "a",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = eigvals_type,
     .perform = eigvals_perform,
     .flops = "prod(a.shape[:-2]) * 10 * a.shape[-1] ** 3",
     .pullback = eigvals_pullback,
     .pushforward = eigvals_pushforward,
     .vmap = core_vmap,
     .example = "eigvals([[2.0, -1.0], [1.0, 2.0]]) -> [2.0 + 1.0j, 2.0 - 1.0j]"},
};
const OpList ops_linalg_eig = LIST_OF(table);
