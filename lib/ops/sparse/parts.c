/* The parts of sparse matrices: data and indices as vectors, the elements of one matrix
 * at the positions of another, unions of patterns. */
#include "ops/shape/linear.h"
#include "ops/sparse/sparse.h"
#include "vmap/kit.h"

#include <string.h>

/* ---- data and indices ---- */

static bool vector_type(Infer *in, DType d, Dim n) {
    return infer_out_tensor(in, 0, d, 1, &n);
}
static bool sparse_data_type(Infer *in) {
    return vector_type(in, in->type[0]->dtype, DIM_UNKNOWN);
}
static bool sparse_indices_type(Infer *in) {
    return vector_type(in, DT_INT32, DIM_UNKNOWN);
}
static bool sparse_indptr_type(Infer *in) {
    Dim lines = in->type[0]->dim[type_is_csc(in->type[0])];
    return vector_type(in, DT_INT32, dim_is_known(lines) ? lines + 1 : DIM_UNKNOWN);
}

static bool view_of(Call *c, const Tensor *t) {
    return call_view(c, 0, t) != NULL;
}
static bool sparse_data_perform(Call *c) {
    return view_of(c, &sparse_in(c, 0)->data);
}
static bool sparse_indices_perform(Call *c) {
    return view_of(c, &sparse_in(c, 0)->indices);
}
static bool sparse_indptr_perform(Call *c) {
    return view_of(c, &sparse_in(c, 0)->indptr);
}

static bool sparse_with_data_type(Infer *in) {
    const Type *x = in->type[0];
    return infer_want_rank(in, 1, 1, 1) &&
           out_sparse(in, x->why, in->type[1]->dtype, x->dim);
}

static bool sparse_with_data_perform(Call *c) {
    const SparseObject *m = sparse_in(c, 0);
    Tensor own = {0};
    if (!call_same_dim(c, "the numbers of stored and of given elements",
                       sparse_stored(m), call_in(c, 1)->shape[0]) ||
        !tensor_clone(c->s, call_in(c, 1), &own))
        return false;
    return out_object_take(c, 0, sparse_with_data_take(c->s, m, &own));
}

/* ---- single elements ---- */

static bool sparse_at_type(Infer *in) {
    Dim n;
    if (!infer_want_rank(in, 1, 1, 1) || !infer_want_rank(in, 2, 1, 1) ||
        !infer_want_kinds(in, 1, KIND_INT) || !infer_want_kinds(in, 2, KIND_INT) ||
        !infer_want_dims_equal(in, 1, 0, 2, 0, &n))
        return false;
    return infer_out_tensor(in, 0, in->type[0]->dtype, 1, &n);
}

