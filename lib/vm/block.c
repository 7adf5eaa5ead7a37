/* Runs a block program: chunk by chunk, row by row, block by block, with all loops over
 * one block before the next, so that registers stay in the nearest cache. Chunks depend
 * on shapes alone, and no element depends on its position in a block: results are
 * bit-identical for any number of threads. */
#include "vm/vm_impl.h"

#include <string.h>

enum {
    AHEAD = 8,         /* rows of a tile, or of a piece, to prefetch */
    AHEAD_INPUTS = 8,  /* of a piece */
    AHEAD_BYTES = 4096 /* of a row: the CPU prefetches longer ones */
};

typedef struct Found { /* the first fault, when searched for */
    const BlockOp *op;
    int64_t at;
    unsigned fault;
} Found;
typedef struct Exec {
    const BlockProgram *b;
    const Prep *p;
    char **base;         /* operands: inputs, then outputs */
    char *work, *turned; /* turned: transposed inputs, for nest_sum_runs */
    atomic_uint fault;
    Found *found;
    bool past; /* uses b->past */
} Exec;
typedef struct Worker {
    void **slot, **arg;
    char **row; /* by input: start of the row */
    int64_t *index;
    int64_t *held; /* by input: the number of the repeated row in its register, -1 */
    char *reg;
    int64_t nrow;    /* index of the row */
    int64_t in_tile; /* index of the row in the tile */
    size_t filled;   /* number of elements filled into registers for the row */
    bool begun;      /* block_run_fold: initialised */
    bool adds;       /* the last loop is b->adds */
} Worker;
_Static_assert(sizeof(Worker) <= WORKER_BYTES, "room for a worker");

/* ---- filling registers ---- */
#define FILL(T)                                                                        \
    {                                                                                  \
        T v, unit[ALIGNMENT / sizeof(T)];                                              \
        memcpy(&v, src, sizeof v);                                                     \
        for (uint32_t i = 0; i < ALIGNMENT / sizeof(T); i++)                           \
            unit[i] = v;                                                               \
        for (size_t i = 0; i < n * sizeof v; i += ALIGNMENT)                           \
            memcpy(dst + i, unit, ALIGNMENT);                                          \
        break;                                                                         \
    }
typedef struct Element16 {
    uint64_t w[2];
} Element16;
/* Writes whole 64-byte units: registers are padded for it. */
void block_fill(char *dst, const char *src, uint32_t size, size_t n) {
    switch (size) {
    case 1:
        FILL(uint8_t)
    case 2:
        FILL(uint16_t)
    case 4:
        FILL(uint32_t)
    case 8:
        FILL(uint64_t)
    default:
        FILL(Element16)
    }
}

/* ---- a block ---- */
static char *fill_reg(const Exec *e, const Worker *w, uint32_t input) {
    return w->reg + (e->b->nreg + e->p->fill[input]) * e->p->reg_bytes;
}

static char *tile_of(const Exec *e, const Worker *w, uint32_t input) {
    return w->reg + (e->b->nreg + e->p->nfill + (size_t)e->p->fill[input] * TILE_ROWS) *
                        e->p->reg_bytes;
}

static char *output_at(const Exec *e, const Worker *w, uint32_t j, int64_t at) {
    return e->base[e->b->nin + j] +
           (w->nrow * e->p->row + at) * e->b->size[e->b->nin + j];
}

/* What is read in place is read only: see load_block. */
static void *slot_of(const char *p) {
    void *slot;
    memcpy(&slot, &p, sizeof slot);
    return slot;
}

static void *flat_slot(const Exec *e, const Worker *w, uint32_t i, int64_t at,
                       size_t n) {
    return slot_of(
        gather_flat(e->p, i, e->b->size[i], e->base[i], fill_reg(e, w, i), at, n));
}

static void *round_slot(const Exec *e, const Worker *w, uint32_t i, int64_t at,
                        size_t n) {
    return slot_of(gather_round(e->p, i, e->b->size[i], e->base[i], fill_reg(e, w, i),
                                at, n, &w->held[i]));
}

