/* The text forms: every sentence of the design's page on them, as a file that is read
 * or refused, and the canonical form as a fixed point. */
#include "base/embedded.h"
#include "graph/graph.h"
#include "io/io.h"
#include "io/text_ops.h"
#include "op/services.h"
#include "os/file.h"
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Session *s;

/* Without what its author wrote, so that it is printed in the canonical form. */
static Graph *read_mem(const char *name, const char *text, size_t n) {
    diag_clear(s);
    Graph *g = io_read_mem(s, name, text, n, NULL);
    if (g) g->source = 0;
    return g;
}

static Graph *read_text(const char *text) {
    return read_mem("t.yaml", text, strlen(text));
}

static const char *first_error(void) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no error";
}

/* The text is refused with this code at this place; the words occur in the message or
 * its notes. */
static void refused(int test_line, const char *text, DiagCode code, unsigned at_line,
                    unsigned at_col, const char *words) {
    Graph *g = read_text(text);
    const Diag *d = diag_first_error(s);
    CHECK(!g && d, "line %d: was read", test_line);
    if (g) graph_free(g);
    if (!d) return;
    uint32_t line, col;
    span_place(s, d->at, &line, &col);
    CHECK(d->code == code, "line %d: %s: %s", test_line, diag_name(d->code), d->text);
    CHECK(line == at_line && col == at_col, "line %d: at %u:%u: %s", test_line, line,
          col, d->text);
    bool found = strstr(d->text, words) != NULL;
    for (const DiagNote *n = d->notes; n; n = n->next)
        found = found || strstr(n->text, words);
    CHECK(found, "line %d: no \"%s\" in \"%s\"", test_line, words, d->text);
    size_t errors = 0;
    for (size_t i = 0; i < diag_count(s); i++)
        errors += diag_get(s, i)->severity == DIAG_ERROR;
    CHECK(errors == 1, "line %d: %zu errors", test_line, errors);
}
#define REFUSED(...) refused(__LINE__, __VA_ARGS__)

static void print(Graph *g, IoFormat f, Str *out) {
    WriteOptions o = {.format = f};
    str_clear(out);
    CHECK(io_text(g, &o, out), "%s", first_error());
}

/* Reads, prints in each form, reads that, and compares graphs and bytes. */
static void fixed_point(int test_line, const char *text, const char *yaml) {
    static const IoFormat forms[] = {IO_YAML, IO_JSON, IO_TLG};
    Graph *g = read_text(text);
    CHECK(g != NULL, "line %d: %s", test_line, first_error());
    if (!g) return;
    Str first = STR(s), again = STR(s), why = STR(s), want = STR(s);
    print(g, IO_YAML, &want);
    if (yaml) CHECK(strcmp(want.p, yaml) == 0, "line %d: got\n%s", test_line, want.p);
    for (size_t i = 0; i < 3; i++) {
        print(g, forms[i], &first);
        Graph *h = read_mem("again", first.p, first.n);
        CHECK(h != NULL, "line %d, %s: %s\n%s", test_line, io_format_name(forms[i]),
              first_error(), forms[i] == IO_TLG ? "" : first.p);
        if (!h) continue;
        str_clear(&why);
        ApplyId at_g, at_h;
        CHECK(graph_equal(g, h, &at_g, &at_h, &why), "line %d, %s: %s\n%s", test_line,
              io_format_name(forms[i]), str_text(&why),
              forms[i] == IO_TLG ? "" : first.p);
        print(h, forms[i], &again);
        CHECK(first.n == again.n && memcmp(first.p, again.p, first.n) == 0,
              "line %d, %s: then\n%s", test_line, io_format_name(forms[i]),
              forms[i] == IO_TLG ? "" : again.p);
        print(h, IO_YAML, &again);
        CHECK(strcmp(want.p, again.p) == 0, "line %d, %s as yaml:\n%s", test_line,
              io_format_name(forms[i]), again.p);
        graph_free(h);
    }
    str_free(&first);
    str_free(&again);
    str_free(&why);
    str_free(&want);
    graph_free(g);
}
#define FIXED(text, yaml) fixed_point(__LINE__, text, yaml)

#define HEAD "thunkline: 1\ninputs:\n  x: float64[3]\n  z: float64\n"

