/* Matrix products by NumPy's rules: the last two axes are matrices, the others
 * broadcast as a batch; a 1-d operand is a row on the left or a column on the right,
 * and the result drops that axis. */
#include "op/build.h"
#include "op/infer.h"
#include "ops/linalg/product/blas.h"
#include "ops/linalg/product/product.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- typing ---- */
static bool matmul_type(Infer *in) {
    if (!infer_want_rank(in, 0, 1, -1) || !infer_want_rank(in, 1, 1, -1) ||
        !infer_want_same_dtype(in))
        return false;
    const Type *a = in->type[0], *b = in->type[1];
    Dim dim[MAX_NDIM + 2], meet;
    if (!infer_want_dims_equal(in, 0, a->ndim - 1, 1, b->ndim > 1 ? b->ndim - 2 : 0,
                               &meet))
        return false;
    int na = a->ndim > 2 ? a->ndim - 2 : 0, nb = b->ndim > 2 ? b->ndim - 2 : 0;
    int n = shape_broadcast(na, a->dim, nb, b->dim, dim);
    if (n < 0)
        return infer_fail(in, E_SHAPE, in->nin,
                          "the batch dims of %s and %s do not broadcast",
                          type_str(in->s, a), type_str(in->s, b));
    if (a->ndim > 1) dim[n++] = a->dim[a->ndim - 2];
    if (b->ndim > 1) dim[n++] = b->dim[b->ndim - 1];
    return infer_out_tensor(in, 0, a->dtype, n, dim);
}

/* ---- running ---- */
/* An operand as a batch of matrices: a 1-d one becomes *m with an extra axis of length
 * 1. */
static const Tensor *as_matrix(const Tensor *t, bool left, Tensor *m) {
    if (t->ndim > 1) return t;
    m->dtype = t->dtype;
    m->data = t->data;
    m->buf = t->buf;
    m->ndim = 2;
    m->shape[0] = left ? 1 : t->shape[0];
    m->shape[1] = left ? t->shape[0] : 1;
    m->stride[0] = left ? 0 : t->stride[0];
    m->stride[1] = left ? t->stride[0] : 0;
    return m;
}

static bool check_shapes(Call *c, const Tensor *a, const Tensor *b, int nbatch,
                         int64_t *batch) {
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2])
        return call_fail(
            c, E_RUN_SHAPE, "the inner sizes of matmul differ: %lld and %lld",
            (long long)a->shape[a->ndim - 1], (long long)b->shape[b->ndim - 2]);
    for (int i = 0; i < nbatch; i++) {
        int ia = a->ndim - 2 - nbatch + i, ib = b->ndim - 2 - nbatch + i;
        int64_t x = ia < 0 ? 1 : a->shape[ia], y = ib < 0 ? 1 : b->shape[ib];
        bool x1 = ia < 0 || var_type(c->g, apply_in(c->g, c->id)[0])->dim[ia] == 1;
        bool y1 = ib < 0 || var_type(c->g, apply_in(c->g, c->id)[1])->dim[ib] == 1;
        if (x != y && !x1 && !y1)
            return call_fail(c, E_RUN_SHAPE,
                             "batch dim %d of matmul is %lld and %lld; a size of 1 "
                             "broadcasts only if the type declares it",
                             i, (long long)x, (long long)y);
        batch[i] = x1 ? y : x;
    }
    return true;
}

static bool run_matmul(Call *c, bool reference) {
    Tensor row, column;
    const Tensor *a = as_matrix(call_in(c, 0), true, &row),
                 *b = as_matrix(call_in(c, 1), false, &column);
    int nbatch = (a->ndim > b->ndim ? a->ndim : b->ndim) - 2, n = nbatch;
    int64_t shape[MAX_NDIM + 2];
    if (!check_shapes(c, a, b, nbatch, shape)) return false;
    if (call_in(c, 0)->ndim > 1) shape[n++] = a->shape[a->ndim - 2];
    if (call_in(c, 1)->ndim > 1) shape[n++] = b->shape[b->ndim - 1];
    Tensor *out = call_out(c, 0, n, shape);
    if (!out) return false;
    if (!reference) return product_run(c, a, b, nbatch, shape, out->data);
    product_reference(a, b, nbatch, shape, out->data);
    return true;
}

static bool matmul_perform(Call *c) {
    return run_matmul(c, false);
}
static bool matmul_debug(Call *c) {
    return run_matmul(c, true);
}

/* Can't fail if types prove the inner sizes equal and at most one operand has a
 * batch. */
static bool matmul_fails(const Graph *g, ApplyId id) {
    const Type *a = var_type(g, apply_in(g, id)[0]),
               *b = var_type(g, apply_in(g, id)[1]);
    Dim x = a->dim[a->ndim - 1], y = b->dim[b->ndim > 1 ? b->ndim - 2 : 0];
    return x != y || x == DIM_UNKNOWN || (a->ndim > 2 && b->ndim > 2);
}

