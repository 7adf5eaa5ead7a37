/* Words of the few A64 instructions that vector arithmetic needs (Arm Architecture
 * Reference Manual, chapters C6 and C7). Registers have the hardware's numbers. Nothing
 * here depends on the CPU that compiles it. */
#ifndef VM_ARM64_H
#define VM_ARM64_H

#include <stdbool.h>
#include <stdint.h>

/* ---- vectors of 128 bits: of 4 or 2 elements ---- */

/* With a bit for the size of elements. */
enum { A64_F64 = 1 << 22 };
typedef enum A64Pair {
    A64_FADD = 0x4E20D400,
    A64_FSUB = 0x4EA0D400,
    A64_FMUL = 0x6E20DC00,
    A64_FDIV = 0x6E20FC00,
    A64_FCMEQ = 0x4E20E400, /* all bits of an element, or none */
    A64_FCMGE = 0x6E20E400,
    A64_FCMGT = 0x6EA0E400,
    A64_ADD = 0x4EA08400, /* of integers */
    A64_SUB = 0x6EA08400,
    A64_MUL = 0x4EA09C00, /* these five: of four bytes only */
    A64_SMAX = 0x4EA06400,
    A64_SMIN = 0x4EA06C00,
    A64_UMAX = 0x6EA06400,
    A64_UMIN = 0x6EA06C00,
    A64_CMEQ = 0x6EA08C00,
    A64_CMGE = 0x4EA03C00,
    A64_CMGT = 0x4EA03400,
    A64_CMHS = 0x6EA03C00, /* as the two before, of unsigned numbers */
    A64_CMHI = 0x6EA03400
} A64Pair;
typedef enum A64Unary {
    A64_FSQRT = 0x6EA1F800,
    A64_FNEG = 0x6EA0F800,
    A64_FABS = 0x4EA0F800,
    A64_FRINTN = 0x4E218800, /* to nearest, halves to even */
    A64_FRINTM = 0x4E219800, /* down */
    A64_FRINTP = 0x4EA18800, /* up */
    A64_FRINTZ = 0x4EA19800, /* to 0 */
    A64_NEG = 0x6EA0B800,    /* of integers */
    A64_ABS = 0x4EA0B800,
    A64_SCVTF = 0x4E21D800, /* to floats */
    A64_UCVTF = 0x6E21D800
} A64Unary;
/* Of bits, whatever they mean. */
typedef enum A64Bits {
    A64_AND = 0x4E201C00, /* to = x & y */
    A64_EOR = 0x6E201C00, /* to = x ^ y */
    A64_ORR = 0x4EA01C00, /* to = x | y */
    A64_ORN = 0x4EE01C00, /* to = x | ~y */
    A64_BSL = 0x6E601C00  /* to = to ? x : y */
} A64Bits;

/* An opcode with registers where most instructions have them. */
static inline uint32_t a64_registers(uint32_t opcode, int to, int x, int y) {
    return opcode | (uint32_t)y << 16 | (uint32_t)x << 5 | (uint32_t)to;
}

static inline uint32_t a64_pair(A64Pair op, bool f64, int to, int x, int y) {
    return a64_registers(op | (f64 ? A64_F64 : 0U), to, x, y);
}

static inline uint32_t a64_unary(A64Unary op, bool f64, int to, int x) {
    return a64_registers(op | (f64 ? A64_F64 : 0U), to, x, 0);
}

static inline uint32_t a64_bits(A64Bits op, int to, int x, int y) {
    return a64_registers(op, to, x, y);
}

/* to = ~x */
static inline uint32_t a64_not(int to, int x) {
    return a64_registers(0x6E205800, to, x, 0);
}

/* fcvtl, fcvtl2: two float64 of the lower float32 of x, or of the upper ones. */
static inline uint32_t a64_widen(int to, int x, bool upper) {
    return a64_registers(upper ? 0x4E617800 : 0x0E617800, to, x, 0);
}

/* ---- memory ---- */

/* What is moved: s, d, q. The rest of a loaded vector is 0. */
typedef enum A64Size { A64_S, A64_D, A64_Q } A64Size;

/* At [base + index]. */
static inline uint32_t a64_load(A64Size size, int to, int base, int index) {
    static const uint32_t opcode[] = {0xBC606800, 0xFC606800, 0x3CE06800};
    return a64_registers(opcode[size], to, base, index);
}

