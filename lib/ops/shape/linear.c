/* Helpers for derivatives and typing of structural ops. */
#include "ops/shape/linear.h"

#include <string.h>

bool push_linear(Push *p, size_t linear) {
    Session *s = p->b->s;
    bool any = false;
    for (size_t i = 0; i < linear && i < p->nin; i++)
        any |= p->tangent[i] != VAR_NONE;
    for (size_t i = 0; i < p->nout; i++)
        p->result[i] = VAR_NONE;
    if (!any || dtype_is_discrete(var_type(p->g, p->out[0])->dtype)) return true;
    Var *in = mem_alloc(s, p->nin * sizeof *in);
    bool ok = true;
    for (size_t i = 0; i < p->nin && ok; i++) {
        in[i] = i < linear ? p->tangent[i] : p->in[i];
        if (in[i] == VAR_NONE) in[i] = op_float_zeros(p->b, p->in[i]);
        ok = in[i] != VAR_NONE;
    }
    ok = ok && op_apply(p->b, p->op, p->props, p->nin, in, p->result);
    mem_free(in);
    return ok;
}

bool push_linear_first(Push *p) {
    return push_linear(p, 1);
}

bool push_linear_all(Push *p) {
    return push_linear(p, p->nin);
}

bool push_none(Push *p) {
    for (size_t i = 0; i < p->nout; i++)
        p->result[i] = VAR_NONE;
    return true;
}

bool push_tangent_through(Push *p) {
    p->result[0] = p->tangent[0];
    return true;
}

PropArg shape_ravel_without_axis(Builder *b, const Op *op, const Props *p, Var *x) {
    const Prop *axis = op_prop(b->s, op, p, "axis");
    if (axis->kind != P_NONE) return (PropArg){"axis", *axis};
    *x = op_call1(b, "ravel", *x);
    return (PropArg){"axis", PROP_INT(0)};
}

bool pull_discrete(Pull *p) {
    for (size_t o = 0; o < p->nout; o++) {
        const Type *t = var_type(p->g, p->out[o]);
        if (t->kind != TYPE_TENSOR || !dtype_is_discrete(t->dtype)) return false;
    }
    for (size_t i = 0; i < p->nin; i++) {
        bool connected = false;
        for (size_t o = 0; o < p->nout; o++)
            connected |= op_connected(p->g, p->id, i, o);
        bool tensor = var_type(p->g, p->in[i])->kind == TYPE_TENSOR;
        p->grad[i] = connected && tensor && p->wanted[i]
                         ? op_float_zeros(p->b, p->in[i])
                         : GRAD_DISCONNECTED;
    }
    return true;
}

void pull_disconnect(Pull *p, size_t first) {
    for (size_t i = first; i < p->nin; i++)
        p->grad[i] = GRAD_DISCONNECTED;
}

bool pull_nothing(Pull *p) {
    pull_disconnect(p, 0);
    return true;
}

Dim infer_length(const Infer *in, size_t arg) {
    int64_t v;
    Dim d[MAX_NDIM];
    if (infer_int(in, arg, &v)) return v >= 0 ? v : DIM_UNKNOWN;
    if (var_leaf(infer_graph(in), in->in[arg]) == LEAF_DIM)
        return DIM_NAMED(var_leafrec(infer_graph(in), in->in[arg])->name);
    return infer_dims(in, arg, d, NULL) == 1 ? d[0] : DIM_UNKNOWN;
}

/* Element i of an ints input if it is constant: the whole input, or one operand of a
 * stack. */
static bool element_const(const Infer *in, size_t arg, int i, int64_t *v) {
    const Tensor *t = var_const(infer_graph(in), in->in[arg]);
    if (t) return *v = tensor_i64(t, i), true;
    ApplyId a = var_owner(infer_graph(in), in->in[arg]);
    if (a == APPLY_NONE || !op_is(in->s, infer_graph(in)->apply[a].op, OP_STACK))
        return false;
    if (i >= infer_graph(in)->apply[a].nin) return false;
    t = var_const(infer_graph(in), apply_in(infer_graph(in), a)[i]);
    return t && tensor_size(t) == 1 ? (*v = tensor_i64(t, 0), true) : false;
}

