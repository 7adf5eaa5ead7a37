/* Random values of types; and runs at random points, for --verify and --check: values
 * for every input, using the given ones if any. */
#ifndef TOOLS_RANDOM_INPUTS_H
#define TOOLS_RANDOM_INPUTS_H

#include "tools/grun/run.h"
#include "value/rng.h"

/* Does the type alone say how large a value is? */
bool random_sizes_known(const Type *t);
/* Floats are standard normal, integers 0 to 2, bools fair coin flips. False:
 * diagnosed. */
bool random_value(Session *s, const Type *t, Rng rng, Value *out);

typedef struct Trial {
    Graph *g;
    Arena *a;
    Value *input, *shared; /* by position */
    size_t ndim;           /* of the dims that no input has */
    DimValue *dim;
} Trial;
/* Named dims are 2 to 5, unknown ones 3; shared variables keep the graph's values. The
 * same seed gives the same point. False: diagnosed. */
bool trial_new(Graph *g, const Values *given, uint64_t seed, Trial *t);
void trial_free(Trial *t);
/* Feeds a machine that runs g or a rewritten form of it. */
bool trial_feed(const Trial *t, Machine *m);

#endif
