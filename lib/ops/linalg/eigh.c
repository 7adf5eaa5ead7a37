/* eigh and eigvalsh: spectra of Hermitian matrices. Only one triangle is read, and the
 * gradient is nonzero only there. */
#include "ops/linalg/factor.h"

static bool eigh_type(Infer *in) {
    DType d = in->type[0]->dtype;
    return core_type(in, "(n,n)->(n),(n,n)", (DType[]){dtype_real(d), d});
}

static bool eigvalsh_type(Infer *in) {
    DType d = in->type[0]->dtype;
    return core_type(in, "(n,n)->(n)", (DType[]){dtype_real(d)});
}

typedef void Syevd(const char *job, const char *uplo, const int *n, void *a,
                   const int *lda, void *w, void *work, const int *lwork, int *iwork,
                   const int *liwork, int *info, size_t, size_t);
typedef void Heevd(const char *job, const char *uplo, const int *n, void *a,
                   const int *lda, void *w, void *work, const int *lwork, void *rwork,
                   const int *lrwork, int *iwork, const int *liwork, int *info, size_t,
                   size_t);

/* Options of the batch, and the sizes of the work arrays, in elements. */
enum { LOWER, WORK, REAL_WORK, WHOLE_WORK };

static int call_evd(const Gufunc *q, const char *job, void *a, void *w, char *work,
                    const int size[3]) {
    int n = gufunc_dim(q, 'n'), ld = gufunc_lead(q, 'n'), info = 0;
    const char *uplo = q->option[LOWER] ? "L" : "U";
    size_t item = dtype_size(q->dtype), real = dtype_size(dtype_real(q->dtype));
    char *rwork = work + lapack_round((size_t)q->option[WORK] * item);
    int *iwork =
        (int *)(void *)(rwork + lapack_round((size_t)q->option[REAL_WORK] * real));
    if (dtype_is_complex(q->dtype))
        ((Heevd *)q->fn[0])(job, uplo, &n, a, &ld, w, work, &size[0], rwork, &size[1],
                            iwork, &size[2], &info, 1, 1);
    else
        ((Syevd *)q->fn[0])(job, uplo, &n, a, &ld, w, work, &size[0], iwork, &size[2],
                            &info, 1, 1);
    return info;
}

static int64_t solve_eigh(const Item *it, const char *job, void *a) {
    const Gufunc *q = it->q;
    int64_t n = q->dim['n'];
    if (!factor_finite(q->dtype, a, n * n)) return BAD_VALUE;
    if (n == 0) return 0;
    int size[3] = {(int)q->option[WORK], (int)q->option[REAL_WORK],
                   (int)q->option[WHOLE_WORK]};
    return call_evd(q, job, a, it->out[0], it->room, size) ? BAD_END : 0;
}

static int64_t eigh_one(const Item *it) {
    return solve_eigh(it, "V", it->out[1]);
}

static int64_t eigvalsh_one(const Item *it) {
    return solve_eigh(it, "N", it->in[0]);
}

/* Queries LAPACK for its workspace sizes. */
static bool ask_work_sizes(Gufunc *q, const char *job, size_t *bytes) {
    double none[2] = {0}, work[8] = {0};
    int sizes[3] = {-1, -1, -1};
    if (!lapack_get2(q, 0, "syevd", "heevd")) return false;
    *bytes = 64;
    if (q->dim['n'] == 0) return true;
    /* each answer is the first element of its array */
    int n = gufunc_dim(q, 'n'), info = 0, whole = 0;
    const char *uplo = "L";
    double real[2] = {0};
    if (dtype_is_complex(q->dtype))
        ((Heevd *)q->fn[0])(job, uplo, &n, none, &n, none, work, &sizes[0], real,
                            &sizes[1], &whole, &sizes[2], &info, 1, 1);
    else
        ((Syevd *)q->fn[0])(job, uplo, &n, none, &n, none, work, &sizes[0], &whole,
                            &sizes[2], &info, 1, 1);
    q->option[WORK] = lapack_worksize(q->dtype, work);
    if (dtype_is_complex(q->dtype))
        q->option[REAL_WORK] = lapack_worksize(dtype_real(q->dtype), real);
    q->option[WHOLE_WORK] = whole;
    *bytes = lapack_round((size_t)q->option[WORK] * dtype_size(q->dtype)) +
             lapack_round((size_t)q->option[REAL_WORK] * sizeof(double)) +
             (size_t)whole * sizeof(int);
    return true;
}

