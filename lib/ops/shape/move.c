/* Copies between any two layouts. Dims are sorted by the destination's strides and
 * merged where both sides are contiguous, which leaves one of four inner jobs: a row of
 * bytes, a strided row, a few interleaved strided rows, or, where the source is
 * contiguous along another dim than the destination, a transposed panel copied in tiles
 * that fit the cache. */
#include "ops/shape/move.h"

#include <string.h>

enum {
    TILE_BYTES = 65 * 64 * 8,
    FEW = 8,
    PIECE = 1024,
    CHUNK = 1 << 18,
    STREAM_BYTES = 16 << 20
}; /* bytes of a tile's buffer; bytes worth a thread; bytes that exceed every cache */

typedef struct MoveDims {
    int n;
    int64_t shape[MAX_NDIM], d[MAX_NDIM], s[MAX_NDIM];
} MoveDims;

typedef void RowFn(ptrdiff_t n, char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss);
#define ROW(N)                                                                         \
    static void row_##N(ptrdiff_t n, char *d, ptrdiff_t ds, const char *s,             \
                        ptrdiff_t ss) {                                                \
        for (ptrdiff_t i = 0; i < n; i++)                                              \
            memcpy(d + i * ds, s + i * ss, N);                                         \
    }
ROW(1)
ROW(2)
ROW(4)
ROW(8)
ROW(16)

static RowFn *row_fn(size_t item) {
    return item == 1   ? row_1
           : item == 2 ? row_2
           : item == 4 ? row_4
           : item == 8 ? row_8
                       : row_16;
}

typedef struct StridedCopy {
    size_t item;
    MoveDims outer;
    /* inner job: a row along `n`. With panels > 0 also along a second dim, m, which is
     * cut into panels of `side`; if side is 0, n is cut into pieces instead */
    int64_t n, ds, ss;
    int64_t m, md, ms, panels, side;
    RowFn *row;
    bool stream;
    char *dst;
    const char *src;
    int64_t total,
        per_chunk; /* outer positions (times panels), and how many per chunk */
} StridedCopy;

static void copy_row_of_job(const StridedCopy *j, char *d, const char *s) {
    tensor_copy_elements(d, j->ds, s, j->ss, (size_t)j->n, j->item);
}

/* Copies rows [at, at + side) of the second dim, tile by tile: from the source along
 * its rows into a buffer, and from there along the destination's rows. Without the
 * buffer, lines a power of two apart evict each other before a second element of them
 * is used. */
static void copy_panel(const StridedCopy *j, int64_t panel, char *d, const char *s) {
    _Alignas(64) char tile[TILE_BYTES];
    int64_t side = j->side, item = (int64_t)j->item, pitch = (side + 1) * item;
    int64_t m0 = panel * side, m = j->m - m0 < side ? j->m - m0 : side;
    if (j->ds == item && i64_abs(j->ms) == item) {
        /* backwards, the last of these rows is the first in the source */
        int64_t first = j->ms < 0 ? m - 1 : 0;
        Transposition t = {.dst = d + (m0 + first) * j->md,
                           .dst_row = (ptrdiff_t)(j->ms < 0 ? -j->md : j->md),
                           .src = s + (m0 + first) * j->ms,
                           .src_column = (ptrdiff_t)j->ss,
                           .rows = (size_t)m,
                           .columns = (size_t)j->n,
                           .size = j->item};
        transpose_by_tiles(&t, j->stream);
        return;
    }
    for (int64_t n0 = 0; n0 < j->n; n0 += side) {
        int64_t n = j->n - n0 < side ? j->n - n0 : side;
        for (int64_t k = 0; k < n; k++)
            j->row(m, tile + k * pitch, item, s + m0 * j->ms + (n0 + k) * j->ss, j->ms);
        for (int64_t k = 0; k < m; k++)
            j->row(n, d + (m0 + k) * j->md + n0 * j->ds, j->ds, tile + k * item, pitch);
    }
}

/* Copies the same piece of every row while its cache lines are warm. */
static void copy_piece(const StridedCopy *j, int64_t piece, char *d, const char *s) {
    int64_t from = piece * PIECE, n = j->n - from < PIECE ? j->n - from : PIECE;
    d += from * j->ds;
    s += from * j->ss;
    for (int64_t k = 0; k < j->m; k++)
        j->row(n, d + k * j->md, j->ds, s + k * j->ms, j->ss);
}

