/* For derivatives in C of ops with several inputs. */
#ifndef OPS_ELEMWISE_DERIV_H
#define OPS_ELEMWISE_DERIV_H

#include "op/build.h"

/* The tangent of input i, or zeros if it has none; VAR_NONE: diagnosed. */
static inline Var push_tangent(Push *p, size_t i) {
    if (p->tangent[i] != VAR_NONE) return p->tangent[i];
    DType d = var_type(p->g, p->in[i])->dtype;
    return op_zeros_like(p->b, p->in[i], dtype_is_inexact(d) ? d : p->b->floatX);
}

#endif
