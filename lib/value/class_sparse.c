/* The class of sparse matrices. */
#include "value/class_impl.h"
#include "value/sparse.h"

#include <math.h>
#include <string.h>

static const char *sparse_format(const SparseObject *m) {
    return m->csc ? "csc" : "csr";
}

static const Type *type_of_sparse(Session *s, const Value *v) {
    const SparseObject *m = v->obj;
    return type_sparse(s, sparse_format(m), m->data.dtype, m->shape);
}

static void describe_sparse(Session *s, const Value *v, Str *out) {
    str_puts(out, v->obj ? type_str(s, type_of_sparse(s, v)) : "a sparse matrix");
}

/* ---- the filter: like that of tensors, it converts; dense matrices and the other
 * format, too ---- */

static bool refuse_sparse(Session *s, DiagCode code, const Type *t, const Value *v,
                          const Receiver *to, const char *why) {
    Str got = STR(s);
    value_describe(s, v, &got);
    fail(s, to->at, code, "%s: expected %s, got %s%s%s", to->what, type_str(s, t),
         str_text(&got), *why ? ": " : "", why);
    str_free(&got);
    return false;
}

static bool check_sparse_dtype(Session *s, const Type *t, const Value *v, DType got,
                               const Receiver *to) {
    if (t->dtype == got || to->how.allow_downcast == 1 ||
        dtype_promote(t->dtype, got) == t->dtype)
        return true;
    refuse_sparse(s, E_DTYPE, t, v, to,
                  "its dtype can't be converted without risking loss of precision; "
                  "convert it before");
    return hint(s, HINT_ALLOW_DOWNCAST);
}

static bool check_sparse_dims(Session *s, const Type *t, const Value *v,
                              const int64_t *shape, const Receiver *to) {
    for (int i = 0; i < 2; i++)
        if (dim_is_known(t->dim[i]) && t->dim[i] != shape[i])
            return refuse_sparse(s, E_SHAPE, t, v, to, "the shape differs");
    return true;
}

static bool check_sparse_finite(Session *s, const SparseObject *m, const Receiver *to) {
    const Type *t = type_tensor(s, m->data.dtype, 1, m->data.shape);
    return !to->how.finite || tensor_filter_check(s, t, &m->data, to);
}

static bool filter_dense(Session *s, const Type *t, const Value *v, const Receiver *to,
                         SparseObject **out) {
    Tensor cast = {0};
    Dim any[2] = {v->t.shape[0], v->t.shape[1]};
    if (v->t.ndim != 2)
        return refuse_sparse(s, E_SHAPE, t, v, to, "a matrix has 2 dims");
    const Type *dense = type_tensor(s, t->dtype, 2, any);
    Receiver any_number = *to;
    any_number.how.finite = false; /* checked when it is sparse */
    if (!check_sparse_dims(s, t, v, v->t.shape, to) ||
        !tensor_filter(s, dense, &v->t, &any_number, &cast))
        return false;
    *out = sparse_from_dense(s, strcmp(t->why, "csc") == 0, &cast);
    tensor_unref(&cast);
    return *out != NULL;
}

static bool filter_sparse(Session *s, const Type *t, const Value *v, const Receiver *to,
                          Value *out) {
    bool dense = v->kind == TYPE_TENSOR && !to->how.strict;
    bool csc = strcmp(t->why, "csc") == 0;
    SparseObject *m = v->kind == TYPE_SPARSE ? v->obj : NULL;
    if (dense && !filter_dense(s, t, v, to, &m)) return false;
    if (!m) return class_fail_kind(s, t, v, to);
    bool same = m->csc == csc && m->data.dtype == t->dtype;
    bool ok =
        dense ||
        ((same || !to->how.strict ||
          refuse_sparse(s, E_TYPE, t, v, to, "a strict check converts nothing")) &&
         check_sparse_dtype(s, t, v, m->data.dtype, to) &&
         check_sparse_dims(s, t, v, m->shape, to));
    ok = ok && check_sparse_finite(s, m, to);
    SparseObject *fit = !ok             ? NULL
                        : same || dense ? (SparseObject *)object_ref(&m->head)
                                        : sparse_convert(s, m, csc, t->dtype);
    if (dense) object_unref(&m->head);
    if (fit) *out = (Value){.kind = TYPE_SPARSE, .obj = fit};
    return fit != NULL;
}

