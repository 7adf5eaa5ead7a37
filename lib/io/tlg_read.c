/* Reads a tlg. The order of sections is fixed: header, tables, then for each graph its
 * leaves, constants, Applies, names and interface. Unknown keys of a newer writer are
 * skipped; those that must not be skipped are listed by the writer as required. */
#include "io/tlg.h"
#include "lang/lazy_scope.h"

#include <string.h>

/* ---- header ---- */

static bool read_required(Tlg *t, void *into) {
    (void)into;
    size_t n;
    Sym y;
    if (!cbor_array(&t->c, &n)) return false;
    if (n == 0) return true;
    if (!cbor_sym(&t->c, &y)) return false;
    return fail(t->s, NOWHERE, E_VERSION,
                "%s: the graph needs \"%s\", which this thunkline doesn't know; a "
                "newer one may",
                t->c.name, sym_text(t->s, y));
}

static bool read_version(Tlg *t, void *into) {
    (void)into;
    size_t n;
    uint64_t major, minor;
    if (!cbor_array(&t->c, &n)) return false;
    if (n != 2) return cbor_fail(&t->c, "a version has two numbers");
    if (!cbor_uint(&t->c, UINT32_MAX, &major) || !cbor_uint(&t->c, UINT32_MAX, &minor))
        return false;
    return major == TLG_MAJOR ||
           fail(t->s, NOWHERE, E_VERSION,
                "%s: format version %llu; this thunkline reads version %d", t->c.name,
                (unsigned long long)major, TLG_MAJOR);
}

static bool read_format_name(Tlg *t, void *into) {
    (void)into;
    Sym y;
    if (!cbor_sym(&t->c, &y)) return false;
    return strcmp(sym_text(t->s, y), "thunkline") == 0 ||
           cbor_fail(&t->c, "CBOR, but not of thunkline");
}

static bool read_floatX(Tlg *t, void *into) {
    (void)into;
    const char *p;
    size_t n;
    if (!cbor_text(&t->c, &p, &n)) return false;
    t->main->floatX = dtype_find(p, n);
    return t->main->floatX == DT_FLOAT32 || t->main->floatX == DT_FLOAT64 ||
           cbor_fail(&t->c, "floatX must be float32 or float64");
}

static bool read_modes(Tlg *t, void *into) {
    (void)into;
    size_t n;
    Sym y;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (!cbor_sym(&t->c, &y)) return false;
        vec_push(t->s, &t->main->modes, y);
    }
    return true;
}

static bool read_tlg_text(Tlg *t, const char **out) {
    const char *p;
    size_t n;
    if (!cbor_text(&t->c, &p, &n)) return false;
    *out = arena_str(t->main->arena, p, n);
    return true;
}

static bool read_provenance(Tlg *t, void *into) {
    (void)into;
    size_t n, parts;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        Step p;
        if (!cbor_array(&t->c, &parts)) return false;
        if (parts != 3) return cbor_fail(&t->c, "a step has three parts");
        if (!read_tlg_text(t, &p.tool) || !read_tlg_text(t, &p.version) ||
            !read_tlg_text(t, &p.args))
            return false;
        vec_push(t->s, &t->main->steps, p);
    }
    return true;
}

static bool tlg_header(Tlg *t) {
    static const TlgField fields[] = {
        {"format", read_format_name}, {"version", read_version},
        {"required", read_required},  {"floatX", read_floatX},
        {"modes", read_modes},        {"steps", read_provenance}};
    unsigned seen;
    if (t->header) return cbor_fail(&t->c, "a second header");
    t->header = true;
    if (!tlg_fields(t, 6, fields, NULL, &seen)) return false;
    return (seen & 7) == 7 || cbor_fail(&t->c, "an incomplete header");
}

/* ---- graphs ---- */

typedef struct GraphMeta {
    Sym name, pullback, pushforward;
    const char *doc;
    bool fused;
} GraphMeta;

