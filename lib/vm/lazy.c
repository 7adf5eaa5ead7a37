/* Runs plans with lazy Applys. Instructions are visited in order; each runs in its turn
 * if it is wanted: unconditionally, or because a lazy one requested it. A lazy one is
 * asked what it needs once its first inputs are computed, usually long before its turn.
 * Whatever is requested after its turn runs at once, in order, from a heap; so does a
 * lazy one itself in its turn, until it is done. There is no recursion, and nothing
 * runs twice: a value that was computed and collected counts as computed. */
#include "vm/vm_impl.h"

#include <string.h>

/* ---- demand ---- */
static bool may_ask(const Machine *m, uint32_t step) {
    const Plan *p = m->p;
    const Ins *in = &p->ins[step];
    for (uint32_t k = 0; k < in->nin; k++)
        if (!ins_asks(in, k) && cell_computed(m, p->arg[in->arg + k]) == NOT_COMPUTED)
            return false;
    return in->thunk->once;
}

static void want_maker(Machine *m, uint32_t cell) {
    uint32_t i = m->p->lazy->maker[cell];
    if (i == NONE || m->lazy.flag[i] & RUN_WANTED) return;
    m->lazy.flag[i] |= RUN_WANTED;
    vec_push(m->s, &m->lazy.todo, i);
}

/* Requests the cell's instruction and everything that it certainly needs. */
static void want_cell(Machine *m, uint32_t cell) {
    Lazy *l = &m->lazy;
    want_maker(m, cell);
    while (l->todo.n) {
        uint32_t i = l->todo.p[--l->todo.n];
        const Ins *in = &m->p->ins[i];
        for (uint32_t k = 0; k < in->nin; k++)
            if (!ins_asks(in, k)) want_maker(m, m->p->arg[in->arg + k]);
        if (i < l->now) heap_push(m->s, &l->late, i);
        if (ins_is_lazy(in) && may_ask(m, i)) vec_push(m->s, &l->ask, i);
    }
}

/* Requests what the current Apply asks for. False: all of it is available. */
static bool want_needed(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    bool any = false;
    for (uint32_t k = 0; k < in->nin; k++) {
        uint32_t cell = m->p->arg[in->arg + k];
        if (!m->need[k] || cell_computed(m, cell) != NOT_COMPUTED) continue;
        want_cell(m, cell);
        any = true;
    }
    return any;
}

static void mark_done(Machine *m, uint32_t step) {
    const LazyPlan *p = m->p->lazy;
    m->lazy.flag[step] |= RUN_DONE;
    for (uint32_t k = p->watched[step]; k < p->watched[step + 1]; k++) {
        uint32_t i = p->watcher[k];
        if (m->lazy.flag[i] & RUN_WANTED && may_ask(m, i))
            vec_push(m->s, &m->lazy.ask, i);
    }
}

/* ---- lazy instructions ---- */
static bool call_after_hook(Machine *m, uint32_t step, bool asks, double seconds) {
    Call c;
    if (!m->hooked || !m->hooks.after) return true;
    step_call(m, step, &c);
    if (asks)
        c.nout = 0;
    else
        step_outputs(m, step, &c);
    return m->hooks.after(m->hooks.ctx, step, &c, seconds);
}

static bool call_before_hook(Machine *m, uint32_t step) {
    Call c;
    if (!m->hooked || !m->hooks.before) return true;
    step_call(m, step, &c);
    return m->hooks.before(m->hooks.ctx, step, &c);
}

static bool fail_asks(Machine *m, uint32_t step, const char *what) {
    Call c;
    step_call(m, step, &c);
    return call_fail(&c, E_PLUGIN, "%s", what);
}

/* Asked before its turn, to learn what to run. */
static bool ask_early(Machine *m, uint32_t step) {
    Lazy *l = &m->lazy;
    if (l->flag[step] & (RUN_ASKED | RUN_DONE)) return true;
    l->flag[step] |= RUN_ASKED;
    l->early = true;
    double start = m->hooked ? clock_seconds() : 0;
    ThunkResult r = step_perform(m, step);
    l->early = false;
    if (r == THUNK_FAILED) return step_failed(m, step);
    if (r == THUNK_NEEDS) {
        want_needed(m, step); /* none: it learns that in its turn */
        return true;
    }
    double end = m->hooked ? clock_seconds() : 0;
    mark_done(m, step);
    return call_before_hook(m, step) &&
           (call_after_hook(m, step, false, end - start) || step_failed(m, step));
}

static bool run_lazy(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    double start = m->hooked ? clock_seconds() : 0;
    ThunkResult r = step_perform(m, step);
    double end = m->hooked ? clock_seconds() : 0;
    if (r == THUNK_FAILED) return false;
    if (r == THUNK_DONE) {
        mark_done(m, step);
        return call_after_hook(m, step, false, end - start);
    }
    if (in->thunk->once && m->lazy.flag[step] & RUN_ASKED)
        return fail_asks(m, step,
                         "its thunk asks for inputs again, but is declared to "
                         "ask once");
    m->lazy.flag[step] |= RUN_ASKED;
    if (!want_needed(m, step))
        return fail_asks(m, step,
                         "its thunk is not done, but names no input that is "
                         "still to be computed");
    heap_push(m->s, &m->lazy.late, step);
    return call_after_hook(m, step, true, end - start);
}

static bool run_any(Machine *m, uint32_t step) {
    if (m->lazy.flag[step] & RUN_DONE) return true;
    if (ins_is_lazy(&m->p->ins[step]))
        return call_before_hook(m, step) && (run_lazy(m, step) || step_failed(m, step));
    if (!step_run(m, step)) return false;
    mark_done(m, step);
    return true;
}

/* ---- a run ---- */
static bool catch_up(Machine *m) {
    Lazy *l = &m->lazy;
    while (l->ask.n || l->late.n) {
        bool ok = l->ask.n ? ask_early(m, l->ask.p[--l->ask.n])
                           : run_any(m, heap_pop(&l->late));
        if (!ok) return false;
    }
    return true;
}

static void begin_lazy_run(Machine *m) {
    const Plan *p = m->p;
    Lazy *l = &m->lazy;
    if (p->nins) memcpy(l->flag, p->lazy->always, p->nins); /* 1: RUN_WANTED */
    l->late.n = l->ask.n = l->todo.n = 0;
    l->now = 0;
    l->early = false;
    for (uint32_t i = 0; i < p->lazy->nready; i++) {
        uint32_t step = p->lazy->ready[i];
        if (l->flag[step] & RUN_WANTED && may_ask(m, step))
            vec_push(m->s, &l->ask, step);
    }
}

bool lazy_run_steps(Machine *m) {
    Lazy *l = &m->lazy;
    begin_lazy_run(m);
    for (uint32_t i = 0; i < m->p->nins; i++) {
        l->now = i;
        if (!catch_up(m)) return false;
        if (l->flag[i] & RUN_WANTED && !run_any(m, i)) return false;
        if (!catch_up(m)) return false;
        step_end(m, i);
    }
    return true;
}
