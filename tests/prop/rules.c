/* Every rule of the house is a test: both of its sides are built over variables of all
 * dtypes that it is typed for, run, and compared at random points and at the edges: 0,
 * -0, inf, nan, denormals, huge numbers, the ends of integers.
 *   plain rules       the same nan, inf and value up to rounding, everywhere
 *   @stabilize        the same up to absolute rounding; the right side may be finite
 * where the left one overflows, never the other way round
 *   @fast, @reassociate, @algebra   at ordinary points
 * Complex numbers are compared at finite points: products of infinities have no agreed
 * parts. */
#include "../unit/test.h"
#include "op/build.h"
#include "rewrite/rewrite.h"
#include "vm/vm.h"

#include <math.h>
#include <stdlib.h>

enum { HOLES = 6, ORDINARY = 24, TRIALS = 24, SIDE = 3 };

static Session *s;
static uint64_t seed = 88172645463325252u;

static double uniform(void) { /* xorshift; [0, 1) */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

typedef struct RuleCase {
    const RewriteEntry *e;
    const Rule *rule;
    size_t nhole;
    bool stable, ordinary; /* how it is compared */
    bool whole;            /* reductions, products: small arrays, many times */
    bool matrix, vector, stack;
    bool complex; /* it is about complex numbers */
    bool regular; /* square matrices with a large diagonal, as inverses need them */
    unsigned instances;
} RuleCase;

/* What stands for each hole: a variable, a variable of bools, a constant, or one dim of
 * rules that ask for it. */
typedef enum Stand { VARIABLE, TRUTH, CONSTANT, VECTOR, STAND_N } Stand;

/* ---- points ---- */

static const double edges[] = {
    0.0,      -0.0,      1,           -1,      0.5,      -0.5, 2,     -2,
    HUGE_VAL, -HUGE_VAL, (double)NAN, 1e-20,   -1e-20,   1e20, -1e20, 710,
    -745,     5e-324,    -5e-324,     1.7e308, -1.7e308, 0.3,  1.5,   -3.25};
static const double few_edges[] = {0.0,       -0.0,        1,     -1,   HUGE_VAL,
                                   -HUGE_VAL, (double)NAN, 1e-20, -3.5, 1.7e308};
static const double tame[] = {2, 3, 0.5, 1.5}, whole_numbers[] = {2, 3, 1, 5};
static const double constants[] = {2, 3, -1, 0.5, 0.25, 1, 0.0, -4, 1e300, 1e-300};
enum {
    NEDGE = sizeof edges / sizeof *edges,
    NFEW = sizeof few_edges / sizeof *few_edges,
    NTAME = sizeof tame / sizeof *tame,
    NCONST = sizeof constants / sizeof *constants
};

static double edge_of(DType d, double v) {
    if (d == DT_FLOAT32 && v == 1.7e308) return 3.4e38;
    if (d == DT_FLOAT32 && v == -1.7e308) return -3.4e38;
    if (d == DT_FLOAT32 && fabs(v) == 5e-324) return copysign(1.5e-45, v);
    if (d == DT_FLOAT32 && v == 710) return 89;
    if (d == DT_FLOAT32 && v == -745) return -104;
    return v;
}

/* Point number i of a dtype as bits for tensor_cast_elements: floats by value, integers
 * by their own edges. */
static void set_point(Tensor *t, int64_t i, size_t pick, bool few, bool ordinary) {
    DKind k = dtype_kind(t->dtype);
    size_t size = dtype_size(t->dtype);
    char *to = (char *)t->data + (size_t)i * size;
    int64_t low;
    uint64_t high;
    if (k == K_FLOAT) {
        double v = ordinary ? 0.1 + 1.9 * uniform()
                   : few    ? few_edges[pick % NFEW]
                            : edges[pick % NEDGE];
        v = edge_of(t->dtype, v);
        tensor_cast_elements(t->dtype, to, DT_FLOAT64, &v, 1, (ptrdiff_t)size, 8);
    } else if (k == K_COMPLEX) {
        double z[2] = {4 * uniform() - 2, 4 * uniform() - 2};
        tensor_cast_elements(t->dtype, to, DT_COMPLEX128, z, 1, (ptrdiff_t)size, 16);
    } else if (k == K_BOOL) {
        *to = (char)(ordinary || pick % 2);
    } else {
        dtype_int_range(t->dtype, &low, &high);
        int64_t list[] = {0, 1,   2, low, low + 1, (int64_t)high, (int64_t)high - 1,
                          5, 100, -1};
        int64_t v = list[pick % 10];
        if (ordinary) v = 1 + (int64_t)(4 * uniform());
        if (k == K_UINT && v < 0) v = 7;
        tensor_cast_elements(t->dtype, to, DT_INT64, &v, 1, (ptrdiff_t)size, 8);
    }
}

/* Hole h of `vars` takes its digit of the point's number, so that all pairs meet. */
static void fill_hole(const RuleCase *c, Tensor *t, size_t h, size_t vars) {
    bool few = vars > 2;
    size_t base = few ? NFEW : NEDGE, step = 1;
    for (size_t k = 0; k < h; k++)
        step *= base;
    for (int64_t i = 0; i < tensor_size(t); i++) {
        size_t pick = c->whole ? (size_t)(uniform() * NEDGE) : (size_t)i / step;
        set_point(t, i, pick % base, few, c->ordinary);
    }
}

static void raise_diagonal(Tensor *t) {
    for (int64_t i = 0; i < SIDE; i++) {
        char *p = (char *)t->data + i * (t->stride[0] + t->stride[1]);
        double z[2];
        tensor_cast_elements(DT_COMPLEX128, z, t->dtype, p, 1, 0, 0);
        z[0] += 9;
        tensor_cast_elements(t->dtype, p, DT_COMPLEX128, z, 1, 0, 0);
    }
}

static int64_t count_points(const RuleCase *c, size_t vars) {
    int64_t n = 1;
    if (c->whole) return SIDE;
    if (c->ordinary) return ORDINARY;
    for (size_t k = 0; k < vars; k++)
        n *= vars > 2 ? NFEW : NEDGE;
    return n;
}

/* ---- comparing ---- */

static double tolerance(DType d) {
    return dtype_real(d) == DT_FLOAT32 ? 2e-5 : 1e-12;
}

static bool agree(const RuleCase *c, DType d, double a, double b) {
    double tol = tolerance(d), large = dtype_real(d) == DT_FLOAT32 ? 80 : 700;
    if (c->ordinary && isnan(a) && isnan(b)) return true;
    if (c->ordinary) return fabs(a - b) <= 10 * tol * fmax(1, fmax(fabs(a), fabs(b)));
    if (!c->stable) {
        if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
        if (isinf(a) || isinf(b)) return a == b;
        double tiny = dtype_real(d) == DT_FLOAT32 ? 1e-37 : 1e-307;
        return fabs(a - b) <= tol * fmax(fabs(a), fabs(b)) + tiny;
    }
    /* log(1 - exp(x)) of the smallest x above 0 is nan; the left side rounds to log(0)
     */
    if (isnan(b)) return isnan(a) || (isinf(a) && strstr(c->e->text, "log1mexp"));
    if (isinf(b)) return isnan(a) || a == b;
    if (isnan(a)) return true;
    /* exp overflows just before its counterpart in a product vanishes */
    if (isinf(a) && strstr(c->e->text, "* sigmoid(")) return true;
    if (isinf(a)) return fabs(b) > 10; /* overflow, or the logarithm of what vanished */
    if (fabs(b) > large) tol = 1e-3;   /* the logarithm of a denormal */
    /* a denormal that was scaled up keeps its few digits */
    if (strstr(c->e->text, "log(c * exp(x))")) tol = 0.1;
    return fabs(a - b) <= 10 * tol * fmax(1, fmax(fabs(a), fabs(b)));
}

static void say(const RuleCase *c, const Tensor *in, size_t n, int64_t at, DType d,
                double a, double b) {
    Str points = STR(s);
    for (size_t k = 0; k < n; k++) {
        str_puts(&points, k ? ", " : "");
        if (tensor_size(&in[k]) > at && !c->whole)
            tensor_element_text(
                s, in[k].dtype,
                (char *)in[k].data + (size_t)at * dtype_size(in[k].dtype), &points);
        else
            tensor_text(s, &in[k], -1, &points);
    }
    CHECK(false, "rule %s: %s: at (%s), %s: left %.17g, right %.17g", c->e->name,
          c->e->text, str_text(&points), dtype_name(d), a, b);
    str_free(&points);
}

static bool any_nan(const Tensor *t) {
    for (int64_t i = 0; i < tensor_size(t); i++)
        if (isnan(tensor_f64(t, i))) return true;
    return false;
}

/* Row-major tensors. */
static bool compare(const RuleCase *c, const Tensor *in, size_t n, const Tensor *l,
                    const Tensor *r) {
    bool same = l->dtype == r->dtype && tensor_same_shape(l, r);
    CHECK(same, "rule %s: sides have different types", c->e->name);
    if (!same) return false;
    if (c->stable && c->whole && any_nan(l)) return true; /* inf / inf is in it */
    for (int64_t i = 0; i < tensor_size(l); i++) {
        double z[4];
        ptrdiff_t size = (ptrdiff_t)dtype_size(l->dtype);
        tensor_cast_elements(DT_COMPLEX128, z, l->dtype, (char *)l->data + i * size, 1,
                             16, size);
        tensor_cast_elements(DT_COMPLEX128, z + 2, r->dtype, (char *)r->data + i * size,
                             1, 16, size);
        bool exact = dtype_is_discrete(l->dtype);
        bool ok =
            exact ? tensor_i64(l, i) == tensor_i64(r, i)
                  : agree(c, l->dtype, z[0], z[2]) && agree(c, l->dtype, z[1], z[3]);
        if (!ok) return say(c, in, n, i, l->dtype, z[0], z[2]), false;
    }
    return true;
}

/* ---- matrices of which something is known ---- */

/* What stands for a name of which guards ask these, from any matrix. */
static const struct {
    const char *guard, *also, *text;
} structured[] = {
    {"positive_diagonal", "lower", "cholesky(x @ transpose(x))"},
    {"positive_diagonal", "upper", "cholesky(x @ transpose(x), lower=False)"},
    {"positive_diagonal", "triangular", "cholesky(x @ transpose(x))"},
    {"posdef", "diagonal_matrix", "assert_structure(tril(triu(x)), kind='posdef')"},
    {"posdef", "", "assert_structure(x @ conj(transpose(x)), kind='posdef')"},
    {"semidefinite", "", "x @ conj(transpose(x))"},
    {"diagonal_matrix", "", "tril(triu(x))"},
    {"lower", "", "tril(x)"},
    {"upper", "", "triu(x)"},
    {"triangular", "", "tril(x)"},
    {"symmetric", "", "x + transpose(x)"},
    {"hermitian", "", "x + conj(transpose(x))"},
    {"orthogonal", "", "qr(x)[0]"},
    {"orthonormal", "", "qr(x)[0]"}};
enum { NSTRUCTURED = sizeof structured / sizeof *structured };

static bool asks(const RewriteEntry *e, const char *guard, const char *name) {
    char text[64];
    snprintf(text, sizeof text, " %s(%s)", guard, name);
    return !*guard || strstr(e->text, text) != NULL;
}

static const char *structure_asked(const RewriteEntry *e, const char *name) {
    for (size_t k = 0; k < NSTRUCTURED; k++)
        if (asks(e, structured[k].guard, name) && asks(e, structured[k].also, name))
            return structured[k].text;
    return NULL;
}

static bool asks_structure(const RuleCase *c) {
    Sym names[HOLES];
    size_t n = rule_holes(c->rule, names, HOLES);
    for (size_t i = 0; i < n; i++)
        if (structure_asked(c->e, sym_text(s, names[i]))) return true;
    return false;
}

/* VAR_NONE: this variable can't be made so. */
static Var with_structure(const RuleCase *c, Builder *b, size_t hole, Var x) {
    Sym names[HOLES];
    bool ok = true;
    rule_holes(c->rule, names, HOLES);
    const char *text = structure_asked(c->e, sym_text(s, names[hole]));
    if (!text || x == VAR_NONE) return x;
    if (!dtype_is_inexact(var_type(b->g, x)->dtype)) return VAR_NONE;
    Bind bind = {sym(s, "x"), x};
    x = template_build(b, text, &(Env){.n = 1, .bind = &bind}, &ok);
    return ok ? x : VAR_NONE;
}

/* ---- one instance ---- */

typedef struct Instance {
    const RuleCase *c;
    Graph *g;
    size_t n, vars;
    Stand stand[HOLES];
    Var hole[HOLES];
    DType dtype;
    size_t constant; /* digits pick the constants */
} Instance;

static const Type *hole_type(const Instance *x, Stand st) {
    DType d = st == TRUTH ? DT_BOOL : x->dtype;
    Dim dim[3] = {count_points(x->c, x->vars), SIDE, SIDE};
    int ndim = x->c->stack ? 3 : x->c->matrix && st != VECTOR ? 2 : 1;
    return type_tensor(s, d, ndim, dim);
}

static double constant_of(const Instance *x, size_t k) {
    bool calm = x->c->ordinary || dtype_is_complex(x->dtype);
    if (x->c->ordinary && dtype_is_discrete(x->dtype)) return whole_numbers[k % NTAME];
    return calm ? tame[k % NTAME] : constants[k];
}

static bool build_holes(Instance *x) {
    Builder b = builder(x->g, true);
    size_t digit = x->constant;
    bool ok = true;
    for (size_t i = 0; i < x->n; i++) {
        char name[24];
        snprintf(name, sizeof name, "in%zu", i);
        if (x->stand[i] == CONSTANT) {
            x->hole[i] = const_number(&b, x->dtype, constant_of(x, digit % NCONST));
            digit /= NCONST;
        } else {
            Var in = graph_input(x->g, sym(s, name), hole_type(x, x->stand[i]));
            x->hole[i] = with_structure(x->c, &b, i, in);
            ok &= x->hole[i] != VAR_NONE;
        }
    }
    return ok;
}

static bool run_once(const Instance *x, Machine *m) {
    Tensor in[HOLES];
    size_t n = x->g->inputs.n;
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        const Type *t = var_type(x->g, x->g->inputs.p[i]);
        ok &= tensor_new(s, t->dtype, t->ndim, t->dim, &in[i]);
        fill_hole(x->c, &in[i], i, x->vars);
        if (x->c->regular && in[i].ndim == 2) raise_diagonal(&in[i]);
        Value v = {.kind = TYPE_TENSOR, .t = in[i]};
        ok &= vm_set_input(m, i, &v);
    }
    ok = ok && vm_run(m);
    CHECK(ok, "rule %s: %s", x->c->e->name,
          diag_count(s) ? diag_get(s, 0)->text : "it does not run");
    if (ok) {
        Tensor side[2];
        for (size_t k = 0; k < 2; k++)
            ok &= tensor_clone(s, &vm_output(m, k)->t, &side[k]);
        ok = ok && compare(x->c, in, n, &side[0], &side[1]);
        if (ok) CHECK(true);
        tensor_unref(&side[0]);
        tensor_unref(&side[1]);
    }
    for (size_t i = 0; i < n; i++)
        tensor_unref(&in[i]);
    return ok;
}

