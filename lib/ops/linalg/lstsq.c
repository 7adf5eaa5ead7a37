/* lstsq: least squares by singular values (LAPACK's gelsd). */
#include "ops/linalg/factor.h"

#include <float.h>
#include <string.h>

static const char *lstsq_signature(int b_ndim) {
    return b_ndim == 1 ? "(m,n),(m)->(n),(),(),(l)" : "(m,n),(m,k)->(n,k),(k),(),(l)";
}

static bool lstsq_type(Infer *in) {
    if (!infer_want_rank(in, 0, 2, -1) || !infer_want_rank(in, 1, 1, -1) ||
        !infer_want_same_dtype(in))
        return false;
    DType d = in->type[0]->dtype, real = dtype_real(d);
    return core_type(in, lstsq_signature(in->type[1]->ndim),
                     (DType[]){d, real, DT_INT64, real});
}

typedef void Gelsd(const int *m, const int *n, const int *nrhs, void *a, const int *lda,
                   void *b, const int *ldb, void *s, const void *rcond, int *rank,
                   void *work, const int *lwork, int *iwork, int *info);
typedef void GelsdC(const int *m, const int *n, const int *nrhs, void *a,
                    const int *lda, void *b, const int *ldb, void *s, const void *rcond,
                    int *rank, void *work, const int *lwork, void *rwork, int *iwork,
                    int *info);

typedef struct Lstsq {
    double rcond;
    int lwork;
    size_t real_work, whole_work, right, rest, work; /* bytes, rounded up */
} Lstsq;
enum { GELSD, GEMM };

static int call_gelsd(const Gufunc *q, const Lstsq *w, void *a, void *b, void *s,
                      int *rank, char *room, int lwork, void *query) {
    int m = gufunc_dim(q, 'm'), n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'),
        lda = m ? m : 1, ldb = m > n ? m : n, info = 0;
    if (k == 0) k = 1; /* gelsd needs a column: `b` has one of zeros */
    double rcond = w->rcond;
    float narrow = (float)rcond;
    const void *cut =
        dtype_real(q->dtype) == DT_FLOAT32 ? (const void *)&narrow : &rcond;
    char *real = room, *whole = real + w->real_work;
    void *work = query ? query : whole + w->whole_work;
    if (dtype_is_complex(q->dtype))
        ((GelsdC *)q->fn[GELSD])(&m, &n, &k, a, &lda, b, &ldb, s, cut, rank, work,
                                 &lwork, real, (int *)(void *)whole, &info);
    else
        ((Gelsd *)q->fn[GELSD])(&m, &n, &k, a, &lda, b, &ldb, s, cut, rank, work,
                                &lwork, (int *)(void *)whole, &info);
    return info;
}

static double square_at(DType d, const void *p, int64_t i) {
    double z[2];
    tensor_cast_elements(DT_COMPLEX128, z, d,
                         (const char *)p + (size_t)i * dtype_size(d), 1, 0, 0);
    return z[0] * z[0] + z[1] * z[1];
}

/* Squared residuals b - fit, summed by column. */
static void put_residuals(const Item *it, int m, int k, const char *fit) {
    const Gufunc *q = it->q;
    DType d = q->dtype, real = q->arg[3].dtype;
    size_t size = dtype_size(d), part = dtype_size(dtype_real(d));
    for (int c = 0; c < k; c++) {
        double sum = 0;
        for (int64_t i = 0; i < m; i++) {
            double x[2], y[2];
            size_t at = (size_t)(c * (int64_t)m + i) * size;
            tensor_cast_elements(DT_COMPLEX128, x, d, (const char *)it->in[1] + at, 1,
                                 0, 0);
            tensor_cast_elements(DT_COMPLEX128, y, d, fit + at, 1, 0, 0);
            x[0] -= y[0], x[1] -= y[1];
            sum += square_at(DT_COMPLEX128, x, 0);
        }
        tensor_cast_elements(real, (char *)it->out[1] + (size_t)c * part, DT_FLOAT64,
                             &sum, 1, 0, 0);
    }
}

/* gelsd needs b with max(m, n) rows and leaves x in the first n. */
static int64_t lstsq_one(const Item *it) {
    const Gufunc *q = it->q;
    const Lstsq *w = q->own;
    int m = gufunc_dim(q, 'm'), n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'),
        l = m > n ? m : n, rank = 0;
    size_t size = dtype_size(q->dtype), column = (size_t)n * size;
    char *b = it->room, *copy = b + w->right, *room = copy + w->rest;
    int64_t *rank_out = it->out[2];
    if (!factor_finite(q->dtype, it->in[0], (int64_t)m * n) ||
        !factor_finite(q->dtype, it->in[1], (int64_t)m * k))
        return BAD_VALUE;
    memset(b, 0, w->right);
    for (size_t c = 0; c < (size_t)k; c++)
        memcpy(b + c * (size_t)l * size, (char *)it->in[1] + c * (size_t)m * size,
               (size_t)m * size);
    memcpy(copy, it->in[0], (size_t)m * (size_t)n * size);
    if (m > 0 && n > 0 &&
        call_gelsd(q, w, it->in[0], b, it->out[3], &rank, room, w->lwork, NULL))
        return BAD_END;
    for (size_t c = 0; c < (size_t)k; c++)
        memcpy((char *)it->out[0] + c * column, b + c * (size_t)l * size, column);
    *rank_out = rank;
    memset(b, 0, (size_t)m * (size_t)k * size);
    if (n > 0)
        lapack_gemm(q->dtype, q->fn[GEMM], "NN", m, k, n, copy, m ? m : 1, it->out[0],
                    n, b);
    put_residuals(it, m, k, b);
    return 0;
}

