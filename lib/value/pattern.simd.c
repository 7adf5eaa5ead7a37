/* Permutations by a variable, which the baseline lacks. */
#include "value/pattern.h"

#if TL_LEVEL > 0
#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)

enum { BYTES = TL_LEVEL == 2 ? 64 : 32, WORDS = BYTES / sizeof(uint32_t) };
typedef uint32_t Words __attribute__((vector_size(BYTES)));
typedef uint32_t AnyWords __attribute__((vector_size(BYTES), aligned(1), may_alias));

#include <immintrin.h>
#ifdef __clang__
#if TL_LEVEL == 2
#define PERMUTE(x, pick)                                                               \
    ((Words)_mm512_permutexvar_epi32((__m512i)(pick), (__m512i)(x)))
#else
#define PERMUTE(x, pick)                                                               \
    ((Words)_mm256_permutevar8x32_epi32((__m256i)(x), (__m256i)(pick)))
#endif
#else
#define PERMUTE(x, pick) __builtin_shuffle(x, pick)
#endif

size_t JOIN1(pattern_loop_, TL_LEVEL)(char *dst, const char *src, const char *end,
                                      const int32_t *begin, const uint32_t *pick,
                                      size_t n) {
    for (size_t k = 0; k < n; k++) {
        const char *from = src + begin[k];
        if (end - from < BYTES) return k;
        Words x = *(const AnyWords *)(const void *)from,
              p = *(const AnyWords *)(const void *)(pick + k * WORDS);
        *(AnyWords *)(void *)(dst + k * BYTES) = PERMUTE(x, p);
    }
    return n;
}

#if TL_LEVEL == 1
/* The mark is the sign by which a blend chooses; permutations don't look at it. */
size_t pattern_far_1(char *dst, const char *src, const char *end, const int32_t *begin,
                     const uint32_t *pick, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const char *from = src + begin[k];
        if (end - from < 2 * BYTES) return k;
        const float *x = (const float *)(const void *)from;
        __m256i p =
            _mm256_loadu_si256((const __m256i *)(const void *)(pick + k * WORDS));
        __m256 near = _mm256_permutevar8x32_ps(_mm256_loadu_ps(x), p),
               far = _mm256_permutevar8x32_ps(_mm256_loadu_ps(x + WORDS), p);
        _mm256_storeu_ps((float *)(void *)(dst + k * BYTES),
                         _mm256_blendv_ps(near, far, _mm256_castsi256_ps(p)));
    }
    return n;
}
#else
/* The numbers of the words reach over both: they need no mark. */
size_t pattern_far_2(char *dst, const char *src, const char *end, const int32_t *begin,
                     const uint32_t *pick, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const char *from = src + begin[k];
        if (end - from < 2 * BYTES) return k;
        __m512i near = _mm512_loadu_si512(from), far = _mm512_loadu_si512(from + BYTES),
                p = _mm512_loadu_si512(pick + k * WORDS);
        _mm512_storeu_si512(dst + k * BYTES, _mm512_permutex2var_epi32(near, p, far));
    }
    return n;
}
#endif
#else
typedef int pattern_has_no_loop;
#endif
