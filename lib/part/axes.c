/* Ops that work along axes, or move them: rows pass where their axis isn't among them.
 */
#include "part/part_impl.h"

#include <string.h>

/* A part that an op on input 0 passes on, if it is linear in it or only moves
 * elements. */
static bool passes(const PartCall *c, const Part *p) {
    bool linear = c->row->power == POWER_KEEPS;
    return linear || (p->power == 0 && p->kind != PART_TERM);
}

static bool flag_axis(int64_t axis, int ndim, bool *flag) {
    if (axis < 0) axis += ndim;
    if (axis < 0 || axis >= ndim) return false;
    return flag[axis] = true;
}

/* The axes that the op's props name, of ndim. */
static bool axes_of(const PartCall *c, int ndim, bool *flag) {
    const Signature *sig = op_signature(c->w->s, c->ap->op);
    bool any = false;
    memset(flag, 0, MAX_NDIM * sizeof *flag);
    for (size_t i = 0; i < sig->nprop; i++) {
        const PropDef *d = &sig->prop[i];
        const Prop *p = &c->ap->props->p[i];
        bool named = strcmp(sym_text(c->w->s, d->name), "axis") == 0;
        if (d->type != T_AXIS && d->type != T_AXES && !named) continue;
        any = true;
        if (p->kind == P_INT && !flag_axis(p->i, ndim, flag)) return false;
        for (size_t k = 0; p->kind == P_INTS && k < p->ints.n; k++)
            if (!flag_axis(p->ints.p[k], ndim, flag)) return false;
        for (int k = 0; p->kind == P_NONE && k < ndim; k++)
            flag[k] = true;
    }
    return any;
}

/* Are all tensors but the first cut like it, or numbers that are the same? */
static bool inputs_go_along(const PartCall *c) {
    const Part *x = c->x;
    for (size_t i = 1; i < c->ap->nin; i++) {
        bool same = part_is_same(&x[i]) && part_type(c, i)->ndim <= 1;
        bool rows = x[i].kind == PART_ROWS && x[i].axis == x[0].axis && !x[i].power &&
                    x[i].each == x[0].each &&
                    part_type(c, i)->ndim == part_type(c, 0)->ndim;
        if (!same && !rows) return false;
    }
    return true;
}

bool part_axes(PartCall *c) {
    const Part *x = c->x;
    bool flag[MAX_NDIM];
    int ndim = part_type(c, 0)->ndim;
    if (!axes_of(c, ndim, flag) || !passes(c, x)) return part_refuse_rows(c);
    if (x->kind == PART_TERM || x->kind == PART_SAME) {
        if (!part_same_from(c, 1) || (x->kind == PART_TERM && x->term != TERM_SUM))
            return part_refuse_rows(c);
        return part_set(c, (Part){.kind = x->kind, .power = x->power});
    }
    if (x->kind != PART_ROWS || flag[x->axis] || !inputs_go_along(c))
        return part_refuse_rows(c);
    for (size_t k = 0; k < c->ap->nout; k++)
        if (part_out_type(c, k)->ndim != ndim) return part_refuse_rows(c);
    return part_set(c, *x);
}

/* ---- reductions ---- */

static bool reduces_terms(const PartCall *c, const Part *x) {
    return c->row->arg == (int)x->term;
}

/* Axis `axis` once those in flag are gone. */
static int axis_left(int axis, const bool *flag, bool keepdims) {
    int left = axis;
    for (int k = 0; k < axis && !keepdims; k++)
        left -= flag[k];
    return left;
}

bool part_reduce(PartCall *c) {
    Part p = c->x[0];
    bool flag[MAX_NDIM], linear = c->row->power != POWER_NONE;
    if (!axes_of(c, part_type(c, 0)->ndim, flag) || (p.power && !linear))
        return part_refuse_rows(c);
    if (p.kind == PART_TERM && !reduces_terms(c, &p)) return part_refuse_rows(c);
    if (p.kind != PART_ROWS && p.kind != PART_SAME && p.kind != PART_TERM)
        return part_refuse_rows(c);
    if (p.kind == PART_SAME) p.each = 0;
    if (p.kind == PART_ROWS && !flag[p.axis])
        p.axis = axis_left(p.axis, flag, part_prop(c, "keepdims")->i);
    else if (p.kind == PART_ROWS) {
        if (c->row->arg < 0) return part_refuse_rows(c);
        p = (Part){.kind = PART_TERM,
                   .term = (PartTerm)c->row->arg,
                   .power = p.power - (c->row->power == POWER_OVER)};
    }
    return part_set(c, p);
}

