/* The clauses of the Op contract (contract.def) about making and rewriting Applies, by
 * ops added to the session: each member does what its clause says. */
#define CLAUSE_op CLAUSE_RUN
#include "contract_graph.h"
#include "lang/print/print.h"

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
    q->out_shape[0][0] = op_call2(q->b, "add", q->in_shape[0][0], const_int(q->b, 1));
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
/* A vector and a matrix from a vector: what it is given, and a shape for each output.
 */
static bool shape_symbols;
static bool two_shapes(Infer *in) {
    Dim d[2] = {DIM_UNKNOWN, DIM_UNKNOWN};
    in->out[0] = type_tensor(in->s, DT_FLOAT64, 1, d);
    in->out[1] = type_tensor(in->s, DT_FLOAT64, 2, d);
    return true;
}
static bool shape_both(ShapeOf *q) {
    Var rows = q->in_shape[1][0], columns = q->in_shape[1][1];
    shape_symbols = q->nin == 2 && q->nout == 2 &&
                    var_type(q->b->g, rows) == type_scalar(q->b->s, DT_INT64) &&
                    var_type(q->b->g, columns) == type_scalar(q->b->s, DT_INT64);
    q->out_shape[0][0] = q->in_shape[0][0];
    q->out_shape[1][0] = columns;
    q->out_shape[1][1] = rows;
    return true;
}
static bool shape_declines(ShapeOf *q) {
    (void)q;
    return false;
}
static bool shape_fails(ShapeOf *q) {
    return fail(q->b->s, NOWHERE, E_SHAPE, "t_fails: no such shape");
}

