/* Names on a command line: variables, then labels of outputs, with suggestions. */
#include "pipeline/pipeline.h"

#include <string.h>

static bool unknown(Graph *g, const char *word, Span at) {
    Session *s = g->s;
    Vec(const char *) names = {0};
    for (size_t i = 0; i < g->names.n; i++)
        vec_push(s, &names, sym_text(s, g->names.p[i].name));
    for (size_t i = 0; i < g->outputs.n;
         i++) /* a label is mostly its variable's name */
        if (graph_find(g, g->outputs.p[i].label) == VAR_NONE)
            vec_push(s, &names, sym_text(s, g->outputs.p[i].label));
    const char *near = str_nearest(s, word, names.p, names.n);
    fail(s, at, E_UNKNOWN, "the graph has no variable or output called %s", word);
    if (near)
        note(s, NOWHERE, "did you mean %s?", near);
    else if (names.n && names.n <= 12) {
        Str list = STR(s);
        for (size_t i = 0; i < names.n; i++)
            str_printf(&list, "%s%s", i ? ", " : "", names.p[i]);
        note(s, NOWHERE, "it has %s", str_text(&list));
        str_free(&list);
    }
    vec_free(&names);
    return false;
}

bool find_var(Graph *g, const char *name, size_t n, Span at, Var *v) {
    Sym y = sym_find(g->s, name, n);
    *v = y ? graph_find(g, y) : VAR_NONE;
    if (*v == VAR_NONE && y) *v = graph_output(g, y);
    if (*v != VAR_NONE) return true;
    Str word = STR(g->s);
    str_add(&word, name, n);
    unknown(g, str_text(&word), at);
    str_free(&word);
    return false;
}

bool find_vars(Graph *g, Arena *a, Span list, size_t *n, Var **v) {
    const Source *src = source_get(g->s, list.source);
    const char *text = arena_str(a, src->text + list.begin, list.end - list.begin);
    char **part;
    *n = str_split(a, text, ',', &part);
    *v = NEW_N(a, *n, Var);
    uint32_t from = 0;
    for (size_t i = 0; i < *n; i++) {
        size_t len = strlen(part[i]);
        const char *hit = strstr(text + from, part[i]);
        uint32_t off = hit ? (uint32_t)(hit - text) : from;
        Span at = {list.source, list.begin + off, list.begin + off + (uint32_t)len};
        if (!len) return fail(g->s, list, E_USAGE, "a name is missing in '%s'", text);
        if (!find_var(g, part[i], len, at, &(*v)[i])) return false;
        from = off + (uint32_t)len;
    }
    return true;
}
