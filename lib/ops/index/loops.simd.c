/* Inner loops of gathering and scattering, compiled once per CPU level: by element size
 * where bits are only moved, by dtype where they are combined. */
#include "ops/index/loops.h"

#include "base/level.h"

#include <string.h>
#if TL_LEVEL > 0
#include <immintrin.h>
#endif

/* The bytes at which the indices v are, wrapped; false if one is out of range. */
static bool wrap(const int64_t *v, int64_t n, int64_t axis_size, int64_t axis_stride,
                 int64_t base, int64_t *restrict offset) {
    uint64_t size = (uint64_t)axis_size, stride = (uint64_t)axis_stride, bad = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t i = (uint64_t)v[k], from_end = (uint64_t)(v[k] >> 63);
        i += size & from_end;
        bad |= i >= size ? ~UINT64_C(0) : 0;
        offset[k] = (int64_t)(i * stride + (uint64_t)base);
    }
    return !bad;
}

/* By the sign of what they are and of what is between them and the last one, which all
 * levels have vectors for. */
static bool within(const int64_t *v, int64_t n, int64_t size) {
    int64_t any = 0;
    for (int64_t k = 0; k < n; k++)
        any |= v[k] | (int64_t)((uint64_t)size - 1 - (uint64_t)v[k]);
    return any >= 0;
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

#if TL_LEVEL == 1
/* The words of the elements that are in a set of four, first those. */
#define WORDS_OF(e) (2 * (e)), (2 * (e) + 1)
#define CHOICE(a, b, c, d)                                                             \
    { WORDS_OF(a), WORDS_OF(b), WORDS_OF(c), WORDS_OF(d) }
static const int32_t choice[16][8] = {
    CHOICE(0, 0, 0, 0), CHOICE(0, 0, 0, 0), CHOICE(1, 0, 0, 0), CHOICE(0, 1, 0, 0),
    CHOICE(2, 0, 0, 0), CHOICE(0, 2, 0, 0), CHOICE(1, 2, 0, 0), CHOICE(0, 1, 2, 0),
    CHOICE(3, 0, 0, 0), CHOICE(0, 3, 0, 0), CHOICE(1, 3, 0, 0), CHOICE(0, 1, 3, 0),
    CHOICE(2, 3, 0, 0), CHOICE(0, 2, 3, 0), CHOICE(1, 2, 3, 0), CHOICE(0, 1, 2, 3)};
static inline void store_compressed(int64_t *to, int set, __m256i four) {
    const __m256i pick = _mm256_loadu_si256((const __m256i *)(const void *)choice[set]);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32(four, pick));
}
#endif

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
#elif TL_LEVEL == 1
    __m256i at =
        _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_setr_epi64x(0, 1, 2, 3));
    for (; i + 8 <= n && found + 8 <= room; i += 8) {
        __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(flag + i));
        int set = ~_mm_movemask_epi8(_mm_cmpeq_epi8(eight, _mm_setzero_si128()));
        for (int half = 0; half < 2; half++, set >>= 4) {
            store_compressed(to + found, set & 15, at);
            found += __builtin_popcount((unsigned)set & 15);
            at = _mm256_add_epi64(at, _mm256_set1_epi64x(4));
        }
    }
#endif
    for (; i < n && found < room; i++) {
        to[found] = first + i;
        found += flag[i] != 0;
    }
    return found;
}

/* ---- moving bits ---- */
static inline uint32_t word(const char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t double_word(const char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
/* Four elements are stored at once: stores are what limits gathering from near
 * caches. */
#define FOUR(N, T, READ, UNIT)                                                         \
    for (; i + 4 <= n; i += 4) {                                                       \
        const int64_t *o = at + i;                                                     \
        T four __attribute__((vector_size(4 * N))) = {                                 \
            READ(base + o[0] * UNIT), READ(base + o[1] * UNIT),                        \
            READ(base + o[2] * UNIT), READ(base + o[3] * UNIT)};                       \
        memcpy(out + i * N, &four, 4 * N);                                             \
    }
#define TOGETHER_1(UNIT)
#define TOGETHER_2(UNIT)
#define TOGETHER_4(UNIT) FOUR(4, uint32_t, word, UNIT)
#define TOGETHER_8(UNIT) FOUR(8, uint64_t, double_word, UNIT)
#define TOGETHER_16(UNIT)
#define GATHER(NAME, N, UNIT)                                                          \
    static void NAME##_##N(int64_t n, char *out, const char *base,                     \
                           const int64_t *at) {                                        \
        int64_t i = 0;                                                                 \
        TOGETHER_##N(UNIT) for (; i < n; i++)                                          \
            memcpy(out + i * N, base + at[i] * UNIT, N);                               \
    }
#define MOVES(N)                                                                       \
    GATHER(gather, N, 1)                                                               \
    GATHER(pick, N, N)                                                                 \
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

#if TL_LEVEL == 2
/* Of more reads from far away, more are on their way at the same time. */
#define FAR_4(NAME, UNIT)                                                              \
    static void NAME##_far_4(int64_t n, char *out, const char *base,                   \
                             const int64_t *at) {                                      \
        int64_t i = 0;                                                                 \
        for (; i + 8 <= n; i += 8)                                                     \
            _mm256_storeu_si256(                                                       \
                (__m256i *)(void *)(out + i * 4),                                      \
                _mm512_i64gather_epi32(_mm512_loadu_si512(at + i), base, UNIT));       \
        NAME##_4(n - i, out + i * 4, base, at + i);                                    \
    }
