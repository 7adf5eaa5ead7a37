/* What a graph's size costs: chains, trees, recurrent networks written out, deep
 * perceptrons and transformers through reading, grad, rewriting and planning, and some
 * once more with the gradient of the gradient, each in a process of its own for its
 * peak memory; the exponent says how cost grows from one size to the next (1 is
 * linear).
 * usage: size DIR, with DIR/chain-1000.yaml and so on, made by gen */
#include "ad/ad.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOAD, GRAD, REWRITE, PLAN, SECOND, REWRITE2, PHASES };
typedef struct Cost {
    double t[PHASES];
    double nodes[PHASES]; /* what the phase worked on, or made */
    double rewriting;     /* bytes at the peak until the graph was rewritten */
    double memory;        /* and until it was planned */
} Cost;

static double peak_memory(void) {
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (double)use.ru_maxrss * 1024 : 0;
}

static double lap(double *from) {
    double now = bench_now(), t = now - *from;
    *from = now;
    return t;
}

/* The gradient of sum(gradient ** 2). */
static bool second(Graph *g) {
    Builder b = builder(g, true);
    Var x = graph_find(g, sym(g->s, "x")),
        first = graph_output(g, sym(g->s, "d_loss_d_x")), grad;
    Var cost =
        first == VAR_NONE ? first : op_call1(&b, "sum", op_call1(&b, "square", first));
    if (cost == VAR_NONE ||
        !ad_grad(&b, cost, (VarList){1, &x}, &(GradOptions){0}, &grad))
        return false;
    vec_push(g->s, &g->outputs, ((Output){sym(g->s, "second"), grad}));
    return true;
}

/* Frees g. */
static Graph *rewritten(Graph *g) {
    Session *s = g->s;
    Graph *r =
        rewrite_run(g, &(RewriteOptions){.query.mode = "FAST_RUN", .takes_graph = true},
                    &(RewriteResult){0});
    if (!r) bench_fail(s, "rewriting");
    return r;
}

static void phases(const char *path, bool twice, Cost *c) {
    double from = bench_now();
    Session *s = tools_session(NULL, NULL);
    mem_expect_graphs(s); /* as the tools do */
    session_options(s)->threads = 1;
    Graph *g = io_read(s, path, NULL);
    if (!g) bench_fail(s, path);
    c->t[LOAD] = lap(&from);
    c->nodes[LOAD] = c->nodes[GRAD] = g->napply;
    Derive d = {.cost = "loss"};
    if (!graph_derive(g, &d)) bench_fail(s, "grad");
    c->t[GRAD] = lap(&from);
    if (twice) {
        c->nodes[SECOND] = g->napply;
        if (!second(g)) bench_fail(s, "the second grad");
        c->t[SECOND] = lap(&from);
        c->nodes[REWRITE2] = g->napply;
        rewritten(g);
        c->t[REWRITE2] = lap(&from);
        return;
    }
    c->nodes[REWRITE] = g->napply;
    Graph *r = rewritten(g);
    c->t[REWRITE] = lap(&from);
    c->rewriting = peak_memory();
    c->nodes[PLAN] = c->nodes[REWRITE];
    from = bench_now();
    Plan *p = plan_new(r, &(PlanOptions){.threads = 1});
    if (!p) bench_fail(s, "planning");
    c->t[PLAN] = lap(&from);
    c->memory = peak_memory();
}

/* In a child, so that peaks don't add up and memory is as new as a tool's: run(path)
 * fills n bytes at `out`. */
typedef void ChildFn(const char *path, void *out);
static void in_child(ChildFn *run, const char *path, void *out, size_t n) {
    int end[2];
    if (pipe(end) != 0) exit(1);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        run(path, out);
        _exit(write(end[1], out, n) != (ssize_t)n);
    }
    close(end[1]);
    int status;
    bool got = read(end[0], out, n) == (ssize_t)n;
    close(end[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0 || !got) exit(1);
}

static void run_once(const char *path, void *cost) {
    phases(path, false, cost);
}

static void run_twice(const char *path, void *cost) {
    phases(path, true, cost);
}

static Cost measured(const char *path, ChildFn *run) {
    Cost c = {0};
    in_child(run, path, &c, sizeof c);
    return c;
}

static void report_phase(const char *kind, long n, const char *phase, int i,
                         double goal, const Cost *c, const Cost *before) {
    char name[64], what[64], t[32], value[32];
    double grow =
        before ? log(c->t[i] / before->t[i]) / log(c->nodes[i] / before->nodes[i]) : 0;
    snprintf(name, sizeof name, "%s %ldk %s", kind, n / 1000, phase);
    snprintf(what, sizeof what, "%.2fM nodes/s, goal %s", c->nodes[i] / c->t[i] * 1e-6,
             goal > 0 ? bench_time(goal, t) : "-");
    if (before) snprintf(what + strlen(what), 24, ", exponent %.2f", grow);
    bench_figure(name, bench_time(c->t[i], value), what, goal > 0 ? c->t[i] / goal : 0,
                 goal > 0 ? 1 : 0);
}

/* Of the gradient's gradient; the same goals a node. */
static void report_second(const char *kind, long n, const Cost *c, const Cost *before) {
    report_phase(kind, n, "grad of grad", SECOND, 3e-6 * c->nodes[SECOND], c, before);
    report_phase(kind, n, "and rewrite", REWRITE2, 0, c, before);
}

