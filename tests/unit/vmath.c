/* The accuracy of vector mathematics (ops/elemwise/vmath*.h): the largest error of each
 * function in units of the last place, against long double, and what becomes of zeros,
 * infinities, nans and numbers near both ends, against the C library. `vmath table`
 * prints the errors (make ulp). */
#include "elemwise.h"

#include <float.h>

typedef long double Truth(long double x);
typedef long double Truth2(long double x, long double y);
static long double true_sigmoid(long double x) {
    return 1 / (1 + expl(-x));
}
static long double true_softplus(long double x) {
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}
static long double true_log1mexp(long double x) {
    return x > -0.69L ? logl(-expm1l(x)) : log1pl(-expl(x));
}
/* By bisection of erfl and erfcl. */
static long double true_erfcinv(long double c) {
    long double lo = -30, hi = 110;
    bool near = c > 0.5L && c < 1.5L;
    if (fabsl(1 - c) < 1e-9L) return 0.886226925452758013649083741670572591L * (1 - c);
    for (int i = 0; i < 90; i++) {
        long double x = (lo + hi) / 2;
        bool left = near ? erfl(x) < 1 - c : erfcl(x) > c;
        if (left)
            lo = x;
        else
            hi = x;
    }
    return (lo + hi) / 2;
}
static long double true_erfinv(long double y) {
    long double lo = 0, hi = 30, a = fabsl(y);
    if (a < 1e-9L) return 0.886226925452758013649083741670572591L * y;
    for (int i = 0; i < 90; i++) {
        long double x = (lo + hi) / 2;
        bool left = a < 0.5L ? erfl(x) < a : erfcl(x) > 1 - a;
        if (left)
            lo = x;
        else
            hi = x;
    }
    return copysignl((lo + hi) / 2, y);
}
/* From x >= 50 on, by Euler and Maclaurin; near the zero by Taylor. */
static long double true_digamma(long double x) {
    static const long double taylor[] = {
        0.9676722454476211704274448L,   -0.4427631689835921060928653L,
        0.2584997609556510106244014L,   -0.1639427054424065275042513L,
        0.1078240506912623657571829L,   -0.07219956125645471092612178L,
        0.04880428816414310722509253L,  -0.0331611264748473592922584L,
        0.02259764823221810465962483L,  -0.01542476590494895913880032L,
        0.01053879161661217538812405L,  -0.007204534386356868240970474L,
        0.004926781395729853446354266L,
    };
    long double sum = 0, d = (x - 0x1.762d86356be3fp0L) - 9.549995429965697e-17L;
    if (fabsl(d) < 0.03L) {
        for (size_t i = sizeof taylor / sizeof *taylor; i-- > 0;)
            sum = (sum + taylor[i]) * d;
        return sum;
    }
    for (; x < 50; x++)
        sum -= 1 / x;
    long double u = 1 / (x * x);
    return sum + logl(x) - 0.5L / x -
           u * (1 / 12.0L - u * (1 / 120.0L - u * (1 / 252.0L - u / 240)));
}
static long double true_trigamma(long double x) {
    long double sum = 0;
    for (; x < 50; x++)
        sum += 1 / (x * x);
    long double w = 1 / x, u = w * w;
    return sum + w + u / 2 +
           w * u * (1 / 6.0L - u * (1 / 30.0L - u * (1 / 42.0L - u / 30)));
}
static long double true_polygamma(long double n, long double x) {
    return n == 1 ? true_trigamma(x) : (long double)NAN;
}
/* The continued fraction where erfcl vanishes. */
static long double true_erfcx(long double x) {
    long double f = x;
    if (x < 12) return expl(x * x) * erfcl(x);
    for (int k = 90; k > 0; k--)
        f = x + k / 2.0L / f;
    return 0.5641895835477562869480794515607726L / f;
}
static long double true_ndtr(long double x) {
    return erfcl(-x * 0.7071067811865475244008443621048490L) / 2;
}
static long double true_log_ndtr(long double x) {
    return x > 0 ? log1pl(-true_ndtr(-x))
                 : logl(true_erfcx(-x * 0.7071067811865475244008443621048490L) / 2) -
                       x * x / 2;
}
static long double true_logaddexp(long double x, long double y) {
    return x > y ? x + log1pl(expl(y - x)) : y + log1pl(expl(x - y));
}
typedef struct Range {
    double lo, hi;
} Range;
/* limit: in float64; float32 may have 0.6 more, by rounding once more on the way. */
static const struct Accuracy {
    const char *name;
    Truth *truth;
    Range x;
    double limit;
} accuracy_of[] = {
    {"exp", expl, {-746, 710}, 1.15},
    {"exp", expl, {-1, 1}, 1.15},
    {"exp2", exp2l, {-1076, 1025}, 1.4},
    {"expm1", expm1l, {-45, 711}, 1.2},
    {"expm1", expm1l, {-1, 1}, 1.2},
    {"expm1", expm1l, {-20, 89}, 1.2},
    {"expm1", expm1l, {-0x1p-22, 0x1p-22}, 1.2},
    {"log", logl, {0, 1e300}, 1.05},
    {"log", logl, {0.5, 2}, 1.05},
    {"log2", log2l, {0, 1e9}, 1},
    {"log2", log2l, {0.5, 2}, 1},
    {"log10", log10l, {0, 1e9}, 1},
    {"log10", log10l, {0.5, 2}, 1},
    {"log1p", log1pl, {-1, 2}, 1.2},
    {"log1p", log1pl, {0, 1e20}, 1.2},
    {"tanh", tanhl, {-25, 25}, 2},
    {"tanh", tanhl, {-1, 1}, 2},
    {"sigmoid", true_sigmoid, {-745, 40}, 2},
    {"sigmoid", true_sigmoid, {-3, 3}, 2},
    {"softplus", true_softplus, {-745, 50}, 1.7},
    {"softplus", true_softplus, {-3, 3}, 1.7},
    {"softplus", true_softplus, {-9.1, -8.9}, 1.7}, /* another formula of float32 */
    {"log1mexp", true_log1mexp, {-40, 0}, 2.3},
    {"sin", sinl, {-10, 10}, 1},
    {"sin", sinl, {-1e5, 1e5}, 1},
    {"cos", cosl, {-10, 10}, 1},
    {"cos", cosl, {-1e5, 1e5}, 1},
    {"tan", tanl, {-10, 10}, 2.5},
    {"tan", tanl, {-1e5, 1e5}, 2.5},
    {"sinh", sinhl, {-711, 711}, 2.1},
    {"sinh", sinhl, {-1, 1}, 2.1},
    {"cosh", coshl, {-711, 711}, 1.6},
    {"arctan", atanl, {-9, 9}, 1},
    {"arctan", atanl, {-1e9, 1e9}, 1},
    {"arcsin", asinl, {-1, 1}, 1},
    {"arccos", acosl, {-1, 1}, 1},
    {"arcsinh", asinhl, {-9, 9}, 1.6},
    {"arcsinh", asinhl, {-1e300, 1e300}, 1.6},
    {"arccosh", acoshl, {1, 9}, 2},
    {"arccosh", acoshl, {1, 1.1}, 2},
    {"arctanh", atanhl, {-1, 1}, 2},
    {"erf", erfl, {-6, 6}, 1},
    {"erf", erfl, {-1, 1}, 1},
    {"erfc", erfcl, {-3, 27}, 3},
    {"erfinv", true_erfinv, {-1, 1}, 2.3},
    {"erfcinv", true_erfcinv, {0, 2}, 2.3},
    {"gamma", tgammal, {0, 8}, 2},
    {"gamma", tgammal, {8, 171.6}, 0.8},
    {"gamma", tgammal, {1, 2}, 2},
    {"gammaln", lgammal, {0, 9}, 4},
    {"gammaln", lgammal, {0.9, 2.1}, 4},
    {"gammaln", lgammal, {0, 1e300}, 4},
    {"digamma", true_digamma, {0, 9}, 4},
    {"digamma", true_digamma, {1.4, 1.5}, 4},
    {"digamma", true_digamma, {0, 1e9}, 4},
    {"erfcx", true_erfcx, {-26, 35}, 4},
    {"erfcx", true_erfcx, {-2, 2}, 4},
    {"ndtr", true_ndtr, {-37.5, 9}, 5},
    {"ndtr", true_ndtr, {-2, 2}, 5},
    {"log_ndtr", true_log_ndtr, {-50, 9}, 5},
    {"log_ndtr", true_log_ndtr, {-2, 2}, 5},
    {"cbrt", cbrtl, {-9, 9}, 0.6},
    {"cbrt", cbrtl, {0, 1e300}, 0.6},
    {"sqrt", sqrtl, {0, 9}, 0.5},
};
static const struct Accuracy2 {
    const char *name;
    Truth2 *truth;
    Range x, y;
    double limit; /* at levels with a fused multiply-add; level 0 may have 0.9 more */
} accuracy2_of[] = {
    {"arctan2", atan2l, {-9, 9}, {-9, 9}, 1},
    {"arctan2", atan2l, {-1e9, 1e9}, {-1, 1}, 1},
    {"arctan2", atan2l, {0, 1}, {-1e9, 1e9}, 1},
    {"hypot", hypotl, {-9, 9}, {-9, 9}, 0.7},
    {"hypot", hypotl, {-1e300, 1e300}, {-1e300, 1e300}, 0.7},
    {"power", powl, {0, 9}, {-9, 9}, 1},
    {"power", powl, {0.99, 1.01}, {-6e4, 6e4}, 1},
    {"power", powl, {0, 1e300}, {-1, 1}, 1},
    {"logaddexp", true_logaddexp, {1, 9}, {1, 9}, 2.2},
    {"polygamma", true_polygamma, {1, 1}, {0, 9}, 4},
    {"polygamma", true_polygamma, {1, 1}, {0, 1e9}, 4},
};

