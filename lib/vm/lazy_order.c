/* Orders instructions when some may not run. The order is the graph's, except that
 * instructions needed only by a lazy Apply come right before it, so that it has been
 * asked by then. */
#include "vm/vm_impl.h"

#include <stdlib.h>

/* ---- a heap of instructions, smallest first ---- */
void heap_push(Session *s, Heap *h, uint32_t step) {
    vec_push(s, h, step);
    size_t i = h->n - 1;
    for (; i > 0 && h->p[(i - 1) / 2] > step; i = (i - 1) / 2)
        h->p[i] = h->p[(i - 1) / 2];
    h->p[i] = step;
}

uint32_t heap_pop(Heap *h) {
    uint32_t top = h->p[0], last = h->p[--h->n];
    size_t i = 0;
    for (size_t k = 1; k < h->n; i = k, k = 2 * i + 1) {
        if (k + 1 < h->n && h->p[k + 1] < h->p[k]) k++;
        if (h->p[k] >= last) break;
        h->p[i] = h->p[k];
    }
    if (h->n) h->p[i] = last;
    return top;
}

static uint32_t *find_makers(const Plan *p, Arena *a) {
    uint32_t *maker = NEW_N(a, p->ncell, uint32_t);
    for (uint32_t c = 0; c < p->ncell; c++)
        maker[c] = NONE;
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t j = 0; j < p->ins[i].nout; j++)
            maker[p->arg[p->ins[i].arg + p->ins[i].nin + j]] = i;
    return maker;
}

static bool any_lazy(const Plan *p) {
    for (uint32_t i = 0; p->has_thunks && i < p->nins; i++)
        if (ins_is_lazy(&p->ins[i])) return true;
    return false;
}

/* ---- unconditional instructions ---- */
static void mark_root(const Plan *p, const uint32_t *maker, uint8_t *always, Var v) {
    uint32_t i = v == VAR_NONE ? NONE : maker[plan_cell(p, v)];
    if (i != NONE) always[i] = 1;
}

static uint8_t *find_always(const Plan *p, Arena *a, const uint32_t *maker) {
    uint8_t *always = NEW_N(a, p->nins, uint8_t);
    for (uint32_t i = 0; i < p->noutput; i++)
        mark_root(p, maker, always, p->want[i]);
    for (uint32_t i = 0; i < p->nupdate; i++)
        mark_root(p, maker, always, p->updates[i].value);
    mark_root(p, maker, always, p->until);
    for (size_t i = 0; i < p->g->kept.n && !p->o.only_want; i++)
        mark_root(p, maker, always, p->g->kept.p[i]);
    for (size_t i = 0; i < p->g->effects.n && !p->o.only_want; i++)
        if (!p->conditional || !p->conditional[i])
            mark_root(p, maker, always, p->g->apply[p->g->effects.p[i]].out);
    for (uint32_t i = p->nins; i-- > 0;) {
        const Ins *in = &p->ins[i];
        for (uint32_t k = 0; always[i] && k < in->nin; k++)
            if (maker[p->arg[in->arg + k]] != NONE && !ins_asks(in, k))
                always[maker[p->arg[in->arg + k]]] = 1;
    }
    return always;
}

/* ---- order ---- */
/* Lists of instructions by number: the unconditional ones, and before each lazy one in
 * a list, those that it may request. */
typedef struct Part {
    uint32_t at, end; /* in `list` */
    bool opened;      /* the requests of the one at `at` have been listed */
} Part;
typedef struct Order {
    Plan *p;
    const uint32_t *maker;
    uint8_t *listed;
    Vec(Part) part;
    Vec(uint32_t) list, todo;
    Ins *out;
    uint32_t n;
} Order;

static void list_maker(Order *o, uint32_t cell) {
    uint32_t i = o->maker[cell];
    if (i == NONE || o->listed[i]) return;
    o->listed[i] = 1;
    vec_push(o->p->s, &o->todo, i);
}

/* Lists what the lazy instruction may request, without what is listed already or what
 * other lazy ones among it may request. */
static void open_lazy(Order *o, uint32_t lazy) {
    const Plan *p = o->p;
    Part part = {.at = (uint32_t)o->list.n};
    for (uint32_t k = 0; k < p->ins[lazy].nin; k++)
        list_maker(o, p->arg[p->ins[lazy].arg + k]);
    while (o->todo.n) {
        uint32_t i = o->todo.p[--o->todo.n];
        const Ins *in = &p->ins[i];
        vec_push(p->s, &o->list, i);
        for (uint32_t k = 0; k < in->nin; k++)
            if (!ins_asks(in, k)) list_maker(o, p->arg[in->arg + k]);
    }
    part.end = (uint32_t)o->list.n;
    if (part.end > part.at)
        qsort(o->list.p + part.at, part.end - part.at, sizeof *o->list.p,
              mem_compare_u32);
    vec_push(p->s, &o->part, part);
}

