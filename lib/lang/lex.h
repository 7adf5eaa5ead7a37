/* Tokens of the expression language: for lex.c and parse.c. */
#ifndef LANG_LEX_H
#define LANG_LEX_H

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
    TOK_ERROR /* what can't be a token: `error` says why */
} TokKind;
/* An operator is told by its characters: '+', OP2('*', '*'). */
#define OP2(a, b)    ((uint32_t)(a) | (uint32_t)(b) << 8)
#define OP3(a, b, c) (OP2(a, b) | (uint32_t)(c) << 16)
typedef struct Tok {
    TokKind kind;
    uint32_t begin, end;
    uint32_t code;    /* operators */
    const char *text; /* operators, static; error: the message */
    Sym sym;          /* names, keywords, strings */
    uint64_t u;       /* integers */
    double v;         /* floats, imaginary numbers */
} Tok;

/* A text that is being cut into tokens. Messages go to the arena. */
typedef struct Lexer {
    Session *s;
    Arena *a;
    uint32_t source;
    const char *base, *p, *end; /* base: of the source, which offsets count from */
    int depth;                  /* of brackets */
    Vec(Tok) toks;
} Lexer;
Lexer lex_begin(Session *s, Arena *a, Span text);
/* The tokens of the next line that has any, of the lines that a bracket on it goes over
 * too: ended by TOK_NEWLINE, TOK_END (which alone means that there is no line left) or
 * TOK_ERROR. They hold until the next call. */
const Tok *lex_line(Lexer *l);
/* All that is left, ended by TOK_END or TOK_ERROR. */
const Tok *lex_all(Lexer *l);
void lex_end(Lexer *l);
/* The value of a float's text ("1_000.5e3") at a width. */
double lex_float(const char *p, size_t n, FloatWidth w);
/* Is it an ASCII identifier that may name a variable: no keyword, no literal name? */
bool lex_is_keyword(const char *p, size_t n);
bool lex_is_literal_name(const char *p, size_t n);

#endif
