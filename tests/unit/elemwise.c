/* Elementwise loops against independent truths: integers against arithmetic in 128
 * bits, floats against NumPy's and SciPy's results (elemwise.def). vmath.c measures the
 * accuracy of floats. */
#include "elemwise.h"

/* ---- what a row promises ---- */

static void rows(void) {
    for (const OpList *const *l = lists; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++) {
            const Op *o = &(*l)->op[i];
            if (!has_loops(o)) continue;
            CHECK(o->doc && o->example && o->flops && o->file && o->line, "%s",
                  o->name);
            CHECK(o->partial ||
                      ((o->pullback || o->pull) && (o->pushforward || o->push)),
                  "%s", o->name);
            for (int d = 0; d < DT_N; d++) {
                static const unsigned kind[] = {KIND_BOOL, 1 << K_UINT, 1 << K_INT,
                                                KIND_FLOAT, KIND_COMPLEX};
                static const DKind of[] = {
                    K_BOOL, K_INT,  K_INT,   K_INT,   K_INT,   K_UINT,    K_UINT,
                    K_UINT, K_UINT, K_FLOAT, K_FLOAT, K_FLOAT, K_COMPLEX, K_COMPLEX};
                unsigned kinds = o->kinds ? o->kinds : KIND_ANY;
                if (o->promote == PROMOTE_INEXACT) kinds &= KIND_FLOAT | KIND_COMPLEX;
                CHECK(!(kinds & kind[of[d]]) == !loop_at(o, (DType)d, 0),
                      "%s: kinds and loops differ for dtype %d", o->name, d);
            }
        }
}

/* ---- integers ---- */

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

static int bits_of(DType d) {
    static const int bits[] = {8, 8, 16, 32, 64, 8, 16, 32, 64};
    return bits[d];
}
static bool is_signed(DType d) {
    return d >= DT_INT8 && d <= DT_INT64;
}
static Wide wrap(Wide v, DType d) {
    int shift = 128 - bits_of(d);
    if (is_signed(d)) return (Wide)((UWide)v << shift) >> shift;
    return (Wide)((UWide)v << shift >> shift);
}
static Wide element(const void *p, size_t i, DType d) {
    uint64_t u = 0;
    size_t size = (size_t)bits_of(d) / 8;
    memcpy(&u, (const char *)p + i * size, size);
    return wrap((Wide)u, d);
}

typedef Wide Exact(Wide x, Wide y, DType d, unsigned *fault);
#define EXACT(name, expr)                                                              \
    static Wide exact_##name(Wide x, Wide y, DType d, unsigned *fault) {               \
        (void)x, (void)x, (void)y, (void)d, (void)fault;                               \
        return expr;                                                                   \
    }
