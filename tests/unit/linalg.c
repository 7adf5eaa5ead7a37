/* Products over axes against one naive loop over all labels, which knows nothing but
 * the subscripts: matmul, tensordot, einsum, and norms against their definitions. */
#include "harness.h"

#include <complex.h>
#include <math.h>

typedef double complex Z;
enum { OPERANDS = 3, SIZES = 4 };

/* ---- operands ---- */
static Z get(const Tensor *t, const int64_t *index) {
    const char *p = t->data;
    Z z;
    for (int k = 0; k < t->ndim; k++)
        p += (t->shape[k] == 1 ? 0 : index[k]) * t->stride[k];
    tensor_cast_elements(DT_COMPLEX128, &z, t->dtype, p, 1, 0, 0);
    return z;
}

/* Small whole numbers, with an imaginary part where there is room for one. */
static Tensor filled(Lab *l, DType d, int ndim, const int64_t *shape, int layout) {
    Tensor t = lab_filled(l, d, ndim, shape, layout);
    if (!dtype_is_complex(d)) return t;
    for (int64_t i = 0; i < tensor_size(&t); i++) {
        double z[2] = {lab_number(d, i), lab_number(d, i + 1000)};
        int64_t flat = i;
        char *p = t.data;
        for (int k = ndim - 1; k >= 0; k--) {
            p += flat % shape[k] * t.stride[k];
            flat /= shape[k];
        }
        tensor_cast_elements(d, p, DT_COMPLEX128, z, 1, 0, 0);
    }
    return t;
}

/* ---- the reference ---- */
typedef struct Naive {
    int n;
    const char *label[OPERANDS];
    const Tensor *t[OPERANDS];
    const char *out;
    int64_t size[128], at[128];
} Naive;

static Z product_at(const Naive *q) {
    Z z = 1;
    for (int i = 0; i < q->n; i++) {
        int64_t index[MAX_NDIM] = {0};
        for (int k = 0; q->label[i][k]; k++)
            index[k] = q->at[(int)q->label[i][k]];
        z *= get(q->t[i], index);
    }
    return z;
}

/* Sums over the labels from `text` on. */
static Z naive_sum(Naive *q, const char *text) {
    Z z = 0;
    if (!*text) return product_at(q);
    int c = *text;
    for (q->at[c] = 0; q->at[c] < q->size[c]; q->at[c]++)
        z += naive_sum(q, text + 1);
    return z;
}

static void naive_sizes(Naive *q, char summed[64]) {
    int n = 0;
    for (int i = 0; i < q->n; i++)
        for (int k = 0; q->label[i][k]; k++) {
            int c = q->label[i][k];
            int64_t d = q->t[i]->shape[k];
            if (!strchr(q->out, c) && !memchr(summed, c, (size_t)n))
                summed[n++] = (char)c;
            if (q->size[c] == -1 || q->size[c] == 1) q->size[c] = d;
        }
    summed[n] = '\0';
}

/* Whole numbers wrap as the dtype's; inexact ones are exact at these sizes. */
static bool agrees(const Tensor *r, const int64_t *index, Z want) {
    Z have = get(r, index), as = 0;
    char element[16];
    if (dtype_is_discrete(r->dtype) && r->dtype != DT_BOOL) {
        int64_t w = (int64_t)creal(want);
        tensor_cast_elements(r->dtype, element, DT_INT64, &w, 1, 0, 0);
    } else {
        tensor_cast_elements(r->dtype, element, DT_COMPLEX128, &want, 1, 0, 0);
    }
    tensor_cast_elements(DT_COMPLEX128, &as, r->dtype, element, 1, 0, 0);
    return creal(have) == creal(as) && cimag(have) == cimag(as);
}

