/* The ops of machine code of x86-64. Below 512 bits AVX2 lacks some of integers: those
 * take a few instructions and ASM_SPARE. */
#include "vm/jit/asm.h"

#ifdef __x86_64__
#include "vm/jit/x86.h"

/* That quiet nans don't signal; whether nans count is part of it. */
enum {
    EQUAL = 0x00,
    UNORDERED = 0x03,
    NOT_EQUAL = 0x04,
    ORDERED = 0x07,
    LESS = 0x11,
    LESS_EQUAL = 0x12,
    GREATER_EQUAL = 0x1D,
    GREATER = 0x1E
};

/* vroundps and vrndscaleps have one opcode; single elements take the upper ones of x.
 */
static void emit_round(Asm *a, int to, int x, int how) {
    Form f = x86_form(PP_66, MAP_0F3A, a->eight ? 0x09 : 0x08,
                      a->eight && a->width == WIDTH_512);
    if (a->width == WIDTH_ONE) f.opcode += 2;
    x86_registers(a, f, to, a->width == WIDTH_ONE ? x : NO_REG, x);
    x86_byte(a, (unsigned)how);
}

static Form blend_form(const Asm *a) {
    return x86_form(PP_66, MAP_0F3A, a->eight ? 0x4B : 0x4A, false);
}

/* Do masks come from k1 and go there? Of 512 bits they must; narrower ones of a CPU
 * that has it may, and by vblendvps a choice costs some of these CPUs more. */
static bool by_k1(const Asm *a) {
    return a->widest == WIDTH_512 && a->width != WIDTH_ONE;
}

static void compare_to_k1(Asm *a, Form f, int how, int x, int y) {
    f.evex = true;
    f.w = a->eight;
    x86_registers(a, f, K1, x, y);
    x86_byte(a, (unsigned)how);
}

/* to = y where y is a nan. */
static void emit_unless_nan(Asm *a, int to, int y) {
    if (by_k1(a)) {
        Form f = x86_packed(a, X_MOVE);
        f.mask = K1;
        f.w = a->eight;
        compare_to_k1(a, x86_packed(a, X_COMPARE), UNORDERED, y, y);
        x86_registers(a, f, to, NO_REG, y);
        return;
    }
    x86_registers(a, x86_element(a, X_COMPARE), ASM_SPARE, y, y);
    x86_byte(a, UNORDERED);
    x86_registers(a, blend_form(a), to, to, y);
    x86_byte(a, (unsigned)ASM_SPARE << 4);
}

/* Of 512 bits comparisons set k1, from which vpternlogd makes all bits or none. */
static void emit_k1(Asm *a, int to) {
    Form f = x86_form(PP_66, MAP_0F3A, 0x25, a->eight);
    f.mask = K1;
    f.zeroes = true;
    x86_registers(a, f, to, to, to);
    x86_byte(a, 0xFF);
}

static bool keeps_k1(const Asm *a) {
    return by_k1(a) && a->passes;
}

static void emit_mask_of(Asm *a, int how, int to, int x, int y) {
    if (a->width == WIDTH_512 || keeps_k1(a)) {
        compare_to_k1(a, x86_packed(a, X_COMPARE), how, x, y);
        if (!keeps_k1(a)) emit_k1(a, to);
        return;
    }
    x86_registers(a, x86_element(a, X_COMPARE), to, x, y);
    x86_byte(a, (unsigned)how);
}

/* to = x where the mask is set, else y: vblendvps, or vptestmd and vblendmps. */
static void emit_where(Asm *a, int to, int mask, int x, int y) {
    if (a->width != WIDTH_512 && !keeps_k1(a)) {
        x86_registers(a, blend_form(a), to, y, x);
        x86_byte(a, (unsigned)mask << 4);
        return;
    }
    Form f = x86_form(PP_66, MAP_0F38, 0x65, a->eight);
    f.mask = K1;
    if (!keeps_k1(a))
        x86_registers(a, x86_form(PP_66, MAP_0F38, 0x27, a->eight), K1, mask, mask);
    x86_registers(a, f, to, y, x);
}

/* ---- of floats, and of bits ---- */

