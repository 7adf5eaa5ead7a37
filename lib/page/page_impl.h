/* Shared by the files of lib/page. */
#ifndef PAGE_PAGE_IMPL_H
#define PAGE_PAGE_IMPL_H

#include "page/boxes.h"
#include "page/page.h"

/* ---- data.c ---- */
typedef struct PageGraph {
    const Graph *g;
    Boxes *boxes;
    const uint32_t *born; /* NULL: it is no overlay */
} PageGraph;
typedef struct SourceLines { /* of the files of one name */
    Sym name;
    Map line; /* its number -> that of its text */
} SourceLines;
typedef struct PageTables {
    size_t applies; /* of all graphs, also where they are too many to be added */
    Vec(PageGraph) graph;
    Map graph_number;
    Vec(Sym) text;
    Map text_number;
    Vec(const Type *) type;
    Map type_number;
    Vec(const Op *) op;
    Map op_number;
    Vec(SourceLines) source;
    Map source_number;       /* by name */
    struct LineIndex *index; /* by number of the session's source */
    size_t nindex;
} PageTables;

/* False: a graph was too large to be added; diagnosed. */
bool page_has_room(Page *p);

/* ---- lines.c ---- */
/* The line that an Apply comes from: a number in the table of sources, and the line's;
 * 0 if there is none. */
uint32_t page_line(Page *p, const Graph *g, ApplyId id, uint32_t *source);
void page_put_sources(Page *p);
void page_free_lines(PageTables *t);

/* ---- html.c ---- */
/* The file around the data. */
void page_put_html(Page *p, Str *out);

/* ---- column.c ---- */
void page_base64(const void *p, size_t n, Str *out);
/* Escapes in JSON what could end a script of HTML. What could change how its
 * surroundings look has been escaped before. */
void page_escape_json(const char *p, size_t n, Str *out);

#endif
