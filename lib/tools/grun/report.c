/* --report: a run as a page: the outputs that are numbers as curves over the calls and
 * over time, what came out, how it ran, and the graph. */
#include "page/page.h"
#include "tools/grun/grun_impl.h"
#include "value/class.h"

#include <math.h>
#include <string.h>

enum { VALUE_SHOWN = 1000 /* bytes of a value's text */ };

static void put_series(const GraphRun *r, Page *p) {
    const Plot *c = &r->plot;
    page_put_f64(p, "calls", c->call.n, c->call.p);
    page_put_f64(p, "time_s", c->call.n, c->time.p);
    json_put_key(&p->w, "series");
    json_open(&p->w, '[');
    for (size_t i = 0; i < c->n; i++) {
        Output out = r->g->outputs.p[c->curve[i].output];
        json_open(&p->w, '{');
        json_member(&p->w, "name", sym_text(r->s, out.label));
        json_member(&p->w, "type", type_str(r->s, var_type(r->g, out.var)));
        page_put_f64(p, "value", c->call.n, c->curve[i].value.p);
        json_close(&p->w, "}");
    }
    json_close(&p->w, "]");
}

static void put_value(const GraphRun *r, Page *p, const Value *v) {
    Str text = STR(r->s);
    value_text(r->s, v, 0, &text);
    size_t n = text.n;
    if (n > VALUE_SHOWN)
        for (n = VALUE_SHOWN; n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80;)
            n--;
    if (n < text.n) {
        text.n = n;
        text.p[n] = 0;
        str_puts(&text, " ...");
    }
    json_put_n(&p->w, str_text(&text), text.n);
    str_free(&text);
}

/* What the run would print, or writes to files. */
static void put_results(GraphRun *r, Page *p) {
    json_put_key(&p->w, "results");
    json_open(&p->w, '[');
    for (size_t i = 0; i + r->spec->nhidden < r->g->outputs.n && r->now.done; i++) {
        Output out = r->g->outputs.p[i];
        json_open(&p->w, '[');
        json_put(&p->w, sym_text(r->s, out.label));
        json_put(&p->w, type_str(r->s, var_type(r->g, out.var)));
        put_value(r, p, grun_result(r, i));
        json_close(&p->w, "]");
    }
    json_close(&p->w, "]");
}

static void put_setting(Page *p, const char *name, const char *text) {
    json_open(&p->w, '[');
    json_put(&p->w, name);
    json_put(&p->w, text);
    json_close(&p->w, "]");
}

static void put_count(Page *p, const char *name, int64_t n) {
    if (n > 0) put_setting(p, name, arena_printf(p->a, "%lld", (long long)n));
}

static const char *name_of_mode(Arena *a, RunMode mode) {
    const char *from = RUN_MODES;
    for (int i = 0; i < (int)mode; i++)
        from = strchr(from, '|') + 1;
    return mode == RUN_UNSET ? "as the graph is, else FAST_RUN"
                             : arena_str(a, from, strcspn(from, "|"));
}

static void put_settings(const GraphRun *r, Page *p) {
    const RunSpec *q = r->spec;
    json_put_key(&p->w, "settings");
    json_open(&p->w, '[');
    put_setting(p, "mode", name_of_mode(p->a, q->mode));
    put_setting(p, "version", TL_VERSION);
    put_count(p, "calls", r->calls);
    put_count(p, "steps", q->series.steps);
    if (q->series.each) put_setting(p, "each", q->series.each);
    put_count(p, "batch", q->series.batch);
    put_count(p, "epochs", q->series.epochs);
    if (q->series.shuffle >= 0)
        put_setting(p, "shuffle",
                    arena_printf(p->a, "%lld", (long long)q->series.shuffle));
    if (q->until) put_setting(p, "until", q->until);
    put_count(p, "every", q->series.every);
    if (q->seed >= 0)
        put_setting(p, "seed", arena_printf(p->a, "%lld", (long long)q->seed));
    put_count(p, "threads", q->threads);
    for (size_t i = 0; i < q->values.n; i++) {
        Span at = q->values.text[i];
        const Source *src = source_get(r->s, at.source);
        size_t n = at.end - at.begin < VALUE_SHOWN ? at.end - at.begin : VALUE_SHOWN;
        put_setting(p, "value", arena_str(p->a, src->text + at.begin, n));
    }
    json_close(&p->w, "]");
}

