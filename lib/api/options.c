/* What callers hand over: structs that begin with their size, texts, words. */
#include "api/api_impl.h"

#include <string.h>

StructFit struct_take(void *own, size_t size, const void *given, size_t least) {
    size_t n = *(const size_t *)given;
    const unsigned char *p = given;
    memset(own, 0, size);
    if (n < least || n > 1 << 16) return STRUCT_SIZE;
    for (size_t i = size; i < n; i++)
        if (p[i]) return STRUCT_NEWER;
    memcpy(own, given, n < size ? n : size);
    return STRUCT_FITS;
}

static bool fail_size(Session *s, const char *what, size_t n) {
    return fail(s, NOWHERE, E_USAGE,
                "the first member of %s must be its size (.size = sizeof(%s)), not %zu",
                what, what, n);
}

bool api_take(Session *s, const char *what, void *own, size_t size, const void *given) {
    memset(own, 0, size);
    if (!given) return true;
    StructFit fit = struct_take(own, size, given, sizeof size);
    if (fit == STRUCT_SIZE) return fail_size(s, what, *(const size_t *)given);
    return fit == STRUCT_FITS || fail(s, NOWHERE, E_USAGE,
                                      "%s has members that thunkline " TL_VERSION
                                      " does not know: a newer version is needed",
                                      what);
}

bool api_give(Session *s, const char *what, const void *own, size_t size, void *to) {
    if (!api_given(s, what, to)) return false;
    size_t n = *(size_t *)to;
    if (n < sizeof n || n > 1 << 16) return fail_size(s, what, n);
    memset(to, 0, n);
    memcpy(to, own, n < size ? n : size);
    *(size_t *)to = n;
    return true;
}

bool api_given(Session *s, const char *what, const void *p) {
    return p || fail(s, NOWHERE, E_USAGE, "%s is NULL", what);
}

bool api_word(Session *s, const char *what, const char *words, const char *word,
              int *number) {
    *number = 0;
    if (!word) return true;
    for (const char *p = words; *p; p += *p == '|', ++*number) {
        size_t n = strcspn(p, "|");
        if (strlen(word) == n && memcmp(p, word, n) == 0) return true;
        p += n;
    }
    return fail(s, NOWHERE, E_USAGE, "%s is one of %s, not '%s'", what, words, word);
}

Span api_text(Session *s, const char *what, const char *text) {
    uint32_t n = (uint32_t)strlen(text);
    return (Span){source_add(s, what, text, n), 0, n};
}