static Wide times(Wide x, Wide y) {
    return (Wide)((UWide)x * (UWide)y);
}
static Wide floor_exact(Wide x, Wide y, unsigned *fault) {
    if (y == 0) return *fault |= FAULT_DIVIDE, 0;
    Wide q = x / y;
    while (q * y > x ? y > 0 : q * y < x && y < 0)
        q--; /* at most one step */
    return q;
}
static Wide power_exact(Wide x, Wide y, DType d, unsigned *fault) {
    if (y < 0) return *fault |= FAULT_DOMAIN, 0;
    Wide r = 1;
    for (; y > 0; y--)
        r = wrap(times(r, x), d);
    return r;
}
static Wide shift_exact(Wide x, Wide y, bool left, DType d, unsigned *fault) {
    if (y < 0) return *fault |= FAULT_DOMAIN, 0;
    int by = y > 64 ? 64 : (int)y;
    if (!left) return x >> by;
    return by >= bits_of(d) ? 0 : (Wide)((UWide)x << by);
}
EXACT(add, x + y)
EXACT(subtract, x - y)
EXACT(multiply, times(x, y))
EXACT(floor_divide, floor_exact(x, y, fault))
EXACT(remainder, x - y * floor_exact(x, y, fault))
EXACT(power, power_exact(x, y, d, fault))
EXACT(maximum, x > y ? x : y)
EXACT(minimum, x < y ? x : y)
EXACT(bitwise_and, x &y)
EXACT(bitwise_or, x | y)
EXACT(bitwise_xor, x ^ y)
EXACT(left_shift, shift_exact(x, y, true, d, fault))
EXACT(right_shift, shift_exact(x, y, false, d, fault))
EXACT(negative, -x)
EXACT(invert, ~x)
EXACT(abs, x < 0 ? -x : x)
EXACT(sign, (x > 0) - (x < 0))
EXACT(square, times(x, x))
EXACT(same, x)
EXACT(zero, x - x)
EXACT(one, 1)
EXACT(equal, x == y)
EXACT(not_equal, x != y)
EXACT(less, x < y)
EXACT(less_equal, x <= y)
EXACT(greater, x > y)
EXACT(greater_equal, x >= y)
EXACT(logical_and, x &&y)
EXACT(logical_or, x || y)
EXACT(logical_xor, !x != !y)
EXACT(logical_not, !x)
static const struct {
    const char *name;
    Exact *exact;
    bool bytes; /* the result is bool */
} integer_ops[] = {
#define SAME(name) {#name, exact_##name, false},
#define BOOL(name) {#name, exact_##name, true},
    SAME(add) SAME(subtract) SAME(multiply) SAME(floor_divide) SAME(remainder)
        SAME(power) SAME(maximum) SAME(minimum) SAME(bitwise_and) SAME(bitwise_or)
            SAME(bitwise_xor) SAME(left_shift) SAME(right_shift) SAME(negative)
                SAME(invert) SAME(abs) SAME(sign) SAME(square) BOOL(equal)
                    BOOL(not_equal) BOOL(less) BOOL(less_equal) BOOL(greater)
                        BOOL(greater_equal) BOOL(logical_and) BOOL(logical_or)
                            BOOL(logical_xor)
                                BOOL(logical_not){"floor", exact_same, false},
    {"ceil", exact_same, false},
    {"trunc", exact_same, false},
    {"round", exact_same, false},
    {"real", exact_same, false},
    {"conj", exact_same, false},
    {"imag", exact_zero, false},
    {"isnan", exact_zero, true},
    {"isinf", exact_zero, true},
    {"isfinite", exact_one, true}};

enum { PAIRS = 65536 };
/* All pairs of 8 bits; else edges and random numbers of every size. */
static void fill_integers(DType d, void *x, void *y) {
    size_t size = (size_t)bits_of(d) / 8;
    for (size_t i = 0; i < PAIRS; i++) {
        static const int64_t edge[] = {0,         1,         -1,        2,
                                       INT64_MIN, INT64_MAX, INT32_MIN, 64};
        uint64_t a = random_bits() >> random_bits() % 64,
                 b = random_bits() >> random_bits() % 64;
        if (random_bits() % 2) a = 0 - a;
        if (random_bits() % 2) b = 0 - b;
        if (i < 64) a = (uint64_t)edge[i / 8], b = (uint64_t)edge[i % 8];
        if (size == 1) a = i / 256, b = i % 256;
        memcpy((char *)x + i * size, &a, size);
        memcpy((char *)y + i * size, &b, size);
    }
}
/* Naive powers of large exponents would take for ever. */
static void small_exponents(DType d, void *y) {
    for (size_t i = 0; i < PAIRS && bits_of(d) > 8; i++) {
        int64_t v = (int64_t)(element(y, i, d) % 200);
        memcpy((char *)y + i * (size_t)bits_of(d) / 8, &v, (size_t)bits_of(d) / 8);
    }
}
static void integer_op(size_t k, DType d, const void *x, const void *y, void *r) {
    const Op *o = op(integer_ops[k].name);
    const void *in[] = {x, y};
    for (int level = 0; level <= cpu_level; level++) {
        unsigned want_fault = 0, wrong = 0;
        unsigned fault = loop_at(o, d, level)(PAIRS, in, &r);
        size_t first = 0;
        for (size_t i = PAIRS; i-- > 0;) {
            Wide a = element(x, i, d), b = element(y, i, d);
            unsigned at_fault = 0;
            Wide want = integer_ops[k].exact(a, b, d, &at_fault);
            Wide got = element(r, i, integer_ops[k].bytes ? DT_UINT8 : d);
            want_fault |= at_fault;
            if (!at_fault && got != (integer_ops[k].bytes ? want : wrap(want, d)))
                wrong++, first = i;
        }
        CHECK(wrong == 0 && fault == want_fault,
              "%s dtype %d level %d: %u wrong, first %lld, %lld", o->name, (int)d,
              level, wrong, (long long)element(x, first, d),
              (long long)element(y, first, d));
    }
}
static void integers(void) {
    static uint64_t x[PAIRS], y[PAIRS], r[PAIRS];
    for (int d = DT_INT8; d <= DT_UINT64; d++)
        for (size_t k = 0; k < sizeof integer_ops / sizeof *integer_ops; k++) {
            fill_integers((DType)d, x, y);
            if (integer_ops[k].exact == exact_power) small_exponents((DType)d, y);
            integer_op(k, (DType)d, x, y, r);
        }
}

