/* Sums of products in registers: a vector holds neighbouring positions of one filter,
 * each element of x that is loaded serves several filters, each weight several vectors.
 * The order of the sum is that of channels and taps, whatever the shape of the tile. */
#include "ops/nn/conv_tile.h"

#include <string.h>

#if TL_LEVEL > 0
#include <immintrin.h>
#endif

#define JOIN2(a, b) a##b
#define JOIN1(a, b) JOIN2(a, b)
#define LEVEL(name) JOIN1(name, TL_LEVEL)

#if TL_LEVEL == 2
enum { BYTES = 64 };
#define FMA_f32(a, b, c) ((V_f32)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FMA_f64(a, b, c)                                                               \
    ((V_f64)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif TL_LEVEL == 1
enum { BYTES = 32 };
#define FMA_f32(a, b, c) ((V_f32)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FMA_f64(a, b, c)                                                               \
    ((V_f64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
enum { BYTES = 16 };
#define FMA_f32(a, b, c) ((a) * (b) + (c))
#define FMA_f64(a, b, c) ((a) * (b) + (c))
#endif
#define FMA_i32(a, b, c) ((a) * (b) + (c))

/* A loop over registers: an array of them stays in registers only if each loop over it
 * is unrolled. */
#define UNROLLED(i, n) _Pragma("GCC unroll 8") for (size_t i = 0; i < (n); i++)

#define VECTORS(T, ctype)                                                              \
    typedef ctype V_##T __attribute__((vector_size(BYTES)));                           \
    typedef ctype U_##T                                                                \
        __attribute__((vector_size(BYTES), aligned(sizeof(ctype)), may_alias));
VECTORS(f32, float)
VECTORS(f64, double)
VECTORS(i32, uint32_t)

/* The first n elements at p, the others 0; p may be the end of what may be read. */
#if TL_LEVEL == 2
#define PART(T, mask, load)                                                            \
    static inline V_##T part_##T(const void *p, int64_t n) {                           \
        return (V_##T)load((mask)((1u << n) - 1), p);                                  \
    }
PART(f32, __mmask16, _mm512_maskz_loadu_ps)
PART(f64, __mmask8, _mm512_maskz_loadu_pd)
PART(i32, __mmask16, _mm512_maskz_loadu_epi32)
#else
#define PART(T, ctype)                                                                 \
    static inline V_##T part_##T(const void *p, int64_t n) {                           \
        ctype v[BYTES / sizeof(ctype)] = {0};                                          \
        V_##T r;                                                                       \
        for (int64_t k = 0; k < n; k++)                                                \
            v[k] = ((const ctype *)p)[k];                                              \
        memcpy(&r, v, sizeof r);                                                       \
        return r;                                                                      \
    }
PART(f32, float)
PART(f64, double)
PART(i32, uint32_t)
#endif

/* ---- rows ---- */
/* to[k] = the element at from + k * step bytes. */
static void copy_4(void *to, const void *from, ptrdiff_t step, int64_t n) {
    enum { LANES = BYTES / 4 };
    uint32_t *out = to;
    const char *in = from;
    int64_t k = 0;
    if (step == 4) {
        for (; k + LANES <= n; k += LANES)
            *(U_i32 *)(void *)(out + k) = *(const U_i32 *)(const void *)(in + k * 4);
        if (k < n && n >= LANES) {
            k = n - LANES;
            *(U_i32 *)(void *)(out + k) = *(const U_i32 *)(const void *)(in + k * 4);
            return;
        }
#if TL_LEVEL == 2
        __mmask16 left = (__mmask16)((1u << (n - k)) - 1);
        _mm512_mask_storeu_epi32(out + k, left,
                                 _mm512_maskz_loadu_epi32(left, in + k * 4));
        return;
#endif
    }
#if TL_LEVEL == 2
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    /* the last element read is one after the last one wanted */
    for (; step == 8 && k + LANES < n; k += LANES)
        _mm512_storeu_si512(
            out + k, _mm512_permutex2var_epi32(_mm512_loadu_si512(in + k * 8), even,
                                               _mm512_loadu_si512(in + k * 8 + BYTES)));
    if (step == 8 && k < n) {
        uint32_t read = (1u << (2 * (n - k) - 1)) - 1;
        __m512i low = _mm512_maskz_loadu_epi32((__mmask16)read, in + k * 8),
                high = _mm512_maskz_loadu_epi32((__mmask16)(read >> 16),
                                                in + k * 8 + BYTES);
        _mm512_mask_storeu_epi32(out + k, (__mmask16)((1u << (n - k)) - 1),
                                 _mm512_permutex2var_epi32(low, even, high));
        return;
    }
#elif TL_LEVEL == 1
    for (; step == 8 && k + LANES < n; k += LANES) {
        __m256 a = _mm256_loadu_ps((const float *)(const void *)(in + k * 8)),
               b = _mm256_loadu_ps((const float *)(const void *)(in + k * 8 + BYTES));
        __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
        _mm256_storeu_ps((float *)(void *)(out + k),
                         _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xd8)));
    }
#endif
    for (; k < n; k++)
        memcpy(out + k, in + k * step, 4);
}

