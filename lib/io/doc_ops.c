/* Op files: `ops:` is a mapping from names to rows, whose leaves are texts in the
 * language (schemas/ops.schema.json). What they say is lib/userop's matter. */
#include "io/io_impl.h"
#include "userop/userop.h"

#include <string.h>

typedef struct Rows {
    Session *s;
    Arena *a; /* the session's: spans and texts stay */
    const char *file;
} Rows;

/* ---- leaves ---- */

static bool want_text(Rows *r, const Doc *d) {
    if (d->kind == DOC_TEXT) return true;
    return doc_unsafe(r->s, d->at, "expected a text, but YAML reads a %s here",
                      d->kind == DOC_LIST ? "list [...]" : "mapping {...}");
}

static OwnText text_at(Rows *r, Sym name, Span at) {
    const char *p = source_get(r->s, at.source)->text;
    while (at.begin < at.end && strchr(" \t\n", p[at.begin]))
        at.begin++;
    while (at.end > at.begin && strchr(" \t\n", p[at.end - 1]))
        at.end--;
    return (OwnText){name, at, arena_str(r->a, p + at.begin, at.end - at.begin)};
}

static bool read_text(Rows *r, const Doc *d, OwnText *out) {
    if (!d) return true;
    if (!want_text(r, d)) return false;
    if (d->folded) {
        fail(r->s, d->at, E_FORMAT, "YAML joins these lines into one");
        return note(r->s, NOWHERE, "begin the block with a bar: `%s: |`",
                    sym_text(r->s, d->key));
    }
    *out = text_at(r, d->key, doc_span(r->s, d));
    size_t n = d->n; /* without the indentation that a block has in the file */
    while (n > 0 && strchr(" \n", d->p[n - 1]))
        n--;
    out->text = arena_str(r->a, d->p, n);
    return *out->text ||
           fail(r->s, d->key_at, E_FORMAT, "\"%s\" is empty", sym_text(r->s, d->key));
}

static bool read_doc(Rows *r, const Doc *d, const char **out) {
    if (!d) return true;
    if (!want_text(r, d)) return false;
    size_t n = d->n;
    while (n > 0 && d->p[n - 1] == '\n')
        n--;
    *out = arena_str(r->a, d->p, n);
    return true;
}

static bool read_number(Rows *r, const Doc *d, uint64_t most, uint64_t *out) {
    if (!d) return true;
    bool overflow = false;
    size_t n = d->kind == DOC_TEXT ? num_read_uint(d->p, d->n, out, &overflow) : 0;
    return (n > 0 && n == d->n && !overflow && *out <= most) ||
           fail(r->s, d->at, E_FORMAT, "expected a number from 0 to %llu",
                (unsigned long long)most);
}

/* ---- lists ---- */

/* The name that "*rest", "n: int = 3" or "y?" begins with. */
static Sym leading_name(Session *s, const char *p) {
    p += *p == '*';
    size_t n = strcspn(p, " \t\n:?=");
    return n ? sym_n(s, p, n) : 0;
}

static void add(Rows *r, OwnList *l, OwnText t) {
    OwnText *more = arena_alloc(r->a, (l->n + 1) * sizeof *more);
    if (l->n) memcpy(more, l->p, l->n * sizeof *more);
    more[l->n++] = t;
    l->p = more;
}

/* "x, n: int" at its commas. */
static void split(Rows *r, Span at, OwnList *out) {
    const char *p = source_get(r->s, at.source)->text;
    int depth = 0;
    uint32_t from = at.begin;
    for (uint32_t i = at.begin; i <= at.end; i++) {
        if (i < at.end && strchr("([", p[i])) depth++;
        if (i < at.end && strchr(")]", p[i])) depth--;
        if (i < at.end && (p[i] != ',' || depth > 0)) continue;
        OwnText t = text_at(r, 0, (Span){at.source, from, i});
        t.name = leading_name(r->s, t.text);
        add(r, out, t);
        from = i + 1;
    }
}

/* `n: int = 3` as a key and its value. */
static OwnText joined(Rows *r, const Doc *k) {
    const char *name = sym_text(r->s, k->key), *v = k->p + strspn(k->p, " ");
    const char *text = *v == '\0'  ? arena_printf(r->a, "%s", name)
                       : *v == '=' ? arena_printf(r->a, "%s %s", name, v)
                                   : arena_printf(r->a, "%s: %s", name, v);
    return (OwnText){leading_name(r->s, name), k->key_at, text};
}

