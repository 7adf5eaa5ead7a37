/* Changes an Apply in place, for a graph that is being rewritten. */
#ifndef GRAPH_REPLACE_H
#define GRAPH_REPLACE_H

#include "graph/graph.h"

/* Gives an Apply other inputs, which may have larger ids than it has, of types that
 * change nothing for its results. graph_compact sorts. */
void graph_replace_inputs(Graph *g, ApplyId a, const Var *in);

#endif
