/* What exchanges are said to cost is what they send: messages and bytes are counted. */
#include "ranks_test.h"

#include <math.h>

typedef enum Kind { REDUCE, GATHER, SPREAD } Kind;
typedef struct CostCase {
    Kind kind;
    size_t n; /* float64 of each rank, or of all of them together */
} CostCase;
static const CostCase cases[] = {{REDUCE, 1},     {REDUCE, 1024}, {REDUCE, 2048},
                                 {REDUCE, 2049},  {REDUCE, 4096}, {REDUCE, 100001},
                                 {REDUCE, 65536}, {GATHER, 8},    {GATHER, 8000},
                                 {GATHER, 65536}, {SPREAD, 1},    {SPREAD, 30000}};
enum { CASES = sizeof cases / sizeof *cases };

/* Of this process, which is one rank. */
static struct { double bytes, messages; } sent;

static bool counting_swap(void *ctx, unsigned peer, const void *data, size_t n,
                          void *receive, size_t room, size_t *got) {
    sent.messages++;
    sent.bytes += (double)n;
    return socket_swap(ctx, peer, data, n, receive, room, got);
}

static bool exchange(Session *s, const CostCase *c) {
    unsigned n = ranks_count(s);
    RankDoing doing = {.what = "counting", .mark = 7};
    double *data = calloc(c->n, sizeof *data), *room = calloc(c->n, sizeof *room);
    size_t from[RANKS_MOST + 1];
    for (unsigned i = 0; i <= n; i++) /* rank 0 has all that is spread */
        from[i] = sizeof *data * (c->kind == GATHER ? c->n * i / n : i ? c->n : 0);
    RankSegment seg = {DT_FLOAT64, c->n};
    bool ok = c->kind == REDUCE ? ranks_reduce(s, &doing, OP_ADD, 1, &seg, data, room)
                                : ranks_gather_parts(s, &doing, data, from);
    free(data), free(room);
    return ok;
}

/* Halves of odd numbers of elements are no halves. */
static bool count_one(Session *s, const CostCase *c) {
    static const RankLink link = {1e9, 1e-6};
    unsigned n = ranks_count(s);
    double bytes = (double)(c->n * sizeof(double));
    RankCost due = {0};
    (c->kind == REDUCE   ? ranks_cost_reduce
     : c->kind == GATHER ? ranks_cost_gather
                         : ranks_cost_spread)(n, bytes, &link, &due);
    sent.bytes = sent.messages = 0;
    CHECK(exchange(s, c), "rank %u", ranks_rank(s));
    CHECK(sent.messages == due.messages, "%g messages, not %g", sent.messages,
          due.messages);
    if (c->kind != SPREAD || ranks_rank(s) == 0)
        CHECK(fabs(sent.bytes - due.bytes) <= 16 * due.messages,
              "rank %u of %u, %zu elements: %g bytes, not %g", ranks_rank(s), n, c->n,
              sent.bytes, due.bytes);
    CHECK(sent.bytes <= due.bytes + 16 * due.messages, "%g bytes, at most %g",
          sent.bytes, due.bytes);
    double time = due.messages * link.latency_s + due.bytes / link.bytes_per_s;
    CHECK(fabs(due.time_s - time) < 1e-12, "%g s, not %g", due.time_s, time);
    return test_failed == 0;
}

static bool count_all(Session *s, void *shared) {
    (void)shared;
    services(s)->ranks->swap = counting_swap;
    bool ok = true;
    for (size_t i = 0; i < CASES; i++)
        ok = count_one(s, &cases[i]) && ok;
    return ok;
}

int main(void) {
    static const unsigned ranks[] = {1, 2, 4, 8};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        CHECK(with_ranks(ranks[i], count_all, shared_memory(1)) == 0, "%u ranks",
              ranks[i]);
    return TEST_END("unit ranks_cost");
}
