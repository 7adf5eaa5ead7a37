/* Vector loops for AVX2 and AVX-512, for cases where the compilers' loops are slower
 * than memory: maxima, minima, their positions, sums and products of float32 and of
 * short runs. Part of reduce.simd.c, whose loops define the results bit for bit.
 *
 * The instructions for maxima lose nan, so each block is also tested for nan, and
 * blocks with one are left to those loops. Without nan the order of combining affects
 * only the signs of zeros: among equal elements of a lane the first wins, as it does
 * there. */
#ifndef OPS_REDUCE_VECTORS_H
#define OPS_REDUCE_VECTORS_H

#include <immintrin.h>

enum { LONG = 4096 }; /* columns of rows that are asked for ahead */

/* Ordered: one bit per lane, cleared once a nan was seen. */
#if TL_LEVEL == 2
#define VI(name, ps)   _mm512_##name##_##ps
#define VEC_ps         __m512
#define VEC_pd         __m512d
#define ORDERED_ps     __mmask16
#define ORDERED_pd     __mmask8
#define ALL_ORDERED_ps 0xFFFF
#define ALL_ORDERED_pd 0xFF
#define AND_ORDERED(ordered, a, b, ps)                                                 \
    _mm512_mask_cmp_##ps##_mask(ordered, a, b, _CMP_ORD_Q)
#define HAS_NAN(ordered, ps) ((ordered) != ALL_ORDERED_##ps)
#else
#define VI(name, ps)   _mm256_##name##_##ps
#define VEC_ps         __m256
#define VEC_pd         __m256d
#define ORDERED_ps     __m256
#define ORDERED_pd     __m256d
#define ALL_ORDERED_ps _mm256_castsi256_ps(_mm256_set1_epi8(-1))
#define ALL_ORDERED_pd _mm256_castsi256_pd(_mm256_set1_epi8(-1))
#define AND_ORDERED(ordered, a, b, ps)                                                 \
    VI(and, ps)(ordered, VI(cmp, ps)(a, b, _CMP_ORD_Q))
