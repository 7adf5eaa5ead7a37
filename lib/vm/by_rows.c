/* Calls with `rows`: one machine computes the function for a block of rows after the
 * other, so that what lies between its inputs and results stays in the caches. A block
 * has as many rows as that takes, but enough of them that reading what all blocks need,
 * and adding up sums, is little beside it. Its size follows from the sizes of the
 * arguments alone: results are the same bits for any number of threads. */
#include "op/ranks.h"
#include "part/part.h"
#include "vm/vm_impl.h"

enum { ROWS_BYTES = 512 << 10, ROWS_TRIES = 64 };

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
    if (rows < 2 || all <= most) return (int64_t)rows;
    double part = (double)rows * ((double)most / (double)all);
    return cut_evenly((int64_t)rows, part < 1 ? 1 : (int64_t)part);
}

/* ---- running ---- */

typedef struct RowsRun {
    Machine *m, *sub;
    uint32_t step;
    const Ins *in;
    const uint32_t *arg;
    int64_t rows, block;
} RowsRun;

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

static void choose_block(RowsRun *w) {
    Machine *m = w->m;
    if (!m->blocks) m->blocks = mem_zalloc(m->s, m->p->nins, sizeof *m->blocks);
    RowsBlock *b = &m->blocks[w->step];
    uint64_t key = 0;
    for (uint32_t i = 0; i < w->in->nin; i++)
        key = hash_mix(key, (uintptr_t)m->cell[w->arg[i]].layout);
    if (!b->rows || b->key != key) {
        DimValue *dim = mem_alloc(m->s, (size_t)w->in->nin * MAX_NDIM * sizeof *dim);
        size_t n = dims_of_arguments(w, dim);
        b->rows = plan_block_rows(w->sub->p, w->in->rows, n, dim);
        b->key = key;
        mem_free(dim);
    }
    w->block = b->rows;
}

/* -1: arguments have different numbers of rows, as the call itself will report. */
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

static void take_rows(Tensor *t, int64_t axis, int64_t at, int64_t n) {
    t->data = (char *)t->data + at * t->stride[axis];
    t->shape[axis] = n;
}

static bool set_block(const RowsRun *w, int64_t at, int64_t n) {
    for (uint32_t i = 0; i < w->in->nin; i++) {
        Value v;
        cell_value(w->m, w->arg[i], &v);
        if (w->in->rows->in[i] >= 0) take_rows(&v.t, w->in->rows->in[i], at, n);
        v.t.buf = NULL; /* borrowed, as by a call */
        if (!vm_set_input(w->sub, i, &v)) return false;
    }
    return true;
}

/* Room for the results of all rows, in the shape that the first block shows. */
static bool make_room(const RowsRun *w, uint32_t cell, const Tensor *t, int axis) {
    Machine *m = w->m;
    int64_t shape[MAX_NDIM];
    for (int k = 0; k < t->ndim; k++)
        shape[k] = k == axis ? w->rows : t->shape[k];
    const Layout *l = layout_get(&m->layouts, t->dtype, t->ndim, shape, NULL);
    void *data = place_get(m, m->place_of[cell], l->bytes);
    if (!data) return step_no_memory(m, cell), false;
    m->cell[cell] = (Cell){data, l, m->place[m->place_of[cell]].buf, false};
    return true;
}

static void add_block(const RowsRun *w, uint32_t cell, const Tensor *t) {
    void *sum = w->m->cell[cell].data;
    ranks_combine(w->m->s, OP_ADD, t->dtype, (size_t)tensor_size(t), sum, t->data, sum);
}

static bool add_result(const RowsRun *w, uint32_t cell, const Tensor *t) {
    Tensor copy = {0};
    if (tensor_is_contiguous(t)) return add_block(w, cell, t), true;
    bool ok = tensor_clone(w->m->s, t, &copy);
    if (ok) add_block(w, cell, &copy);
    tensor_unref(&copy);
    return ok;
}

static bool take_result(const RowsRun *w, uint32_t k, int64_t at, int64_t n) {
    uint32_t cell = w->arg[w->in->nin + k];
    const Value *v = vm_output(w->sub, k);
    int axis = w->in->rows->out[k];
    if (axis < 0)
        return at ? add_result(w, cell, &v->t) : function_result(w->m, cell, v);
    if (!at && !make_room(w, cell, &v->t, axis)) return false;
    Value part;
    cell_value(w->m, cell, &part);
    take_rows(&part.t, axis, at, n);
    tensor_assign(&part.t, &v->t);
    return true;
}

static bool run_blocks(RowsRun *w) {
    Machine *m = w->m;
    for (int64_t at = 0, i = 0; at < w->rows; at += w->block, i++) {
        int64_t n = w->rows - at < w->block ? w->rows - at : w->block;
        if (!set_block(w, at, n)) return false;
        if (!run_inside(m, w->step, w->sub, i, vm_run))
            return note(m->s, m->p->g->origin[w->in->apply].at,
                        "called here, for the rows from %lld on", (long long)at);
        for (uint32_t k = 0; k < w->in->nout; k++)
            if (!take_result(w, k, at, n)) return false;
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
    w.rows = rows_of_arguments(&w);
    if (w.sub->running || w.rows < 2) return run_function(m, step);
    choose_block(&w);
    if (w.block >= w.rows) return run_function(m, step);
    w.sub->level = m->level + 1;
    return run_blocks(&w);
}
