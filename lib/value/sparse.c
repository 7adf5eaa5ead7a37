/* Sparse matrices: built from dense ones, from triplets and from parts of any origin;
 * converted between formats. Unordered elements are sorted by counting per line, then
 * within each line. */
#include "value/sparse.h"

#include "value/class_impl.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

/* ---- objects ---- */

static void release_sparse(Object *o) {
    SparseObject *m = (SparseObject *)o;
    tensor_unref(&m->data);
    tensor_unref(&m->indices);
    tensor_unref(&m->indptr);
    mem_free(m);
}

SparseObject *sparse_new_take(Session *s, bool csc, const int64_t shape[2],
                              const Tensor *data, const Tensor *indices,
                              const Tensor *indptr) {
    SparseObject *o = object_new(s, TYPE_SPARSE, sizeof *o, release_sparse);
    o->csc = csc;
    o->shape[0] = shape[0];
    o->shape[1] = shape[1];
    o->data = *data;
    o->indices = *indices;
    o->indptr = *indptr;
    return o;
}

static bool check_sparse_size(Session *s, const int64_t shape[2], int64_t stored,
                              Span at) {
    int64_t most = shape[0] > shape[1] ? shape[0] : shape[1];
    if (most > stored && most <= INT32_MAX - 1) return true;
    if (stored > most && stored <= INT32_MAX) return true;
    if (most == stored && most <= INT32_MAX - 1) return true;
    return fail(
        s, at, E_LIMIT,
        "a sparse matrix of %lld x %lld with %lld stored elements: the limit of "
        "each is 2^31 - 2",
        (long long)shape[0], (long long)shape[1], (long long)stored);
}

/* Frees an object that could not be completed. */
static SparseObject *drop_sparse(SparseObject *m) {
    object_unref(&m->head);
    return NULL;
}

SparseObject *sparse_new(Session *s, bool csc, DType d, const int64_t shape[2],
                         int64_t stored) {
    const Tensor none = {0};
    int64_t lines = shape[csc] + 1;
    if (!dtype_is_sparse(d))
        return fail(s, NOWHERE, E_DTYPE, "a sparse matrix can't hold %s",
                    dtype_name(d)),
               NULL;
    if (!check_sparse_size(s, shape, stored, NOWHERE)) return NULL;
    SparseObject *m = sparse_new_take(s, csc, shape, &none, &none, &none);
    if (tensor_new(s, d, 1, &stored, &m->data) &&
        tensor_new(s, DT_INT32, 1, &stored, &m->indices) &&
        tensor_zeros(s, DT_INT32, 1, &lines, &m->indptr))
        return m;
    return drop_sparse(m);
}

SparseObject *sparse_with_data_take(Session *s, const SparseObject *m,
                                    const Tensor *data) {
    Tensor indices = {0}, indptr = {0};
    tensor_copy_view(&indices, &m->indices);
    tensor_copy_view(&indptr, &m->indptr);
    return sparse_new_take(s, m->csc, m->shape, data, &indices, &indptr);
}

SparseObject *sparse_transpose(Session *s, const SparseObject *m) {
    Tensor data = {0};
    tensor_copy_view(&data, &m->data);
    SparseObject *t = sparse_with_data_take(s, m, &data);
    t->csc = !m->csc;
    t->shape[0] = m->shape[1];
    t->shape[1] = m->shape[0];
    return t;
}

/* ---- unordered elements ---- */

/* Elements in any order: element k is data[k], in line line[k] at index[k]. */
typedef struct LooseElements {
    Session *s;
    Tensor data;         /* contiguous */
    const int32_t *line; /* NULL: the lines follow from indptr, in order */
    const int32_t *index;
    const int32_t *indptr;
    int64_t lines, n;
} LooseElements;

static int32_t line_of_element(const LooseElements *l, int64_t k, int32_t from) {
    if (l->line) return l->line[k];
    while (l->indptr[from + 1] <= k)
        from++;
    return from;
}

