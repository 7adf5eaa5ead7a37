/* Helpers of typing rules: integers known while typing, broadcasting, conditions and
 * their words. */
#include "op/infer.h"

#include "io/io.h"
#include "op/build.h"
#include "test.h"

static Session *s;
static Graph *g;
static Builder b;

static bool type_plain(Infer *in) {
    in->out[0] = in->type[0];
    return true;
}
static const Op probe = {.name = "probe", .in = "x, *rest: any", .type = type_plain};
static const Op keep = {
    .name = "keep", .in = "x", .identity = true, .type = type_plain};

static Infer infer(size_t n, const Var *v, const Type **type) {
    for (size_t i = 0; i < n; i++)
        type[i] = var_type(g, v[i]);
    return (Infer){.s = s,
                   .graph = g,
                   .op = &probe,
                   .sig = op_signature(s, &probe),
                   .props = props_intern(s, 0, NULL),
                   .nin = n,
                   .in = v,
                   .type = type,
                   .floatX = DT_FLOAT64};
}
static Var input(const char *name, const char *type) {
    return graph_input(g, sym(s, name), type_parse(s, type, strlen(type), NOWHERE));
}
static Var num(int64_t v) {
    return const_int(&b, v);
}

/* "[n, 3, ?]": what is known of v's elements */
static const char *known(Var v) {
    static char text[256];
    const Type *type[1];
    Infer in = infer(1, &v, type);
    Dim d[MAX_NDIM];
    Str t = STR(s);
    int n = infer_dims(&in, 0, d, NULL);
    if (n < 0) str_puts(&t, "-");
    for (int i = 0; i < n && i < MAX_NDIM; i++) {
        if (i) str_puts(&t, ", ");
        dim_text(s, d[i], &t);
    }
    snprintf(text, sizeof text, "%s", str_text(&t));
    str_free(&t);
    return text;
}

static Var vec(size_t n, const Var *v) {
    Var out;
    return op_apply(&b, op_find(s, "stack", 5), NULL, n, v, &out) ? out : VAR_NONE;
}

static Var with_int_prop(const char *op, const char *prop, int64_t v, Var x) {
    const Op *o = op_find(s, op, strlen(op));
    PropArg a = {prop, PROP_INT(v)};
    return op_apply1(&b, o, props_make(s, o, 1, &a), 1, &x);
}

static void test_dims(void) {
    Var n = graph_dim(g, sym(s, "n")), x = input("x", "float32[n, 4, ?]"),
        k = input("k", "int64");
    Var some[] = {n, num(3), k, num(-1)};
    CHECK_STR(known(vec(4, some)), "n, 3, ?, ?");
    CHECK_STR(known(n), "n");
    CHECK_STR(known(op_call1(&b, "shape", x)), "n, 4, ?");
    CHECK_STR(known(with_int_prop("shape_i", "axis", 0, x)), "n");
    CHECK_STR(known(op_call2(&b, "add", num(3), num(4))), "7");
    CHECK_STR(known(op_call2(&b, "add", n, num(0))), "n");
    CHECK_STR(known(op_call2(&b, "add", n, num(1))), "?");
    CHECK_STR(known(op_call2(&b, "subtract", num(3), num(2))), "1");
    CHECK_STR(known(op_call2(&b, "subtract", n, n)), "0");
    CHECK_STR(known(op_call2(&b, "multiply", n, num(1))), "n");
    CHECK_STR(known(op_call2(&b, "floor_divide", num(7), num(2))), "3");
    CHECK_STR(known(op_call2(&b, "floor_divide", num(7), num(0))), "?");
    CHECK_STR(known(op_call2(&b, "multiply", num(INT64_MAX), num(2))), "?");
    CHECK_STR(known(op_call1(&b, "negative", num(-5))), "5");
    int64_t ints[] = {2, 5};
    Var c = const_ints(&b, 2, ints), pair[] = {c, vec(4, some)};
    CHECK_STR(known(c), "2, 5");
    CHECK_STR(known(op_call2(&b, "multiply", c, num(3))), "6, 15");
    CHECK_STR(known(op_apply1(&b, op_find(s, "concatenate", 11), NULL, 2, pair)),
              "2, 5, n, 3, ?, ?");
    Var wide = input("wide", "int64[?]");
    CHECK_STR(known(wide), "-");
    Var big = num(300),
        narrow = graph_apply(g, op_find(s, "cast", 4),
                             props_make(s, op_find(s, "cast", 4), 1,
                                        (PropArg[]){{"dtype", PROP_DTYPE(DT_INT8)}}),
                             1, &big, 1, (const Type *[]){type_scalar(s, DT_INT8)},
                             false, false, (Origin){0});
    CHECK_STR(known(narrow), "?");
    CHECK_STR(known(op_apply1(&b, &keep, NULL, 1, &n)), "n");
}

