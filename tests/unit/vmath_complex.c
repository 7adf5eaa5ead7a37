/* The accuracy of complex exp, log, sqrt, powers and reciprocals
 * (ops/elemwise/vmath_complex.h): the largest error of a part in units of its last
 * place, against long double, at all levels of CPU; what becomes of zeros, infinities,
 * nans and numbers near both ends, against the C library. `vmath_complex table` prints
 * the errors (make ulp). */
#include "base/complex.h"
#include "elemwise.h"

#include <complex.h>

typedef double _Complex c128;
typedef float _Complex c64;
#define C128(re, im) __builtin_complex((double)(re), (double)(im))
#define C64(re, im)  __builtin_complex((float)(re), (float)(im))
typedef long double _Complex Truth(long double _Complex x);
static long double _Complex true_reciprocal(long double _Complex x) {
    long double a = creall(x), b = cimagl(x), s = a * a + b * b;
    return __builtin_complex(a / s, -b / s);
}

/* How the parts of arguments are drawn: evenly from -size to size; by exponents from
 * low to high; as points whose distance from 1 is 2^low to 2^high. */
typedef enum Draw { EVENLY, EXPONENTS, NEAR_ONE } Draw;
static const struct Accuracy {
    const char *name;
    Truth *truth;
    Draw how;
    double low, high;   /* of float64, or the sizes of both parts */
    double lowf, highf; /* of float32 */
    double limit;
} accuracy_of[] = {
    {"exp", cexpl, EVENLY, 3, 3, 3, 3, 2.3},
    {"exp", cexpl, EVENLY, 700, 1000, 85, 1000, 2.3},
    {"exp", cexpl, EVENLY, 745, 1e5, 100, 1e5, 2.3},
    {"log", clogl, EVENLY, 2, 2, 2, 2, 1.6},
    {"log", clogl, EXPONENTS, -1074, 1023, -149, 127, 1.6},
    {"log", clogl, NEAR_ONE, -50, -1, -22, -1, 1.6},
    {"sqrt", csqrtl, EVENLY, 2, 2, 2, 2, 2},
    {"sqrt", csqrtl, EXPONENTS, -1074, 1023, -149, 127, 2},
};

enum { N = 512, ROUNDS = 24 };
static double signed_unit(void) {
    return 2 * random_unit() - 1;
}
static c128 draw(Draw how, double low, double high) {
    double turn = 3.2 * signed_unit(), far = exp2(low + (high - low) * random_unit());
    switch (how) {
    case EVENLY:
        return C128(low * signed_unit(), high * signed_unit());
    case EXPONENTS:
        return C128(far * signed_unit(),
                    exp2(low + (high - low) * random_unit()) * signed_unit());
    case NEAR_ONE:
        break;
    }
    far = random_bits() & 1 ? 1 - far : 1 + far;
    return C128(far * cos(turn), far * sin(turn));
}
typedef struct Worst {
    double ulp;
    c128 x;
} Worst;
static void take_worst(Worst *w, double ulp, c128 x) {
    if (ulp > w->ulp) *w = (Worst){ulp, x};
}
/* Parts of which the C library's long double knows only the sign are 0 for us, too. */
static double part_ulps64(double got, long double want) {
    return got == 0 && fabsl(want) < 0x1p-1075L ? 0 : ulps64(got, want);
}
static double part_ulps32(float got, long double want) {
    return got == 0 && fabsl(want) < 0x1p-150L ? 0 : ulps32(got, want);
}
static void measure(const struct Accuracy *a, int level, Worst *w64, Worst *w32) {
    static c128 x[N], y[N];
    static c64 xf[N], yf[N];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = draw(a->how, a->low, a->high);
            xf[i] = (c64)draw(a->how, a->lowf, a->highf);
        }
        loop_at(op(a->name), DT_COMPLEX128, level)(N, (const void *[]){x},
                                                   (void *[]){y});
        loop_at(op(a->name), DT_COMPLEX64, level)(N, (const void *[]){xf},
                                                  (void *[]){yf});
        for (size_t i = 0; i < N; i++) {
            long double _Complex want = a->truth((long double _Complex)x[i]);
            take_worst(w64, part_ulps64(creal(y[i]), creall(want)), x[i]);
            take_worst(w64, part_ulps64(cimag(y[i]), cimagl(want)), x[i]);
            want = a->truth((long double _Complex)xf[i]);
            take_worst(w32, part_ulps32(crealf(yf[i]), creall(want)), (c128)xf[i]);
            take_worst(w32, part_ulps32(cimagf(yf[i]), cimagl(want)), (c128)xf[i]);
        }
    }
}
static void accuracy(bool table) {
    static const char *const ways[] = {"evenly", "exponents", "near 1"};
    for (size_t k = 0; k < sizeof accuracy_of / sizeof *accuracy_of; k++)
        for (int level = 0; level <= cpu_level; level++) {
            const struct Accuracy *a = &accuracy_of[k];
            Worst w64 = {0}, w32 = {0};
            measure(a, level, &w64, &w32);
            if (table)
                printf("%-10s %-9s %5g, %-5g  level %d  complex128 %.2f  complex64 "
                       "%.2f\n",
                       a->name, ways[a->how], a->low, a->high, level, w64.ulp, w32.ulp);
            CHECK(w64.ulp <= a->limit, "%s at level %d: %.2f ulp at %.17g%+.17gj",
                  a->name, level, w64.ulp, creal(w64.x), cimag(w64.x));
            CHECK(w32.ulp <= (strcmp(a->name, "log") == 0 ? 1.3 : 0.51),
                  "%s of complex64 at level %d: %.2f ulp at %.9g%+.9gj", a->name, level,
                  w32.ulp, creal(w32.x), cimag(w32.x));
        }
}

