/* Runs the machine code that goes from row to row: nests, and sums of columns. A range
 * of elements may begin and end within a row; each call takes as many rows as follow
 * each other along the last outer dim. */
#include "vm/vm_impl.h"

#include <string.h>

enum {
    TURNED_MOST = 256 << 10, /* bytes of inputs that are transposed for a run: more
                              * would not stay in the caches beside the rest */
    TURNED_PAYS = 8          /* times that each of their elements is read, at least */
};

/* ---- what fits ---- */

static int64_t walk_stride(const Prep *p, uint32_t i, int d) {
    return p->walk[(size_t)i * p->dims + (size_t)d];
}

bool nest_fits(const BlockProgram *b, const Prep *p) {
    int last = p->ndim - 1;
    if (!b->nest || last == 0 || p->ext[last] < NEST_MIN) return false;
    for (uint32_t i = 0; i < b->nin; i++)
        if (p->access[i] != ACC_UNUSED &&
            walk_stride(p, i, last) != (b->is_single[i] ? 0 : (int64_t)b->size[i]))
            return false;
    return true;
}

/* Is the input a matrix of the two last dims, which can be transposed? */
static bool is_matrix(const BlockProgram *b, const Prep *p, uint32_t i) {
    int last = p->ndim - 1;
    for (int d = 0; d + 1 < last; d++)
        if (walk_stride(p, i, d) != 0) return false;
    return walk_stride(p, i, last) == (int64_t)b->size[i] &&
           walk_stride(p, i, last - 1) > 0;
}

/* Columns along the dim before the last one: p->turned[k] becomes the place of input
 * k's transposed elements, and NONE where they are read in place. */
bool nest_turns(const BlockProgram *b, Prep *p) {
    const ColumnLoop *loop = &b->columns[1];
    int last = p->ndim - 1;
    p->turned_bytes = 0;
    if (!loop->op || last == 0 || p->ext[last - 1] < NEST_MIN) return false;
    int64_t outer = 1;
    for (int d = 0; d + 1 < last; d++)
        outer *= p->ext[d];
    for (uint32_t k = 0; k < loop->op->nin; k++) {
        uint32_t i = b->slot[loop->op->arg + k];
        int64_t step = walk_stride(p, i, last - 1), size = b->size[i];
        p->turned[k] = NONE;
        if (step == (loop->is_single[k] ? 0 : size)) continue;
        size_t bytes = TURNED_MOST + 1;
        if (loop->is_single[k] || outer < TURNED_PAYS || !is_matrix(b, p, i) ||
            !size_mul((size_t)p->ext[last - 1], (size_t)p->ext[last], &bytes) ||
            !size_mul(bytes, (size_t)size, &bytes) ||
            bytes > TURNED_MOST - p->turned_bytes)
            return false;
        p->turned[k] = (uint32_t)p->turned_bytes;
        p->turned_bytes += round_up(bytes);
        if (p->turned_bytes > TURNED_MOST) return false;
    }
    return true;
}

void nest_turn(const BlockProgram *b, const Prep *p, char *const *base, char *room) {
    const BlockOp *op = b->columns[1].op;
    int last = p->ndim - 1;
    for (uint32_t k = 0; k < op->nin; k++) {
        uint32_t i = b->slot[op->arg + k];
        if (p->turned[k] == NONE) continue;
        transpose_in_cache(
            &(Transposition){.dst = room + p->turned[k],
                             .dst_row = (ptrdiff_t)(p->ext[last - 1] * b->size[i]),
                             .src = base[i],
                             .src_column = (ptrdiff_t)walk_stride(p, i, last - 1),
                             .rows = (size_t)p->ext[last],
                             .columns = (size_t)p->ext[last - 1],
                             .size = b->size[i]});
    }
}

/* ---- places ---- */

/* The places of a loop's inputs in row after row, counted over the dims up to `dim`. */
typedef struct Rows {
    const NestRun *x;
    const uint32_t *slot; /* of n inputs */
    uint32_t n;
    int dim;
    bool turned;
    int64_t left; /* until the dim ends */
    char *at[NEST_INPUTS];
    int64_t step[NEST_INPUTS]; /* from row to row */
} Rows;

static bool is_turned(const Rows *r, uint32_t k) {
    return r->turned && r->x->p->turned[k] != NONE;
}

static void rows_go_to(Rows *r, int64_t row) {
    const Prep *p = r->x->p;
    r->left = p->ext[r->dim] - row % p->ext[r->dim];
    for (uint32_t k = 0; k < r->n; k++) {
        int64_t rest = row;
        r->at[k] =
            is_turned(r, k) ? r->x->turned + p->turned[k] : r->x->base[r->slot[k]];
        if (is_turned(r, k)) continue;
        for (int d = r->dim; d >= 0; rest /= p->ext[d--])
            r->at[k] += rest % p->ext[d] * walk_stride(p, r->slot[k], d);
    }
}

