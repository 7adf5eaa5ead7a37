/* Random graphs give the same results before and after rewriting: elementwise ops,
 * reductions, products and shape changes over operands of several shapes, with results
 * that are used many times. The rewritten graph is rewritten once more, and stays.
 * Other graphs have reads, joined and repeated tensors and products, without ops that
 * rounding makes jump. */
#include "../unit/test.h"
#include "op/build.h"
#include "rewrite/rewrite.h"
#include "vm/vm.h"

#include <math.h>

enum { GRAPHS = 300, ALGEBRA_GRAPHS = 600, NODES = 70, OUTPUTS = 4, INPUTS = 5 };

static Session *s;
static uint64_t seed = 2463534242u;

static uint32_t below(uint32_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % n);
}

/* ---- random graphs ---- */

static const char *const unary[] = {"negative", "sin",     "tanh", "abs",
                                    "square",   "sigmoid", "cos",  "floor"};
static const char *const binary[] = {"add",     "subtract", "multiply", "maximum",
                                     "minimum", "less",     "equal"};

static Var numbers(Builder *b, Var x) {
    return var_type(b->g, x)->dtype == DT_BOOL ? op_cast_to(b, x, DT_FLOAT64) : x;
}

static Var reduced(Builder *b, Var x) {
    const Op *op = op_find(b->s, "sum", 3);
    int64_t axis = 0;
    PropArg arg[] = {{"axis", PROP_INTS(&axis, 1)}, {"keepdims", PROP_BOOL(true)}};
    if (var_type(b->g, x)->ndim == 0) return x;
    x = op_apply1(b, op, props_make(b->s, op, 2, arg), 1, &x);
    return op_call2(b, "multiply", x, const_number(b, DT_FLOAT64, 0.25));
}

static Var product(Builder *b, Var x, Var y) {
    if (var_type(b->g, x)->ndim != 2 || var_type(b->g, y)->ndim != 2) return x;
    x = op_call2(b, "matmul", x, y);
    return x == VAR_NONE ? x : op_call1(b, "tanh", x);
}

/* Of two operands; what doesn't fit their shapes is left out. */
static const char *const algebra[] = {"x[0]",
                                      "x[-1]",
                                      "x[1:]",
                                      "x[:, 1]",
                                      "x[:, -1]",
                                      "x[:2, 1:]",
                                      "x[::-1]",
                                      "x[::2]",
                                      "x[:, ::-1]",
                                      "x[1, 2]",
                                      "x[1:2]",
                                      "x[:, None]",
                                      "x[[0, -1, 0]]",
                                      "concatenate([x, y])",
                                      "concatenate([x, y], axis=1)",
                                      "stack(x, y)",
                                      "stack(x, y, axis=1)",
                                      "broadcast_to(x, [3, 4])",
                                      "broadcast_to(x, [2, 3, 4])",
                                      "expand_dims(x, 0)",
                                      "expand_dims(x, 1)",
                                      "squeeze(x, 0)",
                                      "x.T",
                                      "transpose(x, axes=[1, 2, 0])",
                                      "sum(x) / 8",
                                      "sum(x, axis=0) / 4",
                                      "sum(x, axis=1) / 4",
                                      "mean(x)",
                                      "mean(x, axis=-1, keepdims=True)",
                                      "max(x, axis=0)",
                                      "min(x)",
                                      "diagonal(x)",
                                      "softmax(x, axis=-1)",
                                      "log_softmax(x, axis=0)",
                                      "set_subtensor(x[0], 0.5)",
                                      "inc_subtensor(x[1:2], 0.5)",
                                      "set_subtensor(x[:, 1], 2.)",
                                      "zeros_like(x)",
                                      "ones_like(x)",
                                      "diag(x)",
                                      "eye(3) @ x",
                                      "x @ y / 4",
                                      "x @ y / 4",
                                      "x @ y / 4",
                                      "x @ y / 4",
                                      "x @ y.T / 4",
                                      "x.T @ y / 4",
                                      "x.T @ y / 4 + (y.T @ x).T / 4",
                                      "outer(x, y)",
                                      "x * y",
                                      "x + y",
                                      "x - y",
                                      "sin(x)",
                                      "tanh(x)",
                                      "exp(-abs(x))",
                                      "x @ y / 4 + x @ (y / 2)"};

static Var algebra_node(Builder *b, const Var *v, uint32_t n) {
    bool ok = true;
    Bind bind[] = {{sym(s, "x"), numbers(b, v[below(n)])},
                   {sym(s, "y"), numbers(b, v[below(n)])}};
    const char *text = algebra[below(sizeof algebra / sizeof *algebra)];
    Var x = template_build(b, text, &(Env){.n = 2, .bind = bind}, &ok);
    if (!ok || x == VAR_NONE) return VAR_NONE;
    int64_t size = type_size(var_type(b->g, x));
    return size > 0 && size <= 200 ? x : VAR_NONE;
}

