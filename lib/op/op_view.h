/* What an op's own functions may look at beside the Apply: the graph around it
 * (fold_if) and the shapes of its inputs (infer_shape). */
#ifndef OP_OP_VIEW_H
#define OP_OP_VIEW_H

#include "graph/graph.h"

typedef struct Builder Builder;
typedef struct Printer Printer; /* lang/print.h */

/* What decisions about one Apply may look at: the graph around it. */
typedef struct GraphView {
    const Graph *g;
    const Clients *clients;
    const uint8_t *is_output; /* by variable: an output, an update, or an effect's */
} GraphView;
/* infer_shape: the dims of each input are int64 0-d variables; the op builds those of
 * its outputs and never runs. */
typedef struct ShapeOf {
    Builder *b;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Var *in;
    const Var *const *in_shape; /* by input, then axis; NULL: a type without a shape */
    Var **out_shape; /* to fill, room for each output's rank; out_shape[i][0] VAR_NONE:
                        that output's shape can't be told */
} ShapeOf;

#endif
