/* Running: fused elementwise chains, products, reductions and movement of data, on one
 * thread, each beside a loop or a library call that does the same, or beside the bytes
 * that it has to move at the speed of memory in the same minute. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What we time runs between `text` (the graph) and a loop over `n` things of `item`
 * bytes; the yardstick's time counts `scale` times (bytes to move by bytes moved). */
typedef struct Case {
    const char *name, *text;
    void (*yard)(void *);
    const char *what;
    size_t n, item;
    double scale, goal;
    const char *numpy;
} Case;

#define GRAPH(inputs, value)                                                           \
    "thunkline: 1\ninputs: {" inputs "}\nlet: |\n  r = " value "\noutputs: [r]\n"
#define THREE(T, N) "a: '" T "[" N "]', b: '" T "[" N "]', c: '" T "[" N "]'"
#define TWO(T, N)   "a: '" T "[" N "]', b: '" T "[" N "]'"
#define CHAIN       "tanh(log(exp(a) + 2)) * sigmoid(b)"
#define TWELVE      "((a*b + c)*2 - a/(b + 3))*(c - a) + maximum(a, b)*c - b"
#define SQUARE      "a: 'float32[4096, 4096]'"
enum { SQUARE_BYTES = 4096 * 4096 * 4 };

static const Case elementwise[] = {
    {"a*b+c f32 1e3", GRAPH(THREE("float32", "1000"), "a*b + c"), yard_fma_f32,
     "C loop", 1000, 4, 1, 0, "fma_f32_1e3"},
    {"a*b+c f32 1e5", GRAPH(THREE("float32", "100000"), "a*b + c"), yard_fma_f32,
     "C loop", 100000, 4, 1, 1.25, "fma_f32_1e5"},
    {"a*b+c f32 1e7", GRAPH(THREE("float32", "10000000"), "a*b + c"), yard_fma_f32,
     "C loop", 10000000, 4, 1, 0, "fma_f32_1e7"},
    {"  the same", GRAPH(THREE("float32", "10000000"), "a*b + c"), yard_triad_f32,
     "triad, 4/3 of its bytes", 10000000, 4, 4. / 3, 1.25, NULL},
    {"a*b+c f64 1e3", GRAPH(THREE("float64", "1000"), "a*b + c"), yard_fma_f64,
     "C loop", 1000, 8, 1, 0, "fma_f64_1e3"},
    {"a*b+c f64 1e5", GRAPH(THREE("float64", "100000"), "a*b + c"), yard_fma_f64,
     "C loop", 100000, 8, 1, 1.25, "fma_f64_1e5"},
    {"a*b+c f64 1e7", GRAPH(THREE("float64", "10000000"), "a*b + c"), yard_fma_f64,
     "C loop", 10000000, 8, 1, 0, "fma_f64_1e7"},
    {"  the same", GRAPH(THREE("float64", "10000000"), "a*b + c"), yard_triad_f64,
     "triad, 4/3 of its bytes", 10000000, 8, 4. / 3, 1.25, NULL},
    {"twelve sums and products f32 1e5", GRAPH(THREE("float32", "100000"), TWELVE),
     yard_twelve_f32, "C loop", 100000, 4, 1, 1.25, NULL},
    {"tanh(log(exp(a)+2))*sigmoid(b) f32", GRAPH(TWO("float32", "100000"), CHAIN),
     yard_chain_f32, "libm loop", 100000, 4, 1, .1, "chain_f32_1e5"},
    {"  the same, 1e7", GRAPH(TWO("float32", "10000000"), CHAIN), yard_copy, "memcpy",
     40000000, 1, 1, 0, "chain_f32_1e7"},
    {"tanh(log(exp(a)+2))*sigmoid(b) f64", GRAPH(TWO("float64", "100000"), CHAIN),
     yard_chain_f64, "libm loop", 100000, 8, 1, .2, "chain_f64_1e5"},
};

