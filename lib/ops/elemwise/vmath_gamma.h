/* Gamma, its logarithm and the derivatives of that, by the methods and for the uses of
 * vmath.h, for x > 0; other arguments are left to special.h, and those of gamma from
 * GAMMA_LAST on to the C library. From 8 on they are Stirling's series, polynomials in
 * 1 / x^2. On [1, 8] they are polynomials in t = (x - k) / (x + k), which maps that to
 * a short interval around 0, of what remains without zeros: log gamma is divided by (x
 * - 1) (x - 2), digamma by x - x0. Below 1, the recurrence gives them from x + 1, whose
 * distance to the zeros is that of x, exactly. float32: in float64. */
#ifndef OPS_ELEMWISE_VMATH_GAMMA_H
#define OPS_ELEMWISE_VMATH_GAMMA_H

#include "ops/elemwise/vmath_power.h"

#define GAMMA_FAR 8.0
#define STIRLING  0x1.acfe390c97d69p-2 /* log(2 pi / e) / 2 */
/* log(2 pi) / 2 in two parts. */
#define ROOT_2PI    0x1.d67f1c0000000p-1
#define ROOT_2PI_LO 0x1.0c97d694d252fp-26
/* Digamma's zero. */
#define DIGAMMA_ROOT    0x1.762d86356be3fp+0
#define DIGAMMA_ROOT_LO 0x1.b86a722197829p-54

