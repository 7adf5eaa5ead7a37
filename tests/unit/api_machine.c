/* Machines in the public interface: parts of a graph, dims, seeds, values that are
 * stored and saved, profiles. */
#include "api_test.h"

static const char line[] = "thunkline: 1\n"
                           "inputs:\n  x: float64[n]\n  y: float64[n]\n"
                           "shared:\n  a: float64 = 0.0\n  b: float64[2] = [0.0, 1.0]\n"
                           "  drawn: float64[2] = normal(0, 1, (2,), seed=1)\n"
                           "let: |\n  guess = a * x + b[0]\n"
                           "  loss = mean((guess - y) ** 2)\n"
                           "outputs: [loss, guess]\n"
                           "updates: |\n  a = a + 1\n";

static bool set_xy(TlMachine *m, double *x, double *y, int64_t n) {
    TlArray u = vector(x, n), v = vector(y, n);
    return tl_machine_set(m, "x", &u) && tl_machine_set(m, "y", &v);
}

static void test_session(void) {
    static const char text[] = "thunkline: 1\ninputs:\n  x: floatX\n"
                               "let: |\n  y = print(x, 'x is')\noutputs: [y]\n";
    TlSession *s = tl_session_new();
    TlSessionOptions how = {.size = sizeof how, .floatX = "float16"};
    REFUSED(s, tl_session_set(s, &how), 2,
            "floatX is one of float64|float32, not 'float16'");
    how.floatX = "float32";
    how.threads = 1;
    CHECK(tl_session_set(s, &how), "%s", tl_error(s));
    TlGraph *g = graph_of(s, text);
    TlVariable v = {.size = sizeof v};
    CHECK(tl_graph_variable(g, TL_INPUT, 0, &v));
    CHECK_STR(v.dtype, "float32");
    tl_graph_free(g);
    CHECK(tl_session_set(s, NULL)); /* the defaults */
    tl_session_free(s);
}

static void keep_line(void *ctx, const char *text) {
    snprintf(ctx, 100, "%s", text);
}

static void test_print(void) {
    TlSession *s = tl_session_new();
    char shown[100] = "";
    TlSessionOptions how = {.size = sizeof how, .print = keep_line, .ctx = shown};
    CHECK(tl_session_set(s, &how), "%s", tl_error(s));
    TlGraph *g = graph_of(s, "thunkline: 1\ninputs:\n  x: float64\n"
                             "let: |\n  y = print(x, 'x is')\noutputs: [y]\n");
    TlMachine *m = tl_machine_new(g);
    CHECK(tl_machine_set_text(m, "x", "1.5") && tl_machine_run(m), "%s", tl_error(s));
    CHECK(strstr(shown, "1.5") != NULL, "%s", shown);
    tl_machine_free(m);
    tl_graph_free(g);
    tl_session_free(s);
}

/* A session with too little memory says so instead of dying. */
static void test_memory(void) {
    TlSession *s = tl_session_new();
    TlSessionOptions how = {.size = sizeof how, .max_memory = 1 << 20};
    CHECK(tl_session_set(s, &how), "%s", tl_error(s));
    TlGraph *g = graph_of(s, "thunkline: 1\ninputs:\n  x: float64\n"
                             "shared:\n  w: float64[n] = [1.0]\n"
                             "let: |\n  y = sum(cumsum(x + zeros(300000)))\n"
                             "outputs: [y]\n");
    TlMachine *m = tl_machine_new(g);
    CHECK(tl_machine_set_text(m, "x", "1.0"), "%s", tl_error(s));
    REFUSED(s, tl_machine_run(m), 6, "error[E_MEM]");
    REFUSED(s, tl_machine_profile(m, NULL), 6, "error[E_MEM]");
    double *big = calloc(300000, sizeof *big);
    TlArray v = vector(big, 300000), got;
    REFUSED(s, tl_machine_set(m, "w", &v), 6, "error[E_MEM]");
    v = vector(big, 3);
    CHECK(tl_machine_set(m, "w", &v) && tl_machine_get(m, "w", &got) &&
              got.shape[0] == 3,
          "%s", tl_error(s));
    free(big);
    tl_machine_free(m);
    tl_graph_free(g);
    tl_session_free(s);
}

