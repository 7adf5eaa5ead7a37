/* Runs one instruction. Most are loops whose operands have the same layouts as last
 * time; those cost one comparison per operand and the loop itself. */
#include "lang/print/print.h"
#include "vm/vm_impl.h"

#include <string.h>

/* ---- calls ---- */
void step_call(Machine *m, uint32_t step, Call *c) {
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    const Graph *g = m->p->g;
    const Apply *a = &g->apply[in->apply];
    *c = (Call){.s = m->s,
                .g = g,
                .id = in->apply,
                .op = a->op,
                .props = a->props,
                .nin = in->nin,
                .nout = in->nout,
                .in = m->frame_in,
                .out = m->frame + in->nin,
                .out_type = m->frame_type,
                .at = g->origin[in->apply].at,
                .host = &m->host.host};
    m->host.step = step;
    for (uint32_t k = 0; k < in->nin; k++) {
        if (cell_computed(m, arg[k]) == NOT_COMPUTED) {
            m->frame_in[k] = &m->nothing;
            continue;
        }
        bool boxed = m->p->sharing.cell[arg[k]].flags & CELL_BOXED;
        if (!boxed) cell_value(m, arg[k], &m->frame[k]);
        m->frame_in[k] = boxed ? m->box[arg[k]] : &m->frame[k];
    }
    for (uint32_t j = 0; j < in->nout; j++) {
        const Type *t = m->p->sharing.cell[arg[in->nin + j]].type;
        m->frame_type[j] = t;
        Value *v = &c->out[j];
        v->kind = t->kind;
        v->t.dtype = t->dtype;
        v->t.ndim = 0;
        v->t.data = v->t.buf = NULL;
        v->obj = NULL;
    }
}

void step_call_op(Machine *m, uint32_t step, const BlockOp *op, Call *c) {
    step_call(m, step, c);
    if (!op) return;
    c->op = op->op;
    Span at = m->p->ins[step].prog->g->origin[op->apply].at;
    if (at.source == c->at.source || !c->at.source ||
        source_is_same(m->s, at.source, c->at.source))
        c->at = at;
}

void step_outputs(Machine *m, uint32_t step, Call *c) {
    const Ins *in = &m->p->ins[step];
    for (uint32_t j = 0; j < in->nout; j++)
        cell_value(m, m->p->arg[in->arg + in->nin + j], &c->out[j]);
}

void step_no_memory(Machine *m, uint32_t cell) {
    Var v = m->p->sharing.cell[cell].var;
    ApplyId a = var_owner(m->p->g, v);
    if (a == APPLY_NONE || session_is_hushed(m->s)) return;
    Str text = STR(m->s);
    print_apply(m->p->g, a, &text);
    note(m->s, m->p->g->origin[a].at, "for the result of %s", str_text(&text));
    str_free(&text);
}

/* ---- results of kernels ---- */
static void cell_release(Machine *m, Cell *c) {
    if (!c->owned) return;
    buffer_unref(c->buf);
    c->owned = false;
    m->nowned--;
}

/* Is the value's memory an input's although the op doesn't declare a view? It would not
 * live long enough. */
static bool is_undeclared_view(const Machine *m, const Ins *in, uint32_t cell,
                               const Tensor *t) {
    const CellInfo *info = &m->p->sharing.cell[cell];
    if (info->how == PLAN_VIEW || info->flags & CELL_FROM_COPY) return false;
    for (uint32_t k = 0; k < in->nin; k++)
        if (m->cell[m->p->arg[in->arg + k]].buf == t->buf) return true;
    return false;
}

static bool copy_to_place(Machine *m, uint32_t cell, Tensor *t) {
    uint32_t place = place_of(m, cell);
    void *data = place_get(m, place, tensor_bytes(t));
    if (!data) return step_no_memory(m, cell), false;
    const Layout *l = layout_get(&m->layouts, t->dtype, t->ndim, t->shape, NULL);
    m->cell[cell] = (Cell){data, l, m->place[place].buf, false};
    Value v;
    cell_value(m, cell, &v);
    tensor_assign(&v.t, t);
    return true;
}

