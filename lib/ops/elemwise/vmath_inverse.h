/* Inverse circular and hyperbolic functions, cube roots and lengths, by the methods and
 * for the uses of vmath.h: branch-free, a choice between two intervals by selects. The
 * polynomials minimise the largest relative error; what cancels is kept in two parts.
 */
#ifndef OPS_ELEMWISE_VMATH_INVERSE_H
#define OPS_ELEMWISE_VMATH_INVERSE_H

#include "ops/elemwise/vmath.h"

#define PI_HI64 0x1.921fb54442d18p+1
#define PI_LO64 0x1.1a62633145c07p-53
#define PI_HI32 0x1.921fb6p+1F
#define PI_LO32 -0x1.777a5cp-24F

/* ---- arctan: of z = a / b in [0, 1], and pi/2 or pi less that ---- */

/* (arctan(z) - z) / z for u = z^2 */
VINLINE double arctan_series64(double u) {
    double q = 0x1.bbed9f7b04237p-17;
    q = MADD64(q, u, -0x1.3f364d4b9695cp-13);
    q = MADD64(q, u, 0x1.b3facbcd7bb8ap-11);
    q = MADD64(q, u, -0x1.7a399ad4364a2p-9);
    q = MADD64(q, u, 0x1.d7b927bbdceedp-8);
    q = MADD64(q, u, -0x1.c78fcd542af16p-7);
    q = MADD64(q, u, 0x1.683cc98472e13p-6);
    q = MADD64(q, u, -0x1.e9fa0da6643e9p-6);
    q = MADD64(q, u, 0x1.2c2e5ccfd4e26p-5);
    q = MADD64(q, u, -0x1.59a3ff2ac6667p-5);
    q = MADD64(q, u, 0x1.82dad79d1736p-5);
    q = MADD64(q, u, -0x1.ae5e72c0e6984p-5);
    q = MADD64(q, u, 0x1.e1bba66c1a4b8p-5);
    q = MADD64(q, u, -0x1.110e5126fd02dp-4);
    q = MADD64(q, u, 0x1.3b13669a2a047p-4);
    q = MADD64(q, u, -0x1.745d11ae74c7ap-4);
    q = MADD64(q, u, 0x1.c71c717fcf76dp-4);
    q = MADD64(q, u, -0x1.249249237f57dp-3);
    q = MADD64(q, u, 0x1.99999999955b4p-3);
    q = MADD64(q, u, -0x1.5555555555526p-2);
    return q * u;
}
VINLINE float arctan_series32(float u) {
    float q = -0x1.d5a1aap-10F;
    q = MADD32(q, u, 0x1.6551e2p-7F);
    q = MADD32(q, u, -0x1.fe7d24p-6F);
    q = MADD32(q, u, 0x1.da9c2ep-5F);
    q = MADD32(q, u, -0x1.5825f2p-4F);
    q = MADD32(q, u, 0x1.c0946cp-4F);
    q = MADD32(q, u, -0x1.24211ap-3F);
    q = MADD32(q, u, 0x1.9991ecp-3F);
    q = MADD32(q, u, -0x1.55553ep-2F);
    return q * u;
}
/* turn pi/2 + side (hi + lo), where hi is at most as large as the first; side is 1 or
 * -1. */
