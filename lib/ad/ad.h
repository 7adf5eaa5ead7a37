/* Derivatives of graphs as graphs. Reverse mode follows the contract (Op.grad,
 * connection patterns, null and disconnected types) to the letter; forward mode comes
 * from the same rows of the ops. What is added is interned. */
#ifndef AD_AD_H
#define AD_AD_H

#include "op/services.h"

/* Gradients of a 0-d cost with respect to any variables of b->g, appended to it. cost
 * may be VAR_NONE when known_grads are given. grad[i] has wrt[i]'s rank and a float
 * dtype (floatX for integers); with GRAD_NONE it may be GRAD_DISCONNECTED, with
 * NULL_RETURN of type null. Costs time and nodes linear in the part of the graph
 * between wrt and cost. */
bool ad_grad(Builder *b, Var cost, size_t nwrt, const Var *wrt, const GradOptions *how,
             Var *grad);
/* Pullback: the gradient with respect to wrt of sum_i <f[i], cotangent[i]>. */
bool ad_vjp(Builder *b, size_t nf, const Var *f, const Var *cotangent, size_t nwrt,
            const Var *wrt, const GradOptions *how, Var *grad);
/* Pushforward: result[i] = sum_j df[i]/dwrt[j] tangent[j]; GRAD_DISCONNECTED where f[i]
 * depends on no wrt. With `by_pullback` it is built from two pullbacks instead of the
 * ops' own rules; the two agree. */
bool ad_jvp(Builder *b, size_t nf, const Var *f, size_t nwrt, const Var *wrt,
            const Var *tangent, bool by_pullback, Var *result);
/* The function of fn's gradients (services.h), made once per function and selection. */
Graph *ad_pullback(Graph *main, const Graph *fn, const bool *wanted,
                   const bool *has_cotangent);
/* Offers the above to lower rows. */
void ad_open(Session *s);

#endif
