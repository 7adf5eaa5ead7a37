/* Adds parts of one graph to another. */
#include "graph/graph_impl.h"

#include <string.h>

typedef struct GraphImport {
    Graph *dst;
    const Graph *src;
    WantedFunctions *wanted;
    const Var *leaf;
    bool intern;
    Var *map;
    uint8_t *need;   /* by variable of src */
    uint8_t *effect; /* by Apply of src */
    Vec(Var) in;
} GraphImport;

static void mark_import_needs(GraphImport *m, size_t nwant, const Var *want) {
    const Graph *g = m->src;
    for (size_t i = 0; i < nwant; i++)
        m->need[want[i]] = 1;
    for (ApplyId a = g->napply; a-- > 0;) {
        const Apply *r = &g->apply[a];
        bool used = false;
        for (Var k = 0; k < r->nout; k++)
            used |= m->need[r->out + k];
        for (uint32_t k = 0; k < r->nin; k++)
            m->need[g->in[r->in + k]] |= used;
    }
    for (size_t i = 0; i < g->effects.n; i++)
        m->effect[g->effects.p[i]] = 1;
}

static void import_leaf(GraphImport *m, Var v) {
    LeafKind kind = var_leaf(m->src, v);
    Var given = m->leaf ? m->leaf[m->src->var[v].owner] : VAR_NONE;
    if (given == VAR_NONE && (kind == LEAF_INPUT || kind == LEAF_SHARED))
        bug("nothing stands for the leaf %s",
            sym_text(m->src->s, var_leafrec(m->src, v)->name));
    m->map[v] =
        given == VAR_NONE ? graph_copy_leaf(m->dst, m->src, v, m->intern) : given;
}

static void import_apply(GraphImport *m, ApplyId a) {
    Apply r = m->src->apply[a];
    m->in.n = 0;
    for (uint32_t k = 0; k < r.nin; k++)
        vec_push(m->dst->s, &m->in, m->map[apply_in(m->src, a)[k]]);
    Var first = graph_copy_apply(m->dst, m->src, a, m->in.p, m->intern);
    for (Var k = 0; k < r.nout; k++)
        m->map[r.out + k] = first + k;
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

bool graph_import(Graph *dst, const Graph *src, size_t nwant, const Var *want,
                  const Var *leaf, bool intern, Var *map) {
    memset(map, 0xFF, src->nvar * sizeof *map);
    return graph_import_over(dst, src, nwant, want, leaf, intern, map);
}

bool graph_import_over(Graph *dst, const Graph *src, size_t nwant, const Var *want,
                       const Var *leaf, bool intern, Var *map) {
    Arena *a = arena_new(dst->s);
    WantedFunctions w = {.src = src->main, .seen = MAP(dst->s)};
    GraphImport m = {.dst = dst,
                     .src = src,
                     .wanted = &w,
                     .leaf = leaf,
                     .intern = intern,
                     .map = map};
    Var nvar = src->nvar; /* src may be dst, and then grows */
    m.need = NEW_N(a, nvar, uint8_t);
    m.effect = NEW_N(a, src->napply, uint8_t);
    mark_import_needs(&m, nwant, want);
    import_needed(&m, nvar);
    bool ok = import_functions(&m);
    vec_free(&m.in);
    wanted_free(&w);
    arena_free(a);
    return ok;
}
