#include "op/rowwise.h"

typedef struct RowwiseSettle {
    Graph *g;
    Arena *arena;
    uint8_t *row; /* by variable: result of an effect for one row */
    uint8_t *live, *gone;
    Var *forward;
} RowwiseSettle;

static bool is_row_effect(const RowwiseSettle *t, ApplyId a) {
    return t->row[t->g->apply[a].out];
}

/* Finds the variables that anything but these effects reads. */
static void find_live_without_rows(RowwiseSettle *t) {
    Graph *g = t->g;
    ApplyId *all = arena_copy(t->arena, g->effects.p, g->effects.n * sizeof *all);
    size_t n = g->effects.n;
    g->effects.n = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_row_effect(t, all[i])) vec_push(g->s, &g->effects, all[i]);
    t->live = graph_live(g, t->arena, ROOTS_RUN | ROOTS_INIT);
    g->effects.n = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_row_effect(t, all[i]) || t->live[g->apply[all[i]].out])
            vec_push(g->s, &g->effects, all[i]);
}

/* Removes an unread effect: readers of its result read its input instead. */
static void end_effect(RowwiseSettle *t, ApplyId a) {
    const Apply *r = &t->g->apply[a];
    if (r->op->identity) {
        t->forward[r->out] = apply_in(t->g, a)[0];
        return;
    }
    for (Var k = 0; k < r->nout; k++)
        t->gone[r->out + k] = 1;
}

static void end_unread_effects(RowwiseSettle *t) {
    Graph *g = t->g;
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *r = &g->apply[a];
        bool gone = false;
        for (uint32_t i = 0; i < r->nin; i++)
            gone |= t->gone[apply_in(g, a)[i]];
        for (Var k = 0; gone && k < r->nout; k++)
            t->gone[r->out + k] = 1;
        if (is_row_effect(t, a) && !t->live[r->out]) end_effect(t, a);
    }
}

static void unname_gone(RowwiseSettle *t) {
    Graph *g = t->g;
    size_t kept = 0;
    for (size_t i = g->names.n; i-- > 0;)
        if (t->gone[g->names.p[i].var]) graph_unname(g, g->names.p[i].name);
    for (size_t i = 0; i < g->trees.n; i++)
        if (!t->gone[g->trees.p[i].var]) g->trees.p[kept++] = g->trees.p[i];
    g->trees.n = kept;
}

void rowwise_settle(Graph *g) {
    if (!g->rowwise.n) return;
    Arena *arena = arena_new(g->s);
    RowwiseSettle t = {.g = g,
                       .arena = arena,
                       .row = NEW_N(arena, g->nvar + 1, uint8_t),
                       .gone = NEW_N(arena, g->nvar + 1, uint8_t),
                       .forward = NEW_N(arena, g->nvar + 1, Var)};
    for (Var v = 0; v < g->nvar; v++)
        t.forward[v] = v;
    for (size_t i = 0; i < g->rowwise.n; i++)
        t.row[g->rowwise.p[i]] = 1;
    find_live_without_rows(&t);
    end_unread_effects(&t);
    unname_gone(&t);
    graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, t.forward, false);
    arena_free(arena);
}
