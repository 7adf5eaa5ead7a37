/* The calls of the shortest path of steps (scan_quick.h), once the first step has
 * prepared the body. Loops are called directly; of kernels, those that can say how they
 * would do their work again (Call.redo) are; views need no call, as they move with what
 * they view. Other instructions run as ever in between: cells that they read are
 * followed like arguments, and what reads their results is told where those are. */
#include "vm/scan_quick.h"

#include <string.h>

enum {
    ASKS_MOST = 4,          /* inputs of a kernel */
    OWN_BYTES = 1024,       /* most of a broadcast element that are kept */
    MOST_BYTES = 128 << 10, /* of the loop's own memory */
};

/* ---- which loops ---- */

typedef struct Need { /* of a body's calls */
    size_t args, bytes;
} Need;

/* A few elements can be kept; many are written each time to the register that steps
 * share, which is a call, too. */
static bool is_kept(uint32_t size, int64_t n) {
    return n <= OWN_BYTES / (int64_t)size;
}

static void need_broadcast(Need *need, uint32_t size, int64_t n) {
    need->args += 2;
    if (is_kept(size, n)) need->bytes += round_up(size * (size_t)n);
}

static bool fits_fast(const Machine *m, uint32_t step, Need *need) {
    const Fast *f = &m->fast[step];
    for (uint32_t k = 0; k < f->nin; k++)
        if (m->cell[f->in[k]].layout != f->in_layout[k]) return false;
    for (uint32_t k = 0; k < f->nin; k++)
        if (f->broadcast[k]) need_broadcast(need, f->broadcast[k], (int64_t)f->n);
    need->args += f->nin + 1;
    return true;
}

static size_t folded_bytes(const BlockProgram *b, const Prep *p) {
    return b->fold ? p->layout[b->nin + b->folded]->bytes : 0;
}

static bool fits_program(const Machine *m, uint32_t step, Need *need) {
    const Ins *in = &m->p->ins[step];
    const BlockProgram *b = in->prog;
    const Prep *p = m->prep[step];
    if (!p || p->chunks != 1 || p->split || p->ntile || p->stream != NONE || p->past)
        return false;
    for (uint32_t i = 0; i < b->nplain; i++)
        if (m->cell[m->p->arg[in->arg + i]].layout != p->layout[i]) return false;
    for (uint32_t i = 0; i < b->nin; i++)
        if (p->access[i] == ACC_SCALAR && p->row > 1)
            need_broadcast(need, b->size[i], p->row);
    for (uint32_t k = 0; k < b->nrun; k++)
        need->args += (size_t)b->run[k].nin + b->run[k].nout;
    need->args += (size_t)b->nin + b->nout + 2;
    need->bytes += round_up(folded_bytes(b, p));
    return true;
}

/* Does nothing in a step make it? */
static bool stays(const ScanRun *l, uint32_t cell) {
    return cell < l->plan->nleaf && l->quick->of_cell[cell] == NONE;
}

/* A view whose place depends on nothing else. */
static bool is_fixed_view(const ScanRun *l, const Ins *in) {
    const uint32_t *arg = l->plan->arg + in->arg;
    for (uint32_t j = 0; j < in->nout; j++) {
        const CellInfo *c = &l->plan->sharing.cell[arg[in->nin + j]];
        if (c->how != PLAN_VIEW || c->of == NONE || !l->quick->viewed) return false;
        for (uint32_t k = 0; k < in->nin; k++)
            if (arg[k] != c->of && !stays(l, arg[k])) return false;
    }
    return true;
}

static bool fits_perform(const ScanRun *l, uint32_t i, Need *need) {
    const Ins *in = &l->plan->ins[i];
    const Op *op = l->plan->g->apply[in->apply].op;
    if (op->from || op->plugin) return false;
    need->args += (size_t)in->nin + in->nout;
    return (op_rare(op)->redo && in->nout == 1 && in->nin <= ASKS_MOST) ||
           is_fixed_view(l, in);
}

/* Has an instruction a shorter way than the ordinary one? */
static bool fits_step(const ScanRun *l, uint32_t i, Need *need) {
    const Ins *in = &l->plan->ins[i];
    if (in->kind == PLAN_PERFORM) return fits_perform(l, i, need);
    bool block = in->kind == PLAN_LOOP || in->kind == PLAN_FUSED;
    if (!block || (in->prog->fold && !op_rare(in->prog->fold)->redo)) return false;
    return (l->body->fast[i].loop ? fits_fast : fits_program)(l->body, i, need);
}

