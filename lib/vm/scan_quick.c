/* Steps that are nothing but a few loops over small operands, by the shortest path.
 * Once the first step has prepared the body, each loop's arguments are the same
 * pointers in every step, but for those to rows; so a step is a list of calls, and
 * cursors that go from row to row and write where they are into the calls that read
 * them. Whatever is unusual is left to the ordinary path, which finds everything as if
 * it had run the steps before: a fault, rows that need more room, the end of the
 * session's time. */
#include "vm/scan.h"

#include <string.h>

enum {
    LEAST_STEPS = 4,       /* that are worth the preparation */
    MOST_BYTES = 256 << 10 /* of broadcast elements */
};

/* Where a loop's operand is: a pointer, or a cursor's. */
typedef struct Where {
    void *ptr;
    uint32_t cursor; /* NONE: it doesn't move */
} Where;
typedef struct Cursor {
    char *at, *base;
    int64_t step, left, count; /* goes back to `base` after `left` steps, then after
                                * every `count` */
    bool turned;               /* it has */
} Cursor;
typedef struct QuickCall {
    Loop *loop; /* NULL: copies n bytes, or fills n elements of `size` */
    size_t n;
    void **arg; /* inputs, then outputs */
    uint32_t nin;
    uint32_t size; /* 0: copies */
} QuickCall;
typedef struct Patch {
    void **to;
    uint32_t cursor;
} Patch;
struct QuickSteps {
    uint32_t *of_cell, *of_place; /* cursors, NONE */
    size_t nplace;
    Vec(QuickCall) call;
    Vec(void *) arg;
    Vec(Patch) patch;
    Vec(Cursor) cursor; /* of feeds, pasts, rows */
    Buffer *reg;        /* broadcast elements */
    size_t used;        /* bytes of it */
    void **until;       /* NULL: runs all steps */
};

void scan_quick_free(QuickSteps *q) {
    if (!q) return;
    mem_free(q->of_cell);
    mem_free(q->of_place);
    vec_free(&q->call);
    vec_free(&q->arg);
    vec_free(&q->patch);
    vec_free(&q->cursor);
    buffer_unref(q->reg);
    mem_free(q);
}

size_t scan_quick_bytes(const QuickSteps *q) {
    return q && q->reg ? q->reg->size : 0;
}

/* ---- which loops ---- */

typedef struct Need { /* of a body's calls */
    size_t args, bytes;
} Need;

/* A broadcast is a call, too. */
static void need_broadcast(Need *need, uint32_t size, int64_t n) {
    need->args += 2;
    need->bytes += round_up(size * (size_t)n);
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

static bool fits_quick(const Machine *m, uint32_t step, Need *need) {
    const Ins *in = &m->p->ins[step];
    const BlockProgram *b = in->prog;
    const Prep *p = m->prep[step];
    if (!p || !p->quick) return false;
    for (uint32_t i = 0; i < b->nplain; i++)
        if (m->cell[m->p->arg[in->arg + i]].layout != p->layout[i]) return false;
    for (uint32_t i = 0; i < b->nin; i++)
        if (p->access[i] == ACC_SCALAR && p->row > 1)
            need_broadcast(need, b->size[i], p->row);
    for (uint32_t k = 0; k < b->nrun; k++)
        need->args += (size_t)b->run[k].nin + b->run[k].nout;
    return true;
}

static bool fits(const ScanRun *l, Need *need) {
    const Machine *b = l->body;
    const Plan *p = b->p;
    const PlanOptions *o = &p->o;
    if (l->m->hooked || p->lazy || p->has_boxes || p->has_thunks || p->has_overlap ||
        b->nowned || b->done || b->told || o->impl == IMPL_DEBUG || o->debugging)
        return false;
    for (uint32_t i = 0; i < p->nins; i++) {
        bool block = p->ins[i].kind == PLAN_LOOP || p->ins[i].kind == PLAN_FUSED;
        if (!block || !(b->fast[i].loop ? fits_fast : fits_quick)(b, i, need))
            return false;
    }
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        if (r->object || r->listed || !r->layout ||
            b->cell[r->cell].layout != r->layout)
            return false;
        need->args += 2;
    }
    return need->bytes <= MOST_BYTES;
}

/* ---- preparation ---- */

