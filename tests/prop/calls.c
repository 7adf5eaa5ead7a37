/* Calls in the language that are nearly right: in the example of each op and macro, and
 * in calls of scan, grad and draws, each argument and each part of one is replaced by
 * others of all kinds, left out and given twice. Whatever happens, it is a result of
 * the inferred type or exactly one error with a message; and of inputs of unknown
 * sizes, rewritten or not, it has a type that this result is of. */
#include "../unit/contract_graph.h"
#include "../unit/test.h"
#include "lang/macro.h"
#include "rewrite/rewrite.h"
#include "value/class.h"

#include <ctype.h>
#include <stdlib.h>

/* Seeds beside the examples: each line may use x = [1., 2., 3.] and m, a 2 x 2 matrix.
 */
static const char *const seeds[] = {
    "scan(lambda s, e: s * 2.0 + e, sequences=[x], outputs_info=[1.0])",
    "scan(lambda e, t: e * t, sequences=[x], non_sequences=[m])",
    ("scan(lambda a, b: a + b, outputs_info={'initial': [1.0, 1.0], 'taps': [-2, -1]}, "
     "n_steps=3)"),
    "scan(lambda s: (s + 1.0, until(s > 3.0)), outputs_info=[0.0], n_steps=9)",
    "scan(lambda e: e, sequences=[{'input': x, 'taps': [0, 1]}])",
    "scan(lambda s, e: s + e, [x], [0.0], truncate_gradient=2, go_backwards=True)",
    "map(lambda e: e * 2.0, x)",
    "reduce(lambda a, b: a + b, x, 0.0)",
    "foldl(lambda a, b: a - b, x, 0.0)",
    "foldr(lambda a, b: a - b, x, 0.0)",
    "filter(lambda e: e > 1.0, x)",
    "grad(sum(x ** 2), x)",
    "grad(sum(x ** 2), [x, m], disconnected_inputs='ignore')",
    "jacobian(x ** 2, x)",
    "hessian(sum(x ** 3), x)",
    "jvp(x ** 2, x, x)",
    "vjp(x ** 2, x, x)",
    "hvp(sum(x ** 3), x, x)",
    "vmap(lambda e: e * 2.0)(x)",
    "vmap(lambda e, f: e * f, in_axes=(0, None))(x, 2.0)",
    "vectorize(lambda e: e * 2.0)(x)",
    "value_and_grad(lambda a: sum(a))(x)",
    "ifelse(x[0] > 0.0, x, -x)",
    "sow(x, tag='t', name='n', mode='strict')",
    "normal(0.0, 1.0, (2,), seed=1)",
    "uniform(size=(2, 2), seed=1, dtype='float32')",
    "integers(0, 9, (3,), seed=1)",
    "choice(5, (2,), replace=False, seed=1)",
    "choice(x, 2, p=x / sum(x), seed=1)",
    "multinomial(4, [0.5, 0.5], (2,), seed=1)",
    "multivariate_hypergeometric([3, 4], 2, (2,), seed=1)",
    "categorical([0.2, 0.8], (2,), seed=1)",
    "permutation(4, seed=1)",
    "binomial(4, 0.5, (2,), seed=1)",
    "gamma(2.0, 1.0, (2,), seed=1)",
    "dirichlet(x, (2,), seed=1)",
    "einsum('i,ij->j', x[:2], m)",
    "einsum('...i,...i->...', x, x)",
    "tensordot(m, m, axes=([0], [1]))",
    "pad(x, (1, 2), constant_values=(1, 2))",
    "pad(m, ((1, 0), (0, 1)), mode='edge')",
    "x[1:3:1]",
    "m[0, ::-1]",
    "m[[0, 1], [1, 0]]",
    "x[x > 1.0]",
    "x[None, ..., -1]",
    "set_subtensor(x[1:], 0.0)",
    "inc_subtensor(m[0], x[:2])",
    "where(x > 1.0, x, 0)",
    "concatenate([x, [4.0]], axis=0)",
    "csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2)) @ m",
    "array([1, 2], dtype='int8')",
    "linspace(0.0, 1.0, 5)",
    "norm(m, 'fro')",
    "split(x, 3)",
    "a if x[0] > 1.0 else x",
};

static const char *const others[] = {"None",
                                     "True",
                                     "0",
                                     "1",
                                     "-1",
                                     "2.5",
                                     "1j",
                                     "99999999999",
                                     "'x'",
                                     "''",
                                     "'float64'",
                                     "x",
                                     "m",
                                     "[]",
                                     "[0]",
                                     "[1, 2]",
                                     "[1.0, 2.0, 3.0]",
                                     "(1, 2)",
                                     "[[1], [2, 3]]",
                                     "['a']",
                                     "[None]",
                                     "{}",
                                     "{'a': x}",
                                     "{'input': x}",
                                     "lambda a: a",
                                     "lambda a, b: a * b",
                                     "lambda a: x",
                                     "slice(0, 2)",
                                     "x[0]",
                                     "sum",
                                     "nothing",
                                     "(x, x)",
                                     "m > 0",
                                     "nan",
                                     "make_list(1.0)",
                                     "x.shape",
                                     "rng_state([1, 0, 0, 0])",
                                     "csr([1.0], [0], [0, 1], (1, 1))",
                                     "a=1",
                                     "zeros((0, 3))",
                                     "int8(3)",
                                     "...",
                                     "1:2"};

