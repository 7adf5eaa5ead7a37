/* The search for a packing of a given height, after the ideas of M. D. Moffitt,
 * MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning
 * (2023).
 *
 * In a packing where no value can be lowered, each lies on the floor or on one that
 * lives at the same time. So values are placed from below, each as low as those placed
 * before it allow (its `floor`), in the order of their offsets and at equal offsets of
 * their ranks. A branch ends when
 *   - a value that is left would fit under the next one: it could be lowered,
 *   - at some step the values left don't fit above the lowest place that any of them
 *     can still have,
 *   - the value placed last has nothing above it: elsewhere it would only be worse.
 * Values that share no step, even through others, are placed on their own.
 *
 * Ranks decide which value is tried first. After a number of tries the search starts
 * again with other ranks, in which the values count more that live at the steps where
 * branches ended. */
#include "vm/pack.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef enum UndoKind { UNDO_FLOOR, UNDO_LOWEST, UNDO_PLACED } UndoKind;
typedef struct Undo {
    UndoKind kind;
    uint32_t at;
    uint64_t was;
} Undo;
/* Sections are the stretches of steps within which no value begins. */
typedef struct Item {
    uint32_t begin, end; /* sections, exclusive */
    uint32_t near;       /* those that live at the same time: near_of[near ..] */
    uint32_t nnear;
    uint32_t waits; /* of these, how many are not placed */
    uint32_t rank;
    uint32_t span;
    bool placed;
    uint64_t size, floor;
    uint64_t lives, crowd; /* steps; the most bytes at one of them */
} Item;
typedef struct Section {
    uint32_t in, nin; /* its values: in_of[in ..] */
    uint32_t lowest;  /* of those left, the one with the lowest floor: `lowest_at` */
    uint64_t lowest_at;
    uint64_t left; /* bytes of those left */
    double blame;  /* branches that ended here */
} Section;
typedef struct Search {
    Session *s;
    Arena *a;
    uint32_t n, nsection;
    Item *item;
    Section *section;
    uint32_t *near_of, *in_of;
    uint64_t height, grain; /* grain divides all sizes */
    Undo *undo;
    size_t nundo;
    uint32_t *room; /* for lists of values on the way down */
    int32_t *parts; /* by section, for each level */
    uint64_t tries; /* left in this run */
    uint64_t random;
    double deadline;
    bool late;
    bool lowest_first; /* of those that may be next, else by rank */
} Search;
typedef struct Where { /* the last placement */
    uint64_t offset;
    uint32_t rank;
} Where;
/* What is left to place, and the memory for lists below. */
typedef struct Rest {
    const uint32_t *item;
    uint32_t n;
    uint32_t *room;
} Rest;

/* ---- placing ---- */
static void push_undo(Search *q, UndoKind kind, uint32_t at, uint64_t was) {
    q->undo[q->nundo++] = (Undo){kind, at, was};
}

/* False: one of those left doesn't fit above it. */
static bool place_item(Search *q, uint32_t i) {
    Item *x = &q->item[i];
    uint64_t top = x->floor + x->size;
    bool ok = true;
    x->placed = true;
    push_undo(q, UNDO_PLACED, i, 0);
    for (uint32_t t = x->begin; t < x->end; t++)
        q->section[t].left -= x->size;
    for (uint32_t k = 0; k < x->nnear; k++) {
        Item *y = &q->item[q->near_of[x->near + k]];
        y->waits--;
        if (y->placed || y->floor >= top) continue;
        push_undo(q, UNDO_FLOOR, q->near_of[x->near + k], y->floor);
        y->floor = top;
        ok &= top + y->size <= q->height;
    }
    return ok;
}

static void take_back(Search *q, uint32_t i) {
    Item *x = &q->item[i];
    x->placed = false;
    for (uint32_t t = x->begin; t < x->end; t++)
        q->section[t].left += x->size;
    for (uint32_t k = 0; k < x->nnear; k++)
        q->item[q->near_of[x->near + k]].waits++;
}

