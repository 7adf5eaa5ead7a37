/* x^y in float64 where y is whole, from 0 to 255: a product of squares, each in two
 * parts, which is faster than e^(y log x) and nearer to the right value. By the bits of
 * y, x^y is (.. x^16 x^8) (x^4 x^2 x), each product being taken from the right, however
 * many elements are done at once, so that a result depends on x and y alone. Where y
 * runs through consecutive numbers and x is the same, as in the rows of
 * x[:, None] ** arange(m), both factors come from tables.
 *
 * The rounding error of a product must be a number: y must be small where x is far from
 * 1. The others are left to vmath_power.h. */
#include "ops/elemwise/power_whole.h"

#include "op/vector.h"

#if HAS_FMA
enum {
    LANES = BYTES / sizeof(double),
    LOW_BITS = 3, /* of y, in the factor on the right */
    BITS = 8,
    LOW = 1 << LOW_BITS,
    HIGH = 1 << (BITS - LOW_BITS),
    MOST = (1 << BITS) - 1,
    RANGE = 900 /* of exponents of 2 */
};
#define WHOLE 0x1.8p52 /* added, it leaves whole numbers in the last bits */
static const double count[] = {0, 1, 2, 3, 4, 5, 6, 7};
#define COUNT LOAD(f64, count)
typedef uint64_t V_u64 __attribute__((vector_size(BYTES)));

static V_f64 choose(V_u64 mask, V_f64 a, V_f64 b) {
    return (V_f64)((mask & (V_u64)a) | (~mask & (V_u64)b));
}

/* Which y are whole and small enough. Zeros, infinities and nans have large exponents,
 * too: of these only the 0th power, 1, is found this way. */
static V_u64 which(V_f64 x, V_f64 y) {
    V_u64 exponent = (V_u64)x >> 52 & 2047, whole = (V_u64)ALL(f64, WHOLE);
    V_f64 log = (V_f64)(whole + exponent) - WHOLE - 1023;
    V_f64 far = choose((V_u64)(log < 0), -log, log + 1);
    return (V_u64)(y >= 0) & (V_u64)(y <= MOST) & (V_u64)(y + WHOLE - WHOLE == y) &
           (V_u64)(far * y <= RANGE);
}

static uint64_t anywhere(V_u64 v) {
    uint64_t any = 0;
    for (unsigned k = 0; k < LANES; k++)
        any |= v[k];
    return any;
}
static V_u64 whole_of(V_f64 y) {
    return (V_u64)(y + WHOLE) & MOST;
}
/* From 1 on. */
static unsigned bits_in(V_u64 y) {
    return 64 - (unsigned)__builtin_clzll(anywhere(y) | 1);
}
static bool is_one(double x, double y) {
    return which(ALL(f64, x), ALL(f64, y))[0] != 0;
}

/* A number, and its error. */
typedef struct Parts {
    V_f64 hi, lo;
} Parts;
static inline Parts product(Parts a, Parts b) {
    V_f64 p = a.hi * b.hi, lost = FMA_f64(a.hi, b.hi, -p);
    return (Parts){p, FMA_f64(a.lo, b.hi, FMA_f64(a.hi, b.lo, lost))};
}
/* What is used of squares, `more`, times itself. Others might leave the range, which
 * takes CPUs long. */
static inline Parts next_square(Parts square, V_u64 more) {
    Parts base = {choose(more, square.hi, ALL(f64, 1)),
                  (V_f64)(more & (V_u64)square.lo)};
    return product(base, base);
}
static inline Parts times_some(Parts square, Parts sum, V_u64 set) {
    Parts p = product(square, sum);
    return (Parts){choose(set, p.hi, sum.hi), choose(set, p.lo, sum.lo)};
}
/* The product of the squares that the bits of y choose, from `from` up to `to`; *square
 * is the first of them, then the last. */
static inline Parts squares(Parts *square, V_u64 y, unsigned from, unsigned to) {
    Parts sum = {ALL(f64, 1), ALL(f64, 0)};
    for (unsigned k = from; k < to; k++) {
        if (k > 0) *square = next_square(*square, (V_u64)(y >> k != 0));
        sum = times_some(*square, sum, (V_u64)((y >> k & 1) != 0));
    }
    return sum;
}
/* bits: those that the greatest y has, or more. */
static inline V_f64 power(V_f64 x, V_f64 y, unsigned bits) {
    V_u64 n = whole_of(y);
    unsigned few = bits < LOW_BITS ? bits : LOW_BITS;
    Parts square = {x, ALL(f64, 0)}, low = squares(&square, n, 0, few);
    Parts p = product(squares(&square, n, few, bits), low);
    return p.hi + p.lo;
}

/* ---- rows ---- */
/* The products of squares, from *square on, by the bits of 0 to n - 1; *square becomes
 * the last of them. */
