/* The index of a read, axis by axis: from its text and back, and what is known of it.
 */
#include "rewrite/read/read.h"

bool read_takes_all(const ReadItem *it) {
    return !it->is_at && it->start == VAR_NONE && it->stop == VAR_NONE &&
           it->step == VAR_NONE && it->array == VAR_NONE;
}

const ReadItem read_all = {false, VAR_NONE, VAR_NONE, VAR_NONE, VAR_NONE, VAR_NONE};

int read_array_axis(const Read *q) {
    for (int k = 0; k < q->t->ndim; k++)
        if (q->item[k].array != VAR_NONE) return k;
    return -1;
}

static bool is_index_number(Rewriter *r, Var v) {
    const Type *t = var_type(r->g, v);
    return t->kind == TYPE_TENSOR && t->ndim == 0 && dtype_is_integer(t->dtype);
}

/* The only input of an index without other parts than `:`. */
static bool is_only_array(Rewriter *r, const IndexItems *ix, Var v) {
    const Type *t = var_type(r->g, v);
    for (int i = 0; i < ix->n; i++)
        if (ix->item[i].kind == IX_NEW) return false;
    return ix->inputs == 1 && t->kind == TYPE_TENSOR && t->ndim == 1 &&
           dtype_is_discrete(t->dtype);
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
        if (!is_index_number(r, in[i]) && !is_only_array(r, ix, in[i])) return false;
    for (int i = 0; i < ix->n; i++) {
        const IndexItem *it = &ix->item[i];
        if (it->kind == IX_NEW) {
            q->add[q->nadd++] = (uint8_t)q->nleft;
            continue;
        }
        for (int k = 0; it->kind == IX_ELLIPSIS && k < ndim - named; k++, q->nleft++)
            q->item[axis++] = read_all;
        if (it->kind == IX_ELLIPSIS) continue;
        ReadItem *to = &q->item[axis++];
        *to = read_all;
        to->is_at = it->kind == IX_INPUT && is_index_number(r, in[it->input]);
        if (to->is_at) {
            to->at = in[it->input];
            continue;
        }
        if (it->kind == IX_INPUT) {
            to->array = in[it->input];
            q->nleft++;
            continue;
        }
        to->start = part_of_read(in, it->start);
        to->stop = part_of_read(in, it->stop);
        to->step = part_of_read(in, it->step);
        q->nleft++;
    }
    while (axis < ndim) {
        q->item[axis++] = read_all;
        q->nleft++;
    }
    return true;
}

bool read_parse(Rewriter *r, ApplyId id, size_t first, Read *q) {
    const Apply *a = &r->g->apply[id];
    IndexItems ix;
    Var in[READ_INPUTS];
    if (a->nin > READ_INPUTS + first) return false;
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

static void put_item(Str *text, const ReadItem *it, Var *in, size_t *n) {
    if (it->is_at || it->array != VAR_NONE) {
        put_part(text, it->is_at ? it->at : it->array, in, n);
        return;
    }
    put_part(text, it->start, in, n);
    str_putc(text, ':');
    put_part(text, it->stop, in, n);
    if (it->step != VAR_NONE) str_putc(text, ':');
    put_part(text, it->step, in, n);
}

/* The text of an index, and its inputs. */
static Sym put_items(Rewriter *r, int n, const ReadItem *item, Var *in, size_t *nin) {
    Str text = STR(r->s);
    for (int i = 0; i < n; i++) {
        if (i) str_puts(&text, ", ");
        put_item(&text, &item[i], in, nin);
    }
    Sym index = sym(r->s, str_text(&text));
    str_free(&text);
    return index;
}

/* An array is the only part of its index: beside integers it would mean another order
 * of the axes, and after them it has less to gather. */
static Var read_array_last(Rewriter *r, Var y, int n, const ReadItem *item, int axis) {
    ReadItem first[MAX_NDIM], last[MAX_NDIM];
    int left = 0;
    for (int i = 0; i < n; i++) {
        first[i] = i == axis ? read_all : item[i];
        if (!first[i].is_at) last[left++] = i == axis ? item[i] : read_all;
    }
    y = read_of(r, y, n, first);
    return read_of(r, y, left, last);
}

Var read_of(Rewriter *r, Var y, int n, const ReadItem *item) {
    int axis = -1, parts = 0;
    while (n > 0 && read_takes_all(&item[n - 1]))
        n--;
    if (n == 0 || y == VAR_NONE) return y;
    for (int i = 0; i < n; i++) {
        parts += !read_takes_all(&item[i]);
        if (item[i].array != VAR_NONE) axis = i;
    }
    if (axis >= 0 && parts > 1) return read_array_last(r, y, n, item, axis);
    Var in[1 + 3 * MAX_NDIM] = {y};
    size_t nin = 1;
    Sym index = put_items(r, n, item, in, &nin);
    return apply_read(r, sym_text(r->s, index), nin, in);
}

Var read_write_of(Rewriter *r, const Apply *a, Var x, Var y, int n,
                  const ReadItem *item) {
    Var in[2 + 3 * MAX_NDIM] = {x, y};
    size_t nin = 2;
    while (n > 1 && read_takes_all(&item[n - 1]))
        n--;
    Sym index = put_items(r, n, item, in, &nin);
    return rewriter_with_prop(r, a, "index", PROP_STR(index), nin, in);
}

Var read_add_dims(const Read *q, Var v) {
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

ReadItem read_item_at(Rewriter *r, int64_t i) {
    ReadItem it = read_all;
    it.is_at = true;
    it.at = const_int(&r->b, i);
    rewriter_grow(r);
    return it;
}

int read_axes_before(const ReadItem *item, int axis) {
    int k = 0;
    for (int i = 0; i < axis; i++)
        k += !item[i].is_at;
    return k;
}

Var read_input(const Read *q, size_t i) {
    return rewriter_input(q->r, q->of, i);
}

bool read_constant_rows(const Read *q, int axis, int64_t *from, int64_t *to) {
    const ReadItem *it = &q->item[axis];
    int64_t size = q->t->dim[axis], start = 0, stop = size, step = 1;
    if (!dim_is_known(q->t->dim[axis]) || it->array != VAR_NONE) return false;
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

ReadItem read_item_slice(Rewriter *r, int64_t start, int64_t stop, int64_t size) {
    ReadItem it = read_all;
    if (start > 0) it.start = const_int(&r->b, start);
    if (stop < size) it.stop = const_int(&r->b, stop);
    rewriter_grow(r);
    return it;
}

bool read_is_safe(const Read *q) {
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
        if (it->array != VAR_NONE) return false;
    }
    return true;
}
