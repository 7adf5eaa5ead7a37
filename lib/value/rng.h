/* Random numbers: Philox4x32-10 (Salmon et al., SC 2011), counter-based. This page
 * is the definition of thunkline's streams; it never changes.
 *
 * State: uint64[4] = {seed, stream, position, 0}; rng(seed) has stream 0, position
 * 0. Key: the two halves of `seed`, low word first. Block number b of a draw has the
 * counter words (low32(b), high32(b), low32(c), high32(c)) with
 *     c = stream xor (position * 0x9E3779B97F4A7C15 mod 2^64).
 * A block gives four 32-bit words w0..w3. A draw of n elements uses blocks from 0
 * on; the next state has position + 1, so consecutive draws use different counters.
 *
 * words: element i of a 32-bit draw is word i % 4 of block i / 4; of a 64-bit draw
 * w[2j] + 2^32 w[2j+1], j = i % 2, of block i / 2.
 *
 * uniform: float64: (64-bit >> 11) * 2^-53; float32: (32-bit >> 8) * 2^-24; float16:
 * (32-bit >> 21) * 2^-11; then low + u * (high - low), computed in the dtype
 * (float16: in float32).
 *
 * normal: Box-Muller in float64 on pairs: elements 2k and 2k+1 use the two 64-bit
 * words a, b of block k: u = ((a >> 11) + 1) * 2^-53, v = (b >> 11) * 2^-53, r =
 * sqrt(-2 log u); element 2k is r cos(2 pi v), 2k+1 is r sin(2 pi v), with the
 * functions of base/math64.h without fused multiply-adds: the same bits on all
 * machines; loc + scale * z in float64, rounded once to the dtype.
 *
 * integers: in [low, high), R = high - low, from 1 to 2^64: element i takes
 * the 64-bit words x of the blocks i * 2^16 + t, t = 0, 1, .. (two words a block, in
 * order): high64(x * R) is the result unless low64(x * R) < (2^64 - R) mod R, when
 * the next word is taken (Lemire, 2019).
 *
 * open: as uniform, but never at an end: float64: ((64-bit >> 12) + 0.5) * 2^-52;
 * float32: ((32-bit >> 9) + 0.5) * 2^-23; float16: ((32-bit >> 22) + 0.5) * 2^-10.
 *
 * Draws by rejection (gamma, Poisson, binomial, ...): element i takes the 64-bit words
 * of `integers`, one after the other, as uniform numbers u = ((word >> 12) + 0.5) *
 * 2^-52. Normals by Box-Muller in pairs: r = sqrt(-2 log u), t = 2 pi v, first r cos t,
 * then r sin t. The methods and their constants are those of ops/random/reject.c,
 * counts.c and chances.h beside it; powers of gamma draws of shapes below 1, von Mises
 * and Zipf draws take the C library's functions (so their last bits may differ between
 * machines). ops/random/distributions.def makes all others of these draws.
 *
 * permutation(n): Fisher-Yates from i = n-1 down to 1, swapping i with the integer
 * in [0, i+1) that the words of `integers` give element n-1-i. */
#ifndef VALUE_RNG_H
#define VALUE_RNG_H

#include "value/value.h"

typedef struct Rng {
    uint64_t seed, stream, position;
} Rng;
Rng rng_seed(uint64_t seed);
Rng rng_next(const Rng *r);
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
void rng_block(const Rng *r, uint64_t block, uint64_t out[2]);
/* The two words of each of n blocks, by their numbers. */
void rng_blocks(const Rng *r, size_t n, const uint64_t *block, uint64_t *out);
/* n pairs of normal numbers from as many of words, as draws by rejection make them. */
void rng_normal_pairs(size_t n, const uint64_t *word, double *out);
/* Elements first .. first + n - 1 of a draw. Uniform: [0, 1); open: (0, 1); normal:
 * standard; integers: range 0 is 2^64. */
void rng_words32(const Rng *r, uint64_t first, size_t n, uint32_t *out);
void rng_words64(const Rng *r, uint64_t first, size_t n, uint64_t *out);
void rng_uniform(const Rng *r, DType d, uint64_t first, size_t n, void *out);
void rng_uniform_open(const Rng *r, DType d, uint64_t first, size_t n, void *out);
void rng_normal(const Rng *r, uint64_t first, size_t n, double *out);
void rng_integers(const Rng *r, int64_t low, uint64_t range, uint64_t first, size_t n,
                  int64_t *out);
void rng_permutation(const Rng *r, int64_t n, int64_t *out);
/* rng_permutation in two parts, for its elements first .. first + count - 1, the last
 * of `order` being the first: draws the places with which they are exchanged; exchanges
 * them, one after the other. */
void rng_exchanges(const Rng *r, int64_t n, int64_t first, int64_t count,
                   int64_t *with);
void rng_exchange(int64_t n, int64_t first, int64_t count, const int64_t *with,
                  int64_t *order);
/* The tensor form of a state and back. */
bool rng_to_tensor(Session *s, const Rng *r, Tensor *out);
Rng rng_from_tensor(const Tensor *t);

#endif