static bool ask_gelsd_sizes(Gufunc *q, Lstsq *w) {
    double none[2], work[2] = {1, 0}, real[2] = {1, 0};
    int whole[2] = {1, 1}, rank;
    int m = gufunc_dim(q, 'm'), n = gufunc_dim(q, 'n');
    char place[256] = {0};
    *w = (Lstsq){.rcond = w->rcond, .real_work = 128};
    if (m > 0 && n > 0) {
        call_gelsd(q, w, none, none, none, &rank, place, -1, work);
        tensor_cast_elements(DT_FLOAT64, real, dtype_real(q->dtype), place, 1, 0, 0);
        memcpy(whole, place + w->real_work, sizeof(int));
    }
    w->lwork = lapack_worksize(q->dtype, work);
    w->real_work = lapack_round(((size_t)real[0] + 1) * sizeof(double));
    w->whole_work = lapack_round((size_t)whole[0] * sizeof(int) + 64);
    w->work = lapack_round((size_t)w->lwork * dtype_size(q->dtype));
    return true;
}

static bool lstsq_perform(Call *c) {
    Gufunc q;
    const Prop *rcond = op_prop(c->s, c->op, c->props, "rcond");
    if (!gufunc_open(&q, c, lstsq_signature(call_in(c, 1)->ndim), "cc>crrr") ||
        !lapack_get(&q, GELSD, "gelsd") || !lapack_get(&q, GEMM, "gemm"))
        return false;
    size_t m = (size_t)q.dim['m'], n = (size_t)q.dim['n'], l = m > n ? m : n,
           k = (size_t)gufunc_columns(&q, 'k'), size = dtype_size(q.dtype);
    double eps = dtype_real(q.dtype) == DT_FLOAT32 ? (double)FLT_EPSILON : DBL_EPSILON;
    Lstsq w = {.rcond = rcond->kind == P_NONE ? eps * (double)l : rcond->f};
    if (!ask_gelsd_sizes(&q, &w)) return false;
    w.right = lapack_round(l * (k ? k : 1) * size);
    w.rest = lapack_round(m * n * size);
    q.own = &w;
    return gufunc_run(&q, lstsq_one,
                      w.right + w.rest + w.real_work + w.whole_work + w.work) &&
           (!q.bad || factor_fail_iteration(&q));
}

/* ---- derivatives (Golub and Pereyra 1973, at constant rank) ----
 * With R = pinv(A) and e = b - A x:
 *   dx = R (db - dA x) + R R^H dA^H e + (1 - R A) dA^H R^H x
 *   d|e|^2 = 2 Re e^H (db - dA x), as A^H e = 0. */
#define LSTSQ_NAMES                                                                    \
    "y = column(x, b)\n"                                                               \
    "e = column(b, b) - a @ y\n"                                                       \
    "p = pinv(a, rcond=rcond)\n"                                                       \
    "u, sigma, vh = svd(a)\n"
static const char *const lstsq_pullback = LSTSQ_NAMES
    "g_a = by_x + by_residuals + (u * expand_dims(g_s, -2)) @ vh\n"
    "g_b = uncolumn(gx + gr, b)\n"
    "g = column(g_x, b)\n"
    "gx = mH(p) @ g\n"
    "gr = 2 * e * expand_dims(column(g_residuals, b), -2)\n"
    "by_x = e @ mH(p @ gx) - gx @ mH(y) + (mH(p) @ y) @ mH(g - p @ (a @ g))\n"
    "by_residuals = -(gr @ mH(y))";
static const char *const lstsq_pushforward = LSTSQ_NAMES
    "t_x = uncolumn(p @ d + p @ (mH(p) @ (mH(t_a) @ e)) + z - p @ (a @ z), b)\n"
    "t_residuals = uncolumn(re(2 * sum(cj(e) * d, axis=-2)), b)\n"
    "t_s = re(sum(cj(u) * (t_a @ mH(vh)), axis=-2))\n"
    "d = column(t_b, b) - t_a @ y\n"
    "z = mH(t_a) @ (mH(p) @ y)";

/* No exact count: Golub and Van Loan, Matrix Computations, section 5.5. */
static const Op table[] = {
    {.name = OP_ROW("lstsq"),
     .doc = "The shortest x that minimises the sum of squares of b - a @ x; these sums "
            "for each column; the rank of a; its singular values. Singular values up "
            "to rcond times the largest count as 0; by default rcond is the larger "
            "side times the dtype's epsilon. A one-dim b is a vector, whose sum is a "
            "scalar. The sums are given for any rank. The gradient is that of matrices "
            "of the same rank.",
     .in = "a, b",
     .props = "rcond: float? = None",
     .out = "x, residuals, rank, s",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = lstsq_type,
     .perform = lstsq_perform,
     .flops =
         "prod(a.shape[:-2]) * (4 * max(a.shape[-2], a.shape[-1]) * "
         "min(a.shape[-2], a.shape[-1]) ** 2 + 8 * min(a.shape[-2], a.shape[-1]) ** "
         "3) + 4 * x.size * a.shape[-2]",
     .pullback = lstsq_pullback,
     .pushforward = lstsq_pushforward,
     .vmap = core_vmap_solve,
     .example = "lstsq([[1.0], [1.0]], [1.0, 3.0])[0] -> [2.0]\n"
                "lstsq([[1.0], [1.0]], [1.0, 3.0])[1] -> 2.0"},
};
const OpList ops_linalg_lstsq = LIST_OF(table);
