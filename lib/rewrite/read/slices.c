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

/* Sizes and parts of them, such as n // 2 or n + 1: neither negative nor so large that
 * sums of two could wrap. */
static bool is_size(Rewriter *r, Var v, int depth) {
    enum { DEPTH = 4 };
    int64_t i;
    if (rewriter_int_const(r, v, &i)) return i >= 0 && is_small(i);
    if (var_type(r->g, v)->dtype != DT_INT64 || depth > DEPTH) return false;
    if (var_leaf(r->g, v) == LEAF_DIM) return true;
    ApplyId id = var_owner(r->g, v);
    if (rewriter_known_owner(r, v, OP_SHAPE_I)) return true;
    if (rewriter_known_owner(r, v, OP_MINIMUM) ||
        rewriter_known_owner(r, v, OP_MAXIMUM))
        return is_size(r, rewriter_input(r, id, 0), depth + 1) &&
               is_size(r, rewriter_input(r, id, 1), depth + 1);
    if (rewriter_known_owner(r, v, OP_ADD)) {
        Var a = rewriter_input(r, id, 0), b = rewriter_input(r, id, 1);
        return (rewriter_int_const(r, a, &i) || rewriter_int_const(r, b, &i)) &&
               is_size(r, a, depth + 1) && is_size(r, b, depth + 1);
    }
    return rewriter_known_owner(r, v, OP_FLOOR_DIVIDE) &&
           rewriter_int_const(r, rewriter_input(r, id, 1), &i) && i > 0 &&
           is_size(r, rewriter_input(r, id, 0), depth + 1);
}

static bool is_size_or_none(Rewriter *r, Var v) {
    return v == VAR_NONE || is_size(r, v, 0);
}

static Var of_sizes(Rewriter *r, KnownOp op, Var a, Var b) {
    Var pair[2] = {a, b};
    return rewriter_apply(r, op_known(r->s, op), NULL, 2, pair);
}

/* v as what isn't constant, VAR_NONE if all is, and a constant that is added to it. */
static Var without_constant(Rewriter *r, Var v, int64_t *more) {
    *more = 0;
    if (v == VAR_NONE || rewriter_int_const(r, v, more)) return VAR_NONE;
    if (!rewriter_known_owner(r, v, OP_ADD)) return v;
    ApplyId id = var_owner(r->g, v);
    Var a = rewriter_input(r, id, 0), b = rewriter_input(r, id, 1);
    return rewriter_int_const(r, b, more) ? a : rewriter_int_const(r, a, more) ? b : v;
}

/* a + b, of which one may be left out. */
static Var add_sizes(Rewriter *r, Var a, Var b) {
    int64_t more[2];
    if (a == VAR_NONE || b == VAR_NONE) return a == VAR_NONE ? b : a;
    Var p = without_constant(r, a, &more[0]), q = without_constant(r, b, &more[1]);
    Var sum = p == VAR_NONE ? q : q == VAR_NONE ? p : of_sizes(r, OP_ADD, p, q);
    if (sum != VAR_NONE && more[0] + more[1] == 0) return sum;
    Var c = const_int(&r->b, more[0] + more[1]);
    rewriter_grow(r);
    return sum == VAR_NONE ? c : of_sizes(r, OP_ADD, sum, c);
}

static Var least_size(Rewriter *r, Var a, Var b) {
    return a == b || b == VAR_NONE ? a : of_sizes(r, OP_MINIMUM, a, b);
}

/* A bound that counts from the end. */
static bool is_from_end(Rewriter *r, Var v, int64_t *i) {
    return v != VAR_NONE && rewriter_int_const(r, v, i) && *i < 0 && is_small(*i);
}

/* The start of x[a:][b:], where a is anything if b is left out. */
static bool later_start(Rewriter *r, const ReadItem *inner, Var b, Var *start) {
    *start = inner->start;
    if (b == VAR_NONE) return true;
    if (!is_size(r, b, 0) || !is_size_or_none(r, inner->start)) return false;
    *start = add_sizes(r, inner->start, b);
    return *start != VAR_NONE;
}

/* The stop of x[a:b][:c]. */
static bool earlier_stop(Rewriter *r, const ReadItem *inner, Var c, Var *stop) {
    int64_t end, more;
    Var b = inner->stop;
    *stop = c == VAR_NONE ? b : c;
    if (c == VAR_NONE) return true;
    if (is_from_end(r, c, &end)) {
        if (b == VAR_NONE) return true;
        if (!is_from_end(r, b, &more)) return false;
        *stop = const_int(&r->b, end + more);
        rewriter_grow(r);
        return true;
    }
    if (!is_size(r, c, 0) || !is_size_or_none(r, b) ||
        !is_size_or_none(r, inner->start))
        return false;
    *stop = least_size(r, add_sizes(r, inner->start, c), b);
    return *stop != VAR_NONE;
}

