/* What an op's own functions may see besides the Apply: the graph around it (fold_if)
 * and the shapes of its inputs (infer_shape). */
#ifndef OP_OP_VIEW_H
#define OP_OP_VIEW_H

#include "graph/graph.h"

typedef struct Builder Builder;
typedef struct Printer Printer; /* lang/print/print.h */

/* The graph around an Apply, for decisions about it. */
typedef struct GraphView {
    const Graph *g;
    const Clients *clients;
    const uint8_t *is_output; /* by variable: an output, an update, or an effect's */
} GraphView;
/* infer_shape: the dims of each input are int64 0-d variables, from which the op builds
 * those of its outputs; the op itself doesn't run. */
typedef struct ShapeOf {
    Builder *b;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Var *in;
    const Var *const *in_shape; /* by input, then axis; NULL: a type without a shape */
    Var **out_shape; /* to fill, with room for each output's rank; out_shape[i][0]
                        VAR_NONE: the shape of output i can't be inferred */
} ShapeOf;

#endif
