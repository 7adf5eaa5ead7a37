/* Resolves names on a command line: variables, then labels of outputs, with
 * suggestions. */
#include "tools/tools.h"

#include <string.h>

static bool fail_no_such_name(Graph *g, const char *word, Span at) {
    Session *s = g->s;
    Vec(const char *) names = {0};
    for (size_t i = 0; i < g->names.n; i++)
        vec_push(s, &names, sym_text(s, g->names.p[i].name));
    for (size_t i = 0; i < g->aliases.n; i++)
        vec_push(s, &names, sym_text(s, g->aliases.p[i].name));
    for (size_t i = 0; i < g->outputs.n;
         i++) /* a label is usually its variable's name */
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
    if (g->modes.n)
        note(s, NOWHERE,
             "the graph was rewritten, which keeps outputs and drops other variables");
    return false;
}

static bool find_one_var(const Graph *g, const char *name, size_t n, Var *v) {
    Sym y = sym_find(g->s, name, n);
    *v = y ? graph_find(g, y) : VAR_NONE;
    if (*v == VAR_NONE && y) *v = graph_find_alias(g, y);
    if (*v == VAR_NONE && y) *v = graph_output(g, y);
    if (*v == VAR_NONE && y) *v = graph_tree_leaf(g, y);
    return *v != VAR_NONE;
}

static bool is_leaf_below(Session *s, Sym path, const char *name, size_t n) {
    const char *text = sym_text(s, path);
    return strncmp(text, name, n) == 0 && text[n] == '/';
}

/* Adds the leaves of a tree: one that a definition named, or outputs NAME/... */
static bool find_tree(const Graph *g, const char *name, size_t n, Outputs *out) {
    size_t before = out->n;
    for (size_t i = 0; i < g->trees.n; i++)
        if (is_leaf_below(g->s, g->trees.p[i].name, name, n))
            vec_push(g->s, out, ((Output){g->trees.p[i].name, g->trees.p[i].var}));
    bool defined = out->n > before;
    for (size_t i = 0; i < g->outputs.n && !defined; i++)
        if (is_leaf_below(g->s, g->outputs.p[i].label, name, n))
            vec_push(g->s, out, g->outputs.p[i]);
    return out->n > before;
}

/* An error where a single variable is expected. */
static bool fail_tree(Graph *g, const char *word, Span at) {
    Outputs leaf = {0};
    bool tree = find_tree(g, word, strlen(word), &leaf);
    if (tree)
        fail(g->s, at, E_UNKNOWN, "%s is a tree: name one of its values, such as %s",
             word, sym_text(g->s, leaf.p[0].label));
    vec_free(&leaf);
    return tree;
}

bool names_find_var(Graph *g, const char *name, size_t n, Span at, Var *v) {
    if (find_one_var(g, name, n, v)) return true;
    Str word = STR(g->s);
    str_add(&word, name, n);
    if (!fail_tree(g, str_text(&word), at)) fail_no_such_name(g, str_text(&word), at);
    str_free(&word);
    return false;
}

bool names_find_outputs(Graph *g, const char *name, size_t n, Span at, Outputs *out) {
    Var v;
    if (!find_one_var(g, name, n, &v) && find_tree(g, name, n, out)) return true;
    if (!names_find_var(g, name, n, at, &v)) return false;
    vec_push(g->s, out, ((Output){sym_n(g->s, name, n), v}));
    return true;
}

bool names_find_output_list(Graph *g, Span list, Outputs *out) {
    Arena *a = arena_new(g->s);
    const Source *src = source_get(g->s, list.source);
    const char *text = arena_str(a, src->text + list.begin, list.end - list.begin);
    char **part;
    size_t n = str_split(a, text, ',', &part);
    uint32_t from = 0;
    bool ok = n || fail(g->s, list, E_USAGE, "there is no name in '%s'", text);
    for (size_t i = 0; ok && i < n; i++) {
        size_t len = strlen(part[i]);
        const char *hit = strstr(text + from, part[i]);
        uint32_t off = hit ? (uint32_t)(hit - text) : from;
        Span at = {list.source, list.begin + off, list.begin + off + (uint32_t)len};
        ok = len ? names_find_outputs(g, part[i], len, at, out)
                 : fail(g->s, list, E_USAGE, "a name is missing in '%s'", text);
        from = off + (uint32_t)len;
    }
    arena_free(a);
    return ok;
}

bool names_find_vars(Graph *g, Arena *a, Span list, VarList *out) {
    Outputs found = {0};
    bool ok = names_find_output_list(g, list, &found);
    Var *v = NEW_N(a, found.n, Var);
    for (size_t i = 0; i < found.n; i++)
        v[i] = found.p[i].var;
    *out = (VarList){found.n, v};
    vec_free(&found);
    return ok;
}
