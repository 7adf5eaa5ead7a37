/* adjugate: the transposed matrix of cofactors, det(A) inv(A) if an inverse exists. It
 * is a polynomial in the elements and stays accurate where A is singular: LU gives the
 * product with the errors of both factors cancelled; close to singularity it is
 * assembled from singular values (G. W. Stewart, On the adjugate matrix, 1998). */
#include "ops/linalg/factor.h"

#include <math.h>
#include <string.h>

static bool adjugate_type(Infer *in) {
    return core_type(in, "(n,n)->(n,n)", NULL);
}

typedef struct Adjugate {
    Svd svd;
    size_t bytes;        /* bytes of a matrix */
    size_t square, line; /* the same rounded up; bytes of the pivots or singular values,
                          * rounded up */
    int lwork;
} Adjugate;

/* Is the smallest pivot so small that the inverse would lose half of its digits? */
static bool nearly_singular(const Gufunc *q, int n, const void *lu) {
    double least = HUGE_VAL, most = 0, size;
    for (int64_t i = 0; i < n; i++) {
        double z[2];
        tensor_cast_elements(
            DT_COMPLEX128, z, q->dtype,
            (const char *)lu + (size_t)(i * n + i) * dtype_size(q->dtype), 1, 0, 0);
        size = hypot(z[0], z[1]);
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    return !(least > (dtype_real(q->dtype) == DT_FLOAT32 ? 1e-2 : 1e-4) * most);
}

static void scale_matrix(DType d, int64_t n, void *x, Scaled by) {
    size_t size = dtype_size(d);
    for (int64_t i = 0; i < n; i++) {
        double z[2];
        char *p = (char *)x + (size_t)i * size;
        tensor_cast_elements(DT_COMPLEX128, z, d, p, 1, 0, 0);
        Scaled v = by;
        scaled_times(&v, z[0], z[1]);
        z[0] = scaled_value(v.re, v.e);
        z[1] = scaled_value(v.im, v.e);
        tensor_cast_elements(d, p, DT_COMPLEX128, z, 1, 0, 0);
    }
}

/* For each i, the product of all singular values except the i-th. */
static void deleted_products(DType d, int n, const void *s, Scaled *to) {
    size_t size = dtype_size(dtype_real(d));
    for (int i = 0; i < n; i++) {
        to[i] = scaled_one();
        for (int k = 0; k < n; k++) {
            double v;
            tensor_cast_elements(DT_FLOAT64, &v, dtype_real(d),
                                 (const char *)s + (size_t)k * size, 1, 0, 0);
            if (k != i) scaled_times(&to[i], v, 0);
        }
    }
}

static Scaled det_of_copy(const Gufunc *q, int n, const void *a, void *copy,
                          int *pivot) {
    memcpy(copy, a, (size_t)n * (size_t)n * dtype_size(q->dtype));
    factor_lu(q->fn[0], n, copy, pivot);
    return factor_det(q->dtype, n, copy, pivot);
}

/* With A = U S V^H: adj(A) = det(U) det(V^H) V adj(S) U^H. */
static int64_t adjugate_by_svd(const Item *it, const Adjugate *w, void *a, char *room) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n');
    size_t size = dtype_size(q->dtype);
    char *u = room, *vt = u + w->square, *copy = vt + w->square, *s = copy + w->square,
         *rest = s + w->line;
    int64_t bad = factor_svd(&w->svd, a, s, u, vt, rest);
    if (bad) return bad;
    Scaled *part = (Scaled *)(void *)rest;
    int *pivot = (int *)(void *)(rest + (size_t)n * sizeof *part);
    Scaled du = det_of_copy(q, n, u, copy, pivot),
           dv = det_of_copy(q, n, vt, copy, pivot);
    deleted_products(q->dtype, n, s, part);
    for (int i = 0; i < n;
         i++) { /* column i of U times its deleted product, conjugated */
        Scaled f = part[i];
        scaled_times(&f, du.re, -du.im);
        scaled_times(&f, dv.re, -dv.im);
        f.e += du.e + dv.e;
        scale_matrix(q->dtype, n, u + (size_t)i * (size_t)n * size, f);
    }
    lapack_gemm(q->dtype, q->fn[2], "CC", n, n, n, vt, n, u, n, it->out[0]);
    return 0;
}

/* Up to three rows by cofactors, exact wherever the products are. */
static void adjugate_by_cofactors(const Item *it, int n) {
    Wide a[9], c[9];
    wide_read(it->q, 0, it->in[0], a);
    if (n == 1) c[0] = 1;
    if (n == 2) c[0] = a[3], c[1] = -a[1], c[2] = -a[2], c[3] = a[0];
    for (int k = 0; n == 3 && k < 9; k++) {
        int i = k % 3, j = k / 3, i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3,
            j2 = (j + 2) % 3;
        c[k] = a[3 * i1 + j1] * a[3 * i2 + j2] - a[3 * i1 + j2] * a[3 * i2 + j1];
    }
    wide_write(it->q, 1, c, it->out[0]);
}

/* det(A) inv(A), unless A is nearly singular. The adjugate of the transpose is the
 * transpose. */
