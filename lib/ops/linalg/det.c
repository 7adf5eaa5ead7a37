/* det and slogdet. */
#include "ops/linalg/factor.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* ---- det and slogdet ---- */
static bool det_type(Infer *in) {
    return core_type(in, "(n,n)->()", NULL);
}

static bool slogdet_type(Infer *in) {
    DType d = in->type[0]->dtype;
    return core_type(in, "(n,n)->(),()", (DType[]){d, dtype_real(d)});
}

/* nan; as with inv, because of an inf or a nan in the matrix elimination would depend
 * on its order. */
static bool is_undefined(const Item *it, Scaled *out) {
    const Gufunc *q = it->q;
    if (factor_finite(q->dtype, it->in[0], q->dim['n'] * q->dim['n'])) return false;
    *out =
        (Scaled){.re = (double)NAN, .im = dtype_is_complex(q->dtype) ? (double)NAN : 0};
    return true;
}

/* The transpose has the same determinant. */
static Scaled det_of(const Item *it) {
    int n = gufunc_dim(it->q, 'n'), *pivot = (int *)(void *)it->room;
    Scaled none;
    if (is_undefined(it, &none)) return none;
    factor_lu(it->q->fn[0], n, it->in[0], pivot);
    return factor_det(it->q->dtype, n, it->in[0], pivot);
}

static void put_det_number(const Item *it, int out, double re, double im) {
    double z[2] = {re, im};
    tensor_cast_elements(it->q->arg[it->q->nin + out].dtype, it->out[out],
                         DT_COMPLEX128, z, 1, 0, 0);
}

static int64_t det_one(const Item *it) {
    Scaled d = det_of(it);
    put_det_number(it, 0, scaled_value(d.re, d.e), scaled_value(d.im, d.e));
    return 0;
}

static void put_slogdet(const Item *it, Scaled d) {
    double size = hypot(d.re, d.im);
    put_det_number(it, 0, size == 0 ? 0 : d.re / size, size == 0 ? 0 : d.im / size);
    put_det_number(it, 1, size == 0 ? -HUGE_VAL : log(size) + (double)d.e * log(2), 0);
}

static int64_t slogdet_one(const Item *it) {
    put_slogdet(it, det_of(it));
    return 0;
}

static bool det_perform(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(n,n)->()", "r>r") && lapack_get(&q, 0, "getrf") &&
           gufunc_run(&q, det_one, lapack_pivot_bytes(q.dim['n']));
}

static bool slogdet_perform(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(n,n)->(),()", "r>rr") && lapack_get(&q, 0, "getrf") &&
           gufunc_run(&q, slogdet_one, lapack_pivot_bytes(q.dim['n']));
}

static Scaled slow_det(const Item *it) {
    Scaled none;
    if (is_undefined(it, &none)) return none;
    Wide *a = (Wide *)(void *)it->room;
    wide_read(it->q, 0, it->in[0], a);
    return wide_solve(gufunc_dim(it->q, 'n'), a, 0, NULL);
}

static int64_t det_slow(const Item *it) {
    Scaled d = slow_det(it);
    put_det_number(it, 0, scaled_value(d.re, d.e), scaled_value(d.im, d.e));
    return 0;
}

static int64_t slogdet_slow(const Item *it) {
    put_slogdet(it, slow_det(it));
    return 0;
}

static bool det_debug(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(n,n)->()", "r>r") &&
           gufunc_run(&q, det_slow, sizeof(Wide) * q.arg[0].bytes);
}

static bool slogdet_debug(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(n,n)->(),()", "r>rr") &&
           gufunc_run(&q, slogdet_slow, sizeof(Wide) * q.arg[0].bytes);
}

/* Jacobi: d det(A) = tr(adj(A) dA). */
static const char *const det_pullback =
    "g_a = expand_dims(g, (-2, -1)) * mH(adjugate(a))";
static const char *const det_pushforward =
    "t_r = sum(mT(adjugate(a)) * t_a, axis=(-2, -1))";

/* With t = tr(A^-1 dA): d log|det| = Re t, and a complex determinant's sign rotates by
 * i Im t. */
static const char *const slogdet_pullback =
    "g_a = expand_dims(g_logabsdet - turn, (-2, -1)) * mH(inv(a))\n"
    "turn = 1j * imag(conj(g_sign) * sign) when is_complex(a)";
static const char *const slogdet_pushforward =
    "t = sum(mT(inv(a)) * t_a, axis=(-2, -1))\n"
    "t_sign = 1j * imag(t) * sign when is_complex(a)\n"
    "t_logabsdet = re(t)";

#define LU_FLOPS                                                                       \
    "prod(a.shape[:-2]) * (2 * a.shape[-1] ** 3 / 3 - a.shape[-1] ** 2 / 2 + 11 * "    \
    "a.shape[-1] / 6)"
static const Op table[] = {
    {.name = OP_ROW("det"),
     .doc = "The determinant of a square matrix. Its derivatives are those of a "
            "polynomial: they are also right for singular matrices, the third and "
            "higher ones if the singular values are distinct. If an element is inf or "
            "nan, it is nan.",
     .in = "a",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = det_type,
     .perform = det_perform,
     .debug = det_debug,
     .flops = LU_FLOPS,
     .pullback = det_pullback,
     .pushforward = det_pushforward,
     .vmap = core_vmap,
     .example = "det([[2.0, 1.0], [4.0, 5.0]]) -> 6.0"},
    {.name = OP_ROW("slogdet"),
     .doc =
         "Sign and logarithm of the absolute value of the determinant, which itself "
         "may be too large or too small for a number. For a singular matrix they "
         "are 0 and -inf, and the gradient is an error; if an element is inf or nan, "
         "they are nan; for complex matrices the "
         "sign is a number of absolute value 1.",
     .in = "a",
     .out = "sign, logabsdet",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = slogdet_type,
     .perform = slogdet_perform,
     .debug = slogdet_debug,
     .flops = LU_FLOPS,
     .pullback = slogdet_pullback,
     .pushforward = slogdet_pushforward,
     .vmap = core_vmap,
     .example = "slogdet([[0.0, 1.0], [1.0, 0.0]])[0] -> -1.0\n"
                "slogdet([[1.0, 2.0], [2.0, 5.0]])[1] -> 0.0"},
};
const OpList ops_linalg_det = LIST_OF(table);
