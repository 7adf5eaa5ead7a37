/* Shared by the files of lib/prove: a proof under way, one instance of its rule, and
 * the evaluators that know more of a side than its value. */
#ifndef PROVE_PROVE_IMPL_H
#define PROVE_PROVE_IMPL_H

#include "op/build.h"
#include "prove/prove.h"

enum { HOLES = 8, LETTERS = 4, RANKS = 4 };

/* ---- a typing: what stands for each name ---- */
typedef enum Stand { STAND_VARIABLE, STAND_CONSTANT, STAND_SIZES } Stand;
enum { DIM_ONE = -1, DIM_REST = -2 }; /* instead of a letter */
typedef struct Standing {
    Stand stand;
    DType dtype;
    int ndim;
    int8_t
        dim[RANKS];  /* letters, whose sizes the typing has; of STAND_SIZES: elements */
    size_t constant; /* which */
} Standing;
typedef struct Typing {
    Standing hole[HOLES];
    int64_t size[LETTERS];
    size_t form; /* of the props that the rule leaves open */
    bool dense;  /* elementwise, over vectors of points */
} Typing;

/* ---- a proof under way ---- */
/* Where a point lies, for the domain in which a rule holds. */
typedef struct PointKind {
    bool nan, inf, zero, negative; /* is there one among the inputs? */
    bool extreme;   /* does something overflow or underflow on the way? */
    bool left_lost; /* is the left side nan or inf? */
} PointKind;
typedef struct StructureCache StructureCache;
typedef struct Prover {
    Session *s;
    const Rule *rule;
    Promise promise;
    bool elementwise;
    size_t nhole;
    RuleHole hole[HOLES];
    uint64_t random; /* state */
    StructureCache *structures;
    uint64_t dtypes;   /* bits of those that fit */
    uint32_t domains;  /* bits of the candidates that still hold */
    bool sign_of_zero; /* it may differ */
    uint64_t typings, points;
    double worst;
    unsigned certain, uncertain;   /* inexact or integer typings that are identities */
    bool failed;                   /* diagnosed */
    const CounterExample *counter; /* NULL: the rule isn't false so far */
} Prover;
static inline bool prover_done(const Prover *p) {
    return p->failed || p->counter;
}
/* Ends a trial: forgets its errors, since `mark`. False: memory was short, which
 * decides nothing; the prover has failed, with that error alone. */
bool prover_forget(Prover *p, size_t mark);
uint64_t prover_random(Prover *p);
double prover_uniform(Prover *p); /* [0, 1) */

/* ---- typings.c ---- */
void try_all_typings(Prover *p);

/* ---- instance.c ---- */
typedef struct Instance {
    Prover *p;
    const Typing *t;
    Graph *g;
    Var input[HOLES]; /* of names that are variables */
    Var hole[HOLES];  /* what stands for the names: inputs, or what is made of them */
    Var side[2];
    bool
        ordinary; /* only points at which a plain tolerance will do: no bounds are known
                   */
} Instance;
/* False: the rule doesn't fire for these types. */
bool instance_open(Prover *p, const Typing *t, Instance *x);
void instance_close(Instance *x);
/* Runs both sides at its points and judges them. */
void instance_try(Instance *x);

/* ---- points.c ---- */
int64_t points_count(const Prover *p, const Typing *t); /* of a dense typing */
void points_fill(Instance *x, size_t hole, Tensor *t, int round);
bool points_constant(DType d, size_t k, Tensor *t, Session *s);
size_t points_constant_count(void);

/* ---- judge.c: do two values agree as the class of the rule wants? ---- */
typedef struct Bound {
    long double _Complex value;
    long double error, fine; /* by arithmetic of the dtype; by that of the evaluator */
    bool extreme;
} Bound;
typedef enum Judgement { AGREES, EXEMPT, ASK_BOUND, DIFFERS } Judgement;
typedef struct Pair {
    DType dtype;
    double l[2], r[2]; /* real and imaginary parts */
    bool exact;        /* discrete, and equal */
} Pair;
Judgement judge_values(const Prover *p, const Pair *v, PointKind k, double *ulps,
                       bool *zero_signs);
Judgement judge_bounds(const Prover *p, const Pair *v, PointKind k, const Bound *l,
                       const Bound *r, double *ulps);
Judgement judge_ordinary(const Pair *v, PointKind k, double *ulps);
long double unit_roundoff(DType d);
long double points_largest(DType d);
long double points_smallest(DType d); /* normal */

/* ---- domain.c ---- */
uint32_t domain_all(void);
uint32_t domain_excluding(PointKind k); /* the candidates in which the point is not */
const char *domain_text(const Prover *p);

/* ---- evaluate.c: graphs over numbers that are no values of a dtype ---- */
/* One summand of an element: coef * x[i], or coef * x[i] * y[j]. Elements of several
 * inputs are numbered one after the other; i < 0: the summand is 0. */
typedef struct Summand {
    int32_t coef, i, j;
} Summand;
/* An element of a result: a sum, or a fold, of n summands. */
typedef struct Element {
    DType dtype;
    size_t n;
    const Summand *t;
    const void *x, *y; /* y NULL: the summands have one factor */
    void *r;           /* its number */
} Element;
typedef enum Folding { FOLD_PRODUCT, FOLD_MAXIMUM, FOLD_MINIMUM } Folding;
/* The numbers. A function that returns false doesn't know the op or the constant. */
typedef struct Algebra {
    size_t size; /* bytes of a number */
    bool (*constant)(void *ctx, const Tensor *t, int64_t i, void *out);
    /* What apply needs to know of an elementwise op; NULL: unknown. */
    const void *(*find)(void *ctx, const Graph *g, ApplyId a);
    bool (*apply)(void *ctx, const void *op, DType out, const void *const *in, void *r);
    bool (*sum)(void *ctx, const Element *e, int64_t divisor);
    bool (*fold)(void *ctx, Folding how, const Element *e);
    /* own, a number of the element's group, to its softmax (or the logarithm of that);
     * own NULL: logsumexp. softmax NULL: unknown. */
    bool (*softmax)(void *ctx, bool logarithm, const Element *e, const void *own);
} Algebra;
/* input: by name of the rule, arrays of numbers. dense: how many elements each input
 * has, in place of what its type says; 0: as in the type. side[k] gets an array in the
 * arena. False: something is unknown. */
bool evaluate_sides(const Instance *x, const Algebra *alg, void *ctx, Arena *a,
                    const void *const *input, int64_t dense, void *side[2]);
void evaluate_free_structures(Prover *p);

/* ---- exact.c ---- */
/* Are both sides the same rational functions of their inputs? */
typedef enum Identity { NOT_RATIONAL, NOT_IDENTICAL, IDENTICAL } Identity;
Identity exact_decide(const Instance *x);

/* ---- bounds.c ---- */
/* Both sides, with bounds for errors, at the elements `at` of dense inputs (n of them),
 * or at whole inputs (at NULL). False: an op is unknown. */
bool bound_sides(const Instance *x, Arena *a, const Tensor *in, size_t n,
                 const int64_t *at, Bound *side[2]);

#endif
