/* The texts of the catalogue's rows: each parses, its names mean something, lines are
 * used and free of cycles. And what lines mean. */
#include "base/toposort.h"
#include "lang/compile_impl.h"
#include "test.h"
#include "userop/userop.h"

static Session *s;

/* ---- lines: names ---- */

enum { LINES = 64 };
typedef struct Lines {
    const Op *op;
    const char *what; /* pullback, pushforward, def */
    const AstCase *line;
    size_t n;
    uint32_t need[LINES * LINES], nneed;
    bool used[LINES];
    const Ast *lambda[8]; /* around the expression */
    size_t nlambda;
} Lines;

static Sym joined(char letter, Sym name) {
    char text[80];
    snprintf(text, sizeof text, "%c_%s", letter, sym_text(s, name));
    return sym(s, text);
}

static bool defines(const AstCase *line, Sym name) {
    for (size_t k = 0; k + 1 < line->line->nkid; k++)
        if (line->line->kid[k]->sym == name) return true;
    return false;
}

static bool has_param(const Lines *l, Sym name) {
    for (size_t i = 0; i < l->nlambda; i++)
        for (size_t k = 0; k + 1 < l->lambda[i]->nkid; k++)
            if (l->lambda[i]->kid[k]->sym == name) return true;
    return false;
}

static bool is_row_name(const Lines *l, Sym name) {
    const Signature *sig = op_signature(s, l->op);
    bool pull = strcmp(l->what, "pullback") == 0, def = strcmp(l->what, "def") == 0;
    for (size_t i = 0; i < sig->nin; i++)
        if (sig->in[i].name == name ||
            (!pull && !def && joined('t', sig->in[i].name) == name))
            return true;
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].name == name) return true;
    for (size_t i = 0; !def && i < sig->nout; i++)
        if (sig->out[i] == name || (pull && joined('g', sig->out[i]) == name))
            return true;
    return pull && name == sym(s, "g");
}

/* What an Apply with all outputs, or one, must define. */
static bool is_result(const Lines *l, Sym name) {
    const Signature *sig = op_signature(s, l->op);
    if (strcmp(l->what, "def") == 0) return name == sym(s, "r");
    bool pull = strcmp(l->what, "pullback") == 0;
    for (size_t i = 0; pull && i < sig->nin; i++)
        if (joined('g', sig->in[i].name) == name) return true;
    for (size_t i = 0; !pull && i < sig->nout; i++)
        if (joined('t', sig->out[i]) == name) return true;
    return !pull && sig->nout > 1 && name == sym(s, "t_r");
}

static bool is_helper(const char *name) {
    const char *of;
    for (size_t i = 0; (of = text_lines_function(i)); i++)
        if (strcmp(of, name) == 0) return true;
    return strcmp(name, "is_connected") == 0;
}

static bool uses_line(Lines *l, Sym name) {
    bool is = false;
    for (size_t i = 0; i < l->n; i++)
        if (defines(&l->line[i], name)) {
            is = l->used[i] = true;
            l->need[l->nneed++] = (uint32_t)i;
        }
    return is;
}

static void check_names(Lines *l, const Ast *e) {
    const char *name = sym_text(s, e->sym);
    bool lambda = e->kind == AST_LAMBDA;
    if (e->kind == AST_NAME) {
        bool known = has_param(l, e->sym) || uses_line(l, e->sym) ||
                     is_row_name(l, e->sym) || strcmp(name, "inf") == 0 ||
                     strcmp(name, "floatX") == 0 ||
                     dtype_find(name, strlen(name)) != DT_NONE ||
                     strcmp(name, "disconnected") == 0;
        CHECK(known, "%s: %s: %s means nothing", l->op->name, l->what, name);
    }
    if (e->kind == AST_CALL) {
        for (size_t i = 0; i < l->n; i++)
            CHECK(!defines(&l->line[i], e->sym) || !op_find(s, name, strlen(name)),
                  "%s: %s: the op %s hides the line's function", l->op->name, l->what,
                  name);
        bool known = op_find(s, name, strlen(name)) || builtin_is_name(name) ||
                     macro_find(name, strlen(name)) || uses_line(l, e->sym) ||
                     is_helper(name) || dtype_find(name, strlen(name)) != DT_NONE;
        CHECK(known, "%s: %s: there is no %s()", l->op->name, l->what, name);
    }
    if (lambda) l->lambda[l->nlambda++] = e;
    for (size_t i = lambda ? e->nkid - 1 : 0; i < e->nkid; i++)
        if (e->kid[i]) check_names(l, e->kid[i]);
    l->nlambda -= lambda;
}

