/* A scan as nested calls of functions that run a part of its steps, so that its
 * gradient recomputes as few steps as a number of states in memory allows. */
#ifndef SCAN_REVOLVE_H
#define SCAN_REVOLVE_H

#include "scan/checkpoint.h"

/* The steps to advance before the next state is kept: of `steps` > states + 1 steps,
 * with room for `states` > 0 states, that at their beginning included. */
int64_t revolve_split(int64_t steps, int64_t states);
/* The steps that are advanced in all to go back over them: no order takes fewer. */
int64_t revolve_advances(int64_t steps, int64_t states);
/* Why this scan can't be run so, as half a sentence, or NULL if it can. */
const char *revolve_why_not(const Graph *g, ApplyId id, const ScanForm *f);
/* out[o] becomes the last value of state o. False: diagnosed. */
bool scan_revolve(Builder *b, ApplyId id, int64_t states, Var *out);

#endif
