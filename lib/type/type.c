/* Interned types: a table in the session finds an equal type, so that equality is
 * equality of pointers and a type lives as long as the session. */
#include "type/type_impl.h"

#include <math.h>
#include <string.h>

typedef struct TypeTable {
    Arena *arena;
    Index index;
    Vec(const Type *) types; /* by id */
    Vec(TypeMakerRow) makers;
} TypeTable;

static void free_type_table(void *p) {
    TypeTable *tab = p;
    index_free(&tab->index);
    vec_free(&tab->types);
    vec_free(&tab->makers);
    arena_free(tab->arena);
    mem_free(tab);
}

static TypeTable *type_table(Session *s) {
    TypeTable *tab = session_slot(s, SLOT_TYPES);
    if (tab) return tab;
    tab = mem_zalloc(s, 1, sizeof *tab);
    tab->arena = arena_new(s);
    tab->index = INDEX(s);
    session_set_slot(s, SLOT_TYPES, tab, free_type_table);
    return tab;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_type(const Type *a, const Type *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->ndim == b->ndim &&
           a->elem == b->elem && a->cls == b->cls && same_text(a->why, b->why) &&
           (a->ndim == 0 ||
            memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof *a->dim) == 0);
}

typedef struct WantedType {
    const TypeTable *tab;
    const Type *type;
} WantedType;
static bool is_wanted_type(const void *ctx, uint32_t id) {
    const WantedType *w = ctx;
    return is_same_type(w->tab->types.p[id], w->type);
}

static uint64_t type_hash(const Type *t) {
    uint64_t h = hash_mix((uint64_t)t->kind, (uint64_t)t->dtype);
    h = hash_mix(h, (uint64_t)t->ndim);
    for (int i = 0; i < t->ndim; i++)
        h = hash_mix(h, (uint64_t)t->dim[i]);
    h = hash_mix(h, (uint64_t)(uintptr_t)t->elem);
    h = hash_mix(h, (uint64_t)(uintptr_t)t->cls);
    return t->why ? hash_bytes(t->why, strlen(t->why), h) : h;
}

static const Type *intern_type(Session *s, const Type *t) {
    TypeTable *tab = type_table(s);
    uint64_t h = type_hash(t);
    WantedType w = {tab, t};
    uint32_t id = index_find(&tab->index, h, is_wanted_type, &w);
    if (id != UINT32_MAX) return tab->types.p[id];
    Type *own = arena_copy(tab->arena, t, sizeof *t);
    size_t dims = (size_t)t->ndim * sizeof *t->dim;
    own->dim = dims ? arena_copy(tab->arena, t->dim, dims) : NULL;
    own->why = t->why ? sym_text(s, sym(s, t->why)) : NULL; /* equal: one pointer */
    own->id = (uint32_t)tab->types.n;
    vec_push(s, &tab->types, own);
    index_add(&tab->index, h, own->id);
    return own;
}

const Type *type_tensor(Session *s, DType d, int ndim, const Dim *dim) {
    if (ndim < 0 || ndim > MAX_NDIM) bug("a type of %d dims", ndim);
    return intern_type(
        s, &(Type){.kind = TYPE_TENSOR, .dtype = d, .ndim = ndim, .dim = dim});
}
const Type *type_scalar(Session *s, DType d) {
    return type_tensor(s, d, 0, NULL);
}
const Type *type_simple(Session *s, TypeKind k) {
    return intern_type(s, &(Type){.kind = k, .dtype = DT_NONE});
}
const Type *type_null(Session *s, const char *why) {
    return intern_type(s, &(Type){.kind = TYPE_NULL, .dtype = DT_NONE, .why = why});
}
const Type *type_list(Session *s, const Type *elem) {
    return intern_type(s, &(Type){.kind = TYPE_LIST, .dtype = DT_NONE, .elem = elem});
}
const Type *type_sparse(Session *s, const char *format, DType d, const Dim dim[2]) {
    return intern_type(
        s,
        &(Type){.kind = TYPE_SPARSE, .dtype = d, .ndim = 2, .dim = dim, .why = format});
}
const Type *type_plugin(Session *s, const char *name, const TypeClass *cls) {
    return intern_type(
        s, &(Type){.kind = TYPE_PLUGIN, .dtype = DT_NONE, .why = name, .cls = cls});
}
const TypeMakerRow *type_maker_find(Session *s, const char *p, size_t n) {
    const TypeTable *tab = type_table(s);
    for (size_t i = 0; i < tab->makers.n; i++)
        if (strlen(tab->makers.p[i].name) == n &&
            memcmp(tab->makers.p[i].name, p, n) == 0)
            return &tab->makers.p[i];
    return NULL;
}
bool type_maker_add(Session *s, const char *name, const TypeClass *cls, TypeMaker *make,
                    void *ctx) {
    static const char *const own[] = {"list", "sparse", "random",       "slice",
                                      "none", "null",   "disconnected", "floatX"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0) return false;
    if (dtype_find(name, n) != DT_NONE || type_maker_find(s, name, n)) return false;
    vec_push(s, &type_table(s)->makers, ((TypeMakerRow){name, cls, make, ctx}));
    return true;
}
const TypeClass *type_maker_class(Session *s, size_t i, const char **name) {
    const TypeTable *tab = type_table(s);
    if (i >= tab->makers.n) return NULL;
    if (name) *name = tab->makers.p[i].name;
    return tab->makers.p[i].cls;
}
const Type *type_by_name(Session *s, const char *name) {
    return type_plugin_find(s, name, strlen(name));
}
const Type *type_plugin_find(Session *s, const char *p, size_t n) {
    const TypeTable *tab = type_table(s);
    for (size_t i = tab->types.n; i-- > 0;) {
        const Type *t = tab->types.p[i];
        if (t->kind == TYPE_PLUGIN && strlen(t->why) == n && memcmp(t->why, p, n) == 0)
            return t;
    }
    return NULL;
}

