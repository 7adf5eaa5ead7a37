/* assert_structure: what the author of a graph knows of a matrix. Rewriting trusts it
 * (rewrite/structure.c); DebugMode checks it, with room for rounding errors. */
#include "op/build.h"
#include "op/infer.h"
#include "ops/shape/linear.h"
#include "vmap/kit.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- kinds ---- */
typedef enum Structure {
#define STRUCTURE(NAME, name, square) NAME,
#include "op/structure.def"
#undef STRUCTURE
    STRUCTURE_N
} Structure;
static const char *const kind_names[] = {
#define STRUCTURE(NAME, name, square) #name,
#include "op/structure.def"
#undef STRUCTURE
};
static const bool kind_is_square[] = {
#define STRUCTURE(NAME, name, square) square,
#include "op/structure.def"
#undef STRUCTURE
};

/* STRUCTURE_N: there is no such kind. */
static Structure structure_of(Session *s, const Op *op, const Props *props) {
    const char *text = sym_text(s, op_prop(s, op, props, "kind")->sym);
    int i = 0;
    while (i < STRUCTURE_N && strcmp(text, kind_names[i]) != 0)
        i++;
    return (Structure)i;
}

static bool fail_kind(Infer *in) {
    const char *text = sym_text(in->s, infer_prop(in, "kind")->sym),
               *near = str_nearest(in->s, text, kind_names, STRUCTURE_N);
    infer_fail(in, E_ARG, in->nin, "there is no structure '%s'%s%s%s", text,
               near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    Str list = STR(in->s);
    for (int i = 0; i < STRUCTURE_N; i++)
        str_printf(&list, "%s%s", i ? ", " : "", kind_names[i]);
    note(in->s, NOWHERE, "the kinds are %s", str_text(&list));
    str_free(&list);
    return false;
}

static bool structure_type(Infer *in) {
    Structure kind = structure_of(in->s, in->op, in->props);
    if (kind == STRUCTURE_N) return fail_kind(in);
    if (!infer_want_rank(in, 0, 2, -1)) return false;
    const Type *x = in->type[0];
    Dim dim[MAX_NDIM], meet;
    int n = x->ndim;
    memcpy(dim, x->dim, (size_t)n * sizeof *dim);
    if (kind_is_square[kind]) {
        if (!infer_want_dims_equal(in, 0, n - 2, 0, n - 1, &meet)) return false;
        dim[n - 2] = dim[n - 1] = meet;
    }
    return infer_out_tensor(in, 0, x->dtype, n, dim);
}

/* ---- running ---- */
static bool check_square(Call *c, Structure kind) {
    const Tensor *x = call_in(c, 0);
    int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
    return !kind_is_square[kind] || rows == cols ||
           call_fail(c, E_RUN_SHAPE,
                     "x is declared to be %s, but its matrices have %lld rows and %lld "
                     "columns",
                     kind_names[kind], (long long)rows, (long long)cols);
}

static bool structure_perform(Call *c) {
    return check_square(c, structure_of(c->s, c->op, c->props)) && call_pass_on(c);
}

static bool structure_fails(const Graph *g, ApplyId id) {
    const Type *x = var_type(g, apply_in(g, id)[0]);
    const Apply *a = &g->apply[id];
    Dim rows = x->dim[x->ndim - 2], cols = x->dim[x->ndim - 1];
    return kind_is_square[structure_of(g->s, a->op, a->props)] &&
           (rows != cols || rows == DIM_UNKNOWN);
}

/* ---- checking ---- */
typedef double _Complex Wide;
typedef struct Claim {
    Call *c;
    Structure kind;
    int64_t rows, cols, at; /* at: of the matrix in the batch */
    Wide *a, *work;         /* row-major; work: as large */
    double tolerance;       /* of rounding errors, relative; 0 for integers */
    double scale;           /* the largest finite element */
} Claim;

static bool claim_fails(Claim *q, int64_t i, int64_t j, const char *why) {
    const Tensor *x = call_in(q->c, 0);
    Str at = STR(q->c->s), value = STR(q->c->s);
    int64_t index[MAX_NDIM], rest = q->at;
    for (int k = x->ndim - 2; k-- > 0; rest /= x->shape[k])
        index[k] = rest % x->shape[k];
    index[x->ndim - 2] = i;
    index[x->ndim - 1] = j;
    const char *p = x->data;
    for (int k = 0; k < x->ndim; k++) {
        str_printf(&at, "%s%lld", k ? ", " : "", (long long)index[k]);
        p += index[k] * x->stride[k];
    }
    tensor_element_text(q->c->s, x->dtype, p, &value);
    call_fail(q->c, E_ASSERT, "x is declared to be %s, but x[%s] is %s: %s",
              kind_names[q->kind], str_text(&at), str_text(&value), why);
    str_free(&at);
    str_free(&value);
    return false;
}

/* Are both the same, but for rounding errors? */
static bool is_near(const Claim *q, Wide a, Wide b) {
    return (creal(a) == creal(b) && cimag(a) == cimag(b)) ||
           cabs(a - b) <= q->tolerance * q->scale;
}

static bool check_zeros(Claim *q, bool below, bool above) {
    for (int64_t i = 0; i < q->rows; i++)
        for (int64_t j = 0; j < q->cols; j++)
            if (((below && j < i) || (above && j > i)) &&
                !is_near(q, q->a[i * q->cols + j], 0))
                return claim_fails(q, i, j, "it must be 0");
    return true;
}

static bool check_mirrored(Claim *q, bool conjugate) {
    for (int64_t i = 0; i < q->rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            Wide a = q->a[i * q->cols + j], b = q->a[j * q->cols + i];
            if (!is_near(q, a, conjugate ? conj(b) : b))
                return claim_fails(q, i, j,
                                   conjugate
                                       ? "it must be the conjugate of its mirror image"
                                       : "it must equal its mirror image");
        }
    return true;
}

/* Products of columns are those of the identity. */
static bool check_columns(Claim *q) {
    q->scale = 1;
    for (int64_t i = 0; i < q->cols; i++)
        for (int64_t j = 0; j <= i; j++) {
            Wide sum = 0;
            for (int64_t k = 0; k < q->rows; k++)
                sum += conj(q->a[k * q->cols + j]) * q->a[k * q->cols + i];
            if (is_near(q, sum, i == j)) continue;
            if (q->rows == 0)
                return call_fail(q->c, E_ASSERT,
                                 "x is declared to be %s, but has columns of no rows",
                                 kind_names[q->kind]);
            return claim_fails(q, 0, i,
                               i == j ? "its column must have length 1"
                                      : "its column must be orthogonal to the others");
        }
    return true;
}

/* Cholesky's factorisation finds no negative pivot. A column whose pivot is 0 must be
 * 0. */
static bool check_definite(Claim *q) {
    bool semi = q->kind == SEMIDEFINITE;
    int64_t n = q->rows;
    Wide *l = q->work;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            Wide s = q->a[i * n + j];
            double pivot = i == j ? 0 : creal(l[j * n + j]);
            for (int64_t k = 0; k < j; k++)
                s -= l[i * n + k] * conj(l[j * n + k]);
            bool zero = semi && fabs(creal(s)) <= q->tolerance * q->scale;
            if (i == j && !zero && !(creal(s) > 0))
                return claim_fails(q, i, j,
                                   semi ? "the matrix is not positive semidefinite"
                                        : "the matrix is not positive definite");
            if (i > j && pivot == 0 && !(cabs(s) <= sqrt(q->tolerance) * 2 * q->scale))
                return claim_fails(q, i, j, "the matrix is not positive semidefinite");
            l[i * n + j] = i == j       ? (zero ? 0 : sqrt(creal(s)))
                           : pivot == 0 ? 0
                                        : s / pivot;
        }
    return true;
}

