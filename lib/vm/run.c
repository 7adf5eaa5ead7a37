/* A machine's life cycle: made from a plan, run, queried, freed. A run binds the
 * leaves, executes the instructions, copies results that need it, and only then updates
 * the shared variables. */
#include "vm/vm_impl.h"

static void make_frames(Machine *m) {
    const Plan *p = m->p;
    size_t n = (size_t)p->max_in + p->max_out;
    m->frame = mem_zalloc(m->s, n, sizeof *m->frame);
    m->frame_in = mem_zalloc(m->s, p->max_in, sizeof *m->frame_in);
    m->frame_type = mem_zalloc(m->s, p->max_out, sizeof *m->frame_type);
    m->frame_reuse = mem_zalloc(m->s, p->max_out, sizeof *m->frame_reuse);
    m->output = mem_zalloc(m->s, (size_t)p->noutput + 1, sizeof *m->output);
    m->until = m->output + p->noutput;
    m->input = mem_zalloc(m->s, p->g->inputs.n, sizeof *m->input);
    m->input_set = mem_zalloc(m->s, p->g->inputs.n, sizeof *m->input_set);
    m->shared = mem_zalloc(m->s, p->g->shared.n, sizeof *m->shared);
    m->update_place = mem_zalloc(m->s, p->nupdate, sizeof *m->update_place);
    m->update_box = mem_zalloc(m->s, p->has_boxes ? p->nupdate : 0, sizeof(Value));
    m->probe = mem_zalloc(m->s, 1, sizeof *m->probe);
}

static void make_lazy(Machine *m) {
    const Plan *p = m->p;
    m->nothing.kind = TYPE_NONE;
    if (p->lazy) {
        m->lazy.flag = mem_zalloc(m->s, p->nins, 1);
        m->lazy.moved = mem_zalloc(m->s, p->ncell, 1);
    }
    if (!p->has_thunks) return;
    m->state = mem_zalloc(m->s, p->nins, sizeof *m->state);
    m->made = mem_zalloc(m->s, p->nins, 1);
    m->computed = mem_zalloc(m->s, p->max_in, 1);
    m->need = mem_zalloc(m->s, p->max_in, sizeof *m->need);
    m->no_recycling = mem_zalloc(m->s, p->max_out, sizeof *m->no_recycling);
}

static void bind_constants(Machine *m) {
    const Plan *p = m->p;
    for (uint32_t c = 0; c < p->nleaf; c++) {
        Leaf *l = var_leafrec(p->g, p->sharing.cell[c].var);
        LeafKind k = var_leaf(p->g, l->var);
        if (k == LEAF_DIM) {
            m->cell[c].layout = layout_get(&m->layouts, DT_INT64, 0, NULL, NULL);
            m->cell[c].data = &m->dim_cell[c];
        } else if (k == LEAF_CONST && p->sharing.cell[c].flags & CELL_BOXED) {
            m->box[c] = l->value;
        } else if (k == LEAF_CONST) {
            cell_set(m, c, &l->value->t);
        }
    }
}

Machine *machine_new(const Plan *p, unsigned depth, Machine *outer) {
    Session *s = p->s;
    Machine *m = mem_zalloc(s, 1, sizeof *m);
    m->s = s;
    m->p = p;
    m->late = session_expired(p->s);
    m->depth = depth;
    m->outer = outer;
    m->own_pool =
        p->o.threads == 1 ? pool_new(s, 1) : NULL; /* kernels always have one */
    m->pool = m->own_pool ? m->own_pool : session_pool(s);
    m->workers = pool_threads(m->pool);
    m->inner = MAP(s);
    m->tmp = arena_new(s);
    layouts_init(&m->layouts, s);
    m->cell = mem_zalloc(s, p->ncell, sizeof *m->cell);
    m->box = mem_zalloc(s, p->has_boxes ? p->ncell : 0, sizeof(Value *));
    m->place_of = mem_zalloc(s, p->ncell, sizeof *m->place_of);
    m->dim_cell = mem_zalloc(s, p->nleaf, sizeof *m->dim_cell);
    m->fast = mem_zalloc(s, p->nins, sizeof *m->fast);
    m->prep = mem_zalloc(s, p->nins, sizeof(Prep *));
    m->done =
        p->has_after || p->has_overlap ? mem_zalloc(s, p->nins, sizeof *m->done) : NULL;
    m->host = (VmHost){.host = {vm_kernel_out, vm_kernel_scratch, m->pool,
                                vm_kernel_keep, vm_kernel_caller},
                       .m = m};
    m->leaves_changed = true;
    make_frames(m);
    make_lazy(m);
    bind_constants(m);
    return m;
}

