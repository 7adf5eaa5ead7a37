/* Models of ONNX of which a part can't be built: each call that builds one, as it is
 * read or written, fails once, wherever it is first come to by the same innermost
 * calls. There is then no graph or no model, and exactly one error.
 *
 *     onnx_building      DEPTH=n: as many calls tell one way from another */
#include "failing_build.h"
#include "models.h"
#include "ways.h"

#include <setjmp.h>
#include <signal.h>

enum { DEPTH = 8 };

static struct {
    bool running;
    size_t at, n;            /* 0: none; so far */
    void *from[WAY_DEEPEST]; /* where it struck */
    int nfrom;
} plan;
static const char *program;
static sigjmp_buf back;

static bool build_fails(void) {
    if (!plan.running) return false;
    way_note(++plan.n);
    if (plan.n != plan.at) return false;
    plan.nfrom = backtrace(plan.from, WAY_DEEPEST);
    return true;
}

static void on_crash(int sig) {
    if (plan.running) siglongjmp(back, sig);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Reads the model, or writes g as one; true: it works. */
static bool work(Graph *g, const uint8_t *p, size_t n) {
    Str out = STR(s);
    plan.running = plan.at || ways.noting;
    Graph *read = g ? NULL : io_read_mem(s, "model", (const char *)p, n, NULL);
    bool ok = g ? io_text(g, &(WriteOptions){.format = IO_ONNX}, &out) : read != NULL;
    plan.running = false;
    if (read) graph_free(read);
    str_free(&out);
    return ok;
}

static void attempt(const char *name, Graph *g, const uint8_t *p, size_t n, size_t at) {
    plan.at = at, plan.n = 0;
    bool crashed = sigsetjmp(back, 1) != 0, ok = !crashed && work(g, p, n);
    plan.running = false, plan.at = 0;
    if (at)
        CHECK(!crashed && errors_of(s) == (ok ? 0u : 1u),
              "%s, %s, call %zu: %zu errors, and it %s: %s", name,
              g ? "written" : "read", at, errors_of(s),
              crashed ? "crashes"
              : ok    ? "works"
                      : "fails",
              way_names(program, plan.nfrom, plan.from));
    diag_clear(s);
    trials++;
}

static void each_call(const char *name, Graph *g, const uint8_t *p, size_t n) {
    ways.nfresh = 0;
    attempt(name, g, p, n, 0); /* fills what lasts as long as the session */
    ways.noting = true;
    attempt(name, g, p, n, 0);
    ways.noting = false;
    for (size_t i = 0; i < ways.nfresh; i++)
        attempt(name, g, p, n, ways.fresh[i]);
}

static void try_model(const char *name, const uint8_t *p, size_t n) {
    ways.of = name;
    each_call(name, NULL, p, n);
    Graph *g = io_read_mem(s, "model", (const char *)p, n, NULL);
    diag_clear(s);
    if (g) each_call(name, g, p, n);
    if (g) graph_free(g);
}

int main(int argc, char **argv) {
    (void)argc;
    const char *depth = getenv("DEPTH");
    program = argv[0];
    ways_open(depth ? strtoul(depth, NULL, 10) : DEPTH);
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    models_each(try_model);
    CHECK(trials > 1000, "only %zu tries", trials);
    return TEST_END("prop onnx_building");
}