/* ---- what is read ---- */

static void sections(void) {
    FIXED("thunkline: 1\nname: digits\ndoc: A model.\nfloatX: float32\nmodes: "
          "[FAST_RUN]\n"
          "inputs:\n  x: float32[n, 64]\n  t: float32[n, 10]\n"
          "shared:\n  W: float32[64, 10] = zeros((64, 10))\n  b: float32[2] = [1, "
          "2.5]\n  c: float32\n"
          "let: |\n  h = x @ W   # a comment\n  d = h - t\n"
          "  loss = sum(\n    d * d)\n"
          "outputs: [loss, h]\nupdates: |\n  b = b * 2\n",
          "thunkline: 1\nname: digits\ndoc: A model.\nfloatX: float32\nmodes: "
          "[FAST_RUN]\n"
          "inputs:\n  x: float32[n, 64]\n  t: float32[n, 10]\n"
          "shared:\n  W: float32[64, 10] = full([64, 10], float32(0.0))\n  b: "
          "float32[2] = [1.0, 2.5]\n"
          "  c: float32\n"
          "let: |\n  h = x @ W\n  d = h - t\n  _1 = d * d\n  loss = sum(_1)\n  _2 = b "
          "* 2.0\n"
          "outputs: [loss, h]\nupdates: |\n  b = _2\n");
    /* each section as a mapping and as a block; the order of definitions does not
     * matter */
    FIXED(HEAD "let:\n  b: a + z\n  a: x * 2\n  c: float64[3] = a\noutputs: [b]\n",
          NULL);
    FIXED("thunkline: 1\ninputs: |\n  x: float64[3]   # the first\n  z: float64\n"
          "shared: |\n  w: float64[2] = [1, 2]\nlet: b = x + z\nupdates: {w: w + "
          "1}\noutputs: [b]\n",
          NULL);
    FIXED("updates: {w: w + 1}\nlet: b = w + 1\noutputs: {'a label, with: all': b + 1, "
          "b: b}\n"
          "shared:\n  w: float64[2] = [1, 2]\nthunkline: 1\n",
          NULL);
    FIXED("thunkline: 1\noutputs: []\n", NULL);
    FIXED("thunkline: 1\ndims:\ninputs:\nshared:\nfunctions:\nlet:\noutputs: []\n"
          "updates:\ncompare:\n",
          "thunkline: 1\noutputs: []\n");
    FIXED("thunkline: 1\n", NULL);
    FIXED(HEAD "let: |\n  q = x + 1\n  same = q\noutputs: [same, q, x]\n", NULL);
    FIXED(
        "thunkline: 1\ninputs: {x: 'float64[?, n, 3]'}\nlet: y = x + n\noutputs: [y]\n",
        NULL);
    FIXED("thunkline: 1\ndoc: |\n  Two lines:\n  the second # one\noutputs: []\n",
          NULL);
    FIXED("thunkline: 1\ndoc: \"tab\\t and \\u20ac\"\nname: 'on'\nsteps: ['gload 0.1.0 "
          "-e \"a = 1\" m.yaml']\n",
          NULL);
}

/* The design's own example. */
static void example(void) {
    FIXED(
        "thunkline: 1\nname: digits\ninputs:\n  x: float32[n, 64]\n  y: int64[n]\n"
        "shared:                          # state\n"
        "  W: float32[64, 10] = zeros((64, 10))        # or = load('W.npy'), or a "
        "nested list\n"
        "  b: float32[10] = zeros(10)\n"
        "let: |\n  logits = x @ W + b\n  loss = -mean(log_softmax(logits, "
        "axis=1)[arange(n), y])\n"
        "  accuracy = mean(argmax(logits, axis=1) == y)\n"
        "  gW, gb = grad(loss, [W, b])    # the same machinery as ggrad, at load time\n"
        "outputs: [loss, accuracy]\nupdates: |\n  W = W - 0.5 * gW\n  b = b - 0.5 * "
        "gb\n",
        NULL);
}

