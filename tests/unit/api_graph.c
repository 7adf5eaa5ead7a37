/* Graphs in the public interface: what they have, derivatives, rewriting, saving. */
#include "api_test.h"

static const char model[] = "thunkline: 1\n"
                            "dims: [k]\n"
                            "inputs:\n  x: float32[n, 3]\n  r: random\n"
                            "  l: list(float64[m])\n"
                            "shared:\n  w: float32[3] = [1.0, 2.0, 3.0]\n"
                            "  steps: int64 = 0\n  scale: float32 = 2.0\n"
                            "let: |\n  loss = mean((x @ w * scale) ** 2)\n"
                            "  z = zeros(k)\n"
                            "outputs: [loss, z]\n"
                            "updates: |\n  steps = steps + 1\n";

/* "name: type" of all of a kind, a line each. */
static const char *listed(const TlGraph *g, TlRole role, char text[400]) {
    TlVariable v = {.size = sizeof v};
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; tl_graph_variable(g, role, i, &v); i++)
        n += (size_t)snprintf(text + n, 400 - n, "%s: %s%s\n", v.name, v.type,
                              v.updated ? ", updated" : "");
    return text;
}

static void test_variables(TlSession *s) {
    TlGraph *g = graph_of(s, model);
    char text[400];
    CHECK_STR(listed(g, TL_INPUT, text),
              "x: float32[n, 3]\nr: random\nl: list(float64[m])\n");
    CHECK_STR(listed(g, TL_SHARED, text),
              "w: float32[3]\nsteps: int64, updated\nscale: float32\n");
    CHECK_STR(listed(g, TL_OUTPUT, text), "loss: float32\nz: float64[k]\n");
    CHECK_STR(listed(g, TL_DIM, text), "k: int64\nn: int64\nm: int64\n");
    CHECK_STR(tl_error(s), ""); /* the end of a list is no error */
    TlVariable v = {.size = sizeof v};
    CHECK(tl_graph_variable(g, TL_INPUT, 0, &v) && v.ndim == 2 && v.dim[0] == -1 &&
          v.dim[1] == 3 && !v.dim_name[1]);
    CHECK_STR(v.dtype, "float32");
    CHECK_STR(v.dim_name[0], "n");
    CHECK(tl_graph_variable(g, TL_INPUT, 1, &v) && !v.dtype && v.ndim == 0);
    CHECK(tl_graph_variable(g, TL_INPUT, 2, &v) && !v.dtype && v.ndim == 0);
    tl_graph_free(g);
}

/* Structs of older and newer programs. */
static void test_sizes(TlSession *s) {
    TlGraph *g = graph_of(s, model);
    struct {
        TlVariable v;
        int64_t more;
    } newer = {.v.size = sizeof newer, .more = 7};
    struct {
        size_t size;
        const char *name, *guard;
    } older = {offsetof(TlVariable, type), NULL, "guard"};
    CHECK(tl_graph_variable(g, TL_SHARED, 0, &newer.v) && newer.more == 0);
    CHECK(newer.v.size == sizeof newer);
    TlVariable *small = (TlVariable *)(void *)&older;
    CHECK(tl_graph_variable(g, TL_SHARED, 0, small) && older.size == 16);
    CHECK_STR(older.name, "w");
    CHECK_STR(older.guard, "guard");
    TlVariable v = {0};
    REFUSED(s, tl_graph_variable(g, TL_INPUT, 0, &v), 2,
            "the first member of TlVariable must be its size");
    REFUSED(s, tl_graph_variable(g, TL_INPUT, 0, NULL), 2, "TlVariable is NULL");
    REFUSED(s, tl_graph_variable(g, (TlRole)9, 0, &v), 2, "there is no role 9");
    struct {
        TlRewriteOptions how;
        size_t more;
    } options = {.how.size = sizeof options};
    TlGraph *made = tl_graph_rewrite_with(g, &options.how);
    CHECK(made != NULL, "%s", tl_error(s));
    tl_graph_free(made);
    options.more = 1;
    REFUSED(s, tl_graph_rewrite_with(g, &options.how), 2,
            "TlRewriteOptions has members that thunkline " TL_VERSION " does not know");
    TlGradOptions no_size = {.cost = "loss"};
    REFUSED(s, tl_graph_derive(g, &no_size), 2,
            "the first member of TlGradOptions must be its size (.size = "
            "sizeof(TlGradOptions)), not 0");
    tl_graph_free(g);
}

