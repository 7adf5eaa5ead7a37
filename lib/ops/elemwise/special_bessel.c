/* Bessel functions of real order. For orders mu in [-1/2, 1/2], Temme's series (On the
 * numerical evaluation of the ordinary Bessel function of the second kind, 1976) below
 * x = 2, continued fractions above (Thompson and Barnett, 1986), Hankel's expansion far
 * from 0; recurrences lead to other orders, each in its stable direction. In long
 * double: sums cancel near zeros of the functions. The orders 0 and 1, and -1 by
 * symmetry, mostly come from special_bessel01.c. */
#include "ops/elemwise/special.h"
#include "ops/elemwise/special_bessel01.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#define PI_L      3.141592653589793238462643383279503L
#define EPS       1e-20L
#define TINY      1e-4000L
#define FRACTIONS 100000

/* Two functions at an order, and at the next one for the second kind. */
typedef struct BesselPair {
    long double first, second;
} BesselPair;

/* sin(pi x) and cos(pi x), exact at multiples of 1/2. */
static long double sin_pi(long double x) {
    long double r = x - 2 * rintl(x / 2); /* in [-1, 1] */
    return r == rintl(r) ? 0 : sinl(PI_L * r);
}
static long double cos_pi(long double x) {
    return sin_pi(x + 0.5L);
}

/* ---- what Temme's series begin with ---- */
/* 1 / gamma(1 + m) = sum d_k m^k (Wrench, 1968): its even part, and minus its odd part
 * divided by m. */
static void reciprocal_gammas(long double m, long double *even, long double *odd) {
    static const long double d[] = {1.0L,
                                    0.5772156649015328606065121L,
                                    -0.6558780715202538810770195L,
                                    -0.04200263503409523552900393L,
                                    0.1665386113822914895017008L,
                                    -0.0421977345555443367482083L,
                                    -0.009621971527876973562114922L,
                                    0.00721894324666309954239501L,
                                    -0.001165167591859065112113971L,
                                    -0.00021524167411495097281573L,
                                    0.0001280502823881161861531986L,
                                    -0.00002013485478078823865568939L,
                                    -0.000001250493482142670657345359L,
                                    0.00000113302723198169588237413L,
                                    -0.0000002056338416977607103450154L,
                                    6.116095104481415817862499e-9L,
                                    5.002007644469222930055665e-9L,
                                    -1.181274570487020144588127e-9L,
                                    1.04342671169110051049154e-10L,
                                    7.782263439905071254049937e-12L,
                                    -3.696805618642205708187816e-12L,
                                    5.100370287454475979015481e-13L,
                                    -2.05832605356650678322243e-14L,
                                    -5.348122539423017982370017e-15L,
                                    1.226778628238260790158894e-15L};
    long double z = m * m;
    *even = *odd = 0;
    for (int k = 24; k >= 0; k -= 2) {
        *even = *even * z + d[k];
        if (k > 0) *odd = *odd * z - d[k - 1];
    }
}

typedef struct TemmeStart {
    long double f, p, q; /* f_0, and p_0, q_0 without their constants */
} TemmeStart;

static TemmeStart temme_start(long double m, long double x) {
    long double even, odd, l = -logl(x / 2), s = m * l;
    reciprocal_gammas(m, &even, &odd);
    long double ratio = m == 0 ? 1 : PI_L * m / sinl(PI_L * m),
                sinhc = fabsl(s) < 1e-12L ? 1 : sinhl(s) / s;
    return (TemmeStart){.f = ratio * (odd * coshl(s) + even * sinhc * l),
                        .p = expl(s) / (even - m * odd),
                        .q = expl(-s) / (even + m * odd)};
}

/* Y_m and Y_(m+1) for x < 2. */
static BesselPair temme_y(long double m, long double x) {
    TemmeStart t = temme_start(m, x);
    long double half = sinl(PI_L * m / 2), r = m == 0 ? 0 : 2 * half * half / m;
    long double f = 2 * t.f / PI_L, p = t.p / PI_L, q = t.q / PI_L, c = 1,
                sum = f + r * q, next = p;
    for (int k = 1; k < 500; k++) {
        f = (k * f + p + q) / (k * k - m * m);
        p /= k - m;
        q /= k + m;
        c *= -x * x / (4 * k);
        long double term = c * (f + r * q);
        sum += term;
        next += c * p - k * term;
        if (fabsl(term) < EPS * fabsl(sum)) break;
    }
    return (BesselPair){-sum, -next * 2 / x};
}

