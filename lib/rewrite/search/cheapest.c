/* The cheapest term of each class, counting shared classes as often as they are read:
 * terms are priced inputs first, then again where an input became cheaper, until none
 * does. A class changes its choice only for one that costs less, and a term costs no
 * less than any of its inputs. So no choice is circular, not even before the end: of
 * the classes on a circle, the one that changed last would cost no less than it did
 * before that. */
#include "rewrite/search/search_impl.h"

#include <math.h>
#include <string.h>

/* Without sharing, costs grow exponentially with depth. */
static const double beyond = 1e300;
enum { WORD = 64, ASK_EVERY = 4096, PRICED_PER_TERM = 32 };

/* ---- the order ---- */

/* A term that was found has the rank of the last of its inputs in the graph as it was:
 * forms of one class are near each other then, before what uses them. */
static uint32_t *rank_terms(const Extract *x) {
    uint32_t *rank = NEW_N(x->a, x->e->n + (size_t)1, uint32_t);
    for (Var v = 0; v < x->e->n; v++) {
        rank[v] = v < x->s->given ? v : 0;
        if (v < x->s->given) continue;
        VarList in = egraph_inputs(x->e, v);
        for (size_t i = 0; i < in.n; i++)
            if (rank[in.p[i]] > rank[v]) rank[v] = rank[in.p[i]];
    }
    return rank;
}

static void put_place(Extract *x, Var v, uint32_t at) {
    x->at[v] = at;
    x->place[at] = (Place){.own = x->own[v], .term = v, .class = egraph_find(x->e, v)};
}

static void put_inputs(Extract *x) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->places; i++) {
        Place *p = &x->place[i];
        p->first = n;
        VarList in = egraph_inputs(x->e, p->term);
        for (size_t k = 0; k < in.n; k++)
            x->inputs[n++] = egraph_find(x->e, in.p[k]);
    }
    x->place[x->places].first = n;
}

void extract_order(Extract *x) {
    uint32_t *rank = rank_terms(x), n = x->e->n;
    uint32_t *end = NEW_N(x->a, x->s->given + (size_t)2, uint32_t);
    size_t inputs = 0;
    for (Var v = 0; v < n; v++)
        if (!egraph_is_dead(x->e, v)) {
            end[rank[v] + 1]++, x->places++;
            inputs += x->e->term[v].nin;
        }
    for (uint32_t k = 0; k < x->s->given; k++)
        end[k + 1] += end[k];
    x->place = arena_alloc(x->a, (x->places + (size_t)1) * sizeof *x->place);
    x->inputs = arena_alloc(x->a, (inputs + 1) * sizeof *x->inputs);
    x->read = NEW_N(x->a, n / WORD + (size_t)1, uint64_t);
    x->dirty = NEW_N(x->a, x->places / WORD + (size_t)1, uint64_t);
    x->at = rank; /* each is read once more, then written */
    for (Var v = 0; v < n; v++)
        if (egraph_is_dead(x->e, v))
            x->at[v] = UINT32_MAX;
        else
            put_place(x, v, end[rank[v]]++);
    put_inputs(x);
}

/* ---- prices ---- */

static void set_bit(uint64_t *bits, uint32_t i) {
    bits[i / WORD] |= (uint64_t)1 << i % WORD;
}

static bool has_bit(const uint64_t *bits, uint32_t i) {
    return bits[i / WORD] >> i % WORD & 1;
}

static double term_cost(const Extract *x, const Place *p) {
    double sum = p->own / (1 + x->discount * x->readers[p->class]);
    for (uint32_t i = p->first; i < p[1].first; i++) {
        Var class = x->inputs[i];
        sum += x->best[class];
        set_bit(x->read, class);
    }
    return sum < beyond || sum == HUGE_VAL ? sum : beyond;
}

/* Returns the first word with a user, if it is before `word`. Users that were never
 * priced are dirty. */
static uint32_t mark_users(Extract *x, Var class, uint32_t word) {
    const EGraph *e = x->e;
    if (!has_bit(x->read, class)) return word;
    for (uint32_t at = e->class[class].first; at != UINT32_MAX;
         at = e->uses.p[at].next) {
        uint32_t place = x->at[e->uses.p[at].term];
        if (place == UINT32_MAX) continue;
        set_bit(x->dirty, place);
        if (place / WORD < word) word = place / WORD;
    }
    return word;
}

/* Prices the first dirty term of the word. Returns the word where to go on. */
static uint32_t price_next(Extract *x, uint32_t word) {
    const Place *p = &x->place[word * WORD + (uint32_t)__builtin_ctzll(x->dirty[word])];
    x->dirty[word] &= x->dirty[word] - 1;
    double cost = term_cost(x, p);
    if (!(cost < x->best[p->class])) return word;
    x->choice[p->class] = p->term;
    x->best[p->class] = cost;
    return mark_users(x, p->class, word);
}

static void open_prices(Extract *x) {
    for (Var v = 0; v < x->e->n; v++) {
        x->choice[v] = VAR_NONE;
        x->best[v] = HUGE_VAL;
    }
    memset(x->read, 0, (x->e->n / WORD + (size_t)1) * sizeof *x->read);
    for (uint32_t i = 0; i < x->places; i++)
        set_bit(x->dirty, i);
}

void extract_choose(Extract *x) {
    uint64_t priced = 0, most = (uint64_t)PRICED_PER_TERM * x->places;
    open_prices(x);
    for (uint32_t word = 0; word <= x->places / WORD && priced < most;) {
        if (!x->dirty[word]) {
            word++;
            continue;
        }
        word = price_next(x, word);
        if (++priced % ASK_EVERY == 0 && search_is_late(x->s, 0)) return;
    }
}
