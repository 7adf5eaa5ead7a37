/* Blocks of rows on several threads. As for steps of a loop (scan_threads.c), each
 * thread has a machine, whose first block runs before the threads do, and only
 * reentrant kernels run. As many blocks as there are machines run at a time; sums are
 * then added in the order of the rows, so that they are the same bits for any number of
 * threads. If anything fails, all blocks are computed again, one after the other, and
 * the first that fails reports. */
#include "base/pool.h"
#include "vm/by_rows.h"

#include <stdatomic.h>

enum { LEAST_BLOCKS = 3, MOST_BYTES = 64 << 20 };

typedef struct RowsThreads {
    Session *s;
    Plan *plan;    /* for one thread */
    unsigned n;    /* machines */
    uint64_t warm; /* each has run a block of what was chosen then */
    RowsRun *run;  /* by machine */
    Aim *aim;
    int64_t from; /* of the blocks that run now */
    atomic_bool failed;
} RowsThreads;

/* ---- machines ---- */

void rows_threads_free(RowsThreads *q) {
    if (!q) return;
    for (unsigned i = 0; i < q->n; i++)
        vm_free(q->run[i].sub);
    plan_free(q->plan);
    mem_free(q->run);
    mem_free(q->aim);
    mem_free(q);
}

size_t rows_threads_bytes(const RowsThreads *q) {
    size_t all = 0;
    for (unsigned i = 0; q && i < q->n; i++) {
        VmMemory m = vm_memory(q->run[i].sub);
        all += m.arena + m.grown + m.scratch;
    }
    return all;
}

static int64_t whole_blocks(const RowsRun *w, int64_t from) {
    return (w->rows - from) / w->block->rows;
}

static bool may_share(const RowsRun *w, int64_t from) {
    const Machine *m = w->m;
    const PlanOptions *o = &m->p->o;
    const RowsBlock *b = w->block;
    if (b->alone || m->hooked || pool_threads(m->pool) == 1 || o->impl == IMPL_DEBUG ||
        o->debugging || session_is_hushed(m->s) ||
        whole_blocks(w, from) < (b->threads ? b->threads->n : LEAST_BLOCKS))
        return false;
    for (uint32_t k = 0; k < w->in->nout; k++)
        if (!b->whole[k]) return false;
    return true;
}

/* No more of them than there are blocks. */
static RowsThreads *threads_new(const RowsRun *w, int64_t blocks) {
    Session *s = w->m->s;
    unsigned n = pool_threads(w->m->pool);
    PlanOptions o = w->sub->p->o;
    o.want = NULL; /* that plan's own list */
    o.nwant = 0;
    o.threads = 1;
    Plan *p = plan_new((Graph *)(uintptr_t)w->in->fn, &o); /* planning only reads */
    if (!p) return NULL;
    RowsThreads *q = mem_zalloc(s, 1, sizeof *q);
    *q = (RowsThreads){.s = s, .plan = p, .n = blocks < n ? (unsigned)blocks : n};
    q->run = mem_zalloc(s, q->n, sizeof *q->run);
    q->aim = mem_zalloc(s, (size_t)q->n * w->in->nout, sizeof *q->aim);
    for (unsigned i = 0; i < q->n; i++)
        q->run[i].sub = machine_new(p, w->m->depth + 1, NULL);
    return q;
}

/* Lets the machine compute blocks of this call, beginning with that at row `at`. */
static bool open_machine(RowsThreads *q, unsigned i, const RowsRun *w, int64_t at) {
    Machine *b = q->run[i].sub;
    q->run[i] = *w;
    q->run[i].sub = b;
    q->run[i].aim = q->aim + (size_t)i * w->in->nout;
    for (uint32_t k = 0; k < w->in->nin; k++) {
        Value v;
        cell_value(w->m, w->arg[k], &v);
        if (w->in->rows->in[k] >= 0)
            rows_take(&v.t, w->in->rows->in[k], at, w->block->rows);
        v.t.buf = NULL; /* borrowed for the run */
        if (!vm_set_input(b, k, &v)) return false;
    }
    b->running = true;
    rows_aim(&q->run[i], at, w->block->rows);
    if (b->laid_out) rows_point(&q->run[i]);
    return bind_leaves(b) && place_refresh_all(b);
}