static bool run_instance(Instance *x, Var lhs, Var rhs) {
    vec_push(s, &x->g->outputs, ((Output){sym(s, "left"), lhs}));
    vec_push(s, &x->g->outputs, ((Output){sym(s, "right"), rhs}));
    Plan *p = plan_new(x->g, &(PlanOptions){.threads = 1});
    CHECK(p != NULL, "rule %s can't be planned", x->c->e->name);
    if (!p) return false;
    Machine *m = vm_new(p);
    bool ok = true;
    for (int i = 0; ok && i < (x->c->whole || x->c->ordinary ? TRIALS : 1); i++)
        ok = run_once(x, m);
    vm_free(m);
    plan_free(p);
    return ok;
}

/* Is it an instance? Then it was run. */
static bool try_instance(RuleCase *c, DType d, const Stand *stand, size_t constant,
                         bool *ok) {
    Instance x = {
        .c = c, .g = graph_new(s), .n = c->nhole, .dtype = d, .constant = constant};
    for (size_t i = 0; i < x.n; i++) {
        x.stand[i] = stand[i];
        x.vars += stand[i] != CONSTANT;
    }
    Var lhs, rhs;
    bool typed = build_holes(&x) && rule_sides(c->rule, x.g, x.n, x.hole, &lhs, &rhs);
    if (typed) {
        c->instances++;
        *ok = run_instance(&x, lhs, rhs);
    }
    graph_free(x.g);
    diag_clear(s);
    return typed;
}

