/* Values other than tensors: slices, lists, sparse matrices. They are reference-counted
 * and immutable once built: a copy is another reference. */
#ifndef VALUE_OBJECT_H
#define VALUE_OBJECT_H

#include "value/class.h"

typedef struct Object {
    atomic_uint refs;
    TypeKind kind;
    const TypeClass *cls;
    void (*release)(struct Object *o); /* frees o and its contents */
} Object;
Object *object_ref(Object *o); /* NULL is fine */
void object_unref(Object *o);  /* NULL is fine */

/* start, stop, step; an absent part is None. */
typedef struct SliceObject {
    Object head;
    bool has[3];
    int64_t part[3];
} SliceObject;
SliceObject *slice_new(Session *s, const bool has[3], const int64_t part[3]);
/* Python's slice.indices: start, stop and step for n elements; stop may be -1 if the
 * step is negative. False: the step is 0. */
bool slice_resolve(const SliceObject *o, int64_t n, int64_t part[3]);
/* A bound, counted from the end if negative, clamped to lo..hi. */
int64_t slice_clamp(int64_t v, int64_t n, int64_t lo, int64_t hi);
int64_t slice_count(int64_t start, int64_t stop, int64_t step);

/* Takes ownership of the n values. */
typedef struct ListObject {
    Object head;
    size_t n;
    Value *item;
} ListObject;
ListObject *list_new_take(Session *s, size_t n, const Value *item);

/* csr or csc: data[nnz], indices int32[nnz], indptr int32[rows or columns + 1]. Takes
 * ownership of the three tensors. */
typedef struct SparseObject {
    Object head;
    bool csc;
    int64_t shape[2];
    Tensor data, indices, indptr;
} SparseObject;
SparseObject *sparse_new_take(Session *s, bool csc, const int64_t shape[2],
                              const Tensor *data, const Tensor *indices,
                              const Tensor *indptr);

#endif
