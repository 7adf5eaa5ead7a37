/* Runs at made-up points: values for every input, the given ones where there are any,
 * for --verify and --check. */
#ifndef TOOLS_RANDOM_INPUTS_H
#define TOOLS_RANDOM_INPUTS_H

#include "tools/run.h"

typedef struct Trial {
    Graph *g;
    Arena *a;
    Value *input, *shared; /* by position */
} Trial;
/* Floats are standard normal, integers 0 to 2, bools fair; named dims are 2 to 5,
 * unknown ones 3; shared variables keep the values that the graph has. The same seed
 * gives the same point. False: diagnosed. */
bool trial_new(Graph *g, const Values *given, uint64_t seed, Trial *t);
void trial_free(Trial *t);
/* Feeds a machine that runs g or a rewritten form of it. */
bool trial_feed(const Trial *t, Machine *m);

#endif
