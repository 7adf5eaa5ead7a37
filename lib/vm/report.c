/* A plan's memory, from types and dims alone: as it is, and without each of its
 * savings. */
#include "vm/vm_impl.h"

/* Sources of sizes. */
typedef struct Known {
    Map dims;
    const int64_t *bytes;
} Known;

static int64_t cell_bytes(const CellInfo *c, const Known *k) {
    int64_t n = type_bytes(c->type, &k->dims);
    bool seen = n < 0 && k->bytes && c->type->kind == TYPE_TENSOR;
    return seen ? k->bytes[c->var] : n;
}

typedef struct Sizes {
    Span64 *span;
    size_t n;
    uint32_t unknown;
} Sizes;

static Sizes sizes_of_stores(const Plan *p, const Sharing *h, const Known *k) {
    Sizes z = {mem_zalloc(p->s, h->store.n, sizeof(Span64)), h->store.n, 0};
    for (size_t i = 0; i < z.n; i++) {
        const Store *s = &h->store.p[i];
        bool copy = s->born == p->nins;
        z.span[i] =
            (Span64){s->born, s->dies, copy ? cell_bytes(&h->cell[s->cell], k) : 0, 0};
    }
    for (uint32_t c = p->nleaf; c < p->ncell; c++) {
        Span64 *x = &z.span[h->cell[c].store];
        int64_t n = cell_bytes(&h->cell[c], k);
        if (n < 0) z.unknown++;
        if (n > x->bytes) x->bytes = n;
    }
    for (size_t i = 0; i < z.n; i++) {
        const Store *s = &h->store.p[i];
        const CellInfo *c = &h->cell[s->cell];
        bool view = s->born < p->nins && c->how == PLAN_VIEW &&
                    !(c->flags & CELL_COPY_ROOM && c->store == i);
        bool apart = s->cls == STORE_OWN && p->o.results_apart;
        if (store_is_leafs(s->cls) || view || apart || z.span[i].bytes < 0)
            z.span[i].bytes = -1;
    }
    return z;
}

/* Bytes alive at each step, and the maximum. */
static uint64_t least_alive_bytes(const Plan *p, const Sizes *z, uint32_t *at) {
    int64_t *change = mem_zalloc(p->s, (size_t)p->nins + 2, sizeof *change), now = 0,
            worst = 0;
    for (size_t i = 0; i < z->n; i++) {
        if (z->span[i].bytes < 0) continue;
        change[z->span[i].born] += z->span[i].bytes;
        change[z->span[i].dies + 1] -= z->span[i].bytes;
    }
    *at = 0;
    for (uint32_t i = 0; i <= p->nins; i++)
        if ((now += change[i]) > worst) worst = now, *at = i;
    mem_free(change);
    return (uint64_t)worst;
}

uint64_t plan_alive_bytes(const Plan *p, const Map *dims) {
    Known k = {*dims, NULL};
    Sizes z = sizes_of_stores(p, &p->sharing, &k);
    uint32_t at;
    uint64_t bytes = least_alive_bytes(p, &z, &at);
    mem_free(z.span);
    return bytes;
}

/* Some results have separate buffers for the whole run; everything else is packed. */
static uint64_t planned_peak_bytes(const Plan *p, const Sharing *h, Sizes *z) {
    uint64_t own = 0;
    for (size_t i = 0; i < z->n; i++) {
        StoreClass cls = h->store.p[i].cls;
        if ((cls != STORE_OWN && cls != STORE_KEPT) || z->span[i].bytes < 0) continue;
        own += round_up((size_t)z->span[i].bytes);
        z->span[i].bytes = -1;
    }
    uint64_t arena = arena_layout(p->s, z->n, z->span);
    return arena > UINT64_MAX - own ? UINT64_MAX : own + arena;
}

static uint64_t peak_without(const Plan *p, const Known *k, bool inplace, bool reuse) {
    Arena *a = arena_new(p->s);
    Plan q = *p;
    if (!reuse) q.o.no_reuse = true;
    Sharing h = {0};
    alias_share(&q, a, inplace, &h);
    Sizes z = sizes_of_stores(&q, &h, k);
    uint64_t n = planned_peak_bytes(&q, &h, &z);
    mem_free(z.span);
    vec_free(&h.store);
    arena_free(a);
    return n;
}

PlanMemory plan_memory(const Plan *p, size_t ndim, const DimValue *dim,
                       const int64_t *bytes) {
    PlanMemory r = {0};
    Known k = {dim_value_map(p->s, ndim, dim), bytes};
    for (uint32_t c = 0; c < p->nleaf; c++) {
        int64_t n = cell_bytes(&p->sharing.cell[c], &k);
        if (n < 0)
            r.unknown++;
        else
            r.leaves += (uint64_t)n;
    }
    Sizes z = sizes_of_stores(p, &p->sharing, &k);
    r.unknown += z.unknown;
    r.least = least_alive_bytes(p, &z, &r.least_at);
    r.peak = planned_peak_bytes(p, &p->sharing, &z);
    mem_free(z.span);
    r.peak_no_inplace = peak_without(p, &k, false, !p->o.no_reuse);
    r.peak_no_reuse = peak_without(p, &k, false, false);
    map_free(&k.dims);
    return r;
}
