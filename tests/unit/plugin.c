/* The C interface of plugins (thunkline/plugin.h) from its other side: what is wrong
 * with a plugin, with a def, with a thunk is said at the row, and none of it crashes;
 * nor does what a running op asks for by mistake. */
#include "thunkline/plugin.h"

#include "contract_graph.h"

#include <stdlib.h>

/* ---- plugins of one def ---- */
static const TlTypeDef *type_def;
static const TlOpDef *op_def;
static bool with_type, with_op;
static bool init(TlHost *h, const TlApi *a) {
    return (!with_type || a->add_type(h, type_def)) &&
           (!with_op || a->add_op(h, op_def));
}
static bool init_silent(TlHost *h, const TlApi *a) {
    (void)h, (void)a;
    return false;
}
static bool init_talks(TlHost *h, const TlApi *a) {
    a->fail(h, TL_FAILED, "not today");
    return true;
}

/* A session of its own for each: what is refused leaves nothing behind. */
static void begin(void) {
    s = pipeline_session(NULL, NULL);
    session_options(s)->threads = 1;
}

static bool add(void) {
    static const TlPlugin p = {TL_PLUGIN_ABI, "mine", "1", init};
    return plugin_add(s, "./mine.so", &p);
}
static bool add_type(const TlTypeDef *t) {
    type_def = t;
    with_type = true, with_op = false;
    return add();
}
static bool add_op(const TlOpDef *o) {
    op_def = o;
    with_type = false, with_op = true;
    return add();
}

