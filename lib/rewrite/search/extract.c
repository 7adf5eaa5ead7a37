/* Chooses a term for each class. The cost of a term is its own and those of its inputs'
 * classes, as if nothing was shared: going bottom-up to a fixpoint finds the cheapest.
 * Where a choice shares classes this counts them too often, so some further rounds
 * divide the cost of what the last choice used several times; each choice is priced
 * with every class counted once, and the best one is improved further (improve.c). */
#include "rewrite/search/search_impl.h"

#include <math.h>
#include <string.h>

static const double discounts[] = {0, 1, 10};
enum { ROUNDS = sizeof discounts / sizeof *discounts };

/* ---- the costs of terms ---- */

static double own_cost(const Extract *x, Var v) {
    const Graph *g = x->e->g;
    if (g->var[v].leaf || x->e->dead[v]) return 0;
    ApplyId id = g->var[v].owner;
    return x->s->o->cost(x->s->o->ctx, g, id) / g->apply[id].nout;
}

/* ---- choices ---- */

/* The oldest term of each class: its inputs are older still. */
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

/* Counts every class once, and its readers. */
static double price(Extract *x) {
    double sum = 0;
    memset(x->readers, 0, x->e->n * sizeof *x->readers);
    for (size_t i = 0; i < x->roots.n; i++)
        reach_class(x, x->roots.p[i]);
    while (x->stack.n) {
        Var v = x->choice[x->stack.p[--x->stack.n]];
        sum += x->own[v];
        if (x->e->g->var[v].leaf) continue;
        VarList in = apply_ins(x->e->g, x->e->g->var[v].owner);
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
    x->own = NEW_N(x->a, n, double);
    x->best = NEW_N(x->a, n, double);
    x->choice = NEW_N(x->a, n, Var);
    x->readers = NEW_N(x->a, n, uint32_t);
    x->open = NEW_N(x->a, n, uint32_t);
    x->roots = graph_roots(x->e->g, x->a, ROOTS_RUN | ROOTS_INIT);
    for (Var v = 0; v < x->e->n; v++)
        x->own[v] = own_cost(x, v);
}

Var *extract_cheapest(Search *s, Arena *a) {
    Extract x = {.s = s, .a = a, .e = &s->e};
    open_extract(&x);
    Var *kept = NEW_N(a, x.e->n + (size_t)1, Var);
    choose_oldest(&x);
    memcpy(kept, x.choice, x.e->n * sizeof *kept);
    s->o->before = s->o->after = price(&x);
    for (int round = 0; round < ROUNDS; round++) {
        x.discount = discounts[round];
        extract_choose(&x);
        keep_better(&x, kept);
    }
    memcpy(x.choice, kept, x.e->n * sizeof *kept);
    price(&x);
    extract_improve(&x);
    keep_better(&x, kept);
    vec_free(&x.heap);
    vec_free(&x.stack);
    return kept;
}
