/* topk, argpartition, partition: order statistics without a full sort. topk reads a
 * line once: what is below the k-th best so far joins the candidates, and each time
 * their room is full the k best of them stay. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "ops/sort/keys.h"
#include "vmap/kit.h"

#include <string.h>

enum { BLOCK = 256, SPARE = 1024, CHUNK = 1 << 14 };

/* The lines of x along an axis, those of the outputs beside them. */
typedef struct TopLines {
    SortForm form;
    const SortLoops *loops;
    bool sorted;
    int64_t n, k, cap; /* length of a line, of a line of the result; candidates */
    const char *x;
    int64_t step, lines, per_chunk;
    int ndim;
    int64_t shape[MAX_NDIM], stride[MAX_NDIM],
        out_stride[MAX_NDIM]; /* the other dims;
                        of outputs, in elements */
    int64_t out_step;
    char *values; /* or NULL */
    int64_t *indices;
    SortPair *room; /* 2 cap for each worker */
} TopLines;

static uint64_t highest_key(const SortPair *p, int64_t n) {
    uint64_t key = 0;
    for (int64_t i = 0; i < n; i++)
        if (p[i].key > key) key = p[i].key;
    return key;
}

/* The k smallest pairs of a line, sorted, for a small k. */
static void choose_few(const TopLines *t, const char *x, SortPair *p) {
    uint64_t key[BLOCK];
    SortFew few = {.k = t->k};
    for (int64_t i = 0; i < t->n; i += BLOCK) {
        int64_t m = t->n - i < BLOCK ? t->n - i : BLOCK;
        t->loops->keys(&t->form, x + i * t->step, t->step, m, key);
        t->loops->few(key, m, i, &few);
    }
    for (int64_t i = 0; i < t->k; i++)
        p[i] = (SortPair){few.key[i], few.at[i]};
}

/* The k smallest pairs of a line. */
static void choose_smallest(const TopLines *t, const char *x, SortPair *p) {
    SortPair *room = p + t->cap;
    uint64_t key[BLOCK], limit = 0;
    int64_t n = 0;
    bool limited = false;
    for (int64_t i = 0; i < t->n; i += BLOCK) {
        int64_t m = t->n - i < BLOCK ? t->n - i : BLOCK;
        t->loops->keys(&t->form, x + i * t->step, t->step, m, key);
        if (limited && !t->loops->any_below(key, m, limit)) continue;
        for (int64_t j = 0; j < m; j++) {
            uint64_t one = sort_key_at(t->form.item, key, j);
            if (limited && one >= limit) continue;
            p[n++] = (SortPair){one, i + j};
            if (n < t->cap || t->cap == t->n) continue;
            sort_select(p, room, n, t->k);
            n = t->k;
            limit = highest_key(p, n);
            limited = true;
        }
    }
    if (n > t->k) sort_select(p, room, n, t->k);
}

static void swap_keys(SortPair *p, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        p[i] = (SortPair){(uint64_t)p[i].at, (int64_t)p[i].key};
}

/* Best first, or in the order in which they are in x. */
static void arrange_chosen(const TopLines *t, SortPair *p) {
    if (t->sorted && t->k <= SORT_FEW) return; /* they are */
    if (!t->sorted) swap_keys(p, t->k);
    sort_pairs(NULL, p, p + t->cap, t->k);
    if (!t->sorted) swap_keys(p, t->k);
}

static void store_line(const TopLines *t, const char *x, const SortPair *p,
                       int64_t to) {
    size_t item = t->form.item;
    for (int64_t i = 0; i < t->k; i++) {
        int64_t at = to + i * t->out_step;
        t->indices[at] = p[i].at;
        if (t->values)
            memcpy(t->values + (size_t)at * item, x + p[i].at * t->step, item);
    }
}

static void topk_chunk(void *ctx, size_t chunk, unsigned worker) {
    const TopLines *t = ctx;
    SortPair *p = t->room + (int64_t)worker * 2 * t->cap;
    int64_t at = (int64_t)chunk * t->per_chunk, end = at + t->per_chunk;
    for (; at < end && at < t->lines; at++) {
        const char *x = t->x + move_offset(t->ndim, t->shape, t->stride, at);
        (t->k <= SORT_FEW ? choose_few : choose_smallest)(t, x, p);
        arrange_chosen(t, p);
        store_line(t, x, p, move_offset(t->ndim, t->shape, t->out_stride, at));
    }
}

/* The lines of x, and of outputs of the shape given by x's with k along the axis. */
static void open_lines(Call *c, TopLines *t, bool descending, int64_t k) {
    const Tensor *x = call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    *t = (TopLines){.form = sort_form(x->dtype, descending),
                    .loops = sort_loops(c->s, x->dtype),
                    .n = x->shape[axis],
                    .k = k,
                    .x = x->data,
                    .step = x->stride[axis],
                    .lines = 1,
                    .out_step = 1};
    int64_t out = 1;
    t->ndim = x->ndim - 1;
    for (int d = x->ndim - 1, to = t->ndim; d >= 0; d--) {
        if (d == axis) {
            t->out_step = out;
            out *= k;
            continue;
        }
        t->shape[--to] = x->shape[d];
        t->stride[to] = x->stride[d];
        t->out_stride[to] = out;
        out *= x->shape[d];
        t->lines *= x->shape[d];
    }
}