/* The index in data of the element at (line, index); -1 if it is not stored. */
static int64_t find_stored(const SparseObject *m, int64_t line, int64_t index) {
    int32_t lo = sparse_indptr(m)[line], hi = sparse_indptr(m)[line + 1];
    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;
        if (sparse_indices(m)[mid] < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool there = lo < sparse_indptr(m)[line + 1] && sparse_indices(m)[lo] == index;
    return there ? lo : -1;
}

static bool sparse_at_perform(Call *c) {
    const SparseObject *m = sparse_in(c, 0);
    const Tensor *row = call_in(c, 1), *column = call_in(c, 2);
    int64_t n = row->shape[0];
    size_t size = dtype_size(m->data.dtype);
    if (!call_same_dim(c, "the numbers of rows and columns", n, column->shape[0]))
        return false;
    Tensor *out = call_out(c, 0, 1, &n);
    if (!out) return false;
    memset(out->data, 0, tensor_bytes(out));
    for (int64_t k = 0; k < n; k++) {
        int64_t i = tensor_index(row, k), j = tensor_index(column, k);
        if (i < 0 || i >= m->shape[0] || j < 0 || j >= m->shape[1])
            return call_fail(c, E_INDEX,
                             "(%lld, %lld) is not an element of a %lld x %lld matrix",
                             (long long)i, (long long)j, (long long)m->shape[0],
                             (long long)m->shape[1]);
        int64_t at = find_stored(m, m->csc ? j : i, m->csc ? i : j);
        if (at >= 0)
            memcpy((char *)out->data + (size_t)k * size,
                   (const char *)m->data.data + (size_t)at * size, size);
    }
    return true;
}

/* ---- the elements of x at the positions of a pattern ---- */

static bool sparse_like_type(Infer *in) {
    const Type *x = in->type[0], *p = in->type[1];
    Dim dim[MAX_NDIM];
    if (p->kind != TYPE_SPARSE)
        return infer_fail(
            in, E_TYPE, 1,
            "expected a sparse matrix, whose stored positions are taken, not %s",
            type_str(in->s, p));
    int n = shape_broadcast(x->ndim, x->dim, 2, p->dim, dim);
    bool fits = n == 2;
    for (int i = 0; fits && i < 2; i++)
        fits = p->dim[i] < 0 || dim[i] < 0 || dim[i] == p->dim[i];
    for (int i = 0; fits && i < 2 && x->kind == TYPE_SPARSE; i++)
        fits = dim_may_equal(x->dim[i], p->dim[i]);
    if (!fits)
        return infer_fail(in, E_SHAPE, 0, "%s does not fit the shape of %s",
                          type_str(in->s, x), type_str(in->s, p));
    return out_sparse(in, p->why, x->dtype, p->dim);
}

/* Strides of x along rows and columns, 0 where it is broadcast; false: diagnosed. */
static bool matrix_strides(Call *c, const Tensor *x, const int64_t shape[2],
                           int64_t stride[2]) {
    for (int i = 0; i < 2; i++) {
        int k = i - (2 - x->ndim);
        stride[i] = 0;
        if (k < 0 || call_is_one(c, 0, k)) continue;
        if (!call_same_dim(c, "sizes", x->shape[k], shape[i])) return false;
        stride[i] = x->stride[k];
    }
    return true;
}

static bool gather_dense(Call *c, const SparseObject *p, Tensor *data) {
    const Tensor *x = call_in(c, 0);
    int64_t stride[2];
    if (!matrix_strides(c, x, p->shape, stride)) return false;
    size_t size = dtype_size(x->dtype);
    const int32_t *index = sparse_indices(p), *ptr = sparse_indptr(p);
    int64_t along = stride[!p->csc], across = stride[p->csc];
    char *to = data->data;
    for (int64_t i = 0; i < sparse_lines(p); i++)
        for (int32_t k = ptr[i]; k < ptr[i + 1]; k++, to += size)
            memcpy(to, (const char *)x->data + i * across + index[k] * along, size);
    return true;
}

static void gather_sparse(const SparseObject *x, const SparseObject *p, Tensor *data) {
    size_t size = dtype_size(x->data.dtype);
    memset(data->data, 0, tensor_bytes(data));
    for (int64_t i = 0; i < sparse_lines(p); i++) {
        int32_t a = sparse_indptr(x)[i], end = sparse_indptr(x)[i + 1];
        for (int32_t k = sparse_indptr(p)[i]; k < sparse_indptr(p)[i + 1]; k++) {
            while (a < end && sparse_indices(x)[a] < sparse_indices(p)[k])
                a++;
            if (a < end && sparse_indices(x)[a] == sparse_indices(p)[k])
                memcpy((char *)data->data + (size_t)k * size,
                       (const char *)x->data.data + (size_t)a * size, size);
        }
    }
}

static bool sparse_like_perform(Call *c) {
    const SparseObject *p = sparse_in(c, 1), *x = NULL;
    SparseObject *turned = NULL;
    Tensor data = {0};
    int64_t n = sparse_stored(p);
    if (!tensor_new(c->s, c->out_type[0]->dtype, 1, &n, &data)) return false;
    bool ok;
    if (c->in[0]->kind == TYPE_SPARSE) {
        x = sparse_in(c, 0);
        ok = call_same_matrix(c, x->shape, p->shape);
        if (ok && x->csc != p->csc)
            ok = (x = turned = sparse_convert(c->s, x, p->csc, x->data.dtype)) != NULL;
        if (ok) gather_sparse(x, p, &data);
        object_unref(turned ? &turned->head : NULL);
    } else {
        ok = gather_dense(c, p, &data);
    }
    if (!ok) tensor_unref(&data);
    return ok && out_object_take(c, 0, sparse_with_data_take(c->s, p, &data));
}

/* Sums g back to the shape of a tensor that was broadcast to the matrix. */
static Var dense_term(Pull *p, Var g, Var x) {
    Builder *b = p->b;
    const Type *t = var_type(b->g, x);
    int64_t axes[2];
    size_t n = 0;
    if (t->ndim == 0) return op_call1(b, "sparse_sum", g);
    for (int i = 0; i < 2; i++) {
        int k = i - (2 - t->ndim);
        if (k < 0 || t->dim[k] == 1) axes[n++] = i;
    }
    if (n == 0) return op_call1(b, "dense_from_sparse", g);
    PropArg prop[] = {{"axis", PROP_INTS(axes, n)},
                      {"keepdims", PROP_BOOL(t->ndim == 2)}};
    return apply_named(b, "sparse_sum", 1, &g, 2, prop);
}

static bool sparse_like_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Var g = p->cotangent[0], x = p->in[0];
    p->grad[1] = GRAD_DISCONNECTED;
    p->grad[0] = var_type(p->g, x)->kind == TYPE_SPARSE
                     ? op_call2(p->b, "sparse_like", g, x)
                     : dense_term(p, g, x);
    return p->grad[0] != VAR_NONE;
}

