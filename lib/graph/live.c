/* What roots need, and clients: two sweeps over the arrays, since ids are in
 * topological order. */
#include "graph/graph_impl.h"

typedef struct Roots {
    Var *p;
    size_t n;
} Roots;

static void add_root(Roots *r, Var v) {
    if (v != VAR_NONE) r->p[r->n++] = v;
}

static void add_names(Roots *r, const VarName *name, size_t n) {
    for (size_t i = 0; i < n; i++)
        add_root(r, name[i].var);
}

VarList graph_roots(const Graph *g, Arena *a, unsigned roots) {
    size_t most = g->outputs.n + g->updates.n + g->shared.n;
    if (roots & ROOTS_NAMED) most += g->names.n + g->trees.n;
    for (size_t i = 0; i < g->effects.n; i++)
        most += g->apply[g->effects.p[i]].nout;
    Roots r = {.p = NEW_N(a, most + 1, Var)};
    for (size_t i = 0; roots & ROOTS_RESULTS && i < g->outputs.n; i++)
        add_root(&r, g->outputs.p[i].var);
    for (size_t i = 0; roots & ROOTS_RESULTS && i < g->updates.n; i++)
        add_root(&r, g->updates.p[i].value);
    if (roots & ROOTS_RESULTS) add_root(&r, g->until);
    for (size_t i = 0; roots & ROOTS_EFFECTS && i < g->effects.n; i++)
        for (Var k = 0; k < g->apply[g->effects.p[i]].nout; k++)
            add_root(&r, g->apply[g->effects.p[i]].out + k);
    for (size_t i = 0; roots & ROOTS_INIT && i < g->shared.n; i++)
        add_root(&r, var_leafrec(g, g->shared.p[i])->init);
    if (roots & ROOTS_NAMED) {
        add_names(&r, g->names.p, g->names.n);
        add_names(&r, g->trees.p, g->trees.n);
    }
    return (VarList){r.n, r.p};
}

uint8_t *graph_root_marks(const Graph *g, Arena *a, unsigned roots) {
    uint8_t *mark = NEW_N(a, g->nvar, uint8_t);
    VarList root = graph_roots(g, a, roots);
    for (size_t i = 0; i < root.n; i++)
        mark[root.p[i]] = 1;
    return mark;
}

static bool has_live_output(const Apply *a, const uint8_t *live) {
    for (Var k = 0; k < a->nout; k++)
        if (live[a->out + k]) return true;
    return false;
}

void graph_spread_needs(const Graph *g, ApplyId from, uint8_t *need) {
    for (ApplyId i = g->napply; i-- > from;) {
        const Apply *r = &g->apply[i];
        if (!has_live_output(r, need)) continue;
        for (unsigned k = 0; k < r->nin; k++)
            need[g->in[r->in + k]] = 1;
    }
}

uint8_t *graph_live(const Graph *g, Arena *a, unsigned roots) {
    uint8_t *live = graph_root_marks(g, a, roots);
    for (size_t i = 0; roots & ROOTS_RESULTS && i < g->updates.n; i++)
        live[g->updates.p[i].shared] = 1;
    graph_spread_needs(g, 0, live);
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
