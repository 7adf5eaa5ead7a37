/* Adds parts of one graph to another. */
#include "graph/graph_impl.h"

#include <string.h>

typedef struct GraphImport {
    Graph *dst;
    const Graph *src;
    WantedFunctions *wanted;
    bool intern;
    Var *map;
    uint8_t *need;   /* by variable of src */
    uint8_t *effect; /* by Apply of src */
    Vec(Var) in;
} GraphImport;

static bool is_import_needed(const GraphImport *m, ApplyId a) {
    const Apply *r = &m->src->apply[a];
    for (Var k = 0; k < r->nout; k++)
        if (m->need[r->out + k] && m->map[r->out + k] == VAR_NONE) return true;
    return false;
}

static void mark_import_needs(GraphImport *m, VarList want) {
    const Graph *g = m->src;
    for (size_t i = 0; i < want.n; i++)
        m->need[want.p[i]] = 1;
    for (ApplyId a = g->napply; a-- > 0;)
        for (uint32_t k = 0; is_import_needed(m, a) && k < g->apply[a].nin; k++)
            m->need[apply_in(g, a)[k]] = 1;
    for (size_t i = 0; i < g->effects.n; i++)
        m->effect[g->effects.p[i]] = 1;
}

static void import_leaf(GraphImport *m, Var v) {
    LeafKind kind = var_leaf(m->src, v);
    if (kind == LEAF_INPUT || kind == LEAF_SHARED)
        bug("the leaf %s has no replacement",
            sym_text(m->src->s, var_leafrec(m->src, v)->name));
    m->map[v] = graph_copy_leaf(m->dst, m->src, v, m->intern);
}

static void import_apply(GraphImport *m, ApplyId a) {
    Apply r = m->src->apply[a];
    m->in.n = 0;
    for (uint32_t k = 0; k < r.nin; k++)
        vec_push(m->dst->s, &m->in, m->map[apply_in(m->src, a)[k]]);
    Var first = graph_copy_apply(m->dst, m->src, a, m->in.p, m->intern);
    for (Var k = 0; k < r.nout; k++)
        if (m->map[r.out + k] == VAR_NONE) m->map[r.out + k] = first + k;
    if (m->effect[a]) vec_push(m->dst->s, &m->dst->effects, var_owner(m->dst, first));
    wanted_add_props(m->wanted, r.props);
}

static void import_needed(GraphImport *m, Var nvar) {
    for (Var v = 0; v < nvar; v++) {
        if (!m->need[v] || m->map[v] != VAR_NONE) continue;
        ApplyId a = var_owner(m->src, v);
        if (a == APPLY_NONE)
            import_leaf(m, v);
        else
            import_apply(m, a);
    }
}

/* Copies the functions that are needed; any that dst has already must be equal. */
static bool import_functions(GraphImport *m) {
    WantedFunctions *w = m->wanted;
    if (m->dst->main == m->src->main) return true;
    for (size_t i = 0; i < w->todo.n; i++) {
        Sym name = w->todo.p[i];
        const Graph *have = graph_function(m->dst, name);
        ApplyId a, b;
        if (!have)
            graph_copy_function(m->dst, w, name, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED,
                                m->intern);
        else if (!graph_equal(have, graph_function(w->src, name), &a, &b, NULL))
            return fail(m->dst->s, NOWHERE, E_DUPLICATE,
                        "two different functions are called %s; rename one of them",
                        sym_text(m->dst->s, name));
    }
    return true;
}

bool graph_import(Graph *dst, const Graph *src, VarList want, bool intern, Var *map) {
    Arena *a = arena_new(dst->s);
    WantedFunctions w = {.src = src->main, .seen = MAP(dst->s)};
    GraphImport m = {
        .dst = dst, .src = src, .wanted = &w, .intern = intern, .map = map};
    Var nvar = src->nvar; /* src may be dst, and then grows */
    m.need = NEW_N(a, nvar, uint8_t);
    m.effect = NEW_N(a, src->napply, uint8_t);
    mark_import_needs(&m, want);
    import_needed(&m, nvar);
    bool ok = import_functions(&m);
    vec_free(&m.in);
    wanted_free(&w);
    arena_free(a);
    return ok;
}

Var *graph_import_map(const Graph *src, Arena *a, const Var *arg) {
    Var *map = NEW_N(a, src->nvar, Var);
    memset(map, 0xFF, src->nvar * sizeof *map);
    for (size_t i = 0; arg && i < src->inputs.n; i++)
        map[src->inputs.p[i]] = arg[i];
    return map;
}

bool graph_inline(Graph *dst, const Graph *fn, const Var *arg, bool intern, Var *out) {
    Arena *a = arena_new(dst->s);
    Var *map = graph_import_map(fn, a, arg), *want = NEW_N(a, fn->outputs.n, Var);
    for (size_t k = 0; k < fn->outputs.n; k++)
        want[k] = fn->outputs.p[k].var;
    bool ok = graph_import(dst, fn, (VarList){fn->outputs.n, want}, intern, map);
    for (size_t k = 0; ok && k < fn->outputs.n; k++)
        out[k] = map[want[k]];
    arena_free(a);
    return ok;
}
