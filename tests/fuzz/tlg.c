/* Any bytes behind the magic number of a tlg, with the checksum put right so that they
 * are looked at: an error or a graph, and a graph writes and reads back to the same
 * bytes. */
#include "fuzz.h"
#include "io/io.h"

static Seed seed(size_t i) {
    static const char text[] =
        "thunkline: 1\nfunctions:\n  f: {inputs: {a: float64}, outputs: {r: a * a}}\n"
        "inputs: {x: 'float64[n, 3]'}\nshared: {w: 'float64[3] = [1, 2, 3]', v: "
        "'float64 = f(2.0)'}\n"
        "let: |\n  y = sum(x * w, axis=0) + n\n  z = f(w[0])\noutputs: [y, "
        "z]\nupdates: {w: w + y}\n";
    Seed x = {NULL, 0};
    if (i) return x;
    Session *s = session_new(NULL, NULL);
    Graph *g = io_read_mem(s, "seed", text, sizeof text - 1, NULL);
    Str out = STR(s);
    if (!g || !io_text(g, &(WriteOptions){.format = IO_TLG}, &out)) abort();
    x = (Seed){malloc(out.n), out.n};
    if (x.p) memcpy(x.p, out.p, out.n);
    graph_free(g);
    str_free(&out);
    session_free(s);
    return x;
}

static void mend(unsigned char *p, size_t n) {
    static const char end[] = "\xA1\x63"
                              "end";
    unsigned char *body = memmem(p, n, end, 5);
    if (!body || n < 8) return;
    Xxh64 h;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, p, (size_t)(body - p));
    uint64_t v = hash_xxh64_end(&h);
    for (size_t i = 0; i < 8; i++)
        p[n - 8 + i] = (unsigned char)(v >> (56 - 8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    unsigned char *copy = malloc(n + 1);
    if (!copy) abort();
    if (n) memcpy(copy, p, n);
    if (n >= 3) memcpy(copy, "\xD9\xD9\xF7", 3);
    mend(copy, n);
    Graph *g = io_read_mem(s, "fuzz", copy, n, NULL);
    if (!g && !diag_first_error(s)) abort();
    if (g) {
        WriteOptions o = {.format = IO_TLG};
        Str a = STR(s), b = STR(s);
        if (!io_text(g, &o, &a)) abort();
        Graph *h = io_read_mem(s, "again", a.p, a.n, NULL);
        if (!h || !io_text(h, &o, &b) || a.n != b.n || memcmp(a.p, b.p, a.n) != 0)
            abort();
        graph_free(h);
        str_free(&a);
        str_free(&b);
    }
    graph_free(g);
    free(copy);
    session_free(s);
    return 0;
}
