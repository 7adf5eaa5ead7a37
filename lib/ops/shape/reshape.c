/* reshape and its variants ravel and flatten. A view where the strides allow it, else a
 * copy. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

/* A product of dims: a number, and names with multiplicity. */
typedef struct DimProduct {
    int64_t known;
    int n;
    Dim name[MAX_NDIM];
    bool unknown; /* some dim is unknown */
} DimProduct;

static DimProduct product_of_dims(int ndim, const Dim *dim, const bool *minus) {
    DimProduct p = {.known = 1};
    for (int k = 0; k < ndim; k++) {
        if (minus && minus[k]) continue;
        if (dim_is_named(dim[k]))
            p.name[p.n++] = dim[k];
        else if (!dim_is_known(dim[k]) || !i64_mul(p.known, dim[k], &p.known))
            p.unknown = true;
    }
    return p;
}

/* Cancels names common to both. */
static void cancel_names(DimProduct *a, DimProduct *b) {
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < a->n; k++)
            if (a->name[k] == b->name[i]) {
                a->name[k] = a->name[--a->n];
                b->name[i--] = b->name[--b->n];
                break;
            }
}

/* The dim for -1: the size of x divided by the other sizes. */
static Dim quotient_dim(const DimProduct *x, const DimProduct *others) {
    if (x->unknown || others->unknown || others->n || others->known <= 0)
        return DIM_UNKNOWN;
    if (x->known % others->known) return DIM_UNKNOWN;
    int64_t q = x->known / others->known;
    if (x->n == 0) return q;
    return x->n == 1 && q == 1 ? x->name[0] : DIM_UNKNOWN;
}

static bool reshape_type(Infer *in) {
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM];
    bool minus[MAX_NDIM];
    int n, at = -1;
    if (!infer_want_shape(in, 1, &n, dim, minus)) return false;
    for (int k = 0; k < n; k++) {
        if (!minus[k]) continue;
        if (at >= 0) return infer_fail(in, E_SHAPE, 1, "only one size can be -1");
        at = k;
    }
    DimProduct have = product_of_dims(x->ndim, x->dim, NULL),
               want = product_of_dims(n, dim, minus);
    cancel_names(&have, &want);
    if (!have.unknown && !want.unknown && !have.n && !want.n) {
        bool fits = at < 0       ? have.known == want.known
                    : want.known ? have.known % want.known == 0
                                 : false;
        if (!fits)
            return infer_fail(in, E_SHAPE, 1,
                              "x has %lld elements%s, but the new shape has %lld",
                              (long long)have.known, x->ndim ? "" : " (it is 0-d)",
                              (long long)want.known);
    }
    if (at >= 0) dim[at] = quotient_dim(&have, &want);
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

/* The new shape with -1 resolved. */
static bool new_shape(Call *c, const Tensor *x, int *ndim, int64_t shape[MAX_NDIM]) {
    const Tensor *t = call_in(c, 1);
    int64_t n = tensor_size(t), at = -1, total = tensor_size(x), others = 1;
    if (!call_ndim(c, n)) return false;
    for (int64_t k = 0; k < n; k++) {
        shape[k] = tensor_i64(t, k);
        if (shape[k] < -1 || (shape[k] == -1 && at >= 0))
            return call_fail(c, E_RUN_SHAPE,
                             "sizes must be at least 0, except for a single -1");
        if (shape[k] == -1)
            at = k;
        else if (!i64_mul(others, shape[k], &others))
            return call_fail(c, E_RUN_SHAPE, "the new shape has too many elements");
    }
    *ndim = (int)n;
    if (at >= 0) {
        if (others == 0 || total % others)
            return call_fail(c, E_RUN_SHAPE,
                             "%lld elements can't be divided by the other sizes (%lld)",
                             (long long)total, (long long)others);
        shape[at] = total / others;
    } else if (others != total) {
        return call_fail(c, E_RUN_SHAPE,
                         "x has %lld elements, but the new shape has %lld",
                         (long long)total, (long long)others);
    }
    return true;
}

/* Strides of the same elements under a new shape; false if no view can have it. x's
 * dims are grouped into runs of one uniform stride, and the new dims are cut from these
 * runs. */
