/* Copies what is live. `forward` may map to larger ids, so the order has to be found
 * again: variables are visited by ascending id, each as its replacement, and any Apply
 * that is still missing is copied just before its first user, using an explicit stack.
 * Without `forward`, the order stays the same. Where nothing merges, this walk only
 * numbers what it meets and writes its inputs, and the other tables are written
 * afterwards, one by one: a graph that ends here gives up each as soon as it is read,
 * since the peak of memory of large graphs is where two of them stand side by side. */
#include "graph/copy_impl.h"

#include <string.h>

/* In place of the id of the first output of an Apply that is on the stack. */
#define ID_OPEN (VAR_NONE - 1)

/* ---- single nodes ---- */

static void copy_leaf_ref(Graph *dst, Var to, const Graph *src, Var from) {
    const FileRef *ref = leaf_ref(src, from);
    if (ref && !leaf_ref(dst, to)) leaf_set_ref(dst, to, ref->file, ref->key);
}

static Var copy_leaf(Graph *dst, const Graph *src, Var v, bool intern, bool listed) {
    LeafKind kind = var_leaf(src, v);
    uint32_t number = src->var[v].owner; /* src may be dst: its arrays may move */
    Sym name = src->leaf[number].name;
    Var x = VAR_NONE;
    if (kind == LEAF_DIM) return graph_dim(dst, name);
    if (kind == LEAF_CONST) {
        x = graph_share_const(dst, src, v, intern);
        copy_leaf_ref(dst, x, src, v);
        return x;
    }
    x = graph_named_leaf(dst, kind, var_type(src, v), name, listed);
    if (kind == LEAF_SHARED)
        value_copy_view(var_leafrec(dst, x)->value, src->leaf[number].value);
    return x;
}

Var graph_copy_leaf(Graph *dst, const Graph *src, Var v, bool intern) {
    return copy_leaf(dst, src, v, intern, false);
}

void graph_copy_leaves(Graph *dst, const Graph *fn, bool intern, Var *map) {
    for (size_t i = 0; i < fn->inputs.n; i++) {
        Var v = fn->inputs.p[i];
        map[v] = graph_copy_leaf(dst, fn, v, intern);
    }
    for (uint32_t i = 0; i < fn->nleaf; i++) {
        Var v = fn->leaf[i].var;
        if (var_leaf(fn, v) != LEAF_INPUT) map[v] = graph_copy_leaf(dst, fn, v, intern);
    }
}

Var graph_copy_apply(Graph *dst, const Graph *src, ApplyId a, const Var *in,
                     bool intern) {
    Apply r = src->apply[a];
    const Type *one[8] = {NULL}, **out = one;
    if (r.nout > 8) out = mem_zalloc(dst->s, r.nout, sizeof *out);
    for (Var k = 0; k < r.nout; k++)
        out[k] = var_type(src, r.out + k);
    Var v = graph_apply(dst, r.op, r.props, r.nin, in, r.nout, out, intern,
                        r.serial != 0, src->origin[a]);
    if (out != one) mem_free(out);
    return v;
}

/* ---- functions ---- */

void wanted_add_function(WantedFunctions *w, Sym name) {
    if (name == 0 || map_get(&w->seen, name, NULL) || !graph_function(w->src, name))
        return;
    map_put(&w->seen, name, 1);
    vec_push(w->src->s, &w->todo, name);
}

void wanted_add_props(WantedFunctions *w, const Props *p) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->p[i].kind == P_GRAPH) wanted_add_function(w, p->p[i].sym);
}

void wanted_free(WantedFunctions *w) {
    map_free(&w->seen);
    vec_free(&w->todo);
}

/* ---- forwarding ---- */

/* Each variable leads to its last replacement from now on. */
static void shorten_chains(Var *to, Var n) {
    for (Var v = 0; v < n; v++) {
        Var end = to[v];
        if (to[end] == end) continue; /* most often v itself */
        for (uint32_t steps = 0; to[end] != end; end = to[end])
            if (steps++ > n) bug("variables replace each other in a cycle");
        for (Var u = v, next; to[u] != end; u = next) {
            next = to[u];
            to[u] = end;
        }
    }
}

/* ---- liveness: variables are looked at downwards, and what replacements need above at
 * once; of an Apply that is needed the first output is marked ---- */

