/* sort and argsort. Keys are sorted with their positions, stably: packed into 64 bits,
 * or as pairs, by bytes. Elements without -0 and nan can be recovered from their keys,
 * so sorting them needs no positions, and where a CPU has a quicksort of vectors that
 * is the fastest way. Threads share long lines, of which there may be one alone. */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "ops/sort/keys.h"
#include "vmap/kit.h"

#include <stdatomic.h>
#include <string.h>

/* Lines up to TINY are sorted by insertion. Longer ones are merged (SortLoops.line)
 * until bytes win: they pass over each line once for each byte. */
enum { TINY = 12, BESIDE = 32, SHORT = 1024, MERGED = 4096, CHUNK = 1 << 13 };

typedef struct SortJob {
    bool positions; /* argsort */
    DType dtype;
    SortForm form;
    const SortLoops *loops, *wide;       /* of the elements; of keys of 64 bits */
    const SortQuick *quick, *quick_wide; /* the same, or NULL */
    int64_t columns; /* lines that are sorted side by side; 0: none */
    int ndim;
    int64_t shape[MAX_NDIM], in[MAX_NDIM], out[MAX_NDIM], n, in_step, out_step;
    const char *x;
    char *r;
    char *work;
    size_t work_size;
    int64_t lines, per_chunk;
    Pool *pool; /* its threads share each line; NULL: each has lines of its own */
} SortJob;

static bool is_merged(size_t item, int64_t n) {
    return n > TINY && n <= (item == 8 ? MERGED : item == 4 ? SHORT : 0);
}

