/* Tokens to a syntax tree, by precedence climbing. Chains (a + b + ..., f(x).g().h())
 * are loops; only brackets, unary operators, ** and lambda nest, at most EXPR_DEPTH
 * deep. So later walks may recurse into everything but the first kid of a chain. */
#include "lang/parse_impl.h"
#include "type/word.h"

#include <math.h>
#include <string.h>

enum { RECURSION = 600 }; /* of parse_binary: brackets times precedence levels */
enum { PREC_COMPARE = 1, PREC_OR, PREC_XOR, PREC_AND, PREC_SHIFT, PREC_ADD, PREC_MUL };

static const Ast *parse_unary(Parser *p);
static const Ast *parse_bracketed(Parser *p);

/* ---- messages ---- */

/* Always NULL: `:=` stands where nothing can be named so. */
static const Ast *fail_binding(Parser *p, Span at) {
    if (p->lambdas)
        fail(p->s, at, E_SYNTAX,
             "`:=` and its name stand in brackets: `(name := expression)`");
    else
        fail(p->s, at, E_SYNTAX,
             "`:=` names a value inside a lambda: here write a line `name = "
             "expression`");
    return NULL;
}

/* Always NULL: reports that the next token is not `expected`. */
const Ast *parse_unexpected(Parser *p, const char *expected) {
    const Tok *t = p->tok;
    Span where = parser_next_span(p);
    if (t->kind == TOK_ERROR)
        fail(p->s, where, E_SYNTAX, "%s", t->text);
    else if (t->kind == TOK_KEYWORD)
        return parse_fail_keyword(p);
    else if (t->kind == TOK_END)
        fail(p->s, where, E_SYNTAX, "the text ends where %s is expected", expected);
    else if (t->kind == TOK_NEWLINE)
        fail(p->s, where, E_SYNTAX,
             "the line ends where %s is expected (inside brackets an expression may go "
             "on)",
             expected);
    else if (parser_sees(p, OP2(':', '=')))
        return fail_binding(p, where);
    else if (parser_sees(p, '='))
        fail(p->s, where, E_SYNTAX, "`=` only defines a name; to compare write `==`");
    else
        fail(p->s, where, E_SYNTAX, "`%.*s` where %s is expected",
             (int)(t->end - t->begin), p->base + t->begin, expected);
    return NULL;
}

/* Takes a closing bracket, or reports which opening one is unclosed. */
static bool close_bracket(Parser *p, const Tok *open, char bracket) {
    if (parser_take(p, (uint32_t)bracket)) return true;
    if (p->tok->kind == TOK_END)
        return fail(p->s, parser_span(p, open->begin, open->end), E_SYNTAX,
                    "`%s` is never closed", open->text);
    char expected[] = "`,` or `?`";
    expected[8] = bracket;
    parse_unexpected(p, expected);
    return false;
}

static bool enter_nesting(Parser *p) {
    if (++p->depth <= EXPR_DEPTH) return true;
    return fail(p->s, parser_next_span(p), E_LIMIT,
                "the expression is nested more than %d deep: give its parts names",
                EXPR_DEPTH);
}

/* ---- building ---- */

Ast *parse_new(Parser *p, AstKind kind, uint32_t begin, uint32_t end) {
    Ast *e = NEW(p->a, Ast);
    e->kind = kind;
    e->at = parser_span(p, begin, end);
    return e;
}
void parse_set_kids(Parser *p, Ast *e, size_t n, const Ast *const *kid) {
    e->nkid = (uint32_t)n;
    e->kid = n ? arena_copy(p->a, kid, n * sizeof(Ast *)) : NULL;
}
Ast *parse_new_tree(Parser *p, AstKind kind, uint32_t begin, size_t first) {
    Ast *e = parse_new(p, kind, begin, parser_last_end(p));
    parse_set_kids(p, e, p->kids.n - first, parse_kids_from(p, first));
    p->kids.n = first;
    return e;
}
static Ast *add_callee(Parser *p, Ast *e) {
    e->callee = NEW(p->a, Callee);
    return e;
}

/* ---- atoms ---- */

