/* Vectors of the CPU level that a file is compiled for: of f32 (float), f64 (double)
 * and i32 (uint32_t), for loops in *.simd.c that compilers don't vectorise well. */
#ifndef OP_VECTOR_H
#define OP_VECTOR_H

#include "base/fma.h"
#include "base/level.h"

#include <stdint.h>
#include <string.h>

#if TL_LEVEL > 0
#include <immintrin.h>
#elif HAS_FMA
#include <arm_neon.h>
#endif

#if TL_LEVEL == 2
enum { BYTES = 64 };
#define FMA_f32(a, b, c) ((V_f32)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FMA_f64(a, b, c)                                                               \
    ((V_f64)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif TL_LEVEL == 1
enum { BYTES = 32 };
#define FMA_f32(a, b, c) ((V_f32)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FMA_f64(a, b, c)                                                               \
    ((V_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#elif HAS_FMA
enum { BYTES = 16 };
#define FMA_f32(a, b, c)                                                               \
    ((V_f32)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define FMA_f64(a, b, c)                                                               \
    ((V_f64)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else
enum { BYTES = 16 };
#define FMA_f32(a, b, c) ((a) * (b) + (c))
#define FMA_f64(a, b, c) ((a) * (b) + (c))
#endif
#define FMA_i32(a, b, c) ((a) * (b) + (c))

/* A loop over registers: an array of them stays in registers only if each loop over it
 * is unrolled. */
#define UNROLLED(i, n) _Pragma("GCC unroll 8") for (size_t i = 0; i < (n); i++)

#define VECTORS(T, ctype)                                                              \
    typedef ctype V_##T __attribute__((vector_size(BYTES)));                           \
    typedef ctype U_##T                                                                \
        __attribute__((vector_size(BYTES), aligned(sizeof(ctype)), may_alias));
VECTORS(f32, float)
VECTORS(f64, double)
VECTORS(i32, uint32_t)
#define LOAD(T, p)     ((V_##T) * (const U_##T *)(const void *)(p))
#define ALL(T, x)      ((x) - (V_##T){0})
#define STORE(T, p, v) (*(U_##T *)(void *)(p) = (U_##T)(v))

/* The first n elements at p, the others 0; p may be the end of what may be read. */
#if TL_LEVEL == 2
#define PART(T, mask, load)                                                            \
    static inline V_##T part_##T(const void *p, int64_t n) {                           \
        return (V_##T)load((mask)((1u << n) - 1), p);                                  \
    }
PART(f32, __mmask16, _mm512_maskz_loadu_ps)
PART(f64, __mmask8, _mm512_maskz_loadu_pd)
PART(i32, __mmask16, _mm512_maskz_loadu_epi32)
#elif TL_LEVEL == 1
#define FOUR -1, -1, -1, -1
#define PART(T, ptype, itype, load, ...)                                               \
    static inline V_##T part_##T(const void *p, int64_t n) {                           \
        enum { LANES = BYTES / sizeof(itype) };                                        \
        static const itype on[2 * LANES] = {__VA_ARGS__};                              \
        const void *mask = on + LANES - n;                                             \
        return (V_##T)load((ptype)p, _mm256_loadu_si256(mask));                        \
    }
PART(f32, const float *, int32_t, _mm256_maskload_ps, FOUR, FOUR)
PART(f64, const double *, int64_t, _mm256_maskload_pd, FOUR)
PART(i32, const int *, int32_t, _mm256_maskload_epi32, FOUR, FOUR)
#else
#define PART(T, ctype)                                                                 \
    static inline V_##T part_##T(const void *p, int64_t n) {                           \
        ctype v[BYTES / sizeof(ctype)] = {0};                                          \
        V_##T r;                                                                       \
        for (int64_t k = 0; k < n; k++)                                                \
            v[k] = ((const ctype *)p)[k];                                              \
        memcpy(&r, v, sizeof r);                                                       \
        return r;                                                                      \
    }
PART(f32, float)
PART(f64, double)
PART(i32, uint32_t)
#endif

#endif
