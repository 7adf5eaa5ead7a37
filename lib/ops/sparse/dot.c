/* Products of a sparse and a dense matrix, single elements of a product of dense
 * matrices, and sums. One loop serves both orders: dense @ sparse is (sparse.T @
 * dense.T).T, and transposing only swaps strides. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"
#include "ops/sparse/sparse.h"
#include "vmap/kit.h"

#include <complex.h>
#include <string.h>

/* Every dtype of a sparse matrix with its C type and the type used for arithmetic:
 * integers wrap. */
#define EACH_DTYPE(X)                                                                  \
    X(INT8, int8_t, unsigned)                                                          \
    X(INT16, int16_t, unsigned)                                                        \
    X(INT32, int32_t, uint32_t)                                                        \
    X(INT64, int64_t, uint64_t)                                                        \
    X(UINT8, uint8_t, unsigned)                                                        \
    X(UINT16, uint16_t, unsigned)                                                      \
    X(UINT32, uint32_t, uint32_t)                                                      \
    X(UINT64, uint64_t, uint64_t)                                                      \
    X(FLOAT32, float, float)                                                           \
    X(FLOAT64, double, double)                                                         \
    X(COMPLEX64, float complex, float complex)                                         \
    X(COMPLEX128, double complex, double complex)

/* A dense matrix for the loops: byte strides between rows and between columns. */
typedef struct DensePlane {
    char *p;
    int64_t row, column;
} DensePlane;

/* ---- loops ---- */

/* to[0..n) += a * from[0..n) */
typedef void AxpyFn(int64_t n, const void *a, const char *from, int64_t from_step,
                    char *to, int64_t to_step);
/* *to = the sum of x[k] * y[k] */
typedef void InnerFn(int64_t n, const char *x, int64_t x_step, const char *y,
                     int64_t y_step, char *to);

#define LOOPS(NAME, T, U)                                                              \
    static void axpy_##NAME(int64_t n, const void *a, const char *from,                \
                            int64_t from_step, char *to, int64_t to_step) {            \
        U v = (U) * (const T *)a;                                                      \
        for (int64_t k = 0; k < n; k++, from += from_step, to += to_step)              \
            *(T *)(void *)to =                                                         \
                (T)((U) * (T *)(void *)to + v * (U) * (const T *)(const void *)from);  \
    }                                                                                  \
    static void inner_##NAME(int64_t n, const char *x, int64_t x_step, const char *y,  \
                             int64_t y_step, char *to) {                               \
        U sum = 0;                                                                     \
        for (int64_t k = 0; k < n; k++, x += x_step, y += y_step)                      \
            sum +=                                                                     \
                (U) * (const T *)(const void *)x * (U) * (const T *)(const void *)y;   \
        *(T *)(void *)to = (T)sum;                                                     \
    }
EACH_DTYPE(LOOPS)
#undef LOOPS

static AxpyFn *const axpy_of[DT_N] = {
#define ENTRY(NAME, T, U) [DT_##NAME] = axpy_##NAME,
    EACH_DTYPE(ENTRY)
#undef ENTRY
};
static InnerFn *const inner_of[DT_N] = {
#define ENTRY(NAME, T, U) [DT_##NAME] = inner_##NAME,
    EACH_DTYPE(ENTRY)
#undef ENTRY
};

/* out[rows, n] = m @ dense[columns, n]. A csr matrix is split by its rows. A csc matrix
 * adds to scattered rows of the result, so the dense matrix is split by columns. Either
 * way one thread owns each element of the result and adds its terms in a fixed
 * order. */
typedef struct SparseProduct {
    const SparseObject *m;
    DensePlane dense, out;
    int64_t n, chunk;
    AxpyFn *axpy;
} SparseProduct;

static void lines_product(const SparseProduct *w, int64_t first, int64_t end,
                          int64_t column, int64_t n) {
    const int32_t *index = sparse_indices(w->m), *ptr = sparse_indptr(w->m);
    size_t size = dtype_size(w->m->data.dtype);
    const char *data = w->m->data.data;
    for (int64_t i = first; i < end; i++)
        for (int32_t k = ptr[i]; k < ptr[i + 1]; k++) {
            int64_t to = w->m->csc ? index[k] : i, from = w->m->csc ? i : index[k];
            w->axpy(n, data + (size_t)k * size,
                    w->dense.p + from * w->dense.row + column * w->dense.column,
                    w->dense.column,
                    w->out.p + to * w->out.row + column * w->out.column, w->out.column);
        }
}

