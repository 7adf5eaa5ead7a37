/* Shared by the files of this folder. */
#ifndef PART_PART_IMPL_H
#define PART_PART_IMPL_H

#include "part/part.h"

/* What was found of a function for some kinds of inputs. */
typedef struct PartMemo {
    const Graph *fn;
    const Part *in, *out;
} PartMemo;
typedef struct PartWalk {
    Session *s;
    Arena *a;
    Vec(PartMemo) memo;
    int depth;
    bool failed; /* diagnosed */
} PartWalk;
/* One Apply: what its inputs are, and room for its outputs. */
typedef struct PartCall {
    PartWalk *w;
    const Graph *g;
    ApplyId id;
    const Apply *ap;
    const Var *in;
    const Part *x; /* by input */
    Part *out;
    const struct PartRow *row; /* of the op; NULL: it has none */
} PartCall;
/* Sets c->out. False: refused, an output is none of what merges. */
typedef bool PartRule(PartCall *c);
/* How an op treats the powers of n in its inputs. */
typedef enum PartPower {
    POWER_NONE,  /* there may be none */
    POWER_KEEPS, /* linear: the output has the first input's */
    POWER_SUM,   /* so does a sum: all inputs must have the same */
    POWER_TIMES, /* they add up */
    POWER_OVER,  /* that of the second is subtracted */
    POWER_UNDER, /* 1 / x */
    POWER_CHOICE /* one of the inputs after the first */
} PartPower;
typedef struct PartRow {
    const char *op;
    PartRule *rule;
    int arg;
    PartPower power;
} PartRow;
const PartRow *part_row(const Op *op);

PartRule part_elementwise, part_axes, part_reduce, part_matmul, part_transpose,
    part_expand_dims, part_squeeze, part_reshape, part_broadcast, part_fill, part_like,
    part_arange, part_shape, part_shape_i, part_stack, part_concatenate, part_split,
    part_subtensor, part_write, part_first_axis, part_weights_grad, part_matrices,
    part_diagonal, part_pass, part_ifelse, part_scan, part_call, part_pairs,
    part_search, part_along_first, part_draw, part_alike, part_specify, part_gemm;

/* What all outputs are. True. */
bool part_set(PartCall *c, Part p);
/* No output is anything: because of this Apply. False. */
bool part_refuse(PartCall *c, const char *said);
/* The Apply computes something else in each part, of which nothing is known. */
bool part_refuse_rows(PartCall *c);
static inline Part part_same(void) {
    return (Part){0};
}
static inline bool part_is_same(const Part *p) {
    return p->kind == PART_SAME && p->power == 0;
}
static inline bool part_is_count(const Part *p) {
    return p->kind == PART_SAME && p->power == 1 && p->each > 0;
}
/* Are inputs `from` and after the same in every part? */
bool part_same_from(const PartCall *c, size_t from);
static inline const Type *part_type(const PartCall *c, size_t i) {
    return var_type(c->g, c->in[i]);
}
static inline const Type *part_out_type(const PartCall *c, size_t k) {
    return var_type(c->g, c->ap->out + (Var)k);
}
const Prop *part_prop(const PartCall *c, const char *name);
/* The axis that the prop `name` gives of `ndim`, from 0 on; `none` if it is None. */
int part_axis_prop(const PartCall *c, const char *name, int ndim, int none);
/* An input counted from its last axis: 1 is the last. */
static inline int part_from_right(const PartCall *c, size_t i) {
    return part_type(c, i)->ndim - c->x[i].axis;
}
/* inner.c: the outputs of a function, by what its inputs are. NULL: it can't be said.
 */
const Part *part_function(PartWalk *w, const Graph *fn, const Part *in);

#endif
