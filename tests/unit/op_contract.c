/* Members of the Op contract that rows of the library hardly use, by ops added to the
 * session: types as text, the output of a call, an op's own text, folding by case,
 * shapes in C, kernels for debugging, and what rewriting leaves alone. */
#include "op/expr.h"
#include "op/print.h"
#include "rewrite/rewrite.h"
#include "test.h"
#include "vm/vm.h"

#include <stdlib.h>

static Session *s;
static int runs;

/* ---- ops ---- */
static bool fill(Call *c, size_t i, double v) {
    const Tensor *x = call_in(c, 0);
    Tensor *r = call_out(c, i, x->ndim, x->shape);
    runs++;
    for (int64_t k = 0; r && k < tensor_size(r); k++)
        ((double *)r->data)[k] = v;
    return r != NULL;
}
static bool fill_1(Call *c) {
    return fill(c, 0, 1);
}
static bool fill_2(Call *c) {
    return fill(c, 0, 2);
}
static bool fill_both(Call *c) {
    return fill(c, 0, 1) && fill(c, 1, 2);
}

static bool two_like(Infer *in) {
    in->out[0] = in->out[1] = in->type[0];
    return true;
}
static bool like(Infer *in) {
    in->out[0] = in->type[0];
    return true;
}
static bool unknown_matrix(Infer *in) {
    Dim d[2] = {DIM_UNKNOWN, DIM_UNKNOWN};
    in->out[0] = type_tensor(in->s, DT_FLOAT64, 2, d);
    return true;
}

static void say(Session *session, const Op *op, const Props *p, Str *out) {
    str_printf(out, "Scaled{by=%g}", op_prop(session, op, p, "by")->f);
}

/* Not where the result is an output, or feeds a negative. */
static bool fold_inside(const GraphView *v, ApplyId a) {
    Var out = v->g->apply[a].out;
    if (v->is_output[out]) return false;
    for (uint32_t k = v->clients->first[out]; k < v->clients->first[out + 1]; k++)
        if (strcmp(v->g->apply[v->clients->client[k]].op->name, "negative") == 0)
            return false;
    return true;
}

static bool shape_right(ShapeOf *q) {
    q->out_shape[0][0] = call2(q->b, "add", q->in_shape[0][0], const_int(q->b, 1));
    q->out_shape[0][1] = q->in_shape[0][0];
    return true;
}
static bool shape_short(ShapeOf *q) {
    q->out_shape[0][0] = q->in_shape[0][0];
    return true;
}
static bool shape_float(ShapeOf *q) {
    q->out_shape[0][0] = const_number(q->b, DT_FLOAT64, 2.5);
    q->out_shape[0][1] = q->in_shape[0][0];
    return true;
}
static bool shape_declines(ShapeOf *q) {
    (void)q;
    return false;
}
static bool shape_fails(ShapeOf *q) {
    return fail(q->b->s, NOWHERE, E_SHAPE, "t_fails: no such shape");
}

static bool add_over(Call *c) {
    Tensor *r = call_over(c, 0, 0);
    for (int64_t k = 0; r && k < tensor_size(r); k++)
        ((double *)r->data)[k] += tensor_f64(call_in(c, 1), 0);
    return r != NULL;
}
static int over_first(const Graph *g, ApplyId a, size_t out) {
    (void)g, (void)a, (void)out;
    return 0;
}

static const Op rows[] = {
    {.name = "t_exact",
     .itypes = "float32[n], float32[n], int64",
     .otypes = "float32[n], bool",
     .perform = fill_1},
    {.name = "t_half",
     .itypes = "float64[?]",
     .otypes = "float64[?]",
     .perform = fill_1},
    {.name = "t_second",
     .in = "x",
     .out = "a, b",
     .type = two_like,
     .perform = fill_both,
     .default_output = 2},
    {.name = "t_third",
     .in = "x",
     .out = "a, b",
     .type = two_like,
     .perform = fill_both,
     .default_output = 3},
    {.name = "t_said",
     .in = "x",
     .props = "by: float = 1.0",
     .type = like,
     .perform = fill_1,
     .str = say},
    {.name = "t_inside",
     .in = "x",
     .type = like,
     .perform = fill_1,
     .fold_if = fold_inside},
    {.name = "t_right",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     .infer_shape = shape_right},
    {.name = "t_short",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     .infer_shape = shape_short},
    {.name = "t_float",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     .infer_shape = shape_float},
    {.name = "t_declines",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     .infer_shape = shape_declines},
    {.name = "t_fails",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     .infer_shape = shape_fails},
    {.name = "t_rank",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     .shape = "[x.shape[0]]"},
    {.name = "t_slow", .in = "x", .type = like, .perform = fill_1, .debug = fill_2},
    {.name = "t_over",
     .in = "x, y",
     .type = like,
     .perform = add_over,
     .destroys = over_first},
};

