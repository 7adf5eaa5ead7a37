/* gprof --ulp: runs the graph that measures its own rounding, and prints where digits
 * are lost, most first. */
#include "tools/gprof/ulp.h"

#include "format/json.h"
#include "tools/gprof/gprof.h"
#include "tools/grun/grun_impl.h"
#include "tools/retype.h"

#include <math.h>
#include <stdlib.h>

enum { TOP = 20 };

/* Before rewriting makes functions, which would hide the results inside. */
static Graph *ready_graph(Graph *g, const RunSpec *spec) {
    static const char *const functions[] = {"fusion", "row-blocks"};
    RunSpec how = *spec;
    how.rewrites.exclude = functions;
    how.rewrites.nexclude = 2;
    return graph_ready(g, &how);
}

/* What each Apply adds to the errors that it is given. */
static void find_losses(const Graph *g, UlpRows *rows) {
    double *total = mem_zalloc(g->s, g->nvar, sizeof *total);
    for (size_t i = 0; i < rows->n; i++)
        total[rows->p[i].var] = rows->p[i].total;
    for (size_t i = 0; i < rows->n; i++) {
        UlpRow *r = &rows->p[i];
        VarList in = apply_ins(g, var_owner(g, r->var));
        double given = 0;
        for (size_t k = 0; k < in.n; k++)
            given = fmax(given, total[in.p[k]]);
        r->lost = given < r->total ? r->total - given : 0;
    }
    mem_free(total);
}

static void read_rows(const Machine *m, UlpRows *rows) {
    for (size_t i = 0; i < rows->n; i++) {
        const Tensor *t = &vm_output(m, i)->t;
        UlpRow *r = &rows->p[i];
        r->own = tensor_f64(t, 0);
        r->mean = tensor_f64(t, 1);
        r->inherited = tensor_f64(t, 2);
        r->total = tensor_f64(t, 3);
    }
}

static bool run_once(Graph *g, const RunSpec *of, UlpRows *rows) {
    RunSpec how = {.mode = RUN_FAST_COMPILE,
                   .values = of->values,
                   .filter = of->filter,
                   .series = of->series,
                   .seed = of->seed,
                   .draw = of->draw,
                   .threads = of->threads,
                   .no_gc = of->no_gc};
    GraphRun r;
    grun_begin(&r, g, &how);
    r.ready = g; /* as it is: no rewrite may take away what is measured */
    bool ok = grun_plan(&r) && grun_values(&r) && vm_run(r.m);
    if (ok) read_rows(r.m, rows);
    grun_end(&r);
    return ok;
}

/* ---- the report ---- */
static int by_loss(const void *a, const void *b) {
    const UlpRow *x = a, *y = b;
    if (x->lost != y->lost) return x->lost > y->lost ? -1 : 1;
    if (x->own != y->own) return x->own > y->own ? -1 : 1;
    return x->var < y->var ? -1 : 1;
}

static const char *row_name(const Graph *g, Var v) {
    return var_name(g, v) ? sym_text(g->s, var_name(g, v)) : "";
}

static const char *row_place(const Graph *g, ApplyId id) {
    const Source *src = source_get(g->s, g->origin[id].at.source);
    uint32_t line = apply_line(g, id);
    if (!src) return "";
    return line ? arena_printf(session_arena(g->s), "%s:%u", src->name, line)
                : src->name;
}

static void text_rows(const Graph *g, const UlpRows *rows, size_t n, bool narrowed,
                      Str *out) {
    if (narrowed)
        str_puts(out, "of the graph in float32: it has no result of a narrower dtype "
                      "than float64\n");
    str_puts(out,
             "      lost        own       mean  inherited      total  dtype      op"
             "                result, line\n");
    for (size_t i = 0; i < n; i++) {
        const UlpRow *r = &rows->p[i];
        ApplyId id = var_owner(g, r->var);
        const char *name = row_name(g, r->var), *place = row_place(g, id);
        str_printf(out, "%10.3g %10.3g %10.3g %10.3g %10.3g  %-9s  %-16s  %s%s%s\n",
                   r->lost, r->own, r->mean, r->inherited, r->total,
                   dtype_name(r->dtype), g->apply[id].op->name, name,
                   *name && *place ? ", " : "", place);
    }
    if (n < rows->n)
        str_printf(out, "%zu more: --top %zu shows all\n", rows->n - n, rows->n);
}

