/* Gamma, von Mises and Zipf draws by rejection. Element i uses only its own words
 * (value/rng.h), so it depends only on the state, i and its own parameters. */
#include "ops/random/reject.h"

#include "ops/random/chances.h"

#include <math.h>

/* ---- gamma: shapes below 1 by gamma(k) = gamma(k + 1) u^(1/k) ---- */
static size_t make_gamma(const double *p, double *made) {
    double k = made[SHAPE] = *p, d = (k < 1 ? k + 1 : k) - 1.0 / 3;
    made[FACTOR] = d;
    made[SLOPE] = 1 / sqrt(9 * d);
    return 2; /* two tries, or one and the power */
}

static double gamma_from_1(Words *w, const double *made) {
    for (;;) {
        double x = words_normal(w);
        if (1 + made[SLOPE] * x <= 0) continue;
        double u = words_unit(w), g = try_squeeze(u, x, made);
        if (isnan(g)) g = try_tsang(u, x, made);
        if (!isnan(g)) return g;
    }
}

/* Of g, a draw of the shape from 1 on, and u, for a smaller one. */
static double gamma_below_1(double g, double u, double k) {
    return g * pow(u, 1 / k);
}
static double one_gamma(Words *w, const double *made) {
    double k = made[SHAPE], g = gamma_from_1(w, made);
    return k >= 1 ? g : gamma_below_1(g, words_unit(w), k);
}

static void try_gamma(const Ahead *q, double *out) {
    tries_loops(q)->gamma(q, out);
    for (size_t i = 0; i < q->n; i++)
        if (q->made[SHAPE + i] < 1)
            out[i] =
                gamma_below_1(out[i], unit_of(q->word[2 * i + 1]), q->made[SHAPE + i]);
}

/* The logarithm of a gamma draw, for draws too small for a float. */
#define make_loggamma make_gamma
static double one_loggamma(Words *w, const double *made) {
    double k = made[SHAPE], g = gamma_from_1(w, made);
    return loggamma(g, k < 1 ? words_unit(w) : 1, k);
}

static void try_loggamma(const Ahead *q, double *out) {
    tries_loops(q)->loggamma(q, out);
}

/* ---- von Mises: Best and Fisher, "Efficient simulation of the von Mises
 * distribution", 1979. Their r is 1/k + k to first order where k is small; where it is
 * large the distribution is normal. ---- */
enum { KAPPA = 0 * ELEMENTS, FOCUS = 1 * ELEMENTS };
static size_t make_vonmises(const double *p, double *made) {
    double k = made[KAPPA] = *p, tau = 1 + sqrt(1 + 4 * k * k),
           rho = (tau - sqrt(2 * tau)) / (2 * k);
    made[FOCUS] = k < 1e-5 ? 1 / k + k : (1 + rho * rho) / (2 * rho);
    return 4;
}

static double one_vonmises(Words *w, const double *made) {
    const double pi = 3.141592653589793;
    double k = made[KAPPA], s = made[FOCUS];
    if (k < 1e-8) return pi * (2 * words_unit(w) - 1);
    if (k > 1e6) {
        double x = words_normal(w) / sqrt(k);
        return x < -pi ? -pi : x > pi ? pi : x;
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
enum {
    ABOVE_1 = 0 * ELEMENTS,
    POWER = 1 * ELEMENTS,
    POWER_LESS_1 = 2 * ELEMENTS,
    LEAST = 3 * ELEMENTS
};
static size_t make_zipf(const double *p, double *made) {
    double a1 = made[ABOVE_1] = *p - 1;
    made[POWER] = exp2(a1);
    made[POWER_LESS_1] = expm1(a1 * 0.6931471805599453);
    made[LEAST] = exp2(-63 * a1);
    return 2;
}

static double one_zipf(Words *w, const double *made) {
    double a1 = made[ABOVE_1], b = made[POWER], b1 = made[POWER_LESS_1],
           least = made[LEAST];
    if (a1 >= 1024) return 1;
    for (;;) {
        double u = least + (1 - least) * words_unit(w), v = words_unit(w);
        double x = floor(pow(u, -1 / a1)), t1 = expm1(a1 * log1p(1 / x));
        if (x < 0x1p63 && v * x * t1 / b1 <= (1 + t1) / b) return x;
    }
}

/* ---- draws, and checks of their parameters ---- */
WORDS_DRAW(gamma, try_gamma, true, NULL)
WORDS_DRAW(loggamma, try_loggamma, true, NULL)
WORDS_DRAW(vonmises, NULL, false, NULL)
WORDS_DRAW(zipf, NULL, false, NULL)

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
