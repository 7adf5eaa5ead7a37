/* Files: reading whole and in pieces, references below a folder, writing through a
 * temporary name. Everything happens in a folder of its own. */
#include "base/session.h"
#include "os/file.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_file(const char *path, const void *p, size_t n) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

static const char *content(Session *s, const char *path) {
    FileData d;
    if (!file_read(s, path, 0, &d)) return "(error)";
    const char *t = arena_str(session_arena(s), (const char *)d.p, d.n);
    file_close(&d);
    return t;
}

static const char *last_error(Session *s) {
    size_t n = diag_count(s);
    return n ? diag_get(s, n - 1)->text : "";
}

static size_t files_here(void) {
    size_t n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return n;
}

static void test_whole(Session *s) {
    FileData d;
    put_file("a", "hello", 5);
    put_file("empty", "", 0);
    CHECK(file_read(s, "a", 0, &d) && d.n == 5 && d.mapped &&
          memcmp(d.p, "hello", 5) == 0);
    file_close(&d);
    CHECK(file_read(s, "empty", 0, &d) && d.n == 0 && d.p);
    file_close(&d);
    CHECK(file_read(s, "a", 5, &d));
    file_close(&d);
    CHECK(!file_read(s, "a", 4, &d) && diag_get(s, 0)->code == E_LIMIT);
    CHECK(!file_read(s, "none", 0, &d));
    CHECK_STR(last_error(s), "can't open none: No such file or directory");
    CHECK(!file_read(s, ".", 0, &d));
    CHECK_STR(last_error(s), "can't open .: Is a directory");
    CHECK(diag_count(s) == 3);
    CHECK(file_read(s, "/proc/self/status", 0, &d) && d.n > 100 && !d.mapped);
    file_close(&d);
    CHECK(!file_read(s, "/dev/zero", 1 << 20, &d));
    CHECK(file_exists("a") && !file_exists("none"));
    diag_clear(s);
}

/* A child feeds `n` bytes, i * 7 mod 251, through a FIFO in odd portions. */
static pid_t feed(const char *fifo, size_t n) {
    pid_t child = fork();
    if (child) return child;
    int fd = open(fifo, O_WRONLY);
    unsigned char buf[3001];
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        for (; k < sizeof buf && i < n; k++, i++)
            buf[k] = (unsigned char)(i * 7 % 251);
        if (write(fd, buf, k) != (ssize_t)k) _exit(1);
    }
    _exit(0);
}

static void test_reader_pipe(Session *s) {
    Reader r;
    size_t total = 3000000, pos = 0;
    mkfifo("pipe", 0600);
    feed("pipe", total);
    CHECK(reader_open(s, "pipe", &r) && !reader_is_mapped(&r));
    int bad = 0;
    for (size_t want = 1; pos < total; want = want * 3 % 100003) {
        bad += !reader_need(&r, want);
        bad += r.n < want && !r.eof;
        size_t take = want < r.n ? want : r.n;
        for (size_t i = 0; i < take; i++)
            bad += r.p[i] != (pos + i) * 7 % 251;
        reader_skip(&r, take);
        pos += take;
        bad += r.offset != pos;
    }
    CHECK(bad == 0 && pos == total, "%d", bad);
    CHECK(reader_need(&r, 1) && r.n == 0 && r.eof);
    reader_close(&r);
    feed("pipe", total);
    CHECK(reader_open(s, "pipe", &r) && reader_need(&r, 10));
    reader_skip(&r, 10);
    CHECK(reader_all(&r) && r.eof && r.n == total - 10 && r.p[5] == 15 * 7 % 251);
    reader_close(&r);
    feed("pipe", 100000);
    FileData d;
    CHECK(file_read(s, "pipe", 0, &d) && d.n == 100000 && !d.mapped && d.p[9] == 63);
    file_close(&d);
    unlink("pipe");
}

