/* Formats by name and by suffix, and which texts are valid names and labels. */
#include "io/io_impl.h"
#include "lang/macro.h"

#include <string.h>

#define FORM_ROW(id, name, suffixes, writer) {name, suffixes},
static const struct {
    const char *name, *suffixes; /* separated by spaces */
} forms[IO_FORMATS] = {{"auto", ""}, IO_FORMS(FORM_ROW)};

const char *io_format_name(IoFormat f) {
    return forms[f].name;
}

static bool ends_with(const char *p, size_t n, const char *suffix, size_t nsuffix) {
    return n > nsuffix && memcmp(p + n - nsuffix, suffix, nsuffix) == 0;
}

IoFormat io_format_of(const char *path, bool *zstd) {
    size_t n = strlen(path);
    bool packed = ends_with(path, n, ".zst", 4);
    if (zstd) *zstd = packed;
    if (packed) n -= 4;
    for (IoFormat f = IO_AUTO + 1; f < IO_FORMATS; f++)
        for (const char *p = forms[f].suffixes; *p;) {
            size_t len = strcspn(p, " ");
            if (ends_with(path, n, p, len)) return f;
            p += len + strspn(p + len, " ");
        }
    return IO_AUTO;
}

bool io_is_label(const char *p, size_t n) {
    return n > 0 && str_is_plain(p, n);
}

bool io_is_builtin(Session *s, const char *name) {
    return op_find(s, name, strlen(name)) || macro_find(name, strlen(name));
}
