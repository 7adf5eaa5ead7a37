/* Vector mathematics for AVX-512: the functions in which models spend most of their
 * time, one vector per call, as wide_exp_f32 and so on. The methods are those of
 * vmath.h plus features of these CPUs: tables in registers shorten the reduced
 * intervals, getexp and getmant split arguments, scalef restores powers of 2 with a
 * single rounding, subnormal numbers included.
 *
 * exp: x = (k + j/16) ln2 + r, e^x = 2^k 2^(j/16) e^r; k + j/16 is x / ln2 rounded, and
 * its last bits are the index j into the table. log: x = 2^k m with m in [3/4, 3/2);
 * the leading bits of m index c near 1/m, log(x) = k ln2 - log(c) + log(1 + r) with r =
 * c m - 1. Each c was chosen by a search so that -log(c) is very close to a short
 * number: its sum with the first part of k ln2 is exact. Near m = 1, c is 1, so nothing
 * cancels there. The polynomials, and the quotient for tanh, minimise the largest
 * error. */
#ifndef OPS_ELEMWISE_VMATH512_H
#define OPS_ELEMWISE_VMATH512_H

#include "ops/elemwise/vmath.h"

/* ---- float64 ---- */
static const double WIDE_POWER_f64[16] = {
    /* 2^(j/16) */
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0,
    0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0,
    0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0,
    0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0,
    0x1.ea4afa2a490dap+0};
static const double WIDE_POWER_LOW_f64[16] = {
    /* 2^(j/16) - that */
    0x0.0000p+0,   0x1.8a63p-54,  -0x1.1904p-55, 0x1.9b08p-54,
    0x1.6f47p-55,  0x1.ada1p-55,  0x1.d439p-56,  0x1.6325p-54,
    -0x1.bdd3p-54, -0x1.4157p-55, 0x1.6e9fp-54,  0x1.c7c4p-56,
    0x1.7a1cp-54,  0x1.1106p-55,  0x1.2ed0p-55,  -0x1.e9c2p-54};
static const double WIDE_C_f64[16] = {
    0x1.0000000000000p+0, 0x1.d41d4ce10a7f3p-1, 0x1.bacf9cc3aad00p-1,
    0x1.a41a39bcb684fp-1, 0x1.8f9c1bf7698ccp-1, 0x1.7d05fc14b6e6fp-1,
    0x1.6c16b3458600fp-1, 0x1.5c987d5eb327bp-1, 0x1.4e5e17e458d4fp+0,
    0x1.41413e6c5ec5cp+0, 0x1.3521cfd0d36fbp+0, 0x1.29e40f48b4d16p+0,
    0x1.1f70380b84c1cp+0, 0x1.15b1d6e83e840p+0, 0x1.0c970fd872d45p+0,
    0x1.0000000000000p+0};
static const double WIDE_LOG_f64[16] = {
    /* -log(c) within 2^-61, multiples of 2^-43 */
    0x0.0000000000000p+0,  0x1.6f0cc7fd3c000p-4,  0x1.2954fa790a000p-3,
    0x1.9525d0574c000p-3,  0x1.fb917781e7000p-3,  0x1.2e8e163666800p-2,
    0x1.5d1c03c1f8800p-2,  0x1.89a34825e6000p-2,  -0x1.1179114dcd800p-2,
    -0x1.d1036d1932000p-3, -0x1.823c171c93000p-3, -0x1.365fb41534000p-3,
    -0x1.da7194dc62000p-4, -0x1.4d3037b39c000p-4, -0x1.894a0493a8000p-5,
    0x0.0000000000000p+0};
/* (e^r - 1 - r) / r^2 for |r| <= ln2 / 32 */
#define WIDE_EXP_f64                                                                   \
    0x1.6c17b15801cc6p-10, 0x1.11123a7cd6bb3p-7, 0x1.555555550ef29p-5,                 \
        0x1.555555548fca7p-3, 0x1p-1
/* the same for |r| <= ln2 / 2 */
#define WIDE_EXPM1_f64                                                                 \
    0x1.1f67330382e7dp-29, 0x1.af393be024886p-26, 0x1.27e4e1d15b891p-22,               \
        0x1.71de0d70d72e3p-19, 0x1.a01a01a48415bp-16, 0x1.a01a01a7d3fafp-13,           \
        0x1.6c16c16c167d6p-10, 0x1.111111111099fp-7, 0x1.5555555555555p-5,             \
        0x1.5555555555556p-3, 0x1p-1
