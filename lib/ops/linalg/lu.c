/* lu, lu_factor and lu_solve. The permutation is a step function of the matrix, so no
 * gradient flows through it. */
#include "ops/linalg/factor.h"

#include <string.h>

static bool lu_type(Infer *in) {
    return core_type(in, "(m,n)->(m,m),(m,k),(k,n)", NULL);
}

static bool lu_factor_type(Infer *in) {
    DType d = in->type[0]->dtype;
    return core_type(in, "(m,n)->(m,n),(k)", (DType[]){d, DT_INT64});
}

static void one_at(DType d, void *a, int64_t i) {
    double one = 1;
    tensor_cast_elements(d, (char *)a + (size_t)i * dtype_size(d), DT_FLOAT64, &one, 1,
                         0, 0);
}

/* Factors a (column-major) in place; the row swaps count from 1. */
static void factor_item(const Item *it, void *a, int *pivot) {
    const Gufunc *q = it->q;
    int m = gufunc_dim(q, 'm'), n = gufunc_dim(q, 'n'), ld = gufunc_lead(q, 'm'),
        info = 0;
    if (m > 0 && n > 0) ((Getrf *)q->fn[0])(&m, &n, a, &ld, pivot, &info);
}

static int64_t lu_one(const Item *it) {
    const Gufunc *q = it->q;
    int64_t m = q->dim['m'], n = q->dim['n'], k = m < n ? m : n;
    size_t size = dtype_size(q->dtype);
    int *pivot = (int *)(void *)it->room;
    int64_t *row =
        (int64_t *)(void *)(it->room + lapack_round((size_t)k * sizeof(int)));
    char *a = it->in[0], *p = it->out[0], *l = it->out[1], *u = it->out[2];
    factor_item(it, a, pivot);
    for (int64_t i = 0; i < m; i++)
        row[i] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t j = pivot[i] - 1, t = row[i];
        row[i] = row[j];
        row[j] = t;
    }
    memset(p, 0, (size_t)(m * m) * size);
    for (int64_t i = 0; i < m; i++) /* row i of L U is row[i] of A */
        one_at(q->dtype, p, i * m + row[i]);
    for (int64_t j = 0; j < k; j++) {
        char *to = l + (size_t)(j * m) * size;
        memset(to, 0, (size_t)j * size);
        one_at(q->dtype, l, j * m + j);
        memcpy(to + (size_t)(j + 1) * size, a + (size_t)(j * m + j + 1) * size,
               (size_t)(m - j - 1) * size);
    }
    for (int64_t j = 0; j < n; j++) {
        int64_t have = j + 1 < k ? j + 1 : k;
        char *to = u + (size_t)(j * k) * size;
        memcpy(to, a + (size_t)(j * m) * size, (size_t)have * size);
        memset(to + (size_t)have * size, 0, (size_t)(k - have) * size);
    }
    return 0;
}

static bool lu_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, "(m,n)->(m,m),(m,k),(k,n)", "c>ccc") ||
        !lapack_get(&q, 0, "getrf"))
        return false;
    size_t m = (size_t)q.dim['m'];
    return gufunc_run(&q, lu_one, lapack_round(m * sizeof(int)) + m * sizeof(int64_t));
}

static int64_t lu_factor_one(const Item *it) {
    const Gufunc *q = it->q;
    int64_t m = q->dim['m'], n = q->dim['n'], *to = it->out[1];
    int *pivot = (int *)(void *)it->room;
    factor_item(it, it->out[0], pivot);
    for (int64_t i = 0; i < (m < n ? m : n); i++)
        to[i] = pivot[i] - 1;
    return 0;
}

static bool lu_factor_perform(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(m,n)->(m,n),(k)", "->Ar") &&
           lapack_get(&q, 0, "getrf") &&
           gufunc_run(&q, lu_factor_one, (size_t)(q.dim['m'] + 1) * sizeof(int));
}

/* ---- derivatives ----
 * With B = P^T A = L U and M = L^-1 dB U^-1 of a square matrix: dL = L tril(M, -1) and
 * dU = triu(M) U. Rows of L below and columns of U to the right of the square part come
 * from L2 = B2 U^-1 and U2 = L^-1 B2. */
