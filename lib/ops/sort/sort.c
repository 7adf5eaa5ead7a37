/* sort, argsort, searchsorted. An element maps to a 64-bit key whose unsigned order is
 * the order of the elements (0 and -0 equal, nan largest); pairs of key and position
 * are radix-sorted, stably. Elements without -0 and nan can be recovered from keys of
 * their own size, so sorting them needs no positions. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "vmap/kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SortPair {
    uint64_t key;
    int64_t at;
} SortPair;

enum { SMALL = 48, CHUNK = 1 << 13 };

static uint64_t float_key(double v) {
    uint64_t bits;
    if (isnan(v)) return UINT64_MAX;
    v += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double small_float(size_t item, const char *x) {
    float f;
    uint16_t half;
    if (item == 4) return memcpy(&f, x, 4), (double)f;
    return memcpy(&half, x, 2), half_to_double(half);
}

/* Keys of n elements. */
static void make_keys(DType d, const char *x, int64_t step, int64_t n, SortPair *p) {
    size_t item = dtype_size(d);
    bool is_float = dtype_is_float(d), is_signed = dtype_kind(d) == K_INT;
    for (int64_t i = 0; i < n; i++) {
        double v = 0;
        uint64_t u = 0;
        if (is_float && item == 8)
            memcpy(&v, x + i * step, 8);
        else if (is_float)
            v = small_float(item, x + i * step);
        else if (item == 8)
            memcpy(&u, x + i * step, 8);
        else
            tensor_cast_elements(DT_INT64, &u, d, x + i * step, 1, 0, 0);
        p[i].key = is_float ? float_key(v) : is_signed ? u ^ UINT64_C(1) << 63 : u;
        p[i].at = i;
    }
}

static void insertion_sort(SortPair *p, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        SortPair one = p[i];
        int64_t k = i;
        for (; k > 0 && p[k - 1].key > one.key; k--)
            p[k] = p[k - 1];
        p[k] = one;
    }
}

/* Radix sort by the bytes of the key, least significant first; skips bytes that are
 * equal in all keys. The result ends up in p. */
static void radix_sort(SortPair *p, SortPair *other, int64_t n) {
    int64_t count[8][256] = {{0}};
    SortPair *from = p, *to = other;
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < 8; b++)
            count[b][p[i].key >> (8 * b) & 255]++;
    for (int b = 0; b < 8; b++) {
        if (count[b][from[0].key >> (8 * b) & 255] == n) continue;
        int64_t at = 0;
        for (int v = 0; v < 256; v++) {
            int64_t k = count[b][v];
            count[b][v] = at;
            at += k;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[b][from[i].key >> (8 * b) & 255]++] = from[i];
        SortPair *swap = from;
        from = to;
        to = swap;
    }
    if (from != p) memcpy(p, from, (size_t)n * sizeof *p);
}

typedef struct SortJob {
    bool positions; /* argsort */
    DType dtype;
    int ndim;
    int64_t shape[MAX_NDIM], in[MAX_NDIM], out[MAX_NDIM], n, in_step, out_step;
    const char *x;
    char *r;
    char *work;
    int64_t lines, per_chunk;
} SortJob;

/* ---- elements without positions ---- */
/* Bit masks of the sorted dtype: for floats, the sign and infinity. */
typedef struct KeyForm {
    bool is_float, is_signed;
    uint64_t top, inf;
} KeyForm;

static KeyForm key_form(DType d) {
    size_t item = dtype_size(d);
    return (KeyForm){.is_float = dtype_is_float(d),
                     .is_signed = dtype_kind(d) == K_INT,
                     .top = UINT64_C(1) << (8 * item - 1),
                     .inf = item == 2   ? 0x7c00
                            : item == 4 ? 0x7f800000
                                        : UINT64_C(0x7ff0) << 48};
}