/* Of the whole number, not of a part: a part of a product may cancel. */
static double distance(c128 got, c128 want) {
    return cabs(got - want) / cabs(want);
}
static c128 true_power(c128 x, c128 y) {
    return (c128)cpowl((long double _Complex)x, (long double _Complex)y);
}
static void powers_near(bool table) {
    for (int level = 0; level <= cpu_level; level++) {
        static c128 x[N], y[N], r[N];
        static c64 xf[N], yf[N], rf[N];
        double worst = 0, worstf = 0, inverse = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < N; i++) {
                x[i] = draw(EVENLY, 9, 9), y[i] = draw(EVENLY, 9, 9);
                xf[i] = (c64)x[i], yf[i] = (c64)y[i];
            }
            loop_at(op("power"), DT_COMPLEX128, level)(N, (const void *[]){x, y},
                                                       (void *[]){r});
            loop_at(op("power"), DT_COMPLEX64, level)(N, (const void *[]){xf, yf},
                                                      (void *[]){rf});
            for (size_t i = 0; i < N; i++) {
                c128 want = true_power((c128)xf[i], (c128)yf[i]);
                worst = fmax(worst, distance(r[i], true_power(x[i], y[i])));
                worstf = fmax(worstf, distance((c128)rf[i], want));
            }
            loop_at(op("reciprocal"), DT_COMPLEX128, level)(N, (const void *[]){x},
                                                            (void *[]){r});
            for (size_t i = 0; i < N; i++)
                inverse = fmax(
                    inverse,
                    distance(r[i], (c128)true_reciprocal((long double _Complex)x[i])));
        }
        if (table)
            printf("power      evenly        9, 9      level %d  complex128 %.2f  "
                   "complex64 %.2f, of |r|\n"
                   "reciprocal evenly        9, 9      level %d  complex128 %.2f, of "
                   "|r|\n",
                   level, worst * 0x1p53, worstf * 0x1p24, level, inverse * 0x1p53);
        CHECK(worst < 128 * 0x1p-53, "power at level %d: %g", level, worst);
        CHECK(worstf < 0x1p-24, "power of complex64 at level %d: %g", level, worstf);
        CHECK(inverse < 4 * 0x1p-53, "reciprocal at level %d: %g", level, inverse);
    }
}

/* ---- both ends, and between ---- */

