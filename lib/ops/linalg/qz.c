/* The generalised Schur form of two matrices (Moler and Stewart, 1973), by LAPACK's
 * gges. */
#include "ops/linalg/factor.h"

typedef int SelectFn(const void *, const void *, const void *);
typedef void Gges(const char *left, const char *right, const char *sort,
                  SelectFn *select, const int *n, void *a, const int *lda, void *b,
                  const int *ldb, int *sdim, void *alphar, void *alphai, void *beta,
                  void *vl, const int *ldvl, void *vr, const int *ldvr, void *work,
                  const int *lwork, int *bwork, int *info, size_t, size_t, size_t);
typedef void GgesC(const char *left, const char *right, const char *sort,
                   SelectFn *select, const int *n, void *a, const int *lda, void *b,
                   const int *ldb, int *sdim, void *alpha, void *beta, void *vl,
                   const int *ldvl, void *vr, const int *ldvr, void *work,
                   const int *lwork, void *rwork, int *bwork, int *info, size_t, size_t,
                   size_t);
enum { WORK }; /* options */
enum { GGES };

/* What a call needs beside the matrices. */
typedef struct QzRoom {
    void *alpha, *imag, *beta, *real, *work;
    int *flags, lwork; /* -1 asks for the size of `work`, and touches nothing else */
} QzRoom;

static size_t values_bytes(int64_t n) {
    return lapack_round((size_t)(n + 1) * 16);
}
static size_t real_bytes(int64_t n) {
    return lapack_round((size_t)(8 * n + 1) * 8);
}
static size_t room_bytes(const Gufunc *g, int64_t n) {
    return 3 * values_bytes(n) + real_bytes(n) + lapack_pivot_bytes(n) +
           (size_t)g->option[WORK] * dtype_size(g->dtype);
}

static QzRoom divide_room(const Gufunc *g, int64_t n, char *p) {
    QzRoom r = {.alpha = p, .lwork = (int)g->option[WORK]};
    r.imag = p += values_bytes(n);
    r.beta = p += values_bytes(n);
    r.real = p += values_bytes(n);
    p += real_bytes(n);
    r.flags = (int *)(void *)p;
    r.work = p + lapack_pivot_bytes(n);
    return r;
}

/* a and b, the first two, become triangular; q and z their vectors. */
static int call_gges(const Gufunc *g, int n, void *const m[4], const QzRoom *r) {
    int ld = n ? n : 1, sdim = 0, info = 0;
    if (dtype_is_complex(g->dtype))
        ((GgesC *)g->fn[GGES])("V", "V", "N", NULL, &n, m[0], &ld, m[1], &ld, &sdim,
                               r->alpha, r->beta, m[2], &ld, m[3], &ld, r->work,
                               &r->lwork, r->real, r->flags, &info, 1, 1, 1);
    else
        ((Gges *)g->fn[GGES])("V", "V", "N", NULL, &n, m[0], &ld, m[1], &ld, &sdim,
                              r->alpha, r->imag, r->beta, m[2], &ld, m[3], &ld, r->work,
                              &r->lwork, r->flags, &info, 1, 1, 1);
    return info;
}

/* Finds the size of the workspace for matrices of size n. */
static void size_gges(Gufunc *g, int n) {
    double work[2] = {1, 0}, none[2] = {0};
    int flags = 0;
    void *const matrix[4] = {none, none, none, none};
    QzRoom r = {none, none, none, none, work, &flags, -1};
    if (n > 0) call_gges(g, n, matrix, &r);
    g->option[WORK] = lapack_worksize(g->dtype, work);
}

static int64_t qz_one(const Item *it) {
    const Gufunc *g = it->q;
    int n = gufunc_dim(g, 'n');
    int64_t count = (int64_t)n * n;
    if (!factor_finite(g->dtype, it->out[0], count) ||
        !factor_finite(g->dtype, it->out[1], count))
        return BAD_VALUE;
    if (n == 0) return 0;
    QzRoom r = divide_room(g, n, it->room);
    return call_gges(g, n, it->out, &r) ? BAD_END : 0;
}

static const char *const qz_signature = "(n,n),(n,n)->(n,n),(n,n),(n,n),(n,n)";

static bool qz_type(Infer *in) {
    return core_type(in, qz_signature, NULL);
}

static bool qz_perform(Call *c) {
    Gufunc g;
    if (!gufunc_open(&g, c, qz_signature, "-->ABcc") || !lapack_get(&g, GGES, "gges"))
        return false;
    int n = gufunc_dim(&g, 'n');
    size_gges(&g, n);
    return gufunc_run(&g, qz_one, room_bytes(&g, n)) &&
           (!g.bad || factor_fail_iteration(&g));
}

#define NO_DERIVATIVE " = undefined('qz has no derivative: use eig or eigh')"

static const Op table[] = {
    {.name = OP_ROW("qz"),
     .doc =
         "The generalised Schur form a = q @ s @ z^H and b = q @ t @ z^H, with unitary "
         "q and z and upper triangular s and t; for real a and b, s has blocks of 2 "
         "rows for pairs of complex eigenvalues. The eigenvalues of a @ x = w * b @ x "
         "are diag(s) / diag(t) where there are no such blocks. There is no "
         "derivative.",
     .in = "a, b",
     .out = "s, t, q, z",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = qz_type,
     .perform = qz_perform,
     .flops = "prod(s.shape[:-2]) * 66 * a.shape[-1] ** 3",
     .pullback = "g_a" NO_DERIVATIVE "\ng_b" NO_DERIVATIVE,
     .pushforward = "t_s" NO_DERIVATIVE "\nt_t" NO_DERIVATIVE "\nt_q" NO_DERIVATIVE
                    "\nt_z" NO_DERIVATIVE,
     .vmap = core_vmap,
     .example = "qz([[2.0, 3.0], [0.0, 1.0]], eye(2))[0] -> [[2.0, 3.0], [0.0, 1.0]]"},
};
const OpList ops_linalg_qz = LIST_OF(table);
