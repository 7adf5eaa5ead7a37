/* Names of variables. The table by name packs (name, variable) into one word, with open
 * addressing and at most half full; an array has each variable's preferred name. A copy
 * only lists the names that it takes over, which are known to differ: the table and the
 * array learn them when something asks, and of a large graph that is rewritten nothing
 * does. A reader that adds many names needs to know only which ones are taken: a bit
 * for each symbol, which takes a hundredth of the table's memory. */
#include "graph/graph_impl.h"

#include <string.h>

enum { FIRST_NAMES = 16, NEAR = 8, MANY_NAMES = 4096 };

/* Symbols are numbered in order. Groups of eight share a cache line, and the groups are
 * scattered: without scattering, names whose distance is the table's length would pile
 * up in the same range, and each lookup would walk through it. */
static size_t name_home_slot(const struct GraphPriv *p, Sym name) {
    return ((size_t)hash_mix(0, name / NEAR) * NEAR + name % NEAR) & p->name_mask;
}

static uint64_t pack_name_slot(Sym name, Var v) {
    return (uint64_t)name << 32 | v;
}

/* The slot of `name`, or the free slot (0) where it would go. A step leads over a
 * group: most of one that is in the way is taken. */
static uint64_t *find_name_slot(const struct GraphPriv *p, Sym name) {
    size_t i = name_home_slot(p, name);
    while (p->name[i] && p->name[i] >> 32 != name)
        i = (i + NEAR + 1) & p->name_mask;
    return &p->name[i];
}

static void resize_name_table(Session *s, struct GraphPriv *p, size_t size) {
    uint64_t *old = p->name;
    size_t n = old ? p->name_mask + 1 : 0;
    p->name = mem_zalloc(s, size, sizeof *p->name);
    p->name_mask = size - 1;
    for (size_t i = 0; i < n; i++)
        if (old[i]) *find_name_slot(p, (Sym)(old[i] >> 32)) = old[i];
    mem_free(old);
}

static void reserve_slots(Session *s, struct GraphPriv *p, size_t n) {
    size_t size = p->name ? p->name_mask + 1 : FIRST_NAMES;
    while (size / 2 < p->nname + n)
        size *= 2;
    if (!p->name || size > p->name_mask + 1) resize_name_table(s, p, size);
}

static void set_slot(struct GraphPriv *p, uint64_t *slot, VarName n) {
    p->nname += !*slot;
    *slot = pack_name_slot(n.name, n.var);
}

/* Puts the names in the table that were only listed, whose slots are on their way long
 * before they are looked at. */
static void learn_names(const Graph *g) {
    enum { AHEAD = 32 };
    struct GraphPriv *p = g->priv;
    if (p->learnt == g->names.n) return;
    reserve_slots(g->s, p, g->names.n - p->learnt);
    for (; p->learnt < g->names.n; p->learnt++) {
        VarName n = g->names.p[p->learnt];
        if (p->learnt + AHEAD < g->names.n)
            __builtin_prefetch(
                &p->name[name_home_slot(p, g->names.p[p->learnt + AHEAD].name)]);
        set_slot(p, find_name_slot(p, n.name), n);
    }
}

static void grow_marks(Session *s, struct GraphPriv *p, size_t word) {
    size_t n = 2 * p->taken_words > word ? 2 * p->taken_words : word + FIRST_NAMES;
    p->taken = mem_realloc(s, p->taken, n, sizeof *p->taken);
    memset(p->taken + p->taken_words, 0, (n - p->taken_words) * sizeof *p->taken);
    p->taken_words = n;
}

/* False: it has the mark already. */
static inline bool mark_name(Session *s, struct GraphPriv *p, Sym name) {
    size_t word = name / 64;
    uint64_t bit = UINT64_C(1) << name % 64;
    if (word >= p->taken_words) grow_marks(s, p, word);
    bool new = !(p->taken[word] & bit);
    p->taken[word] |= bit;
    return new;
}

static void mark_names(Graph *g) {
    struct GraphPriv *p = g->priv;
    if (!p->taken) grow_marks(g->s, p, 0);
    for (; p->marked < g->names.n; p->marked++)
        mark_name(g->s, p, g->names.p[p->marked].name);
}

static void forget_marks(struct GraphPriv *p) {
    mem_free(p->taken);
    p->taken = NULL;
    p->taken_words = p->marked = 0;
}

