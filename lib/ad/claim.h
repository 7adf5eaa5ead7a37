/* Checks the derivatives that an op or a function returns against the contract. */
#ifndef AD_CLAIM_H
#define AD_CLAIM_H

#include "ad/term.h"

/* A derivative, as an op or a function returned it. */
typedef struct Claimed {
    const char *kind; /* "gradient", "pushforward" */
    const char *of;   /* the op's name, or the function's */
    bool output; /* true: the tangent of an output; false: the gradient of an input */
    const char *part; /* its name; NULL: take that of input or output `at` of op */
    const Op *op;
    size_t nin, at;
    bool own;  /* a user's: what types don't show is checked at run time */
    bool zero; /* only zero is correct */
} Claimed;

/* Has *d the kind, rank, sizes and dtype of a derivative by or of `like`? Undefined and
 * disconnected pass. What isn't known statically becomes a check in the graph. */
bool ad_claim(Builder *b, const Claimed *c, Var like, Var *d);
/* The same for the tangent of an output. An output that small changes don't move, such
 * as integers, has a zero tangent only, and it is not wrapped in a check. */
bool ad_claim_tangent(Builder *b, const Claimed *c, Var out, Var *result);
/* Checks the gradient of Apply a by its input i, `in`. */
bool ad_claim_gradient(Builder *b, ApplyId a, size_t i, const Var *cotangent, Var in,
                       Var *term);
/* Checks the tangent of output k of Apply a. */
bool ad_claim_pushforward(Builder *b, ApplyId a, size_t k, Var *result);
#endif