static void need_above(GraphCopy *c, Var v) {
    if (var_leaf(c->src, v) != LEAF_NOT) return;
    ApplyId a = c->src->var[v].owner;
    Var out = c->src->apply[a].out;
    if (out != v && c->need[out]) return;
    c->need[out] = 1;
    vec_push(c->src->s, &c->stack, ((CopyFrame){.a = a}));
}

/* The makers of variables from `past` on have been looked at. */
static inline void need_var(GraphCopy *c, Var v, Var past) {
    v = resolve_forward(c, v);
    if (c->need[v]) return;
    c->need[v] = 1;
    if (v >= past) need_above(c, v);
}

static inline void need_inputs_of(GraphCopy *c, const Apply *p, Var past) {
    const Var *in = c->src->in + p->in;
    c->nin += p->nin;
    for (uint32_t k = 0; k < p->nin; k++)
        need_var(c, in[k], past);
}

static void need_inputs(GraphCopy *c) {
    const Graph *g = c->src;
    for (Var v = g->nvar; v-- > 0;) {
        if (!c->need[v] || g->var[v].leaf) continue;
        const Apply *p = &g->apply[g->var[v].owner];
        c->need[p->out] = 1; /* which comes later, if it isn't v */
        if (p->out == v) need_inputs_of(c, p, v);
        while (c->stack.n > 0)
            need_inputs_of(c, &g->apply[c->stack.p[--c->stack.n].a], v);
    }
}

/* An effect stays even if its results were replaced. */
static void need_effects(GraphCopy *c) {
    const Graph *g = c->src;
    for (size_t i = 0; i < g->effects.n; i++) {
        c->effect[i] = g->apply[g->effects.p[i]].out;
        c->need[c->effect[i]] = 1;
    }
    for (size_t i = 0; i < g->kept.n; i++)
        need_var(c, g->kept.p[i], VAR_NONE);
}

/* A declared dim stays, as an input does. */
static void need_free_dims(GraphCopy *c, Arena *a) {
    if (c->src->main != c->src) return;
    VarList dim = graph_free_dims(c->src, a);
    for (size_t i = 0; i < dim.n; i++)
        need_var(c, dim.p[i], VAR_NONE);
}

/* For a copy without forwards, which numbers no Apply higher than src does. */
static void take_tables(Graph *dst, const Graph *src) {
    dst->apply = src->apply;
    dst->origin = src->origin;
    dst->in = src->in;
    dst->priv->apply_cap = src->priv->apply_cap;
    dst->priv->in_cap = src->priv->in_cap;
}

static void forget_taken_tables(Graph *g) {
    g->apply = NULL, g->origin = NULL, g->in = NULL;
    g->napply = g->nin = g->priv->apply_cap = g->priv->in_cap = 0;
}

/* Room for what is needed, so that nothing grows step by step. */
static void reserve_needed(GraphCopy *c) {
    const Graph *g = c->src;
    uint32_t napply = 0, nvar = g->nleaf;
    for (Var v = 0; v < g->nvar; v++) {
        if (!c->need[v] || g->var[v].leaf) continue;
        const Apply *p = &g->apply[g->var[v].owner];
        if (p->out != v) continue;
        napply++;
        nvar += p->nout;
    }
    if (c->taken) take_tables(c->dst, c->src);
    graph_reserve(c->dst, napply, nvar, c->nin);
    if (c->intern) graph_reserve_equal(c->dst, napply);
}

static void need_roots(GraphCopy *c, Arena *a, unsigned roots) {
    need_free_dims(c, a);
    VarList root = graph_roots(c->src, a, roots & ~(unsigned)ROOTS_EFFECTS);
    for (size_t i = 0; i < root.n; i++)
        need_var(c, root.p[i], VAR_NONE);
    if (roots & ROOTS_EFFECTS) need_effects(c);
    need_inputs(c);
}

/* ---- copying ---- */

static void emit_leaf(GraphCopy *c, Var v) {
    if (c->id[v] != VAR_NONE) return;
    if (!c->order) {
        c->id[v] = copy_leaf(c->dst, c->src, v, c->intern, c->listed);
        return;
    }
    c->leaf[c->nleaf++] = v;
    c->id[v] = c->nvar++;
}

/* Writes the inputs' copies behind dst's inputs. False: one isn't copied yet. */
static inline bool write_inputs(GraphCopy *c, const Apply *p) {
    const Var *in = c->src->in + p->in;
    Var *to = c->dst->in + c->dst->nin;
    for (uint32_t k = 0; k < p->nin; k++) {
        to[k] = c->id[resolve_forward(c, in[k])];
        if (to[k] >= ID_OPEN) return false;
    }
    return true;
}