static void bools(void) {
    static const struct {
        const char *name;
        uint8_t want[4]; /* of (0, 0), (0, 1), (1, 0), (1, 1) */
    } t[] = {{"add", {0, 1, 1, 1}},           {"multiply", {0, 0, 0, 1}},
             {"maximum", {0, 1, 1, 1}},       {"minimum", {0, 0, 0, 1}},
             {"bitwise_xor", {0, 1, 1, 0}},   {"bitwise_and", {0, 0, 0, 1}},
             {"bitwise_or", {0, 1, 1, 1}},    {"invert", {1, 1, 0, 0}},
             {"logical_not", {1, 1, 0, 0}},   {"logical_xor", {0, 1, 1, 0}},
             {"equal", {1, 0, 0, 1}},         {"less", {0, 1, 0, 0}},
             {"greater_equal", {1, 0, 1, 1}}, {"isfinite", {1, 1, 1, 1}},
             {"isnan", {0, 0, 0, 0}}};
    static const uint8_t x[] = {0, 0, 1, 1}, y[] = {0, 1, 0, 1};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        uint8_t r[4];
        loop_of(t[i].name, DT_BOOL)(4, (const void *[]){x, y}, (void *[]){r});
        CHECK(memcmp(r, t[i].want, 4) == 0, "%s", t[i].name);
    }
    CHECK(!loop_of("subtract", DT_BOOL) && !loop_of("negative", DT_BOOL));
}

/* ---- floats against NumPy and SciPy ---- */

typedef struct Pair {
    double x, y;
} Pair;
typedef struct Triple {
    double n, x, r;
} Triple;
static double allowed(const Op *o) { /* SciPy's own errors included */
    static const char *const loose[] = {"digamma",  "polygamma", "gamma",
                                        "log1mexp", "gammaln",   "erfinv",
                                        "erfcinv",  "softplus",  "logaddexp"};
    for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
        if (strcmp(o->name, loose[i]) == 0) return 16;
    return o->math ? 3 : 0;
}
/* Where NumPy and SciPy give either zero. */
static bool any_zero(const char *name) {
    return strcmp(name, "maximum") == 0 || strcmp(name, "minimum") == 0 ||
           strncmp(name, "erf", 3) == 0;
}
#define POINTS1(U, ...) static const double points1[] = {__VA_ARGS__};
#define POINTS2(P, ...) static const Pair points2[] = {__VA_ARGS__};
#define ONE(name, ...)
#define TWO(name, ...)
#define POLYGAMMA(P, ...) static const Triple polygamma_points[] = {__VA_ARGS__};
#define CPOINTS(C, ...)   static const Pair cpoints[] = {__VA_ARGS__};
#define CONE(name, ...)
#define CTWO(name, ...)
#include "elemwise.def"
#undef POINTS1
#undef POINTS2
#undef ONE
#undef TWO
#undef POLYGAMMA
#undef CPOINTS
#undef CONE
#undef CTWO
enum {
    N1 = sizeof points1 / sizeof *points1,
    N2 = sizeof points2 / sizeof *points2,
    NC = sizeof cpoints / sizeof *cpoints
};

