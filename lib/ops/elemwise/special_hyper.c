/* Gauss' hypergeometric function, and quotients of gamma functions. In long double.
 *
 * F(a, b; c; z) is summed as its power series near 0. From there, Taylor series of the
 * solution of its differential equation lead to z in steps that the distance to the
 * singular points 0 and 1 and the cancellation in each series allow. Unlike the
 * formulas that connect 0 with 1 this needs no care where c - a - b is whole or nearly
 * so. z below 0 becomes z / (z - 1), between 0 and 1. */
#include "ops/elemwise/special.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define EPS  1e-21L
#define LOSS 1e4L /* of cancellation, of which a series may have at most so much */
enum { TERMS = 5000, TRIES = 60, ALL_TERMS = 30000 };

static bool is_whole(long double x) {
    return rintl(x) == x;
}
static bool is_pole(long double x) {
    return x <= 0 && is_whole(x);
}

/* ---- gamma functions ---- */
/* A sum of logarithms of gamma functions, and the sign of their product. */
typedef struct GammaProduct {
    long double log;
    int sign;
    bool zero, infinite;
} GammaProduct;

static void times_gamma(GammaProduct *p, long double x, int power) {
    int sign;
    if (is_pole(x)) {
        *(power > 0 ? &p->infinite : &p->zero) = true;
        return;
    }
    p->log += (long double)power * lgammal_r(x, &sign);
    p->sign *= sign;
}

static long double gamma_product(const GammaProduct *p) {
    if (p->zero && p->infinite) return (long double)NAN;
    if (p->infinite) return (long double)INFINITY;
    return p->zero ? 0 : (long double)p->sign * expl(p->log);
}

/* ---- the hypergeometric function ---- */
typedef struct Gauss {
    long double a, b, c;
    int *left; /* terms that may still be taken, in all its series */
} Gauss;

/* The value and the slope at a point, which lies `rest` below 1. */
typedef struct GaussPoint {
    long double z, rest, value, slope;
} GaussPoint;

/* The power series around 0; false if it does not converge or cancels. */
static bool gauss_series(const Gauss *f, long double z, GaussPoint *out) {
    long double term = 1, sum = 1, slope = 0, most = 1;
    for (int k = 0; k < TERMS && (*f->left)-- > 0; k++) {
        long double n = k, ratio = (f->a + n) * (f->b + n) / ((f->c + n) * (n + 1));
        slope += term * ratio * (n + 1);
        term *= ratio * z;
        sum += term;
        if (fabsl(term) > most) most = fabsl(term);
        bool small = fabsl(term) <= EPS * fabsl(sum) && fabsl(ratio * z) < 1;
        if (!small && term != 0) continue;
        *out = (GaussPoint){z, 1 - z, sum, slope};
        return isfinite(sum) && most <= LOSS * fmaxl(fabsl(sum), fabsl(slope * z));
    }
    return false;
}

/* The Taylor series around p up to p.z + h. */
static bool gauss_step(const Gauss *f, const GaussPoint *p, long double h,
                       GaussPoint *out) {
    long double p0 = p->z * p->rest, p1 = 2 * p->rest - 1,
                q0 = f->c - f->a - f->b - 1 + (f->a + f->b + 1) * p->rest;
    long double u = p->value, v = p->slope * h, sum = u + v, slope = v,
                most = fmaxl(fabsl(u), fabsl(v));
    int quiet = 0;
    for (int k = 0; k < TERMS && (*f->left)-- > 0; k++) {
        long double n = k, next = (n + f->a) * (n + f->b) * u * h * h -
                                  (n + 1) * (p1 * n + q0) * v * h;
        next /= p0 * (n + 2) * (n + 1);
        sum += next;
        slope += next * (n + 2);
        u = v;
        v = next;
        most = fmaxl(most, fabsl(next));
        quiet = fabsl(next) * (n + 2) <= EPS * fmaxl(fabsl(sum), fabsl(slope))
                    ? quiet + 1
                    : 0;
        if (quiet < 3) continue;
        *out = (GaussPoint){p->z + h, p->rest - h, sum, slope / h};
        return isfinite(sum) && most <= LOSS * fmaxl(fabsl(sum), fabsl(slope));
    }
    return false;
}