/* ---- moving axes ---- */

/* Sets the outputs to what input 0 is, with its rows along `axis`. */
static bool pass_along(PartCall *c, int axis) {
    Part p = c->x[0];
    if (p.kind == PART_INDEX || p.kind == PART_SHAPE || !part_same_from(c, 1))
        return part_refuse_rows(c);
    p.axis = p.kind == PART_ROWS ? axis : 0;
    if (p.kind == PART_SAME) p.each = 0;
    return part_set(c, p);
}

bool part_transpose(PartCall *c) {
    const Prop *axes = part_prop(c, "axes");
    int ndim = part_type(c, 0)->ndim, at = ndim - 1 - c->x[0].axis;
    for (int k = 0; axes->kind == P_INTS && k < (int)axes->ints.n; k++) {
        int64_t from = axes->ints.p[k];
        if ((from < 0 ? from + ndim : from) == c->x[0].axis) at = k;
    }
    return pass_along(c, at);
}

bool part_expand_dims(PartCall *c) {
    bool flag[MAX_NDIM];
    int ndim = part_out_type(c, 0)->ndim, at = 0, left = c->x[0].axis;
    if (!axes_of(c, ndim, flag)) return part_refuse_rows(c);
    for (; at < ndim; at++)
        if (!flag[at] && left-- == 0) break;
    if (c->x[0].kind != PART_INDEX) return pass_along(c, at);
    Part numbers = c->x[0];
    numbers.axis = at;
    return part_set(c, numbers);
}

bool part_squeeze(PartCall *c) {
    bool flag[MAX_NDIM];
    const Type *t = part_type(c, 0);
    if (part_prop(c, "axis")->kind == P_NONE)
        for (int k = 0; k < t->ndim; k++)
            flag[k] = t->dim[k] == 1;
    else if (!axes_of(c, t->ndim, flag))
        return part_refuse_rows(c);
    if (c->x[0].kind == PART_ROWS && flag[c->x[0].axis]) return part_refuse_rows(c);
    return pass_along(c, axis_left(c->x[0].axis, flag, false));
}

bool part_diagonal(PartCall *c) {
    int ndim = part_type(c, 0)->ndim;
    bool flag[MAX_NDIM] = {false};
    flag[part_axis_prop(c, "axis1", ndim, 0)] = true;
    flag[part_axis_prop(c, "axis2", ndim, 1)] = true;
    if (c->x[0].kind == PART_ROWS && flag[c->x[0].axis]) return part_refuse_rows(c);
    return pass_along(c, axis_left(c->x[0].axis, flag, false));
}

bool part_split(PartCall *c) {
    int axis = part_axis_prop(c, "axis", part_type(c, 0)->ndim, 0);
    if (c->x[0].kind == PART_ROWS && c->x[0].axis == axis) return part_refuse_rows(c);
    return pass_along(c, c->x[0].axis);
}

/* ---- joining ---- */

/* Are all inputs the same in what matters? */
static bool all_alike(const PartCall *c) {
    const Part *x = c->x;
    for (size_t i = 1; i < c->ap->nin; i++)
        if (x[i].kind != x->kind || x[i].axis != x->axis || x[i].power != x->power ||
            x[i].term != x->term || (x->kind == PART_ROWS && x[i].each != x->each))
            return false;
    return x->kind == PART_ROWS || x->kind == PART_TERM || x->kind == PART_SAME;
}

/* Sums beside what is zero, or a multiple of the number of rows. */
static bool all_sums(const PartCall *c, Part *p) {
    bool any = false;
    *p = (Part){.kind = PART_TERM};
    for (size_t i = 0; i < c->ap->nin; i++) {
        const Part *x = &c->x[i];
        int power = x->power - (x->kind == PART_SAME);
        bool sum = x->kind == PART_SAME || (x->kind == PART_TERM && !x->term);
        if (!sum || (any && !x->zero && power != p->power)) return false;
        if (x->zero) continue;
        p->power = power;
        any = true;
    }
    return true;
}

/* A vector of sizes of which one is a multiple of the number of rows. */
static bool all_sizes(const PartCall *c, Part *p) {
    bool any = false;
    if (part_type(c, 0)->ndim || !dtype_is_integer(part_out_type(c, 0)->dtype))
        return false;
    for (size_t i = 0; i < c->ap->nin; i++) {
        if (part_is_same(&c->x[i])) continue;
        if (any || !part_is_count(&c->x[i])) return false;
        *p = (Part){.kind = PART_SHAPE, .axis = (int)i, .each = c->x[i].each};
        any = true;
    }
    return any;
}

