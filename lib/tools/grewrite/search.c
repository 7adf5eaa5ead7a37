/* grewrite --search: rewrites what equality saturation makes of a graph, and the graph
 * itself, and keeps what costs less by the static costs of gprof. */
#include "prof/prof.h"
#include "tools/grun/run.h"
#include "tools/tools.h"

static bool read_dims(Graph *g, const Searching *o, DimValue *dim) {
    for (size_t i = 0; i < o->ndim; i++)
        if (!dim_option(g, o->dim[i], &dim[i].name, &dim[i].value)) return false;
    return true;
}

/* The cost of the graph once it is rewritten to the end, since the sweeps may find what
 * the search found, or undo it. Negative: diagnosed. */
static double final_cost(Graph *g, const RewriteOptions *o, CostModel *m) {
    RewriteOptions how = *o;
    how.explain = NULL;
    how.trial = true;
    Graph *after = rewrite_run(g, &how, NULL);
    double cost = after ? cost_model_graph(m, after) : -1;
    graph_free(after);
    return cost;
}

static void report_search(const RewriteSearch *x, double plain, double searched,
                          Str *out) {
    str_printf(out,
               "search: %u terms in %u classes after %u rounds, %s; cost %.6g, "
               "%.6g without it%s; %.3f s to find them, %.3f s to choose\n",
               x->terms, x->classes, x->rounds, x->ended, searched, plain,
               searched < plain ? "" : ": not used", x->finding, x->choosing);
}

static Graph *rewrite_cheaper(Graph *g, Graph *form, const RewriteOptions *how,
                              RewriteSearch *x, CostModel *m, RewriteResult *result,
                              Str *report) {
    double plain = final_cost(g, how, m);
    double searched = plain < 0 ? -1 : final_cost(form, how, m);
    if (searched < 0) return NULL;
    if (report) report_search(x, plain, searched, report);
    return rewrite_run(searched < plain ? form : g, how, result);
}

Graph *graph_search(Graph *g, const RewriteOptions *how, const Searching *o,
                    RewriteResult *result) {
    DimValue *dim = NEW_N(session_arena(g->s), o->ndim, DimValue);
    if (!read_dims(g, o, dim)) return NULL;
    CostModel *m = cost_model_new(g->s, o->ndim, dim);
    RewriteSearch x = {.seconds = o->seconds,
                       .nodes = o->nodes,
                       .cost = cost_model_apply,
                       .ctx = m,
                       .stop = o->stop,
                       .chain = o->explain ? o->report : NULL};
    Graph *form = rewrite_search(g, &how->query, &x);
    Graph *after =
        form ? rewrite_cheaper(g, form, how, &x, m, result, o->report) : NULL;
    graph_free(form);
    cost_model_free(m);
    return after;
}
