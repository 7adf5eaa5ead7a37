/* The clauses of the Type contract that make and convert variables; the others are in
 * type/type.h and value/class.h. */
#ifndef OP_CONVERT_H
#define OP_CONVERT_H

#include "op/build.h"

/* make_variable, __call__: an input of that type. name 0: takes the first free one of
 * in1, in2, ..., since every input has a name. */
Var type_make_variable(Graph *g, const Type *t, Sym name);
/* filter_variable: converts v to type t. The narrower type survives: if t says no more
 * than v's type this is v itself; else a specify_shape with the dims that t knows,
 * whose type combines both and is checked at run time. A named dim of t refers to the
 * graph's dim. VAR_NONE: no conversion is sufficient (kind, dtype, rank, a known dim);
 * diagnosed, `what` names what has type t. */
Var type_filter_variable(Builder *b, const Type *t, Var v, const char *what);

#endif
