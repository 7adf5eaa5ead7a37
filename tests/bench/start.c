/* What a process costs: the tools beside an empty C program, one by one and in a pipe.
 * usage: start TOOLS_DIR EMPTY_PROGRAM MODEL_DIR */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Programs side by side in a pipe; each argv ends with NULL. */
typedef struct Pipe {
    char *const *argv[5];
    int n;
} Pipe;

static pid_t start(char *const *argv, int in, int out, int other) {
    posix_spawn_file_actions_t f;
    pid_t pid;
    posix_spawn_file_actions_init(&f);
    posix_spawn_file_actions_adddup2(&f, in, 0);
    posix_spawn_file_actions_adddup2(&f, out, 1);
    if (in > 2) posix_spawn_file_actions_addclose(&f, in);
    if (out > 2) posix_spawn_file_actions_addclose(&f, out);
    if (other > 2) posix_spawn_file_actions_addclose(&f, other);
    if (posix_spawn(&pid, argv[0], &f, NULL, argv, environ) != 0) {
        perror(argv[0]);
        exit(1);
    }
    posix_spawn_file_actions_destroy(&f);
    return pid;
}

static void run_pipe(void *ctx) {
    const Pipe *p = ctx;
    pid_t pid[5];
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < p->n; i++) {
        int end[2] = {-1, -1};
        if (i + 1 < p->n) {
            if (pipe2(end, O_CLOEXEC) != 0) exit(1);
        } else {
            end[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        }
        pid[i] = start(p->argv[i], in, end[1], end[0]);
        close(in);
        close(end[1]);
        in = end[0];
    }
    for (int i = 0; i < p->n; i++) {
        int status;
        waitpid(pid[i], &status, 0);
        if (status != 0) {
            fprintf(stderr, "%s failed\n", p->argv[i][0]);
            exit(1);
        }
    }
}

static void versions(char (*tool)[512], int n, Pipe *empty) {
    static const char *const names[] = {"gload", "ggrad", "grewrite", "grun", "gprof"};
    for (int i = 0; i < n; i++) {
        char *argv[] = {tool[i], (char[]){"--version"}, NULL};
        Pipe p = {{argv}, 1};
        double a, b;
        char name[64];
        bench_pair((Timed){run_pipe, &p}, &(Timed){run_pipe, empty}, 0.4, &a, &b);
        snprintf(name, sizeof name, "%s --version", names[i]);
        bench_row(name, a, "empty C program", b, 1.5, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    char tool[5][512];
    static const char *const names[] = {"gload", "ggrad", "grewrite", "grun", "gprof"};
    for (int i = 0; i < 5; i++)
        snprintf(tool[i], sizeof tool[i], "%s/%s", argv[1], names[i]);
    char *nothing[] = {argv[2], NULL}, *blas[] = {argv[2], (char[]){"blas"}, NULL};
    Pipe one = {{nothing}, 1}, four = {{nothing, nothing, nothing, blas}, 4};
    if (chdir(argv[3]) != 0) return 1;
    tool_environment();
    bench_wall = true;
    bench_title("processes");
    versions(tool, 5, &one);

    char *load[] = {tool[0], (char[]){"model.yaml"}, NULL};
    char *grad[] = {tool[1], (char[]){"--cost=loss"}, (char[]){"--wrt=W,b"}, NULL};
    char *rewrite[] = {tool[2], NULL};
    char *run[] = {tool[3], (char[]){"x=float32(load(\"x.npy\")[:400]) / 16"},
                   (char[]){"y=@y.npy[:400]"}, NULL};
    Pipe all = {{load, grad, rewrite, run}, 4};
    double a, b;
    bench_pair((Timed){run_pipe, &all}, &(Timed){run_pipe, &four}, 1.5, &a, &b);
    bench_row("gload | ggrad | grewrite | grun", a, "4 empty, last opens BLAS", b, 3,
              NULL);
    return 0;
}
