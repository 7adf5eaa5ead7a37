/* Growable text, and symbols, which are compared by number. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/mem.h"

#include <stdarg.h>

/* A growable byte string, always NUL-terminated once written to. */
typedef struct Str {
    Session *s;
    char *p; /* NULL while empty */
    size_t n, cap;
} Str;
#define STR(session) ((Str){.s = (session)})
void str_add(Str *b, const char *p, size_t n);
void str_puts(Str *b, const char *text);
void str_putc(Str *b, char c);
void str_repeat(Str *b, char c, int n);
void str_printf(Str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(Str *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
const char *str_text(const Str *b); /* never NULL */
void str_clear(Str *b);             /* keeps the memory */
void str_free(Str *b);

/* "1 input", "2 inputs", "2 entries"; for messages. */
const char *str_counted(Session *s, size_t n, const char *what);

/* A symbol: text interned in the session for its whole life. 0 is "no symbol". */
typedef uint32_t Sym;
Sym sym(Session *s, const char *text);
Sym sym_n(Session *s, const char *p, size_t n);
/* The same for n texts, of which many are in memory that is far away. */
void sym_all(Session *s, size_t n, const char *const *p, const size_t *len, Sym *out);
Sym sym_find(Session *s, const char *p, size_t n); /* 0 if never interned */
const char *sym_text(Session *s, Sym y);           /* "" for 0 */
void sym_reserve(Session *s, size_t extra); /* a hint: `extra` new ones will follow */

/* Kinds of ASCII characters; a byte of any other is of none. */
static inline bool ascii_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool ascii_is_letter(char c) { /* or _ */
    char low = (char)(c | 0x20);
    return (low >= 'a' && low <= 'z') || c == '_';
}
static inline bool ascii_is_word(char c) { /* a letter, a digit or _ */
    static const uint64_t digits = UINT64_C(0x03FF000000000000),
                          letters = UINT64_C(0x07FFFFFE87FFFFFE);
    unsigned char k = (unsigned char)c;
    return k < 128 && ((k < 64 ? digits : letters) >> (k & 63) & 1);
}
static inline bool ascii_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
static inline int ascii_hex_digit(char c) { /* -1: it is none */
    if (ascii_is_digit(c)) return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Length of the well-formed UTF-8 sequence at p, where n bytes are left, and its
 * character; 0: there is none. */
size_t str_utf8_next(const char *p, size_t n, uint32_t *cp);
void str_put_utf8(Str *b, uint32_t cp);
/* Is it well-formed UTF-8 without surrogates? */
bool str_is_utf8(const char *p, size_t n);
/* Is it also free of characters that change how a terminal or an editor shows their
 * surroundings: controls, direction marks, line separators? */
bool str_is_plain(const char *p, size_t n);

/* Adds the meaning of the escape at p, a backslash: \n, \xHH, \uHHHH, ... Returns its
 * length; 0: invalid, and *why gives the reason. */
size_t str_unescape(Str *b, const char *p, size_t n, const char **why);
/* JSON text of a string, with quotes; control characters and invalid UTF-8 escaped. */
void str_json(Str *b, const char *p, size_t n);
/* A string of the expression language, in single quotes. */
void str_quote(Str *b, const char *text);
/* For people: control characters and escapes are made visible. */
void str_visible(Str *b, const char *p, size_t n);
/* The same without changing the width: "?" for what must not reach a terminal. */
void str_masked(Str *b, const char *p, size_t n);

/* The nearest of n candidates by edit distance, or NULL if none is near: for "did you
 * mean". */
const char *str_nearest(Session *s, const char *word, const char *const *of, size_t n);
/* Do n characters of a name end in one of these suffixes, ".yaml .yml", with something
 * before it? */
bool str_has_suffix(const char *name, size_t n, const char *suffixes);
/* What follows the last dot of a path's last part, with the dot: "" if nothing does. */
const char *str_suffix(const char *path);
/* Has the first line of a text, after comments, a name and one of these signs: "=" for
 * a definition, but not for ==, ":" for a declaration? */
bool str_begins_definition(const char *p, size_t n, const char *signs);
/* A shell pattern with * and ? only. */
bool str_glob(const char *pattern, const char *text);
/* Splits "a, b ,c" at commas outside brackets; parts are trimmed and arena-owned. */
size_t str_split(Arena *a, const char *text, char sep, char ***parts);

#endif