/* Points the slots to elements [at, at + n) of the row. */
static void load_block(const Exec *e, Worker *w, int64_t at, size_t n) {
    const BlockProgram *b = e->b;
    const Prep *p = e->p;
    for (uint32_t i = 0; i < b->nin; i++) {
        switch ((Access)p->access[i]) {
        case ACC_DIRECT:
            w->slot[i] = w->row[i] + at * b->size[i];
            break;
        case ACC_ROW:
            if (w->filled < n) block_fill(fill_reg(e, w, i), w->row[i], b->size[i], n);
            break;
        case ACC_STRIDED:
            gather_strided(fill_reg(e, w, i), w->row[i] + at * p->step[i], p->step[i],
                           b->size[i], n);
            break;
        case ACC_FLAT:
            w->slot[i] = flat_slot(e, w, i, at, n);
            break;
        case ACC_ROUND:
            w->slot[i] = round_slot(e, w, i, at, n);
            break;
        case ACC_PATTERN:
            pattern_read(&p->pattern[i], fill_reg(e, w, i), e->base[i], at, n);
            break;
        case ACC_CYCLE:
            w->slot[i] = fill_reg(e, w, i) + (size_t)(at % p->step[i]) * b->size[i];
            break;
        case ACC_TILED:
            w->slot[i] = tile_of(e, w, i) + (size_t)w->in_tile * p->reg_bytes;
            break;
        case ACC_SCALAR:
        case ACC_UNUSED:
            break;
        }
    }
    for (uint32_t j = 0; j < b->nplaced && p->stream == NONE; j++)
        w->slot[b->nin + j] = output_at(e, w, j, at);
    if (w->filled < n) w->filled = n;
}

static void store_block(const Exec *e, const Worker *w, int64_t at, size_t n) {
    for (uint32_t j = 0; j < e->b->nout; j++)
        value_stream_bytes(output_at(e, w, j, at), w->slot[e->b->nin + j],
                           n * e->b->size[e->b->nin + j]);
}

/* Runs elements one at a time to find the one that made a loop report a fault. */
static void find_fault(Exec *e, const BlockOp *op, const Worker *w, int64_t at,
                       size_t n) {
    uint32_t narg = (uint32_t)op->nin + op->nout;
    for (size_t x = 0; x < n; x++) {
        for (uint32_t k = 0; k < narg; k++)
            w->arg[k] = (char *)w->slot[e->b->slot[op->arg + k]] +
                        x * program_bytes(e->b, e->b->value[op->arg + k]);
        unsigned f = op->loop(1, (const void *const *)w->arg, w->arg + op->nin);
        if (!f) continue;
        *e->found = (Found){op, w->nrow * e->p->row + at + (int64_t)x, f};
        return;
    }
}

static unsigned run_ops(Exec *e, const Worker *w, int64_t at, size_t n) {
    const BlockProgram *b = e->b;
    unsigned fault = 0;
    for (uint32_t k = 0; k < b->nrun; k++) {
        const BlockOp *op = w->adds && k + 1 == b->nrun ? b->adds : &b->run[k];
        const uint32_t *slot = b->slot + op->arg;
        uint32_t narg = (uint32_t)op->nin + op->nout;
        for (uint32_t i = 0; i < narg; i++)
            w->arg[i] = w->slot[slot[i]];
        if (!op->loop) {
            memmove(w->arg[1], w->arg[0],
                    n * program_bytes(b, b->value[op->arg])); /* may be in place */
            continue;
        }
        Loop *loop = e->past ? b->past : op->loop;
        unsigned f = loop(n, (const void *const *)w->arg, w->arg + op->nin);
        if (f && e->found && !e->found->op) find_fault(e, op, w, at, n);
        fault |= f;
    }
    return fault;
}

/* ---- a chunk ---- */
static void begin_chunk(const Exec *e, Worker *w, unsigned worker) {
    const BlockProgram *b = e->b;
    char *at = e->work + worker * e->p->worker_bytes;
    w->adds = false;
    w->slot = (void **)(void *)at;
    w->row = (char **)(w->slot + b->nslot);
    w->index = (int64_t *)(void *)(w->row + b->nin);
    w->held = w->index + MAX_NDIM;
    w->arg = (void **)(void *)(w->held + b->nin);
    w->reg = at + block_pointers(b);
    for (uint32_t i = 0; i < b->nin; i++)
        w->held[i] = -1;
    for (uint32_t i = 0; i < b->nreg; i++)
        w->slot[b->nin + b->nout + i] = w->reg + i * e->p->reg_bytes;
    for (uint32_t i = 0; i < b->nin; i++)
        if (e->p->access[i] > ACC_DIRECT && e->p->access[i] < ACC_TILED)
            w->slot[i] = fill_reg(e, w, i);
    for (uint32_t j = 0; j < b->nout && e->p->stream != NONE; j++)
        w->slot[b->nin + j] = w->reg + (b->nreg + e->p->stream + j) * e->p->reg_bytes;
    if (b->nplaced < b->nout)
        w->slot[b->nin + b->nplaced] =
            w->reg + (b->nreg + e->p->hidden) * e->p->reg_bytes;
}

