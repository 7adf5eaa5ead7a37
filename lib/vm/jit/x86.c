/* Machine code of x86-64 with AVX2 or AVX-512, but for the ops (x86_ops.c): loads,
 * stores, sums, and the frame of a loop. rax counts bytes, rsi is the end of the whole
 * vectors, rdi of the elements, pointer_of[] has the operands, and rdx is where sums
 * come from and go to, or else the array of outputs. */
#include "vm/jit/asm.h"

#ifdef __x86_64__
#include "vm/jit/x86.h"

enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R15 = 15 };
static const uint8_t pointer_of[ASM_POINTERS] = {
    RCX, R8, R8 + 1, R8 + 2, R8 + 3, RBX, RBP, R8 + 4, R8 + 5, R8 + 6, R15};
enum { POINTERS_FREE = 5 }; /* the rest belong to the caller */
static const uint8_t end_of[] = {[END_VECTORS] = RSI, [END_ELEMENTS] = RDI};

Width asm_widest(int cpu_level) {
    return cpu_level < 1 ? WIDTH_ONE : cpu_level > 1 ? WIDTH_512 : WIDTH_256;
}

bool asm_masks(const Asm *a) {
    return a->widest == WIDTH_512;
}

static void emit_word32(Asm *a, size_t value) {
    for (int k = 0; k < 4; k++)
        x86_byte(a, (unsigned)(value >> 8 * k) & 0xFF);
}

/* ---- vectors ---- */

/* Prefix and opcode; x is the second operand of three, high: bit 3 of the last one. */
static void emit_prefix(Asm *a, Form f, Width width, int reg, int x, int last) {
    unsigned r = reg > 7, b = last > 7, v = ~(unsigned)x & 15;
    vec_reserve(a->s, &a->code, 5);
    uint8_t *p = a->code.p + a->code.n;
    if (width == WIDTH_512 || f.mask || f.evex) {
        unsigned length = width == WIDTH_ONE ? 0 : (unsigned)(width - WIDTH_128);
        *p++ = 0x62;
        *p++ = (uint8_t)((r ^ 1) << 7 | 1U << 6 | (b ^ 1) << 5 | 1U << 4 |
                         (unsigned)f.map);
        *p++ = (uint8_t)((unsigned)f.w << 7 | v << 3 | 1U << 2 | (unsigned)f.pp);
        *p++ = (uint8_t)((unsigned)f.zeroes << 7 | length << 5 | 1U << 3 |
                         (unsigned)f.mask);
    } else {
        *p++ = 0xC4;
        *p++ = (uint8_t)((r ^ 1) << 7 | 1U << 6 | (b ^ 1) << 5 | (unsigned)f.map);
        *p++ = (uint8_t)((unsigned)f.w << 7 | v << 3 | (width == WIDTH_256 ? 4U : 0U) |
                         (unsigned)f.pp);
    }
    *p++ = (uint8_t)f.opcode;
    a->code.n = (size_t)(p - a->code.p);
}

void x86_registers(Asm *a, Form f, int reg, int x, int y) {
    emit_prefix(a, f, a->width, reg, x, y);
    x86_byte(a, 0xC0U | (unsigned)(reg & 7) << 3 | (unsigned)(y & 7));
}

/* [base + index + 0]: a displacement, as base may be rbp or r13, which need one. */
enum { NO_INDEX = RSP, INDEXED = RSP };
static void emit_indexed(Asm *a, Form f, int reg, int base, int index) {
    emit_prefix(a, f, a->width, reg, NO_REG, base);
    x86_byte(a, 0x44U | (unsigned)(reg & 7) << 3);
    x86_byte(a, (unsigned)(index << 3) | (unsigned)(base & 7));
    x86_byte(a, 0);
}

static void emit_memory(Asm *a, Form f, int reg, int base) {
    emit_indexed(a, f, reg, base, RAX);
}

/* ---- memory ---- */

