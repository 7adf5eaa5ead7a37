/* Steps that don't need each other, as those of a map, on several threads. Each thread
 * has a machine for the body, and copies its results to the rows. The first step has
 * run before, and each machine's first one runs before its thread does: what the
 * session and its tables make on first use is made by then. Nothing else of the session
 * is used, because only reentrant kernels run, and no diagnostics are kept: if a
 * step fails, all are run again, one after the other, and the first that fails
 * reports. */
#include "base/pool.h"
#include "vm/scan.h"

#include <stdatomic.h>
#include <string.h>

enum {
    LEAST_STEPS = 4,
    CHUNKS = 8, /* for each thread */
    MOST_BYTES = 64 << 20
};
static const double worth_seconds = 2e-4; /* for all steps, by the first one */

typedef struct SharedSteps {
    ScanRun *l;
    Plan *plan; /* for one thread */
    unsigned n; /* machines, one for each thread */
    bool warm;  /* each has run a step */
    Machine **body;
    int64_t first, chunk; /* of this run: the step to begin with; steps of a chunk */
    LoopProgress *shown;
    atomic_bool failed;
} SharedSteps;

/* ---- what can be shared ---- */
static bool is_free_op(const Machine *m, const Op *op, unsigned threads) {
    if (op->from || op->plugin || op->effect) return false;
    return op->reentrant || (op_rare(op)->share && op_rare(op)->share(m->s, threads));
}

static bool is_free_block(const BlockProgram *b) {
    for (uint32_t i = 0; i < b->nop; i++)
        if (b->op[i].op && b->op[i].op->plugin) return false;
    return true;
}

static bool is_free_step(const Machine *m, uint32_t i, unsigned threads) {
    const Ins *in = &m->p->ins[i];
    if (in->kind == PLAN_LOOP || in->kind == PLAN_FUSED) return is_free_block(in->prog);
    if (in->kind == PLAN_SCAN)
        return !in->shards && m->scan && m->scan[i] &&
               machine_is_reentrant(m->scan[i]->body, threads);
    return in->kind == PLAN_PERFORM && !in->thunk && !in->begins &&
           is_free_op(m, m->p->g->apply[in->apply].op, threads);
}

bool machine_is_reentrant(const Machine *m, unsigned threads) {
    const Plan *p = m->p;
    bool is = !p->lazy && !p->has_boxes && !p->has_thunks && !p->has_overlap &&
              p->g->effects.n == 0 && p->g->shared.n == 0;
    for (uint32_t i = 0; is && i < p->nins; i++)
        is = is_free_step(m, i, threads);
    return is;
}

bool scan_may_share(const ScanRun *l) {
    const PlanOptions *o = &l->m->p->o;
    if (l->alone || l->m->hooked || l->steps < LEAST_STEPS ||
        pool_threads(l->m->pool) == 1 || o->impl == IMPL_DEBUG || o->debugging ||
        l->f.fn->until != VAR_NONE || session_is_hushed(l->s))
        return false;
    for (size_t i = 0; i < l->f.nout; i++)
        if (l->f.out[i].ntap || l->f.out[i].keep != SCAN_ALL || l->row[i].object ||
            l->row[i].listed)
            return false;
    return true;
}

/* ---- machines ---- */
void scan_shared_free(SharedSteps *q) {
    if (!q) return;
    for (unsigned i = 0; i < q->n; i++)
        vm_free(q->body[i]);
    plan_free(q->plan);
    mem_free(q->body);
    mem_free(q);
}

size_t scan_shared_bytes(const SharedSteps *q) {
    size_t all = 0;
    for (unsigned i = 0; q && i < q->n; i++) {
        VmMemory m = vm_memory(q->body[i]);
        all += m.arena + m.grown + m.scratch;
    }
    return all;
}

static SharedSteps *shared_new(ScanRun *l) {
    PlanOptions o = l->plan->o;
    o.want = NULL; /* that plan's own list */
    o.nwant = 0;
    o.nstate = 0; /* it has none */
    o.threads = 1;
    Plan *p = plan_new((Graph *)(uintptr_t)l->f.fn, &o); /* planning only reads */
    if (!p) return NULL;
    SharedSteps *q = mem_zalloc(l->s, 1, sizeof *q);
    *q = (SharedSteps){.l = l, .plan = p, .n = pool_threads(l->m->pool)};
    q->body = mem_zalloc(l->s, q->n, sizeof(Machine *));
    for (unsigned i = 0; i < q->n; i++)
        q->body[i] = machine_new(p, l->m->depth + 1, NULL);
    return q;
}