static void test_dims(TlSession *s) {
    TlGraph *g = graph_of(s, model);
    TlVariable v = {.size = sizeof v};
    char text[400];
    CHECK(tl_graph_set_dim(g, "n", 5) && tl_graph_set_dim(g, "k", 0), "%s",
          tl_error(s));
    CHECK(tl_graph_variable(g, TL_INPUT, 0, &v) && v.dim[0] == 5 && !v.dim_name[0]);
    CHECK(tl_graph_variable(g, TL_OUTPUT, 1, &v) && v.dim[0] == 0);
    CHECK_STR(listed(g, TL_DIM, text), "m: int64\n");
    REFUSED(s, tl_graph_set_dim(g, "n", 5), 2, "the graph has no dim n");
    REFUSED(s, tl_graph_set_dim(g, NULL, 5), 2, "the name is NULL");
    REFUSED(s, tl_graph_set_dim(g, "m", -1), 2, "the dim m can't have the size -1");
    tl_graph_free(g);
}

/* ---- derivatives ---- */
static const char cubic[] = "thunkline: 1\n"
                            "inputs:\n  x: float64[2]\n"
                            "shared:\n  a: float64 = 2.0\n  unused: float64 = 1.0\n"
                            "let: |\n  h = x ** 3\n  y = a * sum(h)\n"
                            "outputs: [y]\n";

/* A machine of g, which `how` differentiates, called with x = [1, 2] and what `more`
 * names, set to ones. */
static TlMachine *derived(TlSession *s, TlGraph *g, const TlGradOptions *how,
                          const char *more) {
    double x[2] = {1, 2}, one[2] = {1, 1};
    TlArray v = vector(x, 2), w = vector(one, 2);
    CHECK(tl_graph_derive(g, how), "%s", tl_error(s));
    TlMachine *m = tl_machine_new(g);
    CHECK(m && tl_machine_set(m, "x", &v) && (!more || tl_machine_set(m, more, &w)) &&
              tl_machine_run(m),
          "%s", tl_error(s));
    return m;
}

static void check_derived(TlSession *s, const TlGradOptions *how, const char *more,
                          const char *name, const char *value) {
    TlGraph *g = graph_of(s, cubic);
    TlMachine *m = derived(s, g, how, more);
    const char *text = tl_machine_get_text(m, name);
    CHECK(text != NULL, "%s", tl_error(s));
    if (text) CHECK_STR(text, value);
    tl_machine_free(m);
    tl_graph_free(g);
}
#define DERIVED(s, more, name, value, ...)                                             \
    check_derived(s, &(TlGradOptions){.size = sizeof(TlGradOptions), __VA_ARGS__},     \
                  more, name, value)

static void test_derive(TlSession *s) {
    DERIVED(s, NULL, "d_y_d_x", "[6.0, 24.0]", .cost = "y", .wrt = "x");
    DERIVED(s, NULL, "d_y_d_a", "9.0", .cost = NULL);
    DERIVED(s, NULL, "gx", "[6.0, 24.0]", .wrt = "x", .name = "g{wrt}");
    DERIVED(s, "t_x", "jvp_h", "[3.0, 12.0]", .jvp = "h", .wrt = "x");
    DERIVED(s, "t", "jvp_h", "[3.0, 12.0]", .jvp = "h", .wrt = "x", .tangents = "t",
            .by_pullback = true);
    DERIVED(s, "g_h", "d_h_d_x", "[3.0, 12.0]", .vjp = "h", .wrt = "x");
    DERIVED(s, "c", "d_h_d_x", "[3.0, 12.0]", .vjp = "h", .wrt = "x", .cotangent = "c");
    DERIVED(s, NULL, "jacobian_h_x", "[[3.0, 0.0], [0.0, 12.0]]", .jacobian = "h",
            .wrt = "x");
    DERIVED(s, NULL, "hessian_y_x", "[[12.0, 0.0], [0.0, 24.0]]", .hessian = "y",
            .wrt = "x");
    DERIVED(s, NULL, "hessian_y_x_a", "[3.0, 12.0]", .hessian = "y", .wrt = "x,a",
            .mixed = true);
    DERIVED(s, "v_x", "hvp_y_x", "[12.0, 24.0]", .hvp = "y", .wrt = "x");
    DERIVED(s, "dir", "hvp_y_x", "[12.0, 24.0]", .hvp = "y", .wrt = "x",
            .vector = "dir");
    DERIVED(s, NULL, "d_y_d_x", "[6.0, 24.0]", .cost = "y", .wrt = "x",
            .checkpoint = "sqrt");
    DERIVED(s, NULL, "d_y_d_x", "[6.0, 24.0]", .cost = "y", .wrt = "x",
            .checkpoint = "h", .only = true);
    DERIVED(s, NULL, "d_y_d_x", "[3.0, 24.0]", .cost = "y", .wrt = "x",
            .known_grads = "h=x");
    DERIVED(s, NULL, "d_y_d_x", "[0.0, 0.0]", .cost = "y", .wrt = "x",
            .consider_constant = "h", .disconnected = "ignore");
}

