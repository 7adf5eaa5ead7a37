/* Factorisations of one matrix, by LAPACK and by elementary loops. */
#include "ops/linalg/factor.h"

#include <complex.h>
#include <math.h>

/* ---- by LAPACK ---- */
/* Element i of a packed matrix. */
static void packed_element(DType d, const void *a, int64_t i, double z[2]) {
    z[1] = 0;
    if (d == DT_FLOAT64)
        z[0] = ((const double *)a)[i];
    else if (d == DT_FLOAT32)
        z[0] = (double)((const float *)a)[i];
    else
        tensor_cast_elements(DT_COMPLEX128, z, d,
                             (const char *)a + (size_t)i * dtype_size(d), 1, 0, 0);
}

static double real_at(DType d, const void *a, int64_t i) {
    double z[2];
    packed_element(d, a, i, z);
    return z[0];
}

/* LAPACK routines differ in how they treat an imaginary part on the diagonal, and
 * nan. */
void factor_make_real(DType d, void *a, int n) {
    size_t size = dtype_size(d);
    if (!dtype_is_complex(d)) return;
    for (int64_t i = 0; i < n; i++) {
        double z[2] = {real_at(d, a, i * n + i), 0};
        tensor_cast_elements(d, (char *)a + (size_t)(i * n + i) * size, DT_COMPLEX128,
                             z, 1, 0, 0);
    }
}

bool factor_triangle_type(Infer *in) {
    if (infer_prop(in, "upper")->i) {
        infer_settle_prop(in, "lower", PROP_BOOL(false));
        infer_settle_prop(in, "upper", PROP_BOOL(false));
    }
    return core_type(in, "(n,n)->(n,n)", NULL);
}

int64_t factor_cholesky(const Gufunc *q, BlasFn *potrf, bool upper, int n, void *a) {
    int info = 0, ld = n ? n : 1;
    if (n == 0) return 0;
    factor_make_real(q->dtype, a, n);
    ((Potrf *)potrf)(upper ? "U" : "L", &n, a, &ld, &info, 1);
    for (int64_t i = 0; info == 0 && i < n; i++)
        if (!(real_at(q->dtype, a, i * n + i) > 0)) info = (int)i + 1;
    return info;
}

const char *factor_solve_signature(int b_ndim) {
    return b_ndim == 1 ? "(n,n),(n)->(n)" : "(n,n),(n,k)->(n,k)";
}

bool factor_want_trans(Infer *in) {
    int64_t trans = infer_prop(in, "trans")->i;
    return (trans >= 0 && trans <= 2) ||
           infer_fail(in, E_ARG, in->nin,
                      "trans must be 0 (a @ x), 1 (a.T @ x) or 2 (a^H @ x), not %lld",
                      (long long)trans);
}

int64_t factor_lu(BlasFn *getrf, int n, void *a, int *pivot) {
    int info = 0, ld = n ? n : 1;
    if (n > 0) ((Getrf *)getrf)(&n, &n, a, &ld, pivot, &info);
    return info;
}

/* ---- determinants ---- */
Scaled scaled_one(void) {
    return (Scaled){1, 0, 0};
}

/* Moves the exponent out of a number of extreme size. */
static void settle_exponent(double *re, double *im, int64_t *e) {
    double top = fabs(*re) > fabs(*im) ? fabs(*re) : fabs(*im);
    int by = 0;
    if ((top > 1e-100 && top < 1e100) || !(top > 0 && top < HUGE_VAL)) return;
    frexp(top, &by);
    *re = ldexp(*re, -by), *im = ldexp(*im, -by);
    *e += by;
}

void scaled_times(Scaled *d, double re, double im) {
    settle_exponent(&re, &im, &d->e);
    double x = d->re * re - d->im * im, y = d->re * im + d->im * re;
    d->re = x, d->im = y;
    settle_exponent(&d->re, &d->im, &d->e);
}

double scaled_value(double m, int64_t e) {
    return ldexp(m, (int)(e > 5000 ? 5000 : e < -5000 ? -5000 : e));
}

