/* Loops. One machine runs the body of a scan, planned once, step after step, without
 * the setup and cleanup of an ordinary run: only pointers change between steps. Rows of
 * sequences are read in place; results are written directly into the scan's output rows
 * or, if only the last ones are kept, into a ring of rows; later steps read them
 * through pointers.
 *
 * A state of which only the last value is kept and whose next value can be computed in
 * its storage has a single row, the result's own: a step that changes a few elements
 * copies none.
 *
 * Requirements. (1) All rows of a state have one layout, contiguous, the initial ones
 * too, so that what was prepared for the first step holds for all. (2) A ring has room
 * for the rows that a step reads and for the one that it writes, unless that one
 * overwrites the other. (3) A result whose storage the machine can't choose (a view, an
 * input, a constant, memory supplied by a kernel) is copied to its row. */
#include "vm/scan.h"

#include <string.h>

enum { GROW_ROWS = 64, GROW_BYTES = 1 << 16 };

/* ---- setup ---- */

static void list_inputs(ScanRun *l) {
    const ScanForm *f = &l->f;
    const uint32_t *input = l->plan->input;
    l->feed = NEW_N(l->arena, f->nin, Feed);
    l->past = NEW_N(l->arena, f->nin, Past);
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            l->feed[l->nfeed++].cell = input[f->seq[i].in + k];
    for (size_t i = 0; i < f->nout; i++)
        for (size_t k = 0; k < f->out[i].ntap && !l->row[i].object; k++)
            l->past[l->npast++] = (Past){.cell = input[f->out[i].in + k],
                                         .of = &l->row[i],
                                         .tap = f->out[i].tap[k]};
}

/* The number of rows in an output's ring. */
static int64_t ring_rows(const ScanOut *o) {
    int64_t kept = o->keep > 0 ? o->keep : 1, read = o->depth + 1;
    return o->ntap && read > kept ? read : kept;
}

/* Rows replace its results. */
static Plan *plan_body(const Machine *m, const ScanForm *f, Arena *a) {
    ScanState *state = NEW_N(a, f->nout, ScanState);
    PlanOptions o = {.own_results = true,
                     .nstate = scan_last_states(f, state),
                     .state = state,
                     .loop = arena_copy(a, f, sizeof *f)};
    return plan_function(m, f->fn, &o);
}

static ScanRun *scan_run_new(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    if (m->depth >= CALL_DEPTH) {
        session_too_deep(m->s, m->p->g->origin[in->apply].at);
        return NULL;
    }
    Arena *a = arena_new(m->s);
    ScanForm f = scan_form_of(m->p->g, in->apply, a);
    Plan *p = plan_body(m, &f, a);
    if (!p) return arena_free(a), NULL;
    ScanRun *l = mem_zalloc(m->s, 1, sizeof *l);
    *l = (ScanRun){.s = m->s, .arena = a, .f = f, .plan = p, .m = m, .step = step};
    l->arg = m->p->arg + in->arg;
    l->body = machine_new(p, m->depth + 1, m);
    vm_set_hooks(l->body, &m->hooks);
    l->row = NEW_N(l->arena, l->f.nout, Row);
    for (size_t i = 0; i < l->f.nout; i++) {
        uint32_t cell = p->sharing.output[i].cell;
        l->row[i] = (Row){.cell = cell, .out = l->arg[in->nin + i]};
        if (m->p->sharing.cell[l->row[i].out].flags & CELL_AFTER)
            l->row[i].before = l->f.out[i].depth;
        l->row[i].object = p->sharing.cell[cell].flags & CELL_BOXED;
        l->row[i].sure = scan_is_sure(&l->f, i);
        l->row[i].over = plan_overwrites_state(p, i);
        l->row[i].listed =
            !l->row[i].object && m->p->sharing.cell[l->row[i].out].flags & CELL_BOXED;
    }
    list_inputs(l);
    return l;
}