static void test_only(TlSession *s) {
    TlGraph *g = graph_of(s, cubic);
    TlVariable v = {.size = sizeof v};
    TlGradOptions how = {.size = sizeof how, .wrt = "x", .only = true};
    CHECK(tl_graph_derive(g, &how), "%s", tl_error(s));
    CHECK(tl_graph_variable(g, TL_OUTPUT, 0, &v) && strcmp(v.name, "d_y_d_x") == 0);
    CHECK(!tl_graph_variable(g, TL_OUTPUT, 1, &v));
    tl_graph_free(g);
    g = graph_of(s, cubic); /* no options: the only output, by the shared variables */
    CHECK(tl_graph_derive(g, NULL), "%s", tl_error(s));
    CHECK(tl_graph_variable(g, TL_OUTPUT, 1, &v) && strcmp(v.name, "d_y_d_a") == 0);
    tl_graph_free(g);
    g = graph_of(s, cubic);
    TlGradOptions none = {.size = sizeof none,
                          .cost = "y",
                          .wrt = "unused",
                          .disconnected = "warn",
                          .return_disconnected = "none"};
    CHECK(tl_graph_derive(g, &none) && tl_status(s) == 0);
    const char *why = tl_error(s);
    CHECK(strstr(why, "warning[E_DISCONNECTED]: ") != NULL, "%s", why);
    CHECK(!tl_graph_variable(g, TL_OUTPUT, 1, &v));
    tl_graph_free(g);
}

/* After a failure a graph may only be freed. */
static void check_underived(TlSession *s, int status, const char *text,
                            const TlGradOptions *how) {
    TlGraph *g = graph_of(s, cubic);
    REFUSED(s, tl_graph_derive(g, how), status, text);
    tl_graph_free(g);
}
#define UNDERIVED(s, status, text, ...)                                                \
    check_underived(s, status, text,                                                   \
                    &(TlGradOptions){.size = sizeof(TlGradOptions), __VA_ARGS__})

static void test_underived(TlSession *s) {
    UNDERIVED(s, 2, "--cost:1:1: error[E_UNKNOWN]: the graph has no variable or output",
              .cost = "loss");
    UNDERIVED(s, 2, "--wrt:1:4: error[E_UNKNOWN]", .cost = "y", .wrt = "x, v");
    UNDERIVED(s, 2, "--jvp and --hvp exclude each other", .jvp = "h", .hvp = "y");
    UNDERIVED(s, 2, "--tangents is for --jvp", .cost = "y", .tangents = "t");
    UNDERIVED(s, 2, "--wrt needs names", .wrt = "");
    UNDERIVED(s, 2, "--optimizer writes updates, so it excludes --only",
              .optimizer = "sgd", .only = true);
    UNDERIVED(s, 2, "disconnected is one of raise|warn|ignore, not 'never'",
              .disconnected = "never");
    UNDERIVED(s, 2, "return_disconnected is one of zero|none, not ''",
              .return_disconnected = "");
    UNDERIVED(s, 2, "null is one of raise|return, not 'rais'", .null = "rais");
    UNDERIVED(s, 3, "error[E_DISCONNECTED]", .cost = "y", .wrt = "unused");
    UNDERIVED(s, 3, "error[E_", .cost = "h");
    UNDERIVED(s, 2, "error[E_", .optimizer = "adamm(1e-3)");
}

/* ---- optimizers, rewriting ---- */
static void check_optimizer(TlSession *s, const char *optimizer) {
    TlGraph *g = graph_of(s, "thunkline: 1\nshared:\n  w: float64 = 4.0\n"
                             "let: |\n  loss = w ** 2\noutputs: [loss]\n");
    TlGradOptions how = {.size = sizeof how, .cost = "loss", .optimizer = optimizer};
    CHECK(tl_graph_derive(g, &how), "%s", tl_error(s));
    TlVariable v = {.size = sizeof v};
    CHECK(tl_graph_variable(g, TL_SHARED, 0, &v) && v.updated);
    TlMachine *m = tl_machine_new(g);
    CHECK(tl_machine_run(m) && scalar(m, "w") == 2 && scalar(m, "loss") == 16);
    CHECK(tl_machine_run(m) && scalar(m, "w") == 1 && scalar(m, "loss") == 4);
    tl_machine_free(m);
    tl_graph_free(g);
}

