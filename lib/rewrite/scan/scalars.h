/* Vectors of a loop's body that become numbers: shared by what chooses them and what
 * builds the loop without them. */
#ifndef REWRITE_SCAN_SCALARS_H
#define REWRITE_SCAN_SCALARS_H

#include "rewrite/scan/pass.h"

enum { MOST_ELEMENTS = 16 };

typedef enum WayApart {
    APART_NEVER,
    APART_ELEMENTWISE,
    APART_SUM,
    APART_ARRANGED, /* outputs are elements of the first inputs; the rest is constant */
    APART_INCREASED, /* inc_subtensor */
    APART_FILLED,    /* zeros_like, ones_like */
    APART_BRANCHES   /* ifelse */
} WayApart;

typedef struct Apart {
    Scan *l;
    const Graph *fn;
    uint8_t *size;   /* by variable of the body: its elements; 0: never taken apart */
    uint32_t *set;   /* by variable: of its set, or itself */
    int64_t *gain;   /* by root of a set: of taking it apart, in operations */
    uint8_t *way;    /* by Apply: WayApart */
    Var *whole;      /* by variable: in the new body; VAR_NONE: not there so far */
    Var **part;      /* by variable: its elements there; NULL: none so far */
    size_t *results; /* by output of the loop: the first of its elements' in m->out */
    bool failed;     /* something could not be built, which is diagnosed */
} Apart;

/* Chooses what is taken apart: is there anything that is worth it? */
bool scalars_choose(Apart *x);
bool scalars_is_apart(Apart *x, Var v);
/* How many inputs have the elements of an op that arranges them. */
size_t scalars_arranged(const Graph *fn, const Apply *a);
bool scalars_sums_axis(const Graph *fn, const Apply *sum, int axis, int ndim);

#endif
