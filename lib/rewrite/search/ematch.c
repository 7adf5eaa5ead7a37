/* Matches a rule's left side over the classes of an e-graph. As in lib/rewrite/match.c
 * a list of goals is solved from left to right, but a goal is a class, each of whose
 * members is tried, and every match is wanted: every one that has a term which is new
 * to the rule, since it found the others before. */
#include "rewrite/search/search_impl.h"

#include <string.h>

typedef struct Goal {
    const Pat *p;
    Var class;
    bool last; /* no later goal is an Apply, as far as the pattern tells */
    const struct Goal *next;
} Goal;
typedef struct Matcher {
    Search *s;
    MatchSearch m;
    uint32_t rule, since;
    Var at;
    bool is_new; /* a term of the match is */
} Matcher;

enum { INPUTS_MAX = 8 };
static void solve(Matcher *t, const Goal *g);

/* ---- a match ---- */

static bool guards_hold(const Matcher *t) {
    const Rule *rule = t->m.rule;
    for (size_t i = 0; i < rule->nguard; i++)
        if (!guard_holds(t->m.r, &rule->guard[i], t->m.m,
                         rule->guard[i].part ? t->m.m->part[i] : VAR_NONE))
            return false;
    return true;
}

static void build_match(Matcher *t) {
    Search *s = t->s;
    SearchRule *rule = &s->rules.p[t->rule];
    if (!guards_hold(t)) return;
    Rewriter *r = t->m.r;
    size_t mark = diag_count(r->s);
    r->b.from = (Origin){r->g->origin[r->g->var[t->at].owner].at, rule->name};
    Var left = s->e.because ? search_build_left(s, rule->rule->lhs, t->m.m) : t->at;
    Var x = rule_replace(r, t->m.rule, t->m.m, t->at);
    egraph_grow(&s->e);
    if (diag_count(r->s) > mark) { /* what was found so far still counts */
        diag_rewind(r->s, mark);
        s->out_of_memory = true;
        return;
    }
    if (x == VAR_NONE || egraph_find(&s->e, x) == egraph_find(&s->e, t->at)) return;
    rule->fired++; /* what was known doesn't count: the next pass begins with it */
    Found f = {left, x, t->rule};
    vec_push(s->s, &s->found, f);
}

/* ---- goals ---- */

/* Only proofs ask for it. */
static void put_picked(Matcher *t, const Pat *p, Var v) {
    Picked x = {p, v};
    if (t->s->e.because) vec_push(t->s->s, &t->s->picked, x);
}

static void drop_picked(Matcher *t) {
    if (t->s->e.because) t->s->picked.n--;
}

static void solve_literal(Matcher *t, const Goal *g) {
    if (!match_literal(t->m.r, g->p, g->class)) return;
    put_picked(t, g->p, g->class);
    solve(t, g->next);
    drop_picked(t);
}

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
    Goal goals[INPUTS_MAX];
    const Goal *next = g->next;
    bool last = g->last;
    for (size_t k = g->p->nin; k-- > 0;) {
        const Pat *p = g->p->in[k];
        goals[k] = (Goal){p, in[k], last, next};
        next = &goals[k];
        last &= p->kind != PAT_APPLY;
    }
    solve(t, next);
}

static bool has_apply(const Pat *p) {
    for (size_t i = 0; i < p->nin; i++)
        if (p->in[i]->kind == PAT_APPLY) return true;
    return false;
}

/* The classes of the inputs can't all have what the pattern wants there. */
static bool is_impossible(const Matcher *t, const Pat *p, const Var *in) {
    const Class *class = t->s->e.class;
    const Match *m = t->m.m;
    for (size_t i = 0; i < p->nin; i++) {
        const Pat *q = p->in[i];
        if (q->kind == PAT_APPLY
                ? !(class[in[i]].kinds >> q->op_kind & 1)
                : q->kind == PAT_HOLE && m->bound[q->hole] && m->var[q->hole] != in[i])
            return true;
    }
    return false;
}