/* Finds outer position `at`; index[] counts on from there. */
static void find_outer(const MoveDims *outer, int64_t at, int64_t *index, char **d,
                       const char **s) {
    for (int k = outer->n - 1; k >= 0; k--) {
        index[k] = at % outer->shape[k];
        at /= outer->shape[k];
        *d += index[k] * outer->d[k];
        *s += index[k] * outer->s[k];
    }
}

static void next_outer(const MoveDims *outer, int64_t *index, char **d,
                       const char **s) {
    for (int k = outer->n - 1; k >= 0; k--) {
        *d += outer->d[k];
        *s += outer->s[k];
        if (++index[k] < outer->shape[k]) return;
        *d -= outer->d[k] * outer->shape[k];
        *s -= outer->s[k] * outer->shape[k];
        index[k] = 0;
    }
}

static void copy_chunk(void *ctx, size_t chunk, unsigned worker) {
    (void)worker;
    const StridedCopy *j = ctx;
    int64_t at = (int64_t)chunk * j->per_chunk, end = at + j->per_chunk;
    int64_t index[MAX_NDIM], panel = j->panels ? at % j->panels : 0;
    char *d = j->dst;
    const char *s = j->src;
    if (end > j->total) end = j->total;
    find_outer(&j->outer, j->panels ? at / j->panels : at, index, &d, &s);
    for (; at < end; at++) {
        if (j->side)
            copy_panel(j, panel, d, s);
        else if (j->panels)
            copy_piece(j, panel, d, s);
        else
            copy_row_of_job(j, d, s);
        if (!j->panels || ++panel == j->panels) {
            next_outer(&j->outer, index, &d, &s);
            panel = 0;
        }
    }
}

static void move_dims_insert(MoveDims *x, int64_t n, int64_t d, int64_t s) {
    int k = x->n++;
    for (; k > 0 && i64_abs(x->d[k - 1]) < i64_abs(d); k--) {
        x->shape[k] = x->shape[k - 1];
        x->d[k] = x->d[k - 1];
        x->s[k] = x->s[k - 1];
    }
    x->shape[k] = n;
    x->d[k] = d;
    x->s[k] = s;
}

static void move_dims_merge(MoveDims *x) {
    int n = 0;
    for (int k = 0; k < x->n; k++) {
        if (n && x->d[n - 1] == x->shape[k] * x->d[k] &&
            x->s[n - 1] == x->shape[k] * x->s[k]) {
            x->shape[n - 1] *= x->shape[k];
        } else {
            x->shape[n] = x->shape[k];
            n++;
        }
        x->d[n - 1] = x->d[k];
        x->s[n - 1] = x->s[k];
    }
    x->n = n;
}

/* Removes dim k from the outer dims. */
static void move_dims_remove(MoveDims *x, int k) {
    x->n--;
    for (; k < x->n; k++) {
        x->shape[k] = x->shape[k + 1];
        x->d[k] = x->d[k + 1];
        x->s[k] = x->s[k + 1];
    }
}

/* The dim along which the source is contiguous, if that isn't the innermost one;
 * otherwise -1. */
static int transposed_dim(const MoveDims *x, size_t item) {
    int last = x->n - 1;
    if (last < 1 || i64_abs(x->s[last]) <= (int64_t)item || x->shape[last] < 8)
        return -1;
    for (int k = 0; k < last; k++)
        if (i64_abs(x->s[k]) == (int64_t)item && x->shape[k] >= 8) return k;
    return -1;
}

/* A single row of bytes has no outer dims: cut it so that threads can share it. */
static void cut_row(MoveDims *x, size_t item) {
    int64_t piece = CHUNK / (int64_t)item, n = x->shape[0];
    if (x->n != 1 || n < 4 * piece || n % piece) return;
    *x = (MoveDims){
        2, {n / piece, piece}, {piece * x->d[0], x->d[0]}, {piece * x->s[0], x->s[0]}};
}

/* Finds a few interleaved rows, in the source (k) or in the destination (the innermost
 * dim), so that the long dim becomes the row. -1: none. */