const Ast *parse_name(Parser *p) {
    const Tok *t = p->tok++;
    const char *word = sym_text(p->s, t->sym);
    Ast *e = parse_new(p, AST_NAME, t->begin, t->end);
    e->sym = t->sym;
    if (!word_is_literal(word, t->end - t->begin)) return e;
    e->sym = 0;
    e->kind = word[0] == 'N'                     ? AST_NONE
              : word[0] == 'T' || word[0] == 'F' ? AST_BOOL
                                                 : AST_FLOAT;
    if (e->kind == AST_FLOAT)
        e->v = word[0] == 'i' ? (double)INFINITY : word[0] == 'p' ? M_PI : (double)NAN;
    else
        e->u = word[0] == 'T';
    return e;
}

static const Ast *parse_number(Parser *p) {
    const Tok *t = p->tok++;
    Ast *e = parse_new(p,
                       t->kind == TOK_INT     ? AST_INT
                       : t->kind == TOK_FLOAT ? AST_FLOAT
                                              : AST_IMAG,
                       t->begin, t->end);
    if (t->kind == TOK_INT)
        e->u = t->u;
    else
        e->v = t->v;
    return e;
}

static const Ast *parse_string(Parser *p) {
    const Tok *t = p->tok++;
    if (p->tok->kind == TOK_STRING) {
        fail(p->s, parser_next_span(p), E_SYNTAX,
             "strings side by side are not joined: write one string");
        return NULL;
    }
    Ast *e = parse_new(p, AST_STRING, t->begin, t->end);
    e->sym = t->sym;
    return e;
}

/* (), (e), (e,), (e, e) */
static const Ast *parse_paren(Parser *p) {
    const Tok *open = p->tok++;
    size_t first = p->kids.n;
    bool comma = false;
    while (!parser_sees(p, ')')) {
        const Ast *e = parse_bracketed(p);
        if (!e) return NULL;
        vec_push(p->s, &p->kids, e);
        if (!parser_take(p, ',')) break;
        comma = true;
    }
    if (!close_bracket(p, open, ')')) return NULL;
    if (p->kids.n != first + 1 || comma)
        return parse_new_tree(p, AST_TUPLE, open->begin, first);
    return p->kids.p[--p->kids.n];
}

static const Ast *parse_list(Parser *p) {
    const Tok *open = p->tok++;
    size_t first = p->kids.n;
    while (!parser_sees(p, ']')) {
        const Ast *e = parse_bracketed(p);
        if (!e) return NULL;
        vec_push(p->s, &p->kids, e);
        if (!parser_take(p, ',')) break;
    }
    return close_bracket(p, open, ']') ? parse_new_tree(p, AST_LIST, open->begin, first)
                                       : NULL;
}

static const Ast *parse_entry(Parser *p) {
    if (p->tok->kind != TOK_STRING) return parse_unexpected(p, "a key such as 'name'");
    const Tok *key = p->tok++;
    if (!parser_take(p, ':')) return parse_unexpected(p, "`:` and a value");
    const Ast *value = parse_expr(p);
    if (!value) return NULL;
    Ast *e = parse_new(p, AST_KEYWORD, key->begin, key->end);
    e->sym = key->sym;
    parse_set_kids(p, e, 1, &value);
    return e;
}

bool parse_no_duplicates(Parser *p, size_t n, const Ast *const *kid, const char *what) {
    if (n < 2) return true;
    Map seen = MAP(p->s);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        if (!kid[i]->sym || (kid[i]->kind != AST_KEYWORD && kid[i]->kind != AST_NAME))
            continue;
        if (map_get(&seen, kid[i]->sym, NULL))
            ok = fail(p->s, kid[i]->at, E_DUPLICATE, "%s `%s` occurs twice", what,
                      sym_text(p->s, kid[i]->sym));
        map_put(&seen, kid[i]->sym, 1);
    }
    map_free(&seen);
    return ok;
}

static const Ast *parse_dict(Parser *p) {
    const Tok *open = p->tok++;
    size_t first = p->kids.n;
    while (!parser_sees(p, '}')) {
        const Ast *e = parse_entry(p);
        if (!e) return NULL;
        vec_push(p->s, &p->kids, e);
        if (!parser_take(p, ',')) break;
    }
    if (!close_bracket(p, open, '}') ||
        !parse_no_duplicates(p, p->kids.n - first, parse_kids_from(p, first),
                             "the key"))
        return NULL;
    return parse_new_tree(p, AST_DICT, open->begin, first);
}

