/* The clauses of the Type contract (contract.def), by the types of the table in
 * value/class.c, the tutorial's double, and types of plugins that define little. */
#define CLAUSE_type CLAUSE_RUN
#include "../../examples/plugin-double/double.c"
#include "contract_graph.h"
#include "op/convert.h"
#include "value/object.h"
#include "value/transfer.h"

static const Filter plain = {.allow_downcast = -1},
                    strictly = {.strict = true, .allow_downcast = -1},
                    allowed = {.allow_downcast = 1}, never = {.allow_downcast = 0};

/* ---- types of plugins ---- */
/* Only what is required. */
static bool keep_number(const TlFilter *f, void *out) {
    const void *own = f->api->object(f->value, NULL);
    bool exact;
    if (own) return *(double *)out = *(const double *)own, true;
    return !f->strict && f->api->to_double(f->value, out, &exact);
}
static bool refuse_or_keep(const TlFilter *f, void *out) {
    return keep_number(f, out) ||
           f->api->fail(f->host, TL_WRONG_TYPE, "a number is due");
}
static const TlTypeDef least_def = {.size = offsetof(TlTypeDef, clear),
                                    .name = "least",
                                    .value_size = sizeof(double),
                                    .filter = refuse_or_keep};

/* One byte of memory that all of its values share, of which they have many. */
static bool always_shares(const void *a, const void *b) {
    (void)a, (void)b;
    return true;
}
static size_t much(const void *value) {
    (void)value;
    return 1000;
}
static bool same_sign(const TlType *t, const void *a, const void *b) {
    (void)t;
    return (*(const double *)a < 0) == (*(const double *)b < 0);
}
static const TlTypeDef own_def = {.size = sizeof own_def,
                                  .name = "signed",
                                  .value_size = sizeof(double),
                                  .params = "str, int",
                                  .filter = refuse_or_keep,
                                  .equal = same_sign,
                                  .may_share_memory = always_shares,
                                  .memory = much};

/* ---- values ---- */
static const Type *type(const char *text) {
    const Type *t = type_parse(s, text, strlen(text), NOWHERE);
    CHECK(t != NULL, "%s", text);
    return t;
}

static Value value(const char *text, const char *of) {
    Value v = {.kind = TYPE_NONE};
    CHECK(value_compile(s, text_span(text), of ? type(of) : NULL, allowed, "v", &v),
          "%s: %s", text, first_error());
    return v;
}

/* Through the filter; the result as text, or the error. */
static void filters(const char *text, const char *from, const char *to, Filter how,
                    const char *want) {
    Value v = value(text, from), out;
    Str got = STR(s);
    diag_clear(s);
    if (value_filter(s, type(to), &v, &(Receiver){how, "v", NOWHERE}, &out)) {
        value_text(s, &out, -1, &got);
        value_unref(&out);
        CHECK(strcmp(str_text(&got), want) == 0, "%s for %s: %s, not %s", text, to,
              str_text(&got), want);
    } else {
        CHECK(strstr(first_error(), want) != NULL, "%s for %s: %s", text, to,
              first_error());
        CHECK(diag_count(s) == 1);
    }
    diag_clear(s);
    str_free(&got);
    value_unref(&v);
}

static bool compare(const char *a, const char *b, const char *of, bool approximately,
                    Approx how) {
    Value x = value(a, of), y = value(b, of);
    bool equal = false, ok = approximately
                                 ? value_eq_approx(s, type(of), &x, &y, how, &equal)
                                 : value_eq(s, type(of), &x, &y, &equal);
    CHECK(ok, "%s", first_error());
    value_unref(&x);
    value_unref(&y);
    return equal;
}
static bool eq(const char *a, const char *b, const char *of) {
    return compare(a, b, of, false, APPROX_DEFAULT);
}
static bool approx_eq(const char *a, const char *b, const char *of) {
    return compare(a, b, of, true, APPROX_DEFAULT);
}