static void product_chunk(void *ctx, size_t chunk, unsigned worker) {
    const SparseProduct *w = ctx;
    (void)worker;
    int64_t lines = sparse_lines(w->m), all = w->m->csc ? w->n : lines;
    int64_t first = (int64_t)chunk * w->chunk, end = first + w->chunk;
    if (end > all) end = all;
    if (w->m->csc)
        lines_product(w, 0, lines, first, end - first);
    else
        lines_product(w, first, end, 0, w->n);
}

static void run_sparse_product(const Call *c, SparseProduct *w) {
    enum { WORK = 1 << 15 }; /* multiplications worth a chunk */
    int64_t all = w->m->csc ? w->n : sparse_lines(w->m);
    int64_t each =
        w->m->csc ? sparse_stored(w->m) : sparse_stored(w->m) / (all ? all : 1) * w->n;
    w->axpy = axpy_of[w->m->data.dtype];
    w->chunk = each >= WORK ? 1 : WORK / (each + 1) + 1;
    size_t chunks = (size_t)((all + w->chunk - 1) / w->chunk);
    pool_run(c->host ? c->host->pool : NULL, chunks, product_chunk, w);
}

/* ---- sparse @ dense, dense @ sparse ---- */

static bool sparse_dot_type(Infer *in) {
    const Type *x = in->type[0], *y = in->type[1];
    bool left = x->kind == TYPE_SPARSE;
    const Type *dense = left ? y : x, *sparse = left ? x : y;
    Dim dim[2];
    int n = 0;
    if (left == (y->kind == TYPE_SPARSE))
        return infer_fail(in, E_TYPE, 1,
                          "one of x and y must be sparse and the other dense; use "
                          "dense_from_sparse to make one dense");
    if (!infer_want_rank(in, left ? 1 : 0, 1, 2)) return false;
    int shared = left ? 0 : dense->ndim - 1;
    if (!infer_want_dims_equal(in, 0, left ? 1 : shared, 1, left ? shared : 0, NULL))
        return false;
    if (!left && dense->ndim == 2) dim[n++] = dense->dim[0];
    dim[n++] = sparse->dim[left ? 0 : 1];
    if (left && dense->ndim == 2) dim[n++] = dense->dim[1];
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

static bool sparse_dot_perform(Call *c) {
    bool left = c->in[0]->kind == TYPE_SPARSE;
    const SparseObject *m = sparse_in(c, left ? 0 : 1);
    const Tensor *d = call_in(c, left ? 1 : 0);
    SparseObject turned = *m; /* m, or its transpose */
    turned.csc = left == m->csc;
    turned.shape[0] = m->shape[!left];
    turned.shape[1] = m->shape[left];
    int along = left ? 0 : d->ndim - 1, n = 0;
    int64_t shape[2], wide = d->ndim == 2 ? d->shape[1 - along] : 1;
    if (!call_same_dim(c, "the inner sizes", m->shape[left], d->shape[along]))
        return false;
    if (!left && d->ndim == 2) shape[n++] = wide;
    shape[n++] = turned.shape[0];
    if (left && d->ndim == 2) shape[n++] = wide;
    int64_t step = d->stride[along], across = d->ndim == 2 ? d->stride[1 - along] : 0;
    Tensor *out = call_out(c, 0, n, shape);
    if (!out) return false;
    memset(out->data, 0, tensor_bytes(out));
    int result = left ? 0 : n - 1;
    SparseProduct w = {.m = &turned, .n = wide};
    w.dense = (DensePlane){call_in(c, left ? 1 : 0)->data, step, across};
    w.out = (DensePlane){out->data, out->stride[result],
                         n == 2 ? out->stride[1 - result] : 0};
    run_sparse_product(c, &w);
    return true;
}

/* By the rank of the dense operand; a and b are the conjugated operands if complex. */
static const char *const sparse_left[2][2] = {
    /* d/dx, d/dy */
    {"sparse_sampled_dot(expand_dims(g, 1), expand_dims(b, 0), x)",
     "sparse_dot(sparse_transpose(a), g)"},
    {"sparse_sampled_dot(g, transpose(b), x)", "sparse_dot(sparse_transpose(a), g)"}};
static const char *const sparse_right[2][2] = {
    {"sparse_dot(g, sparse_transpose(b))",
     "sparse_sampled_dot(expand_dims(a, 1), expand_dims(g, 0), y)"},
    {"sparse_dot(g, sparse_transpose(b))", "sparse_sampled_dot(transpose(a), g, y)"}};

/* Builds the gradient terms of a product's two operands. */
static bool pull_operand_texts(Pull *p, const char *const text[2]) {
    Builder *b = p->b;
    Bind bind[] = {{sym(b->s, "a"), op_conj_of_complex(b, p->in[0])},
                   {sym(b->s, "b"), op_conj_of_complex(b, p->in[1])},
                   {sym(b->s, "x"), p->in[0]},
                   {sym(b->s, "y"), p->in[1]},
                   {sym(b->s, "g"), p->cotangent[0]}};
    for (size_t i = 0; i < 2; i++) {
        if (!p->wanted[i]) continue;
        bool ok = bind[0].var != VAR_NONE && bind[1].var != VAR_NONE;
        if (ok)
            p->grad[i] = template_build(b, text[i], &(Env){.n = 5, .bind = bind}, &ok);
        if (!ok || p->grad[i] == VAR_NONE) return false;
    }
    return true;
}

static bool sparse_dot_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    bool left = var_type(p->g, p->in[0])->kind == TYPE_SPARSE;
    int rank = var_type(p->g, p->in[left ? 1 : 0])->ndim;
    return pull_operand_texts(p, (left ? sparse_left : sparse_right)[rank - 1]);
}

