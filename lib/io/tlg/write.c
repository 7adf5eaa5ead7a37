/* Writes a graph as a CBOR Sequence: see schemas/graph.cddl. A graph's leaves are
 * numbered first, then the Applies' outputs in order, so the numbers themselves need
 * not be written. Unused constants are left out. */
#include "io/tlg/tlg.h"
#include "value/class.h"

/* ---- numbering ---- */

static uint8_t *used_vars(const Graph *g, Arena *a) {
    uint8_t *used = arena_zalloc(a, g->nvar + 1, 1);
    for (uint32_t i = 0; i < g->nin; i++)
        used[g->in[i]] = 1;
    for (size_t i = 0; i < g->outputs.n; i++)
        used[g->outputs.p[i].var] = 1;
    for (size_t i = 0; i < g->updates.n; i++)
        used[g->updates.p[i].value] = 1;
    for (size_t i = 0; i < g->names.n; i++)
        used[g->names.p[i].var] = 1;
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (g->leaf[i].init != VAR_NONE) used[g->leaf[i].init] = 1;
    if (g->until != VAR_NONE) used[g->until] = 1;
    return used;
}

static void number_leaf(Numbering *n, Var v) {
    if (n->to[v] != VAR_NONE) return;
    n->to[v] = n->nleaf;
    n->leaf[n->nleaf++] = v;
}

static Numbering number_vars(const Graph *g, Arena *a) {
    uint8_t *used = used_vars(g, a);
    Numbering n = {.g = g,
                   .to = arena_alloc(a, (g->nvar + 1) * sizeof(Var)),
                   .leaf = arena_alloc(a, (g->nleaf + 1) * sizeof(Var))};
    for (Var v = 0; v < g->nvar; v++)
        n.to[v] = VAR_NONE;
    for (size_t i = 0; i < g->inputs.n; i++)
        number_leaf(&n, g->inputs.p[i]);
    for (size_t i = 0; i < g->shared.n; i++)
        number_leaf(&n, g->shared.p[i]);
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (var_leaf(g, g->leaf[i].var) == LEAF_DIM) number_leaf(&n, g->leaf[i].var);
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (used[g->leaf[i].var] || !var_is_const(g, g->leaf[i].var))
            number_leaf(&n, g->leaf[i].var);
    Var next = n.nleaf;
    for (Var v = 0; v < g->nvar; v++)
        if (!g->var[v].leaf) n.to[v] = next++;
    return n;
}

/* Does the value hold data beyond its type? */
static bool has_data(const Value *v) {
    return v->kind != TYPE_NONE && v->kind != TYPE_EMPTY &&
           !value_class(v)->no_values && value_has_data(v);
}

static LeafCode leaf_code(const Graph *g, Var v) {
    const Leaf *l = var_leafrec(g, v);
    const Type *t = var_type(g, v);
    switch (var_leaf(g, v)) {
    case LEAF_INPUT:
        return TLG_INPUT;
    case LEAF_SHARED:
        return has_data(l->value) ? TLG_SHARED_VALUE : TLG_SHARED;
    case LEAF_DIM:
        return TLG_DIM;
    case LEAF_CONST:
    case LEAF_NOT:
        break;
    }
    if (!has_data(l->value)) return TLG_BARE_CONST;
    bool small = t->kind == TYPE_TENSOR && !leaf_ref(g, v) &&
                 tensor_bytes(&l->value->t) <= TLG_INLINE;
    return small ? TLG_INLINE_CONST : TLG_CONST;
}

static void code_leaves(Numbering *n, Arena *a) {
    n->code = arena_alloc(a, n->nleaf + 1);
    for (uint32_t i = 0; i < n->nleaf; i++)
        n->code[i] = (uint8_t)leaf_code(n->g, n->leaf[i]);
}

/* ---- sections ---- */

bool tlg_write_uint(TlgWriter *w, const void *from) {
    cbor_put_int(&w->b, (int64_t) * (const uint64_t *)from);
    return true;
}
bool tlg_write_sym(TlgWriter *w, const void *from) {
    Sym y = *(const Sym *)from;
    if (y) cbor_put_text(&w->b, sym_text(w->s, y));
    return y != 0;
}

void tlg_section(Str *b, const char *key) {
    cbor_put_head(b, CB_MAP, 1);
    cbor_put_text(b, key);
}

void tlg_write_section(TlgWriter *w, const char *name, size_t n, const TlgField *field,
                       const void *from) {
    unsigned count = 0;
    tlg_section(&w->b, name);
    size_t head = w->b.n;
    cbor_put_head(&w->b, CB_MAP, count);
    for (size_t i = 0; i < n; i++) {
        size_t before = w->b.n;
        cbor_put_text(&w->b, field[i].key);
        if (field[i].write(w, from ? (const char *)from + field[i].at : NULL))
            count++;
        else
            w->b.n = before;
    }
    w->b.p[head] = (char)(w->b.p[head] + (char)count); /* fewer than 24: one byte */
}

void tlg_flush(TlgWriter *w) {
    sink_add(w->sink, w->b.p, w->b.n);
    str_clear(&w->b);
}

/* ---- the file ---- */

static void write_graph(TlgWriter *w) {
    tlg_write_graph(w);
    tlg_write_leaves(w);
    if (w->failed) return;
    tlg_write_applies(w);
    tlg_write_names(w);
    tlg_write_interface(w);
}

static void number_graph(TlgWriter *w, const Graph *g, Numbering *n, Arena *a) {
    *n = number_vars(g, a);
    code_leaves(n, a);
    n->props_of = arena_alloc(a, (g->napply + 1) * sizeof *n->props_of);
    tlg_collect_tables(w, n);
}

bool tlg_write(const Graph *g, Sink *k, const WriteOptions *o) {
    Session *s = g->s;
    Arena *a = arena_new(s);
    TlgWriter w = {.s = s, .options = o, .main = g, .b = STR(s), .sink = k};
    w.t = (TlgTables){.s = s,
                      .op_no = MAP(s),
                      .props_no = MAP(s),
                      .source_no = MAP(s),
                      .rule_no = MAP(s)};
    size_t ngraph = g->functions.n + 1;
    Numbering *n = arena_alloc(a, ngraph * sizeof *n);
    for (size_t i = 0; i < ngraph; i++)
        number_graph(&w, i ? g->functions.p[i - 1] : g, &n[i], a);
    tlg_write_header(&w);
    tlg_write_tables(&w);
    for (size_t i = 0; i < ngraph && !w.failed; i++) {
        w.n = &n[i];
        write_graph(&w);
    }
    if (!w.failed) tlg_write_end(&w);
    tlg_free_tables(&w.t);
    vec_free(&w.col);
    str_free(&w.b);
    arena_free(a);
    return !w.failed;
}
