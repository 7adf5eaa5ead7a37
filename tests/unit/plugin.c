/* The C interface of plugins (thunkline/plugin.h) from its other side: what is wrong
 * with a plugin or a def is said at the row, whatever stands in its texts. */
#include "plugin_test.h"

static void refused_type(const TlTypeDef *t, const char *text) {
    begin();
    CHECK(!add_type(t), "%s", text);
    said(t && t->size > sizeof t->size && t->name ? t->name : "a type", text);
    session_free(s);
}

static void refused_op(const TlOpDef *o, const char *text) {
    begin();
    CHECK(!add_op(o), "%s", text);
    said("an op", text);
    const Op *f = op_find(s, "f", 1);
    CHECK(f == NULL, "%s: it is not there", text);
    session_free(s);
}

/* ---- the plugin itself ---- */
static bool init_silent(TlHost *h, const TlApi *a) {
    (void)h, (void)a;
    return false;
}
static bool init_talks(TlHost *h, const TlApi *a) {
    a->fail(h, TL_FAILED, "not today");
    return true;
}

static void test_plugins(void) {
    static const struct {
        TlPlugin p;
        const char *text;
    } bad[] = {
        {{TL_PLUGIN_ABI + 1, "mine", "1", init}, "is built for version 2"},
        {{0, "mine", "1", init}, "is built for version 0"},
        {{TL_PLUGIN_ABI, NULL, "1", init}, "has no name"},
        {{TL_PLUGIN_ABI, "mine", NULL, init}, "has no version"},
        {{TL_PLUGIN_ABI, "mine", "1", NULL}, "has no init"},
        {{TL_PLUGIN_ABI, "mine", "1", init_silent}, "gave no reason"},
        {{TL_PLUGIN_ABI, "mine", "1", init_talks}, "not today"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        begin();
        CHECK(!plugin_add(s, "./mine.so", &bad[i].p));
        CHECK(diag_first_error(s)->code == E_PLUGIN);
        said("plugin", bad[i].text);
        session_free(s);
    }
    begin();
    CHECK(!plugin_add(s, "./mine.so", NULL));
    said("plugin", "does not export tl_plugin");
    session_free(s);
}

/* ---- types ---- */
static size_t to_bytes(const void *value, unsigned char *buf) {
    (void)value, (void)buf;
    return 0;
}
static bool from_text(const TlFilter *f, const char *text, void *out) {
    (void)f, (void)text, (void)out;
    return true;
}
static void test_types(void) {
    begin();
    CHECK(add_type(TYPE(.doc = "T")), "%s", first_error());
    session_free(s);
    refused_type(NULL, "a type's def is NULL");
    refused_type(TYPE(.size = 0), "first member of a type's def must be its size");
    refused_type(TYPE(.size = 8), "must be its size");
    refused_type(TYPE(.size = SIZE_MAX), "must be its size");
    refused_type(TYPE(.name = NULL), "a type has no name");
    refused_type(TYPE(.name = ""), "can't be the name");
    refused_type(TYPE(.name = "a b"), "can't be the name");
    refused_type(TYPE(.name = "if"), "can't be the name");
    refused_type(TYPE(.name = "sin"), "there is an op of that name");
    refused_type(TYPE(.name = "float64"), "a function of the language");
    refused_type(TYPE(.name = "list"), "there is already a type of that name");
    refused_type(TYPE(.name = "random"), "there is already a type of that name");
    refused_type(TYPE(.filter = NULL), "it has no filter");
    refused_type(TYPE(.value_size = 0), "value_size must be");
    refused_type(TYPE(.value_size = SIZE_MAX), "value_size must be");
    refused_type(TYPE(.to_bytes = to_bytes),
                 "to_bytes and from_bytes must be given together");
    refused_type(TYPE(.from_text = from_text), "from_text needs text");
    refused_type(TYPE(.params = "str, float"), "params must list str and int");
    refused_type(TYPE(.params = "str,"), "params must list str and int");
}

/* A struct of a later version, which uses a member that is not known here. */
static void test_later(void) {
    struct {
        TlOpDef now;
        void *later;
    } *op = calloc(1, sizeof *op);
    struct {
        TlTypeDef now;
        void *later;
    } *type = calloc(1, sizeof *type);
    op->now = (TlOpDef){.size = sizeof *op, .name = "f"};
    type->now = (TlTypeDef){
        .size = sizeof *type, .name = "t", .value_size = 8, .filter = filter};
    begin();
    CHECK(add_type(&type->now), "what it does not use is no matter");
    session_free(s);
    op->later = type->later = type;
    refused_type(&type->now, "uses a feature that this thunkline does not have");
    refused_op(&op->now, "uses a feature that this thunkline does not have");
    free(op);
    free(type);
}

/* ---- ops ---- */
static bool any_grad(TlGrad *g) {
    (void)g;
    return true;
}
static bool any_connected(const TlApply *a, size_t in, size_t out) {
    (void)a, (void)in, (void)out;
    return true;
}
static int any_view(const TlApply *a, size_t out) {
    (void)a, (void)out;
    return -7;
}
static bool any_fold(const TlApply *a) {
    (void)a;
    return true;
}
static const TlThunk no_run = {.size = sizeof no_run}, no_size = {.size = 1};
static TlThunkResult any_run(void *state, TlCall *c) {
    (void)state;
    return c->api->pass(c, 0, 0) ? TL_THUNK_DONE : TL_THUNK_FAILED;
}
static const TlThunk any_thunk = {.size = sizeof any_thunk, .run = any_run};
static void accepted_op(const TlOpDef *o) {
    begin();
    CHECK(add_op(o), "%s", first_error());
    session_free(s);
}

static void test_ops(void) {
    accepted_op(OP(.doc = "F"));
    accepted_op(OP(.in = "x, y", .out = "a, b", .destroy_map = "a: x, b: y"));
    accepted_op(
        OP(.in = "x, y", .out = "a, b", .view_map = "a: x", .destroy_map = "b: y"));
    accepted_op(OP(.out = "a, b", .pullback = "g_a + g_b"));
    accepted_op(OP(.in = "x, y", .adjoint = "disconnected; disconnected"));
    accepted_op(OP(.adjoint = "disconnected", .connected = any_connected));
    accepted_op(OP(.in = "x = 1.5"));
    accepted_op(OP(.perform = NULL, .thunk = &any_thunk));
    refused_op(NULL, "an op's def is NULL");
    refused_op(OP(.size = 0), "first member of an op's def must be its size");
    refused_op(OP(.size = SIZE_MAX), "must be its size");
    refused_op(OP(.name = NULL), "has no name");
    refused_op(OP(.name = "2f"), "can't be the name");
    refused_op(OP(.name = "sin"), "there is already an op sin");
    refused_op(OP(.alias = "g, sin"), "there is already an op sin");
    refused_op(OP(.make_node = NULL), "neither make_node nor itypes");
    refused_op(OP(.perform = NULL), "neither perform nor thunk");
    refused_op(OP(.make_node = NULL, .itypes = "float64"),
               "itypes and otypes must be given together");
    refused_op(OP(.itypes = "float64"), "make_node excludes itypes and otypes");
    refused_op(OP(.make_node = NULL, .itypes = "flot64", .otypes = "float64"),
               "flot64");
    refused_op(OP(.make_node = NULL, .itypes = "float64", .otypes = "float64["),
               "expected");
    refused_op(OP(.make_node = NULL, .itypes = "float64, int8", .otypes = "float64"),
               "itypes");
    refused_op(OP(.in = "x, x"), "in: an input twice");
    refused_op(OP(.in = "x y"), "in:");
    refused_op(OP(.in = "x: nothing"), "in:");
    refused_op(OP(.in = "*x, *y, z"), "in:");
    refused_op(OP(.in = "x = one"), "in: a default must be a number, not one");
    refused_op(OP(.out = ""), "out: it has no outputs");
    refused_op(OP(.props = "a: graph"), "a has a kind that plugins can't use");
    refused_op(OP(.props = "a"), "props: a kind is missing");
    refused_op(OP(.props = "a: int = 'one'"), "props:");
    refused_op(OP(.props = "a: int, a: int"), "props:");
    refused_op(OP(.props = "x: int"), "props:");
    refused_op(OP(.out = "a, a"), "out:");
    refused_op(OP(.out = "a b"), "out:");
    refused_op(OP(.default_output = 3), "default_output is 3");
    refused_op(OP(.default_output = -1), "default_output is -1");
    refused_op(OP(.default_output = 65537), "default_output is 65537");
    refused_op(OP(.view_map = "r: z"), "view_map: there is no input z");
    refused_op(OP(.view_map = "q: x"), "view_map: there is no output q");
    refused_op(OP(.view_map = "x"), "view_map must be \"output: input\"");
    refused_op(OP(.view_map = "r: x:"), "view_map must be \"output: input\"");
    refused_op(OP(.in = "x, y", .view_map = "r: x, r: y"), "can have only one input");
    refused_op(OP(.view_map = "r: x", .view = any_view), "exclude each other");
    refused_op(OP(.view_map = "r: x", .destroy_map = "r: x"),
               "both viewed and destroyed");
    refused_op(OP(.out = "a, b", .destroy_map = "a: x, b: x"), "two outputs destroy");
    refused_op(OP(.destroy_map = "r: x", .destroy = any_view), "exclude each other");
    refused_op(OP(.disconnected = "q"), "no input q");
    refused_op(OP(.disconnected = "x", .connected = any_connected),
               "exclude each other");
    refused_op(OP(.adjoint = "g; g"), "2 texts (separated by semicolons) for 1 input");
    refused_op(OP(.adjoint = "g +"), "the text ends where");
    refused_op(OP(.pullback = "g * undefined_name("), "expected");
    refused_op(OP(.adjoint = "g", .partials = "1"),
               "partials, adjoint, pullback and grad exclude each other");
    refused_op(OP(.adjoint = "g", .grad = any_grad),
               "partials, adjoint, pullback and grad exclude each other");
    refused_op(OP(.out = "a, b", .adjoint = "g"), "for ops with one output");
    refused_op(OP(.shape = "[n"), "never closed");
    refused_op(OP(.flops = "2 *"), "the text ends where");
    refused_op(OP(.commutative = true), "two inputs can be commutative");
    refused_op(OP(.never_fold = true, .fold = any_fold), "exclude each other");
    refused_op(OP(.otypes = "float64"), "make_node excludes itypes and otypes");
    refused_op(OP(.perform = NULL, .thunk = &any_thunk, .debug_perform = pass),
               "debug_perform is for ops with perform");
    refused_op(
        OP(.make_node = NULL, .in = "x, y", .itypes = "float64", .otypes = "float64"),
        "itypes has 1 type for 2 inputs");
    refused_op(OP(.make_node = NULL, .out = "a, b", .itypes = "float64",
                  .otypes = "float64, int8, int8"),
               "otypes has 3 types for 2 outputs");
    refused_op(OP(.out = "a, b", .default_output = 3),
               "default_output is 3, but it has 2 outputs");
    refused_op(OP(.props = "a: key"), "a has a kind that plugins can't use");
    refused_op(OP(.thunk = &no_run), "its thunk has no run");
    refused_op(OP(.thunk = &no_size), "first member of a thunk must be its size");
}

/* ---- texts that nobody would write ---- */
static uint32_t rnd(uint32_t n) {
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

static const char *text(char *to, size_t room) {
    static const char *const piece[] = {"x",           "y",
                                        ": ",          ", ",
                                        "int",         "float64",
                                        "[",           "]",
                                        "(",           ")",
                                        "= ",          "*",
                                        "?",           "any",
                                        "'",           "1",
                                        "-",           "None",
                                        "axes",        "dtype",
                                        "r",           "g",
                                        ";",           "\"",
                                        "\\",          "\n",
                                        "ints",        "{",
                                        "}",           "**",
                                        "0.5",         "list",
                                        "graph",       "\xff",
                                        "#",           "if",
                                        "x.shape[0]",  "disconnected",
                                        "undefined('", "99999999999999999999"};
    size_t n = 0, words = rnd(8);
    *to = 0;
    if (rnd(3) == 0) return NULL;
    for (size_t i = 0; i < words; i++) {
        const char *p = piece[rnd(sizeof piece / sizeof *piece)];
        if (n + strlen(p) + 1 > room) break;
        n += strlen(strcpy(to + n, p));
    }
    return to;
}

/* Whatever the def says, a graph of it is refused, fails, or runs. */
static long ran;
static void use(void) {
    static const char *const graph[] = {
        "a = f(1.0, 2.0)", "a = f(exp(1.0))", "a = f()",
        "x = exp(1.0)\na = f(x, exp(2.0))\nb = grad(a * 1.0, x)\nn = a.shape"};
    for (int i = 0; i < 4; i++) {
        Graph *g = graph_with(0, NULL, graph[i], i < 3 ? "a" : "a,b,n"), *h = NULL;
        Value v = {0};
        diag_clear(s);
        if (g && (h = rewrite_run(g, &(RewriteOptions){0}, NULL)))
            ran += services(s)->eval(h, 1, &h->outputs.p[0].var, &v);
        value_unref(&v);
        graph_free(h);
        graph_free(g);
    }
}

static void test_noise(void) {
    long accepted = 0;
    for (int i = 0; i < 3000; i++) {
        char b[12][80];
        TlOpDef o = {.size = sizeof o,
                     .name = rnd(20) ? "f" : text(b[0], 80),
                     .in = rnd(2) ? "x, y" : text(b[1], 80),
                     .props = text(b[2], 80),
                     .out = rnd(2) ? NULL : text(b[3], 80),
                     .perform = pass};
        if (rnd(2))
            o.make_node = node;
        else
            o.itypes = text(b[4], 80), o.otypes = text(b[5], 80);
        const char **more[] = {&o.adjoint, &o.pullback, &o.disconnected, &o.shape,
                               &o.flops,   &o.view_map, &o.destroy_map,  &o.alias};
        *more[rnd(8)] = text(b[6], 80);
        TlTypeDef t = {.size = sizeof t,
                       .name = rnd(2) ? "t" : text(b[7], 80),
                       .value_size = rnd(32),
                       .filter = filter,
                       .params = text(b[8], 80)};
        begin();
        type_def = &t;
        op_def = &o;
        with_type = rnd(4) == 0;
        with_op = true;
        bool ok = add();
        CHECK(ok == (diag_count(s) == 0), "%s", first_error());
        accepted += ok;
        if (ok) {
            Str out = STR(s);
            gload_list_op(s, o.name, i % 2, &out);
            gload_list_types(s, i % 2, &out);
            use();
            str_free(&out);
        }
        session_free(s);
    }
    CHECK(accepted > 20 && accepted < 2900 && ran > 20, "%ld, %ld", accepted, ran);
}

int main(void) {
    test_plugins();
    test_types();
    test_later();
    test_ops();
    test_noise();
    return TEST_END("plugin");
}
