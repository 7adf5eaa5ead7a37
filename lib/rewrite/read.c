/* Reads are pushed to what is read: exp(x)[3] is exp(x[3]), (a @ b)[i] is a[i] @ b, and
 * x[2:][1:] is x[3:]. What is read is then computed no more than it is needed. It
 * happens only where nothing else uses the whole value, and where an index out of range
 * or shapes that don't fit are still errors. */
#include "rewrite/read.h"

/* ---- the index of a read ---- */

bool read_takes_all(const ReadItem *it) {
    return !it->is_at && it->start == VAR_NONE && it->stop == VAR_NONE &&
           it->step == VAR_NONE;
}

static const ReadItem all_items = {false, VAR_NONE, VAR_NONE, VAR_NONE, VAR_NONE};

static bool is_index_number(Rewriter *r, Var v) {
    const Type *t = var_type(r->g, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype);
}

static Var part_of_read(const Var *in, int i) {
    return i < 0 ? VAR_NONE : in[i];
}

/* The items of the index text for each axis of a tensor of ndim dims; the text for its
 * None items, if there are any. */
static bool spread_items(Rewriter *r, const IndexItems *ix, const Var *in, int ndim,
                         Read *q) {
    int named = 0, axis = 0;
    for (int i = 0; i < ix->n; i++)
        named += ix->item[i].kind == IX_SLICE || ix->item[i].kind == IX_INPUT;
    if (named > ndim) return false;
    for (int i = 0; i < ix->inputs; i++)
        if (!is_index_number(r, in[i])) return false;
    for (int i = 0; i < ix->n; i++) {
        const IndexItem *it = &ix->item[i];
        if (it->kind == IX_NEW) {
            q->add[q->nadd++] = (uint8_t)q->nleft;
            continue;
        }
        for (int k = 0; it->kind == IX_ELLIPSIS && k < ndim - named; k++, q->nleft++)
            q->item[axis++] = all_items;
        if (it->kind == IX_ELLIPSIS) continue;
        ReadItem *to = &q->item[axis++];
        *to = all_items;
        to->is_at = it->kind == IX_INPUT;
        if (to->is_at) {
            to->at = in[it->input];
            continue;
        }
        to->start = part_of_read(in, it->start);
        to->stop = part_of_read(in, it->stop);
        to->step = part_of_read(in, it->step);
        q->nleft++;
    }
    while (axis < ndim) {
        q->item[axis++] = all_items;
        q->nleft++;
    }
    return true;
}

enum { INDEX_INPUTS = 16 };

bool read_parse(Rewriter *r, ApplyId id, size_t first, Read *q) {
    const Apply *a = &r->g->apply[id];
    IndexItems ix;
    Var in[INDEX_INPUTS];
    if (a->nin > INDEX_INPUTS + first) return false;
    Var x = rewriter_input(r, id, 0);
    const Type *t = var_type(r->g, x);
    const char *text = sym_text(r->s, rewriter_prop(r, a, "index")->sym);
    if (t->kind != TYPE_TENSOR || !index_parse(text, &ix) ||
        (size_t)ix.inputs + first != a->nin)
        return false;
    for (int i = 0; i < ix.inputs; i++)
        in[i] = rewriter_input(r, id, first + (size_t)i);
    q->r = r;
    q->id = id;
    q->x = x;
    q->of = var_owner(r->g, x);
    q->t = t;
    q->nadd = q->nleft = 0;
    return spread_items(r, &ix, in, t->ndim, q);
}

static void put_part(Str *text, Var v, Var *in, size_t *n) {
    if (v == VAR_NONE) return;
    in[(*n)++] = v;
    str_putc(text, '$');
}

static Var apply_read(Rewriter *r, const char *index, size_t nin, const Var *in) {
    const Op *op = op_known(r->s, OP_SUBTENSOR);
    PropArg arg = {"index", PROP_STR(sym(r->s, index))};
    return rewriter_apply(r, op, props_make(r->s, op, 1, &arg), nin, in);
}

