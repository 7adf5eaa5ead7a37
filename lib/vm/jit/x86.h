/* What the two files share that make machine code of x86-64: the VEX and EVEX
 * encodings (Intel's manual, volume 2, sections 2.3 and 2.7). Vectors have the
 * hardware's numbers. */
#ifndef VM_X86_H
#define VM_X86_H

#include "vm/jit/asm.h"

enum { PP_NONE, PP_66, PP_F3, PP_F2 };
enum { MAP_0F = 1, MAP_0F38, MAP_0F3A };
enum { NO_REG = 0 }; /* vvvv of forms with one operand less */
/* For one op; of what is left after the whole vectors. */
enum { K1 = 1, K2 };

/* Opcodes of map 0F that exist for vectors and single elements of floats of both sizes;
 * X_AND, X_OR and X_XOR, and the last ones, for vectors only. */
enum {
    X_LOAD = 0x10,
    X_STORE = 0x11,
    X_MOVE = 0x28,
    X_STREAM = 0x2B,
    X_SQRT = 0x51,
    X_AND = 0x54,
    X_OR = 0x56,
    X_XOR = 0x57,
    X_ADD = 0x58,
    X_MUL = 0x59,
    X_SUB = 0x5C,
    X_MIN = 0x5D,
    X_DIV = 0x5E,
    X_MAX = 0x5F,
    X_COMPARE = 0xC2
};

typedef struct Form {
    int pp, map, opcode;
    bool w;
    bool evex;   /* EVEX also below 512 bits, where VEX lacks it */
    int mask;    /* EVEX: write under it */
    bool zeroes; /* with a mask: elements that it leaves out become 0 */
} Form;

static inline Form x86_form(int pp, int map, int opcode, bool w) {
    return (Form){.pp = pp, .map = map, .opcode = opcode, .w = w};
}

/* Of vectors of floats. */
static inline Form x86_packed(const Asm *a, int opcode) {
    return x86_form(a->eight ? PP_66 : PP_NONE, MAP_0F, opcode,
                    a->eight && a->width == WIDTH_512);
}

/* Of such vectors, or of single elements. */
static inline Form x86_element(const Asm *a, int opcode) {
    Form f = x86_packed(a, opcode);
    if (a->width == WIDTH_ONE) f.pp = a->eight ? PP_F2 : PP_F3;
    return f;
}

static inline void x86_byte(Asm *a, unsigned b) {
    vec_push(a->s, &a->code, (uint8_t)b);
}

/* An instruction on vectors: reg is written, x the second operand of three. */
void x86_registers(Asm *a, Form f, int reg, int x, int y);

#endif
