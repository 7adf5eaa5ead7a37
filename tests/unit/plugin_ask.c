/* What a plugin's op asks of the library (TlApi), a row each: asked rightly it gets the
 * answer, asked for what there is not it gets one error that says so. */
#include "plugin_test.h"

#include <math.h>

/* ---- one op, whose hooks ask what the row says ---- */
typedef struct Row {
    const char *in, *x,
        *out; /* the op's inputs; the text of a call; the result's type */
    bool (*ask)(TlCall *c);
    const char *error; /* NULL: none */
} Row;
static const Row *row;

static bool row_node(TlNode *n) {
    n->out[0] = n->api->type(n->host, row->out);
    return n->out[0] != NULL;
}
static bool row_run(TlCall *c) {
    return row->ask(c);
}
static bool number_out(TlCall *c, double v) {
    TlTensor r;
    if (!c->api->output(c, 0, 0, NULL, &r)) return false;
    *(double *)r.data = v;
    return true;
}

/* ---- questions ---- */
static bool types(TlCall *c) {
    const TlApi *a = c->api;
    const TlType *t = a->type(c->host, "float32[2, ?]"),
                 *list = a->value_type(c->host, c->in[0]);
    TlDType d = TL_BOOL;
    int ndim = 0;
    const int64_t *dim;
    CHECK(a->tensor_type(t, NULL, NULL, NULL) && a->tensor_type(t, &d, &ndim, &dim));
    CHECK(d == TL_FLOAT32 && ndim == 2 && dim[0] == 2 && dim[1] == -1);
    CHECK(!a->tensor_type(list, &d, &ndim, &dim) && d == TL_FLOAT32);
    CHECK_STR(a->type_text(c->host, list), "list(float64)");
    CHECK(!a->type_is(NULL, type_def) && !a->type_is(list, type_def));
    CHECK(a->make_tensor(c->host, TL_FLOAT32, 2, (int64_t[]){2, -1}) == t);
    return number_out(c, 1);
}
static bool no_dtype(TlCall *c) {
    return c->api->make_tensor(c->host, (TlDType)-1, 0, NULL) != NULL;
}
static bool dtype_beyond(TlCall *c) {
    return c->api->make_tensor(c->host, (TlDType)14, 0, NULL) != NULL;
}
static bool negative_rank(TlCall *c) {
    return c->api->make_tensor(c->host, TL_BOOL, -1, NULL) != NULL;
}
static bool number_of(const TlCall *c, double *v, bool *exact) {
    return c->api->to_double(c->in[0], v, exact);
}
static bool exactly(TlCall *c) {
    double v = 0;
    bool exact = false;
    CHECK(number_of(c, &v, &exact) && exact, "%g", v);
    return number_out(c, v);
}
static bool roughly(TlCall *c) {
    double v = 0;
    bool exact = true;
    CHECK(number_of(c, &v, &exact) && !exact, "%g", v);
    return number_out(c, v);
}
static bool no_number(TlCall *c) {
    double v = 0;
    bool exact;
    TlTensor t;
    CHECK(!number_of(c, &v, &exact));
    CHECK(c->api->tensor(c->in[0], &t) ==
          (t.ndim >= 0 && strstr(row->x, "slice") == NULL));
    return number_out(c, 1);
}
static bool takes_tensor(TlCall *c) {
    TlTensor t;
    return c->api->input(c, 0, &t);
}
static bool takes_object(TlCall *c) {
    return c->api->input_object(c, 0) != NULL;
}
static bool takes_ninth(TlCall *c) {
    return c->api->input_object(c, 9) != NULL;
}
static bool makes_ninth(TlCall *c) {
    return c->api->output_object(c, 9) != NULL;
}
static bool makes_tensor(TlCall *c) {
    TlTensor t;
    return c->api->output(c, 0, 0, NULL, &t);
}
static bool keeps_nothing(TlCall *c) {
    TlTensor t;
    CHECK(!c->api->kept(c, 0, &t));
    return c->api->pass(c, 0, 0);
}
static bool passes(TlCall *c) {
    return c->api->pass(c, 0, 0);
}
/* Rows in order, of what is transposed: and an empty one is packed, too. */
static bool packs(TlCall *c) {
    TlTensor t, raw;
    if (!c->api->input(c, 0, &raw) || !c->api->contiguous(c, 0, &t)) return false;
    CHECK(raw.stride[0] == 8 && raw.stride[1] == 16);
    CHECK(t.shape[0] == 2 && t.shape[1] == 3 && t.stride[0] == 24 && t.stride[1] == 8);
    return number_out(c, ((double *)t.data)[1]);
}
static bool packs_none(TlCall *c) {
    TlTensor t;
    if (!c->api->contiguous(c, 0, &t)) return false;
    CHECK(t.shape[0] == 2 && t.shape[1] == 0 && t.stride[0] == 8 && t.stride[1] == 8);
    return number_out(c, 0);
}
#define VIEW(NAME, ...)                                                                \
    static bool NAME(TlCall *c) {                                                      \
        TlTensor t;                                                                    \
        if (!c->api->input(c, 0, &t)) return false;                                    \
        __VA_ARGS__;                                                                   \
        return c->api->view(c, 0, 0, &t);                                              \
    }
