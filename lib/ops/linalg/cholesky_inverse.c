/* cholesky_inverse: the inverse of a matrix from its Cholesky factor, in a third of the
 * work of inv. */
#include "ops/linalg/factor.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { LOWER }; /* options */

/* The other triangle from the one that LAPACK writes. */
static void mirror(DType d, char *a, int64_t n, bool lower) {
    size_t size = dtype_size(d);
    bool conj = dtype_is_complex(d);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            char *below = a + (size_t)(i * n + j) * size,
                 *above = a + (size_t)(j * n + i) * size, *to = lower ? above : below;
            memcpy(to, lower ? below : above, size);
            if (conj && d == DT_COMPLEX64)
                ((float *)(void *)to)[1] = -((float *)(void *)to)[1];
            else if (conj)
                ((double *)(void *)to)[1] = -((double *)(void *)to)[1];
        }
}

/* For a row-major matrix, LAPACK's upper triangle is the lower one. */
static int64_t inverse_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), ld = gufunc_lead(q, 'n'), info = 0;
    bool lower = q->option[LOWER];
    if (!factor_triangle_finite(q->dtype, it->out[0], n, lower)) {
        factor_fill_nan(it, n, n, false);
        return 0;
    }
    if (n == 0) return 0;
    factor_make_real(q->dtype, it->out[0], n);
    ((Potri *)q->fn[0])(lower ? "U" : "L", &n, it->out[0], &ld, &info, 1);
    if (info == 0) mirror(q->dtype, it->out[0], n, lower);
    return info;
}

static bool inverse_open(Gufunc *q, Call *c, const char *how) {
    if (!gufunc_open(q, c, "(n,n)->(n,n)", how)) return false;
    q->option[LOWER] = prop_bool(c->s, c->op, c->props, "lower");
    return true;
}

static bool inverse_perform(Call *c) {
    Gufunc q;
    return inverse_open(&q, c, "->0") && lapack_get(&q, 0, "potri") &&
           gufunc_run(&q, inverse_one, 0) && (!q.bad || factor_fail_singular(&q));
}

/* Row i of the lower triangular inverse m of the factor l; both have rows of n. */
static void inverse_row(const Wide *l, Wide *m, int n, int i) {
    for (int j = 0; j <= i; j++) {
        Wide s = i == j;
        for (int k = j; k < i; k++)
            s -= l[i * n + k] * m[k * n + j];
        m[i * n + j] = s / l[i * n + i];
    }
}

/* With m = l^-1, the inverse is m^H m. */
static int64_t inverse_slow(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n');
    size_t count = (size_t)n * (size_t)n;
    Wide *c = (Wide *)(void *)it->room, *l = c + count, *m = l + count;
    bool lower = q->option[LOWER], nan = false;
    wide_read(q, 0, it->in[0], c);
    memset(m, 0, count * sizeof *m);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            Wide v = lower ? c[i * n + j] : conj(c[j * n + i]);
            nan |= !isfinite(creal(v)) || !isfinite(cimag(v));
            l[i * n + j] = i == j ? creal(v) : v;
        }
    for (int i = 0; !nan && i < n; i++) {
        if (l[i * n + i] == 0) return i + 1;
        inverse_row(l, m, n, i);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            Wide s = 0;
            for (int k = i > j ? i : j; k < n; k++)
                s += conj(m[k * n + i]) * m[k * n + j];
            c[i * n + j] = nan ? __builtin_complex((double)NAN, (double)NAN) : s;
        }
    wide_write(q, 0, c, it->out[0]);
    return 0;
}

static bool inverse_debug(Call *c) {
    Gufunc q;
    return inverse_open(&q, c, "r>r") &&
           gufunc_run(&q, inverse_slow, 3 * sizeof(Wide) * q.arg[0].bytes) &&
           (!q.bad || factor_fail_singular(&q));
}

/* ---- derivatives ----
 * With a = l l^H, dr = -r da r and da = dl l^H + l dl^H; for the upper factor u = l^H.
 */
#define FACTORS                                                                        \
    "l = real_diagonal(c) when lower\n"                                                \
    "l = mH(real_diagonal(c))\n"                                                       \
    "real_diagonal = lambda x: triangle(x) when ~is_complex(c)\n"                      \
    "real_diagonal = lambda x: where(on_diagonal(x), re(x), triangle(x))\n"            \
    "triangle = lambda x: tril(x) when lower\n"                                        \
    "triangle = lambda x: triu(x)\n"
static const char *const inverse_pullback =
    FACTORS "g_c = real_diagonal(gl) when lower\n"
            "g_c = real_diagonal(mH(gl))\n"
            "gl = -(r @ (g + mH(g)) @ r @ l)";
static const char *const inverse_pushforward =
    FACTORS "t_r = -(r @ (da + mH(da)) @ r)\n"
            "da = dl @ mH(l)\n"
            "dl = real_diagonal(t_c) when lower\n"
            "dl = mH(real_diagonal(t_c))";

static const Op table[] = {
    {.name = OP_ROW("cholesky_inverse"),
     .doc =
         "The inverse of a Hermitian positive definite matrix a from c = cholesky(a); "
         "with lower=False (or upper=True) from the upper factor. Only that triangle "
         "of c is read, and of its diagonal only the real part. A 0 on the diagonal "
         "is an error; if the triangle has an inf or a nan, the inverse is nan.",
     .in = "c",
     .props = "lower: bool = True, upper: bool = False",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = factor_triangle_type,
     .perform = inverse_perform,
     .debug = inverse_debug,
     /* LAPACK Working Note 41, appendix C */
     .flops = "prod(c.shape[:-2]) * (2 * c.shape[-1] ** 3 / 3 + c.shape[-1] ** 2 / 2 + "
              "5 * c.shape[-1] / 6)",
     .pullback = inverse_pullback,
     .pushforward = inverse_pushforward,
     .vmap = core_vmap,
     .example = "cholesky_inverse([[2.0, 0.0], [1.0, 2.0]]) -> [[0.3125, -0.125], "
                "[-0.125, 0.25]]"},
};
const OpList ops_linalg_cholesky_inverse = LIST_OF(table);
