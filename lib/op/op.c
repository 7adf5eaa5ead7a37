/* Finds ops by name. The table is made from the catalogue on first use; it has names
 * only, since a session never uses most ops. */
#include "op/op_impl.h"

#include <stdlib.h>
#include <string.h>

static void free_op_table(void *p) {
    OpTable *t = p;
    index_free(&t->index);
    vec_free(&t->names);
    vec_free(&t->ops);
    vec_free(&t->operators);
    map_free(&t->signature);
    map_free(&t->number);
    arena_free(t->arena);
    mem_free(t);
}

typedef struct OpWord {
    const OpTable *t;
    const char *p;
    size_t n;
} OpWord;

static bool is_same_op_name(const void *ctx, uint32_t id) {
    const OpWord *w = ctx;
    const OpName *have = &w->t->names.p[id];
    return have->n == w->n && memcmp(have->text, w->p, w->n) == 0;
}

static const Op *find_word(const OpTable *t, const char *p, size_t n) {
    OpWord w = {t, p, n};
    uint32_t id = index_find(&t->index, hash_bytes(p, n, 0), is_same_op_name, &w);
    return id == UINT32_MAX ? NULL : t->names.p[id].op;
}

static void add_word(Session *s, OpTable *t, const char *p, size_t n, const Op *op) {
    OpWord w = {t, p, n};
    uint64_t hash = hash_bytes(p, n, 0);
    uint32_t id = index_find(&t->index, hash, is_same_op_name, &w);
    if (id != UINT32_MAX) { /* it yields */
        t->names.p[id].op = op;
        return;
    }
    index_add(&t->index, hash, (uint32_t)t->names.n);
    vec_push(s, &t->names, ((OpName){p, n, op}));
}

/* The next of the aliases "expit, logistic"; NULL when there are no more. */
static const char *next_alias(const char **list, size_t *n) {
    if (!*list) return NULL;
    const char *p = *list + strspn(*list, ", ");
    *n = strcspn(p, ", ");
    *list = p + *n;
    return *n ? p : NULL;
}

static void add_op(Session *s, OpTable *t, const Op *op) {
    const char *list = op->alias;
    size_t n;
    const Op *yields = find_word(t, op->name, strlen(op->name));
    size_t at = 0;
    while (yields && at < t->ops.n && t->ops.p[at] != yields)
        at++;
    if (yields)
        t->ops.p[at] = op;
    else
        vec_push(s, &t->ops, op);
    if (op->infix) vec_push(s, &t->operators, op);
    t->sorted = false;
    add_word(s, t, op->name, strlen(op->name), op);
    for (const char *p; (p = next_alias(&list, &n));)
        add_word(s, t, p, n, op);
}

static const char *const known_names[KNOWN_OPS] = {
#define KNOWN(NAME, name) #name,
#include "op/known.def"
#undef KNOWN
};

/* With aliases; a catalogue with more needs one step of growth. */
enum { NAMES_EXPECTED = 480 };

OpTable *op_table(Session *s) {
    OpTable *t = session_slot(s, SLOT_OPS);
    if (t) return t;
    t = mem_zalloc(s, 1, sizeof *t);
    t->arena = arena_new(s);
    t->index = INDEX(s);
    t->signature = MAP(s);
    t->number = MAP(s);
    session_set_slot(s, SLOT_OPS, t, free_op_table);
    index_reserve(&t->index, NAMES_EXPECTED);
    vec_reserve(s, &t->names, NAMES_EXPECTED);
    vec_reserve(s, &t->ops, NAMES_EXPECTED);
    for (size_t i = 0; catalogue_ops[i]; i++)
        for (size_t k = 0; k < catalogue_ops[i]->n; k++)
            add_op(s, t, &catalogue_ops[i]->op[k]);
    for (size_t i = 0; i < KNOWN_OPS; i++)
        t->known[i] = find_word(t, known_names[i], strlen(known_names[i]));
    return t;
}

const Op *op_known(Session *s, KnownOp which) {
    return op_table(s)->known[which];
}

const Op *const *op_known_table(Session *s) {
    return op_table(s)->known;
}

const Op *op_find(Session *s, const char *name, size_t n) {
    return find_word(op_table(s), name, n);
}

const Op *op_find_firm(Session *s, const char *name, size_t n) {
    const Op *op = op_find(s, name, n);
    return op && op->yields ? NULL : op;
}

const Op *op_named(Session *s, const char *name) {
    const Op *op = op_find(s, name, strlen(name));
    if (!op) bug("there is no op %s", name);
    return op;
}

const Graph *op_called_function(const Graph *g, const Apply *ap) {
    if (!op_is(g->s, ap->op, OP_CALL)) return NULL;
    return graph_function(g, op_prop(g->s, ap->op, ap->props, "fn")->sym);
}

