/* Vector mathematics: functions in branch-free C, which compilers vectorise in the
 * loops that call them. tests/unit/vmath.c measures the accuracy (most within 2 ulp,
 * the gamma functions within 4, the normal distribution's within 5; complex functions:
 * vmath_complex.c). Results may differ
 * between levels, because not all have a fused multiply-add (base/fma.h); within a
 * level they depend only on the argument.
 *
 * Method: reduce the argument to a short interval by powers of 2 or multiples of pi/2
 * (constants are split so that products with small integers are exact), evaluate a
 * polynomial there, restore the powers. Polynomials interpolate at Chebyshev nodes.
 * Rounding to integer adds and subtracts 1.5 * 2^52, whose low bits then hold the
 * integer. Clamping the arguments yields overflow naturally; nan passes through every
 * comparison to the result. A product or a conversion that underflows takes many CPUs
 * more than a hundred cycles, so arguments whose result is 0 (masks of -inf or -1e30,
 * saturated sigmoids, points far from a Gaussian) go where powers of 2 are exactly 0.
 */
#ifndef OPS_ELEMWISE_VMATH_H
#define OPS_ELEMWISE_VMATH_H

#include "base/complex.h"
#include "base/math64.h"
#include "ops/elemwise/half.h"

#include <math.h>

#if HAS_FMA
#define MADD32(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MADD32(a, b, c) ((a) * (b) + (c))
#endif

#define ROUND32  0x1.8p23F
#define LOG2E    0x1.71547652b82fep+0
#define LN2_HI32 0x1.62e400p-1F /* 15 bits */
#define LN2_LO32 0x1.7f7d1cp-20F

/* ---- exp and its relations ---- */

/* x = k ln2 + r: k ends up in the low bits of *m. */
VINLINE double exp_reduce64(double x, double *m) {
    *m = MADD64(x, LOG2E, ROUND64);
    double k = *m - ROUND64;
    return MADD64(k, -LN2_LO64, MADD64(k, -LN2_HI64, x));
}
/* (e^r - 1 - r) / r^2 for |r| <= ln2 / 2. */
VINLINE double exp_series64(double r) {
    double q = 0x1.1f67330382e7dp-29;
    q = MADD64(q, r, 0x1.af393be024886p-26);
    q = MADD64(q, r, 0x1.27e4e1d15b891p-22);
    q = MADD64(q, r, 0x1.71de0d70d72e3p-19);
    q = MADD64(q, r, 0x1.a01a01a48415bp-16);
    q = MADD64(q, r, 0x1.a01a01a7d3fafp-13);
    q = MADD64(q, r, 0x1.6c16c16c167d6p-10);
    q = MADD64(q, r, 0x1.111111111099fp-7);
    q = MADD64(q, r, 0x1.5555555555555p-5);
    q = MADD64(q, r, 0x1.5555555555556p-3);
    return MADD64(q, r, 0.5);
}
VINLINE double exp_poly64(double r) {
    return MADD64(r * r, exp_series64(r), r);
}
/* y 2^k in two steps, because 2^k itself may not be representable; k is in the low bits
 * of m, |k| < 2046. */
VINLINE double scale64(double y, double m) {
    uint64_t k = f64_bits(m) - f64_bits(ROUND64) + 2048, h = k >> 1;
    return y * bits_f64((h - 1) << 52) * bits_f64((k - h - 1) << 52);
}
VINLINE double clamp64(double x, double lo, double hi) {
    x = x > hi ? hi : x;
    return x < lo ? lo : x;
}
/* The argument of an exponential that scale64 completes. Where e^x is 0, below
 * log(2^-1075), it becomes -2046 log 2, for which both factors are 0. */
VINLINE double clamp_exp64(double x) {
    x = x > 710 ? 710 : x;
    return x < -745.14 ? -1418.18 : x;
}
VINLINE double exp_f64(double x) {
    double m, r = exp_reduce64(clamp_exp64(x), &m);
    return scale64(1 + exp_poly64(r), m);
}
VINLINE double exp2_f64(double x) {
    double c = x > 1025 ? 1025 : x < -1075 ? -2046 : x;
    double m = c + ROUND64, r = c - (m - ROUND64);
    /* r ln2, plus the rounding error of that product */
    double hi = r * 0x1.62e42fefa39efp-1;
#if HAS_FMA
    double lo = MADD64(r, 0x1.abc9e3b39803fp-56, MADD64(r, 0x1.62e42fefa39efp-1, -hi));
#else
    double a = r * 0x1.62e42fee00000p-1, lo = r * 0x1.a39ef35793c76p-33 - (hi - a);
#endif
    return scale64(1 + (exp_poly64(hi) + lo), m);
}
/* (e^x - 1) 2^power: (e^r - 1 + (1 - 2^-k)) 2^(k + power). r and the sum are kept in
 * two parts, because the sum may cancel; for k = 0 nothing is added. */