/* A text of each kind that has values, and its type. */
static const char *const samples[][2] = {
    {"[[1.5, 2.0], [3.0, 4.0]]", "float64[2, 2]"},
    {"3", "int8"},
    {"csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))", "sparse('csr', float64[2, 2])"},
    {"rng_state([1, 2, 3, 4])", "random"},
    {"make_list(float32(1), float32(2))", "list(float32)"},
    {"make_slice(1, None, 2)", "slice"},
    {"None", "none"},
    {"double(2.5)", "double"},
    {"least(2.5)", "least"}};
enum { SAMPLES = sizeof samples / sizeof *samples };

/* ---- a Type ---- */
static void test_kinds(void) {
    for (int k = 0; k < CLASS_N; k++) {
        const TypeClass *c = class_get((TypeKind)k);
        CHECK(c && c->name && c->a_value && c->form && c->holds && c->filters &&
                  c->compares && c->filter,
              "kind %d", k);
        CHECK(!c->parts == !c->build && !c->size == !c->shape_info, "%s", c->name);
    }
    for (int i = 0; i < SAMPLES; i++) {
        Value v = value(samples[i][0], samples[i][1]);
        CHECK(value_has_data(&v) && value_type(s, &v) == type(samples[i][1]), "%s",
              samples[i][0]);
        value_unref(&v);
    }
}

static void test_static(void) {
    const Type *t = type("float32[2, ?, n]");
    CHECK(t->kind == TYPE_TENSOR && t->dtype == DT_FLOAT32 && t->ndim == 3);
    CHECK(t->dim[0] == 2 && t->dim[1] == DIM_UNKNOWN && dim_is_named(t->dim[2]));
    CHECK_STR(type_str(s, type("float64[2, ?]")), "float64[2, ?]");
    const Dim dim[2] = {2, DIM_UNKNOWN};
    CHECK(type_tensor(s, DT_FLOAT64, 2, dim) == type("float64[2, ?]"));
}

static void test_partial(void) {
    filters("zeros((2, 0))", NULL, "float64[2, ?]", plain, "[[], []]");
    filters("zeros((2, 1))", NULL, "float64[2, ?]", plain, "[[0.0], [0.0]]");
    filters("zeros((2, 2))", NULL, "float64[2, ?]", plain, "[[0.0, 0.0], [0.0, 0.0]]");
    filters("zeros((3, 1))", NULL, "float64[2, ?]", plain, "dim 0 must be 2, not 3");
    filters("zeros(2)", NULL, "float64[2, ?]", plain, "wrong number of dims");
}

/* v1 is (2, ?), v2 is (2, 1). */
static void test_narrowing(void) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    const Type *t1 = type("float64[2, ?]"), *t2 = type("float64[2, 1]");
    Var v1 = type_make_variable(g, t1, sym(s, "v1")),
        v2 = type_make_variable(g, t2, sym(s, "v2"));
    CHECK(type_filter_variable(&b, t1, v2, "v") == v2, "the narrower type survives");
    CHECK(type_filter_variable(&b, t1, v1, "v") == v1 && g->napply == 0);
    Var v3 = type_filter_variable(&b, t2, v1, "v");
    CHECK(v3 != VAR_NONE && g->napply == 1 && var_type(g, v3) == t2);
    const Apply *a = &g->apply[var_owner(g, v3)];
    CHECK_STR(a->op->name, "specify_shape");
    CHECK(apply_in(g, var_owner(g, v3))[0] == v1);
    const Tensor *shape = var_const(g, apply_in(g, var_owner(g, v3))[1]);
    CHECK(shape && tensor_i64(shape, 0) == 2 && tensor_i64(shape, 1) == 1);
    /* nothing helps where dtype, rank, kind or a dim contradict */
    const char *const no[] = {"float32[2, 1]", "float64[2]", "float64[3, ?]", "random"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        diag_clear(s);
        CHECK(type_filter_variable(&b, type(no[i]), v1, "the place") == VAR_NONE);
        CHECK(diag_count(s) == 1 && strstr(first_error(), "the place is "), "%s",
              first_error());
    }
    diag_clear(s);
    graph_free(g);
}