static bool read_name(Tlg *t, void *into) {
    return cbor_sym(&t->c, &((GraphMeta *)into)->name);
}
static bool read_pullback(Tlg *t, void *into) {
    return cbor_sym(&t->c, &((GraphMeta *)into)->pullback);
}
static bool read_pushforward(Tlg *t, void *into) {
    return cbor_sym(&t->c, &((GraphMeta *)into)->pushforward);
}
static bool read_graph_doc(Tlg *t, void *into) {
    return read_tlg_text(t, &((GraphMeta *)into)->doc);
}
static bool read_fused(Tlg *t, void *into) {
    return cbor_bool(&t->c, &((GraphMeta *)into)->fused);
}

static bool check_graph_complete(Tlg *t) {
    return !t->g || (t->interface && t->pending == 0) ||
           cbor_fail(&t->c, "a graph without its interface or its constants");
}

static bool tlg_graph(Tlg *t) {
    static const TlgField fields[] = {{"name", read_name},
                                      {"doc", read_graph_doc},
                                      {"fused", read_fused},
                                      {"pullback", read_pullback},
                                      {"pushforward", read_pushforward}};
    GraphMeta m = {0};
    unsigned seen;
    if (!check_graph_complete(t) || !tlg_fields(t, 5, fields, &m, &seen)) return false;
    const char *name = sym_text(t->s, m.name);
    bool function = t->g != NULL;
    if (m.name && !(function ? word_is_name(name, strlen(name))
                             : io_is_label(name, strlen(name))))
        return cbor_fail(&t->c, "\"%.60s\" can't be the name of a graph", name);
    if (function && io_is_builtin(t->s, name))
        return cbor_fail(&t->c, "\"%s\" is a function of the language already", name);
    if (function && (!m.name || graph_function(t->main, m.name)))
        return cbor_fail(&t->c, "a function without a name of its own");
    t->g = function ? graph_function_new(t->main, m.name) : t->main;
    t->g->name = m.name;
    if (m.doc) t->g->doc = arena_str(t->g->arena, m.doc, strlen(m.doc));
    t->g->fused = m.fused;
    t->g->pullback = m.pullback;
    t->g->pushforward = m.pushforward;
    t->leaf_code.n = 0;
    memset(t->recent, 0, sizeof t->recent);
    t->closed = t->interface = false;
    return true;
}

/* ---- names and interface ---- */

typedef struct NameFields {
    Column var;
    Cbor names;
    size_t n;
} NameFields;

static bool read_name_vars(Tlg *t, void *into) {
    return cbor_column(&t->c, &((NameFields *)into)->var);
}
static bool read_name_texts(Tlg *t, void *into) {
    NameFields *f = into;
    f->names = t->c;
    return cbor_array(&f->names, &f->n) && cbor_skip(&t->c);
}

static bool read_one_name(Tlg *t, uint32_t v, Cbor *c) {
    const char *p;
    size_t n;
    if (!cbor_text(c, &p, &n)) return false;
    if (v >= t->g->nvar || !word_is_name(p, n))
        return cbor_fail(&t->c, "a name \"%.*s\" for variable %u", n < 60 ? (int)n : 60,
                         p, v);
    return graph_try_name(t->g, v, sym_n(t->s, p, n)) ||
           fail(t->s, NOWHERE, E_DUPLICATE, "%s: the name \"%.*s\" is used twice",
                t->c.name, n < 60 ? (int)n : 60, p);
}

static bool tlg_names(Tlg *t) {
    static const TlgField fields[] = {{"var", read_name_vars},
                                      {"name", read_name_texts}};
    NameFields f = {0};
    unsigned seen;
    if (!t->g) return cbor_fail(&t->c, "names out of place");
    t->closed = true;
    if (!tlg_fields(t, 2, fields, &f, &seen)) return false;
    if (seen != 3 || f.var.n != f.n)
        return cbor_fail(&t->c, "columns of names that don't belong together");
    sym_reserve(t->s, f.n);
    graph_reserve_names(t->g, f.n);
    for (size_t i = 0; i < f.n; i++)
        if (!read_one_name(t, column_at(&f.var, i), &f.names)) return false;
    return true;
}

