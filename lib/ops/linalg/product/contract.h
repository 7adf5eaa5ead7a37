/* Sums of products over labelled axes, built from matrix products when the graph is
 * made: what einsum and tensordot share. */
#ifndef OPS_LINALG_PRODUCT_CONTRACT_H
#define OPS_LINALG_PRODUCT_CONTRACT_H

#include "op/build.h"

/* Labels are small numbers: characters, and further ones that callers assign. */
enum { LABEL_N = 128 + 2 * MAX_NDIM };

/* A tensor whose axes carry labels, each at most once. */
typedef struct Term {
    Var v;
    int n;
    int label[MAX_NDIM];
} Term;
int term_axis(const Term *t, int label); /* -1: absent */

/* The functions below return false when they diagnosed an error. */
/* Permutes the axes into the order of `label`, which lists all labels of the term. */
bool term_permute(Builder *b, Term *t, int n, const int *label);
/* Sums over the labels not kept; the dtype stays. */
bool term_sum(Builder *b, Term *t, const bool keep[LABEL_N]);
/* The product of two terms, summed over the labels not kept. An axis that is 1 by type
 * is broadcast. The result's order: labels of both, of x, of y. */
bool term_product(Builder *b, Term *x, Term *y, const bool keep[LABEL_N], Term *out);

#endif
