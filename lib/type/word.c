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

/* ascii_is_word of 8 bytes at once. Without their highest bits, adding to all of them
 * carries from none to the next. */
static bool are_word_bytes(uint64_t x) {
    const uint64_t each = UINT64_C(0x0101010101010101), high = 0x80 * each;
    uint64_t low = x | 0x20 * each;
    uint64_t digit = (x + (0x80 - '0') * each) & ~(x + (0x7F - '9') * each),
             letter = (low + (0x80 - 'a') * each) & ~(low + (0x7F - 'z') * each),
             other = (x ^ '_' * each) + 0x7F * each;
    return !(x & high) && ((digit | letter | ~other) & high) == high;
}

static uint64_t eight_bytes(const char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The last bytes are looked at with some of those before them. */
static bool are_word_chars(const char *p, size_t n) {
    uint32_t first, last;
    if (n < sizeof first) {
        for (size_t i = 0; i < n; i++)
            if (!ascii_is_word(p[i])) return false;
        return true;
    }
    if (n < 2 * sizeof first) {
        memcpy(&first, p, sizeof first);
        memcpy(&last, p + n - sizeof last, sizeof last);
        return are_word_bytes((uint64_t)first << 32 | last);
    }
    for (size_t i = 0; i + 8 <= n; i += 8)
        if (!are_word_bytes(eight_bytes(p + i))) return false;
    return are_word_bytes(eight_bytes(p + n - 8));
}

bool word_is_name(const char *p, size_t n) {
    if (n == 0 || ascii_is_digit(p[0]) || !are_word_chars(p, n)) return false;
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
