/* Binds dims and narrows types in place; all other types are inferred again. */
#ifndef TOOLS_RETYPE_H
#define TOOLS_RETYPE_H

#include "tools/tools.h"

bool graph_bind_dim(Graph *g, Sym name, int64_t n); /* call graph_reinfer afterwards */
bool graph_reinfer(Graph *g);
bool graph_narrow(Graph *g, const Edit *e); /* --dim and --narrow */

#endif
