/* Control dependence. Need spreads from clients to inputs, so a single walk over
 * descending ids finds for each Apply the condition (a scope) under which it is needed:
 * that of its clients if they all share one, else a new one. A lazy Apply gives each of
 * its lazy inputs a new scope, or each list of inputs (a branch of ifelse). */
#include "lang/lazy_scope.h"

#include <stdio.h>

bool lazy_scope_any(const Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (op_rare(g->apply[a].op)->thunk && op_rare(g->apply[a].op)->thunk->lazy)
            return true;
    return false;
}

typedef struct ScopeWalk {
    const Graph *g;
    uint32_t *scope;
    bool *mixed; /* by Apply: clients with different scopes, so it has its own */
    uint32_t next;
} ScopeWalk;

static void need_in_scope(ScopeWalk *w, Var v, uint32_t scope) {
    ApplyId a = v == VAR_NONE ? APPLY_NONE : var_owner(w->g, v);
    if (a == APPLY_NONE || w->scope[a] == scope || w->scope[a] == 0) return;
    if (w->scope[a] == SCOPE_NONE || scope == 0) {
        w->scope[a] = scope;
    } else if (!w->mixed[a]) {
        w->mixed[a] = true;
        w->scope[a] = w->next++;
    }
}

static void pass_scope_to_inputs(ScopeWalk *w, ApplyId a) {
    const Apply *r = &w->g->apply[a];
    const Var *in = apply_in(w->g, a);
    bool lazy = op_rare(r->op)->thunk && op_rare(r->op)->thunk->lazy;
    const Signature *sig = lazy ? op_signature(w->g->s, r->op) : NULL;
    bool lists = lazy && sig->nrest > 1;
    uint32_t first = w->next;
    if (lazy) w->next += lists ? (uint32_t)(signature_fixed(sig) + sig->nrest) : r->nin;
    for (uint32_t i = 0; i < r->nin; i++) {
        size_t number = i;
        if (lists && i >= signature_fixed(sig))
            number = signature_fixed(sig) + signature_list_of(sig, r->nin, i);
        need_in_scope(w, in[i],
                      lazy && op_input_is_lazy(r->op, i) ? first + (uint32_t)number
                                                         : w->scope[a]);
    }
}

uint32_t *lazy_scope_find(const Graph *g, Arena *arena, VarList want) {
    ScopeWalk w = {g, NEW_N(arena, g->napply, uint32_t), NEW_N(arena, g->napply, bool),
                   1};
    uint8_t *effect = NEW_N(arena, g->napply, uint8_t);
    for (ApplyId a = 0; a < g->napply; a++)
        w.scope[a] = SCOPE_NONE;
    for (size_t i = 0; i < g->effects.n; i++)
        effect[g->effects.p[i]] = 1;
    VarList root = graph_roots(g, arena, ROOTS_RESULTS | ROOTS_INIT);
    for (size_t i = 0; i < root.n; i++)
        need_in_scope(&w, root.p[i], 0);
    for (size_t i = 0; i < want.n; i++)
        need_in_scope(&w, want.p[i], 0);
    for (size_t i = 0; i < g->kept.n; i++)
        need_in_scope(&w, g->kept.p[i], 0);
    for (ApplyId a = g->napply; a-- > 0;) {
        if (w.scope[a] == SCOPE_NONE && effect[a]) w.scope[a] = 0;
        if (w.scope[a] != SCOPE_NONE) pass_scope_to_inputs(&w, a);
    }
    return w.scope;
}

bool *lazy_scope_conditional(const Graph *g, Arena *a, const uint32_t *scope) {
    bool *r = NEW_N(a, g->effects.n, bool);
    for (size_t i = 0; i < g->effects.n; i++)
        r[i] = scope[g->effects.p[i]] != 0;
    return r;
}

/* ---- unread results with effects ---- */

typedef enum ReadState { READ_NOT, READ_NO_EFFECT, READ_DONE } ReadState;
typedef struct UnreadWalk {
    Graph *g;
    const Var *forward;
    uint8_t *reading; /* by Apply */
    uint8_t *effect;  /* by Apply */
    Vec(ApplyId) found;
    uint32_t named; /* last number used in a name */
} UnreadWalk;

