#include "vm/x86.h"

#include <string.h>

enum { PP_NONE, PP_66, PP_F3, PP_F2 };
enum { MAP_0F = 1, MAP_0F38, MAP_0F3A };
enum { NO_REG = 0 }; /* vvvv of forms with one operand less */

static void emit_byte(Asm *a, unsigned b) {
    vec_push(a->s, &a->code, (uint8_t)b);
}

static void emit_word32(Asm *a, size_t value) {
    for (int k = 0; k < 4; k++)
        emit_byte(a, (unsigned)(value >> 8 * k) & 0xFF);
}

/* ---- vectors ---- */

typedef struct Form {
    int pp, map, opcode;
    bool w;
    int mask; /* EVEX: write under k1 */
} Form;

/* Prefix and opcode; x is the second operand of three, high: bit 3 of the last one. */
static void emit_prefix(Asm *a, Form f, Wide wide, int reg, int x, int last) {
    unsigned r = reg > 7, b = last > 7, v = ~(unsigned)x & 15;
    if (wide == WIDE_512) {
        emit_byte(a, 0x62);
        emit_byte(a, (r ^ 1) << 7 | 1U << 6 | (b ^ 1) << 5 | 1U << 4 | (unsigned)f.map);
        emit_byte(a, (unsigned)f.w << 7 | v << 3 | 1U << 2 | (unsigned)f.pp);
        emit_byte(a, 2U << 5 | 1U << 3 | (unsigned)f.mask);
    } else {
        emit_byte(a, 0xC4);
        emit_byte(a, (r ^ 1) << 7 | 1U << 6 | (b ^ 1) << 5 | (unsigned)f.map);
        emit_byte(a, (unsigned)f.w << 7 | v << 3 | (wide == WIDE_256 ? 4U : 0U) |
                         (unsigned)f.pp);
    }
    emit_byte(a, (unsigned)f.opcode);
}

static void emit_registers(Asm *a, Form f, int reg, int x, int y) {
    emit_prefix(a, f, a->wide, reg, x, y);
    emit_byte(a, 0xC0U | (unsigned)(reg & 7) << 3 | (unsigned)(y & 7));
}

/* [base + rax + 0]: a displacement, as base may be rbp or r13, which need one. */
static void emit_memory(Asm *a, Form f, Wide wide, int reg, int base) {
    emit_prefix(a, f, wide, reg, NO_REG, base);
    emit_byte(a, 0x44U | (unsigned)(reg & 7) << 3);
    emit_byte(a, (unsigned)(RAX << 3) | (unsigned)(base & 7));
    emit_byte(a, 0);
}

static int packed_prefix(const Asm *a) {
    return a->f64 ? PP_66 : PP_NONE;
}

static Form packed_form(const Asm *a, int opcode) {
    return (Form){packed_prefix(a), MAP_0F, opcode, a->f64 && a->wide == WIDE_512, 0};
}

static Form element_form(const Asm *a, int opcode) {
    Form f = packed_form(a, opcode);
    if (a->wide == WIDE_ONE) f.pp = a->f64 ? PP_F2 : PP_F3;
    return f;
}

void asm_arith(Asm *a, Arith op, int to, int x, int y) {
    if (op == X_SQRT) x = a->wide == WIDE_ONE ? y : NO_REG;
    emit_registers(a, element_form(a, (int)op), to, x, y);
}

void asm_bits(Asm *a, Bits op, int to, int x, int y) {
    emit_registers(a, packed_form(a, (int)op), to, x, y);
}

/* vroundps and vrndscaleps have one opcode; single elements take the upper ones of x.
 */
void asm_round(Asm *a, int to, int x, int how) {
    Form f = {PP_66, MAP_0F3A, a->f64 ? 0x09 : 0x08, a->f64 && a->wide == WIDE_512, 0};
    if (a->wide == WIDE_ONE) f.opcode += 2;
    emit_registers(a, f, to, a->wide == WIDE_ONE ? x : NO_REG, x);
    emit_byte(a, (unsigned)how);
}

enum { LOAD = 0x10, STORE = 0x11, MOVE = 0x28, STREAM = 0x2B, COMPARE = 0xC2 };
enum { UNORDERED = 3, K1 = 1 };

void asm_unless_nan(Asm *a, int to, int y, int spare) {
    bool mask = a->wide == WIDE_512;
    emit_registers(a, element_form(a, COMPARE), mask ? K1 : spare, y, y);
    emit_byte(a, UNORDERED);
    if (mask) {
        Form f = packed_form(a, MOVE);
        f.mask = K1;
        emit_registers(a, f, to, NO_REG, y);
        return;
    }
    emit_registers(a, (Form){PP_66, MAP_0F3A, a->f64 ? 0x4B : 0x4A, false, 0}, to, to,
                   y);
    emit_byte(a, (unsigned)spare << 4);
}

void asm_load(Asm *a, int to, int base) {
    emit_memory(a, element_form(a, LOAD), a->wide, to, base);
}

void asm_store(Asm *a, int from, int base, bool past) {
    emit_memory(a, past ? packed_form(a, STREAM) : element_form(a, STORE), a->wide,
                from, base);
}

static Form spread_form(const Asm *a, Wide wide) {
    return (Form){PP_66, MAP_0F38, a->f64 ? 0x19 : 0x18, a->f64 && wide == WIDE_512, 0};
}

