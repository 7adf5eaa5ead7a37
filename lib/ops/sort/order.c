/* sorted_at: elements of the sorted x, by their positions, as medians and quantiles
 * need them. The few of a long line are found without sorting it: one by groups of bits
 * (SortLoops.nth), those after it, and what equals it, by another pass. Of a long line
 * the keys between two of a sample are looked at, which threads share. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "ops/sort/keys.h"
#include "vmap/kit.h"

#include <string.h>

/* Shorter lines are sorted, side by side; so are lines of which much is wanted. */
enum { PARTS = 64, BLOCK = 2048, SAMPLE = 1024, MARGIN = 48, MANY = 16 * SAMPLE };
enum { SHORT = 256, MERGED = 1024, LONG = 4096, WANTED = 16, CHUNK = 1 << 14 };

static bool sorted_at_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    Dim dim[MAX_NDIM];
    if (!sort_axis(in, &axis)) return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    dim[axis] = in->type[1]->dim[0];
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
}

static bool sorted_at_shape(ShapeOf *q) {
    const Type *x = var_type(q->g, q->in[0]);
    int axis = shape_axis_index(op_prop(q->b->s, q->op, q->props, "axis")->i, x->ndim);
    for (int d = 0; d < x->ndim; d++)
        q->out_shape[0][d] = d == axis ? q->in_shape[1][0] : q->in_shape[0][d];
    return true;
}

/* The lines of x, and those of the result beside them. */
typedef struct OrderLines {
    SortForm form;
    const SortLoops *loops;
    int64_t n, step, out_step, lines, per_chunk;
    int ndim; /* the other dims */
    int64_t shape[MAX_NDIM], stride[MAX_NDIM], out_stride[MAX_NDIM];
    const char *x;
    char *r;
    int64_t wanted; /* positions, ascending, and where each goes */
    struct {
        int64_t at, to;
    } want[WANTED];
    uint64_t zero, none; /* the keys of 0 and of nan: not of one element alone */
    char *room;          /* 2 n keys for each worker */
} OrderLines;

/* What has been found in a line: number `below` has this key, and what ends before
 * number `upto`, too; 0: not known yet. */
typedef struct Found {
    uint64_t key, next;
    int64_t below, upto;
} Found;

/* A line, its keys, and those of its numbers `under` to under + near - 1, which are in
 * `room`, out of a range that was left in parts. */
typedef struct OrderLine {
    const OrderLines *o;
    Pool *pool;
    const char *x;
    char *key, *room;
    int64_t near, under, part;
    bool keyed; /* all keys are there */
    uint64_t least, most;
    int64_t kept[PARTS], below[PARTS];
} OrderLine;

static uint64_t key_of_bits(const OrderLines *o, uint64_t bits) {
    uint64_t key;
    o->loops->keys(&o->form, (const char *)&bits, 0, 1, &key);
    return sort_key_at(o->form.item, &key, 0);
}

/* Stores number `at` of the line x, whose key is f->key. */
static void store_found(const OrderLines *o, const char *x, const void *key,
                        const Found *f, int64_t at, char *r) {
    size_t item = o->form.item;
    uint64_t one = f->key;
    if (!o->form.is_float || (one != o->zero && one != o->none)) {
        uint8_t u8 = (uint8_t)one;
        uint16_t u16 = (uint16_t)one;
        uint32_t u32 = (uint32_t)one;
        const void *p = item == 1   ? (const void *)&u8
                        : item == 2 ? (const void *)&u16
                        : item == 4 ? (const void *)&u32
                                    : (const void *)&one;
        o->loops->elements(&o->form, p, 1, r, (int64_t)item);
        return;
    }
    int64_t equal = at - f->below, i = 0;
    while (sort_key_at(item, key, i) != one || equal-- > 0)
        i++;
    memcpy(r, x + i * o->step, item);
}

static void keep_part(void *ctx, size_t part, unsigned worker) {
    OrderLine *l = ctx;
    const OrderLines *o = l->o;
    size_t item = o->form.item;
    int64_t from = (int64_t)part * l->part, i = from, m = 0, under = 0, some,
            end = o->n - i < l->part ? o->n : i + l->part;
    (void)worker;
    for (; i < end; i += BLOCK) {
        int64_t n = end - i < BLOCK ? end - i : BLOCK;
        char *key = l->key + (size_t)i * item;
        if (!l->keyed) o->loops->keys(&o->form, l->x + i * o->step, o->step, n, key);
        m += o->loops->within(key, n, l->least, l->most,
                              l->room + (size_t)(from + m) * item, &some);
        under += some;
    }
    l->kept[part] = m;
    l->below[part] = under;
}

static bool is_near(const OrderLine *l, int64_t at) {
    return at >= l->under && at < l->under + l->near;
}

/* Keeps the keys near number `at`, if they are that, and few or all the same; makes
 * all keys. */
