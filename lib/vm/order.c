/* An order of execution that needs less memory. Any order will do in which a step comes
 * after those whose results it needs; which one decides what is alive at the worst
 * step. An optimizer's updates, written after all gradients, keep all of these; run as
 * soon as each gradient is there, they keep one.
 *
 *   - What needs no more room than it frees runs as soon as it can; and, looking from
 * the end, what makes no less than it needs runs as late as it can. Each is one walk
 * over the steps; both, one after the other, are tried from the order as given.
 *   - A search looks for better orders of the steps around the worst one
 * (order_search.c).
 *
 * The best is taken if it needs less than the given order, where dims that aren't known
 * are of a typical size, and no more where they are small or large. Effects keep their
 * order, and so does what destroys or updates in place with what reads the old value,
 * and with the effects before it. */
#include "vm/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */
typedef struct Pair {
    uint32_t of, item;
} Pair;
typedef Vec(Pair) Pairs;

/* Frees the pairs. */
static Lists lists_of(Arena *a, uint32_t n, Pairs *pair) {
    Lists l = {NEW_N(a, (size_t)n + 2, uint32_t), NEW_N(a, pair->n, uint32_t)};
    for (size_t i = 0; i < pair->n; i++)
        l.first[pair->p[i].of + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        l.first[i] += l.first[i - 1];
    for (size_t i = 0; i < pair->n; i++)
        l.item[l.first[pair->p[i].of + 1]++] = pair->p[i].item;
    vec_free(pair);
    return l;
}

/* ---- what must come before what ---- */
typedef struct Finder {
    Plan *p;
    Arena *a;
    Sharing *h; /* of the order as given */
    OrderGraph *g;
    uint32_t *maker;       /* by cell; NONE: a leaf */
    uint32_t *overwritten; /* by cell: the first reader in the list that has run before
                            * no overwriting step so far */
    Pairs before;
} Finder;

static void add_before(Finder *f, uint32_t step, uint32_t needs) {
    if (needs != NONE && needs != step)
        vec_push(f->p->s, &f->before, ((Pair){step, needs}));
}

static void find_readers(Finder *f) {
    const Plan *p = f->p;
    Pairs reader = {0}, read = {0};
    uint32_t *seen = NEW_N(f->a, p->ncell, uint32_t);
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        for (uint32_t k = 0; k < in->nin; k++) {
            uint32_t root = f->h->cell[p->arg[in->arg + k]].root;
            if (seen[root] == i + 1) continue;
            seen[root] = i + 1;
            vec_push(p->s, &reader, ((Pair){root, i}));
            if (f->g->bytes[root] > 0) vec_push(p->s, &read, ((Pair){i, root}));
        }
    }
    f->g->readers = lists_of(f->a, p->ncell, &reader);
    f->g->reads = lists_of(f->a, p->nins, &read);
}

/* What reads the storage of the cell runs before the step that overwrites it; what has
 * been seen runs before an earlier such step, which is among the readers. */
static void add_overwriting(Finder *f, uint32_t step, uint32_t cell) {
    uint32_t root = f->h->cell[cell].root, *at = &f->overwritten[root];
    const Lists *readers = &f->g->readers;
    for (; *at < readers->first[root + 1] && readers->item[*at] < step; ++*at)
        add_before(f, step, readers->item[*at]);
}

