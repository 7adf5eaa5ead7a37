/* The incomplete gamma and beta functions, their inverses, and the beta function. In
 * long double, because powers and logarithms of large numbers cancel. */
#include "ops/elemwise/special.h"
#include "ops/elemwise/special_poly.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define EPS       1e-20L
#define TINY      1e-4000L
#define CLOSE     4e-19L /* a difference that rounding may leave */
#define HUGE_PART 1e1500L
#define SQRT_2_PI 2.506628274631000502415765284811L
enum { STEPS = 20000, ROOT_STEPS = 100, FRACTIONS = 5000 };
static const long double LARGE = 1e6L; /* an a that needs few steps */

static long double log_gamma(long double x) {
    int sign;
    return lgammal_r(x, &sign);
}

/* ---- the gamma function of small numbers ---- */
/* gamma(x) = up / (down r) for 0 < x < 30: by the recurrence, and a polynomial for
 * 1 / gamma on [1, 2] that interpolates at Chebyshev nodes. */
typedef struct GammaParts {
    long double up, down, r;
} GammaParts;

static inline GammaParts gamma_parts(long double x) {
    static const long double r[] = {
        1.12837916709551257389833L,      -0.0205872632226415507252374L,
        -0.131663608881386120166937L,    0.0218877532554918202053278L,
        0.00318542876548163916212372L,   -0.00131734904276673802278707L,
        0.000103326528544030852440563L,  1.65682143951061310413114e-5L,
        -4.33879005651685847512376e-6L,  2.97573478035491532952422e-7L,
        2.47609408799670469805819e-8L,   -6.78554959181496304154478e-9L,
        5.26419243221388757147581e-10L,  7.0729485664472616032155e-12L,
        -5.44279782936119924479952e-12L, 5.22083022926009668564122e-13L,
        -1.29322487200131113950515e-14L, -2.11285417461824041469914e-15L};
    long double up = 1, down = 1;
    if (x < 1) {
        down = x;
        x += 1;
    }
    for (; x >= 2; up *= x)
        x -= 1;
    long double t = 2 * x - 3, u = t * t, even = 0, odd = 0;
#pragma GCC unroll 16
    for (int k = sizeof r / sizeof *r - 2; k >= 0; k -= 2) {
        even = even * u + r[k];
        odd = odd * u + r[k + 1];
    }
    return (GammaParts){up, down, even + t * odd};
}

/* ---- Stirling's series ---- */
/* log gamma(x) - ((x - 1/2) log x - x + log sqrt(2 pi)), for x >= 10. It is small: but
 * for its first term double is exact enough. */
static long double stirling_rest(long double x) {
    static const double b[] = {-1.0 / 360,       1.0 / 1260,       -1.0 / 1680,
                               1.0 / 1188,       -691.0 / 360360,  1.0 / 156,
                               -3617.0 / 122400, 43867.0 / 244188, -174611.0 / 125400};
    double w = 1 / (double)x, z = w * w;
    return 1 / (12 * x) + (long double)(POLY(b, z) * z * w);
}

/* log1p(x) - x without cancellation. */
static long double log1p_minus(long double x) {
    if (fabsl(x) > 0.3L) return log1pl(x) - x;
    long double u = x / (2 + x), z = u * u, sum = 0, power = u * z;
    for (int k = 3; k < 200; k += 2, power *= z) {
        sum += power / k;
        if (fabsl(power) < EPS * fabsl(sum)) break;
    }
    return 2 * sum - u * x; /* log1p(x) = 2 (u + u^3 / 3 + ...), 2 u - x = -u x */
}

/* x^a e^-x / gamma(a + 1) */
static long double gamma_term(long double a, long double x) {
    if (a < 10) {
        GammaParts g = gamma_parts(a + 1);
        return expl(a * logl(x) - x) * g.r / g.up;
    }
    long double off = (x - a) / a,
                power = off < -0.5L ? a * logl(x / a) + (a - x) : a * log1p_minus(off);
    return expl(power - stirling_rest(a)) / (SQRT_2_PI * sqrtl(a));
}

