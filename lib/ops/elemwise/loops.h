/* Defines the loops of a .def file at one CPU level, TL_LEVEL. A kernel's expression is
 * written once and instantiated for each dtype of its domain. Loops are plain C for the
 * compiler to vectorise; the leftover elements of a vector loop use the same
 * operations, so results depend neither on the length nor on an element's position. An
 * output may be the same block as an input; the pragma asserts that no element depends
 * on another. */
#ifndef OPS_ELEMWISE_LOOPS_H
#define OPS_ELEMWISE_LOOPS_H

#include "ops/elemwise/domain.h"

#ifndef TL_LEVEL
#define TL_LEVEL 0
#endif
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTOR_LOOP _Pragma("GCC ivdep")
#endif

#include "ops/elemwise/half.h"
#if TL_LEVEL == 2
#include "ops/elemwise/vmath512.h"
#elif TL_LEVEL == 1
#include "ops/elemwise/complex256.h"
#endif

#define RESULT_SAME(X, RX) X
#define RESULT_BOOL(X, RX) uint8_t
#define RESULT_REAL(X, RX) RX
#define RESULT_PAIR(X, RX) X _Complex

#define PTR1(X) const X *px = in[0];
#define PTR2(X) PTR1(X) const X *py = in[1];
#define PTR3(X) PTR2(X) const X *pz = in[2];
#define PTR4(X) PTR3(X) const X *pw = in[3];
#define PTRCOND(X)                                                                     \
    const uint8_t *px = in[0];                                                         \
    const X *py = in[1], *pz = in[2];
#define GETCOND(W)                                                                     \
    const bool x = px[i] != 0;                                                         \
    const W y = py[i], z = pz[i];
#define GET1(W) const W x = (W)px[i];
#define GET2(W) GET1(W) const W y = (W)py[i];
#define GET3(W) GET2(W) const W z = (W)pz[i];
#define GET4(W) GET3(W) const W w = (W)pw[i];

/* X is the element's storage type, W the type the kernel sees, R the result's storage
 * type. */
#define LOOP(k, name, sfx, X, W, R, kernel)                                            \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        typedef W T __attribute__((unused));                                           \
        unsigned fault = 0;                                                            \
        PTR##k(X) R *pr = out[0];                                                      \
        VECTOR_LOOP for (size_t i = 0; i < n; i++) {                                   \
            GET##k(W) pr[i] = (R)(kernel);                                             \
        }                                                                              \
        return fault;                                                                  \
    }
