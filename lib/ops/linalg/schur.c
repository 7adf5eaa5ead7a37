/* The Schur form and what it solves: Sylvester's equation and, with a generalised form,
 * the discrete algebraic Riccati equation. */
#include "ops/linalg/factor.h"

#include <string.h>

typedef int SelectFn(const void *, const void *, const void *);
typedef void Gees(const char *vectors, const char *sort, SelectFn *select, const int *n,
                  void *a, const int *lda, int *sdim, void *wr, void *wi, void *vs,
                  const int *ldvs, void *work, const int *lwork, int *bwork, int *info,
                  size_t, size_t);
typedef void GeesC(const char *vectors, const char *sort, SelectFn *select,
                   const int *n, void *a, const int *lda, int *sdim, void *w, void *vs,
                   const int *ldvs, void *work, const int *lwork, void *rwork,
                   int *bwork, int *info, size_t, size_t);
typedef void Trsyl(const char *ta, const char *tb, const int *sign, const int *m,
                   const int *n, const void *a, const int *lda, const void *b,
                   const int *ldb, void *c, const int *ldc, void *scale, int *info,
                   size_t, size_t);
enum { WORK }; /* options */
enum { GEES, TRSYL, GEMM };
enum { BAD_SHARED = 1 }; /* result of an item: a and -b share an eigenvalue */

/* a becomes its Schur form, vs its vectors. The room: eigenvalues, rwork and bwork,
 * then lwork elements. */
static int call_gees(const Gufunc *q, int n, void *a, void *vs, char *room, void *work,
                     int lwork) {
    size_t part = lapack_round((size_t)(2 * n) * 16);
    int ld = n ? n : 1, sdim = 0, info = 0, *bwork = (int *)(void *)(room + 2 * part);
    if (dtype_is_complex(q->dtype))
        ((GeesC *)q->fn[GEES])("V", "N", NULL, &n, a, &ld, &sdim, room, vs, &ld, work,
                               &lwork, room + part, bwork, &info, 1, 1);
    else
        ((Gees *)q->fn[GEES])("V", "N", NULL, &n, a, &ld, &sdim, room, room + part, vs,
                              &ld, work, &lwork, bwork, &info, 1, 1);
    return info;
}

static size_t gees_room(int64_t n) {
    return 2 * lapack_round((size_t)(2 * n) * 16) + lapack_pivot_bytes(n);
}

/* Finds the workspace for matrices of size n. */
static void size_gees(Gufunc *q, int n) {
    double work[2] = {1, 0}, none[8] = {0};
    char room[64 * 3];
    int ld = n ? n : 1, sdim = 0, info = 0, query = -1;
    if (n == 0) {
        q->option[WORK] = 1;
        return;
    }
    if (dtype_is_complex(q->dtype))
        ((GeesC *)q->fn[GEES])("V", "N", NULL, &n, none, &ld, &sdim, none, none, &ld,
                               work, &query, none, (int *)(void *)room, &info, 1, 1);
    else
        ((Gees *)q->fn[GEES])("V", "N", NULL, &n, none, &ld, &sdim, none, none, none,
                              &ld, work, &query, (int *)(void *)room, &info, 1, 1);
    q->option[WORK] = lapack_worksize(q->dtype, work);
}

/* ---- schur ---- */
static const char *const schur_signature = "(n,n)->(n,n),(n,n)";

static bool schur_type(Infer *in) {
    return core_type(in, schur_signature, NULL);
}

static int64_t schur_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n');
    if (!factor_finite(q->dtype, it->out[0], (int64_t)n * n)) return BAD_VALUE;
    if (n == 0) return 0;
    return call_gees(q, n, it->out[0], it->out[1], it->room, it->room + gees_room(n),
                     (int)q->option[WORK])
               ? BAD_END
               : 0;
}

static bool schur_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, schur_signature, "->Ac") || !lapack_get(&q, GEES, "gees"))
        return false;
    size_gees(&q, gufunc_dim(&q, 'n'));
    size_t room = gees_room(q.dim['n']) + (size_t)q.option[WORK] * dtype_size(q.dtype);
    return gufunc_run(&q, schur_one, room) && (!q.bad || factor_fail_iteration(&q));
}

static const char *const schur_pullback =
    "g_a = undefined('schur has no derivative: use eig or eigh')";
static const char *const schur_pushforward =
    "t_t = undefined('schur has no derivative: use eig or eigh')\n"
    "t_z = undefined('schur has no derivative: use eig or eigh')";

/* ---- solve_sylvester: with a = u r u^H and b = v s v^H, r y + y s = u^H q v, x = u y
 * v^H (Bartels and Stewart, 1972) ---- */
static const char *const sylvester_signature = "(m,m),(n,n),(m,n)->(m,n)";

static bool sylvester_type(Infer *in) {
    return core_type(in, sylvester_signature, NULL);
}

static void divide_by_scale(DType d, void *x, int64_t n, const void *scale) {
    double f = dtype_real(d) == DT_FLOAT32 ? (double)*(const float *)scale
                                           : *(const double *)scale;
    if (f == 1) return;
    int64_t parts = dtype_is_complex(d) ? 2 * n : n;
    for (int64_t i = 0; i < parts; i++)
        if (dtype_real(d) == DT_FLOAT32)
            ((float *)x)[i] = (float)((double)((float *)x)[i] / f);
        else
            ((double *)x)[i] /= f;
}