VINLINE double expm1_scaled(double x, double power) {
    double c = clamp64(x, -40, 711), m = MADD64(c, LOG2E, ROUND64), k = m - ROUND64;
    double a = MADD64(k, -LN2_HI64, c), r = MADD64(k, -LN2_LO64, a);
    double rest = MADD64(k, -LN2_LO64, a - r) + r * r * exp_series64(r);
    double one = bits_f64((1023 - (f64_bits(m) - f64_bits(ROUND64))) << 52); /* 2^-k */
    one = 1 - (k > 1000 ? 0 : one);
    double sum = one + r;
    return scale64(sum + (rest + (r - (sum - one))), m + power);
}
VINLINE double expm1_f64(double x) {
    return x == 0 ? x : expm1_scaled(x, 0);
}

VINLINE float exp_reduce32(float x, float *m) {
    *m = MADD32(x, (float)LOG2E, ROUND32);
    float k = *m - ROUND32;
    return MADD32(k, -LN2_LO32, MADD32(k, -LN2_HI32, x));
}
/* e^r - 1 for |r| <= ln2 / 2. */
VINLINE float exp_poly32(float r) {
    float q = 0x1.a0f906p-13F;
    q = MADD32(q, r, 0x1.6d11b6p-10F);
    q = MADD32(q, r, 0x1.1110f6p-7F);
    q = MADD32(q, r, 0x1.555518p-5F);
    q = MADD32(q, r, 0x1.555556p-3F);
    q = MADD32(q, r, 0.5F);
    return MADD32(r * r, q, r);
}
/* y 2^k, as scale64. */
VINLINE float scale32(float y, float m) {
    uint32_t k = f32_bits(m) - f32_bits(ROUND32) + 256, h = k >> 1;
    return y * bits_f32((h - 1) << 23) * bits_f32((k - h - 1) << 23);
}
/* As clamp_exp64: below log(2^-150), -254 log 2. */
VINLINE float clamp_exp32(float x) {
    x = x > 89 ? 89 : x;
    return x < -103.98F ? -176.06F : x;
}
VINLINE float exp_f32(float x) {
    float m, r = exp_reduce32(clamp_exp32(x), &m);
    return scale32(1 + exp_poly32(r), m);
}

/* ---- log and its relations ---- */

/* The rounding error of 1 + x enters as a first-order correction. */
VINLINE double log1p_f64(double x) {
    double u = 1 + x, b = u - 1, lost = (1 - (u - b)) + (x - b);
    double k, f = log_reduce64(u, &k), h = 0.5 * f * f;
    double t = MADD64(k, LN2_LO64, log_poly64(f, h) + lost / u);
    double y = log_special64(u, MADD64(k, LN2_HI64, f - (h - t)));
    y = x == -1 ? -(double)INFINITY : y;
    return x == 0 ? x : y;
}
/* log(x) / log(base) where scale = 1 / log(base) and one = log2 / log(base), each in
 * two parts. The logarithm is also kept in two parts, the first short enough for exact
 * products, so that powers of the base give exact results. */
VINLINE double log_base64(double x, double scale_hi, double scale_lo, double one_hi,
                          double one_lo) {
    double shift, k, f = log_reduce64(log_normal64(x, &shift), &k), h = 0.5 * f * f;
    k -= shift;
    double hi = bits_f64(f64_bits(f - h) & 0xFFFFFFFF00000000);
    double lo = (f - hi) - h + log_poly64(f, h);
    double a = k * one_hi, b = hi * scale_hi, sum = a + b;
    double rest = (a - sum) + b; /* exact: a is 0 or the larger */
    rest += k * one_lo + (lo + hi) * scale_lo + lo * scale_hi;
    return log_special64(x, sum + rest);
}
VINLINE double log2_f64(double x) {
    return log_base64(x, 0x1.71547652p+0, 0x1.705fc2eefa200p-33, 1, 0);
}
VINLINE double log10_f64(double x) {
    return log_base64(x, 0x1.bcb7b152p-2, 0x1.b9438ca9aadd5p-36, 0x1.34413508p-2,
                      0x1.f79fef311f12bp-34);
}

