/* is_member: is each x among the values? By their keys: where those lie close together,
 * or have few bits, by a table of a bit for each key; else by a table of some of them,
 * each at a place that its bits tell, or after it (open addressing). */
#include "ops/shape/linear.h"
#include "ops/shape/move.h"
#include "ops/sort/keys.h"
#include "vmap/kit.h"

#include <string.h>

enum {
    CHUNK = 1 << 14,
    BLOCK = 256,
    FEW = 8,
    SPARSE = 4,  /* places for each value */
    SPREAD = 16, /* bits for each key that is looked up */
};

typedef struct Members {
    SortForm form;
    const SortLoops *loops;
    const char *x; /* contiguous */
    int64_t nx, n; /* of x; of the values without nan */
    uint8_t *r;
    const uint64_t *key;          /* of the values */
    uint64_t least, range, *bits; /* the first bit's key; the last bit */
    uint64_t *slot, free, mask;   /* what is in a free place: the key of no value */
} Members;

#define WIDEN(T)                                                                       \
    for (int64_t k = 0; k < m; k++)                                                    \
        to[k] = ((const T *)(const void *)own)[k];
/* Keys as 64 bits. */
static void keys_of(const Members *q, const char *x, int64_t step, int64_t n,
                    uint64_t *key) {
    uint64_t own[BLOCK];
    if (q->form.item == 8) {
        q->loops->keys(&q->form, x, step, n, key);
        return;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        uint64_t *to = key + i;
        q->loops->keys(&q->form, x + i * step, step, m, own);
        if (q->form.item == 4) {
            WIDEN(uint32_t)
        } else if (q->form.item == 2) {
            WIDEN(uint16_t)
        } else {
            WIDEN(uint8_t)
        }
    }
}

static uint64_t place_of(uint64_t key) {
    key = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return key ^ key >> 32;
}

/* Where the key is, or the free place for it. */
static uint64_t slot_of(const Members *q, uint64_t key) {
    uint64_t k = place_of(key) & q->mask;
    while (q->slot[k] != key && q->slot[k] != q->free)
        k = (k + 1) & q->mask;
    return k;
}

static void look_up(void *ctx, size_t chunk, unsigned worker) {
    const Members *q = ctx;
    uint64_t key[BLOCK];
    int64_t item = (int64_t)q->form.item, i = (int64_t)chunk * CHUNK,
            end = q->nx - i < CHUNK ? q->nx : i + CHUNK;
    (void)worker;
    for (; i < end; i += BLOCK) {
        int64_t m = end - i < BLOCK ? end - i : BLOCK;
        keys_of(q, q->x + i * item, item, m, key);
        if (q->bits)
            for (int64_t k = 0; k < m; k++) {
                uint64_t at = key[k] - q->least, in = at <= q->range;
                at = in ? at : 0;
                q->r[i + k] = (uint8_t)(q->bits[at / 64] >> (at % 64) & in);
            }
        else
            for (int64_t k = 0; k < m; k++)
                q->r[i + k] =
                    (q->slot[slot_of(q, key[k])] == key[k]) & (key[k] != q->free);
    }
}

/* A number that is no value's key: one of the first n + 1. */
static uint64_t free_key(const Members *q, uint8_t *seen) {
    uint64_t k = 0;
    memset(seen, 0, (size_t)q->n + 1);
    for (int64_t i = 0; i < q->n; i++)
        if (q->key[i] <= (uint64_t)q->n) seen[q->key[i]] = 1;
    while (seen[k])
        k++;
    return k;
}

/* Leaves the n values' keys, but those of nan. */
static void drop_nan(Members *q, uint64_t *key, int64_t n) {
    uint64_t nan = q->form.inf | 1, none;
    q->key = key;
    q->n = n;
    if (!q->form.is_float) return;
    keys_of(q, (const char *)&nan, 0, 1, &none);
    q->n = 0;
    for (int64_t i = 0; i < n; i++)
        if (key[i] != none) key[q->n++] = key[i];
}

static void find_range(Members *q) {
    uint64_t most = 0;
    q->least = UINT64_MAX;
    for (int64_t i = 0; i < q->n; i++) {
        q->least = q->key[i] < q->least ? q->key[i] : q->least;
        most = q->key[i] > most ? q->key[i] : most;
    }
    q->range = most - q->least;
}

