/* Appends Applies in bulk, for readers of files that have checked every number and
 * reserved room. */
#ifndef GRAPH_APPEND_H
#define GRAPH_APPEND_H

#include "graph/graph.h"

/* graph_apply without `intern` and `serial`; what is interned later does not find it
 * if something was interned before: graph_reserve has made room, inputs are variables
 * of g, and there is at least one output. */
static inline void graph_append(Graph *g, const Op *op, const Props *props,
                                uint32_t nin, const Var *in, uint32_t nout,
                                const Type *const *out, Origin from) {
    ApplyId a = g->napply++;
    g->apply[a] = (Apply){.op = op,
                          .props = props,
                          .in = g->nin,
                          .out = g->nvar,
                          .nin = (uint16_t)nin,
                          .nout = (uint16_t)nout};
    g->origin[a] = from;
    for (uint32_t i = 0; i < nin; i++)
        g->in[g->nin + i] = in[i];
    for (uint32_t i = 0; i < nout; i++)
        g->var[g->nvar + i] =
            (VarRec){.type = out[i], .owner = a, .index = (uint16_t)i};
    g->nin += nin;
    g->nvar += nout;
}

#endif