static bool read_var(Tlg *t, Var *v) {
    uint64_t n;
    if (t->g->nvar == 0) return cbor_fail(&t->c, "a variable of an empty graph");
    if (!cbor_uint(&t->c, t->g->nvar - 1, &n)) return false;
    *v = (Var)n;
    return true;
}

static bool expect_pair(Tlg *t) {
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    return n == 2 || cbor_fail(&t->c, "expected a pair");
}

static bool read_graph_outputs(Tlg *t, void *into) {
    Map *seen = into;
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        Output o;
        if (!expect_pair(t) || !cbor_sym(&t->c, &o.label) || !read_var(t, &o.var))
            return false;
        const char *label = sym_text(t->s, o.label);
        if (!io_is_label(label, strlen(label)) || map_get(seen, o.label, NULL))
            return cbor_fail(
                &t->c, "the label \"%.60s\" occurs twice or can't be a label", label);
        map_put(seen, o.label, i);
        vec_push(t->s, &t->g->outputs, o);
    }
    return true;
}

/* A shared variable and a variable whose type it accepts. */
static bool read_shared(Tlg *t, Var *shared, Var *value) {
    if (!expect_pair(t) || !read_var(t, shared) || !read_var(t, value)) return false;
    if (var_leaf(t->g, *shared) != LEAF_SHARED)
        return cbor_fail(&t->c, "variable %u is not a shared variable", *shared);
    const Type *a = var_type(t->g, *shared), *b = var_type(t->g, *value);
    return a == b || type_meet(t->s, a, b) ||
           cbor_fail(&t->c, "a value of type %s for a shared variable of type %s",
                     type_str(t->s, b), type_str(t->s, a));
}

static bool read_updates(Tlg *t, void *into) {
    (void)into;
    Map seen = MAP(t->s);
    size_t n = 0;
    bool ok = cbor_array(&t->c, &n);
    for (size_t i = 0; ok && i < n; i++) {
        Update u;
        ok = read_shared(t, &u.shared, &u.value);
        if (ok && map_get(&seen, u.shared, NULL))
            ok = cbor_fail(&t->c, "two updates of one variable");
        if (!ok) break;
        map_put(&seen, u.shared, i);
        vec_push(t->s, &t->g->updates, u);
    }
    map_free(&seen);
    return ok;
}

static bool read_init(Tlg *t, void *into) {
    (void)into;
    size_t n;
    Var shared, value;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (!read_shared(t, &shared, &value)) return false;
        var_leafrec(t->g, shared)->init = value;
    }
    return true;
}

static bool read_effects(Tlg *t, void *into) {
    (void)into;
    Column c;
    const uint32_t *id;
    if (!cbor_column(&t->c, &c) ||
        !column_u32(&t->c, &c, t->tmp, t->g->napply, "effect", &id))
        return false;
    for (size_t i = 0; i < c.n; i++) {
        if (i && id[i] <= id[i - 1]) return cbor_fail(&t->c, "effects out of order");
        vec_push(t->s, &t->g->effects, id[i]);
    }
    return true;
}

static bool read_until(Tlg *t, void *into) {
    (void)into;
    return read_var(t, &t->g->until);
}

static bool read_approx(Tlg *t, void *into) {
    size_t n, six;
    (void)into;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        Var v = VAR_NONE;
        uint64_t sloppy;
        Approx how = {0};
        if (!cbor_array(&t->c, &six)) return false;
        if (six != 6) return cbor_fail(&t->c, "a comparison of %zu parts", six);
        if (!read_var(t, &v) || !cbor_f64(&t->c, &how.rtol) ||
            !cbor_f64(&t->c, &how.atol) || !cbor_uint(&t->c, 2, &sloppy) ||
            !cbor_bool(&t->c, &how.allow_remove_inf) ||
            !cbor_bool(&t->c, &how.allow_remove_nan))
            return false;
        how.sloppy = (int)sloppy;
        if (i && graph_approx(t->g, v))
            return cbor_fail(&t->c, "two comparisons of one variable");
        graph_set_approx(t->g, v, how);
    }
    return true;
}

