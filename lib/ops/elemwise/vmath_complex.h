/* Complex functions, by the methods and for the uses of vmath.h, in real and imaginary
 * parts: compilers vectorise loops over parts that lie apart (LOOP_PARTS of loops.h).
 * *re is nan where a function doesn't hold; the loop leaves those to the C library.
 * complex64 is computed in float64, in which no square of a float32 overflows or
 * vanishes. */
#ifndef OPS_ELEMWISE_VMATH_COMPLEX_H
#define OPS_ELEMWISE_VMATH_COMPLEX_H

#include "ops/elemwise/vmath_inverse.h"

/* What x * x loses by rounding, which a fused instruction tells; without it by halves
 * of x whose products are exact (Dekker), with the same result. */
#if HAS_FMA
VINLINE double lost_by_square(double x, double square) {
    return MADD64(x, x, -square);
}
#else
VINLINE double lost_by_square(double x, double square) {
    double c = 0x1.0000002p27 * x, high = c - (c - x), low = x - high;
    return ((high * high - square) + 2 * (high * low)) + low * low;
}
#endif
/* 1 / x to three digits, for x from 2^-1000 to 2^1000, in less time than a division:
 * the bits of x as its logarithm, and two steps of Newton's method. */
VINLINE double rough_inverse(double x) {
    double y = bits_f64(UINT64_C(0x7FDE623822FC16E6) - f64_bits(x));
    y *= 2 - x * y;
    return y * (2 - x * y);
}
/* sqrt(p^2 + q^2) for p >= q >= 0, p from 2^-52 to 2^500, within an ulp. What the sum
 * of squares lost is worth about an ulp of the root. */
VINLINE double length_scaled(double p, double q) {
    double pp = p * p, qq = q * q, sum = pp + qq;
    double lost = lost_by_square(p, pp) + lost_by_square(q, qq) + ((pp - sum) + qq);
    double root = sqrt(sum);
    return root + lost * rough_inverse(root + root + 0x1p-1000);
}
/* The power of 2 in a, and 1 by it, both normal numbers. */
VINLINE double power_in(double a) {
    double up = bits_f64(f64_bits(a) & UINT64_C(0x7FF) << 52);
    up = up > 0x1p-1022 ? up : 0x1p-1022;
    return up < 0x1p1022 ? up : 0x1p1022;
}
VINLINE double inverse_power(double up) {
    return bits_f64((UINT64_C(0x7FE) << 52) - f64_bits(up));
}

/* ---- sqrt: the part of x's sign by the length, which doesn't cancel, the other one by
 * a quotient. The same bits at all levels ---- */

VINLINE void sqrt_joined64(double x, double y, double root, double other, double *re,
                           double *im) {
    *re = x >= 0 ? root : other;
    *im = copysign(x >= 0 ? other : root, y);
    *re = root == 0 ? 0 : *re;
    *im = root == 0 ? y : *im;
}
VINLINE void sqrt_parts_c128(double x, double y, double *re, double *im) {
    double s = fabs(x), t = fabs(y), a = s > t ? s : t, b = s > t ? t : s;
    /* 2^(2 j), to divide by; and 2^j */
    uint64_t one = UINT64_C(1) << 52, up = (f64_bits(power_in(a)) - one) | one;
    double down = inverse_power(bits_f64(up));
    double half = bits_f64((up >> 1) + (UINT64_C(1023) << 51));
    double length = length_scaled(a * down, b * down);
    double root = sqrt(0.5 * (s * down + length)) * half;
    sqrt_joined64(x, y, root, t / (root + root), re, im);
    *re = (x - x) + (y - y) == 0 ? *re : (double)NAN;
}
VINLINE void sqrt_parts_c64(float x, float y, float *re, float *im) {
    double a = (double)x, b = (double)y, r, i, root;
    root = sqrt(0.5 * (fabs(a) + sqrt(a * a + b * b)));
    sqrt_joined64(a, b, root, fabs(b) / (root + root), &r, &i);
    *re = (x - x) + (y - y) == 0 ? (float)r : NAN;
    *im = (float)i;
}

