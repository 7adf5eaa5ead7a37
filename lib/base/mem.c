/* Heap memory that never fails for its caller: running out ends the program through the
 * session's hook, so that only tensor memory needs an error path. */
#include "base/mem.h"

#include "base/large.h"
#include "base/session_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)

/* A small graph's heap stays in small pages: clearing a huge one takes longer than the
 * few that it would replace, and the last one is half empty. */
enum { HEAP_SMALL = 12 << 20 };
/* The heap grows by this, which is address space only: where it ends, no huge page has
 * room. */
enum { HEAP_STEP = 64 << 20 };

static uintptr_t heap_end(void) {
    return (uintptr_t)sbrk(0);
}

void mem_expect_graphs(Session *s) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, (int)(2 * HUGE_PAGE));
    mallopt(M_TRIM_THRESHOLD, 3 * HEAP_STEP / 2);
    mallopt(M_TOP_PAD, HEAP_STEP);
    atomic_store(&s->heap_huge, heap_end() + HEAP_SMALL);
#else
    (void)s;
#endif
}

static bool expects_graphs(const Session *s) {
    return atomic_load_explicit(&s->heap_huge, memory_order_relaxed) != UINTPTR_MAX;
}

void mem_expect_large_graph(Session *s) {
    uintptr_t end = heap_end();
    if (expects_graphs(s) && end < atomic_load(&s->heap_huge))
        atomic_store(&s->heap_huge, end);
}

/* The heap keeps what is freed in it, and large blocks can't use that. */
void mem_give_back(Session *s, size_t freed) {
#ifdef __GLIBC__
    if (freed >= 2 * HUGE_PAGE && expects_graphs(s)) malloc_trim(0);
#else
    (void)s, (void)freed;
#endif
}

_Noreturn void mem_panic(Session *s) {
    session_panic(s, E_MEM, "out of memory");
}

static size_t checked_product(Session *s, size_t count, size_t size) {
    size_t total;
    if (!size_mul(count, size, &total)) mem_panic(s);
    return total;
}

/* With what malloc adds at its end. */
static size_t block_size(void *p, size_t asked) {
#ifdef __GLIBC__
    (void)asked;
    return malloc_usable_size(p);
#else
    (void)p;
    return asked;
#endif
}

static void advise(uintptr_t from, uintptr_t end) {
    madvise((void *)from, end - from, MADV_HUGEPAGE);
}

/* All pages of a large block get the same advice: realloc can move a mapping without
 * copying only as long as it is one to the kernel. */
static void advise_block(void *p, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    advise((uintptr_t)p & -page,
           ((uintptr_t)p + block_size(p, size) + page - 1) & -page);
}

/* What the heap has grown by since. A block at this address may also be one that was
 * mapped, above the heap. */
static void advise_heap(Session *s, uintptr_t block) {
    uintptr_t end = heap_end(), from = atomic_load(&s->heap_huge);
    if (block < from || block >= end) return;
    advise(from, end);
    atomic_store(&s->heap_huge, end);
}

/* Asks for huge pages, which need several hundred times fewer page faults: for large
 * blocks, and for the heap beyond that of a small graph. */
static void *advise_huge_pages(Session *s, void *p, size_t size) {
    if (size >= 2 * HUGE_PAGE)
        advise_block(p, size);
    else if (s &&
             (uintptr_t)p >= atomic_load_explicit(&s->heap_huge, memory_order_relaxed))
        advise_heap(s, (uintptr_t)p);
    return p;
}

/* Cleared; NULL: malloc is asked. */
static void *alloc_large(const Session *s, size_t size) {
    return s && size > 2 * HUGE_PAGE && expects_graphs(s) ? large_alloc(size) : NULL;
}

void *mem_alloc(Session *s, size_t size) {
    void *large = alloc_large(s, size);
    if (large) return large;
    void *p = malloc(size ? size : 1);
    if (!p) mem_panic(s);
    return advise_huge_pages(s, p, size);
}

void *mem_zalloc(Session *s, size_t count, size_t size) {
    size_t total = checked_product(s, count, size);
    void *large = alloc_large(s, total);
    if (large) return large;
    void *p = calloc(total ? total : 1, 1);
    if (!p) mem_panic(s);
    return advise_huge_pages(s, p, total);
}

static void *move_block(void *to, size_t size, void *from, size_t have) {
    memcpy(to, from, have < size ? have : size);
    mem_free(from);
    return to;
}

void *mem_realloc(Session *s, void *p, size_t count, size_t size) {
    size_t total = checked_product(s, count, size);
    if (large_owns(p))
        return large_resize(p, total)
                   ? p
                   : move_block(mem_alloc(s, total), total, p, large_size(p));
    void *large = alloc_large(s, total);
    if (large) return p ? move_block(large, total, p, block_size(p, 0)) : large;
    void *q = realloc(p, total ? total : 1);
    if (!q) mem_panic(s);
    return advise_huge_pages(s, q, total);
}

char *mem_strdup(Session *s, const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(s, n), text, n);
}

void mem_free(void *p) {
    if (large_owns(p))
        large_free(p);
    else
        free(p);
}

void mem_forget(void *block, size_t from, size_t end) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
              first = ((uintptr_t)block + from + page - 1) & -page,
              last = ((uintptr_t)block + end) & -page;
    if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
}

void *mem_grow_vec_(Session *s, void *p, size_t *cap, size_t need, size_t size) {
    size_t n;
    if (!size_mul(*cap, 2, &n)) n = need;
    if (n < 8) n = 8;
    if (n < need) n = need;
    p = mem_realloc(s, p, n, size);
    *cap = n;
    return p;
}

int mem_compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
