/* Effects of a graph for one row, of which vectorize made one for all rows. */
#ifndef OP_ROWWISE_H
#define OP_ROWWISE_H

#include "op/op.h"

/* Ends those among the effects of g that vectorize had for all rows and that nothing
 * else reads: they were written for their rows' sake. What passed through a sow, a
 * print or an assertion then goes past it and keeps its names; what else they made goes
 * with its names. To be called once the outputs are known, and again when they change.
 */
void rowwise_settle(Graph *g);

#endif
