/* Arenas: bump allocation from blocks that double in size; a large allocation gets a
 * block of its own, so that no block's rest is wasted. */
#include "base/mem.h"
#include "base/session.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LAST_BLOCK = 1 << 20 };

typedef struct ArenaBlock {
    struct ArenaBlock *next; /* older */
    size_t size;             /* of the bytes that follow */
} ArenaBlock;
_Static_assert(sizeof(ArenaBlock) % ARENA_ALIGN == 0, "a block's bytes begin aligned");

Arena *arena_new(Session *s) {
    Arena *a = mem_zalloc(s, 1, sizeof *a);
    a->s = s;
    a->next_size = FIRST_BLOCK;
    return a;
}

/* Those before `end`, which are newer. */
static void free_arena_blocks(Arena *a, ArenaBlock *b, const ArenaBlock *end) {
    while (b != end) {
        ArenaBlock *next = b->next;
        a->bytes -= sizeof *b + b->size;
        mem_free(b);
        b = next;
    }
}

void arena_free(Arena *a) {
    if (!a) return;
    free_arena_blocks(a, a->blocks, NULL);
    free_arena_blocks(a, a->large, NULL);
    mem_free(a);
}

ArenaMark arena_mark(const Arena *a) {
    return (ArenaMark){a->blocks, a->large, a->at};
}

/* The oldest block stays in any case. */
void arena_rewind(Arena *a, ArenaMark m) {
    ArenaBlock *last = m.blocks;
    for (ArenaBlock *b = a->blocks; !m.blocks && b; b = b->next)
        last = b;
    free_arena_blocks(a, a->large, m.large);
    free_arena_blocks(a, a->blocks, last);
    a->large = m.large;
    a->blocks = last;
    a->at = m.blocks ? m.at : last ? (char *)(last + 1) : NULL;
    a->end = last ? (char *)(last + 1) + last->size : NULL;
    a->next_size = last ? 2 * last->size : FIRST_BLOCK;
    if (a->next_size > LAST_BLOCK) a->next_size = LAST_BLOCK;
}

void arena_reset(Arena *a) {
    arena_rewind(a, (ArenaMark){0});
}

static ArenaBlock *add_arena_block(Arena *a, ArenaBlock **list, size_t size,
                                   bool clear) {
    size_t total = size + sizeof(ArenaBlock); /* its callers check for overflow */
    ArenaBlock *b = clear ? mem_zalloc(a->s, total, 1) : mem_alloc(a->s, total);
    *b = (ArenaBlock){*list, size};
    *list = b;
    a->bytes += total;
    return b;
}

static size_t whole_size(const Arena *a, size_t size) {
    if (size > SIZE_MAX / 2) mem_panic(a->s);
    return (size + (size == 0) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* The slow path of arena_alloc: a size that may not fit in the newest block. */
void *arena_alloc_block_(Arena *a, size_t size) {
    size = whole_size(a, size);
    if (size > (size_t)(a->end - a->at)) {
        if (size > a->next_size / 4)
            return add_arena_block(a, &a->large, size, false) + 1;
        ArenaBlock *b = add_arena_block(a, &a->blocks, a->next_size, false);
        if (a->next_size < LAST_BLOCK) a->next_size *= 2;
        a->at = (char *)(b + 1);
        a->end = a->at + b->size;
    }
    void *p = a->at;
    a->at += size;
    return p;
}

void *arena_zalloc(Arena *a, size_t count, size_t size) {
    size_t total;
    if (!size_mul(count, size, &total)) total = SIZE_MAX;
    if (total > LAST_BLOCK) /* which the system may have cleared */
        return add_arena_block(a, &a->large, whole_size(a, total), true) + 1;
    void *p = arena_alloc(a, total);
    return memset(p, 0, total);
}

void *arena_copy(Arena *a, const void *p, size_t size) {
    void *q = arena_alloc(a, size);
    if (size) memcpy(q, p, size);
    return q;
}

char *arena_str(Arena *a, const char *p, size_t n) {
    char *q = arena_alloc(a, n < SIZE_MAX ? n + 1 : n);
    if (n) memcpy(q, p, n);
    q[n] = '\0';
    return q;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *p = arena_alloc(a, size);
    p[0] = '\0';
    if (n >= 0) vsnprintf(p, size, fmt, again);
    va_end(again);
    return p;
}

char *arena_join(Arena *a, const char *p, const char *between, const char *q) {
    size_t np = strlen(p), n = strlen(between), nq = strlen(q);
    char *text = arena_alloc(a, np + n + nq + 1);
    memcpy(text, p, np);
    memcpy(text + np, between, n);
    memcpy(text + np + n, q, nq + 1);
    return text;
}

size_t arena_bytes(const Arena *a) {
    return a->bytes;
}
