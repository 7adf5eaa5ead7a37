/* Maps and indexes against plain arrays; XXH64 against its published values. */
#include "base/map.h"
#include "base/session.h"
#include "test.h"

enum { KEYS = 5000 };

static uint32_t seed = 12345;
static uint32_t random32(void) {
    return seed = seed * 1664525U + 1013904223U;
}

static void test_map(Session *s, uint64_t stride) {
    static uint64_t want[KEYS];
    static bool there[KEYS];
    memset(there, 0, sizeof there);
    Map m = MAP(s);
    size_t n = 0;
    int bad = map_get(&m, 0, NULL);
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t k = (random32() >> 8) % KEYS;
        uint64_t got = 0;
        bad +=
            map_get(&m, k * stride, &got) != there[k] || (there[k] && got != want[k]);
        map_put(&m, k * stride, i);
        n += !there[k];
        there[k] = true;
        want[k] = i;
    }
    CHECK(bad == 0 && m.n == n, "%d", bad);
    size_t seen = 0;
    for (size_t i = 0; i <= m.mask; i++)
        seen += m.used[i];
    CHECK(seen == n);
    map_free(&m);
    CHECK(!map_get(&m, 3, NULL));
    map_put(&m, UINT64_MAX, 1);
    CHECK(map_get(&m, UINT64_MAX, NULL));
    map_free(&m);
}

static uint64_t things[KEYS];
static bool same_thing(const void *ctx, uint32_t id) {
    return things[id] == *(const uint64_t *)ctx;
}

static void test_index(Session *s) {
    Index x = INDEX(s);
    int bad = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        things[i] = i * 8; /* two of each hash, below */
        uint64_t hash = things[i] / 16;
        bad += index_find(&x, hash, same_thing, &things[i]) != UINT32_MAX;
        index_add(&x, hash, i);
    }
    for (uint32_t i = 0; i < KEYS; i++)
        bad += index_find(&x, things[i] / 16, same_thing, &things[i]) != i;
    CHECK(bad == 0 && x.n == KEYS, "%d", bad);
    index_free(&x);

    for (uint32_t i = 0; i < KEYS; i++) { /* in one walk */
        uint32_t h = index_short_hash(things[i] / 16);
        index_reserve(&x, 1);
        uint64_t *slot = index_slot(&x, h, same_thing, &things[i]);
        bad += *slot != 0;
        index_fill(&x, slot, h, i);
        slot = index_slot(&x, h, same_thing, &things[i]);
        bad += (uint32_t)*slot - 1 != i;
    }
    CHECK(bad == 0 && x.n == KEYS, "%d", bad);
    index_free(&x);
}

static uint64_t xxh(const void *p, size_t n, uint64_t with, size_t piece) {
    Xxh64 h;
    hash_xxh64_init(&h, with);
    for (size_t i = 0; i < n; i += piece)
        hash_xxh64_add(&h, (const char *)p + i, n - i < piece ? n - i : piece);
    return hash_xxh64_end(&h);
}

static void test_hashes(void) {
    CHECK(xxh("", 0, 0, 1) == UINT64_C(0xEF46DB3751D8E999));
    CHECK(xxh("abc", 3, 0, 3) == UINT64_C(0x44BC2CF5AD770999));
    const char *text = "Nobody inspects the spammish repetition";
    CHECK(xxh(text, 39, 0, 39) == UINT64_C(0xFBCEA83C8A378BF1));
    /* the specification's own sanity buffer */
    unsigned char buf[222];
    uint64_t gen = 2654435761U;
    for (int i = 0; i < 222; i++) {
        buf[i] = (unsigned char)(gen >> 56);
        gen *= UINT64_C(11400714785074694797);
    }
    CHECK(xxh(buf, 1, 0, 1) == UINT64_C(0xE934A84ADB052768));
    CHECK(xxh(buf, 14, 0, 14) == UINT64_C(0x8282DCC4994E35C8));
    CHECK(xxh(buf, 222, 0, 222) == UINT64_C(0xB641AE8CB691C174));
    CHECK(xxh(buf, 222, 2654435761U, 222) == UINT64_C(0x20CB8AB7AE10C14A));
    int bad = 0;
    for (size_t n = 0; n <= 222; n++)
        for (size_t piece = 1; piece < 70; piece += 6)
            bad += xxh(buf, n, 7, piece) != xxh(buf, n, 7, 222);
    CHECK(bad == 0, "%d", bad);
    CHECK(hash_mix(hash_mix(0, 1), 2) != hash_mix(hash_mix(0, 2), 1));
    CHECK(hash_bytes("a", 1, 0) != hash_bytes("a\0", 2, 0));
    CHECK(hash_bytes("12345678", 8, 0) == hash_bytes("123456789", 8, 0));
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_map(s, 1);
    test_map(s, 16);
    test_map(s, UINT64_C(1) << 32);
    test_map(s, UINT64_C(0x100000001));
    test_index(s);
    test_hashes();
    session_free(s);
    return TEST_END("base_map");
}
