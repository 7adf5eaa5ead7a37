/* A tool from start to exit: session, options, work, report. */
#include "base/cpu.h"
#include "cli/ranks.h"
#include "cli/watch.h"
#include "os/file.h"
#include "tools/tools.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* For signal handlers, which get no argument. */
static Run *interrupted; /* in cli only: the library has no globals */

static void on_signal(int sig) {
    if (interrupted) {
        watch_erase(interrupted->watch);
        writer_unlink_all(interrupted->s);
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

/* A run that has something to keep ends in order, at the first request. */
static void on_stop_signal(int sig) {
    int none = 0;
    if (interrupted && sig == SIGTERM) rank_note_gone(interrupted);
    if (interrupted && interrupted->stop &&
        atomic_compare_exchange_strong(interrupted->stop, &none, sig))
        return;
    if (!interrupted || !watch_stop(interrupted->watch, sig)) on_signal(sig);
}

static void on_told(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)context;
    if (interrupted && info->si_code == SI_QUEUE)
        rank_told(interrupted, info->si_value.sival_int);
}

static void on_poke(int sig) {
    (void)sig;
    if (interrupted) watch_poke(interrupted->watch);
}

static bool stdout_is_pipe(void) {
    struct stat st;
    return fstat(STDOUT_FILENO, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* Would a tool that reads the output take a line of YAML for a failure? In JSON, and in
 * the forms for people, it would only be in the way. */
static bool takes_failure(const Common *c, bool begun) {
    IoFormat format =
        c && c->format >= 0 ? (IoFormat)(IO_AUTO + 1 + c->format) : IO_TLG;
    return format == IO_TLG || ((format == IO_YAML || format == IO_ONNX) && !begun);
}

/* On failure, leaves a word in the pipe that makes the next tool end, too. */
static void write_failure(const Run *r, int status) {
    const Common *c = r->common;
    bool elsewhere = c && c->output && strcmp(c->output, "-") != 0;
    bool begun = r->s && writer_has_printed(r->s);
    if (!r->tool->writes_graph || r->no_graph || elsewhere ||
        !takes_failure(c, begun) || !stdout_is_pipe())
        return;
    unsigned char record[ABORT_RECORD];
    char line[FAILURE_LINE];
    size_t n = begun ? io_abort_record(status, record)
                     : io_failure_line(r->tool->name, status, line);
    signal(SIGPIPE, SIG_IGN); /* the status is this tool's, whoever reads */
    ssize_t done = write(STDOUT_FILENO, begun ? (const void *)record : line, n);
    (void)done; /* a failed write can't be reported anywhere */
}

/* bug() prints its finding and aborts; the status distinguishes this from a user's
 * error for scripts. */
static void on_abort(int sig) {
    (void)sig;
    if (interrupted) {
        rank_may_panic(interrupted); /* the others learn that this one has spoken */
        writer_unlink_all(interrupted->s);
        write_failure(interrupted, 70);
    }
    _exit(70);
}

static void catch_signals(Run *r) {
    interrupted = r;
    signal(SIGABRT, on_abort);
    signal(SIGXFSZ, SIG_IGN); /* an oversized file becomes a write error */
    static const struct {
        int sig;
        void (*handler)(int);
    } caught[] = {{SIGINT, on_stop_signal}, {SIGTERM, on_stop_signal},
                  {SIGHUP, on_signal},      {SIGPIPE, on_signal},
                  {SIGQUIT, on_signal},     {SIGXCPU, on_signal},
                  {SIGUSR1, on_poke}};
    size_t n = sizeof caught / sizeof *caught - !r->tool->watched;
    for (size_t i = 0; i < n; i++) {
        struct sigaction old,
            act = {.sa_handler = caught[i].handler, .sa_flags = SA_RESTART};
        sigaction(caught[i].sig, NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(caught[i].sig, &act, NULL);
    }
    struct sigaction told = {.sa_sigaction = on_told,
                             .sa_flags = SA_SIGINFO | SA_RESTART};
    if (r->tool->ranked) sigaction(RANK_TOLD, &told, NULL);
}

static void write_stderr(const char *text) {
    size_t n = strlen(text);
    while (n) {
        ssize_t done = write(STDERR_FILENO, text, n);
        if (done <= 0) return;
        text += done;
        n -= (size_t)done;
    }
}

/* The form of errors must be known before the first one, which may be about options:
 * look ahead. */
static bool wants_json(int argc, char **argv) {
    bool json = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        json |= strcmp(argv[i], "--errors=json") == 0 ||
                (strcmp(argv[i], "--errors") == 0 && i + 1 < argc &&
                 strcmp(argv[i + 1], "json") == 0);
    return json;
}

/* Escapes for a JSON string without allocating. */
static void write_stderr_quoted(const char *text) {
    for (char c[3] = {'\\'}; *text; text++) {
        bool escaped = *text == '"' || *text == '\\';
        c[1] = (unsigned char)*text < 32 ? '?' : *text;
        write_stderr(c + !escaped);
    }
}

static void write_stderr_doing(const char *doing) {
    if (!doing) return;
    write_stderr(" while ");
    write_stderr(doing);
}

/* Reports in the form of report_all(), piece by piece: there may be no memory left. */
_Noreturn static void exit_on_panic(void *ctx, DiagCode code, const char *message) {
    Run *r = ctx;
    if (atomic_exchange(&r->panicking, true)) { /* threads may meet one fault at once */
        sleep(1);
        _exit(diag_exit(code));
    }
    const char exit[] = {(char)('0' + diag_exit(code)), '\0'};
    char where[48];
    const char *doing = r->s && code == E_LIMIT ? session_set_doing(r->s, NULL) : NULL;
    watch_erase(r->watch);
    if (r->s) writer_unlink_all(r->s);
    if (!rank_may_panic(r)) {
        sleep(5); /* until mpirun ends it */
        _exit(diag_exit(code));
    }
    rank_where(r, where);
    if (wants_json(r->argc, r->argv)) {
        write_stderr("{\"tool\": \"");
        write_stderr_quoted(r->program);
        write_stderr("\", \"severity\": \"error\", \"code\": \"");
        write_stderr(diag_name(code));
        write_stderr("\", \"exit\": "); /* one digit: such errors are never bugs */
        write_stderr(exit);
        write_stderr(", \"message\": \"");
        write_stderr_quoted(message);
        write_stderr_doing(doing);
        write_stderr(where);
        write_stderr("\", \"notes\": []}\n");
    } else {
        write_stderr(r->program);
        write_stderr(": error[");
        write_stderr(diag_name(code));
        write_stderr("]: ");
        write_stderr(message);
        write_stderr_doing(doing);
        write_stderr(where);
        write_stderr("\n");
    }
    write_failure(r, diag_exit(code));
    _exit(diag_exit(code));
}

/* A mapped file was truncated. Any other bus error is a bug. */
static void on_bus_error(int sig, siginfo_t *info, void *context) {
    (void)context;
    const char *name =
        interrupted ? file_mapped_at(interrupted->s, info->si_addr) : NULL;
    if (name) {
        char text[512];
        size_t n = 0;
        for (; n < 400 && name[n]; n++)
            text[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '?';
        memcpy(text + n, " was cut short while it was read", 33);
        exit_on_panic(interrupted, E_IO, text);
    }
    on_signal(sig);
}

static void catch_bus_errors(void) {
    struct sigaction act = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &act, NULL);
}

/* The time limit has passed: loops stop at their next check. Code that doesn't check
 * for another half second is ended here, using only async-signal-safe calls. */
static void on_alarm(int sig) {
    (void)sig;
    if (!interrupted) return;
    const atomic_bool *late = session_expired(interrupted->s);
    if (atomic_load(late))
        exit_on_panic(interrupted, E_LIMIT, "the time limit of --max-time is over");
    session_expire(interrupted->s);
}

static void limit_time(double seconds) {
    struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval t = {.it_interval.tv_usec = 500000};
    if (seconds == 0) return;
    t.it_value.tv_sec = (time_t)seconds;
    t.it_value.tv_usec = (suseconds_t)((seconds - (double)t.it_value.tv_sec) * 1e6);
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
}

static bool want_color(const Common *c) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (c->color) return c->color == 1;
    return isatty(STDERR_FILENO) && !(no && *no) &&
           !(term && strcmp(term, "dumb") == 0);
}

static int report_failure(Run *r) {
    const Diag *why = diag_first_error(r->s);
    if (atomic_load(session_expired(r->s)) && why && why->code != E_LIMIT) {
        diag_clear(r->s); /* code stopped by the limit reports something else */
        session_fail_expired(r->s, NOWHERE);
    }
    bool reports;
    const Diag *first = diag_first_error(r->s);
    rank_settle(r, false, &reports);
    int status = rank_status(r, first ? first->exit : 70);
    if (reports)
        report_all(r->s, r->program, r->common->errors == 1, want_color(r->common),
                   STDERR_FILENO);
    write_failure(r, status);
    return status;
}

static bool print_help_or_version(Run *r, bool *done) {
    Common *c = r->common;
    Str out = STR(r->s);
    *done = c->help || c->version || c->dump;
    bool ok = true;
    if (*done && !rank_is_first(r)) return true;
    if (c->help)
        tool_help(r->tool, r->program, &out);
    else if (c->version)
        str_printf(&out, "%s (thunkline) %s: %s\n", r->program, TL_VERSION,
                   r->tool->brief);
    else if (c->dump)
        ok = tool_dump(r, c->dump, &out);
    if (*done && ok) {
        c->output = NULL;
        ok = run_print(r, &out);
    }
    str_free(&out);
    return ok;
}

/* THUNKLINE_CPU selects the kernels of an older CPU, for tests and comparisons. */
static bool pick_cpu(Session *s) {
    static const char *const levels[] = {"baseline", "avx2", "avx512"};
    const char *cpu = getenv("THUNKLINE_CPU");
    if (!cpu || !*cpu) return true;
    for (int i = 0; i < 3; i++)
        if (strcmp(cpu, levels[i]) == 0) return session_options(s)->cpu_level = i, true;
    return fail(s, NOWHERE, E_USAGE,
                "THUNKLINE_CPU is '%s', not baseline, avx2 or avx512", cpu);
}

/* Prints a line from a graph's `print`, with control characters escaped so that a
 * terminal doesn't obey them. */
static void print_line(void *ctx, const char *text) {
    const Run *r = ctx;
    Str out = STR(r->s);
    for (;;) {
        size_t n = strcspn(text, "\n\t");
        str_visible(&out, text, n);
        if (!text[n]) break;
        str_putc(&out, text[n]);
        text += n + 1;
    }
    watch_screen(r->watch, true);
    write_stderr(str_text(&out));
    watch_screen(r->watch, false);
    str_free(&out);
}

/* A line of -v, with the seconds since the start. */
static void log_line(void *ctx, const char *line) {
    const Run *r = ctx;
    Str out = STR(r->s);
    report_log(r, clock_seconds() - r->start, line, &out);
    write_stderr(str_text(&out));
    str_free(&out);
}

static bool apply_common_options(Run *r) {
    services(r->s)->print = print_line;
    services(r->s)->print_ctx = r;
    Options *o = session_options(r->s);
    if (r->common->floatX) o->floatX = r->common->floatX == 1 ? DT_FLOAT32 : DT_FLOAT64;
    o->max_memory = r->common->max_memory;
    if (r->common->verbose) session_set_log(r->s, log_line, r);
    limit_time(r->common->max_time);
    return pick_cpu(r->s);
}

/* Plugins and op files. */
static bool load_user_ops(Run *r) {
    for (size_t i = 0; i < r->common->plugins.n; i++)
        if (!plugin_load(r->s, r->common->plugins.p[i].p)) return false;
    for (size_t i = 0; i < r->common->ops.n; i++)
        if (!io_read_ops(r->s, r->common->ops.p[i].p)) return false;
    return true;
}

static bool parse_and_run(Run *r, int argc, char **argv) {
    bool done;
    if (!rank_open(r) || !tool_parse(r, argc, argv) || !print_help_or_version(r, &done))
        return false;
    if (done) return true;
    return apply_common_options(r) && load_user_ops(r) && r->tool->run(r);
}

/* OpenBLAS reads these when it is opened. By default it would start threads that we
 * don't use, and a build that doesn't recognise the CPU falls back to AVX2 kernels, at
 * half the speed, although those of SkylakeX run on any CPU with AVX-512. */
void tool_environment(void) {
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
#ifdef __x86_64__
    if (CPU_HAS(AVX512F) && CPU_HAS(AVX512DQ) && CPU_HAS(AVX512BW) && CPU_HAS(AVX512VL))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
}

static void free_settings(Run *r) {
    const Opt *o;
    for (size_t i = 0; (o = tool_option(r->tool, i)); i++) {
        void *field = (char *)r->common + o->at;
        if (o->kind == OPT_LIST || o->kind == OPT_FILES) mem_free(((Texts *)field)->p);
    }
    mem_free(r->common->operands.p);
    free(r->common);
}

int tool_main(const Tool *t, int argc, char **argv) {
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    Run r = {.tool = t,
             .argc = argc,
             .argv = argv,
             .program = slash  ? slash + 1
                        : argc ? argv[0]
                               : t->name};
    r.common = calloc(1, t->settings);
    if (!r.common) exit_on_panic(&r, E_MEM, "out of memory");
    if (wants_json(argc, argv)) r.common->errors = 1;
    if (t->preset) t->preset(r.common);
    r.start = clock_seconds();
    r.s = tools_session(exit_on_panic, &r);
    if (t->writes_graph) mem_expect_graphs(r.s);
    catch_signals(&r);
    catch_bus_errors();
    tool_environment();
    bool reports, ok = parse_and_run(&r, argc, argv) && rank_settle(&r, true, &reports);
    int status = ok ? 0 : report_failure(&r);
    if (ok && reports && diag_count(r.s))
        report_all(r.s, r.program, r.common->errors == 1, want_color(r.common),
                   STDERR_FILENO);
    rank_close(&r, status);
    interrupted = NULL;
    session_free(r.s);
    free_settings(&r);
    if (r.stopped_by) { /* so that a shell's loop ends, too */
        signal(r.stopped_by, SIG_DFL);
        raise(r.stopped_by);
    }
    return status;
}