static void copy_8(void *to, const void *from, ptrdiff_t step, int64_t n) {
    char *out = to;
    const char *in = from;
    for (int64_t k = 0; k < n; k++)
        memcpy(out + k * 8, in + k * step, 8);
}

/* ---- what comes after ---- */
/* Of nan and a limit nan is the larger and the smaller one, and of equal numbers y. */
static void after_row(const ConvAfter *a, int64_t channel, float *row, int64_t n) {
    float sum = a->sum[channel * a->sum_step], low = a->low, high = a->high;
    for (int64_t k = 0; k < n; k++)
        row[k] = row[k] + sum;
    for (int64_t k = 0; a->more && k < n; k++)
        row[k] = row[k] + (a->more + (row - a->out))[k];
    for (int64_t k = 0; k < n; k++) {
        float y = row[k] < low ? low : row[k];
        row[k] = y > high ? high : y;
    }
}

/* ---- tiles ---- */
/* `filters` and `vectors` are constants where this is used. */
#define TILE(T, ctype)                                                                 \
    static inline __attribute__((always_inline)) void tile_##T(                        \
        const ConvTile *a, size_t filters, size_t vectors) {                           \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        V_##T sum[8][8];                                                               \
        const ctype *w = a->w, *x = a->x;                                              \
        ctype *out = a->out;                                                           \
        UNROLLED (f, filters)                                                          \
            UNROLLED (k, vectors)                                                      \
                sum[f][k] = (V_##T){0};                                                \
        for (int64_t c = 0; c < a->channels; c++, x += a->plane)                       \
            for (int64_t t = 0; t < a->taps; t++, w += filters) {                      \
                const ctype *p = x + a->offset[t];                                     \
                V_##T v[8];                                                            \
                UNROLLED (k, vectors)                                                  \
                    v[k] = *(const U_##T *)(const void *)(p + k * LANES);              \
                UNROLLED (f, filters) {                                                \
                    V_##T each = w[f] - (V_##T){0};                                    \
                    UNROLLED (k, vectors)                                              \
                        sum[f][k] = FMA_##T(v[k], each, sum[f][k]);                    \
                }                                                                      \
            }                                                                          \
        UNROLLED (f, filters)                                                          \
            UNROLLED (k, vectors)                                                      \
                *(U_##T *)(void *)(out + (ptrdiff_t)f * a->out_row + k * LANES) =      \
                    sum[f][k];                                                         \
    }
TILE(f32, float)
TILE(f64, double)
TILE(i32, uint32_t)

#define SHAPE_OF(T, filters, vectors)                                                  \
    static void tile_##T##_##filters##_##vectors(const ConvTile *a) {                  \
        tile_##T(a, filters, vectors);                                                 \
    }
#define SHAPE(filters, vectors)                                                        \
    SHAPE_OF(f32, filters, vectors)                                                    \
    SHAPE_OF(f64, filters, vectors)                                                    \
    SHAPE_OF(i32, filters, vectors)
#define ENTRY(filters, vectors)                                                        \
    {                                                                                  \
        filters, vectors, {                                                            \
            tile_f32_##filters##_##vectors, tile_f64_##filters##_##vectors,            \
                tile_i32_##filters##_##vectors                                         \
        }                                                                              \
    }

#if TL_LEVEL == 2
SHAPE(8, 1)
SHAPE(8, 2)
SHAPE(8, 3)
SHAPE(4, 6)
#define WIDEST                                                                         \
    ENTRY(8, 1), ENTRY(8, 2), ENTRY(8, 3), ENTRY(4, 1), ENTRY(4, 3), ENTRY(4, 6)
#else
SHAPE(4, 2)
#define WIDEST ENTRY(4, 1), ENTRY(4, 2), ENTRY(4, 3)
#endif
SHAPE(4, 1)
SHAPE(4, 3)
SHAPE(2, 2)
SHAPE(2, 5)
SHAPE(1, 2)
SHAPE(1, 8)

const ConvTiles LEVEL(conv_tiles) = {
    BYTES,
    {copy_4, copy_8},
    after_row,
    {WIDEST, ENTRY(2, 2), ENTRY(2, 5), ENTRY(1, 2), ENTRY(1, 8)}};

/* ---- tiles of many filters ---- */
/* `places` and `n` are constants where this is used. */
#define BROAD(T, ctype)                                                                \
    static inline __attribute__((always_inline)) void broad_##T(                       \
        const ConvBroad *a, size_t places, size_t n) {                                 \
        enum { LANES = BYTES / sizeof(ctype), ROW = CONV_BROAD * LANES };              \
        V_##T sum[2][8][CONV_BROAD];                                                   \
        const ctype *w = a->w, *x[2] = {a->x[0], a->x[1]};                             \
        UNROLLED (p, places)                                                           \
            UNROLLED (k, n)                                                            \
                UNROLLED (i, CONV_BROAD)                                               \
                    sum[p][k][i] = (V_##T){0};                                         \
        for (int64_t c = 0; c < a->channels; c++) {                                    \
            for (int64_t t = 0; t < a->taps; t++, w += ROW) {                          \
                V_##T v[CONV_BROAD];                                                   \
                UNROLLED (i, CONV_BROAD)                                               \
                    v[i] = *(const U_##T *)(const void *)(w + i * LANES);              \
                UNROLLED (p, places)                                                   \
                    UNROLLED (k, n) {                                                  \
                        V_##T each = x[p][a->offset[t] + (int64_t)k] - (V_##T){0};     \
                        UNROLLED (i, CONV_BROAD)                                       \
                            sum[p][k][i] = FMA_##T(v[i], each, sum[p][k][i]);          \
                    }                                                                  \
            }                                                                          \
            x[0] += a->plane;                                                          \
            if (places > 1) x[1] += a->plane;                                          \
        }                                                                              \
        UNROLLED (p, places) {                                                         \
            ctype *out = a->out[p];                                                    \
            UNROLLED (k, n)                                                            \
                UNROLLED (i, CONV_BROAD)                                               \
                    *(U_##T *)(void *)(out + k * ROW + i * LANES) = sum[p][k][i];      \
        }                                                                              \
    }
BROAD(f32, float)
BROAD(f64, double)
BROAD(i32, uint32_t)

#define BROAD_OF(T, places, n)                                                         \
    static void broad_##T##_##places##_##n(const ConvBroad *a) {                       \
        broad_##T(a, places, n);                                                       \
    }
#define BROAD_SHAPE(n)                                                                 \
    BROAD_OF(f32, 1, n)                                                                \
    BROAD_OF(f64, 1, n)                                                                \
    BROAD_OF(i32, 1, n)                                                                \
    BROAD_OF(f32, 2, n)                                                                \
    BROAD_OF(f64, 2, n)                                                                \
    BROAD_OF(i32, 2, n)
#define BROAD_ENTRY(n)                                                                 \
    {                                                                                  \
        n, {                                                                           \
            {broad_f32_1_##n, broad_f64_1_##n, broad_i32_1_##n}, {                     \
                broad_f32_2_##n, broad_f64_2_##n, broad_i32_2_##n                      \
            }                                                                          \
        }                                                                              \
    }
#if TL_LEVEL == 2
BROAD_SHAPE(4)
BROAD_SHAPE(5)
BROAD_SHAPE(6)
BROAD_SHAPE(7)

/* v[i] has element i of each of 16 filters' results; then all results of filter i. */
static inline __attribute__((always_inline)) void transpose_16(__m512i v[16]) {
    __m512i t[16];
    for (size_t i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (size_t i = 0; i < 16; i += 4)
        for (size_t k = 0; k < 2; k++) {
            v[i + 2 * k] = _mm512_unpacklo_epi64(t[i + k], t[i + 2 + k]);
            v[i + 2 * k + 1] = _mm512_unpackhi_epi64(t[i + k], t[i + 2 + k]);
        }
    /* v[4 * i + k]: of each 128 bits j, elements 4 * i ... of filter 4 * j + k */
    for (size_t k = 0; k < 4; k++) {
        t[k] = _mm512_shuffle_i32x4(v[k], v[4 + k], 0x88);
        t[4 + k] = _mm512_shuffle_i32x4(v[k], v[4 + k], 0xdd);
        t[8 + k] = _mm512_shuffle_i32x4(v[8 + k], v[12 + k], 0x88);
        t[12 + k] = _mm512_shuffle_i32x4(v[8 + k], v[12 + k], 0xdd);
    }
    for (size_t k = 0; k < 4; k++) {
        v[k] = _mm512_shuffle_i32x4(t[k], t[8 + k], 0x88);
        v[4 + k] = _mm512_shuffle_i32x4(t[4 + k], t[12 + k], 0x88);
        v[8 + k] = _mm512_shuffle_i32x4(t[k], t[8 + k], 0xdd);
        v[12 + k] = _mm512_shuffle_i32x4(t[4 + k], t[12 + k], 0xdd);
    }
}

/* What comes after 16 rows, of which there are `rows`: v[i] goes to `to` + i * out_row.
 */
static inline __attribute__((always_inline)) void
after_rows(const ConvAfter *a, const float sum[16], const char *to, ptrdiff_t out_row,
           __mmask16 mask, int64_t rows, __m512i v[16]) {
    __m512 low = _mm512_set1_ps(a->low), high = _mm512_set1_ps(a->high);
    for (size_t i = 0; i < 16; i++)
        v[i] = (__m512i)_mm512_add_ps((__m512)v[i], _mm512_set1_ps(sum[i]));
    if (a->more) {
        const char *at = (const char *)a->more + (to - (const char *)a->out);
        for (int64_t i = 0; i < 16; i++) {
            __m512 more = _mm512_maskz_loadu_ps(i < rows ? mask : 0, at);
            v[i] = (__m512i)_mm512_add_ps((__m512)v[i], more);
            if (i + 1 < rows) at += out_row;
        }
    }
    for (size_t i = 0; i < 16; i++)
        v[i] = (__m512i)_mm512_min_ps(high, _mm512_max_ps(low, (__m512)v[i]));
}

static void store_4(void *out, ptrdiff_t out_row, const void *from, int64_t n,
                    int64_t filters, const ConvAfter *a, int64_t channel) {
    enum { LANES = BYTES / 4, ROW = CONV_BROAD * BYTES };
    for (int64_t f = 0; f < filters; f += LANES) {
        int64_t rows = filters - f < LANES ? filters - f : LANES;
        float sum[LANES] = {0};
        for (int64_t i = 0; a && i < rows; i++)
            sum[i] = a->sum[(channel + f + i) * a->sum_step];
        for (int64_t at = 0; at < n; at += LANES) {
            int64_t have = n - at < LANES ? n - at : LANES;
            __mmask16 mask = (__mmask16)((1U << have) - 1);
            const char *in = (const char *)from + at * ROW + f * 4;
            char *to = (char *)out + f * out_row + at * 4;
            __m512i v[LANES];
            for (int64_t i = 0; i < LANES; i++)
                v[i] = i < have ? _mm512_loadu_si512(in + i * ROW)
                                : _mm512_setzero_si512();
            transpose_16(v);
            if (a) after_rows(a, sum, to, out_row, mask, rows, v);
            for (int64_t i = 0; i < LANES && i < rows; i++, to += out_row)
                _mm512_mask_storeu_epi32(to, mask, v[i]);
        }
    }
}
const ConvBroads LEVEL(conv_broads) = {
    store_4, {BROAD_ENTRY(4), BROAD_ENTRY(5), BROAD_ENTRY(6), BROAD_ENTRY(7)}};
#else
BROAD_SHAPE(2)
BROAD_SHAPE(3)
const ConvBroads LEVEL(conv_broads) = {NULL, {BROAD_ENTRY(2), BROAD_ENTRY(3)}};
#endif

/* ---- the gradient of weights ---- */
#define ALONG(T, ctype)                                                                \
    static inline __attribute__((always_inline)) void along_##T(const ConvSum *a,      \
                                                                size_t vectors) {      \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        V_##T sum[CONV_ALONG][4];                                                      \
        ctype *out = a->out;                                                           \
        const ctype *y = a->y, *x[CONV_ALONG];                                         \
        UNROLLED (k, CONV_ALONG) {                                                     \
            x[k] = a->x[k];                                                            \
            UNROLLED (v, vectors)                                                      \
                sum[k][v] = *(const U_##T *)(void *)(out + (k * vectors + v) * LANES); \
        }                                                                              \
        for (int64_t j = 0; j < a->rows; j++)                                          \
            for (int64_t i = j * a->x_row, n = i + a->columns; i < n; i++) {           \
                V_##T g[4];                                                            \
                UNROLLED (v, vectors)                                                  \
                    g[v] = *(const U_##T *)(const void *)(y + v * LANES);              \
                y += vectors * LANES;                                                  \
                UNROLLED (k, CONV_ALONG) {                                             \
                    V_##T each = x[k][i] - (V_##T){0};                                 \
                    UNROLLED (v, vectors)                                              \
                        sum[k][v] = FMA_##T(g[v], each, sum[k][v]);                    \
                }                                                                      \
            }                                                                          \
        UNROLLED (k, CONV_ALONG)                                                       \
            UNROLLED (v, vectors)                                                      \
                *(U_##T *)(void *)(out + (k * vectors + v) * LANES) = sum[k][v];       \
    }                                                                                  \
    static void along_##T##_1(const ConvSum *a) {                                      \
        along_##T(a, 1);                                                               \
    }                                                                                  \
    static void along_##T##_2(const ConvSum *a) {                                      \
        along_##T(a, 2);                                                               \
    }
ALONG(f32, float)
ALONG(f64, double)
ALONG(i32, uint32_t)

/* What lies in x beyond the end of a row is no part of the sum, whatever it is. */
#define ACROSS(T, ctype)                                                               \
    static void across_##T(const ConvSum *a) {                                         \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        V_##T sum[CONV_ACROSS] = {{0}};                                                \
        const ctype *y = a->y, *x[CONV_ACROSS];                                        \
        int64_t whole = a->columns / LANES * LANES, left = a->columns - whole;         \
        for (size_t k = 0; k < CONV_ACROSS; k++)                                       \
            x[k] = a->x[k];                                                            \
        for (int64_t j = 0; j < a->rows; j++, y += a->y_row) {                         \
            int64_t at = j * a->x_row, i = 0;                                          \
            for (; i < whole; i += LANES) {                                            \
                V_##T g = *(const U_##T *)(const void *)(y + i);                       \
                for (size_t k = 0; k < CONV_ACROSS; k++)                               \
                    sum[k] = FMA_##T(g, *(const U_##T *)(const void *)(x[k] + at + i), \
                                     sum[k]);                                          \
            }                                                                          \
            if (!left) continue;                                                       \
            V_##T g = part_##T(y + i, left);                                           \
            for (size_t k = 0; k < CONV_ACROSS; k++)                                   \
                sum[k] = FMA_##T(g, part_##T(x[k] + at + i, left), sum[k]);            \
        }                                                                              \
        for (size_t k = 0; k < CONV_ACROSS; k++) {                                     \
            ctype all = 0;                                                             \
            for (size_t l = 0; l < LANES; l++)                                         \
                all += sum[k][l];                                                      \
            ((ctype *)a->out)[k] += all;                                               \
        }                                                                              \
    }
ACROSS(f32, float)
ACROSS(f64, double)
ACROSS(i32, uint32_t)

#if TL_LEVEL == 2
#define ALONG_4(T)                                                                     \
    static void along_##T##_4(const ConvSum *a) {                                      \
        along_##T(a, 4);                                                               \
    }
ALONG_4(f32)
ALONG_4(f64)
ALONG_4(i32)
#define MOST_VECTORS 4
#define ALONG_MOST                                                                     \
    { along_f32_4, along_f64_4, along_i32_4 }
#else
#define MOST_VECTORS 2
#define ALONG_MOST                                                                     \
    { along_f32_2, along_f64_2, along_i32_2 }
#endif

const ConvSums LEVEL(conv_sums) = {BYTES,
                                   {1, 2, MOST_VECTORS},
                                   {{along_f32_1, along_f64_1, along_i32_1},
                                    {along_f32_2, along_f64_2, along_i32_2},
                                    ALONG_MOST},
                                   {across_f32, across_f64, across_i32}};

/* ---- channels by filters of their own ---- */
#if TL_LEVEL == 2
typedef __m512 EachVec;
typedef __mmask16 Mask;
enum { EACH = 16 };
#define each_set1            _mm512_set1_ps
#define each_zero            _mm512_setzero_ps
#define each_add             _mm512_add_ps
#define each_mul             _mm512_mul_ps
#define each_fma             _mm512_fmadd_ps
#define each_sum             _mm512_reduce_add_ps
#define each_max             _mm512_max_ps
#define each_min             _mm512_min_ps
#define each_load(mask, p)   _mm512_maskz_loadu_ps(mask, p)
#define each_put(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)

/* Those of the elements from `at` on that there are in a row of n. */
static Mask mask_of(int64_t at, int64_t n) {
    int64_t from = at < 0 ? -at : 0, to = n - at < EACH ? n - at : EACH;
    if (from >= to) return 0;
    return (Mask)((0xffffU << from) & (0xffffU >> (EACH - to)));
}

/* Every other element of two vectors. */
static inline EachVec each_even(EachVec a, EachVec b) {
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_ps(a, even, b);
}

/* a0, b0, a1, b1, ... */
static inline void each_mix(EachVec a, EachVec b, EachVec to[2]) {
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17,
                                         1, 16, 0),
                  high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26,
                                          10, 25, 9, 24, 8);
    to[0] = _mm512_permutex2var_ps(a, low, b);
    to[1] = _mm512_permutex2var_ps(a, high, b);
}
#elif TL_LEVEL == 1
typedef __m256 EachVec;
typedef __m256i Mask;
enum { EACH = 8 };
#define each_set1          _mm256_set1_ps
#define each_zero          _mm256_setzero_ps
#define each_add           _mm256_add_ps
#define each_mul           _mm256_mul_ps
#define each_fma           _mm256_fmadd_ps
#define each_max           _mm256_max_ps
#define each_min           _mm256_min_ps
#define each_load(mask, p) _mm256_maskload_ps(p, mask)