static inline uint32_t a64_store(A64Size size, int from, int base, int index) {
    static const uint32_t opcode[] = {0xBC206800, 0xFC206800, 0x3CA06800};
    return a64_registers(opcode[size], from, base, index);
}

/* q number i at base, below 4096. */
static inline uint32_t a64_load_nth(int to, int base, int i) {
    return a64_registers(0x3DC00000 | (uint32_t)i << 10, to, base, 0);
}

static inline uint32_t a64_store_nth(int from, int base, int i) {
    return a64_registers(0x3D800000 | (uint32_t)i << 10, from, base, 0);
}

/* ld1r: an element at base, in all of to. */
static inline uint32_t a64_load_all(bool f64, int to, int base) {
    return a64_registers(f64 ? 0x4D40CC00 : 0x4D40C800, to, base, 0);
}

/* ---- general registers, 64 bits ---- */

/* x number i at base, below 4096. */
static inline uint32_t a64_load_word(int to, int base, uint32_t i) {
    return a64_registers(0xF9400000 | i << 10, to, base, 0);
}

static inline uint32_t a64_zero(int to) { /* mov to, #0 */
    return a64_registers(0xD2800000, to, 0, 0);
}

static inline uint32_t a64_shift_left(int to, int x, int by) { /* 1 to 63 */
    return a64_registers(0xD3400000 | (uint32_t)(63 - by) << 10, to, x, 64 - by);
}

/* to = x without its lowest bits, 1 to 63 of them. */
static inline uint32_t a64_clear_low(int to, int x, int bits) {
    return a64_registers(0x92400000 | (uint32_t)(63 - bits) << 10, to, x, 64 - bits);
}

static inline uint32_t a64_add(int to, int x, int n) { /* below 4096 */
    return a64_registers(0x91000000 | (uint32_t)n << 10, to, x, 0);
}

static inline uint32_t a64_add_register(int to, int x, int y) {
    return a64_registers(0x8B000000, to, x, y);
}

static inline uint32_t a64_subtract_register(int to, int x, int y) {
    return a64_registers(0xCB000000, to, x, y);
}

static inline uint32_t a64_subtract(int to, int x, int n) { /* below 4096 */
    return a64_registers(0xD1000000 | (uint32_t)n << 10, to, x, 0);
}

static inline uint32_t a64_compare(int x, int y) {
    return a64_registers(0xEB000000, 31, x, y);
}

/* Where an instruction means a place near itself: `far` bytes from its own, less than
 * 1 MiB. */
static inline uint32_t a64_address(int to, int64_t far) { /* adr */
    uint32_t n = (uint32_t)far;
    return a64_registers(0x10000000 | (n & 3) << 29 | (n >> 2 & 0x7FFFF) << 5, to, 0,
                         0);
}

/* The bits of a jump that say so. */
static inline uint32_t a64_far(int64_t far) {
    return ((uint32_t)far >> 2 & 0x7FFFF) << 5;
}

/* After a64_compare(x, y), of unsigned numbers. */
typedef enum A64If { A64_NOT_BELOW = 2, A64_BELOW = 3 } A64If;
static inline uint32_t a64_jump_if(A64If what, int64_t far) {
    return 0x54000000 | a64_far(far) | (uint32_t)what;
}

static inline uint32_t a64_jump_if_zero(int x, int64_t far) { /* cbz */
    return 0xB4000000 | a64_far(far) | (uint32_t)x;
}

static inline uint32_t a64_jump_unless_zero(int x, int64_t far) { /* cbnz */
    return 0xB5000000 | a64_far(far) | (uint32_t)x;
}

static inline uint32_t a64_store_word(int from, int base, uint32_t i) {
    return a64_registers(0xF9000000 | i << 10, from, base, 0);
}

/* The first four bytes of a vector; their lowest bit; a byte at [base + index]. */
static inline uint32_t a64_from_vector(int to, int vector) { /* umov */
    return a64_registers(0x0E043C00, to, vector, 0);
}

static inline uint32_t a64_lowest_bit(int to, int x) {
    return a64_registers(0x12000000, to, x, 0);
}

static inline uint32_t a64_store_byte(int from, int base, int index) {
    return a64_registers(0x38206800, from, base, index);
}

static inline uint32_t a64_load_byte(int to, int base, int index) {
    return a64_registers(0x38606800, to, base, index);
}

static inline uint32_t a64_return(void) {
    return 0xD65F03C0;
}

#endif
