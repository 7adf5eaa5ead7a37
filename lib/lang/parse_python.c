/* What is said of words and signs of Python that the language does not have. */
#include "lang/parse_impl.h"

#include <string.h>

static const char *keyword_advice(const char *word) {
    static const struct {
        const char *word, *advice;
    } advice[] = {{"and", "it stands between two expressions, as in `a and b`"},
                  {"or", "it stands between two expressions, as in `a or b`"},
                  {"not", "put it in brackets: (not a)"},
                  {"if", "write `a if condition else b`"},
                  {"else", "write `a if condition else b`"},
                  {"in", "write any(x == value), or isin(x, values)"},
                  {"import", "functions need none, and no module's name in front"},
                  {"return", "`outputs` has the names of the results"},
                  {"assert", "write y = assert_op(x, condition)"},
                  {"with", "write what is in it alone"},
                  {"is", "compare with `==`"},
                  {"for", "use scan or map for a loop"},
                  {"while", "use scan for a loop"},
                  {"def", "write `lambda x: ...`, or a function of the graph"},
                  {"lambda", "put it in brackets: (lambda x: ...)"}};
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (strcmp(advice[i].word, word) == 0) return advice[i].advice;
    return NULL;
}

const Ast *parse_fail_keyword(Parser *p) {
    const char *word = sym_text(p->s, p->tok->sym), *advice = keyword_advice(word);
    const Tok *next = p->tok + 1;
    if (strcmp(word, "not") == 0 && next->kind == TOK_KEYWORD &&
        strcmp(sym_text(p->s, next->sym), "in") == 0)
        advice = "write ~isin(x, values)";
    if (advice)
        fail(p->s, parser_next_span(p), E_SYNTAX, "`%s` is a Python keyword: %s", word,
             advice);
    else
        fail(p->s, parser_next_span(p), E_SYNTAX, "`%s` is a Python keyword", word);
    return NULL;
}

const Ast *parse_fail_star(Parser *p) {
    const char *name = sym_text(p->s, p->tok[1].sym);
    fail(p->s, parser_next_span(p), E_SYNTAX,
         "`*%s` can't stand for the elements of %s", name, name);
    note(p->s, NOWHERE,
         "write [a] + %s for a list, concatenate([[a], %s]) for a tensor, and %s[0], "
         "%s[1] for arguments",
         name, name, name, name);
    return NULL;
}
