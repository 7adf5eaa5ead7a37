/* Writing: a future regular file grows under a temporary name beside it, so that
 * readers see either the old file or the complete new one. Everything else is written
 * directly. A temporary file is locked while its writer lives, so that a later writer
 * can recognise what a killed one has left (os/leftovers.c). */
#include "base/map.h"
#include "base/num.h"
#include "os/file.h"
#include "os/os_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, LINKS_MAX = 40, TRIES = 100 };

struct Writer {
    Session *s;
    int fd;
    int lock;     /* on the temporary file, once fd is closed */
    bool own;     /* fd is ours to close */
    bool failed;  /* already diagnosed */
    bool sealed;  /* nothing may be added */
    bool durable; /* survives a power failure once committed */
    bool fresh;   /* no file may have the target's name yet */
    Xxh64 *hash;  /* of what would be written; nothing is */
    char *name;   /* for messages */
    char *target; /* where the temporary file goes; NULL when written directly */
    char *temp;
    uint64_t offset;
    size_t n;
    unsigned char buf[BUFFER];
};

/* Length of the folder part including its slash; 0 if there is none. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The path that links at its end lead to, which need not exist. NULL and errno. */
static char *resolve_links(Session *s, const char *path) {
    Str at = STR(s);
    str_puts(&at, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        char to[PATH_MAX];
        ssize_t n = readlink(at.p, to, sizeof to);
        if (n < 0) return at.p; /* not a link, or missing */
        at.n = n > 0 && to[0] == '/' ? 0 : folder_length(at.p);
        str_add(&at, to, (size_t)n);
    }
    str_free(&at);
    errno = ELOOP;
    return NULL;
}

/* "-", /dev/stdout and the like are already open: reopening them would start at byte
 * 0. */
static int inherited_fd(const char *path) {
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    size_t prefix = strncmp(path, "/dev/fd/", 8) == 0          ? 8
                    : strncmp(path, "/proc/self/fd/", 14) == 0 ? 14
                                                               : 0;
    uint64_t fd;
    bool overflow;
    size_t n = strlen(path + prefix);
    if (!prefix || n == 0 || num_read_uint(path + prefix, n, &fd, &overflow) != n)
        return -1;
    return fd <= INT_MAX ? (int)fd : -1;
}

/* False if somebody has found the new file and mistaken it for a leftover. */
static bool lock_temp(int fd) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

static int open_temp(Writer *w, mode_t mode) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    enum { KEEP = NAME_MAX - TEMP_EXTRA }; /* of a long name */
    int dir = (int)folder_length(w->target);
    for (int i = 0; i < TRIES; i++) {
        unsigned char r[6] = {0};
        char tail[7] = {0};
        if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r) r[0] = (unsigned char)i;
        for (int k = 0; k < 6; k++)
            tail[k] = letters[r[k] % 36];
        Str name = STR(w->s);
        str_printf(&name, "%.*s.%.*s" TEMP_MARK "%s", dir, w->target, KEEP,
                   w->target + dir, tail);
        w->temp = name.p;
        file_track_temp(w->s, w->temp);
        int fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 && lock_temp(fd)) return fd;
        int error = fd >= 0 ? EEXIST : errno;
        if (fd >= 0) close(fd);
        file_untrack_temp(w->s, w->temp);
        str_free(&name);
        w->temp = NULL;
        errno = error;
        if (error != EEXIST && error != EINTR) return -1;
    }
    return -1;
}

/* Sets w->fd, or returns false and errno. */
static bool open_target(Writer *w, const char *path) {
    struct stat st;
    w->fd = inherited_fd(path);
    w->own = w->fd < 0;
    if (!w->own) return fcntl(w->fd, F_GETFD) >= 0;
    bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode)) {
        do
            w->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        while (w->fd < 0 && errno == EINTR);
        return w->fd >= 0;
    }
    w->target = resolve_links(w->s, path);
    if (!w->target || (there && access(path, W_OK) != 0)) return false;
    if (folder_length(w->target) == strlen(w->target)) {
        errno = EISDIR; /* "folder/" */
        return false;
    }
    w->fd = open_temp(w, there ? 0600 : 0666);
    return w->fd >= 0 && (!there || fchmod(w->fd, st.st_mode & 07777) == 0);
}

static Writer *new_writer(Session *s, const char *name) {
    Writer *w = mem_alloc(s, sizeof *w);
    memset(w, 0, offsetof(Writer, buf));
    w->s = s;
    w->fd = w->lock = -1;
    w->name = mem_strdup(s, name);
    return w;
}

static Writer *check_opened(Writer *w, bool ok) {
    if (ok) return w;
    file_fail_os(w->s, "write", w->name, errno);
    writer_abort(w);
    return NULL;
}

Writer *writer_open(Session *s, const char *path) {
    Writer *w = new_writer(s, strcmp(path, "-") == 0 ? "<stdout>" : path);
    return check_opened(w, open_target(w, path));
}

