/* Constant-filled tensors: full, zeros, ones and their _like forms, which read only a
 * shape. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

static DType dtype_asked(Session *s, const Op *op, const Props *p, DType otherwise) {
    const Prop *d = op_prop(s, op, p, "dtype");
    return d->kind == P_DTYPE ? (DType)d->i : otherwise;
}

static bool full_type(Infer *in) {
    Dim dim[MAX_NDIM];
    int n;
    if (!infer_want_shape(in, 0, &n, dim, NULL) || !infer_want_rank(in, 1, 0, 0))
        return false;
    DType d = dtype_asked(in->s, in->op, in->props, in->type[1]->dtype);
    if (d == in->type[1]->dtype) infer_settle_prop(in, "dtype", (Prop){.kind = P_NONE});
    return infer_want_castable(in, 1, d) && infer_out_tensor(in, 0, d, n, dim);
}

/* An array value is broadcast to the shape. */
static bool full_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    const Type *t = var_type(b->g, in[1]);
    if (t->ndim == 0) return true;
    Var args[2] = {op_cast_to(b, in[1], dtype_asked(b->s, op, p, t->dtype)), in[0]};
    return (*out = apply_named(b, "broadcast_to", 2, args, 0, NULL)) != VAR_NONE;
}

/* Fills output 0 with the element of dtype d at `value`. */
static bool fill_output(Call *c, int ndim, const int64_t *shape, DType d,
                        const void *value) {
    Tensor *out = call_out(c, 0, ndim, shape);
    if (!out) return false;
    char element[16];
    tensor_cast_elements(out->dtype, element, d, value, 1, 0, 0);
    move_fill(move_pool(c), dtype_size(out->dtype), tensor_size(out), out->data,
              element);
    return true;
}

static bool full_perform(Call *c) {
    int64_t shape[MAX_NDIM];
    int n;
    const Tensor *v = call_in(c, 1);
    return call_shape(c, 0, &n, shape) &&
           call_size_fits(c, c->out_type[0]->dtype, n, shape) &&
           fill_output(c, n, shape, v->dtype, v->data);
}

/* Fails unless every size is a number or a dim: those are never negative. */
static bool full_fails(const Graph *g, ApplyId a) {
    const Type *t = var_type(g, g->apply[a].out);
    bool known = true;
    for (int k = 0; k < t->ndim; k++)
        known &= t->dim[k] != DIM_UNKNOWN;
    return !known;
}

/* Every element is the value, so its gradient is the sum of all. */
static bool full_pull(Pull *p) {
    p->grad[0] = GRAD_DISCONNECTED;
    p->grad[1] = GRAD_DISCONNECTED;
    if (pull_discrete(p) || !p->wanted[1]) return true;
    return (p->grad[1] = op_call1(p->b, "sum", p->cotangent[0])) != VAR_NONE;
}

static bool full_push(Push *p) {
    p->result[0] = VAR_NONE;
    if (p->tangent[1] == VAR_NONE ||
        dtype_is_discrete(var_type(p->g, p->out[0])->dtype))
        return true;
    Var in[2] = {p->in[0], p->tangent[1]};
    return op_apply(p->b, p->op, p->props, 2, in, p->result);
}

static bool expand_constant(Builder *b, const Op *op, const Props *p, const Var *in,
                            double v, Var *out) {
    Var args[2] = {in[0], const_number(b, dtype_asked(b->s, op, p, b->floatX), v)};
    return (*out = apply_named(b, "full", 2, args, 0, NULL)) != VAR_NONE;
}

static bool zeros_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                         const Var *in, Var *out) {
    (void)nin;
    return expand_constant(b, op, p, in, 0, out);
}

static bool ones_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    return expand_constant(b, op, p, in, 1, out);
}

static bool zeros_like_type(Infer *in) {
    const Type *x = in->type[0];
    return infer_out_tensor(in, 0, dtype_asked(in->s, in->op, in->props, x->dtype),
                            x->ndim, x->dim);
}

static bool zeros_like_perform(Call *c) {
    static const double zero = 0;
    return fill_output(c, call_in(c, 0)->ndim, call_in(c, 0)->shape, DT_FLOAT64, &zero);
}

static bool ones_like_perform(Call *c) {
    static const double one = 1;
    return fill_output(c, call_in(c, 0)->ndim, call_in(c, 0)->shape, DT_FLOAT64, &one);
}

static bool full_like_type(Infer *in) {
    return infer_want_rank(in, 1, 0, 0) && zeros_like_type(in) &&
           infer_want_castable(in, 1, in->out[0]->dtype);
}

static bool full_like_perform(Call *c) {
    const Tensor *x = call_in(c, 0), *v = call_in(c, 1);
    return fill_output(c, x->ndim, x->shape, v->dtype, v->data);
}

