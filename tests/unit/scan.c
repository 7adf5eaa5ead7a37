/* What a scan, a call and an ifelse refuse, made from props as a file may have them. */
#include "op/build.h"
#include "op/op.h"
#include "test.h"
#include "type/type.h"

#include <string.h>

static Session *s;
static Graph *g;
static Builder b;

static Var input(Graph *at, const char *name, const char *type) {
    return graph_input(at, sym(s, name), type_parse(s, type, strlen(type), NOWHERE));
}

/* A function of float64 scalars, the sum of which is each of its outputs. */
static Graph *function(const char *name, size_t nin, size_t nout) {
    Graph *f = graph_function_new(g, sym(s, name));
    Builder fb = builder(f, false);
    Var sum = VAR_NONE;
    for (size_t i = 0; i < nin; i++) {
        char text[24];
        snprintf(text, sizeof text, "u%zu", i);
        Var u = input(f, text, "float64");
        sum = i ? op_call2(&fb, "add", sum, u) : u;
    }
    for (size_t i = 0; i < nout; i++) {
        char text[24];
        snprintf(text, sizeof text, "r%zu", i);
        vec_push(s, &f->outputs, ((Output){sym(s, text), sum}));
    }
    return f;
}

typedef struct Ints {
    size_t n;
    int64_t v[8];
} Ints;

static bool apply_op(const char *name, const char *fn, Ints seq, Ints states, Ints keep,
                     size_t n, const Var *in) {
    const Op *op = op_find(s, name, strlen(name));
    Var out[OUT_MAX];
    PropArg p[] = {{"fn", {.kind = P_GRAPH, .sym = sym(s, fn)}},
                   {"sequences", PROP_INTS(seq.v, seq.n)},
                   {"states", PROP_INTS(states.v, states.n)},
                   {"keep", PROP_INTS(keep.v, keep.n)}};
    const Props *props = props_make(s, op, strcmp(name, "scan") == 0 ? 4 : 1, p);
    return op_apply(&b, op, props, n, in, out);
}

#define INTS(...)                                                                      \
    (Ints) {                                                                           \
        sizeof((int64_t[]){__VA_ARGS__}) / 8, {                                        \
            __VA_ARGS__                                                                \
        }                                                                              \
    }
#define NO_INTS ((Ints){0})

/* One diagnostic with the code, which has the text. */
static void refused(bool ok, DiagCode code, const char *text) {
    CHECK(!ok, "%s", text);
    CHECK(diag_count(s) == 1, "%s: %zu diagnostics", text, diag_count(s));
    const Diag *d = diag_count(s) ? diag_get(s, 0) : NULL;
    CHECK(d && d->code == code && strstr(d->text, text), "%s: %s", text,
          d ? d->text : "");
    diag_clear(s);
}