static void test_parts(TlSession *s) {
    double x[2] = {1, 2};
    TlArray v = vector(x, 2), a;
    TlGraph *g = graph_of(s, line);
    TlMachineOptions how = {.size = sizeof how, .outputs = "guess", .no_updates = true};
    TlMachine *m = tl_machine_new_with(g, &how);
    CHECK(m && tl_machine_set(m, "x", &v) && tl_machine_set_text(m, "a", "2.0"));
    CHECK(tl_machine_run(m) && tl_machine_run(m), "%s", tl_error(s)); /* without y */
    CHECK(tl_machine_get(m, "guess", &a) && ((double *)a.data)[1] == 4);
    CHECK(scalar(m, "a") == 2);
    REFUSED(s, tl_machine_get(m, "loss", &a), 2, "no output or shared variable loss");
    tl_machine_free(m);
    how.outputs = "guess, gues";
    REFUSED(s, tl_machine_new_with(g, &how), 2, "outputs:1:8: error[E_UNKNOWN]");
    how.size = 1;
    REFUSED(s, tl_machine_new_with(g, &how), 2, "TlMachineOptions");
    tl_graph_free(g);
}

static void test_null(TlSession *s) {
    TlGraph *g = graph_of(s, line);
    TlMachine *m = tl_machine_new(g);
    double x[2] = {1, 2};
    TlArray v = vector(x, 2), nothing = vector(NULL, 2), empty = vector(NULL, 0);
    REFUSED(s, tl_graph_read(s, NULL), 2, "the path is NULL");
    REFUSED(s, tl_graph_read_memory(s, NULL, 3), 2, "the data is NULL");
    REFUSED(s, tl_graph_write(g, NULL, NULL), 2, "the path is NULL");
    REFUSED(s, tl_graph_save(g, NULL), 2, "the path is NULL");
    REFUSED(s, tl_graph_load_shared(g, NULL), 2, "the path is NULL");
    REFUSED(s, tl_ops_load(s, NULL), 2, "the path is NULL");
    REFUSED(s, tl_plugin_load(s, NULL), 2, "the path is NULL");
    REFUSED(s, tl_machine_set(m, NULL, &v), 2, "the name is NULL");
    REFUSED(s, tl_machine_set(m, "x", NULL), 2, "the array is NULL");
    REFUSED(s, tl_machine_set(m, "x", &nothing), 2, "the array's data is NULL");
    REFUSED(s, tl_machine_set_text(m, NULL, "1"), 2, "the name is NULL");
    REFUSED(s, tl_machine_set_text(m, "x", NULL), 2, "the text is NULL");
    REFUSED(s, tl_machine_get(m, NULL, &v), 2, "the name is NULL");
    REFUSED(s, tl_machine_get(m, "a", NULL), 2, "the array is NULL");
    REFUSED(s, tl_machine_get_text(m, NULL), 2, "the name is NULL");
    REFUSED(s, tl_machine_set_dim(m, NULL, 1), 2, "the name is NULL");
    REFUSED(s, tl_machine_store(m, NULL), 2, "the graph is NULL");
    v.dtype = NULL;
    REFUSED(s, tl_machine_set(m, "x", &v), 2, "the array's dtype is NULL");
    v = vector(x, -2);
    REFUSED(s, tl_machine_set(m, "x", &v), 3, "an array can't have a dim of size -2");
    CHECK(tl_machine_set(m, "x", &empty) && tl_machine_set(m, "y", &empty), "%s",
          tl_error(s));
    CHECK(tl_machine_run(m), "%s", tl_error(s));
    tl_profile_free(NULL);
    tl_machine_free(m);
    tl_graph_free(g);
}

static void test_dims(TlSession *s) {
    TlGraph *g =
        graph_of(s, "thunkline: 1\ninputs:\n  x: float64[n]\n"
                    "  unused: float64[k]\n"
                    "let: |\n  y = ones(k) * 2\n  z = x + 1\noutputs: [y, z]\n");
    TlMachine *m = tl_machine_new(g);
    double x[2] = {1, 2};
    TlArray v = vector(x, 2), a;
    CHECK(tl_machine_set(m, "x", &v) && tl_machine_set_dim(m, "k", 3), "%s",
          tl_error(s));
    CHECK(tl_machine_set_text(m, "unused", "[1, 2, 3]") && tl_machine_run(m), "%s",
          tl_error(s));
    CHECK(tl_machine_get(m, "y", &a) && a.shape[0] == 3);
    CHECK(tl_machine_set_dim(m, "n", 5)); /* x says otherwise */
    REFUSED(s, tl_machine_run(m), 3, "the dim n is 5 as given and 2 by x");
    CHECK(tl_machine_set_dim(m, "n", 2) && tl_machine_run(m), "%s", tl_error(s));
    REFUSED(s, tl_machine_set_dim(m, "q", 2), 2, "the graph has no dim q");
    REFUSED(s, tl_machine_set_dim(m, "n", -2), 2, "the dim n can't have the size -2");
    tl_machine_free(m);
    tl_graph_free(g);
}

