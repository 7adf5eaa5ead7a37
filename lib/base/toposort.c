/* Topological order by depth-first search, with an explicit stack. */
#include "base/toposort.h"

#include "base/mem.h"

typedef struct OpenItem {
    uint32_t item, next;
} OpenItem;
typedef struct TopoWalk {
    Session *s;
    const uint32_t *first, *need;
    uint32_t *order, norder;
    uint8_t *state; /* 0 not seen, 1 open, 2 done */
    Vec(OpenItem) open;
} TopoWalk;

static void open_item(TopoWalk *w, uint32_t x) {
    w->state[x] = 1;
    vec_push(w->s, &w->open, ((OpenItem){x, w->first[x]}));
}

/* The open items from x on form a cycle. */
static uint32_t copy_cycle(TopoWalk *w, uint32_t x) {
    size_t from = w->open.n;
    while (w->open.p[from - 1].item != x)
        from--;
    uint32_t n = 0;
    for (size_t i = from - 1; i < w->open.n; i++)
        w->order[n++] = w->open.p[i].item;
    return n;
}

/* Visits the next item that the top one needs. Returns 0, or the length of a cycle. */
static uint32_t visit_next_need(TopoWalk *w) {
    OpenItem *top = &w->open.p[w->open.n - 1];
    if (top->next < w->first[top->item + 1]) {
        uint32_t x = w->need[top->next++];
        if (w->state[x] == 1) return copy_cycle(w, x);
        if (w->state[x] == 0) open_item(w, x);
        return 0;
    }
    w->state[top->item] = 2;
    w->order[w->norder++] = top->item;
    w->open.n--;
    return 0;
}

bool toposort(Session *s, uint32_t n, const uint32_t *first, const uint32_t *need,
              uint32_t *order, uint32_t *cycle) {
    TopoWalk w = {.s = s, .first = first, .need = need, .order = order};
    w.state = mem_zalloc(s, n, 1);
    *cycle = 0;
    for (uint32_t i = 0; i < n && !*cycle; i++) {
        if (w.state[i] == 0) open_item(&w, i);
        while (w.open.n && !*cycle)
            *cycle = visit_next_need(&w);
    }
    vec_free(&w.open);
    mem_free(w.state);
    return !*cycle;
}
