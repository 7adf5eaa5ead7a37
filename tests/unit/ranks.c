/* Exchanges between ranks: gathering, sums in one order, and failures that all learn
 * of. The truth is computed by one process. */
#include "op/shards.h"
#include "ranks_test.h"

#include <math.h>

enum { MOST = 300000 };

/* ---- sums ---- */

typedef struct SumCase {
    KnownOp op;
    size_t nseg;
    RankSegment seg[3];
} SumCase;

static size_t case_bytes(const SumCase *c) {
    size_t bytes = 0;
    for (size_t i = 0; i < c->nseg; i++)
        bytes += c->seg[i].n * dtype_size(c->seg[i].dtype);
    return bytes;
}

/* Numbers whose sum depends on the order. */
static void fill(const SumCase *c, unsigned rank, char *to) {
    uint64_t seed = 88172645463325252u + rank;
    for (size_t i = 0; i < c->nseg; i++) {
        size_t size = dtype_size(c->seg[i].dtype);
        for (size_t k = 0; k < c->seg[i].n; k++, to += size) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            double v = ((double)(seed >> 11) * 0x1p-53 - 0.5) * (double)(seed & 255);
            tensor_cast_elements(c->seg[i].dtype, to, DT_FLOAT64, &v, 1, 0, 0);
        }
    }
}

/* The tree: ranks in pairs, pairs in pairs. */
static void reference(Session *s, const SumCase *c, unsigned from, unsigned n,
                      char *to) {
    if (n == 1) {
        fill(c, from, to);
        return;
    }
    char *high = malloc(case_bytes(c) + 1);
    reference(s, c, from, n / 2, to);
    reference(s, c, from + n / 2, n / 2, high);
    size_t at = 0;
    for (size_t i = 0; i < c->nseg; i++) {
        ranks_combine(s, c->op, c->seg[i].dtype, c->seg[i].n, to + at, high + at,
                      to + at);
        at += c->seg[i].n * dtype_size(c->seg[i].dtype);
    }
    free(high);
}

static bool sum_work(Session *s, void *shared) {
    const SumCase *c = shared;
    size_t bytes = case_bytes(c);
    char *data = aligned_alloc(64, (bytes + 127) / 64 * 64),
         *room = aligned_alloc(64, (bytes + 127) / 64 * 64), *due = malloc(bytes + 1);
    fill(c, ranks_rank(s), data);
    RankDoing doing = {.what = "a sum", .mark = 3};
    bool ok = ranks_reduce(s, &doing, c->op, c->nseg, c->seg, data, room);
    reference(s, c, 0, ranks_count(s), due);
    CHECK(ok && memcmp(data, due, bytes) == 0, "rank %u of %u: %zu bytes",
          ranks_rank(s), ranks_count(s), bytes);
    free(data), free(room), free(due);
    return test_failed == 0;
}

static void test_sums(SumCase *shared) {
    static const SumCase cases[] = {
        {OP_ADD, 1, {{DT_FLOAT64, 1}}},
        {OP_ADD, 1, {{DT_FLOAT32, 0}}},
        {OP_ADD, 1, {{DT_FLOAT32, 7}}},
        {OP_ADD, 1, {{DT_FLOAT16, 1001}}},
        {OP_ADD, 1, {{DT_COMPLEX64, 5000}}},
        {OP_ADD, 1, {{DT_FLOAT32, MOST}}},
        {OP_MAXIMUM, 1, {{DT_INT8, 99999}}},
        {OP_ADD, 3, {{DT_FLOAT64, 3}, {DT_FLOAT32, 40}, {DT_INT8, 5}}},
        {OP_ADD, 3, {{DT_COMPLEX128, 1}, {DT_FLOAT64, 50001}, {DT_INT16, 7}}},
        {OP_ADD, 2, {{DT_FLOAT64, 2}, {DT_INT8, 100001}}},
    };
    for (unsigned n = 1; n <= RANKS_MOST; n *= 2)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            *shared = cases[i];
            CHECK(with_ranks(n, sum_work, shared) == 0, "%u ranks, case %zu", n, i);
        }
}

/* ---- beside other work ---- */