static void functions(void) {
    FIXED("thunkline: 1\n"
          "functions:\n"
          "  whole:\n    doc: Calls the next one.\n    inputs: {a: float64}\n    let: "
          "r = part(a, a) + 1\n"
          "    outputs: [r]\n"
          "  part:\n    inputs:\n      a: float64\n      b: float64\n    outputs: {r: "
          "a * b}\n"
          "    pullback: part_pull\n"
          "  part_pull:\n    inputs: |\n      a: float64\n      b: float64\n      g: "
          "float64\n"
          "    let: |\n      whole = part(a, b)   # a variable that is called like a "
          "function\n"
          "      ga = g * b + 0 * whole\n      gb = g * a\n    outputs: [ga, gb]\n"
          "  step:\n    inputs: {h: float64}\n    let: n = h * 2\n    outputs: [n]\n   "
          " until: n > 100\n"
          "inputs: {v: float64}\nlet: y = whole(v)\noutputs: [y]\n",
          NULL);
    REFUSED("thunkline: 1\nfunctions:\n  f: {inputs: {a: float64}, let: 'r = g(a)', "
            "outputs: [r]}\n"
            "  g: {inputs: {a: float64}, let: 'r = f(a)', outputs: [r]}\n",
            E_CYCLE, 3, 3, "calls itself");
    REFUSED("thunkline: 1\nfunctions:\n  f: {inputs: {a: float64}, shared: {}}\n",
            E_FORMAT, 3, 29, "no key \"shared\"");
    REFUSED("thunkline: 1\nfunctions:\n  sum: {inputs: {a: float64}, outputs: [a]}\n",
            E_NAME, 3, 3, "of the language");
    REFUSED("thunkline: 1\nfunctions:\n  f: {inputs: {a: float64}}\n", E_FORMAT, 3, 3,
            "no outputs");
    REFUSED("thunkline: 1\nfunctions:\n  f: {inputs: {a: float64}, outputs: [a], "
            "pullback: h}\n",
            E_NAME, 3, 53, "no function \"h\"");
    REFUSED("thunkline: 1\nfunctions:\n  f: {inputs: {a: float64}, outputs: [a], "
            "fused: yes}\n",
            E_FORMAT, 3, 50, "true or false");
}

static void texts_not_values(void) {
    /* booleans, nulls and numbers of YAML are names and text */
    FIXED(
        "thunkline: 1\ninputs: {y: float64, no: float64, on: float64, null: float64}\n"
        "let: {yes: y + no, off: null * on}\noutputs: [yes, off, y]\n",
        "thunkline: 1\ninputs:\n  \"y\": float64\n  \"no\": float64\n  \"on\": "
        "float64\n  \"null\": float64\n"
        "let: |\n  yes = y + no\n  off = null * on\noutputs: [\"yes\", \"off\", "
        "\"y\"]\n");
    FIXED(HEAD "outputs: {1e3: x, ~: z, '1': x, 0x10: x, '- a': z, 'a # b': z, 'a: b': "
               "z, y: z, ? 2001-01-01 : z}\n",
          "thunkline: 1\ninputs:\n  x: float64[3]\n  z: float64\noutputs:\n  \"1e3\": "
          "x\n  \"~\": z\n  \"1\": x\n"
          "  \"0x10\": x\n  \"- a\": z\n  \"a # b\": z\n  \"a: b\": z\n  \"y\": z\n  "
          "\"2001-01-01\": z\n");
    REFUSED(HEAD "let: {a: ~}\n", E_SYNTAX, 5, 11, "expression");
    FIXED(HEAD "let: {a: 1e3, b: 0x10, c: 1_000, d: True}\noutputs: [a, b, c, d]\n",
          NULL);
    FIXED("thunkline: 1\ninputs: {\"caf\": float64}\noutputs: {\"caf\xC3\xA9 "
          "\xE2\x82\xAC\": caf}\n",
          NULL);
    /* comments, folding and quotes */
    FIXED(HEAD "let:\n  a: x +\n    z     # joined\n  b: \"x[0: 2]\"\n  c: 'maximum(x, "
               "z)'\noutputs: [a, b, c]\n",
          NULL);
    FIXED("\xEF\xBB\xBFthunkline: 1\r\ninputs:\r\n  x: float64[3]\r\nlet: |\r\n  a = "
          "x\r\n  b = a + 1\r\noutputs: [b]\r\n",
          NULL);
}