#define LOOP_HALF(k, out, name)                                                        \
    Loop LOOP_NAME(name, f16, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, f16, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *o) {                          \
        return half_loop(LOOP_NAME(name, f32, TL_LEVEL), k, HALF_##out, n, in, o);     \
    }
#define HALF_SAME 0
#define HALF_REAL 0
#define HALF_BOOL sizeof(uint8_t)
#define HALF_PAIR sizeof(float _Complex)

#define LOOP_(k, out, name, sfx, X, W, RX, e)                                          \
    LOOP(k, name, sfx, X, W, RESULT_##out(X, RX), e)
#define LOOPS_B(k, o, name, e) LOOP_(k, o, name, b, uint8_t, unsigned, uint8_t, e)
#define LOOPS_W(k, o, name, e)                                                         \
    LOOP_(k, o, name, u8, uint8_t, uint32_t, uint8_t, e)                               \
    LOOP_(k, o, name, u16, uint16_t, uint32_t, uint16_t, e)                            \
    LOOP_(k, o, name, u32, uint32_t, uint32_t, uint32_t, e)                            \
    LOOP_(k, o, name, u64, uint64_t, uint64_t, uint64_t, e)
#define LOOPS_S(k, o, name, e)                                                         \
    LOOP_(k, o, name, i8, int8_t, int8_t, int8_t, e)                                   \
    LOOP_(k, o, name, i16, int16_t, int16_t, int16_t, e)                               \
    LOOP_(k, o, name, i32, int32_t, int32_t, int32_t, e)                               \
    LOOP_(k, o, name, i64, int64_t, int64_t, int64_t, e)
#define LOOPS_U(k, o, name, e)                                                         \
    LOOP_(k, o, name, u8, uint8_t, uint8_t, uint8_t, e)                                \
    LOOP_(k, o, name, u16, uint16_t, uint16_t, uint16_t, e)                            \
    LOOP_(k, o, name, u32, uint32_t, uint32_t, uint32_t, e)                            \
    LOOP_(k, o, name, u64, uint64_t, uint64_t, uint64_t, e)
#define LOOPS_F(k, o, name, e)                                                         \
    LOOP_(k, o, name, f32, float, float, float, e)                                     \
    LOOP_(k, o, name, f64, double, double, double, e)                                  \
    LOOP_HALF(k, o, name)
#define LOOPS_C(k, o, name, e)                                                         \
    LOOP_(k, o, name, c64, float _Complex, float _Complex, float, e)                   \
    LOOP_(k, o, name, c128, double _Complex, double _Complex, double, e)

#if TL_LEVEL == 1
#define LOOPS_D(k, o, name, e)                                                         \
    LOOP_BY_PARTS(k, name, c64, float _Complex, float, ps, e)                          \
    LOOP_BY_PARTS(k, name, c128, double _Complex, double, pd, e)
#else
#define LOOPS_D(k, o, name, e) LOOPS_C(k, o, name, e)
#endif

/* Of complex numbers, by NAME_parts of vmath_complex.h: in blocks, whose parts lie
 * apart meanwhile. Where that isn't a number, the kernel is asked. */
#define LOOP_PARTS(name, sfx, F, kernel)                                               \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        enum { BLOCK = 256 };                                                          \
        _Alignas(64) F re[BLOCK], im[BLOCK], to_re[BLOCK], to_im[BLOCK];               \
        for (size_t at = 0, m; at < n; at += m) {                                      \
            const F *px = (const F *)in[0] + 2 * at;                                   \
            F *pr = (F *)out[0] + 2 * at;                                              \
            int any = 0;                                                               \
            m = n - at < BLOCK ? n - at : BLOCK;                                       \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) {                               \
                re[i] = px[2 * i], im[i] = px[2 * i + 1];                              \
            }                                                                          \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) {                               \
                F r, s;                                                                \
                name##_parts_##sfx(re[i], im[i], &r, &s);                              \
                to_re[i] = r, to_im[i] = s;                                            \
            }                                                                          \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) any |= to_re[i] != to_re[i];    \
            for (size_t i = 0; any && i < m; i++) {                                    \
                if (to_re[i] == to_re[i]) continue;                                    \
                const F _Complex x = __builtin_complex(re[i], im[i]), r = kernel;      \
                to_re[i] = RE(r), to_im[i] = IM(r);                                    \
            }                                                                          \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) {                               \
                pr[2 * i] = to_re[i], pr[2 * i + 1] = to_im[i];                        \
            }                                                                          \
        }                                                                              \
        return 0;                                                                      \
    }
/* Powers, in float64. */
#define GET_PARTS(to, p)                                                               \
    VECTOR_LOOP for (size_t i = 0; i < m; i++) {                                       \
        (to).re[i] = (double)(p)[2 * i], (to).im[i] = (double)(p)[2 * i + 1];          \
    }
