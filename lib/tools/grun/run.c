/* A run from start to end: rewrite if not done yet, plan, feed, call, collect,
 * compare. */
#include "op/ranks.h"
#include "tools/grun/grun_impl.h"
#include "tools/retype.h"
#include "value/class.h"

bool grun_bind_dims(GraphRun *r) {
    for (size_t i = 0; i < r->spec->ndim; i++) {
        Sym name;
        int64_t n;
        if (!dim_option(r->g, r->spec->dim[i], &name, &n)) return false;
        vm_set_dim(r->m, name, n);
        if (r->check) check_set_dim(r->check, name, n);
    }
    return true;
}

bool grun_commit(GraphRun *r) {
    Writer *out = r->out;
    r->out = NULL; /* committing frees it, even on failure */
    return !out || writer_commit(out);
}

static bool finish_run(GraphRun *r) {
    if (!grun_check_expected(r) || (r->trace && !trace_finish(r->trace))) return false;
    if ((r->spec->receipt || r->spec->verify) && !grun_ranks_same_data(r)) return false;
    if (ranks_rank(r->s) == 0 &&
        (!grun_receipt(r) || !grun_write_plot(r) || !grun_write_report(r, true)))
        return false;
    return r->spec->quiet || (grun_write_results(r) && grun_commit(r));
}

bool grun_save(GraphRun *r) {
    Graph *to = graph_copy(r->spec->saved, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL,
                           false, NULL);
    bool ok = graph_store_shared(to, r->m) && r->spec->save(r->spec->save_ctx, to);
    graph_free(to);
    return ok;
}

/* Values of a call that was left may be half overwritten. */
bool graph_run_keep(GraphRun *r) {
    bool whole = r->now.done && !(r->now.left && plan_overwrites_shared(r->plan));
    if (r->spec->quiet) {
        if (r->spec->watch) r->spec->watch->ended(r->spec->watch->ctx, &r->now);
        return true;
    }
    if (r->spec->series.every && r->now.done)
        if (!grun_write_results(r) || !grun_commit(r)) return false;
    if (!grun_write_plot(r) || !grun_write_report(r, false)) return false;
    if (r->spec->save && whole && !grun_save(r)) return false;
    r->now.kept = whole;
    if (r->spec->watch) r->spec->watch->ended(r->spec->watch->ctx, &r->now);
    return true;
}

bool grun_ready(GraphRun *r) {
    if (grun_is_traced(r->spec) || r->spec->trace_samples) return grun_trace_ready(r);
    if (r->spec->mode == RUN_DEBUG) return grun_check(r);
    r->ready = graph_ready(r->g, r->spec);
    return r->ready != NULL;
}

static void log_plan(const GraphRun *r) {
    static const char *const kinds[] = {[PLAN_LOOP] = "elementwise",
                                        [PLAN_FUSED] = "fused",
                                        [PLAN_PERFORM] = "kernel",
                                        [PLAN_CALL] = "call",
                                        [PLAN_SCAN] = "scan"};
    static const char *const levels[] = {"baseline", "AVX2", "AVX-512"};
    size_t count[PLAN_SCAN + 1] = {0}, n = plan_steps(r->plan);
    if (!session_is_logged(r->s)) return;
    for (size_t i = 0; i < n; i++)
        count[plan_step(r->plan, i).kind]++;
    Str parts = STR(r->s);
    for (size_t k = 0; k <= PLAN_SCAN; k++)
        if (count[k])
            str_printf(&parts, "%s%s", parts.n ? ", " : " (",
                       str_counted(r->s, count[k], kinds[k]));
    PlanMemory m = plan_memory(r->plan, 0, NULL, NULL);
    session_log(r->s, "planned %s%s%s, %llu bytes%s; %s, CPU level %s",
                str_counted(r->s, n, "instruction"), str_text(&parts),
                parts.n ? ")" : "", (unsigned long long)m.peak,
                m.unknown ? " and more of unknown size" : "",
                str_counted(r->s, pool_threads(session_pool(r->s)), "thread"),
                levels[session_cpu_level(r->s)]);
    str_free(&parts);
}

