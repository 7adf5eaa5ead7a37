#include "op/strip_effects.h"

#include <stdio.h>
#include <string.h>

typedef struct Quiet {
    Graph *made;
    const Graph *fn;
    Arena *tmp;
    Var *map; /* by variable of fn */
    bool failed;
} Quiet;

static bool is_quiet(const Graph *fn) {
    return fn->effects.n == 0;
}

static Sym quiet_name(const Graph *fn, unsigned i) {
    Str text = STR(fn->s);
    str_printf(&text, i ? "%s_quiet_%u" : "%s_quiet", sym_text(fn->s, fn->name), i);
    Sym y = sym(fn->s, str_text(&text));
    str_free(&text);
    return y;
}

static Sym free_name(const Graph *fn) {
    unsigned i = 0;
    while (graph_function(fn, quiet_name(fn, i)))
        i++;
    return quiet_name(fn, i);
}

/* The one that was made before, if there is one. */
static Graph *made_before(const Quiet *q) {
    for (unsigned i = 0;; i++) {
        ApplyId x, y;
        Graph *have = graph_function(q->fn, quiet_name(q->fn, i));
        if (have == q->made || graph_equal(have, q->made, &x, &y, NULL)) return have;
    }
}

/* The same props with the quiet ones of the functions. */
static const Props *quiet_props(Quiet *q, const Props *p) {
    Session *s = q->made->s;
    Prop *prop = NEW_N(q->tmp, p->n + 1u, Prop);
    bool changed = false;
    for (uint32_t i = 0; i < p->n; i++) {
        prop[i] = p->p[i];
        if (prop[i].kind != P_GRAPH) continue;
        Graph *fn = graph_function(q->fn, prop[i].sym);
        if (!fn || is_quiet(fn)) continue;
        const Graph *quiet = function_quiet(q->made->main, fn);
        if (!quiet) return q->failed = true, p;
        prop[i].sym = quiet->name;
        changed = true;
    }
    return changed ? props_intern(s, p->n, prop) : p;
}

static void copy_leaves(Quiet *q) {
    const Graph *fn = q->fn;
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var v = fn->inputs.p[i];
        q->map[v] = graph_input(q->made, var_leafrec(fn, v)->name, var_type(fn, v));
    }
    for (uint32_t i = 0; i < fn->nleaf; i++) {
        Var v = fn->leaf[i].var;
        if (var_is_const(fn, v))
            q->map[v] = graph_const_again(q->made, fn, v, true);
        else if (var_leaf(fn, v) == LEAF_DIM)
            q->map[v] = graph_dim(q->made, fn->leaf[i].name);
    }
}

static void copy_apply(Quiet *q, ApplyId a) {
    const Graph *fn = q->fn;
    const Apply r = fn->apply[a];
    const Type **type = NEW_N(q->tmp, r.nout, const Type *);
    Var *in = NEW_N(q->tmp, r.nin + 1u, Var);
    for (uint32_t k = 0; k < r.nin; k++)
        in[k] = q->map[apply_in(fn, a)[k]];
    if (r.op->effect && r.op->identity) {
        q->map[r.out] = in[0];
        return;
    }
    for (Var k = 0; k < r.nout; k++)
        type[k] = var_type(fn, r.out + k);
    const Props *props = quiet_props(q, r.props);
    bool effect = op_has_effect(q->made, r.op, props);
    Var first = graph_apply(q->made, r.op, props, r.nin, in, r.nout, type, true, effect,
                            fn->origin[a]);
    if (effect) vec_push(fn->s, &q->made->effects, var_owner(q->made, first));
    for (Var k = 0; k < r.nout; k++)
        q->map[r.out + k] = first + k;
}

static void copy_facts(Quiet *q) {
    const Graph *fn = q->fn;
    Graph *made = q->made;
    for (size_t k = 0; k < fn->outputs.n; k++) {
        Output o = fn->outputs.p[k];
        vec_push(fn->s, &made->outputs, ((Output){o.label, q->map[o.var]}));
    }
    if (fn->until != VAR_NONE) made->until = q->map[fn->until];
    made->floatX = fn->floatX;
    made->pullback = fn->pullback;
    made->pushforward = fn->pushforward;
    made->derived = made->litter = true;
}

const Graph *function_quiet(Graph *main, const Graph *fn) {
    if (is_quiet(fn)) return fn;
    if (!session_enter(main->s)) return session_too_deep(main->s, NOWHERE), NULL;
    Quiet q = {.fn = fn, .tmp = arena_new(main->s)};
    q.made = graph_function_new(main, free_name(fn));
    q.map = NEW_N(q.tmp, fn->nvar, Var);
    copy_leaves(&q);
    for (ApplyId a = 0; a < fn->napply && !q.failed; a++)
        copy_apply(&q, a);
    session_leave(main->s);
    if (q.failed) return arena_free(q.tmp), graph_function_drop(q.made), NULL;
    copy_facts(&q);
    arena_free(q.tmp);
    Graph *first = made_before(&q);
    if (first != q.made) graph_function_drop(q.made);
    return first;
}