/* BITS: with a constant. ROUND: 8 nearest, 9 down, 10 up, 11 to 0. */
typedef enum How {
    PAIR,
    EXTREME,
    SQUARE,
    ROOT,
    RECIPROCAL,
    BITS,
    ROUND,
    MASK, /* the code is the comparison */
    MASK_SELF,
    MASK_FINITE,
    PAIR_BITS,
    SAME,
    WHERE
} How;
static const struct {
    How how;
    int code;
} instruction[] = {
    [ASM_ADD] = {PAIR, X_ADD},
    [ASM_SUBTRACT] = {PAIR, X_SUB},
    [ASM_MULTIPLY] = {PAIR, X_MUL},
    [ASM_DIVIDE] = {PAIR, X_DIV},
    [ASM_MAXIMUM] = {EXTREME, X_MAX},
    [ASM_MINIMUM] = {EXTREME, X_MIN},
    [ASM_SQUARE] = {SQUARE, X_MUL},
    [ASM_SQRT] = {ROOT, X_SQRT},
    [ASM_NEGATIVE] = {BITS, X_XOR},
    [ASM_ABS] = {BITS, X_AND},
    [ASM_RECIPROCAL] = {RECIPROCAL, X_DIV},
    [ASM_ROUND] = {ROUND, 8},
    [ASM_FLOOR] = {ROUND, 9},
    [ASM_CEIL] = {ROUND, 10},
    [ASM_TRUNC] = {ROUND, 11},
    [ASM_EQUAL] = {MASK, EQUAL},
    [ASM_NOT_EQUAL] = {MASK, NOT_EQUAL},
    [ASM_LESS] = {MASK, LESS},
    [ASM_LESS_EQUAL] = {MASK, LESS_EQUAL},
    [ASM_GREATER] = {MASK, GREATER},
    [ASM_GREATER_EQUAL] = {MASK, GREATER_EQUAL},
    [ASM_ISNAN] = {MASK_SELF, UNORDERED},
    [ASM_ISFINITE] = {MASK_FINITE, ORDERED},
    [ASM_BOTH] = {PAIR_BITS, X_AND},
    [ASM_EITHER] = {PAIR_BITS, X_OR},
    [ASM_ONE_OF_BOTH] = {PAIR_BITS, X_XOR},
    [ASM_NOT] = {BITS, X_XOR},
    [ASM_ONE_WHERE] = {BITS, X_AND},
    [ASM_WHERE] = {WHERE, 0},
    [ASM_AND] = {PAIR_BITS, X_AND},
    [ASM_OR] = {PAIR_BITS, X_OR},
    [ASM_XOR] = {PAIR_BITS, X_XOR},
    [ASM_INVERT] = {BITS, X_XOR},
    [ASM_SAME] = {SAME, X_MOVE},
};

static void emit_float_op(Asm *a, AsmOp op, int to, const int in[ASM_INPUTS], int k) {
    int code = instruction[op].code, x = in[0], y = in[1];
    switch (instruction[op].how) {
    case PAIR:
        x86_registers(a, x86_element(a, code), to, x, y);
        break;
    case EXTREME: /* the instruction returns its second operand for equals and for
                   * nans */
        x86_registers(a, x86_element(a, code), to, y, x);
        emit_unless_nan(a, to, y);
        break;
    case SQUARE:
        x86_registers(a, x86_element(a, code), to, x, x);
        break;
    case ROOT:
        x86_registers(a, x86_element(a, code), to, a->width == WIDTH_ONE ? x : NO_REG,
                      x);
        break;
    case RECIPROCAL:
        x86_registers(a, x86_element(a, code), to, k, x);
        break;
    case BITS:
        x86_registers(a, x86_packed(a, code), to, x, k);
        break;
    case ROUND:
        emit_round(a, to, x, code);
        break;
    case MASK:
        emit_mask_of(a, code, to, x, y);
        break;
    case MASK_SELF:
        emit_mask_of(a, code, to, x, x);
        break;
    case MASK_FINITE: /* x - x is a number */
        x86_registers(a, x86_element(a, X_SUB), to, x, x);
        emit_mask_of(a, code, to, to, to);
        break;
    case PAIR_BITS:
        x86_registers(a, x86_packed(a, code), to, x, y);
        break;
    case SAME:
        x86_registers(a, x86_packed(a, code), to, NO_REG, x);
        break;
    case WHERE:
        emit_where(a, to, x, y, in[2]);
        break;
    }
}

/* ---- of integers ---- */

/* The opcodes for four bytes and for eight. EXTREMES: of unsigned numbers, 2 more, and
 * for eight bytes there are none below 512 bits. */