/* One error, which has the text and names the plugin, the op or the type. */
static void said(const char *what, const char *text) {
    const Diag *d = diag_first_error(s);
    bool named = false;
    CHECK(d && diag_count(s) == 1, "%s: %zu diagnostics", what, diag_count(s));
    if (!d) return;
    CHECK(strstr(d->text, text) != NULL, "%s: \"%s\", not \"%s\"", what, d->text, text);
    named = strstr(d->text, "mine.so") != NULL;
    for (const DiagNote *n = d->notes; n; n = n->next)
        named |= strstr(n->text, "mine.so") != NULL;
    if (d->at.source)
        named |= strstr(source_get(s, d->at.source)->name, "mine.so") != NULL;
    CHECK(named, "%s: \"%s\" does not say where", what, d->text);
}

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
static void test_plugins(void) {
    static const struct {
        TlPlugin p;
        const char *text;
    } bad[] = {
        {{TL_PLUGIN_ABI + 1, "mine", "1", init}, "is made for version 2"},
        {{0, "mine", "1", init}, "is made for version 0"},
        {{TL_PLUGIN_ABI, NULL, "1", init}, "has no name"},
        {{TL_PLUGIN_ABI, "mine", NULL, init}, "has no version"},
        {{TL_PLUGIN_ABI, "mine", "1", NULL}, "has no init"},
        {{TL_PLUGIN_ABI, "mine", "1", init_silent}, "did not say why"},
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
static bool filter(const TlFilter *f, void *out) {
    bool exact;
    return f->api->to_double(f->value, out, &exact) ||
           f->api->fail(f->host, TL_WRONG_TYPE, "a number is due");
}
static bool lazy_filter(const TlFilter *f, void *out) {
    (void)f, (void)out;
    return false;
}
static size_t to_bytes(const void *value, unsigned char *buf) {
    (void)value, (void)buf;
    return 0;
}
static bool from_text(const TlFilter *f, const char *text, void *out) {
    (void)f, (void)text, (void)out;
    return true;
}
/* A def in order but for one member. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
#define TYPE(...)                                                                      \
    (&(const TlTypeDef){.size = sizeof(TlTypeDef),                                     \
                        .name = "t",                                                   \
                        .value_size = 8,                                               \
                        .filter = filter,                                              \
                        __VA_ARGS__})

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
    refused_type(TYPE(.name = "list"), "there is a type of that name");
    refused_type(TYPE(.name = "random"), "there is a type of that name");
    refused_type(TYPE(.filter = NULL), "it has no filter");
    refused_type(TYPE(.value_size = 0), "value_size must be");
    refused_type(TYPE(.value_size = SIZE_MAX), "value_size must be");
    refused_type(TYPE(.to_bytes = to_bytes), "to_bytes and from_bytes go together");
    refused_type(TYPE(.from_text = from_text), "from_text without text");
    refused_type(TYPE(.params = "str, float"), "params lists str and int");
    refused_type(TYPE(.params = "str,"), "params lists str and int");
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
    refused_type(&type->now, "uses what this thunkline does not know");
    refused_op(&op->now, "uses what this thunkline does not know");
    free(op);
    free(type);
}

/* ---- ops ---- */
static bool node(TlNode *n) {
    for (size_t i = 0; i < n->nout; i++)
        n->out[i] = n->nin ? n->in[0] : n->api->type(n->host, "float64");
    return true;
}
static bool pass(TlCall *c) {
    return c->api->pass(c, 0, 0);
}
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
#define OP(...)                                                                        \
    (&(const TlOpDef){.size = sizeof(TlOpDef),                                         \
                      .name = "f",                                                     \
                      .in = "x",                                                       \
                      .make_node = node,                                               \
                      .perform = pass,                                                 \
                      __VA_ARGS__})

static void test_ops(void) {
    begin();
    CHECK(add_op(OP(.doc = "F")), "%s", first_error());
    session_free(s);
    refused_op(NULL, "an op's def is NULL");
    refused_op(OP(.size = 0), "first member of an op's def must be its size");
    refused_op(OP(.size = SIZE_MAX), "must be its size");
    refused_op(OP(.name = NULL), "has no name");
    refused_op(OP(.name = "2f"), "can't be the name");
    refused_op(OP(.name = "sin"), "there is an op sin already");
    refused_op(OP(.alias = "g, sin"), "there is an op sin already");
    refused_op(OP(.make_node = NULL), "neither make_node nor itypes");
    refused_op(OP(.perform = NULL), "neither perform nor thunk");
    refused_op(OP(.make_node = NULL, .itypes = "float64"),
               "itypes and otypes go together");
    refused_op(OP(.itypes = "float64"), "two answers to one question");
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
    refused_op(OP(.in = "x = one"), "in: a default is a number, not one");
    refused_op(OP(.out = ""), "out: it has no outputs");
    refused_op(OP(.props = "a: graph"), "a has a kind that is not for plugins");
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
    refused_op(OP(.view_map = "x"), "view_map is \"output: input\"");
    refused_op(OP(.view_map = "r: x:"), "view_map is \"output: input\"");
    refused_op(OP(.in = "x, y", .view_map = "r: x, r: y"), "can have one input only");
    refused_op(OP(.view_map = "r: x", .view = any_view), "one too many");
    refused_op(OP(.view_map = "r: x", .destroy_map = "r: x"),
               "both viewed and destroyed");
    refused_op(OP(.out = "a, b", .destroy_map = "a: x, b: x"), "two outputs destroy");
    refused_op(OP(.destroy_map = "r: x", .destroy = any_view), "one too many");
    refused_op(OP(.disconnected = "q"), "no input q");
    refused_op(OP(.disconnected = "x", .connected = any_connected), "one too many");
    refused_op(OP(.adjoint = "g; g"), "2 texts (with semicolons) for 1 input");
    refused_op(OP(.adjoint = "g +"), "the text ends where");
    refused_op(OP(.pullback = "g * undefined_name("), "expected");
    refused_op(OP(.adjoint = "g", .partials = "1"), "one question");
    refused_op(OP(.adjoint = "g", .grad = any_grad), "one question");
    refused_op(OP(.out = "a, b", .adjoint = "g"), "for ops with one output");
    refused_op(OP(.shape = "[n"), "never closed");
    refused_op(OP(.flops = "2 *"), "the text ends where");
    refused_op(OP(.commutative = true), "two inputs is commutative");
    refused_op(OP(.never_fold = true, .fold = any_fold), "one too many");
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
            show_op(s, o.name, i % 2, &out);
            list_types(s, i % 2, &out);
            use();
            str_free(&out);
        }
        session_free(s);
    }
    CHECK(accepted > 20 && accepted < 2900 && ran > 20, "%ld, %ld", accepted, ran);
}