VIEW(views_whole, )
VIEW(views_back, t.data = (double *)t.data + 3, t.stride[0] = -8)
VIEW(views_part, t.data = (double *)t.data + 1, t.shape[0] = 2)
VIEW(views_none, t.data = (double *)t.data + 1000, t.shape[0] = 0)
VIEW(views_before, t.data = (double *)t.data - 1)
VIEW(views_after, t.data = (double *)t.data + 1)
VIEW(views_beyond, t.data = (double *)t.data + 2, t.stride[0] = -8)
VIEW(views_far, t.ndim = 1, t.stride[0] = INT64_MAX)
VIEW(views_sum, t.ndim = 2, t.shape[1] = 2, t.stride[0] = INT64_MAX / 3 - 8,
     t.stride[1] = INT64_MAX / 2)
VIEW(views_down, t.ndim = 2, t.shape[1] = 2, t.stride[0] = INT64_MIN / 3 + 8,
     t.stride[1] = INT64_MIN + 8)
static bool views_ninth(TlCall *c) {
    TlTensor t;
    return c->api->input(c, 0, &t) && c->api->view(c, 0, 9, &t);
}
static bool views_slice(TlCall *c) {
    TlTensor t = {.dtype = TL_FLOAT64, .ndim = 0, .data = c};
    return c->api->view(c, 0, 0, &t);
}
/* What is built is built where there is a graph to build in. */
static bool builds_ints(TlCall *c) {
    return c->api->ints(c->host, 1, (int64_t[]){1}) != TL_NONE;
}
static bool builds_constant(TlCall *c) {
    return c->api->constant(c->host, c->out_type[0], 1) != TL_NONE;
}
static bool builds_undefined(TlCall *c) {
    return c->api->undefined(c->host, "why") != TL_NONE;
}
static bool asks_var(TlCall *c) {
    return c->api->var_type(c->host, 0) != NULL;
}
/* A text goes nowhere where none is asked for. */
static bool puts_text(TlCall *c) {
    c->api->put(c->host, "a");
    c->api->put_number(c->host, 1);
    c->api->put_quoted(c->host, "a");
    return number_out(c, 2);
}
static bool props(TlCall *c) {
    const TlApi *a = c->api;
    TlHost *h = c->host;
    const int64_t *v = (const int64_t[]){7};
    CHECK(!a->prop_bool(h, "k") && a->prop_bool(h, "b") && !a->prop_bool(h, "o"));
    CHECK(a->prop_int(h, "b") == 0 && a->prop_int(h, "k") == 3);
    CHECK(a->prop_float(h, "k") == 0 && a->prop_float(h, "f") == 0.5);
    CHECK_STR(a->prop_str(h, "k"), "");
    CHECK_STR(a->prop_str(h, "s"), "text");
    CHECK(a->prop_dtype(h, "k") == TL_FLOAT64 && a->prop_dtype(h, "d") == TL_INT8);
    CHECK(a->prop_ints(h, "k", &v) == 0 && !v);
    CHECK(a->prop_ints(h, "v", &v) == 2 && v[0] == 4 && v[1] == 5);
    CHECK(!a->prop_is_none(h, "k") && a->prop_is_none(h, "o"));
    return number_out(c, 1);
}
#define ASKS_PROP(NAME, GET)                                                           \
    static bool NAME(TlCall *c) {                                                      \
        const int64_t *v = NULL;                                                       \
        (void)v;                                                                       \
        return (GET) && number_out(c, 1);                                              \
    }
