/* The gradient of a single Apply: its inputs' gradients, given its outputs'
 * cotangents. */
#ifndef AD_TERM_H
#define AD_TERM_H

#include "ad/ad.h"

/* Sets grad[i] of every wanted input: a float variable of the input's rank, one of type
 * null, or GRAD_DISCONNECTED. Checks the results against the contract. The caller sets
 * b->from. */
bool ad_terms(Builder *b, ApplyId a, const Var *cotangent, const bool *wanted,
              Var *grad);
/* The tangents of a call's results, computed by calling a function made once for it
 * (from its custom `pushforward`, or derived). *done false: some tangent is undefined,
 * and nothing was added. */
bool ad_push_call(Builder *b, ApplyId a, const Graph *fn, const Var *tangent,
                  Var *result, bool *done);
/* Sets b->from to "gradient of OP" (for `what` "gradient") at the Apply's place;
 * returns the old value. */
Origin ad_origin(Builder *b, ApplyId a, const char *what);
/* A zero gradient of x: its shape, a float dtype. */
Var ad_zero(Builder *b, Var x);
/* The dtype of x's gradient: its own if inexact, else floatX. */
DType ad_dtype(const Builder *b, Var x);
/* Has v a plugin's type? Its gradients and tangents then have that type too.
 * (plugin_values.c) */
bool ad_is_plugin_value(const Graph *g, Var v);
/* A scalar of the type of `like`'s gradient; VAR_NONE: diagnosed. */
Var ad_number(Builder *b, Var like, double v);
Var ad_add(Builder *b, Var x, Var y); /* two gradients of one variable */

/* For each wrt: itself or, if `of` does not use it, the variable that `of` uses and of
 * which it is a slice. */
const Var *ad_whole(Builder *b, Arena *a, VarList of, VarList wrt);
bool ad_has_parts(Builder *b, VarList of, VarList wrt); /* are they different? */
/* That part of the gradient of the whole. VAR_NONE: diagnosed. */
Var ad_take_part(Builder *b, Var whole, Var part, Var gradient);
/* Is v, called a `what`, as a tangent of `of` must be? */
bool ad_check_direction(Builder *b, const char *what, Var v, Var of);
bool ad_check_tangents(Builder *b, VarList wrt, const Var *tangent);

/* What a reverse walk leaves behind: the gradients of all variables that existed before
 * it, and for each Apply it made the Apply that this one differentiates. */
typedef struct GradTrace {
    Arena *arena;          /* the caller's; bar is allocated from it */
    uint32_t nvar, napply; /* counts before the walk */
    Var *bar;              /* by variable below nvar; GRAD_DISCONNECTED: none */
    Vec(ApplyId) source;   /* by Apply from napply on; APPLY_NONE: seeds and zeros. The
                              caller frees it */
} GradTrace;
/* What is differentiated: a cost, or variables with a cotangent each (cost VAR_NONE).
 */
typedef struct GradTarget {
    Var cost;
    VarList f;
    const Var *cotangent;
} GradTarget;
/* ad_grad or ad_vjp, with a trace unless t is NULL. */
bool ad_grad_traced(Builder *b, const GradTarget *of, VarList wrt,
                    const GradOptions *how, Var *grad, GradTrace *t);

#endif
