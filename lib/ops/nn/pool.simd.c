/* The loops of pooling over the elements of rows. */
#include "ops/nn/pool.h"

#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)
#define LEVEL(name) JOIN1(name, TL_LEVEL)

#define MORE(a, b)   ((b) > (a) ? (b) : (a))
#define MORE_F(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a)) /* nan wins */
/* May b take the place of a, which comes before it? */
#define BEATS(a, b)   ((b) > (a))
#define BEATS_F(a, b) (((b) > (a)) | (((b) != (b)) & ((a) == (a))))

#define EQUAL(a, b)   ((a) == (b))
#define EQUAL_F(a, b) (((a) == (b)) | (((a) != (a)) & ((b) != (b))))

/* Compilers read pairs with vectors only if they know the step. */
#define BY_STEP(BODY)                                                                  \
    if (step == 1)                                                                     \
        BODY(1)                                                                        \
    else if (step == 2)                                                                \
        BODY(2)                                                                        \
    else                                                                               \
        BODY(step)

#define MAX_OF_MORE(s)                                                                 \
    for (size_t i = 0; i < n; i++) {                                                   \
        T v = x[(ptrdiff_t)i * (s)], old = to[i];                                      \
        to[i] = MORE(old, v);                                                          \
    }
#define MAX_OF_MORE_F(s)                                                               \
    for (size_t i = 0; i < n; i++) {                                                   \
        T v = x[(ptrdiff_t)i * (s)], old = to[i];                                      \
        to[i] = MORE_F(old, v);                                                        \
    }
#define EXTREME(N, T_, M_, B_)                                                         \
    static void max_##N(void *to_, const void *x_, size_t n, ptrdiff_t step) {         \
        typedef T_ T;                                                                  \
        T *restrict to = to_;                                                          \
        const T *restrict x = x_;                                                      \
        BY_STEP(MAX_OF_##M_)                                                           \
    }                                                                                  \
    static void best_row_##N(const PoolBest *best, const void *x_, size_t n,           \
                             int64_t row) {                                            \
        T_ *restrict to = best->value;                                                 \
        int64_t *restrict at = best->row;                                              \
        const T_ *restrict x = x_;                                                     \
        for (size_t i = 0; i < n; i++) {                                               \
            bool take = B_(to[i], x[i]);                                               \
            to[i] = take ? x[i] : to[i];                                               \
            at[i] = take ? row : at[i];                                                \
        }                                                                              \
    }                                                                                  \
    static void best_across_##N(const PoolBest *best, const PoolBest *from, size_t n,  \
                                ptrdiff_t step, int64_t first, int64_t width) {        \
        T_ *restrict to = best->value;                                                 \
        int64_t *restrict row = best->row, *restrict at = best->at;                    \
        const T_ *restrict x = from->value;                                            \
        const int64_t *restrict r = from->row;                                         \
        BY_STEP(B_##_ACROSS)                                                           \
    }
#define ACROSS(s, B, SAME)                                                             \
    for (size_t i = 0; i < n; i++) {                                                   \
        ptrdiff_t k = (ptrdiff_t)i * (s);                                              \
        bool take =                                                                    \
            (at[i] < 0) | B(to[i], x[k]) | (SAME(to[i], x[k]) & (r[k] < row[i]));      \
        to[i] = take ? x[k] : to[i];                                                   \
        row[i] = take ? r[k] : row[i];                                                 \
        at[i] = take ? r[k] * width + first + k : at[i];                               \
    }
#define BEATS_ACROSS(s)   ACROSS(s, BEATS, EQUAL)
#define BEATS_F_ACROSS(s) ACROSS(s, BEATS_F, EQUAL_F)
EXTREME(i8, int8_t, MORE, BEATS)
EXTREME(i16, int16_t, MORE, BEATS)
EXTREME(i32, int32_t, MORE, BEATS)
EXTREME(i64, int64_t, MORE, BEATS)
EXTREME(u8, uint8_t, MORE, BEATS)
EXTREME(u16, uint16_t, MORE, BEATS)
EXTREME(u32, uint32_t, MORE, BEATS)
EXTREME(u64, uint64_t, MORE, BEATS)
EXTREME(f32, float, MORE_F, BEATS_F)
EXTREME(f64, double, MORE_F, BEATS_F)

#define SUM_OF(s)                                                                      \
    for (size_t i = 0; i < n; i++)                                                     \
        to[i] += (double)x[(ptrdiff_t)i * (s)];
#define SUM(N, T)                                                                      \
    static void sum_##N(void *to_, const void *x_, size_t n, ptrdiff_t step) {         \
        double *restrict to = to_;                                                     \
        const T *restrict x = x_;                                                      \
        BY_STEP(SUM_OF)                                                                \
    }
SUM(f32, float)
SUM(f64, double)

#define SCATTER_OF(s)                                                                  \
    for (size_t i = 0; i < n; i++)                                                     \
        to[(ptrdiff_t)i * (s)] += x[i];
static void scatter(double *restrict to, const double *restrict x, size_t n,
                    ptrdiff_t step) {
    BY_STEP(SCATTER_OF)
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
    .best_across = BY_DTYPE(best_across),
    .sum = {[DT_FLOAT32] = sum_f32, [DT_FLOAT64] = sum_f64},
    .scatter = scatter,
};
