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

/* Finds numbered things by content: the caller keeps the things, this keeps (hash, id).
 * index_find returns the id whose hash matches and for which same(ctx, id) holds, or
 * UINT32_MAX. Hashes that differ only in their last four bits are neighbours. */
typedef struct Index {
    Session *s;
    uint64_t *slot; /* hash << 32 | id */
    size_t n, mask;
} Index;
#define INDEX(session) ((Index){.s = (session)})
typedef bool SameFn(const void *ctx, uint32_t id);
uint32_t index_find(const Index *x, uint64_t hash, SameFn *same, const void *ctx);
void index_add(Index *x, uint64_t hash, uint32_t id);
void index_reserve(Index *x, size_t extra);       /* room for `extra` more */
void index_expect(const Index *x, uint64_t hash); /* it will be looked for soon */
void index_free(Index *x);

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