static void test_scan(void) {
    Var n = const_int(&b, 3), x = input(g, "x", "float64[3]"),
        scalar = input(g, "k", "float64"), list = input(g, "l", "list(float64)"),
        none = input(g, "o", "none"), two = input(g, "two", "float64[2]");
    Graph *shared = function("shared", 1, 1);
    graph_shared(shared, sym(s, "w"), type_scalar(s, DT_FLOAT64));
    function("one", 1, 1);
    function("pair", 2, 2);
    function("void", 1, 0);
    const struct {
        const char *fn;
        Ints seq, states, keep;
        size_t n;
        Var in[4];
        DiagCode code;
        const char *text;
    } row[] = {
        {"nobody",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_NAME,
         "there is no function nobody"},
        {"shared",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "the body shared has shared variables"},
        {"void",
         INTS(1, 0),
         NO_INTS,
         NO_INTS,
         2,
         {n, x},
         E_ARITY,
         "void returns nothing: a step must have a result"},
        {"one",
         INTS(1, 0),
         INTS(0, 0),
         NO_INTS,
         2,
         {n, x},
         E_ARITY,
         "one has 1 output, but outputs_info has 2 entries"},
        {"one",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         3,
         {n, x, x},
         E_ARITY,
         "one takes 1 argument, but gets 2"},
        {"one",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, scalar},
         E_TYPE,
         "sequence 1 must be a tensor with an axis for steps, not float64"},
        {"one",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, list},
         E_TYPE,
         "sequence 1 must be a tensor with an axis for steps, not list(float64)"},
        {"one",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, two},
         E_SHAPE,
         "sequence 1 has 2 rows, but 3 steps need 3"},
        {"pair",
         INTS(2, 0, 1),
         INTS(0, 0),
         NO_INTS,
         2,
         {n, x},
         E_SHAPE,
         "sequence 1 has 3 rows, but 3 steps with its taps need 4"},
        {"one",
         NO_INTS,
         INTS(1, -2),
         NO_INTS,
         2,
         {n, scalar},
         E_SHAPE,
         "the initial value of r0 needs 2 rows, for its taps, but it is a scalar"},
        {"one",
         NO_INTS,
         INTS(1, -2),
         NO_INTS,
         2,
         {n, x},
         E_SHAPE,
         "the initial value of r0 needs 2 rows, for its taps, but it has 3"},
        {"one",
         NO_INTS,
         INTS(1, -1),
         NO_INTS,
         2,
         {n, none},
         E_TYPE,
         "the state r0 is none, which has no values"},
        {"one",
         NO_INTS,
         INTS(1, 0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "output 1 has the tap 0, but only earlier steps"},
        {"one", INTS(0), INTS(0), NO_INTS, 2, {n, x}, E_ARG, "sequence 1 has no taps"},
        {"one",
         INTS(2, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "its prop sequences is cut off"},
        {"one",
         INTS(-1),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "its prop sequences is cut off"},
        {"one",
         INTS(1, 0),
         INTS(3),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "its prop states is cut off"},
        {"one",
         INTS(2, 0, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "the tap 0 is given twice"},
        {"one",
         INTS(1, 2000000),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "the tap 2000000 is out of range"},
        {"one",
         NO_INTS,
         INTS(1, -2000000),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "the tap -2000000 is out of range"},
        {"one",
         INTS(1, 0),
         INTS(0),
         INTS(0, 0),
         2,
         {n, x},
         E_ARG,
         "keep has 2 numbers for 1 outputs"},
        {"one",
         INTS(1, 0),
         INTS(0),
         INTS(-2),
         2,
         {n, x},
         E_ARG,
         "keep must be a number of rows, 0 (all) or -1 (the last row itself), not -2"},
        {"one",
         INTS(1, 0, 1, 0),
         INTS(0),
         NO_INTS,
         2,
         {n, x},
         E_ARG,
         "it has 2 inputs, but its sequences and initial values are 3"},
        {"one",
         INTS(1, 0),
         INTS(0),
         NO_INTS,
         2,
         {const_int(&b, -1), x},
         E_VALUE,
         "the number of steps is -1: it must not be negative"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        refused(apply_op("scan", row[i].fn, row[i].seq, row[i].states, row[i].keep,
                         row[i].n, row[i].in),
                row[i].code, row[i].text);
    CHECK(apply_op("scan", "one", INTS(1, 0), INTS(0), NO_INTS, 2, (Var[]){n, x}));
    CHECK(apply_op("scan", "pair", INTS(1, 0), INTS(1, -1, 0), INTS(-1, 2), 3,
                   (Var[]){n, x, scalar}));
}

static void test_call(void) {
    Var k = input(g, "c", "float64"), v = input(g, "v", "float64[2]");
    refused(apply_op("call", "nobody", NO_INTS, NO_INTS, NO_INTS, 1, &k), E_NAME,
            "there is no function nobody");
    refused(apply_op("call", "pair", NO_INTS, NO_INTS, NO_INTS, 1, &k), E_ARITY,
            "pair takes 2 arguments, not 1");
    refused(apply_op("call", "void", NO_INTS, NO_INTS, NO_INTS, 1, &k), E_ARG,
            "void has 0 outputs; a call needs 1 to");
    refused(apply_op("call", "one", NO_INTS, NO_INTS, NO_INTS, 1, &v), E_SHAPE,
            "argument 1 of one is float64[2], but its input u0 is float64");
    CHECK(apply_op("call", "one", NO_INTS, NO_INTS, NO_INTS, 1, &k));
}

static bool choose(size_t n, const Var *in) {
    const Op *op = op_find(s, "ifelse", 6);
    Var out[OUT_MAX];
    return op_apply(&b, op, NULL, n, in, out);
}

static void test_ifelse(void) {
    Var c = input(g, "yes", "bool"), k = input(g, "p", "float64"),
        i = input(g, "q", "int64"), v = input(g, "w", "float64[2]"),
        l = input(g, "ll", "list(float64)"), o = input(g, "oo", "none"),
        li = input(g, "li", "list(int64)"), r = input(g, "rr", "random");
    const struct {
        Var x, y;
        DiagCode code;
        const char *text;
    } row[] = {
        {k, i, E_DTYPE, "is float64 if the condition holds but int64 if not: cast one"},
        {k, v, E_SHAPE,
         "but float64[2] if not: they must have the same number of dims"},
        {k, l, E_TYPE, "but list(float64) if not: the types must be equal"},
        {l, li, E_DTYPE, "but list(int64) if not: cast one"},
        {o, k, E_TYPE, "is none if the condition holds but float64 if not"},
        {r, o, E_TYPE, "is random if the condition holds but none if not"},
    };
    for (size_t n = 0; n < sizeof row / sizeof *row; n++)
        refused(choose(3, (Var[]){c, row[n].x, row[n].y}), row[n].code, row[n].text);
    refused(choose(1, &c), E_ARITY, "0 values, but must have 1 to");
    CHECK(choose(3, (Var[]){c, o, o}) && choose(3, (Var[]){c, r, r}));
}

int main(void) {
    s = session_new(NULL, NULL);
    g = graph_new(s);
    b = builder(g, false);
    test_scan();
    test_call();
    test_ifelse();
    graph_free(g);
    session_free(s);
    return TEST_END("scan");
}
