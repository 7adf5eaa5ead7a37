/* Any bytes as an ONNX model: an error or a graph, which passes the check of graphs
 * from outside and is printed; and an overview of what it is made of. */
#include "fuzz_file.h"
#include "io/io.h"

#include <stdio.h>

static Seed seed(size_t i) {
    static const char *const names[] = {"functions", "control", "quantised",
                                        "unknown",   "outside", "cnn"};
    char path[64];
    if (i >= sizeof names / sizeof *names) return (Seed){NULL, 0};
    snprintf(path, sizeof path, "tests/data/onnx/%s.onnx", names[i]);
    return seed_file(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    unsigned char *copy = malloc(n + 2);
    if (!copy) abort();
    if (n) memcpy(copy, p, n);
    if (n >= 2)
        memcpy(copy, "\x08\x08", 2); /* ir_version 8, by which models are known */
    Graph *g = io_read_mem(s, "fuzz", copy, n, NULL);
    if (!g && !diag_first_error(s)) abort();
    if (g) {
        Str out = STR(s);
        if (!graph_check(g) || !io_text(g, &(WriteOptions){.format = IO_YAML}, &out))
            abort();
        str_free(&out);
        graph_free(g);
    }
    free(copy);
    session_free(s);
    return 0;
}
