/* What a tool does for want of memory: each command line of allocations.def runs again
 * and again in this process, each time with another allocation that fails, once or
 * together with all after it. It ends with status 6 and one message, or as it usually
 * does with what it usually says; no block of memory, no mapping, no open file and no
 * part of a file is left.
 *
 *     allocations                    all lines; TRIES=n of each, 0 for all; SEED;
 *                                    DEPTH=n: also each to which no line came yet by
 *                                    the same n innermost calls
 *     allocations LINE               one of the table
 *     allocations LINE HOW NUMBER    one try, what it says, where its leaks come from
 *
 * The linker gives us what the tools and the libraries in them ask of malloc, mmap and
 * _exit. What ends the program when it fails (base/mem.h) fails a few times only;
 * arrays also fail at any size, as they do at --max-memory. There is one thread: those
 * that can't be had are done without. */
#include "../unit/test.h"
#include "cli/cli.h"
#include "failing.h"
#include "op/op.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { TRIES = 30, WORDS = 100, SECONDS = 60, ENDS = 200 };

/* ---- one run ---- */

static const char *program;
static sigjmp_buf back;
static int last_status;
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status) {
    if (!plan.running) __real__exit(status);
    plan.running = false;
    last_status = status;
    siglongjmp(back, 1);
}

typedef struct Bytes {
    char *p;
    size_t n;
} Bytes;

static Bytes file_read_fd(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0) die("fstat");
    Bytes b = {malloc((size_t)st.st_size + 1), (size_t)st.st_size};
    if (!b.p || pread(fd, b.p, b.n, 0) != (ssize_t)b.n) die("read");
    b.p[b.n] = '\0';
    return b;
}

static bool bytes_equal(Bytes a, Bytes b) {
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

int gload_main(int argc, char **argv);
int ggrad_main(int argc, char **argv);
int grewrite_main(int argc, char **argv);
int grun_main(int argc, char **argv);
int gprof_main(int argc, char **argv);
static const struct {
    const char *name;
    int (*main)(int, char **);
} tools[] = {{"gload", gload_main},
             {"ggrad", ggrad_main},
             {"grewrite", grewrite_main},
             {"grun", grun_main},
             {"gprof", gprof_main}};

/* Words of a shell: '...' and "..." keep blanks together, <FILE is standard input. */
static int split(char *line, char **argv, const char **in) {
    int argc = 0;
    char *to = line;
    *in = "/dev/null";
    while (*line) {
        while (*line == ' ')
            line++;
        if (!*line) break;
        if (argc == WORDS) die("too many words");
        char *word = to, quote = 0;
        for (; *line && (quote || *line != ' '); line++)
            if (*line == quote)
                quote = 0;
            else if (!quote && (*line == '\'' || *line == '"'))
                quote = *line;
            else
                *to++ = *line;
        if (*line) line++;
        *to++ = '\0';
        if (*word == '<')
            *in = word + 1;
        else
            argv[argc++] = word;
    }
    argv[argc] = NULL;
    return argc;
}

static int out_fd, err_fd, own_out, own_err, home_fd;
static bool ended, left_open; /* by _exit; a file */

static void capture(int fd, int to) {
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, to) < 0)
        die("capture");
}

static int call_tool(int argc, char **argv) {
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(argv[0], tools[i].name) == 0) return tools[i].main(argc, argv);
    die(argv[0]);
    return 1;
}

/* The status; what failed is in `plan`, what was said in the files of `capture`. */
static int run(const char *line, How how, size_t at) {
    static char copy[4096];
    static char *argv[WORDS + 1];
    const char *in;
    snprintf(copy, sizeof copy, "%s", line);
    int argc = split(copy, argv, &in), fd = open(in, O_RDONLY);
    if (fd < 0) die(in);
    fflush(stdout);
    dup2(fd, 0);
    close(fd);
    capture(out_fd, 1);
    capture(err_fd, 2);
    plan.how = how, plan.at = at;
    plan.all = plan.soft = blocks.nmade = 0;
    plan.struck = plan.mapping = false;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_sec = SECONDS}, NULL);
    int lowest = dup(0);
    close(lowest);
    ended = sigsetjmp(back, 1) != 0;
    if (!ended) {
        plan.running = true;
        last_status = call_tool(argc, argv);
        plan.running = false;
    }
    int next = dup(0);
    left_open = next != lowest && !ended;
    close_range((unsigned)lowest, ~0U, 0);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    dup2(own_out, 1), dup2(own_err, 2);
    return last_status;
}

