/* The store: appends leaves and Applies to arrays that double in size. Nothing appended
 * changes or gets another number. */
#include "graph/append.h"
#include "graph/graph_impl.h"
#include "graph/replace.h"
#include "value/class.h"

#include <string.h>

/* Small tables double; a large one grows by a quarter, since the room that a graph has
 * for more is a good part of the memory that it takes. */
enum { FIRST_CAP = 4, LARGE_CAP = 1 << 14 };
static const uint32_t max_nodes = UINT32_C(1) << 31;

/* ---- values: copies of a constant share one value, across graphs ---- */

typedef struct SharedValue {
    Value value; /* first, so that a leaf can point to it */
    atomic_uint refs;
} SharedValue;

Value *leaf_value_new(Graph *g, Leaf *l) {
    SharedValue *x = mem_alloc(g->s, sizeof *x);
    x->value = (Value){.kind = TYPE_TENSOR}; /* without data: no value yet */
    atomic_init(&x->refs, 1);
    return l->value = &x->value;
}

void leaf_set_ref(Graph *g, Var v, const char *file, const char *key) {
    FileRef *ref = NEW(g->arena, FileRef);
    ref->file = arena_str(g->arena, file, strlen(file));
    ref->key = key ? arena_str(g->arena, key, strlen(key)) : NULL;
    table_put(g, TABLE_REF, v, (uintptr_t)ref);
}

const FileRef *leaf_ref(const Graph *g, Var v) {
    uint64_t ref;
    return table_get(g, TABLE_REF, v, &ref) ? (const FileRef *)(uintptr_t)ref : NULL;
}

static void share_value(Leaf *to, const Leaf *from) {
    to->number = from->number;
    to->value = from->value;
    if (from->number)
        number_share(from->value);
    else
        atomic_fetch_add(&((SharedValue *)(void *)from->value)->refs, 1);
}

static void drop_value(const Leaf *l) {
    SharedValue *x = (SharedValue *)(void *)l->value;
    if (l->number)
        number_drop(l->value);
    else if (x && atomic_fetch_sub(&x->refs, 1) == 1)
        value_unref(l->value), mem_free(x);
}

/* ---- lifetime ---- */

Graph *graph_blank(Session *s) {
    Graph *g = mem_zalloc(s, 1, sizeof *g);
    struct GraphPriv *p = mem_zalloc(s, 1, sizeof *p);
    p->const_index = INDEX(s);
    g->s = s;
    g->arena = arena_new(s);
    g->priv = p;
    g->main = g;
    g->until = VAR_NONE;
    g->floatX = DT_NONE;
    return g;
}

Graph *graph_new(Session *s) {
    return graph_blank(s);
}

Graph *graph_function_new(Graph *main, Sym name) {
    if (main->main != main) main = main->main;
    if (graph_function(main, name)) bug("function %s exists", sym_text(main->s, name));
    Graph *f = graph_blank(main->s);
    f->main = main;
    f->name = name;
    f->floatX = main->floatX;
    table_put(main, TABLE_FUNCTION, name, (uintptr_t)f);
    vec_push(main->s, &main->functions, f);
    return f;
}

Graph *graph_function(const Graph *g, Sym name) {
    uint64_t f;
    bool known = table_get(g->main, TABLE_FUNCTION, name, &f);
    return known ? (Graph *)(uintptr_t)f : NULL;
}

bool graph_name_taken(const Graph *g, Sym name) {
    return graph_function(g, name) || table_get(g->main, TABLE_SPENT, name, NULL);
}

Sym graph_function_name(Graph *g, const char *base) {
    enum { MOST = 40 };
    Sym key = sym(g->s, base), y;
    uint64_t n = 0;
    char text[MOST + 1 + NUM_MAX];
    size_t at = strnlen(base, MOST);
    memcpy(text, base, at);
    text[at++] = '_';
    table_get(g->main, TABLE_COUNTED, key, &n);
    do {
        y = sym_n(g->s, text, at + num_write_uint(text + at, ++n));
    } while (graph_name_taken(g, y));
    table_put(g->main, TABLE_COUNTED, key, n);
    return y;
}

enum { RECENT_NUMBERS = 64 };

static void forget_numbers(struct GraphPriv *p) {
    for (size_t i = 0; p->number && i < RECENT_NUMBERS; i++)
        if (p->number[i]) number_drop(p->number[i]);
    mem_free(p->number);
    numbers_close(p);
}

