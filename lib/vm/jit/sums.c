/* Machine code for programs whose result is read by nothing but a sum. A loop adds it
 * to the sums of Pieces, which stay in registers: its steps take PIECE_SUMS elements.
 * Two more sum whole columns, in the order of the loops of reductions: of a number of
 * rows, or of short rows, which are columns once they are transposed. */
#include "vm/jit/jit_impl.h"

#if HAS_ASM

enum {
    SUM_MAX = 16,    /* ops before a sum: more of them hide its cost */
    SUM_HALVES = 1,  /* ops before a sum, in halves of vectors */
    COLUMN_MAX = 10, /* ops before a sum of columns: they are compiled often */
    ASKED = 4,       /* inputs that are prefetched */
    AHEAD = 4096,    /* bytes, before they are read */
    TURN = 5,        /* PIECE_SUMS are 2^TURN */
    LEVELS = 3       /* COLUMN_TREE rows are added pair by pair: 2^LEVELS of them */
};
_Static_assert(1 << TURN == PIECE_SUMS, "a turn");

bool jit_is_summed(const BlockProgram *b) {
    if (!b->fold || b->nplaced > 0 || b->nout != 1) return false;
    if (!dtype_is_float(jit_result_type(b)->dtype)) return false;
    return op_is(b->g->s, b->fold, OP_SUM) || op_is(b->g->s, b->fold, OP_MEAN);
}

static bool sums_last_dim(const BlockProgram *b) {
    const Prop *axis = &b->g->apply[b->folded_by].props->p[0];
    int64_t last = jit_result_type(b)->ndim - 1;
    if (axis->kind == P_INT) return axis->i == last;
    return axis->kind != P_INTS ||
           (axis->ints.n > 0 && axis->ints.p[axis->ints.n - 1] == last);
}

/* ---- sums of Pieces ---- */

/* Of columns no Pieces are added, unless there is a single one. */
static bool adds_pieces(const BlockProgram *b) {
    const Type *y = jit_result_type(b);
    return y->ndim == 0 || y->dim[y->ndim - 1] < 2 || sums_last_dim(b);
}

/* Adds a result to sums, from number *at on. Of float32, halves of a step of the widest
 * vectors become one of float64 each; a narrower step is such a half. */
static void emit_sum(Coder *c, int result, int *at) {
    Asm *a = &c->a;
    if (a->width == WIDTH_ONE) {
        asm_add_to_sum(a, c->sum, result);
        return;
    }
    int more = c->sum - 1, parts = a->eight || a->width < a->widest ? 1 : 2;
    for (int half = 0; half < parts; half++, ++*at) {
        if (!a->eight) asm_widen(a, more, result, half);
        asm_add_sum(a, c->sum + *at, a->eight ? result : more);
    }
}

/* The registers below ASM_SPARE hold the sums; of float32, one below them what is
 * added. */
static void take_sum_registers(Coder *c) {
    c->nsum = PIECE_SUMS * 8 / width_bytes(c->a.widest);
    c->sum = ASM_SPARE - c->nsum;
    for (int i = c->a.eight ? 0 : -1; i < c->nsum; i++)
        c->fixed |= 1U << (c->sum + i);
}

/* Fewer than PIECE_SUMS elements, in as many masked steps as these take; a mask is that
 * of what is added, too. */
static bool emit_sum_rest(Coder *c, const Run *r) {
    Asm *a = &c->a;
    a->width = a->eight ? a->widest : a->widest - 1;
    size_t end[PIECE_SUMS];
    int steps = 0;
    bool ok = true;
    asm_start_rest(a);
    a->masked = true;
    for (int sum = 0; ok && sum < c->nsum;) {
        end[steps++] = asm_unless_rest(a);
        asm_mask_step(a);
        ok = jit_emit_body(c, r, false, &sum);
        asm_step(a);
    }
    a->masked = false;
    while (steps > 0)
        asm_here(a, end[--steps]);
    return ok;
}

