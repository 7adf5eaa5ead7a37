/* Validates a graph that came from outside: first the structure of every graph (numbers
 * in range, inputs before outputs), then the calls between functions, then the types,
 * by running each rule again. After that the rest of the library may trust the
 * graph. */
#include "base/toposort.h"
#include "op/infer.h"
#include "op/op_impl.h"
#include "value/class.h"

#include <string.h>

static bool fail_bad_form(const Graph *g, const char *what, unsigned number) {
    return fail(g->s, NOWHERE, E_FORMAT,
                "graph %s: %s %u is out of range or inconsistent",
                g->name ? sym_text(g->s, g->name) : "(unnamed)", what, number);
}

/* ---- structure ---- */

static bool check_var_ids(const Graph *g, Var v) {
    const VarRec *r = &g->var[v];
    bool ok = r->type != NULL && r->leaf <= LEAF_DIM;
    if (ok && r->leaf)
        ok = r->owner < g->nleaf && g->leaf[r->owner].var == v;
    else if (ok)
        ok = r->owner < g->napply && r->index < g->apply[r->owner].nout &&
             g->apply[r->owner].out + r->index == v;
    return ok || fail_bad_form(g, "variable", v);
}

static bool check_apply_ids(const Graph *g, ApplyId a) {
    const Apply *r = &g->apply[a];
    bool ok = r->op && r->props && r->nout > 0 && r->out < g->nvar &&
              r->nout <= g->nvar - r->out && r->in <= g->nin &&
              r->nin <= g->nin - r->in;
    for (uint32_t i = 0; ok && i < r->nin; i++)
        ok = g->in[r->in + i] < r->out;
    return ok || fail_bad_form(g, "Apply", a);
}

static bool check_leaf_list(const Graph *g, size_t n, const Var *list, LeafKind kind,
                            const char *what) {
    for (size_t i = 0; i < n; i++)
        if (list[i] >= g->nvar || var_leaf(g, list[i]) != kind)
            return fail_bad_form(g, what, list[i]);
    return true;
}

static bool check_interface(const Graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.p[i].var >= g->nvar)
            return fail_bad_form(g, "output", (unsigned)i);
    for (size_t i = 0; i < g->updates.n; i++) {
        Update u = g->updates.p[i];
        if (u.value >= g->nvar || u.shared >= g->nvar ||
            var_leaf(g, u.shared) != LEAF_SHARED)
            return fail_bad_form(g, "update", (unsigned)i);
    }
    for (size_t i = 0; i < g->effects.n; i++)
        if (g->effects.p[i] >= g->napply)
            return fail_bad_form(g, "effect", (unsigned)i);
    for (size_t i = 0; i < g->names.n; i++)
        if (g->names.p[i].var >= g->nvar) return fail_bad_form(g, "name", (unsigned)i);
    for (size_t i = 0; i < g->shared.n; i++) {
        Var init = var_leafrec(g, g->shared.p[i])->init;
        if (init != VAR_NONE && init >= g->nvar)
            return fail_bad_form(g, "initial value", init);
    }
    return g->until == VAR_NONE || g->until < g->nvar ||
           fail_bad_form(g, "until", g->until);
}

static bool check_structure(const Graph *g) {
    for (Var v = 0; v < g->nvar; v++)
        if (!check_var_ids(g, v)) return false;
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (g->leaf[i].var >= g->nvar) return fail_bad_form(g, "leaf", i);
    for (ApplyId a = 0; a < g->napply; a++)
        if (!check_apply_ids(g, a)) return false;
    return check_leaf_list(g, g->inputs.n, g->inputs.p, LEAF_INPUT, "input") &&
           check_leaf_list(g, g->shared.n, g->shared.p, LEAF_SHARED,
                           "shared variable") &&
           check_interface(g);
}

/* ---- recursion ---- */

typedef Vec(uint32_t) Callees;

static void add_callees(const Graph *fn, const Map *number, Callees *out) {
    for (ApplyId a = 0; a < fn->napply; a++) {
        const Props *p = fn->apply[a].props;
        for (size_t i = 0; i < p->n; i++) {
            uint64_t callee;
            if (p->p[i].kind == P_GRAPH && map_get(number, p->p[i].sym, &callee))
                vec_push(fn->s, out, (uint32_t)callee);
        }
    }
}

