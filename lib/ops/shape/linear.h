/* Shared by the derivatives and the typing of structural ops. */
#ifndef OPS_SHAPE_LINEAR_H
#define OPS_SHAPE_LINEAR_H

#include "op/build.h"
#include "op/infer.h"

/* Forward mode of an op that is jointly linear in its first `linear` inputs: the op
 * applied to their tangents (zeros for inputs without one). */
bool push_linear(Push *p, size_t linear);
bool push_linear_first(Push *p); /* linear in input 0 */
bool push_linear_all(Push *p);
/* Forward mode of an op whose result carries no tangent. */
bool push_none(Push *p);
/* ... of one that is its first input: that one's tangent, without the op. */
bool push_tangent_through(Push *p);
/* Discrete outputs propagate no gradient: zeros (in a float dtype) for each connected
 * input. True when that handled the op. */
bool pull_discrete(Pull *p);
/* Disconnects all inputs from `first` on. */
void pull_disconnect(Pull *p, size_t first);
bool pull_nothing(Pull *p); /* all inputs; true */
/* The prop `axis` of an op that takes *x as a vector if it is None, as NumPy does: *x
 * is raveled then, and the axis is 0. */
PropArg shape_ravel_without_axis(Builder *b, const Op *op, const Props *p, Var *x);

/* The dim given by a 0-d or one-element int input; a negative constant is unknown. */
Dim infer_length(const Infer *in, size_t arg);
/* The dims given by an `ints` input, as a tensor's shape. A negative constant is an
 * error unless `minus` is given: it then gets flags that mark the negative places. */
bool infer_want_shape(Infer *in, size_t arg, int *ndim, Dim dim[MAX_NDIM],
                      bool minus[MAX_NDIM]);
/* The same at run time: reads `shape` from the input and checks it. */
bool call_shape(Call *c, size_t arg, int *ndim, int64_t shape[MAX_NDIM]);
/* False: E_LIMIT diagnosed, the elements of `shape` take more bytes than can be
 * counted. */
bool call_size_fits(Call *c, DType d, int ndim, const int64_t *shape);
/* Is that dim of input i 1 by its type? Only such a dim may be broadcast. */
bool call_is_one(const Call *c, size_t i, int axis);

/* Index of an axis prop, before or after canonical typing. */
int shape_axis_index(int64_t axis, int ndim);
/* The `index` prop of subtensor and similar ops for one index at that axis: ":, :,
 * $". */
PropArg index_at_axis(Session *s, int axis);
/* Flags of an axes prop (None: all), for kernels, where the axes are known to be
 * valid. */
void shape_axes_flags(const Prop *axes, int ndim, bool flag[MAX_NDIM]);
/* The number of elements along the flagged axes, as a 0-d int64 variable. */
Var shape_axes_count(Builder *b, Var x, const bool flag[MAX_NDIM]);

#endif