static void undo_until(Search *q, size_t mark) {
    while (q->nundo > mark) {
        Undo u = q->undo[--q->nundo];
        if (u.kind == UNDO_FLOOR) q->item[u.at].floor = u.was;
        if (u.kind == UNDO_PLACED) take_back(q, u.at);
        if (u.kind != UNDO_LOWEST) continue;
        q->section[u.at].lowest = (uint32_t)u.was;
        q->section[u.at].lowest_at = UINT64_MAX; /* found again when it is needed */
    }
}

/* ---- ends of branches ---- */
/* May it be placed next? Else something else must raise it first. */
static bool is_next(const Item *x, Where last) {
    return x->floor > last.offset || (x->floor == last.offset && x->rank > last.rank);
}

static void find_lowest(Search *q, uint32_t t) {
    Section *c = &q->section[t];
    uint64_t least = UINT64_MAX;
    uint32_t found = c->lowest;
    for (uint32_t k = 0; k < c->nin; k++) {
        const Item *x = &q->item[q->in_of[c->in + k]];
        if (x->placed || x->floor >= least) continue;
        least = x->floor;
        found = q->in_of[c->in + k];
    }
    push_undo(q, UNDO_LOWEST, t, c->lowest);
    c->lowest = found;
    c->lowest_at = least;
}

static bool any_at(const Search *q, const Section *c, Where last) {
    for (uint32_t k = 0; k < c->nin; k++) {
        const Item *x = &q->item[q->in_of[c->in + k]];
        if (!x->placed && x->floor == last.offset && x->rank > last.rank) return true;
    }
    return false;
}

/* Do the values left fit in a section, above the lowest place that one of them can
 * have? */
static bool section_fits(Search *q, uint32_t t, Where last) {
    Section *c = &q->section[t];
    if (!c->left) return true;
    const Item *x = &q->item[c->lowest];
    if (x->placed || x->floor != c->lowest_at) find_lowest(q, t);
    uint64_t from = c->lowest_at;
    if (from <= last.offset) {
        from = last.offset;
        bool tight = from + q->grain + c->left > q->height;
        if (tight && !any_at(q, c, last)) return false;
    }
    return from + c->left <= q->height;
}

static bool sections_fit(Search *q, uint32_t begin, uint32_t end, Where last) {
    for (uint32_t t = begin; t < end; t++)
        if (!section_fits(q, t, last)) {
            q->section[t].blame++;
            return false;
        }
    return true;
}

/* ---- the search ---- */
static bool place_one_part(Search *q, Rest r, Where last, unsigned depth);

static void find_extent(const Search *q, Rest r, uint32_t *begin, uint32_t *end) {
    *begin = UINT32_MAX;
    *end = 0;
    for (uint32_t k = 0; k < r.n; k++) {
        const Item *x = &q->item[r.item[k]];
        if (x->begin < *begin) *begin = x->begin;
        if (x->end > *end) *end = x->end;
    }
}

/* Numbers the parts between which no value reaches, by section; returns the last
 * number. */
static int32_t number_parts(const Search *q, Rest r, uint32_t begin, uint32_t end,
                            int32_t *part) {
    int32_t reach = 0, number = 0;
    memset(part + begin, 0, (end - begin) * sizeof *part);
    for (uint32_t k = 0; k < r.n; k++) {
        part[q->item[r.item[k]].begin]++;
        part[q->item[r.item[k]].end - 1]--;
    }
    for (uint32_t t = begin; t < end; t++) {
        reach += part[t];
        part[t] = number;
        if (reach == 0 && t + 1 < end) number++;
    }
    return number;
}

