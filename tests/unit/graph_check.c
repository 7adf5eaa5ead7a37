/* graph_check believes nothing: each field of a valid graph that could point elsewhere
 * or contradict another is made to, one at a time, and each time one error says so. */
#include "io/io.h"
#include "op/op.h"
#include "test.h"
#include "vm/vm.h"

#include <stdlib.h>

static Session *s;

static const char text[] = "thunkline: 1\nname: m\n"
                           "functions:\n"
                           "  f: {inputs: {a: float64}, outputs: {r: a + a}}\n"
                           "  h: {inputs: {a: float64}, outputs: {r: f(a) + 1.0}}\n"
                           "inputs: {x: 'float64[n, 3]', u: 'float64[?]'}\n"
                           "shared:\n"
                           "  w: float64[3] = [1, 2, 3]\n"
                           "  v: float64 = f(2.0)\n"
                           "let: |\n"
                           "  c = array([1.0, 2.0, 3.0])\n"
                           "  o = slice(None, 3)\n"
                           "  d = normal(0.0, x[0, 0], seed=1)\n"
                           "  y = sum(x * w, axis=0) + c + n\n"
                           "  z = h(w[0])\n"
                           "  p = sow(exp(y), tag='a', name='p')\n"
                           "  q = sow(exp(z), tag='a', name='q')\n"
                           "outputs: [y, z, o, u, d]\n"
                           "updates: {w: w + y, v: v + 1.0}\n";

static Var at(const Graph *g, const char *name) {
    return graph_find(g, sym(s, name));
}
#define REC(name)   g->var[at(g, name)]
#define LEAF(name)  (*var_leafrec(g, at(g, name)))
#define APPLY(name) g->apply[var_owner(g, at(g, name))]

static const Type *float64s(int ndim, Dim dim) {
    return type_tensor(s, DT_FLOAT64, ndim, (Dim[]){dim, dim});
}

/* A constant's value, which is as much the test's as the graph's. */
static void value_of(Graph *g, const char *name, DType d, int ndim, int64_t dim) {
    Value *v = LEAF(name).value;
    value_unref(v);
    *v = (Value){.kind = TYPE_TENSOR};
    if (!tensor_new(s, d, ndim, (int64_t[]){dim, dim}, &v->t)) abort();
}

