/* Several rows (or columns) are read side by side: one vector of b (or of sums) serves
 * them all, and enough memory is under way. Two columns at a time are faster from the
 * second cache, and one run after another from beyond where short runs follow each
 * other without a gap: side by side they would be read in an order that many CPUs don't
 * prefetch. Either way each sum is made in the same order. */
#include "ops/linalg/product/gemv.h"

#include "op/vector.h"

enum {
    SIDE = 4,                     /* rows whose sums become totals together */
    SUMS = TL_LEVEL == 2 ? 4 : 2, /* vectors of sums of a row: registers for all */
    COLS = 8,                     /* columns side by side */
    FEW_COLS = 4,                 /* where what comes behind them is fetched */
    AHEAD = 4096,                 /* bytes from what is read to what is fetched */
    LINE = 64,
    BLOCK = 16384,    /* bytes of b, or of sums, in the first cache */
    FIRST = 48 << 10, /* a matrix of fewer bytes is in it */
    SECOND = 1 << 20,
    /* bytes of runs that are read one after another from a matrix beyond FAR */
    TINY = 256,
    SHORT_ROW = 8192,
    SHORT_COLUMN = 3072,
    NARROW = TL_LEVEL == 2 ? 512 : 256,     /* of columns that need no fetching */
    FAR = TL_LEVEL == 2 ? SECOND : 16 << 20 /* fewer sums keep up with memory only */
};

static bool two_by_two(const Gemv *g, size_t size) {
    int64_t bytes = g->m * g->k * (int64_t)size;
    return bytes > FIRST && bytes <= SECOND;
}

/* Runs of `length` elements that are short, adjacent and far away. */
static bool is_stream(const Gemv *g, int64_t length, int64_t most, size_t size) {
    int64_t bytes = length * (int64_t)size;
    return g->lda == length && bytes > TINY && bytes <= most &&
           g->m * g->k * (int64_t)size > FAR;
}

/* Adjacent columns of a matrix that would fit into the second cache (or, where fewer
 * sums keep up with memory only, is not far beyond it) but may not be there, as the
 * weights of a network that is larger. Side by side they are read in an order that the
 * CPU doesn't prefetch, so they are fetched in the order of memory. */
static bool is_fetched(const Gemv *g, int64_t length, size_t size) {
    int64_t bytes = length * (int64_t)size, all = g->m * g->k * (int64_t)size;
    return g->lda == length && bytes > NARROW && all > FIRST &&
           (all <= SECOND || (bytes <= SHORT_COLUMN && all <= FAR));
}

/* sum[r] = the sum of the elements of t[r] */
#if TL_LEVEL > 0
#if TL_LEVEL == 2
#define WIDE_VECTOR(op) _mm512_##op
#else
#define WIDE_VECTOR(op) _mm256_##op
#endif
#define PAIRS(ps, a, b)                                                                \
    (WIDE_VECTOR(unpacklo_##ps)(a, b) + WIDE_VECTOR(unpackhi_##ps)(a, b))
#define QUADS(p, q)                                                                    \
    (WIDE_VECTOR(shuffle_ps)(p, q, 0x44) + WIDE_VECTOR(shuffle_ps)(p, q, 0xEE))
static inline void totals_f32(const V_f32 t[SIDE], float sum[SIDE]) {
    V_f32 p = (V_f32)PAIRS(ps, t[0], t[1]), q = (V_f32)PAIRS(ps, t[2], t[3]);
#if TL_LEVEL == 2
    __m512 all = QUADS(p, q);
    __m256 half = _mm512_castps512_ps256(all) + _mm512_extractf32x8_ps(all, 1);
#else
    __m256 half = QUADS(p, q);
#endif
    _mm_storeu_ps(sum, _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1));
}
static inline void totals_f64(const V_f64 t[SIDE], double sum[SIDE]) {
#if TL_LEVEL == 2
    __m512d p = PAIRS(pd, t[0], t[1]), q = PAIRS(pd, t[2], t[3]);
    __m256d a = _mm512_castpd512_pd256(p) + _mm512_extractf64x4_pd(p, 1),
            b = _mm512_castpd512_pd256(q) + _mm512_extractf64x4_pd(q, 1);
#else
    __m256d a = PAIRS(pd, t[0], t[1]), b = PAIRS(pd, t[2], t[3]);
#endif
    _mm256_storeu_pd(sum, _mm256_permute2f128_pd(a, b, 0x20) +
                              _mm256_permute2f128_pd(a, b, 0x31));
}
#else
#define TOTALS(T, ctype)                                                               \
    static inline void totals_##T(const V_##T t[SIDE], ctype sum[SIDE]) {              \
        for (size_t r = 0; r < SIDE; r++) {                                            \
            ctype each[BYTES / sizeof(ctype)];                                         \
            memcpy(each, &t[r], sizeof each);                                          \
            sum[r] = each[0];                                                          \
            for (size_t i = 1; i < sizeof each / sizeof *each; i++)                    \
                sum[r] += each[i];                                                     \
        }                                                                              \
    }