static void test_seed(TlSession *s) {
    TlGraph *g = graph_of(s, "thunkline: 1\ninputs:\n  x: float64\n  r: random\n"
                             "  q: random\n"
                             "let: |\n  r1, u = uniform(rng=r)\n"
                             "  q1, v = uniform(rng=q)\n  y = u + x\n"
                             "outputs: [y, u, v]\n");
    TlMachine *m = tl_machine_new(g);
    CHECK(tl_machine_set_text(m, "x", "0.0") && tl_machine_seed(m, 3) &&
              tl_machine_run(m),
          "%s", tl_error(s));
    double u = scalar(m, "u"), v = scalar(m, "v");
    CHECK(u != v && u > 0 && u < 1); /* streams of their own */
    CHECK(tl_machine_run(m) && scalar(m, "u") == u);
    CHECK(tl_machine_seed(m, 4) && tl_machine_run(m) && scalar(m, "u") != u);
    CHECK(tl_machine_seed(m, 3) && tl_machine_run(m) && scalar(m, "u") == u &&
          scalar(m, "v") == v);
    tl_machine_free(m);
    tl_graph_free(g);
}

/* ---- values of shared variables ---- */
static void test_store(TlSession *s) {
    double x[2] = {1, 2}, y[2] = {3, 5}, own[2] = {7, 8};
    TlArray b = vector(own, 2), got;
    TlGraph *g = graph_of(s, line), *fast = tl_graph_rewrite(g, NULL);
    TlMachine *m = tl_machine_new(fast);
    CHECK(m && set_xy(m, x, y, 2) && tl_machine_set(m, "b", &b));
    own[0] = own[1] = -1; /* the machine has a copy */
    CHECK(tl_machine_run(m) && tl_machine_run(m) && scalar(m, "a") == 2, "%s",
          tl_error(s));
    CHECK(tl_machine_store(m, g), "%s", tl_error(s));
    CHECK(tl_machine_run(m) && scalar(m, "a") == 3); /* what is stored stays */
    tl_machine_free(m);
    tl_graph_free(fast);
    m = tl_machine_new(g);
    CHECK(scalar(m, "a") == 2 && tl_machine_get(m, "b", &got) &&
          ((double *)got.data)[0] == 7 && ((double *)got.data)[1] == 8);
    CHECK(set_xy(m, x, y, 2) && tl_machine_run(m) && tl_machine_store(m, g) &&
          tl_machine_run(m) && scalar(m, "a") == 4); /* into its own graph */
    TlGraph *other = graph_of(s, "thunkline: 1\nshared:\n  a: float32 = 0.0\n"
                                 "  c: float64 = 5.0\n"
                                 "let: |\n  y = a + c\noutputs: [y]\n");
    REFUSED(s, tl_machine_store(m, other), 3, "a:");
    tl_graph_free(other);
    other = graph_of(s, "thunkline: 1\nshared:\n  a: float64 = 0.0\n"
                        "  c: float64 = 5.0\nlet: |\n  y = a + c\noutputs: [y]\n");
    CHECK(tl_machine_store(m, other), "%s", tl_error(s));
    TlMachine *n = tl_machine_new(other);
    CHECK(tl_machine_run(n) && scalar(n, "y") == 9, "%g", scalar(n, "y"));
    tl_machine_free(n);
    tl_graph_free(other);
    TlSession *foreign = tl_session_new();
    other = graph_of(foreign, line);
    REFUSED(s, tl_machine_store(m, other), 2, "of another session");
    tl_graph_free(other);
    tl_session_free(foreign);
    tl_machine_free(m);
    tl_graph_free(g);
}

static double saved(TlSession *s, const char *path, const char *name) {
    TlGraph *g = tl_graph_read(s, path);
    TlMachine *m = g ? tl_machine_new(g) : NULL;
    double v = m ? scalar(m, name) : (double)NAN;
    CHECK(m != NULL, "%s", tl_error(s));
    tl_machine_free(m);
    tl_graph_free(g);
    return v;
}