/* (log(1 + r) - r) / r^2 for -1/32 <= r <= 1/16 */
#define WIDE_LOG1P_f64                                                                 \
    0x1.40be938b7677ep-4, -0x1.9797bed7f1db2p-4, 0x1.c72eb00740e48p-4,                 \
        -0x1.0000b91def05dp-3, 0x1.24924942e18ecp-3, -0x1.5555552e81340p-3,            \
        0x1.9999999956e1fp-3, -0x1.0000000001849p-2, 0x1.5555555555577p-2, -0x1p-1
/* (tanh(x) / x - 1) / z with z = x^2 for |x| <= 5/8 */
#define WIDE_TANH_P_f64                                                                \
    -0x1.edc3dfbe1571ep-1, -0x1.8d019e1c5db71p+6, -0x1.937c3e9ef0071p+10
#define WIDE_TANH_Q_f64                                                                \
    0x1p+0, 0x1.c31711cfcd676p+6, 0x1.174f7f986bfe5p+11, 0x1.2e9d2ef734055p+12

/* ---- float32, log with 32 intervals ---- */
static const float WIDE_POWER_f32[16] = {
    0x1.000000p+0F, 0x1.0b5586p+0F, 0x1.172b84p+0F, 0x1.2387a6p+0F,
    0x1.306fe0p+0F, 0x1.3dea64p+0F, 0x1.4bfdaep+0F, 0x1.5ab07ep+0F,
    0x1.6a09e6p+0F, 0x1.7a1148p+0F, 0x1.8ace54p+0F, 0x1.9c4918p+0F,
    0x1.ae89fap+0F, 0x1.c199bep+0F, 0x1.d5818ep+0F, 0x1.ea4afap+0F};
static const float WIDE_POWER_LOW_f32[16] = {
    0x0.00p+0F,   0x1.9fp-25F,  -0x1.c1p-27F, 0x1.cfp-25F,  0x1.46p-25F, 0x1.82p-25F,
    -0x1.59p-25F, -0x1.5cp-27F, 0x1.a0p-26F,  -0x1.83p-25F, 0x1.15p-27F, 0x1.52p-27F,
    -0x1.a9p-26F, -0x1.3dp-27F, -0x1.82p-27F, 0x1.52p-27F};
static const float WIDE_C_f32[32] = {
    0x1.000000p+0F, 0x1.e9da48p-1F, 0x1.d9f3e4p-1F, 0x1.cd6956p-1F, 0x1.c23516p-1F,
    0x1.b5254ap-1F, 0x1.aa0102p-1F, 0x1.9fce36p-1F, 0x1.937edcp-1F, 0x1.8a2230p-1F,
    0x1.82e412p-1F, 0x1.788a96p-1F, 0x1.6f0b8ap-1F, 0x1.694430p-1F, 0x1.5f2c60p-1F,
    0x1.5960d6p-1F, 0x1.50541cp+0F, 0x1.49b860p+0F, 0x1.446868p+0F, 0x1.3e23f8p+0F,
    0x1.39973cp+0F, 0x1.338c80p+0F, 0x1.2b4c84p+0F, 0x1.2726c4p+0F, 0x1.21a79ep+0F,
    0x1.1e1064p+0F, 0x1.1823c0p+0F, 0x1.126834p+0F, 0x1.0e8d04p+0F, 0x1.0ac5f4p+0F,
    0x1.06cc34p+0F, 0x1.000000p+0F};
static const float WIDE_LOG_f32[32] = {
    /* -log(c) within 2^-32, multiples of 2^-17 */
    0x0.000000p+0F,  0x1.6a4000p-5F,  0x1.3c4800p-4F,  0x1.aa2000p-4F,  0x1.076800p-3F,
    0x1.43b400p-3F,  0x1.789400p-3F,  0x1.aa3400p-3F,  0x1.e7c000p-3F,  0x1.0bea00p-2F,
    0x1.1ee800p-2F,  0x1.3aac00p-2F,  0x1.54d400p-2F,  0x1.651400p-2F,  0x1.821800p-2F,
    0x1.932200p-2F,  -0x1.177600p-2F, -0x1.032400p-2F, -0x1.e50400p-3F, -0x1.bd1000p-3F,
    -0x1.9f9000p-3F, -0x1.77b800p-3F, -0x1.400800p-3F, -0x1.237400p-3F, -0x1.f9e800p-4F,
    -0x1.c6d000p-4F, -0x1.711800p-4F, -0x1.1c6800p-4F, -0x1.c4e000p-5F, -0x1.51b000p-5F,
    -0x1.ad6000p-6F, 0x0.000000p+0F};