/* Those of the elements from `at` on that there are in a row of n. */
static Mask mask_of(int64_t at, int64_t n) {
    int64_t from = at < 0 ? -at : 0, to = n - at < EACH ? n - at : EACH;
    if (from >= to) return _mm256_setzero_si256();
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)from), lane),
                               _mm256_cmpgt_epi32(_mm256_set1_epi32((int)to), lane));
}

/* Every other element of two vectors. */
static inline EachVec each_even(EachVec a, EachVec b) {
    __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xd8));
}

/* a0, b0, a1, b1, ... */
static inline void each_mix(EachVec a, EachVec b, EachVec to[2]) {
    EachVec low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    to[0] = _mm256_permute2f128_ps(low, high, 0x20);
    to[1] = _mm256_permute2f128_ps(low, high, 0x31);
}

static inline void each_put(float *p, Mask mask, EachVec v) {
    if (_mm256_testc_si256(mask, _mm256_set1_epi32(-1)))
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, mask, v);
}

static inline float each_sum(EachVec v) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
#endif

#if TL_LEVEL > 0
/* What a tap takes for a vector of results of a row: the elements of one or two vectors
 * that there are, and none for results beyond the row's end. */
typedef struct TapPart {
    int64_t at;
    Mask mask[2];
} TapPart;

