/* Calls with `rows`: values beside the same function called for all rows at once, the
 * number of blocks, and the same bits for any number of threads; sizes that grow and
 * shrink, arguments that aren't contiguous, rows along any axis, no rows at all. */
#include "cli/cli.h"
#include "vm_test.h"

#include <math.h>
#include <stdlib.h>

typedef struct Case {
    const char *body;  /* of x: T[r, 16] or x: T[16, r], w: T[16, m] */
    int axis;          /* of the rows of x */
    const char *types; /* where it holds */
} Case;

static const char every[] = "float32 float64 complex64 complex128 int32 int64",
                  real[] = "float32 float64", half[] = "float16";
static const Case cases[] = {
    {"y = (x @ w) @ w.T", 0, every},
    {"y = maximum(x @ w, 0).sum(axis=1)", 0, "float32 float64 int32 int64"},
    {"y = softmax(x @ w, axis=1) @ w.T", 0, real},
    {"y = x.T @ ((x @ w) @ w.T)", 0, every}, /* a sum over the rows */
    {"y = sum((x @ w) * 2, axis=0)", 0, every},
    {"y = (w.T @ x).T.sum(axis=1)", 1, every},
    {"y = w @ (w.T @ x)", 1, every}, /* rows along axis 1 of the result */
    {"y = x @ (w @ (w.T @ x)).T", 1, every},
    {"y = sort(x @ w, axis=1)[:, :3]", 0, real},
    {"y = max(x @ w, axis=1)", 0, half},
};

/* The function as `f`; y by rows, z at once. */
static Graph *read_case(Session *s, const Case *c, const char *type) {
    char text[1000];
    const char *x = c->axis ? "16, r" : "r, 16", *n = c->axis ? "16, n" : "n, 16";
    snprintf(text, sizeof text,
             "thunkline: 1\nfunctions:\n  f:\n    inputs: {x: '%s[%s]', w: '%s[16, "
             "m]'}\n    let: |\n      %s\n    outputs: [y]\ninputs: {x: '%s[%s]', w: "
             "'%s[16, m]'}\nlet: |\n  y = call(x, w, fn=f, rows=[%d, -1])\n"
             "  z = f(x, w)\noutputs: [y, z]\n",
             type, x, type, c->body, type, n, type, c->axis);
    Graph *g = io_read_mem(s, "test", text, strlen(text), NULL);
    CHECK(g != NULL, "%s of %s", c->body, type);
    return g;
}

typedef struct Blocks {
    int64_t last;
    int calls;
} Blocks;

static bool enter(void *ctx, const Graph *g, ApplyId id, const Graph *fn,
                  int64_t step) {
    Blocks *b = ctx;
    (void)g, (void)id, (void)fn;
    b->calls++;
    if (step > b->last) b->last = step;
    return false;
}

static bool before(void *ctx, size_t step, const Call *c) {
    (void)ctx, (void)step, (void)c;
    return true;
}

/* Of reals, and of the parts of complex numbers. */
static double largest(const Tensor *t) {
    DType d = dtype_real(t->dtype);
    int64_t n = tensor_size(t) * (int64_t)(dtype_size(t->dtype) / dtype_size(d));
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = d == DT_FLOAT64   ? ((const double *)t->data)[i]
                   : d == DT_FLOAT32 ? (double)((const float *)t->data)[i]
                                     : 100;
        most = fmax(most, fabs(v));
    }
    return most;
}

/* BLAS adds up blocks of few rows otherwise than of many, each kind of CPU in its way;
 * exp makes relative errors of the absolute ones of scores, which reach 12. */
static void check_close(const Value *a, const Value *b, const char *what) {
    Approx how = APPROX_DEFAULT;
    how.rtol = 0;
    how.atol = largest(&b->t) * (dtype_real(b->t.dtype) == DT_FLOAT64 ? 5e-14 : 1e-5);
    CHECK(tensor_same_shape(&a->t, &b->t), "%s", what);
    if (dtype_is_inexact(a->t.dtype))
        CHECK(tensor_approx(&a->t, &b->t, how, NULL), "%s", what);
    else
        CHECK(same_value_bits(a, b), "%s", what);
}

/* x every other element of a larger array, which isn't contiguous */
static Tensor thinned(const Tensor *wide, int64_t rows, int axis) {
    Tensor x = *wide;
    x.shape[axis] = rows;
    x.stride[axis] *= 2;
    return x;
}

enum { BLOCK = 7 }; /* rows, but where the machine chooses */
typedef struct Size {
    int64_t rows, cols;
    bool cut; /* by a machine that chooses, if elements have 8 bytes or more */
} Size;
static const Size sizes[] = {{3, 5, false},   {40, 40, false}, {1, 90, false},
                             {0, 7, false},   {35, 16, false}, {5, 5, false},
                             {41, 40, false}, {48, 20, false}, {8, 100, false}};
