/* The loops of fft.h, per dtype and CPU level. */
#include "ops/fft/fft.h"

#include "base/level.h"

/* Butterflies: from x0r, x0i and so on to y0r, y0i and so on. */
#define BUTTERFLY2 T y0r = x0r + x1r, y0i = x0i + x1i, y1r = x0r - x1r, y1i = x0i - x1i;
#define BUTTERFLY3                                                                     \
    T sr = x1r + x2r, si = x1i + x2i, dr = (T)0.86602540378443864676 * (x1r - x2r),    \
      di = (T)0.86602540378443864676 * (x1i - x2i);                                    \
    T cr = x0r - (T)0.5 * sr, ci = x0i - (T)0.5 * si;                                  \
    T y0r = x0r + sr, y0i = x0i + si, y1r = cr + di, y1i = ci - dr, y2r = cr - di,     \
      y2i = ci + dr;
#define BUTTERFLY4                                                                     \
    T ar = x0r + x2r, ai = x0i + x2i, br = x0r - x2r, bi = x0i - x2i, cr = x1r + x3r,  \
      ci = x1i + x3i, dr = x1r - x3r, di = x1i - x3i;                                  \
    T y0r = ar + cr, y0i = ai + ci, y1r = br + di, y1i = bi - dr, y2r = ar - cr,       \
      y2i = ai - ci, y3r = br - di, y3i = bi + dr;
#define BUTTERFLY5                                                                     \
    T ar = x1r + x4r, ai = x1i + x4i, br = x2r + x3r, bi = x2i + x3i, cr = x1r - x4r,  \
      ci = x1i - x4i, dr = x2r - x3r, di = x2i - x3i;                                  \
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410,           \
            s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;            \
    T er = x0r + c1 * ar + c2 * br, ei = x0i + c1 * ai + c2 * bi,                      \
      fr = x0r + c2 * ar + c1 * br, fi = x0i + c2 * ai + c1 * bi,                      \
      gr = s1 * cr + s2 * dr, gi = s1 * ci + s2 * di, hr = s2 * cr - s1 * dr,          \
      hi = s2 * ci - s1 * di;                                                          \
    T y0r = x0r + ar + br, y0i = x0i + ai + bi, y1r = er + gi, y1i = ei - gr,          \
      y2r = fr + hi, y2i = fi - hr, y3r = fr - hi, y3i = fi + hr, y4r = er - gi,       \
      y4i = ei + gr;
/* Two of radix 4, of the even and the odd ones. */
#define BUTTERFLY8                                                                     \
    T ar = x0r + x4r, ai = x0i + x4i, br = x0r - x4r, bi = x0i - x4i, cr = x2r + x6r,  \
      ci = x2i + x6i, dr = x2r - x6r, di = x2i - x6i;                                  \
    T e0r = ar + cr, e0i = ai + ci, e1r = br + di, e1i = bi - dr, e2r = ar - cr,       \
      e2i = ai - ci, e3r = br - di, e3i = bi + dr;                                     \
    T fr = x1r + x5r, fi = x1i + x5i, gr = x1r - x5r, gi = x1i - x5i, hr = x3r + x7r,  \
      hi = x3i + x7i, kr = x3r - x7r, ki = x3i - x7i;                                  \
    T o0r = fr + hr, o0i = fi + hi, u1r = gr + ki, u1i = gi - kr, u2r = fr - hr,       \
      u2i = fi - hi, u3r = gr - ki, u3i = gi + kr;                                     \
    const T h = (T)0.70710678118654752440;                                             \
    T o1r = h * (u1r + u1i), o1i = h * (u1i - u1r), o2r = u2i, o2i = -u2r,             \
      o3r = h * (u3i - u3r), o3i = -h * (u3r + u3i);                                   \
    T y0r = e0r + o0r, y0i = e0i + o0i, y1r = e1r + o1r, y1i = e1i + o1i,              \
      y2r = e2r + o2r, y2i = e2i + o2i, y3r = e3r + o3r, y3i = e3i + o3i,              \
      y4r = e0r - o0r, y4i = e0i - o0i, y5r = e1r - o1r, y5i = e1i - o1i,              \
      y6r = e2r - o2r, y6i = e2i - o2i, y7r = e3r - o3r, y7i = e3i - o3i;