/* ---- one rule ---- */

static size_t power(size_t base, size_t n) {
    size_t r = 1;
    while (n-- > 0)
        r *= base;
    return r;
}

static bool test_stands(RuleCase *c, DType d, size_t code) {
    Stand stand[HOLES];
    size_t nconst = 0;
    bool ok = true;
    for (size_t i = 0; i < c->nhole; i++, code /= STAND_N) {
        stand[i] = (Stand)(code % STAND_N);
        nconst += stand[i] == CONSTANT;
        if (d == DT_BOOL && stand[i] == TRUTH) return true;
        if (stand[i] == VECTOR && !c->vector) return true;
        if (c->regular && (d == DT_BOOL || stand[i] == TRUTH)) return true;
    }
    if (nconst == c->nhole && c->nhole > 1) return true; /* folding's matter */
    for (size_t k = 0; ok && k < power(NCONST, nconst); k++)
        try_instance(c, d, stand, k, &ok);
    return ok;
}

static void test_rule(RuleCase *c) {
    static const DType dtypes[] = {DT_FLOAT64, DT_FLOAT32, DT_INT64,     DT_INT8,
                                   DT_UINT8,   DT_BOOL,    DT_COMPLEX128};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        bool ok = true;
        if (c->ordinary && dtype_is_complex(dtypes[k]) && !c->complex)
            continue; /* branch cuts */
        for (size_t code = 0; ok && code < power(STAND_N, c->nhole); code++)
            ok = test_stands(c, dtypes[k], code);
    }
    CHECK(c->instances > 0, "rule %s: %s: no types that it fits", c->e->name,
          c->e->text);
}