#define LOOP_PARTS2(name, sfx, F, kernel)                                              \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        ComplexBlock a, b, to;                                                         \
        for (size_t at = 0, m; at < n; at += m) {                                      \
            F *pr = (F *)out[0] + 2 * at;                                              \
            double whole;                                                              \
            int any = 0;                                                               \
            m = n - at < COMPLEX_BLOCK ? n - at : COMPLEX_BLOCK;                       \
            GET_PARTS(a, (const F *)in[0] + 2 * at)                                    \
            GET_PARTS(b, (const F *)in[1] + 2 * at)                                    \
            if (name##_whole_block(m, &b, &whole)) {                                   \
                name##_products(m, whole, &a, &to);                                    \
            } else {                                                                   \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) {                           \
                    double r, s;                                                       \
                    name##_parts_##sfx(a.re[i], a.im[i], b.re[i], b.im[i], &r, &s);    \
                    to.re[i] = r, to.im[i] = s;                                        \
                }                                                                      \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) any |=                      \
                    to.re[i] != to.re[i];                                              \
            }                                                                          \
            for (size_t i = 0; any && i < m; i++) {                                    \
                if (to.re[i] == to.re[i]) continue;                                    \
                const double _Complex x = __builtin_complex(a.re[i], a.im[i]);         \
                const double _Complex y = __builtin_complex(b.re[i], b.im[i]);         \
                const double _Complex r = kernel;                                      \
                to.re[i] = RE(r), to.im[i] = IM(r);                                    \
            }                                                                          \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) {                               \
                pr[2 * i] = (F)to.re[i], pr[2 * i + 1] = (F)to.im[i];                  \
            }                                                                          \
        }                                                                              \
        return 0;                                                                      \
    }
#define LOOPS_K_1(name, e)                                                             \
    LOOP_PARTS(name, c64, float, e) LOOP_PARTS(name, c128, double, e)
#define LOOPS_K_2(name, e)                                                             \
    LOOP_PARTS2(name, c64, float, e) LOOP_PARTS2(name, c128, double, e)
#define LOOPS_K(k, o, name, e) LOOPS_K_##k(name, e)

/* Uses the vector functions wide_*; the last elements form a masked vector. */
#if TL_LEVEL == 2
#define WIDE_1(name, sfx, L) wide_##name##_##sfx(L(0))
#define WIDE_2(name, sfx, L) wide_##name##_##sfx(L(0), L(1))
#define LOOP_WIDE(k, name, sfx, X, bits, ps)                                           \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        enum { LANES = 512 / bits };                                                   \
        X *r = out[0];                                                                 \
        size_t i = 0;                                                                  \
        for (; i + LANES <= n; i += LANES)                                             \
            _mm512_storeu_##ps(r + i, WIDE_##k(name, sfx, WHOLE_##ps));                \
        if (i < n) {                                                                   \
            const unsigned rest = (1U << (n - i)) - 1;                                 \
            _mm512_mask_storeu_##ps(r + i, MASK_##ps(rest),                            \
                                    WIDE_##k(name, sfx, REST_##ps));                   \
        }                                                                              \
        return 0;                                                                      \
    }
#define MASK_ps(m)  ((__mmask16)(m))
#define MASK_pd(m)  ((__mmask8)(m))
#define WHOLE_ps(j) _mm512_loadu_ps((const float *)in[j] + i)
#define WHOLE_pd(j) _mm512_loadu_pd((const double *)in[j] + i)
#define REST_ps(j)  _mm512_maskz_loadu_ps(MASK_ps(rest), (const float *)in[j] + i)
#define REST_pd(j)  _mm512_maskz_loadu_pd(MASK_pd(rest), (const double *)in[j] + i)
#define LOOPS_V(k, o, name, e)                                                         \
    LOOP_WIDE(k, name, f32, float, 32, ps)                                             \
    LOOP_WIDE(k, name, f64, double, 64, pd)                                            \
    LOOP_HALF(k, o, name)
#else
#define LOOPS_V(k, o, name, e) LOOPS_F(k, o, name, e)
#endif

/* In blocks: after each block, rare arguments are computed again. An output may be the
 * same block as an input, so those are kept. */
#define MOST_PTR1(X) const X *px = (const X *)in[0] + at;
#define MOST_PTR2(X) MOST_PTR1(X) const X *py = (const X *)in[1] + at;
#define MOST_GET1(X)                                                                   \
    const X x = px[i];                                                                 \
    keep[0][i] = x;
#define MOST_GET2(X)                                                                   \
    MOST_GET1(X) const X y = py[i];                                                    \
    keep[1][i] = y;