static const Ast *parse_atom(Parser *p) {
    const Tok *t = p->tok;
    if (t->kind == TOK_NAME) return parse_name(p);
    if (t->kind == TOK_INT || t->kind == TOK_FLOAT || t->kind == TOK_IMAG)
        return parse_number(p);
    if (t->kind == TOK_STRING) return parse_string(p);
    if (parser_sees(p, OP3('.', '.', '.'))) {
        p->tok++;
        return parse_new(p, AST_ELLIPSIS, t->begin, t->end);
    }
    if (!parser_sees(p, '(') && !parser_sees(p, '[') && !parser_sees(p, '{'))
        return parse_unexpected(p, "an expression");
    if (!enter_nesting(p)) return NULL;
    const Ast *e = parser_sees(p, '(')   ? parse_paren(p)
                   : parser_sees(p, '[') ? parse_list(p)
                                         : parse_dict(p);
    p->depth--;
    return e;
}

/* ---- calls, indices ---- */

/* A name that isn't a literal: True, False and None are keywords in Python. */
static bool is_plain_name(Parser *p) {
    return p->tok->kind == TOK_NAME &&
           !word_is_literal(sym_text(p->s, p->tok->sym), p->tok->end - p->tok->begin);
}

static const Ast *parse_keyword(Parser *p) {
    const Tok *name = p->tok;
    bool nan =
        strcmp(sym_text(p->s, name->sym), "nan") == 0; /* of NumPy's nan_to_num */
    if (!nan && !is_plain_name(p))
        return parse_unexpected(p, "the name of an argument");
    p->tok += 2;
    const Ast *value = parse_expr(p);
    if (!value) return NULL;
    Ast *e = parse_new(p, AST_KEYWORD, name->begin, name->end);
    e->sym = name->sym;
    parse_set_kids(p, e, 1, &value);
    return e;
}

static const Ast *parse_stars(Parser *p) {
    uint32_t begin = p->tok++->begin;
    if (!is_plain_name(p)) return parse_unexpected(p, "a name");
    Ast *e = parse_new(p, AST_STARS, begin, p->tok->end);
    e->sym = p->tok++->sym;
    return e;
}

static const Ast *parse_argument(Parser *p, bool *keywords) {
    const Tok *t = p->tok;
    bool keyword = t->kind == TOK_NAME && t[1].kind == TOK_OP && t[1].code == '=';
    if (keyword || parser_sees(p, OP2('*', '*'))) {
        *keywords = true;
        return keyword ? parse_keyword(p) : parse_stars(p);
    }
    if (t->kind == TOK_KEYWORD && t[1].kind == TOK_OP && t[1].code == '=')
        return parse_fail_keyword(p);
    const Ast *e = parse_bracketed(p);
    if (e && *keywords) {
        fail(p->s, e->at, E_SYNTAX,
             "an argument without a name comes after one with a name");
        return NULL;
    }
    return e;
}

/* Pushes the arguments after `(` onto the stack of kids. */
static bool parse_arguments(Parser *p) {
    const Tok *open = p->tok++;
    bool keywords = false;
    size_t first = p->kids.n;
    while (!parser_sees(p, ')')) {
        const Ast *e = parse_argument(p, &keywords);
        if (!e) return false;
        vec_push(p->s, &p->kids, e);
        if (!parser_take(p, ',')) break;
    }
    if (!close_bracket(p, open, ')')) return false;
    if (!keywords) return true;
    while (first < p->kids.n && p->kids.p[first]->kind != AST_KEYWORD)
        first++;
    return parse_no_duplicates(p, p->kids.n - first, parse_kids_from(p, first),
                               "the argument");
}

/* One part of a slice; leaves *part NULL if absent. */
static bool parse_part(Parser *p, const Ast **part) {
    if (parser_sees(p, ':') || parser_sees(p, ',') || parser_sees(p, ']')) return true;
    return (*part = parse_expr(p)) != NULL;
}

static const Ast *parse_subscript(Parser *p) {
    uint32_t begin = p->tok->begin;
    const Ast *part[3] = {NULL, NULL, NULL};
    if (!parser_sees(p, ':')) {
        part[0] = parse_bracketed(p);
        if (!part[0] || !parser_sees(p, ':')) return part[0];
    }
    p->tok++;
    if (!parse_part(p, &part[1])) return NULL;
    if (parser_take(p, ':') && !parse_part(p, &part[2])) return NULL;
    Ast *e = parse_new(p, AST_SLICE, begin, parser_last_end(p));
    parse_set_kids(p, e, 3, part);
    return e;
}