static bool has_tag(const RewriteEntry *e, const char *tag) {
    const char *p = strstr(e->tags, tag);
    size_t n = strlen(tag);
    return p && (p == e->tags || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0);
}

static void test_entry(const RewriteEntry *e) {
    static const char *const arrays[] = {"sum(", "max(", "min(", "matmul(", "softmax("},
                             *const square[] = {"inv(", "det(", "cholesky(", "eye("};
    RuleCase c = {.e = e, .rule = rule_parse(s, e->at)};
    CHECK(c.rule != NULL, "rule %s: %s", e->name,
          diag_count(s) ? diag_get(s, 0)->text : "can't be read");
    if (!c.rule) return;
    Sym names[HOLES];
    c.nhole = rule_holes(c.rule, names, HOLES);
    CHECK(c.nhole <= HOLES);
    c.stable = has_tag(e, "stabilize");
    c.ordinary =
        has_tag(e, "fast") || has_tag(e, "reassociate") || has_tag(e, "algebra");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        c.whole |= strstr(e->text, arrays[i]) != NULL;
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        c.regular |= strstr(e->text, square[i]) != NULL;
    c.regular |= asks_structure(&c);
    c.complex = strstr(e->text, "complex(") != NULL;
    c.vector = strstr(e->text, "vector(") != NULL;
    c.stack = strstr(e->text, "batched(") != NULL;
    c.whole |= c.regular || c.vector;
    c.matrix = c.regular || c.vector || strstr(e->text, "matmul(") != NULL ||
               strstr(e->text, " @ ") != NULL || strstr(e->text, "matrix(") != NULL;
    c.whole |= c.matrix;
    test_rule(&c);
}

int main(int argc, char **argv) {
    s = session_new(NULL, NULL);
    vm_open(s);
    const RewriteEntry *entry;
    size_t n;
    bool ok = rewrite_list(s, &(RewriteQuery){0}, &entry, &n);
    CHECK(ok);
    size_t tested = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (entry[i].is_pass || (argc > 1 && strcmp(argv[1], entry[i].name) != 0))
            continue;
        test_entry(&entry[i]);
        diag_clear(s);
        tested++;
    }
    CHECK(argc > 1 || tested > 100, "%zu rules", tested);
    session_free(s);
    return TEST_END("rules");
}
