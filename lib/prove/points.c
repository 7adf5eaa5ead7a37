/* Points at which the sides of a rule are compared: special values first, in all
 * combinations as far as that goes, then random ones. A counter-example is the first
 * point that fails, so the plainest values lead. */
#include "prove/prove_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { RANDOM_POINTS = 2000, FEW = 300, WIDE = 12000 };

/* ---- special values ---- */

/* For floats of any width; what a narrower one can't hold has its own below. */
static const double specials[] = {1,
                                  -1,
                                  0.0,
                                  -0.0,
                                  2,
                                  -2,
                                  0.5,
                                  (double)NAN,
                                  HUGE_VAL,
                                  -HUGE_VAL,
                                  3,
                                  -3.25,
                                  1e-3,
                                  10,
                                  -10,
                                  0.3,
                                  1.5,
                                  -0.75,
                                  3.141592653589793,
                                  -1.5707963267948966,
                                  2.718281828459045,
                                  100,
                                  -100,
                                  1e-8,
                                  -1e-8,
                                  1e8,
                                  -1e8,
                                  1e-20,
                                  1e20,
                                  -1e-20,
                                  -1e20,
                                  1e-150,
                                  1e150};
enum { NSPECIAL = sizeof specials / sizeof *specials, NLIMIT = 14 };

long double unit_roundoff(DType d) {
    DType real = dtype_real(d);
    return real == DT_FLOAT16 ? 0x1p-11L : real == DT_FLOAT32 ? 0x1p-24L : 0x1p-53L;
}
long double points_largest(DType d) {
    DType real = dtype_real(d);
    return real == DT_FLOAT16   ? 65504.0L
           : real == DT_FLOAT32 ? (long double)FLT_MAX
                                : (long double)DBL_MAX;
}
long double points_smallest(DType d) {
    DType real = dtype_real(d);
    return real == DT_FLOAT16   ? 0x1p-14L
           : real == DT_FLOAT32 ? (long double)FLT_MIN
                                : (long double)DBL_MIN;
}

/* Values at the limits of a dtype: the largest and smallest, neighbours of 1, and where
 * exp and square overflow and vanish. */
static double limit_value(DType d, size_t k) {
    double big = (double)points_largest(d), least = (double)points_smallest(d),
           u = 2 * (double)unit_roundoff(d);
    const double list[NLIMIT] = {
        big,        -big,          least * u,       -least * u,  least,
        -least,     1 + u,         1 - u / 2,       u,           log(big),
        log(least), sqrt(big) * 2, sqrt(least) / 2, log(big) + 1};
    return list[k];
}

static double special_value(DType d, size_t k) {
    /* Limits come after the ten plainest values. */
    enum { PLAINEST = 10 };
    if (k < PLAINEST) return specials[k];
    if (k < PLAINEST + NLIMIT) return limit_value(d, k - PLAINEST);
    return specials[k - NLIMIT];
}

static const int64_t small_integers[] = {1, -1, 0, 2, -2, 3, 5, 7, 100, -8};
enum { NSMALL = sizeof small_integers / sizeof *small_integers, NENDS = 6 };

static void put_integer(Tensor *t, int64_t i, uint64_t bits) {
    size_t size = dtype_size(t->dtype);
    tensor_cast_elements(t->dtype, (char *)t->data + (size_t)i * size, DT_UINT64, &bits,
                         1, (ptrdiff_t)size, 8);
}

static uint64_t special_integer(DType d, size_t k) {
    int64_t low;
    uint64_t high;
    dtype_int_range(d, &low, &high);
    const uint64_t ends[NENDS] = {(uint64_t)low, high,         (uint64_t)low + 1,
                                  high - 1,      high / 2 + 1, high / 2};
    return k < NSMALL ? (uint64_t)small_integers[k] : ends[k - NSMALL];
}

static void put_number(Tensor *t, int64_t i, double re, double im) {
    double z[2] = {re, im};
    size_t size = dtype_size(t->dtype);
    tensor_cast_elements(t->dtype, (char *)t->data + (size_t)i * size, DT_COMPLEX128, z,
                         1, (ptrdiff_t)size, 16);
}

/* Complex products of infinities have no agreed parts: all points are finite, with
 * parts of no extreme size, on and off the axes. */
static const double complex_specials[][2] = {
    {1, 0},  {-1, 0},  {0, 0},     {0, 1},    {0, -1},     {1, 1},    {-1, 1},
    {2, -3}, {-2, 0},  {-0.5, -2}, {0.5, 0},  {1e-4, 1e3}, {-3, 4},   {0, 4},
    {0, -4}, {3, 3.5}, {-1, -1},   {1e-3, 0}, {0, 1e-3},   {-10, 20}, {0.25, -0.125}};
enum { NCOMPLEX = sizeof complex_specials / sizeof *complex_specials };