/* The logarithm, log(2^k (1 + f)), and the exponential in float64 where float32 is
 * wanted: within 2^-42 and 2^-32, by shorter polynomials. The first takes no subnormal
 * numbers; where float32 has 0, the second is 0. */
VINLINE double log_short_joined64(double k, double f) {
    double s = f / (2 + f), z = s * s;
    double q = 0x1.8c916f6b44be3p-4;
    q = MADD64(q, z, 0x1.c67a8e74cba49p-4);
    q = MADD64(q, z, 0x1.2493248a337cbp-3);
    q = MADD64(q, z, 0x1.999998ca15c0cp-3);
    q = MADD64(q, z, 0x1.5555555565024p-2);
    s += s;
    return MADD64(k, 0x1.62e42fefa39efp-1, MADD64(q * z, s, s));
}
VINLINE double log_short64(double x) {
    double k, f = log_reduce64(x, &k);
    return log_special64(x, log_short_joined64(k, f));
}
VINLINE double exp_short64(double x) {
    x = x > 200 ? 200 : x < -103.98 ? -1023 * 0x1.62e42fefa39efp-1 : x;
    double m, r = exp_reduce64(x, &m), q = 0x1.a072ddc180f27p-13;
    q = MADD64(q, r, 0x1.6d432ed1f02efp-10);
    q = MADD64(q, r, 0x1.11114c0541995p-7);
    q = MADD64(q, r, 0x1.5554e910b4c75p-5);
    q = MADD64(q, r, 0x1.5555552701ec8p-3);
    q = MADD64(q, r, 0x1.0000000b89baep-1);
    double power = bits_f64((f64_bits(m) - f64_bits(ROUND64) + 1023) << 52);
    return MADD64(MADD64(r * r, q, r), power, power);
}
VINLINE float log_f32(float x) {
    bool tiny = x < 0x1p-126F;
    uint32_t u = f32_bits(tiny ? x * 0x1p25F : x);
    uint32_t e = (u + (128U << 23) - 0x3F3504F3) >> 23;
    float k = bits_f32(0x4B000000 | e) - (0x1p23F + 128) - (tiny ? 25.0F : 0.0F);
    float f = bits_f32(u - ((e - 128) << 23)) - 1, h = 0.5F * f * f;
    float s = f / (2 + f), z = s * s, q = 0x1.ddd4dap-3F;
    q = MADD32(q, z, 0x1.245c28p-2F);
    q = MADD32(q, z, 0x1.9999ecp-2F);
    q = MADD32(q, z, 0x1.555556p-1F);
    float t = MADD32(k, LN2_LO32, s * MADD32(q, z, h));
    float y = MADD32(k, LN2_HI32, f - (h - t));
    y = x < INFINITY ? y : x;
    y = x < 0 ? NAN : y;
    return x == 0 ? -INFINITY : y;
}

/* ---- built on exp and log ---- */

/* y = n / d, where d is a rounded sum with known error: corrected to first order. */
VINLINE double repair64(double y, double lost, double inverse) {
    return y - y * lost * inverse;
}
VINLINE float repair32(float y, float lost, float inverse) {
    return y - y * lost * inverse;
}

VINLINE double tanh_f64(double x) {
    double e = expm1_f64(-2 * clamp64(fabs(x), 0, 22)), d = e + 2, y = e / d;
    y = repair64(y, e - (d - 2), 0.5 - 0.5 * y);
    return x != x ? x : copysign(y, x);
}
VINLINE float tanh_f32(float x) {
    float a = fabsf(x), z = x * x, q = 0x1.2c83c0p-9F;
    q = MADD32(q, z, -0x1.116a16p-7F);
    q = MADD32(q, z, 0x1.64a976p-6F);
    q = MADD32(q, z, -0x1.ba08c4p-5F);
    q = MADD32(q, z, 0x1.1110eap-3F);
    q = MADD32(q, z, -0x1.555556p-2F);
    float near = MADD32(q * z, x, x), e = exp_f32(2 * (a > 10 ? 10 : a));
    float y = a < 0.625F ? near : 1 - 2 / (e + 1);
    return x != x ? x : copysignf(y, x); /* also for -0 */
}
/* The one of sigmoid(x) and sigmoid(-x) that is at most 1/2; the other, as 1 minus it,
 * gets half of its error. The rounding error of the sum d is made good as if d were 1,
 * which it is where that error counts. */
