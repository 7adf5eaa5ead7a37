/* What the vmap rules of ops are built from. */
#include "vmap/kit.h"

#include <string.h>

int vmap_ndim(const Vmap *q, size_t i) {
    return var_type(q->g, q->was[i])->ndim;
}

bool vmap_is_plain_from(const Vmap *q, size_t first) {
    for (size_t i = first; i < q->nin; i++)
        if (q->rows[i]) return false;
    return true;
}

bool vmap_apply(Vmap *q, const Props *props, const Var *in) {
    for (size_t i = 0; i < q->nin; i++)
        if (in[i] == VAR_NONE) return false;
    return op_apply(q->b, q->op, props, q->nin, in, q->out);
}

bool vmap_refuse(Vmap *q, const char *why) {
    q->no_form = true;
    return fail(q->b->s, q->b->from.at, E_TYPE,
                "%s can't be computed for many rows at once: %s", q->op->name, why);
}

/* ---- shapes ---- */

Var vmap_ints_item(Builder *b, Var ints, int64_t k) {
    const Graph *g = b->g;
    const Tensor *t = var_const(g, ints);
    if (t) return const_int(b, tensor_i64(t, k));
    ApplyId a = var_owner(g, ints);
    if (a != APPLY_NONE) {
        const Apply *ap = &g->apply[a];
        Var x = ap->nin ? apply_in(g, a)[0] : VAR_NONE;
        if (op_is(b->s, ap->op, OP_STACK) && var_type(g, x)->ndim == 0)
            return apply_in(g, a)[k];
        if (op_is(b->s, ap->op, OP_SHAPE)) return shape_of(b, x, (int)k);
    }
    Var in[2] = {ints, const_int(b, k)};
    PropArg index = {"index", PROP_STR(sym(b->s, "$"))};
    return apply_named(b, "subtensor", 2, in, 1, &index);
}

Var vmap_prepend_size(Vmap *q, Var ints) {
    if (ints == VAR_NONE) return VAR_NONE;
    Var item[MAX_NDIM + 1] = {q->size};
    Dim n = var_type(q->b->g, ints)->dim[0];
    if (!type_ndim_fits(q->b->s, q->b->from.at, NULL,
                        dim_is_known(n) ? n + 1 : INT64_MAX))
        return note(q->b->s, NOWHERE, "with one more dim, for rows"), VAR_NONE;
    for (int64_t k = 0; k < n; k++)
        item[k + 1] = vmap_ints_item(q->b, ints, k);
    return ints_stack(q->b, (size_t)n + 1, item);
}

Var vmap_pad_rank(Vmap *q, size_t i, int ndim) {
    int have = vmap_ndim(q, i);
    if (!q->rows[i] || have >= ndim) return q->in[i];
    return op_insert_axes(q->b, q->in[i], 1, ndim - have);
}

Var vmap_broadcast(Builder *b, Var x, Var size) {
    Var item[MAX_NDIM + 1] = {size};
    Var in[2] = {x, ints_stack(b, shape_items(b, x, 0, 1, item), item)};
    return apply_named(b, "broadcast_to", 2, in, 0, NULL);
}

Var vmap_move_axis(Builder *b, Var x, int64_t from, int64_t to) {
    PropArg arg[] = {{"source", PROP_INTS(&from, 1)},
                     {"destination", PROP_INTS(&to, 1)}};
    return from == to ? x : apply_named(b, "moveaxis", 1, &x, 2, arg);
}

Var vmap_with_rows(Vmap *q, size_t i) {
    if (q->rows[i]) return q->in[i];
    const Type *t = var_type(q->b->g, q->in[i]);
    Var shape = shape_vector(q->b, q->in[i]);
    Var in[2] = {q->in[i],
                 t->ndim ? vmap_prepend_size(q, shape) : ints_stack(q->b, 1, &q->size)};
    return apply_named(q->b, "broadcast_to", 2, in, 0, NULL);
}

Var vmap_row_shape(Vmap *q, size_t i) {
    Var item[MAX_NDIM];
    if (!q->rows[i]) return shape_vector(q->b, q->in[i]);
    int n = vmap_ndim(q, i);
    for (int k = 0; k < n; k++)
        item[k] = shape_of(q->b, q->in[i], k + 1);
    return ints_stack(q->b, (size_t)n, item);
}

Var vmap_flatten(Vmap *q, size_t i) {
    Builder *b = q->b;
    Var x = vmap_with_rows(q, i), n = const_int(b, 1);
    int64_t known = 1;
    if (x == VAR_NONE || vmap_ndim(q, i) == 1) return x;
    for (int k = 0; k < vmap_ndim(q, i); k++) {
        Var d = shape_of(b, x, k + 1);
        const Tensor *t = d == VAR_NONE ? NULL : var_const(b->g, d);
        if (t && i64_mul(known, tensor_i64(t, 0), &known)) continue;
        n = op_call2(b, "multiply", n, d);
    }
    if (n != VAR_NONE && var_is_const(b->g, n))
        n = const_int(b, known);
    else if (n != VAR_NONE && known != 1)
        n = op_call2(b, "multiply", n, const_int(b, known));
    Var size[2] = {q->size, n}, in[2] = {x, ints_stack(b, 2, size)};
    return apply_named(b, "reshape", 2, in, 0, NULL);
}

