/* vmap of one Apply. Some inputs have an additional leading dim, the rows; the outputs
 * then have it too, and row i of an output is the op applied to row i of the inputs. An
 * op's rule (Op.vmap) adds the Applys that compute this; elementwise ops need none. */
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
    const Var *was;   /* the inputs in the graph: their types are those of one row */
    const Var *in;    /* their replacements */
    const bool *rows; /* does in[i] have the leading dim? true of at least one */
    /* For a sparse matrix with rows, in[i] holds the stored elements, [size, stored],
     * and pattern[i] is a matrix without rows that stores elements in the same
     * places. */
    const Var *pattern;
    Var size;         /* number of rows: int64, 0-d */
    Var *out;         /* filled by the rule */
    bool *out_rows;   /* initially true; the rule sets false for an output that is the
                         same for all rows: out[k] lacks the dim */
    bool no_form;     /* set by vmap_refuse */
    Var *out_pattern; /* filled by the rule for sparse outputs with rows; initially
                         VAR_NONE */
};

/* ---- rules shared by several ops ---- */
/* Elementwise ops: a row with fewer dims than another input's gets leading ones. */
bool vmap_elementwise(Vmap *q);
/* Ops with axes: every tensor input gets rows (by broadcasting), and every axis prop
 * moves one to the right; axes=None is every dim of a row. Inputs of ints must have no
 * rows, else a loop runs. */
bool vmap_axes(Vmap *q);
/* Ops that treat the rows along the first axis of their tensor inputs and of output 0
 * separately: the two axes become one for the op. Inputs of ints must have no rows,
 * else a loop runs. */
bool vmap_first_axis(Vmap *q);
/* Input 0 passes through, whatever the other inputs are. */
bool vmap_pass_first(Vmap *q);
/* One row at a time, in a loop. Always correct if all rows give results of one shape;
 * refuses if the types show that they may not. The caller sets out_rows to false for
 * outputs that it computes itself. */
bool vmap_by_scan(Vmap *q);
/* Sparse ops and list ops; they look up the rule by the op's name. */
bool vmap_sparse(Vmap *q);
bool vmap_lists(Vmap *q);

/* Reports that the op has no rule for these inputs; returns false. Everything between
 * the rows and the results is then computed in one loop, row by row; the error is
 * reported only if that fails too. */
bool vmap_refuse(Vmap *q, const char *why);

/* ---- building blocks ---- */
/* "NAME_row", with a number if that is taken. */
Sym vmap_body_name(const Graph *g, const char *name);
/* A scan of `body`, whose inputs are one row of each seq, then other; out[k] has
 * the rows of output k. */
bool vmap_scan(Builder *b, const Graph *body, Var size, VarList seq, VarList other,
               Var *out);
int vmap_ndim(const Vmap *q, size_t i); /* rank of one row of input i */
/* in[i], each row padded with leading ones up to rank `ndim`; in[i] itself if it has no
 * rows. */
Var vmap_pad_rank(Vmap *q, size_t i, int ndim);
/* x for each of `size` rows. */
Var vmap_broadcast(Builder *b, Var x, Var size);
/* in[i] with rows, by broadcasting (a view) if it has none. */
Var vmap_with_rows(Vmap *q, size_t i);
/* x with the axis `from` at the place `to`; x itself if it is there. */
Var vmap_move_axis(Builder *b, Var x, int64_t from, int64_t to);
/* Do all inputs from `first` on lack rows? */
bool vmap_is_plain_from(const Vmap *q, size_t first);
/* Applies the op to other props and inputs. */
bool vmap_apply(Vmap *q, const Props *props, const Var *in);
/* The op's props with one value replaced. */
const Props *vmap_replace_prop(Vmap *q, const char *name, Prop value);
/* Element k of an int64 vector, as directly as the graph shows it: a constant, an input
 * of stack, a size. */
Var vmap_ints_item(Builder *b, Var ints, int64_t k);
/* The vector [size, ints[0], ...] of n + 1 elements. */
Var vmap_prepend_size(Vmap *q, Var ints);
/* The shape of a row of input i, as an int64 vector. */
Var vmap_row_shape(Vmap *q, size_t i);
/* in[i] with rows, each flattened to one dim. */
Var vmap_flatten(Vmap *q, size_t i);
/* x, [size, n], with each row reshaped to `shape`. */
Var vmap_unflatten(Vmap *q, Var x, Var shape);

#endif
