/* Approximate equality, as the Type contract defines values_eq_approx: a first pass
 * with tolerances, in which infinities must be equal and nans fail; if it fails and a
 * has nans (or infinities that `how` forgives), a second pass in which nans match
 * nans. */
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
static double complex_abs(Complex z) {
    return z.im == 0 ? fabs(z.re) : hypot(z.re, z.im);
}
static bool same_complex(Complex a, Complex b) {
    return a.re == b.re && a.im == b.im;
}

typedef struct ApproxPass {
    Tolerance tol;
    bool nans_match; /* the second pass */
    Approx how;
    bool removable; /* out: a has something that a second pass may forgive */
    bool ok;
    double worst; /* excess of the worst mismatch */
    int64_t where;
} ApproxPass;

static void record_mismatch(ApproxPass *p, int64_t i, double excess) {
    if (p->ok || excess > p->worst) {
        p->worst = excess;
        p->where = i;
    }
    p->ok = false;
}

static void compare_element(ApproxPass *p, Complex a, Complex b, int64_t i) {
    bool odd = is_nan(a) || is_inf(a) || is_nan(b) || is_inf(b);
    if (!odd) {
        Complex d = {a.re - b.re, a.im - b.im};
        double excess = complex_abs(d) - (p->tol.atol + p->tol.rtol * complex_abs(b));
        if (excess > 0) record_mismatch(p, i, excess);
        return;
    }
    p->removable |= is_nan(a) || (p->how.allow_remove_inf && is_inf(a));
    if (same_complex(a, b)) return;
    if (p->nans_match && ((is_nan(a) && (is_nan(b) || p->how.allow_remove_nan)) ||
                          (is_inf(a) && p->how.allow_remove_inf)))
        return;
    record_mismatch(p, i, HUGE_VAL);
}

static void load_complex_block(const Tensor *t, int64_t first, size_t n, Complex *out) {
    _Alignas(16) char block[BLOCK * 16];
    tensor_gather(t, first, n, block);
    tensor_cast_elements(DT_COMPLEX128, out, t->dtype, block, n, 16,
                         (ptrdiff_t)dtype_size(t->dtype));
}

static void compare_all_elements(ApproxPass *p, const Tensor *a, const Tensor *b) {
    Complex x[BLOCK], y[BLOCK];
    int64_t size = tensor_size(a);
    p->ok = true;
    for (int64_t i = 0; i < size; i += BLOCK) {
        size_t n = size - i < BLOCK ? (size_t)(size - i) : BLOCK;
        load_complex_block(a, i, n, x);
        load_complex_block(b, i, n, y);
        for (size_t k = 0; k < n; k++)
            compare_element(p, x[k], y[k], i + (int64_t)k);
    }
}

/* Integers and booleans must be equal. The worst mismatch is the largest difference. */
static bool approx_discrete(const Tensor *a, const Tensor *b, int64_t *where) {
    if (tensor_equal(a, b)) return true;
    ApproxPass p = {.tol = {0, 0}};
    compare_all_elements(&p, a, b);
    int64_t i = p.where; /* doubles beyond 2^53 are inexact: look again */
    for (int64_t k = 0; p.ok && k < tensor_size(a); k++)
        if (tensor_i64(a, k) != tensor_i64(b, k)) {
            i = k;
            break;
        }
    if (where) *where = i;
    return false;
}

static Tolerance override_tolerance(Approx how, Tolerance dtype_tolerance) {
    return (Tolerance){how.rtol < 0 ? dtype_tolerance.rtol : how.rtol,
                       how.atol < 0 ? dtype_tolerance.atol : how.atol};
}

static Tolerance dtype_tolerance(DType d, Approx how) {
    int sloppy = how.sloppy < 0 ? 0 : how.sloppy > 2 ? 2 : how.sloppy;
    return override_tolerance(how, tolerances[sloppy][dtype_real(d) - DT_FLOAT16]);
}

void tensor_tolerance(DType d, Approx how, double *rtol, double *atol) {
    Tolerance t = dtype_is_inexact(d) ? dtype_tolerance(d, how) : (Tolerance){0, 0};
    *rtol = t.rtol;
    *atol = t.atol;
}

bool tensor_approx(const Tensor *a, const Tensor *b, Approx how, int64_t *where) {
    if (where) *where = -1;
    if (a->dtype != b->dtype || !tensor_same_shape(a, b)) return false;
    if (!dtype_is_inexact(a->dtype)) return approx_discrete(a, b, where);
    ApproxPass p = {.how = how};
    p.tol = dtype_tolerance(a->dtype, how);
    compare_all_elements(&p, a, b);
    if (!p.ok && p.removable) {
        p = (ApproxPass){
            .how = how, .nans_match = true, .tol = override_tolerance(how, retry)};
        compare_all_elements(&p, a, b);
    }
    if (!p.ok && where) *where = p.where;
    return p.ok;
}
