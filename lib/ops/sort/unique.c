/* unique: the distinct elements of a vector, or parts of a tensor along an axis.
 * Vectors are sorted as pairs of key and position; parts by the bytes of their keys.
 * Either order is stable, so that the first of equal ones is the one of the lowest
 * index. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "ops/sort/keys.h"
#include "vmap/kit.h"

#include <string.h>

/* The outputs after the values, in order, by the props that ask for them. */
enum { INDEX, INVERSE, COUNTS, EXTRAS };
static const char *const extra_props[EXTRAS] = {"return_index", "return_inverse",
                                                "return_counts"};

static bool unique_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    Dim dim[MAX_NDIM], length[EXTRAS] = {DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN};
    if (!sort_axis(in, &axis)) return false;
    memcpy(dim, x->dim, (size_t)x->ndim * sizeof *dim);
    dim[axis] = x->dim[axis] == 0 || x->dim[axis] == 1 ? x->dim[axis] : DIM_UNKNOWN;
    length[INDEX] = length[COUNTS] = dim[axis];
    length[INVERSE] = x->dim[axis];
    in->nout = 1;
    infer_out_tensor(in, 0, x->dtype, x->ndim, dim);
    for (int i = 0; i < EXTRAS; i++)
        if (infer_prop(in, extra_props[i])->i)
            infer_out_tensor(in, in->nout++, DT_INT64, 1, &length[i]);
    return true;
}

/* The groups of equal parts: `order` are positions in order, group k begins at
 * order[start[k]]. */
typedef struct Groups {
    int64_t n, count;
    int64_t *order, *start;
    int64_t *rank, *place; /* of groups in the result; the group at each place. NULL:
                            * as they are */
    Pool *pool;
} Groups;

/* ---- chunks, for threads ---- */
enum { CHUNK = 1 << 14 };

static int64_t chunks_of(int64_t n) {
    return (n + CHUNK - 1) / CHUNK;
}

/* Those of the chunk, from *i to below the result. */
static int64_t chunk_end(size_t chunk, int64_t n, int64_t *i) {
    *i = (int64_t)chunk * CHUNK;
    return n - *i < CHUNK ? n : *i + CHUNK;
}

/* ---- vectors ---- */
typedef struct VectorJob {
    const SortPair *p;
    const Groups *g;
    int64_t *before; /* by chunk: groups that begin in it, then those before it */
} VectorJob;

static bool begins(const SortPair *p, int64_t i) {
    return i == 0 || p[i].key != p[i - 1].key;
}

static void count_groups(void *ctx, size_t chunk, unsigned worker) {
    const VectorJob *j = ctx;
    int64_t i, end = chunk_end(chunk, j->g->n, &i), count = 0;
    (void)worker;
    for (; i < end; i++) {
        j->g->order[i] = j->p[i].at;
        count += begins(j->p, i);
    }
    j->before[chunk] = count;
}

static void start_groups(void *ctx, size_t chunk, unsigned worker) {
    const VectorJob *j = ctx;
    int64_t i, end = chunk_end(chunk, j->g->n, &i), at = j->before[chunk];
    (void)worker;
    for (; i < end; i++)
        if (begins(j->p, i)) j->g->start[at++] = i;
}

static void group_vector(Call *c, const Tensor *x, SortPair *p, Groups *g) {
    SortForm f = sort_form(x->dtype, false);
    sort_make_pairs(g->pool, sort_loops(c->s, x->dtype), &f, x->data, x->stride[0],
                    g->n, p);
    sort_pairs(g->pool, p, p + g->n, g->n);
    VectorJob j = {p, g, g->rank};
    pool_run(g->pool, (size_t)chunks_of(g->n), count_groups, &j);
    for (int64_t k = 0; k < chunks_of(g->n); k++) {
        int64_t here = j.before[k];
        j.before[k] = g->count;
        g->count += here;
    }
    pool_run(g->pool, (size_t)chunks_of(g->n), start_groups, &j);
}

/* Integers as int64, in place if they are; the upper half of uint64 turns negative. */
static const int64_t *read_integers(const Tensor *x, int64_t n, int64_t *room) {
    if (dtype_size(x->dtype) == 8 && x->stride[0] == 8) return x->data;
    tensor_cast_elements(DT_INT64, room, x->dtype, x->data, (size_t)n, 8, x->stride[0]);
    return room;
}

