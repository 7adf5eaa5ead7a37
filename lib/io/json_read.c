/* JSON documents: no duplicate keys. Numbers and words stay text, like every leaf of a
 * document. */
#include "format/json.h"
#include "io/io_impl.h"

typedef struct JsonDocument {
    JsonReader j;
    uint32_t source;
    const char *text;
    Map seen;
} JsonDocument;

static Span cursor_span(const JsonDocument *r) {
    uint32_t at = (uint32_t)(r->j.p - r->text);
    return (Span){r->source, at, at + (r->j.p < r->j.end)};
}

/* d->at becomes the span between the quotes. */
static bool read_string_value(JsonDocument *r, Doc *d) {
    JsonText t;
    d->at = cursor_span(r);
    d->at.begin++;
    d->col++;
    if (!json_string(&r->j, &t)) return false;
    d->at.end = (uint32_t)(r->j.p - r->text) - 1;
    d->p = t.p;
    d->n = t.n;
    d->exact = t.exact;
    return str_is_utf8(d->p, d->n) ||
           fail(r->j.s, d->at, E_SYNTAX, "not JSON: a string that is not UTF-8");
}

static bool read_scalar_value(JsonDocument *r, Doc *d) {
    const char *p;
    if (!json_scalar(&r->j, &p, &d->n)) return false;
    d->at.end = d->at.begin + (uint32_t)d->n;
    d->p = arena_str(r->j.a, p, d->n);
    /* as the language writes them; the span in the file stays */
    d->exact = *d->p != 't' && *d->p != 'f';
    if (*d->p == 't') d->p = "True";
    if (*d->p == 'f') d->p = "False";
    return true;
}

static Doc *read_json_value(JsonDocument *r, int depth);

static bool read_json_key(JsonDocument *r, Doc *key) {
    if (!json_next_is(&r->j, '"')) return json_fail(&r->j, "expected a key in quotes");
    if (!read_string_value(r, key)) return false;
    if (key->n == 0) return fail(r->j.s, key->at, E_FORMAT, "an empty key");
    return json_want(&r->j, ':', "expected a colon");
}

static bool read_json_member(JsonDocument *r, Doc *d, int depth) {
    Doc key = {0}, *kid;
    if (d->kind == DOC_MAP && !read_json_key(r, &key)) return false;
    if (!(kid = read_json_value(r, depth + 1))) return false;
    if (d->kind == DOC_MAP) kid->key = sym_n(r->j.s, key.p, key.n);
    kid->key_at = key.at;
    return doc_add(r->j.s, d, kid, &r->seen);
}

static bool read_json_collection(JsonDocument *r, Doc *d, int depth) {
    char close = json_take(&r->j, '{') ? '}' : ']';
    d->kind = close == '}' ? DOC_MAP : DOC_LIST;
    if (depth == DOC_DEPTH)
        return fail(r->j.s, d->at, E_FORMAT, "nested more than %d levels deep",
                    DOC_DEPTH);
    if (close == ']') json_take(&r->j, '[');
    for (size_t n = 0; json_item(&r->j, close, &n);)
        if (!read_json_member(r, d, depth)) return false;
    return !r->j.wrong;
}

static Doc *read_json_value(JsonDocument *r, int depth) {
    Doc *d = NEW(r->j.a, Doc);
    bool map = json_next_is(&r->j, '{');
    d->at = cursor_span(r);
    d->line = r->j.line;
    d->col = (uint32_t)(r->j.p - r->j.line_begin) + 1;
    bool ok = map || json_next_is(&r->j, '[') ? read_json_collection(r, d, depth)
              : json_next_is(&r->j, '"')      ? read_string_value(r, d)
                                              : read_scalar_value(r, d);
    return ok ? d : NULL;
}

Doc *json_read(Session *s, Arena *a, uint32_t source) {
    const Source *src = source_get(s, source);
    JsonDocument r = {.j = json_reader(s, a, src->text, src->len),
                      .source = source,
                      .text = src->text,
                      .seen = MAP(s)};
    Doc *d = read_json_value(&r, 0);
    if (d && !json_at_end(&r.j)) json_fail(&r.j, "there is more text after the end");
    if (r.j.wrong) fail(s, cursor_span(&r), E_SYNTAX, "not JSON: %s", r.j.wrong);
    map_free(&r.seen);
    return r.j.wrong ? NULL : d;
}
