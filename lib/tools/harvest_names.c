#include "tools/harvest_names.h"

#include <string.h>

static bool is_sown_tag(const SownNames *n, Sym tag) {
    for (size_t i = 0; i < n->list.n; i++)
        if (n->list.p[i].tag == tag) return true;
    return false;
}

bool harvest_path_ends_with(const char *path, const char *names) {
    size_t n = strlen(path), m = strlen(names);
    return n > m && path[n - m - 1] == '/' && strcmp(path + n - m, names) == 0;
}

/* The closest tag or path, as a suggestion; NULL: none is close. */
static const char *nearest_sown_name(const SownNames *n, const char *text) {
    Session *s = n->s;
    Vec(const char *) of = {0};
    const char *near = NULL;
    for (size_t i = 0; i < n->list.n; i++) {
        const char *path = sym_text(s, n->list.p[i].name), *slash = strrchr(path, '/');
        vec_push(s, &of, sym_text(s, n->list.p[i].tag));
        vec_push(s, &of, path);
        if (slash)
            vec_push(s, &of, sym_text(s, sym_n(s, path, (size_t)(slash - path))));
        if (!near && harvest_path_ends_with(path, text)) near = path;
    }
    if (!near) near = str_nearest(s, text, of.p, of.n);
    vec_free(&of);
    return near;
}

bool sown_fail(const SownNames *n, Span at, const char *text) {
    Session *s = n->s;
    const char *near = nearest_sown_name(n, text);
    fail(s, at, E_UNKNOWN, "nothing is sown as %s%s%s%s", text,
         near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    if (!n->list.n)
        note(s, NOWHERE, "the graph has no sow(value, tag='...', name='...')");
    else if (!near)
        note(s, NOWHERE, "sown are, among others, %s/%s", sym_text(s, n->list.p[0].tag),
             sym_text(s, n->list.p[0].name));
    return false;
}

bool harvest_path_leads_to(const char *scope, const char *path) {
    size_t n = strlen(scope);
    return strncmp(path, scope, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* The only tag with that path; 0: none. Several: diagnosed, false. */
static bool tag_of_name(const SownNames *n, Sym name, Span at, Sym *tag) {
    Session *s = n->s;
    *tag = 0;
    for (size_t i = 0; i < n->list.n; i++) {
        if (!harvest_path_leads_to(sym_text(s, name), sym_text(s, n->list.p[i].name)) ||
            n->list.p[i].tag == *tag)
            continue;
        if (*tag)
            return fail(
                s, at, E_UNKNOWN, "%s is sown under %s and under %s: write %s/%s",
                sym_text(s, name), sym_text(s, *tag), sym_text(s, n->list.p[i].tag),
                sym_text(s, *tag), sym_text(s, name));
        *tag = n->list.p[i].tag;
    }
    return true;
}

bool sown_resolve(const SownNames *n, Span at, Sym *tag, Sym *path) {
    Session *s = n->s;
    const char *p = source_get(s, at.source)->text + at.begin;
    size_t size = at.end - at.begin;
    const char *slash = memchr(p, '/', size);
    size_t len = slash ? (size_t)(slash - p) : size;
    *tag = sym_n(s, p, len);
    *path = 0;
    if (is_sown_tag(n, *tag)) {
        if (slash) *path = sym_n(s, slash + 1, size - len - 1);
        return true;
    }
    *path = sym_n(s, p, size);
    if (!tag_of_name(n, *path, at, tag)) return false;
    return *tag || sown_fail(n, at, sym_text(s, *path));
}

bool span_next_part(Session *s, Span *rest, Span *part) {
    const char *text = source_get(s, rest->source)->text;
    if (rest->begin >= rest->end) return false;
    *part = *rest;
    while (rest->begin < rest->end && text[rest->begin] != ',')
        rest->begin++;
    part->end = rest->begin;
    if (rest->begin < rest->end) rest->begin++;
    while (part->begin < part->end && text[part->begin] == ' ')
        part->begin++;
    while (part->end > part->begin && text[part->end - 1] == ' ')
        part->end--;
    return true;
}

bool sown_is_known(const SownNames *n, Sym tag, Sym path) {
    Session *s = n->s;
    for (size_t i = 0; i < n->list.n; i++)
        if (n->list.p[i].tag == tag &&
            harvest_path_leads_to(sym_text(s, path), sym_text(s, n->list.p[i].name)))
            return true;
    return false;
}

bool sown_is_mentioned(const SownNames *n, Sym tag, Sym path) {
    for (size_t i = 0; i < n->list.n; i++) {
        const Sown *x = &n->list.p[i];
        if (tag && x->tag != tag) continue;
        if (sown_is_known(n, x->tag, path) ||
            harvest_path_ends_with(sym_text(n->s, x->name), sym_text(n->s, path)))
            return true;
    }
    return false;
}
