/* Joins tensors along an axis behind others. What a part gives to a row of the result
 * may be less than a cache line, so that writing one part after the other would fetch
 * every line of the result once for each: such rows are put together block by block,
 * and blocks of large results go past the caches as a whole. */
#include "ops/shape/move.h"

#include <string.h>

enum {
    BLOCK_BYTES = 12 << 10,  /* of the result */
    SHORT_RUN = 512,         /* bytes; longer runs are written well one by one */
    FEW_ROWS = 16,           /* that don't pay for blocks */
    CHUNK = 1 << 18,         /* bytes worth a thread */
    STREAM_BYTES = 16 << 20, /* more than every cache holds */
};

typedef struct RowsOfPart {
    const Tensor *t;
    size_t run;   /* bytes that it gives to a row */
    int64_t step; /* bytes between its rows */
    bool runs;    /* are those bytes contiguous? */
} RowsOfPart;
typedef struct JoinRows {
    const Tensor *out;
    int axis;
    size_t n, row; /* row: bytes of the result */
    RowsOfPart *part;
    int64_t rows, block;              /* along dim axis - 1; of a block */
    int64_t pieces, total, per_chunk; /* blocks along that dim, in all, in a chunk */
    bool stream, zips;
} JoinRows;

/* ---- runs of a few bytes ---- */
/* n: from SIZE to twice that, by two copies that may overlap. */
#define RUNS(SIZE)                                                                     \
    static void copy_runs_##SIZE(int64_t rows, char *restrict d, int64_t ds,           \
                                 const char *restrict s, int64_t ss, size_t n) {       \
        if (n == (SIZE)) {                                                             \
            for (int64_t i = 0; i < rows; i++)                                         \
                memcpy(d + i * ds, s + i * ss, SIZE);                                  \
            return;                                                                    \
        }                                                                              \
        for (int64_t i = 0; i < rows; i++, d += ds, s += ss) {                         \
            memcpy(d, s, SIZE);                                                        \
            memcpy(d + n - (SIZE), s + n - (SIZE), SIZE);                              \
        }                                                                              \
    }
RUNS(1)
RUNS(2)
RUNS(4)
RUNS(8)
RUNS(16)
RUNS(32)
RUNS(64)

static void copy_runs(int64_t rows, char *restrict d, int64_t ds,
                      const char *restrict s, int64_t ss, size_t n) {
    if (n < 2)
        copy_runs_1(rows, d, ds, s, ss, n);
    else if (n < 4)
        copy_runs_2(rows, d, ds, s, ss, n);
    else if (n < 8)
        copy_runs_4(rows, d, ds, s, ss, n);
    else if (n < 16)
        copy_runs_8(rows, d, ds, s, ss, n);
    else if (n < 32)
        copy_runs_16(rows, d, ds, s, ss, n);
    else if (n < 64)
        copy_runs_32(rows, d, ds, s, ss, n);
    else if (n <= 128)
        copy_runs_64(rows, d, ds, s, ss, n);
    else
        for (int64_t i = 0; i < rows; i++, d += ds, s += ss)
            memcpy(d, s, n);
}

/* ---- pairs of elements ---- */
/* d = an element of x and one of y in turn, n times. */
#define ZIP(SIZE, T, LOWER, UPPER)                                                     \
    static void zip_##SIZE(int64_t n, char *restrict d, const char *restrict x,        \
                           const char *restrict y) {                                   \
        typedef T Vector __attribute__((vector_size(16)));                             \
        Vector a, b, lower, upper;                                                     \
        int64_t at = 0;                                                                \
        for (; at + 16 <= n * SIZE; at += 16) {                                        \
            memcpy(&a, x + at, 16);                                                    \
            memcpy(&b, y + at, 16);                                                    \
            lower = __builtin_shufflevector(a, b, LOWER);                              \
            upper = __builtin_shufflevector(a, b, UPPER);                              \
            memcpy(d + 2 * at, &lower, 16);                                            \
            memcpy(d + 2 * at + 16, &upper, 16);                                       \
        }                                                                              \
        for (; at < n * SIZE; at += SIZE) {                                            \
            memcpy(d + 2 * at, x + at, SIZE);                                          \
            memcpy(d + 2 * at + SIZE, y + at, SIZE);                                   \
        }                                                                              \
    }
#define INDICES(...) __VA_ARGS__
ZIP(4, uint32_t, INDICES(0, 4, 1, 5), INDICES(2, 6, 3, 7))
ZIP(8, uint64_t, INDICES(0, 2), INDICES(1, 3))

/* Two parts that have an element each in a row, one behind the other in memory. */
static bool zips(const JoinRows *j) {
    const RowsOfPart *x = j->part, *y = x + 1;
    size_t item = dtype_size(j->out->dtype);
    return j->n == 2 && (item == 4 || item == 8) && j->row == 2 * item &&
           x->step == (int64_t)item && y->step == (int64_t)item;
}

