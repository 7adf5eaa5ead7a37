/* Preloaded into a tool, makes the n-th call that writes to a file fail:
 *   cc -shared -fPIC -O1 -o failwrite.so failwrite.c
 *   FAILWRITE_AT=3 FAILWRITE_ERRNO=28 LD_PRELOAD=./failwrite.so grun ... --save s.tlg
 * write, pwrite, writev, ftruncate, fsync, fdatasync and the renames count, on anything
 * but stderr; the calls after it fail, too, unless FAILWRITE_ONCE is set. With
 * FAILWRITE_SIGNAL=11 that signal comes instead. With FAILWRITE_SHORT every write takes
 * one byte at most, and each other one is interrupted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic unsigned long count;

static unsigned long number(const char *name) {
    const char *t = getenv(name);
    return t ? strtoul(t, NULL, 10) : 0;
}

static int strikes(int fd) {
    unsigned long at = number("FAILWRITE_AT"), i;
    if (fd == 2) return 0;
    i = atomic_fetch_add(&count, 1) + 1;
    if (!at || (getenv("FAILWRITE_ONCE") ? i != at : i < at)) return 0;
    if (number("FAILWRITE_SIGNAL")) raise((int)number("FAILWRITE_SIGNAL"));
    errno = (int)number("FAILWRITE_ERRNO");
    return 1;
}

#define NEXT(f) (*(__typeof__(&(f)))dlsym(RTLD_NEXT, #f))

ssize_t write(int fd, const void *p, size_t n) {
    if (strikes(fd)) return -1;
    if (fd != 2 && n && getenv("FAILWRITE_SHORT")) {
        if (count % 2) return errno = EINTR, -1;
        n = 1;
    }
    return NEXT(write)(fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
    return strikes(fd) ? -1 : NEXT(pwrite)(fd, p, n, at);
}

ssize_t writev(int fd, const struct iovec *v, int n) {
    return strikes(fd) ? -1 : NEXT(writev)(fd, v, n);
}

int ftruncate(int fd, off_t n) {
    return strikes(fd) ? -1 : NEXT(ftruncate)(fd, n);
}

int fsync(int fd) {
    return strikes(fd) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd) {
    return strikes(fd) ? -1 : NEXT(fdatasync)(fd);
}

int rename(const char *from, const char *to) {
    return strikes(-1) ? -1 : NEXT(rename)(from, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    return strikes(-1) ? -1 : NEXT(renameat2)(a, from, b, to, flags);
}

int renameat(int a, const char *from, int b, const char *to) {
    return strikes(-1) ? -1 : NEXT(renameat)(a, from, b, to);
}
