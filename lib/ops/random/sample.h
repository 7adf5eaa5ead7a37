/* One call of a distribution while it becomes draws. */
#ifndef OPS_RANDOM_SAMPLE_H
#define OPS_RANDOM_SAMPLE_H

#include "lang/macro.h"
#include "op/build.h"

enum { SAMPLE_BINDS = 12 };
typedef struct Sample {
    Compiler *c;
    Builder *b;
    const Ast *call;
    bool pair;               /* rng=: the next state is a result too */
    uint64_t seed;           /* seed= */
    Var rng, size;           /* size VAR_NONE: as the parameters */
    DType dtype;             /* of floats */
    Bind bind[SAMPLE_BINDS]; /* parameters, then what was made of them */
    size_t nbind;
} Sample;

/* Each reads an argument of the call, NULL where it is missing. False: diagnosed. */
bool sample_state(Sample *q, const Ast *rng, const Ast *seed);
bool sample_size(Sample *q, const Ast *arg);
/* Literals of a float draw take its dtype. `value`: the text of the default. */
bool sample_param(Sample *q, const char *name, const Ast *arg, const char *value);
/* A condition on what is bound is checked at once for constants, else where it runs; if
 * it does not hold, `says` tells. Several: "a > 0; b > 0", which tell of themselves. */
bool sample_need(Sample *q, const char *condition, const char *says);
bool sample_needs(Sample *q, const char *conditions);

/* What is built from now on is for the distribution: errors name it. Returns what
 * q->b->asked is to be afterwards. */
const char *sample_asked(Sample *q);
void sample_bind(Sample *q, const char *name, Var v);
/* A text of what is bound; a draw, after which q->rng is the next state. VAR_NONE:
 * diagnosed. */
Var sample_text(Sample *q, const char *text);
Var sample_draw(Sample *q, const char *dist, size_t n, const Var *param, DType d);
/* The result: v, or with rng= the pair of the next state and v. */
bool sample_give(Sample *q, Var v, Node *out);

/* A constant state. */
Var sample_seeded(Builder *b, uint64_t seed);
bool sample_seed(Compiler *c, const Ast *arg, uint64_t *seed);

#endif
