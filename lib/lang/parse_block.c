/* Statements, one per line, and the entry points of the parser. */
#include "lang/parse_impl.h"

#include <string.h>

static const Ast *parse_target(Parser *p) {
    if (p->tok->kind != TOK_NAME) {
        bool bracket = parser_sees(p, '(') || parser_sees(p, '[');
        parse_unexpected(p, "a statement such as `name = expression`");
        if (bracket)
            note(p->s, NOWHERE, "several names stand without brackets: a, b = ...");
        return NULL;
    }
    Span at = parser_next_span(p);
    const Ast *e = parse_name(p);
    if (e->kind == AST_NAME) return e;
    fail(p->s, at, E_NAME, "`%.*s` is a literal: it can't be defined",
         (int)(at.end - at.begin), p->base + at.begin);
    return NULL;
}

/* Tokens that may occur in a type: names, sizes, brackets; type_parse checks them. */
static bool is_type_token(const Tok *t) {
    if (t->kind == TOK_OP) return t->code < 128 && strchr("[](),?", (int)t->code);
    return t->kind == TOK_NAME || t->kind == TOK_INT || t->kind == TOK_STRING;
}

/* name: type [= e]; the type's text extends to `=` or the end of the line. It is empty
 * where the expression decides it. */
static const Ast *parse_annotated(Parser *p, const Ast *name) {
    uint32_t begin = p->tok[1].begin, end = 0;
    p->tok++;
    for (int depth = 0; depth > 0 || !parser_sees(p, '='); p->tok++) {
        if (p->tok->kind == TOK_END || p->tok->kind == TOK_NEWLINE) break;
        if (p->tok->kind == TOK_ERROR) return parse_unexpected(p, "a type");
        if (!is_type_token(p->tok))
            return parse_unexpected(p, "a type such as float64[3]");
        depth += parser_sees(p, '(') || parser_sees(p, '[');
        depth -= parser_sees(p, ')') || parser_sees(p, ']');
        end = p->tok->end;
    }
    if (end == 0 && !parser_sees(p, '='))
        return parse_unexpected(p, "a type such as float64[3]");
    if (end == 0) end = begin = p->tok->begin;
    const Ast *value = NULL;
    if (parser_take(p, '=') && !(value = parse_expr(p))) return NULL;
    Ast *e = parse_new(p, AST_ANNOT, name->at.begin, parser_last_end(p));
    e->sym = name->sym;
    e->type = parser_span(p, begin, end);
    parse_set_kids(p, e, value != NULL, &value);
    return e;
}

/* The right side of several targets: `e, f` without brackets is a tuple, too. */
static const Ast *parse_values(Parser *p) {
    size_t first = p->kids.n;
    uint32_t begin = p->tok->begin;
    do {
        const Ast *e = parse_expr(p);
        if (!e) return NULL;
        vec_push(p->s, &p->kids, e);
    } while (parser_take(p, ','));
    if (p->kids.n == first + 1) return p->kids.p[--p->kids.n];
    return parse_new_tree(p, AST_TUPLE, begin, first);
}

/* x[i] = v, print(x), loss.backward() as statements of Python. Always NULL. */
static const Ast *fail_no_assignment(Parser *p, const Ast *name) {
    const char *x = sym_text(p->s, name->sym);
    bool at = parser_sees(p, '['), dot = parser_sees(p, '.'),
         call = parser_sees(p, '(');
    parse_unexpected(p, "`=` of a statement `name = expression`");
    if (at)
        note(p->s, NOWHERE,
             "values don't change: write y = set_subtensor(%s[i], v), or inc_subtensor "
             "to add",
             x);
    if (call || dot)
        note(p->s, NOWHERE, "a line gives a name to a value, as in y = %s%s", x,
             call ? "(...)" : ".f(...)");
    return NULL;
}

static const Ast *parse_assignment(Parser *p) {
    size_t first = p->kids.n;
    const Ast *name = parse_target(p);
    if (!name) return NULL;
    if (parser_sees(p, ':')) return parse_annotated(p, name);
    vec_push(p->s, &p->kids, name);
    while (parser_take(p, ',')) {
        if (!(name = parse_target(p))) return NULL;
        vec_push(p->s, &p->kids, name);
    }
    if (!parser_take(p, '=')) return fail_no_assignment(p, name);
    bool several = p->kids.n > first + 1;
    const Ast *value = several ? parse_values(p) : parse_expr(p);
    if (!value || !parse_no_duplicates(p, p->kids.n - first, parse_kids_from(p, first),
                                       "the name"))
        return NULL;
    vec_push(p->s, &p->kids, value);
    return parse_new_tree(p, AST_ASSIGN, p->kids.p[first]->at.begin, first);
}