/* Of float32 with few ops, half a vector at a time, which becomes a whole one: that
 * costs less than to take halves apart. */
static Width sum_width(const Asm *a, const Run *r) {
    bool halves = !a->eight && a->widest > WIDTH_128 && r->to - r->from <= SUM_HALVES;
    return halves ? a->widest - 1 : a->widest;
}

static void store_sums(Coder *c) {
    for (int i = 0; i < c->nsum; i++)
        asm_store_sum(&c->a, c->sum + i, i);
}

/* The same in whole vectors, and in elements that are added to the sums in memory. */
static bool emit_sum_elements(Coder *c, const Run *r) {
    Asm *a = &c->a;
    size_t end[PIECE_SUMS];
    int steps = 0, each = 0;
    asm_start_vectors(a);
    for (int sum = 0; sum + each < c->nsum;) {
        int before = sum;
        end[steps++] = asm_unless_before(a, END_VECTORS);
        if (!jit_emit_body(c, r, false, &sum)) return false;
        asm_step(a);
        each = sum - before;
    }
    while (steps > 0)
        asm_here(a, end[--steps]);
    store_sums(c);
    asm_go_to_sum(a, TURN);
    a->width = WIDTH_ONE;
    size_t skip = asm_unless_before(a, END_ELEMENTS), top = a->code.n;
    int sum = 0;
    if (!jit_emit_body(c, r, false, &sum)) return false;
    asm_step(a);
    asm_if_before(a, END_ELEMENTS, top);
    asm_here(a, skip);
    return true;
}

/* Prefetches what a later turn reads: the CPU's own prefetching stops at a page. */
static void ask_ahead(Asm *a, const Run *r, size_t bytes) {
    for (uint32_t i = 0; i < r->in.n && i < ASKED; i++)
        for (size_t line = 0; line < bytes; line += 64)
            asm_ask(a, (int)i, AHEAD + line);
}

/* PIECE_SUMS elements a turn. */
static bool emit_sum_loop(Coder *c, const Run *r, size_t *at) {
    Asm *a = &c->a;
    a->width = sum_width(a, r);
    *at = a->code.n;
    asm_begin_sums(a, r->in.n);
    for (int i = 0; i < c->nsum; i++)
        asm_load_sum(a, c->sum + i, i);
    jit_spread_constants(c);
    asm_start(a);
    asm_start_turns(a, TURN);
    size_t skip = asm_unless_before(a, END_VECTORS), top = a->code.n;
    ask_ahead(a, r, PIECE_SUMS * (a->eight ? 8 : 4));
    for (int sum = 0; sum < c->nsum;) {
        if (!jit_emit_body(c, r, false, &sum)) return false;
        asm_step(a);
    }
    asm_if_before(a, END_VECTORS, top);
    asm_here(a, skip);
    if (!(asm_masks(a) ? emit_sum_rest(c, r) : emit_sum_elements(c, r))) return false;
    if (asm_masks(a)) store_sums(c);
    asm_end(a, r->in.n);
    return true;
}

/* A loop that sums what the ops from `from` to the last one make, if it can be. */
static void code_sum(Coder *c, uint32_t from) {
    const BlockProgram *b = c->b;
    Run r = {.b = c->b,
             .from = from,
             .to = b->nop,
             .past = NO_LOOP,
             .nest = NO_LOOP,
             .adds = true};
    size_t begin = c->a.code.n;
    if (from == b->nop || !c->coded[from] || b->nop - from > SUM_MAX || !adds_pieces(b))
        return;
    c->a.eight = jit_op_size(b, from) == 8;
    bool ok = jit_take_constants(c, &r) && jit_take_operands(c, &r) && r.out.n == 1;
    if (ok) take_sum_registers(c);
    if (ok && emit_sum_loop(c, &r, &r.loop))
        vec_push(c->p->s, &c->runs, r);
    else
        c->a.code.n = begin;
}

