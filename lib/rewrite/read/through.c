/* The read of what an op makes, as that op of reads of its inputs. */
#include "rewrite/read/read.h"

/* ---- elementwise ops ---- */

enum { ELEMWISE_INPUTS = 8, TINY = 64 };

Var read_operand(const Read *q, Var v) {
    const Type *t = var_type(q->r->g, v);
    ReadItem item[MAX_NDIM];
    int lead = q->t->ndim - t->ndim;
    for (int k = 0; k < t->ndim; k++) {
        const ReadItem *it = &q->item[lead + k];
        bool stretched = t->dim[k] == 1 && q->t->dim[lead + k] != 1;
        item[k] = !stretched ? *it : it->is_at ? read_item_at(q->r, 0) : read_all;
    }
    return read_of(q->r, v, t->ndim, item);
}

Var read_elemwise(Read *q) {
    const Apply a = q->r->g->apply[q->of];
    Var in[ELEMWISE_INPUTS];
    size_t arrays = 0;
    if (a.nin > ELEMWISE_INPUTS || a.nout != 1 || op_may_fail(q->r->g, q->of))
        return VAR_NONE;
    for (size_t i = 0; i < a.nin; i++)
        arrays += var_type(q->r->g, read_input(q, i))->ndim > 0;
    int64_t size = type_size(q->t);
    if (arrays > 1 && size >= 0 && size < TINY) return VAR_NONE; /* reads cost too */
    for (size_t i = 0; i < a.nin; i++) {
        in[i] = read_operand(q, read_input(q, i));
        if (in[i] == VAR_NONE) return VAR_NONE;
    }
    return rewriter_apply(q->r, a.op, a.props, a.nin, in);
}

/* Index arrays and masks as they are, where all but one operand are numbers and no more
 * is read than there is. */
Var read_by_arrays(Rewriter *r, ApplyId id, ApplyId of) {
    const Apply a = r->g->apply[of], read = r->g->apply[id];
    const Type *out = var_type(r->g, read.out), *t = var_type(r->g, a.out);
    Var in[ELEMWISE_INPUTS], index[READ_INPUTS + 1];
    int array = -1;
    if (a.nin > ELEMWISE_INPUTS || read.nin > READ_INPUTS || op_may_fail(r->g, of))
        return VAR_NONE;
    for (size_t i = 0; i < a.nin; i++) {
        in[i] = rewriter_input(r, of, i);
        if (var_type(r->g, in[i])->ndim == 0) continue;
        if (array >= 0) return VAR_NONE;
        array = (int)i;
    }
    for (size_t i = 1; i < read.nin; i++)
        index[i] = rewriter_input(r, id, i);
    bool mask = read.nin == 2 && var_type(r->g, index[1])->dtype == DT_BOOL,
         fewer = type_size(out) >= 0 && type_size(out) <= type_size(t);
    if (array < 0 || (!mask && !fewer)) return VAR_NONE;
    index[0] = in[array];
    in[array] = rewriter_apply(r, read.op, read.props, read.nin, index);
    return in[array] == VAR_NONE ? VAR_NONE
                                 : rewriter_apply(r, a.op, a.props, a.nin, in);
}

/* ---- ops that arrange elements ---- */

Var read_transpose(Read *q) {
    Rewriter *r = q->r;
    int n = q->t->ndim, left = 0;
    int64_t from[MAX_NDIM], axes[MAX_NDIM];
    ReadItem item[MAX_NDIM];
    rewriter_transpose_axes(r, &r->g->apply[q->of], n, from);
    for (int k = 0; k < n; k++)
        item[from[k]] = q->item[k];
    for (int k = 0; k < n; k++)
        if (!q->item[k].is_at) axes[left++] = read_axes_before(item, (int)from[k]);
    bool same = true, reverse = true;
    for (int k = 0; k < left; k++) {
        same &= axes[k] == k;
        reverse &= axes[k] == left - 1 - k;
    }
    Var y = read_of(r, read_input(q, 0), n, item);
    if (y == VAR_NONE || same) return y;
    Prop order = reverse ? (Prop){.kind = P_NONE} : PROP_INTS(axes, (size_t)left);
    return rewriter_with_prop(r, &r->g->apply[q->of], "axes", order, 1, &y);
}

static void mark_axes(const Prop *p, int ndim, bool *flag) {
    for (size_t i = 0; p->kind == P_INTS && i < p->ints.n; i++)
        flag[p->ints.p[i] < 0 ? p->ints.p[i] + ndim : p->ints.p[i]] = true;
}

/* An item for an axis of size 1 that selects all of it. */
static bool keeps_single(const Read *q, const ReadItem *it) {
    int64_t i;
    if (!it->is_at) return read_takes_all(it);
    return rewriter_int_const(q->r, it->at, &i) && (i == 0 || i == -1);
}

