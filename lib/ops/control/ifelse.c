/* ifelse(condition, then_branch, else_branch): the values of one branch. Only the
 * condition, the branch taken and their inputs run. */
#include "op/build.h"
#include "op/infer.h"
#include "vmap/kit.h"

#include <string.h>

/* Inputs are the condition, n values of one branch, n of the other. */
static size_t branch_size(size_t nin) {
    return (nin - 1) / 2;
}

/* ---- typing ---- */

static const char *shown_input_type(const Infer *in, size_t i) {
    return type_str(in->s, in->type[i]);
}

static bool branches_differ(Infer *in, size_t i, size_t k, DiagCode code,
                            const char *how) {
    return infer_fail(in, code, in->nin,
                      "value %zu is %s if the condition holds but %s if not: %s", i,
                      shown_input_type(in, 1 + i), shown_input_type(in, k), how);
}

static bool fail_no_join(Infer *in, size_t i, size_t k) {
    const Type *x = in->type[1 + i], *y = in->type[k];
    for (; x->kind == TYPE_LIST && y->kind == TYPE_LIST; y = y->elem)
        x = x->elem;
    if (x->kind != y->kind || (x->kind != TYPE_TENSOR && x->kind != TYPE_SPARSE))
        return branches_differ(in, i, k, E_TYPE, "the types must be equal");
    if (x->dtype != y->dtype || x->why != y->why)
        return branches_differ(in, i, k, E_DTYPE,
                               "cast one of them: ifelse casts nothing by itself");
    return branches_differ(in, i, k, E_SHAPE, "they must have the same number of dims");
}

static bool ifelse_type(Infer *in) {
    size_t n = branch_size(in->nin);
    if (!infer_want_rank(in, 0, 0, 0)) return false;
    if (n == 0 || n > OUT_MAX)
        return infer_fail(in, E_ARITY, in->nin,
                          "a branch has %zu values, but must have 1 to %d", n, OUT_MAX);
    in->nout = n;
    /* keeps static dims on which both agree, those of list items too */
    for (size_t i = 0; i < n; i++)
        if (!(in->out[i] = type_join(in->s, in->type[1 + i], in->type[1 + n + i])))
            return fail_no_join(in, i, 1 + n + i);
    return true;
}

/* ---- running ---- */

/* The plan may alias a result with its branch: the value is then already in place. */
static bool pass_branch(Call *c, size_t i, size_t k) {
    if (c->in[k]->kind != TYPE_TENSOR && c->in[k]->kind != TYPE_RANDOM) {
        value_unref(&c->out[i]);
        value_copy_view(&c->out[i], c->in[k]);
        return true;
    }
    const Tensor *x = call_in(c, k);
    Tensor *r = call_out(c, i, x->ndim, x->shape);
    if (!r) return false;
    if (r->data != x->data || !tensor_is_contiguous(x)) tensor_assign(r, x);
    return true;
}

static ThunkResult ifelse_run(void *state, Call *c) {
    (void)state;
    size_t n = branch_size(c->nin), from = tensor_is_true(call_in(c, 0)) ? 1 : 1 + n;
    bool all = true;
    for (size_t i = 0; i < n; i++)
        if (c->computed[from + i] == NOT_COMPUTED) {
            c->need[from + i] = true;
            all = false;
        }
    if (!all) return THUNK_NEEDS;
    for (size_t i = 0; i < n; i++)
        if (!pass_branch(c, i, from + i)) return THUNK_FAILED;
    return THUNK_DONE;
}

static const Thunk ifelse_thunk = {
    .lazy = true, .once = true, .either = true, .first = 1, .run = ifelse_run};

static bool ifelse_reuses(const Graph *g, ApplyId a, size_t out, size_t in) {
    size_t n = branch_size(g->apply[a].nin);
    return in == 1 + out || in == 1 + n + out;
}

/* ---- shapes ---- */

static bool ifelse_shape(ShapeOf *q) {
    size_t n = branch_size(q->nin);
    Var in[1 + 2 * MAX_NDIM], out[OUT_MAX];
    in[0] = q->in[0];
    for (size_t i = 0; i < n; i++) {
        const Var *x = q->in_shape[1 + i], *y = q->in_shape[1 + n + i];
        const Type *t = var_type(q->g, q->in[1 + i]);
        size_t ndim = x && y ? (size_t)t->ndim : 0;
        for (size_t d = 0; d < ndim; d++) {
            in[1 + d] = x[d];
            in[1 + ndim + d] = y[d];
        }
        if (ndim == 0) continue;
        if (!op_apply(q->b, q->op, q->props, 1 + 2 * ndim, in, out)) return false;
        for (size_t d = 0; d < ndim; d++)
            q->out_shape[i][d] = x[d] == y[d] ? x[d] : out[d];
    }
    return true;
}

/* ---- derivatives ---- */

/* One branch gets the gradient, the other zeros of its shape; each ifelse computes only
 * the side that it takes. */
