/* each_shard: one machine runs the function for one shard after the other, on rows of
 * its arguments where they are. Sums of the last shard are taken when they are
 * computed, so that their exchange between ranks begins beside the rest of it. */
#include "op/shards.h"

#include "vm/vm_impl.h"

typedef struct ShardStep {
    Machine *m, *sub;
    uint32_t step;
    ShardRun *run;
    bool early;  /* something may begin before the last shard is over */
    bool *there; /* by output: its cell has it */
} ShardStep;

/* Output k of the function, if instruction `step` has made it as it will be. */
static bool is_made_by(const ShardStep *w, uint32_t k, uint32_t step) {
    const Sharing *h = &w->sub->p->sharing;
    const Result *r = &h->output[k];
    return r->copy == NONE && r->cell >= w->sub->p->nleaf &&
           h->cell[r->cell].born == step && !(h->cell[r->cell].flags & CELL_BOXED);
}

static bool take_early(void *ctx, uint32_t step) {
    ShardStep *w = ctx;
    Machine *m = w->m;
    const Ins *ins = &m->p->ins[w->step];
    bool any = false;
    for (uint32_t k = 0; k < ins->nout; k++) {
        Value v;
        if (w->run->form.result[k] != SHARD_SUM || !is_made_by(w, k, step)) continue;
        cell_value(w->sub, w->sub->p->sharing.output[k].cell, &v);
        if (!shards_add_last(w->run, k, &v.t) ||
            !function_result(m, m->p->arg[ins->arg + ins->nin + k], &w->run->out[k]))
            return false;
        any = w->there[k] = true;
    }
    return !any || overlap_begin_early(m, w->step, w->there);
}

/* Is there an exchange to begin, and who makes it? */
static bool has_early(const Machine *m, uint32_t step) {
    bool any = false;
    if (!m->overlaps || !ranks_reduce_overlaps(m->s, SIZE_MAX)) return false;
    for (uint32_t i = step + 1; i < m->p->nins; i++)
        any |= m->p->early[i] == step;
    return any;
}

static bool run_one_shard(void *ctx, int64_t i, const Value *const *in,
                          const Value **out) {
    ShardStep *w = ctx;
    const Ins *ins = &w->m->p->ins[w->step];
    const Told told = {take_early, w};
    for (uint32_t k = 0; k < ins->nin; k++) {
        Value v = *in[k];
        v.t.buf = NULL; /* borrowed, as by a call */
        if (!vm_set_input(w->sub, k, &v)) return false;
    }
    w->sub->told = w->early && i + 1 == shards_here(w->run) ? &told : NULL;
    bool ok = run_inside(w->m, w->step, w->sub, i, vm_run);
    w->sub->told = NULL;
    if (!ok)
        return note(w->m->s, w->m->p->g->origin[ins->apply].at, "in shard %lld",
                    (long long)i);
    for (uint32_t k = 0; k < ins->nout; k++)
        out[k] = vm_output(w->sub, k);
    return true;
}

static bool run_form(ShardStep *w, ShardRun *r, Arena *a) {
    Machine *m = w->m;
    const Ins *in = &m->p->ins[w->step];
    const uint32_t *arg = m->p->arg + in->arg;
    const Apply *p = &m->p->g->apply[in->apply];
    Value *given = NEW_N(a, in->nin, Value);
    const Value **args = NEW_N(a, in->nin, const Value *);
    for (uint32_t k = 0; k < in->nin; k++) {
        cell_value(m, arg[k], &given[k]);
        args[k] = &given[k];
    }
    r->rows = tensor_i64(&given[0].t, 0);
    r->arg = args + 1;
    r->out = NEW_N(a, in->nout, Value);
    w->there = NEW_N(a, in->nout, bool);
    w->early = has_early(m, w->step);
    bool ok = shard_form(m->s, p->op, p->props, r->nargs, r->nout, a, &r->form) &&
              shards_run(r);
    for (uint32_t j = 0; j < in->nout; j++) {
        ok = ok && (w->there[j] || function_result(m, arg[in->nin + j], &r->out[j]));
        value_unref(&r->out[j]);
    }
    return ok;
}

bool run_shards(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    ShardStep w = {.m = m, .sub = function_machine(m, in), .step = step};
    if (!w.sub) return false;
    if (w.sub->running) return vm_run(w.sub); /* reports the recursion */
    ShardRun r = {.s = m->s,
                  .at = m->p->g->origin[in->apply].at,
                  .nargs = in->nin - 1U,
                  .nout = in->nout,
                  .run = run_one_shard,
                  .ctx = &w};
    w.run = &r;
    Arena *a = arena_new(m->s);
    bool ok = run_form(&w, &r, a);
    arena_free(a);
    return ok;
}