/* What shows with names where a backtrace comes from. */
extern const char __executable_start[];
static const char *places(void *const *from, size_t n) {
    static char text[1024];
    Elf64_Ehdr head;
    memcpy(&head, __executable_start, sizeof head);
    uintptr_t base = head.e_type == ET_DYN ? (uintptr_t)__executable_start : 0;
    size_t len = (size_t)snprintf(text, sizeof text, "addr2line -fspe %s", program);
    for (size_t i = 0; i < n && from[i] && len < sizeof text; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, " %#zx",
                                (uintptr_t)from[i] - base);
    return text;
}

/* Takes back what the end of a process would: false if there is nothing. */
static bool give_back(bool say) {
    bool any = blocks.n > 0 || maps.n > 0;
    for (size_t i = 0; i < blocks.nmade && blocks.n; i++) {
        Block *b = block_find(blocks.made[i]);
        if (!b->p) continue;
        if (say && !ended) {
            fprintf(stderr, "left: %zu bytes; %s\n", b->n, places(b->from, PLACES));
        }
        __wrap_free(b->p);
    }
    for (; maps.n; maps.n--) {
        Range r = maps.p[maps.n - 1];
        if (say && !ended) fprintf(stderr, "left: a mapping\n");
        __real_munmap(r.begin, (size_t)(r.end - r.begin));
    }
    return any;
}

static void show(int fd) {
    Bytes b = file_read_fd(fd);
    fwrite(b.p, 1, b.n, stderr);
    free(b.p);
}

/* ---- files ---- */

typedef struct File {
    char name[256];
    Bytes is;
    struct stat st;
    bool seen;
} File;
typedef struct Files {
    File p[400];
    size_t n;
} Files;
static Files before, usual; /* usual: what a line makes or changes when nothing fails */
static Files *found;        /* that nftw adds to */

static File *file_find(Files *f, const char *name) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->p[i].name, name) == 0) return &f->p[i];
    return NULL;
}

static void file_add(Files *f, const char *name, const struct stat *st) {
    int fd = open(name, O_RDONLY);
    if (fd < 0 || f->n == sizeof f->p / sizeof *f->p) die(name);
    File *x = &f->p[f->n++];
    snprintf(x->name, sizeof x->name, "%s", name);
    x->is = file_read_fd(fd);
    x->st = *st;
    x->seen = true;
    close(fd);
}

static void files_clear(Files *f) {
    while (f->n)
        free(f->p[--f->n].is.p);
}

static bool same_stat(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof a->st_mtim) == 0;
}

/* What is as it was before needs no look. */
static int visit(const char *name, const struct stat *st, int type, struct FTW *at) {
    (void)at;
    if (type != FTW_F) return 0;
    File *old = found == &before ? NULL : file_find(&before, name);
    if (old) old->seen = true;
    if (!old || !same_stat(&old->st, st)) file_add(found, name, st);
    return 0;
}

static void walk(Files *to) {
    for (size_t i = 0; i < before.n; i++)
        before.p[i].seen = false;
    found = to;
    files_clear(to);
    if (nftw(".", visit, 16, FTW_PHYS) != 0) die("nftw");
}

static void put_back(File *x) {
    int fd = open(x->name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, x->is.p, x->is.n) != (ssize_t)x->is.n) die(x->name);
    close(fd);
    if (stat(x->name, &x->st) != 0) die(x->name);
}

/* Undoes what `now` found. */
static void restore(const Files *now) {
    for (size_t i = 0; i < now->n; i++) {
        File *old = file_find(&before, now->p[i].name);
        if (old)
            put_back(old);
        else
            unlink(now->p[i].name);
    }
    for (size_t i = 0; i < before.n; i++)
        if (!before.p[i].seen) put_back(&before.p[i]);
}

/* The first file that is neither as before nor as usual, or that is gone. */
static const char *file_wrong(const Files *now) {
    for (size_t i = 0; i < now->n; i++) {
        const File *x = &now->p[i], *old = file_find(&before, x->name),
                   *good = file_find(&usual, x->name);
        if (!(old && bytes_equal(old->is, x->is)) &&
            !(good && bytes_equal(good->is, x->is)))
            return x->name;
    }
    for (size_t i = 0; i < before.n; i++)
        if (!before.p[i].seen) return before.p[i].name;
    return NULL;
}

/* ---- the table ---- */

