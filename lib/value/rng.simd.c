/* Philox4x32-10 on PHILOX_LANES blocks at once. Each 32-bit word of a block has its own
 * 64-bit lane, so that a single instruction multiplies the low halves of all lanes. */
#include "value/value_impl.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

/* Lanes of a register at this level: 2, 4, 8. */
enum { GROUP = 2 << TL_LEVEL, ROUNDS = 10 };
typedef uint64_t Lanes __attribute__((vector_size(GROUP * sizeof(uint64_t))));
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

typedef struct PhiloxBlocks {
    Lanes c0, c1, c2, c3;
} PhiloxBlocks;

static inline PhiloxBlocks lane_counters(const PhiloxDraw *d, uint64_t first) {
    Lanes number, none = {0};
    for (int l = 0; l < GROUP; l++)
        number[l] = first + (uint64_t)l * d->step;
    return (PhiloxBlocks){number & LOW, number >> 32, none + (d->draw & LOW),
                          none + (d->draw >> 32)};
}

static inline void run_round(PhiloxBlocks *b, uint64_t k0, uint64_t k1) {
    Lanes p0 = MULTIPLY(b->c0, 0xD2511F53U), p1 = MULTIPLY(b->c2, 0xCD9E8D57U);
    b->c0 = (p1 >> 32) ^ b->c1 ^ k0;
    b->c1 = p1 & LOW;
    b->c2 = (p0 >> 32) ^ b->c3 ^ k1;
    b->c3 = p0 & LOW;
}

static inline void store_blocks(const PhiloxBlocks *b, uint64_t *out) {
    Lanes low = b->c0 | b->c1 << 32, high = b->c2 | b->c3 << 32;
    for (int l = 0; l < GROUP; l++) {
        out[2 * l] = low[l];
        out[2 * l + 1] = high[l];
    }
}

/* Two groups at a time, to overlap the latencies of their multiplications. */
void JOIN(philox_blocks_, TL_LEVEL)(const PhiloxDraw *d,
                                    uint64_t out[PHILOX_LANES * 2]) {
    for (int g = 0; g < PHILOX_LANES; g += 2 * GROUP) {
        uint64_t k0 = d->seed & LOW, k1 = d->seed >> 32;
        PhiloxBlocks a = lane_counters(d, d->block + (uint64_t)g * d->step),
                     b = lane_counters(d, d->block + (uint64_t)(g + GROUP) * d->step);
        for (int round = 0; round < ROUNDS; round++) {
            run_round(&a, k0, k1);
            run_round(&b, k0, k1);
            k0 = (k0 + 0x9E3779B9U) & LOW;
            k1 = (k1 + 0xBB67AE85U) & LOW;
        }
        store_blocks(&a, out + 2 * g);
        store_blocks(&b, out + 2 * (g + GROUP));
    }
}
