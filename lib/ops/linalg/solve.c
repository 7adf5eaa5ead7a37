/* solve and inv. */
#include "ops/linalg/factor.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* ---- solve ---- */
/* The assumption about the matrix: general; probably positive definite, but read as a
 * whole; or determined by one triangle. */
typedef enum Assume { GENERAL, SEMI, SYMMETRIC, HERMITIAN, POSITIVE, ASSUME_N } Assume;

static bool scaled_is_zero(Scaled d) {
    return d.re == 0 && d.im == 0;
}

static int assume_of(Session *s, const Op *op, const Props *props) {
    static const char *const names[ASSUME_N] = {"gen", "semi", "sym", "her", "pos"};
    const char *text = sym_text(s, op_prop(s, op, props, "assume_a")->sym);
    for (int i = 0; i < ASSUME_N; i++)
        if (strcmp(text, names[i]) == 0) return i;
    return -1;
}

static bool solve_type(Infer *in) {
    if (assume_of(in->s, in->op, in->props) < 0)
        return infer_fail(in, E_ARG, in->nin,
                          "assume_a is 'gen', 'semi', 'sym', 'her' or 'pos', not '%s'",
                          sym_text(in->s, infer_prop(in, "assume_a")->sym));
    return infer_want_rank(in, 1, 1, -1) && infer_want_same_dtype(in) &&
           core_type(in, factor_solve_signature(in->type[1]->ndim), NULL);
}

enum { LOWER, WORK }; /* options */

/* ---- inf and nan ----
 * If the matrix has one, elimination would depend on its order, so the whole result is
 * nan; if a right-hand column has one, only that column's result is. */
/* Are the elements that are read finite? The matrix is packed by columns. */
static bool matrix_finite(const Gufunc *q, const void *a, int n, Assume assume) {
    return assume <= SEMI ? factor_finite(q->dtype, a, (int64_t)n * n)
                          : factor_triangle_finite(q->dtype, a, n, !q->option[LOWER]);
}

/* False: the result is nan and already filled in. */
static bool worth_solving(const Item *it, int n, int k, Assume assume) {
    const Gufunc *q = it->q;
    bool finite = matrix_finite(q, it->in[0], n, assume);
    factor_fill_nan(it, n, k, finite);
    return finite;
}

static int64_t general_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), ld = gufunc_lead(q, 'n'),
        info = 0, *pivot = (int *)(void *)it->room;
    if (!worth_solving(it, n, k, GENERAL)) return 0;
    int64_t bad = factor_lu(q->fn[0], n, it->in[0], pivot);
    if (bad || n == 0 || k == 0) return bad;
    ((Getrs *)q->fn[1])("N", &n, &k, it->in[0], &ld, pivot, it->out[0], &ld, &info, 1);
    return info;
}

static int64_t positive_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), ld = gufunc_lead(q, 'n'),
        info = 0;
    bool upper = !q->option[LOWER];
    if (!worth_solving(it, n, k, POSITIVE)) return 0;
    int64_t bad = factor_cholesky(q, q->fn[0], upper, n, it->in[0]);
    if (bad || n == 0 || k == 0) return bad;
    ((Potrs *)q->fn[1])(upper ? "U" : "L", &n, &k, it->in[0], &ld, it->out[0], &ld,
                        &info, 1);
    return info;
}

/* Cholesky's factorisation where it succeeds, else elimination. */
static int64_t semidefinite_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), ld = gufunc_lead(q, 'n'),
        info = 0, *pivot = (int *)(void *)it->room;
    size_t bytes = q->arg[0].bytes;
    char *kept = it->room + lapack_pivot_bytes(n);
    if (n == 0 || k == 0 || !worth_solving(it, n, k, GENERAL)) return 0;
    memcpy(kept, it->in[0], bytes);
    if (factor_cholesky(q, q->fn[2], false, n, it->in[0]) == 0) {
        ((Potrs *)q->fn[3])("L", &n, &k, it->in[0], &ld, it->out[0], &ld, &info, 1);
        return info;
    }
    memcpy(it->in[0], kept, bytes);
    int64_t bad = factor_lu(q->fn[0], n, it->in[0], pivot);
    if (bad) return bad;
    ((Getrs *)q->fn[1])("N", &n, &k, it->in[0], &ld, pivot, it->out[0], &ld, &info, 1);
    return info;
}

