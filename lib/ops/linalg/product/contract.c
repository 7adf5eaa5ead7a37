/* Contracts two labelled tensors as a batched matrix product: labels of both that are
 * kept form the batch, labels of both that are summed the inner axis, all others rows
 * and columns. Groups of axes are merged by reshape unless they have exactly one. */
#include "ops/linalg/product/contract.h"

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

typedef struct LabelGroup {
    int n, label[MAX_NDIM];
} LabelGroup;
/* Labels in groups: of both and kept, of both and summed, of x alone, of y alone. */
typedef struct LabelGroups {
    LabelGroup both, inner, left, right;
} LabelGroups;

static LabelGroups group_labels(const Term *x, const Term *y, const bool *keep) {
    LabelGroups q = {0};
    for (int k = 0; k < x->n; k++) {
        int l = x->label[k];
        if (term_axis(y, l) < 0)
            q.left.label[q.left.n++] = l;
        else if (keep[l])
            q.both.label[q.both.n++] = l;
        else
            q.inner.label[q.inner.n++] = l;
    }
    for (int k = 0; k < y->n; k++)
        if (term_axis(x, y->label[k]) < 0) q.right.label[q.right.n++] = y->label[k];
    return q;
}

/* Labels of both terms first, then those of the groups `first` and `second`. */
static bool arrange_axes(Builder *b, Term *t, const LabelGroup *both,
                         const LabelGroup *first, const LabelGroup *second) {
    int order[MAX_NDIM];
    memcpy(order, both->label, (size_t)both->n * sizeof *order);
    memcpy(order + both->n, first->label, (size_t)first->n * sizeof *order);
    memcpy(order + both->n + first->n, second->label,
           (size_t)second->n * sizeof *order);
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

/* Nothing is summed: a product that broadcasts. */
static Var outer_product(Builder *b, const Term *x, const Term *y,
                         const LabelGroups *q) {
    Var in[2] = {op_insert_axes(b, x->v, x->n, q->right.n),
                 op_insert_axes(b, y->v, q->both.n, q->left.n)};
    return apply_named(b, "multiply", 2, in, 0, NULL);
}

/* Do the labels of a term stand in this order? */
static bool is_arranged(const Term *t, const LabelGroup *both, const LabelGroup *first,
                        const LabelGroup *second) {
    const LabelGroup *group[] = {both, first, second};
    int at = 0;
    bool same = true;
    for (size_t i = 0; i < 3; i++)
        for (int k = 0; k < group[i]->n; k++, at++)
            same &= t->label[at] == group[i]->label[k];
    return same;
}

static Var swap_last_axes(Builder *b, Var v, int ndim) {
    int64_t axes[MAX_NDIM];
    for (int k = 0; k < ndim; k++)
        axes[k] = k < ndim - 2 ? k : 2 * ndim - 3 - k;
    PropArg arg = {"axes", PROP_INTS(axes, (size_t)ndim)};
    return apply_named(b, "transpose", 1, &v, 1, &arg);
}

/* A transpose only renames the axes of what it transposes. */
static void look_through_transpose(Builder *b, Term *t) {
    const Graph *g = b->g;
    ApplyId a = var_owner(g, t->v);
    int label[MAX_NDIM];
    if (a == APPLY_NONE || !op_is(b->s, g->apply[a].op, OP_TRANSPOSE)) return;
    const Prop *axes = op_prop(b->s, g->apply[a].op, g->apply[a].props, "axes");
    for (int k = 0; k < t->n; k++) {
        int64_t at = axes->kind == P_INTS ? axes->ints.p[k] : t->n - 1 - k;
        label[at < 0 ? at + t->n : at] = t->label[k];
    }
    memcpy(t->label, label, (size_t)t->n * sizeof *label);
    t->v = apply_in(g, a)[0];
}

/* A term as matrices. Groups that stand the other way round are merged as they are: the
 * transpose of that is a view, while several axes that change places are copied to be
 * merged. */
static Var as_matrices(Builder *b, Term *t, const LabelGroup *both,
                       const LabelGroup *first, const LabelGroup *second) {
    bool turned = (first->n > 1 || second->n > 1) && first->n && second->n &&
                  is_arranged(t, both, second, first);
    if (turned) {
        Var v = merge_axes(b, t->v, both->n, second->n, first->n);
        return v == VAR_NONE ? v : swap_last_axes(b, v, both->n + 2);
    }
    if (!arrange_axes(b, t, both, first, second)) return VAR_NONE;
    return merge_axes(b, t->v, both->n, first->n, second->n);
}

static Var size_of_label(Builder *b, const Term *t, int label) {
    return shape_of(b, t->v, term_axis(t, label));
}

/* The labels of a group as they stand in t. */
static void sort_group(const Term *t, LabelGroup *q) {
    LabelGroup by = {0};
    for (int k = 0; k < t->n; k++)
        for (int i = 0; i < q->n; i++)
            if (q->label[i] == t->label[k]) by.label[by.n++] = q->label[i];
    *q = by;
}

static Var matrix_product(Builder *b, Term *x, Term *y, LabelGroups *q) {
    Var size[MAX_NDIM], in[2];
    int n = 0;
    look_through_transpose(b, x);
    look_through_transpose(b, y);
    sort_group(x, &q->inner);
    if ((in[0] = as_matrices(b, x, &q->both, &q->left, &q->inner)) == VAR_NONE ||
        (in[1] = as_matrices(b, y, &q->both, &q->inner, &q->right)) == VAR_NONE)
        return VAR_NONE;
    Var r = apply_named(b, "matmul", 2, in, 0, NULL);
    if (r == VAR_NONE || (q->left.n == 1 && q->right.n == 1)) return r;
    for (int k = 0; k < q->both.n; k++)
        size[n++] = size_of_label(b, x, q->both.label[k]);
    for (int k = 0; k < q->left.n; k++)
        size[n++] = size_of_label(b, x, q->left.label[k]);
    for (int k = 0; k < q->right.n; k++)
        size[n++] = size_of_label(b, y, q->right.label[k]);
    Var as[2] = {r, n ? ints_stack(b, (size_t)n, size) : const_ints(b, 0, NULL)};
    return apply_named(b, "reshape", 2, as, 0, NULL);
}

/* A dot product for each of many rows: a sum of products is one loop over all of them,
 * where a matrix product would be one for each. */
static Var sum_of_products(Builder *b, Term *x, Term *y, const LabelGroups *q) {
    int64_t axes[MAX_NDIM];
    if (!term_permute(b, y, x->n, x->label)) return VAR_NONE;
    for (int k = 0; k < q->inner.n; k++)
        axes[k] = term_axis(x, q->inner.label[k]);
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)q->inner.n)};
    Var in[2] = {x->v, y->v}, r = apply_named(b, "multiply", 2, in, 0, NULL);
    DType d = var_type(b->g, x->v)->dtype;
    if (r == VAR_NONE || (r = apply_named(b, "sum", 1, &r, 1, &arg)) == VAR_NONE)
        return VAR_NONE;
    return op_cast_to(b, r, d);
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
    int rank = q.both.n + q.left.n + q.right.n, most = MAX_NDIM - 2;
    if (rank > most || q.both.n + q.inner.n + q.right.n > most) {
        type_ndim_fits(b->s, b->from.at, NULL, MAX_NDIM + 1);
        return note(b->s, NOWHERE,
                    "for the product of tensors with %d and %d axes, which takes two "
                    "more on the way",
                    x->n, y->n);
    }
    if (q.inner.n == 0 && (!arrange_axes(b, x, &q.both, &q.left, &q.inner) ||
                           !arrange_axes(b, y, &q.both, &q.inner, &q.right)))
        return false;
    /* products of float16 may be beyond its range, which sums in a product aren't */
    bool dots = q.both.n && !q.left.n && !q.right.n &&
                var_type(b->g, x->v)->dtype != DT_FLOAT16;
    out->v = !q.inner.n ? outer_product(b, x, y, &q)
             : dots     ? sum_of_products(b, x, y, &q)
                        : matrix_product(b, x, y, &q);
    out->n = rank;
    memcpy(out->label, q.both.label, sizeof q.both.label);
    memcpy(out->label + q.both.n, q.left.label,
           (size_t)q.left.n * sizeof *q.left.label);
    memcpy(out->label + q.both.n + q.left.n, q.right.label,
           (size_t)q.right.n * sizeof *q.right.label);
    return out->v != VAR_NONE;
}
