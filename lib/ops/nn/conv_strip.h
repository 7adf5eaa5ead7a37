/* Strips: what neighbouring results of a convolution need of its source, side by side,
 * with padding as zeros and strides taken out. */
#ifndef OPS_NN_CONV_STRIP_H
#define OPS_NN_CONV_STRIP_H

#include "ops/nn/conv.h"
#include "ops/nn/conv_tile.h"

/* One axis of a lattice: result j is at first + j * step; tap t takes source element j
 * * stride + low + shift[t] and the weight at index[t]. */
typedef struct LatticeAxis {
    int64_t count, first, step, source, stride, low;
    int64_t taps, *index, *shift, *rest; /* the last for the caller */
    int64_t slots, *slot; /* the rests of shifts, divided by stride, that occur */
    int64_t reach;        /* the largest quotient */
} LatticeAxis;

/* Positions in a strip are those of results, row after row; a row has some more of them
 * than results. */
typedef struct ConvStrips {
    size_t size; /* bytes of an element */
    ConvCopyFn *copy;
    LatticeAxis axis[CONV_AXES];
    int64_t channels;     /* of a group */
    int64_t most_columns; /* results in a row of a strip; 0: the default */
    const char *x;
    int64_t x_stride[2 + CONV_AXES];      /* bytes */
    int64_t taps, *offset;                /* of all axes, into a strip */
    int64_t rows, columns;                /* results of a strip */
    int64_t strip_row, strip_slot, plane; /* elements from row to row, ... */
} ConvStrips;
/* Where a strip is: image, group, and the first result along each axis. */
typedef struct StripAt {
    int64_t n, g, d, j, i;
} StripAt;

/* Memory for the lists of the axes, to be freed; NULL: the kernel is so large that only
 * the reference will do. */
int64_t *conv_axes_room(Session *s, const Conv *q, LatticeAxis axis[CONV_AXES]);
/* The axis of y's elements. */
void conv_forward_axis(const ConvAxis *a, LatticeAxis *l);
/* After index and shift were set: the rest. */
void conv_finish_axis(LatticeAxis *l);
/* Sets the sizes for that many rows and columns of results; bytes of a strip. False:
 * they are too large. */
bool conv_strip_size(ConvStrips *q, int64_t rows, int64_t columns, int64_t *bytes);
/* Chooses rows and columns for strips of about so many bytes. */
bool conv_strip_divide(ConvStrips *q, int64_t bytes, int64_t *strip_bytes);
void conv_strip_offsets(ConvStrips *q); /* fills `offset`, by tap */
/* Channels c to end of a strip. */
void conv_strip_pack(const ConvStrips *q, const StripAt *s, int64_t c, int64_t end,
                     char *strip);
/* The source and its strides; the size is set. */
void conv_strip_source(ConvStrips *q, const Tensor *x, const ConvTiles *tiles);

/* Axis k of three, of which the last ones are the convolution's; a tensor's stride. */
const ConvAxis *conv_axis_of(const Conv *q, int k);
int64_t conv_stride_of(const Tensor *t, int k);
/* Are a tensor's dims from k on one dim? */
bool conv_is_flat(const Tensor *t, int k);

/* For division that rounds down; n / each, rounded up; the smaller one. */
static inline int64_t conv_rest(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}
static inline int64_t conv_parts(int64_t n, int64_t each) {
    return n / each + (n % each > 0);
}
static inline int64_t conv_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline bool conv_product(int64_t a, int64_t b, int64_t c, int64_t *r) {
    return i64_mul(a, b, r) && i64_mul(*r, c, r);
}

/* The loops for this CPU. */
const ConvTiles *conv_tiles_for(Session *s);

#endif
