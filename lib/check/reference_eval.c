/* The values of one run of one graph of the log: leaves are set, the rest is computed
 * in order. A failed Apply leaves its results without values, as well as everything
 * that needs them: a branch not taken may fail harmlessly. */
#include "check/check_impl.h"
#include "value/object.h"

#include <string.h>

void reference_open(ReferenceRun *f, Check *c, RewriteLog *b) {
    *f = (ReferenceRun){
        .c = c, .b = b, .g = b->g, .a = arena_new(c->s), .dim = MAP(c->s)};
    f->kept = mem_zalloc(c->s, b->g->nvar, sizeof *f->kept);
    f->why = mem_zalloc(c->s, b->g->napply, sizeof *f->why);
    f->unread = mem_zalloc(c->s, b->g->nin, 1);
}

void reference_close(ReferenceRun *f) {
    for (Var v = 0; v < f->g->nvar; v++) {
        Kept *k = &f->kept[v];
        buffer_unref(k->buf);
        if (k->box) value_unref(k->box);
        mem_free(k->box);
    }
    mem_free(f->kept);
    mem_free((void *)f->why);
    mem_free(f->unread);
    map_free(&f->dim);
    arena_free(f->a);
}

/* Keeps a contiguous tensor as it is, any other as a copy. */
static bool keep_contiguous(ReferenceRun *f, Kept *k, const Tensor *t) {
    Tensor copy;
    if (tensor_is_contiguous(t))
        tensor_copy_view(&copy, t);
    else if (!tensor_clone(f->c->s, t, &copy))
        return false;
    k->data = copy.data;
    k->buf = copy.buf;
    k->shape = arena_copy(f->a, copy.shape, (size_t)copy.ndim * sizeof *copy.shape);
    return true;
}

bool reference_set(ReferenceRun *f, Var v, const Value *x) {
    Kept *k = &f->kept[v];
    if (k->has) return true;
    k->has = true;
    if (check_is_array(x)) return k->has = keep_contiguous(f, k, &x->t);
    k->box = mem_zalloc(f->c->s, 1, sizeof *k->box);
    value_copy_view(k->box, x);
    return true;
}

bool reference_get(const ReferenceRun *f, Var v, Value *x) {
    const Kept *k = &f->kept[v];
    const Type *t = var_type(f->g, v);
    if (!k->has) return false;
    if (k->box) return *x = *k->box, true;
    x->kind = t->kind;
    x->obj = NULL;
    x->t.dtype = t->kind == TYPE_RANDOM ? DT_UINT64 : t->dtype;
    x->t.ndim = t->kind == TYPE_RANDOM ? 1 : t->ndim;
    x->t.data = k->data;
    x->t.buf = k->buf;
    int64_t step = (int64_t)dtype_size(x->t.dtype);
    for (int i = x->t.ndim - 1; i >= 0; i--) {
        x->t.shape[i] = k->shape[i];
        x->t.stride[i] = step;
        step *= k->shape[i];
    }
    return true;
}

bool reference_copy(const ReferenceRun *f, Var v, Value *x) {
    Value have = {0};
    if (!reference_get(f, v, &have)) return false;
    *x = (Value){.kind = have.kind};
    if (check_is_array(&have)) return tensor_clone(f->c->s, &have.t, &x->t);
    value_copy_view(x, &have);
    return true;
}

void reference_bind(ReferenceRun *f, const Type *t, const Value *x) {
    const ListObject *list = t->kind == TYPE_LIST ? x->obj : NULL;
    for (size_t i = 0; list && i < list->n; i++)
        reference_bind(f, t->elem, &list->item[i]);
    const int64_t *shape = value_sizes(x);
    for (int i = 0; shape && i < t->ndim; i++)
        if (dim_is_named(t->dim[i]) && !map_get(&f->dim, dim_sym(t->dim[i]), NULL))
            map_put(&f->dim, dim_sym(t->dim[i]), (uint64_t)shape[i]);
}

/* Constants and dims. */
static void set_fixed_leaf(ReferenceRun *f, Leaf *l) {
    uint64_t n;
    LeafKind kind = var_leaf(f->g, l->var);
    if (kind == LEAF_CONST && l->value) {
        reference_set(f, l->var, l->value);
    } else if (kind == LEAF_DIM && map_get(&f->dim, l->name, &n)) {
        Value v = {.kind = TYPE_TENSOR};
        if (!tensor_scalar_int(f->c->s, DT_INT64, (int64_t)n, &v.t)) return;
        reference_set(f, l->var, &v);
        value_unref(&v);
    }
}

/* ---- replacements ---- */
static void note_pair(ReferenceRun *f, const Pair *p, const Value *old,
                      const Value *new) {
    Check *c = f->c;
    if (var_owner(f->g, p->before) != APPLY_NONE)
        check_note_apply(c, f->g, var_owner(f->g, p->before));
    check_note_value(c, "before", old);
    if (new) {
        check_note_value(c, "after", new);
        check_note_difference(c, old, new, p->how);
    }
    check_note_tree(c, "before", f->g, p->before);
    check_note_tree(c, "after", f->g, p->after);
    found_hint(c, HINT_SLOPPY);
    if (p->rule) found_hint(c, HINT_EXCLUDE);
}