/* ---- graphs from text ---- */
static const char *first_error(void) {
    const Diag *d = diag_first_error(s);
    return d ? d->text : "no error";
}

static Span text_span(const char *text) {
    size_t n = strlen(text);
    return (Span){source_add(s, "t", text, n), 0, (uint32_t)n};
}

/* Inputs x, y: float64[n], f: float32[n], h: float32[3], i: int64; the outputs are what
 * `outputs` names. NULL: an error. */
static Graph *graph_of(const char *text, const char *outputs) {
    static const char *const in[][2] = {{"x", "float64[n]"}, {"y", "float64[n]"},
                                        {"f", "float32[n]"}, {"h", "float32[3]"},
                                        {"i", "int64"},      {"q", "float64[?]"}};
    Graph *g = graph_new(s);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        graph_input(g, sym(s, in[i][0]),
                    type_parse(s, in[i][1], strlen(in[i][1]), NOWHERE));
    Builder b = builder(g, false);
    Compiler *c = compiler_new(&b);
    bool ok = compiler_define(c, text_span(text)) && compiler_run(c);
    Arena *a = arena_new(s);
    char **part;
    size_t n = str_split(a, outputs, ',', &part);
    for (size_t i = 0; ok && i < n; i++)
        ok = compiler_output(c, sym(s, part[i]), text_span(part[i]));
    arena_free(a);
    compiler_free(c);
    if (ok) return g;
    graph_free(g);
    return NULL;
}

static const char *printed(const Graph *g, PrintStyle style) {
    Arena *a = session_arena(s);
    Str out = STR(s);
    print_block(printer_new(g, style, NULL, a), "", &out);
    const char *text = arena_str(a, str_text(&out), out.n);
    str_free(&out);
    return text;
}

static void fails(const char *text, DiagCode code, const char *message) {
    diag_clear(s);
    Graph *g = graph_of(text, "");
    const Diag *d = diag_first_error(s);
    CHECK(!g && d && d->code == code, "%s", text);
    if (d) CHECK_STR(d->text, message);
    diag_clear(s);
    if (g) graph_free(g);
}

static const Type *output_type(const Graph *g, size_t i) {
    return var_type(g, g->outputs.p[i].var);
}

/* ---- itypes, otypes ---- */
static void test_exact(void) {
    Graph *g = graph_of("a, b = t_exact(f, f, 3)\nc, d = t_exact(f, h, i)\n"
                        "e, k = t_exact(h, f, 4)",
                        "a, b, c, e");
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    CHECK_STR(type_str(s, output_type(g, 0)), "float32[n]");
    CHECK_STR(type_str(s, output_type(g, 1)), "bool");
    CHECK_STR(type_str(s, output_type(g, 2)), "float32[3]");
    CHECK_STR(type_str(s, output_type(g, 3)), "float32[3]");
    const char *text = printed(g, PRINT_STATEMENTS);
    Graph *again = graph_of(text, "a, b, c, e");
    CHECK(again && strcmp(printed(again, PRINT_STATEMENTS), text) == 0, "%s", text);
    graph_free(g);
    if (again) graph_free(again);

    fails("a, b = t_exact(f, f)", E_ARITY,
          "t_exact needs the argument x3: the function "
          "is t_exact(float32[n], float32[n], int64)");
    fails("a, b = t_exact(f, x, 1)", E_TYPE,
          "t_exact: input 2/3 (x2): expected float32[n], got float64[n]");
    fails("a, b = t_exact(x, f, 1)", E_TYPE,
          "t_exact: input 1/3 (x1): expected float32[n], got float64[n]");
    fails("a, b = t_exact(f, i, 1)", E_TYPE,
          "t_exact: input 2/3 (x2): expected float32[n], got int64");
    fails("a, b = t_exact(h, float32([1, 2]), 1)", E_TYPE,
          "t_exact: input 2/3 (x2): expected float32[n], got float32[2]");
    g = graph_of("a = t_half([1.0, 2.0])", "a");
    CHECK(g && strcmp(type_str(s, output_type(g, 0)), "float64[?]") == 0, "%s",
          first_error());
    if (g) graph_free(g);
}