typedef enum IntegerHow {
    NOT_THERE,
    WHOLE_PAIR,
    PRODUCT,
    WHOLE_SQUARE,
    EXTREMES,
    MINUS,
    MAGNITUDE,
    COMPARISON, /* the code is what vpcmpd takes */
    SHIFT,
    CONVERT
} IntegerHow;
static const struct {
    IntegerHow how;
    int map, four, eight;
} integer[ASM_WHERE + 1] = {
    [ASM_ADD] = {WHOLE_PAIR, MAP_0F, 0xFE, 0xD4},
    [ASM_SUBTRACT] = {WHOLE_PAIR, MAP_0F, 0xFA, 0xFB},
    [ASM_MULTIPLY] = {PRODUCT, MAP_0F38, 0x40, 0x40},
    [ASM_SQUARE] = {WHOLE_SQUARE, MAP_0F38, 0x40, 0x40},
    [ASM_MAXIMUM] = {EXTREMES, MAP_0F38, 0x3D, 0x3D},
    [ASM_MINIMUM] = {EXTREMES, MAP_0F38, 0x39, 0x39},
    [ASM_NEGATIVE] = {MINUS, MAP_0F, 0xFA, 0xFB},
    [ASM_ABS] = {MAGNITUDE, MAP_0F38, 0x1E, 0x1F},
    [ASM_EQUAL] = {COMPARISON, 0, 0, 0},
    [ASM_LESS] = {COMPARISON, 0, 1, 1},
    [ASM_LESS_EQUAL] = {COMPARISON, 0, 2, 2},
    [ASM_NOT_EQUAL] = {COMPARISON, 0, 4, 4},
    [ASM_GREATER_EQUAL] = {COMPARISON, 0, 5, 5},
    [ASM_GREATER] = {COMPARISON, 0, 6, 6},
    [ASM_SHIFT_LEFT] = {SHIFT, MAP_0F38, 0x47, 0x47},
    [ASM_SHIFT_RIGHT] = {SHIFT, MAP_0F38, 0x45, 0x45},
    [ASM_TO_FLOAT] = {CONVERT, MAP_0F, 0x5B, 0xE6},
};

static Form whole(const Asm *a, int map, int opcode) {
    return x86_form(PP_66, map, opcode, a->eight);
}

static void emit_code(Asm *a, AsmOp op, int to, int x, int y) {
    int code = a->eight ? integer[op].eight : integer[op].four;
    x86_registers(a, whole(a, integer[op].map, code), to, x, y);
}

static void emit_nothing(Asm *a, int to) { /* 0 */
    x86_registers(a, x86_packed(a, X_XOR), to, to, to);
}

static void emit_equal(Asm *a, int to, int x, int y) {
    Form f = a->eight ? whole(a, MAP_0F38, 0x29) : whole(a, MAP_0F, 0x76);
    x86_registers(a, f, to, x, y);
}

static void emit_greater(Asm *a, int to, int x, int y) {
    Form f = a->eight ? whole(a, MAP_0F38, 0x37) : whole(a, MAP_0F, 0x66);
    x86_registers(a, f, to, x, y);
}

/* x > y by turning the highest bit k of unsigned numbers; ASM_SPARE and `to` are free
 * to hold them. */
static void emit_above(Asm *a, int to, int x, int y, int k) {
    if (a->kind != ASM_UNSIGNED) {
        emit_greater(a, to, x, y);
        return;
    }
    x86_registers(a, x86_packed(a, X_XOR), ASM_SPARE, x, k);
    x86_registers(a, x86_packed(a, X_XOR), to, y, k);
    emit_greater(a, to, ASM_SPARE, to);
}

static void emit_not(Asm *a, int to) {
    emit_equal(a, ASM_SPARE, ASM_SPARE, ASM_SPARE);
    x86_registers(a, x86_packed(a, X_XOR), to, to, ASM_SPARE);
}

static void emit_comparison(Asm *a, int how, int to, int x, int y, int k) {
    if (a->width == WIDTH_512 || keeps_k1(a)) {
        int code = a->kind == ASM_UNSIGNED ? 0x1E : 0x1F;
        compare_to_k1(a, whole(a, MAP_0F3A, code), how, x, y);
        if (!keeps_k1(a)) emit_k1(a, to);
        return;
    }
    int base = how & 3;
    if (base == 0)
        emit_equal(a, to, x, y);
    else if (base == 1)
        emit_above(a, to, y, x, k);
    else
        emit_above(a, to, x, y, k);
    if ((how >= 4) != (base == 2)) emit_not(a, to);
}