static int64_t symmetric_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k'), ld = gufunc_lead(q, 'n'),
        info = 0, lwork = (int)q->option[WORK], *pivot = (int *)(void *)it->room;
    if (n == 0 || k == 0 || !worth_solving(it, n, k, SYMMETRIC)) return 0;
    ((Sysv *)q->fn[0])(q->option[LOWER] ? "L" : "U", &n, &k, it->in[0], &ld, pivot,
                       it->out[0], &ld, it->room + lapack_pivot_bytes(n), &lwork, &info,
                       1);
    return info;
}

static bool run_symmetric(Gufunc *q, Assume assume) {
    int64_t n = q->dim['n'];
    if (!lapack_get2(q, 0, "sysv", assume == HERMITIAN ? "hesv" : "sysv")) return false;
    q->option[WORK] = 64 * n + 1;
    return gufunc_run(q, symmetric_one,
                      lapack_pivot_bytes(n) +
                          (size_t)q->option[WORK] * dtype_size(q->dtype));
}

static bool solve_perform(Call *c) {
    Gufunc q;
    Assume assume = (Assume)assume_of(c->s, c->op, c->props);
    if (!gufunc_open_systems(&q, c, factor_solve_signature(call_in(c, 1)->ndim),
                             "c->B"))
        return false;
    q.option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    bool ok;
    if (assume == GENERAL)
        ok = lapack_get(&q, 0, "getrf") && lapack_get(&q, 1, "getrs") &&
             gufunc_run(&q, general_one, lapack_pivot_bytes(q.dim['n']));
    else if (assume == SEMI)
        ok = lapack_get(&q, 0, "getrf") && lapack_get(&q, 1, "getrs") &&
             lapack_get(&q, 2, "potrf") && lapack_get(&q, 3, "potrs") &&
             gufunc_run(&q, semidefinite_one,
                        lapack_pivot_bytes(q.dim['n']) + q.arg[0].bytes);
    else if (assume == POSITIVE)
        ok = lapack_get(&q, 0, "potrf") && lapack_get(&q, 1, "potrs") &&
             gufunc_run(&q, positive_one, 0);
    else
        ok = run_symmetric(&q, assume);
    if (!ok || !q.bad) return ok;
    return assume == POSITIVE ? factor_fail_not_positive(&q, false)
                              : factor_fail_singular(&q);
}

/* ---- reference: elimination on the whole matrix ---- */
static Wide whole_element(const Wide *a, int n, int i, int j, Assume assume,
                          bool lower) {
    bool given = assume <= SEMI || (lower ? i >= j : i <= j);
    Wide v = given ? a[i * n + j] : a[j * n + i];
    if (assume >= HERMITIAN && i == j) return creal(v);
    return given || assume == SYMMETRIC ? v : conj(v);
}

static bool wide_finite(const Wide *a, int n, int64_t step) {
    bool ok = true;
    for (int i = 0; i < n; i++)
        ok &= isfinite(creal(a[i * step])) && isfinite(cimag(a[i * step]));
    return ok;
}

static void wide_nan(Wide *a, int n, int64_t step) {
    for (int i = 0; i < n; i++)
        a[i * step] = __builtin_complex((double)NAN, (double)NAN);
}

/* The same for rows of wide numbers. */
static bool wide_worth_solving(const Wide *a, int n, Assume assume, bool lower, int k,
                               Wide *b) {
    bool finite = true;
    for (int i = 0; i < n; i++) {
        int first = assume <= SEMI || lower ? 0 : i,
            end = assume > SEMI && lower ? i + 1 : n;
        finite = finite && wide_finite(a + i * n + first, end - first, 1);
    }
    for (int j = 0; j < k; j++)
        if (!finite || !wide_finite(b + j, n, k)) wide_nan(b + j, n, k);
    return finite;
}