/* Several at once, ended in another order than begun, with others in between. */
static bool flight_work(Session *s, void *shared) {
    enum { FLIGHTS = 3 };
    const SumCase c[FLIGHTS] = {{OP_ADD, 1, {{DT_FLOAT32, 270001}}},
                                {OP_MAXIMUM, 1, {{DT_INT64, 9000}}},
                                {OP_ADD, 2, {{DT_FLOAT64, 50001}, {DT_FLOAT16, 7}}}};
    char *data[FLIGHTS], *due[FLIGHTS];
    RankFlight *flight[FLIGHTS];
    uint32_t all[RANKS_MOST], own = ranks_rank(s);
    (void)shared;
    for (size_t i = 0; i < FLIGHTS; i++) {
        size_t bytes = case_bytes(&c[i]), step = (bytes + 63) / 64 * 64;
        RankDoing doing = {.what = "a sum beside others", .mark = i};
        data[i] = aligned_alloc(64, 2 * step);
        due[i] = malloc(bytes);
        fill(&c[i], own, data[i]);
        reference(s, &c[i], 0, ranks_count(s), due[i]);
        flight[i] = ranks_reduce_begin(s, &doing, c[i].op, c[i].nseg, c[i].seg, data[i],
                                       data[i] + step);
        CHECK(flight[i] != NULL, "flight %zu", i);
    }
    RankDoing doing = {.what = "gathering"};
    CHECK(ranks_reduce_overlaps(s, 100), "rather than wait for the others");
    CHECK(ranks_reduce_end(flight[1]));
    CHECK(ranks_gather(s, &doing, &own, sizeof own, all));
    CHECK(ranks_reduce_end(flight[2]) && ranks_reduce_end(flight[0]));
    for (size_t i = 0; i < FLIGHTS; i++) {
        CHECK(memcmp(data[i], due[i], case_bytes(&c[i])) == 0, "rank %u: flight %zu",
              own, i);
        free(data[i]), free(due[i]);
    }
    for (unsigned i = 0; i < ranks_count(s); i++)
        CHECK(all[i] == i);
    CHECK(!ranks_reduce_overlaps(s, RANKS_OVERLAP - 1), "too few, with none before");
    CHECK(ranks_reduce_overlaps(s, RANKS_OVERLAP) == (ranks_count(s) > 1));
    return test_failed == 0;
}

/* ---- gathering ---- */

static bool gather_work(Session *s, void *shared) {
    unsigned n = ranks_count(s), rank = ranks_rank(s);
    (void)shared;
    RankDoing doing = {.what = "gathering"};
    uint32_t own = 100 + rank, all[RANKS_MOST];
    bool ok = ranks_gather(s, &doing, &own, sizeof own, all);
    for (unsigned i = 0; i < n; i++)
        CHECK(ok && all[i] == 100 + i, "rank %u has %u from %u", rank, all[i], i);
    size_t from[RANKS_MOST + 1] = {0};
    for (unsigned i = 0; i < n; i++)
        from[i + 1] = from[i] + i % 3 * 40000; /* none, and more than a socket holds */
    char *parts = malloc(from[n] + 1);
    memset(parts + from[rank], 'a' + (int)rank, from[rank + 1] - from[rank]);
    ok = ranks_gather_parts(s, &doing, parts, from);
    for (unsigned i = 0; ok && i < n; i++)
        for (size_t k = from[i]; ok && k < from[i + 1]; k++)
            ok = parts[k] == 'a' + (int)i;
    CHECK(ok, "rank %u of %u: parts", rank, n);
    free(parts);
    return test_failed == 0;
}

/* ---- failing ---- */

/* Each rank that reports leaves its number here. */
typedef struct Reports {
    int by[RANKS_MOST];
    int failing; /* this rank and those after it, by twos */
    bool large;
} Reports;

static bool fail_work(Session *s, void *shared) {
    Reports *w = shared;
    unsigned rank = ranks_rank(s);
    size_t n = w->large ? 100000 : 10;
    RankSegment seg = {DT_FLOAT64, n};
    char *data = calloc(2 * n, 8);
    RankDoing doing = {.what = "a sum", .mark = 3};
    bool fails = (int)rank >= w->failing && (rank - (unsigned)w->failing) % 2 == 0;
    if (fails)
        fail(s, NOWHERE, E_ASSERT, "on purpose");
    else
        CHECK(!ranks_reduce(s, &doing, OP_ADD, 1, &seg, data, data + 8 * n),
              "rank %u has a sum without rank %d", rank, w->failing);
    ranks_fail(s, 5);
    const RanksEnd *end = &services(s)->ranks->end;
    CHECK(end->known && end->rank == (unsigned)w->failing && end->status == 5,
          "rank %u hears that rank %u failed with %d", rank, end->rank, end->status);
    w->by[rank] = end->rank == rank;
    free(data);
    return test_failed == 0;
}

/* A rank fails while exchanges are under way: the others hear of it at the end of the
 * one that it doesn't begin. */
