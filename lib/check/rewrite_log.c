/* The log: everything that existed in a graph during rewriting, in one graph that can
 * be evaluated. Nodes of the overlay are copied as they appear, once per epoch, and
 * equal ones merge. Calls keep naming the functions as read, so that a replacement is
 * compared with what the user wrote rather than with another rewrite's result. */
#include "check/check_impl.h"

#include <string.h>

static Sym rewrite_log_name(const Graph *g) {
    return g->main == g ? 0 : g->name;
}

RewriteLog *rewrite_log_get(Check *c, const Graph *g) {
    uint64_t i;
    return map_get(&c->log_of, rewrite_log_name(g), &i) ? c->logs.p[i] : NULL;
}

static RewriteLog *add_log(Check *c, Graph *g) {
    RewriteLog *b = NEW(c->a, RewriteLog);
    b->g = g;
    map_put(&c->log_of, rewrite_log_name(g), c->logs.n);
    vec_push(c->s, &c->logs, b);
    return b;
}

/* ---- copying ---- */
static void need_functions(Check *c, const Graph *from, const Props *p);

static Var copy_leaf(RewriteLog *b, const Graph *from, Var v) {
    Graph *g = b->g;
    const Leaf *l = var_leafrec(from, v);
    switch (var_leaf(from, v)) {
    case LEAF_DIM:
        return graph_dim(g, l->name);
    case LEAF_CONST:
        return graph_share_const(g, from, v, true);
    case LEAF_INPUT:
    case LEAF_SHARED:
    case LEAF_NOT:
        break;
    }
    Var have = graph_find(g, l->name);
    if (have == VAR_NONE) bug("the leaf %s is not in the log", sym_text(g->s, l->name));
    return have;
}

static Var copy_apply(Check *c, RewriteLog *b, const Graph *from, ApplyId id,
                      bool serial) {
    const Apply *a = &from->apply[id];
    const Type **type = mem_zalloc(c->s, a->nout, sizeof *type);
    Var *in = mem_zalloc(c->s, a->nin, sizeof *in);
    for (size_t i = 0; i < a->nin; i++)
        in[i] = b->map.p[apply_in(from, id)[i]];
    for (size_t i = 0; i < a->nout; i++)
        type[i] = var_type(from, a->out + (Var)i);
    need_functions(c, from, a->props);
    Var r = graph_apply(b->g, a->op, a->props, a->nin, in, a->nout, type, !serial,
                        serial, from->origin[id]);
    mem_free(in);
    mem_free((void *)type);
    return r;
}

/* Extends b->map to the current size of `from`. `serials`: effects keep their serial
 * numbers. */
static void copy_grown(Check *c, RewriteLog *b, const Graph *from, uint32_t epoch,
                       bool serials) {
    if (b->of != from || b->epoch != epoch) b->map.n = 0;
    b->of = from;
    b->epoch = epoch;
    for (Var v = (Var)b->map.n; v < from->nvar; v = (Var)b->map.n) {
        ApplyId a = var_owner(from, v);
        if (a == APPLY_NONE) {
            Var leaf = copy_leaf(b, from, v);
            vec_push(c->s, &b->map, leaf);
            continue;
        }
        Var r = copy_apply(c, b, from, a, serials && from->apply[a].serial);
        for (Var k = 0; k < from->apply[a].nout; k++)
            vec_push(c->s, &b->map, r + k);
    }
}

/* A function created by rewriting. */
static void copy_function(Check *c, const Graph *fn) {
    Graph *g = graph_function_new(c->log_graph, fn->name);
    RewriteLog *b = add_log(c, g);
    g->fused = fn->fused;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var v = fn->inputs.p[i];
        graph_input(g, var_leafrec(fn, v)->name, var_type(fn, v));
    }
    copy_grown(c, b, fn, 0, true);
    for (size_t i = 0; i < fn->outputs.n; i++) {
        Output o = fn->outputs.p[i];
        vec_push(c->s, &g->outputs, ((Output){o.label, b->map.p[o.var]}));
    }
    for (size_t i = 0; i < fn->effects.n; i++) {
        Var v = b->map.p[fn->apply[fn->effects.p[i]].out];
        vec_push(c->s, &g->effects, var_owner(g, v));
    }
    if (fn->until != VAR_NONE) g->until = b->map.p[fn->until];
    b->of = NULL;
}

