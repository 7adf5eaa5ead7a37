/* The discrete algebraic Riccati equation x = a^H x (1 + g x)^-1 a + q, from the
 * deflating subspace of a pencil for eigenvalues inside the unit circle (Pappas, Laub
 * and Sandell, 1980): m [1; x] = n [1; x] s, with m = [[a, 0], [-q, 1]], n = [[1, g],
 * [0, a^H]] and s = (1 + g x)^-1 a. */
#include "ops/linalg/factor.h"

#include <math.h>
#include <string.h>

typedef int SelectReal(const void *re, const void *im, const void *beta);
typedef int SelectComplex(const void *alpha, const void *beta);
typedef void Gges(const char *left, const char *right, const char *sort,
                  SelectReal *select, const int *n, void *a, const int *lda, void *b,
                  const int *ldb, int *sdim, void *re, void *im, void *beta, void *vsl,
                  const int *ldvsl, void *vsr, const int *ldvsr, void *work,
                  const int *lwork, int *bwork, int *info, size_t, size_t, size_t);
typedef void GgesC(const char *left, const char *right, const char *sort,
                   SelectComplex *select, const int *n, void *a, const int *lda,
                   void *b, const int *ldb, int *sdim, void *alpha, void *beta,
                   void *vsl, const int *ldvsl, void *vsr, const int *ldvsr, void *work,
                   const int *lwork, void *rwork, int *bwork, int *info, size_t, size_t,
                   size_t);

/* Is alpha / beta inside the unit circle? */
static int is_stable_f32(const void *re, const void *im, const void *beta) {
    return hypotf(*(const float *)re, *(const float *)im) < fabsf(*(const float *)beta);
}
static int is_stable_f64(const void *re, const void *im, const void *beta) {
    return hypot(*(const double *)re, *(const double *)im) <
           fabs(*(const double *)beta);
}
static int is_stable_c64(const void *alpha, const void *beta) {
    const float *a = alpha, *b = beta;
    return hypotf(a[0], a[1]) < hypotf(b[0], b[1]);
}
static int is_stable_c128(const void *alpha, const void *beta) {
    const double *a = alpha, *b = beta;
    return hypot(a[0], a[1]) < hypot(b[0], b[1]);
}

enum { GGES, GETRF, GETRS };
enum { BAD_SPLIT = 1 }; /* result of an item: not half of the values are inside */
static const char *const riccati_signature = "(n,n),(n,n),(n,n)->(n,n)";

static bool riccati_type(Infer *in) {
    return core_type(in, riccati_signature, NULL);
}

/* The workspace of an item, for matrices of 2 n rows. */
typedef struct RiccatiRoom {
    char *m, *n, *v, *value[3], *rwork, *work;
    int *ints;
    int lwork;
} RiccatiRoom;
/* Of its parts, in bytes; lwork: in elements. */
typedef struct RiccatiSizes {
    size_t square, line, pivots, rwork, lwork, bytes;
} RiccatiSizes;

static RiccatiSizes riccati_sizes(int64_t n, DType d) {
    size_t size = dtype_size(d);
    RiccatiSizes z = {.square = lapack_round((size_t)(4 * n * n) * size),
                      .line = lapack_round((size_t)(2 * n + 1) * size),
                      .pivots = lapack_pivot_bytes(2 * n),
                      .rwork = lapack_round((size_t)(16 * n + 1) * size),
                      .lwork = (size_t)(128 * n + 16)};
    z.bytes = 3 * z.square + 3 * z.line + z.pivots + z.rwork + z.lwork * size;
    return z;
}

static RiccatiRoom riccati_room(char *base, int64_t n, DType d) {
    RiccatiSizes z = riccati_sizes(n, d);
    RiccatiRoom r = {.m = base, .lwork = (int)z.lwork};
    r.n = base + z.square;
    r.v = r.n + z.square;
    char *next = r.v + z.square;
    for (int i = 0; i < 3; i++, next += z.line)
        r.value[i] = next;
    r.ints = (int *)(void *)next;
    r.rwork = next + z.pivots;
    r.work = r.rwork + z.rwork;
    return r;
}

static int call_gges(const Gufunc *q, int n, const RiccatiRoom *r, int *inside) {
    int info = 0, one = 1;
    bool narrow = dtype_real(q->dtype) == DT_FLOAT32;
    if (dtype_is_complex(q->dtype))
        ((GgesC *)q->fn[GGES])("N", "V", "S", narrow ? is_stable_c64 : is_stable_c128,
                               &n, r->m, &n, r->n, &n, inside, r->value[0], r->value[1],
                               r->v, &one, r->v, &n, r->work, &r->lwork, r->rwork,
                               r->ints, &info, 1, 1, 1);
    else
        ((Gges *)q->fn[GGES])("N", "V", "S", narrow ? is_stable_f32 : is_stable_f64, &n,
                              r->m, &n, r->n, &n, inside, r->value[0], r->value[1],
                              r->value[2], r->v, &one, r->v, &n, r->work, &r->lwork,
                              r->ints, &info, 1, 1, 1);
    return info;
}

/* Element (i, j) of a column-major matrix of `lead` rows. */
static void *element_at(DType d, void *a, int64_t lead, int64_t i, int64_t j) {
    return (char *)a + (size_t)(j * lead + i) * dtype_size(d);
}

static void put_element(DType d, void *to, double re, double im) {
    double z[2] = {re, im};
    tensor_cast_elements(d, to, dtype_is_complex(d) ? DT_COMPLEX128 : DT_FLOAT64, z, 1,
                         0, 0);
}

