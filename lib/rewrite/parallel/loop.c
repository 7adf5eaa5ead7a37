/* Loops whose steps treat each row apart: a loop over the time of many sequences, not
 * one over the rows. The body stays as it is, and runs with a shard's rows. */
#include "rewrite/parallel/parallel.h"
#include "scan/scan.h"

/* Rows of the body's input k, if an argument has them along `axis` there. */
static bool give_rows(const SplitApply *p, Split *body, const Spread *x, size_t k,
                      int less) {
    const Graph *fn = body->g;
    Var v = fn->inputs.p[k];
    const Type *t = var_type(fn, v);
    if (!x->rows) return true;
    if (x->axis < less) return split_fail(p, "it loops over the rows");
    if (split_is_merged(x)) return split_fail(p, "rows are merged with another axis");
    int axis = x->axis - less;
    body->spread[v] = (Spread){.rows = true, .axis = axis};
    if (dim_is_named(t->dim[axis]) && !split_is_row_dim(body, t->dim[axis]))
        body->name[body->nname++] = t->dim[axis];
    return true;
}

static bool give_inputs(const SplitApply *p, Split *body, const ScanForm *f) {
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            if (!give_rows(p, body, split_of(p, f->seq[i].arg), f->seq[i].in + k, 1))
                return false;
    for (size_t i = 0; i < f->nout; i++)
        for (size_t k = 0; k < f->out[i].ntap; k++)
            if (!give_rows(p, body, split_of(p, f->out[i].arg), f->out[i].in + k,
                           !scan_one_row(&f->out[i])))
                return false;
    for (size_t i = 0; i < f->nother; i++)
        if (!give_rows(p, body, split_of(p, f->other_arg + i), f->other_in + i, 0))
            return false;
    for (Var v = 0; v < body->g->nvar; v++)
        if (var_leaf(body->g, v) == LEAF_DIM)
            body->spread[v].counts =
                split_is_row_dim(body, DIM_NAMED(var_leafrec(body->g, v)->name));
    return true;
}

/* In the body a number of rows is the shard's: good for shapes, and nothing else. */
static bool check_apply(Split *body, ApplyId id) {
    const Apply *r = &body->g->apply[id];
    SplitApply p = {body,  id, r->op, r->props, r->nin, r->nout, apply_in(body->g, id),
                    r->out};
    bool index = op_is(body->s, r->op, OP_SUBTENSOR) && split_of(&p, 0)->rows;
    const Spread *out = split_of_apply(body, id);
    if (body->crossing[id] != CROSS_NONE)
        return split_fail(&p, "rows cross in a step of a loop, where ranks can't meet");
    if (op_is(body->s, r->op, OP_DRAW) && out->rows)
        return split_fail(&p, "it draws for each row in a step of a loop");
    for (size_t i = 0; i < r->nin; i++) {
        const Spread *x = split_of(&p, i);
        bool shape = split_gives_shape(body->s, r->op, r->nin, i) || out->counts;
        if ((x->counts && !shape) || (x->position && !(index && i > 0)))
            return split_fail(&p, "it counts rows in a step of a loop");
    }
    return true;
}

static bool check_body(const SplitApply *p, Split *body) {
    Graph *fn = body->g;
    for (ApplyId id = 0; id < fn->napply; id++) {
        bool needed = false;
        for (Var k = 0; k < fn->apply[id].nout; k++)
            needed |= body->live[fn->apply[id].out + k];
        if (needed && !check_apply(body, id))
            return note(body->s, p->w->g->origin[p->id].at, "in this loop");
    }
    return fn->until == VAR_NONE || !body->spread[fn->until].rows ||
           split_fail(p, "rows decide when it ends");
}

/* States stay as they are spread, and all results have rows. */
static bool take_outputs(const SplitApply *p, const Split *body, const ScanForm *f,
                         uint32_t level) {
    for (size_t k = 0; k < f->nout; k++) {
        Spread x = body->spread[body->g->outputs.p[k].var];
        if (!x.rows || x.position || split_is_merged(&x))
            return split_fail(p, "its result %zu has no rows, but others have", k);
        for (size_t i = 0; i < f->out[k].ntap; i++) {
            const Spread *state = &body->spread[body->g->inputs.p[f->out[k].in + i]];
            if (!state->rows || state->axis != x.axis)
                return split_fail(p,
                                  "its state %zu has rows along another axis than what "
                                  "a step makes of it",
                                  k);
        }
        p->w->spread[p->out + k] =
            (Spread){.rows = true,
                     .axis = x.axis + (f->out[k].keep != SCAN_LAST),
                     .level = level};
    }
    return true;
}

bool split_scan_rule(const SplitApply *p, Spread *out, Crossing *crossing) {
    Split *w = p->w;
    ScanForm f = scan_form_of(w->g, p->id, w->a);
    (void)crossing;
    if (!f.fn) return split_fail(p, "its function is missing");
    if (split_of(p, 0)->counts || split_of(p, 0)->rows)
        return split_fail(p, "it loops over the rows");
    Split body = {.s = w->s,
                  .g = f.fn,
                  .a = w->a,
                  .o = w->o,
                  .live = graph_live(f.fn, w->a, ROOTS_RUN),
                  .spread = NEW_N(w->a, f.fn->nvar, Spread),
                  .crossing = NEW_N(w->a, f.fn->napply + 1, Crossing),
                  .name = NEW_N(w->a, f.fn->inputs.n + 1, Dim)};
    out->rows = true;
    return give_inputs(p, &body, &f) && split_analyse_applies(&body) &&
           check_body(p, &body) && take_outputs(p, &body, &f, out->level);
}