/* May it run between others? Its kernel must not do what comes after it. */
static bool fits_between(const Ins *in) {
    return !in->thunk && !in->begins && !in->after;
}

static bool fits(const ScanRun *l, bool *shorter, Need *need) {
    const Machine *b = l->body;
    const Plan *p = b->p;
    const PlanOptions *o = &p->o;
    uint32_t n = 0;
    if (p->lazy || p->has_boxes || p->has_thunks || p->has_overlap || p->g->effects.n ||
        b->told || o->impl == IMPL_DEBUG || o->debugging)
        return false;
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        if (r->object || r->listed || !r->layout ||
            b->cell[r->cell].layout != r->layout)
            return false;
        need->args += 2;
    }
    for (uint32_t i = 0; i < p->nins; i++) {
        Need more = *need;
        shorter[i] = fits_step(l, i, &more) && more.bytes <= MOST_BYTES;
        if (shorter[i]) *need = more, n++;
        if (!shorter[i] && !fits_between(&p->ins[i])) return false;
    }
    return n > 0 || p->nins == 0;
}

/* ---- preparation ---- */

static void set_cursors(ScanRun *l, QuickSteps *q) {
    q->cursor.n = 0;
    vec_reserve(l->s, &q->cursor, l->nfeed + l->npast + l->f.nout);
    for (size_t k = 0; k < l->nfeed; k++)
        vec_push(l->s, &q->cursor,
                 ((Cursor){
                     .at = l->feed[k].at, .step = l->feed[k].step, .left = INT64_MAX}));
    for (size_t k = 0; k < l->npast; k++) {
        const Past *p = &l->past[k];
        const Row *r = p->of;
        vec_push(l->s, &q->cursor,
                 ((Cursor){.at = p->at,
                           .base = r->base,
                           .step = (int64_t)r->bytes,
                           .left = p->wait > 0 ? p->wait : r->count - p->pos,
                           .count = r->count}));
    }
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        vec_push(l->s, &q->cursor,
                 ((Cursor){.at = r->at,
                           .base = r->base,
                           .step = (int64_t)r->bytes,
                           .left = r->count - r->pos,
                           .count = r->count}));
    }
}

/* What a row's result is written to moves with the row, and so does whatever shares
 * that storage. */
static void set_places(ScanRun *l, QuickSteps *q) {
    size_t n = l->body->nplace;
    if (q->nplace < n) {
        q->of_place = mem_realloc(l->s, q->of_place, n, sizeof *q->of_place);
        q->nplace = n;
    }
    memset(q->of_place, 0xFF, n * sizeof *q->of_place);
    for (size_t i = 0; i < l->f.nout; i++)
        if (l->row[i].pointed) q->of_place[l->row[i].place] = cursor_of_row(l, i);
}

Where quick_where(const QuickSteps *q, const Machine *m, uint32_t cell) {
    int64_t offset = 0;
    while (q->of_cell[cell] == NONE && cell >= m->p->nleaf &&
           m->p->sharing.cell[cell].how == PLAN_VIEW) {
        offset += q->view[cell];
        cell = m->p->sharing.cell[cell].of;
    }
    if (cell < m->p->nleaf || q->of_cell[cell] != NONE)
        return (Where){(char *)m->cell[cell].data + offset, q->of_cell[cell], offset};
    uint32_t place = m->place_of[cell];
    return (Where){m->place[place].ptr + offset, q->of_place[place], offset};
}

static Where where_fixed(void *ptr) {
    return (Where){ptr, NONE, 0};
}

Where quick_own_data(const Prep *p, uint32_t i) {
    void *data;
    memcpy(&data, &p->data[i], sizeof data); /* read only */
    return where_fixed(data);
}

/* Keeps a pointer to an operand up to date. */
static void follow(ScanRun *l, void **to, Where w) {
    QuickSteps *q = l->quick;
    *to = w.ptr;
    if (w.cursor == NONE) return;
    if (w.cursor < q->cursor.n) {
        vec_push(l->s, &q->patch, ((Patch){to, w.cursor, w.offset}));
        return;
    }
    Made *of = &q->made.p[w.cursor - q->cursor.n];
    vec_push(l->s, &q->later, ((Patch){to, of->patch, w.offset}));
    of->patch = (uint32_t)q->later.n - 1;
}