/* Fills what all rows have in common, for blocks of n elements. */
static void fill_constant(const Exec *e, const Worker *w, size_t n) {
    for (uint32_t i = 0; i < e->b->nin; i++)
        if (e->p->access[i] == ACC_SCALAR)
            block_fill(w->slot[i], e->base[i], e->b->size[i], n);
        else if (e->p->access[i] == ACC_CYCLE)
            gather_cycle(w->slot[i], e->base[i], e->b->size[i], (size_t)e->p->step[i],
                         n);
}

static void go_to_row(const Exec *e, Worker *w, int64_t row) {
    const Prep *p = e->p;
    w->nrow = row;
    w->filled = 0;
    for (uint32_t i = 0; i < e->b->nin; i++)
        w->row[i] = e->base[i];
    if (p->rows == 1) return;
    for (int d = p->ndim - 1; d-- > 0; row /= p->ext[d]) {
        w->index[d] = row % p->ext[d];
        for (uint32_t i = 0; i < e->b->nin; i++)
            w->row[i] += w->index[d] * p->stride[(size_t)i * p->dims + (size_t)d];
    }
}

static void next_row(const Exec *e, Worker *w) {
    const Prep *p = e->p;
    w->nrow++;
    w->filled = 0;
    for (int d = p->ndim - 1; d-- > 0;) {
        bool wrap = ++w->index[d] == p->ext[d];
        for (uint32_t i = 0; i < e->b->nin; i++)
            w->row[i] +=
                p->stride[(size_t)i * p->dims + (size_t)d] * (wrap ? 1 - p->ext[d] : 1);
        if (!wrap) return;
        w->index[d] = 0;
    }
}

/* ---- rows ---- */
static unsigned run_part(Exec *e, Worker *w, int64_t at, size_t n) {
    load_block(e, w, at, n);
    unsigned fault = run_ops(e, w, at, n);
    if (e->p->stream != NONE) store_block(e, w, at, n);
    return fault;
}

static unsigned run_rows(Exec *e, Worker *w, int64_t last, int64_t from, int64_t to,
                         int64_t block) {
    for (unsigned fault = 0;; next_row(e, w)) {
        for (int64_t at = from; at < to; at += block)
            fault |= run_part(e, w, at, (size_t)(to - at < block ? to - at : block));
        if (w->nrow + 1 >= last) return fault;
    }
}

/* Moves by `rows` along the last outer dim, in either direction. */
static void go_along(const Exec *e, Worker *w, int64_t rows) {
    const Prep *p = e->p;
    w->nrow += rows;
    for (uint32_t i = 0; i < e->b->nin; i++)
        w->row[i] += rows * p->stride[(size_t)i * p->dims + (size_t)p->ndim - 2];
}

static void fill_tiles(const Exec *e, const Worker *w, int64_t at, int64_t rows,
                       size_t n) {
    const Prep *p = e->p;
    for (uint32_t i = 0; i < e->b->nin; i++)
        if (p->access[i] == ACC_TILED)
            transpose_in_cache(&(Transposition){.dst = tile_of(e, w, i),
                                                .dst_row = (ptrdiff_t)p->reg_bytes,
                                                .src = w->row[i] + at * p->step[i],
                                                .src_column = (ptrdiff_t)p->step[i],
                                                .rows = (size_t)rows,
                                                .columns = n,
                                                .size = e->b->size[i]});
}

/* Prefetches: pieces of rows are too short for the CPU's own prefetching. */
static void ask_ahead(const Exec *e, const Worker *w, int64_t at, size_t n) {
    const Prep *p = e->p;
    for (uint32_t i = 0; i < e->b->nin; i++) {
        if (p->access[i] != ACC_DIRECT) continue;
        int64_t rows = AHEAD * p->stride[(size_t)i * p->dims + (size_t)p->ndim - 2];
        uintptr_t from = (uintptr_t)w->row[i] + (uintptr_t)(rows + at * p->step[i]);
        for (size_t k = 0; k < n * e->b->size[i]; k += ALIGNMENT)
            __builtin_prefetch((const char *)(from + k));
    }
}

