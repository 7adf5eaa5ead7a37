/* Singular values: svd, svdvals, pinv. LAPACK sees a row-major matrix as its transpose,
 * A^T = V* S U^T, so left and right vectors swap roles and nothing needs
 * transposing. */
#include "ops/linalg/factor.h"
#include "ops/linalg/grad_chain.h"
#include "ops/shape/linear.h"

#include <float.h>
#include <string.h>

static const char *svd_signature(bool vectors, bool full) {
    return !vectors ? "(m,n)->(k)"
           : full   ? "(m,n)->(m,m),(k),(n,n)"
                    : "(m,n)->(m,k),(k),(k,n)";
}

static bool svd_type(Infer *in) {
    bool vectors = infer_prop(in, "compute_uv")->i,
         full = infer_prop(in, "full_matrices")->i;
    DType d = in->type[0]->dtype, all[] = {d, dtype_real(d), d};
    if (!vectors) infer_settle_prop(in, "full_matrices", PROP_BOOL(false));
    return core_type(in, svd_signature(vectors, full), vectors ? all : all + 1);
}

static void set_identity(DType d, int n, void *a) {
    size_t size = dtype_size(d);
    double one = 1;
    memset(a, 0, (size_t)n * (size_t)n * size);
    for (size_t i = 0; i < (size_t)n; i++)
        tensor_cast_elements(d, (char *)a + (i * (size_t)n + i) * size, DT_FLOAT64,
                             &one, 1, 0, 0);
}

static int64_t svd_one(const Item *it) {
    const Svd *v = it->q->own;
    if (v->job == 'N')
        return factor_svd(v, it->in[0], it->out[0], NULL, NULL, it->room);
    if (v->job == 'A' && (v->m == 0 || v->n == 0)) {
        set_identity(v->dtype, v->n, it->out[0]);
        set_identity(v->dtype, v->m, it->out[2]);
    }
    return factor_svd(v, it->in[0], it->out[1], it->out[2], it->out[0], it->room);
}

static bool svd_perform(Call *c) {
    bool vectors = prop_bool(c->s, c->op, c->props, "compute_uv"),
         full = prop_bool(c->s, c->op, c->props, "full_matrices");
    Gufunc q;
    Svd v;
    if (!gufunc_open(&q, c, svd_signature(vectors, full), vectors ? "r>rrr" : "r>r"))
        return false;
    char job = !vectors ? 'N' : full ? 'A' : 'S';
    if (!factor_svd_open(&q, 0, job, gufunc_dim(&q, 'n'), gufunc_dim(&q, 'm'), &v))
        return false;
    q.own = &v;
    return gufunc_run(&q, svd_one, v.room) && (!q.bad || factor_fail_iteration(&q));
}

/* ---- derivatives (Townsend, Differentiating the singular value decomposition, 2016;
 * complex: Wan and Zhang, arXiv:1909.02659) ---- */
/* With P = U^H dA V and F_ij = 1 / (s_j^2 - s_i^2):
 *   ds = Re diag P,  U^H dU = F o (P S + S P^H) + i Im diag(P) / S,
 *   V^H dV = F o (S P + P^H S),
 * and beyond the spaces of U and V: dA V / S, dA^H U / S. The phase of a complex pair
 * of vectors is free; here V keeps it. */
/* Divisors for the components outside the spaces of U and V; inf if the run-time sizes
 * leave no such space, where only rounding errors would be divided. */
static void let_null_divisors(Rule *r, MatrixSides k) {
    rule_let(r, "below", k.open ? "where(a.shape[-2] > a.shape[-1], sr, inf)" : "sr");
    rule_let(r, "beside", k.open ? "where(a.shape[-1] > a.shape[-2], sr, inf)" : "sr");
}

static void let_differences(Rule *r) {
    rule_let(r, "own", "eye(s.shape[-1], dtype=bool)");
    rule_let(r, "sc", "expand_dims(s, -1)");
    rule_let(r, "sr", "expand_dims(s, -2)");
    rule_let(r, "gap", "(sr - sc) * (sr + sc)");
}

/* name = skew(of) / gap, the term from a cotangent of vectors */
static void let_skew_over_gap(Rule *r, const char *name, const char *of) {
    rule_hermitian(r, "back_", of);
    rule_bind(r, "of_", rule_get(r, of));
    rule_let(r, "skew_", "where(own, 0, of_ - back_)");
    rule_quotient(r, name, "skew_", "gap");
}