static bool keep_result_tensor(Machine *m, const Ins *in, uint32_t cell, Tensor *t) {
    Cell *c = &m->cell[cell];
    cell_release(m, c);
    const Place *own = &m->place[m->place_of[cell]];
    const CellInfo *info = &m->p->sharing.cell[cell];
    bool overwrites = info->how == PLAN_INPLACE || info->flags & CELL_FROM_COPY;
    if (t->buf && t->buf == own->buf && t->data == own->ptr && overwrites &&
        tensor_is_contiguous(t)) {
        buffer_unref(t->buf); /* a view of what it overwrites */
        t->buf = NULL;
    }
    if (t->buf && is_undeclared_view(m, in, cell, t)) {
        bool ok = copy_to_place(m, cell, t);
        buffer_unref(t->buf);
        return ok;
    }
    if (!layout_is(c->layout, t))
        c->layout = layout_get(&m->layouts, t->dtype, t->ndim, t->shape, t->stride);
    c->data = t->data;
    const Place *p = &m->place[m->place_of[cell]];
    if (!t->buf) { /* from vm_kernel_out, or a view of memory without a buffer */
        c->buf = t->data == p->ptr ? p->buf : NULL;
        return true;
    }
    uint32_t of = m->p->sharing.cell[cell].of;
    c->buf = t->buf;
    if (m->p->sharing.cell[cell].how == PLAN_VIEW && m->cell[of].buf == t->buf) {
        buffer_unref(t->buf); /* the viewed cell keeps it alive */
        return true;
    }
    c->owned = true;
    m->nowned++;
    return true;
}

void step_set_box(Machine *m, uint32_t cell, Value v) {
    if (!m->box[cell]) m->box[cell] = mem_zalloc(m->s, 1, sizeof(Value));
    value_unref(m->box[cell]);
    *m->box[cell] = v;
}

static bool keep_output(Machine *m, const Ins *in, uint32_t cell, Value *v) {
    if (!(m->p->sharing.cell[cell].flags & CELL_BOXED))
        return keep_result_tensor(m, in, cell, &v->t);
    step_set_box(m, cell, *v);
    return true;
}

/* ---- kernels ---- */
static const int16_t *reusable_inputs(Machine *m, const Ins *in) {
    const uint32_t *arg = m->p->arg + in->arg;
    bool any = false;
    for (uint32_t j = 0; j < in->nout; j++) {
        const CellInfo *c = &m->p->sharing.cell[arg[in->nin + j]];
        m->frame_reuse[j] = -1;
        for (uint32_t k = 0; c->how == PLAN_INPLACE && k < in->nin; k++)
            if (arg[k] == c->of && m->frame_reuse[j] < 0)
                m->frame_reuse[j] = (int16_t)k, any = true;
        int over = m->p->has_destroyers ? ins_destroys(m->p, in, j) : -1;
        if (over < 0) over = ins_copies(m->p, in, j);
        if (over >= 0) m->frame_reuse[j] = (int16_t)over, any = true;
    }
    return any ? m->frame_reuse : NULL;
}

/* ---- thunks ---- */
/* Fills in compute_map and other fields for thunks. */
static void fill_thunk_call(Machine *m, const Ins *in, Call *c) {
    const uint32_t *arg = m->p->arg + in->arg;
    c->computed = m->computed;
    c->no_recycling = m->no_recycling;
    for (uint32_t k = 0; k < in->nin; k++)
        m->computed[k] = (uint8_t)cell_computed(m, arg[k]);
    for (uint32_t j = 0; j < in->nout; j++) {
        uint32_t store = m->p->sharing.cell[arg[in->nin + j]].store;
        StoreClass cls = store == NONE ? STORE_POOL : m->p->sharing.store.p[store].cls;
        m->no_recycling[j] = cls == STORE_OUT || cls == STORE_OWN || cls == STORE_GIVEN;
    }
    if (!in->thunk->lazy) return;
    c->need = m->need;
    memset(m->need, 0, in->nin * sizeof *m->need);
}

