/* Control dependence: which results are needed under the same condition. An op with a
 * lazy thunk (ifelse) demands some inputs only once it knows that it needs them; what
 * nothing else needs runs in that case only. */
#ifndef LANG_LAZY_SCOPE_H
#define LANG_LAZY_SCOPE_H

#include "op/op.h"

/* May an Apply of the op run without its input i? */
static inline bool op_input_is_lazy(const Op *op, size_t i) {
    return op_rare(op)->thunk && op_rare(op)->thunk->lazy &&
           !(i < 32 && op_rare(op)->thunk->first >> i & 1U);
}
bool lazy_scope_any(const Graph *g); /* does any op have such inputs? */

/* By Apply: 0: always needed; equal numbers: needed under the same condition;
 * SCOPE_NONE: not needed. The roots are the graph's outputs, updates, initial values
 * and until, `want`, and what lazy_scope_keep_unread found. An effect that a root
 * depends on has the scope of that dependence (in a branch: if the branch is taken);
 * other effects are roots, too.
 * Linear time. */
#define SCOPE_NONE UINT32_MAX
uint32_t *lazy_scope_find(const Graph *g, Arena *a, VarList want);

/* By effect: is it needed under a condition only? `scope` is lazy_scope_find's. */
bool *lazy_scope_conditional(const Graph *g, Arena *a, const uint32_t *scope);

/* An ifelse may hold effects even if nothing reads its results: what only its branches
 * need runs in one of them, and would run nowhere if the ifelse were removed. Finds
 * such Applies among the first `napply`, or their replacements by `forward` (may be
 * NULL), names their results if necessary and puts one result of each into g->kept.
 * Linear time. */
void lazy_scope_keep_unread(Graph *g, ApplyId napply, const Var *forward);
void lazy_scope_keep_all(Graph *main); /* main and its functions */

#endif
