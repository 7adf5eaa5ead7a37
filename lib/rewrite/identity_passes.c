/* Removes ops that change nothing and merges pairs of one op into one. */
#include "rewrite/rewrite_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- helpers for all passes ---- */

const Prop *rewriter_prop(Rewriter *r, const Apply *a, const char *name) {
    return op_prop(r->s, a->op, a->props, name);
}

Var rewriter_apply(Rewriter *r, const Op *op, const Props *props, size_t nin,
                   const Var *in) {
    size_t mark = diag_count(r->s);
    Var v = op_apply1(&r->b, op, props, nin, in);
    rewriter_grow(r);
    if (v == VAR_NONE) rewriter_forget(r, mark);
    return v;
}

Var rewriter_with_prop(Rewriter *r, const Apply *a, const char *name, Prop value,
                       size_t nin, const Var *in) {
    const Signature *sig = op_signature(r->s, a->op);
    size_t place = prop_place(sig, name);
    const Op *op = a->op;
    const Props *props = a->props;
    Prop *p = mem_alloc(r->s, (sig->nprop + 1) * sizeof *p);
    for (size_t i = 0; i < sig->nprop; i++)
        p[i] = i == place ? value : props->p[i];
    props = props_intern(r->s, sig->nprop, p);
    mem_free(p);
    return rewriter_apply(r, op, props, nin, in);
}

bool rewriter_int_const(Rewriter *r, Var v, int64_t *i) {
    const Tensor *t = var_const(r->g, v);
    if (!t || !dtype_is_integer(t->dtype) || tensor_size(t) != 1) return false;
    *i = tensor_i64(t, 0);
    return true;
}

static bool has_known_dims(const Type *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i] == DIM_UNKNOWN) return false;
    return true;
}

/* The types guarantee the same shape at every run. */
static bool is_same_known_type(const Type *a, const Type *b) {
    return a == b && a->kind == TYPE_TENSOR && has_known_dims(a);
}

/* Replaces the Apply, given by number, by v: building v may have moved the Applies. */
static bool replace_by(Rewriter *r, Var v, ApplyId id, Var *out) {
    if (v == VAR_NONE ||
        !type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, v)))
        return false;
    out[0] = v;
    return true;
}

/* ---- commuted duplicates ---- */

/* Only an Apply that this sweep has already reached is a candidate: it is live, and the
 * choice between the two doesn't depend on what comes later. */
bool rewrite_swapped_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    if (!a->op->comm || a->op->uneven || a->nin != 2) return false;
    Var in[] = {rewriter_input(r, id, 1), rewriter_input(r, id, 0)};
    if (in[0] == in[1]) return false;
    ApplyId b = graph_equal_apply(r->g, a->op, a->props, 2, in);
    if (b == APPLY_NONE || (r->state[b] & SEEN) != SEEN_DONE) return false;
    const Apply *p = &r->g->apply[b];
    for (Var k = 0; k < a->nout; k++) {
        out[k] = p->out + k;
        if (!type_keeps(var_type(r->g, a->out + k), var_type(r->g, out[k])))
            return false;
    }
    return p->nout == a->nout;
}

/* ---- specify_shape, slices ---- */

/* Does the type say every size that is claimed? One that only a run tells is checked
 * then, though its result has the type of x. */
static bool claims_are_known(Rewriter *r, Var claimed, const Type *t) {
    if (var_is_const(r->g, claimed)) return true;
    const Apply *shape = rewriter_known_owner(r, claimed, OP_SHAPE);
    if (shape) {
        const Type *of = var_type(r->g, rewriter_resolve(r, r->g->in[shape->in]));
        return of->ndim == t->ndim &&
               memcmp(of->dim, t->dim, (size_t)t->ndim * sizeof *t->dim) == 0;
    }
    const Apply *stack = rewriter_known_owner(r, claimed, OP_STACK);
    for (size_t k = 0; stack && k < stack->nin; k++) {
        Var v = rewriter_resolve(r, r->g->in[stack->in + k]);
        if (var_is_const(r->g, v)) continue;
        if (var_leaf(r->g, v) != LEAF_DIM ||
            t->dim[k] != DIM_NAMED(var_leafrec(r->g, v)->name))
            return false;
    }
    return stack != NULL;
}

bool rewrite_specify_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x);
    return is_same_known_type(t, var_type(r->g, a->out)) &&
           claims_are_known(r, rewriter_input(r, id, 1), t) &&
           replace_by(r, x, id, out);
}

bool rewrite_claim_pass(Rewriter *r, ApplyId id, Var *out) {
    return replace_by(r, rewriter_input(r, id, 0), id, out);
}