/* ---- elements without positions ---- */
/* NAME_line: false if an element has no key. `room` holds 2 n elements. */
#define LINE(NAME, T)                                                                  \
    static bool NAME##_keys(const SortForm *f, const char *x, int64_t step, int64_t n, \
                            T *key) {                                                  \
        T top = (T)f->top, inf = (T)f->inf, flip = f->descending ? (T) ~(T)0 : 0;      \
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
            key[i] = b ^ flip;                                                         \
        }                                                                              \
        return !none;                                                                  \
    }                                                                                  \
    static void NAME##_store(const SortForm *f, const T *key, int64_t n, char *r,      \
                             int64_t step) {                                           \
        T top = (T)f->top, flip = f->descending ? (T) ~(T)0 : 0;                       \
        for (int64_t i = 0; i < n; i++) {                                              \
            T b = key[i] ^ flip;                                                       \
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
        const SortForm *f = &j->form;                                                  \
        T *key = room;                                                                 \
        if (!NAME##_keys(f, x, j->in_step, j->n, key)) return false;                   \
        if (j->n <= TINY)                                                              \
            NAME##_insertion(key, j->n);                                               \
        else if (is_merged(sizeof(T), j->n))                                           \
            key = j->loops->line(key, key + j->n + SORT_COLUMN / sizeof(T), j->n);     \
        else                                                                           \
            key = NAME##_bytes(key, key + j->n, j->n);                                 \
        NAME##_store(f, key, j->n, r, j->out_step);                                    \
        return true;                                                                   \
    }
LINE(one, uint8_t)
LINE(two, uint16_t)
LINE(four, uint32_t)
LINE(eight, uint64_t)

/* ---- a long line, shared by threads ---- */
typedef struct SharedLine {
    const SortJob *j;
    const char *x;
    char *r, *key;
    const SortPair *pair; /* or keys */
    atomic_bool untold;   /* an element can't be recovered from its key */
    SortPacking packing;
    uint64_t first, *packed; /* the first key; keys with positions */
    _Atomic uint64_t vary;   /* bits that are not those of the first key */
} SharedLine;
enum { SHARE = 1 << 13 }; /* elements of a chunk */

/* Their number from *at on. */
static int64_t share_of(const SortJob *j, size_t chunk, int64_t *at) {
    *at = (int64_t)chunk * SHARE;
    return j->n - *at < SHARE ? j->n - *at : SHARE;
}

static void run_shares(const SortJob *j, ChunkFn *fn, SharedLine *l) {
    pool_run(j->pool, (size_t)((j->n + SHARE - 1) / SHARE), fn, l);
}

static void make_keys(void *ctx, size_t chunk, unsigned worker) {
    SharedLine *l = ctx;
    const SortJob *j = l->j;
    int64_t at, n = share_of(j, chunk, &at);
    (void)worker;
    if (!j->loops->told(&j->form, l->x + at * j->in_step, j->in_step, n,
                        l->key + (size_t)at * j->form.item))
        atomic_store_explicit(&l->untold, true, memory_order_relaxed);
}

static void make_elements(void *ctx, size_t chunk, unsigned worker) {
    const SharedLine *l = ctx;
    const SortJob *j = l->j;
    int64_t at, n = share_of(j, chunk, &at);
    (void)worker;
    j->loops->elements(&j->form, l->key + (size_t)at * j->form.item, n,
                       l->r + at * j->out_step, j->out_step);
}

static void move_elements(char *to, int64_t to_step, const char *x, int64_t step,
                          int64_t n, size_t item) {
    if (item == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, x + i * step, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, x + i * step, 8);
}

/* As NAME_line. */
static bool share_elements(const SortJob *j, const char *x, char *r, void *room) {
    SharedLine l = {.j = j, .x = x, .r = r, .key = room};
    size_t item = j->form.item;
    run_shares(j, make_keys, &l);
    if (l.untold) return false;
    if (j->quick) {
        bool put = j->out_step != (int64_t)item;
        char *other = l.key + (size_t)j->n * item;
        sort_quick_shared(j->pool, j->quick, &j->form, room, other, j->n,
                          put ? room : r);
        if (put) move_elements(r, j->out_step, room, (int64_t)item, j->n, item);
        return true;
    }
    l.key = sort_keys(j->pool, item, room, l.key + (size_t)j->n * item, j->n);
    run_shares(j, make_elements, &l);
    return true;
}

/* ---- a line by quicksort, which wants adjacent elements ---- */
/* As NAME_line; room: 4 n elements. */
static bool quick_line(const SortJob *j, const char *x, char *r, char *room) {
    size_t item = j->form.item, line = (size_t)j->n * item;
    bool apart = j->in_step != (int64_t)item, put = j->out_step != (int64_t)item;
    char *from = room + 2 * line, *to = from + line;
    if (apart) move_elements(from, (int64_t)item, x, j->in_step, j->n, item);
    if (!j->quick->line(&j->form, apart ? from : x, j->n, room, put ? to : r, SORT_BAD))
        return false;
    if (put) move_elements(r, j->out_step, to, (int64_t)item, j->n, item);
    return true;
}

static bool elements_line(const SortJob *j, const char *x, char *r, void *room) {
    size_t item = dtype_size(j->dtype);
    return sort_is_shared(j->pool, j->n) ? share_elements(j, x, r, room)
           : j->quick                    ? quick_line(j, x, r, room)
           : item == 1                   ? one_line(j, x, r, room)
           : item == 2                   ? two_line(j, x, r, room)
           : item == 4                   ? four_line(j, x, r, room)
                                         : eight_line(j, x, r, room);
}

/* ---- keys with positions ---- */
#define WIDEN(T)                                                                       \
    for (int64_t i = 0; i < j->n; i++)                                                 \
        key[i] = ((const T *)room)[i];
/* The keys of a line in 64 bits; room: as many. */
static void wide_keys(const SortJob *j, const char *x, uint64_t *key, void *room) {
    size_t item = dtype_size(j->dtype);
    j->loops->keys(&j->form, x, j->in_step, j->n, item < 8 ? room : key);
    if (item == 1) {
        WIDEN(uint8_t)
    } else if (item == 2) {
        WIDEN(uint16_t)
    } else if (item == 4) {
        WIDEN(uint32_t)
    }
}

/* The keys of a share, and in what they differ. */
static void make_packable(void *ctx, size_t chunk, unsigned worker) {
    SharedLine *l = ctx;
    const SortJob *j = l->j;
    int64_t at, n = share_of(j, chunk, &at);
    char *key = l->key + (size_t)at * j->form.item;
    (void)worker;
    j->loops->keys(&j->form, l->x + at * j->in_step, j->in_step, n, key);
    uint64_t vary = j->loops->varying(key, n, l->first);
    atomic_fetch_or_explicit(&l->vary, vary, memory_order_relaxed);
}

static void pack_share(void *ctx, size_t chunk, unsigned worker) {
    const SharedLine *l = ctx;
    const SortJob *j = l->j;
    int64_t at, n = share_of(j, chunk, &at);
    (void)worker;
    j->loops->pack(l->key + (size_t)at * j->form.item, n, l->packing, at,
                   l->packed + at);
}

/* Is any like its neighbour in all bits that are packed? The last one of the share
 * before is a neighbour, too. */
static void compare_share(void *ctx, size_t chunk, unsigned worker) {
    SharedLine *l = ctx;
    int64_t at, n = share_of(l->j, chunk, &at), more = at > 0;
    (void)worker;
    if (!l->j->wide->apart(l->packed + at - more, n + more, l->packing.position))
        atomic_store_explicit(&l->untold, true, memory_order_relaxed);
}

/* Sorts n packed keys from `from` to `to`; between them, room for n + MORE. */
enum { MORE = SORT_COLUMN / sizeof(uint64_t) };
static uint64_t *sort_packed(const SortJob *j, uint64_t *from, uint64_t *to) {
    static const SortForm keys = {.item = sizeof(uint64_t)};
    if (!j->quick_wide) return j->wide->line(from, to, j->n);
    if (j->pool)
        sort_quick_shared(j->pool, j->quick_wide, &keys, from, from + j->n, j->n, to);
    else
        j->quick_wide->line(&keys, from, j->n, from, to, SORT_BAD);
    return to;
}

/* Are lines sorted as packed keys? With few bytes in a key, bytes are faster. */
static bool is_packed(const SortJob *j) {
    return is_merged(sizeof(uint64_t), j->n) || (j->quick_wide && j->form.item >= 4);
}

/* Positions of a line in order, in the bits l->packing.position of l->packed; room:
 * line_bytes. False: they must be found in another way. */
static bool packed_order(SharedLine *l, void *room) {
    const SortJob *j = l->j;
    if (!is_packed(j)) return false;
    uint64_t *key = room, *from = key + j->n + MORE, *to = from + 2 * j->n;
    l->key = room;
    j->loops->keys(&j->form, l->x, 0, 1, &l->first);
    l->first = sort_key_at(j->form.item, &l->first, 0);
    run_shares(j, make_packable, l);
    l->packing.position = UINT64_MAX >> __builtin_clzll((uint64_t)j->n);
    if (l->vary) l->packing.up = __builtin_clzll(l->vary);
    l->packed = from;
    run_shares(j, pack_share, l);
    l->packed = sort_packed(j, from, to);
    run_shares(j, compare_share, l);
    return !l->untold ||
           sort_settle(j->wide, &(SortPacked){j->form.item, j->n, key, l->packed,
                                              l->packing.position});
}

/* ---- lines ---- */
/* What a line needs: 2 n pairs, or its keys and what merges them. */
static size_t line_bytes(int64_t n) {
    return 2 * (size_t)n * sizeof(SortPair) + 3 * SORT_COLUMN;
}

static void store_pairs(void *ctx, size_t chunk, unsigned worker) {
    const SharedLine *l = ctx;
    const SortJob *j = l->j;
    size_t item = j->form.item;
    int64_t i, n = share_of(j, chunk, &i), end = i + n;
    (void)worker;
    for (; i < end; i++)
        if (j->positions)
            memcpy(l->r + i * j->out_step, &l->pair[i].at, 8);
        else
            memcpy(l->r + i * j->out_step, l->x + l->pair[i].at * j->in_step, item);
}

static void store_packed(void *ctx, size_t chunk, unsigned worker) {
    const SharedLine *l = ctx;
    const SortJob *j = l->j;
    int64_t at, n = share_of(j, chunk, &at), step = j->out_step,
                item = (int64_t)j->form.item;
    char *r = l->r + at * step;
    const uint64_t *from = l->packed + at, low = l->packing.position;
    (void)worker;
    if (j->positions)
        j->wide->low_bits(from, n, low, (int64_t *)(void *)r, step / 8);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(r + i * step, l->x + (int64_t)(from[i] & low) * j->in_step,
                   (size_t)item);
}

static void sort_line(const SortJob *j, const char *x, char *r, SortPair *p) {
    SharedLine l = {.j = j, .x = x, .r = r, .pair = p};
    if (!j->positions && elements_line(j, x, r, p)) return;
    if (packed_order(&l, p)) {
        run_shares(j, store_packed, &l);
        return;
    }
    sort_make_pairs(j->pool, j->loops, &j->form, x, j->in_step, j->n, p);
    sort_pairs(j->pool, p, p + j->n, j->n);
    run_shares(j, store_pairs, &l);
}

static void line_offsets(const SortJob *j, int64_t rest, int64_t *from, int64_t *to);

/* ---- many short lines at once ---- */
/* Lines of n keys, one after the other, as columns of rows of SORT_COLUMN bytes, and
 * back again. */
static void put_columns(const SortJob *j, size_t item, int64_t lines, const char *key,
                        char *column) {
    if (lines < (int64_t)(SORT_COLUMN / item))
        memset(column, 0, (size_t)j->n * SORT_COLUMN);
    transpose_in_cache(&(Transposition){column, SORT_COLUMN, key,
                                        (ptrdiff_t)item * j->n, (size_t)j->n,
                                        (size_t)lines, item});
}

static void take_columns(const SortJob *j, size_t item, int64_t lines,
                         const char *column, char *key) {
    transpose_in_cache(&(Transposition){key, (ptrdiff_t)item * j->n, column,
                                        SORT_COLUMN, (size_t)lines, (size_t)j->n,
                                        item});
}

static bool lines_beside(const SortJob *j, int64_t at, int64_t lines) {
    int64_t item = (int64_t)dtype_size(j->dtype), last = j->ndim - 1;
    return last >= 0 && j->in[last] == item && j->out[last] == item &&
           at % j->shape[last] + lines <= j->shape[last];
}

/* Lines side by side in memory, from line `at` on, are columns as they are; false if
 * they are not, or an element can't be recovered from its key. */
static bool sort_beside(const SortJob *j, int64_t at, int64_t lines, char *room) {
    int64_t from, to, item = (int64_t)dtype_size(j->dtype);
    if (!lines_beside(j, at, lines)) return false;
    line_offsets(j, at, &from, &to);
    if (lines < SORT_COLUMN / item) memset(room, 0, (size_t)j->n * SORT_COLUMN);
    for (int64_t i = 0; i < j->n; i++)
        if (!j->loops->told(&j->form, j->x + from + i * j->in_step, item, lines,
                            room + i * SORT_COLUMN))
            return false;
    j->loops->network(room, j->n);
    for (int64_t i = 0; i < j->n; i++)
        j->loops->elements(&j->form, room + i * SORT_COLUMN, lines,
                           j->r + to + i * j->out_step, item);
    return true;
}

/* As many lines as fit side by side, from line `at` on, each a column of keys in
 * `room`. A line with an element that its key doesn't tell is sorted by itself. */
static void sort_columns(const SortJob *j, int64_t at, int64_t lines, char *room,
                         SortPair *p) {
    int64_t from, to;
    bool done[SORT_COLUMN];
    size_t item = dtype_size(j->dtype), line = (size_t)j->n * item;
    char *key = room + (size_t)j->n * SORT_COLUMN;
    if (sort_beside(j, at, lines, room)) return;
    for (int64_t l = 0; l < lines; l++) {
        line_offsets(j, at + l, &from, &to);
        done[l] = !j->loops->told(&j->form, j->x + from, j->in_step, j->n,
                                  key + (size_t)l * line);
        if (done[l]) sort_line(j, j->x + from, j->r + to, p);
    }
    put_columns(j, item, lines, key, room);
    j->loops->network(room, j->n);
    take_columns(j, item, lines, room, key);
    for (int64_t l = 0; l < lines; l++) {
        line_offsets(j, at + l, &from, &to);
        if (!done[l])
            j->loops->elements(&j->form, key + (size_t)l * line, j->n, j->r + to,
                               j->out_step);
    }
}

/* The same for positions: they are the lower half of 64-bit keys, whose upper half are
 * keys of at most 32 bits. */
static void argsort_columns(const SortJob *j, int64_t at, int64_t lines, char *room,
                            SortPair *p) {
    int64_t from, to;
    uint64_t *key = (uint64_t *)(void *)(room + (size_t)j->n * SORT_COLUMN), *one = key;
    for (int64_t l = 0; l < lines; l++, one += j->n) {
        line_offsets(j, at + l, &from, &to);
        wide_keys(j, j->x + from, one, p);
        for (int64_t i = 0; i < j->n; i++)
            one[i] = one[i] << 32 | (uint64_t)i;
    }
    put_columns(j, sizeof *key, lines, (const char *)key, room);
    j->wide->network(room, j->n);
    take_columns(j, sizeof *key, lines, room, (char *)key);
    one = key;
    for (int64_t l = 0; l < lines; l++, one += j->n) {
        line_offsets(j, at + l, &from, &to);
        for (int64_t i = 0; i < j->n; i++) {
            int64_t place = (int64_t)(one[i] & UINT32_MAX);
            memcpy(j->r + to + i * j->out_step, &place, sizeof place);
        }
    }
}

/* Byte offsets of the start of a line. */
static void line_offsets(const SortJob *j, int64_t rest, int64_t *from, int64_t *to) {
    *from = *to = 0;
    for (int k = j->ndim - 1; k > 0; k--) {
        *from += rest % j->shape[k] * j->in[k];
        *to += rest % j->shape[k] * j->out[k];
        rest /= j->shape[k];
    }
    if (j->ndim > 0) *from += rest * j->in[0], *to += rest * j->out[0];
}

static void sort_chunk(void *ctx, size_t chunk, unsigned worker) {
    const SortJob *j = ctx;
    char *work = j->work + worker * j->work_size;
    SortPair *p = (SortPair *)(void *)work;
    char *room = work + line_bytes(j->n);
    int64_t at = (int64_t)chunk * j->per_chunk,
            end = at + j->per_chunk < j->lines ? at + j->per_chunk : j->lines;
    while (j->columns && end - at >= (j->columns + 3) / 4) {
        int64_t lines = end - at < j->columns ? end - at : j->columns;
        (j->positions ? argsort_columns : sort_columns)(j, at, lines, room, p);
        at += lines;
    }
    for (; at < end; at++) {
        int64_t from, to;
        line_offsets(j, at, &from, &to);
        sort_line(j, j->x + from, j->r + to, p);
    }
}

static bool sort_type(Infer *in) {
    const Type *x = in->type[0];
    int axis;
    return sort_axis(in, &axis) &&
           infer_out_tensor(in, 0, in->op->out_dtype == OUT_INT64 ? DT_INT64 : x->dtype,
                            x->ndim, x->dim);
}

/* The lines of input 0 along the axis, and those of `out`, which has its shape. */
static SortJob job_of(Call *c, bool positions, int axis, bool descending,
                      const Tensor *out) {
    const Tensor *x = call_in(c, 0);
    SortJob j = {.positions = positions,
                 .dtype = x->dtype,
                 .form = sort_form(x->dtype, descending),
                 .loops = sort_loops(c->s, x->dtype),
                 .n = x->shape[axis],
                 .in_step = x->stride[axis],
                 .out_step = out->stride[axis],
                 .x = x->data,
                 .r = out->data,
                 .lines = 1};
    for (int k = 0; k < x->ndim; k++) {
        if (k == axis) continue;
        j.shape[j.ndim] = x->shape[k];
        j.in[j.ndim] = x->stride[k];
        j.out[j.ndim++] = out->stride[k];
        j.lines *= x->shape[k];
    }
    return j;
}

/* Sets up the operands as lines; lines 0: nothing to do. */
static bool sort_open(Call *c, bool positions, SortJob *j) {
    const Tensor *x = call_in(c, 0);
    int axis = shape_axis_index(prop_int(c->s, c->op, c->props, "axis"), x->ndim);
    bool descending = prop_bool(c->s, c->op, c->props, "descending");
    *j = (SortJob){0};
    Tensor *out = call_out(c, 0, x->ndim, x->shape);
    if (out && tensor_size(out) > 0) *j = job_of(c, positions, axis, descending, out);
    return out != NULL;
}

/* Where lines could be sorted by AVX-512, one after the other. */
static bool beside_is_faster(const SortJob *j, int64_t columns) {
    return lines_beside(j, 0, columns) && (dtype_size(j->dtype) == 4 || j->n <= BESIDE);
}

static void plan_columns(Call *c, SortJob *j) {
    size_t item = dtype_size(j->dtype);
    j->wide = sort_loops(c->s, DT_UINT64);
    j->quick = sort_quick(c->s, j->dtype);
    j->quick_wide = sort_quick(c->s, DT_UINT64);
    int64_t columns = SORT_COLUMN / (int64_t)(j->positions ? sizeof(uint64_t) : item);
    if (j->n < 2 || j->n > SHORT || (j->positions && item > 4)) return;
    if (j->positions ? j->quick_wide && j->n > TINY
                     : j->quick && !beside_is_faster(j, columns))
        return;
    j->columns = columns;
    if (j->lines < (j->columns + 3) / 4) j->columns = 0;
}

/* Lines for each chunk: as many as fit side by side, or several times as many. */
static int64_t lines_per_chunk(const SortJob *j) {
    int64_t lines = j->n < CHUNK ? CHUNK / j->n : 1;
    return j->columns ? (lines + j->columns - 1) / j->columns * j->columns : lines;
}

/* With `bytes`, the result is as large, and goes to scratch. */
static bool run_job(Call *c, SortJob *j, size_t bytes) {
    Pool *pool = move_pool(c);
    plan_columns(c, j);
    j->per_chunk = lines_per_chunk(j);
    j->pool = sort_is_shared(pool, j->n) ? pool : NULL;
    int64_t chunks = (j->lines + j->per_chunk - 1) / j->per_chunk;
    size_t workers = !j->pool && chunks > 1 ? pool_threads(pool) : 1, all = 0, work;
    j->work_size = line_bytes(j->n) + (j->columns ? 2 * (size_t)j->n * SORT_COLUMN : 0);
    work = size_append(&all, workers, j->work_size);
    size_t to = size_append(&all, bytes, 1);
    char *room = call_scratch(c, all);
    if (!room) return false;
    j->work = room + work;
    if (bytes) j->r = room + to;
    if (workers > 1) {
        pool_run(pool, (size_t)chunks, sort_chunk, j);
    } else {
        j->per_chunk = j->lines;
        sort_chunk(j, 0, 0);
    }
    return true;
}

static bool sort_lines(Call *c, bool positions) {
    SortJob j;
    return sort_open(c, positions, &j) && (j.lines == 0 || run_job(c, &j, 0));
}

static bool sort_perform(Call *c) {
    return sort_lines(c, false);
}

static bool argsort_perform(Call *c) {
    return sort_lines(c, true);
}

/* ---- reference ---- */
static void reference_line(const SortJob *j, const char *x, char *r, SortRanked *v) {
    for (int64_t i = 0; i < j->n; i++)
        v[i] = (SortRanked){j->dtype, j->form.descending, x + i * j->in_step, i};
    sort_ranked(v, j->n);
    for (int64_t i = 0; i < j->n; i++)
        if (j->positions)
            memcpy(r + i * j->out_step, &v[i].at, 8);
        else
            memcpy(r + i * j->out_step, v[i].p, dtype_size(j->dtype));
}

static void run_reference(Call *c, const SortJob *j) {
    SortRanked *v = mem_zalloc(c->s, (size_t)j->n, sizeof *v);
    for (int64_t at = 0; at < j->lines; at++) {
        int64_t from, to;
        line_offsets(j, at, &from, &to);
        reference_line(j, j->x + from, j->r + to, v);
    }
    mem_free(v);
}

static bool sort_reference(Call *c, bool positions) {
    SortJob j;
    if (!sort_open(c, positions, &j)) return false;
    if (j.lines) run_reference(c, &j);
    return true;
}

bool sort_to_scratch(Call *c, int axis, bool reference, Tensor *sorted) {
    const Tensor *x = call_in(c, 0);
    *sorted = *x;
    sorted->data = NULL;
    move_strides(dtype_size(x->dtype), x->ndim, x->shape, sorted->stride);
    SortJob j = job_of(c, false, axis, false, sorted);
    if (reference) {
        if (!(j.r = call_scratch(c, tensor_bytes(x)))) return false;
        run_reference(c, &j);
    } else if (!run_job(c, &j, tensor_bytes(x))) {
        return false;
    }
    sorted->data = j.r;
    return true;
}

static bool sort_debug(Call *c) {
    return sort_reference(c, false);
}

static bool argsort_debug(Call *c) {
    return sort_reference(c, true);
}

/* The gradient goes where the elements came from. */
static const char *const sort_pullback =
    "order = argsort(x, axis=axis, descending=descending)\n"
    "g_x = put_along_axis(zeros_like(g), order, g, axis=axis)";
static const char *const sort_pushforward =
    "order = argsort(x, axis=axis, descending=descending)\n"
    "t_r = take_along_axis(t_x, order, axis=axis)";

static const Op table[] = {
    {.name = OP_ROW("sort"),
     .doc = "Elements in ascending order along axis (None: of x flattened); nan comes "
            "last, equal elements keep their order, also with descending=True, which "
            "brings nan and the largest to the front.",
     .in = "x",
     .props = "axis: axis? = -1, descending: bool = False",
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = sort_expand,
     .type = sort_type,
     .perform = sort_perform,
     .reentrant = true,
     .debug = sort_debug,
     .flops = "0",
     .pullback = sort_pullback,
     .pushforward = sort_pushforward,
     .vmap = vmap_axes,
     .example = "sort([3, 1, 2]) -> [1, 2, 3]\n"
                "sort([[3, 1], [2, 0]], axis=None) -> [0, 1, 2, 3]\n"
                "sort([3.0, nan, 1.0], descending=True) -> [nan, 3.0, 1.0]"},
    {.name = OP_ROW("argsort"),
     .doc = "Positions of the elements in ascending order along axis (None: of x "
            "flattened, row-major), as int64; nan comes last, equal elements keep "
            "their order.",
     .in = "x",
     .props = "axis: axis? = -1, descending: bool = False",
     .kinds = KIND_BOOL | KIND_REAL,
     .expand = sort_expand,
     .out_dtype = OUT_INT64,
     .type = sort_type,
     .perform = argsort_perform,
     .reentrant = true,
     .debug = argsort_debug,
     .flops = "0",
     .pull = pull_discrete,
     .push = push_none,
     .vmap = vmap_axes,
     .example = "argsort([3, 1, 2]) -> [1, 2, 0]\nargsort([1, 3, 1], descending=True) "
                "-> [1, 0, 2]"},
};
const OpList ops_sort_sort = LIST_OF(table);
