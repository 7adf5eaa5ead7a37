/* Copies that the library has no fast ones for.
 *
 * Bytes to where no cache line begins: there its memcpy takes up to twice as long on
 * CPUs for which it leaves long copies to a string instruction, and stores that cross
 * lines take longer, too. Here all but the first and the last begin with a line or at
 * least don't cross one.
 *
 * Elements in the opposite order, or every other one, a vector at a time. */
#include "value/value_impl.h"

#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if TL_LEVEL == 2
#define COPY_LINE(to, from)                                                            \
    _mm512_store_si512(to, _mm512_loadu_si512((const void *)(from)))
#elif TL_LEVEL == 1
#define COPY_PART(to, from, at)                                                        \
    _mm256_store_si256(                                                                \
        (__m256i *)(void *)((to) + (at)),                                              \
        _mm256_loadu_si256((const __m256i *)(const void *)((from) + (at))))
#define COPY_LINE(to, from) (COPY_PART(to, from, 0), COPY_PART(to, from, 32))
#elif defined(__SSE2__)
#define COPY_PART(to, from, at)                                                        \
    _mm_store_si128((__m128i *)(void *)((to) + (at)),                                  \
                    _mm_loadu_si128((const __m128i *)(const void *)((from) + (at))))
#define COPY_LINE(to, from)                                                            \
    (COPY_PART(to, from, 0), COPY_PART(to, from, 16), COPY_PART(to, from, 32),         \
     COPY_PART(to, from, 48))
#endif

#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)

void JOIN1(copy_unaligned_, TL_LEVEL)(char *restrict dst, const char *restrict src,
                                      size_t n) {
#ifdef COPY_LINE
    enum { LINE = 64 };
    size_t at = LINE - (uintptr_t)dst % LINE;
    memcpy(dst, src, LINE);
    for (; at + LINE <= n; at += LINE)
        COPY_LINE(dst + at, src + at);
    memcpy(dst + n - LINE, src + n - LINE, LINE);
#else
    memcpy(dst, src, n);
#endif
}

/* Plain loops of numbers, which compilers turn into shuffled vectors. */
#define BACKWARDS(SIZE, T)                                                             \
    static void backwards_##SIZE(char *restrict dst, const char *restrict src,         \
                                 size_t n) {                                           \
        for (size_t i = 0; i < n; i++) {                                               \
            T x;                                                                       \
            memcpy(&x, src + (n - 1 - i) * SIZE, SIZE);                                \
            memcpy(dst + i * SIZE, &x, SIZE);                                          \
        }                                                                              \
    }
BACKWARDS(1, uint8_t)
BACKWARDS(2, uint16_t)
BACKWARDS(4, uint32_t)
BACKWARDS(8, uint64_t)

CopyFn *JOIN1(copy_backwards_, TL_LEVEL)(size_t size) {
    return size == 1   ? backwards_1
           : size == 2 ? backwards_2
           : size == 4 ? backwards_4
           : size == 8 ? backwards_8
                       : NULL;
}

/* Vectors read also what is between elements and after them, so that the last ones,
 * behind which there may be nothing, are left. */
#define EVEN_2  0, 2
#define EVEN_4  EVEN_2, 4, 6
#define EVEN_8  EVEN_4, 8, 10, 12, 14
#define EVEN_16 EVEN_8, 16, 18, 20, 22, 24, 26, 28, 30
#define EVENS(T, LANES)                                                                \
    static inline size_t evens_##T##_##LANES(char *restrict d, const char *restrict p, \
                                             size_t i, size_t n) {                     \
        typedef T Vector __attribute__((vector_size(LANES * sizeof(T))));              \
        for (; i + LANES < n; i += LANES) {                                            \
            Vector a, b;                                                               \
            memcpy(&a, p + 2 * i * sizeof(T), sizeof a);                               \
            memcpy(&b, p + 2 * i * sizeof(T) + sizeof a, sizeof b);                    \
            a = __builtin_shufflevector(a, b, EVEN_##LANES);                           \
            memcpy(d + i * sizeof(T), &a, sizeof a);                                   \
        }                                                                              \
        return i;                                                                      \
    }
#if TL_LEVEL == 2
#define BY_512(what) what
#else
#define BY_512(what)
#endif
#if TL_LEVEL > 0
#define BY_256(what) what
#else
#define BY_256(what)
#endif
#define EVERY_OTHER(T, FEW, MORE, MOST)                                                \
    EVENS(T, FEW)                                                                      \
    BY_256(EVENS(T, MORE))                                                             \
    BY_512(EVENS(T, MOST))                                                             \
    static size_t every_other_##T(char *restrict d, const char *restrict p,            \
                                  size_t n) {                                          \
        size_t i = 0;                                                                  \
        BY_512(i = evens_##T##_##MOST(d, p, i, n);)                                    \
        BY_256(i = evens_##T##_##MORE(d, p, i, n);)                                    \
        return evens_##T##_##FEW(d, p, i, n);                                          \
    }
EVERY_OTHER(uint32_t, 4, 8, 16)
EVERY_OTHER(uint64_t, 2, 4, 8)

EveryOtherFn *JOIN1(copy_every_other_, TL_LEVEL)(size_t size) {
    return size == 4 ? every_other_uint32_t : size == 8 ? every_other_uint64_t : NULL;
}
