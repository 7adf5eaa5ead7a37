/* Any text as a file of rules, tried on a graph: it is rewritten to one that holds, or
 * there is one error. */
#include "fuzz_file.h"
#include "tools/tools.h"

static const char *const texts[] = {
    "log1p @stabilize: log(1 + x) => log1p(x)\nfactor: a*x + b*x => (a + b)*x when "
    "const(a), const(b)\n",
    "sum-scale @specialize: sum(c*x, **p) => c*sum(x, **p) when scalar(c)\n# "
    "none\nback: x + y => y + x\n",
    "t @fast: transpose(transpose(x)) => x\ngone: exp(x) * exp(y) => exp(x + y)\nz: x "
    "* 0 => zeros_like(x)\n"};
static const char graph[] = "thunkline: 1\ninputs: {x: 'float64[3, 3]', y: "
                            "'float64[3]'}\nlet: |\n  a = log(1 + x) + 2 * x + 3 * x\n"
                            "  b = sum(2 * y) * exp(x) * exp(y) + "
                            "transpose(transpose(x)) * 0\noutputs: [a, b]\n";

static Seed seed(size_t i) {
    return i < sizeof texts / sizeof *texts ? seed_text(texts[i]) : (Seed){NULL, 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    MemoryFile f = memory_file(p, n);
    const char *path = f.path;
    Graph *g = io_read_mem(s, "graph", graph, sizeof graph - 1, NULL);
    RewriteOptions o = {.query = {.mode = "NONE", .nrules = 1, .rules = &path},
                        .sweeps_per_node = 2};
    Graph *h = g ? rewrite_run(g, &o, NULL) : NULL;
    if (!g || (!h && !diag_first_error(s))) abort();
    if (h && !graph_check(h)) abort();
    graph_free(h);
    graph_free(g);
    close(f.fd);
    session_free(s);
    return 0;
}
