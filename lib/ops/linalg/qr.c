/* qr, by Householder reflections: the diagonal of R is real, its signs are LAPACK's. */
#include "ops/linalg/lapack.h"

#include <string.h>

typedef enum QrMode { REDUCED, COMPLETE, R_ONLY, MODE_N } QrMode;

static int mode_of(Session *s, const Op *op, const Props *props) {
    static const char *const names[MODE_N] = {"reduced", "complete", "r"};
    const char *text = sym_text(s, op_prop(s, op, props, "mode")->sym);
    for (int i = 0; i < MODE_N; i++)
        if (strcmp(text, names[i]) == 0) return i;
    return -1;
}

static const char *qr_signature(int mode) {
    return mode == REDUCED    ? "(m,n)->(m,k),(k,n)"
           : mode == COMPLETE ? "(m,n)->(m,m),(m,n)"
                              : "(m,n)->(k,n)";
}

static bool qr_type(Infer *in) {
    int mode = mode_of(in->s, in->op, in->props);
    if (mode < 0)
        return infer_fail(in, E_ARG, in->nin,
                          "mode must be 'reduced', 'complete' or 'r', not '%s'",
                          sym_text(in->s, infer_prop(in, "mode")->sym));
    return core_type(in, qr_signature(mode), NULL);
}

typedef void Geqrf(const int *m, const int *n, void *a, const int *lda, void *tau,
                   void *work, const int *lwork, int *info);
typedef void Orgqr(const int *m, const int *n, const int *k, void *a, const int *lda,
                   const void *tau, void *work, const int *lwork, int *info);
enum { WORK }; /* options */

/* Copies the upper triangle of `a` [m, n], column-major, into rows x n. */
static void copy_upper(size_t size, int m, int n, const char *a, int rows, char *r) {
    for (int j = 0; j < n; j++) {
        int from = j + 1 < rows ? j + 1 : rows, have = from < m ? from : m;
        char *to = r + (size_t)j * (size_t)rows * size;
        memcpy(to, a + (size_t)j * (size_t)m * size, (size_t)have * size);
        memset(to + (size_t)have * size, 0, (size_t)(rows - have) * size);
    }
}

static int64_t qr_one(const Item *it) {
    const Gufunc *q = it->q;
    int m = gufunc_dim(q, 'm'), n = gufunc_dim(q, 'n'), k = m < n ? m : n,
        ld = gufunc_lead(q, 'm'), lwork = (int)q->option[WORK], info = 0;
    size_t size = dtype_size(q->dtype);
    char *a = it->in[0], *tau = it->room, *work = tau + lapack_round((size_t)k * size);
    if (k > 0) ((Geqrf *)q->fn[0])(&m, &n, a, &ld, tau, work, &lwork, &info);
    bool alone = q->nout == 1;
    int rows = (int)q->arg[alone ? 1 : 2].rows;
    copy_upper(size, m, n, a, rows, it->out[alone ? 0 : 1]);
    if (alone || m == 0) return 0;
    int columns = (int)q->arg[1].cols;
    memcpy(it->out[0], a, (size_t)m * (size_t)(columns < n ? columns : n) * size);
    if (columns > 0)
        ((Orgqr *)q->fn[1])(&m, &columns, &k, it->out[0], &ld, tau, work, &lwork,
                            &info);
    return 0;
}

static bool qr_perform(Call *c) {
    Gufunc q;
    int mode = mode_of(c->s, c->op, c->props);
    if (!gufunc_open(&q, c, qr_signature(mode), mode == R_ONLY ? "c>c" : "c>cc") ||
        !lapack_get(&q, 0, "geqrf") || !lapack_get2(&q, 1, "orgqr", "ungqr"))
        return false;
    int64_t m = q.dim['m'], n = q.dim['n'], l = m > n ? m : n;
    q.option[WORK] = 64 * l + 1;
    return gufunc_run(&q, qr_one,
                      lapack_round((size_t)l * 16) + (size_t)q.option[WORK] * 16);
}

/* ---- derivatives (Walter and Lehmann, 2018; Roberts and Roberts, arXiv:2009.10071)
 * ---- With X = dA R^-1 and C = Q^H X: dR = T R and dQ = X - Q T, where T is upper
 * triangular with C_ij + conj(C_ji) above and Re C_ii on the diagonal. With more
 * columns than rows that holds for the first ones; the others of R are Q^H A. */