Var read_expanded(Read *q) {
    Rewriter *r = q->r;
    bool added[MAX_NDIM] = {false};
    ReadItem item[MAX_NDIM];
    int64_t axes[MAX_NDIM];
    int n = 0, left = 0;
    mark_axes(rewriter_prop(r, &r->g->apply[q->of], "axis"), q->t->ndim, added);
    for (int k = 0; k < q->t->ndim; k++) {
        if (!added[k])
            item[n++] = q->item[k];
        else if (!keeps_single(q, &q->item[k]))
            return VAR_NONE;
        else if (!q->item[k].is_at)
            axes[left++] = read_axes_before(q->item, k);
    }
    Var y = read_of(r, read_input(q, 0), n, item);
    if (y == VAR_NONE || left == 0) return y;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis",
                              PROP_INTS(axes, (size_t)left), 1, &y);
}

Var read_squeezed(Read *q) {
    Rewriter *r = q->r;
    const Prop *p = rewriter_prop(r, &r->g->apply[q->of], "axis");
    int ndim = var_type(r->g, read_input(q, 0))->ndim, n = 0;
    size_t left = 0;
    bool gone[MAX_NDIM] = {false};
    ReadItem item[MAX_NDIM];
    int64_t axes[MAX_NDIM];
    if (p->kind != P_INTS) return VAR_NONE;
    mark_axes(p, ndim, gone);
    for (int k = 0; k < ndim; k++)
        item[k] = gone[k] ? read_all : q->item[n++];
    for (int k = 0; k < ndim; k++)
        if (gone[k]) axes[left++] = read_axes_before(item, k);
    Var y = read_of(r, read_input(q, 0), ndim, item);
    if (y == VAR_NONE) return VAR_NONE;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis", PROP_INTS(axes, left), 1,
                              &y);
}

/* ---- joined tensors ---- */

/* Do the types prove that all parts have the same other dims? */
static bool parts_agree(const Read *q, int axis) {
    const Apply *a = &q->r->g->apply[q->of];
    const Type *first = var_type(q->r->g, read_input(q, 0));
    for (size_t i = 0; i < a->nin; i++) {
        const Type *t = var_type(q->r->g, read_input(q, i));
        for (int k = 0; k < t->ndim; k++)
            if (k != axis && (t->dim[k] != first->dim[k] || t->dim[k] == DIM_UNKNOWN))
                return false;
    }
    return true;
}

enum { JOINED_PARTS = 8 };

static Var read_each_part(Read *q, int axis, int lead) {
    Rewriter *r = q->r;
    const Apply a = r->g->apply[q->of];
    ReadItem item[MAX_NDIM];
    Var in[JOINED_PARTS];
    if (a.nin > JOINED_PARTS) return VAR_NONE;
    for (int k = 0, n = 0; k < q->t->ndim; k++)
        if (k != axis || lead == 0) item[n++] = q->item[k];
    for (size_t i = 0; i < a.nin; i++) {
        in[i] = read_of(r, read_input(q, i), q->t->ndim - lead, item);
        if (in[i] == VAR_NONE) return VAR_NONE;
    }
    return rewriter_with_prop(r, &a, "axis", PROP_INT(read_axes_before(q->item, axis)),
                              a.nin, in);
}

/* A sum of sizes, such as n + 2 * m + 3: its terms, and what is constant. */
typedef struct SizeSum {
    Var term[JOINED_PARTS];
    size_t n;
    int64_t more;
} SizeSum;

static bool add_term(SizeSum *sum, Var v, int64_t times) {
    for (; times > 0 && sum->n < JOINED_PARTS; times--)
        sum->term[sum->n++] = v;
    return times == 0;
}

static bool find_terms(Rewriter *r, Var v, int depth, SizeSum *sum) {
    enum { LARGE = 1 << 30, DEPTH = 8 };
    int64_t i;
    if (rewriter_int_const(r, v, &i)) {
        sum->more += i;
        return i >= 0 && i < LARGE;
    }
    ApplyId id = var_owner(r->g, v);
    if (rewriter_known_owner(r, v, OP_ADD))
        return depth < DEPTH &&
               find_terms(r, rewriter_input(r, id, 0), depth + 1, sum) &&
               find_terms(r, rewriter_input(r, id, 1), depth + 1, sum);
    for (size_t k = 0; rewriter_known_owner(r, v, OP_MULTIPLY) && k < 2; k++)
        if (rewriter_int_const(r, rewriter_input(r, id, k), &i))
            return add_term(sum, rewriter_input(r, id, 1 - k), i);
    return add_term(sum, v, 1);
}