static void solve_orders(Matcher *t, const Goal *g, const Apply *a, const Var *in,
                         const Var *swapped) {
    if (!match_props(&t->m, g->p, a) || !match_bind_rest(&t->m, g->p, a)) return;
    bool binds = g->p->nprop || g->p->rest >= 0;
    uint32_t set = binds ? match_mark_props(&t->m, g->p) : 0;
    if (in) solve_inputs(t, g, in);
    if (swapped) solve_inputs(t, g, swapped);
    if (set) match_unmark_props(&t->m, set);
}

static void note_parts(Matcher *t, const Pat *p, Var v) {
    const Rule *rule = t->m.rule;
    for (size_t i = 0; i < rule->nguard; i++)
        if (rule->guard[i].arg[0] == p) t->m.m->part[i] = egraph_find(&t->s->e, v);
}

/* One member of a class: not a leaf, and not dead. */
static void solve_term(Matcher *t, const Goal *g, Var v) {
    const EGraph *e = &t->s->e;
    VarList of = egraph_inputs(e, v);
    if (of.n != g->p->nin || of.n > INPUTS_MAX) return;
    Var in[INPUTS_MAX] = {0};
    for (size_t i = 0; i < of.n; i++)
        in[i] = egraph_find(e, of.p[i]);
    Var swapped[2] = {in[1], in[0]};
    bool plain = !is_impossible(t, g->p, in), swaps = g->p->op->comm && of.n == 2 &&
                                                      in[0] != in[1] &&
                                                      !is_impossible(t, g->p, swapped);
    if (!plain && !swaps) return;
    const Apply a = e->g->apply[e->g->var[v].owner]; /* building appends Applies */
    if (!match_op(g->p, &a, v)) return;
    bool was_new = t->is_new;
    t->is_new |= e->term[v].since >= t->since;
    note_parts(t, g->p, v);
    put_picked(t, g->p, v);
    solve_orders(t, g, &a, plain ? in : NULL, swaps ? swapped : NULL);
    drop_picked(t);
    t->is_new = was_new;
}

static bool is_done(const Matcher *t) {
    return search_is_over(t->s) || t->s->rules.p[t->rule].fired >= t->s->per_rule;
}

/* Nothing new so far, and nothing but this may be. */
static bool must_be_new(const Matcher *t, const Goal *g) {
    return !t->is_new && g->last && !has_apply(g->p);
}

static void solve_apply(Matcher *t, const Goal *g) {
    EGraph *e = &t->s->e;
    bool only_new = must_be_new(t, g);
    if (!(e->class[g->class].kinds >> g->p->op_kind & 1) ||
        (only_new && e->class[g->class].fresh < t->since))
        return;
    Var v = g->class;
    do {
        if (e->term[v].kind == g->p->op_kind &&
            (!only_new || e->term[v].since >= t->since))
            solve_term(t, g, v);
        v = egraph_next(e, g->class, v);
    } while (v != g->class && !is_done(t));
}

static void solve(Matcher *t, const Goal *g) {
    if (!g)
        build_match(t);
    else if (g->p->kind == PAT_HOLE)
        solve_hole(t, g);
    else if (g->p->kind == PAT_APPLY)
        solve_apply(t, g);
    else
        solve_literal(t, g);
}

void ematch_term(Search *s, uint32_t rule, Var v, uint32_t since) {
    Match m;
    const Rule *what = s->rules.p[rule].rule;
    memset(m.bound, 0, sizeof m.bound);
    Matcher t = {.s = s, .m = {&s->r, what, &m}, .rule = rule, .since = since, .at = v};
    Goal root = {what->lhs, egraph_find(&s->e, v), true, NULL};
    if (!must_be_new(&t, &root) || s->e.term[v].since >= since)
        solve_term(&t, &root, v);
}
