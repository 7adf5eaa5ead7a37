/* Permutations by a variable, which the baseline lacks. */
#include "value/pattern.h"

#if TL_LEVEL > 0
#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)

enum { BYTES = TL_LEVEL == 2 ? 64 : 32, WORDS = BYTES / sizeof(uint32_t) };
typedef uint32_t Words __attribute__((vector_size(BYTES)));
typedef uint32_t AnyWords __attribute__((vector_size(BYTES), aligned(1), may_alias));

#ifdef __clang__
#include <immintrin.h>
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
#else
typedef int pattern_has_no_loop;
#endif
