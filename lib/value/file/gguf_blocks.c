/* Blocks of quantised weights in GGUF, widened to float32. A number is a scale times a
 * small integer, plus or minus a minimum; K kinds scale the scales of their 8 or 16
 * parts by one number of the whole block. */
#include "value/file/gguf.h"

static float half_at(const unsigned char *p) {
    return (float)half_to_double((uint16_t)read_le(p, 2));
}

/* ---- blocks of 32 ----
 * Half of a block's numbers lie in the low bits of bytes, the others in the high ones.
 */

enum { HALF = GGUF_SMALL / 2 };

static int nibble_of_small(const unsigned char *q, int i) {
    return i < HALF ? q[i] & 15 : q[i - HALF] >> 4;
}

static void widen_q4_0(const unsigned char *p, float *x) {
    float d = half_at(p);
    for (int i = 0; i < GGUF_SMALL; i++)
        x[i] = d * (float)(nibble_of_small(p + 2, i) - 8);
}

static void widen_q4_1(const unsigned char *p, float *x) {
    float d = half_at(p), m = half_at(p + 2);
    for (int i = 0; i < GGUF_SMALL; i++)
        x[i] = d * (float)nibble_of_small(p + 4, i) + m;
}

/* The fifth bits lie together before the others. */
static int five_bits(const unsigned char *high, int i) {
    return nibble_of_small(high + 4, i) | (high[i / 8] >> i % 8 & 1) << 4;
}

static void widen_q5_0(const unsigned char *p, float *x) {
    float d = half_at(p);
    for (int i = 0; i < GGUF_SMALL; i++)
        x[i] = d * (float)(five_bits(p + 2, i) - 16);
}

static void widen_q5_1(const unsigned char *p, float *x) {
    float d = half_at(p), m = half_at(p + 2);
    for (int i = 0; i < GGUF_SMALL; i++)
        x[i] = d * (float)five_bits(p + 4, i) + m;
}

static void widen_q8_0(const unsigned char *p, float *x) {
    float d = half_at(p);
    for (int i = 0; i < GGUF_SMALL; i++)
        x[i] = d * (float)(int8_t)p[2 + i];
}

/* ---- blocks of 256 ---- */

enum { PART = 32, HALF_OF_LARGE = GGUF_LARGE / 2 };

/* Number i of two bits: four parts of 32 share 32 bytes. */
static int two_bits(const unsigned char *q, int i) {
    int part = i % HALF_OF_LARGE / PART;
    return q[i / HALF_OF_LARGE * PART + i % PART] >> 2 * part & 3;
}

/* Number i of four bits: two parts of 32 share 32 bytes. */
static int nibble_of_parts(const unsigned char *q, int i) {
    return q[i / (2 * PART) * PART + i % PART] >> (i / PART % 2 ? 4 : 0) & 15;
}

static void widen_q2_k(const unsigned char *p, float *x) {
    const unsigned char *scale = p, *q = p + 16;
    float d = half_at(p + 80), m = half_at(p + 82);
    for (int i = 0; i < GGUF_LARGE; i++) {
        int s = scale[i / 16];
        x[i] = d * (float)(s & 15) * (float)two_bits(q, i) - m * (float)(s >> 4);
    }
}

/* Scale i of 16 with six bits, of which four lie as nibbles in 8 bytes and two in the
 * 4 bytes after them. */
static int six_bit_scale(const unsigned char *s, int i) {
    int low = s[i % 8] >> (i < 8 ? 0 : 4) & 15, high = s[8 + i % 4] >> 2 * (i / 4) & 3;
    return (low | high << 4) - 32;
}

static void widen_q3_k(const unsigned char *p, float *x) {
    const unsigned char *high = p, *q = p + 32, *scale = p + 96;
    float d = half_at(p + 108);
    for (int i = 0; i < GGUF_LARGE; i++) {
        int v = two_bits(q, i) - (high[i % PART] >> i / PART & 1 ? 0 : 4);
        x[i] = d * (float)six_bit_scale(scale, i / 16) * (float)v;
    }
}

/* Scales and minima of 8 parts in 12 bytes: six bits of the first four each, whose two
 * highest bits are the others'. */
