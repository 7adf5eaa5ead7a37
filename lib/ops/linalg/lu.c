/* lu, lu_factor and lu_solve. The permutation is a step function of the matrix, so no
 * gradient flows through it. */
#include "ops/linalg/factor.h"
#include "ops/linalg/grad_chain.h"
#include "ops/shape/linear.h"

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
static void let_lu_names(Rule *r, MatrixSides k) {
    rule_let(r, "l1", k.tall ? "l[..., :l.shape[-1], :]" : "l");
    rule_let(r, "u1", k.wide ? "u[..., :u.shape[-2]]" : "u");
    if (k.tall) rule_let(r, "l2", "l[..., l.shape[-1]:, :]");
    if (k.wide) rule_let(r, "u2", "u[..., u.shape[-2]:]");
}

/* name = of @ U1^-1, by a solve with the transpose */
static void let_solve_over_u(Rule *r, const char *name, const char *of, bool adjoint) {
    rule_hermitian(r, "turned_", of);
    rule_let(r, "over_",
             adjoint ? "solve_triangular(u1, turned_)"
                     : "solve_triangular(u1, turned_, trans=2)");
    rule_hermitian(r, name, "over_");
}

/* gb, the gradient of B, from g_l and g_u; a missing one is zeros of the right
 * shape. */
static void pull_factors(Rule *r, MatrixSides k) {
    let_lu_names(r, k);
    rule_let(r, "gl1", k.tall ? "g_l[..., :l.shape[-1], :]" : "g_l");
    rule_let(r, "gu1", k.wide ? "g_u[..., :u.shape[-2]]" : "g_u");
    if (k.wide) {
        rule_let(r, "gb12",
                 "solve_triangular(l1, g_u[..., u.shape[-2]:], trans=2, "
                 "lower=True, unit_diagonal=True)");
        rule_hermitian(r, "u2h", "u2");
        rule_let(r, "gl1", "gl1 - gb12 @ u2h");
    }
    if (k.tall) {
        rule_let(r, "gl2", "g_l[..., l.shape[-1]:, :]");
        let_solve_over_u(r, "gb21", "gl2", true);
        rule_hermitian(r, "l2h", "l2");
        rule_let(r, "gu1", "gu1 - l2h @ gb21");
    }
    rule_hermitian(r, "l1h", "l1");
    rule_hermitian(r, "u1h", "u1");
    rule_let(r, "m", "tril(l1h @ gl1, k=-1) + triu(gu1 @ u1h)");
    rule_let(r, "x",
             "solve_triangular(l1, m, trans=2, lower=True, unit_diagonal=True)");
    let_solve_over_u(r, "gb", "x", true);
    if (k.wide) rule_let(r, "gb", "concatenate([gb, gb12], axis=-1)");
    /* one of l2 and u2 is empty */
    if (k.tall && k.wide) rule_let(r, "gb21", "concatenate([gb21, l2 @ u2], axis=-1)");
    if (k.tall) rule_let(r, "gb", "concatenate([gb, gb21], axis=-2)");
}

static bool lu_pull(Pull *p) {
    Rule r = rule_pull(p);
    if (!rule_has(&r, "g_l") && !rule_has(&r, "g_u"))
        return (p->grad[0] = float_zeros(p->b, p->in[0])) != VAR_NONE;
    if (!rule_has(&r, "g_l")) rule_let(&r, "g_l", "zeros_like(l)");
    if (!rule_has(&r, "g_u")) rule_let(&r, "g_u", "zeros_like(u)");
    pull_factors(&r, matrix_sides(p->g, p->in[0]));
    rule_let(&r, "ga", "p @ gb");
    return rule_grad(&r, p, 0, "ga");
}