static int64_t solve_slow(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), k = gufunc_columns(q, 'k');
    size_t count = (size_t)n * (size_t)n;
    Wide *a = (Wide *)(void *)it->room, *w = a + count, *b = w + count;
    Assume assume = (Assume)assume_of(q->c->s, q->c->op, q->c->props);
    wide_read(q, 0, it->in[0], a);
    wide_read(q, 1, it->in[1], b);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[i * n + j] = whole_element(a, n, i, j, assume, q->option[LOWER]);
    bool worth = wide_worth_solving(a, n, assume, q->option[LOWER], k, b);
    if (worth && n > 0 && scaled_is_zero(wide_solve(n, w, k, b))) return n;
    wide_write(q, 1, b, it->out[0]);
    return 0;
}

static bool solve_debug(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, factor_solve_signature(call_in(c, 1)->ndim), "rr>r"))
        return false;
    q.option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    if (!gufunc_run(&q, solve_slow,
                    sizeof(Wide) * (2 * q.arg[0].bytes + q.arg[1].bytes)))
        return false;
    return !q.bad || factor_fail_singular(&q);
}

/* ---- derivatives ---- */
/* gb = A^-H g; the gradient of the whole matrix is -gb x^H. */
static const char *const solve_pullback =
    "g_b = uncolumn(y, b)\n"
    "v = column(g, b)\n"
    "y = solve(mH(a), v) when assume_a == 'gen'\n"
    "y = solve(mH(a), v, assume_a=assume_a) when assume_a == 'semi'\n"
    "y = solve(cj(a), v, lower=lower, assume_a=assume_a) when assume_a == 'sym'\n"
    "y = solve(a, v, lower=lower, assume_a=assume_a)\n"
    "whole = -(y @ mH(column(r, b)))\n"
    "g_a = whole when assume_a == 'gen'\n"
    "g_a = whole when assume_a == 'semi'\n"
    "g_a = half(whole + mT(whole), lower) when assume_a == 'sym'\n"
    "g_a = fold(whole, lower)";
/* dx = A^-1 (db - dA x) */
static const char *const solve_pushforward =
    "v = column(t_b, b) - whole @ column(r, b)\n"
    "t_r = uncolumn(solve(a, v, lower=lower, assume_a=assume_a), b)\n"
    "whole = t_a when assume_a == 'gen'\n"
    "whole = t_a when assume_a == 'semi'\n"
    "whole = half(t_a, lower) + mT(half(t_a, lower)) when assume_a == 'sym'\n"
    "whole = mirror(t_a, lower)";

/* ---- inv ---- */
static bool inv_type(Infer *in) {
    return core_type(in, "(n,n)->(n,n)", NULL);
}

/* The inverse of the transpose is the transpose of the inverse. */
static int64_t inv_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), ld = gufunc_lead(q, 'n'), info = 0,
        lwork = (int)q->option[WORK], *pivot = (int *)(void *)it->room;
    if (!factor_finite(q->dtype, it->out[0], (int64_t)n * n)) {
        factor_fill_nan(it, n, n, false);
        return 0;
    }
    int64_t bad = factor_lu(q->fn[0], n, it->out[0], pivot);
    if (bad || n == 0) return bad;
    ((Getri *)q->fn[1])(&n, it->out[0], &ld, pivot, it->room + lapack_pivot_bytes(n),
                        &lwork, &info);
    return info;
}

static bool inv_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, "(n,n)->(n,n)", "->0") || !lapack_get(&q, 0, "getrf") ||
        !lapack_get(&q, 1, "getri"))
        return false;
    q.option[WORK] = 64 * q.dim['n'] + 1;
    size_t room =
        lapack_pivot_bytes(q.dim['n']) + (size_t)q.option[WORK] * dtype_size(q.dtype);
    return gufunc_run(&q, inv_one, room) && (!q.bad || factor_fail_singular(&q));
}

