/* lib/op without the language: finding ops, signatures, make_node with its coercions
 * and errors, function calls, and the check of graphs from outside. */
#include "op/op.h"

#include "op/build.h"
#include "op/infer.h"
#include "test.h"

static Session *s;
static Graph *g;
static Builder b;

/* ---- tiny ops, where the catalogue has none of the name yet ---- */

static bool type_axes(Infer *in) {
    bool flag[MAX_NDIM];
    int k = 0;
    const Type *t = in->type[0];
    Dim dim[MAX_NDIM];
    if (!infer_axes(in, infer_prop(in, "axis"), t->ndim, flag)) return false;
    for (int i = 0; i < t->ndim; i++)
        if (!flag[i]) dim[k++] = t->dim[i];
    return infer_out_tensor(in, 0, t->dtype, k, dim);
}

static bool type_axis(Infer *in) {
    int axis;
    return infer_axis(in, infer_prop(in, "axis")->i, in->type[0]->ndim, &axis) &&
           infer_out_tensor(in, 0, DT_INT64, 0, NULL);
}

static bool type_shape(Infer *in) {
    Dim dim[MAX_NDIM];
    int n = infer_dims(in, 0, dim, NULL);
    if (n < 0 || n > MAX_NDIM)
        return infer_fail(in, E_SHAPE, 0, "the length is unknown");
    return infer_out_tensor(in, 0, DT_FLOAT64, n, dim);
}

static bool type_split(Infer *in) {
    in->nout = (size_t)infer_prop(in, "n")->i;
    for (size_t i = 0; i < in->nout; i++)
        in->out[i] = in->type[0];
    return true;
}

static bool type_stack(Infer *in) {
    Dim n = (Dim)in->nin;
    return infer_out_tensor(in, 0, in->type[0]->dtype, 1, &n);
}

static bool type_cast(Infer *in) {
    in->out[0] = type_with_dtype(in->s, in->type[0], (DType)infer_prop(in, "dtype")->i);
    return true;
}

static bool expand_twice(Builder *at, const Op *op, const Props *p, size_t nin,
                         const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    return (*out = op_call2(at, "t_add", in[0], in[0])) != VAR_NONE;
}

static const Op tiny[] = {
    {.name = "t_add",
     .alias = "t_plus, t_sum",
     .in = "x, y",
     .promote = PROMOTE_SAME,
     .kinds = KIND_NUMBER},
    {.name = "t_sqrt",
     .in = "x",
     .promote = PROMOTE_INEXACT,
     .kinds = KIND_FLOAT | KIND_COMPLEX},
    {.name = "t_where", .in = "c, x, y", .promote = PROMOTE_TAIL},
    {.name = "t_clip", .in = "x, low = 0, high = 1.5", .promote = PROMOTE_SAME},
    {.name = "t_isneg", .in = "x", .out_dtype = OUT_BOOL},
    {.name = "t_full", .in = "shape: ints", .type = type_shape},
    {.name = "t_if",
     .in = "c: bool, n: int, x: any",
     .type = type_split,
     .props = "n: int = 1"},
    {.name = "t_axes",
     .in = "x",
     .props = "axis: axes = None, keepdims: bool = False",
     .type = type_axes},
    {.name = "t_axis", .in = "x", .props = "axis: axis = -1", .type = type_axis},
    {.name = "t_split",
     .in = "x",
     .props = "n: int",
     .out = "a, b",
     .type = type_split},
    {.name = "t_sow", .in = "x", .effect = true, .identity = true},
    {.name = "t_twice", .in = "x", .expand = expand_twice},
    {.name = "t_many",
     .in = "x, y?, *rest: any",
     .props = "a: int? = -3, b: float = -1.5, c: str = 'hi', d: dtype = float32, e: "
              "ints = (1, -2), f: graph? = None, g: "
              "bool = True, h: axes = (0,), i: axis",
     .out = "q, r",
     .type = type_split,
     .disconnected = "rest"},
};
static const Op later[] = {
    {.name = "stack", .in = "*x", .promote = PROMOTE_SAME, .type = type_stack},
    {.name = "cast", .in = "x", .props = "dtype: dtype", .type = type_cast},
    {.name = "multiply", .in = "x, y", .promote = PROMOTE_SAME},
    {.name = "shape_i", .in = "x", .props = "axis: axis", .type = type_axis},
};

