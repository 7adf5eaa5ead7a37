/* Shared by digest.c and its loops. */
#ifndef CHECK_DIGEST_IMPL_H
#define CHECK_DIGEST_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_LANES = 8 };
typedef struct DigestSums DigestSums;
struct DigestSums {
    double min[DIGEST_LANES], max[DIGEST_LANES], sum[DIGEST_LANES],
        square[DIGEST_LANES], mix[DIGEST_LANES];
};
/* Adds the numbers of whole groups of lanes, as far as n goes. False: one isn't finite;
 * those are no part of the sums. One for each CPU level. */
typedef bool DigestLoop(DigestSums *q, const double *x, const double *weight, size_t n);
DigestLoop digest_sums_0, digest_sums_1, digest_sums_2;

#endif