static bool eigh_perform(Call *c) {
    Gufunc q;
    size_t room;
    if (!gufunc_open(&q, c, "(n,n)->(n),(n,n)", "->rA") ||
        !ask_work_sizes(&q, "V", &room))
        return false;
    q.option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    return gufunc_run(&q, eigh_one, room) && (!q.bad || factor_fail_iteration(&q));
}

static bool eigvalsh_perform(Call *c) {
    Gufunc q;
    size_t room;
    if (!gufunc_open(&q, c, "(n,n)->(n)", "c>r") || !ask_work_sizes(&q, "N", &room))
        return false;
    q.option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    return gufunc_run(&q, eigvalsh_one, room) && (!q.bad || factor_fail_iteration(&q));
}

/* ---- derivatives (Giles, An extended collection of matrix derivative results, 2008)
 * ---- With P = V^H dA V: dw = diag P, and V^H dV has P_ij / (w_j - w_i) off the
 * diagonal. */
static const char *const eigh_pullback =
    "g_a = fold(v @ m @ mH(v), lower) when is_connected(g_v)\n"
    "g_a = fold((v * expand_dims(g_w, -2)) @ mH(v), lower)\n"
    "m = where(own, expand_dims(g_w, -1), k) when is_connected(g_w)\n"
    "m = k\n"
    "k = quotient(where(own, 0, mH(v) @ g_v), gaps(w))\n"
    "own = on_diagonal(w)";
static const char *const eigh_pushforward =
    "p = mH(v) @ mirror(t_a, lower) @ v\n"
    "t_w = re(diagonal(p, axis1=-2, axis2=-1))\n"
    "t_v = v @ quotient(where(on_diagonal(w), 0, p), gaps(w))";
static const char *const eigvalsh_pullback =
    "w, v = eigh(a, lower=lower)\n"
    "g_a = fold((v * expand_dims(g, -2)) @ mH(v), lower)";
static const char *const eigvalsh_pushforward =
    "w, v = eigh(a, lower=lower)\n"
    "t_r = re(diagonal(mH(v) @ mirror(t_a, lower) @ v, axis1=-2, axis2=-1))";

/* No exact counts: Golub and Van Loan, Matrix Computations, section 8.3. */
static const Op table[] = {
    {.name = OP_ROW("eigh"),
     .doc = "Eigenvalues w, in ascending order, and orthonormal eigenvectors, the "
            "columns of v, of a Hermitian matrix: a @ v = v * w. Only the lower "
            "triangle of a is read, with lower=False the upper one. Gradients of v "
            "need distinct eigenvalues: equal ones give inf or nan unless their part "
            "of the cotangent is zero. Gradients of w are always right; second "
            "derivatives of w go through v. Complex eigenvectors are unique only up to "
            "their phases, on which a cost must not depend.",
     .in = "a",
     .props = "lower: bool = True",
     .out = "w, v",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = eigh_type,
     .perform = eigh_perform,
     .flops = "prod(a.shape[:-2]) * 9 * a.shape[-1] ** 3",
     .pullback = eigh_pullback,
     .pushforward = eigh_pushforward,
     .vmap = core_vmap,
     .example = "eigh([[2.0, 1.0], [1.0, 2.0]])[0] -> [1.0, 3.0]"},
    {.name = OP_ROW("eigvalsh"),
     .doc = "Eigenvalues of a Hermitian matrix in ascending order. Only the lower "
            "triangle of a is read, with lower=False the upper one.",
     .in = "a",
     .props = "lower: bool = True",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = eigvalsh_type,
     .perform = eigvalsh_perform,
     .flops = "prod(a.shape[:-2]) * 4 * a.shape[-1] ** 3 / 3",
     .pullback = eigvalsh_pullback,
     .pushforward = eigvalsh_pushforward,
     .vmap = core_vmap,
     .example = "eigvalsh([[2.0, 1.0], [1.0, 2.0]]) -> [1.0, 3.0]"},
};
const OpList ops_linalg_eigh = LIST_OF(table);
