/* The loops of pooling over the elements of rows. */
#include "ops/nn/pool.h"

#include "base/level.h"

#define MORE(a, b)   ((b) > (a) ? (b) : (a))
#define MORE_F(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a)) /* nan wins */
/* May b take the place of a, which comes before it? */
#define BEATS(a, b)   ((b) > (a))
#define BEATS_F(a, b) (((b) > (a)) | (((b) != (b)) & ((a) == (a))))

#define EQUAL(a, b)   ((a) == (b))
#define EQUAL_F(a, b) (((a) == (b)) | (((a) != (a)) & ((b) != (b))))

#define EXTREME(N, T_, MORE_, BEATS_, EQUAL_)                                          \
    static void max_##N(void *to_, const void *x_, size_t n) {                         \
        T_ *restrict to = to_;                                                         \
        const T_ *restrict x = x_;                                                     \
        for (size_t i = 0; i < n; i++) {                                               \
            T_ v = x[i], old = to[i];                                                  \
            to[i] = MORE_(old, v);                                                     \
        }                                                                              \
    }                                                                                  \
    static void best_row_##N(const PoolBest *best, const void *x_, size_t n,           \
                             int32_t number) {                                         \
        T_ *restrict to = best->value;                                                 \
        int32_t *restrict row = best->row;                                             \
        const T_ *restrict x = x_;                                                     \
        for (size_t i = 0; i < n; i++) {                                               \
            bool take = BEATS_(to[i], x[i]);                                           \
            to[i] = take ? x[i] : to[i];                                               \
            row[i] = take ? number : row[i];                                           \
        }                                                                              \
    }                                                                                  \
    static void best_tap_##N(const PoolBest *best, const PoolBest *from, size_t n,     \
                             int32_t number) {                                         \
        T_ *restrict to = best->value;                                                 \
        int32_t *restrict row = best->row, *restrict tap = best->tap;                  \
        const T_ *restrict x = from->value;                                            \
        const int32_t *restrict r = from->row;                                         \
        for (size_t i = 0; i < n; i++) {                                               \
            T_ v = x[i], old = to[i];                                                  \
            bool take =                                                                \
                (tap[i] < 0) | BEATS_(old, v) | (EQUAL_(old, v) & (r[i] < row[i]));    \
            to[i] = take ? v : old;                                                    \
            row[i] = take ? r[i] : row[i];                                             \
            tap[i] = take ? number : tap[i];                                           \
        }                                                                              \
    }
EXTREME(i8, int8_t, MORE, BEATS, EQUAL)
EXTREME(i16, int16_t, MORE, BEATS, EQUAL)
EXTREME(i32, int32_t, MORE, BEATS, EQUAL)
EXTREME(i64, int64_t, MORE, BEATS, EQUAL)
EXTREME(u8, uint8_t, MORE, BEATS, EQUAL)
EXTREME(u16, uint16_t, MORE, BEATS, EQUAL)
EXTREME(u32, uint32_t, MORE, BEATS, EQUAL)
EXTREME(u64, uint64_t, MORE, BEATS, EQUAL)
EXTREME(f32, float, MORE_F, BEATS_F, EQUAL_F)
EXTREME(f64, double, MORE_F, BEATS_F, EQUAL_F)

#define SUM(N, T)                                                                      \
    static void sum_##N(void *to_, const void *x_, size_t n) {                         \
        double *restrict to = to_;                                                     \
        const T *restrict x = x_;                                                      \
        for (size_t i = 0; i < n; i++)                                                 \
            to[i] += (double)x[i];                                                     \
    }
SUM(f32, float)
SUM(f64, double)

/* Pairs, in which both numbers count, are read and written with vectors. */
#define PHASES(N, T)                                                                   \
    static void split_##N(void *to_, const void *x_, size_t n, size_t step) {          \
        T *restrict to = to_;                                                          \
        const T *restrict x = x_;                                                      \
        size_t len = (n + step - 1) / step, pairs = step == 2 ? n / 2 : 0;             \
        for (size_t i = 0; i < pairs; i++) {                                           \
            to[i] = x[2 * i];                                                          \
            to[len + i] = x[2 * i + 1];                                                \
        }                                                                              \
        for (size_t k = 0; k < step && k < n; k++)                                     \
            for (size_t i = pairs; i * step + k < n; i++)                              \
                to[k * len + i] = x[i * step + k];                                     \
    }
PHASES(1, uint8_t)
PHASES(2, uint16_t)
PHASES(4, uint32_t)
PHASES(8, uint64_t)

static void join(double *restrict to, const double *restrict x, size_t n, size_t step) {
    size_t len = (n + step - 1) / step, pairs = step == 2 ? n / 2 : 0;
    for (size_t i = 0; i < pairs; i++) {
        to[2 * i] = x[i];
        to[2 * i + 1] = x[len + i];
    }
    for (size_t k = 0; k < step && k < n; k++)
        for (size_t i = pairs; i * step + k < n; i++)
            to[i * step + k] = x[k * len + i];
}

static void divide(double *restrict x, const double *restrict by, double also,
                   size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] /= by[i] * also;
}
static void share(double *restrict x, const double *restrict by, double also,
                  size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = by[i] * also > 0 ? x[i] / (by[i] * also) : 0;
}

#define BY_DTYPE(P)                                                                    \
    {                                                                                  \
        [DT_BOOL] = P##_u8, [DT_INT8] = P##_i8, [DT_INT16] = P##_i16,                  \
        [DT_INT32] = P##_i32, [DT_INT64] = P##_i64, [DT_UINT8] = P##_u8,               \
        [DT_UINT16] = P##_u16, [DT_UINT32] = P##_u32, [DT_UINT64] = P##_u64,           \
        [DT_FLOAT32] = P##_f32, [DT_FLOAT64] = P##_f64                                 \
    }
const PoolLoops LEVEL(pool_loops) = {
    .max = BY_DTYPE(max),
    .best_row = BY_DTYPE(best_row),
    .best_tap = BY_DTYPE(best_tap),
    .sum = {[DT_FLOAT32] = sum_f32, [DT_FLOAT64] = sum_f64},
    .split = {[1] = split_1, [2] = split_2, [4] = split_4, [8] = split_8},
    .join = join,
    .divide = divide,
    .share = share,
};
