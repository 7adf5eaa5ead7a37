/* The inner loops of convolutions, by dtype and CPU level. */
#ifndef OPS_NN_CONV_TILE_H
#define OPS_NN_CONV_TILE_H

#include "op/op.h"

/* What comes after a convolution (op/call.h) of float32: y = min(max(y + sum + more,
 * low), high), where `sum` is of the channel, `more` of the element and the limits are
 * no nan. What there is none of leaves y as it is: -0, an infinity. */
typedef struct ConvAfter {
    const float *sum; /* of channel c at c * sum_step */
    int64_t sum_step;
    const float *more; /* lies as the result does; NULL: none */
    const float *out;  /* the result */
    float low, high;
} ConvAfter;
/* Does it to n neighbouring elements of a channel. */
typedef void ConvAfterFn(const ConvAfter *a, int64_t channel, float *row, int64_t n);

/* Results for some filters at neighbouring positions: out[f][p] is the sum over
 * channels c and taps t of w[(c * taps + t) * filters + f] * x[c * plane + offset[t] +
 * p]. Distances are in elements. */
typedef struct ConvTile {
    int64_t channels, taps, plane;
    const int64_t *offset;
    const void *x, *w;
    void *out;       /* as many positions as the function computes, for each filter */
    int64_t out_row; /* from a filter's results to those of the next */
    const ConvAfter *after; /* of float32; NULL: nothing */
    int64_t channel;        /* of the first filter */
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
    ConvAfterFn *after;
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
/* The same sums as a ConvTile's, for filters that fill CONV_BROAD vectors and `n`
 * neighbouring positions from each of two places on: a vector holds filters, and w is
 * [channels][taps][filters]; out[i] is [n][filters], as is from[i], which the sums
 * begin with. */
enum { CONV_BROAD = 2, CONV_BROAD_SHAPES = 4 };
typedef struct ConvBroad {
    int64_t channels, taps, plane;
    const int64_t *offset;
    const void *x[2], *w;
    const void *from[2]; /* NULL, both: zeros */
    void *out[2];
} ConvBroad;
typedef void ConvBroadFn(const ConvBroad *t);
/* Weights of 4 bytes for such tiles: element k of filter i goes to [k][i]. Those of a
 * filter lie side by side; filters that there are not have zeros. What lies `ahead` of
 * them in memory is prefetched. */
typedef struct ConvBroadPack {
    const char *from;
    ptrdiff_t filter, ahead; /* bytes */
    int64_t filters, n;      /* of a block at most */
} ConvBroadPack;
typedef void ConvBroadPackFn(const ConvBroadPack *p, void *to);
/* Where the results of such a block go: a row for each of `filters` channels from
 * `channel` on, with every element or every other one. */
typedef struct ConvBroadOut {
    char *out;
    ptrdiff_t out_row; /* bytes */
    bool other;        /* without `after` */
    int64_t filters, channel;
    const ConvAfter *after; /* NULL: nothing */
} ConvBroadOut;
/* From [n][CONV_BROAD vectors] to rows of n elements of 4 bytes. */
typedef void ConvBroadStoreFn(const ConvBroadOut *to, const void *from, int64_t n);
typedef struct ConvBroads {
    ConvBroadStoreFn *store_4; /* NULL: there is none */
    ConvBroadPackFn *pack_4;
    struct {
        int n;                              /* few positions first */
        ConvBroadFn *run[2][CONV_ELEMENTS]; /* at one place, at two */
    } shape[CONV_BROAD_SHAPES];
} ConvBroads;
/* Channels by filters of their own: out[j][i] is the sum over taps of w[tap] and the
 * element of x in row (j * row_step + row[tap's row]) / row_up and column (i *
 * column_step + column[...]) / column_up, if these are whole and there is one. Steps
 * and ups are 1 or 2, those of an axis not both 2; distances in elements. */
enum { CONV_EACH_TAPS = 16 };
typedef struct ConvEach {
    int64_t rows, columns, x_rows, x_columns, x_row, out_row;
    int64_t row_step, column_step, row_up, column_up, row_taps, column_taps;
    int64_t row[CONV_EACH_TAPS], column[CONV_EACH_TAPS];
    int64_t channels, x_channel, out_channel; /* neighbouring ones */
    const float *x, *w;                       /* w: [channels][taps] */
    float *out;
    const ConvAfter *after;
    int64_t channel; /* the first one */
} ConvEach;
typedef void ConvEachFn(const ConvEach *a);
/* Adds to sums [channels][taps] the gradient of w, where dy lies as out would. */
typedef void ConvEachSumFn(const ConvEach *a, const float *dy, float *sums);
extern ConvEachFn conv_each1, conv_each2; /* not for any CPU */
extern ConvEachSumFn conv_each_sums1, conv_each_sums2;
extern const ConvBroads conv_broads0, conv_broads1, conv_broads2;
extern const ConvSums conv_sums0, conv_sums1, conv_sums2;

extern const ConvTiles conv_tiles0, conv_tiles1, conv_tiles2;

#endif