static void find_before(Finder *f) {
    const Plan *p = f->p;
    uint32_t effect = NONE;
    f->overwritten =
        arena_copy(f->a, f->g->readers.first, (size_t)p->ncell * sizeof(uint32_t));
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        const Apply *apply = &p->g->apply[in->apply];
        const uint32_t *arg = p->arg + in->arg;
        for (uint32_t k = 0; k < in->nin; k++)
            add_before(f, i, f->maker[arg[k]]);
        for (uint32_t j = 0; j < in->nout; j++) {
            const CellInfo *c = &f->h->cell[arg[in->nin + j]];
            int destroyed = ins_destroys(p, in, j);
            if (destroyed >= 0) add_overwriting(f, i, arg[destroyed]);
            if (c->how != PLAN_INPLACE || !store_is_leafs(f->h->store.p[c->store].cls))
                continue;
            add_overwriting(f, i, c->of);
            add_before(f, i, effect); /* an assertion that fails keeps the old value */
        }
        if (!op_has_effect(p->g, apply->op, apply->props)) continue;
        add_before(f, i, effect);
        effect = i;
    }
    Pairs after = {0};
    for (size_t i = 0; i < f->before.n; i++)
        vec_push(p->s, &after, ((Pair){f->before.p[i].item, f->before.p[i].of}));
    f->g->before = lists_of(f->a, p->nins, &f->before);
    f->g->after = lists_of(f->a, p->nins, &after);
}

/* ---- what is alive ---- */
/* Bytes, where every dim that isn't known has the size `dim`. */
static double bytes_at(const Type *t, double dim) {
    if (t->kind != TYPE_TENSOR) return 0;
    double n = (double)dtype_size(t->dtype);
    for (int k = 0; k < t->ndim; k++)
        n *= dim_is_known(t->dim[k]) ? (double)t->dim[k] : dim;
    return n;
}

enum {
    TYPICAL = 1000,
    CACHE_BYTES = 256 << 10,
    MOST_STEPS = 100000 /* more would delay the first call: about a microsecond each */
};
static const double sizes_of_dims[] = {TYPICAL, 30, 30 * TYPICAL};
enum { SIZES = sizeof sizes_of_dims / sizeof *sizes_of_dims };

static void find_blocks(Finder *f) {
    const Plan *p = f->p;
    for (uint32_t c = p->nleaf; c < p->ncell; c++) {
        const CellInfo *x = &f->h->cell[c];
        if (x->root != c || store_is_leafs(f->h->store.p[x->store].cls)) continue;
        f->g->bytes[c] = bytes_at(x->type, TYPICAL);
        f->g->kept[c] = x->dies == p->nins;
    }
}

/* The inputs that result j may overwrite, of the first few: a large group has one that
 * dies for most of its results, which of them makes no difference. */
static void add_takes(Finder *f, uint32_t i, uint32_t j, Pairs *take) {
    enum { LOOKS = 8, INPUTS = 4, RESULTS = 8 };
    const Plan *p = f->p;
    const Ins *in = &p->ins[i];
    uint32_t me = p->arg[in->arg + in->nin + j], n = 0;
    if (j >= RESULTS) return;
    for (uint32_t k = 0; k < in->nin && k < LOOKS && n < INPUTS; k++) {
        uint32_t c = p->arg[in->arg + k];
        if (f->g->bytes[c] > 0 && alias_fits(p, f->h, i, j, k)) {
            vec_push(p->s, take, ((Pair){i, c}));
            vec_push(p->s, take, ((Pair){i, me}));
            n++;
        }
    }
}

static void find_results(Finder *f) {
    const Plan *p = f->p;
    Pairs make = {0}, take = {0};
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t j = 0; j < p->ins[i].nout; j++) {
            uint32_t c = p->arg[p->ins[i].arg + p->ins[i].nin + j];
            f->maker[c] = i;
            if (f->g->bytes[c] <= 0) continue;
            vec_push(p->s, &make, ((Pair){i, c}));
            add_takes(f, i, j, &take);
        }
    f->g->makes = lists_of(f->a, p->nins, &make);
    f->g->takes = lists_of(f->a, p->nins, &take);
}