#define QR_NAMES                                                                       \
    "q, r = qr(a) when (mode == 'r') | (mode == 'complete') & is_tall(a)\n"            \
    "r1 = r[..., :q.shape[-1]] when is_wide(a)\n"                                      \
    "r1 = r\n"                                                                         \
    "a2 = a[..., q.shape[-1]:]\n"                                                      \
    "not_unique = undefined('with mode=\\'complete\\' the columns of q beyond the "    \
    "first min(m, n) are not unique')\n"
static const char *const qr_pullback =
    QR_NAMES "g_a = not_unique when mode == 'complete', is_tall(a), is_connected(g_q)\n"
             "g_a = concatenate([ga1, ga2], axis=-1) when is_wide(a)\n"
             "g_a = ga1\n"
             "ga1 = mH(solve_triangular(r1, mH(gq + q @ c)))\n"
             "ga2 = q @ g2 when is_connected(g2)\n"
             "ga2 = zeros_like(a2)\n"
             "c = mirror(g1 @ mH(r1) - mH(q) @ gq, False)\n"
             "gq = a2 @ mH(g2) when mode == 'r'\n"
             "gq = g_q + a2 @ mH(g2)\n"
             "gr = g when mode == 'r'\n"
             "gr = g_r[..., :q.shape[-1], :] when mode == 'complete', is_tall(a)\n"
             "gr = g_r\n"
             "g1 = gr[..., :q.shape[-1]] when is_wide(a)\n"
             "g1 = gr\n"
             "g2 = gr[..., q.shape[-1]:] when is_wide(a)";
static const char *const qr_pushforward = QR_NAMES
    "t_q = not_unique when mode == 'complete', is_tall(a)\n"
    "t_q = dq\n"
    "t_r = concatenate([dr, broadcast_to(below, dr.shape[:-2] + below.shape)], "
    "axis=-2) when mode == 'complete', is_tall(a)\n"
    "t_r = dr\n"
    "x = mH(solve_triangular(r1, mH(d1), trans=2))\n"
    "t = fold(mH(q) @ x, False)\n"
    "dq = x - q @ t\n"
    "dr = concatenate([t @ r1, mH(dq) @ a2 + mH(q) @ d2], axis=-1) when is_wide(a)\n"
    "dr = t @ r1\n"
    "d1 = t_a[..., :q.shape[-1]] when is_wide(a)\n"
    "d1 = t_a\n"
    "d2 = t_a[..., q.shape[-1]:]\n"
    "below = zeros((a.shape[-2] - q.shape[-1], a.shape[-1]), dtype='int8')";

#define BATCH "prod(a.shape[:-2]) * "
#define L     "max(a.shape[-2], a.shape[-1])"
#define K     "min(a.shape[-2], a.shape[-1])"
static const Op table[] = {
    {.name = OP_ROW("qr"),
     .doc = "q with orthonormal columns and an upper triangular r with a = q @ r. "
            "mode='reduced' gives min(m, n) columns, 'complete' m columns, 'r' only r. "
            "The gradient needs the first min(m, n) columns of a to be independent.",
     .in = "a",
     .props = "mode: str = 'reduced'",
     .out = "q, r",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = qr_type,
     .perform = qr_perform,
     /* the leading terms of geqrf and orgqr */
     .flops = BATCH "((2 * " L " * " K " ** 2 - 2 * " K " ** 3 / 3) * (1 + (mode == "
                    "'reduced')) + (mode == 'complete') * (4 * a.shape[-2] ** 2 * " K
                    " - 4 * a.shape[-2] * " K " ** 2 + 4 * " K " ** 3 / 3))",
     .pullback = qr_pullback,
     .pushforward = qr_pushforward,
     .vmap = core_vmap,
     .example = "abs(qr([[3.0, 1.0], [4.0, 3.0]])[1]) -> [[5.0, 3.0], [0.0, 1.0]]\n"
                "abs(qr([[3.0], [4.0]], mode='r')) -> [[5.0]]"},
};
const OpList ops_linalg_qr = LIST_OF(table);
