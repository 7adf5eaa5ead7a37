/* Copies what is live. `forward` may map to larger ids, so the order has to be found
 * again: variables are visited by ascending id, each as its replacement, and any Apply
 * that is still missing is copied just before its first user, using an explicit stack.
 * Without `forward`, the order stays the same. Where nothing merges, this walk only
 * numbers what it meets, and the tables are written afterwards, one by one: a graph
 * that ends here gives up each as soon as it is read, since the peak of memory of large
 * graphs is where two of them stand side by side. */
#include "graph/graph_impl.h"

#include <string.h>

typedef struct CopyFrame {
    ApplyId a;
    uint32_t next; /* the next input to visit */
} CopyFrame;

typedef struct GraphCopy {
    Graph *dst;
    const Graph *src;
    WantedFunctions *wanted;
    bool intern;
    bool listed;    /* leaves have the names that src lists for them */
    bool taken;     /* Applies move down in src's own tables, which dst has now */
    Graph *ending;  /* src, if it gives up its tables; else NULL */
    ApplyId *order; /* Applies as they are numbered; NULL: each node is appended when
                       it is met */
    Var *leaf;      /* beside order, leaves as they are numbered between its Applies */
    uint32_t napply, nleaf, nvar, nin; /* what these have */
    Var *effect;                       /* the first output of each effect */
    Var *to;       /* each variable's replacement, none replaced again; NULL: itself */
    Var *id;       /* each variable's copy */
    uint8_t *need; /* by variable: leaves; by Apply in need_apply */
    uint8_t *need_apply;
    uint8_t *open; /* Applies on the stack */
    Vec(CopyFrame) stack;
} GraphCopy;

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

static inline Var resolve_forward(const GraphCopy *c, Var v) {
    return c->to ? c->to[v] : v;
}

/* ---- liveness ---- */

static inline void need_apply(GraphCopy *c, ApplyId a) {
    if (c->need_apply[a]) return;
    c->need_apply[a] = 1;
    vec_push(c->src->s, &c->stack, ((CopyFrame){a, 0}));
}

static inline void need_var(GraphCopy *c, Var v) {
    v = resolve_forward(c, v);
    if (c->need[v]) return;
    c->need[v] = 1;
    ApplyId a = var_owner(c->src, v);
    if (a != APPLY_NONE) need_apply(c, a);
}

static void need_inputs(GraphCopy *c) {
    const Graph *g = c->src;
    while (c->stack.n > 0) {
        const Apply *p = &g->apply[c->stack.p[--c->stack.n].a];
        for (uint32_t k = p->in; k < p->in + p->nin; k++)
            need_var(c, g->in[k]);
    }
}

/* An effect stays even if its results were replaced. */
static void need_effects(GraphCopy *c) {
    const Graph *g = c->src;
    for (size_t i = 0; i < g->effects.n; i++) {
        need_apply(c, g->effects.p[i]);
        c->effect[i] = g->apply[g->effects.p[i]].out;
    }
    for (size_t i = 0; i < g->kept.n; i++)
        need_var(c, g->kept.p[i]);
}

/* A declared dim stays, as an input does. */
static void need_free_dims(GraphCopy *c, Arena *a) {
    if (c->src->main != c->src) return;
    VarList dim = graph_free_dims(c->src, a);
    for (size_t i = 0; i < dim.n; i++)
        need_var(c, dim.p[i]);
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
    uint32_t napply = 0, nvar = c->src->nleaf, nin = 0;
    for (ApplyId a = 0; a < c->src->napply; a++) {
        if (!c->need_apply[a]) continue;
        napply++;
        nvar += c->src->apply[a].nout;
        nin += c->src->apply[a].nin;
    }
    if (c->taken) take_tables(c->dst, c->src);
    graph_reserve(c->dst, napply, nvar, nin);
    if (c->intern) apply_index_reserve(&c->dst->priv->apply_index, c->dst, napply);
}