static QuickSteps *quick_of(ScanRun *l) {
    if (l->quick) return l->quick;
    QuickSteps *q = l->quick = mem_zalloc(l->s, 1, sizeof *q);
    uint32_t n = l->plan->ncell;
    q->of_cell = mem_alloc(l->s, n * sizeof *q->of_cell);
    memset(q->of_cell, 0xFF, n * sizeof *q->of_cell);
    for (size_t k = 0; k < l->nfeed; k++)
        q->of_cell[l->feed[k].cell] = (uint32_t)k;
    for (size_t k = 0; k < l->npast; k++)
        q->of_cell[l->past[k].cell] = (uint32_t)(l->nfeed + k);
    return q;
}

static uint32_t cursor_of_row(const ScanRun *l, size_t i) {
    return (uint32_t)(l->nfeed + l->npast + i);
}

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

static Where where_of(const QuickSteps *q, const Machine *m, uint32_t cell) {
    if (cell < m->p->nleaf) return (Where){m->cell[cell].data, q->of_cell[cell]};
    uint32_t place = m->place_of[cell];
    return (Where){m->place[place].ptr, q->of_place[place]};
}

static Where where_fixed(void *ptr) {
    return (Where){ptr, NONE};
}

static void **put_arg(ScanRun *l, Where w) {
    QuickSteps *q = l->quick;
    void **to = &q->arg.p[q->arg.n++]; /* there is room: Need */
    *to = w.ptr;
    if (w.cursor != NONE) vec_push(l->s, &q->patch, ((Patch){to, w.cursor}));
    return to;
}

static void put_copy(ScanRun *l, Where to, Where from, size_t n, uint32_t size) {
    void **arg = put_arg(l, from);
    put_arg(l, to);
    vec_push(l->s, &l->quick->call, ((QuickCall){.n = n, .arg = arg, .size = size}));
}

/* An element repeated: at once, if it stays the same, that is if nothing in a step
 * makes it. */
static Where broadcast(ScanRun *l, Where from, bool stays, uint32_t size, int64_t n) {
    QuickSteps *q = l->quick;
    Where to = where_fixed((char *)q->reg->data + q->used);
    q->used += round_up(size * (size_t)n);
    if (stays)
        block_fill(to.ptr, from.ptr, size, (size_t)n);
    else
        put_copy(l, to, from, (size_t)n, size);
    return to;
}

static bool stays(const ScanRun *l, uint32_t cell) {
    return cell < l->plan->nleaf && l->quick->of_cell[cell] == NONE;
}

static void put_fast(ScanRun *l, uint32_t step) {
    const Machine *m = l->body;
    const Fast *f = &m->fast[step];
    Where in[3];
    for (uint32_t k = 0; k < f->nin; k++) {
        in[k] = where_of(l->quick, m, f->in[k]);
        if (f->broadcast[k])
            in[k] =
                broadcast(l, in[k], stays(l, f->in[k]), f->broadcast[k], (int64_t)f->n);
    }
    QuickCall c = {.loop = f->loop, .n = f->n, .nin = f->nin};
    c.arg = l->quick->arg.p + l->quick->arg.n;
    for (uint32_t k = 0; k < f->nin; k++)
        put_arg(l, in[k]);
    put_arg(l, where_of(l->quick, m, f->out));
    vec_push(l->s, &l->quick->call, c);
}

static void put_program(ScanRun *l, uint32_t step) {
    const Machine *m = l->body;
    const Ins *in = &m->p->ins[step];
    const BlockProgram *b = in->prog;
    const Prep *p = m->prep[step];
    const uint32_t *cell = m->p->arg + in->arg;
    Where slot[QUICK_SLOTS];
    for (uint32_t i = 0; i < b->nin; i++) {
        bool own = i >= b->nplain;
        void *data = NULL;
        if (own) memcpy(&data, &p->data[i], sizeof data); /* read only */
        slot[i] = own ? where_fixed(data) : where_of(l->quick, m, cell[i]);
        if (p->access[i] == ACC_SCALAR && p->row > 1)
            slot[i] =
                broadcast(l, slot[i], own || stays(l, cell[i]), b->size[i], p->row);
    }
    for (uint32_t j = 0; j < b->nout; j++)
        slot[b->nin + j] = where_of(l->quick, m, cell[in->nin + j]);
    for (uint32_t k = 0; k < b->nreg; k++)
        slot[b->nin + b->nout + k] = where_fixed(block_quick_register(m, b, p, k));
    for (uint32_t k = 0; k < b->nrun; k++) {
        const BlockOp *op = &b->run[k];
        QuickCall c = {.loop = op->loop, .n = (size_t)p->row, .nin = op->nin};
        if (!op->loop) c.n *= program_bytes(b, b->value[op->arg]);
        c.arg = l->quick->arg.p + l->quick->arg.n;
        for (uint32_t i = 0; i < (uint32_t)op->nin + op->nout; i++)
            put_arg(l, slot[b->slot[op->arg + i]]);
        vec_push(l->s, &l->quick->call, c);
    }
}