void asm_load(Asm *a, int to, int operand) {
    Form f = x86_element(a, X_LOAD);
    if (a->masked) f.mask = K2, f.zeroes = true;
    emit_memory(a, f, to, pointer_of[operand]);
}

void asm_store(Asm *a, int from, int operand, bool past) {
    Form f = past ? x86_packed(a, X_STREAM) : x86_element(a, X_STORE);
    if (a->masked) f.mask = K2;
    emit_memory(a, f, from, pointer_of[operand]);
}

static Form spread_form(const Asm *a) {
    return x86_form(PP_66, MAP_0F38, a->eight ? 0x19 : 0x18,
                    a->eight && a->width == WIDTH_512);
}

void asm_spread(Asm *a, int to, size_t at) {
    emit_prefix(a, spread_form(a), a->width, to, NO_REG, 0);
    x86_byte(a, 0x05U | (unsigned)(to & 7) << 3);
    emit_word32(a, at - (a->code.n + 4));
}

void asm_spread_element(Asm *a, int to, int operand) {
    Form f = a->width == WIDTH_ONE ? x86_element(a, X_LOAD) : spread_form(a);
    emit_indexed(a, f, to, pointer_of[operand], NO_INDEX);
}

/* ---- sums ---- */

static Form sum_form(const Asm *a, int opcode) {
    return x86_form(PP_66, MAP_0F, opcode, a->widest == WIDTH_512);
}

/* [rdx + 32 bits] */
static void emit_sum(Asm *a, int opcode, int reg, int i) {
    emit_prefix(a, sum_form(a, opcode), a->widest, reg, NO_REG, RDX);
    x86_byte(a, 0x80U | (unsigned)(reg & 7) << 3 | RDX);
    emit_word32(a, (size_t)(i * width_bytes(a->widest)));
}

void asm_load_sum(Asm *a, int to, int i) {
    emit_sum(a, X_LOAD, to, i);
}

void asm_store_sum(Asm *a, int from, int i) {
    emit_sum(a, X_STORE, from, i);
}

static void emit_wide(Asm *a, Form f, Width width, int reg, int x, int y) {
    Width before = a->width;
    a->width = width;
    x86_registers(a, f, reg, x, y);
    a->width = before;
}

void asm_add_sum(Asm *a, int to, int x) {
    Form f = sum_form(a, X_ADD);
    if (a->masked) f.mask = K2; /* a sum of nothing stays -0 */
    emit_wide(a, f, a->widest, to, to, x);
}

/* As the elements of columns are: of as many float64. */
static Asm set_total(Asm *a) {
    Asm before = *a;
    a->eight = true;
    if (a->width != WIDTH_ONE) a->width = a->widest;
    return before;
}

static void unset_total(Asm *a, const Asm *before) {
    a->eight = before->eight;
    a->width = before->width;
}

void asm_store_total(Asm *a, int from, int operand) {
    Asm before = set_total(a);
    asm_store(a, from, operand, false);
    unset_total(a, &before);
}

void asm_load_total(Asm *a, int to, int operand) {
    Asm before = set_total(a);
    asm_load(a, to, operand);
    unset_total(a, &before);
}

void asm_copy_sum(Asm *a, int to, int x) {
    emit_wide(a, sum_form(a, X_MOVE), a->widest, to, NO_REG, x);
}

/* vcvtps2pd takes the lower half, to which vextractf128 brings the upper one, or
 * vextractf64x4. */
void asm_widen(Asm *a, int to, int x, int half) {
    if (half) {
        bool wide = a->widest == WIDTH_512;
        emit_wide(a, x86_form(PP_66, MAP_0F3A, wide ? 0x1B : 0x19, wide), a->widest, x,
                  NO_REG, to);
        x86_byte(a, 1);
        x = to;
    }
    emit_wide(a, x86_form(PP_NONE, MAP_0F, 0x5A, false), a->widest, to, NO_REG, x);
}

/* ---- general registers, 64 bits ---- */