/* From row `row` - 1 on. */
static void rows_next(Rows *r, int64_t row) {
    if (--r->left == 0) {
        rows_go_to(r, row);
        return;
    }
    for (uint32_t k = 0; k < r->n; k++)
        r->at[k] += r->step[k];
}

/* n rows further, of which the dim has more. */
static void rows_skip(Rows *r, int64_t n) {
    r->left -= n;
    for (uint32_t k = 0; k < r->n; k++)
        r->at[k] += n * r->step[k];
}

static Rows rows_begin(const NestRun *x, const BlockOp *op, int dim, int64_t row) {
    Rows r = {.x = x,
              .slot = x->b->slot + op->arg,
              .n = op->nin,
              .dim = dim,
              .turned = op == x->b->columns[1].op};
    for (uint32_t k = 0; dim >= 0 && k < r.n; k++)
        r.step[k] = is_turned(&r, k) ? 0 : walk_stride(x->p, r.slot[k], dim);
    if (dim >= 0)
        rows_go_to(&r, row);
    else
        r.left = 1; /* all dims are inner ones */
    for (uint32_t k = 0; dim < 0 && k < r.n; k++)
        r.at[k] = is_turned(&r, k) ? x->turned + x->p->turned[k] : x->base[r.slot[k]];
    return r;
}

static void put_word(void **to, int64_t word) {
    memcpy(to, &word, sizeof word);
}

/* ---- nests ---- */

/* A call takes rows, or a part of one, of what the last two dims have. */
typedef struct NestPart {
    int64_t row, from, rows, n;
} NestPart;

static NestPart part_at(const Prep *p, int64_t at, int64_t n) {
    int last = p->ndim - 1;
    int64_t wide = p->ext[last], row = at / wide, from = at - row * wide,
            left = p->ext[last - 1] - row;
    if (from || n < wide)
        return (NestPart){row, from, 1, wide - from < n ? wide - from : n};
    return (NestPart){row, 0, n / wide < left ? n / wide : left, wide};
}

/* Is a row written over one of its inputs, and its end by a masked vector? Such a
 * vector reaches into the next row, whose elements could then be read only once it is
 * in the cache. With every second row first, none waits. */
static bool should_alternate(const NestRun *x, uint32_t nin, uint32_t narg) {
    enum { LONG = 512 }; /* bytes of a row for which the wait doesn't count */
    const BlockProgram *b = x->b;
    int64_t wide = x->p->ext[x->p->ndim - 1];
    for (uint32_t k = nin; k < narg; k++)
        for (uint32_t i = 0; i < nin; i++) {
            size_t bytes = (size_t)wide * b->size[b->slot[b->nest->arg + k]];
            if (x->arg[i] == x->arg[k] && bytes % 64 != 0 && bytes < LONG) return true;
        }
    return false;
}

/* The rows of x->arg, of n elements. */
static void run_rows(const NestRun *x, int64_t rows, int64_t n) {
    enum { GROUP = 128 };
    const BlockOp *op = x->b->nest;
    uint32_t narg = (uint32_t)op->nin + op->nout;
    int64_t step[NEST_INPUTS * 2];
    if (rows < 4 || narg > NEST_INPUTS * 2 || !should_alternate(x, op->nin, narg)) {
        put_word(&x->arg[2 * narg], rows);
        op->loop((size_t)n, (const void *const *)x->arg, x->arg + op->nin);
        return;
    }
    for (uint32_t k = 0; k < narg; k++) {
        memcpy(&step[k], &x->arg[narg + k], sizeof *step);
        put_word(&x->arg[narg + k], 2 * step[k]);
    }
    for (int64_t first = 0; first < rows; first += GROUP) {
        int64_t some = rows - first < GROUP ? rows - first : GROUP;
        for (int odd = 0; odd < 2; odd++) {
            put_word(&x->arg[2 * narg], (some + 1 - odd) / 2);
            op->loop((size_t)n, (const void *const *)x->arg, x->arg + op->nin);
            for (uint32_t k = 0; k < narg; k++)
                x->arg[k] = (char *)x->arg[k] + (odd ? some - 1 : 1) * step[k];
        }
    }
    for (uint32_t k = 0; k < narg; k++)
        put_word(&x->arg[narg + k], step[k]);
}

static bool has_place(const BlockProgram *b, uint32_t slot) {
    return slot - b->nin < b->nplaced;
}

