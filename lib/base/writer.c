/* Writing: what is to become a regular file grows under a temporary name beside it, so
 * that readers see the old file or the whole new one. Everything else is written
 * directly. */
#include "base/fs.h"
#include "base/io_impl.h"
#include "base/num.h"
#include "base/session_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, LINKS_MAX = 40, TRIES = 100 };

struct Writer {
    Session *s;
    int fd;
    bool own;     /* fd is ours to close */
    bool failed;  /* and diagnosed */
    char *name;   /* for messages */
    char *target; /* where the temporary file goes; NULL when written directly */
    char *temp;
    uint64_t offset;
    size_t n;
    unsigned char buf[BUFFER];
};

static char *copy_text(Session *s, const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(s, n), text, n);
}

/* Length of the folder part with its slash; 0 if there is none. */
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
        if (n < 0) return at.p; /* not a link, or not there */
        at.n = n > 0 && to[0] == '/' ? 0 : folder_length(at.p);
        str_add(&at, to, (size_t)n);
    }
    str_free(&at);
    errno = ELOOP;
    return NULL;
}

/* "-", /dev/stdout and the like are open already: opening them anew would start at byte
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

static int open_temp(Writer *w, mode_t mode) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    enum { KEEP = NAME_MAX - 8 }; /* of a long name, beside ".", "." and six letters */
    int dir = (int)folder_length(w->target);
    for (int i = 0; i < TRIES; i++) {
        unsigned char r[6] = {0};
        char tail[7] = {0};
        if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r) r[0] = (unsigned char)i;
        for (int k = 0; k < 6; k++)
            tail[k] = letters[r[k] % 36];
        Str name = STR(w->s);
        str_printf(&name, "%.*s.%.*s.%s", dir, w->target, KEEP, w->target + dir, tail);
        w->temp = name.p;
        bool listed = register_temp(w->s, w->temp);
        (void)listed; /* beyond TEMPS_MAX a signal leaves a file behind, no worse */
        int fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0) return fd;
        int error = errno;
        forget_temp(w->s, w->temp);
        str_free(&name);
        w->temp = NULL;
        errno = error;
        if (error != EEXIST && error != EINTR) return -1;
    }
    return -1;
}

/* Sets w->fd, or returns false and errno. */
static bool open_output(Writer *w, const char *path) {
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

Writer *writer_open(Session *s, const char *path) {
    Writer *w = mem_alloc(s, sizeof *w);
    memset(w, 0, offsetof(Writer, buf));
    w->s = s;
    w->name = copy_text(s, strcmp(path, "-") == 0 ? "<stdout>" : path);
    if (open_output(w, path)) return w;
    fail_os(s, "write", w->name, errno);
    writer_abort(w);
    return NULL;
}

static bool put(Writer *w, const void *p, size_t n) {
    if (!w->failed && !write_whole(w->fd, p, n)) {
        w->failed = true;
        fail_os(w->s, "write", w->name, errno);
    }
    return !w->failed;
}

static bool flush(Writer *w) {
    size_t n = w->n;
    w->n = 0;
    return put(w, w->buf, n);
}

bool writer_add(Writer *w, const void *p, size_t n) {
    w->offset += n;
    if (n > BUFFER - w->n && !flush(w)) return false;
    if (n >= BUFFER) return put(w, p, n);
    if (n) memcpy(w->buf + w->n, p, n);
    w->n += n;
    return !w->failed;
}

uint64_t writer_offset(const Writer *w) {
    return w->offset;
}

/* close() reports what a network file system or a full quota held back. */
static bool close_output(Writer *w) {
    int fd = w->fd;
    w->fd = -1;
    if (!w->own || fd < 0 || close(fd) == 0 || errno == EINTR || w->failed) return true;
    w->failed = true;
    return fail_os(w->s, "write", w->name, errno);
}

static void writer_free(Writer *w) {
    if (w->temp) forget_temp(w->s, w->temp);
    mem_free(w->temp);
    mem_free(w->target);
    mem_free(w->name);
    mem_free(w);
}

bool writer_commit(Writer *w) {
    bool ok = flush(w) && close_output(w);
    if (ok && w->temp && rename(w->temp, w->target) != 0)
        ok = fail_os(w->s, "write", w->name, errno);
    if (!ok) {
        writer_abort(w);
        return false;
    }
    writer_free(w);
    return true;
}

void writer_abort(Writer *w) {
    if (!w) return;
    if (w->own && w->fd >= 0) close(w->fd);
    if (w->temp) unlink(w->temp);
    writer_free(w);
}

void writer_unlink_all(Session *s) {
    for (size_t i = 0; i < TEMPS_MAX; i++) {
        const char *path = atomic_load(&s->temp[i]);
        if (path) unlink(path);
    }
}