#define LOAD(j)  T x##j##r = xr[from + j * step], x##j##i = xi[from + j * step];
#define STORE(k) yr[to + k * s] = y##k##r, yi[to + k * s] = y##k##i;
/* times the k-th factor, which is w##k##r, w##k##i */
#define TURN(k)                                                                        \
    yr[to + k * s] = y##k##r * w##k##r - y##k##i * w##k##i,                            \
                yi[to + k * s] = y##k##r * w##k##i + y##k##i * w##k##r;
#define FACTOR(k) T w##k##r = wr[(k - 1) * m + p], w##k##i = wi[(k - 1) * m + p];

#define EACH1(F) F(1)
#define EACH2(F) EACH1(F) F(2)
#define EACH3(F) EACH2(F) F(3)
#define EACH4(F) EACH3(F) F(4)
#define EACH7(F) EACH4(F) F(5) F(6) F(7)

/* Without factors if m = 1; over p where the transforms joined have one number. */
/* No turn of these loops needs what another one writes, which the compiler would test,
 * and shorter loops would stay as they are. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define APART _Pragma("GCC ivdep")
#endif

#define PASS(R, EACH)                                                                  \
    static void PASS_NAME(R)(const FftPass *f, const T *restrict xr,                   \
                             const T *restrict xi, T *restrict yr, T *restrict yi) {   \
        const T *restrict wr = f->w_re, *restrict wi = f->w_im;                        \
        const int64_t m = f->m, step = f->s * m;                                       \
        if (m == 1) {                                                                  \
            const int64_t s = f->s;                                                    \
            APART                                                                      \
            for (int64_t q = 0; q < s; q++) {                                          \
                const int64_t from = q, to = q;                                        \
                LOAD(0)                                                                \
                EACH(LOAD)                                                             \
                BUTTERFLY##R STORE(0) EACH(STORE)                                      \
            }                                                                          \
        } else if (f->s == 1) {                                                        \
            const int64_t s = 1;                                                       \
            APART                                                                      \
            for (int64_t p = 0; p < m; p++) {                                          \
                const int64_t from = p, to = R * p;                                    \
                EACH(FACTOR)                                                           \
                LOAD(0)                                                                \
                EACH(LOAD)                                                             \
                BUTTERFLY##R STORE(0) EACH(TURN)                                       \
            }                                                                          \
        } else {                                                                       \
            const int64_t s = f->s;                                                    \
            for (int64_t p = 0; p < m; p++) {                                          \
                EACH(FACTOR)                                                           \
                APART                                                                  \
                for (int64_t q = 0; q < s; q++) {                                      \
                    const int64_t from = q + s * p, to = q + s * R * p;                \
                    LOAD(0)                                                            \
                    EACH(LOAD)                                                         \
                    BUTTERFLY##R STORE(0) EACH(TURN)                                   \
                }                                                                      \
            }                                                                          \
        }                                                                              \
    }

/* Any odd radix, by its definition on sums and differences of opposite numbers, for
 * LANES places at a time; they run over q or p, whichever is longer. */