#define FAR_8(NAME, UNIT)                                                              \
    static void NAME##_far_8(int64_t n, char *out, const char *base,                   \
                             const int64_t *at) {                                      \
        int64_t i = 0;                                                                 \
        for (; i + 8 <= n; i += 8)                                                     \
            _mm512_storeu_si512(                                                       \
                out + i * 8,                                                           \
                _mm512_i64gather_epi64(_mm512_loadu_si512(at + i), base, UNIT));       \
        NAME##_8(n - i, out + i * 8, base, at + i);                                    \
    }
FAR_4(gather, 1)
FAR_4(pick, 4)
FAR_8(gather, 1)
FAR_8(pick, 8)
#else
#define gather_far_4 gather_4
#define gather_far_8 gather_8
#define pick_far_4   pick_4
#define pick_far_8   pick_8
#endif

/* Rows of N to 2 N bytes as their first N and their last N. */
#define HALVES(N)                                                                      \
    static void halves_##N(int64_t n, char *out, const char *base,                     \
                           const int64_t *offset, size_t bytes) {                      \
        size_t rest = bytes - N;                                                       \
        for (int64_t i = 0; i < n; i++, out += bytes) {                                \
            const char *x = base + offset[i];                                          \
            memcpy(out, x, N);                                                         \
            memcpy(out + rest, x + rest, N);                                           \
        }                                                                              \
    }
HALVES(1)
HALVES(2)
HALVES(4)
HALVES(8)
HALVES(16)
HALVES(32)
HALVES(64)

static void gather_short(int64_t n, char *out, const char *base, const int64_t *offset,
                         size_t bytes) {
    (bytes >= 64   ? halves_64
     : bytes >= 32 ? halves_32
     : bytes >= 16 ? halves_16
     : bytes >= 8  ? halves_8
     : bytes >= 4  ? halves_4
     : bytes >= 2  ? halves_2
                   : halves_1)(n, out, base, offset, bytes);
}

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
/* ... or nan. Chosen by bits: compilers make a store of it that a branch jumps over,
 * which scattered elements mispredict. */
#define PICK(T, U)                                                                     \
    static inline T pick_##T(bool first, T a, T b) {                                   \
        U x, y, all = (U)0 - (U)first;                                                 \
        memcpy(&x, &a, sizeof x);                                                      \
        memcpy(&y, &b, sizeof y);                                                      \
        x = (x & all) | (y & ~all);                                                    \
        memcpy(&a, &x, sizeof x);                                                      \
        return a;                                                                      \
    }
PICK(float, uint32_t)
PICK(double, uint64_t)
#define CHOOSE(C, a, b) _Generic((a), float : pick_float, double : pick_double)(C, a, b)
#define MOST(a, b)      CHOOSE((int)((a) < (b)) | ((b) != (b)), b, a)
#define LEAST(a, b)     CHOOSE((int)((a) > (b)) | ((b) != (b)), b, a)
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
        T same;                                                                        \
        memcpy(&same, y, sizeof same);                                                 \
        if (step == 0)                                                                 \
            for (int64_t i = 0; i < n; i++)                                            \
                one_##NAME(base + offset[i], (const char *)&same);                     \
        else                                                                           \
            for (int64_t i = 0; i < n; i++)                                            \
                one_##NAME(base + offset[i], y + i * step);                            \
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
    .within = within,
    .count = count,
    .positions = positions,
    .gather = BY_SIZE(gather_),
    .gather_far = {gather_1, gather_2, gather_far_4, gather_far_8, gather_16},
    .pick = BY_SIZE(pick_),
    .pick_far = {pick_1, pick_2, pick_far_4, pick_far_8, pick_16},
    .gather_short = gather_short,
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