/* One more variable, or VAR_NONE where shapes do not fit. */
static Var random_node(Builder *b, const Var *v, uint32_t n) {
    Var x = numbers(b, v[below(n)]), y = numbers(b, v[below(n)]), z = v[below(n)];
    switch (below(12)) {
    case 0:
    case 1:
    case 2:
        return op_call1(b, unary[below(sizeof unary / sizeof *unary)], x);
    case 3:
        return op_call2(b, "multiply", x,
                        const_number(b, DT_FLOAT64, (double)below(5) - 2));
    case 4:
        return op_call2(b, "add", const_number(b, DT_FLOAT64, (double)below(3)), x);
    case 5:
        return reduced(b, x);
    case 6:
        return op_call3(b, "where", z, x, y);
    case 7:
        return var_type(b->g, x)->ndim == 2 ? op_call1(b, "transpose", x) : x;
    case 8:
        return product(b, x, y);
    case 9:
        return op_call1(b, "log",
                        op_call2(b, "add", op_call1(b, "exp", op_call1(b, "sin", x)),
                                 const_number(b, DT_FLOAT64, 1)));
    default:
        return op_call2(b, binary[below(sizeof binary / sizeof *binary)], x, y);
    }
}

static Graph *random_graph(bool of_algebra) {
    static const char *const types[INPUTS] = {"float64[3, 4]", "float64[3, 4]",
                                              "float64[4]", "float64", "float64[1, 4]"};
    Graph *g = graph_new(s);
    Builder b = builder(g, below(2));
    Var v[INPUTS + NODES];
    uint32_t n = 0;
    for (; n < INPUTS; n++) {
        char name[8];
        snprintf(name, sizeof name, "x%u", n);
        v[n] = graph_input(g, sym(s, name),
                           type_parse(s, types[n], strlen(types[n]), NOWHERE));
    }
    for (int i = 0; i < NODES; i++) {
        size_t mark = diag_count(s);
        Var x = of_algebra ? algebra_node(&b, v, n) : random_node(&b, v, n);
        if (x == VAR_NONE)
            diag_rewind(s, mark);
        else
            v[n++] = x;
    }
    for (uint32_t k = 0; k < OUTPUTS; k++) {
        char name[8];
        snprintf(name, sizeof name, "y%u", k);
        vec_push(s, &g->outputs,
                 ((Output){sym(s, name), numbers(&b, v[n - 1 - below(n / 2)])}));
    }
    return g;
}

/* ---- runs ---- */

static bool run(Graph *g, Machine **m, Plan **p) {
    *p = plan_new(g, &(PlanOptions){.threads = 1});
    if (!*p) return false;
    *m = vm_new(*p);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        Value v = {.kind = TYPE_TENSOR};
        if (!tensor_new(s, DT_FLOAT64, t->ndim, t->dim, &v.t)) return false;
        for (int64_t k = 0; k < tensor_size(&v.t); k++)
            ((double *)v.t.data)[k] = sin((double)(k + 3 * (int64_t)i) * 1.7) * 2;
        bool ok = vm_set_input(*m, i, &v);
        value_unref(&v);
        if (!ok) return false;
    }
    return vm_run(*m);
}

static bool close_to(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b)));
}

static void compare(unsigned number, const Machine *a, const Machine *b) {
    for (size_t k = 0; k < OUTPUTS; k++) {
        Tensor x, y;
        if (!tensor_clone(s, &vm_output(a, k)->t, &x) ||
            !tensor_clone(s, &vm_output(b, k)->t, &y))
            return;
        bool same = tensor_same_shape(&x, &y);
        for (int64_t i = 0; same && i < tensor_size(&x); i++)
            same = close_to(tensor_f64(&x, i), tensor_f64(&y, i));
        CHECK(same, "graph %u, output %zu", number, k);
        tensor_unref(&x);
        tensor_unref(&y);
    }
}

static const char *why(void) {
    return diag_count(s) ? diag_get(s, 0)->text : "no message";
}

/* The rules that fire again, for the message. */
static bool note_rule(void *ctx, const RewriteEvent *e) {
    Str *names = ctx;
    str_printf(names, " %s", e->rule);
    return true;
}

static void test_graph(unsigned number, bool of_algebra) {
    Graph *g = random_graph(of_algebra),
          *h = rewrite_run(g, &(RewriteOptions){0}, NULL);
    CHECK(h != NULL, "graph %u: %s", number, why());
    Machine *m[2] = {NULL, NULL};
    Plan *p[2] = {NULL, NULL};
    bool ok = h && run(g, &m[0], &p[0]) && run(h, &m[1], &p[1]);
    CHECK(ok, "graph %u: %s", number, why());
    if (ok) compare(number, m[0], m[1]);
    for (size_t i = 0; i < 2; i++) {
        vm_free(m[i]);
        plan_free(p[i]);
    }
    RewriteResult r = {0};
    Str names = STR(s);
    RewriteOptions o = {.explain = note_rule, .ctx = &names};
    Graph *again = h ? rewrite_run(h, &o, &r) : NULL;
    CHECK(again && (of_algebra || r.fired == 0),
          "graph %u: %u rewrites are left over:%s", number, r.fired, str_text(&names));
    str_free(&names);
    graph_free(again);
    graph_free(h);
    graph_free(g);
    diag_clear(s);
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    for (unsigned i = 0; i < GRAPHS; i++)
        test_graph(i, false);
    for (unsigned i = 0; i < ALGEBRA_GRAPHS; i++)
        test_graph(GRAPHS + i, true);
    session_free(s);
    return TEST_END("rewritten");
}