/* ---- defaults ---- */
static void test_least(void) {
    Value a = value("least(2.5)", "least"), b = value("least(2.5)", "least"),
          c = value("least(2.50001)", "least");
    CHECK(value_equal(&a, &b) && !value_equal(&a, &c), "equal bytes");
    CHECK(value_approx(s, &a, &b, APPROX_DEFAULT) &&
              !value_approx(s, &a, &c, APPROX_DEFAULT),
          "as equal");
    CHECK(value_is_valid(s, type("least"), &a));
    CHECK(!value_may_share_memory(&a, &b) && value_bytes(&a) == sizeof(double));
    CHECK(type_in_same_class(type("least"), type("least")) &&
          !type_in_same_class(type("least"), type("double")));
    CHECK(type_is_super(type("least"), type("least")) &&
          !type_is_super(type("least"), type("double")));
    CHECK(type_clone(s, type("least"), DT_NONE, 0, NULL) == type("least"));
    value_unref(&a);
    value_unref(&b);
    value_unref(&c);
}

/* ---- checks ---- */
/* Valid is what passes the strict filter, for every sample and every type. */
static void test_valid(void) {
    long valid = 0;
    for (int i = 0; i < SAMPLES; i++) {
        Value v = value(samples[i][0], samples[i][1]), out;
        for (int k = 0; k < SAMPLES; k++) {
            const Type *t = type(samples[k][1]);
            bool ok = value_filter(s, t, &v, &(Receiver){strictly, "v", NOWHERE}, &out);
            if (ok) CHECK(value_identical(&v, &out), "%s", samples[i][0]);
            if (ok) value_unref(&out);
            diag_clear(s);
            CHECK(value_is_valid(s, t, &v) == ok && diag_count(s) == 0);
            CHECK(ok == (i == k), "%s, %s", samples[i][0], samples[k][1]);
            valid += ok;
        }
        value_unref(&v);
    }
    CHECK(valid == SAMPLES);
}

static void test_inplace(void) {
    const Type *t = type("float64[2, ?]");
    Value old = value("[[1.0, 2.0], [3.0, 4.0]]", "float64[2, ?]"), other = {0},
          new = value("[[5, 6], [7, 8]]", "int64[2, 2]");
    const void *data = old.t.data;
    CHECK(value_filter_inplace(s, t, &new, &(Receiver){plain, "w", NOWHERE}, &old));
    CHECK(old.t.data == data && tensor_f64(&old.t, 3) == 8, "the old memory");
    value_unref(&new);
    /* not what somebody else holds, nor what does not fit */
    value_copy_view(&other, &old);
    new = value("[[9, 9], [9, 9]]", "float64[2, 2]");
    CHECK(value_filter_inplace(s, t, &new, &(Receiver){plain, "w", NOWHERE}, &old));
    CHECK(other.t.data == data && tensor_f64(&other.t, 3) == 8 && old.t.data != data);
    value_unref(&new);
    value_unref(&other);
    new = value("[[1, 2, 3], [4, 5, 6]]", "float64[2, 3]");
    CHECK(value_filter_inplace(s, t, &new, &(Receiver){plain, "w", NOWHERE}, &old));
    CHECK(old.t.shape[1] == 3 && tensor_f64(&old.t, 5) == 6);
    value_unref(&new);
    /* what is refused changes nothing */
    new = value("[1, 2]", "float64[2]");
    CHECK(!value_filter_inplace(s, t, &new, &(Receiver){plain, "w", NOWHERE}, &old));
    CHECK(tensor_f64(&old.t, 5) == 6);
    diag_clear(s);
    value_unref(&new);
    value_unref(&old);
}

