/* Writing what is computed in pieces where an index without arrays points: the elements
 * are made in their places, or in a row's room from which they are added. */
#include "ops/index/write.h"
#include "ops/shape/move.h"

enum {
    STREAM_MIN = 256,     /* elements for which pieces pay */
    ROW_ROOM = 1024,      /* elements of a row that are made at a time */
    CHUNK = 32768,        /* elements of a task, fewer of what takes longer, */
    CHUNK_MIN = 2048,     /* but not fewer than these */
    SHARE_MIN = 384 << 10 /* bytes, times work, from which waking threads pays off */
};

/* ---- what fits ---- */

/* Dims that the index adds or takes; false: it has arrays or masks. */
static bool rank_change(const Graph *g, ApplyId id, int *change) {
    const Apply *a = &g->apply[id];
    IndexItems items;
    const Prop *index = op_prop(g->s, a->op, a->props, "index");
    if (!index_parse(sym_text(g->s, index->sym), &items)) return false;
    *change = 0;
    for (int i = 0; i < items.n; i++) {
        *change += items.item[i].kind == IX_NEW;
        if (items.item[i].kind != IX_INPUT) continue;
        const Type *t = var_type(g, apply_in(g, id)[2 + items.item[i].input]);
        if (t->kind != TYPE_TENSOR || t->ndim > 0 || t->dtype == DT_BOOL) return false;
        --*change;
    }
    return true;
}

bool index_write_streams(const Graph *g, ApplyId id, int ndim, const int64_t *dim) {
    const Type *x = var_type(g, apply_in(g, id)[0]),
               *y = var_type(g, apply_in(g, id)[1]);
    int change;
    int64_t n = 1;
    if (!rank_change(g, id, &change) || ndim == 0 || ndim != y->ndim ||
        ndim != x->ndim + change || x->dtype != y->dtype)
        return false;
    for (int k = 0; k < ndim; k++) {
        if (y->dim[k] == 1) return false; /* it may be repeated */
        if (dim[k] < 0 || !i64_mul(n, dim[k], &n)) return true;
    }
    return n >= STREAM_MIN;
}

/* ---- writing ---- */

typedef struct PieceWrite {
    const Pieces *pieces;
    RowFn *row; /* NULL: the elements are made in their places */
    char *room; /* of workers, for rows */
    size_t item;
    int ndim; /* of the places, with dims merged; the last are rows and their elements
               */
    int64_t shape[MAX_NDIM], stride[MAX_NDIM];
    char *data;
    int64_t rows, n, tall, wide, down, across; /* of a task; tasks for all */
} PieceWrite;

/* The places' dims, of which at least two: those that one stride leads through are
 * one. */
static void take_places(PieceWrite *w, const Tensor *to) {
    int n = 0;
    w->data = to->data;
    for (int k = 0; k < to->ndim; k++) {
        if (n > 0 && w->stride[n - 1] == to->shape[k] * to->stride[k]) {
            w->shape[n - 1] *= to->shape[k];
            w->stride[n - 1] = to->stride[k];
            continue;
        }
        w->shape[n] = to->shape[k];
        w->stride[n++] = to->stride[k];
    }
    if (n == 1) {
        w->shape[1] = w->shape[0];
        w->stride[1] = w->stride[0];
        w->shape[0] = 1;
        w->stride[0] = 0;
        n = 2;
    }
    w->ndim = n;
}

static int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t tasks_for(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

static void cut_tasks(PieceWrite *w) {
    int64_t chunk = CHUNK / w->pieces->work, outer = 1;
    if (chunk < CHUNK_MIN) chunk = CHUNK_MIN;
    w->n = w->shape[w->ndim - 1];
    w->rows = w->shape[w->ndim - 2];
    w->wide = min_i64(w->n, chunk);
    w->tall = w->wide < w->n ? 1 : min_i64(w->rows, chunk / w->n);
    for (int k = 0; k < w->ndim - 2; k++)
        outer *= w->shape[k];
    w->across = tasks_for(w->n, w->wide);
    w->down = tasks_for(w->rows, w->tall) * outer;
}

/* Makes the piece row by row in room of its own. */
static void write_rows(const PieceWrite *w, unsigned worker, Piece q, char *to) {
    char *room = w->room + worker * ROW_ROOM * w->item;
    int64_t apart = w->stride[w->ndim - 2], step = w->stride[w->ndim - 1];
    for (int64_t r = 0; r < q.rows; r++, to += apart)
        for (int64_t i = 0; i < q.n; i += ROW_ROOM) {
            Piece some = {q.at + r * q.stride + i, 1, q.stride,
                          min_i64(q.n - i, ROW_ROOM)};
            ptrdiff_t unused;
            const char *y =
                w->pieces->make(w->pieces->ctx, worker, &some, room, &unused);
            w->row(some.n, to + i * step, step, y, (int64_t)w->item);
        }
}

static void write_task(void *ctx, size_t task, unsigned worker) {
    const PieceWrite *w = ctx;
    int64_t per = tasks_for(w->rows, w->tall), down = (int64_t)task / w->across,
            outer = down / per, row = down % per * w->tall,
            from = (int64_t)task % w->across * w->wide;
    Piece q = {.at = (outer * w->rows + row) * w->n + from,
               .rows = min_i64(w->tall, w->rows - row),
               .stride = w->n,
               .n = min_i64(w->wide, w->n - from)};
    char *to = w->data + row * w->stride[w->ndim - 2] + from * w->stride[w->ndim - 1];
    for (int k = w->ndim - 3; k >= 0; outer /= w->shape[k--])
        to += outer % w->shape[k] * w->stride[k];
    if (w->row)
        write_rows(w, worker, q, to);
    else
        w->pieces->put(w->pieces->ctx, worker, &q, to, w->stride[w->ndim - 2]);
}

static unsigned workers_of(const Call *c) {
    return move_pool(c) ? pool_threads(move_pool(c)) : 1;
}

size_t index_pieces_room(const Call *c, size_t item) {
    return workers_of(c) * ROW_ROOM * item;
}

void index_write_pieces(Call *c, const Tensor *to, RowFn *row, bool replaces,
                        char *room) {
    PieceWrite w = {
        .pieces = c->pieces, .row = row, .room = room, .item = dtype_size(to->dtype)};
    take_places(&w, to);
    if (replaces && c->pieces->put && w.stride[w.ndim - 1] == (int64_t)w.item)
        w.row = NULL;
    cut_tasks(&w);
    int64_t tasks = w.down * w.across;
    if (workers_of(c) > 1 && tasks > 1 &&
        tensor_size(to) * (int64_t)w.item >= SHARE_MIN / c->pieces->work) {
        pool_run(move_pool(c), (size_t)tasks, write_task, &w);
        return;
    }
    for (int64_t i = 0; i < tasks; i++)
        write_task(&w, (size_t)i, 0);
}