/* Its inputs are written; p may be in a table that moves down. */
static void append_apply(GraphCopy *c, ApplyId a) {
    const Apply *p = &c->src->apply[a];
    Var *id = &c->id[p->out];
    uint32_t nout = p->nout;
    if (c->wanted) wanted_add_props(c->wanted, p->props);
    Var first = graph_append_copy(c->dst, p, &c->src->var[p->out], c->src->origin[a],
                                  c->intern);
    for (uint32_t k = 0; k < nout; k++)
        id[k] = first + k;
}

static inline void number_apply(GraphCopy *c, ApplyId a) {
    const Apply *p = &c->src->apply[a];
    Var *id = &c->id[p->out], nvar = c->nvar;
    c->order[c->napply++] = a;
    c->dst->nin += p->nin;
    id[0] = nvar++;
    for (uint32_t k = 1; k < p->nout; k++)
        id[k] = nvar++;
    c->nvar = nvar;
}

/* False: an input isn't copied yet. */
static inline bool emit_apply(GraphCopy *c, ApplyId a) {
    const Apply *p = &c->src->apply[a];
    if (c->taken && c->dst->nin > p->in) bug("the inputs of Apply %u would move", a);
    if (!write_inputs(c, p)) return false;
    if (c->order)
        number_apply(c, a);
    else
        append_apply(c, a);
    return true;
}

static void open_apply(GraphCopy *c, ApplyId a) {
    Var *id = &c->id[c->src->apply[a].out];
    if (*id == ID_OPEN) bug("a variable was replaced by one that depends on it");
    *id = ID_OPEN;
    vec_push(c->src->s, &c->stack, ((CopyFrame){a, 0}));
}

/* Copies Apply a after all it needs. */
static void emit_with_inputs(GraphCopy *c, ApplyId a) {
    open_apply(c, a);
    while (c->stack.n > 0) {
        CopyFrame *f = &c->stack.p[c->stack.n - 1];
        if (f->next == c->src->apply[f->a].nin) {
            emit_apply(c, f->a);
            c->stack.n--;
            continue;
        }
        Var v = resolve_forward(c, apply_in(c->src, f->a)[f->next++]);
        ApplyId owner = var_owner(c->src, v);
        if (owner == APPLY_NONE)
            emit_leaf(c, v);
        else if (c->id[v] >= ID_OPEN)
            open_apply(c, owner);
    }
}

/* What takes the place of v, which an Apply makes. */
static inline void emit_in_place(GraphCopy *c, Var v) {
    Var x = resolve_forward(c, v);
    if (c->id[x] != VAR_NONE || (x == v && !c->need[v])) return;
    ApplyId a = var_owner(c->src, x);
    if (a == APPLY_NONE || !c->need[c->src->apply[a].out]) return;
    if (!emit_apply(c, a)) emit_with_inputs(c, a);
}

/* Inputs come first, in the order of the interface, whatever their ids. A replacement
 * takes the place of the original, so that an order that suits memory is preserved. */
static void emit_needed(GraphCopy *c) {
    const Graph *g = c->src;
    for (size_t i = 0; i < g->inputs.n; i++)
        emit_leaf(c, g->inputs.p[i]);
    for (Var v = 0; v < g->nvar; v++) {
        if (!g->var[v].leaf)
            emit_in_place(c, v);
        else if (c->need[v] || g->var[v].leaf == LEAF_SHARED)
            emit_leaf(c, v);
    }
}

/* ---- tables, one after the other ---- */

static void *give_up(void *table) {
    mem_free(table);
    return NULL;
}

static void write_origins(GraphCopy *c) {
    const Origin *from = c->src->origin;
    Origin *to = c->dst->origin;
    for (uint32_t i = 0; i < c->napply; i++)
        to[i] = from[c->order[i]];
    if (c->ending) c->ending->origin = give_up(c->ending->origin);
}

/* From now on order has first outputs in place of the Applies, which may be gone. */
static void write_applies(GraphCopy *c) {
    const Apply *from = c->src->apply;
    Apply *to = c->dst->apply;
    uint32_t nin = 0;
    for (uint32_t i = 0; i < c->napply; i++) {
        const Apply *p = &from[c->order[i]];
        c->order[i] = p->out;
        to[i] = *p;
        to[i].out = c->id[p->out];
        to[i].in = nin;
        nin += p->nin;
        if (p->serial) to[i].serial = ++c->dst->priv->serial;
        if (c->wanted) wanted_add_props(c->wanted, p->props);
    }
    c->dst->napply = c->napply;
    if (c->ending) c->ending->apply = give_up(c->ending->apply);
}