static void cut_by_yaml(void) {
    REFUSED(HEAD "let:\n  a: [x, z]\n", E_FORMAT, 6, 6, "a: '[x, z]'");
    REFUSED(HEAD "let:\n  a: {x: z}\n", E_FORMAT, 6, 6, "a: '{x: z}'");
    REFUSED(HEAD "let:\n  a: *x\n", E_FORMAT, 6, 6, "a: '*x'");
    REFUSED(HEAD "let:\n  a: &x z\n", E_FORMAT, 6, 6, "anchors");
    REFUSED(HEAD "let:\n  a: !x z\n", E_FORMAT, 6, 6, "tags");
    REFUSED(HEAD "let:\n  a: @x\n", E_FORMAT, 6, 6, "a: '@x'");
    REFUSED(HEAD "let:\n  a: %x\n", E_FORMAT, 6, 6, "a: '%x'");
    REFUSED(HEAD "let:\n  a: > 3\n", E_FORMAT, 6, 8, "a: '> 3'");
    REFUSED(HEAD "let:\n  a: x[0: 1]\n", E_FORMAT, 6, 9, "a: 'x[0: 1]'");
    REFUSED(HEAD "let:\n  a: 'x' + z\n", E_FORMAT, 6, 10, "let: |");
    REFUSED(HEAD "let:\n  a: sum(x, 'a #b')\n", E_SYNTAX, 6, 13, "");
    REFUSED(HEAD "let: {a: maximum(x, z), b: z}\n", E_FORMAT, 5, 10,
            "\"maximum(x, z)\"");
    REFUSED(HEAD "let: {a: x[0], b: z}\n", E_FORMAT, 5, 10, "in quotes: \"x[0]\"");
    REFUSED("\b\a a model", E_FORMAT, 1, 1, "no graph file");
    REFUSED(HEAD "outputs: [x, maximum(x, z)]\n", E_FORMAT, 5, 14, "\"maximum(x, z)\"");
    REFUSED(HEAD "outputs: [x, x + z]\n", E_FORMAT, 5, 14, "label: expression");
    REFUSED(HEAD "let:\n  a = x\n  b = z\n", E_FORMAT, 6, 3, "let: |");
    REFUSED(HEAD "let: >\n  a = x\n  b = z\n", E_FORMAT, 5, 6, "let: |");
    REFUSED(HEAD "let: [a = x]\n", E_FORMAT, 5, 6, "not a list");
    REFUSED(HEAD "<<: {}\n", E_FORMAT, 5, 1, "merge");
    REFUSED(HEAD "? {a: b}\n: c\n", E_FORMAT, 5, 3, "a key is a name");
}

