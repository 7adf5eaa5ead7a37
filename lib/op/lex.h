/* Tokens of the expression language: for lex.c and parse.c. */
#ifndef OP_LEX_H
#define OP_LEX_H

#include "op/expr.h"

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

/* The tokens of a text, ended by TOK_END or TOK_ERROR. The caller frees *toks with
 * mem_free. Messages go to the arena. */
size_t lex(Session *s, Arena *a, Span text, Tok **toks);
/* The value of a float's text ("1_000.5e3") at a width. */
double lex_float(const char *p, size_t n, FloatWidth w);
/* Is it an ASCII identifier that may name a variable: no keyword, no literal name? */
bool lex_is_keyword(const char *p, size_t n);
bool lex_is_literal_name(const char *p, size_t n);

#endif
