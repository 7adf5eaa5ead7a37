/* Equality up to numbering. Walks two graphs in lockstep from their roots, with a
 * stack; each variable of one must always meet the same variable of the other.
 * Constants are compared by value, however many copies there are. Functions are
 * compared once for each pair of names that meets. */
#include "graph/graph_impl.h"
#include "value/class.h"

#include <string.h>

typedef struct IdPair {
    uint32_t a, b; /* variables, or names of functions */
} IdPair;

/* Two variables that must be equal, and the Applies that use them. */
typedef struct PendingPair {
    IdPair v, user;
} PendingPair;

typedef struct FunctionPairs {
    Map met; /* pairs of names */
    Vec(IdPair) todo;
} FunctionPairs;

typedef struct GraphCompare {
    const Graph *a, *b;
    FunctionPairs *functions; /* or, */
    GraphPairs *pairs;        /* functions are paired by name, and leaves, too */
    bool stop_at_names;       /* a variable that a names is paired by its name */
    Var *of_a, *of_b;         /* the partner of each variable */
    Vec(PendingPair) stack;
    IdPair at; /* the first Applies that differ */
    const char *why;
} GraphCompare;

static bool record_difference(GraphCompare *c, const char *why) {
    c->why = why;
    return false;
}

/* Of an earlier graph and a later one: which functions are equal, and which variables
 * have been paired. */
struct GraphPairs {
    GraphCompare c;
    Arena *arena;
    Map equal;         /* names of functions */
    Vec(IdPair) calls; /* of functions, by name: caller and callee */
    Vec(IdPair) trail; /* the variables that one walk has paired */
    Vec(Var) walked;   /* those of the later graph */
};

static bool same_function(GraphCompare *c, Sym a, Sym b) {
    uint64_t both = (uint64_t)a << 32 | b;
    if (c->pairs) {
        if (a && a == b && !c->stop_at_names)
            vec_push(c->a->s, &c->pairs->calls, ((IdPair){c->a->name, a}));
        return a == b && (!a || map_get(&c->pairs->equal, a, NULL));
    }
    if (!a || !b) return a == b;
    if (map_get(&c->functions->met, both, NULL)) return true;
    map_put(&c->functions->met, both, 1);
    vec_push(c->a->s, &c->functions->todo, ((IdPair){a, b}));
    return true;
}

static bool same_props(GraphCompare *c, const Props *a, const Props *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const Prop *p = &a->p[i], *q = &b->p[i];
        if (p->kind == P_GRAPH && q->kind == P_GRAPH) {
            if (!same_function(c, p->sym, q->sym)) return false;
        } else if (a != b &&
                   props_intern(c->a->s, 1, p) != props_intern(c->a->s, 1, q)) {
            return false;
        }
    }
    return true;
}

/* ---- nodes ---- */

static bool same_const(GraphCompare *c, IdPair v) {
    if (!value_identical(var_leafrec(c->a, v.a)->value, var_leafrec(c->b, v.b)->value))
        return record_difference(c, "constants differ");
    return true;
}

static bool same_leaf(GraphCompare *c, IdPair v) {
    if ((var_leaf(c->a, v.a) == LEAF_DIM || c->stop_at_names) &&
        var_leafrec(c->a, v.a)->name != var_leafrec(c->b, v.b)->name)
        return record_difference(c, "dims differ");
    return true; /* the interface has paired inputs and shared variables */
}

static bool match_applies(GraphCompare *c, IdPair v) {
    ApplyId ia = var_owner(c->a, v.a), ib = var_owner(c->b, v.b);
    const Apply *a = &c->a->apply[ia], *b = &c->b->apply[ib];
    c->at = (IdPair){ia, ib};
    if (a->op != b->op) return record_difference(c, "the ops differ");
    if (!same_props(c, a->props, b->props))
        return record_difference(c, "the props differ");
    if (a->nin != b->nin) return record_difference(c, "the numbers of inputs differ");
    if (a->nout != b->nout || c->a->var[v.a].index != c->b->var[v.b].index)
        return record_difference(c, "the outputs differ");
    for (uint32_t k = a->nin; k-- > 0;) {
        IdPair in = {apply_in(c->a, ia)[k], apply_in(c->b, ib)[k]};
        vec_push(c->a->s, &c->stack, ((PendingPair){in, c->at}));
    }
    return true;
}

