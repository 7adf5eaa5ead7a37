/* The parser and schemas/expression.ebnf agree: random sentences of the grammar, whole
 * and with tokens changed, are taken by the one exactly if they are sentences of the
 * other. The grammar is read as text; its characters are left to the lexer, so that
 * names, numbers and strings are single tokens here. */
#include "lang/lex.h"
#include "os/file.h"
#include "test.h"
#include "type/word.h"

#include <stdlib.h>

static Session *s;
static Arena *arena, *tmp; /* of the grammar; of one text */

/* ---- the grammar ---- */

typedef enum PartKind { TERM, RULE, SEQ, ALT, OPT, REP, WORDS } PartKind;
typedef struct Part {
    PartKind kind;
    Sym sym; /* of a term its text, of a rule its name */
    size_t n;
    struct Part **kid;
    int height; /* of its smallest derivation */
} Part;
typedef Vec(Part *) Parts;

enum { RULES = 64, TALL = 1000 };
static struct {
    Sym name;
    Part *body;
} rule[RULES];
static size_t nrule;
static const char *at; /* what is still to be read */

static void skip_space(void) {
    for (;; at++) {
        if (strncmp(at, "(*", 2) == 0)
            at = strstr(at, "*)") + 1;
        else if (!strchr(" \n", *at) || !*at)
            return;
    }
}

static bool take(char c) {
    skip_space();
    bool is = *at == c;
    at += is;
    return is;
}

static Part *new_part(PartKind kind, Sym name, Parts *kids) {
    Part *p = NEW(arena, Part);
    *p = (Part){.kind = kind, .sym = name, .height = TALL};
    if (!kids) return p;
    p->n = kids->n;
    p->kid = arena_copy(arena, kids->p, kids->n * sizeof *kids->p);
    vec_free(kids);
    return p;
}

static Part *read_choice(void);

static Part *read_enclosed(PartKind kind, char close) {
    Parts kid = {0};
    vec_push(s, &kid, read_choice());
    if (!take(close)) bug("expression.ebnf: no %c before %.20s", close, at);
    return new_part(kind, 0, &kid);
}

static Part *read_part(void) {
    if (take('[')) return read_enclosed(OPT, ']');
    if (take('{')) return read_enclosed(REP, '}');
    if (take('(')) return read_enclosed(SEQ, ')');
    char quote = *at;
    const char *begin = at;
    if (quote == '"' || quote == '\'' || quote == '?') {
        at = strchr(at + 1, quote) + 1;
        return new_part(quote == '?' ? WORDS : TERM,
                        sym_n(s, begin + 1, (size_t)(at - begin) - 2), NULL);
    }
    while (ascii_is_word(*at))
        at++;
    return new_part(RULE, sym_n(s, begin, (size_t)(at - begin)), NULL);
}

static Part *read_list(PartKind kind, char between, Part *(*read)(void)) {
    Parts kid = {0};
    do
        vec_push(s, &kid, read());
    while (take(between));
    return new_part(kind, 0, &kid);
}

static Part *read_sequence(void) {
    return read_list(SEQ, ',', read_part);
}

static Part *read_choice(void) {
    return read_list(ALT, '|', read_sequence);
}

static void read_grammar(const char *text) {
    at = text;
    for (skip_space(); *at; skip_space()) {
        rule[nrule].name = read_part()->sym;
        if (!take('=')) bug("expression.ebnf: no = before %.20s", at);
        rule[nrule++].body = read_choice();
        if (!take(';')) bug("expression.ebnf: no ; before %.20s", at);
    }
}

static size_t find_rule(Sym name) {
    for (size_t i = 0; i < nrule; i++)
        if (rule[i].name == name) return i;
    bug("expression.ebnf: there is no rule %s", sym_text(s, name));
}

/* ---- tokens ---- */