Scaled factor_det(DType d, int n, const void *lu, const int *pivot) {
    Scaled r = scaled_one();
    for (int64_t i = 0; i < n; i++) {
        double z[2];
        packed_element(d, lu, i * n + i, z);
        bool swap = pivot[i] != i + 1;
        scaled_times(&r, swap ? -z[0] : z[0], swap ? -z[1] : z[1]);
    }
    return r;
}

/* ---- singular values ---- */
static size_t svd_rwork(const Svd *v) {
    size_t k = (size_t)(v->m < v->n ? v->m : v->n),
           l = (size_t)(v->m < v->n ? v->n : v->m);
    size_t a = 5 * k * k + 5 * k, b = 2 * l * k + 2 * k * k + k;
    if (!dtype_is_complex(v->dtype)) return 0;
    return dtype_size(dtype_real(v->dtype)) * (v->job == 'N' ? 7 * k : a > b ? a : b);
}

static int svd_call(const Svd *v, void *a, void *s, void *u, void *vt, void *work,
                    int lwork, char *room) {
    int k = v->m < v->n ? v->m : v->n, info = 0, lda = v->m ? v->m : 1,
        rows = v->job == 'A' ? v->n : k, ldvt = rows ? rows : 1;
    int *iwork = (int *)(void *)room;
    void *rwork = room + lapack_round(8 * (size_t)k * sizeof(int));
    if (dtype_is_complex(v->dtype))
        ((GesddC *)v->fn)(&v->job, &v->m, &v->n, a, &lda, s, u, &lda, vt, &ldvt, work,
                          &lwork, rwork, iwork, &info, 1);
    else
        ((Gesdd *)v->fn)(&v->job, &v->m, &v->n, a, &lda, s, u, &lda, vt, &ldvt, work,
                         &lwork, iwork, &info, 1);
    return info;
}

bool factor_svd_open(Gufunc *q, int slot, char job, int m, int n, Svd *v) {
    double work[2] = {0}, none[2];
    int k = m < n ? m : n;
    if (!lapack_get(q, slot, "gesdd")) return false;
    *v = (Svd){.fn = q->fn[slot], .dtype = q->dtype, .job = job, .m = m, .n = n};
    v->room = lapack_round(8 * (size_t)k * sizeof(int)) + lapack_round(svd_rwork(v));
    if (k == 0) return true;
    svd_call(v, none, none, none, none, work, -1, (char *)none);
    v->lwork = lapack_worksize(q->dtype, work);
    v->room += lapack_round((size_t)v->lwork * dtype_size(q->dtype));
    return true;
}

int64_t factor_svd(const Svd *v, void *a, void *s, void *u, void *vt, void *room) {
    char *work = (char *)room + lapack_round((size_t)v->lwork * dtype_size(v->dtype));
    if (!factor_finite(v->dtype, a, (int64_t)v->m * v->n)) return BAD_VALUE;
    if (v->m == 0 || v->n == 0) return 0;
    return svd_call(v, a, s, u, vt, room, v->lwork, work) ? BAD_END : 0;
}

bool factor_finite(DType d, const void *a, int64_t n) {
    int64_t parts = dtype_is_complex(d) ? 2 * n : n;
    const float *x = a;
    const double *y = a;
    bool narrow = dtype_real(d) == DT_FLOAT32, ok = true;
    for (int64_t i = 0; i < parts; i++)
        ok &= (bool)(narrow ? isfinite(x[i]) : isfinite(y[i]));
    return ok;
}

bool factor_triangle_finite(DType d, const void *a, int64_t n, bool lower) {
    bool ok = true;
    for (int64_t i = 0; i < n; i++) {
        int64_t first = lower ? i * n : i * n + i;
        const char *row = (const char *)a + (size_t)first * dtype_size(d);
        ok = ok && factor_finite(d, row, lower ? i + 1 : n - i);
    }
    return ok;
}

