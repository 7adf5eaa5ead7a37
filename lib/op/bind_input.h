/* Inputs on which sizes depend, as constants. */
#ifndef OP_BIND_INPUT_H
#define OP_BIND_INPUT_H

#include "op/build.h"

/* Makes an input, an integer without dims, a constant, so that it is none any more;
 * then infer the types again. */
bool graph_bind_input(Graph *g, Var input, int64_t n);

#endif