static int64_t adjugate_one(const Item *it) {
    const Gufunc *q = it->q;
    const Adjugate *w = q->own;
    int n = gufunc_dim(q, 'n'), info = 0,
        *pivot = (int *)(void *)(it->room + w->square);
    char *room = it->room + w->square + w->line;
    if (n <= 3) return adjugate_by_cofactors(it, n), 0;
    memcpy(it->room, it->in[0], w->bytes);
    int64_t bad = factor_lu(q->fn[0], n, it->in[0], pivot);
    if (bad || nearly_singular(q, n, it->in[0]))
        return adjugate_by_svd(it, w, it->room, room);
    Scaled det = factor_det(q->dtype, n, it->in[0], pivot);
    ((Getri *)q->fn[1])(&n, it->in[0], &n, pivot, room, &w->lwork, &info);
    memcpy(it->out[0], it->in[0], w->bytes);
    scale_matrix(q->dtype, (int64_t)n * n, it->out[0], det);
    return 0;
}

static bool adjugate_perform(Call *c) {
    Gufunc q;
    Adjugate w = {.lwork = 0};
    if (!gufunc_open(&q, c, "(n,n)->(n,n)", "r>r") || !lapack_get(&q, 0, "getrf") ||
        !lapack_get(&q, 1, "getri") || !lapack_get(&q, 2, "gemm"))
        return false;
    int n = gufunc_dim(&q, 'n');
    if (!factor_svd_open(&q, 3, 'S', n, n, &w.svd)) return false;
    size_t size = dtype_size(q.dtype),
           least = (size_t)n * (sizeof(Scaled) + sizeof(int));
    w.bytes = (size_t)n * (size_t)n * size;
    w.square = lapack_round(w.bytes);
    w.line = lapack_round((size_t)n * sizeof(double));
    w.lwork = 64 * n + 1;
    q.own = &w;
    size_t rest = w.svd.room > least ? w.svd.room : least,
           work = (size_t)w.lwork * size;
    size_t by_svd_room = 3 * w.square + w.line + rest;
    size_t room = w.square + w.line + (by_svd_room > work ? by_svd_room : work);
    return gufunc_run(&q, adjugate_one, room) && (!q.bad || factor_fail_iteration(&q));
}

/* By minors, each computed as a determinant. */
static int64_t adjugate_slow(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), m = n - 1;
    size_t count = (size_t)n * (size_t)n;
    Wide *a = (Wide *)(void *)it->room, *c = a + count, *minor = c + count;
    wide_read(q, 0, it->in[0], a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < m * m; k++) {
                int row = k / m, col = k % m;
                minor[k] = a[(row + (row >= j)) * n + col + (col >= i)];
            }
            Scaled d = wide_solve(m, minor, 0, NULL);
            double sign = (i + j) % 2 ? -1 : 1, z[2] = {sign * scaled_value(d.re, d.e),
                                                        sign * scaled_value(d.im, d.e)};
            memcpy(&c[i * n + j], z, sizeof z);
        }
    wide_write(q, 1, c, it->out[0]);
    return 0;
}

static bool adjugate_debug(Call *c) {
    Gufunc q;
    return gufunc_open(&q, c, "(n,n)->(n,n)", "r>r") &&
           gufunc_run(&q, adjugate_slow, 3 * sizeof(Wide) * q.arg[0].bytes);
}

/* ---- derivatives ---- */
/* With A = U S V^H and E = U^H dA V the derivative is det(U) det(V^H) V K(E) U^H, where
 * K_ij = -E_ij q_ij off the diagonal, K_ii = sum_k E_kk q_ik, and q_ij is the product
 * of all singular values except the i-th and the j-th. K is its own adjoint. */
#define ADJUGATE_NAMES                                                                 \
    "u, s, vh = svd(a)\n"                                                              \
    "turn = expand_dims(det(u) * det(vh), (-2, -1))\n"                                 \
    "n = arange(a.shape[-1])\n"                                                        \
    "after = expand_dims(n, -1) < n\n" /* row i: the values after i, then products of  \
                                          those between i and j */                     \
    "between = cumprod(where(after, expand_dims(s, -2), 1), axis=-1, "                 \
    "exclusive=True)\n"                                                                \
    "before = cumprod(s, axis=-1, exclusive=True)\n"                                   \
    "behind = cumprod(s, axis=-1, exclusive=True, reverse=True)\n"                     \
    "upper = where(after, expand_dims(before, -1) * between * expand_dims(behind, "    \
    "-2), 0)\n"                                                                        \
    "q = upper + mT(upper)\n"                                                          \
    "sums = lambda e: squeeze(q @ expand_dims(diagonal(e, axis1=-2, axis2=-1), -1), "  \
    "-1)\n"                                                                            \
    "k = lambda e: where(expand_dims(n, -1) == n, expand_dims(sums(e), -1), -e * q)\n"
static const char *const adjugate_pullback =
    ADJUGATE_NAMES "g_a = u @ k(vh @ (cj(turn) * g) @ u) @ vh";
static const char *const adjugate_pushforward =
    ADJUGATE_NAMES "t_r = turn * (mH(vh) @ k(mH(u) @ t_a @ mH(vh)) @ mH(u))";

static const Op table[] = {
    {.name = OP_ROW("adjugate"),
     .doc = "The adjugate of a square matrix: the transpose of its cofactors, with a @ "
            "adjugate(a) = det(a) * eye(n), also if a is singular. The derivative of "
            "det uses it.",
     .in = "a",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = adjugate_type,
     .perform = adjugate_perform,
     .debug = adjugate_debug,
     .flops = "prod(a.shape[:-2]) * 2 * a.shape[-1] ** 3",
     .pullback = adjugate_pullback,
     .pushforward = adjugate_pushforward,
     .vmap = core_vmap,
     .example = "adjugate([[1.0, 2.0], [3.0, 4.0]]) -> [[4.0, -2.0], [-3.0, 1.0]]"},
};
const OpList ops_linalg_adjugate = LIST_OF(table);
