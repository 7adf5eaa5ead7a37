/* Gradients that recompute instead of keeping. */
#ifndef AD_CHECKPOINT_H
#define AD_CHECKPOINT_H

#include "ad/term.h"

typedef struct Checkpoint {
    size_t nkeep;
    const Var *keep; /* what stays; with `automatic` chosen instead */
    bool automatic;
    size_t nalive;
    const Var
        *alive; /* what lives on anyway: outputs, new values of shared variables */
} Checkpoint;

/* After a traced walk, changes its gradients grad[] so that of what was computed before
 * it they read only kept values, inputs and shared variables: the rest is computed
 * again from those, stretch by stretch between kept ones, each when the gradient has
 * arrived at its end (after). Behind the last kept value nothing changes. Values stay
 * the same bits. What the old gradients needed alone is left as litter. */
bool ad_checkpoint(Builder *b, const GradTrace *t, const Checkpoint *how, size_t n,
                   Var *grad);
/* Marks in keep[], by variable below t->nvar, what should be kept so that kept values
 * and the largest stretch between them take the least bytes: about the square root of
 * the length of a chain. needed[] marks what the gradients read. Sizes without a number
 * count as equal. */
void ad_choose_kept(Builder *b, const GradTrace *t, const uint8_t *needed,
                    uint8_t *keep);
/* Before a walk: long scans of g, of which not all states are read by others too,
 * become scans over stretches of their steps. Ids change, names stay. False: diagnosed.
 */
bool ad_segment_scans(Graph *g);
/* Is it not worth a thought: a constant, a leaf, a few elements, no tensor? */
bool ad_is_small(const Graph *g, Var v);

#endif