Var read_of(Rewriter *r, Var y, int n, const ReadItem *item) {
    while (n > 0 && read_takes_all(&item[n - 1]))
        n--;
    if (n == 0 || y == VAR_NONE) return y;
    Var in[1 + 3 * MAX_NDIM] = {y};
    size_t nin = 1;
    Str text = STR(r->s);
    for (int i = 0; i < n; i++) {
        if (i) str_puts(&text, ", ");
        if (item[i].is_at) {
            put_part(&text, item[i].at, in, &nin);
            continue;
        }
        put_part(&text, item[i].start, in, &nin);
        str_putc(&text, ':');
        put_part(&text, item[i].stop, in, &nin);
        if (item[i].step != VAR_NONE) str_putc(&text, ':');
        put_part(&text, item[i].step, in, &nin);
    }
    Var v = apply_read(r, str_text(&text), nin, in);
    str_free(&text);
    return v;
}

/* With the None items of the read, for which the ways through an op need not care. */
static Var add_new_dims(const Read *q, Var v) {
    if (v == VAR_NONE || q->nadd == 0) return v;
    Str text = STR(q->r->s);
    for (int axis = 0, k = 0; k < q->nadd || axis < q->nleft;) {
        if (text.n) str_puts(&text, ", ");
        bool add = k < q->nadd && q->add[k] == axis;
        str_puts(&text, add ? "None" : ":");
        k += add;
        axis += !add;
        if (k == q->nadd) break;
    }
    v = apply_read(q->r, str_text(&text), 1, &v);
    str_free(&text);
    return v;
}

static ReadItem item_at(Rewriter *r, int64_t i) {
    ReadItem it = all_items;
    it.is_at = true;
    it.at = const_int(&r->b, i);
    rewriter_grow(r);
    return it;
}

/* How many axes before `axis` are left after the read. */
static int rank_among_left(const ReadItem *item, int axis) {
    int k = 0;
    for (int i = 0; i < axis; i++)
        k += !item[i].is_at;
    return k;
}

/* An item for an axis of size 1 that selects all of it. */
static bool keeps_single(const Read *q, const ReadItem *it) {
    int64_t i;
    if (!it->is_at) return read_takes_all(it);
    return rewriter_int_const(q->r, it->at, &i) && (i == 0 || i == -1);
}

static Var input_of_read(const Read *q, size_t i) {
    return rewriter_input(q->r, q->of, i);
}

/* ---- elementwise ops ---- */

enum { ELEMWISE_INPUTS = 8, TINY = 64 };

/* The read of an operand that broadcasts to the result. */
static Var read_operand(const Read *q, Var v) {
    const Type *t = var_type(q->r->g, v);
    ReadItem item[MAX_NDIM];
    int lead = q->t->ndim - t->ndim;
    for (int k = 0; k < t->ndim; k++) {
        const ReadItem *it = &q->item[lead + k];
        bool stretched = t->dim[k] == 1 && q->t->dim[lead + k] != 1;
        item[k] = !stretched ? *it : it->is_at ? item_at(q->r, 0) : all_items;
    }
    return read_of(q->r, v, t->ndim, item);
}

static Var read_elemwise(Read *q) {
    const Apply a = q->r->g->apply[q->of];
    Var in[ELEMWISE_INPUTS];
    size_t arrays = 0;
    if (a.nin > ELEMWISE_INPUTS || a.nout != 1 || op_may_fail(q->r->g, q->of))
        return VAR_NONE;
    for (size_t i = 0; i < a.nin; i++)
        arrays += var_type(q->r->g, input_of_read(q, i))->ndim > 0;
    int64_t size = type_size(q->t);
    if (arrays > 1 && size >= 0 && size < TINY) return VAR_NONE; /* reads cost too */
    for (size_t i = 0; i < a.nin; i++) {
        in[i] = read_operand(q, input_of_read(q, i));
        if (in[i] == VAR_NONE) return VAR_NONE;
    }
    return rewriter_apply(q->r, a.op, a.props, a.nin, in);
}

/* Index arrays and masks as they are, where all but one operand are numbers and no more
 * is read than there is. */