static bool place_rest(Search *q, Rest r, Where last, unsigned depth) {
    uint32_t begin, end;
    if (!r.n) return true;
    find_extent(q, r, &begin, &end);
    if (!sections_fit(q, begin, end, last)) return false;
    int32_t *part = q->parts + (size_t)depth * q->nsection,
            most = number_parts(q, r, begin, end, part);
    if (!most) return place_one_part(q, r, last, depth);
    bool ok = true;
    for (int32_t i = 0; ok && i <= most; i++) {
        Rest some = {r.room, 0, r.room};
        for (uint32_t k = 0; k < r.n; k++)
            if (part[q->item[r.item[k]].begin] == i) *some.room++ = r.item[k], some.n++;
        ok = !some.n || place_one_part(q, some, last, depth);
    }
    return ok;
}

static bool is_over(Search *q) {
    if (q->late || !q->tries) return true;
    if (q->deadline > 0 && q->tries % 256 == 0) q->late = clock_seconds() > q->deadline;
    return q->late;
}

/* The largest offset that the next one may have: values left must not fit under it, nor
 * be lifted out at a full step. */
static bool find_limit(const Search *q, Rest r, Where last, uint64_t *limit) {
    uint32_t begin, end;
    uint64_t most = 0;
    *limit = UINT64_MAX;
    find_extent(q, r, &begin, &end);
    for (uint32_t t = begin; t < end; t++)
        if (q->section[t].left > most) most = q->section[t].left;
    for (uint32_t k = 0; k < r.n; k++) {
        const Item *x = &q->item[r.item[k]];
        if (x->floor + x->size < *limit) *limit = x->floor + x->size;
        if (!x->waits && !is_next(x, last)) return false;
    }
    if (most > q->height) return false;
    if (q->height - most + 1 < *limit) *limit = q->height - most + 1;
    return true;
}

/* Those that may be next, in `to`. */
static uint32_t list_next(const Search *q, Rest r, Where last, uint64_t limit,
                          uint32_t *to) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < r.n; k++) {
        const Item *x = &q->item[r.item[k]];
        if (x->floor >= limit || !is_next(x, last)) continue;
        uint32_t at = n++;
        for (; q->lowest_first && at && q->item[to[at - 1]].floor > x->floor; at--)
            to[at] = to[at - 1];
        to[at] = r.item[k];
    }
    return n;
}

static bool place_one_part(Search *q, Rest r, Where last, unsigned depth) {
    uint64_t limit;
    if (is_over(q) || !find_limit(q, r, last, &limit)) return false;
    uint32_t *next = r.room, n = list_next(q, r, last, limit, next), *rest = next + n;
    for (uint32_t k = 0; k < n && q->tries; k++) {
        const Item *x = &q->item[next[k]];
        bool covered = x->waits > 0;
        size_t mark = q->nundo;
        q->tries--;
        if (place_item(q, next[k])) {
            Rest left = {rest, 0, rest + r.n};
            for (uint32_t i = 0; i < r.n; i++)
                if (r.item[i] != next[k]) rest[left.n++] = r.item[i];
            if (place_rest(q, left, (Where){x->floor, x->rank}, depth + 1)) return true;
        }
        undo_until(q, mark);
        if (!covered || is_over(q)) return false;
    }
    return false;
}

/* ---- preparing ---- */
static int compare_u32(const void *a, const void *b) {
    return mem_compare_u32(a, b);
}

