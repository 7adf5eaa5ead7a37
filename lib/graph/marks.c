/* What a graph knows of variables beside what they compute: names in the model that it
 * was read from, and which shared variables are statistics. */
#include "graph/graph_impl.h"

void graph_alias(Graph *g, Var v, Sym text) {
    if (graph_alias_of(g, v)) return;
    table_put(g, TABLE_ALIAS, v, text);
    if (!table_get(g, TABLE_ALIASED, text, NULL)) table_put(g, TABLE_ALIASED, text, v);
    vec_push(g->s, &g->aliases, ((VarName){v, text}));
}

void graph_unalias(Graph *g, Var v) {
    Sym text = graph_alias_of(g, v);
    if (!text) return;
    size_t kept = 0;
    Var other = VAR_NONE;
    for (size_t i = 0; i < g->aliases.n; i++) {
        VarName a = g->aliases.p[i];
        if (a.var == v) continue;
        if (a.name == text && other == VAR_NONE) other = a.var;
        g->aliases.p[kept++] = a;
    }
    g->aliases.n = kept;
    table_put(g, TABLE_ALIAS, v, 0);
    table_put(g, TABLE_ALIASED, text, other);
}

Sym graph_alias_of(const Graph *g, Var v) {
    uint64_t text;
    return table_get(g, TABLE_ALIAS, v, &text) ? (Sym)text : 0;
}

Var graph_find_alias(const Graph *g, Sym text) {
    uint64_t v;
    return table_get(g, TABLE_ALIASED, text, &v) ? (Var)v : VAR_NONE;
}

void graph_mark_statistic(Graph *g, Var v) {
    if (var_leaf(g, v) != LEAF_SHARED || graph_is_statistic(g, v)) return;
    table_put(g, TABLE_STATISTIC, v, 1);
    vec_push(g->s, &g->statistics, v);
}

bool graph_is_statistic(const Graph *g, Var v) {
    return table_get(g, TABLE_STATISTIC, v, NULL) && var_leaf(g, v) == LEAF_SHARED;
}

void graph_copy_marks(Graph *dst, const Graph *src, const Var *map) {
    for (size_t i = 0; i < src->aliases.n; i++) {
        Var v = map[src->aliases.p[i].var];
        if (v != VAR_NONE) graph_alias(dst, v, src->aliases.p[i].name);
    }
    for (size_t i = 0; i < src->statistics.n; i++) {
        Var v = map[src->statistics.p[i]];
        if (v != VAR_NONE) graph_mark_statistic(dst, v);
    }
}
