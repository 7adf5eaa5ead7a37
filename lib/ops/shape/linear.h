/* What the derivatives of structural ops have in common. */
#ifndef OPS_SHAPE_LINEAR_H
#define OPS_SHAPE_LINEAR_H

#include "op/build.h"
#include "op/infer.h"

/* Forward mode of an op that is linear in its first `linear` inputs together: itself on
 * their tangents (zeros for those that have none). */
bool push_linear(Push *p, size_t linear);
bool push_linear_first(Push *p); /* linear in input 0 */
bool push_linear_all(Push *p);
/* Forward mode of an op whose result carries no tangent. */
bool push_none(Push *p);
/* Whole-number outputs pass nothing back: zeros (in a float dtype) for each connected
 * input. True when that settled it. */
bool pull_discrete(Pull *p);
/* All inputs from `first` on are disconnected. */
void pull_disconnect(Pull *p, size_t first);
/* Zeros of v's shape in its float dtype. */
Var float_zeros(Builder *b, Var v);

/* The dim that a 0-d or one-element int input stands for; a negative constant is
 * unknown. */
Dim infer_length(const Infer *in, size_t arg);
/* The dims that an `ints` input asks for, in a tensor's shape. A negative constant is
 * an error unless `minus` is given: it then gets flags of the places where one stands.
 */
bool infer_want_shape(Infer *in, size_t arg, int *ndim, Dim dim[MAX_NDIM],
                      bool minus[MAX_NDIM]);
/* The same when running: `shape` is read from the input and checked. */
bool call_shape(Call *c, size_t arg, int *ndim, int64_t shape[MAX_NDIM]);
/* shape's elements; E_LIMIT diagnosed when there are too many to count in bytes. */
bool call_size_fits(Call *c, DType d, int ndim, const int64_t *shape);
/* Is that dim of input i 1 by its type? Only such a one may be stretched. */
bool call_is_one(const Call *c, size_t i, int axis);

/* Axis props as they may stand before or after canonical typing. */
int shape_axis_index(int64_t axis, int ndim);
/* The `index` prop of subtensor and its like, for one index at that axis: ":, :, $". */
PropArg index_at_axis(Session *s, int axis);
/* Flags of an axes prop (None: all) for kernels, where they are known to fit. */
void shape_axes_flags(const Prop *axes, int ndim, bool flag[MAX_NDIM]);
/* Elements along the flagged axes as an int64 0-d variable. */
Var shape_axes_count(Builder *b, Var x, const bool flag[MAX_NDIM]);

#endif
