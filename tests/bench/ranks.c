/* Ranks under mpirun: what sharding costs, what MPI costs, two ranks beside one and
 * beside two threads, and the exchange beside MPI_Allreduce. Skipped where there is no
 * mpirun or no tl_mpi.so.
 * usage: ranks BUILD WORK_DIR */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW = 50, CALLS = 2000, LARGE_CALLS = 100, TURNS = 3 };

static const char *build, *work;

/* Seconds that grun --time or the yardstick says. */
static double seconds_of(const char *command) {
    char line[512];
    double t = -1;
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "grun: ");
        if (at) sscanf(at, "grun: %lf s", &t);
    }
    if (!f || pclose(f) != 0 || t < 0) {
        fprintf(stderr, "failed: %s\n", command);
        exit(1);
    }
    return t;
}

/* Of one call: the difference between runs with few and with so many more. */
static double call_time(const char *before, const char *graph, const char *after,
                        int calls) {
    char few[2048], many[2048];
    double best = 1e300;
    snprintf(few, sizeof few, "%s %s/bin/grun %s %s --time --steps %d 2>&1", before,
             build, graph, after, FEW);
    snprintf(many, sizeof many, "%s %s/bin/grun %s %s --time --steps %d 2>&1", before,
             build, graph, after, FEW + calls);
    for (int i = 0; i < TURNS; i++) {
        double a = seconds_of(few), b = seconds_of(many), t = (b - a) / calls;
        if (t < best) best = t;
    }
    return best;
}

static void make_graphs(void) {
    char text[4096];
    snprintf(
        text, sizeof text,
        "cd %s && cat >mlp.yaml <<'END'\n"
        "thunkline: 1\ninputs:\n  x: float32[n, 64]\n  y: int64[n]\nshared:\n"
        "  W1: float32[64, 256] = normal(0, 0.1, (64, 256), seed=1)\n"
        "  b1: float32[256] = zeros(256)\n"
        "  W2: float32[256, 10] = normal(0, 0.1, (256, 10), seed=2)\n"
        "  b2: float32[10] = zeros(10)\nlet: |\n"
        "  z = tanh(x @ W1 + b1) @ W2 + b2\n"
        "  loss = -mean(log_softmax(z, axis=1)[arange(n), y])\noutputs: [loss]\nEND\n"
        "%s/bin/ggrad mlp.yaml --cost loss --wrt W1,b1,W2,b2 --optimizer 'sgd(0.1)' "
        "-o grad.tlg && %s/bin/grewrite grad.tlg -o plain.tlg && for s in 2 8 64; do "
        "%s/bin/grewrite grad.tlg --parallel x,y --shards $s -o shards$s.tlg; done\n"
        "%s/bin/gload --new -e 'x = float32(normal(0., 1., (512, 64), seed=3))' "
        "-e 'y = arange(512) %% 10' --outputs x,y | %s/bin/grun -r x=x.npy -r y=y.npy\n"
        "%s/bin/gload --new --shared 'w: float32[4194304] = zeros(4194304)' "
        "-e 's = sum(all_sum(w)[:2])' --outputs s -o sum.tlg\n"
        "%s/bin/gload --new --shared 'w: float32 = 1' -e 's = all_sum(w)' --outputs s "
        "-o small.tlg\n",
        work, build, build, build, build, build, build, build);
    if (system(text) != 0) exit(1);
}

static const char data[] = "x=@x.npy y=@y.npy";

static void show_sharding(void) {
    char name[80], graph[80];
    double plain = call_time("", "plain.tlg",
                             "x=@x.npy y=@y.npy "
                             "--threads 1",
                             CALLS);
    for (int n = 2; n <= 64; n = n == 2 ? 8 : n * 8) {
        snprintf(name, sizeof name, "MLP of 256, batch 512: %d shards", n);
        snprintf(graph, sizeof graph, "shards%d.tlg", n);
        double t = call_time("", graph, "x=@x.npy y=@y.npy --threads 1", CALLS);
        bench_row(name, t, "no shards", plain, 0, NULL);
    }
}

/* Of two ranks by gprof, with the speed of the link as measured. */
static double predicted(double bytes_per_s, double latency_s) {
    char command[4096], line[1 << 16];
    double t = -1;
    snprintf(command, sizeof command,
             "%s/bin/gprof shards2.tlg %s --threads 1 --ranks 2 --link %.0f,%.9fs "
             "-O json 2>&1",
             build, data, bytes_per_s, latency_s);
    FILE *f = popen(command, "r");
    while (f && t < 0 && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "\"ranks_time_s\": ");
        if (at) sscanf(at, "\"ranks_time_s\": %lf", &t);
    }
    if (!f || (pclose(f) != 0 && t < 0) || t < 0) {
        fprintf(stderr, "failed: %s\n", command);
        exit(1);
    }
    return t;
}

static void show_ranks(void) {
    char one_thread[200], mpi[200];
    snprintf(one_thread, sizeof one_thread, "%s --threads 1", data);
    snprintf(mpi, sizeof mpi, "mpirun --oversubscribe -n");
    char one[220], two[220];
    snprintf(one, sizeof one, "%s 1", mpi);
    snprintf(two, sizeof two, "%s 2", mpi);
    double alone = call_time("", "shards2.tlg", one_thread, CALLS),
           rank = call_time(one, "shards2.tlg", one_thread, CALLS),
           ranks = call_time(two, "shards2.tlg", one_thread, CALLS);
    char threads2[200];
    snprintf(threads2, sizeof threads2, "%s --threads 2", data);
    double threads = call_time("", "shards2.tlg", threads2, CALLS),
           plain2 = call_time("", "plain.tlg", threads2, CALLS);
    bench_row("one rank of mpirun", rank, "without mpirun", alone, 1.01, NULL);
    bench_row("two ranks", ranks, "one rank", rank, 1 / 1.7, NULL);
    bench_row("two ranks", ranks, "two threads", threads, 0, NULL);
    bench_row("two ranks", ranks, "two threads, no shards", plain2, 0, NULL);
    char yard[2048];
    snprintf(yard, sizeof yard, "%s 2 %s/tests/bench/yard_mpi", mpi, build);
    double ours = call_time(two, "sum.tlg", "--threads 1", LARGE_CALLS), best = 1e300;
    for (int i = 0; i < TURNS; i++) {
        double t = seconds_of(yard);
        if (t < best) best = t;
    }
    bench_row("16 MB summed over two ranks", ours, "MPI_Allreduce", best, 1.2, NULL);
    /* of 16 MB, half goes each way, then half of the sum */
    double latency = call_time(two, "small.tlg", "--threads 1", CALLS) -
                     call_time("", "small.tlg", "--threads 1", CALLS);
    bench_row("two ranks", ranks, "gprof --ranks 2",
              predicted(16777216 / ours, latency > 0 ? latency / 2 : 1e-6), 1.5, NULL);
}

int main(int argc, char **argv) {
    char yard[4096];
    if (argc < 3) return 2;
    build = argv[1];
    work = argv[2];
    bench_title("Ranks");
    snprintf(yard, sizeof yard, "%s/tests/bench/yard_mpi", build);
    if (access(yard, X_OK) != 0) {
        bench_figure("ranks", "skipped", "mpirun: not installed (make mpi)", 0, 0);
        return 0;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    make_graphs();
    if (chdir(work) != 0) return 1;
    show_sharding();
    show_ranks();
    return 0;
}