/* K_m and K_(m+1) for x < 2. */
static BesselPair temme_k(long double m, long double x) {
    TemmeStart t = temme_start(m, x);
    long double f = t.f, p = t.p / 2, q = t.q / 2, c = 1, sum = f, next = p;
    for (int k = 1; k < 500; k++) {
        f = (k * f + p + q) / (k * k - m * m);
        p /= k - m;
        q /= k + m;
        c *= x * x / (4 * k);
        sum += c * f;
        next += c * (p - k * f);
        if (c * f < EPS * sum) break;
    }
    return (BesselPair){sum, next * 2 / x};
}

/* ---- continued fractions, by Lentz's method ---- */
/* J'_v / J_v, or I'_v / I_v if modified; *sign becomes that of J_v. */
static long double log_slope(long double v, long double x, bool modified, int *sign) {
    long double h = v / x, c, d = 0, turn = modified ? 1 : -1;
    if (h < TINY) h = TINY;
    c = h;
    *sign = 1;
    for (int k = 1; k < FRACTIONS; k++) {
        long double b = 2 * (v + k) / x;
        d = b + turn * d;
        c = b + turn / c;
        if (fabsl(d) < TINY) d = TINY;
        if (fabsl(c) < TINY) c = TINY;
        d = 1 / d;
        h *= c * d;
        if (d < 0) *sign = -*sign;
        if (fabsl(c * d - 1) < EPS) return h;
    }
    return (long double)NAN; /* it would take too long */
}

/* (J'_m + i Y'_m) / (J_m + i Y_m) for x >= 2. */
static long double _Complex hankel_slope(long double m, long double x) {
    long double _Complex h = TINY, c = h, d = 0;
    for (int k = 1; k < FRACTIONS; k++) {
        long double a = (k - 0.5L) * (k - 0.5L) - m * m;
        long double _Complex b = __builtin_complex(2 * x, 2.0L * k);
        d = 1 / (b + a * d);
        c = b + a / c;
        h *= c * d;
        if (cabsl(c * d - 1) < EPS) break;
    }
    return __builtin_complex(-1 / (2 * x), 1.0L) +
           __builtin_complex(0.0L, 1.0L) * h / x;
}

/* e^x K_m and e^x K_(m+1) for x >= 2. */
static BesselPair steed_k(long double m, long double x) {
    long double b = 2 * (1 + x), d = 1 / b, h = d, step = d, q1 = 0, q2 = 1,
                a1 = 0.25L - m * m, q = a1, c = a1, a = -a1, s = 1 + q * step;
    for (int k = 2; k < FRACTIONS; k++) {
        a -= 2 * (k - 1);
        c *= -a / k;
        long double next = (q1 - b * q2) / a;
        q1 = q2;
        q2 = next;
        q += c * next;
        b += 2;
        d = 1 / (b + a * d);
        step *= b * d - 1;
        h += step;
        s += q * step;
        if (fabsl(q * step) < EPS * fabsl(s)) break;
    }
    long double k = sqrtl(PI_L / (2 * x)) / s;
    return (BesselPair){k, k * (m + x + 0.5L - a1 * h) / x};
}

/* ---- far from 0: Hankel's expansion ---- */
static bool is_far(long double v, long double x) {
    return x > 50 && x > v * v / 10;
}

/* P and Q of DLMF 10.17.3; alternating: the sums of 10.40.1 and 10.40.2. */
static BesselPair hankel_sums(long double v, long double x, bool modified) {
    long double term = 1, p = 1, q = 0;
    for (int k = 1; k < 200; k++) {
        term *= (4 * v * v - (2.0L * k - 1) * (2.0L * k - 1)) / (8 * x * k);
        if (modified)
            p += term, q += k % 2 ? -term : term;
        else if (k % 2)
            q += k % 4 == 1 ? term : -term;
        else
            p += k % 4 == 2 ? -term : term;
        if (fabsl(term) < EPS) break;
    }
    return (BesselPair){p, modified ? 1 + q : q};
}