static void find_parts(const ConvEach *a, int64_t i, TapPart *part) {
    for (int64_t t = 0; t < a->column_taps; t++) {
        int64_t at = i * a->column_step + a->column[t],
                end = (a->columns - 1) * a->column_step + a->column[t] + 1;
        if (end > a->x_columns) end = a->x_columns;
        part[t] = (TapPart){at, {mask_of(at, end), mask_of(at + EACH, end)}};
    }
}

static inline __attribute__((always_inline)) void
load_taps(const ConvEach *a, int64_t row, const TapPart *part, size_t taps,
          int64_t step, EachVec *v) {
    const float *x = a->x + row * a->x_row;
    bool has = row >= 0 && row < a->x_rows;
    for (size_t t = 0; t < taps; t++) {
        v[t] = has ? each_load(part[t].mask[0], x + part[t].at) : each_zero();
        if (step == 2 && has)
            v[t] = each_even(v[t], each_load(part[t].mask[1], x + part[t].at + EACH));
    }
}

/* What comes after a row's vector at `out`, in registers. */
typedef struct EachAfter {
    const ConvAfter *a;
    EachVec sum, low, high;
} EachAfter;

static EachAfter each_after(const ConvEach *a, int64_t channel) {
    const ConvAfter *f = a->after;
    return (EachAfter){f, each_set1(f->sum[(a->channel + channel) * f->sum_step]),
                       each_set1(f->low), each_set1(f->high)};
}