/* t of x in [1, GAMMA_FAR]. */
VINLINE double gamma_variable(double x) {
    return (x - 2.8125) / (x + 2.8125);
}
/* log gamma(x) / ((x - 1) (x - 2)) */
VINLINE double gammaln_near64(double t) {
    double q = 0x1.4603cdd852ab5p-4;
    q = MADD64(q, t, -0x1.6e03b523a7ae1p-4);
    q = MADD64(q, t, -0x1.09e04092ced61p-5);
    q = MADD64(q, t, 0x1.508dbdd6b06b8p-5);
    q = MADD64(q, t, 0x1.5b28a894ec5b4p-5);
    q = MADD64(q, t, -0x1.9752be41620f3p-5);
    q = MADD64(q, t, 0x1.0f55faede528fp-6);
    q = MADD64(q, t, -0x1.0fd66fa428d3dp-6);
    q = MADD64(q, t, 0x1.a13e5a52b6646p-6);
    q = MADD64(q, t, -0x1.d0404de8274a1p-6);
    q = MADD64(q, t, 0x1.badfe31025e61p-6);
    q = MADD64(q, t, -0x1.ebc47f84515bcp-6);
    q = MADD64(q, t, 0x1.f3237cd78f868p-6);
    q = MADD64(q, t, -0x1.19f44c35b99eap-5);
    q = MADD64(q, t, 0x1.1c2e2f8470ac3p-5);
    q = MADD64(q, t, -0x1.47a6a3bc23429p-5);
    q = MADD64(q, t, 0x1.4a1a903c0c552p-5);
    q = MADD64(q, t, -0x1.87cf4500f363ap-5);
    q = MADD64(q, t, 0x1.89e27aa88db1fp-5);
    q = MADD64(q, t, -0x1.e8c7321b80601p-5);
    q = MADD64(q, t, 0x1.e9200c53ffdcfp-5);
    q = MADD64(q, t, -0x1.47f703e4ccd99p-4);
    q = MADD64(q, t, 0x1.454ca00b03c6fp-4);
    q = MADD64(q, t, -0x1.024db9b97400ep-3);
    q = MADD64(q, t, 0x1.f8a888b6a5ab6p-4);
    q = MADD64(q, t, -0x1.6f599223f3fc9p-2);
    q = MADD64(q, t, 0x1.6e9d43f342edbp-2);
    return q;
}
/* digamma(x) / (x - DIGAMMA_ROOT) */
VINLINE double digamma_near64(double t) {
    double q = 0x1.6438472da2f4p+1;
    q = MADD64(q, t, -0x1.7b0a04babf024p+1);
    q = MADD64(q, t, -0x1.a34b909d2a9fcp+0);
    q = MADD64(q, t, 0x1.e8f29de4279dcp+0);
    q = MADD64(q, t, 0x1.7ebfeb3f58514p+0);
    q = MADD64(q, t, -0x1.aeb6ef7906226p+0);
    q = MADD64(q, t, 0x1.83c30d475e346p-3);
    q = MADD64(q, t, -0x1.d65debe3ae10ap-4);
    q = MADD64(q, t, 0x1.16a9789621ccbp-1);
    q = MADD64(q, t, -0x1.2144e276d12f1p-1);
    q = MADD64(q, t, 0x1.e9a46c69ff445p-2);
    q = MADD64(q, t, -0x1.e723c62e74759p-2);
    q = MADD64(q, t, 0x1.f23ff0ab72393p-2);
    q = MADD64(q, t, -0x1.f42ef24c9e98bp-2);
    q = MADD64(q, t, 0x1.f143d8bec0751p-2);
    q = MADD64(q, t, -0x1.f329bffba9f96p-2);
    q = MADD64(q, t, 0x1.f1086b6a88ac1p-2);
    q = MADD64(q, t, -0x1.f3ba266d7d714p-2);
    q = MADD64(q, t, 0x1.f0ab64d8f4b5ep-2);
    q = MADD64(q, t, -0x1.f4bb5166633acp-2);
    q = MADD64(q, t, 0x1.f06b9c96cf41p-2);
    q = MADD64(q, t, -0x1.f77e44e0a2749p-2);
    q = MADD64(q, t, 0x1.f17f20b15ddfap-2);
    q = MADD64(q, t, -0x1.008071cc5819ap-1);
    q = MADD64(q, t, 0x1.f9ec2d214e9d1p-2);
    q = MADD64(q, t, -0x1.14b7f2168f51dp-1);
    q = MADD64(q, t, 0x1.141a8095a19d3p-1);
    q = MADD64(q, t, -0x1.aa9a16bb37c3dp-1);
    q = MADD64(q, t, 0x1.409ab9a8c09bdp-1);
    return q;
}
/* x trigamma(x) */
VINLINE double trigamma_near64(double t) {
    double q = 0x1.04705988e77bep+2;
    q = MADD64(q, t, -0x1.14e65c3b4470fp+2);
    q = MADD64(q, t, -0x1.328d69fb13b43p+1);
    q = MADD64(q, t, 0x1.65384e3643c5cp+1);
    q = MADD64(q, t, 0x1.17dda07a5ad5dp+1);
    q = MADD64(q, t, -0x1.3aa172de76865p+1);
    q = MADD64(q, t, 0x1.1baf5447813ecp-2);
    q = MADD64(q, t, -0x1.56f9501fadbd3p-3);
    q = MADD64(q, t, 0x1.97a60ef78698ap-1);
    q = MADD64(q, t, -0x1.a66bbf8ac93fcp-1);
    q = MADD64(q, t, 0x1.6639664f1af0dp-1);
    q = MADD64(q, t, -0x1.638c7b1c73fa3p-1);
    q = MADD64(q, t, 0x1.6c98da127cbe7p-1);
    q = MADD64(q, t, -0x1.6ce6ffb252e55p-1);
    q = MADD64(q, t, 0x1.6beda3a9ef792p-1);
    q = MADD64(q, t, -0x1.6bc7a04a77fd3p-1);
    q = MADD64(q, t, 0x1.6b9e81db05b77p-1);
    q = MADD64(q, t, -0x1.6b32421b23f71p-1);
    q = MADD64(q, t, 0x1.6a6791e3883e1p-1);
    q = MADD64(q, t, -0x1.68f7389774131p-1);
    q = MADD64(q, t, 0x1.666632831218ap-1);
    q = MADD64(q, t, -0x1.61f4524db3e53p-1);
    q = MADD64(q, t, 0x1.5a8c5ecba683bp-1);
    q = MADD64(q, t, -0x1.4ecc03c73fd9dp-1);
    q = MADD64(q, t, 0x1.3d39ac8297d63p-1);
    q = MADD64(q, t, -0x1.24b323948d942p-1);
    q = MADD64(q, t, 0x1.04fee8c66b4fdp-1);
    q = MADD64(q, t, -0x1.be83664b7292cp-2);
    q = MADD64(q, t, 0x1.32c77b95f7a35p+0);
    return q;
}
/* x (log gamma(x) - (x - 1/2) (log(x) - 1) - STIRLING) for u = 1 / x^2 */
VINLINE double gammaln_series64(double u) {
    double q = -0x1.b1382377d788ap-10;
    q = MADD64(q, u, 0x1.b6fa4852c5f7p-11);
    q = MADD64(q, u, -0x1.380ebd7243e93p-11);
    q = MADD64(q, u, 0x1.a019fd3406f01p-11);
    q = MADD64(q, u, -0x1.6c16c16bb630dp-9);
    q = MADD64(q, u, 0x1.5555555555553p-4);
    return q;
}
/* x^2 (log(x) - 1 / (2 x) - digamma(x)) */
VINLINE double digamma_series64(double u) {
    double q = 0x1.0497fbf0fa8abp-4;
    q = MADD64(q, u, -0x1.531da6b6dedbfp-6);
    q = MADD64(q, u, 0x1.f037df4b69ba2p-8);
    q = MADD64(q, u, -0x1.1110b33fc17d6p-8);
    q = MADD64(q, u, 0x1.041040c62923cp-8);
    q = MADD64(q, u, -0x1.11111111095e6p-7);
    q = MADD64(q, u, 0x1.5555555555555p-4);
    return q;
}
/* x^3 (trigamma(x) - 1 / x - 1 / (2 x^2)) */
VINLINE double trigamma_series64(double u) {
    double q = 0x1.b7a5f47721ecbp-1;
    q = MADD64(q, u, -0x1.f9d9c7216c73ap-3);
    q = MADD64(q, u, 0x1.360bc3ac05fb3p-4);
    q = MADD64(q, u, -0x1.11105c888595ep-5);
    q = MADD64(q, u, 0x1.86186098270b1p-6);
    q = MADD64(q, u, -0x1.11111110f37eep-5);
    q = MADD64(q, u, 0x1.5555555555551p-3);
    return q;
}
/* gamma(s + 3/2) for |s| <= 1/2 */
VINLINE double gamma_centre64(double s) {
    double q = 0x1.6c3032e6c6f69p-13;
    q = MADD64(q, s, -0x1.1123e91f561a5p-12);
    q = MADD64(q, s, 0x1.27e540fa0105ep-13);
    q = MADD64(q, s, -0x1.bbd59618e79efp-13);
    q = MADD64(q, s, 0x1.f076f989ef31p-12);
    q = MADD64(q, s, -0x1.74558a9281aefp-11);
    q = MADD64(q, s, 0x1.08a9773a0b118p-10);
    q = MADD64(q, s, -0x1.8cf2aff0a8622p-10);
    q = MADD64(q, s, 0x1.2b48ecb68cfadp-9);
    q = MADD64(q, s, -0x1.c0c9137946e79p-9);
    q = MADD64(q, s, 0x1.504d6f0e1fffep-8);
    q = MADD64(q, s, -0x1.f7fa735e7333ep-8);
    q = MADD64(q, s, 0x1.7991e760184a3p-7);
    q = MADD64(q, s, -0x1.1a2c30f8def74p-6);
    q = MADD64(q, s, 0x1.a752c67eb605dp-6);
    q = MADD64(q, s, -0x1.374fd5a85a843p-5);
    q = MADD64(q, s, 0x1.e022b743d0702p-5);
    q = MADD64(q, s, -0x1.3d88cfe56716ep-4);
    q = MADD64(q, s, 0x1.283bd374eadabp-3);
    q = MADD64(q, s, -0x1.b77ac1ca2dcabp-4);
    q = MADD64(q, s, 0x1.a8c4dba620d58p-2);
    q = MADD64(q, s, 0x1.08ea88ee5619cp-5);
    q = MADD64(q, s, 0x1.c5bf891b4ef6bp-1);
    return q;
}

