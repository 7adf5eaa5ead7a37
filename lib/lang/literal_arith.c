/* Arithmetic of literals, as in Python: integers are exact (the result must fit in 64
 * bits), / gives a float, // and % round down, a negative exponent gives a float.
 * Floats and complex numbers get the same bits as at run time. */
#include "base/complex.h"
#include "lang/compile_impl.h"

#include <complex.h>
#include <math.h>
#include <string.h>

__extension__ typedef __int128 Wide;

static bool fail_int_range(Session *s, Span at) {
    return fail(s, at, E_VALUE, "the resulting integer fits neither int64 nor uint64");
}
static bool fail_zero_division(Session *s, Span at) {
    return fail(s, at, E_VALUE, "a division of literals by zero");
}

static Wide wide_from_literal(const Literal *l) {
    return l->negative ? -(Wide)l->u : (Wide)l->u;
}

static bool literal_from_wide(Session *s, Span at, Wide v, Literal *out) {
    if (v < INT64_MIN || v > (Wide)UINT64_MAX) return fail_int_range(s, at);
    *out = (Literal){.kind = K_INT, .negative = v < 0, .u = (uint64_t)(v < 0 ? -v : v)};
    return true;
}
static bool literal_from_double(double v, Literal *out) {
    *out = (Literal){.kind = K_FLOAT, .re = v, .negative = signbit(v)};
    return true;
}
static bool literal_from_bool(bool v, Literal *out) {
    *out = (Literal){.kind = K_BOOL, .u = v};
    return true;
}
static bool literal_from_complex(double complex v, Literal *out) {
    *out = (Literal){.kind = K_COMPLEX, .re = creal(v), .im = cimag(v)};
    return true;
}
/* Keeps signed zeros, inf and nan in their parts, unlike re + im * I. */
static double complex make_complex(double re, double im) {
    return __builtin_complex(re, im);
}
static double complex complex_from_literal(const Literal *l) {
    return make_complex(literal_f64(l), l->kind == K_COMPLEX ? l->im : 0.0);
}

/* ---- integers ---- */

static bool int_power(Session *s, Span at, Wide base, Wide exponent, Literal *out) {
    Wide r = 1;
    while (exponent > 0) {
        if (exponent & 1 && __builtin_mul_overflow(r, base, &r))
            return fail_int_range(s, at);
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base))
            return fail_int_range(s, at);
    }
    return literal_from_wide(s, at, r, out);
}

static bool int_shift(Session *s, Span at, Infix k, Wide a, Wide n, Literal *out) {
    if (n < 0) return fail(s, at, E_VALUE, "a shift by a negative count");
    if (k == IN_SHR) return literal_from_wide(s, at, a >> (n > 100 ? 100 : n), out);
    if (a == 0) return literal_from_wide(s, at, 0, out);
    if (n > 63) return fail_int_range(s, at);
    return literal_from_wide(s, at, a * ((Wide)1 << n), out);
}

