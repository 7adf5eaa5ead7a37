/* Machine code as jit.c, body.c and sums.c put it together, for any family of
 * CPUs: x86.c and arm64.c have the instructions. A function has the signature of all
 * loops. Vectors are numbered from 0, operands inputs first, then outputs; a counter of
 * bytes walks along the operands, all at once, to the end of the whole vectors and then
 * to that of the elements. */
#ifndef VM_ASM_H
#define VM_ASM_H

#include "base/mem.h"

/* ASM_STREAMS: are there stores that bypass the caches? */
#if defined(__x86_64__)
#define HAS_ASM 1
enum { ASM_VECTORS = 16, ASM_POINTERS = 11, ASM_STREAMS = true };
#elif defined(__AARCH64EL__)
#define HAS_ASM 1
enum { ASM_VECTORS = 24, ASM_POINTERS = 13, ASM_STREAMS = false };
#else
#define HAS_ASM 0
enum { ASM_VECTORS = 1, ASM_POINTERS = 1 };
#endif
enum { ASM_SPARE = ASM_VECTORS - 1 }; /* for ops of several instructions */
enum { ASM_KEPT = 6 }; /* inputs that may stay in vectors for all steps */

/* What one step of a loop covers: an element, or a vector of so many bits. */
typedef enum Width { WIDTH_ONE, WIDTH_128, WIDTH_256, WIDTH_512 } Width;

/* What the bits of an element mean to an op. */
typedef enum AsmKind { ASM_FLOAT, ASM_SIGNED, ASM_UNSIGNED } AsmKind;

typedef struct Asm {
    Session *s;
    Vec(uint8_t) code;
    Width widest; /* of this CPU's vectors */
    Width width;  /* of the steps that follow */
    bool
        masked; /* these load and store what is left after the whole vectors, at once */
    bool eight; /* an element has so many bytes, or else four */
    AsmKind kind; /* of the elements of the op that follows */
    bool passes;  /* it compares for the next op alone, which chooses, or it is that
                   * one: the mask need not be in a vector */
} Asm;

typedef enum AsmOp {
    ASM_ADD,
    ASM_SUBTRACT,
    ASM_MULTIPLY,
    ASM_DIVIDE,
    ASM_MAXIMUM,
    ASM_MINIMUM,
    ASM_SQUARE,
    ASM_SQRT,
    ASM_NEGATIVE,
    ASM_ABS,
    ASM_RECIPROCAL,
    ASM_ROUND,
    ASM_FLOOR,
    ASM_CEIL,
    ASM_TRUNC,
    /* these take integers */
    ASM_AND,
    ASM_OR,
    ASM_XOR,
    ASM_INVERT,
    ASM_SHIFT_LEFT, /* by no negative number; by too large a one, all bits go */
    ASM_SHIFT_RIGHT,
    ASM_TO_FLOAT, /* of the same size */
    ASM_SAME,     /* the bits */
    /* these make masks: all bits of an element are set, or none */
    ASM_EQUAL,
    ASM_NOT_EQUAL,
    ASM_LESS,
    ASM_LESS_EQUAL,
    ASM_GREATER,
    ASM_GREATER_EQUAL,
    ASM_ISNAN,
    ASM_ISFINITE,
    ASM_BOTH, /* of masks */
    ASM_EITHER,
    ASM_ONE_OF_BOTH,
    ASM_NOT,
    /* and these take one: 1 or 0; y where it is set, else z */
    ASM_ONE_WHERE,
    ASM_WHERE
} AsmOp;
enum { ASM_INPUTS = 3 };

static inline bool asm_makes_mask(AsmOp op) {
    return op >= ASM_EQUAL && op <= ASM_NOT;
}
static inline bool asm_compares(AsmOp op) {
    return op >= ASM_EQUAL && op <= ASM_ISFINITE;
}
static inline bool asm_reads_mask(AsmOp op, uint32_t i) {
    return (op >= ASM_BOTH && op <= ASM_ONE_WHERE) || (op == ASM_WHERE && i == 0);
}

static inline int width_bytes(Width width) { /* of a vector */
    return 8 << width;
}

static inline int asm_bytes(const Asm *a) { /* of a step */
    return a->width != WIDTH_ONE ? width_bytes(a->width) : a->eight ? 8 : 4;
}

static inline uint64_t asm_one(const Asm *a) { /* the bits of 1 */
    if (a->kind != ASM_FLOAT) return 1;
    return a->eight ? UINT64_C(0x3FF) << 52 : UINT64_C(0x7F) << 23;
}

/* WIDTH_ONE: no machine code is made for this level of CPU. */
Width asm_widest(int cpu_level);
bool asm_masks(const Asm *a); /* can steps be masked? */

