/* What rewriting knows of matrices holds: random graphs of what makes, keeps and loses
 * structure, over all kinds of dtypes, sizes 0, 1 and 3, single matrices and stacks,
 * are run, and each fact about each variable is compared with its value. And not for
 * lack of facts: each is found often. */
#include "../unit/test.h"
#include "op/build.h"
#include "rewrite/rewrite_impl.h"
#include "vm/vm.h"

#include <complex.h>
#include <math.h>

enum { GRAPHS = 1500, NODES = 12, VARS = 256, INPUTS = 4, TRIES = 3 };
typedef double _Complex Wide;

static Session *s;
static uint64_t seed = 2463534242u;

static uint32_t below(uint32_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

static double uniform(void) { /* [-1, 1) */
    return (double)below(1u << 20) * 0x1p-19 - 1;
}

/* ---- random graphs ---- */

static const char *const texts[] = {
    "tril(x)",
    "triu(x)",
    "tril(x, k=-1)",
    "triu(x, k=1)",
    "tril(x, k=1)",
    "diag(v)",
    "diag(v, k=1)",
    "diag(abs(v) + 1)",
    "diag(square(v))",
    "eye(x.shape[-1])",
    "eye(x.shape[-1], dtype=int64)",
    "eye(2, 3)",
    "eye(x.shape[-1], k=-1)",
    "zeros_like(x)",
    "x * 0",
    "x.T",
    "swapaxes(x, -1, -2)",
    "conj(swapaxes(x, -1, -2))",
    "conj(x)",
    "x + y",
    "x - y",
    "x * y",
    "x * v",
    "v[:, None] * x",
    "x * 2",
    "x * -1.5",
    "x / 2",
    "x / y",
    "-x",
    "x + 1",
    "x + swapaxes(x, -1, -2)",
    "x + conj(swapaxes(x, -1, -2))",
    "swapaxes(x, -1, -2) @ x",
    "conj(swapaxes(x, -1, -2)) @ x",
    "x @ conj(swapaxes(x, -1, -2))",
    "x @ x",
    "x @ y",
    "x @ y",
    "swapaxes(x, -1, -2) @ y @ x",
    "conj(swapaxes(x, -1, -2)) @ (y @ x)",
    "outer(v, v)",
    "outer(v, conj(v))",
    "conj(v)[:, None] * v",
    "outer(v, v + 1)",
    "cholesky(x @ conj(swapaxes(x, -1, -2)) + eye(x.shape[-1]))",
    "cholesky(x @ conj(swapaxes(x, -1, -2)) + eye(x.shape[-1]), lower=False)",
    "cholesky(x @ conj(swapaxes(x, -1, -2)) * 0, semidefinite=True)",
    "cho_factor(x @ conj(swapaxes(x, -1, -2)) + eye(x.shape[-1]))",
    "cho_factor(x @ conj(swapaxes(x, -1, -2)) + eye(x.shape[-1]), lower=False)",
    "cholesky_inverse(x + 9 * eye(x.shape[-1]))",
    "cholesky_inverse(x + 9 * eye(x.shape[-1]), lower=False)",
    "qr(x)[0]",
    "qr(x)[1]",
    "qr(x, mode='complete')[0]",
    "qr(x, mode='r')",
    "qr(x[..., :1])[0]",
    "svd(x)[0]",
    "svd(x)[2]",
    "svd(x[..., :1, :])[2]",
    "svd(x, full_matrices=True)[0]",
    "eigh(x + conj(swapaxes(x, -1, -2)))[1]",
    "lu(x)[0]",
    "lu(x)[1]",
    "lu(x)[2]",
    "schur(x)[0]",
    "schur(x)[1]",
    "inv(x + 9 * eye(x.shape[-1]))",
    "inv(tril(x) + 9 * eye(x.shape[-1]))",
    "inv(x)",
    "pinv(x)",
    "solve(tril(x) + 9 * eye(x.shape[-1]), y)",
    "solve(x + 9 * eye(x.shape[-1]), v)",
    "solve_triangular(tril(x) + 9 * eye(x.shape[-1]), y, lower=True)",
    "solve_triangular(tril(x) + 9 * eye(x.shape[-1]), y, lower=True, trans=1)",
    "solve_triangular(x + 9 * eye(x.shape[-1]), y)",
    "expm(x / 4)",
    "exp(x / 4)",
    "abs(x)",
    "square(x)",
    "tanh(x)",
    "sin(x)",
    "floor(x)",
    "cos(x)",
    "sqrt(abs(x))",
    "where(x > 0, x, y)",
    "where(v > 0, x, y)",
    "where(v[0] > 0, x, y)",
    "maximum(x, y)",
    "maximum(x, v)",
    "x > y",
    "x >= 0",
    "x[:, None] >= v",
    "arange(3)[:, None] > arange(3)",
    "arange(3) <= arange(3)[:, None] + 1",
    "arange(4)[:, None] < arange(2) + 1",
    "cast(x, 'float32')",
    "cast(x, 'int8')",
    "cast(x, 'bool')",
    "cast(x, 'complex128')",
    "expand_dims(x, 0)",
    "expand_dims(x, -1)",
    "broadcast_to(x, (2, 3, 3))",
    "broadcast_to(v, (3, 3))",
    "x[:1]",
    "transpose(expand_dims(x, 0), axes=[1, 0, 2])",
    "set_subtensor(x[arange(3), arange(3)], v)",
    "set_subtensor(x[arange(3), [1, 2, 0]], v)",
    "inc_subtensor(x[arange(3), arange(3)], 1)",
    "set_subtensor(x[0], 1)",
    "kron(x, y)",
    "real(x)",
    "array([[1., 2.], [2., 5.]])",
    "array([[1., 2.5, 0.], [0., 3., 1.]])",
    "array([[0, 1j], [-1j, 2]])",
    "array([[True, False], [True, True]])",
    "assert_structure(tril(x), kind='lower')",
    "assert_structure(x + swapaxes(x, -1, -2), kind='symmetric')",
    "assert_structure(x + conj(swapaxes(x, -1, -2)), kind='hermitian')",
    "assert_structure(qr(x)[0], kind='orthogonal')",
    ("assert_structure(0.5 * x @ conj(swapaxes(0.5 * x, -1, -2)) + eye(x.shape[-1]), "
     "kind='posdef')"),
};

static Var pick(Builder *b, const Var *v, uint32_t n, int ndim) {
    Var x = v[below(n)];
    for (int i = 0; i < 20 && (ndim == 1) != (var_type(b->g, x)->ndim == 1); i++)
        x = v[below(n)];
    return x;
}

static Var random_node(Builder *b, const Var *v, uint32_t n) {
    bool ok = true;
    Bind bind[] = {{sym(s, "x"), pick(b, v, n, 2)},
                   {sym(s, "y"), pick(b, v, n, 2)},
                   {sym(s, "v"), pick(b, v, n, 1)}};
    const char *text = texts[below(sizeof texts / sizeof *texts)];
    Var x = template_build(b, text, &(Env){.n = 3, .bind = bind}, &ok);
    const Type *t = x == VAR_NONE || !ok ? NULL : var_type(b->g, x);
    return t && t->kind == TYPE_TENSOR && t->ndim <= 4 ? x : VAR_NONE;
}

/* Two kinds of matrix, a stack and a vector of one dtype and size. */
static void add_inputs(Graph *g, Var *v, int64_t *size) {
    static const DType dtypes[] = {DT_FLOAT64, DT_COMPLEX128, DT_FLOAT32,
                                   DT_INT64,   DT_INT8,       DT_BOOL};
    uint32_t of = below(12);
    DType d = dtypes[of < 4 ? 0 : of < 7 ? 1 : of - 6];
    *size = below(8) ? 3 : below(2);
    Dim n = below(3) ? *size : DIM_NAMED(sym(s, "n")),
        dim[INPUTS][3] = {{n, n}, {n, n}, {2, n, n}, {n}};
    static const int ndim[INPUTS] = {2, 2, 3, 1};
    for (uint32_t i = 0; i < INPUTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "x%u", i);
        v[i] = graph_input(g, sym(s, name), type_tensor(s, d, ndim[i], dim[i]));
    }
}