static Var read_by_arrays(Rewriter *r, ApplyId id, ApplyId of) {
    const Apply a = r->g->apply[of], read = r->g->apply[id];
    const Type *out = var_type(r->g, read.out), *t = var_type(r->g, a.out);
    Var in[ELEMWISE_INPUTS], index[INDEX_INPUTS + 1];
    int array = -1;
    if (a.nin > ELEMWISE_INPUTS || read.nin > INDEX_INPUTS || op_may_fail(r->g, of))
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

static Var read_transpose(Read *q) {
    Rewriter *r = q->r;
    int n = q->t->ndim, left = 0;
    int64_t from[MAX_NDIM], axes[MAX_NDIM];
    ReadItem item[MAX_NDIM];
    rewriter_transpose_axes(r, &r->g->apply[q->of], n, from);
    for (int k = 0; k < n; k++)
        item[from[k]] = q->item[k];
    for (int k = 0; k < n; k++)
        if (!q->item[k].is_at) axes[left++] = rank_among_left(item, (int)from[k]);
    bool same = true, reverse = true;
    for (int k = 0; k < left; k++) {
        same &= axes[k] == k;
        reverse &= axes[k] == left - 1 - k;
    }
    Var y = read_of(r, input_of_read(q, 0), n, item);
    if (y == VAR_NONE || same) return y;
    Prop order = reverse ? (Prop){.kind = P_NONE} : PROP_INTS(axes, (size_t)left);
    return rewriter_with_prop(r, &r->g->apply[q->of], "axes", order, 1, &y);
}

static void mark_axes(const Prop *p, int ndim, bool *flag) {
    for (size_t i = 0; p->kind == P_INTS && i < p->ints.n; i++)
        flag[p->ints.p[i] < 0 ? p->ints.p[i] + ndim : p->ints.p[i]] = true;
}

static Var read_expanded(Read *q) {
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
            axes[left++] = rank_among_left(q->item, k);
    }
    Var y = read_of(r, input_of_read(q, 0), n, item);
    if (y == VAR_NONE || left == 0) return y;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis",
                              PROP_INTS(axes, (size_t)left), 1, &y);
}

static Var read_squeezed(Read *q) {
    Rewriter *r = q->r;
    const Prop *p = rewriter_prop(r, &r->g->apply[q->of], "axis");
    int ndim = var_type(r->g, input_of_read(q, 0))->ndim, n = 0;
    size_t left = 0;
    bool gone[MAX_NDIM] = {false};
    ReadItem item[MAX_NDIM];
    int64_t axes[MAX_NDIM];
    if (p->kind != P_INTS) return VAR_NONE;
    mark_axes(p, ndim, gone);
    for (int k = 0; k < ndim; k++)
        item[k] = gone[k] ? all_items : q->item[n++];
    for (int k = 0; k < ndim; k++)
        if (gone[k]) axes[left++] = rank_among_left(item, k);
    Var y = read_of(r, input_of_read(q, 0), ndim, item);
    if (y == VAR_NONE) return VAR_NONE;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis", PROP_INTS(axes, left), 1,
                              &y);
}

/* ---- joined tensors ---- */

/* Do the types prove that all parts have the same other dims? */
static bool parts_agree(const Read *q, int axis) {
    const Apply *a = &q->r->g->apply[q->of];
    const Type *first = var_type(q->r->g, input_of_read(q, 0));
    for (size_t i = 0; i < a->nin; i++) {
        const Type *t = var_type(q->r->g, input_of_read(q, i));
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
        in[i] = read_of(r, input_of_read(q, i), q->t->ndim - lead, item);
        if (in[i] == VAR_NONE) return VAR_NONE;
    }
    return rewriter_with_prop(r, &a, "axis", PROP_INT(rank_among_left(q->item, axis)),
                              a.nin, in);
}

