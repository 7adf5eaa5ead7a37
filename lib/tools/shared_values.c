/* The values of all shared variables, from a file and to one: the weights of a graph
 * without the graph; from a machine, and into the file of a whole graph. */
#include "tools/tools.h"
#include "value/class.h"
#include "value/file/file.h"
#include "value/transfer.h"

#include <string.h>

void graph_give_shared(Graph *g, Var shared, Value *v) {
    Leaf *leaf = var_leafrec(g, shared);
    Value *to = leaf->value ? leaf->value : leaf_value_new(g, leaf);
    value_unref(to);
    *to = *v;
    leaf->init = VAR_NONE;
}

bool graph_store_shared(Graph *g, Machine *m) {
    for (size_t i = 0; i < g->shared.n; i++) {
        const Value *v = vm_shared(m, i);
        Value held = {0};
        if (!v) return false;
        value_copy_view(&held, v);
        graph_give_shared(g, g->shared.p[i], &held);
    }
    return true;
}

void graph_take_shared(Graph *to, const Graph *from) {
    for (size_t i = 0; i < to->shared.n && i < from->shared.n; i++) {
        const Leaf *leaf = var_leafrec(from, from->shared.p[i]);
        Value held = {0};
        if (!leaf->value) continue;
        value_copy_view(&held, leaf->value);
        graph_give_shared(to, to->shared.p[i], &held);
    }
}

/* ---- to a file ---- */

typedef struct SharedValues {
    Graph *g;
    Value *value; /* by shared variable; references */
    NamedValue *named;
    size_t n; /* of named */
} SharedValues;

/* Current values; initial ones that are still expressions are computed. */
static bool collect_shared(SharedValues *w) {
    Graph *g = w->g;
    for (size_t i = 0; i < g->shared.n; i++) {
        const Leaf *leaf = var_leafrec(g, g->shared.p[i]);
        Var init = leaf->init;
        if (init != VAR_NONE) {
            if (!services(g->s)->eval(g, 1, &init, &w->value[i])) return false;
        } else if (value_has_data(leaf->value)) {
            value_copy_view(&w->value[i], leaf->value);
        } else {
            return fail(g->s, NOWHERE, E_MISSING, "the shared variable %s has no value",
                        sym_text(g->s, leaf->name));
        }
    }
    return true;
}

/* Formats of arrays leave out what is none, such as the state of a random stream. */
static void choose_shared(SharedValues *w, const char *path) {
    Session *s = w->g->s;
    for (size_t i = 0; i < w->g->shared.n; i++) {
        const Value *v = &w->value[i];
        Sym alias = graph_alias_of(w->g, w->g->shared.p[i]);
        const char *name =
            sym_text(s, alias ? alias : var_name(w->g, w->g->shared.p[i]));
        if (v->kind == TYPE_TENSOR || value_form_of(path) == VALUE_JSON) {
            w->named[w->n++] = (NamedValue){name, v};
            continue;
        }
        Str what = STR(s);
        value_describe(s, v, &what);
        warn(s, NOWHERE, E_TYPE, "%s: %s is left out, since it is %s", path, name,
             str_text(&what));
        str_free(&what);
    }
}

static bool write_chosen(SharedValues *w, const char *path) {
    Session *s = w->g->s;
    if (!collect_shared(w)) return false;
    choose_shared(w, path);
    return w->n
               ? values_write(s, path, w->n, w->named)
               : fail(s, NOWHERE, E_USAGE,
                      "%s would hold the values of the shared variables, but there are "
                      "none that are arrays",
                      path);
}

bool graph_write_shared(Graph *g, const char *path) {
    Arena *a = arena_new(g->s);
    SharedValues w = {.g = g};
    w.value = NEW_N(a, g->shared.n, Value);
    w.named = NEW_N(a, g->shared.n, NamedValue);
    bool ok = write_chosen(&w, path);
    for (size_t i = 0; i < g->shared.n; i++)
        value_unref(&w.value[i]);
    arena_free(a);
    return ok;
}

/* ---- to either kind of file ---- */

/* The suffix of a name for a graph, without .zst: "" if there is none. */
static const char *graph_suffix(Session *s, const char *path) {
    size_t n = strlen(path);
    if (str_has_suffix(path, n, ".zst")) n -= 4;
    return str_suffix(arena_str(session_arena(s), path, n));
}

bool graph_save_form(Session *s, const char *path, IoFormat *graph, bool *values) {
    *graph = io_format_of(path, NULL);
    *values = *graph == IO_AUTO && value_form_of(path) != VALUE_FORMLESS;
    const char *suffix = graph_suffix(s, path);
    if (*graph != IO_AUTO || *values || !*suffix) return true;
    Str forms = STR(s);
    io_suffixes(&forms);
    fail(s, NOWHERE, E_USAGE, "%s: no format has the suffix %s", path, suffix);
    note(s, NOWHERE,
         "a graph goes to %s, also with .zst; the values of its shared variables go to "
         ".npz .safetensors",
         str_text(&forms));
    str_free(&forms);
    return false;
}

bool graph_save(Graph *g, const char *path, const WriteOptions *how) {
    WriteOptions w = *how;
    bool values;
    if (!graph_save_form(g->s, path, &w.format, &values)) return false;
    if (values) return graph_write_shared(g, path);
    if (w.format == IO_AUTO) w.format = IO_TLG;
    w.durable = true;
    /* without the nodes that computed the initial values */
    graph_compact(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false);
    return io_write(g, path, &w);
}