bool rewrite_slice_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const char *index = sym_text(r->s, rewriter_prop(r, a, "index")->sym);
    if (a->nin != 1 || index[strspn(index, ":,. ")]) return false;
    return replace_by(r, rewriter_input(r, id, 0), id, out);
}

/* ---- casts ---- */

/* Bytes of an integer that fit in a float's significand. */
static size_t exact_bytes(DType real) {
    return real == DT_FLOAT64 ? 4 : real == DT_FLOAT32 ? 2 : 1;
}

/* Does dtype b hold every value of dtype a? */
static bool cast_is_lossless(DType a, DType b) {
    DKind ka = dtype_kind(a), kb = dtype_kind(b);
    if (a == b || ka == K_BOOL) return true;
    if (ka > kb) return false;
    if (ka == kb) return dtype_size(a) <= dtype_size(b);
    if (kb == K_INT) return dtype_size(a) < dtype_size(b);
    DType real = dtype_real(b);
    if (ka == K_FLOAT) return dtype_size(a) <= dtype_size(real);
    return dtype_size(a) <= exact_bytes(real);
}

/* An identity is exact in every dtype. */
static bool make_eye(Rewriter *r, const Apply *eye, ApplyId id, Var *out) {
    Var in[2] = {rewriter_resolve(r, r->g->in[eye->in]),
                 rewriter_resolve(r, r->g->in[eye->in + eye->nin - 1])};
    Prop dtype = *rewriter_prop(r, eye, "dtype");
    dtype.kind = P_DTYPE;
    dtype.i = var_type(r->g, r->g->apply[id].out)->dtype;
    return replace_by(r, rewriter_with_prop(r, eye, "dtype", dtype, eye->nin, in), id,
                      out);
}

bool rewrite_cast_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const Type *to = var_type(r->g, a->out);
    Var x = rewriter_input(r, id, 0);
    if (var_type(r->g, x)->dtype == to->dtype) return replace_by(r, x, id, out);
    const Apply *inner = rewriter_owner(r, x, a->op),
                *ones = rewriter_known_owner(r, x, OP_EYE);
    if (ones) return make_eye(r, ones, id, out);
    if (!inner) return false;
    Var y = rewriter_resolve(r, r->g->in[inner->in]);
    DType from = var_type(r->g, y)->dtype, mid = var_type(r->g, x)->dtype;
    if (!cast_is_lossless(from, mid)) return false;
    /* Casting an out-of-range float to an integer is machine-dependent, so the path is
     * kept. */
    if (dtype_is_inexact(mid) && dtype_is_discrete(to->dtype) && to->dtype != from &&
        dtype_is_discrete(from))
        return false;
    y = op_cast_to(&r->b, y, to->dtype);
    rewriter_grow(r);
    return replace_by(r, y, id, out);
}

/* ---- reshape ---- */

static int compare_dim_values(const void *a, const void *b) {
    Dim x = *(const Dim *)a, y = *(const Dim *)b;
    return (x > y) - (x < y);
}

/* Do both types certainly have the same number of elements? */
static bool has_same_size(const Type *a, const Type *b) {
    Dim name[2][MAX_NDIM];
    int n[2] = {0, 0};
    int64_t known[2] = {1, 1};
    const Type *t[2] = {a, b};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < t[s]->ndim; i++) {
            Dim d = t[s]->dim[i];
            if (d == DIM_UNKNOWN) return false;
            if (dim_is_named(d))
                name[s][n[s]++] = d;
            else if (!i64_mul(known[s], d, &known[s]))
                return false;
        }
    if (n[0] != n[1] || known[0] != known[1]) return false;
    qsort(name[0], (size_t)n[0], sizeof(Dim), compare_dim_values);
    qsort(name[1], (size_t)n[1], sizeof(Dim), compare_dim_values);
    return n[0] == 0 || memcmp(name[0], name[1], (size_t)n[0] * sizeof(Dim)) == 0;
}

bool rewrite_reshape_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    if (is_same_known_type(var_type(r->g, x), var_type(r->g, a->out)))
        return replace_by(r, x, id, out);
    const Apply *inner = rewriter_owner(r, x, a->op);
    if (!inner) return false;
    Var y = rewriter_resolve(r, r->g->in[inner->in]);
    if (!has_same_size(var_type(r->g, y), var_type(r->g, x))) return false;
    Var in[] = {y, rewriter_input(r, id, 1)};
    Var v = rewriter_apply(r, a->op, NULL, 2, in);
    return replace_by(r, v, id, out);
}

/* ---- transpose ---- */

void rewriter_transpose_axes(Rewriter *r, const Apply *a, int ndim, int64_t *axes) {
    const Prop *p = rewriter_prop(r, a, "axes");
    for (int i = 0; i < ndim; i++) {
        int64_t k = p->kind == P_INTS && p->ints.n == (size_t)ndim ? p->ints.p[i]
                                                                   : ndim - 1 - i;
        axes[i] = k < 0 ? k + ndim : k;
    }
}