static void golden(const char *name, size_t n, const double *want, const double *x,
                   const double *y) {
    const Op *o = op(name);
    for (int level = 0; level <= cpu_level; level++) {
        union {
            double f[64];
            uint8_t b[64];
        } r;
        loop_at(o, DT_FLOAT64, level)(n, (const void *[]){x, y}, (void *[]){&r});
        for (size_t i = 0; i < n; i++) {
            double got = o->out_dtype == OUT_BOOL ? (double)r.b[i] : r.f[i];
            if (got == 0 && want[i] == 0 && any_zero(name)) continue;
            CHECK(ulps64(got, (long double)want[i]) <= allowed(o),
                  "%s(%.17g, %.17g) at level %d: %.17g, not %.17g", name, x[i],
                  y ? y[i] : 0, level, got, want[i]);
        }
    }
}
static void golden_two(const char *name, const double *want) {
    double x[N2], y[N2];
    for (size_t i = 0; i < N2; i++)
        x[i] = points2[i].x, y[i] = points2[i].y;
    golden(name, N2, want, x, y);
}
static void golden_complex(const char *name, const Pair *want) {
    const Op *o = op(name);
    Pair r[NC], y[NC];
    for (size_t i = 0; i < NC; i++)
        y[i] = cpoints[(i + 1) % NC];
    loop_at(o, DT_COMPLEX128, cpu_level)(NC, (const void *[]){cpoints, y},
                                         (void *[]){r});
    for (size_t i = 0; i < NC; i++) {
        Pair got = r[i];
        if (o->out_dtype == OUT_REAL) got = (Pair){((double *)r)[i], 0};
        double scale = 1e-14 * hypot(want[i].x, want[i].y);
        bool near =
            fabs(got.x - want[i].x) <= scale && fabs(got.y - want[i].y) <= scale;
        CHECK(near || (isinf(want[i].y) && got.y == want[i].y),
              "%s at point %zu: %.17g %.17g, not %.17g %.17g", name, i, got.x, got.y,
              want[i].x, want[i].y);
    }
}
static void floats(void) {
#define POINTS1(U, ...)
#define POINTS2(P, ...)
#define ONE(name, ...) golden(#name, N1, (const double[]){__VA_ARGS__}, points1, NULL);
#define TWO(name, ...) golden_two(#name, (const double[]){__VA_ARGS__});
#define POLYGAMMA(P, ...)
#define CPOINTS(C, ...)
#define CONE(name, ...) golden_complex(#name, (const Pair[]){__VA_ARGS__});
#define CTWO(name, ...) golden_complex(#name, (const Pair[]){__VA_ARGS__});
#include "elemwise.def"
    for (size_t i = 0; i < sizeof polygamma_points / sizeof *polygamma_points; i++) {
        const Triple *t = &polygamma_points[i];
        double r;
        loop_of("polygamma", DT_FLOAT64)(1, (const void *[]){&t->n, &t->x},
                                         (void *[]){&r});
        CHECK(fabs(r - t->r) <= 1e-13 * fabs(t->r),
              "polygamma(%g, %g): %.17g, not %.17g", t->n, t->x, r, t->r);
    }
}

/* ---- float16 ---- */