void scan_run_free(ScanRun *l) {
    if (!l) return;
    scan_drop_objects(l);
    for (size_t i = 0; i < l->f.nout; i++) {
        buffer_unref(l->row[i].ring);
        buffer_unref(l->row[i].start);
    }
    scan_shared_free(l->shared);
    scan_quick_free(l->quick);
    vm_free(l->body);
    plan_free(l->plan);
    arena_free(l->arena);
    mem_free(l);
}

void scan_run_hooks(ScanRun *l, const VmHooks *h) {
    if (l) vm_set_hooks(l->body, h);
}

VmMemory scan_run_memory(const ScanRun *l) {
    VmMemory r = vm_memory(l->body);
    r.grown += scan_shared_bytes(l->shared);
    r.scratch += scan_quick_bytes(l->quick);
    for (size_t i = 0; i < l->f.nout; i++) {
        if (l->row[i].ring) r.grown += l->row[i].ring->size;
        if (l->row[i].start) r.grown += l->row[i].start->size;
    }
    return r;
}

/* ---- storage of rows ---- */

static bool no_rows(ScanRun *l, const Row *r) {
    return step_no_memory(l->m, r->out), false;
}

/* A buffer of at least that size, owned by the loop. */
static bool own_buffer(ScanRun *l, const Row *r, Buffer **b, size_t bytes) {
    if (*b && (*b)->size >= bytes) return true;
    buffer_unref(*b);
    *b = buffer_new(l->s, bytes ? bytes : 1);
    return *b || no_rows(l, r);
}

static size_t rows_bytes(const Row *r, int64_t rows) {
    size_t n;
    return size_mul(r->bytes, (size_t)rows, &n) && n < PTRDIFF_MAX ? n : SIZE_MAX;
}

/* Room for so many rows of a result, of the step's own and of initial ones; NULL:
 * there isn't enough. */
static char *result_rows(ScanRun *l, const Row *r, int64_t rows) {
    int64_t all = rows > INT64_MAX - r->before ? INT64_MAX : rows + r->before;
    char *to = place_get(l->m, l->m->place_of[r->out], rows_bytes(r, all));
    return to ? to + (size_t)r->before * r->bytes : NULL;
}

/* Allocates the rows: all of them, a single one, or a ring. */
static bool take_rows(ScanRun *l, Row *r, const ScanOut *o) {
    r->count = INT64_MAX;
    if (o->keep == SCAN_ALL && !r->listed) {
        r->room = l->steps;
        if (l->f.fn->until != VAR_NONE) {
            int64_t first = r->bytes ? (int64_t)(GROW_BYTES / r->bytes) : GROW_ROWS;
            if (first < GROW_ROWS) first = GROW_ROWS;
            if (r->room > first) r->room = first;
        }
        if (!(r->base = result_rows(l, r, r->room))) return no_rows(l, r);
    } else if (r->over) {
        r->room = r->count = 1;
        if (!(r->base = result_rows(l, r, 1))) return no_rows(l, r);
    } else {
        r->room = r->count = ring_rows(o);
        if (!own_buffer(l, r, &r->ring, rows_bytes(r, r->room))) return false;
        r->base = r->ring->data;
    }
    r->at = r->base;
    r->pos = 0;
    return true;
}

/* Doubles the rows of a loop that may end early and started with a few. */
static bool grow_rows(ScanRun *l, Row *r) {
    int64_t room = r->room > l->steps / 2 ? l->steps : 2 * r->room;
    char *old = r->base;
    char *base = result_rows(l, r, room);
    if (!base) return no_rows(l, r);
    if (base != old) memcpy(base, old, rows_bytes(r, r->room));
    place_free_retired(l->m);
    r->base = base;
    r->room = room;
    r->at = base + (size_t)r->pos * r->bytes;
    for (size_t k = 0; k < l->npast; k++)
        if (l->past[k].of == r && l->past[k].wait == 0)
            l->past[k].at = base + (size_t)l->past[k].pos * r->bytes;
    return true;
}

