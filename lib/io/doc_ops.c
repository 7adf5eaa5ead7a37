/* Op files: `ops:` maps names to rows whose leaves are texts in the language
 * (schemas/ops.schema.json). lib/userop interprets them. */
#include "io/io_impl.h"
#include "userop/userop.h"

#include <string.h>

typedef struct OpFileReader {
    Session *s;
    Arena *a; /* the session's, so that spans and texts stay valid */
    const char *file;
} OpFileReader;

/* ---- leaves ---- */

static UserOpText trimmed_text(OpFileReader *r, Sym name, Span at) {
    const char *p = source_get(r->s, at.source)->text;
    while (at.begin < at.end && strchr(" \t\n", p[at.begin]))
        at.begin++;
    while (at.end > at.begin && strchr(" \t\n", p[at.end - 1]))
        at.end--;
    return (UserOpText){name, at, arena_str(r->a, p + at.begin, at.end - at.begin)};
}

static bool read_op_text(OpFileReader *r, const Doc *d, UserOpText *out) {
    if (!d) return true;
    if (!doc_want_text(r->s, d, "a text")) return false;
    if (d->folded) {
        fail(r->s, d->at, E_FORMAT, "YAML joins these lines into one");
        return note(r->s, NOWHERE, "begin the block with a bar: `%s: |`",
                    sym_text(r->s, d->key));
    }
    *out = trimmed_text(r, d->key, doc_span(r->s, d));
    size_t n = d->n; /* without a block's indentation */
    while (n > 0 && strchr(" \n", d->p[n - 1]))
        n--;
    out->text = arena_str(r->a, d->p, n);
    return *out->text ||
           fail(r->s, d->key_at, E_FORMAT, "\"%s\" is empty", sym_text(r->s, d->key));
}

static bool read_op_doc(OpFileReader *r, const Doc *d, const char **out) {
    if (!d) return true;
    if (!doc_want_text(r->s, d, "a text")) return false;
    size_t n = d->n;
    while (n > 0 && d->p[n - 1] == '\n')
        n--;
    *out = arena_str(r->a, d->p, n);
    return true;
}

static bool read_number(OpFileReader *r, const Doc *d, uint64_t most, uint64_t *out) {
    if (!d) return true;
    bool overflow = false;
    size_t n = d->kind == DOC_TEXT ? num_read_uint(d->p, d->n, out, &overflow) : 0;
    return (n > 0 && n == d->n && !overflow && *out <= most) ||
           fail(r->s, d->at, E_FORMAT, "expected a number from 0 to %llu",
                (unsigned long long)most);
}

/* ---- lists ---- */

/* The leading name in "*rest", "n: int = 3" or "y?". */
static Sym leading_name(Session *s, const char *p) {
    p += *p == '*';
    size_t n = strcspn(p, " \t\n:?=");
    return n ? sym_n(s, p, n) : 0;
}

static void append_text(OpFileReader *r, UserOpTexts *l, UserOpText t) {
    UserOpText *more = arena_alloc(r->a, (l->n + 1) * sizeof *more);
    if (l->n) memcpy(more, l->p, l->n * sizeof *more);
    more[l->n++] = t;
    l->p = more;
}

/* Splits "x, n: int" at its commas. */
static void split_at_commas(OpFileReader *r, Span at, UserOpTexts *out) {
    const char *p = source_get(r->s, at.source)->text;
    int depth = 0;
    uint32_t from = at.begin;
    for (uint32_t i = at.begin; i <= at.end; i++) {
        if (i < at.end && strchr("([", p[i])) depth++;
        if (i < at.end && strchr(")]", p[i])) depth--;
        if (i < at.end && (p[i] != ',' || depth > 0)) continue;
        UserOpText t = trimmed_text(r, 0, (Span){at.source, from, i});
        t.name = leading_name(r->s, t.text);
        append_text(r, out, t);
        from = i + 1;
    }
}

/* Turns `n: int = 3` into a key and a value. */
static UserOpText join_key_value(OpFileReader *r, const Doc *k) {
    const char *name = sym_text(r->s, k->key), *v = k->p + strspn(k->p, " ");
    const char *text = *v == '\0'  ? arena_printf(r->a, "%s", name)
                       : *v == '=' ? arena_printf(r->a, "%s %s", name, v)
                                   : arena_printf(r->a, "%s: %s", name, v);
    return (UserOpText){leading_name(r->s, name), k->key_at, text};
}

