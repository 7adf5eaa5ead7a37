/* The rounds of a search: every rule is matched where something is new to it, then what
 * it found is joined and the e-graph rebuilt, until a round finds nothing new or a
 * limit is reached. */
#include "rewrite/search/search_impl.h"

#include <math.h>

enum { PER_RULE_LEAST = 1000, PER_RULE_SHARE = 4, ASK_EVERY = 256 };

/* ---- limits ---- */

bool search_is_late(Search *s, double rest) {
    bool late = clock_seconds() - s->start + rest > s->o->seconds;
    s->out_of_time |= late;
    return late;
}

/* What was matched is still joined, and the cheapest form chosen. */
static bool is_stopped(Search *s) {
    s->stopped =
        s->o->stop && atomic_load_explicit(s->o->stop, memory_order_relaxed) != 0;
    return s->stopped;
}

/* What is left to do once no term is added: to join what was found, and to choose. */
static double seconds_to_end(const Search *s) {
    static const double join_seconds = 1e-6;
    return s->e.n * extract_seconds + (double)s->found.n * join_seconds;
}

static size_t bytes_of_lists(const Search *s) {
    size_t n = s->found.cap * sizeof *s->found.p;
    for (size_t i = 0; i < s->ops.n; i++)
        n += s->ops.p[i].term.cap * sizeof *s->ops.p[i].term.p;
    return n;
}

static size_t bytes_held(const Search *s) {
    return egraph_bytes(&s->e) + graph_bytes(s->e.g) + rewriter_bytes(&s->r) +
           bytes_of_lists(s);
}

/* Terms that there is room for, when the tables have grown once more. */
static uint32_t terms_that_fit(const Search *s) {
    uint64_t room = session_max_memory(s->s), held = bytes_held(s),
             n = s->e.n + s->e.n / 2 + 64;
    uint64_t then = held + held / 2 + n * extract_bytes;
    uint64_t fit = then <= room ? n : 0;
    return fit < s->o->nodes ? (uint32_t)fit : s->o->nodes;
}

/* Terms that only proofs need don't count: the result must not depend on whether they
 * are asked for. */
static uint32_t count_terms(const Search *s) {
    return s->e.n - s->e.aliases;
}

static bool is_full(Search *s) {
    if (s->e.n < s->most) return false;
    uint32_t n = count_terms(s);
    if (n >= s->o->nodes) return s->out_of_nodes = true;
    uint32_t fit = terms_that_fit(s);
    if (fit <= n) return s->out_of_memory = true;
    s->most = s->e.n + (fit - n);
    return false;
}

bool search_check_limits(Search *s) {
    return is_full(s) || is_stopped(s) || search_is_late(s, seconds_to_end(s));
}

static bool is_late_joining(void *search) {
    const Search *s = search;
    return search_is_late(search, s->e.n * extract_seconds);
}

/* ---- the rules ---- */

static uint32_t depth_of_pattern(const Pat *p) {
    uint32_t most = 0;
    if (p->kind != PAT_APPLY) return 0;
    for (size_t i = 0; i < p->nin; i++) {
        uint32_t d = depth_of_pattern(p->in[i]);
        most = d > most ? d : most;
    }
    return most + 1;
}

static OpTerms *terms_of_op(Search *s, const Op *op) {
    uint64_t at;
    if (!map_get(&s->terms_of, (uintptr_t)op, &at)) {
        OpTerms none = {.op = op};
        at = s->ops.n;
        map_put(&s->terms_of, (uintptr_t)op, at);
        vec_push(s->s, &s->ops, none);
    }
    return &s->ops.p[at];
}

static void add_rule(Search *s, const DatabaseEntry *e, const Rule *rule) {
    SearchRule x = {.rule = rule,
                    .name = e->name,
                    .needs = stage_needs(rule),
                    .fast = e->fast,
                    .depth = depth_of_pattern(rule->lhs),
                    .made = depth_of_pattern(rule->rhs)};
    OpTerms *of = terms_of_op(s, rule->lhs->op);
    vec_push(s->s, &of->rule, (uint32_t)s->rules.n);
    vec_push(s->s, &s->rules, x);
}