static void test_save(TlSession *s) {
    double x[2] = {1, 1}, y[2] = {7, 6};
    char folder[] = "/tmp/api.XXXXXX", path[64];
    CHECK(mkdtemp(folder) != NULL);
    TlGraph *g = graph_of(s, line);
    TlMachine *m = tl_machine_new(g);
    CHECK(tl_machine_set_text(m, "a", "6.5") && tl_machine_store(m, g), "%s",
          tl_error(s));
    static const char *const name[] = {"g.tlg", "g.yaml", "g", "g.json", "g.tlg.zst"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        CHECK(tl_graph_save(g, path), "%s", tl_error(s));
        CHECK(saved(s, path, "a") == 6.5, "%s", path);
        remove(path);
    }
    static const char *const values[] = {"w.npz", "w.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, values[i]);
        CHECK(tl_graph_save(g, path), "%s", tl_error(s));
        TlGraph *again = graph_of(s, line);
        CHECK(tl_graph_load_shared(again, path), "%s", tl_error(s));
        TlMachine *n = tl_machine_new(again);
        CHECK(scalar(n, "a") == 6.5);
        tl_machine_free(n);
        tl_graph_free(again);
        TlGraph *none = graph_of(s, "thunkline: 1\nshared:\n  q: float64 = 0.0\n"
                                    "outputs: [q]\n");
        REFUSED(s, tl_graph_load_shared(none, path), 3,
                "has no array with the name of a shared variable (q)");
        tl_graph_free(none);
        none = graph_of(s, "thunkline: 1\nshared:\n  a: float64 = 0.0\n"
                           "  q: float64 = 0.0\noutputs: [q]\n");
        CHECK(tl_graph_load_shared(none, path) && tl_status(s) == 0);
        const char *left = tl_error(s);
        CHECK(strstr(left, "warning[E_NAME]: the file has no value for q") &&
                  strstr(left, "no shared variable takes b"),
              "%s", left);
        tl_graph_free(none);
        remove(path);
    }
    /* m runs the graph, which is as it was: no nodes are gone */
    CHECK(set_xy(m, x, y, 2) && tl_machine_run(m) && scalar(m, "loss") == 0.25, "%g",
          scalar(m, "loss"));
    TlMachine *again = tl_machine_new(g);
    CHECK(set_xy(again, x, y, 2) && tl_machine_run(again) &&
              scalar(again, "loss") == 0.25,
          "%s", tl_error(s));
    tl_machine_free(again);
    REFUSED(s, tl_graph_load_shared(g, path), 4, path);
    snprintf(path, sizeof path, "%s/g.xml", folder);
    REFUSED(s, tl_graph_save(g, path), 2, "no format has the suffix .xml");
    REFUSED(s, tl_graph_save(g, "/nonexistent/g.tlg"), 4, "error[E_IO]");
    tl_machine_free(m);
    tl_graph_free(g);
    CHECK(rmdir(folder) == 0); /* nothing is left */
}

/* ---- profiles ---- */
static double total(TlSession *s, TlProfile *p, const char *name) {
    double v = -1;
    CHECK(tl_profile_total(p, name, &v), "%s", tl_error(s));
    return v;
}

static const char product[] = "thunkline: 1\n"
                              "inputs:\n  x: float64[n, 3]\n"
                              "shared:\n  w: float64[3, 4] = ones((3, 4))\n"
                              "let: |\n  y = exp(x @ w)\noutputs: [y]\n"
                              "updates: |\n  w = w * 2\n";

static void check_costs(TlSession *s, TlProfile *p, bool is_static) {
    TlCost c = {.size = sizeof c};
    double flops = 0, sum = 0, seconds = 0;
    bool matmul = false;
    for (size_t i = 0; tl_profile_cost(p, "op", i, &c); i++) {
        flops += c.flops;
        if (strcmp(c.name, "matmul") != 0) continue;
        matmul = true;
        CHECK(c.flops == 2 * 10 * 3 * 4 && c.applies == 1 && c.calls == 1, "%g",
              c.flops);
        CHECK(c.read_bytes == (30 + 12) * 8 && c.written_bytes == 320, "%g %g",
              c.read_bytes, c.written_bytes);
        CHECK(isnan(c.time_s) ? is_static : !is_static && c.time_s > 0);
    }
    CHECK(matmul);
    for (size_t i = 0; tl_profile_cost(p, "apply", i, &c); i++) {
        sum += c.flops;
        seconds += is_static ? 0 : c.time_s;
    }
    CHECK(flops == sum && flops == total(s, p, "flops"), "%g %g", flops, sum);
    CHECK(is_static || seconds == total(s, p, "steps_time_s"));
    CHECK(total(s, p, "math_calls") == 40);
    CHECK(total(s, p, "peak_bytes") >= 320);
    CHECK_STR(tl_error(s), "");
}

