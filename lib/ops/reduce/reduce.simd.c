/* Inner loops of reductions, compiled once per CPU level. Each has a fixed number of
 * lanes, combined in a fixed order, so the result depends neither on the level nor on
 * how the compiler vectorises. */
#include "ops/reduce/reduce.h"

#include "base/level.h"
#include "ops/elemwise/vmath.h"

#include <string.h>

enum { LANES = 32, AHEAD = 2048 };

#define MORE(a, b)   ((b) > (a) ? (b) : (a))
#define LESS(a, b)   ((b) < (a) ? (b) : (a))
#define MORE_F(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define LESS_F(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define PLUS(a, b)   ((a) + (b))
#define TIMES(a, b)  ((a) * (b))
#define OR(a, b)     ((A)((a) | (b)))
#define AND(a, b)    ((A)((a) & (b)))
#define AS(x)        ((A)(x))
#define TRUTH(x)     ((A)((x) != 0))

typedef float _Complex c64;

/* NAME: suffix; T_: element; A_: accumulator; GET: element to accumulator; F: combines
 * two; W: numbers per element (2: complex as pairs, summed lane by lane); R: rows
 * combined at a time (8, or 1 where the compiler turns comparisons into branches). */
#define ROW_AT(T_, r) ((const T_ *)(const void *)(x + (ptrdiff_t)(r)*stride))
/* u = elements j of eight rows, combined as a tree. */
#define EIGHT(u, F, GET)                                                               \
    A v0 = GET(x0[j]), v1 = GET(x1[j]), v2 = GET(x2[j]), v3 = GET(x3[j]);              \
    A v4 = GET(x4[j]), v5 = GET(x5[j]), v6 = GET(x6[j]), v7 = GET(x7[j]);              \
    A p01 = F(v0, v1), p23 = F(v2, v3), p45 = F(v4, v5), p67 = F(v6, v7);              \
    A lo = F(p01, p23), hi = F(p45, p67), u = F(lo, hi);
/* Prefetches AHEAD bytes after p; the CPU's own prefetching stops at a page. */
#define ASK(p, n)                                                                      \
    for (size_t k_ = 0; k_ < (n); k_ += 64)                                            \
    __builtin_prefetch((const char *)(p) + AHEAD + k_)
/* Runs of LENGTH elements by a loop for that length. */
#define OF_LENGTH(NAME, A_, W, LENGTH)                                                 \
    if (sizeof(A_) == 8 && (W) == 1 && n == (LENGTH)) {                                \
        NAME##_of(x, step, m, LENGTH, acc);                                            \
        return;                                                                        \
    }