/* ---- default_output ---- */
static void test_default_output(void) {
    Graph *g = graph_of("a = t_second(x)\nb, c = t_second(y)\nd = t_second(x) + 1",
                        "a, b, c, d");
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    CHECK(g->var[g->outputs.p[0].var].index == 1);
    CHECK(g->var[g->outputs.p[1].var].index == 0);
    CHECK(g->var[g->outputs.p[2].var].index == 1);
    Builder b = builder(g, false);
    Var v = call1(&b, "t_second", g->inputs.p[0]);
    CHECK(v != VAR_NONE && g->var[v].index == 1);
    graph_free(g);
    g = graph_of("b, c = t_second(y)", "b, c");
    const char *text = printed(g, PRINT_STATEMENTS);
    CHECK_STR(text, "b, c = t_second(y)\n");
    graph_free(g);
    fails("a = t_third(x)", E_PLUGIN, "t_third has no output 2 to give, only 2");
}

/* ---- str ---- */
static void test_str(void) {
    Graph *g = graph_of("a = t_said(x + y, by=2.5)", "a");
    CHECK_STR(printed(g, PRINT_MATH), "a = Scaled{by=2.5}(x + y)\n");
    CHECK_STR(printed(g, PRINT_STATEMENTS), "_1 = x + y\na = t_said(_1, by=2.5)\n");
    Str out = STR(s);
    ApplyId a = var_owner(g, g->outputs.p[0].var);
    print_op(s, g->apply[a].op, g->apply[a].props, &out);
    CHECK_STR(str_text(&out), "Scaled{by=2.5}");
    str_clear(&out);
    print_apply(g, a, &out);
    CHECK_STR(str_text(&out), "Scaled{by=2.5}(float64[n])");
    str_free(&out);
    graph_free(g);
}

/* ---- folding and shapes ---- */
/* Statements of the graph after rewriting without fusion; NULL: an error. */
static const char *rewritten(const char *text, const char *outputs) {
    static const char *const no[] = {"fusion"};
    Graph *g = graph_of(text, outputs);
    if (!g) return first_error();
    Graph *h = rewrite_run(
        g, &(RewriteOptions){.query = {.nexclude = 1, .exclude = no}}, NULL);
    const char *out = NULL;
    if (h) {
        Arena *a = session_arena(s);
        Str b = STR(s);
        print_block(printer_new(h, PRINT_STATEMENTS, NULL, a), "", &b);
        out = arena_str(a, str_text(&b), b.n);
        str_free(&b);
        graph_free(h);
    }
    graph_free(g);
    return out;
}

static void test_fold(void) {
    CHECK_STR(rewritten("a = t_inside(float64([3, 4]))", "a"),
              "a = t_inside(array([3.0, 4.0], dtype='float64'))\n");
    CHECK_STR(rewritten("a = -t_inside(float64([3, 4]))", "a"),
              "_1 = t_inside(array([3.0, 4.0], dtype='float64'))\na = -_1\n");
    const char *text = rewritten("a = exp(t_inside(float64([0, 0]))) + q[:2]", "a");
    CHECK(text && !strstr(text, "t_inside"), "%s", text ? text : first_error());
    /* the same when a rule took away what stood in between */
    text = rewritten("a = t_inside(t_inside(float64([0, 0])) * 1)", "a");
    CHECK_STR(text, "a = t_inside(array([1.0, 1.0], dtype='float64'))\n");
}

static void wrong(const char *text, DiagCode code, const char *message) {
    diag_clear(s);
    const char *out = rewritten(text, "n1");
    const Diag *d = diag_first_error(s);
    CHECK(!out && d && d->code == code, "%s", out ? out : first_error());
    if (d) CHECK_STR(d->text, message);
    diag_clear(s);
}

