/* Inner loops of gathering and scattering, compiled once per CPU level: by element size
 * where bits are only moved, by dtype where they are combined. */
#include "ops/index/loops.h"

#include <string.h>
#if TL_LEVEL == 2
#include <immintrin.h>
#endif

#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)
#define LEVEL(name) JOIN1(name, TL_LEVEL)

/* The bytes at which the indices v are, wrapped; false if one is out of range. */
static bool wrap(const int64_t *v, int64_t n, int64_t axis_size, int64_t axis_stride,
                 int64_t *restrict offset) {
    uint64_t size = (uint64_t)axis_size, stride = (uint64_t)axis_stride, bad = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t i = (uint64_t)v[k], from_end = (uint64_t)(v[k] >> 63);
        i += size & from_end;
        bad |= i >= size ? ~UINT64_C(0) : 0;
        offset[k] = (int64_t)(i * stride);
    }
    return !bad;
}

/* In parts whose counts fit 32 bits, which vectors add faster than 64. */
static int64_t count(const uint8_t *flag, int64_t n) {
    enum { PART = 1 << 20 };
    int64_t all = 0;
    for (int64_t at = 0; at < n; at += PART) {
        uint32_t some = 0;
        int64_t m = n - at < PART ? n - at : PART;
        for (int64_t i = 0; i < m; i++)
            some += flag[at + i];
        all += some;
    }
    return all;
}

/* Each position is written where the next one belongs, without a branch on the flag. */
static int64_t positions(const uint8_t *flag, int64_t n, int64_t first, int64_t *to,
                         int64_t room) {
    int64_t found = 0, i = 0;
#if TL_LEVEL == 2
    __m512i at = _mm512_add_epi64(_mm512_set1_epi64(first),
                                  _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    for (; i + 8 <= n && found + 8 <= room; i += 8) {
        __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(flag + i));
        __mmask8 set = (__mmask8)_mm_test_epi8_mask(eight, eight);
        _mm512_storeu_si512(to + found, _mm512_maskz_compress_epi64(set, at));
        found += __builtin_popcount(set);
        at = _mm512_add_epi64(at, _mm512_set1_epi64(8));
    }
#endif
    for (; i < n && found < room; i++) {
        to[found] = first + i;
        found += flag[i] != 0;
    }
    return found;
}

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
        if (to == N && step == N) {                                                    \
            memmove(dst, y, (size_t)n *N);                                             \
            return;                                                                    \
        }                                                                              \
        for (int64_t i = 0; i < n; i++)                                                \
            memcpy(dst + i * to, y + i * step, N);                                     \
    }
MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

#define OWN(x)      (x)
#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define UTIMES(a, b)                                                                   \
    (1U * (a) * (b)) /* short ones would become int, which overflows                   \
                      */
#define OR(a, b)   ((a) | (b))
#define AND(a, b)  ((a) & (b))
#define MORE(a, b) ((a) < (b) ? (b) : (a))
#define LESS(a, b) ((a) > (b) ? (b) : (a))
/* ... or nan */
#define MOST(a, b)  ((a) < (b) || (b) != (b) ? (b) : (a))
#define LEAST(a, b) ((a) > (b) || (b) != (b) ? (b) : (a))
/* NAME, of elements of type T that F combines as what READ makes of them. */
#define FOLD(NAME, T, F, READ, WRITE)                                                  \
    static inline void one_##NAME(char *to, const char *y) {                           \
        T a, b;                                                                        \
        memcpy(&a, to, sizeof a);                                                      \
        memcpy(&b, y, sizeof b);                                                       \
        a = (T)WRITE(F(READ(a), READ(b)));                                             \
        memcpy(to, &a, sizeof a);                                                      \
    }                                                                                  \
    static void scatter_##NAME(int64_t n, char *base, const int64_t *offset,           \
                               const char *y, int64_t step) {                          \
        for (int64_t i = 0; i < n; i++)                                                \
            one_##NAME(base + offset[i], y + i * step);                                \
    }                                                                                  \
    static void row_##NAME(int64_t n, char *dst, int64_t to, const char *y,            \
                           int64_t step) {                                             \
        if (to == (int64_t)sizeof(T) && step == to) {                                  \
            for (int64_t i = 0; i < n; i++)                                            \
                one_##NAME(dst + i * (int64_t)sizeof(T), y + i * (int64_t)sizeof(T));  \
            return;                                                                    \
        }                                                                              \
        for (int64_t i = 0; i < n; i++)                                                \
            one_##NAME(dst + i * to, y + i * step);                                    \
    }
