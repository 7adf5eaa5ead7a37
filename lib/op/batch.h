/* Batching: an Apply for many rows at once. Some of its inputs bring the rows along as
 * an extra leading dim; its outputs then have that dim as well, and row i of them is
 * what the op makes of row i of the inputs. An op's rule (Op.batch) adds the Applys
 * that do so; elementwise ops need none. */
#ifndef OP_BATCH_H
#define OP_BATCH_H

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
    Var size;         /* of that dim: int64, 0-d */
    Var *out;         /* to fill */
    bool *out_rows; /* true at first; false where an output is the same for all rows and
                       out[k] lacks the dim */
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
/* One row after the other. Always right, where rows give results of one shape. */
bool batch_loop(Batching *q);

/* ---- pieces ---- */
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