static int beside_dim(const MoveDims *x, size_t item) {
    int last = x->n - 1;
    if (last < 1) return -1;
    if (x->shape[last] < FEW) return x->shape[last - 1] >= FEW ? last : -1;
    for (int k = 0; k < last; k++)
        if (x->shape[k] < FEW && i64_abs(x->s[k]) < i64_abs(x->s[last]) &&
            i64_abs(x->s[last]) > (int64_t)item)
            return k;
    return -1;
}

static void take_inner_row(StridedCopy *j, MoveDims *x) {
    int last = x->n - 1;
    j->n = x->shape[last];
    j->ds = x->d[last];
    j->ss = x->s[last];
    x->n = last;
}

static void take_second(StridedCopy *j, MoveDims *x, int k) {
    j->m = x->shape[k];
    j->md = x->d[k];
    j->ms = x->s[k];
    move_dims_remove(x, k);
}

static void run_strided_copy(Pool *pool, StridedCopy *j) {
    j->total = move_count(j->outer.n, j->outer.shape) * (j->panels ? j->panels : 1);
    int64_t elements = !j->panels ? j->n : j->side ? j->n * j->side : j->m * PIECE;
    int64_t bytes = elements * (int64_t)j->item;
    j->stream = j->total >= STREAM_BYTES / bytes;
    j->per_chunk = bytes >= CHUNK ? 1 : CHUNK / bytes;
    int64_t chunks = (j->total + j->per_chunk - 1) / j->per_chunk;
    if (pool && chunks > 3) {
        pool_run(pool, (size_t)chunks, copy_chunk, j);
        return;
    }
    j->per_chunk = j->total;
    copy_chunk(j, 0, 0);
}

void move_strided(Pool *pool, size_t item, int ndim, const int64_t *shape, char *dst,
                  const int64_t *dst_stride, const char *src,
                  const int64_t *src_stride) {
    MoveDims x = {0};
    for (int k = 0; k < ndim; k++) {
        if (shape[k] == 0) return;
        if (shape[k] > 1) move_dims_insert(&x, shape[k], dst_stride[k], src_stride[k]);
    }
    move_dims_merge(&x);
    if (x.n == 0) {
        memcpy(dst, src, item);
        return;
    }
    cut_row(&x, item);
    StridedCopy j = {.item = item, .row = row_fn(item), .dst = dst, .src = src};
    int t = transposed_dim(&x, item), few = t < 0 ? beside_dim(&x, item) : -1;
    if (few >= 0) take_second(&j, &x, few);
    take_inner_row(&j, &x);
    if (t >= 0) {
        take_second(&j, &x, t);
        j.side = item > 8 ? 32 : 64;
        j.panels = (j.m + j.side - 1) / j.side;
    } else if (few >= 0) {
        j.panels = (j.n + PIECE - 1) / PIECE;
    }
    j.outer = x;
    run_strided_copy(pool, &j);
}

void move_tensor(Pool *pool, const Tensor *dst, const Tensor *src) {
    move_strided(pool, dtype_size(src->dtype), src->ndim, src->shape, dst->data,
                 dst->stride, src->data, src->stride);
}

void move_strides(size_t item, int ndim, const int64_t *shape, int64_t *stride) {
    int64_t step = (int64_t)item;
    for (int k = ndim - 1; k >= 0; k--) {
        stride[k] = step;
        step *= shape[k] ? shape[k] : 1;
    }
}

void move_fill(Pool *pool, size_t item, int64_t n, void *dst, const void *value) {
    static const char zero[16];
    if (memcmp(value, zero, item) == 0) {
        memset(dst, 0, (size_t)n * item);
        return;
    }
    int64_t to = (int64_t)item, from = 0;
    move_strided(pool, item, 1, &n, dst, &to, value, &from);
}

int64_t move_count(int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int k = 0; k < ndim; k++)
        n *= shape[k];
    return n;
}

Tensor move_contiguous(Pool *pool, const Tensor *x, void *mem) {
    Tensor t = *x;
    t.buf = NULL;
    if (tensor_is_contiguous(x)) return t;
    t.data = mem;
    move_strides(dtype_size(x->dtype), x->ndim, x->shape, t.stride);
    move_tensor(pool, &t, x);
    return t;
}

int64_t move_offset(int ndim, const int64_t *shape, const int64_t *stride, int64_t at) {
    int64_t bytes = 0;
    for (int k = ndim - 1; k >= 0; k--) {
        bytes += at % shape[k] * stride[k];
        at /= shape[k];
    }
    return bytes;
}