static bool parse_index(Parser *p) {
    const Tok *open = p->tok++;
    if (parser_sees(p, ']')) return parse_unexpected(p, "an index") != NULL;
    while (!parser_sees(p, ']')) {
        const Ast *e = parse_subscript(p);
        if (!e) return false;
        vec_push(p->s, &p->kids, e);
        if (!parser_take(p, ',')) break;
    }
    return close_bracket(p, open, ']');
}

/* f(args): a call by name if f is one, else a call of an expression. */
static const Ast *parse_call(Parser *p, const Ast *f, uint32_t begin) {
    size_t first = p->kids.n;
    bool named = f->kind == AST_NAME && p->tok[-1].kind == TOK_NAME;
    if (!named) vec_push(p->s, &p->kids, f);
    if (f->kind != AST_NAME && f->kind != AST_LAMBDA && f->kind < AST_UNARY) {
        fail(p->s, f->at, E_SYNTAX, "this can't be called");
        return NULL;
    }
    if (!enter_nesting(p) || !parse_arguments(p)) return NULL;
    p->depth--;
    Ast *e = parse_new_tree(p, named ? AST_CALL : AST_APPLY, begin, first);
    e->sym = named ? f->sym : 0;
    return add_callee(p, e);
}

static const Ast *parse_attribute(Parser *p, const Ast *of, uint32_t begin) {
    p->tok++;
    if (of->kind == AST_NAME && p->tok->kind == TOK_NAME && !is_plain_name(p) &&
        word_is_module(sym_text(p->s, of->sym))) {
        fail(p->s, of->at, E_NAME,
             "names have no module in front: drop the prefix `%s.`: write %s",
             sym_text(p->s, of->sym), sym_text(p->s, p->tok->sym));
        return NULL;
    }
    if (!is_plain_name(p))
        return parse_unexpected(p, "the name of an attribute or method");
    Sym name = p->tok++->sym;
    size_t first = p->kids.n;
    vec_push(p->s, &p->kids, of);
    bool call = parser_sees(p, '(');
    if (call) {
        if (!enter_nesting(p) || !parse_arguments(p)) return NULL;
        p->depth--;
    }
    Ast *e = parse_new_tree(p, call ? AST_METHOD : AST_ATTR, begin, first);
    e->sym = name;
    return add_callee(p, e);
}

static const Ast *parse_postfix(Parser *p) {
    uint32_t begin = p->tok->begin;
    const Ast *e = parse_atom(p);
    while (e) {
        if (parser_sees(p, '(')) {
            e = parse_call(p, e, begin);
        } else if (parser_sees(p, '.')) {
            e = parse_attribute(p, e, begin);
        } else if (parser_sees(p, '[')) {
            size_t first = p->kids.n;
            vec_push(p->s, &p->kids, e);
            if (!enter_nesting(p) || !parse_index(p)) return NULL;
            p->depth--;
            e = parse_new_tree(p, AST_INDEX, begin, first);
        } else {
            break;
        }
    }
    return e;
}

/* ---- operators ---- */

static const Ast *new_operator(Parser *p, const Tok *op, uint32_t begin, const Ast *x,
                               const Ast *y) {
    const Ast *kid[2] = {x, y};
    Ast *e = parse_new(p, y ? AST_BINARY : AST_UNARY, begin, parser_last_end(p));
    e->op = op->text;
    parse_set_kids(p, e, y ? 2 : 1, kid);
    return e;
}

/* a ** b: the right side may have a sign; ** binds tighter than the left side's
 * sign. */
static const Ast *parse_power(Parser *p) {
    uint32_t begin = p->tok->begin;
    const Ast *e = parse_postfix(p);
    if (!e || !parser_sees(p, OP2('*', '*'))) return e;
    const Tok *op = p->tok++;
    if (!enter_nesting(p)) return NULL;
    const Ast *y = parse_unary(p);
    p->depth--;
    return y ? new_operator(p, op, begin, e, y) : NULL;
}

static const Ast *parse_unary(Parser *p) {
    const Tok *op = p->tok;
    if (!parser_sees(p, '-') && !parser_sees(p, '+') && !parser_sees(p, '~'))
        return parse_power(p);
    p->tok++;
    if (!enter_nesting(p)) return NULL;
    const Ast *e = parse_unary(p);
    p->depth--;
    return e ? new_operator(p, op, op->begin, e, NULL) : NULL;
}