void graph_reserve_names(Graph *g, size_t n) {
    vec_reserve(g->s, &g->names, n);
    /* a function's bits would be for the symbols of all the others, too */
    if ((n >= MANY_NAMES && g->main == g) || g->priv->taken) {
        mark_names(g);
        return;
    }
    learn_names(g);
    reserve_slots(g->s, g->priv, n);
}

/* The place of v's preferred name; 0 there: it has none yet. */
static Sym *preferred_name(const Graph *g, Var v) {
    struct GraphPriv *p = g->priv;
    if (v >= p->preferred_cap) {
        size_t cap = p->var_cap > v ? p->var_cap : (size_t)v + 1;
        p->preferred = mem_realloc(g->s, p->preferred, cap, sizeof *p->preferred);
        memset(p->preferred + p->preferred_cap, 0,
               (cap - p->preferred_cap) * sizeof *p->preferred);
        p->preferred_cap = cap;
    }
    return &p->preferred[v];
}

/* The first name of a variable is preferred. */
static void learn_preferred(const Graph *g) {
    struct GraphPriv *p = g->priv;
    for (; p->preferring < g->names.n; p->preferring++) {
        VarName n = g->names.p[p->preferring];
        Sym *name = preferred_name(g, n.var);
        if (!*name) *name = n.name;
    }
}

void graph_learn_names(const Graph *g) {
    learn_names(g);
    learn_preferred(g);
}

/* As far as the table knows. */
static Var find_learnt(const Graph *g, Sym name) {
    uint64_t v;
    const struct GraphPriv *p = g->priv;
    if (p->nname) {
        uint64_t slot = *find_name_slot(p, name);
        if (slot && (Var)slot != VAR_NONE) return (Var)slot;
    }
    return table_get(g, TABLE_DIM, name, &v) ? (Var)v : VAR_NONE;
}

Var graph_find(const Graph *g, Sym name) {
    learn_names(g);
    return find_learnt(g, name);
}

void graph_name(Graph *g, Var v, Sym name) {
    if (!graph_try_name(g, v, name))
        bug("the name \"%s\" is taken", sym_text(g->s, name));
}

void names_take_over(Graph *g, Var v, Sym name) {
    if (find_learnt(g, name) == VAR_NONE)
        vec_push(g->s, &g->names, ((VarName){v, name}));
}

/* There is room in the table. */
static bool add_name(Graph *g, Var v, Sym name) {
    struct GraphPriv *p = g->priv;
    uint64_t *slot = find_name_slot(p, name);
    if (name == 0 || (*slot && (Var)*slot != VAR_NONE) ||
        table_get(g, TABLE_DIM, name, NULL))
        return false;
    set_slot(p, slot, (VarName){v, name});
    vec_push(g->s, &g->names, ((VarName){v, name}));
    p->learnt = g->names.n;
    return true;
}

bool graph_try_name(Graph *g, Var v, Sym name) {
    learn_names(g);
    reserve_slots(g->s, g->priv, 1);
    return add_name(g, v, name);
}

/* The table learns them when something looks for one. */
static size_t list_names(Graph *g, size_t n, const VarName *names) {
    struct GraphPriv *p = g->priv;
    const Map *dims = p->table[TABLE_DIM];
    size_t k = 0;
    for (; k < n; k++) {
        Sym name = names[k].name;
        if (name == 0 || (dims && map_get(dims, name, NULL)) ||
            !mark_name(g->s, p, name))
            break;
        g->names.p[g->names.n++] = names[k];
    }
    p->marked = g->names.n;
    return k;
}

size_t graph_try_names(Graph *g, size_t n, const VarName *names) {
    size_t k = 0;
    graph_reserve_names(g, n);
    if (g->priv->taken) return list_names(g, n, names);
    while (k < n && add_name(g, names[k].var, names[k].name))
        k++;
    return k;
}

/* A leaf's type; for a list, the type of its innermost elements. */
static const Type *leaf_type(const Graph *g, uint32_t leaf) {
    const Type *t = var_type(g, g->leaf[leaf].var);
    while (t->kind == TYPE_LIST)
        t = t->elem;
    return t;
}

