/* Comparisons of numbers of 32 and 64 bits for AVX2: compilers narrow their masks to
 * bytes in many steps. The kernels are those of compare.def, of two vectors instead of
 * two numbers. */
#ifndef OPS_ELEMWISE_COMPARE256_H
#define OPS_ELEMWISE_COMPARE256_H

#include <immintrin.h>

enum { MASKS = 32 }; /* in a vector of bytes */

#define PACK_32(m)                                                                     \
    _mm256_packs_epi16(_mm256_packs_epi32((m)[0], (m)[1]),                             \
                       _mm256_packs_epi32((m)[2], (m)[3]))
/* Halves of vectors are packed apart, so that parts of four must be put in order. */
static inline void put_masks_4(uint8_t *to, const __m256i *m) {
    __m256i r = _mm256_permutevar8x32_epi32(PACK_32(m),
                                            _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    r = _mm256_and_si256(r, _mm256_set1_epi8(1));
    _mm256_storeu_si256((__m256i *)(void *)to, r);
}
/* Of 64 bits, parts of two. */
static inline void put_masks_8(uint8_t *to, const __m256i *m) {
    __m256i half[4], r;
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        half[k] = _mm256_castps_si256(_mm256_shuffle_ps(
            _mm256_castsi256_ps(m[2 * k]), _mm256_castsi256_ps(m[2 * k + 1]), 0x88));
    r = _mm256_and_si256(PACK_32(half), _mm256_set1_epi8(1));
    __m128i lo = _mm256_castsi256_si128(r), hi = _mm256_extracti128_si256(r, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi16(lo, hi));
    _mm_storeu_si128((__m128i *)(void *)(to + 16), _mm_unpackhi_epi16(lo, hi));
}

#define LOOP_MASKS(name, sfx, X, BYTES, kernel)                                        \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        typedef X V __attribute__((vector_size(32)));                                  \
        typedef X U __attribute__((vector_size(32), aligned(sizeof(X)), may_alias));   \
        const X *px = in[0], *py = in[1];                                              \
        uint8_t *pr = out[0];                                                          \
        size_t i = 0;                                                                  \
        for (; i + MASKS <= n; i += MASKS) {                                           \
            __m256i m[BYTES];                                                          \
            _Pragma("GCC unroll 8") for (size_t k = 0; k < BYTES; k++) {               \
                const size_t at = i + k * (MASKS / BYTES);                             \
                const V x = (V) * (const U *)(const void *)(px + at),                  \
                        y = (V) * (const U *)(const void *)(py + at);                  \
                m[k] = (__m256i)(kernel);                                              \
            }                                                                          \
            put_masks_##BYTES(pr + i, m);                                              \
        }                                                                              \
        for (; i < n; i++) {                                                           \
            const X x = px[i], y = py[i];                                              \
            pr[i] = (uint8_t)(kernel);                                                 \
        }                                                                              \
        return 0;                                                                      \
    }

/* By the number of inputs and the dtype. */
#undef LOOP_
#define LOOP_(k, out, name, sfx, X, W, RX, e)                                          \
    LOOP_##k##_##sfx(k, name, sfx, X, W, RESULT_##out(X, RX), e)

#define LOOP_1_b    LOOP
#define LOOP_1_u8   LOOP
#define LOOP_1_i8   LOOP
#define LOOP_1_u16  LOOP
#define LOOP_1_i16  LOOP
#define LOOP_1_u32  LOOP
#define LOOP_1_i32  LOOP
#define LOOP_1_u64  LOOP
#define LOOP_1_i64  LOOP
#define LOOP_1_f32  LOOP
#define LOOP_1_f64  LOOP
#define LOOP_1_c64  LOOP
#define LOOP_1_c128 LOOP
#define LOOP_2_b    LOOP
#define LOOP_2_u8   LOOP
#define LOOP_2_i8   LOOP
#define LOOP_2_u16  LOOP
#define LOOP_2_i16  LOOP
#define LOOP_2_c64  LOOP
#define LOOP_2_c128 LOOP

#define LOOP_2_u32(k, name, sfx, X, W, R, e) LOOP_MASKS(name, sfx, X, 4, e)
#define LOOP_2_i32(k, name, sfx, X, W, R, e) LOOP_MASKS(name, sfx, X, 4, e)
#define LOOP_2_f32(k, name, sfx, X, W, R, e) LOOP_MASKS(name, sfx, X, 4, e)
#define LOOP_2_u64(k, name, sfx, X, W, R, e) LOOP_MASKS(name, sfx, X, 8, e)
#define LOOP_2_i64(k, name, sfx, X, W, R, e) LOOP_MASKS(name, sfx, X, 8, e)
#define LOOP_2_f64(k, name, sfx, X, W, R, e) LOOP_MASKS(name, sfx, X, 8, e)

#endif
