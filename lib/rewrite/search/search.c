/* The rounds of a search: every rule is matched at every term, then what it found is
 * joined and the e-graph rebuilt, until a round finds nothing new or a limit is
 * reached. */
#include "rewrite/search/search_impl.h"

enum { CLOCK_EVERY = 256, PER_RULE_LEAST = 1000, TERM_BYTES = 512 };

/* ---- limits ---- */

bool search_is_over(Search *s) {
    if (s->out_of_time || s->out_of_nodes) return true;
    s->out_of_nodes = s->r.g->nvar >= s->most;
    if (++s->steps % CLOCK_EVERY == 0)
        s->out_of_time = clock_seconds() - s->start > s->o->seconds;
    return s->out_of_time || s->out_of_nodes;
}

/* ---- the rules ---- */

static void add_rule(Search *s, const DatabaseEntry *e, const Rule *rule) {
    SearchRule x = {.rule = rule, .name = e->name, .fast = e->fast};
    vec_push(s->s, &s->rules, x);
}

/* Rules @stabilize improve values, so their sides are not equal. */
static void collect_rules(Search *s, const Database *db) {
    for (size_t i = 0; i < db->entry.n; i++) {
        const DatabaseEntry *e = &db->entry.p[i];
        if (!(e->selected || e->searched) || !e->rule || e->rule->broken ||
            tags_have(e->pub.tags, "stabilize"))
            continue;
        add_rule(s, e, e->rule);
        if (e->rule->reverse) add_rule(s, e, e->rule->reverse);
    }
}

/* Those whose left sides have the op follow each other. */
static void list_rules_of(Search *s, const Op *op) {
    map_put(&s->rules_of, (uintptr_t)op, s->list.n + 1);
    for (uint32_t i = 0; i < s->rules.n; i++)
        if (s->rules.p[i].rule->lhs->op == op) vec_push(s->s, &s->list, i);
    vec_push(s->s, &s->list, UINT32_MAX);
}

static void index_rules(Search *s) {
    for (size_t i = 0; i < s->rules.n; i++) {
        const Op *op = s->rules.p[i].rule->lhs->op;
        if (!map_get(&s->rules_of, (uintptr_t)op, NULL)) list_rules_of(s, op);
    }
}

/* ---- a round ---- */

static void match_term(Search *s, Var v) {
    const VarRec *var = &s->e.g->var[v];
    uint64_t at;
    if (var->leaf || s->e.dead[v] || s->e.g->apply[var->owner].serial ||
        !map_get(&s->rules_of, (uintptr_t)s->e.g->apply[var->owner].op, &at))
        return;
    for (const uint32_t *i = &s->list.p[at - 1]; *i != UINT32_MAX; i++)
        ematch_term(s, *i, v);
}

static void join_found(Search *s) {
    egraph_grow(&s->e);
    for (size_t i = 0; i < s->found.n; i++) {
        const Found *f = &s->found.p[i];
        const SearchRule *rule = &s->rules.p[f->rule];
        if (egraph_union(&s->e, f->at, f->equal, rule->name)) s->fast |= rule->fast;
    }
    s->found.n = 0;
    egraph_rebuild(&s->e);
}

/* False: nothing new. */
static bool go_round(Search *s) {
    uint32_t n = s->e.n, unions = s->e.unions;
    bool cut = false;
    for (size_t i = 0; i < s->rules.n; i++)
        s->rules.p[i].fired = 0;
    for (Var v = 0; v < n && !search_is_over(s); v++)
        match_term(s, v);
    for (size_t i = 0; i < s->rules.n; i++)
        cut |= s->rules.p[i].fired >= s->per_rule;
    join_found(s);
    s->o->rounds++;
    return cut || s->e.n != n || s->e.unions != unions;
}

/* ---- the result ---- */

static void install_choice(Search *s, const Var *choice) {
    Rewriter *r = &s->r;
    for (Var v = 0; v < s->e.n; v++) {
        Var x = choice[egraph_find(&s->e, v)];
        if (x == v) continue;
        r->forward[v] = x;
        if (s->fast) rewriter_loosen(r, v);
    }
    graph_compact(r->g, ROOTS_RUN | ROOTS_INIT, r->forward, true);
}

static void count_classes(Search *s) {
    s->o->terms = s->e.n;
    for (Var v = 0; v < s->e.n; v++)
        s->o->classes += s->e.parent[v] == v;
    s->o->ended = s->out_of_nodes  ? "out of nodes"
                  : s->out_of_time ? "out of time"
                                   : "saturated";
}

static void close_search(Search *s) {
    egraph_close(&s->e);
    rewriter_close(&s->r);
    vec_free(&s->rules);
    vec_free(&s->list);
    vec_free(&s->found);
    map_free(&s->rules_of);
    map_free(&s->tried);
}

void search_run(Graph *g, Database *db, const RewriteOptions *o, RewriteSearch *x) {
    uint32_t number = 0;
    Search s = {.s = g->s, .o = x, .start = clock_seconds()};
    s.rules_of = s.tried = MAP(g->s);
    uint64_t room = session_max_memory(g->s) / TERM_BYTES;
    s.most = room < x->nodes ? (uint32_t)room : x->nodes;
    s.per_rule = PER_RULE_LEAST + g->napply;
    rewriter_open(&s.r, g, db, o, &number);
    s.r.searching = true;
    egraph_open(&s.e, g);
    collect_rules(&s, db);
    index_rules(&s);
    while (!search_is_over(&s) && go_round(&s)) {
    }
    count_classes(&s);
    Arena *a = arena_new(g->s);
    const Var *choice = extract_cheapest(&s, a);
    if (x->chain) search_explain(&s, a, choice);
    install_choice(&s, choice);
    arena_free(a);
    close_search(&s);
    graph_trim(g);
}
