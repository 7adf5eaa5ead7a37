/* Derivatives of functions that can only be evaluated: differences at many steps,
 * extrapolated to step 0, with an error estimate. */
#ifndef TOOLS_GGRAD_DIFFERENCE_H
#define TOOLS_GGRAD_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

enum { DIFFERENCE_STEPS = 48 };
/* Values around one point, on both sides, for decreasing steps. Non-finite values are
 * left out. */
typedef struct Samples {
    size_t n;
    const double *step;         /* positive and decreasing */
    const double *plus, *minus; /* the values at + and - step */
    double here;                /* the value at the point */
    double noise;               /* absolute rounding error of the values, at least */
    double ulp;                 /* absolute rounding error of the moving number */
} Samples;
typedef struct Slope {
    double value, error; /* error: an estimate; INFINITY: unknown */
} Slope;
/* From differences across the point, for functions that are smooth there. */
Slope slope_central(const Samples *s);
/* From differences on one side. */
Slope slope_side(const Samples *s, bool plus);
/* Can `have` be the derivative within a relative tolerance? At a kink, any value
 * between the slopes of the two sides can. `slack` is the error of `have` itself. *want
 * is the best estimate. */
bool slope_agrees(const Samples *s, double have, double tolerance, double slack,
                  Slope *want);

#endif
