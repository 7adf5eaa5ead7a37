/* Scattered values, as in the gradient of picking one class per row from
 * log_softmax(z)[arange(n), y], or, with any number of dims, by take_along_axis. That
 * gradient scatters -1 / n into zeros: its sum along the rows is simply the scattered
 * values, and exp(log_softmax(z)) / n is then added to it. */
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
    return (value || rw_is(r, a, OP_BROADCAST_TO)) &&
           rewriter_is_number(r, rewriter_resolve(r, r->g->in[a->in + value]), 0);
}

/* ---- one value for each row ---- */
/* The only dim, counted from the last, that isn't 1; ANYWHERE: there is none. */
enum { ANYWHERE = -1, SEVERAL = -2 };

static int long_dim(const Type *t) {
    int found = ANYWHERE;
    for (int k = 0; k < t->ndim; k++) {
        if (t->dim[k] == 1) continue;
        if (found != ANYWHERE) return SEVERAL;
        found = t->ndim - 1 - k;
    }
    return found;
}

static bool counts_up(const Tensor *t) {
    for (int64_t i = 0; i < tensor_size(t); i++)
        if (tensor_i64(t, i) != i) return false;
    return true;
}

/* Does v list the numbers from 0 to `rows` - 1 in order, along one dim? */
static bool is_all_rows(Rewriter *r, Var v, Dim rows) {
    const Type *t = var_type(r->g, v);
    const Tensor *constant = var_const(r->g, v);
    int at = long_dim(t);
    if (at == SEVERAL || !dtype_is_integer(t->dtype)) return false;
    Dim n = at == ANYWHERE ? 1 : t->dim[t->ndim - 1 - at];
    if (n != rows || rows == DIM_UNKNOWN) return false;
    if (constant) return counts_up(constant);
    const Apply *expanded = rewriter_known_owner(r, v, OP_EXPAND_DIMS);
    if (expanded) v = rewriter_resolve(r, r->g->in[expanded->in]);
    const Apply *a = rewriter_known_owner(r, v, OP_ARANGE);
    return a && a->nin == 1;
}

/* Is the index n arrays? */
static bool is_plain_index(Rewriter *r, const Apply *a, int n) {
    const char *text = sym_text(r->s, rewriter_prop(r, a, "index")->sym);
    for (int k = 0; k < n; k++) {
        const char *want = k ? ", $" : "$";
        if (strncmp(text, want, strlen(want)) != 0) return false;
        text += strlen(want);
    }
    return *text == '\0';
}

/* How the dims of a scatter's index lie: as those of the whole, with 1 for the axis, or
 * as those of the whole without the axis. */
static int dim_of_rows(int ndim, int lacks, int axis, int row) {
    return ndim - 1 - lacks - (lacks && row > axis ? row - 1 : row);
}

/* Do the indices name, for all rows, one place along the axis? `lacks`: 1 if their dims
 * lack the axis, else 0. */
static bool picks_along(Rewriter *r, const Apply *a, const Type *t, int axis,
                        int lacks) {
    for (int k = 0; k < t->ndim; k++) {
        Var v = rewriter_resolve(r, r->g->in[a->in + 2 + (uint32_t)k]);
        const Type *index = var_type(r->g, v);
        if (index->dtype == DT_BOOL) return false;
        if (k != axis) {
            int at = long_dim(index);
            if (!is_all_rows(r, v, t->dim[k]) ||
                (at != ANYWHERE && at != dim_of_rows(t->ndim, lacks, axis, k)))
                return false;
            continue;
        }
        for (int row = 0; row < t->ndim; row++) {
            int at = row == axis && lacks ? index->ndim
                                          : dim_of_rows(t->ndim, lacks, axis, row);
            Dim d = at < index->ndim ? index->dim[index->ndim - 1 - at] : 1;
            if (d != 1 && (row == axis || d != t->dim[row])) return false;
        }
    }
    return true;
}

/* The Apply that scatters one value into each row of zeros along the axis, or NULL. */
static const Apply *row_scatter(Rewriter *r, Var v, int axis, int *lacks) {
    const Apply *a = owner_apply(r, v);
    const Type *t = var_type(r->g, v);
    if ((!rw_is(r, a, OP_INC_SUBTENSOR) && !rw_is(r, a, OP_SET_SUBTENSOR)) ||
        t->ndim < 2 || a->nin != 2 + (uint32_t)t->ndim ||
        !is_plain_index(r, a, t->ndim) ||
        !rewriter_is_zeros(r, rewriter_resolve(r, r->g->in[a->in])))
        return NULL;
    int dims = 0;
    for (uint32_t k = 2; k < a->nin; k++) {
        int n = var_type(r->g, rewriter_resolve(r, r->g->in[a->in + k]))->ndim;
        if (n > dims) dims = n;
    }
    *lacks = t->ndim - dims;
    return *lacks >= 0 && *lacks < 2 && picks_along(r, a, t, axis, *lacks) ? a : NULL;
}

