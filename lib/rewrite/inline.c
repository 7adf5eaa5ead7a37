/* Replaces calls by bodies, as long as the caller doesn't grow too much by that: a call
 * in a step of a loop costs more than a small body, and what a body computes can be
 * shared with what its caller and other bodies compute. Functions are processed before
 * their callers, so nested calls are inlined from the inside out; a function that is
 * recursive, loops or has effects is left alone. */
#include "rewrite/rewrite_impl.h"
#include "userop/userop.h"

/* Of a body; of all that a caller takes in, and all callers together; of a body that
 * costs no more than its call. The definitions of ops must be taken in. */
enum {
    MOST_APPLIES = 512,
    MOST_GROWTH = 1 << 13,
    MOST_IN_ALL = 1 << 17,
    FEW_APPLIES = 8,
    MOST_DEFINITIONS = 1 << 20
};

/* Calls of fused groups don't count: they are copied along, whatever was rewritten
 * first. */
static bool calls_unfused(const Graph *main, const Graph *fn) {
    for (ApplyId a = 0; a < fn->napply; a++)
        for (size_t i = 0; i < fn->apply[a].props->n; i++) {
            const Prop *p = &fn->apply[a].props->p[i];
            if (p->kind != P_GRAPH) continue;
            const Graph *called = graph_function(main, p->sym);
            if (!called || !called->fused) return true;
        }
    return false;
}

/* A function with its own derivative stays: inlining the call would lose that
 * derivative. */
static bool may_inline(const Graph *main, const Graph *fn) {
    return !fn->fused && fn->napply <= MOST_APPLIES && fn->effects.n == 0 &&
           fn->shared.n == 0 && fn->until == VAR_NONE && !fn->pullback &&
           !fn->pushforward && !calls_unfused(main, fn);
}

/* The arguments' types determine the function's dims, so they must equal the inputs'
 * types. */
static bool call_types_agree(const Graph *g, const Apply *a, const Graph *fn) {
    for (size_t i = 0; i < a->nin; i++)
        if (var_type(g, g->in[a->in + i]) != var_type(fn, fn->inputs.p[i]))
            return false;
    for (Var k = 0; k < a->nout; k++)
        if (var_type(g, a->out + k) != var_type(fn, fn->outputs.p[k].var)) return false;
    return true;
}

/* Replaces an Apply by fn's body. */
static bool replace_by_body(Rewriter *r, ApplyId id, const Graph *fn) {
    Apply a = r->g->apply[id];
    Arena *arena = arena_new(r->s);
    Var *old = NEW_N(arena, a.nout, Var), *new = NEW_N(arena, a.nout, Var);
    bool ok = graph_inline(r->g, fn, apply_in(r->g, id), true, new);
    rewriter_grow(r);
    for (Var k = 0; ok && k < a.nout; k++) {
        old[k] = a.out + k;
        r->forward[old[k]] = new[k];
    }
    if (ok) ok = rewriter_fired(r, r->current, a.nout, old, new);
    arena_free(arena);
    return ok;
}

/* A message about one of these Applies still shows the call. */
static void note_call(Graph *g, ApplyId from, Span call) {
    for (ApplyId a = from; a < g->napply; a++) {
        Span *at = &g->origin[a].at;
        at->source = source_called(g->s, at->source, call);
    }
}

/* The work is in proportion to the graph: of bodies that aren't few Applies, a caller
 * takes in so many, and all callers of a run. */
static bool is_worth(const Rewriter *r, uint64_t grown, const Graph *fn) {
    int64_t before = r->db->entry.p[r->current].profile.nodes;
    uint64_t all = (uint64_t)(before > 0 ? before : 0) + grown + fn->napply;
    return fn->napply <= FEW_APPLIES ||
           (grown + fn->napply <= MOST_GROWTH && all <= MOST_IN_ALL);
}

bool inline_pass(Rewriter *r) {
    const Op *call = op_known(r->s, OP_CALL);
    uint64_t grown = 0;
    for (ApplyId id = 0, n = r->g->napply; id < n; id++) {
        const Apply *a = &r->g->apply[id];
        if (a->op != call || rewriter_limit_reached(r)) continue;
        const Graph *fn =
            graph_function(r->g, op_prop(r->s, call, a->props, "fn")->sym);
        if (fn == r->g || !may_inline(r->g, fn) || !call_types_agree(r->g, a, fn))
            continue;
        if (!is_worth(r, grown, fn)) continue;
        ApplyId from = r->g->napply;
        Span at = r->g->origin[id].at;
        if (!replace_by_body(r, id, fn)) return false;
        note_call(r->g, from, at);
        grown += r->g->napply - from;
    }
    return true;
}

/* Bodies may contain more ops to expand, so the loop covers the Applies that it
 * adds. */
bool inline_expand_pass(Rewriter *r) {
    uint64_t grown = 0;
    for (ApplyId id = 0; id < r->g->napply; id++) {
        const Op *op = r->g->apply[id].op;
        if (!op->body || userop_has_derivative(op) || rewriter_limit_reached(r))
            continue;
        const Graph *body = userop_body(r->g, id);
        if (!body) return false;
        if ((grown += body->napply) > MOST_DEFINITIONS) break;
        if (!replace_by_body(r, id, body)) return false;
    }
    return true;
}