static bool view_strides(const Tensor *x, int ndim, const int64_t *shape,
                         int64_t *stride) {
    int64_t n[MAX_NDIM], st[MAX_NDIM];
    int runs = 0;
    for (int k = 0; k < x->ndim; k++) {
        if (x->shape[k] == 1) continue;
        if (runs && st[runs - 1] == x->shape[k] * x->stride[k]) {
            n[runs - 1] *= x->shape[k];
            st[runs - 1] = x->stride[k];
        } else {
            n[runs] = x->shape[k];
            st[runs++] = x->stride[k];
        }
    }
    int64_t item = (int64_t)dtype_size(x->dtype), left = 1, step = item;
    for (int k = ndim - 1; k >= 0; k--) {
        if (shape[k] == 1) {
            stride[k] = step;
            continue;
        }
        if (left == 1) {
            if (runs == 0) return false;
            left = n[--runs];
            step = st[runs];
        }
        if (left % shape[k]) return false;
        stride[k] = step;
        step *= shape[k];
        left /= shape[k];
    }
    return left == 1;
}

static bool reshape_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int ndim = 0;
    int64_t shape[MAX_NDIM], stride[MAX_NDIM];
    if (!new_shape(c, x, &ndim, shape)) return false;
    Tensor base = *x;
    bool empty = tensor_size(x) == 0;
    if (empty) move_strides(dtype_size(x->dtype), ndim, shape, stride);
    if (!empty && !view_strides(x, ndim, shape, stride)) {
        Tensor *out = call_out(c, 0, ndim, shape);
        if (!out) return false;
        Tensor as_x = *out;
        as_x.ndim = base.ndim;
        for (int k = 0; k < base.ndim; k++)
            as_x.shape[k] = base.shape[k];
        move_strides(dtype_size(base.dtype), base.ndim, base.shape, as_x.stride);
        move_tensor(move_pool(c), &as_x, &base);
        return true;
    }
    Tensor *v = call_view(c, 0, x);
    if (!v) return false;
    v->dtype = base.dtype;
    v->ndim = ndim;
    v->data = base.data;
    for (int k = 0; k < ndim; k++) {
        v->shape[k] = shape[k];
        v->stride[k] = stride[k];
    }
    return true;
}

/* The size for a -1 at position `at` of a row's shape. */
static Var rest_of_row(Vmap *q, int64_t n, int64_t at) {
    Builder *b = q->b;
    Var all = const_int(b, 1), others = all;
    for (int k = 0; k < vmap_ndim(q, 0) && all != VAR_NONE; k++)
        all = op_call2(b, "multiply", all, shape_of(b, q->in[0], k + 1));
    for (int64_t k = 0; k < n && others != VAR_NONE; k++)
        if (k != at)
            others = op_call2(b, "multiply", others, vmap_ints_item(b, q->in[1], k));
    if (all == VAR_NONE || others == VAR_NONE) return VAR_NONE;
    return op_call2(b, "floor_divide", all, others);
}

/* A -1 may stand only once in the shape of all rows, so the row's own is computed, from
 * the result's type if it is known there. */
static bool reshape_vmap(Vmap *q) {
    Builder *b = q->b;
    Dim n = var_type(q->g, q->was[1])->dim[0];
    const Type *r = var_type(q->g, q->g->apply[q->id].out);
    Var item[MAX_NDIM];
    if (q->rows[1] || !dim_is_known(n)) return vmap_by_scan(q);
    for (int64_t k = 0; k < n; k++) {
        item[k] = vmap_ints_item(b, q->in[1], k);
        const Tensor *t = item[k] == VAR_NONE ? NULL : var_const(b->g, item[k]);
        if (!t || tensor_i64(t, 0) >= 0) continue;
        item[k] = dim_is_known(r->dim[k])   ? const_int(b, r->dim[k])
                  : dim_is_named(r->dim[k]) ? graph_dim(b->g, dim_sym(r->dim[k]))
                                            : rest_of_row(q, n, k);
    }
    Var in[2] = {q->in[0], vmap_prepend_size(q, ints_stack(b, (size_t)n, item))};
    return vmap_apply(q, q->props, in);
}

static const char *const reshape_adjoint[] = {"reshape(g, shape(x))", "disconnected"};

static const Op table[] = {
    {.name = OP_ROW("reshape"),
     .doc = "The elements of x, in row-major order, in another shape. One size may be "
            "-1: it is computed from the others. It is a view if x's strides allow it.",
     .in = "x, shape: ints",
     .type = reshape_type,
     .perform = reshape_perform,
     .reentrant = true,
     .flops = "0",
     .adjoint = reshape_adjoint,
     .disconnected = "shape",
     .view = 1,
     .vmap = reshape_vmap,
     .example = "reshape([1, 2, 3, 4], (2, -1)) -> [[1, 2], [3, 4]]"},
    {.name = OP_ROW("ravel"),
     .doc = "All elements in one dim, row-major.",
     .alias = "flatten",
     .in = "x",
     .def = "reshape(x, (-1,))",
     .example = "ravel([[1, 2], [3, 4]]) -> [1, 2, 3, 4]"},
};
const OpList ops_shape_reshape = LIST_OF(table);