/* Types of leaves change only with graph_retype_leaf, which forgets this. */
bool graph_has_dim(const Graph *g, Sym name) {
    struct GraphPriv *p = g->priv;
    for (; p->ncarried < g->nleaf; p->ncarried++) {
        const Type *t = leaf_type(g, p->ncarried);
        for (int k = 0; k < t->ndim; k++)
            if (dim_is_named(t->dim[k]))
                table_put(g, TABLE_CARRIED, dim_sym(t->dim[k]), 1);
    }
    return table_get(g, TABLE_DIM, name, NULL) ||
           table_get(g, TABLE_CARRIED, name, NULL);
}

VarList graph_free_dims(const Graph *g, Arena *a) {
    Var *dim = NEW_N(a, g->nleaf + 1U, Var);
    size_t n = 0, nfree = 0;
    Map carried = MAP(g->s);
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (var_leaf(g, g->leaf[i].var) == LEAF_DIM) dim[n++] = g->leaf[i].var;
    for (uint32_t i = 0; n && i < g->nleaf; i++) {
        const Type *t = leaf_type(g, i);
        for (int k = 0; k < t->ndim; k++)
            if (dim_is_named(t->dim[k])) map_put(&carried, dim_sym(t->dim[k]), 1);
    }
    for (size_t i = 0; i < n; i++)
        if (!map_get(&carried, var_leafrec(g, dim[i])->name, NULL))
            dim[nfree++] = dim[i];
    map_free(&carried);
    return (VarList){nfree, dim};
}

bool graph_check_dims(const Graph *g, Span at) {
    for (uint32_t i = 0; i < g->nleaf; i++) {
        const Type *t = leaf_type(g, i);
        for (int k = 0; k < t->ndim; k++) {
            if (!dim_is_named(t->dim[k])) continue;
            Sym dim = dim_sym(t->dim[k]);
            Var v = graph_find(g, dim);
            if (v != VAR_NONE && var_leaf(g, v) != LEAF_DIM)
                return fail(g->s, at, E_DUPLICATE, "%s is both a dim and a variable",
                            sym_text(g->s, dim));
        }
    }
    return true;
}

Sym var_name(const Graph *g, Var v) {
    if (var_leaf(g, v) == LEAF_DIM) return var_leafrec(g, v)->name;
    learn_preferred(g);
    return v < g->priv->preferred_cap ? g->priv->preferred[v] : 0;
}

Sym var_name_in_call(const Graph *fn, Var v, const Graph *g, ApplyId call) {
    const Apply *a = &g->apply[call];
    for (size_t i = 0; i < fn->inputs.n && i < a->nin; i++)
        if (fn->inputs.p[i] == v) return var_name(g, apply_in(g, call)[i]);
    for (size_t j = 0; j < fn->outputs.n && j < a->nout; j++)
        if (fn->outputs.p[j].var == v) return var_name(g, a->out + (Var)j);
    return var_name(fn, v);
}

Var graph_tree_leaf(const Graph *g, Sym path) {
    for (size_t i = 0; i < g->trees.n; i++)
        if (g->trees.p[i].name == path) return g->trees.p[i].var;
    return VAR_NONE;
}

bool graph_is_rowwise(const Graph *g, Var effect) {
    for (size_t i = 0; i < g->rowwise.n; i++)
        if (g->rowwise.p[i] == effect) return true;
    return false;
}

/* Removes the entry of `name`; returns v's oldest other name. */
static Sym drop_name(Graph *g, Var v, Sym name) {
    size_t kept = 0;
    Sym other = 0;
    forget_marks(g->priv);
    for (size_t i = 0; i < g->names.n; i++) {
        VarName n = g->names.p[i];
        if (n.name == name) continue;
        if (n.var == v && !other) other = n.name;
        g->names.p[kept++] = n;
    }
    g->names.n = g->priv->learnt = g->priv->preferring = kept;
    return other;
}

void graph_unname(Graph *g, Sym name) {
    graph_learn_names(g);
    if (g->priv->nname == 0) return;
    uint64_t *slot = find_name_slot(g->priv, name);
    Var v = (Var)*slot;
    if (!*slot || v == VAR_NONE) return;
    Sym other = drop_name(g, v, name);
    *slot = pack_name_slot(name, VAR_NONE);
    if (var_leaf(g, v) != LEAF_DIM) *preferred_name(g, v) = other;
}

void names_forget(struct GraphPriv *p) {
    mem_free(p->name);
    mem_free(p->preferred);
    forget_marks(p);
    p->name = NULL;
    p->preferred = NULL;
    p->nname = p->learnt = p->name_mask = p->preferred_cap = p->preferring = 0;
}