/* NAME_line: false if an element has no key. `room` holds 2 n elements. */
#define LINE(NAME, T)                                                                  \
    static bool NAME##_keys(const KeyForm *f, const char *x, int64_t step, int64_t n,  \
                            T *key) {                                                  \
        T top = (T)f->top, inf = (T)f->inf;                                            \
        bool none = false;                                                             \
        for (int64_t i = 0; i < n; i++) {                                              \
            T b;                                                                       \
            memcpy(&b, x + i * step, sizeof b);                                        \
            if (f->is_float) {                                                         \
                none |= (T)(b & (T)~top) > inf || b == top;                            \
                b = b & top ? (T)~b : (T)(b | top);                                    \
            } else if (f->is_signed) {                                                 \
                b ^= top;                                                              \
            }                                                                          \
            key[i] = b;                                                                \
        }                                                                              \
        return !none;                                                                  \
    }                                                                                  \
    static void NAME##_store(const KeyForm *f, const T *key, int64_t n, char *r,       \
                             int64_t step) {                                           \
        T top = (T)f->top;                                                             \
        for (int64_t i = 0; i < n; i++) {                                              \
            T b = key[i];                                                              \
            if (f->is_float)                                                           \
                b = b & top ? (T)(b ^ top) : (T)~b;                                    \
            else if (f->is_signed)                                                     \
                b ^= top;                                                              \
            memcpy(r + i * step, &b, sizeof b);                                        \
        }                                                                              \
    }                                                                                  \
    static void NAME##_insertion(T *p, int64_t n) {                                    \
        for (int64_t i = 1; i < n; i++) {                                              \
            T one = p[i];                                                              \
            int64_t k = i;                                                             \
            for (; k > 0 && p[k - 1] > one; k--)                                       \
                p[k] = p[k - 1];                                                       \
            p[k] = one;                                                                \
        }                                                                              \
    }                                                                                  \
    /* As by_bytes; returns where the result is. */                                    \
    static T *NAME##_bytes(T *from, T *to, int64_t n) {                                \
        int64_t count[sizeof(T)][256] = {{0}};                                         \
        for (int64_t i = 0; i < n; i++)                                                \
            for (size_t b = 0; b < sizeof(T); b++)                                     \
                count[b][from[i] >> (8 * b) & 255]++;                                  \
        for (size_t b = 0; b < sizeof(T); b++) {                                       \
            int64_t at = 0;                                                            \
            if (count[b][from[0] >> (8 * b) & 255] == n) continue;                     \
            for (int v = 0; v < 256; v++) {                                            \
                int64_t k = count[b][v];                                               \
                count[b][v] = at;                                                      \
                at += k;                                                               \
            }                                                                          \
            for (int64_t i = 0; i < n; i++)                                            \
                to[count[b][from[i] >> (8 * b) & 255]++] = from[i];                    \
            T *swap = from;                                                            \
            from = to;                                                                 \
            to = swap;                                                                 \
        }                                                                              \
        return from;                                                                   \
    }                                                                                  \
    static bool NAME##_line(const SortJob *j, const char *x, char *r, void *room) {    \
        KeyForm f = key_form(j->dtype);                                                \
        T *key = room;                                                                 \
        if (!NAME##_keys(&f, x, j->in_step, j->n, key)) return false;                  \
        if (j->n <= SMALL)                                                             \
            NAME##_insertion(key, j->n);                                               \
        else                                                                           \
            key = NAME##_bytes(key, key + j->n, j->n);                                 \
        NAME##_store(&f, key, j->n, r, j->out_step);                                   \
        return true;                                                                   \
    }
LINE(one, uint8_t)
LINE(two, uint16_t)
LINE(four, uint32_t)
LINE(eight, uint64_t)

static bool elements_line(const SortJob *j, const char *x, char *r, void *room) {
    size_t item = dtype_size(j->dtype);
    return item == 1   ? one_line(j, x, r, room)
           : item == 2 ? two_line(j, x, r, room)
           : item == 4 ? four_line(j, x, r, room)
                       : eight_line(j, x, r, room);
}

/* ---- lines ---- */
static void sort_line(const SortJob *j, const char *x, char *r, SortPair *p) {
    size_t item = dtype_size(j->dtype);
    if (!j->positions && elements_line(j, x, r, p)) return;
    make_keys(j->dtype, x, j->in_step, j->n, p);
    if (j->n <= SMALL)
        insertion_sort(p, j->n);
    else
        radix_sort(p, p + j->n, j->n);
    for (int64_t i = 0; i < j->n; i++)
        if (j->positions)
            memcpy(r + i * j->out_step, &p[i].at, 8);
        else
            memcpy(r + i * j->out_step, x + p[i].at * j->in_step, item);
}

/* Byte offsets of the start of a line. */
static void line_offsets(const SortJob *j, int64_t rest, int64_t *from, int64_t *to) {
    *from = *to = 0;
    for (int k = j->ndim - 1; k >= 0; k--) {
        *from += rest % j->shape[k] * j->in[k];
        *to += rest % j->shape[k] * j->out[k];
        rest /= j->shape[k];
    }
}

static void sort_chunk(void *ctx, size_t chunk, unsigned worker) {
    const SortJob *j = ctx;
    SortPair *p = (SortPair *)(void *)(j->work + (size_t)worker * 2 * (size_t)j->n *
                                                     sizeof(SortPair));
    int64_t at = (int64_t)chunk * j->per_chunk,
            end = at + j->per_chunk < j->lines ? at + j->per_chunk : j->lines;
    for (; at < end; at++) {
        int64_t from, to;
        line_offsets(j, at, &from, &to);
        sort_line(j, j->x + from, j->r + to, p);
    }
}