static bool is_identity_axes(int ndim, const int64_t *axes) {
    for (int i = 0; i < ndim; i++)
        if (axes[i] != i) return false;
    return true;
}

bool rewrite_transpose_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    int ndim = var_type(r->g, x)->ndim;
    int64_t outer[MAX_NDIM], inner[MAX_NDIM], both[MAX_NDIM];
    rewriter_transpose_axes(r, a, ndim, outer);
    if (is_identity_axes(ndim, outer)) return replace_by(r, x, id, out);
    const Apply *b = rewriter_owner(r, x, a->op);
    if (!b) return false;
    rewriter_transpose_axes(r, b, ndim, inner);
    for (int i = 0; i < ndim; i++)
        both[i] = inner[outer[i]];
    Var y = rewriter_resolve(r, r->g->in[b->in]);
    if (is_identity_axes(ndim, both)) return replace_by(r, y, id, out);
    PropArg arg = {"axes", PROP_INTS(both, (size_t)ndim)};
    Var v = rewriter_apply(r, a->op, props_make(r->s, a->op, 1, &arg), 1, &y);
    return replace_by(r, v, id, out);
}

/* ---- broadcast_to ---- */

/* An expand_dims that only adds leading dims, which broadcasting adds anyway. */
static bool expands_leading_dims(Rewriter *r, const Apply *a) {
    if (!op_is(r->s, a->op, OP_EXPAND_DIMS)) return false;
    const Prop *axis = rewriter_prop(r, a, "axis");
    for (size_t i = 0; axis->kind == P_INTS && i < axis->ints.n; i++)
        if (axis->ints.p[i] != (int64_t)i) return false;
    return axis->kind == P_INTS;
}

bool rewrite_broadcast_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    ApplyId maker = var_owner(r->g, x);
    if (maker != APPLY_NONE && expands_leading_dims(r, &r->g->apply[maker])) {
        Var in[] = {rewriter_input(r, maker, 0), rewriter_input(r, id, 1)};
        return replace_by(r, rewriter_apply(r, a->op, NULL, 2, in), id, out);
    }
    const Type *to = var_type(r->g, a->out), *from = var_type(r->g, x);
    if (is_same_known_type(from, to) &&
        claims_are_known(r, rewriter_input(r, id, 1), to))
        return replace_by(r, x, id, out);
    const Apply *inner = rewriter_owner(r, x, a->op);
    if (!inner || !rewrite_dims_fit(from, to)) return false;
    Var in[] = {rewriter_resolve(r, r->g->in[inner->in]), rewriter_input(r, id, 1)};
    if (!rewrite_dims_fit(var_type(r->g, in[0]), from)) return false;
    Var v = rewriter_apply(r, a->op, NULL, 2, in);
    return replace_by(r, v, id, out);
}

/* ---- reductions ---- */

static void reduced_axes(Rewriter *r, const Apply *a, int ndim, bool flag[MAX_NDIM]) {
    const Prop *p = rewriter_prop(r, a, "axis");
    for (int i = 0; i < ndim; i++)
        flag[i] = p->kind == P_NONE;
    for (size_t i = 0; p->kind == P_INTS && i < p->ints.n; i++)
        flag[p->ints.p[i] < 0 ? p->ints.p[i] + ndim : p->ints.p[i]] = true;
}

static const Prop *prop_or_null(Rewriter *r, const Apply *a, const char *name) {
    const Signature *sig = op_signature(r->s, a->op);
    size_t i = prop_place(sig, name);
    return i < sig->nprop ? &a->props->p[i] : NULL;
}

static bool has_keepdims(Rewriter *r, const Apply *a) {
    return rewriter_prop(r, a, "keepdims")->i;
}

static bool reduces_ones_only(const Type *t, const bool *flag) {
    for (int i = 0; i < t->ndim; i++)
        if (flag[i] && t->dim[i] != 1) return false;
    return true;
}

/* A reduction over axes of size 1 is its input, without those axes unless kept. */
static bool reduce_ones(Rewriter *r, ApplyId id, const bool *flag, Var *out) {
    const Apply *a = &r->g->apply[id];
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x);
    if (t->dtype != var_type(r->g, a->out)->dtype) return false;
    int64_t axis[MAX_NDIM];
    size_t n = 0;
    for (int i = 0; i < t->ndim; i++)
        if (flag[i]) axis[n++] = i;
    if (n == 0 || has_keepdims(r, a)) return replace_by(r, x, id, out);
    const Op *squeeze = op_known(r->s, OP_SQUEEZE);
    PropArg arg = {"axis", PROP_INTS(axis, n)};
    Var v = rewriter_apply(r, squeeze, props_make(r->s, squeeze, 1, &arg), 1, &x);
    return replace_by(r, v, id, out);
}