static Span var_place(const ReferenceRun *f, Var v) {
    ApplyId a = var_owner(f->g, v);
    return a == APPLY_NONE ? NOWHERE : f->g->origin[a].at;
}

/* The reason why a variable has no value: the first failure among its ancestors. */
const char *reference_reason(const ReferenceRun *f, Var v) {
    for (int steps = 0; steps < 1000; steps++) {
        ApplyId a = var_owner(f->g, v);
        if (a == APPLY_NONE) return "a leaf has no value";
        if (f->why[a]) return f->why[a];
        size_t k = 0;
        while (k < f->g->apply[a].nin && f->kept[apply_in(f->g, a)[k]].has)
            k++;
        if (k == f->g->apply[a].nin) break;
        v = apply_in(f->g, a)[k];
    }
    return "it could not be computed";
}

/* The reason for an Apply that wasn't run (see compute_by_need). */
static const char left_out[] = "nothing needs it, and it is made of large values";

/* needed: where failures matter; NULL: everywhere. */
static void compare_pair(ReferenceRun *f, const Pair *p, const uint8_t *needed) {
    Value old, new;
    Check *c = f->c;
    if (!reference_get(f, p->before, &old)) return;
    uint64_t key = check_key(E_OPTIMIZATION, p->rule, 0);
    const char *rule = p->rule ? p->rule : "rewriting as a whole";
    Span at = var_place(f, p->before);
    const char *what = var_owner(f->g, p->before) == APPLY_NONE
                           ? "a variable"
                           : f->g->apply[var_owner(f->g, p->before)].op->name;
    if (!reference_get(f, p->after, &new)) {
        if (needed && !needed[p->before]) return;
        const char *why = reference_reason(f, p->after);
        if (why == left_out) return;
        if (found(c, E_OPTIMIZATION, key, at,
                  "%s replaced %s by something that fails: %s", rule, what, why))
            note_pair(f, p, &old, NULL);
    } else if (!value_approx(c->s, &old, &new, p->how) &&
               !rounding_explains_pair(f, p, &old, &new)) {
        if (found(c, E_OPTIMIZATION, key, at, "%s changed the value of %s", rule, what))
            note_pair(f, p, &old, &new);
    }
}

/* ---- finite values ---- */
static bool any_needed(const ReferenceRun *f, ApplyId a, const uint8_t *needed) {
    for (Var k = 0; k < f->g->apply[a].nout; k++)
        if (needed[f->g->apply[a].out + k]) return true;
    return false;
}

/* Marks what needed Applys read; lazy ones need only what they read. True: more was
 * marked. */
static bool mark_inputs(const ReferenceRun *f, uint8_t *needed) {
    const Graph *g = f->g;
    bool more = false;
    for (ApplyId a = g->napply; a-- > 0;)
        for (size_t i = 0; any_needed(f, a, needed) && i < g->apply[a].nin; i++) {
            Var v = apply_in(g, a)[i];
            if (f->unread[g->apply[a].in + i] || needed[v]) continue;
            needed[v] = 1;
            more = true;
        }
    return more;
}

/* What the results need, before and after rewriting; a replacement of something needed
 * is needed, too. Chains of replacements beyond the number of rounds are not
 * followed. */
static uint8_t *needed_ever(const ReferenceRun *f) {
    enum { ROUNDS = 16 };
    uint8_t *needed = mem_zalloc(f->c->s, f->g->nvar, 1);
    for (Var v = 0; v < f->g->nvar; v++)
        needed[v] = f->b->runs.p[v] >> 1 & 1;
    for (size_t i = 0; i < f->b->whole.n; i++)
        needed[f->b->whole.p[i].before] = 1;
    bool more = true;
    for (int round = 0; round < ROUNDS && more; round++) {
        more = mark_inputs(f, needed);
        for (size_t i = 0; i < f->b->pair.n; i++) {
            const Pair *p = &f->b->pair.p[i];
            if (!needed[p->before] || needed[p->after]) continue;
            needed[p->after] = 1;
            more = true;
        }
    }
    return needed;
}

static bool has_lazy(const Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (op_rare(g->apply[a].op)->thunk && op_rare(g->apply[a].op)->thunk->lazy)
            return true;
    return false;
}

/* Values that lazy Applys didn't need may be anything. `again`: functions have not been
 * checked inside yet. */
static void check_needed_finite(ReferenceRun *f, bool again) {
    const Graph *g = f->g;
    if (f->c->o.allow_nonfinite) return;
    uint8_t *needed = mem_zalloc(f->c->s, g->nvar, 1);
    for (Var v = 0; v < g->nvar; v++)
        needed[v] = f->b->runs.p[v] >> 1 & 1;
    mark_inputs(f, needed);
    for (ApplyId a = 0; a < g->napply && !check_full(f->c); a++)
        if (any_needed(f, a, needed)) op_finite(f, a, again);
    mem_free(needed);
}

