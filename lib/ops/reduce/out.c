/* Shared by reductions around the driver: typing, props, and restoring a gradient's
 * dims. */
#include "ops/reduce/reduce.h"
#include "ops/shape/linear.h"

DType reduce_dtype(DType d) {
    switch (dtype_kind(d)) {
    case K_BOOL:
    case K_INT:
        return DT_INT64;
    case K_UINT:
        return DT_UINT64;
    case K_FLOAT:
    case K_COMPLEX:
        break;
    }
    return d;
}

bool reduce_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                   Var *out) {
    (void)nin;
    const Prop *dtype = op_prop(b->s, op, p, "dtype");
    if (dtype->kind == P_NONE) return true;
    PropArg arg[2] = {{"axis", *op_prop(b->s, op, p, "axis")},
                      {"keepdims", *op_prop(b->s, op, p, "keepdims")}};
    Var x = op_cast_to(b, in[0], (DType)dtype->i),
        r = apply_named(b, op->name, 1, &x, 2, arg);
    return r != VAR_NONE && (*out = op_cast_to(b, r, (DType)dtype->i)) != VAR_NONE;
}

bool reduce_is_expanded(Infer *in) {
    return infer_prop(in, "dtype")->kind == P_NONE ||
           infer_fail(in, E_ARG, in->nin,
                      "dtype is an abbreviation, which can't stand in a graph");
}

bool reduce_out(Infer *in, DType d) {
    const Type *x = in->type[0];
    const Prop *keep = infer_prop(in, "keepdims");
    bool flag[MAX_NDIM];
    if (!infer_axes(in, infer_prop(in, "axis"), x->ndim, flag)) return false;
    Dim dim[MAX_NDIM];
    int n = 0;
    for (int k = 0; k < x->ndim; k++)
        if (!flag[k])
            dim[n++] = x->dim[k];
        else if (keep->i)
            dim[n++] = 1;
    return infer_out_tensor(in, 0, d, n, dim);
}

bool reduce_prop_flags(Call *c, bool flag[MAX_NDIM], bool *keepdims) {
    shape_axes_flags(op_prop(c->s, c->op, c->props, "axis"), call_in(c, 0)->ndim, flag);
    *keepdims = prop_bool(c->s, c->op, c->props, "keepdims");
    return true;
}

Var reduce_spread(Builder *b, Var g, const Op *op, const Props *props, Var x) {
    bool flag[MAX_NDIM];
    int ndim = var_type(b->g, x)->ndim;
    shape_axes_flags(op_prop(b->s, op, props, "axis"), ndim, flag);
    int64_t axes[MAX_NDIM];
    size_t n = 0;
    for (int k = 0; k < ndim; k++)
        if (flag[k]) axes[n++] = k;
    if (n == 0 || prop_bool(b->s, op, props, "keepdims")) return g;
    PropArg arg = {"axis", PROP_INTS(axes, n)};
    return apply_named(b, "expand_dims", 1, &g, 1, &arg);
}
