/* Models of ONNX of which a part can't be built, as they are read or written: there is
 * then no graph or no model, and exactly one error (failing_calls.h).
 *
 *     onnx_building      DEPTH=n */
#include "failing_calls.h"
#include "models.h"

enum { DEPTH = 8 };

/* g: it is written; NULL: the model is read. */
typedef struct Trial {
    const char *name;
    Graph *g;
    const uint8_t *p;
    size_t n;
} Trial;

static bool work(void *ctx) {
    const Trial *t = ctx;
    Str out = STR(s);
    failing_begin();
    Graph *read = t->g ? NULL : io_read_mem(s, "model", (const char *)t->p, t->n, NULL);
    bool ok =
        t->g ? io_text(t->g, &(WriteOptions){.format = IO_ONNX}, &out) : read != NULL;
    failing_end();
    if (read) graph_free(read);
    str_free(&out);
    return ok;
}

static void attempt(void *ctx, size_t at) {
    const Trial *t = ctx;
    char name[200];
    snprintf(name, sizeof name, "%s, %s", t->name, t->g ? "written" : "read");
    failing_try(s, at, name, work, ctx);
    diag_clear(s);
    trials++;
}

static void try_model(const char *name, const uint8_t *p, size_t n) {
    failing_each(name, attempt, &(Trial){name, NULL, p, n});
    Graph *g = io_read_mem(s, "model", (const char *)p, n, NULL);
    diag_clear(s);
    if (g) failing_each(name, attempt, &(Trial){name, g, p, n});
    if (g) graph_free(g);
}

int main(int argc, char **argv) {
    (void)argc;
    failing_open(argv, DEPTH);
    models_each(try_model);
    CHECK(trials > 1000, "only %zu tries", trials);
    return TEST_END("prop onnx_building");
}
