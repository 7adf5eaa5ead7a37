/* Convolution of x [N, C, sizes] with w [O, C / groups, kernel sizes], which gives y
 * [N, O, sizes]. The three tensors belong together: each op of conv.c computes one of
 * them from the two others (the gradient with respect to x or w from that with respect
 * to y), over the same pairs of elements. */
#ifndef OPS_NN_CONV_H
#define OPS_NN_CONV_H

#include "op/op.h"

enum { CONV_AXES = 3 };
typedef enum ConvPart { CONV_X, CONV_W, CONV_Y } ConvPart;

/* What the props say. */
typedef enum ConvPadding { CONV_GIVEN, CONV_SAME_UPPER, CONV_SAME_LOWER } ConvPadding;
typedef struct ConvProps {
    int ndim; /* spatial axes */
    ConvPadding padding;
    int64_t stride[CONV_AXES], dilation[CONV_AXES], before[CONV_AXES], after[CONV_AXES],
        extra[CONV_AXES], groups;
} ConvProps;
/* NULL, or what is wrong. */
const char *conv_props(Session *s, const Op *op, const Props *props, int ndim,
                       bool transposed, ConvProps *p);

/* One axis: element i of y uses elements i * stride - before + k * dilation of x. */
typedef struct ConvAxis {
    int64_t x, w, y; /* sizes */
    int64_t stride, dilation, before;
} ConvAxis;
/* Axis k for sizes x and w: finds y. NULL, or what is wrong. */
const char *conv_axis(Session *s, const ConvProps *p, int k, int64_t x, int64_t w,
                      ConvAxis *a);
/* For sizes y and w: finds the x that conv_transpose gives. */
const char *conv_axis_transposed(Session *s, const ConvProps *p, int k, int64_t y,
                                 int64_t w, ConvAxis *a);

/* One run: the tensors, of which that of `result` is the output. */
typedef struct Conv {
    ConvPart result;
    int ndim;
    int64_t n, c, o, groups;
    ConvAxis axis[CONV_AXES];
    const Tensor *part[3];         /* by ConvPart */
    const struct ConvAfter *after; /* of the result, NULL: nothing (conv_tile.h) */
} Conv;
bool conv_run(Call *c, const Conv *q);
bool conv_reference(Call *c, const Conv *q);

#endif
