/* Machine code for sequences of plain arithmetic, comparisons and choices of floats and
 * integers of 32 or 64 bits in block programs. Two or more consecutive ops of elements
 * of one size become one loop whose values stay in registers, bools as masks. A whole
 * program, also of one op, whose inputs broadcast or are parts of arrays gets another
 * one, a nest: it goes from row to row, each operand by its own step, and keeps an
 * input that is one element for each row in a register. The bits are those of the
 * separate ops, because each is the same operation and nothing is reordered. If the
 * system grants no executable memory, programs stay as they are.
 *
 * What is left after the whole vectors goes through the same body (body.c), as one
 * masked vector where the CPU has masks, or else element by element. Where the result
 * is only summed, there are also loops that sum instead of storing (sums.c); and where
 * it is all that the body of a loop does, one of all steps (steps.c). asm.h
 * has the rest of what a loop is made of, and does it in the instructions of a CPU. */
#include "vm/jit/jit_impl.h"

#include <string.h>

#if HAS_ASM

enum {
    SINGLE_MAX = 4,     /* operands that are single elements */
    RUN_MAX = 64,       /* ops */
    PROGRAMS_MAX = 1024 /* of a plan: each costs some microseconds */
};

static const Coded coded[] = {
    {"add", ASM_ADD},
    {"subtract", ASM_SUBTRACT},
    {"multiply", ASM_MULTIPLY},
    {"true_divide", ASM_DIVIDE},
    {"maximum", ASM_MAXIMUM},
    {"minimum", ASM_MINIMUM},
    {"square", ASM_SQUARE},
    {"sqrt", ASM_SQRT},
    {"negative", ASM_NEGATIVE},
    {"abs", ASM_ABS},
    {"reciprocal", ASM_RECIPROCAL},
    {"round", ASM_ROUND},
    {"floor", ASM_FLOOR},
    {"ceil", ASM_CEIL},
    {"trunc", ASM_TRUNC},
    {"equal", ASM_EQUAL},
    {"not_equal", ASM_NOT_EQUAL},
    {"less", ASM_LESS},
    {"less_equal", ASM_LESS_EQUAL},
    {"greater", ASM_GREATER},
    {"greater_equal", ASM_GREATER_EQUAL},
    {"isnan", ASM_ISNAN},
    {"isfinite", ASM_ISFINITE},
    {"bitwise_and", ASM_AND},
    {"bitwise_or", ASM_OR},
    {"bitwise_xor", ASM_XOR},
    {"invert", ASM_INVERT},
    {"left_shift", ASM_SHIFT_LEFT},
    {"right_shift", ASM_SHIFT_RIGHT},
    {"bitwise_and", ASM_BOTH},
    {"logical_and", ASM_BOTH},
    {"bitwise_or", ASM_EITHER},
    {"logical_or", ASM_EITHER},
    {"bitwise_xor", ASM_ONE_OF_BOTH},
    {"logical_xor", ASM_ONE_OF_BOTH},
    {"invert", ASM_NOT},
    {"logical_not", ASM_NOT},
    {"cast", ASM_ONE_WHERE},
    {"cast", ASM_TO_FLOAT},
    {"cast", ASM_SAME},
    {"where", ASM_WHERE},
};

/* ---- ops that can be compiled ---- */

static bool is_coded_dtype(DType d) {
    size_t size = dtype_size(d);
    return dtype_is_float(d) || dtype_is_integer(d) ? size == 4 || size == 8
                                                    : d == DT_BOOL;
}

void jit_set_kind(Coder *c, uint32_t k) {
    const BlockOp *op = &c->b->op[k];
    DType d = DT_BOOL; /* of the first numbers, inputs first */
    for (uint32_t i = 0; d == DT_BOOL && i <= op->nin; i++)
        d = jit_type(c->b, c->b->value[op->arg + i])->dtype;
    c->a.kind = dtype_kind(d) == K_INT    ? ASM_SIGNED
                : dtype_kind(d) == K_UINT ? ASM_UNSIGNED
                                          : ASM_FLOAT;
}

