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

/* ---- dims ---- */

/* What the dims of a function are in a call of it. */
typedef struct CallDims {
    bool same; /* all types of arguments and results are the function's own */
    Map size;  /* by name: a Dim of the caller */
} CallDims;

/* Does the argument's dim prove the input's, as far as that is known before? */
static bool bind_dim(CallDims *d, Dim in, Dim arg) {
    uint64_t bound;
    if (!dim_is_named(in)) return in == arg && arg != DIM_UNKNOWN;
    if (map_get(&d->size, dim_sym(in), &bound)) return (Dim)bound == arg;
    if (arg == DIM_UNKNOWN) return false;
    map_put(&d->size, dim_sym(in), (uint64_t)arg);
    return true;
}

static bool bind_input(CallDims *d, const Type *in, const Type *arg) {
    d->same &= in == arg;
    if (in->kind != TYPE_TENSOR || arg->kind != TYPE_TENSOR) return in == arg;
    if (in->ndim != arg->ndim || in->dtype != arg->dtype) return false;
    for (int k = 0; k < in->ndim; k++)
        if (!bind_dim(d, in->dim[k], arg->dim[k])) return false;
    return true;
}

/* False: a type of an argument doesn't prove what the call would check. */
static bool find_call_dims(const Graph *g, const Apply *a, const Graph *fn,
                           CallDims *d) {
    *d = (CallDims){true, MAP(g->s)};
    for (size_t i = 0; i < a->nin; i++)
        if (!bind_input(d, var_type(fn, fn->inputs.p[i]),
                        var_type(g, g->in[a->in + i])))
            return false;
    for (Var k = 0; k < a->nout; k++)
        d->same &= var_type(g, a->out + k) == var_type(fn, fn->outputs.p[k].var);
    return true;
}

/* A leaf of the function in the caller; VAR_NONE: there is none. */
static Var leaf_in_caller(Rewriter *r, const Graph *fn, Var v, const CallDims *d) {
    uint64_t size;
    if (var_leaf(fn, v) == LEAF_CONST) return graph_share_const(r->g, fn, v, true);
    if (var_leaf(fn, v) != LEAF_DIM ||
        !map_get(&d->size, var_leafrec(fn, v)->name, &size))
        return VAR_NONE;
    return dim_is_named((Dim)size) ? graph_dim(r->g, dim_sym((Dim)size))
                                   : const_int(&r->b, (int64_t)size);
}

/* Builds the body anew, by the types that its variables have in the caller. False: it
 * can't be, or it is less certain of a result. */
static bool rebuild_body(Rewriter *r, ApplyId id, const Graph *fn, const CallDims *d,
                         Arena *arena, Var *out) {
    const Apply a = r->g->apply[id];
    Var *now = NEW_N(arena, fn->nvar + 1, Var), *in = NEW_N(arena, fn->nvar + 1, Var);
    size_t mark = diag_count(r->s);
    bool ok = true;
    for (Var v = 0; v < fn->nvar; v++)
        now[v] = VAR_NONE;
    for (size_t i = 0; i < a.nin; i++)
        now[fn->inputs.p[i]] = apply_in(r->g, id)[i];
    for (ApplyId k = 0; ok && k < fn->napply; k++) {
        const Apply *x = &fn->apply[k];
        ok = !x->serial && !x->op->effect;
        for (size_t i = 0; ok && i < x->nin; i++) {
            Var v = apply_in(fn, k)[i];
            if (now[v] == VAR_NONE && var_leaf(fn, v))
                now[v] = leaf_in_caller(r, fn, v, d);
            ok = (in[i] = now[v]) != VAR_NONE;
        }
        r->b.from = fn->origin[k];
        ok = ok && op_apply(&r->b, x->op, x->props, x->nin, in, now + x->out);
    }
    for (Var k = 0; ok && k < a.nout; k++) {
        Var v = fn->outputs.p[k].var;
        if (now[v] == VAR_NONE) now[v] = leaf_in_caller(r, fn, v, d);
        ok = (out[k] = now[v]) != VAR_NONE &&
             type_keeps(var_type(r->g, a.out + k), var_type(r->g, out[k]));
    }
    rewriter_forget(r, mark);
    return ok;
}

/* Replaces an Apply by fn's body; by the dims of its call, unless that is NULL. True
 * without that: the body can't be built. */
static bool replace_by_body(Rewriter *r, ApplyId id, const Graph *fn,
                            const CallDims *dims) {
    Apply a = r->g->apply[id];
    Arena *arena = arena_new(r->s);
    Var *old = NEW_N(arena, a.nout, Var), *new = NEW_N(arena, a.nout, Var);
    bool ok = true, built = true;
    if (dims && !dims->same)
        built = rebuild_body(r, id, fn, dims, arena, new);
    else
        ok = graph_inline(r->g, fn, apply_in(r->g, id), true, new);
    rewriter_grow(r);
    if (!built) return arena_free(arena), true;
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
        CallDims dims = {0};
        if (fn == r->g || op_prop(r->s, call, a->props, "rows")->ints.n ||
            !may_inline(r->g, fn) || !is_worth(r, grown, fn))
            continue;
        ApplyId from = r->g->napply;
        Span at = r->g->origin[id].at;
        bool ok =
            !find_call_dims(r->g, a, fn, &dims) || replace_by_body(r, id, fn, &dims);
        map_free(&dims.size);
        if (!ok) return false;
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
        if (!replace_by_body(r, id, body, NULL)) return false;
    }
    return true;
}
