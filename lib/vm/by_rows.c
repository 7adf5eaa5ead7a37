/* Calls with `rows`: one machine computes the function for a block of rows after the
 * other, so that what lies between its inputs and results stays in the caches. A block
 * has as many rows as that takes, but enough of them that reading what all blocks need,
 * and adding up sums, is little beside it. Its size follows from the sizes of the
 * arguments alone: results are the same bits for any number of threads. */
#include "vm/by_rows.h"

#include "op/ranks.h"
#include "part/part.h"

enum {
    ROWS_BYTES = 512 << 10,
    ROWS_TRIES = 64,
    LOOP_ROWS = 512 /* at least: the steps of a loop take time of their own */
};

const CallRows *call_rows(const Graph *g, ApplyId id, Arena *a) {
    const Apply *ap = &g->apply[id];
    const Graph *fn = op_called_function(g, ap);
    const Prop *rows = fn ? op_prop(g->s, ap->op, ap->props, "rows") : NULL;
    const char *why;
    if (!rows || !rows->ints.n || rows->ints.n != ap->nin || fn->inputs.n != ap->nin ||
        fn->outputs.n != ap->nout)
        return NULL;
    CallRows *r = NEW(a, CallRows);
    *r = (CallRows){rows->ints.p, NEW_N(a, ap->nout + 1, int)};
    return part_by_rows(fn, a, r->in, r->out, &why) ? r : NULL;
}

/* ---- the size of a block ---- */

static uint64_t bytes_beside(const Plan *p, const CallRows *r, const Map *dims) {
    uint64_t sum = 0;
    for (size_t i = 0; i < p->g->inputs.n; i++) {
        int64_t n = type_bytes(var_type(p->g, p->g->inputs.p[i]), dims);
        if (r->in[i] < 0 && n > 0) sum += (uint64_t)n;
    }
    for (uint32_t k = 0; k < p->noutput; k++) {
        int64_t n = type_bytes(var_type(p->g, p->want[k]), dims);
        if (r->out[k] < 0 && n > 0) sum += (uint64_t)n;
    }
    return sum;
}

static bool has_loops(const Plan *p) {
    for (uint32_t i = 0; i < p->nins; i++)
        if (p->ins[i].kind == PLAN_SCAN) return true;
    return false;
}

/* As few blocks as there need be, of one size if that takes at most twice as many. */
static int64_t cut_evenly(int64_t rows, int64_t most) {
    int64_t blocks = (rows + most - 1) / most;
    for (int64_t n = blocks; n < 2 * blocks && n < blocks + ROWS_TRIES; n++)
        if (rows % n == 0) return rows / n;
    return (rows + blocks - 1) / blocks;
}

int64_t plan_block_rows(const Plan *p, const CallRows *r, size_t ndim,
                        const DimValue *dim) {
    Map dims = dim_value_map(p->s, ndim, dim);
    uint64_t rows = 0, all = plan_alive_bytes(p, &dims),
             most = bytes_beside(p, r, &dims);
    map_get(&dims, part_rows_dim(p->g, r->in), &rows);
    map_free(&dims);
    if (most < ROWS_BYTES) most = ROWS_BYTES;
    if (p->o.block_rows) return p->o.block_rows;
    if (rows < 2 || all <= most) return (int64_t)rows;
    double part = (double)rows * ((double)most / (double)all);
    int64_t least = has_loops(p) ? LOOP_ROWS : 1;
    if (rows <= (uint64_t)least) return (int64_t)rows;
    return cut_evenly((int64_t)rows, part < (double)least ? least : (int64_t)part);
}

/* ---- a call ---- */

static RowsBlock *rows_block_new(const RowsRun *w) {
    Session *s = w->m->s;
    RowsBlock *b = mem_zalloc(s, 1, sizeof *b);
    *b = (RowsBlock){.in = mem_zalloc(s, w->in->nin, sizeof *b->in),
                     .whole = mem_zalloc(s, w->in->nout, sizeof *b->whole),
                     .aim = mem_zalloc(s, w->in->nout, sizeof *b->aim)};
    return b;
}

void rows_block_free(RowsBlock *b) {
    if (!b) return;
    mem_free((void *)b->in);
    mem_free((void *)b->whole);
    mem_free(b->aim);
    rows_threads_free(b->threads);
    mem_free(b);
}

size_t rows_block_bytes(const RowsBlock *b) {
    return b ? rows_threads_bytes(b->threads) : 0;
}

/* The sizes that the arguments give to the dims of the function. */
static size_t dims_of_arguments(const RowsRun *w, DimValue *dim) {
    const Graph *fn = w->in->fn;
    size_t n = 0;
    for (uint32_t i = 0; i < w->in->nin; i++) {
        const Type *t = var_type(fn, fn->inputs.p[i]);
        if (t->kind != TYPE_TENSOR) continue;
        const Layout *l = w->m->cell[w->arg[i]].layout;
        for (int k = 0; k < t->ndim; k++)
            if (dim_is_named(t->dim[k]))
                dim[n++] = (DimValue){dim_sym(t->dim[k]), l->shape[k]};
    }
    return n;
}