static const Op rows[] = {
    {.name = "t_exact",
     RARE(.itypes = "float32[n], float32[n], int64", .otypes = "float32[n], bool"),
     .perform = fill_1},
    {.name = "t_half",
     RARE(.itypes = "float64[?]", .otypes = "float64[?]"),
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
    {.name = "t_both",
     .in = "x",
     .out = "a, b",
     .type = two_like,
     .perform = fill_both},
    {.name = "t_scaled",
     .in = "x",
     .props = "by: float = 1.0, name: str = 'one'",
     .type = like,
     .perform = fill_1},
    {.name = "t_plain", .in = "x", .type = like, .perform = fill_1},
    {.name = "t_twice", .in = "x", .def = "x + x"},
    {.name = "t_ever", .in = "x", .type = like, .perform = fill_1, .fold = FOLD_NEVER},
    {.name = "t_shapes",
     .in = "x, y",
     .out = "a, b",
     .type = two_shapes,
     .perform = fill_both,
     RARE(.infer_shape = shape_both)},
    {.name = "t_said",
     .in = "x",
     .props = "by: float = 1.0",
     .type = like,
     .perform = fill_1,
     RARE(.str = say)},
    {.name = "t_inside",
     .in = "x",
     .type = like,
     .perform = fill_1,
     RARE(.fold_if = fold_inside)},
    {.name = "t_right",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     RARE(.infer_shape = shape_right)},
    {.name = "t_short",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     RARE(.infer_shape = shape_short)},
    {.name = "t_float",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     RARE(.infer_shape = shape_float)},
    {.name = "t_declines",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     RARE(.infer_shape = shape_declines)},
    {.name = "t_fails",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     RARE(.infer_shape = shape_fails)},
    {.name = "t_rank",
     .in = "x",
     .type = unknown_matrix,
     .perform = fill_1,
     RARE(.shape = "[x.shape[0]]")},
};

/* ---- graphs from text ---- */
static Graph *graph_of(const char *text, const char *outputs) {
    static const char *const in[][2] = {{"x", "float64[n]"}, {"y", "float64[n]"},
                                        {"f", "float32[n]"}, {"h", "float32[3]"},
                                        {"i", "int64"},      {"q", "float64[?]"}};
    return graph_with(sizeof in / sizeof *in, in, text, outputs);
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

/* The labels of what `outputs` stands for. */
static void outputs_are(const char *text, const char *outputs, const char *labels) {
    Graph *g = graph_of(text, outputs);
    Str got = STR(s);
    for (size_t i = 0; g && i < g->outputs.n; i++)
        str_printf(&got, "%s%s", i ? " " : "", sym_text(s, g->outputs.p[i].label));
    CHECK_STR(str_text(&got), labels);
    str_free(&got);
    if (g) graph_free(g);
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
}

static void test_exact_refusals(void) {
    fails("a, b = t_exact(f, f)", E_ARITY,
          "t_exact needs the argument x3; its signature is t_exact(float32[n], "
          "float32[n], int64)");
    fails("a, b = t_exact(f, x, 1)", E_TYPE,
          "t_exact: input 2/3 (x2): expected float32[n], got float64[n]");
    fails("a, b = t_exact(x, f, 1)", E_TYPE,
          "t_exact: input 1/3 (x1): expected float32[n], got float64[n]");
    fails("a, b = t_exact(f, i, 1)", E_TYPE,
          "t_exact: input 2/3 (x2): expected float32[n], got int64");
    fails("a, b = t_exact(h, float32([1, 2]), 1)", E_TYPE,
          "t_exact: input 2/3 (x2): expected float32[n], got float32[2]");
}

static void test_literal(void) {
    Graph *g = graph_of("a = t_half([1.0, 2.0])", "a");
    CHECK(g && strcmp(type_str(s, output_type(g, 0)), "float64[?]") == 0, "%s",
          first_error());
    if (g) graph_free(g);
}

/* ---- make_node ---- */
static void test_apply(void) {
    runs = 0;
    Graph *g = graph_of("a, b = t_both(x + y)", "a, b");
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    Var a = g->outputs.p[0].var, b = g->outputs.p[1].var;
    const Apply *ap = &g->apply[var_owner(g, a)];
    CHECK_STR(ap->op->name, "t_both");
    CHECK(ap->nin == 1 && ap->nout == 2 && ap->out == a && b == a + 1);
    CHECK(var_owner(g, b) == var_owner(g, a));
    CHECK_STR(g->apply[var_owner(g, apply_in(g, var_owner(g, a))[0])].op->name, "add");
    CHECK(runs == 0, "nothing is computed");
    graph_free(g);
}

/* Each Apply of g, applied anew to its own inputs, is itself. */
static void again(Graph *g, const char *text) {
    Builder b = builder(g, true);
    for (ApplyId a = 0, n = g->napply; a < n; a++) {
        const Apply ap = g->apply[a];
        Var in[64], out[OUT_MAX];
        if (ap.nin > 64 || ap.serial) continue;
        memcpy(in, apply_in(g, a), ap.nin * sizeof *in);
        bool ok = op_apply(&b, ap.op, ap.props, ap.nin, in, out);
        CHECK(ok, "%s: %s: %s", text, ap.op->name, first_error());
        const Apply *twin = ok ? &g->apply[var_owner(g, out[0])] : &ap;
        CHECK(twin->op == ap.op && twin->props == ap.props && twin->nin == ap.nin &&
                  twin->nout == ap.nout &&
                  memcmp(apply_in(g, var_owner(g, out[0])), in, ap.nin * sizeof *in) ==
                      0,
              "%s: %s", text, ap.op->name);
        for (size_t i = 0; ok && i < ap.nout; i++)
            CHECK(var_type(g, out[i]) == var_type(g, ap.out + (Var)i), "%s: %s", text,
                  ap.op->name);
        diag_clear(s);
    }
}

/* The examples of all ops. */
static void test_again(void) {
    size_t n = 0;
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        const char *p = op->example;
        for (size_t len; p && *p; p += len + (p[len] != 0)) {
            Str line = STR(s);
            len = strcspn(p, "\n");
            const char *arrow = strstr(p, " -> ");
            if (!arrow || arrow > p + len) continue;
            str_puts(&line, "value = ");
            str_add(&line, p, (size_t)(arrow - p));
            diag_clear(s);
            Graph *g = graph_of(str_text(&line), "");
            diag_clear(s);
            if (g) again(g, str_text(&line)), n++;
            if (g) graph_free(g);
            str_free(&line);
        }
    }
    CHECK(n > 200, "%zu examples", n);
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
    Var v = op_call1(&b, "t_second", g->inputs.p[0]);
    CHECK(v != VAR_NONE && g->var[v].index == 1);
    graph_free(g);
    g = graph_of("b, c = t_second(y)", "b, c");
    const char *text = printed(g, PRINT_STATEMENTS);
    CHECK_STR(text, "b, c = t_second(y)\n");
    graph_free(g);
}

/* ---- __call__ ---- */
static void test_call(void) {
    Graph *g = graph_of("a = t_twice(x)\nb = t_plain(x)", "a, b");
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    CHECK_STR(printed(g, PRINT_STATEMENTS), "a = x + x\nb = t_plain(x)\n");
    graph_free(g);
    /* a graph that depends on the arguments comes from a macro */
    g = graph_of("a = reduce(lambda v, acc: acc + v, y, 0.0)\nb = jvp(x * x, x, y)",
                 "b");
    CHECK(g != NULL, "%s", first_error());
    for (ApplyId a = 0; g && a < g->napply; a++)
        CHECK(strcmp(g->apply[a].op->name, "reduce") != 0 &&
              strcmp(g->apply[a].op->name, "jvp") != 0);
    graph_free(g);
}

/* ---- __eq__, __hash__, __props__ ---- */
static const Props *props_of(const Graph *g, size_t output) {
    return g->apply[var_owner(g, g->outputs.p[output].var)].props;
}

static void test_props(void) {
    Graph *g = graph_of("a = t_scaled(x, by=2.0)\nb = t_scaled(y, by=2.0)\n"
                        "c = t_scaled(x, by=3.0)\nd = t_scaled(x)\n"
                        "e = t_scaled(y, by=1.0, name='one')\nk = t_plain(x)\n"
                        "l = t_plain(y)",
                        "a, b, c, d, e, k, l");
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    CHECK(props_of(g, 0) == props_of(g, 1), "equal props are one");
    CHECK(props_of(g, 0) != props_of(g, 2) && props_of(g, 0) != props_of(g, 3));
    CHECK(props_of(g, 3) == props_of(g, 4), "a default that is said is the default");
    CHECK(props_of(g, 5) == props_of(g, 6) && props_of(g, 5)->n == 0);
    /* their hash is kept with them, and they outlive any change of a graph */
    const Props *before = props_of(g, 0);
    Graph *copy =
        rewrite_run(g, &(RewriteOptions){.query = {.mode = "FAST_RUN"}}, NULL);
    CHECK(copy && props_of(copy, 0) == before && props_of(copy, 1) == before);
    graph_free(copy);
    graph_free(g);
}

/* Equal Applys become one, others don't, and no value changes. */
static const char *rewritten(const char *text, const char *outputs);
static void test_merge(void) {
    CHECK_STR(rewritten("a = t_scaled(x, by=2.0) + t_scaled(x, by=2.0)", "a"),
              "_1 = t_scaled(x, by=2.0)\na = 2.0 * _1\n");
    CHECK_STR(rewritten("a = t_scaled(x, by=2.0) + t_scaled(x, by=3.0)", "a"),
              "_1 = t_scaled(x, by=2.0)\n_2 = t_scaled(x, by=3.0)\na = _1 + _2\n");
    CHECK_STR(rewritten("a = t_plain(x) + t_scaled(x)", "a"),
              "_1 = t_plain(x)\n_2 = t_scaled(x)\na = _1 + _2\n");
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

static void test_str_by_props(void) {
    Graph *g = graph_of("a = t_scaled(x, by=2.5)\nb = t_plain(x)", "a, b");
    Str out = STR(s);
    for (size_t i = 0; g && i < 2; i++) {
        ApplyId a = var_owner(g, g->outputs.p[i].var);
        print_op(s, g->apply[a].op, g->apply[a].props, &out);
        str_putc(&out, '|');
    }
    CHECK_STR(str_text(&out), "t_scaled(by=2.5)|t_plain|");
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

static void test_fold_always(void) {
    const char *text = rewritten("a = t_plain(float64([3, 4])) + q[:2]", "a");
    CHECK(text && !strstr(text, "t_plain"), "%s", text ? text : first_error());
    text = rewritten("a = t_plain(x)", "a");
    CHECK(text && strstr(text, "t_plain"), "%s", text ? text : first_error());
}
static void test_fold_never(void) {
    const char *text = rewritten("a = t_ever(float64([3, 4])) + q[:2]", "a");
    CHECK(text && strstr(text, "t_ever"), "%s", text ? text : first_error());
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

/* It is known without the op, which is gone. */
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
}

static void test_shapes_of_all(void) {
    shape_symbols = false;
    CHECK_STR(rewritten("a, b = t_shapes(x, stack([y, y, y]))\nn1 = a.shape[0]\n"
                        "n2 = b.shape[0]\nn3 = b.shape[1]",
                        "n1, n2, n3"),
              "n3 = 3\nn1 = n\nn2 = n\n");
    CHECK(shape_symbols);
}

static void test_wrong_shapes(void) {
    wrong("a = t_short(x)\nn1 = a.shape[0]", E_PLUGIN,
          "t_short: the shape that it infers has another number of dims");
    wrong("a = t_float(x)\nn1 = a.shape[1]", E_PLUGIN,
          "t_float: the shape that it infers is not made of integers");
    wrong("a = t_rank(x)\nn1 = a.shape[1]", E_PLUGIN,
          "t_rank: the shape that it infers has another number of dims");
    wrong("a = t_fails(x)\nn1 = a.shape[1]", E_SHAPE, "t_fails: no such shape");
}

static void test_clauses(void) {
#include "contract.def"
}

int main(void) {
    contract_open(rows, sizeof rows / sizeof *rows);
    test_clauses();
    session_free(s);
    return TEST_END("contract_op");
}