/* The span of n integers, less 1. */
static uint64_t width_of(const int64_t *v, int64_t n, int64_t *low) {
    int64_t high = *low = v[0];
    for (int64_t i = 1; i < n; i++) {
        *low = v[i] < *low ? v[i] : *low;
        high = v[i] > high ? v[i] : high;
    }
    return (uint64_t)high - (uint64_t)*low;
}

/* Integers that lie close together are put in order by counting. False: they don't, or
 * the counts would not stay in near caches. `room` is for 4 n integers. Unless all
 * positions are asked for, only the first of each group is put into g->order. */
static bool group_counted(const Tensor *x, bool all, int64_t *room, Groups *g) {
    if (!dtype_is_discrete(x->dtype) || g->n == 0) return false;
    const int64_t *v = read_integers(x, g->n, room);
    int64_t low, *at = room + g->n, *first = at + g->n, sum = 0;
    uint64_t width = width_of(v, g->n, &low);
    if (width >= (uint64_t)g->n || width >= 1 << 17 ||
        (x->dtype == DT_UINT64 && low < 0 && low + (int64_t)width >= 0))
        return false;
    memset(at, 0, (size_t)(width + 1) * sizeof *at);
    for (int64_t i = g->n; i-- > 0;) {
        uint64_t k = (uint64_t)v[i] - (uint64_t)low;
        at[k]++;
        first[k] = i;
    }
    for (uint64_t k = 0; k <= width; k++) {
        int64_t here = at[k];
        at[k] = sum;
        if (here == 0) continue;
        g->order[sum] = first[k];
        g->start[g->count++] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < g->n && all; i++)
        g->order[at[(uint64_t)v[i] - (uint64_t)low]++] = i;
    return true;
}

/* ---- parts of a tensor ---- */
typedef struct Parts {
    const unsigned char *key; /* big-endian: memcmp orders them */
    size_t bytes;             /* of a part */
} Parts;

static int compare_parts(const Parts *p, int64_t a, int64_t b) {
    return p->bytes ? memcmp(p->key + (size_t)a * p->bytes,
                             p->key + (size_t)b * p->bytes, p->bytes)
                    : 0;
}