/* Rules of characters, which the lexer knows: what derivations write for them. */
static const struct {
    const char *rule, *some[6];
} classes[] = {{"name", {"a", "b", "f", "x", "y", "w"}},
               {"number", {"0", "1", "2.5", "3j", "0x1F", "1e3"}},
               {"integer", {"0", "1", "7", "2", "3", "4"}},
               {"string", {"'k'", "\"m\"", "''", "'k'", "'\\n'", "'k'"}},
               {"newline", {"\n", "\n", "\n", "\n", "\n", "\n"}}};
enum { CLASSES = sizeof classes / sizeof *classes };

static int class_of(Sym name) {
    for (int i = 0; i < CLASSES; i++)
        if (strcmp(sym_text(s, name), classes[i].rule) == 0) return i;
    return -1;
}

static bool token_is_of(const Tok *t, int class) {
    bool name = t->kind == TOK_NAME;
    const char *text = name ? sym_text(s, t->sym) : "";
    bool number = t->kind == TOK_INT || t->kind == TOK_FLOAT || t->kind == TOK_IMAG;
    return class == 0   ? name && !word_is_literal(text, strlen(text))
           : class == 1 ? number
           : class == 2 ? t->kind == TOK_INT
           : class == 3 ? t->kind == TOK_STRING
                        : t->kind == TOK_NEWLINE;
}

static bool token_is_term(const Tok *t, const char *text) {
    bool word = t->kind == TOK_NAME || t->kind == TOK_KEYWORD;
    return (t->kind == TOK_OP && strcmp(t->text, text) == 0) ||
           (word && strcmp(sym_text(s, t->sym), text) == 0);
}

/* ---- recognising ---- */

enum { TOKENS = 63 };
typedef uint64_t Ends; /* a bit for each place between tokens */
typedef struct Recogniser {
    const Tok *tok;
    size_t n;
    Ends memo[RULES][TOKENS + 1];
    bool known[RULES][TOKENS + 1];
} Recogniser;

static Ends ends_of(Recogniser *r, const Part *p, size_t from);

static Ends ends_from_all(Recogniser *r, const Part *p, Ends from) {
    Ends to = 0;
    for (size_t i = 0; i <= r->n; i++)
        if (from >> i & 1) to |= ends_of(r, p, i);
    return to;
}

static Ends ends_of_rule(Recogniser *r, const Part *p, size_t from) {
    int class = class_of(p->sym);
    if (class >= 0)
        return from < r->n && token_is_of(&r->tok[from], class) ? (Ends)2 << from : 0;
    size_t k = find_rule(p->sym);
    if (!r->known[k][from]) {
        r->memo[k][from] = ends_of(r, rule[k].body, from);
        r->known[k][from] = true;
    }
    return r->memo[k][from];
}

/* Where derivations of p that begin at `from` may end. */
static Ends ends_of(Recogniser *r, const Part *p, size_t from) {
    Ends to = (Ends)1 << from, more;
    switch (p->kind) {
    case TERM:
        return from < r->n && token_is_term(&r->tok[from], sym_text(s, p->sym))
                   ? (Ends)2 << from
                   : 0;
    case RULE:
        return ends_of_rule(r, p, from);
    case SEQ:
        for (size_t i = 0; i < p->n; i++)
            to = ends_from_all(r, p->kid[i], to);
        return to;
    case ALT:
        to = 0;
        for (size_t i = 0; i < p->n; i++)
            to |= ends_of(r, p->kid[i], from);
        return to;
    case OPT:
        return to | ends_of(r, p->kid[0], from);
    case REP:
        while ((more = to | ends_from_all(r, p->kid[0], to)) != to)
            to = more;
        return to;
    case WORDS:
        return 0;
    }
    return 0;
}

static bool is_sentence(const char *start, const Tok *tok, size_t n) {
    Recogniser *r = NEW(tmp, Recogniser);
    r->tok = tok;
    r->n = n;
    return ends_of(r, rule[find_rule(sym(s, start))].body, 0) >> n & 1;
}