typedef enum RowKind { TEXT, COPY, MAKE, LINE } RowKind;
typedef struct Row {
    RowKind kind;
    int status;
    bool varies; /* what it prints differs from run to run */
    const char *name, *text;
} Row;
static const Row rows[] = {
#define FILE(name, text)  {TEXT, 0, false, name, text},
#define COPY(name, path)  {COPY, 0, false, name, path},
#define MAKE(text)        {MAKE, 0, false, NULL, text},
#define RUN(status, text) {LINE, status, false, NULL, text},
#define VARIES(text)      {LINE, 0, true, NULL, text},
#include "allocations.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static size_t tries_max, seed;
static struct {
    size_t line; /* 0: all */
    How how;
    size_t at;
} asked;
static size_t lines; /* so far */
static Bytes usual_out;

static size_t messages(const char *text) {
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, "error")); p++)
        n += strncmp(p, "error[", 6) == 0 || strncmp(p, "error\", \"code", 12) == 0;
    return n;
}

/* Without room for OpenBLAS or for machine code, other code rounds otherwise. */
static bool may_vary(const Row *r) {
    return r->varies || plan.mapping;
}

static const char *wrong(const Row *r, int status, const Files *now) {
    static char text[600];
    Bytes out = file_read_fd(out_fd), err = file_read_fd(err_fd);
    const char *why = NULL, *file = file_wrong(now);
    if (status != 6 && status != r->status)
        why = "the status";
    else if (messages(err.p) != (status != 0))
        why = "not one message";
    else if (status == 6 && r->status != 6 && !strstr(err.p, "E_MEM"))
        why = "another message than out of memory";
    else if (status == 0 && !may_vary(r) && !bytes_equal(out, usual_out))
        why = "another output";
    else if (file && !may_vary(r))
        why = "a file";
    if (why)
        snprintf(text, sizeof text, "%s: status %d, %s, stderr: %.400s", why, status,
                 file ? file : "files are whole", err.p);
    free(out.p), free(err.p);
    return why ? text : NULL;
}

static bool try_once(const Row *r, How how, size_t at, bool say) {
    static Files here;
    int status = run(r->text, how, at);
    if (say) show(err_fd);
    bool leaks = give_back(say) && !ended;
    if (!plan.struck && how != NEVER) return false;
    walk(&here);
    const char *why = wrong(r, status, &here);
    if (!why && leaks) why = "blocks or mappings are left";
    if (!why && left_open) why = "a file is left open";
    restore(&here);
    CHECK(!why, "%s\n    %s\n    again: %s %zu %s %zu\n    struck: %s", why, r->text,
          program, lines, how_names[how], at, places(plan.from, plan.nfrom));
    return true;
}

/* As many numbers as are to be tried of those up to n, from one that the seed gives. */
static void try_how(const Row *r, How how, size_t n, size_t most) {
    size_t step = most && n > most ? (n + most - 1) / most : 1;
    int failures = test_failed;
    for (size_t at = 1 + seed % step; at <= n && test_failed < failures + 20;
         at += step)
        if (!try_once(r, how, at, false)) break;
}

/* The file of a path from the folder that the program began in. */
static void copy(const Row *r) {
    int fd = openat(home_fd, r->text, O_RDONLY);
    if (fd < 0) die(r->text);
    File x = {.is = file_read_fd(fd)};
    snprintf(x.name, sizeof x.name, "%s", r->name);
    put_back(&x);
    close(fd);
    free(x.is.p);
}

static bool prepare(const Row *r) {
    if (r->kind == COPY) copy(r);
    if (r->kind == TEXT) {
        File x = {.is = {(char *)(uintptr_t)r->text, strlen(r->text)}};
        snprintf(x.name, sizeof x.name, "%s", r->name);
        put_back(&x);
    }
    if (r->kind != MAKE) return true;
    int status = run(r->text, NEVER, 0);
    give_back(false);
    CHECK(status == 0, "%s", r->text);
    if (status) show(err_fd);
    return status == 0;
}

/* Twice without a failure: the first may fill what lasts as long as the process. */
static bool usual_run(const Row *r, size_t *soft, size_t *all) {
    walk(&before);
    free(usual_out.p);
    usual_out.p = NULL;
    ways.nfresh = 0;
    for (int i = 0; i < 2; i++) {
        ways.noting = i == 1 && ways.depth;
        int status = run(r->text, NEVER, 0);
        ways.noting = false;
        bool leaks = give_back(false);
        CHECK(status == r->status, "%s: status %d", r->text, status);
        CHECK(i == 0 || !leaks, "%s: blocks or mappings are left", r->text);
        CHECK(!left_open, "%s: a file is left open", r->text);
        if (status != r->status) return show(err_fd), false;
        if (i == 0) usual_out = file_read_fd(out_fd);
        walk(&usual);
        restore(&usual);
    }
    *soft = plan.soft, *all = plan.all;
    return true;
}