static size_t count_specials(DType d) {
    DKind k = dtype_kind(d);
    return k == K_BOOL      ? 2
           : k == K_FLOAT   ? NSPECIAL + NLIMIT
           : k == K_COMPLEX ? NCOMPLEX
                            : NSMALL + NENDS;
}

static void put_special(Tensor *t, int64_t i, size_t k) {
    DKind kind = dtype_kind(t->dtype);
    k %= count_specials(t->dtype);
    if (kind == K_BOOL)
        ((uint8_t *)t->data)[i] = (uint8_t)k;
    else if (kind == K_FLOAT)
        put_number(t, i, special_value(t->dtype, k), 0);
    else if (kind == K_COMPLEX)
        put_number(t, i, complex_specials[k][0], complex_specials[k][1]);
    else
        put_integer(t, i, special_integer(t->dtype, k));
}

/* ---- random values ---- */

uint64_t prover_random(Prover *p) {
    p->random = hash_mix(p->random, 1);
    return p->random;
}

double prover_uniform(Prover *p) {
    return (double)(prover_random(p) >> 11) * 0x1p-53;
}

/* A signalling nan is no value that arithmetic makes; pow(x, 0) of it is nan. */
static void quiet_nan(Tensor *t, int64_t i) {
    if (isnan(tensor_f64(t, i))) put_number(t, i, (double)NAN, 0);
}

static double random_part(Prover *p) {
    double v = 8 * prover_uniform(p) - 4;
    return prover_random(p) % 4 ? v : v * pow(10, 6 * prover_uniform(p) - 3);
}

/* A third are patterns of bits, which meet all exponents. */
static void put_random(Prover *p, Tensor *t, int64_t i) {
    DKind kind = dtype_kind(t->dtype);
    size_t size = dtype_size(t->dtype);
    if (kind == K_BOOL) {
        ((uint8_t *)t->data)[i] = (uint8_t)(prover_random(p) >> 20 & 1);
    } else if (kind == K_COMPLEX) {
        double re = random_part(p);
        put_number(t, i, re, random_part(p));
    } else if (kind == K_FLOAT && prover_random(p) % 3) {
        put_number(t, i, random_part(p), 0);
    } else if (kind == K_FLOAT || prover_random(p) % 2) {
        uint64_t bits = prover_random(p);
        memcpy((char *)t->data + (size_t)i * size, &bits, size);
        quiet_nan(t, i);
    } else {
        put_integer(t, i, prover_random(p) % 16);
    }
}

/* Where nothing is known of errors: positive and of moderate size. */
static void put_ordinary(Prover *p, Tensor *t, int64_t i) {
    DKind kind = dtype_kind(t->dtype);
    if (kind == K_BOOL)
        ((uint8_t *)t->data)[i] = (uint8_t)(prover_random(p) >> 20 & 1);
    else if (kind >= K_FLOAT)
        put_number(t, i, 0.1 + 1.9 * prover_uniform(p),
                   kind == K_COMPLEX ? prover_uniform(p) : 0);
    else
        put_integer(t, i, 1 + prover_random(p) % 4);
}

/* ---- dense typings ---- */

static size_t count_variables(const Prover *p, const Typing *t) {
    size_t n = 0;
    for (size_t i = 0; i < p->nhole; i++)
        n += t->hole[i].stand == STAND_VARIABLE;
    return n;
}

/* How many special values each of n variables takes, so that all meet all. */
static size_t specials_each(DType d, size_t n) {
    static const size_t most[] = {1, 1000, 50, 13, 7, 4, 3, 3, 2};
    size_t have = count_specials(d), want = most[n];
    return have < want ? have : want;
}

static bool is_exhausted(const Prover *p, const Typing *t) {
    return count_variables(p, t) == 1 && dtype_size(t->hole[0].dtype) <= 2 &&
           t->hole[0].stand == STAND_VARIABLE;
}

int64_t points_count(const Prover *p, const Typing *t) {
    size_t n = count_variables(p, t);
    int64_t all = 1;
    if (n == 0) return 1;
    DType first = t->hole[0].dtype;
    if (is_exhausted(p, t))
        return (int64_t)count_specials(first) + (dtype_size(first) == 1 ? 256 : 65536);
    for (size_t i = 0; i < p->nhole; i++)
        if (t->hole[i].stand == STAND_VARIABLE)
            all *= (int64_t)specials_each(t->hole[i].dtype, n);
    if (n < p->nhole) return all + FEW;
    return all + (n == 1 ? WIDE : RANDOM_POINTS);
}