static void left_terms(Rule *r, MatrixSides k) {
    rule_let(r, "x", "uh @ g_u");
    let_skew_over_gap(r, "xf", "x");
    rule_let(r, "gp", "gp + xf * sr");
    if (k.is_complex) rule_let(r, "gp", "gp + where(own, 1j * imag(x) / sr, 0)");
    if (k.tall) rule_let(r, "rest", "((g_u - u @ x) / below) @ vh");
}

static void right_terms(Rule *r, MatrixSides k) {
    rule_let(r, "y", "vh @ g_v");
    let_skew_over_gap(r, "yf", "y");
    rule_let(r, "gp", "gp + sc * yf");
    if (!k.wide) return;
    rule_let(r, "z", "(g_v - v @ y) / beside");
    rule_hermitian(r, "zh", "z");
    rule_let(r, "rest", rule_has(r, "rest") ? "rest + u @ zh" : "u @ zh");
}

static bool values_pull(Pull *p, Rule *r) {
    rule_let(r, "ga", "(u * expand_dims(g_s, -2)) @ vh");
    return rule_grad(r, p, 0, "ga");
}

static bool svd_pull(Pull *p) {
    static const char *const why =
        "with full_matrices the vectors beyond the first min(m, n) are not unique";
    bool vectors = prop_bool(p->b->s, p->op, p->props, "compute_uv"),
         full = prop_bool(p->b->s, p->op, p->props, "full_matrices");
    Rule r = rule_pull(p);
    MatrixSides k = matrix_sides(p->g, p->in[0]);
    if (!vectors) rule_bind(&r, "g_s", p->cotangent[0]);
    bool gu = vectors && rule_has(&r, "g_u"), gv = vectors && rule_has(&r, "g_vh");
    if (full && (gu || gv) && (k.tall || k.wide))
        return (p->grad[0] = grad_undefined(p->b, why)) != VAR_NONE;
    if (!vectors || full) {
        rule_let(&r, "u", "svd(a)[0]");
        rule_let(&r, "s", "svd(a)[1]");
        rule_let(&r, "vh", "svd(a)[2]");
    }
    if (!gu && !gv) return values_pull(p, &r);
    rule_hermitian(&r, "uh", "u");
    rule_hermitian(&r, "v", "vh");
    if (gv) rule_hermitian(&r, "g_v", "g_vh");
    let_differences(&r);
    let_null_divisors(&r, k);
    rule_let(&r, "gp",
             rule_has(&r, "g_s") ? "where(own, expand_dims(g_s, -1), 0)" : "0 * gap");
    if (gu) left_terms(&r, k);
    if (gv) right_terms(&r, k);
    rule_let(&r, "ga", rule_has(&r, "rest") ? "u @ gp @ vh + rest" : "u @ gp @ vh");
    return rule_grad(&r, p, 0, "ga");
}

/* The tangents of the vectors. */
static bool vectors_push(Push *p, Rule *r, MatrixSides k) {
    rule_hermitian(r, "ph", "p");
    let_differences(r);
    let_null_divisors(r, k);
    rule_let(r, "xn", "where(own, 0, p * sr + sc * ph)");
    rule_quotient(r, "x", "xn", "gap");
    rule_let(r, "yn", "where(own, 0, sc * p + ph * sr)");
    rule_quotient(r, "y", "yn", "gap");
    if (k.is_complex) rule_let(r, "x", "where(own, 1j * imag(p) / sr, x)");
    rule_let(r, "d_u", k.tall ? "u @ x + (d_a @ v - u @ p) / below" : "u @ x");
    if (k.wide) rule_hermitian(r, "dh", "d_a");
    rule_let(r, "d_v", k.wide ? "v @ y + (dh @ u - v @ ph) / beside" : "v @ y");
    rule_hermitian(r, "d_vh", "d_v");
    return rule_result(r, p, 0, "d_u") && rule_result(r, p, 1, "d_s") &&
           rule_result(r, p, 2, "d_vh");
}

static bool svd_push(Push *p) {
    if (p->tangent[0] == VAR_NONE) return rule_no_tangent(p);
    bool vectors = prop_bool(p->b->s, p->op, p->props, "compute_uv"),
         full = prop_bool(p->b->s, p->op, p->props, "full_matrices");
    Rule r = rule_push(p);
    MatrixSides k = matrix_sides(p->g, p->in[0]);
    if (!vectors || full) {
        rule_let(&r, "u", "svd(a)[0]");
        rule_let(&r, "s", "svd(a)[1]");
        rule_let(&r, "vh", "svd(a)[2]");
    }
    rule_hermitian(&r, "uh", "u");
    rule_hermitian(&r, "v", "vh");
    rule_let(&r, "p", "uh @ d_a @ v");
    rule_let(&r, "pd", "diagonal(p, axis1=-2, axis2=-1)");
    rule_real(&r, "d_s", "pd");
    if (!vectors) return rule_result(&r, p, 0, "d_s");
    if (!full || !(k.tall || k.wide)) return vectors_push(p, &r, k);
    p->result[0] = p->result[2] = grad_undefined(
        p->b,
        "with full_matrices the vectors beyond the first min(m, n) are not unique");
    return rule_result(&r, p, 1, "d_s");
}

