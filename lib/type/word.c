/* Which words are reserved, and what can be a name. */
#include "type/word.h"

#include "base/str.h"

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
