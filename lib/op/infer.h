/* Helpers of typing rules. Each want_* returns false and diagnoses if the input doesn't
 * fit. */
#ifndef OP_INFER_H
#define OP_INFER_H

#include "op/op.h"

/* The graph of the inputs, NULL if there is none. A rule that never asks for it types
 * equal props and types alike, and is not run again for them (infer_cache.c). */
static inline const Graph *infer_graph(const Infer *in) {
    if (in->looked) *in->looked = true;
    return in->graph;
}
/* May a result have n dims? */
bool infer_ndim(Infer *in, int64_t n);
bool infer_fail(Infer *in, DiagCode code, size_t arg, const char *fmt, ...)
    __attribute__((format(printf, 4, 5))); /* arg == in->nin: no particular argument */
/* Can its elements become `to` without losing an imaginary part? */
bool infer_want_castable(Infer *in, size_t arg, DType to);
bool infer_want_rank(Infer *in, size_t arg, int least,
                     int most); /* most < 0: no limit */
bool infer_want_kinds(Infer *in, size_t arg, unsigned kinds);
bool infer_want_same_dtype(Infer *in); /* of all tensor inputs */
bool infer_want_dims_equal(Infer *in, size_t a, int axis_a, size_t b, int axis_b,
                           Dim *meet);
static inline Dim infer_in_dim(const Infer *in, size_t arg, int axis) {
    return in->type[arg]->dim[axis];
}
/* Makes output i a tensor. Always true. */
bool infer_out_tensor(Infer *in, size_t i, DType d, int ndim, const Dim *dim);
/* The rule of ops whose output has the type of input 0. */
bool infer_same_type(Infer *in);
/* The rule of elementwise ops: inputs broadcast; out_dtype gives the dtype. */
bool type_elemwise(Infer *in);

/* Values known statically: constants, dims, and integer arithmetic, stack, cast and
 * shape of these. */
bool infer_int(const Infer *in, size_t arg, int64_t *v); /* a 0-d integer constant */
/* Each element of a vector of ints as a Dim: known, named (if it is a dim's leaf), or
 * DIM_UNKNOWN. Returns the number of elements, -1 if even that is unknown. dims and raw
 * may be NULL; at most MAX_NDIM elements are written. `raw` gets the values of known
 * elements, including negative ones, and INT64_MIN for others. */
int infer_dims(const Infer *in, size_t arg, Dim *dims, int64_t *raw);
/* Makes an axis prop in [-ndim, ndim) non-negative, also in the new Apply's props
 * (in->props). */
bool infer_axis(Infer *in, int64_t axis, int ndim, int *out);
/* Turns an axes prop (None: all) into flags; duplicates are errors. The new Apply's
 * prop becomes sorted and non-negative. */
bool infer_axes(Infer *in, const Prop *axes, int ndim, bool flag[MAX_NDIM]);
/* Gives a prop of the new Apply its canonical value, so that equal Applies have equal
 * props. */
void infer_settle_prop(Infer *in, const char *name, Prop value);
const Prop *infer_prop(const Infer *in, const char *name);

/* Is the input a number, a list of numbers or a text, as written in the call? False
 * when an existing Apply is checked. */
bool infer_is_literal(const Infer *in, size_t arg);
/* A quoted text, to be wrapped; it has a type of its own. */
Var text_literal(Graph *g, const char *text);
bool type_is_text(const Type *t);
/* Checks that no unwrapped text is left. */
bool infer_no_texts(Infer *in);
/* Turns the input into a constant of type t, through the type's filter. */
bool infer_wrap(Infer *in, size_t arg, const Type *t);
/* The rule of ops with itypes and otypes. */
bool type_by_itypes(Infer *in);
/* Type i of itypes or otypes; NULL: there is none, or it isn't a tensor's. */
const Type *type_of_list(Session *s, const char *types, size_t i);
/* The dtype that the op demands of input i; DT_NONE: i isn't a tensor. */
DType itypes_dtype(Session *s, const Op *op, size_t i);

#endif
