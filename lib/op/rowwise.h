/* Effects for one row, which vectorize has replaced by effects for all rows. */
#ifndef OP_ROWWISE_H
#define OP_ROWWISE_H

#include "op/op.h"

/* Removes the effects of g that vectorize has rebuilt for all rows and that nothing
 * else reads: they were there for the rows' sake. Values then bypass the sow, print or
 * assertion, and keep their names; other results of such effects are removed with their
 * names. Call this once the outputs are known, and again if they change. */
void rowwise_settle(Graph *g);

#endif