static const Op *op(const char *name) {
    const Op *o = op_find(s, name, strlen(name));
    if (!o) printf("no op %s\n", name);
    return o;
}

static void add_ops(void) {
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++)
        CHECK(op_add(s, &tiny[i], NOWHERE));
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (!op_find(s, later[i].name, strlen(later[i].name)))
            op_add(s, &later[i], NOWHERE);
}

static Var input(const char *name, const char *type) {
    return graph_input(g, sym(s, name), type_parse(s, type, strlen(type), NOWHERE));
}
static const char *type_of(Var v) {
    return v == VAR_NONE ? "none" : type_str(s, var_type(g, v));
}
static Var apply(const char *name, size_t n, const Var *in) {
    return op_apply1(&b, op(name), NULL, n, in);
}
static const char *maker(Var v) {
    ApplyId a = v == VAR_NONE ? APPLY_NONE : var_owner(g, v);
    return a == APPLY_NONE ? "leaf" : g->apply[a].op->name;
}
/* There is one diagnostic, with this code and text; it is taken away. */
static void expect_error(DiagCode code, const char *text) {
    CHECK(diag_count(s) == 1, "%zu diagnostics", diag_count(s));
    if (diag_count(s) > 0) {
        const Diag *d = diag_get(s, 0);
        CHECK(d->code == code, "%s: %s", diag_name(d->code), d->text);
        CHECK_STR(d->text, text);
    }
    diag_clear(s);
}

/* ---- finding and signatures ---- */

static void test_catalogue(void) {
    size_t n = op_count(s);
    for (size_t i = 0; i < n; i++) {
        const Op *o = op_get(s, i);
        const Signature *sig = op_signature(s, o);
        CHECK(op_find(s, o->name, strlen(o->name)) == o, "%s", o->name);
        CHECK(sig && sig->nout > 0 && sig == op_signature(s, o));
        if (i > 0) CHECK(strcmp(op_get(s, i - 1)->name, o->name) < 0, "%s", o->name);
    }
}

/* An operator is one op's for as many inputs: which one must not depend on an order. */
static void test_operators(void) {
    const Op *o, *other;
    size_t n = 0;
    for (size_t i = 0; i < op_count(s); i++)
        n += op_get(s, i)->infix != NULL;
    for (size_t i = 0; (o = op_operator(s, i)); i++, n--) {
        CHECK(o->infix && op_find(s, o->name, strlen(o->name)) == o, "%s", o->name);
        for (size_t k = 0; k < i && (other = op_operator(s, k)); k++)
            CHECK(strcmp(o->infix, other->infix) != 0 ||
                      (op_signature(s, o)->nin == 1) !=
                          (op_signature(s, other)->nin == 1),
                  "%s and %s", o->name, other->name);
    }
    CHECK(n == 0, "%zu more", n);
}

static void test_find(void) {
    CHECK(op_find(s, "t_plus", 6) == &tiny[0] && op_find(s, "t_sum", 5) == &tiny[0]);
    CHECK(op_find(s, "t_ad", 4) == NULL && op_find(s, "t_addx", 6) == NULL);
    static const Op twin = {.name = "t_new", .alias = "t_other, t_plus", .in = "x"};
    CHECK(!op_add(s, &twin, NOWHERE) && !op_find(s, "t_new", 5));
    expect_error(E_DUPLICATE, "there is already an op t_plus");
}

static void test_signature(void) {
    const Signature *sig = op_signature(s, op("t_many"));
    CHECK(sig->nin == 3 && sig->min_in == 1 && sig->nprop == 9 && sig->nout == 2);
    CHECK(sig->in[1].optional && sig->in[2].rest && sig->in[2].kind == IN_ANY);
    const PropDef *p = sig->prop;
    CHECK(p[0].type == T_INT && p[0].none && p[0].value.i == -3 &&
          p[0].value.kind == P_INT);
    CHECK(p[1].value.kind == P_FLOAT && p[1].value.f == -1.5 && !p[1].none);
    CHECK_STR(sym_text(s, p[2].value.sym), "hi");
    CHECK(p[3].value.kind == P_DTYPE && p[3].value.i == DT_FLOAT32);
    CHECK(p[4].value.ints.n == 2 && p[4].value.ints.p[1] == -2);
    CHECK(p[5].type == T_GRAPH && p[5].none && p[5].value.kind == P_NONE &&
          !p[5].required);
    CHECK(p[6].value.kind == P_BOOL && p[6].value.i == 1);
    CHECK(p[7].type == T_AXES && p[7].value.kind == P_INTS && p[7].value.ints.n == 1);
    CHECK(p[8].type == T_AXIS && p[8].required);
    CHECK_STR(sym_text(s, sig->out[1]), "r");
    CHECK_STR(op_signature(s, op("t_clip"))->in[2].value, "1.5");
}

