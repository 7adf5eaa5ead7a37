/* Operands that lie in memory in another order than the results, which block programs
 * turn round by tiles, or that are repeated in short rows. Small integers as numbers
 * make the truth exact. */
#include "cli/cli.h"
#include "vm_test.h"

#include <math.h>
#include <stdlib.h>

/* A tensor of the shape whose dims lie in memory in a random order. */
static Tensor turned(Session *s, DType d, int ndim, const int64_t *shape) {
    int64_t inner[MAX_NDIM];
    int order[MAX_NDIM];
    for (int k = 0; k < ndim; k++)
        order[k] = k;
    for (int k = ndim - 1; k > 0; k--) {
        int i = (int)rnd((uint32_t)k + 1), swap = order[k];
        order[k] = order[i];
        order[i] = swap;
    }
    for (int k = 0; k < ndim; k++)
        inner[k] = shape[order[k]];
    Tensor f, t, v;
    tensor_new(s, DT_FLOAT64, ndim, inner, &f);
    for (int64_t i = 0; i < tensor_size(&f); i++)
        ((double *)f.data)[i] = 1 + rnd(9);
    tensor_cast(s, &f, d, &t);
    v = t;
    for (int k = 0; k < ndim; k++) {
        v.shape[order[k]] = t.shape[k];
        v.stride[order[k]] = t.stride[k];
    }
    tensor_unref(&f);
    return v;
}

static Graph *read(Session *s, const char *type, int ndim, const int64_t *shape,
                   const char *value, bool fuse) {
    char dims[100], row[20], text[800];
    size_t n = 0;
    for (int k = 0; k < ndim; k++)
        n += (size_t)snprintf(dims + n, sizeof dims - n, "%s%d", k ? ", " : "",
                              (int)shape[k]);
    snprintf(row, sizeof row, "%d", (int)shape[ndim - 1]);
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {a: '%s[%s]', b: '%s[%s]', c: '%s[%s]', d: "
             "'%s[%d, 1]'}\nlet: |\n  r = %s\noutputs: [r]\n",
             type, dims, type, dims, type, row, type, (int)shape[ndim - 2], value);
    Graph *g = io_read_mem(s, "test", text, strlen(text), NULL);
    if (!g || !fuse) return g;
    Graph *h = rewrite_run(g, &(RewriteOptions){.query.mode = "FAST_RUN"},
                           &(RewriteResult){0});
    graph_free(g);
    return h;
}

static double truth(const Value *in, const Tensor *out, int64_t i) {
    int64_t last = out->shape[out->ndim - 1], before = out->shape[out->ndim - 2];
    return tensor_f64(&in[0].t, i) * tensor_f64(&in[1].t, i) +
           tensor_f64(&in[2].t, i % last) - tensor_f64(&in[3].t, i / last % before);
}

static void run_case(Session *s, DType d, int ndim, const int64_t *shape, bool fuse) {
    Graph *g = read(s, dtype_name(d), ndim, shape, "a*b + c - d", fuse);
    CHECK(g != NULL);
    if (!g) return;
    int64_t column[2] = {shape[ndim - 2], 1};
    Value in[4] = {{.kind = TYPE_TENSOR, .t = turned(s, d, ndim, shape)},
                   {.kind = TYPE_TENSOR, .t = turned(s, d, ndim, shape)},
                   {.kind = TYPE_TENSOR, .t = turned(s, d, 1, shape + ndim - 1)},
                   {.kind = TYPE_TENSOR, .t = turned(s, d, 2, column)}};
    for (unsigned threads = 0; threads < 2; threads++) {
        Plan *p = plan_new(g, &(PlanOptions){.threads = threads});
        Machine *m = vm_new(p);
        for (size_t i = 0; i < 4; i++)
            CHECK(vm_set_input(m, i, &in[i]));
        CHECK(vm_run(m) && vm_run(m));
        const Tensor *out = &vm_output(m, 0)->t;
        int64_t bad = 0, n = tensor_size(out);
        for (int64_t i = 0; i < n; i++)
            bad += tensor_f64(out, i) != truth(in, out, i);
        CHECK(n > 0 && bad == 0, "%lld of %lld, %d dims, %s", (long long)bad,
              (long long)n, ndim, dtype_name(d));
        vm_free(m);
        plan_free(p);
    }
    for (int i = 0; i < 4; i++)
        value_unref(&in[i]);
    graph_free(g);
}

static void test_shapes(Session *s) {
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT16, DT_INT64,
                                   DT_COMPLEX128};
    static const int64_t shapes[][4] = {{100, 130},
                                        {64, 64},
                                        {9, 700},
                                        {7, 300},
                                        {131, 49},
                                        {3, 70, 129},
                                        {70, 3, 65},
                                        {2, 3, 65, 50},
                                        {300, 2500},
                                        {17, 12, 48},
                                        /* short rows: c is read again and again */
                                        {1500, 10},
                                        {7001, 3},
                                        {40, 50, 7},
                                        {11, 47},
                                        {300, 100},
                                        {5, 3, 128},
                                        {50, 255},
                                        {9000, 33},
                                        {3, 2, 5, 9},
                                        {4, 2}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t d = 0; d < 5; d++)
            for (int fuse = 0; fuse < 2; fuse++) {
                int ndim = 4;
                while (!shapes[k][ndim - 1])
                    ndim--;
                run_case(s, dtypes[d], ndim, shapes[k], fuse);
            }
}

