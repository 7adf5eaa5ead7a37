/* Text for output: quoting, similar words, patterns, lists. */
#include "base/session_impl.h"

#include <string.h>

static bool is_utf8_tail(const char *p) {
    return ((unsigned char)*p & 0xC0U) == 0x80U;
}

size_t str_utf8_next(const char *p, size_t n, uint32_t *cp) {
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = (unsigned char)p[0];
    size_t len = c < 0x80   ? 1
                 : c < 0xC2 ? 0
                 : c < 0xE0 ? 2
                 : c < 0xF0 ? 3
                 : c < 0xF5 ? 4
                            : 0;
    if (len == 0 || len > n) return 0;
    uint32_t v = len == 1 ? c : c & (0x7FU >> len);
    for (size_t i = 1; i < len; i++) {
        if (!is_utf8_tail(p + i)) return 0;
        v = v << 6 | ((unsigned char)p[i] & 0x3FU);
    }
    if (v < least[len] || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) return 0;
    *cp = v;
    return len;
}

void str_put_utf8(Str *b, uint32_t cp) {
    static const unsigned char lead[4] = {0, 0xC0, 0xE0, 0xF0};
    unsigned more = cp < 0x80 ? 0 : cp < 0x800 ? 1 : cp < 0x10000 ? 2 : 3;
    str_putc(b, (char)(lead[more] | cp >> 6 * more));
    while (more-- > 0)
        str_putc(b, (char)(0x80 | (cp >> 6 * more & 0x3F)));
}

/* Characters that change how a terminal or an editor shows their surroundings. */
static bool is_deceptive(uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E ||
           c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

bool str_is_utf8(const char *p, size_t n) {
    uint32_t c;
    for (size_t i = 0, len; i < n; i += len)
        if (!(len = str_utf8_next(p + i, n - i, &c))) return false;
    return true;
}

bool str_is_plain(const char *p, size_t n) {
    uint32_t c;
    for (size_t i = 0, len; i < n; i += len)
        if (!(len = str_utf8_next(p + i, n - i, &c)) || is_deceptive(c)) return false;
    return true;
}

static void add_json_control(Str *b, uint32_t c) {
    static const char from[] = "\b\t\n\f\r", to[] = "btnfr";
    const char *at = c ? strchr(from, (int)c) : NULL;
    if (at)
        str_printf(b, "\\%c", to[at - from]);
    else
        str_printf(b, "\\u%04x", (unsigned)c);
}

/* How many bytes come first that JSON has as they are? Others may be so, too. */
static size_t count_verbatim(const char *p, size_t n) {
    size_t i = 0;
    while (i < n && p[i] >= ' ' && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

void str_json(Str *b, const char *p, size_t n) {
    str_putc(b, '"');
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = 0;
        len = count_verbatim(p + i, n - i);
        if (len > 0) {
            str_add(b, p + i, len);
            continue;
        }
        len = str_utf8_next(p + i, n - i, &c);
        if (len == 0) {
            str_puts(b, "\\ufffd"); /* JSON can't represent a stray byte */
            len = 1;
        } else if (is_deceptive(c)) {
            add_json_control(b, c);
        } else {
            if (c == '"' || c == '\\') str_putc(b, '\\');
            str_add(b, p + i, len);
        }
    }
    str_putc(b, '"');
}

void str_quote(Str *b, const char *text) {
    size_t n = strlen(text);
    str_putc(b, '\'');
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = 0;
        len = str_utf8_next(text + i, n - i, &c);
        if (len == 0) len = 1; /* a stray byte, unchanged */
        if (c == '\\' || c == '\'')
            str_printf(b, "\\%c", (int)c);
        else if (c == '\n' || c == '\t')
            str_puts(b, c == '\n' ? "\\n" : "\\t");
        else if (c && is_deceptive(c))
            str_printf(b, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
        else
            str_add(b, text + i, len);
    }
    str_putc(b, '\'');
}

size_t str_unescape(Str *b, const char *p, size_t n, const char **why) {
    static const char from[] = "\\'\"nt", to[] = "\\'\"\n\t";
    char c = n > 1 ? p[1] : 0;
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) return str_putc(b, to[simple - from]), 2;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
    if (!digits)
        return *why = "unknown escape in a string; the escapes are \\\\ \\' \\\" \\n "
                      "\\t \\xHH \\uHHHH",
               0;
    uint32_t cp = 0;
    for (size_t i = 2; i < 2 + digits; i++) {
        int h = i < n ? ascii_hex_digit(p[i]) : -1;
        if (h < 0)
            return *why = "the escape \\x takes 2 hexadecimal digits, \\u takes 4", 0;
        cp = cp << 4 | (uint32_t)h;
    }
    if (cp == 0 || (cp >= 0xd800 && cp < 0xe000))
        return *why = "this character can't be in a string", 0;
    str_put_utf8(b, cp);
    return 2 + digits;
}

void str_masked(Str *b, const char *p, size_t n) {
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = 0;
        len = str_utf8_next(p + i, n - i, &c);
        bool shown = len && !is_deceptive(c);
        if (len == 0) len = 1;
        if (shown)
            str_add(b, p + i, len);
        else
            str_putc(b, c == '\t' ? ' ' : '?');
    }
}

