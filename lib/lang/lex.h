/* Tokens of the expression language: for lex.c and parse.c. */
#ifndef LANG_LEX_H
#define LANG_LEX_H

#include "base/num.h"
#include "lang/expr.h"

typedef enum TokKind {
    TOK_END,
    TOK_NEWLINE, /* outside brackets only */
    TOK_NAME,
    TOK_KEYWORD, /* Python's; True, False and None are names */
    TOK_INT,
    TOK_FLOAT,
    TOK_IMAG,
    TOK_STRING,
    TOK_OP,
    TOK_ERROR /* invalid text: `error` says why */
} TokKind;
/* The code of an operator consists of its characters: '+', OP2('*', '*'). */
#define OP2(a, b)    ((uint32_t)(a) | (uint32_t)(b) << 8)
#define OP3(a, b, c) (OP2(a, b) | (uint32_t)(c) << 16)
typedef struct Tok { /* beyond `end`, only what the kind has is set */
    TokKind kind;
    uint32_t begin, end;
    uint32_t code;    /* operators */
    const char *text; /* operators, static; error: the message */
    Sym sym;          /* names, keywords, strings */
    uint64_t u;       /* integers */
    double v;         /* floats, imaginary numbers */
} Tok;

/* A text being split into tokens. Messages are allocated from the arena. */
typedef struct Lexer {
    Session *s;
    Arena *a;
    uint32_t source;
    const char *base, *p, *end; /* base: start of the source, for offsets */
    int depth;                  /* of brackets */
    Vec(Tok) toks;
} Lexer;
Lexer lex_begin(Session *s, Arena *a, Span text);
/* The tokens of the next nonblank line, including lines that its brackets continue
 * onto: ended by TOK_NEWLINE, TOK_END (if alone, no lines are left) or TOK_ERROR. Valid
 * until the next call. */
const Tok *lex_line(Lexer *l);
/* All remaining tokens, ended by TOK_END or TOK_ERROR. */
const Tok *lex_all(Lexer *l);
void lex_end(Lexer *l);
/* The value of a float's text ("1_000.5e3"), rounded to a width. */
double lex_float(const char *p, size_t n, FloatWidth w);

#endif
