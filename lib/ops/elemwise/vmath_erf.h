/* The error function and its complement, by the methods and for the uses of vmath.h:
 * near 0 erf(x) = x + x (erf(x) / x - 1), an even polynomial; elsewhere erfc(a) =
 * exp(-a^2) q / (1 + 2 a), where q is a polynomial in (a - k) / (a + k), which maps all
 * a to a short interval. The rounding error of a^2 enters the exponential. */
#ifndef OPS_ELEMWISE_VMATH_ERF_H
#define OPS_ELEMWISE_VMATH_ERF_H

#include "ops/elemwise/special.h"
#include "ops/elemwise/vmath.h"

#define ERF_NEAR 0.94
#define ERF_MOST 28.0 /* erfc vanishes before */
/* Inverses of smaller arguments take more steps (special.h). */
#define ERF_SOLVED 1e-9

/* erf(x) / x - 1 for u = x^2, |x| <= ERF_NEAR */
VINLINE double erf_series64(double u) {
    double q = -0x1.bc414003f4269p-31;
    q = MADD64(q, u, 0x1.dc4112d971ed1p-27);
    q = MADD64(q, u, -0x1.5cb7649045c88p-23);
    q = MADD64(q, u, 0x1.b99a59bbc87cap-20);
    q = MADD64(q, u, -0x1.f4ccc43c167a2p-17);
    q = MADD64(q, u, 0x1.f9a2dffd22b7ap-14);
    q = MADD64(q, u, -0x1.c02db1a44742bp-11);
    q = MADD64(q, u, 0x1.565bcd015d425p-8);
    q = MADD64(q, u, -0x1.b82ce31230195p-6);
    q = MADD64(q, u, 0x1.ce2f21a04170dp-4);
    q = MADD64(q, u, -0x1.812746b0379c3p-2);
    q = MADD64(q, u, 0x1.06eba8214db68p-3);
    return q;
}
VINLINE float erf_series32(float u) {
    float q = 0x1.592406p-14F;
    q = MADD32(q, u, -0x1.a92772p-11F);
    q = MADD32(q, u, 0x1.54a912p-8F);
    q = MADD32(q, u, -0x1.b80b68p-6F);
    q = MADD32(q, u, 0x1.ce2de2p-4F);
    q = MADD32(q, u, -0x1.812742p-2F);
    q = MADD32(q, u, 0x1.06eba8p-3F);
    return q;
}
/* e^(c^2) erfc(c) for c from ERF_NEAR to ERF_MOST. */
VINLINE double erfcx_far64(double c) {
    double t = (c - 3) / (c + 3);
    double q = 0x1.6a9515db84297p-24;
    q = MADD64(q, t, -0x1.2d0533f0f4ec5p-24);
    q = MADD64(q, t, -0x1.48dbb83b7e24p-21);
    q = MADD64(q, t, 0x1.3d4e6d73bff9bp-22);
    q = MADD64(q, t, 0x1.d2da57683e9ecp-19);
    q = MADD64(q, t, -0x1.78510570819e8p-21);
    q = MADD64(q, t, -0x1.51518ae1bc46fp-16);
    q = MADD64(q, t, 0x1.4b85ae9a9f056p-18);
    q = MADD64(q, t, 0x1.065b38306d5b7p-13);
    q = MADD64(q, t, -0x1.b9108425aa0b7p-14);
    q = MADD64(q, t, -0x1.98db5db9d4685p-11);
    q = MADD64(q, t, 0x1.ef1bd98cb06c1p-10);
    q = MADD64(q, t, 0x1.4b884e9d362a5p-9);
    q = MADD64(q, t, -0x1.8574c407a0bcp-6);
    q = MADD64(q, t, 0x1.17ca2877c7cf9p-4);
    q = MADD64(q, t, -0x1.e88b803a52d87p-4);
    q = MADD64(q, t, 0x1.098366a5b4f3ep-3);
    q = MADD64(q, t, -0x1.85a15c58aa16bp-5);
    q = MADD64(q, t, -0x1.15c084bb9e903p-3);
    q = MADD64(q, t, 0x1.40c522d7e4987p0);
    return q / (1 + 2 * c);
}
/* x^2; *lost is its rounding error. */
VINLINE double square_parts64(double x, double *lost) {
    double square = x * x;
#if TL_LEVEL > 0
    *lost = MADD64(x, x, -square);
#else
    double h = bits_f64(f64_bits(x) & 0xFFFFFFFFF8000000);
    *lost = (h * h - square) + (x - h) * (x + h);
#endif
    return square;
}
VINLINE float square_parts32(float x, float *lost) {
    float square = x * x;
#if TL_LEVEL > 0
    *lost = MADD32(x, x, -square);
#else
    float h = bits_f32(f32_bits(x) & 0xFFFFF000);
    *lost = (h * h - square) + (x - h) * (x + h);
#endif
    return square;
}
/* e^-(square + lost) times a factor. */
VINLINE double exp_minus64(double square, double lost, double factor) {
    double m, r = exp_reduce64(-square, &m) - lost;
    return scale64((1 + exp_poly64(r)) * factor, m);
}
/* For a >= ERF_NEAR. */
VINLINE double erfc_far64(double a) {
    double c = a > ERF_MOST ? ERF_MOST : a, lost, square = square_parts64(c, &lost);
    return exp_minus64(square, lost, a > ERF_MOST ? 0 : erfcx_far64(c));
}
VINLINE float erfc_far32(float a) {
    float c = a > 10.25F ? 10.25F : a, t = (c - 2) / (c + 2);
    float q = -0x1.7d4602p-10F;
    q = MADD32(q, t, 0x1.129fdcp-10F);
    q = MADD32(q, t, 0x1.1ee616p-7F);
    q = MADD32(q, t, -0x1.05eb4ap-7F);
    q = MADD32(q, t, -0x1.bc396cp-5F);
    q = MADD32(q, t, 0x1.4ff894p-3F);
    q = MADD32(q, t, -0x1.54079p-3F);
    q = MADD32(q, t, -0x1.7bf5dcp-4F);
    q = MADD32(q, t, 0x1.46e80ep0F);
    float lost, square = square_parts32(c, &lost);
    float m, r = exp_reduce32(-square, &m) - lost;
    return scale32((1 + exp_poly32(r)) * (a > 10.25F ? 0 : q / (1 + 2 * c)), m);
}
VINLINE double erf_f64(double x) {
    double a = fabs(x), near = MADD64(x, erf_series64(x * x), x);
    double far = copysign(1 - erfc_far64(a), x);
    return a < ERF_NEAR ? near : x != x ? x : far;
}
VINLINE float erf_f32(float x) {
    float a = fabsf(x), near = MADD32(x, erf_series32(x * x), x);
    float far = copysignf(1 - erfc_far32(a), x);
    return a < (float)ERF_NEAR ? near : x != x ? x : far;
}
VINLINE double erfc_f64(double x) {
    double a = fabs(x), near = (1 - x) - x * erf_series64(x * x), far = erfc_far64(a);
    far = x < 0 ? 2 - far : far;
    return a < ERF_NEAR ? near : x != x ? x : far;
}
VINLINE float erfc_f32(float x) {
    float a = fabsf(x), near = (1 - x) - x * erf_series32(x * x), far = erfc_far32(a);
    far = x < 0 ? 2 - far : far;
    return a < (float)ERF_NEAR ? near : x != x ? x : far;
}