/* Of x: float64[n, 4, ?], y: float64[2, 2], k: int64, v: int64[3], w: int64[?], z:
 * float64, huge: int64[3000000000];
 * four = stack([n, 4])[1], which is no constant but known to be 4 */
static const struct {
    const char *text, *known;
} expressions[] = {
    {"minimum(stack([n, 3])[1], four)", "3"},
    {"minimum(stack([k, 5])[1], four)", "4"},
    {"minimum(n, four)", "?"},
    {"maximum(stack([n, 3])[1], four)", "4"},
    {"maximum(stack([k, 5])[1], four)", "5"},
    {"maximum(four, k)", "?"},
    {"maximum(k, four)", "?"},
    {"four - 0", "4"},
    {"n - 0", "n"},
    {"k - k", "?"},
    {"four - n", "?"},
    {"k - four", "?"},
    {"(stack([n, 0])[1] - four) - 9223372036854775807", "?"},
    {"0 + n", "n"},
    {"four + 9223372036854775807", "?"},
    {"four + k", "?"},
    {"1 * n", "n"},
    {"n // 1", "n"},
    {"four // k", "?"},
    {"k // four", "?"},
    {"(stack([n, 0])[1] - four) // 3 + 5", "3"},
    {"-four", "?"},
    {"-(stack([n, 0])[1] - four)", "4"},
    {"-n", "?"},
    {"-(stack([n, 0])[1] - four - 9223372036854775804)", "?"},
    {"x.shape[-2]", "4"},
    {"x.shape[-3]", "n"},
    {"stack([n, k, 3])", "n, ?, 3"},
    {"stack([v, v])", "-"},
    {"stack([v, v])[0]", "?, ?, ?"},
    {"stack([n, 3])[0:1]", "?"},
    {"stack([n, 3])[k]", "?"},
    {"stack([n, 3])[-1]", "3"},
    {"stack([n, 3])[stack([0, 1])]", "?, ?"},
    {"concatenate([w, v])", "-"},
    {"concatenate([w, v])[0]", "?"},
    {"concatenate([stack([k, n]), stack([3, 4])])[2]", "3"},
    {"concatenate([stack([k, n]), stack([3, 4])])[-3]", "n"},
    {"w[0]", "?"},
    {"w[-1]", "?"},
    {"int64(z)", "?"},
    {"uint64(9223372036854775808)", "?"},
    {"uint64(7)", "7"},
    {"cast(four, 'int8')", "4"},
    {"cast(four * 100, 'int8')", "?"},
    {"cast(stack([n, 0])[1] - four, 'uint8')", "?"},
    {"cast(stack([n, 0])[1] - four, 'uint64')", "?"},
    {"cast(four, 'uint64')", "4"},
    {"expand_dims(n, 0)", "n"},
    {"squeeze(expand_dims(n, 0))", "n"},
    {"reshape(n, [1])", "n"},
    {"reshape(v, [3])", "?, ?, ?"},
    {"stack([n, 3]) * 2", "?, 6"},
    {"stack([n, 3]) + stack([0, 1])", "n, 4"},
    {"v * 2", "?, ?, ?"},
    {"array([5, 6])[stack([n, 1])[1]]", "6"},
    {"cast(n, 'int8')", "?"},
    {"0 - cast(stack([n, 0])[1] - four, 'int8')", "4"},
    {"four * 9223372036854775807", "?"},
    {"n - m", "?"},
    {"m - m", "0"},
    {"minimum(four, k)", "?"},
    {"minimum(four, stack([k, 9])[1])", "4"},
    {"long[3]", "?"},
    {"cast(z, 'int64')", "?"},
    {"lu_factor(y)[1]", "?, ?"},
    {"huge * 2", "-"},
    {"z", "?"},
    {"y", "-"},
};

