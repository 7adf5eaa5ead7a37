/* x^y, by the methods and for the uses of vmath.h. float64: e^(y log x), the logarithm
 * in two parts of 64 bits together; that takes a fused multiply-add, so level 0 calls
 * the C library. Small whole exponents have another way (power_whole.simd.c). float32:
 * in float64. Arguments of POWER_RARE are left to the C library, too: zeros, infinities
 * and nans, and roots of negative numbers. */
#ifndef OPS_ELEMWISE_VMATH_POWER_H
#define OPS_ELEMWISE_VMATH_POWER_H

#include "ops/elemwise/power_whole.h"
#include "ops/elemwise/vmath.h"

VINLINE bool is_whole_f64(double y) {
    return floor(y) == y;
}
VINLINE bool is_whole_f32(float y) {
    return floorf(y) == y;
}
VINLINE double negated_if_odd_f64(double r, double x, double y) {
    return ((x < 0) & !is_whole_f64(0.5 * y)) ? -r : r;
}
VINLINE float negated_if_odd_f32(float r, float x, float y) {
    return ((x < 0) & !is_whole_f32(0.5F * y)) ? -r : r;
}
#define POWER_RARE(x, y)                                                               \
    (!((x) - (x) == 0) | ((x) == 0) | !((y) - (y) == 0) | (((x) < 0) & !V(is_whole, y)))

#if HAS_FMA
/* log(1 + f) = 2 s (1 + z/3 + z^2/5 + ...) with s = f / (2 + f), z = s^2; all but the
 * series from z^2 on is in two parts. */
VINLINE double log_parts64(double f, double *lo) {
    double d = 2 + f, lost = (2 - d) + f, inverse = 1 / d;
    double s = f * inverse, s_lo = (MADD64(-s, d, f) - s * lost) * inverse;
    double z = s * s, z_lo = MADD64(s, s, -z) + 2 * s * s_lo;
    double q = 0x1.da90000729459p-5;
    q = MADD64(q, z, 0x1.e01b9e2a1cd4cp-5);
    q = MADD64(q, z, 0x1.11154601f4abdp-4);
    q = MADD64(q, z, 0x1.3b13aa0342a95p-4);
    q = MADD64(q, z, 0x1.745d173c57417p-4);
    q = MADD64(q, z, 0x1.c71c71c74d1cp-4);
    q = MADD64(q, z, 0x1.24924924922fcp-3);
    q = MADD64(q, z, 0x1.999999999999ap-3);
    q *= z * z;
    double third = z * 0x1.5555555555555p-2;
    double third_lo = MADD64(z, 0x1.5555555555555p-2, -third) +
                      MADD64(z, 0x1.5555555555555p-56, z_lo * 0x1.5555555555555p-2);
    double u = third + q, u_lo = (third - u) + q + third_lo;
    double top = s + s, p = top * u, p_lo = MADD64(top, u, -p) + top * u_lo;
    double sum = top + p;
    *lo = (top - sum) + p + (p_lo + 2 * s_lo * (1 + u));
    return sum;
}
/* What all powers of x share: its logarithm, in two parts. */
typedef struct PowerBase {
    double log, log_lo;
} PowerBase;
VINLINE PowerBase power_base_f64(double x) {
    double shift, k, lo, f = log_reduce64(log_normal64(fabs(x), &shift), &k);
    double hi = log_parts64(f, &lo), top = (k - shift) * LN2_HI64, l = top + hi;
    return (PowerBase){l, (top - l) + hi + MADD64(k - shift, LN2_LO64, lo)};
}
/* e^(p + lost) */
VINLINE double exp_parts64(double p, double lost) {
    double c = clamp_exp64(p), m = MADD64(c, LOG2E, ROUND64);
    lost = c == p ? lost : 0;
    double n = m - ROUND64, a = MADD64(n, -LN2_HI64, c);
    lost = MADD64(n, -LN2_LO64, lost);
    double r = a + lost, sum = 1 + r;
    double rest = ((1 - sum) + r) + MADD64(r * r, exp_series64(r), (a - r) + lost);
    return scale64(sum + rest, m);
}
VINLINE double power_of_f64(PowerBase b, double x, double y) {
    double p = y * b.log, lost = MADD64(y, b.log, -p) + y * b.log_lo;
    return negated_if_odd_f64(exp_parts64(p, lost), x, y);
}
#else
typedef double PowerBase;
VINLINE PowerBase power_base_f64(double x) {
    return x;
}
VINLINE double power_of_f64(PowerBase b, double x, double y) {
    (void)b;
    return pow(x, y);
}
#endif
VINLINE double power_base_f32(float x) {
    return log_short64(fabs((double)x));
}
VINLINE float power_of_f32(double b, float x, float y) {
    float r = (float)exp_short64((double)y * b);
    return negated_if_odd_f32(r, x, y);
}

/* Those of a block that have another way (LOOPS_E): whole exponents, for which see
 * power_whole.h, and 1/2. A square root is rounded better and takes a tenth of the
 * time; but -0 and -inf to that power are 0 and inf. */
#define POWER_LEVEL_(name, level) name##level
#define POWER_LEVEL(name, level)  POWER_LEVEL_(name, level)
#ifdef __clang__
#define POWER_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define POWER_LOOP _Pragma("GCC ivdep")
#endif
#define POWER_BY_ROOT(sfx, F, sqrt_)                                                   \
    VINLINE F power_root_##sfx(F x) {                                                  \
        return x == -(F)INFINITY ? (F)INFINITY : sqrt_(x) + 0;                         \
    }                                                                                  \
    VINLINE bool power_roots_##sfx(size_t m, const F *x, const F *y, F *r) {           \
        int other = 0;                                                                 \
        if (y[0] != (F)0.5) return false;                                              \
        for (size_t i = 0; i < m; i++)                                                 \
            other |= y[i] != (F)0.5;                                                   \
        if (other) return false;                                                       \
        POWER_LOOP for (size_t i = 0; i < m; i++) r[i] = power_root_##sfx(x[i]);       \
        return true;                                                                   \
    }                                                                                  \
    VINLINE void power_some_roots_##sfx(size_t m, const F *x, const F *y, F *r) {      \
        POWER_LOOP for (size_t i = 0; i < m; i++) r[i] =                               \
            y[i] == (F)0.5 ? power_root_##sfx(x[i]) : r[i];                            \
    }
POWER_BY_ROOT(f32, float, sqrtf)
POWER_BY_ROOT(f64, double, sqrt)
VINLINE bool power_whole_f64(size_t m, const double *x, const double *y, double *r) {
    return power_roots_f64(m, x, y, r) ||
           POWER_LEVEL(power_whole, TL_LEVEL)(m, x, y, r);
}
VINLINE void power_some_f64(size_t m, const double *x, const double *y, double *r) {
    power_some_roots_f64(m, x, y, r);
    POWER_LEVEL(power_some, TL_LEVEL)(m, x, y, r);
}
VINLINE bool power_whole_f32(size_t m, const float *x, const float *y, float *r) {
    return power_roots_f32(m, x, y, r);
}
VINLINE void power_some_f32(size_t m, const float *x, const float *y, float *r) {
    power_some_roots_f32(m, x, y, r);
}
#define POWER_OF(b, x, y)                                                              \
    _Generic((x), float : power_of_f32, double : power_of_f64)(b, x, y)

#endif