/* Each combination of special values is a number whose digits are the names'. */
static void fill_dense(Instance *x, size_t hole, Tensor *t) {
    size_t n = count_variables(x->p, x->t), step = 1, all = 1;
    for (size_t k = 0; k < x->p->nhole; k++) {
        if (x->t->hole[k].stand != STAND_VARIABLE) continue;
        size_t each = specials_each(x->t->hole[k].dtype, n);
        if (k < hole) step *= each;
        all *= each;
    }
    size_t own = specials_each(t->dtype, n);
    for (int64_t i = 0; i < tensor_size(t); i++) {
        if ((size_t)i < all)
            put_special(t, i, (size_t)i / step % own);
        else
            put_random(x->p, t, i);
    }
}

/* Special values first, then every pattern of bits of a dtype of at most two bytes. */
static void fill_every_value(Tensor *t) {
    int64_t lead = (int64_t)count_specials(t->dtype);
    for (int64_t i = 0; i < tensor_size(t); i++) {
        if (i < lead)
            put_special(t, i, (size_t)i);
        else if (dtype_kind(t->dtype) == K_BOOL)
            ((uint8_t *)t->data)[i] = (uint8_t)(i & 1);
        else if (dtype_size(t->dtype) == 1)
            ((uint8_t *)t->data)[i] = (uint8_t)i;
        else
            ((uint16_t *)t->data)[i] = (uint16_t)i;
        if (dtype_is_float(t->dtype)) quiet_nan(t, i);
    }
}

/* ---- whole arrays ---- */

/* Rounds: small integers, moderate numbers, special values here and there, anything. */
static void fill_whole(Instance *x, Tensor *t, int round) {
    Prover *p = x->p;
    for (int64_t i = 0; i < tensor_size(t); i++) {
        bool special = round == 2 ? prover_random(p) % 3 == 0 : round >= 3;
        if (round == 0 && dtype_kind(t->dtype) != K_BOOL)
            put_number(t, i,
                       (double)(prover_random(p) % 7) -
                           (dtype_kind(t->dtype) == K_UINT ? 0 : 3),
                       0);
        else if (special && prover_random(p) % 2)
            put_special(t, i, prover_random(p) >> 20);
        else if (round < 3 && dtype_kind(t->dtype) >= K_FLOAT)
            put_number(t, i, 4 * prover_uniform(p) - 2,
                       dtype_is_complex(t->dtype) ? prover_uniform(p) : 0);
        else
            put_random(p, t, i);
    }
}

/* Square matrices get a large diagonal, as inverses need it; those of truth values are
 * triangular. */
static void raise_diagonals(Tensor *t) {
    if (t->ndim < 2) return;
    int64_t n = t->shape[t->ndim - 1];
    if (t->shape[t->ndim - 2] != n) return;
    size_t size = dtype_size(t->dtype);
    for (int64_t i = 0; i < tensor_size(t); i++) {
        double z[2];
        char *at = (char *)t->data + (size_t)i * size;
        if (t->dtype == DT_BOOL && i / n % n >= i % n)
            *(uint8_t *)at = i / n % n == i % n;
        if (t->dtype == DT_BOOL || i / n % n != i % n) continue;
        tensor_cast_elements(DT_COMPLEX128, z, t->dtype, at, 1, 16, (ptrdiff_t)size);
        put_number(t, i, z[0] + 9, z[1]);
    }
}

void points_fill(Instance *x, size_t hole, Tensor *t, int round) {
    if (x->ordinary) {
        for (int64_t i = 0; i < tensor_size(t); i++)
            put_ordinary(x->p, t, i);
        raise_diagonals(t);
    } else if (!x->t->dense) {
        fill_whole(x, t, round);
    } else if (is_exhausted(x->p, x->t)) {
        fill_every_value(t);
    } else {
        fill_dense(x, hole, t);
    }
}

/* ---- constants ---- */

static const double constants[] = {2, 0.0,      (double)NAN, -1,     0.5,  3,
                                   1, HUGE_VAL, 1e300,       1e-300, 0.25, -4};
static const double complex_constants[][2] = {{2, 0}, {0, 1}, {1, -2}, {0, 0}};
static const int64_t integer_constants[] = {2, 0, 3, -1, 1, 100};
enum {
    NCONST = sizeof constants / sizeof *constants,
    NCOMPLEX_CONST = sizeof complex_constants / sizeof *complex_constants,
    NINT_CONST = sizeof integer_constants / sizeof *integer_constants
};

size_t points_constant_count(void) {
    return NCONST;
}

bool points_constant(DType d, size_t k, Tensor *t, Session *s) {
    if (dtype_is_float(d)) return tensor_scalar(s, d, constants[k % NCONST], 0, t);
    if (dtype_is_complex(d)) {
        const double *z = complex_constants[k % NCOMPLEX_CONST];
        return tensor_scalar(s, d, z[0], z[1], t);
    }
    int64_t v = d == DT_BOOL ? (int64_t)k % 2 : integer_constants[k % NINT_CONST];
    if (dtype_kind(d) == K_UINT && v < 0) v = 7;
    return tensor_scalar_int(s, d, v, t);
}