/* ---- e^(x^2) erfc(x), and the normal distribution ---- */

#define ERFCX_RARE(x)    (!(((x) > -26) & ((x) < (T)ERF_MOST)))
#define LOG_NDTR_RARE(x) (!((x) > -39))

VINLINE double erfcx_f64(double x) {
    double a = fabs(x), lost, square = square_parts64(a, &lost);
    double far = erfcx_far64(a < ERF_NEAR ? ERF_NEAR : a);
    double grown = exp_minus64(-square, -lost, x < 0 ? 2 : 0);
    double near = exp_f64(square) * MADD64(-x, erf_series64(square), 1 - x);
    return a < ERF_NEAR ? near : x < 0 ? grown - far : far;
}
/* The probability beyond |x|, for a = |x| / sqrt(2) >= ERF_NEAR: the square is x^2 / 2,
 * whatever was lost in a. */
VINLINE double ndtr_far64(double x, double a) {
    double c = fabs(x) > 39 ? 39 : x, lost, square = square_parts64(c, &lost);
    double factor = 0.5 * erfcx_far64(a < ERF_MOST ? a : ERF_MOST);
    return exp_minus64(0.5 * square, 0.5 * lost, fabs(x) > 39 ? 0 : factor);
}
VINLINE double ndtr_f64(double x) {
    double y = x * 0x1.6a09e667f3bcdp-1, a = fabs(y), far = ndtr_far64(x, a);
    double near = 0.5 * MADD64(y, erf_series64(y * y), 1 + y);
    far = x > 0 ? 1 - far : far;
    return a < ERF_NEAR ? near : x != x ? x : far;
}
/* Below, from the tail's logarithm; above 0, from the probability on the other side. */
VINLINE double log_ndtr_f64(double x) {
    double a = fabs(x) * 0x1.6a09e667f3bcdp-1, other = ndtr_f64(-fabs(x));
    bool tail = (x < 0) & (a >= ERF_NEAR);
    double scaled = erfcx_far64(tail ? a : 1);
    double below = log_f64(tail ? 0.5 * scaled : other) - (tail ? 0.5 * x * x : 0);
    return x > 0 ? log1p_f64(-other) : below;
}
VINLINE float erfcx_f32(float x) {
    return (float)erfcx_f64((double)x);
}
/* e^(a^2 / 2) (a + 2) times the probability beyond a is a polynomial in (a - 2) / (a +
 * 2) for all a >= 0: no other formula is needed near 0, and one division for both. The
 * exponential is 2^30 too large until the last product, so that no other underflows. */
