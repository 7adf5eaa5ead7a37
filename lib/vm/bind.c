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
/* The dims that the values of shared variables show. */
static void lend_dims(const Machine *m, Machine *to) {
    const Graph *g = m->p->g;
    for (size_t i = 0; i < g->shared.n; i++) {
        const Type *t = var_type(g, g->shared.p[i]);
        const Leaf *l = var_leafrec(g, g->shared.p[i]);
        const Value *v = m->shared[i].set ? &m->shared[i].value : l->value;
        bool there = m->shared[i].set || (l->init == VAR_NONE && value_has_data(v));
        const int64_t *shape = there && v->kind == t->kind ? value_sizes(v) : NULL;
        for (int k = 0; shape && k < t->ndim; k++)
            if (dim_is_named(t->dim[k])) vm_set_dim(to, dim_sym(t->dim[k]), shape[k]);
    }
}

/* Gives the machine of an initial value those of the shared variables that it
 * follows. */
static bool lend_shared(Machine *m, Machine *to) {
    const Plan *p = to->p;
    for (uint32_t i = 0; i < p->g->shared.n; i++)
        if (p->sharing.cell[p->shared[i]].flags & CELL_LIVE &&
            (!bind_shared(m, i) || !vm_set_shared(to, i, &m->shared[i].value)))
            return false;
    lend_dims(m, to);
    return true;
}

/* Runs the expressions of several in a machine of its own, as they depend on no
 * input. */
static bool run_inits(Machine *m, size_t n, const uint32_t *which) {
    Graph *g = m->p->g;
    Var *init = mem_alloc(m->s, n * sizeof *init);
    for (size_t k = 0; k < n; k++)
        init[k] = var_leafrec(g, g->shared.p[which[k]])->init;
    Plan *p = plan_new(
        g, &(PlanOptions){
               .nwant = n, .want = init, .only_want = true, .own_results = true});
    Machine *sub = p ? machine_new(p, m->depth + 1, NULL) : NULL;
    bool ok = p && lend_shared(m, sub) && vm_run(sub);
    for (size_t k = 0; ok && k < n; k++) {
        Value value = {0};
        const Result *r = &p->sharing.output[k];
        value_copy_view(&value, vm_output(sub, k));
        ok = vm_set_shared(m, which[k], &value);
        value_unref(&value);
        m->shared[which[k]].owned =
            ok && !(p->sharing.cell[r->cell].flags & CELL_BOXED) &&
            (r->copy != NONE ||
             !sub->cell[r->cell].owned); /* not memory from a kernel, which may have
                                          * mapped a file */
    }
    vm_free(sub);
    plan_free(p);
    mem_free(init);
    return ok;
}

bool bind_shared(Machine *m, uint32_t i) {
    if (m->shared[i].set) return true;
    Var v = m->p->g->shared.p[i];
    const Leaf *l = var_leafrec(m->p->g, v);
    const Type *t = var_type(m->p->g, v);
    if (l->init != VAR_NONE)
        return run_inits(m, 1, &i) || note(m->s, NOWHERE, "for the initial value of %s",
                                           leaf_name(m, m->p->shared[i]));
    if (l->value->kind == t->kind && value_has_data(l->value))
        return vm_set_shared(m, i, l->value);
    return fail(m->s, NOWHERE, E_MISSING, "the shared variable %s has no value",
                leaf_name(m, m->p->shared[i]));
}

/* Does variable v of a machine still need its initial value to be computed? */
static bool is_unset(const Machine *m, uint32_t i) {
    const Graph *g = m->p->g;
    return !m->shared[i].set && var_leafrec(g, g->shared.p[i])->init != VAR_NONE;
}

/* Marks what depends on shared variables: on all, or on those that are unset. The
 * caller frees the marks. */
static uint8_t *mark_state(const Machine *m, bool all) {
    const Graph *g = m->p->g;
    uint8_t *state = mem_zalloc(g->s, (size_t)g->nvar + 1, 1);
    for (uint32_t i = 0; i < g->shared.n; i++)
        state[g->shared.p[i]] = all || is_unset(m, i);
    for (ApplyId a = 0; a < g->napply; a++)
        for (uint32_t i = 0; i < g->apply[a].nin; i++)
            if (state[apply_in(g, a)[i]])
                memset(state + g->apply[a].out, 1, g->apply[a].nout);
    return state;
}

