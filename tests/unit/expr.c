/* The expression language: syntax against s-expressions, messages and their places,
 * weak literals, what is printed and read again, formulas, long and deep texts. */
#include "expr_test.h"

#include <stdlib.h>

/* ---- syntax ---- */

static void sexpr(const Ast *e, Str *out) {
    static const char *const word[] = {
        [AST_NONE] = "None",   [AST_ELLIPSIS] = "...", [AST_LIST] = "list",
        [AST_TUPLE] = "tuple", [AST_DICT] = "dict",    [AST_LAMBDA] = "lambda",
        [AST_SLICE] = "slice", [AST_INDEX] = "index",  [AST_APPLY] = "apply",
        [AST_ASSIGN] = "=",    [AST_ANNOT] = ":",      [AST_CHAIN] = "chain",
        [AST_NOT] = "not",     [AST_IF] = "if"};
    if (!e) {
        str_putc(out, '_');
        return;
    }
    const char *name = sym_text(s, e->sym);
    switch ((int)e->kind) {
    case AST_INT:
        str_printf(out, "%llu", (unsigned long long)e->u);
        return;
    case AST_FLOAT:
        str_printf(out, "%g", e->v);
        return;
    case AST_IMAG:
        str_printf(out, "%gj", e->v);
        return;
    case AST_BOOL:
        str_puts(out, e->u ? "True" : "False");
        return;
    case AST_STRING:
        str_json(out, name, strlen(name));
        return;
    case AST_NAME:
        str_puts(out, name);
        return;
    case AST_STARS:
        str_printf(out, "**%s", name);
        return;
    case AST_NONE:
    case AST_ELLIPSIS:
        str_puts(out, word[e->kind]);
        return;
    default:
        break;
    }
    str_putc(out, '(');
    if (e->kind == AST_METHOD || e->kind == AST_ATTR) str_putc(out, '.');
    if (e->kind == AST_KEYWORD) str_putc(out, ':');
    if (e->kind == AST_BIND) str_puts(out, ":= ");
    bool operator= e->kind == AST_UNARY || e->kind == AST_BINARY ||
        e->kind == AST_LINK || e->kind == AST_LOGIC;
    str_puts(out, operator? e->op : e->sym ? name : word[e->kind]);
    for (size_t i = 0; i < e->nkid; i++) {
        str_putc(out, ' ');
        sexpr(e->kid[i], out);
    }
    str_putc(out, ')');
}

static void check_parse(const char *text, const char *want) {
    Arena *a = arena_new(s);
    Str out = STR(s);
    const Ast *e = ast_parse(s, a, text_span(text));
    if (e)
        sexpr(e, &out);
    else
        str_puts(&out, diag_count(s) ? diag_get(s, 0)->text : "?");
    CHECK_STR(str_text(&out), want);
    diag_clear(s);
    str_free(&out);
    arena_free(a);
}

