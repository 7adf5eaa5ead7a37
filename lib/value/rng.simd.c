/* The loops of random numbers, with the same bits at every level: Philox4x32-10 on many
 * blocks at once, and the conversions of its words to uniform and normal numbers. */
#define ROUND_EACH
#include "base/level.h"
#include "base/math64.h"
#include "value/value_impl.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* ---- blocks: each 32-bit word of one has its own 64-bit lane, so that a single
 * instruction multiplies the low halves of all lanes. What is above these halves
 * vanishes when the words are put together. ---- */

/* Lanes of a register at this level: 2, 4, 8. */
enum { GROUP = 2 << TL_LEVEL, ROUNDS = 10 };
typedef uint64_t Lanes __attribute__((vector_size(GROUP * sizeof(uint64_t))));
typedef uint64_t AnyLanes __attribute__((vector_size(GROUP * sizeof(uint64_t)),
                                         aligned(sizeof(uint64_t)), may_alias));
#define LOW 0xFFFFFFFFU

/* The product of the lanes' low halves with a constant. */
#if !defined(__x86_64__)
#define MULTIPLY(v, k) (((v)&LOW) * (k))
#elif TL_LEVEL == 2
#define MULTIPLY(v, k) ((Lanes)_mm512_mul_epu32((__m512i)(v), _mm512_set1_epi64(k)))
#elif TL_LEVEL == 1
#define MULTIPLY(v, k) ((Lanes)_mm256_mul_epu32((__m256i)(v), _mm256_set1_epi64x(k)))
#else
#define MULTIPLY(v, k) ((Lanes)_mm_mul_epu32((__m128i)(v), _mm_set1_epi64x(k)))
#endif

/* The first and the second half of a sequence a0 b0 a1 b1 ... */
#if TL_LEVEL == 2
#define FIRST  0, 8, 1, 9, 2, 10, 3, 11
#define SECOND 4, 12, 5, 13, 6, 14, 7, 15
#elif TL_LEVEL == 1
#define FIRST  0, 4, 1, 5
#define SECOND 2, 6, 3, 7
#else
#define FIRST  0, 2
#define SECOND 1, 3
#endif
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Lanes){__VA_ARGS__})
#endif

typedef struct PhiloxBlocks {
    Lanes c0, c1, c2, c3;
} PhiloxBlocks;

static inline PhiloxBlocks lane_counters(uint64_t draw, Lanes number) {
    Lanes none = {0};
    return (PhiloxBlocks){number, number >> 32, none + draw, none + (draw >> 32)};
}

static inline void run_round(PhiloxBlocks *b, uint64_t k0, uint64_t k1) {
    Lanes p0 = MULTIPLY(b->c0, 0xD2511F53U), p1 = MULTIPLY(b->c2, 0xCD9E8D57U);
    b->c0 = (p1 >> 32) ^ b->c1 ^ k0;
    b->c1 = p1;
    b->c2 = (p0 >> 32) ^ b->c3 ^ k1;
    b->c3 = p0;
}

/* Groups at a time, to overlap the latencies of their multiplications: as many as
 * registers hold. */
enum { ABREAST = TL_LEVEL == 2 ? 4 : 2, AT_ONCE = ABREAST * GROUP };
#define UNROLLED(i, n) _Pragma("GCC unroll 10") for (size_t i = 0; i < (n); i++)

typedef struct PhiloxKeys {
    uint64_t k[2 * ROUNDS];
} PhiloxKeys;
static inline PhiloxKeys philox_keys(uint64_t seed) {
    PhiloxKeys key;
    for (uint64_t k = 0; k < ROUNDS; k++) {
        key.k[2 * k] = (uint32_t)seed + k * UINT64_C(0x9E3779B9);
        key.k[2 * k + 1] = (seed >> 32) + k * UINT64_C(0xBB67AE85);
    }
    return key;
}

static inline void run_groups(uint64_t draw, const PhiloxKeys *key, const Lanes *number,
                              PhiloxBlocks *b) {
    UNROLLED (g, ABREAST)
        b[g] = lane_counters(draw, number[g]);
    UNROLLED (k, ROUNDS)
        UNROLLED (g, ABREAST)
            run_round(&b[g], key->k[2 * k], key->k[2 * k + 1]);
}

static inline Lanes first_words(const PhiloxBlocks *b) {
    return (b->c0 & LOW) | b->c1 << 32;
}
static inline void store_words(const PhiloxBlocks *b, uint64_t *out) {
    AnyLanes *to = (AnyLanes *)out;
    UNROLLED (g, ABREAST) {
        Lanes low = first_words(b + g), high = (b[g].c2 & LOW) | b[g].c3 << 32;
        to[2 * g] = SHUFFLE(low, high, FIRST);
        to[2 * g + 1] = SHUFFLE(low, high, SECOND);
    }
}

static void philox_blocks(uint64_t seed, uint64_t draw, size_t n, const uint64_t *block,
                          uint64_t *restrict out) {
    const PhiloxKeys key = philox_keys(seed);
    uint64_t few[AT_ONCE] = {0}, part[2 * AT_ONCE];
    for (size_t at = 0; at < n; at += AT_ONCE, out += 2 * AT_ONCE) {
        const size_t left = n - at;
        const uint64_t *from = block + at;
        Lanes number[ABREAST];
        PhiloxBlocks b[ABREAST];
        if (left < AT_ONCE) from = memcpy(few, from, left * sizeof *few);
        UNROLLED (g, ABREAST)
            number[g] = *(const AnyLanes *)(from + g * GROUP);
        run_groups(draw, &key, number, b);
        store_words(b, left < AT_ONCE ? part : out);
        if (left < AT_ONCE) memcpy(out, part, 2 * left * sizeof *out);
    }
}