VINLINE double sigmoid_f64(double x) {
    double a = -fabs(x), m, r = exp_reduce64(a < -745.14 ? -1418.18 : a, &m);
    double e = scale64(1 + exp_poly64(r), m), d = 1 + e, y = e / d;
    y = MADD64(-y, e - (d - 1), y);
    return x < 0 ? y : 1 - y;
}
VINLINE float sigmoid_f32(float x) {
    float a = -fabsf(x), m, r = exp_reduce32(a < -103.98F ? -176.06F : a, &m);
    float e = scale32(1 + exp_poly32(r), m), d = 1 + e, y = e / d;
    y = MADD32(-y, e - (d - 1), y);
    return x < 0 ? y : 1 - y;
}
VINLINE double softplus_f64(double x) {
    return (x > 0 ? x : 0) + log1p_f64(exp_f64(-fabs(x)));
}

/* Equal infinities must not be subtracted. */
VINLINE double logaddexp_f64(double x, double y) {
    double top = x > y ? x : y, d = fabs(x - y);
    double r = top + log1p_f64(exp_f64(-d));
    r = x == y ? x + 0x1.62e42fefa39efp-1 : r;
    return ((x != x) | (y != y)) ? x + y : r;
}
/* Near 0, 1 - exp(x) cancels; far from it, exp(x) is small: two formulas. */
VINLINE double log1mexp_f64(double x) {
    double near = log_f64(-expm1_f64(x)), far = log1p_f64(-exp_f64(x));
    return x > -0x1.62e42fefa39efp-1 ? near : far;
}

/* ---- sin, cos, tan: for |x| up to TRIG_MAX ---- */

VINLINE double sin_f64(double x) {
    double m, rest, r = trig_reduce64(x, &m, &rest);
    double y = sin_turned(sin_poly64(r, rest), cos_poly64(r, rest), f64_bits(m));
    return x == 0 ? x : y;
}
VINLINE double cos_f64(double x) {
    double m, rest, r = trig_reduce64(x, &m, &rest);
    return sin_turned(sin_poly64(r, rest), cos_poly64(r, rest), f64_bits(m) + 1);
}
VINLINE double tan_f64(double x) {
    double m, rest, r = trig_reduce64(x, &m, &rest);
    double s = sin_poly64(r, rest), c = cos_poly64(r, rest);
    bool odd = f64_bits(m) & 1;
    double y = (odd ? -c : s) / (odd ? s : c);
    return x == 0 ? x : y;
}
/* For float32: computed in float64 with shorter polynomials. */
VINLINE double trig_reduce32(double x, double *m) {
    *m = MADD64(x, 0x1.45f306dc9c883p-1, ROUND64);
    double k = *m - ROUND64;
    return (x - k * 0x1.921fb54400000p+0) - k * 0x1.0b4611a626331p-34;
}
VINLINE double sin_poly32(double r) {
    double z = r * r, q = 0x1.6dbcfb4dee3dcp-19;
    q = MADD64(q, z, -0x1.a013a455bd211p-13);
    q = MADD64(q, z, 0x1.11110decc73fdp-7);
    q = MADD64(q, z, -0x1.555555545d0dap-3);
    return MADD64(r * z, q, r);
}
VINLINE double cos_poly32(double r) {
    double z = r * r, q = -0x1.25239a9550aa1p-22;
    q = MADD64(q, z, 0x1.a015c25366931p-16);
    q = MADD64(q, z, -0x1.6c16bf534c9ebp-10);
    q = MADD64(q, z, 0x1.55555555027adp-5);
    q = MADD64(q, z, -0.5);
    return MADD64(q, z, 1);
}
VINLINE float sin_f32(float x) {
    double m, r = trig_reduce32((double)x, &m);
    float y = (float)sin_turned(sin_poly32(r), cos_poly32(r), f64_bits(m));
    return x == 0 ? x : y;
}
VINLINE float cos_f32(float x) {
    double m, r = trig_reduce32((double)x, &m);
    return (float)sin_turned(sin_poly32(r), cos_poly32(r), f64_bits(m) + 1);
}
VINLINE float tan_f32(float x) {
    double m, r = trig_reduce32((double)x, &m);
    double s = sin_poly32(r), c = cos_poly32(r);
    bool odd = f64_bits(m) & 1;
    float y = (float)((odd ? -c : s) / (odd ? s : c));
    return x == 0 ? x : y;
}

