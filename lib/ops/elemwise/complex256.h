/* Products and quotients of complex numbers by AVX2, with the bits of cmul, cdiv and
 * creciprocal: compilers' loops move the parts of numbers between halves of vectors,
 * there and back, and CPUs with short queues wait for that. Here the parts of 8 numbers
 * (float64: 4) come in an order of their own, in which they go out again. */
#ifndef OPS_ELEMWISE_COMPLEX256_H
#define OPS_ELEMWISE_COMPLEX256_H

#include "ops/elemwise/kernels.h"

#include <immintrin.h>

#define VP(name, ps)    _mm256_##name##_##ps
#define REALS_ps(p, q)  _mm256_shuffle_ps(p, q, 0x88)
#define OTHERS_ps(p, q) _mm256_shuffle_ps(p, q, 0xDD)
#define REALS_pd(p, q)  _mm256_unpacklo_pd(p, q)
#define OTHERS_pd(p, q) _mm256_unpackhi_pd(p, q)

/* Smith's, as in base/complex.h. */
#define ARITHMETIC(V, F, ps)                                                           \
    typedef struct Parts_##ps {                                                        \
        V re, im;                                                                      \
    } Parts_##ps;                                                                      \
    VINLINE Parts_##ps multiply_##ps(Parts_##ps x, Parts_##ps y) {                     \
        V re = VP(sub, ps)(VP(mul, ps)(x.re, y.re), VP(mul, ps)(x.im, y.im)),          \
          im = VP(add, ps)(VP(mul, ps)(x.re, y.im), VP(mul, ps)(x.im, y.re));          \
        return (Parts_##ps){re, im};                                                   \
    }                                                                                  \
    VINLINE Parts_##ps square_##ps(Parts_##ps x) {                                     \
        return multiply_##ps(x, x);                                                    \
    }                                                                                  \
    typedef struct Turned_##ps {                                                       \
        V turn, zero, t, scale; /* masks, q / p, 1 / (p + q t) */                      \
    } Turned_##ps;                                                                     \
    VINLINE V minus_##ps(V x) {                                                        \
        return VP(xor, ps)(x, VP(set1, ps)((F)-0.0));                                  \
    }                                                                                  \
    VINLINE Turned_##ps turned_##ps(V c, V d) {                                        \
        const V sign = VP(set1, ps)((F)-0.0), none = VP(setzero, ps)();                \
        Turned_##ps r;                                                                 \
        r.turn =                                                                       \
            VP(cmp, ps)(VP(andnot, ps)(sign, c), VP(andnot, ps)(sign, d), _CMP_LT_OQ); \
        r.zero = VP(and, ps)(VP(cmp, ps)(c, none, _CMP_EQ_OQ),                         \
                             VP(cmp, ps)(d, none, _CMP_EQ_OQ));                        \
        V p = VP(blendv, ps)(c, d, r.turn),                                            \
          q = VP(blendv, ps)(d, minus_##ps(c), r.turn);                                \
        r.t = VP(div, ps)(q, p);                                                       \
        r.scale = VP(div, ps)(VP(set1, ps)(1), VP(add, ps)(p, VP(mul, ps)(q, r.t)));   \
        return r;                                                                      \
    }                                                                                  \
    VINLINE Parts_##ps true_divide_##ps(Parts_##ps x, Parts_##ps y) {                  \
        const V inf = VP(set1, ps)((F)INFINITY);                                       \
        Turned_##ps by = turned_##ps(y.re, y.im);                                      \
        V u = VP(blendv, ps)(x.re, x.im, by.turn),                                     \
          v = VP(blendv, ps)(x.im, minus_##ps(x.re), by.turn);                         \
        V re = VP(mul, ps)(VP(add, ps)(u, VP(mul, ps)(v, by.t)), by.scale),            \
          im = VP(mul, ps)(VP(sub, ps)(v, VP(mul, ps)(u, by.t)), by.scale);            \
        return (Parts_##ps){VP(blendv, ps)(re, VP(mul, ps)(x.re, inf), by.zero),       \
                            VP(blendv, ps)(im, VP(mul, ps)(x.im, inf), by.zero)};      \
    }                                                                                  \
    VINLINE Parts_##ps reciprocal_##ps(Parts_##ps x) {                                 \
        const V nan = VP(set1, ps)((F)NAN);                                            \
        Turned_##ps by = turned_##ps(x.re, x.im);                                      \
        V other = VP(mul, ps)(VP(sub, ps)(VP(setzero, ps)(), by.t), by.scale);         \
        V re = VP(blendv, ps)(by.scale, other, by.turn),                               \
          im = VP(blendv, ps)(other, minus_##ps(by.scale), by.turn);                   \
        return (Parts_##ps){VP(blendv, ps)(re, nan, by.zero),                          \
                            VP(blendv, ps)(im, nan, by.zero)};                         \
    }
ARITHMETIC(__m256, float, ps)
ARITHMETIC(__m256d, double, pd)

#define GET_AT(j, ps)                                                                  \
    get_##ps(VP(loadu, ps)((const void *)((const char *)in[j] + at)),                  \
             VP(loadu, ps)((const void *)((const char *)in[j] + at + 32)))
#define GET_PARTS_OF(V, ps)                                                            \
    VINLINE Parts_##ps get_##ps(V p, V q) {                                            \
        return (Parts_##ps){REALS_##ps(p, q), OTHERS_##ps(p, q)};                      \
    }
GET_PARTS_OF(__m256, ps)
GET_PARTS_OF(__m256d, pd)
#define BY_PARTS_1(name, ps) name##_##ps(GET_AT(0, ps))
#define BY_PARTS_2(name, ps) name##_##ps(GET_AT(0, ps), GET_AT(1, ps))

#define LOOP_BY_PARTS(k, name, sfx, X, F, ps, kernel)                                  \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        size_t i = 0, at = 0;                                                          \
        for (; i + 64 / sizeof(X) <= n; i += 64 / sizeof(X), at += 64) {               \
            Parts_##ps r = BY_PARTS_##k(name, ps);                                     \
            F *to = (F *)(void *)((char *)out[0] + at);                                \
            VP(storeu, ps)(to, VP(unpacklo, ps)(r.re, r.im));                          \
            VP(storeu, ps)(to + 32 / sizeof(F), VP(unpackhi, ps)(r.re, r.im));         \
        }                                                                              \
        PTR##k(X) X *pr = out[0];                                                      \
        for (; i < n; i++) {                                                           \
            GET##k(X) pr[i] = (X)(kernel);                                             \
        }                                                                              \
        return 0;                                                                      \
    }

#endif