/* Does the op take `is` and make `d`, of one size, though they differ? */
static bool converts(AsmOp as, DType is, DType d) {
    if (dtype_size(is) != dtype_size(d) || !dtype_is_integer(is)) return false;
    return as == ASM_TO_FLOAT ? dtype_is_float(d)
                              : as == ASM_SAME && dtype_is_integer(d);
}

/* Masks for bools; vectors of one dtype for the rest. */
static bool takes_dtypes(const BlockProgram *b, uint32_t k, AsmOp as) {
    const BlockOp *op = &b->op[k];
    DType d = jit_op_dtype(b, k);
    if (as == ASM_TO_FLOAT && !dtype_is_float(d)) return false;
    for (uint32_t i = 0; i <= op->nin; i++) {
        bool mask = i < op->nin ? asm_reads_mask(as, i) : asm_makes_mask(as);
        DType is = jit_type(b, b->value[op->arg + i])->dtype;
        if (mask != (is == DT_BOOL)) return false;
        if (!mask && is != d && !converts(as, is, d)) return false;
    }
    return is_coded_dtype(d);
}

/* A shift by a negative number is an error, which code wouldn't tell. */
static bool shifts_blindly(const Coder *c, uint32_t k, AsmOp as) {
    if (as != ASM_SHIFT_LEFT && as != ASM_SHIFT_RIGHT) return false;
    const Tensor *by = jit_constant(c->b, c->b->value[c->b->op[k].arg + 1]);
    return c->a.kind == ASM_SIGNED && (!by || tensor_i64(by, 0) < 0);
}

static bool is_coded(Coder *c, uint32_t k, AsmOp as) {
    jit_set_kind(c, k);
    c->a.eight = jit_op_size(c->b, k) == 8;
    return takes_dtypes(c->b, k, as) && asm_has(&c->a, as) && !shifts_blindly(c, k, as);
}

static const Coded *coded_op(Coder *c, uint32_t k) {
    const BlockOp *op = &c->b->op[k];
    if (!op->loop || op->nout != 1 || op->nin > ASM_INPUTS) return NULL;
    for (size_t i = 0; i < sizeof coded / sizeof *coded; i++)
        if (strcmp(coded[i].name, op->op->name) == 0 && is_coded(c, k, coded[i].op))
            return &coded[i];
    return NULL;
}

/* Masks are never in memory: what makes one is coded if all that reads it is, and the
 * other way round. Returns whether all were. */
static bool keep_masks_inside(Coder *c, bool *inside) {
    const BlockProgram *b = c->b;
    memset(inside, 0, b->nvalue * sizeof *inside);
    for (uint32_t k = 0; k < b->nop; k++) {
        const BlockOp *op = &b->op[k];
        inside[b->value[op->arg + op->nin]] =
            c->coded[k] && (c->bools || !jit_is_output(b, b->slot[op->arg + op->nin]));
    }
    for (uint32_t k = 0; k < b->nop; k++)
        for (uint32_t i = 0; i < b->op[k].nin && !c->coded[k]; i++)
            inside[b->value[b->op[k].arg + i]] = false;
    bool all = true;
    for (uint32_t k = 0; k < b->nop; k++)
        for (uint32_t i = 0; i <= b->op[k].nin && c->coded[k]; i++) {
            AsmOp as = c->coded[k]->op;
            bool mask = i < b->op[k].nin ? asm_reads_mask(as, i) : asm_makes_mask(as);
            if (!mask || inside[b->value[b->op[k].arg + i]]) continue;
            c->coded[k] = NULL;
            all = false;
        }
    return all;
}

