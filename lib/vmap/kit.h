/* Batching: an Apply for many rows at once. Some of its inputs bring the rows along as
 * an extra leading dim; its outputs then have that dim as well, and row i of them is
 * what the op makes of row i of the inputs. An op's rule (Op.batch) adds the Applys
 * that do so; elementwise ops need none. */
#ifndef VMAP_KIT_H
#define VMAP_KIT_H

#include "op/build.h"

struct Vmap {
    Builder *b;
    const Graph *g;
    ApplyId id;
    const Op *op;
    const Props *props;
    size_t nin, nout;
    const Var *was;   /* the inputs as they are in the graph: types of one row */
    const Var *in;    /* what stands for them now */
    const bool *rows; /* in[i] has the leading dim; true of at least one */
    /* A sparse matrix with rows: in[i] is what each stores, [size, stored], and
     * pattern[i] a matrix without rows that stores at the same places. */
    const Var *pattern;
    Var size;       /* of that dim: int64, 0-d */
    Var *out;       /* to fill */
    bool *out_rows; /* true at first; false where an output is the same for all rows and
                       out[k] lacks the dim */
    bool no_form;   /* the rule gave up: vmap_refuse */
    Var *out_pattern; /* to fill for sparse outputs with rows; VAR_NONE at first */
};

/* ---- rules that several ops share ---- */
/* Elementwise: a row with fewer dims than another input's gets ones in front. */
bool vmap_elementwise(Vmap *q);
/* All tensor inputs have their rows (those without are stretched), and every axis of
 * the props is one further to the right; axes=None is every dim of a row. Inputs that
 * are ints must have no rows. */
bool vmap_axes(Vmap *q);
/* Input 0 passes through, whatever the others are. */
bool vmap_pass_first(Vmap *q);
/* One row after the other. Always right, where rows give results of one shape; a
 * refusal where types tell that they may not. Outputs
 * whose out_rows the caller has made false are left to it. */
bool vmap_by_scan(Vmap *q);
/* The ops on sparse matrices, and on lists: by the op's name. */
bool vmap_sparse(Vmap *q);
bool vmap_lists(Vmap *q);

/* The op has no form for many rows at once. All there is between the rows and what is
 * asked for is then done row by row; the error stays if that can't be either. False. */
bool vmap_refuse(Vmap *q, const char *why);

/* ---- pieces ---- */
/* "NAME_row", and a number where that is taken. */
Sym vmap_body_name(const Graph *g, const char *name);
/* A scan of `body`, whose inputs are a row of each seq[], then other[]; out[k] has the
 * rows of its output k. */
bool vmap_scan(Builder *b, const Graph *body, Var size, size_t nseq, const Var *seq,
               size_t nother, const Var *other, Var *out);
int vmap_ndim(const Vmap *q, size_t i); /* dims of a row of input i */
/* in[i], whose rows get ones in front of their dims up to `ndim`; without rows in[i]
 * itself. */
Var vmap_pad_rank(Vmap *q, size_t i, int ndim);
/* in[i] with rows for certain: stretched without copying. */
Var vmap_with_rows(Vmap *q, size_t i);
/* Do all of the inputs from `first` on lack rows? */
bool vmap_is_plain_from(const Vmap *q, size_t first);
/* The op again, with other props and inputs. */
bool vmap_apply(Vmap *q, const Props *props, const Var *in);
/* The op's props with another value for one of them. */
const Props *vmap_replace_prop(Vmap *q, const char *name, Prop value);
/* Element k of an int64 vector: its constant or its size where the vector is made of
 * such. */
Var vmap_ints_item(Builder *b, Var ints, int64_t k);
/* The vector [size, ints[0], ...] of n + 1 elements. */
Var vmap_prepend_size(Vmap *q, Var ints);
/* The shape of a row of input i, as an int64 vector. */
Var vmap_row_shape(Vmap *q, size_t i);
/* in[i] with rows and all their elements in one dim. */
Var vmap_flatten(Vmap *q, size_t i);
/* x, [size, n], with each row in a shape. */
Var vmap_unflatten(Vmap *q, Var x, Var shape);

#endif