/* For transposed inputs: processes blocks of several rows before the next blocks, after
 * transposing that input's elements for all of them. */
static unsigned run_tiles(Exec *e, Worker *w, int64_t last, int64_t from, int64_t to,
                          int64_t block) {
    int64_t extent = e->p->ext[e->p->ndim - 2];
    unsigned fault = 0;
    while (w->nrow < last) {
        int64_t rows = last - w->nrow, left = extent - w->nrow % extent;
        if (rows > TILE_ROWS) rows = TILE_ROWS;
        if (rows > left) rows = left;
        for (int64_t at = from; at < to; at += block) {
            size_t n = (size_t)(to - at < block ? to - at : block);
            fill_tiles(e, w, at, rows, n);
            for (w->in_tile = 0; w->in_tile < rows; w->in_tile++, go_along(e, w, 1)) {
                w->filled = 0;
                ask_ahead(e, w, at, n);
                fault |= run_part(e, w, at, n);
            }
            go_along(e, w, -rows);
        }
        go_to_row(e, w, w->nrow + rows);
    }
    return fault;
}

/* ---- loops over rows ---- */
static NestRun nest_of(const Exec *e, const Worker *w) {
    return (NestRun){
        .b = e->b, .p = e->p, .base = e->base, .arg = w->arg, .turned = e->turned};
}

/* Elements [at, at + n), flat; they can't fault. */
static void run_nest(const Exec *e, const Worker *w, int64_t at, int64_t n, char *to) {
    NestRun x = nest_of(e, w);
    nest_run(&x, at, n, to);
}

/* Some rows, or a part of one. */
typedef struct Stretch {
    int64_t first, last, from, to; /* rows; elements of each */
} Stretch;

static void run_stretch(Exec *e, unsigned worker, const Stretch *s) {
    const Prep *p = e->p;
    Worker w;
    begin_chunk(e, &w, worker);
    if (p->nest) {
        run_nest(e, &w, s->from, s->to - s->from, NULL);
        return;
    }
    bool whole = e->b->nrun == 1 && p->nfill + p->ntile == 0;
    int64_t n = s->to - s->from, block = whole ? n : p->block;
    fill_constant(e, &w, (size_t)(n < block ? n : block));
    go_to_row(e, &w, s->first);
    unsigned fault = p->ntile ? run_tiles(e, &w, s->last, s->from, s->to, block)
                              : run_rows(e, &w, s->last, s->from, s->to, block);
    if (p->stream != NONE || e->past) value_stream_end();
    if (fault) atomic_fetch_or_explicit(&e->fault, fault, memory_order_relaxed);
}

static void run_chunk(void *ctx, size_t chunk, unsigned worker) {
    const Prep *p = ((Exec *)ctx)->p;
    int64_t first = (int64_t)(chunk / p->pieces) * p->rows_chunk,
            from = (int64_t)(chunk % p->pieces) * p->row_chunk,
            last = first + p->rows_chunk, to = from + p->row_chunk;
    run_stretch(ctx, worker,
                &(Stretch){first, last < p->rows ? last : p->rows, from,
                           to < p->row ? to : p->row});
}

/* ---- a whole run ---- */
static void set_operands(Machine *m, uint32_t step, Exec *e) {
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    const BlockProgram *b = e->b;
    e->base = (char **)m->block->data;
    e->work =
        (char *)m->block->data + round_up((size_t)(b->nin + b->nout) * sizeof(void *));
    for (uint32_t i = 0; i < b->nplain; i++)
        e->base[i] = m->cell[arg[i]].data;
    for (uint32_t i = b->nplain; i < b->nin; i++)
        memcpy(&e->base[i], &e->p->data[i],
               sizeof(void *)); /* read only: see load_block */
    for (uint32_t j = 0; j < b->nplaced; j++)
        e->base[b->nin + j] = m->place[m->place_of[arg[in->nin + j]]].ptr;
}

/* Only whole cache lines can be written past the caches. */
static bool goes_past(const Exec *e) {
    bool past = e->p->past;
    for (uint32_t j = 0; past && j < e->b->nout; j++)
        past = (uintptr_t)e->base[e->b->nin + j] % ALIGNMENT == 0;
    return past;
}