/* Inputs, props, outputs: a text with commas, a list of texts, or a mapping. */
static bool read_names(Rows *r, const Doc *d, OwnList *out) {
    if (!d) return true;
    out->at = d->kind == DOC_TEXT ? d->at : d->key_at;
    if (d->kind == DOC_TEXT) {
        Span at = doc_span(r->s, d);
        if (d->n > strspn(d->p, " \n")) split(r, at, out);
        return true;
    }
    for (const Doc *k = d->first; k; k = k->next) {
        if (!want_text(r, k)) return false;
        if (d->kind == DOC_MAP)
            add(r, out, joined(r, k));
        else
            split(r, doc_span(r->s, k), out);
    }
    return true;
}

/* A mapping from names to formulas. */
static bool read_formulas(Rows *r, const Doc *d, OwnList *out) {
    if (!d) return true;
    if (d->kind != DOC_MAP) {
        fail(r->s, d->at, E_FORMAT, "\"%s\" is a mapping from names to expressions",
             sym_text(r->s, d->key));
        return note(r->s, NOWHERE, "one line for each: `x: cos(x)`");
    }
    out->at = d->key_at;
    for (const Doc *k = d->first; k; k = k->next) {
        OwnText t = {0};
        if (!read_text(r, k, &t)) return false;
        add(r, out, t);
    }
    return out->n > 0 ||
           fail(r->s, d->key_at, E_FORMAT, "\"%s\" is empty", sym_text(r->s, d->key));
}

/* pushforward: of an op with one output, the expression alone will do. */
static bool read_push(Rows *r, const Doc *d, OwnOp *op) {
    if (!d || d->kind != DOC_TEXT) return read_formulas(r, d, &op->pushforward);
    OwnText t = {0};
    if (!read_text(r, d, &t)) return false;
    t.name = op->out.n == 1 ? op->out.p[0].name : sym(r->s, "r");
    op->pushforward.at = d->key_at;
    add(r, &op->pushforward, t);
    return true;
}

/* ---- words ---- */

static bool read_promote(Rows *r, const Doc *d, OwnOp *op) {
    static const char *const words[] = {[PROMOTE_NONE] = "none",
                                        [PROMOTE_SAME] = "same",
                                        [PROMOTE_INEXACT] = "inexact"};
    if (!d) return true;
    op->promote_given = true;
    for (int i = PROMOTE_NONE; i <= PROMOTE_INEXACT && d->kind == DOC_TEXT; i++)
        if (strcmp(d->p, words[i]) == 0) return op->promote = (Promote)i, true;
    return fail(r->s, d->at, E_FORMAT,
                "promote is same (to a common dtype), inexact (and integers to floatX) "
                "or none");
}

static bool read_kinds(Rows *r, const Doc *d, OwnOp *op) {
    static const struct {
        const char *word;
        unsigned kinds;
    } words[] = {{"bool", KIND_BOOL},
                 {"int", KIND_INT},
                 {"float", KIND_FLOAT},
                 {"complex", KIND_COMPLEX}};
    OwnList l = {0};
    if (!read_names(r, d, &l)) return false;
    for (size_t i = 0; i < l.n; i++) {
        size_t k = 0;
        while (k < 4 && strcmp(words[k].word, l.p[i].text) != 0)
            k++;
        if (k == 4)
            return fail(r->s, l.p[i].at, E_FORMAT,
                        "accepts lists some of bool, int, float, complex");
        op->kinds |= words[k].kinds;
    }
    return true;
}

static bool read_fold(Rows *r, const Doc *d, OwnOp *op) {
    if (!d) return true;
    op->never_fold = d->kind == DOC_TEXT && strcmp(d->p, "never") == 0;
    return op->never_fold || (d->kind == DOC_TEXT && strcmp(d->p, "always") == 0) ||
           fail(r->s, d->at, E_FORMAT, "fold is always or never");
}

/* ---- rows ---- */

