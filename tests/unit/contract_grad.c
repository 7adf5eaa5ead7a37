/* The clauses of the Op contract about derivatives (contract.def), by graphs in the
 * language and by ops whose gradients look at what they are given. */
#define CLAUSE_grad CLAUSE_RUN
#include "contract_graph.h"
#include "op/infer.h"
#include "value/class.h"

/* ---- ops ---- */
static bool like(Infer *in) {
    for (size_t i = 0; i < in->nout; i++)
        in->out[i] = in->type[0];
    return true;
}
static bool copies(Call *c) {
    for (size_t i = 0; i < c->nout; i++) {
        const Tensor *x = call_in(c, i < c->nin ? i : 0);
        Tensor *r = call_out(c, i, x->ndim, x->shape);
        if (!r) return false;
        tensor_assign(r, x);
    }
    return true;
}
static bool integer(Infer *in) {
    in->out[0] = type_with_dtype(in->s, in->type[0], DT_INT64);
    return true;
}
static bool halves(Call *c) {
    Tensor *r = call_out(c, 0, 0, NULL);
    if (r) *(int64_t *)r->data = (int64_t)tensor_f64(call_in(c, 0), 0) / 2;
    return r != NULL;
}
/* x repeated n times */
static bool times_type(Infer *in) {
    Dim n = DIM_UNKNOWN;
    in->out[0] = type_tensor(in->s, in->type[0]->dtype, 1, &n);
    return true;
}
static bool times(Call *c) {
    int64_t n = tensor_i64(call_in(c, 1), 0);
    Tensor *r = call_out(c, 0, 1, &n);
    for (int64_t i = 0; r && i < n; i++)
        ((double *)r->data)[i] = tensor_f64(call_in(c, 0), 0);
    return r != NULL;
}
static bool times_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    (void)out;
    return g->apply[a].nin != 2 || in == 0;
}

/* What the last gradient was given. */
static size_t seen_in, seen_out;
static bool seen_disconnected[2];
static const Type *seen_type[2];
static bool seen_symbols;

static bool looks(Pull *p) {
    seen_in = p->nin;
    seen_out = p->nout;
    seen_symbols = true;
    for (size_t k = 0; k < p->nout && k < 2; k++) {
        seen_disconnected[k] = p->cotangent[k] == GRAD_DISCONNECTED;
        seen_type[k] = seen_disconnected[k] ? NULL : var_type(p->b->g, p->cotangent[k]);
        seen_symbols &= seen_disconnected[k] || p->cotangent[k] < p->b->g->nvar;
    }
    for (size_t i = 0; i < p->nin; i++)
        p->grad[i] = p->cotangent[i < p->nout ? i : 0];
    return true;
}
static bool pair_connect(const Graph *g, ApplyId a, size_t in, size_t out) {
    (void)g, (void)a;
    return in == out;
}
static bool integer_term(Pull *p) {
    p->grad[0] = op_cast_to(p->b, p->cotangent[0], DT_INT64);
    return p->grad[0] != VAR_NONE;
}
static bool ones_term(Pull *p) {
    const int64_t n = 2;
    Tensor t;
    if (!tensor_new(p->b->s, DT_FLOAT64, 1, &n, &t)) return false;
    memcpy(t.data, (double[]){1, 1}, 16);
    p->grad[0] = graph_const(p->b->g, &t, false);
    tensor_unref(&t);
    return true;
}
static bool flat_term(Pull *p) {
    p->grad[0] = op_call1(p->b, "sum", p->cotangent[0]);
    return p->grad[0] != VAR_NONE;
}
static bool push_both(Push *p) {
    for (size_t k = 0; k < p->nout; k++)
        p->result[k] = p->tangent[k];
    return true;
}
static bool push_none(Push *p) {
    p->result[0] = VAR_NONE;
    return true;
}

#define PAIR .in = "x, y", .out = "a, b", .type = like, .perform = copies
static const char *const one[] = {"g"}, *const none[] = {"disconnected"},
                         *const not_yet[] = {"undefined('nobody wrote it yet')"},
                         *const along[] = {"zeros_like(x)",
                                           "undefined('an axis is a whole number')"},
                         *const half[] = {"undefined('defined at whole numbers only')"},
                         *const repeats[] = {"sum(g)", "disconnected"},
                         *const forgets[] = {"sum(g)", NULL};
static const Op rows[] = {
    {.name = "given", .in = "x", .type = like, .perform = copies, .adjoint = one},
    {.name = "t_ones", .in = "x", .type = like, .perform = copies, .pull = ones_term},
    {.name = "t_forgotten", .in = "x", .type = like, .perform = copies},
    {.name = "t_one", .in = "x", .type = like, .perform = copies, .adjoint = one},
    {.name = "t_none", .in = "x", .type = like, .perform = copies, .adjoint = none},
    {.name = "t_later", .in = "x", .type = like, .perform = copies, .adjoint = not_yet},
    {.name = "t_along",
     .in = "x, y",
     .type = integer,
     .perform = halves,
     .adjoint = along},
    {.name = "t_half", .in = "x", .type = integer, .perform = halves, .adjoint = half},
    {.name = "t_times",
     .in = "x, n",
     .type = times_type,
     .perform = times,
     .adjoint = repeats,
     RARE(.connect = times_connect)},
    {.name = "t_no_pattern",
     .in = "x, n",
     .type = times_type,
     .perform = times,
     .adjoint = repeats},
    {.name = "t_not_told",
     .in = "x, n",
     .type = times_type,
     .perform = times,
     .adjoint = forgets},
    {.name = "t_looks", PAIR, .pull = looks},
    {.name = "t_pair",
     PAIR,
     .pull = looks,
     RARE(.connect = pair_connect),
     .push = push_both},
    {.name = "t_integer",
     .in = "x",
     .type = like,
     .perform = copies,
     .pull = integer_term},
    {.name = "t_flat", .in = "x", .type = like, .perform = copies, .pull = flat_term},
    {.name = "t_still",
     .in = "x",
     .type = like,
     .perform = copies,
     .adjoint = one,
     .push = push_none},
};