/* 0 < z < 1, rest = 1 - z. */
static long double gauss_between(const Gauss *f, long double z, long double rest) {
    GaussPoint p, next;
    if (gauss_series(f, z, &p)) return p.value;
    long double start = fminl(z, 0.5L);
    int tries = 0;
    while (!gauss_series(f, start, &p))
        if (++tries == TRIES)
            return (long double)NAN;
        else
            start /= 2;
    while (*f->left > 0 && p.rest > rest) {
        long double left = p.rest - rest, h = fminl(fminl(p.z, p.rest) / 2, left);
        for (tries = 0; !gauss_step(f, &p, h, &next); h /= 2)
            if (++tries == TRIES) return (long double)NAN;
        if (h == left) next.rest = rest;
        p = next;
    }
    return p.rest > rest ? (long double)NAN : p.value;
}

/* ---- large parameters ---- */

static bool is_positive(const Gauss *f) {
    return f->a > 0 && f->b > 0 && f->c > 0;
}

/* Nothing cancels in a series of positive terms, however large they are: 0 < z < 1.
 * Times exp(factor). False: it would take too long. */
static bool gauss_positive(const Gauss *f, long double z, long double factor,
                           long double *out) {
    enum { MOST = 100000, TOO_LARGE = 12000 };
    const long double huge = 0x1p8000L;
    long double term = 1, sum = 1, scale = factor;
    if (!is_positive(f)) return false;
    for (int k = 0; k < MOST; k++) {
        long double n = k, ratio = (f->a + n) * (f->b + n) / ((f->c + n) * (n + 1)) * z;
        term *= ratio;
        sum += term;
        if (!isfinite(sum)) return false;
        if (sum > huge) {
            sum /= huge;
            term /= huge;
            scale += logl(huge);
        }
        if (scale > TOO_LARGE) return *out = (long double)INFINITY, true;
        long double most = fmaxl(ratio, z); /* of the ratios from here on */
        if (most >= 1 || term > EPS * (1 - most) * sum) continue;
        *out = scale == 0 ? sum : expl(logl(sum) + scale);
        return true;
    }
    return false;
}

static bool is_large(const Gauss *f) {
    enum { LARGE = 200 };
    return fmaxl(fmaxl(fabsl(f->a), fabsl(f->b)), fabsl(f->c)) > LARGE;
}

/* Of the forms that Euler's and Pfaff's transformations give, one with positive
 * terms. */
static bool gauss_large(const Gauss *f, long double z, long double *out) {
    long double rest = log1pl(-z), w = z / (z - 1), s = f->c - f->a - f->b;
    Gauss euler = {f->c - f->a, f->c - f->b, f->c, f->left};
    Gauss pfaff = {f->a, f->c - f->b, f->c, f->left},
          other = {f->b, f->c - f->a, f->c, f->left};
    if (!is_large(f)) return false;
    if (z < 0)
        return gauss_positive(&pfaff, w, -f->a * rest, out) ||
               gauss_positive(&other, w, -f->b * rest, out);
    bool shorter = is_positive(&euler) && euler.a * euler.b < f->a * f->b;
    return (shorter && gauss_positive(&euler, z, s * rest, out)) ||
           gauss_positive(f, z, 0, out) || gauss_positive(&euler, z, s * rest, out);
}

/* Gauss' theorem. */
static long double gauss_at_one(const Gauss *f) {
    long double s = f->c - f->a - f->b;
    GammaProduct p = {.sign = 1};
    if (!(s > 0)) return (long double)INFINITY;
    times_gamma(&p, f->c, 1);
    times_gamma(&p, s, 1);
    times_gamma(&p, f->c - f->a, -1);
    times_gamma(&p, f->c - f->b, -1);
    return gamma_product(&p);
}

/* a is 0, -1, -2, ...: by the recurrence in a (DLMF 15.5.11) where the series, which
 * ends, cancels. */
static long double gauss_polynomial(const Gauss *f, long double z) {
    long double term = 1, sum = 1, most = 1, last = 1, now = 1 - f->b * z / f->c;
    if (-f->a > TERMS) return (long double)NAN;
    for (long double n = 0; n < -f->a; n++) {
        term *= (f->a + n) * (f->b + n) / ((f->c + n) * (n + 1)) * z;
        sum += term;
        most = fmaxl(most, fabsl(term));
    }
    if (f->a == 0 || most <= LOSS * fabsl(sum) || f->c <= 0) return sum;
    for (long double a = -1; a > f->a; a--) {
        long double next =
            ((f->c - 2 * a - (f->b - a) * z) * now - a * (z - 1) * last) / (f->c - a);
        last = now;
        now = next;
    }
    return now;
}

