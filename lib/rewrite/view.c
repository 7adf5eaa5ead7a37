/* The graph in the middle of a rewrite, for ops that decide about folding by their
 * neighbours: clients and outputs, seen through replacements. It is rebuilt when an op
 * asks after a change; a bound on how often keeps the whole run linear. */
#include "rewrite/rewrite_impl.h"

enum { WORK_PER_NODE = 64, SMALL = 1 << 16 };

typedef struct GraphLook {
    Rewriter *r;
    Arena *a;
    uint8_t *seen, *output; /* by Apply; by variable */
    Vec(ApplyId) todo;
} GraphLook;

static void see_view_apply(GraphLook *l, ApplyId a) {
    if (a == APPLY_NONE || l->seen[a]) return;
    l->seen[a] = 1;
    vec_push(l->r->s, &l->todo, a);
}

static void see_view_root(GraphLook *l, Var v) {
    v = rewriter_resolve(l->r, v);
    l->output[v] = 1;
    see_view_apply(l, var_owner(l->r->g, v));
}

static void see_all_from_roots(GraphLook *l) {
    const Graph *g = l->r->g;
    VarList root = graph_roots(g, l->a, ROOTS_RUN),
            init = graph_roots(g, l->a, ROOTS_INIT);
    for (size_t i = 0; i < root.n; i++)
        see_view_root(l, root.p[i]);
    for (size_t i = 0; i < init.n; i++)
        see_view_apply(l, var_owner(g, rewriter_resolve(l->r, init.p[i])));
    while (l->todo.n) {
        ApplyId a = l->todo.p[--l->todo.n];
        for (size_t i = 0; i < g->apply[a].nin; i++)
            see_view_apply(l, var_owner(g, rewriter_input(l->r, a, i)));
    }
}

static Clients find_view_clients(GraphLook *l) {
    const Graph *g = l->r->g;
    Clients c = {NEW_N(l->a, (size_t)g->nvar + 2, uint32_t), NULL};
    for (ApplyId a = 0; a < g->napply; a++)
        for (size_t i = 0; l->seen[a] && i < g->apply[a].nin; i++)
            c.first[rewriter_input(l->r, a, i) + 2]++;
    for (Var v = 2; v < g->nvar + 2; v++)
        c.first[v] += c.first[v - 1];
    c.client = NEW_N(l->a, c.first[g->nvar + 1], ApplyId);
    for (ApplyId a = 0; a < g->napply; a++)
        for (size_t i = 0; l->seen[a] && i < g->apply[a].nin; i++)
            c.client[c.first[rewriter_input(l->r, a, i) + 1]++] = a;
    return c;
}

void view_free(Rewriter *r) {
    arena_free(r->view_arena);
    r->view_arena = NULL;
}

const GraphView *view_now(Rewriter *r) {
    const Graph *g = r->g;
    bool same = r->view_arena && r->view_epoch == r->epoch &&
                r->view_fired == r->fired && r->view_napply == g->napply;
    if (same) return &r->view;
    r->view_work += g->napply;
    if (r->view_work > WORK_PER_NODE * (uint64_t)g->napply + SMALL) return NULL;
    view_free(r);
    r->view_arena = arena_new(r->s);
    GraphLook l = {.r = r, .a = r->view_arena};
    l.seen = NEW_N(l.a, g->napply, uint8_t);
    l.output = NEW_N(l.a, g->nvar, uint8_t);
    see_all_from_roots(&l);
    r->view = (GraphView){g, NULL, l.output};
    r->view_clients = find_view_clients(&l);
    r->view.clients = &r->view_clients;
    r->view_epoch = r->epoch;
    r->view_fired = r->fired;
    r->view_napply = g->napply;
    vec_free(&l.todo);
    return &r->view;
}