VINLINE double from_turn64(double turn, double side, double hi, double lo) {
    double base = turn * (PI_HI64 / 2), sum = base + side * hi;
    double lost = (base - sum) + side * hi;
    return sum + (lost + (turn * (PI_LO64 / 2) + side * lo));
}
VINLINE float from_turn32(float turn, float side, float hi, float lo) {
    float base = turn * (PI_HI32 / 2), sum = base + side * hi;
    float lost = (base - sum) + side * hi;
    return sum + (lost + (turn * (PI_LO32 / 2) + side * lo));
}
/* The derivative by z, within 4 %: by how much an error of z counts. */
VINLINE double arctan_slope64(double u) {
    return 1 - u * (0.94 - 0.44 * u);
}
VINLINE float arctan_slope32(float u) {
    return 1 - u * (0.94F - 0.44F * u);
}
/* a - z b, exactly where z is a / b rounded. */
VINLINE double quotient_rest64(double a, double z, double b) {
#if TL_LEVEL > 0
    return MADD64(-z, b, a);
#else
    double y = bits_f64(f64_bits(z) & 0xFFFFFFFFF8000000);
    double c = bits_f64(f64_bits(b) & 0xFFFFFFFFF8000000);
    return ((a - y * c) - y * (b - c)) - (z - y) * b;
#endif
}
VINLINE float quotient_rest32(float a, float z, float b) {
#if TL_LEVEL > 0
    return MADD32(-z, b, a);
#else
    float y = bits_f32(f32_bits(z) & 0xFFFFF000),
          c = bits_f32(f32_bits(b) & 0xFFFFF000);
    return ((a - y * c) - y * (b - c)) - (z - y) * b;
#endif
}
VINLINE double arctan_f64(double x) {
    double t = fabs(x);
    bool far = t > 1;
    double z = (far ? 1 : t) / (far ? t : 1), u = z * z;
    double rest = (far & (t < 0x1p900)) ? quotient_rest64(1, z, t) * z : 0;
    double lo = rest * arctan_slope64(u) + z * arctan_series64(u);
    return copysign(from_turn64(far ? 1 : 0, far ? -1 : 1, z, lo), x);
}
VINLINE float arctan_f32(float x) {
    float t = fabsf(x);
    bool far = t > 1;
    float z = (far ? 1 : t) / (far ? t : 1);
    float y = from_turn32(far ? 1 : 0, far ? -1 : 1, z, z * arctan_series32(z * z));
    return copysignf(y, x);
}
/* The angle of the point (x, y). Two zeros are 0 / 1 and two infinities 1 / 1, with the
 * signs of the arguments. */
VINLINE double arctan2_f64(double y, double x) {
    double s = fabs(y), t = fabs(x);
    double a = s > t ? t : s, b = s > t ? s : t;
    b = a == (double)INFINITY ? 1 : b;
    a = a == (double)INFINITY ? 1 : a;
    b = b == 0 ? 1 : b;
    double z = a / b, u = z * z;
    double rest = quotient_rest64(a, z, b) / b;
    rest = z < 0x1p-900 ? 0 : rest;
    rest = a < 0x1p-900 ? 0 : rest;
    double half = copysign(1, x);
    double turn = s > t ? 1 : 1 - half;
    double side = s > t ? -half : half;
    double r =
        from_turn64(turn, side, z, rest * arctan_slope64(u) + z * arctan_series64(u));
    return x != x ? x : copysign(r, y);
}
VINLINE float arctan2_f32(float y, float x) {
    float s = fabsf(y), t = fabsf(x);
    float a = s > t ? t : s, b = s > t ? s : t;
    b = a == INFINITY ? 1 : b;
    a = a == INFINITY ? 1 : a;
    b = b == 0 ? 1 : b;
    float z = a / b, u = z * z;
    float rest = quotient_rest32(a, z, b) / b;
    rest = z < 0x1p-100F ? 0 : rest;
    rest = a < 0x1p-100F ? 0 : rest;
    float half = copysignf(1, x), turn = s > t ? 1 : 1 - half;
    float side = s > t ? -half : half;
    float r =
        from_turn32(turn, side, z, rest * arctan_slope32(u) + z * arctan_series32(u));
    return x != x ? x : copysignf(r, y);
}

/* ---- arcsin, arccos: above 1/2 by pi/2 - 2 arcsin(sqrt((1 - x) / 2)) ---- */

/* (arcsin(s) - s) / s for z = s^2 <= 1/4 */
VINLINE double arcsin_series64(double z) {
    double q = 0x1.0b45e9f72d94bp-5;
    q = MADD64(q, z, -0x1.57fad0dea93ccp-6);
    q = MADD64(q, z, 0x1.639a894e21126p-6);
    q = MADD64(q, z, 0x1.e5fbe88dfeb2cp-9);
    q = MADD64(q, z, 0x1.613c1e6ed7236p-7);
    q = MADD64(q, z, 0x1.75859dad05d9ap-7);
    q = MADD64(q, z, 0x1.ca1f8af1f0a39p-7);
    q = MADD64(q, z, 0x1.1c49f077d5bc7p-6);
    q = MADD64(q, z, 0x1.6e8bdedebf9dfp-6);
    q = MADD64(q, z, 0x1.f1c71a95002fbp-6);
    q = MADD64(q, z, 0x1.6db6db721247bp-5);
    q = MADD64(q, z, 0x1.333333332e133p-4);
    q = MADD64(q, z, 0x1.5555555555577p-3);
    return q * z;
}
VINLINE float arcsin_series32(float z) {
    float q = 0x1.5959aap-5F;
    q = MADD32(q, z, 0x1.8c415ap-6F);
    q = MADD32(q, z, 0x1.747b72p-5F);
    q = MADD32(q, z, 0x1.330206p-4F);
    q = MADD32(q, z, 0x1.5555c8p-3F);
    return q * z;
}
/* The arcsine of |x|, or where that is above 1/2 (`far`), of sqrt((1 - |x|) / 2) twice,
 * in two parts. */