static void test_expressions(void) {
    Graph *own = g;
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        char text[512];
        int n = snprintf(
            text, sizeof text,
            "thunkline: 1\ninputs: {x: 'float64[n, 4, ?]', y: 'float64[2, 2]', k: "
            "int64, "
            "v: 'int64[3]', w: 'int64[?]', z: float64, huge: 'int64[3000000000]', "
            "long: 'int64[40]', b: 'bool[m]'}\n"
            "let: |\n  four = stack([n, 4])[1]\n  r = %s\noutputs: [r]\n",
            expressions[i].text);
        g = io_read_mem(s, "t", text, (size_t)n, NULL);
        CHECK(g != NULL, "%s: %s", expressions[i].text,
              g ? "" : diag_first_error(s)->text);
        const char *is = g ? known(g->outputs.p[0].var) : "";
        CHECK(strcmp(is, expressions[i].known) == 0, "%s: %s, not %s",
              expressions[i].text, is, expressions[i].known);
        graph_free(g);
        diag_clear(s);
    }
    g = own;
}

static void test_raw(void) {
    Var in[] = {num(-1), input("r", "int64"), num(6)}, v = vec(3, in);
    const Type *type[1];
    Infer i = infer(1, &v, type);
    int64_t raw[MAX_NDIM], one;
    CHECK(infer_dims(&i, 0, NULL, raw) == 3);
    CHECK(raw[0] == -1 && raw[1] == INT64_MIN && raw[2] == 6);
    i = infer(1, &in[0], type);
    CHECK(infer_int(&i, 0, &one) && one == -1);
    i = infer(1, &in[1], type);
    CHECK(!infer_int(&i, 0, &one));
    i.graph = NULL;
    CHECK(!infer_int(&i, 0, &one) && infer_dims(&i, 0, NULL, raw) == 1);
    CHECK(raw[0] == INT64_MIN, "without a graph nothing is known");
    Var many = input("long", "int64[40]"), other = input("l", "list(int64)");
    i = infer(1, &many, type);
    CHECK(infer_dims(&i, 0, NULL, raw) == 40, "as many as there are, beyond any rank");
    i = infer(1, &v, type);
    CHECK(!infer_int(&i, 0, &one), "a vector is no integer");
    i = infer(1, &other, type);
    CHECK(!infer_int(&i, 0, &one) && infer_dims(&i, 0, NULL, raw) == -1);
}

static const char *said(DiagCode code) {
    static char text[512];
    const Diag *d = diag_first_error(s);
    snprintf(text, sizeof text, "%s", d ? d->text : "nothing");
    CHECK(d && d->code == code && diag_count(s) == 1);
    diag_clear(s);
    return text;
}

static void test_wants(void) {
    Var v[] = {input("a", "float32[3, n]"), input("b", "int64[4]"), input("c", "bool")};
    const Type *type[3];
    Infer i = infer(3, v, type);
    Dim meet = 0;
    CHECK(infer_want_rank(&i, 0, 2, 2) && infer_want_rank(&i, 0, 1, -1) &&
          !infer_want_rank(&i, 0, 1, 1));
    CHECK_STR(said(E_SHAPE), "probe: x must have 1 dim, not 2");
    CHECK(!infer_want_rank(&i, 2, 2, -1));
    CHECK_STR(said(E_SHAPE), "probe: rest[1] must have at least 2 dims, not 0");
    CHECK(infer_want_kinds(&i, 1, KIND_INT) &&
          !infer_want_kinds(&i, 2, KIND_INT | KIND_FLOAT));
    CHECK_STR(said(E_DTYPE), "probe takes integers or float, not bool");
    CHECK(!infer_want_same_dtype(&i));
    CHECK_STR(
        said(E_DTYPE),
        "probe: x is float32 but rest[0] is int64: they must have the same dtype");
    CHECK(infer_want_dims_equal(&i, 0, 1, 1, 0, &meet) && meet == 4);
    CHECK(!infer_want_dims_equal(&i, 0, 0, 1, 0, &meet));
    CHECK_STR(said(E_SHAPE), "probe: x is float32[3, n] and rest[0] is int64[4]: axis "
                             "0 has 3, axis 0 has 4, and they "
                             "must be equal");
}

static const char *broadcast(const char *x, const char *y) {
    static char text[256];
    static int count;
    char name[2][16];
    for (int i = 0; i < 2; i++)
        snprintf(name[i], sizeof name[i], "v%d", count++);
    Var r = op_call2(&b, "add", input(name[0], x), input(name[1], y));
    snprintf(text, sizeof text, "%s",
             r == VAR_NONE ? diag_name(diag_first_error(s)->code)
                           : type_str(s, var_type(g, r)));
    diag_clear(s);
    return text;
}

