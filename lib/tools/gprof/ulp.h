/* gprof --ulp: where digits are lost. */
#ifndef TOOLS_GPROF_ULP_H
#define TOOLS_GPROF_ULP_H

#include "graph/graph.h"

/* The rounding of one result of an Apply, in units in the last place (ulp) of its own
 * dtype at the exact value; infinite where one value is nan or infinite and the other
 * is not. */
typedef struct UlpRow {
    Var var; /* of the graph that is measured */
    DType dtype;
    double own, mean; /* largest and mean error of the Apply alone: against the same
                         Apply in the wider dtype, given the same inputs */
    double inherited; /* largest difference that the errors of the inputs make */
    double total;     /* largest error of the value as it is */
    double lost;      /* by how much that exceeds the largest of the inputs */
} UlpRow;
typedef Vec(UlpRow) UlpRows;

/* A copy of g that computes the rows' figures: output i is float64[4] for row i, in
 * UlpRow's order. Of float32, float16 and complex64 each result is computed again in
 * float64 or complex128, from the inputs that it has and from exact ones. A graph that
 * has none of them is computed in float32 instead, *narrowed. What has no wider form
 * (draws, values other than arrays, a plugin's ops) counts as exact. The caller frees
 * the graph and the rows. NULL: diagnosed. */
Graph *ulp_graph(const Graph *g, UlpRows *rows, bool *narrowed);

#endif