#define LU_NAMES                                                                       \
    "rows = lambda x: x[..., :l.shape[-1], :] when is_tall(a)\n"                       \
    "rows = lambda x: x\n"                                                             \
    "cols = lambda x: x[..., :u.shape[-2]] when is_wide(a)\n"                          \
    "cols = lambda x: x\n"                                                             \
    "l1 = rows(l)\n"                                                                   \
    "l2 = l[..., l.shape[-1]:, :] when is_tall(a)\n"                                   \
    "u1 = cols(u)\n"                                                                   \
    "u2 = u[..., u.shape[-2]:] when is_wide(a)\n"
/* From gl and gu; the gradient of B has four parts. One of l2 and u2 is empty. */
#define LU_PULLBACK                                                                    \
    "by_l = lambda x: solve_triangular(l1, x, trans=2, lower=True, "                   \
    "unit_diagonal=True)\n"                                                            \
    "by_u = lambda x: mH(solve_triangular(u1, mH(x)))\n"                               \
    "g12 = by_l(gu[..., u.shape[-2]:]) when is_wide(a)\n"                              \
    "g21 = by_u(gl[..., l.shape[-1]:, :]) when is_tall(a)\n"                           \
    "gl1 = rows(gl) - g12 @ mH(u2)\n"                                                  \
    "gu1 = cols(gu) - mH(l2) @ g21\n"                                                  \
    "g11 = by_u(by_l(tril(mH(l1) @ gl1, k=-1) + triu(gu1 @ mH(u1))))\n"                \
    "top = concatenate([g11, g12], axis=-1) when is_wide(a)\n"                         \
    "top = g11\n"                                                                      \
    "low = concatenate([g21, l2 @ u2], axis=-1) when is_wide(a)\n"                     \
    "low = g21\n"                                                                      \
    "gb = concatenate([top, low], axis=-2) when is_tall(a)\n"                          \
    "gb = top\n"
/* dl and du */
#define LU_PUSHFORWARD                                                                 \
    "by_l = lambda x: solve_triangular(l1, x, lower=True, unit_diagonal=True)\n"       \
    "by_u = lambda x: mH(solve_triangular(u1, mH(x), trans=2))\n"                      \
    "db = mT(p) @ t_a\n"                                                               \
    "m = by_u(by_l(cols(rows(db))))\n"                                                 \
    "dl1 = l1 @ tril(m, k=-1)\n"                                                       \
    "du1 = triu(m) @ u1\n"                                                             \
    "dl2 = by_u(cols(db[..., l.shape[-1]:, :]) - l2 @ du1)\n"                          \
    "du2 = by_l(rows(db)[..., l.shape[-1]:] - dl1 @ u2)\n"                             \
    "dl = concatenate([dl1, dl2], axis=-2) when is_tall(a)\n"                          \
    "dl = dl1\n"                                                                       \
    "du = concatenate([du1, du2], axis=-1) when is_wide(a)\n"                          \
    "du = du1\n"
static const char *const lu_pullback =
    LU_NAMES LU_PULLBACK "g_a = p @ gb when is_connected(g_l) | is_connected(g_u)\n"
                         "gl = g_l when is_connected(g_l)\n"
                         "gl = zeros_like(l)\n"
                         "gu = g_u when is_connected(g_u)\n"
                         "gu = zeros_like(u)";
static const char *const lu_pushforward = LU_NAMES LU_PUSHFORWARD "t_l = dl\n"
                                                                  "t_u = du";

/* ---- lu_factor: both factors in one matrix ---- */
static const char *const lu_factor_pullback =
    LU_NAMES LU_PULLBACK "p, l, u = lu(a)\n"
                         "g_a = p @ gb when is_connected(g_lu)\n"
                         "gl = tril(g_lu, k=-1)[..., :l.shape[-1]]\n"
                         "gu = triu(g_lu)[..., :u.shape[-2], :]";
static const char *const lu_factor_pushforward = LU_NAMES LU_PUSHFORWARD
    "p, l, u = lu(a)\n"
    "t_lu = left + right\n"
    "left = concatenate([dl, zeros_like(a[..., l.shape[-1]:])], axis=-1) "
    "when is_wide(a)\n"
    "left = dl\n"
    "right = concatenate([du, zeros_like(a[..., u.shape[-2]:, :])], axis=-2) "
    "when is_tall(a)\n"
    "right = du";