static Var follow_forward(const UnreadWalk *u, Var v) {
    while (u->forward && v != VAR_NONE && u->forward[v] != v)
        v = u->forward[v];
    return v;
}

static void add_found(UnreadWalk *u, Var v) {
    v = follow_forward(u, v);
    ApplyId a = v == VAR_NONE ? APPLY_NONE : var_owner(u->g, v);
    if (a == APPLY_NONE || u->reading[a] != READ_NOT) return;
    u->reading[a] = READ_NO_EFFECT;
    vec_push(u->g->s, &u->found, a);
}

/* Adds everything that the Applies in `found` need; does that include an effect? */
static bool add_needs_of_found(UnreadWalk *u) {
    bool effect = false;
    for (size_t i = 0; i < u->found.n; i++) {
        ApplyId a = u->found.p[i];
        effect |= u->effect[a];
        for (uint32_t k = 0; k < u->g->apply[a].nin; k++)
            add_found(u, apply_in(u->g, a)[k]);
    }
    return effect;
}

static void mark_found_read(UnreadWalk *u) {
    for (size_t i = 0; i < u->found.n; i++)
        u->reading[u->found.p[i]] = READ_DONE;
    u->found.n = 0;
}

static void mark_roots_read(UnreadWalk *u, Arena *a) {
    VarList root = graph_roots(u->g, a, ROOTS_RESULTS | ROOTS_INIT);
    for (size_t i = 0; i < root.n; i++)
        add_found(u, root.p[i]);
    add_needs_of_found(u);
    mark_found_read(u);
}

static void name_unread(UnreadWalk *u, Var v) {
    Graph *g = u->g;
    char name[32];
    while (var_name(g, v) == 0) {
        snprintf(name, sizeof name, "unread_%u", ++u->named);
        Sym y = sym(g->s, name);
        if (graph_find(g, y) == VAR_NONE && graph_output(g, y) == VAR_NONE)
            graph_name(g, v, y);
    }
}

/* Keeps a, or its replacement, if only its branches need some effect. */
static void keep_if_effects(UnreadWalk *u, ApplyId a) {
    Graph *g = u->g;
    a = var_owner(g, follow_forward(u, g->apply[a].out));
    if (a == APPLY_NONE || u->reading[a] != READ_NOT) return;
    const Apply *r = &g->apply[a];
    for (uint32_t i = 0; i < r->nin; i++)
        if (op_input_is_lazy(r->op, i)) add_found(u, apply_in(g, a)[i]);
    if (!add_needs_of_found(u)) {
        u->found.n = 0;
        return;
    }
    for (uint32_t i = 0; i < r->nin; i++)
        add_found(u, apply_in(g, a)[i]);
    add_needs_of_found(u);
    mark_found_read(u);
    u->reading[a] = READ_DONE;
    name_unread(u, r->out);
    vec_push(g->s, &g->kept, r->out);
}

void lazy_scope_keep_unread(Graph *g, ApplyId napply, const Var *forward) {
    g->kept.n = 0;
    if (!g->effects.n || !lazy_scope_any(g)) return;
    Arena *arena = arena_new(g->s);
    UnreadWalk u = {.g = g,
                    .forward = forward,
                    .reading = NEW_N(arena, g->napply, uint8_t),
                    .effect = NEW_N(arena, g->napply, uint8_t)};
    for (size_t i = 0; i < g->effects.n; i++)
        u.effect[g->effects.p[i]] = 1;
    mark_roots_read(&u, arena);
    for (ApplyId a = napply; a-- > 0;)
        if (op_rare(g->apply[a].op)->thunk && op_rare(g->apply[a].op)->thunk->lazy)
            keep_if_effects(&u, a);
    vec_free(&u.found);
    arena_free(arena);
}

void lazy_scope_keep_all(Graph *main) {
    lazy_scope_keep_unread(main, main->napply, NULL);
    for (size_t i = 0; i < main->functions.n; i++)
        lazy_scope_keep_unread(main->functions.p[i], main->functions.p[i]->napply,
                               NULL);
}
