/* What a run tells whoever watches it. */
#include "tools/run_impl.h"

/* The first output that is a real number: the one to show while the run goes on. */
static void find_number(GraphRun *r) {
    for (size_t i = 0; i + r->spec->nhidden < r->g->outputs.n && !r->now.name; i++) {
        const Type *t = var_type(r->g, r->g->outputs.p[i].var);
        if (t->kind != TYPE_TENSOR || t->ndim || dtype_is_complex(t->dtype)) continue;
        r->now.name = sym_text(r->s, r->g->outputs.p[i].label);
        r->number = i;
    }
}

void grun_state_begin(GraphRun *r) {
    const RunWatch *w = r->spec->watch;
    if (!w) return;
    find_number(r);
    w->begin(w->ctx, r, &r->now);
}

void grun_state_call(GraphRun *r) {
    const RunWatch *w = r->spec->watch;
    if (!w) return;
    if (r->now.name) r->now.value = tensor_f64(&vm_output(r->m, r->number)->t, 0);
    w->call(w->ctx, &r->now);
}

bool grun_stopped(const GraphRun *r) {
    const RunWatch *w = r->spec->watch;
    return w && w->stopped(w->ctx);
}

void grun_screen(const GraphRun *r, bool taken) {
    const RunWatch *w = r->spec->watch;
    if (w) w->screen(w->ctx, taken);
}