static void put_in_order(Order *o) {
    while (o->part.n) {
        Part *part = &o->part.p[o->part.n - 1];
        if (part->at == part->end) {
            o->part.n--;
            o->list.n = o->part.n ? o->part.p[o->part.n - 1].end : 0;
            continue;
        }
        uint32_t i = o->list.p[part->at];
        if (ins_is_lazy(&o->p->ins[i]) && !part->opened) {
            part->opened = true;
            open_lazy(o, i);
            continue;
        }
        o->out[o->n++] = o->p->ins[i];
        part->at++;
        part->opened = false;
    }
}

void order_lazy(Plan *p) {
    if (!any_lazy(p)) return;
    Arena *a = arena_new(p->s);
    const uint32_t *maker = find_makers(p, a);
    uint8_t *always = find_always(p, a, maker);
    Order o = {.p = p, .maker = maker, .listed = always};
    o.out = NEW_N(p->arena, p->nins, Ins);
    for (uint32_t i = 0; i < p->nins; i++)
        if (always[i]) vec_push(p->s, &o.list, i);
    vec_push(p->s, &o.part, ((Part){0, (uint32_t)o.list.n, false}));
    put_in_order(&o);
    if (o.n != p->nins) bug("the plan lost %u instructions", p->nins - o.n);
    p->ins = o.out;
    vec_free(&o.part);
    vec_free(&o.list);
    vec_free(&o.todo);
    arena_free(a);
}

/* ---- timing ---- */
/* A lazy Apply that names everything at once is asked when its first inputs are
 * computed and something needs it; others, when their turn comes. */
static uint32_t asked_at(const LazyPlan *l, const Plan *p, uint32_t i,
                         uint32_t wanted) {
    const Ins *in = &p->ins[i];
    uint32_t at = in->thunk->once ? wanted : i > wanted ? i : wanted;
    for (uint32_t k = 0; k < in->nin; k++) {
        uint32_t maker = l->maker[p->arg[in->arg + k]];
        if (!ins_asks(in, k) && maker != NONE && maker + 1 > at) at = maker + 1;
    }
    return at;
}

/* Computes late[i], the last step before which instruction i may be requested. */
static void find_late(const Plan *p, LazyPlan *l) {
    for (uint32_t i = p->nins; i-- > 0;) {
        const Ins *in = &p->ins[i];
        uint32_t wanted = l->late[i],
                 asked = ins_is_lazy(in) ? asked_at(l, p, i, wanted) : wanted;
        for (uint32_t k = 0; k < in->nin; k++) {
            uint32_t maker = l->maker[p->arg[in->arg + k]],
                     at = ins_asks(in, k) ? asked : wanted;
            if (maker != NONE && !l->always[maker] && l->late[maker] < at)
                l->late[maker] = at;
        }
        if (wanted < i) l->late[i] = i;
    }
}

static void find_readers(const Plan *p, LazyPlan *l) {
    uint8_t *seen = NEW_N(p->arena, p->ncell, uint8_t);
    l->reader = NEW_N(p->arena, p->ncell, uint32_t);
    for (uint32_t c = 0; c < p->ncell; c++)
        l->reader[c] = NONE;
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t k = 0; k < p->ins[i].nin; k++) {
            uint32_t c = p->arg[p->ins[i].arg + k];
            l->reader[c] = seen[c] ? NONE : i;
            seen[c] = 1;
        }
}

static bool waits_for(const Plan *p, const Ins *in, uint32_t k, const uint32_t *maker) {
    return ins_is_lazy(in) && !ins_asks(in, k) && maker[p->arg[in->arg + k]] != NONE;
}

static void find_watchers(const Plan *p, LazyPlan *l) {
    Arena *a = p->arena;
    l->watched = NEW_N(a, (size_t)p->nins + 2, uint32_t);
    l->ready = NEW_N(a, p->nins, uint32_t);
    for (uint32_t i = 0; i < p->nins; i++)
        for (uint32_t k = 0; k < p->ins[i].nin; k++)
            if (waits_for(p, &p->ins[i], k, l->maker))
                l->watched[l->maker[p->arg[p->ins[i].arg + k]] + 2]++;
    for (uint32_t i = 2; i < p->nins + 2; i++)
        l->watched[i] += l->watched[i - 1];
    l->watcher = NEW_N(a, l->watched[p->nins + 1], uint32_t);
    for (uint32_t i = 0; i < p->nins; i++) {
        bool waits = false;
        for (uint32_t k = 0; k < p->ins[i].nin; k++) {
            if (!waits_for(p, &p->ins[i], k, l->maker)) continue;
            waits = true;
            l->watcher[l->watched[l->maker[p->arg[p->ins[i].arg + k]] + 1]++] = i;
        }
        if (!waits && ins_is_lazy(&p->ins[i])) l->ready[l->nready++] = i;
    }
}

void order_late(Plan *p) {
    if (!any_lazy(p)) return;
    LazyPlan *l = NEW(p->arena, LazyPlan);
    l->maker = find_makers(p, p->arena);
    l->always = find_always(p, p->arena, l->maker);
    l->late = NEW_N(p->arena, p->nins, uint32_t);
    find_late(p, l);
    find_readers(p, l);
    find_watchers(p, l);
    p->lazy = l;
}