/* Finds the initial values that this run has to compute. One that follows other
 * variables follows their initial values, so it is computed before any update, even if
 * this run doesn't need it. */
static size_t needed_inits(const Machine *m, uint32_t *which) {
    const Graph *g = m->p->g;
    uint8_t *state = mark_state(m, true);
    size_t n = 0;
    for (uint32_t i = 0; i < g->shared.n; i++) {
        bool live = m->p->sharing.cell[m->p->shared[i]].flags & CELL_LIVE;
        if (is_unset(m, i) &&
            (live || (m->p->nupdate && state[var_leafrec(g, g->shared.p[i])->init])))
            which[n++] = i;
    }
    mem_free(state);
    return n;
}

/* Computes those that don't wait for others together; false: there are none, or one of
 * them fails, without a diagnostic. */
static bool run_ready_inits(Machine *m, size_t n, const uint32_t *which) {
    const Graph *g = m->p->g;
    uint32_t *ready = mem_alloc(m->s, n * sizeof *ready);
    uint8_t *waits = mark_state(m, false);
    size_t k = 0, mark = diag_count(m->s);
    for (size_t i = 0; i < n; i++)
        if (is_unset(m, which[i]) &&
            !waits[var_leafrec(g, g->shared.p[which[i]])->init])
            ready[k++] = which[i];
    bool ok = k && run_inits(m, k, ready);
    if (!ok) diag_rewind(m->s, mark);
    mem_free(waits);
    mem_free(ready);
    return ok;
}

/* Computes initial values together, so that the cost stays linear; if one fails, again
 * one by one, to say which. */
static bool bind_inits(Machine *m) {
    const Graph *g = m->p->g;
    bool any = false, ok = true;
    for (uint32_t i = 0; i < g->shared.n; i++)
        any |= is_unset(m, i);
    if (!any || m->p->o.only_want) return true;
    uint32_t *which = mem_alloc(m->s, g->shared.n * sizeof *which);
    size_t n = needed_inits(m, which);
    while (n > 1 && run_ready_inits(m, n, which)) {
    }
    for (size_t i = 0; ok && i < n; i++)
        ok = bind_shared(m, which[i]);
    mem_free(which);
    return ok;
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

static bool has_dim(const Type *t, Sym name) {
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i] == DIM_NAMED(name)) return true;
    return t->kind == TYPE_LIST && has_dim(t->elem, name);
}

/* Of what nothing reads, a shared variable may be the only one that has the dim, as W
 * has in the gradient by W of what doesn't depend on it. */
static bool bind_dim_of_shared(Binding *b, Sym name) {
    Machine *m = b->m;
    const Graph *g = m->p->g;
    for (uint32_t i = 0; i < g->shared.n && !map_get(&b->at, name, NULL); i++) {
        const Leaf *l = var_leafrec(g, g->shared.p[i]);
        bool there = l->init != VAR_NONE || value_has_data(l->value);
        if (!m->shared[i].set && there && has_dim(var_type(g, g->shared.p[i]), name) &&
            !(bind_shared(m, i) && bind_cell(b, m->p->shared[i])))
            return false;
    }
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
        if (!map_get(&b->at, name, &i) && !bind_dim_of_shared(b, name)) return false;
        if (!map_get(&b->at, name, &i)) {
            fail(m->s, NOWHERE, E_MISSING,
                 "the dim %s is not known: no input that is given has it",
                 sym_text(m->s, name));
            return hint(m->s, HINT_SIZES);
        }
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
    if (!m->laid_out && !bind_inits(m)) return false;
    for (uint32_t i = 0; i < p->g->shared.n; i++)
        if (p->sharing.cell[p->shared[i]].flags & CELL_LIVE && !bind_shared(m, i))
            return false;
    if (!m->leaves_changed && m->laid_out) return true;
    if (!bind_dims(m)) return false;
    m->leaves_changed = false;
    return true;
}