static int token_precedence(const Tok *t) {
    if (t->kind != TOK_OP) return 0;
    switch (t->code) {
    case '<':
    case '>':
    case OP2('<', '='):
    case OP2('>', '='):
    case OP2('=', '='):
    case OP2('!', '='):
        return PREC_COMPARE;
    case '|':
        return PREC_OR;
    case '^':
        return PREC_XOR;
    case '&':
        return PREC_AND;
    case OP2('<', '<'):
    case OP2('>', '>'):
        return PREC_SHIFT;
    case '+':
    case '-':
        return PREC_ADD;
    case '*':
    case '/':
    case '%':
    case '@':
    case OP2('/', '/'):
        return PREC_MUL;
    default:
        return 0;
    }
}

/* Parses operators that bind at least as tightly as `least`. */
static const Ast *parse_binary(Parser *p, int least) {
    uint32_t begin = p->tok->begin;
    if (++p->recursion > RECURSION) {
        fail(p->s, parser_next_span(p), E_LIMIT,
             "the expression is nested too deep: give its parts names");
        return NULL;
    }
    const Ast *e = parse_unary(p);
    for (int prec; e && (prec = token_precedence(p->tok)) >= least;) {
        const Tok *op = p->tok++;
        const Ast *y = parse_binary(p, prec + 1);
        e = y ? new_operator(p, op, begin, e, y) : NULL;
    }
    p->recursion--;
    return e;
}

/* ---- conditions ---- */

/* The rest of a < b < c, from the second operator on. */
static const Ast *parse_chain(Parser *p, const Ast *e) {
    size_t first = p->kids.n;
    const Tok *op = NULL;
    const Ast *y = e->kid[1];
    Ast *link = parse_new(p, AST_LINK, y->at.begin, y->at.end);
    link->op = e->op;
    vec_push(p->s, &p->kids, e->kid[0]);
    for (;;) {
        parse_set_kids(p, link, 1, &y);
        vec_push(p->s, &p->kids, link);
        if (token_precedence(p->tok) != PREC_COMPARE) break;
        op = p->tok++;
        if (!(y = parse_binary(p, PREC_OR))) return NULL;
        link = parse_new(p, AST_LINK, y->at.begin, y->at.end);
        link->op = op->text;
    }
    return parse_new_tree(p, AST_CHAIN, e->at.begin, first);
}

static const Ast *parse_comparison(Parser *p) {
    uint32_t begin = p->tok->begin;
    const Ast *e = parse_binary(p, PREC_OR);
    if (!e || token_precedence(p->tok) != PREC_COMPARE) return e;
    const Tok *op = p->tok++;
    const Ast *y = parse_binary(p, PREC_OR);
    if (!y) return NULL;
    e = new_operator(p, op, begin, e, y);
    return token_precedence(p->tok) == PREC_COMPARE ? parse_chain(p, e) : e;
}

static bool parser_sees_word(const Parser *p, const char *word) {
    return p->tok->kind == TOK_KEYWORD &&
           strcmp(sym_text(p->s, p->tok->sym), word) == 0;
}

static const Ast *parse_not(Parser *p) {
    const Tok *start = p->tok;
    if (!parser_sees_word(p, "not")) return parse_comparison(p);
    p->tok++;
    if (!enter_nesting(p)) return NULL;
    const Ast *x = parse_not(p);
    p->depth--;
    if (!x) return NULL;
    Ast *e = parse_new(p, AST_NOT, start->begin, parser_last_end(p));
    parse_set_kids(p, e, 1, &x);
    return e;
}

static const Ast *parse_logic(Parser *p, bool either);
static const Ast *parse_logic_operand(Parser *p, bool either) {
    return either ? parse_logic(p, false) : parse_not(p);
}

/* a and b and c, or an operand alone; `or` binds less tightly than `and`. */
static const Ast *parse_logic(Parser *p, bool either) {
    const char *word = either ? "or" : "and";
    uint32_t begin = p->tok->begin;
    const Ast *x = parse_logic_operand(p, either);
    if (!x || !parser_sees_word(p, word)) return x;
    size_t first = p->kids.n;
    vec_push(p->s, &p->kids, x);
    do {
        p->tok++;
        if (!(x = parse_logic_operand(p, either))) return NULL;
        vec_push(p->s, &p->kids, x);
    } while (parser_sees_word(p, word));
    Ast *e = parse_new_tree(p, AST_LOGIC, begin, first);
    e->op = word;
    return e;
}

