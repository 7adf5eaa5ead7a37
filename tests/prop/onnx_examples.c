/* The example of each op, written as a model of ONNX and read back, gives what it gave;
 * onnx_lacks.def has the ops of which ONNX can't say an example, and no others. With
 * the argument `list`, it prints what belongs there. */
#include "../unit/test.h"
#include "ad/ad.h"
#include "example.h"
#include "io/io.h"
#include "op/services.h"
#include "vm/vm.h"

static const char *const lacks[] = {
#define LACKS(name) #name,
#include "onnx_lacks.def"
#undef LACKS
};

static bool is_listed(const char *name) {
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (strcmp(name, lacks[i]) == 0) return true;
    return false;
}

static const char *why(Session *s) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no error";
}

static bool is_like(const Value *a, const Value *b) {
    static const Approx how = {.rtol = 1e-9, .atol = 1e-12};
    return a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR &&
           tensor_approx(&a->t, &b->t, how, NULL);
}

/* What isn't a tensor has no numbers to compare. */
static bool gives_the_same(Session *s, Graph *g, Graph *back, const char **said) {
    bool same = true;
    *said = "other values";
    for (size_t i = 0; same && i < g->outputs.n; i++) {
        Value a = {0}, b = {0};
        Var v = g->outputs.p[i].var, w = back->outputs.p[i].var;
        bool ran =
            services(s)->eval(g, 1, &v, &a) && services(s)->eval(back, 1, &w, &b);
        if (!ran) *said = why(s);
        same = ran && (a.kind != TYPE_TENSOR || is_like(&a, &b));
        value_unref(&a);
        value_unref(&b);
    }
    return same;
}

/* For the opset that is usual, or the newest. */
static bool write_model(Graph *g, Str *bytes) {
    enum { NEWEST = 22 };
    size_t before = diag_count(g->s);
    if (io_text(g, &(WriteOptions){.format = IO_ONNX}, bytes)) return true;
    diag_rewind(g->s, before);
    return io_text(g, &(WriteOptions){.format = IO_ONNX, .opset = NEWEST}, bytes);
}

/* Writes, reads back and runs. *is_lacking: ONNX can't say it, which is one error. */
static bool comes_back(Session *s, Graph *g, bool *is_lacking, const char **said) {
    Str bytes = STR(s);
    *is_lacking = !write_model(g, &bytes);
    *said = *is_lacking ? why(s) : "it can't be read back";
    Graph *back = *is_lacking ? NULL : io_read_mem(s, "model", bytes.p, bytes.n, NULL);
    if (!back && !*is_lacking) *said = why(s);
    bool ok = back && g->outputs.n == back->outputs.n && graph_check(back) &&
              gives_the_same(s, g, back, said);
    graph_free(back);
    str_free(&bytes);
    return ok;
}

static bool example_lacks(Session *s, const Op *op, const char *line, size_t n) {
    const char *text = arena_str(session_arena(s), line, n),
               *arrow = strstr(text, " -> "), *said = "it can't be built";
    bool lacking = false, ok;
    if (!arrow) return false;
    Graph *g =
        example_graph(s, arena_str(session_arena(s), text, (size_t)(arrow - text)));
    ok = g && comes_back(s, g, &lacking, &said);
    CHECK(ok || lacking, "%s: `%s` as a model: %s", op->name, text, said);
    CHECK(!lacking || is_listed(op->name), "%s: `%s` can't be written: %s", op->name,
          text, said);
    graph_free(g);
    diag_clear(s);
    return lacking;
}

int main(int argc, char **argv) {
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        bool lacking = false;
        for (const char *p = op->example; p && *p;) {
            size_t len = strcspn(p, "\n");
            lacking |= example_lacks(s, op, p, len);
            p += len + (p[len] == '\n');
        }
        if (lacking && argc > 1 && strcmp(argv[1], "list") == 0)
            printf("LACKS(%s)\n", op->name);
        CHECK(lacking || !is_listed(op->name),
              "%s can be written: take it from the list", op->name);
    }
    session_free(s);
    return TEST_END("prop onnx_examples");
}