static void close_machine(RowsThreads *q, unsigned i) {
    Machine *b = q->run[i].sub;
    if (b->laid_out && q->run[i].m) rows_free_places(&q->run[i]);
    place_free_retired(b);
    b->running = false;
}

/* ---- blocks ---- */

static void output_of(const RowsRun *w, uint32_t k, Value *v) {
    cell_value(w->sub, w->sub->p->sharing.output[k].cell, v);
}

static void run_block(void *ctx, size_t i, unsigned worker) {
    RowsThreads *q = ctx;
    const RowsRun *w = &q->run[i];
    Machine *b = w->sub;
    (void)worker;
    int64_t n = w->block->rows, at = q->from + (int64_t)i * n;
    for (uint32_t k = 0; k < w->in->nin; k++) {
        int64_t axis = w->in->rows->in[k];
        const Cell *c = &w->m->cell[w->arg[k]];
        if (axis >= 0)
            b->cell[b->p->input[k]].data =
                (char *)c->data + at * c->layout->stride[axis];
    }
    rows_aim(w, at, n);
    rows_point(w);
    if (!steps_run(b)) {
        atomic_store(&q->failed, true);
        return;
    }
    for (uint32_t k = 0; k < w->in->nout; k++) {
        Value v;
        output_of(w, k, &v);
        if (w->in->rows->out[k] >= 0) rows_place(w, k, &v.t, at, n);
    }
}

/* Of the blocks that have run, in order. */
static bool add_sums(RowsThreads *q, unsigned blocks) {
    for (unsigned i = 0; i < blocks; i++) {
        const RowsRun *w = &q->run[i];
        int64_t at = q->from + (int64_t)i * w->block->rows;
        for (uint32_t k = 0; k < w->in->nout; k++) {
            Value v;
            output_of(w, k, &v);
            if (w->in->rows->out[k] < 0 && !rows_add(w, k, &v.t, at)) return false;
        }
    }
    return true;
}

/* The first block of each machine, while no other runs. */
static bool warm_machines(RowsThreads *q, const RowsRun *w) {
    for (unsigned i = 0; i < q->n && !q->failed; i++) {
        run_block(q, i, i);
        const Machine *b = q->run[i].sub;
        q->failed |=
            !machine_is_reentrant(b, q->n) || vm_memory(b).arena > MOST_BYTES / q->n;
    }
    if (q->failed || !add_sums(q, q->n)) return false;
    q->warm = w->block->chosen;
    q->from += (int64_t)q->n * w->block->rows;
    return true;
}

static bool run_waves(RowsThreads *q, const RowsRun *w) {
    bool ok = true;
    session_hush(q->s, true);
    for (int64_t left; ok && (left = whole_blocks(w, q->from)) > 0;) {
        unsigned n = left < q->n ? (unsigned)left : q->n;
        pool_run(w->m->pool, n, run_block, q);
        ok = !q->failed && add_sums(q, n);
        q->from += (int64_t)n * w->block->rows;
    }
    session_hush(q->s, false);
    return ok;
}

static bool run_on_threads(RowsThreads *q, const RowsRun *w, int64_t from) {
    bool ok = true;
    q->from = from;
    q->failed = false;
    for (unsigned i = 0; ok && i < q->n; i++)
        ok = open_machine(q, i, w, from);
    ok = ok && (q->warm == w->block->chosen || warm_machines(q, w)) && run_waves(q, w);
    for (unsigned i = 0; i < q->n; i++)
        close_machine(q, i);
    return ok;
}

int64_t rows_share(const RowsRun *w, int64_t from) {
    RowsBlock *b = w->block;
    if (!may_share(w, from)) return from;
    size_t mark = diag_count(w->m->s);
    if (!b->threads && machine_is_reentrant(w->sub, pool_threads(w->m->pool)))
        b->threads = threads_new(w, whole_blocks(w, from));
    bool ok = b->threads && run_on_threads(b->threads, w, from);
    diag_rewind(w->m->s, mark);
    if (ok) return b->threads->from;
    rows_threads_free(b->threads);
    b->threads = NULL;
    b->alone = true;
    return 0;
}
