/* Strided walks over several operands at once. Removes dims of length 1, sorts dims by
 * memory order and merges neighbours with equal steps, so that runs are as long as
 * possible. The order of elements is therefore that of the operands, not of the
 * shape. */
#include "value/value.h"

/* The operand's step along each dim of the shape: 0 where it is broadcast. */
static void load_operand_strides(Iter *it, int op, int ndim, const int64_t *shape,
                                 const Tensor *t) {
    int missing = ndim - t->ndim;
    for (int i = 0, k = 0; i < ndim; i++) {
        if (shape[i] == 1) continue;
        bool stretched = i < missing || t->shape[i - missing] == 1;
        it->stride[op][k++] = stretched ? 0 : t->stride[i - missing];
    }
    it->ptr[op] = t->data;
}

/* Reverses dims whose step in the first operand is negative. */
static void flip_dims(Iter *it) {
    for (int k = 0; k < it->ndim; k++) {
        if (it->stride[0][k] >= 0) continue;
        for (int op = 0; op < it->nop; op++) {
            it->ptr[op] += (it->shape[k] - 1) * it->stride[op][k];
            it->stride[op][k] = -it->stride[op][k];
        }
    }
}

/* Should dim b be outside dim a? The first operand that has different steps along them
 * decides. */
static bool is_outer_dim(const Iter *it, int b, int a) {
    for (int op = 0; op < it->nop; op++) {
        int64_t sa = i64_abs(it->stride[op][a]), sb = i64_abs(it->stride[op][b]);
        if (sa != 0 && sb != 0 && sa != sb) return sb > sa;
    }
    return false;
}

static void swap_dims(Iter *it, int a, int b) {
    int64_t t = it->shape[a];
    it->shape[a] = it->shape[b];
    it->shape[b] = t;
    for (int op = 0; op < it->nop; op++) {
        t = it->stride[op][a];
        it->stride[op][a] = it->stride[op][b];
        it->stride[op][b] = t;
    }
}

static void sort_dims(Iter *it) {
    for (int i = 1; i < it->ndim; i++)
        for (int k = i; k > 0 && is_outer_dim(it, k, k - 1); k--)
            swap_dims(it, k, k - 1);
}

static bool steps_alike(const Iter *it, int outer, int inner) {
    for (int op = 0; op < it->nop; op++)
        if (it->stride[op][outer] != it->stride[op][inner] * it->shape[inner])
            return false;
    return true;
}

static void merge_dims(Iter *it) {
    int k = 0; /* dims [0, k] are merged */
    for (int i = 1; i < it->ndim; i++) {
        bool merge = steps_alike(it, k, i);
        if (!merge) k++;
        it->shape[k] = merge ? it->shape[k] * it->shape[i] : it->shape[i];
        for (int op = 0; op < it->nop; op++)
            it->stride[op][k] = it->stride[op][i];
    }
    if (it->ndim) it->ndim = k + 1;
}

void iter_init(Iter *it, int ndim, const int64_t *shape, int nop,
               const Tensor *const *op) {
    it->nop = nop;
    it->ndim = 0;
    it->done = false;
    for (int i = 0; i < ndim; i++) {
        it->done |= shape[i] == 0;
        if (shape[i] != 1) it->shape[it->ndim++] = shape[i];
    }
    for (int i = 0; i < nop; i++)
        load_operand_strides(it, i, ndim, shape, op[i]);
    it->inner = it->done ? 0 : 1;
    for (int i = 0; i < nop; i++)
        it->step[i] = 0;
    if (it->done || it->ndim == 0) return;
    flip_dims(it);
    sort_dims(it);
    merge_dims(it);
    it->inner = it->shape[--it->ndim];
    for (int i = 0; i < nop; i++)
        it->step[i] = it->stride[i][it->ndim];
    for (int k = 0; k < it->ndim; k++)
        it->index[k] = 0;
}

void iter_next(Iter *it) {
    for (int k = it->ndim; k-- > 0;) {
        if (++it->index[k] < it->shape[k]) {
            for (int op = 0; op < it->nop; op++)
                it->ptr[op] += it->stride[op][k];
            return;
        }
        for (int op = 0; op < it->nop; op++)
            it->ptr[op] -= it->stride[op][k] * (it->shape[k] - 1);
        it->index[k] = 0;
    }
    it->done = true;
}