static const Layout *layout_by_dims(const RowsRun *w, const Type *t, const Map *dims) {
    int64_t shape[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++) {
        uint64_t size = (uint64_t)t->dim[k];
        if (!dim_is_known(t->dim[k]) &&
            !(dim_is_named(t->dim[k]) && map_get(dims, dim_sym(t->dim[k]), &size)))
            return NULL;
        shape[k] = (int64_t)size;
    }
    const Layout *l = layout_get(&w->m->layouts, t->dtype, t->ndim, shape, NULL);
    return l->bytes < PTRDIFF_MAX ? l : NULL;
}

static void choose_block(RowsRun *w) {
    Machine *m = w->m;
    if (!m->blocks) m->blocks = mem_zalloc(m->s, m->p->nins, sizeof(RowsBlock *));
    if (!m->blocks[w->step]) m->blocks[w->step] = rows_block_new(w);
    RowsBlock *b = w->block = m->blocks[w->step];
    bool same = b->chosen > 0;
    for (uint32_t i = 0; i < w->in->nin; i++) {
        const Layout *l = m->cell[w->arg[i]].layout;
        same &= b->in[i] == l;
        b->in[i] = l;
    }
    if (same) return;
    DimValue *dim = mem_alloc(m->s, ((size_t)w->in->nin * MAX_NDIM + 1) * sizeof *dim);
    size_t n = dims_of_arguments(w, dim);
    Map dims = dim_value_map(m->s, n, dim);
    b->rows = plan_block_rows(w->sub->p, w->in->rows, n, dim);
    b->chosen++;
    for (uint32_t k = 0; k < w->in->nout; k++)
        b->whole[k] = layout_by_dims(w, var_type(w->in->fn, w->sub->p->want[k]), &dims);
    map_free(&dims);
    mem_free(dim);
}

/* -1: arguments have different numbers of rows, as the function itself will report. */
static int64_t rows_of_arguments(const RowsRun *w) {
    int64_t rows = -1;
    for (uint32_t i = 0; i < w->in->nin; i++) {
        int64_t axis = w->in->rows->in[i];
        if (axis < 0) continue;
        int64_t n = w->m->cell[w->arg[i]].layout->shape[axis];
        if (rows >= 0 && n != rows) return -1;
        rows = n;
    }
    return rows;
}

/* ---- results that are written where they belong ---- */

static bool make_room(const RowsRun *w, uint32_t cell, const Layout *l) {
    Machine *m = w->m;
    void *data = place_get(m, m->place_of[cell], l->bytes);
    if (!data) return step_no_memory(m, cell), false;
    m->cell[cell] = (Cell){data, l, m->place[m->place_of[cell]].buf, false};
    return true;
}

static bool make_known_room(const RowsRun *w) {
    for (uint32_t k = 0; k < w->in->nout; k++)
        if (w->block->whole[k] &&
            !make_room(w, w->arg[w->in->nin + k], w->block->whole[k]))
            return false;
    return true;
}

/* Only storage that belongs to the output alone can be put elsewhere. */
static bool can_aim(const RowsRun *w, uint32_t k) {
    const Sharing *h = &w->sub->p->sharing;
    const Result *r = &h->output[k];
    const CellInfo *c = &h->cell[r->cell];
    for (uint32_t j = 0; j < k; j++)
        if (h->output[j].cell == r->cell) return false;
    return r->copy == NONE && c->store != NONE && h->store.p[c->store].cls == STORE_OWN;
}

void rows_aim(const RowsRun *w, int64_t at, int64_t n) {
    for (uint32_t k = 0; k < w->in->nout; k++) {
        const Layout *l = w->block->whole[k];
        Aim *aim = &w->aim[k];
        bool all = n == w->rows, rows = w->in->rows->out[k] == 0;
        *aim = (Aim){0};
        if (!l || !(all || rows) || l->bytes == 0 || !can_aim(w, k)) continue;
        size_t row = all ? 0 : l->bytes / (size_t)w->rows;
        char *data = w->m->cell[w->arg[w->in->nin + k]].data;
        *aim = (Aim){data + (size_t)at * row, all ? l->bytes : (size_t)n * row};
    }
}

static Place *place_of_output(const RowsRun *w, uint32_t k) {
    return &w->sub->place[w->sub->place_of[w->sub->p->sharing.output[k].cell]];
}

void rows_point(const RowsRun *w) {
    for (uint32_t k = 0; k < w->in->nout; k++) {
        const Aim *aim = &w->aim[k];
        if (!aim->data) continue;
        Place *p = place_of_output(w, k);
        if (p->own && p->buf) vec_push(w->m->s, &w->sub->retired, p->buf);
        p->own = false;
        p->buf = NULL;
        p->ptr = aim->data;
        p->cap = aim->bytes;
    }
}

void rows_free_places(const RowsRun *w) {
    for (uint32_t k = 0; k < w->in->nout; k++) {
        Place *p = place_of_output(w, k);
        if (!w->aim[k].data || p->own) continue;
        p->ptr = NULL;
        p->buf = NULL;
        p->cap = 0;
    }
}

