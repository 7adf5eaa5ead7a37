/* Text to tokens. They are a subset of Python's: what Python rejects is rejected here,
 * too. Invalid text ends the list as a TOK_ERROR with a message, so that an earlier
 * error of the parser is reported first. */
#include "lang/lex.h"

#include "type/word.h"

#include <string.h>

static inline char char_at(const Lexer *l, size_t i) {
    return (size_t)(l->end - l->p) > i ? l->p[i] : '\0';
}

static Tok *push_token(Lexer *l, TokKind kind, const char *begin) {
    vec_reserve(l->s, &l->toks, 1);
    Tok *t = &l->toks.p[l->toks.n++];
    t->kind = kind;
    t->begin = (uint32_t)(begin - l->base);
    t->end = (uint32_t)(l->p - l->base);
    return t;
}

/* Always false: ends the list of tokens. */
static bool refuse_token(Lexer *l, const char *begin, const char *message) {
    push_token(l, TOK_ERROR, begin)->text = message;
    return false;
}

/* Digits with single `_` between them, of which the first is none; false on a misplaced
 * one. */
static bool skip_digits(Lexer *l) {
    while (ascii_is_digit(char_at(l, 0)) || char_at(l, 0) == '_') {
        if (char_at(l, 0) == '_' && !ascii_is_digit(char_at(l, 1))) return false;
        l->p++;
    }
    return true;
}

double lex_float(const char *p, size_t n, FloatWidth w) {
    char buf[512];
    double v = 0;
    if (n < sizeof buf && memchr(p, '_', n)) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (p[i] != '_') buf[m++] = p[i];
        num_read_float(buf, m, w, &v);
    } else {
        num_read_float(p, n, w, &v);
    }
    return v;
}

static bool refuse_number(Lexer *l, const char *begin) {
    while (ascii_is_word(char_at(l, 0)))
        l->p++;
    return refuse_token(
        l, begin,
        arena_printf(l->a, "`%.*s` is not a number", (int)(l->p - begin), begin));
}

/* Skips the text of a decimal number; *is_float if it has a point or an exponent.
 * False: malformed. */
static bool scan_number(Lexer *l, bool *is_float) {
    *is_float = false;
    if (!skip_digits(l)) return false;
    if (char_at(l, 0) == '.') {
        *is_float = true;
        l->p++;
        if (char_at(l, 0) == '_' || !skip_digits(l)) return false;
    }
    if ((char_at(l, 0) | 0x20) == 'e') {
        size_t sign = char_at(l, 1) == '-' || char_at(l, 1) == '+';
        if (!ascii_is_digit(char_at(l, 1 + sign))) return false;
        *is_float = true;
        l->p += 1 + sign;
        if (!skip_digits(l)) return false;
    }
    return true;
}

static bool lex_based_int(Lexer *l) {
    const char *begin = l->p;
    uint64_t u;
    bool overflow;
    size_t n = num_read_uint(begin, (size_t)(l->end - begin), &u, &overflow);
    l->p += n;
    if (n <= 2 || ascii_is_word(char_at(l, 0))) return refuse_number(l, begin);
    if (overflow) return refuse_token(l, begin, "the integer does not fit in 64 bits");
    push_token(l, TOK_INT, begin)->u = u;
    return true;
}

static bool lex_number(Lexer *l) {
    const char *begin = l->p;
    bool is_float, overflow;
    uint64_t u;
    if (l->p[0] == '0' && char_at(l, 1) && strchr("xXoObB", char_at(l, 1)))
        return lex_based_int(l);
    if (!scan_number(l, &is_float)) return refuse_number(l, begin);
    size_t n = (size_t)(l->p - begin);
    if (n >= 500 && memchr(begin, '_', n))
        return refuse_token(l, begin, "the number is too long");
    if ((char_at(l, 0) | 0x20) == 'j') {
        l->p++;
        if (ascii_is_word(char_at(l, 0))) return refuse_number(l, begin);
        push_token(l, TOK_IMAG, begin)->v = lex_float(begin, n, FLOAT64);
        return true;
    }
    if (ascii_is_word(char_at(l, 0))) return refuse_number(l, begin);
    if (is_float) {
        push_token(l, TOK_FLOAT, begin)->v = lex_float(begin, n, FLOAT64);
        return true;
    }
    if (begin[0] == '0' && n > 1)
        return refuse_token(l, begin,
                            "an integer has no leading zeros (write 0o17 for octal)");
    num_read_uint(begin, n, &u, &overflow);
    if (overflow) return refuse_token(l, begin, "the integer does not fit in 64 bits");
    push_token(l, TOK_INT, begin)->u = u;
    return true;
}

/* Reads an escape. Returns NULL, or why it is invalid. */
static const char *lex_escape(Lexer *l, Str *out) {
    const char *why = NULL;
    l->p += str_unescape(out, l->p, (size_t)(l->end - l->p), &why);
    return why;
}