/* Reductions of what is worked out for them alone. */
#define DISTANCE "sum((a - b)**2)"
static const Case reduced[] = {
    {DISTANCE " f32 1e3", GRAPH(TWO("float32", "1000"), DISTANCE), yard_distance_f32,
     "C loop", 1000, 4, 1, 0, "distance_1e3"},
    {DISTANCE " f32 1e5", GRAPH(TWO("float32", "100000"), DISTANCE), yard_distance_f32,
     "C loop", 100000, 4, 1, 1.5, "distance_1e5"},
    {DISTANCE " f32 1e7", GRAPH(TWO("float32", "10000000"), DISTANCE),
     yard_distance_f32, "C loop", 10000000, 4, 1, 1.25, "distance_1e7"},
    {"sum((a-b)**2, axis=0) 4096x1000 f32",
     GRAPH("a: 'float32[4096, 1000]', b: 'float32[4096, 1000]'",
           "sum((a - b)**2, axis=0)"),
     yard_distance_f32, "C loop", 4096 * ROW, 4, 1, 1.5, "distance_0"},
    {"sum(exp(a-b), axis=1) 4096x1000 f32",
     GRAPH("a: 'float32[4096, 1000]', b: 'float32[4096, 1]'",
           "sum(exp(a - b), axis=1)"),
     yard_exp_rows_f32, "libm loop", 4096 * ROW, 4, 1, .25, "exp_rows"},
};

static const Case moving[] = {
    {"sum axis 0, 4096^2 f32", GRAPH(SQUARE, "sum(a, axis=0)"), yard_read, "reading it",
     SQUARE_BYTES, 1, 1, 1.33, "sum_0"},
    {"sum axis 1", GRAPH(SQUARE, "sum(a, axis=1)"), yard_read, "reading it",
     SQUARE_BYTES, 1, 1, 1.33, "sum_1"},
    {"sum all", GRAPH(SQUARE, "sum(a)"), yard_read, "reading it", SQUARE_BYTES, 1, 1,
     1.33, "sum_all"},
    {"max axis 0", GRAPH(SQUARE, "max(a, axis=0)"), yard_read, "reading it",
     SQUARE_BYTES, 1, 1, 1.33, "max_0"},
    {"max axis 1", GRAPH(SQUARE, "max(a, axis=1)"), yard_read, "reading it",
     SQUARE_BYTES, 1, 1, 1.33, "max_1"},
    {"max all", GRAPH(SQUARE, "max(a)"), yard_read, "reading it", SQUARE_BYTES, 1, 1,
     1.33, "max_all"},
    {"argmax axis 0", GRAPH(SQUARE, "argmax(a, axis=0)"), yard_read, "reading it",
     SQUARE_BYTES, 1, 1, 2, "argmax_0"},
    {"argmax axis 1", GRAPH(SQUARE, "argmax(a, axis=1)"), yard_read, "reading it",
     SQUARE_BYTES, 1, 1, 2, "argmax_1"},
    {"argmax all", GRAPH(SQUARE, "argmax(a)"), yard_read, "reading it", SQUARE_BYTES, 1,
     1, 2, "argmax_all"},
    {"softmax 4096x1000 f32", GRAPH("a: 'float32[4096, 1000]'", "softmax(a, axis=1)"),
     yard_copy, "memcpy", 4096 * 1000 * 4, 1, 1, 3, "softmax"},
    {"transposed copy 4096^2 f32", GRAPH(SQUARE, "a.T"), yard_copy, "memcpy",
     SQUARE_BYTES, 1, 1, 2, "transpose"},
    {"a + a.T, 4096^2 f32", GRAPH(SQUARE, "a + a.T"), yard_copy,
     "memcpy of 3/2 the bytes", SQUARE_BYTES, 1, 1.5, 3, "add_transposed"},
    {"broadcast (4096,1) + (1,4096) f32",
     GRAPH("a: 'float32[4096, 1]', b: 'float32[1, 4096]'", "a + b"), yard_copy,
     "memcpy of half the bytes", SQUARE_BYTES, 1, .5, 2, "broadcast"},
    {"gather 1e6 f32", GRAPH("a: 'float32[1000000]', b: 'int64[1000000]'", "a[b]"),
     yard_gather_f32, "C loop", 1000000, 4, 1, 1.25, "gather"},
    {"scatter-add 1e6 f32",
     GRAPH("a: 'float32[1000000]', b: 'int64[1000000]'",
           "inc_subtensor(zeros_like(a)[b], a)"),
     yard_scatter_f32, "C loop", 1000000, 4, 1, 2, "scatter"},
};