static void test_approx_by_type(void) {
    CHECK(approx_eq("9e-6", "0.0", "float32") && !approx_eq("9e-6", "0.0", "float64"));
    CHECK(approx_eq("make_list(1.000009)", "make_list(1.0)", "list(float32)"));
    CHECK(approx_eq("csr([1.0000005], [0], [0, 1], (1, 1))",
                    "csr([1.0], [0], [0, 1], (1, 1))", "sparse('csr', float64[1, 1])"));
    CHECK(!approx_eq("rng_state([1, 2, 3, 4])", "rng_state([1, 2, 3, 5])", "random"));
    CHECK(!approx_eq("make_slice(0, 1, 2)", "make_slice(0, 1, 3)", "slice"));
    CHECK(approx_eq("None", "None", "none"));
    CHECK(approx_eq("double(1.0)", "double(1.0001)", "double"));
}

static void test_eq_by_type(void) {
    for (int i = 0; i < SAMPLES; i++)
        CHECK(eq(samples[i][0], samples[i][0], samples[i][1]), "%s", samples[i][0]);
    CHECK(eq("nan", "nan", "float64") && !eq("1.0", "1.0000000001", "float64"));
    CHECK(!eq("make_list(1.0)", "make_list(1.0, 2.0)", "list(float32)"));
    const char *of = "signed('a', 1)";
    char a[64], b[64];
    snprintf(a, sizeof a, "constant(\"%s\", 1.0)", of);
    snprintf(b, sizeof b, "constant(\"%s\", 7.0)", of);
    CHECK(eq(a, b, of) && approx_eq(a, b, of), "its own, and approx by default");
    snprintf(b, sizeof b, "constant(\"%s\", -7.0)", of);
    CHECK(!eq(a, b, of) && !approx_eq(a, b, of));
    Value v = value("1.0", "float64");
    bool equal;
    CHECK(!value_eq(s, type("null('x')"), &v, &v, &equal));
    CHECK(!value_eq_approx(s, type("disconnected"), &v, &v, APPROX_DEFAULT, &equal));
    diag_clear(s);
    value_unref(&v);
}

/* ---- variables ---- */
static void test_variables(void) {
    Graph *g = graph_new(s);
    for (int i = 0; i < SAMPLES; i++) {
        const Type *t = type(samples[i][1]);
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        Var v = type_make_variable(g, t, sym(s, name));
        CHECK(var_type(g, v) == t && var_name(g, v) == sym(s, name));
        CHECK(g->inputs.p[g->inputs.n - 1] == v && var_owner(g, v) == APPLY_NONE);
    }
    Var a = type_make_variable(g, type("double"), 0),
        b = type_make_variable(g, type("double"), 0);
    CHECK(a != b && var_name(g, a) != var_name(g, b), "each call makes one");
    CHECK_STR(sym_text(s, var_name(g, a)), "in1");
    graph_free(g);
}

/* ---- equality of types ---- */
static void test_equal_types(void) {
    static const char *const different[] = {"float64[2]",
                                            "float32[2]",
                                            "float64[3]",
                                            "float64[n]",
                                            "float64[m]",
                                            "float64[?]",
                                            "float64[2, 1]",
                                            "float64",
                                            "list(int8)",
                                            "list(bool)",
                                            "null('a')",
                                            "null('b')",
                                            "random",
                                            "slice",
                                            "none",
                                            "disconnected",
                                            "double",
                                            "least",
                                            "signed('a', 1)",
                                            "signed('b', 1)",
                                            "signed('a', 2)",
                                            "sparse('csr', float64[2, 2])",
                                            "sparse('csc', float64[2, 2])"};
    enum { N = sizeof different / sizeof *different };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            CHECK((type(different[i]) == type(different[k])) == (i == k), "%s, %s",
                  different[i], different[k]);
    for (int i = 0; i < N; i++)
        CHECK_STR(type_str(s, type(different[i])), different[i]);
}

