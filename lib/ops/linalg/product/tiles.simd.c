/* Products of matrices that the nearest cache holds, in tiles of TILE_ROWS rows by two
 * vectors, whose sums stay in registers. Each sum is that of its terms in order,
 * whatever the tile. A vector that ends after its row is stored as it is where what
 * comes next is stored later: rows one after another, the last columns of some rows
 * first. */
#include "op/vector.h"
#include "ops/linalg/product/small.h"

enum { TILE_ROWS = 6, TILE_VECTORS = 2 };

/* What a tile multiplies: rows of a from `a` on, b's columns from `b` on. */
typedef struct TileAt {
    const char *a, *b;
    int64_t b_row;
    char *c, *end; /* of the product */
} TileAt;

/* `rows` and `vectors` are constants where this is used. */
#define TILE(T, ctype)                                                                 \
    static inline __attribute__((always_inline)) void tile_##T(                        \
        const SmallProducts *p, const TileAt *t, size_t rows, size_t vectors) {        \
        V_##T sum[TILE_ROWS][TILE_VECTORS];                                            \
        const char *a = t->a, *b = t->b;                                               \
        const int64_t a_row = p->a_row;                                                \
        UNROLLED (i, rows)                                                             \
            UNROLLED (v, vectors)                                                      \
                sum[i][v] = (V_##T){0};                                                \
        for (int64_t l = 0; l < p->k; l++, a += p->a_col, b += t->b_row) {             \
            V_##T row[TILE_VECTORS];                                                   \
            UNROLLED (v, vectors)                                                      \
                memcpy(&row[v], b + v * BYTES, BYTES);                                 \
            UNROLLED (i, rows) {                                                       \
                ctype x;                                                               \
                memcpy(&x, a + (int64_t)i * a_row, sizeof x);                          \
                V_##T each = ALL(T, x);                                                \
                UNROLLED (v, vectors)                                                  \
                    sum[i][v] = FMA_##T(row[v], each, sum[i][v]);                      \
            }                                                                          \
        }                                                                              \
        UNROLLED (i, rows)                                                             \
            UNROLLED (v, vectors) {                                                    \
                char *to =                                                             \
                    t->c + (int64_t)i * p->n * (int64_t)sizeof(ctype) + v * BYTES;     \
                if (t->end - to >= BYTES)                                              \
                    memcpy(to, &sum[i][v], BYTES);                                     \
                else                                                                   \
                    store_##T(to, sum[i][v], t->end - to);                             \
            }                                                                          \
    }                                                                                  \
    static void tile_rows_##T(const SmallProducts *p, const TileAt *t, int64_t rows,   \
                              bool wide) {                                             \
        switch (rows * 2 + wide) {                                                     \
            TILE_CASES(T, 1)                                                           \
            TILE_CASES(T, 2)                                                           \
            TILE_CASES(T, 3)                                                           \
            TILE_CASES(T, 4)                                                           \
            TILE_CASES(T, 5)                                                           \
            TILE_CASES(T, 6)                                                           \
        default:                                                                       \
            __builtin_unreachable();                                                   \
        }                                                                              \
    }
#define TILE_CASES(T, rows)                                                            \
    case (rows)*2:                                                                     \
        tile_##T(p, t, rows, 1);                                                       \
        break;                                                                         \
    case (rows)*2 + 1:                                                                 \
        tile_##T(p, t, rows, 2);                                                       \
        break;

/* The first `bytes` of a vector. */
#define STORE_PART(T, ctype)                                                           \
    static                                                                             \
        __attribute__((noinline)) void store_##T(char *to, V_##T v, int64_t bytes) {   \
        ctype all[BYTES / sizeof(ctype)];                                              \
        memcpy(all, &v, sizeof all);                                                   \
        for (int64_t i = 0; i * (int64_t)sizeof(ctype) < bytes; i++)                   \
            memcpy(to + i * (int64_t)sizeof(ctype), &all[i], sizeof(ctype));           \
    }

/* b with its rows side by side, each of them filling vectors; column by column of them,
 * which compilers don't take for a call of memcpy. */
#define COPY(T, ctype)                                                                 \
    static void copy_##T(const SmallProducts *p, const char *b, int64_t row,           \
                         char *to) {                                                   \
        enum { LANES = BYTES / sizeof(ctype) };                                        \
        const int64_t k = p->k, b_row = p->b_row, left = p->n % LANES;                 \
        int64_t j = 0;                                                                 \
        if (p->b_col != sizeof(ctype)) {                                               \
            transpose_in_cache(&(Transposition){.dst = to,                             \
                                                .dst_row = row,                        \
                                                .src = b,                              \
                                                .src_column = p->b_col,                \
                                                .rows = (size_t)k,                     \
                                                .columns = (size_t)p->n,               \
                                                .size = sizeof(ctype)});               \
            return;                                                                    \
        }                                                                              \
        for (; j < p->n / LANES * BYTES; j += BYTES)                                   \
            for (int64_t l = 0; l < k; l++)                                            \
                STORE(T, to + l * row + j, LOAD(T, b + l * b_row + j));                \
        for (int64_t l = 0; left && l < k; l++)                                        \
            STORE(T, to + l * row + j, part_##T(b + l * b_row + j, left));             \
    }                                                                                  \
    static void product_##T(const SmallProducts *p) {                                  \
        enum { LANES = BYTES / sizeof(ctype), SIZE = sizeof(ctype) };                  \
        _Alignas(64) char room[TILES_SIDE * TILES_SIDE * sizeof(ctype)];               \
        int64_t row = (p->n + LANES - 1) / LANES * BYTES, wide = TILE_VECTORS * LANES, \
                last = (p->n - 1) / wide * wide, bytes = p->m * p->n * SIZE;           \
        bool copies = p->b_col != SIZE || p->n % LANES != 0;                           \
        const char *a = p->a, *b = p->b;                                               \
        char *c = p->c;                                                                \
        for (int64_t q = 0; q < p->count; q++, c += bytes) {                           \
            TileAt t = {.b_row = copies ? row : p->b_row, .end = c + bytes};           \
            if (copies && (q == 0 || p->b_next)) copy_##T(p, b, row, room);            \
            for (int64_t i = 0; i < p->m; i += TILE_ROWS)                              \
                for (int64_t j = last; j >= 0; j -= wide) {                            \
                    t.a = a + i * p->a_row;                                            \
                    t.b = (copies ? room : b) + j * SIZE;                              \
                    t.c = c + (i * p->n + j) * SIZE;                                   \
                    tile_rows_##T(p, &t, p->m - i < TILE_ROWS ? p->m - i : TILE_ROWS,  \
                                  p->n - j > LANES);                                   \
                }                                                                      \
            a += p->a_next;                                                            \
            b += p->b_next;                                                            \
        }                                                                              \
    }
STORE_PART(f32, float)
STORE_PART(f64, double)
TILE(f32, float)
TILE(f64, double)
COPY(f32, float)
COPY(f64, double)

const SmallLoops LEVEL(tile_loops) = {{product_f32, product_f64}};
