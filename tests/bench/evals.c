/* The evals of GradBench (examples/gradbench) as one would write them, value and
 * derivatives, beside C with derivatives by hand (yard_evals.c); where there is none,
 * beside what GradBench's C++ took on two cores of a Zen 5, which is quoted: on another
 * machine that ratio says nothing, so there is no goal.
 * usage: evals DIRECTORY_OF_GRAPHS [PART_OF_A_NAME] */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name; /* run.sh writes the graph with these sizes; x:1 is a value */
    double quoted;    /* seconds; 0: there is a yardstick */
} evals[] = {
    {"lse n=2500", 0},
    {"lse n=1280000", 0},
    {"llsq m=128 n:256", 0},
    {"llsq m=128 n:16392", 0},
    {"kmeans n=1000 k=10 d=8", 0},
    {"kmeans n=10000 k=1000 d=16", 0},
    {"gmm n=1000 d=10 k=25 triangle=45 m:0", 2.69e-3},
    {"gmm n=10000 d=20 k=50 triangle=190 m:0", 136e-3},
    {"ba n=49 m=7776 p=31843", 4.17e-3},
    {"ba n=257 m=65132 p=225911", 54.5e-3},
};

static void show(const char *dir, const char *name, double quoted) {
    char path[4096];
    double ours, theirs = quoted;
    YardEval e;
    Rig r;
    snprintf(path, sizeof path, "%s/%s.tlg", dir, name);
    if (access(path, R_OK) != 0) {
        bench_figure(name, "skipped", "no graph", 0, 0);
        return;
    }
    bool by_hand = quoted == 0 && yard_eval_open(&e, name);
    bench_values = name;
    rig_open_file(&r, path, 1);
    /* one after the other: turn by turn, the larger ones would clear each other's
     * caches, which calls of GradBench don't */
    bench_pair((Timed){rig_run, &r}, NULL, 0.5, &ours, NULL);
    if (by_hand) bench_pair((Timed){yard_eval, &e}, NULL, 0.5, &theirs, NULL);
    bench_row(name, ours, by_hand ? "C by hand" : "C++ elsewhere (quoted)", theirs,
              by_hand ? 1 : 0, NULL);
    rig_close(&r);
    if (by_hand) yard_eval_close(&e);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    tool_environment();
    bench_title("evals of GradBench");
    for (size_t i = 0; i < sizeof evals / sizeof *evals; i++)
        if (argc < 3 || strstr(evals[i].name, argv[2]))
            show(argv[1], evals[i].name, evals[i].quoted);
    return 0;
}
