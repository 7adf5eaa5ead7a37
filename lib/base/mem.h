/* Memory: small allocations never fail (the session's hook ends the program), arenas
 * free everything at once, vectors grow. Tensor data belongs to lib/value. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct TlSession Session;

/* Heap memory that can't fail: out of memory calls the session's hook (base/session.h).
 */
void *mem_alloc(Session *s, size_t size); /* not cleared */
void *mem_zalloc(Session *s, size_t count,
                 size_t size); /* cleared; count*size checked */
void *mem_realloc(Session *s, void *p, size_t count, size_t size);
char *mem_strdup(Session *s, const char *text);
void mem_free(void *p);
/* For programs that hold graphs. From now on each block of more than 4 MB has address
 * space of its own (base/large.h): it grows without a copy, stays in huge pages, and
 * goes back at once when it is freed, so that a graph's arrays don't leave holes;
 * smaller ones would pay more for fresh pages than they save. Beyond its next 12 MB the
 * heap is in huge pages. Not for programs that ask for large tensors again and again.
 */
void mem_expect_graphs(Session *s);
/* The graph at hand will not be small: what the heap grows by is in huge pages at
 * once. */
void mem_expect_large_graph(Session *s);
/* Much was freed just before memory is at its peak: what the heap has free goes back to
 * the system, if that is worth the time. */
void mem_give_back(Session *s, size_t freed);
/* What a block has from byte `from` to before `end` is lost: the pages that lie in it
 * take no memory until something is written there. */
void mem_forget(void *block, size_t from, size_t end);
/* Ends the program for lack of memory; for allocations of other libraries. */
_Noreturn void mem_panic(Session *s);

/* Checked size arithmetic: false on overflow, and *r is unchanged. */
static inline bool size_mul(size_t a, size_t b, size_t *r) {
    size_t t;
    return !__builtin_mul_overflow(a, b, &t) && (*r = t, true);
}
static inline bool size_add(size_t a, size_t b, size_t *r) {
    size_t t;
    return !__builtin_add_overflow(a, b, &t) && (*r = t, true);
}
/* Adds n items of `each` bytes, in whole cache lines, to what a buffer has to hold, and
 * returns where they begin. *all becomes SIZE_MAX, for which there is never room, if
 * that is more than can be addressed. */
static inline size_t size_append(size_t *all, size_t n, size_t each) {
    size_t at = *all, bytes;
    if (!size_mul(n, each, &bytes) || !size_add(bytes, 63, &bytes) ||
        !size_add(at, bytes & ~(size_t)63, all))
        *all = SIZE_MAX;
    return at;
}
static inline bool i64_mul(int64_t a, int64_t b, int64_t *r) {
    int64_t t;
    return !__builtin_mul_overflow(a, b, &t) && (*r = t, true);
}

/* That of INT64_MIN is INT64_MAX. */
static inline int64_t i64_abs(int64_t v) {
    return v < -INT64_MAX ? INT64_MAX : v < 0 ? -v : v;
}
/* Of two uint32_t, for qsort. */
int mem_compare_u32(const void *a, const void *b);

/* An arena: bump allocation, 16-byte aligned, freed as one. */
typedef struct Arena {
    Session *s;
    struct ArenaBlock *blocks; /* the newest ordinary block; older ones behind it */
    struct ArenaBlock *large;  /* blocks of one allocation each */
    char *at, *end;            /* the free part of the newest block, aligned */
    size_t next_size, bytes;
} Arena;
enum { ARENA_ALIGN = 16 };
Arena *arena_new(Session *s);
void arena_free(Arena *a);  /* NULL is fine */
void arena_reset(Arena *a); /* empties it, keeps the first block */
/* Frees what was allocated since the mark; {0}: all. */
typedef struct ArenaMark {
    struct ArenaBlock *blocks, *large;
    char *at;
} ArenaMark;
ArenaMark arena_mark(const Arena *a);
void arena_rewind(Arena *a, ArenaMark m);
void *arena_alloc_block_(Arena *a, size_t size);
static inline void *arena_alloc(Arena *a, size_t size) { /* not cleared */
    if (size >= (size_t)(a->end - a->at)) return arena_alloc_block_(a, size);
    void *p = a->at;
    a->at += (size + (size == 0) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    return p;
}
void *arena_zalloc(Arena *a, size_t count, size_t size); /* cleared */
void *arena_copy(Arena *a, const void *p, size_t size);
char *arena_str(Arena *a, const char *p, size_t n); /* copy, NUL added */
char *arena_printf(Arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_join(Arena *a, const char *p, const char *between, const char *q);
size_t arena_bytes(const Arena *a); /* reserved so far */

#define NEW(arena, T)      ((T *)memset(arena_alloc((arena), sizeof(T)), 0, sizeof(T)))
#define NEW_N(arena, n, T) ((T *)arena_zalloc((arena), (n), sizeof(T)))

/* A growable array: Vec(int) v = {0}; vec_push(s, &v, 3); v.p[i]; vec_free(&v). */
#define Vec(T)                                                                         \
    struct {                                                                           \
        T *p;                                                                          \
        size_t n, cap;                                                                 \
    }
void *mem_grow_vec_(Session *s, void *p, size_t *cap, size_t need, size_t size);
static inline void *vec_room_(Session *s, void *p, size_t *cap, size_t need,
                              size_t size) {
    return need > *cap ? mem_grow_vec_(s, p, cap, need, size) : p;
}
#define vec_reserve(s, v, extra)                                                       \
    ((void)((v)->p =                                                                   \
                vec_room_((s), (v)->p, &(v)->cap, (v)->n + (extra), sizeof *(v)->p)))
#define vec_push(s, v, x) (vec_reserve(s, v, 1), (v)->p[(v)->n++] = (x))
#define vec_free(v)       (mem_free((v)->p), (v)->p = NULL, (v)->n = (v)->cap = 0)

#endif