#if HAS_FMA
/* From GAMMA_FAR on, e^((x - 1/2) log(x) - x + log(2 pi) / 2 + series), the exponent in
 * two parts. */
#define GAMMA_LAST 172.0 /* infinite */
VINLINE double gamma_far_f64(double x) {
    PowerBase b = power_base_f64(x);
    double y = x - 0.5, w = 1 / x, p = y * b.log;
    double e = p - x, high = e + ROOT_2PI, sum;
    double lost = MADD64(y, b.log, -p) + y * b.log_lo + ((p - e) - x);
    lost += (e - high) + ROOT_2PI;
    lost += MADD64(w, gammaln_series64(w * w), ROOT_2PI_LO);
    sum = high + lost;
    return exp_parts64(sum, (high - sum) + lost);
}
#else
#define GAMMA_LAST GAMMA_FAR
VINLINE double gamma_far_f64(double x) {
    return x; /* never seen */
}
#endif

/* From [1, 2] by the recurrence; a fused multiply-add tells what products lose. */
VINLINE double gamma_near_f64(double x) {
    bool small = x < 1;
    double y = small ? x + 1 : x, factors = 1, lost = 0;
    for (int i = 2; i < (int)GAMMA_FAR; i++) {
        bool above = y > 2;
        y = above ? y - 1 : y;
        double f = above ? y : 1, product = factors * f;
        lost = MADD64(lost, f, MADD64(factors, f, -product));
        factors = product;
    }
    double centre = gamma_centre64(y - 1.5), r = MADD64(factors, centre, lost * centre);
    return small ? r / x : r;
}
VINLINE double gammaln_f64(double x) {
    bool small = x < 1;
    double y = small ? x + 1 : x, l = log_f64(x), w = 1 / y;
    double zeros = small ? x * (x - 1) : (x - 1) * (x - 2); /* (y - 1) (y - 2) */
    double near = zeros * gammaln_near64(gamma_variable(y)) + (small ? -l : 0);
    double far = MADD64(x - 0.5, l - 1, w * gammaln_series64(w * w) + STIRLING);
    return x < GAMMA_FAR ? near : far;
}
VINLINE double digamma_f64(double x) {
    bool small = x < 1;
    double y = small ? x + 1 : x, w = 1 / x;
    double distance = (x - (small ? DIGAMMA_ROOT - 1 : DIGAMMA_ROOT)) - DIGAMMA_ROOT_LO;
    double near = distance * digamma_near64(gamma_variable(y)) - (small ? w : 0);
    double far = log_f64(x) - w * MADD64(w, digamma_series64(w * w), 0.5);
    return x < GAMMA_FAR ? near : far;
}
VINLINE double trigamma_f64(double x) {
    bool small = x < 1;
    double y = small ? x + 1 : x, w = 1 / y, v = 1 / x;
    double near = w * trigamma_near64(gamma_variable(y)) + (small ? v * v : 0);
    double far = MADD64(w * w, MADD64(w, trigamma_series64(w * w), 0.5), w);
    return x < GAMMA_FAR ? near : far;
}
VINLINE float gamma_near_f32(float x) {
    return (float)gamma_near_f64((double)x);
}
VINLINE float gamma_far_f32(float x) {
    return (float)gamma_far_f64((double)x);
}
VINLINE float gammaln_f32(float x) {
    return (float)gammaln_f64((double)x);
}
VINLINE float digamma_f32(float x) {
    return (float)digamma_f64((double)x);
}
VINLINE float trigamma_f32(float x) {
    return (float)trigamma_f64((double)x);
}

#endif
