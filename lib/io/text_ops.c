#include "io/text_ops.h"

#include "base/embedded.h"
#include "io/io_impl.h"

#include <string.h>

/* Does the text define the op, in a line of its own below `ops:`? */
static bool text_defines(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if (p - text > 3 && memcmp(p - 3, "\n  ", 3) == 0 && p[n] == ':' &&
            p[n + 1] == '\n')
            return true;
    return false;
}

/* One op of a file; all if name is NULL. False: there is no memory for it. */
static bool add_text_ops(Session *s, const EmbeddedText *of, const char *name) {
    Arena *a = arena_new(s);
    size_t mark = diag_count(s);
    const Doc *root =
        yaml_read(s, a, source_add(s, of->file, of->text, strlen(of->text)));
    bool ok = root && doc_shipped_ops(s, of->file, root, name);
    arena_free(a);
    if (!ok && !diag_hit_limit(s, mark))
        bug("%s does not hold: %s", of->file, diag_get(s, mark)->text);
    return ok;
}

bool io_text_op(Session *s, const char *name, const Op **op) {
    *op = NULL;
    for (size_t i = 0; op_texts[i].file && !*op; i++) {
        if (name && !text_defines(op_texts[i].text, name)) continue;
        if (!add_text_ops(s, &op_texts[i], name)) return false;
        if (name) *op = op_find(s, name, strlen(name));
    }
    return true;
}
