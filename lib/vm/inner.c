/* Machines within machines: calls of functions, and the services for ops and lower
 * rows. All calls of a function under one outermost machine share a machine: functions
 * are not recursive, so it is never active twice. What it computes is copied to the
 * caller, so all functions that are called at one depth share an arena. */
#include "vm/vm_impl.h"

#include <string.h>

/* ---- calls ---- */
Plan *plan_function(const Machine *m, const Graph *fn, const PlanOptions *results) {
    PlanOptions o = m->p->o;
    if (session_is_hushed(m->s)) return NULL; /* see scan_threads.c */
    o.own_results = results->own_results;
    o.results_apart = results->results_apart;
    o.nstate = results->nstate;
    o.state = results->state;
    o.loop = results->loop;
    o.nwant = 0;
    o.want = NULL;
    o.only_want = false;
    return plan_new((Graph *)(uintptr_t)fn, &o); /* planning only reads */
}

Machine *function_machine(Machine *m, const Ins *in) {
    const Graph *fn = in->fn;
    Machine *top = outermost_machine(m);
    uint64_t found, key = (uintptr_t)fn + (in->rows != NULL);
    if (map_get(&top->inner, key, &found)) return top->inners.p[found];
    if (m->depth >= CALL_DEPTH) {
        session_too_deep(m->s, m->p->g->origin[in->apply].at);
        return NULL;
    }
    bool by_rows = in->rows != NULL;
    Plan *p = plan_function(
        m, fn, &(PlanOptions){.own_results = by_rows, .results_apart = by_rows});
    if (!p) return NULL;
    Machine *sub = machine_new(p, m->depth + 1, m);
    sub->borrows = true;
    map_put(&top->inner, key, top->inners.n);
    vec_push(m->s, &top->inners, sub);
    vm_set_hooks(sub, &m->hooks);
    return sub;
}

bool function_result(Machine *m, uint32_t cell, const Value *v) {
    if (m->p->sharing.cell[cell].flags & CELL_BOXED) {
        Value copy = {0};
        value_copy_view(&copy, v);
        step_set_box(m, cell, copy);
        return true;
    }
    void *data = place_get(m, m->place_of[cell], tensor_bytes(&v->t));
    if (!data) return false;
    const Layout *l = layout_get(&m->layouts, v->t.dtype, v->t.ndim, v->t.shape, NULL);
    m->cell[cell] = (Cell){data, l, m->place[m->place_of[cell]].buf, false};
    Value mine;
    cell_value(m, cell, &mine);
    tensor_assign(&mine.t, &v->t);
    return true;
}

bool run_inside(Machine *m, uint32_t ins, Machine *sub, int64_t step,
                bool (*run)(Machine *sub)) {
    const VmHooks *h = &m->hooks;
    sub->hooked =
        m->hooked &&
        (!h->enter || h->enter(h->ctx, m->p->g, m->p->ins[ins].apply, sub->p->g, step));
    bool ok = run(sub);
    if (sub->hooked && h->leave) h->leave(h->ctx);
    return ok;
}

bool run_function(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    Machine *sub = function_machine(m, in);
    if (!sub) return false;
    if (sub->running) return vm_run(sub); /* reports the recursion */
    sub->level = m->level + 1;
    sub->caller = m->p->g;
    sub->call = in->apply;
    for (uint32_t k = 0; k < in->nin; k++) {
        Value v;
        cell_value(m, arg[k], &v);
        v.t.buf = NULL; /* borrowed: a buffer with another reference would not be
                         * reused */
        if (!vm_set_input(sub, k, &v)) return false;
    }
    bool ok = run_inside(m, step, sub, -1, vm_run);
    if (!ok) note(m->s, m->p->g->origin[in->apply].at, "called here");
    for (uint32_t j = 0; ok && j < in->nout; j++)
        ok = function_result(m, arg[in->nin + j], vm_output(sub, j));
    return ok;
}

/* ---- services ---- */
static bool eval_graph(Graph *g, size_t n, const Var *want, Value *out) {
    Plan *p = plan_new(g, &(PlanOptions){.nwant = n,
                                         .want = want,
                                         .only_want = true,
                                         .own_results = true,
                                         .debugging = services(g->s)->debugging});
    if (!p) return false;
    Machine *m = vm_new(p);
    bool ok = vm_run(m);
    for (size_t i = 0; ok && i < n; i++) {
        out[i] = (Value){0};
        value_copy_view(&out[i], vm_output(m, i));
    }
    vm_free(m);
    plan_free(p);
    return ok;
}

struct Inner {
    Plan *plan;
    Machine *m;
};

static struct Inner *inner_new(Session *s, const Graph *fn) {
    PlanOptions how = {.own_results = true, .debugging = services(s)->debugging};
    Plan *p = plan_new((Graph *)(uintptr_t)fn, &how); /* planning only reads */
    if (!p) return NULL;
    struct Inner *r = mem_zalloc(s, 1, sizeof *r);
    *r = (struct Inner){p, vm_new(p)};
    return r;
}

static bool inner_run(struct Inner *r, const Value *const *in, Value *out, Span at) {
    Machine *m = r->m;
    bool ok = true;
    for (size_t i = 0; ok && i < r->plan->g->inputs.n; i++) {
        Value v = *in[i];
        v.t.buf = NULL; /* borrowed for this run */
        ok = vm_set_input(m, i, &v);
    }
    ok = ok && vm_run(m);
    if (!ok)
        return note(m->s, at, "in the function %s", sym_text(m->s, r->plan->g->name));
    size_t n = r->plan->noutput;
    for (size_t i = 0; i < n; i++) {
        out[i] = (Value){0};
        value_copy_view(&out[i], vm_output(m, i));
    }
    if (!vm_until(m)) return true;
    out[n] = (Value){0};
    value_copy_view(&out[n], vm_until(m));
    return true;
}

static void inner_free(struct Inner *r) {
    if (!r) return;
    vm_free(r->m);
    plan_free(r->plan);
    mem_free(r);
}

void vm_open(Session *s) {
    Services *t = services(s);
    t->eval = eval_graph;
    t->inner_new = inner_new;
    t->inner_run = inner_run;
    t->inner_free = inner_free;
}
