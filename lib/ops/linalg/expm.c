/* expm, by scaling and squaring with Pade approximants (N. J. Higham, The scaling and
 * squaring method for the matrix exponential revisited, SIAM J. Matrix Anal. Appl. 26,
 * 2005): uses the lowest degree that is exact to rounding for the given 1-norm, up to
 * 13, or 7 in single precision. */
#include "ops/linalg/factor.h"

#include <math.h>
#include <string.h>

static bool expm_type(Infer *in) {
    return core_type(in, "(n,n)->(n,n)", NULL);
}

typedef struct PadeDegree {
    int m;
    double norm; /* the largest 1-norm that it covers */
    double b[14];
} PadeDegree;
static const PadeDegree wide_degrees[] = {
    {3, 1.495585217958292e-2, {120, 60, 12, 1}},
    {5, 2.539398330063230e-1, {30240, 15120, 3360, 420, 30, 1}},
    {7, 9.504178996162932e-1, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}},
    {9,
     2.097847961257068,
     {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960,
      90, 1}},
    {13,
     5.371920351148152,
     {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
      129060195264000, 10559470521600, 670442572800, 33522128640, 1323241920, 40840800,
      960960, 16380, 182, 1}}};
static const PadeDegree narrow_degrees[] = {
    {3, 4.258730016922831e-1, {120, 60, 12, 1}},
    {5, 1.880152677804762, {30240, 15120, 3360, 420, 30, 1}},
    {7, 3.925724783138660, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}}};

/* A matrix as plain numbers: real and imaginary parts interleaved. */
typedef struct ExpmWork {
    const Gufunc *q;
    int n;
    int64_t parts;
    DType part; /* float32 or float64 */
    char *next; /* free workspace */
    BlasFn *gemm;
} ExpmWork;

static void *take_matrix(ExpmWork *w) {
    char *p = w->next;
    w->next += lapack_round((size_t)w->parts * dtype_size(w->part));
    return p;
}

/* to += f * from */
static void add_scaled(const ExpmWork *w, void *to, double f, const void *from) {
    float *x = to;
    double *y = to;
    const float *u = from;
    const double *v = from;
    if (w->part == DT_FLOAT32)
        for (int64_t i = 0; i < w->parts; i++)
            x[i] += (float)f * u[i];
    else
        for (int64_t i = 0; i < w->parts; i++)
            y[i] += f * v[i];
}

static void set_scaled(const ExpmWork *w, void *to, double f, const void *from) {
    memset(to, 0, (size_t)w->parts * dtype_size(w->part));
    add_scaled(w, to, f, from);
}

static void add_diagonal(const ExpmWork *w, void *to, double f) {
    int64_t step = dtype_is_complex(w->q->dtype) ? 2 : 1;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t at = i * (w->n + 1) * step;
        if (w->part == DT_FLOAT32)
            ((float *)to)[at] += (float)f;
        else
            ((double *)to)[at] += f;
    }
}

static void multiply_into(const ExpmWork *w, const void *a, const void *b, void *to) {
    lapack_gemm(w->q->dtype, w->gemm, "NN", w->n, w->n, w->n, a, w->n, b, w->n, to);
}

