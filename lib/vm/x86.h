/* Encoders for the few x86-64 instructions that vector arithmetic needs, in the VEX and
 * EVEX encodings (Intel's manual, volume 2, sections 2.3 and 2.7). Vector registers are
 * 0 to 15, general ones have the hardware's numbers. */
#ifndef VM_X86_H
#define VM_X86_H

#include "base/mem.h"

enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R15 = 15 };

/* Width of one step of a body. */
typedef enum Wide { WIDE_ONE, WIDE_256, WIDE_512 } Wide;

typedef struct Asm {
    Session *s;
    Vec(uint8_t) code;
    Wide wide;
    bool f64;
} Asm;

/* The opcodes of map 0F that exist for vectors and single elements, of both sizes. */
typedef enum Arith {
    X_SQRT = 0x51,
    X_ADD = 0x58,
    X_MUL = 0x59,
    X_SUB = 0x5C,
    X_MIN = 0x5D,
    X_DIV = 0x5E,
    X_MAX = 0x5F
} Arith;
typedef enum Bits { X_AND = 0x54, X_XOR = 0x57 } Bits;

static inline int asm_bytes(const Asm *a) { /* of a step */
    int one = a->f64 ? 8 : 4;
    return a->wide == WIDE_ONE ? one : a->wide == WIDE_256 ? 32 : 64;
}

void asm_arith(Asm *a, Arith op, int to, int x, int y); /* to = x op y */
void asm_bits(Asm *a, Bits op, int to, int x, int y);
void asm_round(Asm *a, int to, int x,
               int how); /* how: 8 nearest, 9 down, 10 up, 11 to 0 */
/* to = y where y is a nan; spare, which may be another one's, is overwritten. */
void asm_unless_nan(Asm *a, int to, int y, int spare);

/* At [base + rax]; past: bypasses the caches, whole vectors only. */
void asm_load(Asm *a, int to, int base);
void asm_store(Asm *a, int from, int base, bool past);
/* Sums in float64, in vectors of their own width: vector i at [base], and back. */
void asm_load_sum(Asm *a, int to, int base, int i, Wide wide);
void asm_store_sum(Asm *a, int from, int base, int i, Wide wide);
void asm_add_sum(Asm *a, int to, int x, Wide wide);
/* to = as float64, the first of the 32-bit vector x that fill a vector. */
void asm_widen(Asm *a, int to, int x, Wide wide);
void asm_upper(Asm *a, int to, int x); /* the upper half of 256 bits */
/* Broadcasts the constant at byte `at` of the code to every lane. */
void asm_spread(Asm *a, int to, size_t at, Wide wide);
/* The same of the element at [base + rax]. */
void asm_spread_element(Asm *a, int to, int base, Wide wide);

/* ---- general registers, 64 bits ---- */
void asm_push(Asm *a, int r);
void asm_pop(Asm *a, int r);
void asm_load_word(Asm *a, int to, int base,
                   int word); /* to = ((uint64_t *)base)[word] */
void asm_copy(Asm *a, int to, int from);
void asm_zero(Asm *a, int r);
void asm_shift_left(Asm *a, int r, int bits);
void asm_and(Asm *a, int r, int8_t mask);
void asm_add(Asm *a, int r, int8_t n);
void asm_compare(Asm *a, int x, int y);
/* Jumps if x was below y, or not below, as unsigned numbers: to byte `at` of the code,
 * or, for asm_unless_below, to a position set by asm_here. */
void asm_if_below(Asm *a, size_t at);
size_t asm_unless_below(Asm *a);
void asm_here(Asm *a, size_t jump);
void asm_end(
    Asm *a); /* vzeroupper; the function returns 0 after its pops and asm_return */
void asm_return(Asm *a);

#endif
