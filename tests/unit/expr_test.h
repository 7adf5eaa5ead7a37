/* What the tests of the expression language share. */
#ifndef EXPR_TEST_H
#define EXPR_TEST_H

#include "lang/expr.h"
#include "lang/print/print.h"
#include "test.h"

static Session *s;

static const char *const inputs[][2] = {
    {"x", "float32[n, 4]"}, {"W", "float32[4, 3]"}, {"v", "float64[3]"},
    {"i", "int64"},         {"k", "int32[5]"},      {"m", "bool[5]"},
    {"u", "uint8[2]"},      {"z", "complex64[2]"},  {"h", "float16"}};

static inline Span text_span(const char *text) {
    size_t n = strlen(text);
    return (Span){source_add(s, "t", text, n), 0, (uint32_t)n};
}

static inline Graph *new_graph(void) {
    Graph *g = graph_new(s);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        graph_input(g, sym(s, inputs[i][0]),
                    type_parse(s, inputs[i][1], strlen(inputs[i][1]), NOWHERE));
    return g;
}

static inline Graph *compile_text(const char *text) {
    Graph *g = new_graph();
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    bool ok = compiler_define(c, text_span(text), true) && compiler_run(c);
    compiler_free(c);
    if (ok) return g;
    graph_free(g);
    return NULL;
}

static inline const char *first_error(void) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no error";
}

static inline char *print_text(const Graph *g, PrintStyle style) {
    Arena *a = arena_new(s);
    Str b = STR(s);
    print_block(printer_new(g, style, NULL, a), "", &b);
    char *text = strdup(str_text(&b));
    str_free(&b);
    arena_free(a);
    return text;
}

#endif