static void check_lines(const Op *op, const char *what, const char *text) {
    static Lines l;
    uint32_t first[LINES + 1] = {0}, order[LINES], cycle;
    Arena *a = arena_new(s);
    uint32_t source = source_add(s, op->name, text, strlen(text));
    l = (Lines){.op = op, .what = what};
    bool ok =
        ast_parse_cases(s, a, (Span){source, 0, (uint32_t)strlen(text)}, &l.line, &l.n);
    CHECK(ok && l.n <= LINES, "%s: %s", op->name, what);
    for (size_t i = 0; ok && i < l.n; i++) {
        const Ast *e = l.line[i].line;
        check_names(&l, e->kid[e->nkid - 1]);
        for (size_t k = 0; k < l.line[i].nwhen; k++)
            check_names(&l, l.line[i].when[k]);
        first[i + 1] = l.nneed;
    }
    CHECK(toposort(s, (uint32_t)l.n, first, l.need, order, &cycle),
          "%s: %s: lines define each other", op->name, what);
    for (size_t i = 0; ok && i < l.n; i++) {
        const Ast *e = l.line[i].line;
        bool result = false;
        for (size_t k = 0; k + 1 < e->nkid; k++) {
            const char *name = sym_text(s, e->kid[k]->sym);
            result |= is_result(&l, e->kid[k]->sym);
            CHECK(!is_helper(name) || !op_find(s, name, strlen(name)), "%s", name);
        }
        CHECK(l.used[i] || result, "%s: %s: nothing uses %s", op->name, what,
              sym_text(s, e->kid[0]->sym));
    }
    arena_free(a);
}

/* Each input that isn't disconnected has a gradient, each output may have a tangent. */
static void check_results(const Op *op) {
    const Signature *sig = op_signature(s, op);
    for (size_t i = 0; op->pullback && i < sig->nin; i++) {
        const char *name = sym_text(s, sig->in[i].name);
        char line[80];
        snprintf(line, sizeof line, "g_%s = ", name);
        bool off = op->disconnected && strstr(op->disconnected, name);
        CHECK(off || strstr(op->pullback, line), "%s: no gradient of %s", op->name,
              name);
    }
}

static void test_lines(void) {
    const char *name;
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        if (op->pullback) check_lines(op, "pullback", op->pullback);
        if (op->pushforward) check_lines(op, "pushforward", op->pushforward);
        if (op->def && strchr(op->def, '\n')) check_lines(op, "def", op->def);
        check_results(op);
    }
    for (size_t i = 0; (name = text_lines_function(i)); i++)
        CHECK(!op_find(s, name, strlen(name)) && !macro_find(name, strlen(name)) &&
                  !builtin_is_name(name),
              "the function %s of lines hides behind another", name);
}

/* ---- texts of one expression ---- */

static void check_text(const Op *op, UserOpMember of, const char *text) {
    if (!text || strncmp(text, "undefined", 9) == 0) return;
    uint32_t source = source_add(s, op->name, text, strlen(text));
    CHECK(userop_check_text(s, op, of, (Span){source, 0, (uint32_t)strlen(text)}),
          "%s: %s", op->name, text);
}

static void test_expressions(void) {
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        size_t n = op_signature(s, op)->nin;
        for (size_t k = 0; op->partial && k < n; k++)
            check_text(op, OWN_PARTIALS, op->partial[k]);
        for (size_t k = 0; op->adjoint && k < n; k++)
            check_text(op, OWN_ADJOINT, op->adjoint[k]);
        check_text(op, OWN_SHAPE, op_rare(op)->shape);
    }
}

/* ---- what lines mean: results against the expressions they stand for ---- */