/* The elements of inner from its first on, where that is x's last one or some before
 * it: x[::-1][i] is x[-1 - i]. */
static bool from_last(Rewriter *r, const ReadItem *inner, Var *part) {
    int64_t first = -1;
    if (*part == VAR_NONE) return true;
    if (!is_size(r, *part, 0) ||
        (inner->start != VAR_NONE && !is_from_end(r, inner->start, &first)))
        return false;
    Var last = const_int(&r->b, first);
    rewriter_grow(r);
    *part = of_sizes(r, OP_SUBTRACT, last, *part);
    return *part != VAR_NONE;
}

static bool merge_turned(Rewriter *r, const ReadItem *inner, ReadItem *item) {
    if (item->is_at) return inner->stop == VAR_NONE && from_last(r, inner, &item->at);
    if (item->stop != VAR_NONE && inner->stop != VAR_NONE) return false;
    if (!from_last(r, inner, &item->start) || !from_last(r, inner, &item->stop))
        return false;
    if (item->start == VAR_NONE) item->start = inner->start;
    if (item->stop == VAR_NONE) item->stop = inner->stop;
    return true;
}

/* A bound of unknown sign counts from either end, and stays as it is: x[1:i][2:] is
 * x[3:i]. Whatever else is added, taken from or compared to another must be a size. */
static bool merge_sizes(const Read *q, const ReadItem *inner, ReadItem *item) {
    Rewriter *r = q->r;
    int64_t step = 1, outer_step = 1;
    ReadItem to = *item;
    if (!constant_part(q, inner->step, 1, &step) || step == 0 ||
        !constant_part(q, item->step, 1, &outer_step) || outer_step <= 0 ||
        !is_small(step) || !is_small(outer_step))
        return false;
    if (step == -1) {
        if (!merge_turned(r, inner, &to)) return false;
    } else if (item->is_at) {
        if (step != 1 || inner->stop != VAR_NONE ||
            !later_start(r, inner, item->at, &to.at))
            return false;
    } else {
        if (step != 1 && (item->start != VAR_NONE || item->stop != VAR_NONE))
            return false;
        if (!later_start(r, inner, item->start, &to.start) ||
            !earlier_stop(r, inner, item->stop, &to.stop))
            return false;
    }
    if (!item->is_at && step * outer_step != 1) {
        to.step = const_int(&r->b, step * outer_step);
        rewriter_grow(r);
    }
    *item = to;
    return true;
}

bool read_merge_items(const Read *q, Dim size, const ReadItem *inner, ReadItem *item) {
    if (read_takes_all(item)) return *item = *inner, true;
    if (read_takes_all(inner)) return true;
    if (inner->array != VAR_NONE || item->array != VAR_NONE) return false;
    if (dim_is_known(size) && merge_sized(q, size, inner, item)) return true;
    return (!dim_is_known(size) && merge_open(q, inner, item)) ||
           merge_sizes(q, inner, item);
}

Var read_read(Read *q) {
    Read in;
    if (!read_parse(q->r, q->of, 1, &in) || in.nadd) return VAR_NONE;
    read_count_from_end(&in);
    for (int k = 0, at = 0; k < in.t->ndim; k++) {
        ReadItem *inner = &in.item[k];
        if (inner->is_at) continue;
        ReadItem *item = &q->item[at++];
        if (!read_merge_items(q, in.t->dim[k], inner, item)) return VAR_NONE;
        *inner = *item;
    }
    return read_of(q->r, in.x, in.t->ndim, in.item);
}

Var read_of_part(Rewriter *r, Var x, int n, const ReadItem *item) {
    Var v = read_of(r, x, n, item);
    Read q;
    if (v == x || v == VAR_NONE || !rewriter_known_owner(r, x, OP_SUBTENSOR) ||
        !read_parse(r, var_owner(r->g, v), 1, &q))
        return v;
    Var merged = read_read(&q);
    return merged == VAR_NONE ? v : merged;
}

/* ---- bounds that are given by the size ---- */

bool read_is_dim(Rewriter *r, Var x, int axis, Var size) {
    Dim dim = var_type(r->g, x)->dim[axis];
    if (var_leaf(r->g, size) == LEAF_DIM)
        return dim == DIM_NAMED(var_leafrec(r->g, size)->name);
    return dim == DIM_UNKNOWN && rewriter_known_owner(r, size, OP_SHAPE_I) &&
           rewriter_size(r, x, axis) == size;
}

/* Is v the size, or less than it by no more than `most`? With few elements n - 3 is
 * negative itself, and counts from the end once more; n - 1 is then -1. */
