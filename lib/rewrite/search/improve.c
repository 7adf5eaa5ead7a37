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

static VarList inputs_of(const Extract *x, Var v) {
    const Graph *g = x->e->g;
    return g->var[v].leaf ? (VarList){0} : apply_ins(g, g->var[v].owner);
}

/* The cost of all that v needs and nothing else uses; its uses are added, or taken
 * away. */
static double count_inputs(Improve *m, Var v, bool add) {
    Extract *x = m->x;
    double sum = 0;
    x->stack.n = 0;
    vec_push(x->s->s, &x->stack, v);
    while (x->stack.n) {
        VarList in = inputs_of(x, x->stack.p[--x->stack.n]);
        m->steps += in.n;
        for (size_t i = 0; i < in.n; i++) {
            Var class = egraph_find(x->e, in.p[i]);
            bool used = add ? x->readers[class]++ : --x->readers[class];
            if (used) continue;
            sum += x->own[x->choice[class]];
            vec_push(x->s->s, &x->stack, x->choice[class]);
        }
    }
    return sum;
}

/* Does the term v need the class? */
static bool needs_class(Improve *m, Var v, Var wanted) {
    Extract *x = m->x;
    m->walk++;
    x->stack.n = 0;
    vec_push(x->s->s, &x->stack, v);
    while (x->stack.n) {
        VarList in = inputs_of(x, x->stack.p[--x->stack.n]);
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

static bool try_term(Improve *m, Var class, Var v) {
    Extract *x = m->x;
    Var old = x->choice[class];
    double saved = x->own[old] + count_inputs(m, old, false);
    double added = x->own[v] + count_inputs(m, v, true);
    /* the bound excludes what only rounding makes cheaper */
    if (added < saved * (1 - 1e-12) && !needs_class(m, v, class)) {
        x->choice[class] = v;
        return true;
    }
    count_inputs(m, v, false);
    count_inputs(m, old, true);
    return false;
}

static bool improve_class(Improve *m, Var class) {
    const EGraph *e = m->x->e;
    bool better = false;
    Var v = class;
    do {
        if (!egraph_is_dead(e, v) && v != m->x->choice[class])
            better |= try_term(m, class, v);
        v = e->term[v].next;
    } while (v != class && !is_over(m));
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
