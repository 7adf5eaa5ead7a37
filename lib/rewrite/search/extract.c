/* Chooses a term for each class. The cost of a term is its own and those of its inputs'
 * classes, as if nothing was shared: going bottom-up to a fixpoint (cheapest.c).
 * Where a choice shares classes this counts them too often, so some further rounds
 * divide the cost of what the last choice used several times; each choice is priced
 * with every class counted once, and the best one is improved further (improve.c). */
#include "rewrite/search/search_impl.h"

#include <math.h>
#include <string.h>

static const double discounts[] = {0, 1, 10};
enum { ROUNDS = sizeof discounts / sizeof *discounts };

/* Costs, choices, marks and a place with two inputs; measured on forms of sums. */
const size_t extract_bytes = 2 * sizeof(double) + sizeof(Place) + 8 * sizeof(Var) + 1;
const double extract_seconds = 0.5e-6;

/* ---- the costs of terms ---- */

/* What costs are of. */
static uint64_t hash_of_call(const Graph *g, const Apply *a) {
    uint64_t h = hash_mix((uintptr_t)a->op, (uintptr_t)a->props);
    for (uint32_t i = 0; i < a->nin; i++)
        h = hash_mix(h, (uintptr_t)var_type(g, g->in[a->in + i]));
    for (uint32_t k = 0; k < a->nout; k++)
        h = hash_mix(h, (uintptr_t)var_type(g, a->out + k));
    return h;
}

static double own_cost(const Extract *x, Map *known, Var v) {
    const Graph *g = x->e->g;
    union {
        double cost;
        uint64_t bits;
    } of;
    if (g->var[v].leaf) return 0;
    ApplyId id = g->var[v].owner;
    uint64_t key = hash_of_call(g, &g->apply[id]);
    if (map_get(known, key, &of.bits)) return of.cost;
    of.cost = x->s->o->cost(x->s->o->ctx, g, id) / g->apply[id].nout;
    map_put(known, key, of.bits);
    return of.cost;
}

/* ---- choices ---- */

/* The oldest term of each class, dead or alive: its inputs are older still. */
static void choose_oldest(Extract *x) {
    for (Var v = 0; v < x->e->n; v++)
        x->choice[v] = VAR_NONE;
    for (Var v = 0; v < x->e->n; v++) {
        Var class = egraph_find(x->e, v);
        if (x->choice[class] == VAR_NONE) x->choice[class] = v;
    }
}

/* ---- the price of a choice ---- */

static void reach_class(Extract *x, Var v) {
    Var class = egraph_find(x->e, v);
    if (x->readers[class]++ == 0) vec_push(x->s->s, &x->stack, class);
}

/* Counts every class once, and its readers. What was not chosen in time can't be had.
 */
static double price(Extract *x) {
    double sum = 0;
    memset(x->readers, 0, x->e->n * sizeof *x->readers);
    for (size_t i = 0; i < x->roots.n; i++)
        reach_class(x, x->roots.p[i]);
    while (x->stack.n) {
        Var v = x->choice[x->stack.p[--x->stack.n]];
        if (v == VAR_NONE) return x->stack.n = 0, HUGE_VAL;
        sum += x->own[v];
        VarList in = egraph_inputs(x->e, v);
        for (size_t i = 0; i < in.n; i++)
            reach_class(x, in.p[i]);
    }
    return sum;
}

/* ---- the best of some choices ---- */

static void keep_better(Extract *x, Var *kept) {
    double cost = price(x);
    if (!(cost < x->s->o->after)) return;
    x->s->o->after = cost;
    memcpy(kept, x->choice, x->e->n * sizeof *kept);
}

static void open_extract(Extract *x) {
    size_t n = x->e->n + (size_t)1;
    x->own = arena_alloc(x->a, n * sizeof *x->own);
    x->best = arena_alloc(x->a, n * sizeof *x->best);
    x->choice = arena_alloc(x->a, n * sizeof *x->choice);
    x->readers = NEW_N(x->a, n, uint32_t);
    x->roots = graph_roots(x->e->g, x->a, ROOTS_RUN | ROOTS_INIT);
    Map known = MAP(x->s->s);
    for (Var v = 0; v < x->e->n; v++)
        x->own[v] = own_cost(x, &known, v);
    map_free(&known);
    extract_order(x);
}

Var *extract_cheapest(Search *s, Arena *a) {
    Extract x = {.s = s, .a = a, .e = &s->e};
    open_extract(&x);
    Var *kept = NEW_N(a, x.e->n + (size_t)1, Var);
    choose_oldest(&x);
    memcpy(kept, x.choice, x.e->n * sizeof *kept);
    s->o->before = s->o->after = price(&x);
    for (int round = 0; round < ROUNDS && !search_is_late(s, 0); round++) {
        x.discount = discounts[round];
        extract_choose(&x);
        keep_better(&x, kept);
    }
    if (!search_is_late(s, 0)) {
        memcpy(x.choice, kept, x.e->n * sizeof *kept);
        price(&x);
        extract_improve(&x);
        keep_better(&x, kept);
    }
    vec_free(&x.stack);
    return kept;
}