/* ---- the body's storage ---- */

/* Redirects a result's place to its row while the loop runs. */
static void point_to_row(ScanRun *l, Row *r) {
    Place *p = &l->body->place[r->place];
    if (!r->pointed) {
        r->saved = *p;
        r->pointed = true;
    } else if (p->own) {
        vec_push(l->s, &l->body->retired, p->buf); /* a kernel needed more */
    }
    p->own = false;
    p->buf = NULL;
    p->ptr = r->at;
    p->cap = r->bytes ? r->bytes : 1;
}

static void restore_place(ScanRun *l, Row *r) {
    if (!r->pointed) return;
    Place *p = &l->body->place[r->place];
    if (p->own && p->buf) vec_push(l->s, &l->body->retired, p->buf);
    size_t want = p->want;
    *p = r->saved;
    p->want = want;
    r->pointed = false;
}

/* Only storage that belongs to the output alone can be redirected. */
static bool can_point(const ScanRun *l, size_t i) {
    const Sharing *h = &l->plan->sharing;
    const CellInfo *c = &h->cell[h->output[i].cell];
    return h->output[i].copy == NONE && c->store != NONE && !(c->flags & CELL_BOXED);
}

/* If a lazy instruction moves a result away, other values of its old place keep writing
 * there. */
static bool leave_place(ScanRun *l, Row *r) {
    size_t want = l->body->place[r->place].want;
    restore_place(l, r);
    return want == 0 || place_get(l->body, r->place, want);
}

static bool point_all(ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        Row *r = &l->row[i];
        if (!r->layout || !can_point(l, i)) continue;
        uint32_t place = l->body->place_of[r->cell];
        if (r->pointed && r->place != place && !leave_place(l, r)) return false;
        r->place = place;
        point_to_row(l, r);
    }
    return true;
}

/* ---- before the first step ---- */

static const Layout *input_layout(const ScanRun *l, size_t arg) {
    return l->m->cell[l->arg[arg]].layout;
}

static bool check_rows(ScanRun *l) {
    Call c;
    step_call(l->m, l->step, &c);
    return scan_check_rows(&c, &l->f, l->steps);
}

static bool set_input(ScanRun *l, size_t input, const Layout *x, void *data, int from) {
    Value v = {.kind = l->plan->sharing.cell[l->plan->input[input]].type->kind};
    v.t = (Tensor){.dtype = x->dtype, .ndim = x->ndim - from, .data = data};
    for (int k = from; k < x->ndim; k++) {
        v.t.shape[k - from] = x->shape[k];
        v.t.stride[k - from] = x->stride[k];
    }
    return vm_set_input(l->body, input, &v);
}

static bool set_sequences(ScanRun *l) {
    Feed *q = l->feed;
    for (size_t i = 0; i < l->f.nseq; i++) {
        const ScanSeq *seq = &l->f.seq[i];
        const Cell *c = &l->m->cell[l->arg[seq->arg]];
        for (size_t k = 0; k < seq->ntap; k++, q++) {
            q->step = c->layout->stride[0];
            q->at = (char *)c->data + (seq->tap[k] - seq->low) * q->step;
            if (!set_input(l, seq->in + k, c->layout, q->at, 1)) return false;
        }
    }
    return true;
}

