/* Splits one product over several threads, with the same bits for any number of them:
 *
 * - Rows. Where the library's kernels have tiles (blas.h), pieces that begin at tiles
 *   change no bit, so there is one for each thread, and one thread makes one call: each
 *   piece packs all of b anew. On other kernels their number is fixed.
 * - Columns, of a result with few rows, where b is nearly all of the work. Their number
 *   depends on the shape alone, and so does that of all pieces below.
 * - A matrix times a vector moves the matrix. Rows where each piece is one run of
 * memory, or wide enough; else the summed axis, with the parts added in their order. */
#include "ops/linalg/product/blas.h"

enum {
    UNKNOWN_PIECES = 4,
    WIDE = 1024,       /* columns of a piece, of products */
    WIDE_VECTOR = 2048 /* and of a matrix that is read along its columns */
};

typedef enum SplitAxis { AXIS_ROWS, AXIS_COLS, AXIS_INNER } SplitAxis;
typedef struct GemmSplit {
    const Blas *lib;
    Gemm g;
    SplitAxis axis;
    int64_t pieces, unit; /* pieces begin at multiples of `unit` */
    char *room;
} GemmSplit;

static int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- where to cut ---- */
static void cut_matrix(GemmSplit *sp, int64_t workers) {
    const Gemm *g = &sp->g;
    double madds = (double)g->m * (double)g->n * (double)g->k;
    int64_t most = madds > 0x1p40 ? 1 << 20 : (int64_t)(madds / (2 * BLAS_LEAST));
    if (g->m < 4 * BLAS_TILE && g->n >= 2 * WIDE) {
        sp->axis = AXIS_COLS;
        sp->unit = 64;
        sp->pieces = min_i64(min_i64(g->n / WIDE, 8), most);
    } else {
        sp->axis = AXIS_ROWS;
        sp->unit = sp->lib && sp->lib->tile ? sp->lib->tile : BLAS_TILE;
        sp->pieces = min_i64(min_i64(g->m / sp->unit, workers), most);
    }
}

static void cut_vector(GemmSplit *sp) {
    const Gemm *g = &sp->g;
    double madds = (double)g->m * (double)g->k;
    int64_t want = madds < BLAS_SPLIT_LEAST ? 1 : madds < 1 << 20 ? 2 : 8;
    bool runs = g->a_col == 1;
    sp->unit = 16;
    sp->pieces = want;
    sp->axis = g->m >= want * (runs ? sp->unit : WIDE_VECTOR) ? AXIS_ROWS : AXIS_INNER;
    if (sp->axis == AXIS_INNER) sp->pieces = min_i64(want, g->k / 64);
}

static GemmSplit split_of(const Blas *lib, const Gemm *g, int64_t workers) {
    GemmSplit sp = {.lib = lib, .g = blas_turned(g)};
    if (sp.g.n == 1)
        cut_vector(&sp);
    else
        cut_matrix(&sp, workers);
    if (sp.pieces < 1) sp.pieces = 1;
    return sp;
}

/* ---- pieces ---- */
static int64_t begin_of(const GemmSplit *sp, int64_t i, int64_t all) {
    return i == sp->pieces
               ? all
               : (i * (all / sp->unit) + sp->pieces / 2) / sp->pieces * sp->unit;
}

/* Bytes of a part of a vector, in whole lines. */
static size_t part_bytes(const Gemm *g) {
    return ((size_t)g->m * dtype_size(g->dtype) + 63) & ~(size_t)63;
}

static void run_piece(void *ctx, size_t i, unsigned worker) {
    const GemmSplit *sp = ctx;
    Gemm g = sp->g;
    int64_t *all = sp->axis == AXIS_ROWS ? &g.m : sp->axis == AXIS_COLS ? &g.n : &g.k;
    int64_t from = begin_of(sp, (int64_t)i, *all), size = (int64_t)dtype_size(g.dtype);
    const char *a = g.a, *b = g.b;
    char *c = g.c;
    (void)worker;
    *all = begin_of(sp, (int64_t)i + 1, *all) - from;
    if (sp->axis == AXIS_ROWS)
        a += from * g.a_row * size, c += from * g.ldc * size;
    else if (sp->axis == AXIS_COLS)
        b += from * g.b_col * size, c += from * size;
    else
        a += from * g.a_col * size, b += from * g.b_row * size;
    GemmScale apart;
    if (sp->axis == AXIS_INNER && i > 0) {
        c = sp->room + (i - 1) * part_bytes(&sp->g);
        if (g.scale) { /* only the first part adds to what is there */
            apart = (GemmScale){{g.scale->alpha[0], g.scale->alpha[1]}, {0, 0}};
            g.scale = &apart;
        }
    }
    g.a = a, g.b = b, g.c = c;
    blas_gemm(sp->lib, &g);
}

#define ADD(T)                                                                         \
    for (int64_t i = 0; i < n; i++)                                                    \
    ((T *)to)[i] += ((const T *)from)[i]
static void add_partial_sums(const GemmSplit *sp) {
    const Gemm *g = &sp->g;
    bool single = g->dtype == DT_FLOAT32 || g->dtype == DT_COMPLEX64;
    int64_t n = g->m * (dtype_is_complex(g->dtype) ? 2 : 1);
    for (int64_t part = 1; part < sp->pieces; part++) {
        void *to = g->c;
        const void *from = sp->room + (size_t)(part - 1) * part_bytes(g);
        if (single)
            ADD(float);
        else
            ADD(double);
    }
}

/* ---- the whole ---- */
size_t blas_room(const Gemm *g) {
    GemmSplit sp = split_of(NULL, g, 1);
    return sp.axis == AXIS_INNER ? (size_t)(sp.pieces - 1) * part_bytes(&sp.g) : 0;
}

void blas_gemm_split(Session *s, const Gemm *g, Pool *pool, void *room) {
    const Blas *lib = blas_for(s, g);
    GemmSplit sp = split_of(lib, g, lib->tile ? pool_threads(pool) : UNKNOWN_PIECES);
    sp.room = room;
    if (sp.pieces == 1) {
        blas_gemm(lib, &sp.g);
        return;
    }
    size_t pieces = (size_t)sp.pieces;
    pool_run(blas_pool_for(s, g, pool, pieces), pieces, run_piece, &sp);
    if (sp.axis == AXIS_INNER) add_partial_sums(&sp);
}
