/* Tries of draws by rejection: branch-free C, which loops of vectors and single
 * elements share. Rejection compares probabilities; their logarithms follow Loader
 * ("Fast and accurate computation of binomial probabilities", 2000), which avoids
 * differences of large log-factorials. */
#ifndef OPS_RANDOM_CHANCES_H
#define OPS_RANDOM_CHANCES_H

#define ROUND_EACH
#include "base/math64.h"
#include "ops/random/tries.h"

/* yes ? a : b, of which both are worked out: gcc doesn't vectorise loads from tables
 * that depend on a condition. */
VINLINE double choose(bool yes, double a, double b) {
    uint64_t mask = UINT64_C(0) - yes;
    return bits_f64((f64_bits(a) & mask) | (f64_bits(b) & ~mask));
}

/* Gamma draws of shapes from 1 on, of a normal and a uniform number: Marsaglia and
 * Tsang, "A simple method for generating gamma variables", 2000. The first test implies
 * the second, and mostly spares its logarithms. */
VINLINE double try_squeeze(double u, double x, const double *made) {
    double t = 1 + made[SLOPE] * x, v = t * t * t, square = x * x;
    bool ok = (v > 0) & (u < 1 - 0.0331 * square * square);
    return choose(ok, made[FACTOR] * v, (double)NAN);
}
VINLINE double try_tsang(double u, double x, const double *made) {
    double d = made[FACTOR], t = 1 + made[SLOPE] * x, v = t * t * t;
    bool ok = log_f64(u) < 0.5 * x * x + d - d * v + d * log_f64(v);
    return choose((v > 0) & ok, d * v, (double)NAN);
}

/* The logarithm of a gamma draw of shape k, of g, the draw of the shape from 1 on, and
 * u. */
VINLINE double loggamma(double g, double u, double k) {
    return log_f64(g) + (k < 1 ? log_f64(u) / k : 0);
}

/* log(n!) - log(sqrt(2 pi n) (n/e)^n) for integer n > 0; 0 for 0. */
VINLINE double stirling_error(double n) {
    enum { EXACT = 16 };
    static const double exact[EXACT] = {
        0,
        0.081061466795327261,
        0.041340695955409297,
        0.027677925684998338,
        0.020790672103765093,
        0.016644691189821193,
        0.013876128823070748,
        0.01189670994589177,
        0.010411265261972096,
        0.0092554621827127329,
        0.0083305634333628708,
        0.0075736754879518406,
        0.0069428401072095299,
        0.0064089941880042071,
        0.0059513701127588475,
        0.0055547335519628011,
    };
    double m = n * n, near = exact[f64_bits(n + 0x1p52) % EXACT];
    double far =
        (1. / 12 - (1. / 360 - (1. / 1260 - (1. / 1680 - 1. / 1188 / m) / m) / m) / m) /
        n;
    return choose(n < EXACT, near, far);
}

/* x log(x / mean) + mean - x, near the mean by the series of the inverse hyperbolic
 * tangent. */
VINLINE double poisson_deviance(double x, double mean) {
    double d = x - mean, sum = x + mean, v = d / sum, z = v * v;
    double q = 1. / 21;
    q = MADD64(q, z, 1. / 19);
    q = MADD64(q, z, 1. / 17);
    q = MADD64(q, z, 1. / 15);
    q = MADD64(q, z, 1. / 13);
    q = MADD64(q, z, 1. / 11);
    q = MADD64(q, z, 1. / 9);
    q = MADD64(q, z, 1. / 7);
    q = MADD64(q, z, 1. / 5);
    q = MADD64(q, z, 1. / 3);
    double near = d * v + 2 * x * v * z * q;
    double far = x > 0 ? x * log_positive64(x > 0 ? x / mean : 1) - d : mean;
    return fabs(d) < 0.1 * sum ? near : far;
}

VINLINE double log_poisson(double k, double lam) {
    double r = -stirling_error(k) - poisson_deviance(k, lam) -
               0.5 * log_positive64(6.283185307179586 * k);
    return choose(k == 0, -lam, r);
}

