/* Sparse matrices: compressed rows (csr) or columns (csc). A line is a row of a csr, a
 * column of a csc. Always in canonical form: indptr ascends from 0 to the number of
 * stored elements, indices ascend within a line and are less than its width; all three
 * tensors are contiguous. Zeros may be stored. */
#ifndef VALUE_SPARSE_H
#define VALUE_SPARSE_H

#include "value/object.h"

static inline int64_t sparse_lines(const SparseObject *m) {
    return m->shape[m->csc];
}
static inline int64_t sparse_width(const SparseObject *m) {
    return m->shape[!m->csc];
}
static inline int64_t sparse_stored(const SparseObject *m) {
    return m->data.shape[0];
}
static inline const int32_t *sparse_indices(const SparseObject *m) {
    return m->indices.data;
}
static inline const int32_t *sparse_indptr(const SparseObject *m) {
    return m->indptr.data;
}
/* With room for `stored` elements: indptr is zeroed, the rest is uninitialised. NULL:
 * diagnosed (E_MEM, or a shape beyond int32). */
SparseObject *sparse_new(Session *s, bool csc, DType d, const int64_t shape[2],
                         int64_t stored);
/* The origin of a matrix's parts. */
typedef enum SparseFrom {
    SPARSE_COMPUTED, /* from ops: an index out of range is E_INDEX */
    SPARSE_STORED,   /* from a graph's constant: it is E_VALUE */
    SPARSE_READ      /* from a file: E_VALUE, too; unordered indices are sorted and
                        duplicates added up, as is usual for files; else errors */
} SparseFrom;
/* Who gives unchecked parts, and where errors point. */
typedef struct SparseSource {
    Session *s;
    SparseFrom from;
    Span at;
} SparseSource;
/* Builds a matrix from unchecked parts: data [n], integers [n] and [lines + 1] of any
 * layout. NULL: diagnosed. */
SparseObject *sparse_from_parts(const SparseSource *by, bool csc,
                                const int64_t shape[2], const Tensor *data,
                                const Tensor *indices, const Tensor *indptr);
/* The nonzero elements of a dense matrix (nan is nonzero; -0 is zero). */
SparseObject *sparse_from_dense(Session *s, bool csc, const Tensor *t);
/* Elements data[i] at (row[i], column[i]), int64 vectors; duplicates are added up. */
SparseObject *sparse_from_triplets(const SparseSource *by, bool csc,
                                   const int64_t shape[2], const Tensor *data,
                                   const Tensor *row, const Tensor *column);
/* Writes the stored elements into a dense matrix of the same shape. */
void sparse_scatter(const SparseObject *m, Tensor *out);
/* Converts to another format and dtype; a reference if nothing changes. */
SparseObject *sparse_convert(Session *s, const SparseObject *m, bool csc, DType d);
/* The pattern of m with other elements, [stored]; takes ownership of data. */
SparseObject *sparse_with_data_take(Session *s, const SparseObject *m,
                                    const Tensor *data);
/* The transpose: the other format, sharing memory. */
SparseObject *sparse_transpose(Session *s, const SparseObject *m);

#endif
