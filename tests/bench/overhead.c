/* What the VM itself costs: many tiny ops that nothing may fuse, and what a call takes
 * from memory once the first is over. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every allocation of the process is counted: these stand before the C library's. */
static size_t allocations;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void *malloc(size_t n) {
    allocations++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    allocations++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    allocations++;
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t align, size_t n) {
    allocations++;
    return __libc_memalign(align, n);
}

enum { OPS = 1000 };

static char *chain(const char *type, const char *op) {
    char *text = malloc(64 * OPS);
    if (!text) exit(1);
    size_t n =
        (size_t)sprintf(text, "thunkline: 1\ninputs: {h0: '%s'}\nlet: |\n", type);
    for (int i = 1; i <= OPS; i++)
        n += (size_t)sprintf(text + n, "  h%d = h%d %s\n", i, i - 1, op);
    sprintf(text + n, "outputs: [h%d]\n", OPS);
    return text;
}

/* As it was read: op by op, since only grewrite fuses. */
static void thunks(const char *name, const char *type, const char *op, double goal) {
    char *text = chain(type, op), value[32];
    Rig r;
    double t;
    rig_open(&r, text, false);
    bench_pair((Timed){rig_run, &r}, NULL, 0.3, &t, NULL);
    bench_figure(name, bench_time(t / OPS, value), "1000 thunks; goal 20 ns",
                 t / OPS / 20e-9, goal);
    rig_close(&r);
    free(text);
}

/* Of a training step of softmax regression: products, reductions, updates. */
static void memory(void) {
    Rig r;
    char value[64];
    rig_open(&r,
             "thunkline: 1\n"
             "inputs: {x: 'float32[400, 784]', y: 'float32[400, 10]'}\n"
             "shared: {W: 'float32[784, 10] = zeros((784, 10))'}\n"
             "let: |\n  loss = -mean(sum(log_softmax(x @ W, axis=1) * y, axis=1))\n"
             "  g = grad(loss, W)\n"
             "outputs: [loss]\nupdates: {W: W - 0.5 * g}\n",
             true);
    rig_run(&r);
    buffer_reset_peak(r.s);
    uint64_t before = buffer_bytes_used(r.s);
    size_t n = allocations;
    for (int i = 0; i < 100; i++)
        rig_run(&r);
    n = allocations - n;
    uint64_t more = buffer_bytes_peak(r.s) - before;
    snprintf(value, sizeof value, "%zu", n);
    bench_figure("allocations in 100 later calls", value, "malloc and its like",
                 (double)n + 1, 1);
    snprintf(value, sizeof value, "%llu B", (unsigned long long)more);
    bench_figure("tensor memory taken by them", value, "the session's account",
                 (double)more + 1, 1);
    double t;
    bench_pair((Timed){rig_run, &r}, NULL, 0.3, &t, NULL);
    bench_row("training step 400x784x10 f32", t, "", 0, 0, NULL);
    rig_close(&r);
}

int main(void) {
    tool_environment();
    bench_title("the VM");
    thunks("thunk, scalar", "float64", "+ 1.5", 1);
    thunks("thunk, 8 elements", "float32[8]", "* h0", 1);
    thunks("  with a scalar to stretch", "float32[8]", "* 1.5", 0);
    memory();
    return 0;
}