VINLINE double log_binomial(double k, double n, double p) {
    double q = 1 - p, other = n - k, both = k * other;
    double root = 0.5 * log_positive64(both > 0 ? n / (6.283185307179586 * both) : 1);
    return stirling_error(n) - stirling_error(k) - stirling_error(other) -
           poisson_deviance(k, n * p) - poisson_deviance(other, n * q) + root;
}

/* log(P(k)) up to a constant: P(k) is b(k; good) b(draws - k; bad) / b(draws; all). */
VINLINE double log_hyper(double k, double good, double bad, double draws) {
    double p = draws / (good + bad);
    return log_binomial(k, good, p) + log_binomial(draws - k, bad, p);
}

/* ---- the transformed rejection of Hoermann, "The transformed rejection method for
 * generating Poisson random variables" (PTRS) and "The generation of binomial random
 * variates" (BTRS), 1993: a point below a hat, whose inner part needs no test. Each
 * takes two uniform numbers and returns the count, or nan. ---- */
typedef struct Below {
    double k, v, us; /* us: how far from the ends */
    bool inner;
} Below;
VINLINE Below below_hat(double unit, double v, const double *made) {
    double u = unit - 0.5, us = 0.5 - fabs(u);
    double k =
        floor((2 * made[TAIL] / us + made[WIDTH]) * u + made[FROM] + made[FROM_2]);
    return (Below){k, v, us, (us >= 0.07) & (v <= made[INNER])};
}
/* The point's height, to be compared with the logarithm of a probability. */
VINLINE double log_height(Below at, const double *made) {
    double hat = made[TAIL] / (at.us * at.us) + made[WIDTH];
    return log_positive64(at.v * made[ALPHA] / hat);
}

VINLINE double try_inner(double unit, double v, const double *made) {
    Below at = below_hat(unit, v, made);
    return at.inner ? at.k : (double)NAN;
}

VINLINE double try_ptrs(double unit, double v, const double *made) {
    Below at = below_hat(unit, v, made);
    bool in = (at.k >= 0) & !((at.us < 0.013) & (v > at.us));
    bool ok = log_height(at, made) <= log_poisson(choose(in, at.k, 1), made[MEAN]);
    return choose(at.inner | (in & ok), at.k, (double)NAN);
}

/* p of the rarer of success and failure. */
VINLINE double rarer_chance(const double *made) {
    double p = made[CHANCE];
    return choose(p > 0.5, 1 - p, p);
}
VINLINE double log_at_mode(const double *made) {
    double n = made[TRIALS], p = rarer_chance(made);
    return log_binomial(floor((n + 1) * p), n, p);
}
VINLINE double try_btrs(double unit, double v, const double *made, double at_mode) {
    Below at = below_hat(unit, v, made);
    double n = made[TRIALS], p = rarer_chance(made);
    bool in = (at.k >= 0) & (at.k <= n);
    double chance = log_binomial(choose(in, at.k, 0), n, p) - at_mode;
    bool ok = log_height(at, made) <= chance;
    return choose(at.inner | (in & ok), at.k, (double)NAN);
}
VINLINE double try_btrs_shared(double unit, double v, const double *made) {
    return try_btrs(unit, v, made, made[AT_MODE]);
}
VINLINE double try_btrs_each(double unit, double v, const double *made) {
    return try_btrs(unit, v, made, log_at_mode(made));
}

/* The ratio of uniforms HRUA of Stadlober, "The ratio of uniforms approach for
 * generating discrete random variates", 1990. */
VINLINE double try_hrua(double u, double v, const double *made) {
    double good = made[RARE_ONES], bad = made[ALL] - good, draws = made[FEW_DRAWS];
    double k = floor(made[CENTRE] + made[SPREAD] * (v - 0.5) / u);
    bool in = (k >= 0) & (k <= draws) & (k <= good);
    bool ok = 2 * log_positive64(u) <=
              log_hyper(choose(in, k, 0), good, bad, draws) - made[MOST];
    return choose(in & ok, k, (double)NAN);
}

#endif