static bool flight_fail_work(Session *s, void *shared) {
    Reports *w = shared;
    unsigned rank = ranks_rank(s);
    RankSegment seg = {DT_FLOAT64, 140000};
    RankFlight *flight[2] = {NULL, NULL};
    char *data[2];
    bool fails = rank == (unsigned)w->failing;
    for (uint64_t i = 0; i < 2; i++) {
        RankDoing doing = {.what = "a sum", .mark = i};
        data[i] = calloc(2 * seg.n, 8);
        if (i == 0 || !fails)
            flight[i] = ranks_reduce_begin(s, &doing, OP_ADD, 1, &seg, data[i],
                                           data[i] + 8 * seg.n);
    }
    if (fails) fail(s, NOWHERE, E_ASSERT, "on purpose");
    CHECK(ranks_reduce_end(flight[0]), "rank %u: the first is whole", rank);
    CHECK(fails || !ranks_reduce_end(flight[1]), "rank %u: the second is not", rank);
    ranks_fail(s, 5);
    const RanksEnd *end = &services(s)->ranks->end;
    CHECK(end->known && end->rank == (unsigned)w->failing && end->status == 5,
          "rank %u hears that rank %u failed with %d", rank, end->rank, end->status);
    CHECK(diag_count(s) == 1, "rank %u says %zu things", rank, diag_count(s));
    w->by[rank] = end->rank == rank;
    free(data[0]), free(data[1]);
    return test_failed == 0;
}

/* One rank is elsewhere: in another op, or with another size. */
static bool apart_work(Session *s, void *shared) {
    Reports *w = shared;
    unsigned rank = ranks_rank(s);
    bool odd = (int)rank == w->failing;
    size_t n = odd && w->large ? 50000 : 10;
    RankSegment seg = {DT_FLOAT64, n};
    char *data = calloc(2 * n, 8);
    bool other = odd && !w->large;
    RankDoing doing = {.what = other ? "all_max (line 9)" : "all_sum (line 3)",
                       .mark = other ? 4 : 3};
    CHECK(!ranks_reduce(s, &doing, OP_ADD, 1, &seg, data, data + 8 * n), "rank %u",
          rank);
    ranks_fail(s, 5);
    const RanksEnd *end = &services(s)->ranks->end;
    w->by[rank] = end->rank == rank;
    CHECK(end->status == diag_exit(E_RUN), "status %d", end->status);
    CHECK(diag_count(s) == 1, "rank %u says %zu things", rank, diag_count(s));
    if (w->by[rank])
        CHECK(
            strstr(diag_first_error(s)->text, w->large ? "bytes" : "different things"),
            "rank %u: %s", rank, diag_first_error(s)->text);
    free(data);
    return test_failed == 0;
}

static void test_failures(Reports *w, RankWork *work) {
    for (unsigned n = 2; n <= RANKS_MOST; n *= 2)
        for (int failing = 0; failing < (int)n; failing++)
            for (int large = 0; large < 2; large++) {
                *w = (Reports){.failing = failing, .large = large};
                int bad = with_ranks(n, work, w), reports = 0;
                for (unsigned i = 0; i < n; i++)
                    reports += w->by[i];
                CHECK(bad == 0 && reports == 1, "%u ranks, %d fails: %d report, %d bad",
                      n, failing, reports, bad);
            }
}

/* ---- rows ---- */

static void test_bounds(void) {
    for (int64_t n = 0; n < 70; n++)
        for (int64_t parts = 1; parts <= 64; parts *= 2)
            for (int64_t i = 0; i <= parts; i++) {
                CHECK(ranks_bound(n, i, parts) == n * i / parts);
                CHECK(ranks_bound(n, i, parts) == ranks_bound(n, 2 * i, 2 * parts));
            }
    int64_t most = INT64_MAX;
    CHECK(ranks_bound(most, 64, 64) == most && ranks_bound(most, 0, 64) == 0);
}

int main(void) {
    void *shared = shared_memory(sizeof(SumCase) + sizeof(Reports));
    test_bounds();
    test_sums(shared);
    for (unsigned n = 1; n <= RANKS_MOST; n *= 2)
        CHECK(with_ranks(n, gather_work, shared) == 0, "%u ranks", n);
    for (unsigned n = 2; n <= RANKS_MOST; n *= 2)
        CHECK(with_ranks(n, flight_work, NULL) == 0, "%u ranks", n);
    test_failures(shared, fail_work);
    test_failures(shared, flight_fail_work);
    test_failures(shared, apart_work);
    return TEST_END("unit ranks");
}
