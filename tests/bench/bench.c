/* The clock, the table and the rig of the benchmarks. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MAX = 101 };

bool bench_wall;
double bench_pause;

double bench_now(void) {
    struct timespec t;
    clock_gettime(bench_wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double timed(Timed t, int times) {
    double from = bench_now();
    for (int i = 0; i < times; i++)
        t.run(t.ctx);
    return (bench_now() - from) / times;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* Calls that fill half a millisecond: short things are not timed one by one. */
static int repeats(Timed t) {
    double once = timed(t, 1);
    once = timed(t, once < 1e-4 ? 5 : 1);
    return once > 5e-4 ? 1 : (int)(5e-4 / (once + 1e-9)) + 1;
}

/* Returns what it took by bench_now(). */
static double pause_round(void) {
    double from = bench_now();
    struct timespec rest = {.tv_nsec = (long)(bench_pause * 1e9)};
    if (bench_pause > 0) nanosleep(&rest, NULL);
    return bench_now() - from;
}

void bench_pair(Timed ours, const Timed *yard, double budget, double *t_ours,
                double *t_yard) {
    double x[ROUNDS_MAX], y[ROUNDS_MAX], until = bench_now() + budget;
    int nx = repeats(ours), ny = yard ? repeats(*yard) : 0, n = 0;
    while (n < 3 || (n < ROUNDS_MAX && bench_now() < until)) {
        if (bench_pause > 0) ours.run(ours.ctx); /* wakes what has slept */
        x[n] = timed(ours, nx);
        if (bench_pause > 0 && yard) yard->run(yard->ctx);
        y[n] = yard ? timed(*yard, ny) : 0;
        if (yard) until += pause_round();
        n++;
    }
    *t_ours = median(x, n);
    if (t_yard) *t_yard = median(y, n);
}

/* ---- the table ---- */
const char *bench_time(double seconds, char text[32]) {
    double x = seconds * 1e9;
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    int u = 0;
    for (; u < 3 && x >= 1000; u++)
        x /= 1000;
    snprintf(text, 32, "%.*f %s", x < 10 ? 2 : x < 100 ? 1 : 0, x, unit[u]);
    return text;
}

/* A line of the file that BENCH_ROWS names, for json.awk. */
static void keep(const char *name, const char *value, double ratio, double goal) {
    const char *path = getenv("BENCH_ROWS");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s\t%s\t%.6g\t%.6g\n", name, value, ratio, goal);
    fclose(f);
}

void bench_title(const char *text) {
    keep(text, "", 0, 0);
    printf("\n%-34s %11s   %-36s %6s  %-12s %s\n", text, "ours", "beside", "ratio",
           "goal", "numpy");
}

static void line(const char *name, const char *value, const char *what, double ratio,
                 double goal, const char *numpy) {
    char r[24] = "", g[32] = "";
    keep(name, value, ratio, goal);
    if (ratio > 0) snprintf(r, sizeof r, "%.2f", ratio);
    if (goal > 0) snprintf(g, sizeof g, "<= %.4g%s", goal, ratio > goal ? " MISS" : "");
    printf("%-34s %11s   %-36s %6s  %-12s %s\n", name, value, what, r, g, numpy);
    fflush(stdout);
}

void bench_figure(const char *name, const char *value, const char *what, double ratio,
                  double goal) {
    line(name, value, what, ratio, goal, "");
}

double bench_peer_time(const char *name) {
    const char *path = getenv("BENCH_NUMPY");
    FILE *f = path && name ? fopen(path, "r") : NULL;
    char have[64];
    double t, found = 0;
    while (f && fscanf(f, "%63s %lf", have, &t) == 2)
        if (strcmp(have, name) == 0) found = t;
    if (f) fclose(f);
    return found;
}

void bench_row(const char *name, double ours, const char *what, double t_yard,
               double goal, const char *numpy) {
    char a[32], b[32] = "", c[64] = "", text[96];
    double t = bench_peer_time(numpy);
    if (t_yard > 0) bench_time(t_yard, b);
    snprintf(text, sizeof text, "%-25s %10s", what, b);
    if (t > 0) snprintf(c, sizeof c, "%s (%.2fx)", bench_time(t, a), ours / t);
    line(name, bench_time(ours, a), text, t_yard > 0 ? ours / t_yard : 0, goal, c);
}

/* ---- running graphs ---- */
_Noreturn void bench_fail(Session *s, const char *what) {
    const Diag *d = diag_first_error(s);
    fprintf(stderr, "%s failed: %s\n", what, d ? d->text : "no diagnostic");
    exit(1);
}

static double element(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (double)(*x >> 11) * 0x1p-53;
}

