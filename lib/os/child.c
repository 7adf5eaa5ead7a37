#include "os/child.h"

#include "base/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Handlers would tidy up what belongs to the parent. */
static void forget_parent(void) {
    static const int caught[] = {SIGINT,  SIGTERM, SIGHUP, SIGPIPE, SIGQUIT,
                                 SIGABRT, SIGBUS,  SIGFPE, SIGSEGV, SIGILL};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        signal(caught[i], SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
}

static _Noreturn void work_and_exit(void (*work)(void *ctx, Str *out), void *ctx,
                                    Session *s, int to) {
    Str out = STR(s);
    forget_parent();
    work(ctx, &out);
    for (size_t at = 0; at < out.n;) {
        ssize_t n = write(to, out.p + at, out.n - at);
        if (n < 0) _exit(1);
        at += (size_t)n;
    }
    _exit(0);
}

/* Reads to the end; false: it didn't come in time. */
static bool read_all(int from, double seconds, Str *out) {
    double end = clock_seconds() + seconds;
    char buf[4096];
    for (;;) {
        struct pollfd p = {from, POLLIN, 0};
        double left = end - clock_seconds();
        if (left <= 0) return false;
        if (poll(&p, 1, (int)(left * 1000) + 1) <= 0) continue;
        ssize_t n = read(from, buf, sizeof buf);
        if (n <= 0) return n == 0;
        str_add(out, buf, (size_t)n);
    }
}

bool child_run(void (*work)(void *ctx, Str *out), void *ctx, double seconds, Str *out) {
    int end[2], status = 0;
    size_t before = out->n;
    if (pipe(end) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        close(end[0]);
        work_and_exit(work, ctx, out->s, end[1]);
    }
    close(end[1]);
    bool ok = child > 0 && read_all(end[0], seconds, out);
    close(end[0]);
    if (child > 0) {
        if (!ok) kill(child, SIGKILL);
        pid_t ended;
        do
            ended = waitpid(child, &status, 0);
        while (ended < 0 && errno == EINTR);
        ok = ok && ended == child && status == 0;
    }
    if (!ok && out->p) out->p[out->n = before] = 0;
    return ok;
}
