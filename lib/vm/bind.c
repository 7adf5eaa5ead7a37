/* Leaves: inputs and shared variables set by the caller, constants, and dims, which are
 * bound by any value that has them. */
#include "op/op.h"
#include "value/object.h"
#include "vm/vm_impl.h"

#include <string.h>

void cell_set(Machine *m, uint32_t cell, const Tensor *t) {
    Cell *c = &m->cell[cell];
    if (!layout_is(c->layout, t)) {
        c->layout = layout_get(&m->layouts, t->dtype, t->ndim, t->shape, t->stride);
        m->leaves_changed = true;
    }
    c->data = t->data;
    c->buf = t->buf;
}

void cell_value(const Machine *m, uint32_t cell, Value *out) {
    const CellInfo *info = &m->p->sharing.cell[cell];
    if (info->flags & CELL_BOXED) {
        *out = *m->box[cell];
        return;
    }
    const Cell *c = &m->cell[cell];
    const Layout *l = c->layout;
    out->kind = info->type->kind;
    out->obj = NULL;
    out->t.dtype = l->dtype;
    out->t.ndim = l->ndim;
    out->t.data = c->data;
    out->t.buf = c->buf;
    for (int i = 0; i < l->ndim; i++) {
        out->t.shape[i] = l->shape[i];
        out->t.stride[i] = l->stride[i];
    }
}

/* ---- setting ---- */
static bool type_takes(Session *s, const Type *t, const Value *v, const char *what) {
    if (t->kind != TYPE_TENSOR || v->kind != TYPE_TENSOR) {
        Value same;
        Receiver to = {{.strict = true}, what, NOWHERE};
        bool fits = value_filter(s, t, v, &to, &same);
        if (fits) value_unref(&same);
        return fits;
    }
    bool ok = t->dtype == v->t.dtype && t->ndim == v->t.ndim;
    for (int i = 0; ok && i < t->ndim; i++)
        ok = !dim_is_known(t->dim[i]) || t->dim[i] == v->t.shape[i];
    if (ok) return true;
    Str shape = STR(s);
    shape_text(s, v->t.ndim, v->t.shape, &shape);
    fail(s, NOWHERE, t->dtype == v->t.dtype ? E_SHAPE : E_DTYPE,
         "%s is declared %s, but its value is %s of shape %s", what, type_str(s, t),
         dtype_name(v->t.dtype), str_text(&shape));
    str_free(&shape);
    return false;
}

static const char *leaf_name(const Machine *m, uint32_t cell) {
    const Leaf *l = var_leafrec(m->p->g, m->p->sharing.cell[cell].var);
    return l->name ? sym_text(m->s, l->name) : "a leaf";
}

static void hold_leaf_value(Machine *m, uint32_t cell, Value *held, const Value *v) {
    Value copy = {0};
    value_copy_view(&copy, v); /* before the old one is released: they may be the
                                * same */
    value_unref(held);
    *held = copy;
    if (m->p->sharing.cell[cell].flags & CELL_BOXED)
        m->box[cell] = held;
    else
        cell_set(m, cell, &held->t);
}

void bind_input(Machine *m, size_t i, const Value *v) {
    hold_leaf_value(m, m->p->input[i], &m->input[i], v);
    m->input_set[i] = true;
}

bool vm_set_input(Machine *m, size_t i, const Value *v) {
    uint32_t cell = m->p->input[i];
    if (!type_takes(m->s, m->p->sharing.cell[cell].type, v, leaf_name(m, cell)))
        return false;
    bind_input(m, i, v);
    return true;
}

/* filter_inplace: an update's storage, if allocated here, receives the new value. */
static bool refill_shared(Machine *m, size_t i, uint32_t cell, const Value *v) {
    Shared *h = &m->shared[i];
    const void *old = h->value.t.data;
    Receiver to = {{.strict = true}, leaf_name(m, cell), NOWHERE};
    if (!value_filter_inplace(m->s, m->p->sharing.cell[cell].type, v, &to, &h->value))
        return false;
    h->owned = h->value.t.data == old;
    cell_set(m, cell, &h->value.t);
    return true;
}