static BesselPair far_jy(long double v, long double x) {
    BesselPair s = hankel_sums(v, x, false);
    long double a = v / 2 + 0.25L, ca = cos_pi(a), sa = sin_pi(a), cx = cosl(x),
                sx = sinl(x), c = cx * ca + sx * sa, d = sx * ca - cx * sa,
                f = sqrtl(2 / (PI_L * x));
    return (BesselPair){f * (s.first * c - s.second * d),
                        f * (s.first * d + s.second * c)};
}

/* ---- all orders v >= 0, x > 0 ---- */
/* From one order to the next: sign * y_(m+1) = (2 m / x) y_m - y_(m-1). */
static long double recur_up(BesselPair y, long double m, int n, long double x,
                            long double sign) {
    for (int k = 1; k <= n && !isinf(y.first); k++) {
        long double next = 2 * (m + k) / x * y.second + sign * y.first;
        y.first = y.second;
        y.second = next;
    }
    return y.first;
}

/* From a slope at order v down n orders: the value there, in units of that at v, and
 * the slope. */
static BesselPair recur_down(long double slope, long double v, int n, long double x,
                             long double sign) {
    long double y = 1, d = slope, f = v / x;
    for (int k = 0; k < n && !isinf(y); k++) {
        long double up = f * y + d;
        f -= 1 / x;
        d = f * up + sign * y;
        y = up;
    }
    return (BesselPair){y, d};
}

static BesselPair bessel_jy(long double v, long double x) {
    if (is_far(v, x)) return far_jy(v, x);
    int n = (int)floorl(x < 2 ? v + 0.5L : v > x ? v - x + 1.5L : 0), sign;
    long double m = v - n, slope = log_slope(v, x, false, &sign);
    BesselPair down = recur_down(slope, v, n, x, -1), y;
    if (isinf(down.first)) return (BesselPair){0, -(long double)INFINITY};
    long double f = down.second / down.first, j;
    if (x < 2) {
        y = temme_y(m, x);
        long double dy = m / x * y.first - y.second;
        j = 2 / (PI_L * x) / (dy - f * y.first);
    } else {
        long double _Complex h = hankel_slope(m, x);
        long double p = creall(h), q = cimagl(h), g = (p - f) / q;
        j = sqrtl(2 / (PI_L * x) / (q + g * (p - f)));
        if ((down.first < 0) != (sign < 0)) j = -j;
        y.first = g * j;
        y.second = m / x * y.first - (p * y.first + q * j);
    }
    return (BesselPair){j / down.first, recur_up(y, m, n, x, -1)};
}

/* e^-x I_v and e^x K_v. */
static BesselPair bessel_ik(long double v, long double x) {
    if (is_far(v, x)) {
        BesselPair s = hankel_sums(v, x, true);
        return (BesselPair){s.second / sqrtl(2 * PI_L * x),
                            s.first * sqrtl(PI_L / (2 * x))};
    }
    int n = (int)floorl(v + 0.5L), sign;
    long double m = v - n, slope = log_slope(v, x, true, &sign);
    BesselPair down = recur_down(slope, v, n, x, 1), k;
    if (isinf(down.first)) return (BesselPair){0, (long double)INFINITY};
    if (x < 2) {
        k = temme_k(m, x);
        k.first *= expl(x);
        k.second *= expl(x);
    } else {
        k = steed_k(m, x);
    }
    long double f = down.second / down.first, dk = m / x * k.first - k.second,
                i = 1 / (x * (f * k.first - dk));
    return (BesselPair){i / down.first, recur_up(k, m, n, x, 1)};
}

/* ---- all real orders and arguments ---- */
enum { MOST_ORDER = 100000 };
static bool is_whole(double v) {
    return rint(v) == v;
}
static bool is_odd(double v) {
    return fmod(v, 2) != 0;
}

/* Whether special_bessel01.c has it; else it is nan, inf, or far away. */
static bool is_short(double v, double x, double most) {
    return (v == 0 || v == 1 || v == -1) && x != 0 && fabs(x) <= most;
}