/* The largest column sum of absolute values, with columns as LAPACK sees them. */
static double one_norm(const ExpmWork *w, const void *a) {
    size_t size = dtype_size(w->q->dtype);
    double most = 0;
    for (int64_t j = 0; j < w->n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < w->n; i++) {
            double z[2];
            tensor_cast_elements(DT_COMPLEX128, z, w->q->dtype,
                                 (const char *)a + (size_t)(j * w->n + i) * size, 1, 0,
                                 0);
            sum += hypot(z[0], z[1]);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

/* The odd and the even part of the approximant: sums of powers[k] = A^(2k), k up to
 * 4. */
static void small_parts(const ExpmWork *w, const PadeDegree *d, void *const *powers,
                        void *odd, void *even) {
    set_scaled(w, odd, 0, powers[1]);
    set_scaled(w, even, 0, powers[1]);
    add_diagonal(w, odd, d->b[1]);
    add_diagonal(w, even, d->b[0]);
    for (int k = 1; 2 * k < d->m; k++) {
        add_scaled(w, odd, d->b[2 * k + 1], powers[k]);
        add_scaled(w, even, d->b[2 * k], powers[k]);
    }
}

/* Degree 13 from A^2, A^4 and A^6 only: each part is A^6 times one polynomial plus
 * another. */
static void large_parts(const ExpmWork *w, const PadeDegree *d, void *const *powers,
                        void *odd, void *even, void *t) {
    for (int part = 0; part < 2; part++) {
        void *to = part ? even : odd;
        int low = part ? 0 : 1;
        set_scaled(w, t, d->b[12 + low], powers[3]);
        add_scaled(w, t, d->b[10 + low], powers[2]);
        add_scaled(w, t, d->b[8 + low], powers[1]);
        multiply_into(w, powers[3], t, to);
        add_scaled(w, to, d->b[6 + low], powers[3]);
        add_scaled(w, to, d->b[4 + low], powers[2]);
        add_scaled(w, to, d->b[2 + low], powers[1]);
        add_diagonal(w, to, d->b[low]);
    }
}

static const PadeDegree *degree_for(const ExpmWork *w, double norm, int *squarings) {
    bool narrow = w->part == DT_FLOAT32;
    const PadeDegree *d = narrow ? narrow_degrees : wide_degrees;
    size_t n =
        narrow ? sizeof narrow_degrees / sizeof *d : sizeof wide_degrees / sizeof *d;
    *squarings = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (norm <= d[i].norm) return &d[i];
    if (norm > d[n - 1].norm) *squarings = (int)ceil(log2(norm / d[n - 1].norm));
    return &d[n - 1];
}

/* Powers of the scaled matrix, then solve (even - A odd) R = even + A odd, then
 * square. */
static int64_t expm_one(const Item *it) {
    const Gufunc *q = it->q;
    int n = gufunc_dim(q, 'n'), squarings, info = 0, *pivot;
    bool is_complex = dtype_is_complex(q->dtype);
    if (!factor_finite(q->dtype, it->in[0], (int64_t)n * n)) return BAD_VALUE;
    if (n == 0) return 0;
    ExpmWork w = {
        q,        n,       (int64_t)n * n * (is_complex ? 2 : 1), dtype_real(q->dtype),
        it->room, q->fn[2]};
    void *a = it->in[0],
         *power[5] = {NULL, take_matrix(&w), take_matrix(&w), take_matrix(&w),
                      take_matrix(&w)},
         *odd = take_matrix(&w), *even = take_matrix(&w), *t = take_matrix(&w);
    pivot = take_matrix(&w);
    const PadeDegree *d = degree_for(&w, one_norm(&w, a), &squarings);
    set_scaled(&w, t, ldexp(1, -squarings), a);
    set_scaled(&w, a, 1, t);
    multiply_into(&w, a, a, power[1]);
    for (int k = 2; k <= (d->m == 13 ? 3 : d->m / 2); k++)
        multiply_into(&w, power[k - 1], power[1], power[k]);
    if (d->m == 13)
        large_parts(&w, d, power, odd, even, t);
    else
        small_parts(&w, d, power, odd, even);
    multiply_into(&w, a, odd, t);
    set_scaled(&w, power[1], 1, even);
    add_scaled(&w, power[1], -1, t);
    add_scaled(&w, even, 1, t);
    if (factor_lu(q->fn[0], n, power[1], pivot)) return BAD_END;
    ((Getrs *)q->fn[1])("N", &n, &n, power[1], &n, pivot, even, &n, &info, 1);
    for (int k = 0; k < squarings; k++) {
        void *swap = t;
        multiply_into(&w, even, even, t);
        t = even;
        even = swap;
    }
    memcpy(it->out[0], even, (size_t)w.parts * dtype_size(w.part));
    return 0;
}

static bool expm_perform(Call *c) {
    Gufunc q;
    if (!gufunc_open(&q, c, "(n,n)->(n,n)", "r>r") || !lapack_get(&q, 0, "getrf") ||
        !lapack_get(&q, 1, "getrs") || !lapack_get(&q, 2, "gemm"))
        return false;
    size_t square = lapack_round(q.arg[0].bytes), n = (size_t)q.dim['n'];
    return gufunc_run(&q, expm_one, 7 * square + (n + 1) * sizeof(int)) &&
           (!q.bad || factor_fail_iteration(&q));
}

/* ---- derivatives: L(A, E), the upper right block of expm([[A, E], [0, A]]) (Higham,
 * Functions of Matrices, 2008, eq. 3.16), whose adjoint is L(A^H, G). This is an
 * exponential itself, so derivatives of any order follow. ---- */
#define FRECHET                                                                        \
    "top = lambda a, e: concatenate([a, e], axis=-1)\n"                                \
    "low = lambda a: concatenate([zeros_like(a), a], axis=-1)\n"                       \
    "frechet = lambda a, e: expm(concatenate([top(a, e), low(a)], axis=-2))"           \
    "[..., :a.shape[-1], a.shape[-1]:]\n"
static const char *const expm_pullback = FRECHET "g_a = frechet(mH(a), g)";
static const char *const expm_pushforward = FRECHET "t_r = frechet(a, t_a)";

static const Op table[] = {
    {.name = OP_ROW("expm"),
     .doc = "The exponential of a square matrix: the sum of a^k / k!.",
     .in = "a",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = expm_type,
     .perform = expm_perform,
     /* six products and a solve; the number of squarings depends on the values */
     .flops = "prod(a.shape[:-2]) * 44 * a.shape[-1] ** 3 / 3",
     .pullback = expm_pullback,
     .pushforward = expm_pushforward,
     .vmap = core_vmap,
     .example = "expm([[0.0, 1.0], [0.0, 0.0]]) -> [[1.0, 1.0], [0.0, 1.0]]"},
};
const OpList ops_linalg_expm = LIST_OF(table);