/* The leaves before what is numbered `end`. */
static void write_leaves(GraphCopy *c, uint32_t *done, Var end) {
    for (; c->dst->nvar < end && *done < c->nleaf; ++*done)
        copy_leaf(c->dst, c->src, c->leaf[*done], false, c->listed);
    if (c->dst->nvar != end) bug("variable %u became %u", end, c->dst->nvar);
}

static void write_variables(GraphCopy *c) {
    Graph *d = c->dst;
    uint32_t leaves = 0;
    graph_reserve(d, 0, c->nvar, 0);
    for (ApplyId a = 0; a < c->napply; a++) {
        const Apply *p = &d->apply[a];
        const VarRec *was = &c->src->var[c->order[a]];
        if (d->nvar != p->out) write_leaves(c, &leaves, p->out);
        for (Var k = 0; k < p->nout; k++)
            d->var[p->out + k] =
                (VarRec){.type = was[k].type, .owner = a, .index = (uint16_t)k};
        d->nvar += p->nout;
    }
    write_leaves(c, &leaves, c->nvar);
}

static void write_tables(GraphCopy *c) {
    if (c->ending) c->ending->in = give_up(c->ending->in);
    graph_reserve(c->dst, c->napply, 0, 0);
    write_origins(c);
    write_applies(c);
    write_variables(c);
}

typedef struct CopyHow {
    unsigned roots;
    Var *forward; /* its chains are shortened; NULL: each variable is its own
                   * replacement */
    bool intern;
    bool take;     /* src ends here; no forward */
    Graph *ending; /* the same with forwards: src itself, of which leaves, variables and
                      names are left */
    Var *map;      /* filled in with each variable's copy; may be NULL */
} CopyHow;

static void copy_graph_body(Graph *dst, const Graph *src, const CopyHow *how,
                            WantedFunctions *w) {
    Arena *a = arena_new(src->s);
    GraphCopy c = {.dst = dst, .src = src, .wanted = w, .intern = how->intern};
    c.taken = how->take;
    c.ending = how->ending;
    size_t n = src->nvar;
    c.to = how->forward;
    if (c.to) shorten_chains(c.to, src->nvar);
    c.id = memset(arena_alloc(a, n * sizeof *c.id), 0xFF, n * sizeof *c.id);
    c.need = NEW_N(a, n, uint8_t);
    c.effect = NEW_N(a, src->effects.n, Var);
    copy_facts(dst, src);
    c.listed = copy_lists_leaves(src);
    vec_reserve(dst->s, &dst->names, src->names.n);
    need_roots(&c, a, how->roots);
    if (c.taken || c.intern) {
        reserve_needed(&c);
    } else {
        graph_reserve(dst, 0, 0, c.nin);
        c.order = arena_alloc(a, src->napply * sizeof *c.order);
        c.leaf = arena_alloc(a, src->nleaf * sizeof *c.leaf);
    }
    emit_needed(&c);
    if (c.order) write_tables(&c);
    copy_interface(&c, how->roots);
    for (Var v = 0; how->map && v < src->nvar; v++)
        how->map[v] = copied_id(&c, v);
    if (w) {
        wanted_add_function(w, src->pullback);
        wanted_add_function(w, src->pushforward);
    }
    vec_free(&c.stack);
    arena_free(a);
}

void graph_copy_function(Graph *dst, WantedFunctions *w, Sym name, unsigned roots,
                         bool intern) {
    Graph *f = graph_function_new(dst->main, name);
    copy_graph_body(f, graph_function(w->src, name),
                    &(CopyHow){.roots = roots, .intern = intern}, w);
}

/* Puts functions in the original's order, whatever order they were found in. */
static void sort_functions(Graph *dst, const Graph *src) {
    size_t n = 0;
    Graph **found = mem_zalloc(dst->s, src->functions.n, sizeof *found);
    for (size_t i = 0; i < src->functions.n; i++) {
        Graph *f = graph_function(dst, src->functions.p[i]->name);
        if (f) found[n++] = f;
    }
    if (n != dst->functions.n) bug("%zu functions became %zu", dst->functions.n, n);
    if (n) memcpy(dst->functions.p, found, n * sizeof *found);
    mem_free(found);
}