/* A stable merge sort of positions. */
static void sort_parts(const Parts *p, int64_t n, int64_t *order, int64_t *room) {
    int64_t *from = order, *to = room;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t low = 0; low < n; low += 2 * run) {
            int64_t mid = low + run < n ? low + run : n,
                    high = mid + run < n ? mid + run : n, a = low, b = mid;
            for (int64_t i = low; i < high; i++) {
                bool left =
                    b == high || (a < mid && compare_parts(p, from[a], from[b]) <= 0);
                to[i] = left ? from[a++] : from[b++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

/* Part i of x along the axis, or a place for it in the result. */
static Tensor part_at(const Tensor *x, int axis, int64_t i) {
    Tensor t = *x;
    t.data = move_at(x, i * x->stride[axis]);
    t.ndim = 0;
    for (int k = 0; k < x->ndim; k++) {
        if (k == axis) continue;
        t.shape[t.ndim] = x->shape[k];
        t.stride[t.ndim++] = x->stride[k];
    }
    return t;
}

static void swap_bytes(unsigned char *p, size_t item, size_t n) {
    const uint16_t one = 1;
    if (!*(const unsigned char *)&one) return;
    for (; n > 0; n--, p += item)
        for (size_t i = 0; i < item / 2; i++) {
            unsigned char b = p[i];
            p[i] = p[item - 1 - i];
            p[item - 1 - i] = b;
        }
}

static void group_parts(Call *c, const Tensor *x, int axis, char *mem, Groups *g) {
    SortForm f = sort_form(x->dtype, false);
    const SortLoops *l = sort_loops(c->s, x->dtype);
    int64_t m = tensor_size(x) / (g->n ? g->n : 1);
    Parts p = {(unsigned char *)mem, (size_t)m * f.item};
    unsigned char *key = (unsigned char *)mem;
    for (int64_t i = 0; i < g->n && m; i++, key += p.bytes) {
        Tensor from = part_at(x, axis, i), to = from;
        to.data = key;
        move_strides(f.item, to.ndim, to.shape, to.stride);
        move_tensor(NULL, &to, &from);
        l->keys(&f, (char *)key, (int64_t)f.item, m, key);
        swap_bytes(key, f.item, (size_t)m);
    }
    for (int64_t i = 0; i < g->n; i++)
        g->order[i] = i;
    sort_parts(&p, g->n, g->order, g->start);
    for (int64_t i = 0; i < g->n; i++)
        if (i == 0 || compare_parts(&p, g->order[i - 1], g->order[i]) != 0)
            g->start[g->count++] = i;
}

/* ---- results ---- */
static int64_t first_of(const Groups *g, int64_t group) {
    return g->order[g->start[group]];
}

static int64_t rank_of(const Groups *g, int64_t group) {
    return g->rank ? g->rank[group] : group;
}

static int64_t group_at(const Groups *g, int64_t place) {
    return g->place ? g->place[place] : place;
}

/* By first position. */
static void rank_groups(Groups *g, SortPair *p) {
    for (int64_t k = 0; k < g->count; k++)
        p[k] = (SortPair){(uint64_t)first_of(g, k), k};
    sort_pairs(g->pool, p, p + g->count, g->count);
    for (int64_t i = 0; i < g->count; i++) {
        g->place[i] = p[i].at;
        g->rank[p[i].at] = i;
    }
}

typedef struct StoreJob {
    const Groups *g;
    const Tensor *x, *out;
    int what;    /* an output after the values */
    int64_t *to; /* its elements */
} StoreJob;

static void fill_extra(void *ctx, size_t chunk, unsigned worker) {
    const StoreJob *j = ctx;
    const Groups *g = j->g;
    int64_t k, last = chunk_end(chunk, g->count, &k), *to = j->to;
    (void)worker;
    for (; k < last; k++) {
        int64_t end = k + 1 < g->count ? g->start[k + 1] : g->n;
        if (j->what == INDEX) to[rank_of(g, k)] = first_of(g, k);
        if (j->what == COUNTS) to[rank_of(g, k)] = end - g->start[k];
        for (int64_t i = g->start[k]; i < end && j->what == INVERSE; i++)
            to[g->order[i]] = rank_of(g, k);
    }
}

static void store_elements(void *ctx, size_t chunk, unsigned worker) {
    const StoreJob *j = ctx;
    size_t item = dtype_size(j->x->dtype);
    int64_t i, end = chunk_end(chunk, j->g->count, &i);
    (void)worker;
    for (; i < end; i++)
        memcpy(move_at(j->out, i * (int64_t)item),
               move_at(j->x, first_of(j->g, group_at(j->g, i)) * j->x->stride[0]),
               item);
}

static void store_parts(const StoreJob *j, int axis) {
    for (int64_t i = 0; i < j->g->count && tensor_size(j->out); i++) {
        Tensor to = part_at(j->out, axis, i),
               from = part_at(j->x, axis, first_of(j->g, group_at(j->g, i)));
        move_tensor(NULL, &to, &from);
    }
}

static bool store_groups(Call *c, const Tensor *x, int axis, const Groups *g) {
    int64_t shape[MAX_NDIM];
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = g->count;
    StoreJob j = {.g = g, .x = x, .out = call_out(c, 0, x->ndim, shape)};
    size_t o = 1;
    if (!j.out) return false;
    if (x->ndim == 1)
        pool_run(g->pool, (size_t)chunks_of(g->count), store_elements, &j);
    else
        store_parts(&j, axis);
    for (j.what = 0; j.what < EXTRAS; j.what++) {
        if (!prop_bool(c->s, c->op, c->props, extra_props[j.what])) continue;
        Tensor *r = call_out(c, o++, 1, j.what == INVERSE ? &g->n : &g->count);
        if (!r) return false;
        j.to = r->data;
        pool_run(g->pool, (size_t)chunks_of(g->count), fill_extra, &j);
    }
    return true;
}

static bool unique_perform(Call *c) {
    Tensor x = *call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    Groups g = {.n = x.shape[axis], .pool = move_pool(c)};
    size_t n = (size_t)g.n + 1, bytes = 0;
    size_append(&bytes, n, 2 * sizeof(SortPair));
    size_t at_order = size_append(&bytes, n, 4 * sizeof *g.order);
    size_t at_keys = size_append(&bytes, x.ndim == 1 ? 0 : tensor_bytes(&x), 1);
    char *mem = call_scratch(c, bytes);
    if (!mem) return false;
    SortPair *p = (SortPair *)(void *)mem;
    g.order = (int64_t *)(void *)(mem + at_order);
    g.start = g.order + n;
    g.rank = g.start + n;
    g.place = g.rank + n;
    if (x.ndim == 1) {
        bool all = prop_bool(c->s, c->op, c->props, extra_props[INVERSE]);
        if (!group_counted(&x, all, (int64_t *)(void *)mem, &g))
            group_vector(c, &x, p, &g);
    } else
        group_parts(c, &x, axis, mem + at_keys, &g);
    if (prop_bool(c->s, c->op, c->props, "sorted"))
        g.rank = g.place = NULL;
    else
        rank_groups(&g, p);
    return store_groups(c, &x, axis, &g);
}

/* ---- derivatives: the values are x at the first indices ---- */
static Var first_indices(Builder *b, const Op *op, const Props *props, Var x) {
    PropArg arg[3] = {{"axis", *op_prop(b->s, op, props, "axis")},
                      {"sorted", *op_prop(b->s, op, props, "sorted")},
                      {"return_index", PROP_BOOL(true)}};
    Var out[2];
    const Props *with = props_make(b->s, op, 3, arg);
    return op_apply(b, op, with, 1, &x, out) ? out[1] : VAR_NONE;
}

static PropArg index_of_axis(Builder *b, const Op *op, const Props *props, Var x) {
    int64_t axis = op_prop(b->s, op, props, "axis")->i;
    return index_at_axis(b->s, shape_axis_index(axis, var_type(b->g, x)->ndim));
}

static bool unique_pull(Pull *p) {
    if (pull_discrete(p)) return true;
    Builder *b = p->b;
    p->grad[0] = op_float_zeros(b, p->in[0]);
    if (p->cotangent[0] == VAR_NONE || p->grad[0] == VAR_NONE)
        return p->grad[0] != VAR_NONE;
    PropArg index = index_of_axis(b, p->op, p->props, p->in[0]);
    Var to[3] = {p->grad[0], p->cotangent[0],
                 first_indices(b, p->op, p->props, p->in[0])};
    if (to[2] == VAR_NONE) return false;
    return (p->grad[0] = apply_named(b, "set_subtensor", 3, to, 1, &index)) != VAR_NONE;
}

static bool unique_push(Push *p) {
    Builder *b = p->b;
    push_none(p);
    if (p->tangent[0] == VAR_NONE ||
        dtype_is_discrete(var_type(p->g, p->out[0])->dtype))
        return true;
    PropArg index = index_of_axis(b, p->op, p->props, p->in[0]);
    Var in[2] = {p->tangent[0], first_indices(b, p->op, p->props, p->in[0])};
    if (in[1] == VAR_NONE) return false;
    return (p->result[0] = apply_named(b, "subtensor", 2, in, 1, &index)) != VAR_NONE;
}

static const Op table[] = {
    {.name = OP_ROW("unique"),
     .doc =
         "The distinct elements of x flattened, or with an axis the distinct parts "
         "along "
         "it, compared element by element: ascending, or with sorted=False in the "
         "order "
         "in which they come first. After them, if asked for: the index of each first "
         "one; for each element of x, its index among the values (inverse, a vector); "
         "how often each occurs. All nans are one, and come last. The gradient is that "
         "of the first ones.",
     .in = "x",
     .props = "axis: axis? = None, sorted: bool = True, return_index: bool = False, "
              "return_inverse: bool = False, return_counts: bool = False",
     .out = "values, index, inverse, counts",
     .varies = true,
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = sort_expand,
     .type = unique_type,
     .perform = unique_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = unique_pull,
     .push = unique_push,
     .vmap = vmap_by_scan,
     .example = "unique([3, 1, 3]) -> [1, 3]\n"
                "unique([3, 1, 3], return_inverse=True)[1] -> [1, 0, 1]\n"
                "unique([3, 1, 3], sorted=False, return_counts=True)[1] -> [2, 1]\n"
                "unique([[1, 2], [0, 5], [1, 2]], axis=0) -> [[0, 5], [1, 2]]"},
};
const OpList ops_sort_unique = LIST_OF(table);