/* ---- the largest error ---- */

enum { N = 512, ROUNDS = 24 };
typedef struct Worst {
    double ulp, x, y;
} Worst;
static void take_worst(Worst *w, double ulp, double x, double y) {
    if (ulp > w->ulp) *w = (Worst){ulp, x, y};
}
/* Every fourth round lies near 0, where the range holds it. */
static void fill(Range r, int round, double *x, float *xf) {
    for (size_t i = 0; i < N; i++) {
        x[i] = r.lo + (r.hi - r.lo) * random_unit();
        if (round % 4 == 3 && r.lo <= 0 && r.hi >= 0) x[i] *= exp2(-60 * random_unit());
        xf[i] = (float)(fabs(x[i]) < 1e38 ? x[i] : exp2(250 * random_unit() - 148));
    }
}
static void measure(const struct Accuracy *a, int level, Worst *w64, Worst *w32) {
    double x[N], y[N];
    float xf[N], yf[N];
    for (int round = 0; round < ROUNDS; round++) {
        fill(a->x, round, x, xf);
        loop_at(op(a->name), DT_FLOAT64, level)(N, (const void *[]){x}, (void *[]){y});
        loop_at(op(a->name), DT_FLOAT32, level)(N, (const void *[]){xf},
                                                (void *[]){yf});
        for (size_t i = 0; i < N; i++) {
            take_worst(w64, ulps64(y[i], a->truth((long double)x[i])), x[i], 0);
            take_worst(w32, ulps32(yf[i], a->truth((long double)xf[i])), (double)xf[i],
                       0);
        }
    }
}
static void measure2(const struct Accuracy2 *a, int level, Worst *w64, Worst *w32) {
    double x[N], y[N], r[N];
    float xf[N], yf[N], rf[N];
    for (int round = 0; round < ROUNDS; round++) {
        fill(a->x, round, x, xf);
        fill(a->y, round / 4, y, yf);
        loop_at(op(a->name), DT_FLOAT64, level)(N, (const void *[]){x, y},
                                                (void *[]){r});
        loop_at(op(a->name), DT_FLOAT32, level)(N, (const void *[]){xf, yf},
                                                (void *[]){rf});
        for (size_t i = 0; i < N; i++) {
            long double want = a->truth((long double)x[i], (long double)y[i]);
            take_worst(w64, ulps64(r[i], want), x[i], y[i]);
            want = a->truth((long double)xf[i], (long double)yf[i]);
            take_worst(w32, ulps32(rf[i], want), (double)xf[i], (double)yf[i]);
        }
    }
}
/* Where the terms cancel, and where the formula changes: what float64 of the arguments
 * gives, rounded. */
