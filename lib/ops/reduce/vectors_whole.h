/* Integers for AVX2 and AVX-512, where the order of combining doesn't show: sums of
 * short ones, since instructions that add neighbours take fewer steps than converting
 * each to 64 bits, and maxima and minima. Part of reduce.simd.c. */
#ifndef OPS_REDUCE_VECTORS_WHOLE_H
#define OPS_REDUCE_VECTORS_WHOLE_H

#include <immintrin.h>

/* Elements of a 256-bit vector, and steps that don't overflow sums in 32 bits. */
#define WIDE_OF(T) (sizeof(__m256i) / sizeof(T))
enum { STEPS_32 = 8192 };

static inline __m256i whole_at(const void *p) {
    return _mm256_loadu_si256(p);
}
static inline uint64_t whole_total(__m256i t) {
    uint64_t part[4];
    _mm256_storeu_si256((__m256i *)(void *)part, t);
    return part[0] + part[1] + part[2] + part[3];
}
/* Bytes, moved by `bias` to be unsigned: sums of eight of them. */
static inline uint64_t sum_bytes(const uint8_t *x, size_t n, uint8_t bias) {
    const __m256i zero = _mm256_setzero_si256(), by = _mm256_set1_epi8((char)bias);
    __m256i s = zero, t = zero;
    for (size_t i = 0; i < n; i += 2 * WIDE_OF(*x)) {
        ASK(x + i, 2 * WIDE_OF(*x));
        __m256i a = _mm256_xor_si256(whole_at(x + i), by),
                b = _mm256_xor_si256(whole_at(x + i + WIDE_OF(*x)), by);
        s = _mm256_add_epi64(s, _mm256_sad_epu8(a, zero));
        t = _mm256_add_epi64(t, _mm256_sad_epu8(b, zero));
    }
    return whole_total(_mm256_add_epi64(s, t)) - (uint64_t)bias * n;
}
/* Words, moved by `bias` to be signed: sums of two of them, which 32 bits hold for a
 * while. */
static inline uint64_t sum_words(const uint16_t *x, size_t n, uint16_t bias) {
    const __m256i one = _mm256_set1_epi16(1), by = _mm256_set1_epi16((short)bias);
    __m256i all = _mm256_setzero_si256();
    for (size_t i = 0, end; i < n; i = end) {
        __m256i s = _mm256_setzero_si256(), t = s;
        end = n - i < STEPS_32 * WIDE_OF(*x) ? n : i + STEPS_32 * WIDE_OF(*x);
        for (; i < end; i += 2 * WIDE_OF(*x)) {
            ASK(x + i, 2 * sizeof s);
            __m256i a = _mm256_xor_si256(whole_at(x + i), by),
                    b = _mm256_xor_si256(whole_at(x + i + WIDE_OF(*x)), by);
            s = _mm256_add_epi32(s, _mm256_madd_epi16(a, one));
            t = _mm256_add_epi32(t, _mm256_madd_epi16(b, one));
        }
        for (int k = 0; k < 2; k++, s = t) {
            __m128i lo = _mm256_castsi256_si128(s), hi = _mm256_extracti128_si256(s, 1);
            all = _mm256_add_epi64(all, _mm256_cvtepi32_epi64(lo));
            all = _mm256_add_epi64(all, _mm256_cvtepi32_epi64(hi));
        }
    }
    return whole_total(all) + (uint64_t)bias * n;
}
#define SUM_SHORT(N, T, UNSIGNED_T, SUM, BIAS)                                         \
    static void sum_##N##_quick_runs(const char *x, ptrdiff_t step, size_t m,          \
                                     size_t n, void *acc) {                            \
        size_t whole = n / (2 * WIDE_OF(T)) * (2 * WIDE_OF(T));                        \
        uint64_t *to = acc;                                                            \
        sum_##N##_runs(x + whole * sizeof(T), step, n > whole ? m : 0, n - whole, to); \
        for (size_t i = 0; whole && i < m; i++, x += step)                             \
            to[i] = (n > whole ? to[i] : 0) +                                          \
                    SUM((const UNSIGNED_T *)(const void *)x, whole, BIAS);             \
    }
SUM_SHORT(u8, uint8_t, uint8_t, sum_bytes, 0)
SUM_SHORT(i8, int8_t, uint8_t, sum_bytes, 0x80)
SUM_SHORT(u16, uint16_t, uint16_t, sum_words, 0x8000)
SUM_SHORT(i16, int16_t, uint16_t, sum_words, 0)

