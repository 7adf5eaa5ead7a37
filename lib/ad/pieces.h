/* Small pieces of the graphs that derivations make. */
#ifndef AD_PIECES_H
#define AD_PIECES_H

#include "op/build.h"

/* Writes the sizes of x's dims from `first` on to item[n..]; returns n and their
 * number. */
size_t ad_dims(Builder *b, Var x, int first, size_t n, Var *item);
/* The product of x's first ndim dims, int64 0-d. */
Var ad_count(Builder *b, int ndim, Var x);
/* x[0] */
Var ad_first_row(Builder *b, Var x);

#endif