static const Ast *parse_statement(Parser *p) {
    const Ast *e = parse_assignment(p);
    if (!e || p->tok->kind == TOK_NEWLINE || p->tok->kind == TOK_END) return e;
    if (parser_sees(p, ',')) {
        fail(p->s, parser_next_span(p), E_SYNTAX,
             "put several values in brackets: (a, b)");
        return NULL;
    }
    if (parser_sees(p, '=')) {
        fail(p->s, parser_next_span(p), E_SYNTAX,
             "a line has one `=`: each name is defined in a line of its own, and `==` "
             "compares");
        return NULL;
    }
    return parse_unexpected(p, "the end of the line");
}

/* ---- entry points ---- */

static Parser new_parser(Session *s, Arena *a, const Lexer *l) {
    return (Parser){.s = s, .a = a, .source = l->source, .base = l->base};
}
static void free_parser(Parser *p, Lexer *l) {
    vec_free(&p->kids);
    vec_free(&p->locals);
    lex_end(l);
}
static void skip_newlines(Parser *p) {
    while (p->tok->kind == TOK_NEWLINE)
        p->tok++;
}

const Ast *ast_parse(Session *s, Arena *a, Span text) {
    Lexer l = lex_begin(s, a, text);
    Parser p = new_parser(s, a, &l);
    p.tok = lex_all(&l);
    skip_newlines(&p);
    const Ast *e = parse_expr(&p);
    const Tok *after = p.tok;
    if (e) skip_newlines(&p);
    if (e && p.tok->kind != TOK_END) {
        p.tok = after;
        e = parse_unexpected(&p, "an operator, or the end of the expression");
    }
    free_parser(&p, &l);
    return e;
}

struct AstBlock {
    Lexer lexer;
    Parser parser;
    const Tok *line;
};

AstBlock *ast_block_open(Session *s, Arena *a, Span text) {
    AstBlock *b = NEW(a, AstBlock);
    b->lexer = lex_begin(s, a, text);
    b->parser = new_parser(s, a, &b->lexer);
    return b;
}

bool ast_block_next(AstBlock *b) {
    b->line = lex_line(&b->lexer);
    return b->line->kind != TOK_END;
}

const Ast *ast_block_statement(AstBlock *b, Arena *a) {
    b->parser.a = a;
    b->parser.tok = b->line;
    return parse_statement(&b->parser);
}

void ast_block_close(AstBlock *b) {
    free_parser(&b->parser, &b->lexer);
}

bool ast_parse_block(Session *s, Arena *a, Span text, const Ast ***statements,
                     size_t *n) {
    AstBlock *b = ast_block_open(s, a, text);
    Kids kids = {0};
    bool ok = true;
    while (ok && ast_block_next(b)) {
        const Ast *e = ast_block_statement(b, a);
        ok = e != NULL;
        vec_push(s, &kids, e);
    }
    *n = ok ? kids.n : 0;
    *statements = arena_copy(a, kids.p, kids.n * sizeof *kids.p);
    vec_free(&kids);
    ast_block_close(b);
    return ok;
}

/* `name = expression`, then `when` conditions, separated by commas. */
static bool parse_case(Parser *p, AstCase *out) {
    const Ast *e = parse_assignment(p);
    size_t first = p->kids.n;
    *out = (AstCase){.line = e};
    if (e && p->tok->kind == TOK_NAME &&
        strcmp(sym_text(p->s, p->tok->sym), "when") == 0)
        do {
            p->tok++;
            if (!(e = parse_expr(p))) return false;
            vec_push(p->s, &p->kids, e);
        } while (parser_sees(p, ','));
    out->nwhen = p->kids.n - first;
    out->when =
        arena_copy(p->a, parse_kids_from(p, first), out->nwhen * sizeof *out->when);
    p->kids.n = first;
    return e && (p->tok->kind == TOK_NEWLINE || p->tok->kind == TOK_END ||
                 parse_unexpected(p, "`when`, or the end of the line"));
}

bool ast_parse_cases(Session *s, Arena *a, Span text, const AstCase **out, size_t *n) {
    Lexer l = lex_begin(s, a, text);
    Parser p = new_parser(s, a, &l);
    Vec(AstCase) all = {0};
    AstCase one;
    bool ok = true;
    while (ok && (p.tok = lex_line(&l))->kind != TOK_END) {
        ok = parse_case(&p, &one);
        vec_push(s, &all, one);
    }
    *n = ok ? all.n : 0;
    *out = arena_copy(a, all.p, all.n * sizeof *all.p);
    vec_free(&all);
    free_parser(&p, &l);
    return ok;
}

bool ast_is_definition(Session *s, Span text) {
    Arena *a = arena_new(s);
    Lexer l = lex_begin(s, a, text);
    const Tok *t = lex_line(&l);
    bool is = t->kind == TOK_NAME && t[1].kind == TOK_OP &&
              (t[1].code == '=' || t[1].code == ':' || t[1].code == ',');
    lex_end(&l);
    arena_free(a);
    return is;
}