static void check_naive(Naive *q, const Tensor *r, const char *what) {
    char summed[64];
    int ndim = (int)strlen(q->out), bad = 0;
    for (int c = 0; c < 128; c++)
        q->size[c] = -1;
    naive_sizes(q, summed);
    CHECK(r != NULL, "%s", what);
    if (!r) return;
    CHECK(r->ndim == ndim, "%s: %d dims", what, r->ndim);
    for (int k = 0; k < ndim && k < r->ndim; k++)
        CHECK(r->shape[k] == q->size[(int)q->out[k]], "%s: size %d", what, k);
    for (int64_t i = 0; i < tensor_size(r) && r->ndim == ndim; i++) {
        int64_t rest = i, index[MAX_NDIM] = {0};
        for (int k = ndim - 1; k >= 0; k--) {
            index[k] = q->at[(int)q->out[k]] = rest % r->shape[k];
            rest /= r->shape[k];
        }
        bad += !agrees(r, index, naive_sum(q, summed));
    }
    CHECK(bad == 0, "%s (%s): %d wrong elements", what, dtype_name(r->dtype), bad);
}

/* ---- einsum and matmul ---- */
typedef struct Case {
    const char *op; /* NULL: einsum of the labels */
    const char *label[OPERANDS];
    const char *out;
    int64_t shape[OPERANDS][SIZES];
} Case;

