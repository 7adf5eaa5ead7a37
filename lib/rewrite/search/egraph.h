/* E-graphs: many equal expressions at once, each subexpression stored once (egg,
 * Willsey et al. 2021). The terms are the variables of a graph that only grows; a class
 * is a set of variables that are known to be equal, and the inputs of an Apply stand
 * for their classes. All members of a class have the same Type. Two Applies of one op
 * whose inputs are in the same classes are congruent, hence equal: after unions,
 * egraph_rebuild finds those. */
#ifndef REWRITE_SEARCH_EGRAPH_H
#define REWRITE_SEARCH_EGRAPH_H

#include "graph/graph.h"

/* Why two terms are equal: an edge of the forest of proofs. */
typedef struct Because {
    Var other; /* VAR_NONE: the root of its tree */
    Sym rule;  /* 0: their inputs are equal */
} Because;
typedef struct Use {
    Var term;      /* an Apply's output that reads the class */
    uint32_t next; /* index of the next, UINT32_MAX: none */
} Use;
typedef struct EGraph {
    Session *s;
    Graph *g;
    uint32_t n, cap;        /* terms, the first variables of g */
    Var *parent;            /* union-find */
    Var *next;              /* the members of a class as a ring */
    uint32_t *first, *last; /* by class: its uses */
    uint8_t *dead;          /* by term: another member of its class says the same */
    Because *because;       /* by term */
    Vec(Use) uses;
    Vec(Var) todo; /* classes that were joined since the last rebuilding */
    Index terms;   /* Applies by op, props and classes of inputs */
    uint32_t unions;
} EGraph;
void egraph_open(EGraph *e, Graph *g);
void egraph_close(EGraph *e);
/* Enters the variables that g has got since the last time. */
void egraph_grow(EGraph *e);
static inline Var egraph_find(const EGraph *e, Var v) {
    while (e->parent[v] != v) {
        e->parent[v] = e->parent[e->parent[v]];
        v = e->parent[v];
    }
    return v;
}
/* Says that a and b are equal. False: their Types differ, or it is known. The class
 * goes by the name of a constant if it has one, else of its oldest member. */
bool egraph_union(EGraph *e, Var a, Var b, Sym rule);
/* Joins what has become congruent. */
void egraph_rebuild(EGraph *e);
/* The steps of a proof that a and b, of one class, are equal: path[i] and path[i + 1]
 * are, by rule[i]. Returns the number of steps; arena memory. */
size_t egraph_explain(const EGraph *e, Arena *a, Var from, Var to, Var **path,
                      Sym **rule);

#endif
