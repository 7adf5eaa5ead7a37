/* What a run computes, chosen on the command line: --outputs, --no-updates, --until,
 * and the variables that -r and --expect name although the graph doesn't return them.
 */
#include "lang/expr.h"
#include "op/rowwise.h"
#include "tools/grun/grun_impl.h"

#include <string.h>

bool grun_split_result(Session *s, Span text, Span *name, Span *file) {
    return (value_split_label(s, text, name, file) && file->begin < file->end) ||
           fail(s, text, E_USAGE, "-r takes NAME=FILE");
}

bool grun_split_expected(Session *s, Span text, Span *name, Span *value) {
    return value_split_label(s, text, name, value) ||
           fail(s, text, E_USAGE, "--expect takes NAME=VALUE");
}

bool grun_is_all(Session *s, Span name) {
    return name.end == name.begin + 1 &&
           source_get(s, name.source)->text[name.begin] == '*';
}

static Sym sym_of_span(Session *s, Span at) {
    return sym_n(s, source_get(s, at.source)->text + at.begin, at.end - at.begin);
}

/* A shared variable is chosen for the value that the call gives it: the one that --save
 * writes. */
static Var value_after_call(const Graph *g, Var v) {
    Var next = var_leaf(g, v) == LEAF_SHARED ? graph_update(g, v) : VAR_NONE;
    return next == VAR_NONE ? v : next;
}

/* Replaces the graph's outputs by those in `list`; its last `reaped` ones stay. */
static bool choose_listed(Graph *g, Span list, size_t reaped) {
    Outputs found = {0}, kept = {0};
    bool ok = names_find_output_list(g, list, &found);
    size_t own = g->outputs.n - reaped;
    for (size_t i = 0; ok && i < found.n; i++) {
        Output *o = &found.p[i];
        for (size_t k = 0; k < i; k++)
            if (found.p[k].label == o->label)
                ok = fail(g->s, list, E_DUPLICATE, "output %s is listed twice",
                          sym_text(g->s, o->label));
        Var returned = graph_output(g, o->label);
        o->var = returned != VAR_NONE ? returned : value_after_call(g, o->var);
    }
    for (size_t i = own; ok && i < g->outputs.n; i++) {
        bool listed = false;
        for (size_t k = 0; k < found.n; k++)
            listed |= found.p[k].label == g->outputs.p[i].label;
        if (!listed) vec_push(g->s, &kept, g->outputs.p[i]);
    }
    if (ok) g->outputs.n = 0;
    for (size_t i = 0; ok && i < found.n; i++)
        vec_push(g->s, &g->outputs, found.p[i]);
    for (size_t i = 0; ok && i < kept.n; i++)
        vec_push(g->s, &g->outputs, kept.p[i]);
    graph_outputs_changed(g);
    vec_free(&found);
    vec_free(&kept);
    return ok;
}

static void add_hidden(Graph *g, RunSpec *q, Sym label, Var v) {
    vec_push(g->s, &g->outputs, ((Output){label, v}));
    graph_outputs_changed(g);
    q->nhidden++;
}

/* Makes outputs of what -r names: a variable, or the values of a tree. */
static bool choose_result(Graph *g, RunSpec *q, Span name) {
    const char *p = source_get(g->s, name.source)->text + name.begin;
    Outputs found = {0};
    if (grun_is_all(g->s, name)) return true;
    bool ok = names_find_outputs(g, p, name.end - name.begin, name, &found);
    for (size_t i = 0; ok && i < found.n; i++)
        if (graph_output(g, found.p[i].label) == VAR_NONE)
            add_hidden(g, q, found.p[i].label, value_after_call(g, found.p[i].var));
    vec_free(&found);
    return ok;
}

/* Makes an output of a variable that is none. */
static bool choose_named(Graph *g, RunSpec *q, Span name) {
    Sym label = sym_of_span(g->s, name);
    const char *p = sym_text(g->s, label);
    Var v;
    if (graph_output(g, label) != VAR_NONE) return true;
    if (!names_find_var(g, p, strlen(p), name, &v)) return false;
    add_hidden(g, q, label, value_after_call(g, v));
    return true;
}

static bool choose_until(Graph *g, RunSpec *q) {
    for (size_t i = 0; i < g->outputs.n; i++) /* labels that name no variable */
        graph_try_name(g, g->outputs.p[i].var, g->outputs.p[i].label);
    Builder b = builder(g, true);
    Compiler *c = compiler_new(&b);
    Var v;
    bool ok = compiler_expr(c, q->until_at, NULL, &v);
    compiler_free(c);
    if (!ok) return false;
    const Type *t = var_type(g, v);
    if (t->kind != TYPE_TENSOR || t->ndim != 0 || t->dtype != DT_BOOL) {
        fail(g->s, q->until_at, E_TYPE, "--until takes a scalar bool, but this is %s",
             type_str(g->s, t));
        return note(g->s, NOWHERE, "compare a scalar with a number, as in %s",
                    t->kind == TYPE_TENSOR && t->ndim && t->dtype == DT_BOOL
                        ? "'all(y < 0.03)'"
                        : "'loss < 0.03'");
    }
    q->until_output = g->outputs.n;
    add_hidden(g, q, sym(g->s, "--until"), v);
    return true;
}

static bool choose_run_outputs(Graph *g, RunSpec *q) {
    if (q->outputs && !choose_listed(g, q->outputs_at, q->nreaped)) return false;
    Span name, rest;
    for (size_t i = 0; i < q->nresult; i++)
        if (!grun_split_result(g->s, q->result[i], &name, &rest) ||
            !choose_result(g, q, name))
            return false;
    for (size_t i = 0; i < q->nexpect; i++)
        if (!grun_split_expected(g->s, q->expect[i], &name, &rest) ||
            !choose_named(g, q, name))
            return false;
    if (q->until && !choose_until(g, q)) return false;
    rowwise_settle(g);
    return true;
}

/* Do -r and --expect name nothing but outputs? Slips are diagnosed later. */
static bool names_are_outputs(Graph *g, const RunSpec *q) {
    Span name, rest;
    for (size_t i = 0; i < q->nresult + q->nexpect; i++) {
        Span at = i < q->nresult ? q->result[i] : q->expect[i - q->nresult];
        if (!value_split_label(g->s, at, &name, &rest)) return false;
        if (i < q->nresult && grun_is_all(g->s, name)) continue;
        if (graph_output(g, sym_of_span(g->s, name)) == VAR_NONE) return false;
    }
    return true;
}

Graph *graph_chosen(Graph *g, RunSpec *q) {
    if (!q->outputs && !q->no_updates && !q->until && names_are_outputs(g, q)) return g;
    Graph *made =
        graph_copy(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    if (q->no_updates) made->updates.n = 0;
    graph_updates_changed(made);
    if (choose_run_outputs(made, q)) return made;
    graph_free(made);
    return NULL;
}
