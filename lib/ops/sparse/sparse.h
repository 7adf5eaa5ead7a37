/* Shared by the sparse ops. The pattern of a sparse variable (which elements are
 * stored) determines its derivatives: its gradients and tangents have the same pattern,
 * and elements not stored don't count. */
#ifndef OPS_SPARSE_SPARSE_H
#define OPS_SPARSE_SPARSE_H

#include "op/build.h"
#include "op/infer.h"
#include "value/sparse.h"

static inline const SparseObject *sparse_in(const Call *c, size_t i) {
    return c->in[i]->obj;
}
static inline bool type_is_csc(const Type *t) {
    return t->why[2] == 'c';
}
/* Outputs the object and takes ownership of it; false when it is NULL (diagnosed). */
bool out_object_take(Call *c, size_t i, SparseObject *m);
bool out_sparse(Infer *in, const char *format, DType d, const Dim dim[2]);
/* Checks at run time that two dims of inputs are equal. */
bool call_same_dim(Call *c, const char *what, int64_t a, int64_t b);
bool call_same_matrix(Call *c, const int64_t a[2], const int64_t b[2]);

#endif
