/* Documents: the common form of YAML and JSON once unquoted. Every leaf is text; where
 * the source has it verbatim, its span is compiled so that carets in messages are
 * exact. */
#include "io/io_impl.h"

#include <string.h>
#include <strings.h>

bool doc_add(Session *s, Doc *parent, Doc *kid, Map *seen) {
    if (parent->kind == DOC_MAP) {
        /* One set serves all maps: the start of a map distinguishes its keys. */
        uint64_t id = (uint64_t)parent->at.begin << 32 | kid->key;
        if (map_get(seen, id, NULL))
            return fail(s, kid->key_at, E_DUPLICATE, "the key \"%s\" occurs twice",
                        sym_text(s, kid->key));
        map_put(seen, id, 1);
    }
    if (parent->last)
        parent->last->next = kid;
    else
        parent->first = kid;
    parent->last = kid;
    parent->nkid++;
    return true;
}

Doc *doc_get(const Doc *map, Session *s, const char *key) {
    Sym y = sym_find(s, key, strlen(key));
    for (Doc *d = map->first; d && y; d = d->next)
        if (d->key == y) return d;
    return NULL;
}

Span doc_span(Session *s, const Doc *d) {
    if (d->exact) return d->at;
    const Source *src = source_get(s, d->at.source);
    uint32_t own = source_add_at(s, src->name, d->p, d->n, d->line, d->col);
    return (Span){own, 0, (uint32_t)d->n};
}

bool doc_is_nothing(const Doc *d) {
    return d->kind == DOC_TEXT && d->n == 0;
}

bool doc_keys(Session *s, const Doc *map, const char *const *keys, size_t n,
              const char *where) {
    if (map->kind != DOC_MAP)
        return fail(s, map->at, E_FORMAT, "%s must be a mapping (key: value), not %s",
                    where, map->kind == DOC_LIST ? "a list" : "a text");
    const Doc *empty = NULL; /* the key before, if nothing stands beside or below it */
    for (const Doc *d = map->first; d;
         empty = doc_is_nothing(d) ? d : NULL, d = d->next) {
        const char *key = sym_text(s, d->key);
        size_t i = 0;
        while (i < n && strcmp(keys[i], key) != 0)
            i++;
        if (i < n) continue;
        const char *near = str_nearest(s, key, keys, n);
        fail(s, d->key_at, E_FORMAT, "%s has no key \"%s\"%s%s%s", where, key,
             near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        if (empty && !near)
            note(s, NOWHERE, "if it belongs to \"%s\" above, indent it by two blanks",
                 sym_text(s, empty->key));
        return false;
    }
    return true;
}

bool doc_want_text(Session *s, const Doc *d, const char *what) {
    if (d->kind == DOC_TEXT) return true;
    return doc_unsafe(s, d->at, "expected %s, but YAML reads a %s here", what,
                      d->kind == DOC_LIST ? "list [...]" : "mapping {...}");
}

bool doc_flag(Session *s, const Doc *d, bool *out) {
    if (!d) return true;
    /* JSON's own words arrive as the language writes them */
    *out = d->kind == DOC_TEXT && strcasecmp(d->p, "true") == 0;
    return *out || (d->kind == DOC_TEXT && strcasecmp(d->p, "false") == 0) ||
           fail(s, d->at, E_FORMAT, "expected true or false");
}

/* ---- a safe spelling of the line ---- */

typedef struct SourceLine {
    const char *p;
    size_t n;
} SourceLine;

static SourceLine source_line_at(const Source *src, uint32_t byte) {
    size_t begin = byte < src->len ? byte : src->len, end = begin;
    while (begin > 0 && src->text[begin - 1] != '\n')
        begin--;
    while (end < src->len && src->text[end] != '\n')
        end++;
    return (SourceLine){src->text + begin, end - begin};
}

/* Rewrites ` key: rest` as ` key: 'rest'`. False if the line has no such form, or the
 * error at `at` lies inside {...}. */
static bool quoted_line(SourceLine l, const char *at, Str *out) {
    const char *colon = NULL;
    for (size_t i = 0; i + 1 < l.n && !colon; i++)
        if (l.p[i] == ':' && l.p[i + 1] == ' ') colon = l.p + i;
    if (!colon) return false;
    const char *rest = colon + 1, *end = l.p + l.n;
    while (rest < end && *rest == ' ')
        rest++;
    for (const char *p = rest; p < end; p++) /* without a comment */
        if (*p == '#' && p[-1] == ' ') end = p;
    while (end > rest && end[-1] == ' ')
        end--;
    if (rest == end || *rest == '\'' || *rest == '"') return false;
    if ((*rest == '{' || *rest == '[') && at > rest) return false;
    str_add(out, l.p, (size_t)(colon - l.p));
    str_puts(out, ": '");
    for (; rest < end; rest++) {
        str_putc(out, *rest);
        if (*rest == '\'') str_putc(out, '\'');
    }
    str_putc(out, '\'');
    return true;
}

bool doc_unsafe(Session *s, Span at, const char *fmt, ...) {
    Str text = STR(s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    fail(s, at, E_FORMAT, "%s", text.p);
    str_clear(&text);
    const Source *src = source_get(s, at.source);
    if (src && quoted_line(source_line_at(src, at.begin), src->text + at.begin, &text))
        note(s, NOWHERE, "if this is an expression, YAML needs quotes around it: %s",
             text.p);
    note(s, NOWHERE,
         "lines of a block (`let: |` and `name = expression` below) need no quotes");
    str_free(&text);
    return false;
}