/* Inputs, props, outputs: a text with commas, a list of texts, or a mapping. */
static bool read_names(OpFileReader *r, const Doc *d, UserOpTexts *out) {
    if (!d) return true;
    out->at = d->kind == DOC_TEXT ? d->at : d->key_at;
    if (d->kind == DOC_TEXT) {
        Span at = doc_span(r->s, d);
        if (d->n > strspn(d->p, " \n")) split_at_commas(r, at, out);
        return true;
    }
    for (const Doc *k = d->first; k; k = k->next) {
        if (!doc_want_text(r->s, k, "a text")) return false;
        if (d->kind == DOC_MAP)
            append_text(r, out, join_key_value(r, k));
        else
            split_at_commas(r, doc_span(r->s, k), out);
    }
    return true;
}

/* A mapping from names to formulas. */
static bool read_op_formulas(OpFileReader *r, const Doc *d, UserOpTexts *out) {
    if (!d) return true;
    if (d->kind != DOC_MAP) {
        fail(r->s, d->at, E_FORMAT,
             "\"%s\" must be a mapping from names to expressions",
             sym_text(r->s, d->key));
        return note(r->s, NOWHERE, "write one line for each: `x: cos(x)`");
    }
    out->at = d->key_at;
    for (const Doc *k = d->first; k; k = k->next) {
        UserOpText t = {0};
        if (!read_op_text(r, k, &t)) return false;
        append_text(r, out, t);
    }
    return out->n > 0 ||
           fail(r->s, d->key_at, E_FORMAT, "\"%s\" is empty", sym_text(r->s, d->key));
}

/* pushforward: an op with one output may give just the expression. */
static bool read_push(OpFileReader *r, const Doc *d, UserOp *op) {
    if (!d || d->kind != DOC_TEXT) return read_op_formulas(r, d, &op->pushforward);
    UserOpText t = {0};
    if (!read_op_text(r, d, &t)) return false;
    t.name = op->out.n == 1 ? op->out.p[0].name : sym(r->s, "r");
    op->pushforward.at = d->key_at;
    append_text(r, &op->pushforward, t);
    return true;
}

/* ---- words ---- */

static bool read_promote(OpFileReader *r, const Doc *d, UserOp *op) {
    static const char *const words[] = {[PROMOTE_NONE] = "none",
                                        [PROMOTE_SAME] = "same",
                                        [PROMOTE_INEXACT] = "inexact"};
    if (!d) return true;
    op->promote_given = true;
    for (int i = PROMOTE_NONE; i <= PROMOTE_INEXACT && d->kind == DOC_TEXT; i++)
        if (strcmp(d->p, words[i]) == 0) return op->promote = (Promote)i, true;
    return fail(r->s, d->at, E_FORMAT,
                "promote must be same (to a common dtype), inexact (also integers to "
                "floatX) or none");
}

static bool read_prop_kinds(OpFileReader *r, const Doc *d, UserOp *op) {
    static const struct {
        const char *word;
        unsigned kinds;
    } words[] = {{"bool", KIND_BOOL},
                 {"int", KIND_INT},
                 {"float", KIND_FLOAT},
                 {"complex", KIND_COMPLEX}};
    UserOpTexts l = {0};
    if (!read_names(r, d, &l)) return false;
    for (size_t i = 0; i < l.n; i++) {
        size_t k = 0;
        while (k < 4 && strcmp(words[k].word, l.p[i].text) != 0)
            k++;
        if (k == 4)
            return fail(r->s, l.p[i].at, E_FORMAT,
                        "accepts must list some of bool, int, float, complex");
        op->kinds |= words[k].kinds;
    }
    return true;
}

static bool read_fold(OpFileReader *r, const Doc *d, UserOp *op) {
    if (!d) return true;
    op->never_fold = d->kind == DOC_TEXT && strcmp(d->p, "never") == 0;
    return op->never_fold || (d->kind == DOC_TEXT && strcmp(d->p, "always") == 0) ||
           fail(r->s, d->at, E_FORMAT, "fold must be always or never");
}

/* ---- rows ---- */

static const char *const keys[] = {
    "doc",         "inputs",      "props",        "outputs",    "def",      "replace",
    "version",     "alias",       "promote",      "accepts",    "partials", "adjoint",
    "pullback",    "pushforward", "disconnected", "shape",      "flops",    "math",
    "commutative", "fold",        "example",      "associative"};

static bool read_version_and_math(OpFileReader *r, const Doc *d, UserOp *op) {
    uint64_t version = 1, math = 0;
    if (!read_number(r, doc_get(d, r->s, "version"), UINT16_MAX, &version) ||
        !read_number(r, doc_get(d, r->s, "math"), 1 << 20, &math))
        return false;
    op->version = (uint16_t)version;
    op->math = (int)math;
    return version > 0 ||
           fail(r->s, doc_get(d, r->s, "version")->at, E_FORMAT, "versions start at 1");
}

