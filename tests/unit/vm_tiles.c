/* Operands that lie in memory in another order than the results: block programs turn
 * them round by tiles. Small integers as numbers make the truth exact. */
#include "cli/cli.h"
#include "vm_test.h"

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

int main(void) {
    Session *s = tools_session(NULL, NULL);
    session_options(s)->threads = 2;
    test_shapes(s);
    test_fault(s);
    test_assign(s);
    session_free(s);
    return TEST_END("vm_tiles");
}