/* Products of a matrix and a vector, which read it once: 0.9 of the speed of reading.
 */
#define TIMES(T, M, N, LENGTH, value)                                                  \
    GRAPH("a: '" T "[" M ", " N "]', v: '" T "[" LENGTH "]'", value)
enum { ROWS = 32000, COLS = 288 };
static const Case vectors[] = {
    {"a @ v, 4096^2 f32", TIMES("float32", "4096", "4096", "4096", "a @ v"), yard_read,
     "reading it", SQUARE_BYTES, 1, 1, 1.11, "gemv_square"},
    {"v @ a, 4096^2 f32", TIMES("float32", "4096", "4096", "4096", "v @ a"), yard_read,
     "reading it", SQUARE_BYTES, 1, 1, 1.11, "gevm_square"},
    {"a @ v, 32000x288 f32", TIMES("float32", "32000", "288", "288", "a @ v"),
     yard_read, "reading it", ROWS *COLS * 4, 1, 1, 1.11, "gemv_rows"},
    {"v @ a, 32000x288 f32", TIMES("float32", "32000", "288", "32000", "v @ a"),
     yard_read, "reading it", ROWS *COLS * 4, 1, 1, 1.11, "gevm_rows"},
    {"a @ v, 4096^2 f64", TIMES("float64", "4096", "4096", "4096", "a @ v"), yard_read,
     "reading it", 2 * SQUARE_BYTES, 1, 1, 1.11, NULL},
    {"v @ a, 4096^2 f64", TIMES("float64", "4096", "4096", "4096", "v @ a"), yard_read,
     "reading it", 2 * SQUARE_BYTES, 1, 1, 1.11, NULL},
    {"a @ v, 768x288 f32", TIMES("float32", "768", "288", "288", "a @ v"), yard_read,
     "reading it", 768 * COLS * 4, 1, 1, 1.11, NULL},
    {"dot(v, w) 1e6 f64", GRAPH(TWO("float64", "1000000"), "dot(a, b)"), yard_read,
     "reading both", 16000000, 1, 1, 1.25, "dot_1e6"},
};