static OrderGraph *order_graph(Plan *p, Arena *a, Sharing *h) {
    OrderGraph *g = NEW(a, OrderGraph);
    *g = (OrderGraph){.s = p->s,
                      .nstep = p->nins,
                      .nblock = p->ncell,
                      .bytes = NEW_N(a, p->ncell, double),
                      .kept = NEW_N(a, p->ncell, bool)};
    Finder f = {.p = p, .a = a, .h = h, .g = g, .maker = NEW_N(a, p->ncell, uint32_t)};
    for (uint32_t c = 0; c < p->ncell; c++)
        f.maker[c] = NONE;
    find_blocks(&f);
    find_results(&f);
    find_readers(&f);
    find_before(&f);
    return g;
}

static uint32_t readers_of(const OrderGraph *g, uint32_t block) {
    return g->readers.first[block + 1] - g->readers.first[block];
}

static bool is_among(uint32_t block, const uint32_t *taken, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (taken[i] == block) return true;
    return false;
}

/* Pairs of one result follow one another. */
double order_taken(const OrderGraph *g, uint32_t step,
                   bool (*dies)(const void *ctx, uint32_t block), const void *ctx) {
    enum { MOST = 64 };
    const uint32_t *pair = g->takes.item + g->takes.first[step],
                   *end = g->takes.item + g->takes.first[step + 1];
    uint32_t taken[MOST], to = NONE;
    size_t n = 0;
    double bytes = 0;
    for (; pair < end && n < MOST; pair += 2) {
        if (pair[1] == to || !dies(ctx, pair[0]) || is_among(pair[0], taken, n))
            continue;
        to = pair[1];
        taken[n++] = pair[0];
        bytes += g->bytes[pair[0]];
    }
    return bytes;
}

typedef struct Left {
    const OrderGraph *g;
    uint32_t *readers; /* by block: those to come */
} Left;

static bool dies_now(const void *ctx, uint32_t block) {
    const Left *left = ctx;
    return left->readers[block] == 1 && !left->g->kept[block];
}

void order_live(const OrderGraph *g, const uint32_t *order, Live *live) {
    uint32_t *left = mem_alloc(g->s, ((size_t)g->nblock + 1) * sizeof *left);
    Left to_come = {g, left};
    for (uint32_t b = 0; b < g->nblock; b++)
        left[b] = readers_of(g, b);
    double now = 0;
    for (uint32_t i = 0; i < g->nstep; i++) {
        double taken = order_taken(g, order[i], dies_now, &to_come), unread = 0;
        live[i].before = now;
        EACH_ITEM(g->makes, order[i], b) {
            now += g->bytes[*b];
            if (left[*b] == 0 && !g->kept[*b]) unread += g->bytes[*b];
        }
        live[i].most = now - taken;
        now -= unread;
        EACH_ITEM(g->reads, order[i], b) {
            if (--left[*b] == 0 && !g->kept[*b]) now -= g->bytes[*b];
        }
    }
    live[g->nstep] = (Live){now, now};
    mem_free(left);
}

static double peak_of(const OrderGraph *g, Arena *a, const uint32_t *order) {
    Live *live = NEW_N(a, (size_t)g->nstep + 1, Live);
    double peak = 0;
    order_live(g, order, live);
    for (uint32_t i = 0; i < g->nstep; i++)
        if (live[i].most > peak) peak = live[i].most;
    return peak;
}

double order_bound(const OrderGraph *g) {
    double most = 0;
    for (uint32_t b = 0; b < g->nblock; b++)
        most += g->kept[b] ? g->bytes[b] : 0;
    for (uint32_t i = 0; i < g->nstep; i++) {
        double own = 0;
        EACH_ITEM(g->makes, i, b) own += g->bytes[*b];
        EACH_ITEM(g->reads, i, b) own += g->bytes[*b];
        const uint32_t *pair = g->takes.item + g->takes.first[i],
                       *end = g->takes.item + g->takes.first[i + 1];
        for (const uint32_t *x = pair; x < end; x += 2)
            own -= g->bytes[x[0]];
        if (own > most) most = own;
    }
    return most;
}