ASKS_PROP(no_bool, !c->api->prop_bool(c->host, "q"))
ASKS_PROP(no_float, c->api->prop_float(c->host, "q") == 0)
ASKS_PROP(no_str, !*c->api->prop_str(c->host, "q"))
ASKS_PROP(no_dtype_prop, c->api->prop_dtype(c->host, "q") == TL_FLOAT64)
ASKS_PROP(no_ints, !c->api->prop_ints(c->host, "q", &v))
ASKS_PROP(no_none, !c->api->prop_is_none(c->host, "q"))
static bool fails_twice(TlCall *c) {
    c->api->fail(c->host, TL_WRONG_VALUE, "first");
    return c->api->fail(c->host, TL_WRONG_VALUE, "second");
}
static bool fails_oddly(TlCall *c) {
    return c->api->fail(c->host, (TlError)0, "an odd one");
}
static bool nothing(TlCall *c) {
    (void)c;
    return true;
}

#define ANY "x: any"
static const Row rows[] = {
    {ANY, "make_list(1.0)", "float64", types, NULL},
    {"x", "1.0", "float64", no_dtype, "there is no tensor of dtype -1 with 0 dims"},
    {"x", "1.0", "float64", dtype_beyond, "there is no tensor of dtype 14 with 0 dims"},
    {"x", "1.0", "float64", negative_rank,
     "there is no tensor of dtype 0 with -1 dims"},
    /* numbers: doubles hold 53 bits */
    {"x", "0.1", "float64", exactly, NULL},
    {"x", "True", "float64", exactly, NULL},
    {"x", "-9007199254740992", "float64", exactly, NULL},
    {"x", "9007199254740993", "float64", roughly, NULL},
    {"x", "9223372036854775807", "float64", roughly, NULL},
    {"x", "uint64(9223372036854775808)", "float64", exactly, NULL},
    {"x", "uint64(18446744073709551615)", "float64", roughly, NULL},
    {"x", "uint64(9223372036854775809)", "float64", roughly, NULL},
    {"x", "array([1.0])", "float64", no_number, NULL},
    {"x", "1j", "float64", no_number, NULL},
    {ANY, "slice(0, 1)", "float64", no_number, NULL},
    /* inputs and outputs that are something else */
    {ANY, "slice(0, 1)", "float64", takes_tensor,
     "reads input 0 as a tensor, but it is"},
    {ANY, "slice(0, 1)", "float64", takes_object,
     "as a value of its own type, but it is"},
    {"x", "1.0", "float64", takes_ninth, "input 9, which does not exist"},
    {"x", "1.0", "float64", makes_ninth, "output 9, which does not exist"},
    {ANY, "slice(0, 1)", "slice", makes_tensor, "output 0 is slice, not a tensor"},
    {ANY, "slice(0, 1)", "slice", keeps_nothing, NULL},
    {"x", "1.0", "float64", keeps_nothing, NULL},
    {ANY, "slice(0, 1)", "float64", passes,
     "input 0 can't be used as output 0, which is float64"},
    {"x", "1.0", "slice", passes, "input 0 can't be used as output 0, which is slice"},
    {"x", "1.0", "float32", passes,
     "input 0 can't be used as output 0, which is float32"},
    {"x", "zeros(3)", "float64[2]", passes, "is declared float64[2]"},
    {"x", "1.0", "none", nothing, NULL},
    {"x", "1.0", "random", nothing, "it did not create output 0, which is random"},
    {ANY, "slice(0, 1)", "slice", nothing,
     "it did not create output 0, which is slice"},
    {"x", "array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).T", "float64", packs, NULL},
    {"x", "zeros((2, 0))", "float64", packs_none, NULL},
    /* views: of the input's memory only */
    {"x", "arange(4.0)", "float64[4]", views_whole, NULL},
    {"x", "arange(4.0)", "float64[4]", views_back, NULL},
    {"x", "arange(4.0)", "float64[2]", views_part, NULL},
    {"x", "arange(4.0)", "float64[0]", views_none, NULL},
    {"x", "arange(4.0)", "float64[4]", views_before, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[4]", views_after, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[4]", views_beyond, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[4]", views_far, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[4, 2]", views_sum, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[4, 2]", views_down, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[4]", views_ninth, "input 9, which does not exist"},
    {"x", "arange(4.0)", "int64[4]", views_whole, "not a part of input 0"},
    {"x", "arange(4.0)", "float64[5]", views_whole, "is declared float64[5]"},
    {ANY, "slice(0, 1)", "float64", views_slice, "not a part of input 0"},
    /* not here */
    {"x", "1.0", "float64", builds_ints, "can't create integers here"},
    {"x", "1.0", "float64", builds_constant, "can't create a constant here"},
    {"x", "1.0", "float64", builds_undefined, "can't make a gradient undefined here"},
    {"x", "1.0", "float64", asks_var,
     "asks for the type of something that is not a variable"},
    {"x", "1.0", "float64", puts_text, NULL},
    /* props */
    {"x", "1.0", "float64", props, NULL},
    {"x", "1.0", "float64", no_bool, "asks for the prop q"},
    {"x", "1.0", "float64", no_float, "asks for the prop q"},
    {"x", "1.0", "float64", no_str, "asks for the prop q"},
    {"x", "1.0", "float64", no_dtype_prop, "asks for the prop q"},
    {"x", "1.0", "float64", no_ints, "asks for the prop q"},
    {"x", "1.0", "float64", no_none, "asks for the prop q"},
    {"x", "1.0", "float64", fails_twice, "first"},
    {"x", "1.0", "float64", fails_oddly, "an odd one"},
};