static void put(DType d, void *to, double v, double imaginary) {
    int64_t i = (int64_t)v;
    if (d == DT_FLOAT32 || d == DT_COMPLEX64)
        memcpy(to, &(float){(float)v}, sizeof(float));
    else if (d == DT_FLOAT64 || d == DT_COMPLEX128)
        memcpy(to, &v, sizeof v);
    else
        memcpy(to, &i, dtype_size(d)); /* little-endian */
    if (d == DT_COMPLEX64) memcpy((char *)to + 4, &(float){(float)imaginary}, 4);
    if (d == DT_COMPLEX128) memcpy((char *)to + 8, &imaginary, 8);
}

/* Floats in (-1, 1), integers below the extent of the first input, as many true as
 * false; those of `p` are positive, those of `s` ascend. */
static void fill(Tensor *t, int64_t below, const char *name) {
    uint64_t x = 88172645463325252u;
    size_t n = (size_t)tensor_size(t), step = dtype_size(t->dtype);
    bool ascends = strcmp(name, "s") == 0, positive = strcmp(name, "p") == 0;
    DKind kind = dtype_kind(t->dtype);
    bool real = kind == K_FLOAT || kind == K_COMPLEX;
    double limit = kind == K_UINT && step == 1 && below > 256  ? 256
                   : kind == K_INT && step == 1 && below > 128 ? 128
                                                               : (double)below;
    for (size_t i = 0; i < n; i++) {
        double u = ascends ? ((double)i + 0.5) / (double)n : element(&x);
        double v = kind == K_BOOL ? u < 0.5 : real ? 2 * u - 1 : floor(u * limit);
        put(t->dtype, (char *)t->data + i * step, positive ? fabs(v) + 1 : v,
            kind == K_COMPLEX ? 2 * element(&x) - 1 : 0);
    }
}

const char *bench_values;

bool bench_fields(char *line, int n, char **field) {
    for (int i = 0; i < n; i++) {
        field[i] = line;
        line = strpbrk(line, i + 1 < n ? "\t" : "\n");
        if (!line) return false;
        *line++ = '\0';
    }
    return true;
}

/* The value that bench_values gives the input; false: none. */
static bool given_value(const char *name, long long *value) {
    size_t n = strlen(name);
    for (const char *at = bench_values; at && (at = strchr(at, ' ')); at++)
        if (strncmp(at + 1, name, n) == 0 && sscanf(at + 1 + n, ":%lld", value) == 1)
            return true;
    return false;
}

static void fill_inputs(Rig *r) {
    int64_t first = 1;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        const Type *type = var_type(r->g, r->g->inputs.p[i]);
        int64_t shape[MAX_NDIM];
        for (int d = 0; d < type->ndim; d++)
            shape[d] = type->dim[d];
        if (i == 0 && type->ndim) first = shape[0];
        Value v = {.kind = TYPE_TENSOR};
        if (!tensor_new(r->s, type->dtype, type->ndim, shape, &v.t))
            bench_fail(r->s, "input");
        const char *name = sym_text(r->s, var_name(r->g, r->g->inputs.p[i]));
        long long given;
        bool is_given = given_value(name, &given);
        fill(&v.t, is_given ? given : first, name);
        if (type->ndim == 0 && type->dtype == DT_INT64 && is_given)
            *(int64_t *)v.t.data = given;
        if (!vm_set_input(r->m, i, &v)) bench_fail(r->s, "input");
        value_unref(&v);
    }
}

static void prepare_graph(Rig *r, bool rewrite, unsigned threads) {
    if (!r->g) bench_fail(r->s, "reading");
    if (rewrite) {
        Graph *g = rewrite_run(r->g, &(RewriteOptions){.query.mode = "FAST_RUN"},
                               &(RewriteResult){0});
        if (!g) bench_fail(r->s, "rewriting");
        graph_free(r->g);
        r->g = g;
    }
    r->plan = plan_new(r->g, &(PlanOptions){.threads = threads});
    if (!r->plan) bench_fail(r->s, "planning");
    r->m = vm_new(r->plan);
    fill_inputs(r);
}

void rig_open_on(Rig *r, const char *text, bool rewrite, unsigned threads) {
    r->s = tools_session(NULL, NULL);
    session_options(r->s)->threads = threads;
    r->g = io_read_mem(r->s, "bench", text, strlen(text), NULL);
    prepare_graph(r, rewrite, threads);
    rig_run(r);
}

void rig_plan_file(Rig *r, const char *path, unsigned threads) {
    r->s = tools_session(NULL, NULL);
    session_options(r->s)->threads = threads;
    r->g = io_read(r->s, path, NULL);
    prepare_graph(r, true, threads);
}

void rig_open_file(Rig *r, const char *path, unsigned threads) {
    rig_plan_file(r, path, threads);
    rig_run(r);
}

void rig_open(Rig *r, const char *text, bool rewrite) {
    rig_open_on(r, text, rewrite, 1);
}

void rig_close(Rig *r) {
    vm_free(r->m);
    plan_free(r->plan);
    graph_free(r->g);
    session_free(r->s);
}

void rig_run(void *rig) {
    Rig *r = rig;
    if (!vm_run(r->m)) bench_fail(r->s, "running");
}
