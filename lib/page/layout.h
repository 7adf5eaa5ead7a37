/* A layered layout of one box: nodes in ranks from top to bottom, edges through the
 * ranks between, all by doubles that the page's script computes in the same way
 * (lib/page/layout.js). It knows no graphs. */
#ifndef PAGE_LAYOUT_H
#define PAGE_LAYOUT_H

#include "base/mem.h"

/* What leads from one node to others, along one line as far as it goes. */
typedef struct LayoutNet {
    uint32_t source;
    uint32_t ntarget, target; /* numbers of the targets begin at target[...] */
    double out;               /* where it leaves the source, from its centre */
} LayoutNet;
/* A line of a net to one of its targets: x, y, x, y, ... from the source to it. */
typedef struct LayoutLine {
    uint32_t net, target, npoint;
    double *point;
} LayoutLine;

typedef struct Layout {
    /* given: nodes in the order in which edges should lead: ports on the upper border,
     * items, ports on the lower one */
    uint32_t nin, nitem, nout;
    double *w, *h;
    uint32_t nnet, ntarget;
    LayoutNet *net;
    uint32_t *target;
    double *into; /* by target: where the line ends, from the node's centre */
    /* found: centres and upper ends of the nodes, and the size of it all */
    double *x, *y, width, height;
    LayoutLine *line; /* ntarget */
} Layout;
void page_layout_find(Session *s, Arena *a, Layout *l);

enum {
    LAYOUT_GAP_X = 16,     /* between neighbours */
    LAYOUT_GAP_DUMMY = 8,  /* between a line and its neighbours */
    LAYOUT_GAP_Y = 34,     /* between ranks */
    LAYOUT_GAP_ROW = 16,   /* between rows of what has no edges */
    LAYOUT_LONG = 24,      /* ranks: longer lines are straight */
    LAYOUT_ROW_WIDTH = 900 /* of what has no edges, at least */
};

#endif