/* Rows [from, to) of the axis as constants; a single one for an integer. */
static bool constant_rows(const Read *q, int axis, int64_t *from, int64_t *to) {
    const ReadItem *it = &q->item[axis];
    int64_t size = q->t->dim[axis], start = 0, stop = size, step = 1;
    if (!dim_is_known(q->t->dim[axis])) return false;
    if (it->is_at) {
        if (!rewriter_int_const(q->r, it->at, from)) return false;
        if (*from < 0) *from += size;
        *to = *from + 1;
        return *from >= 0 && *from < size;
    }
    if ((it->start != VAR_NONE && !rewriter_int_const(q->r, it->start, &start)) ||
        (it->stop != VAR_NONE && !rewriter_int_const(q->r, it->stop, &stop)) ||
        (it->step != VAR_NONE && !rewriter_int_const(q->r, it->step, &step)) ||
        step != 1)
        return false;
    Slice s = slice_of(size, true, start, true, stop, 1);
    *from = s.start;
    *to = s.start + s.length;
    return s.length > 0;
}

static ReadItem item_slice(Rewriter *r, int64_t start, int64_t stop, int64_t size) {
    ReadItem it = all_items;
    if (start > 0) it.start = const_int(&r->b, start);
    if (stop < size) it.stop = const_int(&r->b, stop);
    rewriter_grow(r);
    return it;
}

static Var read_concatenated(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Prop *p = rewriter_prop(r, a, "axis");
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i);
    int64_t from, to, at = 0;
    if (!parts_agree(q, axis)) return VAR_NONE;
    if (read_takes_all(&q->item[axis])) return read_each_part(q, axis, 0);
    if (!constant_rows(q, axis, &from, &to)) return VAR_NONE;
    for (size_t i = 0; i < a->nin; i++) {
        Var part = input_of_read(q, i);
        Dim size = var_type(r->g, part)->dim[axis];
        if (!dim_is_known(size) || from < at) return VAR_NONE;
        if (from >= at + size) {
            at += size;
            continue;
        }
        if (to > at + size) return VAR_NONE;
        ReadItem *it = &q->item[axis];
        *it =
            it->is_at ? item_at(r, from - at) : item_slice(r, from - at, to - at, size);
        return read_of(r, part, q->t->ndim, q->item);
    }
    return VAR_NONE;
}

static Var read_stacked(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Prop *p = rewriter_prop(r, a, "axis");
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i), n = 0;
    ReadItem item[MAX_NDIM];
    int64_t from, to;
    if (!parts_agree(q, -1)) return VAR_NONE;
    if (read_takes_all(&q->item[axis])) return read_each_part(q, axis, 1);
    if (!q->item[axis].is_at || !constant_rows(q, axis, &from, &to)) return VAR_NONE;
    for (int k = 0; k < q->t->ndim; k++)
        if (k != axis) item[n++] = q->item[k];
    return read_of(r, input_of_read(q, (size_t)from), n, item);
}

/* ---- repeated values ---- */

/* Can the read of a tensor of type t not fail, whatever its named dims are? */
static bool read_is_safe(const Read *q) {
    int64_t i;
    for (int k = 0; k < q->t->ndim; k++) {
        const ReadItem *it = &q->item[k];
        Dim size = q->t->dim[k];
        if (it->is_at &&
            (!dim_is_known(size) || !rewriter_int_const(q->r, it->at, &i) ||
             i >= size || i < -size))
            return false;
        if (it->step != VAR_NONE && (!rewriter_int_const(q->r, it->step, &i) || i == 0))
            return false;
    }
    return true;
}

static bool has_all_dims(const Type *t) {
    for (int k = 0; k < t->ndim; k++)
        if (t->dim[k] == DIM_UNKNOWN) return false;
    return true;
}

/* broadcast_to, full, full_like, zeros_like, ones_like. */
static Var read_repeated(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Type *t = var_type(r->g, r->g->apply[q->id].out);
    bool zeros = rw_is(r, a, OP_ZEROS_LIKE), ones = rw_is(r, a, OP_ONES_LIKE);
    if (q->nadd || !read_is_safe(q) || !has_all_dims(q->t) || !has_all_dims(t))
        return VAR_NONE;
    if (zeros || ones) {
        Var v = const_number(&r->b, t->dtype, ones);
        rewriter_grow(r);
        return rewriter_fit(r, v, t);
    }
    Var value =
        input_of_read(q, rw_is(r, a, OP_FULL) || rw_is(r, a, OP_FULL_LIKE) ? 1 : 0);
    if (!rewrite_dims_fit(var_type(r->g, value), q->t)) return VAR_NONE;
    value = read_operand(q, value);
    return value == VAR_NONE ? VAR_NONE : rewriter_fit(r, value, t);
}

