/* Collectives: ops whose results depend on the inputs of all ranks that run the graph
 * (op/ranks.h). With one rank they are the identity. They are not effects: all ranks
 * run the same graph, so what nothing reads is left out on all of them, and equal ones
 * merge on all. */
#ifndef OPS_RANKS_RANKS_H
#define OPS_RANKS_RANKS_H

#include "op/ranks.h"

/* Says which op of which line this is. */
typedef struct CallDoing {
    RankDoing doing;
    char what[48];
} CallDoing;
void call_doing(const Call *c, CallDoing *out);
/* view_map: output k is input k, which nobody else changes. */
int collective_views(const Graph *g, ApplyId a, size_t out);

#endif