static bool make_state(Machine *m, uint32_t step, const Call *with) {
    const Ins *in = &m->p->ins[step];
    if (m->made[step] || !in->thunk->make) return true;
    Call c = *with;
    const Value **none = mem_alloc(m->s, in->nin * sizeof(Value *));
    for (uint32_t k = 0; k < in->nin; k++)
        none[k] = &m->nothing;
    c.in = none;
    c.reuse = NULL;
    m->made[step] = in->thunk->make(&c, m->p->o.impl, &m->state[step]);
    mem_free((void *)none);
    return m->made[step];
}

static ThunkResult run_step_kernel(Machine *m, uint32_t step, Call *c) {
    const Ins *in = &m->p->ins[step];
    bool debug = plan_runs_debug(m->p, c->op);
    if (!in->thunk && m->overlaps && in->begins && !debug)
        return overlap_begin(m, step, c) ? THUNK_DONE : THUNK_FAILED;
    if (!in->thunk) {
        bool ok = debug ? c->op->debug(c) : c->op->perform(c);
        return ok ? THUNK_DONE : THUNK_FAILED;
    }
    fill_thunk_call(m, in, c);
    return make_state(m, step, c) ? in->thunk->run(m->state[step], c) : THUNK_FAILED;
}

/* A destroyer gets copies of inputs whose values are needed for longer, in the storage
 * of its results. */
static bool give_copies(Machine *m, const Ins *in) {
    for (uint32_t j = 0; j < in->nout; j++) {
        int k = ins_copies(m->p, in, j);
        if (k < 0 || m->frame_in[k] == &m->nothing) continue;
        uint32_t cell = m->p->arg[in->arg + in->nin + j];
        cell_release(m, &m->cell[cell]);
        if (!copy_to_place(m, cell, &m->frame[k].t)) return false;
        cell_value(m, cell, &m->frame[k]);
    }
    return true;
}

/* An op that keeps its storage gets back what it left there. */
static void give_kept_outputs(Machine *m, const Ins *in, Call *c) {
    for (uint32_t j = 0; j < in->nout; j++) {
        uint32_t cell = m->p->arg[in->arg + in->nin + j];
        if (m->p->sharing.cell[cell].flags & CELL_BOXED) {
            if (m->box[cell]) value_copy_view(&c->out[j], m->box[cell]);
        } else if (m->cell[cell].layout && m->p->sharing.cell[cell].how == PLAN_OWN) {
            cell_value(m, cell, &c->out[j]);
            buffer_ref(c->out[j].t.buf);
        }
    }
}

ThunkResult step_perform(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    Call c;
    step_call(m, step, &c);
    if (c.op->keeps_storage) give_kept_outputs(m, in, &c);
    c.reuse = reusable_inputs(m, in);
    m->scratch_used = 0;
    After after[AFTER_MOST];
    if (in->after && !m->hooked) after_offer(m, step, after, &c);
    ThunkResult r = THUNK_FAILED;
    if (!op_rare(c.op)->destroys || give_copies(m, in))
        r = run_step_kernel(m, step, &c);
    for (uint32_t j = 0; j < in->nout; j++) {
        uint32_t cell = m->p->arg[in->arg + in->nin + j];
        bool boxed = m->p->sharing.cell[cell].flags & CELL_BOXED;
        if (r == THUNK_DONE && !c.out[j].t.data && !boxed)
            bug("the kernel of %s made no output %u", c.op->name, j);
        if (r != THUNK_DONE)
            value_unref(&c.out[j]);
        else if (!keep_output(m, in, cell, &c.out[j]))
            r = THUNK_FAILED;
    }
    if (c.after_done && r == THUNK_DONE) after_pass_on(m, step);
    if (m->kept) m->kept[step].filled = m->kept[step].buf && r == THUNK_DONE;
    if (m->retired.n) place_free_retired(m);
    return r;
}

static void end_lives(Machine *m, const Ins *in) {
    for (uint32_t k = 0; k < in->nkill; k++) {
        uint32_t c = m->p->kill[in->kill + k];
        if (!(m->p->sharing.cell[c].flags & CELL_BOXED))
            cell_release(m, &m->cell[c]);
        else if (m->box[c])
            value_unref(m->box[c]);
    }
}

