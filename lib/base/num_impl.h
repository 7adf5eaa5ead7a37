/* Shared by reading and writing of floats. */
#ifndef BASE_NUM_IMPL_H
#define BASE_NUM_IMPL_H

#include "base/num.h"

__extension__ typedef unsigned __int128 U128;

/* The top 128 bits of 10^e, the highest bit set: 10^e = (hi:lo + x) *
 * 2^(num_log2_pow10(e) - 127) with 0 <= x < 1, and x = 0 exactly for 0 <= e <= 55. */
enum { POW10_MIN = -342, POW10_MAX = 324, POW10_EXACT = 55 };
typedef struct Pow10 {
    uint64_t hi, lo;
} Pow10;
Pow10 pow10_get(int e); /* POW10_MIN <= e <= POW10_MAX */

/* floor(log2(10^e)) */
static inline int num_log2_pow10(int e) {
    return (e * 1741647) >> 19;
}

double float_round(double v,
                   FloatWidth w); /* to the nearest of width w, ties to even */

#endif
