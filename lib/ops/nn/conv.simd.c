/* Sums of products in registers: a vector holds neighbouring positions of one filter,
 * each element of x that is loaded serves several filters, each weight several vectors.
 * The order of the sum is that of channels and taps, whatever the shape of the tile. */
#include "op/vector.h"
#include "ops/nn/conv_tile.h"

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

#if TL_LEVEL == 2
#define LARGER(low, y)   ((V_f32)_mm512_max_ps((__m512)(low), (__m512)(y)))
#define SMALLER(high, y) ((V_f32)_mm512_min_ps((__m512)(high), (__m512)(y)))
#elif TL_LEVEL == 1
#define LARGER(low, y)   ((V_f32)_mm256_max_ps((__m256)(low), (__m256)(y)))
#define SMALLER(high, y) ((V_f32)_mm256_min_ps((__m256)(high), (__m256)(y)))
#else
static V_f32 choose(V_i32 first, V_f32 a, V_f32 b) {
    return (V_f32)((first & (V_i32)a) | (~first & (V_i32)b));
}
#define LARGER(low, y)   choose((V_i32)((y) < (low)), low, y)
#define SMALLER(high, y) choose((V_i32)((y) > (high)), high, y)
#endif

/* The same for a row of a tile that goes to `out`. */
static inline __attribute__((always_inline)) void
after_f32(const ConvTile *t, size_t filter, size_t vectors, const float *out,
          V_f32 *y) {
    enum { LANES = BYTES / sizeof *out };
    const ConvAfter *a = t->after;
    V_f32 low = ALL(f32, a->low), high = ALL(f32, a->high),
          sum = ALL(f32, a->sum[(t->channel + (int64_t)filter) * a->sum_step]);
    UNROLLED (k, vectors) {
        y[k] = y[k] + sum;
        if (a->more) y[k] = y[k] + LOAD(f32, a->more + (out - a->out) + k * LANES);
        y[k] = SMALLER(high, LARGER(low, y[k]));
    }
}
#define after_f64(t, filter, vectors, out, y) (void)(out)
#define after_i32(t, filter, vectors, out, y) (void)(out)

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
        UNROLLED (f, filters) {                                                        \
            ctype *to = out + (ptrdiff_t)f * a->out_row;                               \
            if (a->after) after_##T(a, f, vectors, to, sum[f]);                        \
            UNROLLED (k, vectors)                                                      \
                STORE(T, to + k * LANES, sum[f][k]);                                   \
        }                                                                              \
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
        UNROLLED (p, places) {                                                         \
            const ctype *from = a->from[p];                                            \
            UNROLLED (k, n)                                                            \
                UNROLLED (i, CONV_BROAD)                                               \
                    sum[p][k][i] =                                                     \
                        from ? LOAD(T, from + k * ROW + i * LANES) : (V_##T){0};       \
        }                                                                              \
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
#elif TL_LEVEL == 1
/* The same for 8. */
static inline __attribute__((always_inline)) void transpose_8(__m256 v[8]) {
    __m256 t[8];
    for (size_t i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (size_t i = 0; i < 8; i += 4)
        for (size_t k = 0; k < 2; k++) {
            v[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + 2 + k], 0x44);
            v[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + 2 + k], 0xee);
        }
    for (size_t k = 0; k < 4; k++) {
        t[k] = _mm256_permute2f128_ps(v[k], v[4 + k], 0x20);
        t[4 + k] = _mm256_permute2f128_ps(v[k], v[4 + k], 0x31);
    }
    for (size_t k = 0; k < 8; k++)
        v[k] = t[k];
}
#endif

#if TL_LEVEL > 0
#if TL_LEVEL == 2
typedef __m512i PackVec;
#define transpose_pack transpose_16
#else
typedef __m256 PackVec;
#define transpose_pack transpose_8
#endif
enum { PACK = BYTES / 4 };

/* Up to PACK elements of up to PACK filters. */
static inline __attribute__((always_inline)) void pack_square(const ConvBroadPack *p,
                                                              const char *from,
                                                              int64_t filters,
                                                              int64_t n, char *to) {
    PackVec v[PACK];
    for (size_t i = 0; i < PACK; i++) {
        const char *at = from + ((int64_t)i < filters ? (ptrdiff_t)i * p->filter : 0);
        int64_t have = (int64_t)i < filters ? n : 0;
        v[i] = (PackVec)(n == PACK && filters == PACK ? LOAD(i32, at)
                                                      : part_i32(at, have));
        /* into the second cache; the place may be outside of every array */
        __builtin_prefetch((const char *)((uintptr_t)at + (uintptr_t)p->ahead), 0, 2);
    }
    transpose_pack(v);
    for (size_t i = 0; i < PACK; i++)
        if ((int64_t)i < n) STORE(i32, to + i * CONV_BROAD * BYTES, v[i]);
}

