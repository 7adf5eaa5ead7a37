/* A block begins behind a header at a multiple of a huge page, where one of malloc's
 * hardly ever lies; the header then tells. Behind the block is address space to grow
 * into, which becomes memory page by page as it is written. Pages are huge as far as
 * the block fills them; its end is in small ones. */
#include "base/large.h"

#include "base/sanitizer.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_PAGE     ((size_t)2 << 20)
#define ADDRESS_SPACE ((size_t)4 << 30) /* of each block */
#define MAGIC         UINT64_C(0x7F4E92B0C6D5A381)

typedef struct Header {
    uint64_t magic;  /* MAGIC, with the header's address */
    size_t size;     /* of the block */
    char unused[48]; /* the block begins with a cache line */
} Header;

static size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) & -unit;
}

/* In whole pages, with the header. */
static size_t mapped_size(size_t size) {
    return round_up(sizeof(Header) + size, (size_t)sysconf(_SC_PAGESIZE));
}

static Header *header_of(const void *p) {
    return (Header *)((uintptr_t)p - sizeof(Header));
}

static uint64_t magic_of(const Header *h) {
    return MAGIC ^ (uint64_t)(uintptr_t)h;
}

bool large_owns(const void *p) {
    if (SANITIZED || (uintptr_t)p % HUGE_PAGE != sizeof(Header)) return false;
    const Header *h = header_of(p);
    return h->magic == magic_of(h);
}

size_t large_size(const void *p) {
    return header_of(p)->size;
}

/* From a multiple of a huge page on; NULL: there is none. */
static void *reserve_addresses(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
        return NULL;
    char *p = mmap(NULL, ADDRESS_SPACE + HUGE_PAGE, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = -(uintptr_t)p % HUGE_PAGE;
    if (before) munmap(p, before);
    munmap(p + before + ADDRESS_SPACE, HUGE_PAGE - before);
    return p + before;
}

/* What could be written up to `from` can be up to `to` from now on. */
static bool map_more(char *base, size_t from, size_t to) {
    if (mprotect(base + from, to - from, PROT_READ | PROT_WRITE) != 0) return false;
    from &= -HUGE_PAGE;
    to &= -HUGE_PAGE;
    if (from < to) madvise(base + from, to - from, MADV_HUGEPAGE);
    return true;
}

void *large_alloc(size_t size) {
    Header *h =
        SANITIZED || size > ADDRESS_SPACE - HUGE_PAGE ? NULL : reserve_addresses();
    if (!h) return NULL;
    if (!map_more((char *)h, 0, mapped_size(size))) {
        munmap(h, ADDRESS_SPACE);
        return NULL;
    }
    h->magic = magic_of(h);
    h->size = size;
    return h + 1;
}

bool large_resize(void *p, size_t size) {
    Header *h = header_of(p);
    if (size > ADDRESS_SPACE - HUGE_PAGE) return false;
    size_t from = mapped_size(h->size), to = mapped_size(size);
    if (to > from && !map_more((char *)h, from, to)) return false;
    if (to < from && mmap((char *)h + to, from - to, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return false;
    h->size = size;
    return true;
}

void large_free(void *p) {
    munmap(header_of(p), ADDRESS_SPACE);
}
