/* Open addressing with linear probing. A map is at most half full, so that probes stay
 * short; of an index, a comparison of hashes passes what others have. */
#include "base/map.h"

enum { FIRST_SIZE = 16 };

/* Keeps eight neighbours in a cache line: most keys are numbers assigned in order. */
static inline size_t home_slot(const Map *m, uint64_t key) {
    uint64_t h = (key >> 3) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)((h ^ h >> 32) << 3 | (key & 7)) & m->mask;
}

/* The slot of `key`, or the free slot where it would go. */
static inline size_t probe_slot(const Map *m, uint64_t key) {
    size_t i = home_slot(m, key);
    while (m->used[i] && m->key[i] != key)
        i = (i + 1) & m->mask;
    return i;
}

bool map_get(const Map *m, uint64_t key, uint64_t *val) {
    if (m->n == 0) return false;
    size_t i = probe_slot(m, key);
    if (!m->used[i]) return false;
    if (val) *val = m->val[i];
    return true;
}

static void map_resize(Map *m, size_t size) {
    Map big = {.s = m->s, .n = m->n, .mask = size - 1};
    big.key = mem_zalloc(m->s, size, sizeof *big.key);
    big.val = mem_zalloc(m->s, size, sizeof *big.val);
    big.used = mem_zalloc(m->s, size, 1);
    for (size_t i = 0; m->key && i <= m->mask; i++) {
        if (!m->used[i]) continue;
        size_t k = probe_slot(&big, m->key[i]);
        big.used[k] = 1;
        big.key[k] = m->key[i];
        big.val[k] = m->val[i];
    }
    map_free(m);
    *m = big;
}

void map_put(Map *m, uint64_t key, uint64_t val) {
    if (!m->key)
        map_resize(m, FIRST_SIZE);
    else if (2 * m->n > m->mask)
        map_resize(m, 2 * (m->mask + 1));
    size_t i = probe_slot(m, key);
    m->n += !m->used[i];
    m->used[i] = 1;
    m->key[i] = key;
    m->val[i] = val;
}

void map_free(Map *m) {
    mem_free(m->key);
    mem_free(m->val);
    mem_free(m->used);
    *m = MAP(m->s);
}

/* ---- the index ---- */

uint32_t index_find(const Index *x, uint64_t hash, SameFn *same, const void *ctx) {
    if (x->n == 0) return UINT32_MAX;
    return (uint32_t)*index_slot(x, index_short_hash(hash), same, ctx) - 1;
}

static void index_place(Index *x, uint64_t slot) {
    size_t i = (slot >> 32) & x->mask;
    while (x->slot[i])
        i = (i + INDEX_STEP) & x->mask;
    x->slot[i] = slot;
}

static void index_resize(Index *x, size_t size) {
    Index big = {.s = x->s, .n = x->n, .mask = size - 1};
    big.slot = mem_zalloc(x->s, size, sizeof *big.slot);
    for (size_t i = 0; x->slot && i <= x->mask; i++)
        if (x->slot[i]) index_place(&big, x->slot[i]);
    index_free(x);
    *x = big;
}

void index_reserve(Index *x, size_t extra) {
    size_t size = x->slot ? x->mask + 1 : FIRST_SIZE;
    while (!index_has_room(size, x->n + extra))
        size *= 2;
    if (!x->slot || size > x->mask + 1) index_resize(x, size);
}

void index_add(Index *x, uint64_t hash, uint32_t id) {
    if (!index_has_room(x->mask + 1, x->n + 1)) index_reserve(x, 1);
    index_place(x, (uint64_t)index_short_hash(hash) << 32 | (id + 1));
    x->n++;
}

void index_free(Index *x) {
    mem_free(x->slot);
    *x = INDEX(x->s);
}