/* ---- rows that are repeated, in short rows: a[:, None], b and m[:, :, None] ---- */

static Graph *read_pairs(Session *s, const char *type, const int64_t *n, bool fuse) {
    char text[800];
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {a: '%s[%d, 1, %d]', b: '%s[%d, %d]', m: '%s[%d, "
             "%d, 1]'}\nlet: |\n  r = a * b - m\n  d = sum((a - b) * m, axis=2)\n"
             "  k = sum(m * (a - b), axis=0)\noutputs: [r, d, k]\n",
             type, (int)n[0], (int)n[2], type, (int)n[1], (int)n[2], type, (int)n[0],
             (int)n[1]);
    Graph *g = io_read_mem(s, "test", text, strlen(text), NULL);
    if (!g || !fuse) return g;
    Graph *h = rewrite_run(g, &(RewriteOptions){.query.mode = "FAST_RUN"},
                           &(RewriteResult){0});
    graph_free(g);
    return h;
}

typedef struct Pair { /* numbers at one index of the three dims */
    double a, b, m;
} Pair;

static Pair pair_at(const Value *in, const int64_t *n, int64_t i) {
    int64_t d = i % n[2], k = i / n[2] % n[1], row = i / n[2] / n[1];
    return (Pair){tensor_f64(&in[0].t, row * n[2] + d),
                  tensor_f64(&in[1].t, k * n[2] + d),
                  tensor_f64(&in[2].t, row * n[1] + k)};
}

static void check_pairs(const Machine *m, const Value *in, const int64_t *n,
                        const char *what) {
    int64_t all = n[0] * n[1] * n[2], bad[3] = {0};
    double *d = calloc((size_t)(n[0] * n[1]), sizeof *d),
           *k = calloc((size_t)(n[1] * n[2]), sizeof *k);
    for (int64_t i = 0; i < all; i++) {
        Pair x = pair_at(in, n, i);
        bad[0] += tensor_f64(&vm_output(m, 0)->t, i) != x.a * x.b - x.m;
        d[i / n[2]] += (x.a - x.b) * x.m;
        k[i % (n[1] * n[2])] += x.m * (x.a - x.b);
    }
    for (int64_t i = 0; i < n[0] * n[1]; i++)
        bad[1] += tensor_f64(&vm_output(m, 1)->t, i) != d[i];
    for (int64_t i = 0; i < n[1] * n[2]; i++)
        bad[2] += tensor_f64(&vm_output(m, 2)->t, i) != k[i];
    CHECK(bad[0] + bad[1] + bad[2] == 0, "%s [%lld, %lld, %lld]: %lld, %lld, %lld",
          what, (long long)n[0], (long long)n[1], (long long)n[2], (long long)bad[0],
          (long long)bad[1], (long long)bad[2]);
    free(d);
    free(k);
}

static void run_pairs(Session *s, DType d, const int64_t *n, bool fuse) {
    Graph *g = read_pairs(s, dtype_name(d), n, fuse);
    CHECK(g != NULL);
    if (!g) return;
    Value in[3] = {
        {.kind = TYPE_TENSOR, .t = turned(s, d, 3, (int64_t[]){n[0], 1, n[2]})},
        {.kind = TYPE_TENSOR, .t = turned(s, d, 2, n + 1)},
        {.kind = TYPE_TENSOR, .t = turned(s, d, 3, (int64_t[]){n[0], n[1], 1})}};
    for (unsigned threads = 0; threads < 2; threads++) {
        Plan *p = plan_new(g, &(PlanOptions){.threads = threads});
        Machine *m = vm_new(p);
        for (size_t i = 0; i < 3; i++)
            CHECK(vm_set_input(m, i, &in[i]));
        CHECK(vm_run(m) && vm_run(m));
        check_pairs(m, in, n, dtype_name(d));
        vm_free(m);
        plan_free(p);
    }
    for (int i = 0; i < 3; i++)
        value_unref(&in[i]);
    graph_free(g);
}

static void test_pairs(Session *s) {
    static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT32, DT_COMPLEX128};
    /* a row is repeated for less or more than a block; b is longer than a register may
     * repeat, or not */
    static const int64_t sizes[][3] = {{3, 1500, 5}, {5, 300, 40},  {40, 10, 8},
                                       {2, 6000, 2}, {130, 257, 3}, {33, 40, 16},
                                       {9, 31, 7},   {4, 830, 31},  {100, 2, 47}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t d = 0; d < 4; d++)
            for (int times = 0; times < 4; times++)
                run_pairs(s, dtypes[d], sizes[k], times & 1);
}