static const Op probe = {.name = "probe",
                         .in = "a, b",
                         .props = "k: int = 0, how: str? = None",
                         .out = "x, y"};

typedef struct Pulled {
    const char *lines;
    const char *props;  /* of the Apply */
    const char *live;   /* outputs that have a cotangent, "xy" */
    const char *expect; /* of a: an expression in a, b, x, y, g_x, g_y; "": nothing */
} Pulled;
static const Pulled pulled[] = {
    /* 0 in sums, products, calls, choices */
    {"g_a = a * g_x + g_y", "", "xy", "a * g_x + g_y"},
    {"g_a = a * g_x + g_y", "", "x", "a * g_x"},
    {"g_a = a * g_x + g_y", "", "y", "g_y"},
    {"g_a = g_x - b @ g_y", "", "y", "-(b @ g_y)"},
    {"g_a = -(g_x / b) - mH(g_y)", "", "x", "-(g_x / b)"},
    {"g_a = exp(a) * sum(g_x, axis=0) + solve(a, g_y)", "", "y", "solve(a, g_y)"},
    {"g_a = where(b > 0, g_x, g_y)", "", "x", "where(b > 0, g_x, 0)"},
    {"g_a = where(b > 0, 0, g_x) + g_y", "", "y", "g_y"},
    {"g_a = g_x[0] + g_x.T", "", "y", "zeros_like(a, dtype=float64)"},
    /* conditions: the first line that holds; else the row's meaning, else 0 */
    {"g_a = g_x when k == 1\ng_a = 2 * g_x", "k=1", "x", "g_x"},
    {"g_a = g_x when k == 1\ng_a = 2 * g_x", "k=2", "x", "2 * g_x"},
    {"g_a = g_x when k > 0, k < 3\ng_a = 2 * g_x", "k=3", "x", "2 * g_x"},
    {"g_a = g_x when ~(k > 0) | (k < 3) & (k > 1)", "k=2", "x", "g_x"},
    {"g_a = g_x when ~(k > 0) | (k < 3) & (k > 1)", "k=3", "x",
     "zeros_like(a, dtype=float64)"},
    {"g_a = g_x when how == 'so'\ng_a = -g_x", "how='so'", "x", "g_x"},
    {"g_a = g_x when how == 'so'\ng_a = -g_x", "", "x", "-g_x"},
    {"g_a = g_x when how == None\ng_a = -g_x", "", "x", "g_x"},
    {"g_a = g_x * b\nb = a when k == 1", "k=1", "x", "g_x * a"},
    {"g_a = g_x * b\nb = a when k == 1", "", "x", "g_x * b"},
    {"g_a = g_x + z\nz = a when k == 1", "", "x", "g_x"},
    {"g_a = g_x when is_connected(g_x)\ng_a = 2 * g_y", "", "xy", "g_x"},
    {"g_a = g_x when is_connected(g_x)\ng_a = 2 * g_y", "", "y", "2 * g_y"},
    {"g_a = g_y when is_connected(z)\nz = b * g_x\ng_a = g_x", "", "y",
     "zeros_like(a, dtype=float64)"},
    {"g_a = g_x when is_complex(a)\ng_a = cj(g_x) + re(b)", "", "x", "g_x + b"},
    {"g_a = g_x when is_tall(a)\ng_a = 2 * g_x when is_wide(a)\ng_a = 3 * g_x", "", "x",
     "3 * g_x"},
    /* lines in any order, several targets, functions, which see no parameters of others
     */
    {"g_a = z + z\nz = w * g_x\nw = b + 1", "", "x", "(b + 1) * g_x + (b + 1) * g_x"},
    {"q, r = qr(a)\ng_a = r @ g_x", "", "x", "qr(a)[1] @ g_x"},
    {"f = lambda v, w: v @ b - w\ng_a = f(g_x, a) + f(g_x, 2)", "", "x",
     "(g_x @ b - a) + (g_x @ b - 2)"},
    {"f = lambda a: h(a) + 1\nh = lambda v: v * a\ng_a = f(g_x)", "", "x",
     "g_x * a + 1"},
    {"f = lambda v: b @ v\ng_a = f(g_x) + g_y", "", "y", "g_y"},
    {"g_a = column(g_x, b)", "", "x", "g_x"},
    {"g_a = half(g_x, k == 1)", "k=1", "x", "tril(g_x) - 0.5 * triu(tril(g_x))"},
    {"g_a = mirror(g_x, False)", "", "x",
     "(triu(g_x) - 0.5 * tril(triu(g_x))) + swapaxes(triu(g_x) - 0.5 * "
     "tril(triu(g_x)), -1, -2)"},
    /* summed over broadcast dims; undefined */
    {"g_a = stack([g_x, g_x])", "", "x", "sum(stack([g_x, g_x]), axis=0)"},
    {"g_a = disconnected", "", "x", "zeros_like(a, dtype=float64)"},
};