/* ---- comparing ---- */

static bool same_matrix_type(const SparseObject *a, const SparseObject *b) {
    return a->csc == b->csc && a->shape[0] == b->shape[0] &&
           a->shape[1] == b->shape[1] && a->data.dtype == b->data.dtype;
}

static bool equal_sparse(const Value *va, const Value *vb) {
    const SparseObject *a = va->obj, *b = vb->obj;
    return same_matrix_type(a, b) && tensor_equal(&a->data, &b->data) &&
           tensor_equal(&a->indices, &b->indices) &&
           tensor_equal(&a->indptr, &b->indptr);
}

typedef struct Complex {
    double re, im;
} Complex;

static Complex stored_element(const SparseObject *m, int32_t k) {
    Complex z;
    size_t size = dtype_size(m->data.dtype);
    tensor_cast_elements(DT_COMPLEX128, &z, m->data.dtype,
                         (const char *)m->data.data + (size_t)k * size, 1, 16, 16);
    return z;
}

/* Equal infinities match, and so do nans; else the difference counts. */
static bool is_near_element(Complex a, Complex b, Approx how) {
    if ((a.re == b.re || (isnan(a.re) && isnan(b.re))) &&
        (a.im == b.im || (isnan(a.im) && isnan(b.im))))
        return true;
    double size = hypot(b.re, b.im), atol = how.atol < 0 ? 0 : how.atol,
           limit = how.atol < 0 && how.rtol < 0
                       ? 1e-6
                       : atol + (how.rtol < 0 ? 0 : how.rtol) * size;
    double d = hypot(a.re - b.re, a.im - b.im);
    if (how.allow_remove_nan && (isnan(a.re) || isnan(a.im))) return true;
    if (how.allow_remove_inf && (isinf(a.re) || isinf(a.im))) return true;
    return how.atol < 0 && how.rtol < 0 ? d < limit : d <= limit;
}

/* Patterns may differ: a stored zero equals a missing one. */
static bool are_lines_near(const SparseObject *a, const SparseObject *b, int64_t i,
                           Approx how) {
    const int32_t *ia = sparse_indices(a), *ib = sparse_indices(b);
    int32_t x = sparse_indptr(a)[i], y = sparse_indptr(b)[i];
    int32_t xend = sparse_indptr(a)[i + 1], yend = sparse_indptr(b)[i + 1];
    const Complex zero = {0, 0};
    while (x < xend || y < yend) {
        bool in_a = x < xend && (y == yend || ia[x] <= ib[y]);
        bool in_b = y < yend && (x == xend || ib[y] <= ia[x]);
        Complex za = in_a ? stored_element(a, x) : zero,
                zb = in_b ? stored_element(b, y) : zero;
        if (!is_near_element(za, zb, how)) return false;
        x += in_a;
        y += in_b;
    }
    return true;
}

static bool approx_sparse(Session *s, const Value *va, const Value *vb, Approx how) {
    const SparseObject *a = va->obj, *b = vb->obj;
    (void)s;
    bool ok = same_matrix_type(a, b);
    for (int64_t i = 0; ok && i < sparse_lines(a); i++)
        ok = are_lines_near(a, b, i, how);
    return ok;
}

/* ---- writing ---- */

static void write_indices(Session *s, const Tensor *t, Str *out) {
    tensor_text(s, t, -1, out);
}

