/* The binary form: what is written reads back equal, equal graphs give equal bytes, and
 * nothing that is damaged, cut short or made up gets through or does harm. */
#include "graph/graph.h"
#include "io/io.h"
#include "op/build.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static Session *s;
static const WriteOptions tlg = {.format = IO_TLG};

static Var binary(Graph *g, const char *name, Var a, Var b, bool serial) {
    const Op *op = op_find(s, name, strlen(name));
    Builder bld = builder(g, false);
    Var out = VAR_NONE;
    if (!op_apply(&bld, op, NULL, 2, (Var[]){a, b}, &out)) return VAR_NONE;
    (void)serial;
    return out;
}

static Var constant(Graph *g, DType d, int ndim, const int64_t *shape, double first) {
    Tensor t;
    if (!tensor_new(s, d, ndim, shape, &t)) abort();
    for (int64_t i = 0; i < tensor_size(&t); i++) {
        double v = first + (double)i;
        tensor_cast_elements(d, (char *)t.data + (size_t)i * dtype_size(d), DT_FLOAT64,
                             &v, 1, 0, 0);
    }
    Var c = graph_const(g, &t, false);
    tensor_unref(&t);
    return c;
}

/* Every kind of leaf, a large constant, names, updates, a function, spans and a rule.
 */
static Graph *sample(void) {
    Graph *g = graph_new(s);
    Dim nm[2] = {DIM_NAMED(sym(s, "n")), 3};
    const Type *t = type_tensor(s, DT_FLOAT32, 2, nm);
    g->name = sym(s, "sample");
    g->doc = "A graph with a bit of everything: \xC3\xA9.";
    g->floatX = DT_FLOAT32;
    vec_push(s, &g->steps, ((Step){"gload", "0.1.0", "m.yaml"}));
    vec_push(s, &g->modes, sym(s, "FAST_RUN"));
    Var x = graph_input(g, sym(s, "x"), t);
    Var w = graph_shared(g, sym(s, "W"), type_tensor(s, DT_FLOAT32, 1, (Dim[]){3}));
    Var init = constant(g, DT_FLOAT32, 1, (int64_t[]){3}, 0.5);
    value_copy_view(var_leafrec(g, w)->value, var_leafrec(g, init)->value);
    graph_dim(g, sym(s, "n"));
    Var big = constant(g, DT_FLOAT32, 2, (int64_t[]){1, 3}, 7);
    Var xw = binary(g, "multiply", x, w, false);
    uint32_t src = source_add_at(s, "m.yaml", "  y = x * W\n  z = y + 1\n", 24, 10, 1);
    g->origin[g->napply - 1] = (Origin){{src, 6, 11}, sym(s, "some-rule")};
    Var y = binary(g, "add", xw, big, false);
    uint32_t file = source_add_at(s, "f.yaml", "  b = g(a)\n  c = 0\n", 18, 3, 1);
    g->origin[g->napply - 1] =
        (Origin){{source_called(s, src, (Span){file, 6, 10}), 18, 23}, 0};
    graph_name(g, xw, sym(s, "xw"));
    graph_name(g, y, sym(s, "y"));
    graph_name(g, y, sym(s, "y_again"));
    vec_push(s, &g->outputs, ((Output){sym(s, "a label: \xE2\x82\xAC"), y}));
    vec_push(s, &g->updates,
             ((Update){w, constant(g, DT_FLOAT32, 1, (int64_t[]){3}, 1)}));
    Graph *f = graph_function_new(g, sym(s, "f"));
    Var a = graph_input(f, sym(s, "a"), type_scalar(s, DT_FLOAT64));
    vec_push(s, &f->outputs, ((Output){sym(s, "r"), binary(f, "add", a, a, false)}));
    return g;
}

static void to_tlg(Graph *g, Str *out) {
    str_clear(out);
    CHECK(io_text(g, &tlg, out));
}

static void check_error(const char *p, size_t n, DiagCode code, const char *what) {
    diag_clear(s);
    Graph *g = io_read_mem(s, "test.tlg", p, n, NULL);
    const Diag *d = diag_first_error(s);
    CHECK(!g && d && d->code == code, "%s: %s", what, d ? d->text : "no error");
    graph_free(g);
    diag_clear(s);
}