/* ---- asking for what there is not ---- */
static int question;
static bool asks_node(TlNode *n) {
    const TlApi *a = n->api;
    n->out[0] = n->in[0];
    switch (question) {
    case 0:
        return !a->is_literal(n, 99) && a->wrap(n, 99, n->in[0]);
    case 1:
        return a->wrap(n, 0, NULL);
    case 2:
        return a->prop_int(n->host, "nothing") == 1;
    case 3:
        n->out[0] = a->type(n->host, "flot64");
        return n->out[0] != NULL;
    case 4:
        n->out[0] = a->make_tensor(n->host, TL_FLOAT64, 99, NULL);
        return n->out[0];
    case 5:
        n->out[0] = NULL;
        return true;
    case 6:
        n->nout = 99999;
        return true;
    case 7:
        n->nout = 0;
        return true;
    case 8:
        return a->apply(n->host, "sin", NULL, 1, &(TlVar){0}, NULL) != TL_NONE;
    case 9:
        return a->number(n->host, TL_FLOAT64, 1) != TL_NONE;
    case 10:
        return a->add_op(n->host, op_def);
    case 11:
        return a->wrap(n, 0, a->type(n->host, "random"));
    default:
        return true;
    }
}
static bool asks_run(TlCall *c) {
    const TlApi *a = c->api;
    TlTensor t;
    const int64_t shape[TL_NDIM] = {-1, 2}, large[2] = {INT64_MAX, INT64_MAX};
    switch (question) {
    case 20:
        return a->input(c, 99, &t);
    case 21:
        return a->input_object(c, 0) != NULL;
    case 22:
        return a->output(c, 99, 0, NULL, &t);
    case 23:
        return a->output(c, 0, 1, shape, &t);
    case 24:
        return a->output(c, 0, 2, large, &t);
    case 25:
        return a->output(c, 0, 99, shape, &t);
    case 26:
        return a->output_object(c, 0) != NULL;
    case 27:
        return a->pass(c, 0, 99);
    case 28:
        return a->pass(c, 99, 0);
    case 29:
        return a->kept(c, 99, &t);
    case 30:
        t = (TlTensor){.ndim = 99};
        return a->view(c, 0, 0, &t);
    case 31:
        return a->input(c, 0, &t) && (t.stride[0] = INT64_MAX, a->view(c, 0, 0, &t));
    case 32:
        return a->scratch(c, SIZE_MAX) != NULL;
    case 33:
        return a->prop_float(c->host, "nothing") > 1;
    case 34:
        return a->text(c->host, "x + 1") != TL_NONE;
    case 35:
        return true; /* without an output */
    default:
        return a->pass(c, 0, 0);
    }
}
static bool asks_grad(TlGrad *g) {
    const TlApi *a = g->api;
    const TlVar wild[2] = {TL_NONE, 99999};
    switch (question) {
    case 40:
        g->grad[0] = 99999;
        return true;
    case 41:
        g->grad[0] = a->apply(g->host, "sin", NULL, 1, wild, NULL);
        break;
    case 42:
        g->grad[0] = a->apply(g->host, "sin", NULL, 1, wild + 1, NULL);
        break;
    case 43:
        g->grad[0] = a->apply(g->host, "nothing", NULL, 1, g->in, NULL);
        break;
    case 44:
        g->grad[0] = a->apply(g->host, "sum", "axis=", 1, g->in, NULL);
        break;
    case 45:
        g->grad[0] = a->text(g->host, "x +");
        break;
    case 46:
        g->grad[0] = a->text(g->host, "nothing");
        break;
    case 47:
        g->grad[0] = a->number(g->host, (TlDType)99, 1);
        break;
    case 48:
        g->grad[0] = a->constant(g->host, NULL, 1);
        break;
    case 49:
        return a->var_type(g->host, 99999) != NULL;
    case 50:
        return false;
    case 51:
        g->grad[0] = a->apply(g->host, "sin", NULL, 9999, g->in, NULL);
        break;
    default:
        g->grad[0] = g->g[0];
        return true;
    }
    return g->grad[0] != TL_NONE;
}

/* Each ends with one error of its op, in whatever phase it was asked. */
static void test_questions(void) {
    const TlOpDef *o = OP(.in = "x", .make_node = asks_node, .perform = asks_run,
                          .grad = asks_grad, .never_fold = true);
    for (question = 0; question < 52; question++) {
        if ((question > 11 && question < 20) || (question > 35 && question < 40))
            continue;
        begin();
        CHECK(add_op(o), "%s", first_error());
        Graph *g = graph_with(
            0, NULL, "x = exp(zeros(2))\nh = f(x)\nd = grad(sum(h), x)", "h,d");
        Value v[2] = {{0}, {0}};
        Var want[2];
        bool ok = g != NULL;
        for (int i = 0; ok && i < 2; i++)
            want[i] = g->outputs.p[i].var;
        ok = ok && services(s)->eval(g, 2, want, v);
        CHECK(!ok && diag_count(s) == 1, "question %d: %zu", question, diag_count(s));
        for (int i = 0; i < 2; i++)
            value_unref(&v[i]);
        if (g) graph_free(g);
        session_free(s);
    }
}

