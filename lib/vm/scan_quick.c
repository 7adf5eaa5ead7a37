/* Steps that are nothing but a few loops over small operands, by the shortest path.
 * Once the first step has prepared the body, each loop's arguments are the same
 * pointers in every step, but for those to rows; so a step is a list of calls, and
 * cursors that go from row to row and write where they are into the calls that read
 * them. Whatever is unusual is left to the ordinary path, which finds everything as if
 * it had run the steps before: a fault, rows that need more room, the end of the
 * session's time. */
#include "vm/scan_quick.h"

#include <string.h>

enum { LEAST_STEPS = 4 }; /* that are worth the preparation */

void scan_quick_free(QuickSteps *q) {
    if (!q) return;
    quick_clear(q);
    mem_free(q->of_cell);
    mem_free(q->of_place);
    mem_free(q->view);
    vec_free(&q->call);
    vec_free(&q->arg);
    vec_free(&q->patch);
    vec_free(&q->later);
    vec_free(&q->made);
    vec_free(&q->cursor);
    buffer_unref(q->reg);
    mem_free(q);
}

size_t scan_quick_bytes(const QuickSteps *q) {
    return q && q->reg ? q->reg->size : 0;
}

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
    q->view = mem_zalloc(l->s, n, sizeof *q->view);
    return q;
}

static bool pays(const ScanRun *l) {
    return l->steps - l->done >= LEAST_STEPS && !l->m->hooked;
}

/* How far views are from what they view. */
void scan_quick_begin(ScanRun *l) {
    if (!pays(l)) return;
    const Machine *m = l->body;
    QuickSteps *q = quick_of(l);
    q->viewed = true;
    for (uint32_t cell = m->p->nleaf; cell < m->p->ncell; cell++) {
        const CellInfo *c = &m->p->sharing.cell[cell];
        if (c->how != PLAN_VIEW || c->flags & CELL_BOXED || c->of == NONE) continue;
        const Cell *v = &m->cell[cell];
        q->viewed &= !v->owned && v->data && v->data != m->place[m->place_of[cell]].ptr;
        q->view[cell] = (char *)v->data - (char *)m->cell[c->of].data;
    }
}

/* ---- steps ---- */

typedef enum Ran {
    RAN,
    RAN_STUCK, /* the step has to be run again, in the ordinary way */
    RAN_FAILED
} Ran;

void quick_advance(Cursor *c, size_t n) {
    for (const Cursor *end = c + n; c < end; c++) {
        c->at += c->step;
        if (--c->left == 0) {
            c->at = c->base;
            c->left = c->count;
            c->turned = true;
        }
    }
}

static void advance(QuickSteps *q) {
    quick_advance(q->cursor.p, q->cursor.n);
    for (size_t k = 0; k < q->patch.n; k++)
        *q->patch.p[k].to = q->cursor.p[q->patch.p[k].cursor].at + q->patch.p[k].offset;
}

/* An instruction that runs as ever finds the places of rows where they are now. If
 * memory moves, pointers to it are no longer right. */
static Ran run_step(ScanRun *l, const QuickCall *c) {
    QuickSteps *q = l->quick;
    Machine *m = l->body;
    uint32_t step = (uint32_t)c->n;
    const Cursor *row = q->cursor.p + cursor_of_row(l, 0);
    for (size_t i = 0; i < l->f.nout; i++)
        if (l->row[i].pointed) m->place[l->row[i].place].ptr = row[i].at;
    size_t moved = m->moved;
    const Buffer *block = m->block;
    if (!step_run(m, step)) return RAN_FAILED;
    step_end(m, step);
    if (m->moved != moved || m->block != block) return RAN_STUCK;
    for (uint32_t j = 0; j < m->p->ins[step].nout; j++) {
        const Made *r = &q->made.p[c->size + j];
        const Cell *v = &m->cell[r->cell];
        if (v->layout != r->layout) return RAN_STUCK;
        for (uint32_t k = r->patch; k != NONE; k = q->later.p[k].cursor)
            *q->later.p[k].to = (char *)v->data + q->later.p[k].offset;
    }
    return RAN;
}

static unsigned run_block(const Machine *m, const QuickCall *c) {
    const BlockProgram *b = c->prog;
    const Prep *p = c->prep;
    size_t pointers = round_up((size_t)(b->nin + b->nout) * sizeof(void *));
    BlockRun r = {b, p, (char *)m->block->data + pointers, 0, p->rows * p->row};
    return block_run_at(&r, (char **)c->arg, c->folded);
}

static Ran run_calls(ScanRun *l) {
    const QuickSteps *q = l->quick;
    Ran ran = RAN;
    unsigned fault = 0;
    for (size_t k = 0; k < q->call.n && ran == RAN; k++) {
        const QuickCall *c = &q->call.p[k];
        switch (c->kind) {
        case QUICK_LOOP:
            fault |= c->loop(c->n, (const void *const *)c->arg, c->arg + c->nin);
            break;
        case QUICK_COPY:
            memmove(c->arg[1], c->arg[0], c->n);
            break;
        case QUICK_FILL:
            block_fill(c->arg[1], c->arg[0], c->size, c->n);
            break;
        case QUICK_BLOCK:
            fault |= run_block(l->body, c);
            break;
        case QUICK_REDO:
            c->redo.run(c->redo.how, (const void *const *)c->arg, c->arg + c->nin);
            break;
        case QUICK_STEP:
            ran = fault ? RAN_STUCK : run_step(l, c);
            break;
        }
    }
    return ran == RAN && fault ? RAN_STUCK : ran;
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
        if (r->pointed && !l->body->place[r->place].own)
            l->body->place[r->place].ptr = r->at;
    }
}

static QuickEnd call_steps(ScanRun *l, LoopProgress *shown) {
    QuickSteps *q = l->quick;
    for (int64_t n = room(l);; advance(q)) {
        if (atomic_load_explicit(l->body->late, memory_order_relaxed))
            return QUICK_STUCK;
        Ran ran = run_calls(l);
        if (ran != RAN) return ran == RAN_FAILED ? QUICK_FAILED : QUICK_STUCK;
        l->done++;
        if (shown) atomic_store_explicit(&shown->done, l->done, memory_order_relaxed);
        bool over = l->done == l->steps || (q->until && *(const bool *)*q->until);
        if (over || --n == 0) return over ? QUICK_OVER : QUICK_FULL;
    }
}

QuickEnd scan_quick_steps(ScanRun *l, LoopProgress *shown) {
    QuickEnd end;
    if (!pays(l) || !quick_prepare(l)) return QUICK_STUCK;
    if (!quick_code_steps(l, room(l), shown, &end) &&
        !quick_share_steps(l, room(l), shown, &end))
        end = call_steps(l, shown);
    give_back(l);
    return end;
}