/* ---- sums of columns ---- */

/* Adds a result to the sum of a column, row `row` of COLUMN_TREE rows, which are added
 * pair by pair, pairs of pairs and so on; if it isn't one of them, at once. The
 * registers from c->sum on are for a row, two, four, and the sum. */
static void emit_column(Coder *c, int result, int row, bool tree) {
    Asm *a = &c->a;
    int level = tree ? 0 : LEVELS;
    if (!a->eight) asm_widen(a, c->sum - 1, result, 0), result = c->sum - 1;
    for (; level < LEVELS && row >> level & 1; level++) {
        asm_add_sum(a, c->sum + level, result);
        result = c->sum + level;
    }
    if (level < LEVELS)
        asm_copy_sum(a, c->sum + level, result);
    else
        asm_add_sum(a, c->sum + LEVELS, result);
}

/* What follows output 0, the sums, in float64: the steps of the inputs from row to row,
 * those back to the first one, the number of times COLUMN_TREE rows, of the other rows,
 * whether there are sums already. */
uint32_t jit_column_word(const Run *r, ColumnWord what) {
    return 1 +
           (what < COLUMN_TREES ? what * r->in.n : 2 * r->in.n + what - COLUMN_TREES);
}

static bool takes_columns(const Asm *a, const Run *r) {
    return jit_column_word(r, COLUMN_MORE) < ASM_WORDS && r->in.n + 2 <= ASM_POINTERS &&
           (a->eight || a->widest > WIDTH_128);
}

static void take_column_registers(Coder *c) {
    c->sum = ASM_SPARE - LEVELS - 1;
    for (int i = c->a.eight ? 0 : -1; i <= LEVELS; i++)
        c->fixed |= 1U << (c->sum + i);
}

/* `count` rows at a time, as often as the word says. */
static bool emit_rows(Coder *c, const Run *r, int count, ColumnWord times) {
    Asm *a = &c->a;
    int counter = (int)r->in.n + 1, whole = COLUMN_TREE;
    size_t none = asm_count(a, counter, jit_column_word(r, times)), top = a->code.n;
    for (int row = 0; row < count; row++) {
        if (!jit_emit_body(c, r, false, count == COLUMN_TREE ? &row : &whole))
            return false;
        for (uint32_t i = 0; i < r->in.n; i++)
            asm_move(a, (int)i, jit_column_word(r, COLUMN_STEPS) + i);
    }
    asm_count_down(a, counter, top);
    asm_here(a, none);
    return true;
}

/* nothing: where in the code -0 is, which changes no sum. */
static bool emit_columns(Coder *c, const Run *r, Width width, AsmEnd end,
                         size_t nothing, bool trees) {
    Asm *a = &c->a;
    size_t skip = asm_unless_before(a, end), top = a->code.n;
    Width vectors = a->width;
    int sum = c->sum + LEVELS, out = (int)r->in.n, counter = out + 1;
    asm_spread(a, a->eight ? sum : c->sum - 1, nothing);
    if (!a->eight) asm_widen(a, sum, c->sum - 1, 0);
    a->width = width;
    size_t none = asm_count(a, counter, jit_column_word(r, COLUMN_MORE));
    asm_load_total(a, sum, out);
    asm_here(a, none);
    if ((trees && !emit_rows(c, r, COLUMN_TREE, COLUMN_TREES)) ||
        !emit_rows(c, r, 1, COLUMN_ROWS))
        return false;
    for (uint32_t i = 0; i < r->in.n; i++)
        asm_move(a, (int)i, jit_column_word(r, COLUMN_BACK) + i);
    asm_store_total(a, sum, out);
    if (!a->eight) asm_move_on(a, out, asm_bytes(a));
    asm_step(a);
    asm_if_before(a, end, top);
    asm_here(a, skip);
    a->width = vectors;
    return true;
}