static bool probe_type(Infer *in) {
    in->out[0] = in->out[1] = in->type[0];
    return true;
}

static void test_pulled(Builder *b, const Op *op, const Pulled *t) {
    Graph *g = b->g;
    Arena *tmp = arena_new(s);
    const Type *m = type_parse(s, "float64[3, 3]", 13, NOWHERE);
    const char *names[] = {"a", "b", "g_x", "g_y"};
    Bind bind[6];
    const Props *props = NULL;
    bool wanted[2] = {true, false}, ok;
    Var out[2], grad[2];
    for (size_t i = 0; i < 4; i++) {
        Sym y = sym(s, names[i]);
        Var v = graph_find(g, y);
        bind[i] = (Bind){y, v == VAR_NONE ? graph_input(g, y, m) : v};
    }
    Var in[2] = {bind[0].var, bind[1].var};
    CHECK(props_from_text(b, op, t->props, &props) &&
          op_apply(b, op, props, 2, in, out));
    bind[4] = (Bind){sym(s, "x"), out[0]};
    bind[5] = (Bind){sym(s, "y"), out[1]};
    Var cotangent[2] = {strchr(t->live, 'x') ? bind[2].var : VAR_NONE,
                        strchr(t->live, 'y') ? bind[3].var : VAR_NONE};
    Pull p = {.b = b,
              .g = g,
              .id = var_owner(g, out[0]),
              .op = op,
              .props = props,
              .nin = 2,
              .nout = 2,
              .in = in,
              .out = out,
              .cotangent = cotangent,
              .wanted = wanted,
              .grad = grad};
    Env env = {.n = 6, .bind = bind};
    Var want = template_build(b, t->expect, &env, &ok);
    uint32_t before = g->napply;
    CHECK(grad_lines_pull(&p, t->lines), "%s", t->lines);
    CHECK(grad[0] == want && grad[1] == GRAD_DISCONNECTED, "%s", t->lines);
    CHECK(g->napply == before, "%s: builds what the result doesn't need", t->lines);
    arena_free(tmp);
}

static void test_meaning(void) {
    static Op op;
    Graph *g = graph_new(s);
    Builder b = builder(g, true);
    op = probe;
    op.type = probe_type;
    op_add(s, &op, NOWHERE);
    for (size_t i = 0; i < sizeof pulled / sizeof *pulled; i++)
        test_pulled(&b, &op, &pulled[i]);
    graph_free(g);
}

/* ---- mistakes in lines are reported at their place ---- */
static void test_mistakes(void) {
    static const char *const text[] = {"g_a = ",       "g_a + 1",
                                       "g_a = 1 when", "g_a = 1 when k, ",
                                       "g_a = 1 if k", "g_a = 1; b = 2"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        const AstCase *line;
        size_t n, had = diag_count(s);
        Arena *a = arena_new(s);
        uint32_t source = source_add(s, "<test>", text[i], strlen(text[i]));
        bool ok = ast_parse_cases(s, a, (Span){source, 0, (uint32_t)strlen(text[i])},
                                  &line, &n);
        CHECK(!ok && n == 0 && diag_count(s) == had + 1, "%s", text[i]);
        diag_rewind(s, had);
        arena_free(a);
    }
}

int main(void) {
    s = session_new(NULL, NULL);
    test_lines();
    test_expressions();
    test_meaning();
    test_mistakes();
    CHECK(diag_count(s) == 0);
    session_free(s);
    return TEST_END("text_lines");
}
