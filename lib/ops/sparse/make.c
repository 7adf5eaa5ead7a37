/* Builds sparse matrices from parts, triplets, dense matrices or the other format, and
 * converts back. */
#include "ops/shape/linear.h"
#include "ops/sparse/sparse.h"
#include "vmap/kit.h"

#include <string.h>

bool out_object_take(Call *c, size_t i, SparseObject *m) {
    if (!m) return false;
    value_unref(&c->out[i]);
    c->out[i] = (Value){.kind = TYPE_SPARSE, .obj = m};
    return true;
}

bool out_sparse(Infer *in, const char *format, DType d, const Dim dim[2]) {
    if (!dtype_is_sparse(d))
        return infer_fail(in, E_DTYPE, in->nin, "a sparse matrix can't hold %s",
                          dtype_name(d));
    in->out[0] = type_sparse(in->s, format, d, dim);
    return true;
}

bool call_same_dim(Call *c, const char *what, int64_t a, int64_t b) {
    return a == b || call_fail(c, E_RUN_SHAPE, "%s differ: %lld and %lld", what,
                               (long long)a, (long long)b);
}

bool call_same_matrix(Call *c, const int64_t a[2], const int64_t b[2]) {
    return (a[0] == b[0] && a[1] == b[1]) ||
           call_fail(c, E_RUN_SHAPE, "the shapes (%lld, %lld) and (%lld, %lld) differ",
                     (long long)a[0], (long long)a[1], (long long)b[0],
                     (long long)b[1]);
}

/* ---- typing ---- */

static bool want_vector(Infer *in, size_t arg, unsigned kinds) {
    return infer_want_rank(in, arg, 1, 1) && infer_want_kinds(in, arg, kinds);
}

static bool matrix_dims(Infer *in, size_t arg, Dim dim[2]) {
    Dim all[MAX_NDIM];
    int n;
    if (!infer_want_shape(in, arg, &n, all, NULL)) return false;
    if (n != 2)
        return infer_fail(in, E_SHAPE, arg, "a sparse matrix has 2 dims, not %d", n);
    dim[0] = all[0];
    dim[1] = all[1];
    return true;
}

/* The dtype requested, else that of the data. */
static bool data_dtype(Infer *in, DType *d) {
    const Prop *p = infer_prop(in, "dtype");
    DType have = in->type[0]->dtype;
    *d = p->kind == P_DTYPE ? (DType)p->i : have;
    return !dtype_is_complex(have) || dtype_is_complex(*d) ||
           infer_fail(in, E_DTYPE, 0, "%s data as %s would drop the imaginary parts",
                      dtype_name(have), dtype_name(*d));
}

static bool parts_type(Infer *in, const char *format) {
    Dim dim[2];
    DType d;
    return want_vector(in, 0, KIND_NUMBER) && data_dtype(in, &d) &&
           want_vector(in, 1, KIND_INT) && want_vector(in, 2, KIND_INT) &&
           matrix_dims(in, 3, dim) && out_sparse(in, format, d, dim);
}
static bool csr_type(Infer *in) {
    return parts_type(in, "csr");
}
static bool csc_type(Infer *in) {
    return parts_type(in, "csc");
}

static const char *format_prop(Infer *in) {
    const char *format = sym_text(in->s, infer_prop(in, "format")->sym);
    if (strcmp(format, "csr") == 0 || strcmp(format, "csc") == 0) return format;
    infer_fail(in, E_ARG, in->nin, "the format must be 'csr' or 'csc', not '%s'",
               format);
    return NULL;
}

static bool triplets_type(Infer *in) {
    Dim dim[2];
    DType d;
    const char *format = format_prop(in);
    return format && want_vector(in, 0, KIND_NUMBER) && data_dtype(in, &d) &&
           want_vector(in, 1, KIND_INT) && want_vector(in, 2, KIND_INT) &&
           infer_want_dims_equal(in, 0, 0, 1, 0, NULL) &&
           infer_want_dims_equal(in, 0, 0, 2, 0, NULL) && matrix_dims(in, 3, dim) &&
           out_sparse(in, format, d, dim);
}

