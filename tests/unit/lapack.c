/* Factorisations, solvers and spectra: values worked out with NumPy and SciPy, what
 * they must satisfy in every dtype, layout and batch, sizes of 0, errors, threads. */
#include "harness.h"

/* ---- values ---- */
typedef struct Golden {
    const char *text, *value; /* a value in the language, or the code of an error */
} Golden;
static const Golden golden[] = {
#include "lapack.def"
};

static Var build(Lab *l, const char *text, size_t n, const Bind *bind) {
    Env env = {.n = n, .bind = bind};
    bool ok = true;
    Var v = template_build(&l->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

static void check_golden(Lab *l, const Golden *k) {
    const Tensor *have = lab_run(l, build(l, k->text, 0, NULL));
    if (strncmp(k->value, "E_", 2) == 0) {
        CHECK_STR(lab_text(l, have), k->value);
        CHECK(diag_count(l->s) == 1, "%s: %zu diagnostics", k->text, diag_count(l->s));
        return;
    }
    CHECK(have != NULL, "%s: %s", k->text, lab_text(l, have));
    if (!have) return;
    Tensor a, b;
    tensor_copy_view(&a, have);
    const Tensor *want = lab_run(l, build(l, k->value, 0, NULL));
    CHECK(want != NULL, "%s can't be read", k->value);
    if (want) {
        tensor_cast(l->s, want, a.dtype, &b);
        Approx how = {.rtol = 1e-10, .atol = 1e-11};
        CHECK(tensor_approx(&a, &b, how, NULL), "%s is %s, not %s", k->text,
              lab_text(l, &a), k->value);
        tensor_unref(&b);
    }
    tensor_unref(&a);
}

static void test_golden(void) {
    Lab l = lab_new(1);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        check_golden(&l, &golden[i]);
        lab_reset(&l);
    }
    lab_free(&l);
}

/* ---- identities ---- */
/* A text in a (and b), whose value is 0 up to rounding. The diagonal of a is made
 * large: it is then as good as any to be solved with, and its Hermitian part is
 * positive. */
typedef struct Identity {
    const char *text;
    int a, b; /* dims of the inputs: the first of `shapes`; b 0: there is none */
} Identity;
#define H(x) "conj(swapaxes(" x ", -1, -2))"
static const Identity identities[] = {
    {"cholesky(s) @ " H("cholesky(s)") " - s", 2, 0},
    {H("cholesky(s, lower=False)") " @ cholesky(s, lower=False) - s", 2, 0},
    {"tril(cholesky(s)) - cholesky(s)", 2, 0},
    {"cho_solve(cholesky(s), b) - solve(s, b)", 2, 2},
    {"cho_solve(cholesky(s, upper=True), b, lower=False) - inv(s) @ b", 2, 2},
    {"cho_factor(s) - cholesky(s)", 2, 0},
    {"cho_factor(s, lower=False) - cholesky(s, upper=True)", 2, 0},
    {"s @ cholesky_inverse(cholesky(s)) - eye(s.shape[-1])", 2, 0},
    {"cholesky_inverse(cholesky(s, upper=True), lower=False) - inv(s)", 2, 0},
    {"cholesky_inverse(cholesky(s) + triu(a, k=1)) - inv(s)", 2, 0},
    {"a @ solve(a, b) - b", 2, 2},
    {"s @ solve(s, b, assume_a='pos') - b", 2, 2},
    {"s @ solve(tril(s), b, assume_a='her', lower=True) - b", 2, 2},
    {"t @ solve(triu(t), b, assume_a='sym') - b", 2, 2},
    {"tril(a) @ solve_triangular(a, b, lower=True) - b", 2, 2},
    {"swapaxes(triu(a), -1, -2) @ solve_triangular(a, b, trans=1) - b", 2, 2},
    {H("tril(a)") " @ solve_triangular(a, b, trans=2, lower=True) - b", 2, 2},
    {"inv(a) @ a - eye(4, dtype='int8')", 2, 0},
    {"a @ inv(a) - eye(4, dtype='int8')", 2, 0},
    {"det(a / 16) * det(inv(a / 16)) - 1", 2, 0},
    {"det(a / 16 @ (a / 16)) / det(a / 16) ** 2 - 1", 2, 0},
    {"slogdet(a / 16)[0] * exp(slogdet(a / 16)[1]) / det(a / 16) - 1", 2, 0},
    {"adjugate(a / 16) @ (a / 16) / expand_dims(det(a / 16), (-1, -2)) - "
     "eye(4, dtype='int8')",
     2, 0},
    {"(svd(b)[0] * expand_dims(svd(b)[1], -2)) @ svd(b)[2] - b", 2, 2},
    {"svd(b)[2] @ " H("svd(b)[2]") " - eye(3, dtype='int8')", 2, 2},
    {"svd(b, full_matrices=True)[0] @ " H(
         "svd(b, full_matrices=True)[0]") " - eye(4, dtype='int8')",
     2, 2},
    {"svd(b, full_matrices=True)[2] - svd(b)[2]", 2, 2},
    {"svd(b, compute_uv=False) - svd(b)[1]", 2, 2},
    {"prod(svdvals(a / 16), axis=-1) / abs(det(a / 16)) - 1", 2, 0},
    {"b @ pinv(b) @ b - b", 2, 2},
    {"pinv(b) @ b @ pinv(b) - pinv(b)", 2, 2},
    {"pinv(b) @ b - eye(3, dtype='int8')", 2, 2},
    {"pinv(" H("b") ") - " H("pinv(b)"), 2, 2},
    {"pinv(a) - inv(a)", 2, 0},
    {"qr(b)[0] @ qr(b)[1] - b", 2, 2},
    {H("qr(b)[0]") " @ qr(b)[0] - eye(3, dtype='int8')", 2, 2},
    {"qr(b, mode='complete')[0] @ qr(b, mode='complete')[1] - b", 2, 2},
    {"triu(qr(b, mode='r')) - qr(b)[1]", 2, 2},
    {"qr(" H("b") ")[0] @ qr(" H("b") ")[1] - " H("b"), 2, 2},
    {"s @ eigh(s)[1] - eigh(s)[1] * expand_dims(eigh(s)[0], -2)", 2, 0},
    {H("eigh(s)[1]") " @ eigh(s)[1] - eye(4, dtype='int8')", 2, 0},
    {"eigh(triu(s), lower=False)[0] - eigvalsh(tril(s))", 2, 0},
    {"abs(a @ eig(a)[1] - eig(a)[1] * expand_dims(eig(a)[0], -2))", 2, 0},
    {"abs(sum(eigvals(a), axis=-1) - sum(diagonal(a, axis1=-2, axis2=-1), axis=-1))", 2,
     0},
    {"abs(eig(a)[0] - eigvals(a))", 2, 0},
    {"lu(b)[0] @ lu(b)[1] @ lu(b)[2] - b", 2, 2},
    {"lu(" H("b") ")[0] @ lu(" H("b") ")[1] @ lu(" H("b") ")[2] - " H("b"), 2, 2},
    {"lu_factor(a)[0] - tril(lu(a)[1], k=-1) - lu(a)[2]", 2, 0},
    {"a @ lu_solve(lu_factor(a)[0], lu_factor(a)[1], b) - b", 2, 2},
    {"swapaxes(a, -1, -2) @ lu_solve(lu_factor(a)[0], lu_factor(a)[1], b, trans=1) - b",
     2, 2},
    {H("a") " @ lu_solve(lu_factor(a)[0], lu_factor(a)[1], b, trans=2) - b", 2, 2},
    {"lstsq(a, b)[0] - solve(a, b)", 2, 2},
    {"lstsq(b, a)[0] - pinv(b) @ a", 2, 2},
    {"lstsq(b, a / 16)[1] - sum(abs(a / 16 - b @ (pinv(b) @ (a / 16))) ** 2, axis=-2)",
     2, 2},
    {"lstsq(b, a)[2] - 3", 2, 2},
    {"lstsq(b, a)[3] - svdvals(b)", 2, 2},
    {"expm(a / 16) @ expm(a / -16) - eye(4, dtype='int8')", 2, 0},
    {"det(expm(a / 64)) / exp(sum(diagonal(a, axis1=-2, axis2=-1), axis=-1) / 64) - 1",
     2, 0},
    {"matrix_power(a / 16, 3) - a / 16 @ (a / 16) @ (a / 16)", 2, 0},
    {"norm(a, ord=2, axis=(-2, -1)) - svdvals(a)[..., 0]", 2, 0},
    {"cond(a) / (svdvals(a)[..., 0] / svdvals(a)[..., -1]) - 1", 2, 0},
};

static Tensor operand(Lab *l, DType d, int ndim, const int64_t *shape, int layout,
                      int64_t shift) {
    Tensor t = lab_filled(l, d, ndim, shape, layout);
    for (int64_t i = 0; i < tensor_size(&t); i++) {
        double z[2] = {lab_number(d, i), lab_number(d, i + 1000) / 2};
        int64_t flat = i, row = 0, col = 0;
        char *p = t.data;
        for (int k = ndim - 1; k >= 0; k--) {
            if (k == ndim - 1) col = flat % shape[k];
            if (k == ndim - 2) row = flat % shape[k];
            p += flat % shape[k] * t.stride[k];
            flat /= shape[k];
        }
        if (row == col) z[0] += (double)shift;
        tensor_cast_elements(d, p, DT_COMPLEX128, z, 1, 0, 0);
    }
    return t;
}

static double tolerance(DType d) {
    if (dtype_is_discrete(d)) return 1e-11;
    DType r = dtype_real(d);
    return r == DT_FLOAT16 ? 0.3 : r == DT_FLOAT32 ? 2e-4 : 1e-11;
}

static void check_identity(Lab *l, const Identity *k, DType d, int layout, int batch) {
    static const int64_t many[] = {2, 3, 4, 4, 2, 3, 4, 3};
    const int64_t *sa = many + 2 - batch, *sb = many + 6 - batch;
    bool known = layout != 1;
    int64_t shift = d == DT_BOOL ? 0 : 30;
    Var a = lab_input(l, operand(l, d, 2 + batch, sa, layout, shift), known),
        b = k->b ? lab_input(l, operand(l, d, 2 + batch, sb, layout, 0), known) : a;
    Session *s = l->s;
    Bind bind[4] = {{sym(s, "a"), a}, {sym(s, "b"), b}};
    bind[2] = (Bind){sym(s, "s"), build(l, "a * 0.5 + " H("a") " * 0.5", 2, bind)};
    bind[3] = (Bind){sym(s, "t"), build(l, "a + swapaxes(a, -1, -2)", 2, bind)};
    const Tensor *r = lab_run(l, build(l, k->text, 4, bind));
    CHECK(r != NULL, "%s (%s): %s", k->text, dtype_name(d), lab_text(l, r));
    double worst = 0;
    for (int64_t i = 0; r && i < tensor_size(r); i++) {
        double v = tensor_f64(r, i);
        worst = v != v || v > worst || -v > worst ? v < 0 ? -v : v : worst;
    }
    CHECK(worst <= tolerance(d), "%s (%s, layout %d, %d batch dims) is off by %g",
          k->text, dtype_name(d), layout, batch, worst);
}

static void test_identities(void) {
    Lab l = lab_new(1);
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++)
        for (int d = 1; d < DT_N; d++)
            for (int layout = 0; layout < 3; layout++)
                for (int batch = 0; batch < 3; batch += 2) {
                    check_identity(&l, &identities[i], (DType)d, layout, batch);
                    lab_reset(&l);
                }
    lab_free(&l);
}