/* ---- the incomplete gamma function ---- */
/* P from its power series (DLMF 8.11.4), two terms at a time for one division. */
static long double lower_gamma(long double a, long double x) {
    long double term = 1, sum = 1, c = a + 1;
    for (int n = 1; n < STEPS; n += 2, c += 2) {
        long double step = x / (c * (c + 1)) * term;
        sum += step * (c + 1 + x);
        term = step * x;
        if (term < sum * EPS) break;
    }
    return sum * gamma_term(a, x);
}

/* 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))), by the
 * recurrence of its convergents p / q, which needs no division. */
long double elemwise_gamma_fraction(long double a, long double x) {
    long double b = x + 1 - a, p0 = 0, q0 = 1, p = 1, q = b;
    for (long double n = 1; n < STEPS; n += 2) {
        long double odd = n * (a - n), even = (n + 1) * (a - n - 1);
        b += 2;
        p0 = b * p + odd * p0;
        q0 = b * q + odd * q0;
        b += 2;
        p = b * p0 + even * p;
        q = b * q0 + even * q;
        if (fabsl(p * q0 - p0 * q) < CLOSE * fabsl(p * q0)) break;
        if (fabsl(q) > HUGE_PART) {
            p0 /= HUGE_PART, q0 /= HUGE_PART;
            p /= HUGE_PART, q /= HUGE_PART;
        }
    }
    return p / q;
}

/* Q from that fraction (DLMF 8.9.2). */
static long double upper_gamma(long double a, long double x) {
    return elemwise_gamma_fraction(a, x) * a * gamma_term(a, x);
}

/* Q for small x and a: 1 - P, where P is x^a / gamma(a + 1) times a series near 1. */
static long double small_upper_gamma(long double a, long double x) {
    long double term = 1, sum = 0;
    for (int n = 1; n < STEPS; n++) {
        term *= -x / n;
        sum += term / (a + n);
        if (fabsl(term) < EPS * fabsl(sum)) break;
    }
    long double power = a * logl(x) - log_gamma(a + 1);
    return -expm1l(power) - expl(power) * a * sum;
}

/* P or Q for a large a, from Temme's uniform expansion (1979), of which two terms are
 * enough. */
static long double uniform_gamma(long double a, long double x, bool upper) {
    long double m = (x - a) / a, e = sqrtl(fmaxl(-2 * log1p_minus(m), 0)), c0, c1;
    if (x < a) e = -e;
    if (fabsl(e) < 0.05L) {
        c0 = -1.0L / 3 +
             e * (1.0L / 12 +
                  e * (-2.0L / 135 +
                       e * (1.0L / 864 + e * (1.0L / 2835 + e * (-139.0L / 777600)))));
        c1 = -1.0L / 540 + e * (-1.0L / 288 + e * (1.0L / 378));
    } else {
        c0 = 1 / m - 1 / e;
        c1 = 1 / (e * e * e) - 1 / (m * m * m) - 1 / (m * m) - 1 / (12 * m);
    }
    long double rest = expl(-a * e * e / 2) / (SQRT_2_PI * sqrtl(a)) * (c0 + c1 / a);
    return upper ? erfcl(e * sqrtl(a / 2)) / 2 + rest
                 : erfcl(-e * sqrtl(a / 2)) / 2 - rest;
}

/* P, or Q if upper; a, x >= 0. */
static long double incomplete_gamma(long double a, long double x, bool upper) {
    if (a == 0 && x == 0) return (long double)NAN;
    if (x == 0 || isinf(a)) return isinf(a) && isinf(x) ? (long double)NAN : upper;
    if (a == 0 || isinf(x)) return !upper;
    if (a > LARGE) return uniform_gamma(a, x, upper);
    if (x < a + 1) {
        if (upper && x < 1.1L && a < 1) return small_upper_gamma(a, x);
        long double p = lower_gamma(a, x);
        return upper ? 1 - p : p;
    }
    if (!upper && x < 1.1L && a < 1) return lower_gamma(a, x);
    long double q = x < 1.5L && a < 1 ? small_upper_gamma(a, x) : upper_gamma(a, x);
    return upper ? q : 1 - q;
}

double elemwise_gammainc(double a, double x) {
    if (!(a >= 0 && x >= 0)) return (double)NAN;
    return (double)incomplete_gamma((long double)a, (long double)x, false);
}

