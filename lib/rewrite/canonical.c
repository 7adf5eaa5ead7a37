/* A rule whose left side no graph shows when its turn comes, since other rewrites have
 * changed each instance of it before: found by rewriting instances. */
#include "rewrite/rewrite_impl.h"

#include <stdio.h>
#include <string.h>

typedef struct Instance {
    const char *rule;
    bool fired;
} Instance;

static bool note_fired(void *ctx, const RewriteEvent *e) {
    Instance *x = ctx;
    x->fired |= strcmp(e->rule, x->rule) == 0;
    return true;
}

/* A constant that guards for constants like: neither 0 nor 1, in every domain. */
static Var constant_hole(Graph *g, DType d) {
    Tensor t;
    if (!tensor_scalar(g->s, d, dtype_is_inexact(d) ? 0.5 : 3, 0, &t)) return VAR_NONE;
    Var v = graph_const(g, &t, true);
    tensor_unref(&t);
    return v;
}

static bool make_holes(Graph *g, const Rule *rule, const Type *t, Var *hole) {
    size_t n = 0;
    for (size_t i = 0; i < rule->nhole; i++) {
        char name[32];
        if (rule->prop_hole[i] || rule->rest_hole[i]) continue;
        snprintf(name, sizeof name, "hole_%zu", i);
        hole[n] = rule->const_hole[i] ? constant_hole(g, t->dtype)
                                      : graph_input(g, sym(g->s, name), t);
        if (hole[n++] == VAR_NONE) return false;
    }
    return n > 0;
}

typedef enum Shown { SHOWN_NO_INSTANCE, SHOWN_NEVER, SHOWN_YES } Shown;

/* Does the rule fire where a graph is an instance of its left side? */
static Shown try_type(const Rule *rule, const RewriteQuery *q, const Type *t) {
    Session *s = rule->s;
    Graph *g = graph_new(s);
    Var hole[HOLE_MAX], lhs, rhs;
    size_t mark = diag_count(s), n = rule_holes(rule, NULL, 0);
    Instance x = {.rule = rule->name};
    RewriteOptions how = {.query = *q, .explain = note_fired, .ctx = &x, .trial = true};
    Shown shown = SHOWN_NO_INSTANCE;
    if (make_holes(g, rule, t, hole) && rule_sides(rule, g, n, hole, 0, &lhs, &rhs)) {
        vec_push(s, &g->outputs, ((Output){sym(s, "out"), lhs}));
        graph_outputs_changed(g);
        Graph *after = rewrite_run(g, &how, NULL);
        shown = !after ? SHOWN_NO_INSTANCE : x.fired ? SHOWN_YES : SHOWN_NEVER;
        graph_free(after);
    }
    diag_rewind(s, mark);
    graph_free(g);
    return shown;
}

static bool is_excluded(const RewriteQuery *q, const RewriteEntry *e) {
    for (size_t i = 0; i < q->nexclude; i++)
        if (strcmp(q->exclude[i], e->name) == 0 ||
            rewrite_tags_have(e->tags, q->exclude[i]))
            return true;
    return false;
}

/* The query with a rule that it may not select. */
static RewriteQuery query_with(Arena *a, const RewriteQuery *q, const char *rule) {
    RewriteQuery with = *q;
    const char **name = NEW_N(a, q->ninclude + 1, const char *);
    if (q->ninclude) memcpy(name, q->include, q->ninclude * sizeof *name);
    name[with.ninclude++] = rule;
    with.include = name;
    return with;
}

static Shown try_types(const Rule *rule, const RewriteQuery *q) {
    static const struct {
        DType dtype;
        int ndim;
    } types[] = {{DT_FLOAT64, 2}, {DT_FLOAT64, 1}, {DT_FLOAT64, 0},
                 {DT_INT64, 1},   {DT_BOOL, 1},    {DT_COMPLEX128, 2}};
    Shown all = SHOWN_NO_INSTANCE;
    for (size_t i = 0; all != SHOWN_YES && i < sizeof types / sizeof *types; i++) {
        Dim dim[] = {3, 3};
        const Type *t = type_tensor(rule->s, types[i].dtype, types[i].ndim, dim);
        Shown one = try_type(rule, q, t);
        if (one > all) all = one;
    }
    return all;
}

bool rewrite_warn_of_hidden(Session *s, const RewriteQuery *q) {
    const RewriteEntry *e;
    size_t n;
    if (!q->nrules) return true;
    if (!rewrite_list(s, q, &e, &n)) return false;
    Vec(Span) user = {0}; /* the list is of the last call only */
    for (size_t i = 0; i < n; i++)
        if (!e[i].is_pass && rewrite_tags_have(e[i].tags, "user") &&
            !rewrite_tags_have(e[i].tags, "search") && !is_excluded(q, &e[i]))
            vec_push(s, &user, e[i].at);
    bool ok = true;
    for (size_t i = 0; ok && i < user.n; i++) {
        const Rule *rule = rule_parse(s, user.p[i]);
        ok = rule != NULL;
        RewriteQuery with = query_with(session_arena(s), q, ok ? rule->name : "");
        if (ok && try_types(rule, &with) == SHOWN_NEVER)
            warn(s, user.p[i], E_REWRITE,
                 "%s: other rewrites change its left side before its turn, so it never "
                 "fires",
                 rule->name);
    }
    vec_free(&user);
    return ok;
}
