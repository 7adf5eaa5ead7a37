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

/* Zeros, to which shards may add their parts. */
static bool is_zero(const Graph *g, Var v) {
    const Tensor *t = var_const(g, v);
    ApplyId id = var_owner(g, v);
    if (t) {
        for (int64_t i = 0, n = tensor_size(t); i < n; i++)
            if (tensor_f64(t, i) != 0) return false;
        return !dtype_is_complex(t->dtype);
    }
    if (id == APPLY_NONE) return false;
    const Op *op = g->apply[id].op;
    if (op_is(g->s, op, OP_FULL)) return is_zero(g, apply_in(g, id)[1]);
    return op_is(g->s, op, OP_ZEROS) || op_is(g->s, op, OP_ZEROS_LIKE);
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

/* A result that adds up parts: shards add theirs when the loop is over. */
static bool take_part(const SplitApply *p, const ScanForm *f, size_t k,
                      uint32_t level) {
    if (f->out[k].ntap && !is_zero(p->w->g, p->in[f->out[k].arg]))
        return split_fail(
            p, "its state %zu sums over rows, and doesn't begin with zeros", k);
    p->w->spread[p->out + k] = (Spread){.part = true, .level = level + 1};
    if (level + 2 > p->w->levels) p->w->levels = level + 2;
    return true;
}

/* States stay as they are spread, and all results have rows, or sum over them. */
static bool take_outputs(const SplitApply *p, const Split *body, const ScanForm *f,
                         uint32_t level) {
    for (size_t k = 0; k < f->nout; k++) {
        Spread x = body->spread[body->g->outputs.p[k].var];
        if (x.part) {
            if (!take_part(p, f, k, level)) return false;
            continue;
        }
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

/* A state to which each step adds a part is one from the beginning: then the body is
 * looked at once more. */
static bool find_parts(const SplitApply *p, Split *body, const ScanForm *f) {
    for (size_t round = 0; round <= f->nout; round++) {
        bool more = false;
        for (size_t k = 0; k < f->nout; k++)
            for (size_t i = 0; i < f->out[k].ntap; i++) {
                Spread *state = &body->spread[body->g->inputs.p[f->out[k].in + i]];
                if (state->part || !body->spread[body->g->outputs.p[k].var].part)
                    continue;
                *state = (Spread){.part = true};
                more = true;
            }
        body->sure = !more;
        if (!split_analyse_applies(body))
            return note(body->s, p->w->g->origin[p->id].at, "in this loop");
        if (!more) break;
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
    Split body = {.steps = true,
                  .s = w->s,
                  .g = f.fn,
                  .a = w->a,
                  .o = w->o,
                  .live = graph_live(f.fn, w->a, ROOTS_RUN),
                  .spread = NEW_N(w->a, f.fn->nvar, Spread),
                  .crossing = NEW_N(w->a, f.fn->napply + 1, Crossing),
                  .name = NEW_N(w->a, f.fn->inputs.n + 1, Dim)};
    out->rows = true;
    return give_inputs(p, &body, &f) && split_analyse_applies(&body) &&
           find_parts(p, &body, &f) && check_body(p, &body) &&
           take_outputs(p, &body, &f, out->level);
}