static void test_clone(void) {
    const Dim three[1] = {3}, square[2] = {4, 4};
    CHECK(type_clone(s, type("float64[2]"), DT_INT8, 0, NULL) == type("int8[2]"));
    CHECK(type_clone(s, type("float64[2]"), DT_NONE, 1, three) == type("float64[3]"));
    CHECK(type_clone(s, type("float64[2]"), DT_BOOL, 2, square) == type("bool[4, 4]"));
    CHECK(type_clone(s, type("sparse('csr', float64[2, 2])"), DT_FLOAT32, 2, square) ==
          type("sparse('csr', float32[4, 4])"));
    CHECK(type_clone(s, type("slice"), DT_INT8, 0, NULL) == type("slice"));
    CHECK(type_clone(s, type("float64[2]"), DT_NONE, 0, NULL) == type("float64[2]"));
}

/* ---- memory ---- */
static void test_shares(void) {
    for (int i = 0; i < SAMPLES; i++) {
        Value a = value(samples[i][0], samples[i][1]),
              b = value(samples[i][0], samples[i][1]), same;
        bool empty = a.kind == TYPE_NONE;
        value_copy_view(&same, &a);
        CHECK(value_may_share_memory(&a, &same) == !empty, "%s", samples[i][0]);
        CHECK(!value_may_share_memory(&a, &b), "%s", samples[i][0]);
        value_unref(&a);
        value_unref(&b);
        value_unref(&same);
    }
    /* parts: of an array, of a list's items, of a matrix's data */
    Value x = value("[1.0, 2.0, 3.0]", "float64[3]"), part = x, item[1], list,
          m = value("csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))",
                    "sparse('csr', float64[2, 2])");
    part.t.data = (char *)x.t.data + 16;
    part.t.shape[0] = 1;
    CHECK(value_may_share_memory(&x, &part) && value_may_share_memory(&part, &x));
    value_copy_view(&item[0], &part);
    list = (Value){.kind = TYPE_LIST, .obj = list_new_take(s, 1, item)};
    CHECK(value_may_share_memory(&x, &list) && !value_may_share_memory(&m, &list));
    const SparseObject *o = m.obj;
    const Value data = {.kind = TYPE_TENSOR, .t = o->data},
                rows = {.kind = TYPE_TENSOR, .t = o->indptr};
    CHECK(value_may_share_memory(&m, &data) && value_may_share_memory(&rows, &m));
    /* a plugin's own answer */
    Value p = value("constant(\"signed('a', 1)\", 1.0)", "signed('a', 1)"),
          q = value("constant(\"signed('a', 1)\", 2.0)", "signed('a', 1)");
    CHECK(value_may_share_memory(&p, &q) && !value_may_share_memory(&p, &x));
    value_unref(&p);
    value_unref(&q);
    value_unref(&list);
    value_unref(&m);
    value_unref(&x);
}

static uint64_t size_by_info(const char *text, const char *of) {
    Value v = value(text, of);
    ShapeInfo info;
    value_shape_info(&v, &info);
    value_unref(&v); /* the information outlives the value */
    return shape_info_size(&info);
}

static void test_sizes(void) {
    CHECK(size_by_info("zeros((2, 3))", "float32[2, 3]") == 24);
    CHECK(size_by_info("1.0", "float64") == 8);
    CHECK(size_by_info("zeros((0, 3))", "float64[0, 3]") == 0);
    CHECK(size_by_info("csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))",
                       "sparse('csr', float64[2, 2])") == 2 * 8 + 2 * 4 + 3 * 4);
    CHECK(size_by_info("make_list(1.0, 2.0)", "list(float64)") == 16);
    CHECK(size_by_info("rng_state([1, 2, 3, 4])", "random") == 32);
    CHECK(size_by_info("double(1.0)", "double") == 8);
    CHECK(size_by_info("constant(\"signed('a', 1)\", 1.0)", "signed('a', 1)") == 1000);
}

