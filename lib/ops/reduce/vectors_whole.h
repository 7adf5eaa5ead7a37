/* Sums of short integers for AVX2 and AVX-512: instructions that add neighbours take
 * fewer steps than converting each to 64 bits. Integer sums wrap, so that the order
 * doesn't show. Part of reduce.simd.c. */
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

#endif
