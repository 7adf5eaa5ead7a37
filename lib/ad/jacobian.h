/* Matrices of derivatives, each computed by one vmapped program. */
#ifndef AD_JACOBIAN_H
#define AD_JACOBIAN_H

#include "ad/ad.h"

typedef enum JacobianMode {
    JACOBIAN_AUTO,    /* forward unless wrt is known to have more elements than f */
    JACOBIAN_REVERSE, /* pullbacks of all unit cotangents of f at once */
    JACOBIAN_FORWARD  /* pushforwards of all unit tangents of each wrt at once */
} JacobianMode;

/* result[k * wrt.n + j] is the derivative of f[k] with respect to wrt[j]: f[k]'s shape
 * followed by wrt[j]'s, of the dtype of wrt[j]'s gradient; GRAD_DISCONNECTED or of type
 * null where `how` allows it, as in ad_grad. f must be real; for a complex wrt, row i
 * is the gradient of f[i], dRe + i dIm. known_grads are ignored. */
bool ad_jacobian(Builder *b, VarList f, VarList wrt, const GradOptions *how,
                 JacobianMode mode, Var *result);
/* Second derivatives of a scalar cost: result[i] has wrt[i]'s shape twice. With
 * `mixed`, result[i * wrt.n + j] is the derivative by wrt[i] and wrt[j]. Blocks that
 * are disconnected only in the second derivative are zero. */
bool ad_hessian(Builder *b, Var cost, VarList wrt, const GradOptions *how, bool mixed,
                Var *result);
/* The Hessian times v: result[i] is the sum over j of d2 cost / d wrt[i] d wrt[j] v[j],
 * of wrt[i]'s shape. The Hessian itself is never built. */
bool ad_hvp(Builder *b, Var cost, VarList wrt, const Var *v, const GradOptions *how,
            Var *result);

#endif