static void round_trip(void) {
    Graph *g = sample();
    Str a = STR(s), b = STR(s), why = STR(s);
    to_tlg(g, &a);
    Graph *h = io_read_mem(s, "test.tlg", a.p, a.n, NULL);
    CHECK(h != NULL, "%s", h ? "" : diag_first_error(s)->text);
    if (!h) return;
    ApplyId at_g, at_h;
    CHECK(graph_equal(g, h, &at_g, &at_h, &why), "%s", str_text(&why));
    to_tlg(h, &b);
    CHECK(a.n == b.n && memcmp(a.p, b.p, a.n) == 0);
    CHECK_STR(sym_text(s, h->name), "sample");
    CHECK_STR(h->doc, g->doc);
    CHECK(h->floatX == DT_FLOAT32 && h->steps.n == 1 && h->modes.n == 1);
    CHECK_STR(h->steps.p[0].args, "m.yaml");
    Var y = graph_find(h, sym(s, "y"));
    CHECK(y != VAR_NONE && y == graph_find(h, sym(s, "y_again")));
    CHECK(var_name(h, y) == sym(s, "y"));
    CHECK(h->functions.n == 1 && graph_function(h, sym(s, "f")));
    const Origin *o = &h->origin[var_owner(h, graph_find(h, sym(s, "xw")))];
    uint32_t line, col;
    span_place(s, o->at, &line, &col);
    CHECK(line == 10 && col == 7, "%u:%u", line, col);
    CHECK_STR(sym_text(s, o->rule), "some-rule");
    CHECK_STR(source_get(s, o->at.source)->text, "  y = x * W\n  z = y + 1");
    o = &h->origin[var_owner(h, y)];
    span_place(s, o->at, &line, &col);
    CHECK(line == 11 && col == 7, "%u:%u", line, col);
    const Source *called = source_get(s, o->at.source);
    CHECK(called->calls == 1);
    span_place(s, called->called, &line, &col);
    CHECK(line == 3 && col == 7, "%u:%u", line, col);
    CHECK_STR(source_get(s, called->called.source)->text, "  b = g(a)");
    Var w = graph_find(h, sym(s, "W"));
    CHECK(tensor_equal(&var_leafrec(h, w)->value->t,
                       &var_leafrec(g, graph_find(g, sym(s, "W")))->value->t));
    graph_free(h);
    graph_free(g);
    str_free(&a);
    str_free(&b);
    str_free(&why);
}

static void no_provenance(void) {
    Graph *g = sample();
    Str a = STR(s);
    WriteOptions o = {.format = IO_TLG, .no_provenance = true};
    CHECK(io_text(g, &o, &a));
    Graph *h = io_read_mem(s, "test.tlg", a.p, a.n, NULL);
    CHECK(h && h->steps.n == 0 && h->modes.n == 1);
    graph_free(h);
    graph_free(g);
    str_free(&a);
}

/* ---- damage ---- */

static void truncated(void) {
    Graph *g = sample();
    Str a = STR(s);
    to_tlg(g, &a);
    check_error(a.p, 0, E_TRUNCATED, "empty");
    for (size_t n = 4; n < a.n; n++)
        check_error(a.p, n, E_TRUNCATED, "cut");
    Str more = STR(s);
    str_add(&more, a.p, a.n);
    str_putc(&more, 0);
    check_error(more.p, more.n, E_FORMAT, "bytes after the end");
    str_free(&more);
    graph_free(g);
    str_free(&a);
}

static void flipped(void) {
    Graph *g = sample();
    Str a = STR(s);
    to_tlg(g, &a);
    for (size_t i = 3; i < a.n; i++) {
        a.p[i] = (char)(a.p[i] ^ 0x20);
        Graph *h = io_read_mem(s, "test.tlg", a.p, a.n, NULL);
        CHECK(!h, "byte %zu", i);
        graph_free(h);
        a.p[i] = (char)(a.p[i] ^ 0x20);
    }
    diag_clear(s);
    a.p[a.n / 2] ^= 1;
    check_error(a.p, a.n, E_CHECKSUM, "one bit in the middle");
    graph_free(g);
    str_free(&a);
}

