/* Any bytes as a graph inside zstd frames: an error or a graph, however much they
 * unpack to. */
#include "fuzz.h"
#include "io/io.h"

static const char text[] =
    "thunkline: 1\ninputs: {x: 'float64[n, 3]'}\nlet: |\n  y = sum(x * x, axis=0) + "
    "sum(x * x, axis=0) + sum(x * x, axis=0)\noutputs: [y]\n";

static Seed seed(size_t i) {
    static const IoFormat formats[] = {IO_YAML, IO_TLG, IO_JSON};
    if (i >= sizeof formats / sizeof *formats) return (Seed){NULL, 0};
    Session *s = session_new(NULL, NULL);
    Graph *g = io_read_mem(s, "seed", text, sizeof text - 1, NULL);
    Str out = STR(s);
    if (!g ||
        !io_text(g, &(WriteOptions){.format = formats[i], .zstd = 1 + (int)i}, &out))
        abort();
    Seed x = {malloc(out.n), out.n};
    if (x.p) memcpy(x.p, out.p, out.n);
    str_free(&out);
    graph_free(g);
    session_free(s);
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->max_memory = 1 << 24;
    unsigned char *copy = malloc(n + 4);
    if (!copy) abort();
    memcpy(copy, p, n);
    memcpy(copy, "\x28\xB5\x2F\xFD", 4);
    Graph *g = io_read_mem(s, "fuzz", copy, n,
                           &(ReadOptions){.floatX = DT_NONE, .max_bytes = 1 << 20});
    if (!g && !diag_first_error(s)) abort();
    graph_free(g);
    free(copy);
    session_free(s);
    return 0;
}
