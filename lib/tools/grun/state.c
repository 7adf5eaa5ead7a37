/* What a run tells whoever watches it. */
#include "tools/grun/grun_impl.h"

#include <math.h>

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
    find_number(r);
    if (w) w->begin(w->ctx, r, &r->now);
}

void grun_state_value(GraphRun *r) {
    if (r->now.name) r->now.value = tensor_f64(&vm_output(r->m, r->number)->t, 0);
    if (isfinite(r->now.value))
        r->odd_since = 0;
    else if (!r->odd_since)
        r->odd_since = r->now.done;
}

void grun_state_call(GraphRun *r) {
    const RunWatch *w = r->spec->watch;
    if (w) w->call(w->ctx, &r->now);
}

void grun_warn_of_nan(GraphRun *r) {
    if (!r->odd_since || r->now.done < 2 || !r->g->updates.n) return;
    warn(r->s, NOWHERE, E_NAN, "%s is %s from call %lld on", r->now.name,
         isnan(r->now.value) ? "nan" : "infinite", (long long)r->odd_since);
    hint(r->s, HINT_NAN_GUARD);
}

bool grun_stopped(const GraphRun *r) {
    const RunWatch *w = r->spec->watch;
    return w && w->stopped(w->ctx);
}

void grun_screen(const GraphRun *r, bool taken) {
    const RunWatch *w = r->spec->watch;
    if (w) w->screen(w->ctx, taken);
}
