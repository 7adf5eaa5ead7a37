/* The boxes of a graph, which open and close: the forward and the backward part,
 * branches of ifelse, names that begin alike, and runs of Applies where a box would
 * hold too many. */
#ifndef PAGE_BOXES_H
#define PAGE_BOXES_H

#include "page/family.h"

#define BOX_NONE UINT32_MAX
typedef enum BoxKind {
    BOX_ROOT,
    BOX_RESULTS,
    BOX_GRADIENTS,
    BOX_UPDATES,
    BOX_NAMES,
    BOX_PART,
    BOX_BRANCH
} BoxKind;
typedef struct Box {
    Sym title;
    BoxKind kind;
    uint32_t parent;                  /* BOX_NONE: the root */
    uint32_t applies, shared, leaves; /* that are shown, with those inside */
} Box;

/* What a view hides until it is asked for. */
enum {
    MARK_DETAIL = 1, /* constants, dims, arithmetic of shapes */
    MARK_CAST = 2,   /* what reads it is drawn as reading its input */
    MARK_EFFECT = 4,
    MARK_GRADIENT = 8,
    MARK_IDLE = 16, /* nothing needs it */
    MARK_WIDE = 32, /* it computes in float64 or complex128 */
    MARK_HIDDEN = MARK_DETAIL | MARK_CAST | MARK_IDLE
};

/* A child of a box. */
typedef enum ItemSort { ITEM_APPLY, ITEM_LEAF, ITEM_BOX } ItemSort;
typedef struct Item {
    ItemSort sort;
    uint32_t id;
} Item;

typedef struct Boxes {
    const Graph *g;
    uint8_t *apply_marks, *var_marks;
    uint32_t n;
    Box *box; /* 0 is the root */
    /* by box, its children in the order of the layout: item[first[b]] ..
     * item[first[b + 1]]; every Apply and every leaf is in one box */
    uint32_t *first;
    Item *item;
    uint32_t *apply_box, *leaf_box;
} Boxes;
/* all: nothing is idle. */
Boxes *boxes_new(const Graph *g, bool all, Arena *a);
bool box_shows(const Boxes *b, Item i); /* or is it hidden at first? */

#endif
