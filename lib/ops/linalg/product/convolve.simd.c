/* out[k] = the sum of y[j] x[k - j], for each j in turn. Several of them at a time, as
 * far as all reach, spare storing the sums in between. */
#include "ops/linalg/product/convolve.h"

#include "base/complex.h"
#include "base/fma.h"
#include "base/level.h"

#include <string.h>

enum { TAPS = 8 };

#if HAS_FMA
#define MADD_f32(a, b, c) __builtin_fmaf(a, b, c)
#define MADD_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define MADD_f32(a, b, c) ((a) * (b) + (c))
#define MADD_f64(a, b, c) ((a) * (b) + (c))
#endif
#define MADD_u64(a, b, c)  ((a) * (b) + (c))
#define MADD_c128(a, b, c) (cmul_c128(a, b) + (c))

/* The results k of [at, end) that tap j reaches. */
typedef struct Reach {
    int64_t from, to;
} Reach;
static Reach reach_of(const ConvolveJob *q, int64_t j, int64_t at, int64_t end) {
    return (Reach){j > at ? j : at, j + q->n < end ? j + q->n : end};
}

#define CONVOLVE(NAME, T)                                                              \
    static void add_tap_##NAME(T *restrict sum, const T *restrict x, T f, int64_t n) { \
        for (int64_t k = 0; k < n; k++)                                                \
            sum[k] = MADD_##NAME(f, x[k], sum[k]);                                     \
    }                                                                                  \
    static void add_taps_##NAME(T *restrict sum, const T *restrict x,                  \
                                const T *restrict y, int64_t n) {                      \
        T f[TAPS];                                                                     \
        memcpy(f, y, sizeof f);                                                        \
        for (int64_t k = 0; k < n; k++) {                                              \
            T s = sum[k];                                                              \
            for (int i = 0; i < TAPS; i++)                                             \
                s = MADD_##NAME(f[i], x[k - i], s);                                    \
            sum[k] = s;                                                                \
        }                                                                              \
    }                                                                                  \
    static void block_##NAME(const ConvolveJob *q, int64_t pair, int64_t block) {      \
        const T *x = (const T *)q->x + pair * q->n,                                    \
                *y = (const T *)q->y + pair * q->m;                                    \
        int64_t at = q->first + block * CONVOLVE_BLOCK, last = q->first + q->count,    \
                end = at + CONVOLVE_BLOCK < last ? at + CONVOLVE_BLOCK : last,         \
                j = at < q->n ? 0 : at - q->n + 1, stop = q->m < end ? q->m : end;     \
        T *out = (T *)q->out + pair * q->count + (at - q->first);                      \
        memset(out, 0, (size_t)(end - at) * sizeof *out);                              \
        while (j < stop) {                                                             \
            int64_t taps = stop - j < TAPS ? 1 : TAPS;                                 \
            Reach all = {reach_of(q, j + taps - 1, at, end).from,                      \
                         reach_of(q, j, at, end).to};                                  \
            bool apart = taps == 1 || all.from >= all.to;                              \
            for (int64_t i = j; i < j + taps; i++) {                                   \
                Reach one = reach_of(q, i, at, end);                                   \
                int64_t cut = apart ? one.to : all.from;                               \
                add_tap_##NAME(out + (one.from - at), x + (one.from - i), y[i],        \
                               cut - one.from);                                        \
                if (!apart)                                                            \
                    add_tap_##NAME(out + (all.to - at), x + (all.to - i), y[i],        \
                                   one.to - all.to);                                   \
            }                                                                          \
            if (!apart)                                                                \
                add_taps_##NAME(out + (all.from - at), x + (all.from - j), y + j,      \
                                all.to - all.from);                                    \
            j += taps;                                                                 \
        }                                                                              \
    }                                                                                  \
    static void convolve_##NAME(void *ctx, size_t task, unsigned worker) {             \
        const ConvolveJob *q = ctx;                                                    \
        int64_t i = (int64_t)task / q->blocks * q->together, end = i + q->together;    \
        (void)worker;                                                                  \
        for (; i < end && i < q->pairs; i++)                                           \
            block_##NAME(q, i, (int64_t)task % q->blocks);                             \
    }
CONVOLVE(u64, uint64_t)
CONVOLVE(f32, float)
CONVOLVE(f64, double)
CONVOLVE(c128, double _Complex)

const ConvolveLoops LEVEL(convolve_loops) = {.f32 = convolve_f32,
                                             .f64 = convolve_f64,
                                             .c128 = convolve_c128,
                                             .u64 = convolve_u64};
