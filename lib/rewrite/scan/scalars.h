/* Vectors of a loop's body that become numbers: shared by what chooses them and what
 * builds the loop without them. */
#ifndef REWRITE_SCAN_SCALARS_H
#define REWRITE_SCAN_SCALARS_H

#include "rewrite/apart.h"
#include "rewrite/scan/pass.h"

enum { LOOP_ELEMENTS = 16 }; /* at most, of a vector */

typedef struct LoopApart {
    Apart x; /* of the body */
    Scan *l;
    size_t *results; /* by output of the loop: the first of its elements' in l->m.out */
} LoopApart;

/* Chooses what is taken apart: is there anything that is worth it? */
bool scalars_choose(LoopApart *q);

#endif
