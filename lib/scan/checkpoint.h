/* A long scan as a scan over stretches of its steps, each of which is a scan. Nothing
 * is gained by that in a run; a gradient however, which saves the states that each step
 * of a scan begins with and works the body out again, then saves those at the
 * beginnings of stretches, and of one stretch at a time those between: about 2 sqrt(n)
 * instead of n where a stretch has sqrt(n) steps. */
#ifndef SCAN_CHECKPOINT_H
#define SCAN_CHECKPOINT_H

#include "op/build.h"
#include "scan/scan.h"

enum { STRETCH_SQRT = 0 }; /* steps of a stretch: the square root of their number */

/* Why it can't be done for a scan, as half a sentence, or NULL. */
const char *scan_why_no_segments(const ScanForm *f);
/* Steps before the first whole stretch are a scan of their own. out[o] gets output o,
 * of the same type and with the rows that keep[o] says (keep NULL: those of the scan).
 * `every` is the number of steps of a stretch. False: diagnosed. */
bool scan_in_segments(Builder *b, ApplyId id, int64_t every, const int64_t *keep,
                      Var *out);

#endif
