/* Steps of loops over the same number of floats, on several threads: each takes all
 * steps on some of the elements, which those on the others don't need, as no element
 * depends on its position. Between turns of many steps the session's time is looked at.
 */
#include "base/pool.h"
#include "vm/scan_quick.h"

#include <string.h>

enum {
    TRIAL = 64, /* steps by which the time of one is known */
    TURN = 128,
    UNIT = 16,   /* elements; a part begins at a multiple of so many */
    FEWEST = 64, /* of a part */
    PARTS = 16
};
/* What threads are worth: a step takes so long, and all of them do. */
static const double step_seconds = 2e-7, worth_seconds = 2e-4;

typedef struct Part {
    size_t from, n;
    void **arg; /* as those of the calls */
    Cursor *cursor;
    char *work; /* of block programs */
} Part;
typedef struct Parts {
    const ScanRun *l;
    size_t n, item, work; /* elements of a loop; bytes of one, of a part's programs */
    int64_t steps;        /* of the turn */
    bool more;            /* another one follows */
    size_t count;
    Part part[PARTS];
    char *room;
} Parts;

/* ---- what fits ---- */

/* One loop over operands of floats of one size, and of inputs that it gathers. */
static uint32_t program_item(const QuickCall *c) {
    const BlockProgram *b = c->prog;
    uint32_t item = b->size[b->nin];
    if (b->fold || c->prep->rows != 1 || c->prep->nest) return 0;
    for (uint32_t v = 0; v < b->nvalue; v++) {
        DType d = var_type(b->g, b->var[v])->dtype;
        if (!dtype_is_float(d) && d != DT_BOOL) return 0;
    }
    for (uint32_t k = 0; k < b->nin + b->nout; k++)
        if (b->size[k] != item) return 0;
    return item;
}

static bool fits_size(Parts *p, size_t n, uint32_t item) {
    if (item == 0 || (p->n && (n != p->n || item != p->item))) return false;
    p->n = n;
    p->item = item;
    return true;
}

static bool fits_calls(Parts *p) {
    const QuickSteps *q = p->l->quick;
    for (size_t k = 0; k < q->call.n; k++) {
        const QuickCall *c = &q->call.p[k];
        if (c->kind == QUICK_LOOP && !fits_size(p, c->n, c->size)) return false;
        if (c->kind != QUICK_BLOCK) continue;
        if (!fits_size(p, (size_t)c->prep->row, program_item(c))) return false;
        if (p->work < c->prep->worker_bytes) p->work = c->prep->worker_bytes;
    }
    for (size_t k = 0; k < q->call.n; k++) {
        const QuickCall *c = &q->call.p[k];
        bool copy = c->kind == QUICK_COPY && c->n == p->n * p->item;
        if (c->kind != QUICK_LOOP && c->kind != QUICK_BLOCK && !copy) return false;
    }
    return p->n >= 2 * FEWEST;
}

/* Are elements where they are in every row of a state? */
static bool fits_rows(const Parts *p) {
    const ScanRun *l = p->l;
    const QuickSteps *q = l->quick;
    for (size_t k = 0; k < q->patch.n; k++) {
        size_t c = q->patch.p[k].cursor;
        if (c < l->nfeed) continue;
        const Row *r = c < l->nfeed + l->npast ? l->past[c - l->nfeed].of
                                               : &l->row[c - l->nfeed - l->npast];
        if (q->patch.p[k].offset != 0 || r->bytes != p->n * p->item) return false;
    }
    return true;
}

static bool is_read_only(const ScanRun *l, void *const *arg) {
    const QuickSteps *q = l->quick;
    for (size_t k = 0; k < q->patch.n; k++)
        if (q->patch.p[k].to == arg) return q->patch.p[k].cursor < l->nfeed;
    return false;
}

/* Are other inputs of programs than adjacent and single elements those of sequences,
 * which nothing writes? */
static bool fits_gathers(const ScanRun *l, const QuickCall *c) {
    for (uint32_t i = 0; i < c->prog->nin; i++) {
        Access a = (Access)c->prep->access[i];
        if (a != ACC_DIRECT && a != ACC_SCALAR && a != ACC_UNUSED &&
            !is_read_only(l, &c->arg[i]))
            return false;
    }
    return true;
}

/* Is memory that is written either the same as other memory, or apart from it? Then
 * what a part writes is not what another one reads, which may be at another step. */
static bool fits_output(const Parts *p, const void *out) {
    const QuickSteps *q = p->l->quick;
    uintptr_t to = (uintptr_t)out, bytes = p->n * p->item;
    for (size_t i = 0; i < q->arg.n; i++) {
        uintptr_t other = (uintptr_t)q->arg.p[i],
                  far = other < to ? to - other : other - to;
        if (far > 0 && far < bytes) return false;
    }
    return true;
}

static bool fits_memory(const Parts *p) {
    const QuickSteps *q = p->l->quick;
    for (size_t k = 0; k < q->call.n; k++) {
        const QuickCall *c = &q->call.p[k];
        bool block = c->kind == QUICK_BLOCK;
        uint32_t nin = block                   ? c->prog->nin
                       : c->kind == QUICK_COPY ? 1
                                               : c->nin,
                 nout = block ? c->prog->nout : 1;
        if (block && !fits_gathers(p->l, c)) return false;
        for (uint32_t j = 0; j < nout; j++)
            if (!fits_output(p, c->arg[nin + j])) return false;
    }
    return true;
}

