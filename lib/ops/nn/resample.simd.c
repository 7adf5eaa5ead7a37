/* The loops of resampling. */
#include "ops/nn/resample.h"

#include "base/level.h"

#define RESAMPLE(N, T, WEIGHT)                                                         \
    static void rows_##N(void *to_, const ResampleRows *r, size_t count, size_t n,     \
                         bool more) {                                                  \
        T *restrict to = to_;                                                          \
        T w[4] = {0};                                                                  \
        const T *restrict x[4];                                                        \
        for (size_t k = 0; k < 4; k++) {                                               \
            x[k] = r->row[k < count ? k : 0];                                          \
            w[k] = k < count ? (T)r->weight[k] : 0;                                    \
        }                                                                              \
        const T *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];                        \
        T w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];                                  \
        if (count == 1 && more)                                                        \
            for (size_t i = 0; i < n; i++)                                             \
                to[i] += w0 * x0[i];                                                   \
        else if (count == 1)                                                           \
            for (size_t i = 0; i < n; i++)                                             \
                to[i] = w0 * x0[i];                                                    \
        else if (count == 2 && !more)                                                  \
            for (size_t i = 0; i < n; i++)                                             \
                to[i] = w0 * x0[i] + w1 * x1[i];                                       \
        else if (count == 4 && !more)                                                  \
            for (size_t i = 0; i < n; i++)                                             \
                to[i] = (w0 * x0[i] + w1 * x1[i]) + (w2 * x2[i] + w3 * x3[i]);         \
        else                                                                           \
            for (size_t k = 0; k < count; k++)                                         \
                for (size_t i = 0; i < n; i++)                                         \
                    to[i] = (k || more ? to[i] : 0) + w[k] * x[k][i];                  \
    }                                                                                  \
    static void across_##N(void *to_, const void *x_, const ResampleTable *t) {        \
        T *restrict to = to_;                                                          \
        const T *restrict x = x_;                                                      \
        const T *restrict w = t->WEIGHT;                                               \
        const int32_t *restrict at = t->index;                                         \
        size_t m = (size_t)t->m;                                                       \
        if (t->taps == 2)                                                              \
            for (size_t i = 0; i < m; i++)                                             \
                to[i] = w[i] * x[at[i]] + w[m + i] * x[at[m + i]];                     \
        else if (t->taps == 4)                                                         \
            for (size_t i = 0; i < m; i++)                                             \
                to[i] = (w[i] * x[at[i]] + w[m + i] * x[at[m + i]]) +                  \
                        (w[2 * m + i] * x[at[2 * m + i]] +                             \
                         w[3 * m + i] * x[at[3 * m + i]]);                             \
        else                                                                           \
            for (size_t k = 0; k < (size_t)t->taps; k++)                               \
                for (size_t i = 0; i < m; i++)                                         \
                    to[i] = (k ? to[i] : 0) + w[k * m + i] * x[at[k * m + i]];         \
    }
RESAMPLE(f32, float, weight32)
RESAMPLE(f64, double, weight)

#define PICK(N, T)                                                                     \
    static void pick_##N(void *to_, const void *x_, const int32_t *restrict at,        \
                         size_t n) {                                                   \
        T *restrict to = to_;                                                          \
        const T *restrict x = x_;                                                      \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] = x[at[i]];                                                          \
    }
PICK(8, uint8_t)
PICK(16, uint16_t)
PICK(32, uint32_t)
PICK(64, uint64_t)

const ResampleLoops LEVEL(resample_loops) = {
    .rows = {rows_f32, rows_f64},
    .across = {across_f32, across_f64},
    .pick = {pick_8, pick_16, pick_32, pick_64},
};
