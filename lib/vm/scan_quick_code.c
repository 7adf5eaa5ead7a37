/* Steps that are machine code as a whole: the only program of a body of single
 * elements. Between turns of a few thousand steps the cursors are moved as if these had
 * been taken one by one. A state of which only the last value is kept stays in one
 * place, as each step reads everything before it writes. */
#include "vm/jit/asm.h"
#include "vm/scan_quick.h"

#include <string.h>

enum {
    TURN = 1 << 15, /* steps between looks at the time */
    OPERANDS = ASM_POINTERS + 2 * ASM_KEPT
};

typedef struct CodeSteps {
    ScanRun *l;
    const BlockOp *op;
    uint32_t n; /* operands */
    Where at[OPERANDS];
    uint64_t kept[ASM_POINTERS]; /* by row: a state in one place */
} CodeSteps;

/* The row that a cursor writes or reads; NULL: it reads a sequence. */
static Row *row_of(const ScanRun *l, uint32_t cursor) {
    if (cursor < l->nfeed) return NULL;
    if (cursor < l->nfeed + l->npast) return l->past[cursor - l->nfeed].of;
    return &l->row[cursor - l->nfeed - l->npast];
}

static bool is_ring(const Row *r) {
    return r && r->count != INT64_MAX;
}

/* Is no more than the last value of each ring of use, from the step at hand on? */
static bool rings_fit(const ScanRun *l) {
    if (l->f.nout > ASM_POINTERS) return false;
    for (size_t i = 0; i < l->f.nout; i++)
        if (is_ring(&l->row[i]) &&
            (l->f.out[i].keep > 1 || l->row[i].bytes > sizeof(uint64_t)))
            return false;
    for (size_t k = 0; k < l->npast; k++)
        if (is_ring(l->past[k].of) && (l->past[k].tap != -1 || l->past[k].wait > 0))
            return false;
    return true;
}

/* Are all results of the body written to their rows by the program? */
static bool writes_rows(const ScanRun *l) {
    for (size_t i = 0; i < l->f.nout; i++) {
        Where w = quick_where(l->quick, l->body, l->row[i].cell);
        if (w.cursor != cursor_of_row(l, i) || w.offset) return false;
    }
    return true;
}

static bool prepare(CodeSteps *c) {
    const ScanRun *l = c->l;
    const Ins *in = l->plan->ins;
    const BlockProgram *b = l->plan->nins == 1 ? in->prog : NULL;
    if (!b || !b->steps || !rings_fit(l) || !writes_rows(l)) return false;
    const Prep *p = l->body->prep[0];
    c->op = b->steps;
    c->n = (uint32_t)c->op->nin + c->op->nout;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t slot = b->slot[c->op->arg + i];
        bool own = slot >= b->nplain && slot < b->nin;
        uint32_t cell = slot < b->nin ? slot : in->nin + slot - b->nin;
        if (own && !p) return false;
        c->at[i] = own ? quick_own_data(p, slot)
                       : quick_where(l->quick, l->body, l->plan->arg[in->arg + cell]);
        if (c->at[i].cursor != NONE && c->at[i].cursor >= l->quick->cursor.n)
            return false;
    }
    return true;
}

/* ---- a turn ---- */

static Row *kept_row(const CodeSteps *c, uint32_t operand) {
    if (c->at[operand].cursor == NONE) return NULL;
    Row *r = row_of(c->l, c->at[operand].cursor);
    return is_ring(r) ? r : NULL;
}

static uint64_t *place_kept(CodeSteps *c, const Row *r) {
    return &c->kept[r - c->l->row];
}

static void take_kept(CodeSteps *c) {
    const ScanRun *l = c->l;
    for (size_t k = 0; k < l->npast; k++)
        if (is_ring(l->past[k].of))
            memcpy(place_kept(c, l->past[k].of), l->quick->cursor.p[l->nfeed + k].at,
                   l->past[k].of->bytes);
}

/* To where the last of n steps wrote. */
static void give_kept(CodeSteps *c, int64_t n) {
    const ScanRun *l = c->l;
    for (size_t i = 0; i < l->f.nout; i++) {
        const Row *r = &l->row[i];
        const Cursor *at = &l->quick->cursor.p[cursor_of_row(l, i)];
        if (!is_ring(r)) continue;
        int64_t last = (at->count - at->left + n - 1) % at->count;
        memcpy(at->base + last * at->step, place_kept(c, r), r->bytes);
    }
}

/* How many steps may be taken at once. */
static int64_t turn(const CodeSteps *c, int64_t n) {
    n = n < TURN ? n : TURN;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->at[i].cursor == NONE || kept_row(c, i)) continue;
        const Cursor *at = &c->l->quick->cursor.p[c->at[i].cursor];
        if (at->left < n) n = at->left;
    }
    return n;
}

/* Of n steps, how many were taken; *over: the last one ends the loop. */
static int64_t take_steps(CodeSteps *c, int64_t n, bool *over) {
    const void *in[OPERANDS];
    void *out[ASM_WORDS];
    int64_t word[ASM_WORDS];
    uint32_t nin = c->op->nin, nout = c->op->nout;
    for (uint32_t i = 0; i < c->n; i++) {
        const Where *w = &c->at[i];
        const Cursor *at = w->cursor == NONE ? NULL : &c->l->quick->cursor.p[w->cursor];
        const Row *kept = kept_row(c, i);
        char *ptr = kept ? (char *)place_kept(c, kept)
                    : at ? at->at + w->offset
                         : w->ptr;
        word[nout + i] = kept || !at ? 0 : at->step;
        if (i < nin)
            in[i] = ptr;
        else
            memcpy(&word[i - nin], &ptr, sizeof ptr);
    }
    word[nout + c->n] = n;
    memcpy(out, word, (nout + c->n + 1) * sizeof *word);
    c->op->loop(1, in, out);
    memcpy(word, out, (nout + c->n + 1) * sizeof *word);
    *over = word[nout + c->n] > 0;
    return n - word[nout + c->n] + *over;
}

static void advance_by(QuickSteps *q, int64_t n) {
    for (size_t k = 0; k < q->cursor.n; k++) {
        Cursor *c = &q->cursor.p[k];
        if (n < c->left) {
            c->at += n * c->step;
            c->left -= n;
            continue;
        }
        int64_t past = (n - c->left) % c->count;
        c->at = c->base + past * c->step;
        c->left = c->count - past;
        c->turned = true;
    }
}

/* The rows at hand stay those of the last step. */
bool quick_code_steps(ScanRun *l, int64_t n, LoopProgress *shown, QuickEnd *end) {
    CodeSteps c = {.l = l};
    if (!prepare(&c)) return false;
    bool over = false;
    for (*end = QUICK_STUCK; n > 0 && !over;) {
        if (atomic_load_explicit(l->body->late, memory_order_relaxed)) return true;
        take_kept(&c);
        int64_t ran = take_steps(&c, turn(&c, n), &over);
        give_kept(&c, ran);
        n -= ran;
        advance_by(l->quick, n > 0 && !over ? ran : ran - 1);
        l->done += ran;
        if (shown) atomic_store_explicit(&shown->done, l->done, memory_order_relaxed);
    }
    *end = over || l->done == l->steps ? QUICK_OVER : QUICK_FULL;
    return true;
}
