/* Resampling along axes: resize, rescale and what they expand to. Along each axis,
 * element i of the result is at the place (i + p) * a / b + q of x; its value is a
 * weighted sum of elements around this place, which a table holds. */
#ifndef OPS_NN_RESAMPLE_H
#define OPS_NN_RESAMPLE_H

#include "op/op.h"

enum { RESAMPLE_PLACE = 4 }; /* p, a, b, q */
typedef enum ResampleMode {
    RESAMPLE_NEAREST,
    RESAMPLE_LINEAR,
    RESAMPLE_CUBIC
} ResampleMode;
typedef enum ResampleRound {
    ROUND_PREFER_FLOOR,
    ROUND_PREFER_CEIL,
    ROUND_FLOOR,
    ROUND_CEIL
} ResampleRound;
/* How a place becomes weights: the props. */
typedef struct ResampleFilter {
    ResampleMode mode;
    ResampleRound round;
    double cubic; /* the coefficient of the cubic kernel */
    bool exclude_outside, antialias;
    bool cut; /* places outside x have no elements */
} ResampleFilter;

/* A pass along one axis: of n elements become m, in each of `outer` blocks, for `inner`
 * elements that lie together. Result i has `taps` elements of x: index[t * m + i], with
 * weight[t * m + i]. */
typedef struct ResampleTable {
    int64_t n, m, taps, outer, inner;
    double place[RESAMPLE_PLACE];
    int32_t *index;
    double *weight;
    float *weight32; /* the same */
} ResampleTable;

/* Row loops: to[i] = sum over t of weight[t] * row t [i]. */
typedef struct ResampleRows {
    const void *row[4];
    double weight[4];
} ResampleRows;
typedef struct ResampleLoops {
    /* to = the sum of count <= 4 weighted rows, added to `to` if `more` */
    void (*rows[2])(void *to, const ResampleRows *r, size_t count, size_t n, bool more);
    /* to[i] = the weighted sum of the elements of x that the table says */
    void (*across[2])(void *to, const void *x, const ResampleTable *t);
    /* to[i] = x[index[i]] of elements of 1, 2, 4 and 8 bytes */
    void (*pick[4])(void *to, const void *x, const int32_t *index, size_t n);
} ResampleLoops;
extern const ResampleLoops resample_loops0, resample_loops1, resample_loops2;

ResampleFilter resample_filter(Session *s, const Op *op, const Props *props);
/* The taps of one result. */
int64_t resample_taps(const ResampleFilter *f, const double place[RESAMPLE_PLACE]);
/* Where the taps of one result are written: so many, so far apart. */
typedef struct ResampleTaps {
    int64_t count, stride;
    int32_t *index;
    double *weight;
} ResampleTaps;
/* Writes those of result i, along an axis of n elements. */
void resample_tap_weights(const ResampleFilter *f, const double place[RESAMPLE_PLACE],
                          int64_t n, int64_t i, const ResampleTaps *to);

bool resample_perform(Call *c);
bool resample_back_perform(Call *c);
bool resample_reference(Call *c);
bool resample_back_reference(Call *c);
/* The shape of the result: x's with the last sizes; which axis is the first of them.
 * False: diagnosed. */
bool resample_shape(Call *c, int64_t shape[MAX_NDIM], int *first);

#endif