static const char *lex_string_body(Lexer *l, char quote, Str *out) {
    while (l->p < l->end && *l->p != quote) {
        uint32_t cp;
        if (*l->p == '\n' || *l->p == '\r') break;
        if (*l->p == '\\') {
            const char *why = lex_escape(l, out);
            if (why) return why;
            continue;
        }
        size_t n = str_utf8_next(l->p, (size_t)(l->end - l->p), &cp);
        if (n == 0 || cp == 0)
            return "this byte can't be in a string: the text must be UTF-8";
        str_add(out, l->p, n);
        l->p += n;
    }
    return l->p < l->end && *l->p == quote ? NULL
                                           : "the string is not closed on its line";
}

static bool lex_string(Lexer *l) {
    const char *begin = l->p;
    char quote = *l->p++;
    if (char_at(l, 0) == quote && char_at(l, 1) == quote)
        return refuse_token(l, begin, "triple quotes are not part of the language");
    Str text = STR(l->s);
    const char *why = lex_string_body(l, quote, &text);
    if (!why) {
        l->p++;
        Sym y = sym_n(l->s, str_text(&text), text.n);
        push_token(l, TOK_STRING, begin)->sym = y;
    }
    str_free(&text);
    return why ? refuse_token(l, begin, why) : true;
}

static bool lex_word(Lexer *l) {
    const char *begin = l->p, *p = begin;
    while (p < l->end && ascii_is_word(*p))
        p++;
    l->p = p;
    if (char_at(l, 0) == '\'' || char_at(l, 0) == '"')
        return refuse_token(l, begin, "strings have no prefix: write 'text'");
    size_t n = (size_t)(l->p - begin);
    push_token(l, word_is_keyword(begin, n) ? TOK_KEYWORD : TOK_NAME, begin)->sym =
        sym_n(l->s, begin, n);
    return true;
}

static const char *const short_operator[128] = {
    ['+'] = "+", ['-'] = "-", ['*'] = "*", ['/'] = "/", ['%'] = "%", ['@'] = "@",
    ['&'] = "&", ['|'] = "|", ['^'] = "^", ['~'] = "~", ['<'] = "<", ['>'] = ">",
    ['='] = "=", ['('] = "(", [')'] = ")", ['['] = "[", [']'] = "]", ['{'] = "{",
    ['}'] = "}", [','] = ",", [':'] = ":", ['.'] = ".", ['?'] = "?"};
