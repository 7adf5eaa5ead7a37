/* The sections of one graph in a tlg that are not its nodes: how it begins, the names
 * of its variables, and last its interface. */
#include "io/tlg/tlg.h"

#include <string.h>

/* ---- the beginning ---- */

typedef struct GraphMeta {
    Sym name, pullback, pushforward;
    const char *doc;
    bool fused;
} GraphMeta;

static bool write_doc(TlgWriter *w, const void *from) {
    const char *doc = *(const char *const *)from;
    if (doc) cbor_put_text(&w->b, doc);
    return doc != NULL;
}
static bool read_doc(TlgReader *t, void *into) {
    return tlg_read_text(t, into);
}

static bool write_fused(TlgWriter *w, const void *from) {
    bool fused = *(const bool *)from;
    if (fused) cbor_put_bool(&w->b, true);
    return fused;
}
static bool read_fused(TlgReader *t, void *into) {
    return cbor_bool(&t->c, into);
}

static const TlgField graph_fields[] = {
    {"name", tlg_read_sym, tlg_write_sym, offsetof(GraphMeta, name)},
    {"doc", read_doc, write_doc, offsetof(GraphMeta, doc)},
    {"fused", read_fused, write_fused, offsetof(GraphMeta, fused)},
    {"pullback", tlg_read_sym, tlg_write_sym, offsetof(GraphMeta, pullback)},
    {"pushforward", tlg_read_sym, tlg_write_sym, offsetof(GraphMeta, pushforward)}};

void tlg_write_graph(TlgWriter *w) {
    const Graph *g = w->n->g;
    GraphMeta m = {g->name, g->pullback, g->pushforward, g->doc, g->fused};
    tlg_write_section(w, "graph", TLG_FIELDS(graph_fields), &m);
}

bool tlg_graph_is_complete(const TlgReader *t) {
    return !t->g || (t->interface && t->pending == 0) ||
           cbor_fail(&t->c, "a graph without its interface or its constants");
}

