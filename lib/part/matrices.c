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

/* A product of inputs `first` and first + 1 of an Apply. */
typedef struct Product {
    const PartCall *c;
    size_t first;
} Product;

static const Part *operand(const Product *q, size_t i) {
    return &q->c->x[q->first + i];
}
static const Type *operand_type(const Product *q, size_t i) {
    return part_type(q->c, q->first + i);
}

/* *from_right: of the batch axes, 1 is the last. */
static Place place_of(const Product *q, size_t i, int *from_right) {
    const Part *x = operand(q, i);
    int ndim = operand_type(q, i)->ndim, core = ndim < 2 ? ndim : 2;
    if (x->kind == PART_SAME) return PLACE_SAME;
    if (x->kind != PART_ROWS) return PLACE_NO;
    *from_right = ndim - core - x->axis;
    if (x->axis < ndim - core) return PLACE_BATCH;
    bool summed = core == 1 || (i == 0 ? x->axis == ndim - 1 : x->axis == ndim - 2);
    return summed ? PLACE_SUMMED : PLACE_FREE;
}

/* Does input i broadcast along this batch axis? */
static bool broadcasts(const PartCall *c, size_t i, int from_right) {
    const Type *t = part_type(c, i);
    int k = t->ndim - 2 - from_right;
    return k < 0 || t->dim[k] == 1;
}

static int batch_axis(const Product *q, int from_right) {
    int core = (operand_type(q, 0)->ndim > 1) + (operand_type(q, 1)->ndim > 1);
    return part_out_type(q->c, 0)->ndim - core - from_right;
}

/* Operand i, with a free axis: rows of a, columns of b. */
static int free_axis(const Product *q, size_t i) {
    int last = part_out_type(q->c, 0)->ndim - 1;
    return i == 1 || operand_type(q, 1)->ndim < 2 ? last : last - 1;
}

/* A sum times what is the same everywhere. */
static bool product_of_terms(const Product *q, Part *p) {
    const Part *a = operand(q, 0), *b = operand(q, 1);
    const Part *sum = a->kind == PART_TERM ? a : b, *other = sum == a ? b : a;
    p->kind = PART_TERM;
    return sum->term == TERM_SUM && other->kind == PART_SAME &&
           part_out_type(q->c, 0)->dtype != DT_BOOL;
}

static bool product_part(const Product *q, Part *p) {
    const Part *x = operand(q, 0), *y = operand(q, 1);
    int at[2] = {0};
    Place a = place_of(q, 0, &at[0]), b = place_of(q, 1, &at[1]);
    size_t cut = a == PLACE_SAME; /* the operand with rows, if only one has them */
    bool one = a == PLACE_SAME || b == PLACE_SAME, like = x->each == y->each;
    *p = (Part){.kind = PART_ROWS, .power = x->power + y->power};
    p->each = operand(q, cut)->each;
    if (x->kind == PART_TERM || y->kind == PART_TERM) return product_of_terms(q, p);
    if (a == PLACE_SAME && b == PLACE_SAME) {
        p->kind = PART_SAME;
        p->each = 0;
        return true;
    }
    if (a == PLACE_SUMMED && b == PLACE_SUMMED && like) {
        p->kind = PART_TERM;
        p->term = part_out_type(q->c, 0)->dtype == DT_BOOL ? TERM_ANY : TERM_SUM;
        return true;
    }
    if (a == PLACE_BATCH && b == PLACE_BATCH)
        return p->axis = batch_axis(q, at[0]), at[0] == at[1] && like;
    if (one && (a == PLACE_BATCH || b == PLACE_BATCH))
        return p->axis = batch_axis(q, at[cut]),
               broadcasts(q->c, q->first + !cut, at[cut]);
    p->axis = free_axis(q, cut);
    return one && (a == PLACE_FREE || b == PLACE_FREE);
}

/* Why product_part says no. */
static bool refuse_product(PartCall *c, const Product *q) {
    int at[2] = {0};
    Place a = place_of(q, 0, &at[0]), b = place_of(q, 1, &at[1]);
    if (a == PLACE_NO || b == PLACE_NO) return part_refuse_rows(c);
    if (a != b && (a == PLACE_SUMMED || b == PLACE_SUMMED))
        return part_refuse(c, "contracts the rows of one factor only");
    if ((a == PLACE_BATCH && b == PLACE_SAME) || (b == PLACE_BATCH && a == PLACE_SAME))
        return part_refuse(c, "has a matrix for each row in one factor, but the other "
                              "isn't split");
    return part_refuse_rows(c);
}

bool part_matmul(PartCall *c) {
    Product q = {c, 0};
    Part p;
    return product_part(&q, &p) ? part_set(c, p) : refuse_product(c, &q);
}

/* beta * c + alpha * a @ b, of equal shapes. */
bool part_gemm(PartCall *c) {
    Part p, z = c->x[0];
    const Part *alpha = &c->x[3], *beta = &c->x[4];
    if (alpha->kind != PART_SAME || beta->kind != PART_SAME ||
        !product_part(&(Product){c, 1}, &p))
        return part_refuse_rows(c);
    p.power += alpha->power;
    z.power += beta->power;
    z.zero |= beta->zero;
    bool sums = p.kind == PART_TERM && p.term == TERM_SUM;
    bool same = z.kind == p.kind && z.power == p.power;
    if (p.kind == PART_ROWS) same = same && z.axis == p.axis && z.each == p.each;
    if (sums) /* c is added once, as its share in each part */
        same = (same && z.term == TERM_SUM) ||
               (z.kind == PART_SAME && (z.zero || z.power == p.power + 1));
    return same ? part_set(c, p) : part_refuse_rows(c);
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