/* ---- sizes that only the run tells ---- */
static void check_run_error(const char *text, const char *code, const char *what,
                            const int64_t *sa, const int64_t *sb) {
    Lab l = lab_new(1);
    Bind bind[2];
    const int64_t *shape[2] = {sa, sb};
    for (size_t i = 0; i < 2; i++)
        bind[i] =
            (Bind){sym(l.s, i ? "b" : "a"),
                   lab_input(&l, lab_filled(&l, DT_FLOAT64, 2, shape[i], 0), false)};
    CHECK_STR(lab_text(&l, lab_run(&l, build(&l, text, 2, bind))), code);
    CHECK(diag_count(l.s) == 1 && strstr(diag_get(l.s, 0)->text, what), "%s: %s", text,
          diag_count(l.s) ? diag_get(l.s, 0)->text : "nothing");
    lab_free(&l);
}

static void test_run_errors(void) {
    const int64_t square[] = {3, 3}, wide[] = {2, 3}, two[] = {2, 2};
    check_run_error("inv(b)", "E_RUN_SHAPE", "2 and 3", square, wide);
    check_run_error("solve(a, b)", "E_RUN_SHAPE",
                    "dim -2 of b must be as long as dim -2 of a, but they are 2 and 3",
                    square, wide);
    check_run_error("solve(expand_dims(a, 0), stack([b, b]))", "E_RUN_SHAPE", "",
                    square, two);
    check_run_error("cholesky(stack([eye(2), zeros((2, 2)) + 0 * b]))", "E_SINGULAR",
                    "matrix 1 of the batch, from 0) is not positive definite: its "
                    "leading minor of order 1",
                    square, two);
}

/* ---- threads ---- */
static void test_threads(void) {
    static const char *const texts[] = {"cholesky(a @ conj(swapaxes(a, -1, -2)))",
                                        "solve(a, a + 1)",
                                        "inv(a)",
                                        "det(a)",
                                        "svd(a)[0]",
                                        "pinv(a)",
                                        "adjugate(a)"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int d = DT_FLOAT32; d < DT_N; d++) {
            Lab lab[2] = {lab_new(1), lab_new(3)};
            const Tensor *r[2];
            for (int k = 0; k < 2; k++) {
                int64_t shape[] = {40, 9, 9};
                Var a = lab_input(&lab[k], operand(&lab[k], (DType)d, 3, shape, 0, 20),
                                  true);
                r[k] = lab_run(&lab[k], build(&lab[k], texts[i], 1,
                                              &(Bind){sym(lab[k].s, "a"), a}));
            }
            CHECK(r[0] && r[1] && tensor_identical(r[0], r[1]), "%s (%s)", texts[i],
                  dtype_name((DType)d));
            lab_free(&lab[0]);
            lab_free(&lab[1]);
        }
}

int main(void) {
    test_golden();
    test_identities();
    test_run_errors();
    test_threads();
    return TEST_END("lapack");
}
