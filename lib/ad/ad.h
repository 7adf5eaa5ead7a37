/* Derivatives of graphs, as graphs. Reverse mode follows the contract (Op.grad,
 * connection patterns, null and disconnected types) to the letter; forward mode uses
 * the same rows of the catalogue. All new Applies are interned. */
#ifndef AD_AD_H
#define AD_AD_H

#include "op/services.h"

/* Gradients of a 0-d cost with respect to any variables of b->g, appended to it. cost
 * may be VAR_NONE if known_grads are given. grad[i] has wrt[i]'s rank and a float dtype
 * (floatX for integers); with GRAD_NONE it may be GRAD_DISCONNECTED, with NULL_RETURN
 * of type null. Time and new nodes are linear in the part of the graph between wrt and
 * cost. */
bool ad_grad(Builder *b, Var cost, VarList wrt, const GradOptions *how, Var *grad);
/* Pullback: the gradient with respect to wrt of sum_i <f[i], cotangent[i]>. */
bool ad_vjp(Builder *b, VarList f, const Var *cotangent, VarList wrt,
            const GradOptions *how, Var *grad);
/* Pushforward: result[i] = sum_j df[i]/dwrt[j] tangent[j]; GRAD_DISCONNECTED where f[i]
 * depends on no wrt. With `by_pullback` it is built from two pullbacks instead of the
 * ops' own rules; both give the same values. */
bool ad_jvp(Builder *b, VarList f, VarList wrt, const Var *tangent, bool by_pullback,
            Var *result);
/* The same where wrt may be slices that f does not use, such as W[:2]. */
bool ad_jvp_parts(Builder *b, VarList f, VarList wrt, const Var *tangent,
                  bool by_pullback, Var *result);
/* The pullback of fn as a function (services.h), made once for each function and
 * selection. */
Graph *ad_pullback(Graph *main, const Graph *fn, const bool *wanted,
                   const bool *has_cotangent);
/* Enters these functions in the session's services, for lower rows. */
void ad_open(Session *s);

#endif