bool grun_plan(GraphRun *r) {
    r->how = (PlanOptions){
        .no_reuse = r->spec->no_gc,
        .no_fuse = r->spec->mode == RUN_NAN_GUARD || grun_is_traced(r->spec),
        .keep_shared = r->spec->save && (r->spec->series.steps > 1 ||
                                         r->spec->series.each || r->spec->lines),
        .debugging = r->spec->mode == RUN_DEBUG,
        .threads = r->spec->threads};
    r->plan = plan_new(r->ready, &r->how);
    if (!r->plan) return false;
    log_plan(r);
    r->m = vm_new(r->plan);
    return true;
}

/* Values of some types never exist. */
static bool outputs_have_values(GraphRun *r) {
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        const Output *out = &r->g->outputs.p[i];
        const Type *t = var_type(r->g, out->var);
        const char *label = sym_text(r->s, out->label);
        if (!type_class(t)->no_values) continue;
        if (t->kind == TYPE_NULL)
            fail(r->s, NOWHERE, E_NULL, "%s is undefined: %s", label, t->why);
        else
            fail(r->s, NOWHERE, E_TYPE, "%s is %s, which has no values", label,
                 type_str(r->s, t));
        return note(r->s, NOWHERE, "--outputs chooses other outputs");
    }
    return true;
}

static bool run_to_end(GraphRun *r) {
    graph_warn_idle(r->g, NULL);
    if (!outputs_have_values(r) || !grun_open_part(r) || !grun_ready(r) ||
        !grun_plan(r))
        return false;
    if (!grun_values(r) || !grun_bind_dims(r) || !grun_watch(r) ||
        !grun_open_results(r) || !grun_open_plot(r))
        return false;
    if (r->part.on && r->part.empty) return grun_write_results(r);
    session_set_doing(r->s, "running the graph");
    if (!grun_series(r)) return false;
    grun_warn_of_nan(r);
    session_log(r->s, "ran %s", str_counted(r->s, (size_t)r->now.done, "call"));
    session_set_doing(r->s, "writing results");
    bool stopped = r->now.left || (r->now.done < r->now.calls && !r->now.until);
    bool ok = stopped ? graph_run_keep(r) : finish_run(r);
    session_set_doing(r->s, NULL);
    if (stopped) return ok;
    if (ok && r->now.until && r->spec->watch)
        r->spec->watch->ended(r->spec->watch->ctx, &r->now);
    return graph_store_shared(r->g, r->m) && ok;
}

void grun_begin(GraphRun *r, Graph *g, const RunSpec *spec) {
    *r = (GraphRun){.g = g, .s = g->s, .a = arena_new(g->s), .spec = spec};
    r->feed = NEW_N(r->a, g->inputs.n, Feed);
    r->row = NEW_N(r->a, g->inputs.n, Tensor);
    r->collected = NEW_N(r->a, g->outputs.n, Collected);
}

void grun_end(GraphRun *r) {
    if (r->out) writer_abort(r->out);
    monitor_end(&r->monitor);
    grun_free_collected(r);
    grun_free_plot(r);
    vec_free(&r->result);
    trace_close(r->trace);
    grun_close_lines(r);
    vm_free(r->m);
    plan_free(r->plan);
    if (r->ready != r->g && !r->check) graph_free(r->ready);
    check_free(r->check);
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        value_unref(&r->feed[i].value);
        tensor_unref(&r->row[i]);
    }
    mem_free(r->order);
    arena_free(r->a);
}

bool graph_run(Graph *g, const RunSpec *spec) {
    GraphRun r;
    grun_begin(&r, g, spec);
    bool ok = run_to_end(&r);
    grun_end(&r);
    return ok;
}