static void refused_files(void) {
    REFUSED("", E_TRUNCATED, 1, 1, "did the command before it fail?");
    REFUSED("# nothing\n", E_FORMAT, 1, 1, "no document");
    REFUSED("just text\n", E_FORMAT, 1, 1, "a mapping");
    REFUSED("name: x\n", E_FORMAT, 1, 1, "thunkline: 1");
    REFUSED("thunkline: 2\n", E_VERSION, 1, 12, "version 2");
    REFUSED("thunkline: 1\nlett: a = 1\n", E_FORMAT, 2, 1, "did you mean \"let\"?");
    REFUSED("thunkline: 1\nlet: a = 1\nlet: b = 1\n", E_DUPLICATE, 3, 1, "twice");
    REFUSED("thunkline: 1\n---\nthunkline: 1\n", E_FORMAT, 2, 1, "more than one");
    REFUSED("thunkline: 1\nfloatX: int8\n", E_FORMAT, 2, 9, "float32 or float64");
    REFUSED(HEAD "outputs: x\n", E_FORMAT, 5, 10, "list of names");
    REFUSED(HEAD "let: |\n  a = x + nosuch\n", E_NAME, 6, 11, "nosuch");
    REFUSED(HEAD "let:\n  # first\n  a: x +  nosuch\n", E_NAME, 7, 11, "nosuch");
    REFUSED(HEAD "let:\n  a: \"x +  nosuch\"\n", E_NAME, 6, 12, "nosuch");
    REFUSED(HEAD "let: |\n  a = b\n  b = a\n", E_CYCLE, 6, 3, "");
    REFUSED(HEAD "let: |\n  a = x\n  a = z\n", E_DUPLICATE, 7, 3, "");
    REFUSED(HEAD "let: |\n  x = z\n", E_DUPLICATE, 6, 3, "");
    REFUSED("thunkline: 1\ninputs: |\n  x: float64\n  x: float64\n", E_DUPLICATE, 4, 3,
            "already an input");
    REFUSED("thunkline: 1\ninputs: {lambda: float64}\n", E_NAME, 2, 10, "lambda");
    REFUSED("thunkline: 1\ninputs: {x: float65}\n", E_DTYPE, 2, 13, "float65");
    REFUSED("thunkline: 1\ninputs: |\n  x = 1\n", E_SYNTAX, 3, 3, "name: type");
    REFUSED("thunkline: 1\ninputs:\n  x: float64 = 1\n", E_SYNTAX, 3, 16,
            "can't have a value");
    REFUSED(HEAD "updates: {x: x}\n", E_NAME, 5, 11, "not a shared variable");
    REFUSED("thunkline: 1\nshared: {w: float64}\nupdates: |\n  w = w\n  w = w\n",
            E_DUPLICATE, 5, 3, "twice");
    REFUSED("thunkline: 1\nshared: {w: float64}\nupdates:\n  w:   w + nosuch\n", E_NAME,
            4, 12, "nosuch");
    REFUSED("thunkline: 1\nshared:\n  w: 'int64[2] = [1.5, 2]'\n", E_VALUE, 3, 19, "");
    REFUSED("thunkline: 1\nshared:\n  w: int64[2] = [1, 2, 3]\n", E_SHAPE, 3, 17,
            "int64[3]");
    REFUSED(HEAD "shared:\n  w: float64 = z\n", E_VALUE, 6, 16, "depends on an input");
    REFUSED("thunkline: 1\nshared:\n  w: float64 = load('w.npy')\n", E_VALUE, 3, 16,
            "has no folder");
    Str deep = STR(s);
    str_puts(&deep, "thunkline: 1\nlet: ");
    for (int i = 0; i < 100; i++)
        str_putc(&deep, '[');
    REFUSED(deep.p, E_FORMAT, 2, 69, "64 levels");
    str_free(&deep);
    diag_clear(s);
    CHECK(!io_read_mem(s, "t", "thunkline: 1\0", 13, NULL) &&
          diag_first_error(s)->code == E_FORMAT);
    CHECK(!io_read(s, "/nonexistent/m.yaml", NULL));
}

static void json(void) {
    FIXED("{\"thunkline\": 1, \"inputs\": {\"x\": \"float64[3]\"}, \"let\": {\"a\": "
          "\"x + 1\", \"b\": \"a * a\"},\n"
          " \"outputs\": {\"\\u20ac \\ud83d\\ude00\": \"b\"}}",
          NULL);
    REFUSED("{\"thunkline\": 1, \"let\": {\"a\": 1, \"a\": 2}}", E_DUPLICATE, 1, 35,
            "twice");
    REFUSED("{\"thunkline\": 01}", E_SYNTAX, 1, 15, "not JSON");
    REFUSED("{\"thunkline\": 1,}", E_SYNTAX, 1, 17, "not JSON");
    REFUSED("{\"thunkline\": 1} x", E_SYNTAX, 1, 18, "after the end");
    REFUSED("{\"name\": \"\\x\"}", E_SYNTAX, 1, 12, "escape");
    REFUSED("{\"name\": \"\\ud800 \"}", E_SYNTAX, 1, 17, "surrogate");
    REFUSED("{\"name\": \"a\tb\"}", E_SYNTAX, 1, 12, "control");
    REFUSED("{\"name\": \"\xFF\"}", E_SYNTAX, 1, 11, "UTF-8");
    REFUSED("{\"name\": \"a", E_SYNTAX, 1, 12, "no end");
    REFUSED("{'name': 1}", E_SYNTAX, 1, 2, "key in quotes");
    REFUSED("{\"a\": tru}", E_SYNTAX, 1, 7, "expected a value");
    REFUSED("{\"thunkline\": 1, \"inputs\": {\"x\": \"float64\"}, \"let\": {\"a\": \"x "
            "+ nosuch\"}}",
            E_NAME, 1, 64, "nosuch");
    REFUSED("{\"thunkline\": 1, \"let\": [\"a\"]}", E_FORMAT, 1, 25, "not a list");
}