/* ---- make_node ---- */

static void test_promote(void) {
    Var i = input("i", "int64[3]"), f = input("f", "float32[2, 1]"), in[] = {i, f};
    Var r = apply("t_add", 2, in);
    CHECK_STR(type_of(r), "float64[2, 3]");
    CHECK_STR(maker(apply_in(g, var_owner(g, r))[0]), "cast");
    b.intern = true;
    CHECK(apply("t_add", 2, in) == apply("t_add", 2, in));
    b.intern = false;
    b.floatX = DT_FLOAT32;
    CHECK_STR(type_of(apply("t_sqrt", 1, &i)), "float32[3]");
    b.floatX = DT_FLOAT64;
    CHECK_STR(type_of(apply("t_sqrt", 1, &i)), "float64[3]");
    CHECK_STR(type_of(apply("t_sqrt", 1, &f)), "float32[2, 1]");
    Var c = const_int(&b, 2), mixed[] = {f, c};
    r = apply("t_add", 2, mixed);
    Var two = apply_in(g, var_owner(g, r))[1];
    CHECK(var_is_const(g, two) && tensor_f64(var_const(g, two), 0) == 2,
          "constants are cast by value");
    Var flag = input("flag", "bool[3]"), where[] = {flag, i, f};
    r = apply("t_where", 3, where);
    CHECK_STR(type_of(r), "float64[2, 3]");
    CHECK(apply_in(g, var_owner(g, r))[0] == flag);
    CHECK_STR(type_of(apply("t_isneg", 1, &f)), "bool[2, 1]");
    CHECK(diag_count(s) == 0);
}

static void test_errors(void) {
    Var x = input("x34", "float32[3, 4]"), y = input("y5", "float32[5]"),
        p = input("p", "bool"), in[] = {x, y};
    CHECK(apply("t_add", 2, in) == VAR_NONE);
    CHECK(diag_count(s) == 1 && diag_get(s, 0)->notes != NULL);
    CHECK_STR(diag_get(s, 0)->notes->text,
              "in t_add(x34: float32[3, 4], y5: float32[5])");
    expect_error(E_SHAPE,
                 "t_add: x is float32[3, 4] and y is float32[5]: axis -1 has 4 and 5");
    CHECK(apply("t_add", 1, in) == VAR_NONE);
    expect_error(E_ARITY, "t_add takes 2 arguments, not 1");
    Var four[] = {x, x, x, x};
    CHECK(apply("t_clip", 4, four) == VAR_NONE);
    expect_error(E_ARITY, "t_clip takes 1 to 3 arguments, not 4");
    CHECK(apply("t_many", 0, NULL) == VAR_NONE);
    expect_error(E_ARITY, "t_many takes 1 or more arguments, not 0");
    Var bools[] = {p, p};
    CHECK(apply("t_add", 2, bools) == VAR_NONE);
    expect_error(E_DTYPE, "t_add takes integers, float or complex, not bool");
    Var none = grad_undefined(&b, "no"), with[] = {x, none};
    CHECK(apply("t_add", 2, with) == VAR_NONE);
    expect_error(E_TYPE, "t_add takes a tensor for y, not null('no')");
    CHECK(apply("t_split", 1, &x) == VAR_NONE);
    expect_error(E_ARG, "t_split needs n=, which must be an integer");
}