/* dl and du from d_a */
static void push_factors(Rule *r, MatrixSides k) {
    let_lu_names(r, k);
    rule_transpose(r, "pt", "p");
    rule_let(r, "db", "pt @ d_a");
    rule_let(r, "d1", k.tall ? "db[..., :l.shape[-1], :]" : "db");
    rule_let(r, "d11", k.wide ? "d1[..., :l.shape[-1]]" : "d1");
    rule_let(r, "x", "solve_triangular(l1, d11, lower=True, unit_diagonal=True)");
    let_solve_over_u(r, "m", "x", false);
    rule_let(r, "dl", "l1 @ tril(m, k=-1)");
    rule_let(r, "du", "triu(m) @ u1");
    if (k.tall) {
        rule_let(r, "rest", "db[..., l.shape[-1]:, :]");
        rule_let(r, "rest",
                 k.wide ? "rest[..., :l.shape[-1]] - l2 @ du" : "rest - l2 @ du");
        let_solve_over_u(r, "dl2", "rest", false);
    }
    if (k.wide) {
        rule_let(r, "du2",
                 "solve_triangular(l1, d1[..., l.shape[-1]:] - dl @ u2, "
                 "lower=True, unit_diagonal=True)");
        rule_let(r, "du", "concatenate([du, du2], axis=-1)");
    }
    if (k.tall) rule_let(r, "dl", "concatenate([dl, dl2], axis=-2)");
}

static bool lu_push(Push *p) {
    if (p->tangent[0] == VAR_NONE) return rule_no_tangent(p);
    Rule r = rule_push(p);
    push_factors(&r, matrix_sides(p->g, p->in[0]));
    p->result[0] = VAR_NONE;
    return rule_result(&r, p, 1, "dl") && rule_result(&r, p, 2, "du");
}

/* ---- lu_factor: both factors in one matrix ---- */
static void split_names(Rule *r) {
    rule_let(r, "p", "lu(a)[0]");
    rule_let(r, "l", "lu(a)[1]");
    rule_let(r, "u", "lu(a)[2]");
}

static bool lu_factor_pull(Pull *p) {
    Rule r = rule_pull(p);
    if (!rule_has(&r, "g_lu"))
        return (p->grad[0] = float_zeros(p->b, p->in[0])) != VAR_NONE;
    split_names(&r);
    rule_let(&r, "g_l", "tril(g_lu, k=-1)[..., :l.shape[-1]]");
    rule_let(&r, "g_u", "triu(g_lu)[..., :u.shape[-2], :]");
    pull_factors(&r, matrix_sides(p->g, p->in[0]));
    rule_let(&r, "ga", "p @ gb");
    return rule_grad(&r, p, 0, "ga");
}

/* Places both factors in one matrix: L padded to the right, U below. */
static bool lu_factor_push(Push *p) {
    if (p->tangent[0] == VAR_NONE) return rule_no_tangent(p);
    Rule r = rule_push(p);
    MatrixSides k = matrix_sides(p->g, p->in[0]);
    split_names(&r);
    push_factors(&r, k);
    if (k.wide)
        rule_let(&r, "dl",
                 "concatenate([dl, zeros_like(a[..., l.shape[-1]:])], axis=-1)");
    if (k.tall)
        rule_let(&r, "du",
                 "concatenate([du, zeros_like(a[..., u.shape[-2]:, :])], axis=-2)");
    rule_let(&r, "d_lu", "dl + du");
    p->result[1] = VAR_NONE;
    return rule_result(&r, p, 0, "d_lu");
}

/* ---- lu_solve ---- */
static const char *solve_signature(int b_ndim) {
    return b_ndim == 1 ? "(n,n),(n),(n)->(n)" : "(n,n),(n),(n,k)->(n,k)";
}

