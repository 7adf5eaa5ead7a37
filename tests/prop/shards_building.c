/* What --parallel does when a part of what it builds can't be had: there is a graph, or
 * none and exactly one error (failing_calls.h). The expressions are those of
 * tests/bats/shards.tsv.
 *
 *     shards_building    DEPTH=n */
#include "ad/ad.h"
#include "failing_calls.h"
#include "io/io.h"
#include "rewrite/rewrite.h"
#include "vm/vm.h"

#include <string.h>

enum { DEPTH = 6, SHARDS = 4 };
static const char head[] =
    "thunkline: 1\ninputs:\n  x: float64[n, 3]\n  z: float64[n, 2, 3]\n"
    "  q: float64[n, 3, 3]\n  j: int64[n]\n  k: bool\n  o: float64[c]\n"
    "  u: 'float64[?, 3]'\n  v: 'float64[?, 3, 2]'\n  r: random\n"
    "shared:\n  w: float64[3] = [1., 2., 3.]\nlet: |\n  i = j % 3\n  y = ";

typedef struct Trial {
    Session *s;
    Graph *g;
    const char *text;
} Trial;

static Graph *read_expression(Session *s, const char *text) {
    Str yaml = STR(s);
    str_printf(&yaml, "%s%s\noutputs: [y]\n", head, text);
    Graph *g = io_read_mem(s, text, yaml.p, yaml.n, NULL);
    str_free(&yaml);
    return g;
}

static bool split(void *ctx) {
    const Trial *t = ctx;
    Var in[4];
    ParallelOptions o = {{0, in}, SHARDS, 0};
    for (const char *name = "xzqj"; *name; name++)
        in[o.inputs.n++] = graph_find(t->g, sym_n(t->s, name, 1));
    failing_begin();
    Graph *made = rewrite_parallel(t->g, &o);
    failing_end();
    if (made) graph_free(made);
    return made != NULL;
}

static void attempt(void *ctx, size_t at) {
    const Trial *t = ctx;
    failing_try(t->s, at, t->text, split, ctx);
    diag_clear(t->s);
}

/* As it is, with the loops and sums that it shows, and as FAST_RUN makes it. */
static void test_expression(Session *s, const char *text) {
    RewriteOptions fast = {.query = {.mode = "FAST_RUN"}};
    Graph *g = read_expression(s, text);
    Graph *h = g ? rewrite_run(g, &fast, &(RewriteResult){0}) : NULL;
    CHECK(h != NULL, "%s: %s", text, diag_count(s) ? diag_get(s, 0)->text : "?");
    diag_clear(s);
    if (h) {
        failing_each(text, attempt, &(Trial){s, g, text});
        failing_each(text, attempt, &(Trial){s, h, text});
    }
    graph_free(h);
    graph_free(g);
}

int main(int argc, char **argv) {
    (void)argc;
    char line[2000];
    size_t n = 0;
    FILE *f = fopen("tests/bats/shards.tsv", "r");
    CHECK(f != NULL);
    failing_open(argv, DEPTH);
    Session *s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    ad_open(s);
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "|\n")] = '\0';
        if (*line == '#' || !*line) continue;
        test_expression(s, arena_str(session_arena(s), line, strlen(line)));
        n++;
    }
    CHECK(n > 100, "%zu expressions", n);
    if (f) fclose(f);
    session_free(s);
    return TEST_END("prop shards_building");
}
