/* Optimizers and schedules in op files: rows whose leaves are texts in the language
 * (schemas/ops.schema.json). lib/optim interprets them. */
#include "io/io_impl.h"
#include "optim/optim.h"

#include <string.h>

typedef struct OptimReader {
    Session *s;
    Arena *a; /* the session's, so that spans and texts stay valid */
    const char *file;
    OptimRow *row;
    size_t n;
} OptimReader;

static bool read_words(OptimReader *r, const Doc *d, const char **out) {
    if (!d) return true;
    if (!doc_want_text(r->s, d, "a text")) return false;
    size_t n = d->n;
    while (n > 0 && strchr(" \n", d->p[n - 1]))
        n--;
    *out = arena_str(r->a, d->p, n);
    return true;
}

static bool want_unfolded(OptimReader *r, const Doc *d) {
    if (!d->folded) return true;
    fail(r->s, d->at, E_FORMAT, "YAML joins these lines into one");
    return note(r->s, NOWHERE, "begin the block with a bar: `%s: |`",
                sym_text(r->s, d->key));
}

/* `m: zeros_like(w)` as the line `m = zeros_like(w)`, at its place in the file. */
static Span line_of_entry(OptimReader *r, const Doc *k) {
    uint32_t line, col;
    Str t = STR(r->s);
    span_place(r->s, k->key_at, &line, &col);
    str_printf(&t, "%s = ", sym_text(r->s, k->key));
    if (line != k->line) col = k->col > t.n ? k->col - (uint32_t)t.n : 1;
    while (t.n + col < k->col)
        str_putc(&t, ' ');
    str_add(&t, k->p, k->n);
    uint32_t own = source_add_at(r->s, r->file, t.p, t.n, k->line, col);
    Span at = {own, 0, (uint32_t)t.n};
    str_free(&t);
    return at;
}

/* A block of lines, or a mapping. */
static bool read_lines(OptimReader *r, const Doc *d, OptimLines *out) {
    if (!d) return true;
    if (d->kind == DOC_LIST)
        return doc_unsafe(r->s, d->at,
                          "\"%s\" must be a block of lines or a mapping, not a list",
                          sym_text(r->s, d->key));
    size_t n = d->kind == DOC_TEXT ? 1 : d->nkid;
    Span *text = NEW_N(r->a, n + 1, Span);
    if (d->kind == DOC_TEXT) {
        if (!want_unfolded(r, d)) return false;
        text[0] = doc_span(r->s, d);
    }
    n = d->kind == DOC_TEXT;
    for (const Doc *k = d->kind == DOC_MAP ? d->first : NULL; k; k = k->next) {
        if (!doc_want_text(r->s, k, "an expression") || !want_unfolded(r, k))
            return false;
        text[n++] = line_of_entry(r, k);
    }
    out->ntext = n;
    out->text = text;
    return true;
}

static bool is_blank(const Doc *d) {
    return d->kind == DOC_TEXT && d->p[strspn(d->p, " \n")] == '\0';
}

/* A mapping from names to defaults; nothing: the argument must be given. */
static bool read_props(OptimReader *r, const Doc *d, OptimRow *row) {
    if (!d) return true;
    if (d->kind != DOC_MAP)
        return fail(r->s, d->at, E_FORMAT,
                    "\"props\" must be a mapping from names to defaults");
    row->prop = NEW_N(r->a, d->nkid + 1, OptimProp);
    for (const Doc *k = d->first; k; k = k->next) {
        OptimProp *p = &row->prop[row->nprop++];
        if (!doc_want_text(r->s, k, "a default")) return false;
        p->name = k->key;
        p->at = k->key_at;
        if (!is_blank(k)) p->text = doc_span(r->s, k);
    }
    return true;
}

static bool read_value(OptimReader *r, const Doc *d, OptimRow *row) {
    if (!d) return true;
    if (!doc_want_text(r->s, d, "an expression") || !want_unfolded(r, d)) return false;
    row->value = doc_span(r->s, d);
    return true;
}

static bool read_optimizer(OptimReader *r, const Doc *d, OptimRow *row) {
    static const char *const keys[] = {"doc",  "props", "state",   "common",
                                       "sums", "let",   "updates", "example"};
    Session *s = r->s;
    return doc_keys(s, d, keys, sizeof keys / sizeof *keys, "an optimizer") &&
           read_lines(r, doc_get(d, s, "state"), &row->state) &&
           read_lines(r, doc_get(d, s, "common"), &row->common) &&
           read_lines(r, doc_get(d, s, "sums"), &row->sums) &&
           read_lines(r, doc_get(d, s, "updates"), &row->updates);
}

static bool read_schedule(OptimReader *r, const Doc *d, OptimRow *row) {
    static const char *const keys[] = {"doc", "props", "let", "value", "example"};
    row->schedule = true;
    return doc_keys(r->s, d, keys, sizeof keys / sizeof *keys, "a schedule") &&
           read_value(r, doc_get(d, r->s, "value"), row);
}

static bool read_rows(OptimReader *r, const Doc *d,
                      bool (*read)(OptimReader *, const Doc *, OptimRow *)) {
    Session *s = r->s;
    if (d && d->kind != DOC_MAP)
        return fail(s, d->at, E_FORMAT, "\"%s\" must be a mapping from names to rows",
                    sym_text(s, d->key));
    for (const Doc *k = d ? d->first : NULL; k; k = k->next) {
        OptimRow *row = &r->row[r->n++];
        *row = (OptimRow){
            .name = sym_text(s, k->key), .file = r->file, .at = k->key_at, .doc = ""};
        if (!read(r, k, row) || !read_words(r, doc_get(k, s, "doc"), &row->doc) ||
            !read_words(r, doc_get(k, s, "example"), &row->example) ||
            !read_props(r, doc_get(k, s, "props"), row) ||
            !read_lines(r, doc_get(k, s, "let"), &row->let))
            return false;
    }
    return true;
}

bool doc_optim(Session *s, const char *file, const Doc *root) {
    const Doc *rules = doc_get(root, s, "optimizers"),
              *schedules = doc_get(root, s, "schedules");
    size_t n = (rules ? rules->nkid : 0) + (schedules ? schedules->nkid : 0);
    Arena *a = session_arena(s);
    OptimReader r = {s, a, arena_str(a, file, strlen(file)), NULL, 0};
    r.row = NEW_N(a, n + 1, OptimRow);
    return read_rows(&r, schedules, read_schedule) &&
           read_rows(&r, rules, read_optimizer) && optim_add_file(s, r.n, r.row);
}