void table_put(const Graph *g, GraphTable t, uint64_t key, uint64_t val) {
    Map **m = &g->priv->table[t];
    if (!*m) {
        *m = mem_alloc(g->s, sizeof **m);
        **m = MAP(g->s);
    }
    map_put(*m, key, val);
}

void table_free(const Graph *g, GraphTable t) {
    Map **m = &g->priv->table[t];
    if (*m) map_free(*m);
    mem_free(*m);
    *m = NULL;
}

static void free_graph_priv(Graph *g) {
    struct GraphPriv *p = g->priv;
    names_forget(p);
    forget_numbers(p);
    for (GraphTable t = 0; t < GRAPH_TABLES; t++)
        table_free(g, t);
    apply_index_free(&p->apply_index);
    index_free(&p->const_index);
    mem_free(p);
}

void graph_free_one(Graph *g) {
    for (uint32_t i = 0; i < g->nleaf; i++)
        drop_value(&g->leaf[i]);
    mem_free(g->var);
    mem_free(g->apply);
    mem_free(g->in);
    mem_free(g->leaf);
    mem_free(g->origin);
    vec_free(&g->inputs);
    vec_free(&g->shared);
    vec_free(&g->outputs);
    vec_free(&g->updates);
    vec_free(&g->effects);
    vec_free(&g->names);
    vec_free(&g->trees);
    vec_free(&g->approx);
    vec_free(&g->aliases);
    vec_free(&g->statistics);
    vec_free(&g->kept);
    vec_free(&g->rowwise);
    vec_free(&g->functions);
    vec_free(&g->steps);
    vec_free(&g->modes);
    free_graph_priv(g);
    arena_free(g->arena);
    mem_free(g);
}

/* Looks at the last function first, the usual one to drop. */
static size_t function_index(const Graph *main, const Graph *f) {
    size_t last = main->functions.n - 1, i = 0;
    if (main->functions.n && main->functions.p[last] == f) return last;
    while (i < main->functions.n && main->functions.p[i] != f)
        i++;
    if (i == main->functions.n) bug("a function that is not its main graph's");
    return i;
}

void graph_function_drop(Graph *f) {
    Graph *main = f->main;
    size_t i = function_index(main, f), after = main->functions.n - i - 1;
    memmove(main->functions.p + i, main->functions.p + i + 1,
            after * sizeof *main->functions.p);
    main->functions.n--;
    table_put(main, TABLE_FUNCTION, f->name, 0);
    graph_free_one(f);
}

void graph_function_rename(Graph *f, Sym name) {
    if (graph_function(f->main, name)) bug("function %s exists", sym_text(f->s, name));
    table_put(f->main, TABLE_FUNCTION, f->name, 0);
    f->name = name;
    table_put(f->main, TABLE_FUNCTION, name, (uintptr_t)f);
}

void graph_free(Graph *g) {
    if (!g) return;
    if (g->main != g) bug("a function is freed with its main graph");
    for (size_t i = 0; i < g->functions.n; i++)
        graph_free_one(g->functions.p[i]);
    graph_free_one(g);
}

/* ---- growth ---- */

static uint32_t grown_capacity(Session *s, uint32_t cap, uint64_t need) {
    if (need > max_nodes) session_panic(s, E_LIMIT, "a graph has more than 2^31 nodes");
    uint64_t n = cap ? cap + (uint64_t)cap / (cap < LARGE_CAP ? 1 : 4) : FIRST_CAP;
    return (uint32_t)(n < need ? need : n);
}

static void grow_vars(Graph *g, uint64_t need) {
    uint32_t cap = g->priv->var_cap = grown_capacity(g->s, g->priv->var_cap, need);
    g->var = mem_realloc(g->s, g->var, cap, sizeof *g->var);
}

static void grow_applies(Graph *g, uint64_t need) {
    uint32_t cap = g->priv->apply_cap = grown_capacity(g->s, g->priv->apply_cap, need);
    g->apply = mem_realloc(g->s, g->apply, cap, sizeof *g->apply);
    g->origin = mem_realloc(g->s, g->origin, cap, sizeof *g->origin);
}

static void grow_inputs(Graph *g, uint64_t need) {
    uint32_t cap = g->priv->in_cap = grown_capacity(g->s, g->priv->in_cap, need);
    g->in = mem_realloc(g->s, g->in, cap, sizeof *g->in);
}

