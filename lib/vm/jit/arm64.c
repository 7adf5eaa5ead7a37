/* Machine code of 64-bit Arm: vectors of 128 bits (Advanced SIMD), which all of these
 * CPUs have. The last elements go through the same instructions, one to a vector whose
 * other elements are 0 and are not stored.
 *
 * x0 is the end of the elements, x1 of the whole vectors, x2 where sums come from and
 * go to or else the array of outputs, x3 counts bytes, the next ones have the
 * operands, x17 is for addresses. All are the callee's to overwrite, as are the vectors
 * in use: v8 to v15 are the caller's.
 */
#include "vm/jit/asm.h"

#ifdef __AARCH64EL__
#include "vm/jit/arm64.h"

enum { COUNT = 0, IN, OUT, OFFSET, POINTER, ADDRESS = 17 };
_Static_assert(POINTER + (int)ASM_POINTERS == ADDRESS, "a register each");
enum { KEPT_FROM = 8, KEPT = 8 };
_Static_assert((int)ASM_VECTORS + KEPT == 32, "all vectors but those");

Width asm_widest(int cpu_level) {
    (void)cpu_level;
    return WIDTH_128;
}

bool asm_masks(const Asm *a) {
    (void)a;
    return false;
}

static void emit(Asm *a, uint32_t word) {
    vec_reserve(a->s, &a->code, 4);
    for (int k = 0; k < 4; k++)
        a->code.p[a->code.n++] = (uint8_t)(word >> 8 * k);
}

static int hardware(int vector) {
    return vector < KEPT_FROM ? vector : vector + KEPT;
}

static int end_of(AsmEnd end) {
    return end == END_VECTORS ? IN : COUNT;
}

/* ---- ops ---- */

typedef enum How {
    PAIR,
    TURNED, /* the second operand first */
    UNEQUAL,
    SELF_UNEQUAL,
    FINITE,
    EXTREME,
    SQUARE,
    UNARY,
    RECIPROCAL,
    PAIR_BITS,
    NOT_BITS,
    SAME,
    ONE_WHERE,
    WHERE
} How;
static const struct {
    How how;
    uint32_t code;
} instruction[] = {
    [ASM_ADD] = {PAIR, A64_FADD},
    [ASM_SUBTRACT] = {PAIR, A64_FSUB},
    [ASM_MULTIPLY] = {PAIR, A64_FMUL},
    [ASM_DIVIDE] = {PAIR, A64_FDIV},
    [ASM_MAXIMUM] = {EXTREME, A64_FCMGE},
    [ASM_MINIMUM] = {EXTREME, A64_FCMGE},
    [ASM_SQUARE] = {SQUARE, A64_FMUL},
    [ASM_SQRT] = {UNARY, A64_FSQRT},
    [ASM_NEGATIVE] = {UNARY, A64_FNEG},
    [ASM_ABS] = {UNARY, A64_FABS},
    [ASM_RECIPROCAL] = {RECIPROCAL, A64_FDIV},
    [ASM_ROUND] = {UNARY, A64_FRINTN},
    [ASM_FLOOR] = {UNARY, A64_FRINTM},
    [ASM_CEIL] = {UNARY, A64_FRINTP},
    [ASM_TRUNC] = {UNARY, A64_FRINTZ},
    [ASM_EQUAL] = {PAIR, A64_FCMEQ},
    [ASM_NOT_EQUAL] = {UNEQUAL, A64_FCMEQ},
    [ASM_LESS] = {TURNED, A64_FCMGT},
    [ASM_LESS_EQUAL] = {TURNED, A64_FCMGE},
    [ASM_GREATER] = {PAIR, A64_FCMGT},
    [ASM_GREATER_EQUAL] = {PAIR, A64_FCMGE},
    [ASM_ISNAN] = {SELF_UNEQUAL, A64_FCMEQ},
    [ASM_ISFINITE] = {FINITE, A64_FSUB},
    [ASM_BOTH] = {PAIR_BITS, A64_AND},
    [ASM_EITHER] = {PAIR_BITS, A64_ORR},
    [ASM_ONE_OF_BOTH] = {PAIR_BITS, A64_EOR},
    [ASM_NOT] = {NOT_BITS, 0},
    [ASM_ONE_WHERE] = {ONE_WHERE, A64_AND},
    [ASM_WHERE] = {WHERE, A64_BSL},
    [ASM_AND] = {PAIR_BITS, A64_AND},
    [ASM_OR] = {PAIR_BITS, A64_ORR},
    [ASM_XOR] = {PAIR_BITS, A64_EOR},
    [ASM_INVERT] = {NOT_BITS, 0},
    [ASM_SAME] = {SAME, A64_ORR},
};

