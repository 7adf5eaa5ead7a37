/* The example of an op as a graph. */
#ifndef PROP_EXAMPLE_H
#define PROP_EXAMPLE_H

#include "lang/expr.h"

#include <string.h>

/* A graph whose output is `out`, the expression; NULL: it can't be compiled. */
static inline Graph *example_graph(Session *s, const char *text) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    size_t n = strlen(text);
    Span at = {source_add(s, "example", text, n), 0, (uint32_t)n};
    bool ok = compiler_output(c, sym(s, "out"), at);
    compiler_free(c);
    if (ok) return g;
    graph_free(g);
    return NULL;
}

#endif
