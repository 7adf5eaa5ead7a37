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

bool io_is_label(const char *p, size_t n) {
    return n > 0 && str_is_plain(p, n);
}

bool io_is_builtin(Session *s, const char *name) {
    return op_find(s, name, strlen(name)) || macro_find(name, strlen(name));
}