/* A zero is reported by its place in the result, wherever it lies in memory. */
static void test_fault(Session *s) {
    int64_t shape[2] = {100, 200};
    Graph *g = read(s, "int64", 2, shape, "a // b", false);
    Value in[2] = {{.kind = TYPE_TENSOR}, {.kind = TYPE_TENSOR}};
    in[0].t = turned(s, DT_INT64, 2, shape);
    Tensor t;
    tensor_new(s, DT_INT64, 2, (int64_t[]){200, 100}, &t);
    for (int64_t i = 0; i < 20000; i++)
        ((int64_t *)t.data)[i] = 1;
    ((int64_t *)t.data)[150 * 100 + 70] = 0;
    in[1].t = t;
    for (int k = 0; k < 2; k++) {
        in[1].t.shape[k] = t.shape[1 - k];
        in[1].t.stride[k] = t.stride[1 - k];
    }
    Plan *p = plan_new(g, &(PlanOptions){0});
    Machine *m = vm_new(p);
    CHECK(vm_set_input(m, 0, &in[0]) && vm_set_input(m, 1, &in[1]));
    int64_t row = 200, column[2] = {100, 1};
    Value rest[2] = {{.kind = TYPE_TENSOR, .t = turned(s, DT_INT64, 1, &row)},
                     {.kind = TYPE_TENSOR, .t = turned(s, DT_INT64, 2, column)}};
    CHECK(vm_set_input(m, 2, &rest[0]) && vm_set_input(m, 3, &rest[1]));
    CHECK(!vm_run(m));
    const Diag *d = diag_first_error(s);
    CHECK(d && strstr(d->text, "integer division by zero at [70, 150]"), "%s",
          d ? d->text : "no error");
    diag_clear(s);
    vm_free(m);
    plan_free(p);
    for (int i = 0; i < 2; i++)
        value_unref(&in[i]), value_unref(&rest[i]);
    graph_free(g);
}

/* Copies between layouts, beyond the size from which they go past the caches. */
static void test_assign(Session *s) {
    static const DType dtypes[] = {DT_INT8, DT_INT16, DT_FLOAT32, DT_FLOAT64,
                                   DT_COMPLEX128};
    static const int64_t shapes[][3] = {{0, 67, 131}, {3, 65, 70}, {0, 1200, 3600}};
    for (size_t d = 0; d < 5; d++)
        for (size_t k = 0; k < 3; k++) {
            const int64_t *shape = shapes[k][0] ? shapes[k] : shapes[k] + 1;
            int ndim = shapes[k][0] ? 3 : 2;
            for (int times = 0; times < 6; times++) {
                Tensor x = turned(s, dtypes[d], ndim, shape), y;
                tensor_clone(s, &x, &y);
                bool same = true;
                for (int64_t i = 0, n = tensor_size(&x); same && i < n;
                     i += 1 + n / 50000)
                    same = tensor_i64(&x, i) == tensor_i64(&y, i);
                CHECK(same, "%s, shape %zu", dtype_name(dtypes[d]), k);
                tensor_unref(&x);
                tensor_unref(&y);
            }
        }
}

/* Outputs that are large beside what they are made of, below and beyond the size from
 * which they go past the caches. */
static void run_outer(Session *s, const char *value, double (*want)(double, double),
                      int64_t rows) {
    int64_t columns = 128;
    char text[300];
    snprintf(text, sizeof text,
             "thunkline: 1\ninputs: {x: 'float64[n]', y: 'float64[128]'}\nlet: |\n"
             "  r = %s\noutputs: [r]\n",
             value);
    Graph *g = io_read_mem(s, "test", text, strlen(text), NULL);
    Value in[2] = {{.kind = TYPE_TENSOR, .t = turned(s, DT_FLOAT64, 1, &rows)},
                   {.kind = TYPE_TENSOR, .t = turned(s, DT_FLOAT64, 1, &columns)}};
    for (unsigned threads = 0; g && threads < 2; threads++) {
        Plan *p = plan_new(g, &(PlanOptions){.threads = threads});
        Machine *m = vm_new(p);
        for (size_t i = 0; i < 2; i++)
            CHECK(vm_set_input(m, i, &in[i]));
        CHECK(vm_run(m) && vm_run(m));
        const double *out = vm_output(m, 0)->t.data, *x = in[0].t.data,
                     *y = in[1].t.data;
        int64_t bad = 0;
        for (int64_t i = 0; i < rows * columns; i++)
            bad += out[i] != want(x[i / columns], y[i % columns]);
        CHECK(bad == 0, "%lld wrong, %s, %lld rows", (long long)bad, value,
              (long long)rows);
        vm_free(m);
        plan_free(p);
    }
    for (int i = 0; i < 2; i++)
        value_unref(&in[i]);
    graph_free(g);
}

static double minus(double x, double y) {
    return x - y;
}

static void test_outer(Session *s) {
    for (int64_t rows = 12000; rows <= 36000; rows += 12000) {
        run_outer(s, "x[:, None] - y", minus, rows);
        run_outer(s, "x[:, None] ** y", pow, rows);
        run_outer(s, "x[:, None] * (0 * y + 1) - y", minus, rows);
    }
}

int main(void) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = 2;
    test_shapes(s);
    test_pairs(s);
    test_fault(s);
    test_assign(s);
    test_outer(s);
    session_free(s);
    return TEST_END("vm_tiles");
}
