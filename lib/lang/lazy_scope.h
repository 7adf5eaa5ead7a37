/* Which results are needed under the same condition. An op with a lazy thunk (ifelse)
 * asks for some of its inputs only when it turns out that it needs them; what nothing
 * else needs is run in that case alone. */
#ifndef LANG_LAZY_SCOPE_H
#define LANG_LAZY_SCOPE_H

#include "op/op.h"

/* May an Apply of it run without its input i? */
static inline bool op_input_is_lazy(const Op *op, size_t i) {
    return op->thunk && op->thunk->lazy && !(i < 32 && op->thunk->first >> i & 1U);
}
bool lazy_scope_any(const Graph *g); /* has an op that has such inputs */

/* By Apply: 0: always needed; equal numbers: needed under one condition; SCOPE_NONE:
 * not needed. The roots are the graph's outputs, updates, initial values and until, and
 * `want`. An effect that something of these needs is needed as that is (in a branch: if
 * the branch is taken); others are roots, too. Linear. */
#define SCOPE_NONE UINT32_MAX
uint32_t *lazy_scope_find(const Graph *g, Arena *a, size_t nwant, const Var *want);

/* By effect: is it needed only under some condition? Takes scopes as above. */
bool *lazy_scope_conditional(const Graph *g, Arena *a, const uint32_t *scope);

/* An ifelse whose results nothing reads may still hold effects: what its branches alone
 * need happens in one of them, or in none once the ifelse is gone. Finds those among
 * the first `napply` Applies, or what they lead to by `forward` (may be NULL), names
 * what has no name, and puts one result of each into g->kept. Linear. */
void lazy_scope_keep_unread(Graph *g, ApplyId napply, const Var *forward);
void lazy_scope_keep_all(Graph *main); /* its functions' too */

#endif
