/* Whole files: mapped if regular, else read to the end. */
#include "os/file.h"

#include "base/session.h"
#include "os/os_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_READ = 1 << 16 };

bool file_fail_os(Session *s, const char *verb, const char *name, int error) {
    if (error == EPIPE) {
        fail(s, NOWHERE, E_DOWNSTREAM, "can't %s %s: its reader has ended", verb, name);
        return diag_set_exit(s, 128 + SIGPIPE), false;
    }
    return fail(s, NOWHERE, E_IO, "can't %s %s: %s", verb, name,
                strerrordesc_np(error));
}

/* Should the call be repeated? Yes if it was interrupted, or if it wasn't ready (this
 * waits). */
static bool wait_to_retry(int fd, short events) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN) return false;
    struct pollfd ready = {fd, events, 0};
    return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

ssize_t file_read_some(int fd, void *p, size_t n) {
    for (;;) {
        ssize_t got = read(fd, p, n);
        if (got >= 0 || !wait_to_retry(fd, POLLIN)) return got;
    }
}

bool file_write_all(int fd, const void *p, size_t n) {
    for (const char *at = p; n > 0;) {
        ssize_t put = write(fd, at, n);
        if (put < 0) {
            if (!wait_to_retry(fd, POLLOUT)) return false;
            continue;
        }
        at += put;
        n -= (size_t)put;
    }
    return true;
}

int file_open_input(Session *s, const char *path, const char **name, bool *own) {
    *own = strcmp(path, "-") != 0;
    *name = *own ? path : "<stdin>";
    if (!*own) return STDIN_FILENO;
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        errno = EISDIR;
        fd = -1;
    }
    if (fd < 0) file_fail_os(s, "open", path, errno);
    return fd;
}

bool file_fail_too_large(Session *s, const char *name, const char *how,
                         uint64_t limit) {
    fail(s, NOWHERE, E_LIMIT, "%s %s than the limit of %llu bytes", name, how,
         (unsigned long long)limit);
    if (limit == session_max_memory(s)) hint(s, HINT_MAX_MEMORY);
    return false;
}

bool file_check_start(Session *s, const char *name, const unsigned char *p, size_t n) {
    static const unsigned char zeros[8];
    return n < sizeof zeros || memcmp(p, zeros, sizeof zeros) != 0 ||
           fail(s, NOWHERE, E_FORMAT,
                "%s begins with zeros: it is neither a graph nor an array", name);
}

/* A file has an end; what else begins with zeros may go on with them for ever. */
static bool check_endless(Session *s, int fd, const char *name, const unsigned char *p,
                          size_t n) {
    struct stat st;
    return (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) ||
           file_check_start(s, name, p, n);
}

static bool read_fd_to_end(Session *s, int fd, const char *name, uint64_t limit,
                           FileData *out) {
    Vec(unsigned char) v = {0};
    ssize_t got;
    do {
        vec_reserve(s, &v, FIRST_READ);
        got = file_read_some(fd, v.p + v.n, v.cap - v.n);
        if (got > 0) v.n += (size_t)got;
        if (got < 0 || (limit && v.n > limit) ||
            !check_endless(s, fd, name, v.p, v.n)) {
            int error = errno;
            bool large = limit && v.n > limit;
            vec_free(&v);
            if (large) return file_fail_too_large(s, name, "is larger", limit);
            return got < 0 && file_fail_os(s, "read", name, error);
        }
    } while (got > 0);
    if (v.n == 0) vec_free(&v);
    *out = (FileData){v.p ? v.p : (const unsigned char *)"", v.n, false, s};
    return true;
}

bool file_read_fd(Session *s, int fd, const char *name, uint64_t limit, FileData *out) {
    size_t n;
    void *p = mapped_open(s, fd, name, &n);
    if (!p) return read_fd_to_end(s, fd, name, limit, out);
    if (limit && n > limit) {
        mapped_close(s, p, n);
        return file_fail_too_large(s, name, "is larger", limit);
    }
    *out = (FileData){p, n, true, s};
    return true;
}

bool file_read(Session *s, const char *path, uint64_t limit, FileData *out) {
    const char *name;
    bool own;
    *out = (FileData){(const unsigned char *)"", 0, false, NULL};
    int fd = file_open_input(s, path, &name, &own);
    if (fd < 0) return false;
    bool ok = file_read_fd(s, fd, name, limit, out);
    if (own) close(fd);
    return ok;
}

void file_close(FileData *d) {
    union {
        const unsigned char *in;
        void *out;
    } u = {.in = d->p};
    if (d->mapped)
        mapped_close(d->s, u.out, d->n);
    else if (d->n > 0)
        mem_free(u.out);
    *d = (FileData){(const unsigned char *)"", 0, false, NULL};
}

bool file_exists(const char *path) {
    return access(path, F_OK) == 0;
}
