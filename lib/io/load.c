/* load('F', 'key') in a text: arrays from files. A graph file can only name files below
 * its own folder. */
#include "io/io_impl.h"
#include "value/file/file.h"

#include <string.h>

typedef struct LoadContext {
    Session *s;
    const char *folder;
    const Refs *pending; /* NULL: none */
} LoadContext;

static bool load_any(void *ctx, const char *path, Selection *what, Value *out,
                     const char **ref) {
    const LoadContext *w = ctx;
    *ref = NULL;
    return value_read(w->s, path, what, out);
}

static bool load_below(void *ctx, const char *path, Selection *what, Value *out,
                       const char **ref) {
    const LoadContext *w = ctx;
    FileData d;
    *ref = path;
    size_t mark = diag_count(w->s);
    if (!file_read_below(w->s, w->folder, path, session_max_memory(w->s), &d)) {
        /* A file's error has no position of its own: note the line that loads it. */
        if (diag_count(w->s) > mark) note(w->s, what->at, "it is read by load() here");
        return false;
    }
    bool ok = value_read_mem(w->s, path, d.p, d.n, what, out);
    if (ok && !file_unchanged(&d)) {
        value_unref(out);
        ok = note(w->s, what->at, "it is read by load() here");
    }
    file_close(&d);
    return ok;
}

static bool load_refused(void *ctx, const char *path, Selection *what, Value *out,
                         const char **ref) {
    const LoadContext *w = ctx;
    (void)out;
    *ref = NULL;
    fail(w->s, what->at, E_VALUE,
         "load('%s') is refused: this graph has no folder to read from", path);
    return hint(w->s, HINT_PACK);
}

/* What is yet to be written is taken from memory. */
static bool load_pending(void *ctx, const char *path, Selection *what, Value *out,
                         const char **ref) {
    const LoadContext *w = ctx;
    for (size_t i = 0; i < w->pending->arrays.n; i++) {
        const RefArray *a = &w->pending->arrays.p[i];
        if (strcmp(a->rel, path) != 0) continue;
        *ref = NULL;
        *out = (Value){0};
        value_copy_view(out, a->value);
        return true;
    }
    return w->folder ? load_below(ctx, path, what, out, ref)
                     : load_refused(ctx, path, what, out, ref);
}

static void set_load(Compiler *c, LoadFn *load, const char *folder,
                     const Refs *pending) {
    Arena *a = compiler_arena(c);
    LoadContext *w = NEW(a, LoadContext);
    w->s = compiler_builder(c)->s;
    w->pending = pending;
    if (folder) w->folder = arena_str(a, folder, strlen(folder));
    compiler_set_load(c, load, w);
}

void io_allow_load(Compiler *c, const char *folder) {
    set_load(c, folder ? load_below : load_any, folder, NULL);
}

void doc_allow_load(Compiler *c, const char *folder, const Refs *pending) {
    LoadFn *load = pending ? load_pending : folder ? load_below : load_refused;
    set_load(c, load, folder, pending);
}