/* ---- files ---- */

static void put(const char *dir, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static Graph *get(const char *dir, const char *name, const ReadOptions *o) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    diag_clear(s);
    return io_read(s, path, o);
}

static bool write_in(Graph *g, const char *dir, const char *name,
                     const WriteOptions *o) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return io_write(g, path, o);
}

static bool text_has(const char *dir, const char *name, const char *words) {
    char path[256];
    FileData d;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!file_read(s, path, 0, &d)) return false;
    bool has = memmem(d.p, d.n, words, strlen(words)) != NULL;
    file_close(&d);
    return has;
}

static void references(void) {
    char dir[] = "/tmp/io_text_XXXXXX", command[300], sub[64];
    if (!mkdtemp(dir)) abort();
    snprintf(sub, sizeof sub, "%s/sub", dir);
    put(dir, "m.yaml",
        "thunkline: 1\nshared:\n  W: float64[100] = full((100,), 2.5)\n"
        "let: |\n  c = [1, 2, 3]\n  y = W[:3] * c\noutputs: [y]\n");
    put(dir, "t.csv", "1,2\n3,4\n");
    put(dir, "t.yaml",
        "thunkline: 1\nshared:\n  T: float64[2, 2] = load('t.csv')\noutputs: [T]\n");
    Graph *g = get(dir, "t.yaml", NULL);
    CHECK(g != NULL, "%s", first_error());
    if (g) {
        /* a reference is kept while the text stays in its folder, and the array comes
         * along elsewhere */
        CHECK(write_in(g, dir, "again.yaml", NULL) &&
              text_has(dir, "again.yaml", "= load('t.csv')"));
        CHECK(write_in(g, dir, "packed.yaml", &(WriteOptions){.pack = true}) &&
              text_has(dir, "packed.yaml",
                       "T: float64[2, 2] = [[1.0, 2.0], [3.0, 4.0]]"));
        CHECK(write_in(g, dir, "t.tlg", NULL));
        Graph *h = get(dir, "t.tlg", NULL);
        CHECK(h && write_in(h, dir, "far.yaml", NULL) &&
              text_has(dir, "far.yaml", "[[1.0, 2.0], [3.0, 4.0]]"));
        graph_free(h);
        h = get(dir, "t.yaml", &(ReadOptions){.floatX = DT_NONE, .refuse_load = true});
        CHECK(!h && diag_first_error(s)->code == E_VALUE);
        diag_clear(s);
        CHECK(write_in(g, dir, "small/x.yaml", NULL) == false);
    }
    graph_free(g);
    /* large constants go beside the file, or into a folder below it */
    g = graph_new(s);
    Var w = graph_shared(g, sym(s, "W"), type_tensor(s, DT_FLOAT32, 1, (Dim[]){100}));
    CHECK(
        tensor_zeros(s, DT_FLOAT32, 1, (int64_t[]){100}, &var_leafrec(g, w)->value->t));
    vec_push(s, &g->outputs, ((Output){sym(s, "W"), w}));
    CHECK(write_in(g, dir, "big.yaml", NULL), "%s", first_error());
    CHECK(text_has(dir, "big.yaml", "W: float32[100] = load('big.W."));
    CHECK(write_in(g, dir, "deep.json.zst", &(WriteOptions){.refs = sub}));
    Graph *h = get(dir, "deep.json.zst", NULL);
    CHECK(h != NULL, "%s", first_error());
    if (h) {
        Str a = STR(s);
        /* what another text wrote may go with it: a text has its own */
        CHECK(write_in(h, dir, "deep.yaml", NULL) &&
              text_has(dir, "deep.yaml", "= load('deep.W."));
        /* on stdout everything is inside */
        print(h, IO_YAML, &a);
        CHECK(strstr(a.p, "= [0.0, 0.0, 0.0"), "%s", a.p);
        str_free(&a);
    }
    graph_free(h);
    diag_clear(s);
    CHECK(!write_in(g, dir, "out.yaml", &(WriteOptions){.refs = "/tmp"}));
    CHECK(!text_has(dir, "out.yaml", "thunkline"));
    graph_free(g);
    put(dir, "up.yaml",
        "thunkline: 1\nshared:\n  T: float64[2, 2] = load('../t.csv')\n");
    CHECK(!get(dir, "up.yaml", NULL) && diag_first_error(s)->code == E_VALUE);
    snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK(system(command) == 0);
    diag_clear(s);
}