/* Made-up bytes with a right checksum: any error, or a graph, but no harm (run under
 * ASan). */
static void forged(void) {
    Graph *g = sample();
    Str a = STR(s);
    to_tlg(g, &a);
    size_t body = 0;
    for (size_t i = 0; i + 4 < a.n; i++)
        if (memcmp(a.p + i,
                   "\xA1\x63"
                   "end",
                   5) == 0)
            body = i;
    char *copy = malloc(a.n);
    unsigned seed = 1, read = 0;
    for (int round = 0; round < 30000; round++) {
        memcpy(copy, a.p, a.n);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 1664525U + 1013904223U;
            size_t at = 3 + (seed >> 8) % (body - 3);
            copy[at] = (char)(round % 2 ? seed >> 24
                                        : (unsigned char)copy[at] + (seed >> 30) - 1U);
        }
        Xxh64 h;
        hash_xxh64_init(&h, 0);
        hash_xxh64_add(&h, copy, body);
        uint64_t v = hash_xxh64_end(&h);
        for (int i = 0; i < 8; i++)
            copy[a.n - 8 + (size_t)i] = (char)(v >> (56 - 8 * i));
        Graph *f = io_read_mem(s, "test.tlg", copy, a.n, NULL);
        CHECK(f || diag_first_error(s));
        read += f != NULL;
        graph_free(f);
        diag_clear(s);
    }
    CHECK(read > 100, "%u", read);
    free(copy);
    graph_free(g);
    str_free(&a);
}

/* The line of a failed tool, on a line of its own. */
static size_t failure_line(int exit, unsigned char *out, bool below) {
    char line[FAILURE_LINE];
    size_t n = io_failure_line("gload", exit, line);
    if (below) *out = '\n';
    memcpy(out + below, line, n);
    return n + below;
}

static void aborted(void) {
    static const char *const before[] = {
        "", "thunkline: 1\nlet: |\n  a = ", "\xD9\xD9\xF7\xA1\x66heade",
        "\x28\xB5\x2F\xFD\x04"};
    static const int status[] = {1, 5, 23, 24, 70, 255};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < sizeof status / sizeof *status; k++) {
            unsigned char text[128];
            size_t n = strlen(before[i]);
            memcpy(text, before[i], n);
            n += k % 2 || strchr(before[i], '\xFD')
                     ? io_abort_record(status[k], text + n)
                     : failure_line(status[k], text + n, n > 0);
            diag_clear(s);
            Graph *g = io_read_mem(s, "test", text, n, NULL);
            const Diag *d = diag_first_error(s);
            CHECK(!g && d && d->code == E_UPSTREAM && d->exit == status[k], "%d",
                  status[k]);
        }
    diag_clear(s);
}

static void versions(void) {
    static const unsigned char future[] = {0xD9, 0xD9, 0xF7, 0xA1, 0x66, 'h',
                                           'e',  'a',  'd',  'e',  'r',  0xA0};
    check_error((const char *)future, sizeof future, E_TRUNCATED, "a header alone");
}

/* ---- large ---- */

static void mapped(const char *suffix) {
    Graph *g = graph_new(s);
    int64_t shape[2] = {300, 400};
    Var c = constant(g, DT_FLOAT64, 2, shape, -5);
    Var h = constant(g, DT_COMPLEX64, 2, shape, 2);
    graph_name(g, c, sym(s, "c"));
    graph_name(g, h, sym(s, "h"));
    vec_push(s, &g->outputs, ((Output){sym(s, "c"), c}));
    char path[64], dir[] = "/tmp/io_map_XXXXXX";
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/m%s", dir, suffix);
    CHECK(io_write(g, path, NULL));
    Graph *r = io_read(s, path, NULL);
    CHECK(r != NULL, "%s", r ? "" : diag_first_error(s)->text);
    if (r) {
        const Tensor *t = var_const(r, graph_find(r, sym(s, "c")));
        CHECK(tensor_identical(t, var_const(g, c)));
        CHECK(tensor_identical(var_const(r, graph_find(r, sym(s, "h"))),
                               var_const(g, h)));
        CHECK(((uintptr_t)t->data & 15) == 0);
        /* what is read may be written to, and outlives the graph */
        Tensor keep;
        tensor_copy_view(&keep, t);
        graph_free(r);
        ((double *)keep.data)[0] = 1;
        CHECK(((double *)keep.data)[1] == -4);
        tensor_unref(&keep);
    }
    graph_free(g);
    unlink(path);
    rmdir(dir);
    diag_clear(s);
}