/* An element of start, start + step, .. by its number. */
static Var read_counting(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    int64_t at, to, start = 0, step = 1;
    static const int64_t most = INT64_MAX / 2;
    if (!q->item[0].is_at || !dtype_is_integer(q->t->dtype) ||
        !constant_rows(q, 0, &at, &to) ||
        (a->nin > 1 && !rewriter_int_const(r, input_of_read(q, 0), &start)) ||
        (a->nin > 2 && !rewriter_int_const(r, input_of_read(q, 2), &step)) ||
        !i64_mul(at, step, &at) || at > most || at < -most || start > most ||
        start < -most)
        return VAR_NONE;
    Var v = op_cast_to(&r->b, const_int(&r->b, start + at), q->t->dtype);
    rewriter_grow(r);
    return v;
}

/* ---- what works along one axis, or sums over some ---- */

static Var read_softmax(Read *q) {
    Rewriter *r = q->r;
    const Prop *p = rewriter_prop(r, &r->g->apply[q->of], "axis");
    if (p->kind != P_INT) return VAR_NONE;
    int axis = (int)(p->i < 0 ? p->i + q->t->ndim : p->i);
    if (!read_takes_all(&q->item[axis])) return VAR_NONE;
    Var y = read_of(r, input_of_read(q, 0), q->t->ndim, q->item);
    if (y == VAR_NONE) return VAR_NONE;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis",
                              PROP_INT(rank_among_left(q->item, axis)), 1, &y);
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

static Var read_reduced(Read *q) {
    Rewriter *r = q->r;
    const Apply *a = &r->g->apply[q->of];
    const Prop *p = rewriter_prop(r, a, "axis");
    Var x = input_of_read(q, 0);
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
        item[k] = gone[k] ? all_items : q->item[at];
        at += !gone[k] || kept;
    }
    for (int k = 0; k < ndim; k++)
        if (gone[k]) axes[n++] = rank_among_left(item, k);
    Var y = read_of(r, x, ndim, item);
    if (y == VAR_NONE) return VAR_NONE;
    return rewriter_with_prop(r, &r->g->apply[q->of], "axis", PROP_INTS(axes, n), 1,
                              &y);
}

/* ---- products ---- */

/* (a @ b)[i, j] is a[i] @ b[:, j]; the read of a batch is that of its operand. */
static Var read_product(Read *q) {
    Rewriter *r = q->r;
    const Apply a = r->g->apply[q->of];
    Var in[2] = {input_of_read(q, 0), input_of_read(q, 1)};
    int na = var_type(r->g, in[0])->ndim, nb = var_type(r->g, in[1])->ndim,
        nbatch = q->t->ndim - (na > 1) - (nb > 1), open = 0;
    ReadItem left[MAX_NDIM], right[MAX_NDIM], *batch = na > 2 ? left : right;
    if (na > 2 && nb > 2) return VAR_NONE;
    for (int k = 0; k < nbatch; k++) {
        batch[k] = q->item[k];
        open += !q->item[k].is_at;
    }
    left[na - 1] = all_items;
    right[nb > 1 ? nb - 2 : 0] = all_items;
    if (na > 1) left[na - 2] = q->item[nbatch];
    if (nb > 1) right[nb - 1] = q->item[nbatch + (na > 1)];
    /* a batch of vectors on the right is no operand of matmul */
    if (nb > 2 && open > 0 && right[nb - 1].is_at) return VAR_NONE;
    in[0] = read_of(r, in[0], na, left);
    in[1] = read_of(r, in[1], nb, right);
    if (in[0] == VAR_NONE || in[1] == VAR_NONE) return VAR_NONE;
    return rewriter_apply(r, a.op, a.props, 2, in);
}