/* The storage may have been laid out anew for the sizes of this block. */
static void point_again(void *ctx) {
    rows_point(ctx);
    place_free_retired(((const RowsRun *)ctx)->sub);
}

/* ---- running ---- */

void rows_take(Tensor *t, int64_t axis, int64_t at, int64_t n) {
    t->data = (char *)t->data + at * t->stride[axis];
    t->shape[axis] = n;
}

static bool set_block(const RowsRun *w, int64_t at, int64_t n) {
    for (uint32_t i = 0; i < w->in->nin; i++) {
        Value v;
        cell_value(w->m, w->arg[i], &v);
        if (w->in->rows->in[i] >= 0) rows_take(&v.t, w->in->rows->in[i], at, n);
        v.t.buf = NULL; /* borrowed, as by a call */
        if (!vm_set_input(w->sub, i, &v)) return false;
    }
    return true;
}

static void add_block(const RowsRun *w, uint32_t cell, const Tensor *t) {
    void *sum = w->m->cell[cell].data;
    ranks_combine(w->m->s, OP_ADD, t->dtype, (size_t)tensor_size(t), sum, t->data, sum);
}

void rows_place(const RowsRun *w, uint32_t k, const Tensor *t, int64_t at, int64_t n) {
    int axis = w->in->rows->out[k];
    if (w->aim[k].data && t->data == w->aim[k].data && tensor_is_contiguous(t)) return;
    Value part;
    cell_value(w->m, w->arg[w->in->nin + k], &part);
    if (axis >= 0) rows_take(&part.t, axis, at, n);
    tensor_assign(&part.t, t);
}

bool rows_add(const RowsRun *w, uint32_t k, const Tensor *t, int64_t at) {
    uint32_t cell = w->arg[w->in->nin + k];
    Tensor copy = {0};
    if (!at) return rows_place(w, k, t, 0, w->rows), true;
    if (tensor_is_contiguous(t)) return add_block(w, cell, t), true;
    bool ok = tensor_clone(w->m->s, t, &copy);
    if (ok) add_block(w, cell, &copy);
    tensor_unref(&copy);
    return ok;
}

/* A result of unknown shape, as the first block shows it. */
static bool make_room_like(const RowsRun *w, uint32_t cell, const Tensor *t, int axis) {
    int64_t shape[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++)
        shape[k] = k == axis ? w->rows : t->shape[k];
    return make_room(w, cell,
                     layout_get(&w->m->layouts, t->dtype, t->ndim, shape, NULL));
}

static bool take_result(const RowsRun *w, uint32_t k, int64_t at, int64_t n) {
    uint32_t cell = w->arg[w->in->nin + k];
    const Tensor *t = &vm_output(w->sub, k)->t;
    int axis = w->in->rows->out[k];
    if (!at && !w->block->whole[k] && !make_room_like(w, cell, t, axis)) return false;
    if (axis < 0) return rows_add(w, k, t, at);
    return rows_place(w, k, t, at, n), true;
}

static bool run_block(RowsRun *w, int64_t at, int64_t n, int64_t i) {
    Machine *sub = w->sub;
    const LaidOut then = {point_again, w};
    if (!set_block(w, at, n)) return false;
    rows_aim(w, at, n);
    if (sub->laid_out) rows_point(w);
    sub->laid = &then;
    bool ok = run_inside(w->m, w->step, sub, i, vm_run);
    sub->laid = NULL;
    for (uint32_t k = 0; ok && k < w->in->nout; k++)
        ok = take_result(w, k, at, n);
    if (sub->laid_out) rows_free_places(w);
    return ok;
}

static bool run_blocks(RowsRun *w) {
    Machine *m = w->m;
    RowsBlock *b = w->block;
    Span at = m->p->g->origin[w->in->apply].at;
    int64_t block = b->rows < w->rows ? b->rows : w->rows, from = 0;
    bool cut = block < w->rows;
    if (!make_known_room(w)) return false;
    if (cut && b->ran) from = rows_share(w, 0);
    while (from < w->rows || w->rows == 0) {
        int64_t n = w->rows - from < block ? w->rows - from : block;
        if (!run_block(w, from, n, cut ? from / block : -1))
            return cut ? note(m->s, at, "called here, for the rows from %lld on",
                              (long long)from)
                       : note(m->s, at, "called here");
        if (w->rows == 0) return true;
        from += n;
        if (cut && !b->ran) from = rows_share(w, from);
        b->ran = true;
    }
    return true;
}

bool run_by_rows(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    RowsRun w = {.m = m,
                 .sub = function_machine(m, in),
                 .step = step,
                 .in = in,
                 .arg = m->p->arg + in->arg};
    if (!w.sub) return false;
    if (w.sub->running) return vm_run(w.sub); /* reports the recursion */
    w.rows = rows_of_arguments(&w);
    w.sub->level = m->level + 1;
    if (w.rows < 0) return run_function(m, step);
    choose_block(&w);
    w.aim = w.block->aim;
    return run_blocks(&w);
}
