/* cholesky and cho_solve. Only one triangle of the matrix is read, and gradients stand
 * in that triangle. */
#include "ops/linalg/factor.h"
#include "ops/linalg/rule.h"
#include "ops/shape/linear.h"

#include <complex.h>
#include <string.h>

/* ---- cholesky ---- */
/* NumPy's upper=True is SciPy's lower=False: the Apply has the latter. */
static bool cholesky_type(Infer *in) {
    if (in_prop(in, "upper")->i) {
        infer_settle(in, "lower", PROP_BOOL(false));
        infer_settle(in, "upper", PROP_BOOL(false));
    }
    return core_type(in, "(n,n)->(n,n)", NULL);
}

/* Row-major, the triangle that LAPACK calls upper is the lower one. */
static int64_t cholesky_one(const Item *it) {
    const Batch *q = it->q;
    int64_t n = batch_dim(q, 'n');
    size_t size = dtype_size(q->dtype);
    char *a = it->out[0];
    int64_t bad = factor_cholesky(q, q->fn[0], q->option[0], (int)n, a);
    for (int64_t i = 0; i < n; i++) /* the other triangle */
        if (q->option[0])
            memset(a + (size_t)(i * n + i + 1) * size, 0, (size_t)(n - i - 1) * size);
        else
            memset(a + (size_t)(i * n) * size, 0, (size_t)i * size);
    return bad;
}

static bool cholesky_perform(Call *c) {
    Batch q;
    if (!batch_open(&q, c, "(n,n)->(n,n)", "->0") || !lapack_get(&q, 0, "potrf"))
        return false;
    q.option[0] = prop_bool(c->s, c->op, c->props, "lower");
    if (!batch_run(&q, cholesky_one, 0)) return false;
    return !q.bad || fail_not_positive(&q);
}

/* Column by column, from the definition. */
static int64_t cholesky_slow(const Item *it) {
    const Batch *q = it->q;
    int n = batch_dim(q, 'n');
    Wide *a = (Wide *)(void *)it->room, *l = a + (size_t)n * (size_t)n;
    bool lower = q->option[0];
    wide_read(q, 0, it->in[0], a);
    memset(l, 0, (size_t)n * (size_t)n * sizeof *l);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            Wide s = lower ? a[i * n + j] : conj(a[j * n + i]);
            if (i == j) s = creal(s);
            for (int k = 0; k < j; k++)
                s -= l[i * n + k] * conj(l[j * n + k]);
            l[i * n + j] = i == j ? csqrt(s) : s / l[j * n + j];
            if (i == j && !(creal(s) > 0)) return j + 1;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = lower ? l[i * n + j] : conj(l[j * n + i]);
    wide_write(q, 1, a, it->out[0]);
    return 0;
}

static bool cholesky_debug(Call *c) {
    Batch q;
    if (!batch_open(&q, c, "(n,n)->(n,n)", "r>r")) return false;
    q.option[0] = prop_bool(c->s, c->op, c->props, "lower");
    if (!batch_run(&q, cholesky_slow, 2 * sizeof(Wide) * q.arg[0].bytes)) return false;
    return !q.bad || fail_not_positive(&q);
}

/* Murray 2016, eq. 10: with P = Phi(L^H gL) the gradient is L^-H (P + P^H) L^-1, of
 * which the triangle that was read has its share. */
static bool cholesky_pull(Pull *p) {
    Rule r = rule_pull(p);
    bool lower = prop_bool(p->b->s, p->op, p->props, "lower");
    if (!lower) {
        rule_hermitian(&r, "r", "r");
        rule_hermitian(&r, "g", "g");
    }
    rule_hermitian(&r, "rh", "r");
    rule_let(&r, "x", "rh @ g");
    rule_mirror(&r, "s", "x", HALF_LOWER, true);
    rule_let(&r, "z", "solve_triangular(r, s, trans=2, lower=True)");
    rule_hermitian(&r, "zh", "z");
    rule_let(&r, "w", "solve_triangular(r, zh, trans=2, lower=True)");
    rule_half(&r, "ga", "w", HALF_LOWER);
    if (!lower) rule_hermitian(&r, "ga", "ga");
    return rule_grad(&r, p, 0, "ga");
}

