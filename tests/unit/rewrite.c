/* lib/rewrite: matching, the driver, what may not change. */
#include "rewrite/rewrite.h"

#include "lang/print/print.h"
#include "op/build.h"
#include "test.h"
#include "vm/vm.h"

#include <stdlib.h>

static Session *s;

static void die(void *ctx, DiagCode code, const char *message) {
    (void)ctx;
    fprintf(stderr, "panic: %s\n", message);
    exit(diag_exit(code));
}

/* A graph of float64 inputs by name, one output `out` of an expression in them. */
static Graph *graph_of(const char *inputs, const char *text) {
    Graph *g = graph_new(s);
    Arena *a = arena_new(s);
    char **part;
    size_t n = str_split(a, inputs, ';', &part);
    Bind bind[16];
    for (size_t i = 0; i < n; i++) {
        char *colon = strchr(part[i], ':');
        Sym name = sym_n(s, part[i], (size_t)(colon - part[i]));
        const Type *t = type_parse(s, colon + 2, strlen(colon + 2), NOWHERE);
        bind[i] = (Bind){name, graph_input(g, name, t)};
    }
    Builder b = builder(g, false);
    Env env = {.n = n, .bind = bind};
    bool ok;
    Var v =
        template_build(&b, arena_str(session_arena(s), text, strlen(text)), &env, &ok);
    CHECK(ok && v != VAR_NONE, "%s", text);
    vec_push(s, &g->outputs, ((Output){sym(s, "out"), v}));
    arena_free(a);
    return g;
}

static const char *printed(const Graph *g, Var v) {
    Arena *a = session_arena(s);
    Str out = STR(s);
    uint8_t *live = graph_live(g, a, ROOTS_RUN);
    Printer *p = printer_new(g, PRINT_MATH, live, a);
    print_expression(p, v, &out);
    const char *text = arena_str(a, str_text(&out), out.n);
    str_free(&out);
    return text;
}

static void show_errors(void) {
    for (size_t i = 0; i < diag_count(s); i++)
        printf("  %s: %s\n", diag_name(diag_get(s, i)->code), diag_get(s, i)->text);
}

/* The output's expression after rewriting with `include` only (NULL: FAST_RUN without
 * fusion). */
static const char *rewritten(const char *inputs, const char *text,
                             const char *include) {
    Graph *g = graph_of(inputs, text);
    const char *const no[] = {"fusion"};
    RewriteOptions o = {.query = {.mode = include ? "NONE" : "FAST_RUN",
                                  .ninclude = include != NULL,
                                  .include = &include,
                                  .nexclude = 1,
                                  .exclude = no}};
    Graph *h = rewrite_run(g, &o, NULL);
    CHECK(h != NULL, "%s", text);
    if (!h) show_errors();
    const char *r = h ? printed(h, h->outputs.p[0].var) : "";
    graph_free(g);
    graph_free(h);
    diag_clear(s);
    return r;
}

/* ---- rules ---- */

static void test_rules(void) {
    CHECK_STR(rewritten("A: float64", "A * 3 + A * 2", NULL), "5.0 * A");
    CHECK_STR(rewritten("x: float64[n]", "-(-x)", NULL), "x");
    CHECK_STR(rewritten("x: float64[n]", "log(1 + exp(x))", NULL), "softplus(x)");
    CHECK_STR(rewritten("x: float64[n]", "1 / (1 + exp(-x))", NULL), "sigmoid(x)");
    CHECK_STR(rewritten("x: float64[n]", "log(sigmoid(x))", NULL), "-softplus(-x)");
    CHECK_STR(rewritten("x: float64[n]", "exp(x) - 1", NULL), "expm1(x)");
    CHECK_STR(rewritten("x: float64[n]; y: float64[n]", "log(exp(x) + exp(y))", NULL),
              "logaddexp(x, y)");
    CHECK_STR(rewritten("x: float64[n, 3]", "sum(2 * x, axis=1)", NULL),
              "2.0 * sum(x, axis=1)");
    CHECK_STR(rewritten("x: float64[n]", "x ** 2 + x ** 1", NULL), "square(x) + x");
    CHECK_STR(rewritten("x: float64[n]", "clip(x, 0, 1)", NULL),
              "minimum(maximum(x, 0.0), 1.0)");
    CHECK_STR(rewritten("x: int64[n]", "clip(x, 0, 1)", NULL), "clip(x, 0, 1)");
    CHECK_STR(rewritten("x: int64[n]", "x * 0 + x - x", NULL), "zeros_like(x)");
    CHECK_STR(rewritten("x: float64[n]; y: float64[n]", "x + (-y) * 2", NULL),
              "x + y * -2.0");
    CHECK_STR(rewritten("x: float64[2, 3]", "transpose(transpose(x)) * 1", NULL), "x");
    CHECK_STR(rewritten("x: float64[2, 3]", "reshape(reshape(x, (6,)), (3, 2))", NULL),
              "reshape(x, [3, 2])");
    CHECK_STR(rewritten("x: float64[2, 3]", "sum(sum(x, axis=0), axis=0)", NULL),
              "sum(x)");
    CHECK_STR(
        rewritten("x: float32[n]", "cast(cast(x, dtype=float64), dtype=float32)", NULL),
        "x");
    CHECK_STR(
        rewritten("x: int64[n]", "cast(cast(x, dtype=float32), dtype=int64)", NULL),
        "int64(float32(x))");
    CHECK_STR(rewritten("x: float64[n]; y: float64[n]", "x * ones_like(y)", NULL), "x");
    CHECK_STR(rewritten("x: float64[2]; y: float64[2]", "shape(x * exp(y))", NULL),
              "[2]");
    CHECK_STR(
        rewritten("x: float64[?]; y: float64[?]", "shape_i(exp(x) * 2, axis=0)", NULL),
        "shape_i(x, axis=0)");
}