static inline void fill(Parts *square, unsigned n, double *hi, double *lo) {
    Parts sum = {ALL(f64, 1), ALL(f64, 0)};
    V_u64 y = (V_u64)(COUNT + WHOLE);
    unsigned have = 1;
    for (; have < LANES && have < n; have *= 2) {
        if (have > 1) *square = product(*square, *square);
        sum = times_some(*square, sum, (V_u64)((y & have) != 0));
    }
    STORE(f64, hi, sum.hi);
    STORE(f64, lo, sum.lo);
    for (; have < n; have *= 2) {
        *square = product(*square, *square);
        for (unsigned k = 0; k < have; k += LANES) {
            Parts p = product(*square, (Parts){LOAD(f64, hi + k), LOAD(f64, lo + k)});
            STORE(f64, hi + have + k, p.hi);
            STORE(f64, lo + have + k, p.lo);
        }
    }
}

/* r[i] = x^(y + i) */
static void row(size_t m, double x, unsigned y, double *r) {
    double low_hi[LOW], low_lo[LOW], hi[HIGH], lo[HIGH], rest[LOW];
    unsigned last = y + (unsigned)m - 1;
    Parts square = {ALL(f64, x), ALL(f64, 0)};
    fill(&square, LOW, low_hi, low_lo);
    square = product(square, square);
    fill(&square, last / LOW + 1, hi, lo);
    for (unsigned at = y; at <= last; at = (at / LOW + 1) * LOW) {
        unsigned k = at / LOW, from = at % LOW, left = last - at + 1;
        bool whole = from == 0 && left >= LOW;
        double *to = whole ? r + (at - y) : rest;
        for (unsigned j = 0; j < LOW; j += LANES) {
            Parts p = product((Parts){ALL(f64, hi[k]), ALL(f64, lo[k])},
                              (Parts){LOAD(f64, low_hi + j), LOAD(f64, low_lo + j)});
            STORE(f64, to + j, p.hi + p.lo);
        }
        for (unsigned j = from; !whole && j < LOW && j - from < left; j++)
            r[at - y + j - from] = rest[j];
    }
}

/* Is x the same everywhere, and does y grow by 1? */
static bool is_row(size_t m, const double *x, const double *y) {
    const double first = y[0], last = first + (double)(m - 1);
    if (m <= LOW || x[m - 1] != x[0] || y[m - 1] != last) return false;
    V_u64 differs = {0}, same = (V_u64)ALL(f64, x[0]);
    V_f64 want = ALL(f64, first) + COUNT;
    for (size_t i = 0; i + LANES <= m; i += LANES, want += LANES)
        differs |=
            ((V_u64)LOAD(f64, x + i) ^ same) | ((V_u64)LOAD(f64, y + i) ^ (V_u64)want);
    /* the last ones, of which some may be known */
    want += (double)(m % LANES) - LANES;
    differs |= ((V_u64)LOAD(f64, x + m - LANES) ^ same) |
               ((V_u64)LOAD(f64, y + m - LANES) ^ (V_u64)want);
    return !anywhere(differs);
}

/* ---- blocks ---- */
static V_f64 load(const double *p, size_t left) {
    return left < LANES ? part_f64(p, (int64_t)left) : LOAD(f64, p);
}
static void store(double *p, V_f64 v, size_t left) {
    if (left < LANES)
        memcpy(p, &v, left * sizeof *p);
    else
        STORE(f64, p, v);
}

/* How many bits the exponents have; 0 if there are powers of another kind. */
static unsigned bits_of_all(size_t m, const double *x, const double *y) {
    V_u64 others = {0}, exponents = {0};
    for (size_t i = 0; i < m; i += LANES) {
        /* what a last vector lacks is 0 to the power of 0 */
        V_f64 exponent = load(y + i, m - i);
        others |= ~which(load(x + i, m - i), exponent);
        exponents |= whole_of(exponent);
    }
    return anywhere(others) ? 0 : bits_in(exponents);
}

bool LEVEL(power_whole)(size_t m, const double *x, const double *y, double *r) {
    if (!is_one(x[0], y[0]) || !is_one(x[m - 1], y[m - 1])) return false;
    if (is_row(m, x, y)) {
        row(m, x[0], (unsigned)y[0], r);
        return true;
    }
    unsigned bits = bits_of_all(m, x, y);
    for (size_t i = 0; bits && i < m; i += LANES)
        store(r + i, power(load(x + i, m - i), load(y + i, m - i), bits), m - i);
    return bits != 0;
}

void LEVEL(power_some)(size_t m, const double *x, const double *y, double *r) {
    for (size_t i = 0; i < m; i += LANES) {
        V_f64 a = load(x + i, m - i), b = load(y + i, m - i);
        V_u64 these = which(a, b);
        if (!anywhere(these)) continue;
        b = (V_f64)(these & (V_u64)b);
        V_f64 p = power(a, b, bits_in(whole_of(b)));
        store(r + i, choose(these, p, load(r + i, m - i)), m - i);
    }
}
#else
/* What multiplies and adds apart has the C library do all. */
bool LEVEL(power_whole)(size_t m, const double *x, const double *y, double *r) {
    return (void)m, (void)x, (void)y, (void)r, false;
}
void LEVEL(power_some)(size_t m, const double *x, const double *y, double *r) {
    (void)m, (void)x, (void)y, (void)r;
}
#endif
