/* The body of a loop: the ops of a run, one after the other, on vectors in registers.
 * Constants keep a register of their own for the whole function, as long as there are
 * enough. An input is loaded where it is read first, and a register is free again after
 * the last read of what it holds: nothing is spilled, a run that needs more registers
 * than there are is refused, and jit.c tries a shorter one. */
#include "vm/jit/jit_impl.h"

#include <string.h>

#if HAS_ASM

/* ---- constants ---- */

static int constant_register(Coder *c, uint64_t bits) {
    for (int i = 0; i < c->nconstant; i++)
        if (c->constant[i].bits == bits) return c->constant[i].reg;
    if (c->nconstant == CONSTANTS) return -1;
    int r = c->nconstant;
    size_t size = c->a.eight ? 8 : 4;
    c->constant[c->nconstant].bits = bits;
    c->constant[c->nconstant].reg = r;
    c->constant[c->nconstant++].at = c->a.code.n;
    for (size_t k = 0; k < size; k++)
        vec_push(c->a.s, &c->a.code, (uint8_t)(bits >> 8 * k));
    c->fixed |= 1U << r;
    return r;
}

/* Keeps the function's scalar constants in registers, as long as there are enough. */
static void load_fused_constant(Coder *c, uint32_t value) {
    const Tensor *t = jit_constant(c->b, value);
    if (!t || c->reg[value] >= 0) return;
    uint64_t bits = 0;
    memcpy(&bits, t->data, dtype_size(t->dtype));
    c->reg[value] = (int8_t)constant_register(c, bits);
}

/* Resets values of the run that have no register, or share one. */
static void forget_registers(Coder *c, const Run *r) {
    const BlockProgram *b = c->b;
    for (uint32_t k = r->from; k < r->to; k++)
        for (uint32_t i = 0; i <= b->op[k].nin; i++) {
            int8_t *reg = &c->reg[b->value[b->op[k].arg + i]];
            if (*reg >= 0 && !(c->fixed >> *reg & 1U)) *reg = -1;
        }
}

bool jit_take_constants(Coder *c, const Run *r) {
    uint64_t bits;
    c->nconstant = 0;
    c->fixed = 0;
    forget_registers(c, r);
    for (uint32_t k = r->from; k < r->to; k++) {
        jit_set_kind(c, k);
        if (asm_takes_spare(&c->a, c->coded[k]->op)) c->fixed |= 1U << ASM_SPARE;
        for (int i = 0; i < ASM_CONSTANTS; i++)
            if (asm_constant(&c->a, c->coded[k]->op, i, &bits) &&
                constant_register(c, bits) < 0)
                return false;
    }
    for (uint32_t k = r->from; k < r->to; k++)
        for (uint32_t i = 0; i < c->b->op[k].nin; i++)
            load_fused_constant(c, c->b->value[c->b->op[k].arg + i]);
    return true;
}

void jit_spread_constants(Coder *c) {
    for (int i = 0; i < c->nconstant; i++)
        asm_spread(&c->a, c->constant[i].reg, c->constant[i].at);
}

/* ---- operands ---- */

static bool add_operand(Operands *o, uint32_t slot, uint32_t value, uint32_t room) {
    for (uint32_t i = 0; i < o->n; i++)
        if (o->value[i] == value) return true;
    if (o->n == room) return false;
    o->slot[o->n] = slot;
    o->value[o->n++] = value;
    return true;
}

static bool leaves_run(const Coder *c, const Run *r, uint32_t slot, uint32_t value) {
    return jit_is_output(c->b, slot) ||
           (c->last[value] != NONE && c->last[value] >= r->to);
}

static bool take_operands_of(Coder *c, Run *r, uint32_t k) {
    const BlockProgram *b = c->b;
    const BlockOp *op = &b->op[k];
    for (uint32_t i = 0; i < op->nin; i++) {
        uint32_t slot = b->slot[op->arg + i], v = b->value[op->arg + i];
        c->here[v] = k;
        if (c->made[v] == c->nrun) continue;
        if (asm_reads_mask(c->coded[k]->op, i) ||
            (c->reg[v] < 0 && !add_operand(&r->in, slot, v, ASM_POINTERS - r->out.n)))
            return false;
    }
    uint32_t slot = b->slot[op->arg + op->nin], v = b->value[op->arg + op->nin];
    c->made[v] = c->nrun;
    return !leaves_run(c, r, slot, v) ||
           ((!asm_makes_mask(c->coded[k]->op) || c->bools) &&
            add_operand(&r->out, slot, v, ASM_POINTERS - r->in.n));
}

