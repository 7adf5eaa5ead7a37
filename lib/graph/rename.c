/* Renames a variable: in its leaf, the preferred names and the name map. */
#include "graph/graph_impl.h"

void graph_rename(Graph *g, Sym from, Sym to) {
    Var v = graph_find(g, from);
    if (v == VAR_NONE || from == to) return;
    graph_unname(g, from);
    graph_name(g, v, to);
    LeafKind k = var_leaf(g, v);
    if ((k == LEAF_INPUT || k == LEAF_SHARED) && var_leafrec(g, v)->name == from)
        var_leafrec(g, v)->name = to;
}

void graph_unname_all(Graph *g) {
    g->names.n = 0;
    names_forget(g->priv);
}