static void test_coercion(void) {
    Var x = input("xc", "float32[4]"), n = graph_dim(g, sym(s, "n")),
        k = const_int(&b, 7);
    Var r = apply("t_clip", 1, &x);
    const Var *in = apply_in(g, var_owner(g, r));
    CHECK_STR(type_of(r), "float32[4]");
    CHECK(g->apply[var_owner(g, r)].nin == 3);
    CHECK(tensor_f64(var_const(g, in[2]), 0) == 1.5 &&
          var_const(g, in[1])->dtype == DT_FLOAT32);
    Var i = input("ic", "int64[4]");
    CHECK_STR(type_of(apply("t_clip", 1, &i)), "float64[4]");
    CHECK_STR(type_of(apply("t_full", 1, &n)), "float64[n]");
    CHECK_STR(type_of(apply("t_full", 1, &k)), "float64[7]");
    Var small = input("small", "int8[2]");
    CHECK_STR(type_of(apply("t_full", 1, &small)), "float64[?, ?]");
    CHECK(apply("t_full", 1, &x) == VAR_NONE);
    expect_error(E_DTYPE, "t_full takes integers for shape, not float32");
    Var args[] = {k, k, x};
    r = apply("t_if", 3, args);
    CHECK_STR(type_of(apply_in(g, var_owner(g, r))[0]), "bool");
    args[1] = i;
    CHECK(apply("t_if", 3, args) == VAR_NONE);
    expect_error(E_SHAPE, "t_if takes a scalar for n, not int64[4]");
    Var two[] = {n, const_int(&b, 3)}, prod = op_call2(&b, "multiply", two[1], two[1]),
        st[] = {n, prod};
    Var shape = apply("stack", 2, st);
    CHECK_STR(type_of(apply("t_full", 1, &shape)), "float64[n, 9]");
    CHECK(diag_count(s) == 0);
}

static void test_props(void) {
    Var x = input("xp", "float32[2, 3, 4]"), out[2];
    int64_t back[] = {-1, 0}, twice[] = {0, -3};
    PropArg a[] = {{"axis", PROP_INTS(back, 2)}}, t[] = {{"axis", PROP_INTS(twice, 2)}},
            one[] = {{"axis", PROP_INT(1)}};
    const Op *axes = op("t_axes");
    CHECK(op_apply(&b, axes, props_make(s, axes, 1, a), 1, &x, out));
    CHECK_STR(type_of(out[0]), "float32[3]");
    const Prop *p = op_prop(s, axes, g->apply[var_owner(g, out[0])].props, "axis");
    CHECK(p->ints.n == 2 && p->ints.p[0] == 0 && p->ints.p[1] == 2,
          "axes are sorted and not negative");
    CHECK(op_apply(&b, axes, props_make(s, axes, 1, one), 1, &x, out));
    CHECK_STR(type_of(out[0]), "float32[2, 4]");
    CHECK_STR(type_of(apply("t_axes", 1, &x)), "float32");
    CHECK(!op_apply(&b, axes, props_make(s, axes, 1, t), 1, &x, out));
    expect_error(E_VALUE, "t_axes: axis -3 is given twice");
    Var r = apply("t_axis", 1, &x);
    CHECK(prop_int(s, op("t_axis"), g->apply[var_owner(g, r)].props, "axis") == 2);
    PropArg five[] = {{"axis", PROP_INT(3)}}, wrong[] = {{"axis", PROP_BOOL(1)}};
    CHECK(op_apply1(&b, op("t_axis"), props_make(s, op("t_axis"), 1, five), 1, &x) ==
          VAR_NONE);
    expect_error(E_VALUE, "t_axis: axis 3 is out of range for 3 dims");
    CHECK(op_apply1(&b, op("t_axis"), props_make(s, op("t_axis"), 1, wrong), 1, &x) ==
          VAR_NONE);
    expect_error(E_ARG, "t_axis: axis must be an integer");
    PropArg n3[] = {{"n", PROP_INT(3)}};
    Var three[3];
    CHECK(
        op_apply(&b, op("t_split"), props_make(s, op("t_split"), 1, n3), 1, &x, three));
    CHECK(three[2] == three[0] + 2 && g->apply[var_owner(g, three[0])].nout == 3);
}

static void test_effects(void) {
    Var x = input("xe", "float64");
    b.intern = true;
    Var one = apply("t_sow", 1, &x), two = apply("t_sow", 1, &x);
    CHECK(one != two && g->effects.n == 2 && g->effects.p[1] == var_owner(g, two));
    Var r = apply("t_twice", 1, &x);
    CHECK_STR(maker(r), "t_add");
    b.intern = false;
}