static const Case cases[] = {
    {"matmul", {"i", "i"}, "", {{5}, {5}}},
    {"matmul", {"i", "ij"}, "j", {{5}, {5, 3}}},
    {"matmul", {"ij", "j"}, "i", {{4, 5}, {5}}},
    {"matmul", {"ij", "jk"}, "ik", {{4, 5}, {5, 3}}},
    {"matmul", {"ij", "jk"}, "ik", {{4, 0}, {0, 3}}},
    {"matmul", {"ij", "jk"}, "ik", {{0, 5}, {5, 3}}},
    {"matmul", {"ij", "jk"}, "ik", {{1, 1}, {1, 1}}},
    {"matmul", {"bij", "bjk"}, "bik", {{2, 4, 5}, {2, 5, 3}}},
    {"matmul", {"bij", "bjk"}, "bik", {{7, 3, 3}, {7, 3, 3}}},
    {"matmul", {"bij", "bjk"}, "bik", {{7, 2, 4}, {7, 4, 2}}},
    {"matmul", {"ij", "bjk"}, "bik", {{4, 4}, {7, 4, 4}}},
    {"matmul", {"abij", "bjk"}, "abik", {{3, 2, 16, 1}, {2, 1, 3}}},
    {"matmul", {"abij", "abjk"}, "abik", {{3, 1, 2, 3}, {3, 5, 3, 4}}},
    {"matmul", {"bij", "bjk"}, "bik", {{20001, 2, 2}, {20001, 2, 2}}},
    {"matmul", {"bij", "jk"}, "bik", {{2, 4, 5}, {5, 3}}},
    {"matmul", {"bij", "jk"}, "bik", {{4, 1, 5}, {5, 3}}},
    {"matmul", {"bij", "jk"}, "bik", {{4, 2, 1}, {1, 3}}},
    {"matmul", {"abij", "jk"}, "abik", {{3, 2, 4, 5}, {5, 3}}},
    {"matmul", {"abij", "jk"}, "abik", {{3, 1, 4, 5}, {5, 3}}},
    {"matmul", {"abij", "bjk"}, "abik", {{3, 2, 4, 5}, {1, 5, 3}}},
    {"matmul", {"ij", "bjk"}, "bik", {{4, 5}, {2, 5, 3}}},
    {"matmul", {"abij", "bjk"}, "abik", {{3, 1, 4, 5}, {2, 5, 3}}},
    {"matmul", {"abij", "abjk"}, "abik", {{1, 2, 2, 2}, {3, 1, 2, 2}}},
    {"matmul", {"bij", "j"}, "bi", {{2, 4, 5}, {5}}},
    {"matmul", {"j", "bjk"}, "bk", {{5}, {2, 5, 3}}},
    {"matmul", {"bij", "bjk"}, "bik", {{0, 4, 5}, {0, 5, 3}}},
    {NULL, {"ii"}, "", {{4, 4}}},
    {NULL, {"ii"}, "i", {{4, 4}}},
    {NULL, {"iji"}, "ji", {{3, 2, 3}}},
    {NULL, {"iiij"}, "ij", {{2, 2, 2, 3}}},
    {NULL, {"ij"}, "ji", {{2, 3}}},
    {NULL, {"ijk"}, "", {{2, 3, 4}}},
    {NULL, {"ij", "jk"}, "ki", {{4, 5}, {5, 3}}},
    {NULL, {"ij", "ij"}, "", {{4, 5}, {4, 5}}},
    {NULL, {"ij", "ij"}, "ij", {{4, 5}, {4, 5}}},
    {NULL, {"ij", "ij"}, "i", {{4, 5}, {4, 5}}},
    {NULL, {"ij", "ij"}, "j", {{4, 5}, {4, 5}}},
    {NULL, {"ij", "ji"}, "j", {{4, 5}, {5, 4}}},
    {NULL, {"ij", "ij"}, "i", {{4, 1}, {4, 3}}},
    {NULL, {"ij", "ij"}, "i", {{4, 0}, {4, 0}}},
    {NULL, {"abij", "jaib"}, "ba", {{2, 3, 4, 2}, {2, 2, 4, 3}}},
    {NULL, {"abij", "jaib"}, "iba", {{2, 3, 4, 2}, {2, 2, 4, 3}}},
    {NULL, {"ij", "kj"}, "kij", {{2, 3}, {4, 3}}},
    {NULL, {"i", "j"}, "ji", {{2}, {3}}},
    {NULL, {"ij", "ik"}, "i", {{3, 2}, {3, 4}}},
    {NULL, {"ijk", "jil"}, "kl", {{2, 3, 4}, {3, 2, 2}}},
    {NULL, {"abij", "kbaj"}, "abik", {{2, 3, 2, 2}, {4, 3, 2, 2}}},
    {NULL, {"ij", "jk", "kl"}, "il", {{2, 3}, {3, 4}, {4, 2}}},
    {NULL, {"i", "ij", "j"}, "", {{3}, {3, 4}, {4}}},
    {NULL, {"ii", "ij", "jj"}, "j", {{3, 3}, {3, 4}, {4, 4}}},
    {NULL, {"ij", "jk"}, "ik", {{2, 1}, {3, 2}}},
    {NULL, {"ij", "jk"}, "ik", {{0, 3}, {3, 2}}},
    {NULL, {"ij", "jk"}, "ik", {{2, 0}, {0, 2}}},
    {NULL, {"", "i"}, "i", {{0}, {3}}},
};

static const char *subscripts(const Case *k, int n, char text[64]) {
    *text = '\0';
    for (int i = 0; i < n; i++) {
        strcat(text, i ? "," : "");
        strcat(text, k->label[i]);
    }
    return strcat(strcat(text, "->"), k->out);
}

static void run_case(Lab *l, const Case *k, DType d, int layout, bool known) {
    Naive q = {.out = k->out};
    Var in[OPERANDS];
    char text[64];
    for (; q.n < OPERANDS && k->label[q.n]; q.n++) {
        int ndim = (int)strlen(k->label[q.n]);
        Tensor t = filled(l, d, ndim, k->shape[q.n], layout);
        q.label[q.n] = k->label[q.n];
        in[q.n] = lab_input(l, t, known);
    }
    subscripts(k, q.n, text);
    PropArg arg = {"subscripts", PROP_STR(sym(l->s, text))};
    Var v = lab_apply(l, k->op ? k->op : "einsum", (size_t)q.n, in, !k->op, &arg);
    const Tensor *r = lab_run(l, v);
    for (int i = 0; i < q.n; i++)
        q.t[i] = &l->val[in[i]].t;
    CHECK(v == VAR_NONE || var_type(l->g, v)->dtype == d, "%s keeps the dtype", text);
    check_naive(&q, r, text);
}

