/* Distributions whose draws take as many words as it needs: gamma, Poisson, binomial.
 * Element i takes the 64-bit words of `integers` for i (value/rng.h), one after the
 * other, so that it depends on nothing but the state, i and its own parameters. */
#include "ops/random/reject.h"

#include <math.h>

/* ---- the words of one element ---- */
typedef struct Words {
    const Rng *rng;
    uint64_t next;
    double spare;
    bool has_spare;
} Words;

static Words words_of(const Rng *rng, uint64_t element) {
    return (Words){.rng = rng, .next = element << 17};
}

/* (0, 1): the middle of one of 2^53 equal parts. */
static double unit(Words *w) {
    uint64_t x;
    rng_words64(w->rng, w->next++, 1, &x);
    return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

static double standard_normal(Words *w) {
    if (w->has_spare) return w->has_spare = false, w->spare;
    double u = unit(w), v = unit(w), r = sqrt(-2 * log(u)), t = 6.283185307179586 * v;
    w->spare = r * sin(t);
    w->has_spare = true;
    return r * cos(t);
}

/* ---- gamma: Marsaglia and Tsang, "A simple method for generating gamma variables",
 * 2000; shapes below 1 by gamma(k) = gamma(k + 1) u^(1/k) ---- */
static double standard_gamma(Words *w, double k) {
    if (!(k >= 0) || isinf(k)) return k > 0 ? k : (double)NAN;
    if (k == 0) return 0;
    if (k < 1) {
        double g = standard_gamma(w, k + 1);
        return g * pow(unit(w), 1 / k);
    }
    double d = k - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = standard_normal(w), t = 1 + c * x, v = t * t * t;
        if (v <= 0) continue;
        double u = unit(w);
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
    }
}

/* ---- Poisson: by multiplication below 10, else the transformed rejection PTRS of
 * Hoermann, "The transformed rejection method for generating Poisson random
 * variables", 1993 ---- */
static double poisson_small(Words *w, double lam) {
    double limit = exp(-lam), p = 1, k = -1;
    do {
        k++;
        p *= unit(w);
    } while (p > limit);
    return k;
}

static double poisson_large(Words *w, double lam) {
    double b = 0.931 + 2.53 * sqrt(lam), a = -0.059 + 0.02483 * b,
           alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = unit(w) - 0.5, v = unit(w), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + lam + 0.43);
        if (us >= 0.07 && v <= vr) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(alpha) - log(a / (us * us) + b) <=
            -lam + k * log(lam) - lgamma(k + 1))
            return k;
    }
}

/* ---- binomial: inversion where n p < 10, else BTRS of Hoermann, "The generation of
 * binomial random variates", 1993 ---- */
static double binomial_inversion(Words *w, double n, double p) {
    double q = 1 - p, s = p / q, a = (n + 1) * s;
    for (;;) {
        double f = exp(n * log1p(-p)), u = unit(w);
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
           alpha = (2.83 + 5.1 / b) * spq, r = log(p / (1 - p)), m = floor((n + 1) * p);
    double h = lgamma(m + 1) + lgamma(n - m + 1);
    for (;;) {
        double u = unit(w) - 0.5, v = unit(w), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (us >= 0.07 && v <= vr) return k;
        if (k < 0 || k > n) continue;
        v = log(v * alpha / (a / (us * us) + b));
        if (v <= h - lgamma(k + 1) - lgamma(n - k + 1) + (k - m) * r) return k;
    }
}

static double binomial(Words *w, double n, double p) {
    if (p > 0.5) return n - binomial(w, n, 1 - p);
    if (n == 0 || p == 0) return 0;
    return n * p < 10 ? binomial_inversion(w, n, p) : binomial_rejection(w, n, p);
}

/* ---- draws ---- */
typedef double OneFn(Words *w, double a, double b);

static double one_gamma(Words *w, double a, double b) {
    (void)b;
    return standard_gamma(w, a);
}

static double one_poisson(Words *w, double a, double b) {
    (void)b;
    return a == 0 ? 0 : a < 10 ? poisson_small(w, a) : poisson_large(w, a);
}

static void each(const Draw *w, uint64_t from, size_t n, const double *a,
                 const double *b, int step, char *out, OneFn *one) {
    double v[DRAW_CHUNK];
    for (size_t i = 0; i < n; i++) {
        Words words = words_of(&w->rng, from + i);
        v[i] = one(&words, a[(ptrdiff_t)i * step], b[(ptrdiff_t)i * step]);
    }
    element_cast(w->dtype, out, DT_FLOAT64, v, n, (ptrdiff_t)dtype_size(w->dtype),
                 sizeof(double));
}

void draw_gamma(const Draw *w, uint64_t from, size_t n, const void *a, const void *b,
                int step, char *out) {
    each(w, from, n, a, b, step, out, one_gamma);
}

void draw_poisson(const Draw *w, uint64_t from, size_t n, const void *a, const void *b,
                  int step, char *out) {
    each(w, from, n, a, b, step, out, one_poisson);
}

void draw_binomial(const Draw *w, uint64_t from, size_t n, const void *a, const void *b,
                   int step, char *out) {
    each(w, from, n, a, b, step, out, binomial);
}

/* ---- what parameters may be ---- */
typedef bool FitFn(double a, double b);
static bool fit(Call *c, const Draw *w, FitFn *ok, const char *what) {
    const double *a = w->a->data, *b = w->b->data;
    int64_t n = w->a->ndim || w->b->ndim ? tensor_size(w->out) : 1;
    for (int64_t i = 0; i < n; i++)
        if (!ok(a[i], b[i])) return call_fail(c, E_ARITHMETIC, "%s", what);
    return true;
}

static bool gamma_fits(double a, double b) {
    (void)b;
    return a >= 0;
}
static bool poisson_fits(double a, double b) {
    (void)b;
    return a >= 0 && a < 0x1p62;
}
static bool binomial_fits(double n, double p) {
    return n >= 0 && n < 0x1p53 && n == floor(n) && p >= 0 && p <= 1;
}

bool check_gamma(Call *c, const Draw *w) {
    return fit(c, w, gamma_fits,
               "the shape of a gamma distribution must be at least 0");
}
bool check_poisson(Call *c, const Draw *w) {
    return fit(c, w, poisson_fits, "lam must be in [0, 2^62)");
}
bool check_binomial(Call *c, const Draw *w) {
    return fit(c, w, binomial_fits,
               "n must be a whole number in [0, 2^53), p must be in [0, 1]");
}