static void test_precedence(void) {
    static const char *const table[][2] = {
        {"a + b * c", "(+ a (* b c))"},
        {"a - b - c", "(- (- a b) c)"},
        {"-a ** 2", "(- (** a 2))"},
        {"a ** -b ** c", "(** a (- (** b c)))"},
        {"2 ** 3 ** 2", "(** 2 (** 3 2))"},
        {"~a & b | c ^ d", "(| (& (~ a) b) (^ c d))"},
        {"a << 1 + b", "(<< a (+ 1 b))"},
        {"a & b == c", "(== (& a b) c)"},
        {"a | b < c", "(< (| a b) c)"},
        {"a @ b * c // d % e / f", "(/ (% (// (* (@ a b) c) d) e) f)"},
        {"-x.T[0](1)", "(- (apply (index (.T x) 0) 1))"},
        {"f(x, axis=0).sum(1)[a, 1:, ::2, ..., None]",
         "(index (.sum (f x (:axis 0)) 1) a (slice 1 _ _) (slice _ _ 2) ... None)"},
        {"lambda x, h: x + h", "(lambda x h (+ x h))"},
        {"reap(f, tag='t')(x)", "(apply (reap f (:tag \"t\")) x)"},
        {"[1, 2.5, (3,), (), {'a': 1j}]",
         "(list 1 2.5 (tuple 3) (tuple) (dict (:a 1j)))"},
        {"(a)", "a"},
        {"sum(x, **p)", "(sum x **p)"},
        {"x[\n 1,\n 2] # note", "(index x 1 2)"},
        {"'a\\n\\x41\\u00e9\\'' ", "\"a\\nA\xc3\xa9'\""},
        {"0x1F + 0o17 + 0b11 + 1_000 + .5 + 1. + 1e3 + 1_0.5",
         "(+ (+ (+ (+ (+ (+ (+ 31 15) 3) 1000) 0.5) 1) 1000) 10.5)"},
        {"True == None", "(== True None)"},
        {"inf - nan", "(- inf nan)"},
        {"- + ~ a", "(- (+ (~ a)))"},
        {"a < b <= c == d", "(chain a (< b) (<= c) (== d))"},
        {"(a < b) < c", "(< (< a b) c)"},
        {"a < b | c", "(< a (| b c))"},
        {"not a == b", "(not (== a b))"},
        {"not not a and b or c and d or e", "(or (and (not (not a)) b) (and c d) e)"},
        {"a or b if c and d else e if f else g", "(if (and c d) (or a b) (if f e g))"},
        {"lambda x: a if b else lambda: c", "(lambda x (if b a (lambda c)))"},
        {"lambda x: (y := x + 1) * y", "(lambda x (* (:= y (+ x 1)) y))"},
        {"lambda: f(a := 1, [b := 2], c[d := 3], k=(e := 4))",
         "(lambda (f (:= a 1) (list (:= b 2)) (index c (:= d 3)) (:k (:= e 4))))"},
        {"x[a if b else c:]", "(index x (slice (if b a c) _ _))"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_parse(table[i][0], table[i][1]);
}

static void check_error(const char *text, uint32_t begin, const char *message) {
    Arena *a = arena_new(s);
    const Ast **e;
    size_t n;
    CHECK(!ast_parse_block(s, a, text_span(text), &e, &n), "%s", text);
    CHECK(diag_count(s) == 1, "%s: %zu diagnostics", text, diag_count(s));
    if (diag_count(s)) {
        CHECK_STR(diag_get(s, 0)->text, message);
        CHECK(diag_get(s, 0)->at.begin == begin, "%s: at %u", text,
              diag_get(s, 0)->at.begin);
    }
    diag_clear(s);
    arena_free(a);
}

static void test_syntax_errors(void) {
    check_error("y = and b", 4,
                "`and` is a Python keyword: it stands between two expressions, as in "
                "`a and b`");
    check_error("y = a + not b", 8,
                "`not` is a Python keyword: put it in brackets: (not a)");
    check_error("y = if b", 4,
                "`if` is a Python keyword: write `a if condition else b`");
    check_error("y = a in b", 6,
                "`in` is a Python keyword: write any(x == value), or isin(x, values)");
    check_error("y = a if b", 10,
                "the text ends where `else` of `a if condition else b` is expected");
    check_error("y := 3", 2,
                "`:=` names a value inside a lambda: here write a line `name = "
                "expression`");
    check_error("y = f((z := 3))", 9,
                "`:=` names a value inside a lambda: here write a line `name = "
                "expression`");
    check_error("y = lambda x: z := x", 16,
                "`:=` and its name stand in brackets: `(name := expression)`");
    check_error("y = lambda x: f(k=z := x)", 20,
                "`:=` and its name stand in brackets: `(name := expression)`");
    check_error("y = lambda x: (pi := x)", 15,
                "`pi` is a literal: it can't be defined");
    check_error("y = for", 4, "`for` is a Python keyword: use scan or map for a loop");
    check_error("yield = 1", 0, "`yield` is a Python keyword");
    check_error("pi = 3", 0, "`pi` is a literal: it can't be defined");
    check_error("y = !a", 4, "`!` is not an operator: write `~x`, or `a != b`");
    check_error(
        "y = a = b", 6,
        "a line has one `=`: each name is defined in a line of its own, and `==` "
        "compares");
    check_error("y = (a = b)", 7, "`=` only defines a name; to compare write `==`");
    check_error("y = (a + b", 4, "`(` is never closed");
    check_error("y = [a, b)", 9, "`)` where `,` or `]` is expected");
    check_error("y = a +\nz = b", 7,
                "the line ends where an expression is expected (inside brackets an "
                "expression may go on)");
    check_error("y = 012", 4, "an integer has no leading zeros (write 0o17 for octal)");
    check_error("y = 1__0", 4, "`1__0` is not a number");
    check_error("y = 2x", 4, "`2x` is not a number");
    check_error("y = 99999999999999999999", 4, "the integer does not fit in 64 bits");
    check_error("y = 'a", 4, "the string is not closed on its line");
    check_error("y = f'a'", 4, "strings have no prefix: write 'text'");
    check_error("y = 'a' 'b'", 8,
                "strings side by side are not joined: write one string");
    check_error("y = a \xc3\x97 b", 6, "`\xc3\x97` (U+00D7) is not ASCII: write *");
    check_error("y = \xce\xb1", 4,
                "`\xce\xb1` (U+03B1): names and operators are ASCII");
    check_error("y += 1", 2,
                "a name is defined once: write `y = x + 1` with a new name");
    check_error("y = a; z = b", 5,
                "`;` is not part of the language: write one statement a line");
    check_error("y = f(a=1, b)", 11,
                "an argument without a name comes after one with a name");
    check_error("y = f(a=1, a=2)", 11, "the argument `a` occurs twice");
    check_error("y = x[]", 6, "`]` where an index is expected");
    check_error("a, a = f(x)", 3, "the name `a` occurs twice");
    check_error("y = a, b", 5, "put several values in brackets: (a, b)");
    check_error("y = x.True", 6,
                "`True` where the name of an attribute or method is expected");
    check_error("a + b", 2,
                "`+` where `=` of a statement `name = expression` is expected");
}

static bool parses(const char *text) {
    Arena *a = arena_new(s);
    bool ok = ast_parse(s, a, text_span(text)) != NULL;
    arena_free(a);
    return ok;
}

static void check_depth(const char *open, const char *close) {
    for (int n = EXPR_DEPTH; n <= EXPR_DEPTH + 1; n++) {
        Str b = STR(s);
        for (int i = 0; i < n; i++)
            str_puts(&b, open);
        str_puts(&b, "x");
        for (int i = 0; i < n; i++)
            str_puts(&b, close);
        CHECK(parses(str_text(&b)) == (n == EXPR_DEPTH), "%s %d", open, n);
        if (n > EXPR_DEPTH) CHECK(diag_first_error(s)->code == E_LIMIT);
        diag_clear(s);
        str_free(&b);
    }
}

static void test_depth(void) {
    check_depth("(", ")");
    check_depth("-", "");
    check_depth("f(", ")");
    check_depth("x[", "]");
    check_depth("2**", "");
    check_depth("lambda y: ", "");
    Str b = STR(s); /* much deeper: an error, not the machine */
    for (int i = 0; i < 100000; i++)
        str_puts(&b, i % 2 ? "-(" : "a | b ^ c & d << e + f * [");
    CHECK(!parses(str_text(&b)) && diag_first_error(s)->code == E_LIMIT);
    diag_clear(s);
    str_free(&b);
}

/* ---- compiling ---- */

/* NULL: diagnosed. */

/* The type of y. */
static void check_type(const char *text, const char *want) {
    Graph *g = compile_text(text);
    if (g) {
        CHECK_STR(type_str(s, var_type(g, graph_find(g, sym(s, "y")))), want);
        graph_free(g);
    } else {
        CHECK_STR(first_error(), want);
    }
    diag_clear(s);
}

static void test_weak(void) {
    check_type("y = x * 2.5", "float32[n, 4]");
    check_type("y = x + 1", "float32[n, 4]");
    check_type("y = x + True", "float32[n, 4]");
    check_type("y = x * 1j", "complex64[n, 4]");
    check_type("y = v * 1j", "complex128[3]");
    check_type("y = k + 1", "int32[5]");
    check_type("y = k + 1.5", "float64[5]");
    check_type("y = k / 2", "float64[5]");
    check_type("y = u - 1", "uint8[2]");
    check_type("y = u - -1", "-1 is out of range of uint8");
    check_type("y = u < 256", "256 is out of range of uint8");
    check_type("y = m + 1", "int64[5]");
    check_type("y = m + 1.0", "float64[5]");
    check_type("y = h * 1e10", "1e10 is out of range of float16");
    check_type("y = v * 1e400", "1e400 is out of range of float64");
    check_type("y = v * inf", "float64[3]");
    check_type("y = x / n", "float32[n, 4]");
    check_type("y = x / (n - 1)", "float32[n, 4]");
    check_type("y = x * x.shape[1]", "float32[n, 4]");
    check_type("y = x * x.size", "float32[n, 4]");
    check_type("y = n / 2", "float64");
    check_type("a = 2.5\ny = x * a", "float64[n, 4]");
    check_type("a = 2\ny = x * a", "float64[n, 4]");
    check_type("a = 2\ny = k * a", "int64[5]");
    check_type("y = x + [1, 2, 3, 4]", "float32[n, 4]");
    check_type("y = u * [1, 300]", "300 is out of range of uint8");
    check_type("y = where(m, 1, k)", "int32[5]");
    check_type("y = where(m, 1.5, k)", "float64[5]");
    check_type("y = maximum(x, 0)", "float32[n, 4]");
    check_type("y = array([1, 2.5])", "float64[2]");
    check_type("y = array([1, i])", "int64[2]");
    check_type("y = array([1.5, i])", "float64[2]");
    check_type("y = array([], dtype='float32', shape=(0, 3))", "float32[0, 3]");
    check_type("y = float32(1.5)", "float32");
    check_type("y = uint8(300)", "300 is out of range of uint8");
    check_type("y = zeros((2, n), dtype=x.dtype)", "float32[2, n]");
    check_type("y: float32[3] = ones(3)", "float32[3]");
    check_type("y: float32[2] = [0.1, 2]", "float32[2]");
    check_type("y: int32 = 2.5", "2.5 is not an integer, which is required for int32");
    check_type("y: float32[3] = v", "the declared type is float32[3], but the value is "
                                    "float64[3]: cast it with float32(...)");
    check_type("y: float32[3, 4] = x", "float32[3, 4]");
    check_type("y = reshape(x, (-1, 2))", "float32[?, 2]");
    check_type("y = zeros(x.shape[:-1] + (7,))", "float64[n, 7]");
    check_type("y = x[1:, 0]", "float32[?]");
    check_type("y = k[[True, False, True, False, False]]", "int32[?]");
    check_type("t = {'a': [x, v]}\ny = t['a'][1]", "float64[3]");
    check_type("f = lambda a, b: a * b + 1\ny = f(x, 2)", "float32[n, 4]");
    check_type("y = (lambda a: a + n)(i)", "int64");
    check_type("y = x / sqrt(2.)", "float32[n, 4]");
    check_type("y = x * log(2 * pi)", "float32[n, 4]");
    check_type("y = x * (n < 3)", "float32[n, 4]");
    check_type("y = h + exp([1, 2, 3])", "float16[3]");
    check_type("y = k + maximum(2, i)", "int64[5]");
    check_type("y = k + minimum(2, n)", "int32[5]");
    check_type("a = sqrt(2.)\ny = x * a", "float64[n, 4]");
    check_type("y = x * float64(sqrt(2.))", "float64[n, 4]");
    check_type("y = x * sum([1., 2.])", "float64[n, 4]");
    check_type("y = x @ W + v", "float64[n, 3]");
    check_type("y = x.T.sum(axis=0).T", "float32[n]");
}

/* The value of a folded literal. */
static void check_fold(const char *text, const char *want) {
    Str b = STR(s);
    str_printf(&b, "y = %s", text);
    Graph *g = compile_text(str_text(&b));
    str_clear(&b);
    const Tensor *t = g ? var_const(g, graph_find(g, sym(s, "y"))) : NULL;
    if (t)
        tensor_text(s, t, -1, &b);
    else
        str_puts(&b, first_error());
    CHECK_STR(str_text(&b), want);
    str_free(&b);
    graph_free(g);
    diag_clear(s);
}

static void test_fold(void) {
    check_fold("7 // -2", "-4");
    check_fold("-7 % 3", "2");
    check_fold("7 % -3", "-2");
    check_fold("-7.5 // 2", "-4.0");
    check_fold("-7.5 % 2", "0.5");
    check_fold("7.5 % -2", "-0.5");
    check_fold("7 / 2", "3.5");
    check_fold("6 / 2", "3.0");
    check_fold("2 ** -1", "0.5");
    check_fold("2 ** 62", "4611686018427387904");
    check_fold("(-2) ** 63", "-9223372036854775808");
    check_fold("2 ** 64", "the resulting integer fits neither int64 nor uint64");
    check_fold("2 ** 63", "9223372036854775808 is out of range of int64");
    check_fold("18446744073709551615 - 18446744073709551614", "1");
    check_fold("-9223372036854775808", "-9223372036854775808");
    check_fold("1 << 62", "4611686018427387904");
    check_fold("-9 >> 1", "-5");
    check_fold("6 & 3 | 8 ^ 1", "11");
    check_fold("True + True", "2");
    check_fold("True & False", "False");
    check_fold("~5", "-6");
    check_fold("1 < 2.5", "True");
    check_fold("9007199254740993 == 9007199254740992.0", "False");
    check_fold("nan == nan", "False");
    check_fold("1 / 0", "a division of literals by zero");
    check_fold("0.1 + 0.2", "0.30000000000000004");
    check_fold("-0.0", "-0.0");
    check_fold("(1 + 2j) * (3 - 1j)", "(5.0+5.0j)");
    check_fold("float32(0.1)", "0.1");
    check_fold("float32(16777217)", "16777216.0");
    check_fold("float32(1.00000017881393432617187499)",
               "1.0000001"); /* rounded once, not through float64 */
    check_fold("int32(-2.7)", "-2");
    check_fold("bool(2)", "True");
    check_fold("uint64(18446744073709551615)", "18446744073709551615");
    check_fold("x.shape[1] * 2", "8");
    check_fold("x.ndim", "2");
    check_fold("array([[1, 2], [3, 4]], dtype=uint8)", "[[1, 2], [3, 4]]");
    check_fold("array([1, [2]])",
               "the rows of a nested list must all have the same shape");
    check_fold("complex128(1, -0.0)", "(1.0-0.0j)");
}

static void check_fails(const char *text, DiagCode code, const char *message) {
    Graph *g = compile_text(text);
    CHECK(!g, "%s", text);
    CHECK(diag_count(s) == 1, "%s: %zu diagnostics", text, diag_count(s));
    if (diag_first_error(s)) {
        CHECK(diag_first_error(s)->code == code, "%s: %s", text,
              diag_name(diag_first_error(s)->code));
        CHECK_STR(first_error(), message);
    }
    graph_free(g);
    diag_clear(s);
}

static void test_errors(void) {
    check_fails("y = xx + 1", E_NAME, "`xx` is not defined: did you mean `x`?");
    check_fails("y = maximun(x, 1)", E_NAME,
                "there is no function `maximun`: did you mean `maximum`?");
    check_fails("y = y + 1", E_CYCLE, "the name is defined in terms of itself: y -> y");
    check_fails("a = b\nb = c\nc = a", E_CYCLE,
                "definitions depend on each other in a cycle: a -> b -> c -> a");
    check_fails("n = 3", E_DUPLICATE,
                "`n` is already a dim of the graph: a dim and a variable can't have "
                "the same name");
    check_fails("x = 3", E_DUPLICATE, "`x` is already an input of the graph");
    check_fails("a = 3\na = 4", E_DUPLICATE, "`a` is defined twice");
    check_fails("y = sum(x, axes=0)", E_ARG,
                "sum has no argument axes; its signature is sum(x, axis: axes = None, "
                "dtype: dtype? = None, keepdims: bool = False)");
    check_fails("y = add(x)", E_ARITY,
                "add needs the argument y; its signature is add(x, y)");
    check_fails("y = add(x, x, x)", E_ARITY,
                "add got too many arguments; its signature is add(x, y)");
    check_fails(
        "y = add(x, x=x)", E_ARG,
        "add got a second value for the argument x; its signature is add(x, y)");
    check_fails("y = sum(x, keepdims=1)", E_ARG,
                "sum: keepdims must be True or False, known when the graph is built, "
                "not a number");
    check_fails("a, b = x", E_ARITY,
                "2 names for the rows of float32[n, 4], whose number is not known");
    check_fails("a, b = [x, v, x]", E_ARITY, "2 names for 3 values");
    check_fails("y = 'text' + x", E_TYPE, "a string where a tensor is expected");
    check_fails(
        "y = x[1.5]", E_TYPE,
        "an index must be an integer, a slice, None, `...` or an array, not a float");
    check_fails("y = x.shape[2]", E_VALUE, "axis 2 of a tensor with 2 dims");
    check_fails("t = {'one': x}\ny = t['two']", E_NAME, "the dict has no key 'two'");
    check_fails("y = load('a.npy')", E_ARG, "files can't be loaded here");
    check_fails("y = sum(x, **p)", E_SYNTAX, "`**p` is only for rewrite rules");
    check_fails("y = x.foo", E_NAME,
                "there is no attribute `.foo`; the attributes are .T .shape .ndim "
                ".size .dtype");
    check_fails("f = lambda x: f(x)\ny = f(1)", E_CYCLE,
                "the name is defined in terms of itself: f -> f");
    check_fails("y: float32[3]", E_SYNTAX,
                "`y` has no value here: write `y: type = expression`");
}

/* ---- printing ---- */

/* All names as outputs, so that graph_equal looks at everything. */
static void names_as_outputs(Graph *g, const Graph *like) {
    for (size_t i = 0; i < like->names.n; i++) {
        VarName n = like->names.p[i];
        Var v = graph_find(g, n.name);
        if (var_leaf(like, n.var) != LEAF_INPUT && v != VAR_NONE)
            vec_push(s, &g->outputs, ((Output){n.name, v}));
    }
}

/* Prints as `want` (NULL: whatever); what is printed reads back to an equal graph that
 * prints the same. */
static void check_print(const char *text, const char *want) {
    Graph *g = compile_text(text);
    CHECK(g, "%s: %s", text, first_error());
    if (!g) {
        diag_clear(s);
        return;
    }
    char *once = print_text(g, PRINT_STATEMENTS);
    if (want) CHECK_STR(once, want);
    Graph *again = compile_text(once);
    CHECK(again, "%s: %s", once, first_error());
    if (again) {
        char *twice = print_text(again, PRINT_STATEMENTS);
        CHECK_STR(twice, once);
        ApplyId x, y;
        Str why = STR(s);
        names_as_outputs(again, g);
        names_as_outputs(g, g);
        CHECK(graph_equal(g, again, &x, &y, &why), "%s: %s", text, str_text(&why));
        str_free(&why);
        free(twice);
        graph_free(again);
    }
    free(once);
    graph_free(g);
    diag_clear(s);
}

static void test_print(void) {
    check_print("y = (x @ W + v) ** 2",
                "_1 = x @ W\n_2 = float64(_1)\n_3 = _2 + v\ny = _3 ** 2.0\n");
    check_print("y = x ** -2.0\nq = (-2.0) ** x\nr = -x ** 2",
                "y = x ** -2.0\nq = (-2.0) ** x\n_1 = x ** 2.0\nr = -_1\n");
    check_print("y = v * float32(1.5)", NULL);
    check_print("y = v + float64(0.1)", "y = v + 0.1\n");
    check_print("y = x + float64(0.1)", "_1 = float64(x)\ny = _1 + 0.1\n");
    check_print("y = add(int32(2), 3)\nq = add(2, 3)\nr = add(float32(2), 3)",
                "y = int32(2) + 3\nq = int64(2) + 3\nr = float32(2.0) + 3.0\n");
    check_print("y = exp(2.5)\nq = -float32(2)\nr = ~int64(5)",
                "y = exp(float64(2.5))\nq = -float32(2.0)\nr = ~int64(5)\n");
    check_print(
        "y = z * 2j\nq = z * complex64(1, -0.0)\nr = z * complex(nan, inf)",
        "y = z * (0.0+2.0j)\nq = z * complex(1.0, -0.0)\nr = z * complex(nan, inf)\n");
    check_print("y = v * -0.0\nq = v * nan\nr = v * -inf",
                "y = v * -0.0\nq = v * nan\nr = v * -inf\n");
    check_print("a = 2\nb = float32(2.5)\nc = b * a", NULL);
    check_print("y = array([[1.5, -0.0], [nan, inf]])",
                "y = array([[1.5, -0.0], [nan, inf]], dtype='float64')\n");
    check_print("y = x + array([0.1, 2, 3, 4], dtype='float32')",
                "y = x + array([0.1, 2.0, 3.0, 4.0], dtype='float32')\n");
    check_print(
        "y = array([], dtype='int32', shape=(0, 3))\nq = array([])",
        "y = array([], dtype='int32', shape=(0, 3))\nq = array([], dtype='float64')\n");
    check_print("y = array([1j, complex(-0.0, nan)], dtype=complex64)", NULL);
    check_print("y = x[1:, 0]\nq = x[::-2, None]\nr = x[..., n - 1]\nt = k[[0, 2]]\nw "
                "= k[m]\no = k[:i]\np = x[:, [[0], [1]]]",
                "y = x[1:, 0]\nq = x[::-2, None]\n_1 = n - 1\nr = x[..., _1]\nt = "
                "k[[0, 2]]\nw = k[m]\no = k[:i]\n"
                "p = x[:, [[0], [1]]]\n");
    check_print("y = set_subtensor(x[0], 1)\nq = inc_subtensor(k[1:3], [1, 2])",
                "y = set_subtensor(x[0], 1.0)\nq = inc_subtensor(k[1:3], array([1, 2], "
                "dtype='int32'))\n");
    check_print(
        "y = sum(x, 0, None, True)\nq = sum(x, axis=[0, 1])\nr = sum(x)",
        "y = sum(x, axis=0, keepdims=True)\nq = sum(x, axis=[0, 1])\nr = sum(x)\n");
    check_print("y = zeros((n, 3))\nq = full(2, 7, dtype='uint8')\nr: float32[2] = "
                "full(2, 0.1)",
                NULL);
    check_print(
        "y = reshape(x, (-1, 2))\nq = stack([i, n, 3])\nr = concatenate([v, v, [1]])",
        NULL);
    check_print(
        "y = float32(i)\nq = cast(v, dtype='float64')\nr = cast(int64(2), "
        "dtype='float32')",
        "y = float32(i)\nq = cast(v, dtype='float64')\nr = cast(2, dtype='float32')\n");
    check_print("y = where(m, 1, 0)\nq = where(m, k, 7)",
                "y = where(m, 1, 0)\nq = where(m, k, 7)\n");
    check_print("y = x\nq = y\nr = q + 1", NULL);
    check_print("_1 = x + 1\ny = _1 * 2 - 3", NULL);
    check_print("y = (1 < i) & ((i << 2) == 3 | 4)", NULL);
    check_print("y = arange(n)\nq = arange(0, 10, 2)\nr = arange(0.0, 1.0, 0.25)",
                NULL);
    check_print("y = u * 3 + u % 2\nq = k // 2\nr = h * 0.1", NULL);
    check_print("y = maximum(float16(1), h)\nq = minimum(uint8(3), u)", NULL);
    check_print("y = undefined('a \\'why\\'')", "y = undefined('a \\'why\\'')\n");
}

static void test_math(void) {
    Graph *g = compile_text(
        "y = -(x * 2 + 1) ** 2 / (x - (x - 1)) - ((i < 3) & (2 ** i > 1))");
    CHECK(g, "%s", first_error());
    if (!g) return;
    char *text = print_text(g, PRINT_MATH);
    CHECK_STR(text, "y = -(x * 2.0 + 1.0) ** 2.0 / (x - (x - 1.0)) - float32((i < 3) & "
                    "(2 ** i > 1))\n");
    free(text);
    graph_free(g);
}

/* ---- size ---- */

static void test_long(void) {
    enum { N = 100000 };
    Str b = STR(s);
    str_puts(&b, "y = v");
    for (int i = 0; i < N; i++)
        str_puts(&b, i % 2 ? " + v" : " - v * 2");
    Graph *g = compile_text(str_text(&b));
    CHECK(g && g->napply > N, "%s", first_error());
    graph_free(g);
    str_clear(&b);
    str_puts(&b, "y0 = v\n");
    Str lines = STR(s);
    for (int i = N; i > 0; i--)
        str_printf(&lines, "y%d = y%d + 1\n", i, i - 1);
    str_puts(&lines, str_text(&b));
    g = compile_text(str_text(&lines));
    CHECK(g && g->napply == N, "%s", first_error());
    graph_free(g);
    str_clear(&lines); /* postfix chains */
    str_puts(&lines, "y = v");
    for (int i = 0; i < 20000; i++)
        str_puts(&lines, i % 2 ? "[::1]" : ".exp()");
    g = compile_text(str_text(&lines));
    CHECK(g && g->napply == 20000, "%s", first_error());
    graph_free(g);
    str_free(&lines);
    str_free(&b);
    diag_clear(s);
}

static void test_hostile(void) {
    Str b = STR(s); /* 2^60 leaves */
    str_puts(&b, "t0 = [1, 2]\n");
    for (int i = 1; i < 60; i++)
        str_printf(&b, "t%d = [t%d, t%d]\n", i, i - 1, i - 1);
    CHECK(!compile_text(str_text(&b)) && diag_first_error(s)->code == E_LIMIT);
    diag_clear(s);
    str_clear(&b);
    str_puts(&b, "f0 = lambda x: x + 1\n");
    for (int i = 1; i < 60; i++)
        str_printf(&b, "f%d = lambda x: f%d(x) + f%d(x)\n", i, i - 1, i - 1);
    str_puts(&b, "y = f13(v)");
    Graph *g = compile_text(str_text(&b));
    CHECK(g && g->napply == 16383, "%s", first_error());
    graph_free(g);
    diag_clear(s);
    str_free(&b);
}

/* As deep as the parser lets through: the compiler's stack must do. */
static void test_deep(void) {
    static const char *const part[][2] = {
        {"i | i ^ i & i << i + i * (", ")"}, {"exp(", ")"}, {"-(", ")"}};
    static const int times[] = {80, 199, 99};
    for (int k = 0; k < 3; k++) {
        Str b = STR(s);
        str_puts(&b, "y = ");
        for (int i = 0; i < times[k]; i++)
            str_puts(&b, part[k][0]);
        str_puts(&b, "i");
        for (int i = 0; i < times[k]; i++)
            str_puts(&b, part[k][1]);
        Graph *g = compile_text(str_text(&b));
        CHECK(g, "%s", first_error());
        graph_free(g);
        diag_clear(s);
        str_free(&b);
    }
}

int main(void) {
    s = session_new(NULL, NULL);
    test_precedence();
    test_syntax_errors();
    test_depth();
    test_weak();
    test_fold();
    test_errors();
    test_print();
    test_math();
    test_long();
    test_hostile();
    test_deep();
    session_free(s);
    return TEST_END("expr");
}
