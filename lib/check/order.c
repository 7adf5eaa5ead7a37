/* Checks that rewriting is deterministic, and that equal ops have equal maps. */
#include "check/check_impl.h"
#include "lang/print/print.h"

#include <string.h>

enum { APPLIES = 20000 }; /* limit on the Applies rewritten again, in total */

static Span event_place(const RewriteEvent *e) {
    ApplyId a = var_owner(e->g, e->before);
    return a == APPLY_NONE ? NOWHERE : e->g->origin[a].at;
}

void order_log(Check *c, const RewriteEvent *e) {
    Event x = {sym(c->s, e->rule), e->g->main == e->g ? 0 : e->g->name,
               e->before,          e->after,
               e->epoch,           event_place(e)};
    vec_push(c->s, &c->log, x);
}

/* ---- the same events ---- */
typedef struct Again {
    Check *c;
    unsigned run;
    size_t at;
    bool differs;
} Again;

static void other_event(Again *w, const RewriteEvent *e) {
    Check *c = w->c;
    Span at = e ? event_place(e) : w->at < c->log.n ? c->log.p[w->at].at : NOWHERE;
    if (!found(c, E_STOCHASTIC_ORDER, 0, at,
               "rewriting the same graph again does something else: replacement %zu "
               "differs in run %u",
               w->at + 1, w->run))
        return;
    if (w->at < c->log.n)
        found_note(c, NOWHERE, "in run 1 it is %s, variable %u by %u",
                   sym_text(c->s, c->log.p[w->at].rule), c->log.p[w->at].before,
                   c->log.p[w->at].after);
    else
        found_note(c, NOWHERE, "in run 1 there are only %zu", c->log.n);
    if (e) {
        Str b = STR(c->s);
        EventText text = {0};
        event_text(&text, e, &b);
        event_text_close(&text);
        found_note(c, NOWHERE, "in run %u it is %s, variable %u by %u: %s", w->run,
                   e->rule, e->before, e->after, str_text(&b));
        str_free(&b);
    } else {
        found_note(c, NOWHERE, "in run %u there are only %zu", w->run, w->at);
    }
    found_note(c, NOWHERE,
               "a rule, a typing rule or a folding decision depends on more than the "
               "graph: on addresses, time, or state of its own");
}

static bool compare_event(void *ctx, const RewriteEvent *e) {
    Again *w = ctx;
    Check *c = w->c;
    if (w->differs) return true;
    const Event *x = w->at < c->log.n ? &c->log.p[w->at] : NULL;
    Sym name = e->g->main == e->g ? 0 : e->g->name;
    w->differs = !x || x->rule != sym(c->s, e->rule) || x->graph != name ||
                 x->before != e->before || x->after != e->after || x->epoch != e->epoch;
    if (w->differs)
        other_event(w, e);
    else
        w->at++;
    return true;
}

static void compare_graphs(Again *w, const Graph *again) {
    Check *c = w->c;
    ApplyId a, b;
    Str why = STR(c->s), text = STR(c->s);
    if (!graph_equal(c->ready, again, &a, &b, &why) &&
        found(c, E_STOCHASTIC_ORDER, 0, NOWHERE,
              "rewriting the same graph again gives another graph in run %u: %s",
              w->run, str_text(&why))) {
        if (a != APPLY_NONE) {
            print_apply(c->ready, a, &text);
            found_note(c, c->ready->origin[a].at, "run 1 has %s", str_text(&text));
        }
        str_clear(&text);
        if (b != APPLY_NONE) {
            print_apply(again, b, &text);
            found_note(c, NOWHERE, "run %u has %s", w->run, str_text(&text));
        }
    }
    str_free(&why);
    str_free(&text);
}

bool order_check(Check *c, Graph *g) {
    unsigned runs = APPLIES / (unsigned)(graph_all_applies(g) + 1) + 2;
    if (runs > c->o.patience) runs = c->o.patience;
    for (unsigned i = 2; i <= runs && c->found == 0; i++) {
        Again w = {.c = c, .run = i};
        RewriteOptions how = {.query = c->o.query, .explain = compare_event, .ctx = &w};
        RewriteResult what;
        Graph *again = rewrite_run(g, &how, &what);
        if (!again) return false;
        if (!w.differs && w.at < c->log.n) other_event(&w, NULL);
        if (c->found == 0) compare_graphs(&w, again);
        graph_free(again);
    }
    return true;
}

/* ---- maps ---- */
static int destroyed_input_of(const Graph *g, ApplyId a, size_t out) {
    const Op *op = g->apply[a].op;
    return op_rare(op)->destroys ? op_rare(op)->destroys(g, a, out) : -1;
}

static uint64_t apply_signature(const Graph *g, ApplyId id) {
    const Apply *a = &g->apply[id];
    uint64_t h = hash_mix((uint64_t)(uintptr_t)a->op, a->props->id);
    for (size_t i = 0; i < a->nin; i++)
        h = hash_mix(h, var_type(g, apply_in(g, id)[i])->id);
    return hash_mix(h, a->nout);
}

static bool same_maps(const Graph *g, ApplyId a, const Graph *h, ApplyId b,
                      size_t *out) {
    size_t n = g->apply[a].nout;
    if (h->apply[b].nout < n) n = h->apply[b].nout;
    for (*out = 0; *out < n; ++*out)
        if (op_view(g, a, *out) != op_view(h, b, *out) ||
            destroyed_input_of(g, a, *out) != destroyed_input_of(h, b, *out))
            return false;
    return true;
}

static void other_maps(Check *c, const Graph *g, ApplyId a, size_t out) {
    const Op *op = g->apply[a].op;
    if (!found(c, E_STOCHASTIC_ORDER, check_key(E_STOCHASTIC_ORDER, op, 1),
               g->origin[a].at,
               "equal ops must have equal maps, but those of %s differ at output %zu",
               op->name, out))
        return;
    check_note_apply(c, g, a);
    found_note(c, NOWHERE,
               "%s may depend only on the op, its props, and the number and types of "
               "its inputs",
               op->plugin ? "view and destroy" : "views and destroys");
}

/* Compares each Apply's maps with a second query and with the first Apply of its
 * kind. */
void rewrite_log_maps(Check *c) {
    Map first = MAP(c->s);
    size_t out;
    for (size_t i = 0; i < c->logs.n; i++) {
        const Graph *g = c->logs.p[i]->g;
        for (ApplyId a = 0; a < g->napply; a++) {
            const Op *op = g->apply[a].op;
            if (!op_rare(op)->views && !op_rare(op)->destroys) continue;
            uint64_t key = apply_signature(g, a), seen = (uint64_t)i << 32 | a;
            if (!map_get(&first, key, &seen)) map_put(&first, key, seen);
            const Graph *h = c->logs.p[seen >> 32]->g;
            if (!same_maps(g, a, h, (ApplyId)seen, &out) ||
                !same_maps(g, a, g, a, &out))
                other_maps(c, g, a, out);
        }
    }
    map_free(&first);
}
