/* Whole workloads as their users write them (workloads/), on one thread: steps of
 * training beside PyTorch, a token of a language model beside the same arithmetic in C;
 * and what a first call costs besides. What is missing is skipped by name.
 * usage: workloads DIRECTORY_OF_GRAPHS [PART_OF_A_NAME] */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name, *graph; /* run.sh writes it */
    const char *values;       /* of its integers, for bench_values */
    const char *line;         /* of yard_workloads.py; NULL: beside C */
    double goal, budget;
    bool first; /* is its first call shown? */
} workloads[] = {
    {"transformer block, step", "transformer", NULL, "workload_transformer_block", 0.9,
     1, true},
    {"MLP, step", "mlp", " label:10", "workload_mlp", 0.9, 1, true},
    {"LSTM, loss and gradient", "lstm", NULL, "workload_lstm", 0.7, 1, false},
    {"Jacobi's iteration, 200 sweeps", "jacobi", NULL, "workload_jacobi", 0.5, 1,
     false},
    {"llama, a token", "llama_token", " token:1 place:100", NULL, 1, 1, true},
    {"llama, training step", "llama_step", " tokens:32000 next:32000", "workload_llama",
     1, 4, false},
};

static void show(Rig *r, size_t i) {
    double ours, yard = bench_peer_time(workloads[i].line);
    const char *what = yard > 0 ? "PyTorch" : "PyTorch: not installed";
    YardLlama *llama = workloads[i].line ? NULL : yard_llama_new();
    if (llama) what = "a C program";
    bench_pair((Timed){rig_run, r}, llama ? &(Timed){yard_llama, llama} : NULL,
               workloads[i].budget, &ours, llama ? &yard : NULL);
    free(llama);
    bench_row(workloads[i].name, ours, what, yard, workloads[i].goal, NULL);
}

/* ---- first calls ---- */
typedef struct Calls {
    double first, later;
} Calls;

/* In a process of its own, in which nothing has run yet: the first call opens what it
 * calls and touches its memory. */
static Calls calls_of(const char *path) {
    Calls c = {0};
    int end[2];
    if (pipe(end) != 0) exit(1);
    pid_t pid = fork();
    if (pid < 0) exit(1);
    if (pid == 0) {
        Rig r;
        rig_plan_file(&r, path, 1);
        for (size_t i = 0; i < r.g->shared.n; i++) /* are drawn before */
            if (!vm_shared(r.m, i)) bench_fail(r.s, "drawing weights");
        double from = bench_now();
        rig_run(&r);
        c.first = bench_now() - from;
        bench_pair((Timed){rig_run, &r}, NULL, 0.1, &c.later, NULL);
        _exit(write(end[1], &c, sizeof c) != (ssize_t)sizeof c);
    }
    int status;
    close(end[1]);
    if (read(end[0], &c, sizeof c) != (ssize_t)sizeof c) exit(1);
    close(end[0]);
    waitpid(pid, &status, 0);
    return c;
}

/* The least of a few: one process has one first call. */
static void show_first(const char *path, const char *name) {
    enum { TIMES = 7 };
    char text[64];
    Calls least = calls_of(path);
    for (int i = 1; i < TIMES; i++) {
        Calls c = calls_of(path);
        if (c.first < least.first) least.first = c.first;
        if (c.later < least.later) least.later = c.later;
    }
    snprintf(text, sizeof text, "first call, %s", name);
    bench_row(text, least.first, "3 later ones + 3 ms", 3 * least.later + 3e-3, 1,
              NULL);
}

static bool graph_path(char path[4096], const char *dir, size_t i) {
    snprintf(path, 4096, "%s/workload-%s.tlg", dir, workloads[i].graph);
    bench_values = workloads[i].values;
    if (access(path, R_OK) == 0) return true;
    bench_figure(workloads[i].name, "skipped", "no graph", 0, 0);
    return false;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    char path[4096];
    size_t n = sizeof workloads / sizeof *workloads;
    tool_environment();
    bench_title("whole workloads");
    for (size_t i = 0; i < n; i++)
        if (workloads[i].first && (argc < 3 || strstr(workloads[i].name, argv[2])) &&
            graph_path(path, argv[1], i))
            show_first(path, workloads[i].name);
    for (size_t i = 0; i < n; i++) {
        if ((argc > 2 && !strstr(workloads[i].name, argv[2])) ||
            !graph_path(path, argv[1], i))
            continue;
        Rig r;
        rig_open_file(&r, path, 1);
        show(&r, i);
        rig_close(&r);
    }
    return 0;
}