static Graph *random_graph(int64_t *size) {
    Graph *g = graph_new(s);
    Builder b = builder(g, below(2));
    Var v[INPUTS + NODES];
    uint32_t n = INPUTS;
    add_inputs(g, v, size);
    for (int i = 0; i < NODES; i++) {
        size_t mark = diag_count(s);
        Var x = random_node(&b, v, n);
        if (x == VAR_NONE)
            diag_rewind(s, mark);
        else
            v[n++] = x;
    }
    for (Var x = 0; x < g->nvar; x++) {
        const Type *t = var_type(g, x);
        char name[16];
        if (t->kind != TYPE_TENSOR || t->ndim < 2) continue;
        snprintf(name, sizeof name, "y%u", x);
        vec_push(s, &g->outputs, ((Output){sym(s, name), x}));
    }
    graph_outputs_changed(g);
    return g;
}

/* ---- values ---- */

static void fill(Tensor *t) {
    for (int64_t i = 0; i < tensor_size(t); i++) {
        double z[2] = {uniform() * 3, uniform() * 3};
        bool whole = dtype_is_discrete(t->dtype);
        if (whole) z[0] = t->dtype == DT_BOOL ? below(2) : (double)below(5) - 2;
        tensor_cast_elements(
            t->dtype, (char *)t->data + (size_t)i * dtype_size(t->dtype),
            whole ? DT_FLOAT64 : DT_COMPLEX128, z, 1, 8, (ptrdiff_t)sizeof z);
    }
}