void step_end(Machine *m, uint32_t step) {
    if (m->nowned || m->p->has_boxes) end_lives(m, &m->p->ins[step]);
}

/* ---- loops ---- */
static void set_fast(Machine *m, uint32_t step, const Prep *p) {
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    if (in->kind != PLAN_LOOP || in->nin > 3 || in->nout != 1 || p->rows != 1 ||
        p->nest || p->shared || (p->nfill && p->row > p->block) || p->ntile ||
        p->stream != NONE || p->past)
        return;
    for (uint32_t k = 0; k < in->nin; k++)
        if (p->access[k] != ACC_DIRECT && p->access[k] != ACC_SCALAR) return;
    Fast *f = &m->fast[step];
    *f = (Fast){.loop = in->prog->op->loop,
                .n = (size_t)p->row,
                .out_layout = p->layout[in->nin],
                .out = arg[in->nin],
                .place = m->place_of[arg[in->nin]],
                .nin = in->nin};
    for (uint32_t k = 0; k < in->nin; k++) {
        f->in[k] = arg[k];
        f->in_layout[k] = p->layout[k];
        f->reg[k] = p->fill[k] * p->reg_bytes;
        f->broadcast[k] = p->access[k] == ACC_SCALAR ? in->prog->size[k] : 0;
    }
}

/* Broadcasts into the registers that the step was prepared with; they still exist,
 * because m->block only grows. */
static void *repeat_scalar(const Machine *m, const Fast *f, uint32_t k,
                           const void *value) {
    char *to = (char *)m->block->data + f->reg[k];
    block_fill(to, value, f->broadcast[k], f->n);
    return to;
}

/* False: not prepared for these operands. */
static inline bool run_fast(Machine *m, uint32_t step, unsigned *fault) {
    const Fast *f = &m->fast[step];
    if (!f->loop) return false;
    const void *in[3];
    for (uint32_t k = 0; k < f->nin; k++) {
        const Cell *c = &m->cell[f->in[k]];
        if (c->layout != f->in_layout[k]) return false;
        in[k] = c->data;
        if (f->broadcast[k]) in[k] = repeat_scalar(m, f, k, c->data);
    }
    const Place *p = &m->place[f->place];
    void *out = p->ptr;
    *fault = f->loop(f->n, in, &out);
    m->cell[f->out] = (Cell){out, f->out_layout, p->buf, false};
    return true;
}

static void set_layout(Value *v, const Layout *l) {
    v->kind = TYPE_TENSOR;
    v->t = (Tensor){.dtype = l->dtype, .ndim = l->ndim};
    memcpy(v->t.shape, l->shape, (size_t)l->ndim * sizeof *l->shape);
    memcpy(v->t.stride, l->stride, (size_t)l->ndim * sizeof *l->stride);
}

void block_fold_call(Machine *m, uint32_t step, const Prep *p, FoldCall *f) {
    const BlockProgram *b = m->p->ins[step].prog;
    uint32_t last = m->p->ins[step].nout - 1U;
    Call *c = &f->c;
    step_call(m, step, c);
    c->g = b->g;
    c->id = b->folded_by;
    c->op = b->fold;
    c->props = b->g->apply[c->id].props;
    c->nin = b->g->apply[c->id].nin;
    for (uint32_t k = 0; k < c->nin; k++) {
        uint32_t i = b->fold_in[k];
        bool made = k == op_rare(b->fold)->streamed;
        f->in[k] = made ? &f->made : i < b->nplain ? c->in[i] : &f->own[k];
        if (made) {
            set_layout(&f->made, p->layout[b->nin + b->folded]);
        } else if (i >= b->nplain) {
            set_layout(&f->own[k], p->layout[i]);
            memcpy(&f->own[k].t.data, &p->data[i], sizeof(void *)); /* only read */
        }
    }
    c->in = f->in;
    c->nout = 1;
    c->out += last;
    c->out_type += last;
    m->host.first = last;
}

