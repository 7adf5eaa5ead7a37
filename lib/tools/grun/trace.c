/* Runs that write a trace or are compared with one: nothing is fused, and every named
 * value that the run needs, rewritten or not, is computed. */
#include "lang/lazy_scope.h"
#include "tools/grun/grun_impl.h"

bool grun_is_traced(const RunSpec *q) {
    return q->trace || q->against;
}

static bool check_trace_options(GraphRun *r) {
    const RunSpec *q = r->spec;
    if (q->trace_samples && !q->trace)
        return fail(r->s, NOWHERE, E_USAGE, "--trace-sample needs --trace FILE");
    if (q->trace_samples < 0 || q->trace_samples > TRACE_SAMPLES_MAX)
        return fail(r->s, NOWHERE, E_USAGE, "--trace-sample must be between 0 and %d",
                    TRACE_SAMPLES_MAX);
    if (!grun_is_traced(q)) return true;
    if (q->trace && q->against)
        return fail(r->s, NOWHERE, E_USAGE,
                    "--trace and --against can't be given together");
    if (q->mode == RUN_DEBUG || q->mode == RUN_NAN_GUARD || q->mode == RUN_MONITOR)
        return fail(r->s, NOWHERE, E_USAGE,
                    "--%s goes with --mode FAST_RUN or FAST_COMPILE only",
                    q->trace ? "trace" : "against");
    return true;
}

/* Makes outputs of the named values that each call computes; what only a branch needs
 * stays with its branch. */
static void add_named_outputs(Graph *g) {
    Arena *a = arena_new(g->s);
    const uint8_t *live = graph_live(g, a, ROOTS_RUN);
    const uint32_t *scope = lazy_scope_find(g, a, (VarList){0});
    for (size_t i = 0; i < g->names.n; i++) {
        Var v = g->names.p[i].var;
        ApplyId made = var_owner(g, v);
        if (live[v] && made != APPLY_NONE && scope[made] == 0)
            vec_push(g->s, &g->outputs, ((Output){g->names.p[i].name, v}));
    }
    graph_outputs_changed(g);
    arena_free(a);
}

/* The named values stay needed, but no longer to the end of the run. */
static void keep_beyond(Graph *g, size_t noutput) {
    for (size_t i = noutput; i < g->outputs.n; i++)
        vec_push(g->s, &g->kept, g->outputs.p[i].var);
    g->outputs.n = noutput;
    graph_outputs_changed(g);
}

bool grun_trace_ready(GraphRun *r) {
    if (!check_trace_options(r)) return false;
    Graph *g =
        graph_copy(r->g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    add_named_outputs(g);
    r->ready = graph_ready(g, r->spec);
    if (r->ready != g) graph_free(g);
    if (r->ready) keep_beyond(r->ready, r->g->outputs.n);
    return r->ready != NULL;
}

bool grun_trace_open(GraphRun *r) {
    const RunSpec *q = r->spec;
    r->trace = trace_open(
        r->ready,
        &(TraceSpec){.path = grun_ranks_path(r, q->trace ? q->trace : q->against),
                     .against = q->against != NULL,
                     .samples = (uint32_t)q->trace_samples,
                     .rtol = q->rtol,
                     .atol = q->atol,
                     .threads = q->threads});
    return r->trace != NULL;
}
