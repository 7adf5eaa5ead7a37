/* Diagnostics are allocated one by one, so that dropping some after a failed attempt
 * really frees their memory. */
#include "base/session_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct DiagClass {
    const char *name, *text;
    int exit;
} DiagClass;

static const DiagClass classes[] = {
#define DIAG(name, exit, text)        {#name, text, exit},
#define NAMED(code, name, exit, text) {#name, text, exit},
#include "base/diag.def"
#undef DIAG
};

const char *diag_name(DiagCode c) {
    return classes[c].name;
}
int diag_exit(DiagCode c) {
    return classes[c].exit;
}
const char *diag_text(DiagCode c) {
    return classes[c].text;
}

static char *format_text(Session *s, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
static char *format_text(Session *s, const char *fmt, va_list ap) {
    Str b = STR(s);
    str_vprintf(&b, fmt, ap);
    return b.p;
}

static Diag *newest_diag(Session *s) {
    return s->diags.n ? s->diags.p[s->diags.n - 1] : NULL;
}

static bool is_out_of_memory(const Diag *d) {
    return d && d->severity == DIAG_ERROR && d->code == E_MEM;
}

static void add_note(Session *s, Diag *d, Span at, Hint h, char *text);

/* How the place came to be run, where bodies replaced their calls. */
static void note_calls(Session *s, Diag *d, Span at) {
    const Source *src = source_get(s, at.source);
    if (!src || !src->calls) return;
    Str text = STR(s);
    str_puts(&text, "called here");
    add_note(s, d, src->called, HINT_NONE, text.p);
}

/* Once memory has run out, further allocations fail too; these are not new errors. */
static void add_diag(Session *s, Severity severity, Span at, DiagCode code,
                     char *text) {
    if (severity == DIAG_ERROR && code == E_MEM && is_out_of_memory(newest_diag(s))) {
        mem_free(text);
        return;
    }
    Diag *d = mem_zalloc(s, 1, sizeof *d);
    *d = (Diag){severity, code, at, text, NULL, diag_exit(code)};
    vec_push(s, &s->diags, d);
    note_calls(s, d, at);
}

bool fail(Session *s, Span at, DiagCode code, const char *fmt, ...) {
    va_list ap;
    if (session_is_hushed(s)) return false;
    va_start(ap, fmt);
    add_diag(s, DIAG_ERROR, at, code, format_text(s, fmt, ap));
    va_end(ap);
    return false;
}

void warn(Session *s, Span at, DiagCode code, const char *fmt, ...) {
    va_list ap;
    if (session_is_hushed(s)) return;
    va_start(ap, fmt);
    add_diag(s, DIAG_WARNING, at, code, format_text(s, fmt, ap));
    va_end(ap);
}

static void add_note(Session *s, Diag *d, Span at, Hint h, char *text) {
    DiagNote **end = &d->notes;
    bool said = false; /* an earlier failure for lack of memory added it */
    for (; *end; end = &(*end)->next)
        said |= is_out_of_memory(d) && strcmp((*end)->text, text) == 0;
    if (said) {
        mem_free(text);
        return;
    }
    *end = mem_alloc(s, sizeof **end);
    **end = (DiagNote){at, text, h, NULL};
    note_calls(s, d, at);
}

bool note(Session *s, Span at, const char *fmt, ...) {
    Diag *d = newest_diag(s);
    if (!d || session_is_hushed(s)) return false;
    va_list ap;
    va_start(ap, fmt);
    add_note(s, d, at, HINT_NONE, format_text(s, fmt, ap));
    va_end(ap);
    return false;
}

bool hint(Session *s, Hint h) {
    Diag *d = newest_diag(s);
    Str text = STR(s);
    if (!d || session_is_hushed(s)) return false;
    str_puts(&text, hint_text(h));
    add_note(s, d, NOWHERE, h, text.p);
    return false;
}

const char *hint_text(Hint h) {
    static const char *const text[HINT_N] = {
#define HINT(name, words) [HINT_##name] = words,
#include "base/hint.def"
#undef HINT
    };
    return text[h];
}

/* There is no session where a bug shows, so this ends like a failed assert(): a line on
 * stderr, then SIGABRT. It is the only output below the tools. */
_Noreturn void diag_bug_(const char *file, int line, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    dprintf(STDERR_FILENO, "thunkline: bug at %s:%d: %s\n", file, line, text);
    abort();
}

size_t diag_count(Session *s) {
    return s->diags.n;
}

const Diag *diag_get(Session *s, size_t i) {
    return i < s->diags.n ? s->diags.p[i] : NULL;
}

const Diag *diag_first_error(Session *s) {
    for (size_t i = 0; i < s->diags.n; i++)
        if (s->diags.p[i]->severity == DIAG_ERROR) return s->diags.p[i];
    return NULL;
}

bool diag_hit_limit(Session *s, size_t mark) {
    for (size_t i = mark; i < diag_count(s); i++)
        if (diag_exit(diag_get(s, i)->code) == diag_exit(E_MEM)) return true;
    return false;
}

bool diag_failed(Session *s, size_t mark) {
    for (size_t i = mark; i < s->diags.n; i++)
        if (s->diags.p[i]->severity == DIAG_ERROR) return true;
    return false;
}

/* The texts are const for readers, but allocated here. */
static void free_text(const char *text) {
    union {
        const char *in;
        void *out;
    } u = {.in = text};
    mem_free(u.out);
}

static void free_diag(Diag *d) {
    for (DiagNote *n = d->notes, *next; n; n = next) {
        next = n->next;
        free_text(n->text);
        mem_free(n);
    }
    free_text(d->text);
    mem_free(d);
}

void diag_rewind(Session *s, size_t mark) {
    while (s->diags.n > mark)
        free_diag(s->diags.p[--s->diags.n]);
}

void diag_remove(Session *s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        free_diag(s->diags.p[i]);
    memmove(s->diags.p + from, s->diags.p + to, (s->diags.n - to) * sizeof *s->diags.p);
    s->diags.n -= to - from;
}

void diag_clear(Session *s) {
    diag_rewind(s, 0);
}

void diag_set_exit(Session *s, int exit) {
    Diag *d = newest_diag(s);
    if (d) d->exit = exit;
}