double elemwise_jv(double v, double x) {
    if (is_short(v, x, BESSEL01_MOST))
        return v < 0 ? -bessel_j01(1, x) : bessel_j01(v != 0, x);
    if (isnan(v) || isnan(x) || fabs(v) > MOST_ORDER || (x < 0 && !is_whole(v)))
        return (double)NAN;
    if (isinf(x)) return 0;
    bool turn = is_whole(v) && is_odd(v) && (x < 0) != (v < 0);
    if (x == 0) return v == 0 ? 1 : v > 0 || is_whole(v) ? 0 : (double)INFINITY;
    BesselPair p = bessel_jy((long double)fabs(v), (long double)fabs(x));
    long double r = p.first, o = (long double)-v;
    if (v < 0 && !is_whole(v)) r = cos_pi(o) * p.first - sin_pi(o) * p.second;
    return (double)(turn ? -r : r);
}

double elemwise_yv(double v, double x) {
    if (x > 0 && is_short(v, x, BESSEL01_MOST))
        return v < 0 ? -bessel_y01(1, x) : bessel_y01(v != 0, x);
    if (isnan(v) || isnan(x) || x < 0 || fabs(v) > MOST_ORDER) return (double)NAN;
    if (x == 0) return -(double)INFINITY;
    if (isinf(x)) return 0;
    BesselPair p = bessel_jy((long double)fabs(v), (long double)x);
    long double o = (long double)-v;
    if (v >= 0) return (double)p.second;
    if (is_whole(v)) return (double)(is_odd(v) ? -p.second : p.second);
    return (double)(sin_pi(o) * p.first + cos_pi(o) * p.second);
}

double elemwise_ive(double v, double x) {
    if (is_short(v, x, DBL_MAX)) return bessel_i01(v != 0, x, true);
    if (isnan(v) || isnan(x) || fabs(v) > MOST_ORDER || (x < 0 && !is_whole(v)))
        return (double)NAN;
    if (isinf(x)) return 0;
    if (x == 0) return v == 0 ? 1 : v > 0 || is_whole(v) ? 0 : (double)INFINITY;
    BesselPair p = bessel_ik((long double)fabs(v), (long double)fabs(x));
    long double r = p.first, size = (long double)fabs(x);
    if (v < 0 && !is_whole(v))
        r += 2 / PI_L * sin_pi((long double)-v) * p.second * expl(-2 * size);
    return (double)(x < 0 && is_odd(v) ? -r : r);
}

double elemwise_iv(double v, double x) {
    if (is_short(v, x, DBL_MAX)) return bessel_i01(v != 0, x, false);
    if (isinf(x) && !isnan(v))
        return x > 0 ? x : is_whole(v) ? (is_odd(v) ? x : -x) : (double)NAN;
    if (isnan(v) || isnan(x) || fabs(v) > MOST_ORDER || (x < 0 && !is_whole(v)))
        return (double)NAN;
    if (x == 0) return elemwise_ive(v, x);
    BesselPair p = bessel_ik((long double)fabs(v), (long double)fabs(x));
    long double size = (long double)fabs(x), r = p.first * expl(size);
    if (v < 0 && !is_whole(v))
        r += 2 / PI_L * sin_pi((long double)-v) * p.second * expl(-size);
    return (double)(x < 0 && is_odd(v) ? -r : r);
}

double elemwise_kve(double v, double x) {
    if (x > 0 && is_short(v, x, DBL_MAX)) return bessel_k01(v != 0, x, true);
    if (isnan(v) || isnan(x) || x < 0 || fabs(v) > MOST_ORDER) return (double)NAN;
    if (x == 0) return (double)INFINITY;
    if (isinf(x)) return 0;
    return (double)bessel_ik((long double)fabs(v), (long double)x).second;
}

double elemwise_kv(double v, double x) {
    if (x > 0 && is_short(v, x, DBL_MAX)) return bessel_k01(v != 0, x, false);
    if (isnan(v) || isnan(x) || x < 0 || fabs(v) > MOST_ORDER) return (double)NAN;
    if (x == 0) return (double)INFINITY;
    if (isinf(x)) return 0;
    return (double)(bessel_ik((long double)fabs(v), (long double)x).second *
                    expl(-(long double)x));
}