/* The axes of y that are reduced by `inner` and then, among the rest, by `outer`. */
static size_t joined_axes(const bool *inner, const bool *outer, int ndim, bool kept,
                          int64_t *axis) {
    size_t n = 0;
    for (int i = 0, k = 0; i < ndim; i++) {
        bool taken = inner[i] || outer[kept ? i : k];
        if (taken) axis[n++] = i;
        if (!inner[i]) k++;
    }
    return n;
}

static bool reduce_twice(Rewriter *r, ApplyId id, const bool *outer, Var *out) {
    const Apply *a = &r->g->apply[id],
                *b = rewriter_owner(r, rewriter_input(r, id, 0), a->op);
    if (!b || has_keepdims(r, a) != has_keepdims(r, b)) return false;
    const Prop *da = prop_or_null(r, a, "dtype"), *db = prop_or_null(r, b, "dtype");
    if (da && (da->kind != db->kind || da->i != db->i)) return false;
    Var y = rewriter_resolve(r, r->g->in[b->in]);
    int ndim = var_type(r->g, y)->ndim;
    bool inner[MAX_NDIM];
    int64_t axis[MAX_NDIM];
    bool padded[MAX_NDIM + 1] = {false};
    memcpy(padded, outer, sizeof(bool) * (size_t)var_type(r->g, b->out)->ndim);
    reduced_axes(r, b, ndim, inner);
    size_t n = joined_axes(inner, padded, ndim, has_keepdims(r, a), axis);
    PropArg arg[] = {{"axis", PROP_INTS(axis, n)},
                     {"keepdims", PROP_BOOL(has_keepdims(r, a))},
                     {"dtype", da ? *da : (Prop){.kind = P_NONE}}};
    Var v = rewriter_apply(r, a->op, props_make(r->s, a->op, da ? 3 : 2, arg), 1, &y);
    return replace_by(r, v, id, out);
}

bool rewrite_reduce_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const Type *t = var_type(r->g, rewriter_input(r, id, 0));
    bool flag[MAX_NDIM] = {false};
    reduced_axes(r, a, t->ndim, flag);
    if (reduces_ones_only(t, flag)) return reduce_ones(r, id, flag, out);
    return !op_is(r->s, a->op, OP_MEAN) && reduce_twice(r, id, flag, out);
}

/* ---- concatenate ---- */

bool rewrite_concat_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply *a = &r->g->apply[id];
    const Type *to = var_type(r->g, a->out);
    const Prop *p = rewriter_prop(r, a, "axis");
    if (p->kind != P_INT || p->i < 0 || p->i >= to->ndim) return false;
    Var *in = mem_alloc(r->s, a->nin * sizeof *in);
    size_t n = 0, nin = a->nin;
    for (size_t i = 0; i < nin; i++) {
        Var v = rewriter_input(r, id, i);
        if (var_type(r->g, v)->dim[p->i] != 0) in[n++] = v;
    }
    bool hit = false;
    if (n == 1)
        hit = replace_by(r, in[0], id, out);
    else if (n > 1 && n < nin)
        hit = replace_by(r, rewriter_apply(r, a->op, a->props, n, in), id, out);
    mem_free(in);
    return hit;
}

/* ---- assertions ---- */

/* Is every element of a constant condition true? */
static bool is_true_const(Rewriter *r, Var v) {
    const Tensor *t = var_const(r->g, v);
    if (!t || dtype_is_complex(t->dtype)) return false;
    if (rewriter_uniform(r, v)) return tensor_f64(t, 0) != 0;
    int64_t n = tensor_size(t);
    for (int64_t i = 0; i < n; i++)
        if (tensor_f64(t, i) == 0) return false;
    return true;
}

/* An assertion has an effect, so nothing else may remove it. */
bool rewrite_true_pass(Rewriter *r) {
    Graph *g = r->g;
    const Op *op = op_named(r->s, "assert_op");
    size_t n = 0, all = g->effects.n;
    for (size_t i = 0; i < all; i++) {
        ApplyId id = g->effects.p[i];
        const Apply *a = &g->apply[id];
        bool holds = a->op == op && !rewriter_limit_reached(r);
        for (size_t k = 1; holds && k < a->nin; k++)
            holds = is_true_const(r, apply_in(g, id)[k]);
        g->effects.p[n++] = id;
        if (!holds) continue;
        n--;
        Var was = a->out, x = apply_in(g, id)[0];
        r->forward[was] = x;
        if (!rewriter_fired(r, r->current, 1, &was, &x)) return false;
    }
    g->effects.n = n;
    if (n < all && r->conditional) ifelse_note_effects(r);
    return true;
}