Machine *vm_new(const Plan *p) {
    return machine_new(p, 0, NULL);
}

static bool is_boxed(const Machine *m, uint32_t cell) {
    return m->p->sharing.cell[cell].flags & CELL_BOXED;
}

/* Does the cell hold an earlier run's result that nothing will request? */
static bool is_stale(const Machine *m, uint32_t cell) {
    const Sharing *h = &m->p->sharing;
    return cell >= m->p->nleaf && m->box[cell] &&
           h->store.p[h->cell[cell].store].cls != STORE_KEPT;
}

/* Drops references to results that a run returned or was about to store. */
static void drop_boxed_results(Machine *m) {
    const Sharing *h = &m->p->sharing;
    if (!m->p->has_boxes) return;
    for (uint32_t i = 0; i < m->p->noutput; i++) {
        uint32_t cell = h->output[i].cell;
        if (!is_boxed(m, cell)) continue;
        value_unref(&m->output[i]);
        if (is_stale(m, cell)) value_unref(m->box[cell]);
    }
    for (uint32_t u = 0; u < m->p->nupdate; u++)
        value_unref(&m->update_box[u]);
}

static void free_leaves(Machine *m) {
    drop_boxed_results(m);
    for (size_t i = 0; i < m->p->g->inputs.n; i++)
        value_unref(&m->input[i]);
    for (size_t i = 0; i < m->p->g->shared.n; i++)
        value_unref(&m->shared[i].value);
    for (uint32_t c = m->p->nleaf; c < m->p->ncell; c++) {
        if (m->cell[c].owned) buffer_unref(m->cell[c].buf);
        if (!m->p->has_boxes || !m->box[c]) continue;
        value_unref(m->box[c]);
        mem_free(m->box[c]);
    }
}

static void free_inners(Machine *m) {
    for (size_t i = 0; i < m->inners.n; i++) {
        const Plan *p = m->inners.p[i]->p;
        vm_free(m->inners.p[i]);
        plan_free((Plan *)(uintptr_t)p); /* made only for this machine */
    }
    vec_free(&m->inners);
    map_free(&m->inner);
    for (uint32_t i = 0; m->scan && i < m->p->nins; i++)
        scan_run_free(m->scan[i]);
    mem_free(m->scan);
    for (uint32_t i = 0; m->blocks && i < m->p->nins; i++)
        rows_block_free(m->blocks[i]);
    mem_free((void *)m->blocks);
}

static void free_thunks(Machine *m) {
    for (uint32_t i = 0; m->made && i < m->p->nins; i++)
        if (m->made[i] && m->p->ins[i].thunk->free)
            m->p->ins[i].thunk->free(m->state[i]);
    vec_free(&m->flight);
    vec_free(&m->lazy.late);
    vec_free(&m->lazy.ask);
    vec_free(&m->lazy.todo);
}

void vm_free(Machine *m) {
    if (!m) return;
    free_thunks(m);
    free_inners(m);
    free_leaves(m);
    for (uint32_t i = 0; i < m->p->nins; i++)
        prep_free(m->prep[i]);
    place_free_all(m);
    pool_free(m->own_pool);
    for (uint32_t i = 0; m->kept && i < m->p->nins; i++)
        buffer_unref(m->kept[i].buf);
    buffer_unref(m->scratch);
    buffer_unref(m->block);
    layouts_free(&m->layouts);
    arena_free(m->tmp);
    vec_free(&m->dim);
    vec_free(&m->fixed_dim);
    void *own[] = {m->cell,
                   m->kept,
                   (void *)m->box,
                   m->place_of,
                   m->dim_cell,
                   m->fast,
                   (void *)m->prep,
                   m->frame,
                   (void *)m->frame_in,
                   (void *)m->frame_type,
                   m->frame_reuse,
                   m->output,
                   m->input,
                   m->input_set,
                   m->shared,
                   m->probe,
                   m->update_place,
                   m->update_box,
                   m->lazy.flag,
                   m->lazy.moved,
                   (void *)m->state,
                   m->made,
                   m->computed,
                   m->need,
                   m->no_recycling,
                   m->done};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        mem_free(own[i]);
    mem_free(m);
}