static uint32_t section_from(const uint32_t *step, uint32_t n, uint32_t first) {
    uint32_t low = 0;
    while (n) {
        uint32_t half = n / 2;
        if (step[low + half] < first)
            low += half + 1, n -= half + 1;
        else
            n = half;
    }
    return low;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static void make_items(Search *q, size_t n, const Span64 *span) {
    uint32_t *step = NEW_N(q->a, n, uint32_t), all = 0;
    for (size_t i = 0; i < n; i++)
        if (span[i].bytes > 0) step[all++] = span[i].born;
    if (all) qsort(step, all, sizeof *step, compare_u32);
    for (uint32_t i = 0; i < all; i++)
        if (!i || step[i] != step[i - 1]) step[q->nsection++] = step[i];
    q->item = NEW_N(q->a, all, Item);
    for (size_t i = 0; i < n; i++) {
        if (span[i].bytes <= 0) continue;
        q->grain = greatest_divisor((uint64_t)span[i].bytes, q->grain);
        q->item[q->n++] =
            (Item){.begin = section_from(step, q->nsection, span[i].born),
                   .end = section_from(step, q->nsection, span[i].dies + 1),
                   .span = (uint32_t)i,
                   .lives = (uint64_t)span[i].dies - span[i].born + 1,
                   .size = (uint64_t)span[i].bytes};
    }
}

static bool items_meet(const Item *x, const Item *y) {
    return x->begin < y->end && y->begin < x->end;
}

static void make_lists(Search *q) {
    size_t near = 0, in = 0;
    q->section = NEW_N(q->a, q->nsection, Section);
    for (uint32_t i = 0; i < q->n; i++)
        for (uint32_t k = 0; k < q->n; k++)
            q->item[i].nnear += i != k && items_meet(&q->item[i], &q->item[k]);
    for (uint32_t i = 0; i < q->n; i++) {
        q->item[i].near = (uint32_t)near;
        near += q->item[i].nnear;
        for (uint32_t t = q->item[i].begin; t < q->item[i].end; t++)
            q->section[t].nin++, in++;
    }
    q->near_of = NEW_N(q->a, near, uint32_t);
    q->in_of = NEW_N(q->a, in, uint32_t);
    near = in = 0;
    for (uint32_t i = 0; i < q->n; i++)
        for (uint32_t k = 0; k < q->n; k++)
            if (i != k && items_meet(&q->item[i], &q->item[k])) q->near_of[near++] = k;
    for (uint32_t t = 0; t < q->nsection; t++) {
        q->section[t].in = (uint32_t)in;
        in += q->section[t].nin;
        q->section[t].nin = 0;
    }
    for (uint32_t i = 0; i < q->n; i++)
        for (uint32_t t = q->item[i].begin; t < q->item[i].end; t++)
            q->in_of[q->section[t].in + q->section[t].nin++] = i;
}

static void begin_run(Search *q) {
    q->nundo = 0;
    for (uint32_t t = 0; t < q->nsection; t++) {
        Section *c = &q->section[t];
        c->left = 0;
        c->lowest = q->in_of[c->in];
        c->lowest_at = UINT64_MAX;
        c->blame *= 0.8;
        for (uint32_t k = 0; k < c->nin; k++)
            c->left += q->item[q->in_of[c->in + k]].size;
    }
    for (uint32_t i = 0; i < q->n; i++) {
        Item *x = &q->item[i];
        x->placed = false;
        x->floor = x->crowd = 0;
        x->waits = x->nnear;
        for (uint32_t t = x->begin; t < x->end; t++)
            if (q->section[t].left > x->crowd) x->crowd = q->section[t].left;
    }
}

/* ---- ranks ---- */
typedef struct Ranked {
    double key[3];
    uint32_t item;
} Ranked;

static int compare_ranked(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->key[i] != y->key[i]) return x->key[i] < y->key[i] ? 1 : -1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static double item_key(const Item *x, char what) {
    double lives = (double)x->lives;
    return what == 'l'   ? lives
           : what == 'a' ? lives * (double)x->size
           : what == 'c' ? (double)x->crowd
                         : 0;
}

/* xorshift64 */
static double next_random(Search *q) {
    q->random ^= q->random << 13;
    q->random ^= q->random >> 7;
    q->random ^= q->random << 17;
    return (double)(q->random >> 11) * 0x1p-53;
}

/* From the second run with an order on: more for blamed sections, and some noise. */
static double item_weight(Search *q, const Item *x, double most) {
    double blame = 0;
    for (uint32_t t = x->begin; t < x->end; t++)
        if (q->section[t].blame > blame) blame = q->section[t].blame;
    return (1 + (most > 0 ? 5 * blame / most : 0)) * (0.75 + 0.5 * next_random(q));
}

/* Life, area and crowd of a value, in this order of importance. */
static const char *const rank_orders[] = {"lac", "cal", "cla", "a"};
enum { ORDERS = sizeof rank_orders / sizeof *rank_orders };

/* Ranks count from 1. Lists all values by rank. */
static void rank_items(Search *q, unsigned run, uint32_t *list) {
    Ranked *r = mem_alloc(q->s, (q->n + 1) * sizeof *r);
    const char *order = rank_orders[run % ORDERS];
    double most = 0;
    for (uint32_t t = 0; t < q->nsection; t++)
        if (q->section[t].blame > most) most = q->section[t].blame;
    for (uint32_t i = 0; i < q->n; i++) {
        double weight = run < ORDERS ? 1 : item_weight(q, &q->item[i], most);
        r[i] = (Ranked){.item = i};
        for (int k = 0; k < 3 && order[k]; k++)
            r[i].key[k] = weight * item_key(&q->item[i], order[k]);
    }
    qsort(r, q->n, sizeof *r, compare_ranked);
    for (uint32_t i = 0; i < q->n; i++) {
        list[i] = r[i].item;
        q->item[r[i].item].rank = i + 1;
    }
    mem_free(r);
}

/* 1 1 2 1 1 2 4 ...: the tries of run i, in units (Luby et al., 1993). */
static uint64_t luby(unsigned i) {
    uint64_t n = 1;
    for (i++; i % 2 == 0; i /= 2)
        n *= 2;
    return n;
}

/* ---- runs ---- */
enum { RUN_TRIES = 1500, SMALL = 12 };

static void make_room(Search *q) {
    size_t n = q->n;
    q->undo = mem_alloc(q->s, (n + 1) * (n + q->nsection + 1) * sizeof *q->undo);
    q->room = mem_alloc(q->s, (2 * n * n + 4 * n + 4) * sizeof *q->room);
    q->parts = mem_alloc(q->s, (n + 1) * (size_t)(q->nsection + 1) * sizeof *q->parts);
}

static void free_search(Search *q) {
    mem_free(q->undo);
    mem_free(q->room);
    mem_free(q->parts);
    arena_free(q->a);
}

static bool items_fit(const Search *q) {
    for (uint32_t i = 0; i < q->n; i++)
        if (q->item[i].size > q->height) return false;
    return true;
}

static PackResult run_once(Search *q, unsigned run, PackLimits *limits) {
    uint64_t tries = luby(run / ORDERS) * RUN_TRIES;
    if (q->n <= SMALL || tries > limits->tries) tries = limits->tries;
    begin_run(q);
    q->lowest_first = run / ORDERS % 4 != 1;
    rank_items(q, run, q->room);
    Rest all = {q->room, q->n, q->room + q->n};
    q->tries = tries;
    bool found = place_rest(q, all, (Where){0, 0}, 0), over = q->late || !q->tries;
    limits->tries -= tries - q->tries;
    return found ? PACK_FOUND : over ? PACK_GAVE_UP : PACK_NONE;
}

PackResult pack_search(Session *s, size_t n, Span64 *span, uint64_t height,
                       PackLimits *limits) {
    Search q = {.s = s,
                .a = arena_new(s),
                .height = height,
                .random = 88172645463325252u,
                .deadline = limits->deadline};
    make_items(&q, n, span);
    make_lists(&q);
    make_room(&q);
    PackResult r = items_fit(&q) ? PACK_GAVE_UP : PACK_NONE;
    for (unsigned run = 0; r == PACK_GAVE_UP && limits->tries && !q.late; run++)
        r = run_once(&q, run, limits);
    for (size_t i = 0; r == PACK_FOUND && i < n; i++)
        span[i].offset = 0;
    for (uint32_t i = 0; r == PACK_FOUND && i < q.n; i++)
        span[q.item[i].span].offset = q.item[i].floor;
    free_search(&q);
    return r;
}

/* ---- heights ---- */
uint64_t pack_bound(Session *s, size_t n, const Span64 *span) {
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++)
        if (span[i].dies > last) last = span[i].dies;
    int64_t *change = mem_zalloc(s, (size_t)last + 2, sizeof *change), now = 0,
            most = 0;
    for (size_t i = 0; i < n; i++) {
        if (span[i].bytes <= 0) continue;
        change[span[i].born] += span[i].bytes;
        change[span[i].dies + 1] -= span[i].bytes;
    }
    for (uint32_t t = 0; t <= last; t++)
        if ((now += change[t]) > most) most = now;
    mem_free(change);
    return (uint64_t)most;
}