bool vm_set_shared(Machine *m, size_t i, const Value *v) {
    uint32_t cell = m->p->shared[i];
    const CellInfo *info = &m->p->sharing.cell[cell];
    Shared *h = &m->shared[i];
    if (!type_takes(m->s, info->type, v, leaf_name(m, cell))) return false;
    if (h->set && h->owned && !(info->flags & CELL_BOXED))
        return refill_shared(m, i, cell, v);
    hold_leaf_value(m, cell, &h->value, v);
    h->set = true;
    h->owned = false;
    return true;
}

void vm_set_dim(Machine *m, Sym name, int64_t value) {
    m->leaves_changed = true;
    for (size_t i = 0; i < m->fixed_dim.n; i++)
        if (m->fixed_dim.p[i].name == name) {
            m->fixed_dim.p[i].value = value;
            return;
        }
    vec_push(m->s, &m->fixed_dim, ((DimValue){name, value}));
}

/* ---- initial values ---- */
/* Runs the expression in a machine of its own: it depends on no input, dim or shared
 * variable. */
static bool run_init(Machine *m, Var init, Value *out, bool *ours) {
    Plan *p =
        plan_new(m->p->g, &(PlanOptions){.nwant = 1, .want = &init, .only_want = true});
    if (!p) return false;
    Machine *sub = machine_new(p, m->depth + 1, NULL);
    bool ok = vm_run(sub);
    if (ok) value_copy_view(out, vm_output(sub, 0));
    const Result *r = &p->sharing.output[0];
    *ours = ok && !(p->sharing.cell[r->cell].flags & CELL_BOXED) &&
            (r->copy != NONE ||
             !sub->cell[r->cell].owned); /* not memory from a kernel, which may have
                                          * mapped a file */
    vm_free(sub);
    plan_free(p);
    return ok;
}

bool bind_shared(Machine *m, uint32_t i) {
    if (m->shared[i].set) return true;
    Var v = m->p->g->shared.p[i];
    const Leaf *l = var_leafrec(m->p->g, v);
    const Type *t = var_type(m->p->g, v);
    if (l->init == VAR_NONE) {
        if (l->value->kind == t->kind && value_has_data(l->value))
            return vm_set_shared(m, i, l->value);
        return fail(m->s, NOWHERE, E_MISSING, "the shared variable %s has no value",
                    leaf_name(m, m->p->shared[i]));
    }
    Value value = {0};
    bool ours = false;
    bool ok = run_init(m, l->init, &value, &ours) && vm_set_shared(m, i, &value);
    value_unref(&value);
    if (!ok)
        return note(m->s, NOWHERE, "for the initial value of %s",
                    leaf_name(m, m->p->shared[i]));
    m->shared[i].owned = ours;
    return true;
}

/* ---- dims ---- */
typedef struct Binding {
    Machine *m;
    Map at; /* name to place in `dim` */
    Vec(DimValue) dim;
    Vec(uint32_t) by; /* the cell that determined it; NONE: given */
} Binding;

static bool bind_dim(Binding *b, Sym name, int64_t value, uint32_t by) {
    uint64_t i;
    if (!map_get(&b->at, name, &i)) {
        map_put(&b->at, name, b->dim.n);
        vec_push(b->m->s, &b->dim, ((DimValue){name, value}));
        vec_push(b->m->s, &b->by, by);
        return true;
    }
    if (b->dim.p[i].value == value) return true;
    uint32_t first = b->by.p[i];
    return fail(b->m->s, NOWHERE, E_SHAPE, "the dim %s is %lld %s%s and %lld by %s",
                sym_text(b->m->s, name), (long long)b->dim.p[i].value,
                first == NONE ? "as given" : "by ",
                first == NONE ? "" : leaf_name(b->m, first), (long long)value,
                by == NONE ? "an option" : leaf_name(b->m, by));
}