/* ---- transfer ---- */
static int asked[2];
static Transfer declines(void *ctx, Session *session, const Type *to, const Value *v,
                         Value *out) {
    (void)ctx, (void)session, (void)to, (void)v, (void)out;
    asked[0]++;
    return TRANSFER_DECLINED;
}
/* A slice for a tensor becomes its start; none at all is an error. */
static Transfer start_of(void *ctx, Session *session, const Type *to, const Value *v,
                         Value *out) {
    (void)ctx;
    asked[1]++;
    if (v->kind != TYPE_SLICE || to->kind != TYPE_TENSOR) return TRANSFER_DECLINED;
    const SliceObject *o = v->obj;
    if (!o->has[0]) return fail(session, NOWHERE, E_VALUE, "no start"), TRANSFER_FAILED;
    out->kind = TYPE_TENSOR;
    return tensor_scalar_int(session, DT_INT64, o->part[0], &out->t) ? TRANSFER_DONE
                                                                     : TRANSFER_FAILED;
}

static void test_transfer(void) {
    Value slice = value("make_slice(7, None, 2)", "slice"),
          none = value("make_slice(None, 1, 2)", "slice"), n = value("3", "int64"), out;
    CHECK(
        !value_bind(s, type("int64"), &slice, &(Receiver){plain, "x", NOWHERE}, &out));
    diag_clear(s);
    transfer_register(s, declines, NULL);
    transfer_register(s, start_of, NULL);
    CHECK(value_bind(s, type("int64"), &slice, &(Receiver){plain, "x", NOWHERE}, &out));
    CHECK(tensor_i64(&out.t, 0) == 7 && asked[0] == 1 && asked[1] == 1);
    value_unref(&out);
    CHECK(value_bind(s, type("float32"), &slice, &(Receiver){allowed, "x", NOWHERE},
                     &out));
    CHECK(out.t.dtype == DT_FLOAT32, "then comes the filter");
    value_unref(&out);
    CHECK(!value_bind(s, type("int64[2]"), &slice, &(Receiver){plain, "x", NOWHERE},
                      &out));
    diag_clear(s);
    CHECK(!value_bind(s, type("int64"), &none, &(Receiver){plain, "x", NOWHERE}, &out));
    CHECK_STR(first_error(), "no start");
    diag_clear(s);
    asked[0] = 0;
    CHECK(value_bind(s, type("int64"), &n, &(Receiver){plain, "x", NOWHERE}, &out) &&
              !asked[0],
          "nothing is asked where none is needed");
    value_unref(&out);
    CHECK(!value_bind(s, type("int64"), &slice, &(Receiver){strictly, "x", NOWHERE},
                      &out));
    CHECK(asked[0] == 0, "a strict filter converts nothing");
    diag_clear(s);
    value_unref(&slice);
    value_unref(&none);
    value_unref(&n);
}

/* ---- the tutorial's double ---- */
static void test_strict_double(void) {
    Value v = value("double(2.5)", "double"), out;
    CHECK(
        value_filter(s, type("double"), &v, &(Receiver){strictly, "v", NOWHERE}, &out));
    CHECK(out.obj == v.obj, "the value itself");
    value_unref(&out);
    value_unref(&v);
    filters("3", "int64", "double", strictly, "expected a double, got");
    filters("2.5", "float64", "double", strictly, "expected a double, got");
}

static void test_double_approx(void) {
    CHECK(approx_eq("double(1.0)", "double(1.0001)", "double") &&
          !approx_eq("double(1.0)", "double(1.001)", "double"));
    CHECK(approx_eq("double(0.0)", "double(0.0)", "double"), "not 0/0");
    CHECK(!approx_eq("double(0.0)", "double(1e-9)", "double"));
    CHECK(approx_eq("double(1e300)", "double(1.0001e300)", "double"), "relative");
    const Approx loose = {.rtol = 0.01, .atol = -1};
    CHECK(compare("double(1.0)", "double(1.001)", "double", true, loose));
}