static void halves(void) {
    enum { N = 65536 };
    static uint16_t x[N], y[N], r[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (uint16_t)i, y[i] = (uint16_t)random_bits();
    for (int level = 0; level <= cpu_level; level++) {
        static const char *const names[] = {"real", "add", "multiply", "true_divide",
                                            "sqrt"};
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            loop_at(op(names[k]), DT_FLOAT16, level)(N, (const void *[]){x, y},
                                                     (void *[]){r});
            size_t wrong = 0, first = 0;
            for (size_t i = N; i-- > 0;) {
                double a = half_to_double(x[i]), b = half_to_double(y[i]);
                double want = k == 0   ? a
                              : k == 1 ? a + b
                              : k == 2 ? a * b
                              : k == 3 ? a / b
                                       : sqrt(a);
                bool nan = isnan(want) && isnan(half_to_double(r[i]));
                if (!nan && r[i] != half_from_double(want)) wrong++, first = i;
            }
            CHECK(wrong == 0,
                  "%s of float16 at level %d: %zu wrong, first %04x %04x: %04x",
                  names[k], level, wrong, x[first], y[first], r[first]);
        }
    }
}

/* ---- comparisons of floats ---- */

static bool compared(size_t k, double x, double y) {
    const bool a = x != 0, b = y != 0;
    switch (k) {
    case 0:
        return x == y;
    case 1:
        return x != y;
    case 2:
        return x < y;
    case 3:
        return x <= y;
    case 4:
        return x > y;
    case 5:
        return x >= y;
    case 6:
        return a && b;
    case 7:
        return a || b;
    default:
        return a != b;
    }
}
/* Of every length up to some vectors, whose rest goes another way. */
static void comparisons(void) {
    static const char *const name[] = {"equal",       "not_equal",  "less",
                                       "less_equal",  "greater",    "greater_equal",
                                       "logical_and", "logical_or", "logical_xor"};
    static const double some[] = {NOT, -NOT, -INF, -1, -0.0, 0, 4e-42, 3, INF};
    enum { K = sizeof some / sizeof *some, N = K * K + 16 };
    float x[N], y[N];
    double v[N], w[N];
    uint8_t r[2][N];
    for (size_t i = 0; i < N; i++) {
        v[i] = some[i % K], w[i] = some[i / K % K];
        x[i] = (float)v[i], y[i] = (float)w[i];
    }
    for (int level = 0; level <= cpu_level; level++)
        for (size_t k = 0; k < sizeof name / sizeof *name; k++)
            for (size_t n = 1; n <= N; n++) {
                size_t wrong = 0;
                loop_at(op(name[k]), DT_FLOAT32, level)(n, (const void *[]){x, y},
                                                        (void *[]){r[0]});
                loop_at(op(name[k]), DT_FLOAT64, level)(n, (const void *[]){v, w},
                                                        (void *[]){r[1]});
                for (size_t i = 0; i < n; i++)
                    wrong += r[0][i] != compared(k, v[i], w[i]) || r[1][i] != r[0][i];
                CHECK(wrong == 0, "%s of %zu, level %d", name[k], n, level);
            }
}

/* ---- neighbours ---- */

