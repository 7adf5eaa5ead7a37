/* The loops of nextafter. */
#ifndef OPS_ELEMWISE_NEIGHBOUR_H
#define OPS_ELEMWISE_NEIGHBOUR_H

#include "op/op.h"

typedef struct NextLoops {
    Loop *f16, *f32, *f64;
} NextLoops;
extern const NextLoops next_loops0, next_loops1, next_loops2;

#endif
