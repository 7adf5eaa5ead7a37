/* Documents in which one value says something else: each text, number, list and mapping
 * of a graph and of a file of ops is replaced by values of other kinds, dropped and
 * doubled, as JSON and as YAML. What is refused is refused in one error for bad input;
 * what is read is refused by graph_check or is written and reads back equal. */
#include "io/io.h"
#include "op/build.h"
#include "test.h"
#include "tools/tools.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static Session *s;

static const char graph[] =
    "{\"thunkline\": 1, \"name\": \"all\", \"doc\": \"What it is.\", \"floatX\": "
    "\"float32\",\n"
    " \"steps\": [\"gload 0.1.0 -O json\"], \"modes\": [\"FAST_RUN\"],\n"
    " \"functions\": {\n"
    "  \"sq\": {\"inputs\": {\"x\": \"float64\"}, \"let\": {\"y\": \"x * x\"},\n"
    "   \"outputs\": {\"out\": \"y\"}, \"pullback\": \"sq_pull\", \"pushforward\": "
    "\"sq_push\"},\n"
    "  \"sq_pull\": {\"inputs\": {\"x\": \"float64\", \"c\": \"float64\"},\n"
    "   \"outputs\": {\"d\": \"2.0 * x * c\"}},\n"
    "  \"sq_push\": {\"inputs\": {\"x\": \"float64\", \"t\": \"float64\"},\n"
    "   \"outputs\": {\"d\": \"2.0 * x * t\"}},\n"
    "  \"body\": {\"inputs\": {\"a\": \"float64\"}, \"outputs\": {\"r\": \"a + "
    "1.0\"},\n"
    "   \"until\": \"a > 3.0\"}},\n"
    " \"inputs\": {\"x\": \"float64[n, 3]\", \"i\": \"int64[?]\"},\n"
    " \"shared\": {\"w\": \"float64[3] = [1, 2, 3]\", \"v\": \"float64 = sq(2.0)\",\n"
    "  \"u\": \"float64\"},\n"
    " \"let\": {\"y\": \"sum(x * w, axis=0) + n\", \"z\": \"sq(w[0])\", \"k\": 3,\n"
    "  \"m\": \"[1.5, 2.5]\", \"b\": true, \"none\": \"None\"},\n"
    " \"outputs\": {\"y\": \"y\", \"a label\": \"z + k\"},\n"
    " \"updates\": {\"w\": \"w + y\", \"v\": \"v + 1.0\"},\n"
    " \"compare\": {\"y\": \"rtol=0.5, atol=0.5\", \"z\": \"rtol=0.25\"}}\n";

static const char ops[] =
    "{\"thunkline\": 1, \"doc\": \"Ops.\", \"ops\": {\n"
    " \"scaled\": {\"inputs\": {\"x\": \"\", \"y\": \"= 0.5\"}, \"props\": {\"axis\": "
    "\"int = 0\",\n"
    "  \"keep\": \"bool = False\"}, \"outputs\": [\"a\", \"b\"],\n"
    "  \"def\": \"a = sum(x * y, axis=0)\\nb = x + y\", \"version\": 2,\n"
    "  \"alias\": \"sc\", \"doc\": \"Scales.\"},\n"
    " \"double\": {\"inputs\": \"x\", \"def\": \"x + x\", \"partials\": {\"x\": "
    "\"2\"},\n"
    "  \"shape\": \"x.shape\", \"flops\": \"1\", \"fold\": \"never\",\n"
    "  \"example\": \"double(1.5) -> 3.0\"},\n"
    " \"half\": {\"inputs\": \"x\", \"promote\": \"inexact\", \"accepts\": "
    "[\"float\"],\n"
    "  \"def\": \"x / 2\", \"adjoint\": {\"x\": \"g / 2\"}},\n"
    " \"plus\": {\"inputs\": [\"a\", \"b\"], \"def\": \"a + b\", \"commutative\": "
    "true,\n"
    "  \"associative\": true, \"adjoint\": {\"a\": \"g\", \"b\": \"g\"}},\n"
    " \"first\": {\"inputs\": \"a, b\", \"def\": \"a * 1\", \"disconnected\": \"b\",\n"
    "  \"pullback\": {\"a\": \"g\", \"b\": \"disconnected\"}}}}\n";

static const char *const others[] = {"null",
                                     "true",
                                     "false",
                                     "0",
                                     "-1",
                                     "7",
                                     "1.5",
                                     "1e400",
                                     "99999999999999999999",
                                     "\"\"",
                                     "\"x\"",
                                     "\"y\"",
                                     "\"x +\"",
                                     "\"a, a\"",
                                     "\"1\"",
                                     "\"int = \"",
                                     "\"float64[\"",
                                     "\"float64[2]\"",
                                     "\"float64[2] = [1, 2]\"",
                                     "\"float64 = x\"",
                                     "\"a\\u0000b\"",
                                     "\"\\u00e9\"",
                                     "\"two\\nlines\"",
                                     "\" = \"",
                                     "\"def = 1\"",
                                     "\"None\"",
                                     "\"True\"",
                                     "\"#\"",
                                     "\"@x\"",
                                     "[]",
                                     "[1]",
                                     "[\"x\"]",
                                     "[\"x\", \"x\"]",
                                     "[[\"x\"]]",
                                     "[null]",
                                     "[{\"x\": \"x\"}]",
                                     "{}",
                                     "{\"x\": \"x\"}",
                                     "{\"x\": 1}",
                                     "{\"x\": null}",
                                     "{\"x\": [1, 2]}",
                                     "{\"x\": {\"y\": 1}}",
                                     "{\"\": \"x\"}",
                                     "{\"2\": \"x\"}",
                                     "{\"x\": 1, \"x\": 2}",
                                     "{\"w\": \"float64 = 1\"}"};