/* ---- as soon as possible, as late as possible ---- */
/* One walk over the steps, from the beginning, or from the end. */
typedef struct Walk {
    const OrderGraph *g;
    const uint32_t *from; /* the order to change */
    bool late;            /* from the end */
    uint32_t *rank;       /* by step: its turn in the walk */
    uint32_t *waits;      /* by step: for so many others */
    uint32_t *left;       /* by block: readers to come */
    bool *placed;         /* by step */
    uint32_t *order, n;
    Heap due; /* ranks of steps that don't need more room */
} Walk;

static uint32_t step_of(const Walk *w, uint32_t rank) {
    return w->from[w->late ? w->g->nstep - 1 - rank : rank];
}

/* Bytes alive after the step less those before it; from the end, the reverse. */
static double more_bytes(const Walk *w, uint32_t step) {
    const OrderGraph *g = w->g;
    double more = 0;
    EACH_ITEM(g->makes, step, b) {
        bool lives = g->kept[*b] ||
                     (w->late ? w->left[*b] < readers_of(g, *b) : w->left[*b] > 0);
        if (lives) more += w->late ? -g->bytes[*b] : g->bytes[*b];
    }
    EACH_ITEM(g->reads, step, b) {
        if (!g->kept[*b] && w->left[*b] == (w->late ? readers_of(g, *b) : 1))
            more += w->late ? g->bytes[*b] : -g->bytes[*b];
    }
    return more;
}

static void consider(Walk *w, uint32_t step) {
    if (!w->placed[step] && w->waits[step] == 0 && more_bytes(w, step) <= 0)
        heap_push(w->g->s, &w->due, w->rank[step]);
}

static void place_step(Walk *w, uint32_t step) {
    const OrderGraph *g = w->g;
    if (w->placed[step]) return;
    w->placed[step] = true;
    w->order[w->late ? g->nstep - 1 - w->n : w->n] = step;
    w->n++;
    EACH_ITEM(g->reads, step, b) {
        w->left[*b]--;
        if (w->left[*b] != (w->late ? readers_of(g, *b) - 1 : 1)) continue;
        EACH_ITEM(g->readers, *b, other) consider(w, *other);
    }
    EACH_ITEM(w->late ? g->before : g->after, step, next) {
        w->waits[*next]--;
        consider(w, *next);
    }
}

static uint32_t *walk_steps(const OrderGraph *g, Arena *a, const uint32_t *from,
                            bool late) {
    uint32_t n = g->nstep;
    Walk w = {.g = g,
              .from = from,
              .late = late,
              .rank = NEW_N(a, n, uint32_t),
              .waits = NEW_N(a, n, uint32_t),
              .left = NEW_N(a, g->nblock, uint32_t),
              .placed = NEW_N(a, n, bool),
              .order = NEW_N(a, n, uint32_t)};
    const Lists *needed = late ? &g->after : &g->before;
    for (uint32_t i = 0; i < n; i++) {
        w.rank[step_of(&w, i)] = i;
        w.waits[i] = needed->first[i + 1] - needed->first[i];
    }
    for (uint32_t b = 0; b < g->nblock; b++)
        w.left[b] = readers_of(g, b);
    for (uint32_t i = 0; i < n; i++) {
        place_step(&w, step_of(&w, i));
        while (w.due.n)
            place_step(&w, step_of(&w, heap_pop(&w.due)));
    }
    vec_free(&w.due);
    return w.order;
}

/* ---- the best ---- */
typedef struct Best {
    const OrderGraph *g;
    Arena *a;
    uint32_t *order;
    double peak;
} Best;

static uint32_t *try_walk(Best *best, const uint32_t *from, bool late) {
    uint32_t *order = walk_steps(best->g, best->a, from, late);
    double peak = peak_of(best->g, best->a, order);
    if (peak < best->peak) best->order = order, best->peak = peak;
    return order;
}