static void **put_arg(ScanRun *l, Where w) {
    void **to = &l->quick->arg.p[l->quick->arg.n++]; /* there is room: Need */
    follow(l, to, w);
    return to;
}

static void **next_arg(const ScanRun *l) {
    return l->quick->arg.p + l->quick->arg.n;
}

static void put_copy(ScanRun *l, Where to, Where from, size_t n, uint32_t size) {
    QuickCall c = {.kind = size ? QUICK_FILL : QUICK_COPY,
                   .n = n,
                   .size = size,
                   .arg = next_arg(l)};
    put_arg(l, from);
    put_arg(l, to);
    vec_push(l->s, &l->quick->call, c);
}

/* Memory of the loop's own. */
static char *take_bytes(ScanRun *l, size_t bytes) {
    QuickSteps *q = l->quick;
    q->used += round_up(bytes);
    return (char *)q->reg->data + q->used - round_up(bytes);
}

/* An element repeated: at once, if it stays the same and has memory of its own. */
static Where broadcast(ScanRun *l, Where from, bool same, uint32_t size, int64_t n,
                       void *shared) {
    bool kept = is_kept(size, n);
    Where to = where_fixed(kept ? take_bytes(l, size * (size_t)n) : shared);
    if (same && kept)
        block_fill(to.ptr, from.ptr, size, (size_t)n);
    else
        put_copy(l, to, from, (size_t)n, size);
    return to;
}

static uint32_t float_bytes(DType d, uint32_t size) {
    return dtype_is_float(d) && (size == 0 || dtype_size(d) == size)
               ? (uint32_t)dtype_size(d)
               : 0;
}

/* The bytes of a loop's elements, if they are floats of one size. */
static uint32_t fast_bytes(const Fast *f) {
    uint32_t size = float_bytes(f->out_layout->dtype, 0);
    for (uint32_t k = 0; size && k < f->nin; k++)
        size = float_bytes(f->in_layout[k]->dtype, size);
    return size;
}

static uint32_t loop_bytes(const BlockProgram *b, const BlockOp *op) {
    uint32_t size = 0;
    for (uint32_t i = 0; i < (uint32_t)op->nin + op->nout; i++) {
        size = float_bytes(var_type(b->g, b->var[b->value[op->arg + i]])->dtype, size);
        if (size == 0) break;
    }
    return size;
}

static void put_fast(ScanRun *l, uint32_t step) {
    const Machine *m = l->body;
    const Fast *f = &m->fast[step];
    Where in[3];
    for (uint32_t k = 0; k < f->nin; k++) {
        in[k] = quick_where(l->quick, m, f->in[k]);
        if (f->broadcast[k])
            in[k] = broadcast(l, in[k], stays(l, f->in[k]), f->broadcast[k],
                              (int64_t)f->n, (char *)m->block->data + f->reg[k]);
    }
    QuickCall c = {.kind = QUICK_LOOP,
                   .loop = f->loop,
                   .n = f->n,
                   .nin = f->nin,
                   .size = fast_bytes(f),
                   .arg = next_arg(l)};
    for (uint32_t k = 0; k < f->nin; k++)
        put_arg(l, in[k]);
    put_arg(l, quick_where(l->quick, m, f->out));
    vec_push(l->s, &l->quick->call, c);
}