static bool check_calls(const Graph *main) {
    Session *s = main->s;
    uint32_t n = (uint32_t)main->functions.n, circle;
    uint32_t *first = mem_zalloc(s, 2 * (size_t)n + 1, sizeof *first),
             *order = first + n + 1;
    Map number = MAP(s);
    Callees callees = {0};
    for (uint32_t i = 0; i < n; i++)
        map_put(&number, main->functions.p[i]->name, i);
    for (uint32_t i = 0; i < n; i++) {
        add_callees(main->functions.p[i], &number, &callees);
        first[i + 1] = (uint32_t)callees.n;
    }
    bool ok = toposort(s, n, first, callees.p, order, &circle) ||
              fail(s, NOWHERE, E_CYCLE, "function %s calls itself",
                   sym_text(s, main->functions.p[*order]->name));
    mem_free(first);
    map_free(&number);
    vec_free(&callees);
    return ok;
}

/* ---- types ---- */

/* A stored type may be wider than the rule's, never different. */
static bool is_honest(const Type *stored, const Type *rule) {
    if (stored == rule) return true;
    if (!type_is_super(stored, rule)) return false;
    for (int i = 0; i < stored->ndim; i++)
        if (stored->dim[i] != rule->dim[i] && stored->dim[i] != DIM_UNKNOWN)
            return false;
    return true;
}

/* Does the graph say what its own floatX made of an op that creates values, as older
 * writers did? Then the op says so, too. */
static bool says_floatX(Graph *g, ApplyId a) {
    const Type *out[OUT_MAX], *have = var_type(g, g->apply[a].out);
    Apply *r = &g->apply[a];
    if (g->main->floatX == DT_NONE || have->dtype != g->main->floatX) return false;
    const Props *saying = op_say_dtype(g->s, r->op, r->props, have->dtype);
    VarList in = {r->nin, apply_in(g, a)};
    size_t n = saying ? op_infer(g, r->op, saying, in, g->origin[a].at, out) : 0;
    if (n != 1 || r->nout != 1 || !is_honest(have, out[0])) return false;
    r->props = saying;
    return true;
}

/* Results that stand in for those of older writers. */
typedef struct Replaced {
    Var was, now;
} Replaced;
typedef Vec(Replaced) ReplacedVars;

/* The same for what has no dtype=, such as mean(i) and i / 2 of integers: the Apply is
 * made again as it is made today, and its float64 cast. */
static bool casts_floatX(Graph *g, ApplyId a, ReplacedVars *all) {
    const Apply old = g->apply[a];
    DType floatX = g->main->floatX;
    Var out[OUT_MAX];
    if (floatX == DT_NONE || floatX == DT_FLOAT64 || old.serial || old.nout != 1)
        return false;
    Builder b = builder(g, false);
    b.floatX = floatX;
    b.from = g->origin[a];
    Var *in = mem_alloc(g->s, (old.nin + 1) * sizeof *in);
    memcpy(in, apply_ins(g, a).p, old.nin * sizeof *in);
    size_t mark = diag_count(g->s);
    bool ok = op_apply(&b, old.op, old.props, old.nin, in, out) &&
              is_honest(var_type(g, old.out), var_type(g, out[0]));
    if (ok) vec_push(g->s, all, ((Replaced){old.out, out[0]}));
    mem_free(in);
    diag_rewind(g->s, mark);
    return ok;
}

static void replace_results(Graph *g, const ReplacedVars *all) {
    if (!all->n) return;
    Var *forward = mem_alloc(g->s, g->nvar * sizeof *forward);
    for (Var v = 0; v < g->nvar; v++)
        forward[v] = v;
    for (size_t i = 0; i < all->n; i++)
        forward[all->p[i].was] = all->p[i].now;
    graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, forward, false);
    mem_free(forward);
}