uint64_t pack_height(size_t n, const Span64 *span) {
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t top = span[i].offset + (uint64_t)span[i].bytes;
        if (span[i].bytes > 0 && top > most) most = top;
    }
    return most;
}

/* ---- largest first ---- */
static int larger_first(const void *a, const void *b) {
    const Span64 *x = *(const Span64 *const *)a, *y = *(const Span64 *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->born != y->born) return x->born < y->born ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool lives_overlap(const Span64 *x, const Span64 *y) {
    return x->born <= y->dies && y->born <= x->dies;
}

/* placed: sorted by offset. Returns x's position in that order. */
static size_t find_gap(Span64 *const *placed, size_t n, Span64 *x) {
    uint64_t need = (uint64_t)x->bytes, end = 0, best = UINT64_MAX, at = 0;
    for (size_t i = 0; i < n; i++) {
        const Span64 *y = placed[i];
        if (!lives_overlap(x, y)) continue;
        if (y->offset > end && y->offset - end >= need && y->offset - end < best)
            best = y->offset - (at = end);
        uint64_t after = y->offset + (uint64_t)y->bytes;
        if (after > end) end = after;
    }
    x->offset = best == UINT64_MAX ? end : at;
    size_t k = 0;
    while (k < n && placed[k]->offset <= x->offset)
        k++;
    return k;
}

uint64_t pack_by_size(Session *s, size_t n, Span64 *span) {
    Span64 **order = mem_zalloc(s, 2 * n, sizeof(Span64 *)), **placed = order + n;
    size_t few = 0;
    for (size_t i = 0; i < n; i++)
        if (span[i].bytes >= 0) order[few++] = &span[i];
    if (few) qsort(order, few, sizeof *order, larger_first);
    for (size_t i = 0; i < few; i++) {
        size_t k = find_gap(placed, i, order[i]);
        memmove(placed + k + 1, placed + k, (i - k) * sizeof *placed);
        placed[k] = order[i];
    }
    mem_free(order);
    return pack_height(n, span);
}

/* ---- the lowest ---- */
/* First the goal itself with most of the limits, then heights between it and what was
 * found, by halves. */
uint64_t pack_lowest(Session *s, size_t n, Span64 *span, uint64_t enough,
                     PackLimits *limits, uint64_t *proven) {
    uint64_t best = pack_height(n, span), least = enough > *proven ? enough : *proven,
             share = limits->tries / 8;
    double began = clock_seconds(), all = limits->deadline - began;
    PackLimits part = *limits;
    if (limits->deadline > 0) part.deadline = began + 0.7 * all;
    part.tries -= 3 * share;
    for (uint64_t goal = least; best > least;) {
        uint64_t given = part.tries;
        PackResult r = pack_search(s, n, span, goal, &part);
        limits->tries -= given - part.tries;
        if (r == PACK_FOUND) best = pack_height(n, span);
        if (r == PACK_NONE && goal + 1 > *proven) *proven = goal + 1;
        if (r != PACK_FOUND) least = goal + 1;
        goal = least + (best - least) / 2;
        part = (PackLimits){share < limits->tries ? share : limits->tries,
                            limits->deadline};
        bool late = limits->deadline > 0 && clock_seconds() > limits->deadline;
        if (!part.tries || late) break;
    }
    return best;
}