static void try_ways(const Row *r) {
    int failures = test_failed;
    for (size_t i = 0; i < ways.nfresh && test_failed < failures + 20; i++)
        try_once(r, ONCE, ways.fresh[i], false);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void line(const Row *r) {
    size_t soft, all;
    lines++;
    if (asked.line && asked.line != lines) return;
    if (!usual_run(r, &soft, &all)) return;
    if (asked.how != NEVER) {
        blocks.places = true;
        try_once(r, asked.how, asked.at, true);
        return;
    }
    double start = now();
    int done = test_passed;
    try_how(r, ONCE, soft, tries_max);
    try_how(r, ON, soft, (tries_max + 1) / 2);
    try_how(r, ALL, all, tries_max ? (tries_max + 7) / 8 : ENDS);
    try_ways(r);
    if (getenv("VERBOSE"))
        printf("%zu: %zu, %zu of them soft; %d tries, %.2f s: %s\n", lines, all, soft,
               test_passed - done, now() - start, r->text);
}

/* "expression -> value" of an op's contract: built, run, and run by DEBUG's rules. */
static void example(const char *text, size_t n) {
    static char build[1000];
    const char *arrow = memmem(text, n, " -> ", 4);
    char quote = memchr(text, '\'', n) ? '"' : '\'';
    if (!arrow || memchr(text, quote, n)) return;
    snprintf(build, sizeof build, "gload --new -e %cy = %.*s%c -o e.tlg", quote,
             (int)(arrow - text), text, quote);
    const Row row[] = {{LINE, 0, false, NULL, build},
                       {LINE, 0, false, NULL, "grun e.tlg --mode FAST_COMPILE"},
                       {LINE, 0, false, NULL, "grun e.tlg --mode DEBUG"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        line(&row[i]);
        if (i == 0) run(build, NEVER, 0);
        give_back(false);
    }
}

static void examples(void) {
    Session *s = session_new(NULL, NULL);
    size_t n = 0;
    for (size_t i = 0; i < op_count(s); i++)
        for (const char *p = op_get(s, i)->example; p && *p; n++) {
            size_t len = strcspn(p, "\n");
            example(p, len);
            p += len + (p[len] == '\n');
        }
    session_free(s);
    CHECK(n > 150, "%zu examples", n);
}

/* A fault of a tool is what its status would say; ours ends us. */
static void on_crash(int sig) {
    if (plan.running) __wrap__exit(128 + sig);
    signal(sig, SIG_DFL);
    raise(sig);
}

static size_t number(const char *name, size_t otherwise) {
    const char *t = getenv(name);
    return t && *t ? strtoul(t, NULL, 10) : otherwise;
}

static void catch_crashes(void) {
    static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        signal(caught[i], on_crash);
}

/* AddressSanitizer need not look for leaks: we do. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0:allocator_may_return_null=1";
}

/* One thread; OpenBLAS stays open, as opening it takes longer than most lines. */
static void begin(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    tool_environment();
    dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    blocks.slot = calloc(SLOTS, sizeof *blocks.slot);
    out_fd = memfd_create("out", 0), err_fd = memfd_create("err", 0);
    own_out = dup(1), own_err = dup(2), home_fd = open(".", O_RDONLY);
    if (!blocks.slot || out_fd < 0 || err_fd < 0 || home_fd < 0) die("begin");
    tries_max = number("TRIES", TRIES), seed = number("SEED", 1);
    ways_open(number("DEPTH", 0));
    learn();
    catch_crashes();
}

static int remove_one(const char *name, const struct stat *st, int type,
                      struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(name);
}

/* A tool that ends for want of memory leaves its blocks to the end of its process, and
 * this program frees them for it; those that libyaml has from strdup it doesn't know.
 */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:yaml_parser_append_tag_directive\n";
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/allocations-XXXXXX";
    for (int i = ONCE; argc == 4 && i < HOW_N; i++)
        if (strcmp(argv[2], how_names[i]) == 0) asked.how = (How)i;
    if (argc > 1) asked.line = strtoul(argv[1], NULL, 10);
    if (argc == 4) asked.at = strtoul(argv[3], NULL, 10);
    program = argv[0];
    begin();
    if (!mkdtemp(folder) || chdir(folder) != 0) die(folder);
    bool ok = true;
    for (size_t i = 0; ok && i < ROWS; i++) {
        ok = prepare(&rows[i]);
        if (ok && rows[i].kind == LINE) line(&rows[i]);
    }
    if (ok) examples();
    nftw(folder, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    return TEST_END("allocations");
}