static void test_rows(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        row = &rows[i];
        begin();
        type_def = TYPE(.doc = "T");
        op_def = OP(.in = row->in, .make_node = row_node, .perform = row_run,
                    .view_map = "r: x", .never_fold = true,
                    .props = "b: bool = True, k: int = 3, f: float = 0.5, s: str = "
                             "'text', d: dtype = int8, v: ints = [4, 5], o: axis = "
                             "None");
        with_type = with_op = true;
        CHECK(add(), "%s", first_error());
        snprintf(text, sizeof text, "r = f(%s)", row->x);
        Graph *g = graph_with(0, NULL, text, "r");
        CHECK(g != NULL, "%zu %s: %s", i, text, first_error());
        Value v = {0};
        bool ok = g && services(s)->eval(g, 1, &g->outputs.p[0].var, &v);
        CHECK(ok == !row->error && diag_count(s) == (size_t)!ok, "%zu %s: %s", i, text,
              first_error());
        CHECK(ok || (row->error && strstr(first_error(), row->error)), "%zu %s: %s", i,
              text, first_error());
        if (ok && v.kind == TYPE_TENSOR && row->ask == packs)
            CHECK(tensor_f64(&v.t, 0) == 3);
        if (ok && row->ask == views_back)
            CHECK(((double *)v.t.data)[0] == 3 && v.t.stride[0] == -8);
        if (ok && row->ask == views_part) CHECK(tensor_f64(&v.t, 0) == 1);
        if (ok && (row->ask == exactly || row->ask == roughly))
            CHECK(fabs(tensor_f64(&v.t, 0)) >= 0.1);
        value_unref(&v);
        graph_free(g);
        session_free(s);
    }
}

/* ---- derivatives and shapes ---- */

