/* A loop's body of single numbers may pass one on as it is: in `a, b = b, a + b`, or
 * where an item of a sequence becomes a state. A copy makes it a result of the ops that
 * are fused, so that the body is one program, which the plan can turn into machine code
 * for all steps. */
#include "rewrite/scan/pass.h"

static bool is_number(const Graph *g, Var v) {
    const Type *t = var_type(g, v);
    return t->kind == TYPE_TENSOR && type_size(t) == 1;
}

/* What machine code keeps in registers: no bools, which are masks there. */
static bool is_carried(const Graph *g, Var v) {
    LeafKind leaf = var_leaf(g, v);
    const Type *t = var_type(g, v);
    if (leaf != LEAF_INPUT || t->kind != TYPE_TENSOR) return false;
    size_t size = dtype_size(t->dtype);
    return size == 4 || size == 8;
}

static bool has_carried_output(const Graph *g) {
    for (size_t i = 0; i < g->outputs.n; i++)
        if (is_carried(g, g->outputs.p[i].var) && is_number(g, g->outputs.p[i].var))
            return true;
    return false;
}

/* Machine code has none of exp and its like. */
static bool is_op_on_numbers(const Graph *g, ApplyId id) {
    const Apply *a = &g->apply[id];
    bool is = a->op->elemwise && !a->op->math && a->nout == 1 && !a->serial &&
              is_number(g, a->out);
    for (size_t i = 0; is && i < a->nin; i++)
        is = is_number(g, apply_in(g, id)[i]);
    return is;
}

bool scan_carry_worth(Rewriter *r) {
    const Graph *g = r->g;
    bool worth = g != g->main && has_carried_output(g);
    for (ApplyId id = 0; worth && id < g->napply; id++)
        worth = is_op_on_numbers(g, id);
    return worth;
}

static bool copy_output(Rewriter *r, Output *o) {
    PropArg dtype = {"dtype", {.kind = P_DTYPE, .i = var_type(r->g, o->var)->dtype}};
    const Op *cast = op_known(r->s, OP_CAST);
    Var before = o->var;
    if (!op_apply(&r->b, cast, props_make(r->s, cast, 1, &dtype), 1, &before, &o->var))
        return false;
    rewriter_grow(r);
    return rewriter_fired(r, r->current, 1, &before, &o->var);
}

bool scan_carry_pass(Rewriter *r) {
    Graph *g = r->g;
    Arena *a = arena_new(r->s);
    bool ok = true;
    if (scan_body_invariants(r, a))
        for (size_t i = 0; ok && i < g->outputs.n; i++)
            if (is_carried(g, g->outputs.p[i].var) && !rewriter_limit_reached(r))
                ok = copy_output(r, &g->outputs.p[i]);
    arena_free(a);
    return ok;
}
