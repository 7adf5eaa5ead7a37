/* Any text as statements and as an expression of the language: a tree, a graph, or one
 * error. */
#include "lang/expr.h"

#include "fuzz.h"

static const char *const texts[] = {
    ("a = x @ y + 1\nb, c = f(a, axis=0)[1:, None, ::2, ...]\n"
     "d: float64[n, 3] = -b ** 2 % 3 # text\n"),
    "sum(x, axis=(0, 1), keepdims=True) / x.shape[0] - 1e-3j * {'a': [x, (y,)]}['a']",
    "lambda x, h: (x.T @ h).exp() if_ <= 0x1F | ~3 << 2 & inf",
    ("f = lambda x, h: (y := x * 2) + y if 0 < 1 <= 2 and not 0 or y else h\n"
     "a, b = f(1, 4), 2\nr0, r1 = [[a, 1], [b, 2]]")};

static Seed seed(size_t i) {
    return i < sizeof texts / sizeof *texts ? seed_text(texts[i]) : (Seed){NULL, 0};
}

static void compile(Session *s, Span text) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    compiler_auto_inputs(c, true);
    Var v;
    if (compiler_expr(c, text, NULL, &v) && v >= g->nvar) abort();
    diag_clear(s);
    if (compiler_define(c, text, true) && !compiler_run(c) && !diag_first_error(s))
        abort();
    compiler_free(c);
    graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    Session *s = session_new(NULL, NULL);
    Arena *a = arena_new(s);
    session_options(s)->max_memory = 1 << 26;
    Span text = {source_add(s, "fuzz", (const char *)p, n), 0, (uint32_t)n};
    const Ast **st;
    size_t count;
    if (!ast_parse(s, a, text) && !diag_first_error(s)) abort();
    diag_clear(s);
    if (!ast_parse_block(s, a, text, &st, &count) && !diag_first_error(s)) abort();
    diag_clear(s);
    compile(s, text);
    arena_free(a);
    session_free(s);
    return 0;
}
