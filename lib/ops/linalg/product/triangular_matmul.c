/* triangular_matmul: a product by a matrix that rewriting knows to be triangular. */
#include "op/build.h"
#include "op/infer.h"
#include "ops/linalg/product/blas.h"
#include "ops/linalg/product/product.h"
#include "vmap/kit.h"

static bool triangular_matmul_type(Infer *in) {
    Dim meet;
    if (!infer_want_rank(in, 0, 2, 2) || !infer_want_rank(in, 1, 2, 2) ||
        !infer_want_same_dtype(in) || !infer_want_dims_equal(in, 0, 1, 1, 0, &meet))
        return false;
    Dim dim[2] = {infer_in_dim(in, 0, 0), infer_in_dim(in, 1, 1)};
    return infer_out_tensor(in, 0, in->type[0]->dtype, 2, dim);
}

static bool run_triangular_matmul(Call *c, bool reference) {
    const Tensor *a = call_in(c, 0), *b = call_in(c, 1);
    bool right = prop_bool(c->s, c->op, c->props, "right"),
         lower = prop_bool(c->s, c->op, c->props, "lower");
    int64_t shape[2] = {a->shape[0], b->shape[1]};
    if (a->shape[1] != b->shape[0])
        return call_fail(c, E_RUN_SHAPE,
                         "the inner sizes of matmul differ: %lld and %lld",
                         (long long)a->shape[1], (long long)b->shape[0]);
    Tensor *out = call_out(c, 0, 2, shape);
    if (!out) return false;
    if (reference) return product_reference(a, b, 0, NULL, out->data), true;
    return product_run_triangular(c, a, b, right, lower, out->data);
}

static bool triangular_matmul_perform(Call *c) {
    return run_triangular_matmul(c, false);
}
static bool triangular_matmul_debug(Call *c) {
    return run_triangular_matmul(c, true);
}

static bool triangular_matmul_fails(const Graph *g, ApplyId id) {
    Dim x = var_type(g, apply_in(g, id)[0])->dim[1],
        y = var_type(g, apply_in(g, id)[1])->dim[0];
    return x != y || x == DIM_UNKNOWN;
}

static bool triangular_matmul_vmap(Vmap *q) {
    return (q->out[0] = op_call2(q->b, "matmul", q->in[0], q->in[1])) != VAR_NONE;
}

/* Those of the product of any matrices. */
static const char *const pullback = "g_a = matmul(g, mT(cj(b)))\n"
                                    "g_b = matmul(mT(cj(a)), g)";
static const char *const pushforward = "t_r = matmul(t_a, b) + matmul(a, t_b)";

static const Op table[] = {
    {.name = OP_ROW("triangular_matmul"),
     .doc =
         "a @ b of two matrices, of which a, with right=True b, is known to be upper "
         "triangular, with lower=True lower triangular: its zeros need not be read.",
     .in = "a, b",
     .props = "lower: bool = False, right: bool = False",
     .promote = PROMOTE_SAME,
     .type = triangular_matmul_type,
     .perform = triangular_matmul_perform,
     .debug = triangular_matmul_debug,
     .fails = triangular_matmul_fails,
     .flops = "r.size * a.shape[-1]",
     .pullback = pullback,
     .pushforward = pushforward,
     .vmap = triangular_matmul_vmap,
     .internal = true,
     .example = "triangular_matmul([[1., 2.], [0., 3.]], [[3.], [4.]]) -> [[11.0], "
                "[12.0]]"},
};
const OpList ops_linalg_triangular_matmul = LIST_OF(table);