#define HAS_NAN(ordered, ps)                                                           \
    (VI(movemask, ps)(ordered) != VI(movemask, ps)(ALL_ORDERED_##ps))
#endif

/* Halves a vector until one element is left. */
#if TL_LEVEL == 2
#define UPPER_ps(v)      _mm512_extractf32x8_ps(v, 1)
#define UPPER_pd(v)      _mm512_extractf64x4_pd(v, 1)
#define TO_256_ps(op, v) _mm256_##op##_ps(UPPER_ps(v), _mm512_castps512_ps256(v))
#define TO_256_pd(op, v) _mm256_##op##_pd(UPPER_pd(v), _mm512_castpd512_pd256(v))
#else
#define TO_256_ps(op, v) (v)
#define TO_256_pd(op, v) (v)
#endif
#define HALVES_ps(op, v, to)                                                           \
    do {                                                                               \
        __m256 w_ = TO_256_ps(op, v);                                                  \
        __m128 h_ =                                                                    \
            _mm_##op##_ps(_mm256_extractf128_ps(w_, 1), _mm256_castps256_ps128(w_));   \
        h_ = _mm_##op##_ps(_mm_movehl_ps(h_, h_), h_);                                 \
        to = _mm_cvtss_f32(_mm_##op##_ss(_mm_movehdup_ps(h_), h_));                    \
    } while (0)
#define HALVES_pd(op, v, to)                                                           \
    do {                                                                               \
        __m256d w_ = TO_256_pd(op, v);                                                 \
        __m128d h_ =                                                                   \
            _mm_##op##_pd(_mm256_extractf128_pd(w_, 1), _mm256_castpd256_pd128(w_));   \
        to = _mm_cvtsd_f64(_mm_##op##_sd(_mm_unpackhi_pd(h_, h_), h_));                \
    } while (0)
#define GET(p, ps) GET_##ps((const void *)(p))
#define GET_ps(p)  VI(loadu, ps)((const float *)(p))
#define GET_pd(p)  VI(loadu, pd)((const double *)(p))

/* The first n of a vector's elements at p, at least one, and those at `others` in the
 * other lanes; *p in these. */
#if TL_LEVEL == 2
#define MIX_ps(p, n, others)                                                           \
    _mm512_mask_loadu_ps(others, (__mmask16)((1U << (n)) - 1), p)
#define MIX_pd(p, n, others)                                                           \
    _mm512_mask_loadu_pd(others, (__mmask8)((1U << (n)) - 1), p)
#else
static inline VEC_ps mix_ps(const float *p, size_t n, VEC_ps others) {
    __m256i m = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                                   _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_blendv_ps(others, _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
static inline VEC_pd mix_pd(const double *p, size_t n, VEC_pd others) {
    __m256i m = _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n),
                                   _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_blendv_pd(others, _mm256_maskload_pd(p, m), _mm256_castsi256_pd(m));
}
#define MIX_ps(p, n, others) mix_ps(p, n, others)
#define MIX_pd(p, n, others) mix_pd(p, n, others)
#endif
#define SOME_ps(p, n) MIX_ps(p, n, VI(set1, ps)(*(p)))
#define SOME_pd(p, n) MIX_pd(p, n, VI(set1, pd)(*(p)))
#define REST_OF_VECTOR(T, ps)                                                          \
    static inline VEC_##ps rest_##ps(const T *p, size_t n, const T *others) {          \
        return n < sizeof(VEC_##ps) / sizeof(T) ? MIX_##ps(p, n, GET(others, ps))      \
                                                : GET(p, ps);                          \
    }
REST_OF_VECTOR(float, ps)
REST_OF_VECTOR(double, pd)

/* NAME: the loops that these replace; op: max or min; F: the same for two numbers. The
 * instruction returns its second operand when both are equal. */
#define EXTREME(NAME, T, ps, op, F)                                                    \
    static bool NAME##_quick(const T *x, size_t n, T *acc) {                           \
        enum { W = sizeof(VEC_##ps) / sizeof(T), U = LANES / W };                      \
        VEC_##ps t[U];                                                                 \
        ORDERED_##ps ord = ALL_ORDERED_##ps, more = ord;                               \
        size_t i = LANES;                                                              \
        for (size_t u = 0; u < U; u++) {                                               \
            t[u] = VI(loadu, ps)(x + u * W);                                           \
            ord = AND_ORDERED(ord, t[u], t[u], ps);                                    \
        }                                                                              \
        for (; i + 2 * LANES <= n; i += 2 * LANES) {                                   \
            const T *p = x + i;                                                        \
            VEC_##ps v[U];                                                             \
            ASK(p, 2 * LANES * sizeof *p);                                             \
            for (size_t u = 0; u < U; u++)                                             \
                v[u] = VI(loadu, ps)(p + u * W);                                       \
            for (size_t u = 0; u < U; u++) {                                           \
                VEC_##ps a = VI(loadu, ps)(p + LANES + u * W);                         \
                if (u % 2)                                                             \
                    ord = AND_ORDERED(ord, a, v[u], ps);                               \
                else                                                                   \
                    more = AND_ORDERED(more, a, v[u], ps);                             \
                t[u] = VI(op, ps)(VI(op, ps)(a, v[u]), t[u]);                          \
            }                                                                          \
        }                                                                              \
        for (; i + LANES <= n; i += LANES)                                             \
            for (size_t u = 0; u < U; u++) {                                           \
                VEC_##ps a = VI(loadu, ps)(x + i + u * W);                             \
                ord = AND_ORDERED(ord, a, a, ps);                                      \
                t[u] = VI(op, ps)(a, t[u]);                                            \
            }                                                                          \
        /* Lanes without an element see their first one again. */                      \
        for (size_t u = 0; u < U && i < n; u++, i += W) {                              \
            VEC_##ps a = rest_##ps(x + i, n - i, x + u * W);                           \
            ord = AND_ORDERED(ord, a, a, ps);                                          \
            t[u] = VI(op, ps)(a, t[u]);                                                \
        }                                                                              \
        if (HAS_NAN(ord, ps) || HAS_NAN(more, ps)) return false;                       \
        for (size_t live = U / 2; live; live /= 2)                                     \
            for (size_t u = 0; u < live; u++)                                          \
                t[u] = VI(op, ps)(t[u + live], t[u]);                                  \
        HALVES_##ps(op, t[0], *acc);                                                   \
        return true;                                                                   \
    }                                                                                  \
    /* Fewer than LANES elements. The loops take the first of equal ones, which        \
     * matters for zeros only: false if the result is one. */                          \
    static bool NAME##_few(const T *x, size_t n, T *acc) {                             \
        enum { W = sizeof(VEC_##ps) / sizeof(T) };                                     \
        VEC_##ps t = SOME_##ps(x, n < W ? n : W);                                      \
        ORDERED_##ps ord = ALL_ORDERED_##ps;                                           \
        ord = AND_ORDERED(ord, t, t, ps);                                              \
        for (size_t i = W; i < n; i += W) {                                            \
            VEC_##ps a = SOME_##ps(x + i, n - i < W ? n - i : W);                      \
            ord = AND_ORDERED(ord, a, a, ps);                                          \
            t = VI(op, ps)(a, t);                                                      \
        }                                                                              \
        if (HAS_NAN(ord, ps)) return false;                                            \
        HALVES_##ps(op, t, *acc);                                                      \
        return *acc != 0;                                                              \
    }                                                                                  \
    static void NAME##_quick_runs(const char *x, ptrdiff_t step, size_t m, size_t n,   \
                                  void *acc) {                                         \
        T *to = acc;                                                                   \
        for (; n < LANES && m; m--, x += step, to++)                                   \
            if (!NAME##_few((const T *)(const void *)x, n, to))                        \
                NAME##_runs(x, 0, 1, n, to);                                           \
        for (; m; m--, x += step, to++)                                                \
            if (!NAME##_quick((const T *)(const void *)x, n, to))                      \
                NAME##_runs(x, 0, 1, n, to);                                           \
    }                                                                                  \
    /* `n` columns, whole vectors, of eight rows, or one, joined to what acc has. */   \
    static inline __attribute__((always_inline)) void NAME##_eight(                    \
        const char *x, ptrdiff_t s, size_t n, T *acc, bool first, ORDERED_##ps *ord) { \
        const char *y = x + 3 * s, *z = x + 6 * s;                                     \
        bool far = n >= LONG;                                                          \
        for (T *end = acc + n; acc < end; acc += sizeof(VEC_##ps) / sizeof(T)) {       \
            VEC_##ps a = GET(x, ps), b = GET(x + s, ps), c = GET(x + 2 * s, ps),       \
                     d = GET(y, ps), e = GET(x + 4 * s, ps), f = GET(y + 2 * s, ps),   \
                     g = GET(z, ps), h = GET(y + 4 * s, ps);                           \
            for (ptrdiff_t r = 0; far && r < 8; r++)                                   \
                ASK(x + r * s, sizeof a);                                              \
            *ord = AND_ORDERED(*ord, a, b, ps);                                        \
            *ord = AND_ORDERED(*ord, c, d, ps);                                        \
            *ord = AND_ORDERED(*ord, e, f, ps);                                        \
            *ord = AND_ORDERED(*ord, g, h, ps);                                        \
            a = VI(op, ps)(VI(op, ps)(d, c), VI(op, ps)(b, a));                        \
            e = VI(op, ps)(VI(op, ps)(h, g), VI(op, ps)(f, e));                        \
            a = VI(op, ps)(e, a);                                                      \
            if (!first) a = VI(op, ps)(a, VI(loadu, ps)(acc));                         \
            VI(storeu, ps)(acc, a);                                                    \
            x += sizeof a, y += sizeof a, z += sizeof a;                               \
        }                                                                              \
    }                                                                                  \
    static void NAME##_one(const char *x, size_t n, T *acc, ORDERED_##ps *ord) {       \
        for (T *end = acc + n; acc < end; acc += sizeof(VEC_##ps) / sizeof(T)) {       \
            VEC_##ps a = GET(x, ps);                                                   \
            *ord = AND_ORDERED(*ord, a, a, ps);                                        \
            VI(storeu, ps)(acc, VI(op, ps)(a, VI(loadu, ps)(acc)));                    \
            x += sizeof a;                                                             \
        }                                                                              \
    }                                                                                  \
    static void NAME##_quick_rows(const char *x, ptrdiff_t stride, size_t rows,        \
                                  size_t n, void *acc) {                               \
        enum { W = sizeof(VEC_##ps) / sizeof(T), R = 8 };                              \
        ORDERED_##ps ord = ALL_ORDERED_##ps;                                           \
        size_t whole = rows < R ? 0 : n / W * W, r = R;                                \
        if (whole) NAME##_eight(x, stride, whole, acc, true, &ord);                    \
        for (; whole && r + R <= rows; r += R)                                         \
            NAME##_eight(x + (ptrdiff_t)r * stride, stride, whole, acc, false, &ord);  \
        for (; whole && r < rows; r++)                                                 \
            NAME##_one(x + (ptrdiff_t)r * stride, whole, acc, &ord);                   \
        if (HAS_NAN(ord, ps)) whole = 0;                                               \
        if (whole < n)                                                                 \
            NAME##_rows(x + whole * sizeof(T), stride, rows, n - whole,                \
                        (T *)acc + whole);                                             \
    }
EXTREME(max_f32, float, ps, max, MORE_F)
EXTREME(min_f32, float, ps, min, LESS_F)
EXTREME(max_f64, double, pd, max, MORE_F)
EXTREME(min_f64, double, pd, min, LESS_F)

/* ---- sums and products of short runs: of four side by side, each in the order of its
 * elements ---- */
/* Elements 0 and 1 of the runs at x, x + step and so on. */
static inline void columns_f64(const char *x, ptrdiff_t step, __m256d *c) {
    const char *y = x + 2 * step;
    __m256d even = _mm256_insertf128_pd(
                _mm256_castpd128_pd256(_mm_loadu_pd((const void *)x)),
                _mm_loadu_pd((const void *)y), 1),
            odd = _mm256_insertf128_pd(
                _mm256_castpd128_pd256(_mm_loadu_pd((const void *)(x + step))),
                _mm_loadu_pd((const void *)(y + step)), 1);
    c[0] = _mm256_unpacklo_pd(even, odd);
    c[1] = _mm256_unpackhi_pd(even, odd);
}
static inline void columns_f32(const char *x, ptrdiff_t step, __m256d *c) {
    const char *y = x + 2 * step;
    __m128 low = _mm_castpd_ps(
               _mm_loadh_pd(_mm_load_sd((const void *)x), (const void *)(x + step))),
           high = _mm_castpd_ps(
               _mm_loadh_pd(_mm_load_sd((const void *)y), (const void *)(y + step)));
    c[0] = _mm256_cvtps_pd(_mm_shuffle_ps(low, high, 0x88));
    c[1] = _mm256_cvtps_pd(_mm_shuffle_ps(low, high, 0xDD));
}
#define SHORT_RUNS(NAME, N, T, op, F)                                                  \
    static void NAME##_short(const char *x, ptrdiff_t step, size_t m, size_t n,        \
                             double *acc) {                                            \
        for (; m >= 4; m -= 4, x += 4 * step, acc += 4) {                              \
            __m256d c[2], t;                                                           \
            size_t k = 2;                                                              \
            columns_##N(x, step, c);                                                   \
            t = _mm256_##op##_pd(c[0], c[1]);                                          \
            for (; k + 2 <= n; k += 2) {                                               \
                columns_##N(x + k * sizeof(T), step, c);                               \
                t = _mm256_##op##_pd(_mm256_##op##_pd(t, c[0]), c[1]);                 \
            }                                                                          \
            _mm256_storeu_pd(acc, t);                                                  \
            if (k == n) continue;                                                      \
            for (ptrdiff_t i = 0; i < 4; i++)                                          \
                acc[i] =                                                               \
                    F(acc[i], (double)((const T *)(const void *)(x + i * step))[k]);   \
        }                                                                              \
        if (m) NAME##_runs(x, step, m, n, acc);                                        \
    }
SHORT_RUNS(sum_f32, f32, float, add, PLUS)
SHORT_RUNS(sum_f64, f64, double, add, PLUS)
SHORT_RUNS(prod_f32, f32, float, mul, TIMES)
SHORT_RUNS(prod_f64, f64, double, mul, TIMES)
/* ---- sums and products of float32 in float64: converted on load ---- */
#if TL_LEVEL == 2
#define WIDEN(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
/* t and, in its first lanes, the n floats at p, or as many as fit: added, or
 * multiplied. */
#define FLOATS_SOME(NAME, op)                                                          \
    static VEC_pd NAME(VEC_pd t, const float *p, size_t n) {                           \
        __mmask8 some = (__mmask8)(n < 8 ? (1U << n) - 1 : 0xFF);                      \
        return _mm512_mask_##op##_pd(t, some, t,                                       \
                                     _mm512_cvtps_pd(_mm256_maskz_loadu_ps(some, p))); \
    }
#else
#define WIDEN(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define FLOATS_SOME(NAME, op)                                                          \
    static VEC_pd NAME(VEC_pd t, const float *p, size_t n) {                           \
        __m128i some = _mm_cmpgt_epi32(_mm_set1_epi32(n < 4 ? (int)n : 4),             \
                                       _mm_setr_epi32(0, 1, 2, 3));                    \
        VEC_pd r = VI(op, pd)(t, _mm256_cvtps_pd(_mm_maskload_ps(p, some)));           \
        return _mm256_blendv_pd(t, r,                                                  \
                                _mm256_castsi256_pd(_mm256_cvtepi32_epi64(some)));     \
    }
#endif
FLOATS_SOME(add_some, add)
FLOATS_SOME(times_some, mul)
#define FLOATS(p) WIDEN((const float *)(const void *)(p))
/* Ones that compilers don't see, or they would undo what ADD_WIDE is for. */
static inline VEC_pd ones(void) {
    VEC_pd one = VI(set1, pd)(1);
    __asm__("" : "+v"(one));
    return one;
}
/* t + v, by a product with 1, which is exact. Some CPUs convert to float64 where they
 * add: products take other units, and the sum is the same. */
#define ADD_WIDE(t, v)    VI(fmadd, pd)(v, one, t)
#define ADD_PLAIN(t, v)   VI(add, pd)(t, v)
#define TIMES_PLAIN(t, v) VI(mul, pd)(t, v)
/* The same of float64. */
#if TL_LEVEL == 2
#define DOUBLES_SOME(NAME, op)                                                         \
    static VEC_pd NAME(VEC_pd t, const double *p, size_t n) {                          \
        __mmask8 some = (__mmask8)(n < 8 ? (1U << n) - 1 : 0xFF);                      \
        return _mm512_mask_##op##_pd(t, some, t, _mm512_maskz_loadu_pd(some, p));      \
    }
#else
#define DOUBLES_SOME(NAME, op)                                                         \
    static VEC_pd NAME(VEC_pd t, const double *p, size_t n) {                          \
        __m256i some =                                                                 \
            _mm256_cmpgt_epi64(_mm256_set1_epi64x(n < 4 ? (long long)n : 4),           \
                               _mm256_setr_epi64x(0, 1, 2, 3));                        \
        VEC_pd r = VI(op, pd)(t, _mm256_maskload_pd(p, some));                         \
        return _mm256_blendv_pd(t, r, _mm256_castsi256_pd(some));                      \
    }
#endif
DOUBLES_SOME(add_some_f64, add)
DOUBLES_SOME(times_some_f64, mul)
/* LANES sums or products, combined to one. */
#define OF_LANES(op)                                                                   \
    static inline double op##_of_lanes(VEC_pd *t) {                                    \
        double all;                                                                    \
        for (size_t live = LANES * sizeof(double) / sizeof *t / 2; live; live /= 2)    \
            for (size_t u = 0; u < live; u++)                                          \
                t[u] = VI(op, pd)(t[u], t[u + live]);                                  \
        HALVES_pd(op, t[0], all);                                                      \
        return all;                                                                    \
    }
OF_LANES(add)
OF_LANES(mul)
#define FOLD_QUICK(NAME, T, op, WHOLE, MORE_OF, SOME)                                  \
    static double NAME##_quick(const T *x, size_t n) {                                 \
        enum { W = sizeof(VEC_pd) / sizeof(double), U = LANES / W };                   \
        VEC_pd t[U], one __attribute__((unused)) = ones();                             \
        size_t i = LANES;                                                              \
        for (size_t u = 0; u < U; u++)                                                 \
            t[u] = WHOLE(x + u * W);                                                   \
        for (; i + LANES <= n; i += LANES) {                                           \
            ASK(x + i, LANES * sizeof *x);                                             \
            for (size_t u = 0; u < U; u++)                                             \
                t[u] = MORE_OF(t[u], WHOLE(x + i + u * W));                            \
        }                                                                              \
        for (size_t u = 0; i < n; i += W, u++)                                         \
            t[u] = SOME(t[u], x + i, n - i);                                           \
        return op##_of_lanes(t);                                                       \
    }
FOLD_QUICK(sum_f32, float, add, WIDEN, ADD_WIDE, add_some)
FOLD_QUICK(sum_f64, double, add, GET_pd, ADD_PLAIN, add_some_f64)
FOLD_QUICK(prod_f32, float, mul, WIDEN, TIMES_PLAIN, times_some)
FOLD_QUICK(prod_f64, double, mul, GET_pd, TIMES_PLAIN, times_some_f64)
#define QUICK_RUNS(NAME, T)                                                            \
    static void NAME##_quick_runs(const char *x, ptrdiff_t step, size_t m, size_t n,   \
                                  void *acc) {                                         \
        if (n > 4 && n < LANES)                                                        \
            NAME##_short(x, step, m, n, acc);                                          \
        else if (n < LANES)                                                            \
            NAME##_runs(x, step, m, n, acc);                                           \
        else                                                                           \
            for (size_t i = 0; i < m; i++, x += step)                                  \
                ((double *)acc)[i] = NAME##_quick((const T *)(const void *)x, n);      \
    }
QUICK_RUNS(sum_f32, float)
QUICK_RUNS(sum_f64, double)
QUICK_RUNS(prod_f32, float)
QUICK_RUNS(prod_f64, double)
/* The sum of sums in memory, pair by pair. */
static inline double total(const double *sum) {
    enum { W = sizeof(VEC_pd) / sizeof(double), U = LANES / W };
    VEC_pd t[4];
    double all;
    for (size_t u = 0; u < 4; u++) {
        t[u] = GET(sum + u * W, pd);
        if (U == 8) t[u] = VI(add, pd)(t[u], GET(sum + (u + 4) * W, pd));
    }
    t[0] = VI(add, pd)(VI(add, pd)(t[0], t[2]), VI(add, pd)(t[1], t[3]));
    HALVES_pd(add, t[0], all);
    return all;
}
#define REST_QUICK(N, T, SOME)                                                         \
    static void rest_##N##_quick(const double *sum, const void *from, size_t n,        \
                                 double *acc) {                                        \
        enum { W = sizeof(VEC_pd) / sizeof(double), U = LANES / W };                   \
        if (n == 0) {                                                                  \
            *acc = total(sum);                                                         \
            return;                                                                    \
        }                                                                              \
        const T *x = from;                                                             \
        VEC_pd t[U];                                                                   \
        for (size_t u = 0; u < U; u++)                                                 \
            t[u] = GET(sum + u * W, pd);                                               \
        for (; n >= LANES; n -= LANES, x += LANES)                                     \
            for (size_t u = 0; u < U; u++)                                             \
                t[u] = SOME(t[u], x + u * W, W);                                       \
        for (size_t u = 0; u * W < n; u++)                                             \
            t[u] = SOME(t[u], x + u * W, n - u * W);                                   \
        *acc = add_of_lanes(t);                                                        \
    }
REST_QUICK(f32, float, add_some)
REST_QUICK(f64, double, add_some_f64)
/* Two vectors of sums: of a cache line of float32, if vectors are that long. */
typedef struct Line {
    VEC_pd lo, hi;
} Line;
enum { LINE = sizeof(Line) / 2 };
static inline Line line_at(const char *x) {
    ASK(x, LINE);
    return (Line){FLOATS(x), FLOATS(x + LINE / 2)};
}
/* NAME_eight: n columns, whole vectors, of eight rows. NAME_lines: the same of n
 * columns, whole lines, of long rows. They are asked for ahead and read a line at a
 * time: the CPU comes sooner to what it must wait for. */
#define WIDE_ROWS(NAME, op)                                                            \
    static inline Line NAME##_line(Line a, Line b) {                                   \
        return (Line){VI(op, pd)(a.lo, b.lo), VI(op, pd)(a.hi, b.hi)};                 \
    }                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_eight(                    \
        const char *x, ptrdiff_t s, size_t n, double *acc, bool first) {               \
        const char *y = x + 3 * s, *z = x + 6 * s;                                     \
        for (double *end = acc + n; acc < end;                                         \
             acc += sizeof(VEC_pd) / sizeof(double)) {                                 \
            VEC_pd a = VI(op, pd)(FLOATS(x), FLOATS(x + s)),                           \
                   b = VI(op, pd)(FLOATS(x + 2 * s), FLOATS(y)),                       \
                   c = VI(op, pd)(FLOATS(x + 4 * s), FLOATS(y + 2 * s)),               \
                   d = VI(op, pd)(FLOATS(z), FLOATS(y + 4 * s));                       \
            a = VI(op, pd)(VI(op, pd)(a, b), VI(op, pd)(c, d));                        \
            if (!first) a = VI(op, pd)(VI(loadu, pd)(acc), a);                         \
            VI(storeu, pd)(acc, a);                                                    \
            x += sizeof a / 2, y += sizeof a / 2, z += sizeof a / 2;                   \
        }                                                                              \
    }                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_lines(                    \
        const char *x, ptrdiff_t s, size_t n, double *acc, bool first) {               \
        for (double *end = acc + n; acc < end; acc += sizeof(Line) / sizeof(double)) { \
            Line half[2];                                                              \
            for (int k = 0; k < 2; k++) {                                              \
                const char *at = x + 4 * k * s;                                        \
                Line a = line_at(at);                                                  \
                a = NAME##_line(a, line_at(at + s));                                   \
                Line b = line_at(at + 2 * s);                                          \
                half[k] = NAME##_line(a, NAME##_line(b, line_at(at + 3 * s)));         \
            }                                                                          \
            Line all = NAME##_line(half[0], half[1]);                                  \
            double *hi = acc + sizeof(VEC_pd) / sizeof(double);                        \
            if (!first)                                                                \
                all = NAME##_line((Line){VI(loadu, pd)(acc), VI(loadu, pd)(hi)}, all); \
            VI(storeu, pd)(acc, all.lo);                                               \
            VI(storeu, pd)(hi, all.hi);                                                \
            x += LINE;                                                                 \
        }                                                                              \
    }                                                                                  \
    static void NAME##_quick_rows(const char *x, ptrdiff_t stride, size_t rows,        \
                                  size_t n, void *acc) {                               \
        enum { W = sizeof(VEC_pd) / sizeof(double), R = 8 };                           \
        size_t whole = rows < R ? 0 : n / W * W, r = R,                                \
               lines = whole < LONG ? 0 : n / (2 * W) * (2 * W);                       \
        double *a = acc;                                                               \
        for (size_t k = 0; lines && k + R <= rows; k += R)                             \
            NAME##_lines(x + (ptrdiff_t)k * stride, stride, lines, a, k == 0);         \
        const char *rest = x + lines * sizeof(float);                                  \
        if (lines < whole) NAME##_eight(rest, stride, whole - lines, a + lines, true); \
        for (; lines < whole && r + R <= rows; r += R)                                 \
            NAME##_eight(rest + (ptrdiff_t)r * stride, stride, whole - lines,          \
                         a + lines, false);                                            \
        r = rows / R * R;                                                              \
        for (; whole && r < rows; r++) {                                               \
            const char *p = x + (ptrdiff_t)r * stride;                                 \
            for (size_t j = 0; j < whole; j += W)                                      \
                VI(storeu, pd)                                                         \
            (a + j, VI(op, pd)(GET(a + j, pd), FLOATS(p + j * sizeof(float))));        \
        }                                                                              \
        if (whole < n)                                                                 \
            NAME##_rows(x + whole * sizeof(float), stride, rows, n - whole,            \
                        a + whole);                                                    \
    }