/* A group that ends in a fold: calls its kernel, with an input that is not stored
 * anywhere. */
static bool run_block_fold(Machine *m, uint32_t step, const Prep *p) {
    const Ins *in = &m->p->ins[step];
    uint32_t cell = m->p->arg[in->arg + in->nin + in->nout - 1];
    FoldCall f;
    block_fold_call(m, step, p, &f);
    m->scratch_used = 0;
    bool ok = block_run_fold(m, step, p, &f.c);
    m->host.first = 0;
    if (!ok) return value_unref(&f.c.out[0]), false;
    return keep_output(m, in, cell, &f.c.out[0]);
}

static bool run_block(Machine *m, uint32_t step) {
    Prep **p = &m->prep[step];
    if (!*p || !prep_holds(m, step, *p)) {
        prep_free(*p);
        m->fast[step].loop = NULL;
        if (!(*p = prep_new(m, step))) return false;
        set_fast(m, step, *p);
    }
    if ((*p)->split) return run_function(m, step);
    if (m->p->ins[step].prog->fold) return run_block_fold(m, step, *p);
    if (!block_run(m, step, *p)) return false;
    if (!m->fast[step].loop) return true;
    prep_free(*p);
    *p = NULL;
    return true;
}

static bool fail_fast(Machine *m, uint32_t step, unsigned fault) {
    Prep *p = prep_new(m, step);
    if (p) block_fault(m, step, p, fault);
    prep_free(p);
    return false;
}

static bool run_slowly(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    bool ok;
    if (in->kind == PLAN_PERFORM)
        ok = step_perform(m, step) == THUNK_DONE;
    else if (in->kind == PLAN_CALL)
        ok = in->rows ? run_by_rows(m, step) : run_function(m, step);
    else if (in->kind == PLAN_SCAN)
        ok = in->shards ? run_shards(m, step) : run_scan(m, step);
    else
        ok = run_block(m, step);
    if (m->retired.n) place_free_retired(m);
    return ok;
}

static bool run_late(Machine *m, uint32_t step) {
    return session_fail_expired(m->s, m->p->g->origin[m->p->ins[step].apply].at);
}

static inline bool run_one(Machine *m, uint32_t step) {
    unsigned fault;
    if (atomic_load_explicit(m->late, memory_order_relaxed)) return run_late(m, step);
    Prep *p = m->prep[step];
    if (p && p->quick && block_quick(m, &m->p->ins[step], p, &fault))
        return fault ? block_fault(m, step, p, fault) : true;
    if (!run_fast(m, step, &fault)) return run_slowly(m, step);
    return fault ? fail_fast(m, step, fault) : true;
}

/* ---- all instructions ---- */
static bool steps_plain(Machine *m) {
    for (uint32_t i = 0; i < m->p->nins; i++) {
        if (!run_one(m, i)) return step_failed(m, i);
        step_end(m, i);
    }
    return true;
}

static bool steps_joined(Machine *m) {
    memset(m->done, 0, m->p->nins * sizeof *m->done);
    for (uint32_t i = 0; i < m->p->nins; i++) {
        if (!m->done[i] && !run_one(m, i)) return step_failed(m, i);
        step_end(m, i);
    }
    return true;
}

static bool run_watched(Machine *m, uint32_t step) {
    const VmHooks *h = &m->hooks;
    Call c;
    if (h->before) {
        step_call(m, step, &c);
        if (!h->before(h->ctx, step, &c)) return false;
    }
    double start = h->untimed ? 0 : clock_seconds();
    if (!run_one(m, step)) return step_failed(m, step);
    double end = h->untimed ? 0 : clock_seconds();
    if (!h->after) return true;
    step_call(m, step, &c);
    step_outputs(m, step, &c);
    return h->after(h->ctx, step, &c, end - start) || step_failed(m, step);
}

static bool steps_watched(Machine *m) {
    for (uint32_t i = 0; i < m->p->nins; i++) {
        if (!run_watched(m, i)) return false;
        step_end(m, i);
    }
    return true;
}

