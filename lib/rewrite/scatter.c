/* Sums of scattered values. The gradient of picking one class per row, as in
 * log_softmax(z)[arange(n), y], is a scatter into zeros that is then summed along the
 * rows: each row holds just the value that was put there. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

static bool is_op(const Apply *a, const char *name) {
    return a && strcmp(a->op->name, name) == 0;
}

static const Apply *owner(Rewriter *r, Var v) {
    ApplyId a = var_owner(r->g, v);
    return a == APPLY_NONE ? NULL : &r->g->apply[a];
}

static bool is_zeros(Rewriter *r, Var v) {
    const Apply *a = owner(r, v);
    if (!a) return rw_is_number(r, v, 0);
    if (is_op(a, "zeros_like")) return true;
    size_t value = is_op(a, "full") || is_op(a, "full_like") ? 1 : 0;
    return (value || a->op == r->known[KNOWN_BROADCAST]) &&
           rw_is_number(r, rw_lead(r, r->g->in[a->in + value]), 0);
}

/* All row numbers of a tensor of type t, in order. */
static bool is_all_rows(Rewriter *r, Var v, const Type *t) {
    const Apply *a = owner(r, v);
    const Type *rows = var_type(r->g, v);
    return is_op(a, "arange") && a->nin == 1 && rows->ndim == 1 &&
           rows->dim[0] == t->dim[0] && rows->dim[0] != DIM_UNKNOWN;
}

/* One value for each row of zeros: the Apply, or NULL. */
static const Apply *row_scatter(Rewriter *r, Var v) {
    const Apply *a = owner(r, v);
    const Type *t = var_type(r->g, v);
    if ((!is_op(a, "inc_subtensor") && !is_op(a, "set_subtensor")) || a->nin != 4 ||
        t->ndim != 2 ||
        strcmp(sym_text(r->s, rw_prop(r, a, "index")->sym), "$, $") != 0)
        return NULL;
    Var rows = rw_lead(r, r->g->in[a->in + 2]), cols = rw_lead(r, r->g->in[a->in + 3]);
    const Type *ct = var_type(r->g, cols);
    bool one_each = ct->ndim == 0 ||
                    (ct->ndim == 1 && ct->dim[0] == t->dim[0] && ct->dtype != DT_BOOL);
    if (!one_each || !is_all_rows(r, rows, t) ||
        !is_zeros(r, rw_lead(r, r->g->in[a->in])))
        return NULL;
    return a;
}

/* The values as a column or a vector of the sum's type. */
static Var as_sum(Rewriter *r, Var y, const Type *t) {
    const Apply *b = rw_known(r, y, KNOWN_BROADCAST);
    Var source = b ? rw_lead(r, r->g->in[b->in]) : y;
    if (var_type(r->g, source)->ndim == 0) y = source;
    const Op *expand = op_find(r->s, "expand_dims", strlen("expand_dims"));
    if (var_type(r->g, y)->ndim == 1 && t->ndim == 2 && expand) {
        int64_t one = 1;
        PropArg arg = {"axis", PROP_INTS(&one, 1)};
        y = rw_apply(r, expand, props_make(r->s, expand, 1, &arg), 1, &y);
    }
    return y == VAR_NONE ? VAR_NONE : rw_fit(r, y, t);
}

bool scatter_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const Type *t = var_type(r->g, a->out);
    const Prop *axis = rw_prop(r, a, "axis");
    Var x = rw_in(r, id, 0);
    if (axis->kind != P_INTS || axis->ints.n != 1 || axis->ints.p[0] != 1 ||
        var_type(r->g, x)->dtype != t->dtype)
        return false;
    const Apply *scatter = row_scatter(r, x);
    if (!scatter) return false;
    out[0] = as_sum(r, rw_lead(r, r->g->in[scatter->in + 1]), t);
    return out[0] != VAR_NONE;
}