/* -0, inf, nan: what a rule must not touch. */
static void test_limits(void) {
    CHECK_STR(rewritten("x: float64[n]", "x + 0", NULL), "x + 0.0");
    CHECK_STR(rewritten("x: float64[n]", "x + -0.0", NULL), "x");
    CHECK_STR(rewritten("x: float64[n]", "x * 0", NULL), "x * 0.0");
    CHECK_STR(rewritten("x: float64[n]", "x - x", NULL), "x - x");
    CHECK_STR(rewritten("x: float64[n]", "x ** 0.5", NULL), "x ** 0.5");
    CHECK_STR(rewritten("x: float64[n]", "exp(x) ** 0.5", NULL), "sqrt(exp(x))");
    CHECK_STR(rewritten("x: float64[n]", "2 * (0.5 * x)", NULL), "x");
    CHECK_STR(rewritten("x: float64[n]", "1e20 * (1e-20 * x)", NULL),
              "1e+20 * (1e-20 * x)");
    CHECK_STR(rewritten("x: float64[n]", "2 * (3 * x)", NULL), "6.0 * x");
    CHECK_STR(rewritten("x: float64[n]", "x * 0", "mul-zero-float"), "zeros_like(x)");
    CHECK_STR(rewritten("x: float64[n]", "x - x", "fast"), "zeros_like(x)");
}

/* Shapes that types don't prove equal (trap 19): the check must stay. */
static void test_shape_safety(void) {
    const char *two = "x: float64[?]; y: float64[?]";
    CHECK_STR(rewritten(two, "zeros_like(y) + x", NULL), "zeros_like(y) + x");
    CHECK_STR(rewritten(two, "x * ones_like(y)", NULL), "x * ones_like(y)");
    CHECK_STR(rewritten("x: int64[?]; y: int64[?]", "where(y > 0, x, x)", NULL),
              "where(y > 0, x, x)");
    CHECK_STR(rewritten("x: int64[n]; y: int64[n]", "where(y > 0, x, x)", NULL), "x");
    CHECK_STR(rewritten("x: int64[n]; y: int64[m]", "where(y > 0, x, x)", NULL),
              "where(y > 0, x, x)");
    CHECK_STR(rewritten("x: int64[?]; c: bool", "where(c, x, x)", NULL), "x");
    CHECK_STR(rewritten("x: int64[1, n]", "reshape(x * 0, (-1,))", NULL),
              "reshape(zeros_like(x), [-1])");
}

/* ---- the driver ---- */

static const char *first_error(void) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "none";
}

static Graph *rewrite_with(Graph *g, const char *rules, RewriteResult *r) {
    char name[] = "/tmp/thunkline-rules-XXXXXX";
    const char *const path[] = {name};
    int fd = mkstemp(name);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    CHECK(f != NULL);
    if (!f) return NULL;
    fputs(rules, f);
    fclose(f);
    RewriteOptions o = {.query = {.mode = "NONE", .nrules = 1, .rules = path}};
    Graph *h = rewrite_run(g, &o, r);
    remove(name);
    return h;
}

