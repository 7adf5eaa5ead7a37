/* Formats by name and by suffix, and which texts are valid names and labels. */
#include "io/io_impl.h"
#include "lang/macro.h"

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

/* Sorted by length; for each length, the number of shorter words. */
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
/* A letter, digit or _: one bit per ASCII character. */
static bool is_word(char c) {
    static const uint64_t digits = UINT64_C(0x03FF000000000000),
                          letters = UINT64_C(0x07FFFFFE87FFFFFE);
    unsigned char k = (unsigned char)c;
    return k < 128 && ((k < 64 ? digits : letters) >> (k & 63) & 1);
}

bool io_is_identifier(const char *p, size_t n) {
    if (n == 0 || is_digit(p[0])) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_word(p[i])) return false;
    if (is_digit(p[n - 1]))
        return true; /* most names end here; no reserved word ends
                      * in a digit */
    for (size_t i = n > LONGEST ? 0 : shorter[n]; n <= LONGEST && i < shorter[n + 1];
         i++)
        if (reserved[i][0] == p[0] && memcmp(reserved[i], p, n) == 0) return false;
    return true;
}

bool io_is_label(const char *p, size_t n) {
    return n > 0 && str_is_plain(p, n);
}

bool io_is_builtin(Session *s, const char *name) {
    return op_find(s, name, strlen(name)) || macro_find(name, strlen(name));
}
