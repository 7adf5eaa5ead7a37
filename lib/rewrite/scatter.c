/* Scattered values, as in the gradient of picking one class per row from
 * log_softmax(z)[arange(n), y]. That gradient scatters -1 / n into zeros: its sum along
 * the rows is simply the scattered values, and exp(log_softmax(z)) / n is then added to
 * it. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

static const Apply *owner_apply(Rewriter *r, Var v) {
    ApplyId a = var_owner(r->g, v);
    return a == APPLY_NONE ? NULL : &r->g->apply[a];
}

bool rewriter_is_zeros(Rewriter *r, Var v) {
    const Apply *a = owner_apply(r, v);
    if (!a) return rewriter_is_number(r, v, 0);
    if (rw_is(r, a, OP_ZEROS_LIKE) || rw_is(r, a, OP_ZEROS)) return true;
    size_t value = rw_is(r, a, OP_FULL) || rw_is(r, a, OP_FULL_LIKE) ? 1 : 0;
    return (value || a->op == op_known(r->s, OP_BROADCAST_TO)) &&
           rewriter_is_number(r, rewriter_resolve(r, r->g->in[a->in + value]), 0);
}

/* Does v list all row numbers of a tensor of type t in order? */
static bool is_all_rows(Rewriter *r, Var v, const Type *t) {
    const Apply *a = owner_apply(r, v);
    const Type *rows = var_type(r->g, v);
    return rw_is(r, a, OP_ARANGE) && a->nin == 1 && rows->ndim == 1 &&
           rows->dim[0] == t->dim[0] && rows->dim[0] != DIM_UNKNOWN;
}

/* The Apply that scatters one value into each row of zeros, or NULL. */
static const Apply *row_scatter(Rewriter *r, Var v) {
    const Apply *a = owner_apply(r, v);
    const Type *t = var_type(r->g, v);
    if ((!rw_is(r, a, OP_INC_SUBTENSOR) && !rw_is(r, a, OP_SET_SUBTENSOR)) ||
        a->nin != 4 || t->ndim != 2 ||
        strcmp(sym_text(r->s, rewriter_prop(r, a, "index")->sym), "$, $") != 0)
        return NULL;
    Var rows = rewriter_resolve(r, r->g->in[a->in + 2]),
        cols = rewriter_resolve(r, r->g->in[a->in + 3]);
    const Type *ct = var_type(r->g, cols);
    bool one_each = ct->ndim == 0 ||
                    (ct->ndim == 1 && ct->dim[0] == t->dim[0] && ct->dtype != DT_BOOL);
    if (!one_each || !is_all_rows(r, rows, t) ||
        !rewriter_is_zeros(r, rewriter_resolve(r, r->g->in[a->in])))
        return NULL;
    return a;
}

/* The values as a column or a vector, of the sum's type. */
static Var values_as_sum(Rewriter *r, Var y, const Type *t) {
    const Apply *b = rewriter_known_owner(r, y, OP_BROADCAST_TO);
    Var source = b ? rewriter_resolve(r, r->g->in[b->in]) : y;
    if (var_type(r->g, source)->ndim == 0) y = source;
    const Op *expand = op_known(r->s, OP_EXPAND_DIMS);
    if (var_type(r->g, y)->ndim == 1 && t->ndim == 2) {
        int64_t one = 1;
        PropArg arg = {"axis", PROP_INTS(&one, 1)};
        y = rewriter_apply(r, expand, props_make(r->s, expand, 1, &arg), 1, &y);
    }
    return rewriter_fit(r, y, t);
}

bool scatter_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const Type *t = var_type(r->g, a->out);
    const Prop *axis = rewriter_prop(r, a, "axis");
    Var x = rewriter_input(r, id, 0);
    if (axis->kind != P_INTS || axis->ints.n != 1 || axis->ints.p[0] != 1 ||
        var_type(r->g, x)->dtype != t->dtype)
        return false;
    const Apply *scatter = row_scatter(r, x);
    if (!scatter) return false;
    out[0] = values_as_sum(r, rewriter_resolve(r, r->g->in[scatter->in + 1]), t);
    return out[0] != VAR_NONE;
}