static void test_circles(void) {
    Graph *g = graph_of("x: float64[n]", "sin(x)");
    diag_clear(s);
    Graph *h =
        rewrite_with(g, "to-cos: sin(x) => cos(x)\nto-sin: cos(x) => sin(x)\n", NULL);
    CHECK(!h && strstr(first_error(), "to-cos") && strstr(first_error(), "to-sin"),
          "%s", first_error());
    CHECK(diag_count(s) == 1 && diag_get(s, 0)->code == E_REWRITE);
    graph_free(h);
    diag_clear(s);
    h = rewrite_with(g, "grow: sin(x) => sin(x + 1)\n", NULL);
    CHECK(!h && strstr(first_error(), "grow"), "%s", first_error());
    CHECK(diag_count(s) == 1 && diag_get(s, 0)->code == E_LIMIT);
    graph_free(h);
    graph_free(g);
    diag_clear(s);
}

/* Rules that ask for clients get another sweep where one has gone, and only there. */
static void test_another_sweep(void) {
    static const char rules[] =
        "alone: exp(sin(x)) => cos(x)  when single_use(sin(x))\n"
        "second: minimum(x, y) => y\n";
    static const struct {
        const char *text, *want;
        uint32_t sweeps;
    } row[] = {
        {"exp(sin(x)) + minimum(sin(x), x)", "cos(x) + x", 2},
        {"minimum(sin(x), x) + exp(sin(x))", "x + cos(x)", 1},
        {"exp(sin(x)) + minimum(cos(x), x)", "cos(x) + x", 1},
        {"exp(sin(x)) + tanh(sin(x)) + minimum(cos(x), x)", "exp(_1) + tanh(_1) + x",
         1},
        {"exp(sin(x)) + tanh(sin(x)) + minimum(sin(x), x)", "exp(_1) + tanh(_1) + x",
         1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Graph *g = graph_of("x: float64[n]", row[i].text), *merged = rewrite_merge(g);
        RewriteResult r = {0};
        Graph *h = rewrite_with(merged, rules, &r);
        CHECK(h != NULL, "%s", first_error());
        if (h) CHECK_STR(printed(h, h->outputs.p[0].var), row[i].want);
        CHECK(r.sweeps == row[i].sweeps, "%s: %u sweeps", row[i].text, r.sweeps);
        graph_free(h);
        graph_free(merged);
        graph_free(g);
    }
}

/* A replacement that needs what it replaces is taken back (trap 12). */
static void test_taken_back(void) {
    Graph *g = graph_of("x: float64[n]", "exp(sin(x))");
    RewriteResult r;
    Graph *h = rewrite_with(g, "around: sin(x) => sin(x) * 2\n", &r);
    CHECK(h != NULL, "%s", first_error());
    if (h) CHECK_STR(printed(h, h->outputs.p[0].var), "exp(sin(x))");
    ApplyId a, b;
    CHECK(h && graph_equal(g, h, &a, &b, NULL) && r.before == 2 && r.after == 2);
    graph_free(h);
    graph_free(g);
    diag_clear(s);
}

static void test_bad_rules(void) {
    static const struct {
        const char *text, *error;
    } bad[] = {{"r: sin(x) => cos(y)\n", "y does not occur"},
               {"r: sin(x)\n", "no `=>`"},
               {"r sin: x => x\n", "none of these"},
               {"r: x => sin(x)\n", "must be an operation"},
               {"r: sin(x) => x when konst(x)\n", "did you mean const?"},
               {"r: nosuch(x) => x\n", "no op nosuch"},
               {"r: ravel(x) => x\n", "abbreviation"},
               {"add-self: x + x => x\n", "already"}};
    Graph *g = graph_of("x: float64[n]", "sin(x)");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        diag_clear(s);
        Graph *h = rewrite_with(g, bad[i].text, NULL);
        CHECK(!h && strstr(first_error(), bad[i].error), "%s: %s", bad[i].text,
              first_error());
        CHECK(diag_count(s) == 1);
        graph_free(h);
    }
    graph_free(g);
    diag_clear(s);
}

static bool count_event(void *ctx, const RewriteEvent *e) {
    size_t *n = ctx;
    CHECK(e->number == ++*n && e->before != e->after && *e->rule);
    return true;
}

