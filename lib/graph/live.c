/* What roots need, and clients: two sweeps over the arrays, since ids are in
 * topological order. */
#include "graph/graph_impl.h"

static void mark_live(uint8_t *live, Var v) {
    if (v != VAR_NONE) live[v] = 1;
}

static void mark_run_roots(const Graph *g, uint8_t *live) {
    for (size_t i = 0; i < g->outputs.n; i++)
        mark_live(live, g->outputs.p[i].var);
    for (size_t i = 0; i < g->updates.n; i++) {
        mark_live(live, g->updates.p[i].value);
        mark_live(live, g->updates.p[i].shared);
    }
    for (size_t i = 0; i < g->effects.n; i++) {
        const Apply *a = &g->apply[g->effects.p[i]];
        for (Var k = 0; k < a->nout; k++)
            live[a->out + k] = 1;
    }
    mark_live(live, g->until);
}

static void mark_live_roots(const Graph *g, unsigned roots, uint8_t *live) {
    if (roots & ROOTS_RUN) mark_run_roots(g, live);
    for (size_t i = 0; roots & ROOTS_INIT && i < g->shared.n; i++)
        mark_live(live, var_leafrec(g, g->shared.p[i])->init);
    for (size_t i = 0; roots & ROOTS_NAMED && i < g->names.n; i++)
        live[g->names.p[i].var] = 1;
    for (size_t i = 0; roots & ROOTS_NAMED && i < g->trees.n; i++)
        live[g->trees.p[i].var] = 1;
}

static bool has_live_output(const Apply *a, const uint8_t *live) {
    for (Var k = 0; k < a->nout; k++)
        if (live[a->out + k]) return true;
    return false;
}

uint8_t *graph_live(const Graph *g, Arena *a, unsigned roots) {
    uint8_t *live = NEW_N(a, g->nvar, uint8_t);
    mark_live_roots(g, roots, live);
    for (ApplyId i = g->napply; i-- > 0;) {
        const Apply *r = &g->apply[i];
        if (!has_live_output(r, live)) continue;
        for (unsigned k = 0; k < r->nin; k++)
            live[g->in[r->in + k]] = 1;
    }
    return live;
}

Clients graph_clients(const Graph *g, Arena *a, const uint8_t *live) {
    Clients c = {NEW_N(a, (size_t)g->nvar + 1, uint32_t), NULL};
    uint8_t *used = NEW_N(a, g->napply, uint8_t);
    for (ApplyId i = 0; i < g->napply; i++) {
        const Apply *r = &g->apply[i];
        used[i] = !live || has_live_output(r, live);
        for (unsigned k = 0; used[i] && k < r->nin; k++)
            c.first[g->in[r->in + k]]++;
    }
    for (Var v = 0, sum = 0; v <= g->nvar; v++) {
        sum += c.first[v];
        c.first[v] = sum; /* the end of v's clients: filled backwards below */
    }
    c.client = NEW_N(a, c.first[g->nvar], ApplyId);
    for (ApplyId i = g->napply; i-- > 0;) {
        const Apply *r = &g->apply[i];
        for (unsigned k = r->nin; used[i] && k-- > 0;)
            c.client[--c.first[g->in[r->in + k]]] = i;
    }
    return c;
}