static inline __attribute__((always_inline)) void
each_store(const EachAfter *f, float *out, Mask mask, EachVec y) {
    y = each_add(y, f->sum);
    if (f->a->more) y = each_add(y, each_load(mask, f->a->more + (out - f->a->out)));
    each_put(out, mask, each_min(f->high, each_max(f->low, y)));
}

/* Three rows of three taps, side by side: the rows that the next results take, too, are
 * not loaded again. */
static inline __attribute__((always_inline)) void
each_3x3(const ConvEach *a, int64_t step, const float *taps, int64_t i,
         const TapPart *part, const EachAfter *f) {
    EachVec w[3][3], v[3][3];
    size_t old = 3 - (size_t)step;
    for (size_t j = 0; j < 3; j++)
        for (size_t k = 0; k < 3; k++)
            w[j][k] = each_set1(taps[3 * j + k]);
    Mask mask = mask_of(i, a->columns);
    int64_t row = a->row[0];
    float *out = a->out + i;
    for (size_t k = 0; k < old; k++)
        load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
    for (int64_t j = 0; j < a->rows; j++, row += step, out += a->out_row) {
        for (size_t k = old; k < 3; k++)
            load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
        EachVec sum[3];
        for (size_t k = 0; k < 3; k++) {
            sum[k] = each_mul(v[k][0], w[k][0]);
            sum[k] = each_fma(v[k][1], w[k][1], sum[k]);
            sum[k] = each_fma(v[k][2], w[k][2], sum[k]);
        }
        each_store(f, out, mask, each_add(each_add(sum[0], sum[1]), sum[2]));
        for (size_t k = 0; k < old; k++)
            for (size_t t = 0; t < 3; t++)
                v[k][t] = v[k + (size_t)step][t];
    }
}