/* ---- deriving ---- */

static uint64_t seed = 88172645463325252u;

static size_t roll(size_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed >> 33) % n;
}

static int measured_height(const Part *p) {
    int h = p->kind == ALT || p->kind == WORDS ? TALL : 0;
    if (p->kind == RULE)
        return class_of(p->sym) >= 0 ? 1 : rule[find_rule(p->sym)].body->height + 1;
    for (size_t i = 0; i < p->n && p->kind != OPT && p->kind != REP; i++) {
        int k = p->kid[i]->height;
        h = p->kind == ALT ? (k < h ? k : h) : (k > h ? k : h);
    }
    return h;
}

static bool measure(Part *p) {
    bool lower = false;
    for (size_t i = 0; i < p->n; i++)
        lower |= measure(p->kid[i]);
    int h = measured_height(p);
    lower |= h < p->height;
    p->height = h < p->height ? h : p->height;
    return lower;
}

static void measure_all(void) {
    for (bool lower = true; lower;) {
        lower = false;
        for (size_t i = 0; i < nrule; i++)
            lower |= measure(rule[i].body);
    }
}

/* Appends a random derivation, which turns small when `room` is used up. */
static void derive(const Part *p, int room, Str *out) {
    size_t k, times = room > 0 && roll(6) == 0;
    int class;
    switch (p->kind) {
    case TERM:
        str_printf(out, "%s ", sym_text(s, p->sym));
        return;
    case RULE:
        class = class_of(p->sym);
        if (class < 0)
            derive(rule[find_rule(p->sym)].body, room - 1, out);
        else
            str_printf(out, "%s ", classes[class].some[roll(6)]);
        return;
    case ALT:
        for (k = roll(p->n); p->kid[k]->height > (room > 0 ? TALL - 1 : p->height);)
            k = (k + 1) % p->n;
        derive(p->kid[k], room, out);
        return;
    case OPT:
    case REP:
        times += p->kind == REP && times && roll(2);
        for (size_t i = 0; i < times; i++)
            derive(p->kid[0], room, out);
        return;
    case SEQ:
    case WORDS:
        for (size_t i = 0; i < p->n; i++)
            derive(p->kid[i], room, out);
    }
}

/* Drops, doubles or replaces a word of the text, or puts another before it. */
static void change_word(Str *text) {
    static const char *const others[] = {
        "a",  "1",  "(",    ")",   "[",   "]", ",",      ":",   "=",
        ":=", "if", "else", "and", "or",  "<", "lambda", "**",  "not",
        ".",  "-",  "+",    "==",  "'k'", "{", "}",      "None"};
    char **word;
    Str out = STR(s);
    size_t n = str_split(tmp, text->p, ' ', &word), which = roll(n + 1), how = roll(4);
    for (size_t i = 0; i < n; i++) {
        const char *w = i == which && how == 0
                            ? others[roll(sizeof others / sizeof *others)]
                            : word[i];
        size_t times = i != which || how == 0 || how == 3 ? 1 : how == 1 ? 2 : 0;
        if (i == which && how == 3)
            str_printf(&out, "%s ", others[roll(sizeof others / sizeof *others)]);
        for (size_t k = 0; k < times; k++)
            str_printf(&out, "%s ", w);
    }
    str_free(text);
    *text = out;
}

/* ---- both ---- */

/* What the grammar says in words, if at all. */
static bool says_in_words(const char *message) {
    static const char *const said[] = {
        "`:=` names a value inside", "comes after one with a name", "occurs twice",
        "this can't be called", "is a literal: it can't be defined"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strstr(message, said[i])) return true;
    return false;
}

static size_t accepted, refused;