static bool size_less(Read *q, int axis, Var v, int64_t most, int64_t *less) {
    Rewriter *r = q->r;
    bool sum = rewriter_known_owner(r, v, OP_ADD) != NULL;
    *less = 0;
    if (read_is_dim(r, q->x, axis, v)) return true;
    if (!sum && !rewriter_known_owner(r, v, OP_SUBTRACT)) return false;
    ApplyId id = var_owner(r->g, v);
    if (!rewriter_int_const(r, rewriter_input(r, id, 1), less) ||
        !read_is_dim(r, q->x, axis, rewriter_input(r, id, 0)))
        return false;
    if (sum) *less = *less < 0 && *less > -LARGE_PART ? -*less : 0;
    return *less > 0 && *less <= most;
}

static bool count_part(Read *q, int axis, int64_t most, Var *part) {
    int64_t less;
    if (*part == VAR_NONE || !size_less(q, axis, *part, most, &less) || less == 0)
        return false;
    *part = const_int(&q->r->b, -less);
    rewriter_grow(q->r);
    return true;
}

bool read_count_from_end(Read *q) {
    bool any = false;
    int64_t step = 1, less;
    for (int k = 0; k < q->t->ndim; k++) {
        ReadItem *it = &q->item[k];
        if (it->array != VAR_NONE || !constant_part(q, it->step, 1, &step)) continue;
        int64_t most = it->is_at || step < 0 ? 1 : 2;
        any |= it->is_at && count_part(q, k, most, &it->at);
        any |= count_part(q, k, most, &it->start);
        any |= count_part(q, k, most, &it->stop);
        if (step < 0) continue;
        bool first = it->start != VAR_NONE &&
                     rewriter_int_const(q->r, it->start, &less) && less == 0;
        bool last = it->stop != VAR_NONE && size_less(q, k, it->stop, 0, &less);
        if (first) it->start = VAR_NONE;
        if (last) it->stop = VAR_NONE;
        any |= first || last;
    }
    return any;
}

bool read_from_end_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    bool read = rw_is(r, &a, OP_SUBTENSOR);
    Read q;
    if (!read_parse(r, id, read ? 1 : 2, &q) || !read_count_from_end(&q)) return false;
    out[0] =
        read ? read_add_dims(&q, read_of(r, q.x, q.t->ndim, q.item))
             : read_write_of(r, &a, q.x, rewriter_input(r, id, 1), q.t->ndim, q.item);
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
}

/* ---- index arrays that count ---- */

/* The numbers from `first` on, in order or turned, below stop + more. */
typedef struct Counted {
    int64_t first, more;
    Var stop;
    bool turned;
} Counted;

static bool is_turn(Rewriter *r, ApplyId id) {
    int64_t step;
    return r->g->apply[id].nin == 2 &&
           strcmp(sym_text(r->s, rewriter_prop(r, &r->g->apply[id], "index")->sym),
                  "::$") == 0 &&
           rewriter_int_const(r, rewriter_input(r, id, 1), &step) && step == -1;
}

static bool is_count(Rewriter *r, ApplyId id, Counted *c) {
    size_t nin = r->g->apply[id].nin;
    int64_t step = 1;
    c->first = 0;
    c->stop = rewriter_input(r, id, nin > 1);
    return (nin < 2 || rewriter_int_const(r, rewriter_input(r, id, 0), &c->first)) &&
           (nin < 3 || rewriter_int_const(r, rewriter_input(r, id, 2), &step)) &&
           step == 1 && c->first < LARGE_PART && c->first > -LARGE_PART;
}

/* arange(...), with numbers added to it, or turned. */
static bool find_counted(Rewriter *r, Var v, Counted *c) {
    *c = (Counted){0};
    for (int depth = 0; depth < 4; depth++) {
        ApplyId id = var_owner(r->g, v);
        if (id == APPLY_NONE) return false;
        const Apply *a = &r->g->apply[id];
        int64_t k;
        if (rw_is(r, a, OP_ARANGE)) {
            if (!is_count(r, id, c)) return false;
            c->first += c->more;
            return true;
        }
        if (rw_is(r, a, OP_SUBTENSOR) && is_turn(r, id)) {
            c->turned = !c->turned;
            v = rewriter_input(r, id, 0);
            continue;
        }
        bool sum = rw_is(r, a, OP_ADD);
        size_t other = 0;
        if (!sum && !rw_is(r, a, OP_SUBTRACT)) return false;
        if (sum && !rewriter_int_const(r, rewriter_input(r, id, 1), &k)) other = 1;
        if (!rewriter_int_const(r, rewriter_input(r, id, !other), &k) ||
            k > LARGE_PART || k < -LARGE_PART)
            return false;
        c->more += sum ? k : -k;
        v = rewriter_input(r, id, other);
    }
    return false;
}

