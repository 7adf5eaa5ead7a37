/* Growable text. */
#include "base/str.h"

#include "base/session.h"

#include <stdio.h>
#include <string.h>

static void reserve_str(Str *b, size_t extra) {
    size_t need;
    if (!size_add(b->n, extra, &need) || !size_add(need, 1, &need)) need = SIZE_MAX;
    if (need > b->cap) b->p = mem_grow_vec_(b->s, b->p, &b->cap, need, 1);
}

void str_add(Str *b, const char *p, size_t n) {
    reserve_str(b, n);
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void str_puts(Str *b, const char *text) {
    str_add(b, text, strlen(text));
}

void str_putc(Str *b, char c) {
    reserve_str(b, 1);
    b->p[b->n++] = c;
    b->p[b->n] = '\0';
}

void str_repeat(Str *b, char c, int n) {
    while (n-- > 0)
        str_putc(b, c);
}

void str_vprintf(Str *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    reserve_str(b, 0);
    int n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
    if (n > 0 && (size_t)n >= b->cap - b->n) {
        reserve_str(b, (size_t)n);
        n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, again);
    }
    va_end(again);
    if (n > 0) b->n += (size_t)n;
}

void str_printf(Str *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(b, fmt, ap);
    va_end(ap);
}

const char *str_text(const Str *b) {
    return b->p ? b->p : "";
}

void str_clear(Str *b) {
    b->n = 0;
    if (b->p) b->p[0] = '\0';
}

void str_free(Str *b) {
    mem_free(b->p);
    *b = STR(b->s);
}

const char *str_counted(Session *s, size_t n, const char *what) {
    size_t len = strlen(what);
    bool y = n != 1 && what[len - 1] == 'y';
    return arena_printf(session_arena(s), "%zu %.*s%s", n, (int)(len - y), what,
                        n == 1 ? ""
                        : y    ? "ies"
                               : "s");
}