static Var branch_gradient(Pull *p, size_t i, bool then) {
    size_t n = p->nout, k = then ? 1 + i : 1 + n + i;
    Var g = p->cotangent[i];
    DType d = var_type(p->b->g, g)->dtype;
    Var zero = op_zeros_like(p->b, p->in[k], d);
    if (zero == VAR_NONE) return VAR_NONE;
    return then ? op_call3(p->b, "ifelse", p->in[0], g, zero)
                : op_call3(p->b, "ifelse", p->in[0], zero, g);
}

static bool condition_grad(Pull *p) {
    const Type *t = var_type(p->b->g, p->in[0]);
    DType d = dtype_is_inexact(t->dtype) ? t->dtype : p->b->floatX;
    return !p->wanted[0] || (p->grad[0] = op_zeros_like(p->b, p->in[0], d)) != VAR_NONE;
}

static bool ifelse_pull(Pull *p) {
    for (size_t k = 1; k < p->nin; k++) {
        size_t i = (k - 1) % p->nout;
        if (!p->wanted[k] || p->cotangent[i] == VAR_NONE) continue;
        if ((p->grad[k] = branch_gradient(p, i, k <= p->nout)) == VAR_NONE)
            return false;
    }
    return condition_grad(p);
}

/* The tangent of a value; a missing one becomes zeros, computed only if taken. */
static Var branch_tangent(Push *p, size_t k, DType d) {
    Var t = p->tangent[k];
    return t == VAR_NONE ? op_zeros_like(p->b, p->in[k], d) : op_cast_to(p->b, t, d);
}

static bool ifelse_push(Push *p) {
    size_t n = p->nout;
    for (size_t i = 0; i < n; i++) {
        Var x = p->tangent[1 + i], y = p->tangent[1 + n + i];
        if (x == VAR_NONE && y == VAR_NONE) continue;
        DType d = var_type(p->b->g, x == VAR_NONE ? y : x)->dtype;
        x = branch_tangent(p, 1 + i, d);
        y = branch_tangent(p, 1 + n + i, d);
        if (x == VAR_NONE || y == VAR_NONE) return false;
        p->result[i] = op_call3(p->b, "ifelse", p->in[0], x, y);
        if (p->result[i] == VAR_NONE) return false;
    }
    return true;
}

static bool ifelse_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    return in == 0 || ifelse_reuses(g, a, out, in);
}

/* ---- vmap ---- */

/* Have inputs i and k of a row the same shape, as far as the types show it? */
static bool have_one_shape(const Vmap *q, size_t i, size_t k) {
    const Type *x = var_type(q->g, q->was[i]), *y = var_type(q->g, q->was[k]);
    bool one = x->kind == TYPE_TENSOR && y->kind == TYPE_TENSOR;
    for (int d = 0; one && d < x->ndim; d++)
        one = x->dim[d] == y->dim[d] && x->dim[d] != DIM_UNKNOWN;
    return one;
}

/* Rows of the condition: the values of both branches exist by now, for all rows. */
static bool choose_by_row(Vmap *q) {
    size_t n = q->nout;
    for (size_t i = 0; i < n; i++)
        if (!have_one_shape(q, 1 + i, 1 + n + i)) return vmap_by_scan(q);
    for (size_t i = 0; i < n; i++) {
        int ndim = vmap_ndim(q, 1 + i);
        q->out[i] = op_call3(q->b, "where", vmap_pad_rank(q, 0, ndim), q->in[1 + i],
                             q->in[1 + n + i]);
        if (q->out[i] == VAR_NONE) return false;
    }
    return true;
}

/* One condition for all rows takes a branch with all of its rows. */
static bool ifelse_vmap(Vmap *q) {
    size_t n = q->nout;
    if (q->rows[0]) return choose_by_row(q);
    Var *in = mem_alloc(q->b->s, q->nin * sizeof *in);
    in[0] = q->in[0];
    for (size_t k = 1; k < q->nin; k++) {
        size_t i = (k - 1) % n;
        q->out_rows[i] = q->rows[1 + i] || q->rows[1 + n + i];
        in[k] = q->out_rows[i] ? vmap_with_rows(q, k) : q->in[k];
    }
    bool ok = vmap_apply(q, q->props, in);
    mem_free(in);
    return ok;
}

static const Op table[] = {
    {.name = OP_ROW("ifelse"),
     .varies = true,
     .doc = "The value of then_branch if the condition, a scalar of any dtype, is not "
            "0, else that of else_branch; only the chosen branch runs. The branches "
            "are values, or lists of the same length, which give several results. "
            "Their types must agree except for static dims; nothing is cast.",
     .in = "condition, *then_branch: any, *else_branch: any",
     .type = ifelse_type,
     RARE(.infer_shape = ifelse_shape, .thunk = &ifelse_thunk,
          .connect = ifelse_connect, .reuses = ifelse_reuses),
     .flops = "0",
     .pull = ifelse_pull,
     .push = ifelse_push,
     .vmap = ifelse_vmap,
     .example = "ifelse(2 > 1, 5.0, 6.0) -> 5.0\n"
                "ifelse(0, [[1, 2]], [[3, 4]]) -> [3, 4]"},
};
const OpList ops_control_ifelse = LIST_OF(table);