/* ---- pinv ---- */
static bool pinv_type(Infer *in) {
    return core_type(in, "(m,n)->(n,m)", NULL);
}

typedef struct Pinv {
    Svd svd;
    size_t left, right, values; /* bytes, rounded up */
    double rcond;
} Pinv;

/* Multiplies columns of u by 1 / s, or by 0 where s is negligible. */
static void divide_by_singular(const Pinv *w, const void *s, char *u, int rows) {
    DType d = w->svd.dtype, real = dtype_real(d);
    int k = w->svd.m < w->svd.n ? w->svd.m : w->svd.n;
    size_t size = dtype_size(real), column = (size_t)rows * dtype_size(d);
    double most = 0, v;
    for (int i = 0; i < k; i++) {
        tensor_cast_elements(DT_FLOAT64, &v, real, (const char *)s + (size_t)i * size,
                             1, 0, 0);
        if (i == 0) most = v;
        v = v > w->rcond * most ? 1 / v : 0;
        for (size_t e = 0; e < column / size; e++) {
            double z;
            char *p = u + (size_t)i * column + e * size;
            tensor_cast_elements(DT_FLOAT64, &z, real, p, 1, 0, 0);
            z *= v;
            tensor_cast_elements(real, p, DT_FLOAT64, &z, 1, 0, 0);
        }
    }
}

/* For the transpose: V S^+ U^H, with both factors where gesdd left them. */
static int64_t pinv_one(const Item *it) {
    const Gufunc *q = it->q;
    const Pinv *w = q->own;
    int m = w->svd.m, n = w->svd.n, k = m < n ? m : n;
    char *u = it->room, *vt = u + w->left, *s = vt + w->right, *rest = s + w->values;
    int64_t bad = factor_svd(&w->svd, it->in[0], s, u, vt, rest);
    if (bad || k == 0) return bad;
    divide_by_singular(w, s, u, m);
    lapack_gemm(q->dtype, q->fn[1], "CC", n, m, k, vt, k, u, m, it->out[0]);
    return 0;
}

static bool pinv_perform(Call *c) {
    Gufunc q;
    Pinv w;
    const Prop *rcond = op_prop(c->s, c->op, c->props, "rcond");
    if (!gufunc_open(&q, c, "(m,n)->(n,m)", "r>r") || !lapack_get(&q, 1, "gemm"))
        return false;
    int m = gufunc_dim(&q, 'm'), n = gufunc_dim(&q, 'n'), k = m < n ? m : n;
    if (!factor_svd_open(&q, 0, 'S', n, m, &w.svd)) return false;
    size_t size = dtype_size(q.dtype);
    double eps = dtype_real(q.dtype) == DT_FLOAT32 ? (double)FLT_EPSILON : DBL_EPSILON;
    w.left = lapack_round((size_t)n * (size_t)k * size);
    w.right = lapack_round((size_t)m * (size_t)k * size);
    w.values = lapack_round((size_t)k * size);
    w.rcond = rcond->kind == P_NONE ? eps * (m > n ? m : n) : rcond->f;
    q.own = &w;
    return gufunc_run(&q, pinv_one, w.left + w.right + w.values + w.svd.room) &&
           (!q.bad || factor_fail_iteration(&q));
}

/* Golub and Pereyra 1973, at constant rank:
 * dR = -R dA R + R R^H dA^H (1 - A R) + (1 - R A) dA^H R^H R */
static bool pinv_pull(Pull *p) {
    Rule r = rule_pull(p);
    rule_hermitian(&r, "rh", "r");
    rule_hermitian(&r, "gh", "g");
    rule_let(&r, "x", "(gh - a @ (r @ gh)) @ r @ rh");
    rule_let(&r, "y", "rh @ r @ (gh - (gh @ r) @ a)");
    rule_let(&r, "ga", "x + y - rh @ g @ rh");
    return rule_grad(&r, p, 0, "ga");
}