static bool set_inputs(const Graph *g, Machine *m, int64_t size) {
    bool ok = true;
    for (size_t i = 0; ok && i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        int64_t shape[3];
        Value v = {.kind = TYPE_TENSOR};
        for (int k = 0; k < t->ndim; k++)
            shape[k] = dim_is_known(t->dim[k]) ? t->dim[k] : size;
        if (!tensor_new(s, t->dtype, t->ndim, shape, &v.t)) return false;
        fill(&v.t);
        ok = vm_set_input(m, i, &v);
        value_unref(&v);
    }
    return ok;
}

/* ---- facts and values ---- */

static const char *const fact_names[] = {
    "lower",        "upper",   "zero", "square", "symmetric",
    "hermitian",    "columns", "rows", "unit",   "positive diagonal",
    "semidefinite", "posdef"};
enum { NFACTS = sizeof fact_names / sizeof *fact_names };
static unsigned found[NFACTS];

typedef struct Matrix {
    int64_t m, n;
    Wide *a;
    double tolerance;
} Matrix;

static Wide at(const Matrix *q, int64_t i, int64_t j) {
    return q->a[i * q->n + j];
}

static bool near(const Matrix *q, Wide a, Wide b) {
    return cabs(a - b) <= q->tolerance;
}

static bool zeros(const Matrix *q, bool below_too, bool diagonal, bool above) {
    bool ok = true;
    for (int64_t i = 0; i < q->m; i++)
        for (int64_t j = 0; j < q->n; j++)
            if (i > j ? below_too : i == j ? diagonal : above)
                ok &= near(q, at(q, i, j), 0);
    return ok;
}

static bool mirrored(const Matrix *q, bool conjugate) {
    bool ok = q->m == q->n;
    for (int64_t i = 0; ok && i < q->m; i++)
        for (int64_t j = 0; j <= i; j++)
            ok &= near(q, at(q, i, j), conjugate ? conj(at(q, j, i)) : at(q, j, i));
    return ok;
}

static bool orthonormal(const Matrix *q, bool rows) {
    int64_t n = rows ? q->m : q->n, m = rows ? q->n : q->m;
    bool ok = true;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            Wide sum = 0;
            for (int64_t k = 0; k < m; k++)
                sum += rows ? at(q, i, k) * conj(at(q, j, k))
                            : conj(at(q, k, i)) * at(q, k, j);
            ok &= near(q, sum, i == j);
        }
    return ok;
}

static bool on_diagonal(const Matrix *q, bool unit) {
    bool ok = true;
    for (int64_t i = 0; i < q->m && i < q->n; i++)
        ok &= unit ? near(q, at(q, i, i), 1)
                   : creal(at(q, i, i)) > 0 && near(q, cimag(at(q, i, i)), 0);
    return ok;
}

/* x^H a x for some x. */
static bool definite(const Matrix *q) {
    bool ok = mirrored(q, true);
    for (int trial = 0; ok && trial < 20; trial++) {
        Wide x[16], sum = 0;
        for (int64_t i = 0; i < q->n; i++)
            x[i] = uniform() + uniform() * (Wide)I;
        for (int64_t i = 0; i < q->n; i++)
            for (int64_t j = 0; j < q->n; j++)
                sum += conj(x[i]) * at(q, i, j) * x[j];
        ok = creal(sum) >= -(double)(q->n * q->n) * q->tolerance;
    }
    return ok;
}

static bool fact_holds(const Matrix *q, int fact) {
    switch (1 << fact) {
    case FACT_LOWER:
        return zeros(q, false, false, true);
    case FACT_UPPER:
        return zeros(q, true, false, false);
    case FACT_ZERO:
        return zeros(q, true, true, true);
    case FACT_SQUARE:
        return q->m == q->n;
    case FACT_SYMMETRIC:
        return mirrored(q, false);
    case FACT_HERMITIAN:
        return mirrored(q, true);
    case FACT_COLUMNS:
        return orthonormal(q, false);
    case FACT_ROWS:
        return orthonormal(q, true);
    case FACT_UNIT:
        return on_diagonal(q, true);
    case FACT_POSITIVE:
        return on_diagonal(q, false);
    case FACT_SEMIDEFINITE:
    case FACT_POSDEF:
        return definite(q);
    default:
        return false;
    }
}