/* Without an axis, sorts the flattened elements. */
static bool sort_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                        const Var *in, Var *out) {
    (void)nin;
    if (op_prop(b->s, op, p, "axis")->kind != P_NONE) return true;
    PropArg axis = {"axis", PROP_INT(0)};
    Var x = op_call1(b, "ravel", in[0]);
    return (*out = apply_named(b, op->name, 1, &x, 1, &axis)) != VAR_NONE;
}

static bool sort_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    if (!infer_want_rank(in, 0, 1, -1) ||
        !infer_axis(in, infer_prop(in, "axis")->i, x->ndim, &axis))
        return false;
    return infer_out_tensor(in, 0, in->op->out_dtype == OUT_INT64 ? DT_INT64 : x->dtype,
                            x->ndim, x->dim);
}

/* Sets up the operands as lines; lines 0: nothing to do. */
static bool sort_open(Call *c, bool positions, SortJob *j) {
    Tensor x = *call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x.ndim);
    *j = (SortJob){.positions = positions,
                   .dtype = x.dtype,
                   .n = x.shape[axis],
                   .in_step = x.stride[axis],
                   .x = x.data};
    Tensor *out = call_out(c, 0, x.ndim, x.shape);
    if (!out || tensor_size(out) == 0) return out != NULL;
    j->out_step = out->stride[axis];
    j->r = out->data;
    j->lines = 1;
    for (int k = 0; k < x.ndim; k++) {
        if (k == axis) continue;
        j->shape[j->ndim] = x.shape[k];
        j->in[j->ndim] = x.stride[k];
        j->out[j->ndim++] = out->stride[k];
        j->lines *= x.shape[k];
    }
    return true;
}

static bool sort_lines(Call *c, bool positions) {
    SortJob j;
    if (!sort_open(c, positions, &j)) return false;
    if (j.lines == 0) return true;
    Pool *pool = move_pool(c);
    j.per_chunk = j.n < CHUNK ? CHUNK / j.n : 1;
    int64_t chunks = (j.lines + j.per_chunk - 1) / j.per_chunk;
    size_t workers = pool && chunks > 1 ? pool_threads(pool) : 1;
    j.work = call_scratch(c, workers * 2 * (size_t)j.n * sizeof(SortPair));
    if (!j.work) return false;
    if (workers > 1) {
        pool_run(pool, (size_t)chunks, sort_chunk, &j);
    } else {
        j.per_chunk = j.lines;
        sort_chunk(&j, 0, 0);
    }
    return true;
}

static bool sort_perform(Call *c) {
    return sort_lines(c, false);
}

static bool argsort_perform(Call *c) {
    return sort_lines(c, true);
}

/* ---- reference: the C library's sort, line by line ---- */
typedef struct Ranked {
    DType dtype;
    const char *p;
    int64_t at;
} Ranked;

/* By value, nans last; equal elements by position. */
static int compare_ranked(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    double v = 0, w = 0;
    tensor_cast_elements(DT_FLOAT64, &v, x->dtype, x->p, 1, 0, 0);
    tensor_cast_elements(DT_FLOAT64, &w, y->dtype, y->p, 1, 0, 0);
    int order = (v > w) - (v < w);
    if (isnan(v) || isnan(w)) order = (isnan(v) != 0) - (isnan(w) != 0);
    if (order == 0 && x->dtype == DT_INT64) {
        int64_t i, k; /* float64 would round them */
        memcpy(&i, x->p, 8), memcpy(&k, y->p, 8);
        order = (i > k) - (i < k);
    } else if (order == 0 && x->dtype == DT_UINT64) {
        uint64_t i, k;
        memcpy(&i, x->p, 8), memcpy(&k, y->p, 8);
        order = (i > k) - (i < k);
    }
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void reference_line(const SortJob *j, const char *x, char *r, Ranked *v) {
    for (int64_t i = 0; i < j->n; i++)
        v[i] = (Ranked){j->dtype, x + i * j->in_step, i};
    qsort(v, (size_t)j->n, sizeof *v, compare_ranked);
    for (int64_t i = 0; i < j->n; i++)
        if (j->positions)
            memcpy(r + i * j->out_step, &v[i].at, 8);
        else
            memcpy(r + i * j->out_step, v[i].p, dtype_size(j->dtype));
}

static bool sort_reference(Call *c, bool positions) {
    SortJob j;
    if (!sort_open(c, positions, &j)) return false;
    Ranked *v = mem_zalloc(c->s, (size_t)j.n, sizeof *v);
    for (int64_t at = 0; at < j.lines; at++) {
        int64_t from, to;
        line_offsets(&j, at, &from, &to);
        reference_line(&j, j.x + from, j.r + to, v);
    }
    mem_free(v);
    return true;
}

static bool sort_debug(Call *c) {
    return sort_reference(c, false);
}

static bool argsort_debug(Call *c) {
    return sort_reference(c, true);
}

/* The gradient is permuted by the inverse permutation, the argsort of the argsort. */
static const char *const sort_pullback =
    "order = argsort(argsort(x, axis=axis), axis=axis)\n"
    "g_x = take_along_axis(g, order, axis=axis)";
static const char *const sort_pushforward =
    "t_r = take_along_axis(t_x, argsort(x, axis=axis), axis=axis)";

static bool argsort_pull(Pull *p) {
    return pull_discrete(p);
}

/* ---- searchsorted ---- */
static bool searchsorted_type(Infer *in) {
    const char *side = sym_text(in->s, infer_prop(in, "side")->sym);
    if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0)
        return infer_fail(in, E_ARG, in->nin,
                          "side must be 'left' or 'right', not '%s'", side);
    return infer_want_rank(in, 0, 1, 1) &&
           infer_out_tensor(in, 0, DT_INT64, in->type[1]->ndim, in->type[1]->dim);
}

