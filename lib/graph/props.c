/* Interns props once per session: equal ones are one pointer, so comparing Applies
 * compares pointers. Floats are equal if their bits are (0.0 and -0.0 differ). */
#include "graph/graph.h"

#include <string.h>

typedef struct PropsTable {
    Arena *arena;
    Index index;
    Vec(const Props *) all;
} PropsTable;

static void free_props_table(void *p) {
    PropsTable *t = p;
    index_free(&t->index);
    vec_free(&t->all);
    arena_free(t->arena);
    mem_free(t);
}

static PropsTable *props_table(Session *s) {
    PropsTable *t = session_slot(s, SLOT_PROPS);
    if (t) return t;
    t = mem_zalloc(s, 1, sizeof *t);
    t->arena = arena_new(s);
    t->index = INDEX(s);
    session_set_slot(s, SLOT_PROPS, t, free_props_table);
    return t;
}

static uint64_t prop_bits(const Prop *p) {
    uint64_t bits = 0;
    switch (p->kind) {
    case P_NONE:
        break;
    case P_BOOL:
    case P_INT:
    case P_DTYPE:
        bits = (uint64_t)p->i;
        break;
    case P_FLOAT:
        memcpy(&bits, &p->f, sizeof bits);
        break;
    case P_STR:
    case P_GRAPH:
        bits = p->sym;
        break;
    case P_INTS:
        bits = hash_bytes(p->ints.p, p->ints.n * sizeof *p->ints.p, p->ints.n);
        break;
    }
    return bits;
}

static bool prop_same(const Prop *a, const Prop *b) {
    if (a->kind != b->kind) return false;
    if (a->kind != P_INTS) return prop_bits(a) == prop_bits(b);
    size_t n = a->ints.n;
    return n == b->ints.n &&
           (n == 0 || memcmp(a->ints.p, b->ints.p, n * sizeof *a->ints.p) == 0);
}

typedef struct WantedProps {
    const PropsTable *t;
    size_t n;
    const Prop *p;
} WantedProps;

static bool props_same(const void *ctx, uint32_t id) {
    const WantedProps *w = ctx;
    const Props *have = w->t->all.p[id];
    if (have->n != w->n) return false;
    for (size_t i = 0; i < w->n; i++)
        if (!prop_same(&have->p[i], &w->p[i])) return false;
    return true;
}

static const Props *props_add(Session *s, PropsTable *t, size_t n, const Prop *p,
                              uint64_t hash) {
    Props *x = NEW(t->arena, Props);
    Prop *own = NEW_N(t->arena, n, Prop);
    for (size_t i = 0; i < n; i++) {
        own[i] = p[i];
        if (p[i].kind == P_INTS && p[i].ints.n)
            own[i].ints.p =
                arena_copy(t->arena, p[i].ints.p, p[i].ints.n * sizeof *p[i].ints.p);
    }
    *x = (Props){.n = (uint32_t)n, .id = (uint32_t)t->all.n, .hash = hash, .p = own};
    vec_push(s, &t->all, x);
    index_add(&t->index, hash, x->id);
    return x;
}

const Props *props_intern(Session *s, size_t n, const Prop *p) {
    PropsTable *t = props_table(s);
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = hash_mix(hash_mix(hash, p[i].kind), prop_bits(&p[i]));
    WantedProps w = {t, n, p};
    uint32_t id = index_find(&t->index, hash, props_same, &w);
    return id == UINT32_MAX ? props_add(s, t, n, p, hash) : t->all.p[id];
}