static void test_profile(TlSession *s) {
    double x[30] = {0};
    TlArray v = {
        .dtype = "float64", .ndim = 2, .shape = {10, 3}, .stride = {24, 8}, .data = x};
    TlGraph *g = graph_of(s, product);
    TlMachine *m = tl_machine_new(g);
    REFUSED(s, tl_machine_profile(m, NULL), 2,
            "error[E_MISSING]: the input x has no value");
    TlProfileOptions how = {.size = sizeof how, .warmup = -1, .repeat = 3};
    CHECK(tl_machine_set(m, "x", &v), "%s", tl_error(s));
    TlProfile *p = tl_machine_profile(m, &how);
    CHECK(p != NULL, "%s", tl_error(s));
    check_costs(s, p, false);
    CHECK(total(s, p, "runs") == 3 && total(s, p, "time_s") > 0);
    TlArray w; /* six updates were undone */
    CHECK(tl_machine_get(m, "w", &w) && *(double *)w.data == 1);
    CHECK(tl_machine_run(m) && tl_machine_get(m, "w", &w) && *(double *)w.data == 2);
    const char *text = tl_profile_text(p, "json");
    CHECK(text && strstr(text, "\"profile\": 1") != NULL);
    text = tl_profile_text(p, NULL);
    CHECK(text && strstr(text, "matmul") != NULL);
    CHECK((text = tl_profile_text(p, "trace")) && strstr(text, "traceEvents"));
    CHECK((text = tl_profile_text(p, "roofline")) && strstr(text, "memory: "));
    CHECK((text = tl_profile_text(p, "html")) && strstr(text, "\"peaks\":"));
    REFUSED(s, tl_profile_text(p, "xml"), 2, "format is one of text|json|");
    TlCost c = {.size = sizeof c};
    REFUSED(s, tl_profile_cost(p, "all", 0, &c), 2, "by is one of class|op|");
    REFUSED(s, tl_profile_cost(p, NULL, 0, &c), 2, "by is NULL");
    REFUSED(s, tl_profile_cost(p, "op", 0, NULL), 2, "TlCost is NULL");
    double value;
    REFUSED(s, tl_profile_total(p, "flop", &value), 2, "did you mean flops?");
    REFUSED(s, tl_profile_total(p, NULL, &value), 2, "the name is NULL");
    REFUSED(s, tl_profile_total(p, "flops", NULL), 2, "the value is NULL");
    tl_profile_free(p);
    how.repeat = -1;
    REFUSED(s, tl_machine_profile(m, &how), 2, "repeat can't be -1");
    how = (TlProfileOptions){.size = sizeof how, .warmup = -2};
    REFUSED(s, tl_machine_profile(m, &how), 2, "warmup can't be -2");
    tl_machine_free(m);
    tl_graph_free(g);
}

static void test_static_profile(TlSession *s) {
    TlProfileOptions how = {.size = sizeof how, .is_static = true};
    TlGraph *g = graph_of(s, product);
    TlMachine *m = tl_machine_new(g);
    TlProfile *p = tl_machine_profile(m, &how);
    CHECK(p && isnan(total(s, p, "flops")) && isnan(total(s, p, "time_s")));
    CHECK(strstr(tl_profile_text(p, "json"), "*n") != NULL);
    REFUSED(s, tl_profile_text(p, "trace"), 2, "a trace needs a run");
    REFUSED(s, tl_profile_text(p, "roofline"), 2, "a roofline needs a run");
    tl_profile_free(p);
    CHECK(tl_machine_set_dim(m, "n", 4) && tl_machine_set_dim(m, "n", 10));
    p = tl_machine_profile(m, &how);
    CHECK(p != NULL, "%s", tl_error(s));
    check_costs(s, p, true);
    tl_profile_free(p);
    tl_machine_free(m);
    m = tl_machine_new(g); /* an input says it, too */
    CHECK(tl_machine_set_text(m, "x", "zeros((10, 3))"), "%s", tl_error(s));
    p = tl_machine_profile(m, &how);
    check_costs(s, p, true);
    tl_profile_free(p);
    tl_machine_free(m);
    tl_graph_free(g);
}

int main(void) {
    test_session();
    test_print();
    test_memory();
    TlSession *s = tl_session_new();
    test_parts(s);
    test_null(s);
    test_dims(s);
    test_seed(s);
    test_store(s);
    test_save(s);
    test_profile(s);
    test_static_profile(s);
    tl_session_free(s);
    return TEST_END("api_machine");
}