static void need_roots(GraphCopy *c, Arena *a, unsigned roots) {
    need_free_dims(c, a);
    VarList root = graph_roots(c->src, a, roots & ~(unsigned)ROOTS_EFFECTS);
    for (size_t i = 0; i < root.n; i++)
        need_var(c, root.p[i]);
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

static void number_apply(GraphCopy *c, ApplyId a) {
    const Apply *p = &c->src->apply[a];
    c->order[c->napply++] = a;
    c->nin += p->nin;
    for (Var k = 0; k < p->nout; k++)
        c->id[p->out + k] = c->nvar++;
}

static void append_apply(GraphCopy *c, ApplyId a) {
    Graph *d = c->dst;
    const Apply p = c->src->apply[a]; /* which may be d's */
    const Var *in = apply_in(c->src, a);
    if (c->taken && (d->napply > a || d->nin > p.in))
        bug("Apply %u would move up to %u", a, d->napply);
    for (uint32_t k = 0; k < p.nin; k++)
        d->in[d->nin + k] = c->id[resolve_forward(c, in[k])];
    Var first =
        graph_append_copy(d, &p, &c->src->var[p.out], c->src->origin[a], c->intern);
    for (Var k = 0; k < p.nout; k++)
        c->id[p.out + k] = first + k;
    if (c->wanted) wanted_add_props(c->wanted, p.props);
}

static inline void emit_apply(GraphCopy *c, ApplyId a) {
    if (c->order)
        number_apply(c, a);
    else
        append_apply(c, a);
}

static void open_apply(GraphCopy *c, ApplyId a) {
    if (c->open[a]) bug("a variable was replaced by one that depends on it");
    c->open[a] = 1;
    vec_push(c->src->s, &c->stack, ((CopyFrame){a, 0}));
}

static bool has_copied_inputs(const GraphCopy *c, ApplyId a) {
    const Apply *p = &c->src->apply[a];
    for (uint32_t k = p->in; k < p->in + p->nin; k++)
        if (c->id[resolve_forward(c, c->src->in[k])] == VAR_NONE) return false;
    return true;
}

/* Copies Apply a after all it needs. */
static void emit_with_inputs(GraphCopy *c, ApplyId a) {
    if (!c->to || has_copied_inputs(c, a)) { /* most often */
        emit_apply(c, a);
        return;
    }
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
        else if (c->id[v] == VAR_NONE)
            open_apply(c, owner);
    }
}

/* Inputs come first, in the order of the interface, whatever their ids. A replacement
 * takes the place of the original, so that an order that suits memory is preserved. */
static void emit_needed(GraphCopy *c) {
    for (size_t i = 0; i < c->src->inputs.n; i++)
        emit_leaf(c, c->src->inputs.p[i]);
    for (Var v = 0; v < c->src->nvar; v++) {
        Var x = resolve_forward(c, v);
        if (var_leaf(c->src, v) != LEAF_NOT) {
            if (c->need[v] || var_leaf(c->src, v) == LEAF_SHARED) emit_leaf(c, v);
        } else if (c->id[x] == VAR_NONE) {
            ApplyId a = var_owner(c->src, x);
            if (a != APPLY_NONE && c->need_apply[a]) emit_with_inputs(c, a);
        }
    }
}

/* ---- tables, one after the other ---- */

static void *give_up(void *table) {
    mem_free(table);
    return NULL;
}

static void write_inputs(GraphCopy *c) {
    Graph *d = c->dst;
    graph_reserve(d, 0, 0, c->nin);
    Var *to = d->in;
    for (uint32_t i = 0; i < c->napply; i++) {
        const Apply *p = &c->src->apply[c->order[i]];
        for (uint32_t k = p->in; k < p->in + p->nin; k++)
            *to++ = c->id[resolve_forward(c, c->src->in[k])];
    }
    d->nin = c->nin;
    if (c->ending) c->ending->in = give_up(c->ending->in);
}

static void write_origins(GraphCopy *c) {
    for (uint32_t i = 0; i < c->napply; i++)
        c->dst->origin[i] = c->src->origin[c->order[i]];
    if (c->ending) c->ending->origin = give_up(c->ending->origin);
}

/* From now on order has first outputs in place of the Applies, which may be gone. */
static void write_applies(GraphCopy *c) {
    Graph *d = c->dst;
    uint32_t nin = 0;
    for (uint32_t i = 0; i < c->napply; i++) {
        Apply p = c->src->apply[c->order[i]];
        c->order[i] = p.out;
        p.out = c->id[p.out];
        p.in = nin, nin += p.nin;
        if (p.serial) p.serial = ++d->priv->serial;
        if (c->wanted) wanted_add_props(c->wanted, p.props);
        d->apply[i] = p;
    }
    d->napply = c->napply;
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
    write_inputs(c);
    graph_reserve(c->dst, c->napply, 0, 0);
    write_origins(c);
    write_applies(c);
    write_variables(c);
}

/* ---- the interface ---- */

static Var copied_id(const GraphCopy *c, Var v) {
    return v == VAR_NONE ? VAR_NONE : c->id[resolve_forward(c, v)];
}

/* Is it the name that the leaf has by itself? */
static bool is_own_name(const Graph *g, VarName n) {
    LeafKind leaf = var_leaf(g, n.var);
    return (leaf == LEAF_INPUT || leaf == LEAF_SHARED) &&
           var_leafrec(g, n.var)->name == n.name;
}

/* Then no other variable has a name of theirs. */
static bool lists_leaves(const Graph *g) {
    size_t own = 0;
    for (size_t i = 0; i < g->names.n; i++)
        own += is_own_name(g, g->names.p[i]);
    return own == g->inputs.n + g->shared.n;
}

