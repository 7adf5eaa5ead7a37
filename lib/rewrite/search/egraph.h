/* E-graphs: many equal expressions at once, each subexpression stored once (egg,
 * Willsey et al. 2021). The terms are the variables of a graph that only grows; a class
 * is a set of variables that are known to be equal, and the inputs of an Apply stand
 * for their classes. All members of a class have the same Type. Two Applies of one op
 * whose inputs are in the same classes are congruent, hence equal: after unions,
 * egraph_rebuild finds those. */
#ifndef REWRITE_SEARCH_EGRAPH_H
#define REWRITE_SEARCH_EGRAPH_H

#include "rewrite/rewrite_impl.h"

/* Why two terms are equal: an edge of the forest of proofs. */
typedef struct Because {
    Var other; /* VAR_NONE: the root of its tree */
    Sym rule;  /* 0: their inputs are equal */
    bool back; /* the rule makes this of the other */
} Because;
typedef struct ProofStep {
    Var from, to;
    Sym rule;  /* 0: their inputs are equal */
    bool back; /* the rule makes `from` of `to` */
} ProofStep;
typedef struct Use {
    Var term;      /* an Apply's output that reads the class */
    uint32_t next; /* index of the next, UINT32_MAX: none */
} Use;
/* What a walk over a class asks of each member lies side by side. */
typedef struct Term {
    Var next;       /* the members of a class as a ring */
    uint32_t since; /* when a pattern could last see something new in it, as its place
                     * or its inputs' classes changed */
    uint32_t in;    /* egraph_inputs, an index into g->in */
    uint16_t nin;
    uint8_t kind; /* kind_number of its op, or one that no op has */
} Term;
typedef struct Class {
    Kinds kinds;          /* of the ops of its members */
    uint32_t fresh;       /* the latest `since` of its members */
    uint32_t first, last; /* its uses */
} Class;
typedef struct EGraph {
    Session *s;
    Graph *g;
    uint32_t n, cap;  /* terms, the first variables of g */
    uint32_t aliases; /* terms that say what an older one says, letter for letter */
    Var *parent;      /* union-find */
    Term *term;
    Class *class;     /* by its name */
    uint32_t now;     /* the time, set by the user */
    Because *because; /* by term; NULL: nobody asks for proofs */
    Vec(Use) uses;
    Vec(Var) todo; /* terms whose inputs have other classes since the last rebuilding */
    Index terms;   /* Applies by op, props and classes of inputs */
    uint32_t unions;
} EGraph;
/* With `proves`, unions are kept for egraph_explain. */
void egraph_open(EGraph *e, Graph *g, bool proves);
void egraph_close(EGraph *e);
/* Enters the variables that g has got since the last time. */
void egraph_grow(EGraph *e);
/* The term op(in), whose inputs are names of classes; VAR_NONE: there is none. Then
 * *hash is what egraph_enter wants. */
Var egraph_lookup(const EGraph *e, const Op *op, const Props *props, VarList in,
                  uint64_t *hash);
/* Enters a variable that g has got, the first since the last time: a term that
 * egraph_lookup did not find. */
void egraph_enter(EGraph *e, uint64_t hash);
/* The memory held now. */
size_t egraph_bytes(const EGraph *e);
/* A term is dead if another member of its class says the same. */
enum { KIND_LEAF = OP_KINDS, KIND_DEAD };
static inline Var egraph_find(const EGraph *e, Var v) {
    while (e->parent[v] != v) {
        e->parent[v] = e->parent[e->parent[v]];
        v = e->parent[v];
    }
    return v;
}
/* What its Apply reads; nothing for a leaf. */
static inline VarList egraph_inputs(const EGraph *e, Var v) {
    const Term *t = &e->term[v];
    return (VarList){t->nin, e->g->in + t->in};
}
static inline bool egraph_is_dead(const EGraph *e, Var v) {
    return e->term[v].kind == KIND_DEAD;
}
/* The member of the class after v. Dead ones are left out from now on. */
static inline Var egraph_next(EGraph *e, Var class, Var v) {
    Var next = e->term[v].next;
    while (egraph_is_dead(e, next) && next != class)
        next = e->term[v].next = e->term[next].next;
    return next;
}
/* Says that a and b are equal, as the rule makes b of a. False: their Types differ, or
 * it is known. The class goes by the name of a constant if it has one, else of its
 * oldest member. */
bool egraph_union(EGraph *e, Var a, Var b, Sym rule);
/* Joins what has become congruent. False: `stop` became true, which it is asked now and
 * then; the rest is joined by the next call. NULL: to the end. */
typedef bool EGraphStop(void *ctx);
bool egraph_rebuild(EGraph *e, EGraphStop *stop, void *ctx);
/* Of an e-graph that proves: the steps that lead from one term of a class to another.
 * Returns their number; arena memory. Between two terms there is one way, which later
 * unions don't change: equal inputs were so before, and a proof by proofs of theirs
 * ends (Nieuwenhuis and Oliveras 2005; Flatt et al. 2022). */
size_t egraph_explain(const EGraph *e, Arena *a, Var from, Var to, ProofStep **step);

#endif