static bool check_claim(Claim *q) {
    switch (q->kind) {
    case LOWER:
        return check_zeros(q, false, true);
    case UPPER:
        return check_zeros(q, true, false);
    case DIAGONAL:
        return check_zeros(q, true, true);
    case SYMMETRIC:
        return check_mirrored(q, false);
    case HERMITIAN:
        return check_mirrored(q, true);
    case ORTHOGONAL:
    case ORTHONORMAL:
        return check_columns(q);
    case POSDEF:
    case SEMIDEFINITE:
        return check_mirrored(q, true) && check_definite(q);
    case STRUCTURE_N:
        break;
    }
    return false;
}

static void read_matrix(Claim *q) {
    const Tensor *x = call_in(q->c, 0);
    const char *p = x->data;
    int64_t rest = q->at;
    for (int k = x->ndim - 2; k-- > 0; rest /= x->shape[k])
        p += rest % x->shape[k] * x->stride[k];
    q->scale = 0;
    for (int64_t i = 0; i < q->rows; i++)
        tensor_cast_elements(DT_COMPLEX128, q->a + i * q->cols, x->dtype,
                             p + i * x->stride[x->ndim - 2], (size_t)q->cols,
                             sizeof *q->a, x->stride[x->ndim - 1]);
    for (int64_t i = 0; i < q->rows * q->cols; i++)
        if (isfinite(cabs(q->a[i]))) q->scale = fmax(q->scale, cabs(q->a[i]));
}