/* Makes the initial rows contiguous, and sets the layout that all rows must have. */
static bool begin_state(ScanRun *l, size_t i) {
    const ScanOut *o = &l->f.out[i];
    Row *r = &l->row[i];
    const Cell *c = &l->m->cell[l->arg[o->arg]];
    const Layout *x = c->layout;
    int from = !scan_one_row(o);
    r->layout =
        layout_get(&l->body->layouts, x->dtype, x->ndim - from, x->shape + from, NULL);
    r->bytes = r->layout->bytes;
    r->init = c->data;
    if (x->contiguous) return true;
    if (!own_buffer(l, r, &r->start, x->bytes)) return false;
    const Layout *whole = layout_get(&l->m->layouts, x->dtype, x->ndim, x->shape, NULL);
    Tensor to = {.dtype = x->dtype, .ndim = x->ndim, .data = r->start->data}, src = to;
    src.data = c->data;
    for (int k = 0; k < x->ndim; k++) {
        to.shape[k] = src.shape[k] = x->shape[k];
        to.stride[k] = whole->stride[k];
        src.stride[k] = x->stride[k];
    }
    tensor_assign(&to, &src);
    r->init = r->start->data;
    return true;
}

/* The first step overwrites it. */
static void take_initial(Row *r) {
    if (r->bytes) memcpy(r->base, r->init, r->bytes);
    r->init = r->base;
}

static bool set_states(ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        l->row[i].layout = NULL;
        if (l->f.out[i].ntap == 0) continue;
        if (l->row[i].object ? !scan_begin_object(l, i) : !begin_state(l, i))
            return false;
        if (!l->row[i].object && !take_rows(l, &l->row[i], &l->f.out[i])) return false;
        if (l->row[i].over) take_initial(&l->row[i]);
    }
    Past *q = l->past;
    for (size_t i = 0; i < l->f.nout; i++)
        for (size_t k = 0; k < l->f.out[i].ntap && !l->row[i].object; k++, q++) {
            const ScanOut *o = &l->f.out[i];
            q->wait = -q->tap;
            q->at = q->of->init + (size_t)(o->depth + q->tap) * q->of->bytes;
            if (!set_input(l, o->in + k, q->of->layout, q->at, 0)) return false;
        }
    return true;
}

static bool set_others(ScanRun *l) {
    for (size_t k = 0; k < l->f.nother; k++) {
        Value v;
        cell_value(l->m, l->arg[l->f.other_arg + k], &v);
        v.t.buf = NULL; /* borrowed for the run */
        if (!vm_set_input(l->body, l->f.other_in + k, &v)) return false;
    }
    return true;
}

/* ---- a step ---- */

static void advance_past(Past *q) {
    const Row *r = q->of;
    if (q->wait > 0) {
        q->at += r->bytes;
        if (--q->wait > 0) return;
        q->at = r->base;
        q->pos = 0;
    } else if (++q->pos == r->count) {
        q->at = r->base;
        q->pos = 0;
    } else {
        q->at += r->bytes;
    }
}

static bool advance_step(ScanRun *l) {
    for (size_t i = 0; i < l->nfeed; i++) {
        l->feed[i].at += l->feed[i].step;
        l->body->cell[l->feed[i].cell].data = l->feed[i].at;
    }
    for (size_t i = 0; i < l->f.nout; i++) {
        Row *r = &l->row[i];
        if (r->object) {
            if (l->f.out[i].ntap) bind_input(l->body, l->f.out[i].in, &r->now);
            continue;
        }
        r->at += r->bytes;
        if (++r->pos == r->count) {
            r->at = r->base;
            r->pos = 0;
        } else if (r->pos == r->room && !grow_rows(l, r)) {
            return false;
        }
        if (!r->pointed) continue;
        Place *p = &l->body->place[r->place];
        if (p->own)
            point_to_row(l, r);
        else
            p->ptr = r->at;
    }
    for (size_t i = 0; i < l->npast; i++) {
        advance_past(&l->past[i]);
        l->body->cell[l->past[i].cell].data = l->past[i].at;
    }
    return true;
}

static bool other_shape(ScanRun *l, const Row *r, size_t i, const Value *v) {
    Call c;
    Str was = STR(l->s), is = STR(l->s);
    layout_shape_text(r->layout, &was);
    shape_text(l->s, v->t.ndim, v->t.shape, &is);
    step_call(l->m, l->step, &c);
    scan_other_shape(&c, &l->f, i, str_text(&was), str_text(&is), l->done);
    str_free(&was);
    str_free(&is);
    return false;
}