/* ---- patterns ---- */

static bool sparse_union_type(Infer *in) {
    const Type *x = in->type[0];
    Dim dim[2];
    for (int i = 0; i < 2; i++)
        if (!infer_want_dims_equal(in, 0, i, 1, i, &dim[i])) return false;
    return out_sparse(in, x->why, x->dtype, dim);
}

/* The size of the union of a line's indices; writes them unless `to` is NULL. */
static int64_t merge_line(const SparseObject *a, const SparseObject *b, int64_t i,
                          int32_t *to) {
    const int32_t *ia = sparse_indices(a), *ib = sparse_indices(b);
    int32_t x = sparse_indptr(a)[i], y = sparse_indptr(b)[i];
    int32_t xend = sparse_indptr(a)[i + 1], yend = sparse_indptr(b)[i + 1];
    int64_t n = 0;
    for (; x < xend || y < yend; n++) {
        bool in_a = x < xend && (y == yend || ia[x] <= ib[y]);
        bool in_b = y < yend && (x == xend || ib[y] <= ia[x]);
        if (to) to[n] = in_a ? ia[x] : ib[y];
        x += in_a;
        y += in_b;
    }
    return n;
}

static SparseObject *unite_patterns(Session *s, const SparseObject *a,
                                    const SparseObject *b) {
    int64_t n = 0;
    for (int64_t i = 0; i < sparse_lines(a); i++)
        n += merge_line(a, b, i, NULL);
    SparseObject *m = sparse_new(s, a->csc, a->data.dtype, a->shape, n);
    if (!m) return NULL;
    int32_t *index = m->indices.data, *ptr = m->indptr.data;
    memset(m->data.data, 0, tensor_bytes(&m->data));
    n = 0;
    for (int64_t i = 0; i < sparse_lines(a); i++) {
        n += merge_line(a, b, i, index + n);
        ptr[i + 1] = (int32_t)n;
    }
    return m;
}

static bool sparse_union_perform(Call *c) {
    const SparseObject *a = sparse_in(c, 0), *b = sparse_in(c, 1);
    if (!call_same_matrix(c, a->shape, b->shape)) return false;
    SparseObject *turned = sparse_convert(c->s, b, a->csc, b->data.dtype);
    if (!turned) return false;
    SparseObject *m = unite_patterns(c->s, a, turned);
    object_unref(&turned->head);
    return out_object_take(c, 0, m);
}

/* ---- transpose ---- */

static bool sparse_transpose_type(Infer *in) {
    const Type *x = in->type[0];
    const Prop *axes = infer_prop(in, "axes");
    Dim dim[2] = {x->dim[1], x->dim[0]};
    int k[2] = {1, 0};
    for (size_t i = 0; i < 2 && axes->kind != P_NONE; i++)
        if (axes->ints.n != 2 || !infer_axis(in, axes->ints.p[i], 2, &k[i])) {
            if (axes->ints.n == 2) return false;
            k[0] = 0;
        }
    if (k[0] != 1 || k[1] != 0)
        return infer_fail(in, E_ARG, in->nin,
                          "the axes of a matrix can only be (1, 0)");
    infer_settle_prop(in, "axes", (Prop){.kind = P_NONE});
    return out_sparse(in, type_is_csc(x) ? "csr" : "csc", x->dtype, dim);
}
static bool sparse_transpose_perform(Call *c) {
    return out_object_take(c, 0, sparse_transpose(c->s, sparse_in(c, 0)));
}

