/* The clauses of the Type contract that make and convert variables; the rest is
 * in type/type.h and value/class.h. */
#ifndef OP_CONVERT_H
#define OP_CONVERT_H

#include "op/build.h"

/* make_variable, __call__: an input of that type. name 0: it gets the first of in1,
 * in2,
 * ... that is free, as every input has one. */
Var type_make_variable(Graph *g, const Type *t, Sym name);
/* A value as a constant of exactly that type: through its filter. VAR_NONE: diagnosed.
 */
Var type_make_constant(Builder *b, const Type *t, const Value *v, Filter how,
                       const char *what);
/* filter_variable: v as a variable that fits t. The narrower type survives: v itself
 * when t says no more than v's type does; else specify_shape with the dims that t
 * knows, whose type is what both say, checked while running. A named dim of t is
 * claimed of the graph's dim. VAR_NONE: no conversion is enough (kind, dtype, rank, a
 * known dim); diagnosed, `what` says what has type t. */
Var type_filter_variable(Builder *b, const Type *t, Var v, const char *what);

#endif
