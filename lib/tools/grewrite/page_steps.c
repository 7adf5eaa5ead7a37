/* --explain as a page: the graph after each replacement. Within an epoch the overlay
 * only grows: a copy of it, with the replacements one by one, shows every state. */
#include "op/op.h"
#include "page/page.h"
#include "tools/tools.h"

#include <string.h>

/* All nodes of an epoch's overlay, as far as it has come. */
typedef struct Epoch {
    uint32_t number;
    Graph *g;
    Var *to; /* by variable: what replaces it so far */
    Vec(uint32_t) born;
} Epoch;
typedef struct RewriteStep {
    uint32_t epoch, rule, before, after; /* texts are those of the page */
    Var from, to;
    size_t more, nmore; /* pairs in StepsPage.more */
} RewriteStep;
struct StepsPage {
    Session *s;
    Page *page;
    Vec(Epoch) epoch;
    Vec(RewriteStep) step;
    Vec(Var) more;
    EventText text;
    uint64_t work; /* variables looked at */
    bool full;
};

/* So many would take too long, here and in the browser. */
static const uint64_t WORK_MAX = UINT64_C(4000000000);

StepsPage *steps_page_new(Session *s, const char *title) {
    StepsPage *x = mem_zalloc(s, 1, sizeof *x);
    x->s = s;
    x->page = page_new(s, "explain", title);
    return x;
}

/* ---- the copy ---- */
static void copy_new_names(const Epoch *e, const Graph *g) {
    for (size_t i = 0; i < g->names.n; i++)
        if (g->names.p[i].var < e->g->nvar)
            graph_try_name(e->g, g->names.p[i].var, g->names.p[i].name);
}

static void copy_interface(const Epoch *e, const Graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        vec_push(g->s, &e->g->outputs, g->outputs.p[i]);
    for (size_t i = 0; i < g->updates.n; i++)
        vec_push(g->s, &e->g->updates, g->updates.p[i]);
    graph_outputs_changed(e->g);
    graph_updates_changed(e->g);
}

/* Variables of `to` have the numbers that they have in g. */
static void copy_nodes(Graph *to, const Graph *g) {
    for (Var v = to->nvar; v < g->nvar; v = to->nvar) {
        ApplyId id = var_owner(g, v);
        Var w = id == APPLY_NONE ? graph_copy_leaf(to, g, v, false)
                                 : graph_copy_apply(to, g, id, apply_in(g, id), false);
        if (w != v) bug("a copy has other numbers");
    }
}

/* An Apply is called after the fused function that it calls. */
static void copy_fused(Graph *to, const Graph *g, ApplyId id) {
    const Graph *fn = apply_fused_function(g, id);
    if (!fn || graph_function(to, fn->name)) return;
    Graph *copy = graph_function_new(to, fn->name);
    copy->fused = true;
    copy_nodes(copy, fn);
}

static void copy_new_nodes(StepsPage *x, Epoch *e, const Graph *g) {
    uint32_t applies = e->g->napply, was = e->g->nvar;
    copy_nodes(e->g, g);
    for (ApplyId id = applies; id < e->g->napply; id++)
        copy_fused(e->g, g, id);
    if (e->g->nvar == was) return;
    copy_new_names(e, g);
    e->to = mem_realloc(x->s, e->to, (size_t)e->g->nvar + 1, sizeof *e->to);
    for (Var v = was; v < e->g->nvar; v++)
        e->to[v] = v;
    for (ApplyId id = applies; id < e->g->napply; id++)
        vec_push(x->s, &e->born, (uint32_t)x->step.n + 1);
}

static Epoch *epoch_of(StepsPage *x, const RewriteEvent *ev) {
    if (x->epoch.n && x->epoch.p[x->epoch.n - 1].number == ev->epoch)
        return &x->epoch.p[x->epoch.n - 1];
    Epoch new = {.number = ev->epoch, .g = graph_new(x->s)};
    new.g->name = ev->g->name;
    vec_push(x->s, &x->epoch, new);
    Epoch *e = &x->epoch.p[x->epoch.n - 1];
    copy_new_nodes(x, e, ev->g);
    copy_interface(e, ev->g);
    /* all but what the rule has made was there before */
    Sym rule = sym(x->s, ev->rule);
    for (ApplyId id = 0; id < e->g->napply; id++)
        if (e->g->origin[id].rule != rule) e->born.p[id] = (uint32_t)x->step.n;
    return e;
}

/* ---- a step ---- */
static Var end_of(const Epoch *e, Var v) {
    while (e->to[v] != v)
        v = e->to[v];
    return v;
}

