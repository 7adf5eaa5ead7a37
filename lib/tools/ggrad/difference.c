/* Richardson's extrapolation. Column 0 of the table holds the differences; column k is
 * the value at step 0 of a polynomial through k + 1 of them. Large steps err by
 * curvature, small ones by rounding: the entry chosen is the one that agrees best with
 * its neighbours, including that of a smaller step, so that a period of the function
 * that happens to match the steps can't mislead. */
#include "tools/ggrad/difference.h"

#include <math.h>

enum { COLUMNS = 4 };

/* The uncertainty of the values: from their size, from the rounding of the arguments,
 * and from their scatter at small steps, where they should fall with a power of the
 * step. */
static double noise_of_differences(const Samples *s, const double *d,
                                   const double *even) {
    double n = s->noise;
    size_t few = s->n / 6 > 2 ? s->n / 6 : 2;
    for (size_t j = s->n > few ? s->n - few : 1; j < s->n; j++) {
        double ratio = s->step[j] / s->step[j - 1],
               odd = s->step[j] * (d[j] - d[j - 1]),
               bend = even ? even[j] - even[j - 1] * ratio * ratio : 0;
        if (!isfinite(odd + bend)) continue;
        n = fmax(n, fmax(fabs(odd), fabs(bend)));
        n = fmax(n, s->ulp * fabs(d[j]));
    }
    return n;
}

/* Differences at steps smaller than number j approach the slope, each change smaller
 * than the one before, up to rounding. Where a wave is a few steps long the scatter of
 * the smallest is the wave's own, so that no more rounding counts than what shaking the
 * arguments explains. */
static bool fits_smaller(const Samples *s, const double *d, size_t j, double v,
                         double rounding) {
    rounding = fmin(rounding, 2 * s->noise);
    for (size_t i = j + 1; i < s->n; i++) {
        double change = fabs(d[i] - d[i - 1]), noise = 4 * rounding / s->step[i];
        if (fabs(v - d[i]) > change + noise) return false;
        if (i > j + 1 && change > 0.8 * fabs(d[i - 1] - d[i - 2]) + noise) return false;
    }
    return true;
}

/* order: the power of the step in the leading error term, and between terms. */
static Slope extrapolate_slope(const Samples *s, const double *d, const double *even,
                               int order) {
    double t[COLUMNS][DIFFERENCE_STEPS], rounding;
    if (s->n < 3) return (Slope){(double)NAN, (double)INFINITY};
    rounding = noise_of_differences(s, d, even);
    Slope best = {(double)NAN, (double)INFINITY};
    for (size_t j = 0; j < s->n; j++) {
        t[0][j] = d[j];
        for (size_t k = 1; k < COLUMNS; k++) {
            t[k][j] = (double)NAN;
            if (k > j) continue;
            double ratio = pow(s->step[j - k] / s->step[j], order);
            t[k][j] = t[k - 1][j] + (t[k - 1][j] - t[k - 1][j - 1]) / (ratio - 1);
        }
    }
    for (size_t j = s->n - 1; j-- > 1;)
        for (size_t k = 1; k < COLUMNS && k <= j; k++) {
            double v = t[k][j], error = fabs(v - t[k - 1][j]);
            error = fmax(error, fabs(v - t[k - 1][j - 1]));
            error = fmax(error, fabs(v - t[k][j + 1])) + 2 * rounding / s->step[j];
            bool whole = isfinite(v) && isfinite(t[k - 1][j - 1]) &&
                         isfinite(t[k - 1][j]) && isfinite(t[k][j + 1]);
            if (whole && error < best.error && fits_smaller(s, d, j, v, rounding))
                best = (Slope){v, error};
        }
    return best;
}

Slope slope_central(const Samples *s) {
    double d[DIFFERENCE_STEPS], even[DIFFERENCE_STEPS];
    for (size_t j = 0; j < s->n; j++) {
        d[j] = (s->plus[j] - s->minus[j]) / (2 * s->step[j]);
        even[j] = (s->plus[j] + s->minus[j]) / 2 - s->here;
    }
    return extrapolate_slope(s, d, even, 2);
}

Slope slope_side(const Samples *s, bool plus) {
    double d[DIFFERENCE_STEPS];
    for (size_t j = 0; j < s->n; j++)
        d[j] = (plus ? s->plus[j] - s->here : s->here - s->minus[j]) / s->step[j];
    return extrapolate_slope(s, d, NULL, 1);
}

static double off_by(Slope s, double have, double tolerance, double slack) {
    double near = tolerance * fmax(fabs(have), fabs(s.value)) + 3 * s.error + slack;
    return fabs(have - s.value) - near;
}

/* Compares with the slopes on both sides. Two that certainly differ make a kink; if one
 * is far better known than the other, the point lies next to a jump or an edge of the
 * domain. */
static bool agrees_at_kink(Slope a, Slope b, bool smooth, double have, double tolerance,
                           double slack) {
    bool left = off_by(a, have, tolerance, slack) <= 0,
         right = off_by(b, have, tolerance, slack) <= 0;
    if (a.error * 10 < b.error) return left && !smooth;
    if (b.error * 10 < a.error) return right && !smooth;
    bool differ = fabs(a.value - b.value) > 10 * (a.error + b.error);
    double low = fmin(a.value, b.value), high = fmax(a.value, b.value);
    return (left || right) ? differ || !smooth : differ && have >= low && have <= high;
}

bool slope_agrees(const Samples *s, double have, double tolerance, double slack,
                  Slope *want) {
    Slope c = slope_central(s), a = slope_side(s, false), b = slope_side(s, true);
    Slope side = a.error < b.error ? a : b;
    bool smooth = !(side.error * 10 < c.error);
    *want = smooth ? c : side;
    if (!isfinite(want->error)) return true; /* no information */
    return (smooth && off_by(c, have, tolerance, slack) <= 0) ||
           agrees_at_kink(a, b, smooth, have, tolerance, slack);
}