static void logaddexp_of_float32(void) {
    static const float at[] = {-0.6931472F, -0.7F, -0.69F, -1.5F, 0.25F, 9, -80};
    enum { EACH = 200, AT = sizeof at / sizeof *at };
    static float x[AT * EACH], y[AT * EACH], r[AT * EACH];
    for (size_t i = 0; i < AT * EACH; i++) {
        double below = (double)(i % EACH) / (i % 3 ? EACH : 10);
        x[i] = at[i / EACH] - (float)below, y[i] = at[i / EACH];
    }
    for (int level = 0; level <= cpu_level; level++) {
        loop_at(op("logaddexp"), DT_FLOAT32, level)(AT * EACH, (const void *[]){x, y},
                                                    (void *[]){r});
        for (size_t i = 0; i < AT * EACH; i++) {
            long double want = true_logaddexp((long double)x[i], (long double)y[i]);
            CHECK(ulps32(r[i], want) < 0.6, "logaddexp(%.9g, %.9g) at level %d: %.9g",
                  (double)x[i], (double)y[i], level, (double)r[i]);
        }
    }
}
/* Of infinities, nan, and exponentials that float32 can't hold. softplus(x) is
 * logaddexp(x, 0). */
static void ends_of_float32(void) {
    static const float x[] = {INFINITY,  INFINITY, -INFINITY, -INFINITY, NAN,    1,
                              NAN,       0,        -200,      3e38F,     -3e38F, -90,
                              -INFINITY, INFINITY, NAN,       3e38F};
    static const float y[] = {INFINITY,  -INFINITY, -INFINITY, 3,     1,     NAN,
                              -INFINITY, -200,      0,         3e38F, 3e38F, 0,
                              0,         0,         0,         0};
    static const float want[] = {INFINITY, INFINITY, -INFINITY, 3,     NAN,   NAN,
                                 NAN,      0,        0,         3e38F, 3e38F, 8.2e-40F,
                                 0,        INFINITY, NAN,       3e38F};
    enum { ALL = sizeof x / sizeof *x };
    for (int level = 0; level <= cpu_level; level++) {
        float r[ALL], soft[ALL];
        loop_at(op("logaddexp"), DT_FLOAT32, level)(ALL, (const void *[]){x, y},
                                                    (void *[]){r});
        loop_at(op("softplus"), DT_FLOAT32, level)(ALL, (const void *[]){x},
                                                   (void *[]){soft});
        for (size_t i = 0; i < ALL; i++) {
            bool near = fabsf(r[i] - want[i]) < 1e-42F, none = isnan(want[i]);
            CHECK(none ? isnan(r[i]) : near || r[i] == want[i],
                  "logaddexp(%g, %g) at level %d: %g", (double)x[i], (double)y[i],
                  level, (double)r[i]);
            CHECK(y[i] != 0 || soft[i] == r[i] || fabsf(soft[i] - r[i]) < 1e-42F ||
                      (isnan(soft[i]) && none),
                  "softplus(%g) at level %d: %g", (double)x[i], level, (double)soft[i]);
        }
    }
}
/* At level 0 each product may be rounded, and gamma from 8 on is the C library's. */
static double limit_at(const char *name, double limit, int level) {
    if (level) return limit + 0.01;
    return strcmp(name, "gamma") == 0 ? 6 : limit + 0.9;
}
static void accuracy(bool table) {
    for (size_t k = 0; k < sizeof accuracy_of / sizeof *accuracy_of; k++)
        for (int level = 0; level <= cpu_level; level++) {
            const struct Accuracy *a = &accuracy_of[k];
            double limit = limit_at(a->name, a->limit, level);
            Worst w64 = {0}, w32 = {0};
            measure(a, level, &w64, &w32);
            if (table)
                printf("%-10s %9.4g to %-9.4g                         level %d  "
                       "float64 %.2f  float32 %.2f\n",
                       a->name, a->x.lo, a->x.hi, level, w64.ulp, w32.ulp);
            CHECK(w64.ulp <= limit, "%s at level %d: %.2f ulp at %.17g", a->name, level,
                  w64.ulp, w64.x);
            CHECK(w32.ulp <= limit + 0.6, "%s float32 at level %d: %.2f ulp at %.9g",
                  a->name, level, w32.ulp, w32.x);
        }
}
static void accuracy2(bool table) {
    for (size_t k = 0; k < sizeof accuracy2_of / sizeof *accuracy2_of; k++)
        for (int level = 0; level <= cpu_level; level++) {
            const struct Accuracy2 *a = &accuracy2_of[k];
            double limit = a->limit + (level ? 0.01 : 0.9);
            Worst w64 = {0}, w32 = {0};
            measure2(a, level, &w64, &w32);
            if (table)
                printf("%-10s %9.4g to %-9.4g %9.4g to %-9.4g  level %d  float64 %.2f  "
                       "float32 %.2f\n",
                       a->name, a->x.lo, a->x.hi, a->y.lo, a->y.hi, level, w64.ulp,
                       w32.ulp);
            CHECK(w64.ulp <= limit, "%s at level %d: %.2f ulp at %.17g, %.17g", a->name,
                  level, w64.ulp, w64.x, w64.y);
            CHECK(w32.ulp <= limit + 0.6,
                  "%s float32 at level %d: %.2f ulp at %.9g, %.9g", a->name, level,
                  w32.ulp, w32.x, w32.y);
        }
}
/* Where the reduction of sin cancels, and powers of a base, which are exact. */
static void exact(void) {
    double x, y, worst = 0;
    for (int k = 1; k < 63662; k++) {
        x = (double)(k * 1.57079632679489661923132169163975144L);
        loop_of("sin", DT_FLOAT64)(1, (const void *[]){&x}, (void *[]){&y});
        double e = ulps64(y, (long double)sin(x));
        worst = e > worst ? e : worst;
    }
    CHECK(worst <= 1, "sin at multiples of pi/2: %.2f ulp", worst);
    for (int k = -22; k <= 22; k++) {
        x = k < 0 ? 1 / pow(10, -k) : pow(10, k);
        loop_of("log10", DT_FLOAT64)(1, (const void *[]){&x}, (void *[]){&y});
        CHECK(y == k, "log10(1e%d) = %.17g", k, y);
        x = ldexp(1, 40 * k);
        loop_of("log2", DT_FLOAT64)(1, (const void *[]){&x}, (void *[]){&y});
        CHECK(y == 40 * k, "log2(2^%d) = %.17g", 40 * k, y);
        loop_of("exp2", DT_FLOAT64)(1, (const void *[]){&y}, (void *[]){&y});
        CHECK(y == x, "exp2(%d) = %.17g", 40 * k, y);
    }
}