static bool csr_dense_type(Infer *in) {
    return infer_want_rank(in, 0, 2, 2) &&
           out_sparse(in, "csr", in->type[0]->dtype, in->type[0]->dim);
}
static bool csc_dense_type(Infer *in) {
    return infer_want_rank(in, 0, 2, 2) &&
           out_sparse(in, "csc", in->type[0]->dtype, in->type[0]->dim);
}
static bool to_dense_type(Infer *in) {
    return infer_out_tensor(in, 0, in->type[0]->dtype, 2, in->type[0]->dim);
}
static bool format_type(Infer *in) {
    const char *format = format_prop(in);
    return format && out_sparse(in, format, in->type[0]->dtype, in->type[0]->dim);
}

/* ---- running ---- */

static bool shape_in(Call *c, size_t arg, int64_t shape[2]) {
    int64_t all[MAX_NDIM];
    int n;
    if (!call_shape(c, arg, &n, all)) return false;
    shape[0] = all[0];
    shape[1] = all[1];
    return n == 2 || call_fail(c, E_RUN_SHAPE, "a matrix has 2 dims, not %d", n);
}

/* Outputs the matrix in the output's dtype; a note says which op failed to build it. */
static bool give_converted(Call *c, SparseObject *m) {
    DType d = c->out_type[0]->dtype;
    if (!m) return note(c->s, c->at, "in a call of %s", c->op->name);
    if (m->data.dtype == d) return out_object_take(c, 0, m);
    SparseObject *as = sparse_convert(c->s, m, m->csc, d);
    object_unref(&m->head);
    return out_object_take(c, 0, as);
}

typedef SparseObject *MakeSparse(const SparseSource *by, bool csc,
                                 const int64_t shape[2], const Tensor *data,
                                 const Tensor *x, const Tensor *y);
static bool make_from_three(Call *c, MakeSparse *make) {
    int64_t shape[2];
    SparseSource by = {c->s, SPARSE_COMPUTED, c->at};
    return shape_in(c, 3, shape) &&
           give_converted(c, make(&by, type_is_csc(c->out_type[0]), shape,
                                  call_in(c, 0), call_in(c, 1), call_in(c, 2)));
}
static bool parts_perform(Call *c) {
    return make_from_three(c, sparse_from_parts);
}
static bool triplets_perform(Call *c) {
    return make_from_three(c, sparse_from_triplets);
}
static bool from_dense_perform(Call *c) {
    return give_converted(
        c, sparse_from_dense(c->s, type_is_csc(c->out_type[0]), call_in(c, 0)));
}
static bool to_dense_perform(Call *c) {
    const SparseObject *m = sparse_in(c, 0);
    Tensor *out = call_out(c, 0, 2, m->shape);
    if (!out) return false;
    memset(out->data, 0, tensor_bytes(out));
    sparse_scatter(m, out);
    return true;
}
static bool format_perform(Call *c) {
    const SparseObject *m = sparse_in(c, 0);
    return give_converted(
        c, sparse_convert(c->s, m, type_is_csc(c->out_type[0]), m->data.dtype));
}

/* ---- derivatives ---- */

/* The tangent of the dense matrix at the stored positions of its sparse form. */
static bool from_dense_push(Push *p) {
    Var t = p->tangent[0];
    if (t == VAR_NONE) return true;
    return (p->result[0] = op_call2(p->b, "sparse_like", t, p->out[0])) != VAR_NONE;
}

static const char *const parts_adjoint[] = {"sparse_data(g)", "disconnected",
                                            "disconnected", "disconnected"};
static const char *const triplets_adjoint[] = {
    "sparse_at(g, row, column)", "disconnected", "disconnected", "disconnected"};
static const char *const from_dense_adjoint[] = {"dense_from_sparse(g)"};
static const char *const like_adjoint[] = {"sparse_like(g, x)"};