/* Memory like that of our buffers: on huge pages when large. */
static void *memory(size_t n) {
    size_t page = n >= 1 << 22 ? 1 << 21 : 64, bytes = (n + page - 1) / page * page;
    void *p = aligned_alloc(page, bytes);
    if (!p) exit(1);
    if (page > 64) madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static Yard yard_open(const Case *k, const Graph *g) {
    bool indices = g->inputs.n > 1 && var_type(g, g->inputs.p[1])->dtype == DT_INT64;
    size_t bytes = k->n * k->item;
    Yard y = {memory(bytes), memory(indices ? 8 * k->n : bytes), memory(bytes),
              memory(bytes), k->n};
    if (indices) {
        uint64_t x = 88172645463325252u;
        for (size_t i = 0; i < k->n; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            ((int64_t *)y.b)[i] = (int64_t)(x % k->n);
        }
    }
    return y;
}

static void run_cases(const char *title, const Case *k, size_t n, const char *wanted) {
    bench_title(title);
    for (; n > 0; n--, k++) {
        if (wanted && !strstr(k->name, wanted)) continue;
        Rig r;
        double ours, yard;
        rig_open(&r, k->text, true);
        Yard y = yard_open(k, r.g);
        bench_pair((Timed){rig_run, &r}, &(Timed){k->yard, &y}, 0.3, &ours, &yard);
        bench_row(k->name, ours, k->what, yard * k->scale, k->goal, k->numpy);
        free(y.a), free(y.b), free(y.c), free(y.out);
        rig_close(&r);
    }
}

/* ---- products: a @ b or a.T @ b ---- */
typedef void GemmF32(int, int, int, int, int, int, float, const void *, int,
                     const void *, int, float, void *, int);
typedef void GemmF64(int, int, int, int, int, int, double, const void *, int,
                     const void *, int, double, void *, int);
typedef void GemvF32(int, int, int, int, float, const void *, int, const void *, int,
                     float, void *, int);
typedef void GemvF64(int, int, int, int, double, const void *, int, const void *, int,
                     double, void *, int);
typedef struct Library {
    void *handle; /* NULL: there is no OpenBLAS */
    GemmF32 *f32;
    GemmF64 *f64;
    GemvF32 *v32;
    GemvF64 *v64;
    void (*threads)(int);
} Library;
typedef struct Product {
    int m, k, n, item;
    bool turned, own; /* own: b is a itself */
    const char *numpy;
    unsigned threads; /* 0: one, by CPU time; else by the clock on the wall */
    const Library *lib;
    const void *a, *b;
    void *c;
} Product;
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

static void gemm(void *ctx) {
    Product *p = ctx;
    int t = p->turned ? TRANS : NO_TRANS, lda = p->turned ? p->m : p->k;
    if (p->threads) p->lib->threads((int)p->threads);
    if (p->item == 4)
        p->lib->f32(ROW_MAJOR, t, NO_TRANS, p->m, p->n, p->k, 1, p->a, lda, p->b, p->n,
                    0, p->c, p->n);
    else
        p->lib->f64(ROW_MAJOR, t, NO_TRANS, p->m, p->n, p->k, 1, p->a, lda, p->b, p->n,
                    0, p->c, p->n);
    if (p->threads) p->lib->threads(1);
}

static void gemv(void *ctx) {
    Product *p = ctx;
    int t = p->turned ? TRANS : NO_TRANS, rows = p->turned ? p->k : p->m,
        cols = p->turned ? p->m : p->k;
    if (p->item == 4)
        p->lib->v32(ROW_MAJOR, t, rows, cols, 1, p->a, cols, p->b, 1, 0, p->c, 1);
    else
        p->lib->v64(ROW_MAJOR, t, rows, cols, 1, p->a, cols, p->b, 1, 0, p->c, 1);
}

/* The graph's own inputs are the library's operands. */
static void product(const Library *lib, Product p) {
    char text[300], shape[64], name[64], what[64];
    const char *type = p.item == 4 ? "float32" : "float64";
    snprintf(shape, sizeof shape, "%d, %d", p.turned ? p.k : p.m, p.turned ? p.m : p.k);
    snprintf(text, sizeof text, GRAPH("a: '%s[%s]', b: '%s[%d, %d]'", "%s @ %s"), type,
             shape, type, p.k, p.n, p.turned ? "a.T" : "a", p.own ? "a" : "b");
    Rig r;
    double ours, yard = 0;
    bench_wall = p.threads > 0;
    bench_pause = p.threads ? 0.05 : 0;
    rig_open_on(&r, text, true, p.threads ? p.threads : 1);
    p.lib = lib;
    p.a = vm_input(r.m, 0)->t.data;
    p.b = vm_input(r.m, 1)->t.data;
    p.c = memory((size_t)p.m * (size_t)p.n * (size_t)p.item);
    bench_pair((Timed){rig_run, &r},
               lib->handle ? &(Timed){p.n == 1 ? gemv : gemm, &p} : NULL, 0.4, &ours,
               &yard);
    snprintf(name, sizeof name, "%dx%dx%d %s%s%s", p.m, p.k, p.n, type,
             p.own      ? " a.T @ a"
             : p.turned ? " a.T"
                        : "",
             p.threads ? ", 2 threads" : "");
    snprintf(what, sizeof what, "cblas (ours %.0f GF/s)",
             2e-9 * p.m * p.k * p.n / ours);
    bench_row(name, ours, what, yard, p.own ? .8 : p.n == 1 ? 1.1 : 1.03, p.numpy);
    bench_wall = false;
    bench_pause = 0;
    free(p.c);
    rig_close(&r);
}

static Library library_open(void) {
    static const char *const names[] = {"cblas_sgemm", "cblas_dgemm", "cblas_sgemv",
                                        "cblas_dgemv", "openblas_set_num_threads"};
    Library l = {.handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)};
    void *at[5] = {NULL};
    for (int i = 0; i < 5 && l.handle; i++)
        if (!(at[i] = dlsym(l.handle, names[i]))) l.handle = NULL;
    memcpy(&l.f32, &at[0], sizeof *at);
    memcpy(&l.f64, &at[1], sizeof *at);
    memcpy(&l.v32, &at[2], sizeof *at);
    memcpy(&l.v64, &at[3], sizeof *at);
    memcpy(&l.threads, &at[4], sizeof *at);
    return l;
}

