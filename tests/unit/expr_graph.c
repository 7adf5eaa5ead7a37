/* The expression language inside graphs: texts of rows, functions, updates, formulas.
 */
#include "expr_test.h"
#include "lang/formula/formula.h"

#include <stdlib.h>

/* ---- texts of rows ---- */

static void test_text(void) {
    Graph *g = compile_text("y = v * v\nq = sum(x, axis=0)");
    Builder b = builder(g, true);
    Var v = graph_find(g, sym(s, "v"));
    Bind bind[] = {{sym(s, "x"), v}, {sym(s, "g"), graph_find(g, sym(s, "x"))}};
    Env env = {.n = 2, .bind = bind};
    bool ok;
    CHECK(template_build(&b, "disconnected", &env, &ok) == GRAD_DISCONNECTED && ok);
    Var r = template_build(&b, "undefined('no')", &env, &ok);
    CHECK(ok && var_is_null(g, r));
    static const char text[] = "exp(x) * 2 - x / 3";
    r = template_build(&b, text, &env, &ok);
    CHECK(ok && template_build(&b, text, &env, &ok) == r,
          "equal texts are one variable");
    CHECK_STR(type_str(s, var_type(g, r)), "float64[3]");
    r = template_build(&b, "2", &env, &ok);
    CHECK_STR(type_str(s, var_type(g, r)), "float32"); /* as the cotangent */
    CHECK(template_build(&b, "nothing + 1", &env, &ok) == VAR_NONE && !ok &&
          diag_count(s) == 1);
    diag_clear(s);
    Var q = graph_find(g, sym(s, "q"));
    r = template_build_apply(&b, "sum(x, axis=axis, keepdims=True) + g", g,
                             var_owner(g, q), q, &ok);
    CHECK(ok, "%s", first_error());
    if (ok) CHECK_STR(type_str(s, var_type(g, r)), "float32[1, 4]");
    uint32_t before = g->napply;
    b.intern = false;
    for (int i = 0; i < 1000; i++)
        r = template_build(&b, text, &env, &ok);
    CHECK(ok && g->napply == before + 4 * 1000, "%u Applies", g->napply - before);
    graph_free(g);
    diag_clear(s);
}

/* ---- functions ---- */

static void test_functions(void) {
    Graph *g = new_graph();
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    Node f = {0}, out;
    Arena *a = arena_new(s);
    const Ast *e = ast_parse(s, a, text_span("lambda p: p * i + v[0] + n"));
    const Type *arg = type_scalar(s, DT_FLOAT64);
    CHECK(e && compiler_ast(c, e, &f) && compiler_function(c, &f, 1, &arg), "%s",
          first_error());
    CHECK(f.fn && f.ncaptured == 3 && f.fn->inputs.n == 4 && f.fn->outputs.n == 1);
    Node one = node_var(graph_find(g, sym(s, "h")), NOWHERE);
    CHECK(compiler_function(c, &f, 1, &arg));
    CHECK(compiler_ast(c, ast_parse(s, a, text_span("float64(2.5)")), &one));
    CHECK(compiler_apply(c, &f, &(Arguments){1, &one, NULL, NOWHERE}, &out), "%s",
          first_error());
    CHECK(compiler_output(c, sym(s, "t"), text_span("[x, {'a': v, 'b': [1.5]}]")), "%s",
          first_error());
    CHECK(g->outputs.n == 3);
    CHECK_STR(sym_text(s, g->outputs.p[1].label), "t/1/a");
    CHECK_STR(sym_text(s, g->outputs.p[2].label), "t/1/b/0");
    char *text = print_text(g, PRINT_STATEMENTS);
    CHECK_STR(text, "_1 = lambda_1(2.5, i, v, n)\n");
    free(text);
    arena_free(a);
    compiler_free(c);
    graph_free(g);
    diag_clear(s);
}

/* Definitions mean the same in any order; they stand in the graph as in the text, but
 * for what must come first. */
