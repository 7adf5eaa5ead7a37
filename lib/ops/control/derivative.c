/* check_derivative: checks that a user op's gradient has the shape of its
 * input, or its pushforward that of its output. Types often can't prove it. */
#include "ops/shape/linear.h"
#include "value/sparse.h"
#include "vmap/kit.h"

static bool check_derivative_type(Infer *in) {
    in->out[0] = in->type[0];
    if (in->type[0]->ndim != in->type[1]->ndim)
        return infer_fail(in, E_SHAPE, 0, "it has %s, not %d",
                          str_counted(in->s, (size_t)in->type[0]->ndim, "dim"),
                          in->type[1]->ndim);
    return true;
}

/* "gradient of f for its input x" */
static const char *what_of(const Call *c) {
    return sym_text(c->s, op_prop(c->s, c->op, c->props, "what")->sym);
}

static bool fail_wrong_shape(Call *c, int ndim, const int64_t *have,
                             const int64_t *want) {
    Str is = STR(c->s), asked = STR(c->s);
    shape_text(c->s, ndim, have, &is);
    shape_text(c->s, ndim, want, &asked);
    call_fail(c, E_DERIVATIVE, "the %s has shape %s, but it must have shape %s",
              what_of(c), str_text(&is), str_text(&asked));
    str_free(&is);
    str_free(&asked);
    return false;
}

static bool is_zero_tensor(const Tensor *t) {
    for (int64_t i = 0, n = tensor_size(t); i < n; i++) {
        double part[2];
        tensor_c128(t, i, part);
        if (part[0] != 0 || part[1] != 0) return false;
    }
    return true;
}

static bool check_zero(Call *c) {
    const Value *v = c->in[0];
    const Tensor *t =
        v->kind == TYPE_SPARSE ? &((const SparseObject *)v->obj)->data : &v->t;
    return is_zero_tensor(t) ||
           call_fail(c, E_DERIVATIVE,
                     "the %s is not zero, but a derivative for integers must be zero",
                     what_of(c));
}

static bool check_derivative_perform(Call *c) {
    int ndim = c->in[0]->kind == TYPE_SPARSE ? 2 : c->in[0]->t.ndim;
    const int64_t *have = value_sizes(c->in[0]), *want = value_sizes(c->in[1]);
    for (int k = 0; have && want && k < ndim; k++)
        if (have[k] != want[k]) return fail_wrong_shape(c, ndim, have, want);
    if (prop_bool(c->s, c->op, c->props, "zero") && !check_zero(c)) return false;
    return call_pass_on(c);
}

/* Both need rows, or the numbers of dims would differ. */
static bool derivative_vmap(Vmap *q) {
    Var in[2] = {vmap_with_rows(q, 0), vmap_with_rows(q, 1)};
    if (in[0] == VAR_NONE || in[1] == VAR_NONE) return false;
    return vmap_apply(q, q->props, in);
}

static const char *const through[] = {"g", "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("check_derivative"),
     .internal = true,
     .doc = "d, a gradient with respect to `like` or its tangent. While running, it "
            "checks that d has the shape of `like` and, with zero, that d is zero "
            "everywhere. `what` names d in messages. Derivatives wrap what a user's op "
            "gives in it.",
     .in = "d: array, like: array",
     .props = "what: str = 'derivative', zero: bool = False",
     .type = check_derivative_type,
     .perform = check_derivative_perform,
     .flops = "0",
     .adjoint = through,
     .push = push_tangent_through,
     .disconnected = "like",
     .vmap = derivative_vmap,
     .view = 1,
     .identity = true,
     .promise = true,
     .example = "check_derivative([1., 2.], [3., 4.]) -> [1.0, 2.0]"},
};
const OpList ops_control_derivative = LIST_OF(table);