/* ---- exp: scaled by the power of 2 last, so that parts that are finite don't overflow
 * on the way. Imaginary parts above TRIG_MAX are rare, and those so small that a
 * product with them is subnormal ---- */

VINLINE void exp_parts_c128(double x, double y, double *re, double *im) {
    double m, n, rest, t = fabs(y);
    double e = 1 + exp_poly64(exp_reduce64(x < -745.14 ? -1418.18 : x, &m));
    double r = trig_reduce64(y, &n, &rest);
    double s = sin_poly64(r, rest), c = cos_poly64(r, rest);
    *re = scale64(e * sin_turned(s, c, f64_bits(n) + 1), m);
    *im = y == 0 ? y : scale64(e * sin_turned(s, c, f64_bits(n)), m);
    bool far = !(t <= TRIG_MAX) | (x > 1400), near = (t < 0x1p-960) & (y != 0);
    *re = (far | near) ? (double)NAN : *re;
}
/* For float32; not above 200, where float32 has infinity or 0 whatever y is. */
VINLINE void exp_parts_short64(double x, double y, double *re, double *im) {
    double n, r = trig_reduce32(y, &n), s = sin_poly32(r), c = cos_poly32(r);
    double e = exp_short64(x);
    *re = e * sin_turned(s, c, f64_bits(n) + 1);
    *im = y == 0 ? y : e * sin_turned(s, c, f64_bits(n));
    *re = fabs(y) <= TRIG_MAX ? *re : (double)NAN;
}
VINLINE void exp_parts_c64(float x, float y, float *re, float *im) {
    double r, i;
    exp_parts_short64((double)x, (double)y, &r, &i);
    *re = (float)r, *im = (float)i;
}

/* ---- log: half the logarithm of the sum of squares; near 1 by how far that is from 1,
 * which cancels only exactly ---- */

VINLINE double sum_parts64(double a, double b, double *lost) {
    double sum = a + b, v = sum - a;
    *lost = (a - (sum - v)) + (b - v);
    return sum;
}
/* Of finite numbers, not both 0. */
VINLINE double log_length64(double x, double y) {
    double s = fabs(x), t = fabs(y), a = s > t ? s : t, b = s > t ? t : s;
    double down = a > 0x1p500 ? 0x1p-600 : a < 0x1p-400 ? 0x1p600 : 1;
    double shift = a > 0x1p500 ? -1200 : a < 0x1p-400 ? 1200 : 0;
    double p = a * down, q = b * down, pp = p * p, qq = q * q, sum = pp + qq;
    double lost, least, rest, k, f = log_reduce64(sum, &k);
    lost = sum_parts64(lost_by_square(p, pp), lost_by_square(q, qq), &least);
    /* sum - 1: all that is rounded on the way, once more */
    double d = pp - 1, top = sum_parts64(d, qq, &rest);
    double near = (top + (lost + (rest + (pp - (d + 1))))) + least;
    double far_lost = (lost + ((pp - sum) + qq)) * rough_inverse(sum);
    bool at_one = k == 0;
    f = at_one ? near : f;
    k -= shift;
    double h = 0.5 * f * f, low = log_poly64(f, h) + (at_one ? 0 : far_lost);
    double r = MADD64(k, LN2_HI64, f - (h - MADD64(k, LN2_LO64, low)));
    return 0.5 * r;
}
VINLINE double log_length_special(double x, double y, double r) {
    r = x - x == y - y ? r : x + y; /* nan */
    r = ((fabs(x) == (double)INFINITY) | (fabs(y) == (double)INFINITY))
            ? (double)INFINITY
            : r;
    return ((x == 0) & (y == 0)) ? -(double)INFINITY : r;
}
VINLINE void log_parts_c128(double x, double y, double *re, double *im) {
    *re = log_length_special(x, y, log_length64(x, y));
    *im = arctan2_f64(y, x);
}
/* Of float32, whose squares are exact in float64. */
VINLINE double log_length_short64(double x, double y) {
    double s = fabs(x), t = fabs(y), a = s > t ? s : t, b = s > t ? t : s;
    double sum = a * a + b * b, k, f = log_reduce64(sum, &k);
    f = k == 0 ? (a - 1) * (a + 1) + b * b : f;
    return 0.5 * log_short_joined64(k, f);
}
VINLINE void log_parts_c64(float x, float y, float *re, float *im) {
    double a = (double)x, b = (double)y;
    *re = (float)log_length_special(a, b, log_length_short64(a, b));
    *im = arctan2_f32(y, x);
}