/* Broadcasts each row's value to the row's shape. */
static bool fill_row_values(Vmap *q, Var shape, int ndim) {
    Var value = vmap_pad_rank(q, 1, ndim);
    if (value == VAR_NONE || shape == VAR_NONE) return false;
    value = op_cast_to(q->b, value, var_type(q->g, q->g->apply[q->id].out)->dtype);
    Var in[2] = {value, vmap_prepend_size(q, shape)};
    return (q->out[0] = apply_named(q->b, "broadcast_to", 2, in, 0, NULL)) != VAR_NONE;
}

static bool full_vmap(Vmap *q) {
    int ndim = var_type(q->g, q->g->apply[q->id].out)->ndim;
    return q->rows[0] ? vmap_by_scan(q) : fill_row_values(q, q->in[0], ndim);
}

/* Fills once if all rows are the same. */
static bool fill_without_rows(Vmap *q, Var value) {
    Var in[2] = {vmap_row_shape(q, 0), value};
    PropArg dtype = {"dtype",
                     PROP_DTYPE(var_type(q->g, q->g->apply[q->id].out)->dtype)};
    q->out_rows[0] = false;
    return (q->out[0] = apply_named(q->b, "full", 2, in, 1, &dtype)) != VAR_NONE;
}

static bool full_like_vmap(Vmap *q) {
    if (!q->rows[1]) return fill_without_rows(q, q->in[1]);
    return fill_row_values(q, vmap_row_shape(q, 0), vmap_ndim(q, 0));
}

static bool zeros_like_vmap(Vmap *q) {
    DType d = var_type(q->g, q->g->apply[q->id].out)->dtype;
    return fill_without_rows(q, const_number(q->b, d, 0));
}

static bool ones_like_vmap(Vmap *q) {
    DType d = var_type(q->g, q->g->apply[q->id].out)->dtype;
    return fill_without_rows(q, const_number(q->b, d, 1));
}

static const Op table[] = {
    {.name = OP_ROW("full"),
     .doc = "A tensor of the given shape filled with one value, or with an array that "
            "is broadcast to it. Its dtype is the value's unless dtype is given.",
     .in = "shape: ints, fill_value",
     .props = "dtype: dtype? = None",
     .creates = true,
     .expand = full_expand,
     .type = full_type,
     .perform = full_perform,
     .reentrant = true,
     .fails = full_fails,
     .flops = "0",
     .pull = full_pull,
     .push = full_push,
     .disconnected = "shape",
     .vmap = full_vmap,
     .example =
         "full((2, 2), 7) -> [[7, 7], [7, 7]]\nfull((3,), 0.5) -> [0.5, 0.5, 0.5]"},
    {.name = OP_ROW("zeros"),
     .doc = "A tensor of zeros of the given shape; floatX unless dtype is given.",
     .in = "shape: ints",
     .props = "dtype: dtype? = None",
     .creates = true,
     .expand = zeros_expand,
     .disconnected = "shape",
     .example =
         "zeros((2, 2)) -> [[0.0, 0.0], [0.0, 0.0]]\nzeros(2, dtype=int32) -> [0, 0]"},
    {.name = OP_ROW("ones"),
     .doc = "A tensor of ones of the given shape; floatX unless dtype is given.",
     .in = "shape: ints",
     .props = "dtype: dtype? = None",
     .creates = true,
     .expand = ones_expand,
     .disconnected = "shape",
     .example = "ones(3) -> [1.0, 1.0, 1.0]"},
    {.name = OP_ROW("zeros_like"),
     .doc = "Zeros of the shape of x, and of its dtype unless dtype is given.",
     RARE(.sparse = "sparse_zeros_like"),
     .in = "x",
     .props = "dtype: dtype? = None",
     .type = zeros_like_type,
     .perform = zeros_like_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = pull_nothing,
     .push = push_none,
     .disconnected = "x",
     .shape_only = true,
     .vmap = zeros_like_vmap,
     .example = "zeros_like([1.5, 2.5]) -> [0.0, 0.0]"},
    {.name = OP_ROW("ones_like"),
     .doc = "Ones of the shape of x, and of its dtype unless dtype is given.",
     .in = "x",
     .props = "dtype: dtype? = None",
     .type = zeros_like_type,
     .perform = ones_like_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = pull_nothing,
     .push = push_none,
     .disconnected = "x",
     .shape_only = true,
     .vmap = ones_like_vmap,
     .example = "ones_like([1.5, 2.5]) -> [1.0, 1.0]"},
    {.name = OP_ROW("full_like"),
     .doc = "A tensor of x's shape filled with one value; of x's dtype unless dtype is "
            "given.",
     .in = "x, fill_value",
     .props = "dtype: dtype? = None",
     .type = full_like_type,
     .perform = full_like_perform,
     .reentrant = true,
     .flops = "0",
     .pull = full_pull,
     .push = full_push,
     .disconnected = "x",
     .vmap = full_like_vmap,
     .example = "full_like([1, 2], 9) -> [9, 9]"},
};
const OpList ops_creation_full = LIST_OF(table);