WIDE_ROWS(sum_f32, add)
WIDE_ROWS(prod_f32, mul)

/* ---- positions ---- */

/* Keeps four vectors of columns in registers while iterating over the rows; positions
 * count from `row`, -1 where no element was taken. An element is taken if it is not
 * below or equal to the best (nan is not), unless the best is nan itself. */
#if TL_LEVEL == 2
static void put_positions_ps(int64_t *at, __m512i taken, int64_t row) {
    __m512i lo = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(taken));
    __m512i hi = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(taken, 1));
    __m512i base = _mm512_set1_epi64(row), none = _mm512_set1_epi64(-1);
    _mm512_mask_storeu_epi64(at, _mm512_cmpgt_epi64_mask(lo, none),
                             _mm512_add_epi64(lo, base));
    _mm512_mask_storeu_epi64(at + 8, _mm512_cmpgt_epi64_mask(hi, none),
                             _mm512_add_epi64(hi, base));
}
static void put_positions_pd(int64_t *at, __m512i taken, int64_t row) {
    __mmask8 some = _mm512_cmpgt_epi64_mask(taken, _mm512_set1_epi64(-1));
    _mm512_mask_storeu_epi64(at, some, _mm512_add_epi64(taken, _mm512_set1_epi64(row)));
}
#define ARG_QUICK(NAME, T, ps, epi, BEATS)                                             \
    static void NAME##_quick(const char *x, ptrdiff_t stride, size_t rows, size_t n,   \
                             void *b, int64_t *at, int64_t row) {                      \
        enum { W = sizeof(VEC_##ps) / sizeof(T), U = 4 };                              \
        T *best = b;                                                                   \
        size_t j = 0;                                                                  \
        for (; j + U * W <= n; j += U * W, x += U * sizeof(VEC_##ps)) {                \
            VEC_##ps top[U];                                                           \
            __m512i taken[U], number = _mm512_setzero_si512();                         \
            for (size_t u = 0; u < U; u++) {                                           \
                top[u] = GET(best + j + u * W, ps);                                    \
                taken[u] = VI(set1, epi)(-1);                                          \
            }                                                                          \
            for (size_t r = 0; r < rows; r++) {                                        \
                const char *p = x + (ptrdiff_t)r * stride;                             \
                for (size_t u = 0; u < U; u++) {                                       \
                    VEC_##ps v = GET(p + u * sizeof v, ps);                            \
                    ORDERED_##ps take =                                                \
                        AND_ORDERED(ALL_ORDERED_##ps, top[u], top[u], ps);             \
                    take = _mm512_mask_cmp_##ps##_mask(take, v, top[u], BEATS);        \
                    top[u] = VI(mask_mov, ps)(top[u], take, v);                        \
                    taken[u] = VI(mask_mov, epi)(taken[u], take, number);              \
                }                                                                      \
                number = VI(add, epi)(number, VI(set1, epi)(1));                       \
            }                                                                          \
            for (size_t u = 0; u < U; u++) {                                           \
                VI(storeu, ps)(best + j + u * W, top[u]);                              \
                put_positions_##ps(at + j + u * W, taken[u], row);                     \
            }                                                                          \
        }                                                                              \
        if (j < n) NAME(x, stride, rows, n - j, best + j, at + j, row);                \
    }
ARG_QUICK(argmax_f32, float, ps, epi32, _CMP_NLE_UQ)
ARG_QUICK(argmin_f32, float, ps, epi32, _CMP_NGE_UQ)
ARG_QUICK(argmax_f64, double, pd, epi64, _CMP_NLE_UQ)
ARG_QUICK(argmin_f64, double, pd, epi64, _CMP_NGE_UQ)
#endif

#endif