/* Binds the dims of a sparse matrix, and of sparse matrices and tensors in lists. */
static bool bind_value(Binding *b, const Type *t, const Value *v, uint32_t cell) {
    const ListObject *list = t->kind == TYPE_LIST ? v->obj : NULL;
    for (size_t i = 0; list && i < list->n; i++)
        if (!bind_value(b, t->elem, &list->item[i], cell)) return false;
    const int64_t *shape = value_sizes(v);
    for (int i = 0; shape && i < t->ndim; i++)
        if (dim_is_named(t->dim[i]) && !bind_dim(b, dim_sym(t->dim[i]), shape[i], cell))
            return false;
    return true;
}

static bool bind_cell(Binding *b, uint32_t cell) {
    const CellInfo *info = &b->m->p->sharing.cell[cell];
    if (info->flags & CELL_BOXED)
        return !b->m->box[cell] || bind_value(b, info->type, b->m->box[cell], cell);
    const Type *t = info->type;
    const Layout *l = b->m->cell[cell].layout;
    for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++)
        if (dim_is_named(t->dim[i]) &&
            !bind_dim(b, dim_sym(t->dim[i]), l->shape[i], cell))
            return false;
    return true;
}

static bool bind_all(Binding *b) {
    Machine *m = b->m;
    const Plan *p = m->p;
    for (size_t i = 0; i < m->fixed_dim.n; i++)
        if (!bind_dim(b, m->fixed_dim.p[i].name, m->fixed_dim.p[i].value, NONE))
            return false;
    for (size_t i = 0; i < p->g->inputs.n; i++)
        if (m->input_set[i] && !bind_cell(b, p->input[i])) return false;
    for (size_t i = 0; i < p->g->shared.n; i++)
        if (m->shared[i].set && !bind_cell(b, p->shared[i])) return false;
    for (uint32_t c = 0; c < p->nleaf; c++) {
        if (var_leaf(p->g, p->sharing.cell[c].var) != LEAF_DIM) continue;
        uint64_t i;
        Sym name = var_leafrec(p->g, p->sharing.cell[c].var)->name;
        if (!map_get(&b->at, name, &i))
            return fail(m->s, NOWHERE, E_MISSING,
                        "the dim %s is not known: no input has it, and none was given",
                        sym_text(m->s, name));
        m->dim_cell[c] = b->dim.p[i].value;
    }
    return true;
}

static bool same_values(const Binding *b) {
    if (b->dim.n != b->m->dim.n) return false;
    for (size_t i = 0; i < b->dim.n; i++)
        if (b->dim.p[i].name != b->m->dim.p[i].name ||
            b->dim.p[i].value != b->m->dim.p[i].value)
            return false;
    return true;
}

static bool bind_dims(Machine *m) {
    Binding b = {.m = m, .at = MAP(m->s)};
    bool ok = bind_all(&b);
    if (ok && !(m->laid_out && same_values(&b))) {
        m->dim.n = 0;
        for (size_t i = 0; i < b.dim.n; i++)
            vec_push(m->s, &m->dim, b.dim.p[i]);
        ok = place_lay_out(m);
    }
    map_free(&b.at);
    vec_free(&b.dim);
    vec_free(&b.by);
    return ok;
}

bool bind_leaves(Machine *m) {
    const Plan *p = m->p;
    for (uint32_t i = 0; i < p->g->inputs.n; i++)
        if (!m->input_set[i] && p->sharing.cell[p->input[i]].flags & CELL_LIVE)
            return fail(m->s, NOWHERE, E_MISSING, "the input %s has no value",
                        leaf_name(m, p->input[i]));
    for (uint32_t i = 0; i < p->g->shared.n; i++)
        if (p->sharing.cell[p->shared[i]].flags & CELL_LIVE && !bind_shared(m, i))
            return false;
    if (!m->leaves_changed && m->laid_out) return true;
    if (!bind_dims(m)) return false;
    m->leaves_changed = false;
    return true;
}