/* Two or three characters long. */
static const char *const long_operators[] = {
    "...", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", ":=", NULL};
typedef struct RefusedOperator {
    const char *text, *why;
} RefusedOperator;
static const RefusedOperator refused[] = {
    {"&&", "`&&` is not an operator: write `(a) & (b)`"},
    {"||", "`||` is not an operator: write `(a) | (b)`"},
    {"->", "`->` is not part of the language"},
    {"=>", "`=>` is not an operator: write `>=`, or `lambda x: ...` for a function"},
    {"<>", "`<>` is not an operator: write `a != b`"},
    {";", "`;` is not part of the language: write one statement a line"},
    {"\\", "`\\` does not continue a line: put the expression in brackets"},
    {NULL, NULL}};
/* Characters that people type or paste for others. */
static const struct {
    uint32_t cp;
    const char *instead;
} lookalike[] = {{0xd7, "*"},    {0xf7, "/"},   {0xb7, "*"},      {0x2212, "-"},
                 {0x2013, "-"},  {0x2014, "-"}, {0x2264, "<="},   {0x2265, ">="},
                 {0x2260, "!="}, {0x2018, "'"}, {0x2019, "'"},    {0x201c, "\""},
                 {0x201d, "\""}, {0x3c0, "pi"}, {0x221e, "inf"},  {0xb2, "** 2"},
                 {0xb3, "** 3"}, {0xac, "~"},   {0xa0, "a space"}};

static bool starts_with_text(const Lexer *l, const char *text) {
    if (l->p == l->end || *l->p != *text) return false;
    size_t n = strlen(text);
    return (size_t)(l->end - l->p) >= n && memcmp(l->p, text, n) == 0;
}

static bool refuse_character(Lexer *l) {
    const char *begin = l->p;
    uint32_t cp;
    size_t n = str_utf8_next(l->p, (size_t)(l->end - l->p), &cp);
    l->p += n ? n : 1;
    if (n == 0) return refuse_token(l, begin, "the text is not UTF-8");
    if (cp == '!')
        return refuse_token(l, begin,
                            "`!` is not an operator: write `~x`, or `a != b`");
    if (cp < 0x20 || cp == 0x7f)
        return refuse_token(
            l, begin, arena_printf(l->a, "control character U+%04X", (unsigned)cp));
    for (size_t i = 0; i < sizeof lookalike / sizeof *lookalike; i++)
        if (lookalike[i].cp == cp)
            return refuse_token(
                l, begin,
                arena_printf(l->a, "`%.*s` (U+%04X) is not ASCII: write %s", (int)n,
                             begin, (unsigned)cp, lookalike[i].instead));
    if (cp < 0x80)
        return refuse_token(
            l, begin, arena_printf(l->a, "`%c` is not part of the language", (char)cp));
    return refuse_token(l, begin,
                        arena_printf(l->a,
                                     "`%.*s` (U+%04X): names and operators are ASCII",
                                     (int)n, begin, (unsigned)cp));
}

static bool is_augmented(const char *op, char next, char after) {
    return next == '=' && after != '=' && strchr("+-*/%@&|^<>", op[0]) &&
           (op[1] == '\0' || op[1] == op[0]);
}

/* The longest operator at this point, or NULL. */
static const char *operator_here(const Lexer *l) {
    unsigned char c = (unsigned char)*l->p;
    char next = char_at(l, 1);
    bool may_be_long = next == '*' || next == '/' || next == '.' ||
                       (next >= '<' && next <= '>'); /* < = > */
    if (may_be_long)
        for (const char *const *op = long_operators; *op; op++)
            if (starts_with_text(l, *op)) return *op;
    return c < 128 ? short_operator[c] : NULL;
}

static bool lex_operator(Lexer *l) {
    const char *begin = l->p, *op = operator_here(l);
    char c = *begin;
    char next = char_at(l, 1);
    if (!op || next == '&' || next == '|' || next == '>' || next == '=')
        for (const RefusedOperator *r = refused; r->text; r++) {
            if (!starts_with_text(l, r->text)) continue;
            l->p += strlen(r->text);
            return refuse_token(l, begin, r->why);
        }
    if (!op) return refuse_character(l);
    size_t n = strlen(op);
    l->p += n;
    if (is_augmented(op, char_at(l, 0), char_at(l, 1))) {
        l->p++;
        return refuse_token(
            l, begin, "a name is defined once: write `y = x + 1` with a new name");
    }
    if (c == '(' || c == '[' || c == '{') l->depth++;
    if ((c == ')' || c == ']' || c == '}') && l->depth > 0) l->depth--;
    Tok *t = push_token(l, TOK_OP, begin);
    t->text = op;
    t->code = n == 1 ? (uint32_t)c : n == 2 ? OP2(c, op[1]) : OP3('.', '.', '.');
    return true;
}

/* Skips blanks, comments, and newlines inside brackets. False: a comment isn't valid
 * text. */
static bool skip_blank_text(Lexer *l) {
    for (; l->p < l->end; l->p++) {
        if (*l->p == ' ' || *l->p == '\t' || *l->p == '\f') continue;
        if ((*l->p == '\n' || *l->p == '\r') && l->depth > 0) continue;
        if (*l->p != '#') break;
        uint32_t cp;
        while (l->p < l->end && *l->p != '\n' && *l->p != '\r') {
            size_t n = str_utf8_next(l->p, (size_t)(l->end - l->p), &cp);
            if (n == 0 || cp == 0)
                return refuse_token(l, l->p, "the comment is not UTF-8 text");
            l->p += n;
        }
        l->p--;
    }
    return true;
}

static bool lex_token(Lexer *l) {
    char c = *l->p;
    if (c == '\n' || c == '\r') {
        const char *begin = l->p;
        l->p += c == '\r' && char_at(l, 1) == '\n' ? 2 : 1;
        push_token(l, TOK_NEWLINE, begin);
        return true;
    }
    if (ascii_is_letter(c)) return lex_word(l);
    if (ascii_is_digit(c) || (c == '.' && ascii_is_digit(char_at(l, 1))))
        return lex_number(l);
    if (c == '\'' || c == '"') return lex_string(l);
    return lex_operator(l);
}

Lexer lex_begin(Session *s, Arena *a, Span text) {
    const Source *src = source_get(s, text.source);
    if (!src || text.end > src->len || text.begin > text.end)
        bug("a span outside its source");
    Lexer l = {.s = s,
               .a = a,
               .source = text.source,
               .base = src->text,
               .p = src->text + text.begin,
               .end = src->text + text.end};
    size_t n = text.end - text.begin;
    vec_reserve(s, &l.toks, n < 128 ? n / 2 + 2 : 64); /* most texts have fewer */
    return l;
}

/* Reads one more token. False: it was the last. */
static bool lex_next(Lexer *l) {
    if (!skip_blank_text(l)) return false;
    if (l->p < l->end) return lex_token(l);
    push_token(l, TOK_END, l->p);
    return false;
}

const Tok *lex_line(Lexer *l) {
    l->toks.n = 0;
    while (lex_next(l)) {
        if (l->toks.p[l->toks.n - 1].kind != TOK_NEWLINE) continue;
        if (l->toks.n > 1) break;
        l->toks.n = 0; /* an empty line */
    }
    return l->toks.p;
}

const Tok *lex_all(Lexer *l) {
    while (lex_next(l))
        ;
    return l->toks.p;
}

void lex_end(Lexer *l) {
    vec_free(&l->toks);
}