TOTALS(f32, float)
TOTALS(f64, double)
#endif

/* Sums of rows of at most four elements that follow each other, as many as a vector has
 * lanes: each row fills a fixed place of a vector. */
#if TL_LEVEL == 2
enum { SHORT = 4 };
static inline void short_rows_f32(const float *a, V_f32 x, int64_t k, float *sum) {
    const __m512i order =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i lane =
        _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    const __m512i row =
        _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i from =
        _mm512_add_epi32(lane, _mm512_mullo_epi32(row, _mm512_set1_epi32((int)k)));
    const __mmask16 lanes = (__mmask16)(0x1111 * ((1 << k) - 1));
    V_f32 t[SIDE];
    UNROLLED (r, SIDE)
        t[r] = (V_f32)_mm512_maskz_permutexvar_ps(
                   lanes, from, (__m512)part_f32(a + 4 * (int64_t)r * k, 4 * k)) *
               x;
    V_f32 p = (V_f32)PAIRS(ps, t[0], t[1]), q = (V_f32)PAIRS(ps, t[2], t[3]);
    _mm512_storeu_ps(sum, _mm512_permutexvar_ps(order, QUADS(p, q)));
}
static inline void short_rows_f64(const double *a, V_f64 x, int64_t k, double *sum) {
    const __m512i order = _mm512_setr_epi64(0, 2, 1, 3, 4, 6, 5, 7);
    const __m512i from = _mm512_setr_epi64(0, 1, 2, 3, k, k + 1, k + 2, k + 3);
    const __mmask8 lanes = (__mmask8)(0x11 * ((1 << k) - 1));
    V_f64 t[SIDE];
    UNROLLED (r, SIDE)
        t[r] = (V_f64)_mm512_maskz_permutexvar_pd(
                   lanes, from, (__m512d)part_f64(a + 2 * (int64_t)r * k, 2 * k)) *
               x;
    __m512d p = PAIRS(pd, t[0], t[1]), q = PAIRS(pd, t[2], t[3]);
    _mm512_storeu_pd(
        sum, _mm512_permutexvar_pd(order, _mm512_shuffle_f64x2(p, q, 0x88) +
                                              _mm512_shuffle_f64x2(p, q, 0xDD)));
}
static inline V_f32 repeat_f32(V_f32 x) {
    return (V_f32)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0);
}
static inline V_f64 repeat_f64(V_f64 x) {
    return (V_f64)_mm512_shuffle_f64x2((__m512d)x, (__m512d)x, 0x44);
}
#else
enum { SHORT = 0 };
static inline void short_rows_f32(const float *a, V_f32 x, int64_t k, float *sum) {
    (void)a, (void)x, (void)k, (void)sum;
}
static inline void short_rows_f64(const double *a, V_f64 x, int64_t k, double *sum) {
    (void)a, (void)x, (void)k, (void)sum;
}
static inline V_f32 repeat_f32(V_f32 x) {
    return x;
}
static inline V_f64 repeat_f64(V_f64 x) {
    return x;
}
#endif

