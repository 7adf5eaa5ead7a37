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

IoFormat io_format_of(const char *path, bool *zstd) {
    size_t n = strlen(path);
    bool packed = str_has_suffix(path, n, ".zst");
    if (zstd) *zstd = packed;
    if (packed) n -= 4;
    for (IoFormat f = IO_AUTO + 1; f < IO_FORMATS; f++)
        if (str_has_suffix(path, n, forms[f].suffixes)) return f;
    return IO_AUTO;
}

void io_suffixes(Str *out) {
    for (IoFormat f = IO_AUTO + 1; f < IO_FORMATS; f++)
        if (*forms[f].suffixes)
            str_printf(out, "%s%s", f > IO_AUTO + 1 ? " " : "", forms[f].suffixes);
}

bool io_is_label(const char *p, size_t n) {
    return n > 0 && str_is_plain(p, n);
}

bool io_is_builtin(Session *s, const char *name) {
    return op_find_firm(s, name, strlen(name)) || macro_find(name, strlen(name));
}