static bool has_eight(const Asm *a) { /* all ops of such integers */
    return !a->eight || a->width == WIDTH_512;
}

static void emit_extreme(Asm *a, AsmOp op, int to, int x, int y, int k) {
    if (has_eight(a)) {
        int code = integer[op].four + (a->kind == ASM_UNSIGNED ? 2 : 0);
        x86_registers(a, whole(a, MAP_0F38, code), to, x, y);
        return;
    }
    emit_above(a, to, x, y, k);
    emit_where(a, to, to, op == ASM_MAXIMUM ? x : y, op == ASM_MAXIMUM ? y : x);
}

/* vpmuludq multiplies the lower halves of eight bytes. */
static void emit_product(Asm *a, int to, int x, int y) {
    if (has_eight(a)) {
        emit_code(a, ASM_MULTIPLY, to, x, y);
        return;
    }
    enum { BY_BYTE = 0x73, RIGHT = 2, LEFT = 6, HALF = 32 };
    Form multiply = whole(a, MAP_0F, 0xF4), shift = whole(a, MAP_0F, BY_BYTE);
    x86_registers(a, shift, RIGHT, ASM_SPARE, x);
    x86_byte(a, HALF);
    x86_registers(a, multiply, ASM_SPARE, ASM_SPARE, y);
    x86_registers(a, shift, RIGHT, to, y);
    x86_byte(a, HALF);
    x86_registers(a, multiply, to, to, x);
    emit_code(a, ASM_ADD, ASM_SPARE, ASM_SPARE, to);
    x86_registers(a, shift, LEFT, ASM_SPARE, ASM_SPARE);
    x86_byte(a, HALF);
    x86_registers(a, multiply, to, x, y);
    emit_code(a, ASM_ADD, to, to, ASM_SPARE);
}

/* ASM_SPARE = all bits where x is negative, or none. */
static void emit_signs(Asm *a, int x) {
    emit_nothing(a, ASM_SPARE);
    emit_greater(a, ASM_SPARE, ASM_SPARE, x);
}

static void emit_magnitude(Asm *a, int to, int x) {
    if (has_eight(a)) {
        emit_code(a, ASM_ABS, to, NO_REG, x);
        return;
    }
    emit_signs(a, x);
    x86_registers(a, x86_packed(a, X_XOR), to, x, ASM_SPARE);
    emit_code(a, ASM_SUBTRACT, to, to, ASM_SPARE);
}

/* To the right signed numbers are filled with their sign: one code more; without it,
 * bits are turned before and after. */
static void emit_shift_of(Asm *a, AsmOp op, int to, int x, int y) {
    if (a->kind == ASM_UNSIGNED || op == ASM_SHIFT_LEFT) {
        emit_code(a, op, to, x, y);
    } else if (has_eight(a)) {
        x86_registers(a, whole(a, MAP_0F38, integer[op].four + 1), to, x, y);
    } else {
        emit_signs(a, x);
        x86_registers(a, x86_packed(a, X_XOR), to, x, ASM_SPARE);
        emit_code(a, op, to, to, y);
        x86_registers(a, x86_packed(a, X_XOR), to, to, ASM_SPARE);
    }
}

/* Without vcvtqq2pd: the lower half of x as what is added to k[0], 2^52, and the upper
 * one, its sign turned, to k[1], 2^84 + 2^63; k[2] is all that is too much. Only the
 * last sum rounds. */
static void emit_to_float(Asm *a, int to, int x, const int k[ASM_CONSTANTS]) {
    enum { BY_BYTE = 0x73, RIGHT = 2, BLEND = 0x02, UPPER = 0xAA };
    x86_registers(a, whole(a, MAP_0F, BY_BYTE), RIGHT, ASM_SPARE, x);
    x86_byte(a, 32);
    x86_registers(a, x86_packed(a, X_XOR), ASM_SPARE, ASM_SPARE, k[1]);
    x86_registers(a, x86_packed(a, X_SUB), ASM_SPARE, ASM_SPARE, k[2]);
    x86_registers(a, x86_form(PP_66, MAP_0F3A, BLEND, false), to, x, k[0]);
    x86_byte(a, UPPER);
    x86_registers(a, x86_packed(a, X_ADD), to, to, ASM_SPARE);
}