static void fill_table(Members *q, size_t places, uint8_t *seen) {
    if (q->bits) {
        memset(q->bits, 0, q->range / 64 * 8 + 8);
        for (int64_t i = 0; i < q->n; i++) {
            uint64_t at = q->key[i] - q->least;
            q->bits[at / 64] |= UINT64_C(1) << (at % 64);
        }
        return;
    }
    q->free = free_key(q, seen);
    q->mask = places - 1;
    for (size_t i = 0; i < places; i++)
        q->slot[i] = q->free;
    for (int64_t i = 0; i < q->n; i++)
        q->slot[slot_of(q, q->key[i])] = q->key[i];
}

/* What a vector of values needs: its keys, and a table, whose size their range tells.
 */
typedef struct MemberRoom {
    uint64_t *key, *table;
    uint8_t *seen;
    size_t places; /* of the one kind of table */
    uint64_t most; /* bits of the other */
} MemberRoom;

/* A few among many: comparing is faster than making a table. */
static void compare_all(const Members *q) {
    uint64_t key[FEW];
    keys_of(q, q->x, (int64_t)q->form.item, q->nx, key);
    for (int64_t i = 0; i < q->nx; i++) {
        uint64_t one = key[i];
        int equal = 0;
        for (int64_t k = 0; k < q->n; k++)
            equal |= q->key[k] == one;
        q->r[i] = equal != 0;
    }
}

static void find_members(Members q, Pool *pool, const char *values, int64_t step,
                         int64_t n, const MemberRoom *room) {
    keys_of(&q, values, step, n, room->key);
    drop_nan(&q, room->key, n);
    if (q.nx <= FEW) {
        compare_all(&q);
        return;
    }
    if (q.n == 0) {
        memset(q.r, 0, (size_t)q.nx);
        return;
    }
    find_range(&q);
    *(q.range < room->most ? &q.bits : &q.slot) = room->table;
    fill_table(&q, room->places, room->seen);
    pool_run(pool, (size_t)((q.nx + CHUNK - 1) / CHUNK), look_up, &q);
}

static bool is_member_perform(Call *c) {
    Tensor values = *call_in(c, 0), x = *call_in(c, 1);
    Tensor *out =
        sort_search_fits(c, &values, &x) ? call_out(c, 0, x.ndim, x.shape) : NULL;
    if (!out || tensor_size(&x) == 0) return out != NULL;
    int last = values.ndim - 1;
    int64_t n = values.shape[last], each = 1;
    for (int k = last; k < x.ndim; k++)
        each *= x.shape[k];
    MemberRoom r = {.places = 16, .most = SPREAD * (uint64_t)(each + n)};
    r.most = r.most < 1 << 16 ? 1 << 16 : r.most;
    while (r.places < (size_t)n * SPARSE)
        r.places *= 2;
    size_t all = 0, words = r.most / 64 + 1,
           key = size_append(&all, (size_t)n + 1, sizeof(uint64_t)),
           seen = size_append(&all, (size_t)n + 1, 1),
           table =
               size_append(&all, r.places > words ? r.places : words, sizeof(uint64_t)),
           copy = size_append(&all, tensor_is_contiguous(&x) ? 0 : tensor_bytes(&x), 1);
    char *room = call_scratch(c, all);
    if (!room) return false;
    r.key = (uint64_t *)(void *)(room + key);
    r.table = (uint64_t *)(void *)(room + table);
    r.seen = (uint8_t *)room + seen;
    const char *sought = move_contiguous(move_pool(c), &x, room + copy).data;
    Members q = {.form = sort_form(x.dtype, false),
                 .loops = sort_loops(c->s, x.dtype),
                 .nx = each};
    for (int64_t k = 0; k < tensor_size(&x) / each; k++) {
        q.x = sought + k * each * (int64_t)q.form.item;
        q.r = (uint8_t *)out->data + k * each;
        find_members(q, move_pool(c),
                     (const char *)values.data +
                         move_offset(last, values.shape, values.stride, k),
                     (int64_t)values.stride[last], n, &r);
    }
    return true;
}

static bool is_member_type(Infer *in) {
    return sort_search_type(in, DT_BOOL);
}

static const Op table[] = {
    {.name = OP_ROW("is_member"),
     .doc =
         "Is each element of x one of the values, a vector? nan is none of them. The "
         "first batch_dims dims of both belong together. isin expands to this.",
     .in = "values, x",
     .props = "batch_dims: int = 0",
     .internal = true,
     .promote = PROMOTE_SAME,
     .kinds = KIND_BOOL | KIND_REAL,
     .type = is_member_type,
     .perform = is_member_perform,
     .reentrant = true,
     .fails = op_never_fails,
     .flops = "0",
     .pull = pull_discrete,
     .push = push_none,
     .vmap = sort_search_vmap,
     .example = "is_member([1, 3], [1, 2, 3]) -> [True, False, True]"},
};
const OpList ops_sort_member = LIST_OF(table);