VINLINE double arcsin_parts64(double x, bool *far, double *lo) {
    double a = fabs(x);
    *far = a > 0.5;
    double z = *far ? 0.5 * (1 - a) : a * a, root = sqrt(z), s = *far ? root : a;
    double lost = quotient_rest64(z, root, root) / (root + root + 0x1p-1000);
    *lo = s * arcsin_series64(z) + (*far ? lost : 0);
    *lo *= *far ? 2 : 1;
    return *far ? s + s : s;
}
VINLINE float arcsin_parts32(float x, bool *far, float *lo) {
    float a = fabsf(x);
    *far = a > 0.5F;
    float z = *far ? 0.5F * (1 - a) : a * a, root = sqrtf(z), s = *far ? root : a;
    float lost = quotient_rest32(z, root, root) / (root + root + 0x1p-100F);
    *lo = s * arcsin_series32(z) + (*far ? lost : 0);
    *lo *= *far ? 2 : 1;
    return *far ? s + s : s;
}
VINLINE double arcsin_f64(double x) {
    bool far;
    double lo, hi = arcsin_parts64(x, &far, &lo);
    return copysign(from_turn64(far ? 1 : 0, far ? -1 : 1, hi, lo), x);
}
VINLINE float arcsin_f32(float x) {
    bool far;
    float lo, hi = arcsin_parts32(x, &far, &lo);
    return copysignf(from_turn32(far ? 1 : 0, far ? -1 : 1, hi, lo), x);
}
VINLINE double arccos_f64(double x) {
    bool far, left = x < 0;
    double lo, hi = arcsin_parts64(x, &far, &lo);
    return from_turn64(far ? (left ? 2 : 0) : 1, far == left ? -1 : 1, hi, lo);
}
VINLINE float arccos_f32(float x) {
    bool far, left = x < 0;
    float lo, hi = arcsin_parts32(x, &far, &lo);
    return from_turn32(far ? (left ? 2 : 0) : 1, far == left ? -1 : 1, hi, lo);
}

/* ---- arcsinh, arccosh, arctanh: logarithms of 1 + a sum that doesn't cancel; far out,
 * where squares would overflow, of 2 x ---- */

VINLINE double arcsinh_f64(double x) {
    double a = fabs(x), c = a > 0x1p500 ? 1 : a, square = c * c;
    double y = log1p_f64(a > 0x1p500 ? a : a + square / (1 + sqrt(1 + square)));
    return copysign(y + (a > 0x1p500 ? 0x1.62e42fefa39efp-1 : 0), x);
}
VINLINE double arccosh_f64(double x) {
    double t = x < 1 ? (double)NAN : x - 1, c = x > 0x1p500 ? 1 : t;
    double y = log1p_f64(x > 0x1p500 ? x : c + sqrt(c + c + c * c));
    return y + (x > 0x1p500 ? 0x1.62e42fefa39efp-1 : 0);
}
VINLINE double arctanh_f64(double x) {
    double a = fabs(x), t = a + a;
    double y = log1p_f64(a < 0.5 ? t + t * a / (1 - a) : t / (1 - a));
    return copysign(0.5 * y, x);
}
/* In float64 no square of a float32 overflows; where 1 + x is rounded too much, the
 * first terms of the series are enough. */
VINLINE float arcsinh_f32(float x) {
    double a = fabs((double)x), z = a * a;
    double near = MADD64(a * z, MADD64(z, 3.0 / 40, -1.0 / 6), a);
    return copysignf((float)(a < 0x1p-7 ? near : log_short64(a + sqrt(z + 1))), x);
}
VINLINE float arccosh_f32(float x) {
    double a = x < 1 ? (double)NAN : (double)x;
    return (float)log_short64(a + sqrt(MADD64(a, a, -1)));
}
VINLINE float arctanh_f32(float x) {
    double a = fabs((double)x), z = a * a;
    double near = MADD64(a * z, MADD64(z, 1.0 / 5, 1.0 / 3), a);
    double y = a < 0x1p-7 ? near : 0.5 * log_short64((1 + a) / (1 - a));
    return a > 1 ? NAN : copysignf((float)y, x);
}