static void each_any(const ConvEach *a, const float *taps, int64_t i,
                     const TapPart *part, const EachAfter *f) {
    Mask mask = mask_of(i, a->columns);
    for (int64_t j = 0; j < a->rows; j++) {
        const float *w = taps;
        EachVec sum = each_zero(), v[CONV_EACH_TAPS];
        for (int64_t t = 0; t < a->row_taps; t++) {
            load_taps(a, j * a->row_step + a->row[t], part, (size_t)a->column_taps,
                      a->column_step, v);
            for (int64_t k = 0; k < a->column_taps; k++)
                sum = each_fma(v[k], each_set1(*w++), sum);
        }
        each_store(f, a->out + j * a->out_row + i, mask, sum);
    }
}

/* The gradient of a convolution with strides: every other column takes the same taps,
 * the first `even` ones, and the columns between them the next `odd` ones. */
typedef struct EachUp {
    struct {
        int64_t at, tap;
        Mask mask;
    } part[CONV_EACH_TAPS];
    int64_t even, odd;
} EachUp;

static void find_up(const ConvEach *a, int64_t i, EachUp *u) {
    int64_t n[2] = {0}, all = 0;
    for (int64_t p = 0; p < a->column_up; p++)
        for (int64_t t = 0; t < a->column_taps; t++) {
            int64_t at = p + a->column[t];
            if (at & (a->column_up - 1)) continue;
            at = i + at / a->column_up;
            u->part[all].at = at;
            u->part[all].tap = t;
            u->part[all++].mask = mask_of(at, a->x_columns);
            n[p]++;
        }
    u->even = n[0];
    u->odd = n[1];
}

