/* How fast grewrite --search finds forms: e-nodes a second, of the time from the graph
 * to the cheapest form, on sums and products of values that are used many times, of
 * which there are more forms than fit. */
#include "bench.h"
#include "prof/prof.h"
#include "rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE = 48, NEAR = 40 };

static unsigned below(unsigned n) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return (unsigned)((x >> 20) % n);
}

static char *random_sums(unsigned applies) {
    size_t room = ((size_t)applies + 8) * LINE;
    char *text = malloc(room);
    if (!text) exit(1);
    size_t n = (size_t)snprintf(
        text, room,
        "thunkline: 1\ninputs: {t0: 'float64[1000]', t1: 'float64[1000]'}\nlet: |\n");
    for (unsigned i = 2; i < applies + 2; i++) {
        unsigned near = i < NEAR ? i : NEAR;
        n +=
            (size_t)snprintf(text + n, room - n, "  t%u = t%u %c t%u\n", i,
                             i - 1 - below(near), "+*-"[below(3)], i - 1 - below(near));
    }
    snprintf(text + n, room - n, "outputs: [t%u]\n", applies + 1);
    return text;
}

static void search(unsigned applies, uint32_t terms) {
    char *text = random_sums(applies), name[64], value[32];
    Rig r;
    rig_open(&r, text, false);
    mem_expect_graphs(r.s); /* as grewrite does */
    CostModel *m = cost_model_new(r.s, 0, NULL);
    RewriteSearch x = {
        .seconds = 1e9, .nodes = terms, .cost = cost_model_apply, .ctx = m};
    RewriteQuery q = {.mode = "FAST_RUN"};
    double from = bench_now();
    Graph *g = rewrite_search(r.g, &q, &x);
    double rate = x.terms / (bench_now() - from);
    if (!g) bench_fail(r.s, "searching");
    snprintf(name, sizeof name, "%u e-nodes from %u applies", terms, applies);
    snprintf(value, sizeof value, "%.3g/s", rate);
    bench_figure(name, value, "e-nodes; goal 1e6/s", 1e6 / rate, 1);
    graph_free(g);
    cost_model_free(m);
    rig_close(&r);
    free(text);
}

int main(void) {
    tool_environment();
    bench_title("equality saturation");
    search(200, 100000);
    search(2000, 100000);
    search(2000, 1000000);
    search(10000, 1000000);
    return 0;
}