static void test_order(void) {
    static const char *const rows[][2] = {
        {"a = v + 1\nb = a * 2", "a = v + 1.0\nb = a * 2.0\n"},
        {"b = a * 2\na = v + 1", "a = v + 1.0\nb = a * 2.0\n"},
        {"c = v - 1\nb = a * 2\nd = c * b\na = v + 1",
         "c = v - 1.0\na = v + 1.0\nb = a * 2.0\nd = c * b\n"},
        {"a = f(v)\nf = lambda t: t + b\nb = x[0, 0]",
         "b = x[0, 0]\n_1 = float64(b)\na = v + _1\n"},
        {"f = lambda t: t + b\na = f(v)\nb = i + 1",
         "b = i + 1\n_1 = float64(b)\na = v + _1\n"},
        {"f = lambda t: t - 1\na = f(v)\nb = f(a)", "a = v - 1.0\nb = a - 1.0\n"},
        {"a = f(v)\nb = v * 3\nf = lambda t: t - b", "b = v * 3.0\na = v - b\n"},
        {"a = cast(v, float32)\nb = zeros((2,), dtype=float32)",
         "a = float32(v)\nb = full([2], float32(0.0))\n"},
        {"a = cast(v, float32)\nfloat32 = 'int8'", "a = int8(v)\n"},
        {"p = [v, k]\na = p[1] + 1\nb, c = p", "a = k + 1\nb = v\nc = k\n"},
        {"b, c = p\np = [v, k]", "b = v\nc = k\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Graph *g = compile_text(rows[i][0]);
        CHECK(g, "%s: %s", rows[i][0], first_error());
        if (!g) continue;
        char *text = print_text(g, PRINT_STATEMENTS);
        CHECK_STR(text, rows[i][1]);
        free(text);
        graph_free(g);
    }
}

/* The syntax of what is compiled is not kept. */
static void test_long_text(void) {
    enum { LINES = 20000 };
    Str text = STR(s);
    str_puts(&text, "h0 = v\n");
    for (int i = 1; i <= LINES; i++)
        str_printf(&text, "h%d = sin(h%d) * 0.5 + cast(v, float64)\n", i, i - 1);
    Graph *g = new_graph();
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    CHECK(compiler_define(c, text_span(str_text(&text)), true) && compiler_run(c), "%s",
          first_error());
    CHECK(arena_bytes(compiler_arena(c)) < LINES, "%zu bytes",
          arena_bytes(compiler_arena(c)));
    compiler_free(c);
    graph_free(g);
    str_free(&text);
}

static void test_updates(void) {
    Graph *g = new_graph();
    graph_shared(g, sym(s, "w"), type_parse(s, "float32[2]", 10, NOWHERE));
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    CHECK(compiler_define(c, text_span("d = w * 2"), true));
    CHECK(compiler_update(c, text_span("w = w - 0.5 * d")), "%s", first_error());
    CHECK(g->updates.n == 1);
    CHECK(!compiler_update(c, text_span("w = w")) &&
          diag_first_error(s)->code == E_DUPLICATE);
    diag_clear(s);
    CHECK(!compiler_update(c, text_span("x = x")) &&
          diag_first_error(s)->code == E_NAME);
    diag_clear(s);
    compiler_auto_inputs(c, true);
    Var v;
    CHECK(compiler_expr(c, text_span("newcomer * 2"), NULL, &v) &&
          graph_find(g, sym(s, "newcomer")) != VAR_NONE);
    CHECK(compiler_expr(c, text_span("[1, 2]"), type_scalar(s, DT_UINT8), &v));
    CHECK_STR(type_str(s, var_type(g, v)), "uint8[2]");
    CHECK(!compiler_expr(c, text_span("[1, 300]"), type_scalar(s, DT_UINT8), &v));
    diag_clear(s);
    compiler_free(c);
    graph_free(g);
}

/* ---- formulas ---- */

/* x is a shape, m a number, u one that nobody knows. */
static bool look(void *ctx, Arena *a, Sym name, FormulaValue *v) {
    (void)ctx;
    const char *text = sym_text(s, name);
    *v = strcmp(text, "x") == 0 ? formula_shape(a, 3, (int64_t[]){2, 3, 5})
                                : formula_number(a, 10);
    if (strcmp(text, "u") == 0) *v = (FormulaValue){0};
    return strlen(text) == 1 && strchr("xmu", *text);
}

static void check_formula(const char *text, double want) {
    double v = -1e300;
    CHECK(formula_span(s, text_span(text), look, NULL, &v), "%s: %s", text,
          first_error());
    CHECK(v == want, "%s is %g", text, v);
    diag_clear(s);
}

static void test_formula(void) {
    check_formula("2 * m * x.size", 600);
    check_formula("10e6 + 1", 10000001);
    check_formula("x.shape[0] + x.shape[-1] * x.ndim", 17);
    check_formula("prod(x.shape[1:]) + prod(x.shape[:0])", 16);
    check_formula("max(1, m, 3) - min(x.shape) + sum(x.shape)", 18);
    check_formula("(m > 3) & (m <= 10)", 1);
    check_formula("-m ** 2 // 3", -34);
    check_formula("ceil(m / 4) + log2(8)", 6);
    check_formula("(-(1 / 0) < m) + (0 / 0 != 0 / 0) + sum([1 / 0, -1 / 0, 1], 2).size",
                  3);
    check_formula("sum(x.shape[0 / 0:1]) + sum(x.shape[:1 / 0])", 12);
    check_formula("(m != m) + (m != 3) + (2 if 0 < m < 11 else 4)", 3);
    check_formula("(not m) + (0 or m) + (m and 3) + (5 if x.ndim > 3 else 7)", 20);
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"unknown + 1", "`unknown` is not defined in this formula"},
        {"x + 1", "expected a number"},
        {"1 + x", "expected a number"},
        {"-x", "expected a number"},
        {"[x, 1]", "expected a number"},
        {"x", "expected a number"},
        {"sqrt(x)", "expected a number"},
        {"sqrt(1, 2)", "sqrt takes one argument"},
        {"max()", "max takes arguments"},
        {"sin(1)", "formulas have no function `sin`"},
        {"m @ m", "`@` can't be in a formula"},
        {"m ^ m", "`^` can't be in a formula"},
        {"x.T", "not `.T`"},
        {"m.shape", "not `.shape`"},
        {"m[0]", "only a shape can be indexed"},
        {"x.shape[0, 1]", "only a shape can be indexed"},
        {"x.shape[::2]", "a slice of a shape can't have a step"},
        {"x.shape[3]", "out of range for a shape with 3 dims"},
        {"x.shape[0.5]", "out of range for a shape with 3 dims"},
        {"x.shape[x]", "expected a number"},
        {"x.shape[x:]", "expected a number"},
        {"None", "this can't be in a formula"},
        {"1 if x else 2", "expected a number"},
        {"1 if u else 2", "expected a number"},
        {"not x", "expected a number"},
        {"not u", "expected a number"},
        {"x and 1", "expected a number"},
        {"1 and u and 2", "expected a number"},
        {"x < m < 11", "expected a number"},
        {"0 < x < 11", "expected a number"},
        {"u < 1", "expected a number"},
        {"u", "expected a number"},
        {"x.shape[u]", "expected a number"},
        {"x.shape[:u]", "expected a number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double v;
        CHECK(!formula_span(s, text_span(wrong[i].text), look, NULL, &v) &&
                  strstr(first_error(), wrong[i].error) && diag_count(s) == 1,
              "%s: %s", wrong[i].text, first_error());
        diag_clear(s);
    }
}

int main(void) {
    s = session_new(NULL, NULL);
    test_text();
    test_functions();
    test_order();
    test_long_text();
    test_updates();
    test_formula();
    session_free(s);
    return TEST_END("expr_graph");
}