VINLINE float ndtr_f32(float x) {
    uint32_t bits = f32_bits(x) & 0x7FFFFFFF, most = 0x41680000; /* 14.5 */
    float a = bits_f32(bits), c = bits_f32(bits < most ? bits : most);
    float u = 1 / (a + 2), t = MADD32(u, -4, 1), q = -0x1.350fc4p-14F;
    q = MADD32(q, t, 0x1.4320c8p-15F);
    q = MADD32(q, t, 0x1.7b81dap-11F);
    q = MADD32(q, t, 0x1.c925ecp-11F);
    q = MADD32(q, t, -0x1.f03f9ap-10F);
    q = MADD32(q, t, -0x1.ba014ap-8F);
    q = MADD32(q, t, -0x1.f96a2cp-12F);
    q = MADD32(q, t, 0x1.2ccf18p-5F);
    q = MADD32(q, t, 0x1.d7d4c2p-6F);
    q = MADD32(q, t, -0x1.535baep-2F);
    q = MADD32(q, t, 0x1.5845dcp-1F);
    q = a > 14.2F ? 0 : q * u; /* less than half of the smallest */
    float lost, square = square_parts32(c, &lost);
    float m, r = exp_reduce32(-0.5F * square, &m) - 0.5F * lost;
    float power = bits_f32((f32_bits(m) - f32_bits(ROUND32) + 157) << 23);
    float y = MADD32(exp_poly32(r), q, q) * power * 0x1p-30F;
    return x > 0 ? 1 - y : y;
}
VINLINE float log_ndtr_f32(float x) {
    return (float)log_ndtr_f64((double)x);
}

/* ---- erfinv, erfcinv ---- */

/* x with erf(x) = y, erfc(x) = c for y = 1 - c in (0, 1): Winitzki's approximation, to
 * 2e-3. */
VINLINE double erf_solve_start(double y, double c) {
    double l = log_f64(c * (1 + y)), h = 4.33075076 + 0.5 * l;
    return sqrt(sqrt(h * h - l / 0.147) - h);
}
/* A step of third order; far from 0 by c, which 1 - y would lose. */
VINLINE double erf_solve_step(double x, double y, double c) {
    double near = MADD64(x, erf_series64(x * x), x) - y, far = c - erfc_far64(x);
    double miss = x < ERF_NEAR ? near : far;
    double step = miss * exp_f64(x * x) * 0.886226925452758;
    return x - step / (1 + x * step);
}
VINLINE double erf_solve64(double y, double c) {
    double x = erf_solve_step(erf_solve_start(y, c), y, c);
    return y < 1e-8 ? 0.886226925452758 * y : erf_solve_step(x, y, c);
}
VINLINE double erf_solve32(double y, double c) {
    double x = erf_solve_step(erf_solve_start(y, c), y, c);
    return y < 1e-5 ? 0.886226925452758 * y : x;
}
VINLINE double erfinv_f64(double y) {
    double a = fabs(y);
    return copysign(erf_solve64(a, 1 - a), y);
}
VINLINE float erfinv_f32(float y) {
    double a = fabs((double)y);
    return copysignf((float)erf_solve32(a, 1 - a), y);
}
VINLINE double erfcinv_f64(double c) {
    return copysign(erf_solve64(fabs(1 - c), c < 1 ? c : 2 - c), 1 - c);
}
VINLINE float erfcinv_f32(float y) {
    double c = (double)y, x = erf_solve32(fabs(1 - c), c < 1 ? c : 2 - c);
    return copysignf((float)x, (float)(1 - c));
}

#endif
