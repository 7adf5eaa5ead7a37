/* JSON in the strict form of RFC 8259: no duplicate keys, bad escapes, lone surrogates
 * or control characters. Numbers and words stay text, like every leaf of a document. */
#include "io/io_impl.h"

#include <string.h>

typedef struct JsonReader {
    Session *s;
    Arena *a;
    uint32_t source;
    const char *text, *p, *end;
    uint32_t line;
    const char *line_begin;
    Map seen;
} JsonReader;

static Span cursor_span(const JsonReader *j) {
    uint32_t at = (uint32_t)(j->p - j->text);
    return (Span){j->source, at, at + (j->p < j->end)};
}

static bool fail_json(JsonReader *j, const char *what) {
    return fail(j->s, cursor_span(j), E_SYNTAX, "not JSON: %s", what);
}

static void skip_space(JsonReader *j) {
    for (; j->p < j->end; j->p++) {
        if (*j->p == '\n') {
            j->line++;
            j->line_begin = j->p + 1;
        } else if (*j->p != ' ' && *j->p != '\t' && *j->p != '\r') {
            return;
        }
    }
}

/* ---- strings ---- */

static bool hex4(JsonReader *j, uint32_t *v) {
    *v = 0;
    if (j->end - j->p < 4)
        return fail_json(j, "a \\u escape needs four hexadecimal digits");
    for (int i = 0; i < 4; i++, j->p++) {
        int d = ascii_hex_digit(*j->p);
        if (d < 0) return fail_json(j, "a \\u escape needs four hexadecimal digits");
        *v = *v << 4 | (uint32_t)d;
    }
    return true;
}

static bool read_unicode_escape(JsonReader *j, Str *b) {
    uint32_t c, low;
    if (!hex4(j, &c)) return false;
    if (c >= 0xDC00 && c < 0xE000) return fail_json(j, "half of a surrogate pair");
    if (c >= 0xD800 && c < 0xDC00) {
        if (j->end - j->p < 2 || j->p[0] != '\\' || j->p[1] != 'u')
            return fail_json(j, "half of a surrogate pair");
        j->p += 2;
        if (!hex4(j, &low)) return false;
        if (low < 0xDC00 || low >= 0xE000)
            return fail_json(j, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    if (c == 0) return fail_json(j, "a zero character");
    str_put_utf8(b, c);
    return true;
}

static bool read_escape(JsonReader *j, Str *b) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (j->p == j->end) return fail_json(j, "the string has no end");
    if (*j->p == 'u') {
        j->p++;
        return read_unicode_escape(j, b);
    }
    const char *k = memchr(from, *j->p, sizeof from - 1);
    if (!k) return fail_json(j, "there is no such escape in a string");
    str_putc(b, to[k - from]);
    j->p++;
    return true;
}

/* The text up to the closing quote: copied to b if it has escapes (*raw false), else
 * left in the source. */
static bool string_text(JsonReader *j, Str *b, bool *raw) {
    const char *from = j->p;
    *raw = true;
    for (;;) {
        while (j->p < j->end && *j->p != '"' && *j->p != '\\' &&
               (unsigned char)*j->p >= 0x20)
            j->p++;
        if (j->p == j->end) return fail_json(j, "the string has no end");
        if (*j->p == '"' && *raw) return true;
        str_add(b, from, (size_t)(j->p - from));
        if (*j->p == '"') return true;
        if (*j->p != '\\')
            return fail_json(j,
                             "a control character in a string; write it as an escape");
        *raw = false;
        j->p++;
        if (!read_escape(j, b)) return false;
        from = j->p;
    }
}

static bool read_string_value(JsonReader *j, Doc *d) {
    d->at.begin = (uint32_t)(++j->p - j->text);
    d->col++;
    Str b = STR(j->s);
    bool ok = string_text(j, &b, &d->exact);
    if (ok && d->exact) {
        d->n = (size_t)(j->p - j->text) - d->at.begin;
        d->p = arena_str(j->a, j->text + d->at.begin, d->n);
    } else if (ok) {
        d->n = b.n;
        d->p = arena_str(j->a, str_text(&b), b.n);
    }
    str_free(&b);
    if (!ok) return false;
    d->at.end = (uint32_t)(j->p++ - j->text);
    return str_is_utf8(d->p, d->n) ||
           fail(j->s, d->at, E_SYNTAX, "not JSON: a string that is not UTF-8");
}

/* ---- numbers and words ---- */

static size_t count_digits(const JsonReader *j, const char *p) {
    size_t n = 0;
    while (p + n < j->end && ascii_is_digit(p[n]))
        n++;
    return n;
}

static bool skip_number(JsonReader *j) {
    const char *p = j->p;
    p += *p == '-';
    size_t n = count_digits(j, p);
    if (n == 0 || (n > 1 && *p == '0')) return fail_json(j, "expected a value");
    p += n;
    if (p < j->end && *p == '.') {
        if (!(n = count_digits(j, p + 1)))
            return fail_json(j, "digits are missing behind the point");
        p += 1 + n;
    }
    if (p < j->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < j->end && (*p == '+' || *p == '-')) p++;
        if (!(n = count_digits(j, p)))
            return fail_json(j, "digits are missing in the exponent");
        p += n;
    }
    j->p = p;
    return true;
}