/* Pairs two variables once, and pushes their inputs. */
static bool pair_vars(GraphCompare *c, IdPair v) {
    if (v.a == VAR_NONE || v.b == VAR_NONE)
        return v.a == v.b ||
               record_difference(c, "one has a variable that the other lacks");
    bool inner = c->stop_at_names && c->at.a != APPLY_NONE;
    Sym name = c->stop_at_names ? var_name(c->a, v.a) : 0;
    if (c->stop_at_names &&
        (name ? graph_find(c->b, name) != v.b : var_name(c->b, v.b)))
        return record_difference(c, "a name means another variable");
    if (name && inner && var_type(c->a, v.a) == var_type(c->b, v.b)) return true;
    if (var_leaf(c->a, v.a) != var_leaf(c->b, v.b))
        return record_difference(c,
                                 "different kinds of variables are in the same place");
    if (var_type(c->a, v.a) != var_type(c->b, v.b))
        return record_difference(c, "the types differ");
    if (var_is_const(c->a, v.a)) return same_const(c, v);
    if (c->of_a[v.a] != VAR_NONE || c->of_b[v.b] != VAR_NONE)
        return (c->of_a[v.a] == v.b && c->of_b[v.b] == v.a) ||
               record_difference(c, "they are connected in different ways");
    c->of_a[v.a] = v.b;
    c->of_b[v.b] = v.a;
    if (c->stop_at_names) vec_push(c->a->s, &c->pairs->trail, v);
    return var_owner(c->a, v.a) == APPLY_NONE ? same_leaf(c, v) : match_applies(c, v);
}

static bool pair_from_root(GraphCompare *c, IdPair root) {
    vec_push(c->a->s, &c->stack, ((PendingPair){root, {APPLY_NONE, APPLY_NONE}}));
    while (c->stack.n > 0) {
        PendingPair m = c->stack.p[--c->stack.n];
        c->at = m.user;
        if (!pair_vars(c, m.v)) return false;
    }
    c->at = (IdPair){APPLY_NONE, APPLY_NONE};
    return true;
}

/* ---- the interface ---- */

static bool same_leaves(GraphCompare *c, size_t na, const Var *va, size_t nb,
                        const Var *vb) {
    bool named = c->a->main == c->a && c->b->main == c->b; /* calls are by position */
    if (na != nb)
        return record_difference(c, "the numbers of inputs or shared variables differ");
    for (size_t i = 0; i < na; i++) {
        const Leaf *a = var_leafrec(c->a, va[i]), *b = var_leafrec(c->b, vb[i]);
        if (named && a->name != b->name)
            return record_difference(c,
                                     "inputs or shared variables have different names");
        if (var_type(c->a, va[i]) != var_type(c->b, vb[i]))
            return record_difference(c,
                                     "the type of an input or shared variable differs");
        if (a->value && !value_identical(a->value, b->value))
            return record_difference(c, "the value of a shared variable differs");
        c->of_a[va[i]] = vb[i];
        c->of_b[vb[i]] = va[i];
    }
    return true;
}