static void test_cases(void) {
    Lab l = lab_new(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int d = 0; d < DT_N; d++)
            for (int layout = 0; layout < 3; layout++) {
                run_case(&l, &cases[i], (DType)d, layout, layout != 1);
                lab_reset(&l);
            }
    lab_free(&l);
}

/* ---- texts ---- */
static const char *eval_text(Lab *l, const char *text) {
    Env env = {0};
    bool ok = true;
    Var v = template_build(&l->b, text, &env, &ok);
    return lab_text(l, ok ? lab_run(l, v) : NULL);
}

static void test_texts(void) {
    static const struct {
        const char *text, *value;
    } golden[] = {
        {"einsum('ij,jk', [[1, 2]], [[3], [4]])", "[[11]]"},
        {"einsum('ba', [[1, 2], [3, 4]])", "[[1, 3], [2, 4]]"},
        {"einsum(' i , i ', [1, 2], [3, 4])", "11"},
        {"einsum('...i,...i', [[1, 2], [3, 4]], [1, 2])", "[5, 11]"},
        {"einsum('i...->...', [[1, 2], [3, 4]])", "[4, 6]"},
        {"einsum('...ij,jk->...ik', [[[1, 2]]], [[3], [4]])", "[[[11]]]"},
        {"einsum('...,...', [[1], [2]], [3, 4])", "[[3, 4], [6, 8]]"},
        {"einsum('i,i', [1, 2], [0.5, 1.5])", "3.5"},
        {"einsum('ij,jk->il', [[1]], [[1]])", "E_ARG"},
        {"einsum('ij->ii', [[1]])", "E_ARG"},
        {"einsum('ij,jk', [[1, 2]], [[1]])", "[[3]]"},
        {"einsum('ij,jk', [[1, 2]], [[1], [2], [3]])", "E_SHAPE"},
        {"einsum('ii', [[1, 2]])", "E_SHAPE"},
        {"einsum('i', [[1]])", "E_SHAPE"},
        {"einsum('i,j', [1])", "E_ARITY"},
        {"einsum('i', [1], [2])", "E_ARITY"},
        {"einsum('i1', [[1]])", "E_ARG"},
        {"einsum('i....', [1])", "E_ARG"},
        {"einsum('......', [1])", "E_ARG"},
        {"einsum('...i->i', [[1]])", "E_ARG"},
        {"einsum('i->i,', [1])", "E_ARG"},
        {"einsum('i-', [1])", "E_ARG"},
        {"tensordot([[1, 2], [3, 4]], [[5, 6], [7, 8]])", "70"},
        {"tensordot([[1, 2]], [[3], [4]], axes=1)", "[[11]]"},
        {"tensordot([1, 2], [3, 4], axes=0)", "[[3, 4], [6, 8]]"},
        {"tensordot([[1, 2], [3, 4]], [[5, 6], [7, 8]], axes=([0, 1], [1, 0]))", "69"},
        {"tensordot([[1, 2], [3, 4]], [5, 6], axes=(0, 0))", "[23, 34]"},
        {"tensordot([[1, 2], [3, 4]], [5, 6], axes_a=-1, axes_b=-1)", "[17, 39]"},
        {"tensordot([1], [1], axes=2)", "E_ARG"},
        {"tensordot([1], [1], axes=([1], [0]))", "E_ARG"},
        {"tensordot([[1]], [[1]], axes=([0, 0], [0, 1]))", "E_ARG"},
        {"tensordot([1, 2], [1, 2, 3], axes=1)", "E_SHAPE"},
        {"dot([[1, 2]], [[[3], [4]], [[5], [6]]])", "[[[11], [17]]]"},
        {"inner([[1, 2], [3, 4]], [[5, 6]])", "[[17], [39]]"},
        {"inner(2, [3, 4])", "[6, 8]"},
        {"vecdot([1.0j, 2.0], [1.0j, 1.0])", "(3.0+0.0j)"},
        {"vecdot([[1, 2], [3, 4]], [[5, 6]], axis=-1)", "[17, 39]"},
        {"vecdot([[1, 2], [3, 4]], [[5, 6], [7, 8]], axis=0)", "[26, 44]"},
        {"vecdot([1], 2)", "E_ARG"},
        {"vdot([[1, 2]], [[3], [4]])", "11"},
        {"norm([3, 4])", "5.0"},
        {"norm([[3.0, 0.0], [0.0, 4.0]])", "5.0"},
        {"norm([3.0, -4.0], ord=1)", "7.0"},
        {"norm([3.0, -4.0], ord=inf)", "4.0"},
        {"norm([3.0, -4.0], ord=-inf)", "3.0"},
        {"norm([3.0, 0.0, -4.0], ord=0)", "2.0"},
        {"norm([1.0, 2.0], ord=-1)", "0.6666666666666666"},
        {"norm([3.0j, 4.0])", "5.0"},
        {"norm([[3.0, 4.0], [6.0, 8.0]], axis=1)", "[5.0, 10.0]"},
        {"norm([[3.0, 4.0], [6.0, 8.0]], axis=1, keepdims=True)", "[[5.0], [10.0]]"},
        {"norm([[1.0, -2.0], [3.0, 5.0]], ord=1)", "7.0"},
        {"norm([[1.0, -2.0], [3.0, 5.0]], ord=-1)", "4.0"},
        {"norm([[1.0, -2.0], [3.0, 5.0]], ord=inf)", "8.0"},
        {"norm([[1.0, -2.0], [3.0, 5.0]], ord=-inf)", "3.0"},
        {"norm([[1.0, -2.0], [3.0, 5.0]], ord=1, axis=(1, 0))", "8.0"},
        {"norm([[[3.0, 4.0]]], axis=(0, 2))", "[5.0]"},
        {"norm([[[1.0]]], ord=1)", "E_ARG"},
        {"norm([1.0], axis=1)", "E_ARG"},
        {"norm([[1.0]], axis=(0, 0))", "E_ARG"},
        {"norm(-2.0)", "2.0"},
    };
    Lab l = lab_new(1);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const char *have = eval_text(&l, golden[i].text);
        CHECK(strcmp(have, golden[i].value) == 0, "%s is %s, not %s", golden[i].text,
              have, golden[i].value);
        lab_reset(&l);
    }
    lab_free(&l);
}

