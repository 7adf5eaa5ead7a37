#include "io/text_ops.h"

#include "base/embedded.h"
#include "io/io_impl.h"

#include <string.h>

/* The lines of the op below `ops:`, with those below its name, and where the next op
 * begins; NULL: the text doesn't define it. */
static const char *find_definition(const char *text, const char *name,
                                   const char **end) {
    size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)); p += n) {
        if (p - text <= 3 || memcmp(p - 3, "\n  ", 3) != 0 || p[n] != ':' ||
            p[n + 1] != '\n')
            continue;
        const char *next = p + n;
        do
            next = strchr(next + 1, '\n');
        while (next && (next[1] == '\n' || strncmp(next + 1, "    ", 4) == 0));
        *end = next ? next + 1 : p + strlen(p);
        return p - 2;
    }
    return NULL;
}

/* Appends an op file with this op alone, on the lines that it is on in the file. */
static void put_single_op(const char *text, const char *from, const char *end,
                          Str *file) {
    int above = 0;
    for (const char *p = text; p < from; p++)
        above += *p == '\n';
    str_puts(file, "thunkline: 1\nops:\n");
    str_repeat(file, '\n', above - 2);
    str_add(file, from, (size_t)(end - from));
}

/* Adds the ops of an op file; only that of the name if there is one. False: there is no
 * memory for them. */
static bool add_text_ops(Session *s, const char *file, const char *text,
                         const char *name) {
    Arena *a = arena_new(s);
    size_t mark = diag_count(s);
    const Doc *root = yaml_read(s, a, source_add(s, file, text, strlen(text)));
    bool ok = root && doc_shipped_ops(s, file, root, name);
    arena_free(a);
    if (!ok && !diag_hit_limit(s, mark))
        bug("%s does not hold: %s", file, diag_get(s, mark)->text);
    return ok;
}

/* Adds the op of that name, if the file has it; else does nothing. */
static bool add_text_op(Session *s, const EmbeddedText *of, const char *name,
                        const Op **op) {
    const char *end, *from = find_definition(of->text, name, &end);
    if (!from) return true;
    Str file = STR(s);
    put_single_op(of->text, from, end, &file);
    bool ok = add_text_ops(s, of->file, str_text(&file), name);
    str_free(&file);
    if (ok) *op = op_find(s, name, strlen(name));
    return ok;
}

bool io_text_op(Session *s, const char *name, const Op **op) {
    const Op *have = name ? op_find(s, name, strlen(name)) : NULL;
    *op = have && have->yields ? have : NULL;
    for (const EmbeddedText *of = op_texts; of->file && !*op; of++) {
        bool ok = name ? add_text_op(s, of, name, op)
                       : add_text_ops(s, of->file, of->text, NULL);
        if (!ok) return false;
    }
    return true;
}