static bool overwrites_input(const Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    for (uint32_t j = 0; j < in->nout; j++)
        if (m->p->sharing.cell[m->p->arg[in->arg + in->nin + j]].how == PLAN_INPLACE)
            return true;
    return false;
}

/* Hides inputs that the step has overwritten. */
static bool hide_overwritten(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    bool any = false;
    for (uint32_t j = in->nin; j < (uint32_t)in->nin + in->nout; j++) {
        const CellInfo *c = &m->p->sharing.cell[arg[j]];
        for (uint32_t k = 0; c->how == PLAN_INPLACE && k < in->nin; k++)
            if (arg[k] == c->of) m->frame_in[k] = &m->nothing, any = true;
    }
    return any;
}

/* Runs once more to find the first fault. */
static void look_for_fault(Machine *m, uint32_t step, const Prep *p, Found *found) {
    Exec e = {.b = m->p->ins[step].prog, .p = p, .found = found};
    set_operands(m, step, &e);
    for (size_t c = 0; c < p->chunks && !found->op; c++)
        run_chunk(&e, c, 0);
}

static void index_text(const Layout *l, int64_t at, Str *out) {
    int64_t index[MAX_NDIM];
    for (int d = l->ndim; d-- > 0; at /= l->shape[d])
        index[d] = at % l->shape[d];
    for (int d = 0; d < l->ndim; d++)
        str_printf(out, "%s%lld", d ? ", " : " at [", (long long)index[d]);
    if (l->ndim) str_putc(out, ']');
}

bool block_fault(Machine *m, uint32_t step, const Prep *p, unsigned fault) {
    const BlockProgram *b = m->p->ins[step].prog;
    Found found = {0};
    Str at = STR(m->s);
    if (!overwrites_input(m, step)) look_for_fault(m, step, p, &found);
    if (found.op) index_text(p->layout[b->nin], found.at, &at);
    if (found.op) fault = found.fault;
    Call c;
    step_call_op(m, step, found.op ? found.op : b->nop == 1 ? b->op : NULL, &c);
    bool lost = hide_overwritten(m, step);
    call_fail(&c, E_ARITHMETIC, "%s%s",
              fault & FAULT_DIVIDE ? "integer division by zero"
                                   : "a negative power or shift of integers",
              str_text(&at));
    if (found.op && op_is(m->s, found.op->op, OP_POWER))
        note(m->s, NOWHERE,
             "floats have negative powers: cast(x, float64) for the base");
    if (lost) note(m->s, NOWHERE, "an input is not shown: the result went over it");
    str_free(&at);
    return false;
}

bool block_run(Machine *m, uint32_t step, const Prep *p) {
    Exec e = {.b = m->p->ins[step].prog, .p = p};
    set_operands(m, step, &e);
    e.past = goes_past(&e);
    if (p->shared)
        pool_run(m->pool, p->chunks, run_chunk, &e);
    else if (p->chunks)
        run_stretch(&e, 0, &(Stretch){0, p->rows, 0, p->row});
    unsigned fault = atomic_load(&e.fault);
    if (fault) return block_fault(m, step, p, fault);
    block_outputs(m, &m->p->ins[step], p);
    return true;
}

/* ---- elements for a reduction ---- */
static char *worker_at(const Exec *e, unsigned worker) {
    return e->work + (worker + 1) * e->p->worker_bytes - WORKER_BYTES;
}

static Worker *worker_of(const Exec *e, unsigned worker) {
    Worker *w = (Worker *)(void *)worker_at(e, worker);
    if (w->begun) return w;
    int64_t n = e->p->rows * e->p->row;
    begin_chunk(e, w, worker);
    fill_constant(e, w, n < e->p->block ? (size_t)n : e->p->block);
    go_to_row(e, w, 0);
    w->begun = true;
    return w;
}

static void go_to(const Exec *e, Worker *w, int64_t row) {
    if (row == w->nrow + 1)
        next_row(e, w);
    else if (row != w->nrow)
        go_to_row(e, w, row);
}

/* n elements from flat index `at` on; writes the reduced ones to `to`, or in place if
 * that is NULL. */