static void test_label_is_named(void) {
    Lab l = lab_new(1);
    eval_text(&l, "einsum('ij,jk', [[1, 2]], [[1], [2], [3]])");
    CHECK(diag_count(l.s) == 1 && strstr(diag_get(l.s, 0)->text, "label j") != NULL);
    lab_reset(&l);
    eval_text(&l, "einsum('ij->ik', [[1, 2]])");
    CHECK(diag_count(l.s) == 1 && strstr(diag_get(l.s, 0)->text, "label k") != NULL);
    lab_free(&l);
}

/* Sizes that only the run tells: a diagonal of a matrix that is not square. */
static void test_unknown_sizes(void) {
    Lab l = lab_new(1);
    Var x = lab_input(&l, lab_filled(&l, DT_FLOAT64, 2, (int64_t[]){2, 3}, 0), false);
    PropArg arg = {"subscripts", PROP_STR(sym(l.s, "ii"))};
    Var v = lab_apply(&l, "einsum", 1, &x, 1, &arg);
    CHECK(v != VAR_NONE && !lab_run(&l, v));
    CHECK(diag_count(l.s) == 1 && diag_get(l.s, 0)->code != E_MEM);
    lab_free(&l);
}

/* ---- threads ---- */
/* The product of [m, k] and [k, n] (`stack` of them; 0: one, without the axis), which
 * may lie turned round. */
