/* Values of few elements taken apart: each element becomes a variable of its own, and
 * what arranges elements (an index, a stack, a transpose) is gone. What arranges is run
 * once on the numbers of the elements, which tells where each comes from. A value may
 * have an axis of rows before its elements; then each element is a vector of the rows.
 * Those who take values apart choose which: bodies of loops (scan/scalars.c), and rows
 * of short vectors (rows.c). */
#ifndef REWRITE_APART_H
#define REWRITE_APART_H

#include "rewrite/rewrite_impl.h"

typedef enum WayApart {
    APART_NEVER,
    APART_ELEMENTWISE,
    APART_SUM,
    APART_KEPT,     /* the elements of the first input, in their order */
    APART_REPEATED, /* the first input's, broadcast */
    APART_ARRANGED, /* outputs are elements of the first inputs; the rest is constant */
    APART_INCREASED, /* inc_subtensor */
    APART_FILLED,    /* zeros_like, ones_like */
    APART_BRANCHES   /* ifelse */
} WayApart;

enum { ELEMENTS_MOST = 64 };

typedef struct Apart {
    Rewriter *r; /* evaluates what arranges elements */
    Arena *a;
    const Graph *fn; /* has the values */
    Builder *b;      /* builds what takes their place, in fn itself or another graph */
    int64_t most;    /* elements of a value */
    uint8_t *lead;   /* by variable: axes before those of its elements, 0 or 1 */
    uint8_t *size;   /* by variable: its elements; 0: never taken apart */
    uint32_t *set;   /* by variable: of its set, or itself */
    int64_t *gain;   /* by root of a set: of taking it apart, in operations */
    uint8_t *way;    /* by Apply: WayApart */
    Var *whole;      /* by variable: where it is built; VAR_NONE: not so far */
    Var **part;      /* by variable: its elements there; NULL: none so far */
    bool failed;     /* something could not be built, which is diagnosed */
} Apart;
void apart_new(Apart *x, Rewriter *r, Arena *a, const Graph *fn, Builder *b);

/* ---- choosing ---- */
/* Finds the ways, once lead and size are set, and joins what has elements together. */
void apart_find_ways(Apart *x);
void apart_join(Apart *x, Var v, Var w);
void apart_add_gain(Apart *x, Var v, int64_t gain);
bool apart_is_chosen(Apart *x, Var v); /* does its set gain? */
/* How many of the inputs have elements: the first ones. */
size_t apart_inputs(const Apart *x, ApplyId id);

/* ---- building ---- */
static inline int apart_ndim(const Apart *x, Var v) { /* of its elements */
    return var_type(x->fn, v)->ndim - x->lead[v];
}
int64_t apart_count(const Apart *x, Var v); /* its elements; -1: not known */
Var apart_built(Apart *x, Var v);           /* v; none is a failure */
Var *apart_room(Apart *x, size_t n);
/* Element k of a constant. */
Var apart_constant(Builder *b, const Tensor *c, size_t k);
/* Elements as one value: behind `lead` axes, the dims of t from `skip` on. */
Var apart_stack(Builder *b, const Type *t, int skip, int lead, const Var *el);
Var apart_whole(Apart *x, Var v);
const Var *apart_elements(Apart *x, Var v);
/* Is the Apply to be done in elements? */
bool apart_takes(Apart *x, ApplyId id);
/* Does it. False: it can't be, without a diagnostic unless x->failed. */
bool apart_apply(Apart *x, ApplyId id);

#endif