/* ---- results ---- */
/* Copies a cell's value to storage of its own, unless its kernel has written it there.
 */
static bool copy_cell_value(Machine *m, uint32_t cell, uint32_t store, Value *out) {
    cell_value(m, cell, out);
    Tensor src = out->t;
    void *data = place_get(m, store, tensor_bytes(&src));
    if (!data) return false;
    if (src.data == data) return true;
    const Layout *l = layout_get(&m->layouts, src.dtype, src.ndim, src.shape, NULL);
    for (int i = 0; i < l->ndim; i++)
        out->t.stride[i] = l->stride[i];
    out->t.data = data;
    out->t.buf = m->place[store].buf;
    tensor_assign(&out->t, &src);
    return true;
}

/* Non-tensors are immutable, so a reference is enough: it survives an update of the
 * variable that it came from. */
static bool take_boxed(const Machine *m, const Result *r, Value *held) {
    value_unref(held);
    value_copy_view(held, m->box[r->cell]);
    return true;
}

static bool take_output(Machine *m, const Result *r, Value *out) {
    if (is_boxed(m, r->cell)) return take_boxed(m, r, out);
    if (r->copy != NONE) return copy_cell_value(m, r->cell, r->copy, out);
    cell_value(m, r->cell, out);
    return true;
}

/* Finds the new value of a shared variable, in storage that can be handed over. */
static bool ready_update(Machine *m, Result *r, uint32_t *place, Value *box) {
    if (is_boxed(m, r->cell)) return take_boxed(m, r, box);
    *place = r->copy != NONE ? r->copy : m->place_of[r->cell];
    Value v;
    if (r->copy != NONE) return copy_cell_value(m, r->cell, r->copy, &v);
    const Cell *c = &m->cell[r->cell];
    if (c->data == m->place[*place].ptr && c->layout->contiguous) return true;
    Tensor src; /* the kernel supplied its own memory: the variable gets a copy */
    cell_value(m, r->cell, &v);
    src = v.t;
    void *data = place_get(m, *place, tensor_bytes(&src));
    if (!data) return false;
    v.t.data = data;
    const Layout *l = layout_get(&m->layouts, src.dtype, src.ndim, src.shape, NULL);
    for (int i = 0; i < l->ndim; i++)
        v.t.stride[i] = l->stride[i];
    tensor_assign(&v.t, &src);
    return true;
}

static void store_boxed(Machine *m, const Result *r, Value *box) {
    Shared *h = &m->shared[r->shared];
    value_unref(&h->value);
    h->value = *box;
    *box = m->nothing;
    h->set = true;
    m->box[m->p->shared[r->shared]] = &h->value;
}

/* Hands the place's buffer to the variable and keeps the old one for the next run if
 * nobody else holds it. */
static void store_update(Machine *m, const Result *r, uint32_t place) {
    Shared *h = &m->shared[r->shared];
    Place *p = &m->place[place];
    const Layout *l = m->cell[r->cell].layout;
    l = layout_get(&m->layouts, l->dtype, l->ndim, l->shape, NULL);
    Tensor t = {.dtype = l->dtype, .ndim = l->ndim, .data = p->ptr, .buf = p->buf};
    for (int i = 0; i < l->ndim; i++) {
        t.shape[i] = l->shape[i];
        t.stride[i] = l->stride[i];
    }
    Buffer *old = h->set ? h->value.t.buf : NULL;
    if (p->buf != old) {
        bool recycle = old && h->owned && atomic_load(&old->refs) == 1 &&
                       h->value.t.data == old->data;
        if (!recycle) buffer_unref(old);
        p->buf = recycle ? old : NULL;
        p->ptr = recycle ? old->data : NULL;
        p->cap = recycle ? old->size : 0;
        p->own = recycle;
    }
    h->value.kind = m->p->sharing.cell[r->cell].type->kind;
    h->value.t = t;
    h->set = h->owned = true;
    cell_set(m, m->p->shared[r->shared], &h->value.t);
}