static bool same_counts(GraphCompare *c) {
    const Graph *a = c->a, *b = c->b;
    if (a->outputs.n != b->outputs.n)
        return record_difference(c, "the numbers of outputs differ");
    if (a->updates.n != b->updates.n)
        return record_difference(c, "the numbers of updates differ");
    if (a->effects.n != b->effects.n)
        return record_difference(c, "the numbers of effects differ");
    if (a->fused != b->fused) return record_difference(c, "only one is a fused group");
    if (!same_function(c, a->pullback, b->pullback) ||
        !same_function(c, a->pushforward, b->pushforward))
        return record_difference(c,
                                 "the derivatives of a function are given differently");
    for (size_t i = 0; a->main == a && b->main == b && i < a->outputs.n; i++)
        if (a->outputs.p[i].label != b->outputs.p[i].label)
            return record_difference(c, "outputs have different labels");
    return true;
}

/* Updates are a map: their order doesn't matter. */
static bool same_updates(GraphCompare *c) {
    const Graph *a = c->a, *b = c->b;
    Map value = MAP(a->s);
    for (size_t i = 0; i < b->updates.n; i++)
        map_put(&value, b->updates.p[i].shared, b->updates.p[i].value);
    bool ok = true;
    for (size_t i = 0; ok && i < a->updates.n; i++) {
        Update u = a->updates.p[i];
        uint64_t v;
        if (!map_get(&value, c->of_a[u.shared], &v))
            ok = record_difference(c, "different shared variables are updated");
        else
            ok = pair_from_root(c, (IdPair){u.value, (Var)v});
    }
    map_free(&value);
    return ok;
}

static bool same_roots(GraphCompare *c) {
    const Graph *a = c->a, *b = c->b;
    for (size_t i = 0; i < a->outputs.n; i++)
        if (!pair_from_root(c, (IdPair){a->outputs.p[i].var, b->outputs.p[i].var}))
            return false;
    if (!same_updates(c)) return false;
    for (size_t i = 0; i < a->effects.n; i++) {
        IdPair v = {a->apply[a->effects.p[i]].out, b->apply[b->effects.p[i]].out};
        if (!pair_from_root(c, v)) return false;
    }
    for (size_t i = 0; i < a->shared.n; i++) {
        IdPair v = {var_leafrec(a, a->shared.p[i])->init,
                    var_leafrec(b, b->shared.p[i])->init};
        if (!pair_from_root(c, v)) return false;
    }
    return pair_from_root(c, (IdPair){a->until, b->until});
}

static bool same_graph(GraphCompare *c) {
    const Graph *a = c->a, *b = c->b;
    return same_leaves(c, a->inputs.n, a->inputs.p, b->inputs.n, b->inputs.p) &&
           same_leaves(c, a->shared.n, a->shared.p, b->shared.n, b->shared.p) &&
           same_counts(c) && same_roots(c);
}

static bool compare_bodies(GraphCompare *c) {
    Arena *arena = arena_new(c->a->s);
    size_t na = c->a->nvar * sizeof(Var), nb = c->b->nvar * sizeof(Var);
    c->of_a = memset(arena_alloc(arena, na), 0xFF, na);
    c->of_b = memset(arena_alloc(arena, nb), 0xFF, nb);
    c->at = (IdPair){APPLY_NONE, APPLY_NONE};
    bool ok = same_graph(c);
    vec_free(&c->stack);
    arena_free(arena);
    return ok;
}

/* ---- functions ---- */

static bool compare_functions(const Graph *a, const Graph *b, FunctionPairs *f,
                              Str *why) {
    for (size_t i = 0; i < f->todo.n; i++) {
        IdPair name = f->todo.p[i];
        const Graph *fa = graph_function(a, name.a), *fb = graph_function(b, name.b);
        if (!fa || !fb) return fa == fb;
        if (fa == fb) continue;
        GraphCompare c = {.a = fa, .b = fb, .functions = f};
        if (compare_bodies(&c)) continue;
        if (why) str_printf(why, "in function %s: %s", sym_text(a->s, name.a), c.why);
        return false;
    }
    return true;
}