/* The sum over n taps of a row, from part k on. */
static inline __attribute__((always_inline)) EachVec sum_up(const EachUp *u,
                                                            const float *x,
                                                            const float *w, int64_t k,
                                                            int64_t n, EachVec sum) {
    for (int64_t end = k + n; k < end; k++)
        sum = each_fma(each_load(u->part[k].mask, x + u->part[k].at),
                       each_set1(w[u->part[k].tap]), sum);
    return sum;
}

/* Neighbouring results of all rows: each vector of x's columns gives column_up vectors
 * of them. `even` and `odd`, the numbers of taps, are constants where it matters. */
static inline __attribute__((always_inline)) void each_up(const ConvEach *a,
                                                          const float *taps, int64_t i,
                                                          const EachUp *u, int64_t even,
                                                          int64_t odd) {
    Mask mask[2] = {mask_of(i * a->column_up, a->columns),
                    mask_of(i * a->column_up + EACH, a->columns)};
    int64_t shift = a->row_up - 1;
    float *out = a->out + i * a->column_up;
    for (int64_t j = 0; j < a->rows; j++, out += a->out_row) {
        EachVec sum = each_zero(), between = each_zero(), mixed[2];
        for (int64_t t = 0; t < a->row_taps; t++) {
            int64_t row = j + a->row[t];
            if (row < 0 || (row & shift) || row >> shift >= a->x_rows) continue;
            const float *x = a->x + (row >> shift) * a->x_row,
                        *w = taps + t * a->column_taps;
            sum = sum_up(u, x, w, 0, even, sum);
            between = sum_up(u, x, w, even, odd, between);
        }
        if (a->column_up == 2) {
            each_mix(sum, between, mixed);
            each_put(out, mask[0], mixed[0]);
            each_put(out + EACH, mask[1], mixed[1]);
        } else {
            each_put(out, mask[0], sum);
        }
    }
}

static void each_ups(ConvEach a) {
    EachUp u = {.even = 0};
    for (int64_t c = 0; c < a.channels; c++) {
        for (int64_t i = 0; i * a.column_up < a.columns; i += EACH) {
            if (c == 0 || a.columns > EACH * a.column_up) find_up(&a, i, &u);
            if (u.even == 1 && u.odd == 2)
                each_up(&a, a.w, i, &u, 1, 2);
            else if (u.even == 2 && u.odd == 1)
                each_up(&a, a.w, i, &u, 2, 1);
            else
                each_up(&a, a.w, i, &u, u.even, u.odd);
        }
        a.x += a.x_channel, a.out += a.out_channel;
        a.w += a.row_taps * a.column_taps;
    }
}