/* Each Apply made anew on the copies of its inputs, in another graph. */
static void test_copy(void) {
    static const char *const in[][2] = {{"x", "double"}, {"y", "double"}};
    Graph *g = graph_with(
              2, in, "a = double_mul(x, 2)\nb = double_op(a, y, 3, fn='mul')", "b"),
          *to = graph_new(s);
    CHECK(g != NULL, "%s", first_error());
    if (!g) return;
    Var map[16], args[4];
    Builder b = builder(to, false);
    for (Var v = 0; v < g->nvar; v++)
        if (var_is_const(g, v))
            map[v] = graph_const_value(to, var_type(g, v), var_leafrec(g, v)->value);
        else if (var_owner(g, v) == APPLY_NONE)
            map[v] = graph_input(to, var_name(g, v), var_type(g, v));
    for (ApplyId a = 0; a < g->napply; a++) {
        const Apply *ap = &g->apply[a];
        for (size_t i = 0; i < ap->nin; i++)
            args[i] = map[apply_in(g, a)[i]];
        CHECK(op_apply(&b, ap->op, ap->props, ap->nin, args, &map[ap->out]), "%s",
              first_error());
        CHECK(var_type(to, map[ap->out]) == type("double"));
    }
    vec_push(s, &to->outputs,
             ((Output){g->outputs.p[0].label, map[g->outputs.p[0].var]}));
    ApplyId at[2];
    Str what = STR(s);
    CHECK(graph_equal(g, to, &at[0], &at[1], &what), "%s", str_text(&what));
    str_free(&what);
    graph_free(g);
    graph_free(to);
}

/* Puts a float32 where it said float64, and takes literals as they are. */
static bool says_double(TlNode *n) {
    n->out[0] = n->api->type(n->host, "float64[?]");
    return n->in[0] == n->api->type(n->host, "double")
               ? true
               : n->api->fail(n->host, TL_WRONG_TYPE, "%s only works on doubles",
                              n->op);
}
static bool puts_matrix(TlCall *c) {
    TlTensor r;
    const int64_t shape[2] = {1, 1};
    return c->api->output(c, 0, 2, shape, &r);
}
static const TlOpDef puts_def = {.size = sizeof puts_def,
                                 .name = "puts_matrix",
                                 .in = "x: any",
                                 .make_node = says_double,
                                 .perform = puts_matrix};

static void test_wrong_put(void) {
    Graph *g = graph_with(0, NULL, "a = puts_matrix(double(1))", "a");
    Value v = {0};
    CHECK(g && !services(s)->eval(g, 1, &g->outputs.p[0].var, &v));
    CHECK_STR(first_error(),
              "puts_matrix: output 0 is declared float64[?], but the shape is (1, 1)");
    diag_clear(s);
    graph_free(g);
}

static void test_unwrapped(void) {
    CHECK(!graph_with(0, NULL, "a = puts_matrix(2)", "a"));
    CHECK_STR(first_error(), "puts_matrix only works on doubles");
    diag_clear(s);
}

static void test_families(void) {
    const Type *a = type("float64[2]"), *b = type("int8[?, ?]");
    CHECK(a != b && type_class(a) == type_class(b), "one class, many types");
    CHECK(type_class(type("signed('a', 1)")) == type_class(type("signed('b', 2)")));
    CHECK(type_class(type("double")) != type_class(a));
    Graph *g = graph_with(0, NULL, "a = float64([1, 2])\nb = a * a", "a, b");
    CHECK(g && var_type(g, g->outputs.p[0].var) == var_type(g, g->outputs.p[1].var),
          "many variables of one type");
    graph_free(g);
}

static bool little_init(TlHost *h, const TlApi *api) {
    return api->add_type(h, &least_def) && api->add_type(h, &own_def) &&
           api->add_op(h, &puts_def);
}
static const TlPlugin little = {TL_PLUGIN_ABI, "little", "1", little_init};

static void test_clauses(void) {
#include "contract.def"
}

int main(void) {
    contract_open(NULL, 0);
    CHECK(plugin_add(s, "double", &tl_plugin), "%s", first_error());
    CHECK(plugin_add(s, "little", &little), "%s", first_error());
    test_clauses();
    session_free(s);
    return TEST_END("contract_type");
}