/* ---- slices of slices ---- */

/* A part of a slice: a constant, or left out. */
static bool constant_part(const Read *q, Var v, int64_t absent, int64_t *i) {
    *i = absent;
    return v == VAR_NONE || rewriter_int_const(q->r, v, i);
}

typedef struct ConstSlice {
    int64_t start, stop, step;
} ConstSlice;

static bool constant_slice(const Read *q, const ReadItem *it, ConstSlice *s) {
    return constant_part(q, it->start, 0, &s->start) &&
           constant_part(q, it->stop, INT64_MAX, &s->stop) &&
           constant_part(q, it->step, 1, &s->step) && s->step != 0;
}

static Slice clip_slice(const ReadItem *it, const ConstSlice *s, int64_t size) {
    return slice_of(size, it->start != VAR_NONE, s->start, it->stop != VAR_NONE,
                    s->stop, s->step);
}

static ReadItem item_strided(Rewriter *r, Slice s, int64_t size) {
    int64_t last = s.start + (s.length - 1) * s.step;
    if (s.length == 0) return item_slice(r, 0, 0, size);
    if (s.step == 1) return item_slice(r, s.start, last + 1, size);
    ReadItem it = all_items;
    int64_t start = s.step > 0 ? 0 : size - 1, stop = s.step > 0 ? last + 1 : last - 1;
    it.step = const_int(&r->b, s.step);
    if (s.start != start) it.start = const_int(&r->b, s.start);
    if (s.step > 0 ? stop + s.step - 1 < size : stop >= 0)
        it.stop = const_int(&r->b, stop);
    rewriter_grow(r);
    return it;
}

/* `item` of what `inner` takes of a dim of known size. */
static bool merge_sized(const Read *q, int64_t size, const ReadItem *inner,
                        ReadItem *item) {
    ConstSlice a, b;
    int64_t i, step;
    if (!constant_slice(q, inner, &a)) return false;
    Slice s = clip_slice(inner, &a, size);
    if (item->is_at) {
        if (!rewriter_int_const(q->r, item->at, &i) || i >= s.length || i < -s.length)
            return false;
        *item = item_at(q->r, s.start + (i < 0 ? i + s.length : i) * s.step);
        return true;
    }
    if (!constant_slice(q, item, &b)) return false;
    Slice of = clip_slice(item, &b, s.length);
    if (!i64_mul(s.step, of.step, &step)) return false;
    *item = item_strided(
        q->r, (Slice){s.start + of.start * s.step, of.length > 1 ? step : 1, of.length},
        size);
    return true;
}

enum { LARGE_PART = 1 << 30 };

static bool in_order(int64_t low, int64_t high) {
    return low >= 0 && low < LARGE_PART && (high == INT64_MAX || high < LARGE_PART);
}

/* The same of a dim whose size only a run knows: x[a:b] with a and b from 0 on, or to
 * the end, or x[::-1]. */
static bool merge_open(const Read *q, const ReadItem *inner, ReadItem *item) {
    ConstSlice a, b;
    int64_t i = 0;
    if (!constant_slice(q, inner, &a)) return false;
    bool turned = a.step == -1 && inner->start == VAR_NONE && inner->stop == VAR_NONE;
    if (item->is_at && !rewriter_int_const(q->r, item->at, &i)) return false;
    if (turned && item->is_at) {
        *item = item_at(q->r, -1 - i);
        return true;
    }
    if (!constant_slice(q, item, &b)) return false;
    if (turned && b.step == -1 && item->start == VAR_NONE && item->stop == VAR_NONE) {
        *item = all_items;
        return true;
    }
    if (a.step != 1 || !in_order(a.start, a.stop) || a.stop < 0) return false;
    if (item->is_at) {
        if (!in_order(i, 0) || a.start + i >= a.stop) return false;
        *item = item_at(q->r, a.start + i);
        return true;
    }
    if (b.step < 1 || !in_order(b.start, b.stop) || b.stop < 0) return false;
    ReadItem merged = all_items;
    int64_t start = a.start + b.start,
            stop = b.stop == INT64_MAX ? a.stop : a.start + b.stop;
    if (stop > a.stop) stop = a.stop;
    if (start) merged.start = const_int(&q->r->b, start);
    if (stop != INT64_MAX) merged.stop = const_int(&q->r->b, stop);
    merged.step = item->step;
    rewriter_grow(q->r);
    *item = merged;
    return true;
}