#define MOST_KEPT1(X) const X x = keep[0][i];
#define MOST_KEPT2(X) MOST_KEPT1(X) const X y = keep[1][i];
#define LOOP_BLOCKS(k, name, sfx, X, kernel, rare, ...)                                \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        typedef X T __attribute__((unused));                                           \
        enum { BLOCK = 256 };                                                          \
        _Alignas(64) X keep[k][BLOCK];                                                 \
        for (size_t at = 0, m; at < n; at += m) {                                      \
            MOST_PTR##k(X) X *pr = (X *)out[0] + at;                                   \
            int any = 0;                                                               \
            m = n - at < BLOCK ? n - at : BLOCK;                                       \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) {                               \
                MOST_GET##k(X) any |= rare;                                            \
                pr[i] = kernel;                                                        \
            }                                                                          \
            __VA_ARGS__                                                                \
        }                                                                              \
        return 0;                                                                      \
    }
#define LOOP_MOST(k, name, sfx, X, kernel, rare, other)                                \
    LOOP_BLOCKS(                                                                       \
        k, name, sfx, X, kernel, rare, for (size_t i = 0; any && i < m; i++) {         \
            MOST_KEPT##k(X) if (rare) pr[i] = other;                                   \
        })
#define LOOPS_P(k, o, name, e, rare, other)                                            \
    LOOP_MOST(k, name, f32, float, e, rare, other)                                     \
    LOOP_MOST(k, name, f64, double, e, rare, other)                                    \
    LOOP_HALF(k, o, name)