static void test_broadcast(void) {
    CHECK_STR(broadcast("float64[3, 1]", "float64[4]"), "float64[3, 4]");
    CHECK_STR(broadcast("float64[n]", "float64[3]"), "float64[3]");
    CHECK_STR(broadcast("float64[n, 1]", "float64[1, m]"), "float64[n, m]");
    CHECK_STR(broadcast("float64[0]", "float64[1]"), "float64[0]");
    CHECK_STR(broadcast("float64[?]", "float64"), "float64[?]");
    CHECK_STR(broadcast("float64[2]", "float64[3]"), "E_SHAPE");
    CHECK_STR(broadcast("float64[0]", "float64[3]"), "E_SHAPE");
    CHECK_STR(broadcast("float16[2]", "int64[2]"), "float64[2]");
    CHECK_STR(broadcast("int64", "uint64"), "float64");
}

/* Rules that count their runs: of types alone, and of a length that the graph tells. */
static int of_types_runs, of_length_runs;
static bool of_types(Infer *in) {
    of_types_runs++;
    return infer_same_type(in);
}
static bool of_length(Infer *in) {
    of_length_runs++;
    int64_t n = -1;
    Dim d = infer_int(in, 1, &n) ? n : DIM_UNKNOWN;
    return infer_out_tensor(in, 0, in->type[0]->dtype, 1, &d);
}
static const Op copied = {.name = "copied", .in = "x", .type = of_types};
static const Op sized = {.name = "sized", .in = "x, n: int", .type = of_length};

/* An op with five inputs, and one that another op may stand for: by itself it can be in
 * a graph. */
static int expand_runs;
static bool stand_in(Builder *to, const Op *op, const Props *p, size_t nin,
                     const Var *in, Var *out) {
    (void)op, (void)p, (void)nin;
    expand_runs++;
    if (var_type(to->g, in[0])->ndim == 0) *out = in[0];
    return true;
}
static bool never_runs(Call *c) {
    (void)c;
    return false;
}
static const Op five = {.name = "five", .in = "a, b, c, d, e", .type = of_types},
                either = {.name = "either",
                          .in = "x",
                          .type = of_types,
                          .expand = stand_in,
                          .perform = never_runs};

static const char *type_of(const Op *op, Var x, Var n) {
    Var in[2] = {x, n};
    return type_str(s, var_type(g, op_apply1(&b, op, NULL, n == VAR_NONE ? 1 : 2, in)));
}

static void test_typed_once(void) {
    Var x = input("tx", "float32[m]"), y = input("ty", "float32[m]"),
        z = input("tz", "float64[m]");
    CHECK_STR(type_of(&copied, x, VAR_NONE), "float32[m]");
    CHECK_STR(type_of(&copied, y, VAR_NONE), "float32[m]");
    CHECK(of_types_runs == 1, "the same types need no second run");
    CHECK_STR(type_of(&copied, z, VAR_NONE), "float64[m]");
    CHECK(of_types_runs == 2);
    CHECK_STR(type_of(&sized, x, num(2)), "float32[2]");
    /* the same types, but not the same result */
    CHECK_STR(type_of(&sized, x, num(3)), "float32[3]");
    CHECK(of_length_runs == 2);
    Var in[] = {x, y, x, y, x}, other[] = {x, y, x, y, z};
    of_types_runs = 0;
    op_apply1(&b, &five, NULL, 5, in);
    op_apply1(&b, &five, NULL, 5, in);
    CHECK(of_types_runs == 1);
    op_apply1(&b, &five, NULL, 5, other);
    CHECK(of_types_runs >= 2, "one type differs");
}

static void test_typed_after_expand(void) {
    Var x = input("ex", "float32[m]"), scalar = input("es", "float32");
    const Props *props = op_signature(s, &either)->defaults;
    const Type *out[OUT_MAX];
    of_types_runs = 0;
    for (int i = 0; i < 3; i++)
        CHECK(op_apply1(&b, &either, NULL, 1, &x) != x);
    CHECK(expand_runs == 3, "what may stand for a call is asked each time");
    CHECK(op_apply1(&b, &either, NULL, 1, &scalar) == scalar);
    of_types_runs = 0;
    for (int i = 0; i < 3; i++)
        CHECK(op_infer(g, &either, props, (VarList){1, &x}, NOWHERE, out) == 1 &&
              out[0] == var_type(g, x));
    CHECK(of_types_runs == 1);
}

int main(void) {
    s = session_new(NULL, NULL);
    g = graph_new(s);
    b = builder(g, false);
    op_add(s, &probe, NOWHERE);
    op_add(s, &keep, NOWHERE);
    test_dims();
    test_expressions();
    test_raw();
    test_wants();
    test_broadcast();
    test_typed_once();
    test_typed_after_expand();
    CHECK(diag_count(s) == 0);
    session_free(s);
    return TEST_END("infer");
}