static void fill_nan(DType d, void *p, int64_t n) {
    static const double nan[2] = {(double)NAN, (double)NAN};
    tensor_cast_elements(d, p, dtype_is_complex(d) ? DT_COMPLEX128 : DT_FLOAT64, nan,
                         (size_t)n, (ptrdiff_t)dtype_size(d), 0);
}

void factor_fill_nan(const Item *it, int n, int k, bool finite) {
    DType d = it->q->dtype;
    for (int64_t j = 0; j < k; j++) {
        char *column = (char *)it->out[0] + (size_t)(j * n) * dtype_size(d);
        if (!finite || !factor_finite(d, column, n)) fill_nan(d, column, n);
    }
}

bool factor_fail_iteration(const Gufunc *q) {
    if (q->bad == BAD_VALUE)
        return call_fail(q->c, E_NAN, "an element of the matrix%s is inf or nan",
                         gufunc_where(q));
    return call_fail(q->c, E_CONVERGENCE,
                     "the iteration for the matrix%s did not converge",
                     gufunc_where(q));
}

bool factor_fail_singular(const Gufunc *q) {
    return call_fail(q->c, E_SINGULAR, "the matrix%s is singular: pivot %lld is 0",
                     gufunc_where(q), (long long)q->bad);
}

bool factor_fail_not_positive(const Gufunc *q, bool semi) {
    const char *where = gufunc_where(q);
    if (semi)
        return call_fail(q->c, E_SINGULAR,
                         "the matrix%s is not positive semidefinite: its pivot %lld is "
                         "negative, or 0 where the rest of its column is not",
                         where, (long long)q->bad);
    return call_fail(
        q->c, E_SINGULAR,
        "the matrix%s is not positive definite: its leading minor of order "
        "%lld is not positive",
        where, (long long)q->bad);
}

/* ---- elementary loops ---- */
void wide_read(const Gufunc *q, int arg, const void *from, Wide *to) {
    const struct CoreArg *a = &q->arg[arg];
    tensor_cast_elements(DT_COMPLEX128, to, a->dtype, from, (size_t)(a->rows * a->cols),
                         sizeof *to, (ptrdiff_t)dtype_size(a->dtype));
}

void wide_write(const Gufunc *q, int arg, const Wide *from, void *to) {
    const struct CoreArg *a = &q->arg[arg];
    tensor_cast_elements(a->dtype, to, DT_COMPLEX128, from, (size_t)(a->rows * a->cols),
                         (ptrdiff_t)dtype_size(a->dtype), sizeof *from);
}

static void swap_wide_rows(Wide *a, int n, int i, int j) {
    for (int k = 0; k < n; k++) {
        Wide t = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = t;
    }
}

/* row i -= f * row j */
static void subtract_wide_row(Wide *a, int n, int i, int j, Wide f) {
    for (int k = 0; k < n; k++)
        a[i * n + k] -= f * a[j * n + k];
}

Scaled wide_solve(int n, Wide *a, int k, Wide *b) {
    Scaled det = scaled_one();
    for (int c = 0; c < n; c++) {
        int at = c;
        for (int i = c + 1; i < n; i++)
            if (cabs(a[i * n + c]) > cabs(a[at * n + c])) at = i;
        Wide p = a[at * n + c];
        if (p == 0) return (Scaled){0, 0, 0};
        scaled_times(&det, at == c ? creal(p) : -creal(p),
                     at == c ? cimag(p) : -cimag(p));
        swap_wide_rows(a, n, c, at);
        swap_wide_rows(b, k, c, at);
        for (int j = 0; j < n; j++)
            a[c * n + j] /= p;
        for (int j = 0; j < k; j++)
            b[c * k + j] /= p;
        for (int i = 0; i < n; i++) {
            Wide f = a[i * n + c];
            if (i == c || f == 0) continue;
            subtract_wide_row(a, n, i, c, f);
            subtract_wide_row(b, k, i, c, f);
        }
    }
    return det;
}
