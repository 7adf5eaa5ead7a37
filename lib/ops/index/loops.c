/* Inner loops of gathering and scattering: by element size where bits are only moved,
 * by dtype where they are added. */
#include "ops/index/loops.h"

#include <string.h>

#define MOVES(N)                                                                       \
    static void gather_##N(int64_t n, char *out, const char *base,                     \
                           const int64_t *offset) {                                    \
        for (int64_t i = 0; i < n; i++)                                                \
            memcpy(out + i * N, base + offset[i], N);                                  \
    }                                                                                  \
    static void set_##N(int64_t n, char *base, const int64_t *offset, const char *y,   \
                        int64_t step) {                                                \
        for (int64_t i = 0; i < n; i++)                                                \
            memcpy(base + offset[i], y + i * step, N);                                 \
    }                                                                                  \
    static void row_set_##N(int64_t n, char *dst, int64_t to, const char *y,           \
                            int64_t step) {                                            \
        for (int64_t i = 0; i < n; i++)                                                \
            memcpy(dst + i * to, y + i * step, N);                                     \
    }
MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

#define BY_SIZE(P, item)                                                               \
    ((item) == 1   ? P##1                                                              \
     : (item) == 2 ? P##2                                                              \
     : (item) == 4 ? P##4                                                              \
     : (item) == 8 ? P##8                                                              \
                   : P##16)

GatherFn *index_gather_fn(size_t item) {
    return BY_SIZE(gather_, item);
}
ScatterFn *index_scatter_set(size_t item) {
    return BY_SIZE(set_, item);
}
RowFn *index_row_set(size_t item) {
    return BY_SIZE(row_set_, item);
}

/* Integers are added as unsigned: they wrap. */
#define PLUS(a, b) ((a) + (b))
#define OR(a, b)   ((a) | (b))
#define HALF(a, b) half_from_double(half_to_double(a) + half_to_double(b))
#define ADDS(NAME, T, F)                                                               \
    static inline void one_##NAME(char *to, const char *y) {                           \
        T a, b;                                                                        \
        memcpy(&a, to, sizeof a);                                                      \
        memcpy(&b, y, sizeof b);                                                       \
        a = (T)F(a, b);                                                                \
        memcpy(to, &a, sizeof a);                                                      \
    }                                                                                  \
    static void add_##NAME(int64_t n, char *base, const int64_t *offset,               \
                           const char *y, int64_t step) {                              \
        for (int64_t i = 0; i < n; i++)                                                \
            one_##NAME(base + offset[i], y + i * step);                                \
    }                                                                                  \
    static void row_add_##NAME(int64_t n, char *dst, int64_t to, const char *y,        \
                               int64_t step) {                                         \
        if (to == (int64_t)sizeof(T) && step == to) {                                  \
            for (int64_t i = 0; i < n; i++)                                            \
                one_##NAME(dst + i * (int64_t)sizeof(T), y + i * (int64_t)sizeof(T));  \
            return;                                                                    \
        }                                                                              \
        for (int64_t i = 0; i < n; i++)                                                \
            one_##NAME(dst + i * to, y + i * step);                                    \
    }
ADDS(bool, uint8_t, OR)
ADDS(8, uint8_t, PLUS)
ADDS(16, uint16_t, PLUS)
ADDS(32, uint32_t, PLUS)
ADDS(64, uint64_t, PLUS)
ADDS(f16, uint16_t, HALF)
ADDS(f32, float, PLUS)
ADDS(f64, double, PLUS)
ADDS(c64, float _Complex, PLUS)
ADDS(c128, double _Complex, PLUS)

#define BY_DTYPE(P)                                                                    \
    [DT_BOOL] = P##bool, [DT_INT8] = P##8, [DT_INT16] = P##16, [DT_INT32] = P##32,     \
    [DT_INT64] = P##64, [DT_UINT8] = P##8, [DT_UINT16] = P##16, [DT_UINT32] = P##32,   \
    [DT_UINT64] = P##64, [DT_FLOAT16] = P##f16, [DT_FLOAT32] = P##f32,                 \
    [DT_FLOAT64] = P##f64, [DT_COMPLEX64] = P##c64, [DT_COMPLEX128] = P##c128

ScatterFn *scatter_add(DType d) {
    static ScatterFn *const fn[DT_N] = {BY_DTYPE(add_)};
    return fn[d];
}
RowFn *index_row_add(DType d) {
    static RowFn *const fn[DT_N] = {BY_DTYPE(row_add_)};
    return fn[d];
}