static void grow_leaves(Graph *g, uint64_t need) {
    uint32_t cap = g->priv->leaf_cap = grown_capacity(g->s, g->priv->leaf_cap, need);
    g->leaf = mem_realloc(g->s, g->leaf, cap, sizeof *g->leaf);
}

static void *resize_table(Session *s, void *p, uint32_t *cap, uint64_t n, size_t size) {
    if (n > max_nodes) grown_capacity(s, *cap, n); /* says so */
    if (*cap == n) return p;
    *cap = (uint32_t)n;
    return mem_realloc(s, p, n, size);
}

/* Tables of as many entries as there are, and more. */
static void resize_tables(Graph *g, uint32_t napply, uint32_t nvar, uint32_t nin) {
    struct GraphPriv *p = g->priv;
    uint64_t in = (uint64_t)g->nin + nin, applies = (uint64_t)g->napply + napply;
    uint32_t cap = p->apply_cap;
    g->var = resize_table(g->s, g->var, &p->var_cap, (uint64_t)g->nvar + nvar,
                          sizeof *g->var);
    g->in = resize_table(g->s, g->in, &p->in_cap, in ? in : 1, sizeof *g->in);
    g->apply = resize_table(g->s, g->apply, &p->apply_cap, applies, sizeof *g->apply);
    g->origin = resize_table(g->s, g->origin, &cap, applies, sizeof *g->origin);
}

static void resize_leaves(Graph *g, uint32_t nleaf) {
    g->leaf = resize_table(g->s, g->leaf, &g->priv->leaf_cap,
                           (uint64_t)g->nleaf + nleaf, sizeof *g->leaf);
}

void graph_reserve_last(Graph *g, uint32_t napply, uint32_t nvar, uint32_t nin,
                        uint32_t nleaf) {
    const struct GraphPriv *p = g->priv;
    bool grows = p->apply_cap < (uint64_t)g->napply + napply ||
                 p->var_cap < (uint64_t)g->nvar + nvar ||
                 p->in_cap < (uint64_t)g->nin + nin;
    if (grows) resize_tables(g, napply, nvar, nin);
    if (p->leaf_cap < (uint64_t)g->nleaf + nleaf) resize_leaves(g, nleaf);
}

static void forget_equal_nodes(struct GraphPriv *p) {
    apply_index_free(&p->apply_index);
    index_free(&p->const_index);
    p->interning = false;
}

void graph_trim(Graph *g) {
    forget_equal_nodes(g->priv);
    resize_tables(g, 0, 0, 0);
    resize_leaves(g, 0);
}

void graph_forget_applies(Graph *g, ApplyId from, ApplyId end) {
    const Apply *before = from > 0 ? &g->apply[from - 1] : NULL;
    size_t in = before ? before->in + (size_t)before->nin : 0,
           in_end = end < g->napply ? g->apply[end].in : g->nin;
    mem_forget(g->in, in * sizeof *g->in, in_end * sizeof *g->in);
    mem_forget(g->origin, from * sizeof *g->origin, end * sizeof *g->origin);
    mem_forget(g->apply, from * sizeof *g->apply, end * sizeof *g->apply);
}

static size_t index_bytes(const struct GraphPriv *p) {
    const Index *c = &p->const_index;
    const ApplyIndex *a = &p->apply_index;
    return (c->slot ? (c->mask + 1) * sizeof *c->slot : 0) +
           (a->slot ? (a->mask + 1) * (sizeof *a->slot + sizeof *a->mark) : 0);
}

size_t graph_bytes(const Graph *g) {
    const struct GraphPriv *p = g->priv;
    return p->var_cap * sizeof *g->var + p->in_cap * sizeof *g->in +
           p->leaf_cap * sizeof *g->leaf +
           p->apply_cap * (sizeof *g->apply + sizeof *g->origin) + index_bytes(p);
}

enum { LARGE = 8 << 20 };
void graph_make_room(Graph *g) {
    if (graph_bytes(g) >= LARGE)
        graph_reserve(g, g->napply / 4, g->nvar / 4, g->nin / 4);
}

void graph_forget_tables(Graph *g) {
    forget_equal_nodes(g->priv);
    names_forget(g->priv);
    graph_outputs_changed(g);
    graph_updates_changed(g);
}

size_t graph_all_applies(const Graph *main) {
    size_t n = main->napply;
    for (size_t i = 0; i < main->functions.n; i++)
        n += main->functions.p[i]->napply;
    return n;
}