static bool tame(const Tensor *t) {
    for (int64_t i = 0; i < tensor_size(t); i++) {
        double z[2];
        tensor_c128(t, i, z);
        if (!(fabs(z[0]) < 200 && fabs(z[1]) < 200)) return false;
    }
    return true;
}

static void check_matrix(const Graph *g, Var v, Facts facts, const Matrix *q) {
    ApplyId id = var_owner(g, v);
    for (int k = 0; k < NFACTS; k++) {
        if (!(facts >> k & 1)) continue;
        bool ok = fact_holds(q, k);
        CHECK(ok, "%s of %s: %s, %lldx%lld, [0, 0] = %g", fact_names[k],
              id == APPLY_NONE ? "a leaf" : g->apply[id].op->name,
              type_str(s, var_type(g, v)), (long long)q->m, (long long)q->n,
              q->m && q->n ? creal(q->a[0]) : 0);
        found[k]++;
    }
}

static bool has_low_precision(const Graph *g) {
    bool low = false;
    for (Var v = 0; v < g->nvar; v++) {
        const Type *t = var_type(g, v);
        low |= t->kind == TYPE_TENSOR && dtype_real(t->dtype) == DT_FLOAT32;
    }
    return low;
}

static void check_value(const Graph *g, Var v, Facts facts, const Tensor *t) {
    Wide a[256];
    Matrix q = {t->shape[t->ndim - 2], t->shape[t->ndim - 1], a,
                has_low_precision(g) ? 0.05 : 1e-7};
    int64_t size = q.m * q.n, count = size ? tensor_size(t) / size : 1;
    if (size > 256 || q.n > 16) return;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < size; i++) {
            double z[2];
            tensor_c128(t, k * size + i, z);
            a[i] = z[0] + z[1] * (Wide)I;
        }
        check_matrix(g, v, facts, &q);
    }
}

/* Values that rounding errors could have blown up tell nothing. */
static void check_values(Graph *g, const Machine *m, const Facts *facts) {
    Tensor t[VARS];
    bool ok = true;
    size_t n = 0;
    for (; ok && n < g->outputs.n; n++)
        ok = tensor_clone(s, &vm_output(m, n)->t, &t[n]) && tame(&t[n]);
    for (size_t k = 0; ok && k < n; k++)
        check_value(g, g->outputs.p[k].var, facts[k], &t[k]);
    while (n-- > 0)
        tensor_unref(&t[n]);
}

static void find_facts(Graph *g, Facts *facts) {
    Rewriter r;
    uint32_t number = 0;
    RewriteOptions o = {0};
    rewriter_open(&r, g, NULL, &o, &number, FOR_SWEEPS);
    for (size_t k = g->outputs.n; k-- > 0;) {
        facts[k] = 0;
        for (int i = 0; i < NFACTS; i++)
            if (rewriter_has_facts(&r, g->outputs.p[k].var, (Facts)(1 << i)))
                facts[k] |= (Facts)(1 << i);
    }
    rewriter_close(&r);
}

/* Returns whether it ran: an inverse of a singular matrix ends a run. */
static bool test_graph(void) {
    int64_t size;
    Facts facts[VARS];
    Graph *g = random_graph(&size);
    bool ran = false;
    if (g->outputs.n <= VARS) {
        find_facts(g, facts);
        Plan *p = plan_new(g, &(PlanOptions){.threads = 1});
        CHECK(p != NULL, "%s", diag_count(s) ? diag_get(s, 0)->text : "");
        Machine *m = p ? vm_new(p) : NULL;
        for (int i = 0; m && i < TRIES; i++)
            if (set_inputs(g, m, size) && vm_run(m)) {
                check_values(g, m, facts);
                ran = true;
            }
        vm_free(m);
        plan_free(p);
    }
    graph_free(g);
    diag_clear(s);
    return ran;
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    unsigned ran = 0;
    for (unsigned i = 0; i < GRAPHS; i++)
        ran += test_graph();
    CHECK(ran > GRAPHS / 3, "only %u graphs ran", ran);
    for (int k = 0; k < NFACTS; k++)
        CHECK(found[k] > 20, "%s: found %u times", fact_names[k], found[k]);
    session_free(s);
    return TEST_END("structure");
}