/* ---- lu_solve ---- */
static const char *solve_signature(int b_ndim) {
    return b_ndim == 1 ? "(n,n),(n),(n)->(n)" : "(n,n),(n),(n,k)->(n,k)";
}

static bool lu_solve_type(Infer *in) {
    if (!factor_want_trans(in) || !infer_want_rank(in, 1, 1, -1) ||
        !infer_want_rank(in, 2, 1, -1))
        return false;
    if (!infer_want_kinds(in, 0, KIND_FLOAT | KIND_COMPLEX)) return false;
    if (in->type[1]->dtype != DT_INT64)
        return infer_fail(in, E_DTYPE, 1, "piv must be int64, as lu_factor returns it");
    if (in->type[0]->dtype != in->type[2]->dtype)
        return infer_fail(in, E_DTYPE, 2, "lu and b must have the same dtype");
    return core_type(in, solve_signature(in->type[2]->ndim), NULL);
}

enum { TRANS }; /* options */

static int64_t lu_solve_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), ld = gufunc_lead(q, 'n'),
        info = 0, *pivot = (int *)(void *)it->room;
    const int64_t *from = it->in[1];
    size_t size = dtype_size(q->dtype);
    if (n == 0 || k == 0) return 0;
    for (int64_t i = 0; i < n; i++)
        if (from[i] < i || from[i] >= n) return -1 - i;
    bool finite = factor_finite(q->dtype, it->in[0], (int64_t)n * n);
    factor_fill_nan(it, n, k, finite); /* as solve does */
    if (!finite) return 0;
    for (int64_t i = 0; i < n; i++) {
        double z[2];
        pivot[i] = (int)from[i] + 1;
        tensor_cast_elements(DT_COMPLEX128, z, q->dtype,
                             (const char *)it->in[0] + (size_t)(i * n + i) * size, 1, 0,
                             0);
        if (z[0] == 0 && z[1] == 0) return i + 1;
    }
    ((Getrs *)q->fn[0])(q->option[TRANS] == 0   ? "N"
                        : q->option[TRANS] == 1 ? "T"
                                                : "C",
                        &n, &k, it->in[0], &ld, pivot, it->out[0], &ld, &info, 1);
    return 0;
}

static bool lu_solve_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open_systems(&q, c, solve_signature(call_in(c, 2)->ndim), "cr->C") ||
        !lapack_get(&q, 0, "getrs"))
        return false;
    q.option[TRANS] = prop_int(c->s, c->op, c->props, "trans");
    if (!gufunc_run(&q, lu_solve_one, (size_t)(q.dim['n'] + 1) * sizeof(int)))
        return false;
    if (q.bad < 0)
        return call_fail(c, E_INDEX,
                         "pivot %lld%s must be the index of a row at or below its own",
                         (long long)(-1 - q.bad), gufunc_where(&q));
    return !q.bad || factor_fail_singular(&q);
}

/* `forth` and `back` are (L U)^-1 and its transposes, without the permutation of
 * P^T A = L U. */
#define LU_SOLVE_NAMES                                                                 \
    "x = column(r, b)\n"                                                               \
    "back = lambda v, t: solve_triangular(lu, solve_triangular(lu, v, trans=t), "      \
    "trans=t, lower=True, unit_diagonal=True)\n"                                       \
    "u = triu(lu)\n"                                                                   \
    "i = arange(lu.shape[-1])\n"                                                       \
    "l = where(expand_dims(i, -1) == i, 1, tril(lu))\n"
/* y = gb = op(A)^-H g. The gradient of B = P^T A, by trans: -(P^T gb) x^H,
 * -conj(P^T x) gb^T, -(P^T x) gb^H; the permutation cancels in P^T gb and P^T x. */