static void text_of_sparse(const ValueWriter *w, const Type *t, const Value *v,
                           Str *out) {
    const SparseObject *m = v->obj;
    (void)t;
    str_printf(out, "%s(", sparse_format(m));
    w->tensor(w->ctx, &m->data, out);
    str_puts(out, ", ");
    write_indices(w->s, &m->indices, out);
    str_puts(out, ", ");
    write_indices(w->s, &m->indptr, out);
    str_printf(out, ", (%lld, %lld))", (long long)m->shape[0], (long long)m->shape[1]);
}

static void json_of_sparse(Session *s, const Value *v, JsonWriter *w) {
    const SparseObject *m = v->obj;
    json_member(w, "type", "sparse");
    json_member(w, "format", sparse_format(m));
    json_member(w, "dtype", dtype_name(m->data.dtype));
    json_put_key(w, "shape");
    json_put_ints(w, 2, m->shape);
    tensor_json_data(s, "data", &m->data, w);
    tensor_json_data(s, "indices", &m->indices, w);
    tensor_json_data(s, "indptr", &m->indptr, w);
}

static void parts_of_sparse(const Value *v, ValueParts *p) {
    const SparseObject *m = v->obj;
    p->nnumber = 3;
    p->number[0] = m->csc;
    p->number[1] = m->shape[0];
    p->number[2] = m->shape[1];
    p->ntensor = 3;
    p->tensor[0] = &m->data;
    p->tensor[1] = &m->indices;
    p->tensor[2] = &m->indptr;
}

static bool build_sparse(Session *s, const Type *t, const ValueParts *p, Value *out) {
    if (p->nnumber != 3 || p->ntensor != 3 || p->number[0] >> 1)
        return fail(s, NOWHERE, E_FORMAT,
                    "a sparse matrix is a format, a shape and three arrays");
    SparseSource by = {s, SPARSE_STORED, NOWHERE};
    SparseObject *m = sparse_from_parts(&by, p->number[0] == 1, p->number + 1,
                                        p->tensor[0], p->tensor[1], p->tensor[2]);
    if (!m) return false;
    Value whole = {.kind = TYPE_SPARSE, .obj = m};
    bool ok = filter_sparse(s, t, &whole,
                            &(Receiver){{.strict = true}, "a constant", NOWHERE}, out);
    value_unref(&whole);
    return ok;
}

static void shape_info_of_sparse(const Value *v, ShapeInfo *info) {
    const SparseObject *m = v->obj;
    info->dtype = m->data.dtype;
    info->n = 5;
    info->v[0] = m->shape[0];
    info->v[1] = m->shape[1];
    info->v[2] = m->data.shape[0];
    info->v[3] = m->indices.shape[0];
    info->v[4] = m->indptr.shape[0];
}
static uint64_t size_of_sparse(const ShapeInfo *info) {
    return (uint64_t)info->v[2] * dtype_size(info->dtype) +
           (uint64_t)(info->v[3] + info->v[4]) * sizeof(int32_t);
}

const TypeClass class_sparse = {
    .name = "sparse",
    .a_value = "a sparse matrix",
    .form = "sparse('csr', float64[n, 1000]); sparse('csc', float32[?, ?])",
    .holds = "a matrix by its stored elements, in compressed rows (csr) or columns "
             "(csc); not of bool or float16",
    .filters = "unless strict, dense matrices, the other format, and dtypes that "
               "convert without loss by dtype alone; then known dims must fit",
    .compares = "format, shape and dtype; then any difference is below 1e-6 (or "
                "tolerances that are given); a stored zero is a zero",
    .sizes = "data, and four bytes for each index and pointer",
    .filter = filter_sparse,
    .equal = equal_sparse,
    .approx = approx_sparse,
    .type = type_of_sparse,
    .describe = describe_sparse,
    .text = text_of_sparse,
    .json = json_of_sparse,
    .parts = parts_of_sparse,
    .build = build_sparse,
    .shape_info = shape_info_of_sparse,
    .size = size_of_sparse,
};