static unsigned run_flat(Exec *e, Worker *w, int64_t at, int64_t n, char *to) {
    const BlockProgram *b = e->b;
    const Prep *p = e->p;
    if (p->nest) return run_nest(e, w, at, n, to), 0;
    unsigned fault = 0;
    int64_t row = at / p->row, from = at - row * p->row, most = p->block;
    if (b->nrun == 1 && p->nfill == (to ? 1 : 0)) most = n;
    for (; n > 0; row++, from = 0) {
        int64_t end = p->row - from < n ? p->row : from + n;
        n -= end - from;
        for (go_to(e, w, row); from < end; from += most) {
            size_t k = (size_t)(end - from < most ? end - from : most);
            load_block(e, w, from, k);
            if (to) w->slot[b->nin + b->nplaced] = to;
            fault |= run_ops(e, w, from, k);
            if (to) to += k * b->size[b->nin + b->nplaced];
        }
    }
    return fault;
}

/* The bytes that the rows of a piece read of some inputs. */
typedef struct RowBytes {
    uintptr_t from;
    int64_t step, bytes;
} RowBytes;
typedef struct Ahead {
    uint32_t n;
    RowBytes of[AHEAD_INPUTS];
} Ahead;

static void look_ahead(const Exec *e, const Piece *q, Ahead *a) {
    const Prep *p = e->p;
    a->n = 0;
    for (uint32_t i = 0; i < e->b->nin && a->n < AHEAD_INPUTS && q->rows > 1; i++) {
        Access how = (Access)p->access[i];
        if (!p->nown[i] || (how != ACC_DIRECT && how != ACC_FLAT && how != ACC_PATTERN))
            continue;
        const char *from = gather_place(p, i, e->base[i], q->at),
                   *to = gather_place(p, i, e->base[i], q->at + q->n - 1);
        int64_t step = gather_place(p, i, e->base[i], q->at + q->stride) - from,
                bytes = to - from + e->b->size[i];
        if (step && bytes > 0 && bytes <= AHEAD_BYTES)
            a->of[a->n++] = (RowBytes){(uintptr_t)from, step, bytes};
    }
}

/* Prefetches what row r reads: pieces of rows are too short for the CPU's own
 * prefetching. */
static void ask_row(const Ahead *a, int64_t r) {
    for (uint32_t i = 0; i < a->n; i++) {
        uintptr_t from = a->of[i].from + (uintptr_t)(r * a->of[i].step);
        for (int64_t k = 0; k < a->of[i].bytes; k += ALIGNMENT)
            __builtin_prefetch((const char *)(from + (uintptr_t)k));
    }
}

static const char *make_piece(void *ctx, unsigned worker, const Piece *q, char *to,
                              ptrdiff_t *step) {
    Exec *e = ctx;
    const BlockProgram *b = e->b;
    Worker *w = worker_of(e, worker);
    int64_t size = b->size[b->nin + b->folded], rows = q->rows, n = q->n;
    bool hidden = b->folded >= b->nplaced;
    unsigned fault = 0;
    *step = (hidden ? q->n : q->stride) * size;
    Ahead ahead = {0};
    if (q->stride == n)
        n *= rows, rows = 1;
    else
        look_ahead(e, q, &ahead);
    for (int64_t r = 0; r < rows; r++) {
        ask_row(&ahead, r + AHEAD);
        fault |=
            run_flat(e, w, q->at + r * q->stride, n, hidden ? to + r * n * size : NULL);
    }
    if (fault) atomic_fetch_or_explicit(&e->fault, fault, memory_order_relaxed);
    return hidden ? to : e->base[b->nin + b->folded] + q->at * size;
}

/* Are the rows whole ones of the loop over rows? */
static bool are_nest_rows(const Prep *p, const Piece *q) {
    return p->nest && q->n == p->ext[p->ndim - 1] && q->stride == q->n &&
           q->at % q->n == 0;
}

static void put_piece(void *ctx, unsigned worker, const Piece *q, char *to,
                      ptrdiff_t apart) {
    Exec *e = ctx;
    Worker *w = worker_of(e, worker);
    unsigned fault = 0;
    if (are_nest_rows(e->p, q)) {
        NestRun x = nest_of(e, w);
        x.apart = apart;
        nest_run(&x, q->at, q->rows * q->n, to);
        return;
    }
    for (int64_t r = 0; r < q->rows; r++)
        fault |= run_flat(e, w, q->at + r * q->stride, q->n, to + r * apart);
    if (fault) atomic_fetch_or_explicit(&e->fault, fault, memory_order_relaxed);
}

