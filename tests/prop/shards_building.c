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
typedef struct Trial {
    Session *s;
    Graph *g;
    const char *text;
} Trial;

static char head[2000]; /* of a document, up to the expression */
static bool read_head(void) {
    FILE *f = fopen("tests/bats/shards.head", "r");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f) fclose(f);
    return n > 0 && n < sizeof head - 1;
}

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
    CHECK(f != NULL && read_head());
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