static bool int_divide(Session *s, Span at, Infix k, Wide a, Wide b, Literal *out) {
    if (b == 0) return fail_zero_division(s, at);
    if (k == IN_DIV)
        return literal_from_double((double)((long double)a / (long double)b), out);
    Wide q = a / b, r = a % b;
    if (r != 0 && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    return literal_from_wide(s, at, k == IN_MOD ? r : q, out);
}

static bool int_bits(Session *s, Span at, Infix k, const Literal *a, const Literal *b,
                     Literal *out) {
    Wide x = wide_from_literal(a), y = wide_from_literal(b),
         v = k == IN_AND  ? x & y
             : k == IN_OR ? x | y
                          : x ^ y;
    if (a->kind == K_BOOL && b->kind == K_BOOL) return literal_from_bool(v != 0, out);
    return literal_from_wide(s, at, v, out);
}

static bool fold_ints(Session *s, Infix k, Span at, const Literal *a, const Literal *b,
                      Literal *out) {
    Wide x = wide_from_literal(a), y = wide_from_literal(b), v;
    switch ((int)k) {
    case IN_ADD:
        return literal_from_wide(s, at, x + y, out);
    case IN_SUB:
        return literal_from_wide(s, at, x - y, out);
    case IN_MUL:
        if (__builtin_mul_overflow(x, y, &v)) return fail_int_range(s, at);
        return literal_from_wide(s, at, v, out);
    case IN_POW:
        if (y >= 0) return int_power(s, at, x, y, out);
        if (x == 0) return fail_zero_division(s, at);
        return literal_from_double(pow((double)x, (double)y), out);
    case IN_SHL:
    case IN_SHR:
        return int_shift(s, at, k, x, y, out);
    case IN_AND:
    case IN_OR:
    case IN_XOR:
        return int_bits(s, at, k, a, b, out);
    default:
        return int_divide(s, at, k, x, y, out);
    }
}

/* ---- floats ---- */

static double float_mod(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(0.0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double float_floordiv(double a, double b) {
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return copysign(0.0, a / b);
    double f = floor(q);
    return q - f > 0.5 ? f + 1 : f;
}

static bool fold_floats(Session *s, Infix k, Span at, double a, double b,
                        Literal *out) {
    bool divides = k == IN_DIV || k == IN_FLOORDIV || k == IN_MOD;
    if ((divides && b == 0) || (k == IN_POW && a == 0 && b < 0))
        return fail_zero_division(s, at);
    switch ((int)k) {
    case IN_ADD:
        return literal_from_double(a + b, out);
    case IN_SUB:
        return literal_from_double(a - b, out);
    case IN_MUL:
        return literal_from_double(a * b, out);
    case IN_DIV:
        return literal_from_double(a / b, out);
    case IN_FLOORDIV:
        return literal_from_double(float_floordiv(a, b), out);
    case IN_MOD:
        return literal_from_double(float_mod(a, b), out);
    default:
        if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
            return literal_from_complex(cpow(a, b), out);
        return literal_from_double(pow(a, b), out);
    }
}

/* By the loop of the op, which isn't the C library's. */
static double complex complex_power(Session *s, double complex x, double complex y) {
    Loop *loop = op_loop(s, op_named(s, "power"), DT_COMPLEX128, DT_COMPLEX128);
    double complex r;
    loop(1, (const void *[]){&x, &y}, (void *[]){&r});
    return r;
}

static bool fold_complex(Session *s, Infix k, Span at, double complex x,
                         double complex y, Literal *out) {
    double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    switch ((int)k) {
    case IN_ADD:
        return literal_from_complex(make_complex(a + c, b + d), out);
    case IN_SUB:
        return literal_from_complex(make_complex(a - c, b - d), out);
    case IN_MUL:
        return literal_from_complex(cmul_c128(x, y), out);
    case IN_DIV:
        if (c == 0 && d == 0) return fail_zero_division(s, at);
        return literal_from_complex(cdiv_c128(x, y), out);
    case IN_POW:
        if (a == 0 && b == 0 && (c < 0 || d != 0)) return fail_zero_division(s, at);
        return literal_from_complex(complex_power(s, x, y), out);
    default:
        return fail(s, at, E_TYPE, "`%s` does not take complex numbers", infix_text(k));
    }
}

/* ---- comparisons ---- */

/* -1, 0, 1; 2 if either is nan. Integers are exact; long double holds 64 bits and any
 * double (it is less exact where it is a double). */
static int order_literals(const Literal *a, const Literal *b) {
    if (a->kind <= K_INT && b->kind <= K_INT) {
        Wide x = wide_from_literal(a), y = wide_from_literal(b);
        return (x > y) - (x < y);
    }
    long double x =
        a->kind <= K_INT ? (long double)wide_from_literal(a) : (long double)a->re;
    long double y =
        b->kind <= K_INT ? (long double)wide_from_literal(b) : (long double)b->re;
    return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
}

static bool compare_literals(Session *s, Infix k, Span at, const Literal *a,
                             const Literal *b, Literal *out) {
    int o = order_literals(a, b);
    if (a->kind == K_COMPLEX || b->kind == K_COMPLEX) {
        if (k != IN_EQ && k != IN_NE)
            return fail(s, at, E_TYPE, "complex numbers have no order");
        double complex x = complex_from_literal(a), y = complex_from_literal(b);
        o = creal(x) == creal(y) && cimag(x) == cimag(y) ? 0 : 2;
    }
    switch ((int)k) {
    case IN_LT:
        return literal_from_bool(o == -1, out);
    case IN_LE:
        return literal_from_bool(o == -1 || o == 0, out);
    case IN_GT:
        return literal_from_bool(o == 1, out);
    case IN_GE:
        return literal_from_bool(o == 1 || o == 0, out);
    case IN_EQ:
        return literal_from_bool(o == 0, out);
    default:
        return literal_from_bool(o != 0, out);
    }
}

bool literal_binary(Session *s, Infix k, Span at, const Literal *a, const Literal *b,
                    Literal *out) {
    if (k == IN_MATMUL)
        return fail(s, at, E_SHAPE, "`@` takes arrays, not single numbers");
    if (k >= IN_LT && k <= IN_NE) return compare_literals(s, k, at, a, b, out);
    bool bits = k >= IN_AND && k <= IN_SHR;
    if (a->kind <= K_INT && b->kind <= K_INT) return fold_ints(s, k, at, a, b, out);
    if (bits) return fail(s, at, E_TYPE, "`%s` takes integers or bools", infix_text(k));
    if (a->kind == K_COMPLEX || b->kind == K_COMPLEX)
        return fold_complex(s, k, at, complex_from_literal(a), complex_from_literal(b),
                            out);
    return fold_floats(s, k, at, literal_f64(a), literal_f64(b), out);
}
