/* Derivatives in C for rows whose partials can't be a single formula; they still use
 * formulas. */
#ifndef OPS_ELEMWISE_DERIV_H
#define OPS_ELEMWISE_DERIV_H

#include "op/build.h"

/* The gradient of input i as a formula in g and the op's names, summed back to the
 * input's shape; zero for a discrete output, which no small change of the input
 * changes. */
static inline bool pull_text(Pull *p, size_t i, const char *text) {
    bool ok = true;
    Var x = p->in[i];
    DType d = var_type(p->g, x)->dtype;
    if (!p->wanted[i]) return true;
    if (!text || dtype_is_discrete(var_type(p->g, p->out[0])->dtype)) {
        p->grad[i] = zeros_like(p->b, x, dtype_is_inexact(d) ? d : p->b->floatX);
    } else {
        Var term = template_build_apply(p->b, text, p->g, p->id, p->cotangent[0], &ok);
        p->grad[i] = ok ? sum_to_shape(p->b, term, x) : VAR_NONE;
    }
    return p->grad[i] != VAR_NONE;
}
/* The tangent of input i, or zeros if it has none; VAR_NONE: diagnosed. */
static inline Var push_tangent(Push *p, size_t i) {
    if (p->tangent[i] != VAR_NONE) return p->tangent[i];
    DType d = var_type(p->g, p->in[i])->dtype;
    return zeros_like(p->b, p->in[i], dtype_is_inexact(d) ? d : p->b->floatX);
}

#endif