static bool keep_near(OrderLine *l, int64_t at) {
    const OrderLines *o = l->o;
    size_t item = o->form.item;
    int64_t n = o->n, step = n / SAMPLE,
            in = (int64_t)((double)at / (double)n * SAMPLE);
    if (n < MANY || item < 4) return false;
    o->loops->keys(&o->form, l->x, step * o->step, SAMPLE, l->room);
    const void *some = o->loops->line(l->room, l->room + 2 * SAMPLE * item, SAMPLE);
    l->least = in < MARGIN ? 0 : sort_key_at(item, some, in - MARGIN);
    l->most = in + MARGIN < SAMPLE ? sort_key_at(item, some, in + MARGIN) : UINT64_MAX;
    l->part = (n + PARTS - 1) / PARTS;
    l->near = l->under = 0;
    pool_run(l->pool, PARTS, keep_part, l);
    l->keyed = true;
    for (int k = 0; k < PARTS; k++) {
        memmove(l->room + (size_t)l->near * item,
                l->room + (size_t)(k * l->part) * item, (size_t)l->kept[k] * item);
        l->near += l->kept[k];
        l->under += l->below[k];
    }
    bool few = l->near <= n / 2 || l->least == l->most;
    if (few && is_near(l, at)) return true;
    l->near = 0;
    return false;
}

/* Where the key of number f->below, and what equals it, ends, and the next key. */
static void find_end(const OrderLine *l, Found *f) {
    const SortLoops *loops = l->o->loops;
    if (is_near(l, f->below)) {
        f->upto = l->under + loops->above(l->room, l->near, f->key, &f->next);
        if (f->upto < l->under + l->near) return;
    }
    f->upto = loops->above(l->key, l->o->n, f->key, &f->next);
}

static void find_number(OrderLine *l, int64_t at, Found *f) {
    const OrderLines *o = l->o;
    size_t item = o->form.item;
    if (f->below >= 0) {
        if (f->upto == 0) find_end(l, f);
        if (at < f->upto) return;
        if (at == f->upto) {
            *f = (Found){.key = f->next, .below = at};
            return;
        }
    }
    f->upto = 0;
    if ((is_near(l, at) || keep_near(l, at)) && l->least == l->most) {
        f->key = l->least;
        f->below = l->under;
        return;
    }
    if (l->near) {
        f->key = o->loops->nth(l->room, l->room + (size_t)l->near * item, l->near,
                               at - l->under, &f->below);
        f->below += l->under;
        return;
    }
    if (!l->keyed) o->loops->keys(&o->form, l->x, o->step, o->n, l->key);
    l->keyed = true;
    f->key = o->loops->nth(l->key, l->room, o->n, at, &f->below);
}

static void select_line(const OrderLines *o, Pool *pool, const char *x, char *r,
                        char *room) {
    OrderLine l = {.o = o,
                   .pool = pool,
                   .x = x,
                   .key = room,
                   .room = room + (size_t)o->n * o->form.item};
    Found f = {.below = -1};
    for (int64_t k = 0; k < o->wanted; k++) {
        int64_t at = o->want[k].at;
        if (k == 0 || at != o->want[k - 1].at) find_number(&l, at, &f);
        store_found(o, x, l.key, &f, at, r + o->want[k].to * o->out_step);
    }
}

/* Number `at` of the lines. */
static void select_at(const OrderLines *o, Pool *pool, int64_t at, char *room) {
    select_line(o, pool, o->x + move_offset(o->ndim, o->shape, o->stride, at),
                o->r + move_offset(o->ndim, o->shape, o->out_stride, at), room);
}

static void select_chunk(void *ctx, size_t chunk, unsigned worker) {
    const OrderLines *o = ctx;
    char *room = o->room + (size_t)worker * 2 * (size_t)o->n * o->form.item;
    int64_t at = (int64_t)chunk * o->per_chunk, end = at + o->per_chunk;
    for (; at < end && at < o->lines; at++)
        select_at(o, NULL, at, room);
}

static bool select_lines(Call *c, OrderLines *o) {
    Pool *pool = move_pool(c);
    o->per_chunk = o->n < CHUNK ? CHUNK / o->n + 1 : 1;
    int64_t chunks = (o->lines + o->per_chunk - 1) / o->per_chunk;
    bool share = sort_is_shared(pool, o->n) && o->lines < (int64_t)pool_threads(pool);
    size_t workers = pool && chunks > 1 && !share ? pool_threads(pool) : 1;
    o->zero = key_of_bits(o, 0);
    o->none = key_of_bits(o, o->form.inf | 1);
    o->room = call_scratch(c, workers * 2 * (size_t)o->n * o->form.item);
    if (!o->room) return false;
    if (share) {
        for (int64_t at = 0; at < o->lines; at++)
            select_at(o, pool, at, o->room);
    } else if (workers > 1) {
        pool_run(pool, (size_t)chunks, select_chunk, o);
    } else {
        o->per_chunk = o->lines;
        select_chunk(o, 0, 0);
    }
    return true;
}

/* Notes the positions, ascending, unless so many or so far apart that sorting is as
 * good. */
