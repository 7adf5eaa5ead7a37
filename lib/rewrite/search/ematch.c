/* Matches a rule's left side over the classes of an e-graph. As in lib/rewrite/match.c
 * a list of goals is solved from left to right, but a goal is a class, each of whose
 * members is tried, and every match is wanted. */
#include "rewrite/search/search_impl.h"

#include <string.h>

typedef struct Goal {
    const Pat *p;
    Var class;
    const struct Goal *next;
} Goal;
typedef struct Matcher {
    Search *s;
    MatchSearch m;
    uint32_t rule;
    Var at;
} Matcher;

static void solve(Matcher *t, const Goal *g);

/* ---- a match ---- */

static uint64_t hash_match(const Matcher *t) {
    const Rule *rule = t->m.rule;
    uint64_t h = hash_mix(t->rule, egraph_find(&t->s->e, t->at));
    for (size_t i = 0; i < rule->nhole; i++) {
        if (rule->rest_hole[i])
            h = hash_mix(h, (uint64_t)(uintptr_t)t->m.m->rest[i]);
        else if (rule->prop_hole[i])
            h = hash_mix(h, props_intern(t->s->s, 1, &t->m.m->prop[i])->id);
        else
            h = hash_mix(h, t->m.m->var[i]);
    }
    return h;
}

static bool guards_hold(const Matcher *t) {
    const Rule *rule = t->m.rule;
    for (size_t i = 0; i < rule->nguard; i++)
        if (!guard_holds(t->m.r, &rule->guard[i], t->m.m,
                         rule->guard[i].part ? t->m.m->part[i] : VAR_NONE))
            return false;
    return true;
}

/* The same match is found in every round, but built once. */
static void build_match(Matcher *t) {
    Search *s = t->s;
    SearchRule *rule = &s->rules.p[t->rule];
    uint64_t key = hash_match(t);
    if (map_get(&s->tried, key, NULL) || !guards_hold(t)) return;
    map_put(&s->tried, key, 1);
    Rewriter *r = t->m.r;
    r->b.from = (Origin){r->g->origin[r->g->var[t->at].owner].at, rule->name};
    Var x = rule_replace(r, t->m.rule, t->m.m, t->at);
    rule->fired++;
    if (x == VAR_NONE) return;
    Found f = {t->at, x, t->rule};
    vec_push(s->s, &s->found, f);
}

/* ---- goals ---- */

static void solve_hole(Matcher *t, const Goal *g) {
    Match *m = t->m.m;
    uint16_t h = g->p->hole;
    if (m->bound[h]) {
        if (m->var[h] == g->class) solve(t, g->next);
        return;
    }
    if (t->m.rule->const_hole[h] && !var_const(t->m.r->g, g->class)) return;
    m->var[h] = g->class;
    m->bound[h] = true;
    solve(t, g->next);
    m->bound[h] = false;
}

static void solve_inputs(Matcher *t, const Goal *g, const Var *in) {
    Goal goals[8];
    const Goal *next = g->next;
    for (size_t k = g->p->nin; k-- > 0;) {
        goals[k] = (Goal){g->p->in[k], in[k], next};
        next = &goals[k];
    }
    solve(t, next);
}

/* One member of a class. */
static void solve_term(Matcher *t, const Goal *g, Var v) {
    const Graph *graph = t->m.r->g;
    if (graph->var[v].leaf || t->s->e.dead[v]) return;
    /* a copy: building appends Applies */
    const Apply a = graph->apply[graph->var[v].owner];
    if (!match_op(g->p, &a, v) || a.nin > 8) return;
    if (!match_props(&t->m, g->p, &a) || !match_bind_rest(&t->m, g->p, &a)) return;
    const Rule *rule = t->m.rule;
    for (size_t i = 0; i < rule->nguard; i++)
        if (rule->guard[i].arg[0] == g->p) t->m.m->part[i] = egraph_find(&t->s->e, v);
    uint32_t set = match_mark_props(&t->m, g->p);
    Var in[8];
    for (size_t i = 0; i < a.nin; i++)
        in[i] = egraph_find(&t->s->e, graph->in[a.in + i]);
    solve_inputs(t, g, in);
    if (a.op->comm && a.nin == 2 && in[0] != in[1]) {
        Var swapped[2] = {in[1], in[0]};
        solve_inputs(t, g, swapped);
    }
    match_unmark_props(&t->m, set);
}

static bool is_done(const Matcher *t) {
    return search_is_over(t->s) || t->s->rules.p[t->rule].fired >= t->s->per_rule;
}

static void solve_apply(Matcher *t, const Goal *g) {
    Var v = g->class;
    do {
        solve_term(t, g, v);
        v = t->s->e.next[v];
    } while (v != g->class && !is_done(t));
}

static void solve(Matcher *t, const Goal *g) {
    if (is_done(t)) return;
    if (!g)
        build_match(t);
    else if (g->p->kind == PAT_HOLE)
        solve_hole(t, g);
    else if (g->p->kind == PAT_APPLY)
        solve_apply(t, g);
    else if (match_literal(t->m.r, g->p, g->class))
        solve(t, g->next);
}

void ematch_term(Search *s, uint32_t rule, Var v) {
    Match m;
    const Rule *what = s->rules.p[rule].rule;
    memset(m.bound, 0, sizeof m.bound);
    Matcher t = {s, {&s->r, what, &m}, rule, v};
    Goal root = {what->lhs, egraph_find(&s->e, v), NULL};
    solve_term(&t, &root, v);
}