static bool run_lines(Call *c, TopLines *t, void (*chunk)(void *, size_t, unsigned)) {
    Pool *pool = move_pool(c);
    t->per_chunk = t->n < CHUNK ? CHUNK / (t->n + 1) + 1 : 1;
    int64_t chunks = (t->lines + t->per_chunk - 1) / t->per_chunk;
    size_t workers = pool && chunks > 1 ? pool_threads(pool) : 1;
    t->room = call_scratch(c, workers * 2 * (size_t)t->cap * sizeof *t->room);
    if (!t->room) return false;
    if (workers > 1) {
        pool_run(pool, (size_t)chunks, chunk, t);
    } else {
        t->per_chunk = t->lines;
        chunk(t, 0, 0);
    }
    return true;
}

/* ---- topk ---- */

static bool topk_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    int64_t k;
    Dim dim[MAX_NDIM];
    if (!sort_axis(in, &axis)) return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    bool known = infer_int(in, 1, &k);
    if (known && k < 0)
        return infer_fail(in, E_VALUE, 1, "k can't be negative, got %lld",
                          (long long)k);
    if (known && dim_is_known(dim[axis]) && k > dim[axis])
        return infer_fail(in, E_SHAPE, 1, "k is %lld, but dim %d of x has size %lld",
                          (long long)k, axis, (long long)dim[axis]);
    dim[axis] = infer_length(in, 1);
    return infer_out_tensor(in, 0, x->dtype, x->ndim, dim) &&
           infer_out_tensor(in, 1, DT_INT64, x->ndim, dim);
}

static bool topk_shape(ShapeOf *q) {
    const Type *x = var_type(q->g, q->in[0]);
    const Prop *prop = op_prop(q->b->s, q->op, q->props, "axis");
    int axis = shape_axis_index(prop->i, x->ndim);
    for (int d = 0; d < x->ndim; d++)
        q->out_shape[0][d] = q->out_shape[1][d] =
            d == axis ? q->in[1] : q->in_shape[0][d];
    return true;
}

/* Checks k and makes the outputs; lines 0: nothing to do. */
static bool topk_open(Call *c, TopLines *t) {
    const Tensor *x = call_in(c, 0);
    int64_t k = tensor_i64(call_in(c, 1), 0), shape[MAX_NDIM];
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    if (k < 0 || k > x->shape[axis])
        return call_fail(c, E_RUN_SHAPE, "k is %lld, but dim %d of x has size %lld",
                         (long long)k, axis, (long long)x->shape[axis]);
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = k;
    Tensor *values = call_out(c, 0, x->ndim, shape);
    Tensor *indices = values ? call_out(c, 1, x->ndim, shape) : NULL;
    if (!indices) return false;
    *t = (TopLines){0};
    if (tensor_size(indices) == 0) return true;
    open_lines(c, t, prop_bool(c->s, c->op, c->props, "largest"), k);
    t->sorted = prop_bool(c->s, c->op, c->props, "sorted");
    t->values = values->data;
    t->indices = indices->data;
    t->cap = t->n / 2 <= k + SPARE ? t->n : k + (k > SPARE ? k : SPARE);
    return true;
}

static bool topk_perform(Call *c) {
    TopLines t;
    return topk_open(c, &t) && (t.lines == 0 || run_lines(c, &t, topk_chunk));
}

static bool topk_debug(Call *c) {
    TopLines t;
    if (!topk_open(c, &t)) return false;
    SortRanked *v = mem_zalloc(c->s, (size_t)t.n, sizeof *v);
    SortPair *p = mem_zalloc(c->s, 2 * (size_t)t.n, sizeof *p);
    DType d = call_in(c, 0)->dtype;
    t.cap = t.n;
    for (int64_t at = 0; at < t.lines; at++) {
        const char *x = t.x + move_offset(t.ndim, t.shape, t.stride, at);
        for (int64_t i = 0; i < t.n; i++)
            v[i] = (SortRanked){d, t.form.descending, x + i * t.step, i};
        sort_ranked(v, t.n);
        for (int64_t i = 0; i < t.k; i++)
            p[i] = (SortPair){(uint64_t)i, v[i].at};
        arrange_chosen(&t, p);
        store_line(&t, x, p, move_offset(t.ndim, t.shape, t.out_stride, at));
    }
    mem_free(p);
    mem_free(v);
    return true;
}

static const char *const topk_pullback =
    "g_x = scatter_elements(zeros_like(x), indices, g_values, axis=axis)";
static const char *const topk_pushforward =
    "t_values = take_along_axis(t_x, indices, axis=axis)";

/* ---- partition ---- */