static int64_t output_step(const NestRun *x, uint32_t slot) {
    if (x->apart && !has_place(x->b, slot)) return x->apart;
    return x->p->ext[x->p->ndim - 1] * x->b->size[slot];
}

void nest_run(const NestRun *x, int64_t at, int64_t n, char *to) {
    const BlockProgram *b = x->b;
    const Prep *p = x->p;
    const BlockOp *op = b->nest;
    int last = p->ndim - 1;
    uint32_t narg = (uint32_t)op->nin + op->nout;
    const uint32_t *slot = b->slot + op->arg;
    int64_t both = p->ext[last - 1] * p->ext[last], outer = at / both;
    for (uint32_t k = 0; k < narg; k++)
        put_word(&x->arg[narg + k], k < op->nin ? walk_stride(p, slot[k], last - 1)
                                                : output_step(x, slot[k]));
    Rows r = rows_begin(x, op, last - 2, outer);
    int64_t from = at - outer * both;
    for (int64_t took; n > 0; at += took, n -= took) {
        NestPart part = part_at(p, from, n);
        took = part.rows * part.n;
        for (uint32_t k = 0; k < op->nin; k++)
            x->arg[k] = r.at[k] + part.row * walk_stride(p, slot[k], last - 1) +
                        part.from * walk_stride(p, slot[k], last);
        for (uint32_t k = op->nin; k < narg; k++)
            x->arg[k] =
                has_place(b, slot[k]) ? x->base[slot[k]] + at * b->size[slot[k]] : to;
        run_rows(x, part.rows, part.n);
        if (to)
            to += x->apart ? part.rows * x->apart
                           : took * (int64_t)b->size[b->nin + b->nplaced];
        from += took;
        if (from < both || n == took) continue;
        from = 0;
        rows_next(&r, ++outer);
    }
}

/* ---- sums of columns ---- */

/* Rows that are added, step[] bytes apart; tree: so many of them at once as a tree, 0:
 * none. */
typedef struct ColumnRows {
    int64_t n, tree, step[NEST_INPUTS];
} ColumnRows;

/* What a loop needs to know of n of them; more: they are added to earlier ones. */
static void column_words(const NestRun *x, const BlockOp *op, const ColumnRows *c,
                         int64_t n, bool more) {
    uint32_t nin = op->nin;
    void **word = x->arg + nin;
    for (uint32_t k = 0; k < nin; k++) {
        put_word(&word[1 + k], c->step[k]);
        put_word(&word[1 + nin + k], -n * c->step[k]);
    }
    put_word(&word[1 + 2 * nin], c->tree ? n / c->tree : 0);
    put_word(&word[2 + 2 * nin], c->tree ? n % c->tree : n);
    put_word(&word[3 + 2 * nin], more);
}

/* Rows of that many columns are summed a tree at a time: more than these are too many
 * for the CPU's own prefetching, and can be in each other's way in the caches. */
enum { LONG = 128 };

static bool sums_at_once(const ColumnRows *c, int64_t n) {
    return n < LONG || c->tree == 0;
}

/* n columns where x->arg is, which moves on. */
static void add_columns(const NestRun *x, const BlockOp *op, const ColumnRows *c,
                        int64_t n) {
    void **word = x->arg + op->nin;
    int64_t rows = c->n, some;
    if (sums_at_once(c, n)) {
        op->loop((size_t)n, (const void *const *)x->arg, word);
        return;
    }
    for (bool more = false; rows > 0; rows -= some, more = true) {
        some = rows < c->tree ? rows : c->tree;
        column_words(x, op, c, some, more);
        op->loop((size_t)n, (const void *const *)x->arg, word);
        for (uint32_t k = 0; k < op->nin; k++)
            x->arg[k] = (char *)x->arg[k] + some * c->step[k];
    }
    column_words(x, op, c, c->n, false);
}

/* n columns in each of `rows` rows, the first of which x->arg is in. */
static void sum_whole_rows(const NestRun *x, const BlockOp *op, const Rows *r,
                           int64_t rows, int64_t n, double *acc) {
    const uint32_t nin = op->nin;
    for (int64_t i = 0; i < rows; i++) {
        x->arg[nin] = acc + i * n;
        op->loop((size_t)n, (const void *const *)x->arg, x->arg + nin);
        for (uint32_t k = 0; k < nin; k++)
            x->arg[k] = (char *)x->arg[k] + r->step[k];
    }
}

/* `all` columns from number `from` of a row on, along dim `along`, in one row after the
 * other. */