/* gamma(n) is (n - 1)!, to the last digit where no series is needed. */
static void factorials(void) {
    for (int level = 0; level <= cpu_level; level++) {
        double x[8], r[8], f = 1;
        for (int i = 0; i < 8; i++)
            x[i] = i + 1;
        loop_at(op("gamma"), DT_FLOAT64, level)(8, (const void *[]){x}, (void *[]){r});
        for (int i = 0; i < 8; f *= ++i)
            CHECK(r[i] == f, "gamma(%d) at level %d: %.17g", i + 1, level, r[i]);
    }
}

/* ---- both ends, and between ---- */

static double true_exponent(double x) {
    int e = 0;
    if (isfinite(x)) (void)frexp(x, &e);
    return e;
}
static float true_exponentf(float x) {
    return (float)true_exponent((double)x);
}
static double normal_below(double x) {
    return (double)true_ndtr((long double)x);
}
static float normal_belowf(float x) {
    return (float)normal_below((double)x);
}
#define UNARY(name, fn)                                                                \
    { name, fn, fn##f }
static const struct Unary {
    const char *name;
    double (*f64)(double x);
    float (*f32)(float x);
} unary[] = {
    UNARY("exp", exp),           UNARY("exp2", exp2),
    UNARY("expm1", expm1),       UNARY("log", log),
    UNARY("log2", log2),         UNARY("log10", log10),
    UNARY("log1p", log1p),       UNARY("sqrt", sqrt),
    UNARY("tanh", tanh),         UNARY("sin", sin),
    UNARY("cos", cos),           UNARY("tan", tan),
    UNARY("arcsin", asin),       UNARY("arccos", acos),
    UNARY("arctan", atan),       UNARY("sinh", sinh),
    UNARY("cosh", cosh),         UNARY("arcsinh", asinh),
    UNARY("arccosh", acosh),     UNARY("arctanh", atanh),
    UNARY("cbrt", cbrt),         UNARY("erf", erf),
    UNARY("erfc", erfc),         UNARY("gammaln", lgamma),
    UNARY("gamma", tgamma),      UNARY("float_exponent", true_exponent),
    UNARY("ndtr", normal_below),
};
/* Python's: the rest has the divisor's sign. */
static double true_rest(double x, double y) {
    double r = fmod(x, y);
    if (r == 0) return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}
static double true_quotient(double x, double y) {
    if (y == 0) return x / y;
    double r = fmod(x, y), q = (x - r) / y - (r != 0 && (r < 0) != (y < 0));
    return q == 0 ? copysign(0, x / y) : rint(q);
}
static float true_restf(float x, float y) {
    return (float)true_rest((double)x, (double)y);
}
static float true_quotientf(float x, float y) {
    if (y == 0) return x / y;
    float r = fmodf(x, y), q = (x - r) / y;
    if (r != 0 && (r < 0) != (y < 0)) q -= 1;
    return q == 0 ? copysignf(0, x / y) : rintf(q);
}
static double true_scale(double x, double y) {
    return isnan(y) ? y : ldexp(x, (int)rint(fmax(-5000, fmin(5000, y))));
}
static float true_scalef(float x, float y) {
    return isnan(y) ? y : (float)true_scale((double)x, (double)y);
}
static const struct Binary {
    const char *name;
    double (*f64)(double x, double y);
    float (*f32)(float x, float y);
    bool bits; /* no digit may differ */
} binary[] = {{"arctan2", atan2, atan2f, false},
              {"hypot", hypot, hypotf, false},
              {"power", pow, powf, false},
              {"scale_exponent", true_scale, true_scalef, true},
              {"remainder", true_rest, true_restf, true},
              {"fmod", fmod, fmodf, true},
              {"floor_divide", true_quotient, true_quotientf, true}};

static const double ends64[] = {
    0,        1,           0.5,     2,       3,        7,      1e-10, 0.7,    1e5,
    0x1p53,   4e15,        1e19,    DBL_MAX, DBL_MIN,  5e-324, 1e300, 1e-300, 1e-309,
    HUGE_VAL, (double)NAN, 0x1p500, 0x1p501, 0x1p-400, 28.5,   745};
static const float ends32[] = {
    0,        1,     0.5F,    2,        3,        7,      1e-10F, 0.7F,   1e5F,
    0x1p24F,  4e15F, 1e19F,   FLT_MAX,  FLT_MIN,  1e-45F, 1e30F,  1e-30F, 1e-39F,
    INFINITY, NAN,   0x1p60F, 0x1p101F, 0x1p-60F, 10.5F,  104};
enum { ENDS = 2 * sizeof ends64 / sizeof *ends64 };
_Static_assert(sizeof ends32 / sizeof *ends32 * 2 == ENDS, "as many of both");
static double end64(size_t i) {
    return i % 2 ? -ends64[i / 2] : ends64[i / 2];
}
static float end32(size_t i) {
    return i % 2 ? -ends32[i / 2] : ends32[i / 2];
}
/* Zeros, infinities and nans are the same, signs included. */
static bool agrees(double got, double want, double ulps, double limit) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (want == 0 || got == 0) return want == got && signbit(want) == signbit(got);
    return isinf(want) || isinf(got) ? want == got : ulps <= limit;
}
static void check_unary(const struct Unary *u, int level) {
    double x[ENDS], r[ENDS];
    float xf[ENDS], rf[ENDS];
    for (size_t i = 0; i < ENDS; i++)
        x[i] = end64(i), xf[i] = end32(i);
    loop_at(op(u->name), DT_FLOAT64, level)(ENDS, (const void *[]){x}, (void *[]){r});
    loop_at(op(u->name), DT_FLOAT32, level)(ENDS, (const void *[]){xf}, (void *[]){rf});
    for (size_t i = 0; i < ENDS; i++) {
        double want = u->f64(x[i]);
        float wantf = u->f32(xf[i]);
        CHECK(agrees(r[i], want, ulps64(r[i], (long double)want), 4),
              "%s(%.17g) at level %d: %.17g, not %.17g", u->name, x[i], level, r[i],
              want);
        CHECK(
            agrees((double)rf[i], (double)wantf, ulps32(rf[i], (long double)wantf), 4),
            "%s(%.9g) of float32 at level %d: %.9g, not %.9g", u->name, (double)xf[i],
            level, (double)rf[i], (double)wantf);
    }
}
static void check_binary(const struct Binary *u, int level) {
    static double x[ENDS * ENDS], y[ENDS * ENDS], r[ENDS * ENDS];
    static float xf[ENDS * ENDS], yf[ENDS * ENDS], rf[ENDS * ENDS];
    size_t n = ENDS * ENDS;
    double limit = u->bits ? 0 : 4;
    for (size_t i = 0; i < n; i++) {
        x[i] = end64(i / ENDS), y[i] = end64(i % ENDS);
        xf[i] = end32(i / ENDS), yf[i] = end32(i % ENDS);
    }
    loop_at(op(u->name), DT_FLOAT64, level)(n, (const void *[]){x, y}, (void *[]){r});
    loop_at(op(u->name), DT_FLOAT32, level)(n, (const void *[]){xf, yf},
                                            (void *[]){rf});
    for (size_t i = 0; i < n; i++) {
        double want = u->f64(x[i], y[i]);
        float wantf = u->f32(xf[i], yf[i]);
        CHECK(agrees(r[i], want, ulps64(r[i], (long double)want), limit),
              "%s(%.17g, %.17g) at level %d: %.17g, not %.17g", u->name, x[i], y[i],
              level, r[i], want);
        CHECK(agrees((double)rf[i], (double)wantf, ulps32(rf[i], (long double)wantf),
                     limit),
              "%s(%.9g, %.9g) of float32 at level %d: %.9g, not %.9g", u->name,
              (double)xf[i], (double)yf[i], level, (double)rf[i], (double)wantf);
    }
}
/* Quotients of all sizes, also next to whole numbers. */
static void check_rests(int level) {
    enum { M = 4096 };
    static double x[M], y[M], r[M], q[M];
    for (int round = 0; round < 16; round++) {
        for (size_t i = 0; i < M; i++) {
            y[i] = (random_unit() - 0.5) * exp2(40 * random_unit() - 20);
            x[i] = y[i] * floor(exp2(54 * random_unit()));
            if (i % 3 == 0) x[i] = nextafter(x[i], i % 2 ? -HUGE_VAL : HUGE_VAL);
            if (i % 3 == 1) x[i] += y[i] * random_unit();
        }
        loop_at(op("remainder"), DT_FLOAT64, level)(M, (const void *[]){x, y},
                                                    (void *[]){r});
        loop_at(op("floor_divide"), DT_FLOAT64, level)(M, (const void *[]){x, y},
                                                       (void *[]){q});
        for (size_t i = 0; i < M; i++) {
            CHECK(r[i] == true_rest(x[i], y[i]), "%.17g %% %.17g at level %d: %.17g",
                  x[i], y[i], level, r[i]);
            CHECK(q[i] == true_quotient(x[i], y[i]),
                  "%.17g // %.17g at level %d: %.17g", x[i], y[i], level, q[i]);
        }
    }
}
static void ends(void) {
    for (int level = 0; level <= cpu_level; level++) {
        for (size_t k = 0; k < sizeof unary / sizeof *unary; k++)
            check_unary(&unary[k], level);
        for (size_t k = 0; k < sizeof binary / sizeof *binary; k++)
            check_binary(&binary[k], level);
        check_rests(level);
    }
}