static bool same_float(double x, double y) {
    return isnan(x) ? isnan(y) : x == y && !signbit(x) == !signbit(y);
}
static void neighbours(void) {
    static const double some[] = {NOT,
                                  -INF,
                                  -DBL_MAX,
                                  -(double)FLT_MAX,
                                  -1,
                                  -4e-42,
                                  -0.0,
                                  0,
                                  5e-324,
                                  4e-42,
                                  (double)FLT_MIN,
                                  DBL_MIN,
                                  1,
                                  3,
                                  (double)FLT_MAX,
                                  DBL_MAX,
                                  INF};
    enum { K = sizeof some / sizeof *some, N = K * K };
    static float x[N], y[N], r[N];
    static double v[N], w[N], s[N];
    static uint16_t h[N], g[N], q[N];
    for (size_t i = 0; i < N; i++) {
        v[i] = some[i % K], w[i] = some[i / K];
        x[i] = (float)v[i], y[i] = (float)w[i];
        h[i] = half_from_double(v[i]), g[i] = half_from_double(w[i]);
    }
    const Op *next = op("nextafter");
    for (int level = 0; level <= cpu_level; level++) {
        loop_at(next, DT_FLOAT32, level)(N, (const void *[]){x, y}, (void *[]){r});
        loop_at(next, DT_FLOAT64, level)(N, (const void *[]){v, w}, (void *[]){s});
        loop_at(next, DT_FLOAT16, level)(N, (const void *[]){h, g}, (void *[]){q});
        for (size_t i = 0; i < N; i++) {
            double from = half_to_double(h[i]), to = half_to_double(g[i]),
                   got = half_to_double(q[i]);
            CHECK(same_float((double)r[i], (double)nextafterf(x[i], y[i])) &&
                      same_float(s[i], nextafter(v[i], w[i])),
                  "nextafter(%g, %g), level %d", v[i], w[i], level);
            /* as far as one in the last place, and on the way to it */
            CHECK(isnan(from) || isnan(to) ? isnan(got)
                  : from == to
                      ? q[i] == g[i]
                      : (got - from) * (to - from) > 0 &&
                            (from == 0 ? fabs(got) == 0x1p-24 : abs(q[i] - h[i]) == 1),
                  "nextafter of float16(%g, %g), level %d", from, to, level);
        }
    }
}

/* ---- limits ---- */

/* minimum(maximum(x, low), high), by their own loops. */
static void limits_of(DType d, size_t n, const void *const *in, void *r, int level) {
    static double held[8192];
    loop_at(op("maximum"), d, level)(n, in, (void *[]){held});
    loop_at(op("minimum"), d, level)(n, (const void *[]){held, in[2]}, (void *[]){r});
}
static void limits(void) {
    static const double some[] = {NOT, -NOT, -INF, -1, -0.0, 0, 0.5, 3, INF};
    enum { K = sizeof some / sizeof *some, N = K * K * K, LONG = 8192 };
    static float x[3][LONG], r[LONG], want[LONG];
    static double y[3][N], s[N], wanted[N];
    const void *in[] = {x[0], x[1], x[2]}, *in64[] = {y[0], y[1], y[2]};
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0, at = i; k < 3; k++, at /= K)
            y[k][i] = some[at % K], x[k][i] = (float)y[k][i];
    for (int level = 0; level <= cpu_level; level++) {
        loop_at(op("clip"), DT_FLOAT32, level)(N, in, (void *[]){r});
        loop_at(op("clip"), DT_FLOAT64, level)(N, in64, (void *[]){s});
        limits_of(DT_FLOAT32, N, in, want, level);
        limits_of(DT_FLOAT64, N, in64, wanted, level);
        CHECK(memcmp(r, want, N * sizeof *r) == 0, "clip of float32, level %d", level);
        CHECK(memcmp(s, wanted, N * sizeof *s) == 0, "clip of float64, level %d",
              level);
    }
    for (size_t i = 0; i < LONG; i++)
        x[1][i] = 0.25F, x[2][i] = 0.75F;
    for (int k = 0; k < 100; k++) {
        for (size_t i = 0; i < LONG; i++)
            x[0][i] = (float)random_unit();
        limits_of(DT_FLOAT32, LONG, in, want, cpu_level);
        loop_of("clip", DT_FLOAT32)(LONG, in, (void *[]){r});
        CHECK(memcmp(r, want, sizeof r) == 0, "clip of random numbers");
    }
}

/* ---- absolute values of complex numbers ---- */

/* Of any sizes and of similar ones; the first are special. */
static void fill_complex(double _Complex *x, size_t n) {
    static const double some[] = {NOT, -NOT, INF, -INF, -0.0, 0, 5e-324, 1e308, 1};
    enum { K = sizeof some / sizeof *some };
    for (size_t i = 0; i < n; i++) {
        double re = ldexp(random_unit() - 0.5, (int)(random_bits() % 2200) - 1120),
               im = re * ldexp(random_unit(), (int)(random_bits() % 60) - 30);
        if (i < K * K) re = some[i / K], im = some[i % K];
        x[i] = __builtin_complex(re, im);
    }
}