static bool read_op_entry(OpFileReader *r, const Doc *d, UserOp *op) {
    Session *s = r->s;
    *op = (UserOp){.name = sym_text(s, d->key), .file = r->file, .at = d->key_at};
    return doc_keys(s, d, keys, sizeof keys / sizeof *keys, "an op") &&
           read_op_doc(r, doc_get(d, s, "doc"), &op->doc) &&
           read_names(r, doc_get(d, s, "inputs"), &op->in) &&
           read_names(r, doc_get(d, s, "props"), &op->props) &&
           read_names(r, doc_get(d, s, "outputs"), &op->out) &&
           read_names(r, doc_get(d, s, "disconnected"), &op->disconnected) &&
           read_op_text(r, doc_get(d, s, "def"), &op->def) &&
           read_op_text(r, doc_get(d, s, "shape"), &op->shape) &&
           read_op_text(r, doc_get(d, s, "flops"), &op->flops) &&
           read_op_text(r, doc_get(d, s, "alias"), &op->alias) &&
           read_op_text(r, doc_get(d, s, "example"), &op->example) &&
           read_op_formulas(r, doc_get(d, s, "partials"), &op->partials) &&
           read_op_formulas(r, doc_get(d, s, "adjoint"), &op->adjoint) &&
           read_op_formulas(r, doc_get(d, s, "pullback"), &op->pullback) &&
           read_push(r, doc_get(d, s, "pushforward"), op) &&
           read_promote(r, doc_get(d, s, "promote"), op) &&
           read_prop_kinds(r, doc_get(d, s, "accepts"), op) &&
           read_fold(r, doc_get(d, s, "fold"), op) && read_version_and_math(r, d, op) &&
           doc_flag(s, doc_get(d, s, "commutative"), &op->comm) &&
           doc_flag(s, doc_get(d, s, "associative"), &op->assoc) &&
           doc_flag(s, doc_get(d, s, "replace"), &op->replace);
}

static bool check_op_file_head(OpFileReader *r, const Doc *root, const Doc **ops) {
    static const char *const top[] = {"thunkline", "doc", "ops", "optimizers",
                                      "schedules"};
    Session *s = r->s;
    if (root->kind == DOC_MAP && !doc_get(root, s, "ops") &&
        !doc_get(root, s, "optimizers") && !doc_get(root, s, "schedules")) {
        fail(s, root->at, E_FORMAT, "this is not an op file: it has no key \"ops\"");
        if (doc_get(root, s, "outputs") || doc_get(root, s, "inputs"))
            note(s, NOWHERE, "it looks like a graph: give it as FILE");
        return false;
    }
    if (!doc_keys(s, root, top, sizeof top / sizeof *top, "an op file")) return false;
    const Doc *d = doc_get(root, s, "thunkline");
    *ops = doc_get(root, s, "ops");
    if (!d || d->kind != DOC_TEXT || strcmp(d->p, "1") != 0)
        return fail(s, d ? d->at : root->at, d ? E_VERSION : E_FORMAT,
                    "an op file begins with `thunkline: 1`, the version of its format");
    return !*ops || (*ops)->kind == DOC_MAP ||
           fail(s, (*ops)->at, E_FORMAT, "\"ops\" must be a mapping from names to ops");
}

bool doc_shipped_ops(Session *s, const char *file, const Doc *root, const char *name) {
    OpFileReader r = {s, session_arena(s), file};
    const Doc *ops;
    if (!check_op_file_head(&r, root, &ops)) return false;
    for (const Doc *k = ops->first; k; k = k->next) {
        const char *key = sym_text(s, k->key);
        if ((name && strcmp(name, key) != 0) || op_find(s, key, strlen(key))) continue;
        UserOp *op = NEW(r.a, UserOp);
        if (!read_op_entry(&r, k, op)) return false;
        op->replace = op->shipped = true;
        if (!userop_add_file(s, 1, op)) return false;
    }
    return true;
}

bool doc_ops(Session *s, const char *file, const Doc *root) {
    OpFileReader r = {s, session_arena(s),
                      arena_str(session_arena(s), file, strlen(file))};
    const Doc *ops;
    if (!check_op_file_head(&r, root, &ops)) return false;
    UserOp *op = NEW_N(r.a, ops ? ops->nkid + 1 : 1, UserOp);
    size_t n = 0;
    for (const Doc *k = ops ? ops->first : NULL; k; k = k->next)
        if (!read_op_entry(&r, k, &op[n++])) return false;
    if (n && !userop_add_file(s, n, op)) return false;
    bool optim = doc_get(root, s, "optimizers") || doc_get(root, s, "schedules");
    return !optim || (io_read_shipped_optimizers(s) && doc_optim(s, file, root));
}