/* Is v where part i begins, by the sizes of those before it? */
static bool is_part_begin(const Read *q, int axis, size_t parts, Var v) {
    Rewriter *r = q->r;
    SizeSum sum = {.n = 0};
    if (!find_terms(r, v, 0, &sum)) return false;
    for (size_t i = 0; i < parts; i++) {
        Var part = read_input(q, i);
        Dim size = var_type(r->g, part)->dim[axis];
        if (dim_is_known(size)) {
            sum.more -= size;
            continue;
        }
        size_t k = 0;
        while (k < sum.n && !read_is_dim(r, part, axis, sum.term[k]))
            k++;
        if (k == sum.n) return false;
        sum.term[k] = sum.term[--sum.n];
    }
    return sum.n == 0 && sum.more == 0;
}

/* Whole parts that are named by their sizes: concatenate([x, y])[n:] is y. */
static Var read_whole_part(Read *q, int axis) {
    Rewriter *r = q->r;
    const ReadItem it = q->item[axis];
    size_t n = r->g->apply[q->of].nin;
    if (it.is_at || it.array != VAR_NONE || it.step != VAR_NONE) return VAR_NONE;
    for (size_t i = 0; i < n && i < JOINED_PARTS; i++) {
        bool starts = i == 0 && it.start == VAR_NONE,
             ends = i == n - 1 && it.stop == VAR_NONE;
        if (!starts && (it.start == VAR_NONE || !is_part_begin(q, axis, i, it.start)))
            continue;
        if (!ends && (it.stop == VAR_NONE || !is_part_begin(q, axis, i + 1, it.stop)))
            continue;
        q->item[axis] = read_all;
        return read_of(r, read_input(q, i), q->t->ndim, q->item);
    }
    return VAR_NONE;
}

/* A read of one part alone, which is never more work. */
Var read_one_part(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Prop *p = rewriter_prop(r, a, "axis");
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i);
    int64_t from, to, at = 0;
    if (!parts_agree(q, axis)) return VAR_NONE;
    if (!read_constant_rows(q, axis, &from, &to)) return read_whole_part(q, axis);
    for (size_t i = 0; i < a->nin; i++) {
        Var part = read_input(q, i);
        Dim size = var_type(r->g, part)->dim[axis];
        if (!dim_is_known(size) || from < at) return VAR_NONE;
        if (from >= at + size) {
            at += size;
            continue;
        }
        if (to > at + size) return VAR_NONE;
        ReadItem *it = &q->item[axis];
        *it = it->is_at ? read_item_at(r, from - at)
                        : read_item_slice(r, from - at, to - at, size);
        return read_of(r, part, q->t->ndim, q->item);
    }
    return VAR_NONE;
}

Var read_concatenated(Read *q) {
    const Prop *p = rewriter_prop(q->r, &q->r->g->apply[q->of], "axis");
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i);
    return read_takes_all(&q->item[axis]) && parts_agree(q, axis)
               ? read_each_part(q, axis, 0)
               : VAR_NONE;
}

Var read_stacked(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Prop *p = rewriter_prop(r, a, "axis");
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i), n = 0;
    ReadItem item[MAX_NDIM];
    int64_t from, to;
    if (!parts_agree(q, -1)) return VAR_NONE;
    if (read_takes_all(&q->item[axis])) return read_each_part(q, axis, 1);
    if (!q->item[axis].is_at || !read_constant_rows(q, axis, &from, &to))
        return VAR_NONE;
    for (int k = 0; k < q->t->ndim; k++)
        if (k != axis) item[n++] = q->item[k];
    return read_of(r, read_input(q, (size_t)from), n, item);
}

/* ---- what works along one axis, or sums over some ---- */

Var read_softmax(Read *q) {
    Rewriter *r = q->r;
    const Prop *p = rewriter_prop(r, &r->g->apply[q->of], "axis");
    if (p->kind != P_INT) return VAR_NONE;
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i);
    if (!read_takes_all(&q->item[axis])) return VAR_NONE;
    Var y = read_of(r, read_input(q, 0), q->t->ndim, q->item);
    if (y == VAR_NONE) return VAR_NONE;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis",
                              PROP_INT(read_axes_before(q->item, axis)), 1, &y);
}

/* What fails on an empty tensor must not become a reduction of fewer elements, except
 * where it surely has some. */
static bool may_lose_failure(const Read *q, const Type *t, const bool *gone) {
    bool parts = false, some = true;
    for (int k = 0; k < q->t->ndim; k++)
        parts |= !q->item[k].is_at && !read_takes_all(&q->item[k]);
    for (int k = 0; k < t->ndim; k++)
        some &= !gone[k] || (dim_is_known(t->dim[k]) && t->dim[k] > 0);
    return parts && !some && op_may_fail(q->r->g, q->of);
}

