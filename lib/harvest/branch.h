/* Which sows belong to which branch of an ifelse, and how a harvest merges the
 * branches. */
#ifndef HARVEST_BRANCH_H
#define HARVEST_BRANCH_H

#include "harvest/walk.h"

typedef struct Branches Branches;
enum { HARVEST_ROOTS = ROOTS_RESULTS | ROOTS_INIT };
/* By variable, as in graph_live. An ifelse sows what its taken branch sows even if
 * nothing reads its result, so this marks it and what it needs as live. */
void branches_wake(const Graph *g, Arena *arena, ApplyId from, uint8_t *live);
/* Covers the live Applies of src from `from` on. root: variables needed whichever
 * branch is taken. NULL: no ifelse, so no branches. */
Branches *branches_new(HarvestWalk *w, Level *top, const Graph *src,
                       const HarvestRange *r);
/* The most that times[a] can add up to in one run of a function: each ifelse counts its
 * larger branch. */
size_t branches_most(const Graph *fn, const uint8_t *live, const size_t *times);
/* The level of Apply a, which is walked next. */
Level *branches_level(Branches *b, Level *top, ApplyId a);
/* The walk has passed Apply a. If that is an ifelse, all sows of its branches came
 * before: merges what they reaped into the enclosing level. map: by variable of src,
 * its replacement. */
bool branches_pass(Branches *b, ApplyId a, const Var *map);
void branches_close(Branches *b);

#endif