/* Has this CPU the op for elements of this size and kind? */
bool asm_has(const Asm *a, AsmOp op);
/* Does an op need a number, or a bit mask, in every element of a vector: number i, from
 * 0? */
enum { ASM_CONSTANTS = 3 };
bool asm_constant(const Asm *a, AsmOp op, int i, uint64_t *bits);
/* Does it overwrite ASM_SPARE, and must its result be another vector than its inputs?
 */
bool asm_takes_spare(const Asm *a, AsmOp op);
/* to = op of these vectors; k: the ones with those constants. */
void asm_op(Asm *a, AsmOp op, int to, const int in[ASM_INPUTS],
            const int k[ASM_CONSTANTS]);

/* Where the counter is; past: bypasses the caches, whole vectors only. */
void asm_load(Asm *a, int to, int operand);
void asm_store(Asm *a, int from, int operand, bool past);
/* Every element of a vector becomes the constant at byte `at` of the code, or the
 * element to which an operand points, wherever the counter is. */
void asm_spread(Asm *a, int to, size_t at);
void asm_spread_element(Asm *a, int to, int operand);

/* Sums in float64, in vectors of a->widest: number i of them in memory. */
void asm_load_sum(Asm *a, int to, int i);
void asm_store_sum(Asm *a, int from, int i);
/* END_VECTORS becomes the end of whole turns of 2^k elements, of which each has a sum.
 * If steps can be masked: fewer than 32 elements are left, which masked steps take; the
 * next one does, and may have none. If they can't: the sums in memory from that of the
 * next element on, and a step of one element that adds it there; `to` and the vector
 * after it are free. */
void asm_start_turns(Asm *a, int k);
void asm_go_to_sum(Asm *a, int k);
void asm_add_to_sum(Asm *a, int to, int x);
void asm_start_rest(Asm *a);
void asm_mask_step(Asm *a);
size_t asm_unless_rest(Asm *a); /* jumps, to a position set by asm_here, at its end */
/* Asks for the cache line so many bytes after an operand's element, if that pays. */
void asm_ask(Asm *a, int operand, size_t ahead);
/* The first element, or a vector of a->widest, where an operand and the counter are. */
void asm_store_total(Asm *a, int from, int operand);
void asm_load_total(Asm *a, int to, int operand);
void asm_copy_sum(Asm *a, int to, int x);
void asm_add_sum(Asm *a, int to, int x);
/* to = as float64, the lower or upper half of float32 x, if that fills a vector of
 * a->widest; if it fills half of one, all of it: half 0. */
void asm_widen(Asm *a, int to, int x, int half);

/* ---- the frame of a function, in this order ---- */
/* more: registers of operands beyond these. */
void asm_begin(Asm *a, uint32_t nin, uint32_t nout, uint32_t more);
void asm_begin_sums(Asm *a, uint32_t nin); /* output 0 is the sums */
void asm_start(Asm *a);                    /* the counter, and the elements' end */
void asm_start_vectors(Asm *a);            /* the end of whole vectors of a->width, and
                                            * the mask of what is left */
typedef enum AsmEnd { END_VECTORS, END_ELEMENTS } AsmEnd;
void asm_step(Asm *a); /* advances the counter */
/* Jumps if the counter is before an end, to byte `at` of the code; or if it isn't, to a
 * position set by asm_here. */
void asm_if_before(Asm *a, AsmEnd end, size_t at);
size_t asm_unless_before(Asm *a, AsmEnd end);
void asm_here(Asm *a, size_t jump);
void asm_end(Asm *a, uint32_t noperand); /* returns 0 */

/* ---- loops around it ---- */
/* An operand's register is given the address of an input, or of an output. */
void asm_take_input(Asm *a, int operand, uint32_t input);
void asm_take_output(Asm *a, int operand, uint32_t output);
/* What the array of outputs has after them is numbered on, in words of 8 bytes, below
 * ASM_WORDS. An operand's register may also count. */
enum { ASM_WORDS = 32 };
void asm_start_again(Asm *a);                      /* the counter */
void asm_move(Asm *a, int operand, uint32_t word); /* by so many bytes */
void asm_move_on(Asm *a, int operand, int bytes);  /* below 128 */
/* Loads a count; jumps, to a position set by asm_here, if it is 0. */
size_t asm_count(Asm *a, int operand, uint32_t word);
void asm_count_down(Asm *a, int operand, size_t at); /* jumps unless that makes it 0 */
void asm_store_count(Asm *a, int operand, uint32_t word);
/* A mask of one element as a bool; jumps, to a position set by asm_here, if that is
 * true. */
void asm_store_mask(Asm *a, int from, int operand);
size_t asm_if_true(Asm *a, int operand);

#endif
