/* Shared by the files of lib/rewrite/search: the state of a search. */
#ifndef REWRITE_SEARCH_SEARCH_IMPL_H
#define REWRITE_SEARCH_SEARCH_IMPL_H

#include "rewrite/search/egraph.h"
#include "rewrite/search/search.h"

/* A rule in one direction. It goes through the terms of its op in passes; a pass that
 * finds much takes several rounds, so that no rule crowds out the others. */
typedef struct SearchRule {
    const Rule *rule;
    Sym name;
    Try needs;      /* but for the entry */
    bool fast;      /* comparisons must tolerate that inf and nan are gone */
    uint32_t depth; /* Applies one below the other in its left side */
    uint32_t made;  /* and in its right side */
    uint32_t fired; /* new matches in this round */
    Var cursor;     /* where the pass goes on */
    uint32_t began; /* the round in which the pass began */
    uint32_t since; /* the one in which the last pass began: what is older is known */
} SearchRule;
typedef struct OpTerms { /* the terms of an op, and the rules for them */
    const Op *op;
    Vec(Var) term; /* ascending */
    Vec(uint32_t) rule;
} OpTerms;
typedef struct Found {
    Var left, right;
    uint32_t rule;
} Found;
typedef struct Picked { /* what stands for a part of a left side */
    const Pat *p;
    Var term;
} Picked;
enum { TYPING_IN = 4 };
typedef struct Typing { /* of Applies of floats */
    const Op *op;
    const Props *given, *props; /* asked for, and of the Apply */
    size_t nin;
    const Type *in[TYPING_IN], *out;
} Typing;
typedef struct Search {
    Session *s;
    Rewriter r;
    EGraph e;
    RewriteSearch *o;
    Vec(SearchRule) rules;
    Vec(OpTerms) ops;
    Map terms_of;     /* Op -> index into ops */
    uint32_t listed;  /* terms that are in them */
    Vec(Found) found; /* by this round, to be joined at its end */
    Vec(Picked) picked;
    Vec(Typing) typing;
    Index typing_of; /* by what is asked for */
    double start;
    uint32_t most;     /* terms, as asked for and as the memory allows that is held */
    uint32_t given;    /* terms that the graph had */
    uint32_t steps;    /* since the clock was read */
    uint32_t per_rule; /* new matches of a rule in a round, at most */
    bool out_of_time, out_of_nodes, out_of_memory, stopped;
    bool fast; /* a @fast rule fired */
} Search;
/* Is the time up, if what follows still takes `rest` seconds? */
bool search_is_late(Search *s, double rest);
/* No more terms? */
bool search_check_limits(Search *s);
static inline bool search_is_over(Search *s) {
    enum { CHECK_EVERY = 256 };
    if (s->e.n >= s->most || ++s->steps % CHECK_EVERY == 0)
        return search_check_limits(s);
    return s->out_of_time || s->out_of_nodes || s->out_of_memory || s->stopped;
}

/* ---- ematch.c ---- */
/* Builds the right sides of what matches at the term v and has something that is not
 * older than `since` into s->found. */
void ematch_term(Search *s, uint32_t rule, Var v, uint32_t since);

/* ---- build.c ---- */
/* The op of a right side: Rewriter.apply. */
bool search_apply(void *ctx, const Op *op, const Props *props, VarList in, Var *out);
/* The left side as it was matched. */
Var search_build_left(Search *s, const Pat *p, const Match *m);

/* ---- extract.c ---- */
typedef struct Place { /* a term where it is priced */
    double own;
    Var term, class;
    uint32_t first; /* of its inputs' classes; those of the next place follow */
} Place;
typedef struct Extract {
    Search *s;
    Arena *a;
    const EGraph *e;
    double *own;       /* by term */
    double *best;      /* by class */
    Var *choice;       /* by class */
    uint32_t *readers; /* by class: its uses in the last choice that was priced */
    Place *place;      /* in the order of pricing, inputs first as far as that goes */
    uint32_t places;
    Var *inputs;     /* classes */
    uint32_t *at;    /* place of a term; UINT32_MAX: it is dead */
    uint64_t *read;  /* by class, a bit: the price of a user counts with its own */
    uint64_t *dirty; /* by place, a bit: an input became cheaper */
    Vec(Var) stack;  /* classes to walk */
    double discount; /* for each of these */
    VarList roots;
} Extract;
/* The cheapest term of each class, by class; what the roots don't need may be VAR_NONE.
 * Sets the costs before and after. */
Var *extract_cheapest(Search *s, Arena *a);
/* The bytes and the seconds that it takes for a term. */
extern const size_t extract_bytes;
extern const double extract_seconds;

/* ---- cheapest.c ---- */
/* The cheapest term of each class if nothing is shared. */
void extract_order(Extract *x);
void extract_choose(Extract *x);

/* ---- explain.c ---- */
/* Tells s->o->chain of the unions between the roots and what was chosen for them. */
void search_explain(Search *s, Arena *a, const Var *choice);

/* ---- improve.c ---- */
/* Makes the choice that was priced cheaper, class by class. */
void extract_improve(Extract *x);

#endif
