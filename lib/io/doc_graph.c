/* Builds a graph from a document: the head, the functions, then the sections in the
 * order of their dependences, whatever their order in the file. */
#include "io/io_impl.h"
#include "lang/lazy_scope.h"
#include "op/rowwise.h"
#include "userop/userop.h"

#include <string.h>

static const char *const keys[] = {
    "thunkline", "name",    "doc",     "dims",    "inputs",    "shared",
    "let",       "outputs", "updates", "compare", "functions", "floatX",
    "modes",     "steps",   "uses",    "aliases", "statistics"};

static bool text_equals(const Doc *d, const char *text) {
    return d && d->kind == DOC_TEXT && strcmp(d->p, text) == 0;
}

static bool check_format_version(Session *s, const Doc *root) {
    const Doc *d = doc_get(root, s, "thunkline");
    if (text_equals(d, "1")) return true;
    if (!d) {
        fail(s, root->at, E_FORMAT,
             "this is not a graph file: it has no key \"thunkline\"");
        return note(
            s, NOWHERE,
            "a graph file begins with `thunkline: 1`, the version of its format");
    }
    return fail(s, d->at, E_VERSION,
                "format version %s; this thunkline reads version 1",
                d->kind == DOC_TEXT ? d->p : "?");
}

static bool want_optional_text(Session *s, const Doc *d, const char *what) {
    return !d || d->kind == DOC_TEXT ||
           fail(s, d->at, E_FORMAT, "\"%s\" must be a text", what);
}

static bool floatX(Graph *g, const Doc *d, DType otherwise) {
    g->floatX = otherwise;
    if (!d) return true;
    if (text_equals(d, "float32"))
        g->floatX = DT_FLOAT32;
    else if (text_equals(d, "float64"))
        g->floatX = DT_FLOAT64;
    else
        return fail(g->s, d->at, E_FORMAT, "\"floatX\" must be float32 or float64");
    return true;
}

static bool want_optional_texts(Session *s, const Doc *d, const char *what) {
    if (!d) return true;
    if (d->kind != DOC_LIST)
        return fail(s, d->at, E_FORMAT, "\"%s\" must be a list of texts", what);
    for (const Doc *k = d->first; k; k = k->next)
        if (k->kind != DOC_TEXT)
            return fail(s, k->at, E_FORMAT, "\"%s\" must be a list of texts", what);
    return true;
}

/* The user ops that the graph was written with, and their versions. */
static bool check_user_ops(Session *s, const Doc *d) {
    if (d && d->kind != DOC_MAP)
        return fail(s, d->at, E_FORMAT,
                    "\"uses\" must be a mapping from ops to versions");
    for (const Doc *k = d ? d->first : NULL; k; k = k->next) {
        uint64_t version = 0;
        bool overflow = false;
        const Op *op;
        size_t n =
            k->kind == DOC_TEXT ? num_read_uint(k->p, k->n, &version, &overflow) : 0;
        if (n == 0 || n != k->n || overflow)
            return fail(s, k->at, E_FORMAT, "a version must be a number");
        if (!userop_find(s, sym_text(s, k->key), version, k->key_at, NULL, &op))
            return false;
    }
    return true;
}

/* "gload 0.1.0 --check m.yaml": tool, version, arguments. */
static Step parse_step(Graph *g, const char *text) {
    size_t tool = strcspn(text, " "), rest = tool + (text[tool] == ' ');
    size_t version_len = strcspn(text + rest, " ");
    const char *args = text + rest + version_len;
    return (Step){
        arena_str(g->arena, text, tool), arena_str(g->arena, text + rest, version_len),
        arena_str(g->arena, args + (*args == ' '), strlen(args + (*args == ' ')))};
}

static bool read_graph_head(Graph *g, const Doc *root, DType otherwise) {
    Session *s = g->s;
    const Doc *name = doc_get(root, s, "name"), *doc = doc_get(root, s, "doc");
    const Doc *modes = doc_get(root, s, "modes"), *steps = doc_get(root, s, "steps");
    if (!want_optional_text(s, name, "name") || !want_optional_text(s, doc, "doc") ||
        !want_optional_texts(s, modes, "modes") ||
        !want_optional_texts(s, steps, "steps"))
        return false;
    if (name && !io_is_label(name->p, name->n))
        return fail(s, name->at, E_NAME,
                    "a graph's name can't be empty or contain control characters, such "
                    "as marks of text direction");
    if (name) g->name = sym_n(s, name->p, name->n);
    if (doc) g->doc = arena_str(g->arena, doc->p, doc->n);
    for (const Doc *k = modes ? modes->first : NULL; k; k = k->next)
        vec_push(s, &g->modes, sym_n(s, k->p, k->n));
    for (const Doc *k = steps ? steps->first : NULL; k; k = k->next)
        vec_push(s, &g->steps, parse_step(g, k->p));
    return check_user_ops(s, doc_get(root, s, "uses")) &&
           floatX(g, doc_get(root, s, "floatX"), otherwise);
}

static bool compile_graph_body(Section *x, const Doc *root) {
    Session *s = x->s;
    return section_dims(x, doc_get(root, s, "dims")) &&
           section_inputs(x, doc_get(root, s, "inputs")) &&
           section_shared(x, doc_get(root, s, "shared")) &&
           section_let(x, doc_get(root, s, "let")) && section_untyped(x) &&
           compiler_run(x->c) && section_inits(x) &&
           section_outputs(x, doc_get(root, s, "outputs")) &&
           section_updates(x, doc_get(root, s, "updates")) &&
           section_compare(x, doc_get(root, s, "compare")) &&
           section_aliases(x, doc_get(root, s, "aliases")) &&
           section_statistics(x, doc_get(root, s, "statistics"));
}

static bool fill_graph(Graph *g, const Doc *root, const char *folder,
                       const ReadOptions *o) {
    Session *s = g->s;
    if (folder) g->folder = arena_str(g->arena, folder, strlen(folder));
    if (!read_graph_head(g, root, o->floatX)) return false;
    if (g->floatX != DT_NONE) /* for the types in the file */
        session_options(s)->floatX = (int)g->floatX;
    if (!doc_functions(g, doc_get(root, s, "functions"), g->folder, o->pending))
        return false;
    Builder b = builder(g, false);
    Section x = {.s = s, .g = g, .c = compiler_new(&b), .a = arena_new(s)};
    doc_allow_load(x.c, g->folder, o->pending);
    bool ok = compile_graph_body(&x, root);
    compiler_free(x.c);
    if (ok) rowwise_settle(g);
    if (ok) lazy_scope_keep_all(g);
    if (ok) graph_sweep(g);
    section_free(&x);
    return ok;
}

/* Lines that would be the block of a graph file. */
static bool fail_definitions(Session *s, const Doc *root) {
    fail(s, root->at, E_FORMAT, "a graph file is a mapping, and this is a definition");
    return note(s, NOWHERE,
                "definitions stand in a block: the lines `thunkline: 1` and `let: |`, "
                "then they, indented");
}

Graph *doc_graph(Session *s, const Doc *root, const char *folder,
                 const ReadOptions *o) {
    if (root->kind == DOC_TEXT && str_begins_definition(root->p, root->n, "="))
        return fail_definitions(s, root), NULL;
    if (!doc_keys(s, root, keys, sizeof keys / sizeof *keys, "a graph file") ||
        !check_format_version(s, root))
        return NULL;
    Graph *g = graph_new(s);
    int outer = session_options(s)->floatX;
    bool ok = fill_graph(g, root, folder, o);
    session_options(s)->floatX = outer;
    if (ok) return g;
    graph_free(g);
    return NULL;
}