int op_compare_names(const void *a, const void *b) {
    const Op *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static OpTable *sorted_table(Session *s) {
    OpTable *t = op_table(s);
    if (!t->sorted && t->ops.n > 1)
        qsort(t->ops.p, t->ops.n, sizeof *t->ops.p, op_compare_names);
    t->sorted = true;
    return t;
}

size_t op_count(Session *s) {
    return op_table(s)->ops.n;
}

const Op *op_get(Session *s, size_t i) {
    return sorted_table(s)->ops.p[i];
}

const Op *op_operator(Session *s, size_t i) {
    const OpTable *t = op_table(s);
    return i < t->operators.n ? t->operators.p[i] : NULL;
}

static bool name_is_free(Session *s, const char *p, size_t n, Span at) {
    const Op *have = op_find_firm(s, p, n);
    if (!have) return true;
    return fail(s, at, E_DUPLICATE, "there is already an op %.*s%s%s", (int)n, p,
                have->file ? " in " : "", have->file ? have->file : "");
}

size_t op_number(Session *s, const Op *op) {
    Map *number = &op_table(s)->number;
    uint64_t n;
    if (map_get(number, (uintptr_t)op, &n)) return (size_t)n;
    n = number->n;
    map_put(number, (uintptr_t)op, n);
    return (size_t)n;
}

bool op_add(Session *s, const Op *op, Span at) {
    const char *list = op->alias;
    size_t n;
    if (!name_is_free(s, op->name, strlen(op->name), at)) return false;
    for (const char *p; (p = next_alias(&list, &n));)
        if (!name_is_free(s, p, n, at)) return false;
    add_op(s, op_table(s), op);
    return true;
}

static const Signature *signature_of(Session *s, OpTable *t, const Op *op) {
    uint64_t have;
    if (map_get(&t->signature, (uint64_t)(uintptr_t)op, &have))
        return (const Signature *)(uintptr_t)have;
    SignatureError e;
    const Signature *sig = signature_parse(s, t->arena, op, &e);
    if (e.what) bug("the row of op %s: %s at \"%s\"", op->name, e.what, e.rest);
    map_put(&t->signature, (uint64_t)(uintptr_t)op, (uint64_t)(uintptr_t)sig);
    return sig;
}

const Signature *op_signature(Session *s, const Op *op) {
    OpTable *t = op_table(s);
    SignatureOf *last = &t->latest[(uintptr_t)op / sizeof *op % LATEST_SIGNATURES];
    if (last->op != op) *last = (SignatureOf){op, signature_of(s, t, op)};
    return last->sig;
}

/* ---- props by name ---- */

size_t prop_place(const Signature *sig, const char *name) {
    size_t i = 0;
    while (i < sig->nprop && strcmp(sig->prop[i].text, name) != 0)
        i++;
    return i;
}

const Prop *op_prop(Session *s, const Op *op, const Props *p, const char *name) {
    const Signature *sig = op_signature(s, op);
    size_t i = prop_place(sig, name);
    if (i == sig->nprop) bug("%s has no prop %s", op->name, name);
    return &p->p[i];
}

bool prop_bool(Session *s, const Op *op, const Props *p, const char *name) {
    return op_prop(s, op, p, name)->i != 0;
}

int64_t prop_int(Session *s, const Op *op, const Props *p, const char *name) {
    return op_prop(s, op, p, name)->i;
}

const Props *props_make(Session *s, const Op *op, size_t n, const PropArg *arg) {
    const Signature *sig = op_signature(s, op);
    if (n == 0) return sig->defaults;
    Prop *p = mem_zalloc(s, sig->nprop, sizeof *p);
    for (size_t i = 0; i < sig->nprop; i++)
        p[i] = sig->prop[i].value;
    for (size_t k = 0; k < n; k++) {
        size_t i = prop_place(sig, arg[k].name);
        if (i == sig->nprop) bug("%s has no prop %s", op->name, arg[k].name);
        p[i] = arg[k].value;
    }
    const Props *all = props_intern(s, sig->nprop, p);
    mem_free(p);
    return all;
}

/* ---- kernels, views, connections ---- */

const OpRare op_rare_none = {0};

Loop *op_loop(Session *s, const Op *op, DType last_in, DType out) {
    for (int level = session_cpu_level(s); level >= 0; level--) {
        Loop *loop = op->pick ? op->pick(last_in, out, level) : NULL;
        if (loop) return loop;
    }
    return NULL;
}

int op_view(const Graph *g, ApplyId a, size_t out) {
    const Op *op = g->apply[a].op;
    if (op_rare(op)->views) return op_rare(op)->views(g, a, out);
    return out == 0 ? op->view - 1 : -1;
}

bool op_has_effect(const Graph *g, const Op *op, const Props *props) {
    if (op->effect) return true;
    for (uint32_t i = 0; i < props->n; i++) {
        const Graph *f =
            props->p[i].kind == P_GRAPH ? graph_function(g, props->p[i].sym) : NULL;
        if (f && f->effects.n > 0) return true;
    }
    return false;
}

/* Is `name` one of the words of "shape, axis"? */
static bool lists_word(const char *list, const char *name) {
    size_t n;
    for (const char *p; (p = next_alias(&list, &n));)
        if (strlen(name) == n && memcmp(p, name, n) == 0) return true;
    return false;
}

bool op_connected(const Graph *g, ApplyId a, size_t in, size_t out) {
    const Op *op = g->apply[a].op;
    if (op_rare(op)->connect) return op_rare(op)->connect(g, a, in, out);
    if (op->shape_only) return false;
    if (!op->disconnected) return true;
    const Param *p = signature_param(op_signature(g->s, op), in);
    return !lists_word(op->disconnected, sym_text(g->s, p->name));
}