double elemwise_gammaincc(double a, double x) {
    if (!(a >= 0 && x >= 0)) return (double)NAN;
    return (double)incomplete_gamma((long double)a, (long double)x, true);
}

/* The root of an increasing function in (low, high) by Newton's method, with bisection
 * where that leaves the bracket; f gives the value and the slope. */
typedef struct Root {
    long double a, b, p;
    bool upper;
} Root;
typedef long double RootFn(const Root *r, long double x, long double *slope);

static long double find_root(RootFn *f, const Root *r, long double low,
                             long double high, long double x) {
    for (int i = 0; i < ROOT_STEPS; i++) {
        long double slope, miss = f(r, x, &slope), step = miss / slope;
        if (miss == 0 || isnan(miss)) return x + miss;
        if (miss < 0)
            low = x;
        else
            high = x;
        long double next = x - step;
        if (!(next > low && next < high)) {
            next =
                low > 0 && high > 4 * low ? sqrtl(low) * sqrtl(high) : (low + high) / 2;
            if (low == 0 && high < 1 && next > high * 0.1L) next = high * 1e-3L;
        }
        if (fabsl(next - x) <= fabsl(x) * 1e-18L) return next;
        x = next;
    }
    return x;
}

static long double gamma_miss(const Root *r, long double x, long double *slope) {
    *slope = r->a / x * gamma_term(r->a, x);
    return r->upper ? r->p - incomplete_gamma(r->a, x, true)
                    : incomplete_gamma(r->a, x, false) - r->p;
}

/* x with P(a, x) = p, or Q(a, x) = p. */
static double inverse_gamma(double a, double p, bool upper) {
    if (!(a > 0 && p >= 0 && p <= 1)) return (double)NAN;
    if (p == 0 || p == 1) return (p == 0) != upper ? 0 : (double)INFINITY;
    Root r = {.a = (long double)a, .p = (long double)p, .upper = upper};
    /* for small x, P = x^a / gamma(a + 1) */
    long double low = upper ? log1pl(-r.p) : logl(r.p),
                start = expl((low + log_gamma(r.a + 1)) / r.a);
    if (start == 0) return 0;
    if (start > 0.2L * r.a) start = r.a;
    if (!(start > 0)) start = r.a;
    long double high = r.a + 1;
    for (int i = 0;
         i < ROOT_STEPS && (upper ? incomplete_gamma(r.a, high, true) > r.p
                                  : incomplete_gamma(r.a, high, false) < r.p);
         i++)
        high += high;
    return (double)find_root(gamma_miss, &r, 0, high * 2, start);
}

double elemwise_gammaincinv(double a, double p) {
    return inverse_gamma(a, p, false);
}

double elemwise_gammainccinv(double a, double p) {
    return inverse_gamma(a, p, true);
}

/* ---- the beta function ---- */
/* log(gamma(a) gamma(b) / gamma(a + b)) for a <= b, a > 0. */
static long double log_beta(long double a, long double b) {
    if (b < 10) return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    long double rest = stirling_rest(b) - stirling_rest(a + b);
    if (a < 10)
        return log_gamma(a) + a - (b - 0.5L) * log1pl(a / b) - a * logl(a + b) + rest;
    return logl(SQRT_2_PI) - 0.5L * logl(b) + stirling_rest(a) + rest +
           (a - 0.5L) * logl(a / (a + b)) - b * log1pl(a / b);
}

/* The logarithm of the absolute value, and the sign. */
static long double signed_log_beta(double a, double b, int *sign) {
    *sign = 1;
    if (a > 0 && b > 0 && (isinf(a) || isinf(b))) return -(long double)INFINITY;
    if (a > 0 && b > 0)
        return a < b ? log_beta((long double)a, (long double)b)
                     : log_beta((long double)b, (long double)a);
    int sa, sb, sc;
    long double sum = (long double)a + (long double)b,
                x = lgammal_r((long double)a, &sa), y = lgammal_r((long double)b, &sb),
                z = lgammal_r(sum, &sc);
    *sign = sa * sb * sc;
    return isinf(z) && (isinf(x) || isinf(y)) ? (long double)NAN : x + y - z;
}