static int by_sort_key(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Keys index << 32 | number, sorted within each line; at[line] is the end of a line's
 * keys. */
static void sort_element_keys(const LooseElements *l, uint64_t *key, int64_t *at) {
    memset(at, 0, (size_t)(l->lines + 1) * sizeof *at);
    int32_t line = 0;
    for (int64_t k = 0; k < l->n; k++)
        at[(line = line_of_element(l, k, l->line ? 0 : line)) + 1]++;
    for (int64_t i = 0; i < l->lines; i++)
        at[i + 1] += at[i];
    line = 0;
    for (int64_t k = 0; k < l->n; k++) {
        line = line_of_element(l, k, l->line ? 0 : line);
        key[at[line]++] = (uint64_t)(uint32_t)l->index[k] << 32 | (uint64_t)k;
    }
    for (int64_t i = 0, from = 0; i < l->lines; from = at[i++])
        if (at[i] - from > 1)
            qsort(key + from, (size_t)(at[i] - from), sizeof *key, by_sort_key);
}

/* *a += *b; integers wrap. */
static void add_element(DType d, void *a, const void *b) {
    switch (d) {
#define ADD(NAME, T, U)                                                                \
    case DT_##NAME: {                                                                  \
        T x, y;                                                                        \
        memcpy(&x, a, sizeof x);                                                       \
        memcpy(&y, b, sizeof y);                                                       \
        x = (T)((U)x + (U)y);                                                          \
        memcpy(a, &x, sizeof x);                                                       \
        break;                                                                         \
    }
        ADD(INT8, int8_t, unsigned)
        ADD(INT16, int16_t, unsigned)
        ADD(INT32, int32_t, uint32_t)
        ADD(INT64, int64_t, uint64_t)
        ADD(UINT8, uint8_t, unsigned)
        ADD(UINT16, uint16_t, unsigned)
        ADD(UINT32, uint32_t, uint32_t)
        ADD(UINT64, uint64_t, uint64_t)
        ADD(FLOAT32, float, float)
        ADD(FLOAT64, double, double)
        ADD(COMPLEX64, float complex, float complex)
        ADD(COMPLEX128, double complex, double complex)
#undef ADD
    case DT_BOOL:
    case DT_FLOAT16:
    case DT_N:
    case DT_NONE:
        bug("a sparse matrix of %s", dtype_name(d));
    }
}

/* Writes the elements in the order of the keys, and adds up those at the same place.
 * Returns the number of elements left. */
static int64_t gather_sorted(const LooseElements *l, const uint64_t *key,
                             const int64_t *end, SparseObject *m) {
    size_t size = dtype_size(l->data.dtype);
    char *data = m->data.data;
    int32_t *index = m->indices.data, *indptr = m->indptr.data;
    int64_t n = 0;
    for (int64_t i = 0, k = 0; i < l->lines; i++) {
        int64_t first = n;
        for (; k < end[i]; k++) {
            int32_t at = (int32_t)(key[k] >> 32);
            const char *from =
                (const char *)l->data.data + (key[k] & UINT32_MAX) * size;
            if (n > first && index[n - 1] == at) {
                add_element(l->data.dtype, data + (size_t)(n - 1) * size, from);
                continue;
            }
            memcpy(data + (size_t)n * size, from, size);
            index[n++] = at;
        }
        indptr[i + 1] = (int32_t)n;
    }
    return n;
}

static SparseObject *sort_into_sparse(const LooseElements *l, bool csc,
                                      const int64_t shape[2]) {
    Tensor key = {0}, at = {0};
    const int64_t rows = l->lines + 1;
    SparseObject *m = sparse_new(l->s, csc, l->data.dtype, shape, l->n);
    if (!m) return NULL;
    if (!tensor_new(l->s, DT_UINT64, 1, &l->n, &key)) return drop_sparse(m);
    if (!tensor_new(l->s, DT_INT64, 1, &rows, &at))
        return tensor_unref(&key), drop_sparse(m);
    sort_element_keys(l, key.data, at.data);
    int64_t n = gather_sorted(l, key.data, at.data, m);
    m->data.shape[0] = m->indices.shape[0] = n;
    tensor_unref(&key);
    tensor_unref(&at);
    return m;
}

/* ---- from parts ---- */

static bool check_sparse_part(const SparseSource *by, const Tensor *t, int64_t n,
                              bool integers, const char *what) {
    Session *s = by->s;
    Span at = by->at;
    bool fits = integers ? dtype_is_integer(t->dtype) : dtype_is_sparse(t->dtype);
    bool vector = t->ndim == 1 && (n < 0 || t->shape[0] == n);
    if (vector && fits) return true;
    if (vector && !integers)
        return fail(s, at, E_DTYPE, "%s of a sparse matrix can't be %s: write it as %s",
                    what, dtype_name(t->dtype),
                    t->dtype == DT_BOOL ? "int8" : "float32");
    Str got = STR(s);
    tensor_describe(s, t, &got);
    if (n < 0)
        fail(s, at, E_SHAPE, "%s of a sparse matrix must be a vector%s, not %s", what,
             integers ? " of integers" : "", str_text(&got));
    else
        fail(s, at, E_SHAPE,
             "%s of this sparse matrix must be a vector of %lld %s, not %s", what,
             (long long)n, integers ? "integers" : "elements", str_text(&got));
    str_free(&got);
    return false;
}

