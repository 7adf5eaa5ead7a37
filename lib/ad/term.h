/* One Apply's share of reverse mode: its inputs' gradients from its outputs'
 * cotangents. */
#ifndef AD_TERM_H
#define AD_TERM_H

#include "ad/ad.h"

/* grad[i] for the inputs that are wanted: a float variable of the input's rank, one of
 * type null, or GRAD_DISCONNECTED. The results are checked against the contract.
 * b->from is the caller's to set. */
bool ad_terms(Builder *b, ApplyId a, const Var *cotangent, const bool *wanted,
              Var *grad);
/* The tangents of a call's results by a function of its own, made once (a function's
 * `pushforward`, or derived). *done false: some tangent is undefined, nothing was
 * added. */
bool ad_push_call(Builder *b, ApplyId a, const Graph *fn, const Var *tangent,
                  Var *result, bool *done);
/* Sets b->from to say "gradient of OP" at the Apply's place; returns the old value. */
Origin ad_origin(Builder *b, ApplyId a, const char *what);
/* A zero gradient of x: its shape, a float dtype. */
Var ad_zero(Builder *b, Var x);
/* The dtype of x's gradient: its own if inexact, else floatX. */
DType ad_dtype(const Builder *b, Var x);
/* plugin_values.c: is it of a plugin's type? Gradients and tangents then have that
 * type. */
bool ad_is_plugin_value(const Graph *g, Var v);
/* A scalar of the gradient's type of `like`; VAR_NONE: diagnosed. */
Var ad_number(Builder *b, Var like, double v);
Var ad_add(Builder *b, Var x, Var y); /* two gradients of one variable */

/* What a reverse walk leaves: the gradients of all variables that there were, and for
 * each Apply that it made the one that it differentiates. */
typedef struct GradTrace {
    Arena *arena;          /* the caller's: bar is taken from it */
    uint32_t nvar, napply; /* before the walk */
    Var *bar;              /* by variable below nvar; GRAD_DISCONNECTED: none */
    Vec(ApplyId) source; /* by Apply from napply on; APPLY_NONE: seeds and zeros. To be
                            freed */
} GradTrace;
/* ad_grad (nf 0), or ad_vjp (cost VAR_NONE), with a trace. */
bool ad_grad_traced(Builder *b, Var cost, size_t nf, const Var *f, const Var *cotangent,
                    size_t nwrt, const Var *wrt, const GradOptions *how, Var *grad,
                    GradTrace *t);

#endif
