/* A call of a distribution while it is expanded to draws. */
#ifndef OPS_RANDOM_SAMPLE_H
#define OPS_RANDOM_SAMPLE_H

#include "lang/macro.h"
#include "op/build.h"

enum { SAMPLE_BINDS = 12 };
typedef struct Sample {
    Compiler *c;
    Builder *b;
    const Ast *call;
    bool pair;               /* rng= was given: the next state is also a result */
    bool counts;             /* the last parameter was written as sizes are */
    const Ast *state;        /* rng= */
    uint64_t seed;           /* seed= */
    Var rng, size;           /* size VAR_NONE: the parameters' shape */
    DType dtype;             /* of floats */
    Bind bind[SAMPLE_BINDS]; /* parameters, then values computed from them */
    size_t nbind;
} Sample;

/* Was the argument written, and not as None? */
bool sample_is_given(const Ast *arg);
/* Each reads an argument of the call, NULL if missing. False: diagnosed. */
bool sample_state(Sample *q, const Ast *rng, const Ast *seed);
bool sample_size(Sample *q, const Ast *arg);
/* Literals in a float draw take its dtype. `value`: the default as text. */
bool sample_param(Sample *q, const char *name, const Ast *arg, const char *value);
/* Checks a condition on bound names, at once for constants, else at run time; `says` is
 * the error message. sample_needs takes several, "a > 0; b > 0", which are their own
 * messages. */
bool sample_need(Sample *q, const char *condition, const char *says);
bool sample_needs(Sample *q, const char *conditions);

/* Attributes what is built from now on to the distribution, so that errors name it.
 * Returns the value to restore q->b->asked to. */
const char *sample_asked(Sample *q);
void sample_bind(Sample *q, const char *name, Var v);
/* Builds a formula in bound names, or a draw, after which q->rng is the next state.
 * VAR_NONE: diagnosed. */
Var sample_text(Sample *q, const char *text);
Var sample_draw(Sample *q, const char *dist, size_t n, const Var *param, DType d);
/* The result: v, or with rng= the pair of the next state and v. */
bool sample_give(Sample *q, Var v, Node *out);

/* A constant state. */
Var sample_seeded(Builder *b, uint64_t seed);
bool sample_seed(Compiler *c, const Ast *arg, uint64_t *seed);

#endif