static void test_options(void) {
    Graph *g = graph_of("x: float64[n]", "-(-x) * 1 - 0 + log(1 + x)");
    size_t n = 0;
    RewriteResult r;
    RewriteOptions o = {.explain = count_event, .ctx = &n, .profile = true};
    Graph *h = rewrite_run(g, &o, &r);
    CHECK(h && n == r.fired && r.fired >= 4 && r.nprofile > 50);
    uint64_t fired = 0;
    for (size_t i = 0; i < r.nprofile; i++)
        fired += r.profile[i].fired;
    CHECK(fired == r.fired);
    CHECK(h && h->modes.n == 1 && strcmp(sym_text(s, h->modes.p[0]), "FAST_RUN") == 0);
    graph_free(h);
    o = (RewriteOptions){.limit = 2};
    h = rewrite_run(g, &o, &r);
    CHECK(h && r.fired == 2);
    graph_free(h);
    const char *const wrong[] = {"canonicalise"};
    o = (RewriteOptions){.query = {.nexclude = 1, .exclude = wrong}};
    CHECK(!rewrite_run(g, &o, &r) &&
              strstr(first_error(), "did you mean canonicalize?"),
          "%s", first_error());
    diag_clear(s);
    graph_free(g);
}

static const char *in_mode(const char *mode, const char *text) {
    Graph *g = graph_of("x: float64[n]", text);
    RewriteOptions o = {.query = {.mode = mode}};
    Graph *h = rewrite_run(g, &o, NULL);
    CHECK(h != NULL, "%s", first_error());
    const char *r = h ? printed(h, h->outputs.p[0].var) : "";
    CHECK(h && strcmp(sym_text(s, h->modes.p[0]), mode) == 0);
    graph_free(h);
    graph_free(g);
    return r;
}

static void test_modes(void) {
    const char *text = "log(1 + exp(x * 1)) + cast(x ** (1 + 1), dtype=float64)";
    CHECK_STR(in_mode("NONE", text),
              "log(1.0 + exp(x * 1.0)) + cast(x ** 2.0, dtype='float64')");
    CHECK_STR(in_mode("FAST_COMPILE", text), "log(1.0 + exp(x * 1.0)) + x ** 2.0");
    CHECK_STR(in_mode("STABILIZE", text), "softplus(x) + x ** 2.0");
    RewriteOptions o = {.query = {.mode = "FAST"}};
    Graph *g = graph_of("x: float64[n]", "-x");
    CHECK(!rewrite_run(g, &o, NULL) && strstr(first_error(), "FAST_RUN"));
    diag_clear(s);
    graph_free(g);
}

/* What must happen happens once, whatever becomes of its inputs. */
static void test_effects(void) {
    Graph *g =
        graph_of("x: float64[n]", "assert_op(-(-x) * 1, sum(x * 1) > 0) * 0 - 0");
    RewriteOptions o = {.profile = false};
    Graph *both[] = {g, rewrite_run(g, &o, NULL)};
    CHECK(both[1] != NULL, "%s", first_error());
    for (int i = 0; i < 2 && both[i]; i++) {
        unsigned n = 0;
        for (ApplyId a = 0; a < both[i]->napply; a++)
            n += both[i]->apply[a].serial != 0;
        CHECK(n == 1 && both[i]->effects.n == 1, "%u, %zu", n, both[i]->effects.n);
    }
    if (both[1]) {
        Graph *h = both[1];
        CHECK(apply_in(h, h->effects.p[0])[0] == h->inputs.p[0]);
        graph_free(h);
    }
    graph_free(g);
}

/* Constants of different dtypes stay apart; nans are one (trap 13). */
static void test_merge(void) {
    Graph *g = graph_of("x: float64[n]", "sin(x) * sin(x) + (x + nan) - (x + nan)");
    Graph *h = rewrite_merge(g);
    CHECK(h->napply == 5 && g->napply > 5, "%u of %u", h->napply, g->napply);
    graph_free(h);
    graph_free(g);
    g = graph_new(s);
    Builder b = builder(g, true);
    Var one[] = {const_number(&b, DT_INT8, 1), const_number(&b, DT_INT64, 1),
                 const_number(&b, DT_FLOAT64, 1), const_number(&b, DT_FLOAT64, 1)};
    CHECK(one[0] != one[1] && one[1] != one[2] && one[2] == one[3]);
    const char *draws = "permutation(n, seed=1) - permutation(n, seed=1) + x";
    CHECK_STR(rewritten("n: int64; x: int64[?]", draws, "merge"), "_1 - _1 + x");
    CHECK(const_number(&b, DT_FLOAT64, 0.0) != const_number(&b, DT_FLOAT64, -0.0));
    graph_free(g);
}

