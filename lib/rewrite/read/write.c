/* Reads of what was written, and writes that change nothing or are written over. */
#include "rewrite/read/read.h"

static bool is_same_item(const ReadItem *a, const ReadItem *b) {
    return a->is_at == b->is_at && a->at == b->at && a->start == b->start &&
           a->stop == b->stop && a->step == b->step && a->array == b->array;
}

/* ---- rows ---- */

static bool constant_from_start(const Read *q, Var v, int64_t absent, int64_t *i) {
    *i = absent;
    return v == VAR_NONE || (rewriter_int_const(q->r, v, i) && *i >= 0);
}

/* Rows [from, to) of an axis, of whatever size: INT64_MAX is its end. */
static bool find_rows(const Read *q, int axis, int64_t *from, int64_t *to) {
    const ReadItem *it = &q->item[axis];
    if (read_constant_rows(q, axis, from, to)) return true;
    if (dim_is_known(q->t->dim[axis]) || it->step != VAR_NONE || it->array != VAR_NONE)
        return false;
    if (it->is_at) {
        bool known = constant_from_start(q, it->at, -1, from) && *from < INT64_MAX;
        *to = *from + known;
        return known;
    }
    return constant_from_start(q, it->start, 0, from) &&
           constant_from_start(q, it->stop, INT64_MAX, to) && *from < *to;
}

/* Do two reads of the same tensor take different rows of some axis? */
static bool is_apart(const Read *a, const Read *b) {
    int64_t from[2], to[2];
    for (int k = 0; k < a->t->ndim; k++)
        if (find_rows(a, k, &from[0], &to[0]) && find_rows(b, k, &from[1], &to[1]) &&
            (to[0] <= from[1] || to[1] <= from[0]))
            return true;
    return false;
}

/* ---- reads of what was written ---- */

/* What q takes, on this axis, of the value that w writes. */
static bool find_value_item(const Read *q, const Read *w, int axis, ReadItem *it) {
    const ReadItem *a = &q->item[axis], *b = &w->item[axis];
    int64_t from[2], to[2];
    *it = read_all;
    if (is_same_item(a, b)) return true;
    if (read_takes_all(b)) return *it = *a, true;
    if (!find_rows(q, axis, &from[0], &to[0]) || !find_rows(w, axis, &from[1], &to[1]))
        return false;
    if (from[0] < from[1] || to[0] > to[1]) return false;
    if (b->is_at) return a->is_at;
    int64_t first = from[0] - from[1], end = to[0];
    if (end != INT64_MAX) end -= from[1];
    *it = a->is_at ? read_item_at(q->r, first)
                   : read_item_slice(q->r, first, end,
                                     to[1] == INT64_MAX ? INT64_MAX : to[1] - from[1]);
    return true;
}

/* That of the value y, which is broadcast to what is written. An index that y doesn't
 * check must be known to be in range, unless x is read, too. */
static Var read_value(const Read *q, const Read *w, Var y, const Type *written,
                      bool checked) {
    Rewriter *r = q->r;
    const Type *t = var_type(r->g, y);
    ReadItem item[MAX_NDIM];
    int n = 0, lead = written->ndim - t->ndim;
    checked |= read_is_safe(q);
    for (int k = 0; k < q->t->ndim; k++) {
        if (!find_value_item(q, w, k, &item[n])) return VAR_NONE;
        n += !w->item[k].is_at;
    }
    for (int k = 0; k < n; k++) {
        bool stretched = k < lead || (t->dim[k - lead] == 1 && written->dim[k] != 1);
        if (!stretched) continue;
        if (item[k].is_at && !checked) return VAR_NONE;
        item[k] = item[k].is_at ? read_item_at(r, 0) : read_all;
    }
    return read_of(r, y, t->ndim, item + lead);
}

/* The type of what is written, before y is broadcast to it. */
static const Type *type_of_read(const Read *q) {
    Var v = read_of(q->r, q->x, q->t->ndim, q->item);
    return v == VAR_NONE ? NULL : var_type(q->r->g, v);
}

Var read_written(Read *q) {
    Rewriter *r = q->r;
    const Apply a = r->g->apply[q->of];
    Var y = read_input(q, 1);
    Read w;
    if (q->nadd || read_array_axis(q) >= 0) return VAR_NONE;
    if (!read_parse(r, q->of, 2, &w)) return read_diagonal_matrix(q);
    if (w.nadd || read_array_axis(&w) >= 0) return VAR_NONE;
    bool set = rw_is(r, &a, OP_SET_SUBTENSOR);
    const Type *written = type_of_read(&w);
    if (!written || !rewrite_dims_fit(var_type(r->g, y), written)) return VAR_NONE;
    if (is_apart(q, &w))
        return read_is_safe(&w) ? read_of(r, w.x, q->t->ndim, q->item) : VAR_NONE;
    if (set && !read_is_safe(&w)) return VAR_NONE;
    Var value = read_value(q, &w, y, written, !set);
    if (value == VAR_NONE) return VAR_NONE;
    if (set) return rewriter_fit(r, value, var_type(r->g, r->g->apply[q->id].out));
    Var pair[2] = {read_of(r, w.x, q->t->ndim, q->item), value};
    return pair[0] == VAR_NONE
               ? VAR_NONE
               : rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, pair);
}

/* ---- writes ---- */

/* Is v the very part of x that the write replaces? */
static bool is_part_of(const Read *w, Var v) {
    Read q;
    const Apply *a = rewriter_known_owner(w->r, v, OP_SUBTENSOR);
    if (!a || !read_parse(w->r, var_owner(w->r->g, v), 1, &q) || q.nadd || q.x != w->x)
        return false;
    for (int k = 0; k < w->t->ndim; k++)
        if (!is_same_item(&q.item[k], &w->item[k])) return false;
    return true;
}