/* Op by op, over one block. */
static void put_loops(ScanRun *l, uint32_t step, void *folded) {
    const Machine *m = l->body;
    const Ins *in = &m->p->ins[step];
    const BlockProgram *b = in->prog;
    const Prep *p = m->prep[step];
    const uint32_t *cell = m->p->arg + in->arg;
    Where slot[QUICK_SLOTS];
    for (uint32_t i = 0; i < b->nin; i++) {
        bool own = i >= b->nplain;
        slot[i] = own ? quick_own_data(p, i) : quick_where(l->quick, m, cell[i]);
        if (p->access[i] == ACC_SCALAR && p->row > 1)
            slot[i] =
                broadcast(l, slot[i], own || stays(l, cell[i]), b->size[i], p->row,
                          block_quick_register(m, b, p, b->nreg + p->fill[i]));
    }
    for (uint32_t j = 0; j < b->nout; j++)
        slot[b->nin + j] = j < b->nplaced ? quick_where(l->quick, m, cell[in->nin + j])
                                          : where_fixed(folded);
    for (uint32_t k = 0; k < b->nreg; k++)
        slot[b->nin + b->nout + k] = where_fixed(block_quick_register(m, b, p, k));
    for (uint32_t k = 0; k < b->nrun; k++) {
        const BlockOp *op = &b->run[k];
        QuickCall c = {.kind = op->loop ? QUICK_LOOP : QUICK_COPY,
                       .loop = op->loop,
                       .n = (size_t)p->row,
                       .nin = op->nin,
                       .size = op->loop ? loop_bytes(b, op) : 0,
                       .arg = next_arg(l)};
        if (!op->loop) c.n *= program_bytes(b, b->value[op->arg]);
        for (uint32_t i = 0; i < (uint32_t)op->nin + op->nout; i++)
            put_arg(l, slot[b->slot[op->arg + i]]);
        vec_push(l->s, &l->quick->call, c);
    }
}

static void put_block(ScanRun *l, uint32_t step, void *folded) {
    const Machine *m = l->body;
    const Ins *in = &m->p->ins[step];
    const BlockProgram *b = in->prog;
    const Prep *p = m->prep[step];
    const uint32_t *cell = m->p->arg + in->arg;
    bool hidden = b->nplaced < b->nout;
    QuickCall c = {.kind = QUICK_BLOCK,
                   .prog = b,
                   .prep = p,
                   .folded = hidden ? folded : NULL,
                   .arg = next_arg(l)};
    for (uint32_t i = 0; i < b->nin; i++)
        put_arg(l, i < b->nplain ? quick_where(l->quick, m, cell[i])
                                 : quick_own_data(p, i));
    for (uint32_t j = 0; j < b->nplaced; j++)
        put_arg(l, quick_where(l->quick, m, cell[in->nin + j]));
    if (hidden) put_arg(l, where_fixed(folded));
    vec_push(l->s, &l->quick->call, c);
}

/* The kernel for a Call, whose inputs have any values as yet. False: it has none. */
static bool put_kernel(ScanRun *l, Call *c, size_t nin, const Where *in, Where out) {
    QuickCall call = {.kind = QUICK_REDO, .nin = (uint32_t)nin, .arg = next_arg(l)};
    size_t mark = diag_count(l->s);
    c->redo = &call.redo;
    l->body->scratch_used = 0;
    bool ok = c->op->perform(c) && !c->out[0].t.buf && c->out[0].t.data == out.ptr;
    value_unref(&c->out[0]);
    diag_rewind(l->s, mark);
    if (!ok || !call.redo.run) return mem_free(call.redo.how), false;
    for (size_t i = 0; i < nin; i++)
        put_arg(l, in[i]);
    put_arg(l, out);
    vec_push(l->s, &l->quick->call, call);
    return true;
}

/* What reduces the elements that a program has made. */
static bool put_fold(ScanRun *l, uint32_t step, void *folded) {
    Machine *m = l->body;
    const Ins *in = &m->p->ins[step];
    const BlockProgram *b = in->prog;
    const uint32_t *out = m->p->arg + in->arg + in->nin;
    Where from = b->folded < b->nplaced ? quick_where(l->quick, m, out[b->folded])
                                        : where_fixed(folded);
    FoldCall f;
    block_fold_call(m, step, m->prep[step], &f);
    f.made.t.data = from.ptr;
    return op_rare(f.c.op)->redo &&
           put_kernel(l, &f.c, 1, &from, quick_where(l->quick, m, out[in->nout - 1]));
}

static bool put_program(ScanRun *l, uint32_t step) {
    const BlockProgram *b = l->plan->ins[step].prog;
    const Prep *p = l->body->prep[step];
    size_t bytes = folded_bytes(b, p);
    void *folded = bytes ? take_bytes(l, bytes) : NULL;
    if (folded) memset(folded, 0, bytes);
    if (block_is_single(b, p))
        put_loops(l, step, folded);
    else
        put_block(l, step, folded);
    if (!b->fold) return true;
    bool ok = put_fold(l, step, folded);
    l->body->host.first = 0;
    return ok;
}