typedef struct Cut {
    int64_t m, k, n, stack;
    int layout[2];
} Cut;

static const Tensor *product_of(Lab *l, DType d, const Cut *q) {
    Var in[2];
    for (int j = 0; j < 2; j++) {
        int64_t shape[3] = {q->stack, j ? q->k : q->m, j ? q->n : q->k};
        int skip = q->stack == 0;
        Tensor t = lab_tensor(l, d, 3 - skip, shape + skip, q->layout[j]);
        for (int64_t e = 0; e < tensor_size(&t); e++)
            lab_put(&t, e, lab_number(d, e) / (dtype_is_inexact(d) ? 7 : 1));
        in[j] = lab_input(l, t, true);
    }
    return lab_run(l, lab_apply(l, "matmul", 2, in, 0, NULL));
}

/* The same bits on one thread as on others, at sizes that are split and around their
 * edges. */
static void check_cut(DType d, const Cut *q) {
    static const unsigned threads[] = {1, 2, 3};
    Lab lab[3];
    const Tensor *r[3];
    for (int i = 0; i < 3; i++) {
        lab[i] = lab_new(threads[i]);
        r[i] = product_of(&lab[i], d, q);
        CHECK(r[0] && r[i] && tensor_identical(r[0], r[i]),
              "%s, %u threads: %lldx%lldx%lld", dtype_name(d), threads[i],
              (long long)q->m, (long long)q->k, (long long)q->n);
    }
    for (int i = 0; i < 3; i++)
        lab_free(&lab[i]);
}

static void test_threads(void) {
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_COMPLEX64, DT_COMPLEX128};
    static const Cut each[] = {
        {67, 90, 41, 3, {0, 1}},    {5, 6, 7, 400, {0, 0}},
        {145, 331, 129, 0, {0, 0}}, {131, 257, 190, 0, {1, 0}},
        {71, 700, 97, 0, {0, 1}},   {95, 389, 121, 0, {1, 1}},
        {128, 301, 190, 0, {0, 0}}, {40, 77, 2111, 0, {0, 1}},
        {1031, 255, 1, 0, {0, 0}},  {1031, 255, 1, 0, {1, 0}},
    };
    static const Cut once[] = {
        {311, 2049, 17, 0, {0, 0}}, {1, 41, 4500, 0, {0, 0}},  {1, 5000, 33, 0, {0, 0}},
        {1, 140001, 1, 0, {0, 0}},  {1, 9001, 117, 0, {0, 1}},
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t k = 0; k < sizeof each / sizeof *each; k++)
            check_cut(dtypes[i], &each[k]);
    for (size_t k = 0; k < sizeof once / sizeof *once; k++)
        check_cut(DT_FLOAT32, &once[k]);
    check_cut(DT_FLOAT16, each);
    check_cut(DT_INT32, each);
}

/* ---- triangles ---- */
/* Products that are computed by half, in x [m, n] and y [n, k], with the sum that each
 * is. */
static const struct {
    const char *text, *sum;
    bool gram;
} halves[] = {
    {"transpose(x) @ x", "sum(expand_dims(x, 2) * expand_dims(x, 1), axis=0)", true},
    {"x @ transpose(x)", "sum(expand_dims(x, 1) * expand_dims(x, 0), axis=2)", true},
    {"triangular_matmul(tril(y @ y.T), y, lower=True)",
     "sum(expand_dims(tril(y @ y.T), 2) * expand_dims(y, 0), axis=1)", false},
    {"triangular_matmul(triu(y @ y.T), y)",
     "sum(expand_dims(triu(y @ y.T), 2) * expand_dims(y, 0), axis=1)", false},
    {"triangular_matmul(x, tril(y @ y.T), lower=True, right=True)",
     "sum(expand_dims(x, 2) * expand_dims(tril(y @ y.T), 0), axis=1)", false},
    {"triangular_matmul(x, triu(y @ y.T), right=True)",
     "sum(expand_dims(x, 2) * expand_dims(triu(y @ y.T), 0), axis=1)", false},
    {"triangular_matmul(transpose(triu(y @ y.T)), y, lower=True)",
     "sum(expand_dims(transpose(triu(y @ y.T)), 2) * expand_dims(y, 0), axis=1)",
     false}};