/* a, or a if c else b */
static const Ast *parse_conditional(Parser *p) {
    uint32_t begin = p->tok->begin;
    const Ast *kid[3] = {NULL, parse_logic(p, true), NULL};
    if (!kid[1] || !parser_sees_word(p, "if")) return kid[1];
    p->tok++;
    if (!(kid[0] = parse_logic(p, true))) return NULL;
    if (!parser_sees_word(p, "else"))
        return parse_unexpected(p, "`else` of `a if condition else b`");
    p->tok++;
    if (!enter_nesting(p)) return NULL;
    kid[2] = parse_expr(p);
    p->depth--;
    if (!kid[2]) return NULL;
    Ast *e = parse_new(p, AST_IF, begin, parser_last_end(p));
    parse_set_kids(p, e, 3, kid);
    return e;
}

/* ---- lambda ---- */

/* name := expression, or an expression. */
static const Ast *parse_bracketed(Parser *p) {
    if (parser_sees(p, '*') && p->tok[1].kind == TOK_NAME) return parse_fail_star(p);
    const Tok *start = p->tok, *op = start + 1;
    if (start->kind != TOK_NAME || op->kind != TOK_OP || op->code != OP2(':', '='))
        return parse_expr(p);
    const Ast *name = parse_name(p);
    if (!p->lambdas) return fail_binding(p, parser_next_span(p));
    if (name->kind != AST_NAME) {
        fail(p->s, name->at, E_NAME, "`%.*s` is a literal: it can't be defined",
             (int)(name->at.end - name->at.begin), p->base + name->at.begin);
        return NULL;
    }
    p->tok++;
    vec_push(p->s, &p->locals, name->sym);
    const Ast *value = parse_expr(p);
    if (!value) return NULL;
    Ast *e = parse_new(p, AST_BIND, start->begin, parser_last_end(p));
    e->sym = name->sym;
    parse_set_kids(p, e, 1, &value);
    return e;
}

/* What := has named in the innermost lambda. */
static const AstLocals *take_locals(Parser *p) {
    size_t n = p->locals.n - p->first_local;
    if (n == 0) return NULL;
    AstLocals *l = NEW(p->a, AstLocals);
    l->n = n;
    l->sym = arena_copy(p->a, p->locals.p + p->first_local, n * sizeof *l->sym);
    p->locals.n = p->first_local;
    return l;
}

static const Ast *parse_lambda(Parser *p) {
    const Tok *start = p->tok++;
    size_t first = p->kids.n;
    while (!parser_sees(p, ':')) {
        if (p->tok->kind != TOK_NAME) {
            parse_unexpected(p, "the name of a parameter, or `:`");
            return NULL;
        }
        Span at = parser_next_span(p);
        const Ast *name = parse_name(p);
        vec_push(p->s, &p->kids, name);
        if (name->kind != AST_NAME) {
            fail(p->s, at, E_NAME, "a parameter can't have the name of a literal");
            return NULL;
        }
        if (!parser_take(p, ',')) break;
    }
    if (parser_sees(p, '='))
        fail(p->s, parser_next_span(p), E_SYNTAX,
             "a lambda's parameters have no defaults: every call gives all arguments");
    else if (!parser_sees(p, ':'))
        parse_unexpected(p, "`,` or `:`");
    if (!parser_take(p, ':') ||
        !parse_no_duplicates(p, p->kids.n - first, parse_kids_from(p, first),
                             "the parameter") ||
        !enter_nesting(p))
        return NULL;
    size_t outer = p->first_local;
    p->first_local = p->locals.n;
    p->lambdas++;
    const Ast *body = parse_expr(p);
    if (body && parser_sees(p, OP2(':', '=')))
        body = fail_binding(p, parser_next_span(p));
    p->depth--;
    p->lambdas--;
    if (!body) return NULL;
    vec_push(p->s, &p->kids, body);
    Ast *e = parse_new_tree(p, AST_LAMBDA, start->begin, first);
    e->local = take_locals(p);
    p->first_local = outer;
    return e;
}

const Ast *parse_expr(Parser *p) {
    return parser_sees_word(p, "lambda") ? parse_lambda(p) : parse_conditional(p);
}
