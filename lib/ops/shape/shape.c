/* Shapes as values (shape, shape_i), and assertions about them (specify_shape). */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "value/sparse.h"
#include "vmap/kit.h"

static bool shape_type(Infer *in) {
    Dim n = in->type[0]->ndim;
    return infer_out_tensor(in, 0, DT_INT64, 1, &n);
}

/* The sizes of input 0. */
static int sizes_in(const Call *c, int64_t shape[MAX_NDIM]) {
    const SparseObject *m = c->in[0]->kind == TYPE_SPARSE ? c->in[0]->obj : NULL;
    const Tensor *x = call_in(c, 0);
    int n = m ? 2 : x->ndim;
    for (int k = 0; k < n; k++)
        shape[k] = m ? m->shape[k] : x->shape[k];
    return n;
}

static bool shape_perform(Call *c) {
    int64_t shape[MAX_NDIM], n = sizes_in(c, shape);
    Tensor *out = call_out(c, 0, 1, &n);
    if (!out) return false;
    int64_t *p = out->data;
    for (int64_t k = 0; k < n; k++)
        p[k] = shape[k];
    return true;
}

static bool shape_i_type(Infer *in) {
    int axis;
    return infer_axis(in, infer_prop(in, "axis")->i, in->type[0]->ndim, &axis) &&
           infer_out_tensor(in, 0, DT_INT64, 0, NULL);
}

static bool shape_i_perform(Call *c) {
    int64_t shape[MAX_NDIM];
    int ndim = sizes_in(c, shape);
    int64_t n = shape[shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), ndim)];
    Tensor *out = call_out(c, 0, 0, NULL);
    if (!out) return false;
    *(int64_t *)out->data = n;
    return true;
}

/* All rows have the same shape. */
static bool shape_vmap(Vmap *q) {
    q->out_rows[0] = false;
    return (q->out[0] = vmap_row_shape(q, 0)) != VAR_NONE;
}

static bool shape_i_vmap(Vmap *q) {
    int axis =
        shape_axis_index(prop_int(q->b->s, q->op, q->props, "axis"), vmap_ndim(q, 0));
    q->out_rows[0] = false;
    return (q->out[0] = shape_of(q->b, q->in[0], axis + 1)) != VAR_NONE;
}

/* ---- specify_shape: -1 leaves a dim unspecified ---- */
static bool specify_shape_type(Infer *in) {
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM];
    bool minus[MAX_NDIM];
    int n;
    if (!infer_want_shape(in, 1, &n, dim, minus)) return false;
    if (n != x->ndim)
        return infer_fail(in, E_SHAPE, 1, "x has %s, but %d are specified",
                          str_counted(in->s, (size_t)x->ndim, "dim"), n);
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
    in->out[0] = type_clone(in->s, x, DT_NONE, n, dim);
    return true;
}

/* "got shape (2, 3), expected (2, ?)" */
static bool fail_shape(Call *c, int ndim, const int64_t *shape, const Tensor *want) {
    Str got = STR(c->s), asked = STR(c->s);
    shape_text(c->s, ndim, shape, &got);
    for (int i = 0; i < ndim; i++) {
        int64_t n = tensor_i64(want, i);
        str_puts(&asked, i ? ", " : "(");
        if (n < 0)
            str_putc(&asked, '?');
        else
            str_printf(&asked, "%lld", (long long)n);
    }
    str_puts(&asked, ndim == 0 ? "()" : ndim == 1 ? ",)" : ")");
    call_fail(c, E_RUN_SHAPE, "got shape %s, expected %s", str_text(&got),
              str_text(&asked));
    str_free(&got);
    str_free(&asked);
    return false;
}

static bool specify_shape_perform(Call *c) {
    const Tensor *t = call_in(c, 1);
    int64_t shape[MAX_NDIM];
    int ndim = sizes_in(c, shape);
    if (tensor_size(t) != ndim)
        return call_fail(c, E_RUN_SHAPE, "x has %s, but %lld are specified",
                         str_counted(c->s, (size_t)ndim, "dim"),
                         (long long)tensor_size(t));
    for (int k = 0; k < ndim; k++) {
        int64_t want = tensor_i64(t, k);
        if (want != -1 && want != shape[k]) return fail_shape(c, ndim, shape, t);
    }
    return call_pass_on(c);
}

/* Asserts nothing about the number of rows. */
static bool specify_shape_vmap(Vmap *q) {
    Dim n = var_type(q->g, q->was[1])->dim[0];
    Var item[MAX_NDIM + 1];
    if (q->rows[1] || !dim_is_known(n) || n >= MAX_NDIM) return vmap_by_scan(q);
    item[0] = const_int(q->b, -1);
    for (int64_t k = 0; k < n; k++)
        item[k + 1] = vmap_ints_item(q->b, q->in[1], k);
    Var in[2] = {q->in[0], ints_stack(q->b, (size_t)n + 1, item)};
    return vmap_apply(q, q->props, in);
}

static const char *const specify_adjoint[] = {"specify_shape(g, dims)", "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("shape"),
     .doc = "The sizes of x's dims as an int64 vector. x.shape[i] is shape_i.",
     .in = "x: array",
     .type = shape_type,
     .perform = shape_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = pull_nothing,
     .push = push_none,
     .disconnected = "x",
     .shape_only = true,
     .vmap = shape_vmap,
     .example = "shape([[1, 2, 3], [4, 5, 6]]) -> [2, 3]"},
    {.name = OP_ROW("shape_i"),
     .doc = "The size of one dim of x as an int64.",
     .in = "x: array",
     .props = "axis: axis",
     .type = shape_i_type,
     .perform = shape_i_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = pull_nothing,
     .push = push_none,
     .disconnected = "x",
     .shape_only = true,
     .vmap = shape_i_vmap,
     .example = "shape_i([[1, 2, 3], [4, 5, 6]], axis=1) -> 3"},
    {.name = OP_ROW("specify_shape"),
     .doc = "x, whose shape must be dims, which is checked while running; -1 allows "
            "any size of a dim.",
     .in = "x: array, dims: ints",
     .type = specify_shape_type,
     .perform = specify_shape_perform,
     .flops = "0",
     .adjoint = specify_adjoint,
     .disconnected = "dims",
     .view = 1,
     .identity = true,
     .vmap = specify_shape_vmap,
     .example = "specify_shape([1, 2], (2,)) -> [1, 2]"},
};
const OpList ops_shape_shape = LIST_OF(table);
