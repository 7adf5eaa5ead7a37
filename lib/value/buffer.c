/* Reference-counted memory for tensor data, with an account that has a limit. Small
 * blocks come from the heap; large ones are mapped, aligned to huge pages and returned
 * to the system immediately. */
#include "value/value_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64 };
#define HUGE_PAGE  ((size_t)2 << 20)
#define MAPPED_MIN (HUGE_PAGE - HUGE_PAGE / 8)
/* Smaller arrays count as small memory, whose allocation never fails for its caller
 * (base/mem.h). */
#define SMALL ((size_t)4 << 10)

typedef struct MemoryAccount {
    _Atomic uint64_t used, peak;
} MemoryAccount;

static MemoryAccount *memory_account(Session *s) {
    MemoryAccount *a = session_slot(s, SLOT_VALUE);
    if (a) return a;
    a = mem_zalloc(s, 1, sizeof *a);
    atomic_init(&a->used, 0);
    atomic_init(&a->peak, 0);
    session_set_slot(s, SLOT_VALUE, a, mem_free);
    return a;
}

const char *buffer_size_text(char *buf, uint64_t n) {
    static const char units[] = "KMGTPE";
    if (n < 1024) {
        snprintf(buf, 32, "%u bytes", (unsigned)n);
        return buf;
    }
    double v = (double)n;
    int u = -1;
    for (; v >= 1024 && u < 5; u++)
        v /= 1024;
    snprintf(buf, 32, "%.*f %ciB", v < 100, v, units[u]);
    return buf;
}

static bool fail_no_memory(Session *s, uint64_t size, uint64_t used, uint64_t limit) {
    char want[32], left[32], all[32];
    fail(s, NOWHERE, E_MEM,
         "%s of memory are needed, but only %s of %s are left: use smaller arrays",
         buffer_size_text(want, size),
         buffer_size_text(left, limit > used ? limit - used : 0),
         buffer_size_text(all, limit));
    return hint(s, HINT_MAX_MEMORY);
}

static void raise_peak(MemoryAccount *a, uint64_t now) {
    uint64_t peak = atomic_load(&a->peak);
    while (now > peak && !atomic_compare_exchange_weak(&a->peak, &peak, now))
        ;
}

static bool charge_account(Session *s, size_t size) {
    MemoryAccount *a = memory_account(s);
    uint64_t before = atomic_fetch_add(&a->used, size), now = before + size;
    if (session_exceeds_memory(s, size) || session_exceeds_memory(s, now)) {
        atomic_fetch_sub(&a->used, size);
        return fail_no_memory(s, size, before, session_max_memory(s));
    }
    raise_peak(a, now);
    return true;
}

bool buffer_fits(Session *s, size_t size) {
    size_t used = buffer_bytes_used(s), all;
    return (size_add(used, size, &all) && !session_exceeds_memory(s, all)) ||
           fail_no_memory(s, size, used, session_max_memory(s));
}

void buffer_count_extra(Session *s, uint64_t was, uint64_t now) {
    MemoryAccount *a = memory_account(s);
    raise_peak(a, atomic_fetch_add(&a->used, now - was) + now - was);
}

uint64_t buffer_bytes_used(Session *s) {
    return atomic_load(&memory_account(s)->used);
}
uint64_t buffer_bytes_peak(Session *s) {
    return atomic_load(&memory_account(s)->peak);
}
void buffer_reset_peak(Session *s) {
    MemoryAccount *a = memory_account(s);
    atomic_store(&a->peak, atomic_load(&a->used));
}

/* If little of the last huge page would be unused, takes all of it: what lies in pages
 * of the usual size is read at half the speed from memory. */
static size_t mapped_size(size_t size) {
    size_t page = 4096, whole = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    return whole - size <= size / 4 ? whole : (size + page - 1) / page * page;
}

/* Maps more than necessary, then trims it to start at a huge page. */
static void *map_huge(size_t size) {
    size_t len = mapped_size(size), all;
    if (!size_add(len, HUGE_PAGE, &all)) return NULL;
    char *p =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t head = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (head) munmap(p, head);
    if (all - head > len) munmap(p + head + len, all - head - len);
    madvise(p + head, len, MADV_HUGEPAGE);
    return p + head;
}

static void uncharge_account(const Buffer *b) {
    if (b->s) atomic_fetch_sub(&memory_account(b->s)->used, b->size);
}
static void release_mapped(Buffer *b) {
    uncharge_account(b);
    munmap(b->data, mapped_size(b->size));
    mem_free(b);
}
static void release_heap(Buffer *b) {
    uncharge_account(b);
    free(b->data);
    mem_free(b);
}

Buffer *buffer_new(Session *s, size_t size) {
    size_t room;
    if (!size_add(size, ALIGN - 1, &room) || size > PTRDIFF_MAX) {
        fail_no_memory(s, size, buffer_bytes_used(s), session_max_memory(s));
        return NULL;
    }
    if (!charge_account(s, size)) return NULL;
    bool mapped = size >= MAPPED_MIN;
    room = room / ALIGN * ALIGN;
    void *data = mapped ? map_huge(size) : aligned_alloc(ALIGN, room ? room : ALIGN);
    if (!data && size < SMALL) mem_panic(s);
    if (!data) {
        atomic_fetch_sub(&memory_account(s)->used, size);
        char want[32];
        fail(s, NOWHERE, E_MEM, "the machine does not have %s of memory for an array",
             buffer_size_text(want, size));
        return NULL;
    }
    Buffer *b =
        buffer_wrap(s, data, size, mapped ? release_mapped : release_heap, NULL);
    b->s = s;
    return b;
}

Buffer *buffer_wrap(Session *s, void *data, size_t size, void (*release)(Buffer *),
                    void *ctx) {
    Buffer *b = mem_zalloc(s, 1, sizeof *b);
    atomic_init(&b->refs, 1);
    b->data = data;
    b->size = size;
    b->release = release;
    b->ctx = ctx;
    return b;
}

Buffer *buffer_ref(Buffer *b) {
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void buffer_unref(Buffer *b) {
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        b->release(b);
}