/* Copies a result that was not written to its row. */
static bool copy_row(ScanRun *l, size_t i) {
    Row *r = &l->row[i];
    const Sharing *h = &l->plan->sharing;
    Value v;
    cell_value(l->body, h->output[i].cell, &v);
    if (!r->layout) {
        r->layout = layout_get(&l->body->layouts, v.t.dtype, v.t.ndim, v.t.shape, NULL);
        r->bytes = r->layout->bytes;
        if (!take_rows(l, r, &l->f.out[i])) return false;
    }
    bool same = v.t.ndim == r->layout->ndim;
    for (int k = 0; same && k < v.t.ndim; k++)
        same = v.t.shape[k] == r->layout->shape[k];
    if (!same) return other_shape(l, r, i, &v);
    Tensor to = v.t;
    to.data = r->at;
    for (int k = 0; k < v.t.ndim; k++)
        to.stride[k] = r->layout->stride[k];
    tensor_assign(&to, &v.t);
    return true;
}

static inline bool take_results(ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        if (r->object) {
            if (!scan_take_object(l, i)) return false;
            continue;
        }
        const Cell *c = &l->body->cell[r->cell];
        if (r->listed && !scan_list_row(l, i)) return false;
        bool same = c->layout == r->layout && r->layout;
        if (same && c->data == r->at) continue;
        if (same) /* as the rows are, so it has no gaps either */
            memmove(r->at, c->data, r->bytes);
        else if (!copy_row(l, i))
            return false;
    }
    return true;
}

static bool is_until_true(const ScanRun *l) {
    uint32_t cell = l->plan->sharing.until.cell;
    return cell != NONE && *(const bool *)l->body->cell[cell].data;
}

static bool note_step(ScanRun *l) {
    Span at = l->m->p->g->origin[l->m->p->ins[l->step].apply].at;
    return note(l->s, at, "in step %lld of %lld of %s, which runs %s",
                (long long)l->done, (long long)l->steps,
                at.source ? "the loop here" : "a loop",
                sym_text(l->s, l->plan->g->name));
}

/* Shows how far the loop is, unless another one around it does. */
static LoopProgress *show_loop(const ScanRun *l) {
    LoopProgress *p = session_loop(l->s);
    if (atomic_load_explicit(&p->steps, memory_order_relaxed)) return NULL;
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    atomic_store_explicit(&p->steps, l->steps, memory_order_relaxed);
    return p;
}

static bool run_one_step(ScanRun *l, LoopProgress *shown) {
    if (!run_inside(l->m, l->step, l->body, l->done, steps_run)) return note_step(l);
    if (!take_results(l)) return false;
    l->done++;
    if (shown) atomic_store_explicit(&shown->done, l->done, memory_order_relaxed);
    return true;
}

static bool run_shown_steps(ScanRun *l, LoopProgress *shown) {
    double start = scan_may_share(l) ? clock_seconds() : -1;
    if (!run_one_step(l, shown)) return false;
    if (l->done == l->steps || is_until_true(l)) return true;
    if (start >= 0 && scan_share_steps(l, clock_seconds() - start, shown)) return true;
    scan_quick_begin(l);
    if (!point_all(l)) return false; /* the first step decided */
    for (bool quick = true;;) {
        if (!advance_step(l)) return false;
        QuickEnd end = quick ? scan_quick_steps(l, shown) : QUICK_STUCK;
        if (end == QUICK_OVER) return true;
        if (end == QUICK_FAILED) return note_step(l);
        quick = end == QUICK_FULL;
        if (quick) continue;
        if (!run_one_step(l, shown)) return false;
        if (l->done == l->steps || is_until_true(l)) return true;
    }
}

