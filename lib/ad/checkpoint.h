/* Gradients that recompute values instead of keeping them. */
#ifndef AD_CHECKPOINT_H
#define AD_CHECKPOINT_H

#include "ad/term.h"

typedef struct Checkpoint {
    VarList keep; /* variables to keep, added to the `automatic` choice */
    bool automatic;
    size_t parts; /* of the automatic choice: in how many the forward part is cut; 0: as
                   * many as take the fewest bytes */
    double share; /* how much of it is cut, from its beginning on; 0: all */
    VarList alive; /* kept in any case: outputs, shared variables' new values */
    int64_t few;   /* ad_checkpoint sets it: a tensor of no more elements is kept */
} Checkpoint;

/* After a traced walk, changes the gradients grad[] so that of the forward values they
 * read only kept ones, inputs and shared variables. The rest is recomputed from those,
 * segment by segment, each when the gradient has reached its end (`after`). Past the
 * last kept value nothing changes. Results are identical to the bit. What only the old
 * gradients needed stays in the graph as litter. */
bool ad_checkpoint(Builder *b, const GradTrace *t, const Checkpoint *how, size_t n,
                   Var *grad);
/* Marks in keep[], by variable below t->nvar, what to keep where the forward part is
 * cut into `parts` of about equal bytes; 0: so that the kept values plus the largest
 * segment between them take the fewest bytes, about the square root of a chain's
 * length. needed[] marks what the gradients read. A dim of unknown size counts as 256.
 */
void ad_choose_kept(Builder *b, const GradTrace *t, const Checkpoint *how,
                    const uint8_t *needed, uint8_t *keep);
/* Before a walk: turns each long scan of g into a scan over segments of its steps,
 * unless other Applies read all of its states. every > 0: steps of a segment; 0:
 * STRETCH_SQRT; < 0: where that can be, calls that keep -every states instead
 * (scan/revolve.h). Ids change, names stay. False: diagnosed. */
bool ad_segment_scans(Graph *g, int64_t every);
/* Is keeping it free or nearly so: a constant, a leaf, a few elements, not a tensor? */
bool ad_is_small(const Graph *g, const Checkpoint *how, Var v);
/* How many bytes it takes; a dim of unknown size counts as 256, what isn't a tensor as
 * nothing. */
double ad_estimate_bytes(const Graph *g, Var v);

#endif
