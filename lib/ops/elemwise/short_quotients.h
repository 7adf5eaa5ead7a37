/* Integers of 8 and 16 bits divided by one number, rounded down: the upper half of a
 * product, as in upper_quotient of kernels.h. */
#ifndef OPS_ELEMWISE_SHORT_QUOTIENTS_H
#define OPS_ELEMWISE_SHORT_QUOTIENTS_H

#include "ops/elemwise/vmath.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* By y > 1. Of 15 bits and a sign, factor and log are those of upper_quotient for half
 * as many bits; of 16, the factor has 17 bits, of which the highest one is added apart.
 * Of 8 bits, it is 2^16 / y rounded up, without a shift: what rounding adds is below
 * 2^8 / 2^16, hence below 1 / y. */
typedef struct ShortDivisor {
    uint16_t y, factor;
    unsigned log;
    size_t size; /* bytes of a number */
    bool minus;
} ShortDivisor;

VINLINE bool divisor_is_full(ShortDivisor d) {
    return d.size == 2 && !d.minus;
}
VINLINE ShortDivisor short_divisor(uint16_t y, size_t size, bool minus) {
    ShortDivisor d = {.y = y, .size = size, .minus = minus};
    d.log = size == 1 ? 0 : 31 - (unsigned)__builtin_clz(y - 1U);
    const unsigned bits = 16 + d.log + divisor_is_full(d);
    d.factor = (uint16_t)(((UINT64_C(1) << bits) - 1) / y + 1);
    return d;
}
VINLINE uint16_t short_quotient(uint16_t x, ShortDivisor d) {
    uint16_t sign = d.minus && x >> 15 ? 0xFFFF : 0, size = x ^ sign,
             t = (uint16_t)((uint32_t)size * d.factor >> 16);
    if (divisor_is_full(d)) t = (uint16_t)((uint16_t)((uint16_t)(size - t) >> 1) + t);
    return (uint16_t)((t >> d.log) ^ sign);
}

#ifdef __x86_64__
#if TL_LEVEL == 2
typedef __m512i Shorts;
#define OF_SHORTS(op) _mm512_##op
#elif TL_LEVEL == 1
typedef __m256i Shorts;
#define OF_SHORTS(op) _mm256_##op
#else
typedef __m128i Shorts;
#define OF_SHORTS(op) _mm_##op
#endif
typedef int8_t ShortBytes __attribute__((vector_size(sizeof(Shorts))));

VINLINE bool is_all_zero(Shorts x) {
#if TL_LEVEL == 2
    return _mm512_test_epi64_mask(x, x) == 0;
#elif TL_LEVEL == 1
    return _mm256_testz_si256(x, x);
#else
    return _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128())) == 0xFFFF;
#endif
}
/* Are n numbers the same? */
VINLINE bool are_same(const void *numbers, size_t n, size_t size) {
    const char *p = numbers;
    const size_t step = sizeof(Shorts), end = n * size;
    Shorts first, x, y;
    if (end < step + size) return memcmp(p, p + size, end - size) == 0;
    memcpy(&first, p, step);
    memcpy(&x, p + size, step);
    Shorts differs = x ^ first;
    for (size_t at = 0; at + 2 * step <= end; at += 2 * step) {
        memcpy(&x, p + at, step);
        memcpy(&y, p + at + step, step);
        differs |= (x ^ first) | (y ^ first);
    }
    if (end >= 2 * step) memcpy(&x, p + end - 2 * step, step);
    memcpy(&y, p + end - step, step);
    return is_all_zero(differs | (x ^ first) | (y ^ first));
}

/* The numbers of the bytes at even and odd places, by f. */
#define OF_BYTES(f, x, by)                                                             \
    (f((x)&OF_SHORTS(set1_epi16)(0xFF), by) |                                          \
     OF_SHORTS(slli_epi16)(f(OF_SHORTS(srli_epi16)(x, 8), by), 8))

/* All bits of the negative numbers. */
VINLINE Shorts sign_vector(Shorts x, ShortDivisor d) {
    if (!d.minus) return OF_SHORTS(set1_epi16)(0);
    if (d.size == 2) return OF_SHORTS(srai_epi16)(x, 15);
    return (Shorts)((ShortBytes)x < 0);
}
VINLINE Shorts quotient_vector(Shorts x, ShortDivisor d) {
    const Shorts by = OF_SHORTS(set1_epi16)((short)d.factor);
    if (d.size == 1) return OF_BYTES(OF_SHORTS(mulhi_epu16), x, by);
    Shorts t = OF_SHORTS(mulhi_epu16)(x, by);
    if (divisor_is_full(d))
        t = OF_SHORTS(add_epi16)(t,
                                 OF_SHORTS(srli_epi16)(OF_SHORTS(sub_epi16)(x, t), 1));
    return OF_SHORTS(srl_epi16)(t, _mm_cvtsi32_si128((int)d.log));
}
VINLINE Shorts rest_vector(Shorts x, Shorts q, ShortDivisor d) {
    const Shorts by = OF_SHORTS(set1_epi16)((short)d.y);
    if (d.size == 2) return OF_SHORTS(sub_epi16)(x, OF_SHORTS(mullo_epi16)(q, by));
    const Shorts low = OF_SHORTS(set1_epi16)(0xFF);
    return OF_SHORTS(sub_epi8)(x, (OF_SHORTS(mullo_epi16)(q, by) & low) |
                                      OF_SHORTS(mullo_epi16)(q & ~low, by));
}
/* The quotients of as many of n numbers as fill vectors, or with `rest` what they
 * leave. Returns of how many. */
VINLINE size_t short_quotients(size_t n, const void *from, void *to, ShortDivisor d,
                               bool rest) {
    size_t at = 0;
#pragma GCC unroll 4
    for (; at + sizeof(Shorts) <= n * d.size; at += sizeof(Shorts)) {
        Shorts x;
        memcpy(&x, (const char *)from + at, sizeof x);
        const Shorts sign = sign_vector(x, d);
        Shorts q = quotient_vector(x ^ sign, d) ^ sign;
        if (rest) q = rest_vector(x, q, d);
        memcpy((char *)to + at, &q, sizeof q);
    }
    return at / d.size;
}
#undef OF_SHORTS
#undef OF_BYTES
#else
VINLINE bool are_same(const void *numbers, size_t n, size_t size) {
    const char *p = numbers;
    return memcmp(p, p + size, (n - 1) * size) == 0;
}
#define short_quotients(n, from, to, d, rest) ((size_t)0)
#endif

#endif