/* Results that were not written to their rows. */
static void put_results(ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        Where from = where_of(l->quick, l->body, r->cell),
              to = {r->at, cursor_of_row(l, i)};
        if (from.cursor != to.cursor) put_copy(l, to, from, r->bytes, 0);
    }
}

/* False: steps are more than that. */
static bool prepare(ScanRun *l) {
    Need need = {.args = 1};
    if (!fits(l, &need)) return false;
    QuickSteps *q = quick_of(l);
    if (need.bytes && (!q->reg || q->reg->size < need.bytes)) {
        size_t mark = diag_count(l->s);
        buffer_unref(q->reg);
        q->reg = buffer_new(l->s, need.bytes);
        diag_rewind(l->s, mark);
        if (!q->reg) return false;
    }
    q->call.n = q->arg.n = q->patch.n = q->used = 0;
    vec_reserve(l->s, &q->arg, need.args);
    set_cursors(l, q);
    set_places(l, q);
    for (uint32_t i = 0; i < l->plan->nins; i++)
        if (l->body->fast[i].loop)
            put_fast(l, i);
        else
            put_program(l, i);
    put_results(l);
    uint32_t until = l->plan->sharing.until.cell;
    q->until = until == NONE ? NULL : put_arg(l, where_of(q, l->body, until));
    return true;
}

/* ---- steps ---- */

static void advance(QuickSteps *q) {
    for (size_t k = 0; k < q->cursor.n; k++) {
        Cursor *c = &q->cursor.p[k];
        c->at += c->step;
        if (--c->left == 0) {
            c->at = c->base;
            c->left = c->count;
            c->turned = true;
        }
    }
    for (size_t k = 0; k < q->patch.n; k++)
        *q->patch.p[k].to = q->cursor.p[q->patch.p[k].cursor].at;
}

static unsigned run_calls(const QuickSteps *q) {
    unsigned fault = 0;
    for (size_t k = 0; k < q->call.n; k++) {
        const QuickCall *c = &q->call.p[k];
        if (c->loop)
            fault |= c->loop(c->n, (const void *const *)c->arg, c->arg + c->nin);
        else if (c->size)
            block_fill(c->arg[1], c->arg[0], c->size, c->n);
        else
            memmove(c->arg[1], c->arg[0], c->n);
    }
    return fault;
}

/* How many steps there is room for, this one included. */
static int64_t room(const ScanRun *l) {
    int64_t n = l->steps - l->done;
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        if (r->count == INT64_MAX && r->room - r->pos < n) n = r->room - r->pos;
    }
    return n;
}

/* Leaves everything as the ordinary path would. */
static void give_back(ScanRun *l) {
    QuickSteps *q = l->quick;
    const Cursor *c = q->cursor.p;
    for (size_t k = 0; k < l->nfeed; k++, c++)
        l->body->cell[l->feed[k].cell].data = l->feed[k].at = c->at;
    for (size_t k = 0; k < l->npast; k++, c++) {
        Past *p = &l->past[k];
        l->body->cell[p->cell].data = p->at = c->at;
        if (p->wait > 0 && !c->turned) {
            p->wait = c->left;
        } else {
            p->wait = 0;
            p->pos = c->count - c->left;
        }
    }
    for (size_t i = 0; i < l->f.nout; i++, c++) {
        Row *r = &l->row[i];
        r->at = c->at;
        r->pos = c->count - c->left;
        if (r->pointed) l->body->place[r->place].ptr = r->at;
    }
}

QuickEnd scan_quick_steps(ScanRun *l, LoopProgress *shown) {
    if (l->steps - l->done < LEAST_STEPS || !prepare(l)) return QUICK_STUCK;
    QuickSteps *q = l->quick;
    QuickEnd end = QUICK_STUCK;
    for (int64_t n = room(l);; advance(q)) {
        if (atomic_load_explicit(l->body->late, memory_order_relaxed) || run_calls(q))
            break;
        l->done++;
        if (shown) atomic_store_explicit(&shown->done, l->done, memory_order_relaxed);
        bool over = l->done == l->steps || (q->until && *(const bool *)*q->until);
        if (over || --n == 0) {
            end = over ? QUICK_OVER : QUICK_FULL;
            break;
        }
    }
    give_back(l);
    return end;
}