static void test_shapes(void) {
    runs = 0;
    const char *text =
        rewritten("a = t_right(x)\nn1 = a.shape[0]\nn2 = a.shape[1]", "n1, n2");
    CHECK_STR(text, "n1 = n + 1\nn2 = n\n");
    text = rewritten("a = t_right(q)\nn1 = exp(a).shape[1]", "n1");
    CHECK_STR(text, "n1 = shape_i(q, axis=0)\n");
    text = rewritten("a = t_declines(x)\nn1 = a.shape[0]", "n1");
    CHECK(text && strstr(text, "t_declines"), "%s", text ? text : first_error());
    CHECK(runs == 0);
    wrong("a = t_short(x)\nn1 = a.shape[0]", E_PLUGIN,
          "t_short: the shape that it tells has another number of dims");
    wrong("a = t_float(x)\nn1 = a.shape[1]", E_PLUGIN,
          "t_float: the shape that it tells is not made of integers");
    wrong("a = t_rank(x)\nn1 = a.shape[1]", E_PLUGIN,
          "t_rank: the shape that it tells has another number of dims");
    wrong("a = t_fails(x)\nn1 = a.shape[1]", E_SHAPE, "t_fails: no such shape");
}

/* ---- running ---- */
/* The first elements of the outputs for x = y = [1, 2]; false: an error. */
static bool run(Graph *g, Impl impl, double *out) {
    Plan *p = plan_new(g, &(PlanOptions){.impl = impl});
    if (!p) return false;
    Machine *m = vm_new(p);
    bool ok = true;
    for (size_t i = 0; i < 6 && ok; i++) {
        Value v = {.kind = TYPE_TENSOR};
        int64_t n = i == 3 ? 3 : 2;
        tensor_zeros(s,
                     i == 4             ? DT_INT64
                     : i == 2 || i == 3 ? DT_FLOAT32
                                        : DT_FLOAT64,
                     i != 4, &n, &v.t);
        if (i < 2) ((double *)v.t.data)[0] = 1, ((double *)v.t.data)[1] = 2;
        ok = vm_set_input(m, i, &v);
        value_unref(&v);
    }
    ok = ok && vm_run(m);
    for (size_t i = 0; ok && i < g->outputs.n; i++)
        out[i] = tensor_f64(&vm_output(m, i)->t, 0);
    vm_free(m);
    plan_free(p);
    return ok;
}

static void test_impl(void) {
    Graph *g = graph_of("a = t_slow(x)", "a");
    double r;
    CHECK(run(g, IMPL_ANY, &r) && r == 1);
    CHECK(run(g, IMPL_DEBUG, &r) && r == 2);
    graph_free(g);
}

/* Equal variables of which each is overwritten stay two, whatever else merges. */
static void test_apart(void) {
    Graph *g = graph_of("a = exp(x) * 2\nb = exp(x) * 2\nc = t_over(a, y)\n"
                        "d = t_over(b, x + y)\ne = exp(x)\nk = log(e)",
                        "c, d, k");
    double plain[3], after[3];
    CHECK(run(g, IMPL_ANY, plain), "%s", first_error());
    for (int fast = 0; fast < 2; fast++) {
        RewriteOptions o = {.query = {.mode = fast ? "FAST_RUN" : "FAST_COMPILE"}};
        Graph *h = rewrite_run(g, &o, NULL);
        CHECK(h && run(h, IMPL_ANY, after), "%s", first_error());
        for (int i = 0; i < 3; i++)
            CHECK(after[i] - plain[i] < 1e-12 && plain[i] - after[i] < 1e-12);
        for (ApplyId a = 0; h && a < h->napply; a++)
            CHECK(h->apply[a].serial == 0);
        if (h) graph_free(h);
    }
    graph_free(g);
}

int main(void) {
    s = session_new(NULL, NULL);
    session_options(s)->threads = 1;
    vm_open(s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(op_add(s, &rows[i], NOWHERE), "%s", first_error());
    test_exact();
    test_default_output();
    test_str();
    test_fold();
    test_shapes();
    test_impl();
    test_apart();
    session_free(s);
    return TEST_END("op_contract");
}
