/* Ops that read or make shapes: how the number of rows gets from one to the other. */
#include "part/part_impl.h"

/* ---- reading ---- */

bool part_shape(PartCall *c) {
    const Part *x = c->x;
    if (x->kind == PART_ROWS)
        return part_set(c,
                        (Part){.kind = PART_SHAPE, .axis = x->axis, .each = x->each});
    if (x->kind == PART_INDEX)
        return part_set(c, (Part){.kind = PART_SHAPE, .axis = x->axis, .each = 1});
    return part_set(c, part_same());
}

bool part_shape_i(PartCall *c) {
    const Part *x = c->x;
    int axis = part_axis_prop(c, "axis", part_type(c, 0)->ndim, 0);
    bool cut = (x->kind == PART_ROWS || x->kind == PART_INDEX) && x->axis == axis;
    int64_t each = x->kind == PART_INDEX ? 1 : x->each;
    return part_set(c, cut ? (Part){.power = 1, .each = each} : part_same());
}

/* Input 0, if it has the shape of the other. */
bool part_alike(PartCall *c) {
    const Part *x = &c->x[0], *like = &c->x[1];
    bool rows = x->kind == PART_ROWS;
    if (rows != (like->kind == PART_ROWS) || x->kind == PART_SHAPE ||
        x->kind == PART_INDEX ||
        (rows && (x->axis != like->axis || x->each != like->each)))
        return part_refuse_rows(c);
    return part_set(c, *x);
}

/* Is element k of a vector of sizes -1, any size? */
static bool is_any_size(const PartCall *c, Var dims, int k) {
    const Tensor *t = var_const(c->g, dims);
    ApplyId a = var_owner(c->g, dims);
    bool stack = a != APPLY_NONE && op_is(c->w->s, c->g->apply[a].op, OP_STACK) &&
                 k < c->g->apply[a].nin;
    if (stack) t = var_const(c->g, apply_in(c->g, a)[k]);
    if (!t || !dtype_is_integer(t->dtype) || t->ndim != !stack) return false;
    return tensor_i64(t, stack ? 0 : k) == -1;
}

/* x with the dims of a vector. */
bool part_specify(PartCall *c) {
    const Part *x = &c->x[0], *dims = &c->x[1];
    bool rows = x->kind == PART_ROWS;
    bool theirs = rows && dims->kind == PART_SHAPE && dims->axis == x->axis &&
                  dims->each == x->each;
    bool any = rows && part_is_same(dims) && is_any_size(c, c->in[1], x->axis);
    bool apart = (x->kind == PART_SAME || x->kind == PART_TERM) && part_is_same(dims);
    return theirs || any || apart ? part_set(c, *x) : part_refuse_rows(c);
}

/* ---- making ---- */

/* The axis of a shape given as input i that is a multiple of the rows; -1: none is, -2:
 * nothing is known. */
static int axis_of_shape(const PartCall *c, size_t i, int64_t *each) {
    const Part *x = &c->x[i];
    if (x->kind == PART_SHAPE) return *each = x->each, x->axis;
    if (part_is_count(x)) return *each = x->each, 0; /* a single size */
    return part_is_same(x) ? -1 : -2;
}

/* full, zeros, ones: from a shape, then what fills it. */
bool part_fill(PartCall *c) {
    Part p = {.kind = PART_ROWS, .zero = op_is(c->w->s, c->ap->op, OP_ZEROS)};
    p.axis = axis_of_shape(c, 0, &p.each);
    if (c->ap->nin > 1) {
        const Part *v = &c->x[1];
        if (v->kind != PART_SAME || part_type(c, 1)->ndim) return part_refuse_rows(c);
        p.power = v->power;
        p.zero |= v->zero;
    }
    if (p.axis == -2) return part_refuse_rows(c);
    if (p.axis < 0) p = (Part){.power = p.power, .zero = p.zero};
    return part_set(c, p);
}

bool part_like(PartCall *c) {
    Part p = c->x[0];
    if (p.kind == PART_INDEX) p.kind = PART_ROWS;
    if (p.kind != PART_ROWS) p = part_same();
    p.power = 0;
    p.zero = op_is(c->w->s, c->ap->op, OP_ZEROS_LIKE);
    if (c->ap->nin > 1) {
        const Part *v = &c->x[1];
        if (v->kind != PART_SAME || part_type(c, 1)->ndim) return part_refuse_rows(c);
        p.power = v->power;
        p.zero = v->zero;
    }
    return part_set(c, p);
}