enum { LANES = 16, MOST_PAIRS = 23 };
#define ANY_PASS                                                                       \
    typedef struct PASS_NAME(Pairs) {                                                  \
        T x0r[LANES], x0i[LANES], sr[MOST_PAIRS][LANES], si[MOST_PAIRS][LANES],        \
            dr[MOST_PAIRS][LANES], di[MOST_PAIRS][LANES];                              \
    } PASS_NAME(Pairs);                                                                \
    static void PASS_NAME(load)(PASS_NAME(Pairs) * v, const T *restrict xr,            \
                                const T *restrict xi, int64_t r, int64_t step,         \
                                int64_t in, int64_t n) {                               \
        for (int64_t b = 0; b < n; b++)                                                \
            v->x0r[b] = xr[b * in], v->x0i[b] = xi[b * in];                            \
        for (int64_t j = 1; 2 * j < r; j++)                                            \
            for (int64_t b = 0; b < n; b++) {                                          \
                const int64_t at = b * in + j * step, other = b * in + (r - j) * step; \
                v->sr[j - 1][b] = xr[at] + xr[other];                                  \
                v->si[j - 1][b] = xi[at] + xi[other];                                  \
                v->dr[j - 1][b] = xr[at] - xr[other];                                  \
                v->di[j - 1][b] = xi[at] - xi[other];                                  \
            }                                                                          \
    }                                                                                  \
    /* Of numbers k and r - k: what they share, and what has opposite signs. */        \
    static void PASS_NAME(sums)(const FftPass *f, const PASS_NAME(Pairs) * v,          \
                                int64_t k, T *restrict er, T *restrict ei,             \
                                T *restrict gr, T *restrict gi) {                      \
        const T *rr = f->root_re, *ri = f->root_im;                                    \
        for (int b = 0; b < LANES; b++)                                                \
            er[b] = v->x0r[b], ei[b] = v->x0i[b], gr[b] = gi[b] = 0;                   \
        for (int64_t j = 1; 2 * j < f->radix; j++) {                                   \
            const T c = rr[j * k % f->radix], s = ri[j * k % f->radix];                \
            for (int b = 0; b < LANES; b++) {                                          \
                er[b] += c * v->sr[j - 1][b];                                          \
                ei[b] += c * v->si[j - 1][b];                                          \
                gr[b] -= s * v->di[j - 1][b];                                          \
                gi[b] += s * v->dr[j - 1][b];                                          \
            }                                                                          \
        }                                                                              \
    }                                                                                  \
    static void PASS_NAME(any)(const FftPass *f, const T *restrict xr,                 \
                               const T *restrict xi, T *restrict yr, T *restrict yi) { \
        const T *restrict wr = f->w_re, *restrict wi = f->w_im;                        \
        const int64_t m = f->m, s = f->s, r = f->radix, step = s * m;                  \
        const bool along = s >= m;                                                     \
        const int64_t outer = along ? m : s, inner = along ? s : m;                    \
        const int64_t in = along ? 1 : s, out = along ? 1 : s * r;                     \
        PASS_NAME(Pairs) v = {0};                                                      \
        T er[LANES], ei[LANES], gr[LANES], gi[LANES];                                  \
        for (int64_t at = 0; at < outer * inner; at += LANES) {                        \
            const int64_t a = at / inner, first = at % inner,                          \
                          n = inner - first < LANES ? inner - first : LANES;           \
            const int64_t from = (along ? s * a : a) + first * in,                     \
                          to = (along ? s * r * a : a) + first * out;                  \
            PASS_NAME(load)(&v, xr + from, xi + from, r, step, in, n);                 \
            for (int64_t b = 0; b < n; b++) {                                          \
                T re = v.x0r[b], im = v.x0i[b];                                        \
                for (int64_t j = 1; 2 * j < r; j++)                                    \
                    re += v.sr[j - 1][b], im += v.si[j - 1][b];                        \
                yr[to + b * out] = re, yi[to + b * out] = im;                          \
            }                                                                          \
            for (int64_t k = 1; 2 * k < r; k++) {                                      \
                PASS_NAME(sums)(f, &v, k, er, ei, gr, gi);                             \
                const int64_t u = (k - 1) * m, l = (r - k - 1) * m;                    \
                for (int64_t b = 0; b < n; b++) {                                      \
                    const int64_t p = along ? a : first + b,                           \
                                  up = to + b * out + k * s,                           \
                                  low = to + b * out + (r - k) * s;                    \
                    T ar = er[b] + gr[b], ai = ei[b] + gi[b], br = er[b] - gr[b],      \
                      bi = ei[b] - gi[b];                                              \
                    yr[up] = ar * wr[u + p] - ai * wi[u + p];                          \
                    yi[up] = ar * wi[u + p] + ai * wr[u + p];                          \
                    yr[low] = br * wr[l + p] - bi * wi[l + p];                         \
                    yi[low] = br * wi[l + p] + bi * wr[l + p];                         \
                }                                                                      \
            }                                                                          \
            at += n - LANES; /* to the end of the row */                               \
        }                                                                              \
    }