static Var along(Rewriter *r, KnownOp which, Var y, int64_t axis) {
    const Op *op = op_known(r->s, which);
    PropArg arg = {"axis", PROP_INTS(&axis, 1)};
    return rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 1, &y);
}

/* The values, which have the dims of the index or are one for all, of the sum's type.
 */
static Var values_as_sum(Rewriter *r, Var y, const Type *t, int axis, int dims) {
    const Apply *b = rewriter_known_owner(r, y, OP_BROADCAST_TO);
    Var source = b ? rewriter_resolve(r, r->g->in[b->in]) : y;
    if (var_type(r->g, source)->ndim == 0) return rewriter_fit(r, source, t);
    if (var_type(r->g, y)->ndim != dims) return VAR_NONE;
    if (dims < t->ndim) y = along(r, OP_EXPAND_DIMS, y, axis);
    if (dims > t->ndim) y = along(r, OP_SQUEEZE, y, axis);
    return y == VAR_NONE ? y : rewriter_fit(r, y, t);
}

bool scatter_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const Type *t = var_type(r->g, a->out);
    const Prop *along = rewriter_prop(r, a, "axis");
    Var x = rewriter_input(r, id, 0);
    int ndim = var_type(r->g, x)->ndim, axis, lacks;
    if (along->kind != P_INTS || along->ints.n != 1 ||
        var_type(r->g, x)->dtype != t->dtype)
        return false;
    axis = (int)along->ints.p[0] + (along->ints.p[0] < 0 ? ndim : 0);
    const Apply *scatter = row_scatter(r, x, axis, &lacks);
    if (!scatter) return false;
    Var y = rewriter_resolve(r, r->g->in[scatter->in + 1]);
    out[0] = values_as_sum(r, y, t, axis, ndim - lacks);
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

/* The scalar that all elements are; VAR_NONE: not known to be one. */
static Var only_element(Rewriter *r, Var v) {
    DType d = var_type(r->g, v)->dtype;
    if (rewriter_uniform(r, v) && dtype_is_float(d))
        return const_number(&r->b, d, tensor_f64(var_const(r->g, v), 0));
    while (var_type(r->g, v)->ndim > 0) {
        const Apply *a = owner_apply(r, v);
        if (!rw_is(r, a, OP_BROADCAST_TO) && !rw_is(r, a, OP_RESHAPE) &&
            !rw_is(r, a, OP_EXPAND_DIMS) && !rw_is(r, a, OP_SQUEEZE))
            return VAR_NONE;
        v = rewriter_resolve(r, r->g->in[a->in]);
    }
    return v;
}

/* A scatter broadcasts its value itself. */
bool scatter_value_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Var y = rewriter_input(r, id, 1), in[16];
    if (a.nin > 16 || var_type(r->g, y)->ndim == 0) return false;
    Var source = only_element(r, y);
    const Apply *b = rewriter_known_owner(r, y, OP_BROADCAST_TO);
    if (source == VAR_NONE && !b) return false;
    const Type *all = picked_type(r, &a);
    if (!all || !dims_stand(var_type(r->g, y), all)) return false;
    if (source == VAR_NONE) source = rewriter_resolve(r, r->g->in[b->in]);
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

/* ---- scatter(zeros, v) + x is scatter(x, v) ---- */
/* What is added to zeros at an index. */
typedef struct Added {
    const Op *op;
    const Props *props;
    uint32_t nin;
    Var in[16];
} Added;

static bool is_added(Rewriter *r, Var v, Added *x) {
    const Apply *a = owner_apply(r, v);
    if (!rw_is(r, a, OP_INC_SUBTENSOR) || a->nin > 16) return false;
    *x = (Added){.op = a->op, .props = a->props, .nin = a->nin};
    for (uint32_t i = 0; i < a->nin; i++)
        x->in[i] = rewriter_resolve(r, r->g->in[a->in + i]);
    return rewriter_is_zeros(r, x->in[0]);
}

/* Zeros needn't be written and read then; x, if nothing else needs it, is changed in
 * place, and else copied, which reads and writes no more. */
bool scatter_into_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *t = var_type(r->g, a.out);
    bool sum = rw_is(r, &a, OP_ADD);
    for (uint32_t k = 0; k < 2; k++) {
        Var scattered = rewriter_input(r, id, k), x = rewriter_input(r, id, 1 - k);
        Added added;
        if (!rewriter_one_client(r, scattered) || !is_added(r, scattered, &added) ||
            !type_keeps(t, var_type(r->g, x)) ||
            var_type(r->g, added.in[1])->dtype != t->dtype)
            continue;
        const Op *neg = op_known(r->s, OP_NEGATIVE);
        added.in[0] = sum || k == 1 ? x : rewriter_apply(r, neg, NULL, 1, &x);
        if (!sum && k == 1) added.in[1] = rewriter_apply(r, neg, NULL, 1, &added.in[1]);
        if (added.in[0] == VAR_NONE || added.in[1] == VAR_NONE) return false;
        out[0] = rewriter_apply(r, added.op, added.props, added.nin, added.in);
        return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
    }
    return false;
}
