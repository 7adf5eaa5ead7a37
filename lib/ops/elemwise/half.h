/* float16 in blocks: converted to float32, processed by the float32 loop, rounded once.
 * The conversions use the CPU's instructions (F16C, or 64-bit Arm's) if present, else
 * equivalent integer operations. */
#ifndef OPS_ELEMWISE_HALF_H
#define OPS_ELEMWISE_HALF_H

#include "op/op.h"

#include <string.h>
#if TL_LEVEL > 0
#include <immintrin.h>
#endif

enum { HALF_BLOCK = 256, HALF_INPUTS = 4 };

static inline float bits_f32(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline uint32_t f32_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Shifts exponent and fraction into place; the factor re-biases the exponent and
 * normalises subnormals. */
static inline float half_widen(uint16_t h) {
    uint32_t em = (uint32_t)(h & 0x7FFF) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t finite = f32_bits(bits_f32(em) * 0x1p112F);
    uint32_t nan = (h & 0x3FF) != 0 ? 0x400000 : 0;
    return bits_f32((em >= 0x0F800000 ? em | 0x70000000 | nan : finite) | sign);
}

/* Normal results round by integer carry (up to inf); subnormal ones by adding a float
 * whose last place equals theirs. */
static inline uint16_t half_narrow(float f) {
    uint32_t u = f32_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFF;
    uint32_t normal = (a + 0xC8000FFF + (a >> 13 & 1)) >> 13;
    uint32_t tiny = f32_bits(bits_f32(a < 0x38800000 ? a : 0) + 0.5F) - 0x3F000000;
    uint32_t huge = a > 0x7F800000 ? 0x7E00 | (a >> 13 & 0x3FF) : 0x7C00;
    uint32_t r = a < 0x38800000 ? tiny : a >= 0x47800000 ? huge : normal;
    return (uint16_t)(r | sign);
}

#if TL_LEVEL == 0 && defined(__ARM_FP16_FORMAT_IEEE)
static inline void half_widen_block(size_t n, const uint16_t *h, float *f) {
    for (size_t i = 0; i < n; i++) {
        __fp16 x;
        memcpy(&x, h + i, sizeof x);
        f[i] = x;
    }
}
static inline void half_narrow_block(size_t n, const float *f, uint16_t *h) {
    for (size_t i = 0; i < n; i++) {
        __fp16 x = (__fp16)f[i];
        memcpy(h + i, &x, sizeof x);
    }
}
#elif TL_LEVEL > 0
static inline void half_widen_block(size_t n, const uint16_t *h, float *f) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(f + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const void *)(h + i))));
    for (; i < n; i++)
        f[i] = _cvtsh_ss(h[i]);
}
static inline void half_narrow_block(size_t n, const float *f, uint16_t *h) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(h + i), _mm256_cvtps_ph(_mm256_loadu_ps(f + i),
                                                          _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        h[i] = (uint16_t)_cvtss_sh(f[i], _MM_FROUND_TO_NEAREST_INT);
}
#else
static inline void half_widen_block(size_t n, const uint16_t *h, float *f) {
    for (size_t i = 0; i < n; i++)
        f[i] = half_widen(h[i]);
}
static inline void half_narrow_block(size_t n, const float *f, uint16_t *h) {
    for (size_t i = 0; i < n; i++)
        h[i] = half_narrow(f[i]);
}
#endif

/* Runs a float32 loop with nin inputs on float16 data; the result is float16 too, or
 * bytes. */
static inline unsigned half_loop(Loop *loop, size_t nin, size_t size, size_t n,
                                 const void *const *in, void *const *out) {
    _Alignas(64) float wide[HALF_INPUTS][HALF_BLOCK];
    _Alignas(64) float result[HALF_BLOCK];
    const void *arg[HALF_INPUTS] = {wide[0], wide[1], wide[2], wide[3]};
    unsigned fault = 0;
    for (size_t at = 0, m; at < n; at += m) {
        m = n - at < HALF_BLOCK ? n - at : HALF_BLOCK;
        for (size_t k = 0; k < nin; k++)
            half_widen_block(m, (const uint16_t *)in[k] + at, wide[k]);
        void *r = size ? (void *)((char *)out[0] + at * size) : result;
        fault |= loop(m, arg, &r);
        if (!size) half_narrow_block(m, result, (uint16_t *)out[0] + at);
    }
    return fault;
}

#endif
