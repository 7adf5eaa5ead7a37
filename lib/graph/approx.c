/* Comparison overrides: a side table, indexed by variable. */
#include "graph/graph_impl.h"

static Approx *find_approx(const Graph *g, Var v) {
    uint64_t at;
    return table_get(g, TABLE_APPROX, v, &at) ? &g->approx.p[at].how : NULL;
}

const Approx *graph_approx(const Graph *g, Var v) {
    return g->approx.n ? find_approx(g, v) : NULL;
}

void graph_set_approx(Graph *g, Var v, Approx how) {
    Approx *have = find_approx(g, v);
    if (have) {
        *have = how;
        return;
    }
    table_put(g, TABLE_APPROX, v, g->approx.n);
    vec_push(g->s, &g->approx, ((VarApprox){v, how}));
}

void graph_loosen_approx(Graph *g, Var v, Approx how) {
    const Approx *have = graph_approx(g, v);
    if (have) {
        if (have->rtol > how.rtol) how.rtol = have->rtol;
        if (have->atol > how.atol) how.atol = have->atol;
        if (have->sloppy > how.sloppy) how.sloppy = have->sloppy;
        how.allow_remove_inf |= have->allow_remove_inf;
        how.allow_remove_nan |= have->allow_remove_nan;
    }
    graph_set_approx(g, v, how);
}
