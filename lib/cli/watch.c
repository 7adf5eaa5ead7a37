/* A thread of its own looks after a run: it draws the progress line and ends a call
 * that lasts too long after a signal, even one that is deep in a library. */
#include "cli/watch.h"

#include "cli/ranks.h"
#include "os/file.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double DRAW = 0.1;    /* seconds between two drawings of the line */
static const double GRACE = 2;     /* for a call to end after a signal */
static const double RANKS = 0.25;  /* the same where mpirun kills a second later */
static const double LEAVING = 0.5; /* for a call to notice that it shall be left */
/* timeout(1) sends its signal twice, to the program and to the group: a user's second
 * request comes later. */
static const double SAME_REQUEST = 0.1;

struct Watch {
    Run *run;
    WatchOptions how;
    struct GraphRun *graph_run;
    pthread_t thread;
    bool threaded;
    pthread_mutex_t screen; /* who draws */
    sem_t wake;
    double start;
    const char *name; /* of the value shown */
    bool ended_early;
    atomic_llong done, calls;
    _Atomic double value;
    atomic_bool running, poked, drawn;
    atomic_int signal; /* the one that ends the run; 0: none */
    _Atomic double signalled;
    atomic_flag keeping; /* by one thread only: the run's or the watch's */
};

static double seconds_now(void) { /* async-signal-safe, other than clock_seconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the progress line ---- */
static void put_time_left(double s, char *out, size_t n) {
    if (s < 90)
        snprintf(out, n, "%.0f s left", s);
    else if (s < 5400)
        snprintf(out, n, "%.0f min left", s / 60);
    else
        snprintf(out, n, "%.1f h left", s / 3600);
}

/* The part of the work that is done, and how fast, of calls or of one call's loop. */
static void put_line_text(Watch *w, char *out, size_t size) {
    const LoopProgress *loop = session_loop(w->run->s);
    long long done = atomic_load(&w->done), all = atomic_load(&w->calls);
    long long step = atomic_load(&loop->done), steps = atomic_load(&loop->steps);
    bool by_steps = all <= 1 && steps;
    double n = (double)(by_steps ? step : done), of = (double)(by_steps ? steps : all);
    double t = seconds_now() - w->start, rate = t > 0 ? n / t : 0;
    char left[40] = "", value[80] = "", inner[60] = "";
    if (rate > 0) put_time_left((of - n) / rate, left, sizeof left);
    if (w->name && done)
        snprintf(value, sizeof value, ", %.40s = %.6g", w->name, w->value);
    if (steps && !by_steps)
        snprintf(inner, sizeof inner, ", step %lld/%lld", step, steps);
    if (!by_steps && all == INT64_MAX) {
        snprintf(out, size, "%.0f calls, %.3g/s%s%s", n, rate, value, inner);
        return;
    }
    snprintf(out, size, "%3.0f%% %.0f/%.0f %s, %.3g/s%s%s%s%s",
             of > 0 ? 100 * n / of : 0, n, of, by_steps ? "steps" : "calls", rate,
             *left ? ", " : "", left, value, inner);
}

static void write_all(const char *p, size_t n) {
    while (n) {
        ssize_t k = write(STDERR_FILENO, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return;
        p += k;
        n -= (size_t)k;
    }
}

void watch_erase(Watch *w) {
    if (w && atomic_exchange(&w->drawn, false)) write_all("\r\033[K", 4);
}

static size_t terminal_width(void) {
    struct winsize z;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &z) == 0 && z.ws_col > 1 ? z.ws_col - 1
                                                                     : 79;
}

static void draw_line(Watch *w) {
    char text[256], out[300];
    put_line_text(w, text, sizeof text);
    size_t width = terminal_width();
    if (width < sizeof text) text[width] = '\0';
    if (pthread_mutex_trylock(&w->screen) != 0) return; /* a row goes out, or waits */
    if (atomic_load(&w->running)) {
        int n = snprintf(out, sizeof out, "\r%s\033[K", text);
        atomic_store(&w->drawn, true);
        write_all(out, (size_t)n);
    }
    pthread_mutex_unlock(&w->screen);
}

static void print_poked_line(Watch *w) {
    char text[256], out[400];
    put_line_text(w, text, sizeof text);
    int n = snprintf(out, sizeof out, "%.100s: %s\n", w->run->program,
                     text + strspn(text, " "));
    bool free = pthread_mutex_trylock(&w->screen) == 0;
    watch_erase(w);
    write_all(out, (size_t)n);
    if (free) pthread_mutex_unlock(&w->screen);
}

void watch_screen(Watch *w, bool taken) {
    if (!w) return;
    if (!taken) {
        pthread_mutex_unlock(&w->screen);
        return;
    }
    pthread_mutex_lock(&w->screen);
    watch_erase(w);
}

/* ---- signals ---- */
bool watch_stop(Watch *w, int sig) {
    int none = 0;
    if (!w || !atomic_load(&w->running) || !w->how.keeps) return false;
    double now = seconds_now();
    if (!atomic_compare_exchange_strong(&w->signal, &none, sig))
        return now - atomic_load(&w->signalled) < SAME_REQUEST;
    atomic_store(&w->signalled, now);
    signal(SIGPIPE, SIG_IGN); /* the same key press may have closed the pipe */
    sem_post(&w->wake);
    return true;
}

void watch_poke(Watch *w) {
    if (!w || !atomic_load(&w->running)) return;
    atomic_store(&w->poked, true);
    sem_post(&w->wake);
}

/* Waits for the next thing to do; false: that time passed. */
static bool wait_until(Watch *w, double when) {
    double left = when - seconds_now();
    struct timespec t;
    if (left < 0) left = 0;
    clock_gettime(CLOCK_REALTIME, &t);
    double at = (double)t.tv_nsec * 1e-9 + left;
    t.tv_sec += (time_t)at;
    t.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
    return sem_timedwait(&w->wake, &t) == 0 || errno != ETIMEDOUT;
}

static void name_of_signal(int sig, char *out, size_t n) {
    const char *name = sigabbrev_np(sig);
    snprintf(out, n, "SIG%s", name ? name : "?");
}

static _Noreturn void die_of(int sig) {
    signal(sig, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    _exit(128 + sig);
}

/* The call is deep in code that nothing can stop: a copy of the process, in which
 * nothing runs, keeps what there is. */
static _Noreturn void keep_in_copy(Watch *w) {
    int sig = atomic_load(&w->signal), status;
    pid_t child = fork();
    if (child == 0) {
        Run *r = w->run;
        bool ok = graph_run_keep(w->graph_run);
        if (!ok && rank_explains(r))
            report_all(r->s, r->program, r->common->errors == 1, false, STDERR_FILENO);
        _exit(!ok);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    writer_unlink_all(w->run->s);
    die_of(sig);
}

/* True: the run has ended. */
static bool end_call(Watch *w) {
    double when = atomic_load(&w->signalled) + (w->how.ranks ? RANKS : GRACE);
    while (atomic_load(&w->running) && wait_until(w, when)) {
    }
    if (!atomic_load(&w->running)) return true;
    session_expire(w->run->s);
    while (atomic_load(&w->running) && wait_until(w, when + LEAVING)) {
    }
    if (!atomic_load(&w->running) || atomic_flag_test_and_set(&w->keeping)) return true;
    watch_erase(w);
    keep_in_copy(w);
}

static void *look_after_run(void *arg) {
    Watch *w = arg;
    double next = w->how.line ? w->start + (w->how.at_once ? 0 : 1) : 1e300;
    while (atomic_load(&w->running)) {
        bool woken = true;
        if (w->how.line)
            woken = wait_until(w, next);
        else
            while (sem_wait(&w->wake) != 0 && errno == EINTR) {
            }
        if (atomic_load(&w->signal)) {
            if (end_call(w)) break;
        } else if (atomic_exchange(&w->poked, false)) {
            print_poked_line(w);
        } else if (!woken && atomic_load(&w->running)) {
            draw_line(w);
            next = seconds_now() + DRAW;
        }
    }
    return NULL;
}

/* ---- callbacks of the run ---- */
static void begin_watch(void *ctx, struct GraphRun *r, const RunState *now) {
    Watch *w = ctx;
    sigset_t all, old;
    w->graph_run = r;
    w->name = now->name;
    atomic_store(&w->calls, now->calls);
    w->start = seconds_now();
    atomic_store(&w->running, true);
    sigfillset(&all); /* only the run's thread handles signals */
    pthread_sigmask(SIG_BLOCK, &all, &old);
    w->threaded = pthread_create(&w->thread, NULL, look_after_run, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void note_call(void *ctx, const RunState *now) {
    Watch *w = ctx;
    atomic_store_explicit(&w->value, now->value, memory_order_relaxed);
    atomic_store_explicit(&w->done, now->done, memory_order_release);
}

static bool is_stopped(void *ctx) {
    return atomic_load_explicit(&((Watch *)ctx)->signal, memory_order_relaxed) != 0;
}

static void take_screen(void *ctx, bool taken) {
    watch_screen(ctx, taken);
}

static void end_watch(void *ctx) {
    Watch *w = ctx;
    if (atomic_flag_test_and_set(&w->keeping)) /* the watch ends the program */
        for (;;)
            pause();
    atomic_store(&w->running, false);
    sem_post(&w->wake);
    if (w->threaded) pthread_join(w->thread, NULL);
    w->threaded = false;
    watch_erase(w);
}

static void report_end(void *ctx, const RunState *at) {
    Watch *w = ctx;
    char why[40] = "--until holds", file[300] = "", text[600];
    int sig = atomic_load(&w->signal);
    w->ended_early = !at->until;
    if (w->how.quiet || (at->until && !w->run->common->verbose)) return;
    if (!at->until) name_of_signal(sig, why, sizeof why);
    if (w->how.save && at->kept)
        snprintf(file, sizeof file, "; %.250s has their values", w->how.save);
    else if (w->how.save && !at->until)
        snprintf(file, sizeof file, "; %.250s was not written", w->how.save);
    char of[40] = "";
    if (at->calls != INT64_MAX)
        snprintf(of, sizeof of, " of %lld", (long long)at->calls);
    int n = snprintf(text, sizeof text, "%.100s: %s: ended after %lld%s calls%s\n",
                     w->run->program, why, (long long)at->done, of, file);
    write_all(text, (size_t)n);
}

/* ---- */
Watch *watch_open(Run *r, const WatchOptions *o, RunWatch *calls) {
    Watch *w = mem_zalloc(r->s, 1, sizeof *w);
    w->run = r;
    w->how = *o;
    atomic_flag_clear(&w->keeping);
    pthread_mutex_init(&w->screen, NULL);
    sem_init(&w->wake, 0, 0);
    *calls = (RunWatch){w,           begin_watch, note_call, is_stopped,
                        take_screen, end_watch,   report_end};
    r->watch = w;
    return w;
}

bool watch_ended_early(const Watch *w) {
    return w->ended_early;
}

void watch_close(Watch *w) {
    w->run->stopped_by = atomic_load(&w->signal);
    w->run->watch = NULL;
    pthread_mutex_destroy(&w->screen);
    sem_destroy(&w->wake);
    mem_free(w);
}
