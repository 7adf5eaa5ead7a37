/* Shared by digest.c and its loops. */
#ifndef CHECK_DIGEST_IMPL_H
#define CHECK_DIGEST_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_LANES = 8, DIGEST_STRIPE = DIGEST_LANES * 8 };
typedef struct DigestSums DigestSums;
struct DigestSums {
    double min[DIGEST_LANES], max[DIGEST_LANES], sum[DIGEST_LANES],
        square[DIGEST_LANES], mix[DIGEST_LANES];
};
typedef struct DigestHash DigestHash;
struct DigestHash {
    uint64_t a[DIGEST_LANES], b[DIGEST_LANES];
};
/* Adds the numbers of whole groups of lanes, as far as n goes. False: the sums would
 * not be finite, and nothing was added. */
typedef bool DigestLoop(DigestSums *q, const double *x, const double *weight, size_t n);
/* Adds whole stripes. Each word is turned by how far it is from the end, so that words
 * that change places are seen. */
typedef void DigestHashLoop(DigestHash *h, const void *p, size_t stripes);
/* Both, of numbers that are hashed as they are; the hash, whatever the sums are. */
typedef bool DigestBothLoop(DigestSums *q, DigestHash *h, const double *x,
                            const double *weight, size_t n);
/* One for each CPU level. */
DigestLoop digest_sums_0, digest_sums_1, digest_sums_2;
DigestHashLoop digest_hash_0, digest_hash_1, digest_hash_2;
DigestBothLoop digest_both_0, digest_both_1, digest_both_2;

#endif
