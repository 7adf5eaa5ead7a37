/* Improves a choice of terms where classes are shared. Another term of a class costs
 * what it needs and nothing else uses yet; it saves what only the present one needs.
 * Both follow from counting uses, without looking at the rest of the graph. */
#include "rewrite/search/search_impl.h"

/* Steps from class to class, so that large graphs end. */
enum { STEPS_PER_TERM = 8, STEPS_AT_LEAST = 5000000, ASK_EVERY = 64 };

typedef struct Improve {
    Extract *x;
    uint32_t *mark; /* by class: the last walk that came by */
    uint32_t walk;
    uint64_t steps, most;
    uint32_t asked;
} Improve;

static bool is_over(Improve *m) {
    return m->steps >= m->most ||
           (++m->asked % ASK_EVERY == 0 && search_is_late(m->x->s, 0));
}

/* What a term needs and nothing else uses. */
typedef struct Needs {
    double cost; /* with its own */
    uint64_t steps;
} Needs;

/* Adds the uses of all that v needs alone, or takes them away. */
static Needs count_needs(const Improve *m, Var v, bool add) {
    Extract *x = m->x;
    Needs n = {0, 0};
    x->stack.n = 0;
    vec_push(x->s->s, &x->stack, v);
    while (x->stack.n) {
        VarList in = egraph_inputs(x->e, x->stack.p[--x->stack.n]);
        n.steps += in.n;
        for (size_t i = 0; i < in.n; i++) {
            Var class = egraph_find(x->e, in.p[i]);
            bool used = add ? x->readers[class]++ : --x->readers[class];
            if (used) continue;
            n.cost += x->own[x->choice[class]];
            vec_push(x->s->s, &x->stack, x->choice[class]);
        }
    }
    n.cost += x->own[v];
    return n;
}

/* Does the term v need the class? */
static bool needs_class(Improve *m, Var v, Var wanted) {
    Extract *x = m->x;
    m->walk++;
    x->stack.n = 0;
    vec_push(x->s->s, &x->stack, v);
    while (x->stack.n) {
        VarList in = egraph_inputs(x->e, x->stack.p[--x->stack.n]);
        m->steps += in.n;
        for (size_t i = 0; i < in.n; i++) {
            Var class = egraph_find(x->e, in.p[i]);
            if (class == wanted) return true;
            if (m->mark[class] == m->walk) continue;
            m->mark[class] = m->walk;
            vec_push(x->s->s, &x->stack, x->choice[class]);
        }
    }
    return false;
}

/* While the chosen term is taken away, which needs what `chosen` says. A try has the
 * steps of going from one term to the other, and back if that is dearer. */
static bool try_term(Improve *m, Var class, Var v, Needs *chosen) {
    Needs added = count_needs(m, v, true);
    uint64_t steps = chosen->steps + added.steps;
    /* the bound excludes what only rounding makes cheaper */
    bool better = added.cost < chosen->cost * (1 - 1e-12) && !needs_class(m, v, class);
    Needs removed = count_needs(m, v, false);
    m->steps += better ? steps : 2 * steps;
    if (!better) return false;
    m->x->choice[class] = v;
    *chosen = removed;
    return true;
}

static bool has_another_term(const Improve *m, Var class) {
    const EGraph *e = m->x->e;
    Var v = class;
    do {
        if (!egraph_is_dead(e, v) && v != m->x->choice[class]) return true;
        v = e->term[v].next;
    } while (v != class);
    return false;
}

static bool improve_class(Improve *m, Var class) {
    const EGraph *e = m->x->e;
    if (!has_another_term(m, class)) return false;
    Var *choice = &m->x->choice[class], v = class;
    Needs chosen = count_needs(m, *choice, false);
    bool better = false;
    do {
        if (!egraph_is_dead(e, v) && v != *choice)
            better |= try_term(m, class, v, &chosen);
        v = e->term[v].next;
    } while (v != class && !is_over(m));
    count_needs(m, *choice, true);
    return better;
}

void extract_improve(Extract *x) {
    Improve m = {.x = x,
                 .mark = NEW_N(x->a, x->e->n + (size_t)1, uint32_t),
                 .most = STEPS_AT_LEAST + (uint64_t)STEPS_PER_TERM * x->e->n};
    for (bool better = true; better && !is_over(&m);) {
        better = false;
        for (Var v = 0; v < x->e->n && m.steps < m.most; v++)
            if (x->e->parent[v] == v && x->readers[v]) better |= improve_class(&m, v);
    }
}