static int64_t inv_slow(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n');
    Wide *a = (Wide *)(void *)it->room, *b = a + (size_t)n * (size_t)n;
    wide_read(q, 0, it->in[0], a);
    for (int i = 0; i < n * n; i++)
        b[i] = i % (n + 1) == 0;
    bool worth = wide_worth_solving(a, n, GENERAL, false, n, b);
    if (worth && n > 0 && scaled_is_zero(wide_solve(n, a, n, b))) return n;
    wide_write(q, 1, b, it->out[0]);
    return 0;
}

static bool inv_debug(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(n,n)->(n,n)", "r>r") &&
           gufunc_run(&q, inv_slow, 2 * sizeof(Wide) * q.arg[0].bytes) &&
           (!q.bad || factor_fail_singular(&q));
}

static const char *const inv_pullback = "g_a = -(mH(r) @ g @ mH(r))";
static const char *const inv_pushforward = "t_r = -(r @ t_a @ r)";

#define BATCH "prod(a.shape[:-2]) * "
#define N     "a.shape[-1]"
#define LU    "(2 * " N " ** 3 / 3 - " N " ** 2 / 2 + 5 * " N " / 6)"
#define CHOL  FACTOR_CHOLESKY_FLOPS(N)
#define LDL   "(" N " ** 3 / 3 + " N " ** 2 / 2 + 19 * " N " / 6)"
static const Op table[] = {
    {.name = OP_ROW("solve"),
     .doc =
         "x with a @ x = b. A one-dim b is a vector, otherwise its last two dims are a "
         "matrix. assume_a is 'gen' for any matrix, 'semi' for Hermitian ones that are "
         "probably positive definite (it is solved as 'gen' where it isn't), 'sym' for "
         "symmetric, 'her' for Hermitian, 'pos' for Hermitian positive definite ones; "
         "except for 'gen' and 'semi', only the upper triangle of a is read, with "
         "lower=True the lower one, and only that triangle of its gradient is nonzero. "
         "A singular matrix is an "
         "error. If a or a column of b has an inf or a nan, what depends on it is nan.",
     .in = "a, b",
     .props = "lower: bool = False, assume_a: str = 'gen'",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = solve_type,
     .perform = solve_perform,
     .debug = solve_debug,
     .flops = BATCH "((assume_a == 'gen') * " LU " + ((assume_a == 'pos') + "
                    "(assume_a == 'semi')) * " CHOL
                    " + ((assume_a == 'sym') + (assume_a == 'her')) * " LDL
                    ") + r.size * (2 * " N " - (assume_a == 'gen'))",
     .pullback = solve_pullback,
     .pushforward = solve_pushforward,
     .vmap = core_vmap_solve,
     .example = "solve([[2.0, 1.0], [1.0, 3.0]], [4.0, 7.0]) -> [1.0, 2.0]\n"
                "solve([[4.0, 2.0], [2.0, 5.0]], [[8.0], [12.0]], assume_a='pos') -> "
                "[[1.0], [2.0]]"},
    {.name = OP_ROW("inv"),
     .doc = "The inverse of a square matrix. A singular matrix is an error; the "
            "inverse of one with an inf or a nan is nan.",
     .in = "a",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = inv_type,
     .perform = inv_perform,
     .debug = inv_debug,
     .flops = BATCH "(2 * " N " ** 3 - 3 * " N " ** 2 / 2 + 5 * " N " / 2)",
     .pullback = inv_pullback,
     .pushforward = inv_pushforward,
     .vmap = core_vmap,
     .example = "inv([[2.0, 0.0], [1.0, 4.0]]) -> [[0.5, 0.0], [-0.125, 0.25]]"},
};
const OpList ops_linalg_solve = LIST_OF(table);