/* Has the CPU no instruction for it? */
static bool converts_in_halves(const Asm *a, AsmOp op) {
    return op == ASM_TO_FLOAT && a->eight && a->widest != WIDTH_512;
}

static void emit_integer_op(Asm *a, AsmOp op, int to, const int in[ASM_INPUTS],
                            const int k[ASM_CONSTANTS]) {
    int x = in[0], y = in[1];
    switch (integer[op].how) {
    case NOT_THERE:
        break;
    case WHOLE_PAIR:
        emit_code(a, op, to, x, y);
        break;
    case PRODUCT:
        emit_product(a, to, x, y);
        break;
    case WHOLE_SQUARE:
        emit_product(a, to, x, x);
        break;
    case EXTREMES:
        emit_extreme(a, op, to, x, y, k[0]);
        break;
    case MINUS:
        emit_nothing(a, ASM_SPARE);
        emit_code(a, op, to, ASM_SPARE, x);
        break;
    case MAGNITUDE:
        emit_magnitude(a, to, x);
        break;
    case COMPARISON:
        emit_comparison(a, integer[op].four, to, x, y, k[0]);
        break;
    case SHIFT:
        emit_shift_of(a, op, to, x, y);
        break;
    case CONVERT: { /* vcvtdq2ps, vcvtqq2pd */
        if (converts_in_halves(a, op)) {
            emit_to_float(a, to, x, k);
            break;
        }
        Form f = x86_form(a->eight ? PP_F3 : PP_NONE, MAP_0F, 0, a->eight);
        f.opcode = a->eight ? integer[op].eight : integer[op].four;
        f.evex = a->eight;
        x86_registers(a, f, to, NO_REG, x);
        break;
    }
    }
}

/* ---- any op ---- */

bool asm_has(const Asm *a, AsmOp op) {
    bool whole_only = op >= ASM_AND && op < ASM_SAME,
         bits = op >= ASM_BOTH || (op >= ASM_AND && op <= ASM_INVERT) || op == ASM_SAME;
    if (a->kind == ASM_FLOAT) return !whole_only;
    if (op == ASM_ABS || op == ASM_TO_FLOAT) return a->kind == ASM_SIGNED;
    return bits || integer[op].how != NOT_THERE;
}

/* Where it has to be told from what an integer op is, whether vectors of 512 bits are
 * in use is no matter: some loops have narrower ones as well. */
bool asm_constant(const Asm *a, AsmOp op, int i, uint64_t *bits) {
    uint64_t sign = a->eight ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    if (a->kind != ASM_FLOAT && converts_in_halves(a, op)) {
        static const uint64_t is[] = {UINT64_C(0x4330000000000000),
                                      UINT64_C(0x4530000080000000),
                                      UINT64_C(0x4530000080100000)};
        *bits = is[i];
        return true;
    }
    if (i > 0) return false;
    if (a->kind != ASM_FLOAT && integer[op].how != NOT_THERE) {
        *bits = sign;
        return a->kind == ASM_UNSIGNED && (integer[op].how == COMPARISON ||
                                           (integer[op].how == EXTREMES && a->eight));
    }
    if (op == ASM_RECIPROCAL || op == ASM_ONE_WHERE) *bits = asm_one(a);
    if (op == ASM_NEGATIVE) *bits = sign;
    if (op == ASM_ABS) *bits = sign - 1;
    if (op == ASM_NOT || op == ASM_INVERT) *bits = sign | (sign - 1);
    return instruction[op].how == RECIPROCAL || instruction[op].how == BITS;
}

bool asm_takes_spare(const Asm *a, AsmOp op) {
    if (a->kind == ASM_FLOAT) return instruction[op].how == EXTREME;
    IntegerHow how = integer[op].how;
    return how == MINUS || how == COMPARISON || converts_in_halves(a, op) ||
           (a->eight && (how == PRODUCT || how == WHOLE_SQUARE || how == EXTREMES ||
                         how == MAGNITUDE || how == SHIFT));
}

void asm_op(Asm *a, AsmOp op, int to, const int in[ASM_INPUTS],
            const int k[ASM_CONSTANTS]) {
    if (a->kind != ASM_FLOAT && integer[op].how != NOT_THERE)
        emit_integer_op(a, op, to, in, k);
    else
        emit_float_op(a, op, to, in, k[0]);
}

#endif
