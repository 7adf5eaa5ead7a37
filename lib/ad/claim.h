/* What an op says of its derivatives, and whether it can be so. */
#ifndef AD_CLAIM_H
#define AD_CLAIM_H

#include "ad/term.h"

/* A derivative that an op or a function gave. */
typedef struct Claimed {
    const char *kind; /* "gradient", "pushforward" */
    const char *of;   /* the op's name, or the function's */
    bool output;      /* of an output (a pushforward), else by an input */
    const char *part; /* its name; NULL: that of input or output `at` of op */
    const Op *op;
    size_t nin, at;
    bool own;  /* of the user's: what types can't tell is looked at when running */
    bool zero; /* nothing but zero is right */
} Claimed;

/* Is *d, unless it is undefined or disconnected, of the kind, rank, sizes and dtype of
 * a derivative by or of `like`? What can't be told yet becomes a check in the graph. */
bool ad_claim(Builder *b, const Claimed *c, Var like, Var *d);
/* The same of the tangent of an output; one that is not moved by small changes, as
 * integers aren't, has none but zero, which is dropped. */
bool ad_claim_tangent(Builder *b, const Claimed *c, Var out, Var *result);
/* The gradient of an Apply by its input i, in. */
bool ad_claim_gradient(Builder *b, ApplyId a, size_t i, const Var *cotangent, Var in,
                       Var *term);
/* The pushforward of its output k. */
bool ad_claim_pushforward(Builder *b, ApplyId a, size_t k, Var *result);
#endif