static void compare_text(const char *start, const char *text, bool block) {
    Span span = {source_add(s, "t", text, strlen(text)), 0, (uint32_t)strlen(text)};
    Lexer l = lex_begin(s, tmp, span);
    const Tok *tok = lex_all(&l);
    size_t n = 0, count;
    const Ast **st;
    while (tok[n].kind != TOK_END && tok[n].kind != TOK_ERROR)
        n++;
    bool is = tok[n].kind == TOK_END && n <= TOKENS && is_sentence(start, tok, n);
    bool fits = n <= TOKENS;
    lex_end(&l);
    if (!fits) return;
    bool parsed = block ? ast_parse_block(s, tmp, span, &st, &count)
                        : ast_parse(s, tmp, span) != NULL;
    const char *message = parsed ? "" : diag_first_error(s)->text;
    CHECK(parsed == is || says_in_words(message),
          "the grammar %s, the parser %s: %s (%s)", is ? "takes" : "refuses",
          parsed ? "takes" : "refuses", text, message);
    accepted += parsed;
    refused += !parsed;
    diag_clear(s);
}

/* Each form once: what the grammar leaves out, it can't derive. */
static void each_form(void) {
    static const char *const expressions[] = {
        "a < b <= c == d != e >= f > g",
        "not not a",
        "a or b and not c or d",
        "a if b else c if d else lambda: e",
        "lambda x, y,: (w := x) + y",
        "lambda: f(a, b := 1, k=(c := 2))",
        "lambda: x[a := 1, b:c:d, :, ..., None]",
        "lambda: [a := 1, (b := 2, c := 3), (d := 4,)]",
        "x[a if b else c:not d]",
        "{'k': a or b, \"m\": {}}",
        "-a ** -b @ c // d % +e / ~f",
        "a | b ^ c & d << e >> f - g",
        "(a,), (), [], [a,]",
        "f(a, b=c,)(d).e.f(**p)",
        "True + False - None * inf / nan + pi",
    };
    static const char *const blocks[] = {"a = b\n\nc, d = e, f\n", "a, b, c = d",
                                         "a: float64[n, 3, ?] = b\nb: int8",
                                         "a: = f(1)", "\n"};
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        compare_text("expression", expressions[i], false);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        compare_text("block", blocks[i], true);
    CHECK(refused == 1, "%zu refused", refused); /* the tuple without brackets */
}

/* Every other expression stands where := may. */
static void random_expressions(int many) {
    const Part *of[2] = {rule[find_rule(sym(s, "expression"))].body,
                         rule[find_rule(sym(s, "named"))].body};
    for (int i = 0; i < many && test_failed < 10; i++) {
        arena_reset(tmp);
        Str text = STR(s);
        if (i % 2) str_puts(&text, "lambda : ( ");
        derive(of[i % 2], 35, &text);
        if (i % 2) str_puts(&text, ") ");
        for (size_t k = roll(3); k > 0; k--)
            change_word(&text);
        if (text.n) compare_text("expression", text.p, false);
        str_free(&text);
    }
}

static void random_blocks(int many) {
    const Part *block = rule[find_rule(sym(s, "block"))].body;
    for (int i = 0; i < many && test_failed < 10; i++) {
        arena_reset(tmp);
        Str text = STR(s);
        derive(block, 35, &text);
        if (text.n) compare_text("block", text.p, true);
        str_free(&text);
    }
}

int main(void) {
    FileData file;
    s = session_new(NULL, NULL);
    arena = arena_new(s);
    tmp = arena_new(s);
    if (!file_read(s, "schemas/expression.ebnf", 1 << 20, &file)) return 1;
    read_grammar(arena_str(arena, (const char *)file.p, file.n));
    measure_all();
    each_form();
    random_expressions(6000);
    CHECK(accepted > 1000 && refused > 1000, "%zu accepted, %zu refused", accepted,
          refused);
    random_blocks(1000);
    file_close(&file);
    arena_free(arena);
    arena_free(tmp);
    session_free(s);
    return TEST_END("grammar");
}