/* An op of two inputs and two outputs, q = 2 x and p = 3 y, whose hooks leave what the
 * row says: by input or output, a number of one of these or a variable. */
enum { RIGHT = 1, CUT, NONE, FORGET, WILD };
typedef struct Answer {
    const char *cost; /* of q and p */
    int grad[2];      /* what grad leaves */
    bool pattern;     /* the op says what is connected */
    const char *error;
    double by[2]; /* the gradients by x and y */
} Answer;
static const Answer *answer;

static TlVar left(const TlApi *a, TlHost *h, int how, TlVar v, double by) {
    const TlVar in[2] = {v, v == TL_NONE ? v : a->number(h, TL_FLOAT64, by)};
    switch (how) {
    case CUT:
        return TL_DISCONNECTED;
    case NONE:
        return TL_NONE;
    case FORGET:
        return TL_FORGOTTEN;
    case WILD:
        return 99999;
    default:
        return v == TL_NONE ? v : a->apply(h, "multiply", NULL, 2, in, NULL);
    }
}
static bool pair_node(TlNode *n) {
    n->out[0] = n->in[0];
    n->out[1] = n->in[1];
    return true;
}
static bool pair_run(TlCall *c) {
    for (size_t i = 0; i < 2; i++) {
        TlTensor x, r;
        if (!c->api->contiguous(c, i, &x) || !c->api->output(c, i, x.ndim, x.shape, &r))
            return false;
        *(double *)r.data = (2 + (double)i) * *(double *)x.data;
    }
    return true;
}
static bool pair_grad(TlGrad *g) {
    for (size_t i = 0; i < 2; i++)
        g->grad[i] = left(g->api, g->host, answer->grad[i], g->g[i], 2 + (double)i);
    return true;
}
static bool pair_push(TlPush *p) {
    for (size_t i = 0; i < 2; i++)
        p->result[i] =
            left(p->api, p->host, answer->grad[i], p->tangent[i], 2 + (double)i);
    return true;
}
static bool straight(const TlApply *a, size_t in, size_t out) {
    CHECK(!a->api->is_output(a) && a->api->clients(a) == 0,
          "no view of the graph here");
    CHECK_STR(a->api->client(a, 0, NULL, NULL), "");
    return in == out;
}

static bool eval_pair(const char *text, double by[2]) {
    Graph *g = graph_with(0, NULL, text, "d,e");
    Value v[2] = {{0}, {0}};
    bool ok = g && services(s)->eval(
                       g, 2, (Var[]){g->outputs.p[0].var, g->outputs.p[1].var}, v);
    for (int i = 0; i < 2; i++) {
        by[i] = ok ? tensor_f64(&v[i].t, 0) : 0;
        value_unref(&v[i]);
    }
    graph_free(g);
    return ok;
}

static void ask_answer(const Answer *w, const TlOpDef *o, const char *text) {
    double by[2];
    answer = w;
    begin();
    CHECK(add_op(o), "%s", first_error());
    bool ok = eval_pair(text, by);
    const Diag *d = diag_first_error(s);
    CHECK(ok == !w->error && !d == ok, "%s: %s", text, first_error());
    CHECK(!w->error || strstr(first_error(), w->error), "%s: %s", text, first_error());
    CHECK(!ok || (by[0] == w->by[0] && by[1] == w->by[1]), "%s: %g, %g", text, by[0],
          by[1]);
    session_free(s);
}

#define PAIR(...)                                                                      \
    OP(.in = "x, y", .out = "q, p", .make_node = pair_node, .perform = pair_run,       \
       .never_fold = true, __VA_ARGS__)