/* ---- fusion ---- */

static Graph *fused(const char *inputs, const char *text) {
    Graph *g = graph_of(inputs, text);
    const char *const yes[] = {"merge", "fusion"};
    RewriteOptions o = {.query = {.mode = "NONE", .ninclude = 2, .include = yes}};
    Graph *h = rewrite_run(g, &o, NULL);
    CHECK(h != NULL, "%s: %s", text, first_error());
    graph_free(g);
    return h;
}

/* Applies of the main graph, functions, Applies in them. */
static void check_fused(const char *inputs, const char *text, uint32_t main, size_t nfn,
                        uint32_t inner) {
    Graph *h = fused(inputs, text);
    uint32_t n = 0;
    for (size_t i = 0; i < h->functions.n; i++) {
        n += h->functions.p[i]->napply;
        CHECK(h->functions.p[i]->fused);
        for (ApplyId a = 0; a < h->functions.p[i]->napply; a++) {
            const Op *op = h->functions.p[i]->apply[a].op;
            CHECK(op->elemwise ||
                  (op_rare(op)->streams && a + 1 == h->functions.p[i]->napply));
        }
    }
    CHECK(h->napply == main && h->functions.n == nfn && n == inner,
          "%s: %u Applies, %zu functions of %u", text, h->napply, h->functions.n, n);
    graph_free(h);
}

static void test_fusion(void) {
    check_fused("x: float64[n]", "sin(x)", 1, 0, 0);
    check_fused("x: float64[n]", "sin(x) + cos(x)", 1, 1, 3);
    check_fused("x: float64[n]; y: float64[n]", "exp(x * y + 1) / y", 1, 1, 4);
    check_fused("x: float64[n, 3]; y: float64[3]", "exp(x) * sin(y)", 2, 1, 2);
    check_fused("x: float64[n, 3]; b: float64[1, 3]", "exp(x * b) + b", 1, 1, 3);
    check_fused("x: float64[?]", "exp(x) * 2 + x", 1, 1, 3);
    /* dims that types leave open are compared by the run, unless they stretch */
    check_fused("x: float64[?]; y: float64[?]", "exp(x) * sin(y)", 1, 1, 3);
    check_fused("x: float64[?]; y: float64[n]", "exp(x) * sin(y)", 1, 1, 3);
    check_fused("x: float64[n]", "x[1:] * 2 - x[:-1]", 3, 1, 2);
    check_fused("x: float64[n, m]", "sum(square(x[1:] - x[:-1]), axis=1)", 3, 1, 3);
    check_fused("x: float64[?, 1]; y: float64[?, ?]", "exp(x) * sin(y)", 3, 0, 0);
    check_fused("x: float64[?]; y: float64[?, ?]", "exp(x) * sin(y)", 3, 0, 0);
    /* the path through the sum leaves the group: two groups, no circle */
    check_fused("x: float64[n]", "(exp(x) + 1) * sum(exp(x) + 1)", 2, 1, 3);
    check_fused("x: float64[n]", "(exp(x) + 1) * sum(exp(x) + 2) + 3", 2, 2, 6);
    /* sin(y) is lifted to where it is used, past the sum */
    check_fused("x: float64[n]; y: float64[n]", "sum(x) * sin(y) + 1", 2, 1, 3);
    check_fused("x: float64[n]", "cast(x, dtype=float32) * 2", 1, 1, 2);
    /* all differences are computed by each group, and not kept */
    const char *types = "x: float64[n, 1]; y: float64[m]; z: float64[n, m]";
    check_fused(types, "sum(square(x - y)) * (x - y)", 2, 2, 5);
    check_fused(types, "sum(square(z - y)) * (z - y)", 2, 1, 3);
    check_fused(types, "sum(square(exp(x))) * exp(x - y)", 2, 2, 6);
    check_fused(types, "sum(square(x - y)) * (x - y) + (x - y) @ y * y", 5, 2, 5);
    check_fused("x: int64[3]", "x * 2 + 1", 2, 0, 0);
}