static bool few_wanted(OrderLines *o, const int64_t *at, int64_t m) {
    int64_t jumps = 1;
    if (m > WANTED || o->n < SHORT) return false;
    for (int64_t i = 0; i < m; i++) {
        int64_t one = at[i] < 0 ? at[i] + o->n : at[i], k = o->wanted++;
        for (; k > 0 && o->want[k - 1].at > one; k--)
            o->want[k] = o->want[k - 1];
        o->want[k].at = one;
        o->want[k].to = i;
    }
    for (int64_t k = 1; k < m; k++)
        jumps += o->want[k].at > o->want[k - 1].at + 1;
    return jumps <= (o->n <= MERGED ? 1 : o->n <= LONG ? 2 : 4);
}

/* The layout of lines of x in the result. */
static void open_lines(OrderLines *o, const Tensor *x, int axis, const Tensor *out) {
    o->n = x->shape[axis];
    o->step = x->stride[axis];
    o->out_step = out->stride[axis];
    o->x = x->data;
    o->r = out->data;
    o->lines = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (d == axis) continue;
        o->shape[o->ndim] = x->shape[d];
        o->stride[o->ndim] = x->stride[d];
        o->out_stride[o->ndim++] = out->stride[d];
        o->lines *= x->shape[d];
    }
}

/* Of a sorted x. Lines side by side are taken together. */
static void take_lines(const OrderLines *o, const int64_t *at, int64_t m) {
    int64_t item = (int64_t)o->form.item, last = o->ndim - 1,
            beside = last >= 0 && o->stride[last] == item && o->out_stride[last] == item
                         ? o->shape[last]
                         : 1;
    for (int64_t l = 0; l < o->lines; l += beside) {
        const char *x = o->x + move_offset(o->ndim, o->shape, o->stride, l);
        char *r = o->r + move_offset(o->ndim, o->shape, o->out_stride, l);
        for (int64_t i = 0; i < m; i++)
            memcpy(r + i * o->out_step,
                   x + (at[i] < 0 ? at[i] + o->n : at[i]) * o->step,
                   (size_t)(beside * item));
    }
}

static bool positions_fit(Call *c, const int64_t *at, int64_t m, int axis, int64_t n) {
    for (int64_t i = 0; i < m; i++)
        if (at[i] < -n || at[i] >= n)
            return call_fail(c, E_INDEX, "position %lld, but dim %d of x has size %lld",
                             (long long)at[i], axis, (long long)n);
    return true;
}

static bool sorted_at(Call *c, bool reference) {
    const Tensor *x = call_in(c, 0), *where = call_in(c, 1);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    int64_t m = tensor_size(where), shape[MAX_NDIM];
    Tensor sorted;
    OrderLines o = {.form = sort_form(x->dtype, false),
                    .loops = sort_loops(c->s, x->dtype)};
    int64_t *at = mem_alloc(c->s, ((size_t)m + 1) * sizeof *at);
    for (int64_t i = 0; i < m; i++)
        at[i] = tensor_i64(where, i);
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = m;
    Tensor *out = positions_fit(c, at, m, axis, x->shape[axis])
                      ? call_out(c, 0, x->ndim, shape)
                      : NULL;
    bool ok = out != NULL;
    if (ok && tensor_size(out) > 0) {
        open_lines(&o, x, axis, out);
        if (!reference && few_wanted(&o, at, m)) {
            ok = select_lines(c, &o);
        } else if ((ok = sort_to_scratch(c, axis, reference, &sorted))) {
            OrderLines s = {.form = o.form};
            open_lines(&s, &sorted, axis, out);
            take_lines(&s, at, m);
        }
    }
    mem_free(at);
    return ok;
}

static bool sorted_at_perform(Call *c) {
    return sorted_at(c, false);
}

static bool sorted_at_debug(Call *c) {
    return sorted_at(c, true);
}

static const char *const sorted_at_pullback =
    "places = take(argsort(x, axis=axis), at, axis=axis)\n"
    "g_x = scatter_elements(zeros_like(x), places, g, axis=axis, reduction='add')";
static const char *const sorted_at_pushforward =
    "places = take(argsort(x, axis=axis), at, axis=axis)\n"
    "t_r = take_along_axis(t_x, places, axis=axis)";

static const Op table[] = {
    {.name = OP_ROW("sorted_at"),
     .doc = "The elements that sort(x) would have at the given positions along axis; "
            "median and quantile expand to this.",
     .in = "x, at: ints",
     .props = "axis: axis = -1",
     .internal = true,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = sorted_at_type,
     RARE(.infer_shape = sorted_at_shape),
     .perform = sorted_at_perform,
     .reentrant = true,
     .debug = sorted_at_debug,
     .flops = "0",
     .pullback = sorted_at_pullback,
     .pushforward = sorted_at_pushforward,
     .disconnected = "at",
     .vmap = vmap_axes,
     .example = "sorted_at([3, 9, 1, 2], [1, -1]) -> [2, 9]"},
};
const OpList ops_sort_order = LIST_OF(table);