static bool run_steps(ScanRun *l) {
    LoopProgress *shown = show_loop(l);
    bool ok = run_shown_steps(l, shown);
    if (shown) atomic_store_explicit(&shown->steps, 0, memory_order_relaxed);
    return ok;
}

static bool run_body(ScanRun *l) {
    Machine *b = l->body;
    if (!set_sequences(l) || !set_states(l) || !set_others(l)) return false;
    b->running = true;
    bool ok = bind_leaves(b) && place_refresh_all(b);
    ok = ok && point_all(l) && run_steps(l);
    for (size_t i = 0; i < l->f.nout; i++)
        restore_place(l, &l->row[i]);
    place_free_retired(b);
    b->running = false;
    return ok;
}

/* ---- results ---- */

/* A dim of the body, from the loop's inputs; -1: unknown. */
static int64_t dim_of_body(const ScanRun *l, Dim d) {
    const ScanForm *f = &l->f;
    if (dim_is_known(d)) return d;
    for (size_t k = 0; dim_is_named(d) && k < f->nin; k++) {
        const Type *t = var_type(f->fn, f->fn->inputs.p[k]);
        size_t arg = scan_arg(f, k);
        const Layout *x = input_layout(l, arg);
        for (int i = 0; t->kind == TYPE_TENSOR && i < t->ndim; i++)
            if (t->dim[i] == d) return x->shape[x->ndim - t->ndim + i];
    }
    return -1;
}

/* Storage for the next values of states, which a loop of no steps doesn't have. */
static bool own_states(ScanRun *l) {
    bool ok = true;
    for (size_t i = 0; ok && i < l->f.nout; i++)
        if (l->row[i].over)
            ok = place_get(l->body, l->body->place_of[l->row[i].cell], l->row[i].bytes);
    return ok;
}

/* Runs a step on the first row of each sequence, or on zeros, only to learn the
 * results' shapes. False: it failed, which is not reported. */
static bool try_step(ScanRun *l) {
    Machine *b = l->body;
    Buffer *zero = NULL;
    size_t mark = diag_count(l->s), most = 1;
    for (size_t i = 0; i < l->f.nseq; i++) {
        const Layout *x = input_layout(l, l->f.seq[i].arg);
        size_t row = dtype_size(x->dtype);
        for (int k = 1; k < x->ndim; k++)
            row *= (size_t)(x->shape[k] ? x->shape[k] : 1);
        if (row > most) most = row;
    }
    bool ok = l->f.fn->effects.n == 0 && (zero = buffer_new(l->s, most));
    if (ok) memset(zero->data, 0, most);
    for (size_t i = 0; ok && i < l->f.nseq; i++) {
        const Layout *x = input_layout(l, l->f.seq[i].arg);
        const Layout *row =
            layout_get(&b->layouts, x->dtype, x->ndim - 1, x->shape + 1, NULL);
        for (size_t k = 0; ok && k < l->f.seq[i].ntap; k++)
            ok = set_input(l, l->f.seq[i].in + k, row, zero->data, 0);
    }
    vm_set_hooks(b, NULL);
    ok = ok && set_others(l) && bind_leaves(b) && place_refresh_all(b) &&
         own_states(l) && steps_run(b);
    vm_set_hooks(b, &l->m->hooks);
    place_free_retired(b);
    diag_rewind(l->s, mark);
    buffer_unref(zero);
    return ok;
}

/* The layout of a row if no step ran. */
static const Layout *absent_row(ScanRun *l, size_t i) {
    const Type *t = var_type(l->f.fn, l->f.fn->outputs.p[i].var);
    int64_t shape[MAX_NDIM];
    bool known = true;
    for (int k = 0; k < t->ndim; k++) {
        shape[k] = dim_of_body(l, t->dim[k]);
        known &= shape[k] >= 0;
        if (shape[k] < 0) shape[k] = 0;
    }
    if (!known && try_step(l)) {
        const Layout *made = l->body->cell[l->row[i].cell].layout;
        memcpy(shape, made->shape, (size_t)t->ndim * sizeof *shape);
    }
    return layout_get(&l->body->layouts, t->dtype, t->ndim, shape, NULL);
}