/* The beta function where both numbers are small. */
static bool is_small(long double a, long double b) {
    return a > 0 && b > 0 && a < 10 && b < 10;
}
static long double small_beta(long double a, long double b) {
    GammaParts f = gamma_parts(a), g = gamma_parts(b), sum = gamma_parts(a + b);
    return f.up * g.up * sum.down * sum.r / (f.down * g.down * sum.up * (f.r * g.r));
}

double elemwise_betaln(double a, double b) {
    int sign;
    if (isnan(a) || isnan(b)) return (double)NAN;
    if (is_small((long double)a, (long double)b)) { /* near 1 it would lose digits */
        double r = (double)small_beta((long double)a, (long double)b);
        if (r < 0.5 || (r > 2 && r <= DBL_MAX)) return log(r);
    }
    return (double)signed_log_beta(a, b, &sign);
}

double elemwise_beta(double a, double b) {
    int sign;
    if (isnan(a) || isnan(b)) return (double)NAN;
    if (is_small((long double)a, (long double)b))
        return (double)small_beta((long double)a, (long double)b);
    long double l = signed_log_beta(a, b, &sign);
    return sign < 0 ? -(double)expl(l) : (double)expl(l);
}

/* ---- the incomplete beta function ---- */
/* The continued fraction of I_x(a, b) (DLMF 8.17.22), by Lentz's method. */
static long double beta_fraction(long double a, long double b, long double x) {
    long double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabsl(d) < TINY ? TINY : d);
    long double h = d;
    for (int m = 1; m < FRACTIONS; m++) {
        long double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                    odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= d * c;
        if (fabsl(d * c - 1) < EPS) return h;
    }
    return (long double)NAN; /* it would take too long */
}

/* x^a (1 - x)^b / B(a, b), where y = 1 - x. */
static long double beta_term(long double a, long double b, long double x,
                             long double y) {
    if (a >= 10 && b >= 10) {
        /* both powers around their maximum at a / (a + b) */
        long double n = a + b, dx = (x * b - y * a) / a, dy = (y * a - x * b) / b;
        long double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b);
        return expl(a * (log1p_minus(dx) + dx) + b * (log1p_minus(dy) + dy) + rest) *
               sqrtl(a / n * b) / SQRT_2_PI;
    }
    long double power = a * logl(x) + b * logl(y);
    if (is_small(a, b)) return expl(power) / small_beta(a, b);
    return expl(power - (a < b ? log_beta(a, b) : log_beta(b, a)));
}

/* I_x(a, b) with y = 1 - x, or what remains to 1. */
static long double incomplete_beta(long double a, long double b, long double x,
                                   long double y, bool upper) {
    bool turn = x > (a + 1) / (a + b + 2);
    if (turn) {
        long double t = a;
        a = b, b = t, t = x, x = y, y = t;
    }
    if (x == 0) return turn != upper;
    long double part = beta_term(a, b, x, y) * beta_fraction(a, b, x) / a;
    return turn != upper ? 1 - part : part;
}

double elemwise_betainc(double a, double b, double x) {
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1 && isfinite(a + b))) return (double)NAN;
    if (x == 0 || x == 1) return x;
    return (double)incomplete_beta((long double)a, (long double)b, (long double)x,
                                   1 - (long double)x, false);
}

static long double beta_miss(const Root *r, long double x, long double *slope) {
    *slope = beta_term(r->a, r->b, x, 1 - x) / (x * (1 - x));
    return incomplete_beta(r->a, r->b, x, 1 - x, false) - r->p;
}

/* The smaller of x and 1 - x is found, which keeps its relative accuracy. */
double elemwise_betaincinv(double a, double b, double p) {
    if (!(a > 0 && b > 0 && p >= 0 && p <= 1 && isfinite(a + b))) return (double)NAN;
    if (p == 0 || p == 1) return p;
    Root r = {.a = (long double)a, .b = (long double)b, .p = (long double)p};
    long double mean = r.a / (r.a + r.b),
                start = expl((logl(r.p * r.a) +
                              (a < b ? log_beta(r.a, r.b) : log_beta(r.b, r.a))) /
                             r.a);
    if (start == 0) return 0;
    if (!(start < mean)) start = mean;
    return (double)find_root(beta_miss, &r, 0, 1, start);
}