static void program_open(Coder *c, BlockProgram *b) {
    c->b = b;
    c->last = NEW_N(c->tmp, b->nvalue, uint32_t);
    c->here = NEW_N(c->tmp, b->nvalue, uint32_t);
    c->made = NEW_N(c->tmp, b->nvalue, uint32_t);
    c->reg = NEW_N(c->tmp, b->nvalue, int8_t);
    c->coded = NEW_N(c->tmp, b->nop, const Coded *);
    memset(c->last, 0xFF, b->nvalue * sizeof *c->last);
    memset(c->reg, -1, b->nvalue);
    for (uint32_t k = 0; k < b->nop; k++) {
        c->coded[k] = coded_op(c, k);
        for (uint32_t i = 0; i < b->op[k].nin; i++)
            c->last[b->value[b->op[k].arg + i]] = k;
    }
    bool *inside = NEW_N(c->tmp, b->nvalue, bool);
    while (!keep_masks_inside(c, inside))
        ;
}

/* ---- a loop ---- */

static bool emit_steps(Coder *c, const Run *r, Width width, AsmEnd end, bool past) {
    Asm *a = &c->a;
    a->width = width;
    size_t skip = asm_unless_before(a, end), top = a->code.n;
    if (!jit_emit_body(c, r, past, NULL)) return false;
    asm_step(a);
    asm_if_before(a, end, top);
    asm_here(a, skip);
    return true;
}

/* What is left after the steps of this width. */
static bool emit_rest(Coder *c, const Run *r) {
    Asm *a = &c->a;
    if (!asm_masks(a)) return emit_steps(c, r, WIDTH_ONE, END_ELEMENTS, false);
    size_t skip = asm_unless_before(a, END_ELEMENTS);
    a->masked = true;
    bool ok = jit_emit_body(c, r, false, NULL);
    a->masked = false;
    asm_here(a, skip);
    return ok;
}

static bool emit_loop(Coder *c, const Run *r, bool past, size_t *at) {
    Asm *a = &c->a;
    a->width = a->widest;
    *at = a->code.n;
    asm_begin(a, r->in.n, r->out.n, 0);
    jit_spread_constants(c);
    asm_start(a);
    asm_start_vectors(a);
    if (!emit_steps(c, r, a->widest, END_VECTORS, past) || !emit_rest(c, r))
        return false;
    asm_end(a, r->in.n + r->out.n);
    return true;
}

/* Has a nest the registers, and words for its steps and the number of rows? */
static bool takes_nest(const Run *r) {
    return r->in.n + r->out.n < ASM_POINTERS && r->in.n + 2 * r->out.n < ASM_WORDS;
}

static bool emit_nest(Coder *c, const Run *r) {
    Asm *a = &c->a;
    uint32_t n = r->in.n + r->out.n;
    a->width = a->widest;
    asm_begin(a, r->in.n, r->out.n, 1);
    jit_spread_constants(c);
    asm_start(a);
    asm_start_vectors(a);
    size_t none = asm_count(a, (int)n, r->out.n + n), row = a->code.n;
    for (uint32_t i = 0; i < r->in.n; i++)
        if (r->single[i]) asm_spread_element(a, c->reg[r->in.value[i]], (int)i);
    if (!emit_steps(c, r, a->widest, END_VECTORS, false) || !emit_rest(c, r))
        return false;
    asm_start_again(a);
    for (uint32_t i = 0; i < n; i++)
        asm_move(a, (int)i, r->out.n + i);
    asm_count_down(a, (int)n, row);
    asm_here(a, none);
    asm_end(a, n + 1);
    return true;
}

/* ---- which loops a program gets ---- */

/* Is this the whole program, with outputs possibly too large for the caches? */
static bool may_go_past(const Coder *c, const Run *r) {
    const BlockProgram *b = c->b;
    if (r->from > 0 || r->to < b->nop || b->fold) return false;
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < b->nout; j++) {
        int64_t n = type_size(var_type(b->g, b->var[b->out_value[j]]));
        if (n < 0 || n >= STREAM_BYTES) return true;
        bytes += (uint64_t)n * b->size[b->nin + j];
    }
    return bytes >= STREAM_BYTES;
}

bool jit_is_single(const BlockProgram *b, uint32_t value, int back) {
    const Type *x = jit_type(b, value);
    return x->ndim < back || x->dim[x->ndim - back] == 1;
}