static bool set_result(ScanRun *l, const Row *r, void *data, int64_t rows) {
    const Layout *x = r->layout;
    int64_t shape[MAX_NDIM];
    int lead = rows >= 0;
    shape[0] = rows;
    for (int k = 0; k < x->ndim; k++)
        shape[lead + k] = x->shape[k];
    const Place *p = &l->m->place[l->m->place_of[r->out]];
    const Layout *whole =
        layout_get(&l->m->layouts, x->dtype, x->ndim + lead, shape, NULL);
    l->m->cell[r->out] = (Cell){data, whole, p->buf, false};
    return true;
}

static bool last_value(ScanRun *l, Row *r, const ScanOut *o, size_t i) {
    if (l->done == 0 && o->ntap == 0) return scan_no_last(l, i);
    const char *from = l->done ? r->at : r->init + (size_t)(o->depth - 1) * r->bytes;
    char *to = place_get(l->m, l->m->place_of[r->out], r->bytes);
    if (!to) return no_rows(l, r);
    if (to != from) memcpy(to, from, r->bytes);
    return set_result(l, r, to, -1);
}

/* Puts the last rows of a ring in order. */
static bool last_rows(ScanRun *l, Row *r, int64_t keep) {
    int64_t n = keep < l->done ? keep : l->done, at = r->pos - (n - 1);
    char *to = place_get(l->m, l->m->place_of[r->out], rows_bytes(r, n));
    if (!to) return no_rows(l, r);
    if (at < 0) at += r->count;
    for (int64_t k = 0; k < n; k++) {
        memcpy(to + (size_t)k * r->bytes, r->base + (size_t)at * r->bytes, r->bytes);
        if (++at == r->count) at = 0;
    }
    return set_result(l, r, to, n);
}

/* Without a step nobody has looked whether the initial value has a shape that steps
 * give. */
static bool forget_initial_shape(ScanRun *l, size_t i) {
    Row *r = &l->row[i];
    Call c;
    if (l->done > 0 || !r->layout || scan_row_fits(&l->f, i, r->layout->shape))
        return true;
    if (l->f.out[i].keep == SCAN_LAST) {
        step_call(l->m, l->step, &c);
        return scan_fail_initial(&c, &l->f, i, r->layout->shape);
    }
    r->layout = NULL;
    return true;
}

static bool give_result(ScanRun *l, size_t i) {
    const ScanOut *o = &l->f.out[i];
    Row *r = &l->row[i];
    if (r->object || r->listed) return scan_give_object(l, i);
    if (!forget_initial_shape(l, i)) return false;
    if (!r->layout) {
        r->layout = absent_row(l, i);
        r->bytes = r->layout->bytes;
        if (!take_rows(l, r, o)) return false;
    }
    if (o->keep == SCAN_LAST) return last_value(l, r, o, i);
    if (o->keep > 0) return last_rows(l, r, o->keep);
    return set_result(l, r, r->base, l->done);
}

bool run_scan(Machine *m, uint32_t step) {
    if (!m->scan) m->scan = mem_zalloc(m->s, m->p->nins, sizeof *m->scan);
    if (!m->scan[step] && !(m->scan[step] = scan_run_new(m, step))) return false;
    ScanRun *l = m->scan[step];
    l->body->level = m->level;
    const Cell *n = &m->cell[l->arg[0]];
    memcpy(&l->steps, n->data, sizeof l->steps);
    l->done = 0;
    bool ok = check_rows(l) && (l->steps > 0 ? run_body(l) : set_states(l));
    for (size_t i = 0; ok && i < l->f.nout; i++)
        ok = give_result(l, i);
    scan_drop_objects(l);
    return ok;
}