static bool fits(Parts *p) {
    const ScanRun *l = p->l;
    const QuickSteps *q = l->quick;
    return pool_threads(l->m->pool) > 1 && !q->until && q->made.n == 0 &&
           fits_calls(p) && fits_rows(p) && fits_memory(p);
}

/* ---- a part ---- */

static void place_cursors(const Parts *p, const Part *a) {
    const QuickSteps *q = p->l->quick;
    for (size_t k = 0; k < q->patch.n; k++) {
        const Patch *x = &q->patch.p[k];
        a->arg[x->to - q->arg.p] = a->cursor[x->cursor].at + x->offset;
    }
}

static void run_call(const Parts *p, const Part *a, const QuickCall *c) {
    enum { MOST = 16 };
    void **arg = a->arg + (c->arg - p->l->quick->arg.p), *at[MOST];
    size_t skip = a->from * p->item;
    if (c->kind == QUICK_BLOCK) {
        BlockRun r = {c->prog, c->prep, a->work, (int64_t)a->from, (int64_t)a->n};
        (void)block_run_at(&r, (char **)arg, NULL);
    } else if (c->kind == QUICK_COPY) {
        memmove((char *)arg[1] + skip, (char *)arg[0] + skip, a->n * p->item);
    } else {
        for (uint32_t i = 0; i <= c->nin; i++)
            at[i] = (char *)arg[i] + skip;
        (void)c->loop(a->n, (const void *const *)at, at + c->nin);
    }
}

static void run_part(void *ctx, size_t number, unsigned worker) {
    const Parts *p = ctx;
    const Part *a = &p->part[number];
    const QuickSteps *q = p->l->quick;
    (void)worker;
    for (int64_t step = 0; step < p->steps; step++) {
        for (size_t k = 0; k < q->call.n; k++)
            run_call(p, a, &q->call.p[k]);
        if (step + 1 == p->steps && !p->more) break;
        quick_advance(a->cursor, q->cursor.n);
        place_cursors(p, a);
    }
}

/* `count` parts, each where the loop is. */
static void cut(Parts *p, size_t count) {
    const QuickSteps *q = p->l->quick;
    size_t args = round_up(q->arg.n * sizeof *q->arg.p),
           cursors = round_up(q->cursor.n * sizeof *q->cursor.p);
    char *at = p->room + (-(uintptr_t)p->room & (ALIGNMENT - 1));
    p->count = count;
    for (size_t k = 0; k < count; k++, at += args + cursors + round_up(p->work)) {
        size_t from = p->n * k / count / UNIT * UNIT,
               end = k + 1 == count ? p->n : p->n * (k + 1) / count / UNIT * UNIT;
        p->part[k] = (Part){from, end - from, (void **)(void *)at,
                            (Cursor *)(void *)(at + args), at + args + cursors};
        memcpy(p->part[k].cursor, q->cursor.p, q->cursor.n * sizeof *q->cursor.p);
        memcpy(p->part[k].arg, q->arg.p, q->arg.n * sizeof *q->arg.p);
    }
}

/* The loop is where the first part is. */
static void take_back(const Parts *p) {
    QuickSteps *q = p->l->quick;
    memcpy(q->cursor.p, p->part[0].cursor, q->cursor.n * sizeof *q->cursor.p);
    memcpy(q->arg.p, p->part[0].arg, q->arg.n * sizeof *q->arg.p);
}

/* ---- steps ---- */

static size_t parts_of(const Parts *p) {
    size_t most = p->n / FEWEST, threads = pool_threads(p->l->m->pool);
    if (most > PARTS) most = PARTS;
    return most < threads ? most : threads;
}

/* n steps, or until time is over: false. */
static bool run_turns(Parts *p, int64_t n, bool more, LoopProgress *shown) {
    ScanRun *l = (ScanRun *)(uintptr_t)p->l;
    bool late = false;
    while (n > 0 && !late) {
        p->steps = n < TURN ? n : TURN;
        n -= p->steps;
        p->more = more || n > 0;
        pool_run(l->m->pool, p->count, run_part, p);
        l->done += p->steps;
        if (shown) atomic_store_explicit(&shown->done, l->done, memory_order_relaxed);
        late = p->more && atomic_load_explicit(l->body->late, memory_order_relaxed);
    }
    take_back(p);
    return !late;
}

bool quick_share_steps(ScanRun *l, int64_t n, LoopProgress *shown, QuickEnd *end) {
    const QuickSteps *q = l->quick;
    Parts p = {.l = l};
    if (n < 2 * TRIAL || !fits(&p)) return false;
    size_t each = round_up(q->arg.n * sizeof *q->arg.p) +
                  round_up(q->cursor.n * sizeof *q->cursor.p) + round_up(p.work);
    p.room = mem_alloc(l->s, PARTS * each + ALIGNMENT);
    *end = QUICK_STUCK;
    double start = clock_seconds();
    cut(&p, 1);
    bool on = run_turns(&p, TRIAL, true, shown);
    double one = (clock_seconds() - start) / TRIAL;
    bool worth = one >= step_seconds && one * (double)(n - TRIAL) >= worth_seconds;
    if (on && worth) {
        cut(&p, parts_of(&p));
        if (run_turns(&p, n - TRIAL, false, shown))
            *end = l->done == l->steps ? QUICK_OVER : QUICK_FULL;
    }
    mem_free(p.room);
    return !on || worth;
}
