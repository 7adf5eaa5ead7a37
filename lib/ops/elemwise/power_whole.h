/* Powers of float64 with small whole exponents (power_whole.simd.c), at the levels of
 * CPU that have a fused multiply-add. */
#ifndef OPS_ELEMWISE_POWER_WHOLE_H
#define OPS_ELEMWISE_POWER_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

/* power_whole: if all powers of a block are of this kind, makes them; false: they are
 * not. power_some: those that are. */
#define POWER_WHOLE(level)                                                             \
    bool power_whole##level(size_t m, const double *x, const double *y, double *r);    \
    void power_some##level(size_t m, const double *x, const double *y, double *r);
POWER_WHOLE(0)
POWER_WHOLE(1)
POWER_WHOLE(2)

#endif