void str_visible(Str *b, const char *p, size_t n) {
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = 0;
        len = str_utf8_next(p + i, n - i, &c);
        if (len == 0) {
            str_printf(b, "\\x%02x", (unsigned)(unsigned char)p[i]);
            len = 1;
        } else if (c == '\n' || c == '\t' || c == '\r') {
            add_json_control(b, c);
        } else if (is_deceptive(c)) {
            str_printf(b, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
        } else {
            str_add(b, p + i, len);
        }
    }
}

/* ---- similar words ---- */

enum { WORD_MAX = 64 };

static int to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}
static int min_int(int a, int b) {
    return a < b ? a : b;
}

/* Swapped neighbours (tahn, tanh) and a letter once or twice (sinn, sin) are the
 * likelier slips. */
enum { EDIT = 2, SLIP = 1 };

static int cost_of_letter(const char *word, int i) {
    return i > 1 && to_lower(word[i - 1]) == to_lower(word[i - 2]) ? SLIP : EDIT;
}

/* What the insertions, deletions, changes and swaps of neighbours that turn a into b
 * cost, ignoring case. */
static int edit_distance(const char *a, int na, const char *b, int nb) {
    int row[3][WORD_MAX + 1]; /* rows i-2, i-1 and i, in turn */
    for (int j = 0; j <= nb; j++)
        row[0][j] = EDIT * j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = EDIT * i;
        for (int j = 1; j <= nb; j++) {
            int change = to_lower(a[i - 1]) != to_lower(b[j - 1]) ? EDIT : 0;
            now[j] = min_int(min_int(before[j] + cost_of_letter(a, i),
                                     now[j - 1] + cost_of_letter(b, j)),
                             before[j - 1] + change);
            if (i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                to_lower(a[i - 2]) == to_lower(b[j - 1]))
                now[j] = min_int(now[j], older[j - 2] + SLIP);
        }
    }
    return row[na % 3][nb];
}

const char *str_nearest(Session *s, const char *word, const char *const *of, size_t n) {
    (void)s;
    const char *best = NULL;
    size_t len = strlen(word);
    if (len == 0 || len > WORD_MAX) return NULL;
    int edits = len < 5 ? 1 : ((int)len + 1) / 3, limit = EDIT * edits;
    for (size_t i = 0; i < n; i++) {
        size_t m = of[i] ? strlen(of[i]) : 0;
        if (m == 0 || m > WORD_MAX || m > len + (size_t)edits ||
            len > m + (size_t)edits)
            continue;
        int d = edit_distance(word, (int)len, of[i], (int)m);
        if (d > limit || d >= EDIT * (int)(len < m ? m : len))
            continue; /* nothing in common */
        best = of[i];
        limit = d - 1; /* only a nearer one replaces it */
        if (d == 0) break;
    }
    return best;
}

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && ascii_is_blank(*p))
        p++;
    return p;
}

static const char *skip_comments(const char *p, const char *end) {
    while ((p = skip_blanks(p, end)) < end && strchr("#\r\n", *p)) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        p = line ? line + 1 : end;
    }
    return p;
}

bool str_begins_definition(const char *p, size_t n, const char *signs) {
    const char *end = p + n;
    p = skip_comments(p, end);
    if (p == end || !ascii_is_letter(*p)) return false;
    while (p < end && ascii_is_word(*p))
        p++;
    p = skip_blanks(p, end);
    return p < end && *p && strchr(signs, *p) && !(p + 1 < end && p[1] == '=');
}

bool str_glob(const char *pattern, const char *text) {
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) { /* let the last star match one more */
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* ---- lists ---- */

static const char *find_part_end(const char *p, char sep) {
    int depth = 0;
    for (; *p && !(*p == sep && depth == 0); p++) {
        if (strchr("([{", *p)) depth++;
        if (strchr(")]}", *p) && depth > 0) depth--;
    }
    return p;
}

size_t str_split(Arena *a, const char *text, char sep, char ***parts) {
    size_t n = 0, cap = 1;
    const char *p = text;
    for (const char *q = text; *q; q++)
        cap += *q == sep;
    *parts = NEW_N(a, cap, char *);
    while (ascii_is_blank(*p))
        p++;
    if (*p == '\0') return 0;
    for (;;) {
        const char *end = find_part_end(p, sep), *last = end;
        while (p < last && ascii_is_blank(*p))
            p++;
        while (last > p && ascii_is_blank(last[-1]))
            last--;
        (*parts)[n++] = arena_str(a, p, (size_t)(last - p));
        if (*end == '\0') return n;
        p = end + 1;
    }
}

bool str_has_suffix(const char *name, size_t n, const char *suffixes) {
    for (const char *p = suffixes; *p;) {
        size_t len = strcspn(p, " ");
        if (n > len && memcmp(name + n - len, p, len) == 0) return true;
        p += len + strspn(p + len, " ");
    }
    return false;
}

const char *str_suffix(const char *path) {
    const char *slash = strrchr(path, '/'), *part = slash ? slash + 1 : path;
    const char *dot = strrchr(part, '.');
    return dot && dot > part && dot[1] ? dot : "";
}
