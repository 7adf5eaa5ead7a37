/* Gamma, von Mises and Zipf draws by rejection. Element i uses only its own words
 * (value/rng.h), so it depends only on the state, i and its own parameters. */
#include "ops/random/reject.h"

#include "ops/random/words.h"

#include <math.h>

/* ---- gamma: Marsaglia and Tsang, "A simple method for generating gamma variables",
 * 2000; shapes below 1 by gamma(k) = gamma(k + 1) u^(1/k) ---- */
static double gamma_from_1(Words *w, double k) {
    double d = k - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = words_normal(w), t = 1 + c * x, v = t * t * t;
        if (v <= 0) continue;
        double u = words_unit(w), square = x * x;
        /* This implies what is tested below, and mostly spares its logarithms. */
        if (u < 1 - 0.0331 * square * square) return d * v;
        if (log(u) < 0.5 * square + d - d * v + d * log(v)) return d * v;
    }
}

static double one_gamma(Words *w, const double *p) {
    double k = *p;
    if (k == 0 || isinf(k)) return k;
    if (k >= 1) return gamma_from_1(w, k);
    double g = gamma_from_1(w, k + 1);
    return g * pow(words_unit(w), 1 / k);
}

/* The logarithm of a gamma draw, for draws too small for a float. */
static double one_loggamma(Words *w, const double *p) {
    double k = *p;
    if (k == 0 || isinf(k)) return log(k);
    if (k >= 1) return log(gamma_from_1(w, k));
    double g = gamma_from_1(w, k + 1);
    return log(g) + log(words_unit(w)) / k;
}

/* ---- von Mises: Best and Fisher, "Efficient simulation of the von Mises
 * distribution", 1979. Their r is 1/k + k to first order where k is small; where it is
 * large the distribution is normal. ---- */
static double one_vonmises(Words *w, const double *p) {
    const double pi = 3.141592653589793;
    double k = *p, s;
    if (k < 1e-8) return pi * (2 * words_unit(w) - 1);
    if (k > 1e6) {
        double x = words_normal(w) / sqrt(k);
        return x < -pi ? -pi : x > pi ? pi : x;
    }
    if (k < 1e-5) {
        s = 1 / k + k;
    } else {
        double tau = 1 + sqrt(1 + 4 * k * k), rho = (tau - sqrt(2 * tau)) / (2 * k);
        s = (1 + rho * rho) / (2 * rho);
    }
    for (;;) {
        double z = cos(pi * words_unit(w)), f = (1 + s * z) / (s + z), c = k * (s - f),
               v = words_unit(w);
        if (c * (2 - c) - v < 0 && log(c / v) + 1 - c < 0) continue;
        double angle = acos(fmax(-1, fmin(1, f)));
        return words_unit(w) < 0.5 ? -angle : angle;
    }
}

/* ---- Zipf: Devroye, "Non-uniform random variate generation", 1986, X.6.1, with u
 * bounded so that draws stay below 2^63 ---- */
static double one_zipf(Words *w, const double *p) {
    double a1 = *p - 1;
    if (a1 >= 1024) return 1;
    double b = exp2(a1), b1 = expm1(a1 * 0.6931471805599453), least = exp2(-63 * a1);
    for (;;) {
        double u = least + (1 - least) * words_unit(w), v = words_unit(w);
        double x = floor(pow(u, -1 / a1)), t1 = expm1(a1 * log1p(1 / x));
        if (x < 0x1p63 && v * x * t1 / b1 <= (1 + t1) / b) return x;
    }
}

/* ---- draws, and checks of their parameters ---- */
WORDS_DRAW(gamma)
WORDS_DRAW(loggamma)
WORDS_DRAW(vonmises)
WORDS_DRAW(zipf)

static bool not_negative(const double *p) {
    return *p >= 0;
}
static bool above_1(const double *p) {
    return *p > 1;
}

bool check_gamma(Call *c, const Draw *w) {
    return words_check(c, w, not_negative,
                       "the shape of a gamma distribution must be at least 0");
}
bool check_vonmises(Call *c, const Draw *w) {
    return words_check(c, w, not_negative,
                       "kappa of a von Mises distribution must be at least 0");
}
bool check_zipf(Call *c, const Draw *w) {
    return words_check(c, w, above_1,
                       "the exponent of a Zipf distribution must be above 1");
}