bool read_counts_from(Rewriter *r, Var v, int64_t *first) {
    Counted c;
    bool ok = find_counted(r, v, &c) && !c.turned;
    *first = c.first;
    return ok;
}

bool read_counts_behind(Rewriter *r, Var v, Var w, int64_t *back) {
    Counted x, y;
    bool ok = find_counted(r, v, &x) && find_counted(r, w, &y) && !x.turned &&
              !y.turned && x.stop == y.stop && x.first - x.more == y.first - y.more;
    *back = y.more - x.more;
    return ok;
}

/* The slice of the axis that takes these, if it certainly has them all. */
static bool counted_item(Read *q, int axis, const Counted *c, ReadItem *to) {
    Rewriter *r = q->r;
    int64_t stop, less;
    Dim size = q->t->dim[axis];
    *to = read_all;
    if (c->first < 0) return false;
    if (dim_is_known(size) && rewriter_int_const(r, c->stop, &stop)) {
        if (stop > size - c->more) return false;
        *to = read_item_slice(r, c->first, stop + c->more, size);
        return stop + c->more >= c->first;
    }
    if (!size_less(q, axis, c->stop, INT64_MAX, &less) || less < c->more) return false;
    if (c->first > 0) to->start = const_int(&r->b, c->first);
    if (less > c->more) to->stop = const_int(&r->b, c->more - less);
    rewriter_grow(r);
    return true;
}

/* The axis with such an array, which becomes a slice; -1: there is none. */
static int count_slice(Read *q, bool *turned) {
    Counted c;
    int axis = read_array_axis(q);
    if (axis < 0 || !dtype_is_integer(var_type(q->r->g, q->item[axis].array)->dtype) ||
        !find_counted(q->r, q->item[axis].array, &c) ||
        !counted_item(q, axis, &c, &q->item[axis]))
        return -1;
    *turned = c.turned;
    return axis;
}

static Var turn_axis(Rewriter *r, Var v, int ndim, int axis) {
    ReadItem item[MAX_NDIM];
    for (int k = 0; k < ndim; k++)
        item[k] = read_all;
    item[axis].step = const_int(&r->b, -1);
    rewriter_grow(r);
    return read_of(r, v, ndim, item);
}

static bool count_rows(Rewriter *r, Var x, Var at, Read *q, bool *turned) {
    const Type *t = var_type(r->g, x);
    *q = (Read){.r = r, .x = x, .of = var_owner(r->g, x), .t = t, .nleft = t->ndim};
    for (int k = 0; k < t->ndim; k++)
        q->item[k] = read_all;
    q->item[0].array = at;
    return count_slice(q, turned) >= 0;
}

bool read_counts_within(Rewriter *r, Var x, Var at) {
    Read q;
    bool turned;
    return count_rows(r, x, at, &q, &turned);
}

Var read_counted_rows(Rewriter *r, Var x, Var at) {
    Read q;
    bool turned = false;
    if (!count_rows(r, x, at, &q, &turned)) return VAR_NONE;
    Var v = read_of(r, x, q.t->ndim, q.item);
    return turned && v != VAR_NONE ? turn_axis(r, v, q.t->ndim, 0) : v;
}

/* x[arange(2, n)] is x[2:n], in writes too. */
bool read_counted_pass(Rewriter *r, ApplyId id, Var *out) {
    const Apply a = r->g->apply[id];
    bool read = rw_is(r, &a, OP_SUBTENSOR), turned = false;
    Read q;
    Var last = rewriter_input(r, id, a.nin - 1);
    if (var_type(r->g, last)->kind != TYPE_TENSOR || var_type(r->g, last)->ndim != 1 ||
        var_owner(r->g, last) == APPLY_NONE || !read_parse(r, id, read ? 1 : 2, &q))
        return false;
    int axis = count_slice(&q, &turned);
    if (axis < 0) return false;
    Var y = read ? VAR_NONE : rewriter_input(r, id, 1);
    int ydim = read ? 0 : var_type(r->g, y)->ndim, at = ydim - (q.t->ndim - axis);
    if (read) {
        out[0] = read_of(r, q.x, q.t->ndim, q.item);
        if (turned && out[0] != VAR_NONE)
            out[0] = turn_axis(r, out[0], q.t->ndim, axis);
    } else {
        if (turned && at >= 0 && var_type(r->g, y)->dim[at] != 1)
            y = turn_axis(r, y, ydim, at);
        if (y == VAR_NONE) return false;
        out[0] = read_write_of(r, &a, q.x, y, q.t->ndim, q.item);
    }
    return out[0] != VAR_NONE &&
           type_keeps(var_type(r->g, a.out), var_type(r->g, out[0]));
}
