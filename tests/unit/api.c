/* The public interface as a program outside sees it: only its header. */
#include "api_test.h"

static const char model[] = "thunkline: 1\n"
                            "inputs:\n  x: float64[n]\n"
                            "shared:\n  w: float64 = 3.0\n"
                            "let: |\n  loss = sum((w * x) ** 2)\n"
                            "outputs: [loss]\n"
                            "updates: |\n  w = w + 1\n";

static void test_run(TlSession *s) {
    double x[3] = {1, 2, 3};
    TlArray v = vector(x, 3), grad;
    TlGraph *g = tl_graph_read_memory(s, model, sizeof model - 1);
    CHECK(g != NULL, "%s", tl_error(s));
    CHECK(tl_graph_grad(g, "loss", "x"), "%s", tl_error(s));
    TlGraph *fast = tl_graph_rewrite(g, "FAST_RUN");
    TlMachine *m = tl_machine_new(fast);
    CHECK(tl_machine_set(m, "x", &v) && tl_machine_run(m), "%s", tl_error(s));
    CHECK(scalar(m, "loss") == 126, "%g", scalar(m, "loss"));
    CHECK(tl_machine_get(m, "d_loss_d_x", &grad) && grad.shape[0] == 3 &&
          ((double *)grad.data)[2] == 54);
    CHECK(scalar(m, "w") == 4);
    CHECK(tl_machine_run(m) && scalar(m, "loss") == 224);
    tl_machine_free(m);
    tl_graph_free(fast);
    tl_graph_free(g);
}