/* One of the library's, and one of a file. */
static void test_optimizers(TlSession *s) {
    char path[] = "/tmp/api.XXXXXX";
    int fd = mkstemp(path);
    static const char own[] = "thunkline: 1\noptimizers:\n  fall:\n"
                              "    doc: Down the gradient.\n    props: {rate: }\n"
                              "    updates: {w: w - rate * g}\n"
                              "    example: fall(0.1)\n";
    CHECK(fd >= 0 && write(fd, own, sizeof own - 1) > 0 && close(fd) == 0);
    check_optimizer(s, "sgd(0.25)");
    CHECK(tl_ops_load(s, path), "%s", tl_error(s));
    check_optimizer(s, "fall(0.25)");
    remove(path);
}

/* What the graph says in math, in a text that the caller frees. */
static char *math_of(TlSession *s, TlGraph *g) {
    char path[] = "/tmp/api.XXXXXX";
    int fd = mkstemp(path);
    char *text = calloc(1, 4000);
    CHECK(g && fd >= 0 && tl_graph_write(g, path, "math"), "%s", tl_error(s));
    CHECK(fd >= 0 && read(fd, text, 3999) == 0);
    FILE *f = fopen(path, "r"); /* the file was replaced as a whole */
    CHECK(f && fread(text, 1, 3999, f) > 0);
    if (f) fclose(f);
    close(fd);
    remove(path);
    return text;
}

static void check_rewritten(TlSession *s, const TlRewriteOptions *how, const char *has,
                            const char *lacks) {
    TlGraph *g = graph_of(s, "thunkline: 1\ninputs:\n  x: float64[n]\n"
                             "let: |\n  y = log(1 + x) * 1\noutputs: [y]\n");
    TlGraph *fast = tl_graph_rewrite_with(g, how);
    char *text = math_of(s, fast), *before = math_of(s, g);
    CHECK(strstr(text, has) != NULL, "no %s in %s", has, text);
    CHECK(!strstr(text, lacks), "there is %s in %s", lacks, text);
    CHECK(strstr(before, "log(") != NULL, "%s", before);
    free(text);
    free(before);
    tl_graph_free(fast);
    tl_graph_free(g);
}
#define REWRITTEN(s, has, lacks, ...)                                                  \
    check_rewritten(                                                                   \
        s, &(TlRewriteOptions){.size = sizeof(TlRewriteOptions), __VA_ARGS__}, has,    \
        lacks)

static const char rules[] = "/tmp/api.rules";

static void test_rewrite(TlSession *s) {
    const char *paths[] = {rules, NULL};
    FILE *f = fopen(rules, "w");
    CHECK(f && fputs("own: log(1 + x) => x * 7\n", f) >= 0 && fclose(f) == 0);
    check_rewritten(s, NULL, "log1p(", "* 1");
    REWRITTEN(s, "log1p(", "* 1", .mode = "FAST_RUN");
    REWRITTEN(s, "* 1", "log1p(", .mode = "NONE");
    REWRITTEN(s, "log1p(", "log(", .mode = "NONE", .include = "log1p, log1mexp-log1p");
    REWRITTEN(s, "log(", "log1p(", .exclude = "log1p");
    REWRITTEN(s, "7", "log", .exclude = "log1p", .rules = paths, .nrules = 1);
    TlGraph *g = graph_of(s, cubic);
    TlRewriteOptions how = {.size = sizeof how, .rules = paths, .nrules = 2};
    REFUSED(s, tl_graph_rewrite_with(g, &how), 2, "a path of rules is NULL");
    how.rules = NULL;
    REFUSED(s, tl_graph_rewrite_with(g, &how), 2, "rules is NULL");
    how = (TlRewriteOptions){.size = sizeof how, .mode = "FAST"};
    REFUSED(s, tl_graph_rewrite_with(g, &how), 2, "there is no mode FAST");
    how = (TlRewriteOptions){.size = sizeof how, .exclude = "log1q"};
    REFUSED(s, tl_graph_rewrite_with(g, &how), 2, "no tag log1q");
    remove(rules);
    how = (TlRewriteOptions){.size = sizeof how, .rules = paths, .nrules = 1};
    REFUSED(s, tl_graph_rewrite_with(g, &how), 4, rules);
    tl_graph_free(g);
}

int main(void) {
    TlSession *s = tl_session_new();
    test_variables(s);
    test_sizes(s);
    test_dims(s);
    test_derive(s);
    test_only(s);
    test_underived(s);
    test_optimizers(s);
    test_rewrite(s);
    tl_session_free(s);
    return TEST_END("api_graph");
}