/* Rules @stabilize improve values, so their sides are not equal. */
static void collect_rules(Search *s, const Database *db) {
    for (size_t i = 0; i < db->entry.n; i++) {
        const DatabaseEntry *e = &db->entry.p[i];
        if (!(e->selected || e->searched) || !e->rule || e->rule->broken ||
            rewrite_tags_have(e->pub.tags, "stabilize"))
            continue;
        add_rule(s, e, e->rule);
        if (e->rule->reverse) add_rule(s, e, e->rule->reverse);
    }
}

/* ---- matching ---- */

/* Enters the new terms in the lists of their ops. */
static void list_terms(Search *s) {
    const Graph *g = s->e.g;
    for (; s->listed < s->e.n; s->listed++) {
        Var v = s->listed;
        uint64_t at;
        if (egraph_is_dead(&s->e, v) || g->var[v].leaf ||
            g->apply[g->var[v].owner].serial ||
            !map_get(&s->terms_of, (uintptr_t)g->apply[g->var[v].owner].op, &at))
            continue;
        vec_push(s->s, &s->ops.p[at].term, v);
    }
}

static void drop_dead_terms(const EGraph *e, OpTerms *of) {
    size_t n = 0;
    for (size_t i = 0; i < of->term.n; i++)
        if (!egraph_is_dead(e, of->term.p[i])) of->term.p[n++] = of->term.p[i];
    of->term.n = n;
}

/* What rules ask first of a term. */
typedef struct Looks {
    InputKinds inputs;
    uint32_t newest; /* the last time that something changed in the term or in the
                      * classes of its inputs: all that patterns of SEEN_DEPTH see */
} Looks;
enum { SEEN_DEPTH = 2 };
static Looks looks_of_term(Search *s, Var v) {
    const EGraph *e = &s->e;
    Looks x = {.inputs = NO_INPUTS, .newest = e->term[v].since};
    VarList in = egraph_inputs(e, v);
    for (size_t i = 0; i < in.n; i++) {
        Var at = egraph_find(e, in.p[i]);
        const Class *class = &e->class[at];
        stage_add_input(&x.inputs, class->kinds | stage_kinds_of_const(&s->r, at));
        x.inputs.same |= i == 1 && at == egraph_find(e, in.p[0]);
        if (class->fresh > x.newest) x.newest = class->fresh;
    }
    return x;
}

static bool may_match(Search *s, const SearchRule *rule, Var v, Looks *x) {
    return v >= rule->cursor && rule->fired < s->per_rule &&
           (x->newest >= rule->since || rule->depth > SEEN_DEPTH) &&
           stage_orders(&rule->needs, &x->inputs);
}

static void match_term(Search *s, const OpTerms *of, Var v) {
    Looks x = looks_of_term(s, v);
    for (size_t i = 0; i < of->rule.n; i++) {
        SearchRule *rule = &s->rules.p[of->rule.p[i]];
        if (!may_match(s, rule, v, &x)) continue;
        ematch_term(s, of->rule.p[i], v, rule->since);
        if (rule->fired >= s->per_rule) rule->cursor = v;
    }
}

static void begin_passes(Search *s) {
    s->per_rule = PER_RULE_LEAST + count_terms(s) / PER_RULE_SHARE;
    for (size_t i = 0; i < s->rules.n; i++) {
        SearchRule *rule = &s->rules.p[i];
        rule->fired = 0;
        if (rule->cursor == 0) rule->began = s->e.now;
    }
}

/* False: a rule has more to do. */
static bool end_passes(Search *s) {
    bool all = true;
    for (size_t i = 0; i < s->rules.n; i++) {
        SearchRule *rule = &s->rules.p[i];
        all &= rule->fired < s->per_rule && rule->began == s->e.now;
        if (rule->fired >= s->per_rule) continue;
        rule->since = rule->began;
        rule->cursor = 0;
    }
    return all;
}

