/* Shared by the files of lib/rewrite/search: the state of a search. */
#ifndef REWRITE_SEARCH_SEARCH_IMPL_H
#define REWRITE_SEARCH_SEARCH_IMPL_H

#include "rewrite/search/egraph.h"
#include "rewrite/search/search.h"

/* A rule in one direction. */
typedef struct SearchRule {
    const Rule *rule;
    Sym name;
    bool fast;      /* comparisons must tolerate that inf and nan are gone */
    uint32_t fired; /* new matches in this round */
} SearchRule;
typedef struct Found {
    Var at, equal;
    uint32_t rule;
} Found;
typedef struct Search {
    Session *s;
    Rewriter r;
    EGraph e;
    RewriteSearch *o;
    Vec(SearchRule) rules;
    Map rules_of;       /* Op -> 1 + index into lists */
    Vec(uint32_t) list; /* rules in groups by op, each ended by UINT32_MAX */
    Map tried;          /* hashes of matches that were built already */
    Vec(Found) found;   /* by this round, to be joined at its end */
    double start;
    uint32_t most;     /* terms, as asked for and as memory allows */
    uint32_t steps;    /* since the clock was read */
    uint32_t per_rule; /* new matches of a rule in a round, at most */
    bool out_of_time, out_of_nodes;
    bool fast; /* a @fast rule fired */
} Search;
/* No more terms? */
bool search_is_over(Search *s);

/* ---- ematch.c ---- */
/* Builds the right sides of what matches at the term v into s->found. */
void ematch_term(Search *s, uint32_t rule, Var v);

/* ---- extract.c ---- */
typedef struct Offer { /* of a term for its class */
    double cost;
    Var term;
} Offer;
typedef struct Extract {
    Search *s;
    Arena *a;
    const EGraph *e;
    double *own;       /* by term */
    double *best;      /* by class */
    Var *choice;       /* by class */
    uint32_t *readers; /* by class: its uses in the last choice that was priced */
    uint32_t *open;    /* by term: inputs whose classes have no choice yet */
    Vec(Offer) heap;   /* the cheapest first */
    Vec(Var) stack;    /* classes to walk */
    double discount;   /* for each of these */
    VarList roots;
} Extract;
/* The cheapest term of each class, by class; what the roots don't need may be VAR_NONE.
 * Sets the costs before and after. */
Var *extract_cheapest(Search *s, Arena *a);

/* ---- cheapest.c ---- */
/* The cheapest term of each class if nothing is shared. */
void extract_choose(Extract *x);

/* ---- explain.c ---- */
/* Tells s->o->chain of the unions between the roots and what was chosen for them. */
void search_explain(Search *s, Arena *a, const Var *choice);

/* ---- improve.c ---- */
/* Makes the choice that was priced cheaper, class by class. */
void extract_improve(Extract *x);

#endif
