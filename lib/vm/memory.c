/* Assigns offsets by lifetime.
 *   - For any number of values: visits the steps in order. A new value takes the
 * smallest hole that fits, a dead one is merged with the holes next to it, and the
 * arena grows if no hole fits. Holes are kept in lists by size (four for each power of
 * two), so a step costs the same however many there are; among the first few of a list
 * the best fit is taken.
 *   - For a few, if that takes more than the bytes alive at the worst step: the largest
 * value first, each in the smallest gap between values that live at the same time, and
 * then a search (pack.h) within a fixed number of tries, so that a plan is the same
 * each time. If many take more, the largest of them are packed as if they were a few,
 * and the rest above them. */
#include "value/class.h"
#include "vm/vm_impl.h"

#include <stdlib.h>
#include <string.h>

enum { BINS = 256, LOOKS = 32 };

typedef struct Block { /* of the arena, used or free; neighbours by address, holes also
                          by size */
    uint64_t offset, bytes;
    uint32_t prev, next; /* by address */
    uint32_t up, down;   /* in the bin's list */
    bool used;
} Block;
typedef struct Holes {
    Session *s;
    Vec(Block) block;
    Vec(uint32_t) spare; /* block records to use again */
    uint32_t bin[BINS], last;
    uint64_t end;
    bool overflow;
} Holes;

static uint32_t bin_of(uint64_t bytes) {
    uint32_t top = 63 - (uint32_t)__builtin_clzll(bytes | 4);
    return top * 4 + (uint32_t)(bytes >> (top - 2) & 3);
}

static void bin_add(Holes *h, uint32_t i) {
    uint32_t b = bin_of(h->block.p[i].bytes), first = h->bin[b];
    h->block.p[i].up = NONE;
    h->block.p[i].down = first;
    if (first != NONE) h->block.p[first].up = i;
    h->bin[b] = i;
}

static void bin_remove(Holes *h, uint32_t i) {
    const Block *k = &h->block.p[i];
    if (k->up == NONE)
        h->bin[bin_of(k->bytes)] = k->down;
    else
        h->block.p[k->up].down = k->down;
    if (k->down != NONE) h->block.p[k->down].up = k->up;
}

static uint32_t block_new(Holes *h, Block b) {
    uint32_t i;
    if (h->spare.n) {
        i = h->spare.p[--h->spare.n];
        h->block.p[i] = b;
    } else {
        i = (uint32_t)h->block.n;
        vec_push(h->s, &h->block, b);
    }
    if (b.prev != NONE) h->block.p[b.prev].next = i;
    if (b.next != NONE)
        h->block.p[b.next].prev = i;
    else
        h->last = i;
    return i;
}

static void block_drop(Holes *h, uint32_t i) {
    const Block *b = &h->block.p[i];
    if (b->prev != NONE) h->block.p[b->prev].next = b->next;
    if (b->next != NONE)
        h->block.p[b->next].prev = b->prev;
    else
        h->last = b->prev;
    vec_push(h->s, &h->spare, i);
}

static uint32_t best_hole(const Holes *h, uint64_t bytes) {
    for (uint32_t b = bin_of(bytes); b < BINS; b++) {
        uint32_t best = NONE, looks = 0;
        for (uint32_t i = h->bin[b]; i != NONE && looks < LOOKS;
             i = h->block.p[i].down, looks++) {
            uint64_t n = h->block.p[i].bytes;
            if (n >= bytes && (best == NONE || n < h->block.p[best].bytes)) best = i;
        }
        if (best != NONE) return best;
    }
    return NONE;
}

/* Extends the last block if it is a hole. */
static uint32_t at_end(Holes *h, uint64_t bytes) {
    bool grow = h->last != NONE && !h->block.p[h->last].used;
    uint32_t i = h->last;
    if (grow) {
        bin_remove(h, i);
        h->end = h->block.p[i].offset;
        h->block.p[i].bytes = bytes;
    } else {
        i = block_new(h, (Block){h->end, bytes, h->last, NONE, NONE, NONE, false});
    }
    bin_add(h, i);
    h->overflow |= __builtin_add_overflow(h->end, bytes, &h->end);
    return i;
}