static void tsv_rows(const Graph *g, const UlpRows *rows, size_t n, Str *out) {
    str_puts(out, "lost\town\tmean\tinherited\ttotal\tdtype\top\tresult\tline\n");
    for (size_t i = 0; i < n; i++) {
        const UlpRow *r = &rows->p[i];
        ApplyId id = var_owner(g, r->var);
        str_printf(out, "%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%s\t%s\t%s\t%s\n", r->lost,
                   r->own, r->mean, r->inherited, r->total, dtype_name(r->dtype),
                   g->apply[id].op->name, row_name(g, r->var), row_place(g, id));
    }
}

static void json_rows(const Graph *g, const UlpRows *rows, size_t n, bool narrowed,
                      Str *out) {
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    json_put_key(&w, "ulp");
    json_put_int(&w, 1); /* version of this form */
    json_put_key(&w, "narrowed");
    json_put_word(&w, narrowed ? "true" : "false");
    json_put_key(&w, "rows");
    json_open(&w, '[');
    for (size_t i = 0; i < n; i++) {
        const UlpRow *r = &rows->p[i];
        ApplyId id = var_owner(g, r->var);
        json_line(&w, "  ");
        json_open(&w, '{');
        json_member_number(&w, "lost", r->lost);
        json_member_number(&w, "own", r->own);
        json_member_number(&w, "mean", r->mean);
        json_member_number(&w, "inherited", r->inherited);
        json_member_number(&w, "total", r->total);
        json_member(&w, "dtype", dtype_name(r->dtype));
        json_member(&w, "op", g->apply[id].op->name);
        json_member(&w, "result", row_name(g, r->var));
        json_member(&w, "line", row_place(g, id));
        json_close(&w, "}");
    }
    json_close(&w, n ? "\n]" : "]");
    json_close(&w, "}");
    str_putc(out, '\n');
}

static void print_rows(const Graph *g, UlpRows *rows, bool narrowed,
                       const ReportOptions *how, Str *out) {
    bool text = how->format == PROFILE_TEXT;
    size_t n = how->top >= 0 ? (size_t)how->top : text ? TOP : rows->n;
    if (n > rows->n) n = rows->n;
    if (rows->n) qsort(rows->p, rows->n, sizeof *rows->p, by_loss);
    if (text) text_rows(g, rows, n, narrowed, out);
    if (how->format == PROFILE_TSV) tsv_rows(g, rows, n, out);
    if (how->format == PROFILE_JSON) json_rows(g, rows, n, narrowed, out);
}

/* Loops that were fused earlier stay so. */
static bool fail_no_rows(const Graph *g) {
    bool fused = false;
    for (size_t i = 0; i < g->functions.n; i++)
        fused |= g->functions.p[i]->fused;
    fail(g->s, NOWHERE, E_VALUE,
         fused ? "--ulp: the graph is fused, so that its results can't be measured "
                 "one by one"
               : "--ulp: the graph computes no floats");
    return fused && note(g->s, NOWHERE,
                         "give the graph as it was before grewrite, or rewrite it "
                         "with --exclude fusion");
}

bool graph_ulp(Graph *g, const ProfileSpec *q, Str *out) {
    UlpRows rows = {0};
    bool narrowed, ok = false;
    if (!graph_narrow(g, &(Edit){.ndim = q->run.ndim, .dim = q->run.dim})) return false;
    Graph *ready = ready_graph(g, &q->run);
    Graph *u = ready ? ulp_graph(ready, &rows, &narrowed) : NULL;
    if (u && !rows.n)
        fail_no_rows(ready);
    else
        ok = u && run_once(u, &q->run, &rows);
    if (ok) find_losses(ready, &rows);
    if (ok) print_rows(ready, &rows, narrowed, &q->report, out);
    graph_free(u);
    if (ready != g) graph_free(ready);
    vec_free(&rows);
    return ok;
}