static bool argpartition_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    int64_t k;
    if (!sort_axis(in, &axis)) return false;
    if (infer_int(in, 1, &k) && dim_is_known(x->dim[axis]) &&
        (k < -x->dim[axis] || k >= x->dim[axis]))
        return infer_fail(in, E_VALUE, 1, "kth is %lld, but dim %d of x has size %lld",
                          (long long)k, axis, (long long)x->dim[axis]);
    return infer_out_tensor(in, 0, DT_INT64, x->ndim, x->dim);
}

/* t->k is kth. */
static void partition_line(const TopLines *t, const char *x, SortPair *p, int64_t to) {
    void *key = p, *room = p + t->cap;
    int64_t below;
    t->loops->keys(&t->form, x, t->step, t->n, key);
    uint64_t limit = t->loops->nth(key, room, t->n, t->k, &below);
    t->loops->part(key, t->n, limit, below, t->k, t->indices + to, t->out_step);
}

static void partition_chunk(void *ctx, size_t chunk, unsigned worker) {
    const TopLines *t = ctx;
    SortPair *p = t->room + (int64_t)worker * 2 * t->cap;
    int64_t at = (int64_t)chunk * t->per_chunk, end = at + t->per_chunk;
    for (; at < end && at < t->lines; at++)
        partition_line(t, t->x + move_offset(t->ndim, t->shape, t->stride, at), p,
                       move_offset(t->ndim, t->shape, t->out_stride, at));
}

static bool argpartition_perform(Call *c) {
    const Tensor *x = call_in(c, 0);
    int64_t k = tensor_i64(call_in(c, 1), 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    int64_t n = x->shape[axis];
    TopLines t;
    if (k < -n || k >= n)
        return call_fail(c, E_RUN_SHAPE, "kth is %lld, but dim %d of x has size %lld",
                         (long long)k, axis, (long long)n);
    Tensor *out = call_out(c, 0, x->ndim, x->shape);
    if (!out || tensor_size(out) == 0) return out != NULL;
    open_lines(c, &t, false, n);
    t.k = k < 0 ? k + t.n : k;
    t.cap = t.n / 2 + 1; /* keys: n, and room for as many */
    t.indices = out->data;
    return run_lines(c, &t, partition_chunk);
}

static bool argpartition_pull(Pull *p) {
    return pull_discrete(p);
}

static bool partition_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                             const Var *in, Var *out) {
    (void)nin;
    Var args[2] = {in[0], in[1]};
    PropArg arg = shape_ravel_without_axis(b, op, p, &args[0]);
    args[1] = apply_named(b, "argpartition", 2, args, 1, &arg);
    *out = apply_named(b, "take_along_axis", 2, args, 1, &arg);
    return *out != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("topk"),
     .doc =
         "The k largest elements along axis, and their positions: the largest first, "
         "or with sorted=False in the order in which x has them. Of equal elements the "
         "first ones; nan counts as the largest. With largest=False, the k smallest, "
         "ascending.",
     .alias = "top_k",
     .in = "x, k: int",
     .props = "axis: axis = -1, largest: bool = True, sorted: bool = True",
     .out = "values, indices",
     .kinds = KIND_BOOL | KIND_REAL,
     .type = topk_type,
     RARE(.infer_shape = topk_shape),
     .perform = topk_perform,
     .reentrant = true,
     .debug = topk_debug,
     .flops = "0",
     .pullback = topk_pullback,
     .pushforward = topk_pushforward,
     .disconnected = "k",
     .vmap = vmap_axes,
     .example = "topk([3, 1, 2], 2)[0] -> [3, 2]\ntopk([3, 1, 2], 2)[1] -> [0, 2]\n"
                "topk([3.0, 1.0, nan], 2, largest=False)[0] -> [1.0, 3.0]"},
    {.name = OP_ROW("argpartition"),
     .doc =
         "Positions of the elements along axis (None: of x flattened), as int64: first "
         "those that come before number kth in the order of sort, then that one, then "
         "the rest, each part in the order in which x has them. A negative kth counts "
         "from the end.",
     .in = "x, kth: int",
     .props = "axis: axis? = -1",
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = sort_expand,
     .type = argpartition_type,
     .perform = argpartition_perform,
     .reentrant = true,
     .flops = "0",
     .pull = argpartition_pull,
     .push = push_none,
     .disconnected = "kth",
     .vmap = vmap_axes,
     .example = "argpartition([3, 9, 1, 2], 1) -> [2, 3, 0, 1]"},
    {.name = OP_ROW("partition"),
     .doc =
         "x with number kth of its sorted elements where it would be after sorting "
         "along axis (None: x flattened), smaller ones before it and larger ones after "
         "it, each part in the order in which x has them.",
     .in = "x, kth: int",
     .props = "axis: axis? = -1",
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = partition_expand,
     .disconnected = "kth",
     .example =
         "partition([3, 9, 1, 2], 1) -> [1, 2, 3, 9]\npartition([3, 9, 1, 2], -1) "
         "-> [3, 1, 2, 9]"},
};
const OpList ops_sort_topk = LIST_OF(table);