static void pictures(void) {
    Graph *g = read_text(
        "thunkline: 1\nname: 'a \"b\"'\ninputs: {x: 'float64[3]', unused: float64}\n"
        "shared: {w: float64}\nlet: |\n  t = exp(x)\n  y = t * t + w\noutputs: {'o "
        "\"1\"': y}\n"
        "updates: {w: w + 1}\n");
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    Str a = STR(s);
    print(g, IO_TREE, &a);
    CHECK_STR(a.p, "output o \"1\"\n"
                   "add [A] float64[3] 'y' #2\n"
                   " ├─ multiply [B] float64[3] #1\n"
                   " │  ├─ exp [C] float64[3] 't' #0\n"
                   " │  │  └─ x [D] float64[3]\n"
                   " │  └─ exp [C] float64[3] 't' #0\n"
                   " │     └─ ···\n"
                   " └─ w (shared) [E] float64\n"
                   "update w\n"
                   "add [F] float64 #3\n"
                   " ├─ w (shared) [E] float64\n"
                   " └─ 1.0 [G] float64\n");
    print(g, IO_DOT, &a);
    CHECK(
        strstr(a.p, "digraph \"a \\\"b\\\"\"") && strstr(a.p, "style=dashed") &&
        strstr(a.p, "label=\"unused\\nfloat64\", style=filled, fillcolor=lightgrey") &&
        strstr(a.p, "label=\"x\\nfloat64[3]\", style=filled, fillcolor=palegreen") &&
        strstr(a.p, "label=\"o \\\"1\\\"\\nfloat64[3]\", style=filled, "
                    "fillcolor=lightskyblue") &&
        strstr(a.p, "fillcolor=cyan"));
    print(g, IO_MATH, &a);
    CHECK(strstr(a.p, "y = t * t + w"), "%s", a.p);
    str_free(&a);
    graph_free(g);
}

/* The source of an op that comes as text is that op's lines of its file, each under its
 * number there; the text is read once, however often the op is asked for. */
static void shipped_texts(void) {
    services(s)->text_op = io_text_op;
    for (const EmbeddedText *of = op_texts; of->file; of++) {
        const char *p = of->text;
        unsigned line = 1;
        for (; *p; line++, p = strchr(p, '\n') + 1) {
            const char *end = strchr(p, ':');
            if (strncmp(p, "  ", 2) != 0 || !ascii_is_letter(p[2]) || end[1] != '\n')
                continue;
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)(end - p - 2), p + 2);
            const Op *op, *again;
            CHECK(io_text_op(s, name, &op) && op, "%s", name);
            size_t sources = source_count(s);
            CHECK(io_text_op(s, name, &again) && again == op, "%s", name);
            CHECK(source_count(s) == sources, "%s is read again", name);
            uint32_t i = 1, at = 0, col;
            while (i <= sources && strcmp(source_get(s, i)->name, of->file) != 0)
                i++;
            for (; i <= sources && at != line; i++) {
                const char *found = strstr(source_get(s, i)->text, name);
                if (strcmp(source_get(s, i)->name, of->file) != 0 || !found) continue;
                uint32_t from = (uint32_t)(found - source_get(s, i)->text);
                span_place(s, (Span){i, from, from}, &at, &col);
            }
            CHECK(at == line, "%s: line %u, not %u", name, at, line);
        }
    }
}

int main(void) {
    s = session_new(NULL, NULL);
    sections();
    example();
    functions();
    texts_not_values();
    cut_by_yaml();
    refused_files();
    json();
    references();
    pictures();
    shipped_texts();
    diag_clear(s);
    session_free(s);
    return TEST_END("io_text");
}
