/* Which words are reserved, what can be a name, and what others call things. */
#include "type/word.h"

#include <string.h>

/* Is it one of these words, separated by blanks? */
static bool is_in_words(const char *words, const char *p, size_t n) {
    for (size_t len; *words; words += len + (words[len] == ' ')) {
        len = strcspn(words, " ");
        if (len == n && memcmp(words, p, n) == 0) return true;
    }
    return false;
}

bool word_is_keyword(const char *p, size_t n) {
    static const char *const words[26] = {
        ['a' - 'a'] = "and as assert async await",
        ['b' - 'a'] = "break",
        ['c' - 'a'] = "class continue",
        ['d' - 'a'] = "def del",
        ['e' - 'a'] = "elif else except",
        ['f' - 'a'] = "finally for from",
        ['g' - 'a'] = "global",
        ['i' - 'a'] = "if import in is",
        ['l' - 'a'] = "lambda",
        ['n' - 'a'] = "nonlocal not",
        ['o' - 'a'] = "or",
        ['p' - 'a'] = "pass",
        ['r' - 'a'] = "raise return",
        ['t' - 'a'] = "try",
        ['w' - 'a'] = "while with",
        ['y' - 'a'] = "yield",
    };
    if (n < 2 || n > 8 || *p < 'a' || *p > 'z') return false;
    return words[*p - 'a'] && is_in_words(words[*p - 'a'], p, n);
}

bool word_is_literal(const char *p, size_t n) {
    return n >= 2 && n <= 5 && memchr("TFNinp", *p, 6) &&
           is_in_words("True False None inf nan pi", p, n);
}

bool word_is_name(const char *p, size_t n) {
    if (n == 0 || ascii_is_digit(p[0])) return false;
    for (size_t i = 0; i < n; i++)
        if (!ascii_is_word(p[i])) return false;
    /* most names end in a digit; no reserved one does */
    return ascii_is_digit(p[n - 1]) || !word_is_reserved(p, n);
}

/* ---- words of other systems ---- */

const char *word_synonym(WordKind kind, const char *theirs) {
    static const struct {
        WordKind kind;
        char theirs[32], ours[80];
    } table[] = {
#define SYNONYM(KIND, theirs, ours) {WORD_##KIND, theirs, ours},
#include "type/synonym.def"
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == kind && strcmp(table[i].theirs, theirs) == 0)
            return table[i].ours;
    return NULL;
}

bool word_is_module(const char *name) {
    static const char *const table[] = {
#define PREFIX(name) name,
#include "type/synonym.def"
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i], name) == 0) return true;
    return false;
}

static bool is_bare_word(const char *text) {
    while (ascii_is_word(*text))
        text++;
    return *text == '\0';
}

bool word_advise(Str *out, WordKind kind, const char *word, const char *const *of,
                 size_t n) {
    const char *ours = word_synonym(kind, word);
    const char *near = ours ? NULL : str_nearest(out->s, word, of, n);
    if (ours)
        str_printf(out, is_bare_word(ours) ? ": here it is `%s`" : ": write %s", ours);
    if (near) str_printf(out, ": did you mean `%s`?", near);
    return ours || near;
}