/* An input as the loop's own machine has it. */
static bool copy_input(const ScanRun *l, Machine *b, size_t k) {
    Value v;
    cell_value(l->body, l->plan->input[k], &v);
    v.t.buf = NULL; /* borrowed for the run */
    return vm_set_input(b, k, &v);
}

static bool open_machine(const ScanRun *l, Machine *b) {
    for (size_t k = 0; k < l->f.nin; k++)
        if (!copy_input(l, b, k)) return false;
    b->running = true;
    return bind_leaves(b) && place_refresh_all(b);
}

static void close_machine(Machine *b) {
    place_free_retired(b);
    b->running = false;
}

/* ---- steps ---- */
static void point_to_step(const ScanRun *l, Machine *b, int64_t step) {
    size_t i = 0;
    for (size_t q = 0; q < l->f.nseq; q++)
        for (size_t k = 0; k < l->f.seq[q].ntap; k++, i++)
            b->cell[b->p->input[l->f.seq[q].in + k]].data =
                l->feed[i].at + step * l->feed[i].step;
}

/* False: it has another shape. */
static bool store_row(const ScanRun *l, const Machine *b, size_t i, int64_t step) {
    const Row *r = &l->row[i];
    Value v;
    cell_value(b, b->p->sharing.output[i].cell, &v);
    Tensor to = v.t;
    bool same = v.t.ndim == r->layout->ndim;
    for (int k = 0; same && k < v.t.ndim; k++) {
        same = v.t.shape[k] == r->layout->shape[k];
        to.stride[k] = r->layout->stride[k];
    }
    to.data = r->base + (size_t)step * r->bytes;
    if (same) tensor_assign(&to, &v.t);
    return same;
}

static void run_some_steps(void *ctx, size_t chunk, unsigned worker) {
    SharedSteps *q = ctx;
    const ScanRun *l = q->l;
    Machine *b = q->body[worker];
    int64_t i = q->first + (int64_t)chunk * q->chunk,
            end = l->steps - i < q->chunk ? l->steps : i + q->chunk;
    for (; i < end && !atomic_load_explicit(&q->failed, memory_order_relaxed); i++) {
        point_to_step(l, b, i);
        bool ok = steps_run(b);
        for (size_t k = 0; ok && k < l->f.nout; k++)
            ok = store_row(l, b, k, i);
        if (!ok) atomic_store(&q->failed, true);
        if (q->shown)
            atomic_fetch_add_explicit(&q->shown->done, 1, memory_order_relaxed);
    }
}

/* The first step of each machine, while no other runs. */
static bool warm_machines(SharedSteps *q) {
    bool ok = true;
    for (unsigned i = 0; ok && i < q->n; i++) {
        point_to_step(q->l, q->body[i], q->first);
        ok = steps_run(q->body[i]) && machine_is_reentrant(q->body[i], q->n) &&
             vm_memory(q->body[i]).arena < MOST_BYTES / q->n;
    }
    return q->warm = ok;
}

static bool run_on_threads(SharedSteps *q, LoopProgress *shown) {
    ScanRun *l = q->l;
    int64_t left = l->steps - l->done, parts = (int64_t)q->n * CHUNKS;
    bool ok = true;
    q->first = l->done;
    q->chunk = (left + parts - 1) / parts;
    q->shown = shown;
    q->failed = false;
    for (unsigned i = 0; ok && i < q->n; i++)
        ok = open_machine(l, q->body[i]);
    if (ok && (q->warm || warm_machines(q))) {
        session_hush(l->s, true);
        pool_run(l->m->pool, (size_t)((left + q->chunk - 1) / q->chunk), run_some_steps,
                 q);
        session_hush(l->s, false);
        ok = !q->failed;
    } else {
        ok = false;
    }
    for (unsigned i = 0; i < q->n; i++)
        close_machine(q->body[i]);
    return ok;
}

bool scan_share_steps(ScanRun *l, double seconds, LoopProgress *shown) {
    size_t mark = diag_count(l->s);
    if (seconds * (double)l->steps < worth_seconds) return false;
    if (!l->shared && machine_is_reentrant(l->body, pool_threads(l->m->pool)))
        l->shared = shared_new(l);
    bool ok = l->shared && run_on_threads(l->shared, shown);
    diag_rewind(l->s, mark);
    if (ok) {
        l->done = l->steps;
    } else {
        scan_shared_free(l->shared);
        l->shared = NULL;
        l->alone = true;
        if (shown) atomic_store_explicit(&shown->done, l->done, memory_order_relaxed);
    }
    return ok;
}