static const double ends64[] = {0,        1,       0.5,     2,        3.25,     1e-10,
                                1e5,      2e5,     1e19,    DBL_MAX,  DBL_MIN,  5e-324,
                                1e300,    1e-300,  1e-309,  HUGE_VAL, NOT,      0x1p500,
                                0x1p-400, 709,     715,     745,      1000,     1450,
                                2000,     0x1p501, 0x1p-60, 1e-160,   1 - 1e-9, 100};
static const float ends32[] = {0,        1,        0.5F,   2,        3.25F,     1e-10F,
                               1e5F,     2e5F,     1e19F,  FLT_MAX,  FLT_MIN,   1e-45F,
                               1e30F,    1e-30F,   1e-39F, INFINITY, NAN,       0x1p60F,
                               0x1p-60F, 88,       92,     103.5F,   120,       180,
                               210,      0x1p101F, 1e-8F,  1e-20F,   1 - 1e-6F, 100};
enum { ENDS = 2 * sizeof ends64 / sizeof *ends64, PAIRS = ENDS * ENDS };
_Static_assert(sizeof ends32 / sizeof *ends32 * 2 == ENDS, "as many of both");
static double end64(size_t i) {
    return i % 2 ? -ends64[i / 2] : ends64[i / 2];
}
static float end32(size_t i) {
    return i % 2 ? -ends32[i / 2] : ends32[i / 2];
}
/* Zeros, infinities and nans are the same, signs included; the C library rounds
 * subnormal numbers twice, so that it may be one of them away. */
static bool agrees(double got, double want, double ulps, double least) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (!signbit(want) != !signbit(got)) return false;
    if (isinf(want) || isinf(got)) return want == got;
    return ulps <= 4 || fabs(got - want) <= least;
}
static void check_ends(const char *name, c128 (*f64)(c128), c64 (*f32)(c64),
                       int level) {
    static c128 x[PAIRS], r[PAIRS];
    static c64 xf[PAIRS], rf[PAIRS];
    for (size_t i = 0; i < PAIRS; i++) {
        x[i] = C128(end64(i / ENDS), end64(i % ENDS));
        xf[i] = C64(end32(i / ENDS), end32(i % ENDS));
    }
    loop_at(op(name), DT_COMPLEX128, level)(PAIRS, (const void *[]){x}, (void *[]){r});
    loop_at(op(name), DT_COMPLEX64, level)(PAIRS, (const void *[]){xf}, (void *[]){rf});
    for (size_t i = 0; i < PAIRS; i++) {
        double a = creal(r[i]), b = cimag(r[i]), re = creal(f64(x[i])),
               im = cimag(f64(x[i]));
        CHECK(agrees(a, re, ulps64(a, (long double)re), 5e-324) &&
                  agrees(b, im, ulps64(b, (long double)im), 5e-324),
              "%s(%.17g%+.17gj) at level %d: %.17g%+.17gj, not %.17g%+.17gj", name,
              creal(x[i]), cimag(x[i]), level, a, b, re, im);
        float af = crealf(rf[i]), bf = cimagf(rf[i]), ref = crealf(f32(xf[i])),
              imf = cimagf(f32(xf[i]));
        CHECK(
            agrees((double)af, (double)ref, ulps32(af, (long double)ref), 0x1p-149) &&
                agrees((double)bf, (double)imf, ulps32(bf, (long double)imf), 0x1p-149),
            "%s(%.9g%+.9gj) of complex64 at level %d: %.9g%+.9gj, not %.9g%+.9gj", name,
            (double)crealf(xf[i]), (double)cimagf(xf[i]), level, (double)af, (double)bf,
            (double)ref, (double)imf);
    }
}
static bool same_part(double got, double want, double size) {
    if (isnan(want) || isinf(want) || isnan(got) || isinf(got))
        return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= 1e-12 * size + 1e-322;
}
static bool same_power(c128 got, c128 want) {
    double size = fmax(fabs(creal(want)), fabs(cimag(want)));
    return same_part(creal(got), creal(want), size) &&
           same_part(cimag(got), cimag(want), size);
}
/* Bits of a are those of b, all nans taken as one. */
static bool same_bits(c128 a, c128 b) {
    double x[] = {creal(a), cimag(a)}, y[] = {creal(b), cimag(b)};
    for (size_t i = 0; i < 2; i++)
        if (memcmp(&x[i], &y[i], 8) != 0 && !(isnan(x[i]) && isnan(y[i]))) return false;
    return true;
}
/* Whole exponents in rows have the bits of the scalar function, alone and beside
 * others; y runs through `exponents`. */