/* Of integers, where that is another instruction; for unsigned ones, 0: there is none.
 * Shifts read no more than a byte of a number. */
static const struct {
    How how;
    uint32_t code[2];
    bool four; /* of four bytes only */
} integer[ASM_WHERE + 1] = {
    [ASM_ADD] = {PAIR, {A64_ADD, A64_ADD}, false},
    [ASM_SUBTRACT] = {PAIR, {A64_SUB, A64_SUB}, false},
    [ASM_MULTIPLY] = {PAIR, {A64_MUL, A64_MUL}, true},
    [ASM_SQUARE] = {SQUARE, {A64_MUL, A64_MUL}, true},
    [ASM_MAXIMUM] = {PAIR, {A64_SMAX, A64_UMAX}, true},
    [ASM_MINIMUM] = {PAIR, {A64_SMIN, A64_UMIN}, true},
    [ASM_NEGATIVE] = {UNARY, {A64_NEG, A64_NEG}, false},
    [ASM_ABS] = {UNARY, {A64_ABS, 0}, false},
    [ASM_EQUAL] = {PAIR, {A64_CMEQ, A64_CMEQ}, false},
    [ASM_NOT_EQUAL] = {UNEQUAL, {A64_CMEQ, A64_CMEQ}, false},
    [ASM_LESS] = {TURNED, {A64_CMGT, A64_CMHI}, false},
    [ASM_LESS_EQUAL] = {TURNED, {A64_CMGE, A64_CMHS}, false},
    [ASM_GREATER] = {PAIR, {A64_CMGT, A64_CMHI}, false},
    [ASM_GREATER_EQUAL] = {PAIR, {A64_CMGE, A64_CMHS}, false},
    [ASM_TO_FLOAT] = {UNARY, {A64_SCVTF, A64_UCVTF}, false},
};

static uint32_t integer_code(const Asm *a, AsmOp op) { /* 0: as of floats */
    return a->kind != ASM_FLOAT ? integer[op].code[a->kind == ASM_UNSIGNED] : 0;
}

bool asm_has(const Asm *a, AsmOp op) {
    bool bits = op >= ASM_BOTH || (op >= ASM_AND && op <= ASM_INVERT) || op == ASM_SAME;
    if (a->kind == ASM_FLOAT) return op < ASM_AND || op >= ASM_SAME;
    if (a->eight && integer[op].four)
        return op == ASM_MAXIMUM || op == ASM_MINIMUM; /* in two instructions */
    return bits || integer_code(a, op) != 0;
}

bool asm_constant(const Asm *a, AsmOp op, int i, uint64_t *bits) {
    bool one = i == 0 && (op == ASM_RECIPROCAL || op == ASM_ONE_WHERE);
    if (one) *bits = asm_one(a);
    return one;
}

bool asm_takes_spare(const Asm *a, AsmOp op) {
    (void)a;
    return instruction[op].how == EXTREME || instruction[op].how == WHERE;
}

static void emit_pair(Asm *a, uint32_t op, int to, int x, int y) {
    emit(a, a64_pair((A64Pair)op, a->eight, to, x, y));
}

/* x where it is not beyond y, or a nan, else y. fmax and fmin know no order of equals:
 * to them 0 is above -0. */
static void emit_extreme(Asm *a, bool largest, int to, int x, int y) {
    int spare = hardware(ASM_SPARE);
    emit_pair(a, A64_FCMGE, spare, largest ? x : y, largest ? y : x);
    emit_pair(a, A64_FCMEQ, to, x, x);
    emit(a, a64_bits(A64_ORN, to, spare, to));
    emit(a, a64_bits(A64_BSL, to, x, y));
}

static void emit_extreme_integer(Asm *a, bool largest, int to, int x, int y) {
    uint32_t above = a->kind == ASM_UNSIGNED ? A64_CMHI : A64_CMGT;
    emit_pair(a, above, to, largest ? x : y, largest ? y : x);
    emit(a, a64_bits(A64_BSL, to, x, y));
}

static void emit_unequal(Asm *a, uint32_t equal, int to, int x, int y) {
    emit_pair(a, equal, to, x, y);
    emit(a, a64_not(to, to));
}

