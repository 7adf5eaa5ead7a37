/* Loops over the points of a plane: each mixes pixels, which it finds by their
 * positions. */
#ifndef OPS_NN_MIX_H
#define OPS_NN_MIX_H

#include "op/op.h"

typedef struct MixLoops {
    /* to[i] += the sum over k of weight[k * n + i] * x[at[k * n + i]]; at -1: nothing
     */
    void (*gather[2])(void *to, const void *weight, const void *x, const int32_t *at,
                      size_t n, size_t k);
    /* x[at[i]] += weight[i] * v[i] */
    void (*scatter[2])(void *x, const void *weight, const void *v, const int32_t *at,
                       size_t n);
} MixLoops;
extern const MixLoops mix_loops0, mix_loops1, mix_loops2;

#endif