static void need_functions(Check *c, const Graph *from, const Props *p) {
    for (size_t i = 0; i < p->n; i++) {
        if (p->p[i].kind != P_GRAPH || graph_function(c->log_graph, p->p[i].sym))
            continue;
        const Graph *fn = graph_function(from, p->p[i].sym);
        if (fn) copy_function(c, fn);
    }
}

RewriteLog *rewrite_log_of_body(Check *c, Graph *body) {
    uint64_t i = 0;
    if (map_get(&c->body_of, (uintptr_t)body, &i)) return c->logs.p[i];
    RewriteLog *b = NEW(c->a, RewriteLog);
    b->g = body;
    map_put(&c->body_of, (uintptr_t)body, c->logs.n);
    vec_push(c->s, &c->logs, b);
    for (Var v = 0; v < body->nvar; v++)
        vec_push(c->s, &b->runs, (uint8_t)1);
    for (size_t k = 0; k < body->outputs.n; k++)
        b->runs.p[body->outputs.p[k].var] |= 2;
    return b;
}

/* ---- replacements ---- */
static bool has_tag(const char *tags, const char *word) {
    size_t n = strlen(word);
    for (const char *p = tags; p && *p;) {
        size_t len = strcspn(p, " ");
        if (len == n && memcmp(p, word, n) == 0) return true;
        p += len + (p[len] == ' ');
    }
    return false;
}

/* Stabilising rules exist to change nan and inf, fast ones may, and algebra no longer
 * multiplies them by zeros. */
static Approx rule_tolerance(const Check *c, const char *tags) {
    Approx how = APPROX_DEFAULT;
    how.sloppy = has_tag(tags, "sloppy2") ? 2 : has_tag(tags, "sloppy1") ? 1 : 0;
    if (how.sloppy < c->o.sloppy) how.sloppy = c->o.sloppy;
    how.allow_remove_inf = how.allow_remove_nan =
        has_tag(tags, "stabilize") || has_tag(tags, "algebra") || has_tag(tags, "fast");
    return how;
}

Approx check_how(const Graph *g, Var v, Approx how) {
    const Approx *own = graph_approx(g, v);
    if (!own) return how;
    if (own->rtol >= 0) how.rtol = own->rtol;
    if (own->atol >= 0) how.atol = own->atol;
    if (own->sloppy > how.sloppy) how.sloppy = own->sloppy;
    how.allow_remove_inf |= own->allow_remove_inf;
    how.allow_remove_nan |= own->allow_remove_nan;
    return how;
}

static void add_pair(Check *c, RewriteLog *b, const RewriteEvent *e, Var before,
                     Var after) {
    Pair p = {b->map.p[before], b->map.p[after], NULL, rule_tolerance(c, e->tags)};
    if (p.how.sloppy > c->loose.sloppy) c->loose.sloppy = p.how.sloppy;
    if (p.before == p.after) return;
    const Approx *own = graph_approx(b->g, p.before);
    if (own) graph_set_approx(b->g, p.after, *own); /* for further replacements of it */
    p.how = check_how(b->g, p.before, p.how);
    p.rule = sym_text(c->s, sym(c->s, e->rule));
    vec_push(c->s, &b->pair, p);
}

static bool log_rewrite(void *ctx, const RewriteEvent *e) {
    Check *c = ctx;
    order_log(c, e);
    if (!rewrite_log_get(c, e->g)) copy_function(c, e->g);
    RewriteLog *b = rewrite_log_get(c, e->g);
    copy_grown(c, b, e->g, e->epoch, false);
    add_pair(c, b, e, e->before, e->after);
    for (size_t i = 0; i < e->nmore; i++)
        add_pair(c, b, e, e->more_before[i], e->more_after[i]);
    return true;
}