static unsigned well, wrong;

/* The same call of inputs: what is known before it runs holds of the value, before and
 * after it is rewritten, which leaves a graph in order. */
static void of_inputs(const char *call, const Value *v) {
    static const char *const in[][2] = {
        {"in", "float64[?]"}, {"x", "float64[?]"}, {"m", "float64[2, n]"}};
    char text[1024];
    snprintf(text, sizeof text, "r = %s", call);
    Graph *g = graph_with(3, in, text, "r");
    diag_clear(s);
    if (!g) return; /* sizes or values that are known above are needed */
    Graph *h = rewrite_run(g, &(RewriteOptions){0}, NULL);
    CHECK(h != NULL, "%s: rewriting says %s", call, first_error());
    for (int k = 0; h && k < 2; k++) {
        Graph *which = k ? h : g;
        const Type *t = var_type(which, which->outputs.p[0].var);
        CHECK(graph_check(which), "%s: %s", call, first_error());
        CHECK(t->kind == TYPE_NONE || value_is_valid(s, t, v), "%s: no %s", call,
              type_str(s, t));
    }
    graph_free(h);
    graph_free(g);
}

static void attempt(const char *call) {
    static const char *const in[][2] = {{"in", "float64[?]"}};
    char text[1024];
    snprintf(text, sizeof text,
             "x = array([1.0, 2.0, 3.0])\nm = array([[1.0, 2.0], [3.0, 4.0]])\nr = %s",
             call);
    Graph *g = graph_with(1, in, text, "r");
    Value v = {0};
    Var out = g ? g->outputs.p[0].var : VAR_NONE;
    bool ok = g && services(s)->eval(g, 1, &out, &v);
    size_t errors = 0;
    for (size_t i = 0; i < diag_count(s); i++)
        errors += diag_get(s, i)->severity == DIAG_ERROR;
    CHECK(errors == !ok, "%s: %s with %zu errors: %s", call, ok ? "well" : "failed",
          errors, first_error());
    CHECK(ok || strlen(first_error()) >= 10, "%s: says \"%s\"", call, first_error());
    if (ok) {
        const Type *t = var_type(g, out);
        CHECK(t->kind == TYPE_NONE || value_is_valid(s, t, &v),
              "%s: the result is no %s", call, type_str(s, t));
    }
    if (ok && well % 4 == 0) of_inputs(call, &v);
    well += ok;
    wrong += !ok;
    value_unref(&v);
    graph_free(g);
    diag_clear(s);
}

static size_t part_end(const char *p, size_t i) {
    int depth = 0;
    char quote = 0;
    for (; p[i]; i++) {
        if (quote) {
            if (p[i] == quote) quote = 0;
        } else if (p[i] == '\'' || p[i] == '"') {
            quote = p[i];
        } else if (strchr("([{", p[i])) {
            depth++;
        } else if (strchr(")]}", p[i])) {
            if (depth-- == 0) break;
        } else if (depth == 0 && (p[i] == ',' || p[i] == ':')) {
            break;
        }
    }
    return i;
}

static void each_part(const char *p) {
    char call[512];
    attempt(p);
    for (size_t i = 1; p[i]; i++) {
        bool begins = strchr("([,=:{", p[i - 1]) && p[i] != '=';
        if (!begins) continue;
        size_t from = i + strspn(p + i, " "), to = part_end(p, from);
        if (to == from) continue;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            snprintf(call, sizeof call, "%.*s%s%s", (int)from, p, others[k], p + to);
            attempt(call);
        }
        snprintf(call, sizeof call, "%.*s%s", (int)from, p, p + to + (p[to] == ','));
        attempt(call);
        snprintf(call, sizeof call, "%.*s%.*s, %s", (int)from, p, (int)(to - from),
                 p + from, p + from);
        attempt(call);
    }
}

/* The calls of lines "CALL -> RESULT". */
static void each_example(const char *p) {
    for (; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
        char call[256];
        size_t n = strcspn(p, "\n");
        const char *arrow = memmem(p, n, " -> ", 4);
        if (arrow) n = (size_t)(arrow - p);
        if (n >= sizeof call) continue;
        snprintf(call, sizeof call, "%.*s", (int)n, p);
        each_part(call);
    }
}

int main(void) {
    s = tools_session(NULL, NULL);
    session_options(s)->threads = 1;
    session_options(s)->max_memory = 1 << 26;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        each_part(seeds[i]);
    for (const MacroList *const *l = catalogue_macros; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++)
            each_example((*l)->macro[i].example);
    for (size_t i = 0; i < op_count(s); i++)
        each_example(op_get(s, i)->example);
    CHECK(well > 1000 && wrong > 1000, "%u, %u", well, wrong);
    session_free(s);
    return TEST_END("prop calls");
}