static bool tlg_interface(Tlg *t) {
    static const TlgField fields[] = {
        {"outputs", read_graph_outputs}, {"updates", read_updates},
        {"effects", read_effects},       {"init", read_init},
        {"until", read_until},           {"compare", read_approx}};
    unsigned seen;
    if (!t->g || t->interface) return cbor_fail(&t->c, "an interface out of place");
    t->closed = t->interface = true;
    Map labels = MAP(t->s);
    bool ok = tlg_fields(t, 6, fields, &labels, &seen);
    map_free(&labels);
    return ok && ((seen & 7) == 7 || cbor_fail(&t->c, "an incomplete interface"));
}

/* ---- the end ---- */

typedef struct EndCounts {
    uint64_t graphs, applies;
} EndCounts;

static bool read_ngraph(Tlg *t, void *into) {
    return cbor_uint(&t->c, UINT64_MAX, &((EndCounts *)into)->graphs);
}
static bool read_napply(Tlg *t, void *into) {
    return cbor_uint(&t->c, UINT64_MAX, &((EndCounts *)into)->applies);
}

static bool tlg_end(Tlg *t) {
    static const TlgField fields[] = {{"graphs", read_ngraph},
                                      {"applies", read_napply}};
    EndCounts n = {0};
    unsigned seen;
    if (!check_graph_complete(t) || !tlg_fields(t, 2, fields, &n, &seen)) return false;
    uint64_t applies = t->main->napply, graphs = t->main->functions.n + (t->g != NULL);
    for (size_t i = 0; i < t->main->functions.n; i++)
        applies += t->main->functions.p[i]->napply;
    if (seen != 3 || n.graphs != graphs || n.applies != applies || graphs == 0)
        return fail(t->s, NOWHERE, E_TRUNCATED,
                    "%s: truncated input: the end record counts other graphs or "
                    "Applies than there are",
                    t->c.name);
    return tlg_calls(t->main, t->c.name);
}

static const struct {
    const char *key;
    bool (*read)(Tlg *t);
} sections[] = {{"header", tlg_header},
                {"sources", tlg_sources},
                {"rules", tlg_rules},
                {"types", tlg_types},
                {"ops", tlg_ops},
                {"props", tlg_props},
                {"graph", tlg_graph},
                {"leaves", tlg_leaves},
                {"constant", tlg_constant},
                {"applies", tlg_read_applies},
                {"names", tlg_names},
                {"interface", tlg_interface},
                {"end", tlg_end}};

static bool read_section(Tlg *t) {
    size_t n;
    Sym y;
    if (!cbor_map(&t->c, &n) || !cbor_sym(&t->c, &y)) return false;
    const char *key = sym_text(t->s, y);
    if (!t->header && strcmp(key, "header") != 0) return cbor_fail(&t->c, "no header");
    size_t i = 0, count = sizeof sections / sizeof *sections;
    while (i < count && strcmp(sections[i].key, key) != 0)
        i++;
    bool ok = i == count ? cbor_skip(&t->c) : sections[i].read(t);
    arena_reset(t->tmp);
    return ok;
}

Graph *tlg_read(Session *s, Input *in, const ReadOptions *o) {
    (void)o;
    if (!tlg_verify(in)) return NULL;
    Tlg t = {.s = s, .in = in, .a = arena_new(s), .tmp = arena_new(s)};
    t.c = (Cbor){s, in->name, in->p, in->p + 3, in->p + in->n};
    t.share = input_is_shareable(in);
    t.main = graph_new(s);
    bool ok = true;
    while (ok && t.c.p < t.c.end)
        ok = read_section(&t);
    arena_free(t.a);
    arena_free(t.tmp);
    vec_free(&t.leaf_code);
    if (ok) {
        lazy_scope_keep_all(t.main);
        return t.main;
    }
    graph_free(t.main);
    return NULL;
}