static void emit_rex(Asm *a, int reg, int rm) {
    x86_byte(a, 0x48U | (unsigned)(reg > 7) << 2 | (unsigned)(rm > 7));
}

static void mod_rm(Asm *a, unsigned mod, int reg, int rm) {
    x86_byte(a, mod << 6 | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

enum { PUSH = 0x50, POP = 0x58 };

static void emit_push_pop(Asm *a, unsigned opcode, int r) {
    if (r > 7) x86_byte(a, 0x41);
    x86_byte(a, opcode | (unsigned)(r & 7));
}

/* A byte says which word, if it can: it is signed. */
enum { LOAD_WORD = 0x8B, STORE_WORD = 0x89, ADD_WORD = 0x03, NEAR = 16 };
static void with_word(Asm *a, unsigned opcode, int to, int base, uint32_t word) {
    emit_rex(a, to, base);
    x86_byte(a, opcode);
    mod_rm(a, word < NEAR ? 1 : 2, to, base);
    if (word < NEAR)
        x86_byte(a, word * 8);
    else
        emit_word32(a, word * 8);
}

static void emit_zero(Asm *a, int r) {
    emit_rex(a, r, r);
    x86_byte(a, 0x31);
    mod_rm(a, 3, r, r);
}

/* test r, r, and a jump, to a position set by asm_here. */
enum { IF_ZERO = 0x84, IF_NOT_ZERO = 0x85 };
static size_t emit_if(Asm *a, unsigned what, int r) {
    emit_rex(a, r, r);
    x86_byte(a, 0x85);
    mod_rm(a, 3, r, r);
    x86_byte(a, 0x0F);
    x86_byte(a, what);
    emit_word32(a, 0);
    return a->code.n;
}

/* Group 1 of the operations with a byte, by its number. */
enum { BYTE_ADD = 0, BYTE_OR = 1, BYTE_AND = 4, BYTE_SUB = 5 };
static void with_byte(Asm *a, int operation, int r, int n) {
    emit_rex(a, 0, r);
    x86_byte(a, 0x83);
    mod_rm(a, 3, operation, r);
    x86_byte(a, (uint8_t)n);
}

/* ---- the frame ---- */

static void push_pointers(Asm *a, uint32_t n, uint32_t nin) {
    for (uint32_t i = POINTERS_FREE; i < n; i++)
        emit_push_pop(a, PUSH, pointer_of[i]);
    for (uint32_t i = 0; i < nin; i++)
        with_word(a, LOAD_WORD, pointer_of[i], RSI, i);
}

void asm_begin(Asm *a, uint32_t nin, uint32_t nout, uint32_t more) {
    push_pointers(a, nin + nout + more, nin);
    for (uint32_t j = 0; j < nout; j++)
        with_word(a, LOAD_WORD, pointer_of[nin + j], RDX, j);
}

void asm_begin_sums(Asm *a, uint32_t nin) {
    push_pointers(a, nin, nin);
    with_word(a, LOAD_WORD, RDX, RDX, 0);
}

/* Group 2 of the operations with a byte, by its number. */
enum { SHIFT_LEFT = 4, SHIFT_RIGHT = 5 };
static void emit_shift(Asm *a, int operation, int r, int n) {
    emit_rex(a, 0, r);
    x86_byte(a, 0xC1);
    mod_rm(a, 3, operation, r);
    x86_byte(a, (unsigned)n);
}

static int element_shift(const Asm *a) {
    return a->eight ? 3 : 2;
}

void asm_start(Asm *a) {
    emit_zero(a, RAX);
    emit_shift(a, SHIFT_LEFT, RDI, element_shift(a));
}

static void emit_copy_end(Asm *a) { /* mov rsi, rdi */
    emit_rex(a, RDI, RSI);
    x86_byte(a, 0x89);
    mod_rm(a, 3, RDI, RSI);
}

static void emit_bytes(Asm *a, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        x86_byte(a, bytes[i]);
}

/* k2: as many bits as elements are left. rax is 0 again then. */
static void emit_mask(Asm *a) {
    static const uint8_t bits[] = {0xC4, 0xE2, 0x48, 0xF5,
                                   0xC0,                    /* bzhi eax, eax, esi */
                                   0xC5, 0xF8, 0x92, 0xD0}; /* kmovw k2, eax */
    emit_copy_end(a);
    with_byte(a, BYTE_AND, RSI, asm_bytes(a) - 1);
    emit_shift(a, SHIFT_RIGHT, RSI, element_shift(a));
    with_byte(a, BYTE_OR, RAX, -1);
    emit_bytes(a, bits, sizeof bits);
    emit_zero(a, RAX);
}

void asm_start_turns(Asm *a, int k) {
    emit_copy_end(a);
    emit_shift(a, SHIFT_RIGHT, RSI, element_shift(a) + k);
    emit_shift(a, SHIFT_LEFT, RSI, element_shift(a) + k);
}

/* rdx += 8 times the number of the element in its turn. */
void asm_go_to_sum(Asm *a, int k) {
    int size = element_shift(a), above = 64 - size - k;
    emit_rex(a, RAX, RSI);
    x86_byte(a, 0x89); /* mov rsi, rax */
    mod_rm(a, 3, RAX, RSI);
    emit_shift(a, SHIFT_LEFT, RSI, above);
    emit_shift(a, SHIFT_RIGHT, RSI, above - (3 - size));
    emit_rex(a, RSI, RDX);
    x86_byte(a, 0x01); /* add rdx, rsi */
    mod_rm(a, 3, RSI, RDX);
}

/* With what is at rdx: vcvtss2sd, vaddsd, vmovsd. */
void asm_add_to_sum(Asm *a, int to, int x) {
    static const int opcode[] = {X_ADD, X_STORE};
    if (!a->eight)
        emit_wide(a, x86_form(PP_F3, MAP_0F, 0x5A, false), WIDTH_ONE, to, x, x), x = to;
    for (int k = 0; k < 2; k++) {
        emit_prefix(a, x86_form(PP_F2, MAP_0F, opcode[k], false), WIDTH_ONE, to,
                    k ? NO_REG : x, RDX);
        mod_rm(a, 0, to, RDX);
    }
    with_byte(a, BYTE_ADD, RDX, 8);
}

/* rsi: a bit for each element that is left. */
void asm_start_rest(Asm *a) {
    /* bzhi esi, edi, esi */
    static const uint8_t bits[] = {0xC4, 0xE2, 0x48, 0xF5, 0xF7};
    emit_copy_end(a);
    emit_rex(a, RAX, RSI);
    x86_byte(a, 0x29); /* sub rsi, rax */
    mod_rm(a, 3, RAX, RSI);
    emit_shift(a, SHIFT_RIGHT, RSI, element_shift(a));
    with_byte(a, BYTE_OR, RDI, -1);
    emit_bytes(a, bits, sizeof bits);
}

void asm_mask_step(Asm *a) {
    static const uint8_t take[] = {0xC5, 0xF8, 0x92, 0xD6}; /* kmovw k2, esi */
    emit_bytes(a, take, sizeof take);
    emit_shift(a, SHIFT_RIGHT, RSI, asm_bytes(a) >> element_shift(a));
}

size_t asm_unless_rest(Asm *a) {
    return emit_if(a, IF_ZERO, RSI);
}

void asm_ask(Asm *a, int operand, size_t ahead) { /* prefetcht0 [r + rax + 32 bits] */
    int base = pointer_of[operand];
    if (base > 7) x86_byte(a, 0x41);
    x86_byte(a, 0x0F);
    x86_byte(a, 0x18);
    mod_rm(a, 2, 1, INDEXED);
    x86_byte(a, (unsigned)(RAX << 3) | (unsigned)(base & 7));
    emit_word32(a, ahead);
}

void asm_start_vectors(Asm *a) {
    if (asm_masks(a)) emit_mask(a);
    emit_copy_end(a);
    with_byte(a, BYTE_AND, RSI, -asm_bytes(a));
}

void asm_step(Asm *a) {
    with_byte(a, BYTE_ADD, RAX, asm_bytes(a));
}

static void emit_compare(Asm *a, AsmEnd end) {
    emit_rex(a, end_of[end], RAX);
    x86_byte(a, 0x39);
    mod_rm(a, 3, end_of[end], RAX);
    x86_byte(a, 0x0F);
}

void asm_if_before(Asm *a, AsmEnd end, size_t at) {
    emit_compare(a, end);
    x86_byte(a, 0x82);
    emit_word32(a, at - (a->code.n + 4));
}

size_t asm_unless_before(Asm *a, AsmEnd end) {
    emit_compare(a, end);
    x86_byte(a, 0x83);
    emit_word32(a, 0);
    return a->code.n;
}

void asm_here(Asm *a, size_t jump) {
    size_t far = a->code.n - jump;
    for (int k = 0; k < 4; k++)
        a->code.p[jump - 4 + (size_t)k] = (uint8_t)(far >> 8 * k);
}

void asm_end(Asm *a, uint32_t noperand) {
    x86_byte(a, 0xC5); /* vzeroupper */
    x86_byte(a, 0xF8);
    x86_byte(a, 0x77);
    for (uint32_t i = noperand; i-- > POINTERS_FREE;)
        emit_push_pop(a, POP, pointer_of[i]);
    emit_zero(a, RAX);
    x86_byte(a, 0xC3);
}

/* ---- loops around it ---- */

void asm_take_input(Asm *a, int operand, uint32_t input) {
    with_word(a, LOAD_WORD, pointer_of[operand], RSI, input);
}

void asm_take_output(Asm *a, int operand, uint32_t output) {
    with_word(a, LOAD_WORD, pointer_of[operand], RDX, output);
}

void asm_start_again(Asm *a) {
    emit_zero(a, RAX);
}

void asm_move(Asm *a, int operand, uint32_t word) {
    with_word(a, ADD_WORD, pointer_of[operand], RDX, word);
}

void asm_move_on(Asm *a, int operand, int bytes) {
    with_byte(a, BYTE_ADD, pointer_of[operand], bytes);
}

size_t asm_count(Asm *a, int operand, uint32_t word) {
    with_word(a, LOAD_WORD, pointer_of[operand], RDX, word);
    return emit_if(a, IF_ZERO, pointer_of[operand]);
}

void asm_count_down(Asm *a, int operand, size_t at) {
    with_byte(a, BYTE_SUB, pointer_of[operand], 1);
    x86_byte(a, 0x0F);
    x86_byte(a, IF_NOT_ZERO);
    emit_word32(a, at - (a->code.n + 4));
}

void asm_store_count(Asm *a, int operand, uint32_t word) {
    with_word(a, STORE_WORD, pointer_of[operand], RDX, word);
}

/* With the byte at [base + rax]. */
static void with_bool(Asm *a, const uint8_t *opcode, size_t n, int reg, int base) {
    x86_byte(a, 0x40U | (unsigned)(base > 7));
    emit_bytes(a, opcode, n);
    mod_rm(a, 1, reg, INDEXED);
    x86_byte(a, (unsigned)(RAX << 3) | (unsigned)(base & 7));
    x86_byte(a, 0);
}

/* vmovd esi, the mask */
void asm_store_mask(Asm *a, int from, int operand) {
    static const uint8_t store[] = {0x88};
    x86_registers(a, x86_form(PP_66, MAP_0F, 0x7E, false), from, NO_REG, RSI);
    with_byte(a, BYTE_AND, RSI, 1);
    with_bool(a, store, sizeof store, RSI, pointer_of[operand]);
}

size_t asm_if_true(Asm *a, int operand) {
    static const uint8_t load[] = {0x0F, 0xB6}; /* movzx */
    with_bool(a, load, sizeof load, RSI, pointer_of[operand]);
    return emit_if(a, IF_NOT_ZERO, RSI);
}

#endif