/* code, part of the text, what is done to the graph g and its functions f and h */
#define DAMAGES(X)                                                                     \
    X(E_FORMAT, "variable", REC("y").type = NULL)                                      \
    X(E_FORMAT, "variable", REC("y").leaf = LEAF_DIM + 1)                              \
    X(E_FORMAT, "variable", REC("x").owner = g->nleaf)                                 \
    X(E_FORMAT, "variable", REC("x").owner = REC("w").owner)                           \
    X(E_FORMAT, "variable", REC("y").owner = g->napply)                                \
    X(E_FORMAT, "variable", REC("y").owner = REC("z").owner)                           \
    X(E_FORMAT, "variable", REC("y").index = 1)                                        \
    X(E_FORMAT, "graph f: variable", f->var[0].type = NULL)                            \
    X(E_FORMAT, "leaf", graph_dim(g, sym(s, "spare")), g->nvar--)                      \
    X(E_FORMAT, "(unnamed): variable", (g->name = 0, REC("y").type = NULL))            \
    X(E_FORMAT, "Apply", APPLY("y").op = NULL)                                         \
    X(E_FORMAT, "Apply", APPLY("y").props = NULL)                                      \
    X(E_FORMAT, "Apply", APPLY("y").in = g->nin + 1)                                   \
    X(E_FORMAT, "Apply", APPLY("y").nin = (uint16_t)(g->nin + 1))                      \
    X(E_FORMAT, "Apply", APPLY("y").nout = (uint16_t)(g->nvar + 1))                    \
    X(E_FORMAT, "Apply", g->apply[g->napply++] = (Apply){.op = g->apply[0].op})        \
    X(E_FORMAT, "Apply", g->in[APPLY("y").in] = at(g, "y"))                            \
    X(E_FORMAT, "input", g->inputs.p[0] = g->nvar)                                     \
    X(E_FORMAT, "input", g->inputs.p[0] = at(g, "w"))                                  \
    X(E_FORMAT, "shared variable", g->shared.p[1] = at(g, "x"))                        \
    X(E_FORMAT, "output 1", g->outputs.p[1].var = g->nvar)                             \
    X(E_FORMAT, "update 0", g->updates.p[0].value = g->nvar)                           \
    X(E_FORMAT, "update 0", g->updates.p[0].shared = g->nvar)                          \
    X(E_FORMAT, "update 1", g->updates.p[1].shared = at(g, "x"))                       \
    X(E_FORMAT, "effect 0", g->effects.p[0] = g->napply)                               \
    X(E_FORMAT, "effect 0", g->effects.p[0] = var_owner(g, at(g, "y")))                \
    X(E_FORMAT, "effect 0", g->apply[g->effects.p[0]].serial = 0)                      \
    X(E_FORMAT, "effect 0", APPLY("y").serial = 1, g->effects.p[0] = REC("y").owner)   \
    X(E_FORMAT, "effect 1", g->effects.p[1] = g->effects.p[0])                         \
    X(E_FORMAT, "name 0", g->names.p[0].var = g->nvar)                                 \
    X(E_FORMAT, "initial value", LEAF("v").init = g->nvar)                             \
    X(E_FORMAT, "until", f->until = f->nvar)                                           \
    X(E_TYPE, "until must be a bool, not float64", f->until = 0)                       \
    X(E_TYPE, "the graph says", REC("y").type = float64s(0, 0))                        \
    X(E_TYPE, "the graph says float64[4]", REC("y").type = float64s(1, 4))             \
    X(E_ARITY, "takes 2 to 3 arguments, not 0", APPLY("d").nin = 0)                    \
    X(E_TYPE, "does not have its type", value_of(g, "c", DT_FLOAT32, 1, 3))            \
    X(E_TYPE, "does not have its type", value_of(g, "c", DT_FLOAT64, 2, 3))            \
    X(E_TYPE, "does not have its type", value_of(g, "c", DT_FLOAT64, 1, 4))            \
    X(E_TYPE, "does not have its type", value_unref(LEAF("c").value))                  \
    X(E_TYPE, "does not have its type", LEAF("o").value->kind = TYPE_NONE)             \
    X(E_TYPE, "the update of v is float64[3]", g->updates.p[1].value = at(g, "c"))     \
    X(E_TYPE, "the update of v is float64[n, 3]", g->updates.p[1].value = at(g, "x"))  \
    X(E_DUPLICATE, "w has two updates",                                                \
      g->updates.p[1] = (Update){at(g, "w"), at(g, "c")})                              \
    X(E_DUPLICATE, "two outputs are called y",                                         \
      g->outputs.p[1].label = g->outputs.p[0].label)                                   \
    X(E_TYPE, "the initial value of v is", LEAF("v").init = at(g, "c"))                \
    X(E_VALUE, "the initial value of v depends on an input",                           \
      LEAF("v").init = at(g, "d"))                                                     \
    X(E_VALUE, "the initial value of v depends on itself",                             \
      LEAF("v").init = at(g, "v"))                                                     \
    X(E_CYCLE, "f calls itself", f->apply[0].op = h->apply[0].op,                      \
      f->apply[0].props = h->apply[0].props)

static Graph *whole(const char *p, size_t n) {
    Graph *g = io_read_mem(s, "m.yaml", p, n, NULL);
    CHECK(g && graph_check(g), "%s", g ? "graph_check" : diag_first_error(s)->text);
    return g;
}

/* Returns what row i is about; NULL: there is no such row. */
static const char *damage(int i, Graph *g, DiagCode *code, const char **what) {
    Graph *f = g->functions.p[0], *h = g->functions.p[1];
    int row = 0;
#define X(CODE, WHAT, ...)                                                             \
    if (row++ == i) {                                                                  \
        *code = CODE;                                                                  \
        *what = WHAT;                                                                  \
        (void)(__VA_ARGS__);                                                           \
        return #__VA_ARGS__;                                                           \
    }
    DAMAGES(X)
#undef X
    return NULL;
}

static void damaged(void) {
    const char *row = "";
    for (int i = 0; row; i++) {
        DiagCode code = E_FORMAT;
        const char *what = "";
        Graph *g = whole(text, sizeof text - 1);
        if (!g) return;
        graph_reserve(g, g->napply + 1, g->nvar + 1, g->nin + 1);
        row = damage(i, g, &code, &what);
        bool ok = graph_check(g);
        const Diag *d = diag_first_error(s);
        CHECK(ok == !row && !d == ok, "%s: %s", row ? row : "as it was",
              d ? d->text : "");
        CHECK(!d || (d->code == code && strstr(d->text, what) && diag_count(s) == 1),
              "%s: %s", row, d ? d->text : "");
        diag_clear(s);
        graph_free(g);
    }
}

/* A graph whose floatX is float32 may say so of what it draws by its type alone: then
 * the op gets the dtype. Any other type is refused, and float64 without floatX. */
