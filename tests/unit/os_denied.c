/* A system that refuses calls, as an old kernel, a sandbox or a network file system
 * does, and calls that are interrupted or not ready. Each refusal holds in a process of
 * its own, in a folder of its own. */
#include "base/pool.h"
#include "base/sanitizer.h"
#include "base/session.h"
#include "os/child.h"
#include "os/file.h"
#include "os/os_impl.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __aarch64__ /* has none of the calls that others replace */
enum {
    SYS_open = SYS_openat,
    SYS_rename = SYS_renameat,
    SYS_dup2 = SYS_dup3,
    SYS_pipe = SYS_pipe2,
    SYS_poll = SYS_ppoll,
    SYS_vfork = SYS_clone
};
#endif

static const char *last_error(Session *s) {
    size_t n = diag_count(s);
    return n ? diag_get(s, n - 1)->text : "";
}

static void put_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static const char *content(Session *s, const char *path) {
    FileData d;
    if (!file_read(s, path, 0, &d)) return "(error)";
    const char *t = arena_str(session_arena(s), (const char *)d.p, d.n);
    file_close(&d);
    return t;
}

/* While processes can't count what they reach (tests/coverage/flush.c). */
extern volatile int calls_are_refused;
volatile int calls_are_refused;

/* From now on these system calls fail in this thread, and in what it starts. False if
 * this system has no such filters. */
static bool deny(int error, const long *call, size_t n) {
    struct sock_filter f[16];
    size_t k = 0;
    f[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                          offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < n; i++) {
        f[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                              (uint32_t)call[i], 0, 1);
        f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                              SECCOMP_RET_ERRNO | (uint32_t)error);
    }
    f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)k, f};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- what is refused ---- */

/* File by file instead of openat2: what lies below is read, links are not followed. */
static void test_no_openat2(Session *s) {
    FileData d;
    static const char *const good[] = {"sub/f", "./sub//f", "top"};
    for (size_t i = 0; i < 3; i++) {
        CHECK(file_read_below(s, ".", good[i], 0, &d) && d.n == 6, "%s", good[i]);
        file_close(&d);
    }
    CHECK(diag_count(s) == 0);
    char longer[300];
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const struct {
        const char *path, *why;
    } bad[] = {
        {"link", "a symbolic link"},
        {"dirlink/f", "irectory"}, /* O_PATH | O_NOFOLLOW takes the link itself */
        {"../sub/f", "must lead to a file below"},
        {"none", "No such file"},
        {"sub/none", "No such file"},
        {"top/f", "Not a directory"},
        {"sub", "not a regular file"},
        {longer, "File name too long"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!file_read_below(s, ".", bad[i].path, 0, &d), "%s", bad[i].path);
        CHECK(strstr(last_error(s), bad[i].why), "%s", last_error(s));
    }
}

/* A file system without RENAME_NOREPLACE: a new file still replaces nothing. */
static void test_no_renameat2(Session *s) {
    Writer *w = writer_open_new(s, "fresh");
    CHECK(w && writer_add(w, "one", 3) && writer_commit(w), "%s", last_error(s));
    CHECK_STR(content(s, "fresh"), "one");
    w = writer_open_new(s, "fresh");
    CHECK(w && writer_add(w, "two", 3) && !writer_commit(w));
    CHECK_STR(last_error(s), "can't write fresh: File exists");
    CHECK_STR(content(s, "fresh"), "one");
}

/* Without randomness the temporary names are counted, until there are none. */
static void test_no_getrandom(Session *s) {
    enum { NAMES = 36 };
    Writer *w[NAMES];
    for (int i = 0; i < NAMES; i++) {
        w[i] = writer_open(s, "out");
        CHECK(w[i] && writer_add(w[i], "x", 1), "%d: %s", i, last_error(s));
    }
    CHECK(!writer_open(s, "out"));
    CHECK_STR(last_error(s), "can't write out: File exists");
    for (int i = 0; i < NAMES; i++)
        CHECK(writer_commit(w[i]));
    CHECK_STR(content(s, "out"), "x");
}

static void count_one(void *ctx, const char *target, const char *path) {
    (void)target, (void)path;
    ++*(int *)ctx;
}

/* Without locks one writes all the same, but takes nothing for a leftover. */
static void test_no_flock(Session *s) {
    int n = 0;
    CHECK(file_lock_folder(".") < 0);
    file_unlock_folder(-1);
    file_each_leftover(s, ".", count_one, &n);
    CHECK(n == 0);
    Writer *w = writer_open(s, "out");
    CHECK(w && writer_add(w, "x", 1) && writer_commit(w), "%s", last_error(s));
    CHECK_STR(content(s, "out"), "x");
}