static bool is_absolute(double _Complex x, double r) {
    long double re = (long double)__real__ x, im = (long double)__imag__ x,
                want = sqrtl(re * re + im * im);
    if (isinf(re) || isinf(im)) return r == INF;
    if (isnan(re) || isnan(im)) return isnan(r);
    if (want > 0x1.fffffffffffff8p1023L) return r == INF;
    double ulp = nextafter(fabs((double)want), INF) - fabs((double)want);
    return fabsl((long double)r - want) <= (long double)ulp && !signbit(r);
}

static void absolutes(void) {
    enum { N = 1 << 16 };
    static double _Complex x[N];
    static double r[N], first[N];
    fill_complex(x, N);
    for (int level = 0; level <= cpu_level; level++) {
        size_t wrong = 0, at = 0;
        loop_at(op("abs"), DT_COMPLEX128, level)(N, (const void *[]){x}, (void *[]){r});
        if (level == 0) memcpy(first, r, sizeof r);
        for (size_t i = N; i-- > 0;)
            if (!is_absolute(x[i], r[i]) || (!isnan(r[i]) && r[i] != first[i]))
                wrong++, at = i;
        CHECK(wrong == 0, "abs at level %d: %zu wrong, first %a + %aj: %a", level,
              wrong, __real__ x[at], __imag__ x[at], r[at]);
    }
}

static bool is_absolute32(float _Complex x, float r) {
    double re = (double)__real__ x, im = (double)__imag__ x,
           want = sqrt(re * re + im * im), top = (double)nextafterf((float)want, 0);
    if (isinf(re) || isinf(im)) return r == (float)INF;
    if (isnan(re) || isnan(im)) return isnan(r);
    if (want >= 0x1.ffffffp127) return r == (float)INF;
    double ulp = (double)nextafterf((float)want, (float)INF) - (double)(float)want;
    if ((float)want > FLT_MAX / 2) ulp = (double)(float)want - top;
    return fabs((double)r - want) <= 0.75 * ulp && !signbit(r);
}

static void absolutes32(void) {
    enum { N = 1 << 16 };
    static const float some[] = {NAN, -NAN,      INFINITY,  -INFINITY, -0.0F,    0,
                                 1,   0x1p-149F, 0x1p-126F, FLT_MAX,   0x1p127F, 3};
    enum { K = sizeof some / sizeof *some };
    static float _Complex x[N];
    static float r[N], first[N];
    for (size_t i = 0; i < N; i++) {
        float re =
                  ldexpf((float)random_unit() - 0.5F, (int)(random_bits() % 275) - 146),
              im = re * ldexpf((float)random_unit(), (int)(random_bits() % 30) - 15);
        if (i < K * K) re = some[i / K], im = some[i % K];
        x[i] = __builtin_complex(re, im);
    }
    for (int level = 0; level <= cpu_level; level++) {
        size_t wrong = 0, at = 0;
        loop_at(op("abs"), DT_COMPLEX64, level)(N, (const void *[]){x}, (void *[]){r});
        if (level == 0) memcpy(first, r, sizeof r);
        for (size_t i = N; i-- > 0;)
            if (!is_absolute32(x[i], r[i]) || (!isnan(r[i]) && r[i] != first[i]))
                wrong++, at = i;
        CHECK(wrong == 0, "abs at level %d: %zu wrong, first %a + %aj: %a", level,
              wrong, (double)__real__ x[at], (double)__imag__ x[at], (double)r[at]);
    }
}

int main(void) {
    start();
    rows();
    integers();
    bools();
    floats();
    halves();
    comparisons();
    neighbours();
    limits();
    absolutes();
    absolutes32();
    return TEST_END("elemwise");
}
