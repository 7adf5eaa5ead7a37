/* Preloaded into a tool, changes files right after they were mapped for reading, those
 * whose name ends in $CHANGEMAP:
 *   cc -shared -fPIC -O1 -o changemap.so changemap.c
 *   CHANGEMAP=x.npy LD_PRELOAD=./changemap.so grun ...
 * The last byte becomes another, the size stays. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The clock of files ticks every few milliseconds: their time is set a second on. */
static void change(int fd) {
    const char *end = getenv("CHANGEMAP");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (!end || n < (ssize_t)strlen(end)) return;
    path[n] = '\0';
    if (strcmp(path + n - strlen(end), end) != 0) return;
    int out = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    char last;
    if (out < 0) return;
    if (fstat(out, &st) == 0 && pread(out, &last, 1, st.st_size - 1) == 1) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                          {.tv_sec = st.st_mtim.tv_sec + 1}};
        last ^= 1;
        if (pwrite(out, &last, 1, st.st_size - 1) == 1) futimens(out, times);
    }
    close(out);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    void *(*next)(void *, size_t, int, int, int, off_t);
    *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    void *p = next(at, n, prot, flags, fd, offset);
    if (p != MAP_FAILED && fd >= 0 && prot == PROT_READ) change(fd);
    return p;
}