#define FOLD_BY(NAME, T_, A_, GET, F, W, R)                                            \
    static void NAME##_run(const T_ *x, size_t n, A_ *acc) {                           \
        typedef A_ A;                                                                  \
        A t[LANES];                                                                    \
        size_t i = LANES;                                                              \
        if (n < LANES) {                                                               \
            for (i = 0; i < W; i++)                                                    \
                acc[i] = GET(x[i]);                                                    \
            for (; i < n; i++)                                                         \
                acc[i % W] = F(acc[i % W], GET(x[i]));                                 \
            return;                                                                    \
        }                                                                              \
        for (size_t l = 0; l < LANES; l++)                                             \
            t[l] = GET(x[l]);                                                          \
        for (; i + LANES <= n; i += LANES) {                                           \
            ASK(x + i, LANES * sizeof(T_));                                            \
            for (size_t l = 0; l < LANES; l++)                                         \
                t[l] = F(t[l], GET(x[i + l]));                                         \
        }                                                                              \
        for (size_t l = 0; i + l < n; l++)                                             \
            t[l] = F(t[l], GET(x[i + l]));                                             \
        for (size_t live = LANES / 2; live >= W; live /= 2)                            \
            for (size_t l = 0; l < live; l++)                                          \
                t[l] = F(t[l], t[l + live]);                                           \
        for (size_t l = 0; l < W; l++)                                                 \
            acc[l] = t[l];                                                             \
    }                                                                                  \
    /* Inlined for a constant n: no loop within the loop. */                           \
    static inline __attribute__((always_inline)) void NAME##_of(                       \
        const char *x, ptrdiff_t step, size_t m, size_t n, A_ *acc) {                  \
        typedef A_ A;                                                                  \
        for (size_t i = 0; i < m; i++, x += step) {                                    \
            const T_ *p = (const T_ *)(const void *)x;                                 \
            A u = GET(p[0]);                                                           \
            for (size_t k = 1; k < n; k++)                                             \
                u = F(u, GET(p[k]));                                                   \
            acc[i] = u;                                                                \
        }                                                                              \
    }                                                                                  \
    static void NAME##_runs(const char *x, ptrdiff_t step, size_t m, size_t n,         \
                            void *acc) {                                               \
        OF_LENGTH(NAME, A_, W, 2)                                                      \
        OF_LENGTH(NAME, A_, W, 3)                                                      \
        OF_LENGTH(NAME, A_, W, 4)                                                      \
        for (size_t i = 0; i < m; i++)                                                 \
            NAME##_run((const T_ *)(const void *)(x + (ptrdiff_t)i * step), n *W,      \
                       (A_ *)acc + i * W);                                             \
    }                                                                                  \
    static void NAME##_rows(const char *x, ptrdiff_t stride, size_t rows, size_t n,    \
                            void *acc) {                                               \
        typedef A_ A;                                                                  \
        A *restrict a = acc;                                                           \
        for (size_t r = 0; r < rows;) {                                                \
            const T_ *x0 = ROW_AT(T_, r);                                              \
            if (R == 8 && r + 8 <= rows) {                                             \
                const T_ *x1 = ROW_AT(T_, r + 1), *x2 = ROW_AT(T_, r + 2),             \
                         *x3 = ROW_AT(T_, r + 3), *x4 = ROW_AT(T_, r + 4),             \
                         *x5 = ROW_AT(T_, r + 5), *x6 = ROW_AT(T_, r + 6),             \
                         *x7 = ROW_AT(T_, r + 7);                                      \
                if (r == 0)                                                            \
                    for (size_t j = 0; j < n * W; j++) {                               \
                        EIGHT(u, F, GET)                                               \
                        a[j] = u;                                                      \
                    }                                                                  \
                else                                                                   \
                    for (size_t j = 0; j < n * W; j++) {                               \
                        EIGHT(u, F, GET)                                               \
                        A old = a[j];                                                  \
                        a[j] = F(old, u);                                              \
                    }                                                                  \
                r += 8;                                                                \
            } else {                                                                   \
                if (r == 0)                                                            \
                    for (size_t j = 0; j < n * W; j++)                                 \
                        a[j] = GET(x0[j]);                                             \
                else                                                                   \
                    for (size_t j = 0; j < n * W; j++)                                 \
                        a[j] = F(a[j], GET(x0[j]));                                    \
                r++;                                                                   \
            }                                                                          \
        }                                                                              \
    }                                                                                  \
    static void NAME##_join(void *acc, const void *other, size_t n, double na,         \
                            double nb) {                                               \
        typedef A_ A;                                                                  \
        (void)na, (void)nb;                                                            \
        A *restrict a = acc;                                                           \
        const A *restrict b = other;                                                   \
        for (size_t j = 0; j < n * W; j++)                                             \
            a[j] = F(a[j], b[j]);                                                      \
    }
