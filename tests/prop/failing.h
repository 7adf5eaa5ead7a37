/* A program's own memory: what it asks malloc, mmap and buffer_new for is counted, and
 * fails as `plan` says. The linker wraps the calls (Makefile: ALLOC_WRAP). */
#ifndef FAILING_H
#define FAILING_H

#include "failing_build.h"
#include "value/value.h"
#include "ways.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PLACES = 16 };

typedef enum How { NEVER, ONCE, ON, ALL, HOW_N } How; /* ON: none that can go on */
static const char *const how_names[] = {"never", "once", "on", "all"};

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* ---- what fails ---- */

static struct {
    bool running;
    How how;
    size_t at;
    size_t all, soft;     /* counted so far; soft: an error, not the end */
    bool struck, mapping; /* the latter: among what was struck */
    void *from[PLACES];   /* where it struck first */
    size_t nfrom;
    const void *hard[4]; /* calls whose failing ends the program */
    size_t nhard;
    bool learning;
} plan;

/* ---- blocks, by address ---- */

typedef struct Block {
    void *p;
    size_t n;
    void *from[PLACES]; /* of a single try */
} Block;
enum { SLOTS = 1 << 20 };
static struct {
    Block *slot;
    size_t n;
    void **made; /* in this try */
    size_t nmade, cap;
    bool places;
} blocks;

static size_t home(const void *p) {
    return (size_t)((uintptr_t)p / 16 * 0x9E3779B97F4A7C15u >> 44) % SLOTS;
}

static Block *block_find(const void *p) {
    size_t i = home(p);
    while (blocks.slot[i].p && blocks.slot[i].p != p)
        i = (i + 1) % SLOTS;
    return &blocks.slot[i];
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);

static void *block_add(void *p, size_t n) {
    if (!p || !plan.running) return p;
    if (++blocks.n > SLOTS / 2) die("too many blocks");
    if (blocks.nmade == blocks.cap) {
        blocks.cap = blocks.cap ? 2 * blocks.cap : 4096;
        blocks.made = __real_realloc(blocks.made, blocks.cap * sizeof *blocks.made);
        if (!blocks.made) die("realloc");
    }
    blocks.made[blocks.nmade++] = p;
    Block *b = block_find(p);
    *b = (Block){.p = p, .n = n};
    if (blocks.places) backtrace(b->from, PLACES);
    return p;
}

/* What libc made for us isn't in the table. */
static void block_remove(const void *p) {
    Block *b = block_find(p);
    if (!b->p) return;
    blocks.n--;
    size_t hole = (size_t)(b - blocks.slot);
    for (size_t i = (hole + 1) % SLOTS; blocks.slot[i].p; i = (i + 1) % SLOTS) {
        size_t at = home(blocks.slot[i].p);
        if ((i - at) % SLOTS < (i - hole) % SLOTS) continue;
        blocks.slot[hole] = blocks.slot[i];
        hole = i;
    }
    blocks.slot[hole].p = NULL;
}

/* ---- mappings ---- */

typedef struct Range {
    char *begin, *end;
} Range;
static struct {
    Range p[4096];
    size_t n;
} maps;

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __real_munmap(void *p, size_t n);

static void map_add(char *begin, char *end) {
    if (begin == end) return;
    if (maps.n == sizeof maps.p / sizeof *maps.p) die("too many mappings");
    maps.p[maps.n++] = (Range){begin, end};
}

static void map_remove(char *begin, char *end) {
    for (size_t i = 0; i < maps.n; i++) {
        Range r = maps.p[i];
        if (begin < r.begin || begin >= r.end) continue;
        maps.p[i] = maps.p[--maps.n];
        map_add(r.begin, begin);
        if (end < r.end) map_add(end, r.end);
        return;
    }
}

static bool is_hard(const void *caller) {
    for (size_t i = 0; i < plan.nhard; i++)
        if (plan.hard[i] == caller) return true;
    return false;
}

static bool strikes(bool soft) {
    if (!plan.running) return false;
    plan.all++;
    plan.soft += soft;
    if (soft) way_note(plan.soft);
    bool now = plan.how == ONCE  ? soft && plan.soft == plan.at
               : plan.how == ON  ? soft && plan.soft >= plan.at
               : plan.how == ALL ? plan.all >= plan.at
                                 : false;
    if (now && !plan.struck) plan.nfrom = (size_t)backtrace(plan.from, PLACES);
    plan.struck |= now;
    if (now) errno = ENOMEM;
    return now;
}

static bool called(const void *caller) {
    if (plan.learning && plan.nhard < 4) plan.hard[plan.nhard++] = caller;
    return strikes(!is_hard(caller));
}
#define FAILS called(__builtin_return_address(0))

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __wrap_munmap(void *p, size_t n);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *),
                          void *ctx);
Buffer *__real_buffer_new(Session *s, size_t size);
Buffer *__wrap_buffer_new(Session *s, size_t size);

void *__wrap_malloc(size_t n) {
    return FAILS ? NULL : block_add(__real_malloc(n), n);
}
void *__wrap_calloc(size_t n, size_t size) {
    return FAILS ? NULL : block_add(__real_calloc(n, size), n * size);
}
void *__wrap_realloc(void *p, size_t n) {
    if (FAILS) return NULL;
    void *q = __real_realloc(p, n);
    if (q && p) block_remove(p);
    return block_add(q, n);
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
    return strikes(n >= 4096) ? NULL : block_add(__real_aligned_alloc(align, n), n);
}
void __wrap_free(void *p) {
    if (p) block_remove(p);
    __real_free(p);
}
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from) {
    if (strikes(true)) return plan.mapping = true, MAP_FAILED;
    char *p = __real_mmap(at, n, prot, flags, fd, from);
    if (p != MAP_FAILED && plan.running) map_add(p, p + (n + 4095) / 4096 * 4096);
    return p;
}
int __wrap_munmap(void *p, size_t n) {
    map_remove(p, (char *)p + (n + 4095) / 4096 * 4096);
    return __real_munmap(p, n);
}
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *),
                          void *ctx) {
    (void)t, (void)a, (void)f, (void)ctx;
    return EAGAIN;
}
Buffer *__wrap_buffer_new(Session *s, size_t size) {
    if (!strikes(true)) return __real_buffer_new(s, size);
    fail(s, NOWHERE, E_MEM, "no memory for an array of %zu bytes", size);
    return NULL;
}

static bool build_fails(void) {
    return strikes(true);
}

static void learn(void) {
    size_t cap = 0;
    plan.learning = true;
    mem_free(mem_alloc(NULL, 1));
    mem_free(mem_zalloc(NULL, 1, 1));
    mem_free(mem_realloc(NULL, NULL, 1, 1));
    mem_free(mem_grow_vec_(NULL, NULL, &cap, 1, 1));
    plan.learning = false;
}

#endif