bool part_stack(PartCall *c) {
    Part p = {0};
    int axis = part_axis_prop(c, "axis", part_out_type(c, 0)->ndim, 0);
    if (all_sizes(c, &p)) return part_set(c, p);
    if (all_alike(c)) {
        p = c->x[0];
        p.axis += p.kind == PART_ROWS && p.axis >= axis;
        if (p.kind == PART_SAME) p.each = 0;
        p.zero = false;
        return part_set(c, p);
    }
    if (!all_sums(c, &p)) return part_refuse_rows(c);
    return part_set(c, p);
}

bool part_concatenate(PartCall *c) {
    Part p = c->x[0];
    int axis = part_axis_prop(c, "axis", part_out_type(c, 0)->ndim, 0);
    p.zero = false;
    if (all_alike(c) && (p.kind != PART_ROWS || p.axis != axis)) {
        if (p.kind == PART_SAME) p.each = 0;
        return part_set(c, p);
    }
    if (all_sums(c, &p)) return part_set(c, p);
    for (size_t i = 1; i < c->ap->nin; i++)
        if (c->x[i].kind != p.kind && (c->x[i].kind == PART_SAME || !p.kind))
            return part_refuse(c, "has rows in some of its inputs only");
    return part_refuse_rows(c);
}

/* ---- the first axis ---- */

/* All tensors are cut along their first axis, but with `arg` only the first: the others
 * are the same for all rows. */
bool part_first_axis(PartCall *c) {
    for (size_t i = 1; c->row->arg && i < c->ap->nin; i++)
        if (c->x[i].kind == PART_ROWS)
            return part_refuse(c, "takes rows in its first input only");
    for (size_t i = 0; i < c->ap->nin; i++) {
        const Type *t = part_type(c, i);
        const Part *x = &c->x[i];
        bool sizes = dtype_is_integer(t->dtype) && t->ndim == 1;
        if (i > 0 && (sizes || c->row->arg)) {
            if (!part_is_same(x)) return part_refuse_rows(c);
            continue;
        }
        if (x->kind == PART_ROWS && x->axis)
            return part_refuse(c, "takes rows along the first axis only");
        if (x->kind != PART_ROWS || x->axis != 0 || x->each != 1 || t->ndim < 2)
            return part_refuse_rows(c);
        if (i > 0 && x->power) return part_refuse_rows(c);
    }
    bool kept = part_out_type(c, 0)->dim[0] == part_type(c, 0)->dim[0];
    if (!kept || !passes(c, c->x)) return part_refuse_rows(c);
    return part_set(c, c->x[0]);
}

/* The same of two tensors, the result being linear in the second. */
bool part_along_first(PartCall *c) {
    for (size_t i = 0; i < 2; i++)
        if (c->x[i].kind != PART_ROWS || c->x[i].axis != 0 || c->x[i].each != 1)
            return part_refuse_rows(c);
    if (c->x[0].power) return part_refuse_rows(c);
    return part_set(c, c->x[1]);
}

/* A sum over the rows of x and dy. */
bool part_weights_grad(PartCall *c) {
    const Part *x = c->x;
    for (size_t i = 0; i < 2; i++)
        if (x[i].kind != PART_ROWS || x[i].axis || x[i].each != 1)
            return part_refuse_rows(c);
    if (!part_same_from(c, 2) || part_out_type(c, 0)->dtype == DT_BOOL)
        return part_refuse_rows(c);
    return part_set(c, (Part){.kind = PART_TERM, .power = x[0].power + x[1].power});
}

/* Rows of both inputs along one of the dims that they share. */
bool part_pairs(PartCall *c) {
    const Part *x = &c->x[0], *y = &c->x[1];
    bool rows = x->kind == PART_ROWS && y->kind == PART_ROWS && !x->power && !y->power;
    if (!rows || x->axis != y->axis || x->each != y->each ||
        x->axis >= part_prop(c, "batch_dims")->i)
        return part_refuse_rows(c);
    return part_set(c, *x);
}

/* Values that are the same, and places for rows; or a vector for each row. */
bool part_search(PartCall *c) {
    const Part *a = &c->x[0], *v = &c->x[1];
    if (!part_is_same(a) || v->kind != PART_ROWS) return part_pairs(c);
    if (v->power || v->axis < part_prop(c, "batch_dims")->i) return part_refuse_rows(c);
    return part_set(c, *v);
}
