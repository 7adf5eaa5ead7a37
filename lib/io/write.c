/* Writing a graph in any form: to a path, a Writer or memory. */
#include "io/io_impl.h"

#include <stdlib.h>
#include <string.h>

static IoFormat format_for(const char *path, const WriteOptions *o) {
    IoFormat f = o->format;
    if (f == IO_AUTO && path) f = io_format_of(path, NULL);
    return f == IO_AUTO ? IO_YAML : f;
}

static int level_for(const char *path, const WriteOptions *o) {
    bool zst = false;
    if (path) io_format_of(path, &zst);
    return o->zstd ? o->zstd : zst;
}

#define VIEW_WRITER(id, name, suffixes, writer) writer,
static ViewWriter *const view_writers[IO_FORMATS] = {NULL, IO_FORMS(VIEW_WRITER)};

static bool write_view(Graph *g, IoFormat f, Sink *k, const WriteOptions *o) {
    Str b = STR(g->s);
    bool ok = view_writers[f](g, o, &b);
    if (ok) sink_add(k, str_text(&b), b.n);
    str_free(&b);
    return ok;
}

static bool is_text_format(IoFormat f) {
    return f == IO_YAML || f == IO_JSON;
}

static bool write_as(Graph *g, IoFormat f, Refs *refs, Sink *k, const WriteOptions *o) {
    bool ok = f == IO_TLG         ? tlg_write(g, k, o)
              : f == IO_ONNX      ? onnx_write(g, k, o)
              : is_text_format(f) ? text_write(g, f, refs, k, o)
                                  : write_view(g, f, k, o);
    return sink_close(k) && ok;
}

/* Absolute names without links. */
static void find_beside(Arena *a, const Writer *w, WriteOptions *o) {
    const char *target = w && o->by_reference && !o->pack ? writer_target(w) : NULL;
    if (!target) return;
    char *folder = realpath(refs_folder_of(a, target), NULL),
         *there = realpath(target, NULL);
    if (folder) o->beside = arena_str(a, folder, strlen(folder));
    if (there) o->replaced = arena_str(a, there, strlen(there));
    free(folder);
    free(there);
}

/* Writes through a sink, into memory without w; the files next to a text are written
 * once it is complete. */
static bool write_through(Graph *g, const char *path, Writer *w, Sink *k,
                          const WriteOptions *o) {
    IoFormat f = format_for(path, o);
    WriteOptions how = *o;
    if (!is_text_format(f)) how.pack = true;
    Refs refs;
    bool opened = refs_open(&refs, g->s, path, w, &how);
    how = *o;
    if (opened) find_beside(refs.a, w, &how);
    bool ok = opened && write_as(g, f, &refs, k, &how);
    if (!opened) sink_close(k);
    if (w && refs.text) ok = ok && writer_seal(w) && refs_store(&refs);
    bool named = ok;
    if (w && ok)
        ok = writer_commit_named(w, &named);
    else if (w)
        writer_abort(w);
    refs_close(&refs, ok ? REFS_DONE : named ? REFS_LEAVE : REFS_UNDO);
    return ok;
}

bool io_write(Graph *g, const char *path, const WriteOptions *o) {
    static const WriteOptions standard;
    if (!o) o = &standard;
    graph_forget_trees(g);
    Writer *w = writer_open(g->s, path);
    if (!w) return false;
    if (o->durable) writer_make_durable(w);
    Sink k = sink_open(g->s, w, NULL, level_for(path, o));
    return write_through(g, path, w, &k, o);
}

bool io_text(Graph *g, const WriteOptions *o, Str *out) {
    static const WriteOptions standard;
    if (!o) o = &standard;
    graph_forget_trees(g);
    Sink k = sink_open(g->s, NULL, out, level_for(NULL, o));
    return write_through(g, NULL, NULL, &k, o);
}