/* ---- a block ---- */
/* Elements whose inner dims are not contiguous. */
static void copy_scattered(const JoinRows *j, const RowsOfPart *p, int64_t rows,
                           char *d, const char *s) {
    const Tensor *t = p->t;
    int ndim = t->ndim - j->axis + 1;
    int64_t shape[MAX_NDIM], to[MAX_NDIM], from[MAX_NDIM];
    for (int k = 0; k < ndim; k++) {
        shape[k] = k ? t->shape[j->axis - 1 + k] : rows;
        to[k] = j->out->stride[j->axis - 1 + k];
        from[k] = t->stride[j->axis - 1 + k];
    }
    move_strided(NULL, dtype_size(t->dtype), ndim, shape, d, to, s, from);
}

static const char *rows_from(const JoinRows *j, size_t i, int64_t outer, int64_t from) {
    const Tensor *t = j->part[i].t;
    return (const char *)t->data + from * j->part[i].step +
           move_offset(j->axis - 1, t->shape, t->stride, outer);
}

static void join_block(const JoinRows *j, int64_t at) {
    _Alignas(64) char tile[BLOCK_BYTES];
    int64_t from = at % j->pieces * j->block, outer = at / j->pieces;
    int64_t rows = j->rows - from < j->block ? j->rows - from : j->block;
    char *dst = (char *)j->out->data + (outer * j->rows + from) * (int64_t)j->row;
    char *d = j->stream ? tile : dst;
    if (j->zips)
        (j->row == 8 ? zip_4 : zip_8)(rows, d, rows_from(j, 0, outer, from),
                                      rows_from(j, 1, outer, from));
    for (size_t i = 0; i < j->n && !j->zips; i++) {
        const RowsOfPart *p = &j->part[i];
        const char *s = rows_from(j, i, outer, from);
        if (p->runs)
            copy_runs(rows, d, (int64_t)j->row, s, p->step, p->run);
        else
            copy_scattered(j, p, rows, d, s);
        d += p->run;
    }
    if (j->stream) value_stream_bytes(dst, tile, (size_t)rows * j->row);
}

static void join_chunk(void *ctx, size_t chunk, unsigned worker) {
    (void)worker;
    const JoinRows *j = ctx;
    int64_t at = (int64_t)chunk * j->per_chunk, end = at + j->per_chunk;
    for (; at < end && at < j->total; at++)
        join_block(j, at);
    if (j->stream) value_stream_end();
}

/* ---- all ---- */
static RowsOfPart rows_of_part(const Tensor *t, int axis) {
    RowsOfPart p = {.t = t, .run = dtype_size(t->dtype), .runs = true};
    for (int k = t->ndim; k-- > axis;) {
        p.runs &= t->shape[k] == 1 || t->stride[k] == (int64_t)p.run;
        p.run *= (size_t)t->shape[k];
    }
    p.step = t->stride[axis - 1];
    return p;
}

/* Fills in the parts that aren't empty. */
static bool take_parts(JoinRows *j, size_t n, const Tensor *part) {
    bool small = false;
    for (size_t i = 0; i < n; i++) {
        RowsOfPart p = rows_of_part(&part[i], j->axis);
        if (p.run == 0) continue;
        small |= p.run < SHORT_RUN;
        j->part[j->n++] = p;
    }
    return small;
}

/* Do blocks of rows pay? Fills in the rows. */
static bool take_rows(JoinRows *j, size_t n, const Tensor *part) {
    j->row = (size_t)j->out->stride[j->axis - 1];
    j->rows = j->out->shape[j->axis - 1];
    if (!take_parts(j, n, part) || j->row > BLOCK_BYTES / FEW_ROWS ||
        j->rows < FEW_ROWS)
        return false;
    j->zips = zips(j);
    /* two long columns: fetching lines twice costs less than going to and fro */
    size_t item = dtype_size(j->out->dtype);
    return j->zips || j->n > 2 || item < 8 || j->row > 2 * item;
}

static void run_blocks(Pool *pool, JoinRows *j) {
    j->block = (int64_t)(BLOCK_BYTES / j->row);
    j->pieces = (j->rows + j->block - 1) / j->block;
    j->total = move_count(j->axis - 1, j->out->shape) * j->pieces;
    j->stream = tensor_bytes(j->out) >= STREAM_BYTES;
    j->per_chunk = CHUNK / BLOCK_BYTES;
    int64_t chunks = (j->total + j->per_chunk - 1) / j->per_chunk;
    if (!pool || chunks <= 3) {
        j->per_chunk = j->total;
        chunks = 1;
    }
    pool_run(pool, (size_t)chunks, join_chunk, j);
}

bool join_by_rows(Pool *pool, Session *s, const Tensor *out, int axis, size_t n,
                  const Tensor *part) {
    if (axis == 0 || tensor_bytes(out) <= BLOCK_BYTES) return false;
    JoinRows j = {.out = out, .axis = axis, .part = mem_alloc(s, n * sizeof *j.part)};
    bool pays = take_rows(&j, n, part);
    if (pays) run_blocks(pool, &j);
    mem_free(j.part);
    return pays;
}
