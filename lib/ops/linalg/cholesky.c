/* cholesky, cho_factor and cho_solve. Only one triangle of the matrix is read, and its
 * gradient is nonzero only there. */
#include "ops/linalg/factor.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- cholesky ---- */
static bool cho_factor_type(Infer *in) {
    return core_type(in, "(n,n)->(n,n)", NULL);
}

enum { LOWER, SEMI, SPREADS }; /* options; SPREADS: inf and nan, as nan, are no error */

static bool spreads_nan(const Gufunc *q, const void *a) {
    return q->option[SPREADS] &&
           !factor_triangle_finite(q->dtype, a, q->dim['n'], q->option[LOWER]);
}

/* For a row-major matrix, LAPACK's upper triangle is the lower one. */
static int64_t cholesky_one(const Item *it) {
    const Gufunc *q = it->q;
    int64_t n = gufunc_dim(q, 'n'), bad = 0;
    size_t size = dtype_size(q->dtype);
    char *a = it->out[0];
    if (spreads_nan(q, a))
        factor_fill_nan(it, (int)n, (int)n, false);
    else
        bad = factor_cholesky(q, q->fn[0], q->option[LOWER], (int)n, a);
    for (int64_t i = 0; i < n; i++) /* clears the other triangle */
        if (q->option[LOWER])
            memset(a + (size_t)(i * n + i + 1) * size, 0, (size_t)(n - i - 1) * size);
        else
            memset(a + (size_t)(i * n) * size, 0, (size_t)i * size);
    return bad;
}

