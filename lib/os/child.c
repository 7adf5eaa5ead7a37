#include "os/child.h"

#include "base/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
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

/* ---- commands ---- */

/* An unnamed file rather than a pipe, so that a command that doesn't read all of it
 * causes no error. */
static FILE *file_with(const void *p, size_t n) {
    FILE *f = tmpfile();
    if (!f) return NULL;
    if ((!n || fwrite(p, 1, n, f) == n) && fflush(f) == 0 && fseek(f, 0, SEEK_SET) == 0)
        return f;
    fclose(f);
    return NULL;
}

/* Signals that this process ignores would stay ignored. */
static bool set_command_signals(posix_spawnattr_t *how) {
    sigset_t plain;
    sigemptyset(&plain);
    sigaddset(&plain, SIGPIPE);
    sigaddset(&plain, SIGXFSZ);
    return posix_spawnattr_setsigdefault(how, &plain) == 0 &&
           posix_spawnattr_setpgroup(how, 0) == 0 &&
           posix_spawnattr_setflags(how,
                                    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF) == 0;
}

static bool spawn_shell(const Command *c, char *text, int in, pid_t *child) {
    char shell[] = "sh", option[] = "-c";
    char *const argv[] = {shell, option, text, NULL};
    posix_spawn_file_actions_t to;
    posix_spawnattr_t how;
    if (posix_spawn_file_actions_init(&to) != 0) return false;
    bool ok = (errno = posix_spawn_file_actions_adddup2(&to, in, STDIN_FILENO)) == 0;
    for (int fd = STDOUT_FILENO; ok && c->silent && fd <= STDERR_FILENO; fd++)
        ok = (errno = posix_spawn_file_actions_addopen(&to, fd, "/dev/null", O_WRONLY,
                                                       0)) == 0;
    if (ok && posix_spawnattr_init(&how) == 0) {
        ok = set_command_signals(&how) &&
             (errno = posix_spawn(child, "/bin/sh", &to, &how, argv, environ)) == 0;
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&to);
    return ok;
}

static CommandResult wait_for_command(const Command *c, pid_t child) {
    double start = clock_seconds();
    struct timespec nap = {0, 100000};
    CommandResult r = {COMMAND_EXITED, 0};
    int status;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 ||
           (ended < 0 && errno == EINTR)) {
        bool late = c->seconds > 0 && clock_seconds() - start > c->seconds;
        bool stop = c->stop && atomic_load(c->stop);
        if ((late || stop) && r.end == COMMAND_EXITED) {
            r.end = stop ? COMMAND_STOPPED : COMMAND_LATE;
            kill(-child, SIGKILL);
        }
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 3200000) nap.tv_nsec *= 2;
    }
    if (r.end != COMMAND_EXITED) return r;
    if (ended == child && WIFSIGNALED(status))
        return (CommandResult){COMMAND_DIED, WTERMSIG(status)};
    return (CommandResult){COMMAND_EXITED, ended == child ? WEXITSTATUS(status) : 127};
}

bool command_run(Session *s, const Command *c, CommandResult *r) {
    errno = 0;
    FILE *in = file_with(c->in, c->nin);
    char *text = mem_strdup(s, c->text);
    pid_t child;
    bool ok = in && spawn_shell(c, text, fileno(in), &child);
    int why = errno;
    if (ok) *r = wait_for_command(c, child);
    if (in) fclose(in);
    errno = why;
    mem_free(text);
    if (ok) return true;
    return errno == ENOMEM ? fail(s, NOWHERE, E_MEM, "out of memory to run %s", c->text)
                           : fail(s, NOWHERE, E_IO, "can't run %s", c->text);
}
