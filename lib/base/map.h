/* Hash tables: 64-bit keys to 64-bit values, and an index of numbered things by
 * hash. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/mem.h"

/* uint64 -> uint64, open addressing. Initialise with MAP(session); iterate over slots
 * with used[]. */
typedef struct Map {
    Session *s;
    uint64_t *key, *val;
    uint8_t *used;
    size_t n, mask;
} Map;
#define MAP(session) ((Map){.s = (session)})
bool map_get(const Map *m, uint64_t key, uint64_t *val); /* val may be NULL */
void map_put(Map *m, uint64_t key, uint64_t val);        /* replaces */
void map_free(Map *m);

/* Finds numbered things by content: the caller keeps the things, this keeps (hash, id),
 * of each hash 32 bits, enough to grow and to skip most comparisons. index_find returns
 * the id whose hash matches and for which same(ctx, id) holds, or UINT32_MAX. Hashes
 * that differ only in their last four bits are neighbours. */
typedef struct Index {
    Session *s;
    uint64_t *slot; /* short hash << 32 | id + 1; 0: free */
    size_t n, mask;
} Index;
#define INDEX(session) ((Index){.s = (session)})
typedef bool SameFn(const void *ctx, uint32_t id);
uint32_t index_find(const Index *x, uint64_t hash, SameFn *same, const void *ctx);
void index_add(Index *x, uint64_t hash, uint32_t id);
void index_reserve(Index *x, size_t extra); /* room for `extra` more */
void index_free(Index *x);

/* Its parts, for who looks for millions: inline, and one walk finds what is there or
 * the place for it. There must be room for one more (index_reserve). */

/* Sixteen neighbours fill two cache lines. A slot that is taken most likely belongs to
 * another group of neighbours, over which one step leads. */
enum { INDEX_NEAR_BITS = 4, INDEX_STEP = (1 << INDEX_NEAR_BITS) + 1 };

static inline uint32_t index_short_hash(uint64_t hash) {
    uint64_t h = (hash >> INDEX_NEAR_BITS) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(h >> 32) << INDEX_NEAR_BITS |
           (uint32_t)(hash & ((1 << INDEX_NEAR_BITS) - 1));
}
static inline void index_prefetch(const Index *x, uint32_t short_hash) {
    __builtin_prefetch(&x->slot[short_hash & x->mask]);
}
/* Of so many slots a quarter stays free. */
static inline bool index_has_room(size_t slots, size_t n) {
    return n < slots - slots / 4;
}
/* The slot that has it, or the free one where it goes. */
static inline uint64_t *index_slot(const Index *x, uint32_t short_hash, SameFn *same,
                                   const void *ctx) {
    for (size_t i = short_hash & x->mask;; i = (i + INDEX_STEP) & x->mask) {
        uint64_t *slot = &x->slot[i];
        if (*slot == 0 || (*slot >> 32 == short_hash && same(ctx, (uint32_t)*slot - 1)))
            return slot;
    }
}
static inline void index_fill(Index *x, uint64_t *slot, uint32_t short_hash,
                              uint32_t id) {
    *slot = (uint64_t)short_hash << 32 | (id + 1);
    x->n++;
}

/* Combines; order matters. */
static inline uint64_t hash_mix(uint64_t h, uint64_t v) {
    h = (((h << 29 | h >> 35) + UINT64_C(0x2545F4914F6CDD1D)) ^ v) *
        UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}
uint64_t hash_bytes(const void *p, size_t n,
                    uint64_t seed); /* for tables, not for files */

/* XXH64 (Y. Collet, the published specification), streaming: the tlg checksum. */
typedef struct Xxh64 {
    uint64_t acc[4], total, seed;
    unsigned char tail[32];
    size_t ntail;
} Xxh64;
void hash_xxh64_init(Xxh64 *h, uint64_t seed);
void hash_xxh64_add(Xxh64 *h, const void *p, size_t n);
uint64_t hash_xxh64_end(const Xxh64 *h);

#endif