/* ---- broadcast values ---- */

/* The type that the index of a scatter selects; NULL: it doesn't type-check. */
static const Type *picked_type(Rewriter *r, const Apply *a) {
    const Op *read = op_known(r->s, OP_SUBTENSOR);
    const Type *t[OUT_MAX];
    size_t mark = diag_count(r->s), n = (size_t)a->nin - 1;
    PropArg index = {"index", *rewriter_prop(r, a, "index")};
    if (a->nin > 16) return NULL;
    Var in[16] = {rewriter_resolve(r, r->g->in[a->in])};
    for (size_t i = 1; i < n; i++)
        in[i] = rewriter_resolve(r, r->g->in[a->in + i + 1]);
    n = op_infer(r->g, read, props_make(r->s, read, 1, &index), (VarList){n, in},
                 NOWHERE, t);
    diag_rewind(r->s, mark);
    return n ? t[0] : NULL;
}

/* Do the types prove that all dims of `have`, aligned right, equal those of `all`? */
static bool dims_stand(const Type *have, const Type *all) {
    int lead = all->ndim - have->ndim;
    for (int k = 0; lead >= 0 && k < have->ndim; k++)
        if (have->dim[k] == DIM_UNKNOWN || have->dim[k] != all->dim[lead + k])
            return false;
    return lead >= 0;
}

/* A scatter broadcasts its value itself. */
bool scatter_value_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var y = rewriter_input(r, id, 1), in[16];
    const Apply *b = rewriter_known_owner(r, y, OP_BROADCAST_TO);
    if (!b || a.nin > 16) return false;
    const Type *all = picked_type(r, &a);
    if (!all || !dims_stand(var_type(r->g, y), all)) return false;
    Var source = rewriter_resolve(r, r->g->in[b->in]);
    for (size_t i = 0; i < a.nin; i++)
        in[i] = i == 1 ? source : rewriter_input(r, id, i);
    out[0] = rewriter_apply(r, a.op, a.props, a.nin, in);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
}

/* ---- scatter(zeros, s) - x * s is scatter(x, -1) * -s ---- */

/* x of the product x * s. */
static Var other_factor(Rewriter *r, Var product, Var s) {
    const Apply *a = owner_apply(r, product);
    if (!rw_is(r, a, OP_MULTIPLY)) return VAR_NONE;
    Var x = rewriter_resolve(r, r->g->in[a->in]),
        y = rewriter_resolve(r, r->g->in[a->in + 1]);
    return y == s ? x : x == s ? y : VAR_NONE;
}

bool scatter_scaled_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *t = var_type(r->g, a.out);
    const Apply *scatter = owner_apply(r, rewriter_input(r, id, 0));
    if (!rw_is(r, scatter, OP_INC_SUBTENSOR) || scatter->nin > 16 ||
        !dtype_is_float(t->dtype))
        return false;
    Var s = rewriter_resolve(r, r->g->in[scatter->in + 1]), in[16];
    if (var_type(r->g, s)->ndim != 0 || var_is_const(r->g, s)) return false;
    Var x = other_factor(r, rewriter_input(r, id, 1), s);
    if (x == VAR_NONE || !type_keeps(t, var_type(r->g, x)) ||
        !rewriter_is_zeros(r, rewriter_resolve(r, r->g->in[scatter->in])))
        return false;
    const Op *inc = scatter->op;
    const Props *props = scatter->props;
    size_t nin = scatter->nin;
    for (size_t i = 2; i < nin; i++)
        in[i] = rewriter_resolve(r, r->g->in[scatter->in + i]);
    in[0] = x;
    in[1] = const_number(&r->b, t->dtype, -1);
    const Op *neg = op_known(r->s, OP_NEGATIVE);
    Var pair[2] = {rewriter_apply(r, inc, props, nin, in),
                   rewriter_apply(r, neg, NULL, 1, &s)};
    if (pair[0] == VAR_NONE || pair[1] == VAR_NONE) return false;
    out[0] = rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair);
    return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
}
