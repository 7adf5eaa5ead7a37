/* A function run in a copy of the process: what it changes, remembers or breaks stays
 * there. */
#ifndef OS_CHILD_H
#define OS_CHILD_H

#include "base/str.h"

/* What `work` adds to `out` in the copy is added to `out` here. False, not diagnosed:
 * the copy crashed or took too long, or there can't be one. It has no threads but its
 * own, and nothing to read or to print to. */
bool child_run(void (*work)(void *ctx, Str *out), void *ctx, double seconds, Str *out);

#endif