void graph_reserve(Graph *g, uint32_t napply, uint32_t nvar, uint32_t nin) {
    const struct GraphPriv *p = g->priv;
    uint64_t a = (uint64_t)g->napply + napply, v = (uint64_t)g->nvar + nvar,
             in = (uint64_t)g->nin + nin;
    if (a > p->apply_cap) grow_applies(g, a);
    if (v > p->var_cap) grow_vars(g, v);
    if (in > p->in_cap || !g->in) grow_inputs(g, in); /* apply_in needs a pointer */
}

/* ---- leaves ---- */

static Var append_leaf(Graph *g, LeafKind kind, const Type *t, Sym name) {
    if (g->nvar >= g->priv->var_cap) grow_vars(g, (uint64_t)g->nvar + 1);
    if (g->nleaf >= g->priv->leaf_cap) grow_leaves(g, (uint64_t)g->nleaf + 1);
    Var v = g->nvar++;
    g->var[v] = (VarRec){.type = t, .owner = g->nleaf, .leaf = (uint16_t)kind};
    Leaf *l = &g->leaf[g->nleaf++];
    *l = (Leaf){.var = v, .name = name, .init = VAR_NONE};
    if (kind == LEAF_SHARED) leaf_value_new(g, l);
    if (kind == LEAF_SHARED && (t->kind == TYPE_NONE || t->kind == TYPE_EMPTY))
        l->value->kind = t->kind; /* the type's only value */
    return v;
}

Var graph_named_leaf(Graph *g, LeafKind kind, const Type *t, Sym name, bool listed) {
    Var v = append_leaf(g, kind, t, name);
    if (kind == LEAF_INPUT)
        vec_push(g->s, &g->inputs, v);
    else
        vec_push(g->s, &g->shared, v);
    if (listed)
        names_take_over(g, v, name);
    else
        graph_name(g, v, name);
    return v;
}

Var graph_input(Graph *g, Sym name, const Type *t) {
    return graph_named_leaf(g, LEAF_INPUT, t, name, false);
}

void graph_first_inputs(Graph *g, size_t n, const Sym *name, const Type *const *t) {
    if (g->nvar || g->names.n) bug("the first inputs of a graph with others");
    graph_reserve_last(g, 0, (uint32_t)n, 0, (uint32_t)n);
    vec_reserve(g->s, &g->inputs, n);
    vec_reserve(g->s, &g->names, n);
    for (size_t i = 0; i < n; i++)
        graph_named_leaf(g, LEAF_INPUT, t[i], name[i], true);
}

Var graph_shared(Graph *g, Sym name, const Type *t) {
    return graph_named_leaf(g, LEAF_SHARED, t, name, false);
}

void graph_init_shared(Graph *g, Var shared, Var value) {
    Leaf *l = var_leafrec(g, shared);
    const Leaf *from = var_is_const(g, value) ? var_leafrec(g, value) : NULL;
    if (from && !leaf_ref(g, value) && value_has_data(from->value))
        value_copy_view(l->value, from->value);
    else
        l->init = value;
}

void graph_drop_shared(Graph *g, const uint8_t *drop) {
    size_t n = 0;
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i];
        if (drop[v])
            g->var[v].leaf = LEAF_CONST;
        else
            g->shared.p[n++] = v;
    }
    g->shared.n = n;
}

bool graph_declares_dim(const Graph *g, Sym name) {
    return table_get(g, TABLE_DIM, name, NULL);
}

Var graph_dim(Graph *g, Sym name) {
    uint64_t have;
    if (table_get(g, TABLE_DIM, name, &have)) return (Var)have;
    Var v = append_leaf(g, LEAF_DIM, type_scalar(g->s, DT_INT64), name);
    table_put(g, TABLE_DIM, name, v);
    return v;
}

void graph_retype_leaf(Graph *g, Var leaf, const Type *t) {
    if (var_leaf(g, leaf) == LEAF_NOT) bug("variable %u is not a leaf", leaf);
    g->var[leaf].type = t;
    table_free(g, TABLE_CARRIED);
    g->priv->ncarried = 0;
}

const Tensor *var_const(const Graph *g, Var v) {
    if (!var_is_const(g, v) || var_type(g, v)->kind != TYPE_TENSOR) return NULL;
    return &var_leafrec(g, v)->value->t;
}

/* ---- interning: the tables are built on first use and then cover all earlier nodes
 * ---- */

typedef struct ConstKey {
    const Graph *g;
    const Type *type;
    const Value *value;
} ConstKey;

