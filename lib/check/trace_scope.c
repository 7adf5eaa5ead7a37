/* Names of values in traces: those of the graph, and for the others the hash of an
 * expression. */
#include "check/trace_impl.h"
#include "lang/print/print.h"

#include <stdio.h>
#include <string.h>

static uint64_t text_hash(const char *p) {
    return hash_bytes(p, strlen(p), 0);
}

static uint64_t op_hash(const Graph *g, const Apply *p, Map *known) {
    uint64_t at = hash_mix((uint64_t)(uintptr_t)p->op, (uint64_t)(uintptr_t)p->props);
    uint64_t h;
    if (map_get(known, at, &h)) return h;
    Str text = STR(g->s);
    print_op(g->s, p->op, p->props, &text);
    map_put(known, at, h = text_hash(str_text(&text)));
    str_free(&text);
    return h;
}

static uint64_t leaf_hash(const Graph *g, Var v) {
    const Tensor *t = var_const(g, v);
    const Leaf *leaf = var_leafrec(g, v);
    return t ? tensor_hash(t) : text_hash(sym_text(g->s, leaf->name));
}

static void hash_applies(const Graph *g, uint64_t *key) {
    Map known = MAP(g->s);
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *p = &g->apply[a];
        uint64_t h = op_hash(g, p, &known);
        for (size_t i = 0; i < p->nin; i++)
            h = hash_mix(h, key[apply_in(g, a)[i]]);
        for (Var k = 0; k < p->nout; k++)
            if (!key[p->out + k]) key[p->out + k] = hash_mix(h, k);
    }
    map_free(&known);
}

static void add_name(Trace *t, Scope *x, Var v, Sym name) {
    uint64_t no = NO_NUMBER;
    if (t->in) map_get(&t->number, name, &no);
    vec_push(t->s, &x->traced,
             ((Traced){v, name, x->first[v], (uint32_t)no, NO_NUMBER}));
    x->first[v] = (uint32_t)x->traced.n;
}

static uint64_t hash_in(uint64_t whose, uint64_t h) {
    return whose ? hash_mix(whose, h) : h;
}

/* What a function's inputs are is told by those who call it, and rewriting changes
 * which there are: only what a function computes has a name, and an expression is known
 * by its function, too. */
static uint64_t hash_given_names(Trace *t, Scope *x, uint64_t *key) {
    const Graph *g = x->g;
    uint64_t whose = g == t->g ? 0 : text_hash(sym_text(t->s, g->name));
    for (size_t i = 0; i < g->names.n; i++) {
        VarName n = g->names.p[i];
        if (g == t->g || !var_leaf(g, n.var)) add_name(t, x, n.var, n.name);
        if (!key[n.var]) key[n.var] = hash_in(whose, text_hash(sym_text(t->s, n.name)));
    }
    return whose;
}

static void name_values(Trace *t, Scope *x) {
    const Graph *g = x->g;
    Arena *a = arena_new(t->s);
    uint64_t *key = NEW_N(a, g->nvar, uint64_t);
    uint64_t whose = hash_given_names(t, x, key);
    for (Var v = 0; v < g->nvar; v++)
        if (!key[v] && var_leaf(g, v)) key[v] = hash_in(whose, leaf_hash(g, v));
    hash_applies(g, key);
    char text[24];
    for (Var v = 0; v < g->nvar; v++) {
        if (x->first[v] || var_leaf(g, v)) continue;
        snprintf(text, sizeof text, "#%016llx", (unsigned long long)key[v]);
        add_name(t, x, v, sym(t->s, text));
    }
    arena_free(a);
}

/* "step_1_2" is step after two rewrites. */
static Sym base_name(Session *s, Sym name) {
    const char *p = sym_text(s, name);
    size_t n = strlen(p), end = n;
    while (end > 0) {
        size_t k = end;
        while (k > 0 && p[k - 1] >= '0' && p[k - 1] <= '9')
            k--;
        if (k == end || k < 2 || p[k - 1] != '_') break;
        end = k - 1;
    }
    return end == n ? name : sym_n(s, p, end);
}

Scope *trace_scope(Trace *t, const Graph *g) {
    uint64_t at;
    if (map_get(&t->scope_of, (uintptr_t)g, &at)) return t->scope.p[at];
    Scope *x = NEW(t->a, Scope);
    *x = (Scope){.g = g, .base = base_name(t->s, g->name), .no = NO_NUMBER};
    x->first = NEW_N(t->a, g->nvar, uint32_t);
    x->seen = NEW_N(t->a, g->nvar, uint8_t);
    x->deviation = NEW_N(t->a, g->nvar, double);
    uint64_t no;
    if (t->in && map_get(&t->number, x->base, &no)) x->no = (uint32_t)no;
    map_put(&t->scope_of, (uintptr_t)g, t->scope.n);
    vec_push(t->s, &t->scope, x);
    name_values(t, x);
    return x;
}

const Traced *trace_site_name(const Trace *t, const Scope *around, ApplyId id) {
    const Apply *p = &around->g->apply[id];
    const Traced *any = NULL;
    for (Var v = p->out; v < p->out + p->nout; v++)
        for (uint32_t k = around->first[v]; k; k = around->traced.p[k - 1].next) {
            const Traced *x = &around->traced.p[k - 1];
            if (!any ||
                (!trace_is_named(t->s, any->name) && trace_is_named(t->s, x->name)))
                any = x;
        }
    return any;
}

static Sym function_of(const Graph *g, const Apply *p) {
    bool runs = op_is(g->s, p->op, OP_CALL) || op_is(g->s, p->op, OP_SCAN);
    return runs ? op_prop(g->s, p->op, p->props, "fn")->sym : 0;
}

size_t trace_sites(const Scope *around, Sym base) {
    const Graph *g = around->g;
    size_t n = 0;
    for (ApplyId a = 0; a < g->napply; a++) {
        Sym fn = function_of(g, &g->apply[a]);
        n += fn && base_name(g->s, fn) == base;
    }
    return n;
}