/* z < 0, by Pfaff's transformation that leaves a bounded function. */
static long double gauss_below(Gauss f, long double z) {
    if (f.a > f.b) f = (Gauss){f.b, f.a, f.c, f.left};
    Gauss g = {f.a, f.c - f.b, f.c, f.left};
    long double factor = powl(1 - z, -f.a), rest = 1 / (1 - z);
    return is_pole(g.b)
               ? factor * gauss_polynomial(&(Gauss){g.b, g.a, g.c, g.left}, -z * rest)
               : factor * gauss_between(&g, -z * rest, rest);
}

/* A polynomial by one of its first two parameters, unless c ends it with a pole. */
static bool is_polynomial(Gauss *f) {
    bool first = is_pole(f->a) && !(is_pole(f->c) && f->c > f->a);
    bool other = is_pole(f->b) && !(is_pole(f->c) && f->c > f->b);
    if (other && (!first || f->b > f->a)) *f = (Gauss){f->b, f->a, f->c, f->left};
    return first || other;
}

static long double gauss_hypergeometric(Gauss f, long double z) {
    if (!isfinite(f.a + f.b + f.c) || isnan(z)) return (long double)NAN;
    if (z == 0) return is_pole(f.c) && !is_polynomial(&f) ? (long double)NAN : 1;
    if ((f.a == f.c || f.b == f.c) && z < 1)
        return powl(1 - z, f.a == f.c ? -f.b : -f.a);
    if (is_polynomial(&f)) return gauss_polynomial(&f, z);
    if (is_pole(f.c) || z > 1) return (long double)INFINITY;
    if (z == 1) return gauss_at_one(&f);
    if (isinf(z)) return (long double)NAN;
    long double large;
    if (gauss_large(&f, z, &large)) return large;
    if (z < 0) return gauss_below(f, z);
    long double s = f.c - f.a - f.b;
    Gauss euler = {f.c - f.a, f.c - f.b, f.c, f.left};
    if (is_polynomial(&euler)) return powl(1 - z, s) * gauss_polynomial(&euler, z);
    return gauss_between(&f, z, 1 - z);
}

double elemwise_hyp2f1(double a, double b, double c, double z) {
    int left = ALL_TERMS;
    Gauss f = {(long double)a, (long double)b, (long double)c, &left};
    return (double)gauss_hypergeometric(f, (long double)z);
}

/* ---- quotients of gamma functions ---- */

/* a (a + 1) ... (a + n - 1) */
static long double rising_factorial(long double a, int n) {
    long double r = 1;
    for (int i = 0; i < n; i++)
        r *= a + i;
    return r;
}

double elemwise_poch(double x, double n) {
    enum { MANY = 200 };
    long double a = (long double)x, m = (long double)n;
    if (isnan(x) || isnan(n)) return (double)NAN;
    if (is_whole(m) && m >= 0 && m <= MANY) return (double)rising_factorial(a, (int)m);
    if (is_whole(m) && m < 0 && m >= -MANY)
        return (double)(1 / rising_factorial(a + m, (int)-m));
    GammaProduct p = {.sign = 1};
    if (is_pole(a) && is_pole(a + m)) { /* both gamma functions by reflection */
        times_gamma(&p, 1 - a, 1);
        times_gamma(&p, 1 - a - m, -1);
        if (fmodl(fabsl(m), 2) == 1) p.sign = -p.sign;
        return (double)gamma_product(&p);
    }
    times_gamma(&p, a + m, 1);
    times_gamma(&p, a, -1);
    return (double)gamma_product(&p);
}

double elemwise_binom(double n, double k) {
    enum { MANY = 1000 };
    long double x = (long double)n, y = (long double)k;
    if (isnan(n) || isnan(k) || is_pole(x + 1)) return (double)NAN;
    if (is_whole(x) && is_whole(y) && y > x / 2) y = x - y;
    if (is_whole(y) && y < 0) return 0;
    if (is_whole(y) && y <= MANY) {
        long double r = 1;
        for (long double i = 1; i <= y; i++)
            r = r * (x - y + i) / i;
        return (double)r;
    }
    GammaProduct p = {.sign = 1};
    times_gamma(&p, x + 1, 1);
    times_gamma(&p, y + 1, -1);
    times_gamma(&p, x - y + 1, -1);
    return (double)gamma_product(&p);
}