static uint32_t hole_take(Holes *h, uint64_t bytes) {
    uint32_t i = best_hole(h, bytes);
    if (i == NONE) i = at_end(h, bytes);
    bin_remove(h, i);
    h->block.p[i].used = true;
    Block b = h->block.p[i];
    if (b.bytes > bytes) {
        h->block.p[i].bytes = bytes;
        bin_add(h, block_new(h, (Block){.offset = b.offset + bytes,
                                        .bytes = b.bytes - bytes,
                                        .prev = i,
                                        .next = b.next}));
    }
    return i;
}

static void hole_join(Holes *h, uint32_t i, uint32_t next) {
    bin_remove(h, next);
    h->block.p[i].bytes += h->block.p[next].bytes;
    block_drop(h, next);
}

static void hole_give(Holes *h, uint32_t i) {
    uint32_t next = h->block.p[i].next, prev = h->block.p[i].prev;
    h->block.p[i].used = false;
    if (next != NONE && !h->block.p[next].used) hole_join(h, i, next);
    if (prev != NONE && !h->block.p[prev].used) {
        bin_remove(h, prev);
        h->block.p[prev].bytes += h->block.p[i].bytes;
        block_drop(h, i);
        i = prev;
    }
    bin_add(h, i);
}

/* Spans by a step, as ranges of one array: those of step i are list[first[i] .. first[i
 * + 1]). */
typedef struct ByStep {
    uint32_t *first, *list;
} ByStep;

static ByStep by_step(Session *s, uint32_t steps, size_t n, const Span64 *span,
                      bool dies) {
    ByStep r = {mem_zalloc(s, (size_t)steps + 2, sizeof(uint32_t)),
                mem_zalloc(s, n, sizeof(uint32_t))};
    for (size_t i = 0; i < n; i++)
        r.first[(dies ? span[i].dies : span[i].born) + 2]++;
    for (uint32_t i = 2; i < steps + 2; i++)
        r.first[i] += r.first[i - 1];
    for (size_t i = 0; i < n; i++)
        r.list[r.first[(dies ? span[i].dies : span[i].born) + 1]++] = (uint32_t)i;
    return r;
}

static uint64_t by_walk(Session *s, uint32_t steps, size_t n, Span64 *span) {
    Holes h = {.s = s, .last = NONE};
    for (int i = 0; i < BINS; i++)
        h.bin[i] = NONE;
    ByStep born = by_step(s, steps, n, span, false),
           dies = by_step(s, steps, n, span, true);
    uint32_t *taken = mem_zalloc(s, n, sizeof *taken);
    for (uint32_t t = 0; t < steps; t++) {
        for (uint32_t k = born.first[t]; k < born.first[t + 1]; k++) {
            Span64 *x = &span[born.list[k]];
            if (x->bytes < 0) continue;
            taken[born.list[k]] = hole_take(&h, (uint64_t)x->bytes);
            x->offset = h.block.p[taken[born.list[k]]].offset;
        }
        for (uint32_t k = dies.first[t]; k < dies.first[t + 1]; k++)
            if (span[dies.list[k]].bytes >= 0) hole_give(&h, taken[dies.list[k]]);
    }
    mem_free(born.first), mem_free(born.list), mem_free(dies.first),
        mem_free(dies.list);
    mem_free(taken);
    vec_free(&h.block);
    vec_free(&h.spare);
    return h.overflow ? UINT64_MAX : h.end;
}

/* ---- both ---- */
enum {
    FEW = 512,
    SEARCH_TRIES = 4000,
    WASTE = 64 /* the part of the bound above it that is worth more work */
};

/* Of zero bytes a value has no hole, so it is left out. */
static void leave_out_empty(size_t n, Span64 *span, int64_t from, int64_t to) {
    for (size_t i = 0; i < n; i++)
        if (span[i].bytes == from) span[i].bytes = to;
}

uint64_t pack_quickly(Session *s, size_t n, Span64 *span) {
    enum { EMPTY = -2 };
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++)
        if (span[i].dies > last) last = span[i].dies;
    leave_out_empty(n, span, 0, EMPTY);
    uint64_t walk = by_walk(s, last + 1, n, span);
    if (n <= FEW && walk > pack_bound(s, n, span)) {
        Span64 *other = mem_alloc(s, n * sizeof *other);
        memcpy(other, span, n * sizeof *other);
        uint64_t sized = pack_by_size(s, n, other);
        if (sized < walk) memcpy(span, other, n * sizeof *other);
        if (sized < walk) walk = sized;
        mem_free(other);
    }
    leave_out_empty(n, span, EMPTY, 0);
    return walk;
}