/* ---- sinh, cosh: halved before scaling by powers of 2, because e^x may overflow where
 * they don't ---- */

VINLINE double sinh_f64(double x) {
    double h = expm1_scaled(clamp64(fabs(x), 0, 711), -1); /* (e^|x| - 1) / 2 */
    double y = copysign(h + (h < 0x1p60 ? h / (2 * h + 1) : 0), x);
    return !(fabs(x) > 0x1p-500) ? x : y; /* half of the smallest is 0 */
}
VINLINE double cosh_f64(double x) {
    double m, r = exp_reduce64(clamp64(fabs(x), 0, 711), &m);
    double h = scale64(1 + exp_poly64(r), m - 1); /* e^|x| / 2 */
    return x != x ? x : h + 0.25 / h;
}

/* e^r - 1 times a power of 2, plus that power less 1, which is exact where it isn't far
 * larger; half of it first, because 2^128 is no float32. */
VINLINE float expm1_f32(float x) {
    float c = x > 89 ? 89 : x < -18 ? -18 : x, m, r = exp_reduce32(c, &m);
    float half = bits_f32((f32_bits(m) - f32_bits(ROUND32) + 126) << 23);
    float y = MADD32(half, exp_poly32(r), half - 0.5F);
    return fabsf(x) < 0x1p-24F ? x : y + y;
}
/* For e from 0 to 1, log(1 + e) in two ways, the first where e is far below 1. Choices
 * between them are of float32s: of others compilers would make masks of two widths. */
VINLINE double log1p_near64(double e) {
    return MADD64(e * e, MADD64(e, 1.0 / 3, -0.5), e);
}
/* -log(0x1p-13): beyond it log1p_near64 of an exponential is enough. */
#define EXP_FAR32 9.02F
VINLINE float softplus_f32(float x) {
    float a = fabsf(x), top = x > 0 ? x : 0;
    double e = exp_short64(-(double)a), k, f = log_reduce64(1 + e, &k);
    float far = (float)(log1p_near64(e) + (double)top),
          y = (float)(log_short_joined64(k, f) + (double)top);
    return a < EXP_FAR32 ? y : far;
}
/* In full, because the sum may cancel. Equal infinities must not be subtracted. */
VINLINE float logaddexp_f32(float x, float y) {
    float top = x > y ? x : y, apart = fabsf(x - y);
    double d = -fabs((double)x - (double)y), m, k;
    double r = exp_reduce64(d < -103.98 ? -1023 * 0x1.62e42fefa39efp-1 : d, &m);
    double power = bits_f64((f64_bits(m) - f64_bits(ROUND64) + 1023) << 52);
    double e = MADD64(exp_poly64(r), power, power), f = log_reduce64(1 + e, &k);
    float far = (float)(log1p_near64(e) + (double)top),
          sum = (float)(log_joined64(k, f) + (double)top);
    far = x == y ? x : far;
    return apart < EXP_FAR32 ? sum : far;
}

/* float32 through float64: within 0.51 ulp. */
#define VIA_F64(fn)                                                                    \
    VINLINE float fn##_f32(float x) {                                                  \
        return (float)fn##_f64((double)x);                                             \
    }
VIA_F64(exp2)
VIA_F64(log1mexp)
VIA_F64(sinh)
VIA_F64(cosh)
/* 1 + x is exact, or log1p_near64 enough. */
VINLINE float log1p_f32(float x) {
    double a = (double)x, k, f = log_reduce64(1 + a, &k);
    float near = (float)log1p_near64(a), y = (float)log_short_joined64(k, f);
    y = fabsf(x) < 0x1p-13F ? near : y;
    y = x < INFINITY ? y : x;
    y = x < -1 ? NAN : y;
    return x == -1 ? -INFINITY : y;
}
VINLINE float log2_f32(float x) {
    return (float)(log_short64((double)x) * LOG2E);
}
VINLINE float log10_f32(float x) {
    return (float)(log_short64((double)x) * 0x1.bcb7b1526e50ep-2);
}

/* Chosen by the argument's type. */
#define V(fn, x)     _Generic((x), float : fn##_f32, double : fn##_f64)(x)
#define V2(fn, x, y) _Generic((x), float : fn##_f32, double : fn##_f64)(x, y)

#endif