static void sum_columns(const NestRun *x, const BlockOp *op, const ColumnRows *c,
                        Rows *r, int along, int64_t row, int64_t from, int64_t all,
                        double *acc) {
    const int64_t wide = x->p->ext[along];
    int64_t step[NEST_INPUTS];
    column_words(x, op, c, c->n, false);
    for (uint32_t k = 0; k < op->nin; k++)
        step[k] = is_turned(r, k) ? x->b->size[r->slot[k]]
                                  : walk_stride(x->p, r->slot[k], along);
    for (int64_t done = 0, n, rows; done < all; done += rows * n, from = 0) {
        n = wide - from < all - done ? wide - from : all - done;
        rows = (all - done) / n < r->left ? (all - done) / n : r->left;
        if (n < wide || !sums_at_once(c, n)) rows = 1;
        for (uint32_t k = 0; k < op->nin; k++)
            x->arg[k] = r->at[k] + from * step[k];
        x->arg[op->nin] = acc + done;
        if (rows > 1)
            sum_whole_rows(x, op, r, rows, n, acc + done);
        else
            add_columns(x, op, c, n);
        if (done + rows * n == all) return;
        rows_skip(r, rows - 1);
        rows_next(r, row += rows);
    }
}

/* The dim along which elements are `distance` apart, if `rows` of them from element
 * `at` on don't leave it; -1: there is none. */
static int dim_of_rows(const Prep *p, int64_t at, int64_t distance, int64_t rows) {
    int64_t size = 1;
    for (int d = p->ndim - 1; d >= 0; size *= p->ext[d--])
        if (size == distance) return at / size % p->ext[d] + rows <= p->ext[d] ? d : -1;
    return -1;
}

/* Are all inputs contiguous, or single elements? */
bool nest_is_flat(const BlockProgram *b, const Prep *p) {
    const ColumnLoop *loop = &b->columns[0];
    if (!loop->op || p->nest || p->rows != 1) return false;
    for (uint32_t k = 0; k < loop->op->nin; k++)
        if (p->access[b->slot[loop->op->arg + k]] !=
            (loop->is_single[k] ? ACC_SCALAR : ACC_DIRECT))
            return false;
    return true;
}

static void sum_flat(const NestRun *x, const Piece *q, double *acc) {
    const BlockProgram *b = x->b;
    const ColumnLoop *loop = &b->columns[0];
    ColumnRows c = {.n = q->rows, .tree = COLUMN_TREE};
    for (uint32_t k = 0; k < loop->op->nin; k++) {
        uint32_t i = b->slot[loop->op->arg + k];
        int64_t size = loop->is_single[k] ? 0 : b->size[i];
        c.step[k] = q->stride * size;
        x->arg[k] = x->base[i] + q->at * size;
    }
    x->arg[loop->op->nin] = acc;
    column_words(x, loop->op, &c, c.n, false);
    add_columns(x, loop->op, &c, q->n);
}

bool nest_sums_rows(const BlockProgram *b, const Prep *p) {
    return (p->nest && b->columns[0].op) || nest_is_flat(b, p);
}

static bool sum_nest(const NestRun *x, const Piece *q, double *acc) {
    const Prep *p = x->p;
    const BlockOp *op = x->b->columns[0].op;
    int last = p->ndim - 1,
        along = q->rows > 1 ? dim_of_rows(p, q->at, q->stride, q->rows) : 0;
    int64_t row = q->at / p->ext[last];
    ColumnRows c = {.n = q->rows, .tree = COLUMN_TREE};
    if (along < 0 || along == last) return false;
    Rows r = rows_begin(x, op, last - 1, row);
    for (uint32_t k = 0; k < op->nin; k++)
        c.step[k] = walk_stride(p, r.slot[k], along);
    sum_columns(x, op, &c, &r, last, row, q->at - row * p->ext[last], q->n, acc);
    return true;
}

bool nest_sum_rows(const NestRun *x, const Piece *q, double *acc) {
    if (x->p->nest) return sum_nest(x, q, acc);
    sum_flat(x, q, acc);
    return true;
}

bool nest_sum_runs(const NestRun *x, int64_t at, int64_t n, int64_t count,
                   double *acc) {
    const Prep *p = x->p;
    const BlockOp *op = x->b->columns[1].op;
    int last = p->ndim - 1;
    int64_t wide = p->ext[last - 1], run = at / count, row = run / wide;
    ColumnRows c = {.n = count};
    if (count != p->ext[last] || at % count) return false;
    Rows r = rows_begin(x, op, last - 2, row);
    for (uint32_t k = 0; k < op->nin; k++)
        c.step[k] = is_turned(&r, k) ? wide * x->b->size[r.slot[k]]
                                     : walk_stride(p, r.slot[k], last);
    sum_columns(x, op, &c, &r, last - 1, row, run - row * wide, n, acc);
    return true;
}