static Var read_read(Read *q) {
    Read in;
    if (!read_parse(q->r, q->of, 1, &in) || in.nadd) return VAR_NONE;
    for (int k = 0, at = 0; k < in.t->ndim; k++) {
        ReadItem *inner = &in.item[k];
        if (inner->is_at) continue;
        ReadItem *item = &q->item[at++];
        if (read_takes_all(item)) continue;
        bool merged =
            read_takes_all(inner) ||
            (dim_is_known(in.t->dim[k]) ? merge_sized(q, in.t->dim[k], inner, item)
                                        : merge_open(q, inner, item));
        if (!merged) return VAR_NONE;
        *inner = *item;
    }
    return read_of(q->r, in.x, in.t->ndim, in.item);
}

/* ---- reads of what was written ---- */

static bool is_same_item(const ReadItem *a, const ReadItem *b) {
    return a->is_at == b->is_at && a->at == b->at && a->start == b->start &&
           a->stop == b->stop && a->step == b->step;
}

/* Do two reads of the same tensor take different rows of some axis? */
static bool is_apart(const Read *a, const Read *b) {
    int64_t from[2], to[2];
    for (int k = 0; k < a->t->ndim; k++)
        if (constant_rows(a, k, &from[0], &to[0]) &&
            constant_rows(b, k, &from[1], &to[1]) &&
            (to[0] <= from[1] || to[1] <= from[0]))
            return true;
    return false;
}

/* The type of what is written, before y is broadcast to it. */
static const Type *type_of_read(const Read *q, int n, const ReadItem *item) {
    Var v = read_of(q->r, q->x, n, item);
    return v == VAR_NONE ? NULL : var_type(q->r->g, v);
}

static Var read_written(Read *q) {
    Rewriter *r = q->r;
    const Apply a = r->g->apply[q->of];
    const Type *t = var_type(r->g, r->g->apply[q->id].out);
    Var y = input_of_read(q, 1);
    Read w;
    if (q->nadd || !read_parse(r, q->of, 2, &w) || w.nadd) return VAR_NONE;
    bool same = true, set = rw_is(r, &a, OP_SET_SUBTENSOR);
    for (int k = 0; k < q->t->ndim; k++)
        same &= is_same_item(&q->item[k], &w.item[k]);
    if (same && !set) {
        if (!rewrite_dims_fit(var_type(r->g, y), t)) return VAR_NONE;
        Var in[2] = {read_of(r, w.x, w.t->ndim, w.item), y};
        return in[0] == VAR_NONE
                   ? VAR_NONE
                   : rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, in);
    }
    if (!read_is_safe(&w)) return VAR_NONE;
    if (same)
        return rewrite_dims_fit(var_type(r->g, y), t) ? rewriter_fit(r, y, t)
                                                      : VAR_NONE;
    const Type *written = is_apart(q, &w) ? type_of_read(&w, w.t->ndim, w.item) : NULL;
    if (!written || !rewrite_dims_fit(var_type(r->g, y), written)) return VAR_NONE;
    return read_of(r, w.x, q->t->ndim, q->item);
}

/* ---- x[:, None] ---- */

bool read_none_pass(Rewriter *r, ApplyId id, Var *out) {
    Read q;
    int64_t axes[ITEMS_MAX];
    if (r->g->apply[id].nin != 1 || !read_parse(r, id, 1, &q) || q.nadd == 0)
        return false;
    for (int k = 0; k < q.nadd; k++)
        axes[k] = q.add[k] + k;
    const Op *op = op_known(r->s, OP_EXPAND_DIMS);
    PropArg arg = {"axis", PROP_INTS(axes, (size_t)q.nadd)};
    out[0] = rewriter_apply(r, op, props_make(r->s, op, 1, &arg), 1, &q.x);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, out[0]));
}