Writer *writer_open_new(Session *s, const char *path) {
    Writer *w = new_writer(s, path);
    w->own = w->fresh = true;
    w->target = mem_strdup(s, path);
    w->fd = open_temp(w, 0666);
    return check_opened(w, w->fd >= 0);
}

Writer *writer_open_hash(Session *s) {
    Writer *w = new_writer(s, "");
    w->hash = mem_alloc(s, sizeof *w->hash);
    hash_xxh64_init(w->hash, 0);
    return w;
}

const char *writer_target(const Writer *w) {
    return w->target;
}

void writer_leave(Writer *w) {
    if (w->temp) file_untrack_temp(w->s, w->temp);
}

void writer_make_durable(Writer *w) {
    w->durable = w->target != NULL;
}

static bool write_unbuffered(Writer *w, const void *p, size_t n) {
    if (w->hash) return hash_xxh64_add(w->hash, p, n), true;
    if (w->fd == STDOUT_FILENO && n > 0) atomic_store(&open_files(w->s)->printed, true);
    if (!w->failed && !file_write_all(w->fd, p, n)) {
        w->failed = true;
        if (errno != EFAULT || mapped_unchanged(w->s))
            file_fail_os(w->s, "write", w->name, errno);
    }
    return !w->failed;
}

static bool flush_buffer(Writer *w) {
    size_t n = w->n;
    w->n = 0;
    return write_unbuffered(w, w->buf, n);
}

bool writer_add(Writer *w, const void *p, size_t n) {
    w->offset += n;
    if (n > BUFFER - w->n && !flush_buffer(w)) return false;
    if (n >= BUFFER) return write_unbuffered(w, p, n);
    if (n) memcpy(w->buf + w->n, p, n);
    w->n += n;
    return !w->failed;
}

bool writer_flush(Writer *w) {
    return flush_buffer(w);
}

uint64_t writer_offset(const Writer *w) {
    return w->offset;
}

/* close() reports errors that a network file system or a full quota has delayed. */
static bool close_output(Writer *w) {
    int fd = w->fd;
    w->fd = -1;
    if (!w->own || fd < 0 || close(fd) == 0 || errno == EINTR || w->failed) return true;
    w->failed = true;
    return file_fail_os(w->s, "write", w->name, errno);
}

/* Does the error of fsync() say that the file system has no such thing for folders? */
static bool is_unsupported(int error) {
    static const int all[] = {EINVAL, ENOTSUP, ENOSYS, EBADF, EACCES, EPERM, EROFS};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == error) return true;
    return false;
}

bool file_sync_folder(Session *s, const char *path) {
    char *folder = mem_strdup(s, path);
    size_t n = folder_length(folder);
    folder[n > 1 ? n - 1 : n] = '\0';
    int fd = open(n ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd >= 0 && fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    mem_free(folder);
    return !error || is_unsupported(error) ||
           file_fail_os(s, "sync the folder of", path, error);
}

static bool sync_output(Writer *w) {
    if (!w->durable || fsync(w->fd) == 0) return true;
    w->failed = true;
    return file_fail_os(w->s, "write", w->name, errno);
}

bool writer_seal(Writer *w) {
    if (w->sealed) return !w->failed;
    w->sealed = true;
    if (!flush_buffer(w) || !sync_output(w)) return false;
    if (w->temp) w->lock = fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
    return close_output(w);
}

/* Never overwrites a file, not even one that another program has just made. */
static bool rename_fresh(const char *from, const char *to) {
    struct stat st;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    if (lstat(to, &st) != 0 && errno == ENOENT) return rename(from, to) == 0;
    errno = EEXIST;
    return false;
}

static bool rename_temp(Writer *w) {
    if (!w->temp) return true;
    bool ok =
        w->fresh ? rename_fresh(w->temp, w->target) : rename(w->temp, w->target) == 0;
    return ok || file_fail_os(w->s, "write", w->name, errno);
}

static void writer_free(Writer *w) {
    if (w->lock >= 0) close(w->lock);
    mem_free(w->hash);
    if (w->temp) file_untrack_temp(w->s, w->temp);
    mem_free(w->temp);
    mem_free(w->target);
    mem_free(w->name);
    mem_free(w);
}

bool writer_commit_named(Writer *w, bool *named) {
    *named = writer_seal(w) && mapped_unchanged(w->s) && rename_temp(w);
    if (!*named) return writer_abort(w), false;
    bool ok = !w->durable || file_sync_folder(w->s, w->target);
    writer_free(w);
    return ok;
}

bool writer_commit(Writer *w) {
    bool named;
    return writer_commit_named(w, &named);
}

void writer_abort(Writer *w) {
    if (!w) return;
    if (w->own && w->fd >= 0) close(w->fd);
    if (w->temp) unlink(w->temp);
    writer_free(w);
}

uint64_t writer_hash(Writer *w) {
    flush_buffer(w);
    uint64_t h = hash_xxh64_end(w->hash);
    writer_free(w);
    return h;
}