bool tlg_read_graph(TlgReader *t) {
    GraphMeta m = {0};
    unsigned seen;
    if (!tlg_graph_is_complete(t) ||
        !tlg_read_fields(t, TLG_FIELDS(graph_fields), &m, &seen))
        return false;
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

/* ---- names ---- */

typedef struct NameFields {
    Column var;
    Cbor names;
    size_t n;
} NameFields;

/* Is it the name that the leaf's declaration has already? */
static bool is_declared_name(const Graph *g, VarName y) {
    LeafKind leaf = var_leaf(g, y.var);
    return (leaf == LEAF_INPUT || leaf == LEAF_SHARED) &&
           tlg_declared_name(g, y.var) == y.name;
}

static bool write_name_vars(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    size_t count = 0;
    (void)from;
    for (size_t i = w->from; i < w->to; i++)
        if (!is_declared_name(g, g->names.p[i]))
            w->col.p[count++] = w->n->to[g->names.p[i].var];
    cbor_put_column(&w->b, w->col.p, count);
    return true;
}

static bool write_name_texts(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    cbor_put_head(&w->b, CB_ARRAY, ((const NameFields *)from)->n);
    for (size_t i = w->from; i < w->to; i++)
        if (!is_declared_name(g, g->names.p[i]))
            cbor_put_text(&w->b, sym_text(g->s, g->names.p[i].name));
    return true;
}
static bool read_name_texts(TlgReader *t, void *into) {
    NameFields *f = into;
    f->names = t->c;
    return cbor_array(&f->names, &f->n) && cbor_skip(&t->c);
}

static const TlgField name_fields[] = {
    {"var", tlg_read_column, write_name_vars, offsetof(NameFields, var)},
    {"name", read_name_texts, write_name_texts, 0}};

void tlg_write_names(TlgWriter *w) {
    const Graph *g = w->n->g;
    vec_reserve(w->s, &w->col, TLG_CHUNK);
    for (size_t i = 0; i < g->names.n;) {
        NameFields f = {0};
        w->from = (uint32_t)i;
        for (; i < g->names.n && f.n < TLG_CHUNK; i++)
            f.n += !is_declared_name(g, g->names.p[i]);
        w->to = (uint32_t)i;
        if (f.n) tlg_write_section(w, "names", TLG_FIELDS(name_fields), &f);
        tlg_flush(w);
    }
}

/* Names whose texts and variables are all right, of which one may still be taken. */
enum { NAMES = 256 };
typedef struct NameBlock {
    size_t n;
    const char *p[NAMES];
    size_t len[NAMES];
    Var var[NAMES];
} NameBlock;

static bool add_names(TlgReader *t, const NameBlock *k) {
    Sym y[NAMES];
    VarName names[NAMES];
    sym_all(t->s, k->n, k->p, k->len, y);
    for (size_t i = 0; i < k->n; i++)
        names[i] = (VarName){k->var[i], y[i]};
    size_t done = graph_try_names(t->g, k->n, names);
    return done == k->n ||
           fail(t->s, NOWHERE, E_DUPLICATE, "%s: the name \"%.60s\" is used twice",
                t->c.name, sym_text(t->s, y[done]));
}

static bool read_name(TlgReader *t, uint32_t v, Cbor *c, NameBlock *k) {
    const char *p;
    size_t n;
    if (!cbor_text(c, &p, &n)) return false;
    if (v >= t->g->nvar || !word_is_name(p, n))
        return cbor_fail(&t->c, "a name \"%.*s\" for variable %u", n < 60 ? (int)n : 60,
                         p, v);
    k->p[k->n] = p;
    k->len[k->n] = n;
    k->var[k->n++] = v;
    return true;
}

/* Takes names into k until it is full, or until one that read_name must look at. Most
 * are texts of fewer than 24 bytes. */
static size_t take_plain_names(TlgReader *t, Column var, size_t i, Cbor *c,
                               NameBlock *k) {
    const unsigned char *p = c->p;
    while (k->n < NAMES && i < var.n && p < c->end) {
        size_t len = (size_t)*p - (CB_TEXT << 5);
        uint32_t v = column_at(&var, i);
        const char *text = (const char *)p + 1;
        if (len > 23 || len >= (size_t)(c->end - p) || v >= t->g->nvar ||
            !word_is_name(text, len))
            break;
        k->p[k->n] = text;
        k->len[k->n] = len;
        k->var[k->n++] = v;
        p += 1 + len;
        i++;
    }
    c->p = p;
    return i;
}

/* The first of the names that can't be is the one to report: before a wrong one, those
 * of its block are added. */
static bool read_names(TlgReader *t, NameFields *f) {
    NameBlock k = {0};
    for (size_t i = 0; i < f->n || k.n;) {
        bool ok = true;
        i = take_plain_names(t, f->var, i, &f->names, &k);
        size_t mark = diag_count(t->s);
        Cbor before = f->names;
        if (i < f->n && k.n < NAMES) {
            ok = read_name(t, column_at(&f->var, i), &f->names, &k);
            if (ok && ++i) continue;
            diag_rewind(t->s, mark);
        }
        if (!add_names(t, &k)) return false;
        k.n = 0;
        if (!ok) return read_name(t, column_at(&f->var, i), &before, &k);
    }
    return true;
}

/* Are these likely to be names that the session hasn't seen? */
static bool begins_with_new_name(Session *s, const NameFields *f) {
    Cbor c = f->names;
    const char *p;
    size_t n, mark = diag_count(s);
    bool seen = !f->n || !cbor_text(&c, &p, &n) || sym_find(s, p, n);
    diag_rewind(s, mark);
    return !seen;
}

/* Room for a section; if it is full, for as many more as the rest of the input can hold
 * and outputs of Applies can have: few other variables have names here. */
static void reserve_names(TlgReader *t, const NameFields *f, size_t bytes) {
    size_t left = (size_t)(t->c.end - t->c.p), n = f->n, all = n;
    size_t most = t->g->nvar - t->g->nleaf;
    if (n == TLG_CHUNK && !size_mul(n, 1 + left / bytes, &all)) all = n;
    if (all > most) all = n > most ? n : most;
    sym_reserve(t->s, begins_with_new_name(t->s, f) ? all : n);
    graph_reserve_names(t->g, all);
}

bool tlg_read_names(TlgReader *t) {
    const unsigned char *begin = t->c.p;
    NameFields f = {0};
    unsigned seen;
    if (!t->g) return cbor_fail(&t->c, "names out of place");
    t->closed = true;
    if (!tlg_read_fields(t, TLG_FIELDS(name_fields), &f, &seen)) return false;
    if (seen != 3 || f.var.n != f.n)
        return cbor_fail(&t->c, "columns of names that don't belong together");
    reserve_names(t, &f, (size_t)(t->c.p - begin));
    return read_names(t, &f);
}

/* ---- the interface ---- */

static bool read_var(TlgReader *t, Var *v) {
    uint64_t n;
    if (t->g->nvar == 0) return cbor_fail(&t->c, "a variable of an empty graph");
    if (!cbor_uint(&t->c, t->g->nvar - 1, &n)) return false;
    *v = (Var)n;
    return true;
}

static bool expect_pair(TlgReader *t) {
    size_t n;
    if (!cbor_array(&t->c, &n)) return false;
    return n == 2 || cbor_fail(&t->c, "expected a pair");
}

static bool write_outputs(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    (void)from;
    cbor_put_head(&w->b, CB_ARRAY, g->outputs.n);
    for (size_t i = 0; i < g->outputs.n; i++) {
        cbor_put_head(&w->b, CB_ARRAY, 2);
        cbor_put_text(&w->b, sym_text(g->s, g->outputs.p[i].label));
        cbor_put_int(&w->b, w->n->to[g->outputs.p[i].var]);
    }
    return true;
}

static bool read_output(TlgReader *t, Map *labels) {
    Output o;
    if (!expect_pair(t) || !cbor_sym(&t->c, &o.label) || !read_var(t, &o.var))
        return false;
    const char *label = sym_text(t->s, o.label);
    if (!io_is_label(label, strlen(label)) || map_get(labels, o.label, NULL))
        return cbor_fail(&t->c, "the label \"%.60s\" occurs twice or can't be a label",
                         label);
    map_put(labels, o.label, 1);
    vec_push(t->s, &t->g->outputs, o);
    return true;
}

static bool read_outputs(TlgReader *t, void *into) {
    Map labels = MAP(t->s);
    size_t n = 0;
    (void)into;
    bool ok = cbor_array(&t->c, &n);
    for (size_t i = 0; ok && i < n; i++)
        ok = read_output(t, &labels);
    map_free(&labels);
    return ok;
}

/* A shared variable and a variable whose type it accepts. */
static bool read_shared(TlgReader *t, Var *shared, Var *value) {
    if (!expect_pair(t) || !read_var(t, shared) || !read_var(t, value)) return false;
    if (var_leaf(t->g, *shared) != LEAF_SHARED)
        return cbor_fail(&t->c, "variable %u is not a shared variable", *shared);
    const Type *a = var_type(t->g, *shared), *b = var_type(t->g, *value);
    return a == b || type_meet(t->s, a, b) ||
           cbor_fail(&t->c, "a value of type %s for a shared variable of type %s",
                     type_str(t->s, b), type_str(t->s, a));
}

static bool write_updates(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    (void)from;
    cbor_put_head(&w->b, CB_ARRAY, g->updates.n);
    for (size_t i = 0; i < g->updates.n; i++) {
        cbor_put_head(&w->b, CB_ARRAY, 2);
        cbor_put_int(&w->b, w->n->to[g->updates.p[i].shared]);
        cbor_put_int(&w->b, w->n->to[g->updates.p[i].value]);
    }
    return true;
}

static bool read_updates(TlgReader *t, void *into) {
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

static bool write_effects(TlgWriter *w, const void *from) {
    (void)from;
    cbor_put_column(&w->b, w->n->g->effects.p, w->n->g->effects.n);
    return true;
}

static bool read_effects(TlgReader *t, void *into) {
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

static bool write_init(TlgWriter *w, const void *from) {
    const Numbering *n = w->n;
    size_t count = 0;
    (void)from;
    for (uint32_t i = 0; i < n->g->nleaf; i++)
        count += n->g->leaf[i].init != VAR_NONE;
    cbor_put_head(&w->b, CB_ARRAY, count);
    for (uint32_t i = 0; i < n->nleaf; i++) {
        const Leaf *l = var_leafrec(n->g, n->leaf[i]);
        if (l->init == VAR_NONE) continue;
        cbor_put_head(&w->b, CB_ARRAY, 2);
        cbor_put_int(&w->b, i);
        cbor_put_int(&w->b, n->to[l->init]);
    }
    return true;
}

static bool read_init(TlgReader *t, void *into) {
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

static bool write_until(TlgWriter *w, const void *from) {
    Var until = w->n->g->until;
    (void)from;
    if (until != VAR_NONE) cbor_put_int(&w->b, w->n->to[until]);
    return until != VAR_NONE;
}

static bool read_until(TlgReader *t, void *into) {
    (void)into;
    return read_var(t, &t->g->until);
}

/* [var, rtol, atol, sloppy, remove_inf, remove_nan] for each variable. */
static bool write_compare(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    size_t count = 0;
    (void)from;
    for (size_t i = 0; i < g->approx.n; i++)
        count += w->n->to[g->approx.p[i].var] != VAR_NONE;
    cbor_put_head(&w->b, CB_ARRAY, count);
    for (size_t i = 0; i < g->approx.n; i++) {
        const Approx *how = &g->approx.p[i].how;
        if (w->n->to[g->approx.p[i].var] == VAR_NONE) continue;
        cbor_put_head(&w->b, CB_ARRAY, 6);
        cbor_put_int(&w->b, w->n->to[g->approx.p[i].var]);
        cbor_put_f64(&w->b, how->rtol);
        cbor_put_f64(&w->b, how->atol);
        cbor_put_int(&w->b, how->sloppy);
        cbor_put_bool(&w->b, how->allow_remove_inf);
        cbor_put_bool(&w->b, how->allow_remove_nan);
    }
    return count > 0;
}

static bool read_compare(TlgReader *t, void *into) {
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

/* [var, text] for each variable that has one. */
static bool write_aliases(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    size_t count = 0;
    (void)from;
    for (size_t i = 0; i < g->aliases.n; i++)
        count += w->n->to[g->aliases.p[i].var] != VAR_NONE;
    if (count == 0) return false;
    cbor_put_head(&w->b, CB_ARRAY, count);
    for (size_t i = 0; i < g->aliases.n; i++) {
        if (w->n->to[g->aliases.p[i].var] == VAR_NONE) continue;
        cbor_put_head(&w->b, CB_ARRAY, 2);
        cbor_put_int(&w->b, w->n->to[g->aliases.p[i].var]);
        cbor_put_text(&w->b, sym_text(g->s, g->aliases.p[i].name));
    }
    return true;
}

static bool read_aliases(TlgReader *t, void *into) {
    size_t n;
    (void)into;
    if (!cbor_array(&t->c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        Var v = VAR_NONE;
        Sym y;
        if (!expect_pair(t) || !read_var(t, &v) || !cbor_sym(&t->c, &y)) return false;
        const char *text = sym_text(t->s, y);
        if (!io_is_label(text, strlen(text)) || graph_alias_of(t->g, v))
            return cbor_fail(&t->c, "the name \"%.60s\" can't be a model's", text);
        graph_alias(t->g, v, y);
    }
    return true;
}

static bool write_statistics(TlgWriter *w, const void *from) {
    const Graph *g = w->n->g;
    (void)from;
    w->col.n = 0;
    for (size_t i = 0; i < g->statistics.n; i++)
        if (graph_is_statistic(g, g->statistics.p[i]))
            vec_push(w->s, &w->col, w->n->to[g->statistics.p[i]]);
    if (w->col.n) cbor_put_column(&w->b, w->col.p, w->col.n);
    return w->col.n > 0;
}

static bool read_statistics(TlgReader *t, void *into) {
    (void)into;
    Column c;
    const uint32_t *id;
    if (!cbor_column(&t->c, &c) ||
        !column_u32(&t->c, &c, t->tmp, t->g->nvar, "variable", &id))
        return false;
    for (size_t i = 0; i < c.n; i++) {
        if (var_leaf(t->g, id[i]) != LEAF_SHARED || graph_is_statistic(t->g, id[i]))
            return cbor_fail(&t->c, "variable %u can't be a statistic", id[i]);
        graph_mark_statistic(t->g, id[i]);
    }
    return true;
}

static const TlgField interface_fields[] = {
    {"outputs", read_outputs, write_outputs, 0},
    {"updates", read_updates, write_updates, 0},
    {"effects", read_effects, write_effects, 0},
    {"init", read_init, write_init, 0},
    {"until", read_until, write_until, 0},
    {"compare", read_compare, write_compare, 0},
    {"aliases", read_aliases, write_aliases, 0},
    {"statistics", read_statistics, write_statistics, 0}};

void tlg_write_interface(TlgWriter *w) {
    tlg_write_section(w, "interface", TLG_FIELDS(interface_fields), NULL);
    tlg_flush(w);
}

bool tlg_read_interface(TlgReader *t) {
    unsigned seen;
    if (!t->g || t->interface) return cbor_fail(&t->c, "an interface out of place");
    t->closed = t->interface = true;
    if (!tlg_read_fields(t, TLG_FIELDS(interface_fields), NULL, &seen)) return false;
    return (seen & 7) == 7 || cbor_fail(&t->c, "an incomplete interface");
}