static void test_reader(Session *s) {
    Reader r;
    CHECK(reader_open(s, "a", &r) && reader_is_mapped(&r) && r.n == 5 && r.eof);
    reader_skip(&r, 2);
    CHECK(reader_need(&r, 99) && r.n == 3 && r.p[0] == 'l' && r.offset == 2);
    reader_close(&r);
    CHECK(reader_open(s, "empty", &r) && reader_need(&r, 1) && r.n == 0 && r.eof);
    reader_close(&r);
    reader_open_mem(s, "mem", "xyz", 3, &r);
    CHECK(reader_need(&r, 3) && r.n == 3 && r.eof && reader_all(&r) &&
          !reader_is_mapped(&r));
    reader_close(&r);
    CHECK(!reader_open(s, "none", &r) && diag_count(s) == 1);
    reader_close(&r);
    diag_clear(s);
}

static void test_below(Session *s) {
    FileData d;
    mkdir("base", 0755);
    mkdir("base/sub", 0755);
    put_file("base/sub/f", "inside", 6);
    put_file("outside", "no", 2);
    CHECK(file_read_below(s, "base", "sub/f", 0, &d) && d.n == 6);
    file_close(&d);
    CHECK(file_read_below(s, "base", "./sub//f", 0, &d));
    file_close(&d);
    CHECK(file_read_below(s, "", "base/sub/f", 0, &d));
    file_close(&d);
    CHECK(diag_count(s) == 0);
    CHECK(symlink("../outside", "base/link") == 0 &&
          symlink("sub", "base/dirlink") == 0);
    CHECK(link("outside", "base/hard") == 0);
    mkfifo("base/fifo", 0600);
    static const char *const refused[] = {
        "../outside", "sub/../sub/f", "/etc/passwd", "",     "link", "dirlink/f",
        "hard",       "fifo",         "sub",         "none", ".."};
    size_t n = sizeof refused / sizeof *refused;
    for (size_t i = 0; i < n; i++) {
        CHECK(!file_read_below(s, "base", refused[i], 0, &d), "%s", refused[i]);
        CHECK(diag_count(s) == i + 1, "%s", refused[i]);
    }
    CHECK(!file_read_below(s, "base", "sub/f", 5, &d));
    diag_clear(s);
}