/* ---- graphs ---- */
static Graph *graph_of(const char *text, const char *output) {
    Str all = STR(s);
    str_printf(&all, "%s\nout = %s", text, output);
    Graph *g = graph_with(0, NULL, str_text(&all), "out");
    str_free(&all);
    return g;
}

/* The value of `output`; its type is in front where `typed`. */
static void shows(const char *text, const char *output, bool typed, const char *want) {
    Graph *g = graph_of(text, output);
    CHECK(g != NULL, "%s: %s", text, first_error());
    if (!g) return;
    Value v = {0};
    Var out = g->outputs.p[0].var;
    Str got = STR(s);
    if (typed) str_printf(&got, "%s ", type_str(s, var_type(g, out)));
    if (var_type(g, out)->kind == TYPE_TENSOR) {
        CHECK(services(s)->eval(g, 1, &out, &v), "%s: %s", text, first_error());
        value_text(s, &v, -1, &got);
        value_unref(&v);
    }
    CHECK(strcmp(str_text(&got), want) == 0, "%s: %s, not %s", text, str_text(&got),
          want);
    str_free(&got);
    graph_free(g);
}

static void gives(const char *text, const char *output, const char *want) {
    shows(text, output, false, want);
}
static void typed(const char *text, const char *output, const char *want) {
    shows(text, output, true, want);
}

static void refuses(const char *text, DiagCode code, const char *part) {
    Graph *g = graph_of(text, "g");
    const Diag *d = diag_first_error(s);
    CHECK(!g && d && d->code == code, "%s: %s", text, first_error());
    CHECK(d && strstr(d->text, part), "%s: %s", text, first_error());
    diag_clear(s);
    graph_free(g);
}

/* ---- what gradients are given ---- */
static void test_given(void) {
    gives(
        "x = given(float64([1, 2]))\ny = given(float64([3, 4]))\na, b = t_looks(x, y)\n"
        "g = grad(sum(a) * 2 + sum(b) * 3, x)",
        "g", "[2.0, 2.0]");
    CHECK(seen_symbols && seen_in == 2 && seen_out == 2);
    CHECK(!seen_disconnected[0] && !seen_disconnected[1]);
    CHECK_STR(type_str(s, seen_type[0]), "float64[2]");
}

static void test_disconnected_output(void) {
    gives(
        "x = given(float64([1, 2]))\ny = given(float64([3, 4]))\na, b = t_looks(x, y)\n"
        "g = grad(sum(a) * 2, x)",
        "g", "[2.0, 2.0]");
    CHECK(!seen_disconnected[0] && seen_disconnected[1]);
}

/* An int output is given a float gradient. */
static void test_float_cotangents(void) {
    seen_type[0] = NULL;
    gives("x = given(int64([1, 2]))\na, b = t_looks(x, x)\n"
          "g = grad(sum(float64(a)) * 0.5, x) * 0",
          "g", "[0.0, 0.0]");
    CHECK(seen_type[0] && dtype_is_float(seen_type[0]->dtype));
    refuses("x = given(int64([1, 2]))\ng = grad(sum(float64(t_ones(x))), x)",
            E_GRADIENT, "reaches the cost through integers only");
}

static void test_pattern(void) {
    Graph *g =
        graph_of("x = given(float64(2))\nn = given(int64(3))\na = t_times(x, n)\n"
                 "b, c = t_looks(a, a)\nd, e = t_pair(a, a)\nf = x[None][:n]",
                 "a");
    CHECK(g != NULL, "%s", first_error());
    for (ApplyId a = 0; g && a < g->napply; a++) {
        const char *op = g->apply[a].op->name;
        if (strcmp(op, "t_times") == 0)
            CHECK(op_connected(g, a, 0, 0) && !op_connected(g, a, 1, 0));
        if (strcmp(op, "t_pair") == 0)
            CHECK(op_connected(g, a, 0, 0) && !op_connected(g, a, 0, 1) &&
                  !op_connected(g, a, 1, 0) && op_connected(g, a, 1, 1));
        if (strcmp(op, "t_looks") == 0)
            CHECK(op_connected(g, a, 0, 0) && op_connected(g, a, 0, 1) &&
                  op_connected(g, a, 1, 0) && op_connected(g, a, 1, 1));
        if (strcmp(op, "subtensor") == 0) /* x, and as many indices as there are */
            for (size_t i = 0; i < g->apply[a].nin; i++)
                CHECK(op_connected(g, a, i, 0) == (i == 0), "index %zu", i);
    }
    graph_free(g);
}

static void test_clauses(void) {
#include "contract.def"
}

int main(void) {
    contract_open(rows, sizeof rows / sizeof *rows);
    test_clauses();
    session_free(s);
    return TEST_END("contract_grad");
}