/* By the types, does the input broadcast along some dims of the result, not all? */
static bool is_broadcast(const BlockProgram *b, uint32_t value) {
    const Type *x = jit_type(b, value), *y = jit_result_type(b);
    bool along = false, extends = false;
    for (int k = 0; k < y->ndim; k++) {
        int at = k - (y->ndim - x->ndim);
        bool repeats = at < 0 || x->dim[at] == 1;
        along |= repeats && y->dim[k] != 1;
        extends |= !repeats;
    }
    return along && extends;
}

bool jit_has_rows(const BlockProgram *b, bool turned) {
    const Type *y = jit_result_type(b);
    Dim row = y->ndim > 1 ? y->dim[y->ndim - (turned ? 2 : 1)] : 1;
    bool any = false;
    for (uint32_t i = 0; i < b->nin; i++)
        any |= is_broadcast(b, i);
    return any && (row < 0 || row >= NEST_MIN);
}

/* Gives single elements a register each, from the last one down. */
static bool take_singles(Coder *c, Run *r) {
    int next = ASM_SPARE - 1;
    for (uint32_t i = 0; i < r->in.n; i++) {
        r->single[i] = jit_is_single(c->b, r->in.value[i], 1);
        if (!r->single[i]) continue;
        if (next == ASM_SPARE - 1 - SINGLE_MAX) return false;
        c->reg[r->in.value[i]] = (int8_t)next;
        c->fixed |= 1U << next--;
    }
    return true;
}

/* Is a nest of use: does the program broadcast, or are its rows parts of longer ones?
 */
static bool goes_by_rows(const BlockProgram *b, bool parts) {
    const Type *y = jit_result_type(b);
    return jit_has_rows(b, false) ||
           (parts && y->ndim > 1 &&
            (y->dim[y->ndim - 1] < 0 || y->dim[y->ndim - 1] >= NEST_MIN));
}

/* The whole program as a nest, where that is of use. False: everything is undone. */
static bool code_nest(Coder *c, Run *r) {
    const BlockProgram *b = c->b;
    r->nest = NO_LOOP;
    if (r->from > 0 || r->to < b->nop || !goes_by_rows(b, c->parts)) return false;
    size_t begin = c->a.code.n;
    c->a.eight = jit_op_size(b, 0) == 8;
    if (jit_take_constants(c, r) && jit_take_operands(c, r) && takes_nest(r) &&
        take_singles(c, r)) {
        r->nest = c->a.code.n;
        if (emit_nest(c, r)) return true;
    }
    r->nest = NO_LOOP;
    return c->a.code.n = begin, false;
}

/* The loop for outputs too large for the caches, if there may be any. A CPU that can't
 * bypass them writes such outputs as others, which at least spares them a copy. */
static bool code_past(Coder *c, Run *r) {
    if (!may_go_past(c, r)) return true;
    if (ASM_STREAMS) return emit_loop(c, r, true, &r->past);
    r->past = r->loop;
    return true;
}

/* False: too many operands or values; everything is undone. */
static bool code_run(Coder *c, uint32_t from, uint32_t to) {
    c->full = NONE;
    Run r = {.b = c->b, .from = from, .to = to, .past = NO_LOOP, .nest = NO_LOOP};
    size_t begin = c->a.code.n;
    c->a.eight = jit_op_size(c->b, from) == 8;
    bool ok = jit_take_constants(c, &r) && jit_take_operands(c, &r) &&
              emit_loop(c, &r, false, &r.loop) && code_past(c, &r);
    if (!ok) return c->a.code.n = begin, false;
    code_nest(c, &r);
    vec_push(c->p->s, &c->runs, r);
    return true;
}

/* How far to try next: a run that reaches less far has even more results that leave it,
 * and no room for the op that had none. */
static uint32_t shorter_run(const Coder *c, uint32_t from, uint32_t to) {
    uint32_t next = c->full < to ? c->full : to - 1;
    return next > from ? next : from + 1;
}

/* A single op has a loop already, but none for rows. */
static void code_single(Coder *c) {
    Run r = {.b = c->b, .to = 1, .loop = NO_LOOP, .past = NO_LOOP};
    if (c->coded[0] && code_nest(c, &r)) vec_push(c->p->s, &c->runs, r);
}

