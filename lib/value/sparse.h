/* Sparse matrices: compressed rows (csr) or columns (csc). A line is a row of a csr, a
 * column of a csc. Always in canonical form: indptr rises from 0 to the number of
 * stored elements, indices rise within a line and are below its width; all three
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
/* Does the dtype go into a sparse matrix? All but bool and float16. */
bool dtype_is_sparse(DType d);

/* Room for `stored` elements: indptr is zeroed, the rest is not. NULL: diagnosed
 * (E_MEM, or a shape beyond int32). */
SparseObject *sparse_new(Session *s, bool csc, DType d, const int64_t shape[2],
                         int64_t stored);
/* Where the parts of a matrix come from. */
typedef enum SparseFrom {
    SPARSE_COMPUTED, /* by ops: an index out of range is E_INDEX */
    SPARSE_STORED,   /* a constant of a graph: it is E_VALUE */
    SPARSE_READ      /* a file: that, too; and indices out of order are sorted and equal
                        ones added up, as is usual in files; else they are an error */
} SparseFrom;
/* From parts that anyone may have made: data [n], integers [n] and [lines + 1] of any
 * layout. NULL: diagnosed at `at`. */
SparseObject *sparse_from_parts(Session *s, bool csc, const int64_t shape[2],
                                const Tensor *data, const Tensor *indices,
                                const Tensor *indptr, SparseFrom from, Span at);
/* The elements of a dense matrix that are not zero (nan is not; -0 is). */
SparseObject *sparse_from_dense(Session *s, bool csc, const Tensor *t);
/* Elements data[i] at (row[i], column[i]), int64 vectors; those of one place are added
 * up. */
SparseObject *sparse_from_triplets(Session *s, bool csc, const int64_t shape[2],
                                   const Tensor *data, const Tensor *row,
                                   const Tensor *column, SparseFrom from, Span at);
/* Writes the stored elements to their places in a dense matrix of the same shape. */
void sparse_scatter(const SparseObject *m, Tensor *out);
/* Contiguous; out holds nothing. */
bool sparse_to_dense(Session *s, const SparseObject *m, Tensor *out);
/* The same matrix in the given format and dtype; a reference if it has them. */
SparseObject *sparse_convert(Session *s, const SparseObject *m, bool csc, DType d);
/* The pattern of m with other elements, [stored]: takes over data. */
SparseObject *sparse_with_data_take(Session *s, const SparseObject *m,
                                    const Tensor *data);
/* The transpose: the other format on the same memory. */
SparseObject *sparse_transpose(Session *s, const SparseObject *m);

#endif
