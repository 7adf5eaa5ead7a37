/* What the tests of the VM share: random numbers, tensors, Applies by name. */
#ifndef VM_TEST_H
#define VM_TEST_H

#include "test.h"
#include "vm/vm.h"

static inline uint32_t rnd(uint32_t n) {
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

static inline Var ap(Builder *b, const char *name, size_t n, const Var *in) {
    return op_apply1(b, op_find(b->s, name, strlen(name)), NULL, n, in);
}

static inline Tensor random_tensor(Session *s, DType d, int ndim,
                                   const int64_t *shape) {
    Tensor f, t;
    tensor_new(s, DT_FLOAT64, ndim, shape, &f);
    for (int64_t i = 0; i < tensor_size(&f); i++)
        ((double *)f.data)[i] = (rnd(2001) - 1000.0) / 300;
    tensor_cast(s, &f, d, &t);
    tensor_unref(&f);
    return t;
}

/* Of contiguous tensors. */
static inline bool same_value_bits(const Value *a, const Value *b) {
    return tensor_same_shape(&a->t, &b->t) &&
           memcmp(a->t.data, b->t.data, (size_t)tensor_bytes(&a->t)) == 0;
}

#endif