/* ---- whole exponents ---- */

enum { POWERS = 300 };
static const double bases[] = {
    0.5,    2,     -1,      1,       0.99,    -0.75,       1.5,  -3,
    1e-3,   7e4,   1e300,   -1e-300, 5e-324,  0.0,         -0.0, HUGE_VAL,
    0.0078, 1.125, DBL_MIN, DBL_MAX, 1 / 3.0, (double)NAN, -1.9, -HUGE_VAL};
static void powers_at(int level, size_t n, const double *x, const double *y,
                      double *r) {
    loop_at(op("power"), DT_FLOAT64, level)(n, (const void *[]){x, y}, (void *[]){r});
}
static bool same_bits(const double *a, const double *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}
/* A power is the same in a row, whose exponents are consecutive, alone, backwards, next
 * to roots, and in place of the base or of the exponent. */
static void check_row(int level, double base, double first, size_t n) {
    double x[POWERS] = {0}, y[POWERS] = {0}, row[POWERS], r[POWERS], mixed[POWERS];
    for (size_t i = 0; i < n; i++)
        x[i] = base, y[i] = first + (double)i;
    powers_at(level, n, x, y, row);
    for (size_t i = 0; i < n; i++)
        powers_at(level, 1, &x[i], &y[i], &r[i]);
    CHECK(same_bits(r, row, n), "a row of powers of %.17g from %g on", base, first);
    memcpy(r, x, sizeof r);
    powers_at(level, n, r, y, r);
    CHECK(same_bits(r, row, n), "powers of %.17g in place of it", base);
    memcpy(r, y, sizeof r);
    powers_at(level, n, x, r, r);
    CHECK(same_bits(r, row, n), "powers of %.17g in place of exponents", base);
    for (size_t i = 0; i < n; i++)
        mixed[i] = i % 3 ? y[i] : 0.5;
    powers_at(level, n, x, mixed, r);
    for (size_t i = 0; i < n; i++)
        CHECK(i % 3 == 0 || same_bits(&r[i], &row[i], 1), "%.17g**%g beside roots",
              base, y[i]);
    for (size_t i = 0; i < n; i++)
        y[i] = first + (double)(n - 1 - i);
    powers_at(level, n, x, y, r);
    for (size_t i = 0; i < n; i++)
        CHECK(same_bits(&r[i], &row[n - 1 - i], 1), "%.17g**%g backwards", base, y[i]);
}
static void check_powers(int level, double base) {
    static const size_t sizes[] = {1, 2, 7, 8, 9, 15, 17, 64, 100, 128, 255, 256, 300};
    double x, y, r, limit = level > 0 ? 0.51 : 1.9;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (double first = 0; first < 12; first += 1.5 + (double)(k % 2) / 2)
            check_row(level, base, first, sizes[k]);
    check_row(level, base, -3, 40);
    for (x = base, y = 0; y <= 255; y++) {
        powers_at(level, 1, &x, &y, &r);
        long double want = powl((long double)x, (long double)y);
        bool near = fabs(log2(fabs(x))) * y < 440; /* else it is e^(y log x) */
        CHECK(agrees(r, (double)want, ulps64(r, want), near ? limit : 1.9),
              "%.17g**%g at level %d: %.17g, %.2f ulp", x, y, level, r,
              ulps64(r, want));
    }
}
static void whole_powers(void) {
    for (int level = 0; level <= cpu_level; level++) {
        for (size_t k = 0; k < sizeof bases / sizeof *bases; k++)
            check_powers(level, bases[k]);
        for (int k = 0; k < 40; k++)
            check_powers(level, 4 * random_unit() - 2);
    }
}

int main(int argc, char **argv) {
    bool table = argc > 1 && strcmp(argv[1], "table") == 0;
    start();
    accuracy(table);
    accuracy2(table);
    logaddexp_of_float32();
    ends_of_float32();
    exact();
    factorials();
    ends();
    whole_powers();
    return TEST_END("vmath");
}