/* ---- the passes ---- */

/* In the body of a loop the index may change from step to step, while what is read is
 * computed once, before the loop. */
static bool index_stays(Rewriter *r, ApplyId id) {
    if (r->g == r->g->main) return true;
    for (size_t i = 1; i < r->g->apply[id].nin; i++)
        if (!var_is_const(r->g, rewriter_input(r, id, i))) return false;
    return true;
}

void rewriter_release(Rewriter *r, ApplyId a) {
    if (!r->uses_matter || !(r->state[a] & COUNTED)) return;
    r->state[a] &= (uint8_t)~COUNTED;
    for (size_t i = 0; i < r->g->apply[a].nin; i++)
        r->uses[rewriter_input(r, a, i)]--;
}

typedef Var ReadWay(Read *q);
typedef struct ReadRow {
    KnownOp op;
    ReadWay *way;
} ReadRow;

static bool push_read(Rewriter *r, ApplyId id, size_t n, const ReadRow *row,
                      bool shared, Var *out) {
    Read q;
    Var x = rewriter_input(r, id, 0);
    ApplyId of = var_owner(r->g, x);
    ReadWay *way = NULL;
    if (of == APPLY_NONE || (!shared && r->uses[x] > 1)) return false;
    const Apply *a = &r->g->apply[of];
    if (a->serial || a->nout != 1) return false;
    if (a->op->elemwise && !shared) way = read_elemwise;
    for (size_t i = 0; i < n; i++)
        if (rw_is(r, a, row[i].op)) way = row[i].way;
    if (!way || !index_stays(r, id)) return false;
    Var v = VAR_NONE;
    if (read_parse(r, id, 1, &q))
        v = add_new_dims(&q, way(&q));
    else if (way == read_elemwise)
        v = read_by_arrays(r, id, of);
    if (v == VAR_NONE ||
        !type_keeps(var_type(r->g, r->g->apply[id].out), var_type(r->g, v)))
        return false;
    if (r->uses[x] <= 1) rewriter_release(r, of);
    out[0] = v;
    return true;
}

bool read_exact_pass(Rewriter *r, ApplyId id, Var *out) {
    static const ReadRow row[] = {{OP_TRANSPOSE, read_transpose},
                                  {OP_EXPAND_DIMS, read_expanded},
                                  {OP_SQUEEZE, read_squeezed},
                                  {OP_CONCATENATE, read_concatenated},
                                  {OP_STACK, read_stacked},
                                  {OP_ARANGE, read_counting},
                                  {OP_BROADCAST_TO, read_repeated},
                                  {OP_FULL, read_repeated},
                                  {OP_FULL_LIKE, read_repeated},
                                  {OP_ZEROS_LIKE, read_repeated},
                                  {OP_ONES_LIKE, read_repeated},
                                  {OP_MAX, read_reduced},
                                  {OP_MIN, read_reduced},
                                  {OP_ANY, read_reduced},
                                  {OP_ALL, read_reduced}};
    return push_read(r, id, sizeof row / sizeof *row, row, false, out);
}

bool read_rounded_pass(Rewriter *r, ApplyId id, Var *out) {
    static const ReadRow row[] = {
        {OP_MATMUL, read_product},  {OP_SUM, read_reduced},
        {OP_PROD, read_reduced},    {OP_MEAN, read_reduced},
        {OP_SOFTMAX, read_softmax}, {OP_LOG_SOFTMAX, read_softmax}};
    return push_read(r, id, sizeof row / sizeof *row, row, false, out);
}

bool read_merge_pass(Rewriter *r, ApplyId id, Var *out) {
    static const ReadRow row[] = {{OP_SUBTENSOR, read_read},
                                  {OP_SET_SUBTENSOR, read_written},
                                  {OP_INC_SUBTENSOR, read_written}};
    return push_read(r, id, sizeof row / sizeof *row, row, true, out);
}