#define WIDE_EXP_f32 0x1.555704p-3F, 0x1.00021ep-1F
#define WIDE_EXPM1_f32                                                                 \
    0x1.a196cep-13F, 0x1.6d7444p-10F, 0x1.111096p-7F, 0x1.5554aep-5F, 0x1.555556p-3F,  \
        0x1p-1F
/* -1/64 <= r <= 1/32 */
#define WIDE_LOG1P_f32  0x1.8d6bc8p-3F, -0x1.0003e2p-2F, 0x1.5555b6p-2F, -0x1p-1F
#define WIDE_TANH_P_f32 -0x1.de06fep-1F, -0x1.511082p+4F
#define WIDE_TANH_Q_f32 0x1p+0F, 0x1.c14adcp+4F, 0x1.f998c2p+5F

#define LN2 0x1.62e42fefa39efp-1

/* ---- differences between the two types ---- */
VINLINE __m512 wide_power_f32(const float *table, __m512 m) {
    return _mm512_permutexvar_ps(_mm512_castps_si512(m), _mm512_loadu_ps(table));
}
VINLINE __m512d wide_power_f64(const double *table, __m512d m) {
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table), _mm512_castpd_si512(m),
                                  _mm512_loadu_pd(table + 8));
}
VINLINE __m512 wide_pick_f32(const float *table, __m512 m) {
    return _mm512_permutex2var_ps(_mm512_loadu_ps(table),
                                  _mm512_srli_epi32(_mm512_castps_si512(m), 18),
                                  _mm512_loadu_ps(table + 16));
}
VINLINE __m512d wide_pick_f64(const double *table, __m512d m) {
    return _mm512_permutex2var_pd(_mm512_loadu_pd(table),
                                  _mm512_srli_epi64(_mm512_castpd_si512(m), 48),
                                  _mm512_loadu_pd(table + 8));
}

#define WIDE(name) name##_f32
#define P(name)    _mm512_##name##_ps
#define M(name)    _mm512_##name##_ps_mask
#define T          float
#define VEC        __m512
#define MASK       __mmask16
#define EXP_LO     (-103.98) /* below, e^x is 0 */
#define EXP_REST   (-64)
#define EXP_HI     88.9
#define EXPM1_SAME 0x1p-100F
#define TANH_ONE   10
#define SIXTEENTHS 0x1.8p+19F
#define WHOLE      ROUND32
#define LN2_HI     LN2_HI32
#define LN2_LO     LN2_LO32
#include "ops/elemwise/vmath512_each.h"

#define WIDE(name) name##_f64
#define P(name)    _mm512_##name##_pd
#define M(name)    _mm512_##name##_pd_mask
#define T          double
#define VEC        __m512d
#define MASK       __mmask8
#define EXP_LO     (-745.14)
#define EXP_REST   (-640)
#define EXP_HI     709.9
#define EXPM1_SAME 0x1p-500
#define TANH_ONE   22
#define SIXTEENTHS 0x1.8p+48
#define WHOLE      ROUND64
#define LN2_HI     LN2_HI64
#define LN2_LO     LN2_LO64
#include "ops/elemwise/vmath512_each.h"

/* Equal infinities must not be subtracted. */
VINLINE __m512d wide_logaddexp_f64(__m512d x, __m512d y) {
    __m512d r =
        _mm512_add_pd(_mm512_max_pd(x, y), wide_log1p_exp_f64(_mm512_sub_pd(x, y)));
    __mmask8 equal = _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ);
    return _mm512_mask_add_pd(r, equal, x, _mm512_set1_pd(LN2));
}
/* In float64, because the sum may cancel. */
VINLINE __m512 wide_logaddexp_f32(__m512 x, __m512 y) {
    __m512d lo = wide_logaddexp_f64(_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                                    _mm512_cvtps_pd(_mm512_castps512_ps256(y)));
    __m512d hi = wide_logaddexp_f64(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)),
                                    _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1)));
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)),
                              _mm512_cvtpd_ps(hi), 1);
}

#endif