/* ---- power: e^(y log x), except for whole exponents, as cpower_c128 has them ---- */

enum { COMPLEX_BLOCK = 256 };
typedef struct ComplexBlock {
    _Alignas(64) double re[COMPLEX_BLOCK], im[COMPLEX_BLOCK];
} ComplexBlock;

VINLINE bool power_rare(double x, double y, double c, double d) {
    bool whole = (d == 0) & (floor(c) == c) & (fabs(c) <= 100);
    return whole | !((x - x) + (y - y) == 0) | ((x == 0) & (y == 0));
}
VINLINE void power_parts_c128(double x, double y, double c, double d, double *re,
                              double *im) {
    double l = log_length64(x, y), a = arctan2_f64(y, x);
    exp_parts_c128(c * l + turned_c128(d * a), c * a + d * l, re, im);
    *re = power_rare(x, y, c, d) ? (double)NAN : *re;
}
VINLINE void power_parts_c64(double x, double y, double c, double d, double *re,
                             double *im) {
    double l = log_length_short64(x, y), a = arctan2_f64(y, x);
    double u = c * l + turned_c128(d * a);
    exp_parts_short64(u, c * a + d * l, re, im);
    *re = (power_rare(x, y, c, d) | (u > 200)) ? (double)NAN : *re;
}
/* Is the exponent of all powers of a block the same small whole number n? */
VINLINE bool power_whole_block(size_t m, const ComplexBlock *y, double *n) {
    int differ = 0;
    *n = y->re[0];
    if (y->im[0] != 0 || rint(*n) != *n || !(fabs(*n) <= 100)) return false;
    for (size_t i = 0; i < m; i++)
        differ |= (y->re[i] != *n) | (y->im[i] != 0);
    return !differ;
}
/* The n-th powers of x, which is used up. */
VINLINE void power_products(size_t m, double n, ComplexBlock *x, ComplexBlock *r) {
    uint8_t zero[COMPLEX_BLOCK];
    for (size_t i = 0; i < m; i++) {
        r->re[i] = 1, r->im[i] = 0;
        zero[i] = (x->re[i] == 0) & (x->im[i] == 0) & (n != 0);
    }
    for (unsigned k = (unsigned)fabs(n); k; k >>= 1) {
        for (size_t i = 0; i < m; i++) {
            double _Complex b = __builtin_complex(x->re[i], x->im[i]);
            double _Complex p = cmul_c128(__builtin_complex(r->re[i], r->im[i]), b);
            double _Complex s = cmul_c128(b, b);
            r->re[i] = k & 1 ? RE(p) : r->re[i], r->im[i] = k & 1 ? IM(p) : r->im[i];
            x->re[i] = RE(s), x->im[i] = IM(s);
        }
    }
    double of_zero = n > 0 ? 0 : (double)NAN;
    for (size_t i = 0; i < m; i++) {
        double _Complex p = __builtin_complex(r->re[i], r->im[i]);
        double _Complex inverse = cdiv_c128(1, p);
        r->re[i] = zero[i] ? of_zero : n < 0 ? RE(inverse) : RE(p);
        r->im[i] = zero[i] ? of_zero : n < 0 ? IM(inverse) : IM(p);
    }
}

#endif
