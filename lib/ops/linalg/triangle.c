/* Products of which a triangle tells the rest: a matrix times its own transpose, of
 * which the lower half is computed and mirrored, and products by a triangular matrix,
 * of which the half with zeros is left out. The result is cut in blocks of rows or
 * columns, and each is a product of its own, as long as it needs to be. The blocks
 * depend on the shape alone, so the bits are the same for any number of threads. */
#include "ops/linalg/product/blas.h"

enum {
    SMALL_BLOCK = 48,
    BLOCK = 96,
    FEW = 256,        /* rows that are cut in small blocks */
    LEAST_SIDE = 96,  /* of the triangle; below, one product is as fast */
    LEAST_INNER = 32, /* of the dim that isn't cut */
    LEAST_GRAM = 64   /* the same, where the other half is mirrored */
};

typedef struct TriangleRun {
    const Blas *lib;
    Gemm g;
    BlasTriangle kind;
    int64_t side, block, pieces;
} TriangleRun;

static bool by_columns(BlasTriangle kind) {
    return kind == TRIANGLE_RIGHT_LOWER || kind == TRIANGLE_RIGHT_UPPER;
}

static bool has_own_transpose(const Gemm *g) {
    return g->a == g->b && g->m == g->n && g->a_row == g->b_col && g->a_col == g->b_row;
}

bool blas_pays_triangle(const Gemm *g, BlasTriangle kind) {
    if (kind == TRIANGLE_GRAM) /* mirroring takes its time, too */
        return has_own_transpose(g) && g->m >= LEAST_SIDE && g->k >= LEAST_GRAM &&
               g->k >= g->m / 32;
    int64_t side = by_columns(kind) ? g->n : g->m,
            other = by_columns(kind) ? g->m : g->n;
    return g->k == side && side >= LEAST_SIDE && other >= LEAST_INNER &&
           other <= INT32_MAX;
}

/* The inner dims of a block are those in which the triangle isn't 0. */
static void cut_inner(Gemm *g, int64_t from, int64_t end, int64_t size) {
    g->a = (const char *)g->a + from * g->a_col * size;
    g->b = (const char *)g->b + from * g->b_row * size;
    g->k = end - from;
}

/* ---- mirroring ---- */
#define MIRROR(NAME, T)                                                                \
    static void mirror_##NAME(T *c, int64_t ldc, int64_t i0, int64_t i1, int64_t j0,   \
                              int64_t j1) {                                            \
        for (int64_t j = j0; j < j1; j++)                                              \
            for (int64_t i = i0 > j ? i0 : j + 1; i < i1; i++)                         \
                c[j * ldc + i] = c[i * ldc + j];                                       \
    }
typedef struct Bytes16 {
    uint64_t part[2];
} Bytes16;
MIRROR(4, uint32_t)
MIRROR(8, uint64_t)
MIRROR(16, Bytes16)

/* Copies rows of the lower half of c to the upper one, a tile at a time, while they are
 * in the cache. Nothing else writes there. */
static void mirror_rows(const Gemm *g, int64_t from, int64_t end) {
    enum { TILE = 32 };
    size_t size = dtype_size(g->dtype);
    for (int64_t i = from; i < end; i += TILE)
        for (int64_t j = 0; j < end; j += TILE) {
            int64_t below = i + TILE < end ? i + TILE : end,
                    right = j + TILE < end ? j + TILE : end;
            if (size == 4)
                mirror_4(g->c, g->ldc, i, below, j, right);
            else if (size == 8)
                mirror_8(g->c, g->ldc, i, below, j, right);
            else
                mirror_16(g->c, g->ldc, i, below, j, right);
        }
}

/* ---- pieces ---- */
/* The pieces with most work come first. */
static void run_triangle_piece(void *ctx, size_t i, unsigned worker) {
    const TriangleRun *t = ctx;
    Gemm g = t->g;
    bool grows = t->kind == TRIANGLE_GRAM || t->kind == TRIANGLE_LEFT_LOWER ||
                 t->kind == TRIANGLE_RIGHT_UPPER;
    int64_t at = grows ? t->pieces - 1 - (int64_t)i : (int64_t)i, from = at * t->block,
            end = at == t->pieces - 1 ? t->side : from + t->block,
            size = (int64_t)dtype_size(g.dtype);
    (void)worker;
    if (by_columns(t->kind)) {
        g.b = (const char *)g.b + from * g.b_col * size;
        g.c = (char *)g.c + from * size;
        g.n = end - from;
    } else {
        g.a = (const char *)g.a + from * g.a_row * size;
        g.c = (char *)g.c + from * g.ldc * size;
        g.m = end - from;
    }
    if (t->kind == TRIANGLE_GRAM)
        g.n = end;
    else if (grows)
        cut_inner(&g, 0, end, size);
    else
        cut_inner(&g, from, t->g.k, size);
    blas_gemm(t->lib, &g);
    if (t->kind == TRIANGLE_GRAM) mirror_rows(&t->g, from, end);
}

void blas_triangle(Session *s, const Gemm *g, BlasTriangle kind, Pool *pool) {
    TriangleRun t = {.lib = blas_get(s), .g = *g, .kind = kind};
    t.side = by_columns(kind) ? g->n : g->m;
    t.block = t.side < FEW ? SMALL_BLOCK : BLOCK;
    t.pieces = t.side / t.block;
    size_t pieces = (size_t)t.pieces;
    pool_run(blas_pool(s, pool, pieces), pieces, run_triangle_piece, &t);
}