static bool is_same_const(const void *ctx, uint32_t leaf) {
    const ConstKey *k = ctx;
    const Leaf *have = &k->g->leaf[leaf];
    return k->g->var[have->var].type == k->type &&
           value_identical(have->value, k->value);
}

static uint64_t const_hash(const Type *t, const Value *v) {
    return hash_mix(t->id, value_hash(v));
}

/* Of equal constants only the first is indexed: many entries with one hash would make
 * every search long. */
static void index_const_leaf(Graph *g, uint32_t leaf) {
    const Leaf *l = &g->leaf[leaf];
    const VarRec *v = &g->var[l->var];
    if (v->leaf != LEAF_CONST) return;
    ConstKey k = {g, v->type, l->value};
    uint64_t hash = const_hash(v->type, l->value);
    if (index_find(&g->priv->const_index, hash, is_same_const, &k) == UINT32_MAX)
        index_add(&g->priv->const_index, hash, leaf);
}

/* The equal one that is there, else a. */
static ApplyId index_apply(Graph *g, const ApplyKey *k, ApplyId a) {
    ApplyIndex *x = &g->priv->apply_index;
    apply_index_reserve(x, g, x->n + 1);
    return apply_index_add(x, k, a);
}

static void index_new_apply(Graph *g, ApplyId a) {
    if (g->apply[a].serial) return;
    ApplyKey k = apply_key(g, a);
    index_apply(g, &k, a);
}

static void start_interning(Graph *g) {
    if (g->priv->interning) return;
    g->priv->interning = true;
    for (uint32_t i = 0; i < g->nleaf; i++)
        index_const_leaf(g, i);
    apply_index_reserve(&g->priv->apply_index, g, g->napply);
    for (ApplyId a = 0; a < g->napply; a++)
        index_new_apply(g, a);
}

void graph_reserve_equal(Graph *g, size_t n) {
    start_interning(g);
    apply_index_reserve(&g->priv->apply_index, g, n);
}

/* `from`: a leaf that has v itself, which the new one shares; else NULL. */
static Var append_const(Graph *g, const Type *t, const Value *v, const Leaf *from,
                        bool intern) {
    uint64_t hash = 0;
    if (intern) {
        start_interning(g);
        ConstKey k = {g, t, v};
        hash = const_hash(t, v);
        uint32_t have = index_find(&g->priv->const_index, hash, is_same_const, &k);
        if (have != UINT32_MAX) return g->leaf[have].var;
    }
    Leaf shared = from ? *from : (Leaf){0}; /* g's leaves may move */
    Var x = append_leaf(g, LEAF_CONST, t, 0);
    Leaf *l = var_leafrec(g, x);
    if (from)
        share_value(l, &shared);
    else if (value_is_number(v))
        l->number = true, l->value = number_new(g, v->t.dtype, v->t.data);
    else
        value_copy_view(leaf_value_new(g, l), v);
    if (intern)
        index_add(&g->priv->const_index, hash, g->nleaf - 1);
    else if (g->priv->interning)
        index_const_leaf(g, g->nleaf - 1);
    return x;
}

Var graph_share_const(Graph *g, const Graph *from, Var c, bool intern) {
    const Leaf *l = var_leafrec(from, c);
    return append_const(g, var_type(from, c), l->value, l, intern);
}

Var graph_const(Graph *g, const Tensor *v, bool intern) {
    Value value = {.kind = TYPE_TENSOR, .t = *v};
    return append_const(g, type_tensor(g->s, v->dtype, v->ndim, v->shape), &value, NULL,
                        intern);
}

Var graph_const_value(Graph *g, const Type *t, const Value *v) {
    return append_const(g, t, v, NULL, false);
}

Var graph_const_number(Graph *g, DType d, const void *bytes, bool intern) {
    struct GraphPriv *p = g->priv;
    size_t size = dtype_size(d);
    if (!p->number) p->number = mem_zalloc(g->s, RECENT_NUMBERS, sizeof *p->number);
    Value **recent = &p->number[hash_bytes(bytes, size, (uint64_t)d) % RECENT_NUMBERS];
    bool same = *recent && (*recent)->t.dtype == d &&
                memcmp((*recent)->t.data, bytes, size) == 0;
    if (!same) {
        if (*recent) number_drop(*recent);
        *recent = number_new(g, d, bytes);
    }
    return append_const(g, type_scalar(g->s, d), *recent,
                        &(Leaf){.value = *recent, .number = true}, intern);
}

