/* First tries of draws by rejection, with the same bits at every level as the tries of
 * single elements in reject.c and counts.c have. */
#define ROUND_EACH
#include "op/vector.h"
#include "ops/random/chances.h"

/* As unit_of, of instructions that all levels have. */
VINLINE double unit_at(const uint64_t *word, size_t i) {
    double whole = bits_f64(word[2 * i] >> 12 | 0x4330000000000000) - 0x1p52;
    return (whole + 0.5) * 0x1p-52;
}

/* The number of products of uniform numbers that are above e^-mean. */
static void try_poisson(const Ahead *q, double *restrict out) {
    double product[ELEMENTS];
    const double *none = q->made + NONE;
    for (size_t i = 0; i < q->n; i++)
        product[i] = 1, out[i] = 0;
    for (size_t k = 0; k < 2 * q->blocks; k++) {
        const uint64_t *word = q->word + k / 2 * 2 * q->n + k % 2;
        for (size_t i = 0; i < q->n; i++) {
            double p = product[i] *= unit_at(word, i);
            out[i] += p > none[i] ? 1.0 : 0.0;
        }
    }
    for (size_t i = 0; i < q->n; i++)
        out[i] = product[i] > none[i] ? (double)NAN : out[i];
}

/* Inversion: subtracts the probabilities of 0, 1, ... from a uniform number. */
static void try_binomial(const Ahead *q, double *restrict out) {
    enum { STEPS = 32, CHECKED = 4 };
    double left[ELEMENTS], chance[ELEMENTS];
    const double *odds = q->made + ODDS, *n = q->made + TRIALS;
    for (size_t i = 0; i < q->n; i++) {
        left[i] = unit_at(q->word, i);
        chance[i] = q->made[NONE + i];
        out[i] = 0;
    }
    for (int k = 0, more = 1; more && k < STEPS; k++) {
        for (size_t i = 0; i < q->n; i++) {
            double u = left[i], f = chance[i], s = odds[i];
            bool found = u < f; /* and so for ever */
            out[i] += found ? 0.0 : 1.0;
            left[i] = found ? u : u - f;
            chance[i] = found ? 2.0 : f * ((n[i] + 1) * s / (k + 1) - s);
        }
        if (k % CHECKED < CHECKED - 1) continue;
        more = 0;
        for (size_t i = 0; i < q->n; i++)
            more |= !(left[i] < chance[i]);
    }
    for (size_t i = 0; i < q->n; i++)
        out[i] = choose((chance[i] == 2) & (out[i] <= n[i]), out[i], (double)NAN);
}

/* Draws one after the other. */
static void try_hypergeometric(const Ahead *q, double *restrict out) {
    const double *draws = q->made + FEW_DRAWS, *rare = q->made + RARE_ONES,
                 *all = q->made + ALL;
    for (size_t i = 0; i < q->n; i++)
        out[i] = 0;
    for (size_t k = 0; k < 2 * q->blocks; k++) {
        const uint64_t *word = q->word + k / 2 * 2 * q->n + k % 2;
        double before = (double)(int64_t)k;
        for (size_t i = 0; i < q->n; i++) {
            bool found = unit_at(word, i) * (all[i] - before) < rare[i] - out[i];
            out[i] += choose(found & (before < draws[i]), 1, 0);
        }
    }
    for (size_t i = 0; i < q->n; i++)
        out[i] = draws[i] < FEW ? out[i] : (double)NAN;
}

/* ---- tries of two words, for those that are left: a block of each after the other
 * ---- */
typedef struct Left {
    size_t n, at[ELEMENTS]; /* which elements */
    double u[ELEMENTS], v[ELEMENTS], count[ELEMENTS], made[COLUMNS * ELEMENTS];
} Left;

/* Sets their counts. */
typedef void TestFn(size_t n, const double *u, const double *v, const double *made,
                    double *restrict count);
#define TEST(NAME, TRY)                                                                \
    static void NAME(size_t n, const double *u, const double *v, const double *made,   \
                     double *restrict count) {                                         \
        for (size_t i = 0; i < n; i++)                                                 \
            count[i] = TRY(u[i], v[i], made + i);                                      \
    }
TEST(test_ptrs, try_ptrs)
TEST(test_btrs_shared, try_btrs_shared)
TEST(test_btrs_each, try_btrs_each)
TEST(test_hrua, try_hrua)
TEST(test_gamma, try_tsang)

/* Gathers their columns. */
static const double *gather_made(Left *l, const Ahead *q) {
    if (q->shared) return q->made;
    for (size_t k = 0; k < COLUMNS * ELEMENTS; k += ELEMENTS)
        for (size_t i = 0; i < l->n; i++)
            l->made[k + i] = q->made[k + l->at[i]];
    return l->made;
}

/* Tries those that are nan and for which made[column] is at least FEW. */
static void try_left(const Ahead *q, size_t column, TestFn *test, double *out) {
    Left l;
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        if (isnan(out[i]) && q->made[column + i] >= FEW) l.at[n++] = i;
    for (size_t block = 0; block < q->blocks && n > 0; block++) {
        const uint64_t *word = q->word + block * 2 * q->n;
        l.n = n, n = 0;
        for (size_t i = 0; i < l.n; i++) {
            l.u[i] = unit_at(word, l.at[i]);
            l.v[i] = unit_at(word + 1, l.at[i]);
        }
        test(l.n, l.u, l.v, gather_made(&l, q), l.count);
        for (size_t i = 0; i < l.n; i++) {
            out[l.at[i]] = l.count[i];
            if (isnan(l.count[i])) l.at[n++] = l.at[i];
        }
    }
}

static void try_gamma(const Ahead *q, double *restrict out) {
    Left l;
    l.n = 0;
    for (size_t i = 0; i < q->n; i++)
        out[i] = try_squeeze(unit_at(q->word, i), q->normal[2 * i], q->made + i);
    for (size_t i = 0; i < q->n; i++)
        if (isnan(out[i])) {
            l.u[l.n] = unit_at(q->word, i);
            l.v[l.n] = q->normal[2 * i];
            l.at[l.n++] = i;
        }
    test_gamma(l.n, l.u, l.v, gather_made(&l, q), l.count);
    for (size_t i = 0; i < l.n; i++)
        out[l.at[i]] = l.count[i];
}
static void try_loggamma(const Ahead *q, double *restrict out) {
    try_gamma(q, out);
    for (size_t i = 0; i < q->n; i++)
        out[i] = loggamma(out[i], unit_at(q->word + 1, i), q->made[SHAPE + i]);
}

/* The inner part of the hat, where nothing else is tested, of all elements first. */
static void try_hat(const Ahead *q, TestFn *test, double *restrict out) {
    for (size_t i = 0; i < q->n; i++) {
        double k = try_inner(unit_at(q->word, i), unit_at(q->word + 1, i), q->made + i);
        out[i] = q->made[MEAN + i] < FEW ? out[i] : k;
    }
    try_left(q, MEAN, test, out);
}
static void try_poisson_hat(const Ahead *q, double *restrict out) {
    try_hat(q, test_ptrs, out);
}
static void try_binomial_hat(const Ahead *q, double *restrict out) {
    try_hat(q, q->shared ? test_btrs_shared : test_btrs_each, out);
}
static void try_ratio(const Ahead *q, double *restrict out) {
    try_left(q, FEW_DRAWS, test_hrua, out);
}

const TriesLoops LEVEL(tries_loops) = {
    try_gamma,          try_loggamma,    try_poisson,      try_binomial,
    try_hypergeometric, try_poisson_hat, try_binomial_hat, try_ratio};