/* ---- transfers ---- */
static TlTransferResult moves(TlTransfer *t) {
    const int64_t large[2] = {INT64_MAX, INT64_MAX}, negative[1] = {-1};
    TlTensor r;
    double x;
    bool exact;
    switch (question) {
    case 0:
        return TL_TRANSFER_DECLINED;
    case 1:
        return TL_TRANSFER_FAILED;
    case 2:
        return TL_TRANSFER_DONE;
    case 3:
        t->api->transfer_tensor(t, TL_FLOAT64, 2, large, &r);
        break;
    case 4:
        t->api->transfer_tensor(t, TL_FLOAT64, 1, negative, &r);
        break;
    case 5:
        t->api->transfer_tensor(t, (TlDType)77, 0, NULL, &r);
        break;
    case 6:
        t->api->transfer_tensor(t, TL_FLOAT64, 99, negative, &r);
        break;
    case 7:
        t->api->add_transfer(t->host, moves);
        break;
    case 8: /* one that is declined after all */
        t->api->transfer_tensor(t, TL_FLOAT64, 0, NULL, &r);
        return TL_TRANSFER_DECLINED;
    case 9: /* another than the type's: the filter says no */
        if (!t->api->transfer_tensor(t, TL_FLOAT64, 0, NULL, &r)) break;
        *(double *)r.data = 0.5;
        break;
    default: /* both ways: t to an integer, a number to t */
        if (t->api->transfer_object && t->api->type_is(t->to, type_def)) {
            double *to = t->api->transfer_object(t);
            if (!to || !t->api->to_double(t->value, &x, &exact))
                return TL_TRANSFER_FAILED;
            *to = x;
        } else {
            const double *own = t->api->object(t->value, type_def);
            if (!own || !t->api->transfer_tensor(t, TL_INT64, 0, NULL, &r))
                return TL_TRANSFER_FAILED;
            *(int64_t *)r.data = (int64_t)*own;
        }
    }
    return TL_TRANSFER_DONE;
}
static TlTransferFn *transfer_fn;
static bool init_transfer(TlHost *h, const TlApi *a) {
    return a->add_type(h, type_def) && a->add_transfer(h, transfer_fn);
}

/* t(2.0) for an int64; the error's text, or NULL. */
static const char *moved(void) {
    static const TlPlugin p = {TL_PLUGIN_ABI, "mine", "1", init_transfer};
    Value v = {0};
    const char *text = "t(2.0)";
    type_def = TYPE(.doc = "T");
    transfer_fn = moves;
    begin();
    CHECK(plugin_add(s, "./mine.so", &p), "%s", first_error());
    bool ok = value_compile(s, text_span(text), type_scalar(s, DT_INT64),
                            (Filter){.allow_downcast = -1}, "x", &v);
    if (ok) CHECK(tensor_i64(&v.t, 0) == 2);
    value_unref(&v);
    CHECK(ok == (diag_count(s) == 0) && diag_count(s) < 2);
    static char said_[256];
    snprintf(said_, sizeof said_, "%s", first_error());
    session_free(s);
    return ok ? NULL : said_;
}

static void test_transfers(void) {
    static const char *const want[] = {
        "x: expected int64", "a transfer failed and did not say why",
        "made no value",     "beyond what can be addressed",
        "there is no array", "there is no array",
        "there is no array", "by init only",
        "x: expected int64", "x: expected int64, got a float64 scalar"};
    for (question = 0; question < 10; question++) {
        const char *got = moved();
        CHECK(got && strstr(got, want[question]), "%d: %s", question, got ? got : "");
    }
    CHECK(!moved());
    begin();
    static const TlPlugin p = {TL_PLUGIN_ABI, "mine", "1", init_transfer};
    transfer_fn = NULL;
    type_def = TYPE(.doc = "T");
    CHECK(!plugin_add(s, "./mine.so", &p));
    said("transfer", "a transfer is NULL");
    session_free(s);
}

/* A filter that fails must say why, and its value is not taken. */
static void test_silent_filter(void) {
    begin();
    CHECK(add_type(TYPE(.filter = lazy_filter)), "%s", first_error());
    CHECK(!graph_with(0, NULL, "a = t(2.0)", "a"));
    CHECK(strstr(first_error(), "did not say why") != NULL, "%s", first_error());
    session_free(s);
}

/* Answers about an Apply that are out of range count as none. */
static void test_odd_answers(void) {
    begin();
    CHECK(add_op(OP(.view = any_view, .destroy = any_view)), "%s", first_error());
    Graph *g = graph_with(0, NULL, "x = exp(zeros(2))\nh = f(x) + x", "h");
    Value v = {0};
    CHECK(g && services(s)->eval(g, 1, &g->outputs.p[0].var, &v), "%s", first_error());
    value_unref(&v);
    if (g) graph_free(g);
    session_free(s);
}

int main(void) {
    test_plugins();
    test_types();
    test_later();
    test_ops();
    test_noise();
    test_questions();
    test_transfers();
    test_silent_filter();
    test_odd_answers();
    return TEST_END("plugin");
}
