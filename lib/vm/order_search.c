/* A search among the orders of a window of steps around the worst one. A state is the
 * set of steps that have run; what is alive then doesn't depend on their order. States
 * are looked at by the most bytes that were alive on the way there (Dijkstra's
 * algorithm with the larger of two in place of their sum), so the first that has run
 * all is the best order of the window. A step that frees what it needs, and doesn't
 * raise the most, runs at once: no order is better for delaying it. */
#include "vm/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 64,         /* steps: bits of a set */
    MOST_STATES = 2000,  /* of all windows of a plan together */
    SET_UP = 16,         /* states that take as long as setting up a window does, */
    STEPS_OF_STATE = 256 /* and one as long as finding what is alive at so many steps */
};

typedef struct State {
    uint64_t done;
    double live, most;
    uint32_t parent;
    uint32_t step; /* of the window: the last that has run */
} State;
typedef struct LocalBlock {
    double bytes;
    uint64_t readers; /* steps of the window */
    bool stays;       /* alive after the window */
} LocalBlock;
typedef struct Window {
    const OrderGraph *g;
    const uint32_t *order; /* of the window's steps */
    uint32_t n;
    uint64_t before[WINDOW]; /* by step: those of the window that it needs */
    uint32_t *local;         /* by block of the graph: its number here; NONE */
    Vec(LocalBlock) block;
    Vec(State) state;
    Vec(uint32_t) heap; /* states, the one with the least `most` first */
    Map seen;           /* sets, and the bits of the least `most` */
    uint32_t budget;
    double limit; /* the window's most bytes alive in the given order */
} Window;

/* ---- setting up ---- */
static void add_block(Window *w, uint32_t block, const uint32_t *rank, uint32_t lo) {
    const OrderGraph *g = w->g;
    if (w->local[block] != NONE) return;
    LocalBlock b = {.bytes = g->bytes[block], .stays = g->kept[block]};
    EACH_ITEM(g->readers, block, reader) {
        if (rank[*reader] >= lo + w->n)
            b.stays = true;
        else if (rank[*reader] >= lo)
            b.readers |= UINT64_C(1) << (rank[*reader] - lo);
    }
    w->local[block] = (uint32_t)w->block.n;
    vec_push(g->s, &w->block, b);
}

static void window_open(Window *w, const uint32_t *rank, uint32_t lo) {
    const OrderGraph *g = w->g;
    w->block.n = w->state.n = w->heap.n = 0;
    w->seen = MAP(g->s);
    for (uint32_t i = 0; i < w->n; i++) {
        w->before[i] = 0;
        EACH_ITEM(g->before, w->order[i], other) {
            if (rank[*other] >= lo) w->before[i] |= UINT64_C(1) << (rank[*other] - lo);
        }
        EACH_ITEM(g->reads, w->order[i], b) add_block(w, *b, rank, lo);
        EACH_ITEM(g->makes, w->order[i], b) add_block(w, *b, rank, lo);
    }
}

static void window_close(Window *w) {
    for (uint32_t i = 0; i < w->n; i++) {
        EACH_ITEM(w->g->reads, w->order[i], b) w->local[*b] = NONE;
        EACH_ITEM(w->g->makes, w->order[i], b) w->local[*b] = NONE;
    }
    map_free(&w->seen);
}

/* ---- a step ---- */
static bool dies_at(const LocalBlock *b, uint64_t done, uint64_t step) {
    return !b->stays && b->readers & step && !(b->readers & ~(done | step));
}

typedef struct Turn {
    const Window *w;
    uint64_t done, step;
} Turn;

static bool dies_there(const void *ctx, uint32_t block) {
    const Turn *at = ctx;
    return dies_at(&at->w->block.p[at->w->local[block]], at->done, at->step);
}

/* The state after the window's step i, without its parent. */
static State run_step(const Window *w, const State *x, uint32_t i) {
    uint64_t bit = UINT64_C(1) << i;
    uint32_t step = w->order[i];
    State next = {.done = x->done | bit, .live = x->live, .most = x->most, .step = i};
    EACH_ITEM(w->g->makes, step, b) next.live += w->g->bytes[*b];
    Turn at = {w, x->done, bit};
    double most = next.live - order_taken(w->g, step, dies_there, &at);
    if (most > next.most) next.most = most;
    EACH_ITEM(w->g->makes, step, b) {
        const LocalBlock *made = &w->block.p[w->local[*b]];
        if (!made->stays && !made->readers) next.live -= made->bytes;
    }
    EACH_ITEM(w->g->reads, step, b) {
        const LocalBlock *read = &w->block.p[w->local[*b]];
        if (dies_at(read, x->done, bit)) next.live -= read->bytes;
    }
    return next;
}

/* ---- states by their most bytes alive ---- */
/* Of equals, the one that has come further, or was found first. */
static bool comes_first(const Window *w, uint32_t a, uint32_t b) {
    const State *x = &w->state.p[a], *y = &w->state.p[b];
    if (x->most != y->most) return x->most < y->most;
    int more = __builtin_popcountll(x->done) - __builtin_popcountll(y->done);
    return more ? more > 0 : a < b;
}