static bool write_report(GraphRun *r, const Str *text) {
    Writer *w = writer_open(r->s, r->spec->report);
    if (!w) return false;
    if (writer_add(w, text->p, text->n)) return writer_commit(w);
    writer_abort(w);
    return false;
}

/* ---- what a trace says of the values of the last call ---- */
enum { STATISTICS = 5 };
typedef struct Statistics {
    double *of[STATISTICS]; /* by variable; NAN: not traced */
} Statistics;
static const char *const statistics[STATISTICS] = {"min", "max", "mean", "nan", "inf"};

static void take_record(const GraphRun *r, const TraceFile *f, const TraceRecord *k,
                        Statistics *to) {
    Var v = graph_find(r->g, trace_file_name(f, k->name));
    if (v == VAR_NONE) return;
    const double values[STATISTICS] = {k->d.min, k->d.max, k->d.mean, k->d.nans,
                                       k->d.infs};
    for (int i = 0; i < STATISTICS; i++)
        to->of[i][v] = values[i];
}

static bool put_statistics(const GraphRun *r, Page *p) {
    TraceFile *f = trace_file_open(r->s, r->spec->trace);
    if (!f) return false;
    Statistics all;
    for (int i = 0; i < STATISTICS; i++) {
        all.of[i] = NEW_N(p->a, (size_t)r->g->nvar + 1, double);
        for (Var v = 0; v < r->g->nvar; v++)
            all.of[i][v] = (double)NAN;
    }
    size_t calls = trace_file_calls(f);
    TraceBatch batch = calls ? trace_file_call(f, calls - 1) : (TraceBatch){0};
    for (size_t i = 0; i < batch.n; i++) {
        TraceRecord k = trace_file_record(f, &batch, i);
        take_record(r, f, &k, &all);
    }
    trace_file_close(f);
    json_line(&p->w, "");
    json_put_key(&p->w, "values");
    json_open(&p->w, '[');
    json_open(&p->w, '{');
    for (int i = 0; i < STATISTICS; i++)
        page_put_f64(p, statistics[i], r->g->nvar, all.of[i]);
    json_close(&p->w, "}");
    for (size_t i = 0; i < r->g->functions.n; i++)
        json_put_word(&p->w, "null");
    json_close(&p->w, "]");
    return true;
}

bool grun_write_report(GraphRun *r, bool whole) {
    if (!r->spec->report) return true;
    Page *p = page_new(r->s, "run", r->g->name ? sym_text(r->s, r->g->name) : "graph");
    Str text = STR(r->s);
    page_steps(p, r->g);
    page_add_graph(p, r->g);
    page_put_graphs(p);
    page_put_open(p, "open", r->g);
    json_line(&p->w, "");
    json_put_key(&p->w, "run");
    json_open(&p->w, '{');
    put_series(r, p);
    put_results(r, p);
    put_settings(r, p);
    json_member_number(&p->w, "seconds", clock_seconds() - r->plot.start);
    json_member(&p->w, "ended",
                r->now.until                 ? "until"
                : r->now.done < r->now.calls ? "stopped"
                                             : "all calls");
    json_member_number(&p->w, "done", (double)r->now.done);
    json_close(&p->w, "}");
    bool traced = whole && r->spec->trace;
    bool ok = (!traced || put_statistics(r, p)) && page_finish(p, &text) &&
              write_report(r, &text);
    page_free(p);
    str_free(&text);
    return ok;
}