/* ---- a program ---- */

static void code_program(Coder *c, BlockProgram *b) {
    program_open(c, b);
    uint32_t last = b->nop;
    if (b->nop == 1) code_single(c);
    for (uint32_t from = 0, to; from < b->nop; from = to) {
        to = from + 1;
        last = from;
        if (!c->coded[from]) continue;
        while (to < b->nop && to - from < RUN_MAX && c->coded[to] &&
               jit_fits(b, from, to))
            to++;
        while (to - from > 1 && !code_run(c, from, to))
            to = shorter_run(c, from, to);
    }
    if (jit_is_summed(b)) jit_code_sums(c, last);
    if (jit_is_step(c->p)) {
        c->bools = true;
        program_open(c, b);
        jit_code_steps(c);
        c->bools = false;
    }
    arena_reset(c->tmp);
}

/* ---- installation ---- */

static void put_run(const Run *r, const void *loop, BlockOp *op, uint32_t *at) {
    BlockProgram *b = r->b;
    *op = (BlockOp){.apply = b->op[r->to - 1].apply,
                    .op = b->op[r->to - 1].op,
                    .arg = *at,
                    .nin = (uint16_t)(r->in.n + r->once.n),
                    .nout = (uint16_t)(r->out.n + r->end.n)};
    memcpy(&op->loop, &loop, sizeof loop);
    const Operands *part[] = {&r->in, &r->once, &r->out, &r->end};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        for (uint32_t i = 0; i < part[k]->n; i++, ++*at) {
            b->slot[*at] = part[k]->slot[i];
            b->value[*at] = part[k]->value[i];
        }
    if (r->in.n + r->out.n > b->max_arg) b->max_arg = r->in.n + r->out.n;
}

static void mark_read(const BlockProgram *b, const BlockOp *op, uint8_t *read) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (b->slot[op->arg + i] < b->nin) read[b->slot[op->arg + i]] = 1;
}

/* Drops inputs that only served the code as constants. */
static void forget_constants(BlockProgram *b, Arena *tmp) {
    uint8_t *read = NEW_N(tmp, b->nin, uint8_t);
    for (uint32_t k = 0; k < b->nrun; k++)
        mark_read(b, &b->run[k], read);
    if (b->steps) mark_read(b, b->steps, read);
    for (uint32_t i = b->nplain; i < b->nin; i++)
        if (!read[i]) b->last_read[i] = NONE;
}

static void need_words(BlockProgram *b, uint32_t words) {
    if (words > b->max_arg) b->max_arg = words;
}

static void put_nest(const Run *r, const uint8_t *code, Arena *arena, uint32_t *at) {
    BlockProgram *b = r->b;
    b->nest = NEW(arena, BlockOp);
    b->is_single = NEW_N(arena, b->nin, bool);
    for (uint32_t i = 0; i < r->in.n; i++)
        if (r->single[i]) b->is_single[r->in.slot[i]] = true;
    put_run(r, code + r->nest, b->nest, at);
    need_words(b, 2 * (r->in.n + r->out.n) + 1);
}

static void put_columns(const Run *r, const uint8_t *code, Arena *arena, uint32_t *at) {
    BlockProgram *b = r->b;
    ColumnLoop *to = &b->columns[r->turned];
    to->op = NEW(arena, BlockOp);
    to->is_single = NEW_N(arena, r->in.n, bool);
    memcpy(to->is_single, r->single, r->in.n * sizeof *r->single);
    put_run(r, code + r->loop, to->op, at);
    need_words(b, r->in.n + jit_column_word(r, COLUMN_MORE) + 1);
}

static uint32_t operands(const Run *r) {
    return r->in.n + r->once.n + r->out.n + r->end.n;
}

