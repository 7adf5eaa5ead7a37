#include "op/strip_effects.h"

#include <stdio.h>
#include <string.h>

typedef struct StripEffects {
    Graph *made;
    const Graph *fn;
    Arena *tmp;
    Var *map; /* by variable of fn */
    bool failed;
} StripEffects;

static bool has_no_effects(const Graph *fn) {
    return fn->effects.n == 0;
}

static Sym stripped_name(const Graph *fn, unsigned i) {
    Str text = STR(fn->s);
    str_printf(&text, i ? "%s_quiet_%u" : "%s_quiet", sym_text(fn->s, fn->name), i);
    Sym y = sym(fn->s, str_text(&text));
    str_free(&text);
    return y;
}

static Sym free_stripped_name(const Graph *fn) {
    unsigned i = 0;
    while (graph_function(fn, stripped_name(fn, i)))
        i++;
    return stripped_name(fn, i);
}

/* The equal function that was made before, or `made` itself. */
static Graph *find_equal_stripped(const StripEffects *q) {
    for (unsigned i = 0;; i++) {
        ApplyId x, y;
        Graph *have = graph_function(q->fn, stripped_name(q->fn, i));
        if (have == q->made || graph_equal(have, q->made, &x, &y, NULL)) return have;
    }
}

/* The props, with functions replaced by their stripped versions. */
static const Props *strip_props(StripEffects *q, const Props *p) {
    Session *s = q->made->s;
    Prop *prop = NEW_N(q->tmp, p->n + 1u, Prop);
    bool changed = false;
    for (uint32_t i = 0; i < p->n; i++) {
        prop[i] = p->p[i];
        if (prop[i].kind != P_GRAPH) continue;
        Graph *fn = graph_function(q->fn, prop[i].sym);
        if (!fn || has_no_effects(fn)) continue;
        const Graph *quiet = graph_strip_effects(q->made->main, fn);
        if (!quiet) return q->failed = true, p;
        prop[i].sym = quiet->name;
        changed = true;
    }
    return changed ? props_intern(s, p->n, prop) : p;
}

static void strip_apply(StripEffects *q, ApplyId a) {
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
    const Props *props = strip_props(q, r.props);
    bool effect = op_has_effect(q->made, r.op, props);
    Var first = graph_apply(q->made, r.op, props, r.nin, in, r.nout, type, true, effect,
                            fn->origin[a]);
    if (effect) vec_push(fn->s, &q->made->effects, var_owner(q->made, first));
    for (Var k = 0; k < r.nout; k++)
        q->map[r.out + k] = first + k;
}

static void copy_outputs(StripEffects *q) {
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

const Graph *graph_strip_effects(Graph *main, const Graph *fn) {
    if (has_no_effects(fn)) return fn;
    if (!session_enter(main->s))
        return session_too_deep(main->s, graph_place(fn)), NULL;
    StripEffects q = {.fn = fn, .tmp = arena_new(main->s)};
    q.made = graph_function_new(main, free_stripped_name(fn));
    q.map = NEW_N(q.tmp, fn->nvar, Var);
    graph_copy_leaves(q.made, fn, true, q.map);
    for (ApplyId a = 0; a < fn->napply && !q.failed; a++)
        strip_apply(&q, a);
    session_leave(main->s);
    if (q.failed) return arena_free(q.tmp), graph_function_drop(q.made), NULL;
    copy_outputs(&q);
    arena_free(q.tmp);
    Graph *first = find_equal_stripped(&q);
    if (first != q.made) graph_function_drop(q.made);
    return first;
}