static void test_no_fstat(Session *s) {
    int n = 0;
    FileData d;
    CHECK(!file_read_below(s, ".", "sub/f", 0, &d));
    CHECK_STR(last_error(s), "can't read sub/f: Input/output error");
    CHECK(file_read(s, "top", 0, &d) && d.n == 6 && !d.mapped);
    file_close(&d);
    file_each_leftover(s, ".", count_one, &n);
    CHECK(n == 0);
    Writer *w = writer_open(s, "out");
    CHECK(w && writer_add(w, "x", 1) && writer_commit(w), "%s", last_error(s));
}

/* What can't be positioned is read, not mapped. */
static void test_no_lseek(Session *s) {
    FileData d;
    CHECK(file_read(s, "top", 0, &d) && d.n == 6 && !d.mapped &&
          memcmp(d.p, "inside", 6) == 0);
    file_close(&d);
}

static void test_no_fsync(Session *s) {
    Writer *w = writer_open(s, "top");
    writer_make_durable(w);
    CHECK(writer_add(w, "x", 1) && !writer_commit(w));
    CHECK_STR(last_error(s), "can't write top: Input/output error");
    CHECK_STR(content(s, "top"), "inside");
    CHECK(!file_sync_folder(s, "sub/f"));
    CHECK_STR(last_error(s), "can't sync the folder of sub/f: Input/output error");
}

static void test_no_folder_sync(Session *s) {
    CHECK(file_sync_folder(s, "sub/f") && !diag_count(s));
}

static void test_no_affinity(Session *s) {
    Pool *p = pool_new(s, 0);
    CHECK(pool_threads(p) >= 1);
    pool_free(p);
}

static void test_no_sysinfo(Session *s) {
    /* 4 GiB are assumed; a cgroup may allow less; a tenth is left. */
    CHECK(session_max_memory(s) <= (UINT64_C(4) << 30) / 10 * 9 + 10);
    CHECK(session_max_memory(s) > 0);
}

static void test_no_mprotect(Session *s) {
    (void)s;
    CHECK(!cpu_map_code("\xC3", 1));
    cpu_unmap_code(NULL, 1);
}

/* Where nothing can be mapped, or memory that was can't change, it is read, or stays.
 */
static void test_no_mmap(Session *s) {
    FileData d;
    CHECK(file_read(s, "top", 0, &d) && d.n == 6 && !d.mapped);
    file_close(&d);
    CHECK(!file_read(s, "top", 5, &d));
    CHECK_STR(last_error(s), "top is larger than the limit of 5 bytes");
}

static void test_no_mprotect_of_files(Session *s) {
    FileData d;
    FilePlace at;
    CHECK(file_read(s, "top", 0, &d) && d.mapped);
    file_mapped_lend(s, d.p);
    CHECK(file_place(s, d.p + 2, &at) && at.offset == 2 && at.size == 6);
    CHECK(!file_mapped_write(s, (void *)(uintptr_t)d.p, d.n));
    CHECK(!file_place(s, d.p, &at)); /* nobody may rely on its bytes from now on */
    file_close(&d);
}

static void test_no_read(Session *s) {
    FileData d;
    Reader r;
    CHECK(!file_read(s, "top", 0, &d));
    CHECK_STR(last_error(s), "can't read top: Input/output error");
    CHECK(reader_open(s, "top", &r) && !reader_need(&r, 1) && !reader_all(&r));
    reader_close(&r);
}

static void test_no_open(Session *s) {
    FileData d;
    int n = 0;
    CHECK(!file_read(s, "top", 0, &d));
    CHECK_STR(last_error(s), "can't open top: Too many open files");
    CHECK(!file_read_below(s, "sub", "f", 0, &d));
    CHECK_STR(last_error(s), "can't open sub: Too many open files");
    CHECK(!writer_open(s, "out"));
    CHECK_STR(last_error(s), "can't write out: Too many open files");
    CHECK(!writer_open(s, "/dev/null"));
    CHECK(file_lock_folder(".") < 0 && file_sync_folder(s, "top"));
    file_each_leftover(s, ".", count_one, &n);
    CHECK(n == 0);
}