static void get_element(DType d, const void *from, double z[2]) {
    z[1] = 0;
    tensor_cast_elements(dtype_is_complex(d) ? DT_COMPLEX128 : DT_FLOAT64, z, d, from,
                         1, 0, 0);
}

static void fill_pencil(DType d, int64_t n, void *const *in, const RiccatiRoom *r) {
    memset(r->m, 0, (size_t)(4 * n * n) * dtype_size(d));
    memset(r->n, 0, (size_t)(4 * n * n) * dtype_size(d));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double a[2], g[2], q[2];
            get_element(d, element_at(d, in[0], n, i, j), a);
            get_element(d, element_at(d, in[1], n, i, j), g);
            get_element(d, element_at(d, in[2], n, i, j), q);
            put_element(d, element_at(d, r->m, 2 * n, i, j), a[0], a[1]);
            put_element(d, element_at(d, r->m, 2 * n, n + i, j), -q[0], -q[1]);
            put_element(d, element_at(d, r->n, 2 * n, i, n + j), g[0], g[1]);
            put_element(d, element_at(d, r->n, 2 * n, n + j, n + i), a[0], -a[1]);
        }
    for (int64_t i = 0; i < n; i++) {
        put_element(d, element_at(d, r->m, 2 * n, n + i, n + i), 1, 0);
        put_element(d, element_at(d, r->n, 2 * n, i, i), 1, 0);
    }
}

/* x = u2 u1^-1, where u1 and u2 are the halves of v's first n columns; the transpose is
 * what is solved for. */
static int64_t solution_from_subspace(const Gufunc *q, int n, const RiccatiRoom *r,
                                      char *x) {
    size_t size = dtype_size(q->dtype);
    int info = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            memcpy(element_at(q->dtype, r->m, n, i, j),
                   element_at(q->dtype, r->v, 2 * n, i, j), size);
            memcpy(element_at(q->dtype, x, n, j, i),
                   element_at(q->dtype, r->v, 2 * n, n + i, j), size);
        }
    if (factor_lu(q->fn[GETRF], n, r->m, r->ints)) return BAD_SPLIT;
    ((Getrs *)q->fn[GETRS])("T", &n, &n, r->m, &n, r->ints, x, &n, &info, 1);
    return 0;
}

static int64_t riccati_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), inside = 0;
    RiccatiRoom r = riccati_room(it->room, n, q->dtype);
    for (int i = 0; i < 3; i++)
        if (!factor_finite(q->dtype, it->in[i], (int64_t)n * n)) return BAD_VALUE;
    if (n == 0) return 0;
    fill_pencil(q->dtype, n, it->in, &r);
    int info = call_gges(q, 2 * n, &r, &inside);
    if (info > 0 && info <= 2 * n + 1) return BAD_END;
    return inside == n ? solution_from_subspace(q, n, &r, it->out[0]) : BAD_SPLIT;
}

static bool riccati_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, riccati_signature, "ccc>r") ||
        !lapack_get(&q, GGES, "gges") || !lapack_get(&q, GETRF, "getrf") ||
        !lapack_get(&q, GETRS, "getrs"))
        return false;
    if (!gufunc_run(&q, riccati_one, riccati_sizes(q.dim['n'], q.dtype).bytes))
        return false;
    if (q.bad == BAD_SPLIT)
        return call_fail(c, E_SINGULAR,
                         "there is no stabilising solution%s: the pencil has "
                         "eigenvalues on the unit circle",
                         gufunc_where(&q));
    return !q.bad || factor_fail_iteration(&q);
}

/* With the closed loops s and t^H, which are one if b and q are Hermitian, dx = t dx s
 * + what the other differentials add: a Stein equation, whose adjoint is that of t^H
 * and s^H. */
#define CLOSED_LOOPS                                                                   \
    "one = eye(a.shape[-1], dtype='int8')\n"                                           \
    "s = solve(one + b @ r, a)\n"                                                      \
    "t = mH(solve(one + mH(r @ b), a))\n"                                              \
    "stein = lambda u, v, c: solve_sylvester(cayley(u), cayley(v), halves(u, v, c))\n" \
    "halves = lambda u, v, c: -2 * inv(u + one) @ c @ inv(v + one)\n"                  \
    "cayley = lambda u: solve(u + one, u - one)\n"
static const char *const riccati_pullback =
    CLOSED_LOOPS "y = stein(mH(t), mH(s), g)\n"
                 "g_q = y\n"
                 "g_a = r @ s @ mH(y) + mH(t @ r) @ y\n"
                 "g_b = -(mH(t @ r) @ y @ mH(r @ s))";
static const char *const riccati_pushforward =
    CLOSED_LOOPS "t_r = stein(t, s, by_a + t @ (r @ t_a) - t @ r @ t_b @ r @ s + t_q)\n"
                 "by_a = mH(t_a) @ r @ s";

static const Op table[] = {
    {.name = OP_ROW("discrete_riccati"),
     .internal = true,
     .doc = "The stabilising x with x = a^H x (1 + b x)^-1 a + q; solve_discrete_are "
            "expands to this.",
     .in = "a, b, q",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = riccati_type,
     .perform = riccati_perform,
     .flops = "prod(r.shape[:-2]) * 528 * a.shape[-1] ** 3",
     .pullback = riccati_pullback,
     .pushforward = riccati_pushforward,
     .vmap = core_vmap,
     .example = "discrete_riccati([[0.0]], [[1.0]], [[2.0]]) -> [[2.0]]"},
};
const OpList ops_linalg_riccati = LIST_OF(table);