static void test_fused_reductions(void) {
    check_fused("x: float64[n, m]; y: float64[m]", "sum(square(x - y))", 1, 1, 3);
    check_fused("x: float64[n, m]", "sum(exp(x), axis=1)", 1, 1, 2);
    check_fused("x: float64[n, m]", "mean(exp(x), axis=0, keepdims=True)", 1, 1, 2);
    check_fused("x: float64[n]", "max(x * 2)", 1, 1, 2);
    check_fused("x: complex128[n]", "any(x * 2)", 1, 1, 2);
    check_fused("x: float64[n]", "var(exp(x) + 1)", 1, 1, 3);
    check_fused("x: complex128[n]", "var(x * 2)", 2, 0, 0);
    /* there is nothing to fuse with */
    check_fused("x: float64[n]", "sum(x)", 1, 0, 0);
    check_fused("x: float64[n, m]; y: float64[m, k]", "sum(x @ y)", 2, 0, 0);
    /* one reduction a group, best of what is not needed otherwise */
    check_fused("x: float64[n]", "sum(exp(x)) + max(exp(x))", 3, 1, 2);
    check_fused("x: float64[n, m]", "exp(x) + sum(exp(x), axis=0) * sum(exp(x) * 2)", 4,
                1, 3);
    /* pieces of three elements don't pay, large ones do */
    check_fused("x: float64[9, 4, 3]", "sum(exp(x), axis=(0, 2))", 2, 0, 0);
    check_fused("x: float64[9, 4, 300]", "sum(exp(x), axis=(0, 2))", 1, 1, 2);
    check_fused("x: float64[9, 4, 3]", "sum(exp(x), axis=1)", 2, 0, 0);
    check_fused("x: float64[9, 4, 70]", "sum(exp(x), axis=1)", 1, 1, 2);
}

/* The gradient of picking one class per row: its sum along the rows is what was put. */
static void test_scatter(void) {
    const char *in = "z: float64[n, 3]; y: int64[n]; v: float64[n]";
    CHECK_STR(
        rewritten(in,
                  "sum(inc_subtensor(zeros_like(z)[arange(shape_i(z, axis=0)), y], "
                  "v), axis=1)",
                  NULL),
        "v");
    CHECK_STR(
        rewritten(in, "sum(inc_subtensor(z[arange(shape_i(z, axis=0)), y], v), axis=1)",
                  NULL),
        "sum(inc_subtensor(z[arange(n), y], v), axis=1)");
}

static void test_inline(void) {
    Graph *g = graph_of("x: float64[n]", "x * 2");
    Graph *fn = graph_function_new(g, sym(s, "f"));
    Builder b = builder(fn, true);
    Var a = graph_input(fn, sym(s, "a"), var_type(g, g->inputs.p[0]));
    a = op_call1(&b, "negative", op_call1(&b, "negative", op_call1(&b, "sin", a)));
    vec_push(s, &fn->outputs, ((Output){sym(s, "r"), a}));
    b = builder(g, true);
    const Op *call = op_find(s, "call", 4);
    PropArg arg = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    g->outputs.p[0].var =
        op_apply1(&b, call, props_make(s, call, 1, &arg), 1, &g->outputs.p[0].var);
    RewriteResult r;
    Graph *h = rewrite_run(g, &(RewriteOptions){0}, &r);
    CHECK(h && h->functions.n == 1 && h->functions.p[0]->fused &&
          h->functions.p[0]->napply == 2);
    graph_free(h);
    const char *const yes[] = {"inline"}, *const no[] = {"fusion"};
    RewriteOptions o = {
        .query = {.ninclude = 1, .include = yes, .nexclude = 1, .exclude = no}};
    h = rewrite_run(g, &o, &r);
    CHECK(h && h->functions.n == 0);
    if (h) CHECK_STR(printed(h, h->outputs.p[0].var), "sin(x * 2.0)");
    graph_free(h);
    RewriteOptions kept = {.query = {.nexclude = 1, .exclude = yes}};
    h = rewrite_run(g, &kept, &r);
    CHECK(h && h->functions.n == 1 && h->functions.p[0]->napply == 1);
    graph_free(h);
    kept.query = (RewriteQuery){.mode = "FAST_COMPILE"};
    h = rewrite_run(g, &kept, &r);
    CHECK(h && h->functions.n == 1);
    graph_free(h);
    graph_free(g);
}

/* f(x: float64[m, n], y: float64[n]) returns x * n + y; what becomes of f called with x
 * and y of these types? */