void asm_op(Asm *a, AsmOp op, int to, const int in[ASM_INPUTS],
            const int constant[ASM_CONSTANTS]) {
    uint32_t whole = integer_code(a, op), code = whole ? whole : instruction[op].code;
    How how = whole ? integer[op].how : instruction[op].how;
    int k = hardware(constant[0]), x = hardware(in[0]), y = hardware(in[1]),
        z = hardware(in[2]);
    to = hardware(to);
    if (whole && a->eight && integer[op].four) {
        emit_extreme_integer(a, op == ASM_MAXIMUM, to, x, y);
        return;
    }
    switch (how) {
    case PAIR:
        emit_pair(a, code, to, x, y);
        break;
    case EXTREME:
        emit_extreme(a, op == ASM_MAXIMUM, to, x, y);
        break;
    case SQUARE:
        emit_pair(a, code, to, x, x);
        break;
    case UNARY:
        emit(a, a64_unary((A64Unary)code, a->eight, to, x));
        break;
    case RECIPROCAL:
        emit_pair(a, code, to, k, x);
        break;
    case TURNED:
        emit_pair(a, code, to, y, x);
        break;
    case UNEQUAL:
        emit_unequal(a, code, to, x, y);
        break;
    case SELF_UNEQUAL:
        emit_unequal(a, code, to, x, x);
        break;
    case FINITE: /* x - x is a number */
        emit_pair(a, code, to, x, x);
        emit_pair(a, A64_FCMEQ, to, to, to);
        break;
    case PAIR_BITS:
        emit(a, a64_bits((A64Bits)code, to, x, y));
        break;
    case NOT_BITS:
        emit(a, a64_not(to, x));
        break;
    case SAME:
        emit(a, a64_bits((A64Bits)code, to, x, x));
        break;
    case ONE_WHERE:
        emit(a, a64_bits((A64Bits)code, to, x, k));
        break;
    case WHERE: /* bsl overwrites the mask */
        emit(a, a64_bits(A64_ORR, to, x, x));
        emit(a, a64_bits((A64Bits)code, to, y, z));
        break;
    }
}

/* ---- memory ---- */

static A64Size step_size(const Asm *a) {
    return a->width != WIDTH_ONE ? A64_Q : a->eight ? A64_D : A64_S;
}

void asm_load(Asm *a, int to, int operand) {
    emit(a, a64_load(step_size(a), hardware(to), POINTER + operand, OFFSET));
}

void asm_store(Asm *a, int from, int operand, bool past) {
    (void)past; /* not if !ASM_STREAMS */
    emit(a, a64_store(step_size(a), hardware(from), POINTER + operand, OFFSET));
}

void asm_spread(Asm *a, int to, size_t at) {
    emit(a, a64_address(ADDRESS, (int64_t)at - (int64_t)a->code.n));
    emit(a, a64_load_all(a->eight, hardware(to), ADDRESS));
}

void asm_spread_element(Asm *a, int to, int operand) {
    emit(a, a64_load_all(a->eight, hardware(to), POINTER + operand));
}

/* ---- sums ---- */

void asm_load_sum(Asm *a, int to, int i) {
    emit(a, a64_load_nth(hardware(to), OUT, i));
}

void asm_store_sum(Asm *a, int from, int i) {
    emit(a, a64_store_nth(hardware(from), OUT, i));
}

void asm_store_total(Asm *a, int from, int operand) {
    Asm before = *a;
    a->eight = true;
    asm_store(a, from, operand, false);
    a->eight = before.eight;
}

void asm_load_total(Asm *a, int to, int operand) {
    Asm before = *a;
    a->eight = true;
    asm_load(a, to, operand);
    a->eight = before.eight;
}

void asm_copy_sum(Asm *a, int to, int x) {
    emit(a, a64_bits(A64_ORR, hardware(to), hardware(x), hardware(x)));
}

void asm_add_sum(Asm *a, int to, int x) {
    emit(a, a64_pair(A64_FADD, true, hardware(to), hardware(to), hardware(x)));
}

void asm_start_turns(Asm *a, int k) {
    emit(a, a64_clear_low(IN, COUNT, k + (a->eight ? 3 : 2)));
}

void asm_go_to_sum(Asm *a, int k) {
    emit(a, a64_clear_low(IN, OFFSET, k + (a->eight ? 3 : 2)));
    emit(a, a64_subtract_register(IN, OFFSET, IN));
    if (!a->eight) emit(a, a64_shift_left(IN, IN, 1));
    emit(a, a64_add_register(OUT, OUT, IN));
}

void asm_add_to_sum(Asm *a, int to, int x) {
    enum { NOTHING = 31 };
    int sum = hardware(to + 1);
    if (!a->eight) emit(a, a64_widen(hardware(to), hardware(x), false)), x = to;
    emit(a, a64_load(A64_D, sum, OUT, NOTHING));
    emit(a, a64_pair(A64_FADD, true, sum, sum, hardware(x)));
    emit(a, a64_store(A64_D, sum, OUT, NOTHING));
    emit(a, a64_add(OUT, OUT, 8));
}