/* ---- elements of a dense product ---- */

static bool sampled_pull(Pull *p) {
    static const char *const text[2] = {"sparse_dot(g, transpose(b))",
                                        "sparse_dot(transpose(a), g)"};
    p->grad[2] = GRAD_DISCONNECTED;
    return pull_discrete(p) || pull_operand_texts(p, text);
}

static bool sampled_type(Infer *in) {
    const Type *p = in->type[2];
    if (p->kind != TYPE_SPARSE)
        return infer_fail(
            in, E_TYPE, 2,
            "expected a sparse matrix, whose stored positions are taken, not %s",
            type_str(in->s, p));
    if (!infer_want_rank(in, 0, 2, 2) || !infer_want_rank(in, 1, 2, 2) ||
        !infer_want_dims_equal(in, 0, 1, 1, 0, NULL) ||
        !infer_want_dims_equal(in, 0, 0, 2, 0, NULL) ||
        !infer_want_dims_equal(in, 1, 1, 2, 1, NULL))
        return false;
    return out_sparse(in, p->why, in->type[0]->dtype, p->dim);
}

static bool sampled_perform(Call *c) {
    const SparseObject *p = sparse_in(c, 2);
    const Tensor *x = call_in(c, 0), *y = call_in(c, 1);
    const int64_t shape[2] = {x->shape[0], y->shape[1]};
    int64_t stored = sparse_stored(p);
    Tensor data = {0};
    if (!call_same_dim(c, "the inner sizes", x->shape[1], y->shape[0]) ||
        !call_same_matrix(c, shape, p->shape) ||
        !tensor_new(c->s, x->dtype, 1, &stored, &data))
        return false;
    InnerFn *inner = inner_of[x->dtype];
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < sparse_lines(p); i++)
        for (int32_t k = sparse_indptr(p)[i]; k < sparse_indptr(p)[i + 1]; k++) {
            int64_t at = sparse_indices(p)[k], row = p->csc ? at : i,
                    column = p->csc ? i : at;
            inner(x->shape[1], (const char *)x->data + row * x->stride[0], x->stride[1],
                  (const char *)y->data + column * y->stride[1], y->stride[0],
                  (char *)data.data + (size_t)k * size);
        }
    return out_object_take(c, 0, sparse_with_data_take(c->s, p, &data));
}

/* ---- sums ---- */

/* As in the sum of a tensor: small integers widen, floats are summed in float64. */
static DType wide_dtype(DType d) {
    return dtype_is_float(d)     ? DT_FLOAT64
           : dtype_is_complex(d) ? DT_COMPLEX128
                                 : reduce_dtype(d);
}

static bool sparse_sum_type(Infer *in) {
    const Type *x = in->type[0];
    bool flag[MAX_NDIM], keep = infer_prop(in, "keepdims")->i != 0;
    Dim dim[2];
    int n = 0;
    if (!reduce_is_expanded(in) || !infer_axes(in, infer_prop(in, "axis"), 2, flag))
        return false;
    for (int i = 0; i < 2; i++)
        if (!flag[i] || keep) dim[n++] = flag[i] ? 1 : x->dim[i];
    return infer_out_tensor(in, 0, reduce_dtype(x->dtype), n, dim);
}

/* Adds element k of the data, widened, to to[at]. */
static void add_wide(const Tensor *wide, int64_t k, void *to, int64_t at) {
    if (wide->dtype == DT_COMPLEX128)
        ((double complex *)to)[at] += ((const double complex *)wide->data)[k];
    else if (wide->dtype == DT_FLOAT64)
        ((double *)to)[at] += ((const double *)wide->data)[k];
    else
        ((uint64_t *)to)[at] += ((const uint64_t *)wide->data)[k];
}

