/* Hashes: a fast one for tables, and XXH64 for files, where its value is part of a
 * format. */
#include "base/map.h"

#include <string.h>

static uint64_t rotate_left(uint64_t x, unsigned r) {
    return x << r | x >> (64 - r);
}

/* Little-endian loads on any machine. */
static uint64_t load64(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static uint32_t load32(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

/* Fewer than eight bytes as a number, from overlapping loads. */
static uint64_t load_few(const unsigned char *b, size_t n) {
    if (n >= 4) return load32(b) | (uint64_t)load32(b + n - 4) << 8 * (n - 4);
    return b[0] | (uint64_t)b[n / 2] << 8 * (n / 2) | (uint64_t)b[n - 1] << 8 * (n - 1);
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) {
    const unsigned char *b = p;
    uint64_t h = hash_mix(seed, n);
    for (; n >= 8; b += 8, n -= 8)
        h = hash_mix(h, load64(b));
    return n ? hash_mix(h, load_few(b, n)) : h;
}

/* ---- XXH64 ---- */

static const uint64_t P1 = UINT64_C(0x9E3779B185EBCA87),
                      P2 = UINT64_C(0xC2B2AE3D27D4EB4F),
                      P3 = UINT64_C(0x165667B19E3779F9),
                      P4 = UINT64_C(0x85EBCA77C2B2AE63),
                      P5 = UINT64_C(0x27D4EB2F165667C5);

static uint64_t xxh64_lane(uint64_t acc, uint64_t in) {
    return rotate_left(acc + in * P2, 31) * P1;
}

/* n bytes, a multiple of 32; the lanes stay in registers. */
static void xxh64_stripes(uint64_t acc[4], const unsigned char *p, size_t n) {
    uint64_t a = acc[0], b = acc[1], c = acc[2], d = acc[3];
    for (; n; p += 32, n -= 32) {
        a = xxh64_lane(a, load64(p));
        b = xxh64_lane(b, load64(p + 8));
        c = xxh64_lane(c, load64(p + 16));
        d = xxh64_lane(d, load64(p + 24));
    }
    acc[0] = a, acc[1] = b, acc[2] = c, acc[3] = d;
}

void hash_xxh64_init(Xxh64 *h, uint64_t seed) {
    *h = (Xxh64){.acc = {seed + P1 + P2, seed + P2, seed, seed - P1}, .seed = seed};
}

void hash_xxh64_add(Xxh64 *h, const void *p, size_t n) {
    const unsigned char *b = p;
    if (n == 0) return;
    h->total += n;
    if (h->ntail) {
        size_t take = n < 32 - h->ntail ? n : 32 - h->ntail;
        memcpy(h->tail + h->ntail, b, take);
        h->ntail += take;
        b += take;
        n -= take;
        if (h->ntail < 32) return;
        xxh64_stripes(h->acc, h->tail, 32);
    }
    h->ntail = n % 32;
    xxh64_stripes(h->acc, b, n - h->ntail);
    if (h->ntail) memcpy(h->tail, b + n - h->ntail, h->ntail);
}

static uint64_t merge_xxh64_lanes(const uint64_t acc[4]) {
    uint64_t x = rotate_left(acc[0], 1) + rotate_left(acc[1], 7) +
                 rotate_left(acc[2], 12) + rotate_left(acc[3], 18);
    for (int i = 0; i < 4; i++)
        x = (x ^ xxh64_lane(0, acc[i])) * P1 + P4;
    return x;
}

uint64_t hash_xxh64_end(const Xxh64 *h) {
    uint64_t x = (h->total >= 32 ? merge_xxh64_lanes(h->acc) : h->seed + P5) + h->total;
    const unsigned char *p = h->tail, *end = p + h->ntail;
    for (; end - p >= 8; p += 8)
        x = rotate_left(x ^ xxh64_lane(0, load64(p)), 27) * P1 + P4;
    if (end - p >= 4) {
        x = rotate_left(x ^ load32(p) * P1, 23) * P2 + P3;
        p += 4;
    }
    for (; p < end; p++)
        x = rotate_left(x ^ *p * P5, 11) * P1;
    x = (x ^ x >> 33) * P2;
    x = (x ^ x >> 29) * P3;
    return x ^ x >> 32;
}