#define FLOATS(NAME, F)                                                                \
    FOLD(NAME##f16, uint16_t, F, half_to_double, half_from_double)                     \
    FOLD(NAME##f32, float, F, OWN, OWN)                                                \
    FOLD(NAME##f64, double, F, OWN, OWN)
#define UNSIGNED(NAME, F)                                                              \
    FOLD(NAME##u8, uint8_t, F, OWN, OWN)                                               \
    FOLD(NAME##u16, uint16_t, F, OWN, OWN)                                             \
    FOLD(NAME##u32, uint32_t, F, OWN, OWN)                                             \
    FOLD(NAME##u64, uint64_t, F, OWN, OWN)
#define COMPLEX(NAME, F)                                                               \
    FOLD(NAME##c64, float _Complex, F, OWN, OWN)                                       \
    FOLD(NAME##c128, double _Complex, F, OWN, OWN)
#define SIGNED(NAME, F)                                                                \
    FOLD(NAME##i8, int8_t, F, OWN, OWN)                                                \
    FOLD(NAME##i16, int16_t, F, OWN, OWN)                                              \
    FOLD(NAME##i32, int32_t, F, OWN, OWN)                                              \
    FOLD(NAME##i64, int64_t, F, OWN, OWN)
/* Integers are added and multiplied as unsigned: they wrap. */
#define RING(NAME, F, U, B)                                                            \
    FOLD(NAME##bool, uint8_t, B, OWN, OWN)                                             \
    UNSIGNED(NAME, U)                                                                  \
    FLOATS(NAME, F)                                                                    \
    COMPLEX(NAME, F)
#define ORDER(NAME, F, I, B)                                                           \
    FOLD(NAME##bool, uint8_t, B, OWN, OWN)                                             \
    UNSIGNED(NAME, I)                                                                  \
    SIGNED(NAME, I)                                                                    \
    FLOATS(NAME, F)
RING(add_, PLUS, PLUS, OR)
RING(mul_, TIMES, UTIMES, AND)
ORDER(max_, MOST, MORE, OR)
ORDER(min_, LEAST, LESS, AND)

#define BY_DTYPE(P, I)                                                                 \
    [DT_BOOL] = P##bool, [DT_INT8] = P##I##8, [DT_INT16] = P##I##16,                   \
    [DT_INT32] = P##I##32, [DT_INT64] = P##I##64, [DT_UINT8] = P##u8,                  \
    [DT_UINT16] = P##u16, [DT_UINT32] = P##u32, [DT_UINT64] = P##u64,                  \
    [DT_FLOAT16] = P##f16, [DT_FLOAT32] = P##f32, [DT_FLOAT64] = P##f64
#define ALL(P) BY_DTYPE(P, u), [DT_COMPLEX64] = P##c64, [DT_COMPLEX128] = P##c128

#define BY_SIZE(P)                                                                     \
    { P##1, P##2, P##4, P##8, P##16 }
extern const IndexLoops LEVEL(index_loops_);
const IndexLoops LEVEL(index_loops_) = {
    .wrap = wrap,
    .count = count,
    .positions = positions,
    .gather = BY_SIZE(gather_),
    .set = BY_SIZE(set_),
    .row_set = BY_SIZE(row_set_),
    .fold = {[INDEX_ADD] = {ALL(scatter_add_)},
             [INDEX_MUL] = {ALL(scatter_mul_)},
             [INDEX_MAX] = {BY_DTYPE(scatter_max_, i)},
             [INDEX_MIN] = {BY_DTYPE(scatter_min_, i)}},
    .row_fold = {[INDEX_ADD] = {ALL(row_add_)},
                 [INDEX_MUL] = {ALL(row_mul_)},
                 [INDEX_MAX] = {BY_DTYPE(row_max_, i)},
                 [INDEX_MIN] = {BY_DTYPE(row_min_, i)}}};