/* NULL: none that is better than the given one. */
static uint32_t *find_order(const OrderGraph *g, Arena *a) {
    uint32_t *given = NEW_N(a, g->nstep, uint32_t);
    for (uint32_t i = 0; i < g->nstep; i++)
        given[i] = i;
    double peak = peak_of(g, a, given);
    if (peak <= order_bound(g)) return NULL;
    Best best = {g, a, given, peak};
    try_walk(&best, try_walk(&best, given, false), true);
    try_walk(&best, try_walk(&best, given, true), false);
    uint32_t *order = arena_copy(a, best.order, g->nstep * sizeof *order);
    order_search(g, order);
    return peak_of(g, a, order) < peak ? order : NULL;
}

/* Bytes alive at the worst step as the plan stands; dims that aren't known are `dim`.
 */
static double planned_peak(const Plan *p, Arena *a, const Sharing *h, double dim) {
    double *change = NEW_N(a, (size_t)p->nins + 2, double),
           *bytes = NEW_N(a, h->store.n, double), live = 0, peak = 0;
    for (uint32_t c = p->nleaf; c < p->ncell; c++) {
        const CellInfo *x = &h->cell[c];
        double n = bytes_at(x->type, dim);
        if (x->how != PLAN_VIEW && n > bytes[x->store]) bytes[x->store] = n;
        if (x->flags & CELL_COPIED) change[p->nins] += n;
    }
    for (size_t i = 0; i < h->store.n; i++) {
        const Store *st = &h->store.p[i];
        if (store_is_leafs(st->cls)) continue;
        change[st->born] += bytes[i];
        change[st->dies + 1] -= bytes[i];
    }
    for (uint32_t i = 0; i <= p->nins; i++) {
        live += change[i];
        if (live > peak) peak = live;
    }
    return peak;
}

static void find_peaks(const Plan *p, Arena *a, const Sharing *h, double peak[SIZES]) {
    for (size_t i = 0; i < SIZES; i++)
        peak[i] = planned_peak(p, a, h, sizes_of_dims[i]);
}

/* Takes the order, unless it turns out to need more than the given one. */
static void take_order(Plan *p, Arena *a, const Sharing *given, const uint32_t *order) {
    Ins *was = p->ins;
    double before[SIZES], after[SIZES];
    find_peaks(p, a, given, before);
    p->ins = NEW_N(p->arena, p->nins, Ins);
    for (uint32_t i = 0; i < p->nins; i++)
        p->ins[i] = was[order[i]];
    Sharing h = {0};
    alias_share(p, a, !p->o.no_inplace, &h);
    find_peaks(p, a, &h, after);
    vec_free(&h.store);
    bool better = after[0] < before[0];
    for (size_t i = 1; i < SIZES; i++)
        better &= after[i] <= before[i];
    if (!better) p->ins = was;
}

static bool may_be_ordered(const Plan *p) {
    if (p->nins <= 2 || p->nins > MOST_STEPS || p->o.no_reuse) return false;
    for (uint32_t i = 0; i < p->nins; i++)
        if (ins_is_lazy(&p->ins[i]) || overlap_can_begin(p, &p->ins[i])) return false;
    return true;
}

/* What all results together need that fit into a core's caches isn't worth an order. */
static bool fits_caches(const Plan *p) {
    double bytes = 0;
    for (uint32_t c = p->nleaf; c < p->ncell; c++)
        bytes += bytes_at(p->sharing.cell[c].type, TYPICAL);
    return bytes <= CACHE_BYTES;
}

void order_memory(Plan *p) {
    if (!may_be_ordered(p) || fits_caches(p)) return;
    Arena *a = arena_new(p->s);
    Sharing h = {0};
    alias_share(p, a, !p->o.no_inplace, &h);
    uint32_t *order = find_order(order_graph(p, a, &h), a);
    if (order) take_order(p, a, &h, order);
    vec_free(&h.store);
    arena_free(a);
}
