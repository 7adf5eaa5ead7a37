/* Singular values: svd, svdvals, pinv. LAPACK sees a row-major matrix as its transpose,
 * A^T = V* S U^T, so left and right vectors swap roles and nothing needs
 * transposing. */
#include "ops/linalg/factor.h"

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
/* `below` and `beside` divide the components outside the spaces of U and V; inf if the
 * run-time sizes leave no such space, where only rounding errors would be divided. */
#define SVD_NAMES                                                                      \
    "u, s, vh = svd(a) when full_matrices | ~compute_uv\n"                             \
    "v = mH(vh)\n"                                                                     \
    "own = on_diagonal(s)\n"                                                           \
    "col = expand_dims(s, -1)\n"                                                       \
    "row = expand_dims(s, -2)\n"                                                       \
    "gap = (row - col) * (row + col)\n"                                                \
    "below = where(a.shape[-2] > a.shape[-1], row, inf) when sides_unknown(a)\n"       \
    "below = row\n"                                                                    \
    "beside = where(a.shape[-1] > a.shape[-2], row, inf) when sides_unknown(a)\n"      \
    "beside = row\n"                                                                   \
    "not_unique = undefined('with full_matrices the vectors beyond the first min(m, "  \
    "n) are not unique')\n"
#define VECTORS "compute_uv, is_connected(g_u) | is_connected(g_vh)"
static const char *const svd_pullback = SVD_NAMES
    "g_a = not_unique when full_matrices, " VECTORS ", is_tall(a) | is_wide(a)\n"
    "g_a = u @ p @ vh + (left + right) when " VECTORS "\n"
    "g_a = (u * expand_dims(gs, -2)) @ vh\n"
    "gs = g when ~compute_uv\n"
    "gs = g_s\n"
    "gv = mH(g_vh)\n"
    "x = mH(u) @ g_u\n"
    "y = vh @ gv\n"
    "over_gap = lambda x: quotient(where(own, 0, x - mH(x)), gap)\n"
    "p = ps + over_gap(x) * row + phase + col * over_gap(y)\n"
    "ps = where(own, expand_dims(g_s, -1), 0) when is_connected(g_s)\n"
    "ps = 0 * gap\n"
    "phase = where(own, 1j * imag(x) / row, 0) when is_complex(a)\n"
    "left = ((g_u - u @ x) / below) @ vh when is_tall(a)\n"
    "right = u @ mH((gv - v @ y) / beside) when is_wide(a)";
static const char *const svd_pushforward =
    SVD_NAMES "t_u = not_unique when full_matrices, is_tall(a) | is_wide(a)\n"
              "t_u = u @ x + left\n"
              "t_s = re(diagonal(p, axis1=-2, axis2=-1))\n"
              "t_r = t_s\n" /* without vectors */
              "t_vh = not_unique when full_matrices, is_tall(a) | is_wide(a)\n"
              "t_vh = mH(v @ y + right)\n"
              "p = mH(u) @ t_a @ v\n"
              "x = where(own, 1j * imag(p) / row, x0) when is_complex(a)\n"
              "x = x0\n"
              "x0 = quotient(where(own, 0, p * row + col * mH(p)), gap)\n"
              "y = quotient(where(own, 0, col * p + mH(p) * row), gap)\n"
              "left = (t_a @ v - u @ p) / below when is_tall(a)\n"
              "right = (mH(t_a) @ u - v @ mH(p)) / beside when is_wide(a)";

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
static const char *const pinv_pullback = "x = (mH(g) - a @ (r @ mH(g))) @ r @ mH(r)\n"
                                         "y = mH(r) @ r @ (mH(g) - (mH(g) @ r) @ a)\n"
                                         "g_a = x + y - mH(r) @ g @ mH(r)";
static const char *const pinv_pushforward =
    "x = r @ (mH(r) @ (mH(t_a) - (mH(t_a) @ a) @ r))\n"
    "y = ((mH(t_a) - r @ (a @ mH(t_a))) @ mH(r)) @ r\n"
    "t_r = x + y - r @ t_a @ r";

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
         "Singular values s, in descending order, and vectors with a = (u * s) @ vh. "
         "With full_matrices, u and vh are square; with compute_uv=False, there are "
         "only the values. Gradients of the vectors need distinct values: equal ones "
         "give inf or nan unless their part of the cotangent is zero. Complex vectors "
         "are unique only up to their phases, on which a cost must not depend.",
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
     .pullback = svd_pullback,
     .pushforward = svd_pushforward,
     .vmap = core_vmap,
     .example = "svd([[0.0, 2.0], [3.0, 0.0]])[1] -> [3.0, 2.0]\n"
                "svd([[3.0, 4.0]], compute_uv=False) -> [5.0]"},
    {.name = OP_ROW("svdvals"),
     .doc = "Singular values in descending order.",
     .in = "a",
     .def = "svd(a, compute_uv=False)",
     .promote = PROMOTE_INEXACT,
     .vmap = core_vmap,
     .example = "svdvals([[0.0, 2.0], [3.0, 0.0]]) -> [3.0, 2.0]"},
    {.name = OP_ROW("pinv"),
     .doc = "The Moore-Penrose pseudo-inverse. Singular values up to rcond times the "
            "largest count as 0; by default rcond is the larger side times the dtype's "
            "epsilon. The gradient is that of matrices of the same rank.",
     .in = "a",
     .props = "rcond: float? = None",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = pinv_type,
     .perform = pinv_perform,
     .flops = BATCH "(" REDUCED " + 2 * " K " * a.shape[-2] * a.shape[-1])",
     .pullback = pinv_pullback,
     .pushforward = pinv_pushforward,
     .vmap = core_vmap,
     .example = "pinv([[3.0], [4.0]]) -> [[0.12, 0.16]]"},
    {.name = OP_ROW("matrix_rank"),
     .doc = "The number of singular values above tol; by default tol is the largest "
            "one times the larger side times the dtype's epsilon.",
     .in = "a",
     .props = "tol: float? = None",
     .promote = PROMOTE_INEXACT,
     .def = "s = svd(a, compute_uv=False)\n"
            "least = max(s, axis=-1, keepdims=True) * (size * eps) when tol == None\n"
            "least = floatX(tol)\n"
            "size = maximum(a.shape[-2], a.shape[-1])\n"
            "eps = float64(2.220446049250313e-16) when is_double(s)\n"
            "eps = float32(1.1920928955078125e-07)\n"
            "r = count_nonzero(s > least, axis=-1)",
     .vmap = core_vmap,
     .example = "matrix_rank([[1.0, 2.0], [2.0, 4.0]]) -> 1"},
};
const OpList ops_linalg_svd = LIST_OF(table);
