/* Digests of graphs and values, for receipts and parts. */
#ifndef TOOLS_GRUN_DIGEST_H
#define TOOLS_GRUN_DIGEST_H

#include "base/sha256.h"
#include "tools/tools.h"

/* dtype, shape and the elements in C order; other values by their text. NULL:
 * diagnosed. */
const char *digest_value(Session *s, Arena *a, const Value *v);
/* The graph as it was read, in the binary form without provenance. */
bool digest_graph(const Graph *g, Sha256 *x, char hex[SHA256_HEX + 1]);

#endif
