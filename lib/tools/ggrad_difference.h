/* Derivatives of what can only be evaluated: differences at many steps, extrapolated to
 * the step 0, with an estimate of how far off that is. */
#ifndef TOOLS_GGRAD_DIFFERENCE_H
#define TOOLS_GGRAD_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

enum { DIFFERENCE_STEPS = 48 };
/* Values around one point: at its sides, for steps that become smaller. What is not
 * finite is left out. */
typedef struct Samples {
    size_t n;
    const double *step;         /* positive, each less than the one before */
    const double *plus, *minus; /* the values at + and - step */
    double here;                /* the value at the point itself */
    double eps;                 /* relative rounding error of the values */
    double ulp;                 /* absolute one of the number that moves */
} Samples;
typedef struct Slope {
    double value, error; /* error: an estimate; INFINITY: nothing can be said */
} Slope;
/* By differences across the point: for what is smooth there. */
Slope slope_central(const Samples *s);
/* By differences on one side of it. */
Slope slope_side(const Samples *s, bool plus);
/* Can `have` be the derivative to within a relative tolerance? At a kink everything
 * between the slopes of its sides can. `slack` is an error of `have` itself. *want is
 * the best estimate. */
bool slope_agrees(const Samples *s, double have, double tolerance, double slack,
                  Slope *want);

#endif
