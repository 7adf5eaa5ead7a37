/* Slices of slices, and reads of what was written. */
#include "rewrite/read/read.h"

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
    if (s.length == 0) return read_item_slice(r, 0, 0, size);
    if (s.step == 1) return read_item_slice(r, s.start, last + 1, size);
    ReadItem it = read_all;
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
        *item = read_item_at(q->r, s.start + (i < 0 ? i + s.length : i) * s.step);
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
        *item = read_item_at(q->r, -1 - i);
        return true;
    }
    if (!constant_slice(q, item, &b)) return false;
    if (turned && b.step == -1 && item->start == VAR_NONE && item->stop == VAR_NONE) {
        *item = read_all;
        return true;
    }
    if (a.step != 1 || !in_order(a.start, a.stop) || a.stop < 0) return false;
    if (item->is_at) {
        if (!in_order(i, 0) || a.start + i >= a.stop) return false;
        *item = read_item_at(q->r, a.start + i);
        return true;
    }
    if (b.step < 1 || !in_order(b.start, b.stop) || b.stop < 0) return false;
    ReadItem merged = read_all;
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

Var read_read(Read *q) {
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
        if (read_constant_rows(a, k, &from[0], &to[0]) &&
            read_constant_rows(b, k, &from[1], &to[1]) &&
            (to[0] <= from[1] || to[1] <= from[0]))
            return true;
    return false;
}

/* The type of what is written, before y is broadcast to it. */
static const Type *type_of_read(const Read *q, int n, const ReadItem *item) {
    Var v = read_of(q->r, q->x, n, item);
    return v == VAR_NONE ? NULL : var_type(q->r->g, v);
}

Var read_written(Read *q) {
    Rewriter *r = q->r;
    const Apply a = r->g->apply[q->of];
    const Type *t = var_type(r->g, r->g->apply[q->id].out);
    Var y = read_input(q, 1);
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
