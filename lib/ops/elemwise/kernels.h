/* Functions called by the kernels of rows: integer division and powers, float
 * remainders, complex arithmetic. */
#ifndef OPS_ELEMWISE_KERNELS_H
#define OPS_ELEMWISE_KERNELS_H

#include "ops/elemwise/vmath.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* A C library function chosen by the argument's type. */
#define LIBM(fn, x)     _Generic((x), float : fn##f, double : fn)(x)
#define LIBM2(fn, x, y) _Generic((x), float : fn##f, double : fn)(x, y)
#define FLOOR(x)        LIBM(floor, x)
#define CEIL(x)         LIBM(ceil, x)
#define TRUNC(x)        LIBM(trunc, x)
#define RINT(x)         LIBM(rint, x)
#define ABS(x)          LIBM(fabs, x)
#define SQRT(x)         LIBM(sqrt, x)
#define POW(x, y)       LIBM2(pow, x, y)
/* nan wins; of equal arguments the first. For integers the second test is constant. */
#define MAXIMUM(x, y) ((((x) >= (y)) | ((x) != (x))) ? (x) : (y))
#define MINIMUM(x, y) ((((x) <= (y)) | ((x) != (x))) ? (x) : (y))
/* MINIMUM(MAXIMUM(x, y), z), with the choice outside: gcc makes vectors of no
 * comparison of a choice. */
#define CLIP(x, y, z) ((((x) >= (y)) | ((x) != (x))) ? MINIMUM(x, z) : MINIMUM(y, z))
/* An unsigned type that holds the absolute value of the lowest integer. */
#define UNSIGNED(x) _Generic((x), int64_t : (uint64_t)(x), default : (uint32_t)(x))

/* ---- integers ---- */

VINLINE uint64_t udiv(uint64_t x, uint64_t y, unsigned *fault) {
    if (y == 0) *fault |= FAULT_DIVIDE;
    return y == 0 ? 0 : x / y;
}
VINLINE uint64_t urest(uint64_t x, uint64_t y, unsigned *fault) {
    if (y == 0) *fault |= FAULT_DIVIDE;
    return y == 0 ? 0 : x % y;
}
/* -1 is special: the lowest integer divided by -1 wraps, where the CPU's division would
 * trap. */
