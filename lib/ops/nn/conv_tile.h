/* The inner loops of convolutions, by dtype and CPU level. */
#ifndef OPS_NN_CONV_TILE_H
#define OPS_NN_CONV_TILE_H

#include "op/op.h"

/* Results for some filters at neighbouring positions: out[f][p] is the sum over
 * channels c and taps t of w[(c * taps + t) * filters + f] * x[c * plane + offset[t] +
 * p]. Distances are in elements. */
typedef struct ConvTile {
    int64_t channels, taps, plane;
    const int64_t *offset;
    const void *x, *w;
    void *out;       /* as many positions as the function computes, for each filter */
    int64_t out_row; /* from a filter's results to those of the next */
} ConvTile;
typedef void ConvTileFn(const ConvTile *t);

typedef enum ConvElement { CONV_F32, CONV_F64, CONV_I32, CONV_ELEMENTS } ConvElement;
ConvElement conv_element(DType d); /* of a dtype that has vectors */
enum { CONV_TILE_SHAPES = 10, CONV_TILE_BYTES = 8 * 64 * 3 };
/* to[k] = the element at from + k * step bytes, for n elements. */
typedef void ConvCopyFn(void *to, const void *from, ptrdiff_t step, int64_t n);
typedef struct ConvTiles {
    size_t bytes;        /* of a vector */
    ConvCopyFn *copy[2]; /* for elements of 4 and 8 bytes */
    struct {
        int filters, vectors; /* many filters first, few vectors first */
        ConvTileFn *run[CONV_ELEMENTS];
    } shape[CONV_TILE_SHAPES];
} ConvTiles;
/* For the gradient of weights: rows of positions, and CONV_ALONG or CONV_ACROSS places,
 * pairs of channel and tap, whose elements at the first position are at x[k]. `along`
 * adds, to out[k][f], the sum over positions of x's element and y[position][f], for a
 * vector or more of filters; `across` adds, to out[k], the same for y's rows of one
 * filter. */
enum { CONV_ALONG = 6, CONV_ACROSS = 9, CONV_WIDTHS = 3 };
typedef struct ConvSum {
    int64_t rows, columns, x_row, y_row; /* elements from row to row; y_row: across */
    const void *x[CONV_ACROSS], *y;
    void *out;
} ConvSum;
typedef void ConvSumFn(const ConvSum *t);
typedef struct ConvSums {
    size_t bytes; /* of a vector */
    int vectors[CONV_WIDTHS];
    ConvSumFn *along[CONV_WIDTHS][CONV_ELEMENTS], *across[CONV_ELEMENTS];
} ConvSums;
extern const ConvSums conv_sums0, conv_sums1, conv_sums2;

extern const ConvTiles conv_tiles0, conv_tiles1, conv_tiles2;

#endif
