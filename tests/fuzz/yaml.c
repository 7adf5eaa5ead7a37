/* Any text as a graph file: an error or a graph, and a graph prints and reads back
 * equal. */
#include "fuzz.h"
#include "io/io.h"

static const char *const texts[] = {
    "thunkline: 1\nname: m\ndoc: |\n  Two\n  lines\nfloatX: float32\nmodes: "
    "[A]\nsteps: ['gload 1 x']\n"
    "inputs:\n  x: float32[n, 64]\nshared:\n  W: float32[64, 10] = zeros((64, 10))\n  "
    "b: float32[2] = [1, 2.5]\n"
    "let: |\n  h = x @ W   # c\n  loss = sum(h[0, ::2] * 2)\noutputs: [loss, "
    "h]\nupdates: {b: b * 2}\n",
    "thunkline: 1\nfunctions:\n  f:\n    inputs: {a: float64}\n    let: r = g(a) + 1\n "
    "   outputs: [r]\n"
    "  g: {inputs: {a: float64}, outputs: {r: a * a}, until: a > 1}\ninputs: {v: "
    "float64}\n"
    "let:\n  y: f(v)\n  z: 'maximum(v, y)'\noutputs: {'a # b': z, y: y}\n",
    "{\"thunkline\": 1, \"inputs\": {\"x\": \"float64[3]\"}, \"let\": {\"a\": \"x + "
    "1\", \"b\": \"a[1:]\"}, "
    "\"outputs\": {\"\\u20ac\": \"b\"}}"};

static Seed seed(size_t i) {
    return i < sizeof texts / sizeof *texts ? seed_text(texts[i]) : (Seed){NULL, 0};
}

static void print_and_read(Session *s, Graph *g, IoFormat f) {
    WriteOptions o = {.format = f};
    Str text = STR(s), why = STR(s);
    ApplyId a, b;
    if (!io_text(g, &o, &text)) abort();
    Graph *h = io_read_mem(s, "printed", text.p, text.n, NULL);
    if (!h || !graph_equal(g, h, &a, &b, &why)) {
        fprintf(stderr, "%s\n%s\n%s\n", h ? "not equal" : "not read",
                h ? str_text(&why) : diag_first_error(s)->text,
                f == IO_TLG ? "" : text.p);
        abort();
    }
    graph_free(h);
    str_free(&text);
    str_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = session_new(NULL, NULL);
    ReadOptions o = {.floatX = DT_NONE, .max_bytes = 1 << 20, .refuse_load = true};
    session_options(s)->max_memory = 1 << 26;
    Graph *g = io_read_mem(s, "fuzz", p, n, &o);
    if (!g && !diag_first_error(s)) abort();
    if (g) {
        print_and_read(s, g, IO_YAML);
        print_and_read(s, g, IO_JSON);
        print_and_read(s, g, IO_TLG);
    }
    graph_free(g);
    session_free(s);
    return 0;
}