static const char *const keys[] = {
    "doc",         "inputs",      "props",        "outputs",    "def",      "replace",
    "version",     "alias",       "promote",      "accepts",    "partials", "adjoint",
    "pullback",    "pushforward", "disconnected", "shape",      "flops",    "math",
    "commutative", "fold",        "example",      "associative"};

static bool read_numbers(Rows *r, const Doc *d, OwnOp *op) {
    uint64_t version = 1, math = 0;
    if (!read_number(r, doc_get(d, r->s, "version"), UINT16_MAX, &version) ||
        !read_number(r, doc_get(d, r->s, "math"), 1 << 20, &math))
        return false;
    op->version = (uint16_t)version;
    op->math = (int)math;
    return version > 0 || fail(r->s, doc_get(d, r->s, "version")->at, E_FORMAT,
                               "versions begin with 1");
}

static bool read_row(Rows *r, const Doc *d, OwnOp *op) {
    Session *s = r->s;
    *op = (OwnOp){.name = sym_text(s, d->key), .file = r->file, .at = d->key_at};
    return doc_keys(s, d, keys, sizeof keys / sizeof *keys, "an op") &&
           read_doc(r, doc_get(d, s, "doc"), &op->doc) &&
           read_names(r, doc_get(d, s, "inputs"), &op->in) &&
           read_names(r, doc_get(d, s, "props"), &op->props) &&
           read_names(r, doc_get(d, s, "outputs"), &op->out) &&
           read_names(r, doc_get(d, s, "disconnected"), &op->disconnected) &&
           read_text(r, doc_get(d, s, "def"), &op->def) &&
           read_text(r, doc_get(d, s, "shape"), &op->shape) &&
           read_text(r, doc_get(d, s, "flops"), &op->flops) &&
           read_text(r, doc_get(d, s, "alias"), &op->alias) &&
           read_text(r, doc_get(d, s, "example"), &op->example) &&
           read_formulas(r, doc_get(d, s, "partials"), &op->partials) &&
           read_formulas(r, doc_get(d, s, "adjoint"), &op->adjoint) &&
           read_formulas(r, doc_get(d, s, "pullback"), &op->pullback) &&
           read_push(r, doc_get(d, s, "pushforward"), op) &&
           read_promote(r, doc_get(d, s, "promote"), op) &&
           read_kinds(r, doc_get(d, s, "accepts"), op) &&
           read_fold(r, doc_get(d, s, "fold"), op) && read_numbers(r, d, op) &&
           doc_flag(s, doc_get(d, s, "commutative"), &op->comm) &&
           doc_flag(s, doc_get(d, s, "associative"), &op->assoc) &&
           doc_flag(s, doc_get(d, s, "replace"), &op->replace);
}

static bool check_head(Rows *r, const Doc *root, const Doc **ops) {
    static const char *const top[] = {"thunkline", "doc", "ops"};
    Session *s = r->s;
    if (root->kind == DOC_MAP && !doc_get(root, s, "ops")) {
        fail(s, root->at, E_FORMAT, "this is no op file: it has no key \"ops\"");
        if (doc_get(root, s, "outputs") || doc_get(root, s, "inputs"))
            note(s, NOWHERE, "it looks like a graph: give it as FILE");
        return false;
    }
    if (!doc_keys(s, root, top, 3, "an op file")) return false;
    const Doc *d = doc_get(root, s, "thunkline");
    *ops = doc_get(root, s, "ops");
    if (!d || d->kind != DOC_TEXT || strcmp(d->p, "1") != 0)
        return fail(s, d ? d->at : root->at, d ? E_VERSION : E_FORMAT,
                    "an op file begins with `thunkline: 1`, the version of its format");
    return (*ops)->kind == DOC_MAP ||
           fail(s, (*ops)->at, E_FORMAT, "\"ops\" is a mapping from names to ops");
}

bool doc_ops(Session *s, const char *file, const Doc *root) {
    Rows r = {s, session_arena(s), arena_str(session_arena(s), file, strlen(file))};
    const Doc *ops;
    if (!check_head(&r, root, &ops)) return false;
    OwnOp *op = NEW_N(r.a, ops->nkid + 1, OwnOp);
    size_t n = 0;
    for (const Doc *k = ops->first; k; k = k->next)
        if (!read_row(&r, k, &op[n++])) return false;
    return own_ops_add(s, n, op);
}