/* ---- hypot ---- */

/* Scaled by a power of 2, so that no square overflows or vanishes, with the rounding
 * errors of the squares and of the root. */
VINLINE double hypot_f64(double x, double y) {
    double s = fabs(x), t = fabs(y), a = s > t ? s : t, b = s > t ? t : s;
    double down = a > 0x1p500 ? 0x1p-600 : a < 0x1p-400 ? 0x1p600 : 1;
    double up = a > 0x1p500 ? 0x1p600 : a < 0x1p-400 ? 0x1p-600 : 1;
    double p = a * down, q = b * down, pp = p * p, sum = MADD64(q, q, pp);
    double root = sqrt(sum), r = root;
#if TL_LEVEL > 0
    double lost = MADD64(p, p, -pp) + MADD64(q, q, pp - sum);
    r += (lost + MADD64(-root, root, sum)) / (root + root + 0x1p-1000);
#endif
    r *= up;
    r = ((s == (double)INFINITY) | (t == (double)INFINITY)) ? (double)INFINITY : r;
    return ((x != x) & (t != (double)INFINITY))   ? x
           : ((y != y) & (s != (double)INFINITY)) ? y
                                                  : r;
}
VINLINE float hypot_f32(float x, float y) {
    double a = (double)x, b = (double)y;
    float r = (float)sqrt(a * a + b * b);
    return ((fabsf(x) == INFINITY) | (fabsf(y) == INFINITY)) ? INFINITY : r;
}

/* ---- cbrt ---- */

/* Near x^(-1/3), within 3.5 %: a third of the exponent and of the fraction, from their
 * bits; x > 0 and normal. */
VINLINE double cbrt_start(double x) {
    uint64_t third = (f64_bits(x) >> 32) * 0x55555556 >> 32;
    return bits_f64((0x553EE800 - third) << 32);
}
/* (1 - e)^(-1/3), and so x^(-1/3) of a y that is near it, e = 1 - x y^3. */
VINLINE double cbrt_inverse64(double x) {
    double y = cbrt_start(x), e = 1 - x * y * y * y;
    double q = 0x1.2ab3a92ec1db5p-3;
    q = MADD64(q, e, 0x1.6571b7fa2ebecp-3);
    q = MADD64(q, e, 0x1.c718d6d2156a3p-3);
    q = MADD64(q, e, 0x1.555425195a067p-2);
    y += y * (e * q);
    e = 1 - x * y * y * y;
    return y + y * (e * (1.0 / 3 + e * (2.0 / 9)));
}
/* t, 17 bits of x y^2, has an exact cube; the rest is t ((1 - d)^(-1/3) - 1) with d =
 * (x - t^3) / x. Numbers at both ends of the range are scaled by 2^54 or 2^-54. */
VINLINE double cbrt_f64(double x) {
    double a = fabs(x);
    bool tiny = a<0x1p-1000, huge = a> 0x1p1000;
    double v = a * (tiny ? 0x1p54 : huge ? 0x1p-54 : 1), y = cbrt_inverse64(v);
    double t = bits_f64(f64_bits(v * y * y) & 0xFFFFFFF000000000);
    double d = (v - t * t * t) * y * y * y;
    t += t * (d * (1.0 / 3 + d * (2.0 / 9 + d * (14.0 / 81))));
    t *= tiny ? 0x1p-18 : huge ? 0x1p18 : 1;
    return a > 0 && a < (double)INFINITY ? copysign(t, x) : x;
}
VINLINE float cbrt_f32(float x) {
    double a = fabs((double)x), y = cbrt_start(a), e = 1 - a * y * y * y;
    double q = 0x1.cee28f33634f7p-4;
    q = MADD64(q, e, 0x1.0392e12643716p-3);
    q = MADD64(q, e, 0x1.26f3661429deep-3);
    q = MADD64(q, e, 0x1.61f441d46f606p-3);
    q = MADD64(q, e, 0x1.c71c759307a46p-3);
    q = MADD64(q, e, 0x1.555556426c601p-2);
    y += y * (e * q);
    float t = copysignf((float)(a * y * y), x);
    return a > 0 && a < (double)INFINITY ? t : x;
}

#endif
