/* Any bytes as a trace, with its checksum put right so that the rest is looked at: a
 * run is compared with it, and agrees or fails with one error. */
#include "base/map.h"
#include "fuzz_file.h"
#include "tools/grun/run.h"

static const char graph[] =
    "thunkline: 1\ninputs: {x: 'float64[3]'}\nfunctions:\n  step:\n    inputs: {h: "
    "'float64[3]'}\n    let: |\n      a = sin(h)\n      b = a + 1\n    outputs: "
    "[b]\nlet: "
    "|\n  u = 1 + x\n  y = log(u) * sum(u)\n  k = argmax(y)\n  hs = scan(step, "
    "outputs_info=[x], n_steps=3)\noutputs: [y, k, hs]\n";

/* Runs the graph twice, with a trace. */
static bool run_graph(const char *trace, const char *against) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    uint32_t at = source_add(s, "x", "x=[1, 2, 3]", 11);
    RunSpec q = {.values = {1, &(Span){at, 0, 11}},
                 .filter.allow_downcast = -1,
                 .series = {.steps = 2, .shuffle = -1},
                 .output = "/dev/null",
                 .rtol = -1,
                 .atol = -1,
                 .seed = -1,
                 .threads = 1,
                 .trace = trace,
                 .trace_samples = trace ? 2 : 0,
                 .against = against};
    Graph *g = io_read_mem(s, "graph", graph, sizeof graph - 1, NULL);
    bool ok = g && graph_run(g, &q);
    if (!g || ok == (diag_first_error(s) != NULL)) abort();
    graph_free(g);
    session_free(s);
    return ok;
}

static Seed seed(size_t i) {
    char path[] = "/tmp/fuzz-XXXXXX";
    if (i) return (Seed){NULL, 0};
    int fd = mkstemp(path);
    if (fd < 0 || !run_graph(path, NULL) || !run_graph(NULL, path)) abort();
    Seed x = seed_file(path);
    close(fd);
    unlink(path);
    return x;
}

static void mend(unsigned char *p, size_t n) {
    enum { FOOT = 24, SUM = 8 };
    if (n < FOOT) return;
    Xxh64 h;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, p, n - FOOT);
    for (size_t i = 0; i < SUM; i++)
        p[n - SUM + i] = (unsigned char)(hash_xxh64_end(&h) >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    unsigned char *copy = malloc(n + 1);
    if (!copy) abort();
    if (n) memcpy(copy, p, n);
    mend(copy, n);
    MemoryFile f = memory_file(copy, n);
    run_graph(NULL, f.path);
    close(f.fd);
    free(copy);
    return 0;
}
