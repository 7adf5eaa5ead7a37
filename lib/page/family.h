/* What the nodes of a picture belong to: which are details, which are derivatives, and
 * by which name each is known. Names that begin alike are families: a name is cut at _
 * . and /, so that enc_0_q is in enc_0, which is in enc. */
#ifndef PAGE_FAMILY_H
#define PAGE_FAMILY_H

#include "op/op.h"

/* What an Apply is for; families never mix these. */
typedef enum Purpose { FOR_RESULTS, FOR_GRADIENTS, FOR_UPDATES, PURPOSES } Purpose;
typedef struct Family {
    Sym name; /* 0: none is known */
    Purpose purpose;
} Family;

/* By Apply. A value without a name belongs to the first named one that needs it, a
 * derivative to the family of the Apply that it was derived from, and what only updates
 * need to the update of their variables. */
Family *family_of_applies(const Graph *g, Arena *a);
/* The end of the part of a name that begins at `from`: separators at the beginning or
 * at the end of a name, and repeated ones, belong to a part. */
size_t family_part_end(const char *name, size_t from);
bool apply_is_gradient(const Graph *g, ApplyId a);

/* By variable: constants, dims, and what is computed from these and from shapes alone,
 * unless an output or update shows it. */
uint8_t *family_details(const Graph *g, Arena *a);
/* What is read from outside is no detail, nor what it is a cast of. */
void family_show_through_casts(const Graph *g, Var v, uint8_t *hidden);

#endif