/* openat2 says no, in its own ways. */
static void test_openat2_busy(Session *s) {
    FileData d;
    CHECK(file_read_below(s, ".", "sub/f", 0, &d) && d.n == 6, "%s", last_error(s));
    file_close(&d);
}
static void test_openat2_denied(Session *s) {
    FileData d;
    CHECK(!file_read_below(s, ".", "sub/f", 0, &d));
    CHECK_STR(last_error(s), "can't open sub/f: Permission denied");
}
static void test_openat2_outside(Session *s) {
    FileData d;
    CHECK(!file_read_below(s, ".", "sub/f", 0, &d));
    CHECK(strstr(last_error(s), "a symbolic link"), "%s", last_error(s));
}

/* A delayed error of a file that is closed: the old file stays. */
static void test_no_close(Session *s) {
    Writer *w = writer_open(s, "top");
    CHECK(w && writer_add(w, "x", 1) && !writer_commit(w));
    CHECK_STR(last_error(s), "can't write top: Input/output error");
    CHECK_STR(content(s, "top"), "inside");
}

static void test_close_interrupted(Session *s) {
    Writer *w = writer_open(s, "top");
    CHECK(w && writer_add(w, "x", 1) && writer_commit(w), "%s", last_error(s));
    CHECK_STR(content(s, "top"), "x");
}

static void test_no_rename(Session *s) {
    Writer *w = writer_open(s, "top");
    CHECK(w && writer_add(w, "x", 1) && !writer_commit(w));
    CHECK_STR(last_error(s), "can't write top: Operation not permitted");
    CHECK_STR(content(s, "top"), "inside");
    w = writer_open_new(s, "fresh");
    CHECK(w && writer_add(w, "x", 1) && !writer_commit(w) && !file_exists("fresh"));
}

static void test_no_fchmod(Session *s) {
    CHECK(!writer_open(s, "top"));
    CHECK_STR(last_error(s), "can't write top: Operation not permitted");
    CHECK_STR(content(s, "top"), "inside");
}

/* Every new temporary file seems to be somebody's leftover. */
static void test_locks_taken(Session *s) {
    CHECK(!writer_open(s, "out"));
    CHECK_STR(last_error(s), "can't write out: File exists");
}

static void test_no_fcntl(Session *s) {
    CHECK(!writer_open(s, "-"));
    CHECK_STR(last_error(s), "can't write <stdout>: Bad file descriptor");
    Writer *w = writer_open(s, "out"); /* unlocked while it is renamed */
    CHECK(w && writer_add(w, "x", 1) && writer_commit(w), "%s", last_error(s));
}

/* ---- other processes ---- */

static void say_yes(void *ctx, Str *out) {
    (void)ctx;
    str_puts(out, "yes");
}

static void test_no_work(Session *s) {
    Str out = STR(s);
    str_puts(&out, "before");
    CHECK(!child_run(say_yes, NULL, 0.2, &out));
    CHECK_STR(str_text(&out), "before");
    str_free(&out);
}

static void check_refused(Session *s, const char *says) {
    CommandResult r;
    CHECK(!command_run(s, &(Command){.text = "exit 0", .silent = true}, &r));
    CHECK_STR(last_error(s), says);
}
static void test_no_child(Session *s) {
    check_refused(s, "can't run exit 0");
    test_no_work(s);
}
static void test_no_memory_for_child(Session *s) {
    check_refused(s, "out of memory to run exit 0");
}
static void test_no_command(Session *s) {
    check_refused(s, "can't run exit 0");
}

static void test_nobody_to_wait_for(Session *s) {
    CommandResult r;
    CHECK(command_run(s, &(Command){.text = "exit 0"}, &r) && r.end == COMMAND_EXITED);
    CHECK(r.status == 127);
    test_no_work(s);
}

