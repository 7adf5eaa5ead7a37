/* Shapes as values (shape, shape_i), and claims about them (specify_shape). */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

static bool shape_type(Infer *in) {
    Dim n = in->type[0]->ndim;
    return out_tensor(in, 0, DT_INT64, 1, &n);
}

static bool shape_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int64_t shape[MAX_NDIM], n = x->ndim;
    for (int k = 0; k < x->ndim; k++)
        shape[k] = x->shape[k];
    Tensor *out = call_out(c, 0, 1, &n);
    if (!out) return false;
    int64_t *p = out->data;
    for (int64_t k = 0; k < n; k++)
        p[k] = shape[k];
    return true;
}

static bool shape_i_type(Infer *in) {
    int axis;
    return infer_axis(in, in_prop(in, "axis")->i, in->type[0]->ndim, &axis) &&
           out_tensor(in, 0, DT_INT64, 0, NULL);
}

static bool shape_i_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int64_t n = x->shape[axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim)];
    Tensor *out = call_out(c, 0, 0, NULL);
    if (!out) return false;
    *(int64_t *)out->data = n;
    return true;
}

static bool nothing_pull(Pull *p) {
    pull_disconnect(p, 0);
    return true;
}

/* ---- specify_shape: -1 says nothing of a dim ---- */
static bool specify_type(Infer *in) {
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM];
    bool minus[MAX_NDIM];
    int n;
    if (!want_shape(in, 1, &n, dim, minus)) return false;
    if (n != x->ndim)
        return infer_fail(in, E_SHAPE, 1, "x has %d dims, but %d are claimed", x->ndim,
                          n);
    for (int k = 0; k < n; k++) {
        if (minus[k]) {
            dim[k] = x->dim[k];
            continue;
        }
        if (!dim_may_equal(x->dim[k], dim[k]))
            return infer_fail(in, E_SHAPE, 1, "dim %d of x has size %lld, not %lld", k,
                              (long long)x->dim[k], (long long)dim[k]);
        dim[k] = dim_meet(x->dim[k], dim[k]);
    }
    return out_tensor(in, 0, x->dtype, n, dim);
}

static bool specify_perform(Call *c) {
    Tensor x = *call_in(c, 0);
    const Tensor *t = call_in(c, 1);
    if (tensor_size(t) != x.ndim)
        return call_fail(c, E_RUN_SHAPE, "x has %d dims, but %lld are claimed", x.ndim,
                         (long long)tensor_size(t));
    for (int k = 0; k < x.ndim; k++) {
        int64_t want = tensor_i64(t, k);
        if (want == -1 || want == x.shape[k]) continue;
        Str got = STR(c->s), asked = STR(c->s);
        int64_t shape[MAX_NDIM];
        for (int i = 0; i < x.ndim; i++)
            shape[i] = tensor_i64(t, i);
        shape_text(c->s, x.ndim, x.shape, &got);
        shape_text(c->s, x.ndim, shape, &asked);
        call_fail(c, E_RUN_SHAPE, "got shape %s, expected %s", str_text(&got),
                  str_text(&asked));
        str_free(&got);
        str_free(&asked);
        return false;
    }
    Tensor *v = call_view(c, 0, call_in(c, 0));
    if (!v) return false;
    v->dtype = x.dtype;
    v->ndim = x.ndim;
    v->data = x.data;
    for (int k = 0; k < x.ndim; k++) {
        v->shape[k] = x.shape[k];
        v->stride[k] = x.stride[k];
    }
    return true;
}

static const char *const specify_adjoint[] = {"specify_shape(g, dims)", "disconnected"};

static const Op table[] = {
    {.name = "shape",
     .doc = "The sizes of x's dims as an int64 vector. x.shape[i] is shape_i.",
     .in = "x",
     .type = shape_type,
     .perform = shape_perform,
     .flops = "0",
     .pull = nothing_pull,
     .push = push_none,
     .disconnected = "x",
     .shape_only = true,
     .example = "shape([[1, 2, 3], [4, 5, 6]]) -> [2, 3]",
     .file = __FILE__,
     .line = __LINE__},
    {.name = "shape_i",
     .doc = "The size of one dim of x as an int64.",
     .in = "x",
     .props = "axis: axis",
     .type = shape_i_type,
     .perform = shape_i_perform,
     .flops = "0",
     .pull = nothing_pull,
     .push = push_none,
     .disconnected = "x",
     .shape_only = true,
     .example = "shape_i([[1, 2, 3], [4, 5, 6]], axis=1) -> 3",
     .file = __FILE__,
     .line = __LINE__},
    {.name = "specify_shape",
     .doc = "x, whose shape is claimed to be dims and checked when running; -1 claims "
            "nothing of a dim.",
     .in = "x, dims: ints",
     .type = specify_type,
     .perform = specify_perform,
     .flops = "0",
     .adjoint = specify_adjoint,
     .disconnected = "dims",
     .view = 1,
     .identity = true,
     .example = "specify_shape([1, 2], (2,)) -> [1, 2]",
     .file = __FILE__,
     .line = __LINE__},
};
const OpList ops_shape_shape = {table, sizeof table / sizeof *table};