bool infer_want_shape(Infer *in, size_t arg, int *ndim, Dim dim[MAX_NDIM],
                      bool minus[MAX_NDIM]) {
    int64_t raw[MAX_NDIM];
    int n = infer_dims(in, arg, dim, raw);
    if (n < 0)
        return infer_fail(
            in, E_SHAPE, arg,
            "the number of dims must be known: give a list of sizes, or declare how "
            "many there are, as in s: int64[2]");
    if (!infer_ndim(in, n)) return false;
    for (int i = 0; i < n; i++) {
        int64_t v;
        if (minus) minus[i] = false;
        if (!element_const(in, arg, i, &v) || v >= 0) continue;
        if (!minus)
            return infer_fail(in, E_SHAPE, arg, "a size can't be negative, got %lld",
                              (long long)v);
        if (v != -1)
            return infer_fail(in, E_SHAPE, arg,
                              "a size must be at least 0, or -1, not %lld",
                              (long long)v);
        minus[i] = true;
        dim[i] = DIM_UNKNOWN;
    }
    *ndim = n;
    return true;
}

bool call_shape(Call *c, size_t arg, int *ndim, int64_t shape[MAX_NDIM]) {
    const Tensor *t = call_in(c, arg);
    int64_t n = tensor_size(t);
    if (!call_ndim(c, n)) return false;
    for (int64_t i = 0; i < n; i++) {
        shape[i] = tensor_i64(t, i);
        if (shape[i] < 0)
            return call_fail(c, E_RUN_SHAPE,
                             "size %lld of the requested shape is negative: %lld",
                             (long long)i, (long long)shape[i]);
    }
    *ndim = (int)n;
    return true;
}

bool call_size_fits(Call *c, DType d, int ndim, const int64_t *shape) {
    int64_t n = (int64_t)dtype_size(d);
    for (int k = 0; k < ndim; k++)
        if (!i64_mul(n, shape[k] ? shape[k] : 1, &n))
            return call_fail(
                c, E_LIMIT, "the requested shape has more bytes than can be addressed");
    return true;
}

bool call_is_one(const Call *c, size_t i, int axis) {
    if (!c->g || c->id == APPLY_NONE) return call_in(c, i)->shape[axis] == 1;
    return var_type(c->g, apply_in(c->g, c->id)[i])->dim[axis] == 1;
}

int shape_axis_index(int64_t axis, int ndim) {
    return (int)(axis < 0 ? axis + ndim : axis);
}

PropArg index_at_axis(Session *s, int axis) {
    Str text = STR(s);
    for (int k = 0; k < axis; k++)
        str_puts(&text, ":, ");
    str_puts(&text, "$");
    PropArg index = {"index", PROP_STR(sym(s, str_text(&text)))};
    str_free(&text);
    return index;
}

void shape_axes_flags(const Prop *axes, int ndim, bool flag[MAX_NDIM]) {
    for (int k = 0; k < ndim; k++)
        flag[k] = axes->kind == P_NONE;
    if (axes->kind == P_INT) flag[shape_axis_index(axes->i, ndim)] = true;
    if (axes->kind == P_INTS)
        for (size_t i = 0; i < axes->ints.n; i++)
            flag[shape_axis_index(axes->ints.p[i], ndim)] = true;
}

Var shape_axes_count(Builder *b, Var x, const bool flag[MAX_NDIM]) {
    const Type *t = var_type(b->g, x);
    int64_t known = 1;
    bool empty = false, fits = true;
    Var n = VAR_NONE;
    for (int k = 0; k < t->ndim; k++) {
        if (!flag[k]) continue;
        if (dim_is_known(t->dim[k])) {
            empty |= t->dim[k] == 0;
            fits &= i64_mul(known, t->dim[k], &known);
            continue;
        }
        Var d = shape_of(b, x, k);
        n = n == VAR_NONE || d == VAR_NONE ? d : op_call2(b, "multiply", n, d);
        if (n == VAR_NONE) return n;
    }
    if (empty) known = 0;
    if (!empty && !fits) {
        fail(b->s, NOWHERE, E_LIMIT, "a tensor has too many elements to count");
        return VAR_NONE;
    }
    if (n == VAR_NONE) return const_int(b, known);
    return known == 1 ? n : op_call2(b, "multiply", n, const_int(b, known));
}