void asm_spread_element(Asm *a, int to, int base, Wide wide) {
    emit_memory(a, spread_form(a, wide), wide, to, base);
}

static int wide_bytes(Wide wide) {
    return wide == WIDE_512 ? 64 : 32;
}

static Form sum_form(int opcode, Wide wide) {
    return (Form){PP_66, MAP_0F, opcode, wide == WIDE_512, 0};
}

/* [base + 32 bits], as base needs no byte of its own (not rsp, r12). */
static void emit_sum(Asm *a, int opcode, int reg, int base, int i, Wide wide) {
    emit_prefix(a, sum_form(opcode, wide), wide, reg, NO_REG, base);
    emit_byte(a, 0x80U | (unsigned)(reg & 7) << 3 | (unsigned)(base & 7));
    emit_word32(a, (size_t)(i * wide_bytes(wide)));
}

void asm_load_sum(Asm *a, int to, int base, int i, Wide wide) {
    emit_sum(a, LOAD, to, base, i, wide);
}

void asm_store_sum(Asm *a, int from, int base, int i, Wide wide) {
    emit_sum(a, STORE, from, base, i, wide);
}

static void emit_wide(Asm *a, Form f, Wide wide, int reg, int x, int y) {
    Wide before = a->wide;
    a->wide = wide;
    emit_registers(a, f, reg, x, y);
    a->wide = before;
}

void asm_add_sum(Asm *a, int to, int x, Wide wide) {
    emit_wide(a, sum_form(X_ADD, wide), wide, to, to, x);
}

void asm_widen(Asm *a, int to, int x, Wide wide) {
    emit_wide(a, (Form){PP_NONE, MAP_0F, 0x5A, false, 0}, wide, to, NO_REG, x);
}

void asm_upper(Asm *a, int to, int x) {
    emit_wide(a, (Form){PP_66, MAP_0F3A, 0x19, false, 0}, WIDE_256, x, NO_REG, to);
    emit_byte(a, 1);
}

void asm_spread(Asm *a, int to, size_t at, Wide wide) {
    emit_prefix(a, spread_form(a, wide), wide, to, NO_REG, 0);
    emit_byte(a, 0x05U | (unsigned)(to & 7) << 3);
    emit_word32(a, at - (a->code.n + 4));
}

/* ---- general registers ---- */

static void emit_rex(Asm *a, int reg, int rm) {
    emit_byte(a, 0x48U | (unsigned)(reg > 7) << 2 | (unsigned)(rm > 7));
}

static void mod_rm(Asm *a, unsigned mod, int reg, int rm) {
    emit_byte(a, mod << 6 | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

void asm_push(Asm *a, int r) {
    if (r > 7) emit_byte(a, 0x41);
    emit_byte(a, 0x50U | (unsigned)(r & 7));
}

void asm_pop(Asm *a, int r) {
    if (r > 7) emit_byte(a, 0x41);
    emit_byte(a, 0x58U | (unsigned)(r & 7));
}

void asm_load_word(Asm *a, int to, int base, int word) {
    emit_rex(a, to, base);
    emit_byte(a, 0x8B);
    mod_rm(a, 1, to, base);
    emit_byte(a, (unsigned)word * 8);
}

void asm_copy(Asm *a, int to, int from) {
    emit_rex(a, from, to);
    emit_byte(a, 0x89);
    mod_rm(a, 3, from, to);
}

void asm_zero(Asm *a, int r) {
    emit_rex(a, r, r);
    emit_byte(a, 0x31);
    mod_rm(a, 3, r, r);
}

void asm_shift_left(Asm *a, int r, int bits) {
    emit_rex(a, 0, r);
    emit_byte(a, 0xC1);
    mod_rm(a, 3, 4, r);
    emit_byte(a, (unsigned)bits);
}

/* Group 1 of the operations with a byte, by its number. */
static void with_byte(Asm *a, int operation, int r, int8_t n) {
    emit_rex(a, 0, r);
    emit_byte(a, 0x83);
    mod_rm(a, 3, operation, r);
    emit_byte(a, (uint8_t)n);
}

void asm_and(Asm *a, int r, int8_t mask) {
    with_byte(a, 4, r, mask);
}

void asm_add(Asm *a, int r, int8_t n) {
    with_byte(a, 0, r, n);
}

void asm_compare(Asm *a, int x, int y) {
    emit_rex(a, y, x);
    emit_byte(a, 0x39);
    mod_rm(a, 3, y, x);
}

void asm_if_below(Asm *a, size_t at) {
    emit_byte(a, 0x0F);
    emit_byte(a, 0x82);
    emit_word32(a, at - (a->code.n + 4));
}

size_t asm_unless_below(Asm *a) {
    emit_byte(a, 0x0F);
    emit_byte(a, 0x83);
    emit_word32(a, 0);
    return a->code.n;
}

void asm_here(Asm *a, size_t jump) {
    size_t far = a->code.n - jump;
    for (int k = 0; k < 4; k++)
        a->code.p[jump - 4 + (size_t)k] = (uint8_t)(far >> 8 * k);
}

void asm_end(Asm *a) {
    emit_byte(a, 0xC5);
    emit_byte(a, 0xF8);
    emit_byte(a, 0x77);
}

void asm_return(Asm *a) {
    asm_zero(a, RAX);
    emit_byte(a, 0xC3);
}
