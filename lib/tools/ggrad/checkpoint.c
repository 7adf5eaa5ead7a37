/* ggrad --checkpoint. */
#include "ad/checkpoint.h"

#include "scan/checkpoint.h"
#include "tools/ggrad/ggrad_impl.h"

#include <string.h>

/* Variables that live to the end of a run whatever the gradient does. */
static void find_alive(Derivation *d, Checkpoint *how) {
    const Graph *g = d->g;
    Var *v = NEW_N(d->a, d->kept + g->updates.n, Var);
    for (size_t i = 0; !d->d->only && i < d->kept; i++)
        v[how->alive.n++] = g->outputs.p[i].var;
    for (size_t i = 0; i < g->updates.n; i++)
        v[how->alive.n++] = g->updates.p[i].value;
    how->alive.p = v;
}

bool derive_loops(Graph *g, const Derive *how) {
    const Recomputation *r = how->recompute;
    if (r) return !r->loops || ad_segment_scans(g, r->steps);
    bool automatic = how->checkpoint && strcmp(how->checkpoint, "sqrt") == 0;
    return !automatic || ad_segment_scans(g, STRETCH_SQRT);
}

static bool find_kept(Derivation *d, Checkpoint *how) {
    find_alive(d, how);
    how->automatic = d->d->recompute || strcmp(d->d->checkpoint, "sqrt") == 0;
    if (d->d->recompute)
        how->parts = d->d->recompute->parts, how->share = d->d->recompute->share;
    if (how->automatic) return true;
    Span at = derive_span(d, "--checkpoint", d->d->checkpoint);
    if (!*d->d->checkpoint)
        return fail(d->s, NOWHERE, E_USAGE, "--checkpoint needs names, or sqrt");
    return names_find_vars(d->g, d->a, at, &how->keep);
}

bool derive_gradients(Derivation *d, const GradTarget *of, const GradOptions *how,
                      Var *grad) {
    Checkpoint keep = {0};
    GradTrace t = {.arena = d->a};
    bool all = d->d->recompute ? d->d->recompute->parts == 0 : !d->d->checkpoint;
    if (all) return ad_grad_traced(&d->b, of, d->wrt, how, grad, NULL);
    bool ok = find_kept(d, &keep) && ad_grad_traced(&d->b, of, d->wrt, how, grad, &t) &&
              ad_checkpoint(&d->b, &t, &keep, d->wrt.n, grad);
    vec_free(&t.source);
    return ok;
}