static bool pinv_push(Push *p) {
    if (p->tangent[0] == VAR_NONE) return rule_no_tangent(p);
    Rule r = rule_push(p);
    rule_hermitian(&r, "rh", "r");
    rule_hermitian(&r, "dh", "d_a");
    rule_let(&r, "x", "r @ (rh @ (dh - (dh @ a) @ r))");
    rule_let(&r, "y", "((dh - r @ (a @ dh)) @ rh) @ r");
    rule_let(&r, "d_r", "x + y - r @ d_a @ r");
    return rule_result(&r, p, 0, "d_r");
}

/* ---- matrix_rank ---- */
static bool matrix_rank_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                               const Var *in, Var *out) {
    (void)nin;
    Rule r = {.b = b, .op = op, .props = props, .ok = true};
    rule_bind(&r, "a", in[0]);
    rule_let(&r, "s", "svd(a, compute_uv=False)");
    if (op_prop(b->s, op, props, "tol")->kind == P_NONE) {
        DType d = r.ok ? var_type(b->g, rule_get(&r, "s"))->dtype : DT_FLOAT64;
        double eps = d == DT_FLOAT64 ? DBL_EPSILON : (double)FLT_EPSILON;
        rule_bind(&r, "eps", const_number(b, d, eps));
        rule_let(&r, "size", "maximum(a.shape[-2], a.shape[-1])");
        rule_let(&r, "least", "max(s, axis=-1, keepdims=True) * (size * eps)");
    } else {
        rule_let(&r, "least", "tol");
    }
    rule_let(&r, "rank", "count_nonzero(s > least, axis=-1)");
    return (*out = rule_get(&r, "rank")) != VAR_NONE;
}

/* Iterative methods have no exact operation count: the leading terms of Golub and Van
 * Loan, Matrix Computations, table 8.6.1, with l the larger and k the smaller side. */
#define BATCH   "prod(a.shape[:-2]) * "
#define L       "max(a.shape[-2], a.shape[-1])"
#define K       "min(a.shape[-2], a.shape[-1])"
#define VALUES  "(4 * " L " * " K " ** 2 - 4 * " K " ** 3 / 3)"
#define REDUCED "(14 * " L " * " K " ** 2 + 8 * " K " ** 3)"
#define FULL    "(4 * " L " ** 2 * " K " + 8 * " L " * " K " ** 2 + 9 * " K " ** 3)"
static const Op table[] = {
    {.name = OP_ROW("svd"),
     .doc =
         "Singular values s, in descending order, and vectors with a = (u * s) @ vh; "
         "with full_matrices u and vh are square; with compute_uv=False the values "
         "alone. Gradients of the vectors need distinct values: equal ones give inf "
         "or nan unless their part of the cotangent is zero. Complex vectors are "
         "determined up to their phases, on which a cost must not depend.",
     .in = "a",
     .props = "full_matrices: bool = False, compute_uv: bool = True",
     .out = "u, s, vh",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = svd_type,
     .perform = svd_perform,
     .flops = BATCH "((1 - compute_uv) * " VALUES
                    " + compute_uv * (1 - full_matrices) * " REDUCED
                    " + compute_uv * full_matrices * " FULL ")",
     .pull = svd_pull,
     .push = svd_push,
     .example = "svd([[0.0, 2.0], [3.0, 0.0]])[1] -> [3.0, 2.0]\n"
                "svd([[3.0, 4.0]], compute_uv=False) -> [5.0]"},
    {.name = OP_ROW("svdvals"),
     .doc = "Singular values in descending order.",
     .in = "a",
     .def = "svd(a, compute_uv=False)",
     .promote = PROMOTE_INEXACT,
     .example = "svdvals([[0.0, 2.0], [3.0, 0.0]]) -> [3.0, 2.0]"},
    {.name = OP_ROW("pinv"),
     .doc = "The Moore-Penrose pseudo-inverse. Singular values up to rcond times the "
            "largest are taken for 0; rcond is by default the larger side times the "
            "dtype's epsilon. The gradient is that of matrices of the same rank.",
     .in = "a",
     .props = "rcond: float? = None",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = pinv_type,
     .perform = pinv_perform,
     .flops = BATCH "(" REDUCED " + 2 * " K " * a.shape[-2] * a.shape[-1])",
     .pull = pinv_pull,
     .push = pinv_push,
     .example = "pinv([[3.0], [4.0]]) -> [[0.12, 0.16]]"},
    {.name = OP_ROW("matrix_rank"),
     .doc = "The number of singular values above tol, by default above the largest one "
            "times the larger side times the dtype's epsilon.",
     .in = "a",
     .props = "tol: float? = None",
     .promote = PROMOTE_INEXACT,
     .expand = matrix_rank_expand,
     .example = "matrix_rank([[1.0, 2.0], [2.0, 4.0]]) -> 1"},
};
const OpList ops_linalg_svd = LIST_OF(table);
