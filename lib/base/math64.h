/* Parts of float64 functions in branch-free C, which compilers vectorise in the loops
 * that call them: the logarithm, and sine and cosine of an angle together. The others
 * and the method are in ops/elemwise/vmath.h. */
#ifndef BASE_MATH64_H
#define BASE_MATH64_H

#include "base/complex.h"
#include "base/fma.h"

#if HAS_FMA
#define MADD64(a, b, c) __builtin_fma(a, b, c)
#else
#define MADD64(a, b, c) ((a) * (b) + (c))
#endif

VINLINE double bits_f64(uint64_t u) {
    double f;
    memcpy(&f, &u, sizeof f);
    return f;
}
VINLINE uint64_t f64_bits(double f) {
    uint64_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

#define ROUND64  0x1.8p52
#define LN2_HI64 0x1.62e42fee00000p-1 /* 32 bits */
#define LN2_LO64 0x1.a39ef35793c76p-33

/* ---- log ---- */

/* x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); x > 0 and normal. */
VINLINE double log_reduce64(double x, double *k) {
    uint64_t u = f64_bits(x),
             e = (u + (UINT64_C(0x400) << 52) - 0x3FE6A09E667F3BCD) >> 52;
    *k = bits_f64(0x4330000000000000 | e) - (0x1p52 + 1024);
    return bits_f64(u - ((e - 1024) << 52)) - 1;
}
/* log(1 + f) = f - (f^2/2 - result), by the series of the inverse hyperbolic tangent of
 * s = f / (2 + f). */
VINLINE double log_poly64(double f, double half_square) {
    double s = f / (2 + f), z = s * s, q = 0x1.2b5f68a51190dp-3;
    q = MADD64(q, z, 0x1.39fdcceb4b524p-3);
    q = MADD64(q, z, 0x1.7462b91b8df9fp-3);
    q = MADD64(q, z, 0x1.c71c62d5e53dfp-3);
    q = MADD64(q, z, 0x1.2492492dfd86cp-2);
    q = MADD64(q, z, 0x1.9999999995273p-2);
    q = MADD64(q, z, 0x1.5555555555558p-1);
    return s * MADD64(q, z, half_square);
}
/* Special cases: nan for negative x, -inf for 0, and x itself for inf and nan. */
VINLINE double log_special64(double x, double y) {
    y = x < (double)INFINITY ? y : x;
    y = x < 0 ? (double)NAN : y;
    return x == 0 ? -(double)INFINITY : y;
}
/* Scales subnormal arguments by 2^54. */
VINLINE double log_normal64(double x, double *shift) {
    bool tiny = x < 0x1p-1022;
    *shift = tiny ? 54 : 0;
    return tiny ? x * 0x1p54 : x;
}
VINLINE double log_joined64(double k, double f) {
    double h = 0.5 * f * f, t = MADD64(k, LN2_LO64, log_poly64(f, h));
    return MADD64(k, LN2_HI64, f - (h - t));
}
VINLINE double log_f64(double x) {
    double shift, k, f = log_reduce64(log_normal64(x, &shift), &k);
    return log_special64(x, log_joined64(k - shift, f));
}
/* Of a normal number above 0. */
VINLINE double log_positive64(double x) {
    double k, f = log_reduce64(x, &k);
    return log_joined64(k, f);
}

/* ---- sin, cos: for |x| up to TRIG_MAX ---- */

#define TRIG_MAX 1e5

/* x - k pi/2 in two parts; pi/2 in three, of which the first two have 33 bits. k is in
 * the low bits of *m. */
VINLINE double trig_reduce64(double x, double *m, double *rest) {
    *m = MADD64(x, 0x1.45f306dc9c883p-1, ROUND64);
    double k = *m - ROUND64;
    double a = x - k * 0x1.921fb54400000p+0, p = k * 0x1.0b4611a600000p-34;
    double b = a - p, lost = ((a - b) - p) - k * 0x1.3198a2e037073p-69;
    double r = b + lost;
    *rest = (b - r) + lost;
    return r;
}
VINLINE double sin_poly64(double r, double rest) {
    double z = r * r, q = 0x1.5e0a4fc16be00p-33;
    q = MADD64(q, z, -0x1.ae6008d114484p-26);
    q = MADD64(q, z, 0x1.71de37946ed6dp-19);
    q = MADD64(q, z, -0x1.a01a019e820aep-13);
    q = MADD64(q, z, 0x1.1111111110babp-7);
    q = MADD64(q, z, -0x1.5555555555555p-3);
    return r + MADD64(r * z, q, MADD64(z, -0.5 * rest, rest));
}
VINLINE double cos_poly64(double r, double rest) {
    double z = r * r, q = -0x1.907cd8ff5ed8fp-37;
    q = MADD64(q, z, 0x1.1eeb67d026ec6p-29);
    q = MADD64(q, z, -0x1.27e4fa16cc2d1p-22);
    q = MADD64(q, z, 0x1.a01a019f4ddfdp-16);
    q = MADD64(q, z, -0x1.6c16c16c16963p-10);
    q = MADD64(q, z, 0x1.5555555555555p-5);
    double h = 0.5 * z, one = 1 - h;
    return one + (((1 - one) - h) + MADD64(z * z, q, -r * rest));
}
/* Each quarter turn swaps sine and cosine and changes signs. */
VINLINE double sin_turned(double s, double c, uint64_t k) {
    return bits_f64(f64_bits(k & 1 ? c : s) ^ (k & 2) << 62);
}

#endif