static int64_t sylvester_one(const Item *it) {
    const Gufunc *q = it->q;
    int m = gufunc_dim(q, 'm'), n = gufunc_dim(q, 'n'), l = m > n ? m : n, plus = 1,
        info = 0, lwork = (int)q->option[WORK];
    size_t size = dtype_size(q->dtype), mn = lapack_round((size_t)m * (size_t)n * size);
    char *u = it->room, *v = u + lapack_round((size_t)m * (size_t)m * size),
         *t = v + lapack_round((size_t)n * (size_t)n * size), *room = t + mn,
         *work = room + gees_room(l);
    void *x = it->out[0];
    const char *turn = dtype_is_complex(q->dtype) ? "CN" : "TN",
               *back = dtype_is_complex(q->dtype) ? "NC" : "NT";
    double scale[2] = {1, 0};
    if (!factor_finite(q->dtype, it->in[0], (int64_t)m * m) ||
        !factor_finite(q->dtype, it->in[1], (int64_t)n * n) ||
        !factor_finite(q->dtype, x, (int64_t)m * n))
        return BAD_VALUE;
    if (m == 0 || n == 0) return 0;
    if (call_gees(q, m, it->in[0], u, room, work, lwork) ||
        call_gees(q, n, it->in[1], v, room, work, lwork))
        return BAD_END;
    lapack_gemm(q->dtype, q->fn[GEMM], turn, m, n, m, u, m, x, m, t);
    lapack_gemm(q->dtype, q->fn[GEMM], "NN", m, n, n, t, m, v, n, x);
    ((Trsyl *)q->fn[TRSYL])("N", "N", &plus, &m, &n, it->in[0], &m, it->in[1], &n, x,
                            &m, scale, &info, 1, 1);
    if (info) return BAD_SHARED;
    lapack_gemm(q->dtype, q->fn[GEMM], "NN", m, n, m, u, m, x, m, t);
    lapack_gemm(q->dtype, q->fn[GEMM], back, m, n, n, t, m, v, n, x);
    divide_by_scale(q->dtype, x, (int64_t)m * n, scale);
    return 0;
}

static bool sylvester_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, sylvester_signature, "cc->C") ||
        !lapack_get(&q, GEES, "gees") || !lapack_get(&q, TRSYL, "trsyl") ||
        !lapack_get(&q, GEMM, "gemm"))
        return false;
    int64_t m = q.dim['m'], n = q.dim['n'], l = m > n ? m : n;
    size_t size = dtype_size(q.dtype);
    size_gees(&q, (int)l);
    size_t room = lapack_round((size_t)(m * m) * size) +
                  lapack_round((size_t)(n * n) * size) +
                  lapack_round((size_t)(m * n) * size) + gees_room(l) +
                  (size_t)q.option[WORK] * size;
    if (!gufunc_run(&q, sylvester_one, room)) return false;
    if (q.bad == BAD_SHARED)
        return call_fail(c, E_SINGULAR,
                         "a and -b%s share an eigenvalue, so that there is no solution "
                         "or more than one",
                         gufunc_where(&q));
    return !q.bad || factor_fail_iteration(&q);
}

static const char *const sylvester_pullback = "g_q = solve_sylvester(mH(a), mH(b), g)\n"
                                              "g_a = -(g_q @ mH(r))\n"
                                              "g_b = -(mH(r) @ g_q)";
static const char *const sylvester_pushforward =
    "t_r = solve_sylvester(a, b, t_q - t_a @ r - r @ t_b)";

static const Op table[] = {
    {.name = OP_ROW("schur"),
     .doc =
         "The Schur form a = z @ t @ z^H with a unitary z and an upper triangular t, "
         "which for real a has blocks of 2 rows for pairs of complex eigenvalues. "
         "There is no derivative.",
     .in = "a",
     .out = "t, z",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = schur_type,
     .perform = schur_perform,
     .flops = "prod(a.shape[:-2]) * 25 * a.shape[-1] ** 3",
     .pullback = schur_pullback,
     .pushforward = schur_pushforward,
     .vmap = core_vmap,
     .example = "schur([[2.0, 3.0], [0.0, 1.0]])[0] -> [[2.0, 3.0], [0.0, 1.0]]"},
    {.name = OP_ROW("solve_sylvester"),
     .doc = "x with a @ x + x @ b = q; a and -b must not share an eigenvalue.",
     .in = "a, b, q",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = sylvester_type,
     .perform = sylvester_perform,
     .flops = "prod(r.shape[:-2]) * (25 * (a.shape[-1] ** 3 + b.shape[-1] ** 3) + 5 * "
              "(a.shape[-1] ** 2 * b.shape[-1] + a.shape[-1] * b.shape[-1] ** 2))",
     .pullback = sylvester_pullback,
     .pushforward = sylvester_pushforward,
     .vmap = core_vmap,
     .example = "solve_sylvester([[1.0]], [[3.0]], [[8.0]]) -> [[2.0]]"},
};
const OpList ops_linalg_schur = LIST_OF(table);