static void push_state(Window *w, uint32_t x) {
    vec_push(w->g->s, &w->heap, x);
    size_t i = w->heap.n - 1;
    for (; i > 0 && comes_first(w, x, w->heap.p[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap.p[i] = w->heap.p[(i - 1) / 2];
    w->heap.p[i] = x;
}

static uint32_t pop_state(Window *w) {
    uint32_t top = w->heap.p[0], last = w->heap.p[--w->heap.n];
    size_t i = 0;
    for (size_t k = 1; k < w->heap.n; i = k, k = 2 * i + 1) {
        if (k + 1 < w->heap.n && comes_first(w, w->heap.p[k + 1], w->heap.p[k])) k++;
        if (comes_first(w, last, w->heap.p[k])) break;
        w->heap.p[i] = w->heap.p[k];
    }
    if (w->heap.n) w->heap.p[i] = last;
    return top;
}

static uint32_t add_state(Window *w, State x, uint32_t parent) {
    x.parent = parent;
    vec_push(w->g->s, &w->state, x);
    return (uint32_t)w->state.n - 1;
}

static bool is_ready(const Window *w, uint64_t done, uint32_t i) {
    return !(done >> i & 1) && !(w->before[i] & ~done);
}

/* Runs the steps that free what they need. */
static uint32_t run_free_steps(Window *w, uint32_t at) {
    for (uint32_t i = 0; i < w->n; i++) {
        const State *x = &w->state.p[at];
        if (!is_ready(w, x->done, i)) continue;
        State next = run_step(w, x, i);
        if (next.live > x->live || next.most > x->most) continue;
        at = add_state(w, next, at);
        i = UINT32_MAX; /* others may be ready now */
    }
    return at;
}

static void follow(Window *w, uint32_t at, uint32_t i) {
    State next = run_step(w, &w->state.p[at], i);
    if (next.most >= w->limit) return;
    at = run_free_steps(w, add_state(w, next, at));
    const State *x = &w->state.p[at];
    uint64_t bits, seen;
    memcpy(&bits, &x->most, sizeof bits); /* of numbers >= 0, which are in order */
    if (map_get(&w->seen, x->done, &seen) && seen <= bits) return;
    map_put(&w->seen, x->done, bits);
    push_state(w, at);
}

/* The state in which all has run, with a lower peak than the given order's; NONE. */
static uint32_t find_end(Window *w, double live, double live_after) {
    uint64_t all = w->n == WINDOW ? UINT64_MAX : (UINT64_C(1) << w->n) - 1;
    State first = {.live = live, .most = live_after}; /* no order's most is less */
    push_state(w, run_free_steps(w, add_state(w, first, NONE)));
    while (w->heap.n && w->budget) {
        uint32_t at = pop_state(w);
        w->budget--;
        if (w->state.p[at].done == all) return at;
        for (uint32_t i = 0; i < w->n; i++)
            if (is_ready(w, w->state.p[at].done, i)) follow(w, at, i);
    }
    return NONE;
}

/* ---- windows ---- */
typedef struct Orders {
    const OrderGraph *g;
    uint32_t *order, *rank; /* rank: by step, its place in the order */
    Live *live;             /* by place */
    Window w;
} Orders;

static void find_limit(Orders *o, uint32_t lo) {
    o->w.limit = 0;
    for (uint32_t i = lo; i < lo + o->w.n; i++)
        if (o->live[i].most > o->w.limit) o->w.limit = o->live[i].most;
}

static bool improve_window(Orders *o, uint32_t lo) {
    Window *w = &o->w;
    uint32_t better[WINDOW], n = w->n;
    w->order = o->order + lo;
    find_limit(o, lo);
    window_open(w, o->rank, lo);
    uint32_t end = find_end(w, o->live[lo].before, o->live[lo + n].before);
    for (uint32_t at = end; at != NONE && w->state.p[at].parent != NONE;
         at = w->state.p[at].parent)
        better[--n] = w->order[w->state.p[at].step];
    window_close(w);
    for (uint32_t i = 0; end != NONE && i < w->n; i++) {
        o->order[lo + i] = better[i];
        o->rank[better[i]] = lo + i;
    }
    return end != NONE;
}

/* Places the worst step in the middle of a window, then near its end, then near its
 * beginning. */
static bool improve_around(Orders *o, uint32_t at) {
    static const uint32_t places[] = {WINDOW / 2, WINDOW - WINDOW / 8, WINDOW / 8};
    uint32_t n = o->g->nstep, last = n > WINDOW ? n - WINDOW : 0, tried = NONE;
    o->w.n = n < WINDOW ? n : WINDOW;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t lo = at > places[i] ? at - places[i] : 0;
        if (lo > last) lo = last;
        if (lo == tried) continue;
        tried = lo;
        if (improve_window(o, lo)) return true;
    }
    return false;
}

static uint32_t worst_step(const Orders *o) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < o->g->nstep; i++)
        if (o->live[i].most > o->live[at].most) at = i;
    return at;
}

void order_search(const OrderGraph *g, uint32_t *order) {
    Arena *a = arena_new(g->s);
    Orders o = {.g = g,
                .order = order,
                .rank = NEW_N(a, g->nstep, uint32_t),
                .live = NEW_N(a, (size_t)g->nstep + 1, Live)};
    o.w =
        (Window){.g = g, .local = NEW_N(a, g->nblock, uint32_t), .budget = MOST_STATES};
    for (uint32_t i = 0; i < g->nstep; i++)
        o.rank[order[i]] = i;
    memset(o.w.local, 0xff, g->nblock * sizeof *o.w.local);
    double bound = order_bound(g);
    uint32_t at, each = SET_UP + g->nstep / STEPS_OF_STATE;
    do {
        order_live(g, order, o.live);
        at = worst_step(&o);
        o.w.budget -= o.w.budget < each ? o.w.budget : each;
    } while (o.w.budget && o.live[at].most > bound && improve_around(&o, at));
    vec_free(&o.w.block);
    vec_free(&o.w.state);
    vec_free(&o.w.heap);
    arena_free(a);
}
