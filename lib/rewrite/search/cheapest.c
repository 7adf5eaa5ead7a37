/* The cheapest term of each class, counting shared classes as often as they are read:
 * Knuth's generalisation of Dijkstra's algorithm. A term costs no less than any of its
 * inputs, so the cheapest offer of all is final for its class; a choice only needs
 * classes that were chosen before it, and so is never circular. */
#include "rewrite/search/search_impl.h"

/* Without sharing, costs grow exponentially with depth. */
static const double beyond = 1e300;

/* ---- a heap of offers ---- */

static bool is_before(const Offer *a, const Offer *b) {
    return a->cost != b->cost ? a->cost < b->cost : a->term < b->term;
}

static void swap_offers(Offer *a, Offer *b) {
    Offer t = *a;
    *a = *b;
    *b = t;
}

static void push_offer(Extract *x, Offer o) {
    vec_push(x->s->s, &x->heap, o);
    Offer *p = x->heap.p;
    for (size_t i = x->heap.n - 1; i && is_before(&p[i], &p[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap_offers(&p[i], &p[(i - 1) / 2]);
}

static Offer pop_offer(Extract *x) {
    Offer *p = x->heap.p, top = p[0];
    size_t n = --x->heap.n;
    p[0] = p[n];
    for (size_t i = 0, kid = 1; kid < n; i = kid, kid = 2 * i + 1) {
        if (kid + 1 < n && is_before(&p[kid + 1], &p[kid])) kid++;
        if (!is_before(&p[kid], &p[i])) break;
        swap_offers(&p[kid], &p[i]);
    }
    return top;
}

/* ---- offers ---- */

static double term_cost(const Extract *x, Var v) {
    const Graph *g = x->e->g;
    if (g->var[v].leaf) return 0;
    double sum = x->own[v] / (1 + x->discount * x->readers[egraph_find(x->e, v)]);
    VarList in = apply_ins(g, g->var[v].owner);
    for (size_t i = 0; i < in.n; i++)
        sum += x->best[egraph_find(x->e, in.p[i])];
    return sum < beyond ? sum : beyond;
}

static void offer_term(Extract *x, Var v) {
    if (x->choice[egraph_find(x->e, v)] != VAR_NONE) return;
    Offer o = {term_cost(x, v), v};
    push_offer(x, o);
}

static void open_offers(Extract *x) {
    const Graph *g = x->e->g;
    x->heap.n = 0;
    for (Var v = 0; v < x->e->n; v++) {
        x->choice[v] = VAR_NONE;
        x->open[v] = g->var[v].leaf ? 0 : g->apply[g->var[v].owner].nin;
    }
    for (Var v = 0; v < x->e->n; v++)
        if (!x->open[v] && !x->e->dead[v]) offer_term(x, v);
}

/* Each input of a term is one use of a class. */
static void offer_users(Extract *x, Var class) {
    const EGraph *e = x->e;
    for (uint32_t at = e->first[class]; at != UINT32_MAX; at = e->uses.p[at].next) {
        Var v = e->uses.p[at].term;
        if (--x->open[v] == 0 && !e->dead[v]) offer_term(x, v);
    }
}

void extract_choose(Extract *x) {
    open_offers(x);
    while (x->heap.n) {
        Offer o = pop_offer(x);
        Var class = egraph_find(x->e, o.term);
        if (x->choice[class] != VAR_NONE) continue;
        x->choice[class] = o.term;
        x->best[class] = o.cost;
        offer_users(x, class);
    }
}