static void test_infer(void) {
    const Type *out[OUT_MAX];
    Var i = input("ii", "int64[3]"), f = input("ff", "float32[3]"), in[] = {i, f},
        same[] = {f, f};
    const Props *none = props_intern(s, 0, NULL);
    CHECK(op_infer(g, op("t_add"), none, (VarList){2, same}, NOWHERE, out) == 1);
    CHECK_STR(type_str(s, out[0]), "float32[3]");
    CHECK(op_infer(g, op("t_add"), none, (VarList){2, in}, NOWHERE, out) == 0);
    expect_error(E_TYPE, "t_add does not take int64[3] for x");
    CHECK(op_infer(g, op("t_sqrt"), none, (VarList){1, &i}, NOWHERE, out) == 0);
    expect_error(E_TYPE, "t_sqrt does not take int64[3] for x");
    CHECK(op_infer(g, op("t_twice"), none, (VarList){1, &f}, NOWHERE, out) == 0);
    expect_error(E_TYPE, "t_twice is an abbreviation, which can't be in a graph");
    CHECK(op_infer(g, op("t_axis"), none, (VarList){1, &f}, NOWHERE, out) == 0);
    expect_error(E_ARG, "t_axis has 1 props, not 0");
    CHECK(op_infer(g, op("t_full"), none, (VarList){1, &i}, NOWHERE, out) == 1);
}

static void test_shapes(void) {
    Var x = input("xs", "float64[n, 5, ?]"), first = shape_of(&b, x, 0),
        last = shape_of(&b, x, -1);
    CHECK(first == graph_find(g, sym(s, "n")) &&
          tensor_i64(var_const(g, shape_of(&b, x, 1)), 0) == 5);
    CHECK_STR(maker(last), "shape_i");
    Var deep = const_int(&b, 1);
    for (int i = 0; i < 100000; i++)
        deep = op_call2(&b, "multiply", deep, i % 2 ? deep : first);
    CHECK_STR(type_of(apply("t_full", 1, &deep)), "float64[?]");
    CHECK(diag_count(s) == 0);
}

/* ---- calls and checks ---- */

static Var call(const char *fn, size_t n, const Var *in) {
    PropArg a = {"fn", {.kind = P_GRAPH, .sym = sym(s, fn)}};
    return op_apply1(&b, op("call"), props_make(s, op("call"), 1, &a), n, in);
}

static Graph *function(const char *name, const char *x, const char *y, bool effect) {
    Graph *f = graph_function_new(g, sym(s, name));
    Builder fb = builder(f, false);
    Var in[] = {graph_input(f, sym(s, "x"), type_parse(s, x, strlen(x), NOWHERE)),
                graph_input(f, sym(s, "y"), type_parse(s, y, strlen(y), NOWHERE))};
    Var r = op_apply1(&fb, op("t_add"), NULL, 2, in);
    if (effect) op_apply1(&fb, op("t_sow"), NULL, 1, &r);
    Output out[] = {{sym(s, "r"), r}, {sym(s, "s"), in[0]}};
    vec_push(s, &f->outputs, out[0]);
    vec_push(s, &f->outputs, out[1]);
    return f;
}

static void test_call(void) {
    Graph *f = function("f", "float64[k]", "float64[k]", false);
    Var a3 = input("a3", "float64[3]"), am = input("am", "float64[m]"),
        a4 = input("a4", "float64[4]");
    Var i3 = input("i3", "int64[3]"), in[] = {am, a3}, bad[] = {a3, a4},
        ints[] = {a3, i3};
    Var r = call("f", 2, in);
    CHECK_STR(type_of(r), "float64[3]");
    CHECK_STR(type_of(r + 1), "float64[3]");
    Var same[] = {am, am};
    CHECK_STR(type_of(call("f", 2, same)), "float64[m]");
    CHECK(call("f", 2, bad) == VAR_NONE);
    expect_error(E_SHAPE,
                 "call: argument 2 of f is float64[4], but its input y is float64[k]");
    CHECK(call("f", 2, ints) == VAR_NONE);
    expect_error(E_DTYPE,
                 "call: argument 2 of f is int64[3], but its input y is float64[k]");
    CHECK(call("f", 1, in) == VAR_NONE);
    expect_error(E_ARITY, "call: f takes 2 arguments, not 1");
    CHECK(call("nowhere", 1, in) == VAR_NONE);
    expect_error(E_NAME, "call: there is no function nowhere");
    CHECK(op_connected(g, var_owner(g, r), 0, 1) &&
          !op_connected(g, var_owner(g, r), 1, 1));
    CHECK(op_connected(g, var_owner(g, r), 1, 0));
    (void)f;
    function("loud", "float64[k]", "float64[k]", true);
    size_t before = g->effects.n;
    b.intern = true;
    Var e = call("loud", 2, in);
    CHECK(call("loud", 2, in) != e && g->effects.n == before + 2,
          "a call with effects is one");
    CHECK(call("f", 2, in) == r);
    b.intern = false;
}