static void check_inline_dims(const char *inputs, const char *want) {
    Graph *g = graph_of(inputs, "x"), *fn = graph_function_new(g, sym(s, "f"));
    Dim dim[2] = {DIM_NAMED(sym(s, "m")), DIM_NAMED(sym(s, "n"))};
    Var x = graph_input(fn, sym(s, "x"), type_tensor(s, DT_FLOAT64, 2, dim)),
        y = graph_input(fn, sym(s, "y"), type_tensor(s, DT_FLOAT64, 1, dim + 1));
    Builder b = builder(fn, true);
    Var r =
        op_call2(&b, "add", op_call2(&b, "multiply", x, graph_dim(fn, sym(s, "n"))), y);
    vec_push(s, &fn->outputs, ((Output){sym(s, "r"), r}));
    b = builder(g, true);
    const Op *call = op_find(s, "call", 4);
    PropArg arg = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    g->outputs.p[0].var =
        op_apply1(&b, call, props_make(s, call, 1, &arg), 2, g->inputs.p);
    const char *const only[] = {"inline-calls"};
    RewriteOptions o = {.query = {.mode = "NONE", .ninclude = 1, .include = only}};
    Graph *h = rewrite_run(g, &o, NULL);
    CHECK(h != NULL, "%s", first_error());
    if (h) CHECK_STR(printed(h, h->outputs.p[0].var), want);
    graph_free(h);
    graph_free(g);
}

static void test_inline_dims(void) {
    check_inline_dims("x: float64[m, n]; y: float64[n]", "x * float64(n) + y");
    check_inline_dims("x: float64[n, m]; y: float64[m]", "x * float64(m) + y");
    check_inline_dims("x: float64[p, 3]; y: float64[3]",
                      "x * cast(3, dtype='float64') + y");
    check_inline_dims("x: float64[p, q]; y: float64[k]", "f(x, y)");
    check_inline_dims("x: float64[?, ?]; y: float64[?]", "f(x, y)");
}

/* A function of `size` Applies, called `calls` times: how many calls are left? */
static size_t calls_left(unsigned size, unsigned calls) {
    Graph *g = graph_new(s), *fn = graph_function_new(g, sym(s, "f"));
    const Type *t = type_tensor(s, DT_FLOAT64, 0, NULL);
    Builder b = builder(fn, true);
    Var a = graph_input(fn, sym(s, "a"), t), x = graph_input(g, sym(s, "x"), t);
    for (unsigned i = 0; i < size; i++)
        a = op_call1(&b, i % 2 ? "sin" : "cos", a);
    vec_push(s, &fn->outputs, ((Output){sym(s, "r"), a}));
    b = builder(g, true);
    const Op *call = op_find(s, "call", 4);
    PropArg arg = {"fn", {.kind = P_GRAPH, .sym = fn->name}};
    for (unsigned i = 0; i < calls; i++)
        x = op_apply1(&b, call, props_make(s, call, 1, &arg), 1, &x);
    vec_push(s, &g->outputs, ((Output){sym(s, "y"), x}));
    const char *const only[] = {"inline-calls"};
    RewriteOptions o = {.query = {.mode = "NONE", .ninclude = 1, .include = only}};
    Graph *h = rewrite_run(g, &o, NULL);
    size_t left = 0;
    for (ApplyId i = 0; h && i < h->napply; i++)
        left += h->apply[i].op == call;
    graph_free(h);
    graph_free(g);
    return left;
}

/* The limits of a body and of a caller; small bodies always replace their calls. */
static void test_inline_cost(void) {
    CHECK(calls_left(100, 1) == 0);
    CHECK(calls_left(512, 16) == 0);
    CHECK(calls_left(512, 18) == 2);
    CHECK(calls_left(513, 1) == 1);
    CHECK(calls_left(9, 1000) == 1000 - 910);
    CHECK(calls_left(8, 3000) == 0);
}

static Value vector(size_t n, const double *v) {
    Value x = {.kind = TYPE_TENSOR};
    int64_t shape = (int64_t)n;
    CHECK(tensor_new(s, DT_FLOAT64, 1, &shape, &x.t));
    memcpy(x.t.data, v, n * sizeof *v);
    return x;
}