/* ---- the order ---- */

/* In a graph with branches, what is needed comes first: conditions, then what they
 * choose. */
typedef struct Waiting {
    ApplyId a;
    uint32_t next; /* the next input to compute */
} Waiting;
typedef struct Order {
    ReferenceRun *f;
    bool checked;
    bool *seen; /* by Apply */
    Vec(Waiting) stack;
} Order;

static void wait_for(Order *o, ApplyId a) {
    if (a == APPLY_NONE || o->seen[a]) return;
    o->seen[a] = true;
    vec_push(o->f->c->s, &o->stack, ((Waiting){a, 0}));
}

/* As far as the inputs before it tell. */
static bool reads_input(const ReferenceRun *f, ApplyId id, size_t i) {
    const Apply *a = &f->g->apply[id];
    const Thunk *t = op_rare(a->op)->thunk;
    Value condition;
    if (i == 0 || !t || !t->either) return true;
    return reference_get(f, apply_in(f->g, id)[0], &condition) &&
           (i <= a->nin / 2U) == tensor_is_true(&condition.t);
}

static void compute_with_inputs(Order *o, ApplyId a) {
    ReferenceRun *f = o->f;
    wait_for(o, a);
    while (o->stack.n) {
        Waiting *w = &o->stack.p[o->stack.n - 1];
        ApplyId id = w->a;
        if (w->next == f->g->apply[id].nin) {
            o->stack.n--;
            if (!check_full(f->c)) op_check(f, id, o->checked);
            continue;
        }
        size_t i = w->next++;
        if (reads_input(f, id, i)) wait_for(o, var_owner(f->g, apply_in(f->g, id)[i]));
    }
}

static void compute_needed(Order *o) {
    const Graph *g = o->f->g;
    const RewriteLog *b = o->f->b;
    for (ApplyId a = 0; a < g->napply; a++)
        if (g->apply[a].serial) compute_with_inputs(o, a);
    for (Var v = 0; v < g->nvar; v++)
        if (b->runs.p[v] & 2) compute_with_inputs(o, var_owner(g, v));
    for (size_t i = 0; i < b->whole.n; i++)
        compute_with_inputs(o, var_owner(g, b->whole.p[i].before));
    for (size_t i = 0; i < b->pair.n; i++) { /* in the order of the rewriting */
        ApplyId before = var_owner(g, b->pair.p[i].before);
        if (before == APPLY_NONE || o->seen[before])
            compute_with_inputs(o, var_owner(g, b->pair.p[i].after));
    }
}

/* What nothing needs is computed all the same, since rewriting may be wrong there, too,
 * but not from large values: branches for sizes that this call doesn't have may be
 * larger than everything else. */
enum { SPARE_ELEMENTS = 1 << 16 };

static bool is_made_of_little(const ReferenceRun *f, ApplyId a) {
    int64_t room = SPARE_ELEMENTS;
    for (size_t i = 0; i < f->g->apply[a].nin && room >= 0; i++) {
        Value v;
        if (reference_get(f, apply_in(f->g, a)[i], &v) && check_is_array(&v))
            room = tensor_size(&v.t) > room ? -1 : room - tensor_size(&v.t);
    }
    return room >= 0;
}

static void compute_by_need(ReferenceRun *f, bool checked) {
    Order o = {.f = f, .checked = checked};
    o.seen = mem_zalloc(f->c->s, f->g->napply, sizeof *o.seen);
    compute_needed(&o);
    for (ApplyId a = 0; a < f->g->napply && !check_full(f->c); a++) {
        if (o.seen[a]) continue;
        if (is_made_of_little(f, a))
            op_check(f, a, checked);
        else
            f->why[a] = left_out;
    }
    vec_free(&o.stack);
    mem_free(o.seen);
}

void reference_run(ReferenceRun *f, bool checked) {
    Graph *g = f->b->g;
    for (uint32_t i = 0; i < g->nleaf; i++)
        set_fixed_leaf(f, &g->leaf[i]);
    bool outer = f->c->unsure, here = has_lazy(g);
    f->c->unsure |= here;
    if (here) compute_by_need(f, checked);
    for (ApplyId a = 0; !here && a < g->napply && !check_full(f->c); a++)
        op_check(f, a, checked);
    f->c->unsure = outer;
    if (!outer) check_needed_finite(f, here);
    size_t before = f->c->found + f->c->hidden;
    uint8_t *needed = here ? needed_ever(f) : NULL;
    for (size_t i = 0; i < f->b->pair.n && !check_full(f->c); i++)
        compare_pair(f, &f->b->pair.p[i], needed);
    for (size_t i = 0; i < f->b->whole.n && before == f->c->found + f->c->hidden; i++)
        compare_pair(f, &f->b->whole.p[i], NULL);
    mem_free(needed);
}