#define GEMV(T, ctype)                                                                 \
    enum { LANES_##T = BYTES / sizeof(ctype), WIDE_##T = BLOCK / sizeof(ctype) };      \
    static void finish_##T(const Gemv *g, int64_t from, int64_t m, ctype beta,         \
                           const ctype *sum) {                                         \
        ctype alpha = (ctype)g->alpha, *c = (ctype *)g->c + from * g->c_step;          \
        if (alpha == 1 && beta == 0 && g->c_step == 1)                                 \
            memcpy(c, sum, (size_t)m * sizeof *c);                                     \
        else                                                                           \
            for (int64_t i = 0; i < m; i++, c += g->c_step)                            \
                *c = beta != 0 ? alpha * sum[i] + beta * *c : alpha * sum[i];          \
    }                                                                                  \
    /* t[r] = the products of a[r * lda + j] and b[j], some of which are added */      \
    static inline void products_##T(const ctype *a, int64_t lda, size_t rows,          \
                                    const ctype *b, int64_t k, V_##T *t) {             \
        enum { L = LANES_##T };                                                        \
        V_##T s[SIDE][SUMS];                                                           \
        int64_t j = 0;                                                                 \
        UNROLLED (r, rows)                                                             \
            UNROLLED (u, SUMS)                                                         \
                s[r][u] = (V_##T){0};                                                  \
        for (; j + SUMS * L <= k; j += SUMS * L)                                       \
            UNROLLED (u, SUMS) {                                                       \
                const ctype *at = a + j + (int64_t)u * L;                              \
                V_##T x = LOAD(T, b + j + (int64_t)u * L);                             \
                UNROLLED (r, rows)                                                     \
                    s[r][u] = FMA_##T(LOAD(T, at + (int64_t)r * lda), x, s[r][u]);     \
            }                                                                          \
        for (; j + L <= k; j += L) {                                                   \
            V_##T x = LOAD(T, b + j);                                                  \
            UNROLLED (r, rows)                                                         \
                s[r][0] = FMA_##T(LOAD(T, a + (int64_t)r * lda + j), x, s[r][0]);      \
        }                                                                              \
        if (j < k) {                                                                   \
            V_##T x = part_##T(b + j, k - j);                                          \
            UNROLLED (r, rows)                                                         \
                s[r][0] =                                                              \
                    FMA_##T(part_##T(a + (int64_t)r * lda + j, k - j), x, s[r][0]);    \
        }                                                                              \
        UNROLLED (r, rows)                                                             \
            t[r] = SUMS == 2                                                           \
                       ? s[r][0] + s[r][1]                                             \
                       : (s[r][0] + s[r][1]) + (s[r][SUMS - 2] + s[r][SUMS - 1]);      \
    }                                                                                  \
    static inline void few_products_##T(const ctype *a, int64_t lda, V_##T x,          \
                                        int64_t k, V_##T *t) {                         \
        UNROLLED (r, SIDE)                                                             \
            t[r] = part_##T(a + (int64_t)r * lda, k) * x;                              \
    }                                                                                  \
    static void rows_block_##T(const Gemv *g, const ctype *a, const ctype *b,          \
                               int64_t k, ctype beta) {                                \
        bool single =                                                                  \
                 k >= SUMS * LANES_##T && is_stream(g, k, SHORT_ROW, sizeof(ctype)),   \
             few = k <= LANES_##T;                                                     \
        V_##T x = few ? part_##T(b, k) : (V_##T){0};                                   \
        int64_t lda = g->lda, i = 0;                                                   \
        ctype sum[SIDE + LANES_##T];                                                   \
        V_##T t[SIDE];                                                                 \
        if (k <= SHORT && lda == k) {                                                  \
            V_##T each = repeat_##T(x);                                                \
            for (; i + LANES_##T <= g->m; i += LANES_##T, a += LANES_##T * lda) {      \
                short_rows_##T(a, each, k, sum);                                       \
                finish_##T(g, i, LANES_##T, beta, sum);                                \
            }                                                                          \
        }                                                                              \
        for (; i + SIDE <= g->m; i += SIDE, a += SIDE * lda) {                         \
            if (few)                                                                   \
                few_products_##T(a, lda, x, k, t);                                     \
            else if (single)                                                           \
                for (int64_t r = 0; r < SIDE; r++)                                     \
                    products_##T(a + r * lda, 0, 1, b, k, t + r);                      \
            else                                                                       \
                for (int64_t r = 0; r < SIDE; r += SIDE)                               \
                    products_##T(a + r * lda, lda, SIDE, b, k, t + r);                 \
            totals_##T(t, sum);                                                        \
            finish_##T(g, i, SIDE, beta, sum);                                         \
        }                                                                              \
        if (i == g->m) return;                                                         \
        for (int64_t r = 0; r < SIDE; r++)                                             \
            products_##T(i + r < g->m ? a + r * lda : b, 0, 1, b,                      \
                         i + r < g->m ? k : 0, t + r);                                 \
        totals_##T(t, sum);                                                            \
        finish_##T(g, i, g->m - i, beta, sum);                                         \
    }                                                                                  \
    static void rows_##T(const Gemv *g) {                                              \
        ctype copy[WIDE_##T];                                                          \
        for (int64_t from = 0; from < g->k; from += WIDE_##T) {                        \
            int64_t k = g->k - from < WIDE_##T ? g->k - from : WIDE_##T;               \
            const ctype *b = (const ctype *)g->b + from * g->b_step;                   \
            for (int64_t j = 0; g->b_step != 1 && j < k; j++)                          \
                copy[j] = b[j * g->b_step];                                            \
            rows_block_##T(g, (const ctype *)g->a + from, g->b_step != 1 ? copy : b,   \
                           k, from ? 1 : (ctype)g->beta);                              \
        }                                                                              \
    }                                                                                  \
    /* Asks for bytes that lie AHEAD of a. */                                          \
    static inline void fetch_##T(const ctype *a, uintptr_t bytes) {                    \
        for (uintptr_t i = 0; i < bytes; i += LINE)                                    \
            __builtin_prefetch((const void *)((uintptr_t)a + AHEAD + i));              \
    }                                                                                  \
    /* to[i] += the sum of a[i + r * lda] * b[r] over some columns r */                \
    static inline void add_##T(const ctype *a, int64_t lda, const ctype *b,            \
                               size_t cols, int64_t m, ctype *to, bool fetched) {      \
        enum { L = LANES_##T, AT_ONCE = 2 };                                           \
        int64_t i = 0;                                                                 \
        for (; i + AT_ONCE * L <= m; i += AT_ONCE * L) {                               \
            V_##T s[AT_ONCE];                                                          \
            UNROLLED (u, AT_ONCE)                                                      \
                s[u] = LOAD(T, to + i + (int64_t)u * L);                               \
            UNROLLED (r, cols) {                                                       \
                const ctype *at = a + (int64_t)r * lda + i;                            \
                V_##T x = ALL(T, b[r]);                                                \
                if (fetched)                                                           \
                    fetch_##T(a + (int64_t)cols * lda + i * (int64_t)cols +            \
                                  (int64_t)r * AT_ONCE * L,                            \
                              AT_ONCE * BYTES);                                        \
                UNROLLED (u, AT_ONCE)                                                  \
                    s[u] = FMA_##T(LOAD(T, at + (int64_t)u * L), x, s[u]);             \
            }                                                                          \
            UNROLLED (u, AT_ONCE)                                                      \
                STORE(T, to + i + (int64_t)u * L, s[u]);                               \
        }                                                                              \
        for (; i < m; i += L) {                                                        \
            int64_t n = m - i < L ? m - i : L;                                         \
            V_##T s = LOAD(T, to + i);                                                 \
            UNROLLED (r, cols)                                                         \
                s = FMA_##T(part_##T(a + (int64_t)r * lda + i, n), ALL(T, b[r]), s);   \
            STORE(T, to + i, s);                                                       \
        }                                                                              \
    }                                                                                  \
    static void cols_block_##T(const Gemv *g, int64_t from, int64_t m, ctype *sum) {   \
        const ctype *a = (const ctype *)g->a + from;                                   \
        bool fetched = is_fetched(g, m, sizeof(ctype));                                \
        int64_t cols =                                                                 \
                    fetched                        ? FEW_COLS                          \
                    : two_by_two(g, sizeof(ctype)) ? 2                                 \
                    : !g->side_by_side && is_stream(g, m, SHORT_COLUMN, sizeof(ctype)) \
                        ? 1                                                            \
                        : COLS,                                                        \
                k = 0, step = g->b_step, lda = g->lda;                                 \
        for (; k < g->k; k += cols, a += cols * lda) {                                 \
            const ctype *b = (const ctype *)g->b + k * step;                           \
            ctype each[COLS];                                                          \
            while (g->k - k < cols)                                                    \
                cols /= 2;                                                             \
            for (int64_t r = 0; r < cols; r++)                                         \
                each[r] = b[r * step];                                                 \
            if (fetched && cols == FEW_COLS)                                           \
                add_##T(a, lda, each, FEW_COLS, m, sum, true);                         \
            else if (cols == 8)                                                        \
                add_##T(a, lda, each, 8, m, sum, false);                               \
            else if (cols == 4)                                                        \
                add_##T(a, lda, each, 4, m, sum, false);                               \
            else if (cols == 2)                                                        \
                add_##T(a, lda, each, 2, m, sum, false);                               \
            else                                                                       \
                add_##T(a, lda, each, 1, m, sum, false);                               \
        }                                                                              \
    }                                                                                  \
    /* The sums of `vectors` of elements, the last of n, stay in registers. */         \
    static inline void few_##T(const Gemv *g, size_t vectors, int64_t n) {             \
        enum { L = LANES_##T };                                                        \
        const ctype *a = g->a, *b = g->b;                                              \
        const size_t last = vectors - 1, cols = COLS / vectors;                        \
        V_##T s[COLS];                                                                 \
        ctype sum[COLS * L];                                                           \
        int64_t k = 0;                                                                 \
        UNROLLED (r, COLS)                                                             \
            s[r] = (V_##T){0};                                                         \
        for (; k < g->k; k += (int64_t)cols)                                           \
            UNROLLED (r, cols) {                                                       \
                if (k + (int64_t)r >= g->k) break;                                     \
                V_##T x = ALL(T, *b), *to = s + r * vectors;                           \
                UNROLLED (v, last)                                                     \
                    to[v] = FMA_##T(LOAD(T, a + v * L), x, to[v]);                     \
                to[last] = FMA_##T(part_##T(a + last * L, n), x, to[last]);            \
                a += g->lda, b += g->b_step;                                           \
            }                                                                          \
        UNROLLED (r, cols / 2 * vectors)                                               \
            s[r] += s[r + cols / 2 * vectors];                                         \
        UNROLLED (r, cols / 4 * vectors)                                               \
            s[r] += s[r + cols / 4 * vectors];                                         \
        UNROLLED (r, cols / 8 * vectors)                                               \
            s[r] += s[r + cols / 8 * vectors];                                         \
        memcpy(sum, s, sizeof sum);                                                    \
        finish_##T(g, 0, g->m, (ctype)g->beta, sum);                                   \
    }                                                                                  \
    static void cols_##T(const Gemv *g) {                                              \
        enum { L = LANES_##T };                                                        \
        _Alignas(64) ctype sum[WIDE_##T + L];                                          \
        if (g->m <= L)                                                                 \
            few_##T(g, 1, g->m);                                                       \
        else if (g->m <= 2 * L)                                                        \
            few_##T(g, 2, g->m - L);                                                   \
        else if (g->m <= 3 * L)                                                        \
            few_##T(g, 3, g->m - 2 * L);                                               \
        else if (g->m <= 4 * L)                                                        \
            few_##T(g, 4, g->m - 3 * L);                                               \
        if (g->m <= 4 * L) return;                                                     \
        for (int64_t from = 0; from < g->m; from += WIDE_##T) {                        \
            int64_t m = g->m - from < WIDE_##T ? g->m - from : WIDE_##T;               \
            memset(sum, 0, ((size_t)m + L) * sizeof *sum);                             \
            cols_block_##T(g, from, m, sum);                                           \
            finish_##T(g, from, m, (ctype)g->beta, sum);                               \
        }                                                                              \
    }
GEMV(f32, float)
GEMV(f64, double)

const GemvLoops LEVEL(gemv_loops) = {{rows_f32, rows_f64}, {cols_f32, cols_f64}};
