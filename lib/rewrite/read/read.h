/* Reads, x[2:, i], axis by axis, and the ways they take through ops. */
#ifndef REWRITE_READ_READ_H
#define REWRITE_READ_READ_H

#include "op/index_text.h"
#include "rewrite/rewrite_impl.h"

typedef struct ReadItem {
    bool is_at; /* an integer, else a slice or an array */
    Var at;
    Var start, stop, step; /* VAR_NONE: left out */
    Var array; /* an index array or a mask of one dim, in a read that takes all of the
                  other axes; VAR_NONE: none */
} ReadItem;
typedef struct Read {
    Rewriter *r;
    ApplyId id; /* the Apply with the index */
    Var x;      /* its tensor */
    const Type *t;
    ApplyId of; /* what makes x; APPLY_NONE: it is a leaf */
    ReadItem item[MAX_NDIM];
    int nleft, nadd;        /* axes that the index leaves; None items */
    uint8_t add[ITEMS_MAX]; /* each None precedes this axis of those left */
} Read;
enum { READ_INPUTS = 16 }; /* most parts of an index */

/* ---- index.c ---- */
/* The index inputs begin at input `first`. False: there are arrays or masks other than
 * one of one dim. */
bool read_parse(Rewriter *r, ApplyId id, size_t first, Read *q);
/* y with an index for each of its n axes; y itself where that takes all. */
Var read_of(Rewriter *r, Var y, int n, const ReadItem *item);
/* A write like a, of y to that part of x. */
Var read_write_of(Rewriter *r, const Apply *a, Var x, Var y, int n,
                  const ReadItem *item);
/* With the None items of the read, for which the ways through an op need not care. */
Var read_add_dims(const Read *q, Var v);
extern const ReadItem read_all; /* : */
bool read_takes_all(const ReadItem *it);
/* The axis with an index array, or -1. */
int read_array_axis(const Read *q);
ReadItem read_item_at(Rewriter *r, int64_t i);
/* start:stop of a dim of this size. */
ReadItem read_item_slice(Rewriter *r, int64_t start, int64_t stop, int64_t size);
/* How many axes before `axis` are left after the read. */
int read_axes_before(const ReadItem *item, int axis);
/* Rows [from, to) of the axis as constants; a single one for an integer. False: not
 * known, or none. */
bool read_constant_rows(const Read *q, int axis, int64_t *from, int64_t *to);
/* Can the read of a tensor of type t not fail, whatever its named dims are? */
bool read_is_safe(const Read *q);
/* Has the dim this size, by its name or as a variable? */
bool read_is_dim(Rewriter *r, Var x, int axis, Var size);
/* Counts bounds from the end that are given by the size of x: x[:n - 1] is x[:-1]. */
bool read_count_from_end(Read *q);
/* As read_of, of what x is a part of, if it is: as merge-reads leaves it. */
Var read_of_part(Rewriter *r, Var x, int n, const ReadItem *item);
/* The item of x's axis that takes what `item` takes of what `inner` takes. */
bool read_merge_items(const Read *q, Dim size, const ReadItem *inner, ReadItem *item);
/* Input i of what is read. */
Var read_input(const Read *q, size_t i);

/* ---- through.c, reshape.c, slices.c, write.c, made.c: the read of what an op makes,
 * or VAR_NONE ---- */
typedef Var ReadWay(Read *q);
ReadWay read_elemwise, read_transpose, read_expanded, read_squeezed, read_concatenated,
    read_one_part, read_stacked, read_repeated, read_counting, read_softmax,
    read_reduced, read_product, read_read, read_written, read_reshaped, read_diagonal,
    read_eye;
/* The read of an operand that broadcasts to the result. */
Var read_operand(const Read *q, Var v);
/* Of set_subtensor by two index arrays, if that makes a diagonal matrix. */
Var read_diagonal_matrix(Read *q);
/* The same by index arrays or a mask, through an elementwise op. */
Var read_by_arrays(Rewriter *r, ApplyId id, ApplyId of);

#endif