VINLINE int64_t floor_quotient(int64_t x, int64_t y, unsigned *fault) {
    if (y == 0) *fault |= FAULT_DIVIDE;
    if (y == 0) return 0;
    if (y == -1) return (int64_t)(0 - (uint64_t)x);
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
VINLINE int64_t floor_rest(int64_t x, int64_t y, unsigned *fault) {
    if (y == 0) *fault |= FAULT_DIVIDE;
    if (y == 0 || y == -1) return 0;
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
/* x / y rounded down for a y from 2 to 2^31 - 1, by a multiplication; x has 31 bits and
 * a sign. For x >= 0 it is the upper part of x m, where m is 2^k / y rounded up, with
 * the k for which m has 32 bits; what rounding m adds is below x / 2^k, and that below
 * 1 / y. The quotient of an x < 0 is that of ~x, inverted. `log` is that of the largest
 * power of 2 below y. */
VINLINE uint32_t upper_factor(uint32_t y, unsigned log) {
    return (uint32_t)(((UINT64_C(1) << (32 + log)) - 1) / y + 1);
}
VINLINE uint32_t upper_quotient(uint32_t x, uint32_t m, unsigned log) {
    uint32_t sign = x >> 31 ? ~0U : 0, size = x ^ sign;
    return (uint32_t)((uint64_t)size * m >> 32) >> log ^ sign;
}
/* The same of the first n integers, or with `rest` what they leave. Returns of how
 * many: of products, which it has for every other one, compilers make new vectors. */
#if TL_LEVEL == 1
VINLINE size_t upper_quotients(size_t n, const void *from, void *to, uint32_t y,
                               uint32_t m, unsigned log, bool rest) {
    const __m256i by = _mm256_set1_epi32((int)m), one = _mm256_set1_epi32((int)y);
    const __m128i shift = _mm_cvtsi32_si128((int)log);
    const __m256i *x = from;
    __m256i *out = to;
    for (size_t k = 0; k < n / 8; k++) {
        __m256i v = _mm256_loadu_si256(x + k), sign = _mm256_srai_epi32(v, 31),
                size = _mm256_xor_si256(v, sign),
                even = _mm256_srli_epi64(_mm256_mul_epu32(size, by), 32),
                odd = _mm256_mul_epu32(_mm256_srli_epi64(size, 32), by),
                q = _mm256_srl_epi32(_mm256_blend_epi32(even, odd, 0xAA), shift);
        q = _mm256_xor_si256(q, sign);
        if (rest) q = _mm256_sub_epi32(v, _mm256_mullo_epi32(q, one));
        _mm256_storeu_si256(out + k, q);
    }
    return n / 8 * 8;
}
#else
#define upper_quotients(n, from, to, y, m, log, rest) ((size_t)0)
#endif
VINLINE int64_t trunc_quotient(int64_t x, int64_t y, unsigned *fault) {
    if (y == 0) *fault |= FAULT_DIVIDE;
    if (y == 0) return 0;
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}
VINLINE int64_t trunc_rest(int64_t x, int64_t y, unsigned *fault) {
    if (y == 0) *fault |= FAULT_DIVIDE;
    return y == 0 || y == -1 ? 0 : x % y;
}
VINLINE uint64_t magnitude(int64_t x) {
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}
VINLINE uint64_t gcd_of(uint64_t x, uint64_t y) {
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}
VINLINE uint64_t lcm_of(uint64_t x, uint64_t y) {
    return x && y ? x / gcd_of(x, y) * y : 0;
}
VINLINE uint64_t upower(uint64_t x, uint64_t y) {
    uint64_t r = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) r *= x;
    return r;
}
VINLINE int64_t ipower(int64_t x, int64_t y, unsigned *fault) {
    if (y < 0) *fault |= FAULT_DOMAIN;
    return y < 0 ? 0 : (int64_t)upower((uint64_t)x, (uint64_t)y);
}
/* Shifting by the width or more leaves 0, or only the sign. 32 bits are enough for
 * shorter numbers, too: twice as many go into a vector. */
#define SHIFTS(BITS)                                                                   \
    VINLINE uint##BITS##_t ushift_left##BITS(uint##BITS##_t x, uint##BITS##_t y,       \
                                             unsigned width) {                         \
        return y < width ? x << (y & (BITS - 1)) : 0;                                  \
    }                                                                                  \
    VINLINE uint##BITS##_t shift_left##BITS(uint##BITS##_t x, int##BITS##_t y,         \
                                            unsigned width, unsigned *fault) {         \
        *fault |= y < 0 ? FAULT_DOMAIN : 0;                                            \
        return ushift_left##BITS(x, (uint##BITS##_t)y, width);                         \
    }                                                                                  \
    VINLINE uint##BITS##_t ushift_right##BITS(uint##BITS##_t x, uint##BITS##_t y) {    \
        return y < BITS ? x >> (y & (BITS - 1)) : 0;                                   \
    }                                                                                  \
    VINLINE int##BITS##_t shift_right##BITS(int##BITS##_t x, int##BITS##_t y,          \
                                            unsigned *fault) {                         \
        *fault |= y < 0 ? FAULT_DOMAIN : 0;                                            \
        return x >> ((uint##BITS##_t)y < BITS - 1 ? y & (BITS - 1) : BITS - 1);        \
    }
SHIFTS(32)
SHIFTS(64)
#define SHIFT_LEFT(x, y)                                                               \
    (sizeof x == 8 ? (T)shift_left64((uint64_t)x, y, 64, &fault)                       \
                   : (T)shift_left32((uint32_t)x, (int32_t)y, 8 * sizeof x, &fault))
#define USHIFT_LEFT(x, y)                                                              \
    (sizeof x == 8 ? (T)ushift_left64(x, y, 64)                                        \
                   : (T)ushift_left32((uint32_t)x, (uint32_t)y, 8 * sizeof x))
#define SHIFT_RIGHT(x, y)                                                              \
    (sizeof x == 8 ? (T)shift_right64(x, y, &fault)                                    \
                   : (T)shift_right32((int32_t)x, (int32_t)y, &fault))
#define USHIFT_RIGHT(x, y)                                                             \
    (sizeof x == 8 ? (T)ushift_right64(x, y)                                           \
                   : (T)ushift_right32((uint32_t)x, (uint32_t)y))

/* ---- floats ---- */

/* As in Python, the remainder has the divisor's sign, even if it is zero. */
VINLINE double frest_f64(double x, double y) {
    double r = fmod(x, y);
    if (r == 0) return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}
VINLINE float frest_f32(float x, float y) {
    float r = fmodf(x, y);
    if (r == 0) return copysignf(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}
/* The quotient consistent with that remainder: (x - remainder) / y is an integer up to
 * rounding. */
VINLINE double fdiv_f64(double x, double y) {
    if (y == 0) return x / y;
    double r = fmod(x, y), q = (x - r) / y;
    if (r != 0 && (r < 0) != (y < 0)) q -= 1;
    return q == 0 ? copysign(0, x / y) : rint(q);
}
VINLINE float fdiv_f32(float x, float y) {
    if (y == 0) return x / y;
    float r = fmodf(x, y), q = (x - r) / y;
    if (r != 0 && (r < 0) != (y < 0)) q -= 1;
    return q == 0 ? copysignf(0, x / y) : rintf(q);
}
/* The same without a loop, where the quotient has few enough bits and a fused
 * multiply-add makes the rest exact: the quotient is right or, rounded up to a whole
 * number, one too large, which the sign of the rest tells. */
VINLINE double quick_rest_f64(double x, double y) {
    double r = MADD64(-floor(x / y), y, x);
    r += ((r != 0) & ((r < 0) != (y < 0))) ? y : 0;
    return r == 0 ? copysign(0, y) : r;
}
VINLINE float quick_rest_f32(float x, float y) {
    float r = MADD32(-floorf(x / y), y, x);
    r += ((r != 0) & ((r < 0) != (y < 0))) ? y : 0;
    return r == 0 ? copysignf(0, y) : r;
}
VINLINE double quick_fmod_f64(double x, double y) {
    double b = fabs(y), r = MADD64(-floor(fabs(x) / b), b, fabs(x));
    return copysign(r < 0 ? r + b : r, x);
}
VINLINE float quick_fmod_f32(float x, float y) {
    float b = fabsf(y), r = MADD32(-floorf(fabsf(x) / b), b, fabsf(x));
    return copysignf(r < 0 ? r + b : r, x);
}
VINLINE double quick_div_f64(double x, double y) {
    double q = floor(x / y), r = MADD64(-q, y, x);
    q -= ((r != 0) & ((r < 0) != (y < 0))) ? 1 : 0;
    return q == 0 ? copysign(0, x / y) : q;
}
VINLINE float quick_div_f32(float x, float y) {
    float q = floorf(x / y), r = MADD32(-q, y, x);
    q -= ((r != 0) & ((r < 0) != (y < 0))) ? 1 : 0;
    return q == 0 ? copysignf(0, x / y) : q;
}
#if HAS_FMA
#define REST_MOST(x)    _Generic((x), float : 0x1p22F, double : 0x1p51)
#define REST_RARE(x, y) (!(ABS((x) / (y)) < REST_MOST(x)) | !((y) - (y) == 0))
#else
#define REST_RARE(x, y) true
#endif
/* The nearest bfloat16, the upper half of a float32. */
VINLINE float bfloat_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    float r;
    memcpy(&r, &u, sizeof r);
    return x != x ? x : r;
}
/* Through a float32 whose last bit says that digits are missing, so that it is rounded
 * once. */
VINLINE double bfloat_f64(double x) {
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if ((double)f != x) u = (fabs((double)f) > fabs(x) ? u - 1 : u) | 1;
    memcpy(&f, &u, sizeof f);
    return x != x ? x : (double)bfloat_f32(f);
}
#define BFLOAT(x) _Generic((x), float : bfloat_f32, double : bfloat_f64)(x)
/* x = m 2^e with m from 1 up to 2, if it is finite and not 0. */
VINLINE double mantissa_f64(double x, uint64_t *e) {
    bool tiny = fabs(x) < 0x1p-1022;
    uint64_t u = f64_bits(tiny ? x * 0x1p64 : x);
    *e = (u >> 52 & 0x7FF) - (tiny ? 1023 + 64 : 1023);
    return bits_f64((u & 0x800FFFFFFFFFFFFF) | (uint64_t)1023 << 52);
}
VINLINE bool has_exponent(double x) {
    return (x - x == 0) & (x != 0);
}
/* x * 2**y for whole y, and the exponent e of x = m * 2**e with m from 1/2 up to 1. */
VINLINE double scale_f64(double x, double y) {
    uint64_t e;
    double m = mantissa_f64(x, &e), by = clamp64(y, -5000, 5000) + ROUND64;
    /* as far as m vanishes, or overflows */
    double sum = clamp64(bits_f64(f64_bits(by) + e) - ROUND64, -1100, 1100) + ROUND64;
    return y != y ? y : has_exponent(x) ? scale64(m, sum) : x;
}
/* In float64 the product of any x and 2**300 is exact, and infinite or 0 as float32. */
VINLINE float scale_f32(float x, float y) {
    double by = clamp64((double)y, -300, 300) + ROUND64;
    float r = (float)((double)x * bits_f64((f64_bits(by) + 1023) << 52));
    return y != y ? y : r;
}
/* The same where 2**y is a number of full precision: one product, one rounding. */
VINLINE double quick_scale_f64(double x, double y) {
    return x * bits_f64((f64_bits(y + ROUND64) + 1023) << 52);
}
VINLINE float quick_scale_f32(float x, float y) {
    return x * bits_f32((f32_bits(y + ROUND32) + 127) << 23);
}
#define SCALE_RARE(y) !(ABS(y) <= _Generic((y), float : 126.0F, double : 1022.0))
VINLINE double exponent_f64(double x) {
    uint64_t e;
    (void)mantissa_f64(x, &e);
    return has_exponent(x) ? bits_f64(f64_bits(ROUND64) + e + 1) - ROUND64 : 0;
}
VINLINE float exponent_f32(float x) {
    bool tiny = fabsf(x) < 0x1p-126F;
    uint32_t u = f32_bits(tiny ? x * 0x1p24F : x);
    float e = (float)((int32_t)(u >> 23 & 255) - (tiny ? 126 + 24 : 126));
    return ((x - x == 0) & (x != 0)) ? e : 0;
}
#define SCALE(x, y) _Generic((x), float : scale_f32, double : scale_f64)(x, y)
#define EXPONENT(x) _Generic((x), float : exponent_f32, double : exponent_f64)(x)
#define SIGNBIT(x)                                                                     \
    _Generic((x), float : __builtin_signbitf, double : __builtin_signbit)(x) != 0
#define FDIV(x, y)  _Generic((x), float : fdiv_f32, double : fdiv_f64)(x, y)
#define FREST(x, y) _Generic((x), float : frest_f32, double : frest_f64)(x, y)

/* ---- complex numbers ---- */

#define cmul(x, y)                                                                     \
    _Generic((x), float _Complex : cmul_c64, double _Complex : cmul_c128)(x, y)
/* Chosen by the second argument: the first may be real. */
#define cdiv(x, y)                                                                     \
    _Generic((y), float _Complex : cdiv_c64, double _Complex : cdiv_c128)(x, y)

/* 1 / x, with the bits of cdiv, but nan in both parts for 0, as in NumPy. */
#define CRECIPROCAL(C, F, M, sfx, fabs_)                                               \
    VINLINE C creciprocal_##sfx(C x) {                                                 \
        F c = RE(x), d = IM(x);                                                        \
        bool zero = (c == 0) & (d == 0);                                               \
        M turn = (M)0 - (M)(fabs_(c) < fabs_(d));                                      \
        F p = picked_##sfx(turn, d, c), q = picked_##sfx(turn, -c, d);                 \
        F t = q / p, scale = 1 / (p + q * t), other = (0 - t) * scale;                 \
        F re = picked_##sfx(turn, other, scale),                                       \
          im = picked_##sfx(turn, -scale, other);                                      \
        return __builtin_complex(zero ? NAN_LIKE(x) : re, zero ? NAN_LIKE(x) : im);    \
    }
#define NAN_LIKE(x) ((__typeof__(RE(x)))NAN)
CRECIPROCAL(float _Complex, float, uint32_t, c64, fabsf)
CRECIPROCAL(double _Complex, double, uint64_t, c128, fabs)
#define creciprocal(x)                                                                 \
    _Generic((x), float _Complex                                                       \
             : creciprocal_c64, double _Complex                                        \
             : creciprocal_c128)(x)
#define cinf(x) ((ABS(RE(x)) == INF(RE(x))) | (ABS(IM(x)) == INF(RE(x))))
#define INF(x)  ((__typeof__(x))INFINITY)
#define CONJ(x) __builtin_complex(RE(x), -IM(x))
/* A C library function of complex arguments. */
#define LIBC(fn, x)                                                                    \
    _Generic((x), float _Complex                                                       \
             : __builtin_##fn##f, double _Complex                                      \
             : __builtin_##fn)(x)

#endif