static void test_connected(void) {
    Var x = input("cx", "float64"), in[] = {x, x, x};
    PropArg a[] = {{"i", PROP_INT(0)}, {"a", PROP_INT(2)}};
    Var r = op_apply1(&b, op("t_clip"), NULL, 3, in);
    CHECK(op_connected(g, var_owner(g, r), 2, 0) &&
          op_view(g, var_owner(g, r), 0) == -1);
    (void)a;
}

static void test_check(void) {
    CHECK(graph_check(g), "%s", diag_count(s) ? diag_get(s, 0)->text : "");
    Graph *old = g;
    g = graph_new(s);
    b = builder(g, false);
    Var x = input("x", "float64[3]"), w = graph_shared(g, sym(s, "w"), var_type(g, x)),
        in[] = {x, w};
    Var r = apply("t_add", 2, in);
    const Type *right = var_type(g, r), *lie = type_parse(s, "float64[4]", 10, NOWHERE);
    CHECK(graph_check(g));
    g->var[r].type = lie;
    CHECK(!graph_check(g));
    expect_error(E_TYPE,
                 "output 0 of t_add is float64[3], but the graph says float64[4]");
    g->var[r].type = type_parse(s, "float64[?]", 10, NOWHERE);
    CHECK(graph_check(g), "a type may tell less");
    g->var[r].type = right;
    g->in[g->apply[var_owner(g, r)].in] = r;
    CHECK(!graph_check(g));
    expect_error(E_FORMAT, "graph (unnamed): Apply 0 is out of range or inconsistent");
    g->in[g->apply[var_owner(g, r)].in] = x;
    Var seven = const_int(&b, 7);
    vec_push(s, &g->updates, ((Update){w, seven}));
    CHECK(!graph_check(g));
    expect_error(E_TYPE, "the update of w is int64, but w is float64[3]");
    g->updates.p[0].value = r;
    var_leafrec(g, w)->init = r;
    CHECK(!graph_check(g));
    expect_error(E_VALUE, "the initial value of w depends on an input or a dim");
    Tensor zeros;
    CHECK(tensor_zeros(s, DT_FLOAT64, 1, (int64_t[]){3}, &zeros));
    Var three = graph_const(g, &zeros, false), n = graph_dim(g, sym(s, "n"));
    tensor_unref(&zeros);
    var_leafrec(g, w)->init = op_call2(&b, "add", three, op_cast_to(&b, n, DT_FLOAT64));
    CHECK(!graph_check(g));
    expect_error(E_VALUE, "the initial value of w depends on an input or a dim");
    var_leafrec(g, w)->init = VAR_NONE;
    Graph *f = function("f", "float64", "float64", false);
    Builder fb = builder(f, false);
    PropArg a = {"fn", {.kind = P_GRAPH, .sym = sym(s, "f")}};
    CHECK(op_apply(&fb, op("call"), props_make(s, op("call"), 1, &a), 2, f->inputs.p,
                   (Var[2]){0}));
    CHECK(!graph_check(g));
    expect_error(E_CYCLE, "function f calls itself");
    graph_free(g);
    graph_free(old);
}

static void test_known(void) {
    static const char *const names[] = {
#define KNOWN(NAME, name) #name,
#include "op/known.def"
#undef KNOWN
    };
    for (size_t i = 0; i < KNOWN_OPS; i++) {
        const Op *op = op_known(s, (KnownOp)i);
        CHECK(op && strcmp(op->name, names[i]) == 0, "%s", names[i]);
        if (op)
            CHECK(op_is(s, op, (KnownOp)i) &&
                  !op_is(s, op, (KnownOp)((i + 1) % KNOWN_OPS)));
    }
}

int main(void) {
    s = session_new(NULL, NULL);
    g = graph_new(s);
    b = builder(g, false);
    add_ops();
    test_catalogue();
    test_operators();
    test_find();
    test_known();
    test_signature();
    test_promote();
    test_errors();
    test_coercion();
    test_props();
    test_effects();
    test_infer();
    test_shapes();
    test_call();
    test_connected();
    test_check();
    CHECK(diag_count(s) == 0);
    session_free(s);
    return TEST_END("op");
}
