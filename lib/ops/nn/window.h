/* Windows that slide along spatial axes, for pooling and convolution: the props that
 * describe them, and how many fit. x is [rows, channels, *spatial]; along each spatial
 * axis, a window has `size` elements, `dilation` apart, and window i starts at
 * i * stride - before. */
#ifndef OPS_NN_WINDOW_H
#define OPS_NN_WINDOW_H

#include "op/build.h"
#include "op/infer.h"

enum { WINDOW_AXES = 3 }; /* at most */
typedef enum WindowFit {
    WINDOW_GIVEN,      /* before and after are given */
    WINDOW_SAME_UPPER, /* ceil(n / stride) windows; what the padding has too many, */
    WINDOW_SAME_LOWER  /* of an odd sum, is after or before */
} WindowFit;
typedef struct Window {
    int axes;
    int64_t size[WINDOW_AXES]; /* -1: unknown, while types are inferred */
    int64_t stride[WINDOW_AXES], dilation[WINDOW_AXES];
    int64_t before[WINDOW_AXES], after[WINDOW_AXES];
    WindowFit fit;
    bool ceil; /* a last window may reach beyond the padding, if it starts in x or in
                  the padding before it */
} Window;

/* The number of spatial axes of input arg, 1 to 3; 0: diagnosed. */
int window_infer_axes(Infer *in, size_t arg);
/* Reads the props strides, dilations and padding into w; strides=None are the sizes,
 * which the caller has set. */
bool window_infer_props(Infer *in, Window *w);
/* A prop of ints, one for each axis or one for all. */
bool window_infer_ints(Infer *in, const char *name, int axes, int64_t *v);
/* The same of an Apply, whose props are valid. */
void window_read_props(Session *s, const Op *op, const Props *props, Window *w);
void window_read_ints(const Prop *p, int axes, int64_t *v);

/* The distance from a window's first element to the one after its last. */
int64_t window_span(const Window *w, int k);
/* Sets before[k] and after[k] for n elements, if they depend on n. */
void window_settle(Window *w, int k, int64_t n);
/* How many windows n elements have along axis k, which is settled; less than 1, or less
 * than 0 of no elements: none fits. */
int64_t window_count(const Window *w, int k, int64_t n);
/* The same for types: n and the result may be named or unknown. False: diagnosed. */
bool window_infer_count(Infer *in, size_t arg, const Window *w, int k, Dim n,
                        Dim *count);
/* ... for kernels: settles, counts and checks all axes of x. False: diagnosed. */
bool window_call_count(Call *c, const Tensor *x, Window *w, int64_t *count);
/* ... as an expression in n. `size`: of the window, if w doesn't know it. */
Var window_count_var(Builder *b, const Window *w, int k, Var n, Var size);

#endif