/* ---- maxima and minima ---- */
#if TL_LEVEL == 2
typedef __m512i Whole;
#define WHOLE_AT(p)   _mm512_loadu_si512((const void *)(p))
#define WHOLE_OP(op)  _mm512_##op
#define MAX_i64(a, b) _mm512_max_epi64(a, b)
#define MIN_i64(a, b) _mm512_min_epi64(a, b)
#define MAX_u64(a, b) _mm512_max_epu64(a, b)
#define MIN_u64(a, b) _mm512_min_epu64(a, b)
#else
typedef __m256i Whole;
#define WHOLE_AT(p)   _mm256_loadu_si256((const void *)(p))
#define WHOLE_OP(op)  _mm256_##op
static inline Whole more_i64(Whole a, Whole b) {
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}
static inline Whole less_i64(Whole a, Whole b) {
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}
static inline Whole moved_u64(Whole a) { /* to the order of signed ones */
    return _mm256_xor_si256(a, _mm256_set1_epi64x(INT64_MIN));
}
static inline Whole more_u64(Whole a, Whole b) {
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(moved_u64(a), moved_u64(b)));
}
static inline Whole less_u64(Whole a, Whole b) {
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(moved_u64(a), moved_u64(b)));
}
#define MAX_i64(a, b) more_i64(a, b)
#define MIN_i64(a, b) less_i64(a, b)
#define MAX_u64(a, b) more_u64(a, b)
#define MIN_u64(a, b) less_u64(a, b)
#endif
#define MAX_i8(a, b)  WHOLE_OP(max_epi8)(a, b)
#define MIN_i8(a, b)  WHOLE_OP(min_epi8)(a, b)
#define MAX_u8(a, b)  WHOLE_OP(max_epu8)(a, b)
#define MIN_u8(a, b)  WHOLE_OP(min_epu8)(a, b)
#define MAX_i16(a, b) WHOLE_OP(max_epi16)(a, b)
#define MIN_i16(a, b) WHOLE_OP(min_epi16)(a, b)
#define MAX_u16(a, b) WHOLE_OP(max_epu16)(a, b)
#define MIN_u16(a, b) WHOLE_OP(min_epu16)(a, b)
#define MAX_i32(a, b) WHOLE_OP(max_epi32)(a, b)
#define MIN_i32(a, b) WHOLE_OP(min_epi32)(a, b)
#define MAX_u32(a, b) WHOLE_OP(max_epu32)(a, b)
#define MIN_u32(a, b) WHOLE_OP(min_epu32)(a, b)

/* The lowest element becomes that of all. */
#if TL_LEVEL == 2
#define HALVED(OP, v)                                                                  \
    v = OP(v, _mm512_shuffle_i64x2(v, v, 0x4E)),    /* 2 3 0 1 */                      \
        v = OP(v, _mm512_shuffle_i64x2(v, v, 0xB1)) /* 1 0 3 2 */
#else
#define HALVED(OP, v) v = OP(v, _mm256_permute2x128_si256(v, v, 1))
#endif
#define WHOLE_EXTREME(NAME, T, OP)                                                     \
    static T NAME##_whole(const T *x, size_t n) {                                      \
        enum { W = sizeof(Whole) / sizeof(T), U = 4 };                                 \
        Whole t[U], v = WHOLE_AT(x);                                                   \
        T out;                                                                         \
        size_t i = 0;                                                                  \
        for (size_t u = 0; u < U; u++)                                                 \
            t[u] = v;                                                                  \
        for (; i + U * W <= n; i += U * W) {                                           \
            ASK(x + i, U * sizeof(Whole));                                             \
            for (size_t u = 0; u < U; u++)                                             \
                t[u] = OP(t[u], WHOLE_AT(x + i + u * W));                              \
        }                                                                              \
        for (size_t u = 0; u < U && i + W <= n; u++, i += W)                           \
            t[u] = OP(t[u], WHOLE_AT(x + i));                                          \
        v = OP(OP(t[0], t[1]), OP(t[2], t[3]));                                        \
        v = OP(v, WHOLE_AT(x + n - W)); /* which ends with the elements */             \
        HALVED(OP, v);                                                                 \
        v = OP(v, WHOLE_OP(bsrli_epi128)(v, 8));                                       \
        if (sizeof(T) < 8) v = OP(v, WHOLE_OP(bsrli_epi128)(v, 4));                    \
        if (sizeof(T) < 4) v = OP(v, WHOLE_OP(bsrli_epi128)(v, 2));                    \
        if (sizeof(T) < 2) v = OP(v, WHOLE_OP(bsrli_epi128)(v, 1));                    \
        memcpy(&out, &v, sizeof out);                                                  \
        return out;                                                                    \
    }                                                                                  \
    static void NAME##_quick_runs(const char *x, ptrdiff_t step, size_t m, size_t n,   \
                                  void *acc) {                                         \
        if (n < sizeof(Whole) / sizeof(T)) {                                           \
            NAME##_runs(x, step, m, n, acc);                                           \
            return;                                                                    \
        }                                                                              \
        for (size_t i = 0; i < m; i++, x += step)                                      \
            ((T *)acc)[i] = NAME##_whole((const T *)(const void *)x, n);               \
    }
#define WHOLE_EXTREMES(N, T)                                                           \
    WHOLE_EXTREME(max_##N, T, MAX_##N)                                                 \
    WHOLE_EXTREME(min_##N, T, MIN_##N)
SIGNED(WHOLE_EXTREMES)
UNSIGNED(WHOLE_EXTREMES)

#endif