static void test_errors(TlSession *s) {
    CHECK(!tl_graph_read_memory(s, "thunkline: 1\noutputs: [y]\n", 26));
    CHECK(tl_status(s) == 3, "%d", tl_status(s));
    CHECK(strstr(tl_error(s), "y") != NULL);
    CHECK_STR(tl_error(s), "");
    CHECK(tl_status(s) == 0);
    CHECK(!tl_graph_read(s, "/nonexistent/graph.yaml") && tl_status(s) == 4);
    CHECK(strncmp(tl_error(s), "error[E_IO]", 11) == 0);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static void test_own(TlSession *s) {
    static const char ops[] = "thunkline: 1\nops:\n  thrice:\n    doc: Three times x.\n"
                              "    inputs: x\n    def: 3 * x\n",
                      graph[] = "thunkline: 1\ninputs:\n  x: float64[n]\n  b: bool[3]\n"
                                "let: |\n  y = thrice(x)\n  z = sum(b)\n"
                                "outputs: [y, z]\n";
    char path[] = "/tmp/api.XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && close(fd) == 0);
    write_file(path, ops);
    CHECK(!tl_plugin_load(s, "/nonexistent/none.so") && tl_status(s) == 4);
    CHECK(strstr(tl_error(s), "none.so can't be found") != NULL);
    CHECK(!tl_ops_load(s, "/nonexistent/none.yaml") && tl_status(s) == 4);
    CHECK(*tl_error(s));
    CHECK(!tl_plugin_load(s, path) && tl_status(s) == 3 && *tl_error(s));
    CHECK(tl_ops_load(s, path), "%s", tl_error(s));
    CHECK(!tl_ops_load(s, path) && strstr(tl_error(s), "thrice"));
    remove(path);
    TlGraph *g = tl_graph_read_memory(s, graph, sizeof graph - 1);
    CHECK(g != NULL, "%s", tl_error(s));
    TlMachine *m = tl_machine_new(g);
    CHECK(tl_machine_set_text(m, "x", "[1, 2.5]"), "%s", tl_error(s));
    CHECK(tl_machine_set_text(m, "b", "[True, False, True]") && tl_machine_run(m));
    const char *text = tl_machine_get_text(m, "y");
    CHECK(text != NULL);
    if (text) CHECK_STR(text, "[3.0, 7.5]");
    CHECK(!tl_machine_set_text(m, "x", "[1, ") && tl_status(s) == 3 && *tl_error(s));
    CHECK(!tl_machine_set_text(m, "none", "1") && *tl_error(s));
    CHECK(!tl_machine_get_text(m, "none") && *tl_error(s));
    uint8_t bools[3] = {1, 0, 7};
    TlArray b = {
        .dtype = "bool", .ndim = 1, .shape = {3}, .stride = {1}, .data = bools};
    CHECK(!tl_machine_set(m, "b", &b));
    CHECK(strstr(tl_error(s), "element 2 is 7, and a bool is 0 or 1") != NULL);
    tl_machine_free(m);
    tl_graph_free(g);
}

/* A graph goes to a file in any format and comes back. */
static void test_write(TlSession *s) {
    char path[64], folder[] = "/tmp/api.XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    TlGraph *g = tl_graph_read_memory(s, model, sizeof model - 1);
    static const char *const form[] = {"yaml", "json", "tlg"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/g.%s", folder, form[i]);
        CHECK(tl_graph_write(g, path, i ? form[i] : NULL), "%s", tl_error(s));
        TlGraph *again = tl_graph_read(s, path);
        TlMachine *m = again ? tl_machine_new(again) : NULL;
        CHECK(m && tl_machine_set_text(m, "x", "[1, 2]") && tl_machine_run(m), "%s",
              tl_error(s));
        if (m) CHECK(scalar(m, "loss") == 45, "%g", scalar(m, "loss"));
        tl_machine_free(m);
        tl_graph_free(again);
        remove(path);
    }
    CHECK(!tl_graph_write(g, path, "xml") && tl_status(s) == 2);
    CHECK_STR(tl_error(s), "error[E_USAGE]: there is no format xml");
    CHECK(!tl_graph_write(g, "/nonexistent/g.yaml", NULL) && tl_status(s) == 4);
    tl_graph_free(g);
    rmdir(folder);
    tl_error(s);
    tl_session_free(NULL);
    tl_graph_free(NULL);
    tl_machine_free(NULL);
}

/* What can't be set or got says why, and changes nothing. */
static void test_refused(TlSession *s) {
    static const char graph[] =
        "thunkline: 1\ninputs:\n  x: float64[n]\n  k: int64[2]\n"
        "let: |\n  y = 2 * x\n  l = make_list(x, y)\n  z = k + 1\n"
        "outputs: [y, l, z]\n";
    double x[2] = {1, 2};
    TlArray a, v = vector(x, 2);
    TlGraph *g = tl_graph_read_memory(s, graph, sizeof graph - 1);
    CHECK(g != NULL, "%s", tl_error(s));
    TlMachine *m = tl_machine_new(g);
    CHECK(!tl_machine_get(m, "y", &a));
    CHECK_STR(tl_error(s), "error[E_TYPE]: y has no array");
    CHECK(!tl_machine_get_text(m, "y"));
    CHECK_STR(tl_error(s), "error[E_TYPE]: y has no value yet");
    CHECK(!tl_machine_get(m, "none", &a));
    CHECK_STR(tl_error(s),
              "error[E_UNKNOWN]: the graph has no output or shared variable none");
    CHECK(!tl_machine_set(m, "none", &v));
    CHECK_STR(tl_error(s),
              "error[E_UNKNOWN]: the graph has no input or shared variable none");
    CHECK(!tl_machine_run(m) && strstr(tl_error(s), "x"));
    v.dtype = "float65";
    CHECK(!tl_machine_set(m, "x", &v));
    CHECK_STR(tl_error(s), "error[E_DTYPE]: there is no dtype float65");
    v.dtype = "float64";
    v.ndim = -1;
    CHECK(!tl_machine_set(m, "x", &v));
    CHECK_STR(tl_error(s), "error[E_SHAPE]: an array can't have -1 dims");
    v.ndim = TL_MAX_NDIM + 1;
    CHECK(!tl_machine_set(m, "x", &v) && tl_status(s) == 6, "%d", tl_status(s));
    CHECK(strstr(tl_error(s), "dims"));
    v.ndim = 0;
    CHECK(!tl_machine_set(m, "x", &v));
    CHECK(strstr(tl_error(s), "error[E_SHAPE]: x"));
    v.ndim = 1;
    CHECK(!tl_machine_set(m, "k", &v) && strstr(tl_error(s), "float64"));
    CHECK(tl_machine_set(m, "x", &v) && tl_machine_set_text(m, "k", "[1, 2]"));
    CHECK(tl_machine_run(m), "%s", tl_error(s));
    CHECK(!tl_machine_get(m, "l", &a));
    CHECK_STR(tl_error(s), "error[E_TYPE]: l has no array");
    const char *text = tl_machine_get_text(m, "l");
    CHECK(text != NULL);
    if (text) CHECK_STR(text, "[[1.0, 2.0], [2.0, 4.0]]");
    CHECK(tl_machine_get(m, "z", &a) && ((int64_t *)a.data)[1] == 3);
    tl_machine_free(m);
    CHECK(!tl_graph_rewrite(g, "SLOWLY") && *tl_error(s));
    CHECK(!tl_graph_grad(g, "none", "x"));
    CHECK(!tl_graph_grad(g, "y", "none"));
    text = tl_error(s); /* both, a line each, with their notes */
    CHECK(strstr(text, "\n--wrt:1:1: error[") != NULL, "%s", text);
    tl_graph_free(g);
}

int main(void) {
    TlSession *s = tl_session_new();
    CHECK_STR(tl_version(), TL_VERSION);
    test_run(s);
    test_errors(s);
    test_own(s);
    test_write(s);
    test_refused(s);
    tl_session_free(s);
    return TEST_END("api");
}