/* ---- the rewritten graph ---- */
static void add_whole(Check *c, RewriteLog *b, Var before, Var after) {
    Pair p = {before, b->map.p[after], NULL, check_how(b->g, before, c->loose)};
    if (p.before != p.after) vec_push(c->s, &b->whole, p);
}

static void mark_result(RewriteLog *b, Var v) {
    b->runs.p[b->map.p[v]] |= 2;
}

/* An effect that something reads is needed like any value. */
static void mark_ready_results(RewriteLog *b, const Graph *ready, Arena *a) {
    VarList root = graph_roots(ready, a, ROOTS_RESULTS);
    for (size_t i = 0; i < root.n; i++)
        mark_result(b, root.p[i]);
    if (!ready->effects.n) return;
    Clients c = graph_clients(ready, a, NULL);
    for (size_t i = 0; i < ready->effects.n; i++) {
        Var v = ready->apply[ready->effects.p[i]].out;
        if (c.first[v] == c.first[v + 1]) mark_result(b, v);
    }
}

static void follow_ready(Check *c, RewriteLog *b, const Graph *ready) {
    copy_grown(c, b, ready, UINT32_MAX, false);
    for (size_t i = 0; i < ready->outputs.n && i < b->g->outputs.n; i++)
        add_whole(c, b, b->g->outputs.p[i].var, ready->outputs.p[i].var);
    for (size_t i = 0; i < ready->updates.n && i < b->g->updates.n; i++)
        add_whole(c, b, b->g->updates.p[i].value, ready->updates.p[i].value);
    for (Var v = 0; v < b->g->nvar; v++)
        vec_push(c->s, &b->runs, (uint8_t)0);
    uint8_t *live = graph_live(ready, c->a, ROOTS_RUN);
    for (Var v = 0; v < ready->nvar; v++)
        if (live[v]) b->runs.p[b->map.p[v]] |= 1;
    mark_ready_results(b, ready, c->a);
}

static void follow_rewritten(Check *c) {
    RewriteLog *main = c->logs.p[0];
    for (size_t i = 0; i < c->ready->functions.n; i++) {
        const Graph *fn = c->ready->functions.p[i];
        RewriteLog *b = rewrite_log_get(c, fn);
        if (b) follow_ready(c, b, fn);
    }
    follow_ready(c, main, c->ready);
    c->ready_map = arena_copy(c->a, main->map.p, main->map.n * sizeof(Var));
    for (size_t i = 0; i < c->logs.n; i++)
        while (c->logs.p[i]->runs.n < c->logs.p[i]->g->nvar)
            vec_push(c->s, &c->logs.p[i]->runs, (uint8_t)0);
}

bool rewrite_log_open(Check *c, Graph *g) {
    RewriteOptions how = {.query = c->o.query, .explain = log_rewrite, .ctx = c};
    RewriteResult what;
    c->log_graph = graph_copy(g, ROOTS_RUN | ROOTS_INIT, NULL, true, NULL);
    add_log(c, c->log_graph);
    for (size_t i = 0; i < c->log_graph->functions.n; i++)
        add_log(c, c->log_graph->functions.p[i]);
    c->ready = rewrite_run(g, &how, &what);
    if (!c->ready) return false;
    follow_rewritten(c);
    return true;
}

void rewrite_log_free(Check *c) {
    for (size_t i = 0; i < c->logs.n; i++) {
        vec_free(&c->logs.p[i]->pair);
        vec_free(&c->logs.p[i]->whole);
        vec_free(&c->logs.p[i]->map);
        vec_free(&c->logs.p[i]->runs);
    }
    vec_free(&c->logs);
    map_free(&c->log_of);
    map_free(&c->body_of);
    graph_free(c->log_graph);
}