static bool take_run_results(Machine *m) {
    const Plan *p = m->p;
    const Sharing *h = &p->sharing;
    for (uint32_t i = 0; i < p->noutput; i++)
        if (!take_output(m, &h->output[i], &m->output[i])) return false;
    if (h->until.cell != NONE && !take_output(m, &h->until, m->until)) return false;
    for (uint32_t u = 0; u < p->nupdate; u++)
        if (!ready_update(m, &h->update[u], &m->update_place[u],
                          p->has_boxes ? &m->update_box[u] : NULL))
            return false;
    for (uint32_t u = 0; u < p->nupdate; u++) {
        if (is_boxed(m, h->update[u].cell))
            store_boxed(m, &h->update[u], &m->update_box[u]);
        else
            store_update(m, &h->update[u], m->update_place[u]);
    }
    place_free_retired(m);
    return true;
}

/* ---- running ---- */
bool vm_run(Machine *m) {
    if (m->running)
        return fail(m->s, NOWHERE, E_LIMIT, "the function %s calls itself",
                    sym_text(m->s, m->p->g->name));
    m->running = true;
    m->blame = 0;
    drop_boxed_results(m);
    bool ok = bind_leaves(m) && place_refresh_all(m);
    if (ok && m->laid) m->laid->then(m->laid->ctx);
    ok = ok && steps_run(m) && take_run_results(m);
    if (m->retired.n) place_free_retired(m);
    if (!ok) drop_boxed_results(m);
    m->running = false;
    return ok;
}

const Value *vm_output(const Machine *m, size_t i) {
    return &m->output[i];
}

const Value *vm_input(const Machine *m, size_t i) {
    return m->input_set[i] ? &m->input[i] : NULL;
}

const Value *vm_until(const Machine *m) {
    return m->p->sharing.until.cell == NONE ? NULL : m->until;
}

const Value *vm_shared(Machine *m, size_t i) {
    return bind_shared(m, (uint32_t)i) ? &m->shared[i].value : NULL;
}

const Value *vm_value(Machine *m, Var v) {
    uint32_t c = plan_cell(m->p, v);
    if (c == NONE || cell_computed(m, c) == NOT_COMPUTED ||
        (is_boxed(m, c) ? !m->box[c] : !m->cell[c].layout))
        return NULL;
    cell_value(m, c, m->probe);
    return m->probe;
}

void vm_set_hooks(Machine *m, const VmHooks *h) {
    m->hooks = h ? *h : (VmHooks){0};
    m->hooked = m->hooks.before || m->hooks.after;
    for (size_t i = 0; i < m->inners.n; i++)
        vm_set_hooks(m->inners.p[i], h);
    for (uint32_t i = 0; m->scan && i < m->p->nins; i++)
        scan_run_hooks(m->scan[i], h);
}

static void add_memory(VmMemory *r, VmMemory x) {
    r->arena += x.arena;
    r->grown += x.grown;
    r->scratch += x.scratch;
}

VmMemory vm_memory(const Machine *m) {
    VmMemory r = {.arena = m->arena && !m->borrows ? m->arena->size : 0};
    for (size_t i = 0; i < m->levels.n; i++)
        r.arena += m->levels.p[i] ? m->levels.p[i]->size : 0;
    for (size_t i = 0; i < m->nplace; i++)
        if (m->place[i].own && m->place[i].buf) r.grown += m->place[i].buf->size;
    r.scratch = (m->scratch ? m->scratch->size : 0) + (m->block ? m->block->size : 0);
    for (uint32_t i = 0; m->kept && i < m->p->nins; i++)
        r.scratch += m->kept[i].buf ? m->kept[i].buf->size : 0;
    for (size_t i = 0; i < m->inners.n; i++)
        add_memory(&r, vm_memory(m->inners.p[i]));
    for (uint32_t i = 0; m->scan && i < m->p->nins; i++)
        if (m->scan[i]) add_memory(&r, scan_run_memory(m->scan[i]));
    for (uint32_t i = 0; m->blocks && i < m->p->nins; i++)
        r.scratch += rows_block_bytes(m->blocks[i]);
    return r;
}