static struct Refusal {
    void (*test)(Session *s);
    const char *name;
    int error;
    long call[4];
} refusals[] = {{test_no_openat2, "openat2 is unknown", ENOSYS, {SYS_openat2}},
                {test_no_openat2, "openat2 is forbidden", EPERM, {SYS_openat2}},
                {test_no_renameat2, "renameat2 without flags", EINVAL, {SYS_renameat2}},
                {test_no_renameat2, "renameat2 is unknown", ENOSYS, {SYS_renameat2}},
                {test_no_getrandom, "getrandom", ENOSYS, {SYS_getrandom}},
                {test_no_flock, "flock", ENOLCK, {SYS_flock}},
                {test_no_fstat, "fstat", EIO, {SYS_fstat, SYS_newfstatat, SYS_statx}},
                {test_no_lseek, "lseek", ESPIPE, {SYS_lseek}},
                {test_no_fsync, "fsync", EIO, {SYS_fsync, SYS_fdatasync}},
                {test_no_folder_sync, "fsync of a folder", EINVAL, {SYS_fsync}},
                {test_no_affinity, "sched_getaffinity", EPERM, {SYS_sched_getaffinity}},
                {test_no_sysinfo, "sysinfo", EPERM, {SYS_sysinfo}},
                {test_no_mprotect, "mprotect", EACCES, {SYS_mprotect}},
                {test_no_mprotect_of_files, "mprotect", EACCES, {SYS_mprotect}},
                {test_no_mmap, "mmap", ENODEV, {SYS_mmap}},
                {test_no_read, "read", EIO, {SYS_read, SYS_mmap}},
                {test_no_open, "open", EMFILE, {SYS_openat, SYS_open}},
                {test_openat2_busy, "openat2 tries again", EAGAIN, {SYS_openat2}},
                {test_openat2_denied, "openat2 is denied", EACCES, {SYS_openat2}},
                {test_openat2_outside, "openat2 leads out", EXDEV, {SYS_openat2}},
                {test_no_close, "close", EIO, {SYS_close}},
                {test_close_interrupted, "close is interrupted", EINTR, {SYS_close}},
                {test_no_rename, "rename", EPERM, {SYS_rename, SYS_renameat2}},
                {test_no_fchmod, "fchmod", EPERM, {SYS_fchmod}},
                {test_locks_taken, "flock is taken", EAGAIN, {SYS_flock}},
                {test_no_fcntl, "fcntl", EBADF, {SYS_fcntl}},
                {test_no_child, "clone", EAGAIN, {SYS_clone, SYS_clone3, SYS_vfork}},
                {test_no_memory_for_child, "clone", ENOMEM, {SYS_clone, SYS_clone3}},
                {test_no_command, "execve", EACCES, {SYS_execve}},
                {test_no_command, "setpgid", EPERM, {SYS_setpgid}},
                {test_no_command, "dup2", EBADF, {SYS_dup2, SYS_dup3}},
                {test_no_command, "open", EMFILE, {SYS_openat, SYS_open}},
                {test_nobody_to_wait_for, "wait4", ECHILD, {SYS_wait4, SYS_waitid}},
                {test_no_work, "pipe", EMFILE, {SYS_pipe, SYS_pipe2}},
                {test_no_work, "write", EIO, {SYS_write}},
                {test_no_work, "read", EIO, {SYS_read}},
                {test_no_work, "poll", EINTR, {SYS_poll, SYS_ppoll}}};

static void make_files(void) {
    mkdir("sub", 0755);
    put_file("sub/f", "inside");
    put_file("top", "inside");
    put_file(".gone.thunkline.abcdef", "");
    CHECK(symlink("top", "link") == 0 && symlink("sub", "dirlink") == 0);
}

static void *refuse_and_test(void *row) {
    const struct Refusal *r = row;
    size_t n = 1;
    while (n < 4 && r->call[n])
        n++;
    Session *s = session_new(NULL, NULL);
    calls_are_refused = 1;
    if (deny(r->error, r->call, n))
        r->test(s);
    else
        printf("os_denied: no system call filters here\n");
    session_free(s);
    return NULL;
}

/* AddressSanitizer maps memory of its own at any time. */
static bool sanitizer_needs(const struct Refusal *r) {
    bool maps = false;
    for (size_t i = 0; i < sizeof r->call / sizeof *r->call; i++)
        maps |= r->call[i] == SYS_mmap;
    return SANITIZED && maps;
}

/* In a thread, as nothing takes a filter away: at its end a process needs the calls,
 * for what it prints, leaks and counts. */
static void refused(struct Refusal *r, size_t i) {
    char folder[16];
    int status = -1;
    snprintf(folder, sizeof folder, "d%zu", i);
    mkdir(folder, 0755);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_t t;
        if (chdir(folder) != 0) exit(1);
        test_failed = 0;
        make_files();
        if (pthread_create(&t, NULL, refuse_and_test, r) != 0) exit(1);
        pthread_join(t, NULL);
        calls_are_refused = 0;
        exit(test_failed != 0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: status %d", r->name,
          status);
}

/* ---- what is not ready, or interrupted ---- */
static void nap(long milliseconds) {
    struct timespec t = {0, milliseconds * 1000000};
    nanosleep(&t, NULL);
}

enum { LARGE = 300000 }; /* more than a pipe holds */
static unsigned char block[LARGE];

/* A child that drains the pipe, slowly at first; ends with 0 if it got all. */
static pid_t drain(int fd, int other) {
    pid_t child = fork();
    if (child) return child;
    static unsigned char got[4096];
    size_t all = 0;
    close(other);
    fcntl(fd, F_SETFL, 0);
    for (nap(20);;) {
        ssize_t n = read(fd, got, sizeof got);
        if (n <= 0) _exit(all != LARGE);
        all += (size_t)n;
    }
}