/* The rounding error that a zero pivot may show, relative to the diagonal element. */
static double pivot_rounding(const Gufunc *q) {
    return 8 * gufunc_dim(q, 'n') *
           (dtype_real(q->dtype) == DT_FLOAT32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* Computes column j of the factor l; matrices are row-major [n, n]. With part > 0, a
 * pivot below that fraction of the diagonal element counts as 0, and so does its
 * column, provided that its size is consistent with such a pivot. False: the matrix is
 * not (semi)definite. */
static bool factor_column(const Wide *a, Wide *l, int n, int j, bool lower,
                          double part) {
    double top = creal(a[j * n + j]), least = part * top;
    for (int i = j; i < n; i++) {
        Wide s = lower ? a[i * n + j] : conj(a[j * n + i]), pivot = l[j * n + j];
        if (i == j) s = creal(s);
        for (int k = 0; k < j; k++)
            s -= l[i * n + k] * conj(l[j * n + k]);
        if (i == j) {
            bool small = part > 0 && fabs(creal(s)) <= least;
            if (!small && !(creal(s) > 0)) return false;
            l[i * n + j] = small ? 0 : csqrt(s);
        } else {
            if (pivot == 0 && !(cabs(s) <= sqrt(least * creal(a[i * n + i]))))
                return false;
            l[i * n + j] = pivot == 0 ? 0 : s / pivot;
        }
    }
    return true;
}

/* Column by column, straight from the definition. */
static int64_t factor_by_columns(const Item *it, double part) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n');
    Wide *a = (Wide *)(void *)it->room, *l = a + (size_t)n * (size_t)n;
    bool lower = q->option[LOWER];
    wide_read(q, 0, it->in[0], a);
    memset(l, 0, (size_t)n * (size_t)n * sizeof *l);
    bool nan = spreads_nan(q, it->in[0]);
    for (int i = 0; nan && i < n; i++)
        for (int j = 0; j <= i; j++)
            l[i * n + j] = __builtin_complex((double)NAN, (double)NAN);
    for (int j = 0; !nan && j < n; j++)
        if (!factor_column(a, l, n, j, lower, part)) return j + 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = lower ? l[i * n + j] : conj(l[j * n + i]);
    wide_write(q, 1, a, it->out[0]);
    return 0;
}

static int64_t cholesky_slow(const Item *it) {
    return factor_by_columns(it, it->q->option[SEMI] ? pivot_rounding(it->q) : 0);
}

/* Is every pivot larger than the rounding error of a zero one? */
static bool is_definite(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n');
    double part = pivot_rounding(q);
    for (ptrdiff_t i = 0, step = n + 1, size = (ptrdiff_t)dtype_size(q->dtype); i < n;
         i++) {
        Wide a, l;
        ptrdiff_t at = i * step * size;
        tensor_cast_elements(DT_COMPLEX128, &a, q->dtype, (char *)it->in[0] + at, 1, 0,
                             0);
        tensor_cast_elements(DT_COMPLEX128, &l, q->dtype, (char *)it->out[0] + at, 1, 0,
                             0);
        if (!(creal(l) * creal(l) > part * creal(a))) return false;
    }
    return true;
}

/* Copies the matrix, which the second method still needs. */
static int64_t cholesky_semi(const Item *it) {
    size_t n = (size_t)gufunc_dim(it->q, 'n');
    memcpy(it->out[0], it->in[0], n * n * dtype_size(it->q->dtype));
    return cholesky_one(it) == 0 && is_definite(it) ? 0 : cholesky_slow(it);
}

static bool cholesky_run(Call *c, bool slow, bool semi, bool spreads) {
    Gufunc q;
    bool plain = !slow && !semi;
    if (!gufunc_open(&q, c, "(n,n)->(n,n)", plain ? "->0" : "r>r") ||
        (!slow && !lapack_get(&q, 0, "potrf")))
        return false;
    q.option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    q.option[SEMI] = semi;
    q.option[SPREADS] = spreads;
    size_t n = (size_t)gufunc_dim(&q, 'n'), room = 2 * sizeof(Wide) * n * n;
    if (!gufunc_run(&q,
                    slow   ? cholesky_slow
                    : semi ? cholesky_semi
                           : cholesky_one,
                    plain ? 0 : room))
        return false;
    return !q.bad || factor_fail_not_positive(&q, semi);
}

static bool is_semidefinite(const Call *c) {
    return prop_bool(c->s, c->op, c->props, "semidefinite");
}

static bool cholesky_perform(Call *c) {
    return cholesky_run(c, false, is_semidefinite(c), false);
}
static bool cholesky_debug(Call *c) {
    return cholesky_run(c, true, is_semidefinite(c), false);
}
static bool cho_factor_perform(Call *c) {
    return cholesky_run(c, false, false, true);
}
static bool cho_factor_debug(Call *c) {
    return cholesky_run(c, true, false, true);
}

/* Murray 2016, eq. 10: with P = Phi(L^H gL) the gradient is L^-H (P + P^H) L^-1, folded
 * onto the triangle that was read; dL = L Phi(L^-1 dA L^-H). */
#define LOWER_FACTOR "l = r when lower\nl = mH(r)\n"
static const char *const cholesky_pullback = LOWER_FACTOR
    "g_a = half(w, True) when lower\n"
    "g_a = mH(half(w, True))\n"
    "w = solve_triangular(l, mH(z), trans=2, lower=True)\n"
    "z = solve_triangular(l, mirror(mH(l) @ gl, True), trans=2, lower=True)\n"
    "gl = g when lower\n"
    "gl = mH(g)";
static const char *const cholesky_pushforward =
    LOWER_FACTOR "t_r = tl when lower\n"
                 "t_r = mH(tl)\n"
                 "tl = l @ half(w, True)\n"
                 "w = solve_triangular(l, mH(z), lower=True)\n"
                 "z = solve_triangular(l, mirror(ta, True), lower=True)\n"
                 "ta = t_a when lower\n"
                 "ta = mH(t_a)";

#define POTRF "prod(a.shape[:-2]) * " FACTOR_CHOLESKY_FLOPS("a.shape[-1]")
static const Op table[] = {
    {.name = OP_ROW("cholesky"),
     .doc =
         "The lower triangular l with a = l @ l^H of a Hermitian positive definite "
         "matrix; with lower=False (or upper=True) the upper triangular r with a = r^H "
         "@ r. Only that triangle of a is read, and only that triangle of its gradient "
         "is nonzero. With semidefinite=True, a may be positive semidefinite: columns "
         "whose pivot is 0 except for rounding are then 0, and have no gradient.",
     .in = "a",
     .props = "lower: bool = True, upper: bool = False, semidefinite: bool = False",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = factor_triangle_type,
     .perform = cholesky_perform,
     .debug = cholesky_debug,
     .flops = POTRF,
     .pullback = cholesky_pullback,
     .pushforward = cholesky_pushforward,
     .vmap = core_vmap,
     .example = "cholesky([[4.0, 2.0], [2.0, 5.0]]) -> [[2.0, 0.0], [1.0, 2.0]]"},
    {.name = OP_ROW("cho_factor"),
     .doc =
         "The factor c of a Hermitian positive definite matrix that cho_solve takes: "
         "cholesky(a, lower), but for a matrix with an inf or a nan, of which all of "
         "the factor is nan, as all that is solved by it.",
     .in = "a",
     .props = "lower: bool = True",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = cho_factor_type,
     .perform = cho_factor_perform,
     .debug = cho_factor_debug,
     .flops = POTRF,
     .pullback = cholesky_pullback,
     .pushforward = cholesky_pushforward,
     .vmap = core_vmap,
     .example = "cho_factor([[4.0, 2.0], [2.0, 5.0]]) -> [[2.0, 0.0], [1.0, 2.0]]\n"
                "cho_factor([[nan, 0.0], [0.0, 1.0]]) -> [[nan, 0.0], [nan, nan]]"},
    {.name = OP_ROW("cho_solve"),
     .doc = "Solves a @ x = b with c, the Cholesky factor of a.",
     .in = "c, b",
     .props = "lower: bool = True",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     /* two triangular solves, which supply the derivatives */
     .def = "y = solve_triangular(c, v, lower=True) when lower\n"
            "y = solve_triangular(c, v, trans=2, lower=False)\n"
            "v = b when c.ndim == 2\n"
            "v = column(b, b)\n"
            "x = solve_triangular(c, y, trans=2, lower=True) when lower\n"
            "x = solve_triangular(c, y, lower=False)\n"
            "r = x when c.ndim == 2\n"
            "r = uncolumn(x, b)",
     .vmap = core_vmap_solve,
     .example = "cho_solve([[2.0, 0.0], [1.0, 2.0]], [8.0, 12.0]) -> [1.0, 2.0]"},
};
const OpList ops_linalg_cholesky = LIST_OF(table);