/* Where a long text lies that the graph comes from: in the file, until the session
 * ends; a short one, and one that came in memory, is copied. */
static void long_source(size_t len, bool in_file, bool stays) {
    Session *own = session_new(NULL, NULL);
    Str text = STR(s), bytes = STR(s);
    char path[] = "/tmp/io_source_XXXXXX";
    while (text.n + 16 < len)
        str_puts(&text, "# a long story\n");
    uint32_t begin = (uint32_t)text.n, line = 1 + begin / 15;
    str_puts(&text, "  y = x * x");
    uint32_t source = source_add(s, "long.yaml", text.p, text.n);
    Graph *g = graph_new(s), *h;
    const Type *t = type_scalar(s, DT_FLOAT64);
    Var x = graph_input(g, sym(s, "x"), t);
    Span whole = {source, 0, (uint32_t)text.n};
    Var y = graph_apply(g, op_find(s, "multiply", 8), props_intern(s, 0, NULL), 2,
                        (Var[]){x, x}, 1, &t, false, false, (Origin){whole, 0});
    vec_push(s, &g->outputs, ((Output){sym(s, "y"), y}));
    to_tlg(g, &bytes);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n && close(fd) == 0);
    h = in_file ? io_read(own, path, NULL)
                : io_read_mem(own, "test.tlg", bytes.p, bytes.n, NULL);
    Span at = h && h->napply == 1 ? h->origin[0].at : NOWHERE;
    graph_free(h);
    str_free(&bytes);
    const Source *src = source_get(own, at.source);
    CHECK(src && src->len == text.n && memcmp(src->text, text.p, text.n) == 0);
    CHECK(src && (file_mapped_at(own, src->text) != NULL) == stays);
    at.begin = begin;
    uint32_t of_line, col;
    span_place(own, at, &of_line, &col);
    CHECK(of_line == line && col == 1, "line %u, %u; wanted %u", of_line, col, line);
    str_free(&text);
    graph_free(g);
    session_free(own);
    unlink(path);
}

static void long_chain(void) {
    enum { N = 200000 };
    Graph *g = graph_new(s);
    const Type *t = type_scalar(s, DT_FLOAT64);
    Var v = graph_input(g, sym(s, "x"), t);
    const Op *add = op_find(s, "add", 3);
    const Props *none = props_intern(s, 0, NULL);
    for (int i = 0; i < N; i++)
        v = graph_apply(g, add, none, 2, (Var[]){v, 0}, 1, &t, false, false,
                        (Origin){NOWHERE, 0});
    vec_push(s, &g->outputs, ((Output){sym(s, "y"), v}));
    Str a = STR(s);
    to_tlg(g, &a);
    Graph *h = io_read_mem(s, "test.tlg", a.p, a.n, NULL);
    CHECK(h && h->napply == N && h->outputs.p[0].var == v);
    graph_free(h);
    graph_free(g);
    str_free(&a);
}

int main(void) {
    s = session_new(NULL, NULL);
    round_trip();
    no_provenance();
    truncated();
    flipped();
    forged();
    aborted();
    versions();
    mapped(".tlg");
    mapped(".tlg.zst");
    long_source(3 << 20, true, true);
    long_source(3 << 20, false, false);
    long_source(1 << 10, true, false);
    long_chain();
    session_free(s);
    return TEST_END("io_tlg");
}