static bool are_neighbours(const int64_t *at, int64_t n) {
    for (int64_t k = 1; k < n; k++)
        if (at[k] != at[0] + k) return false;
    return true;
}

static bool is_3x3(const ConvEach *a) {
    return a->row_taps == 3 && a->column_taps == 3 && are_neighbours(a->row, 3) &&
           are_neighbours(a->column, 3) && a->row_step == a->column_step;
}

void LEVEL(conv_each)(const ConvEach *all) {
    ConvEach a = *all;
    TapPart part[CONV_EACH_TAPS];
    bool three = is_3x3(&a);
    if (a.row_up > 1 || a.column_up > 1) {
        each_ups(a);
        return;
    }
    for (int64_t c = 0; c < a.channels; c++) {
        EachAfter f = each_after(&a, c);
        for (int64_t i = 0; i < a.columns; i += EACH) {
            if (c == 0 || a.columns > EACH) find_parts(&a, i, part);
            if (three && a.row_step == 1)
                each_3x3(&a, 1, a.w, i, part, &f);
            else if (three)
                each_3x3(&a, 2, a.w, i, part, &f);
            else
                each_any(&a, a.w, i, part, &f);
        }
        a.x += a.x_channel, a.out += a.out_channel;
        a.w += a.row_taps * a.column_taps;
    }
}

static inline __attribute__((always_inline)) void
sums_3x3(const ConvEach *a, int64_t step, const float *dy, int64_t i,
         const TapPart *part, EachVec sum[9]) {
    EachVec v[3][3];
    size_t old = 3 - (size_t)step;
    Mask mask = mask_of(i, a->columns);
    int64_t row = a->row[0];
    dy += i;
    for (size_t k = 0; k < old; k++)
        load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
    for (int64_t j = 0; j < a->rows; j++, row += step, dy += a->out_row) {
        EachVec g = each_load(mask, dy);
        for (size_t k = old; k < 3; k++)
            load_taps(a, row + (int64_t)k, part, 3, step, v[k]);
        for (size_t k = 0; k < 9; k++)
            sum[k] = each_fma(v[k / 3][k % 3], g, sum[k]);
        for (size_t k = 0; k < old; k++)
            for (size_t t = 0; t < 3; t++)
                v[k][t] = v[k + (size_t)step][t];
    }
}

/* For the taps of one row of a filter. */
static void sums_any(const ConvEach *a, int64_t tap, const float *dy, int64_t i,
                     const TapPart *part, EachVec *sum) {
    Mask mask = mask_of(i, a->columns);
    EachVec v[CONV_EACH_TAPS];
    for (int64_t j = 0; j < a->rows; j++) {
        EachVec g = each_load(mask, dy + j * a->out_row + i);
        load_taps(a, j * a->row_step + a->row[tap], part, (size_t)a->column_taps,
                  a->column_step, v);
        for (int64_t k = 0; k < a->column_taps; k++)
            sum[k] = each_fma(v[k], g, sum[k]);
    }
}

static void add_sums(const EachVec *sum, int64_t n, float *to) {
    for (int64_t k = 0; k < n; k++)
        to[k] += each_sum(sum[k]);
}

void LEVEL(conv_each_sums)(const ConvEach *all, const float *dy, float *sums) {
    ConvEach a = *all;
    TapPart part[CONV_EACH_TAPS];
    bool three = is_3x3(&a);
    for (int64_t c = 0; c < a.channels; c++, a.x += a.x_channel, dy += a.out_channel) {
        int64_t rows = three ? 1 : a.row_taps, taps = three ? 9 : a.column_taps;
        for (int64_t tap = 0; tap < rows; tap++, sums += taps) {
            EachVec sum[CONV_EACH_TAPS] = {{0}};
            for (int64_t i = 0; i < a.columns; i += EACH) {
                if ((c == 0 && tap == 0) || a.columns > EACH) find_parts(&a, i, part);
                if (three && a.row_step == 1)
                    sums_3x3(&a, 1, dy, i, part, sum);
                else if (three)
                    sums_3x3(&a, 2, dy, i, part, sum);
                else
                    sums_any(&a, tap, dy, i, part, sum);
            }
            add_sums(sum, taps, sums);
        }
    }
}
#endif
