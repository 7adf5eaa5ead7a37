/* each_shard: one machine runs the function for one shard after the other, on rows of
 * its arguments where they are. */
#include "op/shards.h"

#include "vm/vm_impl.h"

typedef struct ShardStep {
    Machine *m, *sub;
    uint32_t step;
} ShardStep;

static bool run_one_shard(void *ctx, int64_t i, const Value *const *in,
                          const Value **out) {
    ShardStep *w = ctx;
    const Ins *ins = &w->m->p->ins[w->step];
    for (uint32_t k = 0; k < ins->nin; k++) {
        Value v = *in[k];
        v.t.buf = NULL; /* borrowed, as by a call */
        if (!vm_set_input(w->sub, k, &v)) return false;
    }
    if (!run_inside(w->m, w->step, w->sub, i, vm_run))
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
    bool ok = shard_form(m->s, p->op, p->props, r->nargs, r->nout, a, &r->form) &&
              shards_run(r);
    for (uint32_t j = 0; j < in->nout; j++) {
        ok = ok && function_result(m, arg[in->nin + j], &r->out[j]);
        value_unref(&r->out[j]);
    }
    return ok;
}

bool run_shards(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    ShardStep w = {m, function_machine(m, in), step};
    if (!w.sub) return false;
    if (w.sub->running) return vm_run(w.sub); /* reports the recursion */
    ShardRun r = {.s = m->s,
                  .at = m->p->g->origin[in->apply].at,
                  .nargs = in->nin - 1U,
                  .nout = in->nout,
                  .run = run_one_shard,
                  .ctx = &w};
    Arena *a = arena_new(m->s);
    bool ok = run_form(&w, &r, a);
    arena_free(a);
    return ok;
}