/* Those that are apart are computed by vectors, too, where a block has any. */
#define LOOP_APART(k, name, sfx, X, kernel, apart, there, rare, other)                 \
    LOOP_BLOCKS(                                                                       \
        k, name, sfx, X, kernel, (apart) | (rare) << 1,                                \
        const size_t again = any & 1 ? m : 0;                                          \
        VECTOR_LOOP for (size_t i = 0; i < again; i++) {                               \
            MOST_KEPT##k(X) pr[i] = (apart) ? there : pr[i];                           \
        } for (size_t i = 0; any & 2 && i < m;                                         \
               i++) { MOST_KEPT##k(X) if (rare) pr[i] = other; })
#define LOOPS_A(k, o, name, e, apart, there, rare, other)                              \
    LOOP_APART(k, name, f32, float, e, apart, there, rare, other)                      \
    LOOP_APART(k, name, f64, double, e, apart, there, rare, other)                     \
    LOOP_HALF(k, o, name)
/* A block that has rare arguments is computed again as a whole, by vectors, too. */
#define LOOP_AGAIN(k, name, sfx, X, kernel, rare, other)                               \
    LOOP_BLOCKS(                                                                       \
        k, name, sfx, X, kernel, rare, const size_t again = any ? m : 0;               \
        VECTOR_LOOP for (size_t i = 0; i < again;                                      \
                         i++) { MOST_KEPT##k(X) pr[i] = other; })
#if TL_LEVEL == 2
#define LOOPS_N(k, o, name, e, rare, other) LOOPS_V(k, o, name, e)
#else
#define LOOPS_N(k, o, name, e, rare, other)                                            \
    LOOP_AGAIN(k, name, f32, float, e, rare, other)                                    \
    LOOP_AGAIN(k, name, f64, double, e, rare, other)                                   \
    LOOP_HALF(k, o, name)
#endif
/* The same with a part that needs x alone: where a block has one x only, as in the rows
 * of x[:, None] ** y, that is computed once. Pairs with a whole 2 y may have another
 * way, NAME_whole for a block of them, NAME_some for those that are among others. */
#define SHARED_ONE(x, y, kernel, rare)                                                 \
    keep[0][i] = x, keep[1][i] = y;                                                    \
    any |= rare;                                                                       \
    whole |= FLOOR(2 * y) == 2 * y;                                                    \
    pr[i] = kernel;
#define LOOP_SHARED(name, sfx, X, shared, kernel, rare, other)                         \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        enum { BLOCK = 256 };                                                          \
        _Alignas(64) X keep[2][BLOCK];                                                 \
        for (size_t at = 0, m; at < n; at += m) {                                      \
            MOST_PTR2(X) X *pr = (X *)out[0] + at;                                     \
            int any = 0, whole = 0;                                                    \
            m = n - at < BLOCK ? n - at : BLOCK;                                       \
            if (name##_whole_##sfx(m, px, py, pr)) continue;                           \
            int differ = px[m - 1] != px[0]; /* mostly enough */                       \
            const size_t doubtful = differ ? 0 : m;                                    \
            VECTOR_LOOP for (size_t i = 0; i < doubtful; i++) differ |=                \
                px[i] != px[0];                                                        \
            if (differ) {                                                              \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) {                           \
                    const X x = px[i], y = py[i];                                      \
                    const __typeof__(shared) b = shared;                               \
                    SHARED_ONE(x, y, kernel, rare)                                     \
                }                                                                      \
            } else {                                                                   \
                const X x = px[0];                                                     \
                const __typeof__(shared) b = shared;                                   \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) {                           \
                    const X y = py[i];                                                 \
                    SHARED_ONE(x, y, kernel, rare)                                     \
                }                                                                      \
            }                                                                          \
            for (size_t i = 0; any && i < m; i++) {                                    \
                MOST_KEPT2(X) if (rare) pr[i] = other;                                 \
            }                                                                          \
            if (whole) name##_some_##sfx(m, keep[0], keep[1], pr);                     \
        }                                                                              \
        return 0;                                                                      \
    }
#define LOOPS_E(k, o, name, shared, e, rare, other)                                    \
    LOOP_SHARED(name, f32, float, shared, e, rare, other)                              \
    LOOP_SHARED(name, f64, double, shared, e, rare, other)                             \
    LOOP_HALF(k, o, name)
/* Division of integers that rounds down, in blocks. Whole x and y below 2^50 are exact
 * in float64; x / y is, if it isn't whole, at least 1 / y from a whole number, which is
 * more than rounding can add. The same holds for (x + 1/2) times the rounded 1 / y of a
 * y > 0 that all have in common.
 *
 * Of 31 bits and a sign or less, by such a y, it needs no float64 (kernels.h).
 *
 * What the division can't take (0, -1, large ones) goes to the kernel. */
#define QUOTIENT_MOST (UINT64_C(1) << 50)
#define QUOTIENT_FAR(x, minus)                                                         \
    (sizeof(x) == 8 &&                                                                 \
     (uint64_t)(x) + (minus)*QUOTIENT_MOST > ((minus) + 1) * QUOTIENT_MOST)
#define QUOTIENT_HARD(y, X, minus) (((y) == 0) | ((minus) & ((y) == (X)-1)))
#define QUOTIENT_DOUBT(x, y, X, minus)                                                 \
    ((X)(QUOTIENT_HARD(y, X, minus) | QUOTIENT_FAR(x, minus) | QUOTIENT_FAR(y, minus)))
#define QUOTIENT_SHORT(X, minus) (sizeof(X) < 4 || (sizeof(X) == 4 && (minus)))
/* Of 8 and 16 bits, float32 is enough: quotients below 2^16 are rounded by less than
 * 2^-8 / y. */
#define QUOTIENT_FLOAT(X)                                                              \
    __typeof__(_Generic((X)0, int8_t : 0.0F, int16_t : 0.0F, uint8_t : 0.0F,           \
                        uint16_t : 0.0F, default : 0.0))
#define QUOTIENT_FLOAT_IN(X, x) (QUOTIENT_FLOAT(X)) QUOTIENT_IN(x)
/* A float64 of a whole number below 2^50, and the number of such a one. AVX2 has no
 * instruction for those of 64 bits, which the low bits of ROUND64 hold. */
#if TL_LEVEL == 1
#define QUOTIENT_IN(x)                                                                 \
    (sizeof(x) == 8 ? bits_f64(f64_bits(ROUND64) + (uint64_t)(x)) - ROUND64            \
                    : (double)(x))
#define QUOTIENT_OUT(X, q)                                                             \
    (sizeof(X) == 8 ? (X)(f64_bits((double)(q) + ROUND64) - f64_bits(ROUND64)) : (X)(q))
#else
#define QUOTIENT_IN(x)     (double)(x)
#define QUOTIENT_OUT(X, q) (X)(q)
#endif
#define REST_floor_divide           false
#define REST_remainder              true
#define QUICK_floor_divide(q, x, y) (q)
#define QUICK_remainder(q, x, y)    ((x) - (q) * (y))
#define LOOP_QUOTIENT(name, sfx, X, minus, kernel)                                     \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        typedef X T;                                                                   \
        enum { BLOCK = 2048 / sizeof(X) };                                             \
        unsigned fault = 0;                                                            \
        uint32_t factor = 0, factor_of = 0;                                            \
        for (size_t at = 0, m; at < n; at += m) {                                      \
            MOST_PTR2(X) X *pr = (X *)out[0] + at;                                     \
            m = n - at < BLOCK ? n - at : BLOCK;                                       \
            const X y0 = py[0];                                                        \
            X hard = 0, differs = 0;                                                   \
            const bool is_short = QUOTIENT_SHORT(X, minus);                            \
            if (is_short) differs = !are_same(py, m, sizeof(X));                       \
            const size_t wide = is_short ? 0 : m;                                      \
            VECTOR_LOOP for (size_t i = 0; i < wide; i++) {                            \
                differs |= (X)(py[i] ^ y0);                                            \
                hard |= QUOTIENT_DOUBT(px[i], py[i], X, minus);                        \
            }                                                                          \
            const bool brief = is_short && !differs && y0 > 1;                         \
            const size_t doubtful = is_short && !brief ? m : 0;                        \
            VECTOR_LOOP for (size_t i = 0; i < doubtful; i++) hard |=                  \
                QUOTIENT_DOUBT(px[i], py[i], X, minus);                                \
            double y1 = (double)y0, sign = y1 < 0 ? -1 : 1, by = sign / y1;            \
            if (brief && sizeof(X) < 4) {                                              \
                const ShortDivisor d = short_divisor((uint16_t)y0, sizeof(X), minus);  \
                const size_t done = short_quotients(m, px, pr, d, REST_##name);        \
                VECTOR_LOOP for (size_t i = done; i < m; i++) {                        \
                    const uint16_t x = (uint16_t)px[i], q = short_quotient(x, d);      \
                    pr[i] = (X)QUICK_##name(q, x, d.y);                                \
                }                                                                      \
            } else if (sizeof(X) >= 4 && brief) {                                      \
                const uint32_t y = (uint32_t)y0;                                       \
                const unsigned log = 31 - (unsigned)__builtin_clz(y - 1);              \
                if (factor_of != y) factor = upper_factor(y, log), factor_of = y;      \
                const size_t done =                                                    \
                    upper_quotients(m, px, pr, y, factor, log, REST_##name);           \
                VECTOR_LOOP for (size_t i = done; i < m; i++) {                        \
                    const uint32_t x = (uint32_t)px[i],                                \
                                   q = upper_quotient(x, factor, log);                 \
                    pr[i] = (X)QUICK_##name(q, x, y);                                  \
                }                                                                      \
            } else if (hard) {                                                         \
                for (size_t i = 0; i < m; i++) {                                       \
                    const X x = px[i], y = py[i];                                      \
                    pr[i] = (X)(kernel);                                               \
                }                                                                      \
            } else if (differs) {                                                      \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) {                           \
                    const QUOTIENT_FLOAT(X) x = QUOTIENT_FLOAT_IN(X, px[i]),           \
                                            y = QUOTIENT_FLOAT_IN(X, py[i]),           \
                                            q = FLOOR(x / y);                          \
                    pr[i] = QUOTIENT_OUT(X, QUICK_##name(q, x, y));                    \
                }                                                                      \
            } else {                                                                   \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) {                           \
                    const double x = QUOTIENT_IN(px[i]);                               \
                    const double q = FLOOR((sign * x + 0.5) * by);                     \
                    pr[i] = QUOTIENT_OUT(X, QUICK_##name(q, x, y1));                   \
                }                                                                      \
            }                                                                          \
        }                                                                              \
        return fault;                                                                  \
    }
#define LOOPS_Q(k, o, name, s, u)                                                      \
    LOOP_QUOTIENT(name, i8, int8_t, 1, s)                                              \
    LOOP_QUOTIENT(name, i16, int16_t, 1, s)                                            \
    LOOP_QUOTIENT(name, i32, int32_t, 1, s)                                            \
    LOOP_QUOTIENT(name, i64, int64_t, 1, s)                                            \
    LOOP_QUOTIENT(name, u8, uint8_t, 0, u)                                             \
    LOOP_QUOTIENT(name, u16, uint16_t, 0, u)                                           \
    LOOP_QUOTIENT(name, u32, uint32_t, 0, u)                                           \
    LOOP_QUOTIENT(name, u64, uint64_t, 0, u)
/* Shifts, in blocks: mostly all y are the same, for which CPUs have instructions. For
 * any y they have those of 32 bits, and of uint64. */
#define SAME_left_shift(X, x, y)                                                       \
    (sizeof(X) == 8 ? (X)((uint64_t)(x) << (y)) : (X)((uint32_t)(x) << (y)))
#define SAME_right_shift(X, x, y) (X)((x) >> (y))
#define LOOP_SHIFT(name, sfx, X, kernel)                                               \
    Loop LOOP_NAME(name, sfx, TL_LEVEL);                                               \
    unsigned LOOP_NAME(name, sfx, TL_LEVEL)(size_t n, const void *const *in,           \
                                            void *const *out) {                        \
        typedef X T;                                                                   \
        enum { BLOCK = 2048 / sizeof(X) };                                             \
        unsigned fault = 0;                                                            \
        for (size_t at = 0, m; at < n; at += m) {                                      \
            MOST_PTR2(X) X *pr = (X *)out[0] + at;                                     \
            m = n - at < BLOCK ? n - at : BLOCK;                                       \
            const X y0 = py[0];                                                        \
            X differs = 0;                                                             \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) differs |= (X)(py[i] ^ y0);     \
            if (!differs && (uint64_t)y0 < 8 * sizeof(X)) {                            \
                const unsigned y = (unsigned)y0;                                       \
                VECTOR_LOOP for (size_t i = 0; i < m; i++) {                           \
                    pr[i] = SAME_##name(X, px[i], y);                                  \
                }                                                                      \
                continue;                                                              \
            }                                                                          \
            VECTOR_LOOP for (size_t i = 0; i < m; i++) {                               \
                const X x = px[i], y = py[i];                                          \
                pr[i] = (X)(kernel);                                                   \
            }                                                                          \
        }                                                                              \
        return fault;                                                                  \
    }
#define LOOPS_H(k, o, name, s, u)                                                      \
    LOOP_SHIFT(name, i8, int8_t, s)                                                    \
    LOOP_SHIFT(name, i16, int16_t, s)                                                  \
    LOOP_(k, o, name, i32, int32_t, int32_t, int32_t, s)                               \
    LOOP_SHIFT(name, i64, int64_t, s)                                                  \
    LOOP_SHIFT(name, u8, uint8_t, u)                                                   \
    LOOP_SHIFT(name, u16, uint16_t, u)                                                 \
    LOOP_(k, o, name, u32, uint32_t, uint32_t, uint32_t, u)                            \
    LOOP_(k, o, name, u64, uint64_t, uint64_t, uint64_t, u)
#define LOOPS_M(k, o, name, e)                                                         \
    LOOPS_B(k, o, name, e)                                                             \
    LOOPS_U(k, o, name, e)                                                             \
    LOOP_(k, o, name, f32, float, float, float, e)                                     \
    LOOP_(k, o, name, f64, double, double, double, e)                                  \
    LOOPS_C(k, o, name, e)

#define LOOPS_PC(k, o, n, p, rare, other, c)                                           \
    LOOPS_P(k, o, n, p, rare, other) LOOPS_C(k, o, n, c)
#define LOOPS_I(k, o, n, i)             LOOPS_S(k, o, n, i) LOOPS_U(k, o, n, i)
#define LOOPS_BW(k, o, n, b, w)         LOOPS_B(k, o, n, b) LOOPS_W(k, o, n, w)
#define LOOPS_BI(k, o, n, b, i)         LOOPS_B(k, o, n, b) LOOPS_I(k, o, n, i)
#define LOOPS_SU(k, o, n, s, u)         LOOPS_S(k, o, n, s) LOOPS_U(k, o, n, u)
#define LOOPS_BSU(k, o, n, b, s, u)     LOOPS_B(k, o, n, b) LOOPS_SU(k, o, n, s, u)
#define LOOPS_IF(k, o, n, i, f)         LOOPS_I(k, o, n, i) LOOPS_F(k, o, n, f)
#define LOOPS_VC(k, o, n, v, c)         LOOPS_V(k, o, n, v) LOOPS_C(k, o, n, c)
#define LOOPS_VK(k, o, n, v, c)         LOOPS_V(k, o, n, v) LOOPS_K(k, o, n, c)
#define LOOPS_FC(k, o, n, f, c)         LOOPS_F(k, o, n, f) LOOPS_C(k, o, n, c)
#define LOOPS_FD(k, o, n, f, c)         LOOPS_F(k, o, n, f) LOOPS_D(k, o, n, c)
#define LOOPS_FK(k, o, n, f, c)         LOOPS_F(k, o, n, f) LOOPS_K(k, o, n, c)
#define LOOPS_WFC(k, o, n, w, f, c)     LOOPS_W(k, o, n, w) LOOPS_FC(k, o, n, f, c)
#define LOOPS_SUF(k, o, n, s, u, f)     LOOPS_SU(k, o, n, s, u) LOOPS_F(k, o, n, f)
#define LOOPS_SUFC(k, o, n, s, u, f, c) LOOPS_SUF(k, o, n, s, u, f) LOOPS_C(k, o, n, c)
#define LOOPS_SUP(k, o, n, s, u, p, rare, other)                                       \
    LOOPS_SU(k, o, n, s, u) LOOPS_P(k, o, n, p, rare, other)
#define LOOPS_QP(k, o, n, s, u, p, rare, other)                                        \
    LOOPS_Q(k, o, n, s, u) LOOPS_P(k, o, n, p, rare, other)
#define LOOPS_SUEK(k, o, n, s, u, b, e, rare, other, c)                                \
    LOOPS_SU(k, o, n, s, u) LOOPS_E(k, o, n, b, e, rare, other) LOOPS_K(k, o, n, c)
#define LOOPS_BIF(k, o, n, b, i, f)     LOOPS_BI(k, o, n, b, i) LOOPS_F(k, o, n, f)
#define LOOPS_BIFC(k, o, n, b, i, f, c) LOOPS_BIF(k, o, n, b, i, f) LOOPS_C(k, o, n, c)
#define LOOPS_WFD(k, o, n, w, f, c)     LOOPS_W(k, o, n, w) LOOPS_FD(k, o, n, f, c)
#define LOOPS_BWFD(k, o, n, b, w, f, c) LOOPS_BW(k, o, n, b, w) LOOPS_FD(k, o, n, f, c)
#define LOOPS_BWFC(k, o, n, b, w, f, c) LOOPS_BW(k, o, n, b, w) LOOPS_FC(k, o, n, f, c)

#define ROW(k, out, name, domain, kernels, ...)                                        \
    SPREAD(LOOPS_##domain, k, out, name, COLUMNS kernels)

#endif
