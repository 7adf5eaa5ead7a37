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

#define VECTORS(T, ctype)                                                              \
    typedef ctype V_##T __attribute__((vector_size(BYTES)));                           \
    typedef ctype U_##T                                                                \
        __attribute__((vector_size(BYTES), aligned(sizeof(ctype)), may_alias));
VECTORS(f32, float)
VECTORS(f64, double)
VECTORS(i32, uint32_t)

/* `filters` and `vectors` are constants where this is used. */
#define TILE(T, ctype)                                                                 \
    static inline __attribute__((always_inline)) void tile_##T(                        \
        const ConvTile *a, size_t filters, size_t vectors) {                           \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        V_##T sum[8][8] = {{{0}}};                                                     \
        const ctype *w = a->w, *x = a->x;                                              \
        for (int64_t c = 0; c < a->channels; c++, x += a->plane)                       \
            for (int64_t t = 0; t < a->taps; t++, w += filters) {                      \
                const ctype *p = x + a->offset[t];                                     \
                V_##T v[8];                                                            \
                for (size_t k = 0; k < vectors; k++)                                   \
                    v[k] = *(const U_##T *)(const void *)(p + k * LANES);              \
                for (size_t f = 0; f < filters; f++) {                                 \
                    V_##T each = w[f] - (V_##T){0};                                    \
                    for (size_t k = 0; k < vectors; k++)                               \
                        sum[f][k] = FMA_##T(v[k], each, sum[f][k]);                    \
                }                                                                      \
            }                                                                          \
        for (size_t f = 0; f < filters; f++)                                           \
            for (size_t k = 0; k < vectors; k++)                                       \
                *(U_##T *)(void *)((ctype *)a->out + (ptrdiff_t)f * a->out_row +       \
                                   k * LANES) = sum[f][k];                             \
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
    BYTES, {WIDEST, ENTRY(2, 2), ENTRY(2, 5), ENTRY(1, 2), ENTRY(1, 8)}};

/* ---- the gradient of weights ---- */
#define ALONG(T, ctype)                                                                \
    static inline __attribute__((always_inline)) void along_##T(const ConvSum *a,      \
                                                                size_t vectors) {      \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        V_##T sum[CONV_PLACES][4];                                                     \
        ctype *out = a->out;                                                           \
        const ctype *y = a->y, *x[CONV_PLACES];                                        \
        for (size_t k = 0; k < CONV_PLACES; k++) {                                     \
            x[k] = a->x[k];                                                            \
            for (size_t v = 0; v < vectors; v++)                                       \
                sum[k][v] = *(const U_##T *)(void *)(out + (k * vectors + v) * LANES); \
        }                                                                              \
        for (int64_t j = 0; j < a->rows; j++)                                          \
            for (int64_t i = j * a->x_row, n = i + a->columns; i < n; i++) {           \
                V_##T g[4];                                                            \
                for (size_t v = 0; v < vectors; v++, y += LANES)                       \
                    g[v] = *(const U_##T *)(const void *)y;                            \
                for (size_t k = 0; k < CONV_PLACES; k++) {                             \
                    V_##T each = x[k][i] - (V_##T){0};                                 \
                    for (size_t v = 0; v < vectors; v++)                               \
                        sum[k][v] = FMA_##T(g[v], each, sum[k][v]);                    \
                }                                                                      \
            }                                                                          \
        for (size_t k = 0; k < CONV_PLACES; k++)                                       \
            for (size_t v = 0; v < vectors; v++)                                       \
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

/* x's elements beyond the end of a row are no part of the sum, whatever they are. */
#define ACROSS(T, ctype, itype)                                                        \
    typedef itype M_##T __attribute__((vector_size(BYTES)));                           \
    static void across_##T(const ConvSum *a) {                                         \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        V_##T sum[CONV_PLACES] = {{0}};                                                \
        const ctype *y = a->y, *x[CONV_PLACES];                                        \
        int64_t whole = a->columns / LANES * LANES, left = a->columns - whole;         \
        M_##T mask;                                                                    \
        for (int64_t k = 0; k < LANES; k++)                                            \
            mask[k] = k < left ? -1 : 0;                                               \
        for (size_t k = 0; k < CONV_PLACES; k++)                                       \
            x[k] = a->x[k];                                                            \
        for (int64_t j = 0; j < a->rows; j++, y += a->y_row) {                         \
            for (int64_t i = 0; i < whole; i += LANES) {                               \
                V_##T g = *(const U_##T *)(const void *)(y + i);                       \
                for (size_t k = 0; k < CONV_PLACES; k++)                               \
                    sum[k] = FMA_##T(                                                  \
                        g, *(const U_##T *)(const void *)(x[k] + j * a->x_row + i),    \
                        sum[k]);                                                       \
            }                                                                          \
            if (!left) continue;                                                       \
            V_##T g = {0};                                                             \
            memcpy(&g, y + whole, (size_t)left * sizeof(ctype));                       \
            for (size_t k = 0; k < CONV_PLACES; k++) {                                 \
                M_##T v = (M_##T) *                                                    \
                          (const U_##T *)(const void *)(x[k] + j * a->x_row + whole);  \
                sum[k] = FMA_##T(g, (V_##T)(v & mask), sum[k]);                        \
            }                                                                          \
        }                                                                              \
        for (size_t k = 0; k < CONV_PLACES; k++) {                                     \
            ctype all = 0;                                                             \
            for (size_t l = 0; l < LANES; l++)                                         \
                all += sum[k][l];                                                      \
            ((ctype *)a->out)[k] += all;                                               \
        }                                                                              \
    }
ACROSS(f32, float, int32_t)
ACROSS(f64, double, int64_t)
ACROSS(i32, uint32_t, int32_t)

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