static void match_all(Search *s) {
    for (size_t k = 0; k < s->ops.n; k++) {
        OpTerms *of = &s->ops.p[k];
        drop_dead_terms(&s->e, of);
        for (size_t i = 0; i < of->term.n && !search_is_over(s); i++)
            match_term(s, of, of->term.p[i]);
    }
}

/* ---- a round ---- */

static void join_found(Search *s) {
    for (size_t i = 0; i < s->found.n; i++) {
        const Found *f = &s->found.p[i];
        const SearchRule *rule = &s->rules.p[f->rule];
        if (egraph_union(&s->e, f->left, f->right, rule->name)) s->fast |= rule->fast;
        if (i % ASK_EVERY == 0 && is_late_joining(s)) break;
    }
    s->found.n = 0;
    egraph_rebuild(&s->e, is_late_joining, s);
}

/* False: nothing new. */
static bool go_round(Search *s) {
    uint32_t n = count_terms(s), unions = s->e.unions;
    s->e.now++;
    list_terms(s);
    begin_passes(s);
    match_all(s);
    bool all = end_passes(s);
    join_found(s);
    s->o->rounds++;
    return !all || count_terms(s) != n || s->e.unions != unions;
}

/* ---- the result ---- */

static void install_choice(Search *s, const Var *choice) {
    Rewriter *r = &s->r;
    for (Var v = 0; v < s->e.n; v++) {
        Var x = choice[egraph_find(&s->e, v)];
        if (x == v || x == VAR_NONE) continue;
        r->forward[v] = x;
        if (s->fast) rewriter_loosen(r, v);
    }
    graph_compact(r->g, ROOTS_RUN | ROOTS_INIT, r->forward, true);
}

static void count_classes(Search *s) {
    s->o->terms = count_terms(s);
    for (Var v = 0; v < s->e.n; v++)
        s->o->classes += s->e.parent[v] == v;
    s->o->ended = s->stopped         ? "stopped"
                  : s->out_of_memory ? "out of memory"
                  : s->out_of_nodes  ? "out of nodes"
                  : s->out_of_time   ? "out of time"
                                     : "saturated";
}

static void open_search(Search *s, Graph *g, Database *db, const RewriteOptions *o,
                        uint32_t *number) {
    s->terms_of = MAP(g->s);
    s->typing_of = INDEX(g->s);
    graph_make_room(g);
    rewriter_open(&s->r, g, db, o, number, FOR_SEARCH);
    s->r.apply = search_apply;
    s->r.apply_ctx = s;
    egraph_open(&s->e, g, s->o->chain != NULL);
    collect_rules(s, db);
    s->most = s->given = s->e.n;
}

static void close_search(Search *s) {
    egraph_close(&s->e);
    rewriter_close(&s->r);
    for (size_t i = 0; i < s->ops.n; i++) {
        vec_free(&s->ops.p[i].term);
        vec_free(&s->ops.p[i].rule);
    }
    vec_free(&s->ops);
    vec_free(&s->rules);
    vec_free(&s->found);
    vec_free(&s->picked);
    vec_free(&s->typing);
    map_free(&s->terms_of);
    index_free(&s->typing_of);
}

void search_run(Graph *g, Database *db, const RewriteOptions *o, RewriteSearch *x) {
    uint32_t number = 0;
    Search s = {.s = g->s, .o = x, .start = clock_seconds()};
    open_search(&s, g, db, o, &number);
    while (!search_is_over(&s) && go_round(&s)) {
    }
    x->finding = clock_seconds() - s.start;
    count_classes(&s);
    Arena *a = arena_new(g->s);
    const Var *choice = extract_cheapest(&s, a);
    x->choosing = clock_seconds() - s.start - x->finding;
    if (x->chain) search_explain(&s, a, choice);
    install_choice(&s, choice);
    arena_free(a);
    close_search(&s);
    graph_trim(g);
}