/* Notes that v is replaced now: nothing, if that was known. */
static void replace(StepsPage *x, Epoch *e, Var v, Var by) {
    Var end = end_of(e, by);
    if (by == v ? e->to[v] == v : end == end_of(e, v)) return;
    if (end == v && by != v) return;
    e->to[v] = by;
    vec_push(x->s, &x->more, v);
    vec_push(x->s, &x->more, by);
}

static uint32_t text_of(StepsPage *x, const RewriteEvent *ev, Var v) {
    Str text = STR(x->s);
    event_text_of(&x->text, ev, v, &text);
    uint32_t n = page_string(x->page, str_text(&text));
    str_free(&text);
    return n;
}

/* Applies that are made again, since their inputs have changed, are no events: what
 * the overlay says now is noted with the next one. */
bool steps_page_event(void *ctx, const RewriteEvent *ev) {
    StepsPage *x = ctx;
    x->work += ev->nforward;
    x->full |= x->work > WORK_MAX;
    if (x->full) return true;
    Epoch *e = epoch_of(x, ev);
    copy_new_nodes(x, e, ev->g);
    RewriteStep new = {.epoch = (uint32_t)x->epoch.n - 1,
                       .rule = page_string(x->page, ev->rule),
                       .before = text_of(x, ev, ev->before),
                       .after = text_of(x, ev, ev->after),
                       .from = ev->before,
                       .to = ev->after,
                       .more = x->more.n};
    for (Var v = 0; v < ev->nforward && v < e->g->nvar; v++)
        if (v != ev->before) replace(x, e, v, ev->forward[v]);
    for (size_t i = 0; i < ev->nmore; i++)
        replace(x, e, ev->more_before[i], ev->more_after[i]);
    e->to[ev->before] = ev->after;
    new.nmore = x->more.n - new.more;
    vec_push(x->s, &x->step, new);
    return true;
}

/* ---- the page ---- */
/* The first or the second of pairs. */
static void put_every_other(const StepsPage *x, size_t from, size_t n) {
    JsonWriter *w = &x->page->w;
    json_open(w, '[');
    for (size_t i = 0; i < n; i += 2)
        json_put_int(w, x->more.p[from + i]);
    json_close(w, "]");
}

static void put_step(const StepsPage *x, const RewriteStep *k) {
    JsonWriter *w = &x->page->w;
    json_open(w, '[');
    json_put_int(w, k->epoch);
    json_put_int(w, k->rule);
    json_put_int(w, k->from);
    json_put_int(w, k->to);
    put_every_other(x, k->more, k->nmore);
    put_every_other(x, k->more + 1, k->nmore);
    json_put_int(w, k->before);
    json_put_int(w, k->after);
    json_close(w, "]");
}

static void put_steps(const StepsPage *x) {
    JsonWriter *w = &x->page->w;
    json_line(w, "");
    json_put_key(w, "explain");
    json_open(w, '{');
    json_put_key(w, "epochs");
    json_open(w, '[');
    for (size_t i = 0; i < x->epoch.n; i++)
        json_put_int(w, page_graph_number(x->page, x->epoch.p[i].g));
    json_close(w, "]");
    json_put_key(w, "steps");
    json_open(w, '[');
    for (size_t i = 0; i < x->step.n; i++)
        put_step(x, &x->step.p[i]);
    json_close(w, "]");
    json_close(w, "}");
}

bool steps_page_finish(StepsPage *x, const Graph *result, Str *out) {
    for (size_t i = 0; i < x->epoch.n; i++)
        page_add_overlay(x->page, x->epoch.p[i].g, x->epoch.p[i].born.p);
    page_add_graph(x->page, result);
    page_steps(x->page, result);
    page_put_graphs(x->page);
    page_put_open(x->page, "open", x->epoch.n ? x->epoch.p[0].g : result);
    put_steps(x);
    if (!x->full) return page_finish(x->page, out);
    fail(x->s, NOWHERE, E_LIMIT, "%s of a graph of %u Applies are too many for a page",
         str_counted(x->s, x->step.n, "replacement"), result->napply);
    return hint(x->s, HINT_PAGE);
}

void steps_page_free(StepsPage *x) {
    if (!x) return;
    for (size_t i = 0; i < x->epoch.n; i++) {
        graph_free(x->epoch.p[i].g);
        vec_free(&x->epoch.p[i].born);
        mem_free(x->epoch.p[i].to);
    }
    page_free(x->page);
    event_text_close(&x->text);
    vec_free(&x->epoch);
    vec_free(&x->step);
    vec_free(&x->more);
    mem_free(x);
}