/* ---- rows ---- */

static const char *const data_adjoint[] = {"sparse_with_data(x, g)"};
static const char *const with_data_adjoint[] = {"disconnected", "sparse_data(g)"};
static const char *const at_adjoint[] = {
    "sparse_like(sparse_from_triplets(g, row, column, x.shape), x)", "disconnected",
    "disconnected"};
static const char *const nothing[] = {"disconnected", "disconnected"};
static const char *const transpose_adjoint[] = {"sparse_transpose(g)"};

#define EXAMPLE "csr_from_dense([[0., 1.], [2., 3.]])"
static const Op table[] = {
    {.name = OP_ROW("sparse_data"),
     .doc = "The stored elements of x, row by row (csr) or column by column (csc).",
     .in = "x: sparse",
     .type = sparse_data_type,
     .perform = sparse_data_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = data_adjoint,
     .view = 1,
     .example = "sparse_data(" EXAMPLE ") -> [1.0, 2.0, 3.0]"},
    {.name = OP_ROW("sparse_indices"),
     .doc = "The column (csr) or row (csc) of each stored element of x.",
     .in = "x: sparse",
     .type = sparse_indices_type,
     .perform = sparse_indices_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "x",
     .view = 1,
     .example = "sparse_indices(" EXAMPLE ") -> [1, 0, 1]"},
    {.name = OP_ROW("sparse_indptr"),
     .doc = "The position among the stored elements at which each row (csr) or column "
            "(csc) of x begins, and the end.",
     .in = "x: sparse",
     .type = sparse_indptr_type,
     .perform = sparse_indptr_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "x",
     .view = 1,
     .example = "sparse_indptr(" EXAMPLE ") -> [0, 1, 3]"},
    {.name = OP_ROW("sparse_with_data"),
     .doc = "A matrix that stores data where x stores its elements. This applies any "
            "function that keeps zero, as in sparse_with_data(x, sin(sparse_data(x))).",
     .in = "x: sparse, data",
     .type = sparse_with_data_type,
     .perform = sparse_with_data_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = with_data_adjoint,
     .disconnected = "x",
     .example = "dense_from_sparse(sparse_with_data(" EXAMPLE
                ", [5., 6., 7.])) -> [[0.0, 5.0], [6.0, 7.0]]"},
    {.name = OP_ROW("sparse_at"),
     .doc = "The elements of x at row[k], column[k]; zero where none is stored.",
     .in = "x: sparse, row, column",
     .type = sparse_at_type,
     .perform = sparse_at_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = at_adjoint,
     .disconnected = "row, column",
     .example = "sparse_at(" EXAMPLE ", [1, 0], [0, 0]) -> [2.0, 0.0]"},
    {.name = OP_ROW("sparse_like"),
     .doc = "The elements of x, dense (and broadcast) or sparse, at the positions "
            "where pattern stores elements, in pattern's format.",
     .in = "x: array, pattern: any",
     .kinds = KIND_NUMBER,
     .type = sparse_like_type,
     .perform = sparse_like_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .pull = sparse_like_pull,
     .push = push_linear_first,
     .disconnected = "pattern",
     .example = "sparse_data(sparse_like([[4., 5.], [6., 7.]], " EXAMPLE
                ")) -> [5.0, 6.0, 7.0]"},
    {.name = OP_ROW("sparse_union"),
     .doc = "Zeros at all positions where x or y stores elements, in x's format and "
            "dtype.",
     .in = "x: sparse, y: sparse",
     .type = sparse_union_type,
     .perform = sparse_union_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = nothing,
     .disconnected = "x, y",
     .example = "sparse_data(sparse_union(" EXAMPLE ", csr_from_dense([[1., 0.], [0., "
                "1.]]))) -> [0.0, 0.0, 0.0, 0.0]"},
    {.name = OP_ROW("sparse_transpose"),
     .doc = "The transpose of x: a csr becomes a csc on the same memory, and back.",
     .in = "x: sparse",
     .props = "axes: ints? = None",
     .type = sparse_transpose_type,
     .perform = sparse_transpose_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = transpose_adjoint,
     .view = 1,
     .example = "dense_from_sparse(sparse_transpose(" EXAMPLE
                ")) -> [[0.0, 2.0], [1.0, 3.0]]"},
};
const OpList ops_sparse_parts = LIST_OF(table);