static void drawn(DType floatX, DType says, bool fits) {
    static const char drawing[] =
        "thunkline: 1\ninputs: {i: int64, x: float64}\nlet: |\n"
        "  d = normal(i, 2, (3,), seed=1)\n"
        "  m = x / 2\noutputs: [d, m]\n";
    Graph *g = whole(drawing, sizeof drawing - 1);
    if (!g) return;
    const Op *normal = op_find(s, "normal", strlen("normal"));
    REC("d").type = type_with_dtype(s, REC("d").type, says);
    g->floatX = floatX;
    bool ok = graph_check(g);
    const Prop *dtype = op_prop(s, normal, APPLY("d").props, "dtype");
    CHECK(ok == fits, "%s", ok ? "taken" : diag_first_error(s)->text);
    CHECK(fits && says == DT_FLOAT32
              ? dtype->kind == P_DTYPE && (DType)dtype->i == DT_FLOAT32
              : dtype->kind == P_NONE);
    CHECK(ok || strstr(diag_first_error(s)->text, "output 0 of normal is float64"));
    diag_clear(s);
    if (ok) { /* what has no dtype= stays refused */
        REC("m").type = type_with_dtype(s, REC("m").type, DT_FLOAT32);
        CHECK(!graph_check(g) &&
              strstr(diag_first_error(s)->text, "output 0 of true_divide is float64"));
        diag_clear(s);
    }
    graph_free(g);
}

/* What a float32 floatX made of integers, and its type alone said, is cast now; but not
 * what never was of that dtype. */
static void averaged(DType floatX, DType says, bool fits) {
    static const char averaging[] =
        "thunkline: 1\nfunctions:\n"
        "  f: {inputs: {k: 'int64[2]'}, outputs: {o: mean(k)}}\n"
        "inputs: {i: 'int64[2]', x: float64}\nlet: |\n"
        "  m = mean(i)\n  v = var(i, axis=0)\n  twice = m * m\n  c = f(i)\n"
        "  w = x / 2\noutputs: [v, twice, c, w]\n";
    Graph *g = whole(averaging, sizeof averaging - 1);
    if (!g) return;
    Graph *fn = g->functions.p[0];
    const char *const names[] = {"m", "v", "twice", "c"};
    for (size_t i = 0; i < 4; i++)
        REC(names[i]).type = type_with_dtype(s, REC(names[i]).type, says);
    Var o = fn->outputs.p[0].var;
    fn->var[o].type = type_with_dtype(s, fn->var[o].type, says);
    g->floatX = floatX;
    bool ok = graph_check(g);
    CHECK(ok == fits, "%s", ok ? "taken" : diag_first_error(s)->text);
    CHECK(ok || strstr(diag_first_error(s)->text, "output 0 of mean is float64"));
    diag_clear(s);
    if (fits && says == DT_FLOAT32) { /* as today's writer would have made it */
        CHECK(graph_check(g) && REC("twice").type->dtype == DT_FLOAT32);
        CHECK_STR(APPLY("m").op->name, "cast");
        CHECK_STR(APPLY("v").op->name, "cast");
        CHECK_STR(APPLY("w").op->name, "true_divide");
        o = fn->outputs.p[0].var;
        CHECK_STR(fn->apply[var_owner(fn, o)].op->name, "cast");
    }
    graph_free(g);
}

static void older_means(void) {
    averaged(DT_NONE, DT_FLOAT64, true);
    averaged(DT_FLOAT32, DT_FLOAT32, true);
    averaged(DT_FLOAT32, DT_FLOAT16, false);
    averaged(DT_NONE, DT_FLOAT32, false);
    averaged(DT_FLOAT64, DT_FLOAT32, false);
}

static void older_draws(void) {
    drawn(DT_NONE, DT_FLOAT64, true);
    drawn(DT_FLOAT32, DT_FLOAT32, true);
    drawn(DT_FLOAT32, DT_FLOAT64, true);
    drawn(DT_FLOAT32, DT_FLOAT16, false);
    drawn(DT_NONE, DT_FLOAT32, false);
    drawn(DT_FLOAT64, DT_FLOAT32, false);
}

/* What runs functions limits how deep they call each other; a graph may hold any. */
static void deep_calls(void) {
    Str b = STR(s);
    str_puts(&b, "thunkline: 1\nfunctions:\n"
                 "  f0: {inputs: {a: float64}, outputs: {r: a + 1.0}}\n");
    for (int i = 1; i < 1000; i++)
        str_printf(&b, "  f%d: {inputs: {a: float64}, outputs: {r: f%d(a)}}\n", i,
                   i - 1);
    Graph *g = whole(b.p, b.n);
    if (g) { /* also if it comes before those it calls */
        Graph *last = g->functions.p[g->functions.n - 1];
        memmove(g->functions.p + 1, g->functions.p,
                (g->functions.n - 1) * sizeof(Graph *));
        g->functions.p[0] = last;
        CHECK(graph_check(g));
    }
    graph_free(g);
    str_free(&b);
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    damaged();
    older_draws();
    older_means();
    deep_calls();
    session_free(s);
    return TEST_END("graph_check");
}