static bool skip_word_or_number(JsonReader *j) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->p) >= n && memcmp(j->p, words[i], n) == 0) {
            j->p += n;
            return true;
        }
    }
    return skip_number(j);
}

/* ---- values ---- */

static Doc *read_json_value(JsonReader *j, int depth);

static bool read_json_key(JsonReader *j, Doc *key) {
    if (j->p == j->end || *j->p != '"') return fail_json(j, "expected a key in quotes");
    Doc k = {.at = cursor_span(j)};
    if (!read_string_value(j, &k)) return false;
    if (k.n == 0) return fail(j->s, k.at, E_FORMAT, "an empty key");
    key->key = sym_n(j->s, k.p, k.n);
    key->key_at = k.at;
    skip_space(j);
    if (j->p == j->end || *j->p != ':') return fail_json(j, "expected a colon");
    j->p++;
    skip_space(j);
    return true;
}

static bool read_json_member(JsonReader *j, Doc *d, int depth) {
    Doc key = {0};
    skip_space(j);
    if (d->kind == DOC_MAP && !read_json_key(j, &key)) return false;
    Doc *kid = read_json_value(j, depth + 1);
    if (!kid) return false;
    kid->key = key.key;
    kid->key_at = key.key_at;
    skip_space(j);
    return doc_add(j->s, d, kid, &j->seen);
}

static bool read_json_collection(JsonReader *j, Doc *d, int depth) {
    char close = *j->p == '{' ? '}' : ']';
    d->kind = close == '}' ? DOC_MAP : DOC_LIST;
    if (depth == DOC_DEPTH)
        return fail(j->s, d->at, E_FORMAT, "nested more than %d levels deep",
                    DOC_DEPTH);
    j->p++;
    skip_space(j);
    bool more = j->p == j->end || *j->p != close;
    while (more) {
        if (!read_json_member(j, d, depth)) return false;
        if (j->p == j->end)
            return fail_json(j, close == '}' ? "the object has no end"
                                             : "the list has no end");
        if (*j->p != ',' && *j->p != close)
            return fail_json(j, "expected a comma or the end of the list");
        more = *j->p == ',';
        j->p += more;
    }
    j->p++;
    return true;
}

static Doc *read_json_value(JsonReader *j, int depth) {
    Doc *d = NEW(j->a, Doc);
    if (j->p == j->end) {
        fail_json(j, "expected a value");
        return NULL;
    }
    d->at = cursor_span(j);
    d->line = j->line;
    d->col = (uint32_t)(j->p - j->line_begin) + 1;
    if (*j->p == '{' || *j->p == '[')
        return read_json_collection(j, d, depth) ? d : NULL;
    if (*j->p == '"') return read_string_value(j, d) ? d : NULL;
    if (!skip_word_or_number(j)) return NULL;
    d->at.end = (uint32_t)(j->p - j->text);
    d->n = d->at.end - d->at.begin;
    d->p = arena_str(j->a, j->text + d->at.begin, d->n);
    /* as the language writes them; the span in the file stays */
    d->exact = *d->p != 't' && *d->p != 'f';
    if (*d->p == 't') d->p = "True";
    if (*d->p == 'f') d->p = "False";
    return d;
}

Doc *json_read(Session *s, Arena *a, uint32_t source) {
    const Source *src = source_get(s, source);
    JsonReader j = {.s = s,
                    .a = a,
                    .source = source,
                    .text = src->text,
                    .p = src->text,
                    .end = src->text + src->len,
                    .line = 1,
                    .line_begin = src->text,
                    .seen = MAP(s)};
    skip_space(&j);
    Doc *d = read_json_value(&j, 0);
    skip_space(&j);
    if (d && j.p < j.end) {
        fail_json(&j, "something stands behind the end");
        d = NULL;
    }
    map_free(&j.seen);
    return d;
}