/* Converts to int32 in [0, limit); false: diagnosed. */
static bool narrow_indices(const SparseSource *by, const Tensor *t, int64_t limit,
                           const char *what, Tensor *out) {
    if (!tensor_new(by->s, DT_INT32, 1, t->shape, out)) return false;
    int32_t *to = out->data;
    for (int64_t i = 0; i < t->shape[0]; i++) {
        int64_t v = tensor_i64(t, i);
        if (v < 0 || v >= limit || (t->dtype == DT_UINT64 && v < 0)) {
            fail(by->s, by->at, by->from == SPARSE_COMPUTED ? E_INDEX : E_VALUE,
                 "%s[%lld] of a sparse matrix is %lld: it must be in "
                 "[0, %lld)",
                 what, (long long)i, (long long)v, (long long)limit);
            tensor_unref(out);
            return false;
        }
        to[i] = (int32_t)v;
    }
    return true;
}

static bool is_valid_indptr(const int32_t *p, int64_t lines, int64_t stored) {
    for (int64_t i = 0; i < lines; i++)
        if (p[i] > p[i + 1]) return false;
    return p[0] == 0 && p[lines] == stored;
}

static bool are_indices_sorted(const int32_t *p, const int32_t *index, int64_t lines) {
    for (int64_t i = 0; i < lines; i++)
        for (int32_t k = p[i] + 1; k < p[i + 1]; k++)
            if (index[k - 1] >= index[k]) return false;
    return true;
}

static SparseObject *sparse_from_narrow(const SparseSource *by, bool csc,
                                        const int64_t shape[2], const Tensor *data,
                                        Tensor *indices, Tensor *indptr) {
    Session *s = by->s;
    int64_t lines = shape[csc], stored = indices->shape[0];
    Tensor own = {0};
    if (!is_valid_indptr(indptr->data, lines, stored))
        return fail(s, by->at, E_VALUE,
                    "indptr of a sparse matrix must rise from 0 to the number of "
                    "stored elements, %lld",
                    (long long)stored),
               NULL;
    bool ordered = are_indices_sorted(indptr->data, indices->data, lines);
    if (!ordered && by->from != SPARSE_READ)
        return fail(s, by->at, E_VALUE,
                    "the indices of each row (csr) or column (csc) of a sparse matrix "
                    "must rise"),
               NULL;
    if (!tensor_clone(s, data, &own)) return NULL;
    if (!ordered) {
        LooseElements l = {s, own, NULL, indices->data, indptr->data, lines, stored};
        SparseObject *m = sort_into_sparse(&l, csc, shape);
        tensor_unref(&own);
        return m;
    }
    SparseObject *m = sparse_new_take(s, csc, shape, &own, indices, indptr);
    buffer_ref(indices->buf);
    buffer_ref(indptr->buf);
    return m;
}

/* The shape and the elements, to which both forms add where these are. */
static bool check_sparse_data(const SparseSource *by, const int64_t shape[2],
                              const Tensor *data) {
    if (shape[0] < 0 || shape[1] < 0)
        return fail(by->s, by->at, E_SHAPE, "a sparse matrix of %lld x %lld",
                    (long long)shape[0], (long long)shape[1]);
    return check_sparse_part(by, data, -1, false, "data") &&
           check_sparse_size(by->s, shape, data->shape[0], by->at);
}

SparseObject *sparse_from_parts(const SparseSource *by, bool csc,
                                const int64_t shape[2], const Tensor *data,
                                const Tensor *indices, const Tensor *indptr) {
    Tensor index = {0}, ptr = {0};
    SparseObject *m = NULL;
    if (!check_sparse_data(by, shape, data) ||
        !check_sparse_part(by, indices, data->shape[0], true, "indices") ||
        !check_sparse_part(by, indptr, shape[csc] + 1, true, "indptr") ||
        !narrow_indices(by, indices, shape[!csc], "indices", &index))
        return NULL;
    if (narrow_indices(by, indptr, data->shape[0] + 1, "indptr", &ptr))
        m = sparse_from_narrow(by, csc, shape, data, &index, &ptr);
    tensor_unref(&index);
    tensor_unref(&ptr);
    return m;
}

