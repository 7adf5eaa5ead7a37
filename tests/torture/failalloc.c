/* Preloaded into a tool, makes the n-th allocation fail (glibc):
 *   cc -shared -fPIC -O1 -o failalloc.so failalloc.c
 *   FAILALLOC_AT=7 LD_PRELOAD=./failalloc.so gload ...     the 7th and all after it
 *   FAILALLOC_AT=7 FAILALLOC_ONCE=1 ...                    the 7th alone
 *   FAILALLOC_LOG=file ...    the number of allocations, 8 bytes in the machine's
 * order, however the program ends; nothing fails without FAILALLOC_AT
 *   FAILALLOC_LEAST=4096 ...  counts, and fails, those of at least so many bytes
 * malloc and its like and mmap count; what ld.so and glibc map for themselves does not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static _Atomic uint64_t own_count, *count = &own_count;
static uint64_t fail_at, least;
static int once;

static uint64_t number(const char *name) {
    const char *t = getenv(name);
    return t ? strtoull(t, NULL, 10) : 0;
}

#define strikes(n) fails(n, __builtin_return_address(0))

static void *map(void *at, size_t n, int prot, int flags, int fd, off_t from) {
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, from);
}

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("FAILALLOC_LOG");
    int fd = log ? open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd >= 0 && ftruncate(fd, sizeof *count) == 0) {
        void *p = map(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) count = p;
    }
    if (fd >= 0) close(fd);
    once = getenv("FAILALLOC_ONCE") != NULL;
    least = number("FAILALLOC_LEAST");
    fail_at = number("FAILALLOC_AT");
}

/* From now on none fails: for who has work left when the program is over. */
void failalloc_end(void);
void failalloc_end(void) {
    fail_at = 0;
}

static int is_spared(const void *caller) {
    static const char *const spared[] = {"gfortran", "openblas", "quadmath"};
    Dl_info in;
    if (!dladdr(caller, &in) || !in.dli_fname) return 0;
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        if (strstr(in.dli_fname, spared[i])) return 1;
    return 0;
}

static int fails(size_t n, const void *caller) {
    if (n < least) return 0;
    uint64_t i = atomic_fetch_add(count, 1) + 1;
    if (!fail_at || (once ? i != fail_at : i < fail_at) || is_spared(caller)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) {
    return strikes(n) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return strikes(n * size) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    return strikes(n) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n) {
    return strikes(n) ? NULL : __libc_memalign(align, n);
}

void *memalign(size_t align, size_t n) {
    return aligned_alloc(align, n);
}

int posix_memalign(void **p, size_t align, size_t n) {
    return (*p = aligned_alloc(align, n)) ? 0 : ENOMEM;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from) {
    return strikes(n) ? MAP_FAILED : map(at, n, prot, flags, fd, from);
}