/* ---- values and members of a text ---- */
typedef struct Part {
    size_t at, end;     /* of the value */
    size_t from, after; /* of the member or element that it is, with one comma */
} Part;
static Part parts[512];
static size_t nparts;

static size_t blanks(const char *p, size_t i) {
    return i + strspn(p + i, " \n");
}
static size_t string_end(const char *p, size_t i) {
    for (i++; p[i] != '"'; i++)
        i += p[i] == '\\';
    return i + 1;
}
static size_t walk(const char *p, size_t i) {
    size_t no = nparts++;
    i = blanks(p, i);
    parts[no] = (Part){.at = i};
    if (p[i] == '{' || p[i] == '[') {
        char close = p[i] == '{' ? '}' : ']';
        for (i = blanks(p, i + 1); p[i] != close; i = blanks(p, i)) {
            size_t from = i, child = nparts;
            if (close == '}') i = blanks(p, string_end(p, i)) + 1;
            i = blanks(p, walk(p, i));
            i += p[i] == ',';
            parts[child].from = from;
            parts[child].after = i;
        }
        i++;
    } else {
        i = p[i] == '"' ? string_end(p, i) : i + strcspn(p + i, ",]} \n");
    }
    return parts[no].end = i;
}

/* ---- what became of it ---- */
static unsigned kept, refused;

static void is_refused(const char *what, const char *text) {
    const Diag *d = diag_first_error(s);
    size_t errors = 0;
    for (size_t i = 0; i < diag_count(s); i++)
        errors += diag_get(s, i)->severity == DIAG_ERROR;
    CHECK(errors == 1 && d->code != E_USAGE && strlen(d->text) > 10, "%s: %zu: %s\n%s",
          what, errors, d ? d->text : "", text);
    diag_clear(s);
    refused++;
}

static void same_again(Graph *g, const char *name, const char *text) {
    Str out = STR(s), why = STR(s);
    WriteOptions o = {.format = strstr(name, "json") ? IO_JSON : IO_YAML};
    ApplyId a, b;
    CHECK(io_text(g, &o, &out), "%s is written", text);
    Graph *again = io_read_mem(s, name, out.p, out.n, NULL);
    CHECK(again && graph_equal(g, again, &a, &b, &why), "%s: %s\n%s", text,
          again ? str_text(&why) : diag_first_error(s)->text, str_text(&out));
    graph_free(again);
    diag_clear(s);
    str_free(&out);
    str_free(&why);
}

static void look_graph(const char *name, const Str *b) {
    diag_clear(s);
    Graph *g = io_read_mem(s, name, b->p, b->n, NULL);
    if (!g) {
        is_refused(name, b->p);
        return;
    }
    if (graph_check(g)) {
        kept++;
        same_again(g, name, b->p);
    } else {
        is_refused(name, b->p);
    }
    graph_free(g);
}

/* Ops stay in a session: each file has one of its own. */
static void look_ops(const char *name, const Str *b) {
    Session *outer = s;
    s = tools_session(NULL, NULL);
    int fd = memfd_create(name, MFD_CLOEXEC);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, b->p, b->n) != (ssize_t)b->n) abort();
    if (io_read_ops(s, path))
        kept++;
    else
        is_refused(name, b->p);
    close(fd);
    session_free(s);
    s = outer;
}

typedef void Look(const char *name, const Str *b);

static void splice(const char *p, size_t from, size_t to, const char *with, size_t n,
                   Look *look) {
    Str b = STR(s);
    str_add(&b, p, from);
    str_add(&b, with, n);
    str_puts(&b, p + to);
    look("m.yaml", &b);
    look("m.json", &b);
    str_free(&b);
}

static void forge(const char *p, Look *look) {
    nparts = 0;
    walk(p, 0);
    CHECK(nparts > 30, "%zu", nparts);
    splice(p, 0, 0, "", 0, look);
    CHECK(kept == 2 && refused == 0, "the document as it is");
    for (size_t i = 0; i < nparts; i++) {
        const Part *x = &parts[i];
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            splice(p, x->at, x->end, others[k], strlen(others[k]), look);
        if (!x->after) continue;
        splice(p, x->from, x->after, "", 0, look);
        if (p[x->after - 1] == ',')
            splice(p, x->after, x->after, p + x->from, x->after - x->from, look);
    }
    CHECK(kept > 100 && refused > 500, "%u kept, %u refused", kept, refused);
    kept = refused = 0;
}

int main(void) {
    s = tools_session(NULL, NULL);
    session_options(s)->max_memory = 1 << 26;
    forge(graph, look_graph);
    forge(ops, look_ops);
    session_free(s);
    return TEST_END("doc_forge");
}