static bool lu_solve_type(Infer *in) {
    int64_t trans = infer_prop(in, "trans")->i;
    if (trans < 0 || trans > 2)
        return infer_fail(in, E_ARG, in->nin,
                          "trans is 0 (a @ x), 1 (a.T @ x) or 2 (a^H @ x), not %lld",
                          (long long)trans);
    if (!infer_want_rank(in, 1, 1, -1) || !infer_want_rank(in, 2, 1, -1)) return false;
    if (!infer_want_kinds(in, 0, KIND_FLOAT | KIND_COMPLEX)) return false;
    if (in->type[1]->dtype != DT_INT64)
        return infer_fail(in, E_DTYPE, 1, "piv is int64, as lu_factor gives it");
    if (in->type[0]->dtype != in->type[2]->dtype)
        return infer_fail(in, E_DTYPE, 2, "lu and b must have one dtype");
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
    for (int64_t i = 0; i < n; i++) {
        double z[2];
        if (from[i] < i || from[i] >= n) return -1 - i;
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
    if (!gufunc_open(&q, c, solve_signature(call_in(c, 2)->ndim), "cr->C") ||
        !lapack_get(&q, 0, "getrs"))
        return false;
    q.option[TRANS] = prop_int(c->s, c->op, c->props, "trans");
    if (!gufunc_run(&q, lu_solve_one, (size_t)(q.dim['n'] + 1) * sizeof(int)))
        return false;
    if (q.bad < 0)
        return call_fail(c, E_INDEX, "pivot %lld%s is no row from there on",
                         (long long)(-1 - q.bad), gufunc_where(&q));
    return !q.bad || factor_fail_singular(&q);
}

/* Applies the factors, without the permutation, of P^T A = L U or its transpose. */
static void let_both_factors(Rule *r, const char *name, const char *of, int trans) {
    static const char *const text[3][2] = {
        {"solve_triangular(lu, v_, lower=True, unit_diagonal=True)",
         "solve_triangular(lu, w_)"},
        {"solve_triangular(lu, v_, trans=1)",
         "solve_triangular(lu, w_, trans=1, lower=True, unit_diagonal=True)"},
        {"solve_triangular(lu, v_, trans=2)",
         "solve_triangular(lu, w_, trans=2, lower=True, unit_diagonal=True)"}};
    rule_bind(r, "v_", rule_get(r, of));
    rule_let(r, "w_", text[trans][0]);
    rule_let(r, name, text[trans][1]);
}

/* gb = op(A)^-H g */
static void adjoint_solve(Rule *r, int64_t trans) {
    rule_bind(r, "v", rule_get(r, "g"));
    if (trans == 1) {
        rule_conj(r, "v", "v");
        rule_let(r, "y", "lu_solve(lu, piv, v)");
        rule_conj(r, "y", "y");
    } else {
        rule_let(r, "y",
                 trans == 0 ? "lu_solve(lu, piv, v, trans=2)" : "lu_solve(lu, piv, v)");
    }
}

/* The gradient of B = P^T A: trans 0: -(P^T gb) x^H, 1: -conj(P^T x) gb^T,
 * 2: -(P^T x) gb^H; the permutation cancels in P^T gb and P^T x. */
static void permuted_gradient(Rule *r, int64_t trans) {
    if (trans == 0) {
        let_both_factors(r, "left", "g", 2);
        rule_hermitian(r, "right", "r");
    } else {
        let_both_factors(r, "left", "b", (int)trans);
        if (trans == 1) rule_conj(r, "left", "left");
        (trans == 1 ? rule_transpose : rule_hermitian)(r, "right", "y");
    }
    rule_let(r, "gb", "-(left @ right)");
}

static void let_triangles(Rule *r) {
    rule_let(r, "u", "triu(lu)");
    rule_let(r, "l",
             "where(expand_dims(arange(lu.shape[-1]), -1) == "
             "arange(lu.shape[-1]), 1, tril(lu))");
}

static bool lu_solve_pull(Pull *p) {
    Rule r = rule_pull(p);
    int64_t trans = prop_int(p->b->s, p->op, p->props, "trans");
    bool vector = var_type(p->g, p->in[2])->ndim == 1;
    p->grad[1] = GRAD_DISCONNECTED;
    if (vector) rule_column(&r, "g"), rule_column(&r, "r"), rule_column(&r, "b");
    adjoint_solve(&r, trans);
    if (p->wanted[0]) {
        permuted_gradient(&r, trans);
        let_triangles(&r);
        rule_hermitian(&r, "uh", "u");
        rule_hermitian(&r, "lh", "l");
        rule_let(&r, "ga", "tril(gb @ uh, k=-1) + triu(lh @ gb)");
        if (!rule_grad(&r, p, 0, "ga")) return false;
    }
    if (vector) rule_uncolumn(&r, "y");
    return !p->wanted[2] || rule_grad(&r, p, 2, "y");
}

/* d(L U) x for trans 0; dx = A^-1 db - (L U)^-1 d(L U) x. With transposes
 * dx = op(A)^-1 (db - op(d(L U)) P^T x). */
static bool lu_solve_push(Push *p) {
    Rule r = rule_push(p);
    int64_t trans = prop_int(p->b->s, p->op, p->props, "trans");
    bool vector = var_type(p->g, p->in[2])->ndim == 1, da = rule_has(&r, "d_lu"),
         db = rule_has(&r, "d_b");
    if (!da && !db) return rule_no_tangent(p);
    if (vector) rule_column(&r, "r"), rule_column(&r, "b");
    if (vector && db) rule_column(&r, "d_b");
    if (da) {
        let_triangles(&r);
        rule_let(&r, "d", "tril(d_lu, k=-1) @ u + l @ triu(d_lu)");
    }
    if (da && trans == 0) {
        rule_let(&r, "dx_", "d @ r");
        let_both_factors(&r, "z", "dx_", 0);
        rule_let(&r, "y", db ? "lu_solve(lu, piv, d_b) - z" : "-z");
    } else {
        if (da) {
            let_both_factors(&r, "w", "b", (int)trans);
            (trans == 1 ? rule_transpose : rule_hermitian)(&r, "dt", "d");
        }
        rule_let(&r, "v", !da ? "d_b" : db ? "d_b - dt @ w" : "-(dt @ w)");
        rule_let(&r, "y", "lu_solve(lu, piv, v, trans=trans)");
    }
    if (vector) rule_uncolumn(&r, "y");
    return rule_result(&r, p, 0, "y");
}

#define SIZES "prod(a.shape[:-2]) * "
#define L     "max(a.shape[-2], a.shape[-1])"
#define K     "min(a.shape[-2], a.shape[-1])"
#define GETRF                                                                          \
    SIZES "(" L " * " K " ** 2 - " K " ** 3 / 3 - " K " ** 2 / 2 + 5 * " K " / 6)"
static const Op table[] = {
    {.name = OP_ROW("lu"),
     .doc =
         "A permutation matrix p, a lower triangular l with ones on its diagonal and "
         "an upper triangular u with a = p @ l @ u, the largest pivots first. The "
         "gradient is that of a fixed permutation, and needs the first min(m, n) "
         "rows and columns of p.T @ a to be a regular matrix.",
     .in = "a",
     .out = "p, l, u",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = lu_type,
     .perform = lu_perform,
     .flops = GETRF,
     .pull = lu_pull,
     .push = lu_push,
     .example = "lu([[1.0, 2.0], [4.0, 4.0]])[2] -> [[4.0, 4.0], [0.0, 1.0]]"},
    {.name = OP_ROW("lu_factor"),
     .doc = "The factors of lu in one matrix, and the row that each row changed places "
            "with, from 0: what lu_solve takes.",
     .in = "a",
     .out = "lu, piv",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = lu_factor_type,
     .perform = lu_factor_perform,
     .flops = GETRF,
     .pull = lu_factor_pull,
     .push = lu_factor_push,
     .example = "lu_factor([[1.0, 2.0], [4.0, 4.0]])[0] -> [[4.0, 4.0], [0.25, 1.0]]\n"
                "lu_factor([[1.0, 2.0], [4.0, 4.0]])[1] -> [1, 1]"},
    {.name = OP_ROW("lu_solve"),
     .doc = "Solves a @ x = b with lu and piv of lu_factor(a); with trans=1 a.T @ x = "
            "b, with trans=2 a^H @ x = b. A one-dim b is a vector.",
     .in = "lu, piv: any, b",
     .props = "trans: int = 0",
     .promote = PROMOTE_INEXACT,
     .type = lu_solve_type,
     .perform = lu_solve_perform,
     .flops = "r.size * (2 * lu.shape[-1] - 1)",
     .pull = lu_solve_pull,
     .push = lu_solve_push,
     .disconnected = "piv",
     .example =
         "lu_solve([[4.0, 4.0], [0.25, 1.0]], [1, 1], [5.0, 8.0]) -> [-1.0, 3.0]"},
};
const OpList ops_linalg_lu = LIST_OF(table);
