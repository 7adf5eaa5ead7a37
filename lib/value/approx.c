/* Approximate equality as the Type contract's values_eq_approx has it: a pass by
 * tolerances in which infinities must be equal and a nan fails; if that fails and there
 * are nans (or infinities that may go) in a, a second pass in which nans match nans. */
#include "value/value_impl.h"

#include <math.h>

enum { BLOCK = 256 };

typedef struct Tolerance {
    double rtol, atol;
} Tolerance;

/* [sloppy][0 float16, 1 float32, 2 float64] */
static const Tolerance tolerances[3][3] = {
    {{1e-3, 1e-3}, {1e-5, 1e-5}, {1e-5, 1e-8}},
    {{1e-2, 5e-3}, {1e-3, 1e-4}, {1e-4, 1e-3}},
    {{5e-2, 1e-2}, {1e-3, 5e-4}, {1e-4, 1e-3}},
};
static const Tolerance retry = {1e-5, 1e-8};

typedef struct Complex {
    double re, im;
} Complex;
static bool is_nan(Complex z) {
    return isnan(z.re) || isnan(z.im);
}
static bool is_inf(Complex z) {
    return isinf(z.re) || isinf(z.im);
}
static double size_of(Complex z) {
    return z.im == 0 ? fabs(z.re) : hypot(z.re, z.im);
}
static bool same(Complex a, Complex b) {
    return a.re == b.re && a.im == b.im;
}

typedef struct Pass {
    Tolerance tol;
    bool nans_match; /* the second pass */
    Approx how;
    bool removable; /* out: a has what a second pass may forgive */
    bool ok;
    double worst; /* excess of the worst mismatch */
    int64_t where;
} Pass;

static void mismatch(Pass *p, int64_t i, double excess) {
    if (p->ok || excess > p->worst) {
        p->worst = excess;
        p->where = i;
    }
    p->ok = false;
}

static void look(Pass *p, Complex a, Complex b, int64_t i) {
    bool odd = is_nan(a) || is_inf(a) || is_nan(b) || is_inf(b);
    if (!odd) {
        Complex d = {a.re - b.re, a.im - b.im};
        double excess = size_of(d) - (p->tol.atol + p->tol.rtol * size_of(b));
        if (excess > 0) mismatch(p, i, excess);
        return;
    }
    p->removable |= is_nan(a) || (p->how.allow_remove_inf && is_inf(a));
    if (same(a, b)) return;
    if (p->nans_match && ((is_nan(a) && (is_nan(b) || p->how.allow_remove_nan)) ||
                          (is_inf(a) && p->how.allow_remove_inf)))
        return;
    mismatch(p, i, HUGE_VAL);
}

static void load(const Tensor *t, int64_t first, size_t n, Complex *out) {
    _Alignas(16) char block[BLOCK * 16];
    tensor_gather(t, first, n, block);
    element_cast(DT_COMPLEX128, out, t->dtype, block, n, 16,
                 (ptrdiff_t)dtype_size(t->dtype));
}

static void run(Pass *p, const Tensor *a, const Tensor *b) {
    Complex x[BLOCK], y[BLOCK];
    int64_t size = tensor_size(a);
    p->ok = true;
    for (int64_t i = 0; i < size; i += BLOCK) {
        size_t n = size - i < BLOCK ? (size_t)(size - i) : BLOCK;
        load(a, i, n, x);
        load(b, i, n, y);
        for (size_t k = 0; k < n; k++)
            look(p, x[k], y[k], i + (int64_t)k);
    }
}

/* Integers and booleans: exact. The worst is the one that is furthest off. */
static bool exact(const Tensor *a, const Tensor *b, int64_t *where) {
    if (tensor_equal(a, b)) return true;
    Pass p = {.tol = {0, 0}};
    run(&p, a, b);
    int64_t i = p.where; /* beyond 2^53 doubles can't tell: look again */
    for (int64_t k = 0; p.ok && k < tensor_size(a); k++)
        if (tensor_i64(a, k) != tensor_i64(b, k)) {
            i = k;
            break;
        }
    if (where) *where = i;
    return false;
}

static Tolerance choose(Approx how, Tolerance normal) {
    return (Tolerance){how.rtol < 0 ? normal.rtol : how.rtol,
                       how.atol < 0 ? normal.atol : how.atol};
}

static Tolerance normal(DType d, Approx how) {
    int sloppy = how.sloppy < 0 ? 0 : how.sloppy > 2 ? 2 : how.sloppy;
    return choose(how, tolerances[sloppy][dtype_real(d) - DT_FLOAT16]);
}

void tensor_tolerance(DType d, Approx how, double *rtol, double *atol) {
    Tolerance t = dtype_is_inexact(d) ? normal(d, how) : (Tolerance){0, 0};
    *rtol = t.rtol;
    *atol = t.atol;
}

bool tensor_approx(const Tensor *a, const Tensor *b, Approx how, int64_t *where) {
    if (where) *where = -1;
    if (a->dtype != b->dtype || !tensor_same_shape(a, b)) return false;
    if (!dtype_is_inexact(a->dtype)) return exact(a, b, where);
    Pass p = {.how = how};
    p.tol = normal(a->dtype, how);
    run(&p, a, b);
    if (!p.ok && p.removable) {
        p = (Pass){.how = how, .nans_match = true, .tol = choose(how, retry)};
        run(&p, a, b);
    }
    if (!p.ok && where) *where = p.where;
    return p.ok;
}
