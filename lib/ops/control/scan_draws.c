/* Random numbers in a loop's body: a seed, or a state that isn't fed back, gives every
 * step the same ones, which those who know generators with a hidden state don't
 * expect. */
#include "op/signature.h"
#include "ops/control/scan.h"

#include <string.h>

/* Is the variable what it is in every step? The body's own inputs are rows and states.
 */
static bool is_same_in_steps(const Graph *fn, Var v, size_t nown) {
    size_t own = nown < fn->inputs.n ? nown : fn->inputs.n;
    for (size_t i = 0; i < own; i++)
        if (fn->inputs.p[i] == v) return false;
    return var_owner(fn, v) == APPLY_NONE;
}

static bool draws_the_same(const Graph *fn, ApplyId a, size_t nown) {
    const Apply *p = &fn->apply[a];
    Var last = p->out + (Var)p->nout - 1;
    if (var_type(fn, last)->kind == TYPE_RANDOM) return false; /* only a state */
    bool same = p->op->props && strncmp(p->op->props, "seed: ", 6) == 0;
    for (size_t i = 0; i < p->nin && !same; i++) {
        Var v = apply_in(fn, a)[i];
        same = var_type(fn, v)->kind == TYPE_RANDOM && is_same_in_steps(fn, v, nown);
    }
    return same;
}

void scan_warn_of_draws(const Graph *fn, size_t nown) {
    Session *s = fn->s;
    for (ApplyId a = 0; a < fn->napply; a++) {
        if (!draws_the_same(fn, a, nown)) continue;
        warn(s, fn->origin[a].at, E_ARG,
             "this draw gives every step of the loop the same random numbers");
        note(
            s, NOWHERE,
            "for others in each step, draw them all before the loop, as a sequence, or "
            "feed a state back: outputs_info=[rng(1), ...] and rng=; if the same are "
            "meant, draw them before the loop");
        return;
    }
}
