/* A convolution whose channels are scaled and shifted by constants, as by a batch
 * normalisation that is not trained: constant filters take the scale, and what is left
 * to add is one constant. */
#include "rewrite/rewrite_impl.h"

/* conv(x, w) + shift, or - shift, or without one. */
typedef struct Scaled {
    const Apply *conv;
    Var shift; /* VAR_NONE: none */
    bool minus;
} Scaled;

static const Apply *owner_conv(Rewriter *r, Var v) {
    ApplyId a = var_owner(r->g, v);
    const Op *conv = op_named(r->s, "conv");
    return a != APPLY_NONE && r->g->apply[a].op == conv ? &r->g->apply[a] : NULL;
}

/* A constant that is one number for each channel of results of type y, or for all. */
static bool is_by_channel(Rewriter *r, Var v, const Type *y) {
    const Tensor *t = var_const(r->g, v);
    if (!t || t->dtype != y->dtype || t->ndim > y->ndim) return false;
    for (int k = 0; k < t->ndim; k++)
        if (t->shape[k] != 1 &&
            (y->ndim - t->ndim + k != 1 || t->shape[k] != y->dim[1]))
            return false;
    return true;
}

/* v as such a sum that nothing else uses. */
static bool match_scaled(Rewriter *r, Var v, Scaled *m) {
    const Apply *sum = rewriter_known_owner(r, v, OP_ADD);
    const Type *y = var_type(r->g, v);
    *m = (Scaled){.shift = VAR_NONE};
    if (!rewriter_one_client(r, v)) return false;
    if (!sum) {
        sum = rewriter_known_owner(r, v, OP_SUBTRACT);
        m->minus = sum != NULL;
    }
    if (sum) {
        Var in[2] = {rewriter_resolve(r, r->g->in[sum->in]),
                     rewriter_resolve(r, r->g->in[sum->in + 1])};
        bool swapped = !m->minus && var_is_const(r->g, in[0]);
        v = in[swapped];
        m->shift = in[!swapped];
        if (!rewriter_one_client(r, v) || !is_by_channel(r, m->shift, y)) return false;
    }
    m->conv = owner_conv(r, v);
    return m->conv && type_keeps(y, var_type(r->g, v));
}

static Var apply_pair(Rewriter *r, const Op *op, Var a, Var b) {
    Var in[2] = {a, b};
    return a == VAR_NONE || b == VAR_NONE ? VAR_NONE
                                          : rewriter_apply(r, op, NULL, 2, in);
}

/* The same of two constants, as one. */
static Var constant_pair(Rewriter *r, const Op *op, Var a, Var b) {
    Var v = apply_pair(r, op, a, b);
    return v == VAR_NONE ? VAR_NONE : rewriter_evaluate(r, v);
}

/* The scale as filters [O, 1, ...] need it. */
static Var for_filters(Rewriter *r, Var scale, int ndim) {
    int64_t dim[MAX_NDIM], n = tensor_size(var_const(r->g, scale));
    for (int k = 0; k < ndim; k++)
        dim[k] = k == 0 ? n : 1;
    return constant_pair(r, op_known(r->s, OP_RESHAPE), scale,
                         const_ints(&r->b, (size_t)ndim, dim));
}

/* The same convolution with filters that are w times the scale, or w divided by it. */
static Var scale_conv(Rewriter *r, const Apply *conv, const Op *by, Var scale) {
    const Op *op = conv->op;
    const Props *props = conv->props;
    Var in[2] = {rewriter_resolve(r, r->g->in[conv->in]),
                 rewriter_resolve(r, r->g->in[conv->in + 1])};
    const Tensor *w = var_const(r->g, in[1]);
    if (!w) return VAR_NONE;
    in[1] = constant_pair(r, by, in[1], for_filters(r, scale, w->ndim));
    return rewriter_apply(r, op, props, 2, in);
}

/* conv + shift or conv - shift, always as a sum: what kernels of convolutions do
 * themselves. */
static Var add_shift(Rewriter *r, Var conv, Var shift, bool minus) {
    if (minus && shift != VAR_NONE) {
        shift = rewriter_apply(r, op_known(r->s, OP_NEGATIVE), NULL, 1, &shift);
        if (shift != VAR_NONE) shift = rewriter_evaluate(r, shift);
    }
    return apply_pair(r, op_known(r->s, OP_ADD), conv, shift);
}

static bool replace_if_typed(Rewriter *r, ApplyId id, Var by, Var *out) {
    out[0] = by;
    return by != VAR_NONE &&
           type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, by));
}

/* (conv(x, w) + b) * s is conv(x, w * s) + b * s. */
bool conv_scale_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *y = var_type(r->g, a.out);
    Var in[2] = {rewriter_input(r, id, 0), rewriter_input(r, id, 1)};
    bool swapped = a.op->comm && var_is_const(r->g, in[0]);
    Var scale = in[!swapped];
    Scaled m;
    if (!dtype_is_inexact(y->dtype) || !is_by_channel(r, scale, y) ||
        !match_scaled(r, in[swapped], &m))
        return false;
    Var conv = scale_conv(r, m.conv, a.op, scale);
    if (m.shift == VAR_NONE) return replace_if_typed(r, id, conv, out);
    Var shift = constant_pair(r, a.op, m.shift, scale);
    return replace_if_typed(r, id, add_shift(r, conv, shift, m.minus), out);
}

/* (conv(x, w) + a) + b is conv(x, w) + (a + b), and so with differences; conv(x, w) - a
 * is conv(x, w) + -a. */
bool conv_shift_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    const Type *y = var_type(r->g, a.out);
    Var in[2] = {rewriter_input(r, id, 0), rewriter_input(r, id, 1)};
    bool minus = op_is(r->s, a.op, OP_SUBTRACT),
         swapped = !minus && var_is_const(r->g, in[0]);
    Var other = in[!swapped];
    Scaled m;
    if (!dtype_is_inexact(y->dtype) || !is_by_channel(r, other, y) ||
        !match_scaled(r, in[swapped], &m) || (m.shift == VAR_NONE && !minus))
        return false;
    if (m.shift == VAR_NONE)
        return replace_if_typed(r, id, add_shift(r, m.conv->out, other, true), out);
    /* conv - a + b: conv - (a - b), conv + a - b: conv + (a - b) */
    const Op *both = op_known(r->s, m.minus == minus ? OP_ADD : OP_SUBTRACT);
    Var conv = m.conv->out, shift = constant_pair(r, both, m.shift, other);
    return replace_if_typed(r, id, add_shift(r, conv, shift, m.minus), out);
}