static bool is_const_int(const PartCall *c, size_t i, int64_t v) {
    const Tensor *t = var_const(c->g, c->in[i]);
    return t && !t->ndim && dtype_is_integer(t->dtype) && tensor_i64(t, 0) == v;
}

/* 0, 1, ... n - 1 */
bool part_arange(PartCall *c) {
    size_t nin = c->ap->nin, stop = nin > 1;
    bool from_0 = nin < 2 || is_const_int(c, 0, 0),
         by_1 = nin < 3 || is_const_int(c, 2, 1);
    if (!from_0 || !by_1 || !part_is_count(&c->x[stop]) || c->x[stop].each != 1 ||
        !dtype_is_integer(part_out_type(c, 0)->dtype))
        return part_refuse(c, "numbers the rows of all parts");
    return part_set(c, (Part){.kind = PART_INDEX, .each = 1});
}

bool part_broadcast(PartCall *c) {
    Part p = c->x[0];
    int64_t each = 0;
    int axis = axis_of_shape(c, 1, &each), ndim = part_out_type(c, 0)->ndim;
    const Type *t = part_type(c, 0);
    int own = axis - (ndim - t->ndim); /* that axis, in x */
    if (p.kind == PART_ROWS || p.kind == PART_INDEX) {
        p.axis += ndim - t->ndim;
        if (axis != p.axis || each != p.each) return part_refuse_rows(c);
    } else if (axis >= 0) {
        if (p.kind != PART_SAME || (own >= 0 && t->dim[own] != 1))
            return part_refuse_rows(c);
        p = (Part){.kind = PART_ROWS,
                   .axis = axis,
                   .each = each,
                   .power = p.power,
                   .zero = p.zero};
    } else if (axis == -2 || (p.kind != PART_TERM && p.kind != PART_SAME)) {
        return part_refuse_rows(c);
    } else {
        p.each = 0;
    }
    return part_set(c, p);
}

/* ---- reshape ---- */

/* The product of dims [from, to); -1: some are unknown. */
static int64_t product_of(const Type *t, int from, int to) {
    int64_t n = 1;
    for (int k = from; k < to; k++)
        if (!dim_is_known(t->dim[k]) || !i64_mul(n, t->dim[k], &n)) return -1;
    return n;
}

/* Rows along axis 0 of x, `each` a row, whose further dims are known: those of the
 * result are too. */
static bool keeps_leading(const PartCall *c, int64_t *each) {
    const Type *x = part_type(c, 0), *y = part_out_type(c, 0);
    int64_t of_x = product_of(x, 1, x->ndim),
            of_y = y->ndim ? product_of(y, 1, y->ndim) : 0;
    if (of_x < 0 || of_y <= 0 || dim_is_known(y->dim[0]) ||
        !i64_mul(of_x, c->x[0].each, &of_x))
        return false;
    *each = of_x / of_y;
    return *each > 0 && of_x % of_y == 0;
}

/* Do the axes before the rows' stay as they are? */
static bool keeps_front(const PartCall *c) {
    const Type *x = part_type(c, 0), *y = part_out_type(c, 0);
    for (int k = 0; k < c->x[0].axis; k++)
        if (k >= y->ndim || x->dim[k] != y->dim[k] || x->dim[k] == DIM_UNKNOWN)
            return false;
    return c->x[0].axis < y->ndim;
}

bool part_reshape(PartCall *c) {
    Part p = c->x[0];
    int64_t each = 0;
    int axis = axis_of_shape(c, 1, &each);
    if (p.kind == PART_ROWS || p.kind == PART_INDEX) {
        if (axis == -2 || (axis >= 0 && axis != p.axis) || !keeps_front(c))
            return part_refuse_rows(c);
        if (axis < 0 && (p.axis != 0 || !keeps_leading(c, &each)))
            return part_refuse_rows(c);
        if (p.kind == PART_INDEX && each != 1) return part_refuse_rows(c);
        p.each = each;
    } else if (axis >= 0 && p.kind == PART_SHAPE) {
        return part_refuse_rows(c);
    } else if (axis != -1 || (p.kind != PART_TERM && p.kind != PART_SAME)) {
        return part_refuse_rows(c);
    } else {
        p.each = p.power == 1 && part_out_type(c, 0)->ndim == 0 ? p.each : 0;
    }
    return part_set(c, p);
}
