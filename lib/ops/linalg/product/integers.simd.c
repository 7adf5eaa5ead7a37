/* The panel of b is packed, block by block of its rows; then some rows of a at a time
 * are multiplied with it, in sums that stay in registers. */
#include "ops/linalg/product/integers.h"

#include "op/vector.h"

enum {
    TILE_ROWS = 6,
    TILE_VECTORS = 2,
    PANEL_BYTES = TILE_VECTORS * BYTES,
    BLOCK_BYTES = 1 << 14
};
VECTORS(i16, uint16_t)
VECTORS(i64, uint64_t)

/* A block of the panel: k rows of b, packed, for columns of a and rows of c. */
typedef struct Block {
    const char *b;
    int64_t k, first;
} Block;

/* ---- packing ---- */
/* The `width` first elements of k rows; vectors are filled with zeros. */
#define PACK(T, ctype)                                                                 \
    static void pack_##T(const ctype *b, int64_t ldb, int64_t k, int64_t width,        \
                         int64_t row, char *to) {                                      \
        const size_t bytes = (size_t)width * sizeof *b;                                \
        for (int64_t i = 0; i < k; i++, to += row) {                                   \
            if (bytes == PANEL_BYTES) {                                                \
                memcpy(to, b + i * ldb, PANEL_BYTES);                                  \
                continue;                                                              \
            }                                                                          \
            memset(to, 0, (size_t)row);                                                \
            memcpy(to, b + i * ldb, bytes);                                            \
        }                                                                              \
    }
PACK(i16, uint16_t)
PACK(i32, uint32_t)
PACK(i64, uint64_t)

/* ---- tiles ---- */
/* A row of a tile becomes one of c, or is added to it. */
#define PUT(T, ctype)                                                                  \
    static inline void put_##T(const IntegerPanel *p, bool adds, ctype *c,             \
                               const V_##T *sum, size_t vectors) {                     \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        if (p->width == (int64_t)vectors * LANES) {                                    \
            UNROLLED (v, vectors)                                                      \
                STORE(T, c + v * LANES,                                                \
                      adds ? sum[v] + LOAD(T, c + v * LANES) : sum[v]);                \
            return;                                                                    \
        }                                                                              \
        ctype part[TILE_VECTORS * LANES] = {0};                                        \
        memcpy(part, sum, vectors *BYTES);                                             \
        for (int64_t i = 0; i < p->width; i++)                                         \
            c[i] = (ctype)(adds ? c[i] + part[i] : part[i]);                           \
    }
PUT(i16, uint16_t)
PUT(i32, uint32_t)
PUT(i64, uint64_t)

/* `rows` and `vectors` are constants where these are used. */
#define TILE(T, ctype)                                                                 \
    static inline __attribute__((always_inline)) void tile_##T(                        \
        const IntegerPanel *p, const Block *o, int64_t at, size_t rows,                \
        size_t vectors) {                                                              \
        V_##T sum[TILE_ROWS][TILE_VECTORS];                                            \
        const ctype *a = (const ctype *)p->a + at * p->lda + o->first;                 \
        const char *b = o->b;                                                          \
        const int64_t lda = p->lda;                                                    \
        UNROLLED (i, rows)                                                             \
            UNROLLED (v, vectors)                                                      \
                sum[i][v] = (V_##T){0};                                                \
        for (int64_t l = 0; l < o->k; l++, a++, b += vectors * BYTES)                  \
            UNROLLED (i, rows) {                                                       \
                V_##T each = ALL(T, a[(int64_t)i * lda]);                              \
                UNROLLED (v, vectors)                                                  \
                    sum[i][v] += LOAD(T, b + v * BYTES) * each;                        \
            }                                                                          \
        UNROLLED (i, rows)                                                             \
            put_##T(p, o->first > 0, (ctype *)p->c + (at + (int64_t)i) * p->ldc,       \
                    sum[i], vectors);                                                  \
    }

