/* Reads and writes JSON. */
#include "format/json.h"

#include "base/num.h"

#include <math.h>
#include <string.h>

/* ---- reading ---- */

JsonReader json_reader(Session *s, Arena *a, const char *p, size_t n) {
    return (JsonReader){
        .s = s, .a = a, .p = p, .end = p + n, .line = 1, .line_begin = p};
}

bool json_fail(JsonReader *j, const char *what) {
    if (!j->wrong) j->wrong = what;
    return false;
}

static void skip_space(JsonReader *j) {
    for (; j->p < j->end && ascii_is_blank(*j->p); j->p++)
        if (*j->p == '\n') {
            j->line++;
            j->line_begin = j->p + 1;
        }
}

bool json_next_is(JsonReader *j, char c) {
    skip_space(j);
    return !j->wrong && j->p < j->end && *j->p == c;
}

bool json_at_end(JsonReader *j) {
    skip_space(j);
    return j->p == j->end;
}

bool json_take(JsonReader *j, char c) {
    if (!json_next_is(j, c)) return false;
    j->p++;
    return true;
}

bool json_want(JsonReader *j, char c, const char *what) {
    return json_take(j, c) || json_fail(j, what);
}

bool json_item(JsonReader *j, char close, size_t *n) {
    if (json_take(j, close)) return false;
    if ((*n)++ == 0) return !j->wrong;
    if (json_take(j, ',')) return true;
    if (j->p < j->end) return json_fail(j, "expected a comma or the end of the list");
    return json_fail(j, close == '}' ? "the object has no end" : "the list has no end");
}

static bool read_hex4(JsonReader *j, uint32_t *v) {
    *v = 0;
    for (int i = 0; i < 4; i++, j->p++) {
        int d = j->end - j->p >= 4 - i ? ascii_hex_digit(*j->p) : -1;
        if (d < 0) return json_fail(j, "a \\u escape needs four hexadecimal digits");
        *v = *v << 4 | (uint32_t)d;
    }
    return true;
}

static bool read_unicode_escape(JsonReader *j, Str *b) {
    uint32_t c, low;
    if (!read_hex4(j, &c)) return false;
    if (c >= 0xDC00 && c < 0xE000) return json_fail(j, "half of a surrogate pair");
    if (c >= 0xD800 && c < 0xDC00) {
        if (j->end - j->p < 2 || j->p[0] != '\\' || j->p[1] != 'u')
            return json_fail(j, "half of a surrogate pair");
        j->p += 2;
        if (!read_hex4(j, &low)) return false;
        if (low < 0xDC00 || low >= 0xE000)
            return json_fail(j, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    if (c == 0) return json_fail(j, "a zero character");
    str_put_utf8(b, c);
    return true;
}

static bool read_escape(JsonReader *j, Str *b) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (j->p == j->end) return json_fail(j, "the string has no end");
    if (*j->p == 'u') {
        j->p++;
        return read_unicode_escape(j, b);
    }
    const char *k = memchr(from, *j->p, sizeof from - 1);
    if (!k) return json_fail(j, "there is no such escape in a string");
    str_putc(b, to[k - from]);
    j->p++;
    return true;
}

/* The text up to the closing quote: copied to b if it has escapes (*raw false), else
 * left in the source. */
static bool read_string_text(JsonReader *j, Str *b, bool *raw) {
    const char *from = j->p;
    *raw = true;
    for (;;) {
        while (j->p < j->end && *j->p != '"' && *j->p != '\\' &&
               (unsigned char)*j->p >= 0x20)
            j->p++;
        if (j->p == j->end) return json_fail(j, "the string has no end");
        if (*j->p == '"' && *raw) return true;
        str_add(b, from, (size_t)(j->p - from));
        if (*j->p == '"') return true;
        if (*j->p != '\\')
            return json_fail(j,
                             "a control character in a string; write it as an escape");
        *raw = false;
        j->p++;
        if (!read_escape(j, b)) return false;
        from = j->p;
    }
}

bool json_string(JsonReader *j, JsonText *t) {
    if (!json_want(j, '"', "expected a text in quotes")) return false;
    const char *from = j->p;
    Str b = STR(j->s);
    bool ok = read_string_text(j, &b, &t->exact);
    if (ok) {
        t->n = t->exact ? (size_t)(j->p++ - from) : b.n;
        t->p = arena_str(j->a, t->exact ? from : str_text(&b), t->n);
    }
    if (ok && !t->exact) j->p++;
    str_free(&b);
    return ok;
}

bool json_key(JsonReader *j, JsonText *t) {
    return (json_next_is(j, '"') || json_fail(j, "expected a key in quotes")) &&
           json_string(j, t) && json_want(j, ':', "expected a colon");
}

static size_t count_digits(const JsonReader *j, const char *p) {
    size_t n = 0;
    while (p + n < j->end && ascii_is_digit(p[n]))
        n++;
    return n;
}

static bool skip_number(JsonReader *j) {
    const char *p = j->p;
    p += p < j->end && *p == '-';
    size_t n = count_digits(j, p);
    if (n == 0 || (n > 1 && *p == '0')) return json_fail(j, "expected a value");
    p += n;
    if (p < j->end && *p == '.') {
        if (!(n = count_digits(j, p + 1)))
            return json_fail(j, "digits are missing after the point");
        p += 1 + n;
    }
    if (p < j->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < j->end && (*p == '+' || *p == '-')) p++;
        if (!(n = count_digits(j, p)))
            return json_fail(j, "digits are missing in the exponent");
        p += n;
    }
    j->p = p;
    return true;
}