#define INDICES "indices, indptr, shape"
static const Op table[] = {
    {.name = OP_ROW("csr"),
     .doc = "The sparse matrix of that shape in compressed rows: row i has the "
            "elements data[k] in the columns indices[k], indptr[i] <= k < indptr[i + "
            "1]. The columns of a row increase.",
     .in = "data, indices, indptr, shape: ints",
     .props = "dtype: dtype? = None",
     .type = csr_type,
     .perform = parts_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = parts_adjoint,
     .disconnected = INDICES,
     .creates = true,
     .constant = true,
     .example = "dense_from_sparse(csr([1., 2., 3.], [0, 2, 1], [0, 2, 3], (2, 3))) -> "
                "[[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]"},
    {.name = OP_ROW("csc"),
     .doc = "The sparse matrix of that shape in compressed columns: column j has the "
            "elements data[k] in the rows indices[k], indptr[j] <= k < indptr[j + 1]. "
            "The rows of a column increase.",
     .in = "data, indices, indptr, shape: ints",
     .props = "dtype: dtype? = None",
     .type = csc_type,
     .perform = parts_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = parts_adjoint,
     .disconnected = INDICES,
     .creates = true,
     .constant = true,
     .example = "dense_from_sparse(csc([1., 2., 3.], [0, 1, 0], [0, 1, 2, 3], (2, 3))) "
                "-> [[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]"},
    {.name = OP_ROW("sparse_from_triplets"),
     .doc = "The sparse matrix with data[k] at row[k], column[k]; elements at the same "
            "position are added.",
     .in = "data, row, column, shape: ints",
     .props = "format: str = 'csr', dtype: dtype? = None",
     .type = triplets_type,
     .perform = triplets_perform,
     .vmap = vmap_sparse,
     .flops = "data.size",
     .adjoint = triplets_adjoint,
     .disconnected = "row, column, shape",
     .creates = true,
     .constant = true,
     .example =
         "dense_from_sparse(sparse_from_triplets([1., 2., 3.], [0, 1, 0], [1, 0, "
         "1], (2, 2))) -> [[0.0, 4.0], [2.0, 0.0]]"},
    {.name = OP_ROW("csr_from_dense"),
     .doc = "The elements of the matrix x that are not zero, in compressed rows.",
     .in = "x",
     .kinds = KIND_NUMBER,
     .type = csr_dense_type,
     .perform = from_dense_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = from_dense_adjoint,
     .push = from_dense_push,
     .example = "sparse_data(csr_from_dense([[0., 1.], [2., 3.]])) -> [1.0, 2.0, 3.0]"},
    {.name = OP_ROW("csc_from_dense"),
     .doc = "The elements of the matrix x that are not zero, in compressed columns.",
     .in = "x",
     .kinds = KIND_NUMBER,
     .type = csc_dense_type,
     .perform = from_dense_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = from_dense_adjoint,
     .push = from_dense_push,
     .example = "sparse_data(csc_from_dense([[0., 1.], [2., 3.]])) -> [2.0, 1.0, 3.0]"},
    {.name = OP_ROW("dense_from_sparse"),
     .doc = "The sparse matrix x as a tensor, with zeros where nothing is stored.",
     .alias = "toarray, todense",
     .in = "x: sparse",
     .type = to_dense_type,
     .perform = to_dense_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = like_adjoint,
     .example =
         "dense_from_sparse(csr_from_dense([[0., 1.], [2., 3.]])) -> [[0.0, 1.0], "
         "[2.0, 3.0]]"},
    {.name = OP_ROW("sparse_format"),
     .doc = "The sparse matrix x in the given format, 'csr' or 'csc'.",
     .in = "x: sparse",
     .props = "format: str",
     .type = format_type,
     .perform = format_perform,
     .vmap = vmap_sparse,
     .flops = "0",
     .adjoint = like_adjoint,
     .example = "sparse_data(sparse_format(csr_from_dense([[0., 1.], [2., 3.]]), "
                "format='csc')) -> [2.0, 1.0, 3.0]"},
};
const OpList ops_sparse_make = LIST_OF(table);
