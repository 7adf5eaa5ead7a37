/* Rows read by patterns at every CPU level against reading element by element. What is
 * read ends where memory ends or begins where it begins, so that no element outside is
 * touched, and neither is one behind the result. */
#include "value/pattern.h"

#include "base/session.h"
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 1 << 22, DIMS = 4, MOST = 20000 };

static char *first, *last; /* what may be read */
static uint64_t state = 88172645463325252u;

static int64_t pick(int64_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

typedef struct Case {
    int ndim;
    uint32_t size;
    int64_t extent[DIMS], stride[DIMS], total;
    const char *base;
} Case;

/* Dims of random sizes in a random order in memory, some of them repeated, some from
 * the last to the first. */
static void choose(Case *c) {
    int order[DIMS] = {0, 1, 2, 3};
    int64_t step, low = 0, high;
    c->size = 1U << pick(5);
    step = high = c->size;
    c->ndim = 2 + (int)pick(DIMS - 1);
    c->total = 1;
    for (int d = 0; d < c->ndim; d++)
        c->extent[d] = 1 + pick(d == 0             ? 90
                                : d == c->ndim - 1 ? 20
                                                   : 4),
        c->total *= c->extent[d];
    for (int d = c->ndim; d-- > 1 && pick(3) == 0;) {
        int other = (int)pick(d + 1), was = order[d];
        order[d] = order[other], order[other] = was;
    }
    for (int k = c->ndim; k-- > 0;) {
        int d = order[k];
        c->stride[d] = pick(3) ? step : 0;
        if (c->stride[d]) step = c->extent[d] * step + (pick(6) ? 0 : c->size);
        if (pick(8) == 0) c->stride[d] = -c->stride[d];
        (c->stride[d] < 0 ? &low : &high)[0] += (c->extent[d] - 1) * c->stride[d];
    }
    c->base = pick(2) ? last - high : first - low;
}

static const char *element(const Case *c, int64_t k) {
    const char *at = c->base;
    for (int d = c->ndim; d-- > 0; k /= c->extent[d])
        at += k % c->extent[d] * c->stride[d];
    return at;
}

static void check(const Case *c, const Pattern *q) {
    static char have[MOST * 16 + 64];
    for (int i = 0; i < 3; i++) {
        int64_t at = i ? pick(c->total) : 0, bad = 0;
        size_t n = (size_t)(i == 1 ? 1 + pick(c->total - at) : c->total - at);
        memset(have, 0x5A, n * c->size + 64);
        pattern_read(q, have, c->base, at, n);
        for (size_t k = 0; k < n; k++)
            bad +=
                memcmp(have + k * c->size, element(c, at + (int64_t)k), c->size) != 0;
        for (int k = 0; k < 64; k++)
            bad += have[n * c->size + (size_t)k] != 0x5A;
        CHECK(bad == 0,
              "%u bytes, %d dims %lld %lld %lld %lld, %zu from %lld: %lld wrong",
              c->size, c->ndim, (long long)c->extent[0], (long long)c->extent[1],
              (long long)c->extent[2], (long long)c->extent[3], n, (long long)at,
              (long long)bad);
    }
}

/* Returns how many are read by vectors. */
static int check_level(Session *s, int times) {
    int vectors = 0;
    for (int i = 0; i < times; i++) {
        Case c = {0};
        Pattern q;
        do
            choose(&c);
        while (c.total > MOST);
        bool found = pattern_of_dims(s, &q, c.ndim, c.extent, c.stride, c.size);
        CHECK(found, "%u bytes", c.size);
        if (!found) continue;
        vectors += q.vectors.loop != NULL;
        check(&c, &q);
        pattern_free(&q);
    }
    return vectors;
}

static void check_refused(Session *s) {
    Pattern q;
    int64_t long_row[] = {4, 1025}, far[] = {4, (int64_t)1 << 31}, near[] = {8, 0},
            extent[] = {4, 2}, far_row[] = {(int64_t)1 << 40, 8};
    CHECK(!pattern_of_dims(s, &q, 2, long_row, near, 8));
    CHECK(!pattern_of_dims(s, &q, 2, extent, far, 8));
    CHECK(!pattern_of_dims(s, &q, 2, extent, far_row, 8));
    CHECK(!pattern_of_dims(s, &q, 1, extent, near, 8));
    CHECK(!q.offset);
}

/* Rows of three, turned: of 8 elements some are 8 behind the first, of 16 some 16. */
static void check_turned(Session *s) {
    Pattern q;
    bool found = pattern_of_rows(s, &q, 1000, 12, 3, (int64_t[]){4, 8, 0}, 4);
    CHECK(found && (session_cpu_level(s) == 0 || q.vectors.loop));
    if (!found) return;
    Case c = {2, 4, {1000, 3}, {12, 4}, 3000, first};
    char have[12000];
    pattern_read(&q, have, first, 0, 3000);
    for (int64_t k = 0, bad = 0; k < 3000; k++) {
        bad = memcmp(have + 4 * k, element(&c, k - k % 3 + (k + 1) % 3), 4) != 0;
        CHECK(bad == 0, "element %lld", (long long)k);
    }
    pattern_free(&q);
}

int main(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *room =
        mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || mprotect(room + page, ROOM, PROT_READ | PROT_WRITE))
        return 1;
    first = room + page, last = first + ROOM;
    for (char *p = first; p < last; p++)
        *p = (char)pick(251);
    for (int level = 0; level <= 2; level++) {
        Session *s = session_new(NULL, NULL);
        session_options(s)->cpu_level = level;
        int is = session_cpu_level(s), vectors = check_level(s, 3000);
        CHECK((vectors > 300) == (is > 0), "level %d: %d by vectors", is, vectors);
        check_refused(s);
        check_turned(s);
        session_free(s);
    }
    munmap(room, ROOM + 2 * page);
    return TEST_END("pattern");
}
