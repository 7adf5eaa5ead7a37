/* Binds dims and narrows types in place; all other types are inferred again. */
#ifndef TOOLS_RETYPE_H
#define TOOLS_RETYPE_H

#include "tools/tools.h"

/* Writes "n, t": the names in the types of the graph's leaves, the first few of them.
 * Empty: there are none. */
void graph_list_dims(const Graph *g, Str *list);
/* A dim of the graph by its name. False: diagnosed at `at`. */
bool graph_find_dim(Graph *g, const char *p, size_t n, Span at, Sym *name);
bool graph_narrow(Graph *g, const Edit *e); /* --dim and --narrow */

#endif