/* Where the CPU multiplies 32 bits only: those of a number's lower halves are summed
 * whole; of the products of a lower half with an upper one, the lower half counts, and
 * one multiplication makes both, of b with its halves swapped. */
#if TL_LEVEL == 1
#define LOWER(a, b) ((V_i64)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#elif TL_LEVEL == 0 && HAS_FMA
#define LOWER(a, b)                                                                    \
    ((V_i64)vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b))))
#endif
#ifdef LOWER
enum { WIDE_ROWS = 3 };
static inline V_i64 swapped(V_i64 b) {
    return b << 32 | b >> 32;
}

static inline __attribute__((always_inline)) void tile_i64(const IntegerPanel *p,
                                                           const Block *o, int64_t at,
                                                           size_t rows,
                                                           size_t vectors) {
    V_i64 low[WIDE_ROWS][TILE_VECTORS];
    V_i32 cross[WIDE_ROWS][TILE_VECTORS];
    const uint64_t *a = (const uint64_t *)p->a + at * p->lda + o->first;
    const char *b = o->b;
    const int64_t lda = p->lda;
    UNROLLED (i, rows)
        UNROLLED (v, vectors)
            low[i][v] = (V_i64){0}, cross[i][v] = (V_i32){0};
    for (int64_t l = 0; l < o->k; l++, a++, b += vectors * BYTES) {
        V_i64 row[TILE_VECTORS], other[TILE_VECTORS];
        UNROLLED (v, vectors)
            row[v] = LOAD(i64, b + v * BYTES), other[v] = swapped(row[v]);
        UNROLLED (i, rows) {
            V_i64 each = ALL(i64, a[(int64_t)i * lda]);
            UNROLLED (v, vectors) {
                low[i][v] += LOWER(row[v], each);
                cross[i][v] += (V_i32)other[v] * (V_i32)each;
            }
        }
    }
    UNROLLED (i, rows) {
        UNROLLED (v, vectors) {
            V_i64 x = (V_i64)cross[i][v];
            low[i][v] += (x << 32) + (x >> 32 << 32);
        }
        put_i64(p, o->first > 0, (uint64_t *)p->c + (at + (int64_t)i) * p->ldc, low[i],
                vectors);
    }
}
#else
enum { WIDE_ROWS = TILE_ROWS };
TILE(i64, uint64_t)
#endif
TILE(i16, uint16_t)
TILE(i32, uint32_t)

/* ---- panels ---- */
#define ROWS_CASE(T, rows)                                                             \
    case (rows):                                                                       \
        if (vectors == 1)                                                              \
            tile_##T(p, o, at, rows, 1);                                               \
        else                                                                           \
            tile_##T(p, o, at, rows, 2);                                               \
        break;
#define PANEL(T, ctype, most, ...)                                                     \
    static void rows_##T(const IntegerPanel *p, const Block *o, int64_t at,            \
                         int64_t rows, int64_t vectors) {                              \
        switch (rows) {                                                                \
            __VA_ARGS__                                                                \
        default:                                                                       \
            __builtin_unreachable();                                                   \
        }                                                                              \
    }                                                                                  \
    static void panel_##T(const IntegerPanel *p) {                                     \
        _Alignas(BYTES) char b[BLOCK_BYTES];                                           \
        const int64_t vectors = p->width * (int64_t)sizeof(ctype) > BYTES ? 2 : 1,     \
                      row = vectors * BYTES, block = BLOCK_BYTES / row;                \
        for (Block o = {.b = b}; o.first < p->k; o.first += block) {                   \
            o.k = p->k - o.first < block ? p->k - o.first : block;                     \
            pack_##T((const ctype *)p->b + o.first * p->ldb, p->ldb, o.k, p->width,    \
                     row, b);                                                          \
            for (int64_t i = 0; i < p->m; i += most)                                   \
                rows_##T(p, &o, i, p->m - i < most ? p->m - i : most, vectors);        \
        }                                                                              \
    }
