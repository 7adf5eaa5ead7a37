/* Contracts two labelled tensors as a batched matrix product: labels of both that are
 * kept form the batch, labels of both that are summed the inner axis, all others rows
 * and columns. Groups of axes are merged by reshape unless they have exactly one. */
#include "ops/linalg/contract.h"

#include "ops/shape/linear.h"

#include <string.h>

int term_axis(const Term *t, int label) {
    for (int k = 0; k < t->n; k++)
        if (t->label[k] == label) return k;
    return -1;
}

bool term_permute(Builder *b, Term *t, int n, const int *label) {
    int64_t axes[MAX_NDIM];
    bool moved = false;
    for (int k = 0; k < n; k++) {
        axes[k] = term_axis(t, label[k]);
        moved |= axes[k] != k;
    }
    memmove(t->label, label, (size_t)n * sizeof *label);
    if (!moved) return true;
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)n)};
    return (t->v = apply_named(b, "transpose", 1, &t->v, 1, &arg)) != VAR_NONE;
}

/* Removes the flagged labels. */
static int drop_labels(Term *t, const bool *off, int64_t *axes) {
    int n = 0, kept = 0;
    for (int k = 0; k < t->n; k++) {
        if (off[k])
            axes[n++] = k;
        else
            t->label[kept++] = t->label[k];
    }
    t->n = kept;
    return n;
}

static bool reduce_labels(Builder *b, Term *t, const char *op, const bool *off) {
    int64_t axes[MAX_NDIM];
    int n = drop_labels(t, off, axes);
    if (n == 0) return true;
    DType d = var_type(b->g, t->v)->dtype;
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)n)};
    Var v = apply_named(b, op, 1, &t->v, 1, &arg);
    return v != VAR_NONE && (t->v = op_cast_to(b, v, d)) != VAR_NONE;
}

bool term_sum(Builder *b, Term *t, const bool keep[LABEL_N]) {
    bool off[MAX_NDIM];
    for (int k = 0; k < t->n; k++)
        off[k] = !keep[t->label[k]];
    return reduce_labels(b, t, "sum", off);
}

/* Drops axes of size 1 where the other has more. */
static bool drop_ones(Builder *b, Term *t, const Term *other) {
    bool off[MAX_NDIM];
    for (int k = 0; k < t->n; k++) {
        int at = term_axis(other, t->label[k]);
        off[k] = at >= 0 && var_type(b->g, t->v)->dim[k] == 1 &&
                 var_type(b->g, other->v)->dim[at] != 1;
    }
    return reduce_labels(b, t, "squeeze", off);
}

/* Labels in groups: of both and kept, of both and summed, of x alone, of y alone. */
typedef struct LabelGroups {
    int nboth, ninner, nleft, nright;
    int both[MAX_NDIM], inner[MAX_NDIM], left[MAX_NDIM], right[MAX_NDIM];
} LabelGroups;

static LabelGroups group_labels(const Term *x, const Term *y, const bool *keep) {
    LabelGroups q = {0};
    for (int k = 0; k < x->n; k++) {
        int l = x->label[k];
        if (term_axis(y, l) < 0)
            q.left[q.nleft++] = l;
        else if (keep[l])
            q.both[q.nboth++] = l;
        else
            q.inner[q.ninner++] = l;
    }
    for (int k = 0; k < y->n; k++)
        if (term_axis(x, y->label[k]) < 0) q.right[q.nright++] = y->label[k];
    return q;
}

static bool arrange_axes(Builder *b, Term *t, int nboth, const int *both, int n1,
                         const int *first, int n2, const int *second) {
    int order[MAX_NDIM];
    memcpy(order, both, (size_t)nboth * sizeof *both);
    memcpy(order + nboth, first, (size_t)n1 * sizeof *first);
    memcpy(order + nboth + n1, second, (size_t)n2 * sizeof *second);
    return term_permute(b, t, t->n, order);
}