static void test_gradients(void) {
    static const Answer rows_[] = {
        {"q + p", {RIGHT, RIGHT}, false, NULL, {2, 3}},
        {"q + p", {RIGHT, RIGHT}, true, NULL, {2, 3}},
        {"q", {RIGHT, RIGHT}, true, NULL, {2, 0}},
        {"q", {RIGHT, FORGET}, false, NULL, {2, 0}},
        {"q", {RIGHT, FORGET}, true, NULL, {2, 0}},
        {"q", {RIGHT, NONE}, true, NULL, {2, 0}},
        {"q", {RIGHT, CUT}, false, NULL, {2, 0}},
        {"q + p", {FORGET, RIGHT}, false, "grad sets no gradient for its input x", {0}},
        {"q + p",
         {RIGHT, NONE},
         false,
         "gives TL_NONE as the gradient of its input y",
         {0}},
        {"q + p",
         {RIGHT, NONE},
         true,
         "gives TL_NONE as the gradient of its input y",
         {0}},
        {"p", {FORGET, WILD}, false, "grad gives no variable for its input y", {0}},
        {"p", {WILD, RIGHT}, true, NULL, {0, 3}},
    };
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        const Answer *w = &rows_[i];
        char text[256];
        snprintf(text, sizeof text,
                 "x = exp(0.0)\ny = exp(0.0)\nq, p = f(x, y)\n"
                 "d, e = grad(%s, [x, y], disconnected_inputs='ignore')",
                 w->cost);
        ask_answer(w,
                   PAIR(.grad = pair_grad, .connected = w->pattern ? straight : NULL),
                   text);
    }
}

static void test_tangents(void) {
    static const Answer rows_[] = {
        {"x", {RIGHT, RIGHT}, false, NULL, {2, 0}},
        {"x", {RIGHT, CUT}, false, NULL, {2, 0}},
        {"x", {RIGHT, FORGET}, true, NULL, {2, 0}},
        {"x",
         {RIGHT, FORGET},
         false,
         "pushforward sets no tangent for its output p",
         {0}},
        {"x",
         {WILD, NONE},
         false,
         "pushforward gives no variable for its output q",
         {0}},
        {"x",
         {FORGET, NONE},
         true,
         "pushforward sets no tangent for its output q",
         {0}},
    };
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        const Answer *w = &rows_[i];
        ask_answer(w,
                   PAIR(.pushforward = pair_push, .grad = pair_grad,
                        .connected = w->pattern ? straight : NULL),
                   "x = exp(0.0)\ny = exp(0.0)\nq, p = f(x, y)\n"
                   "d, e = jvp([q, p], [x], [1.0])");
    }
}

/* What infer_shape leaves for a vector, and what comes of it: an error, or the shape as
 * text, where the op itself is not run. */
enum { NO_SHAPE, SHAPE, FLOATS, MATRIX, SHORT, FAR, SLICE, FAILED, DECLINED, SILENT };
static int shape_answer;
static bool some_shape(TlShape *s_) {
    const TlApi *a = s_->api;
    TlHost *h = s_->host;
    const int64_t n[2] = {2, 3};
    switch (shape_answer) {
    case NO_SHAPE:
        s_->shape[0] = TL_NONE;
        return true;
    case SHAPE:
        s_->shape[0] = a->text(h, "[x.shape[0]]");
        return true;
    case FLOATS:
        s_->shape[0] = a->text(h, "[0.5]");
        return true;
    case MATRIX:
        s_->shape[0] = a->text(h, "[[3]]");
        return true;
    case SHORT:
        s_->shape[0] = a->ints(h, 2, n);
        return true;
    case FAR:
        s_->shape[0] = 99999;
        return true;
    case SLICE:
        s_->shape[0] = a->text(h, "slice(0, 1)");
        return true;
    case FAILED:
        return a->fail(h, TL_FAILED, "no shape today");
    case DECLINED:
        return false;
    default:
        a->fail(h, TL_FAILED, "said, and yet well");
        return true;
    }
}