#define FOLD(NAME, T_, A_, GET, F, W) FOLD_BY(NAME, T_, A_, GET, F, W, 8)
#define LOOPS_OF(LOAD, NAME, DT, A_, W)                                                \
    { LOAD, DT, sizeof(A_) * W, NAME##_runs, NAME##_rows, NAME##_join }
#define LOOPS(NAME, DT, A_, W) LOOPS_OF(DT_NONE, NAME, DT, A_, W)

#define SIGNED(M)                                                                      \
    M(i8, int8_t)                                                                      \
    M(i16, int16_t)                                                                    \
    M(i32, int32_t)                                                                    \
    M(i64, int64_t)
#define UNSIGNED(M)                                                                    \
    M(u8, uint8_t)                                                                     \
    M(u16, uint16_t)                                                                   \
    M(u32, uint32_t)                                                                   \
    M(u64, uint64_t)

/* Integer sums and products wrap: they are computed as unsigned. */
#define INT_LOOPS(N, T)                                                                \
    FOLD(sum_##N, T, uint64_t, AS, PLUS, 1)                                            \
    FOLD(prod_##N, T, uint64_t, AS, TIMES, 1)                                          \
    FOLD(max_##N, T, T, AS, MORE, 1)                                                   \
    FOLD(min_##N, T, T, AS, LESS, 1)
SIGNED(INT_LOOPS)
UNSIGNED(INT_LOOPS)
#define FLOAT_LOOPS(N, T)                                                              \
    FOLD(sum_##N, T, double, AS, PLUS, 1)                                              \
    FOLD(prod_##N, T, double, AS, TIMES, 1)                                            \
    FOLD_BY(max_##N, T, T, AS, MORE_F, 1, 1)                                           \
    FOLD_BY(min_##N, T, T, AS, LESS_F, 1, 1)                                           \
    FOLD(sum_c##N, T, double, AS, PLUS, 2)
FLOAT_LOOPS(f32, float)
FLOAT_LOOPS(f64, double)
FOLD(prod_c64, c64, c128, AS, c128_mul, 1)
FOLD(prod_c128, c128, c128, AS, c128_mul, 1)
/* Runs that end where an element decides: any at a true one, all at a false one. */
#define EARLY(NAME, T, DECIDES)                                                        \
    static void NAME##_early(const char *x, ptrdiff_t step, size_t m, size_t n,        \
                             void *acc) {                                              \
        enum { FIRST = 128, PART = 2048 };                                             \
        for (size_t i = 0; i < m; i++) {                                               \
            const T *p = (const T *)(const void *)(x + (ptrdiff_t)i * step);           \
            uint8_t *to = (uint8_t *)acc + i;                                          \
            size_t most = FIRST; /* a short first part ends early more cheaply */      \
            for (size_t at = 0; at < n; at += most, most = PART) {                     \
                size_t k = n - at < most ? n - at : most;                              \
                NAME##_runs((const char *)(p + at), 0, 1, k, to);                      \
                if (*to == (DECIDES)) break;                                           \
            }                                                                          \
        }                                                                              \
    }
#define TRUTH_LOOPS(N, T)                                                              \
    FOLD(any_##N, T, uint8_t, TRUTH, OR, 1)                                            \
    FOLD(all_##N, T, uint8_t, TRUTH, AND, 1)                                           \
    EARLY(any_##N, T, 1)                                                               \
    EARLY(all_##N, T, 0)
UNSIGNED(TRUTH_LOOPS)
TRUTH_LOOPS(f32, float)
TRUTH_LOOPS(f64, double)
TRUTH_LOOPS(c64, c64)
TRUTH_LOOPS(c128, c128)

/* ---- variance: mean and sum of squared deviations of a block in two passes, blocks
 * combined exactly ---- */
typedef struct Moments {
    double mean, m2;
} Moments;

static void moments_join(void *acc, const void *other, size_t n, double na, double nb) {
    Moments *a = acc;
    const Moments *b = other;
    double share = nb / (na + nb), weight = na * share;
    for (size_t j = 0; j < n; j++) {
        double d = b[j].mean - a[j].mean;
        a[j].mean += d * share;
        a[j].m2 += b[j].m2 + d * d * weight;
    }
}

#define VAR(NAME, T)                                                                   \
    static Moments NAME##_run(const T *x, size_t n) {                                  \
        double sum = 0, m2 = 0;                                                        \
        size_t i = 0;                                                                  \
        if (n < LANES) {                                                               \
            for (; i < n; i++)                                                         \
                sum += (double)x[i];                                                   \
            double mean = sum / (double)n;                                             \
            for (i = 0; i < n; i++) {                                                  \
                double d = (double)x[i] - mean;                                        \
                m2 += d * d;                                                           \
            }                                                                          \
            return (Moments){mean, m2};                                                \
        }                                                                              \
        double t[LANES] = {0}, u[LANES] = {0};                                         \
        for (; i + LANES <= n; i += LANES)                                             \
            for (size_t l = 0; l < LANES; l++)                                         \
                t[l] += (double)x[i + l];                                              \
        for (size_t l = 0; i + l < n; l++)                                             \
            t[l] += (double)x[i + l];                                                  \
        for (size_t l = 0; l < LANES; l++)                                             \
            sum += t[l];                                                               \
        double mean = sum / (double)n;                                                 \
        for (i = 0; i + LANES <= n; i += LANES)                                        \
            for (size_t l = 0; l < LANES; l++) {                                       \
                double d = (double)x[i + l] - mean;                                    \
                u[l] += d * d;                                                         \
            }                                                                          \
        for (size_t l = 0; i + l < n; l++) {                                           \
            double d = (double)x[i + l] - mean;                                        \
            u[l] += d * d;                                                             \
        }                                                                              \
        for (size_t l = 0; l < LANES; l++)                                             \
            m2 += u[l];                                                                \
        return (Moments){mean, m2};                                                    \
    }                                                                                  \
    static void NAME##_runs(const char *x, ptrdiff_t step, size_t m, size_t n,         \
                            void *acc) {                                               \
        for (size_t i = 0; i < m; i++)                                                 \
            ((Moments *)acc)[i] =                                                      \
                NAME##_run((const T *)(const void *)(x + (ptrdiff_t)i * step), n);     \
    }                                                                                  \
    static void NAME##_rows(const char *x, ptrdiff_t stride, size_t rows, size_t n,    \
                            void *acc) {                                               \
        enum { COLUMNS = 64 };                                                         \
        Moments *restrict a = acc;                                                     \
        double by = (double)rows;                                                      \
        for (size_t from = 0; from < n; from += COLUMNS) {                             \
            size_t k = n - from < COLUMNS ? n - from : COLUMNS;                        \
            double mean[COLUMNS] = {0}, m2[COLUMNS] = {0};                             \
            for (size_t r = 0; r < rows; r++) {                                        \
                const T *p =                                                           \
                    (const T *)(const void *)(x + (ptrdiff_t)r * stride) + from;       \
                for (size_t j = 0; j < k; j++)                                         \
                    mean[j] += (double)p[j];                                           \
            }                                                                          \
            for (size_t j = 0; j < k; j++)                                             \
                mean[j] /= by;                                                         \
            for (size_t r = 0; r < rows; r++) {                                        \
                const T *p =                                                           \
                    (const T *)(const void *)(x + (ptrdiff_t)r * stride) + from;       \
                for (size_t j = 0; j < k; j++) {                                       \
                    double d = (double)p[j] - mean[j];                                 \
                    m2[j] += d * d;                                                    \
                }                                                                      \
            }                                                                          \
            for (size_t j = 0; j < k; j++)                                             \
                a[from + j] = (Moments){mean[j], m2[j]};                               \
        }                                                                              \
    }
VAR(var_f32, float)
VAR(var_f64, double)

/* ---- sums of which the machine code of what is summed has a part ---- */
_Static_assert((int)LANES == (int)PIECE_SUMS, "a sum for each lane");
static void begin_sums(double *sum) {
    for (size_t l = 0; l < LANES; l++)
        sum[l] = -0.0;
}
#if TL_LEVEL == 0
#define REST(NAME, T)                                                                  \
    static void NAME(const double *sum, const void *from, size_t n, double *acc) {     \
        const T *x = from;                                                             \
        double t[LANES];                                                               \
        memcpy(t, sum, sizeof t);                                                      \
        for (; n >= LANES; n -= LANES, x += LANES)                                     \
            for (size_t l = 0; l < LANES; l++)                                         \
                t[l] += (double)x[l];                                                  \
        for (size_t l = 0; l < n; l++)                                                 \
            t[l] += (double)x[l];                                                      \
        for (size_t live = LANES / 2; live; live /= 2)                                 \
            for (size_t l = 0; l < live; l++)                                          \
                t[l] += t[l + live];                                                   \
        *acc = t[0];                                                                   \
    }
REST(rest_f32, float)
REST(rest_f64, double)
#endif

/* ---- from accumulators to results ---- */
static void divide(double *a, size_t n, double by) {
    for (size_t i = 0; i < n; i++)
        a[i] /= by;
}

static void subtract(double *a, size_t n, double by) {
    for (size_t i = 0; i < n; i++)
        a[i] -= by;
}

static void subtract_each(double *restrict a, size_t n, const double *restrict by) {
    for (size_t i = 0; i < n; i++)
        a[i] -= by[i];
}

static void variances_in_place(double *a, size_t n, double by) {
    for (size_t i = 0; i < n; i++)
        a[i] = a[2 * i + 1] / by;
}

#if TL_LEVEL < 2
static void exponentials(const float *x, size_t n, double most, double *restrict out) {
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - most, m;
        double r = exp_reduce64(d < -707 ? -707 : d, &m);
        out[i] = (1 + exp_poly64(r)) * bits_f64((f64_bits(m) + 1023) << 52);
    }
}
#else
#define exponentials NULL /* the loop of exp by AVX-512 */
#endif

/* float16 to float32 by moving the bits: scaling by 2^112 corrects the exponent,
 * denormals included. */
static void half_row(const char *x, ptrdiff_t step, size_t n, float *out) {
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, x + (ptrdiff_t)i * step, 2);
        uint32_t e = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16,
                 bits;
        float f;
        memcpy(&f, &e, 4);
        f *= 0x1p112f;
        memcpy(&bits, &f, 4);
        bits = e >= 0x0f800000 ? e | 0x7f800000 : bits;
        bits |= sign;
        memcpy(&out[i], &bits, 4);
    }
}

/* ---- argmax, argmin by rows ---- */
#define ARG(NAME, T, BEATS)                                                            \
    static void NAME(const char *x, ptrdiff_t stride, size_t rows, size_t n, void *b,  \
                     int64_t *restrict at, int64_t row) {                              \
        T *restrict best = b;                                                          \
        for (; rows > 0; rows--, row++, x += stride) {                                 \
            const T *p = (const T *)(const void *)x;                                   \
            for (size_t j = 0; j < n; j++) {                                           \
                bool take = BEATS(p[j], best[j]);                                      \
                best[j] = take ? p[j] : best[j];                                       \
                at[j] = take ? row : at[j];                                            \
            }                                                                          \
        }                                                                              \
    }
#define GREATER(x, b)   ((x) > (b))
#define SMALLER(x, b)   ((x) < (b))
#define GREATER_F(x, b) (((x) > (b)) | (((x) != (x)) & ((b) == (b))))
#define SMALLER_F(x, b) (((x) < (b)) | (((x) != (x)) & ((b) == (b))))
#define ARG_LOOPS(N, T)                                                                \
    ARG(argmax_##N, T, GREATER)                                                        \
    ARG(argmin_##N, T, SMALLER)
SIGNED(ARG_LOOPS)
UNSIGNED(ARG_LOOPS)
ARG(argmax_f32, float, GREATER_F)
ARG(argmin_f32, float, SMALLER_F)
ARG(argmax_f64, double, GREATER_F)
ARG(argmin_f64, double, SMALLER_F)

#if TL_LEVEL > 0
#include "ops/reduce/vectors.h"
#include "ops/reduce/vectors_find.h"
#include "ops/reduce/vectors_whole.h"
#define RUNS_OF(NAME) NAME##_quick_runs
#define QUICK(LOAD, NAME, DT, A_)                                                      \
    { LOAD, DT, sizeof(A_), NAME##_quick_runs, NAME##_quick_rows, NAME##_join }
#define WHOLE_LOOPS(NAME, DT, A_)                                                      \
    { DT_NONE, DT, sizeof(A_), NAME##_quick_runs, NAME##_rows, NAME##_join }
#define F64_LOOPS(NAME)                                                                \
    { DT_NONE, DT_FLOAT64, sizeof(double), NAME##_quick_runs, NAME##_rows, NAME##_join }
#define FIRST_OF(N) first_##N##_quick
#define REST_OF(N)  rest_##N##_quick
#else
#define RUNS_OF(NAME)             NAME##_runs
#define QUICK(LOAD, NAME, DT, A_) LOOPS_OF(LOAD, NAME, DT, A_, 1)
#define F64_LOOPS(NAME)           LOOPS(NAME, DT_FLOAT64, double, 1)
#define WHOLE_LOOPS(NAME, DT, A_) LOOPS(NAME, DT, A_, 1)
#define FIRST_OF(N)               first_##N
#define REST_OF(N)                rest_##N
/* Vector comparisons skip groups without a match. */
#define FIRST(NAME, T, SAME)                                                           \
    static size_t NAME(const void *p, const void *v, size_t n) {                       \
        enum { GROUP = 64 };                                                           \
        const T *x = p;                                                                \
        T m;                                                                           \
        memcpy(&m, v, sizeof m);                                                       \
        size_t i = 0;                                                                  \
        for (; i + GROUP <= n; i += GROUP) {                                           \
            T any = 0;                                                                 \
            for (size_t k = 0; k < GROUP; k++)                                         \
                any = SAME(x[i + k], m) ? 1 : any;                                     \
            if (any != 0) break;                                                       \
        }                                                                              \
        while (i + 1 < n && !SAME(x[i], m))                                            \
            i++;                                                                       \
        return i;                                                                      \
    }
#define EQUAL(a, b)   ((a) == (b))
#define EQUAL_F(a, b) (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
FIRST(first_8, uint8_t, EQUAL)
FIRST(first_16, uint16_t, EQUAL)
FIRST(first_32, uint32_t, EQUAL)
FIRST(first_64, uint64_t, EQUAL)
FIRST(first_f32, float, EQUAL_F)
FIRST(first_f64, double, EQUAL_F)
#endif
#if TL_LEVEL == 2
#define ARG_OF(NAME) NAME##_quick
#else
#define ARG_OF(NAME) NAME
#endif

/* Means of short integers: no sum of them is rounded in float64, so that sums in 64
 * bits are the same. */
static void sums_to_floats(void *acc, size_t n) {
    for (char *p = acc; n--; p += sizeof(double)) {
        int64_t sum;
        memcpy(&sum, p, sizeof sum);
        double as = (double)sum;
        memcpy(p, &as, sizeof as);
    }
}
#define SHORT_MEAN(N)                                                                  \
    static void mean_##N##_runs(const char *x, ptrdiff_t step, size_t m, size_t n,     \
                                void *acc) {                                           \
        RUNS_OF(sum_##N)(x, step, m, n, acc);                                          \
        sums_to_floats(acc, m);                                                        \
    }                                                                                  \
    static void mean_##N##_rows(const char *x, ptrdiff_t stride, size_t rows,          \
                                size_t n, void *acc) {                                 \
        sum_##N##_rows(x, stride, rows, n, acc);                                       \
        sums_to_floats(acc, n);                                                        \
    }
SHORT_MEAN(u8)
SHORT_MEAN(i8)
SHORT_MEAN(u16)
SHORT_MEAN(i16)

#define INT_SUM(NAME, DT) LOOPS(NAME, DT, uint64_t, 1)
#define SHORT_SUM(NAME, DT)                                                            \
    { DT_NONE, DT, sizeof(uint64_t), RUNS_OF(NAME), NAME##_rows, NAME##_join }
#define MOMENTS(LOAD, NAME)                                                            \
    { LOAD, DT_FLOAT64, sizeof(Moments), NAME##_runs, NAME##_rows, moments_join }
#define TRUTH_OF(LOAD, NAME)                                                           \
    { LOAD, DT_BOOL, sizeof(uint8_t), NAME##_early, NAME##_rows, NAME##_join }
#define TRUTHS(P)                                                                      \
    [DT_BOOL] = TRUTH_OF(DT_NONE, P##_u8), [DT_INT8] = TRUTH_OF(DT_NONE, P##_u8),      \
    [DT_INT16] = TRUTH_OF(DT_NONE, P##_u16), [DT_INT32] = TRUTH_OF(DT_NONE, P##_u32),  \
    [DT_INT64] = TRUTH_OF(DT_NONE, P##_u64), [DT_UINT8] = TRUTH_OF(DT_NONE, P##_u8),   \
    [DT_UINT16] = TRUTH_OF(DT_NONE, P##_u16),                                          \
    [DT_UINT32] = TRUTH_OF(DT_NONE, P##_u32),                                          \
    [DT_UINT64] = TRUTH_OF(DT_NONE, P##_u64),                                          \
    [DT_FLOAT16] = TRUTH_OF(DT_FLOAT32, P##_f32),                                      \
    [DT_FLOAT32] = TRUTH_OF(DT_NONE, P##_f32),                                         \
    [DT_FLOAT64] = TRUTH_OF(DT_NONE, P##_f64),                                         \
    [DT_COMPLEX64] = TRUTH_OF(DT_NONE, P##_c64),                                       \
    [DT_COMPLEX128] = TRUTH_OF(DT_NONE, P##_c128)
/* Of bools, the largest is true if any is, the smallest if all are. */
#define EXTREMES(P)                                                                    \
    [DT_INT8] = WHOLE_LOOPS(P##_i8, DT_INT8, int8_t),                                  \
    [DT_INT16] = WHOLE_LOOPS(P##_i16, DT_INT16, int16_t),                              \
    [DT_INT32] = WHOLE_LOOPS(P##_i32, DT_INT32, int32_t),                              \
    [DT_INT64] = WHOLE_LOOPS(P##_i64, DT_INT64, int64_t),                              \
    [DT_UINT8] = WHOLE_LOOPS(P##_u8, DT_UINT8, uint8_t),                               \
    [DT_UINT16] = WHOLE_LOOPS(P##_u16, DT_UINT16, uint16_t),                           \
    [DT_UINT32] = WHOLE_LOOPS(P##_u32, DT_UINT32, uint32_t),                           \
    [DT_UINT64] = WHOLE_LOOPS(P##_u64, DT_UINT64, uint64_t),                           \
    [DT_FLOAT16] = QUICK(DT_FLOAT32, P##_f32, DT_FLOAT32, float),                      \
    [DT_FLOAT32] = QUICK(DT_NONE, P##_f32, DT_FLOAT32, float),                         \
    [DT_FLOAT64] = QUICK(DT_NONE, P##_f64, DT_FLOAT64, double)
#define WHOLE(P, SHORT)                                                                \
    [DT_BOOL] = SHORT(P##_u8, DT_INT64), [DT_INT8] = SHORT(P##_i8, DT_INT64),          \
    [DT_INT16] = SHORT(P##_i16, DT_INT64), [DT_INT32] = INT_SUM(P##_i32, DT_INT64),    \
    [DT_INT64] = INT_SUM(P##_i64, DT_INT64), [DT_UINT8] = SHORT(P##_u8, DT_UINT64),    \
    [DT_UINT16] = SHORT(P##_u16, DT_UINT64),                                           \
    [DT_UINT32] = INT_SUM(P##_u32, DT_UINT64),                                         \
    [DT_UINT64] = INT_SUM(P##_u64, DT_UINT64)
#define MEAN_OF(N)                                                                     \
    {                                                                                  \
        DT_NONE, DT_FLOAT64, sizeof(double), mean_##N##_runs, mean_##N##_rows,         \
            sum_f64_join                                                               \
    }
#define MEANS(E)                                                                       \
    [DT_BOOL] = MEAN_OF(u8), [DT_INT8] = MEAN_OF(i8), [DT_INT16] = MEAN_OF(i16),       \
    [DT_INT32] = E, [DT_INT64] = E, [DT_UINT8] = MEAN_OF(u8),                          \
    [DT_UINT16] = MEAN_OF(u16), [DT_UINT32] = E, [DT_UINT64] = E
#define CONVERTED(E)                                                                   \
    [DT_BOOL] = E, [DT_INT8] = E, [DT_INT16] = E, [DT_INT32] = E, [DT_INT64] = E,      \
    [DT_UINT8] = E, [DT_UINT16] = E, [DT_UINT32] = E, [DT_UINT64] = E
#define ARGS(P)                                                                        \
    [DT_BOOL] = P##_u8, [DT_INT8] = P##_i8, [DT_INT16] = P##_i16,                      \
    [DT_INT32] = P##_i32, [DT_INT64] = P##_i64, [DT_UINT8] = P##_u8,                   \
    [DT_UINT16] = P##_u16, [DT_UINT32] = P##_u32, [DT_UINT64] = P##_u64,               \
    [DT_FLOAT32] = ARG_OF(P##_f32), [DT_FLOAT64] = ARG_OF(P##_f64)
#define COMPLEX_SUM                                                                    \
    [DT_FLOAT16] = QUICK(DT_FLOAT32, sum_f32, DT_FLOAT64, double),                     \
    [DT_FLOAT32] = QUICK(DT_NONE, sum_f32, DT_FLOAT64, double),                        \
    [DT_FLOAT64] = F64_LOOPS(sum_f64),                                                 \
    [DT_COMPLEX64] = LOOPS(sum_cf32, DT_COMPLEX128, double, 2),                        \
    [DT_COMPLEX128] = LOOPS(sum_cf64, DT_COMPLEX128, double, 2)

extern const ReduceTable LEVEL(fold_table_);
const ReduceTable LEVEL(fold_table_) =
    {.loops =
         {[FOLD_SUM] = {WHOLE(sum, SHORT_SUM), COMPLEX_SUM},
          [FOLD_MEAN] = {MEANS(LOOPS_OF(DT_FLOAT64, sum_f64, DT_FLOAT64, double, 1)),
                         COMPLEX_SUM},
          [FOLD_PROD] = {WHOLE(prod, INT_SUM),
                         [DT_FLOAT16] = QUICK(DT_FLOAT32, prod_f32, DT_FLOAT64, double),
                         [DT_FLOAT32] = QUICK(DT_NONE, prod_f32, DT_FLOAT64, double),
                         [DT_FLOAT64] = F64_LOOPS(prod_f64),
                         [DT_COMPLEX64] = LOOPS(prod_c64, DT_COMPLEX128, c128, 1),
                         [DT_COMPLEX128] = LOOPS(prod_c128, DT_COMPLEX128, c128, 1)},
          [FOLD_MAX] = {EXTREMES(max), [DT_BOOL] = TRUTH_OF(DT_NONE, any_u8)},
          [FOLD_MIN] = {EXTREMES(min), [DT_BOOL] = TRUTH_OF(DT_NONE, all_u8)},
          [FOLD_ANY] = {TRUTHS(any)},
          [FOLD_ALL] = {TRUTHS(all)},
          [FOLD_VAR] = {CONVERTED(MOMENTS(DT_FLOAT64, var_f64)),
                        [DT_FLOAT16] = MOMENTS(DT_FLOAT32, var_f32),
                        [DT_FLOAT32] = MOMENTS(DT_NONE, var_f32),
                        [DT_FLOAT64] = MOMENTS(DT_NONE, var_f64)}},
     .arg = {{ARGS(argmax)}, {ARGS(argmin)}},
     .find = {[DT_BOOL] = FIRST_OF(8),
              [DT_INT8] = FIRST_OF(8),
              [DT_INT16] = FIRST_OF(16),
              [DT_INT32] = FIRST_OF(32),
              [DT_INT64] = FIRST_OF(64),
              [DT_UINT8] = FIRST_OF(8),
              [DT_UINT16] = FIRST_OF(16),
              [DT_UINT32] = FIRST_OF(32),
              [DT_UINT64] = FIRST_OF(64),
              [DT_FLOAT32] = FIRST_OF(f32),
              [DT_FLOAT64] = FIRST_OF(f64)},
     .half = half_row,
     .begin_sums = begin_sums,
     .rest = {REST_OF(f32), REST_OF(f64)},
     .divide = divide,
     .subtract = subtract,
     .subtract_each = subtract_each,
     .variances = variances_in_place,
     .exps = exponentials};
