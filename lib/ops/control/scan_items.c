/* Sequences that are lists. A scan runs over rows of tensors; for a list it runs over
 * the item indices, and the body, which gets the list as a non-sequence, looks each
 * item up. */
#include "ops/control/scan.h"

#include <stdio.h>

static Sym items_var_name(const Graph *g, const char *base) {
    char text[160];
    snprintf(text, sizeof text, "%.120s", base);
    for (unsigned i = 1; graph_find(g, sym(g->s, text)) != VAR_NONE; i++)
        snprintf(text, sizeof text, "%.120s_%u", base, i);
    return sym(g->s, text);
}

static Graph *new_function(const Graph *fn) {
    char text[160];
    const char *base = sym_text(fn->s, fn->name);
    snprintf(text, sizeof text, "%.120s_items", base);
    for (unsigned i = 1; graph_function(fn->main, sym(fn->s, text)) ||
                         graph_name_taken(fn->main, sym(fn->s, text));
         i++)
        snprintf(text, sizeof text, "%.120s_items_%u", base, i);
    return graph_function_new(fn->main, sym(fn->s, text));
}

typedef struct ItemsBody {
    Builder b; /* in the new function */
    const Graph *fn;
    const ScanItems *q;
    Arena *a;
    Var *in; /* by input of fn */
} ItemsBody;

static void add_body_input(ItemsBody *v, size_t k, const Type *t) {
    const char *name = sym_text(v->b.s, var_name(v->fn, v->fn->inputs.p[k]));
    v->in[k] = graph_input(v->b.g, items_var_name(v->b.g, name), t);
}

/* Item indices, rows and states; then the lists; then all others. */
static bool add_body_inputs(ItemsBody *v) {
    const ScanItems *q = v->q;
    Session *s = v->b.s;
    Var *list = NEW_N(v->a, q->nlist, Var);
    for (size_t k = 0; k < q->before; k++)
        add_body_input(v, k,
                       q->list_of[k] == SIZE_MAX ? var_type(v->fn, v->fn->inputs.p[k])
                                                 : type_scalar(s, DT_INT64));
    for (size_t i = 0; i < q->nlist; i++)
        list[i] = graph_input(v->b.g, items_var_name(v->b.g, "items"), q->type[i]);
    for (size_t k = q->before; k < v->fn->inputs.n; k++)
        add_body_input(v, k, var_type(v->fn, v->fn->inputs.p[k]));
    for (size_t k = 0; k < q->before; k++) {
        if (q->list_of[k] == SIZE_MAX) continue;
        v->in[k] = op_call2(&v->b, "list_get", list[q->list_of[k]], v->in[k]);
        if (v->in[k] == VAR_NONE) return false;
    }
    return true;
}

/* Can the body be inlined here? Otherwise it is called. */
static bool is_open(const ItemsBody *v) {
    for (size_t k = 0; k < v->q->before; k++)
        if (var_type(v->b.g, v->in[k]) != var_type(v->fn, v->fn->inputs.p[k]))
            return false;
    return v->fn->until != VAR_NONE || !(v->fn->pullback || v->fn->pushforward);
}

static bool inline_body(ItemsBody *v, Var *out) {
    const Graph *fn = v->fn;
    Var *map = graph_import_map(fn, v->a, v->in);
    if (!graph_import(v->b.g, fn, graph_roots(fn, v->a, ROOTS_RUN), true, map))
        return false;
    for (size_t i = 0; i < fn->outputs.n; i++)
        out[i] = map[fn->outputs.p[i].var];
    if (fn->until != VAR_NONE) v->b.g->until = map[fn->until];
    return true;
}

static bool call_item_body(ItemsBody *v, Var *out) {
    Session *s = v->b.s;
    const Op *call = op_known(s, OP_CALL);
    PropArg arg = {"fn", {.kind = P_GRAPH, .sym = v->fn->name}};
    if (v->fn->until != VAR_NONE)
        return fail(s, v->b.from.at, E_TYPE,
                    "%s ends its loop with `until`, so an input that takes items of a "
                    "list must be declared with their type",
                    sym_text(s, v->fn->name));
    return op_apply(&v->b, call, props_make(s, call, 1, &arg), v->fn->inputs.n, v->in,
                    out);
}

Graph *scan_over_items(Builder *b, const Graph *fn, const ScanItems *q) {
    Graph *g = new_function(fn);
    g->floatX = fn->floatX;
    ItemsBody v = {.b = builder(g, true), .fn = fn, .q = q, .a = arena_new(b->s)};
    v.b.floatX = b->floatX;
    v.b.from = b->from;
    v.in = NEW_N(v.a, fn->inputs.n, Var);
    Var *out = NEW_N(v.a, fn->outputs.n, Var);
    bool ok = add_body_inputs(&v) &&
              (is_open(&v) ? inline_body(&v, out) : call_item_body(&v, out));
    for (size_t i = 0; ok && i < fn->outputs.n; i++)
        vec_push(b->s, &g->outputs, ((Output){fn->outputs.p[i].label, out[i]}));
    arena_free(v.a);
    return ok ? g : NULL;
}