static const Size large[] = {
    {4000, 40, true}, {300, 5, false}, {4001, 40, true}, {3, 100000, false}};

static void run_size(Session *s, const Case *c, const char *type, Machine *const m[2],
                     const Size *q, int64_t block) {
    DType d = dtype_find(type, strlen(type));
    int64_t n = q->rows, wide[2] = {c->axis ? 16 : 2 * n, c->axis ? 2 * n : 16},
            w[2] = {16, q->cols};
    Tensor all = random_tensor(s, d, 2, wide), wt = random_tensor(s, d, 2, w);
    Value in[2] = {{.kind = TYPE_TENSOR, .t = thinned(&all, n, c->axis)},
                   {.kind = TYPE_TENSOR, .t = wt}};
    Blocks b = {0};
    VmHooks h = {.ctx = &b, .before = before, .enter = enter};
    char what[200];
    snprintf(what, sizeof what, "%s of %s[%lld], %lld", c->body, type, (long long)n,
             (long long)q->cols);
    for (int k = 0; k < 2; k++) {
        vm_set_hooks(m[k], k ? NULL : &h);
        CHECK(vm_set_input(m[k], 0, &in[0]) && vm_set_input(m[k], 1, &in[1]) &&
                  vm_run(m[k]),
              "%s", what);
        check_close(vm_output(m[k], 0), vm_output(m[k], 1), what);
        for (int again = 0; again < 2; again++) { /* on threads from the first row on */
            Value was = {0};
            value_copy_view(&was, vm_output(m[k], 0));
            CHECK(vm_run(m[k]) && same_value_bits(&was, vm_output(m[k], 0)), "%s",
                  what);
            value_unref(&was);
        }
    }
    CHECK(same_value_bits(vm_output(m[0], 0), vm_output(m[1], 0)), "%s", what);
    if (block || dtype_size(d) >= 8)
        CHECK((b.last > 0) == (block ? n > block : q->cut), "%s: %d calls", what,
              b.calls);
    tensor_unref(&all);
    tensor_unref(&wt);
}

/* block 0: the machine chooses. */
static void try_case(Session *s, const Case *c, const char *type, int64_t block) {
    Graph *g = read_case(s, c, type);
    if (!g) return;
    Plan *one = plan_new(g, &(PlanOptions){.threads = 1, .block_rows = block}),
         *more = plan_new(g, &(PlanOptions){.block_rows = block});
    Machine *m[2] = {vm_new(one), vm_new(more)};
    for (size_t i = 0; block && i < sizeof sizes / sizeof *sizes; i++)
        run_size(s, c, type, m, &sizes[i], block);
    for (size_t i = 0; !block && i < sizeof large / sizeof *large; i++)
        run_size(s, c, type, m, &large[i], block);
    for (int k = 0; k < 2; k++)
        vm_free(m[k]);
    plan_free(one);
    plan_free(more);
    graph_free(g);
}

static void try_types(Session *s, const Case *c) {
    char types[100], *rest = types;
    snprintf(types, sizeof types, "%s", c->types);
    for (char *t; (t = strtok_r(rest, " ", &rest));)
        try_case(s, c, t, BLOCK);
}

/* Arguments whose sizes only a run shows may have different numbers of rows. */
static void other_rows(Session *s) {
    static const char text[] =
        "thunkline: 1\nfunctions:\n  f:\n    inputs: {x: 'float64[r]', y: "
        "'float64[r]'}\n    let: |\n      z = x * y\n    outputs: [z]\n"
        "inputs: {x: 'float64[?]', y: 'float64[?]'}\n"
        "let: |\n  z = call(x, y, fn=f, rows=[0, 0])\noutputs: [z]\n";
    Graph *g = io_read_mem(s, "test", text, strlen(text), NULL);
    CHECK(g != NULL);
    if (!g) return;
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    const int64_t n[2] = {200000, 100000};
    for (int k = 0; k < 2; k++) {
        Tensor t = random_tensor(s, DT_FLOAT64, 1, &n[k]);
        CHECK(vm_set_input(m, (size_t)k, &(Value){.kind = TYPE_TENSOR, .t = t}));
        tensor_unref(&t);
    }
    size_t mark = diag_count(s);
    CHECK(!vm_run(m) && diag_failed(s, mark));
    diag_rewind(s, mark);
    vm_free(m);
    plan_free(p);
    graph_free(g);
}

static void with_threads(unsigned threads) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = threads;
    uint64_t before = buffer_bytes_used(s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        try_types(s, &cases[i]);
    for (size_t i = 0; i < 4; i++) /* rows, a softmax, a sum over the rows */
        try_case(s, &cases[i], "float64", 0);
    other_rows(s);
    CHECK(buffer_bytes_used(s) == before, "%llu bytes are left",
          (unsigned long long)buffer_bytes_used(s));
    session_free(s);
}

int main(void) {
    with_threads(2);
    with_threads(8); /* more than some calls have blocks */
    return TEST_END("vm_by_rows");
}
