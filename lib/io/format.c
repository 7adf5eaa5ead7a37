/* Forms by name and by suffix, and the texts that names and labels may be. */
#include "io/io_impl.h"
#include "op/macro.h"

#include <string.h>

static const char *const names[IO_FORMATS] = {"auto", "yaml", "json", "tlg",
                                              "dot",  "tree", "math"};

const char *io_format_name(IoFormat f) {
    return names[f];
}

static bool ends_with(const char *p, size_t n, const char *suffix) {
    size_t m = strlen(suffix);
    return n > m && memcmp(p + n - m, suffix, m) == 0;
}

IoFormat io_format_of(const char *path, bool *zstd) {
    size_t n = strlen(path);
    bool packed = ends_with(path, n, ".zst");
    if (zstd) *zstd = packed;
    if (packed) n -= 4;
    if (ends_with(path, n, ".yaml") || ends_with(path, n, ".yml")) return IO_YAML;
    if (ends_with(path, n, ".json")) return IO_JSON;
    if (ends_with(path, n, ".tlg")) return IO_TLG;
    if (ends_with(path, n, ".dot")) return IO_DOT;
    return IO_AUTO;
}

/* Sorted by length; at each length, how many words are shorter. */
static const char *const reserved[] = {
    "as",     "if",     "in",     "is",      "or",       "pi",      "and",    "def",
    "del",    "for",    "inf",    "nan",     "not",      "try",     "None",   "True",
    "elif",   "else",   "from",   "pass",    "with",     "False",   "async",  "await",
    "break",  "class",  "raise",  "while",   "yield",    "assert",  "except", "global",
    "import", "lambda", "return", "finally", "continue", "nonlocal"};
static const unsigned char shorter[] = {0, 0, 0, 6, 14, 21, 29, 35, 36, 38};
enum { LONGEST = sizeof shorter - 2 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
/* Of letters, digits and _: one bit for each ASCII character. */
static bool is_word(char c) {
    static const uint64_t digits = UINT64_C(0x03FF000000000000),
                          letters = UINT64_C(0x07FFFFFE87FFFFFE);
    unsigned char k = (unsigned char)c;
    return k < 128 && ((k < 64 ? digits : letters) >> (k & 63) & 1);
}

bool is_identifier(const char *p, size_t n) {
    if (n == 0 || is_digit(p[0])) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_word(p[i])) return false;
    if (is_digit(p[n - 1])) return true; /* most names; no reserved one */
    for (size_t i = n > LONGEST ? 0 : shorter[n]; n <= LONGEST && i < shorter[n + 1];
         i++)
        if (reserved[i][0] == p[0] && memcmp(reserved[i], p, n) == 0) return false;
    return true;
}

/* Length of the character at p; 0 if it is not UTF-8, a surrogate or a control
 * character. */
static size_t character(const unsigned char *p, size_t n) {
    if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7F;
    size_t k = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || k > n) return 0;
    for (size_t i = 1; i < k; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xED && p[1] > 0x9F;
    bool beyond = p[0] == 0xF4 && p[1] > 0x8F;
    bool control = p[0] == 0xC2 && p[1] < 0xA0;
    bool line = p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9);
    return overlong || surrogate || beyond || control || line ? 0 : k;
}

bool is_label(const char *p, size_t n) {
    const unsigned char *q = (const unsigned char *)p;
    for (size_t i = 0, k; i < n; i += k)
        if (!(k = character(q + i, n - i))) return false;
    return n > 0;
}

bool is_builtin(Session *s, const char *name) {
    return op_find(s, name, strlen(name)) || macro_find(name, strlen(name));
}