bool json_scalar(JsonReader *j, const char **p, size_t *n) {
    static const char *const words[] = {"true", "false", "null"};
    skip_space(j);
    *p = j->p;
    for (size_t i = 0; i < 3; i++) {
        *n = strlen(words[i]);
        if ((size_t)(j->end - j->p) < *n || memcmp(j->p, words[i], *n) != 0) continue;
        j->p += *n;
        return true;
    }
    if (j->wrong || !skip_number(j)) return false;
    *n = (size_t)(j->p - *p);
    return true;
}

bool json_skip(JsonReader *j) {
    size_t depth = 0, n;
    JsonText text;
    const char *p;
    do {
        if (json_take(j, '{') || json_take(j, '['))
            depth++;
        else if (depth && (json_take(j, '}') || json_take(j, ']')))
            depth--;
        else if (depth && (json_take(j, ',') || json_take(j, ':')))
            continue;
        else if (!(json_next_is(j, '"') ? json_string(j, &text)
                                        : json_scalar(j, &p, &n)))
            return false;
    } while (depth);
    return true;
}

/* ---- writing ---- */

static void begin_item(JsonWriter *w) {
    if (w->more) str_puts(w->out, w->compact ? "," : ", ");
    w->more = true;
}

void json_open(JsonWriter *w, char bracket) {
    begin_item(w);
    str_putc(w->out, bracket);
    w->more = false;
}

void json_close(JsonWriter *w, const char *bracket) {
    str_puts(w->out, bracket);
    w->more = true;
}

void json_line(JsonWriter *w, const char *indent) {
    str_puts(w->out, w->more ? ",\n" : "\n");
    str_puts(w->out, indent);
    w->more = false;
}

void json_put_n(JsonWriter *w, const char *text, size_t n) {
    begin_item(w);
    str_json(w->out, text, n);
}

void json_put(JsonWriter *w, const char *text) {
    json_put_n(w, text, strlen(text));
}

void json_put_key(JsonWriter *w, const char *key) {
    json_put(w, key);
    str_puts(w->out, w->compact ? ":" : ": ");
    w->more = false;
}

void json_put_word(JsonWriter *w, const char *word) {
    begin_item(w);
    str_puts(w->out, word);
}

void json_put_int(JsonWriter *w, int64_t v) {
    begin_item(w);
    str_printf(w->out, "%lld", (long long)v);
}

void json_put_ints(JsonWriter *w, size_t n, const int64_t *v) {
    json_open(w, '[');
    for (size_t i = 0; i < n; i++)
        json_put_int(w, v[i]);
    json_close(w, "]");
}

void json_put_numbers(JsonWriter *w, const char *key, size_t n, const uint32_t *v) {
    json_put_key(w, key);
    json_open(w, '[');
    for (size_t i = 0; i < n; i++)
        json_put_int(w, v[i]);
    json_close(w, "]");
}

void json_put_number(JsonWriter *w, double v) {
    begin_item(w);
    json_number(v, w->out);
}

void json_member(JsonWriter *w, const char *key, const char *text) {
    json_put_key(w, key);
    json_put(w, text);
}

void json_member_number(JsonWriter *w, const char *key, double v) {
    json_put_key(w, key);
    json_put_number(w, v);
}

void json_number(double v, Str *out) {
    char buf[NUM_MAX];
    if (!isfinite(v))
        str_puts(out, "null");
    else if (v == floor(v) && fabs(v) < 0x1p53)
        str_add(out, buf, num_write_int(buf, (int64_t)v));
    else
        str_add(out, buf, num_write_float(buf, v, FLOAT64));
}