static Var random_matrix(Lab *l, DType d, int64_t rows, int64_t cols) {
    int64_t shape[2] = {rows, cols};
    Tensor t = lab_tensor(l, d, 2, shape, 0);
    for (int64_t e = 0; e < tensor_size(&t); e++)
        lab_put(&t, e, lab_number(d, e) / 7);
    return lab_input(l, t, true);
}

static const Tensor *text_of(Lab *l, const char *text, Var x, Var y) {
    Env env = {.n = 2, .bind = (Bind[]){{sym(l->s, "x"), x}, {sym(l->s, "y"), y}}};
    bool ok = true;
    Var v = template_build(&l->b, text, &env, &ok);
    return ok ? lab_run(l, v) : NULL;
}

/* The result, and its transpose or the sum itself, on a number of threads. */
static const Tensor *half_of(Lab *l, unsigned threads, size_t i, bool other, DType d,
                             const int64_t size[3]) {
    *l = lab_new(threads);
    Var x = random_matrix(l, d, size[0], size[1]),
        y = random_matrix(l, d, size[1], size[2]);
    return text_of(l, other ? halves[i].sum : halves[i].text, x, y);
}

static void check_half(size_t i, DType d, const int64_t size[3]) {
    Lab one, two, sum;
    const Tensor *a = half_of(&one, 1, i, false, d, size),
                 *b = half_of(&two, 3, i, false, d, size),
                 *c = half_of(&sum, 1, i, true, d, size);
    Approx how = {.rtol = 1e-4, .atol = dtype_real(d) == DT_FLOAT64 ? 1e-9 : 1e-2};
    const char *text = halves[i].text;
    CHECK(a && b && tensor_identical(a, b), "%s, %s: threads", text, dtype_name(d));
    CHECK(a && c && tensor_approx(a, c, how, NULL), "%s, %s, %lldx%lldx%lld", text,
          dtype_name(d), (long long)size[0], (long long)size[1], (long long)size[2]);
    /* Smaller products are the BLAS's own, whose kernels may sum both halves in other
     * orders. */
    bool mirrored = halves[i].gram && size[0] >= 96 && size[1] >= 64;
    for (int64_t k = 0; a && mirrored && k < tensor_size(a); k++) {
        double z[2], t[2];
        int64_t n = a->shape[0];
        tensor_c128(a, k, z);
        tensor_c128(a, k % n * n + k / n, t);
        CHECK(z[0] == t[0] && z[1] == t[1], "%s isn't symmetric", text);
    }
    lab_free(&one);
    lab_free(&two);
    lab_free(&sum);
}

static void test_triangles(void) {
    static const DType dtypes[] = {DT_FLOAT32,    DT_FLOAT64, DT_COMPLEX64,
                                   DT_COMPLEX128, DT_FLOAT16, DT_INT32};
    static const int64_t sizes[][3] = {
        {33, 96, 32}, {97, 143, 40}, {40, 257, 35}, {5, 95, 31}, {145, 32, 3}};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            check_half(i, DT_FLOAT64, sizes[k]);
            if (k == 0 || k == 3) continue;
            check_half(i, dtypes[(i + k) % 3], sizes[k]);
        }
}

int main(void) {
    test_triangles();
    test_cases();
    test_texts();
    test_label_is_named();
    test_unknown_sizes();
    test_threads();
    return TEST_END("linalg");
}