static void put_program(Coder *c, const Run *r, size_t n, const uint8_t *code) {
    BlockProgram *b = r->b;
    Arena *arena = c->p->arena;
    uint32_t old = 0, more = 0, k = 0, next = 0;
    for (uint32_t i = 0; i < b->nop; i++)
        old += (uint32_t)b->op[i].nin + b->op[i].nout;
    for (size_t i = 0; i < n; i++)
        more += operands(&r[i]) * (r[i].nest == NO_LOOP ? 1 : 2);
    uint32_t *slot = NEW_N(arena, old + more, uint32_t),
             *value = NEW_N(arena, old + more, uint32_t);
    memcpy(slot, b->slot, old * sizeof *slot);
    memcpy(value, b->value, old * sizeof *value);
    b->slot = slot;
    b->value = value;
    b->run = NEW_N(arena, b->nop, BlockOp);
    for (size_t i = 0; i < n; i++) {
        while (next < r[i].from)
            b->run[k++] = b->op[next++];
        if (r[i].nest != NO_LOOP) put_nest(&r[i], code, arena, &old);
        if (r[i].loop == NO_LOOP) continue;
        if (r[i].columns)
            put_columns(&r[i], code, arena, &old);
        else if (r[i].steps)
            put_run(&r[i], code + r[i].loop, b->steps = NEW(arena, BlockOp), &old);
        else if (r[i].adds)
            put_run(&r[i], code + r[i].loop, b->adds = NEW(arena, BlockOp), &old);
        else
            put_run(&r[i], code + r[i].loop, &b->run[k++], &old);
        if (!r[i].adds && !r[i].steps) next = r[i].to;
    }
    while (next < b->nop)
        b->run[k++] = b->op[next++];
    b->nrun = k;
    if (r->past != NO_LOOP) {
        const void *past = code + r->past;
        memcpy(&b->past, &past, sizeof past);
    }
    forget_constants(b, c->tmp);
}

static void put_all(Coder *c) {
    Plan *p = c->p;
    p->code_bytes = c->a.code.n;
    p->code = c->runs.n ? cpu_map_code(c->a.code.p, c->a.code.n) : NULL;
    for (size_t i = 0, n; p->code && i < c->runs.n; i += n) {
        n = 1;
        while (i + n < c->runs.n && c->runs.p[i + n].b == c->runs.p[i].b)
            n++;
        put_program(c, &c->runs.p[i], n, p->code);
    }
}

/* Is the cell a part of an array, as x[1:, 1:] is? */
static bool is_part(const Plan *p, uint32_t cell) {
    const CellInfo *c = p->sharing.cell;
    for (; c[cell].how == PLAN_VIEW; cell = c[cell].of) {
        const Op *op = p->g->apply[p->ins[c[cell].born].apply].op;
        if (!op_is(p->s, op, OP_RESHAPE) && !op_is(p->s, op, OP_EXPAND_DIMS) &&
            !op_is(p->s, op, OP_SQUEEZE))
            return true;
    }
    return false;
}

/* Does the instruction read parts of arrays, or write one? */
static bool has_parts(const Plan *p, const Ins *in) {
    bool any = in->prog->fold && op_rare(in->prog->fold)->streamed;
    for (uint32_t k = 0; !any && k < in->nin; k++)
        any = is_part(p, p->arg[in->arg + k]);
    return any;
}

void plan_build_code(Plan *p) {
    Width widest = asm_widest(session_cpu_level(p->s));
    if (p->o.no_code || widest == WIDTH_ONE) return;
    Coder c = {.p = p, .a = {.s = p->s, .widest = widest}, .tmp = arena_new(p->s)};
    uint32_t programs = 0;
    for (uint32_t i = 0; i < p->nins && programs < PROGRAMS_MAX; i++) {
        BlockProgram *b = p->ins[i].prog;
        if (!b) continue;
        c.parts = has_parts(p, &p->ins[i]);
        if (b->nop == 1 && !goes_by_rows(b, c.parts) && !jit_is_summed(b) &&
            !jit_is_step(p))
            continue;
        code_program(&c, b);
        programs++;
    }
    put_all(&c);
    vec_free(&c.a.code);
    vec_free(&c.runs);
    arena_free(c.tmp);
}

#else
void plan_build_code(Plan *p) {
    (void)p;
}
#endif