bool graph_equal(const Graph *a, const Graph *b, ApplyId *a_at, ApplyId *b_at,
                 Str *why) {
    FunctionPairs f = {.met = MAP(a->s)};
    GraphCompare c = {.a = a, .b = b, .functions = &f};
    *a_at = *b_at = APPLY_NONE;
    bool ok = a == b || compare_bodies(&c);
    if (!ok) {
        *a_at = c.at.a;
        *b_at = c.at.b;
        if (why) str_puts(why, c.why);
    } else {
        ok = compare_functions(a, b, &f, why);
    }
    map_free(&f.met);
    vec_free(&f.todo);
    return ok;
}

/* ---- what is left of an earlier graph ---- */

/* Removes functions that call others which are not equal. The walks alternate, so that
 * long chains of calls take two. */
static void drop_unequal_callers(GraphPairs *p, Map *differs) {
    size_t n = p->calls.n, known;
    do {
        known = differs->n;
        for (size_t i = 0; i < 2 * n; i++) {
            IdPair call = p->calls.p[i < n ? i : 2 * n - 1 - i];
            if (map_get(differs, call.b, NULL)) map_put(differs, call.a, 1);
        }
    } while (differs->n > known);
}

static void pair_functions(GraphPairs *p) {
    const Graph *was = p->c.a, *now = p->c.b;
    Map differs = MAP(was->s);
    for (size_t i = 0; i < was->functions.n; i++)
        if (graph_function(now, was->functions.p[i]->name))
            map_put(&p->equal, was->functions.p[i]->name, 1);
    for (size_t i = 0; i < was->functions.n; i++) {
        const Graph *fa = was->functions.p[i], *fb = graph_function(now, fa->name);
        GraphCompare c = {.a = fa, .b = fb, .pairs = p};
        if (!fb || !compare_bodies(&c)) map_put(&differs, fa->name, 1);
    }
    drop_unequal_callers(p, &differs);
    map_free(&p->equal);
    p->equal = MAP(was->s);
    for (size_t i = 0; i < was->functions.n; i++)
        if (!map_get(&differs, was->functions.p[i]->name, NULL))
            map_put(&p->equal, was->functions.p[i]->name, 1);
    map_free(&differs);
}

GraphPairs *graph_pairs_new(const Graph *was, const Graph *now) {
    GraphPairs *p = mem_zalloc(was->s, 1, sizeof *p);
    size_t na = (was->nvar + 1) * sizeof(Var), nb = (now->nvar + 1) * sizeof(Var);
    p->arena = arena_new(was->s);
    p->equal = MAP(was->s);
    p->c = (GraphCompare){.a = was, .b = now, .pairs = p};
    pair_functions(p);
    p->c.stop_at_names = true;
    p->c.of_a = memset(arena_alloc(p->arena, na), 0xFF, na);
    p->c.of_b = memset(arena_alloc(p->arena, nb), 0xFF, nb);
    return p;
}

bool graph_pairs_function(const GraphPairs *p, Sym name) {
    return map_get(&p->equal, name, NULL);
}

bool graph_pairs_match(GraphPairs *p, Sym name, Var was, Var now, VarList *walked) {
    GraphCompare *c = &p->c;
    p->trail.n = p->walked.n = 0;
    Sym own = was == VAR_NONE ? 0 : var_name(c->a, was);
    bool alias = own && own != name;
    bool ok =
        alias ? graph_find(c->b, own) == now : pair_from_root(c, (IdPair){was, now});
    c->stack.n = 0;
    for (size_t i = 0; i < p->trail.n; i++) {
        IdPair v = p->trail.p[i];
        if (ok)
            vec_push(c->a->s, &p->walked, v.b);
        else
            c->of_a[v.a] = c->of_b[v.b] = VAR_NONE;
    }
    *walked = (VarList){p->walked.n, p->walked.p};
    return ok;
}

void graph_pairs_free(GraphPairs *p) {
    map_free(&p->equal);
    vec_free(&p->calls);
    vec_free(&p->trail);
    vec_free(&p->walked);
    vec_free(&p->c.stack);
    arena_free(p->arena);
    mem_free(p);
}