static void test_shapes(void) {
    static const char *const want[] = {
        [FLOATS] = "a vector of 1 integers", [MATRIX] = "a vector of 1 integers",
        [SHORT] = "a vector of 1 integers",  [FAR] = "a vector of 1 integers",
        [SLICE] = "a vector of 1 integers",  [FAILED] = "no shape today",
        [SILENT] = "said, and yet well"};
    static const char *const in[][2] = {{"x", "float64[?]"}};
    for (shape_answer = 0; shape_answer <= SILENT; shape_answer++) {
        begin();
        CHECK(add_op(OP(.in = "x", .make_node = node, .infer_shape = some_shape)), "%s",
              first_error());
        Graph *g = graph_with(1, in, "r = f(x).shape[0]", "r");
        CHECK(g != NULL, "%s", first_error());
        Graph *h = g ? rewrite_run(g, &(RewriteOptions){0}, NULL) : NULL;
        const char *error = want[shape_answer];
        CHECK(!h == (error != NULL) && diag_count(s) == !h, "%d: %s", shape_answer,
              first_error());
        CHECK(!error || strstr(first_error(), error), "%d: %s", shape_answer,
              first_error());
        bool runs = false;
        for (ApplyId a = 0; h && a < h->napply; a++)
            runs |= strcmp(h->apply[a].op->name, "f") == 0;
        CHECK(!h || runs == (shape_answer != SHAPE), "%d: f %s", shape_answer,
              runs ? "runs" : "is gone");
        graph_free(h);
        graph_free(g);
        session_free(s);
    }
}

/* make_node is asked again, and says something else. */
static int asked;
static bool fickle(TlNode *n) {
    asked++;
    if (shape_answer == 0 && asked > 1) n->nout = 1;
    if (shape_answer == 2 && asked > 1)
        return n->api->fail(n->host, TL_WRONG_TYPE, "not twice");
    for (size_t i = 0; i < n->nout; i++)
        n->out[i] = n->api->type(
            n->host, shape_answer == 1 && i == 1 && asked > 1 ? "int8" : "bool");
    return true;
}
static void test_fickle(void) {
    static const char *const want[] = {"called again: 2 outputs, then 1",
                                       "output 1 is bool, then int8", "not twice"};
    for (shape_answer = 0; shape_answer < 3; shape_answer++) {
        begin();
        asked = 0;
        CHECK(add_op(OP(.in = "x", .out = "q, p", .make_node = fickle)), "%s",
              first_error());
        CHECK(!graph_with(0, NULL, "r, t = f(1.0)", "r"));
        CHECK(diag_count(s) == 1 && strstr(first_error(), want[shape_answer]), "%s",
              first_error());
        session_free(s);
    }
}

/* The clients of an op of two outputs, in whatever place they take it. */
static int client_says;
static bool looks_around(const TlApply *a) {
    const TlApi *api = a->api;
    size_t in = 9, out = 9;
    size_t n = api->clients(a);
    CHECK(n == 3, "%zu clients", n);
    const struct {
        const char *op;
        size_t in, out;
    } want[] = {{"subtract", 1, 0}, {"add", 0, 1}, {"subtract", 0, 1}};
    for (size_t i = 0; i < n && i < 3; i++) {
        const char *op = api->client(a, i, &in, &out);
        CHECK(strcmp(op, want[i].op) == 0 && in == want[i].in && out == want[i].out,
              "%zu: %s %zu %zu", i, op, in, out);
        CHECK_STR(api->client(a, i, NULL, NULL), want[i].op);
    }
    CHECK_STR(api->client(a, 3, &in, &out), "");
    CHECK(api->is_output(a));
    client_says++;
    return false;
}
static void test_clients(void) {
    static const char *const in[][2] = {{"x", "float64"}};
    begin();
    answer = NULL;
    CHECK(add_op(OP(.in = "x, y", .out = "q, p", .make_node = pair_node,
                    .perform = pair_run, .fold = looks_around)),
          "%s", first_error());
    Graph *g = graph_with(1, in, "q, p = f(1.0, 2.0)\na = x - q\nb = p + x\nc = p - x",
                          "a,b,c,p");
    CHECK(g != NULL, "%s", first_error());
    Graph *h = g ? rewrite_run(g, &(RewriteOptions){0}, NULL) : NULL;
    CHECK(h && client_says > 0, "%s", first_error());
    graph_free(h);
    graph_free(g);
    session_free(s);
}

int main(void) {
    test_shapes();
    test_fickle();
    test_clients();
    test_rows();
    test_gradients();
    test_tangents();
    return TEST_END("plugin_ask");
}
