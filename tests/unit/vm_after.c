/* Sums and limits that a convolution's kernel does itself: which instructions are
 * offered to kernels, and the same bits as from instructions of their own. */
#include "cli/cli.h"
#include "vm_test.h"

#include <math.h>

enum { INPUTS = 5 };
static const struct {
    const char *name, *type;
} inputs[INPUTS] = {{"x", "[2, 3, 9, 20]"},
                    {"w", "[40, 3, 3, 3]"},
                    {"b", "[40, 1, 1]"},
                    {"z", "[2, 40, 9, 20]"},
                    {"d", "[40, 1, 3, 3]"}};

/* Definitions of r, and how many instructions are offered. */
static const struct {
    const char *text;
    int offers;
} cases[] = {
    {"r = minimum(maximum(conv(x, w, padding=1) + b, 0), 6)", 1},
    {"r = conv(x, w, padding=1) + b", 1},
    {"r = b + conv(x, w, padding=1)", 1},
    {"r = maximum(conv(x, w, padding=1) + b + z, 0)", 1},
    {"q = z[0, 0, 0, 0]\n  r = minimum(conv(x, w, padding=1) + z, q)", 1},
    {"r = maximum(conv(z, d, padding=1, groups=40) + b + z, -0.0)", 1},
    {"r = maximum(conv(z, d, groups=40, strides=2) + b, 0.5)", 1},
    {"q = b[:9]\n  r = maximum(conv(x, w[:9], strides=(2, 1)) + q, -1)", 1},
    {"q = b[:37]\n  r = minimum(conv(x, w[:37, :, :1, :1]) + q, inf)", 1},
    {"r = conv(conv(x, w, padding=1) + b, w[:, :1], groups=40) + b", 2},
    {"q = b[:1]\n  r = conv(x, w[:1], padding=1) + q", 1},
    {"r = maximum(conv_transpose(x, w[:3, :, :2], strides=1) + 1, 0)", 1},
    /* kernels leave these to the instruction */
    {"r = maximum(conv(x, w, padding=1), z)", 1},
    {"q = z[0, 0, 0, 0] * nan\n  r = maximum(conv(x, w, padding=1) + b, q)", 1},
    {"q = z[0]\n  r = conv(x, w, padding=1) + q", 1},
    {"r = maximum(minimum(conv(x, w, padding=1), 1), 0)", 1},
    {"r = conv(x, w, padding=1) + z + b", 1},
    {"r = conv_transpose(x, w[:3, :, :2], strides=2) + 1", 1},
    /* and these are no such chains */
    {"r = maximum(b, conv(x, w, padding=1))", 0},
    {"r = b - conv(x, w, padding=1)", 0},
    {"c = conv(x, w, padding=1)\n  r = maximum(c + z, 0) + c", 0},
    {"r = conv(x, w, padding=1) + z[0]", 0}, /* z[0] is not computed yet */
    {"r = exp(conv(x, w, padding=1))", 0},
    {"r = conv(x, w[:1], padding=1) + z", 0},
};

static Graph *read(Session *s, const char *dtype, const char *text) {
    Str t = STR(s);
    str_puts(&t, "thunkline: 1\ninputs:\n");
    for (size_t i = 0; i < INPUTS; i++) {
        str_printf(&t, "  %s: '%s%s'\n", inputs[i].name, dtype, inputs[i].type);
    }
    str_printf(&t, "let: |\n  %s\noutputs: [r]\n", text);
    Graph *g = io_read_mem(s, "test", str_text(&t), t.n, NULL);
    str_free(&t);
    if (!g) return NULL;
    Graph *h = rewrite_run(g, &(RewriteOptions){.query.mode = "FAST_RUN"},
                           &(RewriteResult){0});
    graph_free(g);
    return h;
}

static int offers(const Plan *p) {
    int n = 0;
    for (size_t i = 0; i < plan_steps(p); i++)
        n += plan_step(p, i).after != SIZE_MAX;
    return n;
}

/* Numbers of both signs, zeros among them; floats also nan and infinities, few so that
 * they don't spread over all sums. */
static Tensor some(Session *s, DType d, const Type *type) {
    static const double special[] = {(double)NAN, (double)INFINITY, -(double)INFINITY,
                                     -0.0};
    Tensor t = random_tensor(s, d, type->ndim, type->dim);
    for (int64_t i = 0, n = tensor_size(&t); d == DT_FLOAT32 && i < n; i += 331)
        ((float *)t.data)[rnd((uint32_t)n)] = (float)special[rnd(4)];
    return t;
}

static Value run(Graph *g, const char *text, bool apart, const Value *in, int want) {
    Plan *p =
        plan_new(g, &(PlanOptions){.no_inplace = apart, .threads = rnd(2) ? 0 : 1});
    int have = offers(p);
    CHECK(have == want, "%s: %d offers, not %d", text, have, want);
    Machine *m = vm_new(p);
    for (size_t i = 0; i < INPUTS; i++)
        CHECK(vm_set_input(m, i, &in[i]));
    CHECK(vm_run(m) && vm_run(m));
    Value out;
    value_copy_view(&out, vm_output(m, 0));
    vm_free(m);
    plan_free(p);
    return out;
}

static bool is_same(const Tensor *a, const Tensor *b) {
    if (!tensor_same_shape(a, b)) return false;
    const float *x = a->data, *y = b->data;
    if (a->dtype != DT_FLOAT32) return memcmp(x, y, tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < tensor_size(a); i++)
        if ((isnan(x[i]) != 0) != (isnan(y[i]) != 0) ||
            (!isnan(x[i]) && memcmp(&x[i], &y[i], sizeof *x) != 0))
            return false;
    return true;
}

static void run_case(Session *s, size_t k, DType d) {
    const char *text = cases[k].text;
    Graph *g = read(s, dtype_name(d), text);
    CHECK(g != NULL, "%s", text);
    if (!g) return;
    Value in[INPUTS];
    for (size_t i = 0; i < INPUTS; i++)
        in[i] =
            (Value){.kind = TYPE_TENSOR, .t = some(s, d, var_type(g, g->inputs.p[i]))};
    for (int level = 0; level <= 2; level++) {
        session_options(s)->cpu_level = level;
        Value apart = run(g, text, true, in, 0),
              have = run(g, text, false, in, cases[k].offers);
        CHECK(is_same(&apart.t, &have.t), "%s, %s, level %d", text, dtype_name(d),
              level);
        value_unref(&apart);
        value_unref(&have);
    }
    for (size_t i = 0; i < INPUTS; i++)
        value_unref(&in[i]);
    graph_free(g);
}

int main(void) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = 2;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        run_case(s, k, DT_FLOAT32);
        run_case(s, k, DT_FLOAT64);
    }
    session_free(s);
    return TEST_END("vm_after");
}