static const Product product_cases[] = {
    {512, 512, 512, 4, .numpy = "dot_512_f32"},
    {1024, 1024, 1024, 4, .numpy = "dot_1024_f32"},
    {128, 784, 256, 4, .numpy = "dot_mlp_f32"},
    {784, 128, 256, 4, .turned = true},
    {.m = 400, .k = 784, .n = 1, .item = 4},
    {784, 400, 1, 4, .turned = true},
    {512, 512, 512, 8, .numpy = "dot_512_f64"},
    {1024, 1024, 1024, 8, .numpy = "dot_1024_f64"},
    {128, 784, 256, 8, .numpy = "dot_mlp_f64"},
    {784, 128, 256, 8, .turned = true},
    {.m = 400, .k = 784, .n = 1, .item = 8},
    {784, 400, 1, 8, .turned = true},
    {1000, 1000, 1000, 4, .turned = true, .own = true, .numpy = "gram_1000_f32"},
    {1000, 100, 1000, 8, .turned = true, .own = true, .numpy = "gram_100_f64"},
    {1024, 1024, 1024, 4, .threads = 2},
    {128, 784, 256, 4, .threads = 2},
    {1024, 1024, 1024, 8, .threads = 2},
    {128, 784, 256, 8, .threads = 2},
};

static void products(void) {
    Library lib = library_open();
    char title[64] = "matrix products";
    if (lib.handle) {
        void *find = dlsym(lib.handle, "openblas_get_corename");
        char *(*core)(void);
        memcpy(&core, &find, sizeof find);
        if (find) snprintf(title, sizeof title, "products (OpenBLAS: %s)", core());
    }
    bench_title(title);
    for (size_t i = 0; i < sizeof product_cases / sizeof *product_cases; i++)
        product(&lib, product_cases[i]);
}

/* With an argument only the rows whose names contain it. */
int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : NULL;
    tool_environment();
    run_cases("elementwise", elementwise, sizeof elementwise / sizeof *elementwise,
              wanted);
    run_cases("elementwise, then reduced", reduced, sizeof reduced / sizeof *reduced,
              wanted);
    if (!wanted || strcmp(wanted, "products") == 0) products();
    run_cases("matrices by vectors", vectors, sizeof vectors / sizeof *vectors, wanted);
    run_cases("reductions and movement", moving, sizeof moving / sizeof *moving,
              wanted);
    return 0;
}