/* x without the earlier write to the same part. */
static Var before_write(const Read *w) {
    Rewriter *r = w->r;
    Read v;
    if (!rewriter_known_owner(r, w->x, OP_SET_SUBTENSOR) &&
        !rewriter_known_owner(r, w->x, OP_INC_SUBTENSOR))
        return VAR_NONE;
    ApplyId id = var_owner(r->g, w->x);
    if (!rewriter_one_client(r, w->x) || !read_parse(r, id, 2, &v) || v.nadd)
        return VAR_NONE;
    for (int k = 0; k < w->t->ndim; k++)
        if (!is_same_item(&v.item[k], &w->item[k])) return VAR_NONE;
    const Type *written = type_of_read(&v);
    Var y = rewriter_input(r, id, 1);
    return written && rewrite_dims_fit(var_type(r->g, y), written) ? v.x : VAR_NONE;
}

/* ---- writes to parts of parts ---- */

/* x of zeros_like(x). */
static Var like_what(Rewriter *r, Var v) {
    return rewriter_known_owner(r, v, OP_ZEROS_LIKE)
               ? rewriter_input(r, var_owner(r->g, v), 0)
               : VAR_NONE;
}

/* Has y all dims of the part of x that w writes, as in gradients of reads of it? */
static bool is_whole_value(const Read *w, Var x, Var y) {
    Rewriter *r = w->r;
    Var part = read_of_part(r, x, w->t->ndim, w->item);
    if (part == VAR_NONE) return false;
    const Type *t = var_type(r->g, y), *to = var_type(r->g, part);
    if (t->ndim != to->ndim) return false;
    for (int k = 0; k < t->ndim; k++)
        if ((t->dim[k] == DIM_UNKNOWN || t->dim[k] != to->dim[k]) &&
            rewriter_size(r, y, k) != rewriter_size(r, part, k))
            return false;
    return true;
}

/* The part of the part, as w's items. False: not known, or no write has such an index:
 * one with an array has nothing else. */
static bool merge_part(Read *w, const Read *inner) {
    bool array = false;
    int parts = 0;
    for (int k = 0, at = 0; k < w->t->ndim; k++) {
        ReadItem *it = &w->item[k];
        if (!it->is_at) {
            ReadItem to = inner->item[at++];
            if (!read_merge_items(w, w->t->dim[k], it, &to)) return false;
            *it = to;
        }
        array |= it->array != VAR_NONE;
        parts += !read_takes_all(it);
    }
    return !array || parts == 1;
}

/* What is written to a part of zeros that are written to a part of others, as in the
 * gradient of a slice of a slice, or to a part of a part that is put back, is written
 * there at once. */
static Var write_once(Read *w) {
    Rewriter *r = w->r;
    const Apply a = r->g->apply[w->id];
    Var y = rewriter_input(r, w->id, 1), x = like_what(r, w->x);
    ApplyId id = var_owner(r->g, y);
    Read in;
    if (id == APPLY_NONE || !rewriter_one_client(r, y)) return VAR_NONE;
    const Apply b = r->g->apply[id];
    bool set = rw_is(r, &a, OP_SET_SUBTENSOR);
    if ((!rw_is(r, &b, OP_SET_SUBTENSOR) && !rw_is(r, &b, OP_INC_SUBTENSOR)) ||
        !read_parse(r, id, 2, &in) || in.nadd || w->t->dtype != in.t->dtype)
        return VAR_NONE;
    /* an array may name a place twice, where set and inc differ */
    bool arrays = read_array_axis(w) >= 0 || read_array_axis(&in) >= 0;
    bool back = set && read_array_axis(w) < 0 && is_part_of(w, in.x);
    bool zeros = x != VAR_NONE && like_what(r, in.x) != VAR_NONE &&
                 (!arrays || set == rw_is(r, &b, OP_SET_SUBTENSOR)) &&
                 is_whole_value(w, x, y);
    if ((!back && !zeros) || !merge_part(w, &in)) return VAR_NONE;
    rewriter_release(r, id);
    return read_write_of(r, back || set ? &b : &a, w->x, rewriter_input(r, id, 1),
                         w->t->ndim, w->item);
}

bool read_write_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    Read w;
    if (!read_parse(r, id, 2, &w) || w.nadd) return false;
    if ((out[0] = write_once(&w)) != VAR_NONE)
        return type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
    const Type *t = var_type(r->g, a.out);
    Var y = rewriter_input(r, id, 1), in[READ_INPUTS + 2];
    bool all = rewrite_dims_fit(var_type(r->g, y), t),
         set = rw_is(r, &a, OP_SET_SUBTENSOR);
    for (int k = 0; k < w.t->ndim; k++)
        all &= read_takes_all(&w.item[k]);
    if (!set && (!all || var_type(r->g, y)->dtype != t->dtype)) return false;
    if (all && set)
        out[0] = rewriter_fit(r, y, t);
    else if (all)
        out[0] = rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, (Var[]){w.x, y});
    else if (read_is_safe(&w) && is_part_of(&w, y))
        out[0] = w.x;
    else if ((in[0] = before_write(&w)) != VAR_NONE) {
        for (size_t i = 1; i < a.nin; i++)
            in[i] = rewriter_input(r, id, i);
        out[0] = rewriter_apply(r, a.op, a.props, a.nin, in);
    } else {
        return false;
    }
    return out[0] != VAR_NONE && type_keeps(t, var_type(r->g, out[0]));
}
