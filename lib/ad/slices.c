/* Derivatives by a named part of a variable, such as `part = W[:2]`, that the cost does
 * not use itself: the cost is then differentiated as a function of that part of W. The
 * gradient is the same part of W's gradient, and a tangent becomes one of W that is
 * zero elsewhere. A part that the cost does use is a variable like any other. */
#include "ad/term.h"

/* What v is a part of by integers, slices, None and `...`, which take each element at
 * most once. */
static Var part_of(const Graph *g, Session *s, Var v) {
    ApplyId a = var_owner(g, v);
    if (a == APPLY_NONE || !op_is(s, g->apply[a].op, OP_SUBTENSOR)) return VAR_NONE;
    for (size_t i = 1; i < g->apply[a].nin; i++) {
        const Type *t = var_type(g, apply_in(g, a)[i]);
        if (t->kind != TYPE_TENSOR || t->ndim > 0 || !dtype_is_integer(t->dtype))
            return VAR_NONE;
    }
    return apply_in(g, a)[0];
}

const Var *ad_whole(Builder *b, Arena *a, VarList of, VarList wrt) {
    const Graph *g = b->g;
    Var *whole = NULL;
    uint8_t *used = NULL;
    for (size_t i = 0; i < wrt.n; i++) {
        if (part_of(g, b->s, wrt.p[i]) == VAR_NONE) continue;
        if (!used) {
            whole = arena_copy(a, wrt.p, wrt.n * sizeof *whole);
            used = NEW_N(a, g->nvar, uint8_t);
            for (size_t k = 0; k < of.n; k++)
                used[of.p[k]] = 1;
            graph_spread_needs(g, 0, used);
        }
        Var v = wrt.p[i];
        while (v != VAR_NONE && !used[v])
            v = part_of(g, b->s, v);
        if (v != VAR_NONE) whole[i] = v;
    }
    return whole ? whole : wrt.p;
}

bool ad_has_parts(Builder *b, VarList of, VarList wrt) {
    Arena *a = arena_new(b->s);
    const Var *whole = ad_whole(b, a, of, wrt);
    bool any = false;
    for (size_t i = 0; i < wrt.n; i++)
        any |= whole[i] != wrt.p[i];
    arena_free(a);
    return any;
}

/* The Apply with x, and maybe y, in place of the variable that it takes a part of. */
static Var apply_index(Builder *b, const Op *op, ApplyId part, Var x, const Var *y) {
    const Apply ap = b->g->apply[part];
    Arena *a = arena_new(b->s);
    Var *in = NEW_N(a, ap.nin + 1U, Var);
    size_t n = 0;
    in[n++] = x;
    if (y) in[n++] = *y;
    for (size_t i = 1; i < ap.nin; i++)
        in[n++] = apply_in(b->g, part)[i];
    PropArg index = {"index", ap.props->p[0]};
    Var v = op_apply1(b, op, props_make(b->s, op, 1, &index), n, in);
    arena_free(a);
    return v;
}

Var ad_take_part(Builder *b, Var whole, Var part, Var gradient) {
    Vec(ApplyId) step = {0};
    for (Var v = part; v != whole; v = apply_in(b->g, var_owner(b->g, v))[0])
        vec_push(b->s, &step, var_owner(b->g, v));
    while (step.n > 0 && gradient != VAR_NONE)
        gradient = apply_index(b, op_known(b->s, OP_SUBTENSOR), step.p[--step.n],
                               gradient, NULL);
    vec_free(&step);
    return gradient;
}

/* The tangent of the whole whose part has this tangent. */
static Var put_part(Builder *b, Var whole, Var part, Var tangent) {
    const Op *set = op_known(b->s, OP_SET_SUBTENSOR);
    while (part != whole && tangent != VAR_NONE) {
        ApplyId a = var_owner(b->g, part);
        part = apply_in(b->g, a)[0];
        Var zero = ad_zero(b, part);
        if (zero == VAR_NONE) return zero;
        tangent = op_cast_to(b, tangent, var_type(b->g, zero)->dtype);
        if (tangent != VAR_NONE) tangent = apply_index(b, set, a, zero, &tangent);
    }
    return tangent;
}

bool ad_jvp_parts(Builder *b, VarList f, VarList wrt, const Var *tangent,
                  bool by_pullback, Var *result) {
    if (!ad_has_parts(b, f, wrt))
        return ad_jvp(b, f, wrt, tangent, by_pullback, result);
    if (!ad_check_tangents(b, wrt, tangent)) return false;
    Arena *a = arena_new(b->s);
    const Var *whole = ad_whole(b, a, f, wrt);
    Var *by = NEW_N(a, wrt.n, Var), *t = NEW_N(a, wrt.n, Var);
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < wrt.n; i++) {
        Var own = put_part(b, whole[i], wrt.p[i], tangent[i]);
        size_t k = 0;
        while (k < n && by[k] != whole[i])
            k++;
        if (k < n && own != VAR_NONE) own = ad_add(b, t[k], own);
        by[k] = whole[i];
        t[k] = own;
        n += k == n;
        ok = own != VAR_NONE;
    }
    ok = ok && ad_jvp(b, f, (VarList){n, by}, t, by_pullback, result);
    arena_free(a);
    return ok;
}
