/* First tries of many elements at once, and the columns that these loops read. */
#ifndef OPS_RANDOM_TRIES_H
#define OPS_RANDOM_TRIES_H

#include "ops/random/words.h"

enum {
    /* gamma */
    SHAPE = 0 * ELEMENTS,
    FACTOR = 1 * ELEMENTS,
    SLOPE = 2 * ELEMENTS,
    /* Poisson and binomial: the mean, below FEW of which P(0) is needed; else of the
     * transformed rejection, where width and tail make the number from which it counts
     */
    MEAN = 0 * ELEMENTS,
    NONE = 1 * ELEMENTS,
    FROM = 2 * ELEMENTS,
    FROM_2 = 3 * ELEMENTS,
    WIDTH = 4 * ELEMENTS,
    TAIL = 5 * ELEMENTS,
    ALPHA = 6 * ELEMENTS,
    INNER = 7 * ELEMENTS,
    /* binomial */
    TRIALS = 8 * ELEMENTS,
    CHANCE = 9 * ELEMENTS,
    ODDS = 10 * ELEMENTS,
    AT_MODE = 11 * ELEMENTS, /* if all elements share it */
    /* hypergeometric */
    GOOD = 0 * ELEMENTS,
    ALL = 1 * ELEMENTS,
    DRAWS = 2 * ELEMENTS,
    RARE_ONES = 3 * ELEMENTS,
    FEW_DRAWS = 4 * ELEMENTS,
    CENTRE = 5 * ELEMENTS,
    SPREAD = 6 * ELEMENTS,
    MOST = 7 * ELEMENTS,
};
enum { FEW = 10 };

/* Each sets out[i] to element i, or to nan where the try fails. */
typedef void TriesFn(const Ahead *q, double *restrict out);
typedef struct TriesLoops {
    TriesFn *gamma, *loggamma; /* of gamma: without what shapes below 1 need */
    TriesFn *poisson, *binomial, *hypergeometric; /* of few: others are nan or wrong */
    TriesFn *poisson_hat, *binomial_hat, *ratio;  /* others stay */
} TriesLoops;
extern const TriesLoops tries_loops0, tries_loops1, tries_loops2;

static inline const TriesLoops *tries_loops(const Ahead *q) {
#if defined(__x86_64__)
    if (q->level > 0) return q->level == 1 ? &tries_loops1 : &tries_loops2;
#endif
    (void)q;
    return &tries_loops0;
}

#endif
