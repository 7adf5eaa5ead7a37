/* Uniform numbers for one element of a draw by rejection. */
#ifndef OPS_RANDOM_WORDS_H
#define OPS_RANDOM_WORDS_H

#include "ops/random/random.h"

typedef struct Words {
    const Rng *rng;
    uint64_t block, word[2], left;
    double spare; /* the second normal of a pair */
    bool has_spare;
} Words;
double words_unit(Words *w); /* in (0, 1) */
double words_normal(Words *w);

/* One element, with parameters p[0], p[1], ...; `words_draw` calls it for each
 * element. */
typedef double OneFn(Words *w, const double *p);
void words_draw(const Draw *w, const DrawPart *part, OneFn *one);

/* Defines draw_NAME, whose elements are one_NAME. */
#define WORDS_DRAW(NAME)                                                               \
    void draw_##NAME(const Draw *w, const DrawPart *part) {                            \
        words_draw(w, part, one_##NAME);                                               \
    }

/* Fails with `what` unless ok holds for every element's parameters. */
typedef bool FitFn(const double *p);
bool words_check(Call *c, const Draw *w, FitFn *ok, const char *what);

#endif