static double rounding_of(DType d, int64_t n) {
    static const double half = 0x1p-10;
    if (!dtype_is_inexact(d)) return 0;
    DType real = dtype_real(d);
    return 16 * (double)(n + 1) *
           (real == DT_FLOAT64   ? DBL_EPSILON
            : real == DT_FLOAT32 ? (double)FLT_EPSILON
                                 : half);
}

static bool structure_debug(Call *c) {
    const Tensor *x = call_in(c, 0);
    Claim q = {.c = c, .kind = structure_of(c->s, c->op, c->props)};
    if (!check_square(c, q.kind)) return false;
    q.rows = x->shape[x->ndim - 2];
    q.cols = x->shape[x->ndim - 1];
    q.tolerance = rounding_of(x->dtype, q.rows > q.cols ? q.rows : q.cols);
    int64_t count = 1, size = q.rows * q.cols;
    size_t bytes;
    for (int k = 0; k < x->ndim - 2; k++)
        count *= x->shape[k];
    if (!size_mul((size_t)size, 2 * sizeof *q.a, &bytes))
        return call_fail(c, E_LIMIT, "the matrices are too large to check");
    q.a = call_scratch(c, bytes);
    if (!q.a) return false;
    q.work = q.a + size;
    for (q.at = 0; q.at < count; q.at++) {
        read_matrix(&q);
        if (!check_claim(&q)) return false;
    }
    return call_pass_on(c);
}

/* The claim is about the last two dims of every row. */
static bool structure_vmap(Vmap *q) {
    return vmap_apply(q, q->props, q->in);
}

static const char *const through[] = {"g"};
static const Op table[] = {
    {.name = OP_ROW("assert_structure"),
     .doc =
         "x, whose matrices, the last two dims, are declared to be of a kind: 'lower' "
         "or 'upper' triangular, 'diagonal', 'symmetric', 'hermitian', 'orthogonal' "
         "(unitary if complex), 'orthonormal' (in their columns), 'posdef' (Hermitian "
         "positive definite) or 'semidefinite'. Rewriting makes use of that and then "
         "drops it; only DEBUG runs check it, up to rounding.",
     .in = "x",
     .props = "kind: str",
     .type = structure_type,
     .perform = structure_perform,
     .debug = structure_debug,
     .debug_instead = true,
     .fails = structure_fails,
     .flops = "0",
     .adjoint = through,
     .push = push_tangent_through,
     .view = 1,
     .identity = true,
     .fold = FOLD_NEVER,
     .vmap = structure_vmap,
     .example = "assert_structure([[1.0, 0.0], [2.0, 3.0]], kind='lower') -> [[1.0, "
                "0.0], [2.0, 3.0]]"},
};
const OpList ops_linalg_structure = LIST_OF(table);