/* ---- Applies ---- */

static void assert_apply_ids(const Graph *g, size_t nin, const Var *in, size_t nout) {
    if (nout == 0 || nout > UINT16_MAX || nin > UINT16_MAX)
        bug("an Apply of %zu inputs and %zu outputs", nin, nout);
    for (size_t i = 0; i < nin; i++)
        if (in[i] >= g->nvar)
            bug("input %zu of an Apply is variable %u of %u", i, in[i], g->nvar);
}

ApplyId graph_equal_apply(Graph *g, const Op *op, const Props *props, size_t nin,
                          const Var *in) {
    ApplyKey k = {g, op, props, nin, in};
    start_interning(g);
    return apply_index_find(&g->priv->apply_index, &k);
}

Var graph_apply(Graph *g, const Op *op, const Props *props, size_t nin, const Var *in,
                size_t nout, const Type *const *out, bool intern, bool serial,
                Origin from) {
    assert_apply_ids(g, nin, in, nout);
    const ApplyId a = g->napply;
    if (intern && !serial) {
        ApplyKey k = {g, op, props, nin, in};
        start_interning(g);
        ApplyId have = index_apply(g, &k, a);
        if (have != a) return g->apply[have].out;
    }
    graph_reserve(g, 1, (uint32_t)nout, (uint32_t)nin);
    graph_append(g, op, props, (uint32_t)nin, in, (uint32_t)nout, out, from);
    if (serial)
        g->apply[a].serial = ++g->priv->serial;
    else if (g->priv->interning && !intern)
        index_new_apply(g, a);
    return g->apply[a].out;
}

Var graph_append_copy(Graph *g, const Apply *p, const VarRec *out, Origin from,
                      bool intern) {
    const ApplyId a = g->napply;
    if (intern && !p->serial) {
        ApplyKey k = {g, p->op, p->props, p->nin, g->in + g->nin};
        ApplyId have = apply_index_add(&g->priv->apply_index, &k, a);
        if (have != a) return g->apply[have].out;
    }
    g->napply++;
    const Var first = g->nvar;
    g->apply[a] = *p;
    g->apply[a].in = g->nin;
    g->apply[a].out = first;
    if (p->serial) g->apply[a].serial = ++g->priv->serial;
    g->origin[a] = from;
    for (Var k = 0; k < p->nout; k++)
        g->var[first + k] =
            (VarRec){.type = out[k].type, .owner = a, .index = (uint16_t)k};
    g->nin += p->nin;
    g->nvar += p->nout;
    return first;
}

/* The index keeps the Apply in its old place too, where nothing equals it any more. */
void graph_replace_inputs(Graph *g, ApplyId a, const Var *in) {
    const Apply *p = &g->apply[a];
    for (uint32_t i = 0; i < p->nin; i++)
        g->in[p->in + i] = in[i];
    if (g->priv->interning && !p->serial) index_new_apply(g, a);
}

/* ---- interface ---- */

Var graph_output(const Graph *g, Sym label) {
    struct GraphPriv *p = g->priv;
    uint64_t i;
    for (; p->labelled < g->outputs.n; p->labelled++)
        if (!table_get(g, TABLE_LABEL, g->outputs.p[p->labelled].label, NULL))
            table_put(g, TABLE_LABEL, g->outputs.p[p->labelled].label, p->labelled);
    return table_get(g, TABLE_LABEL, label, &i) ? g->outputs.p[i].var : VAR_NONE;
}

void graph_outputs_changed(Graph *g) {
    table_free(g, TABLE_LABEL);
    g->priv->labelled = 0;
}

Var graph_update(const Graph *g, Var shared) {
    struct GraphPriv *p = g->priv;
    uint64_t i;
    for (; p->updated < g->updates.n; p->updated++)
        table_put(g, TABLE_UPDATE, g->updates.p[p->updated].shared, p->updated);
    return table_get(g, TABLE_UPDATE, shared, &i) ? g->updates.p[i].value : VAR_NONE;
}

void graph_updates_changed(Graph *g) {
    table_free(g, TABLE_UPDATE);
    g->priv->updated = 0;
}

uint32_t apply_line(const Graph *g, ApplyId a) {
    Span at = g->origin[a].at;
    const Source *src = source_get(g->s, at.source);
    uint32_t line, col;
    if (!src || strncmp(src->name, "--", 2) == 0) return 0;
    span_place(g->s, at, &line, &col);
    return line;
}
