/* What crosses rows: its part for a shard, and what becomes of the parts of all. */
#include "rewrite/parallel/parallel.h"

#include <math.h>
#include <string.h>

/* ---- the part of a shard ---- */

static PropArg same_prop(const SplitApply *p, const char *name) {
    return (PropArg){name, *op_prop(p->w->s, p->op, p->props, name)};
}

static Var reduced(Builder *b, const SplitApply *p, const char *op, Var x) {
    PropArg arg[] = {same_prop(p, "axis"), same_prop(p, "keepdims")};
    return apply_named(b, op, 1, &x, 2, arg);
}

static Var lowest(Builder *b, DType d) {
    int64_t low = 0;
    uint64_t high;
    if (dtype_is_float(d)) return const_number(b, d, -(double)INFINITY);
    if (d != DT_BOOL) dtype_int_range(d, &low, &high);
    return op_cast_to(b, const_int(b, low), d);
}

/* A shard without rows has no largest element: the least there is does for it, unless
 * no shard has any. */
static Var largest(Builder *b, const SplitApply *p, Var x, Var all_rows) {
    const Type *t = var_type(b->g, x);
    Var some = reduced(b, p, "sum", op_cast_to(b, x, DT_FLOAT64)),
        low = lowest(b, t->dtype), shape = VAR_NONE;
    if (some == VAR_NONE || low == VAR_NONE) return VAR_NONE;
    if ((shape = shape_vector(b, some)) == VAR_NONE) return VAR_NONE;
    Var in[] = {low, shape};
    low = apply_named(b, "broadcast_to", 2, in, 0, NULL);
    Var most = reduced(b, p, "max", x), n = shape_of(b, x, split_of(p, 0)->axis);
    if (low == VAR_NONE || most == VAR_NONE || n == VAR_NONE) return VAR_NONE;
    Bind bind[] = {{sym(b->s, "n"), n}, {sym(b->s, "all"), all_rows}};
    Env env = {.n = 2, .bind = bind};
    bool ok = true;
    Var any = template_build(b, "(n > 0) | (all == 0)", &env, &ok),
        choose[] = {any, most, low};
    return any == VAR_NONE ? VAR_NONE
                           : op_apply1(b, op_known(b->s, OP_IFELSE), NULL, 3, choose);
}

/* Turns the order of numbers around, without an overflow; its own inverse. */
static Var turned(Builder *b, Var x) {
    bool floats = dtype_is_float(var_type(b->g, x)->dtype);
    return op_call1(b, floats ? "negative" : "invert", x);
}

Var crossing_part(const SplitApply *p, Builder *b, const Var *in, Var all_rows) {
    const Graph *g = p->w->g;
    switch (p->w->crossing[p->id]) {
    case CROSS_SUM:
    case CROSS_LOGSUMEXP:
        return graph_copy_apply(b->g, g, p->id, in, true);
    case CROSS_MEAN: {
        Var x = op_cast_to(b, in[0], var_type(g, p->out)->dtype);
        return x == VAR_NONE ? x : reduced(b, p, "sum", x);
    }
    case CROSS_MAX:
        return largest(b, p, in[0], all_rows);
    case CROSS_MIN: {
        Var x = turned(b, in[0]);
        return x == VAR_NONE ? x : largest(b, p, x, all_rows);
    }
    case CROSS_ANY:
        return reduced(b, p, "any", in[0]);
    case CROSS_ALL: {
        Var all = reduced(b, p, "all", in[0]);
        return all == VAR_NONE ? all : op_call1(b, "logical_not", all);
    }
    case CROSS_INC: {
        Var *into = NEW_N(p->w->a, p->nin, Var);
        memcpy(into, in, p->nin * sizeof *in);
        into[0] = op_zeros_like(b, in[0], var_type(b->g, in[0])->dtype);
        return into[0] == VAR_NONE ? VAR_NONE
                                   : graph_copy_apply(b->g, g, p->id, into, true);
    }
    case CROSS_NONE:
        break;
    }
    return VAR_NONE;
}

/* ---- of all shards ---- */

Var crossing_size(const SplitApply *p, Builder *b, Var rows, int axis) {
    const Spread *x = split_of(p, 0);
    const Type *t = split_type(p, 0);
    int64_t times = (x->before ? x->before : 1) * (x->after ? x->after : 1);
    if (axis == x->axis)
        return times == 1 ? rows : op_call2(b, "multiply", rows, const_int(b, times));
    if (dim_is_known(t->dim[axis])) return const_int(b, t->dim[axis]);
    if (split_is_row_dim(p->w, t->dim[axis])) return rows;
    if (dim_is_named(t->dim[axis])) return graph_dim(b->g, dim_sym(t->dim[axis]));
    split_fail(p, "axis %d of %s is not known", axis, type_str(b->s, t));
    return VAR_NONE;
}

/* The mean's divisor: how many elements all shards have along its axes. */
static Var count_elements(const SplitApply *p, Builder *b, Var rows) {
    const Type *t = split_type(p, 0);
    bool flag[MAX_NDIM];
    const Prop *axis = op_prop(b->s, p->op, p->props, "axis");
    int cut = split_of(p, 0)->axis;
    Var n = crossing_size(p, b, rows, cut);
    for (int k = 0; n != VAR_NONE && k < t->ndim; k++) {
        flag[k] = axis->kind == P_NONE || (axis->kind == P_INT && axis->i == k);
        for (size_t j = 0; axis->kind == P_INTS && j < axis->ints.n; j++)
            flag[k] |= axis->ints.p[j] == k;
        if (!flag[k] || k == cut) continue;
        Var size = crossing_size(p, b, rows, k);
        if (size == VAR_NONE || (n = op_call2(b, "multiply", n, size)) == VAR_NONE)
            return VAR_NONE;
    }
    return n == VAR_NONE ? n
                         : op_cast_to(b, n, dtype_real(var_type(b->g, p->out)->dtype));
}

static Var along_shards(Builder *b, const char *op, Var x) {
    PropArg first = {"axis", PROP_INT(0)};
    return apply_named(b, op, 1, &x, 1, &first);
}

static Var over_shards(Builder *b, const char *op, Var x) {
    Var r = along_shards(b, op, x);
    return r == VAR_NONE ? r : op_call1(b, "all_max", r);
}

Var crossing_finish(const SplitApply *p, Builder *b, Var v, Var rows, Var whole) {
    switch (p->w->crossing[p->id]) {
    case CROSS_MEAN: {
        Var n = count_elements(p, b, rows);
        return n == VAR_NONE ? n : op_call2(b, "divide", v, n);
    }
    case CROSS_MAX:
        return over_shards(b, "max", v);
    case CROSS_MIN: {
        Var r = over_shards(b, "max", v);
        return r == VAR_NONE ? r : turned(b, r);
    }
    case CROSS_LOGSUMEXP: {
        Var all = op_call1(b, "all_gather", v);
        return all == VAR_NONE ? all : along_shards(b, "logsumexp", all);
    }
    case CROSS_ANY:
        return over_shards(b, "any", v);
    case CROSS_ALL: {
        Var r = over_shards(b, "any", v);
        return r == VAR_NONE ? r : op_call1(b, "logical_not", r);
    }
    case CROSS_INC:
        return op_call2(b, "add", whole, v);
    case CROSS_SUM:
    case CROSS_NONE:
        break;
    }
    return v;
}
