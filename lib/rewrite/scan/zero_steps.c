/* Work moved before a loop that may take no steps. Without steps, nothing that may fail
 * must run: the work becomes one branch of an ifelse, with zeros of its shape in the
 * other. */
#include "rewrite/scan/pass.h"

enum { MOST_OF_A_SIZE = 256 };

bool scan_takes_steps(const Scan *l) {
    const Tensor *c = var_const(l->r->g, l->part.arg[0]);
    return c && tensor_i64(c, 0) > 0;
}

bool scan_tries_step(const Scan *l) {
    if (scan_takes_steps(l)) return false;
    const ScanForm *f = &l->part.f;
    for (size_t o = 0; o < f->nout; o++) {
        const Type *t = var_type(f->fn, f->fn->outputs.p[o].var);
        for (int k = 0; !f->out[o].ntap && k < t->ndim; k++)
            if (t->dim[k] == DIM_UNKNOWN) return true;
    }
    return false;
}

/* Is v computed without anything that may fail, from values that the loop needs
 * anyway? */
static bool cannot_fail(const Scan *l, Var v) {
    const Graph *g = l->r->g;
    Var todo[MOST_OF_A_SIZE];
    size_t n = 0, seen = 0;
    todo[n++] = v;
    while (seen < n) {
        Var x = rewriter_resolve(l->r, todo[seen++]);
        ApplyId a = var_owner(g, x);
        for (size_t i = 0; a != APPLY_NONE && i < g->apply[l->id].nin; i++)
            if (l->part.arg[i] == x) a = APPLY_NONE;
        if (a == APPLY_NONE) continue;
        if (op_may_fail(g, a) || n + g->apply[a].nin > MOST_OF_A_SIZE) return false;
        for (size_t i = 0; i < g->apply[a].nin; i++)
            todo[n++] = apply_in(g, a)[i];
    }
    return true;
}

/* The size of dim k of x, without x. */
static Var size_without(Scan *l, Var x, int k) {
    Dim d = var_type(l->r->g, x)->dim[k];
    if (d != DIM_UNKNOWN) return shape_of(&l->r->b, x, k);
    Var size = rewriter_lift_shape(l->r, x, k);
    if (size != VAR_NONE && cannot_fail(l, size)) return size;
    return scan_tries_step(l) ? VAR_NONE : const_int(&l->r->b, 0);
}

static Var zeros_like_result(Scan *l, Var x, bool rows) {
    Builder *b = &l->r->b;
    const Type *t = var_type(l->r->g, x);
    Var dim[MAX_NDIM], in[2];
    for (int k = 0; k < t->ndim; k++) {
        dim[k] = rows && k == 0 ? l->part.arg[0] : size_without(l, x, k);
        if (dim[k] == VAR_NONE) return VAR_NONE;
    }
    in[1] = const_number(b, t->dtype, 0);
    if (t->ndim == 0) return in[1];
    in[0] = ints_stack(b, (size_t)t->ndim, dim);
    return apply_named(b, "full", 2, in, 0, NULL);
}

Var scan_or_initial(Scan *l, Var x, Var none) {
    Rewriter *r = l->r;
    Var any = scan_build_expr(l, "n > 0", VAR_NONE, VAR_NONE, l->part.arg[0]);
    Var y = any == VAR_NONE ? any : op_call3(&r->b, "ifelse", any, x, none);
    rewriter_grow(r);
    return y;
}

Var scan_if_steps(Scan *l, Var x, bool rows) {
    Rewriter *r = l->r;
    if (x == VAR_NONE || scan_takes_steps(l)) return x;
    if (var_type(r->g, x)->kind != TYPE_TENSOR) return VAR_NONE;
    Var none = zeros_like_result(l, x, rows);
    rewriter_grow(r);
    if (none == VAR_NONE) return VAR_NONE;
    Var y = scan_or_initial(l, x, none);
    return y != VAR_NONE && type_keeps(var_type(r->g, x), var_type(r->g, y)) ? y
                                                                             : VAR_NONE;
}
