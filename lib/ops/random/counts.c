/* Poisson, binomial and hypergeometric draws: small ones here, large ones by the tries
 * of chances.h. */
#include "ops/random/chances.h"
#include "ops/random/reject.h"

#include <math.h>

/* Of the transformed rejection: counts from from + from_2, below a hat of the width b,
 * from which the rest follows. */
static void make_hat(double *made, double from, double from_2, double b, double a,
                     double alpha, double inner) {
    made[FROM] = from;
    made[FROM_2] = from_2;
    made[WIDTH] = b;
    made[TAIL] = a;
    made[ALPHA] = alpha;
    made[INNER] = inner;
}

/* Tries pairs of uniform numbers until one is accepted. */
#define UNTIL_ACCEPTED(NAME, TRY)                                                      \
    static double NAME(Words *w, const double *made) {                                 \
        double k;                                                                      \
        do {                                                                           \
            double u = words_unit(w), v = words_unit(w);                               \
            k = TRY(u, v, made);                                                       \
        } while (isnan(k));                                                            \
        return k;                                                                      \
    }
UNTIL_ACCEPTED(poisson_large, try_ptrs)
UNTIL_ACCEPTED(binomial_large, try_btrs_each)
UNTIL_ACCEPTED(good_by_ratio, try_hrua)

/* First tries of counts: which of them are few is said by a column. */
static void try_counts(const Ahead *q, size_t column, TriesFn *few, TriesFn *many,
                       double *out) {
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        n += q->made[column + i] < FEW;
    if (n > 0) few(q, out);
    if (n < q->n) many(q, out);
}

/* ---- Poisson: by multiplication below 10, else PTRS ---- */
static size_t make_poisson(const double *p, double *made) {
    double lam = made[MEAN] = *p, root = sqrt(lam), b = 0.931 + 2.53 * root;
    if (lam < FEW) {
        made[NONE] = exp(-lam);
        return (size_t)(lam + 1.3 * root + 1.5);
    }
    made[NONE] = 0;
    make_hat(made, lam, 0.43, b, -0.059 + 0.02483 * b, 1.1239 + 1.1328 / (b - 3.4),
             0.9277 - 3.6224 / (b - 2));
    return 6;
}

static double poisson_small(Words *w, double none) {
    double p = 1, k = -1;
    do {
        k++;
        p *= words_unit(w);
    } while (p > none);
    return k;
}

static double one_poisson(Words *w, const double *made) {
    return made[MEAN] < FEW ? poisson_small(w, made[NONE]) : poisson_large(w, made);
}

static void try_poisson(const Ahead *q, double *out) {
    const TriesLoops *loops = tries_loops(q);
    try_counts(q, MEAN, loops->poisson, loops->poisson_hat, out);
}

/* ---- binomial: inversion where n p < 10, else BTRS; both count the rarer of success
 * and failure ---- */
static size_t make_binomial(const double *par, double *made) {
    double n = par[0], p = par[1] > 0.5 ? 1 - par[1] : par[1], spq, b;
    made[TRIALS] = n;
    made[CHANCE] = par[1];
    made[MEAN] = n * p;
    if (n * p < FEW) {
        made[ODDS] = p / (1 - p);
        made[NONE] = exp(n * log1p(-p));
        return 1;
    }
    spq = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * spq;
    make_hat(made, n * p + 0.5, 0, b, -0.0873 + 0.0248 * b + 0.01 * p,
             (2.83 + 5.1 / b) * spq, 0.92 - 4.2 / b);
    return 6;
}

static void share_binomial(double *made) {
    if (made[MEAN] >= FEW) made[AT_MODE] = log_at_mode(made);
}

static double binomial_inversion(Words *w, const double *made) {
    double n = made[TRIALS], s = made[ODDS], a = (n + 1) * s;
    for (;;) {
        double f = made[NONE], u = words_unit(w);
        for (double k = 0; k <= n && k < 1100; k++) {
            if (u < f) return k;
            u -= f;
            f *= a / (k + 1) - s;
        }
    }
}

/* Of the count of the rarer. */
static double successes(double k, const double *made) {
    return made[CHANCE] > 0.5 ? made[TRIALS] - k : k;
}

static double one_binomial(Words *w, const double *made) {
    return successes(
        made[MEAN] < FEW ? binomial_inversion(w, made) : binomial_large(w, made), made);
}

static void try_binomial(const Ahead *q, double *out) {
    const TriesLoops *loops = tries_loops(q);
    try_counts(q, MEAN, loops->binomial, loops->binomial_hat, out);
    for (size_t i = 0; i < q->n; i++)
        out[i] = successes(out[i], q->made + i);
}

/* ---- hypergeometric: one at a time below 10 draws, else HRUA. Counts the rarer of
 * good and bad, among the fewer of the drawn and the left.
 * ---- */
static double good_one_by_one(Words *w, double good, double all, double draws) {
    double found = 0;
    for (; draws > 0; draws--, all--)
        if (words_unit(w) * all < good - found) found++;
    return found;
}

static size_t make_hypergeometric(const double *par, double *made) {
    double all = par[0] + par[1], good = fmin(par[0], par[1]),
           draws = fmin(par[2], all - par[2]);
    made[GOOD] = par[0];
    made[ALL] = all;
    made[DRAWS] = par[2];
    made[RARE_ONES] = good;
    made[FEW_DRAWS] = draws;
    if (draws < FEW) return (size_t)draws;
    double p = good / all, var = (all - draws) * draws * p * (1 - p) / (all - 1);
    made[CENTRE] = draws * p + 0.5;
    made[SPREAD] = 1.7155277699214135 * sqrt(var + 0.5) + 0.8989161620588988;
    double mode = floor((draws + 1) * (good + 1) / (all + 2));
    made[MOST] = log_hyper(mode, good, all - good, draws);
    return 6;
}

/* Of the count of the rarer among the fewer. */
static double good_ones(double k, const double *made) {
    double few = made[FEW_DRAWS];
    if (made[GOOD] > made[RARE_ONES]) k = few - k;
    return few < made[DRAWS] ? made[GOOD] - k : k;
}

static double one_hypergeometric(Words *w, const double *made) {
    double few = made[FEW_DRAWS];
    return good_ones(few < FEW ? good_one_by_one(w, made[RARE_ONES], made[ALL], few)
                               : good_by_ratio(w, made),
                     made);
}

static void try_hypergeometric(const Ahead *q, double *out) {
    tries_loops(q)->hypergeometric(q, out);
    tries_loops(q)->ratio(q, out);
    for (size_t i = 0; i < q->n; i++)
        out[i] = good_ones(out[i], q->made + i);
}

/* ---- draws, and checks of their parameters ---- */
WORDS_DRAW(poisson, try_poisson, false, NULL)
WORDS_DRAW(binomial, try_binomial, false, share_binomial)
WORDS_DRAW(hypergeometric, try_hypergeometric, false, NULL)

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