static void scale_and_minimum(const unsigned char *s, int i, int *scale, int *minimum) {
    if (i < 4) {
        *scale = s[i] & 63;
        *minimum = s[i + 4] & 63;
    } else {
        *scale = (s[i + 4] & 15) | s[i - 4] >> 6 << 4;
        *minimum = s[i + 4] >> 4 | s[i] >> 6 << 4;
    }
}

static void widen_with_minima(const unsigned char *p, const unsigned char *q,
                              const unsigned char *high, float *x) {
    float d = half_at(p), m = half_at(p + 2);
    for (int i = 0; i < GGUF_LARGE; i++) {
        int scale, minimum, v = nibble_of_parts(q, i);
        scale_and_minimum(p + 4, i / PART, &scale, &minimum);
        if (high) v |= (high[i % PART] >> i / PART & 1) << 4;
        x[i] = d * (float)scale * (float)v - m * (float)minimum;
    }
}

static void widen_q4_k(const unsigned char *p, float *x) {
    widen_with_minima(p, p + 16, NULL, x);
}

static void widen_q5_k(const unsigned char *p, float *x) {
    widen_with_minima(p, p + 48, p + 16, x);
}

static void widen_q6_k(const unsigned char *p, float *x) {
    const unsigned char *high = p + 128;
    float d = half_at(p + 208);
    for (int i = 0; i < GGUF_LARGE; i++) {
        int half = i / HALF_OF_LARGE, part = i % HALF_OF_LARGE / PART, at = i % PART;
        int low = p[64 * half + 32 * (part % 2) + at] >> (part < 2 ? 0 : 4) & 15;
        int v = low | (high[PART * half + at] >> 2 * part & 3) << 4;
        x[i] = d * (float)(int8_t)p[192 + i / 16] * (float)(v - 32);
    }
}

/* ---- the types ---- */

#define PLAIN(code, text, type, size) [code] = {text, type, 1, size, NULL}
#define SMALL(code, text, size, f)    [code] = {text, DT_FLOAT32, GGUF_SMALL, size, f}
#define LARGE(code, text, size, f)    [code] = {text, DT_FLOAT32, GGUF_LARGE, size, f}
/* Known by size only. */
#define CLOSED(code, text, block, size) [code] = {text, DT_NONE, block, size, NULL}

static const GgufType types[] = {
    PLAIN(0, "F32", DT_FLOAT32, 4),     PLAIN(1, "F16", DT_FLOAT16, 2),
    SMALL(2, "Q4_0", 18, widen_q4_0),   SMALL(3, "Q4_1", 20, widen_q4_1),
    SMALL(6, "Q5_0", 22, widen_q5_0),   SMALL(7, "Q5_1", 24, widen_q5_1),
    SMALL(8, "Q8_0", 34, widen_q8_0),   CLOSED(9, "Q8_1", 32, 36),
    LARGE(10, "Q2_K", 84, widen_q2_k),  LARGE(11, "Q3_K", 110, widen_q3_k),
    LARGE(12, "Q4_K", 144, widen_q4_k), LARGE(13, "Q5_K", 176, widen_q5_k),
    LARGE(14, "Q6_K", 210, widen_q6_k), CLOSED(15, "Q8_K", 256, 292),
    CLOSED(16, "IQ2_XXS", 256, 66),     CLOSED(17, "IQ2_XS", 256, 74),
    CLOSED(18, "IQ3_XXS", 256, 98),     CLOSED(19, "IQ1_S", 256, 50),
    CLOSED(20, "IQ4_NL", 32, 18),       CLOSED(21, "IQ3_S", 256, 110),
    CLOSED(22, "IQ2_S", 256, 82),       CLOSED(23, "IQ4_XS", 256, 136),
    PLAIN(24, "I8", DT_INT8, 1),        PLAIN(25, "I16", DT_INT16, 2),
    PLAIN(26, "I32", DT_INT32, 4),      PLAIN(27, "I64", DT_INT64, 8),
    PLAIN(28, "F64", DT_FLOAT64, 8),    CLOSED(29, "IQ1_M", 256, 56),
    PLAIN(30, "BF16", DT_FLOAT32, 2),   CLOSED(34, "TQ1_0", 256, 54),
    CLOSED(35, "TQ2_0", 256, 66),       CLOSED(39, "MXFP4", 32, 17),
};

const GgufType *gguf_type(uint64_t code) {
    bool known = code < sizeof types / sizeof *types && types[code].name;
    return known ? &types[code] : NULL;
}
