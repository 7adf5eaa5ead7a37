/* Batching: an Apply for many rows at once. Some of its inputs bring the rows along as
 * an extra leading dim; its outputs then have that dim as well, and row i of them is
 * what the op makes of row i of the inputs. An op's rule (Op.batch) adds the Applys
 * that do so; elementwise ops need none. */
#ifndef VMAP_KIT_H
#define VMAP_KIT_H

#include "op/build.h"

struct Batching {
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
    bool no_form;   /* the rule gave up: batch_refuse */
    Var *out_pattern; /* to fill for sparse outputs with rows; VAR_NONE at first */
};

/* ---- rules that several ops share ---- */
/* Elementwise: a row with fewer dims than another input's gets ones in front. */
bool batch_elementwise(Batching *q);
/* All tensor inputs have their rows (those without are stretched), and every axis of
 * the props is one further to the right; axes=None is every dim of a row. Inputs that
 * are ints must have no rows. */
bool batch_axes(Batching *q);
/* Input 0 passes through, whatever the others are. */
bool batch_first(Batching *q);
/* One row after the other. Always right, where rows give results of one shape; a
 * refusal where types tell that they may not. Outputs
 * whose out_rows the caller has made false are left to it. */
bool batch_loop(Batching *q);
/* The ops on sparse matrices, and on lists: by the op's name. */
bool batch_sparse(Batching *q);
bool batch_lists(Batching *q);

/* The op has no form for many rows at once. All there is between the rows and what is
 * asked for is then done row by row; the error stays if that can't be either. False. */
bool batch_refuse(Batching *q, const char *why);

/* ---- pieces ---- */
/* "NAME_row", and a number where that is taken. */
Sym batch_body_name(const Graph *g, const char *name);
/* A scan of `body`, whose inputs are a row of each seq[], then other[]; out[k] has the
 * rows of its output k. */
bool batch_scan(Builder *b, const Graph *body, Var size, size_t nseq, const Var *seq,
                size_t nother, const Var *other, Var *out);
int batch_ndim(const Batching *q, size_t i); /* dims of a row of input i */
/* in[i], whose rows get ones in front of their dims up to `ndim`; without rows in[i]
 * itself. */
Var batch_ranked(Batching *q, size_t i, int ndim);
/* in[i] with rows for certain: stretched without copying. */
Var batch_rows(Batching *q, size_t i);
/* Do all of the inputs from `first` on lack rows? */
bool batch_plain_from(const Batching *q, size_t first);
/* The op again, with other props and inputs. */
bool batch_apply(Batching *q, const Props *props, const Var *in);
/* The op's props with another value for one of them. */
const Props *batch_props(Batching *q, const char *name, Prop value);
/* Element k of an int64 vector: its constant or its size where the vector is made of
 * such. */
Var ints_item(Builder *b, Var ints, int64_t k);
/* The vector [size, ints[0], ...] of n + 1 elements. */
Var batch_shape(Batching *q, Var ints);
/* The shape of a row of input i, as an int64 vector. */
Var batch_row_shape(Batching *q, size_t i);
/* in[i] with rows and all their elements in one dim. */
Var batch_flat(Batching *q, size_t i);
/* x, [size, n], with each row in a shape. */
Var batch_unflat(Batching *q, Var x, Var shape);

#endif
