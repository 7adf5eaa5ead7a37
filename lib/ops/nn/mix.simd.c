/* The loops of mix_pixels. */
#include "ops/nn/mix.h"

#include "base/level.h"

#define AT(a, w) ((a) < 0 ? 0 : (w)*x[(a) < 0 ? 0 : (a)])
#define MIX(N, T)                                                                      \
    static void gather_##N(void *to_, const void *weight, const void *x_,              \
                           const int32_t *restrict at, size_t n, size_t k) {           \
        T *restrict to = to_;                                                          \
        const T *restrict w = weight, *restrict x = x_;                                \
        for (; k >= 4; k -= 4, at += 4 * n, w += 4 * n)                                \
            for (size_t i = 0; i < n; i++) {                                           \
                T a = AT(at[i], w[i]), b = AT(at[n + i], w[n + i]);                    \
                T c = AT(at[2 * n + i], w[2 * n + i]);                                 \
                T d = AT(at[3 * n + i], w[3 * n + i]);                                 \
                to[i] += (a + b) + (c + d);                                            \
            }                                                                          \
        for (; k > 0; k--, at += n, w += n)                                            \
            for (size_t i = 0; i < n; i++)                                             \
                to[i] += AT(at[i], w[i]);                                              \
    }                                                                                  \
    static void scatter_##N(void *x_, const void *weight, const void *v_,              \
                            const int32_t *restrict at, size_t n) {                    \
        T *restrict x = x_;                                                            \
        const T *restrict w = weight, *restrict v = v_;                                \
        for (size_t i = 0; i < n; i++)                                                 \
            if (at[i] >= 0) x[at[i]] += w[i] * v[i];                                   \
    }
MIX(f32, float)
MIX(f64, double)

const MixLoops LEVEL(mix_loops) = {{gather_f32, gather_f64},
                                   {scatter_f32, scatter_f64}};