static void pack_4(const ConvBroadPack *p, void *to) {
    enum { ROW = CONV_BROAD * BYTES };
    for (int64_t f = 0; f < CONV_BROAD * PACK; f += PACK) {
        int64_t filters = p->filters - f, k = 0;
        const char *from = p->from + (filters > 0 ? f * p->filter : 0);
        char *out = (char *)to + f * 4;
        for (; filters >= PACK && k + PACK <= p->n; k += PACK)
            pack_square(p, from + k * 4, PACK, PACK, out + k * ROW);
        for (; k < p->n; k += PACK)
            pack_square(p, from + k * 4, filters, p->n - k < PACK ? p->n - k : PACK,
                        out + k * ROW);
    }
}
#else
#define pack_4 NULL
#endif

#if TL_LEVEL == 2
BROAD_SHAPE(4)
BROAD_SHAPE(5)
BROAD_SHAPE(6)
BROAD_SHAPE(7)

/* What comes after 16 rows, of which there are `rows`: v[i] goes to `to` + i * out_row.
 */
static inline __attribute__((always_inline)) void
after_rows(const ConvBroadOut *o, const float sum[16], const char *to, __mmask16 mask,
           int64_t rows, __m512i v[16]) {
    const ConvAfter *a = o->after;
    __m512 low = _mm512_set1_ps(a->low), high = _mm512_set1_ps(a->high);
    for (size_t i = 0; i < 16; i++)
        v[i] = (__m512i)_mm512_add_ps((__m512)v[i], _mm512_set1_ps(sum[i]));
    if (a->more) {
        const char *at = (const char *)a->more + (to - (const char *)a->out);
        for (int64_t i = 0; i < 16; i++) {
            __m512 more = _mm512_maskz_loadu_ps(i < rows ? mask : 0, at);
            v[i] = (__m512i)_mm512_add_ps((__m512)v[i], more);
            if (i + 1 < rows) at += o->out_row;
        }
    }
    for (size_t i = 0; i < 16; i++)
        v[i] = (__m512i)_mm512_min_ps(high, _mm512_max_ps(low, (__m512)v[i]));
}

/* Stores the elements that `mask` has to every other place. */
static inline __attribute__((always_inline)) void store_other(char *to, __mmask16 mask,
                                                              __m512i v) {
    const __m512i low =
        _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    uint32_t have = _pdep_u32(mask, 0x55555555);
    _mm512_mask_storeu_epi32(to, (__mmask16)have, _mm512_permutexvar_epi32(low, v));
    if (have >> 16)
        _mm512_mask_storeu_epi32(
            to + BYTES, (__mmask16)(have >> 16),
            _mm512_permutexvar_epi32(low, _mm512_shuffle_i32x4(v, v, 0xee)));
}

static void store_4(const ConvBroadOut *o, const void *from, int64_t n) {
    enum { LANES = BYTES / 4, ROW = CONV_BROAD * BYTES };
    const ConvAfter *a = o->after;
    for (int64_t f = 0; f < o->filters; f += LANES) {
        int64_t rows = o->filters - f < LANES ? o->filters - f : LANES;
        float sum[LANES] = {0};
        for (int64_t i = 0; a && i < rows; i++)
            sum[i] = a->sum[(o->channel + f + i) * a->sum_step];
        for (int64_t at = 0; at < n; at += LANES) {
            int64_t have = n - at < LANES ? n - at : LANES;
            __mmask16 mask = (__mmask16)((1U << have) - 1);
            const char *in = (const char *)from + at * ROW + f * 4;
            char *to = o->out + f * o->out_row + at * (o->other ? 8 : 4);
            __m512i v[LANES];
            for (int64_t i = 0; i < LANES; i++)
                v[i] = i < have ? _mm512_loadu_si512(in + i * ROW)
                                : _mm512_setzero_si512();
            transpose_16(v);
            if (a) after_rows(o, sum, to, mask, rows, v);
            for (int64_t i = 0; o->other && i < LANES && i < rows;
                 i++, to += o->out_row)
                store_other(to, mask, v[i]);
            for (int64_t i = 0; !o->other && i < LANES && i < rows;
                 i++, to += o->out_row)
                _mm512_mask_storeu_epi32(to, mask, v[i]);
        }
    }
}
const ConvBroads LEVEL(conv_broads) = {
    store_4, pack_4, {BROAD_ENTRY(4), BROAD_ENTRY(5), BROAD_ENTRY(6), BROAD_ENTRY(7)}};
#else
BROAD_SHAPE(2)
BROAD_SHAPE(3)
const ConvBroads LEVEL(conv_broads) = {NULL, pack_4, {BROAD_ENTRY(2), BROAD_ENTRY(3)}};
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