Var vmap_unflatten(Vmap *q, Var x, Var shape) {
    if (x == VAR_NONE || shape == VAR_NONE) return VAR_NONE;
    Var in[2] = {x, vmap_prepend_size(q, shape)};
    return apply_named(q->b, "reshape", 2, in, 0, NULL);
}

const Props *vmap_replace_prop(Vmap *q, const char *name, Prop value) {
    Session *s = q->b->s;
    const Signature *sig = op_signature(s, q->op);
    Prop *p = mem_alloc(s, sig->nprop * sizeof *p + 1);
    size_t place = prop_place(sig, name);
    for (size_t i = 0; i < sig->nprop; i++)
        p[i] = i == place ? value : q->props->p[i];
    const Props *props = props_intern(s, sig->nprop, p);
    mem_free(p);
    return props;
}

/* ---- shared rules ---- */

bool vmap_elementwise(Vmap *q) {
    Var *in = mem_alloc(q->b->s, q->nin * sizeof *in);
    int ndim = 0;
    for (size_t i = 0; i < q->nin; i++)
        if (vmap_ndim(q, i) > ndim) ndim = vmap_ndim(q, i);
    for (size_t i = 0; i < q->nin; i++)
        in[i] = vmap_pad_rank(q, i, ndim);
    bool ok = vmap_apply(q, q->props, in);
    mem_free(in);
    return ok;
}

bool vmap_pass_first(Vmap *q) {
    q->out_rows[0] = q->rows[0];
    return vmap_apply(q, q->props, q->in);
}

/* An axis prop p of one row, adjusted for the leading dim of rows; `room` holds a list.
 * Negative axes count from the end and need no change. */
static Prop shift_axis_prop(const PropDef *d, Prop p, int ndim, int64_t *room) {
    if (d->type == T_AXIS && p.kind == P_INT && p.i >= 0) return PROP_INT(p.i + 1);
    if (d->type != T_AXES) return p;
    size_t n = p.kind == P_NONE ? (size_t)ndim : p.ints.n;
    for (size_t i = 0; i < n; i++) {
        int64_t axis = p.kind == P_NONE ? (int64_t)i : p.ints.p[i];
        room[i] = axis < 0 ? axis : axis + 1;
    }
    return PROP_INTS(room, n);
}

static const Props *shift_axes_props(Vmap *q) {
    Session *s = q->b->s;
    const Signature *sig = op_signature(s, q->op);
    Prop *p = mem_alloc(s, (sig->nprop + 1) * sizeof *p);
    int64_t *room = mem_alloc(s, sig->nprop * MAX_NDIM * sizeof *room + 1);
    for (size_t i = 0; i < sig->nprop; i++)
        p[i] = shift_axis_prop(&sig->prop[i], q->props->p[i], vmap_ndim(q, 0),
                               room + i * MAX_NDIM);
    const Props *props = props_intern(s, sig->nprop, p);
    mem_free(p);
    mem_free(room);
    return props;
}

static ParamKind param_kind(const Signature *sig, size_t i) {
    return sig->in[i < sig->nin ? i : sig->nin - 1].kind;
}

bool vmap_axes(Vmap *q) {
    const Signature *sig = op_signature(q->b->s, q->op);
    Var *in = mem_alloc(q->b->s, q->nin * sizeof *in);
    bool ints = false;
    for (size_t i = 0; i < q->nin; i++) {
        bool tensor = param_kind(sig, i) == IN_TENSOR;
        ints |= !tensor && q->rows[i];
        in[i] = tensor ? vmap_with_rows(q, i) : q->in[i];
    }
    bool ok = ints ? vmap_by_scan(q) : vmap_apply(q, shift_axes_props(q), in);
    mem_free(in);
    return ok;
}

/* Axes `from` and from + 1 of x as one, or what is now one as two: the sizes of x's
 * other axes stay. */
static Var reshape_leading(Builder *b, Var x, size_t nlead, Var *lead, int from) {
    Var in[2] = {x, ints_stack(b, shape_items(b, x, from, nlead, lead), lead)};
    return apply_named(b, "reshape", 2, in, 0, NULL);
}

bool vmap_first_axis(Vmap *q) {
    Builder *b = q->b;
    const Signature *sig = op_signature(b->s, q->op);
    Var *in = mem_alloc(b->s, q->nin * sizeof *in), n = VAR_NONE;
    Var item[MAX_NDIM + 1] = {VAR_NONE};
    bool ok = true, ints = false;
    for (size_t i = 0; ok && i < q->nin; i++) {
        bool tensor = param_kind(sig, i) == IN_TENSOR;
        ints |= !tensor && q->rows[i];
        in[i] = tensor ? vmap_with_rows(q, i) : q->in[i];
        if (!tensor || in[i] == VAR_NONE) continue;
        n = shape_of(b, in[i], 1);
        item[0] = op_call2(b, "multiply", q->size, n);
        ok = item[0] != VAR_NONE;
        in[i] = ok ? reshape_leading(b, in[i], 1, item, 2) : VAR_NONE;
    }
    if (ints) ok = vmap_by_scan(q);
    if (ok && !ints && (ok = vmap_apply(q, q->props, in))) {
        item[0] = q->size;
        item[1] = n;
        q->out[0] = reshape_leading(b, q->out[0], 2, item, 1);
        ok = q->out[0] != VAR_NONE;
    }
    mem_free(in);
    return ok;
}
