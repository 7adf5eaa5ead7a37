/* Complex arithmetic, shared by loops, which are compiled for each CPU level, and by
 * literals, so that both give the same bits. */
#ifndef BASE_COMPLEX_H
#define BASE_COMPLEX_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VINLINE static inline __attribute__((always_inline, unused))

#define RE(x) (__real__(x))
#define IM(x) (__imag__(x))
/* -x, by flipping its sign bit: gcc 12 fuses a difference and a sum into one
 * multiply-add-subtract, whatever -ffp-contract says, but only in the vector part of a
 * loop. */
VINLINE float turned_c64(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u ^= UINT32_C(1) << 31;
    memcpy(&x, &u, sizeof x);
    return x;
}
VINLINE double turned_c128(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u ^= UINT64_C(1) << 63;
    memcpy(&x, &u, sizeof x);
    return x;
}
/* x where the bits of `mask` are set, y where they aren't. Of ?: gcc makes branches,
 * and of those vectors that divide for both. */
VINLINE float picked_c64(uint32_t mask, float x, float y) {
    uint32_t u, v;
    memcpy(&u, &x, sizeof u);
    memcpy(&v, &y, sizeof v);
    u = (u & mask) | (v & ~mask);
    memcpy(&x, &u, sizeof x);
    return x;
}
VINLINE double picked_c128(uint64_t mask, double x, double y) {
    uint64_t u, v;
    memcpy(&u, &x, sizeof u);
    memcpy(&v, &y, sizeof v);
    u = (u & mask) | (v & ~mask);
    memcpy(&x, &u, sizeof x);
    return x;
}
#define COMPLEX_ARITHMETIC(C, F, M, sfx, fabs_)                                        \
    VINLINE C cmul_##sfx(C x, C y) {                                                   \
        F re = RE(x) * RE(y) + turned_##sfx(IM(x) * IM(y)),                            \
          im = RE(x) * IM(y) + IM(x) * RE(y);                                          \
        return __builtin_complex(re, im);                                              \
    }                                                                                  \
    /* Smith's: by the larger part of y, so that squares do not overflow. */           \
    VINLINE C cdiv_##sfx(C x, C y) {                                                   \
        F a = RE(x), b = IM(x), c = RE(y), d = IM(y), inf = (F)INFINITY;               \
        M turn = (M)0 - (M)(fabs_(c) < fabs_(d)); /* y / i = d - c i instead of y */   \
        F p = picked_##sfx(turn, d, c), q = picked_##sfx(turn, -c, d);                 \
        F u = picked_##sfx(turn, b, a), v = picked_##sfx(turn, -a, b);                 \
        F t = q / p, scale = 1 / (p + q * t);                                          \
        F re = (u + v * t) * scale, im = (v - u * t) * scale;                          \
        bool zero = (c == 0) & (d == 0);                                               \
        return __builtin_complex(zero ? a * inf : re, zero ? b * inf : im);            \
    }
COMPLEX_ARITHMETIC(float _Complex, float, uint32_t, c64, fabsf)
COMPLEX_ARITHMETIC(double _Complex, double, uint64_t, c128, fabs)

/* Powers that ops/elemwise/vmath_complex.h leaves, and those by which tests measure it:
 * integral exponents by multiplication, others by logarithms. As in NumPy, 0 to the
 * power 0 is 1, to a positive real power 0, and nan in both parts otherwise. */
static inline double _Complex cpower_c128(double _Complex x, double _Complex y) {
    double n = RE(y);
    if (RE(x) == 0 && IM(x) == 0 && (n != 0 || IM(y) != 0))
        return n > 0 && IM(y) == 0 ? __builtin_complex(0.0, 0.0)
                                   : __builtin_complex((double)NAN, (double)NAN);
    if (IM(y) == 0 && rint(n) == n && fabs(n) <= 100) {
        double _Complex r = 1;
        for (unsigned k = (unsigned)fabs(n); k; k >>= 1, x = cmul_c128(x, x))
            if (k & 1) r = cmul_c128(r, x);
        return n < 0 ? cdiv_c128(1, r) : r;
    }
    return __builtin_cpow(x, y);
}

#endif
