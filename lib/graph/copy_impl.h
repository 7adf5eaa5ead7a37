/* A copy on its way, for copy.c and copy_interface.c. */
#ifndef GRAPH_COPY_IMPL_H
#define GRAPH_COPY_IMPL_H

#include "graph/graph_impl.h"

typedef struct CopyFrame {
    ApplyId a;
    uint32_t next; /* the next input to visit */
} CopyFrame;

typedef struct GraphCopy {
    Graph *dst;
    const Graph *src;
    WantedFunctions *wanted;
    bool intern;
    bool listed;    /* leaves have the names that src lists for them */
    bool taken;     /* Applies move down in src's own tables, which dst has now */
    Graph *ending;  /* src, if it gives up its tables; else NULL */
    ApplyId *order; /* Applies as they are numbered; NULL: each node is appended when
                       it is met */
    Var *leaf;      /* beside order, leaves as they are numbered between its Applies */
    uint32_t napply, nleaf, nvar; /* what these have */
    Var *effect;                  /* the first output of each effect */
    Var *to;       /* each variable's replacement, none replaced again; NULL: itself */
    Var *id;       /* each variable's copy */
    uint8_t *need; /* by variable; an Apply is needed if one of its outputs is */
    Vec(CopyFrame) stack;
    uint32_t nin; /* of all that is needed */
} GraphCopy;

static inline Var resolve_forward(const GraphCopy *c, Var v) {
    return c->to ? c->to[v] : v;
}
static inline Var copied_id(const GraphCopy *c, Var v) {
    return v == VAR_NONE ? VAR_NONE : c->id[resolve_forward(c, v)];
}

/* Have all inputs and shared variables their own names in g's list? Then no other
 * variable has a name of theirs. */
bool copy_lists_leaves(const Graph *g);
/* Once all nodes are copied. */
void copy_interface(GraphCopy *c, unsigned roots);
void copy_facts(Graph *d, const Graph *g); /* about the whole */

#endif
