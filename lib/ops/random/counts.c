/* Poisson, binomial and hypergeometric draws. Rejection compares probabilities; their
 * logarithms follow Loader ("Fast and accurate computation of binomial probabilities",
 * 2000), which avoids differences of large log-factorials. */
#include "ops/random/reject.h"
#include "ops/random/words.h"

#include <math.h>

/* ---- probabilities ---- */
/* log(n!) - log(sqrt(2 pi n) (n/e)^n) for integer n > 0. */
static double stirling_error(double n) {
    static const double exact[] = {
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
    double m = n * n;
    if (n < 16) return exact[(int)n];
    return (1. / 12 -
            (1. / 360 - (1. / 1260 - (1. / 1680 - 1. / 1188 / m) / m) / m) / m) /
           n;
}

/* x log(x / mean) + mean - x. */
static double poisson_deviance(double x, double mean) {
    double d = x - mean, sum = x + mean;
    if (fabs(d) >= 0.1 * sum) return x * log(x / mean) - d;
    double v = d / sum, total = d * v, term = 2 * x * v;
    for (int k = 3;; k += 2) {
        term *= v * v;
        double next = total + term / k;
        if (next == total) return total;
        total = next;
    }
}

static double log_poisson(double k, double lam) {
    if (k == 0) return -lam;
    return -stirling_error(k) - poisson_deviance(k, lam) -
           0.5 * log(6.283185307179586 * k);
}

static double log_binomial(double k, double n, double p) {
    double q = 1 - p, other = n - k;
    if (k == 0) return n * log1p(-p);
    if (other == 0) return n * log(p);
    return stirling_error(n) - stirling_error(k) - stirling_error(other) -
           poisson_deviance(k, n * p) - poisson_deviance(other, n * q) +
           0.5 * log(n / (6.283185307179586 * k * other));
}

/* ---- Poisson: by multiplication below 10, else the transformed rejection PTRS of
 * Hoermann, "The transformed rejection method for generating Poisson random
 * variables", 1993 ---- */
static double poisson_small(Words *w, double lam) {
    double limit = exp(-lam), p = 1, k = -1;
    do {
        k++;
        p *= words_unit(w);
    } while (p > limit);
    return k;
}

static double poisson_large(Words *w, double lam) {
    double b = 0.931 + 2.53 * sqrt(lam), a = -0.059 + 0.02483 * b,
           alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = words_unit(w) - 0.5, v = words_unit(w), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + lam + 0.43);
        if (us >= 0.07 && v <= vr) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v * alpha / (a / (us * us) + b)) <= log_poisson(k, lam)) return k;
    }
}

static double one_poisson(Words *w, const double *p) {
    double lam = *p;
    return lam == 0 ? 0 : lam < 10 ? poisson_small(w, lam) : poisson_large(w, lam);
}

/* ---- binomial: inversion where n p < 10, else BTRS of Hoermann, "The generation of
 * binomial random variates", 1993 ---- */
static double binomial_inversion(Words *w, double n, double p) {
    double q = 1 - p, s = p / q, a = (n + 1) * s;
    for (;;) {
        double f = exp(n * log1p(-p)), u = words_unit(w);
        for (double k = 0; k <= n && k < 1100; k++) {
            if (u < f) return k;
            u -= f;
            f *= a / (k + 1) - s;
        }
    }
}

static double binomial_rejection(Words *w, double n, double p) {
    double spq = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spq,
           a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, vr = 0.92 - 4.2 / b,
           alpha = (2.83 + 5.1 / b) * spq;
    double most = log_binomial(floor((n + 1) * p), n, p);
    for (;;) {
        double u = words_unit(w) - 0.5, v = words_unit(w), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (us >= 0.07 && v <= vr) return k;
        if (k < 0 || k > n) continue;
        if (log(v * alpha / (a / (us * us) + b)) <= log_binomial(k, n, p) - most)
            return k;
    }
}

static double one_binomial(Words *w, const double *par) {
    double n = par[0], p = par[1];
    if (p > 0.5) return n - one_binomial(w, (const double[]){n, 1 - p});
    if (n == 0 || p == 0) return 0;
    return n * p < 10 ? binomial_inversion(w, n, p) : binomial_rejection(w, n, p);
}

/* ---- hypergeometric: one at a time below 10 draws, else the ratio of uniforms HRUA of
 * Stadlober, "The ratio of uniforms approach for generating discrete random variates",
 * 1990. Counts the rarer of good and bad, among the fewer of the drawn and the left.
 * ---- */
static double good_one_by_one(Words *w, double good, double all, double draws) {
    double found = 0;
    for (; draws > 0; draws--, all--)
        if (words_unit(w) * all < good - found) found++;
    return found;
}

/* log(P(k)) up to a constant: P(k) is b(k; good) b(draws - k; bad) / b(draws; all). */
static double log_hyper(double k, double good, double bad, double draws) {
    double p = draws / (good + bad);
    return log_binomial(k, good, p) + log_binomial(draws - k, bad, p);
}

static double good_by_ratio(Words *w, double good, double all, double draws) {
    double p = good / all, mean = draws * p + 0.5, bad = all - good;
    double var = (all - draws) * draws * p * (1 - p) / (all - 1);
    double wide = 1.7155277699214135 * sqrt(var + 0.5) + 0.8989161620588988;
    double mode = floor((draws + 1) * (good + 1) / (all + 2));
    double most = log_hyper(mode, good, bad, draws);
    for (;;) {
        double u = words_unit(w), v = words_unit(w),
               k = floor(mean + wide * (v - 0.5) / u);
        if (k < 0 || k > draws || k > good) continue;
        if (2 * log(u) <= log_hyper(k, good, bad, draws) - most) return k;
    }
}

static double one_hypergeometric(Words *w, const double *par) {
    double good = par[0], bad = par[1], draws = par[2], all = good + bad;
    double rare = fmin(good, bad), few = fmin(draws, all - draws);
    double k = few < 10 ? good_one_by_one(w, rare, all, few)
                        : good_by_ratio(w, rare, all, few);
    if (good > bad) k = few - k;
    return few < draws ? good - k : k;
}

/* ---- draws, and checks of their parameters ---- */
WORDS_DRAW(poisson)
WORDS_DRAW(binomial)
WORDS_DRAW(hypergeometric)

static bool is_count(double n) {
    return n >= 0 && n < 0x1p53 && n == floor(n);
}

static bool poisson_fits(const double *p) {
    return *p >= 0 && *p < 0x1p62;
}
static bool binomial_fits(const double *p) {
    return is_count(p[0]) && p[1] >= 0 && p[1] <= 1;
}
static bool hypergeometric_fits(const double *p) {
    return is_count(p[0]) && is_count(p[1]) && is_count(p[2]) && p[0] + p[1] < 0x1p53 &&
           p[2] <= p[0] + p[1];
}

bool check_poisson(Call *c, const Draw *w) {
    return words_check(c, w, poisson_fits,
                       "lam of a Poisson distribution must be in [0, 2^62)");
}
bool check_binomial(Call *c, const Draw *w) {
    return words_check(
        c, w, binomial_fits,
        "n of a binomial distribution must be a whole number in [0, 2^53), p "
        "must be in [0, 1]");
}
bool check_hypergeometric(Call *c, const Draw *w) {
    return words_check(
        c, w, hypergeometric_fits,
        "ngood, nbad and nsample must be whole numbers in [0, 2^53), and "
        "nsample at most ngood + nbad");
}
