/* A graph as a page of HTML and as a picture. */
#include "page/page.h"

#include "io/io_impl.h"

bool svg_write(const Graph *g, const WriteOptions *o, Str *out) {
    return page_draw(g, o->depth, out);
}

bool page_write(const Graph *g, const WriteOptions *o, Str *out) {
    Page *p = page_new(g->s, "graph", g->name ? sym_text(g->s, g->name) : "graph");
    if (!o->no_provenance) page_steps(p, g);
    page_add_graph(p, g);
    page_put_graphs(p);
    page_put_open(p, "open", g);
    bool ok = page_finish(p, out);
    page_free(p);
    return ok;
}
