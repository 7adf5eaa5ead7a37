/* Special functions missing from the C library. digamma and polygamma: recurrence up to
 * where the asymptotic series (Euler-Maclaurin) holds, reflection below zero. erfinv: a
 * good initial guess and Halley's method, applied to whichever of erf and erfc keeps
 * its relative accuracy. */
#include "ops/elemwise/special.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define PI 3.14159265358979323846L

double elemwise_gammaln(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* In long double, because the sums cancel near the root 1.46. */
static long double digamma_positive(long double x) {
    static const long double b[] = {1.0L / 12,   -1.0L / 120, 1.0L / 252,
                                    -1.0L / 240, 1.0L / 132,  -691.0L / 32760,
                                    1.0L / 12};
    long double sum = 0;
    for (; x < 15; x += 1)
        sum -= 1 / x;
    long double z = 1 / (x * x), tail = 0;
    for (size_t i = sizeof b / sizeof *b; i-- > 0;)
        tail = (tail + b[i]) * z;
    return sum + (logl(x) - 0.5L / x - tail);
}
double elemwise_digamma(double x) {
    if (x == 0) return copysign((double)INFINITY, -x);
    if (x > 0)
        return x < (double)INFINITY ? (double)digamma_positive((long double)x) : x;
    double part = x - rint(x);
    if (part == 0 || isnan(part))
        return (double)NAN; /* non-positive integers, -inf,
                             * nan */
    long double turn = PI * (long double)part;
    return (double)(digamma_positive(1 - (long double)x) -
                    PI * cosl(turn) / sinl(turn));
}

/* Hurwitz' zeta(s, q), the sum of (q + i)^-s over i >= 0, for s > 1, q > 0. */
static double hurwitz_zeta(double s, double q) {
    static const double b[] = {
        /* Bernoulli numbers B(2k) / (2k)! */
        0.08333333333333333,    -0.001388888888888889,   3.306878306878307e-05,
        -8.267195767195768e-07, 2.08767569878681e-08,    -5.284190138687493e-10,
        1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
        -2.174868698558062e-16, 5.5090028283602295e-18,  -1.3954464685812522e-19};
    double sum = 0, a = q;
    for (; a < 12 + s && a < q + 200; a += 1) {
        double term = pow(a, -s);
        sum += term;
        if (term < sum * 0x1p-60) return sum;
    }
    double power = pow(a, -s), term = power * s / a;
    sum += power * a / (s - 1) + 0.5 * power;
    for (size_t k = 0; k < sizeof b / sizeof *b; k++) {
        double step = b[k] * term;
        sum += step;
        if (fabs(step) < fabs(sum) * 0x1p-60) break;
        term *= (s + 2 * (double)k + 1) * (s + 2 * (double)k + 2) / (a * a);
    }
    return sum;
}
/* The sum over all i where q < 0: the terms on both sides of zero. */
static double zeta_below(double s, double q, bool even) {
    double part = q - rint(q); /* exact */
    if (part == 0 || isnan(part)) return even ? (double)INFINITY : (double)NAN;
    double up = part > 0 ? part : 1 + part, down = part > 0 ? 1 - part : -part;
    double below = hurwitz_zeta(s, down) - hurwitz_zeta(s, 1 - q);
    return hurwitz_zeta(s, up) + (even ? below : -below);
}
double elemwise_polygamma(double n, double x) {
    if (n == 0) return elemwise_digamma(x);
    if (!(n > 0) || rint(n) != n || x != x) return (double)NAN;
    bool odd = fmod(n, 2) != 0; /* then s = n + 1 is even */
    if (x == 0) return odd ? (double)INFINITY : copysign((double)INFINITY, -x);
    if (x == (double)INFINITY) return 0;
    double z = x > 0 ? hurwitz_zeta(n + 1, x) : zeta_below(n + 1, x, odd);
    double r = n < 150 ? tgamma(n + 1) * z : exp(elemwise_gammaln(n + 1) + log(z));
    return odd ? r : -r;
}

/* x with erf(x) = y, erfc(x) = c, where y = 1 - c >= 0: Winitzki's approximation (to
 * 2e-3), then three third-order steps. */
static double erf_solve(double y, double c) {
    double l = log(c * (1 + y)), h = 4.33075076 + 0.5 * l;
    double x = sqrt(sqrt(h * h - l / 0.147) - h);
    for (int i = 0; i < 3; i++) {
        double miss = y < 0.5 ? erf(x) - y : c - erfc(x);
        double step = miss / (1.1283791670955126 * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return x;
}
double elemwise_erfinv(double y) {
    double a = fabs(y);
    if (!(a < 1)) return a == 1 ? copysign((double)INFINITY, y) : (double)NAN;
    if (a < 1e-8) return 0.886226925452758 * y;
    return copysign(erf_solve(a, 1 - a), y);
}
double elemwise_erfcinv(double y) {
    if (!(y > 0 && y < 2))
        return y == 0 ? (double)INFINITY : y == 2 ? -(double)INFINITY : (double)NAN;
    if (fabs(1 - y) < 1e-8) return 0.886226925452758 * (1 - y);
    return y < 1 ? erf_solve(1 - y, y) : -erf_solve(y - 1, 2 - y);
}