/* ---- from a file ---- */

/* Are they the same where names can't have dots and slashes, as in layer1.weight? */
static bool is_name_of(const char *variable, const char *array) {
    for (; *variable && *array; variable++, array++) {
        bool sign = *array == '.' || *array == '/' || *array == '-';
        if (*variable != (sign ? '_' : *array)) return false;
    }
    return *variable == *array;
}

/* The array with the variable's name in the model that it was read from, or with its
 * own name, or with dots for its underscores. */
static const char *array_for(const ValueList *l, const Graph *g, Var v) {
    const char *found = NULL, *variable = sym_text(g->s, var_name(g, v));
    Sym alias = graph_alias_of(g, v);
    for (size_t i = 0; i < l->info.n; i++) {
        const char *name = l->info.p[i].name;
        if (name && alias && strcmp(sym_text(g->s, alias), name) == 0) return name;
        if (!name || !is_name_of(variable, name)) continue;
        if (!found || strcmp(variable, name) == 0) found = name;
    }
    return found;
}

static void add_name(Str *list, size_t *n, const char *name) {
    enum { SHOWN = 12 };
    if (++*n > SHOWN + 1) return;
    if (*n > 1) str_puts(list, ", ");
    if (*n > SHOWN)
        str_puts(list, "...");
    else
        str_visible(list, name, strlen(name));
}

/* Has a variable taken the array, or another of the same name? key: of each shared
 * variable's array, from the list; NULL: it has none. */
static bool is_taken(const Graph *g, const char *const *key, const char *array) {
    for (size_t i = 0; i < g->shared.n; i++)
        if (key[i] == array ||
            is_name_of(sym_text(g->s, var_name(g, g->shared.p[i])), array))
            return true;
    return false;
}

/* Says what stays as it was, and what in the file has no place. */
static void warn_of_rest(const Graph *g, const ValueList *l, const char *const *key,
                         Span at) {
    Session *s = g->s;
    Str kept = STR(s), unused = STR(s);
    size_t nkept = 0, nunused = 0;
    for (size_t i = 0; i < g->shared.n; i++) {
        Var v = g->shared.p[i];
        bool array = var_type(g, v)->kind == TYPE_TENSOR;
        if (array && !key[i]) add_name(&kept, &nkept, sym_text(s, var_name(g, v)));
    }
    for (size_t i = 0; i < l->info.n; i++)
        if (!is_taken(g, key, l->info.p[i].name))
            add_name(&unused, &nunused, l->info.p[i].name);
    if (nkept)
        warn(s, at, E_NAME, "the file has no value for %s: %s", str_text(&kept),
             nkept > 1 ? "they keep theirs" : "it keeps its own");
    if (nunused)
        warn(s, at, E_NAME, "no shared variable takes %s from the file",
             str_text(&unused));
    str_free(&kept);
    str_free(&unused);
}

static bool set_from_file(Graph *g, Var v, ValueFile *file, const char *key, Span at) {
    Session *s = g->s;
    const Type *t = var_type(g, v);
    Value read, fits = {0};
    Selection what = {.key = key, .want = t->dtype, .at = at};
    if (!value_file_read(file, &what, &read)) return false;
    Receiver to = {{.allow_downcast = -1}, sym_text(s, var_name(g, v)), at};
    bool ok = value_bind(s, t, &read, &to, &fits);
    value_unref(&read);
    if (ok) graph_give_shared(g, v, &fits);
    return ok;
}

static bool fail_no_match(Graph *g, const char *path, const ValueList *l, Span at) {
    Str names = STR(g->s);
    size_t n = 0;
    for (size_t i = 0; i < g->shared.n; i++)
        add_name(&names, &n, sym_text(g->s, var_name(g, g->shared.p[i])));
    fail(g->s, at, E_NAME, "%s has no array with the name of a shared variable (%s)",
         path, n ? str_text(&names) : "there are none");
    str_clear(&names);
    n = 0;
    for (size_t i = 0; i < l->info.n; i++)
        add_name(&names, &n, l->info.p[i].name ? l->info.p[i].name : "an array");
    note(g->s, NOWHERE, "it holds %s; a single one is set by NAME=@%s:KEY",
         n ? str_text(&names) : "nothing", path);
    str_free(&names);
    return false;
}

static bool set_listed(Graph *g, const char *path, ValueFile *file, const ValueList *l,
                       Span at) {
    size_t set = 0;
    const char **key = NEW_N(l->a, g->shared.n + 1, const char *);
    for (size_t i = 0; i < g->shared.n; i++) {
        key[i] = array_for(l, g, g->shared.p[i]);
        if (!key[i]) continue;
        if (!set_from_file(g, g->shared.p[i], file, key[i], at)) return false;
        set++;
    }
    if (!set) return fail_no_match(g, path, l, at);
    warn_of_rest(g, l, key, at);
    return true;
}

bool graph_set_shared(Graph *g, const char *path, Span at) {
    ValueList l;
    bool ok = value_list(g->s, path, at, &l);
    ValueFile *file = ok ? value_file_open(g->s, path, at) : NULL;
    ok = file && set_listed(g, path, file, &l, at);
    value_file_close(file);
    value_list_free(&l);
    return ok;
}