static bool sparse_sum_perform(Call *c) {
    const SparseObject *m = sparse_in(c, 0);
    bool flag[MAX_NDIM], keep = prop_bool(c->s, c->op, c->props, "keepdims");
    shape_axes_flags(op_prop(c->s, c->op, c->props, "axis"), 2, flag);
    int64_t shape[2];
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (!flag[i] || keep) shape[n++] = flag[i] ? 1 : m->shape[i];
    Tensor wide = {0}, sum = {0};
    DType d = wide_dtype(m->data.dtype);
    if (!tensor_cast(c->s, &m->data, d, &wide)) return false;
    bool ok = tensor_zeros(c->s, d, n, shape, &sum);
    for (int64_t i = 0; ok && i < sparse_lines(m); i++)
        for (int32_t k = sparse_indptr(m)[i]; k < sparse_indptr(m)[i + 1]; k++) {
            int64_t at = sparse_indices(m)[k], row = m->csc ? at : i,
                    column = m->csc ? i : at;
            int64_t to = flag[0]   ? (flag[1] ? 0 : column)
                         : flag[1] ? row
                                   : row * m->shape[1] + column;
            add_wide(&wide, k, sum.data, to);
        }
    Tensor *out = ok ? call_out(c, 0, n, shape) : NULL;
    if (out) tensor_assign(out, &sum);
    tensor_unref(&wide);
    tensor_unref(&sum);
    return out != NULL;
}

/* g at the stored positions, broadcast along a dim that was summed. */
static bool sparse_sum_pull(Pull *p) {
    Builder *b = p->b;
    if (pull_discrete(p)) return true;
    Var g = p->cotangent[0];
    const Prop *axis = op_prop(b->s, p->op, p->props, "axis");
    bool keep = prop_bool(b->s, p->op, p->props, "keepdims"), flag[MAX_NDIM];
    shape_axes_flags(axis, 2, flag);
    if (!keep && flag[1] && !flag[0]) g = op_insert_axes(b, g, 1, 1);
    if (g == VAR_NONE) return false;
    return (p->grad[0] = op_call2(b, "sparse_like", g, p->in[0])) != VAR_NONE;
}

#define X "csr_from_dense([[0., 1.], [2., 3.]])"
static const Op table[] = {
    {.name = OP_ROW("sparse_dot"),
     .doc =
         "The product x @ y of a sparse and a dense matrix, in either order, or of a "
         "matrix and a dense vector. The result is dense.",
     .in = "x: array, y: array",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .type = sparse_dot_type,
     .perform = sparse_dot_perform,
     .vmap = vmap_sparse,
     .flops = "2 * r.size",
     .pull = sparse_dot_pull,
     .example =
         "sparse_dot(" X ", [[1., 2.], [3., 4.]]) -> [[3.0, 4.0], [11.0, 16.0]]\n"
         "sparse_dot([1., 2.], " X ") -> [4.0, 7.0]"},
    {.name = OP_ROW("sparse_sampled_dot"),
     .doc = "The elements of the product x @ y of two dense matrices at the positions "
            "where pattern stores elements; no others are computed.",
     .in = "x, y, pattern: any",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER,
     .type = sampled_type,
     .perform = sampled_perform,
     .vmap = vmap_sparse,
     .flops = "2 * x.shape[1]",
     .pull = sampled_pull,
     .disconnected = "pattern",
     .example = "sparse_data(sparse_sampled_dot([[1., 2.], [3., 4.]], [[1., 0.], [0., "
                "1.]], " X ")) -> [2.0, 3.0, 4.0]"},
    {.name = OP_ROW("sparse_sum"),
     .doc = "Sum of x over the given axes (None: all), as a tensor; the result dtype "
            "and dtype= are as for sum.",
     .in = "x: sparse",
     .props = "axis: axes = None, dtype: dtype? = None, keepdims: bool = False",
     .expand = reduce_expand,
     .kinds = KIND_NUMBER,
     .type = sparse_sum_type,
     .perform = sparse_sum_perform,
     .vmap = vmap_sparse,
     .flops = "r.size",
     .pull = sparse_sum_pull,
     .push = push_linear_first,
     .example = "sparse_sum(" X ", axis=1) -> [1.0, 5.0]\nsparse_sum(" X ") -> 6.0"},
};
const OpList ops_sparse_dot = LIST_OF(table);
