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
/* Sets b->from to say "gradient of OP" at the Apply's place; returns the old value. */
Origin ad_origin(Builder *b, ApplyId a, const char *what);
/* A zero gradient of x: its shape, a float dtype. */
Var ad_zero(Builder *b, Var x);
/* The dtype of x's gradient: its own if inexact, else floatX. */
DType ad_dtype(const Builder *b, Var x);

#endif