/* Of float32, as many elements a step as a vector of float64 has. */
static bool emit_column_loop(Coder *c, const Run *r, bool trees, size_t *at) {
    Asm *a = &c->a;
    uint64_t minus = UINT64_C(1) << (a->eight ? 63 : 31);
    size_t nothing = a->code.n, size = a->eight ? 8 : 4;
    for (size_t k = 0; k < size; k++)
        vec_push(a->s, &a->code, (uint8_t)(minus >> 8 * k));
    a->width = a->eight ? a->widest : a->widest - 1;
    *at = a->code.n;
    asm_begin(a, r->in.n, 1, 1);
    jit_spread_constants(c);
    asm_start(a);
    asm_start_vectors(a);
    if (!emit_columns(c, r, a->width, END_VECTORS, nothing, trees)) return false;
    a->masked = asm_masks(a);
    bool ok = emit_columns(c, r, a->masked ? a->width : WIDTH_ONE, END_ELEMENTS,
                           nothing, trees);
    a->masked = false;
    if (!ok) return false;
    asm_end(a, r->in.n + 2);
    return true;
}

/* By the types, may the sum keep the last dim of what is summed? turned: the one before
 * it instead. */
static bool keeps_columns(const BlockProgram *b, bool turned) {
    const Type *y = jit_result_type(b),
               *sum = var_type(b->g, b->g->apply[b->folded_by].out);
    if (y->ndim < 2 || sum->ndim == 0) return false;
    Dim last = sum->dim[sum->ndim - 1], column = y->dim[y->ndim - 1];
    if (!turned) return last == column && column != 1 && !sums_last_dim(b);
    return sum->ndim == y->ndim ? last == 1 : last == y->dim[y->ndim - 2];
}

/* Does the input repeat along the dim before the last one, or has it no more dims than
 * these two? Then its columns are adjacent, once it is transposed. */
static bool turns(const BlockProgram *b, uint32_t value) {
    const Type *x = jit_type(b, value);
    bool matrix = true;
    for (int k = 0; k + 2 < x->ndim; k++)
        matrix &= x->dim[k] == 1;
    return matrix || jit_is_single(b, value, 2);
}

/* The whole program as a loop that sums columns: of rows as they are, along the last
 * dim; or `turned`, along the one before it, whose short rows are summed. */
static void code_columns(Coder *c, bool turned) {
    const BlockProgram *b = c->b;
    Run r = {.b = c->b,
             .to = b->nop,
             .past = NO_LOOP,
             .nest = NO_LOOP,
             .adds = true,
             .columns = true,
             .turned = turned};
    size_t begin = c->a.code.n;
    if (b->nop > COLUMN_MAX || !keeps_columns(b, turned) ||
        (turned && !jit_has_rows(b, true)))
        return;
    for (uint32_t k = 0; k < b->nop; k++)
        if (!c->coded[k] || !jit_fits(b, 0, k)) return;
    c->a.eight = jit_op_size(b, 0) == 8;
    bool ok = jit_take_constants(c, &r) && jit_take_operands(c, &r) && r.out.n == 1 &&
              takes_columns(&c->a, &r);
    if (ok) take_column_registers(c);
    for (uint32_t i = 0; ok && i < r.in.n; i++) {
        r.single[i] = jit_is_single(b, r.in.value[i], turned ? 2 : 1);
        ok = !turned || turns(b, r.in.value[i]);
    }
    if (ok && emit_column_loop(c, &r, !turned, &r.loop))
        vec_push(c->p->s, &c->runs, r);
    else
        c->a.code.n = begin;
}

/* ---- all of them ---- */

void jit_emit_sum(Coder *c, const Run *r, int result, int *sum) {
    if (r->columns)
        emit_column(c, result, *sum, *sum < COLUMN_TREE);
    else
        emit_sum(c, result, sum);
}

void jit_code_sums(Coder *c, uint32_t from) {
    code_sum(c, from);
    code_columns(c, false);
    code_columns(c, true);
}

#endif