static bool write_text(Session *s, const char *path, const char *text) {
    Writer *w = writer_open(s, path);
    return w && writer_add(w, text, strlen(text)) && writer_commit(w);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void test_writer(Session *s) {
    umask(027);
    size_t before = files_here();
    CHECK(write_text(s, "new", "one"));
    CHECK_STR(content(s, "new"), "one");
    CHECK(mode_of("new") == 0640);
    chmod("new", 0751);
    Writer *w = writer_open(s, "new");
    CHECK(w && writer_add(w, "two", 3) && writer_offset(w) == 3);
    CHECK_STR(content(s, "new"), "one");
    CHECK(files_here() == before + 2);
    CHECK(writer_commit(w));
    CHECK_STR(content(s, "new"), "two");
    CHECK(mode_of("new") == 0751 && files_here() == before + 1);
    w = writer_open(s, "new");
    writer_add(w, "lost", 4);
    writer_abort(w);
    CHECK_STR(content(s, "new"), "two");
    w = writer_open(s, "new");
    Writer *w2 = writer_open(s, "new2");
    CHECK(files_here() == before + 3);
    writer_unlink_all(s); /* as a signal handler would */
    CHECK(files_here() == before + 1);
    writer_abort(w);
    CHECK(!writer_commit(w2) && diag_count(s) == 1);
    diag_clear(s);
}

static void test_writer_links(Session *s) {
    mkdir("dir", 0755);
    CHECK(symlink("dir/real", "l1") == 0 && symlink("l1", "l2") == 0);
    CHECK(write_text(s, "l2", "dangling")); /* makes what the links lead to */
    CHECK_STR(content(s, "dir/real"), "dangling");
    CHECK(write_text(s, "l2", "again"));
    CHECK_STR(content(s, "dir/real"), "again");
    struct stat st;
    CHECK(lstat("l2", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(symlink("loop", "loop") == 0 && !write_text(s, "loop", "x"));
    CHECK(!write_text(s, "dir", "x") && !write_text(s, "dir/", "x"));
    CHECK(!write_text(s, "none/x", "x") && diag_count(s) == 4);
    CHECK_STR(last_error(s), "can't write none/x: No such file or directory");
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    diag_clear(s);
    CHECK(write_text(s, name, "long"), "%s", last_error(s));
    CHECK(write_text(s, "/dev/null", "x"));
    CHECK(!write_text(s, "/dev/full", "x") && diag_count(s) == 1);
    CHECK_STR(last_error(s), "can't write /dev/full: No space left on device");
    diag_clear(s);
}

static void test_writer_large(Session *s) {
    Writer *w = writer_open(s, "large");
    static unsigned char block[100000];
    size_t total = 0;
    int bad = 0;
    for (size_t n = 0; n < 100000; n = n * 2 + 1) {
        for (size_t i = 0; i < n; i++)
            block[i] = (unsigned char)((total + i) % 253);
        bad += !writer_add(w, block, n);
        total += n;
    }
    CHECK(writer_offset(w) == total && writer_commit(w));
    FileData d;
    CHECK(file_read(s, "large", 0, &d) && d.n == total);
    for (size_t i = 0; i < d.n; i++)
        bad += d.p[i] != i % 253;
    CHECK(bad == 0, "%d", bad);
    file_close(&d);
}

/* A new file never takes the place of another, not even of a link to nothing. */
static void test_writer_new(Session *s) {
    size_t before = files_here();
    Writer *w = writer_open_new(s, "fresh");
    CHECK(w && writer_add(w, "one", 3) && !file_exists("fresh") && writer_commit(w));
    CHECK_STR(content(s, "fresh"), "one");
    CHECK(symlink("nowhere", "dangling") == 0);
    static const char *const taken[] = {"fresh", "dangling", "base"};
    for (size_t i = 0; i < 3; i++) {
        w = writer_open_new(s, taken[i]);
        CHECK(w && writer_add(w, "two", 3) && !writer_commit(w), "%s", taken[i]);
        CHECK(strstr(last_error(s), "File exists"), "%s", last_error(s));
    }
    CHECK_STR(content(s, "fresh"), "one");
    CHECK(!file_exists("nowhere") && files_here() == before + 2);
    w = writer_open_hash(s);
    CHECK(w && writer_add(w, "a", 1) && writer_add(w, "bc", 2) &&
          writer_offset(w) == 3);
    CHECK(writer_hash(w) == UINT64_C(0x44BC2CF5AD770999)); /* as published for "abc" */
    unlink("dangling");
    diag_clear(s);
}

static void count_left(void *ctx, const char *target, const char *path) {
    (void)path;
    ++*(int *)ctx;
    CHECK_STR(target, "kept");
}

/* What a killed writer left is found, what a living one has is not. */
static void test_left(Session *s) {
    int n = 0;
    Writer *w = writer_open(s, "kept");
    CHECK(w && writer_add(w, "x", 1));
    file_each_leftover(s, ".", count_left, &n);
    CHECK(n == 0);
    CHECK(writer_seal(w));
    file_each_leftover(s, ".", count_left, &n);
    CHECK(n == 0);
    pid_t child = fork();
    if (child == 0) {
        Writer *killed = writer_open(s, "kept");
        _exit(killed ? 0 : 1);
    }
    waitpid(child, NULL, 0);
    put_file(".kept.backup", "", 0);
    put_file(".kept.thunkline.ABC123", "", 0);
    file_each_leftover(s, ".", count_left, &n);
    CHECK(n == 1, "%d", n);
    CHECK(writer_commit(w));
    CHECK_STR(content(s, "kept"), "x");
}

int main(void) {
    char folder[] = "/tmp/os_file.XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
    Session *s = session_new(NULL, NULL);
    test_whole(s);
    test_reader(s);
    test_reader_pipe(s);
    test_below(s);
    test_writer(s);
    test_writer_links(s);
    test_writer_large(s);
    test_writer_new(s);
    test_left(s);
    session_free(s);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return TEST_END("os_file");
}