static const char *const lu_solve_pullback =
    LU_SOLVE_NAMES "g_b = uncolumn(y, b)\n"
                   "v = column(g, b)\n"
                   "y = lu_solve(lu, piv, v, trans=2) when trans == 0\n"
                   "y = cj(lu_solve(lu, piv, cj(v))) when trans == 1\n"
                   "y = lu_solve(lu, piv, v)\n"
                   "w = back(column(b, b), trans)\n"
                   "gm = -(back(v, 2) @ mH(x)) when trans == 0\n"
                   "gm = -(cj(w) @ mT(y)) when trans == 1\n"
                   "gm = -(w @ mH(y))\n"
                   "g_lu = tril(gm @ mH(u), k=-1) + triu(mH(l) @ gm)";
/* dx = A^-1 db - (L U)^-1 d(L U) x, with transposes op(A)^-1 (db - op(d(L U)) P^T x).
 */
static const char *const lu_solve_pushforward = LU_SOLVE_NAMES
    "t_r = uncolumn(y, b)\n"
    "y = lu_solve(lu, piv, db) - forth(d @ x) when trans == 0\n"
    "forth = lambda v: solve_triangular(lu, solve_triangular(lu, v, lower=True, "
    "unit_diagonal=True))\n"
    "y = lu_solve(lu, piv, db - dt @ back(column(b, b), trans), trans=trans)\n"
    "db = column(t_b, b)\n"
    "d = tril(t_lu, k=-1) @ u + l @ triu(t_lu)\n"
    "dt = mT(d) when trans == 1\n"
    "dt = mH(d)";

#define SIZES "prod(a.shape[:-2]) * "
#define L     "max(a.shape[-2], a.shape[-1])"
#define K     "min(a.shape[-2], a.shape[-1])"
#define GETRF                                                                          \
    SIZES "(" L " * " K " ** 2 - " K " ** 3 / 3 - " K " ** 2 / 2 + 5 * " K " / 6)"
static bool lu_solve_vmap(Vmap *q) {
    return core_vmap_system(q, (const int[]){2, 1});
}

static const Op table[] = {
    {.name = OP_ROW("lu"),
     .doc = "A permutation matrix p, a lower triangular l with ones on its diagonal "
            "and an upper triangular u with a = p @ l @ u, choosing the largest "
            "pivots. The gradient holds for a fixed permutation, and needs the first "
            "min(m, n) rows and columns of p.T @ a to be a regular matrix.",
     .in = "a",
     .out = "p, l, u",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = lu_type,
     .perform = lu_perform,
     .flops = GETRF,
     .pullback = lu_pullback,
     .pushforward = lu_pushforward,
     .vmap = core_vmap,
     .example = "lu([[1.0, 2.0], [4.0, 4.0]])[2] -> [[4.0, 4.0], [0.0, 1.0]]"},
    {.name = OP_ROW("lu_factor"),
     .doc = "The factors of lu in one matrix, and for each row the row that it was "
            "swapped with, from 0: the arguments of lu_solve.",
     .in = "a",
     .out = "lu, piv",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = lu_factor_type,
     .perform = lu_factor_perform,
     .flops = GETRF,
     .pullback = lu_factor_pullback,
     .pushforward = lu_factor_pushforward,
     .vmap = core_vmap,
     .example = "lu_factor([[1.0, 2.0], [4.0, 4.0]])[0] -> [[4.0, 4.0], [0.25, 1.0]]\n"
                "lu_factor([[1.0, 2.0], [4.0, 4.0]])[1] -> [1, 1]"},
    {.name = OP_ROW("lu_solve"),
     .doc = "Solves a @ x = b with lu and piv of lu_factor(a); trans=1 solves a.T @ x "
            "= b, trans=2 a^H @ x = b. A one-dim b is a vector.",
     .in = "lu, piv: any, b",
     .props = "trans: int = 0",
     .promote = PROMOTE_INEXACT,
     .type = lu_solve_type,
     .perform = lu_solve_perform,
     .flops = "r.size * (2 * lu.shape[-1] - 1)",
     .pullback = lu_solve_pullback,
     .pushforward = lu_solve_pushforward,
     .disconnected = "piv",
     .vmap = lu_solve_vmap,
     .example =
         "lu_solve([[4.0, 4.0], [0.25, 1.0]], [1, 1], [5.0, 8.0]) -> [-1.0, 3.0]"},
};
const OpList ops_linalg_lu = LIST_OF(table);