/* The first position whose key is not below (right: above) the key sought. */
static int64_t lower_bound(const Tensor *a, uint64_t key, bool right) {
    int64_t low = 0, high = a->shape[0];
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        SortPair p;
        make_keys(a->dtype, (const char *)a->data + mid * a->stride[0], 0, 1, &p);
        if (right ? p.key <= key : p.key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool searchsorted_perform(Call *c) {
    Tensor a = *call_in(c, 0), v = *call_in(c, 1);
    bool right = strcmp(sym_text(c->s, op_prop(c->s, c->op, c->props, "side")->sym),
                        "right") == 0;
    Tensor *out = call_out(c, 0, v.ndim, v.shape);
    if (!out) return false;
    Iter it;
    const Tensor *op[2] = {out, &v};
    for (iter_init(&it, v.ndim, v.shape, 2, op); !it.done; iter_next(&it))
        for (int64_t i = 0; i < it.inner; i++) {
            SortPair p;
            make_keys(v.dtype, it.ptr[1] + i * it.step[1], 0, 1, &p);
            int64_t *r = (int64_t *)(void *)(it.ptr[0] + i * it.step[0]);
            *r = lower_bound(&a, p.key, right);
        }
    return true;
}

/* One sorted vector serves v of any shape. */
static bool searchsorted_vmap(Vmap *q) {
    return q->rows[0] ? vmap_by_scan(q) : vmap_apply(q, q->props, q->in);
}

static const Op table[] = {
    {.name = OP_ROW("sort"),
     .doc = "Elements in ascending order along axis (None: of x flattened); nan comes "
            "last, equal elements keep their order.",
     .in = "x",
     .props = "axis: axis? = -1",
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = sort_expand,
     .type = sort_type,
     .perform = sort_perform,
     .debug = sort_debug,
     .flops = "0",
     .pullback = sort_pullback,
     .pushforward = sort_pushforward,
     .vmap = vmap_axes,
     .example = "sort([3, 1, 2]) -> [1, 2, 3]\n"
                "sort([[3, 1], [2, 0]], axis=None) -> [0, 1, 2, 3]"},
    {.name = OP_ROW("argsort"),
     .doc = "Positions of the elements in ascending order along axis (None: of x "
            "flattened, row-major), as int64; nan comes last, equal elements keep "
            "their order.",
     .in = "x",
     .props = "axis: axis? = -1",
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = sort_expand,
     .out_dtype = OUT_INT64,
     .type = sort_type,
     .perform = argsort_perform,
     .debug = argsort_debug,
     .flops = "0",
     .pull = argsort_pull,
     .push = push_none,
     .vmap = vmap_axes,
     .example = "argsort([3, 1, 2]) -> [1, 2, 0]"},
    {.name = OP_ROW("searchsorted"),
     .doc = "The position in the sorted vector a at which each v would be inserted: "
            "before equal elements, with side='right' after them.",
     .in = "a, v",
     .props = "side: str = 'left'",
     .promote = PROMOTE_SAME,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = searchsorted_type,
     .perform = searchsorted_perform,
     .flops = "0",
     .pull = argsort_pull,
     .push = push_none,
     .vmap = searchsorted_vmap,
     .example = "searchsorted([1, 3, 5], [0, 3, 9]) -> [0, 1, 3]\nsearchsorted([1, 3, "
                "3], 3, side='right') -> 3"},
};
const OpList ops_sort_sort = LIST_OF(table);