/* v with the n1 and n2 axes after the batch merged into one each. */
static Var merge_axes(Builder *b, Var v, int nboth, int n1, int n2) {
    Var size[MAX_NDIM + 2];
    bool one[MAX_NDIM] = {false}, two[MAX_NDIM] = {false};
    if (n1 == 1 && n2 == 1) return v;
    for (int k = 0; k < n1 + n2; k++)
        (k < n1 ? one : two)[nboth + k] = true;
    for (int k = 0; k < nboth; k++)
        size[k] = shape_of(b, v, k);
    size[nboth] = shape_axes_count(b, v, one);
    size[nboth + 1] = shape_axes_count(b, v, two);
    Var in[2] = {v, ints_stack(b, (size_t)nboth + 2, size)};
    return apply_named(b, "reshape", 2, in, 0, NULL);
}

static Var insert_ones(Builder *b, Var v, int first, int n) {
    int64_t axes[MAX_NDIM];
    if (n == 0) return v;
    for (int k = 0; k < n; k++)
        axes[k] = first + k;
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)n)};
    return apply_named(b, "expand_dims", 1, &v, 1, &arg);
}

/* Nothing is summed: a product that broadcasts. */
static Var outer_product(Builder *b, const Term *x, const Term *y,
                         const LabelGroups *q) {
    Var in[2] = {insert_ones(b, x->v, x->n, q->nright),
                 insert_ones(b, y->v, q->nboth, q->nleft)};
    return apply_named(b, "multiply", 2, in, 0, NULL);
}

static Var matrix_product(Builder *b, const Term *x, const Term *y,
                          const LabelGroups *q) {
    Var size[MAX_NDIM];
    int n = 0;
    Var in[2] = {merge_axes(b, x->v, q->nboth, q->nleft, q->ninner),
                 merge_axes(b, y->v, q->nboth, q->ninner, q->nright)};
    Var r = apply_named(b, "matmul", 2, in, 0, NULL);
    if (r == VAR_NONE || (q->nleft == 1 && q->nright == 1)) return r;
    for (int k = 0; k < q->nboth + q->nleft; k++)
        size[n++] = shape_of(b, x->v, k);
    for (int k = 0; k < q->nright; k++)
        size[n++] = shape_of(b, y->v, q->nboth + q->ninner + k);
    Var as[2] = {r, n ? ints_stack(b, (size_t)n, size) : const_ints(b, 0, NULL)};
    return apply_named(b, "reshape", 2, as, 0, NULL);
}

/* Labels of one term alone that go are summed at once. */
static bool sum_alone(Builder *b, Term *t, const Term *other, const bool *keep) {
    bool stay[LABEL_N];
    memcpy(stay, keep, sizeof stay);
    for (int k = 0; k < other->n; k++)
        stay[other->label[k]] = true;
    return term_sum(b, t, stay);
}

bool term_product(Builder *b, Term *x, Term *y, const bool keep[LABEL_N], Term *out) {
    if (!drop_ones(b, x, y) || !drop_ones(b, y, x) || !sum_alone(b, x, y, keep) ||
        !sum_alone(b, y, x, keep))
        return false;
    LabelGroups q = group_labels(x, y, keep);
    int rank = q.nboth + q.nleft + q.nright, most = MAX_NDIM - 2;
    if (rank > most || q.nboth + q.ninner + q.nright > most) {
        type_ndim_fits(b->s, b->from.at, NULL, MAX_NDIM + 1);
        return note(b->s, NOWHERE,
                    "for the product of tensors with %d and %d axes, which takes two "
                    "more on the way",
                    x->n, y->n);
    }
    if (!arrange_axes(b, x, q.nboth, q.both, q.nleft, q.left, q.ninner, q.inner) ||
        !arrange_axes(b, y, q.nboth, q.both, q.ninner, q.inner, q.nright, q.right))
        return false;
    out->v = q.ninner ? matrix_product(b, x, y, &q) : outer_product(b, x, y, &q);
    out->n = rank;
    memcpy(out->label, q.both, sizeof q.both);
    memcpy(out->label + q.nboth, q.left, (size_t)q.nleft * sizeof *q.left);
    memcpy(out->label + q.nboth + q.nleft, q.right, (size_t)q.nright * sizeof *q.right);
    return out->v != VAR_NONE;
}