#define LOOPS                                                                          \
    PASS(2, EACH1)                                                                     \
    PASS(3, EACH2)                                                                     \
    PASS(4, EACH3)                                                                     \
    PASS(5, EACH4)                                                                     \
    PASS(8, EACH7)                                                                     \
    ANY_PASS                                                                           \
    static void NAME(pass)(const FftPass *f, const FftLine *x, const FftLine *y) {     \
        switch (f->radix) {                                                            \
        case 2:                                                                        \
            PASS_NAME(2)(f, x->re, x->im, y->re, y->im);                               \
            return;                                                                    \
        case 3:                                                                        \
            PASS_NAME(3)(f, x->re, x->im, y->re, y->im);                               \
            return;                                                                    \
        case 4:                                                                        \
            PASS_NAME(4)(f, x->re, x->im, y->re, y->im);                               \
            return;                                                                    \
        case 5:                                                                        \
            PASS_NAME(5)(f, x->re, x->im, y->re, y->im);                               \
            return;                                                                    \
        case 8:                                                                        \
            PASS_NAME(8)(f, x->re, x->im, y->re, y->im);                               \
            return;                                                                    \
        default:                                                                       \
            PASS_NAME(any)(f, x->re, x->im, y->re, y->im);                             \
        }                                                                              \
    }                                                                                  \
    static void NAME(split)(const void *from, int64_t n, const FftLine *to) {          \
        const T *restrict z = from;                                                    \
        T *restrict re = to->re, *restrict im = to->im;                                \
        for (int64_t i = 0; i < n; i++)                                                \
            re[i] = z[2 * i], im[i] = z[2 * i + 1];                                    \
    }                                                                                  \
    static void NAME(join)(const FftLine *from, int64_t n, double scale, void *to) {   \
        T *restrict z = to, f = (T)scale;                                              \
        const T *restrict re = from->re, *restrict im = from->im;                      \
        for (int64_t i = 0; i < n; i++)                                                \
            z[2 * i] = re[i] * f, z[2 * i + 1] = im[i] * f;                            \
    }                                                                                  \
    static void NAME(multiply)(const FftLine *x, const FftLine *w, int64_t n,          \
                               bool conj) {                                            \
        T *restrict xr = x->re, *restrict xi = x->im;                                  \
        const T *restrict wr = w->re, *restrict wi = w->im, sign = conj ? -1 : 1;      \
        for (int64_t i = 0; i < n; i++) {                                              \
            T ui = sign * wi[i], re = xr[i] * wr[i] - xi[i] * ui;                      \
            xi[i] = xr[i] * ui + xi[i] * wr[i];                                        \
            xr[i] = re;                                                                \
        }                                                                              \
    }                                                                                  \
    static void NAME(from_pairs)(const FftLine *z, const FftLine *w, int64_t n,        \
                                 double scale, void *to) {                             \
        const T *restrict zr = z->re, *restrict zi = z->im, *restrict wr = w->re,      \
                          *restrict wi = w->im;                                        \
        T *restrict y = to, f = (T)(scale / 2);                                        \
        const int64_t half = n / 2;                                                    \
        y[0] = (zr[0] + zi[0]) * (T)scale;                                             \
        y[2 * half] = (zr[0] - zi[0]) * (T)scale;                                      \
        y[1] = y[2 * half + 1] = 0;                                                    \
        for (int64_t k = 1; k < half; k++) {                                           \
            T ar = zr[k] + zr[half - k], ai = zi[k] - zi[half - k],                    \
              br = zi[k] + zi[half - k], bi = zr[half - k] - zr[k];                    \
            y[2 * k] = f * (ar + (br * wr[k] - bi * wi[k]));                           \
            y[2 * k + 1] = f * (ai + (br * wi[k] + bi * wr[k]));                       \
        }                                                                              \
    }                                                                                  \
    static void NAME(to_pairs)(const void *from, const FftLine *w, int64_t n,          \
                               const FftLine *z) {                                     \
        const T *restrict x = from, *restrict wr = w->re, *restrict wi = w->im;        \
        T *restrict zr = z->re, *restrict zi = z->im;                                  \
        const int64_t half = n / 2;                                                    \
        zr[0] = x[0] + x[2 * half];                                                    \
        zi[0] = x[0] - x[2 * half];                                                    \
        for (int64_t k = 1; k < half; k++) {                                           \
            const T *a = x + 2 * k, *b = x + 2 * (half - k);                           \
            T er = a[0] + b[0], ei = a[1] - b[1], dr = a[0] - b[0], di = a[1] + b[1];  \
            T pr = dr * wr[k] + di * wi[k], pi = di * wr[k] - dr * wi[k];              \
            zr[k] = er - pi;                                                           \
            zi[k] = ei + pr;                                                           \
        }                                                                              \
    }

#define T            float
#define NAME(f)      f##_f32
#define PASS_NAME(r) pass##r##_f32
LOOPS
#undef T
#undef NAME
#undef PASS_NAME
#define T            double
#define NAME(f)      f##_f64
#define PASS_NAME(r) pass##r##_f64
LOOPS

const FftLoops LEVEL(fft_loops)[2] = {
    {pass_f32, split_f32, join_f32, multiply_f32, from_pairs_f32, to_pairs_f32},
    {pass_f64, split_f64, join_f64, multiply_f64, from_pairs_f64, to_pairs_f64}};
