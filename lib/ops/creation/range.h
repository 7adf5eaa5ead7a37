/* Loops that write evenly spaced numbers. */
#ifndef OPS_CREATION_RANGE_H
#define OPS_CREATION_RANGE_H

#include "op/op.h"

typedef struct RangeLoops {
    /* start, start + step, ...; they wrap */
    void (*ints)(int64_t *p, size_t n, int64_t start, int64_t step);
    /* start + (at + i) step in float64, for i from 0; rounded to float32 */
    void (*doubles)(double *p, size_t n, double at, double start, double step);
    void (*floats)(float *p, size_t n, double at, double start, double step);
} RangeLoops;
extern const RangeLoops range_loops0, range_loops1, range_loops2;

#endif
