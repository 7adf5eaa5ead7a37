/* Which sows belong to which branch of an ifelse, and what is reaped of the branches.
 */
#ifndef HARVEST_BRANCH_H
#define HARVEST_BRANCH_H

#include "harvest/walk.h"

typedef struct Branches Branches;
/* By variable, as graph_live: an ifelse that nothing reads sows all the same what the
 * branch that is taken sows, so it and what it needs become live. */
void branches_wake(const Graph *g, Arena *arena, ApplyId from, uint8_t *live);
/* Of the live Applies of src from `from` on; root: what is needed whatever branch is
 * taken; map gives what stands for what has been walked. NULL: there are no branches.
 */
Branches *branches_new(HarvestWalk *w, Level *top, const Graph *src, ApplyId from,
                       const uint8_t *live, const Var *root, size_t nroot,
                       const Var *map);
/* The sum of times[a] over one run of a function, of two branches that which has more.
 */
size_t branches_most(const Graph *fn, const uint8_t *live, const Var *root,
                     size_t nroot, const size_t *times);
/* The level of a sow, or of a call that sows, which is walked now. */
Level *branches_level(Branches *b, Level *top, ApplyId a);
/* Brings what was reaped in branches to the levels around them. Frees b. */
bool branches_close(Branches *b, bool ok);

#endif