static void test_not_ready(void) {
    int p[2], status = -1;
    char got[8] = "";
    CHECK(pipe2(p, O_NONBLOCK | O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        nap(20);
        _exit(write(p[1], "hello", 5) != 5);
    }
    CHECK(file_read_some(p[0], got, 8) == 5 && memcmp(got, "hello", 5) == 0);
    waitpid(child, NULL, 0);
    child = drain(p[0], p[1]);
    close(p[0]);
    CHECK(file_write_all(p[1], block, LARGE));
    close(p[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static volatile sig_atomic_t ticks;
static void on_tick(int n) {
    (void)n;
    ticks++;
}

/* A timer interrupts every call that waits. */
static void interrupt(long microseconds) {
    struct sigaction a = {.sa_handler = on_tick};
    struct itimerval t = {{0, microseconds}, {0, microseconds}};
    sigaction(SIGALRM, &a, NULL);
    CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

static void test_interrupted(Session *s) {
    int status = -1;
    mkfifo("pipe", 0600);
    pid_t child = fork();
    if (child == 0) {
        nap(30);
        int fd = open("pipe", O_WRONLY);
        nap(30);
        _exit(write(fd, "hello", 5) != 5);
    }
    interrupt(5000);
    CHECK_STR(content(s, "pipe"), "hello");
    CHECK(ticks > 3, "%d", (int)ticks);
    interrupt(0);
    waitpid(child, NULL, 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        nap(30);
        int fd = open("pipe", O_RDONLY);
        drain(fd, -1);
        close(fd);
        wait(&status);
        _exit(status != 0);
    }
    ticks = 0;
    interrupt(5000);
    Writer *w = writer_open(s, "pipe");
    CHECK(w && writer_add(w, block, LARGE) && writer_commit(w), "%s", last_error(s));
    interrupt(0);
    CHECK(ticks > 3 && waitpid(child, &status, 0) == child && status == 0);
    child = fork();
    if (child == 0) {
        int lock = file_lock_folder(".");
        put_file("locked", "");
        nap(60);
        _exit(lock < 0);
    }
    while (!file_exists("locked"))
        nap(1);
    ticks = 0;
    interrupt(5000);
    int lock = file_lock_folder(".");
    interrupt(0);
    CHECK(lock >= 0 && ticks > 1);
    file_unlock_folder(lock);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Descriptors by name: of this process, so that nothing is opened or closed. */
static void test_by_number(Session *s) {
    char path[64];
    static const char *const folder[] = {"/dev/fd", "/proc/self/fd"};
    for (size_t i = 0; i < 2; i++) {
        int fd = open("numbered", O_RDWR | O_CREAT | O_TRUNC, 0600);
        snprintf(path, sizeof path, "%s/%d", folder[i], fd);
        Writer *w = writer_open(s, path);
        CHECK(w && writer_add(w, "text", 4) && writer_commit(w), "%s", last_error(s));
        CHECK(fcntl(fd, F_GETFD) >= 0 && close(fd) == 0);
        CHECK_STR(content(s, "numbered"), "text");
    }
    CHECK(diag_count(s) == 0);
    static const char *const none[] = {"/dev/fd/", "/dev/fd/77", "/dev/fd/7x",
                                       "/dev/fd/99999999999", "/proc/self/fd/77"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(!writer_open(s, none[i]), "%s", none[i]);
        CHECK(strncmp(last_error(s), "can't write /", 13) == 0 &&
                  diag_count(s) == i + 1,
              "%s", last_error(s));
    }
    CHECK(!writer_open(s, "missing/"));
    CHECK_STR(last_error(s), "can't write missing/: Is a directory");
    CHECK(mkdir("real", 0755) == 0);
    char *here = realpath(".", NULL);
    snprintf(path, sizeof path, "%s/real/file", here);
    CHECK(symlink(path, "absolute") == 0);
    Writer *w = writer_open(s, "absolute"); /* made where the link leads */
    CHECK(w && writer_add(w, "there", 5) && writer_commit(w));
    CHECK_STR(content(s, "real/file"), "there");
    free(here);
}

int main(void) {
    char folder[] = "/tmp/os_denied.XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (!sanitizer_needs(&refusals[i])) refused(&refusals[i], i);
    Session *s = session_new(NULL, NULL);
    test_not_ready();
    test_interrupted(s);
    test_by_number(s);
    session_free(s);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return TEST_END("os_denied");
}