/* A view needs nothing done; a kernel is asked how it would do it again. */
static bool put_perform(ScanRun *l, uint32_t step) {
    Machine *m = l->body;
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    if (is_fixed_view(l, in)) return true;
    Where at[ASKS_MOST];
    Call c;
    step_call(m, step, &c);
    for (uint32_t k = 0; k < in->nin; k++) {
        at[k] = quick_where(l->quick, m, arg[k]);
        m->frame[k].t.data = at[k].ptr;
    }
    return put_kernel(l, &c, in->nin, at, quick_where(l->quick, m, arg[in->nin]));
}

/* What an instruction reads is in its cells, whichever way it was made. */
static void keep_cell(ScanRun *l, uint32_t cell) {
    Machine *m = l->body;
    const QuickSteps *q = l->quick;
    if (cell < m->p->nleaf ? q->of_cell[cell] == NONE : q->of_cell[cell] != NONE)
        return;
    Where w = quick_where(q, m, cell);
    if (cell >= m->p->nleaf && m->p->sharing.cell[cell].how != PLAN_VIEW)
        m->cell[cell].buf = m->place[m->place_of[cell]].buf;
    follow(l, &m->cell[cell].data, w);
}

static void put_ordinary(ScanRun *l, uint32_t step) {
    QuickSteps *q = l->quick;
    const Machine *m = l->body;
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    for (uint32_t k = 0; k < in->nin; k++)
        keep_cell(l, arg[k]);
    vec_push(l->s, &q->call,
             ((QuickCall){.kind = QUICK_STEP, .n = step, .size = (uint32_t)q->made.n}));
    for (uint32_t j = 0; j < in->nout; j++) {
        uint32_t cell = arg[in->nin + j];
        q->of_cell[cell] = (uint32_t)(q->cursor.n + q->made.n);
        vec_push(l->s, &q->made, ((Made){cell, NONE, m->cell[cell].layout}));
    }
}

static bool put_step(ScanRun *l, uint32_t i, bool shorter) {
    if (shorter && l->plan->ins[i].kind == PLAN_PERFORM && put_perform(l, i))
        return true;
    if (shorter && l->plan->ins[i].kind != PLAN_PERFORM) {
        if (!l->body->fast[i].loop) return put_program(l, i);
        put_fast(l, i);
        return true;
    }
    put_ordinary(l, i);
    return fits_between(&l->plan->ins[i]);
}

/* Results that were not written to their rows. */
static void put_results(ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        Where from = quick_where(l->quick, l->body, r->cell),
              to = {r->at, cursor_of_row(l, i), 0};
        if (from.cursor != to.cursor || from.offset) put_copy(l, to, from, r->bytes, 0);
    }
}

void quick_clear(QuickSteps *q) {
    for (size_t k = 0; k < q->call.n; k++)
        mem_free(q->call.p[k].redo.how);
    for (size_t k = 0; k < q->made.n; k++)
        q->of_cell[q->made.p[k].cell] = NONE;
    q->call.n = q->arg.n = q->patch.n = q->later.n = q->made.n = q->used = 0;
}

static bool take_memory(ScanRun *l, size_t bytes) {
    QuickSteps *q = l->quick;
    if (bytes == 0 || (q->reg && q->reg->size >= bytes)) return true;
    size_t mark = diag_count(l->s);
    buffer_unref(q->reg);
    q->reg = buffer_new(l->s, bytes);
    diag_rewind(l->s, mark);
    return q->reg;
}

static bool put_steps(ScanRun *l, const bool *shorter) {
    for (uint32_t i = 0; i < l->plan->nins; i++)
        if (!put_step(l, i, shorter[i])) return false;
    put_results(l);
    uint32_t until = l->plan->sharing.until.cell;
    l->quick->until =
        until == NONE ? NULL : put_arg(l, quick_where(l->quick, l->body, until));
    return true;
}

/* False: no steps can be run so. */
bool quick_prepare(ScanRun *l) {
    Need need = {.args = 1};
    QuickSteps *q = l->quick;
    quick_clear(q);
    bool *shorter = mem_zalloc(l->s, l->plan->nins + 1, sizeof *shorter);
    bool ok = fits(l, shorter, &need) && take_memory(l, need.bytes);
    if (ok) {
        vec_reserve(l->s, &q->arg, need.args);
        set_cursors(l, q);
        set_places(l, q);
        ok = put_steps(l, shorter);
    }
    mem_free(shorter);
    return ok;
}