static bool check_apply_types(Graph *g, ApplyId a, ReplacedVars *all) {
    const Type *out[OUT_MAX];
    const Apply r = g->apply[a];
    Span at = g->origin[a].at;
    size_t n = op_infer(g, r.op, r.props, apply_ins(g, a), at, out);
    if (n == 0) return false;
    if (n != r.nout)
        return fail(g->s, at, E_TYPE, "%s has %s here, but the graph says %u",
                    r.op->name, str_counted(g->s, n, "output"), r.nout);
    for (size_t k = 0; k < n; k++) {
        const Type *have = var_type(g, r.out + (Var)k);
        if (is_honest(have, out[k]) || says_floatX(g, a) || casts_floatX(g, a, all))
            continue;
        return fail(g->s, at, E_TYPE, "output %zu of %s is %s, but the graph says %s",
                    k, r.op->name, type_str(g->s, out[k]), type_str(g->s, have));
    }
    return true;
}

static bool fits_tensor_type(const Type *t, const Tensor *c) {
    bool ok = c->data && c->dtype == t->dtype && c->ndim == t->ndim;
    for (int i = 0; ok && i < t->ndim; i++)
        ok = t->dim[i] == c->shape[i] || t->dim[i] == DIM_UNKNOWN;
    return ok;
}

static bool check_const_leaf(const Graph *g, Var v) {
    const Leaf *l = var_leafrec(g, v);
    const Type *t = var_type(g, v);
    if (!var_is_const(g, v)) return true;
    bool ok = t->kind == TYPE_TENSOR
                  ? fits_tensor_type(t, &l->value->t)
                  : type_class(t)->no_values || value_is_valid(g->s, t, l->value);
    return ok || fail(g->s, NOWHERE, E_TYPE, "a constant does not have its type %s",
                      type_str(g->s, t));
}

static const char *shared_name(const Graph *g, Var v) {
    return sym_text(g->s, var_leafrec(g, v)->name);
}

static bool check_fits_shared(const Graph *g, Var shared, Var value, const char *what) {
    const Type *want = var_type(g, shared), *have = var_type(g, value);
    ApplyId a = var_owner(g, value);
    if (type_meet(g->s, want, have)) return true;
    return fail(g->s, a == APPLY_NONE ? NOWHERE : g->origin[a].at, E_TYPE,
                "the %s of %s is %s, but %s is %s", what, shared_name(g, shared),
                type_str(g->s, have), shared_name(g, shared), type_str(g->s, want));
}

static bool check_updates(const Graph *g) {
    Map seen = MAP(g->s);
    bool ok = true;
    for (size_t i = 0; ok && i < g->updates.n; i++) {
        Update u = g->updates.p[i];
        ok = check_fits_shared(g, u.shared, u.value, "update");
        if (ok && map_get(&seen, u.shared, NULL))
            ok = fail(g->s, NOWHERE, E_DUPLICATE, "%s has two updates",
                      shared_name(g, u.shared));
        map_put(&seen, u.shared, 1);
    }
    map_free(&seen);
    return ok;
}

static bool check_labels(const Graph *g) {
    Map seen = MAP(g->s);
    bool ok = true;
    for (size_t i = 0; ok && g->main == g && i < g->outputs.n; i++) {
        Sym label = g->outputs.p[i].label;
        if (map_get(&seen, label, NULL))
            ok = fail(g->s, NOWHERE, E_DUPLICATE, "two outputs are called %s",
                      sym_text(g->s, label));
        map_put(&seen, label, 1);
    }
    map_free(&seen);
    return ok;
}

/* How initial values depend on each other: level[v] is 0 for what depends on constants
 * alone, and one more than that of a shared variable for what depends on it. */
enum { INIT_LEVELS = 64, INIT_OPEN = 255 };

static void raise_level(uint8_t *level, uint8_t to) {
    if (to > *level) *level = to;
}

/* A value that a shared variable has already shows its dims. */
static bool is_dim_of_state(const Graph *g, Sym dim) {
    for (size_t i = 0; i < g->shared.n; i++) {
        const Type *t = var_type(g, g->shared.p[i]);
        for (int k = 0; k < t->ndim; k++)
            if (t->dim[k] == DIM_NAMED(dim) &&
                var_leafrec(g, g->shared.p[i])->init == VAR_NONE)
                return true;
    }
    return false;
}

static void spread_levels(const Graph *g, uint8_t *level) {
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *r = &g->apply[a];
        uint8_t most = 0;
        for (uint32_t i = 0; i < r->nin; i++)
            raise_level(&most, level[g->in[r->in + i]]);
        memset(level + r->out, most, r->nout);
    }
}

