/* Matrices of derivatives, in one batched program each. */
#ifndef AD_JACOBIAN_H
#define AD_JACOBIAN_H

#include "ad/ad.h"

typedef enum JacobianMode {
    JACOBIAN_AUTO,    /* forward unless wrt is known to have more elements than f */
    JACOBIAN_REVERSE, /* pullbacks of all unit cotangents of f at once */
    JACOBIAN_FORWARD  /* pushforwards of all unit tangents of each wrt at once */
} JacobianMode;

/* result[k * nwrt + j] is the derivative of f[k] with respect to wrt[j], of f[k]'s
 * shape followed by wrt[j]'s and of the dtype that wrt[j]'s gradient has;
 * GRAD_DISCONNECTED or of type null where `how` allows it, as in ad_grad. f must be
 * real; for a complex wrt row i is the gradient of f[i], dRe + i dIm. known_grads have
 * no part in it. */
bool ad_jacobian(Builder *b, size_t nf, const Var *f, size_t nwrt, const Var *wrt,
                 const GradOptions *how, JacobianMode mode, Var *result);
/* Second derivatives of a scalar cost: result[i] of wrt[i]'s shape twice. With `mixed`
 * result[i * nwrt + j] is that by wrt[i] and wrt[j]. What is disconnected in the second
 * derivative only is zero. */
bool ad_hessian(Builder *b, Var cost, size_t nwrt, const Var *wrt,
                const GradOptions *how, bool mixed, Var *result);
/* The Hessian times v: result[i] is the sum over j of d2 cost / d wrt[i] d wrt[j] v[j],
 * of wrt[i]'s shape. No Hessian is made. */
bool ad_hvp(Builder *b, Var cost, size_t nwrt, const Var *wrt, const Var *v,
            const GradOptions *how, Var *result);

#endif
