/* Diagnostics are data: a code, a place, a message, notes. A function that fails
 * returns false (or NULL, or VAR_NONE) after adding exactly one error to its
 * session. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/mem.h"

#include <stdarg.h>

typedef enum DiagCode {
#define DIAG(name, exit, text) name,
#include "base/diag.def"
#undef DIAG
    DIAG_N
} DiagCode;
const char *diag_name(DiagCode c); /* "E_SHAPE" */
int diag_exit(DiagCode c);         /* the tools' exit status for it */
const char *diag_text(DiagCode c); /* one sentence about this class of errors */

/* A place in a source text: bytes [begin, end) of source number `source`; source 0 is
 * "nowhere". */
typedef struct Span {
    uint32_t source, begin, end;
} Span;
#define NOWHERE ((Span){0, 0, 0})

/* A text that spans point into: a file, an option's value, the row of an op. If only
 * some lines of a file are available (a graph that came through a pipe), `first_line`
 * and `first_col` say where the text begins. */
typedef struct Source {
    const char *name; /* "m.yaml", "--expr", "lib/ops/elemwise/exp.def" */
    const char *text;
    size_t len;
    uint32_t first_line; /* 1 for a whole file */
    uint32_t first_col;  /* 1 */
    uint32_t of;         /* itself; of a text as it was called, the text: */
    uint32_t calls;      /* how many calls lead here; 0: it is the text */
    Span called;         /* the last of these calls */
} Source;
uint32_t source_add(Session *s, const char *name, const char *text,
                    size_t len); /* copies both */
uint32_t
source_add_at(Session *s, const char *name, const char *text, size_t len, uint32_t line,
              uint32_t col); /* text that begins at line:col of the named file */
/* As source_add_at, but the text stays where it is, for as long as the session; no zero
 * byte need follow it. */
uint32_t source_add_there(Session *s, const char *name, const char *text, size_t len,
                          uint32_t line, uint32_t col);
/* The same text, of a function whose call at `call` its body has replaced: what is said
 * of a place in it goes on with "called here". */
uint32_t source_called(Session *s, uint32_t source, Span call);
const Source *source_get(Session *s, uint32_t source);   /* NULL for 0 */
bool source_is_same(Session *s, uint32_t x, uint32_t y); /* one text, however called */
size_t source_count(Session *s); /* valid numbers are 1..count */
/* line and column (1-based, columns in characters) of the span's beginning */
void span_place(Session *s, Span at, uint32_t *line, uint32_t *col);

typedef enum Hint {
    HINT_NONE,
#define HINT(name, text) HINT_##name,
#include "base/hint.def"
#undef HINT
    HINT_N
} Hint;
typedef struct DiagNote {
    Span at;
    const char *text;
    Hint hint; /* a program may say it in words of its own */
    struct DiagNote *next;
} DiagNote;
typedef enum Severity { DIAG_ERROR, DIAG_WARNING } Severity;
typedef struct Diag {
    Severity severity;
    DiagCode code;
    Span at;
    const char *text;
    DiagNote *notes; /* in the order added */
    int exit; /* normally diag_exit(code); an upstream tool's status for E_UPSTREAM */
} Diag;

/* Adds an error; returns false, so that callers can `return fail(...)`. */
bool fail(Session *s, Span at, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void warn(Session *s, Span at, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a note to the newest diagnostic (if there is one). Returns false. */
bool note(Session *s, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a note on what would help. Returns false. */
bool hint(Session *s, Hint h);
const char *hint_text(Hint h);
/* An internal error: a bug in thunkline, never caused by input. Calls the session's
 * hook; does not return. */
_Noreturn void diag_bug_(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define bug(...) diag_bug_(__FILE__, __LINE__, __VA_ARGS__)

size_t diag_count(Session *s); /* errors and warnings */
const Diag *diag_get(Session *s, size_t i);
const Diag *diag_first_error(Session *s); /* determines the exit status; NULL if none */
bool diag_failed(Session *s, size_t mark); /* an error since `mark` (see below) */
/* Was memory, or another limit, the reason of an error since `mark`? A trial that ends
 * so has decided nothing. */
bool diag_hit_limit(Session *s, size_t mark);
void diag_clear(Session *s);
/* Removes what was added after `mark` (an earlier diag_count), for trying
 * alternatives. */
void diag_rewind(Session *s, size_t mark);
/* Removes what was added between two marks. */
void diag_remove(Session *s, size_t from, size_t to);
void diag_set_exit(Session *s, int exit); /* of the newest diagnostic */

#endif
