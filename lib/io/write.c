/* Writing a graph in any form: to a path, a Writer or memory. */
#include "io/io_impl.h"

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

static bool picture(Graph *g, IoFormat f, Sink *k, const WriteOptions *o) {
    Str b = STR(g->s);
    if (f == IO_DOT)
        dot_write(g, &b);
    else if (f == IO_TREE)
        tree_write(g, o, &b);
    else
        math_write(g, &b);
    sink_add(k, str_text(&b), b.n);
    str_free(&b);
    return true;
}

static bool write_as(Graph *g, IoFormat f, const char *path, Sink *k,
                     const WriteOptions *o) {
    bool ok = f == IO_TLG                    ? tlg_write(g, k, o)
              : f == IO_YAML || f == IO_JSON ? text_write(g, f, path, k, o)
                                             : picture(g, f, k, o);
    return sink_close(k) && ok;
}

bool io_write(Graph *g, const char *path, const WriteOptions *o) {
    static const WriteOptions standard;
    if (!o) o = &standard;
    graph_forget_trees(g);
    Writer *w = writer_open(g->s, path);
    if (!w) return false;
    Sink k = sink_open(g->s, w, NULL, level_for(path, o));
    if (write_as(g, format_for(path, o), path, &k, o)) return writer_commit(w);
    writer_abort(w);
    return false;
}

bool io_write_to(Graph *g, Writer *w, const WriteOptions *o) {
    static const WriteOptions standard;
    if (!o) o = &standard;
    graph_forget_trees(g);
    Sink k = sink_open(g->s, w, NULL, level_for(NULL, o));
    return write_as(g, format_for(NULL, o), NULL, &k, o);
}

bool io_text(Graph *g, const WriteOptions *o, Str *out) {
    static const WriteOptions standard;
    if (!o) o = &standard;
    graph_forget_trees(g);
    Sink k = sink_open(g->s, NULL, out, level_for(NULL, o));
    return write_as(g, format_for(NULL, o), NULL, &k, o);
}