static bool raise_shared(const Graph *g, uint8_t *level) {
    bool changed = false;
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i], init = var_leafrec(g, v)->init;
        uint8_t was = level[v];
        if (init != VAR_NONE && level[init] < INIT_LEVELS)
            raise_level(&level[v], (uint8_t)(level[init] + 1));
        changed |= level[v] != was;
    }
    return changed;
}

/* Initial values are computed before any inputs are given, so they can't depend on
 * them. They may follow those of other shared variables. */
Var graph_open_init(const Graph *g, const char **why) {
    uint8_t *level = mem_zalloc(g->s, (size_t)g->nvar + 1, 1);
    Var open = VAR_NONE;
    for (Var v = 0; v < g->nvar; v++) {
        LeafKind k = var_leaf(g, v);
        bool dim = k == LEAF_DIM && !is_dim_of_state(g, var_leafrec(g, v)->name);
        level[v] = k == LEAF_INPUT || dim ? INIT_OPEN : k == LEAF_SHARED;
    }
    unsigned round = 0;
    do
        spread_levels(g, level);
    while (raise_shared(g, level) && ++round < INIT_LEVELS);
    for (size_t i = 0; open == VAR_NONE && i < g->shared.n; i++) {
        Var v = g->shared.p[i], init = var_leafrec(g, v)->init;
        if (init == VAR_NONE || level[init] < INIT_LEVELS) continue;
        open = v;
        *why = level[init] == INIT_OPEN ? "depends on an input or a dim"
                                        : "depends on itself, or follows more than 62 "
                                          "other shared variables, one after the other";
    }
    mem_free(level);
    return open;
}

static bool check_inits(const Graph *g) {
    const char *why;
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i], init = var_leafrec(g, v)->init;
        if (init != VAR_NONE && !check_fits_shared(g, v, init, "initial value"))
            return false;
    }
    Var open = graph_open_init(g, &why);
    return open == VAR_NONE ||
           fail(g->s, NOWHERE, E_VALUE, "the initial value of %s %s",
                shared_name(g, open), why);
}

static bool check_effects(const Graph *g) {
    Map seen = MAP(g->s);
    bool ok = true;
    for (size_t i = 0; ok && i < g->effects.n; i++) {
        const Apply *r = &g->apply[g->effects.p[i]];
        ok = r->serial && op_has_effect(g, r->op, r->props) &&
             !map_get(&seen, g->effects.p[i], NULL);
        map_put(&seen, g->effects.p[i], 1);
        if (!ok) fail_bad_form(g, "effect", (unsigned)i);
    }
    map_free(&seen);
    return ok;
}

static bool check_until(const Graph *g) {
    if (g->until == VAR_NONE || var_type(g, g->until) == type_scalar(g->s, DT_BOOL))
        return true;
    return fail(g->s, NOWHERE, E_TYPE, "until must be a bool, not %s",
                type_str(g->s, var_type(g, g->until)));
}

static bool check_all_types(Graph *g) {
    ReplacedVars replaced = {0};
    bool ok = true;
    for (ApplyId a = 0, n = g->napply; ok && a < n; a++)
        ok = check_apply_types(g, a, &replaced);
    if (ok) replace_results(g, &replaced);
    vec_free(&replaced);
    return ok;
}

static bool check_meaning(Graph *g) {
    for (Var v = 0; v < g->nvar; v++)
        if (var_leaf(g, v) != LEAF_NOT && !check_const_leaf(g, v)) return false;
    return check_all_types(g) && check_updates(g) && check_labels(g) &&
           check_inits(g) && check_effects(g) && graph_check_dims(g, NOWHERE) &&
           check_until(g);
}

bool graph_check(Graph *g) {
    Graph *main = g->main;
    if (!check_structure(main)) return false;
    for (size_t i = 0; i < main->functions.n; i++)
        if (!check_structure(main->functions.p[i])) return false;
    if (!check_calls(main)) return false;
    for (size_t i = 0; i < main->functions.n; i++)
        if (!check_meaning(main->functions.p[i])) return false;
    return check_meaning(main);
}