SparseObject *sparse_from_triplets(const SparseSource *by, bool csc,
                                   const int64_t shape[2], const Tensor *data,
                                   const Tensor *row, const Tensor *column) {
    Tensor own = {0}, r = {0}, c = {0};
    SparseObject *m = NULL;
    if (!check_sparse_data(by, shape, data) ||
        !check_sparse_part(by, row, data->shape[0], true, "row") ||
        !check_sparse_part(by, column, data->shape[0], true, "column") ||
        !tensor_clone(by->s, data, &own))
        return NULL;
    if (narrow_indices(by, row, shape[0], "row", &r) &&
        narrow_indices(by, column, shape[1], "column", &c)) {
        LooseElements l = {.s = by->s,
                           .data = own,
                           .line = csc ? c.data : r.data,
                           .index = csc ? r.data : c.data,
                           .lines = shape[csc],
                           .n = data->shape[0]};
        m = sort_into_sparse(&l, csc, shape);
    }
    tensor_unref(&own);
    tensor_unref(&r);
    tensor_unref(&c);
    return m;
}

/* ---- dense ---- */

static bool is_zero_element(DType d, const char *p) {
    double z[2];
    if (!dtype_is_inexact(d)) {
        static const char zero[8];
        return memcmp(p, zero, dtype_size(d)) == 0;
    }
    tensor_cast_elements(DT_COMPLEX128, z, d, p, 1, 16, 16);
    return z[0] == 0 && z[1] == 0;
}

SparseObject *sparse_from_dense(Session *s, bool csc, const Tensor *t) {
    size_t size = dtype_size(t->dtype);
    int64_t lines = t->shape[csc], width = t->shape[!csc], stored = 0;
    int64_t line_step = t->stride[csc], step = t->stride[!csc];
    const char *p = t->data;
    for (int64_t i = 0; i < lines; i++)
        for (int64_t j = 0; j < width; j++)
            stored += !is_zero_element(t->dtype, p + i * line_step + j * step);
    SparseObject *m = sparse_new(s, csc, t->dtype, t->shape, stored);
    if (!m) return NULL;
    char *data = m->data.data;
    int32_t *index = m->indices.data, *indptr = m->indptr.data;
    int64_t n = 0;
    for (int64_t i = 0; i < lines; i++) {
        for (int64_t j = 0; j < width; j++) {
            const char *from = p + i * line_step + j * step;
            if (is_zero_element(t->dtype, from)) continue;
            memcpy(data + (size_t)n * size, from, size);
            index[n++] = (int32_t)j;
        }
        indptr[i + 1] = (int32_t)n;
    }
    return m;
}

void sparse_scatter(const SparseObject *m, Tensor *out) {
    size_t size = dtype_size(m->data.dtype);
    const int32_t *index = sparse_indices(m), *indptr = sparse_indptr(m);
    const char *data = m->data.data;
    for (int64_t i = 0; i < sparse_lines(m); i++)
        for (int32_t k = indptr[i]; k < indptr[i + 1]; k++) {
            int64_t row = m->csc ? index[k] : i, column = m->csc ? i : index[k];
            memcpy((char *)out->data + row * out->stride[0] + column * out->stride[1],
                   data + (size_t)k * size, size);
        }
}

/* ---- the other format ---- */

/* Visits the lines in order, so that the indices of each new line ascend. */
static SparseObject *switch_sparse_format(Session *s, const SparseObject *m) {
    SparseObject *t = sparse_new(s, !m->csc, m->data.dtype, m->shape, sparse_stored(m));
    if (!t) return NULL;
    size_t size = dtype_size(m->data.dtype);
    const int32_t *index = sparse_indices(m), *indptr = sparse_indptr(m);
    int32_t *to_index = t->indices.data, *at = t->indptr.data;
    int64_t n = sparse_stored(m), lines = sparse_lines(t);
    for (int64_t k = 0; k < n; k++)
        at[index[k] + 1]++;
    for (int64_t i = 0; i < lines; i++)
        at[i + 1] += at[i];
    for (int64_t i = 0; i < sparse_lines(m); i++)
        for (int32_t k = indptr[i]; k < indptr[i + 1]; k++) {
            int32_t to = at[index[k]]++;
            to_index[to] = (int32_t)i;
            memcpy((char *)t->data.data + (size_t)to * size,
                   (const char *)m->data.data + (size_t)k * size, size);
        }
    memmove(at + 1, at, (size_t)lines * sizeof *at);
    at[0] = 0;
    return t;
}

SparseObject *sparse_convert(Session *s, const SparseObject *m, bool csc, DType d) {
    SparseObject *t;
    Tensor data = {0}, converted = {0};
    if (m->csc != csc) {
        t = switch_sparse_format(s, m);
    } else {
        tensor_copy_view(&data, &m->data);
        t = sparse_with_data_take(s, m, &data);
    }
    if (!t || d == m->data.dtype) return t;
    if (!tensor_cast(s, &t->data, d, &converted)) return drop_sparse(t);
    tensor_unref(&t->data);
    t->data = converted;
    return t;
}
