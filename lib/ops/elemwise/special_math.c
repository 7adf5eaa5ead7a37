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

/* a^-s for a > 0; small whole exponents are products, with as many errors as pow has.
 */
static double reciprocal_power(double a, double s) {
    double square = a * a;
    if (s > 4 || s != rint(s) || a < 1e-75 || a > 1e75) return pow(a, -s);
    return 1 / (s == 4 ? square * square : s == 3 ? square * a : s == 2 ? square : a);
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
        double term = reciprocal_power(a, s);
        sum += term;
        if (term < sum * 0x1p-60) return sum;
    }
    double power = reciprocal_power(a, s), term = power * s / a;
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

/* ---- the normal distribution ---- */
/* e^(x^2) erfc(x) for x >= 0. */
static long double scaled_erfc(long double x) {
    if (x < 8) return expl(x * x) * erfcl(x);
    long double f = x; /* the continued fraction x + (1/2) / (x + 1 / (x + ...)) */
    for (int k = 60; k > 0; k--)
        f = x + k / 2.0L / f;
    return 0.5641895835477562869480794515607726L / f;
}

double elemwise_erfcx(double x) {
    long double z = (long double)x;
    return (double)(x < 0 ? 2 * expl(z * z) - scaled_erfc(-z) : scaled_erfc(z));
}

#define SQRT_HALF 0.7071067811865475244008443621048490L

double elemwise_ndtr(double x) {
    return (double)(erfcl(-(long double)x * SQRT_HALF) / 2);
}

double elemwise_log_ndtr(double x) {
    long double z = (long double)x * SQRT_HALF;
    if (x > -1) return (double)log1pl(-erfcl(z) / 2);
    if (isinf(x)) return x;
    return (double)(logl(scaled_erfc(-z) / 2) - z * z);
}

/* By Newton's method, for which log_ndtr is concave, from its leading term; near 0 from
 * the probability on the other side. */
double elemwise_ndtri_exp(double y) {
    if (!(y < 0)) return y == 0 ? (double)INFINITY : (double)NAN;
    if (isinf(y)) return y;
    if (y > -0.1) return 1.4142135623730951 * elemwise_erfcinv(-2 * expm1(y));
    double x = y < -1e15 ? -sqrt(-2 * y)
                         : -sqrt(fmax(-2 * y - log(6.283185307179586 - 2 * y), 0));
    for (int i = 0; i < 50; i++) {
        double slope = 0.7978845608028654 / elemwise_erfcx(-0.7071067811865476 * x),
               step = (elemwise_log_ndtr(x) - y) / slope;
        x -= step;
        if (!(fabs(step) > 1e-16 * fabs(x))) break;
    }
    return x;
}

/* The integral of e^(-h^2 (1 + t^2) / 2) / (1 + t^2) from 0 to a <= 1, divided by 2 pi,
 * by Gauss and Legendre's rule of 10 points, where the exponential is not negligible.
 */
static double owens_integral(double h, double a) {
    static const double x[] = {0.1488743389816312108848, 0.4333953941292471907993,
                               0.6794095682990244062343, 0.8650633666889845107321,
                               0.973906528517171720078},
                        w[] = {0.2955242247147528701739, 0.2692667193099963550912,
                               0.2190863625159820439955, 0.1494513491505805931458,
                               0.06667134430868813759357};
    enum { PANELS = 12 };
    double end = a * h > 9 ? 9 / h : a, half = end / (2 * PANELS), sum = 0;
    for (int i = 0; i < PANELS; i++)
        for (int k = 0; k < 10; k++) {
            double t = half * (2 * i + 1 + (k < 5 ? x[k] : -x[k - 5]));
            sum += w[k % 5] * exp(-h * h * t * t / 2) / (1 + t * t);
        }
    return exp(-h * h / 2) * sum * half / 6.283185307179586;
}

double elemwise_owens_t(double h, double a) {
    double g = fabs(h), b = fabs(a), r;
    if (isnan(h) || isnan(a)) return (double)NAN;
    if (b <= 1) {
        r = isinf(h) ? 0 : owens_integral(g, b);
    } else { /* T(h, a) + T(a h, 1 / a) = (p + q) / 2 - p q */
        double p = elemwise_ndtr(-g), q = g == 0 ? 0.5 : elemwise_ndtr(-g * b),
               rest = isinf(b) || isinf(h) ? 0 : owens_integral(g * b, 1 / b);
        r = (p + q) / 2 - p * q - (g == 0 && isinf(b) ? 0 : rest);
    }
    return a < 0 ? -r : r;
}

/* ---- zeta and exponential integrals ---- */
double elemwise_zeta(double s, double q) {
    if (isnan(s) || isnan(q) || s < 1) return (double)NAN;
    if (s == 1 || (q <= 0 && rint(q) == q)) return (double)INFINITY;
    if (q < 0 && rint(s) != s) return (double)NAN;
    if (isinf(q)) return 0;
    return q > 0 ? hurwitz_zeta(s, q) : zeta_below(s, q, fmod(s, 2) == 0);
}

/* E_n(x) from its power series (DLMF 8.19.8), for a whole n > 0 and 0 < x <= 1. */
static long double small_expn(int n, long double x) {
    long double power = 1, sum = 0;
    for (int k = 0; k < 100; k++) {
        if (k != n - 1) sum -= power / (k - n + 1);
        power *= -x / (k + 1);
        if (k > n && fabsl(power) < 1e-22L * fabsl(sum)) break;
    }
    long double psi = -0.577215664901532860606512090082402L, term = 1;
    for (int k = 1; k < n; k++) {
        psi += 1.0L / k;
        term *= -x / k;
    }
    return term * (psi - logl(x)) + sum;
}

/* ... and from its continued fraction (8.19.17), for x > 1 or a large n. */
double elemwise_expn(double n, double x) {
    if (isnan(x) || !(n >= 0) || rint(n) != n || x < 0) return (double)NAN;
    if (x == 0) return n > 1 ? 1 / (n - 1) : (double)INFINITY;
    if (n == 0) return exp(-x) / x;
    if (isinf(x) || isinf(n)) return 0;
    long double z = (long double)x;
    if (x <= 1 && n < 50) return (double)small_expn((int)n, z);
    return (double)(expl(-z) * elemwise_gamma_fraction(1 - (long double)n, z));
}