Var read_reduced(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Prop *p = rewriter_prop(r, a, "axis");
    Var x = read_input(q, 0);
    int ndim = var_type(r->g, x)->ndim, at = 0;
    size_t n = 0;
    bool kept = ndim == q->t->ndim, gone[MAX_NDIM] = {false};
    ReadItem item[MAX_NDIM];
    int64_t axes[MAX_NDIM];
    if (p->kind != P_INTS) return VAR_NONE;
    mark_axes(p, ndim, gone);
    if (may_lose_failure(q, var_type(r->g, x), gone)) return VAR_NONE;
    for (int k = 0; k < ndim; k++) {
        if (gone[k] && kept && !read_takes_all(&q->item[at])) return VAR_NONE;
        item[k] = gone[k] ? read_all : q->item[at];
        at += !gone[k] || kept;
    }
    for (int k = 0; k < ndim; k++)
        if (gone[k]) axes[n++] = read_axes_before(item, k);
    Var y = read_of(r, x, ndim, item);
    if (y == VAR_NONE) return VAR_NONE;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis", PROP_INTS(axes, n), 1,
                              &y);
}

/* ---- products ---- */

/* How one operand of a product is read. */
typedef struct ReadFactor {
    Var v;
    ReadItem item[MAX_NDIM];
    int ndim, open; /* open: batch dims that are left */
} ReadFactor;

/* The batch dims of a factor are the last of the product's; of size 1 they repeat. */
static void read_batch(const Read *q, ReadFactor *f, int nbatch) {
    const Type *t = var_type(q->r->g, f->v);
    for (int k = 0; k + 2 < f->ndim; k++) {
        const ReadItem *item = &q->item[nbatch - (f->ndim - 2) + k];
        bool repeats = t->dim[k] == 1 && q->t->dim[nbatch - (f->ndim - 2) + k] != 1;
        f->item[k] = !repeats ? *item : item->is_at ? read_item_at(q->r, 0) : read_all;
        f->open += !item->is_at;
    }
}

/* Reads a factor, whose row or column (side 0 or 1) is to stay in a dim of size 1,
 * `alone`, where matmul would take what is left for other matrices. */
static bool read_factor(Read *q, ReadFactor *f, int side, bool alone) {
    int axis = f->ndim - 2 + side;
    int64_t to = f->open + side;
    bool one = alone && var_type(q->r->g, f->v)->dim[axis] == 1;
    if (one) f->item[axis] = read_all;
    f->v = read_of(q->r, f->v, f->ndim, f->item);
    if (f->v == VAR_NONE || !alone || one) return f->v != VAR_NONE;
    const Op *op = op_known(q->r->s, OP_EXPAND_DIMS);
    PropArg arg = {"axis", PROP_INTS(&to, 1)};
    f->v = rewriter_apply(q->r, op, props_make(q->r->s, op, 1, &arg), 1, &f->v);
    return f->v != VAR_NONE;
}

/* (a @ b)[i, j] is a[i] @ b[:, j], and so for each matrix of a batch. */
Var read_product(Read *q) {
    Rewriter *r = q->r;
    const Apply a = r->g->apply[q->of];
    ReadFactor left = {.v = read_input(q, 0)}, right = {.v = read_input(q, 1)};
    left.ndim = var_type(r->g, left.v)->ndim;
    right.ndim = var_type(r->g, right.v)->ndim;
    int na = left.ndim, nb = right.ndim, nbatch = q->t->ndim - (na > 1) - (nb > 1);
    read_batch(q, &left, nbatch);
    read_batch(q, &right, nbatch);
    left.item[na - 1] = read_all;
    right.item[nb > 1 ? nb - 2 : 0] = read_all;
    if (na > 1) left.item[na - 2] = q->item[nbatch];
    if (nb > 1) right.item[nb - 1] = q->item[nbatch + (na > 1)];
    bool row = left.open > 0 && right.open > 0 && left.item[na - 2].is_at,
         column = right.open > 0 && right.item[nb - 1].is_at;
    if (!read_factor(q, &left, 0, row) || !read_factor(q, &right, 1, column))
        return VAR_NONE;
    Var in[2] = {left.v, right.v}, v = rewriter_apply(r, a.op, a.props, 2, in);
    if (v == VAR_NONE || !(row || column)) return v;
    int ndim = var_type(r->g, v)->ndim;
    int64_t axes[2];
    size_t n = 0;
    if (row) axes[n++] = ndim - 1 - (var_type(r->g, right.v)->ndim > 1);
    if (column) axes[n++] = ndim - 1;
    const Op *op = op_known(r->s, OP_SQUEEZE);
    PropArg arg = {"axis", PROP_INTS(axes, n)};
    return rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 1, &v);
}
