/* What a picture of a graph shows while some of its boxes are open: nodes, and wires
 * between them, with places. */
#ifndef PAGE_VIEW_H
#define PAGE_VIEW_H

#include "page/layout.h"
#include "page/page_impl.h"

#define VIEW_NONE UINT32_MAX
enum {
    VIEW_MAX = 60,  /* nodes, at first */
    LABEL_MAX = 28, /* characters of a line */
    VIEW_HEAD = 24, /* of an open box, above what is in it */
    VIEW_PAD = 12   /* on its other sides */
};

typedef struct ViewNode {
    uint32_t parent;    /* container */
    uint32_t container; /* that it is, while it is open; VIEW_NONE */
    uint32_t graph;     /* of the item; of a function, the function */
    Item item;
    bool function; /* one of several that an open call holds; item.id is its number */
    double x, y, w, h; /* the left upper corner */
    Str line[2];
} ViewNode;
/* An open box, call or function, or the whole. */
typedef struct Container {
    uint32_t node; /* VIEW_NONE: the whole */
    uint32_t graph, box, instance, depth;
    bool functions;    /* it holds several functions */
    uint32_t first, n; /* nodes */
    double x, y;       /* of what is in it */
    Layout layout;
} Container;
typedef struct View {
    Page *page;
    Session *s;
    Arena *a;
    Vec(ViewNode) node;
    Vec(Container) container; /* each before those in it */
    double width, height;
} View;

/* The view with which a page opens: at most VIEW_MAX nodes, or with `levels` > 0 all
 * boxes that are at most so deep. */
View *page_view_open(Page *p, uint32_t graph, int levels);
void page_view_free(View *v); /* NULL is allowed */
void page_view_places(View *v);
/* "a12/b3": the calls around a node, and itself. */
void page_view_path(const View *v, uint32_t node, Str *out);

#endif
