/* Functions of the graph, called: typed, run by the VM, differentiated into a function
 * of their own. */
#include "ad/ad.h"
#include "test.h"
#include "vm/vm.h"

static Session *s;
static Graph *g;
static Builder b;

/* f(x, y, u) = x * y + x, sign(u) on vectors of k elements */
static void make_f(void) {
    Graph *f = graph_function_new(g, sym(s, "f"));
    Builder fb = builder(f, false);
    Dim k = DIM_NAMED(sym(s, "k"));
    const Type *v = type_tensor(s, DT_FLOAT64, 1, &k);
    Var x = graph_input(f, sym(s, "x"), v), y = graph_input(f, sym(s, "y"), v);
    Var u = graph_input(f, sym(s, "u"), v);
    Output r = {sym(s, "r"), op_call2(&fb, "add", op_call2(&fb, "multiply", x, y), x)};
    Output q = {sym(s, "q"), op_call1(&fb, "sign", u)};
    vec_push(s, &f->outputs, r);
    vec_push(s, &f->outputs, q);
}

static Var vector(double x, double y, double z) {
    int64_t n = 3;
    Tensor t;
    if (!tensor_new(s, DT_FLOAT64, 1, &n, &t)) return VAR_NONE;
    memcpy(t.data, ((double[]){x, y, z}), 3 * sizeof(double));
    Var v = graph_const(g, &t, true);
    tensor_unref(&t);
    return v;
}

static void expect_value(Var v, const char *text) {
    Value value = {0};
    Str out = STR(s);
    CHECK(v != VAR_NONE && services(s)->eval(g, 1, &v, &value));
    tensor_text(s, &value.t, -1, &out);
    CHECK_STR(str_text(&out), text);
    str_free(&out);
    value_unref(&value);
}

int main(void) {
    s = session_new(NULL, NULL);
    vm_open(s);
    ad_open(s);
    g = graph_new(s);
    b = builder(g, true);
    make_f();
    Var x = vector(1, 2, 3), y = op_call2(&b, "add", x, x),
        u = op_call2(&b, "add", y, x);
    Var in[] = {x, y, u}, out[2], wrt[] = {y, u, x}, grad[3];
    const Op *call = op_find(s, "call", 4);
    PropArg fn = {"fn", {.kind = P_GRAPH, .sym = sym(s, "f")}};
    CHECK(op_apply(&b, call, props_make(s, call, 1, &fn), 3, in, out));
    CHECK_STR(type_str(s, var_type(g, out[0])), "float64[3]");
    expect_value(out[0], "[3.0, 10.0, 21.0]");
    expect_value(out[1], "[1.0, 1.0, 1.0]");
    GradOptions how = {.disconnected = GRAD_IGNORE, .return_disconnected = GRAD_ZERO};
    CHECK(services(s)->grad(&b, op_call1(&b, "sum", out[0]), (VarList){3, wrt}, &how,
                            grad));
    expect_value(grad[0], "[1.0, 2.0, 3.0]"); /* x; u is a user of y that has no say */
    expect_value(grad[1], "[0.0, 0.0, 0.0]");
    expect_value(grad[2], "[5.0, 9.0, 13.0]"); /* y + 1, and 2 x through y */
    CHECK(g->functions.n == 2, "one pullback was made");
    CHECK(graph_check(g));
    CHECK(diag_count(s) == 0);
    graph_free(g);
    session_free(s);
    return TEST_END("call");
}