static void check_powers(int level) {
    static const c128 exponents[] = {0,
                                     1,
                                     2,
                                     3,
                                     -1,
                                     -2,
                                     7,
                                     100,
                                     -100,
                                     0.5,
                                     -0.5,
                                     101,
                                     2.5,
                                     C128(0, 1),
                                     C128(-3, 0.25),
                                     C128(2, -0.0),
                                     C128(0, 1e-300),
                                     C128(1e300, 0),
                                     C128(HUGE_VAL, 0),
                                     C128(0, -HUGE_VAL),
                                     C128(NOT, 0),
                                     C128(0.5, NOT)};
    enum { MANY = sizeof exponents / sizeof *exponents };
    static c128 x[PAIRS], y[PAIRS], row[PAIRS], mixed[PAIRS];
    for (size_t k = 0; k < MANY; k++) {
        c128 e = exponents[k];
        bool whole =
            cimag(e) == 0 && rint(creal(e)) == creal(e) && fabs(creal(e)) <= 100;
        for (size_t i = 0; i < PAIRS; i++) {
            x[i] = C128(end64(i / ENDS), end64(i % ENDS));
            y[i] = e;
        }
        loop_at(op("power"), DT_COMPLEX128, level)(PAIRS, (const void *[]){x, y},
                                                   (void *[]){row});
        for (size_t i = 0; i < PAIRS; i += 3)
            y[i] = 0.75;
        loop_at(op("power"), DT_COMPLEX128, level)(PAIRS, (const void *[]){x, y},
                                                   (void *[]){mixed});
        for (size_t i = 0; i < PAIRS; i++) {
            c128 want = cpower_c128(x[i], e);
            CHECK(i % 3 == 0 || same_bits(row[i], mixed[i]),
                  "(%.17g%+.17gj)**(%g%+gj) at level %d beside others", creal(x[i]),
                  cimag(x[i]), creal(e), cimag(e), level);
            CHECK(whole ? same_bits(row[i], want) : same_power(row[i], want),
                  "(%.17g%+.17gj)**(%g%+gj) at level %d: %.17g%+.17gj, not "
                  "%.17g%+.17gj",
                  creal(x[i]), cimag(x[i]), creal(e), cimag(e), level, creal(row[i]),
                  cimag(row[i]), creal(want), cimag(want));
        }
    }
}
static c128 reciprocal64(c128 x) {
    return x == 0 ? C128(NOT, NOT) : cdiv_c128(1, x);
}
static c64 reciprocal32(c64 x) {
    return x == 0 ? C64(NAN, NAN) : cdiv_c64(1, x);
}
static void check_reciprocals(int level) {
    static c128 x[PAIRS], r[PAIRS];
    for (size_t i = 0; i < PAIRS; i++)
        x[i] = i % 2 ? C128(end64(i / ENDS), end64(i % ENDS)) : draw(EVENLY, 9, 9);
    loop_at(op("reciprocal"), DT_COMPLEX128, level)(PAIRS, (const void *[]){x},
                                                    (void *[]){r});
    for (size_t i = 0; i < PAIRS; i++)
        CHECK(same_bits(r[i], reciprocal64(x[i])),
              "1 / (%.17g%+.17gj) at level %d isn't that of cdiv", creal(x[i]),
              cimag(x[i]), level);
}
static void ends(void) {
    for (int level = 0; level <= cpu_level; level++) {
        check_ends("exp", cexp, cexpf, level);
        check_ends("log", clog, clogf, level);
        check_ends("sqrt", csqrt, csqrtf, level);
        check_ends("reciprocal", reciprocal64, reciprocal32, level);
        check_reciprocals(level);
        check_powers(level);
    }
}

int main(int argc, char **argv) {
    bool table = argc > 1 && strcmp(argv[1], "table") == 0;
    start();
    accuracy(table);
    powers_near(table);
    ends();
    return TEST_END("vmath_complex");
}