static const char *const matmul_pullback =
    "g_a = g * cj(b) when a.ndim == 1, b.ndim == 1\n"
    "g_a = matmul(cj(b), expand_dims(g, -1)).squeeze(-1) when a.ndim == 1\n"
    "g_a = expand_dims(g, -1) * cj(b) when b.ndim == 1\n"
    "g_a = matmul(g, mT(cj(b)))\n"
    "g_b = g * cj(a) when a.ndim == 1, b.ndim == 1\n"
    "g_b = expand_dims(cj(a), -1) * expand_dims(g, -2) when a.ndim == 1\n"
    "g_b = matmul(mT(cj(a)), expand_dims(g, -1)).squeeze(-1) when b.ndim == 1\n"
    "g_b = matmul(mT(cj(a)), g)";
static const char *const matmul_pushforward = "t_r = matmul(t_a, b) + matmul(a, t_b)";

/* ---- vmap ---- */
/* The formula for cases where no operand needs to become a matrix. */
static const char *direct_text(const Vmap *q, int na, int nb) {
    bool ra = q->rows[0], rb = q->rows[1];
    bool inexact = dtype_is_inexact(var_type(q->g, q->was[0])->dtype);
    if (na == 1 && nb == 1 && ra && rb && inexact) return "sum(a * b, axis=-1)";
    if (!rb && (nb == 1 || (na == 1 && nb == 2))) return "matmul(a, b)";
    if (!ra && na == 1 && nb == 1) return "matmul(b, a)";
    if (!ra && na == 2 && nb == 1) return "matmul(b, transpose(a))";
    return NULL;
}

/* Operand i as a matrix; if it has rows, each is padded with leading ones up to `ndim`
 * dims. */
static Var as_matrices(Vmap *q, size_t i, int ndim) {
    int have = vmap_ndim(q, i), lead = q->rows[i], pad = 0;
    int64_t ones[MAX_NDIM];
    if (lead) pad = ndim - (have > 2 ? have : 2);
    for (int k = 0; k < pad; k++)
        ones[k] = lead + k;
    size_t n = (size_t)pad;
    if (have == 1) ones[n++] = lead + pad + (i == 1);
    if (n == 0) return q->in[i];
    const Op *op = op_known(q->b->s, OP_EXPAND_DIMS);
    PropArg axis = {"axis", PROP_INTS(ones, n)};
    return op_apply1(q->b, op, props_make(q->b->s, op, 1, &axis), 1, &q->in[i]);
}

static bool matmul_vmap(Vmap *q) {
    Builder *b = q->b;
    int na = vmap_ndim(q, 0), nb = vmap_ndim(q, 1), n = na > nb ? na : nb;
    if (n < 2) n = 2;
    const char *text = direct_text(q, na, nb);
    bool ok = true;
    Bind bind[] = {{sym(b->s, "a"), q->in[0]}, {sym(b->s, "b"), q->in[1]}};
    if (!text) {
        text = na == 1 && nb == 1 ? "squeeze(matmul(a, b), [-2, -1])"
               : na == 1          ? "squeeze(matmul(a, b), -2)"
               : nb == 1          ? "squeeze(matmul(a, b), -1)"
                                  : "matmul(a, b)";
        bind[0].var = as_matrices(q, 0, n);
        bind[1].var = as_matrices(q, 1, n);
        if (bind[0].var == VAR_NONE || bind[1].var == VAR_NONE) return false;
    }
    q->out[0] = template_build(b, text, &(Env){.n = 2, .bind = bind}, &ok);
    return ok;
}

/* dot is matmul up to two dims; beyond, it sums the last axis of a with the second to
 * last of b. */
static bool dot_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                       const Var *in, Var *out) {
    int na = var_type(b->g, in[0])->ndim, nb = var_type(b->g, in[1])->ndim;
    (void)op, (void)props, (void)nin;
    if (na == 0 || nb == 0)
        return (*out = op_call2(b, "multiply", in[0], in[1])) != VAR_NONE;
    if (nb <= 2) return (*out = op_call2(b, "matmul", in[0], in[1])) != VAR_NONE;
    Env env = {.n = 2,
               .bind = (Bind[]){{sym(b->s, "a"), in[0]}, {sym(b->s, "b"), in[1]}}};
    bool ok = true;
    *out = template_build(b, "tensordot(a, b, axes_a=[-1], axes_b=[-2])", &env, &ok);
    return ok && *out != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("matmul"),
     .doc = "Matrix product of the last two axes; leading axes broadcast as a batch. A "
            "one-dim operand is a row on the "
            "left, a column on the right.",
     .infix = "@",
     RARE(.sparse = "sparse_dot", .share = blas_share, .redo = true),
     .in = "a, b",
     .promote = PROMOTE_SAME,
     .type = matmul_type,
     .perform = matmul_perform,
     .debug = matmul_debug,
     .fails = matmul_fails,
     .flops = "2 * r.size * a.shape[-1]",
     .pullback = matmul_pullback,
     .pushforward = matmul_pushforward,
     .vmap = matmul_vmap,
     .example = "matmul([[1., 2.]], [[3.], [4.]]) -> [[11.0]]"},
    {.name = OP_ROW("dot"),
     .doc = "Inner product of vectors, matrix product, or NumPy's dot of more dims.",
     RARE(.sparse = "sparse_dot"),
     .in = "a, b",
     .promote = PROMOTE_SAME,
     .expand = dot_expand,
     .example = "dot([1., 2.], [3., 4.]) -> 11.0"},
};
const OpList ops_linalg_matmul = LIST_OF(table);
