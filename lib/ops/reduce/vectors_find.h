/* Where an element is, for AVX2 and AVX-512: the bits of 64 comparisons at a time, so
 * that the CPU guesses once where a search ends. Part of reduce.simd.c. */
#ifndef OPS_REDUCE_VECTORS_FIND_H
#define OPS_REDUCE_VECTORS_FIND_H

#include <immintrin.h>

/* SAME(p, v): bits of the elements of the vector at p that equal all of v, PER of them
 * for each; floats by their own comparison, and nan by that with itself. */
#if TL_LEVEL == 2
#define VECTOR_BYTES  64
#define AT_512(p)     _mm512_loadu_si512((const void *)(p))
#define SAME_8(p, v)  _mm512_cmpeq_epi8_mask(AT_512(p), _mm512_set1_epi8((char)(v)))
#define SAME_16(p, v) _mm512_cmpeq_epi16_mask(AT_512(p), _mm512_set1_epi16((short)(v)))
#define SAME_32(p, v) _mm512_cmpeq_epi32_mask(AT_512(p), _mm512_set1_epi32((int)(v)))
#define SAME_64(p, v)                                                                  \
    _mm512_cmpeq_epi64_mask(AT_512(p), _mm512_set1_epi64((long long)(v)))
#define SAME_FLOAT(p, v, ps)                                                           \
    _mm512_cmp_##ps##_mask(GET(p, ps), VI(set1, ps)(v), _CMP_EQ_OQ)
#define IS_NAN_AT(p, ps) _mm512_cmp_##ps##_mask(GET(p, ps), GET(p, ps), _CMP_UNORD_Q)
enum { PER_16 = 1 };
#else
#define VECTOR_BYTES 32
#define AT_256(p)    _mm256_loadu_si256((const void *)(p))
#define SIGNS(x)     ((uint32_t)(x))
#define SAME_8(p, v)                                                                   \
    SIGNS(_mm256_movemask_epi8(                                                        \
        _mm256_cmpeq_epi8(AT_256(p), _mm256_set1_epi8((char)(v)))))
#define SAME_16(p, v)                                                                  \
    SIGNS(_mm256_movemask_epi8(                                                        \
        _mm256_cmpeq_epi16(AT_256(p), _mm256_set1_epi16((short)(v)))))
#define SAME_32(p, v)                                                                  \
    SIGNS(_mm256_movemask_ps(_mm256_castsi256_ps(                                      \
        _mm256_cmpeq_epi32(AT_256(p), _mm256_set1_epi32((int)(v))))))
#define SAME_64(p, v)                                                                  \
    SIGNS(_mm256_movemask_pd(_mm256_castsi256_pd(                                      \
        _mm256_cmpeq_epi64(AT_256(p), _mm256_set1_epi64x((long long)(v))))))
#define SAME_FLOAT(p, v, ps)                                                           \
    SIGNS(VI(movemask, ps)(VI(cmp, ps)(GET(p, ps), VI(set1, ps)(v), _CMP_EQ_OQ)))
#define IS_NAN_AT(p, ps)                                                               \
    SIGNS(VI(movemask, ps)(VI(cmp, ps)(GET(p, ps), GET(p, ps), _CMP_UNORD_Q)))
enum { PER_16 = 2 };
#endif
#define SAME_f32(p, v) SAME_FLOAT(p, v, ps)
#define SAME_f64(p, v) SAME_FLOAT(p, v, pd)
#define NAN_f32(p, v)  IS_NAN_AT(p, ps)
#define NAN_f64(p, v)  IS_NAN_AT(p, pd)
#define SAME_ONE(a, v) ((a) == (v))
#define NAN_ONE(a, v)  ((a) != (a))

/* The last vector is one that ends with the elements. */
#define FIRST_BITS(NAME, T, SAME, PER, ONE)                                            \
    static size_t NAME(const T *x, T v, size_t n) {                                    \
        enum { W = VECTOR_BYTES / sizeof(T), GROUP = 64 / (PER) };                     \
        size_t i = 0, k = 0;                                                           \
        uint64_t any = 0;                                                              \
        (void)v;                                                                       \
        for (; i + GROUP <= n; i += GROUP) {                                           \
            for (k = 0; k < GROUP; k += W)                                             \
                any |= (uint64_t)SAME(x + i + k, v) << k * (PER);                      \
            if (any) return i + (size_t)__builtin_ctzll(any) / (PER);                  \
        }                                                                              \
        for (k = 0; i + k + W <= n; k += W)                                            \
            any |= (uint64_t)SAME(x + i + k, v) << k * (PER);                          \
        if (any) return i + (size_t)__builtin_ctzll(any) / (PER);                      \
        i += k;                                                                        \
        if (i < n && n >= W) {                                                         \
            any = SAME(x + n - W, v);                                                  \
            return any ? n - W + (size_t)__builtin_ctzll(any) / (PER) : n - 1;         \
        }                                                                              \
        while (i + 1 < n && !ONE(x[i], v))                                             \
            i++;                                                                       \
        return i < n ? i : n - 1;                                                      \
    }
#define FIRST_WHOLE(N, T, PER)                                                         \
    FIRST_BITS(first_##N##_bits, T, SAME_##N, PER, SAME_ONE)                           \
    static size_t first_##N##_quick(const void *x, const void *v, size_t n) {          \
        T m;                                                                           \
        memcpy(&m, v, sizeof m);                                                       \
        return first_##N##_bits(x, m, n);                                              \
    }
FIRST_WHOLE(8, uint8_t, 1)
FIRST_WHOLE(16, uint16_t, PER_16)
FIRST_WHOLE(32, uint32_t, 1)
FIRST_WHOLE(64, uint64_t, 1)
#define FIRST_FLOAT(N, T)                                                              \
    FIRST_BITS(first_##N##_equal, T, SAME_##N, 1, SAME_ONE)                            \
    FIRST_BITS(first_##N##_nan, T, NAN_##N, 1, NAN_ONE)                                \
    static size_t first_##N##_quick(const void *x, const void *v, size_t n) {          \
        T m;                                                                           \
        memcpy(&m, v, sizeof m);                                                       \
        return m == m ? first_##N##_equal(x, m, n) : first_##N##_nan(x, m, n);         \
    }
FIRST_FLOAT(f32, float)
FIRST_FLOAT(f64, double)

#endif