/* Bytes a node with its gradient, beyond those of the next smaller graph. */
static void report_memory(const char *kind, long n, const char *what, double goal,
                          double bytes, double before, double nodes) {
    char name[64], value[32], per[64] = "";
    snprintf(name, sizeof name, "%s %ldk %s", kind, n / 1000, what);
    snprintf(value, sizeof value, "%.1f MB", bytes * 1e-6);
    double each = nodes > 0 ? (bytes - before) / nodes : 0;
    if (nodes > 0)
        snprintf(per, sizeof per, "%.0f bytes a node with its grad, goal %.0f", each,
                 goal);
    bench_figure(name, value, per, each / goal, nodes > 0 ? 1 : 0);
}

/* Seconds allowed a node. */
static void report(const char *kind, long n, const Cost *c, const Cost *before) {
    static const char *const phase[] = {"load", "grad", "rewrite", "plan"};
    static const double per_node[] = {1e-6, 3e-6, 1e-6, 0};
    for (int i = 0; i <= PLAN; i++)
        report_phase(kind, n, phase[i], i, per_node[i] * c->nodes[i], c, before);
    double nodes = before ? c->nodes[REWRITE] - before->nodes[REWRITE] : 0;
    report_memory(kind, n, "peak, rewritten", 250, c->rewriting,
                  before ? before->rewriting : 0, nodes);
    report_memory(kind, n, "peak, planned", 1024, c->memory,
                  before ? before->memory : 0, nodes);
}

/* Through a file, the best of four; the goal is for both ways together. */
static void tlg_rate(Graph *g, const char *folder, const char *name) {
    Session *s = g->s;
    char path[600], what[64], value[32];
    double best = 1e9, written = 0;
    snprintf(path, sizeof path, "%s/million.tlg", folder);
    for (int i = 0; i < 4; i++) {
        double from = bench_now();
        if (!io_write(g, path, &(WriteOptions){.format = IO_TLG})) bench_fail(s, path);
        double w = lap(&from);
        Graph *back = io_read(s, path, NULL);
        if (!back) bench_fail(s, path);
        double both = w + lap(&from);
        if (both < best) best = both, written = w;
        graph_free(back);
    }
    snprintf(what, sizeof what, "written in %.0f ms; goal 60 ms", written * 1e3);
    bench_figure(name, bench_time(best, value), what, best / 60e-3, 1);
}

static void time_loading(const char *path, void *seconds) {
    double from = bench_now();
    Session *s = tools_session(NULL, NULL);
    mem_expect_graphs(s); /* as the tools do */
    if (!io_read(s, path, NULL)) bench_fail(s, path);
    *(double *)seconds = lap(&from);
}

/* The best of four processes. */
static void load_rate(const char *folder) {
    char path[600], value[32];
    double best = 1e9, t = 0;
    snprintf(path, sizeof path, "%s/million.tlg", folder);
    for (int i = 0; i < 4; i++) {
        in_child(time_loading, path, &t, sizeof t);
        if (t < best) best = t;
    }
    bench_figure("  loaded by a process of its own", bench_time(best, value),
                 "goal 60 ms", best / 60e-3, 1);
}

/* y = (((x + x) * x) + x) ...: Applies and nothing else. */
static void plain_rate(const char *folder) {
    Session *s = tools_session(NULL, NULL);
    mem_expect_graphs(s); /* as the tools do */
    Graph *g = graph_new(s);
    Builder b = builder(g, false);
    Dim d = 8;
    Var x = graph_input(g, sym(s, "x"), type_tensor(s, DT_FLOAT64, 1, &d)), v = x;
    for (int i = 0; i < 1000000 && v != VAR_NONE; i++)
        v = op_call2(&b, i % 2 ? "multiply" : "add", v, x);
    if (v == VAR_NONE) bench_fail(s, "plain graph");
    Output o = {sym(s, "y"), v};
    vec_push(s, &g->outputs, o);
    tlg_rate(g, folder, "1M nodes of tlg, there and back");
    graph_free(g);
    session_free(s);
}

static void text_rate(const char *folder) {
    char path[600], value[32], what[64];
    snprintf(path, sizeof path, "%s/chain-1000000.yaml", folder);
    Session *s = tools_session(NULL, NULL);
    mem_expect_graphs(s); /* as the tools do */
    double from = bench_now();
    Graph *g = io_read(s, path, NULL);
    if (!g) bench_fail(s, path);
    double t = lap(&from);
    snprintf(what, sizeof what, "%.2fM nodes/s", g->napply / t * 1e-6);
    bench_figure("1M nodes of YAML, read", bench_time(t, value), what, 0, 0);

    tlg_rate(g, folder, "  with 1M names, 250k constants");
    load_rate(folder);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    static const char *const kinds[] = {"chain", "tree", "rnn", "mlp", "transformer"};
    bench_title("graphs of many nodes");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        Cost before, c, before2, c2;
        for (long n = 1000; n <= 1000000; n *= 10) {
            char path[600];
            snprintf(path, sizeof path, "%s/%s-%ld.yaml", argv[1], kinds[k], n);
            c = measured(path, run_once);
            report(kinds[k], n, &c, n > 1000 ? &before : NULL);
            before = c;
            if (k > 1 || n == 1000000) continue;
            c2 = measured(path, run_twice);
            report_second(kinds[k], n, &c2, n > 1000 ? &before2 : NULL);
            before2 = c2;
        }
    }
    plain_rate(argv[1]);
    text_rate(argv[1]);
    return 0;
}
