/* Finds equal Applies. An open table of their numbers: each is kept near where the
 * newest of its inputs says, so that building and walking a graph in its order reads
 * the table in order too. Many Applies may share their newest input; when the slots
 * near it are taken, the rest is scattered by hash. A byte of each hash, in a table of
 * their own, tells most unequal Applies apart: those of one input may be far from each
 * other in a graph, and reading one that isn't in the cache takes as long as all else.
 */
#include "graph/graph_impl.h"

#include <string.h>

enum { NEAR = 8, PER_VAR = 2, FIRST_SLOTS = 16 };
enum { FREE = 0 }; /* as a mark */

/* Where an Apply is looked for. */
typedef struct ApplyPlace {
    uint64_t near, hash;
    uint8_t mark;
} ApplyPlace;

static inline ApplyPlace apply_place(const ApplyKey *k) {
    uint64_t h = hash_mix((uint64_t)(uintptr_t)k->op, k->props->id);
    Var newest = 0;
    for (size_t i = 0; i < k->nin; i++) {
        h = hash_mix(h, k->in[i]);
        if (k->in[i] > newest) newest = k->in[i];
    }
    return (ApplyPlace){k->nin ? (uint64_t)newest * PER_VAR : h, h,
                        (uint8_t)(h >> 56) | 1};
}

/* The slot to look at in step i of a search. */
static inline size_t slot_at(const ApplyIndex *x, ApplyPlace p, size_t i) {
    if (i < NEAR) return (p.near + i) & x->mask;
    return (p.hash + (i - NEAR) * (p.hash >> 32 | 1)) & x->mask;
}

static bool is_same_apply(const ApplyKey *k, ApplyId id) {
    const Apply *a = &k->g->apply[id];
    return a->op == k->op && a->props == k->props && a->nin == k->nin &&
           (k->nin == 0 ||
            memcmp(apply_in(k->g, id), k->in, k->nin * sizeof *k->in) == 0);
}

static inline void put_apply(ApplyIndex *x, size_t at, ApplyPlace p, ApplyId a) {
    x->slot[at] = a;
    x->mark[at] = p.mark;
    x->n++;
}

ApplyId apply_index_find(const ApplyIndex *x, const ApplyKey *k) {
    if (!x->slot) return APPLY_NONE;
    const ApplyPlace p = apply_place(k);
    for (size_t i = 0;; i++) {
        size_t at = slot_at(x, p, i);
        if (x->mark[at] == FREE) return APPLY_NONE;
        if (x->mark[at] == p.mark && is_same_apply(k, x->slot[at])) return x->slot[at];
    }
}

ApplyId apply_index_add(ApplyIndex *x, const ApplyKey *k, ApplyId a) {
    const ApplyPlace p = apply_place(k);
    for (size_t i = 0;; i++) {
        size_t at = slot_at(x, p, i);
        if (x->mark[at] == FREE) return put_apply(x, at, p, a), a;
        if (x->mark[at] == p.mark && is_same_apply(k, x->slot[at])) return x->slot[at];
    }
}

ApplyKey apply_key(const Graph *g, ApplyId a) {
    const Apply *r = &g->apply[a];
    return (ApplyKey){g, r->op, r->props, r->nin, apply_in(g, a)};
}

/* Equal Applies may be there both, since one got other inputs. */
static void put_again(ApplyIndex *x, const Graph *g, ApplyId a) {
    const ApplyKey k = apply_key(g, a);
    const ApplyPlace p = apply_place(&k);
    size_t i = 0;
    while (x->mark[slot_at(x, p, i)] != FREE)
        i++;
    put_apply(x, slot_at(x, p, i), p, a);
}

/* Half full at most. It grows when three quarters are: what sweeps add to a graph fits
 * in between, and to place all anew reads every Apply. */
static void grow(ApplyIndex *x, const Graph *g, size_t n) {
    size_t size = x->slot ? x->mask + 1 : FIRST_SLOTS;
    while (size / 2 < n)
        size *= 2;
    ApplyIndex big = {.mask = size - 1};
    big.slot = mem_realloc(g->s, NULL, size, sizeof *big.slot);
    big.mark = mem_zalloc(g->s, size, sizeof *big.mark);
    for (size_t i = 0; x->slot && i <= x->mask; i++)
        if (x->mark[i] != FREE) put_again(&big, g, x->slot[i]);
    apply_index_free(x);
    *x = big;
}

void apply_index_reserve(ApplyIndex *x, const Graph *g, size_t n) {
    if (!x->slot || (x->mask + 1) / 4 * 3 < n) grow(x, g, n);
}

void apply_index_free(ApplyIndex *x) {
    mem_free(x->slot);
    mem_free(x->mark);
    *x = (ApplyIndex){0};
}
