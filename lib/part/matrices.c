/* Products, and ops on matrices in the last dims. */
#include "part/part_impl.h"

/* Where an operand of a product has its rows. */
typedef enum Place {
    PLACE_SAME,
    PLACE_BATCH,
    PLACE_FREE,
    PLACE_SUMMED,
    PLACE_NO
} Place;

/* *from_right: of the batch axes, 1 is the last. */
static Place place_of(const PartCall *c, size_t i, int *from_right) {
    int ndim = part_type(c, i)->ndim, axis = c->x[i].axis, core = ndim < 2 ? ndim : 2;
    if (c->x[i].kind == PART_SAME) return PLACE_SAME;
    if (c->x[i].kind != PART_ROWS) return PLACE_NO;
    *from_right = ndim - core - axis;
    if (axis < ndim - core) return PLACE_BATCH;
    bool summed = core == 1 || (i == 0 ? axis == ndim - 1 : axis == ndim - 2);
    return summed ? PLACE_SUMMED : PLACE_FREE;
}

/* Does input i broadcast along this batch axis? */
static bool broadcasts(const PartCall *c, size_t i, int from_right) {
    const Type *t = part_type(c, i);
    int k = t->ndim - 2 - from_right;
    return k < 0 || t->dim[k] == 1;
}

static int batch_axis(const PartCall *c, int from_right) {
    int core = (part_type(c, 0)->ndim > 1) + (part_type(c, 1)->ndim > 1);
    return part_out_type(c, 0)->ndim - core - from_right;
}

/* Operand i, with a free axis: rows of a, columns of b. */
static int free_axis(const PartCall *c, size_t i) {
    int last = part_out_type(c, 0)->ndim - 1;
    return i == 1 || part_type(c, 1)->ndim < 2 ? last : last - 1;
}

bool part_matmul(PartCall *c) {
    const Part *x = c->x;
    int at[2] = {0};
    Place a = place_of(c, 0, &at[0]), b = place_of(c, 1, &at[1]);
    Part p = {.kind = PART_ROWS, .power = x[0].power + x[1].power};
    size_t cut = a == PLACE_SAME;
    p.each = x[cut].each;
    bool truth = part_out_type(c, 0)->dtype == DT_BOOL;
    if ((x[0].kind == PART_TERM) != (x[1].kind == PART_TERM) &&
        (a == PLACE_SAME || b == PLACE_SAME) && !truth) {
        p.kind = PART_TERM;
        if (x[a == PLACE_SAME].term != TERM_SUM) return part_refuse_rows(c);
    } else if (a == PLACE_SAME && b == PLACE_SAME) {
        p.kind = PART_SAME;
        p.each = 0;
    } else if (a == PLACE_SUMMED && b == PLACE_SUMMED && x[0].each == x[1].each) {
        p.kind = PART_TERM;
        p.term = truth ? TERM_ANY : TERM_SUM;
    } else if (a == PLACE_BATCH && b == PLACE_BATCH && at[0] == at[1] &&
               x[0].each == x[1].each) {
        p.axis = batch_axis(c, at[0]);
    } else if ((a == PLACE_SAME || b == PLACE_SAME) &&
               (a == PLACE_BATCH || b == PLACE_BATCH) && broadcasts(c, !cut, at[cut])) {
        p.axis = batch_axis(c, at[cut]);
    } else if ((a == PLACE_SAME && b == PLACE_FREE) ||
               (a == PLACE_FREE && b == PLACE_SAME)) {
        p.axis = free_axis(c, cut);
    } else {
        return part_refuse_rows(c);
    }
    return part_set(c, p);
}

/* Each matrix, or pair of them, apart: rows along a leading dim of all inputs. */
bool part_matrices(PartCall *c) {
    int core = c->row->arg, right = 0;
    Part p = {0};
    int most = 0;
    for (size_t i = 0; i < c->ap->nin; i++) {
        const Type *t = part_type(c, i);
        if (t->ndim - core > most) most = t->ndim - core;
        if (part_is_same(&c->x[i])) continue;
        if (c->x[i].kind != PART_ROWS || c->x[i].power) return part_refuse_rows(c);
        int at = t->ndim - core - c->x[i].axis;
        if (at <= 0 || (right && (at != right || c->x[i].each != p.each)))
            return part_refuse_rows(c);
        right = at;
        p = c->x[i];
    }
    for (size_t i = 0; i < c->ap->nin; i++)
        if (part_is_same(&c->x[i]) && !broadcasts(c, i, right))
            return part_refuse_rows(c);
    p.axis = most - right;
    return part_set(c, p);
}