/* With the functions that it calls. */
static Graph *copy_main(const Graph *g, const CopyHow *how) {
    Graph *d = graph_new(g->s);
    WantedFunctions w = {.src = g->main, .seen = MAP(g->s)};
    copy_graph_body(d, g, how, &w);
    for (size_t i = 0; how->roots & ROOTS_NAMED && i < g->functions.n; i++)
        wanted_add_function(&w, g->functions.p[i]->name);
    for (size_t i = 0; i < w.todo.n; i++)
        graph_copy_function(d, &w, w.todo.p[i], how->roots | ROOTS_RUN, how->intern);
    sort_functions(d, g->main);
    wanted_free(&w);
    return d;
}

Graph *graph_copy(const Graph *g, unsigned roots, const Var *forward, bool intern,
                  Var *map) {
    Arena *a = arena_new(g->s);
    Var *own = forward ? arena_copy(a, forward, g->nvar * sizeof *own) : NULL;
    Graph *d = copy_main(
        g, &(CopyHow){.roots = roots, .forward = own, .intern = intern, .map = map});
    arena_free(a);
    return d;
}

Graph *graph_copy_take(Graph *g, unsigned roots, bool intern) {
    for (size_t i = 0; i < g->functions.n; i++)
        graph_forget_tables(g->functions.p[i]);
    graph_forget_tables(g);
    Graph *d = copy_main(g, &(CopyHow){.roots = roots, .intern = intern, .take = true});
    forget_taken_tables(g);
    graph_free(g);
    return d;
}

static void want_called_functions(WantedFunctions *w, const Graph *g) {
    wanted_add_function(w, g->pullback);
    wanted_add_function(w, g->pushforward);
    for (ApplyId a = 0; a < g->napply; a++)
        wanted_add_props(w, g->apply[a].props);
}

static void keep_functions(Graph *g, bool called_only) {
    WantedFunctions w = {.src = g, .seen = MAP(g->s)};
    size_t kept = 0;
    want_called_functions(&w, g);
    for (size_t i = 0; !called_only && i < g->functions.n; i++)
        if (!g->functions.p[i]->derived)
            wanted_add_function(&w, g->functions.p[i]->name);
    for (size_t i = 0; i < w.todo.n; i++)
        want_called_functions(&w, graph_function(g, w.todo.p[i]));
    table_free(g, TABLE_FUNCTION);
    for (size_t i = 0; i < g->functions.n; i++) {
        Graph *f = g->functions.p[i];
        if (!map_get(&w.seen, f->name, NULL)) {
            if (called_only) table_put(g, TABLE_SPENT, f->name, 1);
            graph_free_one(f);
            continue;
        }
        table_put(g, TABLE_FUNCTION, f->name, (uintptr_t)f);
        g->functions.p[kept++] = f;
    }
    g->functions.n = kept;
    wanted_free(&w);
}

void graph_keep_called(Graph *g) {
    keep_functions(g, true);
}

/* Copies the body to a blank graph, then swaps the two, except for what ties g to its
 * main graph. */
void graph_compact(Graph *g, unsigned roots, Var *forward, bool intern) {
    Graph *d = graph_blank(g->s), old;
    graph_forget_tables(g);
    copy_graph_body(d, g,
                    &(CopyHow){.roots = roots,
                               .forward = forward,
                               .intern = intern,
                               .ending = intern ? NULL : g},
                    NULL);
    old = *g;
    *g = *d;
    *d = old;
    g->main = old.main;
    d->main = d;
    memcpy(&g->functions, &old.functions, sizeof g->functions);
    memset(&d->functions, 0, sizeof d->functions);
    static const GraphTable of_main[] = {TABLE_FUNCTION, TABLE_SPENT, TABLE_COUNTED};
    for (size_t i = 0; i < sizeof of_main / sizeof *of_main; i++) {
        Map **mine = &g->priv->table[of_main[i]], **other = &d->priv->table[of_main[i]],
            *kept = *other;
        *other = *mine;
        *mine = kept;
    }
    graph_free_one(d);
}

void graph_forget_trees(Graph *g) {
    if (!g->trees.n) return;
    g->trees.n = 0;
    graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false);
}

void graph_sweep(Graph *main) {
    bool derived = false;
    for (size_t i = 0; i <= main->functions.n; i++) {
        Graph *g = i ? main->functions.p[i - 1] : main;
        derived |= g->derived;
        if (g->litter)
            graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false);
        g->litter = false;
    }
    if (derived) keep_functions(main, false);
}