/* The values that have a size, in whole cache lines, at least one: empty arrays need an
 * address, too. */
static bool round_sizes(size_t n, const Span64 *span, Span64 *to, size_t *sized) {
    int64_t all = 0;
    *sized = 0;
    for (size_t i = 0; i < n; i++) {
        if (span[i].bytes < 0) continue;
        Span64 *x = &to[(*sized)++];
        *x = span[i];
        x->bytes = x->bytes ? (int64_t)round_up((size_t)x->bytes) : (int64_t)ALIGNMENT;
        if (__builtin_add_overflow(all, x->bytes, &all)) return false;
    }
    return true;
}

/* Up to FEW values: searched for what the quick ways miss. */
static uint64_t pack_few(Session *s, size_t n, Span64 *span) {
    uint64_t height = pack_quickly(s, n, span), bound = pack_bound(s, n, span);
    PackLimits limits = {.tries = SEARCH_TRIES};
    return height > bound ? pack_lowest(s, n, span, bound, &limits, &bound) : height;
}

static int more_bytes_first(const void *a, const void *b) {
    const Span64 *x = *(const Span64 *const *)a, *y = *(const Span64 *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* More than FEW: the largest of them by themselves, and the others, which are small,
 * above them. Returns the height, if it is below `height`, else that. */
static uint64_t pack_apart(Session *s, size_t n, Span64 *span, uint64_t height) {
    Span64 **list = mem_alloc(s, n * sizeof(Span64 *)),
           *part = mem_alloc(s, n * sizeof *part);
    for (size_t i = 0; i < n; i++)
        list[i] = &span[i];
    qsort(list, n, sizeof *list, more_bytes_first);
    for (size_t i = 0; i < n; i++)
        part[i] = *list[i];
    uint64_t low = pack_few(s, FEW, part),
             all = low + pack_quickly(s, n - FEW, part + FEW);
    for (size_t i = 0; i < n && all < height; i++)
        list[i]->offset = part[i].offset + (i < FEW ? 0 : low);
    mem_free(list);
    mem_free(part);
    return all < height ? all : height;
}

static uint64_t pack_many(Session *s, size_t n, Span64 *span) {
    uint64_t height = pack_quickly(s, n, span), bound = pack_bound(s, n, span);
    return height - bound > bound / WASTE ? pack_apart(s, n, span, height) : height;
}

uint64_t arena_layout(Session *s, size_t n, Span64 *span) {
    Span64 *sized = mem_alloc(s, (n + 1) * sizeof *sized);
    uint64_t height = UINT64_MAX;
    size_t k = 0, few;
    if (round_sizes(n, span, sized, &few)) {
        height = few <= FEW ? pack_few(s, few, sized) : pack_many(s, few, sized);
        for (size_t i = 0; i < n; i++)
            if (span[i].bytes >= 0) span[i].offset = sized[k++].offset;
    }
    mem_free(sized);
    return height;
}

/* ---- sizes ---- */
Map dim_value_map(Session *s, size_t n, const DimValue *dim) {
    Map m = MAP(s);
    for (size_t i = 0; i < n; i++)
        map_put(&m, dim[i].name, (uint64_t)dim[i].value);
    return m;
}

static bool dim_value(Dim d, const Map *dims, int64_t *v) {
    uint64_t u = 0;
    if (dim_is_known(d)) return *v = d, true;
    if (!dim_is_named(d) || !map_get(dims, dim_sym(d), &u)) return false;
    return *v = (int64_t)u, true;
}

int64_t type_bytes(const Type *t, const Map *dims) {
    const TypeClass *cls = type_class(t);
    if (t->kind != TYPE_TENSOR) return cls->fixed ? (int64_t)cls->each : -1;
    int64_t n = (int64_t)dtype_size(t->dtype), d;
    bool zero = false;
    for (int i = 0; i < t->ndim; i++) {
        if (!dim_value(t->dim[i], dims, &d)) return -1;
        if (d == 0)
            zero = true;
        else if (!i64_mul(n, d, &n))
            return -1;
    }
    return zero ? 0 : n;
}