#define UP_TO_3(T)                                                                     \
    ROWS_CASE(T, 1)                                                                    \
    ROWS_CASE(T, 2)                                                                    \
    ROWS_CASE(T, 3)
#define UP_TO_6(T)                                                                     \
    UP_TO_3(T)                                                                         \
    ROWS_CASE(T, 4)                                                                    \
    ROWS_CASE(T, 5)                                                                    \
    ROWS_CASE(T, 6)
PANEL(i16, uint16_t, TILE_ROWS, UP_TO_6(i16))
PANEL(i32, uint32_t, TILE_ROWS, UP_TO_6(i32))
#ifdef LOWER
PANEL(i64, uint64_t, WIDE_ROWS, UP_TO_3(i64))
#else
PANEL(i64, uint64_t, WIDE_ROWS, UP_TO_6(i64))
#endif

/* ---- vectors ---- */
/* Four rows at a time, for columns whose sums the nearest cache holds. W: what products
 * are made in, without overflow of int. */
#define VECTOR(T, ctype, W)                                                            \
    enum { T##_WIDE = 4096 / sizeof(ctype) };                                          \
    static void add_rows_##T(const IntegerVector *p, const ctype *b, int64_t n,        \
                             ctype *restrict sum) {                                    \
        const ctype *a = p->a;                                                         \
        const int64_t ldb = p->ldb, step = p->step;                                    \
        int64_t l = 0;                                                                 \
        for (; l + 4 <= p->k; l += 4, a += 4 * step, b += 4 * ldb) {                   \
            const W x = a[0], y = a[step], z = a[2 * step], w = a[3 * step];           \
            for (int64_t j = 0; j < n; j++)                                            \
                sum[j] = (ctype)(sum[j] + x * b[j] + y * b[j + ldb] +                  \
                                 z * b[j + 2 * ldb] + w * b[j + 3 * ldb]);             \
        }                                                                              \
        for (; l < p->k; l++, a += step, b += ldb)                                     \
            for (int64_t j = 0; j < n; j++)                                            \
                sum[j] = (ctype)(sum[j] + (W)*a * b[j]);                               \
    }                                                                                  \
    static void rows_of_##T(const IntegerVector *p) {                                  \
        ctype sum[T##_WIDE];                                                           \
        for (int64_t j = 0; j < p->n; j += T##_WIDE) {                                 \
            int64_t n = p->n - j < T##_WIDE ? p->n - j : T##_WIDE;                     \
            memset(sum, 0, (size_t)n * sizeof *sum);                                   \
            add_rows_##T(p, (const ctype *)p->b + j, n, sum);                          \
            memcpy((ctype *)p->c + j, sum, (size_t)n * sizeof *sum);                   \
        }                                                                              \
    }                                                                                  \
    static void dots_of_##T(const IntegerVector *p) {                                  \
        for (int64_t i = 0; i < p->n; i++) {                                           \
            const ctype *a = p->a, *b = (const ctype *)p->b + i * p->ldb;              \
            ctype sum = 0;                                                             \
            for (int64_t l = 0; l < p->k; l++)                                         \
                sum = (ctype)(sum + (W)a[l] * b[l]);                                   \
            ((ctype *)p->c)[i] = sum;                                                  \
        }                                                                              \
    }
VECTOR(i8, uint8_t, uint32_t)
VECTOR(i16, uint16_t, uint32_t)
VECTOR(i32, uint32_t, uint32_t)
VECTOR(i64, uint64_t, uint64_t)

const IntegerLoops LEVEL(integer_loops) = {
    PANEL_BYTES,
    panel_i16,
    panel_i32,
    panel_i64,
    {rows_of_i8, rows_of_i16, rows_of_i32, rows_of_i64},
    {dots_of_i8, dots_of_i16, dots_of_i32, dots_of_i64}};
