/* A long scan as a scan over segments of its steps, each of which is a scan itself. A
 * run gains nothing from that, but a gradient does: it saves the state at the beginning
 * of every step and recomputes the body from there. With segments, it saves the states
 * at the beginnings of segments, plus those within one segment at a time: about 2
 * sqrt(n) instead of n, for segments of sqrt(n) steps. */
#ifndef SCAN_CHECKPOINT_H
#define SCAN_CHECKPOINT_H

#include "op/build.h"
#include "scan/scan.h"

enum { STRETCH_SQRT = 0 }; /* sqrt(n) steps in each segment */

/* Why this scan can't be split, as half a sentence, or NULL if it can. */
const char *scan_why_no_segments(const ScanForm *f);
/* The steps before the first full segment become a scan of their own. out[o] replaces
 * output o: same type, with the rows that keep[o] demands (keep NULL: as the scan).
 * `every` is the number of steps in a segment. False: diagnosed. */
bool scan_in_segments(Builder *b, ApplyId id, int64_t every, const int64_t *keep,
                      Var *out);

#endif
