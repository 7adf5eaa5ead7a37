/* A variable that a destroyer overwrites must stay separate: merged with an equal one,
 * both would be overwritten. In the working copy, the Applys that compute such
 * variables get serial numbers, which keep them from merging. */
#include "rewrite/rewrite_impl.h"

static int destroyed_input(const Graph *g, ApplyId a, size_t out) {
    const Apply *r = &g->apply[a];
    int k = op_rare(r->op)->destroys ? op_rare(r->op)->destroys(g, a, out) : -1;
    return k < r->nin ? k : -1;
}

static bool destroys_any(const Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (op_rare(g->apply[a].op)->destroys) return true;
    return false;
}

bool pin_destroyed_needed(const Graph *main) {
    bool any = destroys_any(main);
    for (size_t i = 0; i < main->functions.n; i++)
        any |= destroys_any(main->functions.p[i]);
    return any;
}

/* Pins the makers of v and of everything that v views. */
static void pin_makers(Graph *g, Var v) {
    for (ApplyId a = var_owner(g, v); a != APPLY_NONE; a = var_owner(g, v)) {
        Apply *r = &g->apply[a];
        if (!r->serial) r->serial = UINT32_MAX;
        int k = op_view(g, a, v - r->out);
        if (k < 0 || k >= r->nin) return;
        v = apply_in(g, a)[k];
    }
}

void pin_destroyed_mark(Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        for (uint32_t j = 0; j < g->apply[a].nout; j++) {
            int k = destroyed_input(g, a, j);
            if (k >= 0) pin_makers(g, apply_in(g, a)[k]);
        }
}

void pin_destroyed_unmark(Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (!op_has_effect(g, g->apply[a].op, g->apply[a].props))
            g->apply[a].serial = 0;
}
