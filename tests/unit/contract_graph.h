/* What the programs of the contract's clauses share: a session, graphs from text. */
#ifndef CONTRACT_GRAPH_H
#define CONTRACT_GRAPH_H

#include "contract.h"
#include "lang/expr.h"
#include "tools/tools.h"

static Session *s;

static inline const char *first_error(void) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no error";
}

static inline Span text_span(const char *text) {
    size_t n = strlen(text);
    return (Span){source_add(s, "t", text, n), 0, (uint32_t)n};
}

/* The outputs are what `outputs` names. NULL: an error. */
static inline Graph *graph_with(size_t n, const char *const in[][2], const char *text,
                                const char *outputs) {
    Graph *g = graph_new(s);
    for (size_t i = 0; i < n; i++)
        graph_input(g, sym(s, in[i][0]),
                    type_parse(s, in[i][1], strlen(in[i][1]), NOWHERE));
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    diag_clear(s);
    bool ok = compiler_define(c, text_span(text), true) && compiler_run(c);
    Arena *a = arena_new(s);
    char **part;
    size_t nout = str_split(a, outputs, ',', &part);
    for (size_t i = 0; ok && i < nout; i++)
        ok = compiler_output(c, sym(s, part[i]), text_span(part[i]));
    arena_free(a);
    compiler_free(c);
    if (ok) return g;
    graph_free(g);
    return NULL;
}

static inline void contract_open(const Op *rows, size_t n) {
    s = tools_session(NULL, NULL);
    session_options(s)->threads = 1;
    for (size_t i = 0; i < n; i++)
        CHECK(op_add(s, &rows[i], NOWHERE), "%s", first_error());
}

#endif
