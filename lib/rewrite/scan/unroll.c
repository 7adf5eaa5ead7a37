/* Loops of one step, or of a few steps of elementwise work, are replaced by the steps:
 * a loop inside a loop starts anew in each of its steps, and values of one shape stay
 * in registers from step to step. */
#include "rewrite/scan/pass.h"

enum {
    MOST_STEPS = 16,
    MOST_APPLIES = 128 /* of all steps */
};

/* Input k of the body in step `step`; y: the results of the steps before, by output. */
static Var step_input(Scan *l, size_t k, int64_t step, Var *const *y) {
    const ScanForm *f = &l->part.f;
    for (size_t i = 0; i < f->nseq; i++)
        if (k - f->seq[i].in < f->seq[i].ntap)
            return scan_build_expr(
                l, "x[n]", l->part.arg[f->seq[i].arg], VAR_NONE,
                const_int(&l->r->b,
                          step + f->seq[i].tap[k - f->seq[i].in] - f->seq[i].low));
    for (size_t i = 0; i < f->nout; i++) {
        const ScanOut *o = &f->out[i];
        if (k - o->in >= o->ntap) continue;
        int64_t at = step + o->tap[k - o->in];
        Var x = l->part.arg[o->arg];
        if (at >= 0) return y[at][i];
        if (scan_one_row(o)) return x;
        return scan_build_expr(l, "x[n]", x, VAR_NONE,
                               const_int(&l->r->b, o->depth + at));
    }
    return l->part.arg[scan_arg(f, k)];
}

static bool is_elementwise(const Graph *fn) {
    for (ApplyId id = 0; id < fn->napply; id++) {
        const Apply *a = &fn->apply[id];
        if (!a->op->elemwise || a->serial || a->op->effect) return false;
    }
    return true;
}

/* Arrays of which all steps are kept are better written to their rows. Numbers of a
 * loop that starts once a run gain nothing. */
static bool may_unroll(const Scan *l, int64_t n) {
    const ScanForm *f = &l->part.f;
    if (n < 1 || f->fn->effects.n || scan_is_opaque(f->fn)) return false;
    if (n == 1) return true;
    if (n > MOST_STEPS || n * f->fn->napply > MOST_APPLIES || f->checkpoint ||
        f->fn->until != VAR_NONE || !is_elementwise(f->fn))
        return false;
    bool gains = l->r->g != l->r->g->main;
    for (size_t o = 0; o < f->nout; o++) {
        const Type *t = var_type(f->fn, f->fn->outputs.p[o].var);
        gains |= t->ndim > 0;
        if (f->out[o].keep != SCAN_LAST && t->ndim > 0) return false;
    }
    return gains;
}

/* The results of a step go to y[step]. */
static bool make_step(Scan *l, int64_t step, Var *const *y) {
    const Graph *fn = l->part.f.fn;
    Outside out = outside_new(l);
    for (size_t k = 0; k < l->part.f.nin; k++)
        if ((out.var[fn->inputs.p[k]] = step_input(l, k, step, y)) == VAR_NONE)
            return false;
    for (size_t o = 0; o < l->part.f.nout; o++)
        if ((y[step][o] = outside_make(&out, fn->outputs.p[o].var)) == VAR_NONE)
            return false;
    return true;
}

/* What the loop returns of output o. */
static Var kept_of_steps(Scan *l, size_t o, int64_t n, Var *const *y) {
    int64_t keep = l->part.f.out[o].keep;
    if (keep == SCAN_LAST) return y[n - 1][o];
    if (keep == SCAN_ALL || keep > n) keep = n;
    if (keep == 1)
        return scan_build_expr(l, "x[None]", y[n - 1][o], VAR_NONE, VAR_NONE);
    Var *in = NEW_N(l->a, (size_t)keep, Var);
    for (int64_t k = 0; k < keep; k++)
        in[k] = y[n - keep + k][o];
    return rewriter_apply(l->r, op_known(l->r->s, OP_STACK), NULL, (size_t)keep, in);
}

static bool unroll(Scan *l, bool *ok) {
    scan_take_apart(l);
    const Tensor *c = var_const(l->r->g, l->part.arg[0]);
    int64_t n = c ? tensor_i64(c, 0) : 0;
    size_t nout = l->part.f.nout;
    if (!may_unroll(l, n)) return false;
    Var **y = NEW_N(l->a, (size_t)n, Var *), *kept = NEW_N(l->a, nout, Var);
    for (int64_t k = 0; k < n; k++) {
        y[k] = NEW_N(l->a, nout, Var);
        if (!make_step(l, k, y)) return false;
    }
    for (size_t o = 0; o < nout; o++) {
        kept[o] = kept_of_steps(l, o, n, y);
        if (kept[o] == VAR_NONE || !type_keeps(var_type(l->r->g, scan_output(l, o)),
                                               var_type(l->r->g, kept[o])))
            return false;
    }
    for (size_t o = 0; o < nout; o++)
        scan_replace_output(l, o, kept[o]);
    return *ok = scan_fired(l);
}

bool scan_unroll_pass(Rewriter *r) {
    return scan_each(r, unroll);
}
