/* Shared by the files of the parser. */
#ifndef LANG_PARSE_IMPL_H
#define LANG_PARSE_IMPL_H

#include "lang/lex.h"

typedef Vec(const Ast *) Kids;
typedef struct Parser {
    Session *s;
    Arena *a;
    uint32_t source;
    const char *base;
    const Tok *tok; /* the next one */
    int depth, recursion;
    Kids kids;       /* of the trees being built; the innermost tree's are last */
    int lambdas;     /* around this place */
    Vec(Sym) locals; /* named by := in them; those of the innermost are last: */
    size_t first_local;
} Parser;

static inline Span parser_span(const Parser *p, uint32_t begin, uint32_t end) {
    return (Span){p->source, begin, end};
}
static inline Span parser_next_span(const Parser *p) {
    return parser_span(p, p->tok->begin, p->tok->end);
}
static inline bool parser_sees(const Parser *p, uint32_t code) {
    return p->tok->kind == TOK_OP && p->tok->code == code;
}
static inline bool parser_take(Parser *p, uint32_t code) {
    if (!parser_sees(p, code)) return false;
    p->tok++;
    return true;
}
static inline uint32_t parser_last_end(const Parser *p) {
    return p->tok[-1].end;
}

/* Always NULL: reports that the next token is not `expected`. */
const Ast *parse_unexpected(Parser *p, const char *expected);
/* parse_python.c: always NULL. A keyword; the star of [a, *v] and f(*v). */
const Ast *parse_fail_keyword(Parser *p);
const Ast *parse_fail_star(Parser *p);
Ast *parse_new(Parser *p, AstKind kind, uint32_t begin, uint32_t end);
void parse_set_kids(Parser *p, Ast *e, size_t n, const Ast *const *kid);
/* The kids from index `first` on; NULL: there is none yet. */
static inline const Ast **parse_kids_from(const Parser *p, size_t first) {
    return p->kids.p ? p->kids.p + first : NULL;
}
/* A tree of those kids, which are popped. */
Ast *parse_new_tree(Parser *p, AstKind kind, uint32_t begin, size_t first);
/* The next token, a name: AST_NAME, or the literal that it spells. */
const Ast *parse_name(Parser *p);
bool parse_no_duplicates(Parser *p, size_t n, const Ast *const *kid, const char *what);
const Ast *parse_expr(Parser *p);

#endif
