/* Sorts by bytes, the least significant first. Several threads share a long line: each
 * byte is counted in parts of the line, whose counts say where each part's elements go.
 * The order is stable, so that it is the same in any parts. */
#include "ops/sort/keys.h"

#include <string.h>

enum { PARTS = 32 };

typedef struct RadixJob {
    const void *from;
    void *to;
    int64_t n, part, parts; /* elements; of each part but the last */
    int shift;              /* to the byte */
    uint64_t *vary;         /* by part: bits that are not those of the first key */
    int64_t (*count)[256];  /* by part; then where its next one goes */
} RadixJob;

/* The parts are placed one after the other for each value. */
static void place_parts(const RadixJob *j) {
    int64_t at = 0;
    for (int v = 0; v < 256; v++)
        for (int64_t p = 0; p < j->parts; p++) {
            int64_t k = j->count[p][v];
            j->count[p][v] = at;
            at += k;
        }
}

static uint64_t vary_of_parts(const RadixJob *j) {
    uint64_t bits = 0;
    for (int64_t p = 0; p < j->parts; p++)
        bits |= j->vary[p];
    return bits;
}

/* One part, if threads are not worth their time. */
static RadixJob radix_job(const Pool *pool, int64_t n, int64_t (*count)[256],
                          uint64_t *vary) {
    int64_t part = sort_is_shared(pool, n) ? (n + PARTS - 1) / PARTS : n;
    return (RadixJob){.n = n,
                      .part = part,
                      .parts = (n + part - 1) / part,
                      .vary = vary,
                      .count = count};
}

/* NAME_sort returns where the result is: in from or in to. */
#define RADIX(NAME, T, KEY)                                                            \
    static void NAME##_vary(void *ctx, size_t part, unsigned worker) {                 \
        const RadixJob *j = ctx;                                                       \
        const T *p = j->from;                                                          \
        int64_t i = (int64_t)part * j->part,                                           \
                end = i + j->part < j->n ? i + j->part : j->n;                         \
        uint64_t bits = 0;                                                             \
        (void)worker;                                                                  \
        for (; i < end; i++)                                                           \
            bits |= p[i] KEY ^ p[0] KEY;                                               \
        j->vary[part] = bits;                                                          \
    }                                                                                  \
    static void NAME##_count(void *ctx, size_t part, unsigned worker) {                \
        const RadixJob *j = ctx;                                                       \
        const T *p = j->from;                                                          \
        int64_t *restrict count = j->count[part], i = (int64_t)part * j->part,         \
                          end = i + j->part < j->n ? i + j->part : j->n;               \
        int shift = j->shift;                                                          \
        (void)worker;                                                                  \
        memset(count, 0, sizeof *j->count);                                            \
        for (; i < end; i++)                                                           \
            count[p[i] KEY >> shift & 255]++;                                          \
    }                                                                                  \
    static void NAME##_place(void *ctx, size_t part, unsigned worker) {                \
        const RadixJob *j = ctx;                                                       \
        const T *p = j->from;                                                          \
        T *restrict to = j->to;                                                        \
        int64_t *restrict at = j->count[part], i = (int64_t)part * j->part,            \
                          end = i + j->part < j->n ? i + j->part : j->n;               \
        int shift = j->shift;                                                          \
        (void)worker;                                                                  \
        for (; i < end; i++)                                                           \
            to[at[p[i] KEY >> shift & 255]++] = p[i];                                  \
    }                                                                                  \
    static T *NAME##_sort(Pool *pool, T *from, T *to, int64_t n) {                     \
        int64_t count[PARTS][256];                                                     \
        uint64_t vary[PARTS], bits;                                                    \
        RadixJob j = radix_job(pool, n, count, vary);                                  \
        j.from = from;                                                                 \
        pool_run(pool, (size_t)j.parts, NAME##_vary, &j);                              \
        bits = vary_of_parts(&j);                                                      \
        for (j.shift = 0; j.shift < 64; j.shift += 8) {                                \
            if ((bits >> j.shift & 255) == 0) continue;                                \
            j.from = from, j.to = to;                                                  \
            pool_run(pool, (size_t)j.parts, NAME##_count, &j);                         \
            place_parts(&j);                                                           \
            pool_run(pool, (size_t)j.parts, NAME##_place, &j);                         \
            T *swap = from;                                                            \
            from = to;                                                                 \
            to = swap;                                                                 \
        }                                                                              \
        return from;                                                                   \
    }
RADIX(one, uint8_t, )
RADIX(two, uint16_t, )
RADIX(four, uint32_t, )
RADIX(eight, uint64_t, )
RADIX(pair, SortPair, .key)

bool sort_is_shared(const Pool *pool, int64_t n) {
    enum { LONG = 1 << 15 };
    return n >= LONG && pool_threads(pool) > 1;
}

void *sort_keys(Pool *pool, size_t item, void *key, void *room, int64_t n) {
    return item == 1   ? (void *)one_sort(pool, key, room, n)
           : item == 2 ? (void *)two_sort(pool, key, room, n)
           : item == 4 ? (void *)four_sort(pool, key, room, n)
                       : (void *)eight_sort(pool, key, room, n);
}

/* ---- pairs ---- */
static void insertion_sort(SortPair *p, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        SortPair one = p[i];
        int64_t k = i;
        for (; k > 0 && p[k - 1].key > one.key; k--)
            p[k] = p[k - 1];
        p[k] = one;
    }
}

void sort_pairs(Pool *pool, SortPair *p, SortPair *room, int64_t n) {
    enum { SMALL = 48 };
    if (n <= SMALL) {
        insertion_sort(p, n);
        return;
    }
    const SortPair *r = pair_sort(pool, p, room, n);
    if (r != p) memcpy(p, r, (size_t)n * sizeof *p);
}

/* ---- the elements of a line as pairs ---- */
enum { PAIRS = 1 << 13 }; /* for each chunk */

typedef struct PairJob {
    const SortLoops *l;
    const SortForm *f;
    const char *x;
    int64_t step, n;
    SortPair *p;
} PairJob;

static void make_some_pairs(void *ctx, size_t chunk, unsigned worker) {
    enum { BLOCK = 256 };
    const PairJob *j = ctx;
    uint64_t key[BLOCK];
    int64_t i = (int64_t)chunk * PAIRS, end = i + PAIRS < j->n ? i + PAIRS : j->n;
    (void)worker;
    for (; i < end; i += BLOCK) {
        int64_t m = end - i < BLOCK ? end - i : BLOCK;
        j->l->keys(j->f, j->x + i * j->step, j->step, m, key);
        for (int64_t k = 0; k < m; k++)
            j->p[i + k] = (SortPair){sort_key_at(j->f->item, key, k), i + k};
    }
}

void sort_make_pairs(Pool *pool, const SortLoops *l, const SortForm *f, const char *x,
                     int64_t step, int64_t n, SortPair *p) {
    PairJob j = {l, f, x, step, n, p};
    pool_run(sort_is_shared(pool, n) ? pool : NULL, (size_t)((n + PAIRS - 1) / PAIRS),
             make_some_pairs, &j);
}
