/* The packer against brute force, and on problems that are made by cutting a block into
 * pieces, so that the lowest height is known. */
#include "test.h"
#include "tools/tools.h"
#include "vm/vm_impl.h"

#include <stdlib.h>

static uint64_t seed = 1;

static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static bool meet(const Span64 *x, const Span64 *y) {
    return x->born <= y->dies && y->born <= x->dies;
}

static bool is_valid(size_t n, const Span64 *x) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (meet(&x[i], &x[k]) &&
                x[i].offset < x[k].offset + (uint64_t)x[k].bytes &&
                x[k].offset < x[i].offset + (uint64_t)x[i].bytes)
                return false;
    return true;
}

/* Each packing in which nothing can be lowered comes from some order, each value on top
 * of those before it. */
static uint64_t lowest_by_force(size_t n, Span64 *x, size_t placed, uint64_t height) {
    uint64_t best = UINT64_MAX;
    if (placed == n) return height;
    for (size_t i = placed; i < n; i++) {
        Span64 was = x[placed];
        x[placed] = x[i];
        x[i] = was;
        uint64_t at = 0;
        for (size_t k = 0; k < placed; k++)
            if (meet(&x[k], &x[placed]) && x[k].offset + (uint64_t)x[k].bytes > at)
                at = x[k].offset + (uint64_t)x[k].bytes;
        x[placed].offset = at;
        uint64_t top = at + (uint64_t)x[placed].bytes,
                 found = lowest_by_force(n, x, placed + 1, top > height ? top : height);
        if (found < best) best = found;
        was = x[placed];
        x[placed] = x[i];
        x[i] = was;
    }
    return best;
}

static void test_force(Session *s) {
    for (int round = 0; round < 400; round++) {
        Span64 x[7], y[7];
        size_t n = 2 + below(6);
        for (size_t i = 0; i < n; i++) {
            uint32_t born = below(8);
            x[i] = (Span64){born, born + below(5), 1 + below(9), 0};
        }
        memcpy(y, x, sizeof x);
        uint64_t least = lowest_by_force(n, y, 0, 0), bound = pack_bound(s, n, x);
        PackLimits limits = {100000, 0}, more = limits, most = limits;
        CHECK(bound <= least);
        memcpy(y, x, sizeof x);
        CHECK(pack_search(s, n, y, least, &limits) == PACK_FOUND && is_valid(n, y) &&
                  pack_height(n, y) <= least,
              "round %d", round);
        CHECK(pack_search(s, n, y, least - 1, &more) == PACK_NONE, "round %d", round);
        uint64_t proven = bound;
        memcpy(y, x, sizeof x);
        pack_quickly(s, n, y);
        CHECK(is_valid(n, y), "round %d", round);
        CHECK(pack_lowest(s, n, y, bound, &most, &proven) == least && is_valid(n, y) &&
                  proven == least,
              "round %d: %llu, not %llu", round, (unsigned long long)proven,
              (unsigned long long)least);
    }
}

/* Cuts one of the pieces in two, across its life or its size. */
static size_t cut(Span64 *x, size_t n) {
    Span64 *p = &x[below((uint32_t)n)];
    uint32_t lives = p->dies - p->born + 1;
    if (below(2) && lives > 1) {
        uint32_t at = 1 + below(lives - 1);
        x[n] = (Span64){p->born + at, p->dies, p->bytes, 0};
        p->dies = p->born + at - 1;
    } else if (p->bytes > 1) {
        int64_t at = 1 + (int64_t)below((uint32_t)p->bytes - 1);
        x[n] = (Span64){p->born, p->dies, at, 0};
        p->bytes -= at;
    } else {
        return n;
    }
    return n + 1;
}

static void test_cut(Session *s) {
    enum { PIECES = 60 };
    int found = 0;
    for (int round = 0; round < 20; round++) {
        Span64 x[PIECES + 1];
        size_t n = 1;
        x[0] = (Span64){0, 99, 1000, 0};
        while (n < PIECES)
            n = cut(x, n);
        CHECK(pack_bound(s, n, x) == 1000);
        PackLimits limits = {100000, 0};
        uint64_t proven = 1000, quick = pack_quickly(s, n, x),
                 height = pack_lowest(s, n, x, 1000, &limits, &proven);
        CHECK(is_valid(n, x) && pack_height(n, x) == height && height <= quick);
        CHECK(proven <= 1000, "more than is needed is said to be");
        found += height == 1000;
    }
    CHECK(found >= 18, "the lowest height was found for %d of 20", found);
}

/* Many small values beside few large ones, which decide, and values without a size. */
static void test_many(Session *s) {
    enum { LARGE = 200, SMALL = 1500, LINES = 1000 };
    int better = 0;
    for (int round = 0; round < 10; round++) {
        Span64 *x = calloc(2 * (LARGE + SMALL), sizeof *x);
        size_t n = 0;
        for (uint32_t i = 0; i < LARGE; i++) { /* as of a gradient, kept and passing */
            x[n++] = (Span64){2 * i, 999 - 2 * i, (1 + below(LINES)) * ALIGNMENT, 0};
            x[n++] = (Span64){2 * i, 2 * i + 1, (1 + below(9 * LINES)) * ALIGNMENT, 0};
        }
        for (int i = 0; i < SMALL; i++) {
            uint32_t born = below(995);
            x[n++] = (Span64){born, born + below(5), (1 + below(8)) * ALIGNMENT, 0};
            x[n++] = (Span64){born, born + below(5), -1, 12345};
        }
        size_t sized = 0;
        uint64_t height = arena_layout(s, n, x);
        for (size_t i = 0; i < n; i++) {
            if (x[i].bytes >= 0)
                x[sized++] = x[i];
            else
                CHECK(x[i].offset == 12345);
        }
        uint64_t bound = pack_bound(s, sized, x), all = pack_height(sized, x);
        CHECK(is_valid(sized, x) && all <= height && height - all <= ALIGNMENT);
        CHECK(height <= bound + bound / 20, "round %d: %llu of at least %llu", round,
              (unsigned long long)height, (unsigned long long)bound);
        uint64_t quick = pack_quickly(s, sized, x);
        CHECK(height <= quick, "round %d: %llu, quickly %llu", round,
              (unsigned long long)height, (unsigned long long)quick);
        better += height < quick;
        free(x);
    }
    CHECK(better > 0);
}

static void test_edges(Session *s) {
    Span64 x[] = {{0, 3, 0, 7}, {0, 3, -1, 7}, {1, 2, 5, 0}};
    PackLimits limits = {100, 0}, none = {0, 0};
    CHECK(pack_bound(s, 0, x) == 0 && pack_height(0, x) == 0);
    CHECK(pack_quickly(s, 3, x) == 5 && x[0].bytes == 0 && x[1].bytes == -1);
    CHECK(pack_search(s, 3, x, 5, &limits) == PACK_FOUND && x[2].offset == 0);
    CHECK(pack_search(s, 3, x, 4, &limits) == PACK_NONE);
    CHECK(pack_search(s, 0, x, 0, &limits) == PACK_FOUND);
    CHECK(pack_search(s, 3, x, 5, &none) == PACK_GAVE_UP);
}

int main(void) {
    Session *s = tools_session(NULL, NULL);
    test_force(s);
    test_cut(s);
    test_many(s);
    test_edges(s);
    session_free(s);
    return TEST_END("vm_pack");
}