const Type *type_clone(Session *s, const Type *t, DType d, int ndim, const Dim *dim) {
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE) return t;
    Type changed = *t;
    if (d != DT_NONE) changed.dtype = d;
    if (dim) changed.dim = dim;
    if (dim) changed.ndim = ndim;
    if (changed.ndim > MAX_NDIM || (t->kind == TYPE_SPARSE && changed.ndim != 2))
        bug("%s with %d dims", type_str(s, t), changed.ndim);
    return intern_type(s, &changed);
}

bool type_ndim_fits(Session *s, Span at, const char *who, int64_t n) {
    if (n <= MAX_NDIM) return true;
    return fail(s, at, E_LIMIT, "%s%s" TOO_MANY_DIMS, who ? who : "", who ? ": " : "",
                MAX_NDIM);
}

int type_depth(const Type *t) {
    int depth = 0;
    for (; t->kind == TYPE_LIST; t = t->elem)
        depth++;
    return depth;
}

const Type *type_with_dtype(Session *s, const Type *t, DType d) {
    Type changed = *t;
    changed.dtype = d;
    return intern_type(s, &changed);
}

const Type *type_of_row(Session *s, const Type *t) {
    return type_tensor(s, t->dtype, t->ndim - 1, t->dim + 1);
}

const Type *type_of_rows(Session *s, Dim rows, const Type *t) {
    Dim dim[MAX_NDIM + 1] = {rows};
    for (int i = 0; i < t->ndim; i++)
        dim[i + 1] = t->dim[i];
    return type_tensor(s, t->dtype, t->ndim + 1, dim);
}

/* Strips list by list; lists are compared by their innermost elements. */
static bool strip_lists(const Type **a, const Type **b) {
    while ((*a)->kind == TYPE_LIST && (*b)->kind == TYPE_LIST) {
        *a = (*a)->elem;
        *b = (*b)->elem;
    }
    return (*a)->kind == (*b)->kind;
}

/* Both tensors or both sparse, and equal except for their dims. */
static bool same_type_layout(const Type *a, const Type *b) {
    return (a->kind == TYPE_TENSOR || a->kind == TYPE_SPARSE) && a->dtype == b->dtype &&
           a->ndim == b->ndim && same_text(a->why, b->why);
}

bool type_in_same_class(const Type *a, const Type *b) {
    if (a == b) return true;
    if (!strip_lists(&a, &b)) return false;
    if (a->kind == TYPE_NULL) return true;
    if (!same_type_layout(a, b)) return false;
    for (int i = 0; i < a->ndim; i++)
        if ((a->dim[i] == 1) != (b->dim[i] == 1)) return false;
    return true;
}

bool type_is_super(const Type *a, const Type *b) {
    if (a == b) return true;
    if (!strip_lists(&a, &b)) return false;
    if (a->kind == TYPE_NULL) return true;
    if (!same_type_layout(a, b)) return false;
    for (int i = 0; i < a->ndim; i++)
        if (dim_is_known(a->dim[i]) && a->dim[i] != b->dim[i]) return false;
    return true;
}

/* a with other dims, nested in as many lists as `whole`. */
static const Type *with_other_dims(Session *s, const Type *whole, const Type *a,
                                   const Dim *dim) {
    Type changed = *a;
    changed.dim = dim;
    const Type *t = intern_type(s, &changed);
    for (; whole->kind == TYPE_LIST; whole = whole->elem)
        t = type_list(s, t);
    return t;
}

const Type *type_meet(Session *s, const Type *a, const Type *b) {
    if (a == b) return a;
    const Type *whole = a;
    Dim dim[MAX_NDIM];
    if (!strip_lists(&a, &b)) return NULL;
    if (a->kind == TYPE_NULL) return whole;
    if (!same_type_layout(a, b)) return NULL;
    for (int i = 0; i < a->ndim; i++) {
        if (!dim_may_equal(a->dim[i], b->dim[i])) return NULL;
        dim[i] = dim_meet(a->dim[i], b->dim[i]);
    }
    return with_other_dims(s, whole, a, dim);
}

const Type *type_join(Session *s, const Type *a, const Type *b) {
    if (a == b) return a;
    const Type *whole = a;
    Dim dim[MAX_NDIM];
    if (!strip_lists(&a, &b)) return NULL;
    if (a->kind == TYPE_NULL) return whole;
    if (!same_type_layout(a, b)) return NULL;
    for (int i = 0; i < a->ndim; i++)
        dim[i] = a->dim[i] == b->dim[i] ? a->dim[i] : DIM_UNKNOWN;
    return with_other_dims(s, whole, a, dim);
}

double type_known_bytes(const Type *t) {
    double n = t->kind == TYPE_TENSOR ? (double)dtype_size(t->dtype) : (double)NAN;
    for (int i = 0; i < t->ndim; i++)
        n *= dim_is_known(t->dim[i]) ? (double)t->dim[i] : (double)NAN;
    return n;
}

int64_t type_size(const Type *t) {
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_SPARSE) return -1;
    bool empty = false, fits = true;
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (!dim_is_known(t->dim[i])) return -1;
        empty |= t->dim[i] == 0;
        fits = fits && i64_mul(n, t->dim[i], &n);
    }
    return empty ? 0 : fits ? n : -1;
}