/* All n elements by one call, where the program is one loop over inputs in place. */
static bool adds_directly(const Exec *e) {
    const BlockProgram *b = e->b;
    const Prep *p = e->p;
    bool direct = p->rows == 1 && b->nrun == 1;
    for (uint32_t k = 0; direct && k < b->adds->nin; k++)
        direct = p->access[b->slot[b->adds->arg + k]] == ACC_DIRECT;
    return direct;
}

static int64_t add_direct(void *ctx, unsigned worker, int64_t at, int64_t n,
                          double *sum) {
    Exec *e = ctx;
    const BlockProgram *b = e->b;
    const BlockOp *op = b->adds;
    const uint32_t *slot = b->slot + op->arg;
    void **arg = worker_of(e, worker)->arg;
    for (uint32_t k = 0; k < op->nin; k++)
        arg[k] = e->base[slot[k]] + at * b->size[slot[k]];
    arg[op->nin] = sum;
    op->loop((size_t)n, (const void *const *)arg, arg + op->nin);
    return n;
}

/* Stops at the end of a row whose length isn't a multiple of PIECE_SUMS, unless it is
 * the last one. */
static int64_t add_piece(void *ctx, unsigned worker, int64_t at, int64_t n,
                         double *sum) {
    Exec *e = ctx;
    const BlockProgram *b = e->b;
    const Prep *p = e->p;
    Worker *w = worker_of(e, worker);
    int64_t row = at / p->row, from = at - row * p->row, most = p->block, took = 0, end;
    unsigned fault = 0;
    if (b->nrun == 1 && p->nfill == 1) most = n + PIECE_SUMS;
    most -= most % PIECE_SUMS;
    w->adds = true;
    for (bool whole = most > 0; whole && took < n; row++, from = 0) {
        end = p->row - from < n - took ? p->row : from + n - took;
        whole = (end - from) % PIECE_SUMS == 0;
        if (took + end - from < n) end -= (end - from) % PIECE_SUMS;
        took += end - from;
        for (go_to(e, w, row); from < end; from += most) {
            size_t k = (size_t)(end - from < most ? end - from : most);
            load_block(e, w, from, k);
            w->slot[b->nin + b->nplaced] = sum;
            fault |= run_ops(e, w, from, k);
        }
    }
    w->adds = false;
    if (fault) atomic_fetch_or_explicit(&e->fault, fault, memory_order_relaxed);
    return took;
}

static bool sum_rows(void *ctx, unsigned worker, const Piece *q, double *acc) {
    NestRun x = nest_of(ctx, worker_of(ctx, worker));
    return nest_sum_rows(&x, q, acc);
}

static bool sum_runs(void *ctx, unsigned worker, int64_t at, int64_t n, int64_t count,
                     double *acc) {
    NestRun x = nest_of(ctx, worker_of(ctx, worker));
    return nest_sum_runs(&x, at, n, count, acc);
}

unsigned block_run_at(const BlockRun *r, char **base, char *folded) {
    Exec e = {.b = r->b, .p = r->p, .base = base, .work = r->work};
    memset(worker_at(&e, 0), 0, WORKER_BYTES);
    return run_flat(&e, worker_of(&e, 0), r->at, r->n, folded);
}

bool block_run_fold(Machine *m, uint32_t step, const Prep *p, Call *c) {
    Exec e = {.b = m->p->ins[step].prog, .p = p};
    Pieces made = {.make = make_piece,
                   .put = e.b->folded >= e.b->nplaced ? put_piece : NULL,
                   .work = e.b->work,
                   .add = !e.b->adds          ? NULL
                          : adds_directly(&e) ? add_direct
                                              : add_piece,
                   .sum_rows = nest_sums_rows(e.b, p) ? sum_rows : NULL,
                   .sum_runs = p->turns ? sum_runs : NULL,
                   .ctx = &e};
    set_operands(m, step, &e);
    e.turned = e.work + p->worker_bytes * m->workers;
    if (p->turns) nest_turn(e.b, p, e.base, e.turned);
    for (unsigned i = 0; i < m->workers; i++)
        memset(worker_at(&e, i), 0, WORKER_BYTES);
    c->pieces = &made;
    bool ok = c->op->perform(c);
    unsigned fault = atomic_load(&e.fault);
    if (ok && fault) return block_fault(m, step, p, fault);
    if (ok) block_outputs(m, &m->p->ins[step], p);
    return ok;
}
