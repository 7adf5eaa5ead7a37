/* A page to look at: one HTML file without links, which holds graphs and what is known
 * of them as data, and the script that shows them. It knows graphs and how they are
 * drawn; costs, runs and rewrites come from the callers, who write sections of their
 * own. The layout of the picture is computed here (layout.c) and in the page's script
 * (layout.js) in the same way; svg.c draws it without a browser. */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "format/json.h"
#include "graph/graph.h"

/* The data (schemas/page.schema.json says what is in it): members are written to `w`
 * in any order. */
typedef struct Page {
    Session *s;
    Arena *a;
    JsonWriter w;
    Str json;
    const char *title;
    struct PageTables *tables;
} Page;
/* kind: "graph", "profile", "diff", "explain", "run". */
Page *page_new(Session *s, const char *kind, const char *title);
void page_free(Page *p); /* NULL is allowed */
/* The tools that made a graph. */
void page_steps(Page *p, const Graph *g);
/* Adds a main graph and its functions; returns the number of the main graph. What is
 * too large for a page is left out, and page_finish says so. */
uint32_t page_add_graph(Page *p, const Graph *main);
/* The same of a graph that grew while it was rewritten: any of its Applies may be
 * needed after some step; born: by Apply, the number of the step that it came with. */
void page_add_overlay(Page *p, const Graph *g, const uint32_t *born);
uint32_t page_graph_number(const Page *p, const Graph *g); /* UINT32_MAX: it has none */
/* Writes the graphs that were added, and what is open at first in the graph `main`;
 * `key`, for example "open", is that list's name. */
void page_put_graphs(Page *p);
void page_put_open(Page *p, const char *key, const Graph *main);
/* The whole file. False: it is too large to be of use; diagnosed. */
bool page_finish(Page *p, Str *out);

/* Texts are numbered, each once: the number of this one. */
uint32_t page_text(Page *p, Sym text);
uint32_t page_string(Page *p, const char *text);
/* Columns of numbers, as `key: "u16:BASE64"` in the narrowest form that holds them all;
 * nothing is written if all are zero. Without a key, it is an item of a list, and is
 * always written. */
void page_put_u32(Page *p, const char *key, size_t n, const uint32_t *v);
void page_put_f64(Page *p, const char *key, size_t n, const double *v);

/* A graph as its page shows it at first, or with `levels` > 0 all boxes that are at
 * most so deep, as SVG. False: it is too large; diagnosed. */
bool page_draw(const Graph *g, int levels, Str *out);

/* ---- names of ops ---- */
/* The folder in lib/ops that defines the op: "elemwise"; "other" for users' ops. */
Sym op_family(Session *s, const Op *op);
/* The fused function that an Apply calls; NULL: it calls none. */
const Graph *apply_fused_function(const Graph *g, ApplyId id);
/* "matmul", "fused(mul, add, tanh)", or what the op says of itself. */
Sym apply_label(const Graph *g, ApplyId id);

/* Each family has its colour in every picture; an unknown one counts as "other". */
enum { FAMILIES = 13 };
size_t family_number(const char *family);
const char *family_name(size_t number);
const char *family_colour(size_t number);

#endif