bool step_run(Machine *m, uint32_t step) {
    if (m->hooked) return run_watched(m, step);
    return run_one(m, step) || step_failed(m, step);
}

bool steps_run(Machine *m) {
    if (m->p->lazy) return lazy_run_steps(m);
    if (m->p->has_overlap && !m->hooked) return overlap_steps(m);
    if (m->told && !m->hooked) return overlap_told_steps(m);
    return m->hooked ? steps_watched(m) : m->done ? steps_joined(m) : steps_plain(m);
}

/* ---- requests of kernels ---- */
bool vm_kernel_out(Call *c, size_t i, DType d, int ndim, const int64_t *shape) {
    const VmHost *h = (const VmHost *)c->host;
    Machine *m = h->m;
    const Ins *in = &m->p->ins[h->step];
    uint32_t cell = m->p->arg[in->arg + in->nin + h->first + i];
    Tensor *t = &c->out[i].t;
    buffer_unref(t->buf);
    t->dtype = d;
    t->ndim = 0;
    t->data = t->buf = NULL;
    size_t bytes = dtype_size(d);
    for (int k = 0; k < ndim; k++)
        if (!size_mul(bytes, (size_t)shape[k], &bytes)) bytes = SIZE_MAX;
    for (int k = 0; k < ndim; k++)
        if (shape[k] == 0) bytes = 0;
    void *data = NULL;
    if (bytes < PTRDIFF_MAX) {
        const Layout *l = layout_get(&m->layouts, d, ndim, shape, NULL);
        place_fit(m, cell, l);
        if (m->p->sharing.cell[cell].flags & CELL_FROM_COPY)
            t->buf = buffer_new(m->s, bytes); /* its place is the input now */
        else
            data = place_get(m, place_of(m, cell), bytes);
        if (t->buf) data = t->buf->data;
        memcpy(t->stride, l->stride, (size_t)ndim * sizeof *shape);
        memcpy(t->shape, l->shape, (size_t)ndim * sizeof *shape);
    } else {
        place_get(m, place_of(m, cell), SIZE_MAX); /* reports that there isn't enough */
    }
    t->ndim = ndim;
    t->data = data;
    if (!data) step_no_memory(m, cell);
    return data != NULL;
}

void *vm_kernel_scratch(Call *c, size_t bytes) {
    const VmHost *h = (const VmHost *)c->host;
    Machine *m = h->m;
    size_t at = m->scratch_used, need;
    if (!size_add(at, round_up(bytes), &need)) need = SIZE_MAX;
    if (!m->scratch || m->scratch->size < need) {
        Buffer *b = buffer_new(m->s, need);
        if (!b) return NULL;
        if (m->scratch)
            vec_push(m->s, &m->retired, m->scratch); /* earlier pieces are still in
                                                      * use */
        m->scratch = b;
    }
    m->scratch_used = need;
    return (char *)m->scratch->data + at;
}

/* Much of what may be used at all is not kept. */
void *vm_kernel_keep(Call *c, size_t bytes, bool *filled) {
    const VmHost *h = (const VmHost *)c->host;
    Machine *m = h->m;
    uint64_t most = session_max_memory(m->s) / 2, used = buffer_bytes_used(m->s);
    if (!m->kept) m->kept = mem_zalloc(m->s, m->p->nins, sizeof *m->kept);
    Kept *k = &m->kept[h->step];
    if (k->buf && k->buf->size < bytes) {
        buffer_unref(k->buf);
        *k = (Kept){0};
    }
    *filled = k->filled;
    if (!k->buf && used < most && bytes < most - used) k->buf = buffer_new(m->s, bytes);
    return k->buf ? k->buf->data : NULL;
}

ApplyId vm_kernel_caller(const Call *c, const Graph **g) {
    const VmHost *h = (const VmHost *)c->host;
    const Plan *p = h->m->p;
    if (c->g != p->g) { /* a block program's */
        *g = p->g;
        return p->ins[h->step].apply;
    }
    if (!p->g->fused || !h->m->caller) return APPLY_NONE;
    *g = h->m->caller;
    return h->m->call;
}
