/* The way of a graph through this folder: a copy is expanded, analysed and built anew.
 */
#include "rewrite/parallel/parallel.h"

/* The copy has the same inputs, in their order. */
static bool find_inputs(const Graph *g, const Graph *made, VarList of, Var *out) {
    for (size_t i = 0; i < of.n; i++) {
        if (var_leaf(g, of.p[i]) != LEAF_INPUT)
            return fail(g->s, NOWHERE, E_USAGE,
                        "%s is not an input: only inputs can be split",
                        sym_text(g->s, var_name(g, of.p[i])));
        for (size_t k = 0; k < g->inputs.n; k++)
            if (g->inputs.p[k] == of.p[i]) out[i] = made->inputs.p[k];
    }
    return true;
}

/* Only what a run needs is split. */
Graph *rewrite_parallel(Graph *g, const ParallelOptions *o) {
    Arena *a = arena_new(g->s);
    Var *inputs = NEW_N(a, o->inputs.n, Var);
    Graph *made = graph_copy(g, ROOTS_RUN | ROOTS_INIT, NULL, true, NULL);
    bool ok = split_expand(made, a) && find_inputs(g, made, o->inputs, inputs);
    ParallelOptions own = {{o->inputs.n, inputs}, o->shards, o->bucket};
    Split w = {.s = g->s,
               .g = made,
               .a = a,
               .o = &own,
               .live = graph_live(made, a, ROOTS_RUN),
               .spread = NEW_N(a, made->nvar, Spread),
               .crossing = NEW_N(a, made->napply + 1, Crossing),
               .split = NEW_N(a, made->inputs.n + 1, bool),
               .first = VAR_NONE};
    ok = ok && split_analyse(&w) && split_build(&w);
    arena_free(a);
    if (ok) return made;
    graph_free(made);
    return NULL;
}
