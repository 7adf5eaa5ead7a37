/* gemm: a matrix product that is added to a matrix, which it overwrites where nothing
 * else reads that. Rewriting makes it of W - rate * (x.T @ g), so that the product
 * needs no memory of its own. */
#include "op/build.h"
#include "op/infer.h"
#include "ops/linalg/product/product.h"

enum { GEMM_C, GEMM_A, GEMM_B, GEMM_ALPHA, GEMM_BETA };

static bool gemm_type(Infer *in) {
    Dim meet, dim[2];
    for (size_t i = 0; i <= GEMM_B; i++)
        if (!infer_want_rank(in, i, 2, 2)) return false;
    for (size_t i = GEMM_ALPHA; i <= GEMM_BETA; i++)
        if (!infer_want_rank(in, i, 0, 0)) return false;
    if (!infer_want_same_dtype(in) ||
        !infer_want_dims_equal(in, GEMM_A, 1, GEMM_B, 0, &meet) ||
        !infer_want_dims_equal(in, GEMM_C, 0, GEMM_A, 0, &dim[0]) ||
        !infer_want_dims_equal(in, GEMM_C, 1, GEMM_B, 1, &dim[1]))
        return false;
    return infer_out_tensor(in, 0, in->type[GEMM_C]->dtype, 2, dim);
}

static bool check_shapes(Call *c, const Tensor *to, const Tensor *a, const Tensor *b) {
    if (a->shape[1] != b->shape[0])
        return call_fail(c, E_RUN_SHAPE,
                         "the inner sizes of matmul differ: %lld and %lld",
                         (long long)a->shape[1], (long long)b->shape[0]);
    if (to->shape[0] != a->shape[0] || to->shape[1] != b->shape[1])
        return call_fail(
            c, E_RUN_SHAPE,
            "a matrix of %lld by %lld can't be added to a product of %lld by %lld",
            (long long)to->shape[0], (long long)to->shape[1], (long long)a->shape[0],
            (long long)b->shape[1]);
    return true;
}

static bool run_gemm(Call *c, bool reference) {
    const Tensor *to = call_in(c, GEMM_C), *a = call_in(c, GEMM_A),
                 *b = call_in(c, GEMM_B);
    int64_t shape[2] = {to->shape[0], to->shape[1]};
    GemmScale scale;
    if (!check_shapes(c, to, a, b)) return false;
    tensor_c128(call_in(c, GEMM_ALPHA), 0, scale.alpha);
    tensor_c128(call_in(c, GEMM_BETA), 0, scale.beta);
    Tensor *out = call_out(c, 0, 2, shape);
    if (!out) return false;
    if (out->data != to->data) tensor_assign(out, to);
    return reference ? product_reference_added(c, a, b, &scale, out->data)
                     : product_run_added(c, a, b, &scale, out->data);
}

static bool gemm_perform(Call *c) {
    return run_gemm(c, false);
}
static bool gemm_debug(Call *c) {
    return run_gemm(c, true);
}

static bool are_known_equal(Dim x, Dim y) {
    return x == y && x != DIM_UNKNOWN;
}

static bool gemm_fails(const Graph *g, ApplyId id) {
    const Var *in = apply_in(g, id);
    const Type *c = var_type(g, in[GEMM_C]), *a = var_type(g, in[GEMM_A]),
               *b = var_type(g, in[GEMM_B]);
    return !are_known_equal(a->dim[1], b->dim[0]) ||
           !are_known_equal(c->dim[0], a->dim[0]) ||
           !are_known_equal(c->dim[1], b->dim[1]);
}

static const char *const pullback = "g_c = cj(beta) * g\n"
                                    "g_a = cj(alpha) * matmul(g, mT(cj(b)))\n"
                                    "g_b = cj(alpha) * matmul(mT(cj(a)), g)\n"
                                    "g_alpha = sum(g * cj(matmul(a, b)))\n"
                                    "g_beta = sum(g * cj(c))";
static const char *const pushforward =
    "t_r = beta * t_c + alpha * (matmul(t_a, b) + matmul(a, t_b)) + t_beta * c + "
    "t_alpha * matmul(a, b)";

static const Op table[] = {
    {.name = OP_ROW("gemm"),
     .doc = "beta * c + alpha * a @ b of matrices and two numbers, in one call, which "
            "overwrites c where nothing else reads it.",
     RARE(.share = blas_share),
     .in = "c, a, b, alpha, beta",
     .promote = PROMOTE_SAME,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = gemm_type,
     .perform = gemm_perform,
     .debug = gemm_debug,
     .fails = gemm_fails,
     .flops = "2 * r.size * (a.shape[-1] + 1)",
     .pullback = pullback,
     .pushforward = pushforward,
     .reuse = 1,
     .internal = true,
     .example = "gemm([[1., 2.]], [[3.]], [[4., 5.]], 2., -1.) -> [[23.0, 28.0]]"},
};
const OpList ops_linalg_gemm = LIST_OF(table);
