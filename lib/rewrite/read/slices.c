/* Slices of slices. */
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

/* A slice of a dim whose size n only a run knows, from its first element on or, turned,
 * from its last one back: elements start, start + step, .. before `stop`, which if it
 * is negative counts from n. */
typedef struct OpenSlice {
    bool turned;
    int64_t start, stop, step; /* start >= 0, step > 0; INT64_MAX: no stop */
} OpenSlice;

enum { LARGE_PART = 1 << 30 };

static bool is_small(int64_t i) {
    return i > -LARGE_PART && i < LARGE_PART;
}

static bool open_slice(const Read *q, const ReadItem *it, OpenSlice *o) {
    ConstSlice c;
    if (it->array != VAR_NONE || !constant_slice(q, it, &c)) return false;
    bool ends = it->stop != VAR_NONE;
    *o = (OpenSlice){.turned = c.step < 0, .stop = INT64_MAX};
    if (!is_small(c.start) || !is_small(c.step) || (ends && !is_small(c.stop)))
        return false;
    o->step = o->turned ? -c.step : c.step;
    o->start = o->turned && it->start != VAR_NONE ? -1 - c.start : c.start;
    if (ends) o->stop = o->turned ? -1 - c.stop : c.stop;
    return o->start >= 0;
}

/* The same elements from the last one back. It must be known which that is. */
static bool turn_slice(OpenSlice *o) {
    if (o->step != 1 || (o->stop >= 0 && o->stop != INT64_MAX)) return false;
    int64_t start = o->stop == INT64_MAX ? 0 : -o->stop;
    o->stop = o->start ? -o->start : INT64_MAX;
    o->start = start;
    o->turned = !o->turned;
    return true;
}

/* `outer` of what `o` takes. */
static bool cut_slice(OpenSlice *o, const OpenSlice *outer) {
    if (outer->turned && !turn_slice(o)) return false;
    bool ends = outer->stop != INT64_MAX;
    int64_t stop = o->stop;
    if (ends && outer->stop < 0) {
        if (o->step != 1 || (stop >= 0 && stop != INT64_MAX)) return false;
        stop = outer->stop + (stop == INT64_MAX ? 0 : stop);
    } else if (ends) {
        if (stop < 0) return false;
        int64_t to = o->start + o->step * outer->stop;
        stop = to < stop ? to : stop;
    }
    o->start += o->step * outer->start;
    o->step *= outer->step;
    o->stop = stop;
    return is_small(o->start) && is_small(o->step) &&
           (stop == INT64_MAX || is_small(stop));
}

/* Element i of what it takes, if no other check of i is lost. */
static bool open_element(const OpenSlice *o, int64_t i, int64_t *at) {
    bool ends = o->stop != INT64_MAX;
    if (!is_small(i)) return false;
    if (i < 0) {
        if (ends || o->start > 0 || o->step > 1) return false;
        *at = o->turned ? -1 - i : i;
        return true;
    }
    int64_t k = o->start + o->step * i;
    if (!is_small(k) || (ends && k >= o->stop)) return false;
    *at = o->turned ? -1 - k : k;
    return true;
}

static ReadItem open_item(Rewriter *r, const OpenSlice *o) {
    ReadItem it = read_all;
    if (o->start) it.start = const_int(&r->b, o->turned ? -1 - o->start : o->start);
    if (o->stop != INT64_MAX)
        it.stop = const_int(&r->b, o->turned ? -1 - o->stop : o->stop);
    if (o->turned || o->step > 1)
        it.step = const_int(&r->b, o->turned ? -o->step : o->step);
    rewriter_grow(r);
    return it;
}

static bool merge_open(const Read *q, const ReadItem *inner, ReadItem *item) {
    OpenSlice o, outer;
    int64_t i;
    if (!open_slice(q, inner, &o)) return false;
    if (item->is_at) {
        if (!rewriter_int_const(q->r, item->at, &i) || !open_element(&o, i, &i))
            return false;
        *item = read_item_at(q->r, i);
        return true;
    }
    if (!open_slice(q, item, &outer) || !cut_slice(&o, &outer)) return false;
    *item = open_item(q->r, &o);
    return true;
}

/* ---- bounds that a run computes ---- */

/* Sizes and parts of them, such as n // 2: neither negative nor so large that sums of
 * two could wrap. */
static bool is_size(Rewriter *r, Var v, int depth) {
    enum { DEPTH = 4 };
    int64_t i;
    if (rewriter_int_const(r, v, &i)) return i >= 0 && is_small(i);
    if (var_type(r->g, v)->dtype != DT_INT64 || depth > DEPTH) return false;
    if (var_leaf(r->g, v) == LEAF_DIM) return true;
    ApplyId id = var_owner(r->g, v);
    if (rewriter_known_owner(r, v, OP_SHAPE_I)) return true;
    if (rewriter_known_owner(r, v, OP_MINIMUM))
        return is_size(r, rewriter_input(r, id, 0), depth + 1) &&
               is_size(r, rewriter_input(r, id, 1), depth + 1);
    return rewriter_known_owner(r, v, OP_FLOOR_DIVIDE) &&
           rewriter_int_const(r, rewriter_input(r, id, 1), &i) && i > 0 &&
           is_size(r, rewriter_input(r, id, 0), depth + 1);
}

static Var sum_of_sizes(Rewriter *r, Var a, Var b) {
    Var pair[2] = {a, b};
    return rewriter_apply(r, op_known(r->s, OP_ADD), NULL, 2, pair);
}

/* x[a:][b:] and x[a:][b]. */
static bool merge_sizes(const Read *q, const ReadItem *inner, ReadItem *item) {
    Rewriter *r = q->r;
    if (inner->start == VAR_NONE || inner->stop != VAR_NONE ||
        inner->step != VAR_NONE || item->array != VAR_NONE || item->step != VAR_NONE ||
        !is_size(r, inner->start, 0))
        return false;
    Var *part[] = {&item->at, &item->start, &item->stop};
    for (size_t k = 0; k < 3; k++)
        if (*part[k] != VAR_NONE && !is_size(r, *part[k], 0)) return false;
    for (size_t k = 0; k < 3; k++)
        if (*part[k] != VAR_NONE) *part[k] = sum_of_sizes(r, inner->start, *part[k]);
    if (!item->is_at && item->start == VAR_NONE) item->start = inner->start;
    return true;
}

/* `item` of what `inner` takes of a dim of this size. */
static bool merge_items(const Read *q, Dim size, const ReadItem *inner,
                        ReadItem *item) {
    if (read_takes_all(inner)) return true;
    if (inner->array != VAR_NONE || item->array != VAR_NONE) return false;
    if (dim_is_known(size) && merge_sized(q, size, inner, item)) return true;
    return (!dim_is_known(size) && merge_open(q, inner, item)) ||
           merge_sizes(q, inner, item);
}

Var read_read(Read *q) {
    Read in;
    if (!read_parse(q->r, q->of, 1, &in) || in.nadd) return VAR_NONE;
    for (int k = 0, at = 0; k < in.t->ndim; k++) {
        ReadItem *inner = &in.item[k];
        if (inner->is_at) continue;
        ReadItem *item = &q->item[at++];
        if (read_takes_all(item)) continue;
        if (!merge_items(q, in.t->dim[k], inner, item)) return VAR_NONE;
        *inner = *item;
    }
    return read_of(q->r, in.x, in.t->ndim, in.item);
}