/* The numbers of the first blocks of a run, and of those after them. */
static inline void first_numbers(const BlockRun *q, Lanes *number) {
    UNROLLED (g, ABREAST)
        for (uint64_t l = 0; l < GROUP; l++)
            number[g][l] = q->first + (g * GROUP + l) * q->step;
}
static inline void next_numbers(const BlockRun *q, Lanes *number) {
    UNROLLED (g, ABREAST)
        number[g] += q->step * AT_ONCE;
}

#if TL_LEVEL == 0
/* From a list: of few registers, numbers would take too many. */
static void philox_run(const BlockRun *q, uint64_t *restrict out) {
    enum { LIST = 128 };
    uint64_t number[LIST], next = q->first;
    for (size_t at = 0, n; at < q->n; at += n) {
        n = q->n - at < LIST ? q->n - at : LIST;
        for (size_t i = 0; i < n; i++, next += q->step)
            number[i] = next;
        philox_blocks(q->seed, q->draw, n, number, out + 2 * at);
    }
}
#else
static void philox_run(const BlockRun *q, uint64_t *restrict out) {
    const PhiloxKeys key = philox_keys(q->seed);
    uint64_t part[2 * AT_ONCE];
    Lanes number[ABREAST];
    first_numbers(q, number);
    for (size_t at = 0; at < q->n; at += AT_ONCE, out += 2 * AT_ONCE) {
        const size_t left = q->n - at;
        PhiloxBlocks b[ABREAST];
        run_groups(q->draw, &key, number, b);
        next_numbers(q, number);
        store_words(b, left < AT_ONCE ? part : out);
        if (left < AT_ONCE) memcpy(out, part, 2 * left * sizeof *out);
    }
}
#endif

/* Of a product, all but the lowest 32 of its 96 bits: the rest decides only where what
 * is below the integer begins with 32 zeros. */
static bool philox_integers(const BlockRun *q, uint32_t range, uint64_t low,
                            int64_t *restrict out) {
    const PhiloxKeys key = philox_keys(q->seed);
    uint64_t part[AT_ONCE], any = 0;
    Lanes rare = {0}, number[ABREAST];
    first_numbers(q, number);
    for (size_t at = 0; at < q->n; at += AT_ONCE) {
        const size_t left = q->n - at;
        PhiloxBlocks b[ABREAST];
        AnyLanes *to = (AnyLanes *)(left < AT_ONCE ? part : (uint64_t *)out + at);
        run_groups(q->draw, &key, number, b);
        next_numbers(q, number);
        UNROLLED (g, ABREAST) {
            Lanes x = first_words(b + g),
                  p = MULTIPLY(x >> 32, range) + (MULTIPLY(x, range) >> 32);
            rare |= (Lanes)((p & LOW) == 0);
            to[g] = (p >> 32) + low;
        }
        if (left < AT_ONCE) memcpy(out + at, part, left * sizeof *out);
    }
    for (size_t l = 0; l < GROUP; l++)
        any |= rare[l];
    return any == 0;
}

/* ---- numbers ---- */

/* The leading 52 bits of a word as a number. */
VINLINE double leading_bits(uint64_t word) {
    return bits_f64(word >> 12 | 0x4330000000000000) - 0x1p52;
}
/* Of 53 bits: exact, like all sums here. */
VINLINE double leading_53(uint64_t word) {
    return 2 * leading_bits(word) +
           bits_f64((UINT64_C(0) - (word >> 11 & 1)) & 0x3FF0000000000000);
}

static void unit_numbers(bool open, size_t n, const uint64_t *word,
                         double *restrict out) {
    if (open)
        for (size_t i = 0; i < n; i++)
            out[i] = (leading_bits(word[i]) + 0.5) * 0x1p-52;
    else
        for (size_t i = 0; i < n; i++)
            out[i] = leading_53(word[i]) * 0x1p-53;
}

/* Box and Muller's two numbers of a radius from u in (0, 1] and an angle from v. */
VINLINE void box_muller(double u, double v, double *cosine, double *sine) {
    const double two_pi = 6.283185307179586;
    double m, rest, r = trig_reduce64(two_pi * v, &m, &rest),
                    radius = sqrt(-2 * log_positive64(u));
    double s = sin_poly64(r, rest), c = cos_poly64(r, rest);
    *cosine = radius * sin_turned(s, c, f64_bits(m) + 1);
    *sine = radius * sin_turned(s, c, f64_bits(m));
}

static void normal_pairs(bool open, size_t n, const uint64_t *word,
                         double *restrict out) {
    if (open)
        for (size_t i = 0; i < n; i++)
            box_muller((leading_bits(word[2 * i]) + 0.5) * 0x1p-52,
                       (leading_bits(word[2 * i + 1]) + 0.5) * 0x1p-52, out + 2 * i,
                       out + 2 * i + 1);
    else
        for (size_t i = 0; i < n; i++)
            box_muller((leading_53(word[2 * i]) + 1) * 0x1p-53,
                       leading_53(word[2 * i + 1]) * 0x1p-53, out + 2 * i,
                       out + 2 * i + 1);
}

const RngLoops LEVEL(rng_loops_) = {philox_blocks, philox_run, philox_integers,
                                    unit_numbers, normal_pairs};
