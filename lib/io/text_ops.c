#include "io/text_ops.h"

#include "io/io_impl.h"

#include <string.h>

/* Does the text define the op, in a line of its own below `ops:`? */
static bool defines(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n)
        if (p - text > 3 && memcmp(p - 3, "\n  ", 3) == 0 && p[n] == ':' &&
            p[n + 1] == '\n')
            return true;
    return false;
}

/* One op of a file; all if name is NULL. */
static void add_text_ops(Session *s, const TextOps *of, const char *name) {
    Arena *a = arena_new(s);
    const Doc *root =
        yaml_read(s, a, source_add(s, of->file, of->text, strlen(of->text)));
    if (!root || !doc_shipped_ops(s, of->file, root, name))
        bug("%s does not hold: %s", of->file,
            diag_count(s) ? diag_get(s, diag_count(s) - 1)->text : "");
    arena_free(a);
}

const Op *io_text_op(Session *s, const char *name) {
    for (size_t i = 0; text_ops[i].file; i++)
        if (!name || defines(text_ops[i].text, name)) {
            add_text_ops(s, &text_ops[i], name);
            if (name) return op_find(s, name, strlen(name));
        }
    return NULL;
}
