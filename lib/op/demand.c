/* Demand goes from clients to what they need, so one walk over falling ids tells for
 * each Apply under which condition it is needed: that of its clients where all have the
 * same, else one of its own. A lazy Apply puts a condition of its own on each of its
 * inputs, or on all of one list (a branch of ifelse). */
#include "op/demand.h"

bool demand_is_lazy(const Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (g->apply[a].op->thunk && g->apply[a].op->thunk->lazy) return true;
    return false;
}

typedef struct Walk {
    const Graph *g;
    uint32_t *scope;
    bool *mixed; /* by Apply: has a scope of its own */
    uint32_t next;
} Walk;

static void need(Walk *w, Var v, uint32_t scope) {
    ApplyId a = v == VAR_NONE ? APPLY_NONE : var_owner(w->g, v);
    if (a == APPLY_NONE || w->scope[a] == scope || w->scope[a] == 0) return;
    if (w->scope[a] == SCOPE_NONE || scope == 0) {
        w->scope[a] = scope;
    } else if (!w->mixed[a]) {
        w->mixed[a] = true;
        w->scope[a] = w->next++;
    }
}

static void visit(Walk *w, ApplyId a) {
    const Apply *r = &w->g->apply[a];
    const Var *in = apply_in(w->g, a);
    bool lazy = r->op->thunk && r->op->thunk->lazy;
    const Signature *sig = lazy ? op_signature(w->g->s, r->op) : NULL;
    bool lists = lazy && sig->nrest > 1;
    uint32_t first = w->next;
    if (lazy) w->next += lists ? (uint32_t)(sig_fixed(sig) + sig->nrest) : r->nin;
    for (uint32_t i = 0; i < r->nin; i++) {
        size_t number = i;
        if (lists && i >= sig_fixed(sig))
            number = sig_fixed(sig) + sig_list(sig, r->nin, i);
        need(w, in[i],
             lazy && op_input_is_lazy(r->op, i) ? first + (uint32_t)number
                                                : w->scope[a]);
    }
}

uint32_t *demand_scopes(const Graph *g, Arena *arena, size_t nwant, const Var *want) {
    Walk w = {g, NEW_N(arena, g->napply, uint32_t), NEW_N(arena, g->napply, bool), 1};
    uint8_t *effect = NEW_N(arena, g->napply, uint8_t);
    for (ApplyId a = 0; a < g->napply; a++)
        w.scope[a] = SCOPE_NONE;
    for (size_t i = 0; i < g->effects.n; i++)
        effect[g->effects.p[i]] = 1;
    for (size_t i = 0; i < g->outputs.n; i++)
        need(&w, g->outputs.p[i].var, 0);
    for (size_t i = 0; i < g->updates.n; i++)
        need(&w, g->updates.p[i].value, 0);
    for (size_t i = 0; i < g->shared.n; i++)
        need(&w, var_leafrec(g, g->shared.p[i])->init, 0);
    need(&w, g->until, 0);
    for (size_t i = 0; i < nwant; i++)
        need(&w, want[i], 0);
    for (ApplyId a = g->napply; a-- > 0;) {
        if (w.scope[a] == SCOPE_NONE && effect[a]) w.scope[a] = 0;
        if (w.scope[a] != SCOPE_NONE) visit(&w, a);
    }
    return w.scope;
}

bool *demand_conditional(const Graph *g, Arena *a, const uint32_t *scope) {
    bool *r = NEW_N(a, g->effects.n, bool);
    for (size_t i = 0; i < g->effects.n; i++)
        r[i] = scope[g->effects.p[i]] != 0;
    return r;
}
