/* Copies what a graph has beside its nodes: names, marks, outputs, facts about the
 * whole. */
#include "graph/copy_impl.h"

#include <string.h>

/* Is it the name that the leaf has by itself? */
static bool is_own_name(const Graph *g, VarName n) {
    LeafKind leaf = var_leaf(g, n.var);
    return (leaf == LEAF_INPUT || leaf == LEAF_SHARED) &&
           var_leafrec(g, n.var)->name == n.name;
}

bool copy_lists_leaves(const Graph *g) {
    size_t own = 0;
    for (size_t i = 0; i < g->names.n; i++)
        own += is_own_name(g, g->names.p[i]);
    return own == g->inputs.n + g->shared.n;
}

/* An input or shared variable is copied itself, though a replacement may be used; its
 * record in src may be gone. */
static bool is_kept_leaf(const GraphCopy *c, Var v) {
    if (c->id[v] == VAR_NONE) return false;
    LeafKind leaf = var_leaf(c->dst, c->id[v]);
    return leaf == LEAF_INPUT || leaf == LEAF_SHARED;
}

static void copy_names(GraphCopy *c) {
    for (size_t i = 0; i < c->src->names.n; i++) {
        VarName n = c->src->names.p[i];
        bool own = is_kept_leaf(c, n.var);
        Var v = own ? c->id[n.var] : copied_id(c, n.var);
        if (own && var_leafrec(c->dst, v)->name == n.name) continue; /* it has it */
        if (v != VAR_NONE) names_take_over(c->dst, v, n.name);
    }
    for (size_t i = 0; i < c->src->rowwise.n; i++) {
        Var v = c->id[c->src->rowwise.p[i]];
        if (v != VAR_NONE) vec_push(c->dst->s, &c->dst->rowwise, v);
    }
    for (size_t i = 0; i < c->src->trees.n; i++) {
        VarName n = c->src->trees.p[i];
        n.var = copied_id(c, n.var);
        if (n.var != VAR_NONE) vec_push(c->dst->s, &c->dst->trees, n);
    }
}

/* If two variables merge, the looser tolerance of each kind holds. */
static void copy_approx(GraphCopy *c) {
    for (size_t i = 0; i < c->src->approx.n; i++) {
        VarApprox a = c->src->approx.p[i];
        Var v = copied_id(c, a.var);
        if (v != VAR_NONE) graph_loosen_approx(c->dst, v, a.how);
    }
}

/* As for names, a leaf's mark is its own, not its replacement's. */
static void copy_marks(GraphCopy *c) {
    const Graph *g = c->src;
    if (g->aliases.n == 0 && g->statistics.n == 0) return;
    Var *map = mem_zalloc(g->s, g->nvar, sizeof *map);
    for (Var v = 0; v < g->nvar; v++)
        map[v] = c->to && var_leaf(g, v) == LEAF_NOT ? copied_id(c, v) : c->id[v];
    graph_copy_marks(c->dst, g, map);
    mem_free(map);
}

void copy_interface(GraphCopy *c, unsigned roots) {
    Graph *d = c->dst;
    const Graph *g = c->src;
    copy_approx(c);
    for (uint32_t i = 0; roots & ROOTS_INIT && i < g->nleaf; i++)
        if (is_kept_leaf(c, g->leaf[i].var))
            var_leafrec(d, c->id[g->leaf[i].var])->init = copied_id(c, g->leaf[i].init);
    copy_names(c);
    copy_marks(c);
    if (!(roots & ROOTS_RUN)) return;
    for (size_t i = 0; i < g->outputs.n; i++)
        vec_push(d->s, &d->outputs,
                 ((Output){g->outputs.p[i].label, copied_id(c, g->outputs.p[i].var)}));
    for (size_t i = 0; i < g->updates.n; i++) {
        Update u = g->updates.p[i];
        vec_push(d->s, &d->updates, ((Update){c->id[u.shared], copied_id(c, u.value)}));
    }
    for (size_t i = 0; i < g->effects.n; i++)
        vec_push(d->s, &d->effects, var_owner(d, c->id[c->effect[i]]));
    for (size_t i = 0; i < g->kept.n; i++) {
        Var v = copied_id(c, g->kept.p[i]);
        if (v != VAR_NONE) vec_push(d->s, &d->kept, v);
    }
    d->until = copied_id(c, g->until);
}

static const char *copy_str(Graph *d, const char *text) {
    return text ? arena_str(d->arena, text, strlen(text)) : NULL;
}

void copy_facts(Graph *d, const Graph *g) {
    d->name = g->name;
    d->doc = copy_str(d, g->doc);
    d->folder = copy_str(d, g->folder);
    d->source = g->source;
    d->floatX = g->floatX;
    d->fused = g->fused;
    d->derived = g->derived;
    d->pullback = g->pullback;
    d->pushforward = g->pushforward;
    for (size_t i = 0; i < g->steps.n; i++) {
        Step x = g->steps.p[i];
        vec_push(
            d->s, &d->steps,
            ((Step){copy_str(d, x.tool), copy_str(d, x.version), copy_str(d, x.args)}));
    }
    for (size_t i = 0; i < g->modes.n; i++)
        vec_push(d->s, &d->modes, g->modes.p[i]);
}