/* dL = L Phi(L^-1 dA L^-H) */
static bool cholesky_push(Push *p) {
    if (p->tangent[0] == VAR_NONE) return rule_no_tangent(p);
    Rule r = rule_push(p);
    bool lower = prop_bool(p->b->s, p->op, p->props, "lower");
    if (!lower) {
        rule_hermitian(&r, "r", "r");
        rule_hermitian(&r, "d_a", "d_a");
    }
    rule_mirror(&r, "s", "d_a", HALF_LOWER, true);
    rule_let(&r, "z", "solve_triangular(r, s, lower=True)");
    rule_hermitian(&r, "zh", "z");
    rule_let(&r, "w", "solve_triangular(r, zh, lower=True)");
    rule_half(&r, "x", "w", HALF_LOWER);
    rule_let(&r, "d_r", "r @ x");
    if (!lower) rule_hermitian(&r, "d_r", "d_r");
    return rule_result(&r, p, 0, "d_r");
}

/* ---- cho_solve: from a factor ---- */
static bool vector_of(Builder *b, Var v) {
    return var_type(b->g, v)->ndim == 1;
}

/* As two triangular solves, whose derivatives are those of the whole. */
static bool cho_solve_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                             const Var *in, Var *out) {
    (void)nin;
    Rule r = {.b = b, .op = op, .props = props, .ok = true};
    bool lower = prop_bool(b->s, op, props, "lower"), vector = vector_of(b, in[1]);
    rule_bind(&r, "c", in[0]);
    rule_bind(&r, "b", in[1]);
    if (vector) rule_column(&r, "b");
    rule_let(&r, "y",
             lower ? "solve_triangular(c, b, lower=True)"
                   : "solve_triangular(c, b, trans=2, lower=False)");
    rule_let(&r, "x",
             lower ? "solve_triangular(c, y, trans=2, lower=True)"
                   : "solve_triangular(c, y, lower=False)");
    if (vector) rule_uncolumn(&r, "x");
    return (*out = rule_get(&r, "x")) != VAR_NONE;
}

static const Op table[] = {
    {.name = "cholesky",
     .doc =
         "The lower triangular l with a = l @ l^H of a Hermitian positive definite "
         "matrix, with lower=False (or upper=True) the upper triangular one with a "
         "= r^H @ r. Only that triangle of a is read, and its gradient stands there.",
     .in = "a",
     .props = "lower: bool = True, upper: bool = False",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .type = cholesky_type,
     .perform = cholesky_perform,
     .debug = cholesky_debug,
     /* flops here and below: LAPACK Working Note 41, appendix C */
     .flops = "prod(a.shape[:-2]) * (a.shape[-1] ** 3 / 3 + a.shape[-1] ** 2 / 2 + "
              "a.shape[-1] / 6)",
     .pull = cholesky_pull,
     .push = cholesky_push,
     .example = "cholesky([[4.0, 2.0], [2.0, 5.0]]) -> [[2.0, 0.0], [1.0, 2.0]]",
     .file = __FILE__,
     .line = __LINE__},
    {.name = "cho_solve",
     .doc = "Solves a @ x = b with c, the Cholesky factor of a.",
     .in = "c, b",
     .props = "lower: bool = True",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX,
     .expand = cho_solve_expand,
     .example = "cho_solve([[2.0, 0.0], [1.0, 2.0]], [8.0, 12.0]) -> [1.0, 2.0]",
     .file = __FILE__,
     .line = __LINE__},
};
const OpList ops_linalg_cholesky = {table, sizeof table / sizeof *table};
