/* Any bytes as an ONNX model: an error or a graph, which passes the check of graphs
 * from outside, is printed and written as a model again; and an overview of what it is
 * made of. */
#include "fuzz_file.h"
#include "io/io.h"
#include "op/build.h"

#include <stdio.h>

static Seed seed(size_t i) {
    static const char *const names[] = {"functions", "control", "quantised",
                                        "unknown",   "outside", "cnn"};
    char path[64];
    if (i >= sizeof names / sizeof *names) return (Seed){NULL, 0};
    snprintf(path, sizeof path, "tests/data/onnx/%s.onnx", names[i]);
    return seed_file(path);
}

/* What it says as a model is read again; some graphs have no model. */
static void write_again(Session *s, Graph *g) {
    Str out = STR(s);
    size_t before = diag_count(s);
    bool written = io_text(g, &(WriteOptions){.format = IO_ONNX}, &out);
    if (!written && !diag_failed(s, before)) abort();
    if (written) graph_free(io_read_mem(s, "again", out.p, out.n, NULL));
    str_free(&out);
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
        write_again(s, g);
        graph_free(g);
    }
    free(copy);
    session_free(s);
    return 0;
}