/* There are no masks. */

void asm_start_rest(Asm *a) {
    (void)a;
}

void asm_mask_step(Asm *a) {
    (void)a;
}

size_t asm_unless_rest(Asm *a) {
    return a->code.n;
}

void asm_ask(Asm *a, int operand, size_t ahead) {
    (void)a, (void)operand, (void)ahead;
}

void asm_widen(Asm *a, int to, int x, int half) {
    emit(a, a64_widen(hardware(to), hardware(x), half > 0));
}

/* ---- the frame ---- */

void asm_begin(Asm *a, uint32_t nin, uint32_t nout, uint32_t more) {
    (void)more;
    for (uint32_t i = 0; i < nin; i++)
        emit(a, a64_load_word(POINTER + (int)i, IN, i));
    for (uint32_t j = 0; j < nout; j++)
        emit(a, a64_load_word(POINTER + (int)(nin + j), OUT, j));
}

void asm_begin_sums(Asm *a, uint32_t nin) {
    asm_begin(a, nin, 0, 0);
    emit(a, a64_load_word(OUT, OUT, 0));
}

void asm_start(Asm *a) {
    emit(a, a64_zero(OFFSET));
    emit(a, a64_shift_left(COUNT, COUNT, a->eight ? 3 : 2));
}

void asm_start_vectors(Asm *a) {
    enum { BITS = 4 }; /* of an offset in a vector */
    emit(a, a64_clear_low(IN, COUNT, BITS));
}

void asm_step(Asm *a) {
    emit(a, a64_add(OFFSET, OFFSET, asm_bytes(a)));
}

void asm_if_before(Asm *a, AsmEnd end, size_t at) {
    emit(a, a64_compare(OFFSET, end_of(end)));
    emit(a, a64_jump_if(A64_BELOW, (int64_t)at - (int64_t)a->code.n));
}

/* A jump is the word before the position returned; where to is in the same place of
 * all of them. */
size_t asm_unless_before(Asm *a, AsmEnd end) {
    emit(a, a64_compare(OFFSET, end_of(end)));
    emit(a, a64_jump_if(A64_NOT_BELOW, 0));
    return a->code.n;
}

void asm_here(Asm *a, size_t jump) {
    uint32_t far = a64_far((int64_t)(a->code.n - jump + 4));
    for (int k = 0; k < 4; k++)
        a->code.p[jump - 4 + (size_t)k] |= (uint8_t)(far >> 8 * k);
}

void asm_end(Asm *a, uint32_t noperand) {
    (void)noperand;
    emit(a, a64_zero(COUNT));
    emit(a, a64_return());
}

/* ---- loops around it ---- */

void asm_take_input(Asm *a, int operand, uint32_t input) {
    emit(a, a64_load_word(POINTER + operand, IN, input));
}

void asm_take_output(Asm *a, int operand, uint32_t output) {
    emit(a, a64_load_word(POINTER + operand, OUT, output));
}

void asm_start_again(Asm *a) {
    emit(a, a64_zero(OFFSET));
}

void asm_move(Asm *a, int operand, uint32_t word) {
    int p = POINTER + operand;
    emit(a, a64_load_word(ADDRESS, OUT, word));
    emit(a, a64_add_register(p, p, ADDRESS));
}

void asm_move_on(Asm *a, int operand, int bytes) {
    emit(a, a64_add(POINTER + operand, POINTER + operand, bytes));
}

size_t asm_count(Asm *a, int operand, uint32_t word) {
    emit(a, a64_load_word(POINTER + operand, OUT, word));
    emit(a, a64_jump_if_zero(POINTER + operand, 0));
    return a->code.n;
}

void asm_count_down(Asm *a, int operand, size_t at) {
    int r = POINTER + operand;
    emit(a, a64_subtract(r, r, 1));
    emit(a, a64_jump_unless_zero(r, (int64_t)at - (int64_t)a->code.n));
}

void asm_store_count(Asm *a, int operand, uint32_t word) {
    emit(a, a64_store_word(POINTER + operand, OUT, word));
}

void asm_store_mask(Asm *a, int from, int operand) {
    emit(a, a64_from_vector(ADDRESS, hardware(from)));
    emit(a, a64_lowest_bit(ADDRESS, ADDRESS));
    emit(a, a64_store_byte(ADDRESS, POINTER + operand, OFFSET));
}

size_t asm_if_true(Asm *a, int operand) {
    emit(a, a64_load_byte(ADDRESS, POINTER + operand, OFFSET));
    emit(a, a64_jump_unless_zero(ADDRESS, 0));
    return a->code.n;
}

#endif