bool jit_take_operands(Coder *c, Run *r) {
    const BlockProgram *b = c->b;
    r->in.n = r->out.n = 0;
    c->nrun++;
    for (uint32_t k = r->from; k < r->to; k++)
        for (uint32_t i = 0; i <= b->op[k].nin; i++)
            c->here[b->value[b->op[k].arg + i]] = NONE;
    for (uint32_t k = r->from; k < r->to; k++)
        if (!take_operands_of(c, r, k)) return c->full = k, false;
    return true;
}

static int find_operand(const Operands *o, uint32_t value) {
    for (uint32_t i = 0; i < o->n; i++)
        if (o->value[i] == value) return (int)i;
    return -1;
}

/* ---- the body ---- */

static int take_register(Coder *c) {
    for (int r = 0; r < ASM_VECTORS; r++)
        if (c->free >> r & 1U) return c->free &= ~(1U << r), r;
    return -1;
}

static void free_register(Coder *c, uint32_t value, uint32_t k) {
    if (c->here[value] != NONE && c->here[value] > k) return;
    int r = c->reg[value];
    if (r >= 0 && !(c->fixed >> r & 1U)) c->free |= 1U << r;
}

static void emit_op(Coder *c, AsmOp op, int to, const int in[ASM_INPUTS]) {
    uint64_t bits = 0;
    int k[ASM_CONSTANTS];
    for (int i = 0; i < ASM_CONSTANTS; i++)
        k[i] = asm_constant(&c->a, op, i, &bits) ? constant_register(c, bits) : 0;
    asm_op(&c->a, op, to, in, k);
}

/* The register of a value, loading it if necessary; -1: all are in use. */
static int at_hand(Coder *c, const Run *r, uint32_t value) {
    if (c->reg[value] >= 0) return c->reg[value];
    int to = take_register(c), operand = find_operand(&r->in, value);
    c->reg[value] = (int8_t)to;
    if (to >= 0 && r->columns && r->single[operand])
        asm_spread_element(&c->a, to, operand);
    else if (to >= 0)
        asm_load(&c->a, to, operand);
    return to;
}

/* A register for the result of op k. */
static int register_for(Coder *c, uint32_t k, const uint32_t *in, uint32_t nin) {
    bool apart = asm_takes_spare(&c->a, c->coded[k]->op);
    int to = apart ? take_register(c) : -1;
    for (uint32_t i = 0; i < nin; i++)
        free_register(c, in[i], k);
    return apart ? to : take_register(c);
}

/* Steps read everything before they write: a state may be in one place. */
static bool load_all(Coder *c, const Run *r) {
    for (uint32_t i = 0; i < r->in.n; i++)
        if (at_hand(c, r, r->in.value[i]) < 0) return false;
    return true;
}

static void store(Coder *c, const Run *r, uint32_t k, int from, int out, bool past) {
    int operand = (int)r->in.n + out;
    if (asm_makes_mask(c->coded[k]->op))
        asm_store_mask(&c->a, from, operand);
    else
        asm_store(&c->a, from, operand, past && c->a.width != WIDTH_ONE);
}

/* Does op k compare for the next one alone, which chooses? */
static bool passes_mask(const Coder *c, const Run *r, uint32_t k) {
    const BlockProgram *b = c->b;
    const BlockOp *op = &b->op[k], *next = op + 1;
    if (k + 1 >= r->to || !asm_compares(c->coded[k]->op) ||
        c->coded[k + 1]->op != ASM_WHERE)
        return false;
    uint32_t v = b->value[op->arg + op->nin];
    return b->value[next->arg] == v && c->last[v] == k + 1 &&
           !jit_is_output(b, b->slot[op->arg + op->nin]);
}

bool jit_emit_body(Coder *c, const Run *r, bool past, int *sum) {
    const BlockProgram *b = c->b;
    c->free = ((1U << ASM_VECTORS) - 1) & ~c->fixed;
    forget_registers(c, r);
    if (r->steps && !load_all(c, r)) return false;
    bool passed = false;
    for (uint32_t k = r->from; k < r->to; k++) {
        uint32_t nin = b->op[k].nin;
        const uint32_t *value = b->value + b->op[k].arg, result = value[nin];
        int in[ASM_INPUTS] = {0};
        jit_set_kind(c, k);
        for (uint32_t i = 0; i < nin; i++)
            if ((in[i] = at_hand(c, r, value[i])) < 0) return false;
        int to = register_for(c, k, value, nin), out = find_operand(&r->out, result);
        if (to < 0) return false;
        bool passes = passes_mask(c, r, k);
        c->a.passes = passes || passed;
        passed = passes;
        emit_op(c, c->coded[k]->op, to, in);
        if (out >= 0 && r->adds)
            jit_emit_sum(c, r, to, sum);
        else if (out >= 0)
            store(c, r, k, to, out, past);
        c->reg[result] = (int8_t)to;
        if (c->here[result] == NONE) free_register(c, result, k);
    }
    return true;
}

#endif