/* Output 0 for inputs of 4 numbers each. */
static void run4(Graph *g, const double *x, double *out) {
    Plan *p = plan_new(g, &(PlanOptions){0});
    CHECK(p != NULL, "%s", first_error());
    if (!p) return;
    Machine *m = vm_new(p);
    for (size_t i = 0; i < g->inputs.n; i++) {
        Value v = vector(4, x + 4 * i);
        CHECK(vm_set_input(m, i, &v));
        value_unref(&v);
    }
    CHECK(vm_run(m), "%s", first_error());
    memcpy(out, vm_output(m, 0)->t.data, 4 * sizeof *out);
    vm_free(m);
    plan_free(p);
}

static void test_runs(void) {
    static const double in[8] = {0.5, -1.25, 3, 7, 2, 0.125, -4, 1};
    static const char *const texts[] = {
        "(exp(x) + 1) * sum(exp(x) + 2) + y", "log(1 + exp(x)) * 1 - (-y) * 3",
        "where(x > y, sin(x) * sin(x), y) + sum(x * y) * sin(y)",
        "exp(x) / sum(exp(x), axis=0, keepdims=True) + maximum(y, maximum(x, y))"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Graph *g = graph_of("x: float64[n]; y: float64[n]", texts[i]);
        Graph *h = rewrite_run(g, &(RewriteOptions){0}, NULL);
        CHECK(h != NULL, "%s", first_error());
        double a[4], b[4];
        run4(g, in, a);
        if (h) run4(h, in, b);
        for (int k = 0; h && k < 4; k++)
            CHECK(a[k] - b[k] < 1e-12 && b[k] - a[k] < 1e-12, "%s: %g, %g", texts[i],
                  a[k], b[k]);
        graph_free(g);
        graph_free(h);
    }
}

/* A chain of n Applies is rewritten without recursion, in time that grows with n. */
static void test_deep(void) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var x = graph_input(g, sym(s, "x"), type_parse(s, "float64[k]", 10, NOWHERE));
    for (int i = 0; i < 20000; i++)
        x = i % 3 == 0   ? op_call1(&b, "negative", op_call1(&b, "negative", x))
            : i % 3 == 1 ? op_call1(&b, "sin", x)
                         : op_call2(&b, "multiply", x, const_number(&b, DT_FLOAT64, 1));
    vec_push(s, &g->outputs, ((Output){sym(s, "out"), x}));
    RewriteResult r;
    Graph *h = rewrite_run(g, &(RewriteOptions){0}, &r);
    CHECK(h != NULL, "%s", first_error());
    CHECK(h && h->napply == (6667 + 511) / 512, "%u", h ? h->napply : 0);
    graph_free(h);
    graph_free(g);
}

/* A group with more inputs and outputs than a function may have is cut into several,
 * none of which is without need: the outputs of a chunk may be inner values with later
 * members. */
static void test_wide_groups(void) {
    enum { WIDE = 100 };
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t = type_parse(s, "float64[k]", 10, NOWHERE);
    Var sum = VAR_NONE;
    for (int i = 0; i < WIDE; i++) {
        char name[20];
        snprintf(name, sizeof name, "x%d", i);
        Var x = graph_input(g, sym(s, name), t), y = op_call1(&b, "sin", x),
            z = op_call1(&b, "exp", y);
        sum = i ? op_call2(&b, "add", sum, z) : z;
        snprintf(name, sizeof name, "y%d", i);
        vec_push(s, &g->outputs, ((Output){sym(s, name), y}));
    }
    vec_push(s, &g->outputs, ((Output){sym(s, "sum"), sum}));
    Graph *h = rewrite_run(g, &(RewriteOptions){0}, NULL);
    CHECK(h != NULL, "%s", first_error());
    CHECK(h && h->functions.n == 3 && h->napply == 3, "%zu", h ? h->functions.n : 0);
    for (size_t i = 0; h && i < h->functions.n; i++) {
        const Graph *fn = h->functions.p[i];
        CHECK(fn->inputs.n <= 48 && fn->outputs.n <= 48, "%zu inputs, %zu outputs",
              fn->inputs.n, fn->outputs.n);
    }
    graph_free(h);
    graph_free(g);
}

int main(void) {
    s = session_new(die, NULL);
    vm_open(s);
    test_rules();
    test_limits();
    test_shape_safety();
    test_circles();
    test_another_sweep();
    test_taken_back();
    test_bad_rules();
    test_options();
    test_modes();
    test_effects();
    test_merge();
    test_fusion();
    test_fused_reductions();
    test_scatter();
    test_inline();
    test_inline_dims();
    test_inline_cost();
    test_runs();
    test_deep();
    test_wide_groups();
    session_free(s);
    return TEST_END("rewrite");
}
