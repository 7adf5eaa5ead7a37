/* What this machine can do at best, measured with the library's own kernels: a large
 * matrix product, and a sum of arrays that fit in the caches or don't. */
#include "base/session.h"
#include "op/build.h"
#include "tools/gprof/gprof.h"

enum {
    PRODUCT = 512,          /* rows and columns of its matrices */
    CACHED_BYTES = 1 << 18, /* of each of three arrays */
    LARGE_BYTES = 1 << 25,
    RUNS_LEAST = 3 /* the first one touches new memory */
};
static const double BUDGET = 0.06; /* seconds for each measurement */

static void fill_ones(Tensor *t) {
    int64_t n = tensor_size(t);
    for (int64_t i = 0; i < n; i++)
        if (t->dtype == DT_FLOAT32)
            ((float *)t->data)[i] = 1;
        else
            ((double *)t->data)[i] = 1;
}

/* The shortest of some runs. */
static bool shortest_run(Machine *m, double *seconds) {
    double start = clock_seconds(), last = start;
    *seconds = 1e300;
    for (int i = 0; i < RUNS_LEAST || last - start < BUDGET; i++) {
        if (!vm_run(m)) return false;
        double now = clock_seconds();
        if (now - last < *seconds) *seconds = now - last;
        last = now;
    }
    return true;
}

/* op(x, y) for two arrays of ones; t has no unknown dims. */
static bool time_op(Session *s, const char *op, const Type *t, unsigned threads,
                    double *seconds) {
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Var x = graph_input(g, sym(s, "x"), t), y = graph_input(g, sym(s, "y"), t);
    Var z = op_call2(&b, op, x, y);
    vec_push(s, &g->outputs, ((Output){sym(s, "z"), z}));
    graph_outputs_changed(g);
    Plan *p = z == VAR_NONE ? NULL : plan_new(g, &(PlanOptions){.threads = threads});
    Machine *m = p ? vm_new(p) : NULL;
    Value in[2] = {{.kind = TYPE_TENSOR}, {.kind = TYPE_TENSOR}};
    bool ok = m != NULL;
    for (size_t i = 0; i < 2 && ok; i++) {
        ok = tensor_new(s, t->dtype, t->ndim, t->dim, &in[i].t);
        if (ok) fill_ones(&in[i].t);
        ok = ok && vm_set_input(m, i, &in[i]);
    }
    ok = ok && shortest_run(m, seconds);
    vm_free(m);
    plan_free(p);
    for (size_t i = 0; i < 2; i++)
        tensor_unref(&in[i].t);
    graph_free(g);
    return ok;
}

static bool measure_bandwidth(Session *s, uint64_t bytes, unsigned threads,
                              double *out) {
    double seconds;
    Dim n = (Dim)(bytes / sizeof(double));
    const Type *vector = type_tensor(s, DT_FLOAT64, 1, &n);
    if (!time_op(s, "add", vector, threads, &seconds)) return false;
    *out = 3 * (double)bytes / seconds;
    return true;
}

static bool measure_flops(Session *s, DType dtype, unsigned threads, double *out) {
    static const Dim square[] = {PRODUCT, PRODUCT};
    const Type *matrix = type_tensor(s, dtype, 2, square);
    double seconds;
    if (!time_op(s, "matmul", matrix, threads, &seconds)) return false;
    *out = 2.0 * PRODUCT * PRODUCT * PRODUCT / seconds;
    return true;
}

bool profile_measure_peaks(Session *s, unsigned threads, Peaks *out) {
    uint64_t large = session_max_memory(s) / 8;
    if (large > LARGE_BYTES) large = LARGE_BYTES;
    return measure_bandwidth(s, large, threads, &out->memory) &&
           measure_bandwidth(s, CACHED_BYTES, threads, &out->cache) &&
           measure_flops(s, DT_FLOAT32, threads, &out->flops32) &&
           measure_flops(s, DT_FLOAT64, threads, &out->flops64);
}