static void copy_names(GraphCopy *c) {
    for (size_t i = 0; i < c->src->names.n; i++) {
        VarName n = c->src->names.p[i];
        if (is_own_name(c->src, n)) continue; /* its leaf has it */
        LeafKind leaf = var_leaf(c->src, n.var);
        bool own = leaf == LEAF_INPUT || leaf == LEAF_SHARED;
        Var v = own ? c->id[n.var] : copied_id(c, n.var);
        if (v != VAR_NONE) names_take_over(c->dst, v, n.name);
    }
    for (size_t i = 0; i < c->src->rowwise.n; i++) {
        Var v = c->id[c->src->rowwise.p[i]];
        if (v != VAR_NONE) vec_push(c->dst->s, &c->dst->rowwise, v);
    }
    for (size_t i = 0; i < c->src->trees.n; i++) {
        VarName n = c->src->trees.p[i];
        n.var = copied_id(c, n.var);
        if (n.var != VAR_NONE) vec_push(c->dst->s, &c->dst->trees, n);
    }
}

/* If two variables merge, the looser tolerance of each kind holds. */
static void copy_approx(GraphCopy *c) {
    for (size_t i = 0; i < c->src->approx.n; i++) {
        VarApprox a = c->src->approx.p[i];
        Var v = copied_id(c, a.var);
        if (v != VAR_NONE) graph_loosen_approx(c->dst, v, a.how);
    }
}

/* As for names, a leaf's mark is its own, not its replacement's. */
static void copy_marks(GraphCopy *c) {
    const Graph *g = c->src;
    if (g->aliases.n == 0 && g->statistics.n == 0) return;
    Var *map = mem_zalloc(g->s, g->nvar, sizeof *map);
    for (Var v = 0; v < g->nvar; v++)
        map[v] = var_leaf(g, v) == LEAF_NOT ? copied_id(c, v) : c->id[v];
    graph_copy_marks(c->dst, g, map);
    mem_free(map);
}

static void copy_interface(GraphCopy *c, unsigned roots) {
    Graph *d = c->dst;
    const Graph *g = c->src;
    copy_approx(c);
    for (size_t i = 0; roots & ROOTS_INIT && i < g->shared.n; i++) {
        Var v = g->shared.p[i];
        var_leafrec(d, c->id[v])->init = copied_id(c, var_leafrec(g, v)->init);
    }
    copy_names(c);
    copy_marks(c);
    if (!(roots & ROOTS_RUN)) return;
    for (size_t i = 0; i < g->outputs.n; i++)
        vec_push(d->s, &d->outputs,
                 ((Output){g->outputs.p[i].label, copied_id(c, g->outputs.p[i].var)}));
    for (size_t i = 0; i < g->updates.n; i++) {
        Update u = g->updates.p[i];
        vec_push(d->s, &d->updates, ((Update){c->id[u.shared], copied_id(c, u.value)}));
    }
    for (size_t i = 0; i < g->effects.n; i++)
        vec_push(d->s, &d->effects, var_owner(d, c->id[c->effect[i]]));
    for (size_t i = 0; i < g->kept.n; i++) {
        Var v = copied_id(c, g->kept.p[i]);
        if (v != VAR_NONE) vec_push(d->s, &d->kept, v);
    }
    d->until = copied_id(c, g->until);
}

static const char *copy_str(Graph *d, const char *text) {
    return text ? arena_str(d->arena, text, strlen(text)) : NULL;
}

static void copy_graph_facts(Graph *d, const Graph *g) {
    d->name = g->name;
    d->doc = copy_str(d, g->doc);
    d->folder = copy_str(d, g->folder);
    d->source = g->source;
    d->floatX = g->floatX;
    d->fused = g->fused;
    d->derived = g->derived;
    d->pullback = g->pullback;
    d->pushforward = g->pushforward;
    for (size_t i = 0; i < g->steps.n; i++) {
        Step x = g->steps.p[i];
        vec_push(
            d->s, &d->steps,
            ((Step){copy_str(d, x.tool), copy_str(d, x.version), copy_str(d, x.args)}));
    }
    for (size_t i = 0; i < g->modes.n; i++)
        vec_push(d->s, &d->modes, g->modes.p[i]);
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
    c.id = NEW_N(a, n, Var);
    memset(c.id, 0xFF, n * sizeof *c.id);
    c.need = NEW_N(a, n, uint8_t);
    c.need_apply = NEW_N(a, src->napply, uint8_t);
    c.open = NEW_N(a, src->napply, uint8_t);
    c.effect = NEW_N(a, src->effects.n, Var);
    copy_graph_facts(dst, src);
    c.listed = lists_leaves(src);
    vec_reserve(dst->s, &dst->names, src->names.n);
    need_roots(&c, a, how->roots);
    if (c.taken || c.intern) {
        reserve_needed(&c);
    } else {
        c.order = NEW_N(a, src->napply, ApplyId);
        c.leaf = NEW_N(a, src->nleaf, Var);
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
