/* Is a difference between two computations of the same value only one of rounding? */
#ifndef CHECK_DRIFT_H
#define CHECK_DRIFT_H

#include "vm/vm.h"

/* Random bits for element i of what a salt stands for. The lowest bits of hash_mix
 * follow those of i. */
static inline uint64_t drift_way(uint64_t salt, uint64_t i) {
    return hash_mix(hash_mix(salt, i), ~i) >> 40;
}

/* The computation of one variable, and where it starts. */
typedef struct DriftOf {
    const Graph *g;
    Var v;
    const uint8_t *stop; /* by variable: its value is given; NULL: only of leaves */
    /* The value of a leaf or of a variable where it starts, borrowed. False: none. */
    bool (*value)(void *ctx, Var v, Value *out);
    void *ctx;
} DriftOf;
/* `want` and `got` are what two computations gave for the variable. Are they as near to
 * each other as it goes if every value on its way is off by some last digits? Element
 * by element; those that agree by `how` need no explanation. */
bool drift_explains(Session *s, const DriftOf *of, const Value *want, const Value *got,
                    Approx how);

#endif
